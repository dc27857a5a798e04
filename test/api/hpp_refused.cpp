/* hpp_refused.cpp - what axo.hpp does not compile, a CASE each, with what the compiler must say.
 * CASE 0 compiles. hpp_refused_test.sh reads this file. */
#include <axo/axo.hpp>

#include <memory>
#include <string>

struct open_it {
    static constexpr std::uint32_t tag = 1;
    int n;
};
struct close_it {
    static constexpr std::uint32_t tag = 2;
};
struct other {
    static constexpr std::uint32_t tag = 3;
};
struct heavy {
    static constexpr std::uint32_t tag = 4;
    std::unique_ptr<int> what;
};
struct same_tag {
    static constexpr std::uint32_t tag = 1;
};
struct reserved {
    static constexpr std::uint32_t tag = AXO_TAG_RESERVED;
};
struct alignas(64) wide {
    static constexpr std::uint32_t tag = 6;
    int n;
};
struct alignas(2 * AXO_STATE_ALIGN) vast {
    int n;
};
struct question {
    static constexpr std::uint32_t tag = 8;
    using answer = open_it;
};
struct no_message {
    int n;
};

struct door {
    using messages = axo::messages<open_it, close_it, heavy, reserved, wide, question>;
    void on(const open_it &) {}
    void on(axo::context, const close_it &) {}
    void on(heavy &&) {}
    void on(const reserved &) {}
    void on(const wide &) {}
    open_it on(const question &) { return {1}; }
};
struct watched {
    using messages = axo::messages<close_it>;
    static constexpr std::uint32_t watchdog_ms = 10;
    void on(const close_it &) {}
};
struct narrow {
    using messages = axo::messages<close_it>;
    void on(const close_it &) {}
};

template <class T> struct with {
    using messages = axo::messages<close_it>;
    void on(const close_it &) {}
    T member;
};

inline void use(axo::context ctx, axo::system &system, axo::ref<door> ref)
{
    (void)ctx, (void)system, (void)ref;
#if CASE == 0 // compiles
    (void)ctx.send(ref, open_it{1});
    (void)ctx.send(ref, heavy{});
    axo::ref<axo::messages<close_it>> less = ref;
    (void)ctx.send(less, close_it{});
#elif CASE == 1 // does not handle this message
    (void)ctx.send(ref, other{});
#elif CASE == 2 // does not handle this message
    (void)system.send(ref, other{});
#elif CASE == 3 // does not handle this message
    (void)ctx.send_after(std::chrono::seconds(1), ref, other{});
#elif CASE == 4 // does not handle this message
    (void)ctx.ask(axo::ref<narrow>(), question{}, std::chrono::seconds(1), 1);
#elif CASE == 5 // does not handle this message
    (void)ctx.forward<open_it>(axo::ref<narrow>());
#elif CASE == 6 // cannot be copied: hand it over by std::move
    heavy mine;
    (void)ctx.send(ref, mine);
#elif CASE == 7 // must be trivially copyable
    (void)ctx.send_after(std::chrono::seconds(1), ref, heavy{});
#elif CASE == 8 // this type is no message
    (void)ctx.send(axo_ref_none(), no_message{1});
#elif CASE == 9 // messages of the runtime are not sent
    (void)ctx.send(ref, reserved{});
#elif CASE == 10 // aligned for any object and not more
    (void)ctx.send(ref, wide{});
#elif CASE == 11 // ref
    axo::ref<door> wider = axo::ref<axo::messages<close_it>>();
    (void)wider;
#elif CASE == 12 // ref
    axo::ref<door> untyped = axo_ref_none();
    (void)untyped;
#endif
}

inline void declare(axo::context ctx, axo::ref<door> ref)
{
    (void)ctx, (void)ref;
#if CASE == 13 // two messages of a list have one tag
    struct twice {
        using messages = axo::messages<open_it, same_tag>;
        void on(const open_it &) {}
        void on(const same_tag &) {}
    };
    (void)axo::actor<twice>::cls();
#elif CASE == 14 // lists a message that it does not handle
    struct forgets {
        using messages = axo::messages<open_it, close_it>;
        void on(const open_it &) {}
    };
    (void)axo::actor<forgets>::cls();
#elif CASE == 15 // this class is no actor
    (void)axo::actor<no_message>::cls();
#elif CASE == 16 // returns nothing, an axo_status, or the message's `answer`
    struct returns {
        using messages = axo::messages<close_it>;
        std::string on(const close_it &) { return ""; }
    };
    (void)axo::actor<returns>::cls();
#elif CASE == 17 // it is pre_start(axo::context)
    struct hook {
        using messages = axo::messages<close_it>;
        void on(const close_it &) {}
        void pre_start(int) {}
    };
    (void)axo::actor<hook>::cls();
#elif CASE == 18 // it is decide(axo::context, const axo_failure &)
    struct decides {
        using messages = axo::messages<close_it>;
        void on(const close_it &) {}
        axo_directive decide(int) { return AXO_STOP; }
    };
    axo::ref<decides> out;
    (void)ctx.spawn(out, "a");
#elif CASE == 19 // a state block is aligned to AXO_STATE_ALIGN and not more
    (void)axo::actor<with<vast>>::cls();
#elif CASE == 20 // arguments of a spawn are copied byte by byte
    axo::ref<with<int>> out;
    (void)ctx.spawn(out, "a", std::string("b"));
#elif CASE == 21 // no public constructor that takes these arguments
    axo::ref<narrow> out;
    (void)ctx.spawn(out, "a", 1, 2, 3);
#elif CASE == 22 // answer
    (void)ctx.ask(ref, close_it{}, std::chrono::seconds(1), 1);
#elif CASE == 23 // nodiscard
    axo::ref<narrow> out;
    ctx.spawn(out, "a");
#elif CASE == 24 // deleted
    axo::strategy one(axo::one_for_one(), [](const axo_failure &) { return AXO_STOP; });
    auto copy = one;
    (void)copy;
#endif
}

inline void declare_more()
{
#if CASE == 25 // it is static constexpr axo_on_crash on_crash
    struct crashes {
        using messages = axo::messages<close_it>;
        int on_crash() { return 1; }
        void on(const close_it &) {}
    };
    (void)axo::actor<crashes>::cls();
#elif CASE == 26 // a watchdog_ms needs on_crash = AXO_CRASH_FAILS
    (void)axo::actor<watched>::cls();
#elif CASE == 27 // it is static constexpr std::uint32_t watchdog_ms
    struct waits {
        using messages = axo::messages<close_it>;
        std::string watchdog_ms;
        void on(const close_it &) {}
    };
    (void)axo::actor<waits>::cls();
#endif
}
