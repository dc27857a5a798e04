/* door_context_test.c - what every door says in one way of contexts that are not the caller's. The
 * headers say which calls there are, so that no new one is forgotten. */
#include "api/door.h"

static uint32_t door_names;
static const axo_class door_mute = AXO_CLASS(.receive = sv_receive);
static const axo_props door_child = AXO_PROPS(.cls = &door_mute);

typedef struct door_call {
    const char *name;
    bool (*refuses)(axo_ctx *bad); /* with everything else wrong, too */
} door_call;

static axo_ref door_out;
static uint32_t door_count;
static bool door_created;

#define DOOR_CTX(name, ...)                                                                        \
    static bool refuses_##name(axo_ctx *bad)                                                       \
    {                                                                                              \
        return axo_##name(bad, __VA_ARGS__) == AXO_ECONTEXT;                                       \
    }
#define DOOR_ONLY(name)                                                                            \
    static bool refuses_##name(axo_ctx *bad)                                                       \
    {                                                                                              \
        return axo_##name(bad) == AXO_ECONTEXT;                                                    \
    }
#define DOOR_SAYS(name, says)                                                                      \
    static bool refuses_##name(axo_ctx *bad)                                                       \
    {                                                                                              \
        return says;                                                                               \
    }

#define DOOR_NONE axo_ref_none()
#define DOOR_BAD UINT32_MAX
DOOR_CTX(path, DOOR_NONE, NULL, 0)
DOOR_CTX(spawn, NULL, NULL)
DOOR_CTX(stop, DOOR_NONE)
DOOR_CTX(pause, DOOR_NONE)
DOOR_CTX(resume, DOOR_NONE)
DOOR_ONLY(stop_self)
DOOR_CTX(poison, DOOR_NONE)
DOOR_CTX(kill, DOOR_NONE)
DOOR_CTX(send, DOOR_NONE, DOOR_BAD, NULL, 1)
DOOR_CTX(send_from, DOOR_NONE, DOOR_NONE, DOOR_BAD, NULL, 1)
DOOR_CTX(reply, NULL, DOOR_BAD, NULL, 1)
DOOR_CTX(forward, NULL, DOOR_NONE)
DOOR_CTX(message_take, NULL, NULL)
DOOR_CTX(send_owned, DOOR_NONE, DOOR_BAD, NULL, 1, NULL, NULL)
DOOR_CTX(send_many, NULL, 1, DOOR_BAD, NULL, 1, NULL)
DOOR_CTX(group_send_as, NULL, DOOR_NONE, DOOR_BAD, NULL, 1)
DOOR_CTX(group_tell, NULL, 1)
DOOR_CTX(message_new, DOOR_BAD, 1, NULL, NULL)
DOOR_CTX(message_owning, DOOR_BAD, NULL, NULL)
DOOR_CTX(draft_from, NULL, DOOR_NONE)
DOOR_CTX(draft_bind, NULL, 0)
DOOR_CTX(draft_keep, NULL)
DOOR_CTX(send_message, DOOR_NONE, NULL)
DOOR_CTX(send_after, -1, DOOR_NONE, DOOR_BAD, NULL, 1)
DOOR_CTX(fail, 1, "%s", "why")
DOOR_CTX(fail_fatal, 1, "%s", "why")
DOOR_CTX(fail_as, AXO_FAILURE_CRASH, 1, "%s", "why")
DOOR_CTX(defer, NULL, NULL)
DOOR_CTX(become, NULL)
DOOR_ONLY(unbecome)
DOOR_ONLY(want_settle)
DOOR_CTX(decide_again, DOOR_NONE)
DOOR_CTX(default_pre_restart, NULL, NULL, NULL)
DOOR_CTX(default_post_restart, NULL, NULL)
DOOR_ONLY(termination_hook)
DOOR_ONLY(termination_hook_done)
DOOR_CTX(block, NULL, NULL)
DOOR_CTX(ask, DOOR_NONE, DOOR_BAD, NULL, 1, -1, 0)
DOOR_CTX(promise, -1, 0, NULL)
DOOR_CTX(graceful_stop, DOOR_NONE, NULL, -1, 0)
DOOR_CTX(drain, DOOR_NONE, NULL, DOOR_BAD, -1, 0)
DOOR_CTX(machine_start, NULL, NULL, NULL)
DOOR_CTX(machine_receive, NULL, NULL, NULL)
DOOR_CTX(machine_goto, NULL, 9)
DOOR_CTX(machine_stay, NULL)
DOOR_CTX(router_broadcast, DOOR_NONE, DOOR_BAD, NULL, 1)
DOOR_CTX(find, NULL, NULL)
DOOR_CTX(find_all, NULL, NULL, 1, NULL)
DOOR_CTX(select, NULL, DOOR_BAD, NULL, 1, NULL)
DOOR_CTX(spawn_or_get, NULL, NULL, NULL)
DOOR_CTX(register, NULL, DOOR_NONE)
DOOR_CTX(unregister, NULL)
DOOR_CTX(inspect, DOOR_NONE, DOOR_NONE, NULL)
DOOR_CTX(subscribe, DOOR_NONE, DOOR_BAD)
DOOR_CTX(unsubscribe, DOOR_NONE, DOOR_BAD)
DOOR_CTX(publish, DOOR_BAD, NULL, 1)
DOOR_CTX(drop, NULL, DOOR_NONE, NULL)
DOOR_CTX(log, (axo_log_level)0, "it")
DOOR_ONLY(stash)
DOOR_CTX(unstash, 0)
DOOR_ONLY(unstash_all)
DOOR_CTX(watch, DOOR_NONE)
DOOR_CTX(watch_with, DOOR_NONE, DOOR_BAD, NULL, 1)
DOOR_CTX(unwatch, DOOR_NONE)
DOOR_CTX(schedule_once, -1, DOOR_NONE, DOOR_BAD, NULL, 1, NULL)
DOOR_CTX(schedule_fixed_delay, -1, -1, DOOR_NONE, DOOR_BAD, NULL, 1, NULL)
DOOR_CTX(schedule_fixed_rate, -1, -1, DOOR_NONE, DOOR_BAD, NULL, 1, NULL)
DOOR_CTX(timer_start, 0, (axo_timer_kind)9, -1, -1, DOOR_BAD, NULL, 1)
DOOR_CTX(timer_stop, 0)
DOOR_CTX(receive_timeout, -1)
DOOR_CTX(io_watch, -1, DOOR_BAD, DOOR_BAD)
DOOR_CTX(io_unwatch, -1)
DOOR_CTX(io_want, -1, DOOR_BAD)
DOOR_CTX(io_blocked, -1, DOOR_BAD)
DOOR_CTX(signal_watch, -1, NULL)
DOOR_CTX(signal_unwatch, -1)
DOOR_SAYS(signal_take, axo_signal_take(bad, -1) == 0)
DOOR_CTX(stream_open, -1, NULL, NULL)
DOOR_CTX(stream_reopen, NULL, -1, NULL)
DOOR_CTX(stream_accept, NULL, NULL, NULL)
DOOR_SAYS(stream_receive, axo_stream_receive(bad, NULL, NULL) == 0)
DOOR_CTX(stream_settle, NULL)
DOOR_CTX(stream_next, NULL, 0, NULL)
DOOR_CTX(stream_next_until, NULL, NULL, 0, NULL)
DOOR_CTX(stream_peek, NULL, NULL)
DOOR_CTX(stream_pause, NULL)
DOOR_CTX(stream_resume, NULL)
DOOR_CTX(stream_credit, NULL, 0)
DOOR_SAYS(stream_ended, !axo_stream_ended(bad, NULL))
DOOR_SAYS(stream_has_room, !axo_stream_has_room(bad, NULL))
DOOR_CTX(stream_write, NULL, NULL, 1)
DOOR_CTX(stream_owe, NULL, 1)
DOOR_CTX(demand_owe, 1)
DOOR_CTX(demand_answered, 1)
DOOR_CTX(demand_forgive, 1)
DOOR_CTX(demand_hold, 1)
DOOR_CTX(demand_release, 1)
DOOR_CTX(demand_look, NULL)
DOOR_CTX(stream_answer, NULL, NULL, 1)
DOOR_CTX(stream_answer_owned, NULL, NULL)
DOOR_CTX(stream_write_owned, NULL, NULL)
DOOR_CTX(stream_end, NULL)
DOOR_CTX(stream_close, NULL, -1)
DOOR_CTX(stream_look, NULL, NULL)
DOOR_SAYS(self, axo_ref_is_none(axo_self(bad)))
DOOR_SAYS(instance, axo_instance(bad) == 0)
DOOR_SAYS(seed, axo_seed(bad) == 0)
DOOR_SAYS(now, axo_now(bad) == 0)
DOOR_SAYS(parent, axo_ref_is_none(axo_parent(bad)))
DOOR_SAYS(sender, axo_ref_is_none(axo_sender(bad)))
DOOR_SAYS(system_of, axo_system_of(bad) == NULL)
DOOR_CTX(trace_context_of, NULL)
DOOR_CTX(trace_context_parent, NULL)
DOOR_CTX(trace_context_set, &(axo_trace_context){.flags = 0})
DOOR_CTX(trace_context_new, DOOR_BAD)
DOOR_SAYS(child_count, axo_child_count(bad) == 0)
DOOR_SAYS(children, axo_children(bad, NULL, 9) == 0)
DOOR_SAYS(child, axo_ref_is_none(axo_child(bad, NULL)))
DOOR_SAYS(alloc, axo_alloc(bad, 0) == NULL && axo_alloc(bad, 8) == NULL)
DOOR_SAYS(realloc, axo_realloc(bad, NULL, 8) == NULL && axo_realloc(bad, &door_names, 8) == NULL)
DOOR_SAYS(memory_of, axo_memory_of(bad).held == 0)
DOOR_SAYS(demand_has_room, !axo_demand_has_room(bad))
DOOR_SAYS(stash_count, axo_stash_count(bad) == 0)
DOOR_SAYS(timer_active, !axo_timer_active(bad, 0))
DOOR_SAYS(timer_cancel, !axo_timer_cancel(bad, (axo_timer){0, 0}))
DOOR_SAYS(timer_at_close, !axo_timer_at_close(bad, (axo_timer){0, 0}))

/* Nothing to say: it does nothing. */
static bool refuses_message_discard(axo_ctx *bad)
{
    axo_message_discard(bad, NULL);
    return true;
}

static bool refuses_guard_begin(axo_ctx *bad)
{
    axo_guard_begin(bad);
    return true;
}

static bool refuses_guard_end(axo_ctx *bad)
{
    axo_guard_end(bad);
    return true;
}

static bool refuses_free(axo_ctx *bad)
{
    axo_free(bad, &bad);
    return true;
}

#define DOOR_CALL(name) {"axo_" #name, refuses_##name}
static const door_call door_calls[] = {
    DOOR_CALL(draft_keep),    DOOR_CALL(guard_begin),    DOOR_CALL(guard_end),
    DOOR_CALL(path),          DOOR_CALL(spawn),          DOOR_CALL(stop),
    DOOR_CALL(pause),         DOOR_CALL(resume),
    DOOR_CALL(stop_self),     DOOR_CALL(poison),         DOOR_CALL(kill),
    DOOR_CALL(send),          DOOR_CALL(send_from),      DOOR_CALL(reply),
    DOOR_CALL(forward),       DOOR_CALL(message_take),   DOOR_CALL(send_owned),
    DOOR_CALL(message_new),   DOOR_CALL(message_owning), DOOR_CALL(draft_from),
    DOOR_CALL(draft_bind),    DOOR_CALL(send_message),   DOOR_CALL(send_after),
    DOOR_CALL(fail),          DOOR_CALL(fail_fatal),     DOOR_CALL(fail_as),
    DOOR_CALL(defer),
    DOOR_CALL(become),        DOOR_CALL(unbecome),       DOOR_CALL(default_pre_restart),
    DOOR_CALL(default_post_restart), DOOR_CALL(termination_hook),
    DOOR_CALL(termination_hook_done), DOOR_CALL(block),  DOOR_CALL(ask),
    DOOR_CALL(promise),       DOOR_CALL(graceful_stop),  DOOR_CALL(machine_start),
    DOOR_CALL(drain),         DOOR_CALL(send_many),      DOOR_CALL(group_send_as),
    DOOR_CALL(group_tell),
    DOOR_CALL(machine_receive), DOOR_CALL(machine_goto), DOOR_CALL(machine_stay),
    DOOR_CALL(router_broadcast), DOOR_CALL(find),        DOOR_CALL(find_all),
    DOOR_CALL(select),        DOOR_CALL(spawn_or_get),   DOOR_CALL(register),
    DOOR_CALL(unregister),    DOOR_CALL(inspect),        DOOR_CALL(subscribe),
    DOOR_CALL(unsubscribe),   DOOR_CALL(publish),        DOOR_CALL(drop),
    DOOR_CALL(stash),         DOOR_CALL(unstash),        DOOR_CALL(unstash_all),
    DOOR_CALL(watch),         DOOR_CALL(watch_with),     DOOR_CALL(unwatch),
    DOOR_CALL(schedule_once), DOOR_CALL(schedule_fixed_delay),
    DOOR_CALL(schedule_fixed_rate), DOOR_CALL(timer_start), DOOR_CALL(timer_stop),
    DOOR_CALL(receive_timeout), DOOR_CALL(io_watch),   DOOR_CALL(io_unwatch),
    DOOR_CALL(io_want),       DOOR_CALL(io_blocked),
    DOOR_CALL(signal_watch), DOOR_CALL(signal_take), DOOR_CALL(signal_unwatch),
    DOOR_CALL(want_settle),   DOOR_CALL(stream_accept),  DOOR_CALL(stream_ended),
    DOOR_CALL(stream_open),   DOOR_CALL(stream_receive), DOOR_CALL(stream_settle),
    DOOR_CALL(stream_next),   DOOR_CALL(stream_next_until), DOOR_CALL(stream_pause),
    DOOR_CALL(stream_peek),   DOOR_CALL(stream_reopen),  DOOR_CALL(log),
    DOOR_CALL(stream_resume), DOOR_CALL(stream_credit), DOOR_CALL(stream_has_room),
    DOOR_CALL(stream_write), DOOR_CALL(stream_write_owned),
    DOOR_CALL(stream_end),    DOOR_CALL(stream_close),   DOOR_CALL(stream_look),
    DOOR_CALL(stream_owe),    DOOR_CALL(stream_answer),  DOOR_CALL(decide_again),
    DOOR_CALL(stream_answer_owned),
    DOOR_CALL(demand_has_room), DOOR_CALL(demand_owe), DOOR_CALL(demand_answered),
    DOOR_CALL(demand_forgive), DOOR_CALL(demand_hold), DOOR_CALL(demand_release),
    DOOR_CALL(demand_look),
    DOOR_CALL(self),
    DOOR_CALL(seed), DOOR_CALL(instance),
    DOOR_CALL(now), DOOR_CALL(parent), DOOR_CALL(sender), DOOR_CALL(system_of),
    DOOR_CALL(child_count), DOOR_CALL(children), DOOR_CALL(child), DOOR_CALL(alloc),
    DOOR_CALL(realloc), DOOR_CALL(memory_of), DOOR_CALL(free),
    DOOR_CALL(stash_count), DOOR_CALL(timer_active), DOOR_CALL(timer_cancel),
    DOOR_CALL(timer_at_close), DOOR_CALL(message_discard),
    DOOR_CALL(trace_context_of), DOOR_CALL(trace_context_parent),
    DOOR_CALL(trace_context_set), DOOR_CALL(trace_context_new),
};
enum { DOOR_CALLS = sizeof door_calls / sizeof door_calls[0] };

static void door_refuse(axo_ctx *bad)
{
    for (size_t i = 0; i < DOOR_CALLS; i++) {
        if (!door_calls[i].refuses(bad))
            fail_msg("%s takes a context that is not the caller's", door_calls[i].name);
    }
}

/* What is given back is so in every case. */
static void door_refuse_outs(axo_ctx *bad)
{
    axo_draft *draft = (axo_draft *)(uintptr_t)8;
    axo_owned owned = {.payload = &draft};
    void *room = &draft;
    axo_timer timer = {1, 1};
    door_out = (axo_ref){.bits = 1};
    assert_int_equal(axo_promise(bad, 1, 1, &door_out), AXO_ECONTEXT);
    assert_true(axo_ref_is_none(door_out));
    door_out = (axo_ref){.bits = 1};
    assert_int_equal(axo_spawn(bad, &door_child, &door_out), AXO_ECONTEXT);
    assert_true(axo_ref_is_none(door_out));
    door_out = (axo_ref){.bits = 1};
    door_created = true;
    assert_int_equal(axo_spawn_or_get(bad, &door_child, &door_out, &door_created), AXO_ECONTEXT);
    assert_true(axo_ref_is_none(door_out) && !door_created);
    door_out = (axo_ref){.bits = 1};
    assert_int_equal(axo_find(bad, "/user", &door_out), AXO_ECONTEXT);
    assert_true(axo_ref_is_none(door_out));
    door_count = 1;
    assert_int_equal(axo_find_all(bad, "/user", &door_out, 1, &door_count), AXO_ECONTEXT);
    assert_int_equal(door_count, 0);
    assert_int_equal(axo_message_new(bad, 1, 8, &draft, &room), AXO_ECONTEXT);
    assert_true(draft == NULL && room == NULL);
    assert_int_equal(axo_message_take(bad, NULL, &owned), AXO_ECONTEXT);
    assert_null(owned.payload);
    assert_int_equal(axo_schedule_once(bad, 1, (axo_ref){.bits = 1}, 1, NULL, 0, &timer),
                     AXO_ECONTEXT);
    assert_true(timer.bits == 0 && timer.bits2 == 0);
}

static axo_ctx *door_kept;

static void door_keep(axo_ctx *ctx, sv_host *host, void *arg)
{
    door_kept = ctx;
}

static void door_refuse_inside(axo_ctx *ctx, sv_host *host, void *arg)
{
    assert_ptr_not_equal(ctx, door_kept);
    door_refuse(door_kept);
    door_refuse_outs(door_kept);
    door_refuse(NULL);
}

/* None, one of a callback that has returned, one of another actor; with good arguments see
 * service_misuse_test.c. */
static void contexts_before_all_else(void **state)
{
    sv_host host;
    sv_host other;
    axo_stats before = AXO_STATS(.sent = 0);
    axo_stats after = AXO_STATS(.sent = 0);
    sv_start(&host, NULL);
    sv_spawn(&other, host.kit, "other", NULL);
    sv_do(&host, door_keep, NULL);
    assert_int_equal(axo_system_stats(host.system, &before), AXO_OK);
    door_refuse(NULL);
    door_refuse(door_kept);
    door_refuse_outs(NULL);
    door_refuse_outs(door_kept);
    assert_int_equal(axo_system_stats(host.system, &after), AXO_OK);
    assert_memory_equal(&before, &after, offsetof(axo_stats, sent) + sizeof before.sent);
    sv_do(&other, door_refuse_inside, NULL);
    sv_end(&host);
}

static void door_seen_call(const char *word)
{
    /* they end the process */
    static const char *const apart[] = {"axo_throw", "axo_throw_fatal", "axo_must_alloc"};
    if (strncmp(word, "axo_", 4) != 0)
        return; /* a callback's type */
    door_names++;
    for (size_t i = 0; i < sizeof apart / sizeof apart[0]; i++) {
        if (strcmp(word, apart[i]) == 0)
            return;
    }
    for (size_t i = 0; i < DOOR_CALLS; i++) {
        if (strcmp(word, door_calls[i].name) == 0)
            return;
    }
    if (strncmp(word, "axo_decide_", 11) != 0) /* they look at nothing but the failure */
        fail_msg("%s takes a context, and is not in door_calls", word);
}

static void every_call_is_there(void **state)
{
    door_names = 0;
    door_scan("(axo_ctx *ctx", door_seen_call);
    door_scan("(struct axo_ctx *ctx", door_seen_call);
    assert_true(door_names >= DOOR_CALLS);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(contexts_before_all_else),
    cmocka_unit_test(every_call_is_there),
};
TEST_MAIN(tests)
