/* oversubscribed.c - four workers for each CPU, and how long an actor that can run waits at most
 * (bar 25): no handler is long, all workers are busy, and every so often one of many quiet actors
 * is sent the time.
 *
 *     oversubscribed [seconds] */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <axo/axo.h>

enum { OVER_BUSY = 64, OVER_QUIET = 200, OVER_TIMES_MAX = 1000000 };
#define OVER_S INT64_C(1000000000)
#define OVER_LIMIT_NS INT64_C(50000000)

enum { OVER_ROUND = 1, OVER_STAMP };

static int64_t over_times[OVER_TIMES_MAX];
static unsigned over_count;

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

int main(int argc, char **argv)
{
    int64_t seconds = argc > 1 ? atoi(argv[1]) : 4;
    cpu_set_t set;
    uint32_t cpus = sched_getaffinity(0, sizeof set, &set) == 0 ? (uint32_t)CPU_COUNT(&set) : 1;
    axo_options options = AXO_OPTIONS(.workers = 4 * cpus);
    axo_props busy = AXO_PROPS(.cls = &over_busy_class);
    axo_props quiet = AXO_PROPS(.cls = &over_quiet_class);
    static axo_ref all[OVER_QUIET];
    axo_system *system;
    axo_ref ref;
    axo_status status = axo_system_start(&options, &system);
    for (uint32_t i = 0; status == AXO_OK && i < OVER_QUIET; i++)
        status = axo_system_spawn(system, &quiet, &all[i]);
    for (uint32_t i = 0; status == AXO_OK && i < OVER_BUSY; i++) {
        status = axo_system_spawn(system, &busy, &ref);
        if (status == AXO_OK)
            status = axo_system_send(system, ref, OVER_ROUND, NULL, 0);
    }
    int64_t end = over_now() + seconds * OVER_S;
    for (uint32_t i = 0; status == AXO_OK && over_now() < end; i++) {
        struct timespec pause = {.tv_nsec = 300000};
        int64_t now = over_now();
        status = axo_system_send(system, all[i % OVER_QUIET], OVER_STAMP, &now, sizeof now);
        (void)nanosleep(&pause, NULL);
    }
    if (status == AXO_OK)
        status = axo_system_stop(system, 60 * OVER_S, NULL, 0, NULL);
    if (status == AXO_OK)
        status = axo_system_destroy(system);
    if (status != AXO_OK || over_count == 0) {
        (void)printf("%s\n", axo_status_text(status));
        return 1;
    }
    unsigned count = over_count < OVER_TIMES_MAX ? over_count : OVER_TIMES_MAX;
    qsort(over_times, count, sizeof over_times[0], over_order);
    int64_t worst = over_times[count - 1];
    (void)printf("bar 25 %s: %.2f ms at most, %.2f ms p99, %.3f ms p50 of %u waits, %u workers on "
                 "%u CPUs, needs less than 50 ms\n",
                 worst < OVER_LIMIT_NS ? "met" : "short", (double)worst / 1e6,
                 (double)over_times[count / 100 * 99] / 1e6, (double)over_times[count / 2] / 1e6,
                 count, options.workers, cpus);
    return 0;
}
