/* linux_poll.c - the port's descriptors on Linux: epoll, and an eventfd that ends its wait.
 *
 * Edges (EPOLLET): a descriptor is found when it gets ready, so one that nobody reads does not keep
 * the wait from sleeping, and being told again costs no system call. The eventfd is an edge too, so
 * nobody reads it: its count goes up for ever.
 */
#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/assert.h"
#include "os/poll.h"

#define LINUX_SECOND INT64_C(1000000000)
#define LINUX_MS     INT64_C(1000000)
/* A longer wait comes early. */
#define LINUX_MS_MAX INT64_C(1000000)

static void linux_close(int fd)
{
    int before = axo__os_cancel_hold();
    (void)close(fd);
    axo__os_cancel_let(before);
}

void axo__os_close(int fd)
{
    linux_close(fd);
}

bool axo__os_poll_init(axo__os_poll *poll, const axo__os_event *event)
{
    struct epoll_event what = {.events = event == NULL ? EPOLLIN | EPOLLET : EPOLLIN,
                               .data.u64 = AXO__POLL_NONE};
    poll->own_wake = event == NULL;
    poll->fd = epoll_create1(EPOLL_CLOEXEC);
    if (poll->fd < 0)
        return false;
    poll->wake = event == NULL ? eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : event->fd;
    if (poll->wake >= 0 && epoll_ctl(poll->fd, EPOLL_CTL_ADD, poll->wake, &what) == 0)
        return true;
    axo__os_poll_fini(poll);
    return false;
}

void axo__os_poll_fini(axo__os_poll *poll)
{
    if (poll->own_wake && poll->wake >= 0)
        linux_close(poll->wake);
    linux_close(poll->fd);
    poll->fd = poll->wake = -1;
}

static axo__os_poll_answer linux_answer(int error)
{
    switch (error) {
    case EBADF:
        return AXO__POLL_CLOSED;
    case EPERM:
        return AXO__POLL_REFUSED;
    case EEXIST:
        return AXO__POLL_TWICE;
    case ENOSPC:
        return AXO__POLL_FULL;
    case ENOMEM:
        return AXO__POLL_NO_MEMORY;
    default:
        return AXO__POLL_INVALID; /* EINVAL, ELOOP: the set itself, or one that has it */
    }
}

static struct epoll_event linux_what(uint64_t cookie, bool out)
{
    return (struct epoll_event){.events = EPOLLIN | EPOLLPRI | EPOLLRDHUP | EPOLLET |
                                          (out ? EPOLLOUT : 0),
                                .data.u64 = cookie};
}

axo__os_poll_answer axo__os_poll_add(axo__os_poll *poll, int fd, uint64_t cookie, bool out)
{
    struct epoll_event what = linux_what(cookie, out);
    AXO_DEBUG_ASSERT(cookie != AXO__POLL_NONE);
    if (fd == poll->wake) /* a host's event is in the set; it is the library's */
        return AXO__POLL_INVALID;
    bool added = epoll_ctl(poll->fd, EPOLL_CTL_ADD, fd, &what) == 0;
    return added ? AXO__POLL_OK : linux_answer(errno);
}

void axo__os_poll_add_out(axo__os_poll *poll, int fd, uint64_t cookie)
{
    struct epoll_event what = linux_what(cookie, true);
    (void)epoll_ctl(poll->fd, EPOLL_CTL_MOD, fd, &what);
}

bool axo__os_poll_remove(axo__os_poll *poll, int fd)
{
    return epoll_ctl(poll->fd, EPOLL_CTL_DEL, fd, NULL) == 0;
}

/* An end or an error makes reads and writes return at once, so it is IN and OUT as well. The bits
 * of poll and epoll have the same values. */
static uint32_t linux_events(uint32_t bits)
{
    uint32_t events = 0;
    if ((bits & (EPOLLIN | EPOLLPRI | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0)
        events |= AXO__POLL_IN;
    if ((bits & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0)
        events |= AXO__POLL_OUT;
    if ((bits & (EPOLLRDHUP | EPOLLHUP)) != 0)
        events |= AXO__POLL_HUP;
    if ((bits & EPOLLERR) != 0)
        events |= AXO__POLL_ERR;
    if ((bits & EPOLLPRI) != 0)
        events |= AXO__POLL_URGENT;
    return events;
}

/* The wait of milliseconds of older kernels: rounded up, so that a wait whose end is near does not
 * come back before it, again and again. */
static int linux_wait_coarse(int fd, struct epoll_event *events, int64_t span)
{
    int timeout = -1;
    if (span >= 0)
        timeout = span > LINUX_MS_MAX * LINUX_MS ? (int)LINUX_MS_MAX
                                                 : (int)((span + LINUX_MS - 1) / LINUX_MS);
    return epoll_wait(fd, events, AXO__POLL_FOUND_MAX, timeout);
}

/* `span`: nanoseconds, 0: do not wait, below 0: without an end. A sandbox may refuse
 * the newer call by any error. */
static int linux_wait(axo__os_poll *poll, struct epoll_event *events, int64_t span)
{
#ifdef SYS_epoll_pwait2
    if (span > 0 && axo__a32_load_relaxed(&poll->coarse) == 0) {
        struct timespec limit = {.tv_sec = (time_t)(span / LINUX_SECOND),
                                 .tv_nsec = (long)(span % LINUX_SECOND)};
        long found = syscall(SYS_epoll_pwait2, poll->fd, events, AXO__POLL_FOUND_MAX, &limit, NULL,
                             (size_t)0);
        if (found >= 0 || errno == EINTR)
            return (int)found;
        axo__a32_store_relaxed(&poll->coarse, 1);
    }
#endif
    return linux_wait_coarse(poll->fd, events, span);
}

void axo__os_poll_wait(axo__os_poll *poll, int64_t deadline)
{
    struct epoll_event events[AXO__POLL_FOUND_MAX];
    int64_t span = deadline == AXO__NEVER ? -1 : 0;
    if (deadline != AXO__NEVER && deadline > 0) {
        span = deadline - axo__os_now();
        span = span > 0 ? span : 0;
    }
    int before = axo__os_cancel_hold();
    int found = linux_wait(poll, events, span);
    axo__os_cancel_let(before);
    poll->count = 0;
    for (int i = 0; i < found; i++) {
        if (events[i].data.u64 != AXO__POLL_NONE)
            poll->found[poll->count++] = (axo__os_found){.cookie = events[i].data.u64,
                                                         .events = linux_events(events[i].events)};
    }
}

void axo__os_poll_wake(axo__os_poll *poll)
{
    int before = axo__os_cancel_hold();
    (void)eventfd_write(poll->wake, 1);
    axo__os_cancel_let(before);
}

uint32_t axo__os_poll_look(int fd, uint32_t events)
{
    struct pollfd one = {.fd = fd};
    if ((events & AXO__POLL_IN) != 0)
        one.events |= POLLIN | POLLRDHUP;
    if ((events & AXO__POLL_OUT) != 0)
        one.events |= POLLOUT;
    int before = axo__os_cancel_hold();
    int ready = poll(&one, 1, 0);
    int error = errno;
    axo__os_cancel_let(before);
    if (ready < 0 && error != EINTR)
        return events & (AXO__POLL_IN | AXO__POLL_OUT); /* it is a hint: who tries finds out */
    if (ready <= 0 || (one.revents & POLLNVAL) != 0)
        return 0;
    return linux_events((uint32_t)one.revents);
}
