/* throw_test.c - axo_throw: who may not throw, and what is left behind by a callback that does.
 *
 * A context that was kept is good in no function of the program but the callback itself: not in a
 * destructor, an observer, an allocator that the library calls between two callbacks or from within
 * one. Each of them that throws ends the process, in a child of its own here.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/service.h"

enum { THROW_NOW = 1, THROW_MAKE, THROW_SEND, THROW_PASS, THROW_OWNED, THROW_GOT };

typedef enum throw_from {
    FROM_NOBODY,
    FROM_RECEIVED,   /* the observer, when a receive is over */
    FROM_RECEIVE,    /* the observer, when it is about to begin */
    FROM_DESTRUCTOR, /* of the payload of the message, when that was handled */
    FROM_DISCARD,    /* of a draft that the callback discards */
    FROM_DEAD,       /* the observer of dead letters, from within a send */
    FROM_FAIL        /* the observer again, by axo_fail, which is refused by a status */
} throw_from;

static struct {
    axo_system *system;
    axo_ref to;
    axo_ctx *ctx;     /* kept */
    throw_from from;
    axo_status said;  /* by axo_fail */
    axo_draft *kept;
    uint32_t made;    /* drafts that own a payload */
    uint32_t freed;
    uint32_t got;
    uint32_t failures;
} th;

static void throw_free(void *payload, void *user)
{
    th.freed++;
    if (th.from == FROM_DESTRUCTOR || th.from == FROM_DISCARD)
        axo_throw(th.ctx, 1, "from a destructor");
}

static void throw_letter(void *user, const axo_dead_letter *letter)
{
    if (th.from == FROM_DEAD)
        axo_throw(th.ctx, 1, "from an observer of dead letters");
}

static void throw_observe(void *user, const axo_event *event)
{
    if (th.ctx == NULL)
        return;
    if ((th.from == FROM_RECEIVED && event->kind == AXO_EV_RECEIVED) ||
        (th.from == FROM_RECEIVE && event->kind == AXO_EV_RECEIVE))
        axo_throw(th.ctx, 1, "from an observer");
    if (th.from == FROM_FAIL && event->kind == AXO_EV_RECEIVED)
        th.said = axo_fail(th.ctx, 1, "from an observer");
}

/* A draft that owns its payload. */
static axo_draft *throw_owning(axo_ctx *ctx)
{
    axo_owned owned = {.payload = &th, .size = 8, .destroy = throw_free};
    axo_draft *draft;
    assert_int_equal(axo_message_owning(ctx, THROW_GOT, &owned, &draft), AXO_OK);
    th.made++;
    return draft;
}

/* More drafts than a worker has room for, some of them sent, discarded, refused; then it throws. */
static void throw_drafts(axo_ctx *ctx)
{
    axo_draft *drafts[30];
    void *room;
    for (uint32_t i = 0; i < 30; i++)
        drafts[i] = throw_owning(ctx);
    for (uint32_t i = 0; i < 30; i += 7)
        axo_message_discard(ctx, drafts[i]);
    assert_int_equal(axo_send_message(ctx, axo_ref_none(), drafts[1]), AXO_EINVAL);
    assert_int_equal(axo_send_message(ctx, axo_self(ctx), drafts[2]), AXO_OK);
    assert_int_equal(axo_send_message(ctx, axo_self(ctx), drafts[29]), AXO_OK);
    axo_message_discard(ctx, drafts[13]);
    th.kept = drafts[20];
    assert_int_equal(axo_draft_keep(ctx, th.kept), AXO_OK);
    assert_int_equal(axo_message_new(ctx, THROW_GOT, 40, &drafts[0], &room), AXO_OK);
    memset(room, 0xff, 40);
    axo_throw(ctx, 7, "with drafts open");
}

static axo_status throw_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    axo_draft *draft;
    void *room;
    th.ctx = ctx;
    switch (message->tag) {
    case THROW_NOW:
        throw_drafts(ctx);
        break;
    case THROW_MAKE: /* for a later callback */
        th.kept = throw_owning(ctx);
        break;
    case THROW_SEND:
        return axo_send_message(ctx, axo_self(ctx), th.kept);
    case THROW_PASS:
        if (th.from == FROM_DISCARD)
            axo_message_discard(ctx, throw_owning(ctx));
        (void)axo_send(ctx, (axo_ref){12345}, 1, NULL, 0);
        break;
    case THROW_GOT:
        th.got++;
        break;
    default:
        assert_int_equal(axo_message_new(ctx, 1, 8, &draft, &room), AXO_OK);
        axo_throw(ctx, 8, "with one");
    }
    return AXO_OK;
}

static axo_directive throw_decide(axo_ctx *ctx, void *state, const axo_failure *failure, void *user)
{
    th.failures++;
    return AXO_RESUME;
}

static void throw_settle(void)
{
    uint64_t turns = 1;
    while (turns > 0)
        assert_int_equal(axo_step_host(th.system, 100, &turns), AXO_OK);
}

static void throw_tell(uint32_t tag)
{
    assert_int_equal(axo_system_send(th.system, th.to, tag, NULL, 0), AXO_OK);
    throw_settle();
}

static void throw_start(throw_from from)
{
    static const axo_class cls = AXO_CLASS(.name = "thrower", .receive = throw_receive);
    static const axo_strategy strategy = AXO_STRATEGY(.decider = throw_decide);
    bool traced = from == FROM_RECEIVED || from == FROM_RECEIVE || from == FROM_FAIL;
    axo_options options =
        AXO_OPTIONS(.manual = 1, .user_strategy = &strategy, .on_dead_letter = throw_letter,
                    .trace = traced ? throw_observe : NULL);
    axo_props props = AXO_PROPS(.cls = &cls);
    memset(&th, 0, sizeof th);
    assert_int_equal(axo_system_start(&options, &th.system), AXO_OK);
    assert_int_equal(axo_system_spawn(th.system, &props, &th.to), AXO_OK);
    throw_settle();
    th.from = from;
}

static void throw_end(void)
{
    assert_int_equal(axo_system_stop(th.system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(th.system), AXO_OK);
}

/* ---- who may not ---------------------------------------------------------------------------- */

static void throw_child(throw_from from, int out)
{
    (void)alarm(20);
    (void)dup2(out, STDERR_FILENO);
    throw_start(from);
    if (from == FROM_DESTRUCTOR) {
        (void)axo_system_send_owned(th.system, th.to, THROW_GOT, &th, 8, throw_free, NULL);
        throw_settle();
    } else {
        throw_tell(THROW_PASS);
        throw_tell(THROW_PASS); /* for FROM_RECEIVE, which needs a context from before */
    }
    _exit(0);
}

static void a_kept_context_throws_nowhere_else(void **state)
{
    for (throw_from from = FROM_RECEIVED; from <= FROM_DEAD; from++) {
        char text[512];
        size_t length = 0;
        ssize_t got;
        int status = 0;
        int ends[2];
        assert_int_equal(pipe(ends), 0);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            throw_child(from, ends[1]);
        (void)close(ends[1]);
        while ((got = read(ends[0], text + length, sizeof text - 1 - length)) > 0)
            length += (size_t)got;
        text[length] = 0;
        (void)close(ends[0]);
        assert_int_equal(waitpid(child, &status, 0), child);
        if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT ||
            strstr(text, "axo_throw outside of the callback") == NULL)
            fail_msg("%d: status %x, \"%s\"", (int)from, (unsigned)status, text);
    }
}

static void nor_does_it_fail_there(void **state)
{
    throw_start(FROM_FAIL);
    throw_tell(THROW_PASS);
    throw_tell(THROW_PASS);
    assert_int_equal(th.said, AXO_ECONTEXT);
    assert_int_equal(th.failures, 0);
    throw_end();
}

/* ---- what a throw leaves -------------------------------------------------------------------- */

static void a_throw_discards_open_drafts(void **state)
{
    throw_start(FROM_NOBODY);
    throw_tell(THROW_NOW);
    assert_int_equal(th.failures, 1);
    assert_int_equal(th.got, 2);
    assert_int_equal(th.made, 30);
    assert_int_equal(th.freed, 29); /* all but the one that was kept */
    throw_tell(THROW_SEND);
    assert_int_equal(th.got, 3);
    assert_int_equal(th.freed, 30);
    throw_end();
}

static void a_draft_of_a_callback_before_is_not_its(void **state)
{
    throw_start(FROM_NOBODY);
    throw_tell(THROW_MAKE);
    throw_tell(THROW_OWNED); /* throws, with a draft of its own */
    assert_int_equal(th.failures, 1);
    assert_int_equal(th.freed, 0);
    throw_tell(THROW_SEND);
    assert_int_equal(th.got, 1);
    assert_int_equal(th.freed, 1);
    throw_end();
}

/* A draft's envelope goes back to the pool: thousands of throws take what the first ones took. */
static void throws_take_no_memory(void **state)
{
    axo_stats before = AXO_STATS();
    axo_stats after = AXO_STATS();
    throw_start(FROM_NOBODY);
    for (uint32_t i = 0; i < 10000; i++) {
        if (i == 100)
            assert_int_equal(axo_system_stats(th.system, &before), AXO_OK);
        throw_tell(THROW_OWNED);
    }
    assert_int_equal(axo_system_stats(th.system, &after), AXO_OK);
    assert_int_equal(after.memory_bytes, before.memory_bytes);
    throw_end();
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_kept_context_throws_nowhere_else),
    cmocka_unit_test(nor_does_it_fail_there),
    cmocka_unit_test(a_throw_discards_open_drafts),
    cmocka_unit_test(a_draft_of_a_callback_before_is_not_its),
    cmocka_unit_test(throws_take_no_memory),
};

TEST_MAIN(tests)
