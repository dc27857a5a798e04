/* drain.c - tells all descendants of an actor to end: an actor that looks for them, watches them,
 * tells them and waits, once.
 *
 * As a wait (wait.h): the letter is made when the drain is accepted, the record lies in it until it
 * is filled in and sent, so telling takes no memory and a restart goes on with the record. All are
 * watched before the first is told, so that want of memory for a watch comes to light while nothing
 * has been done. */
#include <axo/drain.h>

#include <axo/find.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "pattern/given.h"
#include "pattern/own.h"
#include "pattern/wait.h"

#define DRAIN_TAG_OVER (AXO_TAG_SERVICES + 0x14)
#define DRAIN_KEY      1
/* Descendants that may come while they are counted, without a second count. */
#define DRAIN_SPARE 16

/* A descendant. */
typedef struct drain_one {
    axo_ref actor;
    bool waited; /* it was told, and has not ended */
} drain_one;

typedef struct drain_record {
    axo_draft *letter;
    uint32_t instance; /* the parent's, which alone gets the result */
    uint32_t tag;
    uint64_t id;
    axo_ref root;
    int64_t since_ns;
    int64_t timeout_ns;
    bool begun;           /* all have been looked for, and told */
    bool has_class;
    axo_status refusal;   /* the first one; AXO_OK: none */
    uint32_t told, late, refused;
    drain_one *all;       /* once begun: in the order of their references */
    uint32_t count, room;
    char class_name[AXO_INSPECT_NAME];
} drain_record;

typedef struct drain_state {
    drain_record *record; /* NULL: the parent has been told */
} drain_state;

_Static_assert(sizeof(drain_record) <= sizeof(axo_drained), "a drain lies in its letter");

static void drain_forget(axo_ctx *ctx, drain_record *record)
{
    axo_system_free(axo_system_of(ctx), record->all, record->room * sizeof *record->all);
    record->all = NULL;
    record->count = record->room = 0;
}

/* ---- telling the parent --------------------------------------------------------------------- */

static void drain_name(axo_system *system, axo_ref actor, axo_drain_late *out)
{
    axo_actor_info info = AXO_ACTOR_INFO(.doing = AXO_DOING_GONE);
    *out = (axo_drain_late){.actor = actor};
    if (axo_system_inspect(system, actor, axo_ref_none(), &info) == AXO_OK) {
        out->doing = info.doing;
        out->queued = info.queued;
    }
    (void)axo_system_path(system, actor, out->path, sizeof out->path);
}

static axo_status drain_over(axo_ctx *ctx, drain_state *self, axo_status status)
{
    /* A copy, because the result is written over the record in the same letter. */
    drain_record record = *self->record;
    axo_drained *out = (void *)self->record;
    self->record = NULL;
    *out = (axo_drained){.id = record.id,
                         .status = status == AXO_OK ? record.refusal : status,
                         .told = record.told,
                         .late = record.late,
                         .refused = record.refused,
                         .waited_ns = axo__wait_passed(axo_now(ctx), record.since_ns)};
    for (uint32_t i = 0; i < record.count && out->named < AXO_DRAIN_NAMES; i++)
        if (record.all[i].waited)
            drain_name(axo_system_of(ctx), record.all[i].actor, &out->first[out->named++]);
    drain_forget(ctx, &record);
    (void)axo_draft_from(ctx, record.letter, axo_self(ctx));
    (void)axo_draft_bind(ctx, record.letter, record.instance);
    (void)axo_send_message(ctx, axo_parent(ctx), record.letter); /* AXO_EGONE: it has ended */
    return axo_stop_self(ctx);
}

/* ---- who there is --------------------------------------------------------------------------- */

static axo_status drain_grow(axo_system *system, drain_record *record, uint32_t more)
{
    uint32_t room = record->count + more;
    drain_one *grown = axo_system_alloc(system, room * sizeof *grown);
    if (grown == NULL)
        return AXO_ENOMEM;
    if (record->count > 0)
        memcpy(grown, record->all, record->count * sizeof *grown);
    axo_system_free(system, record->all, record->room * sizeof *grown);
    record->all = grown;
    record->room = room;
    return AXO_OK;
}

/* Whether a descendant is to be told. */
static bool drain_wants(axo_ctx *ctx, const drain_record *record, axo_ref actor)
{
    axo_actor_info info = AXO_ACTOR_INFO(.doing = AXO_DOING_GONE);
    if (axo_ref_equal(actor, axo_self(ctx)) || axo_ref_equal(actor, axo_parent(ctx)) ||
        axo_inspect(ctx, actor, axo_ref_none(), &info) != AXO_OK)
        return false;
    if (record->has_class)
        return strcmp(info.class_name, record->class_name) == 0;
    return strcmp(info.class_name, "ask") != 0 && strcmp(info.class_name, "drain") != 0;
}

/* Adds those of one level that are to be told. *found: how many the level has. */
static axo_status drain_level(axo_ctx *ctx, drain_record *record, const char *pattern,
                              uint32_t *found)
{
    axo_system *system = axo_system_of(ctx);
    axo_ref *level = NULL;
    uint32_t max = 0;
    axo_status status = axo_find_all(ctx, pattern, NULL, 0, found);
    while (status == AXO_OK && *found > max) {
        axo_system_free(system, level, max * sizeof *level);
        max = *found + DRAIN_SPARE;
        level = axo_system_alloc(system, max * sizeof *level);
        status = level == NULL ? AXO_ENOMEM : axo_find_all(ctx, pattern, level, max, found);
    }
    if (status == AXO_OK && *found > 0)
        status = drain_grow(system, record, *found);
    for (uint32_t i = 0; level != NULL && i < *found && status == AXO_OK; i++)
        if (drain_wants(ctx, record, level[i]))
            record->all[record->count++] = (drain_one){.actor = level[i]};
    axo_system_free(system, level, level == NULL ? 0 : max * sizeof *level);
    return status;
}

static int drain_compare(const void *a, const void *b)
{
    uint64_t first = ((const drain_one *)a)->actor.bits;
    uint64_t second = ((const drain_one *)b)->actor.bits;
    return (first > second) - (first < second);
}

/* Makes a text's room twice as large. */
static axo_status drain_longer(axo_system *system, char **text, size_t *size)
{
    size_t room = *size == 0 ? 128 : 2 * *size;
    char *grown = axo_system_alloc(system, room);
    if (grown == NULL)
        return AXO_ENOMEM;
    if (*size > 0)
        memcpy(grown, *text, *size);
    axo_system_free(system, *text, *size);
    *text = grown;
    *size = room;
    return AXO_OK;
}

/* Finds the descendants, a level after the other: those of "/a/b" are at the path and one more
 * slash and star for each level. `pattern` begins as the path. */
static axo_status drain_levels(axo_ctx *ctx, drain_record *record, char **pattern, size_t *size)
{
    uint32_t found = 1;
    size_t length = *pattern != NULL ? strlen(*pattern) : 0;
    axo_status status = AXO_OK;
    if (length == 1) /* the root: "/" */
        length = 0;
    while (found > 0 && status == AXO_OK) {
        if (length + 3 > *size)
            status = drain_longer(axo_system_of(ctx), pattern, size);
        if (status != AXO_OK)
            break;
        memcpy(*pattern + length, "/*", 3);
        length += 2;
        status = drain_level(ctx, record, *pattern, &found);
    }
    return status;
}

static axo_status drain_collect(axo_ctx *ctx, drain_record *record)
{
    axo_system *system = axo_system_of(ctx);
    char *pattern = NULL;
    size_t size = 0;
    axo_status status = AXO_ETOOBIG;
    while (status == AXO_ETOOBIG) {
        status = drain_longer(system, &pattern, &size);
        if (status == AXO_OK)
            status = axo_system_path(system, record->root, pattern, size);
    }
    if (status == AXO_OK)
        status = drain_levels(ctx, record, &pattern, &size);
    /* One that has ended has no descendants; its path may be another's by now. */
    if (status == AXO_OK && axo_system_path(system, record->root, pattern, size) == AXO_EGONE)
        status = AXO_EGONE;
    axo_system_free(system, pattern, size);
    if (status == AXO_EGONE)
        drain_forget(ctx, record);
    return status == AXO_EGONE ? AXO_OK : status;
}

/* ---- the child ------------------------------------------------------------------------------ */

static axo_status drain_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    ((drain_state *)state)->record = (drain_record *)(uintptr_t)args;
    return AXO_OK;
}

static axo_status drain_watch(axo_ctx *ctx, const drain_record *record)
{
    axo_status status = AXO_OK;
    for (uint32_t i = 0; i < record->count && status == AXO_OK; i++)
        status = axo_watch(ctx, record->all[i].actor);
    return status;
}

/* Sent as from outside: this actor is never parked by a full mailbox, and its deadline holds. */
static void drain_tell(axo_ctx *ctx, drain_record *record)
{
    axo_system *system = axo_system_of(ctx);
    for (uint32_t i = 0; i < record->count; i++) {
        drain_one *one = &record->all[i];
        axo_status status =
            axo_system_send_from(system, axo_parent(ctx), one->actor, record->tag, NULL, 0);
        if (status == AXO_EGONE)
            continue; /* it has ended by itself */
        one->waited = status == AXO_OK;
        record->told += one->waited;
        record->late += one->waited;
        record->refused += !one->waited;
        if (!one->waited && record->refusal == AXO_OK)
            record->refusal = status;
    }
}

/* Runs after a restart, too: watches survive it, and nobody is told twice. */
static axo_status drain_start(axo_ctx *ctx, void *state)
{
    drain_state *self = state;
    drain_record *record = self->record;
    int64_t left = axo__wait_left(axo_now(ctx), record->since_ns, record->timeout_ns);
    axo_status status =
        axo_timer_start(ctx, DRAIN_KEY, AXO_TIMER_ONCE, left, 0, DRAIN_TAG_OVER, NULL, 0);
    if (status == AXO_OK && !record->begun) {
        status = drain_collect(ctx, record);
        if (status == AXO_OK)
            status = drain_watch(ctx, record);
        if (status == AXO_OK)
            drain_tell(ctx, record);
        /* Behind the telling: the bits of references are no order that repeats. */
        if (record->count > 1)
            qsort(record->all, record->count, sizeof *record->all, drain_compare);
        record->begun = true;
    }
    return status == AXO_OK && record->late > 0 ? AXO_OK : drain_over(ctx, self, status);
}

static axo_status drain_ended(axo_ctx *ctx, drain_state *self, axo_ref actor)
{
    drain_record *record = self->record;
    const drain_one key = {.actor = actor};
    drain_one *one = record->count == 0 ? NULL
                                        : bsearch(&key, record->all, record->count,
                                                  sizeof *record->all, drain_compare);
    if (one != NULL && one->waited) {
        one->waited = false;
        record->late--;
    }
    return record->late == 0 ? drain_over(ctx, self, AXO_OK) : AXO_OK;
}

static axo_status drain_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    drain_state *self = state;
    if (message->tag == AXO_TERMINATED)
        return drain_ended(ctx, self, AXO_PAYLOAD(message, axo_terminated)->actor);
    if (message->tag == DRAIN_TAG_OVER && axo__own_tick(ctx, message, DRAIN_KEY))
        return drain_over(ctx, self, AXO_ETIMEDOUT);
    return AXO_UNHANDLED;
}

static axo_status drain_stop(axo_ctx *ctx, void *state)
{
    drain_state *self = state;
    return self->record == NULL ? AXO_OK : drain_over(ctx, self, AXO_ESTOPPING);
}

static const axo_class drain_class =
    AXO_CLASS(.name = "drain", .state_size = sizeof(drain_state), .construct = drain_construct,
              .pre_start = drain_start, .receive = drain_receive, .post_stop = drain_stop,
              .pre_restart = axo__wait_pre_restart);

axo_status axo_drain(axo_ctx *ctx, axo_ref ref, const axo_class *cls, uint32_t tag,
                     int64_t timeout_ns, uint64_t id)
{
    axo_class given;
    axo_draft *letter;
    axo_ref child;
    void *room;
    axo_status status = axo__context_check(ctx);
    if (status != AXO_OK)
        return status;
    if (axo_ref_is_none(ref) || tag >= AXO_TAG_RESERVED || timeout_ns <= 0 ||
        timeout_ns > AXO_DELAY_MAX)
        return AXO_EINVAL;
    if (cls != NULL)
        status = axo__given_read(cls, &given, sizeof given);
    if (status == AXO_OK)
        status = axo_message_new(ctx, AXO_DRAINED, sizeof(axo_drained), &letter, &room);
    if (status != AXO_OK)
        return status;
    (void)axo_draft_keep(ctx, letter); /* the child's, whatever the caller's callback does next */
    drain_record *record = room;
    *record = (drain_record){.letter = letter,
                             .instance = axo_instance(ctx),
                             .tag = tag,
                             .id = id,
                             .root = ref,
                             .since_ns = axo_now(ctx),
                             .timeout_ns = timeout_ns,
                             .has_class = cls != NULL};
    if (cls != NULL) {
        const char *name = given.name != NULL ? given.name : "actor";
        memcpy(record->class_name, name, strnlen(name, sizeof record->class_name - 1));
    }
    axo_props props = AXO_PROPS(.cls = &drain_class, .args = record);
    status = axo_spawn(ctx, &props, &child);
    if (status != AXO_OK)
        axo_message_discard(ctx, letter);
    return status;
}
