/* hpp_end.cpp - exceptions of C++ where C knows no failure: the process ends with a line.
 *
 *   hpp_end defer|payload|destructor|exit|own
 *
 * What it says and how it ends is looked at by hpp_test.sh. `exit` ends its thread in
 * place of throwing, and `own` destroys its system in a callback of it. */
#include <axo/axo.hpp>

#include <pthread.h>

#include <cstring>
#include <stdexcept>

namespace {

const char *where;
axo::system *own;

void here(const char *name)
{
    if (std::strcmp(where, name) == 0)
        throw std::runtime_error("what was thrown");
}

struct heavy {
    static constexpr std::uint32_t tag = 7;
    bool moved = false;
    heavy() = default;
    heavy(heavy &&other) noexcept { other.moved = true; }
    ~heavy() noexcept(false)
    {
        if (!moved)
            here("payload");
    }
};

struct thrower {
    using messages = axo::messages<heavy>;
    ~thrower() noexcept(false) { here("destructor"); }
    axo_status on(axo::context ctx, const heavy &)
    {
        if (std::strcmp(where, "own") == 0)
            *own = axo::system(nullptr);
        if (std::strcmp(where, "exit") == 0)
            pthread_exit(nullptr);
        if (ctx.defer([] { here("defer"); }) != AXO_OK)
            return AXO_ENOMEM;
        return ctx.stop_self();
    }
};

} // namespace

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    where = argv[1];
    axo::system system;
    own = &system;
    try {
        const axo::ref<thrower> it = system.spawn<thrower>("it");
        system.send(it, heavy());
        system.wait(std::chrono::seconds(60)); /* the process ends meanwhile */
    } catch (...) {
        std::puts("crossed");
    }
    return 0;
}
