/* service_test.c - deadlines of ask, promise and graceful stop to the tick; full mailboxes; what is
 * taken back, answered twice, or outlives who asked. */
#include "api/service.h"

enum { SV_BIG = 100000 }; /* too large for a pool: a leak shows */

static char sv_bytes[SV_BIG];

typedef struct sv_ask {
    axo_ref to;
    int64_t timeout_ns;
    uint64_t id;
    axo_status status;
    axo_ref promise;
    uint32_t fill; /* messages that are sent to `to` before */
} sv_ask;

static void sv_ask_run(axo_ctx *ctx, sv_host *host, void *arg)
{
    sv_ask *ask = arg;
    (void)host;
    for (uint32_t i = 0; i < ask->fill; i++)
        assert_int_equal(axo_send(ctx, ask->to, SV_NOTE, NULL, 0), AXO_OK);
    ask->status = axo_ask(ctx, ask->to, SV_ASKED, sv_bytes, sizeof sv_bytes, ask->timeout_ns,
                          ask->id);
}

static void sv_promise_run(axo_ctx *ctx, sv_host *host, void *arg)
{
    sv_ask *ask = arg;
    (void)host;
    ask->status = axo_promise(ctx, ask->timeout_ns, ask->id, &ask->promise);
}

static void sv_farewell_run(axo_ctx *ctx, sv_host *host, void *arg)
{
    sv_ask *ask = arg;
    axo_farewell how = AXO_FAREWELL(.kind = AXO_FAREWELL_MESSAGE, .tag = SV_ASKED,
                                    .payload = sv_bytes, .payload_size = sizeof sv_bytes);
    (void)host;
    for (uint32_t i = 0; i < ask->fill; i++)
        assert_int_equal(axo_send(ctx, ask->to, SV_NOTE, NULL, 0), AXO_OK);
    ask->status = axo_graceful_stop(ctx, ask->to, &how, ask->timeout_ns, ask->id);
}

/* ---- deadlines ------------------------------------------------------------------------------- */

/* Nothing comes before the deadline; at the latest a tick after it exactly one verdict has. */
static void sv_late(sv_host *host, const sv_ask *ask, uint32_t tag, axo_status status)
{
    int64_t began = axo_testkit_now(host->kit);
    assert_int_equal(ask->status, AXO_OK);
    (void)axo_testkit_advance(host->kit, ask->timeout_ns - 1);
    assert_int_equal(host->count, 0);
    (void)axo_testkit_advance(host->kit, 1 + AXO_TICK_NS);
    const sv_row *row = sv_only(host, 0);
    assert_int_equal(row->tag, tag);
    assert_int_equal(row->status, status);
    assert_int_equal(row->id, ask->id);
    assert_true(row->at >= began + ask->timeout_ns);
    assert_true(row->waited_ns >= ask->timeout_ns);
    assert_true(row->waited_ns <= ask->timeout_ns + AXO_TICK_NS);
    (void)axo_testkit_advance(host->kit, AXO_TESTKIT_FOREVER); /* its timer is gone */
    (void)sv_only(host, 0);
}

static void an_ask_is_late_to_the_tick(void **state)
{
    sv_host host;
    sv_host silent;
    (void)state;
    sv_start(&host, NULL);
    sv_spawn(&silent, host.kit, "silent", NULL);
    sv_ask ask = {.to = silent.ref, .timeout_ns = 250 * SV_MS, .id = 7};
    sv_do(&host, sv_ask_run, &ask);
    sv_late(&host, &ask, AXO_ASK_FAILED, AXO_ETIMEDOUT);
    assert_int_equal(silent.rows[0].tag, SV_ASKED);
    sv_end(&host);
}

static void a_promise_is_late_to_the_tick(void **state)
{
    sv_host host;
    (void)state;
    sv_start(&host, NULL);
    sv_ask ask = {.timeout_ns = 3600 * SV_S, .id = 9};
    sv_do(&host, sv_promise_run, &ask);
    sv_late(&host, &ask, AXO_ASK_FAILED, AXO_ETIMEDOUT);
    sv_end(&host);
}

static void a_stop_is_late_to_the_tick(void **state)
{
    sv_host host;
    sv_host deaf;
    (void)state;
    sv_start(&host, NULL);
    sv_spawn(&deaf, host.kit, "deaf", NULL);
    sv_ask ask = {.to = deaf.ref, .timeout_ns = 90 * SV_S, .id = 3};
    sv_do(&host, sv_farewell_run, &ask);
    sv_late(&host, &ask, AXO_STOP_ENDED, AXO_ETIMEDOUT);
    assert_int_equal(deaf.rows[0].tag, SV_ASKED);
    sv_tell(&deaf, SV_QUIT); /* left as it was: it still may end, and nobody is told again */
    (void)sv_only(&host, 0);
    sv_end(&host);
}

/* Just in time: the end, not the deadline. */
static void a_stop_ends_in_time(void **state)
{
    sv_host host;
    sv_host slow;
    (void)state;
    sv_start(&host, NULL);
    sv_spawn(&slow, host.kit, "slow", NULL);
    sv_ask ask = {.to = slow.ref, .timeout_ns = 90 * SV_S, .id = 4};
    sv_do(&host, sv_farewell_run, &ask);
    (void)axo_testkit_advance(host.kit, 90 * SV_S - 1);
    sv_tell(&slow, SV_QUIT);
    const sv_row *row = sv_only(&host, 0);
    assert_int_equal(row->tag, AXO_STOP_ENDED);
    assert_int_equal(row->status, AXO_OK);
    assert_true(row->waited_ns == 90 * SV_S - 1);
    (void)axo_testkit_advance(host.kit, AXO_TESTKIT_FOREVER);
    (void)sv_only(&host, 0);
    sv_end(&host);
}

/* ---- full mailboxes -------------------------------------------------------------------------- */

static const axo_mailbox sv_one = AXO_MAILBOX(.messages_max = 1);

static void sv_refused(sv_fn fn)
{
    sv_host host;
    sv_host full;
    sv_start(&host, NULL);
    sv_spawn(&full, host.kit, "full", &sv_one);
    sv_ask ask = {.to = full.ref, .timeout_ns = SV_S, .id = 1, .fill = 1};
    sv_do(&host, fn, &ask);
    assert_int_equal(ask.status, AXO_EFULL);
    (void)axo_testkit_advance(host.kit, AXO_TESTKIT_FOREVER);
    assert_int_equal(host.count, 0); /* nothing comes */
    assert_int_equal(full.count, 1);
    assert_int_equal(full.rows[0].tag, SV_NOTE);
    sv_end(&host);
}

static void an_ask_is_refused(void **state)
{
    (void)state;
    sv_refused(sv_ask_run);
}

static void a_farewell_is_refused(void **state)
{
    (void)state;
    sv_refused(sv_farewell_run);
}

static const axo_mailbox sv_narrow[] = {
    AXO_MAILBOX(.messages_max = 1, .overflow = AXO_OVERFLOW_REFUSE),
    AXO_MAILBOX(.messages_max = 1, .overflow = AXO_OVERFLOW_DROP_NEW),
    AXO_MAILBOX(.messages_max = 1, .overflow = AXO_OVERFLOW_DROP_OLD),
    AXO_MAILBOX(.messages_max = 1, .overflow = AXO_OVERFLOW_PARK),
    AXO_MAILBOX(.bytes_max = 1),
};

/* The asker has no room when the waiter's turn comes: what was promised comes all the same. */
static void sv_crowd(bool answered, uint32_t tag)
{
    for (size_t i = 0; i < sizeof sv_narrow / sizeof sv_narrow[0]; i++) {
        sv_host host;
        sv_host crowded;
        sv_start(&host, NULL);
        sv_spawn(&crowded, host.kit, "crowded", &sv_narrow[i]);
        sv_ask ask = {.timeout_ns = SV_S, .id = 5};
        sv_do(&crowded, sv_promise_run, &ask);
        if (answered)
            assert_int_equal(
                axo_system_send(host.system, ask.promise, 77, sv_bytes, sizeof sv_bytes), AXO_OK);
        else
            assert_int_equal(axo_system_stop_actor(host.system, ask.promise), AXO_OK);
        assert_int_equal(axo_system_send(host.system, crowded.ref, SV_NOTE, NULL, 0), AXO_OK);
        (void)axo_testkit_run(host.kit);
        assert_int_equal(crowded.count, 2);
        assert_int_equal(crowded.rows[0].tag, SV_NOTE); /* it was full */
        assert_int_equal(crowded.rows[1].tag, tag);
        sv_end(&host);
    }
}

static void the_askers_mailbox_is_full(void **state)
{
    (void)state;
    sv_crowd(true, AXO_ASK_ANSWER);
}

static void a_verdict_finds_a_full_mailbox(void **state)
{
    (void)state;
    sv_crowd(false, AXO_ASK_FAILED);
}

/* Who asks a back-off supervisor has no room for its answer: a dead letter says so. */
static void a_keepers_answer_is_refused(void **state)
{
    static const uint32_t tags[] = {AXO_BACKOFF_GET_CHILD, AXO_BACKOFF_GET_COUNT, SV_ASKED};
    static sv_host unused;
    static sv_host *arg = &unused;
    axo_props child = AXO_PROPS(.cls = &sv_class, .args = &arg, .args_size = sizeof arg);
    axo_backoff delays = AXO_BACKOFF(.min_ns = 100 * SV_S, .max_ns = 100 * SV_S);
    axo_backoff_supervisor settings =
        AXO_BACKOFF_SUPERVISOR(.child = &child, .backoff = &delays, .when = AXO_ON_STOP,
                               .absent = AXO_ABSENT_REPLY, .absent_tag = SV_NOTE);
    (void)state;
    for (size_t i = 0; i < sizeof tags / sizeof tags[0]; i++) {
        sv_host host;
        sv_host crowded;
        axo_props props;
        axo_ref keeper;
        axo_dead_record letter;
        uint64_t letters = 0;
        sv_start(&host, NULL);
        sv_spawn(&crowded, host.kit, "crowded", &sv_narrow[0]);
        unused.kit = host.kit;
        assert_int_equal(axo_backoff_supervisor_props(&settings, "keeper", &props), AXO_OK);
        assert_int_equal(axo_system_spawn(host.system, &props, &keeper), AXO_OK);
        (void)axo_testkit_run(host.kit);
        assert_int_equal(axo_system_send(host.system, keeper, SV_QUIT, NULL, 0), AXO_OK);
        (void)axo_testkit_run(host.kit);
        assert_int_equal(axo_system_send_from(host.system, crowded.ref, keeper, tags[i], NULL, 0),
                         AXO_OK);
        assert_int_equal(axo_system_send(host.system, crowded.ref, SV_NOTE, NULL, 0), AXO_OK);
        (void)axo_testkit_run(host.kit);
        assert_int_equal(sv_only(&crowded, 0)->tag, SV_NOTE);
        assert_int_equal(axo_system_dead_letters(host.system, &letter, 1, &letters), 1);
        assert_int_equal(letters, 1);
        assert_int_equal(letter.reason, AXO_DEAD_DROPPED);
        assert_int_equal(letter.tag, tags[i]);
        assert_true(axo_ref_equal(letter.recipient, crowded.ref));
        sv_end(&host);
    }
}

/* ---- lifetimes ------------------------------------------------------------------------------- */

static uint32_t sv_freed;

static void sv_free(void *payload, void *user)
{
    (void)user;
    sv_freed++;
    free(payload);
}

static void sv_hand(sv_host *host, axo_ref to, axo_status expected)
{
    char *payload = malloc(SV_BIG);
    assert_non_null(payload);
    axo_status status = axo_system_send_owned(host->system, to, 77, payload, SV_BIG, sv_free, NULL);
    assert_int_equal(status, expected);
}

/* The first one is the answer, the second a dead letter; both are freed once. */
static void a_promise_is_kept_twice(void **state)
{
    sv_host host;
    axo_stats before = AXO_STATS(.sent = 0);
    axo_stats after = AXO_STATS(.sent = 0);
    (void)state;
    sv_start(&host, NULL);
    sv_ask ask = {.timeout_ns = SV_S, .id = 5};
    sv_freed = 0;
    sv_do(&host, sv_promise_run, &ask);
    assert_int_equal(axo_system_stats(host.system, &before), AXO_OK);
    sv_hand(&host, ask.promise, AXO_OK);
    sv_hand(&host, ask.promise, AXO_OK);
    (void)axo_testkit_run(host.kit);
    const sv_row *row = sv_only(&host, 0);
    assert_int_equal(row->tag, AXO_ASK_ANSWER);
    assert_int_equal(row->inner, 77);
    assert_int_equal(row->size, SV_BIG);
    assert_int_equal(sv_freed, 2);
    sv_hand(&host, ask.promise, AXO_EGONE);
    assert_int_equal(sv_freed, 3);
    assert_int_equal(axo_system_stats(host.system, &after), AXO_OK);
    assert_int_equal(after.dead - before.dead, 2);
    (void)axo_testkit_advance(host.kit, AXO_TESTKIT_FOREVER);
    (void)sv_only(&host, 0);
    sv_end(&host);
}

/* Neither the answer to an instance that is gone nor its deadline reaches the next one. */
static void the_asker_is_restarted(void **state)
{
    sv_host host;
    (void)state;
    sv_start(&host, NULL);
    sv_ask ask = {.timeout_ns = SV_S, .id = 5};
    sv_freed = 0;
    sv_do(&host, sv_promise_run, &ask);
    assert_int_equal(axo_system_send(host.system, host.ref, SV_FAIL, NULL, 0), AXO_OK);
    sv_hand(&host, ask.promise, AXO_OK); /* on the way while it fails */
    (void)axo_testkit_advance(host.kit, AXO_TESTKIT_FOREVER);
    assert_int_equal(host.instances, 2);
    assert_int_equal(host.count, 0);
    assert_int_equal(sv_freed, 1);
    sv_do(&host, sv_promise_run, &ask); /* the new one's own */
    sv_hand(&host, ask.promise, AXO_OK);
    (void)axo_testkit_run(host.kit);
    assert_int_equal(sv_only(&host, 0)->tag, AXO_ASK_ANSWER);
    assert_int_equal(sv_freed, 2);
    sv_end(&host);
}

static void the_asker_stops(void **state)
{
    sv_host host;
    (void)state;
    sv_start(&host, NULL);
    sv_ask ask = {.timeout_ns = SV_S, .id = 5};
    sv_freed = 0;
    sv_do(&host, sv_promise_run, &ask);
    assert_int_equal(axo_system_send(host.system, host.ref, SV_QUIT, NULL, 0), AXO_OK);
    sv_hand(&host, ask.promise, AXO_OK);
    (void)axo_testkit_advance(host.kit, AXO_TESTKIT_FOREVER);
    assert_int_equal(host.count, 0);
    assert_int_equal(sv_freed, 1);
    sv_end(&host);
}

static void sv_take_back(axo_ctx *ctx, sv_host *host, void *arg)
{
    sv_ask *ask = arg;
    (void)host;
    assert_int_equal(axo_stop(ctx, ask->promise), AXO_OK);
}

static void a_promise_is_taken_back(void **state)
{
    sv_host host;
    (void)state;
    sv_start(&host, NULL);
    sv_ask ask = {.timeout_ns = SV_S, .id = 5};
    sv_do(&host, sv_promise_run, &ask);
    sv_do(&host, sv_take_back, &ask);
    assert_int_equal(sv_only(&host, 0)->status, AXO_ESTOPPING);
    (void)axo_testkit_advance(host.kit, AXO_TESTKIT_FOREVER);
    (void)sv_only(&host, 0);
    sv_end(&host);
}

/* ---- without timers -------------------------------------------------------------------------- */

/* There is no timer for the deadline: the asker is told so, at once. */
static void no_timer_for_the_deadline(void **state)
{
    axo_options options = AXO_OPTIONS(.timers_max = 1);
    sv_host host;
    axo_timer timer;
    (void)state;
    sv_start(&host, &options);
    assert_int_equal(axo_system_schedule_once(host.system, SV_S, host.ref, SV_NOTE, NULL, 0,
                                              &timer), AXO_OK);
    sv_ask ask = {.timeout_ns = 5 * SV_S, .id = 5};
    sv_do(&host, sv_promise_run, &ask);
    assert_int_equal(ask.status, AXO_OK);
    assert_int_equal(sv_only(&host, 0)->status, AXO_ELIMIT);
    assert_true(axo_system_timer_cancel(host.system, timer));
    assert_false(axo_system_timer_cancel(host.system, timer));
    sv_end(&host);
}

/* ---- looking up ------------------------------------------------------------------------------ */

static void sv_find_in(axo_ctx *ctx, sv_host *host, void *arg)
{
    axo_ref *out = arg;
    uint32_t count = 0;
    (void)host;
    assert_int_equal(axo_find_all(ctx, "/user/many-*", out, 2, &count), AXO_OK);
    assert_int_equal(count, 4);
}

/* No more is written than there is room for, and the count is of all. */
static void finding_keeps_its_bounds(void **state)
{
    static const char *const names[] = {"many-1", "many-2", "many-3", "many-4"};
    sv_host host;
    sv_host many[4];
    axo_ref out[3];
    uint32_t count = 0;
    (void)state;
    sv_start(&host, NULL);
    for (int i = 0; i < 4; i++)
        sv_spawn(&many[i], host.kit, names[i], NULL);
    memset(out, 0xee, sizeof out);
    assert_int_equal(axo_system_find_all(host.system, "/user/many-*", out, 2, &count), AXO_OK);
    assert_int_equal(count, 4);
    assert_true(out[2].bits == UINT64_C(0xeeeeeeeeeeeeeeee));
    assert_false(axo_ref_equal(out[0], out[1]));
    sv_do(&host, sv_find_in, out);
    assert_true(out[2].bits == UINT64_C(0xeeeeeeeeeeeeeeee));
    assert_int_equal(axo_system_find_all(host.system, "/user/many-1", out, 0, &count), AXO_OK);
    assert_int_equal(count, 1);
    assert_int_equal(axo_system_find_all(host.system, "/user/many-?", NULL, 0, &count), AXO_OK);
    assert_int_equal(count, 4);
    assert_int_equal(axo_system_find_all(host.system, "/user/many-?", NULL, 1, &count),
                     AXO_EINVAL);
    assert_int_equal(count, 0);
    sv_end(&host);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(an_ask_is_late_to_the_tick),
    cmocka_unit_test(a_promise_is_late_to_the_tick),
    cmocka_unit_test(a_stop_is_late_to_the_tick),
    cmocka_unit_test(a_stop_ends_in_time),
    cmocka_unit_test(an_ask_is_refused),
    cmocka_unit_test(a_farewell_is_refused),
    cmocka_unit_test(the_askers_mailbox_is_full),
    cmocka_unit_test(a_verdict_finds_a_full_mailbox),
    cmocka_unit_test(a_keepers_answer_is_refused),
    cmocka_unit_test(a_promise_is_kept_twice),
    cmocka_unit_test(the_asker_is_restarted),
    cmocka_unit_test(the_asker_stops),
    cmocka_unit_test(a_promise_is_taken_back),
    cmocka_unit_test(no_timer_for_the_deadline),
    cmocka_unit_test(finding_keeps_its_bounds),
};
TEST_MAIN(tests)
