/* world.c - the simulated world: its chance, its classes, its strategies. */
#include "acts.h"

#include "crash.h"
#include "drafts.h"

#define WORLD_LIVING_MOST 400
#define WORLD_RECENT      40

#define WORLD_DECIDER_CRASHES 6 /* places for one at its end: few deciders run in a turn */

const knob_info knob_infos[KNOBS] = {
#define KNOB_INFO(word, most, text, fault) [word] = {most, fault, text},
    KNOB_LIST(KNOB_INFO)
#undef KNOB_INFO
};

orders o;

world w;

/* ---- chance ---- */

uint64_t world_mix(uint64_t a, uint64_t b)
{
    uint64_t x = (a ^ (b + UINT64_C(0x9e3779b97f4a7c15) + (a << 6) + (a >> 2)));
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

void world_begin(uint64_t base)
{
    w.now_runs.base = w.now_runs.at = base;
    memset(w.now_runs.asked, 0, sizeof w.now_runs.asked);
}

uint32_t world_below(uint32_t bound)
{
    w.now_runs.at += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t mixed = world_mix(w.now_runs.at, 1);
    return (uint32_t)((mixed >> 32) * bound >> 32);
}

static bool world_ordered(uint64_t key)
{
    uint32_t low = 0;
    uint32_t high = o.key_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (o.keys[middle] == key)
            return true;
        if (o.keys[middle] < key)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

bool world_is(knob what)
{
    uint64_t asked = w.now_runs.asked[what]++;
    uint64_t key = world_mix(w.now_runs.base, (uint64_t)what << 8 | asked);
    w.now_runs.at = key;
    if (w.calm || (uint32_t)(key >> 40 & 1023) >= w.knobs[what])
        return false;
    if (o.only && !world_ordered(key))
        return false;
    if (o.record && o.operation_count < WORLD_OPERATIONS)
        o.operations[o.operation_count++] = (operation){
            .key = key, .who = g.inside != NULL ? g.inside->bits : 0, .what = what, .life = w.life};
    return true;
}

uint32_t world_next(uint32_t bound)
{
    return axo__random_below(&w.chance, bound);
}

ghost *world_enter(axo_ctx *ctx, stream *before)
{
    ghost *me = ghost_find(axo_self(ctx).bits);
    queues_callback();
    crash_landed();
    drafts_closed();
    HOLDS(73, me, !me->broken, "a callback of an instance that has crashed");
    w.callback++;
    if (before != NULL)
        *before = w.now_runs;
    world_begin(world_mix(me->identity, ++me->acts));
    return me;
}

void world_leave(const stream *before)
{
    w.now_runs = *before;
}

axo_ref world_somebody(void)
{
    uint32_t kind = world_below(32);
    if (w.refs == 0 || kind == 0)
        return (axo_ref){.bits = UINT64_C(0x00dead0000000000) | (world_below(4096) + 1)};
    if (kind < 4 || w.refs < WORLD_RECENT)
        return w.known[world_below(w.refs)];
    return w.known[w.refs - 1 - world_below(WORLD_RECENT)];
}

void world_free_payload(void *payload, void *user)
{
    world *it = user;
    queues_callback();
    it->freed++;
    crash_point_aside();
    free(payload);
}

void world_undo(void *arg)
{
    world *it = arg;
    queues_callback();
    it->undone++;
    crash_point_cleanup();
}

/* ---- failing ---- */

/* Where many children are restarted together, and each now and then fails as it starts, it may go
 * on for ever: a life has only so many failures.
 */
axo_status world_fail(axo_ctx *ctx)
{
    if (w.failures++ >= WORLD_FAILURES_MAX)
        return AXO_OK;
    int32_t code = (int32_t)world_below(256);
    uint32_t how = world_below(4);
    bool fatal = world_is(KNOB_FATAL);
    if (w.dry)
        probe_hit(PROBE_NO_MEMORY_IN_FAILURE);
    switch (how) {
    case 0:
        w.left = w.callback;
        if (fatal)
            axo_throw_fatal(ctx, code, "thrown %d", code);
        axo_throw(ctx, code, "thrown %d", code);
    case 1:
        return AXO_EINVAL;
    default:
        break;
    }
    if (fatal)
        return axo_fail_fatal(ctx, code, "fatal %d", code);
    return axo_fail(ctx, code, "code %d", code);
}

/* Low bits: the directive; upper bits: escalate down to that depth first. */
static axo_directive world_decide(axo_ctx *ctx, void *state, const axo_failure *failure, void *user)
{
    stream before;
    const node *me = state;
    uint32_t told = (uint32_t)failure->code;
    ghost *parent = world_enter(ctx, &before);
    const ghost *child = ghost_find(axo_sender(ctx).bits);
    HOLDS(15, parent, child != NULL && parent->deciding == child->bits,
          "a decider whose sender is not the failed child");
    HOLDS(19, child,
          failure->actor.bits == child->cause.actor &&
              child->cause.kind_code == ((uint64_t)failure->kind << 32 | told),
          "the decider is told another cause than the one that was reported");
    crash_check_failure(failure);
    crash_point(ctx, AXO_SITE_DECIDER);
    uint32_t code = failure->root_kind == AXO_FAILURE_CRASH ? world_below(256) : told;
    axo_directive decided = (axo_directive)((code & 3) + (world_below(64) == 0 ? 77 : 1));
    if (me == NULL) { /* /user */
        decided = world_is(KNOB_TOP) ? AXO_ESCALATE : (axo_directive)(code % 3 + 1);
    } else if (world_is(KNOB_DECIDER)) {
        if (world_below(2) == 0) {
            w.left = w.callback;
            axo_throw(ctx, (int32_t)world_below(256), "the decider");
        }
        (void)axo_fail(ctx, (int32_t)world_below(256), "the decider");
    } else if (me->depth > (code >> 5) && (code & 4) != 0) {
        decided = AXO_ESCALATE;
    }
    if (me != NULL)
        world_watch_late(ctx);
    if (me != NULL && w.knobs[KNOB_DRAFT] > 0 && world_below(2) == 0)
        drafts_act(ctx, AXO_SITE_DECIDER);
    for (uint32_t i = 0; i < WORLD_DECIDER_CRASHES; i++)
        crash_point(ctx, AXO_SITE_DECIDER);
    world_leave(&before);
    return decided;
}

/* ---- props ---- */

static const axo_backoff world_backoffs[] = {
    AXO_BACKOFF(.min_ns = 70000, .max_ns = 3000000, .jitter = 0.5),
    AXO_BACKOFF(.min_ns = 1, .max_ns = 100000, .factor = 1000, .reset_after_ns = -1),
    AXO_BACKOFF(.kind = AXO_BACKOFF_LINEAR, .min_ns = 200000, .window_ns = 1000000,
                .noise_ns = 90000),
};

axo_strategy world_strategies[] = {
    AXO_STRATEGY(.decider = world_decide),
    AXO_STRATEGY(.scope = AXO_ALL_FOR_ONE, .decider = world_decide),
    AXO_STRATEGY(.decider = world_decide, .limited = 1, .retries_max = 2, .within_ns = 1000000),
    AXO_STRATEGY(.scope = AXO_ALL_FOR_ONE, .decider = world_decide, .limited = 1, .retries_max = 3,
                 .within_ns = -1),
    AXO_STRATEGY(.decider = world_decide, .window = AXO_WINDOW_SLIDING, .limited = 1,
                 .retries_max = 3, .within_ns = 2000000),
    AXO_STRATEGY(.scope = AXO_ALL_FOR_ONE, .decider = axo_decide_restart),
    AXO_STRATEGY(.decider = axo_decide_escalate),
    AXO_STRATEGY(.decider = axo_decide_stop, .limited = 1, .retries_max = 0),
    AXO_STRATEGY(.scope = AXO_REST_FOR_ONE, .decider = world_decide),
    AXO_STRATEGY(.scope = AXO_REST_FOR_ONE, .decider = world_decide, .limited = 1, .retries_max = 2,
                 .within_ns = 1000000),
    AXO_STRATEGY(.decider = world_decide, .backoff = &world_backoffs[0]),
    AXO_STRATEGY(.decider = axo_decide_restart, .backoff = &world_backoffs[1]),
    AXO_STRATEGY(.decider = axo_decide_restart, .limited = 1, .retries_max = 3,
                 .within_ns = 9000000, .backoff = &world_backoffs[2]),
    AXO_STRATEGY(.scope = AXO_ALL_FOR_ONE, .decider = world_decide, .backoff = &world_backoffs[2]),
    AXO_STRATEGY(.scope = AXO_REST_FOR_ONE, .decider = axo_decide_restart,
                 .backoff = &world_backoffs[0]),
    AXO_STRATEGY(.decider = axo_decide_restart, .limited = 1, .retries_max = 4,
                 .within_ns = 3000000),
};

/* Which of them have a back-off. */
static const struct {
    uint32_t strategy;
    const axo_backoff *backoff;
} world_backed[] = {
    {10, &world_backoffs[0]}, {11, &world_backoffs[1]}, {12, &world_backoffs[2]},
    {13, &world_backoffs[2]}, {14, &world_backoffs[0]},
};

void world_told(uint32_t every)
{
    for (uint32_t i = 0; i < WORLD_COUNT(world_strategies); i++)
        world_strategies[i].answer_failed = every != 0 && i % every == 0;
}

void world_quarantine(uint32_t instances)
{
    for (uint32_t i = 0; i < WORLD_COUNT(world_strategies); i += 2)
        world_strategies[i].quarantine = instances;
}

void world_govern(bool governed)
{
    for (uint32_t i = 0; i < WORLD_COUNT(world_backed); i++)
        world_strategies[world_backed[i].strategy].backoff =
            governed ? NULL : world_backed[i].backoff;
}

static uint32_t world_priority(const axo_message *message, void *user)
{
    return message->tag == TAG_WORK && message->payload != NULL
               ? AXO_PAYLOAD(message, work)->priority
               : 1;
}

#define WORLD_BYTES (sizeof(axo__message) + sizeof(work))

#define WORLD_BOX(order, full, ...)                                                                \
    AXO_MAILBOX(.kind = order, .overflow = AXO_OVERFLOW_##full,                                    \
                .priority = order == AXO_MAILBOX_FIFO ? NULL : world_priority, __VA_ARGS__)

static const axo_mailbox world_mailboxes[] = {
    WORLD_BOX(AXO_MAILBOX_FIFO, PARK, .messages_max = 1),
    WORLD_BOX(AXO_MAILBOX_FIFO, PARK, .messages_max = 3),
    WORLD_BOX(AXO_MAILBOX_FIFO, PARK, .bytes_max = 2 * WORLD_BYTES),
    WORLD_BOX(AXO_MAILBOX_PRIORITY, PARK, .messages_max = 2),
    WORLD_BOX(AXO_MAILBOX_CONTROL, PARK, .messages_max = 2, .bytes_max = 3 * WORLD_BYTES),
    WORLD_BOX(AXO_MAILBOX_FIFO, REFUSE, .messages_max = 0),
    WORLD_BOX(AXO_MAILBOX_PRIORITY, REFUSE, .messages_max = 0),
    WORLD_BOX(AXO_MAILBOX_CONTROL, REFUSE, .messages_max = 0),
    WORLD_BOX(AXO_MAILBOX_FIFO, REFUSE, .messages_max = 2),
    WORLD_BOX(AXO_MAILBOX_PRIORITY, REFUSE, .bytes_max = 4 * WORLD_BYTES),
    WORLD_BOX(AXO_MAILBOX_FIFO, DROP_NEW, .messages_max = 2),
    WORLD_BOX(AXO_MAILBOX_PRIORITY, DROP_NEW, .messages_max = 3),
    WORLD_BOX(AXO_MAILBOX_FIFO, DROP_OLD, .messages_max = 2),
    WORLD_BOX(AXO_MAILBOX_CONTROL, DROP_OLD, .bytes_max = 3 * WORLD_BYTES),
};

const axo_props *world_props(uint32_t depth)
{
    static node args;
    static axo_props props;
    static char name[GHOST_NAME];
    static axo_mailbox mailbox;
    uint32_t strategy = world_below(WORLD_COUNT(world_strategies) + 4);
    uint32_t class = world_below(64);
    uint32_t draws = world_below(1u << 30);
    args = (node){.depth = depth};
    props =
        (axo_props)AXO_PROPS(.cls = world_class(class), .args = &args, .args_size = sizeof args);
    if (draws % 3 == 0)
        props.lifetime = (axo_lifetime)(1 + (draws >> 2) % 2);
    if (strategy >= WORLD_COUNT(world_strategies))
        strategy %= 3;
    if ((draws >> 4) % 8 != 0)
        props.strategy = &world_strategies[strategy];
    (void)snprintf(name, sizeof name, "n%u", world_below(6));
    if ((draws >> 8) % 8 == 0)
        props.name = name;
    if (world_is(KNOB_POOL))
        props.dispatcher = 1 + world_below(3);
    props.stash_max = MAIL_ASIDE;
    if (world_is(KNOB_BOX)) {
        mailbox = world_mailboxes[world_below(WORLD_COUNT(world_mailboxes))];
        if (mailbox.overflow == AXO_OVERFLOW_PARK && w.knobs[KNOB_UNLIMITED] == 0)
            mailbox.park_ns = 1 + world_below(400000);
        props.mailbox = &mailbox;
    }
    return &props;
}

/* ---- the world's making ---- */

/* Crashes are in some lives only, and drawn apart: all others are what they were before there were
 * any. */
static void world_draw_crashes(uint64_t seed)
{
    uint64_t at = w.now_runs.at;
    if (seed % 7 < 3) {
        w.knobs[KNOB_CRASH] = 1 + world_below(knob_infos[KNOB_CRASH].most);
        if (world_below(3) != 0)
            w.knobs[KNOB_DRAFT] = 1 + world_below(knob_infos[KNOB_DRAFT].most);
    }
    w.now_runs.at = at;
}

static void world_draw_knobs(void)
{
    for (uint32_t i = 0; i < KNOB_READ; i++) {
        bool off = world_below(3) == 0;
        if (i == KNOB_TOP || i == KNOB_SHUTDOWN)
            off = world_below(8) != 0;
        if (i == KNOB_SPAWN || i == KNOB_SEND || i == KNOB_FAIL)
            off = false;
        w.knobs[i] = off ? 0 : 1 + world_below(knob_infos[i].most);
    }
    w.knobs[KNOB_SEND] += 200;
    w.knobs[KNOB_OUTSIDE] = 1024;
    if (world_below(2) == 0) { /* a life of mailboxes */
        w.knobs[KNOB_BOX] = 600 + world_below(400);
        w.knobs[KNOB_BURST] = 200 + world_below(600);
    }
    static const uint32_t sizes[] = {3, 12, 40, 40, 40, 40, 60, WORLD_LIVING_MOST};
    w.living_max = sizes[world_below(8)];
    for (uint32_t i = KNOB_READ; i < KNOB_CRASH; i++)
        w.knobs[i] = world_below(3) == 0 ? 1 + world_below(knob_infos[i].most) : 0;
}

void world_reset(uint64_t seed, uint32_t life)
{
    memset(&w, 0, offsetof(world, known));
    w.owned = w.freed = w.deferred = w.undone = w.dead_letters = w.put_aside = w.mine = w.bytes = 0;
    w.life = life;
    axo__random_init(&w.chance, seed, UINT64_C(0x776f726c64));
    world_begin(world_mix(seed, UINT64_C(0x6b6e6f62)));
    world_draw_knobs();
    world_draw_crashes(seed);
}
