/* or_start_test.c - system messages on their ways, and how an actor begins: OR-13 to OR-15. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "conformance/parts.h"

/* ---- OR-13 ---------------------------------------------------------------------------------- */

enum { OR_TARGETS = 40 };

/* Watches and unwatches each target over and over; the last word for the even ones is a watch. The
 * records of all this are on their ways at the same time, and the targets end meanwhile. */
static axo_status or_flutter(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    kit_script **targets = arg;
    for (int i = 0; i < OR_TARGETS; i++) {
        axo_ref target = kit_ref(targets[i]);
        for (int turn = 0; turn < 4; turn++) {
            KIT_REQUIRE(self->k, axo_watch(ctx, target) == AXO_OK);
            if (turn == 1)
                KIT_REQUIRE(self->k, axo_stop(ctx, target) != AXO_EINVAL);
            if (turn < 3 || i % 2 != 0)
                KIT_REQUIRE(self->k, axo_unwatch(ctx, target) == AXO_OK);
        }
    }
    kit_mark(self, "fluttered", 0);
    return AXO_OK;
}

/* A record is in one lane at a time: nobody gets a notice twice, or for what it has unwatched. */
static void OR_13(kit *k)
{
    kit_script *w[2] = {part_start(k, "w0"), part_start(k, "w1")};
    kit_script **targets = kit_alloc(k, OR_TARGETS * sizeof(kit_script *));
    for (int i = 0; i < OR_TARGETS; i++) {
        targets[i] = kit_actor(k, i % 2 == 0 ? "even" : "odd");
        targets[i]->name = "";
        kit_spawn(k, targets[i]);
    }
    kit_run(k, w[0], or_flutter, targets);
    kit_run(k, w[1], or_flutter, targets);
    kit_await_all(k, "w0.term(even)@20", "w1.term(even)@20");
    kit_await_count(k, "user.child_gone", OR_TARGETS);
    kit_settle(k);
    kit_expect_count(k, "*.term", OR_TARGETS);
    kit_never(k, "*.term(odd)");
    kit_finish(k);
}

/* The same for reports: a child that fails again and again has one, which is on its way again as
 * soon as it has been answered. */
static void OR_13_reports(kit *k)
{
    enum { CHILDREN = 8, FAILURES = 25 };
    kit_script *p = part_start(k, "p");
    kit_script *c[CHILDREN];
    p->directive = AXO_RESUME;
    for (int i = 0; i < CHILDREN; i++) {
        c[i] = kit_actor(k, "c");
        c[i]->name = "";
        kit_spawn_child(k, p, c[i], 0);
    }
    kit_await_count(k, "c.preStart", CHILDREN);
    for (int n = 0; n < FAILURES; n++) {
        for (int i = 0; i < CHILDREN; i++)
            kit_tell(k, c[i], KIT_FAIL, n);
    }
    kit_await_count(k, "p.decided", CHILDREN * FAILURES);
    kit_settle(k);
    kit_expect_count(k, "p.report(c)", CHILDREN * FAILURES);
    kit_expect_count(k, "c.fails", CHILDREN * FAILURES);
    kit_expect_count(k, "c.ctor", CHILDREN);
    kit_finish(k);
}

/* ---- OR-14 ---------------------------------------------------------------------------------- */

static axo_status or_own_path(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    char path[64];
    KIT_REQUIRE(self->k, axo_path(ctx, self->ref, path, sizeof path) == AXO_OK);
    KIT_REQUIRE(self->k, strcmp(path, arg) == 0);
    kit_mark(self, "knows", 0);
    return AXO_OK;
}

static axo_status or_spawn_and_find(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    kit_script *child = arg;
    char path[64];
    KIT_REQUIRE(self->k, axo_ref_is_none(axo_child(ctx, child->name)));
    KIT_REQUIRE(self->k, kit_spawn_in(ctx, child) == AXO_OK);
    axo_ref found = axo_child(ctx, child->name);
    KIT_REQUIRE(self->k, axo_ref_equal(found, kit_ref(child)));
    KIT_REQUIRE(self->k, axo_path(ctx, found, path, sizeof path) == AXO_OK);
    KIT_REQUIRE(self->k, strcmp(path, child->construct.arg) == 0);
    KIT_REQUIRE(self->k, kit_tell_in(ctx, found, KIT_NOTE, 1) == AXO_OK);
    return AXO_OK;
}

/* By its name as soon as the spawn has returned, and from its own construct. */
static void OR_14(kit *k)
{
    enum { ROUNDS = 20 };
    kit_script *p = part_start(k, "p");
    for (int i = 0; i < ROUNDS; i++) {
        kit_script *c = kit_actor(k, "c");
        kit_script *top = kit_actor(k, "top");
        char *names = kit_alloc(k, 128);
        char path[64];
        (void)snprintf(names, 32, "c%d", i);
        (void)snprintf(names + 32, 32, "/user/p/c%d", i);
        (void)snprintf(names + 64, 32, "t%d", i);
        (void)snprintf(names + 96, 32, "/user/t%d", i);
        c->name = names;
        top->name = names + 64;
        c->construct.run = or_own_path;
        c->construct.arg = names + 32;
        top->construct.run = or_own_path;
        top->construct.arg = names + 96;
        kit_run(k, p, or_spawn_and_find, c);
        kit_spawn(k, top);
        assert_int_equal(axo_system_path(kit_system(k), kit_ref(top), path, sizeof path), AXO_OK);
        assert_string_equal(path, names + 96);
    }
    kit_await_count(k, "c.note(1)", ROUNDS);
    kit_await_count(k, "top.knows", ROUNDS);
    kit_settle(k);
    kit_expect_count(k, "c.knows", ROUNDS);
}

/* ---- OR-15 ---------------------------------------------------------------------------------- */

enum { OR_THREADS = 3, OR_EACH = 40 };

typedef struct or_talker {
    kit *k;
    kit_script *to;
    int64_t first;
} or_talker;

static void *or_talk(void *arg)
{
    const or_talker *me = arg;
    for (int64_t i = 0; i < OR_EACH; i++)
        KIT_REQUIRE(me->k, kit_tell(me->k, me->to, KIT_NOTE, me->first + i) == AXO_OK);
    return NULL;
}

/* Several threads talk to a top-level actor that has not begun: each one's order is kept, and
 * nothing is handled before its start. Between the threads nothing is promised. */
static void OR_15(kit *k)
{
    kit_script *a = kit_actor(k, "a");
    pthread_t threads[OR_THREADS];
    or_talker talkers[OR_THREADS];
    a->construct.gate = kit_gate_new(k);
    kit_spawn(k, a);
    for (int t = 0; t < OR_THREADS; t++) {
        talkers[t] = (or_talker){.k = k, .to = a, .first = t * 100};
        assert_int_equal(pthread_create(&threads[t], NULL, or_talk, &talkers[t]), 0);
    }
    kit_gate_arrived(a->construct.gate, 1);
    kit_gate_open(a->construct.gate);
    for (int t = 0; t < OR_THREADS; t++)
        assert_int_equal(pthread_join(threads[t], NULL), 0);
    kit_settle(k);
    kit_expect_count(k, "a.note", OR_THREADS * OR_EACH);
    for (int t = 0; t < OR_THREADS; t++) {
        char before[32] = "a.preStart";
        for (int i = 0; i < OR_EACH; i++) {
            char note[32];
            (void)snprintf(note, sizeof note, "a.note(%d)", t * 100 + i);
            kit_order(k, before, note);
            (void)snprintf(before, sizeof before, "%s", note);
        }
    }
    kit_finish(k);
}

static const struct CMUnitTest tests[] = {
    KIT_TEST("OR-13", OR_13),
    KIT_TEST("OR-13 reports", OR_13_reports),
    KIT_TEST("OR-14", OR_14),
    KIT_TEST("OR-15", OR_15),
};

TEST_MAIN(tests)
