/* wire.c - datagrams with descriptors, and what wakes. */
#include "wire.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

typedef union wire_room {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(sizeof(int) * PROCESS_FDS)];
} wire_room;

int process_wire_send(int socket, const void *bytes, size_t size, const int *fds, size_t count)
{
    wire_room room;
    struct iovec piece = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = size};
    struct msghdr header = {.msg_iov = &piece, .msg_iovlen = 1};
    memset(&room, 0, sizeof room);
    if (count > 0) {
        header.msg_control = &room;
        header.msg_controllen = CMSG_SPACE(sizeof(int) * count);
        struct cmsghdr *control = CMSG_FIRSTHDR(&header);
        control->cmsg_level = SOL_SOCKET;
        control->cmsg_type = SCM_RIGHTS;
        control->cmsg_len = CMSG_LEN(sizeof(int) * count);
        memcpy(CMSG_DATA(control), fds, sizeof(int) * count);
    }
    ssize_t sent;
    do
        sent = sendmsg(socket, &header, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (sent < 0 && errno == EINTR);
    return sent < 0 ? errno : 0;
}

static void wire_take(const struct cmsghdr *control, int *fds, size_t room, size_t *count)
{
    size_t came = (control->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < came; i++) {
        int fd;
        memcpy(&fd, CMSG_DATA(control) + i * sizeof fd, sizeof fd);
        if (*count < room)
            fds[(*count)++] = fd;
        else
            (void)close(fd);
    }
}

ssize_t process_wire_receive(int socket, void *bytes, size_t size, int *fds, size_t *count,
                             int flags)
{
    wire_room room;
    struct iovec piece = {.iov_base = bytes, .iov_len = size};
    struct msghdr header = {.msg_iov = &piece, .msg_iovlen = 1, .msg_control = &room,
                            .msg_controllen = sizeof room};
    size_t wanted = *count;
    ssize_t got;
    *count = 0;
    do
        got = recvmsg(socket, &header, MSG_CMSG_CLOEXEC | flags);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return got;
    for (struct cmsghdr *it = CMSG_FIRSTHDR(&header); it != NULL; it = CMSG_NXTHDR(&header, it)) {
        if (it->cmsg_level == SOL_SOCKET && it->cmsg_type == SCM_RIGHTS)
            wire_take(it, fds, wanted, count);
    }
    return got;
}

/* A socket that is full has woken it already. */
void process_wake(int socket)
{
    ssize_t sent;
    do
        sent = send(socket, "w", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (sent < 0 && errno == EINTR);
}

bool process_wake_taken(int socket)
{
    char bytes[64];
    ssize_t got;
    do
        got = recv(socket, bytes, sizeof bytes, MSG_DONTWAIT);
    while (got < 0 && errno == EINTR);
    return got > 0 || (got < 0 && errno != ECONNRESET);
}

int64_t process_now(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}
