/* descriptors.c - runs shell commands one after the other, as a job runner does: what a command
 * writes comes through a pipe, its end by SIGCHLD, its time limit by a timerfd. All three are
 * messages to the one actor that watches them, and are closed with it. descriptors.expected is what
 * it prints. */
#define _GNU_SOURCE 1 /* pipe2, environ */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <axo/axo.h>

typedef struct job {
    char text[32];
    time_t limit_s;
    long limit_ns;
} job;

static const job jobs[] = {
    {.text = "echo one; echo two", .limit_s = 60},
    {.text = "echo three; exit 3", .limit_s = 60},
    {.text = "exec sleep 60", .limit_ns = 100000000},
};

static void must(axo_status status)
{
    if (status == AXO_OK)
        return;
    fprintf(stderr, "%s\n", axo_status_text(status));
    exit(1);
}

/* ---- a command ---- */

typedef struct command {
    job job;
    pid_t pid;   /* 0: it has ended, with `code` */
    int code;
    int child;   /* SIGCHLD */
    int limit;
    int output;  /* -1: there is no more of it */
    bool inside; /* a line */
} command;

/* The library's threads block all signals; the command shall not. */
static int command_spawn(command *it, int output)
{
    char *const words[] = {(char[]){"sh"}, (char[]){"-c"}, it->job.text, NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    sigset_t none;
    (void)sigemptyset(&none);
    if (posix_spawn_file_actions_init(&files) != 0)
        return ENOMEM;
    int error = posix_spawnattr_init(&how);
    if (error == 0) {
        (void)posix_spawnattr_setsigmask(&how, &none);
        (void)posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK);
        error = posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
        if (error == 0)
            error = posix_spawn(&it->pid, "/bin/sh", &files, &how, words, environ);
        (void)posix_spawnattr_destroy(&how);
    }
    (void)posix_spawn_file_actions_destroy(&files);
    return error;
}

/* From here on the descriptor is closed with the instance, however that ends. */
static axo_status command_watch(axo_ctx *ctx, int fd)
{
    axo_status status = axo_io_watch(ctx, fd, AXO_IO_IN, AXO_IO_OWN);
    if (status != AXO_OK && fd >= 0)
        (void)close(fd);
    return status;
}

static axo_status command_start_limit(axo_ctx *ctx, command *it)
{
    const struct itimerspec limit = {
        .it_value = {.tv_sec = it->job.limit_s, .tv_nsec = it->job.limit_ns}};
    it->limit = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    axo_status status = command_watch(ctx, it->limit);
    if (status == AXO_OK && timerfd_settime(it->limit, 0, &limit, NULL) != 0)
        return axo_fail(ctx, errno, "no time limit");
    return status;
}

static axo_status command_construct(axo_ctx *ctx, void *state, const void *args)
{
    command *it = state;
    int ends[2];
    memcpy(&it->job, args, sizeof it->job);
    printf("%s\n", it->job.text);
    axo_status status = axo_signal_watch(ctx, SIGCHLD, &it->child);
    if (status == AXO_OK)
        status = command_start_limit(ctx, it);
    if (status != AXO_OK)
        return status;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return axo_fail(ctx, errno, "no pipe");
    it->output = ends[0];
    (void)fcntl(it->output, F_SETFL, O_NONBLOCK); /* of this end; the command's may block */
    status = command_watch(ctx, it->output);
    int error = status == AXO_OK ? command_spawn(it, ends[1]) : 0;
    (void)close(ends[1]);
    return error != 0 ? axo_fail(ctx, error, "no command") : status;
}

/* Each line is moved in. At the end the pipe stays readable: who does not unwatch it is told again
 * and again. */
static axo_status command_read(axo_ctx *ctx, command *it)
{
    char bytes[256];
    ssize_t got;
    while ((got = read(it->output, bytes, sizeof bytes)) > 0) {
        for (ssize_t i = 0; i < got; i++) {
            printf("%s%c", it->inside ? "" : "  ", bytes[i]);
            it->inside = bytes[i] != '\n';
        }
    }
    if (got < 0 && errno == EAGAIN)
        return axo_io_blocked(ctx, it->output, AXO_IO_IN); /* spares a look at it */
    (void)axo_io_unwatch(ctx, it->output);
    (void)close(it->output); /* unwatched, it is ours */
    it->output = -1;
    return AXO_OK;
}

static axo_status command_late(axo_ctx *ctx, command *it)
{
    uint64_t times;
    if (read(it->limit, &times, sizeof times) != (ssize_t)sizeof times)
        return axo_io_blocked(ctx, it->limit, AXO_IO_IN);
    if (it->pid == 0)
        return AXO_OK;
    printf("  takes too long\n");
    return kill(it->pid, SIGKILL) == 0 ? AXO_OK : axo_fail(ctx, errno, "cannot be ended");
}

static axo_status command_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    command *it = state;
    axo_status status = AXO_OK;
    if (message->tag != AXO_IO_READY)
        return AXO_UNHANDLED;
    int fd = AXO_PAYLOAD(message, axo_io_ready)->fd;
    if (fd == it->output)
        status = command_read(ctx, it);
    else if (fd == it->limit)
        status = command_late(ctx, it);
    else if (axo_signal_take(ctx, it->child) > 0 && it->pid > 0 &&
             waitpid(it->pid, &it->code, WNOHANG) == it->pid)
        it->pid = 0;
    if (status != AXO_OK || it->pid != 0 || it->output >= 0)
        return status;
    if (WIFSIGNALED(it->code))
        printf("  ended by signal %d\n", WTERMSIG(it->code));
    else
        printf("  ended with %d\n", WEXITSTATUS(it->code));
    return axo_stop_self(ctx);
}

/* Stopped before its command has ended. */
static axo_status command_post_stop(axo_ctx *ctx, void *state)
{
    command *it = state;
    (void)ctx;
    if (it->pid > 0 && kill(it->pid, SIGKILL) == 0)
        (void)waitpid(it->pid, &it->code, 0);
    return AXO_OK;
}

/* ---- one after the other ---- */

static axo_status runner_next(axo_ctx *ctx, size_t *next)
{
    static const axo_class cls =
        AXO_CLASS(.name = "command", .state_size = sizeof(command), .construct = command_construct,
                  .receive = command_receive, .post_stop = command_post_stop);
    axo_ref ref;
    if (*next == sizeof jobs / sizeof jobs[0])
        return axo_system_shutdown(axo_system_of(ctx));
    axo_props props =
        AXO_PROPS(.cls = &cls, .args = &jobs[(*next)++], .args_size = sizeof jobs[0]);
    axo_status status = axo_spawn(ctx, &props, &ref);
    return status == AXO_OK ? axo_watch(ctx, ref) : status;
}

static axo_status runner_start(axo_ctx *ctx, void *state)
{
    return runner_next(ctx, state);
}

static axo_status runner_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    return message->tag == AXO_TERMINATED ? runner_next(ctx, state) : AXO_UNHANDLED;
}

int main(void)
{
    static const axo_class cls = AXO_CLASS(.name = "runner", .state_size = sizeof(size_t),
                                           .pre_start = runner_start, .receive = runner_receive);
    static const axo_props props = AXO_PROPS(.cls = &cls, .name = "runner");
    axo_system *system;
    axo_ref ref;
    must(axo_system_start(NULL, &system));
    must(axo_system_spawn(system, &props, &ref));
    must(axo_system_wait(system, -1, NULL)); /* this thread does not block SIGCHLD */
    must(axo_system_destroy(system));
    return 0;
}
