/* process_random_test.c - actors in processes, and whatever may happen to them, in random order:
 * failures, crashes, exits, messages put aside, and processes, spares and zygotes that are killed
 * from outside at any moment. None of an actor's messages is handled twice, they are handled in
 * order, and no more are missing than failures have been under; nothing is left.
 *
 * AXO_PROCESS_WORLDS: so many worlds, else 20. AXO_SEED: of the first, else 1. */
#include "api/process_worlds.h"

enum { RANDOM_ACTORS = 4, RANDOM_STEPS = 400 };

typedef struct chaos {
    world w;
    uint64_t chance;
    axo_ref refs[RANDOM_ACTORS];
    int64_t next[RANDOM_ACTORS]; /* value of the next W_ADD */
} chaos;

static uint32_t chaos_below(chaos *it, uint32_t bound)
{
    it->chance ^= it->chance << 13;
    it->chance ^= it->chance >> 7;
    it->chance ^= it->chance << 17;
    return (uint32_t)(it->chance >> 32) % bound;
}

static uint32_t chaos_answers_locked(const world *w, axo_ref from)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < w->said_count; i++)
        count += w->said[i].tag == W_ASKED && axo_ref_equal(w->said[i].from, from);
    return count;
}

/* Waits until an actor has answered: a question that it fails under is asked again, also one behind
 * others that it has put aside, of which nobody is told that it has failed (proxy.c). */
static void chaos_settle(chaos *it, axo_ref ref)
{
    world *w = &it->w;
    uint32_t answers = 0;
    while (answers == 0) {
        (void)pthread_mutex_lock(&w->mutex);
        uint32_t before = chaos_answers_locked(w, ref);
        uint32_t failures = w->failures;
        (void)pthread_mutex_unlock(&w->mutex);
        w_tell(w, ref, W_REPLY, 0);
        W_UNTIL(w, chaos_answers_locked(w, ref) > before || w->failures > failures);
        (void)pthread_mutex_lock(&w->mutex);
        answers = chaos_answers_locked(w, ref) - before;
        (void)pthread_mutex_unlock(&w->mutex);
    }
}

/* One of the processes, with or without an actor; or the zygote, and so all. */
static void chaos_kill(chaos *it)
{
    pid_t all[64];
    pid_t zygote = 0;
    if (w_children(getpid(), &zygote, 1) == 0)
        return;
    uint32_t count = chaos_below(it, 12) == 0 ? 0 : w_children(zygote, all, 64);
    (void)kill(count == 0 ? zygote : all[chaos_below(it, count)], SIGKILL); /* or it has gone */
}

static void chaos_step(chaos *it)
{
    static const int signals[] = {SIGSEGV, SIGABRT, SIGFPE, SIGKILL, SIGTERM};
    static const uint32_t others[] = {W_STASH, W_STASH, W_UNSTASH, W_WHO, W_CHILD, W_TICKS, W_SELF};
    world *w = &it->w;
    uint32_t which = chaos_below(it, RANDOM_ACTORS);
    axo_ref ref = it->refs[which];
    uint32_t what = chaos_below(it, 100);
    if (what < 70)
        w_tell(w, ref, W_ADD, it->next[which]++);
    else if (what < 75)
        w_tell(w, ref, W_FAIL, (int64_t)what);
    else if (what < 78)
        w_tell(w, ref, W_CRASH, signals[chaos_below(it, 5)]);
    else if (what < 80)
        w_tell(w, ref, W_EXIT, 3);
    else if (what < 82)
        w_tell(w, ref, W_MANY, 40);
    else if (what < 84)
        w_tell(w, ref, W_BIG, 1500);
    else if (what < 85)
        assert_int_equal(axo_system_fail(w->system, ref, AXO_FAILURE_ORDINARY, 1), AXO_OK);
    else if (what < 88)
        chaos_kill(it);
    else if (what < 89)
        chaos_settle(it, ref);
    else
        w_tell(w, ref, others[chaos_below(it, 7)], -1);
}

/* What it said of its sums: a value of W_SELF is -1. */
static void chaos_check(chaos *it)
{
    const world *w = &it->w;
    uint64_t missing = 0;
    for (uint32_t which = 0; which < RANDOM_ACTORS; which++) {
        int64_t last = -1;
        for (uint32_t i = 0; i < w->said_count; i++) {
            const w_said *said = &w->said[i];
            if (said->tag != W_ADD || said->it.value < 0 ||
                !axo_ref_equal(said->from, it->refs[which]))
                continue;
            if (said->it.value <= last)
                fail_msg("actor %u: %lld comes behind %lld", which, (long long)said->it.value,
                         (long long)last);
            missing += (uint64_t)(said->it.value - last - 1);
            last = said->it.value;
        }
        missing += (uint64_t)(it->next[which] - 1 - last);
    }
    if (missing > w->failures)
        fail_msg("%llu messages are missing, and there were %u failures",
                 (unsigned long long)missing, w->failures);
}

static void chaos_world(uint64_t seed)
{
    chaos it = {.chance = seed * UINT64_C(0x9e3779b97f4a7c15) | 1};
    world *w = &it.w;
    w_start(w, chaos_below(&it, 4));
    w->rough = true;
    for (uint32_t i = 0; i < RANDOM_ACTORS; i++) {
        axo_process recipe = w_recipe(w);
        recipe.ring_bytes = (size_t)4096 << chaos_below(&it, 4);
        it.refs[i] = w_spawn_as(w, &recipe, 0, AXO_TRANSIENT);
    }
    for (uint32_t i = 0; i < RANDOM_STEPS; i++)
        chaos_step(&it);
    for (uint32_t i = 0; i < RANDOM_ACTORS; i++)
        chaos_settle(&it, it.refs[i]);
    (void)pthread_mutex_lock(&w->mutex);
    chaos_check(&it);
    (void)pthread_mutex_unlock(&w->mutex);
    w_end(w);
}

static void whatever_happens(void **unused)
{
    w_worlds(20, chaos_world);
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {cmocka_unit_test(whatever_happens)};
    axo_process_main(argc, argv, w_classes, sizeof w_classes / sizeof w_classes[0]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
