/* attempt.c - schedules in a process of their own. */
#include "attempt.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/assert.h"
#include "chart.h"

#define ATTEMPT_SECONDS 600
#define ATTEMPT_SECONDS_ONE 20
#define ATTEMPT_TWICE_ONE_IN 100
#define ATTEMPT_STACK ((size_t)256 * 1024)

static attempt *running;

attempt *attempt_make(const stage_scene *scene, const char *strategy, uint64_t seed,
                      uint64_t count)
{
    static attempt *it;
    if (it == NULL)
        it = mmap(NULL, sizeof *it, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (it == MAP_FAILED)
        abort();
    memset(it, 0, offsetof(attempt, log));
    it->scene = scene;
    (void)snprintf(it->strategy, sizeof it->strategy, "%s", strategy);
    it->seed = seed;
    it->count = count;
    return it;
}

/* The log of the run that is going on becomes the parent's. */
static void attempt_tell_log(attempt *it)
{
    size_t count = 0;
    const axo__sim_choice *log = axo__sim_log(&count);
    it->log_count = count < ATTEMPT_LOG_MAX ? count : ATTEMPT_LOG_MAX;
    memmove(it->log, log, it->log_count * sizeof *log);
}

static void attempt_die(int number)
{
    attempt *it = running;
    signal(number, SIG_DFL);
    axo__sim_explore(false);
    if (!it->failed) {
        it->failed = true;
        it->digest = axo__sim_digest();
        if (it->why[0] == 0)
            (void)snprintf(it->why, sizeof it->why, "%s",
                           number == SIGPROF ? "takes too long" : strsignal(number));
        attempt_tell_log(it);
        if (it->loud)
            chart_print(stdout, 0);
    }
    fflush(NULL);
    _exit(1);
}

static void attempt_stuck(const char *why)
{
    (void)snprintf(running->why, sizeof running->why, "%s", why);
}

static uint64_t attempt_one(attempt *it, uint64_t seed)
{
    it->seed = seed;
    axo__sim_reset(seed, NULL);
    if (it->given)
        axo__sim_replay(it->log, it->log_count);
    at.loud = it->loud;
    uint64_t digest = stage_play(it->scene, seed);
    it->played++;
    it->points += at.points;
    if (at.points > it->points_most)
        it->points_most = at.points;
    uint64_t choices = axo__sim_choices(AXO__SIM_WHO);
    if (choices > it->choices_most)
        it->choices_most = choices;
    return digest;
}

bool attempt_walks(const attempt *it)
{
    return strncmp(it->strategy, "bound", 5) == 0 || strncmp(it->strategy, "delay", 5) == 0;
}

static void attempt_all(attempt *it)
{
    uint64_t first = it->seed;
    bool walk = attempt_walks(it);
    for (uint64_t i = 0; i < it->count; i++) {
        it->digest = attempt_one(it, walk ? first : first + i);
        if (it->twice && i % ATTEMPT_TWICE_ONE_IN == 0 && !walk) {
            it->again++;
            it->differ += attempt_one(it, first + i) != it->digest;
        }
        if (it->loud)
            chart_print(stdout, 0);
        if (!axo__sim_more()) {
            it->complete = true;
            return;
        }
    }
}

static void attempt_child(attempt *it)
{
    static const int deaths[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGPROF};
    stack_t own = {.ss_sp = malloc(ATTEMPT_STACK), .ss_size = ATTEMPT_STACK};
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = attempt_die;
    action.sa_flags = SA_ONSTACK;
    (void)sigaltstack(&own, NULL);
    for (size_t i = 0; i < sizeof deaths / sizeof deaths[0]; i++)
        (void)sigaction(deaths[i], &action, NULL);
    running = it;
    /* of the processor: on a busy machine it takes longer, and is not worse */
    struct itimerval limit = {.it_value.tv_sec = it->count > 1 ? ATTEMPT_SECONDS
                                                               : ATTEMPT_SECONDS_ONE};
    (void)setitimer(ITIMER_PROF, &limit, NULL);
    if (!axo__sim_strategy(it->strategy))
        abort();
    axo__sim_on_stuck(attempt_stuck);
    stage_told = attempt_stuck;
    if (!it->loud && freopen("/dev/null", "w", stderr) == NULL)
        abort();
    attempt_all(it);
    if (it->count == 1)
        attempt_tell_log(it);
    fflush(NULL);
    _exit(0);
}

bool attempt_play(attempt *it)
{
    int status = 0;
    fflush(NULL);
    it->failed = false;
    it->why[0] = 0;
    pid_t child = fork();
    if (child == 0)
        attempt_child(it);
    if (child < 0 || waitpid(child, &status, 0) != child)
        abort();
    if (status != 0 && !it->failed) {
        it->failed = true;
        (void)snprintf(it->why, sizeof it->why, "the process ended with %d", status);
    }
    return !it->failed;
}

uint64_t attempt_length(const stage_scene *scene)
{
    attempt *it = attempt_make(scene, "default", 1, 1);
    (void)attempt_play(it);
    return it->choices_most > 0 ? it->choices_most : 1;
}
