/* crash.c - what a crash of a server costs those who ask it: the time from the line that it crashes
 * at to the first answer of a new connection, and how many of the connections that were open still
 * answer.
 *
 *   crash --server axo:PATH     PATH is test/example/crashy_server: the actor's crash is contained
 *   crash --server restart      a supervisor holds the listener and starts the server anew at once
 *                               when it has ended, as systemd with a socket and RestartSec=0
 *   crash --server prefork      a master and two workers on one listener, as nginx's; a worker that
 *                               has ended is forked anew
 *         --rounds 200          crashes, after a tenth as many to warm up
 *   crash serve FD              the server that is started anew, on the listener of that number
 *   crash port                  the program behind an Erlang port
 *
 * A server says lines back, and "null" is a write to null. All is on the loopback address of this
 * machine. The processes are plain C with poll, which have nothing to load again: these are the
 * least times that such a server takes, and what a real one reads when it starts comes on top. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { OTHERS = 16, CONNECTIONS = 64, LINE = 64, WORKERS = 2 };

static int *volatile nothing;

static void refuse(const char *what)
{
    perror(what);
    exit(1);
}

static int64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

/* ---- the servers ---- */

/* Says what it has read back. false: the connection is over. */
static bool serve_line(int fd)
{
    char line[LINE + 1];
    ssize_t got = read(fd, line, LINE);
    if (got <= 0)
        return false;
    line[got] = '\0';
    if (strcmp(line, "null\n") == 0)
        *nothing = 1;
    return write(fd, line, (size_t)got) == got;
}

static void serve(int listener)
{
    struct pollfd all[CONNECTIONS] = {{.fd = listener, .events = POLLIN}};
    nfds_t count = 1;
    for (;;) {
        if (poll(all, count, -1) < 0)
            refuse("poll");
        for (nfds_t i = count; i-- > 1;) {
            if (all[i].revents == 0 || serve_line(all[i].fd))
                continue;
            close(all[i].fd);
            all[i] = all[--count];
        }
        if (all[0].revents == 0 || count == CONNECTIONS)
            continue;
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd >= 0) /* else another worker was sooner */
            all[count++] = (struct pollfd){.fd = fd, .events = POLLIN};
    }
}

/* Without core dumps, whose writing would be measured; it ends with who has started it. */
static void serve_begin(void)
{
    struct rlimit none = {0, 0};
    if (setrlimit(RLIMIT_CORE, &none) != 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
        refuse("serve");
}

static pid_t start_again(int listener, bool exec)
{
    pid_t child = fork();
    if (child < 0)
        refuse("fork");
    if (child > 0)
        return child;
    char number[16];
    (void)snprintf(number, sizeof number, "%d", listener);
    if (exec) {
        execl("/proc/self/exe", "crash", "serve", number, (char *)NULL);
        refuse("exec");
    }
    serve_begin();
    serve(listener);
    return 0;
}

/* The parent of the servers, a process of its own: the client is not delayed by it. */
static void supervise(int listener, uint32_t servers, bool exec)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
        refuse("prctl");
    for (uint32_t i = 0; i < servers; i++)
        (void)start_again(listener, exec);
    for (;;) {
        if (waitpid(-1, NULL, 0) < 0)
            refuse("waitpid");
        (void)start_again(listener, exec);
    }
}

/* Prints what it reads, as an Erlang port: a length in one byte, and the text. */
static void port(void)
{
    unsigned char text[256];
    serve_begin();
    while (read(0, text, 1) == 1) {
        if (read(0, text + 1, text[0]) != text[0])
            return;
        if (text[0] == 4 && memcmp(text + 1, "null", 4) == 0)
            *nothing = 1;
        if (write(1, text, text[0] + 1u) != text[0] + 1)
            return;
    }
}

/* ---- the client ---- */

static int listen_anywhere(struct sockaddr_in *at)
{
    socklen_t size = sizeof *at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    *at = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (fd < 0 || bind(fd, (struct sockaddr *)at, size) != 0 || listen(fd, 128) != 0 ||
        getsockname(fd, (struct sockaddr *)at, &size) != 0)
        refuse("listen");
    return fd;
}

/* A connection; -1: nobody takes it. A minute's silence is an error. */
static int ask_connect(const struct sockaddr_in *at)
{
    const struct timeval wait = {.tv_sec = 60};
    const struct linger reset = {.l_onoff = 1}; /* leaves no port in TIME_WAIT */
    const int on = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait) != 0 ||
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset) != 0 ||
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0)
        refuse("socket");
    if (connect(fd, (const struct sockaddr *)at, sizeof *at) == 0)
        return fd;
    close(fd);
    return -1;
}

/* Whether the connection says the line back. */
static bool ask(int fd, uint64_t number)
{
    char line[LINE], back[LINE];
    int size = snprintf(line, sizeof line, "%llu\n", (unsigned long long)number);
    if (send(fd, line, (size_t)size, MSG_NOSIGNAL) != size)
        return false;
    int got = 0;
    while (got < size) {
        ssize_t more = read(fd, back + got, sizeof back - (size_t)got);
        if (more < 0 && errno == EAGAIN)
            refuse("an answer");
        if (more <= 0)
            return false;
        got += (int)more;
    }
    return got == size && memcmp(line, back, (size_t)size) == 0;
}

/* Connects and asks until there is an answer. */
static int ask_until_answered(const struct sockaddr_in *at, uint64_t number)
{
    int64_t end = now_ns() + INT64_C(60000000000);
    while (now_ns() < end) {
        int fd = ask_connect(at);
        if (fd >= 0 && ask(fd, number))
            return fd;
        if (fd >= 0)
            close(fd);
    }
    fprintf(stderr, "crash: no answer within a minute\n");
    exit(1);
}

/* A port that is free now is the server's. */
static pid_t start_axo(const char *path, struct sockaddr_in *at)
{
    char address[32];
    close(listen_anywhere(at));
    (void)snprintf(address, sizeof address, "127.0.0.1:%u", ntohs(at->sin_port));
    pid_t child = fork();
    if (child < 0)
        refuse("fork");
    if (child > 0)
        return child;
    int none = open("/dev/null", O_WRONLY);
    (void)dup2(none, 1);
    (void)dup2(none, 2); /* a line a crash */
    serve_begin();
    execl(path, path, address, (char *)NULL);
    _exit(1);
}

static pid_t start_supervised(const char *how, struct sockaddr_in *at)
{
    int listener = listen_anywhere(at);
    bool exec = strcmp(how, "restart") == 0;
    pid_t child = fork();
    if (child < 0)
        refuse("fork");
    if (child == 0)
        supervise(listener, exec ? 1 : WORKERS, exec);
    close(listener);
    return child;
}

/* One crash: nanoseconds to the first answer, and how many of the others still answer. */
static int64_t crash_once(const struct sockaddr_in *at, uint64_t round, uint32_t *kept)
{
    int others[OTHERS];
    for (uint32_t i = 0; i < OTHERS; i++)
        others[i] = ask_until_answered(at, i);
    int doomed = ask_until_answered(at, round);
    int64_t begin = now_ns();
    if (send(doomed, "null\n", 5, MSG_NOSIGNAL) != 5)
        refuse("send");
    char rest;
    while (read(doomed, &rest, 1) > 0) /* to its end: what answers now has not crashed yet */
        ;
    int fresh = ask_until_answered(at, round + 1);
    int64_t took = now_ns() - begin;
    for (uint32_t i = 0; i < OTHERS; i++) {
        *kept += ask(others[i], round + i);
        close(others[i]);
    }
    close(doomed);
    close(fresh);
    return took;
}

static int compare(const void *one, const void *other)
{
    int64_t a = *(const int64_t *)one, b = *(const int64_t *)other;
    return (a > b) - (a < b);
}

static void report(const char *how, int64_t *took, uint32_t rounds, uint32_t kept)
{
    qsort(took, rounds, sizeof *took, compare);
    int name = (int)strcspn(how, ":");
    printf("{\"bench\": \"crash\", \"server\": \"%.*s\", \"crashes\": %u, \"unit\": \"ns\", "
           "\"median\": %lld, \"min\": %lld, \"p99\": %lld, \"max\": %lld, \"kept\": %.3f}\n",
           name, how, rounds, (long long)took[rounds / 2], (long long)took[0],
           (long long)took[rounds * 99 / 100], (long long)took[rounds - 1],
           (double)kept / OTHERS / rounds);
}

static void measure(const char *how, uint32_t rounds)
{
    struct sockaddr_in at;
    uint32_t kept = 0;
    int64_t *took = calloc(rounds, sizeof *took);
    pid_t server = strncmp(how, "axo:", 4) == 0 ? start_axo(how + 4, &at) :
                                                  start_supervised(how, &at);
    for (uint32_t i = 0; i < rounds / 10; i++)
        (void)crash_once(&at, i, &kept);
    kept = 0;
    for (uint32_t i = 0; i < rounds; i++)
        took[i] = crash_once(&at, i, &kept);
    report(how, took, rounds, kept);
    free(took);
    kill(server, SIGKILL);
    (void)waitpid(server, NULL, 0);
}

int main(int argc, char **argv)
{
    const char *how = NULL;
    uint32_t rounds = 200;
    if (argc == 3 && strcmp(argv[1], "serve") == 0) {
        serve_begin();
        serve(atoi(argv[2]));
    }
    if (argc == 2 && strcmp(argv[1], "port") == 0) {
        port();
        return 0;
    }
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--server") == 0)
            how = argv[i + 1];
        if (strcmp(argv[i], "--rounds") == 0)
            rounds = (uint32_t)strtoul(argv[i + 1], NULL, 10);
    }
    bool known = how != NULL && (strncmp(how, "axo:", 4) == 0 || strcmp(how, "restart") == 0 ||
                                 strcmp(how, "prefork") == 0);
    if (!known || rounds == 0 || argc % 2 == 0) {
        fprintf(stderr, "crash --server axo:PATH | restart | prefork [--rounds 200]\n");
        return 2;
    }
    measure(how, rounds);
    return 0;
}
