/* ph_life_test.c - the life that the family of Phluxor and Proto.Actor tells an actor and its
 * parent in messages, in axo's form: hooks for the actor, notices for the parent that asks (PH). */
#include "conformance/family.h"
#include "conformance/parts.h"

/* Its Started, Restarting, Stopping and Stopped: pre_start, pre_restart on the old instance,
 * post_restart and pre_start on the new one, post_stop. */
static void PH_01(kit *k)
{
    kit_family f = kit_tree(k, "p:restart(a,b)");
    kit_tell(k, f.a, KIT_NOTE, 1);
    kit_tell(k, f.a, KIT_STOP_SELF, 0);
    kit_await(k, "a.terminated");
    kit_order(k, "a#1.ctor", "a#1.preStart", "a#1.note(1)", "a#1.postStop", "a.terminated");
    kit_tell(k, f.b, KIT_FAIL, 7);
    kit_tell(k, f.b, KIT_NOTE, 2);
    kit_await(k, "b#2.note(2)");
    kit_order(k, "b#1.preStart", "b#1.fails(7)", "b#1.preRestart(7)", "b#1.postStop", "b#2.ctor",
              "b#2.postRestart(7)", "b#2.preStart", "b#2.note(2)");
    kit_settle(k);
    kit_expect(k, "a.preStart=1", "a.postStop=1", "a.preRestart=0", "b.preStart=2", "b.postStop=1",
               "b.preRestart=1", "b.postRestart=1");
}

/* A parent takes note of each end by itself, before anybody else is told, and in a message if it
 * watches: one then, not two. */
static void PH_02(kit *k)
{
    kit_family f = kit_tree(k, "p(c,d), w");
    part_watched_by(k, f.c, f.w);
    part_watched_by(k, f.d, f.p);
    kit_tell(k, f.c, KIT_STOP_SELF, 0);
    kit_await(k, "w.term(c)");
    kit_tell(k, f.d, KIT_STOP_SELF, 0);
    kit_await(k, "p.term(d)");
    kit_settle(k);
    kit_order(k, "d.postStop", "p.child_gone(d)", "p.term(d)");
    kit_expect(k, "p.child_gone(c)=1", "p.child_gone(d)=1", "p.term=1", "w.term=1");
}

static axo_status life_note_last(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    KIT_REQUIRE(self->k, kit_tell_in(ctx, kit_ref(arg), KIT_NOTE, 2) == AXO_OK);
    return AXO_OK;
}

/* A notice is queued behind what was sent before, and waits while its receiver is suspended: it
 * overtakes nothing, so it says that nothing more will come. */
static void PH_03(kit *k)
{
    kit_family f = kit_plan(k, "p:restart(w), t");
    kit_gate *gate = kit_gate_new(k);
    f.t->post_stop.run = life_note_last;
    f.t->post_stop.arg = f.w;
    f.w->pre_restart.gate = gate;
    kit_grow(&f);
    part_watched_by(k, f.t, f.w);
    kit_tell(k, f.w, KIT_FAIL, 7);
    kit_tell(k, f.w, KIT_NOTE, 1);
    if (kit_workers(k) > 1) {
        kit_gate_arrived(gate, 1);
        kit_tell(k, f.t, KIT_STOP_SELF, 0);
        kit_await(k, "t.terminated");
        kit_never(k, "w.term");
    } else {
        kit_tell(k, f.t, KIT_STOP_SELF, 0);
    }
    kit_gate_open(gate);
    kit_await(k, "w#2.term(t)");
    kit_order(k, "w#1.preRestart(7)", "w#2.preStart", "w#2.note(1)", "w#2.note(2)", "w#2.term(t)");
}

static const struct CMUnitTest tests[] = {
    KIT_TEST("PH-01", PH_01), KIT_TEST("PH-02", PH_02), KIT_TEST("PH-03", PH_03),
};

TEST_MAIN(tests)
