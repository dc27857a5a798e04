/* hpp_crash_test.cpp - crashes and loops of actors in C++: failures, where the class says so by its
 * own members; the instance ends, its destructor runs once, and the next one goes on.
 */
#include "hpp_check.h"

#include <csignal>
#include <thread>

#include <axo/crash.h>

using namespace std::chrono_literals;
using check::counted;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define REPORTED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define REPORTED 1
#endif
#endif

namespace {

struct write_to_null {
    static constexpr std::uint32_t tag = 1;
};
struct loop_for_ever {
    static constexpr std::uint32_t tag = 2;
};
struct ping {
    static constexpr std::uint32_t tag = 3;
};

char *volatile nothing;
volatile std::uint64_t turns;
std::atomic<unsigned> pings;
std::atomic<unsigned> births;

struct crasher {
    using messages = axo::messages<write_to_null, loop_for_ever, ping>;
    static constexpr axo_on_crash on_crash = AXO_CRASH_FAILS;
    static constexpr std::uint32_t watchdog_ms = 5;
    crasher() { births++; }
    void on(const write_to_null &)
    {
        std::string local(100, 'x'); /* its memory is lost */
        nothing[16] = local[0];
    }
    void on(axo::context, const loop_for_ever &)
    {
        for (;;)
            turns = turns + 1;
    }
    void on(const ping &) { pings++; }
    counted member;
};

/* Only one of the two, a plain constant in a base, none. */
struct without_watchdog {
    using messages = axo::messages<ping>;
    static constexpr axo_on_crash on_crash = AXO_CRASH_FAILS;
    void on(const ping &) {}
};
struct base {
    static const axo_on_crash on_crash = AXO_CRASH_ENDS;
    enum : unsigned { watchdog_ms = 0 };
};
struct derived : base {
    using messages = axo::messages<ping>;
    void on(const ping &) {}
};
struct plain {
    using messages = axo::messages<ping>;
    void on(const ping &) {}
};

void classes()
{
    CHECK(axo::actor<crasher>::cls()->on_crash == AXO_CRASH_FAILS);
    CHECK(axo::actor<crasher>::cls()->watchdog_ms == 5);
    CHECK(axo::actor<without_watchdog>::cls()->on_crash == AXO_CRASH_FAILS);
    CHECK(axo::actor<without_watchdog>::cls()->watchdog_ms == 0);
    CHECK(axo::actor<derived>::cls()->on_crash == AXO_CRASH_ENDS);
    CHECK(axo::actor<derived>::cls()->watchdog_ms == 0);
    CHECK(axo::actor<plain>::cls()->on_crash == AXO_CRASH_ENDS);
    CHECK(axo::actor<plain>::cls()->watchdog_ms == 0);
}

#ifndef REPORTED
std::atomic<unsigned> decided;
axo_failure last{};
int last_signal;

/* Waits for as long as a very busy machine may take. */
bool comes(const std::atomic<unsigned> &counter, unsigned value)
{
    const auto until = std::chrono::steady_clock::now() + 40s;
    while (counter < value && std::chrono::steady_clock::now() < until)
        std::this_thread::sleep_for(1ms);
    return CHECK(counter == value);
}

void failures()
{
    const axo::strategy guard(axo::one_for_one(), [](const axo_failure &why) {
        const axo_crash *crash = axo_failure_crash(&why);
        last = why;
        last_signal = crash != nullptr ? crash->signal : 0;
        decided++;
        return AXO_RESTART;
    });
    axo_options options;
    axo_options_init(&options);
    options.workers = 1;
    options.contain = 1;
    options.user_strategy = &guard.raw();
    axo::system system{nullptr};
    const axo_status status = axo::system::start(&options, &system);
#if !defined(__x86_64__)
    if (status == AXO_ENOTSUP) {
        std::puts("left out: crashes are not contained here");
        return;
    }
#endif
    CHECK(status == AXO_OK);
    axo::ref<crasher> it;
    CHECK(system.spawn(it, "it") == AXO_OK);
    for (unsigned i = 1; i <= 3; i++) {
        const bool loops = i == 2;
        if (loops)
            CHECK(system.send(it, loop_for_ever{}) == AXO_OK);
        else
            CHECK(system.send(it, write_to_null{}) == AXO_OK);
        CHECK(system.send(it, ping{}) == AXO_OK);
        if (!comes(pings, i))
            return;
        CHECK(decided == i && births == i + 1);
        CHECK(last.kind == (loops ? AXO_FAILURE_STUCK : AXO_FAILURE_CRASH));
        CHECK(last_signal == (loops ? SIGURG : SIGSEGV));
        CHECK(counted::ended == static_cast<int>(i));
    }
    system = axo::system(nullptr);
    CHECK(counted::balanced() && counted::ended == 4);
}
#else
/* Such a program has its crashes reported. */
void failures() {}
#endif

} // namespace

int main()
{
    classes();
    failures();
    return check::result("crashes");
}
