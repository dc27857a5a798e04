/* scene_thread.c - scenes with threads: pools, calls from outside that wait, phases. */
#include "fault/scenes.h"

#include <sched.h>

#define THREAD_SHORT (20 * WORLD_MS)

/* ---- pools ---------------------------------------------------------------------------------- */

static void thread_rest(void *arg)
{
    sched_yield();
}

static axo_status thread_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    return axo_block(ctx, thread_rest, NULL);
}

static const axo_class thread_class = AXO_CLASS(.receive = thread_receive);

static void thread_pools(world *w)
{
    axo_props props = AXO_PROPS(.cls = &thread_class);
    uint64_t turns;
    for (uint32_t i = 0; i < 8; i++) {
        axo_ref ref = {1};
        props.dispatcher = i % 4;
        axo_status status = TRY(w, axo_system_spawn(w->system, &props, &ref));
        MUST(w, axo_ref_is_none(ref) == (status != AXO_OK));
        if (status == AXO_OK)
            (void)TRY(w, axo_system_send(w->system, ref, WORLD_NOTE, NULL, 0));
        status = TRY(w, axo_run_host(w->system, -1, &turns));
        MUST(w, status == AXO_OK || status == AXO_ENOMEM);
    }
    world_run(w);
}

/* ---- calls that wait ------------------------------------------------------------------------- */

static void thread_ask(world *w)
{
    for (uint32_t i = 0; i < 3; i++) {
        axo_asked asked;
        uint32_t tag = i == 1 ? WORLD_NOTE : WORLD_PING; /* a note is not answered */
        axo_status status = axo_system_ask(w->system, w->pinger, tag, "x", 2, THREAD_SHORT, &asked);
        MUST(w, status == AXO_OK || status == AXO_ENOMEM || status == AXO_ETIMEDOUT ||
                    status == AXO_ESTOPPING);
        axo_asked_free(w->system, &asked);
    }
}

static axo_status thread_big_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    static char big[9000];
    (void)axo_reply(ctx, message, WORLD_PONG, big, sizeof big);
    return AXO_OK;
}

static const axo_class thread_big_class = AXO_CLASS(.receive = thread_big_receive);

static void thread_ask_big(world *w)
{
    axo_props props = AXO_PROPS(.cls = &thread_big_class);
    axo_asked asked;
    if (TRY(w, axo_system_spawn(w->system, &props, &w->ref)) != AXO_OK)
        return;
    axo_status status = axo_system_ask(w->system, w->ref, WORLD_PING, "x", 2, THREAD_SHORT, &asked);
    MUST(w, status == AXO_OK || status == AXO_ENOMEM || status == AXO_ETIMEDOUT ||
                status == AXO_ESTOPPING);
    axo_asked_free(w->system, &asked);
}

static void thread_graceful(world *w)
{
    axo_farewell how = AXO_FAREWELL(.kind = AXO_FAREWELL_MESSAGE, .tag = WORLD_QUIT,
                                    .payload = "bye", .payload_size = 4);
    for (uint32_t i = 0; i < 2; i++) {
        axo_props props = world_props(&w);
        axo_verdict verdict;
        if (TRY(w, axo_system_spawn(w->system, &props, &w->ref)) != AXO_OK)
            continue;
        axo_status status = axo_system_graceful_stop(w->system, w->ref, i == 0 ? NULL : &how,
                                                     THREAD_SHORT, &verdict);
        MUST(w, status == AXO_OK || status == AXO_ENOMEM || status == AXO_ETIMEDOUT ||
                    status == AXO_ESTOPPING);
    }
}

/* ---- phases --------------------------------------------------------------------------------- */

static axo_status thread_call(void *user)
{
    return AXO_OK;
}

static uint64_t thread_actors(world *w)
{
    axo_stats stats = AXO_STATS(.sent = 0);
    MUST(w, axo_system_stats(w->system, &stats) == AXO_OK);
    return stats.actors;
}

/* The actors of a run end with it, also when a call was refused: `others` are left, and w->ref if
 * its phase has not stopped it. */
static void thread_phases_gone(world *w, uint64_t others)
{
    char path[32];
    for (int64_t end = world_deadline(); world_goes_on(end);) {
        uint64_t alive = axo_system_path(w->system, w->ref, path, sizeof path) == AXO_OK;
        if (thread_actors(w) == others + alive)
            return;
        sched_yield();
    }
    MUST(w, !"an actor of a phase is left");
}

static void thread_phases(world *w)
{
    axo_phases *phases = (axo_phases *)w;
    axo_phases_report report;
    axo_props props = world_props(&w);
    uint32_t id;
    refuse_pause();
    uint64_t others = thread_actors(w);
    MUST(w, axo_system_spawn(w->system, &props, &w->ref) == AXO_OK);
    refuse_resume();
    axo_status status = TRY(w, axo_phases_new(w->system, &phases));
    if (status != AXO_OK) {
        MUST(w, phases == NULL);
        return;
    }
    axo_phase all[] = {AXO_PHASE(.name = "first", .timeout_ns = THREAD_SHORT),
                       AXO_PHASE(.name = "second", .timeout_ns = THREAD_SHORT, .after = {"first"})};
    axo_task tasks[] = {
        AXO_TASK(.phase = "first", .name = "call", .kind = AXO_TASK_CALL, .call = thread_call),
        AXO_TASK(.phase = "first", .name = "ask", .kind = AXO_TASK_ASK, .actor = w->pinger,
                 .tag = WORLD_PING, .payload = "x", .payload_size = 2),
        AXO_TASK(.phase = "second", .name = "stop", .kind = AXO_TASK_STOP, .actor = w->ref),
    };
    status = AXO_OK;
    for (uint32_t i = 0; i < 2 && status == AXO_OK; i++)
        status = TRY(w, axo_phases_add(phases, &all[i]));
    for (uint32_t i = 0; i < 3 && status == AXO_OK; i++)
        status = TRY(w, axo_phases_task(phases, &tasks[i], &id));
    if (status == AXO_OK) {
        status = axo_phases_run(phases, &report);
        MUST(w, status == AXO_OK || status == AXO_ENOMEM || status == AXO_ETIMEDOUT ||
                    status == AXO_EFAILED || status == AXO_ESTOPPING);
    }
    for (int64_t end = world_deadline();
         axo_phases_free(phases) == AXO_EBUSY && world_goes_on(end);)
        sched_yield();
    thread_phases_gone(w, others);
}

/* ---- memory of the system -------------------------------------------------------------------- */

static void thread_memory(world *w)
{
    void *block = NULL;
    axo_status status =
        TRY(w, (block = axo_system_alloc(w->system, 100)) != NULL ? AXO_OK : AXO_ENOMEM);
    MUST(w, (block != NULL) == (status == AXO_OK));
    axo_system_free(w->system, block, 100);
}

const scene scenes_thread[] = {
    {.name = "pools of threads", .run = thread_pools, .workers = 2},
    {.name = "ask from outside", .run = thread_ask, .workers = 2},
    {.name = "a large answer", .run = thread_ask_big, .workers = 2},
    {.name = "graceful stop from outside", .run = thread_graceful, .workers = 2},
    {.name = "phases", .run = thread_phases, .workers = 2},
    {.name = "memory of the system", .run = thread_memory},
    {.name = NULL},
};
