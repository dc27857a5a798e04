/* w8_whole.c - W8w: a restart with all that one can have, back to back: it fails by axo_fail with
 * a text, its parent has a decider of its own, the class has all hooks, and each instance takes
 * memory that goes with it. From the failing call to the first instruction of the new instance's
 * handling of its next message, which is already queued; the figure is restarts a second. W8a has
 * none of these. */
#include "bench.h"

enum { GO = 1, FAIL = 2, NEXT = 3 };

#define MEMORY     256 /* bytes that an instance takes */
#define CODE       7
#define WINDOW_NS  INT64_C(10000000000)
#define HOOKS_EACH 4 /* of a restart: pre_restart, post_stop, post_restart, pre_start */

typedef struct whole {
    clock_gauge gauge;
    uint64_t restarts;
    uint64_t done;
    uint64_t hooks;   /* that have run */
    uint64_t decided; /* by the decider */
    uint64_t failed_at;
    uint64_t begin_ns;
    uint64_t end_ns;
    histogram times;
} whole;

/* ---- victim -------------------------------------------------------------------------------- */

typedef struct victim {
    whole *shared;
    unsigned char *memory;
    uint64_t messages; /* of this instance */
} victim;

static axo_status victim_construct(axo_ctx *ctx, void *state, const void *args)
{
    victim *me = state;
    memcpy(&me->shared, args, sizeof me->shared);
    me->memory = axo_alloc(ctx, MEMORY);
    if (me->memory == NULL)
        return AXO_ENOMEM;
    memset(me->memory, 1, MEMORY);
    return AXO_OK;
}

static void victim_hook(victim *me)
{
    me->memory[0]++;
    me->shared->hooks++;
}

static axo_status victim_start(axo_ctx *ctx, void *state)
{
    (void)ctx;
    victim_hook(state);
    return AXO_OK;
}

static axo_status victim_stop(axo_ctx *ctx, void *state)
{
    (void)ctx;
    victim_hook(state);
    return AXO_OK;
}

static axo_status victim_pre_restart(axo_ctx *ctx, void *state, const axo_failure *failure,
                                     const axo_message *message)
{
    bench_expect(message->tag, FAIL, "message that it failed on");
    bench_expect((uint64_t)failure->code, CODE, "code in pre_restart");
    victim_hook(state);
    return victim_stop(ctx, state);
}

static axo_status victim_post_restart(axo_ctx *ctx, void *state, const axo_failure *failure)
{
    bench_expect((uint64_t)failure->code, CODE, "code in post_restart");
    victim_hook(state);
    return victim_start(ctx, state);
}

/* Fails once more, with the next message behind it, or ends. */
static axo_status victim_next(axo_ctx *ctx, whole *shared)
{
    if (shared->done == shared->restarts) {
        shared->end_ns = clock_ns();
        return axo_system_shutdown(axo_system_of(ctx));
    }
    bench_check(axo_send(ctx, axo_self(ctx), FAIL, NULL, 0), "send");
    return axo_send(ctx, axo_self(ctx), NEXT, NULL, 0);
}

static axo_status victim_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    victim *me = state;
    whole *shared = me->shared;
    uint64_t now = clock_ticks(&shared->gauge);
    me->messages++;
    switch (message->tag) {
    case FAIL:
        shared->failed_at = clock_ticks(&shared->gauge);
        return axo_fail(ctx, CODE, "on request");
    case NEXT:
        bench_expect(me->messages, 1, "message of its instance");
        histogram_record(&shared->times, clock_between(&shared->gauge, shared->failed_at, now));
        shared->done++;
        return victim_next(ctx, shared);
    default:
        shared->begin_ns = clock_ns();
        return victim_next(ctx, shared);
    }
}

static const axo_class victim_class =
    AXO_CLASS(.name = "victim", .state_size = sizeof(victim), .construct = victim_construct,
              .pre_start = victim_start, .receive = victim_receive,
              .pre_restart = victim_pre_restart, .post_restart = victim_post_restart,
              .post_stop = victim_stop);

/* ---- parent -------------------------------------------------------------------------------- */

typedef struct parent {
    whole *shared;
    axo_ref victim;
} parent;

static axo_status parent_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    memcpy(&((parent *)state)->shared, args, sizeof(whole *));
    return AXO_OK;
}

static axo_status parent_start(axo_ctx *ctx, void *state)
{
    parent *me = state;
    axo_props props =
        AXO_PROPS(.cls = &victim_class, .args = &me->shared, .args_size = sizeof me->shared);
    return axo_spawn(ctx, &props, &me->victim);
}

static axo_status parent_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    return axo_send(ctx, ((parent *)state)->victim, message->tag, NULL, 0);
}

static axo_directive parent_decide(axo_ctx *ctx, void *state, const axo_failure *failure,
                                   void *user)
{
    if (failure->kind != AXO_FAILURE_ORDINARY || failure->code != CODE ||
        strcmp(failure->text, "on request") != 0)
        return axo_decide_default(ctx, state, failure, user);
    ((parent *)state)->shared->decided++;
    return AXO_RESTART;
}

static const axo_class parent_class =
    AXO_CLASS(.name = "parent", .state_size = sizeof(parent), .construct = parent_construct,
              .pre_start = parent_start, .receive = parent_receive);
static const axo_strategy deciding = AXO_STRATEGY(.decider = parent_decide, .limited = 1,
                                                  .retries_max = INT32_MAX, .within_ns = WINDOW_NS);

/* ---- program ------------------------------------------------------------------------------- */

static void whole_run(const bench_settings *settings, void *arg, bench_sample *sample)
{
    whole *shared = arg;
    axo_stats stats;
    axo_ref ref;
    axo_system *system = bench_system_start(settings);
    axo_props props = AXO_PROPS(.cls = &parent_class, .args = &shared, .args_size = sizeof shared,
                                .strategy = &deciding);
    shared->done = shared->hooks = shared->decided = 0;
    bench_check(axo_system_spawn(system, &props, &ref), "spawn");
    bench_check(axo_system_send(system, ref, GO, NULL, 0), "send");
    bench_system_finish(system, sample, &stats);
    bench_expect(stats.restarts, shared->restarts, "restarts");
    bench_expect(shared->decided, shared->restarts, "decisions");
    bench_expect(shared->hooks, HOOKS_EACH * shared->restarts + 2, "hooks"); /* first start, end */
    bench_expect(shared->times.count, shared->restarts, "next messages");
    sample->figure = (double)shared->restarts * 1e9 / (double)(shared->end_ns - shared->begin_ns);
}

int main(int argc, char **argv)
{
    static whole own = {.restarts = 1000000};
    const bench_option options[] = {{"--restarts", &own.restarts, "of a run"}};
    bench_settings settings;
    char text[128];
    (void)argc;
    bench_settings_read(&settings, argv, options, 1);
    if (own.restarts < 1)
        bench_usage(argv[0], options, 1);
    clock_calibrate(&own.gauge);
    (void)snprintf(text, sizeof text, "\"restarts\":%" PRIu64 ",\"memory\":%d,\"clock\":\"%s\"",
                   own.restarts, MEMORY, own.gauge.source);
    bench_measure(&settings, &(bench_work){.name = "W8w",
                                           .unit = "restarts/s",
                                           .options = text,
                                           .run = whole_run,
                                           .arg = &own,
                                           .times = {{"", &own.times}}});
    return 0;
}
