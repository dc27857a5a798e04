/* w17_stuck.c - a failure while every worker sits in a handler that blocks: from the send of the
 * message that fails to the decision of the supervisor (W17), and to the first message that the new
 * instance handles. The failing actor and its supervisor are on the default dispatcher too. */
#include "bench.h"

#include <pthread.h>

enum { BLOCK = 1, FAIL, PING };

typedef struct stuck {
    uint64_t rounds;
    histogram decided;
    histogram handled;
    uint64_t since_ns;
    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t change;
    uint32_t blocked;
    uint32_t answers;
    bool open;
} stuck;

static void stuck_count(stuck *shared, uint32_t *count)
{
    (void)pthread_mutex_lock(&shared->mutex);
    (*count)++;
    (void)pthread_cond_broadcast(&shared->change);
    (void)pthread_mutex_unlock(&shared->mutex);
}

static void stuck_await(stuck *shared, const uint32_t *count, uint32_t want)
{
    (void)pthread_mutex_lock(&shared->mutex);
    while (*count < want)
        (void)pthread_cond_wait(&shared->change, &shared->mutex);
    (void)pthread_mutex_unlock(&shared->mutex);
}

static axo_status stuck_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    memcpy(state, args, sizeof(stuck *));
    return AXO_OK;
}

static axo_status blocker_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    stuck *shared = *(stuck *const *)state;
    (void)ctx;
    (void)message;
    (void)pthread_mutex_lock(&shared->mutex);
    shared->blocked++;
    (void)pthread_cond_broadcast(&shared->change);
    while (!shared->open)
        (void)pthread_cond_wait(&shared->change, &shared->mutex);
    (void)pthread_mutex_unlock(&shared->mutex);
    return AXO_OK;
}

static axo_status victim_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    stuck *shared = *(stuck *const *)state;
    if (message->tag == FAIL)
        return axo_fail(ctx, 1, "as told");
    histogram_record(&shared->handled, clock_ns() - shared->since_ns);
    stuck_count(shared, &shared->answers);
    return AXO_OK;
}

static axo_directive stuck_decide(axo_ctx *ctx, void *state, const axo_failure *failure,
                                  void *user)
{
    stuck *shared = user;
    (void)ctx;
    (void)state;
    (void)failure;
    histogram_record(&shared->decided, clock_ns() - shared->since_ns);
    return AXO_RESTART;
}

static void stuck_round(axo_system *system, stuck *shared, axo_ref victim)
{
    shared->since_ns = clock_ns();
    bench_check(axo_system_send(system, victim, FAIL, NULL, 0), "send");
    uint32_t want = shared->answers + 1;
    bench_check(axo_system_send(system, victim, PING, NULL, 0), "send");
    stuck_await(shared, &shared->answers, want);
}

static void stuck_run(const bench_settings *settings, void *arg, bench_sample *sample)
{
    static const axo_class blocker = AXO_CLASS(.name = "blocker", .state_size = sizeof(stuck *),
                                               .construct = stuck_construct,
                                               .receive = blocker_receive);
    static const axo_class victim = AXO_CLASS(.name = "victim", .state_size = sizeof(stuck *),
                                              .construct = stuck_construct,
                                              .receive = victim_receive);
    stuck *shared = arg;
    const axo_strategy strategy = AXO_STRATEGY(.decider = stuck_decide, .user = shared);
    axo_options options = AXO_OPTIONS(.workers = settings->workers, .user_strategy = &strategy);
    axo_system *system;
    axo_ref ref;
    shared->blocked = shared->answers = 0;
    shared->open = false;
    bench_check(axo_system_start(&options, &system), "axo_system_start");
    axo_props props = AXO_PROPS(.cls = &victim, .args = &shared, .args_size = sizeof shared);
    bench_check(axo_system_spawn(system, &props, &ref), "spawn");
    props.cls = &blocker;
    for (uint32_t i = 0; i < axo_system_workers(system); i++) {
        axo_ref one;
        bench_check(axo_system_spawn(system, &props, &one), "spawn");
        bench_check(axo_system_send(system, one, BLOCK, NULL, 0), "send");
    }
    stuck_await(shared, &shared->blocked, axo_system_workers(system));
    uint64_t begin = clock_ns();
    for (uint64_t i = 0; i < shared->rounds; i++) {
        struct timespec pause = {.tv_nsec = 7000000}; /* the spare worker is asleep again */
        (void)nanosleep(&pause, NULL);
        stuck_round(system, shared, ref);
    }
    sample->figure = (double)shared->rounds * 1e9 / (double)(clock_ns() - begin);
    (void)pthread_mutex_lock(&shared->mutex);
    shared->open = true;
    (void)pthread_cond_broadcast(&shared->change);
    (void)pthread_mutex_unlock(&shared->mutex);
    bench_check(axo_system_shutdown(system), "shutdown");
    bench_system_end(system, sample);
}

int main(int argc, char **argv)
{
    static stuck shared = {.mutex = PTHREAD_MUTEX_INITIALIZER,
                           .change = PTHREAD_COND_INITIALIZER};
    uint64_t rounds = 200;
    const bench_option options[] = {{"--rounds", &rounds, "failures a run"}};
    bench_settings settings;
    char text[64];
    (void)argc;
    bench_settings_read(&settings, argv, options, 1);
    shared.rounds = rounds;
    (void)snprintf(text, sizeof text, "\"rounds\":%" PRIu64, rounds);
    bench_measure(&settings,
                  &(bench_work){.name = "W17",
                                .unit = "failures/s",
                                .options = text,
                                .run = stuck_run,
                                .arg = &shared,
                                .times = {{"decided", &shared.decided},
                                          {"handled", &shared.handled}}});
    return 0;
}
