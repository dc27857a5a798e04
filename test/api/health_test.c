/* health_test.c - axo_health: who is late, who is not, and that asking changes nothing. */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <axo/axo.h>

#include "support/cmocka.h"
#include "support/slower.h"

#define WAIT_S 20
#define MS     INT64_C(1000000)
#define LONG   INT64_C(3600000000000)

enum {
    TAG_NOTE = 1, TAG_HOLD = 2, TAG_STASH = 3, TAG_UNSTASH = 4, TAG_FAIL = 5, TAG_PASS = 6,
    TAG_LONG = 7, TAG_ASK = 8
};

static sem_t held;
static sem_t release;
static atomic_uint_fast64_t taken;
enum { TAKERS = 256 };
static atomic_uint_fast64_t taken_by[TAKERS];

static void sem_take(sem_t *sem)
{
    while (sem_wait(sem) != 0)
        continue;
}

static int64_t clock_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void pass(int64_t span_ns)
{
    int64_t until = clock_ns() + span_ns;
    while (clock_ns() < until)
        (void)sched_yield();
}

/* Another thread asks while this message has taken less than it asks for, as measured here. On a
 * busy machine others may be late for a moment. */
static atomic_bool long_accused;
static atomic_uint_fast64_t long_told;

static void take_long(void)
{
    int64_t began = clock_ns();
    pass(4 * MS);
    (void)sem_post(&held);
    sem_take(&release);
    if (clock_ns() - began >= 60 * MS)
        return;
    atomic_fetch_add(&long_told, 1);
    assert_false(atomic_load(&long_accused));
}

/* An actor that asks makes progress. */
static void ask_itself(axo_ctx *ctx)
{
    for (int i = 0; i < 2; i++) { /* the first call alone may not know how long it takes */
        axo_health_report late = AXO_HEALTH_REPORT();
        pass(30 * MS);
        (void)axo_health(axo_system_of(ctx), 10 * MS, &late);
        assert_false(axo_ref_equal(late.actor, axo_self(ctx)));
    }
    (void)sem_post(&held);
}

static axo_status on_message(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)state;
    atomic_fetch_add(&taken, 1);
    atomic_fetch_add(&taken_by[axo_ref_index(axo_self(ctx)) % TAKERS], 1);
    switch (message->tag) {
    case TAG_HOLD:
        (void)sem_post(&held);
        sem_take(&release);
        return AXO_OK;
    case TAG_LONG:
        take_long();
        return AXO_OK;
    case TAG_ASK:
        ask_itself(ctx);
        return AXO_OK;
    case TAG_STASH:
        return axo_stash(ctx);
    case TAG_UNSTASH:
        (void)axo_unstash_all(ctx);
        return AXO_OK;
    case TAG_FAIL:
        return axo_fail(ctx, 1, NULL);
    case TAG_PASS:
        return axo_send(ctx, message->sender, TAG_PASS, NULL, 0);
    default:
        return AXO_OK;
    }
}

static axo_status on_stop(axo_ctx *ctx, void *state)
{
    (void)ctx;
    (void)state;
    (void)sem_post(&held);
    sem_take(&release);
    return AXO_OK;
}

static const axo_class plain = AXO_CLASS(.name = "plain", .receive = on_message);
static const axo_class holds =
    AXO_CLASS(.name = "holds", .receive = on_message, .post_stop = on_stop);

static int set_up(void **state)
{
    atomic_store(&taken, 0);
    return sem_init(&held, 0, 0) != 0 || sem_init(&release, 0, 0) != 0;
}

static axo_system *start(axo_options options)
{
    axo_system *system;
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    return system;
}

static void end(axo_system *system)
{
    assert_int_equal(axo_system_stop(system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
}

static axo_ref spawn_on(axo_system *system, const axo_class *cls, const char *name,
                        axo_dispatcher dispatcher)
{
    axo_ref ref;
    axo_props props = AXO_PROPS(.cls = cls, .name = name, .dispatcher = dispatcher);
    assert_int_equal(axo_system_spawn(system, &props, &ref), AXO_OK);
    return ref;
}

static void tell(axo_system *system, axo_ref to, uint32_t tag)
{
    assert_int_equal(axo_system_send(system, to, tag, NULL, 0), AXO_OK);
}

/* Asks until somebody is late. */
static axo_health_report late_in(axo_system *system, int64_t within_ns)
{
    time_t limit = time(NULL) + WAIT_S;
    axo_health_report late = AXO_HEALTH_REPORT();
    axo_status status;
    while ((status = axo_health(system, within_ns, &late)) == AXO_OK && time(NULL) < limit) {
        assert_int_equal(late.count, 0);
        assert_int_equal(late.why, AXO_HEALTH_GOOD);
        assert_true(axo_ref_is_none(late.actor));
        (void)sched_yield();
    }
    assert_int_equal(status, AXO_ETIMEDOUT);
    assert_true(late.count > 0);
    assert_true(late.for_ns >= within_ns);
    return late;
}

/* Asks until this actor is the one that is later than all, and so many are late. On a busy machine
 * others may be for a moment. */
static axo_health_report late_is(axo_system *system, int64_t within_ns, axo_ref ref, uint32_t count)
{
    time_t limit = time(NULL) + WAIT_S;
    axo_health_report late = late_in(system, within_ns);
    while ((late.count != count || !axo_ref_equal(late.actor, ref)) && time(NULL) < limit)
        late = late_in(system, within_ns);
    assert_int_equal(late.actor.bits, ref.bits);
    assert_int_equal(late.count, count);
    return late;
}

/* Asks some times, for any time at all: this actor is never late. */
static void never_late(axo_system *system, axo_ref ref)
{
    for (int i = 0; i < 5; i++) {
        axo_health_report late = AXO_HEALTH_REPORT();
        (void)axo_health(system, 1, &late);
        assert_int_not_equal(late.actor.bits, ref.bits);
    }
}

/* ---- callbacks ---- */

static void a_handler_that_hangs(void **state)
{
    axo_system *system = start((axo_options)AXO_OPTIONS(.workers = 2, .stuck_ns = -1));
    axo_ref ref = spawn_on(system, &plain, "hung", AXO_DISPATCH_DEFAULT);
    axo_health_report late = AXO_HEALTH_REPORT();
    assert_int_equal(axo_health(system, LONG, &late), AXO_OK);
    tell(system, ref, TAG_HOLD);
    sem_take(&held);
    assert_int_equal(axo_health(system, LONG, &late), AXO_OK);
    late = late_is(system, 20 * MS, ref, 1);
    assert_int_equal(late.why, AXO_HEALTH_CALLBACK);
    assert_int_equal(late.has_tag, 1);
    assert_int_equal(late.tag, TAG_HOLD);
    assert_string_equal(late.path, "/user/hung");
    assert_int_equal(axo_health(system, 20 * MS, NULL), AXO_ETIMEDOUT);
    (void)sem_post(&release);
    while (axo_health(system, 20 * MS, &late) != AXO_OK)
        (void)sched_yield();
    assert_int_equal(late.count, 0);
    end(system);
}

/* A worker that handles short messages reads its clock once for 64 of them. If long ones follow,
 * none of which lasts for as long as is asked for, nobody is late. */
static void long_ones_behind_short_ones(void **state)
{
    enum { SHORT = 1000, LONGER = 40 };
    axo_system *system = start((axo_options)AXO_OPTIONS(.workers = 1, .stuck_ns = -1));
    axo_ref ref = spawn_on(system, &plain, "shop", AXO_DISPATCH_DEFAULT);
    (void)state;
    tell(system, ref, TAG_HOLD);
    sem_take(&held);
    for (int i = 0; i < SHORT; i++)
        tell(system, ref, TAG_NOTE);
    for (int i = 0; i < LONGER; i++)
        tell(system, ref, TAG_LONG);
    (void)sem_post(&release);
    for (int i = 0; i < LONGER; i++) {
        sem_take(&held);
        axo_health_report late = AXO_HEALTH_REPORT();
        (void)axo_health(system, 60 * MS, &late);
        atomic_store(&long_accused, axo_ref_equal(late.actor, ref));
        (void)sem_post(&release);
    }
    end(system);
    assert_true(atomic_load(&long_told) > 0 || slower() > 1);
}

/* It hangs in the middle of such a group: it is late from the second call on. */
static void one_that_hangs_behind_short_ones(void **state)
{
    axo_system *system = start((axo_options)AXO_OPTIONS(.workers = 1, .stuck_ns = -1));
    axo_ref ref = spawn_on(system, &plain, "shop", AXO_DISPATCH_DEFAULT);
    (void)state;
    tell(system, ref, TAG_HOLD);
    sem_take(&held);
    for (int i = 0; i < 1000; i++)
        tell(system, ref, TAG_NOTE);
    tell(system, ref, TAG_HOLD);
    (void)sem_post(&release);
    sem_take(&held);
    axo_health_report late = late_is(system, 20 * MS, ref, 1);
    assert_int_equal(late.why, AXO_HEALTH_CALLBACK);
    assert_int_equal(late.tag, TAG_HOLD);
    (void)sem_post(&release);
    end(system);
}

static void one_that_asks(void **state)
{
    axo_system *system = start((axo_options)AXO_OPTIONS(.workers = 1, .stuck_ns = -1));
    axo_ref ref = spawn_on(system, &plain, "asks", AXO_DISPATCH_DEFAULT);
    (void)state;
    tell(system, ref, TAG_ASK);
    sem_take(&held);
    end(system);
}

/* Two of them, one in a hook of an actor without a name: the one that is later is named. */
static void the_latest_of_two(void **state)
{
    axo_system *system = start((axo_options)AXO_OPTIONS(.workers = 2, .stuck_ns = -1));
    axo_ref first = spawn_on(system, &holds, NULL, AXO_DISPATCH_DEFAULT);
    axo_ref second = spawn_on(system, &plain, "second", AXO_DISPATCH_PINNED);
    assert_int_equal(axo_system_stop_actor(system, first), AXO_OK);
    sem_take(&held);
    axo_health_report late = late_is(system, 20 * MS, first, 1);
    assert_int_equal(late.has_tag, 0);
    tell(system, second, TAG_HOLD);
    sem_take(&held);
    late = late_is(system, 20 * MS, first, 2);
    assert_int_equal(late.why, AXO_HEALTH_CALLBACK);
    (void)sem_post(&release);
    (void)sem_post(&release);
    while (axo_health(system, 20 * MS, NULL) != AXO_OK)
        (void)sched_yield();
    end(system);
}

/* A thread of the blocking dispatcher may wait; messages behind its handler, too: the actor is in
 * it. An actor that gets no thread is late. */
static void blocking_actors(void **state)
{
    axo_system *system = start((axo_options)AXO_OPTIONS(.workers = 1, .blocking_max = 1));
    axo_ref ref = spawn_on(system, &plain, "blocks", AXO_DISPATCH_BLOCKING);
    tell(system, ref, TAG_HOLD);
    tell(system, ref, TAG_NOTE);
    sem_take(&held);
    never_late(system, ref);
    axo_ref behind = spawn_on(system, &plain, "behind", AXO_DISPATCH_BLOCKING);
    tell(system, behind, TAG_NOTE);
    /* it has not begun, so it is not late */
    never_late(system, behind);
    (void)sem_post(&release);
    while (atomic_load(&taken) < 3)
        (void)sched_yield();
    tell(system, ref, TAG_HOLD);
    sem_take(&held);
    tell(system, behind, TAG_NOTE);
    axo_health_report late = late_is(system, 1, behind, 1);
    assert_int_equal(late.why, AXO_HEALTH_WAITING);
    (void)sem_post(&release);
    end(system);
}

/* ---- actors that wait ---- */

static void step(axo_system *system)
{
    uint64_t before = atomic_load(&taken);
    while (atomic_load(&taken) == before)
        assert_int_equal(axo_step_host(system, 1, NULL), AXO_OK);
}

/* A named actor with many messages that nobody runs is late; with each message that it takes it is
 * not, until it has waited again. */
static void late_until_it_takes_one(axo_system *system, axo_ref ref)
{
    axo_health_report late = AXO_HEALTH_REPORT();
    for (int i = 0; i < 3; i++) {
        assert_int_equal(axo_health(system, 10 * MS, &late), AXO_OK);
        late = late_in(system, 10 * MS);
        assert_int_equal(late.count, 1);
        assert_int_equal(late.why, AXO_HEALTH_WAITING);
        assert_int_equal(late.actor.bits, ref.bits);
        assert_int_equal(late.has_tag, 0);
        assert_string_equal(late.path, "/user/waits");
        int64_t for_ns = late.for_ns;
        assert_int_equal(axo_health(system, 10 * MS, &late), AXO_ETIMEDOUT);
        assert_true(late.for_ns >= for_ns); /* asking does not begin it anew */
        step(system);
    }
    assert_int_equal(axo_run_host(system, -1, NULL), AXO_OK);
    for (int i = 0; i < 3; i++)
        assert_int_equal(axo_health(system, 1, &late), AXO_OK);
}

static axo_options manual(void)
{
    return (axo_options)AXO_OPTIONS(.manual = 1, .quantum = 1);
}

static void an_actor_that_waits(void **state)
{
    axo_system *system = start(manual());
    axo_ref ref = spawn_on(system, &plain, "waits", AXO_DISPATCH_DEFAULT);
    axo_ref nameless = spawn_on(system, &plain, NULL, AXO_DISPATCH_DEFAULT);
    assert_int_equal(axo_run_host(system, -1, NULL), AXO_OK);
    for (int i = 0; i < 10; i++)
        tell(system, ref, TAG_NOTE);
    late_until_it_takes_one(system, ref);
    assert_int_equal(atomic_load(&taken), 10);
    for (int i = 0; i < 3; i++)
        tell(system, nameless, TAG_NOTE);
    for (int i = 0; i < 3; i++)
        assert_int_equal(axo_health(system, 1, NULL), AXO_OK);
    end(system);
}

static void one_with_a_bounded_mailbox(void **state)
{
    axo_system *system = start(manual());
    axo_mailbox bounded = AXO_MAILBOX(.messages_max = 20);
    axo_props props = AXO_PROPS(.cls = &plain, .name = "waits", .mailbox = &bounded);
    axo_ref ref;
    assert_int_equal(axo_system_spawn(system, &props, &ref), AXO_OK);
    assert_int_equal(axo_run_host(system, -1, NULL), AXO_OK);
    for (int i = 0; i < 10; i++)
        tell(system, ref, TAG_NOTE);
    late_until_it_takes_one(system, ref);
    assert_int_equal(atomic_load(&taken), 10);
    end(system);
}

/* What an actor has put aside and takes up again is taken, too. */
static void one_with_a_stash(void **state)
{
    axo_system *system = start(manual());
    axo_ref ref = spawn_on(system, &plain, "waits", AXO_DISPATCH_DEFAULT);
    for (int i = 0; i < 10; i++)
        tell(system, ref, TAG_STASH);
    tell(system, ref, TAG_UNSTASH);
    while (atomic_load(&taken) < 11)
        assert_int_equal(axo_step_host(system, 1, NULL), AXO_OK);
    /* ten are in front now, and are put aside again one by one */
    late_until_it_takes_one(system, ref);
    assert_int_equal(atomic_load(&taken), 21);
    end(system);
}

/* Who has failed and waits for its restart, and who is told to stop, take no messages: they are not
 * late by that. */
static void who_may_take_none(void **state)
{
    axo_backoff slowly = AXO_BACKOFF(.min_ns = LONG, .max_ns = LONG);
    axo_strategy later = AXO_STRATEGY(.backoff = &slowly);
    axo_options options = manual();
    options.user_strategy = &later;
    axo_system *system = start(options);
    axo_ref failed = spawn_on(system, &plain, "failed", AXO_DISPATCH_DEFAULT);
    tell(system, failed, TAG_FAIL);
    assert_int_equal(axo_run_host(system, -1, NULL), AXO_OK);
    axo_ref newborn = spawn_on(system, &plain, "newborn", AXO_DISPATCH_DEFAULT);
    tell(system, failed, TAG_NOTE);
    tell(system, newborn, TAG_NOTE);
    for (int i = 0; i < 3; i++)
        assert_int_equal(axo_health(system, 1, NULL), AXO_OK);
    end(system);
}

/* More than are looked at inside a door, and more than one list has room for at first. */
static void many(void **state)
{
    enum { MANY = 1500 };
    static axo_ref refs[MANY];
    char name[24];
    axo_options options = manual();
    options.quantum = 0;
    axo_system *system = start(options);
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(name, sizeof name, "waits%d", i);
        refs[i] = spawn_on(system, &plain, name, AXO_DISPATCH_DEFAULT);
    }
    assert_int_equal(axo_run_host(system, -1, NULL), AXO_OK);
    for (int i = 0; i < MANY; i += 2)
        tell(system, refs[i], TAG_NOTE);
    axo_health_report late = AXO_HEALTH_REPORT();
    assert_int_equal(axo_health(system, MS, &late), AXO_OK);
    for (int i = 1; i < MANY; i += 2)
        tell(system, refs[i], TAG_NOTE);
    /* each call knows all that the one before has found, however many */
    (void)nanosleep(&(struct timespec){.tv_nsec = 2 * MS}, NULL);
    assert_int_equal(axo_health(system, MS, &late), AXO_ETIMEDOUT);
    assert_int_equal(late.count, MANY / 2);
    (void)nanosleep(&(struct timespec){.tv_nsec = 2 * MS}, NULL);
    assert_int_equal(axo_health(system, MS, &late), AXO_ETIMEDOUT);
    assert_int_equal(late.count, MANY);
    assert_int_equal(axo_run_host(system, -1, NULL), AXO_OK);
    assert_int_equal(atomic_load(&taken), MANY);
    assert_int_equal(axo_health(system, 1, &late), AXO_OK);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(axo_system_stop_actor(system, refs[i]), AXO_OK);
    assert_int_equal(axo_run_host(system, -1, NULL), AXO_OK);
    assert_int_equal(axo_health(system, 1, &late), AXO_OK);
    end(system);
}

/* ---- beside a load ---- */

typedef struct asker {
    axo_system *system;
    atomic_bool over;
    uint64_t asked;
} asker;

static void *ask_on(void *arg)
{
    asker *a = arg;
    do { /* also a thread that comes when all is over */
        a->asked += axo_health(a->system, LONG, NULL) == AXO_OK;
        a->asked += axo_health(a->system, 1, NULL) != AXO_EINVAL;
    } while (!atomic_load(&a->over));
    return NULL;
}

/* Named pairs that play while two threads ask as fast as they can: nobody is late by an hour, no
 * message is lost, all come to rest. */
static void beside_a_load(void **state)
{
    enum { PAIRS = 20 };
    axo_ref refs[2 * PAIRS];
    pthread_t threads[2];
    char name[24];
    axo_system *system = start((axo_options)AXO_OPTIONS(.workers = 2));
    asker askers[2] = {{.system = system}, {.system = system}};
    for (int i = 0; i < 2 * PAIRS; i++) {
        (void)snprintf(name, sizeof name, "pair%d", i);
        refs[i] = spawn_on(system, &plain, i % 3 == 0 ? NULL : name, AXO_DISPATCH_DEFAULT);
    }
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ask_on, &askers[i]), 0);
    for (int i = 0; i < PAIRS; i++)
        assert_int_equal(
            axo_system_send_from(system, refs[2 * i], refs[2 * i + 1], TAG_PASS, NULL, 0), AXO_OK);
    uint64_t enough = 200000 / (uint64_t)slower();
    time_t limit = time(NULL) + WAIT_S;
    while (atomic_load(&taken) < enough && time(NULL) < limit)
        (void)sched_yield();
    assert_true(atomic_load(&taken) >= enough);
    for (int i = 0; i < 2; i++)
        atomic_store(&askers[i].over, true);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_true(askers[i].asked > 0 && askers[i].asked % 2 == 0);
    }
    /* each pair's message goes on: none has been lost on the way */
    for (int i = 0; i < 2 * PAIRS; i++) {
        uint64_t before = atomic_load(&taken_by[axo_ref_index(refs[i]) % TAKERS]);
        while (atomic_load(&taken_by[axo_ref_index(refs[i]) % TAKERS]) == before)
            assert_true(time(NULL) < limit + WAIT_S);
    }
    end(system);
}

/* ---- what is refused ---- */

static void what_is_refused(void **state)
{
    axo_system *system = start(manual());
    axo_health_report late = AXO_HEALTH_REPORT(.count = 7);
    axo_health_report nothing;
    memset(&nothing, 0, sizeof nothing);
    assert_int_equal(axo_health(NULL, 1, &late), AXO_EINVAL);
    assert_int_equal(axo_health(system, 0, &late), AXO_EINVAL);
    assert_int_equal(axo_health(system, -1, &late), AXO_EINVAL);
    assert_int_equal(axo_health(system, INT64_MIN, NULL), AXO_EINVAL);
    assert_int_equal(late.count, 7);
    assert_int_not_equal(axo_health(system, 1, &nothing), AXO_OK);
    assert_int_equal(nothing.count, 0);
    assert_int_equal(axo_health(system, INT64_MAX, &late), AXO_OK);
    assert_int_equal(late.count, 0);
    assert_int_equal(late.size, sizeof late);
    end(system);
}

#define HEALTH_TEST(name) cmocka_unit_test_setup(name, set_up)
static const struct CMUnitTest tests[] = {
    HEALTH_TEST(a_handler_that_hangs),
    HEALTH_TEST(long_ones_behind_short_ones),
    HEALTH_TEST(one_that_hangs_behind_short_ones),
    HEALTH_TEST(one_that_asks),
    HEALTH_TEST(the_latest_of_two),
    HEALTH_TEST(blocking_actors),
    HEALTH_TEST(an_actor_that_waits),
    HEALTH_TEST(one_with_a_bounded_mailbox),
    HEALTH_TEST(one_with_a_stash),
    HEALTH_TEST(who_may_take_none),
    HEALTH_TEST(many),
    HEALTH_TEST(beside_a_load),
    HEALTH_TEST(what_is_refused),
};
TEST_MAIN(tests)
