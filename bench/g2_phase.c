/* g2_phase.c - a phase of a frame in parallel: each of 10 000 actors handles one message, sent
 * through a group by the program's thread, which waits for all.
 *
 * G2 on lent threads: the program's thread helps, and threads for all other slots wait for on_work.
 * G2o on workers of axo's own: the program's thread sleeps. A message's own work is --work
 * operations of a chain; G3 and G3o are the same without any. G2m, G2om, G3m and G3om send with
 * axo_group_send_many. Figures are ns an actor, of all phases together; `phase` is a phase's time.
 * peers/tbb does the phase with oneTBB and as a plain loop over function pointers. */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "bench.h"

enum { WORK = 1 };

#define PHASE_ACTORS_MAX 1000000
#define PHASE_VISIT_NS   INT64_C(2000000)

typedef struct phase {
    uint64_t actors;
    uint64_t phases;
    uint64_t work;  /* of G2 */
    uint64_t part;  /* the only row, from 1; 0: all */
    uint64_t links; /* of what runs now */
    bool lent;
    bool many;
    axo_system *system;
    axo_ref *refs;
    uint32_t slots;
    _Atomic uint64_t handled;
    _Atomic bool quit;
    sem_t asked;
    pthread_t threads[AXO_WORKERS_MAX];
    histogram times;
} phase;

/* ---- actors -------------------------------------------------------------------------------- */

typedef struct entity {
    phase *phase;
    uint64_t handled;
} entity;

static axo_status entity_construct(axo_ctx *ctx, void *state, const void *args)
{
    entity *self = state;
    (void)ctx;
    memcpy(&self->phase, args, sizeof self->phase);
    return AXO_OK;
}

static axo_status entity_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    entity *self = state;
    (void)ctx;
    (void)message;
    bench_chain(self->phase->links);
    self->handled++;
    return AXO_OK;
}

static axo_status entity_post_stop(axo_ctx *ctx, void *state)
{
    entity *self = state;
    (void)ctx;
    atomic_fetch_add_explicit(&self->phase->handled, self->handled, memory_order_relaxed);
    return AXO_OK;
}

static const axo_class entity_class =
    AXO_CLASS(.name = "entity", .state_size = sizeof(entity), .construct = entity_construct,
              .receive = entity_receive, .post_stop = entity_post_stop);

/* ---- threads that are lent ----------------------------------------------------------------- */

static void phase_asked(void *user, uint32_t how_many)
{
    phase *shared = user;
    for (uint32_t i = 0; i < how_many; i++)
        (void)sem_post(&shared->asked); /* fails beyond SEM_VALUE_MAX alone */
}

static void phase_visit(phase *shared)
{
    axo_status status = AXO_EBUSY;
    for (uint32_t slot = 0; slot < shared->slots && status == AXO_EBUSY; slot++)
        status = axo_worker_run(shared->system, slot, PHASE_VISIT_NS, NULL);
    if (status != AXO_EBUSY && status != AXO_ESTOPPING)
        bench_check(status, "worker_run");
}

static void *phase_thread(void *arg)
{
    phase *shared = arg;
    for (;;) {
        while (sem_wait(&shared->asked) != 0)
            bench_expect((uint64_t)errno, EINTR, "sem_wait");
        if (atomic_load_explicit(&shared->quit, memory_order_acquire))
            return NULL;
        phase_visit(shared);
    }
}

static uint32_t phase_threads(const phase *shared)
{
    return shared->lent ? shared->slots - 1 : 0;
}

static void phase_begin(phase *shared, const bench_settings *settings)
{
    axo_options options = AXO_OPTIONS(.workers = settings->workers, .seed = 1,
                                      .no_quantum_us = settings->steady);
    if (shared->lent) {
        options.threads = AXO_THREADS_LENT;
        options.on_work = phase_asked;
        options.work_user = shared;
    }
    atomic_store(&shared->quit, false);
    atomic_store(&shared->handled, 0);
    bench_check(sem_init(&shared->asked, 0, 0) == 0 ? AXO_OK : AXO_ENOMEM, "semaphore");
    bench_check(axo_system_start(&options, &shared->system), "start");
    shared->slots = axo_system_workers(shared->system);
    for (uint32_t i = 0; i < phase_threads(shared); i++)
        bench_expect((uint64_t)pthread_create(&shared->threads[i], NULL, phase_thread, shared), 0,
                     "pthread_create");
}

static void phase_end(phase *shared, bench_sample *sample)
{
    axo_stats stats;
    bench_check(axo_system_stop(shared->system, -1, NULL, 0, NULL), "stop");
    atomic_store_explicit(&shared->quit, true, memory_order_release);
    for (uint32_t i = 0; i < phase_threads(shared); i++)
        (void)sem_post(&shared->asked);
    for (uint32_t i = 0; i < phase_threads(shared); i++)
        (void)pthread_join(shared->threads[i], NULL);
    (void)sem_destroy(&shared->asked);
    bench_system_finish(shared->system, sample, &stats);
}

/* ---- phases -------------------------------------------------------------------------------- */

static void phase_send(const phase *shared, axo_group *group)
{
    if (shared->many) {
        bench_check(axo_group_send_many(group, shared->refs, (uint32_t)shared->actors, WORK, NULL,
                                        0, NULL),
                    "send_many");
        return;
    }
    for (uint64_t i = 0; i < shared->actors; i++)
        bench_check(axo_group_send(group, shared->refs[i], WORK, NULL, 0), "send");
}

static uint64_t phase_once(phase *shared, axo_group *group)
{
    uint64_t begin = clock_ns();
    phase_send(shared, group);
    bench_check(axo_group_wait(group, AXO_GROUP_FOREVER,
                               shared->lent ? AXO_GROUP_HELP : AXO_GROUP_SLEEP),
                "wait");
    return clock_ns() - begin;
}

static void phase_run(const bench_settings *settings, void *arg, bench_sample *sample)
{
    phase *shared = arg;
    axo_group *group;
    uint64_t sum = 0;
    uint64_t warm = shared->phases / 10 + 1;
    phase_begin(shared, settings);
    for (uint64_t i = 0; i < shared->actors; i++) {
        axo_props props = AXO_PROPS(.cls = &entity_class, .args = &shared,
                                    .args_size = sizeof shared);
        bench_check(axo_system_spawn(shared->system, &props, &shared->refs[i]), "spawn");
    }
    bench_check(axo_group_make(shared->system, &group), "group");
    for (uint64_t i = 0; i < warm; i++)
        (void)phase_once(shared, group);
    for (uint64_t i = 0; i < shared->phases; i++) {
        uint64_t ns = phase_once(shared, group);
        histogram_record(&shared->times, ns);
        sum += ns;
    }
    bench_check(axo_group_free(group), "group_free");
    phase_end(shared, sample);
    bench_expect(atomic_load(&shared->handled), (warm + shared->phases) * shared->actors,
                 "messages that were handled");
    sample->figure = (double)sum / (double)(shared->phases * shared->actors);
}

typedef struct phase_row {
    const char *name;
    bool lent;
    bool many;
    bool works;
} phase_row;

static const phase_row phase_rows[] = {
    {"G2", true, false, true},    {"G2o", false, false, true},  {"G3", true, false, false},
    {"G3o", false, false, false}, {"G2m", true, true, true},    {"G2om", false, true, true},
    {"G3m", true, true, false},   {"G3om", false, true, false},
};
#define PHASE_ROWS (sizeof phase_rows / sizeof *phase_rows)

static void phase_measure(const bench_settings *settings, phase *shared, const phase_row *row)
{
    char text[96];
    uint64_t links = row->works ? shared->work : 0;
    shared->lent = row->lent;
    shared->many = row->many;
    shared->links = links;
    (void)snprintf(text, sizeof text,
                   "\"actors\":%" PRIu64 ",\"phases\":%" PRIu64 ",\"work\":%" PRIu64,
                   shared->actors, shared->phases, links);
    bench_measure(settings, &(bench_work){.name = row->name,
                                          .unit = "ns",
                                          .options = text,
                                          .run = phase_run,
                                          .arg = shared,
                                          .less = true,
                                          .times = {{"phase", &shared->times}}});
}

int main(int argc, char **argv)
{
    static phase own = {.actors = 10000, .phases = 100, .work = 1000};
    const bench_option options[] = {{"--actors", &own.actors, "actors, at most 1000000"},
                                    {"--phases", &own.phases, "phases of a run"},
                                    {"--work", &own.work, BENCH_CHAIN_HELP},
                                    {"--part", &own.part, "1 to 8: only that row; 0: all"}};
    bench_settings settings;
    (void)argc;
    bench_settings_read(&settings, argv, options, 4);
    if (own.actors < 1 || own.actors > PHASE_ACTORS_MAX || own.phases < 1 || own.part > PHASE_ROWS)
        bench_usage(argv[0], options, 4);
    own.refs = calloc(own.actors, sizeof *own.refs);
    bench_check(own.refs == NULL ? AXO_ENOMEM : AXO_OK, "references");
    for (size_t i = 0; i < PHASE_ROWS; i++) {
        if (own.part == 0 || own.part == i + 1)
            phase_measure(&settings, &own, &phase_rows[i]);
    }
    free(own.refs);
    return 0;
}
