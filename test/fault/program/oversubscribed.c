/* oversubscribed.c - four workers for each CPU, and how long an actor that can run waits at most
 * (bar 25): no handler is long, all workers are busy, and every so often one of many quiet actors
 * is sent the time.
 *
 * A machine that is busy with other things keeps workers off their CPUs. So a bare thread that only
 * reads the clock runs beside them, as ready as a worker: the longest time between two of its
 * readings is what the operating system took from one thread. The figure is what an actor waited
 * beyond that, the median of three rounds.
 *
 *     oversubscribed [seconds] */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <axo/axo.h>

enum { OVER_BUSY = 64, OVER_QUIET = 200, OVER_TIMES_MAX = 1000000, OVER_ROUNDS = 3 };
#define OVER_S INT64_C(1000000000)

enum { OVER_ROUND = 1, OVER_STAMP };

static int64_t over_times[OVER_TIMES_MAX];
static unsigned over_count;
static int over_ends; /* the bare thread's sign to end */

static int64_t over_now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * OVER_S + t.tv_nsec;
}

/* Some microseconds of work, then the next round. */
static axo_status over_busy(axo_ctx *ctx, void *state, const axo_message *message)
{
    volatile uint32_t work = 0;
    (void)state;
    for (uint32_t i = 0; i < 2000; i++)
        work += i;
    (void)work;
    return axo_send(ctx, axo_self(ctx), message->tag, NULL, 0);
}

static axo_status over_quiet(axo_ctx *ctx, void *state, const axo_message *message)
{
    int64_t sent = *AXO_PAYLOAD(message, int64_t);
    (void)ctx;
    (void)state;
    unsigned at = __atomic_fetch_add(&over_count, 1, __ATOMIC_RELAXED);
    if (at < OVER_TIMES_MAX)
        over_times[at] = over_now() - sent;
    return AXO_OK;
}

static const axo_class over_busy_class = AXO_CLASS(.name = "busy", .receive = over_busy);
static const axo_class over_quiet_class = AXO_CLASS(.name = "quiet", .receive = over_quiet);

static int over_order(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* The bare thread: *arg is the longest time between two readings of the clock. */
static void *over_bare(void *arg)
{
    int64_t *longest = arg;
    int64_t last = over_now();
    while (__atomic_load_n(&over_ends, __ATOMIC_RELAXED) == 0) {
        int64_t now = over_now();
        if (now - last > *longest)
            *longest = now - last;
        last = now;
    }
    return NULL;
}

static axo_status over_fill(axo_system *system, axo_ref *quiet)
{
    axo_props busy_props = AXO_PROPS(.cls = &over_busy_class);
    axo_props quiet_props = AXO_PROPS(.cls = &over_quiet_class);
    axo_status status = AXO_OK;
    axo_ref ref;
    for (uint32_t i = 0; status == AXO_OK && i < OVER_QUIET; i++)
        status = axo_system_spawn(system, &quiet_props, &quiet[i]);
    for (uint32_t i = 0; status == AXO_OK && i < OVER_BUSY; i++) {
        status = axo_system_spawn(system, &busy_props, &ref);
        if (status == AXO_OK)
            status = axo_system_send(system, ref, OVER_ROUND, NULL, 0);
    }
    return status;
}

static axo_status over_load(axo_system *system, int64_t seconds)
{
    axo_ref quiet[OVER_QUIET];
    axo_status status = over_fill(system, quiet);
    int64_t end = over_now() + seconds * OVER_S;
    for (uint32_t i = 0; status == AXO_OK && over_now() < end; i++) {
        struct timespec pause = {.tv_nsec = 300000};
        int64_t now = over_now();
        status = axo_system_send(system, quiet[i % OVER_QUIET], OVER_STAMP, &now, sizeof now);
        (void)nanosleep(&pause, NULL);
    }
    return status;
}

/* *beyond: how much longer than the bare thread an actor has waited, at most. */
static axo_status over_round(uint32_t workers, int64_t seconds, int64_t *beyond)
{
    axo_options options = AXO_OPTIONS(.workers = workers);
    axo_system *system;
    pthread_t bare;
    int64_t kept_off = 0;
    over_count = 0;
    over_ends = 0;
    if (pthread_create(&bare, NULL, over_bare, &kept_off) != 0)
        return AXO_ETHREAD;
    axo_status status = axo_system_start(&options, &system);
    if (status == AXO_OK)
        status = over_load(system, seconds);
    __atomic_store_n(&over_ends, 1, __ATOMIC_RELAXED);
    (void)pthread_join(bare, NULL);
    if (status == AXO_OK)
        status = axo_system_stop(system, 60 * OVER_S, NULL, 0, NULL);
    if (status == AXO_OK)
        status = axo_system_destroy(system);
    if (status != AXO_OK || over_count == 0)
        return status != AXO_OK ? status : AXO_EGONE;
    unsigned count = over_count < OVER_TIMES_MAX ? over_count : OVER_TIMES_MAX;
    qsort(over_times, count, sizeof over_times[0], over_order);
    int64_t worst = over_times[count - 1];
    *beyond = worst > kept_off ? worst - kept_off : 0;
    (void)printf("  %.2f ms at most, %.2f ms p99, %.3f ms p50 of %u waits; a bare thread was kept "
                 "off for %.2f ms\n",
                 (double)worst / 1e6, (double)over_times[count / 100 * 99] / 1e6,
                 (double)over_times[count / 2] / 1e6, count, (double)kept_off / 1e6);
    return AXO_OK;
}

int main(int argc, char **argv)
{
    int64_t seconds = argc > 1 ? atoi(argv[1]) : 2;
    int64_t beyond[OVER_ROUNDS];
    cpu_set_t set;
    uint32_t cpus = sched_getaffinity(0, sizeof set, &set) == 0 ? (uint32_t)CPU_COUNT(&set) : 1;
    for (uint32_t i = 0; i < OVER_ROUNDS; i++) {
        axo_status status = over_round(4 * cpus, seconds, &beyond[i]);
        if (status != AXO_OK) {
            (void)printf("%s\n", axo_status_text(status));
            return 1;
        }
    }
    qsort(beyond, OVER_ROUNDS, sizeof beyond[0], over_order);
    (void)printf("bar 25 is %.2f: ms that an actor waits longer than a bare thread beside it is "
                 "kept off, at most, the median of %d rounds, %u workers on %u CPUs\n",
                 (double)beyond[OVER_ROUNDS / 2] / 1e6, OVER_ROUNDS, 4 * cpus, cpus);
    return 0;
}
