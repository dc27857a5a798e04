/* keyed_timer.c - keyed timers and the receive timeout of an actor: see keyed_timer.h.
 *
 * All functions but keyed_timer_fire run on the cell's runner, so the table of keys has no lock. A
 * tick that has left its wheel may still reach the cell after its key was stopped or started again;
 * so the runner judges each tick when it comes up, by the number of the start that made it.
 */
#include "sched/keyed_timer.h"

#include "sched/ready.h"
#include "sched/timer.h"

#include <string.h>

#define KEYED_TIMER_ROOM_MIN 4
/* After this time a receive timeout tries again, if there was no memory for its tick. */
#define KEYED_TIMER_RETRY_NS 1000000

/* A slot of the table of keys; number 0: free. */
typedef struct keyed_timer {
    uint64_t key;
    uint64_t number; /* of the start */
    axo_timer timer;
    uint64_t once;   /* 1: the key is forgotten with its first tick */
} keyed_timer;

/* The timers of one actor. Only `timer` and `self` are read by another thread, when the timer
 * fires. */
struct axo__keyed_timers {
    axo__timer timer;  /* first: the receive timeout's */
    axo_ref self;
    int64_t after;     /* the receive timeout; 0: off */
    int64_t last;      /* when its time began: the last message that counts, or its start */
    int64_t still_at;  /* its time has stood still since then, or since `last`, if `still` */
    bool still;        /* the actor is paused */
    uint64_t due;      /* of `timer`, a tick, if `out` */
    bool out;          /* the timer is armed, or its tick under way */
    uint64_t number;   /* of the latest start of a key */
    keyed_timer *keys; /* linear probing; `room` is a power of two, or 0 */
    uint32_t room;
    uint32_t count;
    keyed_timer *stopped;    /* a table of stopped keys, whose timers are to be cancelled */
    uint32_t stopped_room;
    uint32_t stopped_at;     /* from this slot on */
};

/* What follows the payload of a keyed timer's message, for axo__keyed_timer_tick. */
typedef struct keyed_timer_stamp {
    uint64_t key;
    uint64_t number;
} keyed_timer_stamp;

/* The timers of a cell; NULL: the actor has never used one. */
static axo__keyed_timers *keyed_timer_at(const axo__cell *cell)
{
    return (cell->attention & AXO__ATTENTION_TIMERS) != 0 ? axo__cell_extra(cell)->keyed : NULL;
}

/* The timers of a cell, made if need be; NULL: no memory. */
static axo__keyed_timers *keyed_timer_take(axo__worker *worker, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, cell));
    axo__extra *extra = axo__extra_take(&worker->local, cell);
    if (extra == NULL || extra->keyed != NULL)
        return extra != NULL ? extra->keyed : NULL;
    axo__keyed_timers *keyed = axo__pool_alloc(&worker->local.cache, sizeof *keyed);
    if (keyed == NULL)
        return NULL;
    memset(keyed, 0, sizeof *keyed);
    keyed->self = axo__cell_ref(cell);
    extra->keyed = keyed;
    cell->attention |= AXO__ATTENTION_TIMERS;
    return keyed;
}

/* The cell's grace period is over, so a timer that had left its wheel has fired: fire runs within
 * one step of a worker. A timer that is still in a wheel is disarmed here. */
void axo__keyed_timer_free(axo__local *local, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(!axo__cell_lives_owner(cell));
    axo__keyed_timers *keyed = keyed_timer_at(cell);
    if (keyed == NULL)
        return;
    axo__cell_extra(cell)->keyed = NULL;
    cell->attention &= (uint8_t)~AXO__ATTENTION_TIMERS;
    (void)axo__timer_disarm(&keyed->timer);
    AXO_DEBUG_ASSERT(keyed->stopped == NULL);
    axo__pool_free(&local->cache, keyed->keys, sizeof(keyed_timer) * keyed->room);
    axo__pool_free(&local->cache, keyed, sizeof *keyed);
}

/* ---- the table of keys ---- */

/* The slot at which the search for a key begins. */
static uint32_t keyed_timer_home(uint64_t key, uint32_t room)
{
    AXO_DEBUG_ASSERT(room != 0 && (room & (room - 1)) == 0);
    return (uint32_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (room - 1);
}

static keyed_timer *keyed_timer_find(const axo__keyed_timers *keyed, uint64_t key)
{
    if (keyed == NULL || keyed->room == 0)
        return NULL;
    AXO_DEBUG_ASSERT(keyed->count < keyed->room); /* so that the search ends */
    for (uint32_t at = keyed_timer_home(key, keyed->room);; at = (at + 1) & (keyed->room - 1)) {
        keyed_timer *slot = &keyed->keys[at];
        if (slot->number == 0)
            return NULL;
        if (slot->key == key)
            return slot;
    }
}

/* The free slot for a key that is not in the table. */
static keyed_timer *keyed_timer_free_slot(keyed_timer *keys, uint32_t room, uint64_t key)
{
    uint32_t at = keyed_timer_home(key, room);
    while (keys[at].number != 0)
        at = (at + 1) & (room - 1);
    return &keys[at];
}

/* Makes room for one more key, at a load of 3/4 at most; false: no memory. */
static bool keyed_timer_grow(axo__worker *worker, axo__keyed_timers *keyed)
{
    if ((keyed->count + 1) * 4 <= keyed->room * 3)
        return true;
    uint32_t room = keyed->room != 0 ? keyed->room * 2 : KEYED_TIMER_ROOM_MIN;
    keyed_timer *keys = axo__pool_alloc(&worker->local.cache, sizeof *keys * room);
    if (keys == NULL)
        return false;
    memset(keys, 0, sizeof *keys * room);
    for (uint32_t i = 0; i < keyed->room; i++) {
        if (keyed->keys[i].number != 0)
            *keyed_timer_free_slot(keys, room, keyed->keys[i].key) = keyed->keys[i];
    }
    axo__pool_free(&worker->local.cache, keyed->keys, sizeof *keys * keyed->room);
    keyed->keys = keys;
    keyed->room = room;
    return true;
}

/* Takes a key out. Keys behind it move up into the hole, unless that is before their home: so each
 * key is reached from its home without meeting a free slot, and no mark for removed keys is
 * needed. */
static void keyed_timer_remove(axo__keyed_timers *keyed, const keyed_timer *slot)
{
    AXO_DEBUG_ASSERT(keyed != NULL && keyed->count > 0 && slot->number != 0);
    uint32_t mask = keyed->room - 1;
    uint32_t hole = (uint32_t)(slot - keyed->keys);
    keyed->count--;
    for (uint32_t at = (hole + 1) & mask; keyed->keys[at].number != 0; at = (at + 1) & mask) {
        uint32_t home = keyed_timer_home(keyed->keys[at].key, keyed->room);
        if (((at - home) & mask) < ((at - hole) & mask))
            continue; /* its home is behind the hole */
        keyed->keys[hole] = keyed->keys[at];
        hole = at;
    }
    keyed->keys[hole].number = 0;
}

/* ---- keyed timers ---- */

static keyed_timer_stamp *keyed_timer_stamp_of(const axo__message *message)
{
    AXO_DEBUG_ASSERT(message->block >= sizeof *message + sizeof(keyed_timer_stamp));
    size_t behind = axo__message_trace_size(message) + sizeof(keyed_timer_stamp);
    uintptr_t end = (uintptr_t)message + message->block;
    return (keyed_timer_stamp *)(end - behind);
}

/* The timer that has sent a tick; NULL: it is no more, or was started anew since. */
static keyed_timer *keyed_timer_of(const axo__keyed_timers *keyed, const axo__message *tick)
{
    const keyed_timer_stamp *stamp = keyed_timer_stamp_of(tick);
    keyed_timer *slot = keyed_timer_find(keyed, stamp->key);
    return slot != NULL && slot->number == stamp->number ? slot : NULL;
}

/* The message of a keyed timer, with key and number in a stamp behind the payload: periodic ticks
 * are copies of the message, stamp and all. */
static axo__message *keyed_timer_message(axo__worker *worker, axo__cell *cell,
                                         const axo__keyed_timer_order *what, uint64_t number)
{
    size_t room = (what->size + 7) / 8 * 8 + sizeof(keyed_timer_stamp);
    axo__message *message =
        axo__message_make_traced(&worker->local.cache, what->tag, axo__cell_ref(cell), room,
                                 what->kind == AXO_TIMER_ONCE ? worker->span.now : NULL);
    if (message == NULL)
        return NULL;
    message->flags |= what->flags | AXO__MESSAGE_TICK;
    message->pub.size = (uint32_t)what->size;
    if (what->size > 0)
        memcpy(message + 1, what->payload, what->size);
    else
        message->pub.payload = NULL;
    *keyed_timer_stamp_of(message) = (keyed_timer_stamp){.key = what->key, .number = number};
    return message;
}

/* All memory is taken before the old timer of the key is cancelled, so a start that fails leaves
 * that timer running. */
axo_status axo__keyed_timer_start(axo__worker *worker, axo__cell *cell,
                                  const axo__keyed_timer_order *what)
{
    AXO_DEBUG_ASSERT((what->flags & ~(uint32_t)(AXO__MESSAGE_PILL | AXO__MESSAGE_KILL)) == 0);
    AXO_DEBUG_ASSERT(what->first >= 0 && (what->kind == AXO_TIMER_ONCE || what->period > 0));
    axo__keyed_timers *keyed = keyed_timer_take(worker, cell);
    axo_timer timer;
    if (keyed == NULL || !keyed_timer_grow(worker, keyed))
        return AXO_ENOMEM;
    axo__message *message = keyed_timer_message(worker, cell, what, keyed->number + 1);
    if (message == NULL)
        return AXO_ENOMEM;
    axo__scheduled_order order = {.to = keyed->self, .message = message, .first = what->first,
                                  .period = what->period, .kind = what->kind};
    axo_status status = axo__scheduled_set(&worker->local, &order, &timer);
    if (status != AXO_OK) {
        axo__message_free(&worker->local.cache, message);
        return status;
    }
    keyed_timer *slot = keyed_timer_find(keyed, what->key);
    if (slot != NULL) {
        (void)axo__scheduled_cancel(&worker->local, slot->timer);
    } else {
        slot = keyed_timer_free_slot(keyed->keys, keyed->room, what->key);
        keyed->count++;
    }
    *slot = (keyed_timer){.key = what->key, .number = ++keyed->number, .timer = timer,
                          .once = what->kind == AXO_TIMER_ONCE};
    return AXO_OK;
}

axo_status axo__keyed_timer_stop(axo__worker *worker, axo__cell *cell, uint64_t key)
{
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, cell));
    keyed_timer *slot = keyed_timer_find(keyed_timer_at(cell), key);
    if (slot == NULL)
        return AXO_ENOENT;
    (void)axo__scheduled_cancel(&worker->local, slot->timer);
    keyed_timer_remove(keyed_timer_at(cell), slot);
    return AXO_OK;
}

bool axo__keyed_timer_is_there(const axo__cell *cell, uint64_t key)
{
    return keyed_timer_find(keyed_timer_at(cell), key) != NULL;
}

void axo__keyed_timer_each(const axo__cell *cell,
                           void (*each)(void *arg, uint64_t key, axo_timer timer), void *arg)
{
    const axo__keyed_timers *keyed = keyed_timer_at(cell);
    for (uint32_t i = 0; keyed != NULL && i < keyed->room; i++) {
        if (keyed->keys[i].number != 0)
            each(arg, keyed->keys[i].key, keyed->keys[i].timer);
    }
}

bool axo__keyed_timer_is_stale(const axo__cell *cell, const axo__message *message)
{
    const uint32_t kinds = AXO__MESSAGE_TICK | AXO__MESSAGE_SIGNAL;
    if ((message->flags & kinds) != AXO__MESSAGE_TICK)
        return false;
    return keyed_timer_of(keyed_timer_at(cell), message) == NULL;
}

int64_t axo__keyed_timer_timeout(const axo__cell *cell)
{
    const axo__keyed_timers *keyed = keyed_timer_at(cell);
    return keyed != NULL ? keyed->after : 0;
}

/* With many keys the table itself is put aside as `stopped`: no tick finds its key from now on,
 * and the timers are cancelled in portions (axo__keyed_timer_go_on). If an older table is still
 * put aside, the keys are cancelled at once. */
void axo__keyed_timer_stop_all(axo__worker *worker, axo__cell *cell)
{
    axo__keyed_timers *keyed = keyed_timer_at(cell);
    if (keyed == NULL || keyed->count == 0)
        return;
    if (keyed->count > AXO__PORTION && keyed->stopped == NULL) {
        keyed->stopped = keyed->keys;
        keyed->stopped_room = keyed->room;
        keyed->stopped_at = 0;
        keyed->keys = NULL;
        keyed->room = keyed->count = 0;
        cell->attention |= AXO__ATTENTION_REST;
        return;
    }
    for (uint32_t i = 0; i < keyed->room; i++) {
        if (keyed->keys[i].number == 0)
            continue;
        (void)axo__scheduled_cancel(&worker->local, keyed->keys[i].timer);
        keyed->keys[i].number = 0;
    }
    keyed->count = 0;
}

bool axo__keyed_timer_go_on(axo__worker *worker, axo__cell *cell)
{
    axo__keyed_timers *keyed = keyed_timer_at(cell);
    if (axo__likely(keyed == NULL || keyed->stopped == NULL))
        return true;
    uint32_t left = AXO__PORTION;
    uint32_t looks = 16 * AXO__PORTION; /* bounds the walk over free slots */
    for (; keyed->stopped_at < keyed->stopped_room && left > 0 && looks > 0; looks--) {
        const keyed_timer *slot = &keyed->stopped[keyed->stopped_at++];
        if (slot->number == 0)
            continue;
        (void)axo__scheduled_cancel(&worker->local, slot->timer);
        left--;
    }
    if (keyed->stopped_at < keyed->stopped_room) {
        cell->attention |= AXO__ATTENTION_REST;
        return false;
    }
    axo__pool_free(&worker->local.cache, keyed->stopped, sizeof(keyed_timer) * keyed->stopped_room);
    keyed->stopped = NULL;
    return true;
}

/* ---- receive timeout ---- */

/* Runs on the worker that fires the wheel, beside the cell's runner: it reads `self` only, and
 * sends a tick, a message that the actor's bound does not refuse. */
static int64_t keyed_timer_fire(axo__worker *worker, axo__timer *timer, uint64_t number)
{
    axo__cell *cell =
        axo__table_find(&worker->local.core->table, ((axo__keyed_timers *)(void *)timer)->self);
    (void)number;
    if (cell == NULL)
        return 0;
    axo__message *message =
        axo__message_make(&worker->local.cache, AXO_RECEIVE_TIMEOUT, axo_ref_none(), 0);
    if (message == NULL)
        return KEYED_TIMER_RETRY_NS;
    message->flags = AXO__MESSAGE_SIGNAL | AXO__MESSAGE_TICK;
    axo__sched_accept(worker, cell, message);
    return 0;
}

static const axo__timer_ops keyed_timer_ops = {.fire = keyed_timer_fire,
                                               .finish = axo__timer_again};

/* A timer that is armed for later than the timeout now ends is disarmed, so that keyed_timer_arm
 * can arm it for the nearer time. */
static void keyed_timer_bring_forward(axo__keyed_timers *keyed)
{
    if (keyed->out && keyed->due > axo__timer_due(keyed->last, keyed->after) &&
        axo__timer_disarm(&keyed->timer))
        keyed->out = false;
}

/* Arms the receive timeout for the rest of its time, unless the timer is out: armed, or its tick on
 * the way to the cell. */
static void keyed_timer_arm(axo__worker *worker, axo__keyed_timers *keyed)
{
    if (keyed->out || keyed->after == 0)
        return;
    keyed->due = axo__timer_due(keyed->last, keyed->after);
    keyed->timer.ops = &keyed_timer_ops;
    keyed->out = axo__timer_arm(worker, &keyed->timer, keyed->due);
}

axo_status axo__keyed_timer_receive_timeout(axo__worker *worker, axo__cell *cell, int64_t after)
{
    AXO_DEBUG_ASSERT(after >= 0);
    if (after == 0) {
        axo__keyed_timer_receive_timeout_off(cell);
        return AXO_OK;
    }
    axo__keyed_timers *keyed = keyed_timer_take(worker, cell);
    if (keyed == NULL)
        return AXO_ENOMEM;
    keyed->after = after;
    keyed->last = axo__core_now(worker->local.core);
    keyed->still = axo__core_stands(worker->local.core, keyed->self); /* a hook, or its last word */
    keyed->still_at = keyed->last;
    keyed_timer_bring_forward(keyed);
    keyed_timer_arm(worker, keyed);
    return AXO_OK;
}

void axo__keyed_timer_receive_timeout_off(axo__cell *cell)
{
    AXO_DEBUG_ASSERT(axo__state_is_running(&cell->state));
    axo__keyed_timers *keyed = keyed_timer_at(cell);
    if (keyed == NULL)
        return;
    keyed->after = 0;
    if (keyed->out && axo__timer_disarm(&keyed->timer))
        keyed->out = false;
}

/* While its time stands still the timer may fire, since its tick is judged when it comes up: when
 * the actor has gone on, and `last` has moved. */
void axo__keyed_timer_stand(axo__worker *worker, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(axo__state_is_running(&cell->state));
    axo__keyed_timers *keyed = keyed_timer_at(cell);
    if (keyed == NULL)
        return;
    axo__core *core = worker->local.core;
    bool still = axo__core_stands(core, keyed->self);
    if (still == keyed->still)
        return;
    int64_t now = axo__core_now(core);
    int64_t from = keyed->last > keyed->still_at ? keyed->last : keyed->still_at;
    int64_t stood = axo__clock_since(now, from);
    if (!still && stood > 0)
        keyed->last = axo__clock_add(keyed->last, stood);
    keyed->still = still;
    keyed->still_at = now;
}

/* A tick of the receive timeout has come up; true: the actor has received nothing for the whole
 * time. Otherwise `last` has moved since the timer was armed, and the timer is armed for the
 * rest. */
static bool keyed_timer_timeout(axo__worker *worker, axo__keyed_timers *keyed)
{
    AXO_DEBUG_ASSERT(keyed->out);
    keyed->out = false;
    if (keyed->after == 0)
        return false;
    if (axo__clock_since(axo__core_now(worker->local.core), keyed->last) >= keyed->after)
        return true; /* axo__keyed_timer_handled arms the timer again */
    keyed_timer_arm(worker, keyed);
    return false;
}

/* A tick counts only if its key is still there with the same number: a tick of an earlier start of
 * the key, or of a key that was stopped, is dropped and counted as such (D7). */
bool axo__keyed_timer_tick(axo__worker *worker, axo__cell *cell, axo__message *message)
{
    axo__keyed_timers *keyed = keyed_timer_at(cell);
    AXO_DEBUG_ASSERT(keyed != NULL); /* only an actor with timers gets ticks */
    AXO_DEBUG_ASSERT((message->flags & AXO__MESSAGE_TICK) != 0);
    message->flags &= ~(uint32_t)AXO__MESSAGE_TICK;
    if ((message->flags & AXO__MESSAGE_SIGNAL) != 0) {
        if (keyed_timer_timeout(worker, keyed))
            return true;
        axo__message_free(&worker->local.cache, message);
        return false;
    }
    keyed_timer *slot = keyed_timer_of(keyed, message);
    if (slot != NULL) {
        if (slot->once)
            keyed_timer_remove(keyed, slot);
        return true;
    }
    axo__a64_bump_owner(&worker->local.count.dropped);
    axo__message_free(&worker->local.cache, message);
    return false;
}

/* Moves `last`, unless the message is one that does not end a silence (AXO_TAG_QUIET). The wheel is
 * left alone as long as the timer is out; only a clock that has gone back needs a nearer arming. */
void axo__keyed_timer_handled(axo__worker *worker, axo__cell *cell, uint32_t tag)
{
    axo__keyed_timers *keyed = keyed_timer_at(cell);
    AXO_DEBUG_ASSERT(keyed != NULL);
    if (keyed->after == 0)
        return;
    bool quiet = (tag & AXO_TAG_QUIET) != 0 && tag < AXO_TAG_SERVICES;
    if (!quiet) {
        int64_t now = axo__core_now(worker->local.core);
        bool back = now < keyed->last;
        keyed->last = now;
        if (axo__unlikely(back))
            keyed_timer_bring_forward(keyed);
    }
    keyed_timer_arm(worker, keyed);
}
