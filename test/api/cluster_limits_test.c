/* cluster_limits_test.c - where a node has no memory, no number, no server or no word for another:
 * <axo/cluster.h>. */
#include "api/cluster_store.h"
#include "api/cluster_stranger.h"
#include "carrier.h"

static char *self;

/* ---- no memory ---- */

#define MANY 3000

typedef struct scarce {
    atomic_bool refuses;
    atomic_uint refused;
} scarce;

static void *scarce_alloc(void *user, size_t size, size_t align)
{
    scarce *memory = user;
    void *block = NULL;
    if (memory->refuses)
        memory->refused++;
    else if (posix_memalign(&block, align < 16 ? 16 : align, size) != 0)
        return NULL;
    return block;
}

static void scarce_free(void *user, void *block, size_t size, size_t align)
{
    (void)user;
    (void)size;
    (void)align;
    free(block);
}

static axo_status mute_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)ctx;
    (void)state;
    (void)message;
    return AXO_OK;
}

/* An order about each, and not one by one. */
static void tell_of_all(const cw_node *node, cw_note *note, uint32_t what, const axo_ref *all)
{
    uint32_t before = note->done;
    for (uint32_t i = 0; i < MANY; i++) {
        const cw_order order = {.what = what, .to = all[i]};
        assert_int_equal(axo_system_send(node->system, note->ref, CW_DO, &order, sizeof order),
                         AXO_OK);
    }
    CW_UNTIL(note->done == before + MANY);
    assert_int_equal(note->status, AXO_OK);
}

/* A watch for which there is no memory is not acknowledged, and comes again. */
static void watches_without_memory(void **unused)
{
    static axo_ref far[MANY];
    static scarce memory;
    static const axo_class mute = AXO_CLASS(.name = "mute", .receive = mute_receive);
    cw_node a, b;
    cw_note one;
    const axo_cluster_options with = cw_options(&server, "b");
    const axo_props props = AXO_PROPS(.cls = &mute);
    cw_node_start(&a, &server, "a");
    cw_actor(&a, &one, "one");
    cw_node_open(&b, &with);
    axo_options options = AXO_OPTIONS(.workers = 1, .remote = axo_cluster_remote(b.cluster),
                                      .remote_user = b.cluster, .on_dead_letter = cw_letter,
                                      .dead_letter_user = &b,
                                      .allocator = {scarce_alloc, scarce_free, &memory});
    assert_int_equal(axo_system_start(&options, &b.system), AXO_OK);
    assert_int_equal(axo_cluster_start(b.cluster, b.system), AXO_OK);
    CW_UNTIL(cw_figures(&a).nodes == 1 && cw_figures(&b).nodes == 1);
    for (uint32_t i = 0; i < MANY; i++) {
        assert_int_equal(axo_system_spawn(b.system, &props, &far[i]), AXO_OK);
        far[i] = axo_remote_enter(a.system, &axo_cluster_remote(b.cluster)->here, far[i].bits);
    }
    memory.refuses = true;
    tell_of_all(&a, &one, CW_WATCH, far);
    axo_cluster_link link = AXO_CLUSTER_LINK();
    CW_UNTIL(axo_cluster_links(a.cluster, &link, 1, NULL) == AXO_OK && link.resent > 100);
    assert_true(link.up == 1 && link.kept > 0 && memory.refused > 0);
    memory.refuses = false;
    CW_UNTIL(axo_cluster_links(a.cluster, &link, 1, NULL) == AXO_OK && link.kept == 0);
    tell_of_all(&a, &one, CW_STOP, far);
    CW_UNTIL(one.ends == MANY); /* each is told of */
    assert_int_equal(one.lost, 0);
    cw_node_end(&a);
    cw_node_end(&b);
}

/* ---- no server ---- */

/* What was sent while it was known that there is no server comes when there is one, also if its
 * receiver has a connection later than its sender. */
static void what_waits_comes(void **unused)
{
    cw_node a, b;
    cw_note two;
    uint32_t sent = 0;
    cw_node_start(&a, &server, "a");
    cw_node_start(&b, &server, "b");
    cw_actor(&b, &two, "two");
    axo_ref far = cw_find(&a, "b", "two");
    for (uint32_t round = 0; round < 3; round++) {
        cw_kill(server.pid);
        cw_sleep(500 * CW_MS); /* until it is known */
        cw_server_run(&server);
        for (uint32_t i = 0; i < 300; i++) { /* who publishes is awake when it connects */
            sent++;
            assert_int_equal(axo_system_send(a.system, far, CW_NUMBER, &sent, sizeof sent),
                             AXO_OK);
            cw_sleep(CW_MS);
        }
        CW_UNTIL(two.last == sent);
    }
    assert_int_equal(two.numbers, sent);
    assert_int_equal(two.disorder, 0);
    cw_node_end(&a);
    cw_node_end(&b);
}

/* ---- strangers ---- */

/* Numbers that are left out were messages on their way. */
static void missed(void **unused)
{
    cw_node a;
    stranger s;
    unsigned char bytes[64];
    axo_cluster_link link = AXO_CLUSTER_LINK();
    const cluster_body body = {.what = CLUSTER_WHAT_SEND, .tag = CW_NUMBER, .to = 4711};
    cw_node_start(&a, &server, "a");
    stranger_open(&s, &server, &a);
    for (uint64_t number = 5; number <= 15; number += 5) {
        const cluster_frame frame = {.kind = CLUSTER_USER, .from = s.is.incarnation, .to = s.to,
                                     .number = number, .body = bytes,
                                     .size = (uint32_t)cluster_wire_put_body(bytes, &body)};
        size_t size = cluster_wire_begin(s.bytes, &s.key, CLUSTER_LINK, &s.is, s.to);
        size += cluster_wire_put_frame(s.bytes + size, &frame);
        size += cluster_wire_put_frame(s.bytes + size, &frame); /* a second one is none */
        stranger_send(&s, cluster_wire_end(s.bytes, size, 2, &s.key));
    }
    CW_UNTIL(axo_cluster_links(a.cluster, &link, 1, NULL) == AXO_OK && link.received == 3);
    assert_int_equal(link.missed, 12);
    assert_int_equal(link.bytes_in, 6 * (CLUSTER_FRAME_SIZE + CLUSTER_BODY_SIZE));
    natsConnection_Destroy(s.connection);
    cw_node_end(&a);
}

/* More nodes than there are numbers: it is told, and goes on when some are lost. */
static void no_room(void **unused)
{
    cw_node a;
    cw_note one;
    stranger s;
    cw_node_start(&a, &server, "a");
    cw_actor(&a, &one, "one");
    assert_int_equal(cw_tell(&a, &one, CW_EVENTS, axo_ref_none(), 0), AXO_OK);
    stranger_open(&s, &server, &a);
    for (uint32_t i = 0; i < AXO_NODES_MAX; i++) {
        (void)snprintf(s.is.name, sizeof s.is.name, "n%u", i);
        stranger_send(&s, stranger_packet(&s, CLUSTER_FIND));
    }
    CW_UNTIL(one.ups == AXO_NODES_MAX);
    int64_t before = cw_now();
    (void)snprintf(s.is.name, sizeof s.is.name, "last");
    for (uint32_t i = 0; i < 20; i++)
        stranger_send(&s, stranger_packet(&s, CLUSTER_FIND));
    CW_UNTIL(one.no_rooms > 0 && cw_figures(&a).strangers >= 20);
    if (cw_now() - before < CW_DOWN_MS / 2 * CW_MS)
        assert_true(one.no_rooms == 1 && one.ups == AXO_NODES_MAX);
    for (uint32_t i = 0; i < 3000 && one.ups == AXO_NODES_MAX; i++) { /* the others are silent */
        stranger_send(&s, stranger_packet(&s, CLUSTER_FIND));
        cw_sleep(20 * CW_MS);
    }
    assert_int_equal(one.ups, AXO_NODES_MAX + 1);
    natsConnection_Destroy(s.connection);
    cw_node_end(&a);
}

/* ---- with a store ---- */

/* Entries of more nodes than there are numbers. */
static void no_room_in_a_store(void **unused)
{
    cw_node a;
    cw_note one;
    natsConnection *connection;
    jsCtx *js;
    kvStore *kv;
    axo_cluster_options with = store_options("a");
    with.cluster = "full";
    with.lease_ms = 60000;
    node_with(&a, &one, &with);
    assert_int_equal(natsConnection_ConnectTo(&connection, server.url), NATS_OK);
    assert_int_equal(natsConnection_JetStream(&js, connection, NULL), NATS_OK);
    assert_int_equal(js_KeyValue(&kv, js, a.cluster->who->bucket), NATS_OK);
    for (uint32_t i = 0; i <= AXO_NODES_MAX; i++) {
        unsigned char bytes[CLUSTER_AROUND_MAX + 8];
        const cluster_key *key = &a.cluster->key;
        const cluster_find part = {.id = CLUSTER_UP};
        axo_node node = {.incarnation = 1};
        (void)snprintf(node.name, sizeof node.name, "n%u", i);
        size_t size = cluster_wire_begin(bytes, key, CLUSTER_ENTRY, &node, 0);
        size += cluster_wire_put_find(bytes + size, CLUSTER_ENTRY, &part);
        size = cluster_wire_end(bytes, size, 1, key);
        assert_int_equal(kvStore_Put(NULL, kv, node.name, bytes, (int)size), NATS_OK);
    }
    CW_UNTIL(one.no_rooms == 1);
    assert_int_equal(one.ups, 0); /* nobody was heard */
    kvStore_Destroy(kv);
    jsCtx_Destroy(js);
    natsConnection_Destroy(connection);
    cw_node_end(&a);
}

static axo_cluster_link link_of(const cw_node *node)
{
    axo_cluster_link link = AXO_CLUSTER_LINK();
    assert_int_equal(axo_cluster_links(node->cluster, &link, 1, NULL), AXO_OK);
    return link;
}

/* Before it is held lost phi grows from nothing. */
static void silence_says_more(void **unused)
{
    cw_node a;
    cw_note one;
    axo_cluster_options with = store_options("a");
    char *argv[] = {self, "node", server.url, NULL};
    pid_t pid = cw_spawn(argv);
    with.beat_ms = 250; /* so that it takes its time */
    node_with(&a, &one, &with);
    CW_UNTIL(one.ups == 1);
    assert_true(link_of(&a).phi < 1);
    cw_kill(pid);
    CW_UNTIL(link_of(&a).phi > 1);
    assert_true(link_of(&a).heard_ns > 1000 * CW_MS);
    CW_UNTIL(link_of(&a).up == 0); /* by its silence, or its lease */
    assert_in_range(link_of(&a).why, AXO_CLUSTER_SILENT, AXO_CLUSTER_EXPIRED);
    assert_true(link_of(&a).phi == 0);
    cw_node_end(&a);
}

static AXO_NORETURN void process_main(const char *url)
{
    static cw_node node;
    static cw_note note;
    (void)snprintf(server.url, sizeof server.url, "%s", url);
    node_start(&node, &note, "b");
    for (;;)
        (void)pause();
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(watches_without_memory), cmocka_unit_test(what_waits_comes),
        cmocka_unit_test(missed),                 cmocka_unit_test(no_room),
        cmocka_unit_test(no_room_in_a_store),     cmocka_unit_test(silence_says_more),
    };
    if (argc == 3 && strcmp(argv[1], "node") == 0)
        process_main(argv[2]);
    self = argv[0];
    if (argc == 2)
        cmocka_set_test_filter(argv[1]);
    if (!cw_has_server())
        return 0;
    store_begin();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    store_end();
    return failed;
}
