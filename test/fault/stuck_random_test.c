/* stuck_random_test.c - signals of the watchdog at random moments of whatever the workers are at,
 * far more of them than a spare sends, and crashes among them: each handler interrupts the other.
 * Callbacks are short or take longer than they may. Then all messages are accounted for, and
 * neither a byte nor a descriptor is left.
 *
 * AXO_STUCK: so many callbacks are interrupted; else 300.
 */
#include <sched.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "fault/crash.h"

#if defined(__x86_64__)
#include "sched/endless.h"
#include "sched/trap.h"

enum {
    RANDOM_ACTORS = 8,
    RANDOM_WORKERS = 2,
    RANDOM_THREADS = 4,
    RANDOM_STEP = 1,
    RANDOM_WAITING = 200
};

static axo_ref random_refs[RANDOM_ACTORS];
static atomic_int random_threads[RANDOM_THREADS];
static _Atomic(void *) random_traps[RANDOM_THREADS];
static atomic_uint random_known;
static atomic_uint random_over;
static atomic_uint random_refused;
static atomic_uint random_pings;
static atomic_ullong random_stuck;
static _Thread_local bool random_noted;
static volatile uint64_t random_sink;

/* ---- the actors ----------------------------------------------------------------------------- */

static void random_note(void)
{
    if (random_noted)
        return;
    random_noted = true;
    uint32_t at = atomic_fetch_add(&random_known, 1);
    CRASH_CHECK(at < RANDOM_THREADS);
    atomic_store(&random_traps[at], axo__self->trap);
    atomic_store(&random_threads[at], (int)syscall(SYS_gettid));
}

static __attribute__((noinline)) void random_compute(uint32_t rounds)
{
    for (uint32_t i = 0; i < rounds; i++)
        random_sink += random_sink * 3 + i;
}

static void random_clean(void *arg)
{
    random_compute(2000);
}

static axo_status random_child_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    random_compute(50);
    return axo_stop_self(ctx);
}

static const axo_class random_child = AXO_CLASS(.name = "child", .receive = random_child_receive,
                                                .on_crash = AXO_CRASH_FAILS, .watchdog_ms = 1);

static void random_act(axo_ctx *ctx, uint64_t count)
{
    axo_props props = AXO_PROPS(.cls = &random_child);
    axo_ref child;
    axo_draft *draft;
    void *room;
    void *block = malloc(1 + count % 500);
    switch (count % 5) {
    case 0:
        if (axo_child_count(ctx) < 4 && axo_spawn(ctx, &props, &child) == AXO_OK)
            (void)axo_send(ctx, child, 1, NULL, 0);
        break;
    case 1:
        (void)!axo_alloc(ctx, 40);
        break;
    case 2:
        (void)axo_timer_start(ctx, 1, AXO_TIMER_ONCE, 100000, 0, 3, NULL, 0);
        break;
    case 3:
        (void)axo_send(ctx, random_refs[count % RANDOM_ACTORS], 4, &count, sizeof count);
        break;
    default:
        if (axo_message_new(ctx, 5, 64, &draft, &room) == AXO_OK)
            axo_message_discard(ctx, draft);
        break;
    }
    free(block);
}

/* For up to three times as long as it may. */
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
    const int64_t until = parts_now() + (int64_t)(++*count % 4) * PARTS_MS;
    if (*count % 3 == 0 && axo_defer(ctx, random_clean, NULL) != AXO_OK)
        return AXO_ENOMEM;
    for (uint64_t i = 0; i < 10 || parts_now() < until; i++) {
        if (i < 100)
            random_act(ctx, i + *count);
        random_compute(100);
    }
    return AXO_OK;
}

static axo_status random_start(axo_ctx *ctx, void *state)
{
    random_note();
    random_compute(20);
    return AXO_OK;
}

static axo_directive random_decide(axo_ctx *ctx, void *state, const axo_failure *failure,
                                   void *user)
{
    if (failure->kind == AXO_FAILURE_STUCK)
        atomic_fetch_add(&random_stuck, 1);
    return AXO_RESTART;
}

static const axo_class random_class =
    AXO_CLASS(.name = "random", .state_size = sizeof(uint64_t), .pre_start = random_start,
              .receive = random_receive, .post_stop = random_start, .on_crash = AXO_CRASH_FAILS,
              .watchdog_ms = 1);

/* ---- the shots ------------------------------------------------------------------------------ */

static void random_before(int number, siginfo_t *info, void *context)
{
    atomic_fetch_add(&random_refused, 1);
}

static void random_hit(int number, siginfo_t *info, void *context)
{
    if (crash_is_deep())
        return;
    crash_as_read(context);
}

static void random_signal(int thread, void *trap)
{
    siginfo_t info;
    memset(&info, 0, sizeof info);
    info.si_signo = SIGURG;
    info.si_code = SI_QUEUE;
    info.si_errno = AXO__ENDLESS_OURS;
    info.si_pid = getpid();
    info.si_value.sival_ptr = trap;
    (void)syscall(SYS_rt_tgsigqueueinfo, getpid(), thread, SIGURG, &info);
}

static void *random_shoot(void *arg)
{
    uint64_t seed = 88172645463325252U;
    while (atomic_load(&random_over) == 0) {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        uint32_t which = (uint32_t)(seed % RANDOM_THREADS);
        int thread = atomic_load(&random_threads[which]);
        int64_t until = parts_now() + (int64_t)(seed >> 40) % 50000;
        if (thread != 0 && (seed >> 30) % 64 == 0)
            (void)syscall(SYS_tgkill, getpid(), thread, SIGPROF);
        if (thread != 0)
            random_signal(thread, atomic_load(&random_traps[which]));
        while (parts_now() < until)
            (void)sched_yield();
    }
    return NULL;
}

/* ---- the run -------------------------------------------------------------------------------- */

static void random_feed(void)
{
    axo_stats stats = AXO_STATS();
    CRASH_CHECK(axo_system_stats(cw.system, &stats) == AXO_OK);
    uint64_t done = stats.handled + stats.dead + stats.dropped;
    for (uint32_t i = 0; i < RANDOM_ACTORS && stats.sent < done + RANDOM_WAITING; i++)
        (void)axo_system_send(cw.system, random_refs[i], RANDOM_STEP, NULL, 0);
}

static void random_begin(void)
{
    static const axo_strategy strategy = AXO_STRATEGY(.decider = random_decide);
    axo_options options =
        AXO_OPTIONS(.workers = RANDOM_WORKERS, .contain = 1, .crashes_max = 65536,
                    .crash_window_ns = 1, .user_strategy = &strategy, .stuck_ns = -1,
                    .allocator = {.alloc = parts_alloc, .free = parts_free, .user = &cw.heap});
    axo_props props = AXO_PROPS(.cls = &random_class);
    crash_handler(SIGSEGV, random_before);
    CRASH_CHECK(axo_system_start(&options, &cw.system) == AXO_OK);
    crash_handler(SIGPROF, random_hit);
    for (uint32_t i = 0; i < RANDOM_ACTORS; i++)
        CRASH_CHECK(axo_system_spawn(cw.system, &props, &random_refs[i]) == AXO_OK);
}

static void random_run(const void *arg)
{
    const uint64_t wanted = *(const uint64_t *)arg;
    const uint32_t descriptors = crash_descriptors();
    pthread_t shooter;
    (void)alarm(0);
    crash_fd = dup(STDERR_FILENO); /* each crash that is refused is a line */
    CRASH_CHECK(freopen("/dev/null", "w", stderr) != NULL);
    random_begin();
    CRASH_CHECK(pthread_create(&shooter, NULL, random_shoot, NULL) == 0);
    int64_t deadline = parts_now() + PARTS_DEADLINE_NS;
    for (uint64_t before = 0, now = 0; now < wanted; before = now) {
        struct timespec pause = {.tv_nsec = 2000000};
        random_feed();
        CRASH_CHECK(parts_now() < deadline);
        (void)nanosleep(&pause, NULL);
        now = atomic_load(&random_stuck);
        deadline = now > before ? parts_now() + PARTS_DEADLINE_NS : deadline;
    }
    atomic_store(&random_over, 1);
    (void)pthread_join(shooter, NULL);
    for (uint32_t i = 0; i < RANDOM_ACTORS; i++)
        CRASH_CHECK(axo_system_send(cw.system, random_refs[i], CRASH_PING, NULL, 0) == AXO_OK);
    crash_wait(&random_pings, RANDOM_ACTORS);
    uint64_t all = axo_system_crashes(cw.system, NULL, 0);
    axo_stats stats = crash_finish();
    CRASH_CHECK(crash_descriptors() == descriptors + 1); /* crash_fd */
    (void)dprintf(crash_fd,
                  "%llu interrupted, %llu with crashes, %u crashes refused; %llu sent = "
                  "%llu handled + %llu dead + %llu dropped; 0 bytes, 0 descriptors left\n",
                  (unsigned long long)atomic_load(&random_stuck), (unsigned long long)all,
                  atomic_load(&random_refused), (unsigned long long)stats.sent,
                  (unsigned long long)stats.handled, (unsigned long long)stats.dead,
                  (unsigned long long)stats.dropped);
}

static void at_any_moment(void **state)
{
    const char *asked = getenv("AXO_STUCK");
    uint64_t wanted = asked != NULL ? strtoull(asked, NULL, 10) : 300;
    if (CRASH_REPORTED)
        skip();
    crash_end end = crash_run(random_run, &wanted);
    crash_is_well(&end, "at any moment");
    (void)printf("%s", end.text);
}
#else
static void at_any_moment(void **state)
{
}
#endif

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(at_any_moment),
};

TEST_MAIN(tests)
