/* cluster_stranger.h - who sends packets as a node does, and is none: over the test's own
 * nats-server, with the token. */
#ifndef TEST_API_CLUSTER_STRANGER_H
#define TEST_API_CLUSTER_STRANGER_H

#include <nats/nats.h>

#include "api/cluster_world.h"
#include "wire.h"

typedef struct stranger {
    natsConnection *connection;
    cluster_key key;
    axo_node is;
    uint64_t to;
    char subject[256];
    unsigned char bytes[512];
} stranger;

static inline size_t stranger_packet(stranger *s, cluster_packet_kind kind)
{
    const cluster_find part = {.id = 1, .key = "actor", .key_size = 5};
    size_t size = cluster_wire_begin(s->bytes, &s->key, kind, &s->is, s->to);
    size += cluster_wire_put_find(s->bytes + size, kind, &part);
    return cluster_wire_end(s->bytes, size, 1, &s->key);
}

static inline void stranger_send(stranger *s, size_t size)
{
    assert_int_equal(natsConnection_Publish(s->connection, s->subject, s->bytes, (int)size),
                     NATS_OK);
    assert_int_equal(natsConnection_Flush(s->connection), NATS_OK);
}

static inline void stranger_open(stranger *s, const cw_server *at, const cw_node *node)
{
    const axo_node *here = &axo_cluster_remote(node->cluster)->here;
    memset(s, 0, sizeof *s);
    assert_int_equal(natsConnection_ConnectTo(&s->connection, at->url), NATS_OK);
    s->is = (axo_node){.name = "evil", .incarnation = 1};
    s->to = here->incarnation;
    cluster_key_of(&s->key, "test", "secret");
    (void)snprintf(s->subject, sizeof s->subject, "axo.test.%s.%016llx", here->name,
                   (unsigned long long)here->incarnation);
}

#endif
