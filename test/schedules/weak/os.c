/* os.c - what the product calls below it, for the checker: mutexes, parkers, the clock; and the
 * queue of many producers, with every half-done state that its contract allows.
 *
 * A mutex acquires and releases. A parker's ticket is an acquire, a wake a read-modify-write; who
 * waits looks at the word as the kernel does: the newest. Time passes only when nobody can run.
 */
#include <stdlib.h>
#include <string.h>

#include "base/border.h"
#include "cell/core.h"
#include "os/os.h"
#include "queue/mpsc.h"
#include "schedules/weak/scenes.h"

#define BOTH (WEAK_ACQUIRE | WEAK_RELEASE)

int64_t weak_clock_now;
bool weak_no_time;
bool (*weak_enough)(void);

int64_t axo__os_now(void)
{
    return weak_clock_now;
}

uint32_t axo__os_cpu_index(void)
{
    return 0;
}

/* ---- mutex ---- */

static uint32_t *mutex_word(axo__os_mutex *mutex)
{
    return (uint32_t *)(void *)mutex;
}

bool axo__os_mutex_init(axo__os_mutex *mutex)
{
    *mutex_word(mutex) = 0;
    return true;
}

void axo__os_mutex_fini(axo__os_mutex *mutex)
{
    weak_expect(*mutex_word(mutex) == 0);
}

static bool mutex_is_free(void *user)
{
    return *mutex_word(user) == 0;
}

void axo__os_mutex_lock(axo__os_mutex *mutex)
{
    do
        weak_wait(mutex_is_free, mutex);
    while (weak_change(mutex_word(mutex), sizeof(uint32_t), WEAK_XCHG, 1,
                       WEAK_SITE("lock", WEAK_ACQUIRE)) != 0);
}

void axo__os_mutex_unlock(axo__os_mutex *mutex)
{
    weak_store(mutex_word(mutex), sizeof(uint32_t), 0, WEAK_SITE("unlock", WEAK_RELEASE));
}

/* ---- gate: the wait alone; the two ways in and out are the port's own ---- */

static bool gate_is_free(void *gate)
{
    return axo__a32_peek_owner(&((axo__os_gate *)gate)->word) == AXO__GATE_FREE;
}

void axo__os_gate_wait(axo__os_gate *gate)
{
    do
        weak_wait(gate_is_free, gate);
    while (weak_change(&gate->word, sizeof(uint32_t), WEAK_XCHG, AXO__GATE_TAKEN,
                       WEAK_SITE("wait", WEAK_ACQUIRE)) != AXO__GATE_FREE);
}

/* ---- latch ---- */

static uint32_t *latch_word(axo__os_latch *latch)
{
    return (uint32_t *)(void *)latch;
}

bool axo__os_latch_init(axo__os_latch *latch)
{
    *latch_word(latch) = 0;
    return true;
}

void axo__os_latch_fini(axo__os_latch *latch)
{
    (void)latch;
}

void axo__os_latch_set(axo__os_latch *latch)
{
    weak_store(latch_word(latch), sizeof(uint32_t), 1, WEAK_SITE("set", WEAK_RELEASE));
}

static bool latch_is_set(void *user)
{
    return *latch_word(user) != 0;
}

/* With a deadline it is a look again by the clock, and nobody sets it. */
bool axo__os_latch_wait(axo__os_latch *latch, int64_t deadline)
{
    if (deadline != AXO__NEVER) {
        weak_clock_now = deadline;
        weak_spin();
        return false;
    }
    weak_wait(latch_is_set, latch);
    return weak_change(latch_word(latch), sizeof(uint32_t), WEAK_ADD, 0,
                       WEAK_SITE("wait", WEAK_ACQUIRE)) != 0;
}

/* ---- parker ---- */

typedef struct parking {
    axo__os_parker *parker;
    uint64_t ticket;
} parking;

void axo__os_parker_init(axo__os_parker *parker)
{
    parker->word = 0;
}

uint64_t axo__os_parker_ticket(axo__os_parker *parker)
{
    return weak_load(&parker->word, sizeof parker->word, WEAK_SITE("ticket", WEAK_ACQUIRE));
}

void axo__os_parker_wake(axo__os_parker *parker)
{
    (void)weak_change(&parker->word, sizeof parker->word, WEAK_ADD, 1, WEAK_SITE("wake", BOTH));
}

static bool parker_is_over(void *user)
{
    const parking *it = user;
    return it->parker->word != it->ticket || (weak_enough != NULL && weak_enough());
}

void axo__os_parker_wait(axo__os_parker *parker, uint64_t ticket, int64_t deadline)
{
    parking it = {.parker = parker, .ticket = ticket};
    if (deadline == AXO__NEVER || weak_no_time)
        weak_wait(parker_is_over, &it);
    else if (!weak_wait_timed(parker_is_over, &it) && weak_clock_now < deadline)
        weak_clock_now = deadline;
    (void)weak_change(&parker->word, sizeof parker->word, WEAK_ADD, 0,
                      WEAK_SITE("awake", WEAK_ACQUIRE));
}

/* ---- many producers, one consumer: liburcu's steps ---- */

static void queue_link(axo__mpsc_node **at, axo__mpsc_node *to)
{
    weak_store(at, sizeof *at, (uint64_t)(uintptr_t)to, WEAK_SITE("queue_link", WEAK_RELEASE));
}

static axo__mpsc_node *queue_follow(axo__mpsc_node *const *at)
{
    uint64_t node = weak_load(at, sizeof *at, WEAK_SITE("queue_follow", WEAK_ACQUIRE));
    return (axo__mpsc_node *)(uintptr_t)node;
}

void axo__mpsc_init(axo__mpsc *queue)
{
    queue->head.next = NULL;
    queue->tail = &queue->head;
}

void axo__mpsc_push_any(axo__mpsc *queue, axo__mpsc_node *node)
{
    weak_wrote(node); /* plainly, in liburcu: nobody else has it any more */
    weak_store(&node->next, sizeof node->next, 0, WEAK_SITE("queue_new", 0));
    uint64_t before = weak_change(&queue->tail, sizeof queue->tail, WEAK_XCHG,
                                  (uint64_t)(uintptr_t)node, WEAK_SITE("queue_push", BOTH));
    queue_link(&((axo__mpsc_node *)(uintptr_t)before)->next, node);
}

bool axo__mpsc_is_empty_owner(const axo__mpsc *queue)
{
    if (queue_follow(&queue->head.next) != NULL)
        return false;
    return weak_load(&queue->tail, sizeof queue->tail, WEAK_SITE("queue_tail", 0)) ==
           (uint64_t)(uintptr_t)&queue->head;
}

static axo__pop queue_give(axo__mpsc_node *node, axo__mpsc_node **out)
{
    weak_reads(node);
    *out = node;
    return AXO__POP_ITEM;
}

axo__pop axo__mpsc_pop_owner(axo__mpsc *queue, axo__mpsc_node **out)
{
    axo__mpsc_node *node = queue_follow(&queue->head.next);
    if (node == NULL)
        return axo__mpsc_is_empty_owner(queue) ? AXO__POP_EMPTY : AXO__POP_BUSY;
    axo__mpsc_node *next = queue_follow(&node->next);
    if (next == NULL) { /* the last one, or the next is half done */
        uint64_t last = (uint64_t)(uintptr_t)node;
        queue_link(&queue->head.next, NULL);
        if (weak_cas(&queue->tail, sizeof queue->tail, &last, (uint64_t)(uintptr_t)&queue->head,
                     WEAK_SITE("queue_pop", BOTH)))
            return queue_give(node, out);
        next = queue_follow(&node->next);
        if (next == NULL) {
            queue_link(&queue->head.next, node);
            return AXO__POP_BUSY;
        }
    }
    queue_link(&queue->head.next, next);
    return queue_give(node, out);
}

/* ---- nobody forks here, nor throws ---- */

void axo__os_at_fork(void (*child)(void))
{
    (void)child;
}

void axo__os_root(void (*fn)(void *arg), void *arg)
{
    fn(arg);
}

int64_t axo__core_clock(const axo__core *core)
{
    return core->clock(core->clock_user);
}

_Unwind_Reason_Code axo__border(int version, _Unwind_Action actions, _Unwind_Exception_Class what,
                                struct _Unwind_Exception *one, struct _Unwind_Context *context)
{
    (void)version;
    (void)actions;
    (void)what;
    (void)one;
    (void)context;
    abort();
}
