/* opening_test.c - the actors behind calls, plans and their callbacks, between their birth and the
 * message that brings them what they work on: others may have found them by then, and send. */
#include <stdatomic.h>
#include <time.h>

#include <axo/axo.h>

/* Whoever brings something is preceded by strangers. */
static axo_status opening_send_owned(axo_system *system, axo_ref to, uint32_t tag, void *payload,
                                     size_t size, axo_payload_free destroy, void *user);
static axo_status opening_send_from(axo_system *system, axo_ref from, axo_ref to, uint32_t tag,
                                    const void *payload, size_t size);
#define axo_system_send_owned opening_send_owned
#define axo_system_send_from opening_send_from
#include "pattern/call.c"
#include "pattern/phases_run.c"
#undef axo_system_send_owned
#undef axo_system_send_from

#include "api/service.h"

enum { STRANGERS_MAX = 64 };

static struct {
    axo_testkit *kit;    /* NULL: threads run the system */
    axo_ref relay;       /* passes on to `to` what comes */
    axo_ref to;
    uint32_t sent;
    uint32_t handed;
    _Atomic uint32_t freed;
    _Atomic uint32_t called;
    _Atomic uint32_t relayed;
    axo_ref opened;
    bool answer_first;   /* a stranger answers in a callback's place */
    bool kill_first;     /* it is made to fail before it is brought anything */
    bool refuses;        /* what a callback is brought finds no memory */
} op;

static void op_free(void *payload, void *user)
{
    assert_ptr_equal(user, &op);
    memset(payload, 0xdd, sizeof(axo__call));
    free(payload);
    op.freed++;
}

static void op_free_not(void *payload, void *user)
{
    assert_ptr_equal(user, &op);
    op.freed++;
}

static void op_hand(axo_system *system, axo_ref to, uint32_t tag, void *payload, size_t size,
                    axo_payload_free destroy)
{
    assert_int_equal(axo_system_send_owned(system, to, tag, payload, size, destroy, &op), AXO_OK);
    op.handed++;
    op.sent++;
}

static void *op_block(void)
{
    void *block = malloc(sizeof(axo__call));
    assert_non_null(block);
    memset(block, 0xee, sizeof(axo__call));
    return block;
}

static void op_copy(axo_system *system, axo_ref from, axo_ref to, uint32_t tag, size_t size)
{
    static const uint8_t bytes[sizeof(axo__call) + 64] = {0xee, 0xee};
    assert_int_equal(axo_system_send_from(system, from, to, tag, bytes, size), AXO_OK);
    op.sent++;
}

/* Messages with this tag in every form; `genuine` is what will be brought. */
static void op_strangers(axo_system *system, axo_ref to, uint32_t tag, void *genuine)
{
    static const size_t sizes[] = {0, 1, 4, 7, 9, 64, sizeof(axo__call), sizeof(axo__call) + 64};
    axo_ref senders[] = {axo_ref_none(), to, {.bits = to.bits ^ 1}, op.relay};
    for (uint32_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (uint32_t k = 0; k < sizeof senders / sizeof senders[0]; k++)
            op_copy(system, senders[k], to, tag, sizes[i]);
    }
    op_hand(system, to, tag, op_block(), sizeof(axo__call), op_free);
    op_hand(system, to, tag, op_block(), 1, op_free);
    op_hand(system, to, tag, op_block(), 0, op_free);
    op_hand(system, to, tag, (void *)(uintptr_t)8, 0, op_free_not); /* no pointer at all */
    if (genuine != NULL) /* by who knows where it lies */
        op_hand(system, to, tag, genuine, sizeof(axo__call), op_free_not);
    if (op.kit != NULL) {
        op.to = to;
        op_hand(system, op.relay, tag, op_block(), sizeof(axo__call), op_free);
        op_copy(system, to, op.relay, tag, 8);
        (void)axo_testkit_run(op.kit);
    }
}

static axo_status opening_send_owned(axo_system *system, axo_ref to, uint32_t tag, void *payload,
                                     size_t size, axo_payload_free destroy, void *user)
{
    op.opened = to;
    op_strangers(system, to, tag, payload);
    if (op.kill_first) {
        assert_int_equal(axo_system_fail(system, to, AXO_FAILURE_ORDINARY, 1), AXO_OK);
        if (op.kit != NULL)
            (void)axo_testkit_run(op.kit);
    }
    return axo_system_send_owned(system, to, tag, payload, size, destroy, user);
}

static axo_status opening_send_from(axo_system *system, axo_ref from, axo_ref to, uint32_t tag,
                                    const void *payload, size_t size)
{
    axo_status wrong = AXO_OK;
    if (tag == PHASES_TAG_CALL && op.refuses)
        return AXO_ENOMEM;
    if (tag == PHASES_TAG_CALL) {
        op_strangers(system, to, tag, NULL);
        op_copy(system, from, to, tag, 8);
    }
    if (op.answer_first)
        assert_int_equal(axo_system_send_from(system, to, from, SV_NOTE, &wrong, sizeof wrong),
                         AXO_OK);
    return axo_system_send_from(system, from, to, tag, payload, size);
}

static axo_status op_relay_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    assert_int_equal(axo_forward(ctx, message, op.to), AXO_OK);
    op.relayed++;
    return AXO_OK;
}

static void op_start(sv_host *host)
{
    static const axo_class relay_class = AXO_CLASS(.receive = op_relay_receive);
    axo_props props = AXO_PROPS(.cls = &relay_class);
    memset((void *)&op, 0, sizeof op);
    sv_start(host, NULL);
    op.kit = host->kit;
    assert_int_equal(axo_system_spawn(host->system, &props, &op.relay), AXO_OK);
    (void)axo_testkit_run(op.kit);
}

static void op_end(sv_host *host)
{
    sv_end(host);
    assert_int_equal(op.freed, op.handed);
}

static axo_stats op_stats(axo_system *system)
{
    axo_stats stats = AXO_STATS(.sent = 0);
    assert_int_equal(axo_system_stats(system, &stats), AXO_OK);
    return stats;
}

/* ---- calls ---- */

static axo__call *op_open(sv_host *host, axo__wait_kind kind, axo_ref *actor)
{
    axo__wait wait = {.kind = kind, .target = host->ref, .timeout_ns = SV_S,
                      .farewell = AXO_FAREWELL_MESSAGE, .since_ns = axo_system_now(host->system)};
    axo__call *call = NULL;
    assert_int_equal(axo__call_open(host->system, &wait, &call, actor), AXO_OK);
    (void)axo_testkit_run(host->kit);
    return call;
}

/* The call is opened by what brings it, and answered by an answer. */
static void a_call_hears_strangers(void **state)
{
    sv_host host;
    axo_ref actor;
    axo_asked asked = {.waited_ns = 0};
    op_start(&host);
    axo__call *call = op_open(&host, AXO__WAIT_ASK, &actor);
    assert_int_equal(op.relayed, 2);
    assert_int_equal(op_stats(host.system).unhandled, op.sent);
    op_strangers(host.system, actor, AXO__TAG_CALL_OPEN, call);
    assert_int_equal(axo_system_subscribe(host.system, actor, AXO_KIND_USER), AXO_OK);
    assert_int_equal(axo_system_publish(host.system, AXO_KIND_USER, "event", 6), AXO_OK);
    (void)axo_testkit_run(host.kit);
    assert_int_equal(op_stats(host.system).unhandled, op.sent);
    assert_false(call->closed);
    assert_int_equal(axo_system_send_from(host.system, host.ref, actor, SV_NOTE, "yes", 4), AXO_OK);
    (void)axo_testkit_run(host.kit);
    assert_int_equal(axo__call_wait(call, actor), AXO_OK);
    axo__call_take_answer(call, &asked);
    assert_int_equal(asked.message.tag, SV_NOTE);
    assert_int_equal(asked.message.size, 4);
    assert_memory_equal(asked.message.payload, "yes", 4);
    axo__call_drop(call);
    axo_asked_free(host.system, &asked);
    op_end(&host);
}

static void a_stop_hears_strangers(void **state)
{
    sv_host host;
    axo_ref actor;
    op_start(&host);
    axo__call *call = op_open(&host, AXO__WAIT_STOP, &actor);
    op_strangers(host.system, actor, AXO__TAG_CALL_OPEN, call);
    op_strangers(host.system, actor, AXO__TAG_WAIT_OVER, call);
    assert_int_equal(op_stats(host.system).unhandled, op.sent);
    assert_false(call->closed);
    sv_tell(&host, SV_QUIT);
    assert_int_equal(axo__call_wait(call, actor), AXO_OK);
    axo__call_drop(call);
    op_end(&host);
}

/* One that is made to fail has nothing to wait for: the thread is told, and no actor stays. */
static void a_call_is_made_to_fail(void **state)
{
    for (uint32_t early = 0; early < 2; early++) {
        sv_host host;
        axo_ref actor;
        op_start(&host);
        op.kill_first = early == 1;
        axo__call *call = op_open(&host, AXO__WAIT_ASK, &actor);
        assert_int_equal(axo_system_fail(host.system, actor, AXO_FAILURE_ORDINARY, 1),
                         early ? AXO_EGONE : AXO_OK);
        (void)axo_testkit_run(host.kit);
        assert_int_equal(axo__call_wait(call, actor), AXO_ESTOPPING);
        axo__call_drop(call);
        assert_int_equal(op_stats(host.system).actors, 5); /* three guardians, host, relay */
        op_end(&host);
    }
}

/* ---- plans ---- */

static void a_plan_hears_strangers(void **state)
{
    for (uint32_t fails = 0; fails < 2; fails++) {
        sv_host host;
        axo_phases *phases;
        axo_phase first = AXO_PHASE(.name = "first");
        axo_phase second = AXO_PHASE(.name = "second");
        axo_phases_report report;
        op_start(&host);
        op.kill_first = fails == 1;
        assert_int_equal(axo_phases_new(host.system, &phases), AXO_OK);
        assert_int_equal(axo_phases_add(phases, &first), AXO_OK);
        assert_int_equal(axo_phases_add(phases, &second), AXO_OK);
        assert_int_equal(axo_phases_start(phases), AXO_OK);
        assert_int_equal(phases->state, AXO__PHASES_RUNNING); /* no stranger has begun it */
        assert_int_equal(op_stats(host.system).unhandled, op.sent);
        (void)axo_testkit_run(host.kit);
        assert_int_equal(phases->state, AXO__PHASES_OVER);
        assert_int_equal(axo_phases_run(phases, &report), AXO_OK);
        assert_int_equal(report.ran, 2);
        assert_int_equal(axo_phases_free(phases), AXO_OK);
        op_end(&host);
    }
}

/* ---- callbacks of plans, on threads ---- */

static axo_status op_call(void *user)
{
    op.called++;
    return *(const axo_status *)user;
}

/* The guardians stay, and nobody who stood behind the plan. */
static void op_await_guardians(axo_system *system)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    for (uint32_t i = 0; op_stats(system).actors > 3; i++) {
        assert_true(i < 8000);
        (void)nanosleep(&pause, NULL);
    }
}

static axo_status op_run_callback(axo_status returned, axo_phase_trouble *trouble)
{
    axo_options options = AXO_OPTIONS(.workers = 1);
    axo_phase phase = AXO_PHASE(.name = "only", .timeout_ns = 20 * SV_S);
    axo_task task = AXO_TASK(.phase = "only", .name = "callback", .kind = AXO_TASK_CALL,
                             .call = op_call, .user = &returned);
    axo_system *system;
    axo_phases *phases;
    axo_phases_report report;
    op.kit = NULL;
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    assert_int_equal(axo_phases_new(system, &phases), AXO_OK);
    assert_int_equal(axo_phases_add(phases, &phase), AXO_OK);
    assert_int_equal(axo_phases_task(phases, &task, NULL), AXO_OK);
    axo_status status = axo_phases_run(phases, &report);
    assert_int_equal(axo_phases_troubles(phases, trouble, 1), report.troubles);
    assert_int_equal(axo_phases_free(phases), AXO_OK);
    op_await_guardians(system);
    assert_int_equal(axo_system_stop(system, 20 * SV_S, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
    assert_int_equal(op.freed, op.handed);
    return status;
}

/* Once, and not for a stranger. */
static void a_callback_hears_strangers(void **state)
{
    axo_phase_trouble trouble = {.status = AXO_OK};
    memset((void *)&op, 0, sizeof op);
    assert_int_equal(op_run_callback(AXO_OK, &trouble), AXO_OK);
    assert_int_equal(op.called, 1);
    assert_true(op.sent > 2 * 30);
    assert_int_equal(op_run_callback(AXO_ENAME, &trouble), AXO_EFAILED);
    assert_int_equal(trouble.status, AXO_ENAME);
    assert_int_equal(op.called, 2);
}

/* Who answers in its place is not believed. */
static void a_callback_is_not_spoken_for(void **state)
{
    axo_phase_trouble trouble = {.status = AXO_OK};
    memset((void *)&op, 0, sizeof op);
    op.answer_first = true;
    assert_int_equal(op_run_callback(AXO_OK, &trouble), AXO_EFAILED);
    assert_int_equal(trouble.status, AXO_EFAILED);
}

/* What cannot be asked does not wait to be asked. */
static void a_callback_that_is_refused_goes(void **state)
{
    axo_phase_trouble trouble = {.status = AXO_OK};
    memset((void *)&op, 0, sizeof op);
    op.refuses = true;
    assert_int_equal(op_run_callback(AXO_OK, &trouble), AXO_EFAILED);
    assert_int_equal(trouble.status, AXO_ENOMEM);
    assert_int_equal(op.called, 0);
}

/* ---- a plan and handlers that hang ---- */

static atomic_bool op_released;

static axo_status op_hang(axo_ctx *ctx, void *state, const axo_message *message)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    while (!atomic_load(&op_released))
        (void)nanosleep(&pause, NULL);
    return AXO_OK;
}

static bool op_is_over(axo_phases *phases)
{
    (void)pthread_mutex_lock(&phases->mutex);
    bool over = phases->state == AXO__PHASES_OVER;
    (void)pthread_mutex_unlock(&phases->mutex);
    return over;
}

/* All threads that may block hang: the callback has none, but the plan goes on and says so. */
static void a_plan_does_not_wait_for_hung_handlers(void **state)
{
    static const axo_class hung = AXO_CLASS(.name = "hung", .receive = op_hang);
    const struct timespec pause = {.tv_nsec = 1000000};
    axo_options options = AXO_OPTIONS(.workers = 1, .blocking_max = 1);
    axo_props props = AXO_PROPS(.cls = &hung, .dispatcher = AXO_DISPATCH_BLOCKING);
    axo_status returned = AXO_OK;
    axo_phase phase = AXO_PHASE(.name = "only", .timeout_ns = 5000000);
    axo_task task = AXO_TASK(.phase = "only", .name = "callback", .kind = AXO_TASK_CALL,
                             .call = op_call, .user = &returned);
    axo_phases_report report;
    axo_phases *phases;
    axo_system *system;
    axo_ref ref;
    memset((void *)&op, 0, sizeof op);
    atomic_store(&op_released, false);
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    assert_int_equal(axo_system_spawn(system, &props, &ref), AXO_OK);
    assert_int_equal(axo_system_send(system, ref, 1, NULL, 0), AXO_OK);
    assert_int_equal(axo_phases_new(system, &phases), AXO_OK);
    assert_int_equal(axo_phases_add(phases, &phase), AXO_OK);
    assert_int_equal(axo_phases_task(phases, &task, NULL), AXO_OK);
    assert_int_equal(axo_phases_start(phases), AXO_OK);
    for (uint32_t i = 0; !op_is_over(phases); i++) {
        assert_true(i < 8000);
        (void)nanosleep(&pause, NULL);
    }
    assert_int_equal(axo_phases_run(phases, &report), AXO_ETIMEDOUT);
    assert_int_equal(report.troubles, 1);
    atomic_store(&op_released, true);
    assert_int_equal(axo_phases_free(phases), AXO_OK);
    assert_int_equal(axo_system_stop(system, 20 * SV_S, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_plan_does_not_wait_for_hung_handlers),
    cmocka_unit_test(a_call_hears_strangers),
    cmocka_unit_test(a_stop_hears_strangers),
    cmocka_unit_test(a_call_is_made_to_fail),
    cmocka_unit_test(a_plan_hears_strangers),
    cmocka_unit_test(a_callback_hears_strangers),
    cmocka_unit_test(a_callback_is_not_spoken_for),
    cmocka_unit_test(a_callback_that_is_refused_goes),
};
TEST_MAIN(tests)
