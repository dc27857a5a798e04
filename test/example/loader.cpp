/* loader.cpp - supervision in C++: a loader that fails under broken files, a decider that tells
 * failures apart, and meshes that are handed over and never copied. loader.expected is what it
 * prints. */
#include <axo/axo.hpp>

#include <cstdio>
#include <cstring>
#include <iterator>
#include <memory>
#include <stdexcept>

using namespace std::chrono_literals;

struct mesh {
    char name[16];
    std::size_t vertices;
};

/* ---- messages ------------------------------------------------------------------------------ */

struct load { /* trivially copyable: copied into the message, as in C */
    static constexpr std::uint32_t tag = 1;
    char file[16];
};
struct loaded { /* owns a mesh: moved from actor to actor */
    static constexpr std::uint32_t tag = 2;
    std::unique_ptr<mesh> what;
};
struct begin {
    static constexpr std::uint32_t tag = 3;
};

/* ---- the loader ---------------------------------------------------------------------------- */

/* Whoever takes meshes: a loader does not know more of it. */
using takes_meshes = axo::ref<axo::messages<loaded>>;

class loader {
  public:
    using messages = axo::messages<load>;
    explicit loader(takes_meshes to) : to_(to) { std::puts("loader: ready"); }
    ~loader() { std::printf("loader: gone after %d\n", done_); }
    void on(axo::context ctx, const load &order)
    {
        if (std::strcmp(order.file, "broken") == 0)
            throw std::runtime_error("not a mesh");
        if (std::strcmp(order.file, "disk") == 0)
            throw axo::failure(5, "the disk does not answer");
        auto made = std::make_unique<mesh>();
        std::memcpy(made->name, order.file, sizeof made->name);
        made->vertices = 100 * std::strlen(order.file);
        done_++;
        ctx.send(to_, loaded{std::move(made)});
    }

  private:
    takes_meshes to_;
    int done_ = 0;
};

/* ---- its supervisor ------------------------------------------------------------------------ */

class scene {
  public:
    using messages = axo::messages<begin, loaded, axo_terminated>;
    static constexpr axo::rules supervision = axo::one_for_one().limit(3, 1min);

    explicit scene(axo::context ctx)
        : loader_(ctx.spawn<loader>("loader", takes_meshes(ctx.self(this))))
    {
        if (ctx.watch(loader_) != AXO_OK)
            throw std::bad_alloc();
    }
    void on(axo::context ctx, const begin &) { next(ctx); }
    void on(axo::context ctx, loaded &&arrived)
    {
        std::printf("scene: %s, %zu vertices\n", arrived.what->name, arrived.what->vertices);
        last_ = std::move(arrived.what);
        next(ctx);
    }
    axo_directive decide(axo::context ctx, const axo_failure &why)
    {
        std::printf("scene: \"%s\" (%d)\n", why.text, why.code);
        next(ctx);
        return why.code == 5 ? AXO_RESTART : AXO_RESUME; /* a broken file is no loader's fault */
    }
    void on(axo::context ctx, const axo_terminated &)
    {
        std::printf("scene: the loader has ended, the last mesh is %s\n", last_->name);
        axo_system_shutdown(ctx.system());
    }

  private:
    void next(axo::context ctx)
    {
        static constexpr load files[] = {{"tree"}, {"broken"}, {"disk"}, {"castle"}};
        if (at_ < std::size(files))
            ctx.send(loader_, files[at_++]);
        else
            ctx.poison(loader_);
    }

    axo::ref<loader> loader_;
    std::unique_ptr<mesh> last_;
    std::size_t at_ = 0;
};

int main()
{
    axo::system system;
    system.send(system.spawn<scene>("scene"), begin{});
    system.wait();
    std::puts("main: the system has stopped");
    return 0;
}
