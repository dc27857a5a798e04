/* uid_test.c - incarnations: stale reports, references and notices (UID). */
#include <stdio.h>
#include <string.h>

#include "conformance/parts.h"

/* The old c fails to start while p is failed; p restarts, stops it, and makes another c. */
static void UID_01(kit *k)
{
    kit_family f = kit_plan(k, "g:restart[p:restart]");
    kit_script *old = kit_actor(k, "old");
    kit_script *new = kit_actor(k, "new");
    f.p->post_restart.spawn[0] = new;
    old->name = "c";
    old->pre_start.fail_first = 1;
    old->pre_start.fail_last = UINT32_MAX;
    old->pre_start.code = 8;
    new->name = "c";
    kit_grow(&f);
    if (kit_workers(k) > 1)
        f.g->decider.gate = kit_gate_new(k);
    kit_run(k, f.p, part_spawn_fail, old);
    if (kit_workers(k) > 1) {
        kit_await(k, "p.hold(old)");
        kit_gate_open(f.g->decider.gate);
    }
    kit_await(k, "new.preStart");
    kit_tell(k, new, KIT_NOTE, 1);
    kit_await(k, "new.note(1)");
    kit_settle(k);
    kit_order(k, "p.fails(7)", "g.decider(p)", "p#1.preRestart(7)", "old.terminated",
              "p.child_gone(old)", "p#2.ctor", "new.ctor", "new.preStart", "new.note(1)");
    kit_expect(k, "p.decider=0", "old.ctor=1", "new.ctor=1", "new.preRestart=0");
}

/* The same with an old c that is busy when p fails. */
static void UID_01_in_flight(kit *k)
{
    kit_family f = kit_plan(k, "g:restart[p:restart]");
    kit_script *old = kit_actor(k, "old");
    kit_script *new = kit_actor(k, "new");
    part_blow *blow = part_blow_new(k, 8);
    f.p->post_restart.spawn[0] = new;
    old->name = "c";
    new->name = "c";
    kit_grow(&f);
    kit_spawn_child(k, f.p, old, 0);
    kit_await(k, "old.preStart");
    kit_run(k, old, part_hold_fail, blow);
    kit_gate_arrived(blow->gate, 1);
    kit_tell(k, f.p, KIT_FAIL, 7);
    kit_await(k, "p.postStop");
    kit_gate_open(blow->gate);
    kit_await(k, "new.preStart");
    kit_tell(k, new, KIT_NOTE, 1);
    kit_await(k, "new.note(1)");
    kit_settle(k);
    kit_order(k, "p.postStop", "old.fails(8)", "old.terminated", "p.child_gone(old)", "p#2.ctor",
              "new.ctor", "new.note(1)");
    kit_expect(k, "p.decider=0", "old.ctor=1", "new.ctor=1", "new.preRestart=0");
}

static axo_status uid_spawn_stop_fail(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    KIT_REQUIRE(self->k, kit_spawn_in(ctx, arg) == AXO_OK);
    KIT_REQUIRE(self->k, axo_stop(ctx, kit_ref(arg)) == AXO_OK);
    kit_mark(self, "fails", 7);
    return axo_fail(ctx, 7, "after the stop");
}

/* The report of a child that is gone is dropped; with one worker it may come in time yet. */
static void UID_02(kit *k)
{
    kit_family f = kit_plan(k, "g:resume[p:restart], -c");
    f.c->pre_start.fail_first = 1;
    f.c->pre_start.code = 8;
    kit_grow(&f);
    if (kit_workers(k) > 1)
        f.g->decider.gate = kit_gate_new(k);
    kit_run(k, f.p, uid_spawn_stop_fail, f.c);
    kit_await(k, "p.child_gone(c)");
    if (kit_workers(k) > 1) {
        kit_never(k, "p.decider");
        kit_gate_open(f.g->decider.gate);
    }
    kit_tell(k, f.p, KIT_NOTE, 1);
    kit_await(k, "p.note(1)");
    kit_settle(k);
    kit_expect(k, "c.ctor=1", "c.terminated=1", "p.ctor=1");
    if (kit_workers(k) > 1)
        kit_never(k, "p.decider");
    else
        assert_in_range(kit_count(k, "p.decider"), 0, 1);
}

static void uid_path(kit *k, kit_script *script, char *path, size_t size)
{
    assert_int_equal(axo_system_path(kit_system(k), kit_ref(script), path, size), AXO_OK);
}

/* Waits until /user has ended the turn in which a child went, so that the name is free. */
static void uid_user_turn(kit *k, uint32_t n)
{
    char pattern[48];
    (void)snprintf(pattern, sizeof pattern, "user.unhandled(%u)", KIT_OTHER + n);
    assert_int_equal(axo_system_send(kit_system(k),
                                     axo_system_guardian(kit_system(k), AXO_GUARDIAN_USER),
                                     KIT_OTHER + n, NULL, 0),
                     AXO_OK);
    kit_await(k, pattern);
}

static kit_script *uid_again(kit *k, kit_script *old, const char *label)
{
    kit_script *new = kit_actor(k, label);
    new->name = old->name;
    axo_system_stop_actor(kit_system(k), kit_ref(old));
    kit_await(k, "user.child_gone(old)");
    uid_user_turn(k, 0);
    kit_spawn(k, new);
    return new;
}

static void UID_03(kit *k)
{
    kit_script *old = part_start(k, "old");
    kit_script *new;
    char old_path[64];
    char new_path[64];
    uid_path(k, old, old_path, sizeof old_path);
    new = uid_again(k, old, "new");
    uid_path(k, new, new_path, sizeof new_path);
    assert_string_equal(old_path, new_path);
    assert_string_equal(old_path, "/user/old");
    assert_false(axo_ref_equal(kit_ref(old), kit_ref(new)));
    assert_true(axo_ref_equal(kit_ref(new), kit_ref(new)));
    assert_int_equal(axo_system_path(kit_system(k), kit_ref(old), old_path, sizeof old_path),
                     AXO_EGONE);
    kit_finish(k);
}

static void UID_04(kit *k)
{
    enum { LIVES = 100 };
    kit_script *old = part_start(k, "old");
    kit_script *new = uid_again(k, old, "new");
    axo_ref refs[LIVES];
    kit_payload payload = {.value = 1};
    assert_int_equal(kit_tell(k, old, KIT_NOTE, 1), AXO_EGONE);
    assert_int_equal(axo_system_stop_actor(kit_system(k), kit_ref(old)), AXO_EGONE);
    kit_tell(k, new, KIT_NOTE, 2);
    kit_await(k, "new.note(2)");
    kit_await_count(k, "old.dl(NOTE)", 1);
    kit_expect(k, "old.dl(NOTE)=1", "new.note(1)=0");
    /* Slots are used again and again; no old reference reaches whoever lives in one now. */
    for (int i = 0; i < LIVES; i++) {
        kit_script *life = kit_actor(k, "life");
        life->name = "life";
        refs[i] = kit_spawn(k, life);
        if (i + 1 < LIVES) {
            axo_system_stop_actor(kit_system(k), refs[i]);
            kit_await_count(k, "user.child_gone(life)", (uint32_t)i + 1);
            uid_user_turn(k, (uint32_t)i + 1);
        }
    }
    for (int i = 0; i + 1 < LIVES; i++) {
        assert_false(axo_ref_equal(refs[i], refs[LIVES - 1]));
        assert_int_equal(
            axo_system_send(kit_system(k), refs[i], KIT_NOTE, &payload, sizeof payload), AXO_EGONE);
    }
    kit_settle(k);
    kit_never(k, "life.note");
    kit_expect_count(k, "life.dl(NOTE)", LIVES - 1);
    kit_finish(k);
}

/* While the notice handler of the old one runs, the new one is the child of that name. */
static axo_status uid_receive(axo_ctx *ctx, void *puppet, const axo_message *message)
{
    kit_puppet *self = puppet;
    if (message->tag == AXO_TERMINATED) {
        kit_mark(self, "child", (int64_t)axo_child(ctx, "c").bits);
        kit_mark(self, "children", axo_child_count(ctx));
    }
    return kit_receive(ctx, puppet, message);
}

static void UID_06(kit *k)
{
    kit_script *p = kit_actor(k, "p");
    kit_script *old = kit_actor(k, "old");
    kit_script *new = kit_actor(k, "new");
    old->name = "c";
    new->name = "c";
    p->pre_start.spawn[0] = old;
    kit_spawn(k, p);
    kit_await(k, "old.preStart");
    part_tell_become(k, p, uid_receive);
    part_watched_by(k, old, p);
    /* The notice comes behind this, which spawns the new c as soon as the name is free. */
    part_tell_until(k, p, "p.child_gone(old)", part_spawn, new);
    axo_system_stop_actor(kit_system(k), kit_ref(old));
    kit_await(k, "p.term(old)");
    kit_tell(k, new, KIT_NOTE, 1);
    kit_await(k, "new.note(1)");
    kit_settle(k);
    kit_order(k, "p.child_gone(old)", "p.spawnStatus(OK)", "p.child(new)", "p.children(1)",
              "p.term(old)");
    kit_expect(k, "p.child_gone(new)=0", "new.postStop=0");
}

static axo_status uid_self(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    char path[64];
    kit_mark(self, "self", (int64_t)axo_self(ctx).bits);
    KIT_REQUIRE(self->k, axo_path(ctx, axo_self(ctx), path, sizeof path) == AXO_OK);
    KIT_REQUIRE(self->k, strcmp(path, "/user/old") == 0);
    return AXO_OK;
}

static void UID_08(kit *k)
{
    kit_script *old = part_start(k, "old");
    axo_ref before = kit_ref(old);
    kit_script *new;
    for (int i = 0; i < 3; i++) {
        kit_run(k, old, uid_self, NULL);
        kit_tell(k, old, KIT_FAIL, 7);
    }
    kit_run(k, old, uid_self, NULL);
    kit_await(k, "old#4.self");
    assert_true(axo_ref_equal(kit_ref(old), before));
    for (uint32_t i = 1; i <= 4; i++) {
        char pattern[32];
        (void)snprintf(pattern, sizeof pattern, "old#%u.self(old)", i);
        kit_expect_count(k, pattern, 1);
    }
    new = uid_again(k, old, "new");
    assert_false(axo_ref_equal(before, kit_ref(new)));
    kit_tell(k, new, KIT_NOTE, 1);
    kit_await(k, "new.note(1)");
}

/* Looks its child "c" up, marks who that is, and tells it something. */
static axo_status uid_look_up(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    axo_ref found = axo_child(ctx, "c");
    char path[64];
    kit_mark(self, "finds", (int64_t)found.bits);
    if (axo_ref_is_none(found))
        return AXO_OK;
    KIT_REQUIRE(self->k, axo_path(ctx, found, path, sizeof path) == AXO_OK);
    KIT_REQUIRE(self->k, strcmp(path, "/user/p/c") == 0);
    (void)kit_tell_in(ctx, found, KIT_NOTE, 1);
    return AXO_OK;
}

/* The name leads to who lives there now; the reference stays the old one's. */
static void UID_05(kit *k)
{
    kit_script *p = kit_top(k, "p");
    kit_script *old = kit_actor(k, "old");
    kit_script *new = kit_actor(k, "new");
    old->name = "c";
    new->name = "c";
    kit_spawn_child(k, p, old, 0);
    kit_run(k, p, uid_look_up, NULL);
    kit_await(k, "old.note(1)");
    kit_tell(k, old, KIT_FAIL, 7);
    kit_run(k, p, uid_look_up, NULL);
    kit_await(k, "old.note(1)@2");
    axo_system_stop_actor(kit_system(k), kit_ref(old));
    kit_await(k, "p.child_gone(old)");
    kit_run(k, p, uid_look_up, NULL);
    kit_await(k, "p.finds(0)");
    kit_spawn_child(k, p, new, 0);
    kit_run(k, p, uid_look_up, NULL);
    kit_await(k, "new.note(1)");
    assert_int_equal(kit_tell(k, old, KIT_NOTE, 2), AXO_EGONE);
    kit_settle(k);
    kit_order(k, "p.finds(old)@1", "p.finds(old)@2", "p.finds(0)", "p.finds(new)");
    kit_expect(k, "p.finds=4", "new.note=1", "old.dl(NOTE)=1");
}

/* Each instance makes "c" and watches it; each restart unwatches and stops it. Slots are used
 * again and again: none of the old ends is taken for the new child's. */
static void UID_07(kit *k)
{
    enum { ROUNDS = 30 };
    kit_family f = kit_tree(k, "g, -p, -c");
    f.g->directive = AXO_RESTART;
    f.p->pre_start.spawn[0] = f.c;
    f.p->pre_start.run = part_watch;
    f.p->pre_start.arg = f.c;
    kit_spawn_child(k, f.g, f.p, 0);
    kit_await(k, "p.preStart");
    for (uint32_t i = 0; i < ROUNDS; i++) {
        kit_tell(k, f.p, KIT_FAIL, 7);
        kit_await_count(k, "p.watches", i + 2);
    }
    kit_settle(k);
    kit_expect_count(k, "c.terminated", ROUNDS);
    kit_never(k, "p.term");
    kit_tell(k, f.c, KIT_STOP_SELF, 0);
    kit_await(k, "p.term");
    kit_settle(k);
    kit_expect_count(k, "p.term", 1);
    assert_int_equal(kit_find(k, "p.term").arg, kit_ref(f.c).bits);
}

static const struct CMUnitTest tests[] = {
    KIT_TEST("UID-01", UID_01),
    KIT_TEST_ONE("UID-01 in flight", UID_01_in_flight, 2, "workers"),
    KIT_TEST_ONE("UID-01 in flight", UID_01_in_flight, 4, "workers"),
    KIT_TEST("UID-02", UID_02),
    KIT_TEST("UID-03", UID_03),
    KIT_TEST("UID-04", UID_04),
    KIT_TEST("UID-05", UID_05),
    KIT_TEST("UID-06", UID_06),
    KIT_TEST("UID-07", UID_07),
    KIT_TEST("UID-08", UID_08),
};

TEST_MAIN(tests)
