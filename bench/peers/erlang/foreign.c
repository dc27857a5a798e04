/* foreign.c - a NIF whose threads are not Erlang's own and send to a process (W12). */
#include <erl_nif.h>
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

typedef struct foreign_job {
    ErlNifPid to;
    uint64_t count;
    int64_t pause_ns; /* 0: the next follows when the last is handled */
} foreign_job;

static _Atomic uint64_t foreign_count; /* messages that were handled */

static int64_t foreign_now(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail with this clock */
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Waits for the message before, or sleeps. */
static void foreign_pause(int64_t ns, uint64_t sent)
{
    struct timespec pause = {.tv_nsec = ns};
    if (ns > 0)
        (void)nanosleep(&pause, NULL); /* a shorter pause is as good */
    while (ns == 0 && atomic_load_explicit(&foreign_count, memory_order_acquire) != sent)
        continue; /* ends when the process has run */
}

static void *foreign_flood(void *arg)
{
    foreign_job *job = arg;
    ErlNifEnv *env = enif_alloc_env();
    int64_t begin = foreign_now();
    for (uint64_t i = 0; i < job->count; i++)
        (void)enif_send(NULL, &job->to, NULL, enif_make_uint64(env, i)); /* small: no copy */
    int64_t took = foreign_now() - begin;
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
    for (uint64_t i = 0; i < job->count; i++) {
        foreign_pause(job->pause_ns, i);
        ERL_NIF_TERM sent = enif_make_tuple2(env, enif_make_atom(env, "sent"),
                                             enif_make_int64(env, foreign_now()));
        (void)enif_send(NULL, &job->to, env, sent);
        enif_clear_env(env);
    }
    enif_free_env(env);
    enif_free(job);
    return NULL;
}

/* Reads (pid, count[, pause]) and starts a thread, which ends by itself. */
static ERL_NIF_TERM foreign_start(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[],
                                  void *(*run)(void *))
{
    foreign_job *job = enif_alloc(sizeof *job);
    ErlNifUInt64 count;
    ErlNifSInt64 pause = 0;
    ErlNifTid thread;
    if (job == NULL || !enif_get_local_pid(env, argv[0], &job->to) ||
        !enif_get_uint64(env, argv[1], &count) ||
        (argc > 2 && !enif_get_int64(env, argv[2], &pause))) {
        enif_free(job);
        return enif_make_badarg(env);
    }
    job->count = count;
    job->pause_ns = pause;
    atomic_store(&foreign_count, 0);
    if (enif_thread_create("foreign", &thread, run, job, NULL) != 0) {
        enif_free(job);
        return enif_make_badarg(env);
    }
    return enif_make_atom(env, "ok");
}

static ERL_NIF_TERM foreign_send(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    return foreign_start(env, argc, argv, foreign_flood);
}

static ERL_NIF_TERM foreign_paced(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    return foreign_start(env, argc, argv, foreign_pace);
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

static ErlNifFunc foreign_functions[] = {{"foreign_send", 2, foreign_send, 0},
                                         {"foreign_paced", 3, foreign_paced, 0},
                                         {"foreign_handled", 0, foreign_handled, 0}};

ERL_NIF_INIT(fair, foreign_functions, NULL, NULL, NULL, NULL)
