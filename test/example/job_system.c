/* job_system.c - actors on the threads of a program's own job system: axo starts none. Work for
 * actors becomes a job like any other, one for each visit that axo asks for; a job that is run by
 * whichever thread is free visits whichever slot is free. job_system.expected is what it prints. */
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <axo/axo.h>

enum { THREADS = 3, SLOTS = 2, TILES = 1000, TILE = 1, DONE };
#define MS INT64_C(1000000)

static void must(axo_status status)
{
    if (status == AXO_OK)
        return;
    fprintf(stderr, "%s\n", axo_status_text(status));
    exit(1);
}

/* ---- the job system: some threads and one queue, as short as it can be ---- */

typedef struct job_queue {
    pthread_mutex_t mutex;
    pthread_cond_t more;
    uint32_t visits; /* jobs that visit a slot */
    uint32_t meshes; /* jobs of the program's own */
    uint32_t built;
    bool quit;
    axo_system *system;
    pthread_t threads[THREADS];
} job_queue;

static void jobs_add(job_queue *jobs, uint32_t *kind, uint32_t count)
{
    (void)pthread_mutex_lock(&jobs->mutex);
    *kind += count;
    (void)pthread_cond_broadcast(&jobs->more);
    (void)pthread_mutex_unlock(&jobs->mutex);
}

/* axo_options.on_work: called in the midst of sends and turns, so it only adds jobs. */
static void jobs_asked(void *user, uint32_t how_many)
{
    job_queue *jobs = user;
    jobs_add(jobs, &jobs->visits, how_many);
}

/* A visit of 2 ms at most; what is left then has asked for another one. A slot that is somebody's
 * is looked at again by that thread, and there may be a free one. */
static void jobs_visit(job_queue *jobs)
{
    axo_status status = AXO_EBUSY;
    for (uint32_t slot = 0; slot < SLOTS && status == AXO_EBUSY; slot++)
        status = axo_worker_run(jobs->system, slot, 2 * MS, NULL);
    if (status != AXO_EBUSY && status != AXO_ESTOPPING)
        must(status);
}

/* Waits for a job, or until a visit is due that nobody asks for: a timer. Under the mutex, but for
 * the question: jobs_asked waits for it. */
static bool jobs_wait(job_queue *jobs)
{
    struct timespec until;
    (void)pthread_mutex_unlock(&jobs->mutex);
    int64_t due = axo_worker_due(jobs->system);
    (void)pthread_mutex_lock(&jobs->mutex);
    if (jobs->meshes > 0 || jobs->visits > 0 || jobs->quit)
        return true;
    (void)timespec_get(&until, TIME_UTC);
    due = (due > 1000 * MS ? 1000 * MS : due) + until.tv_nsec;
    until.tv_sec += due / (1000 * MS);
    until.tv_nsec = due % (1000 * MS);
    return pthread_cond_timedwait(&jobs->more, &jobs->mutex, &until) == 0;
}

static void *jobs_main(void *arg)
{
    job_queue *jobs = arg;
    (void)pthread_mutex_lock(&jobs->mutex);
    while (!jobs->quit) {
        bool mesh = jobs->meshes > 0;
        bool visit = !mesh && jobs->visits > 0;
        jobs->meshes -= mesh;
        jobs->built += mesh;
        jobs->visits -= visit;
        if (!mesh && !visit && jobs_wait(jobs))
            continue;
        (void)pthread_mutex_unlock(&jobs->mutex);
        if (!mesh)
            jobs_visit(jobs);
        (void)pthread_mutex_lock(&jobs->mutex);
    }
    (void)pthread_mutex_unlock(&jobs->mutex);
    return NULL;
}

/* ---- actors ---- */

static job_queue jobs = {.mutex = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER};
static sem_t finished;

/* Each tile answers after a millisecond. */
static axo_status tile_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)state;
    axo_ref map = axo_sender(ctx);
    return message->tag == TILE ? axo_send_after(ctx, MS, map, DONE, NULL, 0) : AXO_UNHANDLED;
}

static const axo_class tile_class = AXO_CLASS(.name = "tile", .receive = tile_receive);

/* Spawns the tiles, and counts their answers. */
static axo_status map_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    uint32_t *answers = state;
    if (message->tag == DONE) {
        if (++*answers == TILES)
            (void)sem_post(&finished);
        return AXO_OK;
    }
    for (uint32_t i = 0; i < TILES; i++) {
        axo_ref tile;
        axo_status status = axo_spawn(ctx, &(axo_props)AXO_PROPS(.cls = &tile_class), &tile);
        if (status == AXO_OK)
            status = axo_send(ctx, tile, TILE, NULL, 0);
        if (status != AXO_OK)
            return status;
    }
    return AXO_OK;
}

static const axo_class map_class =
    AXO_CLASS(.name = "map", .state_size = sizeof(uint32_t), .receive = map_receive);

int main(void)
{
    axo_options options = AXO_OPTIONS(.threads = AXO_THREADS_LENT, .workers = SLOTS,
                                      .on_work = jobs_asked, .work_user = &jobs);
    axo_ref map;
    if (sem_init(&finished, 0, 0) != 0)
        return 1;
    must(axo_system_start(&options, &jobs.system));
    for (uint32_t i = 0; i < THREADS; i++) {
        if (pthread_create(&jobs.threads[i], NULL, jobs_main, &jobs) != 0)
            return 1;
    }
    must(axo_system_spawn(jobs.system, &(axo_props)AXO_PROPS(.cls = &map_class), &map));
    must(axo_system_send(jobs.system, map, TILE, NULL, 0));
    jobs_add(&jobs, &jobs.meshes, 100);
    while (sem_wait(&finished) != 0)
        continue;
    must(axo_system_stop(jobs.system, -1, NULL, 0, NULL)); /* visits a free slot meanwhile */

    (void)pthread_mutex_lock(&jobs.mutex);
    while (jobs.meshes > 0)
        (void)jobs_wait(&jobs);
    jobs.quit = true;
    (void)pthread_cond_broadcast(&jobs.more);
    (void)pthread_mutex_unlock(&jobs.mutex);
    for (uint32_t i = 0; i < THREADS; i++)
        (void)pthread_join(jobs.threads[i], NULL);
    must(axo_system_destroy(jobs.system));
    printf("%u meshes\n%d tiles\n", (unsigned)jobs.built, TILES);
    return 0;
}
