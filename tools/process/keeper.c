/* keeper.c - a child of the actor, on the blocking dispatcher, which starts the process and waits
 * for its end: so a restart of the actor, and the notice of its end, wait for the process as for
 * any child. It waits in short pieces, between which it can be stopped. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "host.h"

/* How long it waits at a time, and for a zygote that is not there. */
enum { KEEPER_PIECE_MS = 20, KEEPER_DRAIN = 4096 };

typedef struct keeper {
    process_life *life;
    int64_t deadline;
    bool restarted;
} keeper;

typedef struct keeper_args {
    process_life *life;
    bool restarted;
} keeper_args;

static axo_status keeper_construct(axo_ctx *ctx, void *state, const void *args)
{
    keeper *me = state;
    const keeper_args *given = args;
    me->life = given->life;
    me->restarted = given->restarted;
    me->deadline = process_now() + given->life->recipe.start_ns;
    return axo_send(ctx, axo_self(ctx), PROCESS_TRY, NULL, 0);
}

static axo_status keeper_down(axo_ctx *ctx, keeper *me, int32_t code, const char *why)
{
    me->life->why_code = code;
    (void)snprintf(me->life->why, sizeof me->life->why, "%s", why);
    return axo_send(ctx, me->life->self, PROCESS_DOWN, NULL, 0);
}

static axo_status keeper_again(axo_ctx *ctx)
{
    return axo_send(ctx, axo_self(ctx), PROCESS_TRY, NULL, 0);
}

static bool keeper_late(const keeper *me)
{
    return process_now() >= me->deadline;
}

/* Waits until something is said of the process, or by it. */
static void keeper_poll(process_life *life)
{
    (void)pthread_mutex_lock(&life->mutex);
    const process_link *link = life->link;
    struct pollfd fds[] = {{.fd = link->dead ? -1 : link->life_fd, .events = POLLIN},
                           {.fd = link->wake_fd, .events = POLLIN},
                           {.fd = link->pid_fd, .events = POLLIN}};
    (void)pthread_mutex_unlock(&life->mutex);
    (void)poll(fds, 3, KEEPER_PIECE_MS);
    (void)process_wake_taken(link->wake_fd);
}

static axo_status keeper_open(axo_ctx *ctx, keeper *me)
{
    int error = process_link_open(me->life, me->restarted);
    if (error == 0)
        return keeper_again(ctx);
    if (error != EAGAIN && error != EPIPE && error != ECONNRESET)
        return keeper_down(ctx, me, error, strerror(error));
    if (keeper_late(me))
        return keeper_down(ctx, me, AXO_ETIMEDOUT, "there is no zygote");
    (void)poll(NULL, 0, KEEPER_PIECE_MS);
    return keeper_again(ctx);
}

/* Nobody has read what was written for it. */
static void keeper_close(process_life *life)
{
    (void)pthread_mutex_lock(&life->mutex);
    process_link_close(life);
    life->next_number = life->window.first;
    (void)pthread_mutex_unlock(&life->mutex);
}

/* One that has died with its zygote before it had begun is asked for again. */
static axo_status keeper_start(axo_ctx *ctx, keeper *me)
{
    process_link *link = me->life->link;
    if (link == NULL)
        return keeper_open(ctx, me);
    uint32_t state = atomic_load(&link->map.share->state);
    process_link_hear(link); /* behind it: whose process it is has been said before it began */
    if (state == PROCESS_LIVE)
        return axo_send(ctx, me->life->self, PROCESS_UP, NULL, 0);
    if (state != PROCESS_STARTING)
        return keeper_down(ctx, me, 0, "it has not started");
    if (link->dead && !link->told && !keeper_late(me)) {
        if (process_link_withdraw(link))
            keeper_close(me->life);
        return keeper_again(ctx);
    }
    if (link->dead)
        return keeper_down(ctx, me, 0, link->known ? "" : "its zygote has ended");
    if (keeper_late(me)) {
        process_link_kill(link);
        return keeper_down(ctx, me, AXO_ETIMEDOUT,
                           link->told ? "it has not started in time"
                                      : "the zygote has not answered in time");
    }
    keeper_poll(me->life);
    return keeper_again(ctx);
}

static axo_status keeper_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    keeper *me = state;
    if (message->tag != PROCESS_TRY || !axo_ref_equal(message->sender, axo_self(ctx)))
        return AXO_UNHANDLED;
    return keeper_start(ctx, me);
}

/* Whether the process has ended; what it has said is read meanwhile, lest it wait for room. */
static bool keeper_ended(axo_ctx *ctx, keeper *me)
{
    process_life *life = me->life;
    process_link *link = life->link;
    (void)pthread_mutex_lock(&life->mutex);
    process_link_hear(link);
    process_link_drain(ctx, life, KEEPER_DRAIN);
    if (link->spoilt)
        process_link_kill(link);
    struct pollfd fd = {.fd = link->pid_fd, .events = POLLIN};
    bool ended = link->pid_fd >= 0 ? poll(&fd, 1, 0) > 0 : link->dead;
    (void)pthread_mutex_unlock(&life->mutex);
    return ended;
}

/* The operating system ends what is killed; a zygote that has not said whom is left alone: it kills
 * the process when the sockets close. It may be another one than a moment ago: the job of one that
 * dies before it has begun is given on. */
static void keeper_kill(axo_ctx *ctx, keeper *me)
{
    const process_link *link = me->life->link;
    while (link->pid_fd >= 0 && !keeper_ended(ctx, me)) {
        process_link_kill(link);
        keeper_poll(me->life);
    }
}

static axo_status keeper_post_stop(axo_ctx *ctx, void *state)
{
    keeper *me = state;
    process_life *life = me->life;
    process_link *link = life->link;
    if (link == NULL)
        return AXO_OK;
    int64_t deadline = process_now() + life->recipe.stop_ns;
    (void)pthread_mutex_lock(&life->mutex);
    bool live = !process_link_withdraw(link);
    link->sent_off = live && !link->dead;
    if (link->sent_off)
        process_link_order(link, life->leave ? PROCESS_LEAVE : PROCESS_STOP,
                           life->leave ? &life->failure : NULL);
    (void)pthread_mutex_unlock(&life->mutex);
    while (live && !keeper_ended(ctx, me) && process_now() < deadline)
        keeper_poll(me->life);
    keeper_kill(ctx, me);
    return AXO_OK;
}

static const axo_class keeper_class =
    AXO_CLASS(.name = "axo process keeper", .state_size = sizeof(keeper),
              .construct = keeper_construct, .receive = keeper_receive,
              .post_stop = keeper_post_stop);

axo_status process_keeper_spawn(axo_ctx *ctx, process_life *life, bool restarted, axo_ref *out)
{
    const keeper_args args = {.life = life, .restarted = restarted};
    axo_props props = AXO_PROPS(.cls = &keeper_class, .args = &args, .args_size = sizeof args,
                                .name = "keeper", .dispatcher = AXO_DISPATCH_BLOCKING);
    axo_status status = axo_spawn(ctx, &props, out);
    return status == AXO_OK ? axo_watch(ctx, *out) : status;
}
