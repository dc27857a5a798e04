/* cluster_store.h - nodes with AXO_CLUSTER_STORE, beside a nats-server with JetStream. */
#ifndef TEST_API_CLUSTER_STORE_H
#define TEST_API_CLUSTER_STORE_H

#include <ftw.h>

#define CW_DOWN_MS 2500
#include "api/cluster_world.h"

#define LEASE_MS 3000

static cw_server server;

/* ---- nodes ---- */

static inline axo_cluster_options store_options(const char *name)
{
    axo_cluster_options with = cw_options(&server, name);
    with.membership = AXO_CLUSTER_STORE;
    with.lease_ms = LEASE_MS;
    return with;
}

/* Its actor "actor" hears of nodes from the first one on. */
static inline void node_with(cw_node *node, cw_note *note, const axo_cluster_options *with)
{
    cw_node_open(node, with);
    axo_options options = AXO_OPTIONS(.workers = 1, .remote = axo_cluster_remote(node->cluster),
                                      .remote_user = node->cluster,
                                      .on_dead_letter = cw_letter, .dead_letter_user = node);
    assert_int_equal(axo_system_start(&options, &node->system), AXO_OK);
    cw_actor(node, note, "actor");
    assert_int_equal(cw_tell(node, note, CW_EVENTS, axo_ref_none(), 0), AXO_OK);
    assert_int_equal(axo_cluster_start(node->cluster, node->system), AXO_OK);
}

static inline void node_start(cw_node *node, cw_note *note, const char *name)
{
    const axo_cluster_options with = store_options(name);
    node_with(node, note, &with);
}

/* ---- three nodes ---- */

typedef struct trio {
    cw_node a, b, c;
    cw_note one, two, three;
} trio;

static inline bool trio_is(const trio *t)
{
    return cw_figures(&t->a).nodes == 2 && cw_figures(&t->b).nodes == 2 &&
           cw_figures(&t->c).nodes == 2;
}

static inline void trio_start(trio *t)
{
    node_start(&t->a, &t->one, "a");
    node_start(&t->b, &t->two, "b");
    node_start(&t->c, &t->three, "c");
    CW_UNTIL(trio_is(t));
}

static inline void trio_end(trio *t)
{
    cw_node_end(&t->a);
    cw_node_end(&t->b);
    cw_node_end(&t->c);
}

/* Nobody was lost; they talk, and one that comes now is taken. */
static inline void trio_goes_on(trio *t)
{
    cw_node d;
    cw_note four;
    assert_int_equal(t->one.downs + t->two.downs + t->three.downs, 0);
    assert_int_equal(t->one.overs + t->two.overs + t->three.overs, 0);
    node_start(&d, &four, "d");
    CW_UNTIL(four.ups == 3 && t->one.ups == 3 && t->two.ups == 3 && t->three.ups == 3);
    assert_int_equal(cw_tell(&d, &four, CW_ASK, cw_find(&d, "b", "actor"), 5), AXO_OK);
    assert_int_equal(cw_tell(&t->c, &t->three, CW_ASK, cw_find(&t->c, "a", "actor"), 6), AXO_OK);
    CW_UNTIL(four.answers == 1 && t->three.answers == 1);
    cw_sleep(LEASE_MS * CW_MS); /* and no lease runs out */
    assert_int_equal(t->one.downs + t->two.downs + t->three.downs + four.downs, 0);
    cw_node_end(&d);
    CW_UNTIL(t->one.downs == 1 && t->two.downs == 1 && t->three.downs == 1);
    assert_int_equal(t->one.why, AXO_CLUSTER_LEFT);
    assert_int_equal(t->one.overs + t->two.overs + t->three.overs, 0);
    trio_end(t);
}

/* ---- the server's directory ---- */

static char directory[] = "/tmp/axo-cluster-store-XXXXXX";

static inline int forget_one(const char *path, const struct stat *is, int kind, struct FTW *at)
{
    (void)is;
    (void)kind;
    return at->level > 0 ? remove(path) : 0;
}

static inline void forget(void)
{
    assert_int_equal(nftw(directory, forget_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

static inline void store_begin(void)
{
    assert_non_null(mkdtemp(directory));
    server.store = directory;
    cw_server_start(&server);
}

static inline void store_end(void)
{
    cw_kill(server.pid);
    forget();
    (void)rmdir(directory);
}

#endif
