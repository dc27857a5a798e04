/* cpp_actor.hpp - a class of C++ as a class of actors, and strategies of supervision. Part of
 * axo.hpp. */
#ifndef AXO_CPP_ACTOR_HPP
#define AXO_CPP_ACTOR_HPP

#include <axo/actor.h>
#include <axo/cpp_context.hpp>
#include <axo/cpp_message.hpp>
#include <axo/supervision.h>

namespace axo {

/* ---- supervision --------------------------------------------------------------------------- */

/* How an actor supervises its children, but for the decider: a value that functions make from one
 * another, as in axo::one_for_one().limit(3, 1s). */
class rules {
  public:
    explicit constexpr rules(axo_scope scope) noexcept : raw_{}
    {
        raw_.size = sizeof raw_;
        raw_.scope = scope;
    }
    /* So many restarts of a child within that time; without one: ever. */
    constexpr rules limit(std::int32_t retries,
                          std::chrono::nanoseconds within = std::chrono::nanoseconds(-1)) const
    {
        rules changed = *this;
        changed.raw_.limited = 1;
        changed.raw_.retries_max = retries;
        changed.raw_.within_ns = within.count();
        return changed;
    }
    /* The window slides: it is the time before each failure. */
    constexpr rules sliding() const
    {
        rules changed = *this;
        changed.raw_.window = AXO_WINDOW_SLIDING;
        return changed;
    }
    /* Restarts wait. What is pointed to stays valid and unchanged. */
    constexpr rules backoff(const axo_backoff *delays) const
    {
        rules changed = *this;
        changed.raw_.backoff = delays;
        return changed;
    }
    /* Who has sent the message under which a child fails is told: axo_strategy.answer_failed. */
    constexpr rules answer_failed() const
    {
        rules changed = *this;
        changed.raw_.answer_failed = 1;
        return changed;
    }
    constexpr rules decided_by(axo_decider decider, void *user) const
    {
        rules changed = *this;
        changed.raw_.decider = decider;
        changed.raw_.user = user;
        return changed;
    }
    constexpr const axo_strategy &raw() const noexcept { return raw_; }

  private:
    axo_strategy raw_;
};

constexpr rules one_for_one() noexcept { return rules(AXO_ONE_FOR_ONE); }
constexpr rules all_for_one() noexcept { return rules(AXO_ALL_FOR_ONE); }
constexpr rules rest_for_one() noexcept { return rules(AXO_REST_FOR_ONE); }

namespace detail {

/* The supervisor's own object, as whatever class the decider takes it. */
class parent_state {
  public:
    explicit parent_state(void *state) noexcept : state_(state) {}
    template <class T> operator T &() const noexcept { return *static_cast<T *>(state_); }

  private:
    void *state_;
};

template <class F>
axo_directive decided(const F &decide, axo_ctx *ctx, void *state, const axo_failure &why)
{
    if constexpr (std::is_invocable_v<const F &, const axo_failure &>)
        return decide(why);
    else if constexpr (std::is_invocable_v<const F &, context, const axo_failure &>)
        return decide(context(ctx), why);
    else
        return decide(context(ctx), parent_state(state), why);
}

} // namespace detail

/* A strategy with a decider of any callable type, which lies in it: no memory is taken.
 *
 *     static const axo::strategy guard(axo::one_for_one().limit(3, 1s),
 *                                      [](const axo_failure &why) { return AXO_RESTART; });
 *
 * The decider takes (why), (axo::context, why), or (axo::context, T &, why) with T the supervisor's
 * class, at the caller's word. An exception of it is the supervisor's failure. As every strategy it
 * stays valid and where it is while an actor uses it: it is not copied. */
template <class F> class strategy {
  public:
    constexpr strategy(const rules &how, F decide)
        : decide_(std::move(decide)), rules_(how.decided_by(&decider, this))
    {
    }
    strategy(const strategy &) = delete;
    strategy &operator=(const strategy &) = delete;
    constexpr const axo_strategy &raw() const noexcept { return rules_.raw(); }

  private:
    static axo_directive decider(axo_ctx *ctx, void *state, const axo_failure *why, void *user)
    {
        const F &decide = static_cast<const strategy *>(user)->decide_;
        axo_directive directive = AXO_ESCALATE;
        static_cast<void>(detail::guarded(ctx, [&] {
            directive = detail::decided(decide, ctx, state, *why);
            return AXO_OK;
        }));
        return directive;
    }

    F decide_;
    rules rules_;
};

namespace detail {

/* ---- what a class has ---- */

/* has_NAME<T>: it can be called so; names_NAME<T>: it has one function of that name. */
#define AXO_CPP_HOOK(hook, ...)                                                                    \
    template <class T, class = void> inline constexpr bool has_##hook = false;                     \
    template <class T>                                                                             \
    inline constexpr bool                                                                          \
        has_##hook<T, std::void_t<decltype(std::declval<T &>().hook(__VA_ARGS__))>> = true;        \
    template <class T, class = void> inline constexpr bool names_##hook = false;                   \
    template <class T>                                                                             \
    inline constexpr bool names_##hook<T, std::void_t<decltype(&T::hook)>> = true;
AXO_CPP_HOOK(pre_start, std::declval<context>())
AXO_CPP_HOOK(post_stop, std::declval<context>())
AXO_CPP_HOOK(pre_restart, std::declval<context>(), std::declval<const axo_failure &>())
AXO_CPP_HOOK(post_restart, std::declval<context>(), std::declval<const axo_failure &>())
AXO_CPP_HOOK(settle, std::declval<context>())
AXO_CPP_HOOK(decide, std::declval<context>(), std::declval<const axo_failure &>())
AXO_CPP_HOOK(on_other, std::declval<context>(), std::declval<const axo_message &>())
#undef AXO_CPP_HOOK

template <class T, class = void> inline constexpr bool has_class_name = false;
template <class T>
inline constexpr bool
    has_class_name<T, std::void_t<decltype(static_cast<const char *>(T::class_name))>> = true;

template <class T, class = void> inline constexpr bool names_on_crash = false;
template <class T>
inline constexpr bool names_on_crash<T, std::void_t<decltype(&T::on_crash)>> = true;
template <class T, class = void> inline constexpr bool has_on_crash = false;
template <class T>
inline constexpr bool has_on_crash<T, std::void_t<decltype(T::on_crash)>> =
    std::is_same_v<std::remove_cv_t<decltype(T::on_crash)>, axo_on_crash>;

template <class T, class = void> inline constexpr bool names_watchdog_ms = false;
template <class T>
inline constexpr bool names_watchdog_ms<T, std::void_t<decltype(&T::watchdog_ms)>> = true;
template <class T, class = void> inline constexpr bool has_watchdog_ms = false;
template <class T>
inline constexpr bool
    has_watchdog_ms<T, std::void_t<decltype(static_cast<std::uint32_t>(T::watchdog_ms))>> = true;

template <class T> constexpr axo_on_crash on_crash_of() noexcept
{
    if constexpr (has_on_crash<T>)
        return T::on_crash;
    else
        return AXO_CRASH_ENDS;
}
template <class T> constexpr std::uint32_t watchdog_ms_of() noexcept
{
    if constexpr (has_watchdog_ms<T>)
        return std::uint32_t{T::watchdog_ms};
    else
        return 0;
}

template <class T, class = void> inline constexpr bool has_supervision = false;
template <class T>
inline constexpr bool has_supervision<T, std::void_t<decltype(T::supervision.raw())>> = true;

template <class T, class V, class = void> inline constexpr bool hears_with_context = false;
template <class T, class V>
inline constexpr bool hears_with_context<T, V, std::void_t<decltype(std::declval<T &>().on(
                                                   std::declval<context>(), std::declval<V>()))>> =
    true;
template <class T, class V, class = void> inline constexpr bool hears_alone = false;
template <class T, class V>
inline constexpr bool
    hears_alone<T, V, std::void_t<decltype(std::declval<T &>().on(std::declval<V>()))>> = true;
template <class T, class V>
inline constexpr bool hears = hears_with_context<T, V> || hears_alone<T, V>;

template <class M, class = void> struct answer_of {
    using type = void;
};
template <class M> struct answer_of<M, std::void_t<typename M::answer>> {
    using type = typename M::answer;
};

/* ---- one message ---- */

/* A handler's result: nothing, a status, or what the message names as its answer, which goes to who
 * has sent the message. An answer for which there is no memory is the handler's failure. */
template <class M, class Call> axo_status finished(context ctx, Call &&call)
{
    using result = decltype(call());
    if constexpr (std::is_void_v<result>) {
        call();
        return AXO_OK;
    } else if constexpr (std::is_same_v<result, axo_status>) {
        return call();
    } else {
        static_assert(std::is_convertible_v<result, typename answer_of<M>::type>,
                      "axo: a handler returns nothing, an axo_status, or the message's `answer`");
        typename answer_of<M>::type answer = call();
        if (axo_ref_is_none(ctx.message()->sender))
            return AXO_OK;
        return ctx.reply(std::move(answer)) == AXO_ENOMEM ? AXO_ENOMEM : AXO_OK;
    }
}

template <class T, class M, class V> axo_status hear(T &self, context ctx, V &&value)
{
    if constexpr (hears_with_context<T, V &&>) {
        return finished<M>(ctx, [&]() -> decltype(auto) {
            return self.on(ctx, std::forward<V>(value));
        });
    } else if constexpr (hears_alone<T, V &&>) {
        return finished<M>(
            ctx, [&]() -> decltype(auto) { return self.on(std::forward<V>(value)); });
    } else if constexpr (hears<T, M &&> && std::is_copy_constructible_v<M>) {
        M copy(value);
        return hear<T, M>(self, ctx, std::move(copy));
    } else {
        static_assert(never<T, M>, "axo: the actor lists a message that it does not handle: it has "
                                   "no public on(axo::context, const M &) or on(const M &)");
        return AXO_UNHANDLED;
    }
}

template <class T> axo_status dispatch(T &self, context ctx, const axo_message &message, messages<>)
{
    if constexpr (has_on_other<T>)
        return finished<void>(
            ctx, [&]() -> decltype(auto) { return self.on_other(ctx, message); });
    else
        return (static_cast<void>(self), static_cast<void>(ctx), static_cast<void>(message),
                AXO_UNHANDLED);
}
/* In the order of the list, which compilers turn into a switch if it is long. */
template <class T, class M, class... Rest>
axo_status dispatch(T &self, context ctx, const axo_message &message, messages<M, Rest...>)
{
    if (wire<M>::is(message))
        return wire<M>::read(message, [&](auto &&value) {
            return hear<T, M>(self, ctx, std::forward<decltype(value)>(value));
        });
    return dispatch(self, ctx, message, messages<Rest...>());
}

template <class... M> constexpr bool tags_differ(messages<M...>) noexcept
{
    const std::array<std::uint64_t, sizeof...(M)> keys{wire<M>::key...};
    for (std::size_t i = 0; i != sizeof...(M); i++)
        for (std::size_t j = 0; j != i; j++)
            if (keys[i] == keys[j])
                return false;
    return true;
}

template <class... M> const char *name_of_tag(std::uint32_t tag, messages<M...>) noexcept
{
    const char *name = nullptr;
    static_cast<void>(
        ((wire<M>::key == tag && (name = spelled<M>.data(), true)) || ...));
    return name;
}

/* ---- the callbacks ---- */

/* The state block. It is zeroed before each construct: no instance stands in it. */
template <class T> struct place {
    alignas(T) unsigned char room[sizeof(T)];
    bool stands;
};

template <class T> struct callbacks {
    using list = typename list_of<T>::type;

    static T &self(void *state) noexcept { return *std::launder(static_cast<T *>(state)); }

    /* The clean-up that ends an instance is registered before the instance is made, so there is
     * nothing to undo if there is no memory for it; one whose constructor has thrown does not
     * stand. What the instance defers by itself is younger, and runs before its destructor. */
    static void end(void *state)
    {
        place<T> *where = static_cast<place<T> *>(state);
        if (!where->stands)
            return;
        where->stands = false;
        self(state).~T();
    }
    static axo_status construct(axo_ctx *ctx, void *state, const void *args)
    {
        if constexpr (!std::is_trivially_destructible_v<T>) {
            axo_status status = axo_defer(ctx, &end, state);
            if (status != AXO_OK)
                return status;
        }
        return guarded(ctx, [&] {
            const recipe *given = static_cast<const recipe *>(args);
            if (given != nullptr)
                given->make(state, ctx, given);
            else if constexpr (std::is_constructible_v<T, context>)
                ::new (state) T(context(ctx));
            else if constexpr (std::is_default_constructible_v<T>)
                ::new (state) T();
            else
                return axo_fail(ctx, AXO_EINVAL, "%s", "it was spawned without its arguments");
            static_cast<place<T> *>(state)->stands = true;
            return AXO_OK;
        });
    }
    static axo_status receive(axo_ctx *ctx, void *state, const axo_message *message)
    {
        return guarded(
            ctx, [&] { return dispatch(self(state), context(ctx, message), *message, list()); });
    }
    static axo_status pre_start(axo_ctx *ctx, void *state)
    {
        return hook(ctx, [&](context it) { return self(state).pre_start(it); });
    }
    static axo_status post_stop(axo_ctx *ctx, void *state)
    {
        return hook(ctx, [&](context it) { return self(state).post_stop(it); });
    }
    static axo_status pre_restart(axo_ctx *ctx, void *state, const axo_failure *why,
                                  const axo_message *message)
    {
        return guarded(ctx, [&] {
            const context it(ctx, message);
            return finished<void>(it, [&] { return self(state).pre_restart(it, *why); });
        });
    }
    static axo_status post_restart(axo_ctx *ctx, void *state, const axo_failure *why)
    {
        return hook(ctx, [&](context it) { return self(state).post_restart(it, *why); });
    }
    static axo_status settle(axo_ctx *ctx, void *state)
    {
        return hook(ctx, [&](context it) { return self(state).settle(it); });
    }
    static axo_directive decide(axo_ctx *ctx, void *state, const axo_failure *why, void *)
    {
        axo_directive directive = AXO_ESCALATE;
        static_cast<void>(guarded(ctx, [&] {
            directive = self(state).decide(context(ctx), *why);
            return AXO_OK;
        }));
        return directive;
    }
    static const char *tag_name(std::uint32_t tag)
    {
        return name_of_tag(tag, list());
    }

  private:
    template <class F> static axo_status hook(axo_ctx *ctx, F &&f)
    {
        return guarded(ctx, [&] {
            const context it(ctx);
            return finished<void>(it, [&] { return f(it); });
        });
    }
};

/* A T whose handlers are those of B. */
template <class T, class B> struct acting {
    T &self;
    template <class V>
    auto on(context ctx, V &&value) -> decltype(B::on(self, ctx, std::forward<V>(value)))
    {
        return B::on(self, ctx, std::forward<V>(value));
    }
};
template <class T, class B>
axo_status receive_as(axo_ctx *ctx, void *state, const axo_message *message)
{
    return guarded(ctx, [&] {
        acting<T, B> it{callbacks<T>::self(state)};
        return dispatch(it, context(ctx, message), *message, list<B>());
    });
}

template <class T> constexpr axo_class class_made() noexcept
{
    using own = callbacks<T>;
    static_assert(alignof(T) <= AXO_STATE_ALIGN,
                  "axo: a state block is aligned to AXO_STATE_ALIGN and not more: put members that "
                  "need more behind a std::unique_ptr");
    static_assert(sizeof(place<T>) <= AXO_PAYLOAD_MAX, "axo: the actor is too large");
    static_assert(tags_differ(typename own::list()), "axo: two messages of a list have one tag");
    static_assert(has_pre_start<T> || !names_pre_start<T>, "axo: it is pre_start(axo::context)");
    static_assert(has_post_stop<T> || !names_post_stop<T>, "axo: it is post_stop(axo::context)");
    static_assert(has_pre_restart<T> || !names_pre_restart<T>,
                  "axo: it is pre_restart(axo::context, const axo_failure &)");
    static_assert(has_post_restart<T> || !names_post_restart<T>,
                  "axo: it is post_restart(axo::context, const axo_failure &)");
    static_assert(has_settle<T> || !names_settle<T>, "axo: it is settle(axo::context)");
    static_assert(has_on_other<T> || !names_on_other<T>,
                  "axo: it is on_other(axo::context, const axo_message &)");
    static_assert(has_on_crash<T> || !names_on_crash<T>,
                  "axo: it is static constexpr axo_on_crash on_crash");
    static_assert(has_watchdog_ms<T> || !names_watchdog_ms<T>,
                  "axo: it is static constexpr std::uint32_t watchdog_ms");
    static_assert(watchdog_ms_of<T>() == 0 || on_crash_of<T>() == AXO_CRASH_FAILS,
                  "axo: a watchdog_ms needs on_crash = AXO_CRASH_FAILS");
    axo_class made{};
    made.size = sizeof made;
    if constexpr (has_class_name<T>)
        made.name = T::class_name;
    else
        made.name = spelled<T>.data();
    made.state_size = sizeof(place<T>);
    made.construct = &own::construct;
    if constexpr (has_pre_start<T>)
        made.pre_start = &own::pre_start;
    made.receive = &own::receive;
    if constexpr (has_post_stop<T>)
        made.post_stop = &own::post_stop;
    if constexpr (has_pre_restart<T>)
        made.pre_restart = &own::pre_restart;
    if constexpr (has_post_restart<T>)
        made.post_restart = &own::post_restart;
    made.tag_name = &own::tag_name;
    if constexpr (has_settle<T>)
        made.settle = &own::settle;
    made.on_crash = on_crash_of<T>();
    made.watchdog_ms = watchdog_ms_of<T>();
    return made;
}
template <class T> inline constexpr axo_class class_value = class_made<T>();
template <class T> const axo_class *class_of() noexcept
{
    return &class_value<T>;
}

template <class T> constexpr axo_strategy strategy_made() noexcept
{
    if constexpr (has_supervision<T>)
        return rules(T::supervision).decided_by(&callbacks<T>::decide, nullptr).raw();
    else
        return one_for_one().decided_by(&callbacks<T>::decide, nullptr).raw();
}
template <class T> inline constexpr axo_strategy strategy_value = strategy_made<T>();
template <class T> const axo_strategy *strategy_of() noexcept
{
    static_assert(has_decide<T> || !names_decide<T>,
                  "axo: it is decide(axo::context, const axo_failure &)");
    if constexpr (has_decide<T>)
        return &strategy_value<T>;
    else if constexpr (has_supervision<T>)
        return &T::supervision.raw();
    else
        return nullptr;
}

template <class T, class... A> void make_at(void *where, axo_ctx *ctx, const A &...arguments)
{
    if constexpr (std::is_constructible_v<T, context, const A &...>)
        ::new (where) T(context(ctx), arguments...);
    else if constexpr (std::is_constructible_v<T, const A &...>)
        ::new (where) T(arguments...);
    else
        static_assert(never<T, A...>, "axo: the actor has no public constructor that takes these "
                                      "arguments, or (axo::context, these arguments)");
}
template <class T, class... A> void make(void *where, axo_ctx *ctx, const recipe *self)
{
    unpacked([&](const A &...arguments) { make_at<T>(where, ctx, arguments...); },
             static_cast<const recipe_of<A...> *>(self)->arguments);
}

} // namespace detail

/* A class T as a class of actors: what C needs of it. T is any class with
 *
 *     using messages = axo::messages<open, close>;      what it handles, and for each of them
 *     void on(axo::context ctx, const open &message);   a handler; without the context if it needs
 *     closed on(close &&message);                       none; see axo.hpp
 *
 * A constructor that takes what spawn was given, behind an axo::context or not, is `construct`, and
 * the destructor is the end of the instance, after its clean-ups: once for each instance that was
 * constructed, however it ends. What T may have besides, public as all of this (what is private is
 * not seen), each `void` or an axo_status:
 *
 *     pre_start(axo::context)                            post_stop(axo::context)
 *     pre_restart(axo::context, const axo_failure &)     post_restart(axo::context, const
 *     settle(axo::context)                                                          axo_failure &)
 *     on_other(axo::context, const axo_message &)        messages that are not in the list
 *     axo_directive decide(axo::context, const axo_failure &)    the decider for its children
 *     static constexpr axo::rules supervision = ...      or an axo::strategy: how it supervises
 *     static constexpr const char *class_name = "..."    else the name of the class
 *
 * and for a system with axo_options.contain (crash.h)
 *
 *     static constexpr axo_on_crash on_crash = AXO_CRASH_FAILS;    else a crash ends the process
 *     static constexpr std::uint32_t watchdog_ms = 100;            else a callback may run for ever
 *
 * A callback that crashes, or is interrupted, is left as by a jump: destructors of its own objects
 * do not run. The instance's does, as a clean-up: it finds the members as the crash has left
 * them. */
template <class T> struct actor {
    static const axo_class *cls() noexcept { return detail::class_of<T>(); }
};

} // namespace axo

#endif
