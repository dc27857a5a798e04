/* special_test.c - which message pre_restart is shown, for every kind under which an instance can
 * fail, and what may be done with it: the runtime's own are passed on by nobody. */
#include "api/service.h"

enum { SP_USER = 0, SP_NOTICE = 21, SP_OWNED = 22 };

/* What was shown, and what the calls said. */
typedef struct sp_seen {
    uint32_t times;
    uint32_t tag;
    uint32_t size;
    axo_status stash;
    axo_status drop;
    axo_status again;   /* sent anew with the tag that it has */
    axo_status draft;
    axo_status forward;
    axo_status take;
} sp_seen;

typedef struct sp_world {
    axo_testkit *kit;
    axo_system *system;
    axo_ref victim;
    axo_ref bin;       /* what is forwarded goes there */
    axo_ref other;     /* whom the victim watches */
    uint32_t binned;
    uint32_t bin_tag;
    uint32_t received; /* that the victim's receive saw, set-up left out */
    uint32_t freed;
    sp_seen receive;
    sp_seen hook;
} sp_world;

static sp_world sp;

typedef void (*sp_fn)(axo_ctx *ctx);

static void sp_free(void *payload, void *user)
{
    assert_ptr_equal(user, &sp);
    assert_ptr_equal(payload, &sp.kit);
    sp.freed++;
}

static void sp_look(axo_ctx *ctx, const axo_message *message, sp_seen *seen)
{
    axo_owned owned;
    axo_draft *draft = NULL;
    void *room = NULL;
    seen->times++;
    seen->tag = message->tag;
    seen->size = message->size;
    seen->drop = axo_drop(ctx, message, sp.bin, "looked at");
    seen->again = axo_send_from(ctx, message->sender, sp.bin, message->tag, NULL, 0);
    seen->draft = axo_message_new(ctx, message->tag, 0, &draft, &room);
    axo_message_discard(ctx, draft);
    seen->forward = axo_forward(ctx, message, sp.bin);
    seen->take = axo_message_take(ctx, message, &owned);
    if (seen->take == AXO_OK)
        owned.destroy(owned.payload, owned.user);
}

static axo_status sp_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    if (message->tag == SV_DO) {
        sp_fn fn;
        memcpy(&fn, message->payload, sizeof fn);
        fn(ctx);
        return AXO_OK;
    }
    sp.received++;
    sp_look(ctx, message, &sp.receive);
    if (message->tag == AXO_TERMINATED)
        return AXO_UNHANDLED; /* the death pact */
    return axo_fail(ctx, 5, "under tag %u", (unsigned)message->tag);
}

static axo_status sp_pre_restart(axo_ctx *ctx, void *state, const axo_failure *failure,
                                 const axo_message *message)
{
    assert_non_null(message);
    sp.hook.stash = axo_stash(ctx);
    sp_look(ctx, message, &sp.hook);
    return AXO_OK;
}

static axo_status sp_bin_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    sp.binned++;
    sp.bin_tag = message->tag;
    return AXO_OK;
}

static axo_status sp_other_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    return axo_stop_self(ctx);
}

/* ---- how each kind comes about ---- */

static void sp_do(sp_fn fn)
{
    assert_int_equal(axo_system_send(sp.system, sp.victim, SV_DO, &fn, sizeof fn), AXO_OK);
    (void)axo_testkit_run(sp.kit);
}

static void sp_say(axo_ref to)
{
    assert_int_equal(axo_system_send(sp.system, to, SV_NOTE, NULL, 0), AXO_OK);
}

static void sp_kill_inside(axo_ctx *ctx)
{
    assert_int_equal(axo_kill(ctx, sp.victim), AXO_OK);
}

static void sp_make_kill(void)
{
    sp_do(sp_kill_inside);
}

static void sp_make_kill_outside(void)
{
    assert_int_equal(axo_system_kill(sp.system, sp.victim), AXO_OK);
}

static void sp_make_kill_by_timer(void)
{
    assert_int_equal(axo_system_schedule_once(sp.system, SV_MS, sp.victim, AXO_TIMER_KILL, NULL, 0,
                                              NULL),
                     AXO_OK);
}

static void sp_kill_keyed(axo_ctx *ctx)
{
    assert_int_equal(axo_timer_start(ctx, 1, AXO_TIMER_ONCE, SV_MS, 0, AXO_TIMER_KILL, NULL, 0),
                     AXO_OK);
}

static void sp_make_kill_keyed(void)
{
    sp_do(sp_kill_keyed);
}

static void sp_make_kill_broadcast(void)
{
    axo_router settings = AXO_ROUTER(.routees = &sp.victim, .routees_count = 1);
    axo_props props;
    axo_ref router;
    assert_int_equal(axo_router_props(&settings, "router", &props), AXO_OK);
    assert_int_equal(axo_system_spawn(sp.system, &props, &router), AXO_OK);
    assert_int_equal(axo_system_router_broadcast(sp.system, router, AXO_TIMER_KILL, NULL, 0),
                     AXO_OK);
}

static void sp_make_injected(void)
{
    assert_int_equal(axo_system_fail(sp.system, sp.victim, AXO_FAILURE_ORDINARY, 9), AXO_OK);
}

static void sp_make_injected_fatal(void)
{
    assert_int_equal(axo_system_fail(sp.system, sp.victim, AXO_FAILURE_FATAL, 9), AXO_OK);
}

static void sp_watch(axo_ctx *ctx)
{
    assert_int_equal(axo_watch(ctx, sp.other), AXO_OK);
}

static void sp_watch_with(axo_ctx *ctx)
{
    assert_int_equal(axo_watch_with(ctx, sp.other, SP_NOTICE, "abc", 4), AXO_OK);
}

static void sp_make_notice(void)
{
    sp_do(sp_watch);
    sp_say(sp.other);
}

static void sp_make_own_notice(void)
{
    sp_do(sp_watch_with);
    sp_say(sp.other);
}

static void sp_time_out(axo_ctx *ctx)
{
    assert_int_equal(axo_receive_timeout(ctx, SV_MS), AXO_OK);
}

static void sp_make_timeout(void)
{
    sp_do(sp_time_out);
}

static void sp_make_event(void)
{
    assert_int_equal(axo_system_subscribe(sp.system, sp.victim, AXO_KIND_USER), AXO_OK);
    assert_int_equal(axo_system_publish(sp.system, AXO_KIND_USER, "ab", 3), AXO_OK);
}

static void sp_tick(axo_ctx *ctx)
{
    assert_int_equal(axo_timer_start(ctx, 1, AXO_TIMER_ONCE, SV_MS, 0, SP_USER, "ab", 3), AXO_OK);
}

static void sp_make_tick(void)
{
    sp_do(sp_tick);
}

static void sp_make_scheduled(void)
{
    assert_int_equal(axo_system_schedule_once(sp.system, SV_MS, sp.victim, SP_USER, "ab", 3, NULL),
                     AXO_OK);
}

static void sp_make_message(void)
{
    assert_int_equal(axo_system_send(sp.system, sp.victim, SP_USER, "ab", 3), AXO_OK);
}

static void sp_make_owned(void)
{
    assert_int_equal(axo_system_send_owned(sp.system, sp.victim, SP_OWNED, &sp.kit, 7, sp_free,
                                           &sp),
                     AXO_OK);
}

/* ---- the table ---- */

typedef struct sp_row {
    const char *name;
    void (*make)(void);
    uint32_t tag;       /* that the hook sees */
    uint32_t size;
    axo_status forward; /* of the hook's; in receive the same */
    bool received;      /* the receive sees it first */
    bool owned;         /* the payload was handed over; receive has handed it on already */
} sp_row;

static const sp_row sp_rows[] = {
    {"kill", sp_make_kill, AXO_KILL, 0, AXO_EINVAL, false, false},
    {"kill from outside", sp_make_kill_outside, AXO_KILL, 0, AXO_EINVAL, false, false},
    {"kill by a timer", sp_make_kill_by_timer, AXO_KILL, 0, AXO_EINVAL, false, false},
    {"kill by a keyed timer", sp_make_kill_keyed, AXO_KILL, 0, AXO_EINVAL, false, false},
    {"kill by a broadcast", sp_make_kill_broadcast, AXO_KILL, 0, AXO_EINVAL, false, false},
    {"injected", sp_make_injected, AXO_INJECTED, 0, AXO_EINVAL, false, false},
    {"injected fatal", sp_make_injected_fatal, AXO_INJECTED, 0, AXO_EINVAL, false, false},
    {"notice", sp_make_notice, AXO_TERMINATED, sizeof(axo_terminated), AXO_EINVAL, true, false},
    {"own notice", sp_make_own_notice, SP_NOTICE, 4, AXO_OK, true, false},
    {"receive timeout", sp_make_timeout, AXO_RECEIVE_TIMEOUT, 0, AXO_EINVAL, true, false},
    {"event", sp_make_event, AXO_EVENT, sizeof(axo_event_message) + 3, AXO_EINVAL, true, false},
    {"keyed timer", sp_make_tick, SP_USER, 3, AXO_OK, true, false},
    {"raw timer", sp_make_scheduled, SP_USER, 3, AXO_OK, true, false},
    {"message", sp_make_message, SP_USER, 3, AXO_OK, true, false},
    {"handed over", sp_make_owned, SP_OWNED, 0, AXO_OK, true, true},
};

static void sp_spawn(const axo_class *cls, const char *name, axo_ref *out)
{
    axo_props props = AXO_PROPS(.cls = cls, .name = name);
    assert_int_equal(axo_system_spawn(sp.system, &props, out), AXO_OK);
}

static void sp_start(void)
{
    static const axo_class victim = AXO_CLASS(.receive = sp_receive,
                                              .pre_restart = sp_pre_restart);
    static const axo_class bin = AXO_CLASS(.receive = sp_bin_receive);
    static const axo_class other = AXO_CLASS(.receive = sp_other_receive);
    static const axo_strategy restart = AXO_STRATEGY(.decider = axo_decide_restart);
    axo_options options = AXO_OPTIONS(.user_strategy = &restart);
    memset(&sp, 0, sizeof sp);
    assert_int_equal(axo_testkit_start(&options, &sp.kit), AXO_OK);
    sp.system = axo_testkit_system(sp.kit);
    sp_spawn(&victim, "victim", &sp.victim);
    sp_spawn(&bin, "bin", &sp.bin);
    sp_spawn(&other, "other", &sp.other);
    (void)axo_testkit_run(sp.kit);
}

static void sp_end(void)
{
    axo_status status = axo_testkit_stop(sp.kit);
    if (status != AXO_OK)
        fail_msg("%s", axo_testkit_why(sp.kit));
}

static void sp_check(const sp_row *row)
{
    bool users = row->forward == AXO_OK;
    uint32_t want = (users && !row->owned ? 2U : 0U) + (row->received && users ? 1U : 0U) +
                    (users ? 1U : 0U);
    assert_int_equal(sp.hook.times, 1);
    assert_int_equal(sp.hook.tag, row->tag);
    assert_int_equal(sp.hook.size, row->size);
    assert_int_equal(sp.hook.forward, row->forward);
    assert_int_equal(sp.hook.take, AXO_EINVAL); /* none was handed over, or it is gone */
    assert_int_equal(sp.hook.stash, AXO_EINVAL);
    assert_int_equal(sp.hook.drop, AXO_EINVAL);
    assert_int_equal(sp.hook.again, users ? AXO_OK : AXO_EINVAL);
    assert_int_equal(sp.hook.draft, users ? AXO_OK : AXO_EINVAL);
    assert_int_equal(sp.receive.times, row->received ? 1 : 0);
    if (row->received) {
        assert_int_equal(sp.receive.tag, row->tag);
        assert_int_equal(sp.receive.forward, row->forward);
        assert_int_equal(sp.receive.drop, AXO_OK);
    }
    if (row->owned)
        want = 4; /* twice by forward, the second time without the payload, and twice anew */
    assert_int_equal(sp.binned, want);
    assert_int_equal(sp.freed, row->owned ? 1 : 0);
    if (want > 0)
        assert_int_equal(sp.bin_tag, row->tag);
}

/* No kind is taken for another, and none of the runtime's comes to anybody as a user's. */
static void every_kind_that_a_hook_is_shown(void **state)
{
    for (size_t i = 0; i < sizeof sp_rows / sizeof sp_rows[0]; i++) {
        print_message("%s\n", sp_rows[i].name);
        sp_start();
        sp_rows[i].make();
        (void)axo_testkit_advance(sp.kit, SV_MS + SV_MS / 2);
        sp_check(&sp_rows[i]);
        sp_end();
    }
}

/* ---- dead letters ---- */

typedef struct sp_letters {
    uint32_t count;
    uint32_t tag;
    uint32_t suppressed;
} sp_letters;

static void sp_letter(void *user, const axo_dead_letter *letter)
{
    sp_letters *letters = user;
    letters->count++;
    letters->tag = letter->message->tag;
    letters->suppressed += letter->suppressed;
}

/* A pill or a kill for nobody is no letter of tag 0. */
static void specials_as_dead_letters(void **state)
{
    sp_letters letters = {.count = 0};
    axo_options options = AXO_OPTIONS(.on_dead_letter = sp_letter, .dead_letter_user = &letters);
    sv_host host;
    sv_start(&host, &options);
    axo_ref gone = host.ref;
    sv_tell(&host, SV_QUIT);
    assert_int_equal(axo_system_poison(host.system, gone), AXO_EGONE);
    assert_int_equal(letters.tag, AXO_POISON_PILL);
    assert_int_equal(axo_system_kill(host.system, gone), AXO_EGONE);
    assert_int_equal(letters.tag, AXO_KILL);
    assert_int_equal(axo_system_fail(host.system, gone, AXO_FAILURE_ORDINARY, 1), AXO_EGONE);
    assert_int_equal(letters.tag, AXO_INJECTED);
    assert_int_equal(axo_system_schedule_once(host.system, 0, gone, AXO_TIMER_POISON, NULL, 0,
                                              NULL),
                     AXO_OK);
    (void)axo_testkit_advance(host.kit, SV_MS);
    assert_int_equal(letters.tag, AXO_POISON_PILL);
    assert_int_equal(letters.count, 4);
    assert_int_equal(letters.suppressed, 2); /* the pills (DL-03) */
    sv_end(&host);
}

/* ---- nobody sends them ---- */

static void sp_refused_inside(axo_ctx *ctx, sv_host *host, void *arg)
{
    uint32_t tag = *(const uint32_t *)arg;
    axo_message message = {.tag = tag, .sender = host->ref};
    axo_owned owned = {.payload = host, .size = 1};
    axo_draft *draft;
    axo_ref to = host->ref;
    void *room;
    assert_int_equal(axo_send(ctx, to, tag, NULL, 0), AXO_EINVAL);
    assert_int_equal(axo_send_from(ctx, to, to, tag, NULL, 0), AXO_EINVAL);
    assert_int_equal(axo_reply(ctx, &message, tag, NULL, 0), AXO_EINVAL);
    assert_int_equal(axo_send_owned(ctx, to, tag, host, 1, NULL, NULL), AXO_EINVAL);
    assert_int_equal(axo_message_new(ctx, tag, 0, &draft, &room), AXO_EINVAL);
    assert_int_equal(axo_message_owning(ctx, tag, &owned, &draft), AXO_EINVAL);
    assert_int_equal(axo_ask(ctx, to, tag, NULL, 0, SV_S, 1), AXO_EINVAL);
    assert_int_equal(axo_watch_with(ctx, to, tag, NULL, 0), AXO_EINVAL);
    assert_int_equal(axo_select(ctx, "/user/host", tag, NULL, 0, NULL), AXO_EINVAL);
    axo_farewell farewell = AXO_FAREWELL(.kind = AXO_FAREWELL_MESSAGE, .tag = tag);
    assert_int_equal(axo_graceful_stop(ctx, sp.bin, &farewell, SV_S, 1), AXO_EINVAL);
    if (tag == AXO_TIMER_POISON || tag == AXO_TIMER_KILL)
        return; /* a timer and a broadcast say these on purpose */
    assert_int_equal(axo_send_after(ctx, 0, to, tag, NULL, 0), AXO_EINVAL);
    assert_int_equal(axo_timer_start(ctx, 1, AXO_TIMER_ONCE, 0, 0, tag, NULL, 0), AXO_EINVAL);
    assert_int_equal(axo_router_broadcast(ctx, to, tag, NULL, 0), AXO_EINVAL);
}

static void sp_refused_outside(axo_system *system, axo_ref to, uint32_t tag)
{
    axo_asked asked;
    axo_phases *phases;
    axo_farewell farewell = AXO_FAREWELL(.kind = AXO_FAREWELL_MESSAGE, .tag = tag);
    axo_task task = AXO_TASK(.phase = "a", .name = "b", .actor = to, .tag = tag);
    assert_int_equal(axo_system_send(system, to, tag, NULL, 0), AXO_EINVAL);
    assert_int_equal(axo_system_send_from(system, to, to, tag, NULL, 0), AXO_EINVAL);
    assert_int_equal(axo_system_send_owned(system, to, tag, &sp, 1, NULL, NULL), AXO_EINVAL);
    assert_int_equal(axo_system_ask(system, to, tag, NULL, 0, 1, &asked), AXO_EINVAL);
    assert_int_equal(axo_system_graceful_stop(system, to, &farewell, 1, NULL), AXO_EINVAL);
    assert_int_equal(axo_phases_new(system, &phases), AXO_OK);
    assert_int_equal(axo_phases_task(phases, &task, NULL), AXO_EINVAL);
    assert_int_equal(axo_phases_free(phases), AXO_OK);
    if (tag == AXO_TIMER_POISON || tag == AXO_TIMER_KILL)
        return;
    assert_int_equal(axo_system_schedule_once(system, 0, to, tag, NULL, 0, NULL), AXO_EINVAL);
    assert_int_equal(axo_system_schedule_fixed_delay(system, 0, 1, to, tag, NULL, 0, NULL),
                     AXO_EINVAL);
    assert_int_equal(axo_system_schedule_fixed_rate(system, 0, 1, to, tag, NULL, 0, NULL),
                     AXO_EINVAL);
    assert_int_equal(axo_system_router_broadcast(system, to, tag, NULL, 0), AXO_EINVAL);
}

static void no_door_takes_a_reserved_tag(void **state)
{
    static uint32_t tags[] = {
        AXO_TAG_RESERVED,     AXO_TERMINATED,  AXO_TERMINATION_HOOK, AXO_RECEIVE_TIMEOUT,
        AXO_EVENT,            AXO_POISON_PILL, AXO_KILL,             AXO_INJECTED,
        AXO_TAG_RESERVED + 0x101, AXO_TAG_RESERVED + 0x102, UINT32_MAX,
        AXO_REQUEST_FAILED,
    };
    sv_host host;
    sv_host other;
    sv_start(&host, NULL);
    sv_spawn(&other, host.kit, "other", NULL);
    sp.bin = other.ref;
    for (size_t i = 0; i < sizeof tags / sizeof tags[0]; i++) {
        sv_do(&host, sp_refused_inside, &tags[i]);
        sp_refused_outside(host.system, host.ref, tags[i]);
        (void)axo_testkit_advance(host.kit, SV_S);
        assert_int_equal(host.count, 0);
        assert_int_equal(other.count, 0);
    }
    sv_end(&host);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_kind_that_a_hook_is_shown),
    cmocka_unit_test(specials_as_dead_letters),
    cmocka_unit_test(no_door_takes_a_reserved_tag),
};
TEST_MAIN(tests)
