/* fuzz_api.c - any calls with any arguments, from outside and from callbacks, to puppets.
 *
 * Length 1500. Handles are living, stale, none, foreign or garbage; structs have other sizes;
 * contexts are wrong; memory is refused now and then. No call crashes or hangs, each says what its
 * header allows, and in the end every message is accounted for and all memory is back.
 */
#include "fuzz/calls.h"
#include "fuzz/system_calls.h"

/* ---- which ---- */

static void (*const api_system_calls[])(void) = {
    system_send,  system_send_owned, system_spawn,    system_end,     system_fail,
    system_look,  system_find,       system_register, system_event,   system_inspect,
    system_timer, system_schedule,   system_phases,   system_ending,  system_memory,
    system_wrong, system_broadcast,  system_letters,  system_spawn,   system_send,
};

/* In axo_block the thread is an outside one. */
static void api_blocked(void *arg)
{
    fuzz_require(arg == &g);
    api_system_calls[api_below(PUPPET_COUNT(api_system_calls))]();
}

static void call_block(void)
{
    arguments d = arguments_draw();
    puppet_frame outer = {.ctx = g.ctx, .message = g.message};
    bool good = g.good;
    g.blocked = g.ctx != NULL;
    g.ctx = NULL;
    axo_status status = axo_block(d.ctx, d.y > 250 ? NULL : api_blocked, &g);
    g.blocked = false;
    g.ctx = outer.ctx;
    g.message = outer.message;
    g.good = good;
    api_in(status, API_OK | API_EINVAL, "axo_block");
}

static void (*const api_calls[])(void) = {
    call_send,     call_forward,  call_take,     call_send_owned, call_draft,
    call_draft_owning, call_stash, call_spawn,   call_end,        call_watch,
    call_family,   call_path,     call_own,      call_become,     call_hook,
    call_schedule, call_timer,    call_keyed,    call_find,       call_register,
    call_event,    call_drop,     call_inspect,  call_ask,        call_graceful,
    call_service,  call_broadcast, call_machine, call_spawn,      call_block,
};

void calls_some(void)
{
    for (uint32_t count = api_u8() % 4; count > 0 && g.calls < CALLS_MAX; count--) {
        uint8_t which = api_u8();
        g.calls++;
        if (which >= 0xe0)
            api_system_calls[which % PUPPET_COUNT(api_system_calls)]();
        else
            api_calls[which % PUPPET_COUNT(api_calls)]();
    }
}

/* ---- the world's making and end ---- */

static void api_letter(void *user, const axo_dead_letter *letter)
{
    fuzz_require(user == &g && letter->message != NULL);
    fuzz_require(letter->reason >= AXO_DEAD_GONE && letter->reason <= AXO_DEAD_DROPPED);
    if (letter->reason != AXO_DEAD_DROPPED)
        api_check_payload(letter->message);
    g.letters++;
}

static void api_log(void *user, axo_log_level level, axo_ref actor, const char *text)
{
    fuzz_require(user == &g && level >= AXO_LOG_ERROR && level <= AXO_LOG_INFO);
    fuzz_require(strlen(text) < 4096);
}

static void api_trace(void *user, const axo_event *event)
{
    fuzz_require(user == &g && event->kind < AXO_EVENT_KINDS && event->time_ns == g.now);
    g.spawned += event->kind == AXO_EV_SPAWN ? 1 : 0;
    g.terminated += event->kind == AXO_EV_TERMINATED ? 1 : 0;
    fuzz_require(g.terminated <= g.spawned);
}

static axo_status stranger_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    return AXO_OK;
}

/* The actors of another system, which stays for the whole process: of the same seed, and in the
 * same slots. */
static void api_strangers(void)
{
    static const axo_class cls = AXO_CLASS(.receive = stranger_receive);
    static axo_ref strangers[STRANGERS];
    static axo_system *other;
    axo_options options = AXO_OPTIONS(FUZZ_SMALL);
    axo_props props = AXO_PROPS(.cls = &cls);
    if (other == NULL) {
        fuzz_require(axo_system_start(&options, &other) == AXO_OK);
        for (uint32_t i = 0; i < 3; i++)
            strangers[i] = axo_system_guardian(other, (axo_guardian)i);
        for (uint32_t i = 3; i < STRANGERS; i++)
            fuzz_require(axo_system_spawn(other, &props, &strangers[i]) == AXO_OK);
    }
    memcpy(g.strangers, strangers, sizeof g.strangers);
}

/* None of them is anybody here. */
static void api_stay_strangers(void)
{
    axo_actor_info info = AXO_ACTOR_INFO(.doing = AXO_DOING_GONE);
    for (uint32_t i = 0; i < STRANGERS; i++)
        SYS(axo_system_inspect(g.system, g.strangers[i], axo_ref_none(), &info),
            API_BIT(AXO_EGONE));
}

static void api_open(const uint8_t *data, size_t size)
{
    memset(&g, 0, sizeof g);
    g.in = (fuzz_in){.at = data, .left = size};
    g.now = 1000000000;
    api_strangers();
    fuzz_chance = 2;
    uint8_t shape = fuzz_u8(&g.in);
    axo_options options = AXO_OPTIONS(
            .manual = 1, .seed = 1, .actors_max = 30, .failure_texts = 1 + shape % 4,
            .timers_max = 6, .registry_max = API_REGISTRY, .dead_letters_kept = 1 + shape % 3,
            .quantum = shape % 5, .clock = api_clock, .clock_user = &g,
            .allocator = {.alloc = api_alloc, .free = api_release, .user = &g},
            .on_dead_letter = api_letter, .dead_letter_user = &g, .log = api_log, .log_user = &g,
            .trace = (shape & 0x80) == 0 ? api_trace : NULL, .trace_user = &g,
            .user_strategy = (shape & 0x40) != 0 ? &puppet_strategies[0] : NULL);
    fuzz_require(axo_system_start(&options, &g.system) == AXO_OK);
}

/* Runs what is due; a timer may make more due. */
static void api_step(uint64_t turns_max)
{
    uint64_t turns = 0;
    SYS(axo_step_host(g.system, turns_max, &turns), API_OK);
    fuzz_require(turns <= turns_max && g.ctx == NULL);
}

static void api_settle(void)
{
    uint64_t turns = 1;
    for (uint32_t i = 0; turns > 0; i++) {
        fuzz_require(i < 20000);
        SYS(axo_step_host(g.system, 64, &turns), API_OK);
    }
}

static void api_advance(void)
{
    int64_t ahead = api_far();
    int64_t deadline = axo_host_deadline(g.system);
    if ((ahead & 1) == 0 && deadline > g.now && deadline < AXO_DELAY_MAX)
        g.now = deadline;
    else if (ahead > 0 && ahead < 50000000)
        g.now += ahead;
}

/* At rest: what was accepted is somewhere. */
static void api_balance(bool over)
{
    axo_stats stats = AXO_STATS(.sent = 0);
    SYS(axo_system_stats(g.system, &stats), API_OK);
    uint64_t known = stats.handled + stats.dead + stats.dropped;
    fuzz_require(stats.sent >= known && (!over || stats.sent == known));
    fuzz_require(stats.dead == g.letters || stats.dead <= g.letters);
    fuzz_require(stats.spawned >= stats.terminated && stats.unhandled <= stats.handled);
    fuzz_require(stats.actors == stats.spawned - stats.terminated);
    fuzz_require(stats.memory_bytes == g.bytes && stats.memory_blocks == g.blocks);
    if (over)
        fuzz_require(stats.actors == 0 && g.ended == g.endings);
}

static void api_end(void)
{
    api_stay_strangers();
    g.calm = true;
    g.fail_count = 0;
    SYS(axo_system_shutdown(g.system), API_OK);
    for (uint32_t i = 0; axo_system_stop(g.system, 0, NULL, 0, NULL) != AXO_OK; i++) {
        int64_t deadline = axo_host_deadline(g.system);
        api_settle();
        if (axo_system_wait(g.system, 0, NULL) == AXO_OK)
            break;
        if (i > 1000 || deadline == INT64_MAX)
            fuzz_fail("the system does not end");
        if (deadline > g.now)
            g.now = deadline;
    }
    if (g.phases != NULL)
        SYS(axo_phases_free(g.phases), API_OK);
    api_balance(true);
    SYS(axo_system_destroy(g.system), API_OK);
    fuzz_require(g.blocks == 0 && g.bytes == 0);
    fuzz_require(g.owned == g.freed && g.deferred == g.undone);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    api_open(data, size);
    while (g.in.left > 0 && g.calls < CALLS_MAX) {
        uint8_t op = fuzz_u8(&g.in);
        g.calls++;
        if (op >= 0xf8)
            api_settle();
        else if (op >= 0xf0)
            api_advance();
        else if (op >= 0xe0)
            api_step(1 + op % 4);
        else if (op >= 0xc0)
            api_calls[op % PUPPET_COUNT(api_calls)]();
        else
            api_system_calls[op % PUPPET_COUNT(api_system_calls)]();
        if (op >= 0xf0) {
            api_settle();
            api_balance(false);
        }
    }
    api_end();
    return 0;
}
