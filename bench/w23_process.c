/* w23_process.c - an actor whose instances are processes (process.h), from an actor here.
 *
 * W23r: a message of 8 bytes to it and its answer, one at a time: the time of the round trip. In
 *       turn with it, the same between two plain processes that wait on a futex each: `futex`.
 * W23m: messages of 64 bytes to it, of which at most --window are unanswered; it answers one of
 *       BATCH. Starting it is not in the figure.
 * W23k: it is killed (SIGKILL) while it waits; from there to the first instruction of the handler
 *       of a message that was sent right behind, which its next instance handles. In turn with it,
 *       a plain process that is killed, and a forked one which waits on a futex and is woken when
 *       the first one's end has been seen: `bare`.
 * W23s: the same from a SIGSEGV that it raises in a handler, the next message queued. The process
 *       says when that was before it raises it: sending this is in the time.
 *
 * Before each restart there is a pause, in which the zygote makes the next spare; --spares 0: there
 * is none, and a restart forks. All stamps are of CLOCK_MONOTONIC, which the processes share. */
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <axo/process.h>

#include "bench.h"

enum { GO = 1, PING, PONG, DATA, SEEN, FALL, FALLEN, STRIKE };

#define BATCH      256u
#define DATA_BYTES 64u
#define WARM       100u /* round trips that do not count */

typedef struct run {
    uint64_t trips;
    uint64_t messages;
    uint64_t window;
    uint64_t restarts;
    uint64_t pause_us;
    uint64_t spares;
    uint64_t part;
    bool fall; /* by its own signal */
    uint64_t begin_ns;
    uint64_t end_ns;
    histogram times;
    histogram floor;
} run;

/* ---- in the process ------------------------------------------------------------------------ */

typedef struct pong {
    uint64_t at_ns; /* when the handler began */
    int64_t pid;
} pong;

static axo_status far_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    uint64_t *count = state;
    pong answer = {.at_ns = 0};
    if (message->tag != DATA)
        answer = (pong){.at_ns = clock_ns(), .pid = getpid()};
    switch (message->tag) {
    case PING:
        return axo_reply(ctx, message, PONG, &answer, sizeof answer);
    case DATA:
        return ++*count % BATCH != 0 ? AXO_OK : axo_reply(ctx, message, SEEN, NULL, 0);
    case FALL:
        (void)axo_reply(ctx, message, FALLEN, &answer, sizeof answer);
        (void)raise(SIGSEGV);
        return AXO_OK;
    default:
        return AXO_UNHANDLED;
    }
}

static const axo_class far_class =
    AXO_CLASS(.name = "far", .state_size = sizeof(uint64_t), .receive = far_receive);
static const axo_class *const far_classes[] = {&far_class};

/* ---- the actor here ------------------------------------------------------------------------ */

typedef struct near {
    run *run;
    axo_ref far;
    uint64_t done;
    uint64_t sent;
    uint64_t since_ns; /* of what is under way; 0: nothing is */
    int64_t pid;       /* of the instance that has answered last */
} near;

static axo_status near_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    *(near *)state = *(const near *)args;
    return AXO_OK;
}

static axo_status near_over(axo_ctx *ctx, near *me)
{
    me->run->end_ns = clock_ns();
    return axo_system_shutdown(axo_system_of(ctx));
}

static axo_status near_ping(axo_ctx *ctx, near *me)
{
    uint64_t number = me->done;
    me->since_ns = clock_ns();
    return axo_send(ctx, me->far, PING, &number, sizeof number);
}

static axo_status trip_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    near *me = state;
    if (message->tag != GO) {
        uint64_t now = clock_ns();
        bench_expect(message->tag, PONG, "an answer");
        if (me->done++ >= WARM)
            histogram_record(&me->run->times, now - me->since_ns);
    }
    return me->done == me->run->trips + WARM ? near_over(ctx, me) : near_ping(ctx, me);
}

static const axo_class trip_class =
    AXO_CLASS(.name = "trips", .state_size = sizeof(near), .construct = near_construct,
              .receive = trip_receive);

static void stream_more(axo_ctx *ctx, near *me, uint64_t count)
{
    const char data[DATA_BYTES] = "";
    for (; count > 0 && me->sent < me->run->messages; count--, me->sent++)
        bench_check(axo_send(ctx, me->far, DATA, data, sizeof data), "send");
}

static axo_status stream_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    near *me = state;
    if (message->tag == GO)
        return near_ping(ctx, me);
    if (message->tag == PONG) { /* it is up */
        me->run->begin_ns = clock_ns();
        stream_more(ctx, me, me->run->window);
        return AXO_OK;
    }
    bench_expect(message->tag, SEEN, "an answer");
    me->done += BATCH;
    if (me->done == me->run->messages)
        return near_over(ctx, me);
    stream_more(ctx, me, BATCH);
    return AXO_OK;
}

static const axo_class stream_class =
    AXO_CLASS(.name = "stream", .state_size = sizeof(near), .construct = near_construct,
              .receive = stream_receive);

static axo_status strike(axo_ctx *ctx, near *me)
{
    axo_status status = AXO_OK;
    uint64_t since = clock_ns();
    if (me->run->fall)
        status = axo_send(ctx, me->far, FALL, NULL, 0);
    else
        bench_expect((uint64_t)kill((pid_t)me->pid, SIGKILL), 0, "kill");
    if (status == AXO_OK)
        status = near_ping(ctx, me);
    me->since_ns = since;
    return status;
}

static axo_status strike_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    near *me = state;
    pong answer;
    if (message->tag == GO)
        return near_ping(ctx, me);
    if (message->tag == STRIKE)
        return strike(ctx, me);
    memcpy(&answer, message->payload, sizeof answer);
    if (message->tag == FALLEN) {
        me->since_ns = answer.at_ns;
        return AXO_OK;
    }
    bench_expect(message->tag, PONG, "an answer");
    bench_expect(answer.pid == me->pid, false, "answers of a process that was killed");
    if (me->pid != 0) {
        histogram_record(&me->run->times, answer.at_ns - me->since_ns);
        me->done++;
    }
    me->pid = answer.pid;
    if (me->done == me->run->restarts)
        return near_over(ctx, me);
    int64_t pause_ns = (int64_t)me->run->pause_us * 1000;
    return axo_timer_start(ctx, STRIKE, AXO_TIMER_ONCE, pause_ns, 0, STRIKE, NULL, 0);
}

static const axo_class strike_class =
    AXO_CLASS(.name = "strikes", .state_size = sizeof(near), .construct = near_construct,
              .receive = strike_receive);

/* ---- two plain processes ------------------------------------------------------------------- */

/* What two of them share: a number each that the other one waits for. */
typedef struct pair {
    _Alignas(64) _Atomic uint32_t to;
    _Alignas(64) _Atomic uint32_t from;
    _Atomic uint64_t at_ns;
} pair;

static void pair_wait(_Atomic uint32_t *word, uint32_t value)
{
    for (uint32_t seen = atomic_load(word); seen != value; seen = atomic_load(word))
        (void)syscall(SYS_futex, word, FUTEX_WAIT, seen, NULL, NULL, 0); /* looks again */
}

static void pair_wake(_Atomic uint32_t *word, uint32_t value)
{
    atomic_store(word, value);
    (void)syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0); /* nobody may wait yet */
}

static pair *pair_map(void)
{
    pair *map = mmap(NULL, sizeof *map, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED)
        bench_check(AXO_ENOMEM, "memory of two processes");
    return map;
}

/* The other process: answers the numbers 1 to `last`. */
static pid_t pair_fork(pair *map, uint32_t last)
{
    pid_t pid = fork();
    bench_expect(pid < 0, false, "fork");
    if (pid > 0)
        return pid;
    for (uint32_t i = 1; i <= last; i++) {
        pair_wait(&map->to, i);
        atomic_store(&map->at_ns, clock_ns());
        pair_wake(&map->from, i);
    }
    _exit(0);
}

static void pair_gone(pid_t pid, pair *map)
{
    bench_expect((uint64_t)waitpid(pid, NULL, 0), (uint64_t)pid, "wait for a process");
    (void)munmap(map, sizeof *map);
}

static void trip_floor(run *shared)
{
    pair *map = pair_map();
    uint32_t last = (uint32_t)shared->trips + WARM;
    pid_t pid = pair_fork(map, last);
    for (uint32_t i = 1; i <= last; i++) {
        uint64_t since = clock_ns();
        pair_wake(&map->to, i);
        pair_wait(&map->from, i);
        if (i > WARM)
            histogram_record(&shared->floor, clock_ns() - since);
    }
    pair_gone(pid, map);
}

/* One that has been forked before takes the place of one that is killed. */
static void strike_floor_one(run *shared)
{
    pair *live = pair_map();
    pair *spare = pair_map();
    pid_t first = pair_fork(live, UINT32_MAX);
    pid_t second = pair_fork(spare, 1);
    int fd = (int)syscall(SYS_pidfd_open, first, 0);
    bench_expect(fd < 0, false, "pidfd_open");
    pair_wake(&live->to, 1);
    pair_wait(&live->from, 1);
    (void)usleep((useconds_t)shared->pause_us); /* a shorter pause is as good */
    struct pollfd gone = {.fd = fd, .events = POLLIN};
    uint64_t since = clock_ns();
    bench_expect((uint64_t)kill(first, SIGKILL), 0, "kill");
    while (poll(&gone, 1, -1) < 0)
        bench_expect((uint64_t)errno, EINTR, "poll");
    pair_wake(&spare->to, 1);
    pair_wait(&spare->from, 1);
    histogram_record(&shared->floor, atomic_load(&spare->at_ns) - since);
    (void)close(fd);
    pair_gone(first, live);
    pair_gone(second, spare);
}

/* ---- a run --------------------------------------------------------------------------------- */

static void world_run(const bench_settings *settings, run *shared, const axo_class *cls,
                      bench_sample *sample)
{
    axo_zygote *zygote;
    near args = {.run = shared};
    axo_ref ref;
    axo_system *system = bench_system_start(settings);
    axo_zygote_settings ask = AXO_ZYGOTE_SETTINGS(.spares = (uint32_t)shared->spares);
    bench_check(axo_zygote_start(system, &ask, &zygote), "zygote");
    axo_process recipe = AXO_PROCESS(.zygote = zygote);
    axo_props props = AXO_PROPS(.cls = &far_class);
    bench_check(axo_system_process_spawn(system, &recipe, &props, &args.far), "process");
    props = (axo_props)AXO_PROPS(.cls = cls, .args = &args, .args_size = sizeof args);
    bench_check(axo_system_spawn(system, &props, &ref), "spawn");
    bench_check(axo_system_send(system, ref, GO, NULL, 0), "send");
    bench_system_end(system, sample);
}

static void trip_run(const bench_settings *settings, void *arg, bench_sample *sample)
{
    run *shared = arg;
    world_run(settings, shared, &trip_class, sample);
    trip_floor(shared);
    bench_expect(shared->times.count, shared->trips, "round trips");
    bench_expect(shared->floor.count, shared->trips, "round trips of two processes");
    sample->figure = (double)histogram_percentile(&shared->times, 0.5);
    sample->values[0] = sample->figure / (double)histogram_percentile(&shared->floor, 0.5);
}

static void stream_run(const bench_settings *settings, void *arg, bench_sample *sample)
{
    run *shared = arg;
    world_run(settings, shared, &stream_class, sample);
    bench_expect(sample->stats.handled > shared->messages, true, "messages that were handled");
    sample->figure =
        (double)shared->messages * 1e9 / (double)(shared->end_ns - shared->begin_ns);
}

static void strike_run(const bench_settings *settings, void *arg, bench_sample *sample)
{
    run *shared = arg;
    world_run(settings, shared, &strike_class, sample);
    for (uint64_t i = 0; i < shared->restarts && !shared->fall; i++)
        strike_floor_one(shared);
    bench_expect(shared->times.count, shared->restarts, "restarts");
    sample->figure = (double)histogram_percentile(&shared->times, 0.5);
    if (!shared->fall)
        sample->values[0] = sample->figure / (double)histogram_percentile(&shared->floor, 0.5);
}

/* ---- program ------------------------------------------------------------------------------- */

static void trip_measure(const bench_settings *settings, run *own)
{
    char options[64];
    (void)snprintf(options, sizeof options, "\"trips\":%" PRIu64, own->trips);
    bench_measure(settings, &(bench_work){.name = "W23r",
                                          .unit = "ns",
                                          .less = true,
                                          .options = options,
                                          .run = trip_run,
                                          .arg = own,
                                          .values = {{"ratio_p50", true}},
                                          .times = {{"", &own->times}, {"futex", &own->floor}}});
}

static void stream_measure(const bench_settings *settings, run *own)
{
    char options[96];
    (void)snprintf(options, sizeof options, "\"messages\":%" PRIu64 ",\"window\":%" PRIu64,
                   own->messages, own->window);
    bench_measure(settings, &(bench_work){.name = "W23m",
                                          .unit = "messages/s",
                                          .options = options,
                                          .run = stream_run,
                                          .arg = own});
}

static void strike_measure(const bench_settings *settings, run *own)
{
    char options[128];
    (void)snprintf(options, sizeof options,
                   "\"restarts\":%" PRIu64 ",\"pause_us\":%" PRIu64 ",\"spares\":%" PRIu64,
                   own->restarts, own->pause_us, own->spares);
    bench_work work = {.name = own->fall ? "W23s" : "W23k",
                       .unit = "ns",
                       .less = true,
                       .options = options,
                       .run = strike_run,
                       .arg = own,
                       .times = {{"", &own->times}}};
    if (!own->fall) {
        work.values[0] = (bench_value){"ratio_p50", true};
        work.times[1] = (bench_times){"bare", &own->floor};
    }
    bench_measure(settings, &work);
}

int main(int argc, char **argv)
{
    static run own = {.trips = 20000, .messages = 2000128, .window = 2048, .restarts = 200,
                      .pause_us = 20000, .spares = 1};
    const bench_option options[] = {{"--trips", &own.trips, "round trips a run, W23r"},
                                    {"--messages", &own.messages, "messages a run, W23m"},
                                    {"--window", &own.window, "of them at most unanswered"},
                                    {"--restarts", &own.restarts, "restarts a run, W23k, W23s"},
                                    {"--pause", &own.pause_us, "us before each"},
                                    {"--spares", &own.spares, "processes that are kept ready"},
                                    {"--part", &own.part, "1 to 4: only W23r, m, k, s; 0: all"}};
    bench_settings settings;
    axo_process_main(argc, argv, far_classes, 1);
    bench_settings_read(&settings, argv, options, 7);
    own.messages -= own.messages % BATCH;
    own.window -= own.window % BATCH;
    if (own.trips < 1 || own.trips > UINT32_MAX - 1 - WARM || own.window < BATCH ||
        own.messages < BATCH || own.restarts < 1 || own.pause_us > 1000000 ||
        own.spares > AXO_PROCESS_SPARES_MAX || own.part > 4)
        bench_usage(argv[0], options, 7);
    if (own.part == 0 || own.part == 1)
        trip_measure(&settings, &own);
    if (own.part == 0 || own.part == 2)
        stream_measure(&settings, &own);
    for (uint32_t part = 3; part <= 4; part++) {
        own.fall = part == 4;
        if (own.part == 0 || own.part == part)
            strike_measure(&settings, &own);
    }
    return 0;
}
