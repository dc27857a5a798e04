/* hpp_life_test.cpp - lives of instances in C++: exceptions in every callback are failures, and an
 * object that was constructed is destroyed once, however its instance ends. */
#include "hpp_check.h"

#include <cerrno>
#include <functional>
#include <stdexcept>
#include <system_error>

using namespace std::chrono_literals;
using check::counted;
using check::world;

namespace {

/* ---- what is thrown, and where ------------------------------------------------------------- */

enum class at {
    nowhere, construct, pre_start, on, settle, post_stop, pre_restart, post_restart, decide
};

struct plan {
    at where = at::nowhere;
    unsigned times = 0;                 /* so often it is thrown there */
    axo_directive answer = AXO_RESTART; /* of the supervisor */
};
plan planned;

/* What the supervisor was told, and the order of what has happened. */
struct told {
    unsigned decided = 0;
    axo_failure last{};
    std::string text;
    std::string original;
    std::string order;
};
told seen;

const char *name_of(at where)
{
    static const char *const names[] = {"nowhere", "construct", "pre_start", "on", "settle",
                                        "post_stop", "pre_restart", "post_restart", "decide"};
    return names[static_cast<int>(where)];
}

void come_to(at where)
{
    if (planned.where != where || planned.times == 0)
        return;
    planned.times--;
    throw std::runtime_error(std::string("thrown in ") + name_of(where));
}

/* ---- the actors ---------------------------------------------------------------------------- */

struct poke {
    static constexpr std::uint32_t tag = 1;
};
struct count_up {
    static constexpr std::uint32_t tag = 2;
    int by;
};

class subject {
  public:
    using messages = axo::messages<poke, count_up>;

    explicit subject(axo::context ctx) : instance_(ctx.instance())
    {
        if (ctx.defer([] { seen.order += stands ? "c" : "?"; }) != AXO_OK)
            throw std::bad_alloc();
        come_to(at::construct);
        stands = true;
        if (ctx.defer([kept = counted()] { seen.order += "C"; }) != AXO_OK)
            throw std::bad_alloc();
        seen.order += "+";
    }
    ~subject()
    {
        stands = false;
        seen.order += "~";
    }
    void pre_start(axo::context)
    {
        seen.order += "s";
        come_to(at::pre_start);
    }
    void on(axo::context ctx, const poke &)
    {
        CHECK(ctx.instance() == instance_);
        seen.order += "p";
        CHECK(ctx.decide_again(ctx.parent()) == AXO_EINVAL); /* no child */
        if (planned.where == at::settle)
            CHECK(ctx.want_settle() == AXO_OK);
        come_to(at::on);
    }
    void on(const count_up &more) { sum += more.by; }
    void settle(axo::context) { come_to(at::settle); }
    axo_status post_stop(axo::context)
    {
        seen.order += "x";
        come_to(at::post_stop);
        return AXO_OK;
    }
    axo_status pre_restart(axo::context ctx, const axo_failure &why)
    {
        seen.order += "r";
        CHECK((ctx.message() != nullptr) == (why.has_message == 1));
        come_to(at::pre_restart);
        return ctx.default_pre_restart(this, why);
    }
    void post_restart(axo::context, const axo_failure &why)
    {
        seen.order += "R";
        seen.original = why.text;
        come_to(at::post_restart);
    }
    static inline int sum;
    static inline bool stands; /* between constructor and destructor */

  private:
    counted part_;
    std::uint32_t instance_;
};

class boss {
  public:
    using messages = axo::messages<axo_terminated>;
    static constexpr axo::rules supervision = axo::one_for_one().limit(5);
    static inline axo::ref<subject> child;

    explicit boss(axo::context ctx)
    {
        child = ctx.spawn<subject>("child");
        if (ctx.watch(child) != AXO_OK)
            throw std::bad_alloc();
    }
    void on(const axo_terminated &gone)
    {
        CHECK(gone.actor.bits == child.raw().bits);
        seen.order += "T";
    }
    axo_directive decide(axo::context ctx, const axo_failure &why)
    {
        seen.decided++;
        seen.last = why;
        seen.text = why.text;
        CHECK(axo_ref_equal(ctx.sender(), why.reporter));
        come_to(at::decide);
        return planned.answer;
    }

  private:
    counted part_;
};

/* A world with a boss and its child, in which two messages are sent. */
void play(const plan &what, const std::function<void(world &)> &then)
{
    planned = what;
    seen = told();
    counted::reset();
    subject::sum = 0;
    subject::stands = false;
    {
        world w;
        CHECK(w.started == AXO_OK);
        axo::ref<boss> ref = w.system.spawn<boss>("boss");
        w.run();
        CHECK(bool(ref) && bool(boss::child));
        w.system.send(boss::child, poke{});
        w.system.send(boss::child, count_up{4});
        w.run();
        then(w);
    }
    CHECK(counted::made > 0 && counted::balanced());
    CHECK(planned.times == 0);
}

bool fits(std::uint32_t kind, std::uint32_t site, const char *text)
{
    return seen.last.kind == kind && seen.last.site == site && seen.last.has_status == 0 &&
           seen.text == text;
}

/* ---- tests --------------------------------------------------------------------------------- */

void nothing_is_thrown()
{
    play({}, [](world &w) {
        CHECK(seen.order == "+sp" && subject::sum == 4 && seen.decided == 0);
        w.system.stop_actor(boss::child);
        w.run();
        /* post_stop, what was deferred last, then first, then the destructor, then the notice */
        CHECK(seen.order == "+spxCc~T");
    });
}

void handlers()
{
    play({at::on, 1}, [](world &) {
        CHECK(seen.decided == 1 && subject::sum == 4);
        CHECK(fits(AXO_FAILURE_ORDINARY, AXO_SITE_RECEIVE, "thrown in on"));
        CHECK(seen.last.has_message == 1 && seen.last.tag == poke::tag && seen.last.code == 0);
        CHECK(seen.order == "+sprxCc~+R" && seen.original == "thrown in on");
    });
    play({at::on, 1, AXO_RESUME}, [](world &) {
        CHECK(seen.order == "+sp" && subject::sum == 4);
    });
    play({at::on, 1, AXO_STOP}, [](world &w) {
        CHECK(seen.order == "+spxCc~T" && subject::sum == 0 && w.dead == 1);
    });
    play({at::on, 1, AXO_ESCALATE}, [](world &w) {
        /* /user restarts the boss, whose child ends with the old one */
        CHECK(seen.order == "+spxCc~+s" && w.dead == 1);
    });
    play({at::settle, 1}, [](world &) {
        CHECK(fits(AXO_FAILURE_ORDINARY, AXO_SITE_SETTLE, "thrown in settle"));
        CHECK(seen.order == "+sprxCc~+R" && subject::sum == 4);
    });
}

void births()
{
    /* What the constructor has deferred runs, and no destructor. */
    play({at::construct, 1, AXO_STOP}, [](world &w) {
        CHECK(fits(AXO_FAILURE_INIT, AXO_SITE_CONSTRUCT, "thrown in construct"));
        CHECK(seen.order == "?T" && w.dead == 2);
    });
    play({at::construct, 2, AXO_RESTART}, [](world &) {
        CHECK(seen.decided == 2 && seen.order == "??+sp" && subject::sum == 4);
    });
    play({at::pre_start, 1, AXO_STOP}, [](world &w) {
        CHECK(fits(AXO_FAILURE_INIT, AXO_SITE_PRE_START, "thrown in pre_start"));
        CHECK(seen.order == "+sCc~T" && w.dead == 2);
    });
    play({at::pre_start, 1, AXO_RESTART}, [](world &) {
        CHECK(seen.order == "+sCc~+sp" && subject::sum == 4);
    });
}

void restarts()
{
    play({at::post_restart, 1}, [](world &w) {
        static_cast<void>(axo_system_fail(w.system.raw(), boss::child.raw(), AXO_FAILURE_ORDINARY,
                                          9));
        w.run();
        CHECK(seen.decided == 2);
        CHECK(fits(AXO_FAILURE_POST_RESTART, AXO_SITE_POST_RESTART, "thrown in post_restart"));
        CHECK(seen.last.original_code == 9);
    });
    play({at::construct, 0}, [](world &w) {
        planned.times = 1; /* the second instance's */
        static_cast<void>(axo_system_fail(w.system.raw(), boss::child.raw(), AXO_FAILURE_ORDINARY,
                                          9));
        w.run();
        CHECK(fits(AXO_FAILURE_POST_RESTART, AXO_SITE_CONSTRUCT, "thrown in construct"));
        CHECK(seen.order.substr(0, 9) == "+sprxCc~?");
    });
    play({at::pre_restart, 1}, [](world &w) {
        static_cast<void>(axo_system_fail(w.system.raw(), boss::child.raw(), AXO_FAILURE_ORDINARY,
                                          9));
        w.run();
        /* a line in the log, and the restart goes on */
        CHECK(seen.decided == 1 && seen.order == "+sprCc~+R");
        CHECK(w.said("thrown in pre_restart"));
    });
    play({at::post_stop, 1}, [](world &w) {
        w.system.poison(boss::child);
        w.run();
        CHECK(seen.decided == 0 && seen.order == "+spxCc~T");
        CHECK(w.said("thrown in post_stop"));
    });
}

void deciders()
{
    play({at::decide, 1}, [](world &w) {
        static_cast<void>(axo_system_fail(w.system.raw(), boss::child.raw(), AXO_FAILURE_ORDINARY,
                                          9));
        w.run();
        CHECK(w.said("thrown in decide") && seen.decided == 1);
    });
}

/* ---- kinds of exceptions ------------------------------------------------------------------- */

struct throw_it {
    static constexpr std::uint32_t tag = 1;
    int kind;
};

struct thrower {
    using messages = axo::messages<throw_it>;
    static constexpr const char *class_name = "it throws";
    axo_status on(axo::context ctx, const throw_it &message)
    {
        switch (message.kind) {
        case 0:
            throw axo::failure(42, "forty-two");
        case 1:
            throw axo::fatal(43, "forty-three");
        case 2:
            throw std::bad_alloc();
        case 3:
            throw std::system_error(ECONNRESET, std::generic_category(), "reading");
        case 4:
            throw std::logic_error(std::string(300, 'l'));
        case 5:
            throw "a text";
        case 6:
            throw 17;
        case 7:
            static_cast<void>(ctx.spawn<thrower>("not/a/name"));
            return AXO_OK;
        case 8:
            return ctx.fail(44, "forty-four");
        case 9:
            return ctx.fail_fatal(45, "forty-five");
        default:
            static_cast<void>(ctx.block([] { throw axo::failure(46, "from afar"); }));
            return AXO_OK;
        }
    }
};

struct row {
    std::uint32_t kind;
    int code;
    const char *text; /* how it begins */
};

void kinds()
{
    static const row rows[] = {
        {AXO_FAILURE_ORDINARY, 42, "forty-two"},
        {AXO_FAILURE_FATAL, 43, "forty-three"},
        {AXO_FAILURE_ORDINARY, AXO_ENOMEM, "std::bad_alloc"},
        {AXO_FAILURE_ORDINARY, ECONNRESET, "reading: "},
        {AXO_FAILURE_ORDINARY, 0, "llllllll"},
        {AXO_FAILURE_ORDINARY, 0, "a text"},
        {AXO_FAILURE_ORDINARY, 0, "an exception that is no std::exception"},
        {AXO_FAILURE_ORDINARY, AXO_ENAME, "spawn: name is malformed"},
        {AXO_FAILURE_ORDINARY, 44, "forty-four"},
        {AXO_FAILURE_FATAL, 45, "forty-five"},
        {AXO_FAILURE_ORDINARY, 46, "from afar"},
    };
    unsigned right = 0;
    std::string text;
    int code = 0;
    std::uint32_t kind = 0;
    /* A decider that is a lambda with what it captures, and takes no memory. */
    const axo::strategy listen(axo::one_for_one(), [&](const axo_failure &why) {
        text = why.text;
        code = why.code;
        kind = why.kind;
        return AXO_RESUME;
    });
    world w(&listen.raw());
    axo::ref<thrower> ref = w.system.spawn<thrower>("thrower");
    for (int i = 0; i < 11; i++) {
        w.system.send(ref, throw_it{i});
        w.run();
        CHECK(kind == rows[i].kind && code == rows[i].code);
        CHECK(text.compare(0, std::string(rows[i].text).size(), rows[i].text) == 0);
        CHECK(text.size() < AXO_FAILURE_TEXT_MAX);
        right++;
    }
    CHECK(right == 11);
    CHECK(axo::actor<thrower>::cls()->name == std::string("it throws"));
    CHECK(axo::actor<subject>::cls()->name == std::string("subject"));
    CHECK(axo::actor<subject>::cls()->tag_name(count_up::tag) == std::string("count_up"));
    CHECK(axo::actor<subject>::cls()->tag_name(99) == nullptr);
    CHECK(w.said("throw_it"));
}

/* ---- strategies ---------------------------------------------------------------------------- */

/* A supervisor whose strategy is given by the props of its spawn, with its own state. */
struct guard {
    using messages = axo::messages<poke>;
    int decided = 0;
    axo::ref<thrower> child;
    explicit guard(axo::context ctx) : child(ctx.spawn<thrower>("child")) {}
    void on(axo::context ctx, const poke &) { ctx.send(child, throw_it{0}); }
};

void strategies()
{
    int last = 0;
    const axo::strategy count(axo::all_for_one().limit(2, 1s).sliding().answer_failed(),
                              [&last](axo::context ctx, guard &self, const axo_failure &why) {
                                  last = ++self.decided;
                                  CHECK(why.code == 42);
                                  CHECK(axo_ref_equal(ctx.sender(), self.child.raw()));
                                  return AXO_RESTART;
                              });
    CHECK(count.raw().scope == AXO_ALL_FOR_ONE && count.raw().window == AXO_WINDOW_SLIDING);
    CHECK(count.raw().limited == 1 && count.raw().retries_max == 2);
    CHECK(count.raw().within_ns == 1000000000 && count.raw().answer_failed == 1);
    world w;
    axo_props props;
    axo_props_init(&props);
    props.name = "guard";
    props.strategy = &count.raw();
    axo::ref<guard> ref = w.system.spawn<guard>(props);
    for (int i = 1; i <= 3; i++) {
        w.system.send(ref, poke{});
        w.run();
        CHECK(last == i);
    }
    /* The third is beyond the budget: the child is gone. */
    w.system.send(ref, poke{});
    w.run();
    CHECK(last == 3 && w.dead >= 1);
    const axo_strategy *own = axo::detail::strategy_of<boss>();
    CHECK(own->retries_max == 5 && own->limited == 1 && own->decider != nullptr);
    CHECK(axo::detail::strategy_of<subject>() == nullptr);
    static constexpr axo::rules with_delays = axo::rest_for_one().limit(1);
    CHECK(with_delays.raw().scope == AXO_REST_FOR_ONE && with_delays.raw().within_ns < 0);
    CHECK(with_delays.raw().decider == nullptr);
}

/* ---- out of memory ------------------------------------------------------------------------- */

/* Fails the n-th allocation of a life with a restart, for each n. */
void no_memory()
{
    long n = 0;
    bool refused = true;
    while (refused && n < 2000) {
        planned = {at::on, 1};
        seen = told();
        counted::reset();
        {
            world w(nullptr, true);
            if (!CHECK(w.started == AXO_OK))
                return;
            w.allowed = n++;
            axo::ref<boss> ref;
            boss::child = axo::ref<subject>();
            if (w.system.spawn(ref, "boss") == AXO_OK) {
                w.run();
                static_cast<void>(w.system.send(boss::child, poke{}));
                w.run();
                static_cast<void>(w.system.poison(boss::child));
                w.run();
            }
            w.allowed = -1;
            refused = w.refused;
        }
        CHECK(counted::balanced());
    }
    CHECK(!refused && n > 10);
}

/* ---- where an instance is ------------------------------------------------------------------ */

class alignas(AXO_STATE_ALIGN) lanes {
  public:
    using messages = axo::messages<poke>;

    explicit lanes(int) { look(); }
    void on(axo::context, const poke &)
    {
        CHECK(lanes_[0] == 0);
        throw std::runtime_error("again");
    }
    static inline unsigned made;

  private:
    void look()
    {
        made++;
        CHECK(reinterpret_cast<std::uintptr_t>(this) % AXO_STATE_ALIGN == 0);
    }
    float lanes_[16] = {};
};

/* Several side by side, with arguments behind them, and after a restart. */
void alignment()
{
    world w;
    lanes::made = 0;
    for (int i = 0; i < 8; i++) {
        axo::ref<lanes> ref;
        CHECK(w.system.spawn(ref, nullptr, i) == AXO_OK);
        CHECK(w.system.send(ref, poke{}) == AXO_OK);
    }
    w.run();
    CHECK(lanes::made == 16);
}

} // namespace

int main()
{
    alignment();
    nothing_is_thrown();
    handlers();
    births();
    restarts();
    deciders();
    kinds();
    strategies();
    no_memory();
    return check::result("lives");
}
