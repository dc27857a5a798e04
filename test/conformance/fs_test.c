/* fs_test.c - failure and suspension. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conformance/parts.h"

/* The failing actor is suspended before its parent decides; what is queued waits. */
static void FS_01(kit *k)
{
    kit_family f = kit_tree(k, "p(a)");
    kit_gate *first = kit_gate_new(k);
    f.p->directive = AXO_RESTART;
    f.p->decider.gate = kit_gate_new(k);
    (void)kit_wait_at(k, f.a, first, 0);
    kit_gate_arrived(first, 1);
    (void)kit_tell(k, f.a, KIT_FAIL, 7);
    (void)kit_tell(k, f.a, KIT_NOTE, 1);
    (void)kit_tell(k, f.a, KIT_NOTE, 2);
    kit_gate_open(first);
    kit_gate_arrived(f.p->decider.gate, 1);
    kit_never(k, "a.note");
    kit_order(k, "a.fails(7)", "a.fail", "p.decider(a)");
    kit_order(k, "a.fails(7)", "a.suspend(OWN)", "p.decider(a)");
    assert_int_equal(kit_find(k, "a.suspend(OWN)").suspends, 1);
    assert_int_equal(kit_find(k, "a.fail").arg, (uint64_t)AXO_FAILURE_ORDINARY << 32 | 7);
    kit_gate_open(f.p->decider.gate);
    kit_await(k, "a.note(2)");
    kit_order(k, "p.decided", "a#1.preRestart(7)", "a#2.ctor", "a#2.note(1)", "a#2.note(2)");
    kit_expect(k, "a.fails=1", "p.decider=1", "*.dl=0");
}

/* The whole subtree of the failed actor is suspended, not only its children. */
static void FS_02(kit *k)
{
    kit_script *top = kit_top(k, "top");
    kit_script *boss = kit_child(k, top, "boss");
    kit_script *middle = kit_child(k, boss, "middle");
    kit_script *worker = kit_child(k, middle, "worker");
    kit_script *probe = kit_top(k, "probe");
    top->directive = AXO_RESUME;
    top->decider.gate = kit_gate_new(k);
    (void)kit_tell(k, boss, KIT_FAIL, 7);
    kit_gate_arrived(top->decider.gate, 1);
    if (kit_workers(k) > 1) {
        kit_await(k, "worker.suspend(PARENT)");
        (void)kit_tell_as(k, probe, worker, KIT_PING, 1);
        (void)kit_tell(k, probe, KIT_NOTE, 1);
        kit_await(k, "probe.note(1)");
        (void)kit_tell(k, probe, KIT_NOTE, 2);
        kit_await(k, "probe.note(2)");
        kit_expect(k, "worker.ping=0", "worker.resume=0");
    }
    kit_gate_open(top->decider.gate);
    if (kit_workers(k) == 1)
        (void)kit_tell_as(k, probe, worker, KIT_PING, 1);
    kit_await(k, "probe.pong(1)");
    kit_settle(k);
    kit_expect_count(k, "probe.pong(1)", 1);
    kit_order(k, "boss.fails", "boss.suspend(OWN)", "top.decided", "boss.resume(OWN)");
    assert_int_equal(kit_count(k, "worker.suspend"), kit_count(k, "worker.resume"));
    assert_int_equal(kit_count(k, "middle.suspend"), kit_count(k, "middle.resume"));
    if (kit_workers(k) > 1) {
        kit_order(k, "boss.suspend(OWN)", "middle.suspend(PARENT)", "worker.suspend(PARENT)",
                  "worker.resume(PARENT)", "worker.ping(1)");
        kit_order(k, "boss.resume(OWN)", "middle.resume(PARENT)", "worker.resume(PARENT)");
    }
    kit_expect_count(k, "*.ctor", 5);
}

/* A descendant completes the message it is at, and then stands still. */
static void FS_03(kit *k)
{
    kit_family f = kit_tree(k, "g(p(c))");
    kit_gate *gate = kit_gate_new(k);
    f.g->directive = AXO_RESUME;
    f.g->decider.gate = kit_gate_new(k);
    (void)kit_wait_at(k, f.c, gate, 1);
    kit_gate_arrived(gate, 1);
    (void)kit_tell(k, f.c, KIT_NOTE, 2);
    (void)kit_tell(k, f.p, KIT_FAIL, 7);
    kit_gate_arrived(f.g->decider.gate, 1);
    assert_int_equal(kit_find(k, "p.suspend(OWN)").suspends, 1);
    kit_never(k, "c.suspend"); /* it is busy */
    kit_gate_open(gate);
    kit_await(k, "c.suspend(PARENT)");
    kit_never(k, "c.note");
    kit_gate_open(f.g->decider.gate);
    kit_await(k, "c.note(2)");
    kit_order(k, "p.suspend(OWN)", "c.received@1", "c.suspend(PARENT)", "g.decided",
              "c.resume(PARENT)", "c.note(2)");
    kit_expect_count(k, "c.ctor", 1);
}

/* A suspended actor takes system messages: watch and stop. */
static void FS_04(kit *k)
{
    kit_family f = kit_tree(k, "p(a), w");
    f.p->directive = AXO_RESTART;
    f.p->decider.gate = kit_gate_new(k);
    (void)kit_tell(k, f.a, KIT_FAIL, 7);
    kit_gate_arrived(f.p->decider.gate, 1);
    (void)kit_tell(k, f.a, KIT_NOTE, 1);
    (void)kit_tell_ref(k, f.w, KIT_WATCH, kit_ref(f.a));
    if (kit_workers(k) > 1)
        kit_await(k, "w.watch(a)"); /* who watches one that has ended is told at once */
    assert_int_equal(axo_system_stop_actor(kit_system(k), kit_ref(f.a)), AXO_OK);
    if (kit_workers(k) > 1) {
        kit_await(k, "w.term(a)");
        kit_never(k, "p.decided");
    }
    kit_gate_open(f.p->decider.gate);
    kit_await(k, "w.term(a)");
    kit_settle(k);
    kit_order(k, "a.suspend(OWN)", "a.terminated", "w.term(a)");
    kit_expect(k, "w.known(1)=1", "a.postStop=1", "a.note=0", "a.preRestart=0", "a.ctor=1");
    kit_await_count(k, "a.dl(NOTE)", 1);
    kit_expect_count(k, "a.dl(NOTE)", 1); /* the note */
}

static void queue_while_failed(kit *k, const char *name, axo_directive directive)
{
    char label[32];
    char pattern[80];
    kit_script *p;
    kit_script *a;
    kit_gate *first = kit_gate_new(k);
    (void)snprintf(label, sizeof label, "p%s", name);
    p = kit_top(k, strcpy(kit_alloc(k, sizeof label), label));
    a = kit_child(k, p, name);
    p->directive = directive;
    p->decider.gate = kit_gate_new(k);
    (void)kit_wait_at(k, a, first, 0);
    kit_gate_arrived(first, 1);
    (void)kit_tell(k, a, KIT_FAIL, 7);
    (void)kit_tell(k, a, KIT_NOTE, 1);
    (void)kit_tell(k, a, KIT_NOTE, 2);
    kit_gate_open(first);
    kit_gate_arrived(p->decider.gate, 1);
    (void)kit_tell(k, a, KIT_NOTE, 3);
    (void)kit_tell(k, a, KIT_NOTE, 4);
    (void)snprintf(pattern, sizeof pattern, "%s.note", name);
    kit_never(k, pattern);
    kit_gate_open(p->decider.gate);
    kit_await_count(k, pattern, 4);
}

/* Messages to a failed actor keep their place and their order. */
static void FS_05(kit *k)
{
    queue_while_failed(k, "resumed", AXO_RESUME);
    queue_while_failed(k, "restarted", AXO_RESTART);
    kit_settle(k);
    kit_order(k, "presumed.decided", "resumed#1.note(1)", "resumed#1.note(2)", "resumed#1.note(3)",
              "resumed#1.note(4)");
    kit_order(k, "restarted#2.ctor", "restarted#2.note(1)", "restarted#2.note(2)",
              "restarted#2.note(3)", "restarted#2.note(4)");
    kit_expect(k, "*.note=8", "*.dl=0");
}

/* At the first failure the message is sent again, in its sender's name; later it is let go. */
static axo_status send_again_once(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    const axo_message *m = self->message;
    axo_ref probe = kit_ref(arg);
    KIT_REQUIRE(self->k, m != NULL);
    if (m == NULL)
        return AXO_OK;
    KIT_REQUIRE(self->k, axo_ref_equal(m->sender, probe));
    KIT_REQUIRE(self->k, axo_ref_equal(axo_sender(ctx), probe));
    if (self->script->pre_restart.calls > 1)
        return AXO_OK;
    return axo_send_from(ctx, m->sender, axo_self(ctx), m->tag, m->payload, m->size);
}

/* The failing message is lost, unless pre_restart sends it again. */
static void FS_06(kit *k)
{
    kit_family f = kit_tree(k, "p(a)");
    kit_script *probe = kit_top(k, "probe");
    f.p->directive = AXO_RESTART;
    f.a->pre_restart.run = send_again_once;
    f.a->pre_restart.arg = probe;
    (void)kit_tell_as(k, probe, f.a, KIT_THROW, 5);
    kit_await(k, "a#3.preStart");
    (void)kit_tell_as(k, probe, f.a, KIT_PING, 6);
    kit_await(k, "probe.pong(6)");
    kit_settle(k);
    kit_order(k, "a#1.fails(5)", "a#1.preRestartWith(5)", "a#2.ctor", "a#2.fails(5)",
              "a#2.preRestartWith(5)", "a#3.ctor", "a#3.ping(6)");
    kit_expect(k, "a.fails=2", "a.ctor=3", "*.dl=0");
    /* Lost under Resume too. */
    f.p->directive = AXO_RESUME;
    (void)kit_tell_as(k, probe, f.a, KIT_FAIL, 8);
    (void)kit_tell_as(k, probe, f.a, KIT_PING, 9);
    kit_await(k, "probe.pong(9)");
    kit_settle(k);
    kit_expect(k, "a.fails(8)=1", "*.dl=0");
}

/* Three ways to fail in one callback: the failure is one, the last. */
static axo_status fail_thrice(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    (void)axo_fail(ctx, 1, "first");
    (void)axo_fail(ctx, 2, "second");
    axo_throw(ctx, 3, "third");
}

static axo_status record_only(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    (void)axo_fail(ctx, 1, "recorded");
    return AXO_OK;
}

static axo_status fail_by_status(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    return AXO_EFAILED;
}

/* The status decides: what a handler has recorded goes when it returns AXO_OK, and the next failure
 * does not find it. */
static void FS_01_recorded(kit *k)
{
    kit_family f = kit_tree(k, "p(a)");
    f.p->directive = AXO_RESUME;
    (void)kit_run(k, f.a, record_only, NULL);
    (void)kit_run(k, f.a, fail_by_status, NULL);
    (void)kit_tell(k, f.a, KIT_NOTE, 1);
    kit_await(k, "a.note(1)");
    kit_expect(k, "a.fail=1", "p.decider(a)=1", "p.cause(1)=0");
}

/* One report and one suspension for each failure, whatever else would fail meanwhile. */
static void FS_07(kit *k)
{
    kit_family f = kit_tree(k, "g(p(a))");
    f.g->directive = AXO_RESUME;
    f.p->directive = AXO_RESUME;
    f.p->decider.gate = kit_gate_new(k);
    (void)kit_run(k, f.a, fail_thrice, NULL);
    kit_gate_arrived(f.p->decider.gate, 1);
    (void)axo_system_kill(kit_system(k), kit_ref(f.a));
    (void)kit_tell(k, f.a, KIT_FAIL, 4);
    (void)kit_tell(k, f.a, KIT_NOTE, 1);
    kit_expect(k, "a.fail=1", "a.suspend=1");
    kit_gate_open(f.p->decider.gate);
    kit_await(k, "a.note(1)");
    kit_expect(k, "p.cause(3)=1", "p.cause(4)=1");
    kit_expect_count(k, "p.decider(a)", 3); /* 3, the Kill, 4 */
    kit_expect(k, "a.fail=3", "a.suspend(OWN)=3", "a.resume(OWN)=3", "a.ctor=1");
    if (kit_workers(k) > 1) {
        /* a fails while its parent has failed and is not decided: p's report stays one. */
        kit_gate *gate = part_in_flight(k, f.a, 5);
        f.g->decider.gate = kit_gate_new(k);
        (void)kit_tell(k, f.p, KIT_FAIL, 6);
        kit_gate_arrived(f.g->decider.gate, 1);
        kit_gate_open(gate);
        kit_await(k, "p.hold(a)");
        kit_never(k, "p.cause(5)");
        kit_gate_open(f.g->decider.gate);
        kit_await(k, "p.cause(5)");
        kit_settle(k);
        kit_expect(k, "g.decider=1", "p.suspend=1", "p.decider(a)=4");
        kit_order(k, "p.hold(a)", "g.decided", "p.resume", "p.cause(5)");
    }
}

/* b has failed and is not yet decided, when the restart for its sibling fails too: one report. */
static void FS_07_undecided(kit *k)
{
    kit_family f = kit_tree(k, "p:all:restart(a,b)");
    kit_gate *gate = kit_gate_new(k);
    f.b->construct.fail_first = 2;
    (void)kit_wait_at(k, f.p, gate, 0);
    kit_gate_arrived(gate, 1);
    (void)kit_tell(k, f.a, KIT_FAIL, 1);
    kit_await_reported(k, f.a);
    (void)kit_tell(k, f.b, KIT_FAIL, 2);
    (void)kit_tell(k, f.b, KIT_NOTE, 1);
    kit_await_reported(k, f.b);
    kit_gate_open(gate);
    kit_await(k, "b.note(1)");
    kit_settle(k);
    kit_expect(k, "p.decider(a)=1", "p.decider(b)=1", "b.suspend(OWN)=1", "b.ctor=3", "b.note=1");
}

/* Stops all children but keeps watching them. */
static axo_status stop_children(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    axo_ref children[8];
    uint32_t count = axo_children(ctx, children, 8);
    for (uint32_t i = 0; i < count; i++)
        (void)axo_stop(ctx, children[i]);
    return AXO_OK;
}

/* A decider that fails, fails its actor; no system message is lost over it. */
static void FS_08(kit *k)
{
    kit_family f = kit_tree(k, "g(p(c,d)), w");
    f.g->directive = AXO_RESTART;
    f.p->decider.fail_first = 1;
    f.p->decider.how = KIT_BY_THROW;
    f.p->decider.code = 99;
    f.p->keep_children = true;
    f.p->no_default_start = true;
    f.p->pre_restart.run = stop_children;
    (void)kit_tell_ref(k, f.p, KIT_WATCH, kit_ref(f.c));
    (void)kit_tell_ref(k, f.p, KIT_WATCH, kit_ref(f.d));
    kit_settle(k);
    if (kit_workers(k) > 1) {
        /* All in p's system lane at once: c's failure, d's end, w's watch. */
        kit_gate *gate = kit_gate_new(k);
        (void)kit_wait_at(k, f.p, gate, 0);
        kit_gate_arrived(gate, 1);
        (void)kit_tell(k, f.c, KIT_FAIL, 7);
        kit_await_reported(k, f.c);
        (void)kit_tell(k, f.d, KIT_STOP_SELF, 0);
        kit_await(k, "d.terminated");
        (void)kit_tell_ref(k, f.w, KIT_WATCH, kit_ref(f.p));
        (void)kit_tell(k, f.w, KIT_NOTE, 1);
        kit_await(k, "w.note(1)");
        kit_gate_open(gate);
    } else {
        (void)kit_tell_ref(k, f.w, KIT_WATCH, kit_ref(f.p));
        (void)kit_tell(k, f.w, KIT_NOTE, 1);
        kit_await(k, "w.note(1)");
        (void)kit_tell(k, f.c, KIT_FAIL, 7);
    }
    kit_await_all(k, "p#2.term(c)", "p.term(d)");
    kit_settle(k);
    kit_order(k, "p#1.decider(c)", "g.decider(p)", "p#1.preRestart(99)", "c.postStop",
              "p#2.postRestart(99)", "p#2.term(c)");
    kit_expect(k, "g.cause(99)=1", "p.term(c)=1", "p.term(d)=1", "c.preRestart=0");
    (void)axo_system_stop_actor(kit_system(k), kit_ref(f.p));
    kit_await(k, "w.term(p)");
}

/* post_stop that fails, and a child that fails while its parent stops: nobody is told. */
static void FS_10(kit *k)
{
    kit_family f = kit_tree(k, "p(a(c))");
    kit_gate *gate = part_in_flight(k, f.c, 7);
    f.a->post_stop.fail_first = 1;
    f.a->post_stop.code = 8;
    (void)axo_system_stop_actor(kit_system(k), kit_ref(f.a));
    if (kit_workers(k) > 1)
        kit_await(k, "a.stopping");
    kit_gate_open(gate);
    kit_await(k, "p.child_gone(a)");
    kit_settle(k);
    kit_expect(k, "p.decider=0", "a.decider=0", "c.fails=1");
    kit_order(k, "c.terminated", "a.postStop", "a.terminated");
    kit_expect(k, "a.ctor=1", "c.ctor=1");
}

/* Says something to its parent, then fails. */
static axo_status tell_and_fail(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    (void)kit_tell_in(ctx, axo_parent(ctx), KIT_NOTE, 1);
    return axo_fail(ctx, -77, "word %s", "seven");
}

static axo_directive look_at_report(axo_ctx *ctx, kit_puppet *self, const axo_failure *failure)
{
    kit *k = self->k;
    axo_ref child = kit_ref(self->script->user);
    KIT_REQUIRE(k, axo_ref_equal(axo_sender(ctx), child));
    KIT_REQUIRE(k, axo_ref_equal(failure->actor, child));
    KIT_REQUIRE(k, failure->kind == AXO_FAILURE_ORDINARY);
    KIT_REQUIRE(k, failure->root_kind == AXO_FAILURE_ORDINARY);
    KIT_REQUIRE(k, failure->site == AXO_SITE_RECEIVE);
    KIT_REQUIRE(k, failure->code == -77 && failure->root_code == -77);
    KIT_REQUIRE(k, strcmp(failure->text, "word seven") == 0);
    KIT_REQUIRE(k, failure->original_text != NULL && failure->original_text[0] == 0);
    KIT_REQUIRE(k, axo_ref_is_none(failure->about));
    return AXO_STOP;
}

/* The report says who and why. It is not ordered with the child's messages: both orders pass. */
static void FS_11(kit *k)
{
    kit_family f = kit_tree(k, "p(a)");
    f.p->decide = look_at_report;
    f.p->user = f.a;
    (void)kit_run(k, f.a, tell_and_fail, NULL);
    kit_await_all(k, "p.note(1)", "p.child_gone(a)");
    kit_settle(k);
    kit_expect(k, "p.report(a)=1", "p.decider(a)=1", "p.cause(-77)=1", "p.note=1");
    /* Another incarnation with the same name has another reference, and reports as itself. */
    kit_script *again = kit_actor(k, "again");
    again->name = "a";
    f.p->user = again;
    (void)kit_spawn_child(k, f.p, again, 0);
    kit_await(k, "again.preStart");
    assert_false(axo_ref_equal(kit_ref(f.a), kit_ref(again)));
    (void)kit_run(k, again, tell_and_fail, NULL);
    kit_await(k, "p.child_gone(again)");
    kit_expect(k, "p.decider(again)=1", "p.decider(a)=1");
}

/* No step of the procedure can break: it takes no memory and, once the reserve of texts is spent,
 * goes on without them. Nobody is left suspended with nobody informed. */
static void FS_09(void **state)
{
    static const char *const labels[] = {"a1", "a2", "a3", "a4"};
    axo_options options = AXO_OPTIONS(.failure_texts = 1);
    kit *k = kit_start(state, &options);
    kit_family f = kit_tree(k, "g(p), q(x)");
    kit_script *a[4];
    kit_gate *gate[4];
    f.g->directive = AXO_RESUME;
    f.q->decider.gate = kit_gate_new(k);
    for (int i = 0; i < 4; i++)
        a[i] = kit_child(k, f.p, labels[i]);
    /* The only text is x's, while q thinks. */
    if (kit_workers(k) > 1) {
        kit_tell(k, f.x, KIT_FAIL, KIT_DO_RESUME);
        kit_gate_arrived(f.q->decider.gate, 1);
    }
    for (int i = 0; i < 4; i++) {
        part_blow *blow = part_blow_new(k, KIT_DO_RESUME + i);
        gate[i] = blow->gate;
        kit_run(k, a[i], part_hold_fail, blow);
        kit_tell(k, a[i], KIT_NOTE, 1);
    }
    kit_no_memory(k, true);
    for (int i = 0; i < 4; i++)
        kit_gate_open(gate[i]);
    kit_await_all(k, "a1#1.note(1)", "a2#2.note(1)", "p.child_gone(a3)", "a4#1.note(1)");
    kit_no_memory(k, false);
    kit_gate_open(f.q->decider.gate);
    kit_settle(k);
    kit_expect(k, "p.decider=4", "g.decider(p)=1", "g.cause(104)=1");
    if (kit_workers(k) > 1)
        assert_true(kit_stats(k).texts_lost >= 4);
    kit_finish(k);
}

/* ---- FS-12 ---------------------------------------------------------------------------------- */

static axo_directive fatal_decide(axo_ctx *ctx, void *state, const axo_failure *failure, void *user)
{
    _exit(3); /* it was taken for a failure */
}

static axo_status fatal_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    if (message->tag == 1)
        abort();
    axo_throw((axo_ctx *)((uintptr_t)ctx + 1), 1, "with a context that is none");
}

/* In a process of its own: an actor that does what is fatal. */
static void fatal_life(uint32_t workers, uint32_t tag)
{
    static const axo_class cls = AXO_CLASS(.receive = fatal_receive);
    static const axo_strategy strategy = AXO_STRATEGY(.decider = fatal_decide);
    const struct rlimit none = {0, 0};
    axo_options options = AXO_OPTIONS(.workers = workers, .user_strategy = &strategy);
    axo_props props = AXO_PROPS(.cls = &cls);
    axo_system *system = NULL;
    axo_ref ref;
    (void)setrlimit(RLIMIT_CORE, &none);
    (void)close(STDERR_FILENO);
    (void)alarm(KIT_DEADLINE_S);
    if (axo_system_start(&options, &system) != AXO_OK ||
        axo_system_spawn(system, &props, &ref) != AXO_OK ||
        axo_system_send(system, ref, tag, NULL, 0) != AXO_OK)
        _exit(4);
    (void)axo_system_wait(system, -1, NULL);
    _exit(5);
}

static void FS_12(void **state)
{
    for (uint32_t tag = 1; tag <= 2; tag++) {
        int status = 0;
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0)
            fatal_life((uint32_t)(uintptr_t)*state, tag);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), SIGABRT);
    }
}

/* ---- FS-13 ---------------------------------------------------------------------------------- */

typedef struct interrupted {
    _Atomic uint32_t waits;
    pthread_t thread;
    bool fails;
} interrupted;

static void on_signal(int number)
{
}

/* Blocks in a system call until a signal interrupts it. */
static axo_status block_until_signal(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    interrupted *call = arg;
    const struct timespec limit = {.tv_sec = KIT_GATE_DEADLINE_S};
    sigset_t mask;
    int result;
    (void)pthread_sigmask(SIG_SETMASK, NULL, &mask);
    KIT_REQUIRE(self->k, sigismember(&mask, SIGUSR1) == 1);
    (void)sigdelset(&mask, SIGUSR1);
    call->thread = pthread_self();
    atomic_store(&call->waits, 1);
    result = ppoll(NULL, 0, &limit, &mask);
    KIT_REQUIRE(self->k, result == -1 && errno == EINTR);
    kit_mark(self, "interrupted", 0);
    return call->fails ? axo_fail(ctx, EINTR, "interrupted") : AXO_OK;
}

/* A worker takes no signals unless its actor asks for them: the signal that comes before the call
 * blocks waits for it. */
static void FS_13(void **state)
{
    struct sigaction action = {.sa_handler = on_signal};
    struct sigaction before;
    kit *k = kit_start(state, NULL);
    kit_family f = kit_tree(k, "p(a)");
    assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
    f.p->directive = AXO_RESTART;
    for (uint32_t i = 1; i <= 2; i++) {
        interrupted *call = kit_alloc(k, sizeof *call);
        call->fails = i == 2;
        (void)kit_run(k, f.a, block_until_signal, call);
        while (atomic_load(&call->waits) == 0)
            (void)sched_yield();
        assert_int_equal(pthread_kill(call->thread, SIGUSR1), 0);
        (void)kit_tell(k, f.a, KIT_NOTE, i);
        kit_await_count(k, "a.note", i);
    }
    kit_order(k, "a#1.interrupted@1", "a#1.note(1)", "p.cause(4)", "a#2.note(2)");
    kit_expect_count(k, "a.ctor", 2);
    kit_finish(k);
    assert_int_equal(sigaction(SIGUSR1, &before, NULL), 0);
}

/* Throwing handlers harm neither the worker nor the neighbours. */
static void FS_14(kit *k)
{
    enum { ROUNDS = 50 };
    kit_family f = kit_tree(k, "p(a,b)");
    kit_script *other = kit_top(k, "other");
    for (int i = 0; i < ROUNDS; i++) {
        (void)kit_tell(k, f.a, KIT_THROW, i % 2 == 0 ? KIT_DO_RESUME : KIT_DO_RESTART);
        (void)kit_tell(k, f.b, KIT_NOTE, i);
        (void)kit_tell(k, other, KIT_NOTE, i);
        (void)kit_tell(k, f.a, KIT_NOTE, i);
    }
    kit_await_count(k, "*.note", 3 * ROUNDS);
    kit_settle(k);
    kit_expect_count(k, "a.note", ROUNDS);
    kit_expect_count(k, "a.ctor", 1 + ROUNDS / 2);
    kit_expect_count(k, "b.note", ROUNDS);
    kit_expect_count(k, "other.note", ROUNDS);
    kit_expect(k, "b.suspend=0", "other.suspend=0");
}

static const struct CMUnitTest tests[] = {
    KIT_TEST("FS-01", FS_01), KIT_TEST("FS-02", FS_02),
    KIT_TEST_ONE("FS-03", FS_03, 2, "workers"), KIT_TEST_ONE("FS-03", FS_03, 4, "workers"),
    KIT_TEST("FS-04", FS_04), KIT_TEST("FS-05", FS_05), KIT_TEST("FS-06", FS_06),
    KIT_TEST("FS-07", FS_07),
    KIT_TEST("FS-01 recorded", FS_01_recorded),
    KIT_TEST_ONE("FS-07 undecided", FS_07_undecided, 2, "workers"),
    KIT_TEST_ONE("FS-07 undecided", FS_07_undecided, 4, "workers"),
    KIT_TEST("FS-08", FS_08),
    KIT_TEST("FS-09", FS_09), KIT_TEST("FS-10", FS_10), KIT_TEST("FS-11", FS_11),
    KIT_TEST("FS-12", FS_12), KIT_TEST("FS-13", FS_13), KIT_TEST("FS-14", FS_14),
};
TEST_MAIN(tests)
