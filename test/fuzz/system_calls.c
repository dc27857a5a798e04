/* system_calls.c - the calls of fuzz_api that take a system. */
#include "fuzz/system_calls.h"

void system_send(void)
{
    arguments d = arguments_draw();
    uint32_t tag = api_tag();
    size_t size = api_size();
    const void *payload = d.y == 255 ? NULL : api_payload(tag, size);
    if (d.x % 2 == 0)
        SYS(axo_system_send(g.system, d.a, tag, payload, size), API_SEND);
    else
        SYS(axo_system_send_from(g.system, d.b, d.a, tag, payload, size), API_SEND);
}

void system_send_owned(void)
{
    arguments d = arguments_draw();
    uint32_t tag = api_tag();
    axo_owned owned = api_owned(tag);
    axo_status status = SYS(
        axo_system_send_owned(g.system, d.a, tag, owned.payload, owned.size, api_free_payload, &g),
        API_SEND);
    api_handed(status, &owned);
}

void system_spawn(void)
{
    recipe it;
    const axo_props *props = recipe_draw(&it);
    axo_ref out = {.bits = 77};
    bool created = true;
    if (api_below(4) == 1) {
        axo_status got = SYS(axo_system_spawn_or_get(g.system, props, &out, &created), API_SPAWN);
        fuzz_require(got == AXO_OK || !created);
        api_keep(got == AXO_OK ? out : axo_ref_none());
        return;
    }
    axo_status status = SYS(axo_system_spawn(g.system, props, &out), API_SPAWN);
    fuzz_require((status == AXO_OK) == !axo_ref_is_none(out));
    fuzz_require(!it.newer || status != AXO_OK);
    api_keep(out);
}

void system_end(void)
{
    arguments d = arguments_draw();
    switch (d.x % 4) {
    case 0:
        SYS(axo_system_stop_actor(g.system, d.a), API_OK | API_EINVAL | API_BIT(AXO_EGONE));
        break;
    case 1:
        SYS(axo_system_poison(g.system, d.a), API_SEND);
        break;
    case 2:
        SYS(axo_system_kill(g.system, d.a), API_SEND);
        break;
    default:
        if (d.y > 240)
            SYS(axo_system_shutdown(g.system), API_OK);
        break;
    }
}

void system_fail(void)
{
    arguments d = arguments_draw();
    SYS(axo_system_fail(g.system, d.a, (axo_failure_kind)(d.x % 10), d.y), API_SEND);
}

void system_look(void)
{
    arguments d = arguments_draw();
    char path[40];
    char name[8];
    axo_status status = SYS(axo_system_path(g.system, d.a, path, d.x % (sizeof path + 1)),
                            API_OK | API_EINVAL | API_BIT(AXO_EGONE) | API_BIT(AXO_ETOOBIG));
    if (status == AXO_OK || status == AXO_ETOOBIG)
        fuzz_require(memchr(path, 0, d.x % (sizeof path + 1)) != NULL);
    SYS(axo_system_tag_name(g.system, d.b, d.y, name, d.x % (sizeof name + 1)),
        API_OK | API_EINVAL | API_BIT(AXO_EGONE));
    fuzz_require(axo_system_now(g.system) == g.now && axo_system_workers(g.system) == 1);
    fuzz_require(strcmp(axo_system_name(g.system), "axo") == 0);
    fuzz_require(axo_ref_is_none(axo_system_guardian(g.system, (axo_guardian)(3 + d.x % 4))));
    fuzz_require(axo_status_name((axo_status)(int8_t)d.x) != NULL);
    fuzz_require(axo_status_text((axo_status)(int8_t)d.y) != NULL);
    fuzz_require(axo_doing_name(d.x) != NULL && axo_event_name(d.y) != NULL);
}

void system_find(void)
{
    arguments d = arguments_draw();
    uint32_t named = API_OK | API_EINVAL | API_BIT(AXO_ENAME);
    axo_ref out[3] = {{.bits = 77}};
    uint32_t count = 77;
    axo_status status = SYS(axo_system_find(g.system, d.text, out), named | API_BIT(AXO_ENOENT));
    fuzz_require((status == AXO_OK) == !axo_ref_is_none(out[0]));
    status = SYS(axo_system_find_all(g.system, d.text, out, d.x % 4, &count), named);
    fuzz_require(status == AXO_OK || count == 0);
}

void system_register(void)
{
    arguments d = arguments_draw();
    axo_ref out = {.bits = 77};
    axo_status status;
    if (d.x % 4 == 0)
        SYS(axo_system_unregister(g.system, d.key),
            API_OK | API_EINVAL | API_BIT(AXO_ENOENT) | API_BIT(AXO_ENAME));
    else if (SYS(axo_system_register(g.system, d.key, d.a), CALL_KEY) == AXO_OK) {
        status = SYS(axo_system_lookup(g.system, d.key, &out), API_OK);
        fuzz_require(axo_ref_equal(out, d.a));
    }
    status = SYS(axo_system_lookup(g.system, d.key, &out),
                 API_OK | API_EINVAL | API_BIT(AXO_ENOENT) | API_BIT(AXO_ENAME));
    fuzz_require((status == AXO_OK) == !axo_ref_is_none(out));
}

void system_event(void)
{
    arguments d = arguments_draw();
    size_t size = api_size();
    switch (d.x % 3) {
    case 0:
        SYS(axo_system_subscribe(g.system, d.a, d.kind), CALL_SUBSCRIBE);
        break;
    case 1:
        SYS(axo_system_unsubscribe(g.system, d.a, d.kind), CALL_UNSUBSCRIBE);
        break;
    default:
        SYS(axo_system_publish(g.system, d.kind, api_payload(0, size), size),
            API_OK | API_EINVAL | API_BIT(AXO_ETOOBIG));
        break;
    }
}

void system_inspect(void)
{
    arguments d = arguments_draw();
    struct {
        axo_actor_info info;
        uint8_t tail[16];
    } it, before;
    static const size_t sizes[] = {sizeof it.info, sizeof it.info, 0, 8, 40, sizeof it};
    memset(&it, 0x5a, sizeof it);
    it.info.size = sizes[d.x % PUPPET_COUNT(sizes)];
    before = it;
    axo_status status = SYS(axo_system_inspect(g.system, d.a, d.b, &it.info),
                            API_OK | API_EINVAL | API_BIT(AXO_EGONE) | API_BIT(AXO_EVERSION));
    size_t from = status == AXO_OK || status == AXO_EGONE ? before.info.size : 0;
    fuzz_require(memcmp((char *)&it + from, (char *)&before + from, sizeof it - from) == 0);
}

void system_timer(void)
{
    arguments d = arguments_draw();
    axo_timer timer = g.timers[d.x % TIMERS];
    if (d.y > 240)
        timer.bits2 ^= UINT64_C(1) << (d.y % 64);
    bool waits = axo_system_timer_at_close(g.system, timer);
    if (d.y % 2 == 0)
        fuzz_require(axo_system_timer_cancel(g.system, timer) == waits);
}

void system_schedule(void)
{
    arguments d = arguments_draw();
    uint32_t tag = d.y > 240 ? AXO_TIMER_POISON + d.y % 2 : api_tag();
    size_t size = api_size();
    const void *payload = api_payload(tag, size);
    axo_timer *out = &g.timers[d.y % TIMERS];
    axo_status status;
    if (d.x % 3 == 0)
        status = SYS(axo_system_schedule_once(g.system, d.far, d.a, tag, payload, size, out),
                     CALL_TIMER);
    else if (d.x % 3 == 1)
        status = SYS(axo_system_schedule_fixed_delay(g.system, d.far, d.period, d.a, tag, payload,
                                                     size, out),
                     CALL_TIMER);
    else
        status = SYS(
            axo_system_schedule_fixed_rate(g.system, d.far, d.period, d.a, tag, payload, size, out),
            CALL_TIMER);
    fuzz_require(status == AXO_OK || (out->bits == 0 && out->bits2 == 0));
}

static axo_status system_task(void *user)
{
    fuzz_require(user == &g);
    return AXO_OK;
}

void system_phases(void)
{
    static const char *const names[] = {"one", "two", "three", ""};
    arguments d = arguments_draw();
    uint32_t allowed = API_OK | API_EINVAL | API_BIT(AXO_EEXIST) | API_BIT(AXO_ENOENT) |
                       API_BIT(AXO_ENAME) | API_BIT(AXO_EVERSION) | API_BIT(AXO_ETOOBIG) |
                       API_BIT(AXO_ENOMEM) | API_BIT(AXO_EBUSY) | API_BIT(AXO_ECYCLE);
    axo_phase phase =
        AXO_PHASE(.name = names[d.x % 4], .timeout_ns = 1 + d.y % 2, .abort = d.x / 128,
                  .after = {(d.y & 1) != 0 ? names[d.y / 2 % 4] : NULL});
    axo_task task = AXO_TASK(.phase = names[d.x % 4], .name = "task", .kind = d.y % 4, .tag = 2,
                             .actor = d.a, .call = system_task, .user = &g);
    char text[64];
    if (g.phases == NULL)
        SYS(axo_phases_new(g.system, &g.phases), API_OK | API_BIT(AXO_ENOMEM));
    switch (d.x / 4 % 5) {
    case 0:
        SYS(axo_phases_add(g.phases, d.y == 255 ? NULL : &phase), allowed);
        break;
    case 1:
        SYS(axo_phases_task(g.phases, d.y == 255 ? NULL : &task, NULL), allowed);
        break;
    case 2:
        SYS(axo_phases_cancel(g.phases, d.y % 5), allowed);
        break;
    case 3:
        SYS(axo_phases_start(g.phases), allowed | API_BIT(AXO_ELIMIT) | API_BIT(AXO_ESTOPPING));
        break;
    default:
        SYS(axo_phases_check(g.phases, text, d.y % sizeof text), allowed);
        (void)axo_phases_print(g.phases, text, d.y % sizeof text);
        fuzz_require(axo_phases_total_ns(g.phases) >= 0);
        break;
    }
}

static void system_is_over(axo_system *system, void *user)
{
    fuzz_require(system == g.system && user == &g);
    g.ended++;
}

void system_ending(void)
{
    arguments d = arguments_draw();
    axo_status status =
        SYS(axo_system_on_termination(g.system, d.x > 250 ? NULL : system_is_over, &g),
            API_OK | API_EINVAL | API_BIT(AXO_ENOMEM) | API_BIT(AXO_ESTOPPING));
    g.endings += status == AXO_OK ? 1 : 0;
}

void system_memory(void)
{
    arguments d = arguments_draw();
    uint8_t *block = axo_system_alloc(g.system, d.x);
    fuzz_require(block != NULL || d.x == 0 || g.refusals > 0);
    if (block != NULL)
        memset(block, 3, d.x);
    axo_system_free(g.system, block, d.x);
    if (d.y < 96) {
        g.fail_after = d.y % 8;
        g.fail_count = 1 + d.y / 32;
    }
}

void system_wrong(void)
{
    arguments d = arguments_draw();
    axo_system *other = (axo_system *)(void *)&g;
    axo_options options =
        AXO_OPTIONS(.manual = 1, .actors_max = 1 + d.x, .workers = d.y * 2,
                    .quantum = (uint32_t)d.far, .threads = d.x > 240, .seed = 1, .name = d.text);
    axo_outcome outcome;
    axo_stats stats = {.size = (d.x & 1) != 0 ? 0 : sizeof stats + 8, .sent = 77};
    axo_asked asked;
    if (d.y % 4 == 1) /* an older header's, which had all that keeps it small */
        options.size = d.x % 3 == 0 ? d.x % 8 : offsetof(axo_options, clock);
    fuzz_require(axo_system_stats(NULL, &stats) == AXO_EINVAL && stats.sent == 77);
    if (stats.size == 0)
        fuzz_require(axo_system_stats(g.system, &stats) == AXO_EINVAL && stats.sent == 77);
    if (g.blocked)
        return;
    if (d.x < 32 && g.ctx == NULL) {
        axo_status status = axo_system_start(&options, &other);
        SYS(status, API_OK | API_EINVAL | API_BIT(AXO_EVERSION) | API_BIT(AXO_ENAME));
        fuzz_require((status == AXO_OK) == (other != NULL));
        if (other != NULL) {
            fuzz_require(axo_system_destroy(other) == AXO_ESTOPPING);
            fuzz_require(axo_system_stop(other, -1, NULL, 0, NULL) == AXO_OK);
            fuzz_require(axo_system_destroy(other) == AXO_OK);
        }
    }
    if (g.ctx != NULL) { /* who waits or ends the system is not a callback */
        fuzz_require(axo_system_stop(g.system, -1, NULL, 0, NULL) == AXO_ECONTEXT);
        fuzz_require(axo_system_wait(g.system, -1, &outcome) == AXO_ECONTEXT);
        fuzz_require(axo_system_destroy(g.system) == AXO_ECONTEXT);
        fuzz_require(axo_step_host(g.system, 1, NULL) == AXO_ECONTEXT);
        fuzz_require(axo_system_ask(g.system, g.refs[0], 1, NULL, 0, 1, &asked) != AXO_OK);
        return;
    }
    SYS(axo_system_wait(g.system, 0, &outcome), API_OK | API_BIT(AXO_ETIMEDOUT));
    SYS(axo_system_ask(g.system, axo_ref_none(), 1, NULL, 0, 1, &asked), API_EINVAL);
    fuzz_require(axo_system_spawn(NULL, NULL, NULL) == AXO_EINVAL);
    fuzz_require(axo_system_send(NULL, d.a, 1, NULL, 0) == AXO_EINVAL);
    fuzz_require(axo_system_start(&options, NULL) == AXO_EINVAL);
}

void system_broadcast(void)
{
    arguments d = arguments_draw();
    uint32_t tag = d.y > 200 ? AXO_TIMER_POISON + d.y % 2 : api_tag();
    size_t size = api_size();
    SYS(axo_system_router_broadcast(g.system, d.a, tag, api_payload(tag, size), size), API_SEND);
}

void system_letters(void)
{
    arguments d = arguments_draw();
    axo_dead_record records[4];
    uint64_t total = 77;
    uint32_t count = axo_system_dead_letters(g.system, records, d.x % 5, &total);
    fuzz_require(count <= d.x % 5 && count <= total);
    for (uint32_t i = 0; i < count; i++)
        fuzz_require(memchr(records[i].path, 0, sizeof records[i].path) != NULL);
    fuzz_require(axo_system_dead_letters(NULL, records, 1, &total) == 0 && total == 0);
}
