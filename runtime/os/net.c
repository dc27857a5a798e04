/* net.c - see net.h. */
#include "os/net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "os/environment.h"

#define NET_UNIX "unix:"
#define NET_FD   "fd:"
#define NET_SYSTEMD "systemd:"
#define NET_PASSED 3 /* the first descriptor that is passed */
#define NET_HOST_MAX 64
/* How often a folder's lock is asked for, and how long lies between. */
#define NET_TURNS   250
#define NET_TURN_NS 2000000

bool axo__net_unblock(int fd)
{
    int flags = fcntl(fd, F_GETFL);
    return flags >= 0 && ((flags & O_NONBLOCK) != 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0);
}

/* -1: it is no socket. */
static int net_option(int fd, int name)
{
    int value = 0;
    socklen_t size = sizeof value;
    return getsockopt(fd, SOL_SOCKET, name, &value, &size) == 0 ? value : -1;
}

axo__net_kind axo__net_kind_of(int fd)
{
    if (net_option(fd, SO_PROTOCOL) == IPPROTO_TCP)
        return AXO__NET_TCP;
    if (net_option(fd, SO_DOMAIN) == AF_UNIX && net_option(fd, SO_TYPE) == SOCK_STREAM)
        return AXO__NET_UNIX;
    return AXO__NET_OTHER;
}

/* Of the call that has just failed. */
static int64_t net_failed(int *error)
{
    if (errno == EAGAIN) /* Linux: EWOULDBLOCK is the same */
        return AXO__NET_BLOCKED;
    *error = errno;
    return AXO__NET_FAILED;
}

/* recvmsg says what read does not: that descriptors, or a writer's credentials, were behind the
 * bytes (MSG_CTRUNC, as there is no room for them). Those are where a read of a unix socket stops
 * (unix(7)). What is not taken is closed, by either call. */
static ssize_t net_read_unix(int fd, void *to, size_t size, bool *cut)
{
    struct iovec part = {.iov_base = to, .iov_len = size};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    ssize_t got = recvmsg(fd, &message, 0);
    *cut = got > 0 && (message.msg_flags & MSG_CTRUNC) != 0;
    return got;
}

int64_t axo__net_read(int fd, axo__net_kind kind, void *to, size_t size, bool *more, int *error)
{
    ssize_t got;
    bool cut = false;
    do {
        got = kind == AXO__NET_UNIX ? net_read_unix(fd, to, size, &cut) : read(fd, to, size);
    } while (got < 0 && errno == EINTR);
    *more = got == (ssize_t)size || cut;
    return got >= 0 ? (int64_t)got : net_failed(error);
}

/* What is no socket knows no MSG_NOSIGNAL. A SIGPIPE that was pending before stays so; one that
 * this write has raised is taken, in this thread, to which it was sent. */
static ssize_t net_write_plain(int fd, const struct iovec *parts, uint32_t count)
{
    const struct timespec now = {.tv_sec = 0};
    sigset_t pipes;
    sigset_t before;
    sigset_t pending;
    (void)sigemptyset(&pipes);
    (void)sigaddset(&pipes, SIGPIPE);
    (void)pthread_sigmask(SIG_BLOCK, &pipes, &before);
    bool was = sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE) == 1;
    ssize_t went = writev(fd, parts, (int)count);
    int error = errno;
    if (went < 0 && error == EPIPE && !was)
        (void)sigtimedwait(&pipes, NULL, &now);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return went;
}

int64_t axo__net_write(int fd, const axo__net_piece *pieces, uint32_t count, int *error)
{
    struct iovec parts[AXO__NET_PIECES];
    ssize_t went;
    for (uint32_t i = 0; i < count; i++) {
        void *data;
        memcpy(&data, &pieces[i].data, sizeof data); /* iovec is not const */
        parts[i] = (struct iovec){.iov_base = data, .iov_len = pieces[i].size};
    }
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = count};
    do {
        went = sendmsg(fd, &message, MSG_NOSIGNAL);
        if (went < 0 && errno == ENOTSOCK)
            went = net_write_plain(fd, parts, count);
    } while (went < 0 && errno == EINTR);
    return went >= 0 ? (int64_t)went : net_failed(error);
}

bool axo__net_end(int fd)
{
    return shutdown(fd, SHUT_WR) == 0 || errno != ENOTSOCK;
}

bool axo__net_break(int fd)
{
    return shutdown(fd, SHUT_RDWR) == 0 || errno != ENOTSOCK;
}

int axo__net_error(int fd)
{
    int error = 0;
    socklen_t size = sizeof error;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : 0;
}

void axo__net_close(int fd)
{
    (void)close(fd);
}

/* ---- addresses ---- */

typedef union net_address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    struct sockaddr_un path;
    struct sockaddr_storage all;
} net_address;

/* 0..most, the whole text; -1: it is no number. */
static int net_number(const char *text, long most)
{
    char *end = NULL;
    if (text[0] < '0' || text[0] > '9')
        return -1;
    long number = strtol(text, &end, 10);
    return *end == 0 && number <= most ? (int)number : -1;
}

static socklen_t net_parse_path(const char *path, net_address *out)
{
    size_t length = strlen(path);
    if (length == 0 || length >= sizeof out->path.sun_path)
        return 0;
    out->path.sun_family = AF_UNIX;
    memcpy(out->path.sun_path, path, length + 1);
    if (path[0] != '@')
        return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + 1);
    out->path.sun_path[0] = 0; /* Linux: a name that is in no file system */
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
}

/* "127.0.0.1:80", "[::1]:80"; 0: it is none. */
static socklen_t net_parse(const char *text, net_address *out)
{
    char host[NET_HOST_MAX];
    memset(out, 0, sizeof *out);
    if (strncmp(text, NET_UNIX, sizeof NET_UNIX - 1) == 0)
        return net_parse_path(text + sizeof NET_UNIX - 1, out);
    const char *colon = strrchr(text, ':');
    int port = colon != NULL ? net_number(colon + 1, UINT16_MAX) : -1;
    size_t length = colon != NULL ? (size_t)(colon - text) : 0;
    if (port < 0 || length < 3 || length >= sizeof host)
        return 0;
    memcpy(host, text, length);
    host[length] = 0;
    if (host[0] == '[' && host[length - 1] == ']') {
        host[length - 1] = 0;
        out->v6.sin6_family = AF_INET6;
        out->v6.sin6_port = htons((uint16_t)port);
        return inet_pton(AF_INET6, host + 1, &out->v6.sin6_addr) == 1 ? sizeof out->v6 : 0;
    }
    out->v4.sin_family = AF_INET;
    out->v4.sin_port = htons((uint16_t)port);
    return inet_pton(AF_INET, host, &out->v4.sin_addr) == 1 ? sizeof out->v4 : 0;
}

/* ---- paths ---- */

/* The folder of a path, locked for its holder; -1: it cannot be, or others have it for too long. */
static int net_lock(const char *path)
{
    const struct timespec wait = {.tv_nsec = NET_TURN_NS};
    char folder[sizeof ((struct sockaddr_un *)0)->sun_path + 1] = ".";
    const char *slash = strrchr(path, '/');
    if (slash != NULL)
        (void)snprintf(folder, sizeof folder, "%.*s", (int)(slash - path) + 1, path);
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (uint32_t i = 0; fd >= 0 && i < NET_TURNS; i++) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0)
            return fd;
        if (errno != EWOULDBLOCK)
            break;
        (void)nanosleep(&wait, NULL);
    }
    if (fd >= 0)
        (void)close(fd);
    return -1;
}

/* A child of a fork meanwhile has a copy of the descriptor, but not of the lock. errno is the
 * caller's. */
static void net_unlock(int lock)
{
    int kept = errno;
    if (lock >= 0) {
        (void)flock(lock, LOCK_UN);
        (void)close(lock);
    }
    errno = kept;
}

static axo__net_file net_file(const char *path)
{
    struct stat what;
    if (lstat(path, &what) != 0)
        return (axo__net_file){0};
    return (axo__net_file){.device = what.st_dev, .number = what.st_ino};
}

/* A path whose listener is gone is in the way of the next one: nobody answers there. */
static void net_clear_path(const net_address *address, socklen_t length)
{
    struct stat what;
    if (lstat(address->path.sun_path, &what) != 0 || !S_ISSOCK(what.st_mode))
        return;
    int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (probe < 0)
        return;
    if (connect(probe, &address->any, length) != 0 && errno == ECONNREFUSED)
        (void)unlink(address->path.sun_path);
    (void)close(probe);
}

static bool net_open(int fd, const net_address *address, socklen_t length, int backlog)
{
    return bind(fd, &address->any, length) == 0 && listen(fd, backlog) == 0;
}

static bool net_open_path(int fd, const net_address *address, socklen_t length, int backlog,
                          axo__net_file *file)
{
    const char *path = address->path.sun_path;
    int lock = net_lock(path);
    net_clear_path(address, length);
    bool bound = bind(fd, &address->any, length) == 0;
    if (bound)
        *file = net_file(path);
    bool done = bound && listen(fd, backlog) == 0;
    net_unlock(lock);
    return done;
}

static bool net_bind(int fd, const net_address *address, socklen_t length, uint32_t backlog,
                     axo__net_file *file)
{
    const int on = 1;
    const int most = backlog < INT32_MAX ? (int)backlog : INT32_MAX;
    if (address->any.sa_family == AF_INET6)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    if (address->any.sa_family != AF_UNIX)
        (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    else if (address->path.sun_path[0] != 0)
        return net_open_path(fd, address, length, most, file);
    return net_open(fd, address, length, most);
}

/* ---- descriptors that are passed ---- */

/* A descriptor that was inherited is left open for the next instance: this one has a copy. */
static int net_inherited(int fd, int *error)
{
    int listens = 0;
    socklen_t size = sizeof listens;
    int copy = -1;
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0)
        *error = errno;
    else if (listens == 0)
        *error = EINVAL;
    else if ((copy = fcntl(fd, F_DUPFD_CLOEXEC, 0)) < 0)
        *error = errno;
    if (copy >= 0)
        (void)axo__net_unblock(copy);
    return copy;
}

/* Programs that this process starts get none of them, whoever asks for which. */
static void net_keep(int count)
{
    for (int fd = NET_PASSED; fd < NET_PASSED + count; fd++) {
        int flags = fcntl(fd, F_GETFD);
        if (flags >= 0)
            (void)fcntl(fd, F_SETFD, flags | FD_CLOEXEC);
    }
}

/* As of systemd's socket activation: LISTEN_PID says to which process they were passed. -1: none of
 * that name; "": the first. */
static int net_passed(const char *name)
{
    const char *pid = axo__os_environment("LISTEN_PID");
    const char *count = axo__os_environment("LISTEN_FDS");
    const char *names = axo__os_environment("LISTEN_FDNAMES");
    const int all = count != NULL ? net_number(count, INT16_MAX) : -1;
    if (pid == NULL || net_number(pid, INT32_MAX) != (int)getpid())
        return -1;
    net_keep(all);
    if (name[0] == 0)
        return all > 0 ? NET_PASSED : -1;
    for (int i = 0; i < all && names != NULL; i++) {
        size_t length = strcspn(names, ":");
        if (length == strlen(name) && memcmp(names, name, length) == 0)
            return NET_PASSED + i;
        names = names[length] == ':' ? names + length + 1 : NULL;
    }
    return -1;
}

void axo__net_unlink(const char *address, axo__net_file *file)
{
    const char *path = address + sizeof NET_UNIX - 1;
    if (file->number == 0)
        return;
    int lock = net_lock(path);
    const axo__net_file now = net_file(path);
    if (now.device == file->device && now.number == file->number)
        (void)unlink(path);
    net_unlock(lock);
    *file = (axo__net_file){0};
}

int axo__net_listen(const char *address, uint32_t backlog, axo__net_file *file, int *error)
{
    net_address where;
    *error = 0;
    *file = (axo__net_file){0};
    if (strncmp(address, NET_FD, sizeof NET_FD - 1) == 0) {
        int fd = net_number(address + sizeof NET_FD - 1, INT32_MAX);
        return fd >= 0 ? net_inherited(fd, error) : -1;
    }
    if (strncmp(address, NET_SYSTEMD, sizeof NET_SYSTEMD - 1) == 0) {
        int fd = net_passed(address + sizeof NET_SYSTEMD - 1);
        *error = ENOENT;
        return fd >= 0 ? net_inherited(fd, error) : -1;
    }
    socklen_t length = net_parse(address, &where);
    if (length == 0)
        return -1;
    int fd = socket(where.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && net_bind(fd, &where, length, backlog, file))
        return fd;
    *error = errno;
    axo__net_unlink(address, file);
    if (fd >= 0)
        (void)close(fd);
    return -1;
}

int axo__net_accept(int fd, int *error)
{
    const int on = 1;
    int got;
    *error = 0;
    do {
        got = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    } while (got < 0 && (errno == EINTR || errno == ECONNABORTED));
    if (got < 0 && errno != EAGAIN)
        *error = errno;
    if (got >= 0) /* what is written is gathered already; a unix socket has no such delay */
        (void)setsockopt(got, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return got;
}

bool axo__net_is_short(int error)
{
    return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

bool axo__net_is_passing(int error)
{
    return error == ECONNABORTED || error == EPROTO || error == ENOPROTOOPT || error == EPERM ||
           error == ENETDOWN || error == ENETUNREACH || error == EHOSTDOWN ||
           error == EHOSTUNREACH || error == EOPNOTSUPP || error == ETIMEDOUT || error == ENONET;
}

void axo__net_name(int fd, bool peer, char *out, size_t size)
{
    net_address name;
    char host[INET6_ADDRSTRLEN];
    socklen_t length = sizeof name;
    out[0] = 0;
    memset(&name, 0, sizeof name);
    if ((peer ? getpeername(fd, &name.any, &length) : getsockname(fd, &name.any, &length)) != 0)
        return;
    if (name.any.sa_family == AF_INET &&
        inet_ntop(AF_INET, &name.v4.sin_addr, host, sizeof host) != NULL)
        (void)snprintf(out, size, "%s:%u", host, ntohs(name.v4.sin_port));
    else if (name.any.sa_family == AF_INET6 &&
             inet_ntop(AF_INET6, &name.v6.sin6_addr, host, sizeof host) != NULL)
        (void)snprintf(out, size, "[%s]:%u", host, ntohs(name.v6.sin6_port));
    else if (name.any.sa_family == AF_UNIX && length > offsetof(struct sockaddr_un, sun_path))
        (void)snprintf(out, size, NET_UNIX "%s%s", name.path.sun_path[0] == 0 ? "@" : "",
                       name.path.sun_path + (name.path.sun_path[0] == 0));
}
