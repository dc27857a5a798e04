/* ask_system_test.c - ask from threads: many at once, payloads, races, ends; and what the verdict
 * knows. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "unit/pattern/ask.h"

/* ---- from threads ---------------------------------------------------------------------------- */

typedef struct ask_caller {
    kit *k;
    axo_ref to;
    pthread_t thread;
    uint32_t index;
    uint32_t wrong;
} ask_caller;

static void *ask_callers_main(void *arg)
{
    enum { ROUNDS = 40 };
    ask_caller *caller = arg;
    axo_system *system = kit_system(caller->k);
    for (int64_t i = 0; i < ROUNDS; i++) {
        kit_payload ping = {.value = caller->index * ROUNDS + i};
        axo_asked asked;
        axo_status status = axo_system_ask(system, caller->to, KIT_PING, &ping, sizeof ping,
                                           ASK_FOREVER, &asked);
        if (status != AXO_OK || asked.message.tag != KIT_PONG ||
            AXO_PAYLOAD(&asked.message, kit_payload)->value != ping.value ||
            !axo_ref_equal(asked.message.sender, caller->to))
            caller->wrong++;
        axo_asked_free(system, &asked);
    }
    return NULL;
}

static void threads_ask_at_once(kit *k)
{
    enum { CALLERS = 4 };
    kit_script *s = ask_server_start(k, NULL);
    ask_caller callers[CALLERS];
    for (uint32_t i = 0; i < CALLERS; i++) {
        callers[i] = (ask_caller){.k = k, .to = kit_ref(s), .index = i};
        assert_int_equal(
            pthread_create(&callers[i].thread, NULL, ask_callers_main, &callers[i]), 0);
    }
    for (uint32_t i = 0; i < CALLERS; i++) {
        assert_int_equal(pthread_join(callers[i].thread, NULL), 0);
        assert_int_equal(callers[i].wrong, 0);
    }
    kit_finish(k);
}

static void thread_gets_large_and_handed_payloads(kit *k)
{
    ask_shop *shop;
    kit_script *s = ask_server_start(k, &shop);
    axo_system *system = kit_system(k);
    size_t size = 1 << 20;
    axo_asked asked;
    assert_int_equal(
        axo_system_ask(system, kit_ref(s), ASK_BIG, &size, sizeof size, ASK_FOREVER, &asked),
        AXO_OK);
    assert_int_equal(asked.message.size, size);
    for (size_t i = 0; i < size; i += 4095)
        assert_int_equal(((const char *)asked.message.payload)[i], 7);
    assert_true(asked.waited_ns > 0);
    axo_asked_free(system, &asked);
    assert_null(asked.message.payload);
    axo_asked_free(system, &asked);
    assert_int_equal(
        axo_system_ask(system, kit_ref(s), ASK_OWNED, NULL, 0, ASK_FOREVER, &asked), AXO_OK);
    assert_string_equal(asked.message.payload, "handed!");
    assert_int_equal(asked.message.size, 8);
    assert_int_equal(asked.owned.size, 8);
    assert_int_equal(atomic_load(&shop->freed), 0);
    axo_asked_free(system, &asked);
    assert_int_equal(atomic_load(&shop->freed), 1);
    kit_finish(k);
}

/* The deadline and the answer race again and again: each answer is either the result or a dead
 * letter, and nobody writes to a caller that has returned. */
static void thread_deadline_races_with_the_answer(kit *k)
{
    enum { ROUNDS = 300 };
    kit_script *s = ask_server_start(k, NULL);
    axo_system *system = kit_system(k);
    uint32_t answered = 0;
    for (int64_t i = 0; i < ROUNDS; i++) {
        kit_payload ping = {.value = i};
        axo_asked asked;
        axo_status status = axo_system_ask(system, kit_ref(s), KIT_PING, &ping, sizeof ping,
                                           1 + i * 500, &asked);
        if (status == AXO_OK) {
            answered++;
            assert_int_equal(AXO_PAYLOAD(&asked.message, kit_payload)->value, i);
        } else {
            assert_int_equal(status, AXO_ETIMEDOUT);
            assert_int_equal(asked.verdict.status, AXO_ETIMEDOUT);
            assert_null(asked.message.payload);
        }
        axo_asked_free(system, &asked);
    }
    kit_await_count(k, "s.ping", ROUNDS);
    kit_settle(k);
    kit_await_count(k, "*.dl(2)", ROUNDS - answered);
    kit_expect_count(k, "*.dl(2)", ROUNDS - answered);
}

static void thread_learns_of_the_end(kit *k)
{
    kit_script *s = part_start(k, "s");
    axo_system *system = kit_system(k);
    axo_asked asked;
    char text[300];
    s->receive.run = part_stop_self;
    assert_int_equal(
        axo_system_ask(system, kit_ref(s), KIT_STOP_SELF, &(kit_payload){0}, sizeof(kit_payload),
                       ASK_FOREVER, &asked),
        AXO_EGONE);
    assert_int_equal(asked.verdict.status, AXO_EGONE);
    assert_string_equal(asked.verdict.path, "/user/s");
    assert_true(axo_verdict_text(&asked.verdict, text, sizeof text) < sizeof text);
    assert_non_null(strstr(text, "/user/s"));
    assert_non_null(strstr(text, "it is gone"));
    kit_await(k, "user.child_gone(s)");
    assert_int_equal(axo_system_ask(system, kit_ref(s), ASK_BIG, NULL, 0, ASK_FOREVER, &asked),
                     AXO_EGONE);
    kit_expect_count(k, "s.dl(1001)", 1); /* AS-02 */
    kit_finish(k);
}

/* A thread that waits while the system is stopped. */
static void *ask_until_the_end(void *arg)
{
    ask_caller *caller = arg;
    axo_asked asked;
    axo_status status = axo_system_ask(kit_system(caller->k), caller->to, ASK_SILENT, NULL, 0,
                                       ASK_FOREVER, &asked);
    caller->wrong = status != AXO_EGONE && status != AXO_ESTOPPING;
    caller->wrong += asked.message.payload != NULL;
    return NULL;
}

static void thread_is_freed_by_the_systems_end(void **state)
{
    kit *k = kit_start(state, NULL);
    kit_script *s = ask_server_start(k, NULL);
    axo_system *system = kit_system(k);
    ask_caller caller = {.k = k, .to = kit_ref(s)};
    axo_asked asked;
    assert_int_equal(pthread_create(&caller.thread, NULL, ask_until_the_end, &caller), 0);
    kit_await(k, "s.silent");
    assert_int_equal(axo_system_stop(system, ASK_FOREVER, NULL, 0, NULL), AXO_OK);
    assert_int_equal(pthread_join(caller.thread, NULL), 0);
    assert_int_equal(caller.wrong, 0);
    assert_int_equal(axo_system_ask(system, kit_ref(s), ASK_SILENT, NULL, 0, ASK_FOREVER, &asked),
                     AXO_ESTOPPING);
    assert_int_equal(asked.verdict.status, AXO_ESTOPPING);
    kit_finish_now(k);
}

/* Somebody stops the actor behind the ask: the thread does not wait on. */
static void *ask_until_stopped(void *arg)
{
    ask_caller *caller = arg;
    axo_asked asked;
    axo_status status = axo_system_ask(kit_system(caller->k), caller->to, ASK_SILENT, NULL, 0,
                                       ASK_FOREVER, &asked);
    caller->wrong = status != AXO_ESTOPPING || asked.verdict.status != AXO_ESTOPPING;
    return NULL;
}

static void thread_is_freed_by_a_stop(kit *k)
{
    ask_shop *shop;
    kit_script *s = ask_server_start(k, &shop);
    ask_caller caller = {.k = k, .to = kit_ref(s)};
    assert_int_equal(pthread_create(&caller.thread, NULL, ask_until_stopped, &caller), 0);
    kit_await(k, "s.silent");
    assert_int_equal(axo_system_stop_actor(kit_system(k), shop->last), AXO_OK);
    assert_int_equal(pthread_join(caller.thread, NULL), 0);
    assert_int_equal(caller.wrong, 0);
    kit_finish(k);
}

/* The same before it has run: the only worker is held. */
static void thread_is_freed_by_an_early_stop(kit *k)
{
    kit_script *s = ask_server_start(k, NULL);
    kit_gate *gate = kit_gate_new(k);
    ask_caller caller = {.k = k, .to = kit_ref(s)};
    assert_int_equal(kit_workers(k), 1);
    kit_wait_at(k, s, gate, 0);
    kit_gate_arrived(gate, 1);
    assert_int_equal(pthread_create(&caller.thread, NULL, ask_until_stopped, &caller), 0);
    kit_await(k, "*.spawn(system)");
    assert_int_equal(
        axo_system_stop_actor(kit_system(k), kit_find(k, "*.spawn(system)").actor), AXO_OK);
    kit_gate_open(gate);
    assert_int_equal(pthread_join(caller.thread, NULL), 0);
    assert_int_equal(caller.wrong, 0);
    kit_finish(k);
}

/* ---- what the verdict knows ------------------------------------------------------------------ */

static void ask_expect(const axo_verdict *verdict, const char *part)
{
    char text[512];
    assert_true(axo_verdict_text(verdict, text, sizeof text) < sizeof text);
    if (strstr(text, part) == NULL)
        fail_msg("\"%s\" is not in: %s", part, text);
}

/* The target is idle, running, queued behind others, suspended. */
static void verdict_says_what_the_target_does(kit *k)
{
    kit_script *s = ask_server_start(k, NULL);
    axo_system *system = kit_system(k);
    kit_gate *gate = kit_gate_new(k);
    axo_asked asked;
    int64_t deadline = ASK_MS;
    do { /* on a loaded machine it takes longer until the target has been at it */
        assert_int_equal(axo_system_ask(system, kit_ref(s), ASK_SILENT, NULL, 0, deadline, &asked),
                         AXO_ETIMEDOUT);
        deadline *= 4;
    } while (asked.verdict.doing != AXO_DOING_IDLE && deadline < ASK_FOREVER);
    assert_int_equal(asked.verdict.doing, AXO_DOING_IDLE);
    ask_expect(&asked.verdict, "it is idle");
    ask_expect(&asked.verdict, "asked with tag 1003");
    ask_expect(&asked.verdict, "the deadline passed after");
    kit_wait_at(k, s, gate, 0);
    kit_gate_arrived(gate, 1);
    assert_int_equal(
        axo_system_ask(system, kit_ref(s), ASK_SILENT, NULL, 0, ASK_MS, &asked), AXO_ETIMEDOUT);
    assert_int_equal(asked.verdict.doing, AXO_DOING_RUNNING);
    assert_int_equal(asked.verdict.running_has_tag, 1);
    assert_int_equal(asked.verdict.running_tag, KIT_WAIT);
    ask_expect(&asked.verdict, "it is running tag 15 since ");
    kit_gate_open(gate);
    kit_finish(k);
}

/* Suspended: its supervisor's decider waits. With one worker that would be the only one. */
static void verdict_says_suspended(void **state)
{
    kit *k = kit_start(state, NULL);
    kit_script *p = kit_actor(k, "p");
    kit_script *c = kit_actor(k, "c");
    axo_asked asked;
    axo_actor_info info = AXO_ACTOR_INFO();
    if (kit_workers(k) == 1) {
        kit_finish(k);
        return;
    }
    p->pre_start.spawn[0] = c;
    p->decider.gate = kit_gate_new(k);
    p->directive = AXO_RESUME;
    kit_spawn(k, p);
    kit_await(k, "c.preStart");
    kit_tell(k, c, KIT_FAIL, 7);
    kit_gate_arrived(p->decider.gate, 1);
    for (uint32_t i = 0; info.doing != AXO_DOING_SUSPENDED; i++) { /* its turn may not be over */
        assert_true(i < 10000);
        usleep(1000);
        assert_int_equal(
            axo_system_inspect(kit_system(k), kit_ref(c), axo_ref_none(), &info), AXO_OK);
    }
    kit_tell(k, c, KIT_NOTE, 7);
    assert_int_equal(axo_system_ask(kit_system(k), kit_ref(c), KIT_NOTE, &(kit_payload){0},
                                    sizeof(kit_payload), ASK_MS, &asked),
                     AXO_ETIMEDOUT);
    assert_int_equal(asked.verdict.doing, AXO_DOING_SUSPENDED);
    assert_int_equal(asked.verdict.place, 2);
    assert_int_equal(asked.verdict.queued, 2);
    ask_expect(&asked.verdict, "/user/p/c");
    ask_expect(&asked.verdict, "it is suspended, the request is at place 2 of 2");
    kit_gate_open(p->decider.gate);
    kit_finish(k);
}

static axo_status ask_named_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    return AXO_OK;
}

static void verdict_knows_names_of_tags(void **state)
{
    static const axo_class named =
        AXO_CLASS(.name = "named", .receive = ask_named_receive, .tag_name = ask_tag_name);
    kit *k = kit_start(state, NULL);
    axo_system *system = kit_system(k);
    axo_ref ref;
    axo_asked asked;
    char name[8];
    axo_props props = AXO_PROPS(.cls = &named, .name = "n");
    assert_int_equal(axo_system_spawn(system, &props, &ref), AXO_OK);
    assert_int_equal(axo_system_ask(system, ref, ASK_SILENT, NULL, 0, ASK_MS, &asked),
                     AXO_ETIMEDOUT);
    assert_string_equal(asked.verdict.tag_name, "SILENT");
    ask_expect(&asked.verdict, "asked with SILENT (tag 1003)");
    assert_int_equal(axo_system_tag_name(system, ref, ASK_SILENT, name, 3), AXO_OK);
    assert_string_equal(name, "SI");
    assert_int_equal(axo_system_tag_name(system, ref, 1, name, sizeof name), AXO_OK);
    assert_string_equal(name, "");
    kit_finish_now(k);
}

/* Cut anywhere, a text ends with its zero and says how long it would be. */
static void verdict_text_is_cut(void **state)
{
    axo_verdict verdict = {.id = 3, .status = AXO_ETIMEDOUT, .waited_ns = 1500, .timeout_ns = 1000};
    char text[256];
    char part[256];
    size_t whole = axo_verdict_text(&verdict, text, sizeof text);
    assert_string_equal(text, "promise 3: the deadline passed after 1500 ns of 1000 ns");
    assert_int_equal(whole, strlen(text));
    for (size_t size = 1; size <= whole + 1; size++) {
        memset(part, '#', sizeof part);
        assert_int_equal(axo_verdict_text(&verdict, part, size), whole);
        assert_int_equal(strlen(part), size - 1);
        assert_memory_equal(part, text, size - 1);
        assert_int_equal(part[size], '#');
    }
    assert_int_equal(axo_verdict_text(&verdict, NULL, 0), whole);
    assert_int_equal(axo_verdict_text(NULL, text, sizeof text), 0);
    assert_string_equal(text, "");
}

/* ---- no memory ----------------------------------------------------------------------------- */

static void thread_is_refused_without_memory(kit *k)
{
    enum { ASKS = 1 << 14 };
    kit_script *s = ask_server_start(k, NULL);
    axo_asked asked;
    axo_status status = AXO_OK;
    kit_no_memory(k, true);
    for (uint32_t i = 0; i < ASKS && status != AXO_ENOMEM; i++)
        status = axo_system_ask(kit_system(k), kit_ref(s), KIT_PING, &(kit_payload){0},
                                sizeof(kit_payload), ASK_FOREVER, &asked);
    assert_int_equal(status, AXO_ENOMEM);
    assert_int_equal(asked.verdict.status, AXO_ENOMEM);
    assert_null(asked.message.payload);
    kit_no_memory(k, false);
    assert_int_equal(axo_system_ask(kit_system(k), kit_ref(s), KIT_PING, &(kit_payload){0},
                                    sizeof(kit_payload), ASK_FOREVER, &asked),
                     AXO_OK);
    axo_asked_free(kit_system(k), &asked);
    kit_finish(k);
}

static const struct CMUnitTest tests[] = {
    KIT_TEST("threads at once", threads_ask_at_once),
    KIT_TEST("thread: large and handed", thread_gets_large_and_handed_payloads),
    KIT_TEST("thread: deadline races", thread_deadline_races_with_the_answer),
    KIT_TEST("thread: the target's end", thread_learns_of_the_end),
    KIT_TEST("thread: the system's end", thread_is_freed_by_the_systems_end),
    KIT_TEST("thread: stopped", thread_is_freed_by_a_stop),
    KIT_TEST_ONE("thread: stopped early", thread_is_freed_by_an_early_stop, 1, "worker"),
    KIT_TEST("verdict: what it does", verdict_says_what_the_target_does),
    KIT_TEST("verdict: suspended", verdict_says_suspended),
    KIT_TEST("verdict: names", verdict_knows_names_of_tags),
    KIT_TEST_ONE("verdict: cut", verdict_text_is_cut, 1, "worker"),
    KIT_TEST("thread without memory", thread_is_refused_without_memory),
};

TEST_MAIN(tests)
