/* killed.c - an actor whose instances are processes, each of which is killed as it waits. */
#include "killed.h"

#ifdef BENCH_PROCESS

#include <axo/process.h>

enum { KILLED_PING = 16, KILLED_PONG, KILLED_TICK };

#define KILLED_SPARES 1

typedef struct killed_pong {
    uint64_t at_ns; /* when the handler began; all processes have one CLOCK_MONOTONIC */
    int64_t pid;
} killed_pong;

/* ---- in the process ---- */

static axo_status killed_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    const killed_pong answer = {.at_ns = clock_ns(), .pid = getpid()};
    (void)state;
    return axo_reply(ctx, message, KILLED_PONG, &answer, sizeof answer);
}

static const axo_class killed_class = AXO_CLASS(.name = "killed", .receive = killed_receive);
static const axo_class *const killed_classes[] = {&killed_class};

void killed_main(int argc, char **argv)
{
    axo_process_main(argc, argv, killed_classes, 1);
}

/* ---- who kills it ---- */

typedef struct killer {
    killed_sample *out;
    const volatile sig_atomic_t *cut;
    axo_ref victim;
    uint64_t at_least;
    uint64_t from_ns;   /* what is killed from then on is measured */
    uint64_t until_ns;
    uint64_t period_ns; /* 0: back to back */
    uint64_t due_ns;
    uint64_t killed_ns;
    int64_t pid;        /* 0: it has not answered yet */
} killer;

static axo_status killer_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    memcpy(state, args, sizeof(killer));
    return AXO_OK;
}

static axo_status killer_kill(axo_ctx *ctx, killer *me)
{
    me->killed_ns = clock_ns();
    bench_expect((uint64_t)kill((pid_t)me->pid, SIGKILL), 0, "kill");
    return axo_send(ctx, me->victim, KILLED_PING, NULL, 0);
}

static void killer_count(killer *me, const killed_pong *answer)
{
    bench_expect(answer->pid == me->pid, false, "answers of a process that was killed");
    if (me->pid == 0)
        return;
    me->out->rounds++;
    if (me->killed_ns >= me->from_ns)
        histogram_record(&me->out->first, answer->at_ns - me->killed_ns);
}

static bool killer_over(const killer *me, uint64_t now)
{
    if (me->cut != NULL && *me->cut != 0)
        return true;
    return now >= me->until_ns && me->out->first.count >= me->at_least;
}

/* The next one; those that were due while this one was restarted are missed. */
static axo_status killer_next(axo_ctx *ctx, killer *me, uint64_t now)
{
    if (me->period_ns == 0)
        return killer_kill(ctx, me);
    for (me->due_ns += me->period_ns; me->due_ns <= now; me->due_ns += me->period_ns) {
        if (me->due_ns >= me->from_ns)
            me->out->missed++;
    }
    return axo_timer_start(ctx, KILLED_TICK, AXO_TIMER_ONCE, (int64_t)(me->due_ns - now), 0,
                           KILLED_TICK, NULL, 0);
}

static axo_status killer_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    killer *me = state;
    killed_pong answer;
    if (message->tag == KILLED_PING)
        return axo_send(ctx, me->victim, KILLED_PING, NULL, 0);
    if (message->tag == KILLED_TICK)
        return killer_kill(ctx, me);
    bench_expect(message->tag, KILLED_PONG, "an answer");
    memcpy(&answer, message->payload, sizeof answer);
    killer_count(me, &answer);
    uint64_t now = clock_ns();
    me->due_ns = me->pid == 0 ? now : me->due_ns;
    me->pid = answer.pid;
    if (!killer_over(me, now))
        return killer_next(ctx, me, now);
    me->out->seconds = ((double)now - (double)me->from_ns) / 1e9;
    return axo_system_shutdown(axo_system_of(ctx));
}

static const axo_class killer_class =
    AXO_CLASS(.name = "killer", .state_size = sizeof(killer), .construct = killer_construct,
              .receive = killer_receive);

/* ---- a run ---- */

static axo_system *killed_start(const restart_case *what, uint32_t workers, axo_ref *victim)
{
    axo_zygote *zygote;
    axo_system *system;
    const axo_options options = AXO_OPTIONS(.workers = workers, .seed = what->seed);
    const axo_zygote_settings settings = AXO_ZYGOTE_SETTINGS(.spares = KILLED_SPARES);
    bench_check(axo_system_start(&options, &system), "start");
    bench_check(axo_zygote_start(system, &settings, &zygote), "zygote");
    const axo_process recipe = AXO_PROCESS(.zygote = zygote);
    const axo_props props = AXO_PROPS(.cls = &killed_class);
    bench_check(axo_system_process_spawn(system, &recipe, &props, victim), "process");
    return system;
}

bool killed_run(const restart_case *what, uint32_t workers, double warmup, double seconds,
                const volatile sig_atomic_t *cut, killed_sample *sample)
{
    killer args = {.out = sample, .cut = cut, .at_least = what->at_least};
    bench_usage_mark from;
    bench_usage_mark to;
    bench_sample end;
    axo_ref ref;
    memset(sample, 0, sizeof *sample);
    bench_mark(&from);
    axo_system *system = killed_start(what, workers, &args.victim);
    args.from_ns = clock_ns() + (uint64_t)(warmup * 1e9);
    args.until_ns = args.from_ns + (uint64_t)(seconds * 1e9);
    args.period_ns = what->mode == PACED ? (uint64_t)(1e9 / what->rate) : 0;
    const axo_props props =
        AXO_PROPS(.cls = &killer_class, .args = &args, .args_size = sizeof args);
    bench_check(axo_system_spawn(system, &props, &ref), "spawn");
    bench_check(axo_system_send(system, ref, KILLED_PING, NULL, 0), "send");
    bench_check(axo_system_wait(system, -1, NULL), "wait"); /* the killer ends it */
    bench_system_finish(system, &end, &sample->stats); /* and its processes, whose time counts */
    bench_mark(&to);
    bench_expect(sample->stats.failures, sample->rounds, "failures");
    bench_expect(sample->stats.restarts, sample->rounds, "restarts");
    sample->peak_bytes = end.peak_bytes;
    sample->workers = end.workers;
    sample->foreign = bench_foreign(&from, &to);
    return cut == NULL || *cut == 0;
}

#else

void killed_main(int argc, char **argv)
{
    (void)argc;
    (void)argv;
}

bool killed_run(const restart_case *what, uint32_t workers, double warmup, double seconds,
                const volatile sig_atomic_t *cut, killed_sample *sample)
{
    (void)what;
    (void)workers;
    (void)warmup;
    (void)seconds;
    (void)cut;
    memset(sample, 0, sizeof *sample);
    return false; /* cases.c has none of these */
}

#endif
