/* fuzz_service.c - malformed and forged messages to the actors behind the services.
 *
 * Length 900. Asks, promises, graceful stops, calls, plans, back-off supervisors, routers,
 * gatherers, machines and probes, on the test kit's clock; among them strangers who send every tag
 * of the services' own, with any payload, in anybody's name, straight, by routers, by timers and by
 * who forwards. Memory is refused now and then. Nothing crashes; what was promised comes once, and
 * no deadline before its time; in the end all messages, payloads and memory are accounted for.
 */
#include "fuzz/fuzz.h"

#include <axo/axo.h>

#include "pattern/call.h"

enum { REFS = 24, CALLS = 6, OPS_MAX = 500, DO = 1, NOTE = 2, RELAY = 3, PROMISED = 64 };
#define MS INT64_C(1000000)

typedef struct service_world {
    fuzz_in in;
    axo_testkit *kit;
    axo_system *system;
    axo_ref host;
    axo_probe *probe;
    axo_phases *phases;
    axo_ref refs[REFS];
    uint32_t next_ref;
    axo__call *calls[CALLS];
    axo_ref callers[CALLS];
    uint32_t call_count;
    uint64_t promised;                 /* what the host is to be told; its number is the id */
    uint64_t told;
    int64_t until[PROMISED];           /* since when it may be said that it is late */
    bool over[PROMISED];
    uint64_t handed;
    uint64_t freed;
    uint32_t ops;
    bool calm;
} service_world;

static service_world g;

static uint8_t in_u8(void)
{
    return fuzz_u8(&g.in);
}

static void keep(axo_ref ref)
{
    if (!axo_ref_is_none(ref))
        g.refs[g.next_ref++ % REFS] = ref;
}

static axo_ref some_ref(void)
{
    return g.refs[in_u8() % REFS];
}

/* Like any that there is, or nearly. */
static axo_ref some_sender(axo_ref to)
{
    uint8_t which = in_u8();
    switch (which % 8) {
    case 0:
        return axo_ref_none();
    case 1:
    case 2:
        return to;
    case 3:
        return (axo_ref){.bits = to.bits | UINT64_C(1) << 63};
    case 4:
        return (axo_ref){.bits = to.bits ^ UINT64_C(1) << (which >> 3)};
    case 5:
        return (axo_ref){.bits = fuzz_u64(&g.in)};
    default:
        return some_ref();
    }
}

/* ---- the host: it asks, and is told ---- */

static void host_told(uint64_t id, axo_status status)
{
    fuzz_require(id < g.promised && id < PROMISED && !g.over[id]);
    fuzz_require(status != AXO_ETIMEDOUT || axo_testkit_now(g.kit) >= g.until[id]);
    g.over[id] = true;
    g.told++;
}

static void host_asks(axo_ctx *ctx)
{
    uint8_t how = in_u8();
    axo_ref to = some_ref();
    axo_ref out = axo_ref_none();
    int64_t timeout = (1 + in_u8()) * 4 * MS;
    uint64_t id = g.promised;
    axo_farewell farewell = AXO_FAREWELL(.kind = how >> 4 & 3, .tag = NOTE);
    axo_status status = AXO_EINVAL;
    if (id >= PROMISED)
        return;
    if (how % 4 == 0)
        status = axo_promise(ctx, timeout, id, &out);
    else if (how % 4 == 1 && !axo_ref_is_none(to) && !axo_ref_equal(to, g.host))
        status = axo_graceful_stop(ctx, to, &farewell, timeout, id);
    else if (!axo_ref_equal(to, g.host))
        status = axo_ask(ctx, to, NOTE, NULL, 0, timeout, id);
    if (status != AXO_OK)
        return;
    g.until[id] = axo_testkit_now(g.kit) + timeout;
    g.promised++;
    if (axo_children(ctx, &out, 1) > 0)
        keep(out);
}

/* What is the services', they are told as it is; a relay passes it on. */
static axo_status host_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    if (message->tag == AXO_ASK_ANSWER)
        host_told(AXO_PAYLOAD(message, axo_answer)->id, AXO_OK);
    else if (message->tag == AXO_ASK_FAILED || message->tag == AXO_STOP_ENDED)
        host_told(AXO_PAYLOAD(message, axo_verdict)->id,
                  AXO_PAYLOAD(message, axo_verdict)->status);
    else if (message->tag == DO && !g.calm)
        host_asks(ctx);
    return AXO_OK;
}

static const axo_class host_class = AXO_CLASS(.name = "host", .receive = host_receive);
static const axo_strategy host_strategy = AXO_STRATEGY(.decider = axo_decide_restart);

/* ---- others ---- */

/* Forwards what it gets, answers, or is silent; its restarts are its parent's affair. */
static axo_status other_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    uint8_t how = g.calm ? 0 : in_u8();
    axo_ref to = some_ref();
    switch (how % 8) {
    case 1:
    case 2:
        if (!axo_ref_equal(to, g.host))
            (void)axo_forward(ctx, message, to);
        return AXO_OK;
    case 3:
        (void)axo_reply(ctx, message, NOTE, "answer", 7);
        return AXO_OK;
    case 4:
        return axo_fail(ctx, how, "as drawn");
    case 5:
        return axo_stop_self(ctx);
    case 6:
        keep(message->sender);
        return AXO_OK;
    default:
        return AXO_UNHANDLED;
    }
}

static const axo_class other_class = AXO_CLASS(.name = "other", .receive = other_receive);
static const axo_props other_props = AXO_PROPS(.cls = &other_class);

/* A machine that looks whether a state has lasted. */
typedef struct clockwork {
    axo_machine machine;
    int64_t entered;
} clockwork;

static axo_status clockwork_entry(axo_ctx *ctx, void *state)
{
    ((clockwork *)state)->entered = axo_now(ctx);
    return AXO_OK;
}

static axo_status clockwork_state(axo_ctx *ctx, void *state, const axo_message *message)
{
    clockwork *me = state;
    if (message->tag == AXO_STATE_TIMEOUT) {
        fuzz_require(axo_machine_current(&me->machine) == 0);
        fuzz_require(axo_now(ctx) - me->entered >= 50 * MS);
    }
    return axo_machine_goto(ctx, &me->machine, 1 - axo_machine_current(&me->machine));
}

static const axo_machine_state clockwork_states[] = {
    {.receive = clockwork_state, .on_entry = clockwork_entry, .timeout_ns = 50 * MS},
    {.receive = clockwork_state, .on_entry = clockwork_entry},
};
static const axo_machine_table clockwork_table = AXO_MACHINE_TABLE(clockwork_states, 0);

static axo_status clockwork_start(axo_ctx *ctx, void *state)
{
    return axo_machine_start(ctx, &((clockwork *)state)->machine, &clockwork_table, state);
}

static axo_status clockwork_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    return axo_machine_receive(ctx, &((clockwork *)state)->machine, state, message);
}

static const axo_class clockwork_class =
    AXO_CLASS(.name = "clockwork", .state_size = sizeof(clockwork), .pre_start = clockwork_start,
              .receive = clockwork_receive);

/* ---- services ---- */

static uint64_t hash_key(const axo_message *message, void *user)
{
    return message->tag;
}

static axo_status make_router(uint8_t how, axo_props *props)
{
    static const axo_resizer resizer =
        AXO_RESIZER(.routees_min = 1, .routees_max = 4, .interval_ns = 30 * MS, .messages = 5);
    static const char *const paths[] = {"/user/probe"};
    static axo_router settings;
    uint8_t logic = how % 6;
    settings = (axo_router)AXO_ROUTER(.logic = (axo_router_logic)logic);
    if (logic == AXO_ROUTE_HASH)
        settings.hash_key = hash_key;
    if (logic == AXO_ROUTE_GATHER_FIRST)
        settings.within_ns = 40 * MS;
    if ((how & 0x20) != 0) {
        settings.pool = 1 + how % 3;
        settings.child = &other_props;
        settings.resizer = (how & 0x40) != 0 ? &resizer : NULL;
    } else {
        settings.paths = paths;
        settings.paths_count = 1;
    }
    return axo_router_props(&settings, NULL, props);
}

static axo_status make_keeper(uint8_t how, axo_props *props)
{
    static const axo_backoff delays = AXO_BACKOFF(.min_ns = 20 * MS, .max_ns = 200 * MS);
    static axo_backoff_supervisor settings;
    settings = (axo_backoff_supervisor)AXO_BACKOFF_SUPERVISOR(
        .child = &other_props, .backoff = &delays, .when = (axo_backoff_when)(how & 1));
    if ((how & 1) == 0)
        settings.within_ns = (how & 2) != 0 ? 60 * MS : 0;
    settings.absent = (how & 4) != 0 ? AXO_ABSENT_REPLY : AXO_ABSENT_DEAD_LETTER;
    settings.manual_reset = how >> 3 & 1;
    return axo_backoff_supervisor_props(&settings, NULL, props);
}

static void op_spawn(void)
{
    uint8_t which = in_u8();
    uint8_t how = in_u8();
    axo_props props = other_props;
    axo_ref ref;
    axo_status status = AXO_OK;
    if (which % 4 == 0)
        status = make_router(how, &props);
    else if (which % 4 == 1)
        status = make_keeper(how, &props);
    else if (which % 4 == 2)
        props = (axo_props)AXO_PROPS(.cls = &clockwork_class);
    fuzz_require(status == AXO_OK);
    if (axo_system_spawn(g.system, &props, &ref) == AXO_OK)
        keep(ref);
}

/* A call, as a thread would make it that does not wait. */
static void op_call(void)
{
    axo__wait wait = {.kind = (in_u8() & 1) != 0 ? AXO__WAIT_STOP : AXO__WAIT_ASK,
                      .farewell = AXO_FAREWELL_MESSAGE, .target = some_ref(),
                      .timeout_ns = 1, .since_ns = axo_testkit_now(g.kit)};
    if (g.call_count == CALLS || axo_ref_is_none(wait.target))
        return;
    uint32_t i = g.call_count;
    if (axo__call_open(g.system, &wait, &g.calls[i], &g.callers[i]) != AXO_OK)
        return;
    keep(g.callers[i]);
    g.call_count++;
}

static void op_plan(void)
{
    axo_phase phase = AXO_PHASE(.name = "a", .timeout_ns = 1);
    if (g.phases != NULL || axo_phases_new(g.system, &g.phases) != AXO_OK)
        return;
    if (axo_phases_add(g.phases, &phase) == AXO_OK)
        (void)axo_phases_start(g.phases);
}

/* ---- strangers ---- */

static void stranger_free(void *payload, void *user)
{
    fuzz_require(user == &g);
    free(payload);
    g.freed++;
}

static uint32_t stranger_tag(void)
{
    static const uint8_t inner[] = {0x03, 0x04, 0x11, 0x12, 0x25, 0x26, 0x27, 0x3e, 0x3f, 0x50,
                                    0x60, 0x20, 0x21, 0x22, 0x30, 0x31, 0x32, 0x33, 0x34};
    uint8_t which = in_u8();
    if (which >= 0xf0)
        return which % 4;
    if (which >= 0xe0)
        return AXO_TAG_SERVICES + in_u8();
    return AXO_TAG_SERVICES + inner[which % sizeof inner];
}

/* Bytes of the input, references, small numbers, heads of broadcasts. */
static size_t stranger_payload(uint32_t tag, uint8_t *bytes, size_t room)
{
    static const uint8_t sizes[] = {0, 1, 3, 4, 5, 7, 8, 9, 15, 16, 17, 24, 40, 64, 96, 128};
    size_t size = sizes[in_u8() % sizeof sizes];
    fuzz_require(size <= room);
    memset(bytes, 0xee, room);
    /* No router is a routee: two of them would send to one another for ever. */
    axo_ref ref = tag == AXO_ROUTER_REMOVE ? some_ref() : axo_probe_ref(g.probe);
    int32_t change = (int32_t)(in_u8() % 9) - 4;
    axo_router_wrapped head = {.tag = stranger_tag(), .size = in_u8()};
    switch (in_u8() % 4) {
    case 0:
        memcpy(bytes, &ref, sizeof ref);
        break;
    case 1:
        memcpy(bytes, &change, sizeof change);
        break;
    case 2:
        if (size >= sizeof head && (head.size & 1) == 0)
            head.size = (uint32_t)(size - sizeof head);
        memcpy(bytes, &head, sizeof head);
        break;
    default:
        bytes[0] = in_u8();
        break;
    }
    return size;
}

static void stranger_hands(axo_ref to, uint32_t tag, const uint8_t *bytes, size_t size)
{
    void *block = malloc(size > 0 ? size : 1); /* nothing behind it may be read */
    fuzz_require(block != NULL);
    memcpy(block, bytes, size);
    axo_status status =
        axo_system_send_owned(g.system, to, tag, block, size, stranger_free, &g);
    if (status == AXO_OK || status == AXO_EGONE)
        g.handed++;
    else
        free(block);
}

static void op_forge(void)
{
    uint8_t bytes[128];
    axo_ref to = some_ref();
    uint32_t tag = stranger_tag();
    size_t size = stranger_payload(tag, bytes, sizeof bytes);
    uint8_t how = in_u8();
    bool to_host = axo_ref_equal(to, g.host); /* it believes what is said to come from its asks */
    if (axo_ref_is_none(to) || (to_host && tag >= AXO_TAG_SERVICES))
        return;
    if (how % 4 == 0)
        stranger_hands(to, tag, bytes, size);
    else if (how % 4 == 1)
        (void)axo_system_schedule_once(g.system, in_u8() * MS, to, tag, bytes, size, NULL);
    else
        (void)axo_system_send_from(g.system, some_sender(to), to, tag, bytes, size);
}

static void op_strike(void)
{
    axo_ref to = some_ref();
    uint8_t how = in_u8();
    if (axo_ref_is_none(to) || axo_ref_equal(to, g.host) ||
        axo_ref_equal(to, axo_probe_ref(g.probe)))
        return;
    if (how % 4 == 0)
        (void)axo_system_kill(g.system, to);
    else if (how % 4 == 1)
        (void)axo_system_fail(g.system, to, AXO_FAILURE_ORDINARY, 1);
    else if (how % 4 == 2)
        (void)axo_system_stop_actor(g.system, to);
    else if (axo_system_subscribe(g.system, to, AXO_KIND_USER) == AXO_OK)
        (void)axo_system_publish(g.system, AXO_KIND_USER, &how, 1);
}

static void op_probe(void)
{
    axo_ref ref = some_ref();
    if ((in_u8() & 1) != 0)
        (void)axo_probe_receive(g.probe, 0);
    else if (!axo_ref_equal(ref, axo_probe_ref(g.probe)))
        (void)axo_probe_watch(g.probe, ref);
}

/* ---- an input ---- */

static void service_open(const uint8_t *data, size_t size)
{
    axo_options options = AXO_OPTIONS(.actors_max = 96, .failure_texts = 4, .dead_letters_kept = 4,
                                      .registry_max = 8);
    axo_props props = AXO_PROPS(.cls = &host_class, .name = "host", .strategy = &host_strategy);
    memset(&g, 0, sizeof g);
    g.in = (fuzz_in){.at = data, .left = size};
    options.quantum = in_u8() % 4;
    fuzz_require(axo_testkit_start(&options, &g.kit) == AXO_OK);
    g.system = axo_testkit_system(g.kit);
    g.probe = axo_probe_new(g.kit, "probe");
    fuzz_require(g.probe != NULL);
    fuzz_require(axo_system_spawn(g.system, &props, &g.host) == AXO_OK);
    keep(axo_probe_ref(g.probe));
    keep(g.host);
    (void)axo_testkit_run(g.kit);
}

static void service_op(uint8_t op)
{
    if (op >= 0xf0)
        (void)axo_testkit_advance(g.kit, in_u8() * MS);
    else if (op >= 0xe0)
        axo_testkit_fail_memory(g.kit, op % 8, in_u8() % 16);
    else if (op >= 0xd0)
        (void)axo_testkit_step(g.kit, 1 + op % 8);
    else if (op >= 0xc0)
        (void)axo_system_send(g.system, g.host, DO, NULL, 0);
    else if (op >= 0xb0)
        op_spawn();
    else if (op >= 0xa0)
        op_strike();
    else if (op >= 0x98)
        op_call();
    else if (op >= 0x94)
        op_plan();
    else if (op >= 0x90)
        op_probe();
    else
        op_forge();
}

/* Messages that go round and round make no turn the last one. */
static void service_settle(int64_t ns)
{
    int64_t until = axo_testkit_now(g.kit) + ns;
    g.calm = true;
    axo_testkit_fail_memory(g.kit, 0, 0);
    for (uint32_t i = 0; axo_testkit_step(g.kit, 64) > 0; i++)
        fuzz_require(i < 20000);
    (void)axo_testkit_advance(g.kit, until - axo_testkit_now(g.kit));
}

static void service_end(void)
{
    service_settle(5000 * MS);
    fuzz_require(g.told == g.promised);
    for (uint32_t i = 0; i < g.call_count; i++) {
        (void)axo__call_give_up(g.calls[i], g.callers[i], AXO_ETIMEDOUT);
        axo__call_drop(g.calls[i]);
    }
    service_settle(0);
    fuzz_require(axo_phases_free(g.phases) == AXO_OK);
    if (axo_testkit_stop(g.kit) != AXO_OK)
        fuzz_fail("%s", axo_testkit_why(g.kit));
    fuzz_require(g.freed == g.handed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    service_open(data, size);
    while (g.in.left > 0 && g.ops++ < OPS_MAX)
        service_op(in_u8());
    service_end();
    return 0;
}
