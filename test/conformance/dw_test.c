/* dw_test.c - death watch (DW). */
#include <stdio.h>

#include "conformance/parts.h"

static void dw_stop(kit *k, kit_script *target)
{
    (void)axo_system_stop_actor(kit_system(k), kit_ref(target));
}

static void DW_01(kit *k)
{
    kit_family f = kit_tree(k, "t, v, w");
    (void)part_start(k, "other");
    part_watched_by(k, f.t, f.v);
    part_watched_by(k, f.t, f.w);
    kit_never(k, "*.term");
    dw_stop(k, f.t);
    kit_await_all(k, "v.term(t)", "w.term(t)");
    kit_settle(k);
    kit_order(k, "t.postStop", "v.term(t)");
    kit_order(k, "t.postStop", "w.term(t)");
    kit_expect(k, "*.term=2", "other.term=0");
    assert_int_equal(kit_stats(k).notices, 2);
}

static void DW_02(kit *k)
{
    kit_family f = kit_tree(k, "t, w");
    dw_stop(k, f.t);
    kit_await(k, "user.child_gone(t)");
    kit_tell_ref(k, f.w, KIT_WATCH, kit_ref(f.t));
    kit_await(k, "w.term(t)");
    kit_settle(k);
    kit_expect(k, "w.term=1", "w.known(1)=1");
}

/* Watches that race with stops: each is answered once. */
static void DW_02_race(kit *k)
{
    enum { TARGETS = 40, WATCHERS = 3 };
    kit_script *targets[TARGETS];
    kit_script *watchers[WATCHERS];
    for (int i = 0; i < WATCHERS; i++) {
        watchers[i] = kit_actor(k, "w");
        watchers[i]->name = "";
        kit_spawn(k, watchers[i]);
    }
    for (int i = 0; i < TARGETS; i++) {
        targets[i] = kit_actor(k, "t");
        targets[i]->name = "";
        kit_spawn(k, targets[i]);
    }
    for (int i = 0; i < TARGETS; i++) {
        for (int j = 0; j < WATCHERS; j++) {
            if (i % (WATCHERS + 1) == j)
                dw_stop(k, targets[i]);
            kit_tell_ref(k, watchers[j], KIT_WATCH, kit_ref(targets[i]));
        }
        if (i % (WATCHERS + 1) == WATCHERS)
            dw_stop(k, targets[i]);
    }
    kit_await_count(k, "w.term(t)", TARGETS * WATCHERS);
    kit_settle(k);
    for (int i = 0; i < TARGETS; i++) {
        uint32_t notices = 0;
        axo_ref target = kit_ref(targets[i]);
        for (uint32_t n = 1; n <= TARGETS * WATCHERS; n++) {
            char pattern[32];
            (void)snprintf(pattern, sizeof pattern, "w.term@%u", n);
            notices += kit_find(k, pattern).arg == target.bits;
        }
        assert_int_equal(notices, WATCHERS);
    }
    kit_expect_count(k, "w.term", TARGETS * WATCHERS);
    kit_finish(k);
}

static void DW_03(kit *k)
{
    kit_family f = kit_tree(k, "t, v, w");
    part_watched_by(k, f.t, f.v);
    part_watched_by(k, f.t, f.w);
    kit_tell_ref(k, f.v, KIT_UNWATCH, kit_ref(f.t));
    kit_settle(k);
    dw_stop(k, f.t);
    kit_await_all(k, "w.term(t)", "user.child_gone(t)");
    kit_settle(k);
    kit_expect(k, "v.term=0", "w.term=1");
}

static void DW_04(kit *k)
{
    kit_family f = kit_tree(k, "w, p:restart[t]");
    part_watched_by(k, f.t, f.w);
    axo_system_kill(kit_system(k), kit_ref(f.t));
    axo_system_kill(kit_system(k), kit_ref(f.t));
    kit_tell(k, f.t, KIT_NOTE, 1);
    kit_await(k, "t#3.note(1)");
    kit_settle(k);
    kit_never(k, "w.term");
    dw_stop(k, f.t);
    kit_await(k, "w.term(t)");
    kit_settle(k);
    kit_expect_count(k, "w.term", 1);
}

static void DW_05(kit *k)
{
    kit_family f = kit_tree(k, "t, w");
    part_watched_by(k, f.t, f.w);
    part_tell_until(k, f.w, "w.notice(t)", part_unwatch, f.t);
    dw_stop(k, f.t);
    kit_await(k, "w.unwatches");
    kit_settle(k);
    kit_order(k, "w.notice(t)", "w.unwatches");
    kit_never(k, "w.term");
}

static void DW_06(kit *k)
{
    kit_family f = kit_tree(k, "t, u, w[c]");
    part_watched_by(k, f.t, f.w);
    dw_stop(k, f.u);
    dw_stop(k, f.c);
    kit_await_all(k, "w.child_gone(c)", "user.child_gone(u)");
    dw_stop(k, f.t);
    kit_await(k, "w.term(t)");
    kit_settle(k);
    kit_expect_count(k, "w.term", 1);
}

static void DW_07(kit *k)
{
    kit_family f = kit_tree(k, "t, v, w");
    for (int i = 0; i < 3; i++) {
        part_watched_by(k, f.t, f.v);
        part_watched_by(k, f.t, f.w);
    }
    kit_tell_ref(k, f.v, KIT_UNWATCH, kit_ref(f.t));
    kit_settle(k);
    dw_stop(k, f.t);
    kit_await(k, "w.term(t)");
    kit_settle(k);
    kit_expect(k, "w.term=1", "v.term=0");
}

/* Watches again in the first two handlers of the notice. */
static axo_status dw_again_receive(axo_ctx *ctx, void *puppet, const axo_message *message)
{
    kit_puppet *self = puppet;
    if (message->tag == AXO_TERMINATED && self->value < 2) {
        self->value++;
        KIT_REQUIRE(self->k, axo_watch(ctx, AXO_PAYLOAD(message, axo_terminated)->actor) == AXO_OK);
    }
    return kit_receive(ctx, puppet, message);
}

static void DW_08(kit *k)
{
    kit_family f = kit_tree(k, "t, v, w");
    uint32_t notices;
    part_watched_by(k, f.t, f.v);
    part_watched_by(k, f.t, f.w);
    part_tell_become(k, f.w, dw_again_receive);
    /* v watches again while its notice is queued: at least one, at most one a registration. */
    part_tell_until(k, f.v, "v.notice(t)", part_watch, f.t);
    dw_stop(k, f.t);
    kit_await_all(k, "v.watches", "v.term", "w.term@3");
    kit_settle(k);
    notices = kit_count(k, "v.term");
    assert_in_range(notices, 1, 2);
    kit_expect_count(k, "w.term(t)", 3);
}

static void DW_09(kit *k)
{
    kit_script *a = part_start(k, "a");
    part_watched_by(k, a, a);
    kit_tell(k, a, KIT_NOTE, 1);
    kit_await(k, "a.note(1)");
    dw_stop(k, a);
    kit_await(k, "user.child_gone(a)");
    kit_expect(k, "a.term=0", "a.notice=0", "a.dl=0");
}

static void DW_10(kit *k)
{
    kit_script *w = part_start(k, "w");
    axo_ref never = {.bits = kit_ref(w).bits ^ (UINT64_C(1) << 54)};
    kit_tell_ref(k, w, KIT_WATCH, never);
    kit_await(k, "w.term");
    kit_settle(k);
    assert_true(kit_find(k, "w.term").arg == never.bits);
    kit_expect_count(k, "w.known(0)", 1);
}

static axo_status dw_note_thrice(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    for (int i = 1; i <= 3; i++)
        KIT_REQUIRE(self->k, kit_tell_in(ctx, kit_ref(arg), KIT_NOTE, i) == AXO_OK);
    return axo_stop_self(ctx);
}

static axo_status dw_last_note(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    KIT_REQUIRE(self->k, kit_tell_in(ctx, kit_ref(arg), KIT_NOTE, 4) == AXO_OK);
    return AXO_OK;
}

static void DW_11(kit *k)
{
    kit_family f = kit_plan(k, "w, t");
    kit_gate *gate = kit_gate_new(k);
    f.t->post_stop.run = dw_last_note;
    f.t->post_stop.arg = f.w;
    kit_grow(&f);
    part_watched_by(k, f.t, f.w);
    kit_run(k, f.w, part_hold, gate);
    kit_tell(k, f.w, KIT_NOTE, 0);
    kit_gate_arrived(gate, 1);
    kit_run(k, f.t, dw_note_thrice, f.w);
    if (kit_workers(k) > 1)
        kit_await(k, "t.terminated");
    kit_gate_open(gate);
    kit_await(k, "w.term(t)");
    kit_order(k, "w.note(0)", "w.note(1)", "w.note(2)", "w.note(3)", "w.note(4)", "w.term(t)");
    kit_order(k, "t.postStop", "w.note(4)");
}

/* The notice of t is queued while w is suspended; x sends u2 after it. */
static axo_status dw_send_u2(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    KIT_REQUIRE(self->k, kit_tell_in(ctx, kit_ref(arg), KIT_NOTE, 2) == AXO_OK);
    return AXO_OK;
}

static void DW_12(kit *k)
{
    kit_family f = kit_tree(k, "t, x, -p, -w");
    kit_script *last = part_start(k, "last");
    kit_gate *gate = kit_gate_new(k);
    f.p->pre_start.spawn[0] = f.w;
    f.p->directive = AXO_RESTART;
    if (kit_workers(k) > 1)
        f.p->decider.gate = kit_gate_new(k);
    kit_spawn(k, f.p);
    kit_await(k, "w.preStart");
    part_watched_by(k, f.t, f.w);
    part_watched_by(k, last, f.w);
    kit_run(k, f.w, part_hold, gate);
    kit_tell(k, f.w, KIT_FAIL, 7);
    kit_tell(k, f.w, KIT_NOTE, 1);
    kit_gate_arrived(gate, 1);
    if (kit_workers(k) > 1) {
        kit_gate_open(gate);
        kit_gate_arrived(f.p->decider.gate, 1);
        dw_stop(k, f.t);
        kit_await(k, "w.notice(t)");
        /* When the next notice is on its way, this one lies in the queue. */
        dw_stop(k, last);
        kit_await(k, "w.notice(last)");
        kit_never(k, "w.term");
        kit_tell(k, f.w, KIT_NOTE, 2);
        kit_gate_open(f.p->decider.gate);
    } else {
        dw_stop(k, f.t);
        part_tell_until(k, f.x, "w.notice(t)", dw_send_u2, f.w);
        kit_gate_open(gate);
    }
    kit_await_all(k, "w#2.note(2)", "w#2.term(t)");
    kit_settle(k);
    if (kit_workers(k) > 1)
        kit_order(k, "w.notice(t)", "p.decided(RESTART)", "w#2.ctor", "w#2.note(1)");
    kit_order(k, "w#1.fails(7)", "w#2.ctor", "w#2.note(1)", "w#2.term(t)", "w#2.note(2)");
    kit_expect_count(k, "w.term(t)", 1);
}

static axo_status dw_parent_receive(axo_ctx *ctx, void *puppet, const axo_message *message)
{
    kit_puppet *self = puppet;
    if (message->tag == AXO_TERMINATED) {
        kit_mark(self, "children", axo_child_count(ctx));
        KIT_REQUIRE(self->k, axo_ref_is_none(axo_child(ctx, "c")));
        KIT_REQUIRE(self->k, !axo_ref_is_none(axo_child(ctx, "d")));
    }
    return kit_receive(ctx, puppet, message);
}

static void DW_13(kit *k)
{
    kit_family f = kit_plan(k, "p[c]");
    f.p->pre_start.spawn[1] = kit_actor(k, "d");
    kit_grow(&f);
    kit_await(k, "d.preStart");
    part_tell_become(k, f.p, dw_parent_receive);
    part_watched_by(k, f.c, f.p);
    dw_stop(k, f.c);
    kit_await(k, "p.term(c)");
    kit_settle(k);
    kit_order(k, "c.postStop", "p.child_gone(c)", "p.children(1)", "p.term(c)");
    kit_expect(k, "p.term=1", "p.child_gone=1");
}

static void DW_14(kit *k)
{
    kit_family f = kit_plan(k, "t, w[c]");
    f.c->post_stop.gate = kit_gate_new(k);
    kit_grow(&f);
    part_watched_by(k, f.t, f.w);
    dw_stop(k, f.w);
    kit_gate_arrived(f.c->post_stop.gate, 1);
    dw_stop(k, f.t);
    if (kit_workers(k) > 1)
        kit_await(k, "user.child_gone(t)");
    kit_gate_open(f.c->post_stop.gate);
    kit_await_all(k, "user.child_gone(w)", "user.child_gone(t)");
    assert_int_equal(kit_stats(k).dead, 0);
    kit_settle(k);
    kit_expect(k, "w.term=0", "w.dl(TERMINATED)=0");
}

typedef struct dw_word {
    kit_script *target;
    int64_t value;
} dw_word;

static axo_status dw_watch_with(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    const dw_word *word = arg;
    kit_payload order = {.value = word->value};
    axo_ref target = kit_ref(word->target);
    kit_mark(self, "with", axo_watch_with(ctx, target, KIT_NOTE, &order, sizeof order));
    KIT_REQUIRE(self->k, axo_watch_with(ctx, target, AXO_TERMINATED, NULL, 0) == AXO_EINVAL);
    KIT_REQUIRE(self->k, axo_watch_with(ctx, target, KIT_NOTE, NULL, 8) == AXO_EINVAL);
    return AXO_OK;
}

static axo_status dw_mark_watch(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    kit_mark(self, "plain", axo_watch(ctx, kit_ref(arg)));
    return AXO_OK;
}

/* One's own message comes in the place of the notice; another one for the same target is refused
 * until it is unwatched. */
static void DW_15(kit *k)
{
    kit_family f = kit_tree(k, "t, v, w, x");
    dw_word *words = kit_alloc(k, 2 * sizeof *words);
    words[0] = (dw_word){.target = f.t, .value = 5};
    words[1] = (dw_word){.target = f.t, .value = 6};
    kit_run(k, f.w, dw_watch_with, &words[0]);
    kit_run(k, f.w, dw_watch_with, &words[0]);
    kit_run(k, f.w, dw_watch_with, &words[1]);
    kit_run(k, f.w, dw_mark_watch, f.t);
    kit_run(k, f.v, dw_mark_watch, f.t);
    kit_run(k, f.v, dw_watch_with, &words[0]);
    kit_run(k, f.x, dw_watch_with, &words[0]);
    kit_tell_ref(k, f.x, KIT_UNWATCH, kit_ref(f.t));
    kit_run(k, f.x, dw_watch_with, &words[1]);
    kit_settle(k);
    dw_stop(k, f.t);
    kit_await_all(k, "w.note(5)", "v.term(t)", "x.note(6)");
    kit_settle(k);
    kit_order(k, "w.with(0)@1", "w.with(0)@2", "w.with(-1)", "w.plain(-1)", "t.postStop",
              "w.note(5)");
    kit_order(k, "v.plain(0)", "v.with(-1)", "v.term(t)");
    kit_expect(k, "*.note=2", "*.term=1");
    /* Of one that is gone already it is told at once. */
    kit_run(k, f.v, dw_watch_with, &words[1]);
    kit_await(k, "v.note(6)");
}

static axo_status dw_forward(axo_ctx *ctx, void *puppet, const axo_message *message)
{
    kit_puppet *self = puppet;
    kit *k = self->k;
    axo_ref to = kit_ref(self->script->user);
    axo_draft *draft;
    void *payload;
    if (message->tag != AXO_TERMINATED)
        return kit_receive(ctx, puppet, message);
    KIT_REQUIRE(k, axo_send(ctx, to, message->tag, message->payload, message->size) == AXO_EINVAL);
    KIT_REQUIRE(k, axo_send_from(ctx, message->sender, to, message->tag, message->payload,
                                 message->size) == AXO_EINVAL);
    KIT_REQUIRE(k, axo_message_new(ctx, message->tag, 8, &draft, &payload) == AXO_EINVAL);
    KIT_REQUIRE(k, axo_send(ctx, to, KIT_OTHER, message->payload, message->size) == AXO_OK);
    kit_mark(self, "forwards", 0);
    return AXO_OK;
}

/* A notice cannot be forwarded as it is; what it says can be told under a tag of one's own. */
static void DW_17(kit *k)
{
    kit_family f = kit_tree(k, "t, w, x");
    f.w->user = f.x;
    f.x->term_unhandled = true;
    part_tell_become(k, f.w, dw_forward);
    part_watched_by(k, f.t, f.w);
    dw_stop(k, f.t);
    kit_await_all(k, "w.forwards", "x.unhandled(OTHER)");
    kit_tell(k, f.x, KIT_NOTE, 1);
    kit_await(k, "x#1.note(1)");
    kit_expect(k, "x.term=0", "x.fail=0");
}

static axo_status dw_stop_and_watch(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    KIT_REQUIRE(self->k, axo_stop(ctx, kit_ref(arg)) == AXO_OK);
    KIT_REQUIRE(self->k, axo_watch(ctx, kit_ref(arg)) == AXO_OK);
    return AXO_OK;
}

/* The watch lies in the target's system lane behind its stop, or meets it in post_stop. */
static void DW_18(kit *k)
{
    kit_family f = kit_tree(k, "w, t, -u");
    kit_settle(k);
    kit_run(k, f.w, dw_stop_and_watch, f.t);
    kit_await(k, "w.term(t)");
    if (kit_workers(k) > 1) {
        f.u->post_stop.gate = kit_gate_new(k);
        kit_spawn(k, f.u);
        dw_stop(k, f.u);
        kit_gate_arrived(f.u->post_stop.gate, 1);
        kit_run(k, f.w, part_watch, f.u);
        kit_await(k, "w.watches");
        kit_never(k, "w.term(u)");
        kit_gate_open(f.u->post_stop.gate);
        kit_await(k, "w.term(u)");
        kit_expect_count(k, "w.term(u)", 1);
    }
    kit_settle(k);
    kit_expect(k, "w.term(t)=1", "w.known(0)=0");
}

typedef struct dw_late_watch {
    kit_gate *gate;
    kit_script *target;
} dw_late_watch;

static axo_status dw_hold_and_watch(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    const dw_late_watch *late = arg;
    kit_gate_pass(late->gate);
    return part_watch(ctx, self, late->target);
}

/* w watches the new one while the notice of the old one lies in its mailbox; with one worker,
 * after it. */
static void DW_19(kit *k)
{
    kit_family f = kit_tree(k, "p, v, w");
    kit_script *old = kit_actor(k, "old");
    kit_script *new = kit_actor(k, "new");
    dw_late_watch *late = kit_alloc(k, sizeof *late);
    *late = (dw_late_watch){.gate = kit_gate_new(k), .target = new};
    old->name = "t";
    new->name = "t";
    kit_spawn_child(k, f.p, old, 0);
    kit_await(k, "old.preStart");
    part_watched_by(k, old, f.v);
    part_watched_by(k, old, f.w);
    if (kit_workers(k) > 1) {
        kit_run(k, f.w, dw_hold_and_watch, late);
        kit_gate_arrived(late->gate, 1);
    }
    dw_stop(k, old);
    kit_await(k, "p.child_gone(old)");
    kit_spawn_child(k, f.p, new, 0);
    kit_await(k, "new.preStart");
    if (kit_workers(k) > 1)
        kit_never(k, "w.term");
    else
        kit_run(k, f.w, dw_hold_and_watch, late);
    kit_gate_open(late->gate);
    kit_await(k, "w.term(old)");
    kit_settle(k);
    kit_never(k, "*.term(new)");
    dw_stop(k, new);
    kit_await(k, "w.term(new)");
    kit_settle(k);
    kit_order(k, "w.watches", "new.postStop", "w.term(new)");
    if (kit_workers(k) > 1)
        kit_order(k, "w.watches", "w.term(old)");
    kit_expect(k, "w.term=2", "v.term=1", "v.term(old)=1");
}

/* Stops c and d and goes on watching them. */
static axo_status dw_stop_both(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    kit_script **both = arg;
    KIT_REQUIRE(self->k, axo_stop(ctx, kit_ref(both[0])) == AXO_OK);
    KIT_REQUIRE(self->k, axo_stop(ctx, kit_ref(both[1])) == AXO_OK);
    return AXO_OK;
}

/* A parent that restarts, waits for two children and watches them: each is removed, then the
 * restart goes on, when the last is; then the notices. The names are free for the new instance. */
static void DW_20(kit *k)
{
    kit_family f = kit_tree(k, "g(p)");
    kit_script *both[2] = {kit_child(k, f.p, "c"), kit_child(k, f.p, "d")};
    kit_script *next = kit_actor(k, "next");
    f.g->directive = AXO_RESTART;
    next->name = "c";
    f.p->keep_children = true;
    f.p->pre_restart.run = dw_stop_both;
    f.p->pre_restart.arg = both;
    f.p->construct.run = part_spawn_in_second;
    f.p->construct.arg = next;
    if (kit_workers(k) > 1)
        both[1]->post_stop.gate = kit_gate_new(k);
    part_watched_by(k, both[0], f.p);
    part_watched_by(k, both[1], f.p);
    kit_tell(k, f.p, KIT_FAIL, 7);
    if (kit_workers(k) > 1) {
        kit_await(k, "p.child_gone(c)");
        kit_gate_arrived(both[1]->post_stop.gate, 1);
        kit_never(k, "p#2.ctor");
        kit_gate_open(both[1]->post_stop.gate);
    }
    kit_await_all(k, "p.term(c)", "p.term(d)", "next.preStart");
    kit_settle(k);
    kit_order(k, "p#1.preRestart(7)", "p.child_gone(c)", "p#2.ctor", "p#2.postRestart(7)",
              "p#2.term(c)");
    kit_order(k, "p#1.preRestart(7)", "p.child_gone(d)", "p#2.ctor", "p#2.postRestart(7)",
              "p#2.term(d)");
    kit_expect(k, "p.term=2", "p#1.term=0", "next.postStop=0");
    kit_finish(k);
}

static axo_status dw_make(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    KIT_REQUIRE(self->k, kit_spawn_in(ctx, arg) == AXO_OK);
    return part_watch(ctx, self, arg);
}

/* On the notice of its child it makes another one with the same recipe and name. */
static axo_status dw_make_again(axo_ctx *ctx, void *puppet, const axo_message *message)
{
    kit_puppet *self = puppet;
    axo_status status = kit_receive(ctx, puppet, message);
    return message->tag == AXO_TERMINATED ? dw_make(ctx, self, self->script->user) : status;
}

/* A child whose creation fails is stopped by default: its parent tries again on its notice. */
static void DW_22(kit *k)
{
    kit_family f = kit_tree(k, "p, -c");
    f.c->construct.fail_first = 1;
    f.c->pre_start.fail_first = 1;
    f.c->pre_start.fail_last = 2;
    f.p->user = f.c;
    part_tell_become(k, f.p, dw_make_again);
    kit_run(k, f.p, dw_make, f.c);
    kit_await_count(k, "p.watches", 4);
    kit_tell(k, f.c, KIT_NOTE, 1);
    kit_await(k, "c.note(1)");
    kit_settle(k);
    kit_expect(k, "p.term(c)=3", "p.known(1)=3", "p.decided(STOP)=3", "c.ctor=4", "c.postStop=0",
               "p.ctor=1");
}

static const struct CMUnitTest tests[] = {
    KIT_TEST("DW-01", DW_01), KIT_TEST("DW-02", DW_02), KIT_TEST("DW-02 race", DW_02_race),
    KIT_TEST("DW-03", DW_03), KIT_TEST("DW-04", DW_04), KIT_TEST("DW-05", DW_05),
    KIT_TEST("DW-06", DW_06), KIT_TEST("DW-07", DW_07), KIT_TEST("DW-08", DW_08),
    KIT_TEST("DW-09", DW_09), KIT_TEST("DW-10", DW_10), KIT_TEST("DW-11", DW_11),
    KIT_TEST("DW-12", DW_12), KIT_TEST("DW-13", DW_13), KIT_TEST("DW-14", DW_14),
    KIT_TEST("DW-15", DW_15), KIT_TEST("DW-17", DW_17), KIT_TEST("DW-18", DW_18),
    KIT_TEST("DW-19", DW_19), KIT_TEST("DW-20", DW_20), KIT_TEST("DW-22", DW_22),
};

TEST_MAIN(tests)
