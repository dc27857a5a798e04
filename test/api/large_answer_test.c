/* large_answer_test.c - answers as large as a message can be: what an ask can carry comes whole,
 * and of what it cannot the asker is told, and the answer is a dead letter. */
#include "api/service.h"

static struct {
    axo_ref asked_by;
    size_t size;       /* of the answer */
    bool handed;       /* it is handed over */
    char *bytes;
    uint32_t freed;
    uint32_t letters;
    size_t dead;       /* bytes of the last of them */
    uint32_t dead_tag;
    size_t came;       /* bytes of what came to the asker */
    bool whole;
    axo_verdict verdict;
} la;

static void la_letter(void *user, const axo_dead_letter *letter)
{
    la.letters++;
    la.dead = letter->message->size;
    la.dead_tag = letter->message->tag;
}

static void la_free(void *payload, void *user)
{
    assert_ptr_equal(payload, la.bytes);
    assert_ptr_equal(user, &la);
    la.freed++;
}

static axo_status la_target(axo_ctx *ctx, void *state, const axo_message *message)
{
    axo_status status =
        la.handed ? axo_send_owned(ctx, message->sender, SV_NOTE, la.bytes, la.size, la_free, &la)
                  : axo_reply(ctx, message, SV_NOTE, la.bytes, la.size);
    assert_int_equal(status, AXO_OK);
    return AXO_OK;
}

/* What is in a message lives as long as it. */
static axo_status la_asker(axo_ctx *ctx, void *state, const axo_message *message)
{
    if (message->tag == AXO_ASK_ANSWER || message->tag == SV_NOTE) {
        axo_message answer = message->tag == SV_NOTE ? *message : axo_answer_of(message);
        const char *bytes = answer.payload;
        la.came = answer.size;
        la.whole = answer.size == la.size && bytes[0] == 'a' && bytes[la.size - 1] == 'z';
    } else if (message->tag == AXO_ASK_FAILED) {
        la.verdict = *AXO_PAYLOAD(message, axo_verdict);
    }
    return sv_receive(ctx, state, message);
}

static void la_become(axo_ctx *ctx, sv_host *host, void *arg)
{
    assert_int_equal(axo_become(ctx, la_asker), AXO_OK);
}

static void la_ask(axo_ctx *ctx, sv_host *host, void *arg)
{
    assert_int_equal(axo_ask(ctx, *(const axo_ref *)arg, SV_ASKED, NULL, 0, SV_S, 7), AXO_OK);
}

static void la_promise(axo_ctx *ctx, sv_host *host, void *arg)
{
    assert_int_equal(axo_promise(ctx, SV_S, 8, arg), AXO_OK);
}

/* Asks for an answer of this size, and waits. */
static void la_try(sv_host *host, axo_ref target, size_t size, bool handed)
{
    la.size = size;
    la.handed = handed;
    la.came = 0;
    la.whole = false;
    memset(&la.verdict, 0, sizeof la.verdict);
    la.bytes = calloc(1, size);
    assert_non_null(la.bytes);
    la.bytes[0] = 'a';
    la.bytes[size - 1] = 'z';
    host->count = 0;
    sv_do(host, la_ask, &target);
    (void)axo_testkit_advance(host->kit, 2 * SV_S);
    free(la.bytes);
    assert_int_equal(host->count, 1); /* exactly one: an answer or a verdict */
}

static axo_ref la_start(sv_host *host)
{
    static const axo_class cls = AXO_CLASS(.name = "target", .receive = la_target);
    axo_options options = AXO_OPTIONS(.on_dead_letter = la_letter);
    axo_props props = AXO_PROPS(.cls = &cls, .name = "target");
    axo_ref target;
    memset(&la, 0, sizeof la);
    sv_start(host, &options);
    sv_do(host, la_become, NULL);
    assert_int_equal(axo_system_spawn(host->system, &props, &target), AXO_OK);
    (void)axo_testkit_run(host->kit);
    return target;
}

static void la_refused(const sv_host *host, size_t size)
{
    assert_int_equal(host->rows[0].tag, AXO_ASK_FAILED);
    assert_int_equal(la.verdict.status, AXO_ETOOBIG);
    assert_int_equal(la.verdict.id, host->rows[0].id);
    assert_int_equal(la.letters, 1);
    assert_int_equal(la.dead, size);
    assert_int_equal(la.dead_tag, SV_NOTE);
}

static void the_largest_comes_whole(void **state)
{
    sv_host host;
    axo_ref target = la_start(&host);
    la_try(&host, target, AXO_ANSWER_MAX, false);
    assert_int_equal(host.rows[0].tag, AXO_ASK_ANSWER);
    assert_true(la.whole);
    la_try(&host, target, AXO_PAYLOAD_MAX, true); /* handed over: it is not copied */
    assert_int_equal(host.rows[0].tag, AXO_ASK_ANSWER);
    assert_true(la.whole);
    assert_int_equal(la.freed, 1);
    assert_int_equal(la.letters, 0);
    sv_end(&host);
}

static void one_that_is_too_large(void **state)
{
    static const size_t sizes[] = {AXO_ANSWER_MAX + 1, AXO_PAYLOAD_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        sv_host host;
        char text[512];
        axo_ref target = la_start(&host);
        la_try(&host, target, sizes[i], false);
        la_refused(&host, sizes[i]);
        assert_true(axo_verdict_text(&la.verdict, text, sizeof text) < sizeof text);
        assert_non_null(strstr(text, "/user/target"));
        assert_non_null(strstr(text, "larger than the limit"));
        la_try(&host, target, 8, false); /* the next one is well */
        assert_int_equal(host.rows[0].tag, AXO_ASK_ANSWER);
        sv_end(&host);
    }
}

static void a_promise_that_is_kept_too_largely(void **state)
{
    sv_host host;
    axo_ref promise;
    (void)la_start(&host);
    sv_do(&host, la_promise, &promise);
    char *bytes = calloc(1, AXO_PAYLOAD_MAX);
    assert_non_null(bytes);
    assert_int_equal(axo_system_send(host.system, promise, SV_NOTE, bytes, AXO_PAYLOAD_MAX),
                     AXO_OK);
    free(bytes);
    (void)axo_testkit_run(host.kit);
    assert_int_equal(host.count, 1);
    la_refused(&host, AXO_PAYLOAD_MAX);
    sv_end(&host);
}

/* Who gathers passes on what came, without a head of its own. */
static void a_gathered_answer_comes_whole(void **state)
{
    sv_host host;
    axo_props props;
    axo_ref router;
    axo_ref target = la_start(&host);
    axo_router settings = AXO_ROUTER(.logic = AXO_ROUTE_GATHER_FIRST, .routees = &target,
                                     .routees_count = 1, .within_ns = SV_S);
    assert_int_equal(axo_router_props(&settings, NULL, &props), AXO_OK);
    assert_int_equal(axo_system_spawn(host.system, &props, &router), AXO_OK);
    la.size = AXO_PAYLOAD_MAX;
    la.bytes = calloc(1, la.size);
    assert_non_null(la.bytes);
    la.bytes[0] = 'a';
    la.bytes[la.size - 1] = 'z';
    assert_int_equal(axo_system_send_from(host.system, host.ref, router, SV_ASKED, NULL, 0),
                     AXO_OK);
    (void)axo_testkit_run(host.kit);
    free(la.bytes);
    assert_true(la.whole);
    assert_int_equal(la.letters, 0);
    sv_end(&host);
}

/* A stranger's, shorter than its head: nothing is read behind it. */
static void an_answer_that_is_none(void **state)
{
    axo_answer head = {.id = 9, .tag = SV_NOTE, .size = 100};
    axo_message message = {.tag = AXO_ASK_ANSWER, .size = sizeof head, .payload = &head};
    axo_message answer = axo_answer_of(&message);
    assert_true(answer.payload == NULL && answer.size == 0 && answer.tag == 0);
    message.size = 3;
    message.payload = "ab";
    answer = axo_answer_of(&message);
    assert_true(answer.payload == NULL && answer.size == 0 && answer.tag == 0);
    head.size = 0;
    message.size = sizeof head;
    message.payload = &head;
    answer = axo_answer_of(&message);
    assert_true(answer.payload == NULL && answer.size == 0 && answer.tag == SV_NOTE);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_largest_comes_whole),
    cmocka_unit_test(one_that_is_too_large),
    cmocka_unit_test(a_promise_that_is_kept_too_largely),
    cmocka_unit_test(a_gathered_answer_comes_whole),
    cmocka_unit_test(an_answer_that_is_none),
};
TEST_MAIN(tests)
