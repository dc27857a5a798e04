/* scene_queue.c - the run queue (CK's ring) and the injector: each entry is taken once, and what
 * its pusher did before is seen. */
#include <string.h>

#include "queue/inject.h"
#include "queue/runq.h"
#include "schedules/weak/scenes.h"

#define SIZE 4
#define ENTRIES 5

static struct {
    axo__runq runq;
    axo__spmc_slot slots[SIZE];
    axo__runq_ring more;
    axo__spmc_slot more_slots[SIZE];
    axo__inject inject;
    axo__a64 counts;
    axo__mpsc_node nodes[ENTRIES];
    uint32_t payload[ENTRIES];
    uint32_t taken[ENTRIES];
    uint32_t pushed; /* with success */
    uint32_t popped;
    uint32_t pushers; /* that are not done */
} it;

static void setup(void)
{
    memset(&it, 0, sizeof it);
    axo__runq_init(&it.runq, it.slots, SIZE);
    axo__inject_init(&it.inject, &it.counts, 32);
    it.pushers = 2;
    weak_name(&it.runq.home.ring.c_head, "head");
    weak_name(&it.runq.home.ring.p_tail, "tail");
    weak_name(&it.runq.oldest, "oldest");
    weak_name(&it.runq.home.next, "next");
    weak_name(&it.more.ring.c_head, "more.head");
    weak_name(&it.more.ring.p_tail, "more.tail");
    weak_name(&it.more.next, "more.next");
    weak_name(&it.inject.taken, "taken");
    weak_name(&it.counts, "counts");
    weak_name(&it.inject.queue.head, "queue.head");
    weak_name(&it.inject.queue.tail, "queue.tail");
    for (uint32_t i = 0; i < SIZE; i++)
        weak_name(&it.slots[i], "slot%u", i);
    for (uint32_t i = 0; i < ENTRIES; i++) {
        weak_name(&it.payload[i], "payload%u", i);
        weak_name(&it.nodes[i], "node%u", i);
    }
}

static void took(uint32_t which)
{
    weak_reads(&it.payload[which]);
    it.taken[which]++;
    it.popped++;
}

/* ---- run queue: one owner, two thieves ---- */

static bool runq_push(uint32_t which)
{
    weak_wrote(&it.payload[which]);
    if (!axo__runq_push_owner(&it.runq, &it.payload[which]))
        return false;
    it.pushed++;
    return true;
}

static bool runq_take(void)
{
    const uint32_t *payload = axo__runq_take_any(&it.runq);
    if (payload == NULL)
        return false;
    took((uint32_t)(payload - it.payload));
    return true;
}

static void owner(void)
{
    weak_expect(runq_push(0));
    weak_expect(runq_push(1));
    (void)runq_take();
}

static void owner_of_full(void)
{
    for (uint32_t i = 0; i < ENTRIES; i++)
        (void)runq_push(i);
}

/* Its first ring full, the owner appends another one. */
static void owner_extends(void)
{
    for (uint32_t i = 0; i < SIZE - 1; i++)
        weak_expect(runq_push(i));
    axo__runq_ring_init(&it.more, it.more_slots, SIZE);
    axo__runq_extend_owner(&it.runq, &it.more);
    weak_expect(runq_push(SIZE - 1));
}

/* The first ring is empty: the owner drops it, and uses it again behind the second one. */
static void owner_drops(void)
{
    weak_expect(runq_push(0));
    (void)runq_take();
    axo__runq_ring_init(&it.more, it.more_slots, SIZE);
    axo__runq_extend_owner(&it.runq, &it.more);
    weak_expect(axo__runq_drop_owner(&it.runq) == &it.runq.home);
    weak_expect(runq_push(1));
    axo__runq_extend_owner(&it.runq, &it.runq.home);
    weak_expect(runq_push(2));
    (void)axo__runq_drop_owner(&it.runq);
}

static void thief(void)
{
    (void)runq_take();
}

/* The ring has been full once: who looks beyond its end finds an entry again. */
static void setup_old(void)
{
    setup();
    for (uint32_t i = 0; i < SIZE; i++) {
        weak_expect(axo__runq_push_owner(&it.runq, &it.payload[ENTRIES - 1]));
        weak_expect(axo__runq_take_any(&it.runq) == &it.payload[ENTRIES - 1]);
    }
}

static void check_runq(void)
{
    while (runq_take())
        continue;
    weak_expect(it.popped == it.pushed);
    for (uint32_t i = 0; i < ENTRIES; i++)
        weak_expect(it.taken[i] <= 1);
}

/* ---- injector ---- */

static void inject(uint32_t which)
{
    weak_wrote(&it.payload[which]);
    axo__inject_push_any(&it.inject, &it.nodes[which]);
    it.pushed++;
}

static bool uninject(void)
{
    axo__mpsc_node *node = NULL;
    if (axo__inject_pop_any(&it.inject, &node) != AXO__INJECT_ITEM)
        return false;
    took((uint32_t)(node - it.nodes));
    return true;
}

static void pusher_one(void)
{
    inject(0);
    it.pushers--;
}

static void pusher_two(void)
{
    inject(1);
    inject(2);
    it.pushers--;
}

static void popper(void)
{
    (void)uninject();
    (void)uninject();
}

static void popper_of_one(void)
{
    (void)uninject();
}

static void check_inject(void)
{
    while (uninject())
        continue;
    weak_expect(it.popped == it.pushed);
    weak_expect(!axo__inject_has_any(&it.inject));
    for (uint32_t i = 0; i < ENTRIES; i++)
        weak_expect(it.taken[i] <= 1);
}

const weak_scenario weak_queue_scenes[] = {
    {.name = "runq", .what = "the owner pushes and takes, two thieves take",
     .setup = setup, .fibers = {owner, thief, thief}, .check = check_runq, .bound = 2},
    {.name = "runq_old", .what = "the same, in a ring that has been around once",
     .setup = setup_old, .fibers = {owner, thief, thief}, .check = check_runq, .bound = 2},
    {.name = "runq_full", .what = "the ring fills up and wraps around under a thief",
     .setup = setup, .fibers = {owner_of_full, thief}, .check = check_runq, .bound = 3},
    {.name = "runq_chain", .what = "a ring is appended under two thieves",
     .setup = setup, .fibers = {owner_extends, thief, thief}, .check = check_runq, .bound = 2},
    {.name = "runq_drop", .what = "a ring is dropped and used again under a thief",
     .setup = setup, .fibers = {owner_drops, thief}, .check = check_runq, .bound = 3},
    {.name = "inject", .what = "two push, one pops",
     .setup = setup, .fibers = {pusher_one, pusher_two, popper}, .check = check_inject,
     .bound = 2},
    {.name = "inject_poppers", .what = "one pushes, two pop and exclude each other",
     .setup = setup, .fibers = {pusher_two, popper_of_one, popper_of_one},
     .check = check_inject, .bound = 2},
    {.name = NULL},
};
