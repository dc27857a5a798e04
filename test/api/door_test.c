/* door_test.c - what every door says in one way: structs of other sizes, and contexts that are not
 * the caller's. The headers say which there are, so that no new one is forgotten. */
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>

#include "api/service.h"

/* ---- the headers ---- */

static char *door_read(const char *name)
{
    char path[512];
    (void)snprintf(path, sizeof path, "include/axo/%s", name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    char *text = calloc(1, 1 << 16);
    assert_non_null(text);
    assert_true(fread(text, 1, (1 << 16) - 1, file) < (1 << 16) - 1);
    (void)fclose(file);
    return text;
}

/* The word that ends before `end`. */
static void door_word(const char *text, const char *end, char *out, size_t size)
{
    const char *from = end;
    while (from > text && (isalnum((unsigned char)from[-1]) || from[-1] == '_'))
        from--;
    (void)snprintf(out, size, "%.*s", (int)(end - from), from);
}

typedef void (*door_seen)(const char *word);

/* Calls `seen` with the word before each `mark`, in every header. */
static void door_scan(const char *mark, door_seen seen)
{
    DIR *folder = opendir("include/axo");
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (strstr(entry->d_name, ".h") == NULL)
            continue;
        char *text = door_read(entry->d_name);
        for (const char *at = text; (at = strstr(at, mark)) != NULL; at++) {
            char word[64];
            door_word(text, at, word, sizeof word);
            seen(word);
        }
        free(text);
    }
    (void)closedir(folder);
}

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
static const axo_machine_table door_good_table = AXO_MACHINE_TABLE(door_states, 0);

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
    DOOR_ROW(axo_actor_info, door_info, door_good_info, actor, DOOR_FILLED, false),
    DOOR_ROW(axo_actor_info, door_info_inside, door_good_info, actor, DOOR_FILLED, true),
    DOOR_ROW(axo_farewell, door_farewell, door_good_farewell, kind, DOOR_COPIED, false),
    DOOR_ROW(axo_farewell, door_farewell_inside, door_good_farewell, kind, DOOR_COPIED, true),
    DOOR_ROW(axo_phase, door_phase, door_good_phase, name, DOOR_COPIED, false),
    DOOR_ROW(axo_task, door_task, door_good_task, actor, DOOR_COPIED, false),
    DOOR_ROW(axo_backoff_supervisor, door_keeper, door_good_keeper, backoff, DOOR_COPIED, false),
    DOOR_ROW(axo_router, door_router, door_good_router, routees_count, DOOR_COPIED, false),
    DOOR_ROW(axo_resizer, door_resizer, door_good_resizer, routees_max, DOOR_COPIED, false),
    DOOR_ROW(axo_machine_table, door_table, door_good_table, states, DOOR_KEPT, true),
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

/* ---- contexts ---- */

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
DOOR_ONLY(stop_self)
DOOR_CTX(poison, DOOR_NONE)
DOOR_CTX(kill, DOOR_NONE)
DOOR_CTX(send, DOOR_NONE, DOOR_BAD, NULL, 1)
DOOR_CTX(send_from, DOOR_NONE, DOOR_NONE, DOOR_BAD, NULL, 1)
DOOR_CTX(reply, NULL, DOOR_BAD, NULL, 1)
DOOR_CTX(forward, NULL, DOOR_NONE)
DOOR_CTX(message_take, NULL, NULL)
DOOR_CTX(send_owned, DOOR_NONE, DOOR_BAD, NULL, 1, NULL, NULL)
DOOR_CTX(message_new, DOOR_BAD, 1, NULL, NULL)
DOOR_CTX(message_owning, DOOR_BAD, NULL, NULL)
DOOR_CTX(draft_from, NULL, DOOR_NONE)
DOOR_CTX(draft_bind, NULL, 0)
DOOR_CTX(send_message, DOOR_NONE, NULL)
DOOR_CTX(send_after, -1, DOOR_NONE, DOOR_BAD, NULL, 1)
DOOR_CTX(fail, 1, "%s", "why")
DOOR_CTX(fail_fatal, 1, "%s", "why")
DOOR_CTX(defer, NULL, NULL)
DOOR_CTX(become, NULL)
DOOR_ONLY(unbecome)
DOOR_CTX(default_pre_restart, NULL, NULL, NULL)
DOOR_CTX(default_post_restart, NULL, NULL)
DOOR_ONLY(termination_hook)
DOOR_ONLY(termination_hook_done)
DOOR_CTX(block, NULL, NULL)
DOOR_CTX(ask, DOOR_NONE, DOOR_BAD, NULL, 1, -1, 0)
DOOR_CTX(promise, -1, 0, NULL)
DOOR_CTX(graceful_stop, DOOR_NONE, NULL, -1, 0)
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
DOOR_SAYS(self, axo_ref_is_none(axo_self(bad)))
DOOR_SAYS(instance, axo_instance(bad) == 0)
DOOR_SAYS(seed, axo_seed(bad) == 0)
DOOR_SAYS(now, axo_now(bad) == 0)
DOOR_SAYS(parent, axo_ref_is_none(axo_parent(bad)))
DOOR_SAYS(sender, axo_ref_is_none(axo_sender(bad)))
DOOR_SAYS(system_of, axo_system_of(bad) == NULL)
DOOR_SAYS(child_count, axo_child_count(bad) == 0)
DOOR_SAYS(children, axo_children(bad, NULL, 9) == 0)
DOOR_SAYS(child, axo_ref_is_none(axo_child(bad, NULL)))
DOOR_SAYS(alloc, axo_alloc(bad, 0) == NULL && axo_alloc(bad, 8) == NULL)
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

#define DOOR_CALL(name) {"axo_" #name, refuses_##name}
static const door_call door_calls[] = {
    DOOR_CALL(path),          DOOR_CALL(spawn),          DOOR_CALL(stop),
    DOOR_CALL(stop_self),     DOOR_CALL(poison),         DOOR_CALL(kill),
    DOOR_CALL(send),          DOOR_CALL(send_from),      DOOR_CALL(reply),
    DOOR_CALL(forward),       DOOR_CALL(message_take),   DOOR_CALL(send_owned),
    DOOR_CALL(message_new),   DOOR_CALL(message_owning), DOOR_CALL(draft_from),
    DOOR_CALL(draft_bind),    DOOR_CALL(send_message),   DOOR_CALL(send_after),
    DOOR_CALL(fail),          DOOR_CALL(fail_fatal),     DOOR_CALL(defer),
    DOOR_CALL(become),        DOOR_CALL(unbecome),       DOOR_CALL(default_pre_restart),
    DOOR_CALL(default_post_restart), DOOR_CALL(termination_hook),
    DOOR_CALL(termination_hook_done), DOOR_CALL(block),  DOOR_CALL(ask),
    DOOR_CALL(promise),       DOOR_CALL(graceful_stop),  DOOR_CALL(machine_start),
    DOOR_CALL(machine_receive), DOOR_CALL(machine_goto), DOOR_CALL(machine_stay),
    DOOR_CALL(router_broadcast), DOOR_CALL(find),        DOOR_CALL(find_all),
    DOOR_CALL(select),        DOOR_CALL(spawn_or_get),   DOOR_CALL(register),
    DOOR_CALL(unregister),    DOOR_CALL(inspect),        DOOR_CALL(subscribe),
    DOOR_CALL(unsubscribe),   DOOR_CALL(publish),        DOOR_CALL(drop),
    DOOR_CALL(stash),         DOOR_CALL(unstash),        DOOR_CALL(unstash_all),
    DOOR_CALL(watch),         DOOR_CALL(watch_with),     DOOR_CALL(unwatch),
    DOOR_CALL(schedule_once), DOOR_CALL(schedule_fixed_delay),
    DOOR_CALL(schedule_fixed_rate), DOOR_CALL(timer_start), DOOR_CALL(timer_stop),
    DOOR_CALL(receive_timeout), DOOR_CALL(self), DOOR_CALL(seed), DOOR_CALL(instance),
    DOOR_CALL(now), DOOR_CALL(parent), DOOR_CALL(sender), DOOR_CALL(system_of),
    DOOR_CALL(child_count), DOOR_CALL(children), DOOR_CALL(child), DOOR_CALL(alloc),
    DOOR_CALL(stash_count), DOOR_CALL(timer_active), DOOR_CALL(timer_cancel),
    DOOR_CALL(timer_at_close), DOOR_CALL(message_discard),
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
    static const char *const apart[] = {"axo_throw", "axo_throw_fatal"}; /* they end the process */
    if (strncmp(word, "axo_", 4) != 0)
        return; /* a callback's type */
    door.names++;
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
    door.names = 0;
    door_scan("(axo_ctx *ctx", door_seen_call);
    door_scan("(struct axo_ctx *ctx", door_seen_call);
    assert_true(door.names >= DOOR_CALLS);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(structs_of_every_size),
    cmocka_unit_test(every_struct_is_there),
    cmocka_unit_test(contexts_before_all_else),
    cmocka_unit_test(every_call_is_there),
};
TEST_MAIN(tests)
