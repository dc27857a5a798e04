/* grain.c - actors that are there by name, one life of a name at a time. */
#include "grain.h"

#include <assert.h>
#include <string.h>

#include "records.h"

static void grain_route(cluster_grains *all, int64_t now, cluster_grain *grain);

static uint64_t grains_owner(const cluster_grains *all, uint64_t hash)
{
    return cluster_rendezvous_owner(&all->up, hash);
}

/* ---- when something is due ---- */

/* A state in which a message waits for a life no longer than it has to. */
static bool grain_seeks(const cluster_grain *grain)
{
    return grain->state <= CLUSTER_GRAIN_CLAIMING;
}

/* I5. The first has come first. */
static int64_t grain_gives_up_at(const cluster_grains *all, const cluster_grain *grain)
{
    if (grain->first == NULL)
        return INT64_MAX;
    int64_t since = grain->first->since;
    if (grain->seeking_since > since)
        since = grain->seeking_since;
    return since + all->settings.give_up_ns;
}

static int64_t grain_due(const cluster_grains *all, const cluster_grain *grain)
{
    if (grain->state == CLUSTER_GRAIN_LIVE)
        return grain->handled == NULL && grain->count == 0
                   ? grain->idle_since + grain->idle_ns
                   : INT64_MAX;
    if (grain->state == CLUSTER_GRAIN_ENDING)
        return INT64_MAX;
    int64_t due = grain->ask != 0 ? grain->asked_at + all->settings.lease.answer_ns
                                  : grain->retry_at;
    int64_t over = grain_seeks(grain) ? grain_gives_up_at(all, grain) : INT64_MAX;
    return over < due ? over : due;
}

/* In LIVE only what is due earlier is told: a time that has become later is found out when it has
 * come, so that a message does not move the record in the heap. */
static void grain_arm(cluster_grains *all, cluster_grain *grain)
{
    int64_t due = grain_due(all, grain);
    if (due != grain->due && (grain->state != CLUSTER_GRAIN_LIVE || due < grain->due))
        cluster_records_arm(all, grain, due);
}

/* ---- messages that wait ---- */

static void grains_dead(cluster_grains *all, const cluster_parcel *parcel, axo_status why)
{
    all->dead++;
    all->ops->dead(all->user, parcel, why);
}

static void grain_drop(cluster_grains *all, cluster_grain *grain)
{
    assert(grain->count == 0 && grain->handled == NULL);
    cluster_records_remove(all, grain);
}

/* ---- to other nodes ---- */

static void grains_forward(cluster_grains *all, const cluster_parcel *parcel, uint64_t to,
                           bool back)
{
    all->forwarded++;
    all->ops->forward(all->user, to, parcel, back);
}

/* I5: on to another node; back, if it was sent on too often; dead, if it has come back too often.
 * false: it stays here, and is tried again later. */
static bool grains_pass_on(cluster_grains *all, cluster_parcel *parcel, uint64_t to,
                           const cluster_lease_holder *holder)
{
    if (parcel->hops < all->settings.hops_max) {
        parcel->hops++;
        parcel->holder = holder != NULL ? *holder : (cluster_lease_holder){0};
        grains_forward(all, parcel, to, false);
        return true;
    }
    if (parcel->origin != all->node) {
        if (cluster_rendezvous_find(&all->up, parcel->origin) != NULL)
            grains_forward(all, parcel, parcel->origin, true);
        else
            grains_dead(all, parcel, AXO_EGONE);
        return true;
    }
    if (parcel->tries >= all->settings.tries_max) {
        grains_dead(all, parcel, AXO_EGONE);
        return true;
    }
    parcel->tries++;
    parcel->hops = 0;
    return false;
}

static void grain_wait(cluster_grains *all, int64_t now, cluster_grain *grain)
{
    grain->state = CLUSTER_GRAIN_WAITING;
    grain->ask = 0;
    grain->retry_at = now + all->settings.lease.pause_ns;
    grain_arm(all, grain);
}

/* All that waits goes to the owner, or to who holds the claim; what stays is tried later. */
static void grain_pass_on(cluster_grains *all, int64_t now, cluster_grain *grain, uint64_t to,
                          const cluster_lease_holder *holder)
{
    for (uint32_t left = grain->count; left > 0; left--) {
        cluster_box *box = cluster_records_pop(all, grain);
        if (grains_pass_on(all, &box->parcel, to, holder))
            cluster_box_free(all, box);
        else
            cluster_records_push(all, grain, box);
    }
    if (grain->count == 0)
        grain_drop(all, grain);
    else
        grain_wait(all, now, grain);
}

/* ---- the claim ---- */

static uint64_t grain_ask(cluster_grains *all, int64_t now, cluster_grain *grain,
                          cluster_grain_state state)
{
    grain->state = state;
    grain->ask = ++all->asks << CLUSTER_RECORDS_BITS | (grain->hash & all->mask);
    grain->asked_at = now;
    grain_arm(all, grain);
    return grain->ask;
}

static void grain_read(cluster_grains *all, int64_t now, cluster_grain *grain)
{
    if (!cluster_lease_covers(&all->lease, now)) {
        grain_wait(all, now, grain);
        return;
    }
    uint64_t ask = grain_ask(all, now, grain, CLUSTER_GRAIN_READING);
    all->ops->store.get(all->user, ask, (cluster_store_key){.name = &grain->name});
}

static void grain_look(cluster_grains *all, int64_t now, cluster_grain *grain)
{
    uint64_t ask = grain_ask(all, now, grain, CLUSTER_GRAIN_LOOKING);
    all->ops->store.get(all->user, ask,
                        (cluster_store_key){.incarnation = grain->claim.holder.incarnation});
}

static void grain_fence(cluster_grains *all, int64_t now, cluster_grain *grain)
{
    uint64_t ask = grain_ask(all, now, grain, CLUSTER_GRAIN_FENCING);
    all->ops->store.remove(all->user, ask,
                           (cluster_store_key){.incarnation = grain->claim.holder.incarnation},
                           grain->lease_revision);
}

/* The claim is put by the revision that was read, also where it is this node's: a call from before
 * that is still on its way names an older one, and changes nothing any more. */
static void grain_claim(cluster_grains *all, int64_t now, cluster_grain *grain)
{
    grain->term = all->lease.me.term;
    uint64_t ask = grain_ask(all, now, grain, CLUSTER_GRAIN_CLAIMING);
    all->ops->store.put(all->user, ask, (cluster_store_key){.name = &grain->name},
                        grain->claim.revision, &all->lease.me);
}

static void grain_release(cluster_grains *all, int64_t now, cluster_grain *grain)
{
    uint64_t ask = grain_ask(all, now, grain, CLUSTER_GRAIN_RELEASING);
    all->ops->store.remove(all->user, ask, (cluster_store_key){.name = &grain->name}, grain->fence);
}

/* Where no life is and none is sought: what waits finds its way anew. */
static void grain_route(cluster_grains *all, int64_t now, cluster_grain *grain)
{
    uint64_t owner = grains_owner(all, grain->hash);
    grain->ask = 0;
    if (grain->count == 0)
        grain_drop(all, grain);
    else if (owner == all->node)
        grain_read(all, now, grain);
    else if (owner == 0)
        grain_wait(all, now, grain);
    else
        grain_pass_on(all, now, grain, owner, NULL);
}

/* ---- lives ---- */

static void grain_end(cluster_grains *all, cluster_grain *grain)
{
    grain->state = CLUSTER_GRAIN_ENDING;
    grain_arm(all, grain);
    all->ops->end(all->user, grain);
}

static void grain_begin(cluster_grains *all, int64_t now, cluster_grain *grain)
{
    grain->state = CLUSTER_GRAIN_LIVE;
    grain->ask = 0;
    grain->idle_since = now;
    grain->idle_ns = all->settings.idle_ns;
    if (!all->ops->begin(all->user, grain)) {
        grain->unborn = true;
        grain_release(all, now, grain);
        return;
    }
    all->lives++;
    grain_arm(all, grain);
    all->ops->ready(all->user, grain);
}

static void grain_claimed(cluster_grains *all, int64_t now, cluster_grain *grain, uint64_t revision)
{
    grain->fence = revision;
    if (grains_owner(all, grain->hash) == all->node)
        grain_begin(all, now, grain);
    else
        grain_release(all, now, grain);
}

static void grain_released(cluster_grains *all, int64_t now, cluster_grain *grain)
{
    bool unborn = grain->unborn;
    grain->unborn = false;
    if (unborn && grain->count > 0)
        grain_wait(all, now, grain);
    else
        grain_route(all, now, grain);
}

bool cluster_grain_take(cluster_grains *all, int64_t now, cluster_grain *grain,
                        cluster_parcel *parcel)
{
    if (grain->state != CLUSTER_GRAIN_LIVE || grain->handled != NULL || grain->count == 0 ||
        !cluster_lease_covers(&all->lease, now)) /* I1 */
        return false;
    grain->handled = cluster_records_pop(all, grain);
    *parcel = grain->handled->parcel;
    all->taken++;
    return true;
}

void cluster_grain_done(cluster_grains *all, int64_t now, cluster_grain *grain)
{
    assert(grain->handled != NULL);
    cluster_box_free(all, grain->handled);
    grain->handled = NULL;
    grain->idle_since = now;
    grain_arm(all, grain);
}

void cluster_grain_untake(cluster_grains *all, cluster_grain *grain)
{
    assert(grain->handled != NULL);
    cluster_records_unpop(all, grain, grain->handled);
    grain->handled = NULL;
    all->taken--;
}

/* What was claimed by a term that is lost needs no release: it is nobody's. */
static bool grain_holds(const cluster_grains *all, const cluster_grain *grain)
{
    return all->lease.held && all->lease.me.term == grain->term;
}

/* ---- the lease is lost ---- */

static void grain_lost(cluster_grains *all, int64_t now, cluster_grain *grain)
{
    switch (grain->state) {
    case CLUSTER_GRAIN_READING:
    case CLUSTER_GRAIN_LOOKING:
    case CLUSTER_GRAIN_FENCING:
    case CLUSTER_GRAIN_CLAIMING: /* I7: that claim, should it be carried out, is of the lost term */
        grain_wait(all, now, grain);
        break;
    case CLUSTER_GRAIN_LIVE:
        grain_end(all, grain);
        break;
    case CLUSTER_GRAIN_RELEASING:
        grain_released(all, now, grain);
        break;
    case CLUSTER_GRAIN_WAITING:
    case CLUSTER_GRAIN_ENDING:
        break;
    }
}

/* A record may go by it, but no other than itself. */
static void grains_each(cluster_grains *all, int64_t now,
                        void (*what)(cluster_grains *all, int64_t now, cluster_grain *grain))
{
    for (uint32_t i = 0; i <= all->mask; i++) {
        for (cluster_grain *grain = all->table[i], *next; grain != NULL; grain = next) {
            next = grain->next;
            what(all, now, grain);
        }
    }
}

static void grains_look(cluster_grains *all, int64_t now)
{
    if (all->lost == all->lease.lost)
        return;
    all->lost = all->lease.lost;
    grains_each(all, now, grain_lost);
}

void cluster_grain_ended(cluster_grains *all, int64_t now, cluster_grain *grain)
{
    assert(grain->state == CLUSTER_GRAIN_LIVE || grain->state == CLUSTER_GRAIN_ENDING);
    all->lives--;
    if (grain->handled != NULL)
        cluster_box_free(all, grain->handled);
    grain->handled = NULL;
    grain->life = NULL;
    grain->seeking_since = now;
    if (grain_holds(all, grain))
        grain_release(all, now, grain);
    else
        grain_route(all, now, grain);
}

/* ---- answers ---- */

/* Whose claim it is decides. One of this node may be there though it has no life here: a call was
 * carried out late. If the name is another's by now, that one is told of it by its release. */
static void grain_was_read(cluster_grains *all, int64_t now, cluster_grain *grain,
                           const cluster_store_record *record)
{
    uint64_t owner = grains_owner(all, grain->hash);
    const cluster_lease_holder *me = &all->lease.me;
    bool mine = record->revision != 0 && record->holder.incarnation == me->incarnation;
    grain->claim = *record;
    if (owner != all->node && mine && record->holder.term == me->term) {
        grain->fence = record->revision;
        grain->term = me->term;
        grain_release(all, now, grain);
    } else if (owner != all->node) {
        grain_route(all, now, grain);
    } else if (record->revision == 0 || mine) {
        grain_claim(all, now, grain);
    } else {
        grain_look(all, now, grain);
    }
}

static void grain_looked(cluster_grains *all, int64_t now, cluster_grain *grain,
                         const cluster_store_record *record)
{
    const cluster_lease_holder *holder = &grain->claim.holder;
    const cluster_rendezvous_place *place;
    switch (cluster_lease_judge(&all->lease, now, holder, record)) {
    case CLUSTER_LEASE_GONE:
        grain_claim(all, now, grain);
        break;
    case CLUSTER_LEASE_SILENT:
        grain->lease_revision = record->revision;
        grain_fence(all, now, grain);
        break;
    case CLUSTER_LEASE_THERE:
        place = cluster_rendezvous_find(&all->up, holder->node);
        if (place != NULL && place->incarnation == holder->incarnation)
            grain_pass_on(all, now, grain, holder->node, holder);
        else
            grain_wait(all, now, grain);
        break;
    }
}

/* A conflict of a claim: another was faster. Of a fence: the lease is renewed. Of a release: it is
 * not there any more, by an earlier call. */
static void grain_answered(cluster_grains *all, int64_t now, cluster_grain *grain,
                           cluster_store_answer answer, const cluster_store_record *record)
{
    bool done = answer == CLUSTER_STORE_DONE;
    switch (grain->state) {
    case CLUSTER_GRAIN_READING:
        grain_was_read(all, now, grain, record);
        break;
    case CLUSTER_GRAIN_LOOKING:
        grain_looked(all, now, grain, record);
        break;
    case CLUSTER_GRAIN_FENCING:
        if (done)
            grain_claim(all, now, grain);
        else
            grain_wait(all, now, grain);
        break;
    case CLUSTER_GRAIN_CLAIMING:
        if (done)
            grain_claimed(all, now, grain, record->revision);
        else
            grain_read(all, now, grain);
        break;
    case CLUSTER_GRAIN_RELEASING:
        grain_released(all, now, grain);
        break;
    case CLUSTER_GRAIN_WAITING:
    case CLUSTER_GRAIN_LIVE:
    case CLUSTER_GRAIN_ENDING: /* these have no call */
        assert(false);
    }
}

/* What failed may be carried out, now or later: a claim is read again; a release is asked again. */
static void grain_failed(cluster_grains *all, int64_t now, cluster_grain *grain)
{
    if (grain->state != CLUSTER_GRAIN_RELEASING) {
        grain_wait(all, now, grain);
        return;
    }
    grain->ask = 0;
    grain->retry_at = now + all->settings.lease.pause_ns;
    grain_arm(all, grain);
}

void cluster_grains_answer(cluster_grains *all, int64_t now, uint64_t ask,
                           cluster_store_answer answer, const cluster_store_record *record)
{
    cluster_lease_step(&all->lease, now);
    grains_look(all, now); /* first: what is lost by now is not claimed by an answer */
    if (cluster_lease_answer(&all->lease, now, ask, answer, record)) {
        grains_look(all, now);
        return;
    }
    cluster_grain *grain = cluster_records_asked(all, ask);
    if (grain == NULL) /* I7 */
        return;
    grain->ask = 0;
    if (answer == CLUSTER_STORE_FAILED)
        grain_failed(all, now, grain);
    else
        grain_answered(all, now, grain, answer, record);
}

/* ---- messages ---- */

static axo_status grains_is_fit(const cluster_grains *all, const cluster_parcel *parcel)
{
    if (parcel->name.size == 0 || parcel->name.size > CLUSTER_GRAIN_KEY_MAX)
        return AXO_EINVAL;
    return parcel->size <= all->settings.body_max ? AXO_OK : AXO_ETOOBIG;
}

/* Keeps a message with the record of its name, which may be made for it. I4. */
static axo_status grains_keep(cluster_grains *all, int64_t now, cluster_grain **grain,
                              uint64_t hash, const cluster_parcel *parcel)
{
    if (all->waiting >= all->settings.messages_max)
        return AXO_ELIMIT;
    if (*grain != NULL && (*grain)->count >= all->settings.waiting_max)
        return AXO_EFULL;
    if (*grain == NULL && all->count >= all->settings.grains_max)
        return AXO_ELIMIT;
    cluster_box *box = cluster_box_make(all, now, parcel);
    if (box == NULL)
        return AXO_ENOMEM;
    if (*grain == NULL) {
        *grain = cluster_records_add(all, hash, &parcel->name);
        if (*grain == NULL) {
            cluster_box_free(all, box);
            return AXO_ENOMEM;
        }
        (*grain)->seeking_since = now;
    }
    cluster_records_push(all, *grain, box);
    return AXO_OK;
}

/* There is a claim by this node's lease, says who sent it on. */
static bool grains_is_marked(const cluster_grains *all, const cluster_parcel *parcel)
{
    return all->lease.held && parcel->holder.incarnation == all->lease.me.incarnation &&
           parcel->holder.term == all->lease.me.term;
}

/* Into the record that there is; a new one, if this is the place; else to where the place is.
 * `stays`: it has been sent on, or around, too often, and is tried later. */
static axo_status grains_accept(cluster_grains *all, int64_t now, cluster_parcel *parcel,
                                bool stays)
{
    uint64_t hash = cluster_rendezvous_key(parcel->name.kind, parcel->name.key, parcel->name.size);
    cluster_grain *grain = cluster_records_find(all, hash, &parcel->name);
    uint64_t owner = grains_owner(all, hash);
    bool is_new = grain == NULL;
    if (is_new && !stays && owner != 0 && owner != all->node && !grains_is_marked(all, parcel)) {
        if (grains_pass_on(all, parcel, owner, NULL)) {
            all->accepted++;
            return AXO_OK;
        }
        stays = true;
    }
    axo_status status = grains_keep(all, now, &grain, hash, parcel);
    if (status != AXO_OK)
        return status;
    all->accepted++;
    if (is_new && (stays || owner == 0))
        grain_wait(all, now, grain);
    else if (is_new)
        grain_read(all, now, grain);
    else if (grain->state == CLUSTER_GRAIN_LIVE && grain->count == 1)
        all->ops->ready(all->user, grain);
    return AXO_OK;
}

axo_status cluster_grains_send(cluster_grains *all, int64_t now, const cluster_parcel *parcel)
{
    axo_status status = grains_is_fit(all, parcel);
    if (status == AXO_OK) {
        cluster_parcel mine = {.name = parcel->name, .origin = all->node, .size = parcel->size,
                               .body = parcel->body};
        status = grains_accept(all, now, &mine, false);
    }
    all->refused += status != AXO_OK;
    return status;
}

/* I5: it has come back; and what cannot be kept was accepted by another node. */
void cluster_grains_arrive(cluster_grains *all, int64_t now, const cluster_parcel *parcel,
                           bool back)
{
    cluster_parcel it = *parcel;
    axo_status status = grains_is_fit(all, &it);
    if (it.origin == 0 || (back && it.origin != all->node))
        status = AXO_EINVAL;
    if (status == AXO_OK) {
        bool tried = back && it.tries >= all->settings.tries_max;
        it.tries += back;
        it.hops = back ? 0 : it.hops;
        status = tried ? AXO_EGONE : grains_accept(all, now, &it, back);
    }
    if (status == AXO_OK)
        return;
    all->accepted++;
    grains_dead(all, &it, status);
}

/* ---- who is there ---- */

static void grain_moved(cluster_grains *all, int64_t now, cluster_grain *grain)
{
    if (grain->state == CLUSTER_GRAIN_LIVE && grains_owner(all, grain->hash) != all->node)
        grain_end(all, grain);
    else if (grain->state == CLUSTER_GRAIN_WAITING)
        grain_route(all, now, grain);
}

axo_status cluster_grains_up(cluster_grains *all, int64_t now, uint64_t node, uint64_t incarnation)
{
    if (!cluster_rendezvous_add(&all->up, node, incarnation))
        return AXO_ELIMIT;
    grains_each(all, now, grain_moved);
    return AXO_OK;
}

void cluster_grains_down(cluster_grains *all, int64_t now, uint64_t node)
{
    cluster_rendezvous_remove(&all->up, node);
    grains_each(all, now, grain_moved);
}

/* ---- time ---- */

/* I5. false: there was nothing else, and the record is no more. */
static bool grain_gave_up(cluster_grains *all, int64_t now, cluster_grain *grain)
{
    while (grain->count > 0 && now >= grain_gives_up_at(all, grain)) {
        cluster_box *box = cluster_records_pop(all, grain);
        grains_dead(all, &box->parcel, AXO_ETIMEDOUT);
        cluster_box_free(all, box);
    }
    if (grain->count > 0)
        return false;
    grain_drop(all, grain);
    return true;
}

/* Something of a record is due, or seemed to be. */
static void grain_step(cluster_grains *all, int64_t now, cluster_grain *grain)
{
    bool late = grain->ask != 0 ? now - grain->asked_at >= all->settings.lease.answer_ns
                                : now >= grain->retry_at;
    if (grain_seeks(grain) && grain_gave_up(all, now, grain))
        return;
    if (grain->state == CLUSTER_GRAIN_LIVE && now >= grain_due(all, grain))
        grain_end(all, grain);
    else if (grain->state == CLUSTER_GRAIN_RELEASING && late)
        grain_release(all, now, grain);
    else if (grain->state == CLUSTER_GRAIN_WAITING && late)
        grain_route(all, now, grain);
    else if (grain_seeks(grain) && late)
        grain_read(all, now, grain);
    else
        cluster_records_arm(all, grain, grain_due(all, grain));
}

void cluster_grains_step(cluster_grains *all, int64_t now)
{
    cluster_lease_step(&all->lease, now);
    grains_look(all, now);
    while (all->count > 0 && all->heap[0]->due <= now) /* what was due is due later, or no more */
        grain_step(all, now, all->heap[0]);
}

int64_t cluster_grains_due(const cluster_grains *all)
{
    int64_t due = cluster_lease_due(&all->lease);
    return all->count > 0 && all->heap[0]->due < due ? all->heap[0]->due : due;
}

/* ---- begin and end ---- */

axo_status cluster_grains_init(cluster_grains *all, const cluster_grain_settings *settings,
                               const cluster_grain_ops *ops, void *user, uint64_t node,
                               uint64_t incarnation)
{
    assert(settings->grains_max > 0 && settings->grains_max <= 1u << CLUSTER_RECORDS_BITS);
    assert(settings->messages_max > 0 && settings->waiting_max > 0 && settings->hops_max > 0);
    assert(settings->idle_ns > 0 && settings->give_up_ns > 0);
    memset(all, 0, sizeof *all);
    all->ops = ops;
    all->user = user;
    all->settings = *settings;
    all->node = node;
    cluster_lease_init(&all->lease, &settings->lease, &ops->store, user, node, incarnation);
    return cluster_records_init(all);
}

static void grain_fini(cluster_grains *all, int64_t now, cluster_grain *grain)
{
    (void)now;
    if (grain->handled != NULL)
        cluster_box_free(all, grain->handled);
    grain->handled = NULL;
    while (grain->count > 0) {
        cluster_box *box = cluster_records_pop(all, grain);
        grains_dead(all, &box->parcel, AXO_ESTOPPING);
        cluster_box_free(all, box);
    }
    grain_drop(all, grain);
}

void cluster_grains_fini(cluster_grains *all)
{
    grains_each(all, 0, grain_fini);
    cluster_records_fini(all);
}

void cluster_grains_check(const cluster_grains *all)
{
    uint64_t waiting = 0;
    uint32_t lives = 0;
    for (uint32_t i = 0; i < all->count; i++) {
        const cluster_grain *grain = all->heap[i];
        bool lives_now = grain->state == CLUSTER_GRAIN_LIVE || grain->state == CLUSTER_GRAIN_ENDING;
        assert(grain->index == i && all->heap[i > 0 ? (i - 1) / 2 : 0]->due <= grain->due);
        assert(cluster_records_find(all, grain->hash, &grain->name) == grain);
        assert(grain->count > 0 || !grain_seeks(grain));
        assert(grain->count <= all->settings.waiting_max + 1);
        assert(grain->handled == NULL || lives_now);
        if (lives_now || grain->state == CLUSTER_GRAIN_WAITING)
            assert(grain->ask == 0); /* I7 */
        else if (grain->state != CLUSTER_GRAIN_RELEASING)
            assert(grain->ask != 0);
        if (grain->state == CLUSTER_GRAIN_LIVE)
            assert(grain_holds(all, grain) && grain->fence != 0);
        waiting += grain->count;
        lives += lives_now;
    }
    assert(waiting == all->waiting && lives == all->lives);
    assert(all->accepted == all->taken + all->forwarded + all->dead + all->waiting); /* I3 */
    assert(all->count <= all->settings.grains_max &&
           all->waiting <= all->settings.messages_max + all->count);
}
