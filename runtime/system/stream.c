/* stream.c - the event stream: places, rules, and telling the subscribers.
 *
 * Events are published far more often than rules change, so a publisher reads places without a lock
 * (a sequence lock per place) and writes nothing shared. Before that, core->wants answers with one
 * load whether any subscriber could want the event at all; most events end there.
 */
#include "system/stream.h"

#include "sched/ready.h"

#include <string.h>

AXO_STATIC_ASSERT(AXO_KINDS_MAX <= 32, "a bit for each rule");

/* A copy of a place, as the holder of the mutex or a careful reader sees it. */
typedef struct stream_rules {
    uint64_t who;
    uint32_t count;
    uint32_t yes;
    uint32_t kinds[AXO_KINDS_MAX];
} stream_rules;

bool axo__kind_contains(uint32_t wide, uint32_t kind)
{
    uint32_t mask = 0;
    /* The lowest byte that is not 0 is the last of the path: it says how much must be equal. */
    if ((wide & 0xff) != 0)
        mask = UINT32_MAX;
    else if ((wide & 0xffff) != 0)
        mask = 0xffffff00;
    else if ((wide & 0xffffff) != 0)
        mask = 0xffff0000;
    else if (wide != 0)
        mask = 0xff000000;
    return (kind & mask) == wide;
}

/* Whether the rules want an event of this kind. Of two kinds that contain the event's, the narrower
 * one is the greater number, so the maximum decides. */
static bool stream_decides(const stream_rules *rules, uint32_t kind)
{
    AXO_DEBUG_ASSERT(rules->count <= AXO_KINDS_MAX);
    bool yes = false;
    uint32_t narrowest = 0;
    for (uint32_t i = 0; i < rules->count; i++) {
        if (!axo__kind_contains(rules->kinds[i], kind) || rules->kinds[i] < narrowest)
            continue;
        narrowest = rules->kinds[i];
        yes = (rules->yes >> i & 1) != 0;
    }
    return yes;
}

/* ---- places ---- */

/* Reads a place without a lock; false: a writer was inside, and `rules` may be of two versions. */
static bool stream_read(const axo__place *place, stream_rules *rules)
{
    /* Pairs with the last store of stream_write_locked: an even version brings the fields of that
     * write or later ones. */
    uint32_t version = axo__a32_load_acquire(&place->version); /* [E4] */
    /* Each load pairs with the store release of the same field in stream_write_locked. If it
     * returns a newer value, the odd version stored before that value is visible, too, and the
     * second look at `version` below differs. A publisher therefore never acts on a mixture of two
     * versions. */
    rules->who = axo__a64_load_acquire(&place->who);           /* [E5] */
    rules->count = axo__a32_load_acquire(&place->count);       /* [E5] */
    rules->yes = axo__a32_load_acquire(&place->yes);           /* [E5] */
    for (uint32_t i = 0; i < AXO_KINDS_MAX && i < rules->count; i++)
        rules->kinds[i] = axo__a32_load_acquire(&place->kinds[i]); /* [E5] */
    return (version & 1) == 0 && axo__a32_load_relaxed(&place->version) == version; /* [E6] */
}

/* Reads a place for a publisher. If a writer is inside, the publisher waits for the mutex instead
 * of skipping the place: rules that are not being changed hold before and after, and their events
 * must not be lost. */
static void stream_look(axo__stream *stream, const axo__place *place, stream_rules *rules)
{
    if (axo__likely(stream_read(place, rules)))
        return;
    axo__os_mutex_lock(&stream->mutex);
    (void)stream_read(place, rules);
    axo__os_mutex_unlock(&stream->mutex);
}

/* Changes a place so that a publisher's stream_read fails while it lasts. The odd version is
 * relaxed: the release stores of the fields carry it along. */
static void stream_write_locked(axo__place *place, const stream_rules *rules)
{
    uint32_t version = axo__a32_load_relaxed(&place->version);
    AXO_DEBUG_ASSERT((version & 1) == 0 && rules->count <= AXO_KINDS_MAX);
    AXO_DEBUG_ASSERT((rules->who != 0) == (rules->yes != 0)); /* I1 */
    axo__a32_store_relaxed(&place->version, version + 1); /* [E1] */
    axo__a64_store_release(&place->who, rules->who);      /* [E2] */
    axo__a32_store_release(&place->count, rules->count);  /* [E2] */
    axo__a32_store_release(&place->yes, rules->yes);      /* [E2] */
    for (uint32_t i = 0; i < rules->count; i++)
        axo__a32_store_release(&place->kinds[i], rules->kinds[i]); /* [E2] */
    /* Pairs with the first load of stream_read: a publisher that reads this version reads all
     * fields. */
    axo__a32_store_release(&place->version, version + 2); /* [E3] */
}

static axo__places *stream_next(const axo__places *places)
{
    /* Pairs with the store release in stream_take_locked: the places of a new block are zeroed
     * before a publisher walks them. */
    return axo__aptr_load_acquire(&places->next); /* [E7] */
}

/* The place of `who`, or (0) a free place; NULL: none. I2 makes the first one the only one. */
static axo__place *stream_find_locked(axo__stream *stream, uint64_t who)
{
    for (axo__places *places = &stream->first; places != NULL; places = stream_next(places)) {
        for (uint32_t i = 0; i < places->count; i++) {
            if (axo__a64_load_relaxed(&places->all[i].who) == who)
                return &places->all[i];
        }
    }
    return NULL;
}

/* Keeps I4: adds `change` for each rule of a place that says yes. */
static void stream_count_locked(axo__stream *stream, const stream_rules *rules, uint32_t change)
{
    for (uint32_t i = 0; i < rules->count; i++) {
        if ((rules->yes >> i & 1) == 0)
            continue;
        AXO_DEBUG_ASSERT(change == 1 || stream->count[rules->kinds[i] >> 24] > 0); /* I4 */
        stream->count[rules->kinds[i] >> 24] += change;
    }
}

/* Writes core->wants from the counts. Relaxed: a publisher that reads an old bit acts as if it had
 * published before the subscription, and no other data hangs from the bit. */
static void stream_show_locked(axo__stream *stream)
{
    for (uint32_t word = 0; word < 4; word++) {
        uint64_t bits = stream->count[0] > 0 ? UINT64_MAX : 0;
        for (uint32_t bit = 0; bit < 64; bit++) {
            if (stream->count[word * 64 + bit] > 0)
                bits |= UINT64_C(1) << bit;
        }
        axo__a64_store_relaxed(&stream->core->wants[word], bits);
    }
}

/* Puts other rules into a place, and keeps the counts and core->wants with it. */
static void stream_put_locked(axo__stream *stream, axo__place *place, const stream_rules *old,
                              const stream_rules *rules)
{
    stream_count_locked(stream, old, UINT32_MAX);
    stream_count_locked(stream, rules, 1);
    stream_write_locked(place, rules);
    stream_show_locked(stream);
}

/* Frees a place. The mutex excludes writers, so the read cannot fail. */
static void stream_free_locked(axo__stream *stream, axo__place *place)
{
    AXO_DEBUG_ASSERT(axo__a64_peek_owner(&place->who) != 0);
    stream_rules old;
    stream_rules none = {.who = 0};
    (void)stream_read(place, &old);
    stream_put_locked(stream, place, &old, &none);
}

/* Frees the places of dead subscribers (ES-02): at the latest when places run out. */
static bool stream_sweep_locked(axo__stream *stream)
{
    bool any = false;
    for (axo__places *places = &stream->first; places != NULL; places = stream_next(places)) {
        for (uint32_t i = 0; i < places->count; i++) {
            axo_ref who = {axo__a64_load_relaxed(&places->all[i].who)};
            if (axo_ref_is_none(who) || axo__table_find(&stream->core->table, who) != NULL)
                continue;
            stream_free_locked(stream, &places->all[i]);
            any = true;
        }
    }
    return any;
}

/* Takes a free place: one that is there, one of a dead subscriber, one of a new block. NULL: no
 * memory. */
static axo__place *stream_take_locked(axo__stream *stream)
{
    axo__place *place = stream_find_locked(stream, 0);
    if (place != NULL)
        return place;
    if (stream_sweep_locked(stream))
        return stream_find_locked(stream, 0);
    size_t size = sizeof(axo__places) + AXO__PLACES_MORE * sizeof(axo__place);
    axo__places *more = axo__heap_alloc(&stream->core->heap, size, AXO__CACHE_LINE,
                                        AXO__SITE_STREAM);
    if (more == NULL)
        return NULL;
    memset((void *)more, 0, size);
    more->count = AXO__PLACES_MORE;
    more->all = (axo__place *)(void *)(more + 1);
    /* The new block is put behind the first one: walks that are under way see it or do not, and
     * either is right. */
    axo__aptr_store_relaxed(&more->next, stream_next(&stream->first));
    axo__aptr_store_release(&stream->first.next, more); /* [E7] */
    return &more->all[0];
}

/* ---- rules ---- */

/* Takes out the rules under `kind`; true: one of them said `yes`. The new rule for `kind` will say
 * the same for all of them. */
static bool stream_cut(stream_rules *rules, uint32_t kind, bool yes)
{
    stream_rules kept = {.who = rules->who};
    bool any = false;
    for (uint32_t i = 0; i < rules->count; i++) {
        bool says = (rules->yes >> i & 1) != 0;
        if (axo__kind_contains(kind, rules->kinds[i])) {
            any = any || says == yes;
            continue;
        }
        kept.yes |= (uint32_t)says << kept.count;
        kept.kinds[kept.count++] = rules->kinds[i];
    }
    *rules = kept;
    return any;
}

/* Makes the answer under `kind` `yes` or no. AXO_EEXIST: the answer was that already for every kind
 * under it. */
static axo_status stream_rule(stream_rules *rules, uint32_t kind, bool yes)
{
    bool before = stream_decides(rules, kind);
    bool changed = stream_cut(rules, kind, !yes) || before != yes;
    if (!changed)
        return AXO_EEXIST;
    if (stream_decides(rules, kind) == yes)
        return AXO_OK; /* I3: a wider rule says so, and a rule of its own would be superfluous */
    if (rules->count == AXO_KINDS_MAX)
        return AXO_ELIMIT;
    rules->yes |= (uint32_t)yes << rules->count;
    rules->kinds[rules->count++] = kind;
    return AXO_OK;
}

static axo_status stream_subscribe_locked(axo__stream *stream, axo_ref who, uint32_t kind)
{
    stream_rules old = {.who = who.bits};
    axo__place *place = stream_find_locked(stream, who.bits);
    /* A subscriber that has ended cannot be told, and its place is freed at once: its reference
     * never comes back to life. */
    if (axo__table_find(&stream->core->table, who) == NULL) {
        if (place != NULL)
            stream_free_locked(stream, place);
        return AXO_EGONE; /* ES-02 */
    }
    if (place != NULL)
        (void)stream_read(place, &old);
    stream_rules rules = old;
    axo_status status = stream_rule(&rules, kind, true);
    if (status != AXO_OK)
        return status;
    if (place == NULL)
        place = stream_take_locked(stream);
    if (place == NULL)
        return AXO_ENOMEM;
    stream_put_locked(stream, place, &old, &rules);
    return AXO_OK;
}

axo_status axo__stream_subscribe(axo__stream *stream, axo_ref who, uint32_t kind)
{
    axo__os_mutex_lock(&stream->mutex);
    axo_status status = stream_subscribe_locked(stream, who, kind);
    axo__os_mutex_unlock(&stream->mutex);
    return status;
}

static axo_status stream_unsubscribe_locked(axo__stream *stream, axo_ref who, uint32_t kind)
{
    stream_rules old;
    axo__place *place = stream_find_locked(stream, who.bits);
    if (place == NULL)
        return AXO_ENOENT;
    (void)stream_read(place, &old);
    stream_rules rules = old;
    axo_status status = stream_rule(&rules, kind, false);
    if (status != AXO_OK)
        return status == AXO_EEXIST ? AXO_ENOENT : status;
    if (rules.yes == 0)
        rules = (stream_rules){.who = 0}; /* I1 */
    stream_put_locked(stream, place, &old, &rules);
    return AXO_OK;
}

axo_status axo__stream_unsubscribe(axo__stream *stream, axo_ref who, uint32_t kind)
{
    axo__os_mutex_lock(&stream->mutex);
    axo_status status = stream_unsubscribe_locked(stream, who, kind);
    axo__os_mutex_unlock(&stream->mutex);
    return status;
}

/* ---- telling ---- */

/* Frees the place of a dead subscriber that a publisher has met. The second look at `who`, under
 * the mutex, spares a place that another actor has taken meanwhile. */
static void stream_bury(axo__stream *stream, axo__place *place, uint64_t who)
{
    axo__os_mutex_lock(&stream->mutex);
    if (axo__a64_load_relaxed(&place->who) == who)
        stream_free_locked(stream, place);
    axo__os_mutex_unlock(&stream->mutex);
}

/* Sends an event as a message of the runtime: it is not counted as sent, and is freed in silence if
 * its receiver has ended (DL-06). */
static void stream_tell(axo__local *local, axo__cell *cell, const axo__event *event, int64_t now)
{
    if (cell->bounded && axo__bounded_crowded(axo__cell_bounded(cell))) {
        /* a full mailbox loses the event, never a message (DL-06) */
        axo__a64_bump_owner(&local->count.events_lost);
        return;
    }
    axo__message *message = axo__message_make(&local->cache, AXO_EVENT, event->sender,
                                              sizeof(axo_event_message) + event->size);
    if (message == NULL) {
        axo__a64_bump_owner(&local->count.events_lost); /* ES-04 */
        return;
    }
    axo_event_message *head = (axo_event_message *)(void *)(message + 1);
    *head = (axo_event_message){.time_ns = now, .source = event->source, .kind = event->kind,
                                .size = event->size};
    if (event->size > 0)
        memcpy(head + 1, event->data, event->size);
    message->flags = AXO__MESSAGE_SIGNAL;
    axo__a64_bump_owner(&local->count.events);
    axo__sched_accept(axo__local_worker(local), cell, message);
}

void axo__stream_publish(axo__stream *stream, axo__local *local, const axo__event *event)
{
    /* One time for all subscribers of an event. */
    int64_t now = axo__core_now(stream->core);
    stream_rules rules;
    for (axo__places *places = &stream->first; places != NULL; places = stream_next(places)) {
        for (uint32_t i = 0; i < places->count; i++) {
            axo__place *place = &places->all[i];
            /* A place that is free, or was a moment ago: a subscription that races with this event
             * may miss it. */
            if (axo__a64_load_relaxed(&place->who) == 0)
                continue;
            stream_look(stream, place, &rules);
            if (rules.who == 0 || !stream_decides(&rules, event->kind))
                continue;
            axo_ref who = {rules.who};
            axo__cell *cell = axo__table_find(&stream->core->table, who);
            if (cell != NULL)
                stream_tell(local, cell, event, now);
            else
                stream_bury(stream, place, rules.who);
        }
    }
}

uint32_t axo__stream_subscribers(axo__stream *stream)
{
    uint32_t count = 0;
    axo__os_mutex_lock(&stream->mutex);
    for (axo__places *places = &stream->first; places != NULL; places = stream_next(places)) {
        for (uint32_t i = 0; i < places->count; i++)
            count += axo__a64_load_relaxed(&places->all[i].who) != 0;
    }
    axo__os_mutex_unlock(&stream->mutex);
    return count;
}

/* ---- init ---- */

bool axo__stream_init(axo__stream *stream, axo__core *core)
{
    memset((void *)stream, 0, sizeof *stream);
    stream->core = core;
    stream->first.count = AXO__PLACES_FIRST;
    stream->first.all = stream->first_places;
    return axo__os_mutex_init(&stream->mutex);
}

void axo__stream_fini(axo__stream *stream)
{
    size_t size = sizeof(axo__places) + AXO__PLACES_MORE * sizeof(axo__place);
    axo__places *places = stream_next(&stream->first);
    while (places != NULL) {
        axo__places *next = stream_next(places);
        axo__heap_free(&stream->core->heap, places, size, AXO__CACHE_LINE, AXO__SITE_STREAM);
        places = next;
    }
    axo__os_mutex_fini(&stream->mutex);
}
