/* settle_test.c - settle is called once at the end of a turn that has asked for it: behind messages
 * and before a stop, not of one that has failed; what it asks for and how it fails. */
#include "unit/unit.h"
#include "support/limits.h"

#include <axo/axo.h>

enum { ASK = 1, NOTE, STOP, FAIL, SPAWN, SEND, STASH };

enum { LOG_MAX = 256 };

/* What the one actor of a test has seen, a letter each:
 *   c s    construct, pre_start          m   a message that asks       n   one that does not
 *   S      settle                        f   a message that fails      o   another actor's message
 *   p P    pre_restart, post_stop        k   the parent's decider
 *   a      a message that is put aside and asks; when it comes again it is an n */
static struct {
    axo_system *system;
    axo_ref parent;
    axo_ref actor;
    axo_ref other;
    char log[LOG_MAX];
    uint32_t letters;
    axo_directive directive;
    axo_status asked;        /* what the last axo_want_settle said */
    axo_status asked_ending; /* and in pre_restart and post_stop */
    uint32_t again;          /* settles that ask for themselves */
    uint32_t failing;        /* settles that fail, and how */
    bool throws;
    bool stops; /* settle stops the actor */
    bool aside; /* a message has been stashed */
    bool unstashes;
    bool early; /* construct and pre_start ask */
    uint32_t site;
    uint32_t has_message;
    int32_t code;
    const axo_message *shown; /* to pre_restart */
} w;

static void settle_log(char letter)
{
    assert_true(w.letters + 1 < LOG_MAX);
    w.log[w.letters++] = letter;
    w.log[w.letters] = 0;
}

static axo_status settle_ask(axo_ctx *ctx)
{
    return w.asked = axo_want_settle(ctx);
}

static axo_status it_construct(axo_ctx *ctx, void *state, const void *args)
{
    settle_log('c');
    return w.early ? settle_ask(ctx) : AXO_OK;
}

static axo_status it_pre_start(axo_ctx *ctx, void *state)
{
    settle_log('s');
    return w.early ? settle_ask(ctx) : AXO_OK;
}

static axo_status it_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    switch (message->tag) {
    case ASK:
        settle_log('m');
        return settle_ask(ctx);
    case STOP:
        settle_log('m');
        assert_int_equal(settle_ask(ctx), AXO_OK);
        return axo_stop_self(ctx);
    case FAIL:
        settle_log('f');
        assert_int_equal(settle_ask(ctx), AXO_OK);
        return axo_fail(ctx, 7, "as it was told");
    case STASH:
        if (w.aside)
            break;
        settle_log('a');
        w.aside = true;
        assert_int_equal(settle_ask(ctx), AXO_OK);
        return axo_stash(ctx);
    case SEND:
        settle_log('m');
        assert_int_equal(settle_ask(ctx), AXO_OK);
        assert_int_equal(axo_send(ctx, w.other, NOTE, NULL, 0), AXO_OK);
        return axo_send(ctx, w.other, NOTE, NULL, 0);
    default:
        break;
    }
    settle_log('n');
    return AXO_OK;
}

static axo_status it_settle(axo_ctx *ctx, void *state)
{
    settle_log('S');
    if (w.again > 0) {
        w.again--;
        assert_int_equal(settle_ask(ctx), AXO_OK);
    }
    if (w.stops)
        return axo_stop_self(ctx);
    if (w.unstashes)
        assert_int_equal(axo_unstash_all(ctx), AXO_OK);
    if (w.failing == 0)
        return AXO_OK;
    w.failing--;
    if (w.throws)
        axo_throw(ctx, 9, "thrown in settle");
    return axo_fail(ctx, 8, "in settle");
}

static axo_status it_pre_restart(axo_ctx *ctx, void *state, const axo_failure *failure,
                                 const axo_message *message)
{
    settle_log('p');
    w.shown = message;
    w.asked_ending = axo_want_settle(ctx);
    return AXO_OK;
}

static axo_status it_post_stop(axo_ctx *ctx, void *state)
{
    settle_log('P');
    w.asked_ending = axo_want_settle(ctx);
    return AXO_OK;
}

static const axo_class it_class =
    AXO_CLASS(.name = "it", .construct = it_construct, .pre_start = it_pre_start,
              .receive = it_receive, .pre_restart = it_pre_restart, .post_stop = it_post_stop,
              .settle = it_settle);

static axo_status other_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    settle_log('o');
    return AXO_OK;
}

static const axo_class other_class = AXO_CLASS(.name = "other", .receive = other_receive);

static axo_directive parent_decide(axo_ctx *ctx, void *state, const axo_failure *failure,
                                   void *user)
{
    settle_log('k');
    w.site = failure->site;
    w.has_message = failure->has_message;
    w.code = failure->code;
    return w.directive;
}

static axo_status parent_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    axo_props props = AXO_PROPS(.cls = &it_class);
    return axo_spawn(ctx, &props, &w.actor);
}

static const axo_class parent_class = AXO_CLASS(.name = "parent", .receive = parent_receive);

static void settle_run(void)
{
    assert_int_equal(axo_run_host(w.system, -1, NULL), AXO_OK);
}

/* What has happened since the last look. */
static void settle_saw(const char *letters)
{
    settle_run();
    assert_string_equal(w.log, letters);
    w.letters = 0;
    w.log[0] = 0;
}

static void settle_tell(axo_ref to, uint32_t tag, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(axo_system_send(w.system, to, tag, NULL, 0), AXO_OK);
}

static void settle_begin(const char *letters, uint32_t quantum, bool early)
{
    static const axo_strategy strategy = AXO_STRATEGY(.decider = parent_decide);
    axo_options options = AXO_OPTIONS(.manual = 1, .quantum = quantum, .no_quantum_us = 1);
    axo_props parent = AXO_PROPS(.cls = &parent_class, .strategy = &strategy);
    axo_props other = AXO_PROPS(.cls = &other_class);
    memset(&w, 0, sizeof w);
    w.early = early;
    w.directive = AXO_RESTART;
    assert_int_equal(axo_system_start(&options, &w.system), AXO_OK);
    assert_int_equal(axo_system_spawn(w.system, &parent, &w.parent), AXO_OK);
    assert_int_equal(axo_system_spawn(w.system, &other, &w.other), AXO_OK);
    settle_tell(w.parent, SPAWN, 1);
    settle_saw(letters);
}

static void settle_end(void)
{
    settle_run();
    assert_int_equal(axo_system_stop(w.system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(w.system), AXO_OK);
}

/* ---- when ---- */

static void once_behind_the_messages_of_a_turn(void **state)
{
    settle_begin("cs", 100, false);
    settle_tell(w.actor, NOTE, 2);
    settle_saw("nn");
    settle_tell(w.actor, ASK, 3);
    settle_tell(w.actor, NOTE, 2);
    settle_saw("mmmnnS");
    settle_tell(w.actor, ASK, 1);
    settle_saw("mS");
    settle_tell(w.actor, NOTE, 1);
    settle_saw("n");
    settle_end();
}

static void at_the_end_of_each_turn_that_asks(void **state)
{
    skip_with_tiny_limits(); /* a step of putting messages in order counts as one */
    settle_begin("cs", 3, false);
    settle_tell(w.actor, ASK, 3);
    settle_saw("mmmS");
    settle_tell(w.actor, ASK, 2);
    settle_tell(w.actor, NOTE, 5);
    settle_run();
    assert_int_equal(strcspn(w.log, "S"), 3); /* the first turn is of three messages */
    assert_null(strchr(strchr(w.log, 'S') + 1, 'S'));
    w.letters = 0;
    settle_end();
}

static void a_start_may_ask(void **state)
{
    settle_begin("csS", 0, true);
    assert_int_equal(w.asked, AXO_OK);
    settle_tell(w.actor, NOTE, 1);
    settle_saw("n");
    settle_end();
}

/* The turn in which it is parked ends with a settle, too. */
static void one_that_is_parked_is_settled(void **state)
{
    static const axo_mailbox one = AXO_MAILBOX(.overflow = AXO_OVERFLOW_PARK, .messages_max = 1);
    axo_props narrow = AXO_PROPS(.cls = &other_class, .mailbox = &one);
    settle_begin("cs", 0, false);
    assert_int_equal(axo_system_spawn(w.system, &narrow, &w.other), AXO_OK);
    settle_run();
    settle_tell(w.actor, SEND, 1);
    settle_tell(w.actor, NOTE, 1);
    settle_saw("mSoon");
    settle_end();
}

static void one_with_a_mailbox_or_a_timer_too(void **state)
{
    static const axo_mailbox many = AXO_MAILBOX(.messages_max = 100);
    axo_props props = AXO_PROPS(.cls = &it_class, .mailbox = &many);
    settle_begin("cs", 0, false);
    assert_int_equal(axo_system_spawn(w.system, &props, &w.actor), AXO_OK);
    settle_saw("cs");
    settle_tell(w.actor, ASK, 4);
    settle_saw("mmmmS");
    settle_end();
}

/* ---- settle asks, stops ---- */

static void settle_asks_for_a_turn_behind_others(void **state)
{
    settle_begin("cs", 0, false);
    w.again = 2;
    settle_tell(w.actor, ASK, 1);
    settle_tell(w.other, NOTE, 1);
    settle_saw("mSoSS");
    settle_end();
}

static void settle_stops_the_actor(void **state)
{
    settle_begin("cs", 0, false);
    w.stops = true;
    w.again = 1; /* what is asked for while it stops is settled before it ends */
    settle_tell(w.actor, ASK, 2);
    settle_saw("mmSSP");
    assert_int_equal(w.asked_ending, AXO_ESTOPPING);
    settle_end();
}

static void a_stop_finds_it_done(void **state)
{
    settle_begin("cs", 0, false);
    settle_tell(w.actor, ASK, 1);
    settle_tell(w.actor, STOP, 1);
    settle_tell(w.actor, ASK, 1);
    settle_saw("mmSP");
    settle_end();
    settle_begin("cs", 0, false);
    settle_tell(w.actor, ASK, 1);
    assert_int_equal(axo_system_poison(w.system, w.actor), AXO_OK);
    settle_saw("mSP");
    settle_end();
}

/* ---- failures ---- */

static void a_failed_one_is_settled_behind_resume(void **state)
{
    settle_begin("cs", 0, false);
    w.directive = AXO_RESUME;
    settle_tell(w.actor, ASK, 1);
    settle_tell(w.actor, FAIL, 1);
    settle_tell(w.actor, NOTE, 1);
    settle_saw("mfknS");
    settle_tell(w.actor, FAIL, 1); /* nothing behind it */
    settle_saw("fkS");
    settle_end();
}

static void a_restart_forgets_it(void **state)
{
    settle_begin("cs", 0, false);
    settle_tell(w.actor, ASK, 1);
    settle_tell(w.actor, FAIL, 1);
    settle_tell(w.actor, NOTE, 1);
    settle_saw("mfkpcsn");
    assert_int_equal(w.asked_ending, AXO_ESTOPPING);
    w.directive = AXO_STOP;
    settle_tell(w.actor, FAIL, 1);
    settle_saw("fkP");
    settle_end();
}

static void a_settle_that_fails(void **state)
{
    for (uint32_t throws = 0; throws < 2; throws++) {
        settle_begin("cs", 0, false);
        w.failing = 1;
        w.throws = throws != 0;
        w.shown = (const axo_message *)(const void *)&w;
        settle_tell(w.actor, ASK, 1);
        settle_tell(w.actor, NOTE, 1);
        settle_saw("mnSkpcs");
        assert_int_equal(w.site, AXO_SITE_SETTLE);
        assert_int_equal(w.has_message, 0);
        assert_int_equal(w.code, throws != 0 ? 9 : 8);
        assert_null(w.shown);
        w.directive = AXO_RESUME;
        w.failing = 1;
        settle_tell(w.actor, ASK, 1);
        settle_saw("mSk");
        settle_tell(w.actor, ASK, 1);
        settle_saw("mS");
        w.failing = 1;
        w.again = 1; /* asked for before it failed: owed behind Resume */
        settle_tell(w.actor, ASK, 1);
        settle_saw("mSkS");
        settle_end();
    }
}

static void a_parent_of_the_librarys_decider(void **state)
{
    axo_props props = AXO_PROPS(.cls = &it_class);
    settle_begin("cs", 0, false);
    assert_int_equal(axo_system_spawn(w.system, &props, &w.actor), AXO_OK);
    settle_saw("cs");
    w.failing = 1;
    settle_tell(w.actor, ASK, 1);
    settle_tell(w.actor, NOTE, 1);
    settle_saw("mnSpcs");
    settle_end();
}

/* ---- what was stashed ---- */

static void settle_brings_back_what_was_stashed(void **state)
{
    settle_begin("cs", 0, false);
    w.unstashes = true;
    settle_tell(w.actor, STASH, 1);
    settle_saw("aSn");
    settle_end();
}

/* The parent's answer comes within the failing turn: nothing else brings the actor to a worker. */
static void a_restart_brings_back_what_was_stashed(void **state)
{
    axo_props props = AXO_PROPS(.cls = &it_class);
    settle_begin("cs", 0, false);
    assert_int_equal(axo_system_spawn(w.system, &props, &w.actor), AXO_OK);
    settle_saw("cs");
    w.failing = 1;
    settle_tell(w.actor, STASH, 1);
    settle_saw("aSpcsn");
    settle_end();
}

/* ---- bad input ---- */

static void bad_input(void **state)
{
    settle_begin("cs", 0, false);
    assert_int_equal(axo_want_settle(NULL), AXO_ECONTEXT);
    static const axo_class cls = AXO_CLASS(.name = "none", .receive = it_receive);
    axo_props props = AXO_PROPS(.cls = &cls);
    axo_ref none;
    assert_int_equal(axo_system_spawn(w.system, &props, &none), AXO_OK);
    settle_tell(none, ASK, 1);
    settle_saw("m");
    assert_int_equal(w.asked, AXO_EINVAL);
    settle_end();
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(once_behind_the_messages_of_a_turn),
    cmocka_unit_test(at_the_end_of_each_turn_that_asks),
    cmocka_unit_test(a_start_may_ask),
    cmocka_unit_test(one_that_is_parked_is_settled),
    cmocka_unit_test(one_with_a_mailbox_or_a_timer_too),
    cmocka_unit_test(settle_asks_for_a_turn_behind_others),
    cmocka_unit_test(settle_stops_the_actor),
    cmocka_unit_test(a_stop_finds_it_done),
    cmocka_unit_test(a_failed_one_is_settled_behind_resume),
    cmocka_unit_test(a_restart_forgets_it),
    cmocka_unit_test(a_settle_that_fails),
    cmocka_unit_test(a_parent_of_the_librarys_decider),
    cmocka_unit_test(settle_brings_back_what_was_stashed),
    cmocka_unit_test(a_restart_brings_back_what_was_stashed),
    cmocka_unit_test(bad_input),
};
TEST_MAIN(tests)
