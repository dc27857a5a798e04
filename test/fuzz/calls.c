/* calls.c - the calls of fuzz_api that are a callback's. */
#include "fuzz/calls.h"

/* ---- arguments ---- */

static int64_t api_period(void)
{
    int64_t period = api_far();
    return period > 0 && period < 1000000 ? period + 1000000 : period;
}

static const char *api_text(uint8_t which)
{
    static const char *const texts[] = {
        "/",   "/user",  "/user/a", "/user/*",   "/*/*",   "a",  "../a",           "..",   "*",
        "./b", "a/../b", "",        "/system/*", "/user/", "$1", "/user/a/a/../b", "/?ser"};
    return which == 255 ? NULL : texts[which % PUPPET_COUNT(texts)];
}

static const char *api_key(uint8_t which)
{
    static const char *const keys[] = {"k", "l", "m", "n", "o", "p", "q", ""};
    return which == 255 ? NULL : keys[which % PUPPET_COUNT(keys)];
}

static uint32_t api_kind(uint8_t which)
{
    static const uint32_t kinds[] = {AXO_KIND_ALL,
                                     AXO_KIND_DEAD_LETTER,
                                     AXO_KIND_LIFECYCLE,
                                     AXO_KIND_STARTED,
                                     AXO_KIND_SUPERVISION,
                                     AXO_KIND_USER,
                                     AXO_KIND_USER + 0x10000,
                                     AXO_KIND_SERVICES,
                                     0xffffffff,
                                     AXO_KIND_UNHANDLED,
                                     AXO_KIND_LOG,
                                     AXO_KIND_ESCALATION};
    return kinds[which % PUPPET_COUNT(kinds)] + (which > 240 ? which % 8 : 0);
}

arguments arguments_draw(void)
{
    arguments d;
    d.x = api_u8();
    d.y = api_u8();
    d.ctx = api_ctx();
    d.a = api_ref();
    d.b = api_ref();
    d.far = api_far();
    d.period = api_period();
    d.text = api_text(d.y);
    d.key = api_key(d.y);
    d.kind = api_kind(d.y);
    return d;
}

/* ---- messages ---- */

void call_send(void)
{
    arguments d = arguments_draw();
    uint32_t tag = api_tag();
    size_t size = api_size();
    axo_ctx *ctx = d.ctx;
    const void *payload = api_u8() == 255 ? NULL : api_payload(tag, size);
    switch (d.x % 4) {
    case 0:
        CTX(axo_send_from(ctx, d.a, d.b, tag, payload, size), API_SEND);
        break;
    case 1:
        CTX(axo_reply(ctx, g.message, tag, payload, size), API_SEND);
        break;
    default:
        CTX(axo_send(ctx, d.a, tag, payload, size), API_SEND);
        break;
    }
}

void call_forward(void)
{
    arguments d = arguments_draw();
    axo_message other = {.tag = 1};
    const axo_message *message = api_u8() > 240 ? &other : g.message;
    CTX(axo_forward(d.ctx, message, d.a), API_SEND);
}

void call_take(void)
{
    arguments d = arguments_draw();
    axo_owned out = {.size = 77};
    const axo_message *message = g.message;
    axo_draft *draft;
    axo_status status = CTX(axo_message_take(d.ctx, message, &out), API_OK | API_EINVAL);
    if (status != AXO_OK) {
        fuzz_require(out.payload == NULL && out.size == 0 && out.destroy == NULL);
        return;
    }
    fuzz_require(message->payload == NULL && out.payload != NULL);
    fuzz_require(out.user == &g || message->tag >= AXO_TAG_SERVICES); /* or a service's */
    status = SYS(axo_message_owning(g.ctx, message->tag, &out, &draft),
                 API_OK | API_EINVAL | API_BIT(AXO_ENOMEM) | API_BIT(AXO_ETOOBIG));
    if (status != AXO_OK) {
        out.destroy(out.payload, out.user);
        return;
    }
    if (api_below(2) == 0) {
        axo_message_discard(g.ctx, draft);
    } else {
        status = axo_send_message(g.ctx, axo_self(g.ctx), draft);
        if (status == AXO_EFULL || status == AXO_ENOMEM)
            axo_message_discard(g.ctx, draft);
    }
}

void call_send_owned(void)
{
    arguments d = arguments_draw();
    uint32_t tag = api_tag();
    axo_owned owned = api_owned(tag);
    axo_status status = CTX(
        axo_send_owned(d.ctx, d.a, tag, owned.payload, owned.size, api_free_payload, &g), API_SEND);
    api_handed(status, &owned);
}

static void call_draft_end(axo_draft *draft)
{
    arguments d = arguments_draw();
    uint8_t how = api_u8();
    if ((how & 1) != 0)
        SYS(axo_draft_from(g.ctx, draft, d.a), API_OK | API_EINVAL);
    if ((how & 2) != 0)
        SYS(axo_draft_bind(g.ctx, draft, how >> 4), API_OK | API_EINVAL);
    axo_status status = AXO_EINVAL;
    if ((how & 12) != 0)
        status =
            SYS(axo_send_message(g.ctx, d.a, draft), API_OK | API_EINVAL | API_BIT(AXO_EGONE) |
                                                         API_BIT(AXO_EFULL) | API_BIT(AXO_ENOMEM));
    if (status != AXO_OK && status != AXO_EGONE)
        axo_message_discard(g.ctx, draft);
}

void call_draft(void)
{
    arguments d = arguments_draw();
    uint32_t tag = api_tag();
    size_t size = api_size();
    axo_draft *draft;
    void *payload;
    axo_status status = CTX(axo_message_new(d.ctx, tag, size, &draft, &payload),
                            API_OK | API_EINVAL | API_BIT(AXO_ETOOBIG) | API_BIT(AXO_ENOMEM));
    if (status != AXO_OK) {
        if (g.good)
            fuzz_require(draft == NULL && payload == NULL);
        return;
    }
    if (size > 0)
        memcpy(payload, api_payload(tag, size), size);
    call_draft_end(draft);
}

void call_draft_owning(void)
{
    arguments d = arguments_draw();
    uint32_t tag = api_tag();
    axo_owned owned = api_owned(tag);
    axo_draft *draft;
    axo_status status = CTX(axo_message_owning(d.ctx, tag, &owned, &draft),
                            API_OK | API_EINVAL | API_BIT(AXO_ETOOBIG) | API_BIT(AXO_ENOMEM));
    api_handed(status, &owned);
    if (status == AXO_OK)
        call_draft_end(draft);
}

void call_stash(void)
{
    arguments d = arguments_draw();
    switch (d.x % 4) {
    case 0:
        CTX(axo_unstash_all(d.ctx), API_OK);
        break;
    case 1:
        CTX(axo_unstash(d.ctx, d.y % 4), API_OK);
        break;
    default:
        CTX(axo_stash(d.ctx), API_OK | API_EINVAL | API_BIT(AXO_EFULL) | API_BIT(AXO_ENOMEM));
        break;
    }
    (void)axo_stash_count(d.ctx);
}

/* ---- life ---- */

void call_spawn(void)
{
    arguments d = arguments_draw();
    recipe it;
    const axo_props *props = recipe_draw(&it);
    axo_ref out = {.bits = 77};
    bool created = true;
    axo_status status;
    if (api_below(4) == 1) {
        status = CTX(axo_spawn_or_get(d.ctx, props, &out, &created), API_SPAWN);
        fuzz_require(status == AXO_OK || !created);
        fuzz_require(!it.newer || status != AXO_OK);
        api_keep(status == AXO_OK ? out : axo_ref_none());
        return;
    }
    status = CTX(axo_spawn(d.ctx, props, &out), API_SPAWN);
    fuzz_require((status == AXO_OK) == !axo_ref_is_none(out));
    fuzz_require(!it.newer || status != AXO_OK);
    if (props == NULL || it.props.cls == NULL || it.props.size == 0)
        fuzz_require(!g.good || status == AXO_EINVAL);
    api_keep(out);
}

void call_end(void)
{
    arguments d = arguments_draw();
    uint32_t allowed = API_OK | API_EINVAL | API_BIT(AXO_EGONE);
    switch (d.x % 4) {
    case 0:
        CTX(axo_stop(d.ctx, d.a), allowed);
        break;
    case 1:
        CTX(axo_stop_self(d.ctx), API_OK);
        break;
    case 2:
        CTX(axo_poison(d.ctx, d.a), API_SEND);
        break;
    default:
        CTX(axo_kill(d.ctx, d.a), API_SEND);
        break;
    }
}

void call_watch(void)
{
    arguments d = arguments_draw();
    uint32_t allowed = API_OK | API_EINVAL | API_BIT(AXO_ENOMEM);
    uint32_t tag = api_tag();
    size_t size = api_size();
    switch (d.x % 3) {
    case 0:
        CTX(axo_watch(d.ctx, d.a), allowed);
        break;
    case 1:
        CTX(axo_watch_with(d.ctx, d.a, tag, api_payload(tag, size), size),
            allowed | API_BIT(AXO_ETOOBIG));
        break;
    default:
        CTX(axo_unwatch(d.ctx, d.a), API_OK | API_EINVAL);
        break;
    }
}

void call_family(void)
{
    arguments d = arguments_draw();
    axo_ref some[4] = {{.bits = 0}};
    axo_ctx *ctx = d.ctx;
    uint32_t count = axo_child_count(ctx);
    uint32_t all = axo_children(ctx, some, api_below(5));
    if (!g.good) {
        fuzz_require(count == 0 && all == 0 && axo_instance(ctx) == 0 && axo_now(ctx) == 0);
        fuzz_require(axo_ref_is_none(axo_self(ctx)) && axo_ref_is_none(axo_parent(ctx)));
        fuzz_require(axo_ref_is_none(axo_sender(ctx)) && axo_system_of(ctx) == NULL);
        fuzz_require(axo_ref_is_none(axo_child(ctx, "a")) && axo_stash_count(ctx) == 0);
        return;
    }
    fuzz_require(count == all && axo_now(ctx) == g.now && axo_instance(ctx) > 0);
    for (uint32_t i = 0; i < 4; i++)
        api_keep(some[i]);
    (void)axo_child(ctx, api_u8() > 250 ? NULL : "a");
}

void call_path(void)
{
    arguments d = arguments_draw();
    char out[64];
    uint32_t size = api_below(sizeof out + 1);
    CTX(axo_path(d.ctx, d.a, out, size),
        API_OK | API_EINVAL | API_BIT(AXO_ECONTEXT) | API_BIT(AXO_EGONE) | API_BIT(AXO_ETOOBIG));
    if (size > 0)
        out[size - 1] = 0;
}

static void api_undo(void *arg)
{
    fuzz_require(arg == &g);
    g.undone++;
}

void call_own(void)
{
    arguments d = arguments_draw();
    size_t size = api_size();
    axo_ctx *ctx = d.ctx;
    uint8_t *memory = axo_alloc(ctx, size < 10000 ? size : 0);
    fuzz_require(memory == NULL || (g.good && size > 0));
    if (memory != NULL)
        memset(memory, 1, size);
    axo_status status = CTX(axo_defer(ctx, d.y > 250 ? NULL : api_undo, &g),
                            API_OK | API_EINVAL | API_BIT(AXO_ENOMEM));
    g.deferred += status == AXO_OK ? 1 : 0;
}

void call_become(void)
{
    arguments d = arguments_draw();
    if (api_below(2) == 0)
        CTX(axo_unbecome(d.ctx), API_OK);
    else
        CTX(axo_become(d.ctx, d.y > 250 ? NULL : puppet_receive),
            API_OK | API_EINVAL | API_BIT(AXO_ENOMEM));
}

void call_hook(void)
{
    arguments d = arguments_draw();
    CTX(axo_termination_hook(d.ctx),
        API_OK | API_EINVAL | API_BIT(AXO_ENOMEM) | API_BIT(AXO_ESTOPPING));
}

/* ---- time ---- */

void call_schedule(void)
{
    arguments d = arguments_draw();
    uint32_t tag = api_u8() > 240 ? AXO_TIMER_POISON + api_below(2) : api_tag();
    size_t size = api_size();
    const void *payload = api_payload(tag, size);
    axo_timer *out = &g.timers[api_below(TIMERS)];
    axo_ctx *ctx = d.ctx;
    switch (d.x % 4) {
    case 0:
        CTX(axo_schedule_once(ctx, d.far, d.a, tag, payload, size, out), CALL_TIMER);
        break;
    case 1:
        CTX(axo_schedule_fixed_delay(ctx, d.far, d.period, d.a, tag, payload, size, out),
            CALL_TIMER);
        break;
    case 2:
        CTX(axo_schedule_fixed_rate(ctx, d.far, d.period, d.a, tag, payload, size, out),
            CALL_TIMER);
        break;
    default:
        CTX(axo_send_after(ctx, d.far, d.a, tag, payload, size), CALL_TIMER);
        break;
    }
}

void call_timer(void)
{
    arguments d = arguments_draw();
    axo_timer timer = g.timers[api_below(TIMERS)];
    axo_ctx *ctx = d.ctx;
    if (api_u8() > 230)
        timer.bits ^= 1;
    bool waits = axo_timer_at_close(ctx, timer);
    if (api_below(2) == 0)
        fuzz_require(axo_timer_cancel(ctx, timer) == waits);
    fuzz_require(g.good || !waits);
}

void call_keyed(void)
{
    arguments d = arguments_draw();
    uint64_t key = api_below(3);
    uint32_t tag = api_tag();
    size_t size = api_size();
    axo_ctx *ctx = d.ctx;
    axo_status status;
    switch (d.x % 4) {
    case 0:
        status = CTX(axo_timer_stop(ctx, key), API_OK | API_BIT(AXO_ENOENT));
        fuzz_require(!axo_timer_active(ctx, key));
        break;
    case 1:
        CTX(axo_receive_timeout(ctx, d.far), API_OK | API_EINVAL | API_BIT(AXO_ENOMEM));
        break;
    default:
        status = CTX(axo_timer_start(ctx, key, (axo_timer_kind)d.y % 4, d.far, d.period, tag,
                                     api_payload(tag, size), size),
                     CALL_TIMER);
        fuzz_require(status != AXO_OK || axo_timer_active(ctx, key));
        break;
    }
    (void)status;
}

/* ---- names, events, looking ---- */

void call_find(void)
{
    arguments d = arguments_draw();
    axo_ref out[3] = {{.bits = 0}};
    uint32_t count = 77;
    uint32_t tag = api_tag();
    uint32_t named = API_OK | API_EINVAL | API_BIT(AXO_ENAME);
    axo_ctx *ctx = d.ctx;
    axo_status status;
    switch (d.x % 3) {
    case 0:
        status = CTX(axo_find(ctx, d.text, out), named | API_BIT(AXO_ENOENT));
        fuzz_require((status == AXO_OK) == !axo_ref_is_none(out[0]));
        break;
    case 1:
        status = CTX(axo_find_all(ctx, d.text, out, d.y % 4, &count), named);
        fuzz_require(status == AXO_OK || count == 0);
        break;
    default:
        CTX(axo_select(ctx, d.text, tag, api_payload(tag, 8), 8, &count),
            named | API_BIT(AXO_EGONE) | API_BIT(AXO_ENOMEM));
        break;
    }
    api_keep(out[0]);
}

void call_register(void)
{
    arguments d = arguments_draw();
    if (api_below(2) == 0)
        CTX(axo_register(d.ctx, d.key, d.a), CALL_KEY);
    else
        CTX(axo_unregister(d.ctx, d.key),
            API_OK | API_EINVAL | API_BIT(AXO_ENOENT) | API_BIT(AXO_ENAME));
}

void call_event(void)
{
    arguments d = arguments_draw();
    size_t size = api_size();
    switch (d.x % 3) {
    case 0:
        CTX(axo_subscribe(d.ctx, d.a, d.kind), CALL_SUBSCRIBE);
        break;
    case 1:
        CTX(axo_unsubscribe(d.ctx, d.a, d.kind), CALL_UNSUBSCRIBE);
        break;
    default:
        CTX(axo_publish(d.ctx, d.kind, api_payload(0, size), size),
            API_OK | API_EINVAL | API_BIT(AXO_ETOOBIG));
        break;
    }
}

void call_drop(void)
{
    arguments d = arguments_draw();
    CTX(axo_drop(d.ctx, g.message, d.a, d.y > 128 ? "why" : NULL), API_OK | API_EINVAL);
}

void call_inspect(void)
{
    arguments d = arguments_draw();
    struct {
        axo_actor_info info;
        uint8_t tail[16];
    } it, before;
    static const size_t sizes[] = {sizeof it.info, sizeof it.info, 0, 8, 40, sizeof it};
    memset(&it, 0x5a, sizeof it);
    it.info.size = sizes[api_below(PUPPET_COUNT(sizes))];
    before = it;
    size_t size = it.info.size;
    axo_status status = CTX(axo_inspect(d.ctx, d.a, d.b, &it.info),
                            API_OK | API_EINVAL | API_BIT(AXO_EGONE) | API_BIT(AXO_EVERSION));
    bool written = status == AXO_OK || status == AXO_EGONE;
    size_t from = written ? size : 0;
    fuzz_require(memcmp((char *)&it + from, (char *)&before + from, sizeof it - from) == 0);
}

/* ---- services ---- */

#define CALL_ASK (API_SEND | API_BIT(AXO_ELIMIT) | API_BIT(AXO_ESTOPPING))

void call_ask(void)
{
    arguments d = arguments_draw();
    uint32_t tag = api_tag();
    size_t size = api_size();
    axo_ctx *ctx = d.ctx;
    axo_ref out = axo_ref_none();
    if (api_below(3) == 0)
        CTX(axo_promise(ctx, d.far, 5, &out), CALL_ASK);
    else
        CTX(axo_ask(ctx, d.a, tag, api_payload(tag, size), size, d.far, d.y), CALL_ASK);
    api_keep(out);
}

void call_graceful(void)
{
    arguments d = arguments_draw();
    static const size_t sizes[] = {sizeof(axo_farewell), 0, 8};
    axo_farewell how = {.size = sizes[d.x % 3], .kind = d.x / 4 % 4, .tag = api_tag()};
    axo_farewell *given = d.x > 128 ? &how : NULL;
    CTX(axo_graceful_stop(d.ctx, d.a, given, d.far, d.y), CALL_ASK | API_BIT(AXO_EVERSION));
}

static uint64_t call_hash(const axo_message *message, void *user)
{
    return message->tag;
}

static axo_status call_router_props(axo_props *props)
{
    arguments d = arguments_draw();
    static axo_router router;
    static axo_ref routees[3];
    static const axo_resizer resizer = AXO_RESIZER(.routees_max = 4, .messages = 2);
    static const axo_props child =
        AXO_PROPS(.cls = &puppet_classes[1], .args = "args", .args_size = 5);
    static const char *const paths[] = {"/user/a", "/user/b"};
    uint8_t shape = api_u8();
    router = (axo_router)AXO_ROUTER(.logic = (axo_router_logic)(shape % 7));
    if ((shape & 0x80) != 0) {
        router.child = &child;
        router.pool = api_below(4);
        router.resizer = (shape & 0x40) != 0 ? &resizer : NULL;
        router.strategy = (shape & 0x20) != 0 ? &puppet_strategies[api_below(12)] : NULL;
    } else {
        for (uint32_t i = 0; i < 3; i++)
            routees[i] = api_ref();
        router.routees = routees;
        router.routees_count = api_below(4);
        router.paths = paths;
        router.paths_count = api_below(3);
    }
    if (shape % 7 == AXO_ROUTE_HASH) {
        router.hash_key = call_hash;
        router.virtual_nodes = api_below(3);
    }
    if (shape % 7 == AXO_ROUTE_GATHER_FIRST)
        router.within_ns = d.far;
    if (api_u8() > 250)
        router.size = api_below(2) * 8;
    return SYS(axo_router_props(&router, NULL, props), API_OK | API_EINVAL | API_BIT(AXO_EVERSION));
}

static axo_status call_keeper_props(axo_props *props)
{
    static axo_backoff_supervisor keeper;
    static const axo_props child =
        AXO_PROPS(.cls = &puppet_classes[0], .args = "args", .args_size = 5, .name = "kept");
    uint8_t shape = api_u8();
    keeper = (axo_backoff_supervisor)
        AXO_BACKOFF_SUPERVISOR(.child = &child, .backoff = &puppet_backoffs[shape % 3],
                               .when = (axo_backoff_when)(shape / 4 % 3),
                               .absent = (axo_backoff_absent)(shape / 16 % 4), .absent_tag = 3,
                               .decider = (shape & 8) != 0 ? puppet_decide : NULL);
    if (keeper.absent == AXO_ABSENT_STAND_IN)
        keeper.stand_in = api_ref();
    keeper.limited = api_below(2);
    keeper.retries_max = (int32_t)api_below(3);
    return SYS(axo_backoff_supervisor_props(&keeper, NULL, props),
               API_OK | API_EINVAL | API_BIT(AXO_EVERSION));
}

void call_service(void)
{
    axo_props props;
    axo_props before;
    axo_ref out = axo_ref_none();
    memset(&props, 0x5a, sizeof props);
    before = props;
    axo_status status = api_below(2) == 0 ? call_router_props(&props) : call_keeper_props(&props);
    if (status != AXO_OK) {
        fuzz_require(memcmp(&props, &before, sizeof props) == 0);
        return;
    }
    arguments d = arguments_draw(); /* here: the props have drawn theirs */
    if (g.ctx != NULL && api_below(2) == 0)
        CTX(axo_spawn(d.ctx, &props, &out), API_SPAWN);
    else
        SYS(axo_system_spawn(g.system, &props, &out), API_SPAWN);
    api_keep(out);
}

void call_broadcast(void)
{
    arguments d = arguments_draw();
    uint32_t tag = api_u8() > 200 ? AXO_TIMER_POISON + api_below(2) : api_tag();
    size_t size = api_size();
    CTX(axo_router_broadcast(d.ctx, d.a, tag, api_payload(tag, size), size), API_SEND);
}

void call_machine(void)
{
    arguments d = arguments_draw();
    axo_machine nothing = {.table = NULL};
    axo_ctx *ctx = d.ctx;
    fuzz_require(axo_machine_current(&nothing) == UINT32_MAX);
    CTX(axo_machine_goto(ctx, &nothing, d.y % 4), API_EINVAL | API_BIT(AXO_ENOENT));
    CTX(axo_machine_stay(ctx, &nothing), API_EINVAL | API_BIT(AXO_ENOENT));
}
