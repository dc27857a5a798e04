/* inspect_test.c - what an actor is doing, asked from outside, from other actors and by itself; and
 * that no message is lost to the asking. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "conformance/parts.h"

static axo_actor_info inspect(kit *k, axo_ref ref, axo_ref waiting)
{
    axo_actor_info info = AXO_ACTOR_INFO();
    assert_int_equal(axo_system_inspect(kit_system(k), ref, waiting, &info), AXO_OK);
    assert_true(axo_ref_equal(info.actor, ref));
    return info;
}

/* Asks until the answer is what must come in the end. */
static axo_actor_info inspect_until(kit *k, axo_ref ref, axo_doing doing)
{
    axo_actor_info info = inspect(k, ref, axo_ref_none());
    for (int i = 0; i < 200000 && info.doing != (uint32_t)doing; i++) {
        (void)sched_yield();
        info = inspect(k, ref, axo_ref_none());
    }
    assert_string_equal(axo_doing_name(info.doing), axo_doing_name(doing));
    return info;
}

static void idle_and_running(kit *k)
{
    kit_script *a = kit_top(k, "a");
    axo_actor_info info = inspect_until(k, kit_ref(a), AXO_DOING_IDLE);
    assert_string_equal(info.path, "/user/a");
    assert_int_equal(info.counted, AXO_COUNTED_ALL);
    assert_int_equal(info.queued, 0);
    assert_int_equal(info.has_tag, 0);
    assert_int_equal(info.since_ns, 0);
    assert_int_equal(info.instance, 1);
    assert_int_equal(info.reserved, 0);

    kit_gate *gate = kit_gate_new(k);
    kit_wait_at(k, a, gate, 1);
    kit_gate_arrived(gate, 1);
    kit_tell(k, a, KIT_NOTE, 1);
    info = inspect(k, kit_ref(a), axo_ref_none());
    assert_int_equal(info.doing, AXO_DOING_RUNNING);
    assert_int_equal(info.counted, AXO_COUNTED_NONE);
    assert_int_equal(info.has_tag, 1);
    assert_int_equal(info.tag, KIT_WAIT);
    assert_true(info.since_ns >= 0);
    kit_gate_open(gate);
    kit_await(k, "a.note(1)");
}

/* A worker that has slept says when it got up, not when it lay down. */
static void since_when_after_a_sleep(kit *k)
{
    kit_script *a = kit_top(k, "a");
    kit_gate *gate = kit_gate_new(k);
    struct timespec pause = {.tv_nsec = 50000000};
    kit_settle(k);
    (void)nanosleep(&pause, NULL); /* whatever it is that is idle now, it has been for a while */
    int64_t sent = axo_system_now(kit_system(k));
    kit_wait_at(k, a, gate, 1);
    kit_gate_arrived(gate, 1);
    axo_actor_info info = inspect(k, kit_ref(a), axo_ref_none());
    assert_int_equal(info.doing, AXO_DOING_RUNNING);
    assert_true(info.since_ns <= axo_system_now(kit_system(k)) - sent);
    kit_gate_open(gate);
    kit_finish(k);
}

/* A decider that runs in the turn of a message is not in that message any more. */
static void decider_after_a_message(kit *k)
{
    kit_family f = kit_tree(k, "p(a)");
    kit_gate *gate = kit_gate_new(k);
    f.p->directive = AXO_RESUME;
    f.p->decider.gate = kit_gate_new(k);
    kit_wait_at(k, f.p, gate, 1);
    kit_gate_arrived(gate, 1);
    kit_tell(k, f.a, KIT_FAIL, 7);
    (void)inspect_until(k, kit_ref(f.a), AXO_DOING_SUSPENDED);
    kit_gate_open(gate);
    kit_gate_arrived(f.p->decider.gate, 1);
    axo_actor_info info = inspect(k, kit_ref(f.p), axo_ref_none());
    assert_int_equal(info.doing, AXO_DOING_RUNNING);
    assert_int_equal(info.has_tag, 0);
    kit_gate_open(f.p->decider.gate);
}

/* A suspended actor keeps its mailbox: lengths and places are exact. */
static void places_of_senders(kit *k)
{
    kit_family f = kit_tree(k, "p(a), b, c");
    kit_gate *gate = kit_gate_new(k);
    f.p->directive = AXO_RESUME;
    f.p->decider.gate = gate;
    kit_tell(k, f.a, KIT_FAIL, 7);
    kit_gate_arrived(gate, 1);
    axo_actor_info info = inspect_until(k, kit_ref(f.a), AXO_DOING_SUSPENDED);
    assert_int_equal(info.suspends, 1);
    assert_int_equal(info.queued, 0);
    kit_tell(k, f.a, KIT_NOTE, 1);
    kit_tell_as(k, f.b, f.a, KIT_NOTE, 2);
    kit_tell_as(k, f.c, f.a, KIT_NOTE, 3);
    kit_tell_as(k, f.b, f.a, KIT_NOTE, 4);
    info = inspect(k, kit_ref(f.a), kit_ref(f.b));
    assert_int_equal(info.doing, AXO_DOING_SUSPENDED);
    assert_int_equal(info.counted, AXO_COUNTED_ALL);
    assert_int_equal(info.queued, 4);
    assert_int_equal(info.place, 2);
    assert_int_equal(inspect(k, kit_ref(f.a), kit_ref(f.c)).place, 3);
    assert_int_equal(inspect(k, kit_ref(f.a), kit_ref(f.p)).place, 0);
    assert_int_equal(inspect(k, kit_ref(f.a), axo_ref_none()).place, 0);
    info = inspect(k, kit_ref(f.p), axo_ref_none());
    assert_int_equal(info.doing, AXO_DOING_RUNNING); /* its decider, which is no message */
    assert_int_equal(info.has_tag, 0);
    kit_gate_open(gate);
    kit_await(k, "a.note(4)");
    kit_order(k, "a.note(1)", "a.note(2)", "a.note(3)", "a.note(4)");
}

/* More than are looked at: said to be at least so many. */
static void a_long_mailbox_is_counted_in_part(kit *k)
{
    kit_family f = kit_tree(k, "p(a)");
    kit_gate *gate = kit_gate_new(k);
    f.p->directive = AXO_STOP;
    f.p->decider.gate = gate;
    kit_tell(k, f.a, KIT_FAIL, 7);
    kit_gate_arrived(gate, 1);
    (void)inspect_until(k, kit_ref(f.a), AXO_DOING_SUSPENDED);
    for (uint32_t i = 0; i < AXO_INSPECT_MAX; i++)
        assert_int_equal(axo_system_send(kit_system(k), kit_ref(f.a), 1, NULL, 0), AXO_OK);
    axo_actor_info info = inspect(k, kit_ref(f.a), axo_ref_none());
    assert_int_equal(info.queued, AXO_INSPECT_MAX);
    assert_int_equal(info.counted, AXO_COUNTED_ALL);
    kit_tell_as(k, f.p, f.a, KIT_NOTE, 1);
    info = inspect(k, kit_ref(f.a), kit_ref(f.p));
    assert_int_equal(info.queued, AXO_INSPECT_MAX);
    assert_int_equal(info.counted, AXO_COUNTED_PART);
    assert_int_equal(info.place, 0);
    kit_gate_open(gate);
    kit_await(k, "a.terminated");
}

static void stopping_and_gone(kit *k)
{
    kit_family f = kit_tree(k, "p(a)");
    axo_ref was = kit_ref(f.p);
    f.a->post_stop.gate = kit_gate_new(k);
    assert_int_equal(axo_system_stop_actor(kit_system(k), kit_ref(f.p)), AXO_OK);
    kit_gate_arrived(f.a->post_stop.gate, 1);
    axo_actor_info info = inspect_until(k, was, AXO_DOING_STOPPING);
    assert_string_equal(info.path, "/user/p");
    assert_true(axo_ref_equal(info.waits_for, kit_ref(f.a)));
    assert_int_equal(inspect(k, kit_ref(f.a), axo_ref_none()).doing, AXO_DOING_RUNNING);
    kit_gate_open(f.a->post_stop.gate);
    kit_await_all(k, "p.terminated", "user.child_gone(p)");
    assert_int_equal(axo_system_inspect(kit_system(k), was, axo_ref_none(), &info), AXO_EGONE);
    assert_int_equal(info.doing, AXO_DOING_GONE);
    assert_true(axo_ref_equal(info.actor, was));
    assert_int_equal(info.path[0], 0);
    assert_int_equal(info.instance, 0);
    kit_finish(k);
}

/* It waits for the child that its pre_restart stopped (RS-05). */
static void restarting(kit *k)
{
    kit_family f = kit_tree(k, "g(p(a))");
    f.g->directive = AXO_RESTART;
    f.a->post_stop.gate = kit_gate_new(k);
    kit_tell(k, f.p, KIT_FAIL, 7);
    kit_gate_arrived(f.a->post_stop.gate, 1);
    axo_actor_info info = inspect_until(k, kit_ref(f.p), AXO_DOING_RESTARTING);
    assert_int_equal(info.suspends, 1);
    assert_true(axo_ref_equal(info.waits_for, kit_ref(f.a)));
    kit_gate_open(f.a->post_stop.gate);
    assert_int_equal(info.instance, 1);
    kit_await(k, "p#2.preStart");
    assert_int_equal(inspect(k, kit_ref(f.p), axo_ref_none()).instance, 2);
    assert_int_equal(inspect(k, kit_ref(f.g), axo_ref_none()).instance, 1);
    assert_true(axo_ref_is_none(inspect(k, kit_ref(f.p), axo_ref_none()).waits_for));
}

static axo_status inspect_from_inside(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    axo_actor_info info = AXO_ACTOR_INFO();
    kit *k = self->k;
    kit_script *other = arg;
    for (int i = 0; i < 3; i++)
        KIT_REQUIRE(k, kit_tell_in(ctx, self->ref, KIT_NOTE, i) == AXO_OK);
    KIT_REQUIRE(k, axo_inspect(ctx, self->ref, self->ref, &info) == AXO_OK);
    KIT_REQUIRE(k, info.doing == AXO_DOING_RUNNING);
    KIT_REQUIRE(k, info.has_tag == 1 && info.tag == KIT_RUN);
    KIT_REQUIRE(k, info.counted == AXO_COUNTED_ALL && info.queued == 3 && info.place == 1);
    KIT_REQUIRE(k, axo_inspect(ctx, kit_ref(other), self->ref, &info) == AXO_OK);
    KIT_REQUIRE(k, strcmp(info.path, "/user/b") == 0);
    KIT_REQUIRE(k, axo_inspect(ctx, axo_parent(ctx), self->ref, &info) == AXO_OK);
    KIT_REQUIRE(k, strcmp(info.path, "/user") == 0 && strcmp(info.class_name, "user") == 0);
    KIT_REQUIRE(k, axo_inspect(NULL, self->ref, self->ref, &info) == AXO_ECONTEXT);
    KIT_REQUIRE(k, axo_inspect(ctx, axo_ref_none(), self->ref, &info) == AXO_EINVAL);
    KIT_REQUIRE(k, axo_inspect(ctx, self->ref, self->ref, NULL) == AXO_EINVAL);
    return AXO_OK;
}

static void from_inside(kit *k)
{
    kit_family f = kit_tree(k, "a, b");
    kit_run(k, f.a, inspect_from_inside, f.b);
    kit_await(k, "a.note(2)");
}

/* `arg` has sent one before this turn, which is in the batch that was taken, and sends another. */
static axo_status inspect_two_of_one(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    axo_actor_info info = AXO_ACTOR_INFO();
    kit *k = self->k;
    axo_ref other = kit_ref(arg);
    KIT_REQUIRE(k, axo_inspect(ctx, self->ref, other, &info) == AXO_OK);
    KIT_REQUIRE(k, info.queued == 2 && info.place == 2);
    KIT_REQUIRE(k, axo_send_from(ctx, other, self->ref, AXO_TAG_QUIET, NULL, 0) == AXO_OK);
    KIT_REQUIRE(k, axo_inspect(ctx, self->ref, other, &info) == AXO_OK);
    KIT_REQUIRE(k, info.counted == AXO_COUNTED_ALL && info.queued == 3);
    KIT_REQUIRE(k, info.place == 2); /* of the first of the two */
    return AXO_OK;
}

static axo_status inspect_wait(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    (void)ctx, (void)self;
    kit_gate_pass(arg);
    return AXO_OK;
}

static void the_first_of_two(kit *k)
{
    kit_family f = kit_tree(k, "a, b");
    kit_gate *gate = kit_gate_new(k);
    kit_run(k, f.a, inspect_wait, gate);
    kit_gate_arrived(gate, 1);
    kit_run(k, f.a, inspect_two_of_one, f.b);
    kit_tell(k, f.a, KIT_NOTE, 1);
    kit_tell_as(k, f.b, f.a, KIT_NOTE, 2);
    kit_tell(k, f.b, KIT_NOTE, 3);
    kit_gate_open(gate);
    kit_await(k, "a.note(2)");
}

static axo_status front_unstash(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    axo_actor_info info = AXO_ACTOR_INFO();
    kit *k = self->k;
    KIT_REQUIRE(k, axo_inspect(ctx, self->ref, self->ref, &info) == AXO_OK);
    KIT_REQUIRE(k, info.stashed == 3 && info.queued == 0 && info.place == 0);
    KIT_REQUIRE(k, axo_unstash(ctx, 2) == AXO_OK);
    KIT_REQUIRE(k, kit_tell_in(ctx, self->ref, KIT_NOTE, 3) == AXO_OK);
    KIT_REQUIRE(k, axo_inspect(ctx, self->ref, self->ref, &info) == AXO_OK);
    KIT_REQUIRE(k, info.stashed == 1 && info.queued == 3 && info.place == 3);
    KIT_REQUIRE(k, axo_unstash_all(ctx) == AXO_OK);
    return axo_unbecome(ctx);
}

static axo_status front_stash(axo_ctx *ctx, void *state, const axo_message *message)
{
    if (message->tag != KIT_NOTE)
        return kit_receive(ctx, state, message);
    return axo_stash(ctx);
}

/* What was unstashed is handled first and counted first. */
static void stashed_and_in_front(kit *k)
{
    kit_script *a = kit_top(k, "a");
    part_tell_become(k, a, front_stash);
    for (int i = 0; i < 3; i++)
        kit_tell(k, a, KIT_NOTE, i);
    kit_run(k, a, front_unstash, NULL);
    kit_await(k, "a.note(3)");
}

static const char *named_tag(uint32_t tag)
{
    return tag == KIT_WAIT ? "WAIT" : NULL;
}

typedef struct named_state {
    kit_gate *gate;
} named_state;

static axo_status named_construct(axo_ctx *ctx, void *state, const void *args)
{
    memcpy(state, args, sizeof(named_state));
    return AXO_OK;
}

static axo_status named_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    named_state *self = state;
    kit_gate_pass(self->gate);
    return AXO_OK;
}

static const axo_class named_class =
    AXO_CLASS(.name = "named", .state_size = sizeof(named_state), .construct = named_construct,
              .receive = named_receive, .tag_name = named_tag);

static void tags_have_names(kit *k)
{
    named_state args[2] = {{kit_gate_new(k)}, {kit_gate_new(k)}};
    const uint32_t tags[2] = {KIT_WAIT, KIT_OTHER};
    const char *const names[2] = {"WAIT", ""};
    for (int i = 0; i < 2; i++) {
        axo_ref ref;
        axo_props props = AXO_PROPS(.cls = &named_class, .args = &args[i],
                                    .args_size = sizeof args[i]);
        assert_int_equal(axo_system_spawn(kit_system(k), &props, &ref), AXO_OK);
        assert_int_equal(axo_system_send(kit_system(k), ref, tags[i], NULL, 0), AXO_OK);
        kit_gate_arrived(args[i].gate, 1);
        axo_actor_info info = inspect(k, ref, axo_ref_none());
        assert_string_equal(info.class_name, "named");
        assert_int_equal(info.tag, tags[i]);
        assert_string_equal(info.tag_name, names[i]);
        kit_gate_open(args[i].gate);
    }
    kit_finish(k);
}

static void misuse(kit *k)
{
    kit_script *a = kit_top(k, "a");
    axo_actor_info info = AXO_ACTOR_INFO();
    axo_ref none = axo_ref_none();
    axo_system *system = kit_system(k);
    memset(info.path, 0x55, sizeof info.path);
    axo_actor_info before = info;
    assert_int_equal(axo_system_inspect(NULL, kit_ref(a), none, &info), AXO_EINVAL);
    assert_int_equal(axo_system_inspect(system, none, none, &info), AXO_EINVAL);
    assert_int_equal(axo_system_inspect(system, kit_ref(a), none, NULL), AXO_EINVAL);
    assert_int_equal(axo_inspect((axo_ctx *)&info, kit_ref(a), none, &info), AXO_ECONTEXT);
    assert_memory_equal(&info, &before, sizeof info);
    info.size = 0;
    assert_int_equal(axo_system_inspect(system, kit_ref(a), none, &info), AXO_EINVAL);
    struct {
        axo_actor_info info;
        uint64_t more;
    } newer = {.info = before, .more = 1};
    newer.info.size = sizeof newer;
    assert_int_equal(axo_system_inspect(system, kit_ref(a), none, &newer.info), AXO_EVERSION);
    assert_memory_equal(newer.info.path, before.path, sizeof info.path);
    info.size = offsetof(axo_actor_info, class_name); /* an older caller */
    assert_int_equal(axo_system_inspect(system, kit_ref(a), none, &info), AXO_OK);
    assert_int_equal(info.size, offsetof(axo_actor_info, class_name));
    assert_memory_equal(info.path, before.path, sizeof info.path);
    info.size = sizeof info;
    axo_ref forged = {kit_ref(a).bits ^ (UINT64_C(1) << 60)};
    assert_int_equal(axo_system_inspect(system, forged, none, &info), AXO_EGONE);
    assert_string_equal(axo_doing_name(AXO_DOING_IDLE), "idle");
    assert_string_equal(axo_doing_name(99), "?");
    kit_finish(k);
}

/* ---- nothing is lost to the asking ---- */

enum { LOST_ACTORS = 4, LOST_SENDERS = 2, LOST_LOOKERS = 2, LOST_EACH = 6000 };

typedef struct lost {
    kit *k;
    axo_ref actors[LOST_ACTORS];
    _Atomic uint64_t handled;
    _Atomic uint64_t failed;
    _Atomic uint64_t looks;
    _Atomic uint32_t done;
} lost;

static axo_status lost_construct(axo_ctx *ctx, void *state, const void *args)
{
    *(lost **)state = *(lost *const *)args;
    return AXO_OK;
}

/* Some messages fail it, and some look at the next one: each has to come up. */
static axo_status lost_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    lost *world = *(lost **)state;
    axo_actor_info info = AXO_ACTOR_INFO();
    uint64_t handled = atomic_fetch_add(&world->handled, 1);
    if (message->tag == 2) {
        atomic_fetch_add(&world->failed, 1);
        return axo_fail(ctx, 1, NULL);
    }
    KIT_REQUIRE(world->k, axo_inspect(ctx, world->actors[handled % LOST_ACTORS],
                                      axo_self(ctx), &info) == AXO_OK);
    return AXO_OK;
}

static const axo_class lost_class =
    AXO_CLASS(.name = "lost", .state_size = sizeof(lost *), .construct = lost_construct,
              .receive = lost_receive);

typedef struct lost_thread {
    lost *world;
    uint32_t index;
} lost_thread;

static void *lost_send(void *arg)
{
    const lost_thread *self = arg;
    lost *world = self->world;
    while (atomic_load(&world->looks) == 0)
        (void)sched_yield();
    for (uint32_t i = 0; i < LOST_EACH; i++) {
        axo_ref to = world->actors[(i + self->index) % LOST_ACTORS];
        KIT_REQUIRE(world->k, axo_system_send(kit_system(world->k), to, i % 64 == 0 ? 2 : 1, NULL,
                                              0) == AXO_OK);
    }
    atomic_fetch_add(&world->done, 1);
    return NULL;
}

static void *lost_look(void *arg)
{
    const lost_thread *self = arg;
    lost *world = self->world;
    uint32_t i = self->index;
    while (atomic_load(&world->done) < LOST_SENDERS) {
        axo_actor_info info = AXO_ACTOR_INFO();
        axo_ref ref = world->actors[i++ % LOST_ACTORS];
        KIT_REQUIRE(world->k, axo_system_inspect(kit_system(world->k), ref, axo_ref_none(),
                                                 &info) == AXO_OK);
        KIT_REQUIRE(world->k, info.queued <= LOST_SENDERS * LOST_EACH);
        atomic_fetch_add(&world->looks, 1);
    }
    return NULL;
}

static void no_wake_up_is_lost(kit *k)
{
    lost *world = kit_alloc(k, sizeof *world);
    lost_thread threads[LOST_SENDERS + LOST_LOOKERS];
    pthread_t ids[LOST_SENDERS + LOST_LOOKERS];
    axo_props props = AXO_PROPS(.cls = &lost_class, .args = &world, .args_size = sizeof world);
    world->k = k;
    for (uint32_t i = 0; i < LOST_ACTORS; i++)
        assert_int_equal(axo_system_spawn(kit_system(k), &props, &world->actors[i]), AXO_OK);
    for (uint32_t i = 0; i < LOST_SENDERS + LOST_LOOKERS; i++) {
        threads[i] = (lost_thread){world, i};
        assert_int_equal(pthread_create(&ids[i], NULL, i < LOST_SENDERS ? lost_send : lost_look,
                                        &threads[i]),
                         0);
    }
    for (uint32_t i = 0; i < LOST_SENDERS + LOST_LOOKERS; i++)
        assert_int_equal(pthread_join(ids[i], NULL), 0);
    time_t limit = time(NULL) + KIT_DEADLINE_S; /* nobody looks any more: what was lost stays so */
    while (atomic_load(&world->handled) < LOST_SENDERS * LOST_EACH && time(NULL) < limit)
        (void)sched_yield();
    assert_int_equal(atomic_load(&world->handled), LOST_SENDERS * LOST_EACH);
    assert_true(atomic_load(&world->looks) > 0);
    kit_finish(k);
}

static const struct CMUnitTest tests[] = {
    KIT_TEST("idle and running", idle_and_running),
    KIT_TEST("since when, after a sleep", since_when_after_a_sleep),
    KIT_TEST("places of senders", places_of_senders),
        KIT_TEST("the first of two", the_first_of_two),
    KIT_TEST_ONE("a decider after a message", decider_after_a_message, 2, "workers"),
    KIT_TEST("a long mailbox is counted in part", a_long_mailbox_is_counted_in_part),
    KIT_TEST("stopping and gone", stopping_and_gone),
    KIT_TEST("restarting", restarting),
    KIT_TEST("from inside", from_inside),
    KIT_TEST("stashed and in front", stashed_and_in_front),
    KIT_TEST("tags have names", tags_have_names),
    KIT_TEST("misuse", misuse),
    KIT_TEST("no wake-up is lost", no_wake_up_is_lost),
};
TEST_MAIN(tests)
