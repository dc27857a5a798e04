/* scene_shared.c - what everybody reads: the registry of keys; the places of the event stream; a
 * cell's rare record, installed by whoever comes first; a door's gate. */
#include <string.h>

#include "cell/extra.h"
#include "sched/kinds.h"
#include "system/registry.h"
#include "system/stream.h"
#include "schedules/weak/pool.h"
#include "schedules/weak/scenes.h"

#define ENTRIES 3
#define KIND_OLD UINT32_C(0x01000001)
#define KIND_NEW UINT32_C(0x02000001)
#define KIND_NEXT UINT32_C(0x03000001)
#define KIND_WIDE UINT32_C(0x01000000) /* contains KIND_OLD */

static struct {
    axo__core core;
    axo__table table;
    axo__aptr chunks[1];
    axo__registry registry;
    axo__aptr buckets[1];
    axo__entry entries[ENTRIES];
    axo__key a;
    axo__key b;
    axo__key c;
    axo_ref refs[3];
    axo__extra extras[WEAK_FIBERS + 1];
    axo__local locals[WEAK_FIBERS + 1];
    axo__stream stream;
    uint64_t events[16];
} it;

static axo__shelf shelf;

/* ---- the registry: one bucket for all keys ---- */

static void setup_registry(void)
{
    memset(&it, 0, sizeof it);
    memset((void *)&shelf, 0, sizeof shelf);
    it.table = (axo__table){.chunks = it.chunks, .chunks_max = 1};
    axo__lives_init(&it.table.lives, (const uint64_t[2]){7, 9});
    shelf.table = &it.table;
    axo__aptr_store_relaxed(&it.chunks[0], &shelf);
    axo__a32_store_relaxed(&it.table.slots, AXO__TABLE_CHUNK);
    for (uint32_t i = 0; i < 3; i++) {
        shelf.cells[i].slot = i & AXO__SLOT_MASK;
        axo__a64_store_relaxed(&shelf.cells[i].self, i ^ AXO__SELF_ENDED);
        axo__state_init(&shelf.cells[i].state, 0);
        axo__table_begin(&it.table, &shelf.cells[i]);
        it.refs[i] = axo__cell_ref(&shelf.cells[i]);
    }
    it.registry = (axo__registry){.table = &it.table, .buckets = it.buckets, .max = ENTRIES,
                                  .made = ENTRIES, .free = &it.entries[0]};
    it.entries[0].next_free = &it.entries[1];
    it.entries[1].next_free = &it.entries[2];
    axo__aptr_store_relaxed(&it.buckets[0], (void *)(uintptr_t)1); /* the end of chain 0 */
    (void)axo__registry_key(&it.registry, "a", &it.a);
    (void)axo__registry_key(&it.registry, "b", &it.b);
    (void)axo__registry_key(&it.registry, "c", &it.c);
    weak_expect(axo__registry_put(&it.registry, &it.a, it.refs[0]) == AXO_OK);
    weak_name(&it.buckets[0], "bucket");
    for (uint32_t i = 0; i < ENTRIES; i++) {
        weak_name(&it.entries[i].seq, "seq%u", i);
        weak_name(&it.entries[i].next, "next%u", i);
        weak_name(&it.entries[i].hash, "hash%u", i);
        weak_name(&it.entries[i].ref, "ref%u", i);
    }
}

/* The entry of one key is given back, and taken for another at once. */
static void rebinder(void)
{
    weak_expect(axo__registry_drop(&it.registry, &it.a) == AXO_OK);
    weak_expect(axo__registry_put(&it.registry, &it.b, it.refs[1]) == AXO_OK);
}

/* A fresh entry comes; then the old one is linked before it, for another key. */
static void carrier(void)
{
    weak_expect(axo__registry_put(&it.registry, &it.b, it.refs[1]) == AXO_OK);
    weak_expect(axo__registry_drop(&it.registry, &it.a) == AXO_OK);
    weak_expect(axo__registry_put(&it.registry, &it.c, it.refs[2]) == AXO_OK);
}

/* Two fresh ones come, and the later one goes: what led to it leads to the other. */
static void unlinker(void)
{
    weak_expect(axo__registry_put(&it.registry, &it.b, it.refs[1]) == AXO_OK);
    weak_expect(axo__registry_put(&it.registry, &it.c, it.refs[2]) == AXO_OK);
    weak_expect(axo__registry_drop(&it.registry, &it.c) == AXO_OK);
}

/* It finds what its key leads to or has led to, or nothing. */
static void finder(const axo__key *key, uint32_t first, uint32_t second)
{
    axo_ref found = axo__registry_find(&it.registry, key);
    weak_expect(axo_ref_is_none(found) || found.bits == it.refs[first].bits ||
                found.bits == it.refs[second].bits);
}

static void finder_of_a(void)
{
    finder(&it.a, 0, 0);
}

static void finder_of_b(void)
{
    finder(&it.b, 1, 1);
}

/* The actor behind a key has ended; another takes the key. */
static void successor(void)
{
    axo__table_end(&shelf.cells[0]);
    weak_expect(axo__registry_put(&it.registry, &it.a, it.refs[2]) == AXO_OK);
}

static void finder_of_successor(void)
{
    finder(&it.a, 0, 2);
}

static void check_registry(void)
{
    axo_ref found = axo__registry_find(&it.registry, &it.b);
    weak_expect(found.bits == it.refs[1].bits);
    weak_expect(axo_ref_is_none(axo__registry_find(&it.registry, &it.a)));
}

static void check_successor(void)
{
    axo_ref found = axo__registry_find(&it.registry, &it.a);
    weak_expect(found.bits == it.refs[2].bits);
}

/* ---- the stream: a place goes from one subscriber to another ---- */

static void setup_stream(void)
{
    memset(&it, 0, sizeof it);
    pool_init(&axo__fixed_kind, 1, 0);
    axo__table *table = &weak_pool.core.table;
    *table = (axo__table){.chunks = it.chunks, .chunks_max = 1};
    axo__lives_init(&table->lives, (const uint64_t[2]){7, 9});
    axo__aptr_store_relaxed(&it.chunks[0], &weak_pool.shelf);
    axo__a32_store_relaxed(&table->slots, AXO__TABLE_CHUNK);
    weak_expect(axo__stream_init(&it.stream, &weak_pool.core));
    it.stream.first.count = 1;
    weak_name(&it.stream.first_places[0].version, "version");
    weak_name(&it.stream.first_places[0].who, "who");
    weak_name(&it.stream.first_places[0].count, "count");
    weak_name(&it.stream.first_places[0].yes, "yes");
    weak_name(&it.stream.first_places[0].kinds[0], "kind");
    for (uint32_t i = 0; i < 2; i++) {
        axo__state_init(&pool_cell(i)->state, 0);
        axo__a64_store_relaxed(&pool_cell(i)->self, pool_cell(i)->slot ^ AXO__SELF_ENDED);
        axo__table_begin(table, pool_cell(i));
        it.refs[i] = axo__cell_ref(pool_cell(i));
    }
    for (uint32_t i = 0; i <= WEAK_FIBERS; i++)
        axo__local_init(&it.locals[i], &weak_pool.core, AXO__NO_WORKER, 1);
    weak_expect(axo__stream_subscribe(&it.stream, it.refs[0], KIND_OLD) == AXO_OK);
}

/* All of one family, but not the one kind. */
static void setup_rules(void)
{
    setup_stream();
    weak_expect(axo__stream_subscribe(&it.stream, it.refs[0], KIND_WIDE) == AXO_OK);
    weak_expect(axo__stream_unsubscribe(&it.stream, it.refs[0], KIND_OLD) == AXO_OK);
}

static void rules_changer(void)
{
    weak_expect(axo__stream_unsubscribe(&it.stream, it.refs[0], KIND_WIDE) == AXO_OK);
    weak_expect(axo__stream_subscribe(&it.stream, it.refs[1], KIND_NEW) == AXO_OK);
    weak_expect(axo__stream_subscribe(&it.stream, it.refs[1], KIND_NEXT) == AXO_OK);
}

static void resubscriber(void)
{
    weak_expect(axo__stream_unsubscribe(&it.stream, it.refs[0], KIND_OLD) == AXO_OK);
    weak_expect(axo__stream_subscribe(&it.stream, it.refs[1], KIND_NEW) == AXO_OK);
}

static void publish(uint32_t kind)
{
    axo__event event = {.kind = kind};
    axo__stream_publish(&it.stream, &it.locals[weak_self()], &event);
}

static void publisher_of_old(void)
{
    publish(KIND_OLD);
}

static void publisher_of_new(void)
{
    publish(KIND_NEW);
}

/* Nobody is told of what he has not asked for. */
static void check_untold(uint32_t which)
{
    weak_expect((axo__state_look(&pool_cell(which)->state) & AXO__LANE) == 0);
}

static void check_new_untold(void)
{
    check_untold(1);
}

static void check_old_untold(void)
{
    check_untold(0);
}

static void check_both_untold(void)
{
    check_untold(0);
    check_untold(1);
}

/* ---- a record that is installed by the runner or by a watcher ---- */

void *axo__pool_alloc_slow(axo__cache *cache, size_t size)
{
    (void)cache;
    if (size != sizeof(axo__extra)) {
        weak_expect(size <= sizeof it.events);
        return it.events;
    }
    axo__extra *extra = &it.extras[weak_self()];
    weak_wrote(&extra->name);
    memset((void *)extra, 0xaa, sizeof *extra);
    return extra;
}

void axo__pool_free_large(axo__pool *from, void *block, size_t size)
{
    (void)from;
    (void)size;
    weak_expect(block == NULL);
}

void axo__pool_spill(axo__cache *cache, uint32_t index)
{
    (void)cache;
    (void)index;
    weak_fail("one block is too much for a cache");
}

void axo__cache_flush(axo__cache *cache)
{
    (void)cache; /* no trim is modelled here */
}

static void setup_extra(void)
{
    memset(&it, 0, sizeof it);
    memset((void *)&shelf, 0, sizeof shelf);
    for (uint32_t i = 0; i <= WEAK_FIBERS; i++)
        axo__local_init(&it.locals[i], &it.core, AXO__NO_WORKER, 1);
    weak_name(&shelf.cells[0].extra, "extra");
}

static void taker(void)
{
    axo__local *local = &it.locals[weak_self()];
    const axo__extra *extra = axo__extra_take(local, &shelf.cells[0]);
    weak_reads(&extra->name);
    weak_expect(extra->name == NULL);
}

static void extra_looker(void)
{
    const axo__extra *extra = axo__cell_extra(&shelf.cells[0]);
    if (extra == NULL)
        return;
    weak_reads(&extra->name);
    weak_expect(extra->name == NULL);
}

/* What was not needed went back to who had made it. */
static void check_extra(void)
{
    const axo__extra *extra = axo__cell_extra(&shelf.cells[0]);
    for (uint32_t i = 0; i <= WEAK_FIBERS; i++)
        weak_expect((const void *)it.locals[i].cache.free[0] != (const void *)extra);
}

/* ---- a gate: what is inside has one owner at a time; who passes sees what came before ---- */

static axo__os_gate gate;
static uint32_t gate_inside; /* plain */
static uint32_t gate_entries;

static void setup_gate(void)
{
    gate = (axo__os_gate){{AXO__GATE_FREE}};
    gate_inside = gate_entries = 0;
    weak_name(&gate.word, "gate");
}

static void gate_goer(void)
{
    axo__os_gate_enter(&gate);
    weak_expect(gate_inside++ == 0);
    weak_wrote(&gate_inside);
    gate_entries++;
    weak_wrote(&gate_entries);
    gate_inside--;
    axo__os_gate_leave(&gate);
}

/* It goes away where somebody is inside, as who enters a door does. */
static void gate_trier(void)
{
    if (!axo__os_gate_try(&gate))
        return;
    weak_reads(&gate_entries);
    weak_expect(gate_inside == 0 && gate_entries <= 2);
    axo__os_gate_leave(&gate);
}

static void check_gate(void)
{
    weak_expect(gate_entries == 2 && gate_inside == 0);
}

const weak_scenario weak_shared_scenes[] = {
    {.name = "gate", .what = "two go through a gate, a third one tries it",
     .setup = setup_gate, .fibers = {gate_goer, gate_goer, gate_trier}, .check = check_gate,
     .bound = 2},
    {.name = "registry_old", .what = "an entry goes to another key, the old one is looked up",
     .setup = setup_registry, .fibers = {rebinder, finder_of_a}, .check = check_registry,
     .bound = 1},
    {.name = "registry_new", .what = "an entry goes to another key, the new one is looked up",
     .setup = setup_registry, .fibers = {rebinder, finder_of_b}, .check = check_registry,
     .bound = 1},
    {.name = "registry_carried", .what = "a reader is carried along a chain that changes",
     .setup = setup_registry, .fibers = {carrier, finder_of_a}, .bound = 1},
    {.name = "registry_unlinked", .what = "an entry is unlinked before one that is fresh",
     .setup = setup_registry, .fibers = {unlinker, finder_of_b}, .bound = 1},
    {.name = "registry_heir", .what = "a key gets another reference under a reader",
     .setup = setup_registry, .fibers = {successor, finder_of_successor},
     .check = check_successor, .bound = 2},
    {.name = "stream_old", .what = "a place changes hands under who publishes for the old one",
     .setup = setup_stream, .fibers = {resubscriber, publisher_of_old},
     .check = check_new_untold, .bound = 2},
    {.name = "stream_new", .what = "a place changes hands under who publishes for the new one",
     .setup = setup_stream, .fibers = {resubscriber, publisher_of_new},
     .check = check_old_untold, .bound = 2},
    {.name = "stream_rules", .what = "the same, with rules that say no",
     .setup = setup_rules, .fibers = {rules_changer, publisher_of_old},
     .check = check_both_untold, .bound = 1},
    {.name = "extra", .what = "two install a record, a third looks",
     .setup = setup_extra, .fibers = {taker, taker, extra_looker}, .check = check_extra,
     .bound = 2},
    {.name = NULL},
};
