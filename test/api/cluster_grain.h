/* cluster_grain.h - nodes with grains, of this process and of others, and a table that all share:
 * what each name's lives have done. */
#ifndef TEST_API_CLUSTER_GRAIN_H
#define TEST_API_CLUSTER_GRAIN_H

#include <fcntl.h>
#include <sys/mman.h>

#include <axo/grain.h>

#include "api/cluster_store.h"

#define GRAINS 256
#define IDLE_MS 60000

enum { HIT = 100, FAIL, QUIT, SLOW, TICKS, TICK, TEXT };

/* A name: "0" to "255". */
typedef struct row {
    atomic_uint_least64_t top; /* the highest fence of a life that has begun */
    atomic_uint begun, ended, handled, restarted;
    atomic_uint former;        /* messages that a life has handled when a later one had begun */
    atomic_uint node;          /* where the last message was handled: its letter */
    atomic_uint number;        /* of that */
    atomic_uint disorder;
} row;

static row *table;
static char table_path[256];

static inline void table_map(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0 && ftruncate(fd, GRAINS * sizeof(row)) == 0);
    table = mmap(NULL, GRAINS * sizeof(row), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(table != MAP_FAILED);
    (void)close(fd);
}

/* Outside of the server's folder, which is emptied. */
static inline void table_make(void)
{
    (void)snprintf(table_path, sizeof table_path, "%s.table", directory);
    table_map(table_path);
}

static inline void table_clear(void)
{
    memset((void *)table, 0, GRAINS * sizeof(row));
}

/* ---- the grain ---- */

typedef struct grain_state {
    row *row;
    uint64_t fence;
    uint32_t letter;
} grain_state;

static inline void grain_look(const grain_state *me)
{
    uint64_t top = me->row->top;
    while (top < me->fence && !atomic_compare_exchange_weak(&me->row->top, &top, me->fence))
        continue;
    atomic_fetch_add(&me->row->former, top > me->fence);
}

static inline axo_status grain_construct(axo_ctx *ctx, void *state, const void *args)
{
    grain_state *me = state;
    const axo_grain_given *given = args;
    if (strcmp(given->key, "bad") == 0)
        return AXO_EINVAL;
    me->row = &table[atoi(given->key) % GRAINS];
    me->fence = given->fence;
    me->letter = (uint32_t) * (const char *)given->args;
    atomic_fetch_add(axo_instance(ctx) == 1 ? &me->row->begun : &me->row->restarted, 1);
    grain_look(me);
    return AXO_OK;
}

static inline axo_status grain_post_stop(axo_ctx *ctx, void *state)
{
    (void)ctx;
    atomic_fetch_add(&((grain_state *)state)->row->ended, 1);
    return AXO_OK;
}

static inline axo_status grain_hit(grain_state *me, const axo_message *message)
{
    uint32_t number = 0;
    if (message->size == sizeof number)
        memcpy(&number, message->payload, sizeof number);
    atomic_fetch_add(&me->row->disorder, number != 0 && number <= me->row->number);
    me->row->number = number;
    me->row->node = me->letter;
    atomic_fetch_add(&me->row->handled, 1);
    return AXO_OK;
}

static inline axo_status grain_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    grain_state *me = state;
    grain_look(me);
    switch (message->tag) {
    case HIT:
        return grain_hit(me, message);
    case FAIL:
        return AXO_EINVAL;
    case QUIT:
        return axo_stop_self(ctx);
    case SLOW:
        cw_sleep(300 * CW_MS);
        return grain_hit(me, message);
    case TICKS:
        return axo_timer_start(ctx, 1, AXO_TIMER_FIXED_DELAY, 20 * CW_MS, 20 * CW_MS, TICK, NULL,
                               0);
    case TICK:
        return AXO_OK;
    case TEXT:
        me->row->number = message->size;
        atomic_fetch_add(&me->row->handled, message->size == 6 &&
                                                memcmp(message->payload, "a list", 6) == 0);
        return AXO_OK;
    case CW_ECHO:
        return axo_reply(ctx, message, CW_BACK, message->payload, message->size);
    default:
        return AXO_UNHANDLED;
    }
}

static const axo_class grain_class =
    AXO_CLASS(.name = "thing", .state_size = sizeof(grain_state), .construct = grain_construct,
              .receive = grain_receive, .post_stop = grain_post_stop);

/* ---- nodes ---- */

static inline void grain_node_open(cw_node *node, const char *name, uint32_t idle_ms)
{
    const axo_cluster_options with = store_options(name);
    axo_props props = AXO_PROPS(.cls = &grain_class, .args = name, .args_size = 2);
    if (name[0] == 'c') /* each life has a thread, which waits for no other */
        props.dispatcher = AXO_DISPATCH_PINNED;
    const axo_grain_kind kind = AXO_GRAIN_KIND(.name = "thing", .props = &props,
                                               .idle_ms = idle_ms);
    cw_node_open(node, &with);
    assert_int_equal(axo_cluster_add_grain_kind(node->cluster, &kind), AXO_OK);
}

static inline void grain_node(cw_node *node, const char *name, uint32_t idle_ms)
{
    grain_node_open(node, name, idle_ms);
    cw_node_begin(node);
}

static inline axo_grain_figures grain_figures(const cw_node *node)
{
    axo_grain_figures figures;
    assert_int_equal(axo_grain_count(node->cluster, &figures), AXO_OK);
    return figures;
}

static inline axo_ref grain_ref(const cw_node *node, uint32_t which)
{
    char key[8];
    axo_ref ref;
    (void)snprintf(key, sizeof key, "%u", which);
    assert_int_equal(axo_grain(node->cluster, "thing", key, &ref), AXO_OK);
    assert_int_equal(axo_ref_node(ref), 0);
    return ref;
}

static inline void grain_send(const cw_node *node, uint32_t which, uint32_t tag, uint32_t number)
{
    assert_int_equal(axo_system_send(node->system, grain_ref(node, which), tag, &number,
                                     sizeof number),
                     AXO_OK);
}

/* Sends to those of `count` grains that have not answered since, again and again: a message may be
 * lost with a node. */
static inline void grains_answer(const cw_node *node, uint32_t count)
{
    uint32_t before[GRAINS];
    uint32_t missing = count;
    int64_t end = cw_now() + CW_LONG;
    for (uint32_t i = 0; i < count; i++)
        before[i] = table[i].handled;
    while (missing > 0) {
        assert_true(cw_now() < end);
        for (uint32_t i = 0; i < count; i++) {
            if (table[i].handled == before[i])
                grain_send(node, i, HIT, 0);
        }
        cw_sleep(200 * CW_MS);
        missing = 0;
        for (uint32_t i = 0; i < count; i++)
            missing += table[i].handled == before[i];
    }
}

static inline uint32_t grains_at(uint32_t count, char letter)
{
    uint32_t there = 0;
    for (uint32_t i = 0; i < count; i++)
        there += table[i].node == (uint32_t)letter;
    return there;
}

/* Of how many of the answers the node has made. */
static inline uint32_t grains_answer_at(const cw_node *node, uint32_t count, char letter)
{
    grains_answer(node, count);
    return grains_at(count, letter);
}

static inline uint32_t grains_former(void)
{
    uint32_t former = 0;
    for (uint32_t i = 0; i < GRAINS; i++)
        former += table[i].former;
    return former;
}

#endif
