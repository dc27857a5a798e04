/* notify.c - what systemd wants to know of a service, told by a thread that no actor holds up. */
#include <axo/console.h>

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <systemd/sd-daemon.h>

#include <axo/find.h>
#include <axo/health.h>
#include <axo/inspect.h>

#define NOTIFY_SECOND INT64_C(1000000000)
/* Looks in half of the watchdog's time, and in `within_ns`. */
#define NOTIFY_LOOKS        3
#define NOTIFY_HOUR_US      (UINT64_C(3600) * 1000000)
#define NOTIFY_UNWATCHED_US UINT64_C(5000000)

typedef struct notify {
    axo_system *system;
    int64_t within_ns;
    int64_t feed_ns; /* between two WATCHDOG=1 */
    int64_t look_ns; /* between two looks */
    bool watchdog;
    bool status;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool over;        /* by `lock`: the thread ends */
    bool told;        /* by `lock`: READY has been sent */
    bool stopped;     /* by `lock`: the actor is told to stop */
    uint32_t holders; /* by `lock`: the system's end, and the call that makes it */
} notify;

/* ---- the thread ---- */

static int64_t notify_now(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * NOTIFY_SECOND + now.tv_nsec;
}

static bool notify_was_told(notify *self)
{
    (void)pthread_mutex_lock(&self->lock);
    bool told = self->told;
    (void)pthread_mutex_unlock(&self->lock);
    return told;
}

/* Waits for READY, then for the next look or until the actor is told to stop; false: it is over. */
static bool notify_wait(notify *self, bool *stopped)
{
    int64_t look = notify_now() + self->look_ns;
    struct timespec until = {.tv_sec = look / NOTIFY_SECOND, .tv_nsec = look % NOTIFY_SECOND};
    (void)pthread_mutex_lock(&self->lock);
    while (!self->over && !self->told)
        (void)pthread_cond_wait(&self->changed, &self->lock);
    int woken = 0;
    while (!self->over && (!self->stopped || *stopped) && woken == 0)
        woken = pthread_cond_timedwait(&self->changed, &self->lock, &until);
    *stopped = self->stopped;
    bool over = self->over;
    (void)pthread_mutex_unlock(&self->lock);
    return !over;
}

/* Whether /user has begun to stop: somebody may have stopped the one actor alone. */
static bool notify_is_stopping(const notify *self)
{
    axo_actor_info info = AXO_ACTOR_INFO();
    axo_status status = axo_system_inspect(
        self->system, axo_system_guardian(self->system, AXO_GUARDIAN_USER), axo_ref_none(), &info);
    return status == AXO_EGONE || (status == AXO_OK && info.doing == AXO_DOING_STOPPING);
}

static void notify_late(const axo_health_report *late)
{
    (void)sd_notifyf(0, "STATUS=late: %s %s for %" PRId64 " ms, %" PRIu32 " in all",
                     late->path[0] != 0 ? late->path : "an actor that has ended",
                     late->why == AXO_HEALTH_CALLBACK ? "is in a callback" : "takes no message",
                     late->for_ns / 1000000, late->count);
}

static void *notify_thread(void *arg)
{
    notify *self = arg;
    bool stopped = false;
    bool said_stopping = false;
    bool was_good = true;
    int64_t feed = INT64_MIN; /* the first good look feeds the watchdog */
    while (notify_wait(self, &stopped)) {
        axo_health_report late = AXO_HEALTH_REPORT();
        if (!said_stopping && notify_is_stopping(self)) {
            (void)sd_notify(0, "STOPPING=1\nSTATUS=stopping");
            said_stopping = true;
        }
        axo_status health = axo_health(self->system, self->within_ns, &late);
        int64_t now = notify_now();
        if (health == AXO_OK && self->watchdog && now >= feed) {
            (void)sd_notify(0, "WATCHDOG=1");
            feed = now + self->feed_ns - self->look_ns / 2; /* the nearest look */
        }
        if (self->status && health == AXO_ETIMEDOUT && was_good)
            notify_late(&late);
        if (self->status && health == AXO_OK && !was_good)
            (void)sd_notify(0, said_stopping ? "STATUS=stopping" : "STATUS=running");
        if (health == AXO_OK || health == AXO_ETIMEDOUT)
            was_good = health == AXO_OK;
    }
    if (!said_stopping && notify_was_told(self))
        (void)sd_notify(0, "STOPPING=1");
    return NULL;
}

static void notify_say(notify *self, bool *what)
{
    (void)pthread_mutex_lock(&self->lock);
    *what = true;
    (void)pthread_cond_broadcast(&self->changed);
    (void)pthread_mutex_unlock(&self->lock);
}

/* ---- from the beginning to the end ---- */

static void notify_free(notify *self)
{
    (void)pthread_cond_destroy(&self->changed);
    (void)pthread_mutex_destroy(&self->lock);
    axo_system_free(self->system, self, sizeof *self);
}

static void notify_drop(notify *self)
{
    (void)pthread_mutex_lock(&self->lock);
    bool last = --self->holders == 0;
    (void)pthread_mutex_unlock(&self->lock);
    if (last)
        notify_free(self);
}

/* The system has ended: no actor is left that knows of it. */
static void notify_end(axo_system *system, void *user)
{
    notify *self = user;
    (void)system;
    notify_say(self, &self->over);
    (void)pthread_join(self->thread, NULL);
    notify_drop(self);
}

static axo_status notify_begin_thread(notify *self)
{
    pthread_condattr_t monotonic;
    sigset_t all;
    sigset_t before;
    (void)pthread_mutex_init(&self->lock, NULL);
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&self->changed, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&self->thread, NULL, notify_thread, self);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error != 0)
        return AXO_ETHREAD;
    (void)pthread_setname_np(self->thread, "axo/notify");
    return AXO_OK;
}

static axo_status notify_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)ctx;
    (void)state;
    (void)message;
    return AXO_UNHANDLED;
}

static axo_status notify_construct(axo_ctx *ctx, void *state, const void *args)
{
    union {
        const void *given;
        notify *self;
    } kept = {.given = args};
    (void)ctx;
    *(notify **)state = kept.self;
    return AXO_OK;
}

static axo_status notify_post_stop(axo_ctx *ctx, void *state)
{
    notify *self = *(notify **)state;
    (void)ctx;
    notify_say(self, &self->stopped);
    return AXO_OK;
}

static const axo_class notify_class =
    AXO_CLASS(.name = "systemd", .state_size = sizeof(notify *), .construct = notify_construct,
              .receive = notify_receive, .post_stop = notify_post_stop);

/* With its thread, which waits, and the system's promise to end it. */
static axo_status notify_make(axo_system *system, const notify *given, notify **out)
{
    notify *self = axo_system_alloc(system, sizeof *self);
    if (self == NULL)
        return AXO_ENOMEM;
    *self = *given;
    self->holders = 2;
    axo_status status = notify_begin_thread(self);
    if (status != AXO_OK) {
        notify_free(self);
        return status;
    }
    status = axo_system_on_termination(system, notify_end, self);
    if (status != AXO_OK) {
        notify_end(system, self);
        notify_drop(self);
        return status;
    }
    *out = self;
    return AXO_OK;
}

axo_status axo_notify_systemd(axo_system *system, const axo_notify *settings)
{
    static const axo_notify usual = AXO_NOTIFY();
    notify given = {.system = system};
    notify *self = NULL;
    uint64_t watchdog_us = 0;
    axo_ref ref;
    if (settings == NULL)
        settings = &usual;
    if (system == NULL || settings->size == 0)
        return AXO_EINVAL;
    if (settings->size != sizeof *settings)
        return AXO_EVERSION;
    if (settings->within_ns < 0)
        return AXO_EINVAL;
    const char *socket = getenv("NOTIFY_SOCKET");
    if (socket == NULL || socket[0] == 0)
        return AXO_ENOENT;
    given.watchdog = sd_watchdog_enabled(0, &watchdog_us) > 0;
    if (!given.watchdog || watchdog_us > NOTIFY_HOUR_US)
        watchdog_us = given.watchdog ? NOTIFY_HOUR_US : 2 * NOTIFY_UNWATCHED_US;
    given.within_ns = settings->within_ns > 0 ? settings->within_ns : (int64_t)watchdog_us * 500;
    given.feed_ns = (int64_t)watchdog_us * 500;
    given.look_ns =
        (given.within_ns < given.feed_ns ? given.within_ns : given.feed_ns) / NOTIFY_LOOKS + 1;
    given.status = settings->no_status == 0;
    axo_status status = axo_system_find(system, "/user/systemd", &ref);
    if (status != AXO_ENOENT)
        return status == AXO_OK ? AXO_EEXIST : status;
    status = notify_make(system, &given, &self);
    if (status != AXO_OK)
        return status;
    axo_props props = AXO_PROPS(.cls = &notify_class, .args = self, .name = "systemd");
    status = axo_system_spawn(system, &props, &ref);
    if (status == AXO_OK &&
        sd_notify(0, self->status ? "READY=1\nSTATUS=running" : "READY=1") <= 0) {
        (void)axo_system_stop_actor(system, ref);
        status = AXO_ESYSTEM;
    }
    notify_say(self, status == AXO_OK ? &self->told : &self->over);
    notify_drop(self);
    return status;
}
