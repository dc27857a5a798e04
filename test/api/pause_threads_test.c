/* pause_threads_test.c - a pause is exact, whoever runs the actors: they flood one another on each
 * dispatcher and kind of threads, and no message is handled from when axo_system_pause has returned
 * to when they go on, and none is lost. */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>

#include "support/cmocka.h"

#include <axo/axo.h>
#include <axo/world.h>

enum { BALL = 1, WAIT, FALL };

#define MS INT64_C(1000000)
#define LONG (INT64_C(60000) * MS)
#define PLAYERS 12
#define ROUNDS 60

typedef struct world {
    axo_system *system;
    axo_ref players[PLAYERS];
    _Atomic uint64_t handled;
    _Atomic uint64_t wrong;  /* handled while all is paused */
    _Atomic bool paused;
    _Atomic bool over;       /* balls are not thrown any more */
    _Atomic uint32_t lost;   /* balls that were not thrown on */
    _Atomic bool leave;      /* the visitors of slots */
    _Atomic uint32_t born;
    axo_status status;
    sem_t inside;
    sem_t go_on;
    sem_t work;
} world;

typedef struct player {
    world *w;
    uint32_t next; /* whom it throws to */
} player;

static axo_status player_throw(axo_ctx *ctx, player *me)
{
    me->next = (me->next * 7 + 3) % PLAYERS;
    return axo_send(ctx, me->w->players[me->next], BALL, NULL, 0);
}

static axo_status player_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    player *me = state;
    world *w = me->w;
    if (atomic_load(&w->paused))
        w->wrong++;
    w->handled++;
    if (message->tag == WAIT) {
        (void)sem_post(&w->inside);
        while (sem_wait(&w->go_on) != 0)
            continue;
        return AXO_OK;
    }
    if (message->tag == FALL)
        return axo_fail(ctx, 1, "it falls");
    if (!atomic_load(&w->over))
        return player_throw(ctx, me);
    w->lost++;
    return AXO_OK;
}

static axo_status player_construct(axo_ctx *ctx, void *state, const void *args)
{
    player *me = state;
    me->w = *(world *const *)args;
    me->next = me->w->born++ % PLAYERS;
    return AXO_OK;
}

static const axo_class player_class =
    AXO_CLASS(.name = "player", .state_size = sizeof(player), .construct = player_construct,
              .receive = player_receive);

/* ---- a world ---- */

static void world_work(void *user, uint32_t how_many)
{
    world *w = user;
    while (how_many-- > 0)
        (void)sem_post(&w->work);
}

static void *world_visitor(void *arg)
{
    world *w = arg;
    while (!atomic_load(&w->leave)) {
        (void)sem_wait(&w->work);
        for (uint32_t slot = 0; slot < 2; slot++)
            (void)axo_worker_run(w->system, slot, MS, NULL);
    }
    return NULL;
}

static void world_begin(world *w, axo_options options)
{
    memset(w, 0, sizeof *w);
    assert_int_equal(sem_init(&w->inside, 0, 0), 0);
    assert_int_equal(sem_init(&w->go_on, 0, 0), 0);
    assert_int_equal(sem_init(&w->work, 0, 0), 0);
    if (options.threads == AXO_THREADS_LENT) {
        options.on_work = world_work;
        options.work_user = w;
    }
    assert_int_equal(axo_system_start(&options, &w->system), AXO_OK);
}

static void world_end(world *w)
{
    assert_int_equal(axo_system_stop(w->system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(w->system), AXO_OK);
    (void)sem_destroy(&w->inside);
    (void)sem_destroy(&w->go_on);
    (void)sem_destroy(&w->work);
}

static axo_ref world_spawn(world *w, uint32_t dispatcher)
{
    axo_ref out;
    const axo_props props = AXO_PROPS(.cls = &player_class, .args = &w, .args_size = sizeof w,
                                      .dispatcher = dispatcher);
    assert_int_equal(axo_system_spawn(w->system, &props, &out), AXO_OK);
    return out;
}

static void world_send(const world *w, axo_ref to, uint32_t tag)
{
    assert_int_equal(axo_system_send(w->system, to, tag, NULL, 0), AXO_OK);
}

/* Each of the rounds handles something: a thread that would not be there is the caller. */
static void world_play(world *w, bool mine)
{
    const uint64_t before = w->handled;
    while (w->handled < before + 20) {
        if (mine)
            assert_int_equal(axo_run_host(w->system, MS, NULL), AXO_OK);
        else
            (void)sched_yield();
    }
}

static void world_none(void *user, const axo_visited *it)
{
    if (it->kind == AXO_VISITED_MESSAGE)
        (*(uint64_t *)user)++;
}

static void world_rounds(world *w, bool mine)
{
    for (uint32_t round = 0; round < ROUNDS; round++) {
        world_play(w, mine);
        assert_int_equal(axo_system_pause(w->system, axo_ref_none(), LONG), AXO_OK);
        w->paused = true;
        const uint64_t handled = w->handled;
        uint64_t waiting = 0;
        assert_int_equal(axo_system_visit(w->system, world_none, &waiting), AXO_OK);
        assert_int_equal(waiting, 2 * PLAYERS); /* each ball lies somewhere */
        world_send(w, w->players[round % PLAYERS], BALL); /* it is thrown only once */
        assert_int_equal(axo_system_quiesce(w->system, LONG), AXO_OK);
        assert_int_equal(w->handled, handled);
        waiting = 0;
        assert_int_equal(axo_system_visit(w->system, world_none, &waiting), AXO_OK);
        assert_int_equal(waiting, 2 * PLAYERS + 1);
        w->over = true;
        w->paused = false;
        assert_int_equal(axo_system_resume(w->system, axo_ref_none()), AXO_OK);
        assert_int_equal(axo_system_quiesce(w->system, LONG), AXO_OK);
        assert_int_equal(w->lost, 2 * PLAYERS + 1); /* and comes down */
        w->over = false;
        w->lost = 0;
        for (uint32_t i = 0; i < 2 * PLAYERS; i++)
            world_send(w, w->players[i % PLAYERS], BALL);
    }
    w->over = true;
    assert_int_equal(axo_system_quiesce(w->system, LONG), AXO_OK);
    assert_int_equal(w->wrong, 0);
}

static void world_floods(axo_options options, const uint32_t *dispatchers, uint32_t count,
                         bool mine)
{
    static world w;
    pthread_t visitors[2];
    world_begin(&w, options);
    for (uint32_t i = 0; i < PLAYERS; i++)
        w.players[i] = world_spawn(&w, dispatchers[i % count]);
    if (options.threads == AXO_THREADS_LENT)
        for (uint32_t i = 0; i < 2; i++)
            assert_int_equal(pthread_create(&visitors[i], NULL, world_visitor, &w), 0);
    for (uint32_t i = 0; i < 2 * PLAYERS; i++)
        world_send(&w, w.players[i % PLAYERS], BALL);
    world_rounds(&w, mine);
    if (options.threads == AXO_THREADS_LENT) {
        w.leave = true;
        world_work(&w, 2);
        for (uint32_t i = 0; i < 2; i++)
            assert_int_equal(pthread_join(visitors[i], NULL), 0);
    }
    world_end(&w);
}

static const uint32_t all_dispatchers[] = {AXO_DISPATCH_DEFAULT, AXO_DISPATCH_PINNED,
                                           AXO_DISPATCH_BLOCKING, AXO_DISPATCH_HOST};

/* ---- tests ---- */

static void own_workers(void **state)
{
    world_floods((axo_options)AXO_OPTIONS(.workers = 2), all_dispatchers, 1, false);
}

static void each_dispatcher(void **state)
{
    world_floods((axo_options)AXO_OPTIONS(.workers = 2), all_dispatchers, 4, true);
}

static void manual(void **state)
{
    world_floods((axo_options)AXO_OPTIONS(.manual = 1), all_dispatchers, 4, true);
}

static void manual_default(void **state)
{
    world_floods((axo_options)AXO_OPTIONS(.manual = AXO_MANUAL_DEFAULT), all_dispatchers, 3, true);
}

static void lent(void **state)
{
    world_floods((axo_options)AXO_OPTIONS(.workers = 2, .threads = AXO_THREADS_LENT),
                 all_dispatchers, 1, false);
}

/* Nobody visits a slot but who pauses. */
static void lent_alone(void **state)
{
    static world w;
    world_begin(&w, (axo_options)AXO_OPTIONS(.workers = 2, .threads = AXO_THREADS_LENT));
    axo_ref one = world_spawn(&w, AXO_DISPATCH_DEFAULT);
    w.over = true;
    assert_int_equal(axo_system_pause(w.system, one, LONG), AXO_OK);
    world_send(&w, one, BALL);
    assert_int_equal(axo_system_quiesce(w.system, LONG), AXO_OK);
    assert_int_equal(w.handled, 0);
    assert_int_equal(axo_system_resume(w.system, one), AXO_OK);
    assert_int_equal(axo_system_quiesce(w.system, LONG), AXO_OK);
    assert_int_equal(w.handled, 1);
    world_end(&w);
}

/* Stepped, one turn after the other. */
static void stepped(void **state)
{
    static world w;
    world_begin(&w, (axo_options)AXO_OPTIONS(.manual = 1, .seed = 7));
    for (uint32_t i = 0; i < PLAYERS; i++)
        w.players[i] = world_spawn(&w, AXO_DISPATCH_DEFAULT);
    for (uint32_t i = 0; i < 2 * PLAYERS; i++)
        world_send(&w, w.players[i % PLAYERS], BALL);
    for (uint32_t round = 0; round < 50; round++) {
        assert_int_equal(axo_step_host(w.system, 5, NULL), AXO_OK);
        axo_status status = axo_system_pause(w.system, axo_ref_none(), 0);
        while (status == AXO_ETIMEDOUT) { /* whoever steps needs nobody's help */
            assert_int_equal(axo_step_host(w.system, 1, NULL), AXO_OK);
            status = axo_system_pause(w.system, axo_ref_none(), 0);
        }
        assert_int_equal(status, AXO_OK);
        w.paused = true;
        assert_int_equal(axo_step_host(w.system, 1000, NULL), AXO_OK);
        w.paused = false;
        assert_int_equal(axo_system_resume(w.system, axo_ref_none()), AXO_OK);
    }
    assert_int_equal(w.wrong, 0);
    w.over = true;
    assert_int_equal(axo_run_host(w.system, -1, NULL), AXO_OK);
    assert_int_equal(w.lost, 2 * PLAYERS);
    world_end(&w);
}

/* Who is in a handler is waited for. */
static void a_handler_takes_its_time(void **state)
{
    static world w;
    world_begin(&w, (axo_options)AXO_OPTIONS(.workers = 2));
    axo_ref one = world_spawn(&w, AXO_DISPATCH_DEFAULT);
    w.over = true;
    world_send(&w, one, WAIT);
    world_send(&w, one, BALL);
    while (sem_wait(&w.inside) != 0)
        continue;
    assert_int_equal(axo_system_pause(w.system, axo_ref_none(), 0), AXO_ETIMEDOUT);
    assert_int_equal(axo_system_pause(w.system, axo_ref_none(), 5 * MS), AXO_ETIMEDOUT);
    (void)sem_post(&w.go_on);
    assert_int_equal(axo_system_pause(w.system, axo_ref_none(), LONG), AXO_OK);
    assert_int_equal(w.handled, 1);
    assert_int_equal(axo_system_quiesce(w.system, LONG), AXO_OK);
    assert_int_equal(w.handled, 1);
    assert_int_equal(axo_system_resume(w.system, axo_ref_none()), AXO_OK);
    assert_int_equal(axo_system_quiesce(w.system, LONG), AXO_OK);
    assert_int_equal(w.handled, 2);
    world_end(&w);
}

/* A group's message waits as any; the wait for it has a deadline. */
static void groups_wait(void **state)
{
    static world w;
    axo_group *group;
    world_begin(&w, (axo_options)AXO_OPTIONS(.workers = 2));
    axo_ref one = world_spawn(&w, AXO_DISPATCH_DEFAULT);
    w.over = true;
    assert_int_equal(axo_system_pause(w.system, one, LONG), AXO_OK);
    assert_int_equal(axo_group_make(w.system, &group), AXO_OK);
    assert_int_equal(axo_group_send(group, one, BALL, NULL, 0), AXO_OK);
    assert_int_equal(axo_group_wait(group, MS, AXO_GROUP_HELP), AXO_ETIMEDOUT);
    assert_int_equal(axo_system_resume(w.system, one), AXO_OK);
    assert_int_equal(axo_group_wait(group, LONG, 0), AXO_OK);
    assert_int_equal(axo_group_free(group), AXO_OK);
    world_end(&w);
}

static void *world_pauses(void *arg)
{
    world *w = arg;
    w->status = axo_system_pause(w->system, w->players[0], 5000 * MS);
    (void)sem_post(&w->inside);
    return NULL;
}

/* Who waits for a pause that another thread has ended is told. */
static void resumed_while_it_is_waited_for(void **state)
{
    static world w;
    pthread_t other;
    world_begin(&w, (axo_options)AXO_OPTIONS(.workers = 2));
    w.players[0] = world_spawn(&w, AXO_DISPATCH_DEFAULT);
    w.over = true;
    world_send(&w, w.players[0], WAIT);
    while (sem_wait(&w.inside) != 0)
        continue;
    assert_int_equal(pthread_create(&other, NULL, world_pauses, &w), 0);
    while (axo_system_resume(w.system, w.players[0]) == AXO_ENOENT)
        (void)sched_yield();
    while (sem_wait(&w.inside) != 0)
        continue;
    assert_int_equal(w.status, AXO_ENOENT);
    (void)sem_post(&w.go_on);
    assert_int_equal(pthread_join(other, NULL), 0);
    world_send(&w, w.players[0], BALL);
    assert_int_equal(axo_system_quiesce(w.system, LONG), AXO_OK);
    assert_int_equal(w.handled, 2);
    world_end(&w);
}

static void *world_resumes(void *arg)
{
    world *w = arg;
    while (!atomic_load(&w->leave)) {
        (void)axo_system_resume(w->system, w->players[0]);
        (void)sched_yield();
    }
    return NULL;
}

/* Two threads that do not agree, failures, and restarts: at the end all is as it was. */
static void on_and_off(void **state)
{
    static world w;
    pthread_t other;
    world_begin(&w, (axo_options)AXO_OPTIONS(.workers = 2));
    w.players[0] = world_spawn(&w, AXO_DISPATCH_DEFAULT);
    w.over = true;
    assert_int_equal(pthread_create(&other, NULL, world_resumes, &w), 0);
    for (uint32_t i = 0; i < 2000; i++) {
        axo_status status = axo_system_pause(w.system, w.players[0], i % 2 == 0 ? 0 : MS);
        assert_true(status == AXO_OK || status == AXO_ETIMEDOUT || status == AXO_ENOENT);
        world_send(&w, w.players[0], i % 8 == 0 ? FALL : BALL);
    }
    w.leave = true;
    assert_int_equal(pthread_join(other, NULL), 0);
    axo_status status = axo_system_resume(w.system, w.players[0]);
    assert_true(status == AXO_OK || status == AXO_ENOENT);
    assert_int_equal(axo_system_quiesce(w.system, LONG), AXO_OK);
    assert_int_equal(w.handled, 2000);
    assert_int_equal(w.born, 1 + 250);
    world_end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_workers),
        cmocka_unit_test(each_dispatcher),
        cmocka_unit_test(manual),
        cmocka_unit_test(manual_default),
        cmocka_unit_test(lent),
        cmocka_unit_test(lent_alone),
        cmocka_unit_test(stepped),
        cmocka_unit_test(a_handler_takes_its_time),
        cmocka_unit_test(groups_wait),
        cmocka_unit_test(resumed_while_it_is_waited_for),
        cmocka_unit_test(on_and_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
