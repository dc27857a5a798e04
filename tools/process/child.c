/* child.c - the process of an actor.
 *
 * Its system is a manual one. The loop gives the actor one message at a time, as a payload whose
 * end is told: so the host learns that a message is handled when nobody has it any more, whatever
 * the actor has done with it, and learns it at once, in memory that outlives the process.
 *
 * A failure of the actor comes up to the decider of /user here, which tells the host and waits for
 * what its supervisor says. Leaving is a restart that ends where the new instance would be
 * constructed; the instance behind a restart begins as one, too: its system is given an empty first
 * instance. So hooks may do whatever hooks may do.
 *
 * One process is one actor: `child` is the only state of this kind.
 */
#include "child.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "confine.h"
#include "share.h"
#include "wire.h"

/* How long the system runs before the loop looks around. */
#define CHILD_BUDGET_NS INT64_C(1000000)

/* A message that has come, and is not yet handled. */
typedef struct child_message {
    uint64_t number;
    _Alignas(16) unsigned char bytes[];
} child_message;

typedef struct child_state {
    const axo_class *const *classes;
    uint32_t class_count;
    axo_system *system;
    const axo_class *cls; /* the program's */
    axo_class own;        /* the one that runs it */
    process_map map;
    int wake_fd;
    int host_fd;          /* readable while the system has something to do */
    axo_ref self;         /* as the system here knows it */
    process_ring in;
    process_ring out;
    pthread_mutex_t mutex; /* out: a program may have threads */
    uint32_t ordered;      /* orders that were taken */
    process_order order;   /* the last one */
    axo_ref feeder;
    /* number of the message that the actor has been given and has not put aside; 0: none */
    _Atomic uint64_t current;
    const void *given;     /* its bytes */
    uint32_t current_tag;
    uint64_t current_from;
    bool empty;            /* the first instance is the one that a restart would leave */
    bool begun;            /* construct and the hook that follows it are over */
    bool started;          /* and the host is told */
    bool leaving, stopping, stopped;
    bool reported;        /* it leaves for a failure of its own */
    bool short_of_memory; /* for the next message */
    uint32_t turns;       /* of the system since the last one was given */
} child_state;

static child_state child;

static _Noreturn void child_exit(void)
{
    (void)fflush(NULL);
    _exit(0);
}

static _Noreturn void child_die(const char *what, int error)
{
    (void)fprintf(stderr, "axo process: %s: %s\n", what, strerror(error));
    _exit(127);
}

static process_share *child_share(void)
{
    return child.map.share;
}

/* ---- to the host ---- */

static void child_wake_host(void)
{
    if (atomic_exchange(&child_share()->host_sleeps, 0) != 0) /* [S] */
        process_wake(child.wake_fd);
}

/* `system`: what makes work for the system here ends the wait, too; it is its descriptor, or -1. */
static void child_wait(int timeout_ms, int system)
{
    struct pollfd fds[] = {{.fd = child.wake_fd, .events = POLLIN},
                           {.fd = system, .events = POLLIN}};
    (void)poll(fds, 2, timeout_ms);
    if (!process_wake_taken(child.wake_fd)) /* nobody is left whom it could tell */
        _exit(0);
}

/* The host is slow, or waits for what its supervisor says: that is not this process's time. */
static void child_wait_for_room(void)
{
    struct pollfd fd = {.fd = child.wake_fd, .events = POLLIN};
    uint32_t busy = atomic_exchange(&child_share()->busy, 0);
    child_wake_host();
    (void)poll(&fd, 1, 100);
    if (!process_wake_taken(child.wake_fd))
        _exit(0);
    atomic_fetch_add(&child_share()->progress, 1);
    atomic_store(&child_share()->busy, busy);
}

static void child_write(const process_record *record, const void *bytes)
{
    (void)pthread_mutex_lock(&child.mutex);
    process_ring_answer answer = process_ring_write(&child.out, record, bytes);
    while (answer == PROCESS_RING_NONE) {
        (void)atomic_exchange(&child_share()->process_wants_room, 1); /* [S] */
        answer = process_ring_write(&child.out, record, bytes);
        if (answer != PROCESS_RING_NONE)
            break;
        child_wait_for_room();
        answer = process_ring_write(&child.out, record, bytes);
    }
    (void)pthread_mutex_unlock(&child.mutex);
    if (answer == PROCESS_RING_SPOILT)
        _exit(126);
}

/* Senders that live here are the actor to others. */
static uint64_t child_sender(axo_ref sender)
{
    char path[8];
    if (axo_ref_equal(sender, child.self))
        return 0;
    return axo_system_path(child.system, sender, path, sizeof path) == AXO_EGONE ? sender.bits : 0;
}

static axo_status child_stray(void *user, axo_ref to, const axo_message *message)
{
    const bool unknown =
        message->size == 0 && message->payload != NULL && message->payload != child.given;
    (void)user;
    if (child.map.share == NULL || unknown || message->tag >= AXO_TAG_SERVICES ||
        message->size > process_ring_max(child.map.ring_bytes))
        return AXO_EGONE;
    process_record record = {.kind = PROCESS_SEND, .size = message->size, .to = to.bits,
                             .from = child_sender(message->sender), .tag = message->tag,
                             .flags = axo_ref_is_none(message->sender)};
    child_write(&record, message->payload);
    child_wake_host();
    return AXO_OK;
}

/* Lines that the host would not write by itself. */
static void child_line(void *user, const axo_log_record *line)
{
    (void)user;
    bool wanted = line->event == AXO_LOG_FAILURE_AGAIN || line->event == AXO_LOG_HOOK ||
                  line->event == AXO_LOG_LINE;
    if (child.map.share == NULL || !wanted)
        return;
    process_record record = {.kind = PROCESS_LINE, .tag = line->level,
                             .size = (uint32_t)strnlen(line->text, AXO_FAILURE_TEXT_MAX - 1)};
    child_write(&record, line->text);
}

/* ---- from the host ---- */

static bool child_take_order(void)
{
    process_share *share = child_share();
    if (atomic_load_explicit(&share->ordered, memory_order_acquire) == child.ordered)
        return false;
    child.order = share->orders[child.ordered++ % PROCESS_ORDERS];
    if (child.order.what == PROCESS_LEAVE)
        child.leaving = true;
    if (child.order.what == PROCESS_STOP)
        child.stopping = true;
    return true;
}

/* The message that pre_restart is shown: this system's, or one that only the host knows. */
static const axo_message *child_shown(const process_failure *failure, const axo_message *here,
                                      axo_message *room)
{
    if (failure->has_message == 0)
        return NULL;
    if (failure->tag == 0)
        return child.reported ? here : NULL;
    *room = (axo_message){.tag = failure->tag, .sender = failure->sender};
    return room;
}

/* Tells of a failure. `under`: whether it may be the message that the actor was given. */
static void child_report(const axo_failure *failure)
{
    process_failure said;
    const uint64_t current = atomic_load(&child.current);
    bool under = current != 0 && failure->has_message != 0 &&
                 failure->tag == child.current_tag && failure->sender.bits == child.current_from;
    process_failure_pack(&said, failure);
    process_record record = {.kind = PROCESS_FAIL, .size = sizeof said,
                             .number = under ? current : 0};
    child_write(&record, &said);
}

/* The actor has failed; waits for the answer. */
static axo_directive child_decides(axo_ctx *ctx, void *state, const axo_failure *failure,
                                   void *user)
{
    (void)ctx;
    (void)state;
    (void)user;
    if (child.empty || child.leaving)
        return AXO_RESTART;
    if (child.stopping)
        return AXO_STOP;
    child_report(failure);
    if (!child.started) {
        atomic_store(&child_share()->state, PROCESS_NOT_STARTED);
        process_wake(child.wake_fd);
        child_exit();
    }
    child_wake_host();
    atomic_store(&child_share()->busy, 0);
    while (!child_take_order()) {
        child_wait(1000, -1);
        process_wake(child.wake_fd); /* lest a Resume goes unnoticed */
    }
    atomic_fetch_add(&child_share()->progress, 1);
    atomic_store(&child_share()->busy, 1);
    child.reported = child.leaving;
    if (child.leaving)
        return AXO_RESTART;
    return child.stopping ? AXO_STOP : AXO_RESUME;
}

/* ---- the actor ---- */

static axo_status child_construct(axo_ctx *ctx, void *state, const void *args)
{
    if (child.leaving)
        child_exit();
    if (child.empty || child.cls->construct == NULL)
        return AXO_OK;
    return child.cls->construct(ctx, state, args);
}

/* A start that cannot be is told as a failure of construct is. */
static _Noreturn void child_not_started(int32_t code, const char *text)
{
    const axo_failure failure = {.kind = AXO_FAILURE_ORDINARY, .site = AXO_SITE_CONSTRUCT,
                                 .code = code, .root_kind = AXO_FAILURE_ORDINARY,
                                 .root_code = code, .text = text, .original_text = ""};
    child_report(&failure);
    atomic_store(&child_share()->state, PROCESS_NOT_STARTED);
    process_wake(child.wake_fd);
    child_exit();
}

/* The hook is over: what follows it, a message that it has sent itself too, is confined. */
static void child_begin(void)
{
    child.host_fd = axo_host_fd(child.system);
    int error = process_confine(child_share()->confine);
    if (error == EBUSY)
        child_not_started(error, "it has threads, and is to be confined");
    if (error != 0)
        child_not_started(error, "it cannot be confined");
    child.begun = true;
}

static axo_status child_pre_start(axo_ctx *ctx, void *state)
{
    if (child.empty)
        return AXO_OK;
    axo_status status = child.cls->pre_start != NULL ? child.cls->pre_start(ctx, state) : AXO_OK;
    if (status == AXO_OK && child_share()->restarted == 0)
        child_begin();
    return status;
}

static axo_status child_post_restart(axo_ctx *ctx, void *state, const axo_failure *unused)
{
    axo_failure failure;
    (void)unused;
    process_failure_unpack(&child_share()->failure, &failure);
    axo_status status = child.cls->post_restart != NULL
                            ? child.cls->post_restart(ctx, state, &failure)
                            : axo_default_post_restart(ctx, state, &failure);
    if (status == AXO_OK)
        child_begin();
    return status;
}

static axo_status child_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    if (child.leaving || child.stopping) {
        /* what is left here ends with the process; the one in hand has not begun, so it is the next
         * instance's */
        atomic_store(&child_share()->running, 0);
        return axo_fail(ctx, 0, "it is to leave");
    }
    axo_status status = child.cls->receive(ctx, state, message);
    if (atomic_load_explicit(&child.current, memory_order_relaxed) != 0 &&
        process_ring_waits(&child.in)) /* the next one, when this one is handled; else the loop's */
        (void)axo_send(ctx, child.feeder, 1, NULL, 0);
    return status;
}

static axo_status child_pre_restart(axo_ctx *ctx, void *state, const axo_failure *unused,
                                    const axo_message *message)
{
    axo_failure failure;
    axo_message room;
    (void)unused;
    if (child.empty) {
        child.empty = false; /* the next one is not */
        return AXO_OK;
    }
    process_failure_unpack(&child.order.failure, &failure);
    message = child_shown(&child.order.failure, message, &room);
    if (child.cls->pre_restart != NULL)
        return child.cls->pre_restart(ctx, state, &failure, message);
    return axo_default_pre_restart(ctx, state, &failure, message);
}

static axo_status child_post_stop(axo_ctx *ctx, void *state)
{
    child.stopped = true;
    return child.cls->post_stop != NULL ? child.cls->post_stop(ctx, state) : AXO_OK;
}

static const axo_class *child_find(const char *name)
{
    for (uint32_t i = 0; i < child.class_count; i++) {
        const axo_class *it = child.classes[i];
        if (it != NULL && it->name != NULL && strcmp(it->name, name) == 0)
            return it;
    }
    return NULL;
}

void process_child_prepare(const axo_class *const *classes, uint32_t count)
{
    static const axo_strategy decides = AXO_STRATEGY(.decider = child_decides);
    static const axo_remote remote = AXO_REMOTE(.stray = child_stray);
    axo_options options = AXO_OPTIONS(.manual = AXO_MANUAL_ALL, .remote = &remote,
                                      .log_record = child_line, .user_strategy = &decides,
                                      .failure_log = UINT32_MAX, .no_dead_letter_log = 1);
    child.classes = classes;
    child.class_count = count;
    child.wake_fd = -1;
    child.host_fd = -1;
    int error = pthread_mutex_init(&child.mutex, NULL);
    if (error != 0)
        child_die("a mutex", error);
    axo_status status = axo_system_start(&options, &child.system);
    if (status != AXO_OK)
        child_die(axo_status_text(status), errno);
}

/* Whether the system has nothing to do before its next deadline. */
static bool child_rests(void)
{
    return axo_host_deadline(child.system) > axo_system_now(child.system);
}

static void child_turn(void)
{
    process_share *share = child_share();
    atomic_fetch_add_explicit(&share->progress, 1, memory_order_relaxed);
    atomic_store_explicit(&share->busy, 1, memory_order_release);
    (void)axo_run_host(child.system, CHILD_BUDGET_NS, NULL);
    atomic_store_explicit(&share->busy, 0, memory_order_release);
}

static void *child_args(void)
{
    uint64_t size = child_share()->args_size;
    void *copy = NULL;
    if (size == 0)
        return NULL;
    if (posix_memalign(&copy, 64, (size_t)size) != 0)
        child_not_started(AXO_ENOMEM, "no memory for its arguments");
    memcpy(copy, child.map.args, (size_t)size);
    return copy;
}

static void child_spawn(void)
{
    const process_share *share = child_share();
    child.own = (axo_class)AXO_CLASS(
        .name = child.cls->name, .state_size = child.cls->state_size,
        .construct = child_construct, .pre_start = child_pre_start, .receive = child_receive,
        .post_stop = child_post_stop, .pre_restart = child_pre_restart,
        .post_restart = child_post_restart, .tag_name = child.cls->tag_name,
        .settle = child.cls->settle, .user = child.cls->user);
    axo_props props = AXO_PROPS(.cls = &child.own, .args = child_args(),
                                .name = share->name[0] != 0 ? share->name : NULL);
    axo_status status = axo_system_spawn(child.system, &props, &child.self);
    if (status != AXO_OK)
        child_not_started(status, axo_status_text(status));
}

/* The empty instance is there; others are when they have begun. */
static bool child_settled(void)
{
    return child.empty && child_rests();
}

/* The first instance is made, or that of a restart. A failure on the way ends the process. */
static void child_start(void)
{
    const process_share *share = child_share();
    child.empty = share->restarted != 0;
    child_spawn();
    while (!child.begun && !child_settled())
        child_turn();
    if (share->restarted == 0)
        return;
    axo_status status = axo_system_fail(child.system, child.self, AXO_FAILURE_ORDINARY, 0);
    if (status != AXO_OK)
        child_not_started(status, axo_status_text(status));
    while (!child.begun)
        child_turn();
}

/* ---- the loop ---- */

/* The actor, or whoever it has passed it to, is done with a message. Those that it had put aside
 * when it ended are nobody's. */
static void child_handled(void *payload, void *user)
{
    child_message *message = user;
    (void)payload;
    uint64_t number = message->number;
    bool in_hand = atomic_compare_exchange_strong(&child.current, &number, 0);
    if (child.stopped && in_hand) /* it came when the actor had ended */
        atomic_store(&child_share()->running, 0);
    if (!child.stopped && !child.leaving) {
        process_record record = {.kind = PROCESS_HANDLED, .number = message->number};
        child_write(&record, NULL);
    }
    free(message);
}

static bool child_give(axo_ctx *ctx, const process_record *record, const void *bytes)
{
    child_message *message = NULL;
    axo_draft *draft;
    if (posix_memalign((void **)&message, 64, sizeof *message + record->size) != 0)
        return false;
    message->number = record->number;
    if (record->size > 0)
        memcpy(message->bytes, bytes, record->size);
    const axo_owned owned = {.payload = message->bytes, .size = record->size,
                             .destroy = child_handled, .user = message};
    if (axo_message_owning(ctx, record->tag, &owned, &draft) != AXO_OK) {
        free(message);
        return false;
    }
    (void)axo_draft_from(ctx, draft, (axo_ref){.bits = record->from});
    child.given = message->bytes;
    child.current_tag = record->tag;
    child.current_from = record->from;
    child.turns = 0;
    atomic_store(&child.current, record->number);
    atomic_fetch_add_explicit(&child_share()->progress, 1, memory_order_relaxed);
    atomic_store_explicit(&child_share()->running, record->number, memory_order_release);
    process_ring_done(&child.in);
    if (axo_send_message(ctx, child.self, draft) != AXO_OK)
        axo_message_discard(ctx, draft);
    return true;
}

/* Messages come from an actor, since only an actor sends payloads of its own in another's name. It
 * is told by the loop, and by the actor, which so goes from one message to the next while the loop
 * stands still. */
static axo_status child_feed(axo_ctx *ctx, void *state, const axo_message *unused)
{
    process_record record;
    const void *bytes;
    (void)state;
    (void)unused;
    if (child.leaving || child.stopping || child.stopped || atomic_load(&child.current) != 0)
        return AXO_OK;
    if (process_ring_read(&child.in, &record, &bytes) == PROCESS_RING_OK &&
        !child_give(ctx, &record, bytes))
        child.short_of_memory = true;
    return AXO_OK;
}

static void child_spawn_feeder(void)
{
    static const axo_class cls = AXO_CLASS(.name = "feeder", .receive = child_feed);
    axo_props props = AXO_PROPS(.cls = &cls, .name = "feeder", .system_actor = 1);
    axo_status status = axo_system_spawn(child.system, &props, &child.feeder);
    if (status != AXO_OK)
        child_die(axo_status_text(status), errno);
}

/* Takes an order that has come while nothing is handled. */
static void child_obey(void)
{
    if (child.leaving)
        (void)axo_system_fail(child.system, child.self, AXO_FAILURE_ORDINARY, 0);
    else if (child.stopping)
        (void)axo_system_stop_actor(child.system, child.self);
}

/* The message in hand has been put aside, or is with others, if the system has nothing more to do;
 * if others never rest the actor has had its turn among them before long. */
static void child_let_go(void)
{
    if (atomic_load(&child.current) != 0 && (child_rests() || child.turns > 4))
        atomic_store(&child.current, 0);
    if (atomic_load(&child.current) == 0)
        atomic_store_explicit(&child_share()->running, 0, memory_order_release);
}

static int child_timeout(void)
{
    int64_t left = axo_host_deadline(child.system) - axo_system_now(child.system);
    if (child.short_of_memory) {
        child.short_of_memory = false;
        return 10;
    }
    if (left <= 0)
        return 0;
    return left < INT64_C(1000000000) ? (int)(left / 1000000) + 1 : 1000;
}

/* Whether no message is to be given to the actor now. */
static bool child_idles(void)
{
    return child.leaving || child.stopping || child.short_of_memory ||
           !process_ring_waits(&child.in);
}

static void child_sleep(void)
{
    process_share *share = child_share();
    child_wake_host();
    (void)atomic_exchange(&share->process_sleeps, 1); /* [S] */
    if (child_idles() && atomic_load(&share->ordered) == child.ordered)
        child_wait(child_timeout(), child.host_fd);
    atomic_store(&share->process_sleeps, 0);
}

static void child_ended(void)
{
    if (!child.stopping && !child.leaving) {
        const process_record record = {.kind = PROCESS_ENDED};
        child_write(&record, NULL);
    }
    child_wake_host();
    child_exit();
}

static _Noreturn void child_loop(void)
{
    for (;;) {
        if (child_take_order())
            child_obey();
        if (atomic_load(&child.current) == 0 && process_ring_waits(&child.in) &&
            !child.leaving && !child.stopping)
            (void)axo_system_send(child.system, child.feeder, 1, NULL, 0);
        child_turn();
        child.turns++;
        child_let_go();
        if (child.stopped && !child.leaving && child_rests())
            child_ended();
        if (child_rests() && child_idles())
            child_sleep();
    }
}

/* Nothing of the program has run in this process before. */
static void child_open(int share_fd, int wake_fd)
{
    child.wake_fd = wake_fd;
    if (!process_share_map(share_fd, &child.map))
        child_die("its memory", errno);
    (void)close(share_fd);
    process_share *share = child_share();
    process_ring_init(&child.in, &share->to_process, child.map.to_process, child.map.ring_bytes);
    process_ring_init(&child.out, &share->to_host, child.map.to_host, child.map.ring_bytes);
    child.cls = child_find(share->cls);
    if (child.cls == NULL)
        child_not_started(AXO_ENOENT, "its program does not know the class");
    int error = share->memory_max > 0 ? process_confine_memory(share->memory_max) : 0;
    if (error != 0)
        child_not_started(error, "its memory cannot be bounded");
}

_Noreturn void process_child_run(int share_fd, int wake_fd)
{
    child_open(share_fd, wake_fd);
    child_spawn_feeder();
    child_start();
    child.started = true;
    uint32_t starting = PROCESS_STARTING;
    if (!atomic_compare_exchange_strong(&child_share()->state, &starting, PROCESS_LIVE))
        child_exit();
    process_wake(child.wake_fd);
    child_loop();
}

bool process_child_self(axo_ctx *ctx, axo_ref *out)
{
    if (child.map.share == NULL || axo_system_of(ctx) != child.system)
        return false;
    *out = (axo_ref){.bits = child_share()->self};
    return true;
}
