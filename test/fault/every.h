/* every.h - a row for each function that the library exports: how it is called, and what it says in
 * a child of fork, where the system is the parent's. symbols.txt is the list of names; one that has
 * no row here, or two, fails. The rows are in an order in which they can be called at home, too.
 */
#ifndef TEST_FAULT_EVERY_H
#define TEST_FAULT_EVERY_H

#include <signal.h>

#include "fault/parts.h"

/* What the rows call with. */
typedef struct every {
    axo_system *system;
    axo_ctx *ctx;               /* in a callback; else one that is none */
    const axo_message *message; /* in a callback */
    axo_ref mute;               /* never answers */
    axo_ref others[6];          /* for those that end one */
    axo_phases *phases;
    axo_group *group;
    axo_group *grouped;         /* by a row */
    axo_phases *made;           /* by a row */
    axo_testkit *kit;
    axo_probe *probe;
    axo_ref probed;             /* the probe's */
    void *block;                /* by a row */
    axo_asked asked;
    axo_machine machine;
    axo_ref ref;
    axo_timer timer;
    axo_props props;
    axo_node node;
    axo_owned owned;
    axo_draft *draft;
    uint32_t id;
    int fd;
    uint32_t count;
    uint64_t turns;
    void *room;
    bool created;
    char text[64];
} every;

static inline axo_status every_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    return AXO_OK;
}

static inline axo_status every_task(void *user)
{
    return AXO_OK;
}

static inline void every_ended(axo_system *system, void *user)
{
}

static inline void every_seen(void *user, const axo_visited *it)
{
    ((every *)user)->count += it->kind == AXO_VISITED_ACTOR ? 1 : 0;
}

static inline axo_status every_figures(void *user, const axo_metrics_class *figures)
{
    return user == NULL && figures->name != NULL ? AXO_OK : AXO_EFAILED;
}

static inline axo_status every_write(void *user, const char *text, size_t size)
{
    return user == NULL && text != NULL && size > 0 ? AXO_OK : AXO_EFAILED;
}

static inline void every_nothing(void *arg)
{
}

static const axo_class every_class = AXO_CLASS(.name = "every", .receive = every_receive);
static const axo_class every_old = AXO_CLASS(.name = "old", .receive = every_receive);
static const axo_class every_new = AXO_CLASS(.name = "new", .receive = every_receive);
static const axo_replacement every_replacement =
    AXO_REPLACEMENT(.from = &every_old, .to = &every_new);

/* ---- the rows: name, form, call; the forms are the macros EVERY_FORM below ------------------- */

#define EVERY_SYSTEM_ROWS(X)                                                                       \
    X(axo_system_send, STATUS, axo_system_send(w->system, w->mute, 9, NULL, 0))                    \
    X(axo_system_send_from, STATUS,                                                                \
      axo_system_send_from(w->system, w->mute, w->mute, 9, NULL, 0))                               \
    X(axo_system_send_traced, STATUS,                                                              \
      axo_system_send_traced(w->system, w->mute, 9, NULL, 0,                                       \
                             &(axo_trace_context){{1}, {1}, 0}))                                   \
    X(axo_system_send_owned, STATUS,                                                               \
      axo_system_send_owned(w->system, w->mute, 9, w->text, 1, NULL, NULL))                        \
    X(axo_system_send_many, STATUS,                                                                \
      axo_system_send_many(w->system, &w->mute, 1, 9, NULL, 0, NULL))                              \
    X(axo_group_make, STATUS, axo_group_make(w->system, &w->grouped))                              \
    X(axo_group_send, STATUS, axo_group_send(w->group, w->mute, 9, NULL, 0))                       \
    X(axo_group_send_many, STATUS,                                                                 \
      axo_group_send_many(w->group, &w->mute, 1, 9, NULL, 0, NULL))                                \
    X(axo_group_count, NIL, axo_group_count(w->group))                                             \
    X(axo_group_wait, STATUS, axo_group_wait(w->group, 1000000000, AXO_GROUP_HELP))                \
    X(axo_group_free, STATUS, axo_group_free(w->grouped != NULL ? w->grouped : w->group))          \
    X(axo_system_quiesce, STATUS, axo_system_quiesce(w->system, 1000000000))                       \
    X(axo_system_visit, STATUS, axo_system_visit(w->system, every_seen, w))                        \
    X(axo_system_pause, STATUS, axo_system_pause(w->system, w->mute, 1000000000))                  \
    X(axo_system_resume, STATUS, axo_system_resume(w->system, w->mute))                            \
    X(axo_remote_add, STATUS, axo_remote_add(w->system, &w->node, &w->count))                      \
    X(axo_remote_node, STATUS, axo_remote_node(w->system, 1, &w->node))                            \
    X(axo_remote_leave, STATUS, axo_remote_leave(w->system, w->mute, &w->node, &w->turns))         \
    X(axo_remote_enter, NONE, axo_remote_enter(w->system, &w->node, 1))                            \
    X(axo_remote_deliver, STATUS,                                                                  \
      axo_remote_deliver(w->system, 1, &(axo_remote_message)AXO_REMOTE_MESSAGE(.to = w->mute)))    \
    X(axo_remote_poison, STATUS, axo_remote_poison(w->system, 1, w->mute, w->mute))                \
    X(axo_remote_kill, STATUS, axo_remote_kill(w->system, 1, w->mute, w->mute))                    \
    X(axo_remote_stop, STATUS, axo_remote_stop(w->system, 1, w->mute))                             \
    X(axo_remote_watch, STATUS, axo_remote_watch(w->system, 1, w->mute))                           \
    X(axo_remote_unwatch, STATUS, axo_remote_unwatch(w->system, 1, w->mute))                       \
    X(axo_remote_terminated, STATUS,                                                               \
      axo_remote_terminated(w->system, 1, &(axo_terminated){.actor = w->mute}))                    \
    X(axo_remote_lose, STATUS, axo_remote_lose(w->system, 1))                                      \
    X(axo_class_replace, STATUS,                                                                   \
      axo_class_replace(w->system, &every_replacement, 1000000000))                                \
    X(axo_system_spawn, STATUS, axo_system_spawn(w->system, &w->props, &w->ref))                   \
    X(axo_system_spawn_or_get, STATUS,                                                             \
      axo_system_spawn_or_get(w->system, &w->props, &w->ref, &w->created))                         \
    X(axo_system_ask, STATUS,                                                                      \
      axo_system_ask(w->system, w->mute, 9, NULL, 0, 5 * PARTS_MS, &w->asked))                     \
    X(axo_asked_free, VOID, axo_asked_free(w->system, &w->asked))                                  \
    X(axo_system_graceful_stop, STATUS,                                                            \
      axo_system_graceful_stop(w->system, w->others[0], NULL, PARTS_S, NULL))                      \
    X(axo_system_stop_actor, STATUS, axo_system_stop_actor(w->system, w->others[1]))               \
    X(axo_system_poison, STATUS, axo_system_poison(w->system, w->others[2]))                       \
    X(axo_system_kill, STATUS, axo_system_kill(w->system, w->others[3]))                           \
    X(axo_system_fail, STATUS,                                                                     \
      axo_system_fail(w->system, w->others[4], AXO_FAILURE_ORDINARY, 1))                           \
    X(axo_system_guardian, NONE, axo_system_guardian(w->system, AXO_GUARDIAN_USER))                \
    X(axo_system_path, STATUS, axo_system_path(w->system, w->mute, w->text, sizeof w->text))       \
    X(axo_system_stats, STATUS,                                                                    \
      axo_system_stats(w->system, &(axo_stats)AXO_STATS(.sent = 0)))                               \
    X(axo_system_trace_kinds, STATUS, axo_system_trace_kinds(w->system, 0))                        \
    X(axo_system_trim, STATUS, axo_system_trim(w->system, 0, NULL))                                \
    X(axo_system_name, NIL, axo_system_name(w->system))                                            \
    X(axo_system_now, NIL, axo_system_now(w->system))                                              \
    X(axo_system_alloc, NIL, w->block = axo_system_alloc(w->system, 8))                            \
    X(axo_system_free, VOID, axo_system_free(w->system, w->block, 8))                              \
    X(axo_system_workers, NIL, axo_system_workers(w->system))                                      \
    X(axo_system_schedule_once, STATUS,                                                            \
      axo_system_schedule_once(w->system, PARTS_S, w->mute, 9, NULL, 0, &w->timer))                \
    X(axo_system_timer_at_close, NIL, axo_system_timer_at_close(w->system, w->timer))              \
    X(axo_system_timer_cancel, NIL, axo_system_timer_cancel(w->system, w->timer))                  \
    X(axo_system_schedule_fixed_rate, STATUS,                                                      \
      axo_system_schedule_fixed_rate(w->system, PARTS_S, 1, w->mute, 9, NULL, 0, NULL))            \
    X(axo_system_schedule_fixed_delay, STATUS,                                                     \
      axo_system_schedule_fixed_delay(w->system, PARTS_S, 1, w->mute, 9, NULL, 0, NULL))           \
    X(axo_system_find, STATUS, axo_system_find(w->system, "/user", &w->ref))                       \
    X(axo_system_find_all, STATUS,                                                                 \
      axo_system_find_all(w->system, "/user/*", NULL, 0, &w->count))                               \
    X(axo_health, STATUS, axo_health(w->system, PARTS_S, NULL))                                    \
    X(axo_metrics_classes, STATUS, axo_metrics_classes(w->system, every_figures, NULL))            \
    X(axo_metrics_write, STATUS, axo_metrics_write(w->system, 0, every_write, NULL))               \
    X(axo_system_inspect, STATUS,                                                                  \
      axo_system_inspect(w->system, w->mute, axo_ref_none(),                                       \
                         &(axo_actor_info)AXO_ACTOR_INFO(.queued = 0)))                            \
    X(axo_system_tag_name, STATUS,                                                                 \
      axo_system_tag_name(w->system, w->mute, 9, w->text, sizeof w->text))                         \
    X(axo_system_register, STATUS, axo_system_register(w->system, "key", w->mute))                 \
    X(axo_system_lookup, STATUS, axo_system_lookup(w->system, "key", &w->ref))                     \
    X(axo_system_unregister, STATUS, axo_system_unregister(w->system, "key"))                      \
    X(axo_system_subscribe, STATUS,                                                                \
      axo_system_subscribe(w->system, w->mute, AXO_KIND_ALL))                                      \
    X(axo_system_publish, STATUS, axo_system_publish(w->system, AXO_KIND_USER, NULL, 0))           \
    X(axo_system_unsubscribe, STATUS,                                                              \
      axo_system_unsubscribe(w->system, w->mute, AXO_KIND_ALL))                                    \
    X(axo_system_dead_letters, NIL,                                                                \
      axo_system_dead_letters(w->system, NULL, 0, &w->turns) + w->turns)                           \
    X(axo_system_crashes, NIL, axo_system_crashes(w->system, NULL, 0))                             \
    X(axo_contain_state, NIL, axo_contain_state(w->system))                                        \
    X(axo_system_on_termination, STATUS,                                                           \
      axo_system_on_termination(w->system, every_ended, NULL))                                     \
    X(axo_system_router_broadcast, STATUS,                                                         \
      axo_system_router_broadcast(w->system, w->mute, 9, NULL, 0))                                 \
    X(axo_run_host, STATUS, axo_run_host(w->system, -1, &w->turns))                                \
    X(axo_step_host, STATUS, axo_step_host(w->system, 1, &w->turns))                               \
    X(axo_clock_changed, STATUS, axo_clock_changed(w->system))                                     \
    X(axo_host_deadline, NEVER, axo_host_deadline(w->system))                                      \
    X(axo_host_fd, NEGATIVE, axo_host_fd(w->system))                                               \
    X(axo_worker_run, STATUS, axo_worker_run(w->system, 0, -1, &w->turns))                         \
    X(axo_worker_due, NEVER, axo_worker_due(w->system))                                            \
    X(axo_phases_new, STATUS, axo_phases_new(w->system, &w->made))                                 \
    X(axo_phases_add, STATUS,                                                                      \
      axo_phases_add(w->phases, &(axo_phase)AXO_PHASE(.name = "last")))                            \
    X(axo_phases_task, STATUS,                                                                     \
      axo_phases_task(w->phases,                                                                   \
                      &(axo_task)AXO_TASK(.name = "it", .phase = "first",                          \
                                          .kind = AXO_TASK_CALL, .call = every_task),              \
                      &w->id))                                                                     \
    X(axo_phases_cancel, STATUS, axo_phases_cancel(w->phases, w->id))                              \
    X(axo_phases_check, STATUS, axo_phases_check(w->phases, w->text, sizeof w->text))              \
    X(axo_phases_total_ns, NIL, axo_phases_total_ns(w->phases))                                    \
    X(axo_phases_print, NIL, axo_phases_print(w->phases, NULL, 0))                                 \
    X(axo_phases_run, STATUS, axo_phases_run(w->phases, NULL))                                     \
    X(axo_phases_start, STATUS, axo_phases_start(w->phases))                                       \
    X(axo_phases_troubles, NIL, axo_phases_troubles(w->phases, NULL, 0))                           \
    X(axo_phases_free, STATUS, axo_phases_free(w->made != NULL ? w->made : w->phases))             \
    X(axo_testkit_step, NIL, axo_testkit_step(w->kit, 1))                                          \
    X(axo_testkit_run, NIL, axo_testkit_run(w->kit))                                               \
    X(axo_testkit_advance, NIL, axo_testkit_advance(w->kit, 1))                                    \
    X(axo_testkit_fail_memory, VOID, axo_testkit_fail_memory(w->kit, 0, 0))                        \
    X(axo_probe_new, NIL, axo_probe_new(w->kit, NULL))                                             \
    X(axo_probe_send, STATUS,                                                                      \
      axo_probe_send(w->probe, w->probed, 9, NULL, 0))                                             \
    X(axo_probe_receive, NIL, axo_probe_receive(w->probe, 1))                                      \
    X(axo_probe_reply, EITHER, axo_probe_reply(w->probe, 9, NULL, 0))                              \
    X(axo_probe_watch, STATUS, axo_probe_watch(w->probe, w->probed))                               \
    X(axo_probe_expect, NIL, axo_probe_expect(w->probe, 9, 1))                                     \
    X(axo_probe_expect_terminated, NIL,                                                            \
      axo_probe_expect_terminated(w->probe, w->probed, 1))                                         \
    X(axo_probe_expect_none, NIL, axo_probe_expect_none(w->probe, 1))                              \
    X(axo_probe_ref, NONE, axo_probe_ref(w->probe))                                                \
    X(axo_probe_waiting, NIL, axo_probe_waiting(w->probe))                                         \
    X(axo_testkit_system, NIL, axo_testkit_system(w->kit))                                         \
    X(axo_testkit_now, NIL, axo_testkit_now(w->kit))                                               \
    X(axo_testkit_why, NIL, axo_testkit_why(w->kit))                                               \
    X(axo_testkit_stop, STATUS, axo_testkit_stop(w->kit))                                          \
    X(axo_system_shutdown, STATUS, axo_system_shutdown(w->system))                                 \
    X(axo_system_stop, STATUS, axo_system_stop(w->system, -1, NULL, 0, NULL))                      \
    X(axo_system_wait, STATUS, axo_system_wait(w->system, -1, NULL))                               \
    X(axo_system_destroy, STATUS, axo_system_destroy(w->system))

#define EVERY_CONTEXT_ROWS(X)                                                                      \
    X(axo_self, NONE, axo_self(w->ctx))                                                            \
    X(axo_seed, NIL, axo_seed(w->ctx))                                                             \
    X(axo_instance, NIL, axo_instance(w->ctx))                                                     \
    X(axo_now, NIL, axo_now(w->ctx))                                                               \
    X(axo_parent, NONE, axo_parent(w->ctx))                                                        \
    X(axo_sender, NONE, axo_sender(w->ctx))                                                        \
    X(axo_system_of, NIL, axo_system_of(w->ctx))                                                   \
    X(axo_child_count, NIL, axo_child_count(w->ctx))                                               \
    X(axo_children, NIL, axo_children(w->ctx, NULL, 0))                                            \
    X(axo_child, NONE, axo_child(w->ctx, "it"))                                                    \
    X(axo_path, STATUS, axo_path(w->ctx, w->mute, w->text, sizeof w->text))                        \
    X(axo_spawn, STATUS, axo_spawn(w->ctx, &w->props, &w->ref))                                    \
    X(axo_spawn_or_get, STATUS, axo_spawn_or_get(w->ctx, &w->props, &w->ref, &w->created))         \
    X(axo_stop, STATUS, axo_stop(w->ctx, w->mute))                                                 \
    X(axo_stop_self, STATUS, axo_stop_self(w->ctx))                                                \
    X(axo_poison, STATUS, axo_poison(w->ctx, w->mute))                                             \
    X(axo_kill, STATUS, axo_kill(w->ctx, w->mute))                                                 \
    X(axo_send, STATUS, axo_send(w->ctx, w->mute, 9, NULL, 0))                                     \
    X(axo_send_from, STATUS, axo_send_from(w->ctx, w->mute, w->mute, 9, NULL, 0))                  \
    X(axo_reply, STATUS, axo_reply(w->ctx, w->message, 9, NULL, 0))                                \
    X(axo_forward, STATUS, axo_forward(w->ctx, w->message, w->mute))                               \
    X(axo_message_take, STATUS, axo_message_take(w->ctx, w->message, &w->owned))                   \
    X(axo_send_owned, STATUS, axo_send_owned(w->ctx, w->mute, 9, w->text, 1, NULL, NULL))          \
    X(axo_send_many, STATUS, axo_send_many(w->ctx, &w->mute, 1, 9, NULL, 0, NULL))                 \
    X(axo_group_send_as, STATUS, axo_group_send_as(w->ctx, w->group, w->mute, 9, NULL, 0))         \
    X(axo_group_tell, STATUS, axo_group_tell(w->ctx, w->group, 1))                                 \
    X(axo_message_new, STATUS, axo_message_new(w->ctx, 9, 1, &w->draft, &w->room))                 \
    X(axo_message_owning, STATUS, axo_message_owning(w->ctx, 9, &w->owned, &w->draft))             \
    X(axo_guard_begin, VOID, axo_guard_begin(w->ctx))                                              \
    X(axo_guard_end, VOID, axo_guard_end(w->ctx))                                                  \
    X(axo_draft_from, STATUS, axo_draft_from(w->ctx, w->draft, w->mute))                           \
    X(axo_draft_bind, STATUS, axo_draft_bind(w->ctx, w->draft, 1))                                 \
    X(axo_draft_keep, STATUS, axo_draft_keep(w->ctx, w->draft))                                    \
    X(axo_send_message, STATUS, axo_send_message(w->ctx, w->mute, w->draft))                       \
    X(axo_message_discard, VOID, axo_message_discard(w->ctx, w->draft))                            \
    X(axo_send_after, STATUS, axo_send_after(w->ctx, 1, w->mute, 9, NULL, 0))                      \
    X(axo_fail, STATUS, axo_fail(w->ctx, 1, "it"))                                                 \
    X(axo_fail_fatal, STATUS, axo_fail_fatal(w->ctx, 1, "it"))                                     \
    X(axo_fail_as, STATUS, axo_fail_as(w->ctx, AXO_FAILURE_ORDINARY, 1, "it"))                     \
    X(axo_alloc, NIL, axo_alloc(w->ctx, 1))                                                        \
    X(axo_realloc, NIL, axo_realloc(w->ctx, NULL, 1))                                              \
    X(axo_free, VOID, axo_free(w->ctx, NULL))                                                      \
    X(axo_memory_of, NIL, axo_memory_of(w->ctx).held)                                              \
    X(axo_defer, STATUS, axo_defer(w->ctx, every_nothing, NULL))                                   \
    X(axo_pause, STATUS, axo_pause(w->ctx, w->mute))                                               \
    X(axo_resume, STATUS, axo_resume(w->ctx, w->mute))                                             \
    X(axo_become, STATUS, axo_become(w->ctx, every_receive))                                       \
    X(axo_unbecome, STATUS, axo_unbecome(w->ctx))                                                  \
    X(axo_want_settle, STATUS, axo_want_settle(w->ctx))                                            \
    X(axo_decide_again, STATUS, axo_decide_again(w->ctx, w->mute))                                 \
    X(axo_demand_has_room, NIL, axo_demand_has_room(w->ctx))                                       \
    X(axo_demand_owe, STATUS, axo_demand_owe(w->ctx, 1))                                           \
    X(axo_demand_answered, STATUS, axo_demand_answered(w->ctx, 1))                                 \
    X(axo_demand_forgive, STATUS, axo_demand_forgive(w->ctx, 1))                                   \
    X(axo_demand_hold, STATUS, axo_demand_hold(w->ctx, 1))                                         \
    X(axo_demand_release, STATUS, axo_demand_release(w->ctx, 1))                                   \
    X(axo_demand_look, STATUS, axo_demand_look(w->ctx, NULL))                                      \
    X(axo_default_pre_restart, STATUS, axo_default_pre_restart(w->ctx, NULL, NULL, NULL))          \
    X(axo_default_post_restart, STATUS, axo_default_post_restart(w->ctx, NULL, NULL))              \
    X(axo_termination_hook, STATUS, axo_termination_hook(w->ctx))                                  \
    X(axo_termination_hook_done, STATUS, axo_termination_hook_done(w->ctx))                        \
    X(axo_ask, STATUS, axo_ask(w->ctx, w->mute, 9, NULL, 0, 1, 1))                                 \
    X(axo_promise, STATUS, axo_promise(w->ctx, 1, 1, &w->ref))                                     \
    X(axo_block, STATUS, axo_block(w->ctx, every_nothing, NULL))                                   \
    X(axo_subscribe, STATUS, axo_subscribe(w->ctx, w->mute, AXO_KIND_ALL))                         \
    X(axo_unsubscribe, STATUS, axo_unsubscribe(w->ctx, w->mute, AXO_KIND_ALL))                     \
    X(axo_log, STATUS, axo_log(w->ctx, AXO_LOG_INFO, "it"))                                        \
    X(axo_publish, STATUS, axo_publish(w->ctx, AXO_KIND_USER, NULL, 0))                            \
    X(axo_drop, STATUS, axo_drop(w->ctx, w->message, w->mute, "it"))                               \
    X(axo_find, STATUS, axo_find(w->ctx, "/user", &w->ref))                                        \
    X(axo_find_all, STATUS, axo_find_all(w->ctx, "/user/*", NULL, 0, &w->count))                   \
    X(axo_select, STATUS, axo_select(w->ctx, "/user/*", 9, NULL, 0, &w->count))                    \
    X(axo_graceful_stop, STATUS, axo_graceful_stop(w->ctx, w->mute, NULL, 1, 1))                   \
    X(axo_drain, STATUS, axo_drain(w->ctx, w->mute, NULL, 9, 1, 1))                                \
    X(axo_inspect, STATUS,                                                                         \
      axo_inspect(w->ctx, w->mute, axo_ref_none(),                                                 \
                  &(axo_actor_info)AXO_ACTOR_INFO(.queued = 0)))                                   \
    X(axo_machine_start, STATUS, axo_machine_start(w->ctx, &w->machine, NULL, NULL))               \
    X(axo_machine_receive, STATUS, axo_machine_receive(w->ctx, &w->machine, NULL, w->message))     \
    X(axo_machine_goto, STATUS, axo_machine_goto(w->ctx, &w->machine, 0))                          \
    X(axo_machine_stay, STATUS, axo_machine_stay(w->ctx, &w->machine))                             \
    X(axo_register, STATUS, axo_register(w->ctx, "key", w->mute))                                  \
    X(axo_unregister, STATUS, axo_unregister(w->ctx, "key"))                                       \
    X(axo_router_broadcast, STATUS, axo_router_broadcast(w->ctx, w->mute, 9, NULL, 0))             \
    X(axo_stash, STATUS, axo_stash(w->ctx))                                                        \
    X(axo_unstash, STATUS, axo_unstash(w->ctx, 1))                                                 \
    X(axo_unstash_all, STATUS, axo_unstash_all(w->ctx))                                            \
    X(axo_stash_count, NIL, axo_stash_count(w->ctx))                                               \
    X(axo_schedule_once, STATUS, axo_schedule_once(w->ctx, 1, w->mute, 9, NULL, 0, NULL))          \
    X(axo_schedule_fixed_delay, STATUS,                                                            \
      axo_schedule_fixed_delay(w->ctx, 1, 1, w->mute, 9, NULL, 0, NULL))                           \
    X(axo_schedule_fixed_rate, STATUS,                                                             \
      axo_schedule_fixed_rate(w->ctx, 1, 1, w->mute, 9, NULL, 0, NULL))                            \
    X(axo_timer_cancel, NIL, axo_timer_cancel(w->ctx, w->timer))                                   \
    X(axo_timer_at_close, NIL, axo_timer_at_close(w->ctx, w->timer))                               \
    X(axo_timer_start, STATUS,                                                                     \
      axo_timer_start(w->ctx, 1, AXO_TIMER_ONCE, 1, 0, 9, NULL, 0))                                \
    X(axo_timer_stop, STATUS, axo_timer_stop(w->ctx, 1))                                           \
    X(axo_timer_active, NIL, axo_timer_active(w->ctx, 1))                                          \
    X(axo_receive_timeout, STATUS, axo_receive_timeout(w->ctx, 1))                                 \
    X(axo_io_watch, STATUS, axo_io_watch(w->ctx, 0, AXO_IO_IN, 0))                                 \
    X(axo_io_unwatch, STATUS, axo_io_unwatch(w->ctx, 0))                                           \
    X(axo_io_want, STATUS, axo_io_want(w->ctx, 0, AXO_IO_IN))                                      \
    X(axo_io_blocked, STATUS, axo_io_blocked(w->ctx, 0, AXO_IO_IN))                                \
    X(axo_stream_accept, STATUS, axo_stream_accept(w->ctx, NULL, NULL, &(axo_stream *){NULL}))     \
    X(axo_stream_open, STATUS, axo_stream_open(w->ctx, -1, NULL, &(axo_stream *){NULL}))           \
    X(axo_stream_reopen, STATUS, axo_stream_reopen(w->ctx, NULL, -1, NULL))                        \
    X(axo_stream_receive, NIL, axo_stream_receive(w->ctx, NULL, NULL) != 0)                        \
    X(axo_stream_settle, STATUS, axo_stream_settle(w->ctx, NULL))                                  \
    X(axo_stream_next, STATUS, axo_stream_next(w->ctx, NULL, 0, NULL))                             \
    X(axo_stream_next_until, STATUS, axo_stream_next_until(w->ctx, NULL, NULL, 0, NULL))           \
    X(axo_stream_ended, NIL, axo_stream_ended(w->ctx, NULL))                                       \
    X(axo_stream_pause, STATUS, axo_stream_pause(w->ctx, NULL))                                    \
    X(axo_stream_peek, STATUS, axo_stream_peek(w->ctx, NULL, NULL))                                \
    X(axo_stream_resume, STATUS, axo_stream_resume(w->ctx, NULL))                                  \
    X(axo_stream_credit, STATUS, axo_stream_credit(w->ctx, NULL, 0))                               \
    X(axo_stream_has_room, NIL, axo_stream_has_room(w->ctx, NULL))                                 \
    X(axo_stream_write, STATUS, axo_stream_write(w->ctx, NULL, NULL, 0))                           \
    X(axo_stream_owe, STATUS, axo_stream_owe(w->ctx, NULL, 1))                                     \
    X(axo_stream_answer, STATUS, axo_stream_answer(w->ctx, NULL, NULL, 0))                         \
    X(axo_stream_answer_owned, STATUS, axo_stream_answer_owned(w->ctx, NULL, NULL))                \
    X(axo_stream_write_owned, STATUS, axo_stream_write_owned(w->ctx, NULL, NULL))                  \
    X(axo_stream_end, STATUS, axo_stream_end(w->ctx, NULL))                                        \
    X(axo_stream_close, STATUS, axo_stream_close(w->ctx, NULL, 0))                                 \
    X(axo_stream_look, STATUS, axo_stream_look(w->ctx, NULL, NULL))                                \
    X(axo_signal_watch, STATUS, axo_signal_watch(w->ctx, SIGUSR2, &w->fd))                         \
    X(axo_signal_take, NIL, axo_signal_take(w->ctx, w->fd))                                        \
    X(axo_signal_unwatch, STATUS, axo_signal_unwatch(w->ctx, w->fd))                               \
    X(axo_trace_context_new, STATUS, axo_trace_context_new(w->ctx, 0))                             \
    X(axo_trace_context_set, STATUS,                                                               \
      axo_trace_context_set(w->ctx, &(axo_trace_context){{1}, {1}, 0}))                            \
    X(axo_trace_context_of, STATUS,                                                                \
      axo_trace_context_of(w->ctx, &(axo_trace_context){.flags = 0}))                              \
    X(axo_trace_context_parent, STATUS,                                                            \
      axo_trace_context_parent(w->ctx, &(axo_trace_context){.flags = 0}))                          \
    X(axo_watch, STATUS, axo_watch(w->ctx, w->mute))                                               \
    X(axo_watch_with, STATUS, axo_watch_with(w->ctx, w->mute, 9, NULL, 0))                         \
    X(axo_unwatch, STATUS, axo_unwatch(w->ctx, w->mute))

/* Those that look at nothing of a system; and those that do not come back, with tests of their
 * own. */
#define EVERY_OTHER(X)                                                                             \
    X(axo_backoff_check) X(axo_backoff_delay) X(axo_backoff_supervisor_props)                      \
    X(axo_metrics_bound) X(axo_failure_crash) X(axo_trust)                                         \
    X(axo_failure_kind_name) X(axo_site_name) X(axo_directive_name) X(axo_log_level_name)          \
    X(axo_log_event_name) X(axo_log_text) X(axo_log_json) X(axo_log_open) X(axo_log_write)         \
    X(axo_log_lost) X(axo_log_close)                                                               \
    X(axo_decide_default) X(axo_decide_escalate) X(axo_decide_restart) X(axo_decide_stop)          \
    X(axo_doing_name) X(axo_event_name) X(axo_machine_current) X(axo_machine_name)                 \
    X(axo_listener_props)                                                                          \
    X(axo_name_check) X(axo_ref_index) X(axo_ref_node) X(axo_router_props) X(axo_status_name)      \
    X(axo_status_text) X(axo_system_start) X(axo_testkit_start) X(axo_verdict_text) X(axo_version) \
    X(axo_throw) X(axo_throw_fatal) X(axo_traceparent_parse) X(axo_traceparent_format)             \
    X(axo_must_alloc)

/* ---- as functions -------------------------------------------------------------------------- */

#define EVERY_STATUS(x) ((x) == AXO_EFORKED)
#define EVERY_NONE(x) axo_ref_is_none(x)
#define EVERY_NIL(x) ((x) == 0)
#define EVERY_VOID(x) ((x), true)
#define EVERY_NEVER(x) ((x) == INT64_MAX)
#define EVERY_NEGATIVE(x) ((x) < 0)
#define EVERY_EITHER(x) ((x) != AXO_OK)

typedef struct every_row {
    const char *name;
    bool (*call)(every *w); /* whether it said what it says in a child of fork */
} every_row;

#define EVERY_FUNCTION(name, form, expression)                                                     \
    static bool every_##name(every *w)                                                             \
    {                                                                                              \
        return EVERY_##form(expression);                                                           \
    }
#define EVERY_ROW(name, form, expression) {#name, every_##name},
#define EVERY_NAME(name) #name,

EVERY_SYSTEM_ROWS(EVERY_FUNCTION)
static const every_row every_system[] = {EVERY_SYSTEM_ROWS(EVERY_ROW)};
enum { EVERY_SYSTEM = sizeof every_system / sizeof every_system[0] };

/* ---- the world ------------------------------------------------------------------------------ */

static inline void every_open(every *w, axo_system *system, uint32_t dispatcher)
{
    axo_phase first = AXO_PHASE(.name = "first");
    memset(w, 0, sizeof *w);
    w->system = system;
    w->props = (axo_props)AXO_PROPS(.cls = &every_class, .name = "new");
    w->owned = (axo_owned){.payload = w->text, .size = 1};
    axo_props props = AXO_PROPS(.cls = &every_class, .dispatcher = dispatcher);
    assert_int_equal(axo_system_spawn(system, &props, &w->mute), AXO_OK);
    for (uint32_t i = 0; i < 6; i++)
        assert_int_equal(axo_system_spawn(system, &props, &w->others[i]), AXO_OK);
    assert_int_equal(axo_phases_new(system, &w->phases), AXO_OK);
    assert_int_equal(axo_group_make(system, &w->group), AXO_OK);
    assert_int_equal(axo_phases_add(w->phases, &first), AXO_OK);
    assert_int_equal(axo_testkit_start(NULL, &w->kit), AXO_OK);
    w->probe = axo_probe_new(w->kit, "probe");
    assert_non_null(w->probe);
    w->probed = axo_probe_ref(w->probe);
}

#endif
