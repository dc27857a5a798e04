/* fuzz_ring.c - the queues, one operation after another, against plain lists.
 *
 * Length 1024. By the first byte: a run queue of 1 to 15 entries whose indices begin just before
 * their wrap, the queue of many producers, the injector, the stack, a worker's newborns with
 * thieves, or the hash ring. Order, room, emptiness and counts are exact when one thread does it
 * all.
 */
#include "fuzz/fuzz.h"

#include "pattern/ring.h"
#include "queue/inject.h"
#include "queue/mpsc.h"
#include "queue/runq.h"
#include "queue/stack.h"
#include "sched/newborn.h"

enum { NODES = 64, OPERATIONS_MAX = 2000, BEFORE_WRAP = 7, RINGS = 3 };

/* What the queue should hold: the numbers of nodes, oldest first. */
static struct {
    uint32_t items[NODES];
    uint32_t count;
    bool in[NODES];
} m;

static void model_push(uint32_t item)
{
    fuzz_require(!m.in[item] && m.count < NODES);
    m.items[m.count++] = item;
    m.in[item] = true;
}

static uint32_t model_take(uint32_t at)
{
    fuzz_require(at < m.count);
    uint32_t item = m.items[at];
    m.count--;
    memmove(&m.items[at], &m.items[at + 1], (m.count - at) * sizeof m.items[0]);
    m.in[item] = false;
    return item;
}

/* ---- run queue ---- */

/* Drops what is empty, the oldest first, and says which rings of the pool are free again. */
static void runq_drop(axo__runq *runq, axo__runq_ring *rings, bool *used)
{
    axo__runq_ring *dropped;
    while ((dropped = axo__runq_drop_owner(runq)) != NULL) {
        if (dropped != &runq->home)
            used[dropped - rings] = false;
    }
    fuzz_require(axo__runq_drop_owner(runq) == NULL);
}

/* Appends a ring of the pool that is free; false: none is. */
static bool runq_extend(axo__runq *runq, axo__runq_ring *rings, bool *used, uint32_t size)
{
    static axo__spmc_slot slots[RINGS][16];
    for (uint32_t i = 0; i < RINGS; i++) {
        if (used[i])
            continue;
        used[i] = true;
        axo__runq_ring_init(&rings[i], slots[i], size);
        axo__runq_extend_owner(runq, &rings[i]);
        return true;
    }
    return false;
}

static void runq_near_the_wrap(axo__spmc *ring)
{
#if AXO__CK_RING
    ring->c_head = ring->p_head = ring->p_tail = UINT32_MAX - BEFORE_WRAP;
#else
    axo__a32_store_relaxed(&ring->c_head, UINT32_MAX - BEFORE_WRAP);
    axo__a32_store_relaxed(&ring->p_tail, UINT32_MAX - BEFORE_WRAP);
#endif
}

static void runq_fuzz(fuzz_in *in)
{
    static axo__spmc_slot slots[16];
    static char entries[NODES];
    axo__runq_ring rings[RINGS];
    bool used[RINGS] = {false};
    axo__runq runq;
    uint8_t shape = fuzz_u8(in);
    uint32_t size = 2U << shape % 4;
    axo__runq_init(&runq, slots, size);
    if ((shape & 0x80) != 0)
        runq_near_the_wrap(&runq.home.ring);
    for (uint32_t i = 0; i < OPERATIONS_MAX && in->left > 0; i++) {
        uint8_t op = fuzz_u8(in);
        uint32_t item = (op >> 1) % NODES;
        if ((op & 1) != 0) {
            char *entry = axo__runq_take_any(&runq);
            fuzz_require((entry == NULL) == (m.count == 0));
            if (entry != NULL)
                fuzz_require(entry == &entries[model_take(0)]);
        } else if (!m.in[item]) {
            bool done = axo__runq_push_owner(&runq, &entries[item]);
            fuzz_require(done || m.count >= size - 1);
            fuzz_require(!done || m.count < (size - 1) * (1 + RINGS));
            if (!done && runq_extend(&runq, rings, used, size))
                fuzz_require(done = axo__runq_push_owner(&runq, &entries[item]));
            if (done)
                model_push(item);
        } else {
            runq_drop(&runq, rings, used);
            if (m.count == 0 && runq.last != &runq.home) {
                axo__runq_extend_owner(&runq, &runq.home);
                runq_drop(&runq, rings, used);
                fuzz_require(runq.last == &runq.home);
            }
        }
        fuzz_require(axo__runq_is_empty_any(&runq) == (m.count == 0));
        fuzz_require(axo__runq_count_any(&runq) == m.count);
    }
}

/* ---- many producers ---- */

static void mpsc_fuzz(fuzz_in *in)
{
    static axo__mpsc_node nodes[NODES];
    axo__mpsc queue;
    axo__mpsc_init(&queue);
    for (uint32_t i = 0; i < OPERATIONS_MAX && in->left > 0; i++) {
        uint8_t op = fuzz_u8(in);
        uint32_t item = (op >> 1) % NODES;
        axo__mpsc_node *node = NULL;
        if ((op & 1) != 0) {
            axo__pop pop = axo__mpsc_pop_owner(&queue, &node);
            fuzz_require(pop == (m.count > 0 ? AXO__POP_ITEM : AXO__POP_EMPTY));
            if (pop == AXO__POP_ITEM)
                fuzz_require(node == &nodes[model_take(0)]);
        } else if (!m.in[item]) {
            axo__mpsc_push_any(&queue, &nodes[item]);
            model_push(item);
        }
        fuzz_require(axo__mpsc_is_empty_owner(&queue) == (m.count == 0));
    }
}

static void inject_fuzz(fuzz_in *in)
{
    static axo__mpsc_node nodes[NODES];
    axo__inject inject;
    axo__a64 counts = {0};
    bool held = false; /* another consumer has it */
    axo__inject_init(&inject, &counts, 32);
    for (uint32_t i = 0; i < OPERATIONS_MAX && in->left > 0; i++) {
        uint8_t op = fuzz_u8(in);
        uint32_t item = (op >> 2) % NODES;
        axo__mpsc_node *node = NULL;
        if ((op & 3) == 0) {
            held = !held;
            axo__a32_store_relaxed(&inject.taken, held ? 1 : 0);
        } else if ((op & 3) == 1) {
            axo__inject_pop pop = axo__inject_pop_any(&inject, &node);
            fuzz_require(pop == (m.count == 0 ? AXO__INJECT_EMPTY
                                 : held       ? AXO__INJECT_LOST
                                              : AXO__INJECT_ITEM));
            if (pop == AXO__INJECT_ITEM)
                fuzz_require(node == &nodes[model_take(0)]);
        } else if (!m.in[item]) {
            axo__inject_push_any(&inject, &nodes[item]);
            model_push(item);
        }
        fuzz_require(axo__inject_has_any(&inject) == (m.count > 0));
        fuzz_require(axo__inject_few_any(&inject) ==
                     (m.count > 0 && m.count <= AXO__INJECT_FEW));
    }
}

/* ---- stack ---- */

static void stack_fuzz(fuzz_in *in)
{
    static axo__stack_node nodes[NODES];
    static uint32_t tags[NODES];
    axo__stack stack;
    axo__stack_init(&stack);
    for (uint32_t i = 0; i < OPERATIONS_MAX && in->left > 0; i++) {
        uint8_t op = fuzz_u8(in);
        uint32_t item = (op >> 1) % NODES;
        if ((op & 1) == 0 && !m.in[item]) {
            tags[item] = fuzz_u8(in) & 7;
            axo__stack_push_any(&stack, &nodes[item], tags[item]);
            model_push(item);
        } else if ((op & 1) != 0) {
            axo__stack_link link = axo__stack_take_any(&stack);
            bool turned = (op & 2) != 0;
            if (turned)
                link = axo__stack_reverse(link);
            while (m.count > 0) {
                item = model_take(turned ? 0 : m.count - 1);
                fuzz_require(axo__stack_node_of(link) == &nodes[item]);
                fuzz_require(axo__stack_tag_of(link) == tags[item]);
                link = axo__stack_node_of(link)->next;
            }
            fuzz_require(link == 0);
        }
        fuzz_require(axo__stack_has_any(&stack) == (m.count > 0));
    }
}

/* ---- newborns ---- */

static struct {
    axo__core core;
    axo__sched sched;
    axo__worker worker;
    axo__cell cells[NODES];
    bool late; /* a thief has said late, and too far, where it was */
} n;

static void newborn_open(uint32_t from)
{
    memset((void *)&n.core, 0, sizeof n.core);
    memset((void *)&n.sched, 0, sizeof n.sched);
    memset((void *)&n.worker, 0, offsetof(axo__worker, urgent));
    memset((void *)&n.worker.newborns, 0, sizeof n.worker.newborns);
    n.core.sched = &n.sched;
    n.worker.local.core = &n.core;
    n.worker.sched = n.worker.own = &n.sched;
    axo__a32_store_relaxed(&n.worker.newborn_floor, from);
    axo__a32_store_relaxed(&n.worker.newborn_top, from);
    axo__a32_store_relaxed(&n.worker.newborn_taken, from);
    n.late = false;
}

static void newborn_push(uint32_t item)
{
    if (m.in[item])
        return;
    axo__state_init(&n.cells[item].state, 0);
    axo__state_birth(&n.cells[item].state);
    uint32_t before = m.count;
    n.late = n.late && !axo__newborn_is_empty_owner(&n.worker); /* what comes now is seen */
    if (axo__newborn_push_owner(&n.worker, &n.cells[item]))
        model_push(item);
    else
        fuzz_require(before > 0); /* full: a range with its oldest still there */
    if (before == AXO__NEWBORNS)
        fuzz_require(m.count == before);
}

static void newborn_took(const axo__cell *cell, uint32_t at)
{
    fuzz_require((cell == NULL) == (m.count == 0));
    if (cell != NULL)
        fuzz_require(cell == &n.cells[model_take(at)]);
}

static void newborn_thief(uint8_t op)
{
    bool all = (op & 8) != 0;
    if ((op & 0x30) == 0x30) { /* it took something before the owner took the rest */
        uint32_t top = axo__a32_load_relaxed(&n.worker.newborn_top);
        axo__a32_store_relaxed(&n.worker.newborn_taken, top + (op >> 6));
        n.late = true;
    }
    const axo__cell *cell = axo__newborn_take_any(&n.worker, all);
    uint32_t which = 0;
    while (n.late && !all && which < m.count && cell != &n.cells[m.items[which]])
        which++; /* then it need not be the oldest */
    if (cell != NULL || all || !n.late)
        newborn_took(cell, which);
}

static void newborn_fuzz(fuzz_in *in)
{
    uint8_t shape = fuzz_u8(in);
    newborn_open((shape & 1) != 0 ? UINT32_MAX - BEFORE_WRAP : shape);
    for (uint32_t i = 0; i < OPERATIONS_MAX && in->left > 0; i++) {
        uint8_t op = fuzz_u8(in);
        switch (op & 3) {
        case 0:
            newborn_took(axo__newborn_youngest_owner(&n.worker), m.count - 1);
            break;
        case 1:
            if ((op & 4) != 0)
                newborn_thief(op);
            else
                newborn_took(axo__newborn_oldest_owner(&n.worker), 0);
            break;
        default:
            newborn_push((op >> 2) % NODES);
            break;
        }
        fuzz_require(n.late || axo__newborn_count_any(&n.worker) >= m.count);
        fuzz_require(m.count == 0 || !axo__newborn_is_empty_owner(&n.worker));
    }
}

/* ---- hash ring ---- */

enum { MEMBERS = 6, EACH_MAX = 5 };

static axo_ref ring_naive(const axo__ring *ring, uint64_t key)
{
    uint64_t hash = axo__ring_mix(key + AXO__RING_STEP);
    const axo__ring_place *best = NULL;
    const axo__ring_place *least = NULL;
    for (uint32_t i = 0; i < MEMBERS; i++) {
        uint64_t place = axo__ring_mix(i + 1 + AXO__RING_STEP);
        for (uint32_t j = 0; m.in[i] && j < ring->each; j++) {
            static axo__ring_place places[MEMBERS][EACH_MAX];
            place += AXO__RING_STEP;
            axo__ring_place *it = &places[i][j];
            *it = (axo__ring_place){.hash = axo__ring_mix(place), .member = {.bits = i + 1}};
            if (least == NULL || it->hash < least->hash)
                least = it;
            if (it->hash >= hash && (best == NULL || it->hash < best->hash))
                best = it;
        }
    }
    return best != NULL ? best->member : least != NULL ? least->member : axo_ref_none();
}

static void ring_fuzz(fuzz_in *in)
{
    static axo_system *system; /* one for all runs: it is only asked for memory */
    axo_options options = AXO_OPTIONS(FUZZ_SMALL);
    axo__ring ring;
    if (system == NULL)
        fuzz_require(axo_system_start(&options, &system) == AXO_OK);
    axo__ring_init(&ring, system, 1 + fuzz_u8(in) % EACH_MAX);
    for (uint32_t i = 0; i < OPERATIONS_MAX && in->left > 0; i++) {
        uint8_t op = fuzz_u8(in);
        uint32_t item = (op >> 2) % MEMBERS;
        axo_ref member = {.bits = item + 1};
        if ((op & 3) == 0 && !m.in[item]) {
            fuzz_require(axo__ring_reserve(&ring, m.count + 1) == AXO_OK);
            axo__ring_add(&ring, member.bits, member);
            model_push(item);
        } else if ((op & 3) == 1) {
            axo__ring_remove(&ring, member);
            for (uint32_t j = 0; j < m.count; j++) {
                if (m.items[j] == item)
                    (void)model_take(j);
            }
        } else {
            uint64_t key = (op & 4) != 0 ? fuzz_u64(in) : op;
            fuzz_require(axo_ref_equal(axo__ring_find(&ring, key), ring_naive(&ring, key)));
        }
        fuzz_require(ring.count == (size_t)m.count * ring.each && ring.count <= ring.room);
        for (size_t j = 1; j < ring.count; j++)
            fuzz_require(ring.places[j - 1].hash <= ring.places[j].hash);
    }
    axo__ring_fini(&ring);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const queues[])(fuzz_in *in) = {runq_fuzz,  mpsc_fuzz,    inject_fuzz,
                                                  stack_fuzz, newborn_fuzz, ring_fuzz};
    fuzz_in in = {.at = data, .left = size};
    memset(&m, 0, sizeof m);
    queues[fuzz_u8(&in) % (sizeof queues / sizeof queues[0])](&in);
    return 0;
}
