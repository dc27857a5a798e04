/* forms_scene.h - every way in which the examples make a struct, take a payload and call, as C and
 * as C++ of every standard: one text. Fields are named where the language has that (FORMS_NAMED);
 * elsewhere the functions of init.h make the struct. It runs on the test kit. */
#ifndef AXO_TEST_FORMS_SCENE_H
#define AXO_TEST_FORMS_SCENE_H

#include "forms.h"

#if !defined(__cplusplus) || __cplusplus > 201703L
#define FORMS_NAMED 1
#else
#define FORMS_NAMED 0
#endif

#define FORMS_S INT64_C(1000000000)
#define FORMS_MUST(call)                                                                           \
    do {                                                                                           \
        if ((call) != AXO_OK) {                                                                    \
            (void)fprintf(stderr, "forms_scene.h:%d: %s\n", __LINE__, #call);                      \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)
#define FORMS_CHECK(condition)                                                                     \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            (void)fprintf(stderr, "forms_scene.h:%d: %s\n", __LINE__, #condition);                 \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

enum { FORMS_ADD = 1, FORMS_FAIL, FORMS_ASK, FORMS_SUM, FORMS_GO, FORMS_OWNED, FORMS_TOLD };
enum { FORMS_CLOSED, FORMS_OPEN };

/* What an actor of this scene knows; `log` is the test's. */
typedef struct forms_log {
    int added;
    int answered;
    int failed_ask;
    int events;
    int stopped;
    int freed;
    int traced;
    int logged;
    int dead;
} forms_log;

typedef struct forms_args {
    forms_log *log;
    axo_ref other;
} forms_args;

typedef struct forms_state {
    axo_machine machine;
    forms_log *log;
    axo_ref other;
} forms_state;

/* ---- callbacks ----------------------------------------------------------------------------- */

static axo_status forms_construct(axo_ctx *ctx, void *state, const void *args)
{
    forms_state *me = AXO_CAST(forms_state *, state);
    const forms_args *given = AXO_CAST(const forms_args *, args);
    (void)ctx;
    me->log = given->log;
    me->other = given->other;
    return AXO_OK;
}

static void forms_free(void *payload, void *user)
{
    (void)payload;
    AXO_CAST(forms_log *, user)->freed++;
}

static void forms_defer(void *arg)
{
    AXO_CAST(forms_log *, arg)->stopped++;
}

static const char *forms_tag_name(uint32_t tag)
{
    return tag == FORMS_ADD ? "add" : FORMS_NONE;
}

static axo_directive forms_decide(axo_ctx *ctx, void *state, const axo_failure *failure, void *user)
{
    if (user != FORMS_NONE)
        return AXO_ESCALATE;
    return failure->code == 7 ? AXO_RESTART : axo_decide_default(ctx, state, failure, user);
}

static uint32_t forms_priority(const axo_message *message, void *user)
{
    (void)user;
    return message->tag == FORMS_SUM ? 0 : message->tag;
}

static uint64_t forms_key(const axo_message *message, void *user)
{
    (void)user;
    return message->tag;
}

static void forms_trace(void *user, const axo_event *event)
{
    const uint64_t wanted = AXO_EVENT_BIT(AXO_EV_FAIL) | AXO_EVENT_BIT(AXO_EV_STARTED);
    if ((AXO_EVENT_BIT(event->kind) & wanted) != 0 && axo_event_name(event->kind)[0] != '?')
        AXO_CAST(forms_log *, user)->traced++;
}

static void forms_say(void *user, axo_log_level level, axo_ref actor, const char *text)
{
    (void)actor;
    if (level <= AXO_LOG_INFO && text[0] != 0)
        AXO_CAST(forms_log *, user)->logged++;
}

static void forms_dead(void *user, const axo_dead_letter *letter)
{
    if (letter->reason == AXO_DEAD_GONE || letter->message->tag == FORMS_ADD)
        AXO_CAST(forms_log *, user)->dead++;
}

static axo_status forms_call(void *user)
{
    (void)user;
    return AXO_OK;
}

/* ---- a machine ----------------------------------------------------------------------------- */

static axo_status forms_closed(axo_ctx *ctx, void *state, const axo_message *message)
{
    forms_state *me = AXO_CAST(forms_state *, state);
    return message->tag == FORMS_GO ? axo_machine_goto(ctx, &me->machine, FORMS_OPEN)
                                    : AXO_UNHANDLED;
}

static axo_status forms_open(axo_ctx *ctx, void *state, const axo_message *message)
{
    forms_state *me = AXO_CAST(forms_state *, state);
    if (message->tag != AXO_STATE_TIMEOUT)
        return AXO_UNHANDLED;
    me->log->added += 100;
    return axo_machine_goto(ctx, &me->machine, FORMS_CLOSED);
}

#if !defined(__cplusplus)
static const axo_machine_state forms_states[] = {
    [FORMS_CLOSED] = {.name = "closed", .receive = forms_closed},
    [FORMS_OPEN] = AXO_MACHINE_STATE(.name = "open", .receive = forms_open, .timeout_ns = FORMS_S),
};
#elif FORMS_NAMED
static const axo_machine_state forms_states[] = {
    AXO_MACHINE_STATE(.name = "closed", .receive = forms_closed),
    AXO_MACHINE_STATE(.name = "open", .receive = forms_open, .timeout_ns = FORMS_S),
};
#else
static const axo_machine_state forms_states[] = {
    {"closed", forms_closed, FORMS_NONE, FORMS_NONE, 0},
    {"open", forms_open, FORMS_NONE, FORMS_NONE, FORMS_S},
};
#endif
static const axo_machine_table forms_table = AXO_MACHINE_TABLE(forms_states, FORMS_CLOSED);

static axo_status forms_pre_start(axo_ctx *ctx, void *state)
{
    forms_state *me = AXO_CAST(forms_state *, state);
    const axo_status status = axo_defer(ctx, forms_defer, me->log);
    return status != AXO_OK ? status : axo_machine_start(ctx, &me->machine, &forms_table, state);
}

/* ---- receive ------------------------------------------------------------------------------- */

static axo_status forms_event(forms_state *me, const axo_event_message *event)
{
    if (event->kind == AXO_KIND_SUPERVISION_RESTART &&
        AXO_EVENT_DATA(event, axo_event_supervision)->code == 7)
        me->log->events++;
    if (axo_event_data(event) != event + 1)
        return AXO_EFAILED;
    if (event->kind == AXO_KIND_USER && *AXO_EVENT_DATA(event, int) == 5)
        me->log->events++;
    return AXO_OK;
}

static axo_status forms_answer(forms_state *me, const axo_message *message)
{
    const axo_message answer = axo_answer_of(message);
    if (AXO_PAYLOAD(message, axo_answer)->id == 1 && answer.tag == FORMS_SUM)
        me->log->answered += *AXO_PAYLOAD(&answer, int);
    return AXO_OK;
}

static axo_status forms_ask(axo_ctx *ctx, forms_state *me)
{
    if (axo_ref_is_none(me->other))
        return axo_fail_fatal(ctx, 3, "nobody to ask, %s", "sorry");
    return axo_ask(ctx, me->other, FORMS_SUM, FORMS_NONE, 0, FORMS_S, 1);
}

/* Messages in place, bound to an instance, and handed over. */
static axo_status forms_send(axo_ctx *ctx, forms_state *me)
{
    axo_draft *draft = FORMS_NONE;
    void *room = FORMS_NONE;
    axo_status status = axo_message_new(ctx, FORMS_ADD, sizeof(int), &draft, &room);
    if (status != AXO_OK)
        return status;
    *AXO_CAST(int *, room) = 20;
    status = axo_send_message(ctx, me->other, draft);
#if FORMS_NAMED
    axo_owned owned = {.payload = me->log, .size = 0, .destroy = forms_free, .user = me->log};
#else
    axo_owned owned = {me->log, 0, forms_free, me->log};
#endif
    if (status == AXO_OK)
        status = axo_message_owning(ctx, FORMS_OWNED, &owned, &draft);
    return status == AXO_OK ? axo_send_message(ctx, me->other, draft) : status;
}

static axo_status forms_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    forms_state *me = AXO_CAST(forms_state *, state);
    switch (message->tag) {
    case FORMS_ADD:
        me->log->added += *AXO_PAYLOAD(message, int);
        return AXO_OK;
    case FORMS_FAIL:
        return axo_fail(ctx, 7, "as told by %" PRIu64, message->sender.bits);
    case FORMS_ASK:
        return forms_ask(ctx, me);
    case FORMS_SUM:
        return axo_reply(ctx, message, FORMS_SUM, &me->log->added, sizeof me->log->added);
    case FORMS_TOLD:
        return forms_send(ctx, me);
    case FORMS_OWNED:
        return AXO_OK;
    case AXO_ASK_ANSWER:
        return forms_answer(me, message);
    case AXO_ASK_FAILED:
        me->log->failed_ask += AXO_PAYLOAD(message, axo_verdict)->status != AXO_OK;
        return AXO_OK;
    case AXO_REQUEST_FAILED:
        me->log->failed_ask += axo_request_failed_of(message).code == 7;
        return AXO_OK;
    case AXO_EVENT:
        return forms_event(me, AXO_PAYLOAD(message, axo_event_message));
    default:
        return axo_machine_receive(ctx, &me->machine, state, message);
    }
}

/* ---- structs ------------------------------------------------------------------------------- */

#if FORMS_NAMED
static const axo_class forms_class =
    AXO_CLASS(.name = "forms", .state_size = sizeof(forms_state), .construct = forms_construct,
              .pre_start = forms_pre_start, .receive = forms_receive, .tag_name = forms_tag_name);
static const axo_backoff forms_delays =
    AXO_BACKOFF(.min_ns = 3 * FORMS_S, .max_ns = 60 * FORMS_S, .factor = 2.5);
static const axo_strategy forms_strategy =
    AXO_STRATEGY(.scope = AXO_ONE_FOR_ONE, .decider = forms_decide, .retries_max = 5, .limited = 1,
                 .within_ns = 60 * FORMS_S, .backoff = &forms_delays);
static const axo_mailbox forms_mailbox =
    AXO_MAILBOX(.kind = AXO_MAILBOX_PRIORITY, .overflow = AXO_OVERFLOW_DROP_NEW,
                .messages_max = 100, .priority = forms_priority);
#else
static axo_class forms_class;
static axo_backoff forms_delays;
static axo_strategy forms_strategy;
static axo_mailbox forms_mailbox;
#endif

/* What the file's scope cannot make before C++20. */
static void forms_fill(void)
{
#if !FORMS_NAMED
    axo_class_init(&forms_class);
    forms_class.name = "forms";
    forms_class.state_size = sizeof(forms_state);
    forms_class.construct = forms_construct;
    forms_class.pre_start = forms_pre_start;
    forms_class.receive = forms_receive;
    forms_class.tag_name = forms_tag_name;
    axo_backoff_init(&forms_delays);
    forms_delays.min_ns = 3 * FORMS_S;
    forms_delays.max_ns = 60 * FORMS_S;
    forms_delays.factor = 2.5;
    axo_strategy_init(&forms_strategy);
    forms_strategy.scope = AXO_ONE_FOR_ONE;
    forms_strategy.decider = forms_decide;
    forms_strategy.retries_max = 5;
    forms_strategy.limited = 1;
    forms_strategy.within_ns = 60 * FORMS_S;
    forms_strategy.backoff = &forms_delays;
    axo_mailbox_init(&forms_mailbox);
    forms_mailbox.kind = AXO_MAILBOX_PRIORITY;
    forms_mailbox.overflow = AXO_OVERFLOW_DROP_NEW;
    forms_mailbox.messages_max = 100;
    forms_mailbox.priority = forms_priority;
#endif
}

static axo_options forms_options(forms_log *log)
{
#if FORMS_NAMED
    const axo_options options =
        AXO_OPTIONS(.workers = 1, .seed = 5, .user_strategy = &forms_strategy,
                    .on_dead_letter = forms_dead, .dead_letter_user = log, .log = forms_say,
                    .log_user = log, .trace = forms_trace, .trace_user = log, .name = "forms",
                    .trace_kinds = AXO_EVENT_BIT(AXO_EV_FAIL) | AXO_EVENT_BIT(AXO_EV_STARTED));
#else
    axo_options options = AXO_OPTIONS();
    options.workers = 1;
    options.seed = 5;
    options.user_strategy = &forms_strategy;
    options.on_dead_letter = forms_dead;
    options.dead_letter_user = log;
    options.log = forms_say;
    options.log_user = log;
    options.trace = forms_trace;
    options.trace_user = log;
    options.name = "forms";
    options.trace_kinds = AXO_EVENT_BIT(AXO_EV_FAIL) | AXO_EVENT_BIT(AXO_EV_STARTED);
#endif
    return options;
}

static axo_props forms_props(const char *name, const forms_args *args)
{
#if FORMS_NAMED
    const axo_props props =
        AXO_PROPS(.cls = &forms_class, .args = args, .args_size = sizeof *args, .name = name,
                  .strategy = &forms_strategy, .dispatcher = AXO_DISPATCH_PINNED, .stash_max = 10,
                  .lifetime = AXO_PERMANENT, .mailbox = &forms_mailbox);
#else
    axo_props props;
    axo_props_init(&props);
    props.cls = &forms_class;
    props.args = args;
    props.args_size = sizeof *args;
    props.name = name;
    props.strategy = &forms_strategy;
    props.dispatcher = AXO_DISPATCH_PINNED;
    props.stash_max = 10;
    props.lifetime = AXO_PERMANENT;
    props.mailbox = &forms_mailbox;
#endif
    return props;
}

static axo_router forms_router(const axo_props *child, const axo_resizer *resizer)
{
#if FORMS_NAMED
    const axo_router router =
        AXO_ROUTER(.logic = AXO_ROUTE_HASH, .pool = 2, .child = child, .strategy = &forms_strategy,
                   .resizer = resizer, .hash_key = forms_key);
#else
    axo_router router = AXO_ROUTER();
    router.logic = AXO_ROUTE_HASH;
    router.pool = 2;
    router.child = child;
    router.strategy = &forms_strategy;
    router.resizer = resizer;
    router.hash_key = forms_key;
#endif
    return router;
}

static axo_backoff_supervisor forms_keeper(const axo_props *child)
{
#if FORMS_NAMED
    const axo_backoff_supervisor keeper =
        AXO_BACKOFF_SUPERVISOR(.child = child, .backoff = &forms_delays, .when = AXO_ON_STOP,
                               .absent = AXO_ABSENT_REPLY, .absent_tag = FORMS_TOLD);
#else
    axo_backoff_supervisor keeper;
    axo_backoff_supervisor_init(&keeper);
    keeper.child = child;
    keeper.backoff = &forms_delays;
    keeper.when = AXO_ON_STOP;
    keeper.absent = AXO_ABSENT_REPLY;
    keeper.absent_tag = FORMS_TOLD;
#endif
    return keeper;
}

static int forms_phases(axo_system *system, axo_ref actor)
{
#if FORMS_NAMED
    const axo_phase phases[] = {AXO_PHASE(.name = "first", .timeout_ns = FORMS_S),
                                AXO_PHASE(.name = "then", .abort = 1, .after = {"first"})};
    const axo_task tasks[] = {
        AXO_TASK(.phase = "first", .name = "stop", .kind = AXO_TASK_STOP, .actor = actor),
        AXO_TASK(.phase = "then", .name = "call", .kind = AXO_TASK_CALL, .call = forms_call)};
#else
    axo_phase phases[] = {AXO_PHASE(), AXO_PHASE()};
    phases[0].name = "first";
    phases[0].timeout_ns = FORMS_S;
    phases[1].name = "then";
    phases[1].abort = 1;
    phases[1].after[0] = "first";
    axo_task tasks[2];
    axo_task_init(&tasks[0]);
    tasks[0].phase = "first";
    tasks[0].name = "stop";
    tasks[0].kind = AXO_TASK_STOP;
    tasks[0].actor = actor;
    axo_task_init(&tasks[1]);
    tasks[1].phase = "then";
    tasks[1].name = "call";
    tasks[1].kind = AXO_TASK_CALL;
    tasks[1].call = forms_call;
#endif
    axo_phases *plan = FORMS_NONE;
    FORMS_MUST(axo_phases_new(system, &plan));
    for (int i = 0; i < 2; i++)
        FORMS_MUST(axo_phases_add(plan, &phases[i]));
    for (int i = 0; i < 2; i++)
        FORMS_MUST(axo_phases_task(plan, &tasks[i], FORMS_NONE));
    FORMS_MUST(axo_phases_check(plan, FORMS_NONE, 0));
    FORMS_CHECK(axo_phases_total_ns(plan) == FORMS_S + AXO_PHASE_TIMEOUT_NS);
    FORMS_MUST(axo_phases_free(plan));
    return 0;
}

/* The table of a machine by its macro is that by its function and its fields. */
static int forms_tables(void)
{
    axo_machine_table table;
    axo_machine_table_init(&table);
    FORMS_CHECK(table.size == sizeof table && table.stride == sizeof(axo_machine_state));
    FORMS_CHECK(!table.states && table.count == 0 && table.initial == 0);
    table.states = forms_states;
    table.count = 2;
    FORMS_CHECK(memcmp(&table, &forms_table, sizeof table) == 0);
    return 0;
}

/* ---- the run ------------------------------------------------------------------------------- */

static int forms_talk(axo_testkit *kit, axo_ref one, axo_ref other, const forms_log *log)
{
    axo_system *system = axo_testkit_system(kit);
    const int number = 3;
    const int five = 5;
    FORMS_MUST(axo_system_subscribe(system, other, AXO_KIND_SUPERVISION));
    FORMS_MUST(axo_system_subscribe(system, other, AXO_KIND_USER));
    FORMS_MUST(axo_system_send(system, one, FORMS_ADD, &number, sizeof number));
    FORMS_MUST(axo_system_publish(system, AXO_KIND_USER, &five, sizeof five));
    (void)axo_testkit_run(kit);
    FORMS_CHECK(log->added == 3 && log->events == 1);
    FORMS_MUST(axo_system_send(system, other, FORMS_ASK, FORMS_NONE, 0));
    FORMS_MUST(axo_system_send(system, other, FORMS_TOLD, FORMS_NONE, 0));
    FORMS_MUST(axo_system_send(system, one, FORMS_GO, FORMS_NONE, 0));
    (void)axo_testkit_run(kit);
    FORMS_CHECK(log->answered >= 3 && log->freed == 1 && log->added == 23);
    (void)axo_testkit_advance(kit, FORMS_S + AXO_TICK_NS);
    FORMS_CHECK(log->added == 123);
    FORMS_MUST(axo_system_send(system, one, FORMS_FAIL, FORMS_NONE, 0));
    (void)axo_testkit_advance(kit, 4 * FORMS_S);
    FORMS_CHECK(log->events == 2 && log->stopped == 1 && log->traced >= 4 && log->logged > 0);
    return 0;
}

static inline axo_status forms_figures(void *user, const axo_metrics_class *figures)
{
    return user == FORMS_NONE && figures->name != FORMS_NONE ? AXO_OK : AXO_EFAILED;
}

static inline axo_status forms_text(void *user, const char *text, size_t size)
{
    size_t *sum = AXO_CAST(size_t *, user);
    *sum += text != FORMS_NONE ? size : 0;
    return AXO_OK;
}

static int forms_look(axo_testkit *kit, axo_ref one)
{
    axo_system *system = axo_testkit_system(kit);
    axo_actor_info info = AXO_ACTOR_INFO();
    axo_health_report report = AXO_HEALTH_REPORT();
    axo_stats stats = AXO_STATS();
    axo_late late[2];
    axo_outcome outcome;
    size_t size = 0;
    memset(&outcome, 0, sizeof outcome);
    memset(late, 0, sizeof late);
    FORMS_MUST(axo_system_inspect(system, one, axo_ref_none(), &info));
    FORMS_MUST(axo_system_stats(system, &stats));
    FORMS_CHECK(axo_health(system, FORMS_S, &report) == AXO_OK && report.why == AXO_HEALTH_GOOD);
    FORMS_CHECK(axo_metrics_write(system, AXO_METRICS_OPENMETRICS, forms_text, &size) == AXO_OK);
    FORMS_CHECK(axo_metrics_classes(system, forms_figures, FORMS_NONE) == AXO_ENOENT);
    FORMS_CHECK(size > 0 && axo_metrics_bound(0) > 0);
    FORMS_CHECK(info.doing == AXO_DOING_IDLE && axo_ref_equal(info.actor, one));
    FORMS_CHECK(stats.size == sizeof stats && stats.restarts == 1 && stats.events >= 2);
    FORMS_CHECK(axo_system_wait(system, 0, &outcome) == AXO_ETIMEDOUT && outcome.failed == 0);
    return 0;
}

/* Recipes of routers and of back-off supervisors; and how one is told to end. */
static int forms_services(axo_testkit *kit, const axo_props *child)
{
    axo_system *system = axo_testkit_system(kit);
#if FORMS_NAMED
    const axo_resizer resizer = AXO_RESIZER(.routees_min = 1, .routees_max = 4, .ramp_up = 0.5);
    const axo_farewell farewell = AXO_FAREWELL(.kind = AXO_FAREWELL_STOP);
#else
    axo_resizer resizer = AXO_RESIZER();
    resizer.routees_min = 1;
    resizer.routees_max = 4;
    resizer.ramp_up = 0.5;
    axo_farewell farewell;
    axo_farewell_init(&farewell);
    farewell.kind = AXO_FAREWELL_STOP;
#endif
    axo_props plain = *child;
    plain.name = FORMS_NONE;
    const axo_router router = forms_router(&plain, &resizer);
    const axo_backoff_supervisor keeper = forms_keeper(child);
    axo_props props;
    axo_ref ref = axo_ref_none();
    FORMS_CHECK(farewell.size == sizeof farewell && farewell.kind == AXO_FAREWELL_STOP);
    FORMS_MUST(axo_backoff_check(&forms_delays));
    FORMS_MUST(axo_router_props(&router, "router", &props));
    FORMS_MUST(axo_system_spawn(system, &props, &ref));
    FORMS_MUST(axo_backoff_supervisor_props(&keeper, "keeper", &props));
    FORMS_MUST(axo_system_spawn(system, &props, &ref));
    (void)axo_testkit_run(kit);
    return 0;
}

/* 0: as it should be. */
static int forms_scene(void)
{
    forms_log log;
    memset(&log, 0, sizeof log);
    forms_fill();
    const axo_options options = forms_options(&log);
    axo_testkit *kit = FORMS_NONE;
    axo_ref one = axo_ref_none();
    axo_ref other = axo_ref_none();
    FORMS_MUST(axo_testkit_start(&options, &kit));
    forms_args args = {&log, axo_ref_none()};
    const axo_props first = forms_props("one", &args);
    FORMS_MUST(axo_system_spawn(axo_testkit_system(kit), &first, &one));
    args.other = one;
    const axo_props second = forms_props("other", &args);
    FORMS_MUST(axo_system_spawn(axo_testkit_system(kit), &second, &other));
    (void)axo_testkit_run(kit);
    if (forms_tables() != 0 || forms_talk(kit, one, other, &log) != 0 ||
        forms_look(kit, one) != 0 || forms_services(kit, &second) != 0 ||
        forms_phases(axo_testkit_system(kit), one) != 0)
        return 1;
    FORMS_MUST(axo_system_stop_actor(axo_testkit_system(kit), other));
    if (axo_testkit_stop(kit) != AXO_OK) {
        (void)fprintf(stderr, "%s\n", axo_testkit_why(kit));
        return 1;
    }
    return 0;
}

#endif
