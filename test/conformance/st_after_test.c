/* st_after_test.c - what an end means for others: conformance ST-18 to ST-25. */
#include <errno.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "conformance/parts.h"

#define ST_DEADLINE_NS INT64_C(20000000000)

/* ---- ST-18 ---------------------------------------------------------------------------------- */

typedef struct st_late_spawn {
    kit_gate *gate;
    kit_script *child;
} st_late_spawn;

static axo_status st_hold_and_spawn(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    const st_late_spawn *late = arg;
    kit_gate_pass(late->gate);
    return part_spawn(ctx, self, late->child);
}

/* The parent is in the middle of a message: it has not yet taken note of the end that w has. In
 * Akka the name is not free yet, which who acts on a notice has to know; here it is. */
static void ST_18(kit *k)
{
    kit_family f = kit_tree(k, "p(c), w");
    kit_script *next = kit_actor(k, "next");
    st_late_spawn *late = kit_alloc(k, sizeof *late);
    *late = (st_late_spawn){.gate = kit_gate_new(k), .child = next};
    next->name = "c";
    part_watched_by(k, f.c, f.w);
    kit_run(k, f.p, st_hold_and_spawn, late);
    kit_gate_arrived(late->gate, 1);
    axo_system_stop_actor(kit_system(k), kit_ref(f.c));
    kit_await(k, "w.term(c)");
    kit_gate_open(late->gate);
    kit_await(k, "p.child_gone(c)");
    kit_order(k, "c.postStop", "w.term(c)", "p.spawnStatus(OK)", "p.child_gone(c)");
    kit_await(k, "next.preStart");
    kit_run(k, f.p, part_spawn, next); /* the late end of the first has not freed the second's */
    kit_await(k, "p.spawnStatus(EEXIST)");
    kit_expect_count(k, "next.ctor", 1);
}

/* ---- ST-19: without the kit, whose recorder's lock would order everything ----------------- */

enum { ST_TARGETS = 64, ST_WATCH = 1, ST_STOP };

/* What post_stop writes last, plainly, and the watcher reads. */
typedef struct st_book {
    axo_ref target[ST_TARGETS];
    uint64_t pages[ST_TARGETS][32];
    uint32_t right;
    uint32_t seen;
    sem_t watching;
    sem_t done;
} st_book;

typedef struct st_target {
    st_book *book;
    uint32_t index;
} st_target;

static axo_status st_target_make(axo_ctx *ctx, void *state, const void *args)
{
    memcpy(state, args, sizeof(st_target));
    return AXO_OK;
}

static axo_status st_target_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    return axo_stop_self(ctx);
}

static axo_status st_target_stop(axo_ctx *ctx, void *state)
{
    const st_target *me = state;
    /* Time for a notice that is too early to be taken by another worker. */
    for (volatile uint32_t spin = 0; spin < 20000; spin++)
        continue;
    for (uint32_t i = 0; i < 32; i++)
        me->book->pages[me->index][i] = me->index + i;
    return AXO_OK;
}

static void st_read_page(st_book *book, axo_ref target)
{
    for (uint32_t t = 0; t < ST_TARGETS; t++) {
        uint32_t right = 0;
        if (!axo_ref_equal(book->target[t], target))
            continue;
        for (uint32_t i = 0; i < 32; i++)
            right += book->pages[t][i] == t + i;
        book->right += right == 32;
    }
    if (++book->seen == ST_TARGETS)
        (void)sem_post(&book->done);
}

static axo_status st_reader_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    st_book *book = *(st_book **)state;
    if (message->tag == AXO_TERMINATED) {
        st_read_page(book, AXO_PAYLOAD(message, axo_terminated)->actor);
        return AXO_OK;
    }
    for (uint32_t t = 0; t < ST_TARGETS; t++) {
        axo_status status = axo_watch(ctx, book->target[t]);
        if (status != AXO_OK)
            return status;
    }
    (void)sem_post(&book->watching);
    return AXO_OK;
}

static axo_status st_reader_make(axo_ctx *ctx, void *state, const void *args)
{
    memcpy(state, args, sizeof(st_book *));
    return AXO_OK;
}

/* Fails the test if nobody posts. */
static void st_sem_wait(sem_t *sem)
{
    struct timespec until;
    int result;
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 20;
    do
        result = sem_timedwait(sem, &until);
    while (result != 0 && errno == EINTR);
    assert_int_equal(result, 0);
}

static axo_system *st_system(void **state)
{
    axo_options options = AXO_OPTIONS(.workers = (uint32_t)(uintptr_t)*state, .seed = 1);
    axo_system *system = NULL;
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    return system;
}

/* Stops it, and says what it has counted. */
static axo_stats st_system_end(axo_system *system)
{
    axo_stats stats = AXO_STATS(.sent = 0);
    assert_int_equal(axo_system_stop(system, ST_DEADLINE_NS, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_stats(system, &stats), AXO_OK);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
    return stats;
}

static void ST_19(void **state)
{
    static const axo_class target_class =
        AXO_CLASS(.state_size = sizeof(st_target), .construct = st_target_make,
                  .receive = st_target_receive, .post_stop = st_target_stop);
    static const axo_class reader_class = AXO_CLASS(
        .state_size = sizeof(st_book *), .construct = st_reader_make, .receive = st_reader_receive);
    axo_system *system = st_system(state);
    st_book *book = calloc(1, sizeof *book);
    axo_props props = AXO_PROPS(.cls = &reader_class, .args = &book, .args_size = sizeof book);
    axo_ref reader;
    assert_non_null(book);
    assert_int_equal(sem_init(&book->watching, 0, 0), 0);
    assert_int_equal(sem_init(&book->done, 0, 0), 0);
    assert_int_equal(axo_system_spawn(system, &props, &reader), AXO_OK);
    for (uint32_t t = 0; t < ST_TARGETS; t++) {
        st_target target = {.book = book, .index = t};
        axo_props one = AXO_PROPS(.cls = &target_class, .args = &target,
                                  .args_size = sizeof target);
        assert_int_equal(axo_system_spawn(system, &one, &book->target[t]), AXO_OK);
    }
    (void)axo_system_send(system, reader, ST_WATCH, NULL, 0);
    st_sem_wait(&book->watching);
    for (uint32_t t = 0; t < ST_TARGETS; t++)
        (void)axo_system_send(system, book->target[t], ST_STOP, NULL, 0);
    st_sem_wait(&book->done);
    (void)st_system_end(system);
    assert_int_equal(book->right, ST_TARGETS);
    (void)sem_destroy(&book->watching);
    (void)sem_destroy(&book->done);
    free(book);
}

/* ---- ST-20 ---------------------------------------------------------------------------------- */

static void ST_20(void **state)
{
    kit *k = kit_start(state, NULL);
    kit_family f = kit_tree(k, "g(p(c))");
    kit_gate *gate = kit_gate_new(k);
    axo_late late[8];
    uint32_t count = 0;
    bool named = false;
    kit_run(k, f.c, part_hold, gate);
    kit_gate_arrived(gate, 1);
    axo_system_stop_actor(kit_system(k), kit_ref(f.c));
    axo_system_stop_actor(kit_system(k), kit_ref(f.p));
    axo_system_stop_actor(kit_system(k), kit_ref(f.g));
    if (kit_workers(k) > 1) {
        kit_await_all(k, "g.stopping", "p.stopping");
    }
    assert_int_equal(axo_system_stop(kit_system(k), 0, late, 8, &count), AXO_ETIMEDOUT);
    for (uint32_t i = 0; i < count && i < 8; i++)
        named = named || (axo_ref_equal(late[i].actor, kit_ref(f.c)) &&
                          strcmp(late[i].doing, "running") == 0);
    assert_true(named);
    kit_never(k, "*.postStop");
    kit_gate_open(gate);
    assert_int_equal(axo_system_wait(kit_system(k), ST_DEADLINE_NS, NULL), AXO_OK);
    kit_order(k, "c.end", "c.postStop", "p.postStop", "g.postStop", "user.terminated");
    kit_finish_now(k);
}

/* ---- ST-21 ---------------------------------------------------------------------------------- */

static axo_status st_stop_bad(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    KIT_REQUIRE(self->k, axo_stop(ctx, axo_ref_none()) == AXO_EINVAL);
    KIT_REQUIRE(self->k, axo_stop(ctx, kit_ref(arg)) == AXO_EGONE);
    kit_mark(self, "tried", 0);
    return AXO_OK;
}

static void ST_21(kit *k)
{
    static const char *const labels[] = {"a", "b", "c", "d"};
    kit_family f = kit_tree(k, "p, s");
    kit_script *by[4];
    for (int i = 0; i < 4; i++)
        by[i] = kit_child(k, f.p, labels[i]);
    kit_run(k, f.p, part_stop, by[0]);
    kit_tell(k, by[1], KIT_STOP_SELF, 0);
    kit_tell_ref(k, f.s, KIT_STOP, kit_ref(by[2]));
    assert_int_equal(axo_system_stop_actor(kit_system(k), kit_ref(by[3])), AXO_OK);
    kit_await_count(k, "p.child_gone", 4);
    kit_run(k, f.p, part_count_children, NULL);
    kit_await(k, "p.children(0)");
    kit_run(k, f.s, st_stop_bad, by[2]);
    kit_await(k, "s.tried");
    kit_settle(k);
    kit_order(k, "a.postStop", "a.terminated", "p.child_gone(a)");
    kit_order(k, "b.postStop", "b.terminated", "p.child_gone(b)");
    kit_order(k, "c.postStop", "c.terminated", "p.child_gone(c)");
    kit_order(k, "d.postStop", "d.terminated", "p.child_gone(d)");
    kit_expect(k, "*.postStop=4", "p.decider=0");
    kit_finish(k);
}

/* ---- ST-22 ---------------------------------------------------------------------------------- */

/* What an actor leaves behind it. */
typedef struct st_legacy {
    kit *k;
    kit_script *heir;
    axo_ctx *kept;
    _Atomic uint32_t freed;
} st_legacy;

static void st_legacy_freed(void *payload, void *user)
{
    st_legacy *legacy = user;
    KIT_REQUIRE(legacy->k, payload == user);
    atomic_fetch_add(&legacy->freed, 1);
}

static axo_status st_leave(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    st_legacy *legacy = arg;
    kit_payload order = {.value = 5};
    axo_ref heir = kit_ref(legacy->heir);
    legacy->kept = ctx;
    KIT_REQUIRE(self->k, axo_send_after(ctx, 1000, heir, KIT_PING, &order, sizeof order) == AXO_OK);
    KIT_REQUIRE(self->k, axo_send_owned(ctx, heir, KIT_OTHER, legacy, sizeof *legacy,
                                        st_legacy_freed, legacy) == AXO_OK);
    return axo_stop_self(ctx);
}

static axo_status st_use_kept(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    st_legacy *legacy = arg;
    axo_ctx *kept = legacy->kept;
    kit_gate_pass(self->script->user);
    KIT_REQUIRE(self->k, kept != ctx);
    KIT_REQUIRE(self->k, axo_ref_is_none(axo_self(kept)) && axo_ref_is_none(axo_parent(kept)));
    KIT_REQUIRE(self->k, axo_send(kept, self->ref, KIT_OTHER, NULL, 0) == AXO_ECONTEXT);
    KIT_REQUIRE(self->k, axo_stop_self(kept) == AXO_ECONTEXT);
    KIT_REQUIRE(self->k, axo_alloc(kept, 8) == NULL);
    KIT_REQUIRE(self->k, axo_watch(kept, self->ref) == AXO_ECONTEXT);
    return AXO_OK;
}

/* A timer, an owned payload and a context outlive their actor and do no harm. */
static void ST_22(kit *k)
{
    kit_family f = kit_tree(k, "a, w");
    st_legacy *legacy = kit_alloc(k, sizeof *legacy);
    *legacy = (st_legacy){.k = k, .heir = f.w};
    f.w->user = kit_gate_new(k);
    kit_run(k, f.a, st_leave, legacy);
    kit_await(k, "user.child_gone(a)");
    kit_run(k, f.w, st_use_kept, legacy);
    kit_gate_open(f.w->user);
    kit_await(k, "w.ping(5)");
    kit_await(k, "a.dl(PONG)"); /* KIT_PONG, to one that is gone */
    kit_await(k, "w.unhandled(OTHER)");
    kit_settle(k);
    assert_int_equal(atomic_load(&legacy->freed), 1);
    kit_expect(k, "w.ping=1", "a.freed=1");
}

/* ---- ST-23 ---------------------------------------------------------------------------------- */

enum { ST_BIG = 16, ST_BIG_STATE = 1 << 20 };

static axo_status st_big_make(axo_ctx *ctx, void *state, const void *args)
{
    kit *k;
    memcpy(&k, args, sizeof k);
    memset(state, 1, ST_BIG_STATE);
    kit_mark_ref(k, axo_self(ctx), "made", 0);
    return axo_alloc(ctx, ST_BIG_STATE) != NULL ? AXO_OK : AXO_ENOMEM;
}

/* The state, the copy of the args and what the instance took go with the actor, though its
 * reference is kept; and its class is not looked at any more. */
static void ST_23(kit *k)
{
    axo_class *cls = malloc(sizeof *cls);
    char *args = calloc(1, AXO_ARGS_MAX);
    axo_ref refs[ST_BIG];
    uint64_t before = kit_stats(k).memory_bytes;
    uint64_t big;
    assert_non_null(cls);
    assert_non_null(args);
    *cls = (axo_class)AXO_CLASS(.state_size = ST_BIG_STATE, .construct = st_big_make,
                                .receive = st_target_receive);
    memcpy(args, &k, sizeof(kit *));
    axo_props props = AXO_PROPS(.cls = cls, .args = args, .args_size = AXO_ARGS_MAX);
    for (int i = 0; i < ST_BIG; i++)
        assert_int_equal(axo_system_spawn(kit_system(k), &props, &refs[i]), AXO_OK);
    free(args);
    kit_await_count(k, "*.made", ST_BIG);
    big = kit_stats(k).memory_bytes;
    assert_true(big >= before + ST_BIG * (ST_BIG_STATE + (uint64_t)AXO_ARGS_MAX));
    for (int i = 0; i < ST_BIG; i++)
        (void)axo_system_stop_actor(kit_system(k), refs[i]);
    kit_await_count(k, "user.child_gone", ST_BIG);
    free(cls);
    assert_true(kit_stats(k).memory_bytes < before + ST_BIG / 2 * (uint64_t)AXO_ARGS_MAX);
    for (int i = 0; i < ST_BIG; i++)
        assert_int_equal(axo_system_send(kit_system(k), refs[i], 1, NULL, 0), AXO_EGONE);
    kit_finish(k);
}

/* ---- ST-24: without the kit, for the volume -------------------------------------------------- */

enum { ST_SPAWNERS = 3, ST_EACH = 4000, ST_AT_ONCE = 100, ST_WAVES = 3, ST_WAVE = 4000 };

typedef struct st_flood {
    _Atomic uint32_t started;
    _Atomic uint32_t stopped;
    uint32_t wanted;
    sem_t done;
} st_flood;

typedef struct st_spawner {
    st_flood *flood;
    uint32_t spawned;
    uint32_t ended;
} st_spawner;

static axo_status st_short_start(axo_ctx *ctx, void *state)
{
    st_spawner *me = state;
    atomic_fetch_add(&me->flood->started, 1);
    return AXO_OK;
}

static axo_status st_short_stop(axo_ctx *ctx, void *state)
{
    st_spawner *me = state;
    uint32_t wanted = me->flood->wanted; /* the next wave's is set when the last one has stopped */
    if (atomic_fetch_add(&me->flood->stopped, 1) + 1 == wanted)
        (void)sem_post(&me->flood->done);
    return AXO_OK;
}

static axo_status st_flood_make(axo_ctx *ctx, void *state, const void *args)
{
    memcpy(state, args, sizeof(st_flood *));
    return AXO_OK;
}

static const axo_class st_short_class =
    AXO_CLASS(.state_size = sizeof(st_spawner), .construct = st_flood_make,
              .pre_start = st_short_start, .receive = st_target_receive,
              .post_stop = st_short_stop);

static axo_status st_spawn_some(axo_ctx *ctx, st_spawner *me)
{
    axo_props props = AXO_PROPS(.cls = &st_short_class, .args = &me->flood,
                                .args_size = sizeof me->flood);
    while (me->spawned < ST_EACH && me->spawned - me->ended < ST_AT_ONCE) {
        axo_ref child;
        axo_status status = axo_spawn(ctx, &props, &child);
        if (status == AXO_OK)
            status = axo_watch(ctx, child);
        if (status != AXO_OK)
            return status;
        me->spawned++;
        if (me->spawned % 2 == 0)
            (void)axo_stop(ctx, child);
        else
            (void)axo_send(ctx, child, ST_STOP, NULL, 0);
    }
    return AXO_OK;
}

static axo_status st_spawner_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    st_spawner *me = state;
    if (message->tag == AXO_TERMINATED && ++me->ended == ST_EACH) {
        if (axo_child_count(ctx) != 0)
            return axo_fail(ctx, 1, "children left");
        return axo_stop_self(ctx); /* the last to end, and counted like a short one */
    }
    return st_spawn_some(ctx, me);
}

static void ST_24(void **state)
{
    static const axo_class spawner_class =
        AXO_CLASS(.state_size = sizeof(st_spawner), .construct = st_flood_make,
                  .receive = st_spawner_receive, .post_stop = st_short_stop);
    axo_system *system = st_system(state);
    st_flood flood = {.wanted = ST_SPAWNERS * (ST_EACH + 1)};
    st_flood *args = &flood;
    axo_props props = AXO_PROPS(.cls = &spawner_class, .args = &args, .args_size = sizeof args);
    axo_ref ref;
    axo_stats stats;
    assert_int_equal(sem_init(&flood.done, 0, 0), 0);
    for (int i = 0; i < ST_SPAWNERS; i++) {
        assert_int_equal(axo_system_spawn(system, &props, &ref), AXO_OK);
        (void)axo_system_send(system, ref, ST_WATCH, NULL, 0);
    }
    st_sem_wait(&flood.done);
    assert_int_equal(atomic_load(&flood.started), ST_SPAWNERS * ST_EACH);
    props.cls = &st_short_class;
    for (int wave = 0; wave < ST_WAVES; wave++) {
        atomic_store(&flood.stopped, 0);
        flood.wanted = ST_WAVE;
        for (int i = 0; i < ST_WAVE; i++) {
            assert_int_equal(axo_system_spawn(system, &props, &ref), AXO_OK);
            (void)axo_system_send(system, ref, ST_STOP, NULL, 0);
        }
        st_sem_wait(&flood.done);
    }
    stats = st_system_end(system);
    assert_int_equal(stats.spawned, 3 + ST_SPAWNERS * (ST_EACH + 1) + ST_WAVES * ST_WAVE);
    assert_int_equal(stats.terminated, stats.spawned);
    assert_int_equal(stats.notices, 2 + ST_SPAWNERS * ST_EACH); /* 2: of the guardians */
    assert_int_equal(stats.sent, stats.handled + stats.dead + stats.dropped);
    assert_int_equal(stats.failures, 0);
    (void)sem_destroy(&flood.done);
}

/* ---- ST-25 ---------------------------------------------------------------------------------- */

static axo_status st_list_children(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    axo_ref list[4];
    uint32_t count = axo_children(ctx, list, 4);
    KIT_REQUIRE(self->k, count == axo_child_count(ctx));
    for (uint32_t i = 0; i < count && i < 4; i++)
        kit_mark(self, "lists", (int64_t)list[i].bits);
    kit_mark(self, "listed", count);
    return AXO_OK;
}

static void ST_25(kit *k)
{
    static const char *const labels[] = {"a", "b", "c", "d"};
    kit_script *p = kit_top(k, "p");
    kit_script *kids[4];
    for (int i = 0; i < 4; i++)
        kids[i] = kit_child(k, p, labels[i]);
    kit_run(k, p, st_list_children, NULL);
    kit_run(k, p, part_stop, kids[0]);
    kit_await(k, "p.child_gone(a)");
    kit_run(k, p, st_list_children, NULL);
    kit_await(k, "p.listed(3)");
    (void)axo_system_stop_actor(kit_system(k), kit_ref(kids[1]));
    kit_await(k, "p.child_gone(b)");
    kit_run(k, p, st_list_children, NULL);
    kit_await(k, "p.listed(2)");
    kit_tell(k, kids[2], KIT_STOP_SELF, 0);
    kit_await(k, "p.child_gone(c)");
    kit_run(k, p, st_list_children, NULL);
    kit_await(k, "p.listed(1)");
    kit_order(k, "p.listed(4)", "p.listed(3)", "p.listed(2)", "p.listed(1)");
    kit_expect(k, "p.lists(a)=1", "p.lists(b)=2", "p.lists(c)=3", "p.lists(d)=4");
    kit_finish(k);
}

static const struct CMUnitTest tests[] = {
    KIT_TEST_ONE("ST-18", ST_18, 2, "workers"), KIT_TEST_ONE("ST-18", ST_18, 4, "workers"),
    KIT_TEST("ST-19", ST_19), KIT_TEST("ST-20", ST_20), KIT_TEST("ST-21", ST_21),
    KIT_TEST("ST-22", ST_22), KIT_TEST("ST-23", ST_23), KIT_TEST("ST-24", ST_24),
    KIT_TEST("ST-25", ST_25),
};

TEST_MAIN(tests)
