/* member.c - who is there. */
#include "member.h"

#include <assert.h>
#include <string.h>

static bool member_is_named(const char *one, const char *other)
{
    return strncmp(one, other, AXO_NODE_NAME_MAX + 1) == 0;
}

static bool member_same(const axo_node *one, const axo_node *other)
{
    return one->incarnation == other->incarnation && member_is_named(one->name, other->name);
}

void cluster_member_init(cluster_member *member, const cluster_member_settings *settings,
                         const cluster_member_ops *ops, void *user, const axo_node *self,
                         int64_t now)
{
    assert(settings->beat_ns > 0 && settings->lease_ns >= 3 * settings->beat_ns);
    assert(settings->seeds_count <= AXO_NODES_MAX);
    assert(self->name[0] != 0 && memchr(self->name, 0, sizeof self->name) != NULL);
    assert(self->incarnation != 0);
    memset(member, 0, sizeof *member);
    member->ops = ops;
    member->user = user;
    member->settings = *settings;
    member->self = *self;
    member->now = now;
    member->wanted = CLUSTER_JOINING;
    member->due_at = now;
    member->beat_at = now;
    member->evicts_at = now;
    member->proved_at = now;
}

/* ---- the slots ---- */

static cluster_slot *slot_find(cluster_member *member, const axo_node *node)
{
    for (uint32_t i = 0; i < member->used; i++) {
        cluster_slot *slot = &member->slots[i];
        if (slot->state != CLUSTER_SLOT_FREE && member_same(&slot->entry.node, node))
            return slot;
    }
    return NULL;
}

/* One that is free, else of the node that went down first of those without an entry; NULL: none. */
static cluster_slot *slot_take(cluster_member *member)
{
    cluster_slot *oldest = NULL;
    for (uint32_t i = 0; i < member->used; i++) {
        cluster_slot *slot = &member->slots[i];
        if (slot->state == CLUSTER_SLOT_FREE)
            return slot;
        if (slot->state == CLUSTER_SLOT_DOWN && !slot->present &&
            (oldest == NULL || slot->down_order < oldest->down_order))
            oldest = slot;
    }
    if (member->used < AXO_NODES_MAX)
        return &member->slots[member->used++];
    return oldest;
}

/* Of a node that lives, or may: left and forgotten ones do not. */
static bool slot_is_disputed(const cluster_slot *slot)
{
    return slot->state == CLUSTER_SLOT_DOWN && slot->present && slot->why != CLUSTER_LEFT;
}

/* ---- over ---- */

static bool member_is_over(const cluster_member *member)
{
    return member->phase == CLUSTER_OVER;
}

/* I8. The own entry is removed where it may be there. */
static void member_over(cluster_member *member, cluster_why why)
{
    if (member_is_over(member))
        return;
    cluster_entry entry = {.node = member->self, .phase = CLUSTER_LEAVING,
                           .revision = member->revision};
    member->phase = CLUSTER_OVER;
    if (member->revision != 0 && member->store == CLUSTER_STORE_IS_THERE &&
        why != CLUSTER_EVICTED && why != CLUSTER_REPLACED)
        member->ops->remove(member->user, &entry);
    member->ops->over(member->user, why);
}

/* ---- the majority ---- */

/* A count of names, and whose the lowest of them is. */
typedef struct member_poll {
    uint32_t mine;
    uint32_t theirs;
    const char *lowest;
    bool lowest_is_mine;
} member_poll;

static void poll_add(member_poll *poll, const char *name, bool mine)
{
    poll->mine += mine;
    poll->theirs += !mine;
    if (poll->lowest == NULL || strncmp(name, poll->lowest, AXO_NODE_NAME_MAX + 1) < 0) {
        poll->lowest = name;
        poll->lowest_is_mine = mine;
    }
}

static bool poll_is_mine(const member_poll *poll)
{
    return poll->mine > poll->theirs || (poll->mine == poll->theirs && poll->lowest_is_mine);
}

/* What became of the name last; NULL: nobody of it was up. */
static const cluster_slot *member_last_of(const cluster_member *member, const char *name)
{
    const cluster_slot *last = NULL;
    for (uint32_t i = 0; i < member->used; i++) {
        const cluster_slot *slot = &member->slots[i];
        if (!member_is_named(slot->entry.node.name, name))
            continue;
        if (slot->state == CLUSTER_SLOT_UP)
            return slot;
        if (slot->state == CLUSTER_SLOT_DOWN &&
            (last == NULL || slot->down_order > last->down_order))
            last = slot;
    }
    return last;
}

static bool member_has_majority(const cluster_member *member)
{
    member_poll poll = {0};
    for (uint32_t i = 0; i < member->settings.seeds_count; i++) {
        const char *seed = member->settings.seeds[i];
        if (member_is_named(seed, member->self.name)) {
            poll_add(&poll, seed, true);
            continue;
        }
        const cluster_slot *last = member_last_of(member, seed);
        if (last != NULL && last->state == CLUSTER_SLOT_DOWN && last->why == CLUSTER_LEFT)
            continue;
        poll_add(&poll, seed, last != NULL && last->state == CLUSTER_SLOT_UP);
    }
    return poll_is_mine(&poll);
}

/* After each change of who is up. */
static void member_count(cluster_member *member)
{
    if (member->settings.seeds_count == 0 || member_is_over(member))
        return;
    bool before = member->minority;
    bool majority = member_has_majority(member);
    member->had_majority |= majority;
    member->minority = member->had_majority && !majority;
    if (member->minority == before)
        return;
    if (!member->minority)
        member->ops->majority(member->user);
    else if (member->settings.on_minority == CLUSTER_STOP)
        member_over(member, CLUSTER_MINORITY);
    else
        member->ops->minority(member->user);
}

bool cluster_member_is_outnumbered(const cluster_member *member)
{
    member_poll poll = {0};
    if (member->settings.seeds_count > 0)
        return member->minority;
    poll_add(&poll, member->self.name, true);
    for (uint32_t i = 0; i < member->used; i++) {
        const cluster_slot *slot = &member->slots[i];
        if (slot->state == CLUSTER_SLOT_UP || slot_is_disputed(slot))
            poll_add(&poll, slot->entry.node.name, slot->state == CLUSTER_SLOT_UP);
    }
    return !poll_is_mine(&poll);
}

/* ---- up and down ---- */

/* I4 */
static void slot_try_up(cluster_member *member, cluster_slot *slot)
{
    if (member->phase != CLUSTER_UP || member->store != CLUSTER_STORE_IS_THERE)
        return;
    if (slot->entry.phase != CLUSTER_UP)
        return;
    slot->state = CLUSTER_SLOT_UP;
    member->ops->up(member->user, &slot->entry.node);
    member_count(member);
}

/* A put that is due no later than this. */
static void member_put_by(cluster_member *member, int64_t due)
{
    if (due < member->due_at)
        member->due_at = due;
}

/* I1, I2. A put that follows at once leads to what becomes of one that lives on. */
static void slot_down(cluster_member *member, cluster_slot *slot, cluster_why why)
{
    if (member_is_over(member) || slot->state == CLUSTER_SLOT_DOWN)
        return;
    bool was_up = slot->state == CLUSTER_SLOT_UP;
    slot->state = CLUSTER_SLOT_DOWN;
    slot->why = why;
    slot->down_at = member->now;
    slot->down_order = ++member->downs;
    slot->mark = 0;
    if (slot_is_disputed(slot))
        member_put_by(member, member->now);
    if (was_up) {
        member->ops->down(member->user, &slot->entry.node, why);
        member_count(member);
    }
}

/* Its entry is not there any more; who is known by it alone is not. */
static void slot_forget(cluster_slot *slot)
{
    slot->present = false;
    if (slot->state == CLUSTER_SLOT_KNOWN)
        slot->state = CLUSTER_SLOT_FREE;
}

/* I6 */
static void member_expire(cluster_member *member)
{
    if (member->store != CLUSTER_STORE_IS_THERE)
        return;
    for (uint32_t i = 0; i < member->used; i++) {
        cluster_slot *slot = &member->slots[i];
        if (slot->state == CLUSTER_SLOT_FREE ||
            member->proved_at - slot->renewed_at < member->settings.lease_ns)
            continue;
        slot_forget(slot);
        if (slot->state == CLUSTER_SLOT_UP)
            slot_down(member, slot, CLUSTER_EXPIRED);
    }
}

static void member_suspect(cluster_member *member)
{
    const cluster_phi_settings *settings = &member->settings.phi;
    for (uint32_t i = 0; i < member->used; i++) {
        cluster_slot *slot = &member->slots[i];
        if (slot->state == CLUSTER_SLOT_UP &&
            cluster_phi_value(&slot->phi, settings, member->now) >= settings->threshold)
            slot_down(member, slot, CLUSTER_SUSPECTED);
    }
}

/* ---- time ---- */

/* Who does not run hears nobody: of a long gap between two calls one interval counts. */
static void member_time(cluster_member *member, int64_t now)
{
    int64_t gap = now - member->now;
    if (gap <= 0)
        return;
    member->now = now;
    if (gap <= 2 * member->settings.beat_ns)
        return;
    for (uint32_t i = 0; i < member->used; i++)
        cluster_phi_skip(&member->slots[i].phi, gap - member->settings.beat_ns);
}

/* ---- the own entry ---- */

/* I9 */
static void member_put(cluster_member *member)
{
    cluster_entry entry = {.node = member->self, .phase = member->wanted,
                           .revision = member->revision};
    if (member->revision == 0)
        entry.revision = member->holder.revision;
    if (!member->unsure)
        member->put_at = member->now;
    member->under_way = true;
    member->put_phase = entry.phase;
    member->ops->put(member->user, &entry);
}

static int64_t member_put_due(const cluster_member *member)
{
    int64_t over_at = member->holder_at + member->settings.lease_ns;
    if (member->under_way || member->store != CLUSTER_STORE_IS_THERE)
        return INT64_MAX;
    if (member->holder.revision != 0 && over_at > member->due_at)
        return over_at;
    return member->due_at;
}

/* What the watch has brought before an own revision is all that there was before it. */
static void member_prove(cluster_member *member)
{
    if (member->revision == 0 || member->seen != member->revision)
        return;
    if (member->revision_at > member->proved_at)
        member->proved_at = member->revision_at;
    member_expire(member);
}

/* I7. What becomes of one that is down and has an entry, behind a put of this node. One that has
 * put behind that may have removed this node: then it is tried again, at another time than its. */
static void member_settle_slot(cluster_member *member, cluster_slot *slot)
{
    if (member->revision_at < slot->down_at)
        member_put_by(member, member->now);
    else if (slot->mark == 0)
        slot->mark = member->revision;
    if (slot->entry.revision > member->revision)
        member_put_by(member, member->put_at + member->settings.beat_ns);
    else if (member->now >= member->evicts_at && !cluster_member_is_outnumbered(member))
        member->ops->remove(member->user, &slot->entry);
}

static void member_settle(cluster_member *member)
{
    for (uint32_t i = 0; i < member->used; i++) {
        if (slot_is_disputed(&member->slots[i]))
            member_settle_slot(member, &member->slots[i]);
    }
}

/* The own entry is in the store. */
static void member_has(cluster_member *member, uint64_t revision, cluster_phase phase)
{
    bool came_up = phase == CLUSTER_UP && member->phase != CLUSTER_UP;
    member->revision = revision;
    member->highest = revision;
    member->revision_at = member->put_at;
    member->unsure = false;
    member->joined = true;
    member->holder.revision = 0;
    member->phase = phase;
    if (member->removed > revision) {
        member_over(member, CLUSTER_EVICTED);
        return;
    }
    if (phase == CLUSTER_LEAVING) {
        member_over(member, CLUSTER_LEFT);
        return;
    }
    if (member->wanted == CLUSTER_JOINING)
        member->wanted = CLUSTER_UP;
    member->due_at = phase == member->wanted ? member->put_at + member->settings.lease_ns / 3
                                             : member->now;
    if (came_up)
        member_count(member);
    member_prove(member);
    if (!member_is_over(member))
        member_settle(member);
}

/* Another incarnation has the name. */
static void member_held(cluster_member *member, const cluster_entry *entry)
{
    if (member->joined) {
        member_over(member, CLUSTER_REPLACED);
        return;
    }
    if (member->holder.revision != entry->revision)
        member->holder_at = member->now;
    member->holder = *entry;
    if (member->refused_by != entry->node.incarnation) {
        member->refused_by = entry->node.incarnation;
        member->ops->refused(member->user, &entry->node);
    }
}

/* The put was refused as there is no entry: that of a holder, or the own one, is gone. */
static void member_missed(cluster_member *member)
{
    member->due_at = member->now;
    if (member->revision == 0 && member->holder.revision == 0)
        member->due_at += member->settings.beat_ns; /* it will be there by now */
    if (member->revision != 0)
        member->evicts_at = member->now + member->settings.lease_ns;
    member->phase = CLUSTER_OUTSIDE;
    member->revision = 0;
    member->holder.revision = 0;
    member->unsure = false;
}

void cluster_member_answer(cluster_member *member, int64_t now, cluster_answer answer,
                           const cluster_entry *there)
{
    if (member_is_over(member) || !member->under_way)
        return;
    member_time(member, now);
    member->under_way = false;
    switch (answer) {
    case CLUSTER_TAKEN:
        member_has(member, there->revision, member->put_phase);
        break;
    case CLUSTER_REFUSED:
        if (there->node.incarnation == member->self.incarnation)
            member_has(member, there->revision, there->phase);
        else
            member_held(member, there);
        break;
    case CLUSTER_REMOVED:
        if (member->joined)
            member_over(member, CLUSTER_EVICTED);
        else
            member_missed(member);
        break;
    case CLUSTER_MISSING:
        member_missed(member);
        break;
    case CLUSTER_UNKNOWN: /* tried again, unless the watch brings it */
        member->unsure = true;
        member->due_at = member->now + member->settings.beat_ns;
        break;
    }
}

/* ---- the watch ---- */

/* Of a store that has forgotten revisions mean nothing: what there is now is what counts. */
static void member_lists(cluster_member *member)
{
    member->seen = 0;
    member->highest = 0;
    member->removed = 0;
    member->holder.revision = 0;
    for (uint32_t i = 0; i < member->used; i++) {
        slot_forget(&member->slots[i]);
        member->slots[i].entry.revision = 0;
        member->slots[i].mark = 0;
    }
}

/* Whose entry was lost, by the store or while it was away, has a lease to put it again. */
static void member_listed(cluster_member *member)
{
    if (member->revision != 0 && member->seen == 0)
        member_missed(member);
    member->due_at = member->now;
    for (uint32_t i = 0; i < member->used; i++) {
        if (!member->slots[i].present)
            member->slots[i].renewed_at = member->now;
    }
}

void cluster_member_store(cluster_member *member, int64_t now, cluster_store_state state)
{
    if (member_is_over(member))
        return;
    member_time(member, now);
    member->store = state;
    if (state == CLUSTER_STORE_LISTS)
        member_lists(member);
    else if (state == CLUSTER_STORE_IS_THERE)
        member_listed(member);
}

/* Revisions up to the highest are of before this life, or known. A higher one of its own is of a
 * put whose answer comes later, or did not come. */
static void member_own_entry(cluster_member *member, const cluster_entry *entry)
{
    if (entry->node.incarnation != member->self.incarnation) {
        if (entry->revision > member->highest)
            member_held(member, entry);
        return;
    }
    member->seen = entry->revision;
    if (entry->revision > member->highest)
        member_has(member, entry->revision, entry->phase);
    else
        member_prove(member);
}

/* I3. Nobody else has the name of the entry; false: it is older than what is known. */
static bool member_claim(cluster_member *member, const cluster_entry *entry)
{
    for (uint32_t i = 0; i < member->used; i++) {
        const cluster_slot *slot = &member->slots[i];
        if (slot->present && slot->entry.revision > entry->revision &&
            member_is_named(slot->entry.node.name, entry->node.name))
            return false;
    }
    for (uint32_t i = 0; i < member->used; i++) {
        cluster_slot *slot = &member->slots[i];
        if (slot->state == CLUSTER_SLOT_FREE || member_same(&slot->entry.node, &entry->node) ||
            !member_is_named(slot->entry.node.name, entry->node.name))
            continue;
        slot_forget(slot);
        if (slot->state == CLUSTER_SLOT_UP)
            slot_down(member, slot, CLUSTER_REPLACED);
    }
    return !member_is_over(member);
}

static cluster_slot *member_slot(cluster_member *member, const cluster_entry *entry)
{
    cluster_slot *slot = slot_find(member, &entry->node);
    if (slot != NULL)
        return slot;
    slot = slot_take(member);
    if (slot == NULL) {
        member->ops->no_room(member->user, &entry->node);
        return NULL;
    }
    *slot = (cluster_slot){.state = CLUSTER_SLOT_KNOWN, .entry = {.node = entry->node}};
    cluster_phi_init(&slot->phi, &member->settings.phi);
    return slot;
}

/* One that is held down has put its entry again. Behind what this node has put since, it lives:
 * then one of the two has to be over. */
static void member_alive(cluster_member *member, const cluster_slot *slot)
{
    if (!slot_is_disputed(slot))
        return;
    member_put_by(member, member->put_at + member->settings.beat_ns);
    if (slot->mark != 0 && slot->entry.revision > slot->mark &&
        cluster_member_is_outnumbered(member))
        member_over(member, CLUSTER_OUTNUMBERED);
}

void cluster_member_entry(cluster_member *member, int64_t now, const cluster_entry *entry)
{
    if (member_is_over(member))
        return;
    member_time(member, now);
    if (member_is_named(entry->node.name, member->self.name)) {
        member_own_entry(member, entry);
        return;
    }
    if (!member_claim(member, entry))
        return;
    cluster_slot *slot = member_slot(member, entry);
    if (slot == NULL)
        return;
    if (slot->entry.revision != entry->revision)
        slot->renewed_at = member->now;
    slot->entry = *entry;
    slot->present = true;
    if (slot->state == CLUSTER_SLOT_DOWN)
        member_alive(member, slot);
    else if (entry->phase == CLUSTER_LEAVING)
        slot_down(member, slot, CLUSTER_LEFT);
}

static void member_own_gone(cluster_member *member, uint64_t revision, cluster_gone how)
{
    if (member->holder.revision != 0 && revision >= member->holder.revision) {
        member->holder.revision = 0;
        member->due_at = member->now;
    }
    if (how != CLUSTER_GONE_REMOVED)
        return;
    member->removed = revision;
    if (member->joined && revision > member->highest)
        member_over(member, CLUSTER_EVICTED);
}

void cluster_member_gone(cluster_member *member, int64_t now, const char *name, uint64_t revision,
                         cluster_gone how)
{
    if (member_is_over(member))
        return;
    member_time(member, now);
    if (member_is_named(name, member->self.name)) {
        member_own_gone(member, revision, how);
        return;
    }
    for (uint32_t i = 0; i < member->used; i++) {
        cluster_slot *slot = &member->slots[i];
        if (slot->state == CLUSTER_SLOT_FREE || slot->entry.revision > revision ||
            !member_is_named(slot->entry.node.name, name))
            continue;
        slot_forget(slot);
        if (slot->state == CLUSTER_SLOT_UP && how == CLUSTER_GONE_REMOVED)
            slot_down(member, slot, CLUSTER_EVICTED);
    }
}

/* ---- what else comes ---- */

/* I5 */
void cluster_member_heard(cluster_member *member, int64_t now, const axo_node *node,
                          uint64_t number)
{
    if (member_is_over(member))
        return;
    member_time(member, now);
    cluster_slot *slot = slot_find(member, node);
    if (slot == NULL || slot->state == CLUSTER_SLOT_DOWN || number <= slot->number) {
        member->stale++;
        return;
    }
    slot->number = number;
    cluster_phi_beat(&slot->phi, &member->settings.phi, member->now);
    if (slot->state == CLUSTER_SLOT_KNOWN)
        slot_try_up(member, slot);
}

void cluster_member_lost(cluster_member *member, int64_t now, const axo_node *node)
{
    if (member_is_over(member))
        return;
    member_time(member, now);
    cluster_slot *slot = slot_find(member, node);
    if (slot != NULL)
        slot_down(member, slot, CLUSTER_LOST);
}

void cluster_member_leave(cluster_member *member, int64_t now)
{
    if (member_is_over(member) || member->wanted == CLUSTER_LEAVING)
        return;
    member_time(member, now);
    member->wanted = CLUSTER_LEAVING;
    member->leave_at = member->now;
    member->due_at = member->now;
    if (!member->joined)
        member_over(member, CLUSTER_LEFT);
}

/* ---- what is due ---- */

void cluster_member_step(cluster_member *member, int64_t now)
{
    if (member_is_over(member))
        return;
    member_time(member, now);
    if (member->joined && member->now >= member->beat_at) {
        member->beat_at = member->now + member->settings.beat_ns;
        member->ops->beat(member->user, ++member->beats);
    }
    member_suspect(member);
    if (member->wanted == CLUSTER_LEAVING &&
        member->now - member->leave_at >= member->settings.lease_ns)
        member_over(member, CLUSTER_LEFT);
    if (!member_is_over(member) && member->now >= member_put_due(member))
        member_put(member);
}

int64_t cluster_member_due(const cluster_member *member)
{
    if (member_is_over(member))
        return INT64_MAX;
    int64_t due = member->now + member->settings.beat_ns;
    int64_t put = member_put_due(member);
    if (put < due)
        due = put;
    if (member->joined && member->beat_at < due)
        due = member->beat_at;
    if (member->wanted == CLUSTER_LEAVING && member->leave_at + member->settings.lease_ns < due)
        due = member->leave_at + member->settings.lease_ns;
    return due;
}

static const cluster_slot *slot_up(const cluster_member *member, const axo_node *node)
{
    for (uint32_t i = 0; i < member->used; i++) {
        const cluster_slot *slot = &member->slots[i];
        if (slot->state == CLUSTER_SLOT_UP && member_same(&slot->entry.node, node))
            return slot;
    }
    return NULL;
}

bool cluster_member_is_up(const cluster_member *member, const axo_node *node)
{
    return slot_up(member, node) != NULL;
}

double cluster_member_phi(const cluster_member *member, int64_t now, const axo_node *node)
{
    const cluster_slot *slot = slot_up(member, node);
    return slot != NULL ? cluster_phi_value(&slot->phi, &member->settings.phi, now) : 0;
}
