/* sockets.c - see sockets.h. */
#include "sockets.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ghost.h"
#include "os/poll.h"
#include "os/sim.h"

#define SOCKETS_FDS 64
/* One call of so many. */
#define SOCKETS_EINTR  12
#define SOCKETS_SHORT  6
#define SOCKETS_RESET  150
#define SOCKETS_REFUSE 8

sockets net;

void sockets_begin(bool resets)
{
    memset(&net, 0, offsetof(sockets, all));
    net.on = net.faults = true;
    net.resets = resets;
    net.listener = -1;
}

void sockets_over(void)
{
    net.on = false;
}

uint32_t sockets_number(int fd)
{
    return fd >= 0 && fd < SOCKETS_FDS && net.of_fd[fd] > 0 ? (uint32_t)net.of_fd[fd] - 1
                                                            : UINT32_MAX;
}

static sockets_one *sockets_of(int fd)
{
    uint32_t number = sockets_number(fd);
    if (number == UINT32_MAX)
        ghost_violated(68, "a call with the descriptor %d, which is closed", fd);
    return &net.all[number];
}

static bool sockets_chance(uint32_t one_in)
{
    return net.faults && axo__sim_chance(AXO__SIM_TEST_FAULT, one_in);
}

/* What comes is less than there is: 0 up to all but one. */
static uint32_t sockets_less(uint32_t all)
{
    return all > 1 ? axo__sim_choose(AXO__SIM_TEST_FAULT, all) : 0;
}

/* ---- readiness ---- */

static uint32_t sockets_level(const sockets_one *it)
{
    uint32_t level = 0;
    if (it->in.count > 0 || it->in.ended || it->shut || it->reset)
        level |= AXO__POLL_IN;
    if (it->out.count < it->out.room || it->out.ended || it->left || it->reset)
        level |= AXO__POLL_OUT;
    if (it->in.ended || it->shut || it->reset)
        level |= AXO__POLL_HUP;
    if (it->error != 0)
        level |= AXO__POLL_ERR;
    return level;
}

/* Something has come: an edge. */
static void sockets_raise(const sockets_one *it)
{
    if (it->fd >= 0)
        axo__sim_fd_set(it->fd, sockets_level(it));
}

/* The library itself has changed it: none. */
static void sockets_fall(const sockets_one *it)
{
    if (it->fd >= 0)
        axo__sim_fd_fall(it->fd, sockets_level(it));
}

/* ---- buffers ---- */

static void way_put(sockets_way *way, const char *data, uint32_t size)
{
    for (uint32_t i = 0; i < size; i++)
        way->bytes[(way->begin + way->count + i) % way->room] = data[i];
    way->count += size;
}

static void way_take(sockets_way *way, char *to, uint32_t size)
{
    for (uint32_t i = 0; i < size; i++)
        to[i] = way->bytes[(way->begin + i) % way->room];
    way->begin = (way->begin + size) % way->room;
    way->count -= size;
}

static void way_begin(sockets_way *way, uint32_t room)
{
    way->begin = way->count = 0;
    way->room = room < SOCKETS_ROOM ? room : SOCKETS_ROOM;
    way->ended = false;
    way->total = 0;
}

/* Bytes on their way to a peer that is reset, some of them, are lost. */
static void sockets_break(sockets_one *it)
{
    if (!it->broken && it->out.count > 0)
        it->out.count -= net.faults ? axo__sim_choose(AXO__SIM_TEST_FAULT, it->out.count + 1)
                                    : it->out.count;
    it->broken = true;
}

/* ---- a connection ---- */

static uint32_t sockets_make(uint32_t in, uint32_t out)
{
    if (net.count == SOCKETS_MAX)
        return UINT32_MAX;
    sockets_one *it = &net.all[net.count];
    memset(it, 0, offsetof(sockets_one, in));
    way_begin(&it->in, in);
    way_begin(&it->out, out);
    it->fd = -1;
    return net.count++;
}

static bool sockets_open(uint32_t number)
{
    int fd = axo__sim_fd_open(false);
    if (fd < 0)
        return false;
    net.of_fd[fd] = (int8_t)(number + 1);
    net.all[number].fd = fd;
    sockets_fall(&net.all[number]);
    return true;
}

uint32_t sockets_pair(uint32_t in, uint32_t out)
{
    uint32_t number = sockets_make(in, out);
    if (number != UINT32_MAX && !sockets_open(number)) {
        net.count--;
        return UINT32_MAX;
    }
    return number;
}

/* The oldest that waits; NULL: none does. */
static sockets_one *sockets_waiting(void)
{
    for (uint32_t i = 0; i < net.count; i++) {
        if (net.all[i].waits)
            return &net.all[i];
    }
    return NULL;
}

static void sockets_listener_level(bool edge)
{
    if (net.listener < 0)
        return;
    if (edge)
        axo__sim_fd_set(net.listener, net.waiting > 0 ? AXO__POLL_IN : 0);
    else
        axo__sim_fd_fall(net.listener, net.waiting > 0 ? AXO__POLL_IN : 0);
}

/* It waits no more: accepted, or dropped. */
static void sockets_unwait(sockets_one *it, bool drop)
{
    it->waits = false;
    net.waiting--;
    if (drop) {
        it->closed = true;
        sockets_break(it);
    }
    sockets_listener_level(false);
}

/* The library's end is closed, by whichever call. */
static void sockets_gone(int fd)
{
    if (fd == net.listener) {
        net.listener = -1;
        for (sockets_one *it = sockets_waiting(); it != NULL; it = sockets_waiting())
            sockets_unwait(it, true);
        return;
    }
    uint32_t number = sockets_number(fd);
    if (number == UINT32_MAX)
        return;
    sockets_one *it = &net.all[number];
    net.of_fd[fd] = 0;
    it->fd = -1;
    it->closed = true;
    if (it->in.count > 0)
        sockets_break(it);
    else
        it->out.ended = true;
}

/* ---- the peer ---- */

uint32_t peer_connect(uint32_t in, uint32_t out)
{
    uint32_t number = net.listener >= 0 ? sockets_make(in, out) : UINT32_MAX;
    if (number == UINT32_MAX)
        return UINT32_MAX;
    net.all[number].waits = true;
    net.waiting++;
    sockets_listener_level(true);
    return number;
}

uint32_t peer_put(sockets_one *it, const char *data, uint32_t size)
{
    uint32_t room = it->in.room - it->in.count;
    if (it->in.ended || it->reset || it->broken)
        return 0;
    if (it->closed) {
        sockets_break(it); /* nobody reads it: a reset is the answer */
        return 0;
    }
    if (size > room)
        size = room;
    way_put(&it->in, data, size);
    if (size > 0)
        sockets_raise(it);
    return size;
}

uint32_t peer_take(sockets_one *it, char *to, uint32_t size)
{
    if (size > it->out.count)
        size = it->out.count;
    if (size == 0 || it->reset || it->left)
        return 0;
    bool full = it->full || it->out.count == it->out.room;
    way_take(&it->out, to, size);
    it->full = false;
    if (full)
        sockets_raise(it);
    return size;
}

bool peer_sees_end(const sockets_one *it)
{
    return it->out.ended && it->out.count == 0 && !it->broken && !it->reset && !it->left;
}

void peer_end(sockets_one *it)
{
    if (it->in.ended || it->reset || it->broken)
        return;
    it->in.ended = true;
    sockets_raise(it);
}

void peer_reset(sockets_one *it)
{
    if (it->reset || it->closed)
        return;
    it->reset = true;
    it->error = it->in.ended ? EPIPE : ECONNRESET;
    sockets_raise(it);
}

void peer_close(sockets_one *it)
{
    if (it->out.count > 0) {
        peer_reset(it);
        return;
    }
    peer_end(it);
    it->left = true;
    sockets_raise(it);
}

/* ---- system calls ---- */

static int sockets_errno(int error)
{
    errno = error;
    return -1;
}

/* The error that waits is told once. */
static int sockets_error(sockets_one *it)
{
    int error = it->error;
    it->error = 0;
    sockets_fall(it);
    return error;
}

/* Whether the call is interrupted. The peer may reset it at any call. */
static bool sockets_call(sockets_one *it)
{
    if (sockets_chance(SOCKETS_EINTR))
        return true;
    if (net.resets && sockets_chance(SOCKETS_RESET))
        peer_reset(it);
    return false;
}

ssize_t __real_read(int fd, void *to, size_t size);
ssize_t __wrap_read(int fd, void *to, size_t size);

ssize_t __wrap_read(int fd, void *to, size_t size)
{
    if (!net.on)
        return __real_read(fd, to, size);
    sockets_one *it = sockets_of(fd);
    if (size == 0)
        ghost_fail("a read of nothing");
    if (sockets_call(it))
        return sockets_errno(EINTR);
    if (it->in.count == 0) {
        if (it->error != 0)
            return sockets_errno(sockets_error(it));
        return it->in.ended || it->shut || it->reset ? 0 : sockets_errno(EAGAIN);
    }
    uint32_t count = size < it->in.count ? (uint32_t)size : it->in.count;
    bool late = sockets_chance(SOCKETS_SHORT); /* the rest comes behind the call */
    if (late)
        count = sockets_less(count);
    way_take(&it->in, to, count);
    it->in.total += count;
    if (late)
        sockets_raise(it);
    else
        sockets_fall(it);
    return count > 0 ? (ssize_t)count : sockets_errno(EAGAIN);
}

/* The first of the pieces, as many bytes as there is room for. */
static uint32_t sockets_gather(sockets_one *it, const struct msghdr *message, uint32_t most)
{
    uint32_t went = 0;
    for (size_t i = 0; i < message->msg_iovlen && went < most; i++) {
        const struct iovec *piece = &message->msg_iov[i];
        uint32_t size = most - went < piece->iov_len ? most - went : (uint32_t)piece->iov_len;
        way_put(&it->out, piece->iov_base, size);
        went += size;
    }
    it->out.total += went;
    return went;
}

ssize_t __real_sendmsg(int fd, const struct msghdr *message, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags);

ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags)
{
    size_t all = 0;
    if (!net.on)
        return __real_sendmsg(fd, message, flags);
    sockets_one *it = sockets_of(fd);
    for (size_t i = 0; i < message->msg_iovlen; i++)
        all += message->msg_iov[i].iov_len;
    if (all == 0 || (flags & MSG_NOSIGNAL) == 0)
        ghost_fail("a write of nothing, or one that may end the process");
    if (sockets_call(it))
        return sockets_errno(EINTR);
    if (it->error != 0)
        return sockets_errno(sockets_error(it));
    if (it->out.ended || it->reset)
        return sockets_errno(EPIPE);
    if (it->left) { /* taken, and answered by a reset */
        it->out.total += all;
        peer_reset(it);
        return (ssize_t)all;
    }
    uint32_t room = it->out.room - it->out.count;
    uint32_t count = all < room ? (uint32_t)all : room;
    bool late = room > 0 && sockets_chance(SOCKETS_SHORT); /* room comes behind the call */
    if (late)
        count = sockets_less(count);
    it->full = it->full || count < all;
    (void)sockets_gather(it, message, count);
    if (late)
        sockets_raise(it);
    else
        sockets_fall(it);
    return count > 0 ? (ssize_t)count : sockets_errno(EAGAIN);
}

int __real_shutdown(int fd, int how);
int __wrap_shutdown(int fd, int how);

int __wrap_shutdown(int fd, int how)
{
    if (!net.on)
        return __real_shutdown(fd, how);
    sockets_one *it = sockets_of(fd);
    if (it->reset)
        return sockets_errno(ENOTCONN);
    it->finished = it->finished || (how == SHUT_WR && !it->out.ended);
    it->out.ended = true;
    if (how == SHUT_RDWR) {
        it->shut = true;
        sockets_raise(it);
    } else {
        sockets_fall(it);
    }
    return 0;
}

int __real_getsockopt(int fd, int level, int name, void *value, socklen_t *size);
int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *size);

int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *size)
{
    if (!net.on)
        return __real_getsockopt(fd, level, name, value, size);
    if (level != SOL_SOCKET || (name != SO_ERROR && name != SO_PROTOCOL) || *size != sizeof(int))
        ghost_fail("getsockopt of what the simulator does not know");
    int answer = name == SO_ERROR ? sockets_error(sockets_of(fd)) : IPPROTO_TCP;
    memcpy(value, &answer, sizeof answer);
    return 0;
}

int __real_setsockopt(int fd, int level, int name, const void *value, socklen_t size);
int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t size);

int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t size)
{
    return net.on ? 0 : __real_setsockopt(fd, level, name, value, size);
}

int __real_fcntl(int fd, int command, ...);
int __wrap_fcntl(int fd, int command, ...);

int __wrap_fcntl(int fd, int command, ...)
{
    va_list list;
    va_start(list, command);
    void *arg = va_arg(list, void *);
    va_end(list);
    if (!net.on)
        return __real_fcntl(fd, command, arg);
    if (command != F_GETFL && command != F_SETFL)
        ghost_fail("fcntl of what the simulator does not know");
    (void)sockets_of(fd);
    return 0;
}

/* ---- the listening socket ---- */

int __real_socket(int domain, int type, int protocol);
int __wrap_socket(int domain, int type, int protocol);

int __wrap_socket(int domain, int type, int protocol)
{
    if (!net.on)
        return __real_socket(domain, type, protocol);
    HOLDS_ALL(69, net.listener < 0, "a listener's socket is opened beside another one");
    int fd = sockets_chance(SOCKETS_REFUSE) ? -1 : axo__sim_fd_open(false);
    if (fd < 0)
        return sockets_errno(EMFILE);
    net.listener = fd;
    return fd;
}

int __real_bind(int fd, const struct sockaddr *address, socklen_t size);
int __wrap_bind(int fd, const struct sockaddr *address, socklen_t size);

int __wrap_bind(int fd, const struct sockaddr *address, socklen_t size)
{
    if (!net.on)
        return __real_bind(fd, address, size);
    return sockets_chance(SOCKETS_REFUSE) ? sockets_errno(EADDRINUSE) : 0;
}

int __real_listen(int fd, int backlog);
int __wrap_listen(int fd, int backlog);

int __wrap_listen(int fd, int backlog)
{
    return net.on ? 0 : __real_listen(fd, backlog);
}

/* What accept says that takes nobody; 0: nothing is in its way. */
static int sockets_refusal(sockets_one *first)
{
    static const int shorts[] = {EMFILE, ENFILE, ENOBUFS, ENOMEM};
    static const int passing[] = {ECONNABORTED, EPROTO, ETIMEDOUT, EPERM, ENONET};
    if (sockets_chance(SOCKETS_EINTR))
        return EINTR;
    if (first == NULL)
        return EAGAIN;
    if (sockets_chance(SOCKETS_REFUSE))
        return shorts[axo__sim_choose(AXO__SIM_TEST_FAULT, 4)];
    if (sockets_chance(SOCKETS_REFUSE)) {
        sockets_unwait(first, true);
        return passing[axo__sim_choose(AXO__SIM_TEST_FAULT, 4)];
    }
    if (!sockets_chance(SOCKETS_SHORT))
        return 0;
    sockets_listener_level(true); /* it comes a moment later */
    return EAGAIN;
}

int __real_accept4(int fd, struct sockaddr *address, socklen_t *size, int flags);
int __wrap_accept4(int fd, struct sockaddr *address, socklen_t *size, int flags);

int __wrap_accept4(int fd, struct sockaddr *address, socklen_t *size, int flags)
{
    if (!net.on)
        return __real_accept4(fd, address, size, flags);
    HOLDS_ALL(69, fd == net.listener, "accept of a socket that does not listen");
    sockets_one *first = sockets_waiting();
    int error = sockets_refusal(first);
    if (error == 0 && !sockets_open((uint32_t)(first - net.all)))
        error = EMFILE;
    if (error != 0)
        return sockets_errno(error);
    sockets_unwait(first, false);
    net.accepted++;
    return first->fd;
}

static int sockets_nameless(void)
{
    return sockets_errno(ENOTCONN);
}

int __real_getsockname(int fd, struct sockaddr *address, socklen_t *size);
int __wrap_getsockname(int fd, struct sockaddr *address, socklen_t *size);

int __wrap_getsockname(int fd, struct sockaddr *address, socklen_t *size)
{
    return net.on ? sockets_nameless() : __real_getsockname(fd, address, size);
}

int __real_getpeername(int fd, struct sockaddr *address, socklen_t *size);
int __wrap_getpeername(int fd, struct sockaddr *address, socklen_t *size);

int __wrap_getpeername(int fd, struct sockaddr *address, socklen_t *size)
{
    return net.on ? sockets_nameless() : __real_getpeername(fd, address, size);
}

/* ---- closing ---- */

void __real_axo__os_close(int fd);
void __wrap_axo__os_close(int fd);

void __wrap_axo__os_close(int fd)
{
    if (net.on) {
        HOLDS_ALL(68, axo__sim_fd_is_open(fd), "descriptor %d is closed twice", fd);
        sockets_gone(fd);
    }
    __real_axo__os_close(fd);
}

int __real_close(int fd);
int __wrap_close(int fd);

int __wrap_close(int fd)
{
    if (!net.on)
        return __real_close(fd);
    __wrap_axo__os_close(fd);
    return 0;
}
