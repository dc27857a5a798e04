/* rq_test.c - who has sent the message under which an actor failed is told: RQ. */
#include <stdlib.h>
#include <string.h>

#include "support/cmocka.h"

#include <axo/axo.h>

enum {
    RQ_GO = 1,
    RQ_FAIL,
    RQ_STATUS,
    RQ_THROW,
    RQ_STASH,
    RQ_REPLY,
    RQ_ASK,
    RQ_WORK,
    RQ_OWNED,
    RQ_UNSTASH
};
#define RQ_MS INT64_C(1000000)

typedef enum rq_way {
    RQ_PLAIN,
    RQ_FORWARDS,      /* pre_restart passes the request on */
    RQ_BURIES,        /* pre_restart passes it on to one that has gone */
    RQ_STASHES,       /* the asker puts the answer aside */
    RQ_FAILS_TO_START /* the next instance fails in post_restart */
} rq_way;

static struct {
    axo_system *system;
    axo_strategy strategy;
    axo_ref parent;
    axo_ref child;
    axo_ref asker;
    axo_ref gone;
    rq_way way;
    uint32_t told;  /* AXO_REQUEST_FAILED at the asker */
    uint32_t shown; /* pre_restart was shown the whole request */
    uint32_t freed; /* payloads that were handed over */
    axo_request_failed last;
    uint32_t last_size;
    axo_verdict verdict;
    uint32_t verdicts;
    uint32_t answers;
    uint64_t blocks; /* taken from the allocator */
    uint64_t given_back;
    bool refuse;
} rq;

static void *rq_alloc(void *user, size_t size, size_t align)
{
    void *block = NULL;
    if (rq.refuse)
        return NULL;
    rq.blocks++;
    return posix_memalign(&block, align < sizeof(void *) ? sizeof(void *) : align, size) == 0
               ? block
               : NULL;
}

static void rq_free(void *user, void *block, size_t size, size_t align)
{
    rq.given_back += block != NULL;
    free(block);
}

static void rq_payload_free(void *payload, void *user)
{
    rq.freed++;
}

/* ---- the one that fails ---- */

static axo_status child_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    switch (message->tag) {
    case AXO_REQUEST_FAILED:
        rq.told++;
        return AXO_OK;
    case RQ_FAIL:
    case RQ_OWNED:
        return axo_fail(ctx, 13, "poison");
    case RQ_STATUS:
        return AXO_EINVAL;
    case RQ_THROW:
        axo_throw(ctx, 14, "thrown");
    case RQ_STASH:
        if (axo_instance(ctx) > 1)
            return axo_reply(ctx, message, RQ_REPLY, NULL, 0);
        assert_int_equal(axo_stash(ctx), AXO_OK);
        return axo_fail(ctx, 15, "stashed");
    default:
        return AXO_OK;
    }
}

static axo_status child_pre_restart(axo_ctx *ctx, void *state, const axo_failure *failure,
                                    const axo_message *message)
{
    if (message != NULL && message->tag == RQ_FAIL && message->size == 6)
        rq.shown += memcmp(message->payload, "whole", 6) == 0;
    if (message != NULL && rq.way == RQ_FORWARDS)
        assert_int_equal(axo_forward(ctx, message, rq.asker), AXO_OK);
    if (message != NULL && rq.way == RQ_BURIES)
        assert_int_equal(axo_forward(ctx, message, rq.gone), AXO_EGONE);
    return AXO_OK;
}

static axo_status child_post_restart(axo_ctx *ctx, void *state, const axo_failure *failure)
{
    return rq.way == RQ_FAILS_TO_START ? axo_fail(ctx, 16, "again") : AXO_OK;
}

static const axo_class child_class =
    AXO_CLASS(.name = "child", .receive = child_receive, .pre_restart = child_pre_restart,
              .post_restart = child_post_restart);

static axo_status parent_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    const axo_props props = AXO_PROPS(.cls = &child_class, .name = "c");
    return axo_spawn(ctx, &props, &rq.child);
}

static const axo_class parent_class = AXO_CLASS(.name = "parent", .receive = parent_receive);

/* ---- the one that asks ---- */

/* The payload is the reserve's: it is neither passed on nor taken, only put aside. */
static axo_status asker_told(axo_ctx *ctx, const axo_message *message)
{
    axo_owned owned;
    if (rq.way == RQ_STASHES)
        return axo_stash(ctx);
    rq.told++;
    rq.last_size = message->size;
    rq.last = axo_request_failed_of(message);
    assert_true(axo_ref_equal(message->sender, rq.last.actor));
    assert_true(axo_ref_is_none(rq.child) || axo_ref_equal(message->sender, rq.child));
    assert_int_equal(axo_forward(ctx, message, rq.parent), AXO_EINVAL);
    assert_int_equal(axo_message_take(ctx, message, &owned), AXO_EINVAL);
    assert_null(owned.payload);
    return AXO_OK;
}

static axo_status asker_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    switch (message->tag) {
    case AXO_REQUEST_FAILED:
        return asker_told(ctx, message);
    case RQ_UNSTASH:
        rq.way = RQ_PLAIN;
        return axo_unstash_all(ctx);
    case AXO_ASK_FAILED:
        rq.verdicts++;
        rq.verdict = *AXO_PAYLOAD(message, axo_verdict);
        return AXO_OK;
    case AXO_ASK_ANSWER:
    case RQ_REPLY:
    case RQ_FAIL: /* forwarded to here */
        rq.answers++;
        return AXO_OK;
    case RQ_ASK:
        return axo_ask(ctx, rq.child, *AXO_PAYLOAD(message, uint32_t), NULL, 0, 1000 * RQ_MS, 77);
    case RQ_OWNED:
        return axo_send_owned(ctx, rq.child, RQ_OWNED, &rq, 8, rq_payload_free, NULL);
    default:
        return AXO_OK;
    }
}

static const axo_class asker_class = AXO_CLASS(.name = "asker", .receive = asker_receive);

/* ---- a scene ---- */

static void rq_run(void)
{
    assert_int_equal(axo_run_host(rq.system, -1, NULL), AXO_OK);
}

static axo_directive rq_resume(axo_ctx *ctx, void *state, const axo_failure *failure, void *user)
{
    return AXO_RESUME;
}

static axo_ref rq_spawn(const axo_class *cls, const char *name, const axo_mailbox *mailbox)
{
    const axo_props props = AXO_PROPS(.cls = cls, .name = name, .mailbox = mailbox,
                                      .strategy = cls == &parent_class ? &rq.strategy : NULL);
    axo_ref ref;
    assert_int_equal(axo_system_spawn(rq.system, &props, &ref), AXO_OK);
    rq_run();
    return ref;
}

static void rq_start(axo_strategy strategy, uint32_t texts, const axo_mailbox *mailbox)
{
    memset(&rq, 0, sizeof rq);
    rq.strategy = strategy;
    const axo_options options =
        AXO_OPTIONS(.manual = 1, .stuck_ns = -1, .failure_texts = texts, .no_dead_letter_log = 1,
                    .allocator = {rq_alloc, rq_free, NULL});
    assert_int_equal(axo_system_start(&options, &rq.system), AXO_OK);
    rq.parent = rq_spawn(&parent_class, "p", NULL);
    rq.asker = rq_spawn(&asker_class, "asker", mailbox);
    assert_int_equal(axo_system_send(rq.system, rq.parent, RQ_GO, NULL, 0), AXO_OK);
    rq_run();
    assert_false(axo_ref_is_none(rq.child));
}

/* Everything adds up, and all that was taken is given back: see rq_free. */
static void rq_end(void)
{
    axo_stats stats = AXO_STATS();
    assert_int_equal(axo_system_stop(rq.system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_stats(rq.system, &stats), AXO_OK);
    assert_int_equal(stats.sent, stats.handled + stats.dead + stats.dropped);
    assert_int_equal(axo_system_destroy(rq.system), AXO_OK);
    assert_int_equal(rq.blocks, rq.given_back);
}

static void rq_send(uint32_t tag)
{
    assert_int_equal(axo_system_send_from(rq.system, rq.asker, rq.child, tag, "whole", 6), AXO_OK);
    rq_run();
}

#define RQ_STRATEGY(...) (axo_strategy) AXO_STRATEGY(.answer_failed = 1, __VA_ARGS__)

/* Whatever is decided, once, with what it failed with. */
static void RQ_01(void **state)
{
    static const axo_decider deciders[] = {axo_decide_restart, rq_resume, axo_decide_stop};
    for (uint32_t i = 0; i < 3; i++) {
        rq_start(RQ_STRATEGY(.decider = deciders[i]), 0, NULL);
        rq_send(RQ_FAIL);
        assert_int_equal(rq.told, 1);
        assert_int_equal(rq.last_size, sizeof rq.last);
        assert_int_equal(rq.last.tag, RQ_FAIL);
        assert_int_equal(rq.last.code, 13);
        assert_int_equal(rq.last.kind, AXO_FAILURE_ORDINARY);
        assert_int_equal(rq.last.has_status, 0);
        assert_true(axo_ref_equal(rq.last.actor, rq.child));
        assert_string_equal(rq.last.text, "poison");
        assert_int_equal(rq.shown, i == 0); /* the request is whole until then */
        if (i < 2) {
            rq_send(RQ_STATUS);
            assert_int_equal(rq.told, 2);
            assert_int_equal(rq.last.code, AXO_EINVAL);
            assert_int_equal(rq.last.has_status, 1);
            assert_string_equal(rq.last.text, "");
            rq_send(RQ_THROW);
            assert_int_equal(rq.told, 3);
            assert_string_equal(rq.last.text, "thrown");
            assert_int_equal(axo_system_send(rq.system, rq.asker, RQ_OWNED, NULL, 0), AXO_OK);
            rq_run();
            assert_int_equal(rq.told, 4);
            assert_int_equal(rq.freed, 1); /* its payload goes as ever */
        }
        rq_end();
    }
}

/* Nobody is told who does not ask, or where the strategy does not say so. */
static void RQ_02(void **state)
{
    rq_start(RQ_STRATEGY(.decider = axo_decide_restart), 0, NULL);
    assert_int_equal(axo_system_send(rq.system, rq.child, RQ_FAIL, NULL, 0), AXO_OK);
    assert_int_equal(axo_system_kill(rq.system, rq.child), AXO_OK);
    rq_run();
    assert_int_equal(axo_system_send_from(rq.system, rq.child, rq.child, RQ_FAIL, NULL, 0), AXO_OK);
    rq_run(); /* by itself: its own receive looks for one */
    assert_int_equal(rq.told, 0);
    rq_end();
    rq_start((axo_strategy)AXO_STRATEGY(.decider = axo_decide_restart), 0, NULL);
    rq_send(RQ_FAIL);
    assert_int_equal(rq.told, 0);
    rq_end();
}

/* An ask has its verdict at once, from an actor and from a thread. */
static void RQ_03(void **state)
{
    static const axo_decider deciders[] = {axo_decide_restart, rq_resume, axo_decide_stop};
    char text[512];
    const uint32_t tag = RQ_FAIL;
    for (uint32_t i = 0; i < 3; i++) {
        rq_start(RQ_STRATEGY(.decider = deciders[i]), 0, NULL);
        assert_int_equal(axo_system_send(rq.system, rq.asker, RQ_ASK, &tag, sizeof tag), AXO_OK);
        rq_run();
        assert_int_equal(rq.verdicts, 1);
        assert_int_equal(rq.answers, 0);
        assert_int_equal(rq.verdict.status, AXO_EFAILED);
        assert_int_equal(rq.verdict.id, 77);
        assert_int_equal(rq.verdict.code, 13);
        assert_int_equal(rq.verdict.has_status, 0);
        assert_string_equal(rq.verdict.text, "poison");
        assert_true(axo_verdict_text(&rq.verdict, text, sizeof text) < sizeof text);
        assert_non_null(strstr(text, "it has failed under the request: code 13 \"poison\" after "));
        rq_end();
    }
}

static void RQ_03_thread(void **state)
{
    axo_system *system = NULL;
    axo_asked asked;
    const axo_strategy strategy = RQ_STRATEGY(.decider = axo_decide_restart);
    const axo_options options = AXO_OPTIONS(.workers = 2, .user_strategy = &strategy);
    const axo_props props = AXO_PROPS(.cls = &child_class);
    axo_ref ref;
    memset(&rq, 0, sizeof rq);
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    assert_int_equal(axo_system_spawn(system, &props, &ref), AXO_OK);
    for (uint32_t i = 0; i < 50; i++) {
        assert_int_equal(axo_system_ask(system, ref, i % 2 == 0 ? RQ_FAIL : RQ_STATUS, NULL, 0,
                                        20000 * RQ_MS, &asked),
                         AXO_EFAILED);
        assert_int_equal(asked.verdict.status, AXO_EFAILED);
        assert_int_equal(asked.verdict.code, i % 2 == 0 ? 13 : AXO_EINVAL);
        assert_string_equal(asked.verdict.text, i % 2 == 0 ? "poison" : "");
        axo_asked_free(system, &asked);
    }
    assert_int_equal(axo_system_stop(system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
}

/* The failure goes up, the child is killed or stopped meanwhile, or its next instance fails. */
static void RQ_04(void **state)
{
    rq_start(RQ_STRATEGY(.decider = axo_decide_escalate), 0, NULL);
    rq_send(RQ_FAIL); /* the parent's restart stops it */
    assert_int_equal(rq.told, 1);
    rq_end();
    static const axo_backoff slow =
        AXO_BACKOFF(.min_ns = 3600000 * RQ_MS, .max_ns = 3600000 * RQ_MS);
    for (uint32_t i = 0; i < 2; i++) {
        rq_start(RQ_STRATEGY(.decider = axo_decide_restart, .backoff = &slow), 0, NULL);
        rq_send(RQ_FAIL);
        assert_int_equal(rq.told, 0); /* it waits to be restarted */
        if (i == 0)
            assert_int_equal(axo_system_stop_actor(rq.system, rq.child), AXO_OK);
        else
            assert_int_equal(axo_system_stop_actor(rq.system, rq.parent), AXO_OK);
        rq_run();
        assert_int_equal(rq.told, 1);
        rq_end();
    }
    rq_start(RQ_STRATEGY(.decider = axo_decide_default), 0, NULL);
    rq.way = RQ_FAILS_TO_START;
    rq_send(RQ_FAIL); /* and then it stops */
    assert_int_equal(rq.told, 1);
    assert_int_equal(rq.last.code, 13);
    rq_end();
}

/* A request that lives on is not answered: stashed, or passed on by pre_restart. */
static void RQ_05(void **state)
{
    rq_start(RQ_STRATEGY(.decider = axo_decide_restart), 0, NULL);
    rq_send(RQ_STASH);
    assert_int_equal(rq.told, 0);
    assert_int_equal(rq.answers, 1);
    rq.way = RQ_FORWARDS;
    rq_send(RQ_FAIL);
    assert_int_equal(rq.told, 0);
    assert_int_equal(rq.answers, 2);
    rq.way = RQ_PLAIN;
    rq_send(RQ_FAIL);
    assert_int_equal(rq.told, 1);
    rq.way = RQ_BURIES; /* nobody else answers it */
    rq.gone = rq_spawn(&asker_class, "gone", NULL);
    assert_int_equal(axo_system_stop_actor(rq.system, rq.gone), AXO_OK);
    rq_run();
    rq_send(RQ_FAIL);
    assert_int_equal(rq.told, 2);
    assert_int_equal(rq.answers, 2);
    rq_end();
}

/* The asker has gone: nothing happens, and no text of the reserve is lost by it. */
static void RQ_06(void **state)
{
    axo_stats stats = AXO_STATS();
    rq_start(RQ_STRATEGY(.decider = axo_decide_restart), 1, NULL);
    assert_int_equal(axo_system_stop_actor(rq.system, rq.asker), AXO_OK);
    rq_run();
    for (uint32_t i = 0; i < 20; i++)
        rq_send(i % 2 == 0 ? RQ_FAIL : RQ_STATUS);
    assert_int_equal(rq.told, 0);
    assert_int_equal(axo_system_stats(rq.system, &stats), AXO_OK);
    assert_int_equal(stats.texts_lost, 0);
    assert_int_equal(stats.dead, 0);
    assert_int_equal(stats.restarts, 20);
    rq_end();
}

/* No memory is taken; a mailbox that is full takes it; without a text there is no payload. */
static void RQ_07(void **state)
{
    static const axo_mailbox one = AXO_MAILBOX(.messages_max = 1);
    axo_stats stats = AXO_STATS();
    rq_start(RQ_STRATEGY(.decider = axo_decide_restart), 1, &one);
    rq_send(RQ_FAIL);
    assert_int_equal(rq.told, 1);
    for (uint32_t i = 0; i < 30; i++) { /* with the smallest envelope, too */
        size_t size = i % 2 == 0 ? 0 : 6;
        assert_int_equal(
            axo_system_send_from(rq.system, rq.asker, rq.child, RQ_FAIL, "whole", size), AXO_OK);
        assert_int_equal(axo_system_send(rq.system, rq.asker, RQ_WORK, NULL, 0), AXO_OK);
        uint64_t blocks = rq.blocks;
        rq.refuse = true;
        rq_run();
        rq.refuse = false;
        assert_int_equal(rq.blocks, blocks);
        assert_int_equal(rq.told, 2 + i);
        assert_string_equal(rq.last.text, "poison");
    }
    for (uint32_t i = 0; i < 2; i++) { /* two wait for their answer, and there is one text */
        assert_int_equal(axo_system_send_from(rq.system, rq.asker, rq.child, RQ_FAIL, NULL, 0),
                         AXO_OK);
    }
    rq_run();
    assert_int_equal(rq.told, 33);
    assert_int_equal(axo_system_stats(rq.system, &stats), AXO_OK);
    assert_int_equal(rq.last_size, AXO_REQUEST_FAILED_BARE);
    assert_true(stats.texts_lost > 0);
    rq_end();
}

static void RQ_07_spent(void **state)
{
    axo_stats stats = AXO_STATS();
    static const axo_backoff slow =
        AXO_BACKOFF(.min_ns = 3600000 * RQ_MS, .max_ns = 3600000 * RQ_MS);
    rq_start(RQ_STRATEGY(.decider = axo_decide_restart, .backoff = &slow), 1, NULL);
    axo_ref first = rq.child;
    rq_send(RQ_FAIL); /* keeps the only text */
    axo_ref above = rq.parent;
    const axo_strategy again = RQ_STRATEGY(.decider = axo_decide_restart);
    const axo_props props = AXO_PROPS(.cls = &parent_class, .name = "q", .strategy = &again);
    assert_int_equal(axo_system_spawn(rq.system, &props, &rq.parent), AXO_OK);
    assert_int_equal(axo_system_send(rq.system, rq.parent, RQ_GO, NULL, 0), AXO_OK);
    rq_run();
    assert_false(axo_ref_equal(rq.child, first));
    rq.last_size = 9;
    const uint32_t ask = RQ_STATUS;
    for (uint32_t i = 0; i < 8; i++) { /* requests of all sizes have room for the rest */
        const axo_request_failed *last = &rq.last;
        uint32_t tag = i % 2 == 0 ? RQ_FAIL : RQ_STATUS;
        char large[300] = "large";
        assert_int_equal(axo_system_send_from(rq.system, rq.asker, rq.child, tag, large, i * 40),
                         AXO_OK);
        rq_run();
        assert_int_equal(rq.told, i + 1);
        assert_int_equal(rq.last_size, AXO_REQUEST_FAILED_BARE);
        assert_int_equal(last->tag, tag);
        assert_int_equal(last->kind, AXO_FAILURE_ORDINARY);
        assert_int_equal(last->code, i % 2 == 0 ? 13 : AXO_EINVAL);
        assert_int_equal(last->has_status, i % 2);
        assert_string_equal(last->text, "");
    }
    assert_int_equal(axo_system_send(rq.system, rq.asker, RQ_ASK, &ask, sizeof ask), AXO_OK);
    rq_run();
    assert_int_equal(rq.verdicts, 1);
    assert_int_equal(rq.verdict.status, AXO_EFAILED);
    assert_int_equal(rq.verdict.code, AXO_EINVAL);
    assert_int_equal(rq.verdict.has_status, 1);
    assert_int_equal(axo_system_stats(rq.system, &stats), AXO_OK);
    assert_true(stats.texts_lost > 0);
    rq.child = first;
    assert_int_equal(axo_system_stop_actor(rq.system, above), AXO_OK);
    rq_run();
    assert_int_equal(rq.told, 9);
    assert_int_equal(rq.last_size, sizeof rq.last);
    assert_string_equal(rq.last.text, "poison");
    rq_end();
}

/* An answer that is put aside keeps its text; one that waits when the system ends gives it back. */
static void RQ_07_kept(void **state)
{
    rq_start(RQ_STRATEGY(.decider = axo_decide_restart), 1, NULL);
    rq.way = RQ_STASHES;
    rq_send(RQ_FAIL);
    assert_int_equal(rq.told, 0);
    rq_send(RQ_STATUS); /* the text is spent */
    assert_int_equal(axo_system_send(rq.system, rq.asker, RQ_UNSTASH, NULL, 0), AXO_OK);
    rq_run();
    assert_int_equal(rq.told, 2);
    assert_int_equal(rq.last_size, AXO_REQUEST_FAILED_BARE);
    assert_int_equal(rq.last.code, AXO_EINVAL);
    rq_send(RQ_FAIL); /* and is back */
    assert_int_equal(rq.told, 3);
    assert_string_equal(rq.last.text, "poison");
    rq.way = RQ_STASHES;
    rq_send(RQ_FAIL);
    assert_int_equal(rq.told, 3);
    rq_end();
}

static void RQ_08(void **state)
{
    const axo_strategy bad[] = {AXO_STRATEGY(.answer_failed = 2), AXO_STRATEGY(.scope = 3)};
    axo_system *system = NULL;
    for (uint32_t i = 0; i < 2; i++) {
        const axo_options options = AXO_OPTIONS(.manual = 1, .user_strategy = &bad[i]);
        assert_int_equal(axo_system_start(&options, &system), AXO_EINVAL);
        assert_null(system);
    }
}

/* What a back-off supervisor passes on keeps its sender; its settings say whether he is told. */
static void RQ_09(void **state)
{
    static const axo_props child = AXO_PROPS(.cls = &child_class);
    static const axo_backoff delays = AXO_BACKOFF(.min_ns = RQ_MS, .max_ns = RQ_MS);
    for (uint32_t on = 0; on < 2; on++) {
        const axo_backoff_supervisor settings =
            AXO_BACKOFF_SUPERVISOR(.child = &child, .backoff = &delays, .answer_failed = on);
        axo_props props;
        axo_ref keeper;
        rq_start(RQ_STRATEGY(.decider = axo_decide_restart), 0, NULL);
        rq.child = axo_ref_none(); /* whichever it is */
        assert_int_equal(axo_backoff_supervisor_props(&settings, "k", &props), AXO_OK);
        assert_int_equal(axo_system_spawn(rq.system, &props, &keeper), AXO_OK);
        rq_run();
        assert_int_equal(axo_system_send_from(rq.system, rq.asker, keeper, RQ_FAIL, NULL, 0),
                         AXO_OK);
        rq_run();
        assert_int_equal(rq.told, on);
        assert_int_equal(rq.last.code, on ? 13 : 0);
        rq_end();
    }
    const axo_backoff_supervisor bad[] = {
        AXO_BACKOFF_SUPERVISOR(.child = &child, .backoff = &delays, .answer_failed = 2),
        AXO_BACKOFF_SUPERVISOR(.child = &child, .backoff = &delays, .reserved = 1),
    };
    for (uint32_t i = 0; i < 2; i++) {
        axo_props props;
        assert_int_equal(axo_backoff_supervisor_props(&bad[i], "k", &props), AXO_EINVAL);
    }
}

#define RQ_TEST(id, fn)                                                                            \
    {                                                                                              \
        id, fn, NULL, NULL, NULL                                                                   \
    }
static const struct CMUnitTest tests[] = {
    RQ_TEST("RQ-01", RQ_01),
    RQ_TEST("RQ-02", RQ_02),
    RQ_TEST("RQ-03", RQ_03),
    RQ_TEST("RQ-03 thread", RQ_03_thread),
    RQ_TEST("RQ-04", RQ_04),
    RQ_TEST("RQ-05", RQ_05),
    RQ_TEST("RQ-06", RQ_06),
    RQ_TEST("RQ-07", RQ_07),
    RQ_TEST("RQ-07 spent", RQ_07_spent),
    RQ_TEST("RQ-07 kept", RQ_07_kept),
    RQ_TEST("RQ-08", RQ_08),
    RQ_TEST("RQ-09", RQ_09),
};

TEST_MAIN(tests)
