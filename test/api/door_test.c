/* door_test.c - what every door says in one way of structs of other sizes. The headers say which
 * there are, so that no new one is forgotten. Contexts: door_context_test.c. */
#include <sys/socket.h>
#include <unistd.h>

#include "api/door.h"

/* ---- structs with a size ---- */

enum { DOOR_TAIL = 24, DOOR_ROOM = 1024 };

/* A struct as an older, this, or a newer header has it; the size is its first member. */
typedef union door_struct {
    max_align_t align;
    size_t size;
    unsigned char bytes[DOOR_ROOM];
} door_struct;

static struct {
    sv_host host;
    axo_phases *phases;
    axo_ctx *ctx;
    uint32_t names;
} door;

static axo_status door_options(const void *given)
{
    axo_system *system;
    axo_status status = axo_system_start(given, &system);
    if (status != AXO_OK)
        return status;
    while (axo_system_stop(system, 0, NULL, 0, NULL) != AXO_OK)
        continue;
    return axo_system_destroy(system);
}

static axo_status door_kit(const void *given)
{
    axo_testkit *kit;
    axo_status status = axo_testkit_start(given, &kit);
    return status == AXO_OK ? axo_testkit_stop(kit) : status;
}

static axo_status door_props(const void *given)
{
    axo_ref ref;
    return axo_system_spawn(door.host.system, given, &ref);
}

static axo_status door_props_inside(const void *given)
{
    axo_ref ref;
    return axo_spawn(door.ctx, given, &ref);
}

static axo_status door_props_or_get(const void *given)
{
    axo_ref ref;
    bool created;
    axo_status status = axo_system_spawn_or_get(door.host.system, given, &ref, &created);
    return status == AXO_EEXIST ? AXO_OK : status; /* from the second on */
}

static axo_status door_props_or_get_inside(const void *given)
{
    axo_ref ref;
    bool created;
    axo_status status = axo_spawn_or_get(door.ctx, given, &ref, &created);
    return status == AXO_EEXIST ? AXO_OK : status;
}

/* What is kept as a pointer stays, with all that may lie behind it. */
static const void *door_keep_valid(const void *given)
{
    static door_struct kept[32];
    static uint32_t count;
    door_struct *copy = &kept[count++ % 32];
    *copy = *(const door_struct *)given;
    return copy;
}

static axo_status door_class(const void *given)
{
    axo_props props = AXO_PROPS(.cls = door_keep_valid(given));
    return door_props(&props);
}

static axo_status door_strategy(const void *given)
{
    axo_props props = AXO_PROPS(.cls = &sv_class, .args = &(sv_host *){&door.host},
                                .args_size = sizeof(sv_host *),
                                .strategy = door_keep_valid(given));
    return door_props(&props);
}

static axo_status door_mailbox(const void *given)
{
    axo_props props = AXO_PROPS(.cls = &sv_class, .args = &(sv_host *){&door.host},
                                .args_size = sizeof(sv_host *), .mailbox = given);
    return door_props(&props);
}

static axo_status door_backoff(const void *given)
{
    return axo_backoff_check(given);
}

static axo_status door_stats(const void *given)
{
    return axo_system_stats(door.host.system, (void *)(uintptr_t)given);
}

static axo_status door_health(const void *given)
{
    return axo_health(door.host.system, INT64_MAX, (void *)(uintptr_t)given);
}

static axo_status door_info(const void *given)
{
    return axo_system_inspect(door.host.system, door.host.ref, axo_ref_none(),
                              (void *)(uintptr_t)given);
}

static axo_status door_info_inside(const void *given)
{
    return axo_inspect(door.ctx, door.host.ref, axo_ref_none(), (void *)(uintptr_t)given);
}

static axo_status door_farewell(const void *given)
{
    axo_status status = axo_system_graceful_stop(door.host.system, (axo_ref){.bits = 1}, given,
                                                 SV_MS, NULL);
    return status == AXO_EGONE ? AXO_OK : status;
}

static axo_status door_farewell_inside(const void *given)
{
    return axo_graceful_stop(door.ctx, (axo_ref){.bits = 1}, given, SV_S, 1);
}

static axo_status door_record(const void *given)
{
    char out[AXO_LOG_LINE_MAX];
    axo_status text = axo_log_text(given, out, sizeof out);
    return axo_log_json(given, out, sizeof out) == text ? text : AXO_EFAILED;
}

/* The door writes into the program's struct: here into a copy. */
static axo_status door_sink(const void *given)
{
    door_struct copy;
    memcpy(&copy, given, sizeof copy);
    axo_status status = axo_log_open((axo_log_sink *)(void *)&copy);
    if (status == AXO_OK)
        axo_log_close((axo_log_sink *)(void *)&copy);
    return status;
}

static axo_status door_phase(const void *given)
{
    axo_status status = axo_phases_add(door.phases, given);
    return status == AXO_EEXIST || status == AXO_ENAME ? AXO_OK : status;
}

/* An older one names no actor: that is another matter. */
static axo_status door_task(const void *given)
{
    axo_status status = axo_phases_task(door.phases, given, NULL);
    bool older = ((const axo_task *)given)->size < sizeof(axo_task);
    return older && ((const axo_task *)given)->size >= sizeof(size_t) && status == AXO_ENAME
               ? AXO_OK
               : status;
}

static axo_status door_spawn(axo_status status, const axo_props *props)
{
    axo_ref ref;
    if (status != AXO_OK)
        return status;
    status = axo_system_spawn(door.host.system, props, &ref);
    (void)axo_testkit_run(door.host.kit);
    if (status == AXO_OK && axo_system_stop_actor(door.host.system, ref) == AXO_EGONE)
        return AXO_EFAILED; /* it has not started */
    return status;
}

static axo_status door_keeper(const void *given)
{
    axo_props props;
    return door_spawn(axo_backoff_supervisor_props(given, NULL, &props), &props);
}

static axo_status door_router(const void *given)
{
    axo_props props;
    return door_spawn(axo_router_props(given, NULL, &props), &props);
}

static axo_status door_listener(const void *given)
{
    axo_props props;
    return door_spawn(axo_listener_props(given, NULL, &props), &props);
}

static axo_status door_resizer(const void *given)
{
    static const axo_class mute = AXO_CLASS(.receive = sv_receive);
    static const axo_props child = AXO_PROPS(.cls = &mute);
    axo_router settings = AXO_ROUTER(.pool = 1, .child = &child, .resizer = given);
    return door_router(&settings);
}

static axo_status door_table(const void *given)
{
    axo_machine machine = {.table = NULL};
    return axo_machine_start(door.ctx, &machine, given, NULL);
}

/* A stream for the length of a call. */
static axo_status door_open(const axo_stream_settings *settings, axo_stream_info *info)
{
    int fds[2];
    axo_stream *stream;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    axo_status status = axo_stream_open(door.ctx, fds[0], settings, &stream);
    if (status == AXO_OK && info != NULL)
        status = axo_stream_look(door.ctx, stream, info);
    if (stream != NULL)
        assert_int_equal(axo_stream_close(door.ctx, stream, 0), AXO_OK);
    else
        assert_int_equal(close(fds[0]), 0);
    assert_int_equal(close(fds[1]), 0);
    return status;
}

static axo_status door_stream(const void *given)
{
    return door_open(given, NULL);
}

static axo_status door_stream_info(const void *given)
{
    return door_open(NULL, (axo_stream_info *)(uintptr_t)given);
}

static axo_status door_demand_info(const void *given)
{
    return axo_demand_look(door.ctx, (axo_demand_info *)(uintptr_t)given);
}

static axo_status door_send(void *user, axo_ref to, const axo_message *message)
{
    return AXO_EGONE;
}

static void door_watch(void *user, axo_ref target)
{
}

static void door_ended(void *user, uint32_t number, const axo_terminated *end)
{
}

static const axo_node door_there = {.name = "there", .incarnation = 1};
static const axo_remote door_good_remote =
    AXO_REMOTE(.here = {.name = "here", .incarnation = 1}, .send = door_send, .watch = door_watch,
               .unwatch = door_watch, .terminated = door_ended);
static const axo_remote_message door_good_remote_message =
    AXO_REMOTE_MESSAGE(.to = {.bits = 1}, .tag = 1);

static axo_status door_remote(const void *given)
{
    axo_options options = AXO_OPTIONS(.workers = 1, .remote = given);
    return door_options(&options);
}

/* By a node of a system that is there for the call. */
static axo_status door_remote_message(const void *given)
{
    axo_options options = AXO_OPTIONS(.manual = AXO_MANUAL_ALL, .remote = &door_good_remote);
    axo_system *system;
    uint32_t number;
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    assert_int_equal(axo_remote_add(system, &door_there, &number), AXO_OK);
    axo_status status = axo_remote_deliver(system, number, given);
    assert_int_equal(axo_system_stop(system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
    return status;
}

static const axo_machine_state door_states[] = {{.receive = sv_receive}};
static const axo_class door_mute = AXO_CLASS(.receive = sv_receive);
static const axo_props door_child = AXO_PROPS(.cls = &door_mute);
static const axo_props door_named = AXO_PROPS(.cls = &door_mute, .name = "named");
static const axo_backoff door_delays = AXO_BACKOFF(.min_ns = 1, .max_ns = 2);
static axo_ref door_routees[1];
static const axo_options door_good_options = AXO_OPTIONS(.workers = 1);
static const axo_options door_good_kit = AXO_OPTIONS(.seed = 3);
static const axo_strategy door_good_strategy = AXO_STRATEGY(.decider = axo_decide_stop);
static const axo_mailbox door_good_mailbox = AXO_MAILBOX(.messages_max = 7);
static const axo_stats door_good_stats = AXO_STATS(.sent = 0);
static const axo_health_report door_good_health = AXO_HEALTH_REPORT(.why = 0);
static const axo_actor_info door_good_info = AXO_ACTOR_INFO(.doing = 0);
static const axo_farewell door_good_farewell = AXO_FAREWELL(.kind = AXO_FAREWELL_STOP);
static const axo_phase door_good_phase = AXO_PHASE(.name = "a");
static const axo_task door_good_task =
    AXO_TASK(.phase = "a", .name = "b", .kind = AXO_TASK_STOP, .actor = {.bits = 1});
static const axo_backoff_supervisor door_good_keeper =
    AXO_BACKOFF_SUPERVISOR(.child = &door_child, .backoff = &door_delays);
static const axo_router door_good_router = AXO_ROUTER(.routees = door_routees,
                                                      .routees_count = 1);
static const axo_resizer door_good_resizer = AXO_RESIZER(.routees_max = 3);
static const axo_stream_settings door_good_settings = AXO_STREAM_SETTINGS(.input_max = 100);
static const axo_listener door_good_listener =
    AXO_LISTENER(.address = "unix:@axo-door-test", .connection = &door_child);
static const axo_stream_info door_good_stream_info = AXO_STREAM_INFO();
static const axo_demand_info door_good_demand_info = AXO_DEMAND_INFO();
static const axo_machine_table door_good_table = AXO_MACHINE_TABLE(door_states, 0);
static const axo_log_record door_good_record = AXO_LOG_RECORD(.text = "said");
static const axo_log_sink door_good_sink = AXO_LOG_SINK(.facility = 0);
enum { DOOR_COPIED = 0, DOOR_KEPT = 1, DOOR_FILLED = 2 };

typedef struct door_row {
    const char *name;
    axo_status (*give)(const void *given);
    const void *good;
    size_t size;
    size_t older;    /* what an older header might have had, and is enough */
    uint32_t how;    /* copied; kept as a pointer: it must be whole; filled by the library */
    bool inside;     /* needs a context */
} door_row;

static const axo_class door_before = AXO_CLASS(.name = "before", .receive = sv_receive);
static const axo_replacement door_good_replacement =
    AXO_REPLACEMENT(.from = &door_before, .to = &door_mute);

/* In a system that is there for the call. */
static axo_status door_replacement(const void *given)
{
    axo_options options = AXO_OPTIONS(.manual = AXO_MANUAL_ALL);
    axo_system *system;
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    axo_status status = axo_class_replace(system, given, -1);
    assert_int_equal(axo_system_stop(system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
    return status;
}

#define DOOR_ROW(type, give, good, last, how, inside)                                              \
    {#type, give, &(good), sizeof(type), offsetof(type, last) + sizeof(((type *)0)->last), how,    \
     inside}

static const door_row door_rows[] = {
    DOOR_ROW(axo_options, door_options, door_good_options, workers, DOOR_COPIED, false),
    DOOR_ROW(axo_options, door_kit, door_good_kit, seed, DOOR_COPIED, false),
    DOOR_ROW(axo_props, door_props, door_child, cls, DOOR_COPIED, false),
    DOOR_ROW(axo_props, door_props_inside, door_child, cls, DOOR_COPIED, true),
    DOOR_ROW(axo_props, door_props_or_get, door_named, name, DOOR_COPIED, false),
    DOOR_ROW(axo_props, door_props_or_get_inside, door_named, name, DOOR_COPIED, true),
    DOOR_ROW(axo_class, door_class, door_mute, receive, DOOR_KEPT, false),
    DOOR_ROW(axo_strategy, door_strategy, door_good_strategy, decider, DOOR_KEPT, false),
    DOOR_ROW(axo_mailbox, door_mailbox, door_good_mailbox, messages_max, DOOR_COPIED, false),
    DOOR_ROW(axo_backoff, door_backoff, door_delays, max_ns, DOOR_KEPT, false),
    DOOR_ROW(axo_stats, door_stats, door_good_stats, sent, DOOR_FILLED, false),
    DOOR_ROW(axo_health_report, door_health, door_good_health, actor, DOOR_FILLED, false),
    DOOR_ROW(axo_actor_info, door_info, door_good_info, actor, DOOR_FILLED, false),
    DOOR_ROW(axo_actor_info, door_info_inside, door_good_info, actor, DOOR_FILLED, true),
    DOOR_ROW(axo_farewell, door_farewell, door_good_farewell, kind, DOOR_COPIED, false),
    DOOR_ROW(axo_farewell, door_farewell_inside, door_good_farewell, kind, DOOR_COPIED, true),
    DOOR_ROW(axo_phase, door_phase, door_good_phase, name, DOOR_COPIED, false),
    DOOR_ROW(axo_task, door_task, door_good_task, actor, DOOR_COPIED, false),
    DOOR_ROW(axo_backoff_supervisor, door_keeper, door_good_keeper, backoff, DOOR_COPIED, false),
    DOOR_ROW(axo_router, door_router, door_good_router, routees_count, DOOR_COPIED, false),
    DOOR_ROW(axo_resizer, door_resizer, door_good_resizer, routees_max, DOOR_COPIED, false),
    DOOR_ROW(axo_log_record, door_record, door_good_record, time_ns, DOOR_COPIED, false),
    DOOR_ROW(axo_log_sink, door_sink, door_good_sink, facility, DOOR_KEPT, false),
    DOOR_ROW(axo_machine_table, door_table, door_good_table, states, DOOR_KEPT, true),
    DOOR_ROW(axo_stream_settings, door_stream, door_good_settings, input_max, DOOR_COPIED, true),
    DOOR_ROW(axo_listener, door_listener, door_good_listener, connection, DOOR_COPIED, false),
    DOOR_ROW(axo_stream_info, door_stream_info, door_good_stream_info, error, DOOR_FILLED, true),
    DOOR_ROW(axo_remote, door_remote, door_good_remote, terminated, DOOR_COPIED, false),
    DOOR_ROW(axo_remote_message, door_remote_message, door_good_remote_message, tag, DOOR_COPIED,
             false),
    DOOR_ROW(axo_replacement, door_replacement, door_good_replacement, to, DOOR_COPIED, false),
    DOOR_ROW(axo_demand_info, door_demand_info, door_good_demand_info, held, DOOR_FILLED, true),
};
enum { DOOR_ROWS = sizeof door_rows / sizeof door_rows[0] };

static void door_make(const door_row *row, door_struct *it, size_t size)
{
    memset(it, 0, sizeof *it);
    memcpy(it->bytes, row->good, row->size);
    it->size = size;
}

/* What is not this struct's any more: an older header's program has something else there. */
static void door_make_older(const door_row *row, door_struct *it, size_t size)
{
    door_make(row, it, size);
    memset(it->bytes + size, 0xee, sizeof it->bytes - size);
}

static void door_is(const door_row *row, const door_struct *it, axo_status expected, int line)
{
    door_struct before = *it;
    axo_status status = row->give(it);
    if (status != expected)
        fail_msg("line %d: %s of %zu bytes: %s, not %s", line, row->name, before.size,
                 axo_status_name(status), axo_status_name(expected));
    size_t known = before.size < row->size ? before.size : row->size;
    size_t from = row->how == DOOR_FILLED && status == AXO_OK ? known : 0;
    assert_memory_equal(it->bytes + from, before.bytes + from, sizeof it->bytes - from);
    assert_int_equal(it->size, before.size);
}

#define DOOR_IS(row, it, expected) door_is(row, it, expected, __LINE__)

/* What was accepted may be looked at for as long as what was made of it lives: a class, say. */
static door_struct door_accepted[3 * DOOR_ROWS];
static size_t door_accepted_count;

static door_struct *door_fresh(void)
{
    assert_true(door_accepted_count < 3 * DOOR_ROWS);
    return &door_accepted[door_accepted_count++];
}

static void door_try(const door_row *row)
{
    door_struct bad;
    assert_true(row->size + DOOR_TAIL <= sizeof bad.bytes);
    door_struct *it = door_fresh();
    door_make(row, it, row->size);
    DOOR_IS(row, it, AXO_OK);
    for (size_t size = 0; size < sizeof(size_t); size++) {
        door_make(row, &bad, size);
        DOOR_IS(row, &bad, AXO_EINVAL); /* somebody zeroed it, or never set it */
    }
    it = door_fresh();
    door_make_older(row, it, row->older);
    DOOR_IS(row, it, row->how == DOOR_KEPT ? AXO_EVERSION : AXO_OK);
    it = door_fresh();
    door_make(row, it, row->size + DOOR_TAIL);
    DOOR_IS(row, it, AXO_OK);
    for (size_t i = 0; i < DOOR_TAIL; i += DOOR_TAIL - 1) {
        door_make(row, &bad, row->size + DOOR_TAIL);
        bad.bytes[row->size + i] = 1;
        DOOR_IS(row, &bad, AXO_EVERSION);
    }
}

static void door_try_inside(axo_ctx *ctx, sv_host *host, void *arg)
{
    door.ctx = ctx;
    door_try(arg);
    door.ctx = NULL;
}

static void door_seen_size(const char *word)
{
    door.names++;
}

/* 0, too short for a size, older, this one, newer with nothing new, newer with news. */
static void structs_of_every_size(void **state)
{
    memset((void *)&door, 0, sizeof door);
    door_accepted_count = 0;
    sv_start(&door.host, NULL);
    door_routees[0] = door.host.ref;
    assert_int_equal(axo_phases_new(door.host.system, &door.phases), AXO_OK);
    for (size_t i = 0; i < DOOR_ROWS; i++) {
        print_message("%s\n", door_rows[i].name);
        if (door_rows[i].inside)
            sv_do(&door.host, door_try_inside, (void *)(uintptr_t)&door_rows[i]);
        else
            door_try(&door_rows[i]);
    }
    assert_int_equal(axo_phases_free(door.phases), AXO_OK);
    (void)axo_testkit_advance(door.host.kit, 2 * SV_S);
    sv_end(&door.host);
}

static void door_seen_struct(const char *word)
{
    char type[72];
    (void)snprintf(type, sizeof type, "axo_%s", word + (strncmp(word, "axo_", 4) == 0 ? 4 : 0));
    for (size_t i = 0; i < DOOR_ROWS; i++) {
        if (strcmp(door_rows[i].name, type) == 0)
            return;
    }
    fail_msg("%s begins with its size, and is not in door_rows", type);
}

/* Every struct whose macro or comment says that its size is first. */
static void every_struct_is_there(void **state)
{
    door.names = 0;
    door_scan("), set by", door_seen_size);
    assert_true(door.names >= 15); /* that the marks are still those of the headers */
    door_scan("), set by", door_seen_struct);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(structs_of_every_size),
    cmocka_unit_test(every_struct_is_there),
};
TEST_MAIN(tests)
