/* timed.c - keyed timers and the receive timeout of an actor. */
#include "sched/timed.h"

#include "sched/ready.h"
#include "sched/timer.h"

#include <string.h>

#define TIMED_ROOM_MIN 4
/* No memory for the tick of a receive timeout: again after this. */
#define TIMED_RETRY_NS 1000000

/* A slot of the table of keys; number 0: free. */
typedef struct timed_key {
    uint64_t key;
    uint64_t number; /* of the start */
    axo_timer timer;
    uint64_t once;
} timed_key;

struct axo__timed {
    axo__timer timer; /* first: the receive timeout's */
    axo_ref self;
    int64_t after;    /* 0: off */
    int64_t last;     /* when the time began */
    uint64_t due;     /* of `timer`, a tick, if `out` */
    bool out;         /* the timer is armed, or its tick under way */
    uint64_t number;  /* of the latest start of a key */
    timed_key *keys;  /* linear probing; `room` is a power of two, or 0 */
    uint32_t room;
    uint32_t count;
    timed_key *stopped;      /* a table of stopped keys, whose timers are to be cancelled */
    uint32_t stopped_room;
    uint32_t stopped_at;     /* from this slot on */
};

/* Behind the payload of a keyed timer's message. */
typedef struct timed_stamp {
    uint64_t key;
    uint64_t number;
} timed_stamp;

/* What it has; NULL: never had any. */
static axo__timed *timed_at(const axo__cell *cell)
{
    return (cell->aside & AXO__ASIDE_TIMED) != 0 ? axo__cell_more(cell)->timed : NULL;
}

/* What it has, made if need be; NULL: no memory. */
static axo__timed *timed_take(axo__worker *worker, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, cell));
    axo__more *more = axo__more_take(&worker->local, cell);
    if (more == NULL || more->timed != NULL)
        return more != NULL ? more->timed : NULL;
    axo__timed *timed = axo__pool_alloc(&worker->local.cache, sizeof *timed);
    if (timed == NULL)
        return NULL;
    memset(timed, 0, sizeof *timed);
    timed->self = axo__cell_ref(cell);
    more->timed = timed;
    cell->aside |= AXO__ASIDE_TIMED;
    return timed;
}

void axo__timed_free(axo__local *local, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(axo__a32_peek_owner(&cell->generation) == 0);
    axo__timed *timed = timed_at(cell);
    if (timed == NULL)
        return;
    axo__cell_more(cell)->timed = NULL;
    cell->aside &= (uint8_t)~AXO__ASIDE_TIMED;
    (void)axo__timer_disarm(&timed->timer);
    AXO_DEBUG_ASSERT(timed->stopped == NULL);
    axo__pool_free(&local->cache, timed->keys, sizeof(timed_key) * timed->room);
    axo__pool_free(&local->cache, timed, sizeof *timed);
}

/* ---- the table of keys ---- */

static uint32_t timed_home(uint64_t key, uint32_t room)
{
    AXO_DEBUG_ASSERT(room != 0 && (room & (room - 1)) == 0);
    return (uint32_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (room - 1);
}

static timed_key *timed_find(const axo__timed *timed, uint64_t key)
{
    if (timed == NULL || timed->room == 0)
        return NULL;
    AXO_DEBUG_ASSERT(timed->count < timed->room); /* so that the search ends */
    for (uint32_t at = timed_home(key, timed->room);; at = (at + 1) & (timed->room - 1)) {
        timed_key *slot = &timed->keys[at];
        if (slot->number == 0)
            return NULL;
        if (slot->key == key)
            return slot;
    }
}

/* The free slot of a key that is not there. */
static timed_key *timed_free_slot(timed_key *keys, uint32_t room, uint64_t key)
{
    uint32_t at = timed_home(key, room);
    while (keys[at].number != 0)
        at = (at + 1) & (room - 1);
    return &keys[at];
}

/* Room for one more at a load of 3/4. */
static bool timed_grow(axo__worker *worker, axo__timed *timed)
{
    if ((timed->count + 1) * 4 <= timed->room * 3)
        return true;
    uint32_t room = timed->room != 0 ? timed->room * 2 : TIMED_ROOM_MIN;
    timed_key *keys = axo__pool_alloc(&worker->local.cache, sizeof *keys * room);
    if (keys == NULL)
        return false;
    memset(keys, 0, sizeof *keys * room);
    for (uint32_t i = 0; i < timed->room; i++) {
        if (timed->keys[i].number != 0)
            *timed_free_slot(keys, room, timed->keys[i].key) = timed->keys[i];
    }
    axo__pool_free(&worker->local.cache, timed->keys, sizeof *keys * timed->room);
    timed->keys = keys;
    timed->room = room;
    return true;
}

/* Takes a key out; those behind it move up. */
static void timed_remove(axo__timed *timed, const timed_key *slot)
{
    AXO_DEBUG_ASSERT(timed != NULL && timed->count > 0 && slot->number != 0);
    uint32_t mask = timed->room - 1;
    uint32_t hole = (uint32_t)(slot - timed->keys);
    timed->count--;
    for (uint32_t at = (hole + 1) & mask; timed->keys[at].number != 0; at = (at + 1) & mask) {
        uint32_t home = timed_home(timed->keys[at].key, timed->room);
        if (((at - home) & mask) < ((at - hole) & mask))
            continue; /* it is between its home and the hole */
        timed->keys[hole] = timed->keys[at];
        hole = at;
    }
    timed->keys[hole].number = 0;
}

/* ---- keyed timers ---- */

static timed_stamp *timed_stamp_of(axo__message *message)
{
    AXO_DEBUG_ASSERT(message->block >= sizeof *message + sizeof(timed_stamp));
    return (timed_stamp *)(void *)((char *)message + message->block - sizeof(timed_stamp));
}

static axo__message *timed_message(axo__worker *worker, axo__cell *cell,
                                   const axo__timed_start *what, uint64_t number)
{
    size_t room = (what->size + 7) / 8 * 8 + sizeof(timed_stamp);
    axo__message *message =
        axo__message_make(&worker->local.cache, what->tag, axo__cell_ref(cell), room);
    if (message == NULL)
        return NULL;
    message->flags = what->flags | AXO__MESSAGE_TICK;
    message->pub.size = (uint32_t)what->size;
    if (what->size > 0)
        memcpy(message + 1, what->payload, what->size);
    else
        message->pub.payload = NULL;
    *timed_stamp_of(message) = (timed_stamp){.key = what->key, .number = number};
    return message;
}

axo_status axo__timed_start_key(axo__worker *worker, axo__cell *cell, const axo__timed_start *what)
{
    AXO_DEBUG_ASSERT((what->flags & ~(uint32_t)(AXO__MESSAGE_PILL | AXO__MESSAGE_KILL)) == 0);
    AXO_DEBUG_ASSERT(what->first >= 0 && (what->kind == AXO_TIMER_ONCE || what->period > 0));
    axo__timed *timed = timed_take(worker, cell);
    axo_timer timer;
    if (timed == NULL || !timed_grow(worker, timed))
        return AXO_ENOMEM;
    axo__message *message = timed_message(worker, cell, what, timed->number + 1);
    if (message == NULL)
        return AXO_ENOMEM;
    axo__alarm_order order = {.to = timed->self, .message = message, .first = what->first,
                              .period = what->period, .kind = what->kind};
    axo_status status = axo__alarm_set(&worker->local, &order, &timer);
    if (status != AXO_OK) {
        axo__message_free(&worker->local.cache, message);
        return status;
    }
    timed_key *slot = timed_find(timed, what->key);
    if (slot != NULL) {
        (void)axo__alarm_cancel(&worker->local, slot->timer);
    } else {
        slot = timed_free_slot(timed->keys, timed->room, what->key);
        timed->count++;
    }
    *slot = (timed_key){.key = what->key, .number = ++timed->number, .timer = timer,
                        .once = what->kind == AXO_TIMER_ONCE};
    return AXO_OK;
}

axo_status axo__timed_stop_key(axo__worker *worker, axo__cell *cell, uint64_t key)
{
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, cell));
    timed_key *slot = timed_find(timed_at(cell), key);
    if (slot == NULL)
        return AXO_ENOENT;
    (void)axo__alarm_cancel(&worker->local, slot->timer);
    timed_remove(timed_at(cell), slot);
    return AXO_OK;
}

bool axo__timed_has_key(const axo__cell *cell, uint64_t key)
{
    return timed_find(timed_at(cell), key) != NULL;
}

void axo__timed_stop_keys(axo__worker *worker, axo__cell *cell)
{
    axo__timed *timed = timed_at(cell);
    if (timed == NULL || timed->count == 0)
        return;
    if (timed->count > AXO__PORTION && timed->stopped == NULL) {
        timed->stopped = timed->keys;
        timed->stopped_room = timed->room;
        timed->stopped_at = 0;
        timed->keys = NULL;
        timed->room = timed->count = 0;
        cell->aside |= AXO__ASIDE_REST;
        return;
    }
    for (uint32_t i = 0; i < timed->room; i++) {
        if (timed->keys[i].number == 0)
            continue;
        (void)axo__alarm_cancel(&worker->local, timed->keys[i].timer);
        timed->keys[i].number = 0;
    }
    timed->count = 0;
}

bool axo__timed_go_on(axo__worker *worker, axo__cell *cell)
{
    axo__timed *timed = timed_at(cell);
    if (axo__likely(timed == NULL || timed->stopped == NULL))
        return true;
    uint32_t left = AXO__PORTION;
    uint32_t looks = 16 * AXO__PORTION; /* slots may be free */
    for (; timed->stopped_at < timed->stopped_room && left > 0 && looks > 0; looks--) {
        const timed_key *slot = &timed->stopped[timed->stopped_at++];
        if (slot->number == 0)
            continue;
        (void)axo__alarm_cancel(&worker->local, slot->timer);
        left--;
    }
    if (timed->stopped_at < timed->stopped_room) {
        cell->aside |= AXO__ASIDE_REST;
        return false;
    }
    axo__pool_free(&worker->local.cache, timed->stopped,
                   sizeof(timed_key) * timed->stopped_room);
    timed->stopped = NULL;
    return true;
}

/* ---- receive timeout ---- */

static int64_t timed_fire(axo__worker *worker, axo__timer *timer, uint64_t number)
{
    axo__cell *cell =
        axo__table_find(&worker->local.core->table, ((axo__timed *)(void *)timer)->self);
    (void)number;
    if (cell == NULL)
        return 0;
    axo__message *message =
        axo__message_make(&worker->local.cache, AXO_RECEIVE_TIMEOUT, axo_ref_none(), 0);
    if (message == NULL)
        return TIMED_RETRY_NS;
    message->flags = AXO__MESSAGE_SIGNAL | AXO__MESSAGE_TICK;
    axo__sched_accept(worker, cell, message);
    return 0;
}

static const axo__timer_ops timed_ops = {.fire = timed_fire, .finish = axo__timer_again};

/* If it is out for later than it has to be now: it is not. */
static void timed_bring_forward(axo__timed *timed)
{
    if (timed->out && timed->due > axo__timer_due(timed->last, timed->after) &&
        axo__timer_disarm(&timed->timer))
        timed->out = false;
}

/* Unless it is out: armed for the rest of the time. */
static void timed_arm(axo__worker *worker, axo__timed *timed)
{
    if (timed->out || timed->after == 0)
        return;
    timed->due = axo__timer_due(timed->last, timed->after);
    timed->timer.ops = &timed_ops;
    timed->out = axo__timer_arm(worker, &timed->timer, timed->due);
}

axo_status axo__timed_receive_timeout(axo__worker *worker, axo__cell *cell, int64_t after)
{
    AXO_DEBUG_ASSERT(after >= 0);
    if (after == 0) {
        axo__timed_receive_timeout_off(cell);
        return AXO_OK;
    }
    axo__timed *timed = timed_take(worker, cell);
    if (timed == NULL)
        return AXO_ENOMEM;
    timed->after = after;
    timed->last = axo__core_now(worker->local.core);
    timed_bring_forward(timed);
    timed_arm(worker, timed);
    return AXO_OK;
}

void axo__timed_receive_timeout_off(axo__cell *cell)
{
    AXO_DEBUG_ASSERT(axo__state_is_running(&cell->state));
    axo__timed *timed = timed_at(cell);
    if (timed == NULL)
        return;
    timed->after = 0;
    if (timed->out && axo__timer_disarm(&timed->timer))
        timed->out = false;
}

static bool timed_timeout(axo__worker *worker, axo__timed *timed)
{
    AXO_DEBUG_ASSERT(timed->out);
    timed->out = false;
    if (timed->after == 0)
        return false;
    if (axo__clock_since(axo__core_now(worker->local.core), timed->last) >= timed->after)
        return true; /* armed again when it has been handled */
    timed_arm(worker, timed);
    return false;
}

bool axo__timed_tick(axo__worker *worker, axo__cell *cell, axo__message *message)
{
    axo__timed *timed = timed_at(cell);
    AXO_DEBUG_ASSERT(timed != NULL); /* its message is a tick */
    AXO_DEBUG_ASSERT((message->flags & AXO__MESSAGE_TICK) != 0);
    message->flags &= ~(uint32_t)AXO__MESSAGE_TICK;
    if ((message->flags & AXO__MESSAGE_SIGNAL) != 0) {
        if (timed_timeout(worker, timed))
            return true;
        axo__message_free(&worker->local.cache, message);
        return false;
    }
    const timed_stamp *stamp = timed_stamp_of(message);
    timed_key *slot = timed_find(timed, stamp->key);
    if (slot != NULL && slot->number == stamp->number) {
        if (slot->once)
            timed_remove(timed, slot);
        return true;
    }
    axo__a64_bump_owner(&worker->local.count.dropped);
    axo__message_free(&worker->local.cache, message);
    return false;
}

void axo__timed_handled(axo__worker *worker, axo__cell *cell, uint32_t tag)
{
    axo__timed *timed = timed_at(cell);
    AXO_DEBUG_ASSERT(timed != NULL);
    if (timed->after == 0)
        return;
    bool quiet = (tag & AXO_TAG_QUIET) != 0 && tag < AXO_TAG_SERVICES;
    if (!quiet) {
        int64_t now = axo__core_now(worker->local.core);
        bool back = now < timed->last;
        timed->last = now;
        if (axo__unlikely(back))
            timed_bring_forward(timed);
    }
    timed_arm(worker, timed);
}
