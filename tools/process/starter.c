/* starter.c - zygotes of a system: a thread for each, which starts it, waits for its end, and
 * starts it again. The thread is there as long as the zygote, since the kernel kills that with the
 * thread that has started it. The janitor frees what is left of actors that have ended. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "host.h"
#include "pattern/given.h"

/* How long a zygote that dies as soon as it is there keeps the next one waiting. */
enum { STARTER_PAUSE_MS = 50, STARTER_END_MS = 5000 };

/* ---- the zygote's process ---- */

static int starter_attributes(posix_spawnattr_t *how)
{
    sigset_t none;
    sigset_t all;
    (void)sigemptyset(&none);
    (void)sigfillset(&all);
    int error = posix_spawnattr_init(how);
    if (error != 0)
        return error;
    /* a group of its own: what a terminal sends is for the host */
    (void)posix_spawnattr_setflags(how, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                            POSIX_SPAWN_SETPGROUP);
    (void)posix_spawnattr_setsigmask(how, &none);
    (void)posix_spawnattr_setsigdefault(how, &all);
    (void)posix_spawnattr_setpgroup(how, 0);
    return 0;
}

/* Starts the program; its socket's other end is *control. */
static int starter_spawn(const axo_zygote *zygote, int *control, pid_t *pid)
{
    int pair[2];
    char argument[64];
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0)
        return errno;
    (void)snprintf(argument, sizeof argument, PROCESS_ZYGOTE_ARGUMENT "%u:%ld:%u",
                   PROCESS_VERSION, (long)getpid(), zygote->spares);
    char *const argv[] = {zygote->program, argument, NULL};
    int error = posix_spawn_file_actions_init(&files);
    if (error == 0)
        error = starter_attributes(&how);
    if (error == 0) {
        error = posix_spawn_file_actions_adddup2(&files, pair[1], PROCESS_ZYGOTE_SOCKET);
        if (error == 0)
            error = posix_spawn(pid, zygote->program, &files, &how, argv, environ);
        (void)posix_spawnattr_destroy(&how);
        (void)posix_spawn_file_actions_destroy(&files);
    }
    (void)close(pair[1]);
    if (error != 0)
        (void)close(pair[0]);
    *control = pair[0];
    return error;
}

/* Waits until the zygote says that it is there. */
static axo_status starter_greet(int control)
{
    char said;
    size_t none = 0;
    struct pollfd fd = {.fd = control, .events = POLLIN};
    int found;
    do
        found = poll(&fd, 1, (int)(AXO_PROCESS_START_NS / 1000000));
    while (found < 0 && errno == EINTR);
    if (found == 0)
        return AXO_ETIMEDOUT;
    bool good = process_wire_receive(control, &said, 1, NULL, &none, MSG_DONTWAIT) == 1;
    return good ? AXO_OK : AXO_ESYSTEM;
}

/* Waits for its end, and takes note of it while its number is still its own. */
static void starter_reap(axo_zygote *zygote, pid_t pid)
{
    siginfo_t info;
    while (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
    }
    (void)pthread_mutex_lock(&zygote->mutex);
    zygote->pid = 0;
    if (zygote->control >= 0)
        (void)close(zygote->control);
    zygote->control = -1;
    (void)waitpid(pid, NULL, 0);
    (void)pthread_cond_broadcast(&zygote->changed);
    (void)pthread_mutex_unlock(&zygote->mutex);
}

/* One life of the zygote; false: the first one was not there. */
static bool starter_once(axo_zygote *zygote)
{
    int control = -1;
    pid_t pid = 0;
    int error = starter_spawn(zygote, &control, &pid);
    axo_status status = error == 0 ? starter_greet(control) : AXO_ESYSTEM;
    if (error == 0 && status != AXO_OK)
        (void)kill(pid, SIGKILL);
    (void)pthread_mutex_lock(&zygote->mutex);
    bool first = !zygote->ready;
    zygote->ready = true;
    zygote->status = status;
    zygote->error = error;
    zygote->pid = pid;
    zygote->control = status == AXO_OK && !zygote->ending ? control : -1;
    bool kept = zygote->control >= 0;
    (void)pthread_cond_broadcast(&zygote->changed);
    (void)pthread_mutex_unlock(&zygote->mutex);
    if (error == 0 && !kept)
        (void)close(control);
    if (error == 0)
        starter_reap(zygote, pid);
    return status == AXO_OK || !first;
}

static void starter_pause(axo_zygote *zygote)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += STARTER_PAUSE_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    while (!zygote->ending) {
        if (pthread_cond_timedwait(&zygote->changed, &zygote->mutex, &until) == ETIMEDOUT)
            return;
    }
}

static void *starter_run(void *argument)
{
    axo_zygote *zygote = argument;
    bool goes_on = true;
    while (goes_on && starter_once(zygote)) {
        (void)pthread_mutex_lock(&zygote->mutex);
        if (!zygote->ending)
            starter_pause(zygote);
        goes_on = !zygote->ending;
        (void)pthread_mutex_unlock(&zygote->mutex);
    }
    return NULL;
}

int process_zygote_ask(axo_zygote *zygote, const int fds[PROCESS_FDS])
{
    const process_job job = {.magic = PROCESS_JOB_MAGIC};
    (void)pthread_mutex_lock(&zygote->mutex);
    int error = EAGAIN;
    if (zygote->control >= 0)
        error = process_wire_send(zygote->control, &job, sizeof job, fds, PROCESS_FDS);
    (void)pthread_mutex_unlock(&zygote->mutex);
    return error;
}

/* ---- the janitor ---- */

void process_life_free(process_life *life)
{
    process_link_close(life);
    (void)pthread_mutex_destroy(&life->mutex);
    free(life->window.all);
    free(life->owed.all);
    free(life->args);
    free(life);
}

void process_zygote_forget(axo_zygote *zygote, process_life *life)
{
    (void)pthread_mutex_lock(&zygote->mutex);
    if (life->before != NULL)
        life->before->next = life->next;
    else
        zygote->lives = life->next;
    if (life->next != NULL)
        life->next->before = life->before;
    (void)pthread_mutex_unlock(&zygote->mutex);
    process_life_free(life);
}

typedef struct janitor {
    axo_zygote *zygote;
} janitor;

static axo_status janitor_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    memcpy(&((janitor *)state)->zygote, args, sizeof(axo_zygote *));
    return AXO_OK;
}

/* Forged ones do not know the secret. */
static bool janitor_believes(const axo_zygote *zygote, const axo_message *message,
                             process_adoption *out)
{
    if (message->size != sizeof *out)
        return false;
    memcpy(out, message->payload, sizeof *out);
    return out->secret == zygote->secret;
}

static axo_status janitor_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    axo_zygote *zygote = ((janitor *)state)->zygote;
    process_adoption adopted;
    if (!janitor_believes(zygote, message, &adopted))
        return AXO_UNHANDLED;
    if (message->tag == PROCESS_GONE) {
        process_zygote_forget(zygote, adopted.life);
        return AXO_OK;
    }
    axo_status status =
        axo_watch_with(ctx, adopted.actor, PROCESS_GONE, &adopted, sizeof adopted);
    if (status != AXO_OK)
        return axo_log(ctx, AXO_LOG_WARNING, "an actor's memory is kept to the end: %s",
                       axo_status_text(status));
    return AXO_OK;
}

static const axo_class janitor_class =
    AXO_CLASS(.name = "axo process janitor", .state_size = sizeof(janitor),
              .construct = janitor_construct, .receive = janitor_receive);

/* ---- start and end ---- */

static void starter_free(axo_zygote *zygote)
{
    while (zygote->lives != NULL)
        process_zygote_forget(zygote, zygote->lives);
    while (zygote->classes != NULL) {
        process_class *next = zygote->classes->next;
        free(zygote->classes);
        zygote->classes = next;
    }
    (void)pthread_cond_destroy(&zygote->changed);
    (void)pthread_mutex_destroy(&zygote->mutex);
    free(zygote->program);
    free(zygote);
}

static bool starter_has_gone(axo_zygote *zygote, int64_t wait_ms)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)(wait_ms / 1000);
    while (zygote->pid != 0) {
        if (pthread_cond_timedwait(&zygote->changed, &zygote->mutex, &until) == ETIMEDOUT)
            break;
    }
    return zygote->pid == 0;
}

/* The zygote ends its processes when its socket closes; one that is stopped is woken to do so. */
static void starter_end(axo_zygote *zygote)
{
    (void)pthread_mutex_lock(&zygote->mutex);
    zygote->ending = true;
    if (zygote->control >= 0)
        (void)close(zygote->control);
    zygote->control = -1;
    if (zygote->pid != 0)
        (void)kill(zygote->pid, SIGCONT);
    (void)pthread_cond_broadcast(&zygote->changed);
    if (!starter_has_gone(zygote, STARTER_END_MS))
        (void)kill(zygote->pid, SIGKILL);
    (void)pthread_mutex_unlock(&zygote->mutex);
    (void)pthread_join(zygote->thread, NULL);
    starter_free(zygote);
}

static void starter_terminated(axo_system *system, void *user)
{
    (void)system;
    starter_end(user);
}

static axo_zygote *starter_make(axo_system *system, const axo_zygote_settings *settings)
{
    pthread_condattr_t how;
    axo_zygote *zygote = calloc(1, sizeof *zygote);
    if (zygote == NULL)
        return NULL;
    zygote->program = strdup(settings->program != NULL ? settings->program : "/proc/self/exe");
    zygote->system = system;
    zygote->spares = settings->spares;
    zygote->control = -1;
    (void)pthread_mutex_init(&zygote->mutex, NULL);
    (void)pthread_condattr_init(&how);
    (void)pthread_condattr_setclock(&how, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&zygote->changed, &how);
    (void)pthread_condattr_destroy(&how);
    bool good = zygote->program != NULL &&
                getrandom(&zygote->secret, sizeof zygote->secret, 0) ==
                    (ssize_t)sizeof zygote->secret;
    if (good)
        return zygote;
    starter_free(zygote);
    return NULL;
}

/* Waits for the first one. */
static axo_status starter_begin(axo_zygote *zygote)
{
    int error = pthread_create(&zygote->thread, NULL, starter_run, zygote);
    if (error != 0)
        return AXO_ETHREAD;
    (void)pthread_mutex_lock(&zygote->mutex);
    while (!zygote->ready)
        (void)pthread_cond_wait(&zygote->changed, &zygote->mutex);
    axo_status status = zygote->status;
    error = zygote->error;
    (void)pthread_mutex_unlock(&zygote->mutex);
    if (status == AXO_OK)
        return AXO_OK;
    (void)pthread_join(zygote->thread, NULL);
    errno = error;
    return status;
}

static axo_status starter_read(const axo_zygote_settings *from, axo_zygote_settings *out)
{
    *out = (axo_zygote_settings)AXO_ZYGOTE_SETTINGS();
    axo_status status = from != NULL ? axo__given_read(from, out, sizeof *out) : AXO_OK;
    if (status != AXO_OK)
        return status;
    return out->spares <= AXO_PROCESS_SPARES_MAX && out->reserved == 0 ? AXO_OK : AXO_EINVAL;
}

/* The janitor is there before the system can end it, and gone before the zygote is freed. */
static axo_status starter_attach(axo_zygote *zygote)
{
    axo_props props = AXO_PROPS(.cls = &janitor_class, .args = &zygote,
                                .args_size = sizeof(axo_zygote *), .system_actor = 1);
    axo_status status = axo_system_spawn(zygote->system, &props, &zygote->janitor);
    if (status != AXO_OK)
        return status;
    status = axo_system_on_termination(zygote->system, starter_terminated, zygote);
    if (status != AXO_OK)
        (void)axo_system_stop_actor(zygote->system, zygote->janitor);
    return status;
}

axo_status axo_zygote_start(axo_system *system, const axo_zygote_settings *settings,
                            axo_zygote **out)
{
    axo_zygote_settings read;
    if (out == NULL)
        return AXO_EINVAL;
    *out = NULL;
    if (system == NULL)
        return AXO_EINVAL;
    axo_status status = starter_read(settings, &read);
    if (status != AXO_OK)
        return status;
    axo_zygote *zygote = starter_make(system, &read);
    if (zygote == NULL)
        return AXO_ENOMEM;
    status = starter_begin(zygote);
    if (status != AXO_OK) {
        int error = errno;
        starter_free(zygote);
        errno = error;
        return status;
    }
    status = starter_attach(zygote);
    if (status != AXO_OK) {
        starter_end(zygote);
        return status;
    }
    *out = zygote;
    return AXO_OK;
}
