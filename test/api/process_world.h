/* process_world.h - a system with actors that are processes, for their tests: an actor that does
 * what it is told, a collector of what it says, a supervisor that answers as the test wants.
 *
 * Nothing here waits for a time: all waits are for conditions, with a deadline that no machine that
 * is merely busy comes to. */
#ifndef TEST_PROCESS_WORLD_H
#define TEST_PROCESS_WORLD_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <axo/axo.h>
#include <axo/process.h>

#include "api/process_kin.h"
#include "support/cmocka.h"

#define W_SECOND INT64_C(1000000000)
#define W_LONG (120 * W_SECOND)
#define W_SAID_MAX 200000

/* What the actor is told. */
enum {
    W_ADD = 1,   /* says W_ADD with the value, and its sum */
    W_FAIL,      /* axo_fail with the value as its code */
    W_FATAL,
    W_CRASH,     /* raises the signal */
    W_EXIT,      /* exits with the value */
    W_LOOP,      /* for ever */
    W_STOP_SELF,
    W_WHO,       /* says W_WHO with its process */
    W_BIG,       /* sends so many bytes to the collector */
    W_STASH,     /* puts it aside */
    W_UNSTASH,
    W_BECOME,    /* from now on says W_BECOME */
    W_CHILD,     /* a child of its own says W_CHILD */
    W_TICK,      /* a timer's message that fails */
    W_TICKS,     /* starts that timer */
    W_THROW,
    W_SELF,      /* sends W_ADD to axo_process_self */
    W_OPEN,      /* opens a file, says the errno */
    W_FORK,
    W_ALLOC,     /* takes so much memory, says whether it got it */
    W_SCRIBBLE,  /* writes chance into what it shares with its host */
    W_MASH,      /* the same, again and again, for ever */
    W_TAKE,      /* takes a payload over, and frees it */
    W_REPLY,     /* answers its sender */
    W_FORWARD,   /* passes it on to the collector */
    W_SLEEP,     /* says so, then sleeps for so many ms */
    W_LINE,      /* a line of the log */
    W_MANY,      /* sends so many messages */
    W_ASKED      /* a reply */
};

/* What its hooks say. */
enum {
    W_CONSTRUCT = 100, W_PRE_START, W_POST_RESTART, W_PRE_RESTART, W_POST_STOP
};

/* Modes of an actor; bits. */
enum {
    W_START_FAILS = 1,
    W_START_CRASHES = 2,
    W_START_HANGS = 4,
    W_STOP_HANGS = 8,
    W_RESTART_FAILS = 16, /* every start but the first */
    W_HOOK_FAILS = 32,    /* pre_restart */
    W_START_THREAD = 64,  /* construct starts a thread that stays */
    W_START_BRIEF = 128,  /* and one that ends a moment later */
    W_START_OPENS = 256,  /* pre_start sends it W_OPEN */
    W_RESTART_OPENS = 512 /* post_restart */
};

typedef struct w_args {
    axo_ref collector;
    uint32_t mode;
    uint32_t reserved;
    char padding[1000]; /* so that it takes more than a line */
} w_args;

typedef struct w_saying {
    uint32_t what;
    int32_t pid;
    int64_t value;
    int64_t sum;
    axo_ref self;
    uint32_t instance;
    uint32_t message; /* tag of what pre_restart was shown; 0: none */
    char text[AXO_FAILURE_TEXT_MAX];
} w_saying;

typedef struct w_said {
    w_saying it;
    axo_ref from;
    uint32_t tag;
    uint32_t size;
} w_said;

typedef struct world {
    axo_system *system;
    axo_zygote *zygote;
    axo_ref collector;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    w_said *said;
    uint32_t said_count;
    uint32_t terminated;      /* actors of which the collector was told */
    uint32_t failures;        /* that were decided */
    uint32_t kinds;           /* of theirs, a bit each */
    uint32_t lines_then;      /* `lines` when the last one was */
    uint32_t line_us;         /* so long a line takes until there is one; 0: no time */
    axo_failure last;         /* without texts: */
    char text[AXO_FAILURE_TEXT_MAX];
    uint32_t failed_answers;  /* AXO_REQUEST_FAILED that came */
    uint32_t dead;            /* dead letters of users' tags */
    uint32_t poison;
    uint32_t lines;           /* of an actor's own in the log */
    axo_directive answer;     /* to a failure; 0: the default decider's */
    axo_strategy strategy;
    uint32_t descriptors;     /* before */
    bool rough;               /* orphans of a killed zygote may have ended in any way */
} world;

/* ---- what runs in the process --------------------------------------------------------------- */

typedef struct w_actor {
    w_args args;
    int64_t sum;
} w_actor;

static inline void w_say_more(axo_ctx *ctx, const w_actor *me, uint32_t what, int64_t value,
                              uint32_t message, const char *text)
{
    w_saying it = {.what = what, .pid = (int32_t)getpid(), .value = value, .sum = me->sum,
                   .self = axo_process_self(ctx), .instance = axo_instance(ctx),
                   .message = message};
    (void)snprintf(it.text, sizeof it.text, "%s", text);
    (void)axo_send(ctx, me->args.collector, what, &it, sizeof it);
}

static inline void w_say(axo_ctx *ctx, const w_actor *me, uint32_t what, int64_t value)
{
    w_say_more(ctx, me, what, value, 0, "");
}

static inline _Noreturn void w_for_ever(void)
{
    for (;;)
        (void)poll(NULL, 0, 1000);
}

static inline void *w_thread(void *brief)
{
    if (brief == NULL)
        w_for_ever();
    (void)poll(NULL, 0, 50);
    return NULL;
}

static inline void w_start_thread(bool brief)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, w_thread, brief ? &thread : NULL), 0);
    assert_int_equal(pthread_detach(thread), 0);
}

static inline axo_status w_construct(axo_ctx *ctx, void *state, const void *args)
{
    w_actor *me = state;
    memcpy(&me->args, args, sizeof me->args);
    uint32_t mode = me->args.mode;
    if ((mode & W_START_FAILS) != 0)
        return axo_fail(ctx, 77, "construct says no");
    if ((mode & W_START_CRASHES) != 0)
        abort();
    if ((mode & W_START_HANGS) != 0)
        w_for_ever();
    if ((mode & (W_START_THREAD | W_START_BRIEF)) != 0)
        w_start_thread((mode & W_START_BRIEF) != 0);
    w_say(ctx, me, W_CONSTRUCT, 0);
    return AXO_OK;
}

static inline axo_status w_open_later(axo_ctx *ctx, const w_actor *me, uint32_t mode)
{
    if ((me->args.mode & mode) == 0)
        return AXO_OK;
    return axo_send(ctx, axo_self(ctx), W_OPEN, NULL, 0);
}

static inline axo_status w_pre_start(axo_ctx *ctx, void *state)
{
    w_say(ctx, state, W_PRE_START, 0);
    return w_open_later(ctx, state, W_START_OPENS);
}

static inline axo_status w_post_restart(axo_ctx *ctx, void *state, const axo_failure *failure)
{
    w_actor *me = state;
    if ((me->args.mode & W_RESTART_FAILS) != 0)
        return axo_fail(ctx, 78, "post_restart says no");
    w_say_more(ctx, me, W_POST_RESTART, failure->code, failure->kind, failure->text);
    axo_status status = w_open_later(ctx, me, W_RESTART_OPENS);
    if (status != AXO_OK)
        return status;
    return axo_default_post_restart(ctx, state, failure);
}

static inline axo_status w_pre_restart(axo_ctx *ctx, void *state, const axo_failure *failure,
                                       const axo_message *message)
{
    w_actor *me = state;
    w_say_more(ctx, me, W_PRE_RESTART, failure->code, message != NULL ? message->tag : 0,
               failure->text);
    if ((me->args.mode & W_HOOK_FAILS) != 0)
        return axo_fail(ctx, 79, "pre_restart says no");
    return axo_default_pre_restart(ctx, state, failure, message);
}

static inline axo_status w_post_stop(axo_ctx *ctx, void *state)
{
    w_actor *me = state;
    if ((me->args.mode & W_STOP_HANGS) != 0)
        w_for_ever();
    w_say(ctx, me, W_POST_STOP, 0);
    return AXO_OK;
}

static inline axo_status w_became(axo_ctx *ctx, void *state, const axo_message *message)
{
    w_say(ctx, state, W_BECOME, (int64_t)message->tag);
    return AXO_OK;
}

typedef struct w_child {
    w_actor like;
} w_child;

static inline axo_status w_child_start(axo_ctx *ctx, void *state, const void *args)
{
    w_child *me = state;
    memcpy(&me->like.args, args, sizeof me->like.args);
    w_say(ctx, &me->like, W_CHILD, 0);
    return AXO_OK;
}

static inline axo_status w_child_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)ctx;
    (void)state;
    (void)message;
    return AXO_OK;
}

static const axo_class w_child_class =
    AXO_CLASS(.name = "child of w", .state_size = sizeof(w_child), .construct = w_child_start,
              .receive = w_child_receive);

static inline axo_status w_spawn_child(axo_ctx *ctx, const w_actor *me)
{
    axo_ref child;
    axo_props props = AXO_PROPS(.cls = &w_child_class, .args = &me->args,
                                .args_size = sizeof me->args);
    return axo_spawn(ctx, &props, &child);
}

/* Writes chance over the memory that is called so. */
static inline void w_scribble(uint64_t chance)
{
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        unsigned long from, to;
        if (strstr(line, "axo process") == NULL || sscanf(line, "%lx-%lx", &from, &to) != 2)
            continue;
        unsigned char *memory = (unsigned char *)from;
        for (unsigned long at = 0; at < to - from; at += sizeof chance) {
            chance ^= chance << 13;
            chance ^= chance >> 7;
            chance ^= chance << 17;
            memcpy(memory + at, &chance, sizeof chance);
        }
    }
    if (maps != NULL)
        (void)fclose(maps);
}

static inline void w_send_big(axo_ctx *ctx, const w_actor *me, size_t size)
{
    char *bytes = calloc(1, size);
    assert_non_null(bytes);
    axo_status status = axo_send(ctx, me->args.collector, W_BIG, bytes, size);
    free(bytes);
    w_say(ctx, me, W_WHO, status);
}

static inline void w_open(axo_ctx *ctx, const w_actor *me)
{
    int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    w_say(ctx, me, W_OPEN, fd < 0 ? errno : 0);
    if (fd >= 0)
        (void)close(fd);
}

static inline void w_alloc(axo_ctx *ctx, const w_actor *me, size_t size)
{
    void *volatile memory = malloc(size); /* else clang takes none, and has it */
    w_say(ctx, me, W_ALLOC, memory != NULL);
    free(memory);
}

static inline void w_take(axo_ctx *ctx, const w_actor *me, const axo_message *message)
{
    axo_owned owned;
    int64_t value;
    axo_status status = axo_message_take(ctx, message, &owned);
    memcpy(&value, owned.payload, sizeof value);
    owned.destroy(owned.payload, owned.user);
    w_say(ctx, me, W_TAKE, status == AXO_OK ? value : -1);
}

static inline axo_status w_do_more(axo_ctx *ctx, w_actor *me, const axo_message *message,
                                   int64_t value)
{
    switch (message->tag) {
    case W_CHILD:
        return w_spawn_child(ctx, me);
    case W_TICKS:
        return axo_timer_start(ctx, 1, AXO_TIMER_ONCE, 0, 0, W_TICK, NULL, 0);
    case W_TICK:
        return axo_fail(ctx, 5, "tick");
    case W_SELF:
        return axo_send(ctx, axo_process_self(ctx), W_ADD, &value, sizeof value);
    case W_OPEN:
        w_open(ctx, me);
        return AXO_OK;
    case W_FORK:
        if (fork() == 0)
            _exit(0);
        w_say(ctx, me, W_FORK, 0);
        return AXO_OK;
    case W_ALLOC:
        w_alloc(ctx, me, (size_t)value);
        return AXO_OK;
    case W_SCRIBBLE:
        w_scribble((uint64_t)value);
        return AXO_OK;
    case W_MASH:
        for (;;)
            w_scribble((uint64_t)value++);
    case W_TAKE:
        w_take(ctx, me, message);
        return AXO_OK;
    case W_REPLY:
        return axo_reply(ctx, message, W_ASKED, &value, sizeof value);
    case W_FORWARD:
        return axo_forward(ctx, message, me->args.collector);
    case W_SLEEP:
        w_say(ctx, me, W_SLEEP, value);
        (void)poll(NULL, 0, (int)value);
        return AXO_OK;
    case W_LINE:
        return axo_log(ctx, AXO_LOG_WARNING, "a line of %lld", (long long)value);
    case W_MANY:
        for (int64_t i = 0; i < value; i++)
            w_say(ctx, me, W_MANY, i);
        return AXO_OK;
    default:
        return AXO_UNHANDLED;
    }
}

static inline axo_status w_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    w_actor *me = state;
    int64_t value = 0;
    if (message->size >= sizeof value)
        memcpy(&value, message->payload, sizeof value);
    switch (message->tag) {
    case W_ADD:
        me->sum += value;
        w_say(ctx, me, W_ADD, value);
        return AXO_OK;
    case W_FAIL:
        return axo_fail(ctx, (int32_t)value, "told to, %d", (int)value);
    case W_FATAL:
        return axo_fail_fatal(ctx, (int32_t)value, "told to");
    case W_THROW:
        axo_throw(ctx, (int32_t)value, "thrown");
    case W_CRASH:
        (void)signal((int)value, SIG_DFL);
        (void)raise((int)value);
        return AXO_OK;
    case W_EXIT:
        _exit((int)value);
    case W_LOOP:
        w_for_ever();
    case W_STOP_SELF:
        return axo_stop_self(ctx);
    case W_WHO:
        w_say(ctx, me, W_WHO, 0);
        return AXO_OK;
    case W_BIG:
        w_send_big(ctx, me, (size_t)value);
        return AXO_OK;
    case W_STASH:
        return axo_stash(ctx);
    case W_UNSTASH:
        return axo_unstash_all(ctx);
    case W_BECOME:
        return axo_become(ctx, w_became);
    default:
        return w_do_more(ctx, me, message, value);
    }
}

static const axo_class w_class =
    AXO_CLASS(.name = "w", .state_size = sizeof(w_actor), .construct = w_construct,
              .pre_start = w_pre_start, .receive = w_receive, .post_stop = w_post_stop,
              .pre_restart = w_pre_restart, .post_restart = w_post_restart);

static const axo_class *const w_classes[] = {&w_class};

/* ---- the host -------------------------------------------------------------------------------- */

static inline axo_status w_collect(axo_ctx *ctx, void *state, const axo_message *message)
{
    world *w = *(world **)state;
    (void)pthread_mutex_lock(&w->mutex);
    if (message->tag == AXO_TERMINATED)
        w->terminated++;
    else if (message->tag == AXO_REQUEST_FAILED)
        w->failed_answers++;
    else if (w->said_count < W_SAID_MAX) {
        w_said *said = &w->said[w->said_count++];
        memset(said, 0, sizeof *said);
        said->tag = message->tag;
        said->size = message->size;
        said->from = message->sender;
        if (message->size > 0)
            memcpy(&said->it, message->payload,
                   message->size < sizeof said->it ? message->size : sizeof said->it);
    }
    (void)pthread_cond_broadcast(&w->changed);
    (void)pthread_mutex_unlock(&w->mutex);
    (void)ctx;
    return AXO_OK;
}

enum { W_WATCH = 0x1000 };

static inline axo_status w_collector_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    axo_ref ref;
    if (message->tag != W_WATCH)
        return w_collect(ctx, state, message);
    memcpy(&ref, message->payload, sizeof ref);
    return axo_watch(ctx, ref);
}

static inline axo_status w_collector_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    *(world **)state = (world *)(uintptr_t)args;
    return AXO_OK;
}

static const axo_class w_collector_class =
    AXO_CLASS(.name = "collector", .state_size = sizeof(world *),
              .construct = w_collector_construct, .receive = w_collector_receive);

static inline axo_directive w_decide(axo_ctx *ctx, void *state, const axo_failure *failure,
                                     void *user)
{
    world *w = user;
    (void)pthread_mutex_lock(&w->mutex);
    w->failures++;
    w->kinds |= UINT32_C(1) << (failure->kind < 31 ? failure->kind : 31);
    w->lines_then = w->lines;
    w->last = *failure;
    (void)snprintf(w->text, sizeof w->text, "%s", failure->text);
    axo_directive answer = w->answer;
    (void)pthread_cond_broadcast(&w->changed);
    (void)pthread_mutex_unlock(&w->mutex);
    return answer != (axo_directive)0 ? answer : axo_decide_default(ctx, state, failure, NULL);
}

static inline void w_letter(void *user, const axo_dead_letter *letter)
{
    world *w = user;
    (void)pthread_mutex_lock(&w->mutex);
    if (letter->reason == AXO_DEAD_POISON)
        w->poison++;
    else if (letter->message->tag < AXO_TAG_SERVICES && letter->suppressed == 0)
        w->dead++;
    (void)pthread_cond_broadcast(&w->changed);
    (void)pthread_mutex_unlock(&w->mutex);
}

static inline void w_log(void *user, const axo_log_record *record)
{
    world *w = user;
    (void)pthread_mutex_lock(&w->mutex);
    if (record->event == AXO_LOG_LINE)
        w->lines++;
    uint32_t us = w->failures == 0 ? w->line_us : 0;
    (void)pthread_cond_broadcast(&w->changed);
    (void)pthread_mutex_unlock(&w->mutex);
    (void)usleep(us);
}

static inline uint32_t w_descriptors(void)
{
    uint32_t count = 0;
    DIR *folder = opendir("/proc/self/fd");
    assert_non_null(folder);
    while (readdir(folder) != NULL)
        count++;
    (void)closedir(folder);
    return count;
}

/* Waits until `what` holds; false: it never did. */
#define W_UNTIL(w, what)                                                                           \
    do {                                                                                           \
        struct timespec until_;                                                                    \
        (void)clock_gettime(CLOCK_REALTIME, &until_);                                              \
        until_.tv_sec += (time_t)(W_LONG / W_SECOND);                                              \
        int late_ = 0;                                                                             \
        (void)pthread_mutex_lock(&(w)->mutex);                                                     \
        while (!(what) && late_ == 0)                                                              \
            late_ = pthread_cond_timedwait(&(w)->changed, &(w)->mutex, &until_);                   \
        bool holds_ = (what);                                                                      \
        (void)pthread_mutex_unlock(&(w)->mutex);                                                   \
        if (!holds_)                                                                               \
            fail_msg("never: %s; %u said, %u failures", #what, (w)->said_count, (w)->failures);    \
    } while (0)

/* How many sayings of a sort there are; the mutex is held. */
static inline uint32_t w_count_locked(const world *w, uint32_t tag)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < w->said_count; i++)
        count += w->said[i].tag == tag;
    return count;
}

static inline uint32_t w_count(world *w, uint32_t tag)
{
    (void)pthread_mutex_lock(&w->mutex);
    uint32_t count = w_count_locked(w, tag);
    (void)pthread_mutex_unlock(&w->mutex);
    return count;
}

static inline void w_await(world *w, uint32_t tag, uint32_t count)
{
    W_UNTIL(w, w_count_locked(w, tag) >= count || w->said_count == W_SAID_MAX);
    if (w_count(w, tag) < count)
        fail_msg("%u of %u are said of %u", w_count(w, tag), count, tag);
}

/* The n-th saying of a sort, from 0. */
static inline w_said w_nth(world *w, uint32_t tag, uint32_t n)
{
    w_said found;
    memset(&found, 0, sizeof found);
    w_await(w, tag, n + 1);
    (void)pthread_mutex_lock(&w->mutex);
    for (uint32_t i = 0; i < w->said_count; i++) {
        if (w->said[i].tag == tag && n-- == 0) {
            found = w->said[i];
            break;
        }
    }
    (void)pthread_mutex_unlock(&w->mutex);
    return found;
}

static inline void w_start(world *w, uint32_t spares)
{
    memset(w, 0, sizeof *w);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1); /* whoever is left behind is seen */
    w->descriptors = w_descriptors();
    w->said = calloc(W_SAID_MAX, sizeof *w->said);
    assert_non_null(w->said);
    (void)pthread_mutex_init(&w->mutex, NULL);
    (void)pthread_cond_init(&w->changed, NULL);
    w->answer = AXO_RESTART;
    w->strategy = (axo_strategy)AXO_STRATEGY(.decider = w_decide, .user = w, .answer_failed = 1);
    axo_options options = AXO_OPTIONS(.workers = 2, .user_strategy = &w->strategy,
                                      .on_dead_letter = w_letter, .dead_letter_user = w,
                                      .log_record = w_log, .log_record_user = w,
                                      .stuck_ns = -1);
    assert_int_equal(axo_system_start(&options, &w->system), AXO_OK);
    axo_props props = AXO_PROPS(.cls = &w_collector_class, .args = w, .name = "collector",
                                .system_actor = 1);
    assert_int_equal(axo_system_spawn(w->system, &props, &w->collector), AXO_OK);
    axo_zygote_settings settings = AXO_ZYGOTE_SETTINGS(.spares = spares);
    assert_int_equal(axo_zygote_start(w->system, &settings, &w->zygote), AXO_OK);
}

static inline axo_process w_recipe(const world *w)
{
    return (axo_process)AXO_PROCESS(.zygote = w->zygote, .ring_bytes = 4096, .start_ns = W_LONG,
                                    .stop_ns = W_LONG);
}

static inline axo_ref w_spawn_as(world *w, const axo_process *recipe, uint32_t mode,
                                 axo_lifetime lifetime)
{
    axo_ref ref;
    const w_args args = {.collector = w->collector, .mode = mode};
    axo_props props = AXO_PROPS(.cls = &w_class, .args = &args, .args_size = sizeof args,
                                .lifetime = lifetime);
    assert_int_equal(axo_system_process_spawn(w->system, recipe, &props, &ref), AXO_OK);
    assert_int_equal(axo_system_send(w->system, w->collector, W_WATCH, &ref, sizeof ref), AXO_OK);
    return ref;
}

static inline axo_ref w_spawn(world *w, uint32_t mode)
{
    axo_process recipe = w_recipe(w);
    return w_spawn_as(w, &recipe, mode, AXO_TRANSIENT);
}

static inline void w_tell(world *w, axo_ref ref, uint32_t what, int64_t value)
{
    assert_int_equal(
        axo_system_send_from(w->system, w->collector, ref, what, &value, sizeof value), AXO_OK);
}

/* The process of an actor that is well. */
static inline pid_t w_pid(world *w, axo_ref ref)
{
    uint32_t before = w_count(w, W_WHO);
    w_tell(w, ref, W_WHO, 0);
    return (pid_t)w_nth(w, W_WHO, before).it.pid;
}

/* The sayings of a sort have the values 0, 1, 2 ... and there are so many. */
static inline void w_in_order(world *w, uint32_t tag, uint32_t count)
{
    w_await(w, tag, count);
    int64_t next = 0;
    (void)pthread_mutex_lock(&w->mutex);
    for (uint32_t i = 0; i < w->said_count; i++) {
        if (w->said[i].tag == tag && w->said[i].it.value != next++)
            fail_msg("%lld of %u comes as number %lld", (long long)w->said[i].it.value,
                     w->said_count, (long long)next - 1);
    }
    (void)pthread_mutex_unlock(&w->mutex);
    assert_int_equal(next, count);
}

static inline void w_failed(world *w, uint32_t count, uint32_t kind, int32_t code,
                            const char *text)
{
    W_UNTIL(w, w->failures >= count);
    assert_int_equal(w->failures, count);
    assert_string_equal(w->text, text);
    assert_int_equal(w->last.kind, kind);
    assert_int_equal(w->last.code, code);
}

/* All ends: no process, no zombie, no descriptor is left. */
static inline void w_end(world *w)
{
    assert_int_equal(axo_system_stop(w->system, W_LONG, NULL, 0, NULL), AXO_OK);
    axo_stats stats = AXO_STATS();
    assert_int_equal(axo_system_stats(w->system, &stats), AXO_OK);
    assert_int_equal(stats.sent, stats.handled + stats.dead + stats.dropped);
    assert_int_equal(axo_system_destroy(w->system), AXO_OK);
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, 0)) > 0) { /* of a zygote that was killed */
        bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
        if (!killed && status != 0 && !w->rough)
            fail_msg("process %d has ended with status 0x%x", (int)pid, (unsigned)status);
    }
    assert_int_equal(errno, ECHILD);
    assert_int_equal(w_descriptors(), w->descriptors);
    (void)pthread_cond_destroy(&w->changed);
    (void)pthread_mutex_destroy(&w->mutex);
    free(w->said);
}

#endif
