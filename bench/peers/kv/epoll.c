/* epoll.c - S1's floor: a server of keys and values without a runtime, as one writes it by hand.
 *
 *   epoll THREADS      prints "listening at 127.0.0.1:PORT"; SIGTERM ends it
 *
 * Each thread has a listening socket of its own at one port (SO_REUSEPORT) and its own epoll. A
 * connection stays with its thread. The keys are in 64 tables, each under a mutex; with one thread
 * nobody else takes one. The protocol's parser and the tables are kv_server's, so what differs is
 * what is around them. PING, SET, GET, CONFIG; no deadlines, no limits but of memory, no counters,
 * no end in order: less than kv_server does. */
#include <sys/epoll.h>

#include "served.h"

#define EVENTS 256

static int listeners[64];

/* ---- connections ---- */

/* false: the connection is broken. */
static bool flush(connection *it)
{
    size_t at = 0;
    while (at < it->out) {
        ssize_t went = send(it->fd, it->output + at, it->out - at, MSG_NOSIGNAL);
        if (went < 0 && errno == EINTR)
            continue;
        if (went < 0 && errno != EAGAIN)
            return false;
        if (went < 0)
            break;
        at += (size_t)went;
    }
    memmove(it->output, it->output + at, it->out - at);
    it->out -= at;
    return true;
}

/* All that is whole. false: the connection is to end. */
static bool answer(connection *it)
{
    size_t before = 0;
    while (it->in != before && it->out < OUTPUT) {
        before = it->in;
        if (!understand(it) || !flush(it))
            return false;
    }
    return true;
}

/* What waits to be written holds up what is read. */
static bool serve(connection *it)
{
    if (it->out > 0 && !flush(it))
        return false;
    while (it->out < OUTPUT) {
        it->input = grow(it->input, &it->in_room, it->in + INPUT);
        ssize_t got = recv(it->fd, it->input + it->in, INPUT, 0);
        if (got < 0 && errno == EAGAIN)
            return it->in == 0 || answer(it);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        it->in += (size_t)got;
        if (!answer(it))
            return false;
        if (got < INPUT)
            return true;
    }
    return true;
}

static void welcome(int epoll, int listener)
{
    int fd;
    while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        connection *it = begin(fd);
        struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = it};
        if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0)
            die("epoll_ctl");
    }
}

static void *loop(void *arg)
{
    int listener = *(const int *)arg;
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event events[EVENTS];
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    if (epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event) != 0)
        die("epoll");
    for (int count = 0; count >= 0 || errno == EINTR;) {
        count = epoll_wait(epoll, events, EVENTS, -1);
        for (int i = 0; i < count; i++) {
            connection *it = events[i].data.ptr;
            if (it == NULL)
                welcome(epoll, listener);
            else if (!serve(it))
                end(it);
        }
    }
    die("epoll_wait");
    return NULL;
}

int main(int argc, char **argv)
{
    int threads = argc > 1 ? atoi(argv[1]) : 1;
    uint16_t port = 0;
    if (threads < 1 || threads > 64)
        return 2;
    keys_begin();
    for (int i = 0; i < threads; i++)
        listeners[i] = listen_at(&port);
    (void)printf("listening at 127.0.0.1:%u\n", port);
    (void)fflush(stdout);
    for (int i = 1; i < threads; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, loop, &listeners[i]) != 0)
            die("pthread_create");
    }
    (void)loop(&listeners[0]);
    return 0;
}
