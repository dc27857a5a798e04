/* hpp_message_test.cpp - messages of C++: what is moved arrives as it was, nothing is copied, and
 * each object ends once, wherever its message ends. No exception is used: it is compiled with
 * -fno-exceptions, too. */
#include "hpp_check.h"

using namespace std::chrono_literals;
using check::counted;
using check::world;

namespace {

/* ---- messages ------------------------------------------------------------------------------ */

struct stock;

/* A payload that can only be moved. */
struct parcel {
    static constexpr std::uint32_t tag = 1;
    using answer = stock;
    std::unique_ptr<int> what;
    counted life;
};
static_assert(!std::is_copy_constructible_v<parcel>);

struct number {
    static constexpr std::uint32_t tag = 2;
    int value;
};
struct stock {
    static constexpr std::uint32_t tag = 3;
    std::string text;
    counted life;
};
struct empty {
    static constexpr std::uint32_t tag = 4;
};
struct how_many {
    static constexpr std::uint32_t tag = 5;
    using answer = number;
};
struct what_stock {
    static constexpr std::uint32_t tag = 6;
    using answer = stock;
    int times;
};
/* Moves, but cannot be assigned. */
struct fixed {
    static constexpr std::uint32_t tag = 7;
    const std::unique_ptr<int> never{};
    counted life;
    fixed() = default;
    fixed(fixed &&other) noexcept : life(std::move(other.life)) {}
};

enum class mode { keep, look, pass_on, aside, fail, ignore };
mode how;
int *arrived; /* the address of what came in the last parcel */
unsigned handled;

parcel parcel_of(int value)
{
    return parcel{std::make_unique<int>(value), {}};
}

/* ---- actors -------------------------------------------------------------------------------- */

struct shelf {
    using messages = axo::messages<parcel>;
    std::unique_ptr<int> kept;
    void on(parcel &&given)
    {
        handled++;
        kept = std::move(given.what);
        arrived = kept.get();
    }
};

struct store {
    using messages = axo::messages<parcel, number, stock, empty, how_many, what_stock, fixed>;
    explicit store(axo::ref<shelf> to) : next(to) {}

    axo_status on(axo::context ctx, parcel &&given)
    {
        handled++;
        arrived = given.what.get();
        switch (how) {
        case mode::keep:
            kept = std::move(given);
            return AXO_OK;
        case mode::pass_on:
            return ctx.forward<parcel>(next) == AXO_OK ? AXO_OK : ctx.fail(1, "forward");
        case mode::aside:
            if (ctx.stash() != AXO_OK)
                return ctx.fail(2, "stash");
            return AXO_OK;
        case mode::fail:
            return ctx.fail(3, "told to");
        case mode::ignore:
            return AXO_UNHANDLED;
        case mode::look:
            break;
        }
        return AXO_OK;
    }
    void on(const number &by) { sum += by.value; }
    void on(axo::context, stock given) { text = std::move(given.text); }
    void on(axo::context ctx, empty) { static_cast<void>(ctx.unstash_all()); }
    number on(const how_many &) { return {sum}; }
    stock on(axo::context, const what_stock &ask)
    {
        std::string all;
        for (int i = 0; i < ask.times; i++)
            all += text;
        return {all, {}};
    }
    void on(fixed &&) { handled++; }

    axo::ref<shelf> next;
    parcel kept;
    std::string text = "none";
    int sum = 0;
};

struct pair {
    axo::ref<shelf> last;
    axo::ref<store> first;
};

pair begin(world &w)
{
    pair both;
    how = mode::look;
    arrived = nullptr;
    handled = 0;
    CHECK(w.started == AXO_OK);
    CHECK(w.system.spawn(both.last, "shelf") == AXO_OK);
    CHECK(w.system.spawn(both.first, "store", both.last) == AXO_OK);
    w.run();
    return both;
}

/* ---- tests --------------------------------------------------------------------------------- */

/* Plays a scene; what is made in it has ended behind it. */
template <class F> void scene(F &&play)
{
    counted::reset();
    {
        world w;
        const pair both = begin(w);
        play(w, both);
    }
    CHECK(counted::made > 0 && counted::balanced());
}

void a_parcel(world &w, const pair &both, mode as, int *&sent)
{
    how = as;
    parcel one = parcel_of(7);
    sent = one.what.get();
    CHECK(w.system.send(both.first, std::move(one)) == AXO_OK);
    CHECK(!one.what); /* moved */
    w.run();
}

void moved()
{
    int *sent = nullptr;
    scene([&](world &w, const pair &both) {
        a_parcel(w, both, mode::look, sent);
        CHECK(handled == 1 && arrived == sent);
    });
    scene([&](world &w, const pair &both) {
        a_parcel(w, both, mode::keep, sent);
        CHECK(handled == 1 && arrived == sent);
    });
    scene([&](world &w, const pair &both) {
        a_parcel(w, both, mode::pass_on, sent);
        CHECK(handled == 2 && arrived == sent && w.dead == 0);
    });
    scene([&](world &w, const pair &both) {
        a_parcel(w, both, mode::ignore, sent);
        CHECK(handled == 1 && w.system.stats().unhandled == 1);
    });
}

void stashed()
{
    int *sent = nullptr;
    scene([&](world &w, const pair &both) {
        a_parcel(w, both, mode::aside, sent);
        how = mode::keep;
        w.system.send(both.first, empty{});
        w.run();
        CHECK(handled == 2 && arrived == sent);
    });
    scene([&](world &w, const pair &both) { /* and never taken out again */
        a_parcel(w, both, mode::aside, sent);
        w.system.stop_actor(both.first);
        w.run();
        CHECK(handled == 1 && w.dead == 1);
    });
    scene([&](world &w, const pair &both) { /* nor before the system ends */
        a_parcel(w, both, mode::aside, sent);
    });
}

void failed()
{
    int *sent = nullptr;
    scene([&](world &w, const pair &both) {
        a_parcel(w, both, mode::fail, sent);
        CHECK(handled == 1 && w.system.stats().restarts == 1);
    });
    scene([&](world &w, const pair &both) { /* queued behind a failure: the next instance has it */
        how = mode::fail;
        w.system.send(both.first, parcel_of(1));
        parcel second = parcel_of(2);
        sent = second.what.get();
        w.system.send(both.first, std::move(second));
        w.run();
        CHECK(handled == 2 && arrived == sent);
    });
}

void dead()
{
    scene([](world &w, const pair &both) { /* in the mailbox at the end */
        w.system.send(both.first, parcel_of(1));
        w.system.stop_actor(both.first);
        w.run();
        CHECK(handled == 0 && w.dead == 1);
    });
    scene([](world &w, const pair &both) { /* sent to one that is gone */
        w.system.stop_actor(both.first);
        w.run();
        parcel one = parcel_of(1);
        CHECK(w.system.send(both.first, std::move(one)) == AXO_EGONE);
        CHECK(!one.what && w.dead == 1);
    });
    scene([](world &w, const pair &both) { /* in the mailbox at the system's end */
        w.system.send(both.first, parcel_of(1));
    });
    scene([](world &w, const pair &both) { /* to nobody: refused, and given back */
        static_cast<void>(both);
        parcel one = parcel_of(5);
        CHECK(w.system.send(axo::ref<store>(), std::move(one)) == AXO_EINVAL);
        CHECK(one.what && *one.what == 5);
    });
}

/* A bounded mailbox refuses: the sender has its message again. */
void refused()
{
    scene([](world &w, const pair &both) {
        axo_mailbox mailbox;
        axo_mailbox_init(&mailbox);
        mailbox.messages_max = 1;
        axo_props props;
        axo_props_init(&props);
        props.mailbox = &mailbox;
        axo::ref<store> bounded;
        CHECK(w.system.spawn(bounded, props, both.last) == AXO_OK);
        w.run();
        CHECK(w.system.send(bounded, parcel_of(1)) == AXO_OK);
        parcel second = parcel_of(2);
        const int *what = second.what.get();
        CHECK(w.system.send(bounded, std::move(second)) == AXO_EFULL);
        CHECK(second.what.get() == what);
        CHECK(w.system.send(bounded, fixed()) == AXO_EFULL); /* cannot be: destroyed */
        w.run();
        CHECK(handled == 1);
        CHECK(w.system.send(bounded, std::move(second)) == AXO_OK);
        w.run();
        CHECK(handled == 2 && arrived == what);
    });
}

void copied()
{
    scene([](world &w, const pair &both) {
        const stock shared{"shared", {}};
        CHECK(w.system.send(both.first, shared) == AXO_OK); /* a copy of a constant */
        CHECK(w.system.send(both.first, number{3}) == AXO_OK);
        const number four{4};
        CHECK(w.system.send(both.first.raw(), four) == AXO_OK);
        w.run();
        CHECK(shared.text == "shared");
        /* The wrong size for its tag: unhandled, and read by nobody. */
        const char bytes[3] = {1, 2, 3};
        CHECK(axo_system_send(w.system.raw(), both.first.raw(), number::tag, bytes, 3) == AXO_OK);
        CHECK(axo_system_send(w.system.raw(), both.first.raw(), parcel::tag, bytes, 3) == AXO_OK);
        CHECK(axo_system_send(w.system.raw(), both.first.raw(), empty::tag, bytes, 3) == AXO_OK);
        CHECK(axo_system_send(w.system.raw(), both.first.raw(), 99, nullptr, 0) == AXO_OK);
        w.run();
        CHECK(handled == 0 && w.system.stats().unhandled == 4);
    });
}

/* ---- an actor that uses its context -------------------------------------------------------- */

struct tick {
    static constexpr std::uint32_t tag = 20;
    int which;
};
struct go {
    static constexpr std::uint32_t tag = 21;
};
struct gone {
    static constexpr std::uint32_t tag = 22;
    int which;
};

struct user {
    using messages = axo::messages<go, tick, gone, axo_terminated, axo::answer<number>,
                                   axo::answer<stock>, axo::receive_timeout>;
    explicit user(axo::ref<store> to) : other(to) {}

    axo_status on(axo::context ctx, const go &)
    {
        axo_timer timer;
        bool fine = ctx.send_after(1ms, ctx.self(this), tick{1}, &timer) == AXO_OK;
        fine &= ctx.schedule_fixed_rate(2ms, 1ms, ctx.self(this), tick{2}, &rate) == AXO_OK;
        fine &= ctx.schedule_fixed_delay(2ms, 1h, ctx.self(this), tick{4}) == AXO_OK;
        fine &= ctx.timer_once(this, 1, 3ms, tick{8}) == AXO_OK && ctx.timer_active(1);
        fine &= ctx.timer_start(this, 2, AXO_TIMER_FIXED_DELAY, 3ms, 1h, tick{16}) == AXO_OK;
        fine &= ctx.timer_once(this, 3, 3ms, tick{512}) == AXO_OK;
        fine &= ctx.timer_stop(3) == AXO_OK && !ctx.timer_active(3);
        fine &= ctx.ask(other, how_many{}, 1s, 11) == AXO_OK;
        fine &= ctx.ask(other, what_stock{2}, 1s, 12) == AXO_OK;
        axo::ref<shelf> child;
        fine &= ctx.spawn(child, nullptr) == AXO_OK && bool(child);
        fine &= ctx.watch(child) == AXO_OK;
        fine &= ctx.watch_with(this, other, gone{32}) == AXO_OK;
        fine &= ctx.stop(child) == AXO_OK;
        fine &= axo_ref_is_none(ctx.sender()) && ctx.instance() == 1 && ctx.now() > 0ns;
        fine &= ctx.system() == axo_system_of(ctx.raw());
        fine &= ctx.receive_timeout(100s) == AXO_OK;
        return fine ? AXO_OK : ctx.fail(1, "go");
    }
    void on(axo::context ctx, const tick &one)
    {
        ticks |= one.which;
        if (one.which == 2 && ++rates == 3)
            CHECK(ctx.timer_cancel(rate));
    }
    void on(const axo_terminated &) { ended++; }
    void on(axo::context, gone it) { ended += it.which; }
    void on(axo::context, axo::answer<number> answer)
    {
        CHECK(answer.id() == 11 && answer.value().value == 9);
        CHECK(answer.waited() >= 0ns && axo_ref_equal(answer.from(), other.raw()));
        answers++;
    }
    void on(const axo::answer<stock> &answer)
    {
        CHECK(answer.id() == 12 && answer.value().text == "longer than a short string is, longer "
                                                          "than a short string is, ");
        const char *data = answer.value().text.data();
        kept = answer.take();
        CHECK(kept.text.data() == data);
        answers++;
    }
    void on(axo::receive_timeout) { timeouts++; }
    static inline int ticks, rates, ended, answers, timeouts, failures;
    static inline axo_status last;
    axo::ref<store> other;
    axo_timer rate{};
    stock kept{};
};

void contexts()
{
    scene([](world &w, const pair &both) {
        user::ticks = user::rates = user::ended = user::answers = user::timeouts = 0;
        w.system.send(both.first, number{9});
        w.system.send(both.first, stock{"longer than a short string is, ", {}});
        axo::ref<user> ref;
        CHECK(w.system.spawn(ref, "user", both.first) == AXO_OK);
        w.system.send(ref, go{});
        w.run();
        CHECK(user::answers == 2 && user::ended == 1 && user::ticks == 0);
        for (int i = 0; i < 12; i++)
            w.pass(1ms);
        CHECK(user::ticks == 1 + 2 + 4 + 8 + 16 && user::rates == 3);
        w.system.stop_actor(both.first);
        w.run();
        CHECK(user::ended == 33);
        w.pass(200s);
        CHECK(user::timeouts >= 1);
    });
}

/* A request under which the asked one fails, and an ask of one that is gone. */
struct asker {
    using messages = axo::messages<go, axo_verdict, axo_request_failed>;
    explicit asker(axo::ref<store> to) : other(to) {}
    void on(axo::context ctx, const go &)
    {
        if (times++ == 0) {
            CHECK(ctx.send(other, parcel_of(1)) == AXO_OK);
            return;
        }
        CHECK(ctx.ask(other, how_many{}, 5ms, 1) == AXO_OK);
        CHECK(ctx.stop(other) == AXO_OK);
    }
    void on(const axo_verdict &verdict) { user::last = verdict.status; }
    void on(const axo_request_failed &failed)
    {
        CHECK(failed.code == 3 && failed.tag == parcel::tag);
        CHECK(std::string(failed.text) == "told to");
        user::failures++;
    }
    axo::ref<store> other;
    int times = 0;
};

void verdicts()
{
    counted::reset();
    {
        static const axo::strategy tell(axo::one_for_one().answer_failed(),
                                        [](const axo_failure &) { return AXO_RESUME; });
        world w(&tell.raw());
        const pair both = begin(w);
        how = mode::fail;
        user::failures = 0;
        user::last = AXO_OK;
        axo::ref<asker> ref;
        CHECK(w.system.spawn(ref, "asker", both.first) == AXO_OK);
        w.system.send(ref, go{});
        w.run();
        CHECK(handled == 1 && user::failures == 1);
        w.system.send(ref, go{});
        w.run();
        CHECK(user::last == AXO_EGONE);
    }
    CHECK(counted::balanced());
}

/* ---- behaviours ---------------------------------------------------------------------------- */

struct lock_it {
    static constexpr std::uint32_t tag = 30;
};
struct unlock_it {
    static constexpr std::uint32_t tag = 31;
};
struct enter {
    static constexpr std::uint32_t tag = 32;
    std::unique_ptr<int> who;
    counted life;
};

/* A door whose visitors wait while it is locked. */
struct door {
    using messages = axo::messages<lock_it, unlock_it, enter>;
    struct locked {
        using messages = axo::messages<enter, unlock_it>;
        static axo_status on(door &, axo::context ctx, const enter &) { return ctx.stash(); }
        static void on(door &self, axo::context ctx, unlock_it)
        {
            self.turns++;
            CHECK(ctx.unbecome() == AXO_OK && ctx.stash_count() == 2);
            /* the second call's come before the first's */
            CHECK(ctx.unstash(1) == AXO_OK && ctx.unstash_all() == AXO_OK);
        }
    };
    void on(axo::context ctx, const lock_it &) { CHECK(ctx.become<locked>(this) == AXO_OK); }
    void on(const unlock_it &) { inside = -100; }
    void on(enter &&who) { inside = 10 * inside + *who.who; }
    int turns = 0;
    static inline int inside;
};

void behaviours()
{
    scene([](world &w, const pair &) {
        door::inside = 0;
        axo::ref<door> ref;
        CHECK(w.system.spawn(ref, "door") == AXO_OK);
        const auto come = [&](int who) {
            w.system.send(ref, enter{std::make_unique<int>(who), {}});
        };
        come(1);
        w.system.send(ref, lock_it{});
        come(2);
        come(3);
        w.system.send(ref, lock_it{}); /* unknown to one that is locked */
        w.run();
        CHECK(door::inside == 1 && w.system.stats().unhandled == 1);
        w.system.send(ref, unlock_it{});
        w.run();
        come(4);
        w.run();
        CHECK(door::inside == 1324);
    });
}

/* ---- references, systems, asks from a thread ----------------------------------------------- */

void references()
{
    const axo::ref<store> none;
    CHECK(!none && none == axo::ref<store>(axo_ref_none()));
    CHECK(std::is_trivially_copyable_v<axo::ref<store>> && sizeof none == sizeof(axo_ref));
    CHECK(std::hash<axo::ref<store>>()(none) == 0);
    CHECK(axo::handles<store, parcel> && !axo::handles<shelf, number>);
    using narrow = axo::ref<axo::messages<number, parcel>>;
    CHECK(std::is_convertible_v<axo::ref<store>, narrow>);
    CHECK(!std::is_convertible_v<axo::ref<shelf>, narrow>);
    CHECK(!std::is_convertible_v<axo::ref<store>, axo::ref<shelf>>);
    CHECK(!std::is_convertible_v<axo_ref, axo::ref<store>>);
    scene([](world &w, const pair &both) {
        const narrow some = both.first;
        CHECK(w.system.send(some, number{2}) == AXO_OK);
        CHECK(w.system.send(some, parcel_of(3)) == AXO_OK);
        w.run();
        CHECK(handled == 1 && some != narrow());
    });
}

void threads()
{
    counted::reset();
    {
        axo_options options;
        axo_options_init(&options);
        options.workers = 2;
        axo::system first(nullptr);
        CHECK(!first && axo::system::start(&options, nullptr) == AXO_EINVAL);
        CHECK(axo::system::start(&options, &first) == AXO_OK);
        CHECK(axo::system::start(&options, &first) == AXO_EINVAL);
        axo::system system(std::move(first));
        CHECK(!first && bool(system) && system.now() > 0ns);
        axo::ref<shelf> last;
        axo::ref<store> ref;
        CHECK(system.spawn(last, "shelf") == AXO_OK);
        CHECK(system.spawn(ref, "store", last) == AXO_OK);
        CHECK(system.spawn(ref, "bad/name", last) == AXO_ENAME && !ref);
        CHECK(system.spawn(ref, "other", last) == AXO_OK);
        how = mode::look;
        for (int i = 0; i < 1000; i++) {
            CHECK(system.send(ref, number{i}) == AXO_OK);
            CHECK(system.send(ref, parcel_of(i)) == AXO_OK);
        }
        CHECK(system.send(ref, stock{"abc", {}}) == AXO_OK);
        const axo::asked<number> sum = system.ask(ref, how_many{}, 100s);
        CHECK(sum.status() == AXO_OK && bool(sum) && sum->value == 499500);
        axo::asked<stock> text = system.ask(ref, what_stock{3}, 100s);
        CHECK(bool(text) && (*text).text == "abcabcabc" && text.waited() >= 0ns);
        const axo::asked<stock> more(std::move(text));
        CHECK(!text && more->text == "abcabcabc");
        axo::asked<stock> again = system.ask(ref, what_stock{30}, 100s);
        const char *data = again->text.data();
        const stock mine = again.take();
        CHECK(mine.text.data() == data && mine.text.size() == 90);
        CHECK(system.poison(ref) == AXO_OK);
        axo::asked<number> late = system.ask(ref, how_many{}, 100s);
        CHECK(!late && late.status() == AXO_EGONE);
        CHECK(late.verdict().status == AXO_EGONE || late.verdict().status == AXO_OK);
        CHECK(system.kill(last) == AXO_OK);
        CHECK(system.shutdown() == AXO_OK && system.wait() == AXO_OK);
        axo_outcome outcome;
        CHECK(system.wait(1s, &outcome) == AXO_OK && system.stop() == AXO_OK);
    }
    CHECK(counted::made > 2000 && counted::balanced());
}

/* The n-th allocation of a scene is refused, for each n: nothing is lost, nothing ends twice. */
void no_memory()
{
    long n = 0;
    bool refused = true;
    while (refused && n < 1000) {
        counted::reset();
        {
            world w(nullptr, true);
            const pair both = begin(w);
            w.allowed = n++;
            how = mode::pass_on;
            parcel one = parcel_of(1);
            const int *what = one.what.get();
            axo_status status = w.system.send(both.first, std::move(one));
            CHECK(status == AXO_OK ? !one.what : status == AXO_ENOMEM && one.what.get() == what);
            const stock text{"text", {}};
            static_cast<void>(w.system.send(both.first, text));
            w.run();
            CHECK(handled == 0 || arrived == what);
            how = mode::aside;
            static_cast<void>(w.system.send(both.first, parcel_of(2)));
            w.run();
            w.system.stop_actor(both.first);
            w.run();
            w.allowed = -1;
            refused = w.refused;
        }
        CHECK(counted::balanced());
    }
    CHECK(!refused && n > 1);
}

} // namespace

int main()
{
    moved();
    stashed();
    failed();
    dead();
    refused();
    copied();
    contexts();
    verdicts();
    behaviours();
    references();
    threads();
    no_memory();
    return check::result("messages");
}
