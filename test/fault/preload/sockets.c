/* sockets.c - a network and a kernel at their worst, for a whole program (LD_PRELOAD): what it
 * reads and writes comes in pieces, is interrupted or not possible just now, its connections break,
 * it has no descriptors, its waits end early or tell of what is not ready.
 *
 *   AXO_SOCKETS="SEED RATE" LD_PRELOAD=sockets.so program     one call of RATE is spoilt
 *
 * At the program's end it writes one line of what it has done to the standard error. With a
 * sanitizer: ASAN_OPTIONS=verify_asan_link_order=0.
 *
 * It does what a kernel may do, and nothing else. In particular, epoll's edges stay true: a call
 * that says EAGAIN, or takes a part, says to who waits for an edge that there will be one as soon
 * as there is something again. So behind such a call the descriptor is set anew (EPOLL_CTL_MOD),
 * which makes the edge, as if the bytes, or the room, had come right behind the call; it comes
 * before the call has returned, or long after. A connection that breaks is broken, by
 * connect(AF_UNSPEC): the kernel resets it, and gives its error to the calls. Only those whose
 * other side is 127.0.0.2 do. An event of a spurious wait is of a descriptor that is watched when
 * the wait ends, for what it is watched for.
 *
 * Streams are what accept4 has given, so pipes, files, eventfds are left alone. */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define PUBLIC      __attribute__((visibility("default")))
#define PLACES      65536
#define PIECES      64
#define BREAKS_AT   "127.0.0.2"
#define SHORT_BYTES 64

/* What is done, each as often as the others of its call. */
#define FAULTS(X)                                                                                  \
    X(read_short)                                                                                  \
    X(read_blocked)                                                                                \
    X(read_interrupted)                                                                            \
    X(write_short)                                                                                 \
    X(write_blocked)                                                                               \
    X(write_interrupted)                                                                           \
    X(broken)                                                                                      \
    X(accept_interrupted)                                                                          \
    X(accept_aborted)                                                                              \
    X(accept_blocked)                                                                              \
    X(accept_short)                                                                                \
    X(wait_interrupted)                                                                            \
    X(wait_few)                                                                                    \
    X(wait_spurious)                                                                               \
    X(close_interrupted)

enum {
#define ONE(name) name,
    FAULTS(ONE)
#undef ONE
    FAULTS_COUNT
};

/* What is known of a descriptor, under the lock. */
typedef struct place {
    atomic_flag lock;
    int epoll;         /* that it is in */
    bool watched;      /* it is in one */
    struct epoll_event event;
    atomic_bool stream; /* accept4 has given it */
    atomic_bool breaks;
    atomic_bool broken;
} place;

static place places[PLACES];
static atomic_int highest; /* of the descriptors that have been watched */
static atomic_uint_fast64_t done[FAULTS_COUNT];
static atomic_uint_fast64_t calls;
static uint64_t seed;
static uint64_t rate; /* 0: nothing is done */

/* ---- the real ones ---- */

typedef struct real {
    ssize_t (*recvmsg)(int fd, struct msghdr *message, int flags);
    ssize_t (*sendmsg)(int fd, const struct msghdr *message, int flags);
    ssize_t (*read)(int fd, void *to, size_t size);
    ssize_t (*write)(int fd, const void *from, size_t size);
    ssize_t (*readv)(int fd, const struct iovec *parts, int count);
    ssize_t (*writev)(int fd, const struct iovec *parts, int count);
    ssize_t (*recv)(int fd, void *to, size_t size, int flags);
    ssize_t (*send)(int fd, const void *from, size_t size, int flags);
    int (*accept4)(int fd, __SOCKADDR_ARG name, socklen_t *size, int flags);
    int (*epoll_ctl)(int set, int what, int fd, struct epoll_event *event);
    int (*epoll_wait)(int set, struct epoll_event *events, int most, int ms);
    int (*close)(int fd);
    long (*syscall)(long number, ...);
} real;

/* A pointer to an object becomes one to a function, as POSIX has it of dlsym. */
static void find(void *function, const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    memcpy(function, &found, sizeof found);
}

/* Threads that are the first at the same time find the same. */
static const real *the(void)
{
    static real it;
    static atomic_bool known;
    if (!atomic_load_explicit(&known, memory_order_acquire)) {
        find(&it.recvmsg, "recvmsg");
        find(&it.sendmsg, "sendmsg");
        find(&it.read, "read");
        find(&it.write, "write");
        find(&it.readv, "readv");
        find(&it.writev, "writev");
        find(&it.recv, "recv");
        find(&it.send, "send");
        find(&it.accept4, "accept4");
        find(&it.epoll_ctl, "epoll_ctl");
        find(&it.epoll_wait, "epoll_wait");
        find(&it.close, "close");
        find(&it.syscall, "syscall");
        atomic_store_explicit(&known, true, memory_order_release);
    }
    return &it;
}

/* ---- chance ---- */

static uint64_t draw(void)
{
    static atomic_uint_fast64_t threads;
    static _Thread_local uint64_t state;
    if (state == 0)
        state = (seed + atomic_fetch_add(&threads, 1) + 1) * UINT64_C(0x9e3779b97f4a7c15) | 1;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state >> 8;
}

/* One of `first`..`last`, seldom; else FAULTS_COUNT. */
static int choose(int first, int last)
{
    atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
    if (rate == 0 || draw() % rate != 0)
        return FAULTS_COUNT;
    return first + (int)(draw() % (uint64_t)(last - first + 1));
}

static void did(int fault)
{
    atomic_fetch_add_explicit(&done[fault], 1, memory_order_relaxed);
}

static int say(int fault, int error)
{
    did(fault);
    errno = error;
    return -1;
}

/* ---- descriptors ---- */

static place *place_of(int fd)
{
    return fd >= 0 && fd < PLACES ? &places[fd] : NULL;
}

static void lock(place *it)
{
    while (atomic_flag_test_and_set_explicit(&it->lock, memory_order_acquire))
        (void)sched_yield();
}

static void unlock(place *it)
{
    atomic_flag_clear_explicit(&it->lock, memory_order_release);
}

/* The stream of a descriptor; NULL: it is none. */
static place *stream_of(int fd)
{
    place *it = rate != 0 ? place_of(fd) : NULL;
    return it != NULL && atomic_load(&it->stream) ? it : NULL;
}

/* Whoever waits for an edge of it gets one, if there is anything to tell. */
static void edge(int fd)
{
    int before = errno;
    place *it = place_of(fd);
    lock(it);
    if (it->watched) {
        struct epoll_event event = it->event;
        (void)the()->epoll_ctl(it->epoll, EPOLL_CTL_MOD, fd, &event);
    }
    unlock(it);
    errno = before;
}

/* The kernel resets the connection; the next calls say so. */
static void break_it(int fd, place *it)
{
    const struct sockaddr nobody = {.sa_family = AF_UNSPEC};
    if (!atomic_load(&it->breaks) || atomic_exchange(&it->broken, true))
        return;
    if (connect(fd, &nobody, sizeof nobody) == 0)
        did(broken);
}

PUBLIC int epoll_ctl(int set, int what, int fd, struct epoll_event *event)
{
    place *it = place_of(fd);
    if (it == NULL)
        return the()->epoll_ctl(set, what, fd, event);
    lock(it);
    int answer = the()->epoll_ctl(set, what, fd, event);
    if (answer == 0) {
        it->watched = what != EPOLL_CTL_DEL;
        it->epoll = set;
        if (it->watched)
            it->event = *event;
        int most = atomic_load(&highest);
        while (most < fd && !atomic_compare_exchange_weak(&highest, &most, fd))
            ;
    }
    unlock(it);
    return answer;
}

PUBLIC int close(int fd)
{
    place *it = place_of(fd);
    bool stream = stream_of(fd) != NULL;
    if (it == NULL)
        return the()->close(fd);
    lock(it);
    it->watched = false;
    atomic_store(&it->stream, false);
    unlock(it);
    int answer = the()->close(fd);
    if (stream && answer == 0 && choose(close_interrupted, close_interrupted) != FAULTS_COUNT)
        return say(close_interrupted, EINTR); /* Linux: it is closed all the same */
    return answer;
}

/* A connection that waits stays in the line: who is told to be gone, or that there is no room, was
 * another one. */
PUBLIC int accept4(int fd, __SOCKADDR_ARG name, socklen_t *size, int flags)
{
    static const int lacks[] = {EMFILE, ENFILE, ENOBUFS, ENOMEM};
    struct sockaddr_in peer;
    socklen_t peer_size = sizeof peer;
    int fault = choose(accept_interrupted, accept_short);
    if (fault == accept_interrupted)
        return say(fault, EINTR);
    if (fault == accept_aborted)
        return say(fault, ECONNABORTED);
    if (fault == accept_short && draw() % 4 == 0) /* it is a pause each time */
        return say(fault, lacks[draw() % 4]);
    if (fault == accept_blocked && place_of(fd) != NULL) {
        edge(fd);
        return say(fault, EAGAIN);
    }
    int got = the()->accept4(fd, name, size, flags);
    place *it = place_of(got);
    if (it == NULL)
        return got;
    bool breaks = getpeername(got, (struct sockaddr *)&peer, &peer_size) == 0 &&
                  peer.sin_family == AF_INET &&
                  peer.sin_addr.s_addr == inet_addr(BREAKS_AT);
    atomic_store(&it->broken, false);
    atomic_store(&it->breaks, breaks);
    atomic_store(&it->stream, true);
    return got;
}

/* ---- bytes ---- */

/* The first bytes of the pieces: how many there are is returned, and what the caller wanted. */
static size_t cut(struct iovec *parts, size_t *count, const struct msghdr *message, size_t *all)
{
    size_t left = 1 + draw() % SHORT_BYTES;
    size_t taken = 0;
    *all = 0;
    *count = 0;
    for (size_t i = 0; i < message->msg_iovlen; i++) {
        struct iovec part = message->msg_iov[i];
        *all += part.iov_len;
        if (part.iov_len > left)
            part.iov_len = left;
        if (part.iov_len > 0 && *count < PIECES)
            parts[(*count)++] = part;
        left -= part.iov_len;
        taken += part.iov_len;
    }
    return taken;
}

static ssize_t take(int fd, place *it, struct msghdr *message, int flags)
{
    struct iovec parts[PIECES];
    size_t all = 0;
    int fault = choose(read_short, read_interrupted);
    if (fault == read_interrupted)
        return say(fault, EINTR);
    if (fault == read_blocked) {
        edge(fd);
        return say(fault, EAGAIN);
    }
    if (fault == read_short && message->msg_iovlen <= PIECES) {
        struct msghdr less = *message;
        size_t wanted = cut(parts, &less.msg_iovlen, message, &all);
        less.msg_iov = parts;
        ssize_t got = the()->recvmsg(fd, &less, flags);
        message->msg_flags = less.msg_flags;
        message->msg_namelen = less.msg_namelen;
        message->msg_controllen = less.msg_controllen;
        if (got == (ssize_t)wanted && wanted < all) {
            did(fault);
            edge(fd);
        }
        return got;
    }
    if (choose(broken, broken) == broken)
        break_it(fd, it);
    ssize_t got = the()->recvmsg(fd, message, flags);
    if (got < 0 && errno == ENOTCONN && atomic_load(&it->broken))
        return 0; /* as behind any reset that was told */
    return got;
}

static ssize_t give(int fd, place *it, const struct msghdr *message, int flags)
{
    struct iovec parts[PIECES];
    size_t all = 0;
    int fault = choose(write_short, write_interrupted);
    if (fault == write_interrupted)
        return say(fault, EINTR);
    if (fault == write_blocked) {
        edge(fd);
        return say(fault, EAGAIN);
    }
    if (fault == write_short && message->msg_iovlen <= PIECES) {
        struct msghdr less = *message;
        size_t wanted = cut(parts, &less.msg_iovlen, message, &all);
        less.msg_iov = parts;
        ssize_t went = the()->sendmsg(fd, &less, flags);
        if (went == (ssize_t)wanted && wanted < all) {
            did(fault);
            edge(fd);
        }
        return went;
    }
    if (choose(broken, broken) == broken)
        break_it(fd, it);
    return the()->sendmsg(fd, message, flags);
}

PUBLIC ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
    place *it = stream_of(fd);
    return it != NULL ? take(fd, it, message, flags) : the()->recvmsg(fd, message, flags);
}

PUBLIC ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    place *it = stream_of(fd);
    return it != NULL ? give(fd, it, message, flags) : the()->sendmsg(fd, message, flags);
}

PUBLIC ssize_t recv(int fd, void *to, size_t size, int flags)
{
    place *it = stream_of(fd);
    struct iovec part = {.iov_base = to, .iov_len = size};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    return it != NULL ? take(fd, it, &message, flags) : the()->recv(fd, to, size, flags);
}

PUBLIC ssize_t read(int fd, void *to, size_t size)
{
    return stream_of(fd) != NULL ? recv(fd, to, size, 0) : the()->read(fd, to, size);
}

PUBLIC ssize_t readv(int fd, const struct iovec *parts, int count)
{
    place *it = stream_of(fd);
    struct iovec own[PIECES];
    struct msghdr message = {.msg_iov = own, .msg_iovlen = (size_t)count};
    if (it == NULL || count < 0 || count > PIECES)
        return the()->readv(fd, parts, count);
    memcpy(own, parts, sizeof *parts * (size_t)count);
    return take(fd, it, &message, 0);
}

PUBLIC ssize_t send(int fd, const void *from, size_t size, int flags)
{
    place *it = stream_of(fd);
    struct iovec part = {.iov_len = size};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    memcpy(&part.iov_base, &from, sizeof from); /* iovec is not const */
    return it != NULL ? give(fd, it, &message, flags) : the()->send(fd, from, size, flags);
}

PUBLIC ssize_t write(int fd, const void *from, size_t size)
{
    return stream_of(fd) != NULL ? send(fd, from, size, 0) : the()->write(fd, from, size);
}

PUBLIC ssize_t writev(int fd, const struct iovec *parts, int count)
{
    place *it = stream_of(fd);
    struct iovec own[PIECES];
    struct msghdr message = {.msg_iov = own, .msg_iovlen = (size_t)count};
    if (it == NULL || count < 0 || count > PIECES)
        return the()->writev(fd, parts, count);
    memcpy(own, parts, sizeof *parts * (size_t)count);
    return give(fd, it, &message, 0);
}

/* ---- waits ---- */

/* One more event, of a stream that is watched in this set. */
static int spurious(int set, struct epoll_event *events, int count, int most)
{
    int all = atomic_load(&highest) + 1;
    int begin = (int)(draw() % (uint64_t)all);
    if (count < 0 || count == most)
        return count;
    for (int i = 0; i < all; i++) {
        place *it = place_of((begin + i) % all);
        bool found = false;
        if (!atomic_load(&it->stream))
            continue;
        lock(it);
        if (it->watched && it->epoll == set) {
            events[count] = it->event;
            events[count].events &= EPOLLIN | EPOLLOUT;
            found = events[count].events != 0;
        }
        unlock(it);
        if (!found)
            continue;
        did(wait_spurious);
        return count + 1;
    }
    return count;
}

/* What becomes of a wait: its bounds, or -1: it has ended. */
static int wait_fault(int *most)
{
    int fault = choose(wait_interrupted, wait_spurious);
    if (fault == wait_few && *most > 1) {
        did(fault);
        *most = 1;
    }
    return fault;
}

PUBLIC int epoll_wait(int set, struct epoll_event *events, int most, int ms)
{
    int room = most;
    int fault = wait_fault(&room);
    if (fault == wait_interrupted)
        return say(fault, EINTR);
    int count = the()->epoll_wait(set, events, room, fault == wait_spurious ? 0 : ms);
    return fault == wait_spurious ? spurious(set, events, count, most) : count;
}

/* glibc 2.35 and later have epoll_pwait2; who wants older ones calls it so. */
static long wait_precise(long set, long events, long most, long limit, long mask, long size)
{
    static struct timespec now;
    int room = (int)most;
    int fault = wait_fault(&room);
    struct epoll_event *found;
    memcpy(&found, &events, sizeof found);
    if (fault == wait_interrupted)
        return say(fault, EINTR);
    const void *until = &now;
    if (fault != wait_spurious)
        memcpy(&until, &limit, sizeof until);
    long count =
        the()->syscall(SYS_epoll_pwait2, set, events, (long)room, until, mask, size);
    return fault == wait_spurious ? spurious((int)set, found, (int)count, (int)most) : count;
}

PUBLIC long syscall(long number, ...)
{
    long words[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++) /* as the real one: what was not given is of no use to anybody */
        words[i] = va_arg(list, long);
    va_end(list);
    if (number == SYS_epoll_pwait2 && rate != 0)
        return wait_precise(words[0], words[1], words[2], words[3], words[4], words[5]);
    return the()->syscall(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}

/* ---- begin, end ---- */

__attribute__((constructor)) static void begin(void)
{
    const char *text = getenv("AXO_SOCKETS");
    char *rest = NULL;
    if (text == NULL)
        return;
    seed = strtoull(text, &rest, 10);
    rate = strtoull(rest, NULL, 10);
}

__attribute__((destructor)) static void end(void)
{
    static const char *const names[] = {
#define ONE(name) #name,
        FAULTS(ONE)
#undef ONE
    };
    if (rate == 0)
        return;
    rate = 0;
    (void)fprintf(stderr, "sockets: seed %ju, calls %ju", (uintmax_t)seed,
                  (uintmax_t)atomic_load(&calls));
    for (int i = 0; i < FAULTS_COUNT; i++)
        (void)fprintf(stderr, ", %s %ju", names[i], (uintmax_t)atomic_load(&done[i]));
    (void)fprintf(stderr, "\n");
}
