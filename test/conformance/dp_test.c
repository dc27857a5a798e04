/* dp_test.c - the death pact (DP). */
#include "conformance/parts.h"

static void DP_01(kit *k)
{
    kit_family f = kit_plan(k, "t, p:restart[w]");
    f.p->decide = part_decide;
    f.w->term_unhandled = true;
    kit_grow(&f);
    part_watched_by(k, f.t, f.w);
    axo_system_stop_actor(kit_system(k), kit_ref(f.t));
    kit_await(k, "w#2.preStart");
    kit_order(k, "t.postStop", "w#1.term(t)", "p.decider(w)", "p.kind(DEATH_PACT)",
              "p.site(RECEIVE)", "p.origin(w)", "p.about(t)", "w#1.preRestart", "w#2.ctor");
    kit_settle(k);
    kit_expect(k, "w.term=1", "p.decider=1");
}

/* Under the default decider a pact stops the watcher. */
static void DP_02(kit *k)
{
    kit_script *p = kit_actor(k, "p");
    kit_script *failed = kit_actor(k, "failed");
    kit_script *brother = kit_actor(k, "brother");
    p->pre_start.spawn[0] = failed;
    p->pre_start.spawn[1] = brother;
    p->decide = part_decide;
    brother->term_unhandled = true;
    kit_spawn(k, p);
    kit_await(k, "brother.preStart");
    part_watched_by(k, failed, brother);
    part_watched_by(k, brother, p);
    axo_system_kill(kit_system(k), kit_ref(failed));
    kit_await(k, "p.term(brother)");
    kit_order(k, "p.decider(failed)", "p.kind(KILLED)", "p.decided(STOP)@1", "failed.postStop",
              "brother.term(failed)", "p.decider(brother)", "p.kind(DEATH_PACT)", "p.about(failed)",
              "p.decided(STOP)@2", "brother.postStop", "p.term(brother)");
    kit_expect(k, "p.decider=2", "brother.ctor=1", "p.term(failed)=0");
}

enum { DP_SIZE = 6000 };

static axo_status dp_watch_with(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    char *bytes = kit_alloc(self->k, DP_SIZE);
    return axo_watch_with(ctx, kit_ref(arg), KIT_OTHER + 1, bytes, DP_SIZE);
}

/* A message of one's own in the place of the notice makes no pact, nor one that looks like it. */
static void DP_03(kit *k)
{
    kit_family f = kit_tree(k, "w, t");
    axo_terminated like = {.actor = kit_ref(f.w), .existence_known = 1};
    assert_int_equal(axo_system_send(kit_system(k), kit_ref(f.w), KIT_OTHER, &like, sizeof like),
                     AXO_OK);
    kit_tell(k, f.w, KIT_NOTE, 1);
    kit_await(k, "w.note(1)");
    kit_order(k, "w.stash(OTHER)", "w.unhandled(OTHER)", "w.note(1)");
    kit_run(k, f.w, dp_watch_with, f.t);
    kit_settle(k);
    axo_system_stop_actor(kit_system(k), kit_ref(f.t));
    kit_await(k, "w.unhandled(1001)");
    kit_tell(k, f.w, KIT_NOTE, 2);
    kit_await(k, "w.note(2)");
    kit_order(k, "t.postStop", "w.stash(1001)", "w.unhandled(1001)", "w.note(2)");
    kit_expect(k, "w.fail=0", "w.ctor=1");
    kit_finish(k);
}

/* All for one by termination: the supervisor watches its children and handles no notice. */
static void DP_04(kit *k)
{
    kit_family f = kit_plan(k, "g:restart[s]");
    kit_script *c[3] = {kit_actor(k, "c0"), kit_actor(k, "c1"), kit_actor(k, "c2")};
    f.g->decide = part_decide;
    f.s->term_unhandled = true;
    kit_grow(&f);
    for (int i = 0; i < 3; i++) {
        kit_spawn_child(k, f.s, c[i], i);
        kit_settle(k);
        part_watched_by(k, c[i], f.s);
    }
    axo_system_stop_actor(kit_system(k), kit_ref(c[0]));
    kit_await(k, "s#2.preStart");
    kit_tell(k, f.s, KIT_NOTE, 1);
    kit_await(k, "s#2.note(1)");
    kit_settle(k);
    kit_order(k, "c0.postStop", "s#1.term(c0)", "g.decider(s)", "g.kind(DEATH_PACT)", "g.about(c0)",
              "s#1.preRestart", "c1.postStop", "s.child_gone(c1)", "s#2.ctor");
    kit_order(k, "s#1.preRestart", "c2.postStop", "s.child_gone(c2)", "s#2.ctor");
    kit_order(k, "s#1.preRestart", "s#1.postStop", "s#2.ctor");
    /* The default pre_restart has unwatched those that it stopped. */
    kit_expect(k, "s.term=1", "*.postStop=4");
    kit_finish(k);
}

static const struct CMUnitTest tests[] = {
    KIT_TEST("DP-01", DP_01),
    KIT_TEST("DP-02", DP_02),
    KIT_TEST("DP-03", DP_03),
    KIT_TEST("DP-04", DP_04),
};

TEST_MAIN(tests)
