/* soak.c - goes on for long, on real threads, and looks after what may not drift: messages, memory,
 * threads, wake-ups.
 *
 *   soak waves SECONDS    waves of every kind in one system: bars 21 and 22
 *   soak parks COUNT      an idle system woken COUNT times from outside: bar 23
 *   soak starts COUNT     systems made and ended, some in the middle of a wave: bars 24 and 26
 *   soak restarts COUNT    one actor restarted COUNT times; 16777216: as many as 24 bits have;
 *                          restarts COUNT steady: no turn ends by its time, as for instructions.py;
 *                          contained: so, in a system that contains crashes
 *   soak transfer BYTES    so many bytes through a stream and back, summed up on both sides
 *
 * No progress for STALL_SECONDS ends it with a failure. */
#include "soak.h"

#include <semaphore.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "support/census.h"
#include "support/transfer.h"

#define STALL_SECONDS 60
#define GUARDIANS     3
/* The share of the time after which memory has warmed up, and what it may grow by from then on. */
#define WARM_SHARE    4
#define GROWTH_MAX    (UINT64_C(1) << 20)

_Atomic bool soak_ending;

void soak_fail(const char *format, ...)
{
    va_list list;
    fputs("FAILED: ", stderr);
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    fputc('\n', stderr);
    fflush(NULL);
    _exit(1);
}

static void bar(uint32_t number, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void bar(uint32_t number, const char *format, ...)
{
    va_list list;
    printf("bar %u is ", number);
    va_start(list, format);
    vprintf(format, list);
    va_end(list);
    putchar('\n');
    fflush(stdout);
}

static double seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static uint64_t resident_bytes(void)
{
    unsigned long long all = 0;
    unsigned long long resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%llu %llu", &all, &resident) != 2)
        soak_fail("cannot read /proc/self/statm");
    fclose(file);
    return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

static axo_stats stats_of(axo_system *system)
{
    axo_stats stats = AXO_STATS(0);
    soak_check(axo_system_stats(system, &stats), "stats");
    return stats;
}

static axo_system *start_by(axo_options options)
{
    static const axo_strategy patient = AXO_STRATEGY(0);
    options.user_strategy = &patient;
    axo_system *system = NULL;
    soak_ending = false;
    soak_check(axo_system_start(&options, &system), "start");
    return system;
}

static axo_system *start(uint32_t workers)
{
    return start_by((axo_options)AXO_OPTIONS(.workers = workers));
}

static void end(axo_system *system)
{
    soak_ending = true;
    if (axo_system_stop(system, -1, NULL, 0, NULL) != AXO_OK)
        soak_fail("stop");
    axo_stats stats = stats_of(system);
    if (stats.actors != 0 || stats.sent != stats.handled + stats.dead + stats.dropped)
        soak_fail("after the end: %" PRIu64 " actors, %" PRIu64 " sent, %" PRIu64
                  " handled, %" PRIu64 " dead, %" PRIu64 " dropped",
                  stats.actors, stats.sent, stats.handled, stats.dead, stats.dropped);
    if (axo_system_destroy(system) != AXO_OK)
        soak_fail("destroy");
}

/* Waits until only the guardians live; fails when nothing has moved for long. */
static axo_stats rest(axo_system *system, const char *what)
{
    const struct timespec nap = {.tv_nsec = 200000};
    uint64_t moved = 0;
    double since = seconds();
    for (;;) {
        axo_stats stats = stats_of(system);
        if (stats.actors == GUARDIANS && stats.sent == stats.handled + stats.dead + stats.dropped)
            return stats;
        if (stats.handled + stats.terminated != moved) {
            moved = stats.handled + stats.terminated;
            since = seconds();
        } else if (seconds() - since > STALL_SECONDS) {
            soak_fail("%s: no progress, %" PRIu64 " actors, %" PRIu64 " sent, %" PRIu64 " handled",
                      what, stats.actors, stats.sent, stats.handled);
        }
        (void)nanosleep(&nap, NULL);
    }
}

static void spawn_wave(axo_system *system, const soak_kind *kind, soak_wave *wave, uint64_t seed)
{
    axo_ref ref;
    axo_props props = AXO_PROPS(.cls = kind->root, .args = &wave, .args_size = sizeof wave);
    *wave = (soak_wave){.size = kind->size, .seed = seed};
    soak_check(axo_system_spawn(system, &props, &ref), "spawn of a wave");
}

static void check_wave(const soak_kind *kind, const soak_wave *wave)
{
    if (!wave->over || wave->seen != wave->expected)
        soak_fail("%s: over %d, %" PRIu64 " of %" PRIu64, kind->name, wave->over, wave->seen,
                  wave->expected);
}

/* ---- waves ---------------------------------------------------------------------------------- */

static void waves(uint64_t length)
{
    soak_wave *all = calloc(soak_kinds_count, sizeof *all);
    axo_system *system = start(0);
    double begin = seconds();
    uint64_t warm = 0;
    uint64_t most = 0;
    uint64_t rounds = 0;
    axo_stats stats = AXO_STATS(0);
    if (all == NULL)
        soak_fail("no memory");
    while (seconds() - begin < (double)length || rounds < WARM_SHARE) {
        /* all at once while memory warms up: later peaks are lower */
        bool cold = seconds() - begin < (double)length / WARM_SHARE || warm == 0;
        for (size_t i = 0; i < soak_kinds_count; i++) {
            spawn_wave(system, &soak_kinds[i], &all[i], rounds * 64 + i);
            if (!cold)
                stats = rest(system, soak_kinds[i].name);
        }
        stats = rest(system, "all waves");
        for (size_t i = 0; i < soak_kinds_count; i++)
            check_wave(&soak_kinds[i], &all[i]);
        uint64_t now = resident_bytes();
        if (cold)
            warm = now > warm ? now : warm;
        most = now > most ? now : most;
        rounds++;
    }
    double took = seconds() - begin;
    uint64_t handled = stats.handled;
    uint64_t growth = most > warm ? most - warm : 0;
    end(system);
    free(all);
    printf("%" PRIu64 " rounds of %zu waves in %.0f s, %" PRIu64 " restarts, %" PRIu64 " actors\n",
           rounds, soak_kinds_count, took, stats.restarts, stats.spawned);
    bar(21, "%" PRIu64 " / 0: messages in %.0f s; lost", handled, took);
    double share = 100.0 * (double)growth / (double)warm * 3600.0 / took;
    bar(22, "%.2f / %.2f / %.0f: MiB more than %.1f MiB, of the first quarter; %% an hour; seconds",
        (double)growth / 1048576.0, share, took, (double)warm / 1048576.0);
    if (growth >= GROWTH_MAX)
        soak_fail("memory grows");
}

/* ---- parks ---------------------------------------------------------------------------------- */

typedef struct answer {
    sem_t here;
} answer;

static axo_status answer_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    answer *const *to = AXO_PAYLOAD(message, answer *);
    if (sem_post(&(*to)->here) != 0)
        soak_fail("sem_post");
    return AXO_OK;
}

static const axo_class answer_class = AXO_CLASS(.name = "answer", .receive = answer_receive);

/* Each question comes to a system at rest, whose workers park or are about to: all interleavings of
 * a wake with the way to sleep, on real threads. A lost one is no answer for STALL_SECONDS. */
static void parks(uint64_t wanted)
{
    answer mine;
    answer *self = &mine;
    axo_ref ref;
    axo_system *system = start(2);
    axo_props props = AXO_PROPS(.cls = &answer_class);
    soak_check(axo_system_spawn(system, &props, &ref), "spawn");
    if (sem_init(&mine.here, 0, 0) != 0)
        soak_fail("sem_init");
    uint64_t asked = 0;
    double begin = seconds();
    while (stats_of(system).parks < wanted) {
        for (uint32_t i = 0; i < 4096; i++, asked++) {
            struct timespec until;
            soak_check(axo_system_send(system, ref, 1, &self, sizeof self), "send");
            if (sem_trywait(&mine.here) == 0)
                continue;
            (void)clock_gettime(CLOCK_REALTIME, &until);
            until.tv_sec += STALL_SECONDS;
            if (sem_timedwait(&mine.here, &until) != 0)
                soak_fail("a wake-up is lost: no answer to question %" PRIu64, asked);
        }
    }
    axo_stats stats = stats_of(system);
    double took = seconds() - begin;
    end(system);
    (void)sem_destroy(&mine.here);
    bar(23, "%" PRIu64 " / 0: parkings in %.0f s; wake-ups lost", stats.parks, took);
}

/* ---- starts --------------------------------------------------------------------------------- */

static void starts(uint64_t count)
{
    soak_wave *wave = calloc(1, sizeof *wave);
    uint32_t threads = census_open();
    uint32_t files = census_descriptors();
    double begin = seconds();
    uint64_t first = 0;
    uint64_t last = 0;
    if (wave == NULL)
        soak_fail("no memory");
    for (uint64_t i = 0; i < count; i++) {
        const soak_kind *kind = &soak_kinds[i % soak_kinds_count];
        soak_kind small = {kind->name, kind->root, kind->size / 100};
        if (strcmp(kind->name, "tree") == 0)
            small.size = 100; /* a power of ten */
        axo_system *system = start((uint32_t)(i % 4 + 1));
        if (i % 3 != 0) {
            spawn_wave(system, &small, wave, i);
            if (i % 3 == 1) {
                (void)rest(system, kind->name);
                check_wave(&small, wave);
            }
        }
        end(system);
        if (census_settled(threads) != threads || census_descriptors() != files)
            soak_fail("start %" PRIu64 ": %" PRIu32 " threads for %" PRIu32 ", %" PRIu32
                      " descriptors for %" PRIu32,
                      i, census_threads(), threads, census_descriptors(), files);
        last = resident_bytes();
        first = i == count / WARM_SHARE ? last : first;
    }
    free(wave);
    uint64_t growth = last > first ? last - first : 0;
    double more = (double)growth / 1048576.0;
    if (growth >= 4 * GROWTH_MAX)
        soak_fail("memory grows: %.2f MiB in %" PRIu64 " starts", more, count);
    bar(24, "%" PRIu64 " / 0: starts and stops in %.0f s, memory %.2f MiB more; leaks and hangs",
        count, seconds() - begin, more);
    bar(26, "0: threads and descriptors left after each of %" PRIu64 " ends", count);
}

/* ---- restarts ------------------------------------------------------------------------------- */

static void restarted(uint64_t count, bool steady, bool contained)
{
    axo_system *system = start_by((axo_options)AXO_OPTIONS(
        .workers = 2, .no_quantum_us = steady || contained, .contain = contained));
    double begin = seconds();
    soak_restarts(system, count);
    printf("%" PRIu64 " restarts of one actor in %.0f s\n", count, seconds() - begin);
    end(system);
}

/* ---- a transfer ----------------------------------------------------------------------------- */

/* All of it as fast as it goes; an eighth of it to a client that lags. */
static void transferred(uint64_t bytes)
{
    static transfer_server server;
    uint32_t files = census_descriptors();
    if (!transfer_begin(&server))
        soak_fail("no server");
    for (uint32_t i = 0; i < 2; i++) {
        transfer it = {.size = i == 0 ? bytes : bytes / 8 + 1, .lags = i > 0};
        uint64_t sums = atomic_load(&server.sums);
        double begin = seconds();
        const char *wrong = transfer_run(&server, &it);
        double took = seconds() - begin;
        for (uint32_t j = 0; j < CENSUS_WAIT_MS && atomic_load(&server.closed) <= i; j++)
            census_pause();
        if (wrong != NULL || atomic_load(&server.whole) != i + 1 ||
            atomic_load(&server.sums) - sums != it.sum_sent)
            soak_fail("%s: %" PRIu64 " bytes sent, %" PRIu64 " came back",
                      wrong != NULL ? wrong : "the server has other bytes", it.sent, it.got);
        printf("%" PRIu64 " bytes there and back in %.1f s, sum %016" PRIx64 " on both sides\n",
               it.got, took, it.sum_got);
    }
    if (atomic_load(&server.output_most) >= TRANSFER_HIGH + TRANSFER_INPUT)
        soak_fail("more waited to be written than may");
    if (!transfer_end(&server) || census_descriptors() != files)
        soak_fail("something is left of the server");
}

int main(int count, char **words)
{
    bool steady = count == 4 && strcmp(words[3], "steady") == 0;
    bool contained = count == 4 && strcmp(words[3], "contained") == 0;
    uint64_t amount = count == 3 || steady || contained ? strtoull(words[2], NULL, 0) : 0;
    if (amount == 0) {
        fprintf(stderr, "usage: soak waves SECONDS | parks, starts, restarts COUNT |\n"
                        "       transfer BYTES\n");
        return 2;
    }
    if (strcmp(words[1], "waves") == 0)
        waves(amount);
    else if (strcmp(words[1], "parks") == 0)
        parks(amount);
    else if (strcmp(words[1], "starts") == 0)
        starts(amount);
    else if (strcmp(words[1], "restarts") == 0)
        restarted(amount, steady, contained);
    else if (strcmp(words[1], "transfer") == 0)
        transferred(amount);
    else
        soak_fail("%s is none of waves, parks, starts, restarts, transfer", words[1]);
    return 0;
}
