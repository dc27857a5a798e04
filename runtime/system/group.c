/* group.c - a barrier for messages (<axo/group.h>).
 *
 * A message of a group owns its payload, as one that was handed over does; what frees it takes the
 * message out of the count. So the count needs nothing of the paths that a message may take: each
 * ends a payload's life once. Who makes the count 0 wakes the threads that wait, and stops the
 * actors that do: each of these is a child of who asked, and its post_stop sends the letter that
 * was made with it. Stopping takes no memory, so telling takes none.
 *
 * The last step to 0 is made under the mutex, so who finds 0 there knows that no thread is on its
 * way to it. Whoever is still telling then holds the group in memory (`users`), past its
 * axo_group_free if need be.
 */
#include "system/group.h"

#include <string.h>

#include <axo/time.h>

#include "sched/lent.h"
#include "system/block.h"
#include "system/group_many.h"

#define GROUP_TURNS UINT64_C(256)     /* of the host's, between two looks */
#define GROUP_LOOK_NS INT64_C(1000000) /* a helper that finds nothing to run looks again */

/* A thread, or an actor, that waits; in the list until it is told, or gives up. All fields are
 * guarded by the group's mutex. */
struct axo__group_waiter {
    axo__group_waiter *next;
    axo__os_latch *latch; /* NULL: an actor */
    axo_ref actor;
    uint64_t since;       /* `zeros` when it came */
    bool listed;
    bool told;
    axo__a32 over;        /* 1: a helping thread is told; for its looks without the mutex */
};

/* Before the payload, which stands aligned behind it. */
typedef struct group_payload {
    axo_group *group;
    size_t block; /* bytes, with this */
} group_payload;
AXO_STATIC_ASSERT(sizeof(group_payload) % _Alignof(max_align_t) == 0, "payloads are aligned");

/* ---- the count ---- */

/* Out of the list. */
static void group_unlist(axo_group *group, axo__group_waiter *waiter)
{
    axo__group_waiter **at = &group->waiters;
    while (*at != waiter)
        at = &(*at)->next;
    *at = waiter->next;
    waiter->listed = false;
}

/* Who came before this 0 and is not told; NULL: nobody. */
static axo__group_waiter *group_due(const axo_group *group, uint64_t zero)
{
    axo__group_waiter *waiter = group->waiters;
    while (waiter != NULL && waiter->since >= zero)
        waiter = waiter->next;
    return waiter;
}

void axo__group_drop(axo_group *group)
{
    bool last = --group->users == 0;
    axo__os_mutex_unlock(&group->mutex);
    if (!last)
        return;
    axo__os_mutex_fini(&group->mutex);
    axo_system_free(group->system, group, sizeof *group);
}

/* Tells all that waited for this 0. The mutex is held, and released. A thread's waiter is on its
 * stack, and gone once the latch is set; an actor's may be gone once the mutex is free, so the
 * actor is stopped by what was read before. */
static void group_tell_all(axo_group *group)
{
    uint64_t zero = ++group->zeros;
    axo__group_waiter *waiter;
    group->users++;
    while ((waiter = group_due(group, zero)) != NULL) {
        axo_ref actor = waiter->actor;
        waiter->told = true;
        group_unlist(group, waiter);
        if (waiter->latch != NULL) {
            axo__a32_store_relaxed(&waiter->over, 1);
            axo__os_latch_set(waiter->latch);
            continue;
        }
        axo__os_mutex_unlock(&group->mutex);
        (void)axo_system_stop_actor(group->system, actor);
        axo__os_mutex_lock(&group->mutex);
    }
    axo__group_drop(group);
}

/* Takes one out, if others are left. */
static bool group_leave_others(axo_group *group, uint64_t *count)
{
    while (*count > 1) {
        if (axo__a64_cas_acq_rel(&group->count, count, *count - 1)) /* [N4] */
            return true;
    }
    return false;
}

void axo__group_leave(axo_group *group)
{
    uint64_t count = axo__a64_load_acquire(&group->count); /* [N5] */
    if (group_leave_others(group, &count))
        return;
    axo__os_mutex_lock(&group->mutex);
    do {
        if (group_leave_others(group, &count)) {
            axo__os_mutex_unlock(&group->mutex);
            return;
        }
    } while (!axo__a64_cas_acq_rel(&group->count, &count, 0)); /* [N4] */
    group_tell_all(group);
}

static void group_end_payload(void *payload, void *user)
{
    group_payload *head = (group_payload *)payload - 1;
    axo_group *group = head->group;
    axo__block_give(user, head, head->block);
    axo__group_leave(group);
}

/* In the list, if a message counts; false: none does. */
static bool group_join(axo_group *group, axo__group_waiter *waiter)
{
    axo__os_mutex_lock(&group->mutex);
    bool joins = axo__a64_load_acquire(&group->count) != 0; /* [N5] */
    if (joins) {
        waiter->listed = true;
        waiter->since = group->zeros;
        waiter->next = group->waiters;
        group->waiters = waiter;
    }
    axo__os_mutex_unlock(&group->mutex); /* from here on it may be told */
    return joins;
}

/* It waits no more; true: it was told before. */
static bool group_give_up(axo_group *group, axo__group_waiter *waiter)
{
    axo__os_mutex_lock(&group->mutex);
    if (waiter->listed)
        group_unlist(group, waiter);
    bool told = waiter->told;
    axo__os_mutex_unlock(&group->mutex);
    return told;
}

/* ---- its life ---- */

axo_status axo_group_make(axo_system *system, axo_group **out)
{
    if (out == NULL)
        return AXO_EINVAL;
    *out = NULL;
    axo_status status = axo__system_check(system);
    if (status != AXO_OK)
        return status;
    axo_group *group = axo_system_alloc(system, sizeof *group);
    if (group == NULL)
        return AXO_ENOMEM;
    memset(group, 0, sizeof *group);
    group->system = system;
    group->users = 1;
    if (!axo__os_mutex_init(&group->mutex)) {
        axo_system_free(system, group, sizeof *group);
        return AXO_ETHREAD;
    }
    *out = group;
    return AXO_OK;
}

axo_status axo_group_free(axo_group *group)
{
    if (group == NULL)
        return AXO_OK;
    axo_status status = axo__system_check(group->system);
    if (status != AXO_OK)
        return status;
    axo__os_mutex_lock(&group->mutex);
    if (group->waiters != NULL || axo__a64_load_acquire(&group->count) != 0) { /* [N5] */
        axo__os_mutex_unlock(&group->mutex);
        return AXO_EBUSY;
    }
    axo__group_drop(group);
    return AXO_OK;
}

uint64_t axo_group_count(const axo_group *group)
{
    axo_group *changed = (axo_group *)(uintptr_t)group;
    uint64_t count = group != NULL ? axo__a64_load_acquire(&group->count) : 0; /* [N5] */
    if (count == 0 || axo__system_check(group->system) != AXO_OK)
        return count;
    axo__os_mutex_lock(&changed->mutex);
    count = axo__a64_load_acquire(&group->count); /* [N5] */
    count = count > 0 ? count + axo__group_more_locked(group) : 0;
    axo__os_mutex_unlock(&changed->mutex);
    return count;
}

/* ---- sending ---- */

/* A copy of the payload that counts. NULL: no memory, and nothing counts. */
static void *group_copy(axo_group *group, const void *payload, size_t size)
{
    size_t block = sizeof(group_payload) + size;
    group_payload *head = axo__block_take(group->system, block);
    if (head == NULL)
        return NULL;
    *head = (group_payload){.group = group, .block = block};
    if (size > 0)
        memcpy(head + 1, payload, size);
    (void)axo__a64_add_acq_rel(&group->count, 1); /* [N4] */
    return head + 1;
}

axo_status axo__group_check(const axo_group *group, axo_ref to, uint32_t tag, const void *payload,
                            size_t size)
{
    if (group == NULL || axo_ref_is_none(to) || tag >= AXO_TAG_RESERVED ||
        (payload == NULL && size > 0))
        return AXO_EINVAL;
    axo_status status = axo__system_check(group->system);
    if (status != AXO_OK)
        return status;
    return size > AXO_PAYLOAD_MAX ? AXO_ETOOBIG : AXO_OK;
}

axo_status axo_group_send(axo_group *group, axo_ref to, uint32_t tag, const void *payload,
                          size_t size)
{
    axo_status status = axo__group_check(group, to, tag, payload, size);
    if (status != AXO_OK)
        return status;
    void *copy = group_copy(group, payload, size);
    if (copy == NULL)
        return AXO_ENOMEM;
    status = axo_system_send_owned(group->system, to, tag, copy, size, group_end_payload,
                                   group->system);
    if (status != AXO_OK && status != AXO_EGONE)
        group_end_payload(copy, group->system);
    return status;
}

axo_status axo_group_send_as(axo_ctx *ctx, axo_group *group, axo_ref to, uint32_t tag,
                             const void *payload, size_t size)
{
    if (axo__caller(ctx) == NULL)
        return axo__no_caller();
    axo_status status = axo__group_check(group, to, tag, payload, size);
    if (status == AXO_OK && group->system != axo_system_of(ctx))
        status = AXO_EINVAL;
    if (status != AXO_OK)
        return status;
    void *copy = group_copy(group, payload, size);
    if (copy == NULL)
        return AXO_ENOMEM;
    status = axo_send_owned(ctx, to, tag, copy, size, group_end_payload, group->system);
    if (status != AXO_OK && status != AXO_EGONE)
        group_end_payload(copy, group->system);
    return status;
}

/* ---- threads that wait ---- */

static int64_t group_deadline(int64_t timeout_ns)
{
    return timeout_ns < 0 ? AXO__NEVER : axo__clock_add(axo__os_now(), timeout_ns);
}

/* Runs a portion of what the host has to run; in a slot all, until the thread is told or its time
 * is over: each end of a visit has the program asked for another one. AXO_OK with no turn: there is
 * nothing, or another thread runs it. */
static axo_status group_help(axo_system *system, const axo__group_waiter *waiter, int64_t deadline,
                             axo_group_how how, uint64_t *turns)
{
    *turns = 0;
    if (how == AXO_GROUP_SLEEP)
        return AXO_OK;
    if (how == AXO_GROUP_HELP && system->core.lent)
        (void)axo__lent_help_until(&system->sched, deadline, &waiter->over, turns);
    if (*turns > 0)
        return AXO_OK;
    axo_status status = axo_step_host(system, GROUP_TURNS, turns);
    return status == AXO_EBUSY ? AXO_OK : status;
}

static axo_status group_sleep(axo_group *group, axo__group_waiter *waiter, int64_t deadline,
                              axo_group_how how)
{
    for (;;) {
        uint64_t turns = 0;
        axo_status status = group_help(group->system, waiter, deadline, how, &turns);
        if (status != AXO_OK)
            return status;
        int64_t now = axo__os_now();
        int64_t until = how == AXO_GROUP_SLEEP ? deadline
                        : turns > 0            ? now
                                               : axo__clock_add(now, GROUP_LOOK_NS);
        if (axo__os_latch_wait(waiter->latch, until < deadline ? until : deadline))
            return AXO_OK;
        if (now >= deadline)
            return AXO_ETIMEDOUT;
    }
}

axo_status axo_group_wait(axo_group *group, int64_t timeout_ns, axo_group_how how)
{
    axo__os_latch latch;
    axo__group_waiter waiter = {.latch = &latch, .actor = axo_ref_none()};
    if (group == NULL || timeout_ns < AXO_GROUP_FOREVER || timeout_ns > AXO_DELAY_MAX ||
        (how != AXO_GROUP_SLEEP && how != AXO_GROUP_HELP && how != AXO_GROUP_HOST))
        return AXO_EINVAL;
    axo_status status = axo__system_check(group->system);
    if (status != AXO_OK)
        return status;
    if (axo__self != NULL)
        return AXO_ECONTEXT;
    if (!axo__os_latch_init(&latch))
        return AXO_ETHREAD;
    if (group_join(group, &waiter)) {
        status = group_sleep(group, &waiter, group_deadline(timeout_ns), how);
        if (group_give_up(group, &waiter))
            status = AXO_OK;
    }
    axo__os_latch_fini(&latch);
    return status;
}

/* ---- actors that wait ---- */

/* What a waiting child knows; its own until its end, for the list only. */
typedef struct group_teller {
    axo__group_waiter waiter; /* first */
    axo_group *group;
    axo_draft *letter;   /* NULL: sent, or given up */
    uint32_t instance;   /* the parent's, which alone is told */
} group_teller;

/* An instance's state, and what it is made with. */
typedef struct teller_state {
    group_teller *self;
} teller_state;

static axo_status teller_construct(axo_ctx *ctx, void *state, const void *args)
{
    memcpy(state, args, sizeof(teller_state));
    (void)ctx;
    return AXO_OK;
}

/* The count may have become 0 since it was asked for. */
static axo_status teller_start(axo_ctx *ctx, void *state)
{
    group_teller *self = ((teller_state *)state)->self;
    self->waiter.actor = axo_self(ctx);
    if (!self->waiter.told && group_join(self->group, &self->waiter))
        return AXO_OK;
    self->waiter.told = true;
    return axo_stop_self(ctx);
}

static axo_status teller_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)ctx;
    (void)state;
    (void)message;
    return AXO_UNHANDLED;
}

/* A failure that somebody injects ends no wait. */
static axo_status teller_pre_restart(axo_ctx *ctx, void *state, const axo_failure *failure,
                                     const axo_message *message)
{
    group_teller *self = ((teller_state *)state)->self;
    (void)ctx;
    (void)failure;
    (void)message;
    (void)group_give_up(self->group, &self->waiter);
    return AXO_OK;
}

static axo_status teller_stop(axo_ctx *ctx, void *state)
{
    group_teller *self = ((teller_state *)state)->self;
    bool told = group_give_up(self->group, &self->waiter);
    if (told) {
        (void)axo_draft_from(ctx, self->letter, axo_self(ctx));
        (void)axo_draft_bind(ctx, self->letter, self->instance);
        (void)axo_send_message(ctx, axo_parent(ctx), self->letter); /* AXO_EGONE: it has ended */
    } else {
        axo_message_discard(ctx, self->letter);
    }
    axo_system_free(axo_system_of(ctx), self, sizeof *self);
    return AXO_OK;
}

static const axo_class teller_class =
    AXO_CLASS(.name = "group", .state_size = sizeof(teller_state), .construct = teller_construct,
              .pre_start = teller_start, .receive = teller_receive,
              .pre_restart = teller_pre_restart, .post_stop = teller_stop);

static axo_status teller_spawn(axo_ctx *ctx, group_teller *self, uint64_t id)
{
    axo_ref child;
    void *payload;
    const teller_state args = {.self = self};
    axo_props props =
        AXO_PROPS(.cls = &teller_class, .args = &args, .args_size = sizeof args);
    axo_status status =
        axo_message_new(ctx, AXO_GROUP_DONE, sizeof(axo_group_done), &self->letter, &payload);
    if (status != AXO_OK)
        return status;
    const axo_group_done done = {.id = id, .group = self->group};
    memcpy(payload, &done, sizeof done);
    status = axo_spawn(ctx, &props, &child);
    if (status != AXO_OK)
        axo_message_discard(ctx, self->letter);
    return status;
}

axo_status axo_group_tell(axo_ctx *ctx, axo_group *group, uint64_t id)
{
    axo_system *system = axo_system_of(ctx);
    if (axo__caller(ctx) == NULL)
        return axo__no_caller();
    if (group == NULL || group->system != system)
        return AXO_EINVAL;
    group_teller *self = axo_system_alloc(system, sizeof *self);
    if (self == NULL)
        return AXO_ENOMEM;
    memset(self, 0, sizeof *self);
    self->group = group;
    self->instance = axo_instance(ctx);
    axo_status status = teller_spawn(ctx, self, id);
    if (status != AXO_OK)
        axo_system_free(system, self, sizeof *self);
    return status;
}
