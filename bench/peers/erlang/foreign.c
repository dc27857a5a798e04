/* foreign.c - a NIF whose threads are not Erlang's own and send to a process (W12). */
#include <erl_nif.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

typedef struct foreign_job {
    ErlNifPid to;
    uint64_t count;
    uint64_t burst;    /* sends that are timed together */
    int64_t sleep_ns;  /* before each send */
    int64_t gap_ns;    /* from the handling of one to the next send */
} foreign_job;

static _Atomic uint64_t foreign_count; /* messages that were handled */

static int64_t foreign_now(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail with this clock */
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void foreign_await(uint64_t sent)
{
    while (atomic_load_explicit(&foreign_count, memory_order_acquire) < sent)
        (void)sched_yield(); /* ends when the process has run */
}

static void *foreign_flood(void *arg)
{
    foreign_job *job = arg;
    ErlNifEnv *env = enif_alloc_env();
    int64_t took = 0;
    for (uint64_t sent = 0; sent < job->count; foreign_await(sent)) {
        int64_t begin = foreign_now();
        for (uint64_t i = 0; i < job->burst && sent < job->count; i++) /* small: no copy */
            (void)enif_send(NULL, &job->to, NULL, enif_make_uint64(env, sent++));
        took += foreign_now() - begin;
    }
    ERL_NIF_TERM told = enif_make_tuple2(env, enif_make_atom(env, "took"),
                                         enif_make_int64(env, took));
    (void)enif_send(NULL, &job->to, env, told);
    enif_free_env(env);
    enif_free(job);
    return NULL;
}

static void *foreign_pace(void *arg)
{
    foreign_job *job = arg;
    ErlNifEnv *env = enif_alloc_env();
    struct timespec pause = {.tv_nsec = job->sleep_ns};
    for (uint64_t i = 0; i < job->count; i++) {
        foreign_await(i);
        int64_t due = foreign_now() + job->gap_ns;
        if (job->sleep_ns > 0)
            (void)nanosleep(&pause, NULL); /* a shorter pause is as good */
        while (foreign_now() < due)
            continue; /* ends: the clock runs */
        ERL_NIF_TERM sent = enif_make_tuple2(env, enif_make_atom(env, "sent"),
                                             enif_make_int64(env, foreign_now()));
        (void)enif_send(NULL, &job->to, env, sent);
        enif_clear_env(env);
    }
    enif_free_env(env);
    enif_free(job);
    return NULL;
}

/* Starts a thread, which ends by itself and frees its job. */
static ERL_NIF_TERM foreign_start(ErlNifEnv *env, const foreign_job *wanted, void *(*run)(void *))
{
    foreign_job *job = enif_alloc(sizeof *job);
    ErlNifTid thread;
    if (job == NULL)
        return enif_make_badarg(env);
    *job = *wanted;
    atomic_store(&foreign_count, 0);
    if (enif_thread_create("foreign", &thread, run, job, NULL) != 0) {
        enif_free(job);
        return enif_make_badarg(env);
    }
    return enif_make_atom(env, "ok");
}

/* (pid, count, burst) */
static ERL_NIF_TERM foreign_send(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    foreign_job job = {.sleep_ns = 0};
    ErlNifUInt64 count;
    ErlNifUInt64 burst;
    (void)argc;
    if (!enif_get_local_pid(env, argv[0], &job.to) || !enif_get_uint64(env, argv[1], &count) ||
        !enif_get_uint64(env, argv[2], &burst))
        return enif_make_badarg(env);
    job.count = count;
    job.burst = burst;
    return foreign_start(env, &job, foreign_flood);
}

/* (pid, count, sleep, gap) */
static ERL_NIF_TERM foreign_paced(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    foreign_job job = {.burst = 1};
    ErlNifUInt64 count;
    ErlNifSInt64 sleep_ns;
    ErlNifSInt64 gap_ns;
    (void)argc;
    if (!enif_get_local_pid(env, argv[0], &job.to) || !enif_get_uint64(env, argv[1], &count) ||
        !enif_get_int64(env, argv[2], &sleep_ns) || !enif_get_int64(env, argv[3], &gap_ns))
        return enif_make_badarg(env);
    job.count = count;
    job.sleep_ns = sleep_ns;
    job.gap_ns = gap_ns;
    return foreign_start(env, &job, foreign_pace);
}

/* Counts a message that was handled; the clock. */
static ERL_NIF_TERM foreign_handled(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    (void)argc;
    (void)argv;
    int64_t now = foreign_now();
    (void)atomic_fetch_add(&foreign_count, 1);
    return enif_make_int64(env, now);
}

static ErlNifFunc foreign_functions[] = {{"foreign_send", 3, foreign_send, 0},
                                         {"foreign_paced", 4, foreign_paced, 0},
                                         {"foreign_handled", 0, foreign_handled, 0}};

ERL_NIF_INIT(fair, foreign_functions, NULL, NULL, NULL, NULL)
