/* dead_letter_race_test.c - the account of messages that race with stops (DL-10, DESIGN D7). */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <axo/axo.h>

#include "support/cmocka.h"

enum { RACE_THREADS = 3, RACE_ROUNDS = 60, RACE_SENDS = 200, RACE_HIT = 1, RACE_START = 2 };
#define RACE_DEADLINE_NS INT64_C(30000000000)

typedef struct race {
    axo_system *system;
    pthread_barrier_t barrier;
    _Atomic uint64_t target; /* reference bits of the actor of this round */
    _Atomic uint64_t handled;
    _Atomic uint64_t dead;
    _Atomic uint64_t freed;
    _Atomic uint64_t accepted;
    _Atomic uint64_t stops;
} race;

static axo_status race_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    race *r = *(race *const *)state;
    if (message->tag != RACE_HIT)
        return AXO_UNHANDLED;
    atomic_fetch_add(&r->handled, 1);
    return AXO_OK;
}

static axo_status race_construct(axo_ctx *ctx, void *state, const void *args)
{
    memcpy(state, args, sizeof(race *));
    return AXO_OK;
}

static axo_status race_post_stop(axo_ctx *ctx, void *state)
{
    atomic_fetch_add(&(*(race **)state)->stops, 1);
    return AXO_OK;
}

/* An actor that sends to the target as the threads do. */
static axo_status race_sender_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    race *r = *(race *const *)state;
    axo_ref to = {atomic_load(&r->target)};
    for (int i = 0; i < RACE_SENDS; i++) {
        axo_status status = axo_send(ctx, to, RACE_HIT, &i, sizeof i);
        if (status == AXO_OK || status == AXO_EGONE)
            atomic_fetch_add(&r->accepted, 1);
    }
    return AXO_OK;
}

static void race_dead(void *user, const axo_dead_letter *letter)
{
    race *r = user;
    if (letter->message->tag == RACE_HIT)
        atomic_fetch_add(&r->dead, 1);
}

static void race_free(void *payload, void *user)
{
    race *r = user;
    free(payload);
    atomic_fetch_add(&r->freed, 1);
}

typedef struct race_thread {
    race *r;
    uint32_t index;
    uint64_t owned;
} race_thread;

/* Every second payload is handed over: each is freed once, however its message ended. */
static void *race_main(void *arg)
{
    race_thread *me = arg;
    race *r = me->r;
    for (int round = 0; round < RACE_ROUNDS; round++) {
        pthread_barrier_wait(&r->barrier);
        axo_ref to = {atomic_load(&r->target)};
        for (int i = 0; i < RACE_SENDS; i++) {
            axo_status status;
            if (i == RACE_SENDS / 2 && me->index == (uint32_t)round % RACE_THREADS)
                (void)axo_system_stop_actor(r->system, to);
            if (i % 2 == 0) {
                void *payload = malloc(24);
                status = axo_system_send_owned(r->system, to, RACE_HIT, payload, 24, race_free, r);
                if (status == AXO_OK || status == AXO_EGONE)
                    me->owned++;
                else
                    free(payload);
            } else {
                status = axo_system_send(r->system, to, RACE_HIT, &i, sizeof i);
            }
            if (status == AXO_OK || status == AXO_EGONE)
                atomic_fetch_add(&r->accepted, 1);
        }
        pthread_barrier_wait(&r->barrier);
    }
    return NULL;
}

static void DL_10(void **state)
{
    static const axo_class target_class =
        AXO_CLASS(.state_size = sizeof(race *), .construct = race_construct,
                  .receive = race_receive, .post_stop = race_post_stop);
    static const axo_class sender_class =
        AXO_CLASS(.state_size = sizeof(race *), .construct = race_construct,
                  .receive = race_sender_receive);
    race *r = calloc(1, sizeof *r);
    axo_options options = AXO_OPTIONS(.workers = (uint32_t)(uintptr_t)*state, .seed = 1,
                                      .on_dead_letter = race_dead, .dead_letter_user = r);
    axo_props target = AXO_PROPS(.cls = &target_class, .args = &r, .args_size = sizeof r);
    axo_props sender = AXO_PROPS(.cls = &sender_class, .args = &r, .args_size = sizeof r);
    pthread_t threads[RACE_THREADS];
    race_thread args[RACE_THREADS];
    axo_ref sender_ref;
    axo_ref ref;
    axo_stats stats = AXO_STATS(.sent = 0);
    uint64_t owned = 0;
    assert_non_null(r);
    assert_int_equal(axo_system_start(&options, &r->system), AXO_OK);
    assert_int_equal(axo_system_spawn(r->system, &sender, &sender_ref), AXO_OK);
    assert_int_equal(pthread_barrier_init(&r->barrier, NULL, RACE_THREADS + 1), 0);
    for (uint32_t i = 0; i < RACE_THREADS; i++) {
        args[i] = (race_thread){.r = r, .index = i};
        assert_int_equal(pthread_create(&threads[i], NULL, race_main, &args[i]), 0);
    }
    for (int round = 0; round < RACE_ROUNDS; round++) {
        assert_int_equal(axo_system_spawn(r->system, &target, &ref), AXO_OK);
        atomic_store(&r->target, ref.bits);
        (void)axo_system_send(r->system, sender_ref, RACE_START, NULL, 0);
        pthread_barrier_wait(&r->barrier);
        pthread_barrier_wait(&r->barrier);
    }
    for (uint32_t i = 0; i < RACE_THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        owned += args[i].owned;
    }
    assert_int_equal(axo_system_poison(r->system, sender_ref), AXO_OK);
    assert_int_equal(axo_system_stop(r->system, RACE_DEADLINE_NS, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_stats(r->system, &stats), AXO_OK);
    assert_int_equal(stats.sent, stats.handled + stats.dead + stats.dropped);
    assert_int_equal(stats.spawned, stats.terminated);
    assert_int_equal(stats.actors, 0);
    assert_int_equal(axo_system_destroy(r->system), AXO_OK);
    assert_int_equal(atomic_load(&r->accepted), atomic_load(&r->handled) + atomic_load(&r->dead));
    assert_true(atomic_load(&r->accepted) >= RACE_THREADS * RACE_ROUNDS * RACE_SENDS);
    assert_int_equal(atomic_load(&r->freed), owned);
    assert_int_equal(atomic_load(&r->stops), RACE_ROUNDS);
    (void)pthread_barrier_destroy(&r->barrier);
    free(r);
}

#define RACE_TEST(n, text)                                                                         \
    {                                                                                              \
        "DL-10 [" #n " " text "]", DL_10, NULL, NULL, (void *)(uintptr_t)(n)                       \
    }

static const struct CMUnitTest tests[] = {RACE_TEST(1, "worker"), RACE_TEST(2, "workers"),
                                          RACE_TEST(4, "workers")};

int main(int argc, char **argv)
{
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
