/* cpp_message.hpp - messages of C++: types and tags, and how a payload travels. Part of axo.hpp.
 *
 * A message is a class with a tag. A trivially copyable one is copied into the message, as in C; an
 * empty one is a message without a payload. Any other is moved into a box, memory of the system's
 * allocator, that is handed over: nothing is copied on the way, and the box and what is left in it
 * are destroyed exactly once, wherever the message ends: handled, dead, dropped, forwarded. */
#ifndef AXO_CPP_MESSAGE_HPP
#define AXO_CPP_MESSAGE_HPP

#if __cplusplus < 201703L
#error "axo.hpp needs C++17"
#endif

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>

#include <axo/ask.h>
#include <axo/event.h>
#include <axo/system.h>
#include <axo/time.h>

namespace axo {

/* A tag as a type. */
template <std::uint32_t Value> struct tag {
    static constexpr std::uint32_t value = Value;
};

namespace detail {
template <class...> inline constexpr bool never = false;
}

/* The tag of a message type: its member
 *     static constexpr std::uint32_t tag = 7;
 * or, for a type of somebody else,
 *     template <> struct axo::tag_of<std::string> : axo::tag<8> {}; */
template <class M, class = void> struct tag_of {
    static_assert(detail::never<M>,
                  "axo: this type is no message: it has no member `tag`, and no axo::tag_of");
    static constexpr std::uint32_t value = 0;
};
template <class M> struct tag_of<M, std::void_t<decltype(M::tag)>> {
    static constexpr std::uint32_t value = static_cast<std::uint32_t>(M::tag);
};

/* Messages of the runtime, to be listed and handled like others. An axo_terminated that is not
 * handled is a failure, as in C. */
template <> struct tag_of<axo_terminated> : tag<AXO_TERMINATED> {};
template <> struct tag_of<axo_request_failed> : tag<AXO_REQUEST_FAILED> {};
template <> struct tag_of<axo_event_message> : tag<AXO_EVENT> {};
template <> struct tag_of<axo_verdict> : tag<AXO_ASK_FAILED> {};
struct receive_timeout {
    static constexpr std::uint32_t tag = AXO_RECEIVE_TIMEOUT;
};
struct termination_hook {
    static constexpr std::uint32_t tag = AXO_TERMINATION_HOOK;
};

/* What an actor handles: `using messages = axo::messages<open, close>;` in its class. */
template <class... M> struct messages {};

namespace detail {

/* ---- names for reports ---- */

template <class T> constexpr auto spell() noexcept
{
    constexpr std::string_view whole = __PRETTY_FUNCTION__;
    constexpr std::size_t begin = whole.find("T = ") + 4;
    constexpr std::size_t semicolon = whole.find(';', begin);
    constexpr std::size_t end = semicolon != whole.npos ? semicolon : whole.rfind(']');
    constexpr std::string_view full = whole.substr(begin, end - begin);
    constexpr std::size_t colon = full.substr(0, full.find('<')).rfind(':');
    constexpr std::string_view name = colon == full.npos ? full : full.substr(colon + 1);
    std::array<char, name.size() + 1> text{};
    for (std::size_t i = 0; i < name.size(); i++)
        text[i] = name[i];
    return text;
}

/* A type's name without its namespaces. */
template <class T> inline constexpr auto spelled = spell<T>();

/* ---- lists ---- */

/* The list of T, which may be one itself; void: it has none. */
template <class T, class = void> struct list_in {
    using type = void;
};
template <class... M> struct list_in<messages<M...>, void> {
    using type = messages<M...>;
};
template <class T> struct list_in<T, std::void_t<typename T::messages>> {
    using type = typename T::messages;
};
template <class T> using list = typename list_in<T>::type;
template <class T> struct list_of {
    using type = typename list_in<T>::type;
    static_assert(!std::is_void_v<type>, "axo: this class is no actor: it has no public "
                                         "`using messages = axo::messages<...>;`");
};

template <class M, class List> struct is_in : std::false_type {};
template <class M, class... L>
struct is_in<M, messages<L...>> : std::bool_constant<(std::is_same_v<M, L> || ...)> {};

template <class List, class Other> struct covers;
template <class... M, class Other>
struct covers<messages<M...>, Other> : std::bool_constant<(is_in<M, Other>::value && ...)> {};

} // namespace detail

/* Whether T, an actor or a list, handles M. */
template <class T, class M>
inline constexpr bool handles = detail::is_in<M, typename detail::list_of<T>::type>::value;

namespace detail {

/* ---- payloads ---- */

/* Those that are copied byte by byte, and those of them that have no byte. */
template <class M>
inline constexpr bool copied = std::is_trivially_copyable_v<M> && sizeof(M) <= AXO_PAYLOAD_MAX;
template <class M>
inline constexpr bool nothing =
    copied<M> && std::is_empty_v<M> && std::is_trivially_default_constructible_v<M>;

template <class M> constexpr void check_message() noexcept
{
    static_assert(tag_of<M>::value < AXO_TAG_RESERVED,
                  "axo: messages of the runtime are not sent by programs");
    static_assert(alignof(M) <= alignof(std::max_align_t),
                  "axo: a message is aligned for any object and not more: put what needs more "
                  "behind a std::unique_ptr");
}

template <class M> constexpr void check_copied() noexcept
{
    check_message<M>();
    static_assert(copied<M>, "axo: timers, watches and asks copy their message byte by byte: it "
                             "must be trivially copyable");
}

template <class M> constexpr const void *bytes(const M &message) noexcept
{
    if constexpr (nothing<M>)
        return (static_cast<void>(message), nullptr);
    else
        return std::addressof(message);
}
template <class M> inline constexpr std::size_t size = nothing<M> ? 0 : sizeof(M);

/* The end of a boxed payload. An exception that leaves its destructor ends the process with a line,
 * as axo.h says of every function that the library calls. */
template <class M> void drop(void *payload, void *system)
{
    static_cast<M *>(payload)->~M();
    axo_system_free(static_cast<axo_system *>(system), payload, sizeof(M));
}

/* Memory for a box that is given back unless an object has come to live in it. */
class room {
  public:
    room(axo_system *system, std::size_t size) noexcept
        : system_(system), block_(axo_system_alloc(system, size)), size_(size)
    {
    }
    room(const room &) = delete;
    room &operator=(const room &) = delete;
    ~room()
    {
        if (block_ != nullptr)
            axo_system_free(system_, block_, size_);
    }
    void *block() const noexcept { return block_; }
    void keep() noexcept { block_ = nullptr; }

  private:
    axo_system *system_;
    void *block_;
    std::size_t size_;
};

/* A door is what a message is sent through: the context of a callback, or a system. No function of
 * the library throws, and one that says so costs its caller nothing to catch. */
inline axo_system *home(axo_ctx *ctx) noexcept { return axo_system_of(ctx); }
inline axo_system *home(axo_system *system) noexcept { return system; }
inline axo_status send_bytes(axo_ctx *ctx, axo_ref to, std::uint32_t tag, const void *payload,
                             std::size_t size) noexcept
{
    return axo_send(ctx, to, tag, payload, size);
}
inline axo_status send_bytes(axo_system *system, axo_ref to, std::uint32_t tag,
                             const void *payload, std::size_t size) noexcept
{
    return axo_system_send(system, to, tag, payload, size);
}
inline axo_status send_box(axo_ctx *ctx, axo_ref to, std::uint32_t tag, void *payload,
                           std::size_t size, axo_payload_free destroy, void *user) noexcept
{
    return axo_send_owned(ctx, to, tag, payload, size, destroy, user);
}
inline axo_status send_box(axo_system *system, axo_ref to, std::uint32_t tag, void *payload,
                           std::size_t size, axo_payload_free destroy, void *user) noexcept
{
    return axo_system_send_owned(system, to, tag, payload, size, destroy, user);
}

/* A payload that the runtime has refused goes back to whom it was moved from, if it can be
 * assigned. */
template <class M, class Given> void give_back(M *box, Given &&given, axo_system *system)
{
    if constexpr (std::is_rvalue_reference_v<Given &&> && std::is_nothrow_assignable_v<Given &, M>)
        given = std::move(*box);
    drop<M>(box, system);
}

template <class Door, class Given> axo_status post_box(Door *door, axo_ref to, Given &&given)
{
    using M = std::decay_t<Given>;
    static_assert(std::is_constructible_v<M, Given &&>,
                  "axo: this message cannot be copied: hand it over by std::move");
    axo_system *system = home(door);
    if (system == nullptr)
        return std::is_same_v<Door, axo_ctx> ? AXO_ECONTEXT : AXO_EINVAL;
    room where(system, sizeof(M));
    if (where.block() == nullptr)
        return AXO_ENOMEM;
    M *box = ::new (where.block()) M(std::forward<Given>(given));
    where.keep();
    axo_status status = send_box(door, to, tag_of<M>::value, box, sizeof(M), &drop<M>, system);
    if (status != AXO_OK && status != AXO_EGONE)
        give_back(box, std::forward<Given>(given), system);
    return status;
}

template <class Door, class Given> axo_status post(Door *door, axo_ref to, Given &&given)
{
    using M = std::decay_t<Given>;
    check_message<M>();
    if constexpr (copied<M>)
        return send_bytes(door, to, tag_of<M>::value, bytes(given), size<M>);
    else
        return post_box(door, to, std::forward<Given>(given));
}

/* How a received message becomes an object: `read` calls f with it, or says AXO_UNHANDLED where the
 * message has the tag and not the shape. */
template <class M> struct wire {
    static constexpr std::uint64_t key = tag_of<M>::value;
    static bool is(const axo_message &message) noexcept
    {
        return message.tag == tag_of<M>::value;
    }
    template <class F> static axo_status read(const axo_message &message, F &&f)
    {
        if (message.size != size<M>)
            return AXO_UNHANDLED;
        if constexpr (nothing<M>)
            return f(M{});
        else if constexpr (copied<M>)
            return f(*static_cast<const M *>(message.payload));
        else /* the box is the message's own, and no constant */
            return f(std::move(*static_cast<M *>(const_cast<void *>(message.payload))));
    }
};

template <> struct wire<axo_request_failed> {
    static constexpr std::uint64_t key = AXO_REQUEST_FAILED;
    static bool is(const axo_message &message) noexcept
    {
        return message.tag == AXO_REQUEST_FAILED;
    }
    template <class F> static axo_status read(const axo_message &message, F &&f)
    {
        const axo_request_failed failed = axo_request_failed_of(&message);
        return f(failed);
    }
};

/* Of the runtime's own structs a newer library may send longer ones, and the data of an event lie
 * behind its head (axo_event_data). */
template <class M> struct wire_longer {
    static constexpr std::uint64_t key = tag_of<M>::value;
    static bool is(const axo_message &message) noexcept
    {
        return message.tag == tag_of<M>::value;
    }
    template <class F> static axo_status read(const axo_message &message, F &&f)
    {
        return message.size < sizeof(M) ? AXO_UNHANDLED
                                        : f(*static_cast<const M *>(message.payload));
    }
};
template <> struct wire<axo_terminated> : wire_longer<axo_terminated> {};
template <> struct wire<axo_event_message> : wire_longer<axo_event_message> {};
template <> struct wire<axo_verdict> : wire_longer<axo_verdict> {};

template <class M> inline constexpr M empty_of{};

/* The object in a message whose tag and shape are known; nullptr: it has another shape. */
template <class M> const M *object_in(const axo_message &message) noexcept
{
    if (message.tag != tag_of<M>::value || message.size != size<M>)
        return nullptr;
    if constexpr (nothing<M>)
        return &empty_of<M>;
    else
        return static_cast<const M *>(message.payload);
}

/* What an object in a message has, to keep: moved out of a box, copied out of bytes. */
template <class M> M taken(const M *object)
{
    if constexpr (copied<M>)
        return *object;
    else
        return std::move(*const_cast<M *>(object));
}

} // namespace detail

/* The answer to an ask of a context, an A. A handler of it is on(axo::context, axo::answer<A>). It
 * is good in that handler. */
template <class A> class answer {
  public:
    answer(const axo_answer &head, const A *object) noexcept : head_(&head), object_(object) {}
    std::uint64_t id() const noexcept { return head_->id; }
    axo_ref from() const noexcept { return head_->from; }
    std::chrono::nanoseconds waited() const noexcept
    {
        return std::chrono::nanoseconds(head_->waited_ns);
    }
    const A &value() const noexcept { return *object_; }
    A take() const { return detail::taken(object_); }

  private:
    const axo_answer *head_;
    const A *object_;
};

template <class A> struct tag_of<answer<A>, void> : tag<AXO_ASK_ANSWER> {};

namespace detail {
/* All answers have one tag: it is the tag of what was answered that tells them apart. */
template <class A> struct wire<answer<A>> {
    static constexpr std::uint64_t key = std::uint64_t{AXO_ASK_ANSWER} << 32 | tag_of<A>::value;
    static bool is(const axo_message &message) noexcept
    {
        return message.tag == AXO_ASK_ANSWER && message.size >= sizeof(axo_answer) &&
               static_cast<const axo_answer *>(message.payload)->tag == tag_of<A>::value;
    }
    template <class F> static axo_status read(const axo_message &message, F &&f)
    {
        const axo_message given = axo_answer_of(&message);
        const A *object = object_in<A>(given);
        if (object == nullptr)
            return AXO_UNHANDLED;
        return f(answer<A>(*static_cast<const axo_answer *>(message.payload), object));
    }
};
} // namespace detail

} // namespace axo

#endif
