/* out.c - what sinks of the log write to: descriptors, and sockets for datagrams. The simulator's
 * port has it too, since nothing of a run depends on it.
 *
 * The program's errno stays as it was, and no call is a cancellation point. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/assert.h"
#include "os/os.h"

AXO_STATIC_ASSERT(sizeof((struct sockaddr_un *)0)->sun_path == AXO__OS_SOCKET_PATH, "of a socket");

/* A signal may come before the first byte; a part that was taken is not completed, since another
 * thread's line may lie behind it by then. */
bool axo__os_write(int fd, const void *bytes, size_t count)
{
    int error = errno;
    int before = axo__os_cancel_hold();
    ssize_t written;
    do
        written = write(fd, bytes, count);
    while (written < 0 && errno == EINTR);
    axo__os_cancel_let(before);
    errno = error;
    return written >= 0 && (size_t)written == count;
}

int axo__os_datagram_open(void)
{
    int error = errno;
    int made = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    errno = error;
    return made;
}

bool axo__os_datagram_send(int socket, const char *path, const void *bytes, size_t count)
{
    int error = errno;
    int before = axo__os_cancel_hold();
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    size_t length = strlen(path);
    AXO_DEBUG_ASSERT(length < sizeof to.sun_path);
    memcpy(to.sun_path, path, length);
    ssize_t sent;
    do
        sent = sendto(socket, bytes, count, MSG_DONTWAIT | MSG_NOSIGNAL,
                      (const struct sockaddr *)(const void *)&to, sizeof to);
    while (sent < 0 && errno == EINTR);
    axo__os_cancel_let(before);
    errno = error;
    return sent >= 0;
}

void axo__os_datagram_close(int socket)
{
    int error = errno;
    int before = axo__os_cancel_hold();
    (void)close(socket);
    axo__os_cancel_let(before);
    errno = error;
}

int64_t axo__os_process(void)
{
    return (int64_t)getpid();
}
