/* axo.hpp - axo for C++17 and C++20: actors are classes, messages are types. Whole programs are
 * test/example/hello.cpp and, with a supervisor and payloads that are moved,
 * test/example/loader.cpp.
 *
 *     struct greeting {
 *         static constexpr std::uint32_t tag = 1;
 *         std::string name;
 *     };
 *     struct greeter {
 *         using messages = axo::messages<greeting>;
 *         void on(const greeting &message) { std::printf("hello, %s!\n", message.name.c_str()); }
 *     };
 *     axo::system system;
 *     axo::ref<greeter> ref = system.spawn<greeter>("greeter");
 *     system.send(ref, greeting{"Ada"});
 *
 * It is a layer of headers on the functions of C and adds nothing to what they do: their contracts
 * hold, both may be mixed, and a message costs what it costs in C.
 *
 *   cpp_message.hpp   tags, lists of messages, copied and moved payloads, axo::answer
 *   cpp_context.hpp   axo::ref, axo::failure, axo::context: what a callback may do
 *   cpp_actor.hpp     axo::actor: what a class may have; axo::strategy
 *   axo.hpp           axo::system, axo::asked
 *
 * A handler is on(axo::context, M) or on(M), with M a constant reference, or an rvalue reference
 * or a value to keep what was moved in. It returns nothing, an axo_status, or the type that the
 * message names as its `answer`, which goes to the sender.
 *
 * Exceptions. One that leaves a handler, a hook, a constructor or a decider is a failure with its
 * what() as the text. The code is that of an axo::failure or a std::system_error, AXO_ENOMEM of a
 * std::bad_alloc, else 0; an axo::fatal is AXO_FAILURE_FATAL. C has no way to fail in a clean-up
 * (context.defer), in the destructor of a payload or of an actor: an exception that leaves one ends
 * the process with a line that names actor, class and message (axo.h); a destructor that may throw
 * says noexcept(false), or C++ itself ends the process without that line. axo_throw goes past
 * destructors and is not for C++. With -fno-exceptions all is there but what throws:
 * axo::system::start and the spawn that returns a status are for that; all of a program is compiled
 * one way. */
#ifndef AXO_AXO_HPP
#define AXO_AXO_HPP

#include <cstdlib>

#include <axo/axo.h>
#include <axo/cpp_actor.hpp>
#include <axo/cpp_context.hpp>
#include <axo/cpp_message.hpp>

namespace axo {

/* A wait without an end. */
inline constexpr std::chrono::nanoseconds forever{-1};

/* The answer to an ask of a system, an A, and its memory. */
template <class A> class asked {
  public:
    /* Takes over what axo_system_ask has written. */
    asked(axo_system *system, axo_status status, const axo_asked &raw) noexcept
        : system_(system), raw_(raw), status_(status)
    {
        if (status_ == AXO_OK) {
            object_ = detail::object_in<A>(raw_.message);
            if (object_ == nullptr)
                status_ = AXO_UNHANDLED;
        }
    }
    asked(asked &&other) noexcept
        : system_(std::exchange(other.system_, nullptr)), raw_(other.raw_), status_(other.status_),
          object_(std::exchange(other.object_, nullptr))
    {
    }
    asked &operator=(asked &&) = delete;
    ~asked()
    {
        if (system_ != nullptr)
            axo_asked_free(system_, &raw_);
    }

    /* AXO_OK: there is a value. AXO_UNHANDLED: the answer is no A; else as axo_system_ask. */
    axo_status status() const noexcept { return status_; }
    explicit operator bool() const noexcept { return object_ != nullptr; }
    const A &operator*() const noexcept { return *object_; }
    const A *operator->() const noexcept { return object_; }
    A take() { return detail::taken(object_); }

    /* Of a failure: axo_verdict_text says more. */
    const axo_verdict &verdict() const noexcept { return raw_.verdict; }
    std::chrono::nanoseconds waited() const noexcept
    {
        return std::chrono::nanoseconds(raw_.waited_ns);
    }

  private:
    axo_system *system_;
    axo_asked raw_;
    axo_status status_;
    const A *object_ = nullptr;
};

/* A system of actors: started by the constructor, stopped and destroyed by the destructor, which
 * waits for as long as that takes and, as axo_system_stop, is not for a callback of an actor: there
 * it ends the process. Its functions are those of C, for any thread. */
class system {
  public:
#if AXO_CPP_EXCEPTIONS
    /* Throws axo::error. */
    system()
    {
        begin(axo_system_start(nullptr, &raw_));
    }
    explicit system(const axo_options &options)
    {
        begin(axo_system_start(&options, &raw_));
    }
#else
    system() noexcept = default;
#endif
    /* An empty one, to start or to move into. */
    explicit constexpr system(std::nullptr_t) noexcept {}
    system(system &&other) noexcept : raw_(std::exchange(other.raw_, nullptr)) {}
    system &operator=(system &&other) noexcept
    {
        if (this != &other) {
            end();
            raw_ = std::exchange(other.raw_, nullptr);
        }
        return *this;
    }
    ~system()
    {
        end();
    }

    /* Starts one without an exception; *out is empty before.
     *   returns   as axo_system_start; AXO_EINVAL too if *out is a system */
    [[nodiscard]] static axo_status start(const axo_options *options, system *out) noexcept
    {
        return out == nullptr || out->raw_ != nullptr ? AXO_EINVAL
                                                      : axo_system_start(options, &out->raw_);
    }
    axo_system *raw() const noexcept { return raw_; }
    explicit operator bool() const noexcept { return raw_ != nullptr; }

    /* Spawns a T below /user: see axo::context. */
    template <class T, class... A>
    [[nodiscard]] axo_status spawn(ref<T> &out, const birth &how, A... arguments) const
    {
        axo_ref made = axo_ref_none();
        axo_status status = detail::spawn_as<T>(
            [&](const axo_props &props) { return axo_system_spawn(raw_, &props, &made); }, how,
            arguments...);
        out = ref<T>(made);
        return status;
    }
#if AXO_CPP_EXCEPTIONS
    template <class T, class... A> ref<T> spawn(const birth &how, A... arguments) const
    {
        ref<T> made;
        axo_status status = spawn(made, how, arguments...);
        if (status != AXO_OK)
            throw error(status, "spawn");
        return made;
    }
#endif

    /* As those of axo::context; without a sender. */
    template <class T, class M> axo_status send(ref<T> to, M &&message) const
    {
        static_assert(handles<T, std::decay_t<M>>,
                      "axo: the actor behind this reference does not handle this message");
        return detail::post(raw_, to.raw(), std::forward<M>(message));
    }
    template <class M> axo_status send(axo_ref to, M &&message) const
    {
        return detail::post(raw_, to, std::forward<M>(message));
    }
    axo_status stop_actor(any_ref who) const noexcept
    {
        return axo_system_stop_actor(raw_, who.raw());
    }
    axo_status poison(any_ref who) const noexcept { return axo_system_poison(raw_, who.raw()); }
    axo_status kill(any_ref who) const noexcept { return axo_system_kill(raw_, who.raw()); }

    /* Asks and waits: from a thread that is no worker. */
    template <class T, class R>
    [[nodiscard]] asked<typename R::answer> ask(ref<T> to, const R &request,
                                                std::chrono::nanoseconds timeout) const noexcept
    {
        static_assert(handles<T, R>,
                      "axo: the actor behind this reference does not handle this message");
        detail::check_copied<R>();
        axo_asked raw{};
        axo_status status =
            axo_system_ask(raw_, to.raw(), tag_of<R>::value, detail::bytes(request),
                           detail::size<R>, timeout.count(), &raw);
        return asked<typename R::answer>(raw_, status, raw);
    }

    /* The rest of the system's life: axo_system_shutdown, _stop, _wait. */
    axo_status shutdown() const noexcept { return axo_system_shutdown(raw_); }
    axo_status stop(std::chrono::nanoseconds timeout = forever) const noexcept
    {
        return axo_system_stop(raw_, timeout.count(), nullptr, 0, nullptr);
    }
    axo_status wait(std::chrono::nanoseconds timeout = forever,
                    axo_outcome *outcome = nullptr) const noexcept
    {
        return axo_system_wait(raw_, timeout.count(), outcome);
    }
    std::chrono::nanoseconds now() const noexcept
    {
        return std::chrono::nanoseconds(axo_system_now(raw_));
    }
    axo_stats stats() const noexcept
    {
        axo_stats counted;
        axo_stats_init(&counted);
        static_cast<void>(axo_system_stats(raw_, &counted));
        return counted;
    }

    /* Runs the actors of the host dispatcher (axo_run_host); how many turns. */
    std::uint64_t run_host(std::chrono::nanoseconds budget = forever) const noexcept
    {
        std::uint64_t turns = 0;
        static_cast<void>(axo_run_host(raw_, budget.count(), &turns));
        return turns;
    }

  private:
#if AXO_CPP_EXCEPTIONS
    static void begin(axo_status status)
    {
        if (status != AXO_OK)
            throw error(status, "the system does not start");
    }
#endif
    void end() noexcept
    {
        if (raw_ == nullptr)
            return;
        axo_status status = axo_system_stop(raw_, -1, nullptr, 0, nullptr);
        if (status == AXO_OK)
            status = axo_system_destroy(raw_);
        raw_ = nullptr;
        if (status == AXO_OK || status == AXO_EFORKED)
            return;
        static_cast<void>(std::fprintf(stderr, "axo: a system is destroyed where it cannot end: "
                                               "%s: the process ends\n",
                                       axo_status_text(status)));
        std::abort();
    }

    axo_system *raw_ = nullptr;
};

} // namespace axo

#endif
