/* zygote.c - the zygote: one thread that forks processes, keeps some ready, and tells of their
 * ends.
 *
 * A process that it forks, a spare or one that is wanted at once, waits at a socket of its own for
 * its job, says that it has taken it, and begins. One that dies before it says so has run nothing:
 * its job is given to another. From then on nothing that it says is listened to, and how it ended
 * the operating system tells.
 *
 * Nobody outlives his parent: the kernel kills the zygote with the thread of the host that has
 * started it, and its processes with the zygote. When the host closes its socket the zygote kills
 * and reaps its processes, so that there is no zombie, and ends.
 */
#include "zygote.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "wire.h"

/* A process that was forked. */
typedef struct zygote_one {
    pid_t pid;      /* 0: the place is free */
    int socket;     /* to it, until it has taken its job; -1 */
    int life;       /* of its job; -1: a spare, or nobody wants it any more */
    int share;      /* the job, until it is taken; -1 */
    int wake;
} zygote_one;

typedef struct zygote {
    const axo_class *const *classes;
    uint32_t class_count;
    uint32_t spares;
    int control;
    int signals;
    zygote_one *all;
    size_t room;
    struct pollfd *polled;
    int64_t fill_at; /* when it forks the spares that it lacks; 0: it lacks none */
    sigset_t before; /* signals that are blocked in what is forked */
} zygote;

/* A spare's job comes first, and what its host has to do for it: the next spare is forked so long
 * after; and so long after one that could not be. */
#define ZYGOTE_REST_NS  INT64_C(3000000)
#define ZYGOTE_AGAIN_NS INT64_C(300000000)

static _Noreturn void zygote_die(const char *what)
{
    (void)fprintf(stderr, "axo zygote: %s: %s\n", what, strerror(errno));
    _exit(127);
}

static void zygote_close(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
}

/* ---- the forked side ---- */

/* Keeps `socket` and what a program begins with, and nothing of the zygote's. */
static void zygote_keep_only(int socket)
{
    if (socket > 3)
        (void)syscall(SYS_close_range, 3U, (unsigned)socket - 1, 0U);
    (void)syscall(SYS_close_range, (unsigned)socket + 1, ~0U, 0U);
}

static _Noreturn void zygote_child(const zygote *z, int socket, pid_t parent)
{
    process_job job;
    int fds[PROCESS_FDS];
    size_t count = PROCESS_FDS;
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
        _exit(127);
    if (getppid() != parent)
        _exit(0);
    zygote_keep_only(socket);
    (void)sigprocmask(SIG_SETMASK, &z->before, NULL);
    process_child_prepare(z->classes, z->class_count);
    ssize_t got = process_wire_receive(socket, &job, sizeof job, fds, &count, 0);
    if (got != (ssize_t)sizeof job || count != 2)
        _exit(0); /* the zygote has gone */
    if (process_wire_send(socket, "t", 1, NULL, 0) != 0)
        _exit(0);
    (void)close(socket);
    process_child_run(fds[PROCESS_FD_SHARE], fds[PROCESS_FD_WAKE]);
}

/* ---- the zygote ---- */

static zygote_one *zygote_place(zygote *z)
{
    for (size_t i = 0; i < z->room; i++) {
        if (z->all[i].pid == 0)
            return &z->all[i];
    }
    size_t room = z->room * 2 + 16;
    zygote_one *all = realloc(z->all, room * sizeof *all);
    if (all == NULL)
        return NULL;
    z->all = all;
    struct pollfd *polled = realloc(z->polled, (2 * room + 2) * sizeof *polled);
    if (polled == NULL)
        return NULL;
    z->polled = polled;
    memset(z->all + z->room, 0, (room - z->room) * sizeof *all);
    zygote_one *first = &z->all[z->room];
    z->room = room;
    return first;
}

/* Forks a process that waits for a job; NULL and errno. */
static zygote_one *zygote_fork(zygote *z)
{
    int pair[2];
    zygote_one *one = zygote_place(z);
    if (one == NULL || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return NULL;
    pid_t self = getpid();
    pid_t pid = fork();
    if (pid == 0)
        zygote_child(z, pair[1], self);
    (void)close(pair[1]);
    if (pid < 0) {
        (void)close(pair[0]);
        return NULL;
    }
    *one = (zygote_one){.pid = pid, .socket = pair[0], .life = -1, .share = -1, .wake = -1};
    return one;
}

static bool zygote_is_spare(const zygote_one *one)
{
    return one->pid != 0 && one->socket >= 0 && one->life < 0 && one->share < 0;
}

static uint32_t zygote_lacks(const zygote *z)
{
    uint32_t spares = 0;
    for (size_t i = 0; i < z->room; i++)
        spares += zygote_is_spare(&z->all[i]) ? 1 : 0;
    return spares < z->spares ? z->spares - spares : 0;
}

/* false: some could not be forked. */
static bool zygote_fill(zygote *z)
{
    uint32_t lacks = zygote_lacks(z);
    while (lacks > 0 && zygote_fork(z) != NULL)
        lacks--;
    return lacks == 0;
}

static void zygote_fill_in_time(zygote *z)
{
    int64_t now = process_now();
    if (zygote_lacks(z) == 0)
        z->fill_at = 0;
    else if (z->fill_at == 0)
        z->fill_at = now + ZYGOTE_REST_NS;
    else if (now >= z->fill_at)
        z->fill_at = zygote_fill(z) ? 0 : now + ZYGOTE_AGAIN_NS;
}

/* Tells the host whose process it is, before that can begin: nobody is taken for one that has died
 * of a job that was given on. A pidfd stays this process's, whatever its number becomes. */
static void zygote_tell(pid_t pid, int life)
{
    const process_news news = {.what = PROCESS_IS_THERE, .pid = pid};
    int fd = (int)syscall(SYS_pidfd_open, pid, 0U);
    (void)process_wire_send(life, &news, sizeof news, &fd, fd >= 0 ? 1 : 0);
    zygote_close(&fd);
}

/* Gives a job to a spare, or to one that is forked for it. */
static bool zygote_give(zygote *z, int share, int wake, int life)
{
    const process_job job = {.magic = PROCESS_JOB_MAGIC};
    const int fds[] = {share, wake};
    for (size_t i = 0; i <= z->room; i++) {
        zygote_one *one = i < z->room ? &z->all[i] : zygote_fork(z);
        if (one == NULL || (i < z->room && !zygote_is_spare(one)))
            continue;
        zygote_tell(one->pid, life);
        if (process_wire_send(one->socket, &job, sizeof job, fds, 2) != 0)
            continue; /* a spare that has died: its end comes up */
        one->share = share;
        one->wake = wake;
        one->life = life;
        return true;
    }
    return false;
}

/* A job of which nobody can be the process: the host sees the sockets close. */
static void zygote_refuse(int share, int wake, int life)
{
    zygote_close(&share);
    zygote_close(&wake);
    zygote_close(&life);
}

static void zygote_take_job(zygote *z)
{
    process_job job;
    int fds[PROCESS_FDS];
    size_t count = PROCESS_FDS;
    ssize_t got = process_wire_receive(z->control, &job, sizeof job, fds, &count, MSG_DONTWAIT);
    if (got != (ssize_t)sizeof job || count != PROCESS_FDS || job.magic != PROCESS_JOB_MAGIC) {
        while (got > 0 && count > 0)
            (void)close(fds[--count]);
        return;
    }
    if (!zygote_give(z, fds[PROCESS_FD_SHARE], fds[PROCESS_FD_WAKE], fds[PROCESS_FD_LIFE]))
        zygote_refuse(fds[PROCESS_FD_SHARE], fds[PROCESS_FD_WAKE], fds[PROCESS_FD_LIFE]);
}

/* The process has said that it has taken its job, or has died. */
static void zygote_look_taken(zygote_one *one)
{
    char said;
    size_t none = 0;
    if (process_wire_receive(one->socket, &said, 1, NULL, &none, MSG_DONTWAIT) != 1)
        return;
    zygote_close(&one->socket);
    zygote_close(&one->share);
    zygote_close(&one->wake);
}

static void zygote_bury(zygote *z, zygote_one *one, int status)
{
    const process_news news = {.what = PROCESS_HAS_ENDED, .status = status};
    if (one->socket >= 0 && one->share >= 0)
        zygote_look_taken(one);
    zygote_one gone = *one;
    *one = (zygote_one){.pid = 0};
    if (gone.socket >= 0)
        (void)close(gone.socket);
    if (gone.share >= 0 && gone.life >= 0) { /* it has not begun */
        if (!zygote_give(z, gone.share, gone.wake, gone.life))
            zygote_refuse(gone.share, gone.wake, gone.life);
        return;
    }
    if (gone.life >= 0)
        (void)process_wire_send(gone.life, &news, sizeof news, NULL, 0);
    zygote_refuse(gone.share, gone.wake, gone.life);
}

static void zygote_reap(zygote *z)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        for (size_t i = 0; i < z->room; i++) {
            if (z->all[i].pid == pid) {
                zygote_bury(z, &z->all[i], status);
                break;
            }
        }
    }
}

/* The host has closed its end: it wants the process no more. */
static void zygote_abandon(zygote_one *one)
{
    (void)kill(one->pid, SIGKILL);
    zygote_close(&one->life);
}

static _Noreturn void zygote_end(zygote *z)
{
    for (size_t i = 0; i < z->room; i++) {
        if (z->all[i].pid != 0)
            (void)kill(z->all[i].pid, SIGKILL);
    }
    while (waitpid(-1, NULL, 0) > 0 || errno == EINTR) {
    }
    _exit(0);
}

/* Milliseconds until it has to do something by itself; -1: it has not. */
static int zygote_timeout(const zygote *z)
{
    int64_t left = z->fill_at - process_now();
    if (z->fill_at == 0)
        return -1;
    return left > 0 ? (int)((left + 999999) / 1000000) : 0;
}

static void zygote_wait(zygote *z)
{
    nfds_t count = 0;
    z->polled[count++] = (struct pollfd){.fd = z->control, .events = POLLIN};
    z->polled[count++] = (struct pollfd){.fd = z->signals, .events = POLLIN};
    for (size_t i = 0; i < z->room; i++) {
        bool taking = z->all[i].pid != 0 && z->all[i].share >= 0;
        bool living = z->all[i].pid != 0 && z->all[i].life >= 0;
        z->polled[count++] =
            (struct pollfd){.fd = taking ? z->all[i].socket : -1, .events = POLLIN};
        z->polled[count++] = (struct pollfd){.fd = living ? z->all[i].life : -1};
    }
    if (poll(z->polled, count, zygote_timeout(z)) < 0 && errno != EINTR)
        zygote_die("poll");
}

/* What poll has found is looked at first: places may change hands behind it. */
static void zygote_turn(zygote *z)
{
    struct signalfd_siginfo signals[8];
    zygote_wait(z);
    for (size_t i = 0; i < z->room; i++) {
        if ((z->polled[2 + 2 * i].revents & POLLIN) != 0)
            zygote_look_taken(&z->all[i]);
        if ((z->polled[3 + 2 * i].revents & (POLLHUP | POLLERR)) != 0)
            zygote_abandon(&z->all[i]);
    }
    if (z->polled[1].revents != 0)
        (void)!read(z->signals, signals, sizeof signals);
    bool asked = (z->polled[0].revents & POLLIN) != 0;
    bool gone = (z->polled[0].revents & (POLLHUP | POLLERR)) != 0;
    zygote_reap(z);
    if (gone)
        zygote_end(z);
    if (asked)
        zygote_take_job(z);
    zygote_fill_in_time(z);
}

/* PDEATHSIG is of the thread that has started it, which lives as long as it is wanted. */
static void zygote_bind(const process_zygote_order *order)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
        zygote_die("PR_SET_PDEATHSIG");
    if (getppid() != (pid_t)order->parent)
        _exit(0);
    (void)prctl(PR_SET_NAME, "axo/zygote");
    (void)syscall(SYS_close_range, PROCESS_ZYGOTE_SOCKET + 1, ~0U, 0U);
}

_Noreturn void process_zygote_run(const process_zygote_order *order,
                                  const axo_class *const *classes, uint32_t count)
{
    zygote z = {.classes = classes, .class_count = count, .spares = order->spares,
                .control = PROCESS_ZYGOTE_SOCKET};
    sigset_t blocked;
    zygote_bind(order);
    (void)sigemptyset(&blocked);
    (void)sigaddset(&blocked, SIGCHLD);
    (void)sigprocmask(SIG_BLOCK, &blocked, &z.before);
    z.signals = signalfd(-1, &blocked, SFD_CLOEXEC | SFD_NONBLOCK);
    if (z.signals < 0 || zygote_place(&z) == NULL)
        zygote_die("no memory");
    z.fill_at = zygote_fill(&z) ? 0 : process_now() + ZYGOTE_AGAIN_NS;
    if (process_wire_send(z.control, "r", 1, NULL, 0) != 0)
        _exit(0);
    for (;;)
        zygote_turn(&z);
}
