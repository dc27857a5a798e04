/* w24_crash.c - W24: a crash that is contained. From the failing instruction to the first one of
 * the handling of the next message, which is already queued.
 *
 * W24f  the floor: a fault, its handler, a jump back to where it was foreseen, without the library
 * W24u  the same with a walk of 8 frames
 * W24e  axo_fail, beside it
 * W24   a write to null in receive; W24d10, W24d100, W24d1k: below so many frames of its own
 * W24s  strlen(NULL)         W24a  abort()
 * W24o  a stack of 8 MiB that overflows
 * W24p  as W24, each ms, on a worker that has parked meanwhile
 *
 * One worker. "times" is by W24f of the same run: the goal is 2.5, which W24d10 misses, or 2.5 and
 * 0.2 us for each frame below receive, which all meet. */
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <unwind.h>

#include "bench.h"

enum { CRASH = 1, NEXT = 2 };
enum { STACK_BYTES = 8 << 20, SIGNAL_BYTES = 1 << 16, WALK_FRAMES = 8 };

typedef enum crash_how {
    BY_FLOOR, BY_WALK, BY_FAIL, BY_WRITE, BY_STRLEN, BY_ABORT, BY_STACK
} crash_how;

typedef struct crash_case {
    const char *name;
    crash_how how;
    uint32_t frames; /* of the program's own, below receive */
    uint32_t one_in; /* of --rounds: so many times fewer */
    bool paced;
} crash_case;

static const crash_case crash_cases[] = {
    {"W24f", BY_FLOOR, 0, 1, false},     {"W24u", BY_WALK, 0, 1, false},
    {"W24e", BY_FAIL, 0, 1, false},      {"W24", BY_WRITE, 0, 1, false},
    {"W24d10", BY_WRITE, 10, 1, false},  {"W24d100", BY_WRITE, 100, 4, false},
    {"W24d1k", BY_WRITE, 1000, 20, false}, {"W24s", BY_STRLEN, 0, 1, false},
    {"W24a", BY_ABORT, 0, 1, false},     {"W24o", BY_STACK, 0, 500, false},
    {"W24p", BY_WRITE, 0, 10, true}};

#define CRASH_CASES (sizeof crash_cases / sizeof *crash_cases)

typedef struct crash_run {
    const crash_case *what;
    clock_gauge gauge;
    histogram times;
    uint64_t rounds;
    uint64_t part;
    uint64_t left;
    uint64_t failed_at;
    double floor_ns; /* median of W24f; 0: it has not run */
} crash_run;

static int *volatile crash_nothing;
static const char *volatile crash_no_text;
static volatile size_t crash_seen;

/* ---- how it crashes ------------------------------------------------------------------------ */

static __attribute__((noinline)) size_t crash_stack(size_t frames)
{
    volatile size_t own[8];
    own[frames % 8] = frames;
    return frames == SIZE_MAX ? own[0] : crash_stack(frames + 1) + own[frames % 8];
}

static __attribute__((noinline)) void crash_below(crash_run *run, uint32_t frames)
{
    if (frames > 0) {
        crash_below(run, frames - 1);
        atomic_signal_fence(memory_order_seq_cst); /* no tail call */
        return;
    }
    run->failed_at = clock_ticks(&run->gauge);
    if (run->what->how == BY_WRITE || run->what->how <= BY_WALK)
        *crash_nothing = 1;
    else if (run->what->how == BY_STRLEN)
        crash_seen = strlen(crash_no_text);
    else if (run->what->how == BY_STACK)
        crash_seen = crash_stack(0);
    else
        abort();
}

/* ---- the floor ----------------------------------------------------------------------------- */

static sigjmp_buf floor_place;
static bool floor_walks;

static _Unwind_Reason_Code floor_frame(struct _Unwind_Context *context, void *arg)
{
    uint32_t *frames = arg;
    crash_seen += (size_t)_Unwind_GetIP(context);
    return ++*frames < WALK_FRAMES ? _URC_NO_REASON : _URC_END_OF_STACK;
}

static void floor_hit(int signal)
{
    uint32_t frames = 0;
    (void)signal;
    if (floor_walks)
        (void)_Unwind_Backtrace(floor_frame, &frames);
    siglongjmp(floor_place, 1);
}

static void floor_run(crash_run *run)
{
    static char stack[SIGNAL_BYTES];
    const stack_t aside = {.ss_sp = stack, .ss_size = sizeof stack};
    const stack_t none = {.ss_flags = SS_DISABLE};
    struct sigaction before, action = {.sa_handler = floor_hit,
                                       .sa_flags = SA_ONSTACK | SA_NODEFER};
    floor_walks = run->what->how == BY_WALK;
    bool set = sigaltstack(&aside, NULL) == 0 && sigaction(SIGSEGV, &action, &before) == 0;
    bench_expect(set, true, "a handler");
    for (volatile uint64_t i = 0; i < run->left; i++) {
        if (sigsetjmp(floor_place, 0) == 0)
            crash_below(run, WALK_FRAMES); /* as many as there are below an actor's handler */
        histogram_record(&run->times, clock_between(&run->gauge, run->failed_at,
                                                    clock_ticks(&run->gauge)));
    }
    bench_expect(sigaction(SIGSEGV, &before, NULL) == 0 && sigaltstack(&none, NULL) == 0, true,
                 "the handler before");
}

/* ---- the actor ----------------------------------------------------------------------------- */

static axo_status crash_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    memcpy(state, args, sizeof(crash_run *));
    return AXO_OK;
}

static axo_status crash_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    crash_run *run = *(crash_run *const *)state;
    if (message->tag == CRASH) {
        bench_check(axo_send(ctx, axo_self(ctx), NEXT, NULL, 0), "send");
        if (run->what->how != BY_FAIL)
            crash_below(run, run->what->frames);
        run->failed_at = clock_ticks(&run->gauge);
        return axo_fail(ctx, 7, "on request");
    }
    histogram_record(&run->times,
                     clock_between(&run->gauge, run->failed_at, clock_ticks(&run->gauge)));
    if (--run->left == 0)
        return axo_system_shutdown(axo_system_of(ctx));
    return run->what->paced ? AXO_OK : axo_send(ctx, axo_self(ctx), CRASH, NULL, 0);
}

static const axo_class crash_class =
    AXO_CLASS(.name = "crash", .state_size = sizeof(crash_run *), .construct = crash_construct,
              .receive = crash_receive, .on_crash = AXO_CRASH_FAILS);

static void crash_system(crash_run *run, bench_sample *sample)
{
    axo_options options =
        AXO_OPTIONS(.workers = 1, .seed = 1, .contain = 1, .crashes_max = 65536,
                    .crash_window_ns = 1, .thread_stack = STACK_BYTES);
    const struct timespec pause = {.tv_nsec = 1000000};
    uint64_t rounds = run->left;
    axo_system *system;
    axo_stats stats;
    bench_check(axo_system_start(&options, &system), "start");
    axo_ref root = bench_root(system, &crash_class, run);
    for (uint64_t i = 0; i < (run->what->paced ? rounds : 1); i++) {
        if (run->what->paced)
            (void)nanosleep(&pause, NULL);
        bench_check(axo_system_send(system, root, CRASH, NULL, 0), "send");
    }
    bench_system_finish(system, sample, &stats);
    bench_expect(stats.failures, rounds, "failures");
}

/* ---- program ------------------------------------------------------------------------------- */

static void crash_measure(const bench_settings *settings, void *arg, bench_sample *sample)
{
    crash_run *run = arg;
    (void)settings;
    run->left = run->rounds / run->what->one_in;
    if (run->left == 0)
        run->left = 1;
    uint64_t rounds = run->left;
    if (run->what->how <= BY_WALK)
        floor_run(run);
    else
        crash_system(run, sample);
    bench_expect(run->times.count, rounds, "crashes measured");
    sample->workers = 1;
    sample->figure = (double)histogram_percentile(&run->times, 0.5);
    if (run->what->how == BY_FLOOR)
        run->floor_ns = sample->figure;
    sample->values[0] = run->floor_ns > 0.0 ? sample->figure / run->floor_ns : 0.0;
}

int main(int argc, char **argv)
{
    static crash_run own = {.rounds = 20000};
    const bench_option options[] = {{"--rounds", &own.rounds, "crashes of a run; of some fewer"},
                                    {"--part", &own.part, "the n-th row only; 0: all"}};
    bench_settings settings;
    char text[64];
    (void)argc;
    bench_settings_read(&settings, argv, options, 2);
    if (own.rounds < 1 || own.part > CRASH_CASES)
        bench_usage(argv[0], options, 2);
    (void)snprintf(text, sizeof text, "\"rounds\":%" PRIu64, own.rounds);
    clock_calibrate(&own.gauge);
    for (size_t i = 0; i < CRASH_CASES; i++) {
        own.what = &crash_cases[i];
        if (own.part != 0 && own.part != i + 1)
            continue;
        bench_measure(&settings, &(bench_work){.name = own.what->name,
                                               .unit = "ns",
                                               .less = true,
                                               .options = text,
                                               .run = crash_measure,
                                               .arg = &own,
                                               .values = {{"times", true}},
                                               .times = {{"", &own.times}}});
    }
    return 0;
}
