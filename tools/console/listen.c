/* listen.c - the console's listening socket: TCP by numbers, or a unix socket. */
#include "listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define LISTEN_UNIX    "unix:"
#define LISTEN_BACKLOG 64

typedef union listen_address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    struct sockaddr_un path;
    struct sockaddr_storage all;
} listen_address;

static socklen_t listen_path(const char *path, listen_address *out)
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

/* The port behind the colon; -1: it is none. */
static int listen_port(const char *text)
{
    char *end = NULL;
    if (text[0] < '0' || text[0] > '9')
        return -1;
    long number = strtol(text, &end, 10);
    return *end == 0 && number <= UINT16_MAX ? (int)number : -1;
}

/* "127.0.0.1:80", "[::1]:80", "unix:/path"; 0: it is no address. */
static socklen_t listen_parse(const char *text, listen_address *out)
{
    char host[64];
    memset(out, 0, sizeof *out);
    if (strncmp(text, LISTEN_UNIX, sizeof LISTEN_UNIX - 1) == 0)
        return listen_path(text + sizeof LISTEN_UNIX - 1, out);
    const char *colon = strrchr(text, ':');
    int port = colon != NULL ? listen_port(colon + 1) : -1;
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

static bool listen_is_loopback(const listen_address *address)
{
    if (address->any.sa_family == AF_INET)
        return (ntohl(address->v4.sin_addr.s_addr) >> 24) == 127;
    return address->any.sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&address->v6.sin6_addr);
}

/* A path whose listener is gone is in the way of the next one: nobody answers there. */
static void listen_clear(const listen_address *address, socklen_t length)
{
    struct stat what;
    if (address->any.sa_family != AF_UNIX || address->path.sun_path[0] == 0 ||
        lstat(address->path.sun_path, &what) != 0 || !S_ISSOCK(what.st_mode))
        return;
    int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (probe < 0)
        return;
    if (connect(probe, &address->any, length) != 0 && errno == ECONNREFUSED)
        (void)unlink(address->path.sun_path);
    (void)close(probe);
}

int console_listen(const char *address, bool *loopback, int *error)
{
    const int on = 1;
    listen_address parsed;
    *error = 0;
    socklen_t length = listen_parse(address, &parsed);
    if (length == 0)
        return -1;
    *loopback = listen_is_loopback(&parsed);
    int fd = socket(parsed.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        *error = errno;
        return -1;
    }
    if (parsed.any.sa_family == AF_INET6)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    if (parsed.any.sa_family != AF_UNIX)
        (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    listen_clear(&parsed, length);
    if (bind(fd, &parsed.any, length) == 0 && listen(fd, LISTEN_BACKLOG) == 0)
        return fd;
    *error = errno;
    (void)close(fd);
    return -1;
}

void console_listen_name(int fd, char *out, size_t size)
{
    listen_address own = {.all = {0}};
    char host[INET6_ADDRSTRLEN] = "";
    socklen_t length = sizeof own;
    out[0] = 0;
    if (getsockname(fd, &own.any, &length) != 0)
        return;
    if (own.any.sa_family == AF_INET &&
        inet_ntop(AF_INET, &own.v4.sin_addr, host, sizeof host) != NULL)
        (void)snprintf(out, size, "%s:%u", host, (unsigned)ntohs(own.v4.sin_port));
    else if (own.any.sa_family == AF_INET6 &&
             inet_ntop(AF_INET6, &own.v6.sin6_addr, host, sizeof host) != NULL)
        (void)snprintf(out, size, "[%s]:%u", host, (unsigned)ntohs(own.v6.sin6_port));
    else if (own.any.sa_family == AF_UNIX && own.path.sun_path[0] == 0 &&
             length > offsetof(struct sockaddr_un, sun_path))
        (void)snprintf(out, size, LISTEN_UNIX "@%.*s",
                       (int)(length - offsetof(struct sockaddr_un, sun_path) - 1),
                       own.path.sun_path + 1);
    else if (own.any.sa_family == AF_UNIX)
        (void)snprintf(out, size, LISTEN_UNIX "%.*s", (int)sizeof own.path.sun_path,
                       own.path.sun_path);
}

void console_listen_unlink(const char *address)
{
    if (strncmp(address, LISTEN_UNIX, sizeof LISTEN_UNIX - 1) == 0 &&
        address[sizeof LISTEN_UNIX - 1] != '@')
        (void)unlink(address + sizeof LISTEN_UNIX - 1);
}
