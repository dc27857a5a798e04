/* sh_phases_test.c - the shutdown in phases (SH-09). */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "conformance/parts.h"
#include "support/slower.h"

#define SH_MS      INT64_C(1000000)
#define SH_FOREVER (INT64_C(1000000000) * KIT_GATE_DEADLINE_S)

static axo_phases *sh_new(kit *k)
{
    axo_phases *phases;
    assert_int_equal(axo_phases_new(kit_system(k), &phases), AXO_OK);
    return phases;
}

static void sh_phase(axo_phases *phases, const char *name, const char *after, int64_t timeout_ns,
                     uint32_t abort)
{
    axo_phase phase =
        AXO_PHASE(.name = name, .timeout_ns = timeout_ns, .abort = abort, .after = {after});
    assert_int_equal(axo_phases_add(phases, &phase), AXO_OK);
}

/* A ping to the puppet; KIT_NOTE is never answered. */
static uint32_t sh_ask(axo_phases *phases, const char *phase, kit_script *to, uint32_t tag,
                       int64_t value)
{
    uint32_t id = 0;
    kit_payload payload = {.value = value};
    axo_task task = AXO_TASK(.phase = phase, .name = to->label, .kind = AXO_TASK_ASK, .tag = tag,
                             .actor = kit_ref(to), .payload = &payload,
                             .payload_size = sizeof payload);
    assert_int_equal(axo_phases_task(phases, &task, &id), AXO_OK);
    assert_true(id > 0);
    return id;
}

static void sh_stop(axo_phases *phases, const char *phase, kit_script *to)
{
    axo_task task = AXO_TASK(.phase = phase, .name = to->label, .kind = AXO_TASK_STOP,
                             .actor = kit_ref(to));
    assert_int_equal(axo_phases_task(phases, &task, NULL), AXO_OK);
}

static void sh_call(axo_phases *phases, const char *phase, axo_status (*call)(void *), void *user)
{
    axo_task task = AXO_TASK(.phase = phase, .name = "call", .kind = AXO_TASK_CALL, .call = call,
                             .user = user);
    assert_int_equal(axo_phases_task(phases, &task, NULL), AXO_OK);
}

/* In the order of the graph, whatever the order in which they were added. */
static void SH_09(kit *k)
{
    kit_family f = kit_tree(k, "a, b");
    axo_phases *phases = sh_new(k);
    axo_phases_report report;
    sh_phase(phases, "third", "second", SH_FOREVER, 0);
    sh_phase(phases, "first", NULL, SH_FOREVER, 0);
    sh_phase(phases, "second", "first", SH_FOREVER, 0);
    sh_phase(phases, "empty", "third", 0, 0);
    sh_stop(phases, "third", f.a);
    sh_ask(phases, "second", f.b, KIT_PING, 2);
    sh_ask(phases, "first", f.a, KIT_PING, 1);
    assert_int_equal(axo_phases_run(phases, &report), AXO_OK);
    assert_int_equal(report.ran, 4);
    assert_int_equal(report.troubles, 0);
    assert_int_equal(report.aborted, 0);
    assert_true(report.took_ns > 0);
    kit_order(k, "a.ping(1)", "b.ping(2)", "a.postStop");
    assert_int_equal(axo_phases_free(phases), AXO_OK);
    kit_finish(k);
}

/* The tasks of a phase run side by side: each waits until both have come. */
typedef struct sh_meeting {
    kit *k;
    pthread_barrier_t both;
    _Atomic uint32_t calls;
} sh_meeting;

static axo_status sh_meet(void *user)
{
    sh_meeting *meeting = user;
    (void)pthread_barrier_wait(&meeting->both);
    atomic_fetch_add(&meeting->calls, 1);
    return AXO_OK;
}

static void SH_09_parallel(kit *k)
{
    axo_phases *phases = sh_new(k);
    sh_meeting meeting = {.k = k};
    assert_int_equal(pthread_barrier_init(&meeting.both, NULL, 2), 0);
    sh_phase(phases, "meet", NULL, SH_FOREVER, 0);
    sh_call(phases, "meet", sh_meet, &meeting);
    sh_call(phases, "meet", sh_meet, &meeting);
    assert_int_equal(axo_phases_run(phases, NULL), AXO_OK);
    assert_int_equal(atomic_load(&meeting.calls), 2);
    assert_int_equal(axo_phases_free(phases), AXO_OK);
    (void)pthread_barrier_destroy(&meeting.both);
    kit_finish(k);
}

static void SH_09_cycle(kit *k)
{
    axo_phases *phases = sh_new(k);
    char why[200];
    char tiny[8];
    sh_phase(phases, "lead", "b", 0, 0);
    sh_phase(phases, "a", "b", 0, 0);
    sh_phase(phases, "b", "c", 0, 0);
    sh_phase(phases, "c", "a", 0, 0);
    assert_int_equal(axo_phases_check(phases, why, sizeof why), AXO_ECYCLE);
    assert_true(strcmp(why, "a -> b -> c -> a") == 0 || strcmp(why, "b -> c -> a -> b") == 0 ||
                strcmp(why, "c -> a -> b -> c") == 0);
    assert_int_equal(axo_phases_check(phases, tiny, sizeof tiny), AXO_ECYCLE);
    assert_int_equal(strlen(tiny), sizeof tiny - 1);
    assert_int_equal(axo_phases_check(phases, NULL, 0), AXO_ECYCLE);
    assert_int_equal(axo_phases_run(phases, NULL), AXO_ECYCLE);
    assert_int_equal(axo_phases_start(phases), AXO_ECYCLE);
    assert_int_equal(axo_phases_print(phases, why, sizeof why), 0);
    assert_int_equal(axo_phases_free(phases), AXO_OK);
    phases = sh_new(k);
    sh_phase(phases, "a", "ghost", 0, 0);
    assert_int_equal(axo_phases_check(phases, why, sizeof why), AXO_ENOENT);
    assert_string_equal(why, "a is after ghost, which is not a phase");
    sh_phase(phases, "ghost", NULL, 0, 0);
    assert_int_equal(axo_phases_check(phases, why, sizeof why), AXO_OK);
    assert_string_equal(why, "");
    assert_int_equal(axo_phases_free(phases), AXO_OK);
    kit_finish(k);
}

/* One is late: the report says who, where, doing what; the next phase runs, or not. */
static void sh_late(void **state, uint32_t abort)
{
    kit *k = kit_start(state, NULL);
    kit_family f = kit_tree(k, "a, b");
    axo_phases *phases = sh_new(k);
    axo_phases_report report;
    axo_phase_trouble trouble;
    char text[400];
    sh_phase(phases, "drain", NULL, 2 * SH_MS, abort);
    sh_phase(phases, "close", "drain", SH_FOREVER, 0);
    sh_ask(phases, "drain", f.a, KIT_NOTE, 1);
    sh_ask(phases, "close", f.b, KIT_PING, 2);
    assert_int_equal(axo_phases_run(phases, &report), AXO_ETIMEDOUT);
    assert_int_equal(report.status, AXO_ETIMEDOUT);
    assert_int_equal(report.aborted, abort);
    assert_int_equal(report.ran, abort ? 1 : 2);
    assert_int_equal(kit_count(k, "b.ping(2)"), abort ? 0 : 1);
    assert_int_equal(report.troubles, 1);
    assert_int_equal(axo_phases_troubles(phases, NULL, 0), 1);
    assert_int_equal(axo_phases_troubles(phases, &trouble, 1), 1);
    assert_string_equal(trouble.phase, "drain");
    assert_string_equal(trouble.task, "a");
    assert_int_equal(trouble.status, AXO_ETIMEDOUT);
    assert_int_equal(trouble.unfinished, 1);
    assert_true(trouble.late_ns >= 0);
    (void)axo_verdict_text(&trouble.verdict, text, sizeof text);
    assert_non_null(strstr(text, "/user/a"));
    assert_int_equal(axo_phases_free(phases), AXO_OK);
    kit_finish(k);
}

static void SH_09_late(void **state)
{
    sh_late(state, 0);
}

static void SH_09_abort(void **state)
{
    sh_late(state, 1);
}

/* Late, but done before the run is: for how long is known. */
static axo_status sh_open_gate(void *user)
{
    kit_gate_open(user);
    return AXO_OK;
}

static axo_status sh_pass_gate(void *user)
{
    kit_gate_pass(user);
    return AXO_OK;
}

static axo_status sh_stops(void *user)
{
    axo_ref *ref = user;
    (void)ref;
    return AXO_ELIMIT;
}

static void SH_09_late_but_done(kit *k)
{
    kit_script *b = part_start(k, "b");
    axo_phases *phases = sh_new(k);
    axo_phase_trouble trouble;
    axo_phases_report report;
    kit_gate *gate = kit_gate_new(k);
    sh_phase(phases, "slow", NULL, SH_MS, 0);
    sh_phase(phases, "open", "slow", SH_FOREVER, 0);
    sh_phase(phases, "last", "open", SH_FOREVER, 0);
    sh_call(phases, "slow", sh_pass_gate, gate);
    sh_call(phases, "open", sh_open_gate, gate);
    sh_ask(phases, "last", b, KIT_PING, 1);
    assert_int_equal(axo_phases_run(phases, &report), AXO_ETIMEDOUT);
    assert_int_equal(report.troubles, 1);
    assert_int_equal(axo_phases_troubles(phases, &trouble, 1), 1);
    assert_string_equal(trouble.phase, "slow");
    assert_true(trouble.late_ns > 0);
    assert_int_equal(axo_phases_free(phases), AXO_OK);
    kit_finish(k);
}

static void SH_09_failure(kit *k)
{
    axo_phases *phases = sh_new(k);
    axo_phase_trouble trouble;
    axo_phases_report report;
    sh_phase(phases, "fails", NULL, SH_FOREVER, 1);
    sh_phase(phases, "never", "fails", SH_FOREVER, 0);
    sh_call(phases, "fails", sh_stops, NULL);
    assert_int_equal(axo_phases_run(phases, &report), AXO_EFAILED);
    assert_int_equal(report.aborted, 1);
    assert_int_equal(report.ran, 1);
    assert_int_equal(axo_phases_troubles(phases, &trouble, 1), 1);
    assert_int_equal(trouble.status, AXO_ELIMIT);
    assert_int_equal(trouble.unfinished, 0);
    assert_int_equal(trouble.late_ns, 0);
    assert_int_equal(axo_phases_free(phases), AXO_OK);
    kit_finish(k);
}

static axo_status sh_count(void *user)
{
    atomic_fetch_add(&((sh_meeting *)user)->calls, 1);
    return AXO_OK;
}

typedef struct sh_runner {
    axo_phases *phases;
    axo_phases_report report;
    axo_status status;
    pthread_t thread;
} sh_runner;

static void *sh_run(void *arg)
{
    sh_runner *runner = arg;
    runner->status = axo_phases_run(runner->phases, &runner->report);
    return NULL;
}

static void SH_09_once(kit *k)
{
    enum { RUNNERS = 4 };
    axo_phases *phases = sh_new(k);
    sh_meeting meeting = {.k = k};
    sh_runner runners[RUNNERS];
    axo_phase late = AXO_PHASE(.name = "late");
    sh_phase(phases, "one", NULL, SH_FOREVER, 0);
    sh_call(phases, "one", sh_count, &meeting);
    for (uint32_t i = 0; i < RUNNERS; i++) {
        runners[i] = (sh_runner){.phases = phases};
        assert_int_equal(pthread_create(&runners[i].thread, NULL, sh_run, &runners[i]), 0);
    }
    for (uint32_t i = 0; i < RUNNERS; i++) {
        assert_int_equal(pthread_join(runners[i].thread, NULL), 0);
        assert_int_equal(runners[i].status, AXO_OK);
        assert_int_equal(runners[i].report.took_ns, runners[0].report.took_ns);
    }
    assert_int_equal(atomic_load(&meeting.calls), 1);
    assert_int_equal(axo_phases_start(phases), AXO_OK);
    assert_int_equal(axo_phases_add(phases, &late), AXO_EBUSY);
    assert_int_equal(axo_phases_cancel(phases, 1), AXO_EBUSY);
    assert_int_equal(atomic_load(&meeting.calls), 1);
    assert_int_equal(axo_phases_free(phases), AXO_OK);
    kit_finish(k);
}

static void SH_09_cancel(kit *k)
{
    kit_script *a = part_start(k, "a");
    axo_phases *phases = sh_new(k);
    sh_phase(phases, "one", NULL, SH_FOREVER, 0);
    uint32_t first = sh_ask(phases, "one", a, KIT_PING, 1);
    uint32_t second = sh_ask(phases, "one", a, KIT_PING, 2);
    assert_int_equal(axo_phases_cancel(phases, first), AXO_OK);
    assert_int_equal(axo_phases_cancel(phases, first), AXO_ENOENT);
    assert_int_not_equal(first, second);
    assert_int_equal(axo_phases_run(phases, NULL), AXO_OK);
    kit_expect(k, "a.ping=1", "a.ping(2)=1");
    assert_int_equal(axo_phases_free(phases), AXO_OK);
}

static void SH_09_total(kit *k)
{
    kit_script *a = part_start(k, "a");
    axo_phases *phases = sh_new(k);
    char text[400];
    char part[400];
    sh_phase(phases, "close", "drain", 3 * SH_MS, 1);
    sh_phase(phases, "drain", NULL, 0, 0);
    sh_phase(phases, "empty", NULL, SH_FOREVER, 0);
    sh_ask(phases, "close", a, KIT_PING, 1);
    sh_ask(phases, "drain", a, KIT_PING, 1);
    assert_int_equal(axo_phases_total_ns(phases), AXO_PHASE_TIMEOUT_NS + 3 * SH_MS);
    size_t whole = axo_phases_print(phases, text, sizeof text);
    assert_string_equal(text, "drain                      5000 ms  tasks: 1\n"
                              "close                         3 ms  tasks: 1, or abort\n"
                              "empty                         0 ms  tasks: 0\n"
                              "at most                    5003 ms\n");
    assert_int_equal(whole, strlen(text));
    for (size_t size = 1; size < whole; size += 7) {
        assert_int_equal(axo_phases_print(phases, part, size), whole);
        assert_int_equal(strlen(part), size - 1);
        assert_memory_equal(part, text, size - 1);
    }
    assert_int_equal(axo_phases_total_ns(NULL), 0);
    assert_int_equal(axo_phases_free(phases), AXO_OK);
    kit_finish(k);
}

/* ---- drains ---------------------------------------------------------------------------------- */

static void sh_drain(axo_phases *phases, const char *phase, axo_ref root, uint32_t tag)
{
    axo_task task = AXO_TASK(.phase = phase, .name = "drain", .kind = AXO_TASK_DRAIN, .tag = tag,
                             .actor = root);
    assert_int_equal(axo_phases_task(phases, &task, NULL), AXO_OK);
}

enum { SH_BYE = KIT_OTHER + 1 };

static axo_status sh_leaves(axo_ctx *ctx, void *state, const axo_message *message)
{
    return message->tag == SH_BYE ? axo_stop_self(ctx) : kit_receive(ctx, state, message);
}

static axo_status sh_stays(axo_ctx *ctx, void *state, const axo_message *message)
{
    return message->tag == SH_BYE ? AXO_OK : kit_receive(ctx, state, message);
}

/* All below an actor end in their phase; who does not is named. */
static void phases_drain(kit *k)
{
    kit_family f = kit_tree(k, "p(a, b, c)");
    axo_phases *phases = sh_new(k);
    axo_phases_report report;
    axo_phase_trouble trouble;
    part_tell_become(k, f.a, sh_leaves);
    part_tell_become(k, f.b, sh_leaves);
    part_tell_become(k, f.c, sh_stays);
    kit_settle(k);
    sh_phase(phases, "late", NULL, 160 * SH_MS * slower(), 0);
    sh_phase(phases, "stop", "late", SH_FOREVER, 0);
    sh_phase(phases, "again", "stop", SH_FOREVER, 1);
    sh_drain(phases, "late", kit_ref(f.p), SH_BYE);
    sh_stop(phases, "stop", f.c);
    sh_drain(phases, "again", kit_ref(f.p), SH_BYE);
    assert_int_equal(axo_phases_run(phases, &report), AXO_ETIMEDOUT);
    assert_int_equal(report.ran, 3);
    assert_int_equal(report.troubles, 1);
    assert_int_equal(axo_phases_troubles(phases, &trouble, 1), 1);
    assert_string_equal(trouble.phase, "late");
    assert_int_equal(trouble.status, AXO_ETIMEDOUT);
    assert_int_equal(trouble.unfinished, 1);
    assert_int_equal(axo_phases_free(phases), AXO_OK);
    kit_finish(k);
}

/* ---- misuse, no memory ----------------------------------------------------------------------- */

static void sh_refuses_tasks(axo_phases *phases, kit_script *a)
{
    axo_task task = AXO_TASK(.phase = "one", .name = "t", .actor = kit_ref(a));
    task.name = "";
    assert_int_equal(axo_phases_task(phases, &task, NULL), AXO_ENAME);
    task.name = "t";
    task.phase = "ghost";
    assert_int_equal(axo_phases_task(phases, &task, NULL), AXO_ENOENT);
    task.phase = "one";
    task.kind = AXO_TASK_DRAIN + 1;
    assert_int_equal(axo_phases_task(phases, &task, NULL), AXO_EINVAL);
    task.kind = AXO_TASK_CALL;
    assert_int_equal(axo_phases_task(phases, &task, NULL), AXO_EINVAL);
    task.tag = AXO_TAG_RESERVED;
    task.kind = AXO_TASK_DRAIN;
    assert_int_equal(axo_phases_task(phases, &task, NULL), AXO_EINVAL);
    task.kind = AXO_TASK_ASK;
    assert_int_equal(axo_phases_task(phases, &task, NULL), AXO_EINVAL);
    task.tag = 1;
    task.payload_size = 1;
    assert_int_equal(axo_phases_task(phases, &task, NULL), AXO_EINVAL);
    task.payload = "";
    task.payload_size = AXO_TASK_PAYLOAD_MAX + 1;
    assert_int_equal(axo_phases_task(phases, &task, NULL), AXO_ETOOBIG);
    task.size = 0;
    assert_int_equal(axo_phases_task(phases, &task, NULL), AXO_EINVAL);
    assert_int_equal(axo_phases_task(phases, NULL, NULL), AXO_EINVAL);
    assert_int_equal(axo_phases_total_ns(phases), 0);
}

static axo_status sh_on_worker(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    KIT_REQUIRE(self->k, axo_phases_run(arg, NULL) == AXO_ECONTEXT);
    KIT_REQUIRE(self->k, axo_phases_start(arg) == AXO_OK);
    kit_mark(self, "started", 0);
    return AXO_OK;
}

static void phases_refuse(kit *k)
{
    kit_script *a = part_start(k, "a");
    axo_phases *phases = NULL;
    axo_phase phase = AXO_PHASE(.name = "one");
    assert_int_equal(axo_phases_new(NULL, &phases), AXO_EINVAL);
    assert_int_equal(axo_phases_new(kit_system(k), NULL), AXO_EINVAL);
    phases = sh_new(k);
    assert_int_equal(axo_phases_add(NULL, &phase), AXO_EINVAL);
    assert_int_equal(axo_phases_add(phases, NULL), AXO_EINVAL);
    kit_no_memory(k, true);
    assert_int_equal(axo_phases_add(phases, &phase), AXO_ENOMEM);
    kit_no_memory(k, false);
    assert_int_equal(axo_phases_add(phases, &phase), AXO_OK);
    assert_int_equal(axo_phases_add(phases, &phase), AXO_EEXIST);
    phase.name = NULL;
    assert_int_equal(axo_phases_add(phases, &phase), AXO_ENAME);
    phase.name = "two";
    phase.timeout_ns = -1;
    assert_int_equal(axo_phases_add(phases, &phase), AXO_EINVAL);
    phase.size = 0;
    assert_int_equal(axo_phases_add(phases, &phase), AXO_EINVAL);
    sh_refuses_tasks(phases, a);
    assert_int_equal(axo_phases_cancel(NULL, 1), AXO_EINVAL);
    assert_int_equal(axo_phases_check(NULL, NULL, 0), AXO_EINVAL);
    assert_int_equal(axo_phases_check(phases, NULL, 1), AXO_EINVAL);
    assert_int_equal(axo_phases_print(NULL, NULL, 0), 0);
    assert_int_equal(axo_phases_start(NULL), AXO_EINVAL);
    assert_int_equal(axo_phases_run(NULL, NULL), AXO_EINVAL);
    assert_int_equal(axo_phases_troubles(NULL, NULL, 0), 0);
    assert_int_equal(axo_phases_free(NULL), AXO_OK);
    kit_run(k, a, sh_on_worker, phases);
    kit_await(k, "a.started");
    assert_int_equal(axo_phases_run(phases, NULL), AXO_OK);
    assert_int_equal(axo_phases_free(phases), AXO_OK);
    kit_finish(k);
}

/* After the system's end there is nobody to run it. */
static void phases_after_the_end(void **state)
{
    kit *k = kit_start(state, NULL);
    axo_phases *phases = sh_new(k);
    sh_phase(phases, "one", NULL, SH_FOREVER, 0);
    assert_int_equal(axo_system_stop(kit_system(k), SH_FOREVER, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_phases_run(phases, NULL), AXO_ESTOPPING);
    assert_int_equal(axo_phases_free(phases), AXO_OK);
    kit_finish_now(k);
}

static const struct CMUnitTest tests[] = {
    KIT_TEST("SH-09", SH_09),
    KIT_TEST("SH-09 parallel", SH_09_parallel),
    KIT_TEST("SH-09 cycle", SH_09_cycle),
    KIT_TEST("SH-09 late", SH_09_late),
    KIT_TEST("SH-09 abort", SH_09_abort),
    KIT_TEST("SH-09 late but done", SH_09_late_but_done),
    KIT_TEST("SH-09 failure", SH_09_failure),
    KIT_TEST("SH-09 once", SH_09_once),
    KIT_TEST("SH-09 cancel", SH_09_cancel),
    KIT_TEST("SH-09 total", SH_09_total),
    KIT_TEST("SH-09 drain", phases_drain),
    KIT_TEST("SH-09 refused", phases_refuse),
    KIT_TEST("SH-09 after the end", phases_after_the_end),
};

TEST_MAIN(tests)
