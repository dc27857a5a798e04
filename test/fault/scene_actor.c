/* scene_actor.c - scenes of what an actor has: memory, behaviours, stash, mailboxes, failures. */
#include "fault/scenes.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* ---- memory of an instance, behaviours, stash ------------------------------------------------ */

static void actor_nothing(void *arg)
{
}

static axo_status actor_other_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    return message->tag == WORLD_QUIT ? axo_stop_self(ctx) : AXO_OK;
}

static axo_status actor_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    world *w = *(world **)state;
    switch (message->tag) {
    case WORLD_NOTE:
        for (uint32_t i = 0; i < 3; i++) {
            axo_status status = TRY(w, axo_alloc(ctx, 300) != NULL ? AXO_OK : AXO_ENOMEM);
            MUST(w, status == AXO_OK || status == AXO_ENOMEM);
            (void)TRY(w, axo_defer(ctx, actor_nothing, NULL));
        }
        (void)TRY(w, axo_alloc(ctx, 10000) != NULL ? AXO_OK : AXO_ENOMEM);
        return AXO_OK;
    case WORLD_PONG:
        for (uint32_t i = 0; i < 20; i++)
            (void)TRY(w, axo_become(ctx, actor_other_receive));
        return axo_unbecome(ctx);
    case WORLD_FAIL:
        return axo_fail(ctx, 4, "an instance goes, with all it has");
    default:
        return AXO_OK;
    }
}

static axo_status actor_construct(axo_ctx *ctx, void *state, const void *args)
{
    memcpy(state, args, sizeof(world *));
    return AXO_OK;
}

static const axo_class actor_class =
    AXO_CLASS(.state_size = sizeof(world *), .construct = actor_construct,
              .receive = actor_receive);

/* Not refused: what a scene stands on. */
static axo_ref actor_given(world *w, const axo_class *cls, const axo_mailbox *mailbox)
{
    axo_props props = world_props(&w);
    axo_ref ref;
    props.cls = cls;
    props.mailbox = mailbox;
    refuse_pause();
    MUST(w, axo_system_spawn(w->system, &props, &ref) == AXO_OK);
    world_run(w);
    refuse_resume();
    return ref;
}

static void actor_memory(world *w)
{
    static const uint32_t tags[] = {WORLD_NOTE, WORLD_FAIL, WORLD_NOTE, WORLD_PONG, WORLD_FAIL};
    w->ref = actor_given(w, &actor_class, NULL);
    for (uint32_t i = 0; i < 5; i++) {
        world_post(w, w->ref, tags[i]);
        world_run(w);
    }
}

static axo_status actor_stasher_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    world *w = *(world **)state;
    if (message->tag == WORLD_QUIT)
        return axo_unstash_all(ctx);
    if (message->tag == WORLD_FAIL)
        return axo_fail(ctx, 4, "with a stash");
    uint32_t count = axo_stash_count(ctx);
    axo_status status = TRY(w, axo_stash(ctx));
    MUST(w, axo_stash_count(ctx) == count + (status == AXO_OK));
    return AXO_OK;
}

static const axo_class actor_stasher_class =
    AXO_CLASS(.state_size = sizeof(world *), .construct = actor_construct,
              .receive = actor_stasher_receive);

static void actor_stash(world *w)
{
    static const uint32_t tags[] = {WORLD_NOTE, WORLD_NOTE, WORLD_FAIL, WORLD_NOTE, WORLD_QUIT};
    w->ref = actor_given(w, &actor_stasher_class, NULL);
    for (uint32_t i = 0; i < 5; i++) {
        world_post(w, w->ref, tags[i]);
        world_run(w);
    }
}

/* ---- more ready actors than the first ring of a worker's queue has room for ------------------ */

enum { ACTOR_MANY = 1100 };

typedef struct actor_many {
    axo_ref refs[ACTOR_MANY];
    uint32_t sent;
    uint32_t handled;
} actor_many;

static axo_status actor_many_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    world *w = *(world **)state;
    actor_many *many = w->user;
    many->handled++;
    return AXO_OK;
}

static const axo_class actor_many_class =
    AXO_CLASS(.state_size = sizeof(world *), .construct = actor_construct,
              .receive = actor_many_receive);

static axo_status actor_teller_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    world *w = *(world **)state;
    actor_many *many = w->user;
    for (uint32_t i = 0; i < ACTOR_MANY; i++)
        many->sent += MAY(w, axo_send(ctx, many->refs[i], WORLD_NOTE, NULL, 0)) == AXO_OK;
    return AXO_OK;
}

static const axo_class actor_teller_class =
    AXO_CLASS(.state_size = sizeof(world *), .construct = actor_construct,
              .receive = actor_teller_receive);

static void actor_ready(world *w)
{
    actor_many many = {.sent = 0};
    w->user = &many;
    w->ref = actor_given(w, &actor_teller_class, NULL);
    for (uint32_t i = 0; i < ACTOR_MANY; i++)
        many.refs[i] = actor_given(w, &actor_many_class, NULL);
    world_post(w, w->ref, WORLD_NOTE);
    world_run(w);
    MUST(w, many.handled == many.sent);
}

/* ---- watched descriptors: more than the first chunk of records and the first table hold ------ */

enum { ACTOR_WATCHES = 70 };

typedef struct actor_io {
    int fds[ACTOR_WATCHES];   /* the actor's while it watches them; -1: closed */
    uint32_t watched;
    uint32_t ready;
} actor_io;

static axo_status actor_io_watch(axo_ctx *ctx, world *w, actor_io *io)
{
    for (uint32_t i = 0; i < ACTOR_WATCHES; i++) {
        io->fds[i] = eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC);
        MUST(w, io->fds[i] >= 0);
        axo_status status = TRY(w, axo_io_watch(ctx, io->fds[i], AXO_IO_IN, AXO_IO_OWN));
        io->watched += status == AXO_OK;
        if (status == AXO_OK)
            continue;
        MUST(w, axo_io_unwatch(ctx, io->fds[i]) == AXO_ENOENT);
        MUST(w, close(io->fds[i]) == 0); /* it has stayed the caller's */
        io->fds[i] = -1;
    }
    return AXO_OK;
}

static axo_status actor_io_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    world *w = *(world **)state;
    actor_io *io = w->user;
    eventfd_t count = 0;
    if (message->tag == WORLD_NOTE)
        return actor_io_watch(ctx, w, io);
    if (message->tag == WORLD_FAIL)
        return axo_fail(ctx, 4, "an instance goes, with all it watches");
    if (message->tag != AXO_IO_READY)
        return AXO_OK;
    int fd = AXO_PAYLOAD(message, axo_io_ready)->fd;
    io->ready++;
    MUST(w, eventfd_read(fd, &count) == 0 && count == 1); /* told once of each */
    return axo_io_blocked(ctx, fd, AXO_IO_IN);
}

static const axo_class actor_io_class = AXO_CLASS(
    .state_size = sizeof(world *), .construct = actor_construct, .receive = actor_io_receive);

/* A readiness whose message finds no memory comes when there is some. */
static void actor_watches(world *w)
{
    actor_io io = {.watched = 0};
    w->user = &io;
    w->ref = actor_given(w, &actor_io_class, NULL);
    world_post(w, w->ref, WORLD_NOTE);
    world_run(w);
    refuse_pause();
    MUST(w, io.ready == io.watched || /* the host is due again by itself */
                axo_host_deadline(w->system) <= axo_system_now(w->system) + WORLD_MS);
    for (uint32_t i = 0; i < 3; i++)
        world_advance(w, WORLD_MS);
    MUST(w, io.ready == io.watched);
    refuse_resume();
    if (world_rich(w))
        MUST(w, io.watched == ACTOR_WATCHES);
    uint32_t watched = io.watched;
    world_post(w, w->ref, WORLD_FAIL);
    world_run(w);
    for (uint32_t i = 0; i < ACTOR_WATCHES && watched > 0; i++)
        MUST(w, io.fds[i] < 0 || fcntl(io.fds[i], F_GETFD) < 0);
}

/* ---- mailboxes ------------------------------------------------------------------------------ */

static uint32_t actor_priority(const axo_message *message, void *user)
{
    return message->size % 5;
}

static const axo_mailbox actor_boxes[] = {
    AXO_MAILBOX(.kind = AXO_MAILBOX_PRIORITY, .priority = actor_priority),
    AXO_MAILBOX(.kind = AXO_MAILBOX_CONTROL, .priority = actor_priority, .messages_max = 5,
                .overflow = AXO_OVERFLOW_DROP_OLD),
    AXO_MAILBOX(.messages_max = 3, .overflow = AXO_OVERFLOW_REFUSE),
    AXO_MAILBOX(.messages_max = 3, .overflow = AXO_OVERFLOW_DROP_NEW),
    AXO_MAILBOX(.bytes_max = 500, .overflow = AXO_OVERFLOW_PARK),
    AXO_MAILBOX(.kind = AXO_MAILBOX_PRIORITY, .priority = actor_priority, .messages_max = 4,
                .overflow = AXO_OVERFLOW_PARK, .park_ns = WORLD_S),
};

/* Sends more than there is room for to whoever the message names. */
static axo_status actor_source_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    static const char payload[100];
    world *w = *(world **)state;
    if (message->tag != WORLD_NOTE)
        return AXO_OK;
    for (uint32_t i = 0; i < 12; i++) {
        axo_status status = TRY(w, axo_send(ctx, w->other, WORLD_NOTE, payload, i * 7 % 100));
        MUST(w, status == AXO_OK || status == AXO_ENOMEM || status == AXO_EFULL ||
                    status == AXO_EGONE);
    }
    return AXO_OK;
}

static const axo_class actor_source_class =
    AXO_CLASS(.state_size = sizeof(world *), .construct = actor_construct,
              .receive = actor_source_receive);

static void actor_mailboxes(world *w)
{
    axo_ref source = actor_given(w, &actor_source_class, NULL);
    for (uint32_t i = 0; i < sizeof actor_boxes / sizeof actor_boxes[0]; i++) {
        axo_props props = world_props(&w);
        props.mailbox = &actor_boxes[i];
        if (TRY(w, axo_system_spawn(w->system, &props, &w->other)) != AXO_OK)
            continue;
        world_run(w);
        world_post(w, source, WORLD_NOTE);
        world_run(w);
        world_post(w, w->other, WORLD_FAIL);
        world_post(w, source, WORLD_NOTE);
        world_advance(w, 2 * WORLD_S);
        MUST(w, axo_system_stop_actor(w->system, w->other) == AXO_OK);
        world_run(w);
    }
}

/* A priority mailbox in which more and more wait: its order needs room. */
static void actor_crowd(world *w)
{
    static const char payload[8];
    w->other = actor_given(w, &plain_class, &actor_boxes[0]);
    for (uint32_t i = 0; i < 300; i++) {
        if (i % 100 == 50)
            world_post(w, w->other, WORLD_FAIL);
        (void)TRY(w, axo_system_send(w->system, w->other, WORLD_NOTE, payload, i % 8));
    }
    world_run(w);
}

/* ---- failures and what supervisors keep for them --------------------------------------------- */

static const axo_backoff actor_backoff = AXO_BACKOFF(.min_ns = WORLD_MS, .max_ns = 5 * WORLD_MS);
static const axo_strategy actor_strategies[] = {
    AXO_STRATEGY(.decider = axo_decide_restart, .limited = 1, .retries_max = 2,
                 .within_ns = WORLD_S),
    AXO_STRATEGY(.decider = axo_decide_restart, .limited = 1, .retries_max = 3,
                 .within_ns = WORLD_S, .window = AXO_WINDOW_SLIDING),
    AXO_STRATEGY(.decider = axo_decide_restart, .backoff = &actor_backoff,
                 .scope = AXO_ALL_FOR_ONE),
    AXO_STRATEGY(.decider = axo_decide_restart, .scope = AXO_REST_FOR_ONE),
    AXO_STRATEGY(.decider = axo_decide_stop, .scope = AXO_ALL_FOR_ONE),
    AXO_STRATEGY(.decider = axo_decide_escalate),
};

typedef struct actor_boss {
    world *w;
    axo_ref children[3];
} actor_boss;

static axo_status actor_boss_start(axo_ctx *ctx, void *state)
{
    actor_boss *boss = state;
    world *w = boss->w;
    axo_props props = world_props(&w);
    props.cls = &plain_class;
    for (uint32_t i = 0; i < 3; i++) {
        props.lifetime = (axo_lifetime)i;
        axo_status status = TRY(w, axo_spawn(ctx, &props, &boss->children[i]));
        MUST(w, status == AXO_OK || status == AXO_ENOMEM);
    }
    return AXO_OK;
}

/* A note: the first child fails; a pong: the next. */
static axo_status actor_boss_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    actor_boss *boss = state;
    uint32_t which = message->tag == WORLD_NOTE ? 0 : 1;
    if (message->tag == WORLD_FAIL)
        return axo_fail(ctx, 2, "the boss");
    if (!axo_ref_is_none(boss->children[which]))
        (void)TRY(boss->w, axo_send(ctx, boss->children[which], WORLD_FAIL, NULL, 0));
    return AXO_OK;
}

static const axo_class actor_boss_class =
    AXO_CLASS(.state_size = sizeof(actor_boss), .construct = actor_construct,
              .pre_start = actor_boss_start, .receive = actor_boss_receive);

static void actor_supervision(world *w)
{
    for (uint32_t i = 0; i < sizeof actor_strategies / sizeof actor_strategies[0]; i++) {
        axo_props props = world_props(&w);
        props.cls = &actor_boss_class;
        props.strategy = &actor_strategies[i];
        if (TRY(w, axo_system_spawn(w->system, &props, &w->ref)) != AXO_OK)
            continue;
        world_run(w);
        for (uint32_t k = 0; k < 4; k++) {
            world_post(w, w->ref, k % 2 == 0 ? WORLD_NOTE : WORLD_PONG);
            world_advance(w, 10 * WORLD_MS);
        }
        world_post(w, w->ref, WORLD_FAIL);
        world_advance(w, 10 * WORLD_MS);
        (void)axo_system_stop_actor(w->system, w->ref);
        world_run(w);
    }
}

/* ---- machine -------------------------------------------------------------------------------- */

typedef struct actor_gate {
    world *w;
    axo_machine machine;
} actor_gate;

static axo_status actor_shut_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    return message->tag == WORLD_NOTE ? axo_machine_goto(ctx, &((actor_gate *)state)->machine, 1)
                                      : AXO_OK;
}

static axo_status actor_open_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    return message->tag == AXO_STATE_TIMEOUT
               ? axo_machine_goto(ctx, &((actor_gate *)state)->machine, 0)
               : AXO_OK;
}

static const axo_machine_state actor_gate_states[] = {
    {.name = "shut", .receive = actor_shut_receive, .timeout_ns = WORLD_S},
    {.name = "open", .receive = actor_open_receive, .timeout_ns = WORLD_S},
};
static const axo_machine_table actor_gate_table = AXO_MACHINE_TABLE(actor_gate_states, 0);

static axo_status actor_gate_start(axo_ctx *ctx, void *state)
{
    actor_gate *gate = state;
    return TRY(gate->w, axo_machine_start(ctx, &gate->machine, &actor_gate_table, gate));
}

/* No memory for the timeout of the next state: a failure. */
static axo_status actor_gate_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    actor_gate *gate = state;
    return TRY(gate->w, axo_machine_receive(ctx, &gate->machine, gate, message));
}

static const axo_class actor_gate_class =
    AXO_CLASS(.state_size = sizeof(actor_gate), .construct = actor_construct,
              .pre_start = actor_gate_start, .receive = actor_gate_receive);

static void actor_machine(world *w)
{
    axo_props props = world_props(&w);
    props.cls = &actor_gate_class;
    if (TRY(w, axo_system_spawn(w->system, &props, &w->ref)) != AXO_OK)
        return;
    world_run(w);
    for (uint32_t i = 0; i < 3; i++) {
        world_post(w, w->ref, WORLD_NOTE);
        world_advance(w, 2 * WORLD_S + WORLD_S / 2);
    }
}

/* Who waits is kept from one look to the next. */
static void actor_health(world *w)
{
    axo_health_report report = AXO_HEALTH_REPORT(.count = 9);
    axo_props props = world_props(&w);
    props.name = "waits";
    if (TRY(w, axo_system_spawn(w->system, &props, &w->ref)) != AXO_OK)
        return;
    world_run(w);
    for (uint32_t i = 0; i < 3; i++) {
        world_post(w, w->ref, WORLD_NOTE);
        report.count = 9;
        axo_status status = TRY(w, axo_health(w->system, 60 * WORLD_S, &report));
        MUST(w, report.count == (status == AXO_OK ? 0 : 9));
    }
    world_run(w);
}

/* A send that is refused leaves the handler's trace as it was, and the next send carries it. */
static void actor_traced_handler(axo_ctx *ctx, world *w)
{
    static const char payload[3000];
    const axo_owned owned = {.payload = w, .size = 4};
    axo_trace_context before;
    axo_trace_context after;
    axo_draft *draft;
    void *room;
    MUST(w, axo_trace_context_new(ctx, AXO_TRACE_SAMPLED) == AXO_OK);
    MUST(w, axo_trace_context_of(ctx, &before) == AXO_OK);
    for (size_t size = 0; size <= sizeof payload; size += size < 24 ? 8 : 744) {
        axo_status status = TRY(w, axo_send(ctx, w->ref, WORLD_NOTE, payload, size));
        MUST(w, status == AXO_OK || status == AXO_ENOMEM);
        status = TRY(w, axo_send_after(ctx, WORLD_MS, w->ref, WORLD_NOTE, payload, size));
        MUST(w, status == AXO_OK || status == AXO_ENOMEM);
        status = TRY(w, axo_timer_start(ctx, size, AXO_TIMER_ONCE, WORLD_MS, 0, WORLD_NOTE, payload,
                                        size));
        MUST(w, axo_timer_active(ctx, size) == (status == AXO_OK));
        if (TRY(w, axo_message_new(ctx, WORLD_NOTE, size, &draft, &room)) == AXO_OK)
            MUST(w, axo_send_message(ctx, w->ref, draft) == AXO_OK);
        MUST(w, axo_trace_context_of(ctx, &after) == AXO_OK);
        MUST(w, memcmp(&before, &after, sizeof before) == 0);
    }
    if (TRY(w, axo_message_owning(ctx, WORLD_NOTE, &owned, &draft)) == AXO_OK)
        axo_message_discard(ctx, draft);
}

static void actor_traced(world *w)
{
    const axo_trace_context trace = {{1}, {2}, 0};
    axo_props props = world_props(&w);
    if (TRY(w, axo_system_spawn(w->system, &props, &w->ref)) != AXO_OK)
        return;
    world_run(w);
    world_do(w, actor_traced_handler);
    world_advance(w, 2 * WORLD_MS);
    for (uint32_t i = 0; i < 5; i++) {
        axo_status status = TRY(w, axo_system_send_traced(w->system, w->ref, WORLD_NOTE, NULL, 0,
                                                          &trace));
        MUST(w, status == AXO_OK || status == AXO_ENOMEM);
    }
    world_run(w);
}

static axo_status actor_figured(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)state;
    return message->tag == WORLD_FAIL ? axo_fail(ctx, 1, "of another class") : AXO_OK;
}

static axo_status actor_add(void *user, const axo_metrics_class *figures)
{
    axo_metrics_class *sum = user;
    sum->handled += figures->handled;
    sum->failures += figures->failures;
    sum->restarts += figures->restarts;
    return AXO_OK;
}

static axo_status actor_text(void *user, const char *text, size_t size)
{
    *(size_t *)user += text != NULL ? size : 0;
    return AXO_OK;
}

/* Blocks, seats: no count is lost for want of them. */
static void actor_figures(world *w)
{
    axo_props props = world_props(&w);
    axo_stats stats = AXO_STATS(.sent = 0);
    axo_metrics_class sum = {.name = "all"};
    size_t size = 0;
    static const axo_class other = AXO_CLASS(.name = "other class", .receive = actor_figured);
    for (uint32_t i = 0; i < 4; i++) {
        if (i == 2)
            props = (axo_props)AXO_PROPS(.cls = &other);
        if (TRY(w, axo_system_spawn(w->system, &props, &w->ref)) != AXO_OK)
            continue;
        world_run(w);
        for (uint32_t k = 0; k < 3; k++)
            world_post(w, w->ref, k == 1 ? WORLD_FAIL : WORLD_NOTE);
        world_run(w);
    }
    MUST(w, axo_metrics_write(w->system, AXO_METRICS_OPENMETRICS, actor_text, &size) == AXO_OK);
    MUST(w, size > 1000);
    MUST(w, axo_metrics_classes(w->system, actor_add, &sum) == AXO_OK);
    MUST(w, axo_system_stats(w->system, &stats) == AXO_OK);
    MUST(w, sum.handled == stats.handled && sum.failures == stats.failures);
    MUST(w, sum.restarts == stats.restarts);
}

static const axo_options actor_figures_options = AXO_OPTIONS(.figures = AXO_FIGURES_TIMES);

const scene scenes_actor[] = {
    {.name = "memory and behaviours of an instance", .run = actor_memory},
    {.name = "stash", .run = actor_stash},
    {.name = "many that are ready", .run = actor_ready},
    {.name = "mailboxes", .run = actor_mailboxes},
    {.name = "a crowded priority mailbox", .run = actor_crowd},
    {.name = "supervision", .run = actor_supervision},
    {.name = "machine", .run = actor_machine},
    {.name = "watched descriptors", .run = actor_watches},
    {.name = "health", .run = actor_health},
    {.name = "trace contexts", .run = actor_traced},
    {.name = "figures", .run = actor_figures, .options = &actor_figures_options},
    {.name = NULL},
};
