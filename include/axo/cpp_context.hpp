/* cpp_context.hpp - references that know what they lead to, failures as exceptions, and the context
 * of a callback. Part of axo.hpp. */
#ifndef AXO_CPP_CONTEXT_HPP
#define AXO_CPP_CONTEXT_HPP

#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>

#include <axo/actor.h>
#include <axo/cpp_message.hpp>
#include <axo/stash.h>
#include <axo/watch.h>

#if defined(__cpp_exceptions)
#define AXO_CPP_EXCEPTIONS 1
#include <system_error>
#if defined(__GLIBCXX__)
#include <cxxabi.h>
#endif
#else
#define AXO_CPP_EXCEPTIONS 0
#endif

namespace axo {

/* ---- references ---------------------------------------------------------------------------- */

/* A reference to an actor of class T, or to one that handles the messages of a list T: as axo_ref a
 * value to copy, store and send. What T does not handle is not sent through it: that does not
 * compile. */
template <class T> class ref {
  public:
    constexpr ref() noexcept : raw_{0} {}
    /* The caller's word that a T, or nobody, is behind it. */
    constexpr explicit ref(axo_ref raw) noexcept : raw_(raw) {}
    /* A list is led to by whoever handles all of it. */
    template <class U, class = std::enable_if_t<!std::is_same_v<T, U> &&
                                                detail::covers<T, detail::list<U>>::value>>
    constexpr ref(const ref<U> &other) noexcept : raw_(other.raw())
    {
    }
    constexpr axo_ref raw() const noexcept { return raw_; }
    constexpr explicit operator bool() const noexcept { return raw_.bits != 0; }
    friend constexpr bool operator==(ref one, ref other) noexcept
    {
        return one.raw_.bits == other.raw_.bits;
    }
    friend constexpr bool operator!=(ref one, ref other) noexcept { return !(one == other); }

  private:
    axo_ref raw_;
};

/* Any reference, where it does not matter what the actor handles. */
class any_ref {
  public:
    constexpr any_ref(axo_ref raw) noexcept : raw_(raw) {}
    template <class T> constexpr any_ref(ref<T> typed) noexcept : raw_(typed.raw()) {}
    constexpr axo_ref raw() const noexcept { return raw_; }

  private:
    axo_ref raw_;
};

/* ---- failures ------------------------------------------------------------------------------ */

/* What a callback throws to fail with a code and a text of its own; of longer texts the first
 * AXO_FAILURE_TEXT_MAX - 1 bytes are kept. Its text takes no memory. */
class failure : public std::exception {
  public:
    failure(std::int32_t code, const char *text) noexcept : code_(code)
    {
        static_cast<void>(std::snprintf(text_, sizeof text_, "%s", text));
    }
    const char *what() const noexcept override { return text_; }
    std::int32_t code() const noexcept { return code_; }

  private:
    std::int32_t code_;
    char text_[AXO_FAILURE_TEXT_MAX];
};

/* The same outside the ordinary family: AXO_FAILURE_FATAL. */
class fatal : public failure {
  public:
    using failure::failure;
};

/* A status that a function which returns something else has had. */
class error : public failure {
  public:
    error(axo_status status, const char *what) noexcept : failure(status, ""), status_(status)
    {
        static_cast<void>(std::snprintf(said_, sizeof said_, "%s: %s", what,
                                        axo_status_text(status)));
    }
    const char *what() const noexcept override { return said_; }
    axo_status status() const noexcept { return status_; }

  private:
    axo_status status_;
    char said_[AXO_FAILURE_TEXT_MAX];
};

namespace detail {

#if AXO_CPP_EXCEPTIONS
/* The exception in flight as the failure of the running callback. */
[[gnu::cold, gnu::noinline]] inline axo_status failed(axo_ctx *ctx) noexcept
{
    try {
        throw;
    } catch (const fatal &thrown) {
        return axo_fail_fatal(ctx, thrown.code(), "%s", thrown.what());
    } catch (const failure &thrown) {
        return axo_fail(ctx, thrown.code(), "%s", thrown.what());
    } catch (const std::bad_alloc &thrown) {
        return axo_fail(ctx, AXO_ENOMEM, "%s", thrown.what());
    } catch (const std::system_error &thrown) {
        return axo_fail(ctx, thrown.code().value(), "%s", thrown.what());
    } catch (const std::exception &thrown) {
        return axo_fail(ctx, 0, "%s", thrown.what());
    } catch (const char *text) {
        return axo_fail(ctx, 0, "%s", text);
    } catch (...) {
        return axo_fail(ctx, 0, "an exception that is no std::exception");
    }
}

/* The status of f(), or of the failure that its exception is. The end of the thread is no
 * exception: libstdc++ has it go through as one, and the library ends the process there. */
template <class F> axo_status guarded(axo_ctx *ctx, F &&f)
{
    try {
        return f();
    }
#if defined(__GLIBCXX__)
    catch (abi::__forced_unwind &) {
        throw;
    }
#endif
    catch (...) {
        return failed(ctx);
    }
}
#else
template <class F> axo_status guarded(axo_ctx *ctx, F &&f)
{
    static_cast<void>(ctx);
    return f();
}
#endif

template <class T> const axo_class *class_of() noexcept;
template <class T> const axo_strategy *strategy_of() noexcept;
template <class T, class B>
axo_status receive_as(axo_ctx *ctx, void *state, const axo_message *message);
struct recipe;
template <class T, class... A> void make(void *where, axo_ctx *ctx, const recipe *self);

/* ---- arguments of a spawn ---- */

/* The arguments as they were given, trivially copyable as a whole, which std::tuple is not. */
template <class... A> struct pack {};
template <class A, class... Rest> struct pack<A, Rest...> {
    A first;
    pack<Rest...> rest;
};

inline pack<> packed() noexcept { return {}; }
template <class A, class... Rest> pack<A, Rest...> packed(const A &first, const Rest &...rest)
{
    return {first, packed(rest...)};
}

/* Calls f with the arguments. */
template <class F, class... Before> void unpacked(F &&f, const pack<> &, const Before &...before)
{
    f(before...);
}
template <class F, class A, class... Rest, class... Before>
void unpacked(F &&f, const pack<A, Rest...> &given, const Before &...before)
{
    unpacked(std::forward<F>(f), given.rest, before..., given.first);
}

/* What a spawn hands to every construct: how a T is made, and of what. */
struct recipe {
    void (*make)(void *where, axo_ctx *ctx, const recipe *self);
};
template <class... A> struct recipe_of : recipe {
    pack<A...> arguments;
};

} // namespace detail

/* What a spawn says of an actor beside its class: its name, or whole props, made by axo_props_init;
 * their class and arguments are not looked at, a strategy of theirs comes before T's own. */
class birth {
  public:
    birth(const char *name) noexcept
    {
        axo_props_init(&props_);
        props_.name = name;
    }
    birth(const axo_props &props) noexcept : props_(props) {}
    const axo_props &props() const noexcept { return props_; }

  private:
    axo_props props_;
};

namespace detail {

/* Calls spawn(props) with the props of a T that is to be made of these arguments. */
template <class T, class Spawn, class... A>
axo_status spawn_as(Spawn &&spawn, const birth &how, A... arguments)
{
    static_assert((std::is_trivially_copyable_v<A> && ...),
                  "axo: arguments of a spawn are copied byte by byte and handed to every instance: "
                  "they must be trivially copyable; what is not is sent as a message");
    axo_props props = how.props();
    props.cls = class_of<T>();
    props.args = nullptr;
    props.args_size = 0;
    if (props.strategy == nullptr)
        props.strategy = strategy_of<T>();
    if constexpr (sizeof...(A) == 0) {
        return spawn(props);
    } else {
        using given = recipe_of<A...>;
        static_assert(sizeof(given) <= AXO_ARGS_MAX, "axo: the arguments are too many");
        static_assert(alignof(given) <= alignof(std::max_align_t),
                      "axo: an argument of a spawn is aligned for any object and not more");
        const given made{{&make<T, A...>}, packed(arguments...)};
        props.args = &made;
        props.args_size = sizeof made;
        return spawn(props);
    }
}

/* What a function of C calls, with a callable of C++ as its argument. */
template <class F> void call_it(void *callable)
{
    (*static_cast<F *>(callable))();
}

} // namespace detail

/* ---- the context --------------------------------------------------------------------------- */

/* The context of the running callback and the message that it handles: a value for this callback
 * alone, as axo_ctx. Every function is that of C with the same name, which states its contract;
 * what it returns, and the times at which it fails, are the same. */
class context {
  public:
    explicit constexpr context(axo_ctx *raw, const axo_message *message = nullptr) noexcept
        : raw_(raw), message_(message)
    {
    }
    constexpr axo_ctx *raw() const noexcept { return raw_; }

    /* The message as C has it; nullptr outside of `on`, and in pre_restart the one that the
     * instance failed under, if there is one. */
    constexpr const axo_message *message() const noexcept { return message_; }

    /* ---- who am I ---- */

    /* The running actor: ctx.self(this). */
    template <class T> ref<T> self(const T *) const noexcept { return ref<T>(axo_self(raw_)); }
    axo_ref sender() const noexcept { return axo_sender(raw_); }
    axo_ref parent() const noexcept { return axo_parent(raw_); }
    axo_system *system() const noexcept { return axo_system_of(raw_); }
    std::uint32_t instance() const noexcept { return axo_instance(raw_); }
    std::chrono::nanoseconds now() const noexcept
    {
        return std::chrono::nanoseconds(axo_now(raw_));
    }

    /* ---- spawn and stop ---- */

    /* Spawns a T as a child, with its name, nullptr or props; every instance of it is constructed
     * from these arguments, which are trivially copyable. */
    template <class T, class... A>
    [[nodiscard]] axo_status spawn(ref<T> &out, const birth &how, A... arguments) const
    {
        axo_ref made = axo_ref_none();
        axo_status status = detail::spawn_as<T>(
            [&](const axo_props &props) { return axo_spawn(raw_, &props, &made); }, how,
            arguments...);
        out = ref<T>(made);
        return status;
    }
#if AXO_CPP_EXCEPTIONS
    /* As above; throws axo::error. */
    template <class T, class... A> ref<T> spawn(const birth &how, A... arguments) const
    {
        ref<T> made;
        axo_status status = spawn(made, how, arguments...);
        if (status != AXO_OK)
            throw error(status, "spawn");
        return made;
    }
#endif
    axo_status stop(any_ref who) const noexcept { return axo_stop(raw_, who.raw()); }

    /* About a child for which decide has said AXO_LATER. */
    axo_status decide_again(any_ref child) const noexcept
    {
        return axo_decide_again(raw_, child.raw());
    }
    axo_status stop_self() const noexcept { return axo_stop_self(raw_); }
    axo_status poison(any_ref who) const noexcept { return axo_poison(raw_, who.raw()); }
    axo_status kill(any_ref who) const noexcept { return axo_kill(raw_, who.raw()); }

    /* ---- send ---- */

    /* Sends a message: copies it if it is trivially copyable, else moves it, or copies one that is
     * not given by std::move.
     *   after     on any but AXO_OK and AXO_EGONE nothing was sent, and a message that was moved is
     *             moved back; one that cannot be assigned without an exception is destroyed */
    template <class T, class M> axo_status send(ref<T> to, M &&message) const
    {
        static_assert(handles<T, std::decay_t<M>>,
                      "axo: the actor behind this reference does not handle this message");
        return detail::post(raw_, to.raw(), std::forward<M>(message));
    }
    /* The same where nothing is known of the receiver. */
    template <class M> axo_status send(axo_ref to, M &&message) const
    {
        return detail::post(raw_, to, std::forward<M>(message));
    }
    /* To the sender of the message that is being handled. AXO_EINVAL: it has none. */
    template <class M> axo_status reply(M &&message) const
    {
        axo_ref to = message_ != nullptr ? message_->sender : axo_ref_none();
        return detail::post(raw_, to, std::forward<M>(message));
    }
    /* Sends the message that is being handled on, an M; what was moved out of it is missing. */
    template <class M, class T> axo_status forward(ref<T> to) const noexcept
    {
        static_assert(handles<T, M>,
                      "axo: the actor behind this reference does not handle this message");
        return axo_forward(raw_, message_, to.raw());
    }

    /* ---- ask ---- */

    /* Asks: an axo::answer of R's `answer` comes, or an axo_verdict, with this id. */
    template <class T, class R>
    [[nodiscard]] axo_status ask(ref<T> to, const R &request, std::chrono::nanoseconds timeout,
                                 std::uint64_t id) const noexcept
    {
        static_assert(handles<T, R>,
                      "axo: the actor behind this reference does not handle this message");
        static_assert(tag_of<typename R::answer>::value < AXO_TAG_RESERVED,
                      "axo: an answer is a message");
        detail::check_copied<R>();
        return axo_ask(raw_, to.raw(), tag_of<R>::value, detail::bytes(request), detail::size<R>,
                       timeout.count(), id);
    }

    /* ---- time ---- */

    template <class T, class M>
    axo_status send_after(std::chrono::nanoseconds delay, ref<T> to, const M &message,
                          axo_timer *out = nullptr) const noexcept
    {
        check_later<T, M>();
        return axo_schedule_once(raw_, delay.count(), to.raw(), tag_of<M>::value,
                                 detail::bytes(message), detail::size<M>, out);
    }
    template <class T, class M>
    axo_status schedule_fixed_delay(std::chrono::nanoseconds first, std::chrono::nanoseconds delay,
                                    ref<T> to, const M &message,
                                    axo_timer *out = nullptr) const noexcept
    {
        check_later<T, M>();
        return axo_schedule_fixed_delay(raw_, first.count(), delay.count(), to.raw(),
                                        tag_of<M>::value, detail::bytes(message), detail::size<M>,
                                        out);
    }
    template <class T, class M>
    axo_status schedule_fixed_rate(std::chrono::nanoseconds first, std::chrono::nanoseconds period,
                                   ref<T> to, const M &message,
                                   axo_timer *out = nullptr) const noexcept
    {
        check_later<T, M>();
        return axo_schedule_fixed_rate(raw_, first.count(), period.count(), to.raw(),
                                       tag_of<M>::value, detail::bytes(message), detail::size<M>,
                                       out);
    }
    bool timer_cancel(axo_timer timer) const noexcept { return axo_timer_cancel(raw_, timer); }

    /* A timer of the running instance, by its key: ctx.timer_start(this, ...). */
    template <class T, class M>
    axo_status timer_start(const T *, std::uint64_t key, axo_timer_kind kind,
                           std::chrono::nanoseconds first, std::chrono::nanoseconds period,
                           const M &message) const noexcept
    {
        check_later<T, M>();
        return axo_timer_start(raw_, key, kind, first.count(), period.count(), tag_of<M>::value,
                               detail::bytes(message), detail::size<M>);
    }
    template <class T, class M>
    axo_status timer_once(const T *me, std::uint64_t key, std::chrono::nanoseconds delay,
                          const M &message) const noexcept
    {
        return timer_start(me, key, AXO_TIMER_ONCE, delay, std::chrono::nanoseconds(0), message);
    }
    axo_status timer_stop(std::uint64_t key) const noexcept { return axo_timer_stop(raw_, key); }
    bool timer_active(std::uint64_t key) const noexcept { return axo_timer_active(raw_, key); }
    /* From now on an axo::receive_timeout comes; 0: none. */
    axo_status receive_timeout(std::chrono::nanoseconds after) const noexcept
    {
        return axo_receive_timeout(raw_, after.count());
    }

    /* ---- watch, stash, settle ---- */

    [[nodiscard]] axo_status watch(any_ref who) const noexcept
    {
        return axo_watch(raw_, who.raw());
    }
    /* With a message of one's own for the notice: ctx.watch_with(this, ...). */
    template <class T, class M>
    [[nodiscard]] axo_status watch_with(const T *, any_ref who, const M &message) const noexcept
    {
        check_later<T, M>();
        return axo_watch_with(raw_, who.raw(), tag_of<M>::value, detail::bytes(message),
                              detail::size<M>);
    }
    axo_status unwatch(any_ref who) const noexcept { return axo_unwatch(raw_, who.raw()); }

    /* A handler that stashes takes its message as a constant reference: what it had moved out would
     * be missing when the message comes again. */
    [[nodiscard]] axo_status stash() const noexcept { return axo_stash(raw_); }
    axo_status unstash_all() const noexcept { return axo_unstash_all(raw_); }
    axo_status unstash(std::uint32_t count) const noexcept { return axo_unstash(raw_, count); }
    std::uint32_t stash_count() const noexcept { return axo_stash_count(raw_); }

    /* Puts B in the place of T's handlers: for each message of B::messages, which T's list has too,
     * a static function B::on(T &, axo::context, const M &). ctx.become<B>(this). */
    template <class B, class T> [[nodiscard]] axo_status become(T *) const noexcept
    {
        static_assert(detail::covers<detail::list<B>, detail::list<T>>::value,
                      "axo: a behaviour handles messages that its actor lists");
        return axo_become(raw_, &detail::receive_as<T, B>);
    }
    axo_status unbecome() const noexcept { return axo_unbecome(raw_); }

    axo_status want_settle() const noexcept { return axo_want_settle(raw_); }

    /* ---- failures and clean-ups ---- */

    /* A failure without an exception: return ctx.fail(7, "why"). */
    axo_status fail(std::int32_t code, const char *text) const noexcept
    {
        return axo_fail(raw_, code, "%s", text);
    }
    axo_status fail_fatal(std::int32_t code, const char *text) const noexcept
    {
        return axo_fail_fatal(raw_, code, "%s", text);
    }

    /* Calls f() when the running instance ends, before its destructor if it is registered by the
     * constructor or later, and destroys f then. An exception that leaves it ends the process.
     *   returns   AXO_OK; AXO_ECONTEXT, AXO_ENOMEM: f will not be called */
    template <class F> [[nodiscard]] axo_status defer(F &&f) const
    {
        using kept = std::decay_t<F>;
        static_assert(alignof(kept) <= alignof(std::max_align_t),
                      "axo: a clean-up is aligned for any object and not more");
        void *where = axo_alloc(raw_, sizeof(kept));
        if (where == nullptr)
            return axo_ref_is_none(axo_self(raw_)) ? AXO_ECONTEXT : AXO_ENOMEM;
        kept *it = ::new (where) kept(std::forward<F>(f));
        axo_status status = axo_defer(raw_, &end_of<kept>, it);
        if (status != AXO_OK)
            it->~kept();
        return status;
    }

    /* What T does where it has no pre_restart of its own: for one that it has. */
    template <class T> axo_status default_pre_restart(T *me, const axo_failure &why) const noexcept
    {
        return axo_default_pre_restart(raw_, me, &why, message_);
    }

    /* Calls f(), which may block (axo_block); its exception comes out of this call. */
    template <class F> axo_status block(F &&f) const
    {
#if AXO_CPP_EXCEPTIONS
        std::exception_ptr thrown;
        auto caught = [&]() {
            try {
                f();
            }
#if defined(__GLIBCXX__)
            catch (abi::__forced_unwind &) {
                throw;
            }
#endif
            catch (...) {
                thrown = std::current_exception();
            }
        };
        axo_status status = axo_block(raw_, &detail::call_it<decltype(caught)>, &caught);
        if (thrown)
            std::rethrow_exception(thrown);
        return status;
#else
        auto called = [&]() { f(); };
        return axo_block(raw_, &detail::call_it<decltype(called)>, &called);
#endif
    }

  private:
    template <class T, class M> static constexpr void check_later() noexcept
    {
        static_assert(handles<T, M>,
                      "axo: the actor behind this reference does not handle this message");
        detail::check_copied<M>();
    }
    template <class F> static void end_of(void *callable)
    {
        F &f = *static_cast<F *>(callable);
        f();
        f.~F();
    }

    axo_ctx *raw_;
    const axo_message *message_;
};

} // namespace axo

/* As axo_ref_index: the same in every run that does the same. */
template <class T> struct std::hash<axo::ref<T>> {
    std::size_t operator()(axo::ref<T> ref) const noexcept { return axo_ref_index(ref.raw()); }
};

#endif
