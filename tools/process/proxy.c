/* proxy.c - the actor here whose instances are processes.
 *
 * A message that comes is stashed, so that the runtime keeps it, and written into the ring when
 * there is room. When the process says that it has handled the oldest, that one is put back, comes
 * to receive for a second time, and is dropped. The one that the process has failed under is put
 * back, too, and receive fails under it: so to the supervisor it is the failed message.
 *
 * A failure that is under no message, or under one that is not the oldest, since the process has
 * put older ones aside, is the failure of a settle, which has none.
 *
 * A Resume calls no hook. The next callback of a failed instance that has not been restarted is
 * behind one; each failure sees to it that there is a next one.
 */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "host.h"

/* Records that are read in one callback, and how long a zygote may take to say how a process has
 * ended that is known to have. */
enum { PROXY_RECORDS = 256 };

/* What a PROCESS_LOOK is for; the timers' are their keys, too. */
enum { PROXY_AGAIN = 1, PROXY_TIMER_WATCHDOG, PROXY_TIMER_END, PROXY_TIMER_RESUMED };
#define PROXY_END_NS INT64_C(5000000000)

typedef struct proxy {
    process_life *life;
    axo_ref keeper;
    bool up;          /* the link is this actor's, too */
    bool under;       /* the next one that comes back is what it fails under */
    bool failing;     /* a failure waits to be raised: */
    uint32_t kind;
    int32_t code;
    char text[AXO_FAILURE_TEXT_MAX];
    bool failed;      /* it has been raised; nobody has answered yet, or the answer was Resume */
    bool alone;       /* ... under no message */
    bool again;       /* a PROCESS_LOOK is on its way */
    bool stopped;     /* axo_stop_self was called */
    bool ending;      /* the process has ended by itself */
    bool over;        /* nothing more is expected of the process */
    bool stuck;       /* the watchdog has killed it */
    uint64_t progress; /* as it was when the watchdog looked last */
    uint32_t still;    /* how often it was the same */
} proxy;

static axo_status proxy_construct(axo_ctx *ctx, void *state, const void *args)
{
    proxy *me = state;
    memcpy(&me->life, args, sizeof(process_life *));
    process_life *life = me->life;
    life->self = axo_self(ctx);
    process_link *link = life->link;
    uint64_t running = 0;
    if (link != NULL) { /* what the last process has said to the end */
        link->failed = false;
        process_link_drain_all(ctx, life);
        running = process_window_in_hand(life);
    }
    process_window_owe(life, running);
    process_link_close(life);
    return AXO_OK;
}

/* ---- start ---- */

static axo_status proxy_start(axo_ctx *ctx, proxy *me, const axo_failure *failure)
{
    process_life *life = me->life;
    life->leave = false;
    if (failure != NULL)
        process_failure_pack(&life->restart, failure);
    /* The zygote is asked before the keeper has a thread, which asks again if this could not. */
    (void)process_link_open(life, failure != NULL);
    return process_keeper_spawn(ctx, life, failure != NULL, &me->keeper);
}

static axo_status proxy_pre_start(axo_ctx *ctx, void *state)
{
    return proxy_start(ctx, state, NULL);
}

/* To the process it is its first instance until one has started. */
static axo_status proxy_post_restart(axo_ctx *ctx, void *state, const axo_failure *failure)
{
    proxy *me = state;
    return proxy_start(ctx, me, me->life->lived ? failure : NULL);
}

/* ---- failures ---- */

static void proxy_blame(proxy *me, uint32_t kind, int32_t code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The first one counts. */
static void proxy_blame(proxy *me, uint32_t kind, int32_t code, const char *format, ...)
{
    va_list list;
    if (me->failing)
        return;
    va_start(list, format);
    (void)vsnprintf(me->text, sizeof me->text, format, list);
    va_end(list);
    me->failing = true;
    me->kind = kind;
    me->code = code;
}

/* Sees to it that the failure is raised: under the message of this number if it is the oldest, else
 * under none. */
static void proxy_raise(axo_ctx *ctx, proxy *me, uint64_t number)
{
    process_life *life = me->life;
    process_kept *kept = number != 0 ? process_queue_at(&life->window, number) : NULL;
    bool oldest = kept != NULL && number == life->window.first && number < life->next_number;
    if (oldest && !kept->handled && axo_unstash(ctx, 1) == AXO_OK) {
        (void)process_queue_pop(&life->window);
        life->returned++;
        me->under = true;
        return;
    }
    if (kept != NULL)
        kept->handled = true;
    (void)axo_want_settle(ctx);
}

/* A tick that waits while the actor is suspended, and is seen behind a Resume. Without memory for
 * it the process sends one before long, if it waits for the answer. */
static void proxy_come_back(axo_ctx *ctx)
{
    const uint32_t timer = PROXY_TIMER_RESUMED;
    (void)axo_timer_start(ctx, timer, AXO_TIMER_ONCE, 0, 0, PROCESS_LOOK, &timer, sizeof timer);
}

static axo_status proxy_fail(axo_ctx *ctx, proxy *me)
{
    me->failing = false;
    me->failed = true;
    proxy_come_back(ctx);
    return axo_fail_as(ctx, (axo_failure_kind)me->kind, me->code, "%s", me->text);
}

static axo_status proxy_settle(axo_ctx *ctx, void *state)
{
    proxy *me = state;
    if (!me->failing || me->under)
        return AXO_OK;
    me->alone = true;
    return proxy_fail(ctx, me);
}

/* Resume: the process goes on, if there is one. */
static void proxy_resumed(proxy *me)
{
    process_link *link = me->life->link;
    me->failed = false;
    me->alone = false;
    if (link == NULL || !link->failed)
        return;
    link->failed = false;
    process_link_order(link, PROCESS_RESUME, NULL);
}

/* ---- the end of a process ---- */

static const char *proxy_signal(int number)
{
    const char *name = sigabbrev_np(number);
    return name != NULL ? name : "?";
}

static void proxy_judge(proxy *me, const process_link *link)
{
    if (me->stuck)
        proxy_blame(me, AXO_FAILURE_STUCK, 0, "no progress for %lld ms, killed",
                    (long long)(me->life->recipe.watchdog_ns / 1000000));
    else if (link->sent_off)
        proxy_blame(me, AXO_FAILURE_CRASH, 0, "its keeper was stopped");
    else if (!link->known)
        proxy_blame(me, AXO_FAILURE_CRASH, 0, "its zygote has ended, or does not answer");
    else if (WIFSIGNALED(link->status))
        proxy_blame(me, AXO_FAILURE_CRASH, WTERMSIG(link->status), "killed by SIG%s",
                    proxy_signal(WTERMSIG(link->status)));
    else
        proxy_blame(me, AXO_FAILURE_CRASH, WEXITSTATUS(link->status), "exited with status %d",
                    WEXITSTATUS(link->status));
}

static bool proxy_exited_well(const process_link *link)
{
    if (link->sent_off) /* by a keeper that somebody has stopped */
        return false;
    return link->ended ||
           (link->known && WIFEXITED(link->status) && WEXITSTATUS(link->status) == 0);
}

static void proxy_dead(axo_ctx *ctx, proxy *me, process_link *link)
{
    uint64_t in_hand = process_window_in_hand(me->life);
    process_kept *kept = process_queue_at(&me->life->window, in_hand);
    me->over = true;
    if (proxy_exited_well(link) && !me->stuck) {
        if (in_hand != 0 && kept != NULL)
            kept->handled = true;
        me->ending = true;
        return;
    }
    proxy_judge(me, link);
    link->blamed = true;
    proxy_raise(ctx, me, in_hand);
}

static void proxy_kill(axo_ctx *ctx, proxy *me, int32_t code, const char *why)
{
    process_link *link = me->life->link;
    me->over = true;
    proxy_blame(me, AXO_FAILURE_CRASH, code, "%s", why);
    uint64_t in_hand = process_window_in_hand(me->life);
    if (link != NULL) {
        link->blamed = true;
        process_link_kill(link);
    }
    proxy_raise(ctx, me, in_hand);
}

/* The process has failed, as it says. Its supervisors do not stop at the word of one that is
 * confined: what it calls fatal is a crash. */
static void proxy_told(axo_ctx *ctx, proxy *me, const process_link *link)
{
    const axo_failure *failure = &link->failure.failure;
    if (failure->kind == AXO_FAILURE_FATAL && me->life->recipe.confine != 0) {
        proxy_kill(ctx, me, failure->code, link->failure.text);
        return;
    }
    proxy_blame(me, failure->kind, failure->code, "%s", link->failure.text);
    proxy_raise(ctx, me, link->failed_under);
}

/* It has not started: what its construct has said, or how it has ended, or why there is none. */
static axo_status proxy_down(axo_ctx *ctx, proxy *me)
{
    process_life *life = me->life;
    process_link *link = life->link;
    uint32_t kind = life->lived ? AXO_FAILURE_POST_RESTART : AXO_FAILURE_INIT;
    me->over = true;
    if (link != NULL)
        process_link_drain_all(ctx, life);
    if (link != NULL && link->failed)
        return axo_fail_as(ctx, (axo_failure_kind)kind, link->failure.failure.code, "%s",
                           link->failure.text);
    if (link == NULL || !link->known)
        return axo_fail_as(ctx, (axo_failure_kind)kind, life->why_code, "%s", life->why);
    proxy_judge(me, link);
    me->failing = false;
    return axo_fail_as(ctx, (axo_failure_kind)kind, me->code, "%s before it has started", me->text);
}

/* ---- what is on its way ---- */

/* Those at the front of the window that are handled are put back, to be dropped. */
static void proxy_let_go(axo_ctx *ctx, process_life *life)
{
    process_queue *window = &life->window;
    uint32_t count = 0;
    while (count < window->count && count < UINT32_MAX &&
           process_queue_at(window, window->first + count)->handled)
        count++;
    if (count == 0 || axo_unstash(ctx, count) != AXO_OK)
        return;
    life->returned += count;
    for (; count > 0; count--)
        (void)process_queue_pop(window);
    if (life->next_number < window->first)
        life->next_number = window->first;
}

static void proxy_write(process_life *life, process_link *link)
{
    bool written = false;
    while (life->next_number < life->window.first + life->window.count) {
        const process_kept *kept = process_queue_at(&life->window, life->next_number);
        const process_record record = {.kind = PROCESS_MESSAGE, .size = kept->size,
                                       .number = life->next_number, .from = kept->sender.bits,
                                       .tag = kept->tag};
        process_ring_answer answer = process_ring_write(&link->in, &record, kept->payload);
        link->spoilt = link->spoilt || answer == PROCESS_RING_SPOILT;
        if (answer != PROCESS_RING_OK)
            break;
        life->next_number++;
        written = true;
    }
    if (written)
        process_link_wake(link);
}

static bool proxy_may_write(const proxy *me)
{
    const process_link *link = me->life->link;
    return link != NULL && !me->over && !me->failing && !me->failed && !link->spoilt;
}

/* Whether there is something to read, or room for what is to be written. */
static bool proxy_waits(const proxy *me)
{
    const process_life *life = me->life;
    const process_kept *kept = process_queue_at(&life->window, life->next_number);
    return process_link_waits(life->link) ||
           (proxy_may_write(me) && kept != NULL &&
            process_ring_has_room(&life->link->in, kept->size));
}

/* Comes back for what is left; without memory for that it is done now. */
static void proxy_rest(axo_ctx *ctx, proxy *me, process_link *link)
{
    const uint32_t again = PROXY_AGAIN;
    (void)atomic_exchange(&link->map.share->host_sleeps, 1); /* [S] */
    while (!me->again && proxy_waits(me)) {
        if (axo_send(ctx, me->life->self, PROCESS_LOOK, &again, sizeof again) == AXO_OK) {
            me->again = true;
            return;
        }
        process_link_drain(ctx, me->life, PROXY_RECORDS);
        if (proxy_may_write(me))
            proxy_write(me->life, link);
    }
}

static void proxy_stop(axo_ctx *ctx, proxy *me)
{
    if (me->stopped) { /* it was permanent, and its supervisor wants it to go on */
        proxy_blame(me, AXO_FAILURE_CRASH, 0, "its process has ended");
        proxy_raise(ctx, me, 0);
        return;
    }
    me->stopped = true;
    proxy_come_back(ctx);
    (void)axo_stop_self(ctx);
}

/* Does what there is to do, at the end of each callback. */
static void proxy_pump(axo_ctx *ctx, proxy *me)
{
    process_life *life = me->life;
    process_link *link = life->link;
    if (!me->up && proxy_may_write(me)) /* it finds them as soon as it has started */
        proxy_write(life, link);
    if (!me->up || me->failed)
        return;
    process_link_drain(ctx, life, PROXY_RECORDS);
    if (!me->under)
        proxy_let_go(ctx, life);
    if (!me->over && !me->failing) {
        if (link->spoilt)
            proxy_kill(ctx, me, 0, "spoilt ring");
        else if (link->failed)
            proxy_told(ctx, me, link);
        else if (link->dead && !process_link_waits(link))
            proxy_dead(ctx, me, link);
        else
            proxy_write(life, link);
    }
    if (me->ending && !me->under)
        proxy_let_go(ctx, life);
    if (me->ending && life->returned == 0)
        proxy_stop(ctx, me);
    proxy_rest(ctx, me, link);
}

/* ---- what comes ---- */

/* Another one is taken in: into the stash first, then into the window, which has room. */
static axo_status proxy_take(axo_ctx *ctx, proxy *me, const axo_message *message)
{
    process_life *life = me->life;
    const uint64_t ring = process_share_ring(life->recipe.ring_bytes);
    if (message->tag >= AXO_TAG_RESERVED)
        return AXO_UNHANDLED;
    if (message->size == 0 && message->payload != NULL)
        return axo_fail(ctx, AXO_EINVAL, "a payload of unknown size, for a process");
    if (message->size > process_ring_max(ring))
        return axo_fail(ctx, AXO_ETOOBIG, "a payload of %u bytes; a ring of %llu has room for %zu",
                        message->size, (unsigned long long)ring, process_ring_max(ring));
    if (!process_queue_room(&life->window, life->returned))
        return axo_fail(ctx, AXO_ENOMEM, "no memory for a message that waits");
    axo_status status = axo_stash(ctx);
    if (status != AXO_OK)
        return axo_fail(ctx, status, "%s: it has %u messages that wait", axo_status_text(status),
                        axo_stash_count(ctx));
    const process_kept kept = {.payload = message->payload, .sender = message->sender,
                               .tag = message->tag, .size = message->size};
    process_queue_push(&life->window, &kept);
    return AXO_OK;
}

/* A message of users: one that comes back, one that an earlier instance has handled, or another. */
static axo_status proxy_message(axo_ctx *ctx, proxy *me, const axo_message *message)
{
    process_life *life = me->life;
    if (life->returned > 0) {
        life->returned--;
        if (!me->under)
            return AXO_OK;
        me->under = false;
        return proxy_fail(ctx, me);
    }
    if (life->owed.count > 0 && process_queue_pop(&life->owed).handled)
        return AXO_OK;
    return proxy_take(ctx, me, message);
}

static axo_status proxy_up(axo_ctx *ctx, proxy *me)
{
    process_life *life = me->life;
    process_link *link = life->link;
    const uint32_t timer = PROXY_TIMER_WATCHDOG;
    int64_t every = life->recipe.watchdog_ns / 4;
    me->up = true;
    life->lived = true;
    axo_status status = axo_io_watch(ctx, link->wake_fd, AXO_IO_IN, 0);
    if (status == AXO_OK)
        status = axo_io_watch(ctx, link->life_fd, AXO_IO_IN, 0);
    if (status == AXO_OK && link->pid_fd >= 0)
        status = axo_io_watch(ctx, link->pid_fd, AXO_IO_IN, 0);
    if (status == AXO_OK && every > 0)
        status = axo_timer_start(ctx, timer, AXO_TIMER_FIXED_DELAY, every, every, PROCESS_LOOK,
                                 &timer, sizeof timer);
    if (status != AXO_OK)
        return axo_fail(ctx, status, "its process cannot be watched: %s", axo_status_text(status));
    return AXO_OK;
}

/* What is closed stays ready: it is watched no more. */
static void proxy_ready(axo_ctx *ctx, proxy *me, const axo_io_ready *ready)
{
    process_link *link = me->life->link;
    const uint32_t timer = PROXY_TIMER_END;
    if (!me->up)
        return;
    if (ready->fd == link->wake_fd && process_wake_taken(link->wake_fd))
        return;
    process_link_hear(link);
    if (ready->fd != link->life_fd || link->dead)
        (void)axo_io_unwatch(ctx, ready->fd);
    if (ready->fd == link->pid_fd && !link->known)
        (void)axo_timer_start(ctx, timer, AXO_TIMER_ONCE, PROXY_END_NS, 0, PROCESS_LOOK, &timer,
                              sizeof timer);
}

/* The process is at the same thing as at the last four looks. */
static void proxy_watchdog(proxy *me)
{
    process_link *link = me->life->link;
    uint64_t progress = atomic_load(&link->map.share->progress);
    bool busy = atomic_load(&link->map.share->busy) != 0;
    me->still = busy && progress == me->progress ? me->still + 1 : 0;
    me->progress = progress;
    if (me->still < 4 || link->dead)
        return;
    me->stuck = true;
    process_link_kill(link);
}

static void proxy_look(proxy *me, const axo_message *message)
{
    uint32_t what = 0;
    if (message->size == sizeof what)
        memcpy(&what, message->payload, sizeof what);
    if (what == PROXY_AGAIN)
        me->again = false;
    if (!me->up)
        return;
    if (what == PROXY_TIMER_END)
        me->life->link->dead = true;
    if (what == PROXY_TIMER_WATCHDOG)
        proxy_watchdog(me);
}

static axo_status proxy_keeper_gone(axo_ctx *ctx, proxy *me, const axo_message *message)
{
    const axo_terminated *gone = AXO_PAYLOAD(message, axo_terminated);
    if (axo_ref_equal(gone->actor, me->keeper) && !me->over && !me->ending)
        proxy_kill(ctx, me, 0, "its keeper was stopped");
    return AXO_OK;
}

static axo_status proxy_handle(axo_ctx *ctx, proxy *me, const axo_message *message)
{
    if (me->failed)
        proxy_resumed(me);
    if (message->tag == AXO_IO_READY) {
        proxy_ready(ctx, me, message->payload);
        return AXO_OK;
    }
    if (message->tag == AXO_TERMINATED)
        return proxy_keeper_gone(ctx, me, message);
    if (message->tag == PROCESS_LOOK && axo_ref_equal(message->sender, me->life->self)) {
        proxy_look(me, message);
        return AXO_OK;
    }
    if (message->tag == PROCESS_UP && axo_ref_equal(message->sender, me->keeper))
        return me->over ? AXO_OK : proxy_up(ctx, me);
    if (message->tag == PROCESS_DOWN && axo_ref_equal(message->sender, me->keeper))
        return me->over ? AXO_OK : proxy_down(ctx, me);
    if (message->tag == PROCESS_UP || message->tag == PROCESS_DOWN)
        return AXO_OK; /* of a keeper that has gone */
    return proxy_message(ctx, me, message);
}

static axo_status proxy_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    proxy *me = state;
    (void)pthread_mutex_lock(&me->life->mutex);
    axo_status status = proxy_handle(ctx, me, message);
    if (status == AXO_OK || status == AXO_UNHANDLED)
        proxy_pump(ctx, me);
    (void)pthread_mutex_unlock(&me->life->mutex);
    return status;
}

/* ---- the end of an instance ---- */

/* The keeper, which the default stops, tells the process to leave. */
static axo_status proxy_pre_restart(axo_ctx *ctx, void *state, const axo_failure *failure,
                                    const axo_message *message)
{
    proxy *me = state;
    process_life *life = me->life;
    (void)pthread_mutex_lock(&life->mutex);
    process_failure_pack(&life->failure, failure);
    life->failure.has_message = message != NULL || me->alone;
    if (message != NULL && message->tag >= AXO_TAG_RESERVED && !me->alone) {
        life->failure.tag = message->tag;
        life->failure.sender = message->sender;
    }
    life->leave = true;
    (void)pthread_mutex_unlock(&life->mutex);
    return axo_default_pre_restart(ctx, state, failure, message);
}

static axo_status proxy_post_stop(axo_ctx *ctx, void *state)
{
    const proxy *me = state;
    if (me->life->leave) /* a restart: the keeper is still there */
        return AXO_OK;
    process_link *link = me->life->link;
    if (link == NULL)
        return AXO_OK;
    link->failed = false;
    process_link_drain_all(ctx, me->life);
    return AXO_OK;
}

void process_proxy_class(axo_class *out, const axo_class *of)
{
    *out = (axo_class)AXO_CLASS(
        .name = of->name, .state_size = sizeof(proxy), .construct = proxy_construct,
        .pre_start = proxy_pre_start, .receive = proxy_receive, .post_stop = proxy_post_stop,
        .pre_restart = proxy_pre_restart, .post_restart = proxy_post_restart,
        .tag_name = of->tag_name, .settle = proxy_settle, .user = of->user);
}
