/* crash_random_test.c - crashes at any instruction of whatever the workers are at: a signal comes
 * at a random moment, and its handler calls the library's own with what it was given, as if the
 * instruction had crashed. Where that cannot be contained the handler before ours is called, which
 * returns, and nothing has happened. Then all messages are accounted for, and neither a byte nor a
 * descriptor is left.
 *
 * AXO_CRASHES: so many are contained; else 10 000.
 */
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>

#include "fault/crash.h"

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

enum { RANDOM_ACTORS = 12, RANDOM_WORKERS = 2, RANDOM_STEP = 1, RANDOM_WAITING = 20000 };
enum { RANDOM_THREADS = RANDOM_WORKERS + 6, RANDOM_FIRST_NS = 5000, RANDOM_SPAN_NS = 20000 };
enum { RANDOM_REST_NS = 1000000 };

static axo_ref random_refs[RANDOM_ACTORS];
static timer_t random_timers[RANDOM_THREADS]; /* of those that are known: one to a thread */
static atomic_uint random_known;
static atomic_uint random_over;
static atomic_uint random_refused;
static atomic_uint random_pings;
static _Thread_local bool random_noted;
static _Thread_local timer_t random_timer;
static _Thread_local uint64_t random_seed;
static volatile uint64_t random_sink;
static const char random_payload[408];

/* ---- the actors ----------------------------------------------------------------------------- */

static void random_arm(long first_ns)
{
    struct itimerspec next = {.it_value.tv_nsec = first_ns};
    random_seed ^= random_seed << 13;
    random_seed ^= random_seed >> 7;
    random_seed ^= random_seed << 17;
    next.it_value.tv_nsec += (long)(random_seed >> 40) % RANDOM_SPAN_NS;
    (void)timer_settime(random_timer, 0, &next, NULL);
}

/* The thread is shot at from here on, by a timer of its own. */
static void random_note(void)
{
    struct sigevent event;
    if (random_noted)
        return;
    random_noted = true;
    uint32_t at = atomic_fetch_add(&random_known, 1);
    CRASH_CHECK(at < RANDOM_THREADS);
    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = SIGPROF;
    event.sigev_notify_thread_id = (int)syscall(SYS_gettid);
    CRASH_CHECK(timer_create(CLOCK_MONOTONIC, &event, &random_timer) == 0);
    random_timers[at] = random_timer;
    random_seed = 88172645463325252U + at;
    random_arm(RANDOM_FIRST_NS);
}

static __attribute__((noinline)) void random_compute(uint32_t rounds)
{
    for (uint32_t i = 0; i < rounds; i++)
        random_sink += random_sink * 3 + i;
}

static void random_clean(void *arg)
{
    random_compute(20);
}

static axo_status random_child_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    random_compute(50);
    return message->tag == 2 ? axo_stop_self(ctx) : AXO_OK;
}

static axo_status random_start(axo_ctx *ctx, void *state)
{
    random_note();
    random_compute(20);
    return AXO_OK;
}

static const axo_class random_child =
    AXO_CLASS(.name = "child", .pre_start = random_start, .receive = random_child_receive,
              .post_stop = random_start, .on_crash = AXO_CRASH_FAILS);

static void random_draft(axo_ctx *ctx, axo_ref to)
{
    axo_draft *draft;
    void *room;
    if (axo_message_new(ctx, RANDOM_STEP, 64, &draft, &room) != AXO_OK)
        return;
    random_compute(20);
    memset(room, 1, 64);
    axo_status status = axo_send_message(ctx, to, draft);
    if (status != AXO_OK && status != AXO_EGONE) /* at the end of the system others have gone */
        axo_message_discard(ctx, draft);
}

static void random_spawn(axo_ctx *ctx)
{
    axo_props props = AXO_PROPS(.cls = &random_child);
    axo_ref child;
    if (axo_child_count(ctx) > 4 || axo_spawn(ctx, &props, &child) != AXO_OK)
        return;
    (void)!axo_watch(ctx, child);
    (void)axo_send(ctx, child, 1, NULL, 0);
    random_compute(20);
    (void)axo_send(ctx, child, 2, NULL, 0);
}

static axo_status random_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    if (message->tag == CRASH_PING) {
        atomic_fetch_add(&random_pings, 1);
        return AXO_OK;
    }
    if (message->tag != RANDOM_STEP)
        return AXO_OK;
    random_note();
    uint64_t *count = state;
    axo_ref to = random_refs[(*count)++ * 7 % RANDOM_ACTORS];
    random_compute(100);
    switch (*count % 8) {
    case 0:
        random_spawn(ctx);
        break;
    case 1:
        (void)!axo_alloc(ctx, 40);
        if (axo_defer(ctx, random_clean, NULL) != AXO_OK)
            return AXO_ENOMEM;
        break;
    case 2:
        (void)axo_timer_start(ctx, 1, AXO_TIMER_ONCE, 100000, 0, 3, NULL, 0);
        break;
    case 3:
        (void)axo_want_settle(ctx);
        break;
    case 4:
        return *count > 200 ? axo_fail(ctx, 1, "after %d", 200) : AXO_OK;
    case 5:
        (void)axo_send(ctx, to, 4, random_payload, 8 + *count % 3 * 200);
        break;
    default:
        random_draft(ctx, to);
        break;
    }
    random_compute(100);
    return AXO_OK;
}

static axo_status random_pre_restart(axo_ctx *ctx, void *state, const axo_failure *failure,
                                     const axo_message *message)
{
    random_compute(20);
    return axo_default_pre_restart(ctx, state, failure, message);
}

static axo_status random_construct(axo_ctx *ctx, void *state, const void *args)
{
    return random_start(ctx, state);
}

static axo_directive random_decide(axo_ctx *ctx, void *state, const axo_failure *failure,
                                   void *user)
{
    random_compute(20);
    return AXO_RESTART;
}

static const axo_class random_class =
    AXO_CLASS(.name = "random", .state_size = sizeof(uint64_t), .construct = random_construct,
              .pre_start = random_start, .receive = random_receive, .post_stop = random_start,
              .pre_restart = random_pre_restart, .settle = random_start,
              .on_crash = AXO_CRASH_FAILS);

/* ---- the shots ------------------------------------------------------------------------------ */

static void random_before(int number, siginfo_t *info, void *context)
{
    atomic_fetch_add(&random_refused, 1);
}

/* The next one is on its way before this one is contained, as nobody comes back from that. A timer
 * ends in an interrupt of the processor that the thread is at, so it also hits where another thread
 * that shoots would wait for the same processor until the thread sleeps. */
static void random_hit(int number, siginfo_t *info, void *context)
{
    if (atomic_load(&random_over) != 0)
        return;
    const bool deep = crash_is_deep();
    random_arm(deep ? RANDOM_REST_NS : RANDOM_FIRST_NS); /* on a slow machine they pile up */
    if (deep)
        return;
    crash_as_read(context);
}

/* Of the processor, by all threads: a worker that stands still is shot at all the same, so it
 * passes then, and on a busy machine it does not while nobody gets on. */
static int64_t random_spent(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec * PARTS_S + now.tv_nsec;
}

/* ---- the run -------------------------------------------------------------------------------- */

static uint64_t random_waiting(void)
{
    axo_stats stats = AXO_STATS();
    CRASH_CHECK(axo_system_stats(cw.system, &stats) == AXO_OK);
    uint64_t done = stats.handled + stats.dead + stats.dropped;
    return stats.sent > done ? stats.sent - done : 0;
}

/* On a busy machine the workers fall behind; they are not left more than a second's work. */
static void random_feed(void)
{
    if (random_waiting() > RANDOM_WAITING)
        return;
    for (uint32_t i = 0; i < RANDOM_ACTORS; i++) {
        for (uint32_t n = 0; n < 50; n++)
            (void)axo_system_send(cw.system, random_refs[i], RANDOM_STEP, NULL, 0);
    }
}

static void random_begin(void)
{
    static const axo_strategy strategy = AXO_STRATEGY(.decider = random_decide);
    axo_options options = AXO_OPTIONS(
        .workers = RANDOM_WORKERS, .contain = 1, .crashes_max = 65536, .crash_window_ns = 1,
        .user_strategy = &strategy,
        .allocator = {.alloc = parts_alloc, .free = parts_free, .user = &cw.heap});
    axo_props props = AXO_PROPS(.cls = &random_class, .strategy = &strategy);
    crash_handler(SIGSEGV, random_before);
    CRASH_CHECK(axo_system_start(&options, &cw.system) == AXO_OK);
    crash_handler(SIGPROF, random_hit);
    for (uint32_t i = 0; i < RANDOM_ACTORS; i++)
        CRASH_CHECK(axo_system_spawn(cw.system, &props, &random_refs[i]) == AXO_OK);
}

/* All of them live. */
static void random_answer(void)
{
    for (uint32_t i = 0; i < RANDOM_ACTORS; i++)
        CRASH_CHECK(axo_system_send(cw.system, random_refs[i], CRASH_PING, NULL, 0) == AXO_OK);
    crash_wait(&random_pings, RANDOM_ACTORS);
}

static void random_run(const void *arg)
{
    const uint64_t wanted = *(const uint64_t *)arg;
    uint64_t crashes = 0;
    (void)alarm(0);
    crash_fd = dup(STDERR_FILENO); /* each that is refused is a line */
    CRASH_CHECK(freopen("/dev/null", "w", stderr) != NULL);
    const uint32_t descriptors = crash_descriptors();
    random_begin();
    int64_t deadline = random_spent() + PARTS_DEADLINE_NS;
    while (crashes < wanted) {
        struct timespec pause = {.tv_nsec = 2000000};
        random_feed();
        CRASH_CHECK(random_spent() < deadline);
        (void)nanosleep(&pause, NULL);
        uint64_t now = axo_system_crashes(cw.system, NULL, 0);
        deadline = now > crashes ? random_spent() + PARTS_DEADLINE_NS : deadline;
        crashes = now;
    }
    atomic_store(&random_over, 1);
    random_answer();
    axo_stats stats = crash_finish();
    for (uint32_t i = 0; i < atomic_load(&random_known); i++)
        CRASH_CHECK(timer_delete(random_timers[i]) == 0);
    CRASH_CHECK(crash_descriptors() == descriptors);
    CRASH_CHECK(atomic_load(&random_refused) > 0);
    (void)dprintf(crash_fd, "%llu contained, %u refused; %llu sent = %llu handled + %llu dead + "
                  "%llu dropped; 0 bytes, 0 descriptors left\n", (unsigned long long)crashes,
                  atomic_load(&random_refused), (unsigned long long)stats.sent,
                  (unsigned long long)stats.handled, (unsigned long long)stats.dead,
                  (unsigned long long)stats.dropped);
}

static void at_any_instruction(void **state)
{
    const char *asked = getenv("AXO_CRASHES");
    uint64_t wanted = asked != NULL ? strtoull(asked, NULL, 10) : 10000;
    if (CRASH_REPORTED)
        skip();
    crash_end end = crash_run(random_run, &wanted);
    crash_is_well(&end, "at any instruction");
    (void)printf("%s", end.text);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(at_any_instruction),
};

TEST_MAIN(tests)
