/* trace_context_test.c - trace contexts: what each way of sending carries, what logs name. */
#include <stdio.h>
#include <string.h>

#include <axo/axo.h>

#include "support/cmocka.h"

enum { TC_DO = 1, TC_NOTE, TC_REPLY, TC_PASS, TC_STASH, TC_UNSTASH, TC_FAIL, TC_NOTED, TC_EIGHT };
enum { TC_ROWS = 32, TC_ACTORS = 4 };

/* What a handler saw. */
typedef struct tc_row {
    uint32_t tag;
    axo_status of;
    axo_status parent;
    axo_trace_context own;
    axo_trace_context given;
} tc_row;

typedef struct tc_actor {
    axo_ref ref;
    tc_row rows[TC_ROWS];
    uint32_t count;
    uint32_t stashed;
    tc_row hook;     /* of pre_restart */
    axo_ref pass_to; /* pre_restart passes the message on */
} tc_actor;

static struct {
    axo_testkit *kit;
    axo_system *system;
    tc_actor actors[TC_ACTORS];
    char line[1024]; /* of the last line of the log */
    char json[AXO_LOG_LINE_MAX];
    char trace_id[40];
    char span_id[20];
    uint32_t lines;
} tc;

typedef void (*tc_fn)(axo_ctx *ctx, tc_actor *self);

static const axo_trace_context tc_first = {
    .trace_id = {0x4b, 0xf9, 0x2f, 0x35, 0x77, 0xb3, 0x4d, 0xa6, 0xa3, 0xce, 0x92, 0x9d, 0x0e, 0x0e,
                 0x47, 0x36},
    .span_id = {0x00, 0xf0, 0x67, 0xaa, 0x0b, 0xa9, 0x02, 0xb7},
    .flags = AXO_TRACE_SAMPLED};

static bool tc_same(const axo_trace_context *a, const axo_trace_context *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

static bool tc_same_trace(const axo_trace_context *a, const axo_trace_context *b)
{
    return memcmp(a->trace_id, b->trace_id, sizeof a->trace_id) == 0 && a->flags == b->flags;
}

static void tc_see(axo_ctx *ctx, tc_row *row, uint32_t tag)
{
    row->tag = tag;
    row->of = axo_trace_context_of(ctx, &row->own);
    row->parent = axo_trace_context_parent(ctx, &row->given);
}

static axo_status tc_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    tc_actor *self = *(tc_actor **)state;
    tc_fn fn;
    assert_true(self->count < TC_ROWS);
    tc_see(ctx, &self->rows[self->count++], message->tag);
    switch (message->tag) {
    case TC_DO:
        memcpy(&fn, message->payload, sizeof fn);
        fn(ctx, self);
        return AXO_OK;
    case TC_REPLY:
        return axo_reply(ctx, message, TC_NOTED, NULL, 0);
    case TC_PASS:
        if (self == &tc.actors[2])
            return AXO_OK;
        return axo_forward(ctx, message, tc.actors[2].ref);
    case TC_STASH:
        return self->stashed++ == 0 ? axo_stash(ctx) : AXO_OK;
    case TC_UNSTASH:
        return axo_unstash_all(ctx);
    case TC_FAIL:
        return axo_fail(ctx, 13, "poison");
    case TC_EIGHT:
        assert_int_equal(*AXO_PAYLOAD(message, uint64_t), 8);
        return AXO_OK;
    default:
        return AXO_OK;
    }
}

static axo_status tc_construct(axo_ctx *ctx, void *state, const void *args)
{
    memcpy(state, args, sizeof(tc_actor *));
    return AXO_OK;
}

static axo_status tc_pre_restart(axo_ctx *ctx, void *state, const axo_failure *failure,
                                 const axo_message *message)
{
    tc_actor *self = *(tc_actor **)state;
    tc_see(ctx, &self->hook, message != NULL ? message->tag : 0);
    assert_int_equal(axo_trace_context_set(ctx, &tc_first), AXO_ECONTEXT);
    assert_int_equal(axo_trace_context_new(ctx, 0), AXO_ECONTEXT);
    if (!axo_ref_is_none(self->pass_to))
        assert_int_equal(axo_forward(ctx, message, self->pass_to), AXO_OK);
    return AXO_OK;
}

static const axo_class tc_class =
    AXO_CLASS(.name = "tc", .state_size = sizeof(tc_actor *), .construct = tc_construct,
              .receive = tc_receive, .pre_restart = tc_pre_restart);

static void tc_log(void *user, const axo_log_record *record)
{
    tc.lines++;
    assert_int_equal(axo_log_text(record, tc.line, sizeof tc.line), AXO_OK);
    assert_int_equal(axo_log_json(record, tc.json, sizeof tc.json), AXO_OK);
    (void)snprintf(tc.trace_id, sizeof tc.trace_id, "%s", record->trace_id);
    (void)snprintf(tc.span_id, sizeof tc.span_id, "%s", record->span_id);
}

static axo_ref tc_spawn(uint32_t which, const axo_mailbox *mailbox)
{
    tc_actor *actor = &tc.actors[which];
    const axo_props props =
        AXO_PROPS(.cls = &tc_class, .args = &actor, .args_size = sizeof actor, .mailbox = mailbox);
    assert_int_equal(axo_system_spawn(tc.system, &props, &actor->ref), AXO_OK);
    (void)axo_testkit_run(tc.kit);
    return actor->ref;
}

static void tc_start(const axo_options *options)
{
    memset(&tc, 0, sizeof tc);
    assert_int_equal(axo_testkit_start(options, &tc.kit), AXO_OK);
    tc.system = axo_testkit_system(tc.kit);
    for (uint32_t i = 0; i < TC_ACTORS; i++)
        (void)tc_spawn(i, NULL);
}

static void tc_end(void)
{
    if (axo_testkit_stop(tc.kit) != AXO_OK)
        fail_msg("%s", axo_testkit_why(tc.kit));
}

/* In the turn of actor 0, which is under tc_first. */
static void tc_do(tc_fn fn)
{
    assert_int_equal(
        axo_system_send_traced(tc.system, tc.actors[0].ref, TC_DO, &fn, sizeof fn, &tc_first),
        AXO_OK);
    (void)axo_testkit_run(tc.kit);
}

static void tc_plain(uint32_t to, uint32_t tag)
{
    assert_int_equal(axo_system_send(tc.system, tc.actors[to].ref, tag, NULL, 0), AXO_OK);
    (void)axo_testkit_run(tc.kit);
}

static const tc_row *tc_last(uint32_t which)
{
    const tc_actor *actor = &tc.actors[which];
    assert_true(actor->count > 0);
    return &actor->rows[actor->count - 1];
}

/* The handler had a span of its own, of the trace of `parent`, whose child it is. */
static void tc_child_of(const tc_row *row, const axo_trace_context *parent)
{
    assert_int_equal(row->of, AXO_OK);
    assert_int_equal(row->parent, AXO_OK);
    assert_true(tc_same(&row->given, parent));
    assert_true(tc_same_trace(&row->own, parent));
    assert_memory_not_equal(row->own.span_id, parent->span_id, sizeof parent->span_id);
}

static void tc_has_none(const tc_row *row)
{
    static const axo_trace_context zero;
    assert_int_equal(row->of, AXO_ENOENT);
    assert_int_equal(row->parent, AXO_ENOENT);
    assert_true(tc_same(&row->own, &zero) && tc_same(&row->given, &zero));
}

/* ---- sends ---- */

static void send_all_ways(axo_ctx *ctx, tc_actor *self)
{
    static const char large[100] = "large";
    const uint64_t eight = 8;
    axo_draft *draft;
    void *payload;
    axo_ref to = tc.actors[1].ref;
    assert_int_equal(axo_send(ctx, to, TC_NOTE, NULL, 0), AXO_OK);
    assert_int_equal(axo_send(ctx, to, TC_EIGHT, &eight, 8), AXO_OK);
    assert_int_equal(axo_send(ctx, to, TC_NOTE, large, 16), AXO_OK);
    assert_int_equal(axo_send(ctx, to, TC_NOTE, large, sizeof large), AXO_OK);
    assert_int_equal(axo_send_from(ctx, to, to, TC_NOTE, large, 3), AXO_OK);
    assert_int_equal(axo_send_owned(ctx, to, TC_NOTE, self, 4, NULL, NULL), AXO_OK);
    assert_int_equal(axo_message_new(ctx, TC_EIGHT, sizeof eight, &draft, &payload), AXO_OK);
    memcpy(payload, &eight, sizeof eight);
    assert_int_equal(axo_draft_bind(ctx, draft, 1), AXO_OK);
    assert_int_equal(axo_send_message(ctx, to, draft), AXO_OK);
    const axo_owned owned = {.payload = self, .size = 4};
    assert_int_equal(axo_message_owning(ctx, TC_NOTE, &owned, &draft), AXO_OK);
    assert_int_equal(axo_draft_bind(ctx, draft, 1), AXO_OK);
    assert_int_equal(axo_send_message(ctx, to, draft), AXO_OK);
}

static void sends_carry_it(void **state)
{
    tc_start(&(axo_options)AXO_OPTIONS());
    tc_do(send_all_ways);
    tc_child_of(tc_last(0), &tc_first);
    assert_int_equal(tc.actors[1].count, 8);
    for (uint32_t i = 0; i < 8; i++) {
        tc_child_of(&tc.actors[1].rows[i], &tc_last(0)->own);
        for (uint32_t j = 0; j < i; j++) /* each handling is a span */
            assert_memory_not_equal(tc.actors[1].rows[i].own.span_id,
                                    tc.actors[1].rows[j].own.span_id, 8);
    }
    tc_plain(1, TC_NOTE); /* nothing of it is left */
    tc_has_none(tc_last(1));
    tc_plain(0, TC_NOTE);
    tc_has_none(tc_last(0));
    tc_end();
}

static void send_to_2(axo_ctx *ctx, tc_actor *self)
{
    assert_int_equal(axo_send(ctx, tc.actors[2].ref, TC_NOTE, NULL, 0), AXO_OK);
}

/* Who has none sends none, also when others of the same turn have one. */
static void none_is_made_up(void **state)
{
    const tc_fn fn = send_to_2;
    tc_start(&(axo_options)AXO_OPTIONS());
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(axo_system_send_traced(tc.system, tc.actors[0].ref, TC_DO, &fn, sizeof fn,
                                                i == 1 ? &tc_first : NULL),
                         AXO_OK);
    }
    (void)axo_testkit_run(tc.kit);
    assert_int_equal(tc.actors[2].count, 3);
    tc_has_none(&tc.actors[2].rows[0]);
    tc_child_of(&tc.actors[2].rows[1], &tc.actors[0].rows[1].own);
    tc_has_none(&tc.actors[2].rows[2]);
    tc_end();
}

/* ---- contexts that begin in a handler ---- */

static axo_trace_context begun[4];

static void begin_some(axo_ctx *ctx, tc_actor *self)
{
    axo_trace_context zero = {.flags = 0};
    axo_trace_context bad = tc_first;
    axo_ref to = tc.actors[1].ref;
    memset(bad.span_id, 0, sizeof bad.span_id);
    assert_int_equal(axo_trace_context_set(ctx, &zero), AXO_EINVAL);
    assert_int_equal(axo_trace_context_set(ctx, &bad), AXO_EINVAL);
    assert_int_equal(axo_trace_context_new(ctx, 256), AXO_EINVAL);
    assert_int_equal(axo_trace_context_of(ctx, NULL), AXO_EINVAL);
    assert_int_equal(axo_trace_context_parent(ctx, NULL), AXO_EINVAL);
    assert_int_equal(axo_trace_context_of(ctx, &begun[0]), AXO_ENOENT);
    assert_int_equal(axo_send(ctx, to, TC_NOTE, NULL, 0), AXO_OK);
    assert_int_equal(axo_trace_context_new(ctx, AXO_TRACE_RANDOM), AXO_OK);
    assert_int_equal(axo_trace_context_of(ctx, &begun[0]), AXO_OK);
    assert_int_equal(axo_trace_context_parent(ctx, &zero), AXO_ENOENT);
    assert_int_equal(axo_send(ctx, to, TC_NOTE, NULL, 0), AXO_OK);
    assert_int_equal(axo_trace_context_set(ctx, &tc_first), AXO_OK);
    assert_int_equal(axo_trace_context_of(ctx, &begun[1]), AXO_OK);
    assert_int_equal(axo_trace_context_parent(ctx, &begun[2]), AXO_OK);
    assert_int_equal(axo_send(ctx, to, TC_NOTE, NULL, 0), AXO_OK);
    assert_int_equal(axo_trace_context_set(ctx, NULL), AXO_OK);
    assert_int_equal(axo_trace_context_of(ctx, &zero), AXO_ENOENT);
    assert_int_equal(axo_send(ctx, to, TC_NOTE, NULL, 0), AXO_OK);
    assert_int_equal(axo_trace_context_new(ctx, 0), AXO_OK);
    assert_int_equal(axo_trace_context_of(ctx, &begun[3]), AXO_OK);
}

static void handlers_begin_them(void **state)
{
    const tc_fn fn = begin_some;
    tc_start(&(axo_options)AXO_OPTIONS());
    assert_int_equal(axo_system_send(tc.system, tc.actors[0].ref, TC_DO, &fn, sizeof fn), AXO_OK);
    tc_plain(0, TC_NOTE);
    tc_has_none(tc_last(0)); /* what a handler has begun ends with it */
    const tc_row *rows = tc.actors[1].rows;
    assert_int_equal(tc.actors[1].count, 4);
    tc_has_none(&rows[0]);
    tc_child_of(&rows[1], &begun[0]);
    tc_child_of(&rows[2], &begun[1]);
    tc_has_none(&rows[3]);
    assert_true(tc_same(&begun[2], &tc_first) && tc_same_trace(&begun[1], &tc_first));
    assert_int_equal(begun[0].flags, AXO_TRACE_RANDOM);
    assert_false(tc_same(&begun[0], &begun[3]));
    assert_memory_not_equal(begun[0].trace_id, begun[3].trace_id, 16);
    axo_trace_context out;
    assert_int_equal(axo_trace_context_of(NULL, &out), AXO_ECONTEXT);
    assert_int_equal(axo_trace_context_parent(NULL, &out), AXO_ECONTEXT);
    assert_int_equal(axo_trace_context_set(NULL, &tc_first), AXO_ECONTEXT);
    assert_int_equal(axo_trace_context_new(NULL, 0), AXO_ECONTEXT);
    memset(out.trace_id, 0, sizeof out.trace_id);
    assert_int_equal(axo_system_send_traced(tc.system, tc.actors[1].ref, 1, NULL, 0, &out),
                     AXO_EINVAL);
    assert_int_equal(axo_system_send_traced(NULL, tc.actors[1].ref, 1, NULL, 0, &tc_first),
                     AXO_EINVAL);
    assert_int_equal(
        axo_system_send_traced(tc.system, tc.actors[1].ref, AXO_TAG_RESERVED, NULL, 0, &tc_first),
        AXO_EINVAL);
    assert_int_equal(
        axo_system_send_traced(tc.system, tc.actors[1].ref, 1, "", AXO_PAYLOAD_MAX + 1, &tc_first),
        AXO_ETOOBIG);
    assert_int_equal(tc.actors[1].count, 4);
    tc_end();
}

/* ---- asks, forwards, the stash ---- */

static void ask_1(axo_ctx *ctx, tc_actor *self)
{
    assert_int_equal(axo_ask(ctx, tc.actors[1].ref, TC_REPLY, NULL, 0, 1000000000, 7), AXO_OK);
}

static void asks_and_answers(void **state)
{
    tc_start(&(axo_options)AXO_OPTIONS());
    tc_do(ask_1);
    assert_int_equal(tc.actors[1].count, 1);
    tc_child_of(tc_last(1), &tc.actors[0].rows[0].own);
    assert_int_equal(tc_last(0)->tag, AXO_ASK_ANSWER);
    assert_int_equal(tc_last(0)->of, AXO_OK);
    assert_true(tc_same_trace(&tc_last(0)->own, &tc_first));
    tc_end();
}

static void pass_1(axo_ctx *ctx, tc_actor *self)
{
    assert_int_equal(axo_send(ctx, tc.actors[1].ref, TC_PASS, "x", 1), AXO_OK);
}

static void forwards(void **state)
{
    tc_start(&(axo_options)AXO_OPTIONS());
    tc_do(pass_1);
    tc_child_of(tc_last(1), &tc_last(0)->own);
    tc_child_of(tc_last(2), &tc_last(1)->own);
    assert_int_equal(tc_last(2)->tag, TC_PASS);
    tc_end();
}

static void stash_1(axo_ctx *ctx, tc_actor *self)
{
    assert_int_equal(axo_send(ctx, tc.actors[1].ref, TC_STASH, "x", 1), AXO_OK);
}

static void stashed_messages_keep_theirs(void **state)
{
    tc_start(&(axo_options)AXO_OPTIONS());
    tc_do(stash_1);
    tc_plain(1, TC_NOTE);
    tc_has_none(tc_last(1));
    tc_plain(1, TC_UNSTASH);
    const tc_row *rows = tc.actors[1].rows;
    assert_int_equal(tc.actors[1].count, 4);
    assert_int_equal(rows[3].tag, TC_STASH);
    tc_child_of(&rows[0], &tc_last(0)->own);
    tc_child_of(&rows[3], &tc_last(0)->own);
    assert_memory_not_equal(rows[0].own.span_id, rows[3].own.span_id, 8);
    tc_has_none(&rows[2]);
    tc_end();
}

/* ---- timers ---- */

static void start_timers(axo_ctx *ctx, tc_actor *self)
{
    axo_timer timer;
    axo_ref to = tc.actors[1].ref;
    const uint64_t eight = 8;
    assert_int_equal(axo_send_after(ctx, 1000000, to, TC_EIGHT, &eight, sizeof eight), AXO_OK);
    assert_int_equal(axo_schedule_once(ctx, 5000000, to, TC_NOTE, NULL, 0, &timer), AXO_OK);
    assert_int_equal(
        axo_schedule_fixed_rate(ctx, 9000000, 900000000, to, TC_NOTED, NULL, 0, &timer), AXO_OK);
    assert_int_equal(
        axo_timer_start(ctx, 1, AXO_TIMER_ONCE, 1000000, 0, TC_EIGHT, &eight, sizeof eight),
        AXO_OK);
    assert_int_equal(axo_timer_start(ctx, 2, AXO_TIMER_ONCE, 5000000, 0, TC_NOTE, NULL, 0), AXO_OK);
    assert_int_equal(
        axo_timer_start(ctx, 3, AXO_TIMER_FIXED_DELAY, 9000000, 900000000, TC_NOTED, NULL, 0),
        AXO_OK);
    assert_int_equal(axo_receive_timeout(ctx, 300000000), AXO_OK);
}

static void timers(void **state)
{
    tc_start(&(axo_options)AXO_OPTIONS());
    tc_do(start_timers);
    (void)axo_testkit_advance(tc.kit, 400000000);
    const axo_trace_context *own = &tc.actors[0].rows[0].own;
    assert_int_equal(tc.actors[1].count, 3);
    tc_child_of(&tc.actors[1].rows[0], own);
    tc_child_of(&tc.actors[1].rows[1], own);
    tc_has_none(&tc.actors[1].rows[2]);
    assert_int_equal(tc.actors[0].count, 5);
    tc_child_of(&tc.actors[0].rows[1], own);
    tc_child_of(&tc.actors[0].rows[2], own);
    tc_has_none(&tc.actors[0].rows[3]);
    tc_has_none(&tc.actors[0].rows[4]);
    assert_int_equal(tc.actors[0].rows[4].tag, AXO_RECEIVE_TIMEOUT);
    tc_end();
}

/* ---- failures ---- */

static void fail_1(axo_ctx *ctx, tc_actor *self)
{
    assert_int_equal(axo_send(ctx, tc.actors[1].ref, TC_FAIL, NULL, 0), AXO_OK);
}

/* The hook, the log, and who gets the message passed on see the handler that failed. */
static void failures_name_it(void **state)
{
    char text[AXO_TRACEPARENT_SIZE];
    tc_start(&(axo_options)AXO_OPTIONS(.log_record = tc_log));
    tc.actors[1].pass_to = tc.actors[3].ref;
    tc_do(fail_1);
    const tc_row *failed = &tc.actors[1].rows[0];
    tc_child_of(failed, &tc_last(0)->own);
    assert_int_equal(tc.actors[1].hook.tag, TC_FAIL);
    assert_int_equal(tc.actors[1].hook.of, AXO_OK);
    assert_true(tc_same(&tc.actors[1].hook.own, &failed->own));
    assert_int_equal(tc.actors[1].hook.parent, AXO_ENOENT);
    tc_child_of(&tc.actors[3].rows[0], &failed->own);
    /* two lines: of the one that failed, and of the one that failed under the copy */
    assert_int_equal(tc.lines, 2);
    assert_int_equal(axo_traceparent_format(&tc.actors[3].rows[0].own, text, sizeof text), AXO_OK);
    assert_int_equal(strlen(tc.trace_id), 32);
    assert_memory_equal(tc.trace_id, text + 3, 32);
    assert_int_equal(strlen(tc.span_id), 16);
    assert_memory_equal(tc.span_id, text + 36, 16);
    char expected[128];
    (void)snprintf(expected, sizeof expected, "; trace %s span %s", tc.trace_id, tc.span_id);
    assert_non_null(strstr(tc.line, expected));
    (void)snprintf(expected, sizeof expected, "\"trace_id\":\"%s\",\"span_id\":\"%s\"", tc.trace_id,
                   tc.span_id);
    assert_non_null(strstr(tc.json, expected));
    tc.actors[1].pass_to = axo_ref_none();
    tc_plain(1, TC_FAIL);
    assert_int_equal(tc.lines, 3);
    assert_string_equal(tc.trace_id, "");
    assert_null(strstr(tc.line, "trace"));
    assert_null(strstr(tc.json, "trace_id"));
    assert_int_equal(tc.actors[1].hook.of, AXO_ENOENT);
    tc_end();
}

/* What the observer of events is told, while a test has asked for it. */
static struct {
    bool on;
    uint32_t count;
    struct {
        uint32_t kind;
        axo_ref actor;
        axo_trace_context trace; /* zero: none */
    } all[64];
} tc_events;

static void tc_event(void *user, const axo_event *event)
{
    if (!tc_events.on)
        return;
    assert_true(tc_events.count < 64);
    uint32_t at = tc_events.count++;
    tc_events.all[at].kind = event->kind;
    tc_events.all[at].actor = event->actor;
    if (event->trace != NULL)
        tc_events.all[at].trace = *event->trace;
}

/* The only event of its kind and actor has this context; NULL: none. */
static void tc_event_of(uint32_t kind, axo_ref actor, const axo_trace_context *trace)
{
    static const axo_trace_context none;
    uint32_t found = 0;
    for (uint32_t i = 0; i < tc_events.count; i++) {
        if (tc_events.all[i].kind != kind || !axo_ref_equal(tc_events.all[i].actor, actor))
            continue;
        found++;
        assert_true(tc_same(&tc_events.all[i].trace, trace != NULL ? trace : &none));
    }
    assert_int_equal(found, 1);
}

static axo_ref tc_born;

static void spawn_and_fail_1(axo_ctx *ctx, tc_actor *self)
{
    static tc_actor *const actor = &tc.actors[3];
    const axo_props props = AXO_PROPS(.cls = &tc_class, .args = &actor, .args_size = sizeof actor);
    assert_int_equal(axo_spawn(ctx, &props, &tc_born), AXO_OK);
    assert_int_equal(axo_send(ctx, tc.actors[1].ref, TC_FAIL, NULL, 0), AXO_OK);
    assert_int_equal(axo_send(ctx, tc.actors[2].ref, TC_NOTE, NULL, 0), AXO_EGONE);
}

/* Events name the handler that runs, a failure the one that failed; what is no handler's, none. */
static void events_name_it(void **state)
{
    memset(&tc_events, 0, sizeof tc_events);
    tc_start(&(axo_options)AXO_OPTIONS(.trace = tc_event));
    assert_int_equal(axo_system_stop_actor(tc.system, tc.actors[2].ref), AXO_OK);
    (void)axo_testkit_run(tc.kit);
    tc_events.on = true;
    tc_do(spawn_and_fail_1);
    const axo_trace_context *first = &tc_last(0)->own;
    const axo_trace_context *failed = &tc_last(1)->own;
    tc_event_of(AXO_EV_RECEIVE, tc.actors[0].ref, first);
    tc_event_of(AXO_EV_SPAWN, tc_born, first);
    tc_event_of(AXO_EV_DEAD_LETTER, tc.actors[2].ref, first);
    tc_event_of(AXO_EV_RECEIVED, tc.actors[0].ref, first);
    tc_event_of(AXO_EV_RECEIVE, tc.actors[1].ref, failed);
    tc_event_of(AXO_EV_FAIL, tc.actors[1].ref, failed);
    tc_event_of(AXO_EV_PRE_RESTART, tc.actors[1].ref, NULL);
    tc_event_of(AXO_EV_STARTED, tc_born, NULL);
    memset(&tc_events.all, 0, sizeof tc_events.all);
    tc_events.count = 0;
    tc_plain(1, TC_FAIL);
    tc_event_of(AXO_EV_RECEIVE, tc.actors[1].ref, NULL);
    tc_event_of(AXO_EV_FAIL, tc.actors[1].ref, NULL);
    tc_events.on = false;
    tc_end();
}

/* A dead letter's line names the sender's. */
static void letter(axo_ctx *ctx, tc_actor *self)
{
    assert_int_equal(axo_send(ctx, tc.actors[1].ref, TC_NOTE, NULL, 0), AXO_EGONE);
}

static void dead_letters_name_it(void **state)
{
    char text[AXO_TRACEPARENT_SIZE];
    tc_start(&(axo_options)AXO_OPTIONS(.log_record = tc_log));
    assert_int_equal(axo_system_stop_actor(tc.system, tc.actors[1].ref), AXO_OK);
    (void)axo_testkit_run(tc.kit);
    tc_do(letter);
    assert_int_equal(tc.lines, 1);
    assert_int_equal(axo_traceparent_format(&tc_last(0)->own, text, sizeof text), AXO_OK);
    assert_memory_equal(tc.trace_id, text + 3, 32);
    assert_memory_equal(tc.span_id, text + 36, 16);
    tc_end();
}

static axo_ref tc_child;

static axo_status tc_parent_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    static tc_actor *const actor = &tc.actors[1];
    const axo_props props = AXO_PROPS(.cls = &tc_class, .args = &actor, .args_size = sizeof actor);
    return axo_spawn(ctx, &props, &tc_child);
}

static void fail_child(axo_ctx *ctx, tc_actor *self)
{
    assert_int_equal(axo_send(ctx, tc_child, TC_FAIL, NULL, 0), AXO_OK);
}

/* The answer is the request's envelope: with the reserve of texts, and without. */
static void answers_of_failed_requests(void **state)
{
    static const axo_class parent = AXO_CLASS(.name = "parent", .receive = tc_parent_receive);
    static const axo_strategy telling =
        AXO_STRATEGY(.decider = axo_decide_restart, .answer_failed = 1);
    const axo_props props = AXO_PROPS(.cls = &parent, .strategy = &telling);
    axo_ref ref;
    tc_start(&(axo_options)AXO_OPTIONS());
    assert_int_equal(axo_system_spawn(tc.system, &props, &ref), AXO_OK);
    assert_int_equal(axo_system_send(tc.system, ref, 1, NULL, 0), AXO_OK);
    (void)axo_testkit_run(tc.kit);
    for (uint32_t i = 0; i < 4; i++) {
        tc_do(fail_child);
        assert_int_equal(tc_last(0)->tag, AXO_REQUEST_FAILED);
        tc_child_of(tc_last(0), &tc_last(1)->own);
        tc_child_of(tc_last(1), &tc.actors[0].rows[2 * i].own);
    }
    tc_end();
}

/* ---- mailboxes, times ---- */

static void send_three(axo_ctx *ctx, tc_actor *self)
{
    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(axo_send(ctx, tc.actors[1].ref, TC_NOTE, "x", 1), AXO_OK);
    assert_int_equal(axo_send(ctx, tc.actors[1].ref, TC_NOTE, "x", 1), AXO_EFULL);
}

static uint32_t tc_priority(const axo_message *message, void *user)
{
    return 0xfffffe + (message->tag == TC_NOTE);
}

/* A bound refuses messages with a context as it does others, and times and priorities are kept. */
static void bounded_mailboxes(void **state)
{
    const axo_mailbox boxes[] = {
        AXO_MAILBOX(.messages_max = 2),
        AXO_MAILBOX(.messages_max = 2, .kind = AXO_MAILBOX_PRIORITY, .priority = tc_priority)};
    for (uint32_t i = 0; i < 4; i++) {
        tc_start(&(axo_options)AXO_OPTIONS(.figures = i < 2 ? 0 : AXO_FIGURES_TIMES));
        (void)tc_spawn(1, &boxes[i % 2]);
        tc_do(send_three);
        assert_int_equal(tc.actors[1].count, 2);
        tc_child_of(&tc.actors[1].rows[0], &tc_last(0)->own);
        tc_child_of(&tc.actors[1].rows[1], &tc_last(0)->own);
        tc_end();
    }
}

static axo_status tc_sum(void *user, const axo_metrics_class *figures)
{
    if (strcmp(figures->name, "tc") == 0)
        *(uint64_t *)user = figures->mailbox.count;
    return AXO_OK;
}

static void they_are_timed(void **state)
{
    uint64_t timed = 0;
    tc_start(&(axo_options)AXO_OPTIONS(.figures = AXO_FIGURES_TIMES));
    tc_do(send_to_2);
    tc_plain(2, TC_NOTE);
    assert_int_equal(axo_metrics_classes(tc.system, tc_sum, &timed), AXO_OK);
    assert_int_equal(timed, 3);
    tc_end();
}

/* ---- memory ---- */

static uint32_t refused;

static void send_without_memory(axo_ctx *ctx, tc_actor *self)
{
    static const char large[20000] = "large";
    axo_trace_context before;
    axo_trace_context after;
    assert_int_equal(axo_trace_context_of(ctx, &before), AXO_OK);
    axo_testkit_fail_memory(tc.kit, 0, UINT64_MAX);
    axo_status status = axo_send(ctx, tc.actors[1].ref, TC_NOTE, large, sizeof large);
    axo_testkit_fail_memory(tc.kit, 0, 0);
    assert_int_equal(status, AXO_ENOMEM);
    refused++;
    assert_int_equal(axo_trace_context_of(ctx, &after), AXO_OK);
    assert_true(tc_same(&before, &after));
    assert_int_equal(axo_send(ctx, tc.actors[1].ref, TC_NOTE, large, sizeof large), AXO_OK);
}

static void without_memory(void **state)
{
    refused = 0;
    tc_start(&(axo_options)AXO_OPTIONS());
    tc_do(send_without_memory);
    assert_int_equal(refused, 1);
    assert_int_equal(tc.actors[1].count, 1);
    tc_child_of(tc_last(1), &tc_last(0)->own);
    tc_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sends_carry_it),
        cmocka_unit_test(none_is_made_up),
        cmocka_unit_test(handlers_begin_them),
        cmocka_unit_test(asks_and_answers),
        cmocka_unit_test(forwards),
        cmocka_unit_test(stashed_messages_keep_theirs),
        cmocka_unit_test(timers),
        cmocka_unit_test(failures_name_it),
        cmocka_unit_test(events_name_it),
        cmocka_unit_test(dead_letters_name_it),
        cmocka_unit_test(answers_of_failed_requests),
        cmocka_unit_test(bounded_mailboxes),
        cmocka_unit_test(they_are_timed),
        cmocka_unit_test(without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
