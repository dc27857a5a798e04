/* queues.c - what the linker puts between the runtime's parts, see schedules.mk. */
#include "queues.h"

#include "look.h"
#include "sched/io.h"

#define QUEUE_TICK (INT64_C(1) << AXO__TICK_SHIFT)

queues q;

void queues_reset(void)
{
    AXO_ASSERT(q.locks == 0);
    memset(&q, 0, offsetof(queues, timers));
    memset(q.places, 0, sizeof q.places);
    q.count = 0;
}

/* The doors in which somebody is: they have no mutex, their gates' words say it. */
static int32_t queues_doors(void)
{
    int32_t taken = 0;
    const axo__sched *sched = l.system != NULL ? &l.system->sched : NULL;
    for (uint32_t i = 0; sched != NULL && i < sched->door_count; i++)
        taken += axo__a32_peek_owner(&sched->doors[i].gate.word) != AXO__GATE_FREE;
    return taken;
}

void queues_callback(void)
{
    int32_t doors = queues_doors();
    HOLDS_ALL(8, doors == 0, "a callback runs inside %" PRId32 " doors", doors);
    HOLDS_ALL(8, q.locks == 0, "a callback runs while %" PRId32 " locks are held", q.locks);
}

/* ---- locks ---- */

void __real_axo__os_mutex_lock(axo__os_mutex *mutex);
void __wrap_axo__os_mutex_lock(axo__os_mutex *mutex);

void __wrap_axo__os_mutex_lock(axo__os_mutex *mutex)
{
    __real_axo__os_mutex_lock(mutex);
    q.locks++;
}

void __real_axo__os_mutex_unlock(axo__os_mutex *mutex);
void __wrap_axo__os_mutex_unlock(axo__os_mutex *mutex);

void __wrap_axo__os_mutex_unlock(axo__os_mutex *mutex)
{
    q.locks--;
    __real_axo__os_mutex_unlock(mutex);
}

/* ---- run queues and injectors ---- */

static queue_mirror *queues_find(const void *queue)
{
    uint64_t mixed = (uint64_t)(uintptr_t)queue * UINT64_C(0x9e3779b97f4a7c15);
    uint32_t at = (uint32_t)(mixed >> 40) % QUEUES_MAX;
    while (q.places[at] != 0 && q.mirrors[q.places[at] - 1]->queue != queue)
        at = (at + 1) % QUEUES_MAX;
    if (q.places[at] != 0)
        return q.mirrors[q.places[at] - 1];
    if (q.count == QUEUES_MAX / 2)
        ghost_fail("more queues than the checker has room for");
    if (q.count == q.mirrors_made)
        q.mirrors[q.mirrors_made++] = malloc(sizeof(queue_mirror));
    queue_mirror *made = q.mirrors[q.count++];
    q.places[at] = q.count;
    made->queue = queue;
    made->first = made->count = 0;
    return made;
}

static void queues_begin(const void *queue)
{
    queue_mirror *mirror = queues_find(queue);
    mirror->first = mirror->count = 0;
}

static void queues_put(const void *queue, void *entry)
{
    queue_mirror *mirror = queues_find(queue);
    if (mirror->count == QUEUE_ROOM)
        ghost_fail("a queue is longer than the checker has room for");
    mirror->entries[(mirror->first + mirror->count++) % QUEUE_ROOM] = entry;
}

/* What was pushed first and has not been taken, and nothing else; NULL: there is nothing. */
static void queues_take(const void *queue, const void *entry)
{
    queue_mirror *mirror = queues_find(queue);
    const void *first = mirror->count > 0 ? mirror->entries[mirror->first] : NULL;
    HOLDS_ALL(48, entry == first, "%s is taken, %s was pushed first",
              entry == NULL ? "nothing" : "an entry", first == NULL ? "nothing" : "another");
    if (entry == NULL)
        return;
    mirror->first = (mirror->first + 1) % QUEUE_ROOM;
    mirror->count--;
}

bool queues_are_empty(void)
{
    for (uint32_t i = 0; i < q.count; i++) {
        if (q.mirrors[i]->count > 0)
            return false;
    }
    return true;
}

static void queues_taken(const axo__cell *cell)
{
    if ((axo__state_look(&cell->state) & AXO__CLOSED) != 0)
        probe_hit(PROBE_STALE_ENTRY);
}

void __real_axo__runq_init(axo__runq *runq, axo__spmc_slot *slots, uint32_t size);
void __wrap_axo__runq_init(axo__runq *runq, axo__spmc_slot *slots, uint32_t size);

void __wrap_axo__runq_init(axo__runq *runq, axo__spmc_slot *slots, uint32_t size)
{
    __real_axo__runq_init(runq, slots, size);
    queues_begin(runq);
}

bool __real_axo__runq_push_owner(axo__runq *runq, void *entry);
bool __wrap_axo__runq_push_owner(axo__runq *runq, void *entry);

bool __wrap_axo__runq_push_owner(axo__runq *runq, void *entry)
{
    bool pushed = __real_axo__runq_push_owner(runq, entry);
    if (pushed) {
        queues_put(runq, entry);
        q.entries[((axo__cell *)entry)->slot % QUEUE_NODES]++;
    }
    return pushed;
}

void *__real_axo__runq_take_any(axo__runq *runq);
void *__wrap_axo__runq_take_any(axo__runq *runq);

void *__wrap_axo__runq_take_any(axo__runq *runq)
{
    axo__cell *cell = __real_axo__runq_take_any(runq);
    queues_take(runq, cell);
    if (cell == NULL)
        return NULL;
    q.entries[cell->slot % QUEUE_NODES]--;
    queues_taken(cell);
    const char *at = (const char *)runq;
    const char *own = (const char *)axo__self;
    if (at < own || at >= own + sizeof *axo__self)
        probe_hit(PROBE_STOLEN);
    return cell;
}

/* The two nodes of a cell lie one behind the other in its first line. */
static uint8_t queues_bit(axo__mpsc_node *node, axo__cell **cell)
{
    bool urgent = (uintptr_t)axo__cell_of_urgent(node) % AXO__CACHE_LINE == 0;
    *cell = urgent ? axo__cell_of_urgent(node) : axo__cell_of_inject(node);
    return urgent ? 2 : 1;
}

void __real_axo__inject_init(axo__inject *inject, axo__a64 *counts, uint32_t shift);
void __wrap_axo__inject_init(axo__inject *inject, axo__a64 *counts, uint32_t shift);

void __wrap_axo__inject_init(axo__inject *inject, axo__a64 *counts, uint32_t shift)
{
    __real_axo__inject_init(inject, counts, shift);
    queues_begin(inject);
}

void __real_axo__inject_push_any(axo__inject *inject, axo__mpsc_node *node);
void __wrap_axo__inject_push_any(axo__inject *inject, axo__mpsc_node *node);

void __wrap_axo__inject_push_any(axo__inject *inject, axo__mpsc_node *node)
{
    axo__cell *cell;
    uint8_t bit = queues_bit(node, &cell);
    uint8_t *bits = &q.injected[cell->slot % QUEUE_NODES];
    HOLDS_ALL(2, (*bits & bit) == 0, "a cell's node is pushed, and is in an injector already");
    *bits |= bit;
    queues_put(inject, node);
    __real_axo__inject_push_any(inject, node);
}

axo__inject_pop __real_axo__inject_pop_any(axo__inject *inject, axo__mpsc_node **out);
axo__inject_pop __wrap_axo__inject_pop_any(axo__inject *inject, axo__mpsc_node **out);

axo__inject_pop __wrap_axo__inject_pop_any(axo__inject *inject, axo__mpsc_node **out)
{
    axo__inject_pop pop = __real_axo__inject_pop_any(inject, out);
    queues_take(inject, pop == AXO__INJECT_ITEM ? *out : NULL);
    if (pop != AXO__INJECT_ITEM)
        return pop;
    axo__cell *cell;
    uint8_t bit = queues_bit(*out, &cell);
    q.injected[cell->slot % QUEUE_NODES] &= (uint8_t)~bit;
    queues_taken(cell);
    const axo__sched *sched = l.system != NULL ? &l.system->sched : NULL;
    for (uint32_t i = 0; sched != NULL && sched->workers != NULL && i < sched->worker_count; i++) {
        if (inject == &sched->workers[i].followers && &sched->workers[i] != axo__self)
            probe_hit(PROBE_FOLLOWED);
    }
    return pop;
}

/* ---- timers ---- */

static queue_timer *queues_timer(const axo__wheel_node *node)
{
    for (uint32_t i = 0; i < q.timer_count; i++) {
        if (q.timers[i].node == node)
            return &q.timers[i];
    }
    return NULL;
}

void __real_axo__wheel_add(axo__wheel *wheel, axo__wheel_node *node, uint64_t tick, int64_t now);
void __wrap_axo__wheel_add(axo__wheel *wheel, axo__wheel_node *node, uint64_t tick, int64_t now);

void __wrap_axo__wheel_add(axo__wheel *wheel, axo__wheel_node *node, uint64_t tick, int64_t now)
{
    HOLDS_ALL(51, queues_timer(node) == NULL, "a timer is armed twice");
    if (q.timer_count == QUEUE_TIMERS)
        ghost_fail("more timers than the checker has room for");
    q.timers[q.timer_count++] = (queue_timer){.node = node, .wheel = wheel, .tick = tick};
    __real_axo__wheel_add(wheel, node, tick, now);
}

void __real_axo__wheel_remove(axo__wheel *wheel, axo__wheel_node *node);
void __wrap_axo__wheel_remove(axo__wheel *wheel, axo__wheel_node *node);

void __wrap_axo__wheel_remove(axo__wheel *wheel, axo__wheel_node *node)
{
    queue_timer *timer = queues_timer(node);
    HOLDS_ALL(51, timer != NULL && timer->wheel == wheel, "a timer is taken out of no wheel");
    *timer = q.timers[--q.timer_count];
    __real_axo__wheel_remove(wheel, node);
}

/* Nothing is early; and when nothing is found nothing was due a tick ago. */
static void queues_due(const axo__wheel *wheel, const axo__wheel_node *node, int64_t now,
                       uint32_t budget)
{
    if (node != NULL) {
        queue_timer *timer = queues_timer(node);
        HOLDS_ALL(51, timer != NULL && timer->wheel == wheel, "a timer fires that is not armed");
        HOLDS_ALL(51, axo__tick_time(timer->tick) <= now, "a timer is %" PRId64 " ns early",
                  axo__tick_time(timer->tick) - now);
        *timer = q.timers[--q.timer_count];
        return;
    }
    for (uint32_t i = 0; i < q.timer_count && budget > 0; i++) {
        if (q.timers[i].wheel == wheel)
            HOLDS_ALL(51, axo__tick_time(q.timers[i].tick) > now, "a timer is %" PRId64 " ns late",
                      now - axo__tick_time(q.timers[i].tick));
    }
}

axo__wheel_node *__real_axo__wheel_pop(axo__wheel *wheel, int64_t now, uint32_t *budget);
axo__wheel_node *__wrap_axo__wheel_pop(axo__wheel *wheel, int64_t now, uint32_t *budget);

axo__wheel_node *__wrap_axo__wheel_pop(axo__wheel *wheel, int64_t now, uint32_t *budget)
{
    axo__wheel_node *node = __real_axo__wheel_pop(wheel, now, budget);
    queues_due(wheel, node, now, *budget);
    return node;
}

bool __real_axo__timers_fire(axo__worker *worker, axo__timers *timers);
bool __wrap_axo__timers_fire(axo__worker *worker, axo__timers *timers);

bool __wrap_axo__timers_fire(axo__worker *worker, axo__timers *timers)
{
    q.firing = true;
    bool fired = __real_axo__timers_fire(worker, timers);
    q.firing = false;
    return fired;
}

bool __real_axo__timers_fire_late(axo__worker *worker);
bool __wrap_axo__timers_fire_late(axo__worker *worker);

bool __wrap_axo__timers_fire_late(axo__worker *worker)
{
    q.firing = true;
    bool fired = __real_axo__timers_fire_late(worker);
    q.firing = false;
    return fired;
}

/* A worker that looks at descriptors sends to others what it has found, whoever runs on it. */
void __real_axo__io_found(axo__worker *worker, axo__io *io);
void __wrap_axo__io_found(axo__worker *worker, axo__io *io);

void __wrap_axo__io_found(axo__worker *worker, axo__io *io)
{
    bool before = q.firing;
    q.firing = true;
    __real_axo__io_found(worker, io);
    q.firing = before;
}

void __real_axo__io_feed(axo__worker *worker, axo__io *io);
void __wrap_axo__io_feed(axo__worker *worker, axo__io *io);

void __wrap_axo__io_feed(axo__worker *worker, axo__io *io)
{
    bool before = q.firing;
    q.firing = true;
    __real_axo__io_feed(worker, io);
    q.firing = before;
}

/* Timers that are marked for it send their messages at the system's end: a bounded mailbox that
 * finds no memory for one takes it all the same. */
void __real_axo__scheduled_close(axo__worker *worker);

void __wrap_axo__scheduled_close(axo__worker *worker);

void __wrap_axo__scheduled_close(axo__worker *worker)
{
    bool before = q.firing;
    q.firing = true;
    __real_axo__scheduled_close(worker);
    q.firing = before;
}

void __real_axo__bounded_accept_any(axo__bounded_mailbox *bounded, axo__message *message);
void __wrap_axo__bounded_accept_any(axo__bounded_mailbox *bounded, axo__message *message);

void __wrap_axo__bounded_accept_any(axo__bounded_mailbox *bounded, axo__message *message)
{
    bool before = q.firing;
    q.firing = true;
    __real_axo__bounded_accept_any(bounded, message);
    q.firing = before;
}

bool __real_axo__bounded_let_in_any(axo__bounded_mailbox *bounded, axo__waiter *waiter);
bool __wrap_axo__bounded_let_in_any(axo__bounded_mailbox *bounded, axo__waiter *waiter);

bool __wrap_axo__bounded_let_in_any(axo__bounded_mailbox *bounded, axo__waiter *waiter)
{
    bool before = q.firing;
    q.firing = true;
    bool stood = __real_axo__bounded_let_in_any(bounded, waiter);
    q.firing = before;
    return stood;
}

/* Failing, stopping take no memory, from the pool either. */
void *__real_axo__pool_alloc_slow(axo__cache *cache, size_t size);

void *__wrap_axo__pool_alloc_slow(axo__cache *cache, size_t size);

void *__wrap_axo__pool_alloc_slow(axo__cache *cache, size_t size)
{
    HOLDS_ALL(57, !ghost_is_barred() || q.firing, "a block is asked for by who fails or ends");
    return __real_axo__pool_alloc_slow(cache, size);
}

/* ---- texts: never used again from zero ---- */

static void queues_texts(uint32_t index, int64_t more)
{
    if (index == 0 || index >= QUEUE_TEXTS)
        return;
    int64_t users = q.texts[index] + more;
    HOLDS_ALL(54, q.texts[index] > 0 && users >= 0, "a text of %" PRIu32 " users gets %" PRId64,
              q.texts[index], more);
    q.texts[index] = (uint32_t)users;
}

uint32_t __real_axo__texts_take(axo__texts *texts);
uint32_t __wrap_axo__texts_take(axo__texts *texts);

uint32_t __wrap_axo__texts_take(axo__texts *texts)
{
    uint32_t index = __real_axo__texts_take(texts);
    if (index != 0 && index < QUEUE_TEXTS) {
        HOLDS_ALL(54, q.texts[index] == 0, "a text is given that has users");
        q.texts[index] = 1;
    }
    return index;
}

void __real_axo__cause_hold_texts(axo__texts *texts, const axo__cause *cause, uint32_t more);
void __wrap_axo__cause_hold_texts(axo__texts *texts, const axo__cause *cause, uint32_t more);

void __wrap_axo__cause_hold_texts(axo__texts *texts, const axo__cause *cause, uint32_t more)
{
    queues_texts(cause->text, more);
    queues_texts(cause->original_text, more);
    __real_axo__cause_hold_texts(texts, cause, more);
}

void __real_axo__cause_unhold_texts(axo__texts *texts, const axo__cause *cause, uint32_t fewer);
void __wrap_axo__cause_unhold_texts(axo__texts *texts, const axo__cause *cause, uint32_t fewer);

void __wrap_axo__cause_unhold_texts(axo__texts *texts, const axo__cause *cause, uint32_t fewer)
{
    queues_texts(cause->text, -(int64_t)fewer);
    queues_texts(cause->original_text, -(int64_t)fewer);
    __real_axo__cause_unhold_texts(texts, cause, fewer);
}

void __real_axo__cause_drop_texts(axo__texts *texts, const axo__cause *cause);
void __wrap_axo__cause_drop_texts(axo__texts *texts, const axo__cause *cause);

void __wrap_axo__cause_drop_texts(axo__texts *texts, const axo__cause *cause)
{
    queues_texts(cause->text, -1);
    queues_texts(cause->original_text, -1);
    __real_axo__cause_drop_texts(texts, cause);
}

uint32_t queues_texts_left(void)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < QUEUE_TEXTS; i++)
        left += q.texts[i] > 0;
    return left;
}

/* ---- grace periods ---- */

void __real_axo__grace_wait(void);
void __wrap_axo__grace_wait(void);

void __wrap_axo__grace_wait(void)
{
    __real_axo__grace_wait();
    q.graces++;
}

bool __real_axo__grace_poll(axo__grace *grace, axo__grace_reader *reader);
bool __wrap_axo__grace_poll(axo__grace *grace, axo__grace_reader *reader);

bool __wrap_axo__grace_poll(axo__grace *grace, axo__grace_reader *reader)
{
    bool over = __real_axo__grace_poll(grace, reader);
    q.graces += over;
    return over;
}

void __real_axo__grace_online(void);
void __wrap_axo__grace_online(void);

void __wrap_axo__grace_online(void)
{
    __real_axo__grace_online();
    q.woke = true;
}

void __real_axo__local_retire(axo__local *local, axo__cell *cell);
void __wrap_axo__local_retire(axo__local *local, axo__cell *cell);

void __wrap_axo__local_retire(axo__local *local, axo__cell *cell)
{
    q.retired[cell->slot % QUEUE_NODES] = q.graces + 1;
    __real_axo__local_retire(local, cell);
}

/* The reclaimer's grace period lies between; a manual system's is the end of a turn. */
static void queues_give_cell(const axo__core *core, const axo__cell *cell)
{
    uint64_t *retired = &q.retired[cell->slot % QUEUE_NODES];
    bool over = core->manual ? g.inside == NULL : q.graces >= *retired;
    HOLDS_ALL(55, *retired != 0 && over, "a cell is given back before a grace period");
    *retired = 0;
}

void __real_axo__local_give_cell(axo__local *local, axo__cell *cell);
void __wrap_axo__local_give_cell(axo__local *local, axo__cell *cell);

void __wrap_axo__local_give_cell(axo__local *local, axo__cell *cell)
{
    queues_give_cell(local->core, cell);
    __real_axo__local_give_cell(local, cell);
}
