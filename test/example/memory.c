/* memory.c - an instance's heap: a cache that gives blocks back, a bound that it lives with, a
 * neighbour whose bound is a failure, and a mistake that is found. memory.expected is what it
 * prints. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <axo/axo.h>

enum { PUT = 1, MISTAKE };
#define ENTRIES 8

static void must(axo_status status)
{
    if (status == AXO_OK)
        return;
    fprintf(stderr, "%s\n", axo_status_text(status));
    exit(1);
}

/* The last entries that came, as many as there is room for. */
typedef struct cache {
    char *entries[ENTRIES];
    uint32_t next;
    uint32_t dropped;
} cache;

static void cache_drop(axo_ctx *ctx, cache *me, uint32_t place)
{
    if (me->entries[place] == NULL)
        return;
    axo_free(ctx, me->entries[place]);
    me->entries[place] = NULL;
    me->dropped++;
}

/* The oldest entries make room for a new one. */
static axo_status cache_put(axo_ctx *ctx, cache *me, const axo_message *message)
{
    uint32_t place = me->next++ % ENTRIES;
    cache_drop(ctx, me, place);
    char *entry = axo_alloc(ctx, message->size);
    for (uint32_t i = 1; entry == NULL && i < ENTRIES; i++) {
        cache_drop(ctx, me, (place + i) % ENTRIES);
        entry = axo_alloc(ctx, message->size);
    }
    if (entry == NULL)
        return AXO_ENOMEM;
    memcpy(entry, message->payload, message->size);
    me->entries[place] = entry;
    axo_memory memory = axo_memory_of(ctx);
    printf("cache: has %d, dropped %d, within %s\n", (int)memory.blocks, (int)me->dropped,
           memory.held <= memory.held_max ? "its bound" : "nothing");
    return AXO_OK;
}

static axo_status cache_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    cache *me = state;
    if (message->tag == PUT)
        return cache_put(ctx, me, message);
    axo_free(ctx, me); /* MISTAKE: the state is no block */
    return AXO_OK;
}

static const axo_class cache_class =
    AXO_CLASS(.name = "cache", .state_size = sizeof(cache), .receive = cache_receive);

/* Who has no plan for a refusal fails: `memory_fails`, or axo_must_alloc. */
static axo_status hoard_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)state;
    memcpy(axo_must_alloc(ctx, message->size), message->payload, message->size);
    printf("hoard: has %d\n", (int)axo_memory_of(ctx).blocks);
    return AXO_OK;
}

static const axo_class hoard_class = AXO_CLASS(.name = "hoard", .receive = hoard_receive);

static axo_directive decide(axo_ctx *ctx, void *state, const axo_failure *failure, void *user)
{
    printf("parent: %s, %s\n", axo_failure_kind_name(failure->kind),
           axo_status_text((axo_status)failure->code));
    return axo_decide_default(ctx, state, failure, user);
}

int main(void)
{
    static const axo_strategy strategy = AXO_STRATEGY(.decider = decide);
    static const char bytes[3000];
    axo_options options = AXO_OPTIONS(.manual = 1, .user_strategy = &strategy);
    axo_props small = AXO_PROPS(.cls = &cache_class, .memory_max = 16384);
    axo_props other = AXO_PROPS(.cls = &hoard_class, .memory_max = 8192);
    axo_system *system;
    axo_ref keeper;
    axo_ref hoard;
    must(axo_system_start(&options, &system));
    must(axo_system_spawn(system, &small, &keeper));
    must(axo_system_spawn(system, &other, &hoard));
    must(axo_run_host(system, -1, NULL));
    for (int i = 0; i < 6; i++) {
        must(axo_system_send(system, keeper, PUT, bytes, sizeof bytes));
        must(axo_run_host(system, -1, NULL));
    }
    for (int i = 0; i < 4; i++) {
        must(axo_system_send(system, hoard, PUT, bytes, sizeof bytes));
        must(axo_run_host(system, -1, NULL));
    }
    must(axo_system_send(system, keeper, MISTAKE, NULL, 0));
    must(axo_run_host(system, -1, NULL));
    must(axo_system_stop(system, -1, NULL, 0, NULL));
    must(axo_system_destroy(system));
    return 0;
}
