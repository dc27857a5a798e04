/* cluster_death_test.c - nodes that are killed, a nats-server that stops, dies and comes back, and
 * packets that no node sends: <axo/cluster.h>. */
#include <nats/nats.h>

#define CW_DOWN_MS 2500
#include "api/cluster_world.h"
#include "wire.h"

static cw_server server;
static char *self;

/* ---- a node of another process ---- */

static AXO_NORETURN void process_main(const char *url, const char *name)
{
    static cw_node node;
    static cw_note note;
    cw_server at;
    (void)snprintf(at.url, sizeof at.url, "%s", url);
    cw_node_start(&node, &at, name);
    cw_actor(&node, &note, "actor");
    for (;;)
        (void)pause();
}

static pid_t process_start(char *name)
{
    char *argv[] = {self, "node", server.url, name, NULL};
    return cw_spawn(argv);
}

/* Why the node of that number is lost there. */
static uint32_t why_of(const cw_node *node, uint32_t number)
{
    axo_cluster_link links[8] = {AXO_CLUSTER_LINK()};
    uint32_t count;
    assert_int_equal(axo_cluster_links(node->cluster, links, 8, &count), AXO_OK);
    for (uint32_t i = 0; i < count && i < 8; i++) {
        if (links[i].number == number && links[i].up == 0)
            return links[i].why;
    }
    return UINT32_MAX;
}

/* ---- killed ---- */

static void killed_and_back(void **unused)
{
    cw_node a, c;
    cw_note one, two;
    pid_t pid = process_start("b");
    cw_node_start(&a, &server, "a");
    cw_node_start(&c, &server, "c");
    cw_actor(&a, &one, "one");
    cw_actor(&c, &two, "two");
    axo_ref far = cw_find(&a, "b", "actor");
    CW_UNTIL(cw_figures(&a).nodes == 2);
    assert_int_equal(cw_tell(&a, &one, CW_EVENTS, axo_ref_none(), 0), AXO_OK);
    assert_int_equal(cw_tell(&a, &one, CW_WATCH, far, 0), AXO_OK);
    assert_int_equal(cw_tell(&a, &one, CW_ASK, far, 1), AXO_OK);
    assert_int_equal(cw_tell(&c, &two, CW_WATCH, cw_find(&c, "b", "actor"), 0), AXO_OK);
    CW_UNTIL(one.answers == 1);
    for (uint32_t life = 1; life <= 3; life++) {
        int64_t before = cw_now();
        cw_kill(pid);
        CW_UNTIL(one.lost == life && two.lost == life && one.downs == life);
        assert_true(cw_now() - before > 500 * CW_MS); /* nobody said so: it was silent */
        assert_int_equal(one.why, AXO_CLUSTER_SILENT);
        pid = process_start("b");
        axo_ref again = cw_find(&a, "b", "actor");
        assert_int_equal(axo_system_send(a.system, far, CW_NUMBER, "1234", 4), AXO_EGONE);
        assert_int_equal(cw_tell(&a, &one, CW_WATCH, far, 0), AXO_OK); /* of the dead: at once */
        CW_UNTIL(one.ends == 2 * life);
        one.lost = life;
        far = again;
        assert_int_equal(cw_tell(&a, &one, CW_WATCH, far, 0), AXO_OK);
        assert_int_equal(cw_tell(&a, &one, CW_ASK, far, life), AXO_OK);
        assert_int_equal(cw_tell(&c, &two, CW_WATCH, cw_find(&c, "b", "actor"), 0), AXO_OK);
        CW_UNTIL(one.answers == life + 1 && one.ups == life);
    }
    assert_int_equal(cw_figures(&a).nodes, 2);
    cw_kill(pid);
    cw_node_end(&a);
    cw_node_end(&c);
}

/* It comes back before anybody misses it. */
static void back_at_once(void **unused)
{
    cw_node a;
    cw_note one;
    pid_t pid = process_start("b");
    cw_node_start(&a, &server, "a");
    cw_actor(&a, &one, "one");
    axo_ref far = cw_find(&a, "b", "actor");
    assert_int_equal(cw_tell(&a, &one, CW_WATCH, far, 0), AXO_OK);
    cw_kill(pid);
    pid = process_start("b");
    CW_UNTIL(one.lost == 1);
    CW_UNTIL(why_of(&a, axo_ref_node(far)) == AXO_CLUSTER_REPLACED);
    assert_int_equal(cw_tell(&a, &one, CW_ASK, cw_find(&a, "b", "actor"), 7), AXO_OK);
    CW_UNTIL(one.answers == 1);
    assert_int_equal(axo_system_send(a.system, far, CW_NUMBER, "1234", 4), AXO_EGONE);
    cw_kill(pid);
    cw_node_end(&a);
}

/* A stopped process is held lost; when it goes on it learns so, and holds the other lost. */
static void stopped_node(void **unused)
{
    cw_node a, b;
    cw_note one, two;
    pid_t pid = process_start("c");
    cw_node_start(&a, &server, "a");
    cw_node_start(&b, &server, "b");
    cw_actor(&a, &one, "one");
    cw_actor(&b, &two, "two");
    axo_ref far = cw_find(&a, "c", "actor");
    assert_int_equal(cw_tell(&a, &one, CW_WATCH, far, 0), AXO_OK);
    assert_int_equal(cw_tell(&a, &one, CW_WATCH, cw_find(&a, "b", "two"), 0), AXO_OK);
    assert_int_equal(kill(pid, SIGSTOP), 0);
    CW_UNTIL(one.lost == 1);
    assert_int_equal(kill(pid, SIGCONT), 0);
    CW_UNTIL(cw_figures(&a).strangers > 10); /* it goes on, and is not taken */
    assert_int_equal(axo_system_send(a.system, far, CW_NUMBER, "1234", 4), AXO_EGONE);
    assert_int_equal(one.ends, 1); /* b is there */
    cw_kill(pid);
    cw_node_end(&a);
    cw_node_end(&b);
}

/* ---- the server ---- */

typedef struct pair {
    cw_node a, b;
    cw_note one, two, three;
    axo_ref far, farther;
} pair;

static void pair_start(pair *p, size_t held_max)
{
    axo_cluster_options with = cw_options(&server, "a");
    with.held_max = held_max;
    cw_node_open(&p->a, &with);
    cw_node_begin(&p->a);
    cw_node_start(&p->b, &server, "b");
    cw_actor(&p->a, &p->one, "one");
    cw_actor(&p->b, &p->two, "two");
    cw_actor(&p->b, &p->three, "three");
    p->far = cw_find(&p->a, "b", "two");
    p->farther = cw_find(&p->a, "b", "three");
    assert_int_equal(cw_tell(&p->a, &p->one, CW_WATCH, p->far, 0), AXO_OK);
    CW_UNTIL(cw_figures(&p->b).nodes == 1);
}

/* Nobody is lost; a watch of meanwhile holds, and so does an order. */
static void pair_goes_on(pair *p)
{
    CW_UNTIL(p->two.last == 77);
    assert_int_equal(p->two.disorder, 0);
    assert_int_equal(cw_tell(&p->a, &p->one, CW_ASK, p->far, 5), AXO_OK);
    CW_UNTIL(p->one.answers == 1);
    assert_int_equal(axo_system_stop_actor(p->b.system, p->three.ref), AXO_OK);
    CW_UNTIL(p->one.ends == 1);
    assert_int_equal(axo_system_stop_actor(p->b.system, p->two.ref), AXO_OK);
    CW_UNTIL(p->one.ends == 2);
    assert_int_equal(p->one.lost, 0);
    assert_true(cw_figures(&p->a).nodes == 1 && cw_figures(&p->b).nodes == 1);
    cw_node_end(&p->a);
    cw_node_end(&p->b);
}

static void server_stops(void **unused)
{
    pair p;
    pair_start(&p, 0);
    assert_int_equal(kill(server.pid, SIGSTOP), 0);
    assert_int_equal(cw_tell(&p.a, &p.one, CW_WATCH, p.farther, 0), AXO_OK);
    for (uint32_t i = 1; i <= 77; i++)
        assert_int_equal(cw_tell(&p.a, &p.one, CW_SEND, p.far, i), AXO_OK);
    cw_sleep(4000 * CW_MS); /* longer than a node may be silent */
    assert_int_equal(p.one.lost, 0);
    assert_int_equal(kill(server.pid, SIGCONT), 0);
    pair_goes_on(&p);
}

static void server_dies(void **unused)
{
    pair p;
    unsigned char page[1000];
    uint32_t taken = 0;
    memset(page, 1, sizeof page);
    pair_start(&p, 65536);
    cw_kill(server.pid);
    assert_int_equal(cw_tell(&p.a, &p.one, CW_WATCH, p.farther, 0), AXO_OK);
    cw_sleep(500 * CW_MS); /* until it is known here: what is sent now waits */
    axo_status status = AXO_OK;
    while (taken < 1000 && status == AXO_OK) {
        status = axo_system_send(p.a.system, p.farther, CW_BLOB, page, sizeof page);
        taken += status == AXO_OK;
    }
    assert_int_equal(status, AXO_EFULL);
    assert_true(taken >= 50 && taken <= 65);
    assert_true(cw_figures(&p.a).full >= 1);
    cw_sleep(2000 * CW_MS);
    cw_server_run(&server);
    for (uint32_t i = 1; i <= 77; i++) { /* there is room again */
        while (cw_tell(&p.a, &p.one, CW_SEND, p.far, i) == AXO_EFULL)
            cw_sleep(CW_MS);
    }
    CW_UNTIL(p.three.blob_size == sizeof page);
    pair_goes_on(&p);
}

/* What was sent while it was known that there is no server comes when there is one, also if its
 * receiver has a connection later than its sender. */
static void what_waits_comes(void **unused)
{
    pair p;
    uint32_t sent = 0;
    pair_start(&p, 0);
    for (uint32_t round = 0; round < 5; round++) {
        cw_kill(server.pid);
        cw_sleep(500 * CW_MS); /* until it is known */
        cw_server_run(&server);
        for (uint32_t i = 0; i < 300; i++) { /* who publishes is awake when it connects */
            sent++;
            assert_int_equal(axo_system_send(p.a.system, p.far, CW_NUMBER, &sent, sizeof sent),
                             AXO_OK);
            cw_sleep(CW_MS);
        }
        CW_UNTIL(p.two.last == sent);
    }
    assert_int_equal(p.two.numbers, sent);
    assert_int_equal(p.two.disorder, 0);
    cw_node_end(&p.a);
    cw_node_end(&p.b);
}

/* ---- limits ---- */

static void too_many_watches(void **unused)
{
    pair p;
    cw_node c;
    cw_note four;
    axo_cluster_options with = cw_options(&server, "c");
    with.watches_max = 1;
    pair_start(&p, 0);
    cw_node_open(&c, &with);
    cw_node_begin(&c);
    cw_actor(&c, &four, "four");
    axo_ref far = cw_find(&p.a, "c", "four");
    for (uint32_t i = 0; i < 10; i++) { /* one at a time */
        assert_int_equal(cw_tell(&p.a, &p.one, CW_WATCH, far, 0), AXO_OK);
        assert_int_equal(cw_tell(&p.a, &p.one, CW_UNWATCH, far, 0), AXO_OK);
    }
    assert_int_equal(cw_tell(&p.a, &p.one, CW_WATCH, far, 0), AXO_OK);
    assert_int_equal(cw_tell(&p.a, &p.one, CW_ASK, far, 1), AXO_OK);
    /* a second one: of one that never was */
    axo_ref never = {.bits = far.bits ^ UINT64_C(1) << 40};
    CW_UNTIL(p.one.answers == 1);
    assert_int_equal(p.one.ends, 0);
    assert_int_equal(cw_tell(&p.a, &p.one, CW_WATCH, never, 0), AXO_OK);
    CW_UNTIL(p.one.lost >= 1);
    CW_UNTIL(cw_figures(&p.a).nodes == 1 && cw_figures(&c).nodes == 1); /* b is with both */
    assert_int_equal(why_of(&p.a, axo_ref_node(far)), AXO_CLUSTER_LOST);
    cw_node_end(&c);
    cw_node_end(&p.a);
    cw_node_end(&p.b);
}

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
    for (uint32_t i = 0; i < MANY; i++)
        assert_int_equal(cw_tell(&a, &one, CW_WATCH, far[i], 0), AXO_OK);
    axo_cluster_link link = AXO_CLUSTER_LINK();
    CW_UNTIL(axo_cluster_links(a.cluster, &link, 1, NULL) == AXO_OK && link.resent > 100);
    assert_true(link.up == 1 && link.kept > 0 && memory.refused > 0);
    memory.refuses = false;
    CW_UNTIL(axo_cluster_links(a.cluster, &link, 1, NULL) == AXO_OK && link.kept == 0);
    for (uint32_t i = 0; i < MANY; i++)
        assert_int_equal(cw_tell(&a, &one, CW_STOP, far[i], 0), AXO_OK);
    CW_UNTIL(one.ends == MANY); /* each is told of */
    assert_int_equal(one.lost, 0);
    cw_node_end(&a);
    cw_node_end(&b);
}

/* ---- what no node sends ---- */

typedef struct stranger {
    natsConnection *connection;
    cluster_key key;
    axo_node is;
    uint64_t to;
    char subject[256];
    unsigned char bytes[512];
} stranger;

static size_t stranger_packet(stranger *s, cluster_packet_kind kind)
{
    const cluster_find part = {.id = 1, .key = "actor", .key_size = 5};
    size_t size = cluster_wire_begin(s->bytes, &s->key, kind, &s->is, s->to);
    size += cluster_wire_put_find(s->bytes + size, kind, &part);
    return cluster_wire_end(s->bytes, size, 1, &s->key);
}

static void stranger_send(stranger *s, size_t size)
{
    assert_int_equal(natsConnection_Publish(s->connection, s->subject, s->bytes, (int)size),
                     NATS_OK);
    assert_int_equal(natsConnection_Flush(s->connection), NATS_OK);
}

static void stranger_open(stranger *s, const cw_node *node)
{
    const axo_node *here = &axo_cluster_remote(node->cluster)->here;
    memset(s, 0, sizeof *s);
    assert_int_equal(natsConnection_ConnectTo(&s->connection, server.url), NATS_OK);
    s->is = (axo_node){.name = "evil", .incarnation = 1};
    s->to = here->incarnation;
    cluster_key_of(&s->key, "test", "secret");
    (void)snprintf(s->subject, sizeof s->subject, "axo.test.%s.%016llx", here->name,
                   (unsigned long long)here->incarnation);
}

static void refused_by_reason(void **unused)
{
    cw_node a;
    stranger s;
    size_t size;
    cw_node_start(&a, &server, "a");
    stranger_open(&s, &a);
    size = stranger_packet(&s, CLUSTER_FIND);
    s.bytes[4] = 2;
    stranger_send(&s, size);
    CW_UNTIL(cw_figures(&a).other_version == 1);
    size = stranger_packet(&s, CLUSTER_FIND);
    stranger_send(&s, size - 1);
    CW_UNTIL(cw_figures(&a).bad_length == 1);
    s.bytes[size - 20] ^= 1;
    stranger_send(&s, size);
    CW_UNTIL(cw_figures(&a).bad_seal == 1);
    size = stranger_packet(&s, CLUSTER_FIND);
    s.bytes[6] = 99;
    (void)cluster_wire_end(s.bytes, size - CLUSTER_SEAL_SIZE, 1, &s.key);
    stranger_send(&s, size);
    CW_UNTIL(cw_figures(&a).bad_form == 1);
    s.bytes[0] = 'x';
    stranger_send(&s, size);
    stranger_send(&s, 0);
    CW_UNTIL(cw_figures(&a).not_ours == 2);
    s.to++; /* for the life before, or the next */
    size = stranger_packet(&s, CLUSTER_FIND);
    stranger_send(&s, size);
    CW_UNTIL(cw_figures(&a).strangers == 1);
    (void)snprintf(s.is.name, sizeof s.is.name, "a.>"); /* no subject is made of it */
    s.to--;
    size = stranger_packet(&s, CLUSTER_FIND);
    stranger_send(&s, size);
    CW_UNTIL(cw_figures(&a).strangers == 2);
    cluster_key_of(&s.key, "other", "secret");
    size = stranger_packet(&s, CLUSTER_FIND);
    stranger_send(&s, size);
    CW_UNTIL(cw_figures(&a).other_cluster == 1);
    assert_int_equal(cw_figures(&a).nodes, 0);
    natsConnection_Destroy(s.connection);
    cw_node_end(&a);
}

/* One that has the token and never acknowledges: a watch of it is given up, not kept for ever. */
static void never_acknowledges(void **unused)
{
    cw_node a;
    cw_note one;
    stranger s;
    axo_cluster_options with = cw_options(&server, "a");
    with.give_up_ms = 300;
    cw_node_open(&a, &with);
    cw_node_begin(&a);
    cw_actor(&a, &one, "one");
    stranger_open(&s, &a);
    stranger_send(&s, stranger_packet(&s, CLUSTER_FIND));
    CW_UNTIL(cw_figures(&a).nodes == 1);
    axo_ref far = axo_remote_enter(a.system, &s.is, 1);
    assert_int_equal(cw_tell(&a, &one, CW_WATCH, far, 0), AXO_OK);
    for (uint32_t i = 0; i < 3000 && one.lost == 0; i++) { /* it is not silent */
        stranger_send(&s, stranger_packet(&s, CLUSTER_FIND));
        cw_sleep(20 * CW_MS);
    }
    assert_int_equal(cw_figures(&a).nodes, 0);
    natsConnection_Destroy(s.connection);
    cw_node_end(&a);
}

/* Numbers that are left out were messages on their way. */
static void missed(void **unused)
{
    cw_node a;
    stranger s;
    unsigned char bytes[64];
    axo_cluster_link link = AXO_CLUSTER_LINK();
    const cluster_body body = {.what = CLUSTER_WHAT_SEND, .tag = CW_NUMBER, .to = 4711};
    cw_node_start(&a, &server, "a");
    stranger_open(&s, &a);
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
    stranger_open(&s, &a);
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

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(killed_and_back),   cmocka_unit_test(back_at_once),
        cmocka_unit_test(stopped_node),      cmocka_unit_test(server_stops),
        cmocka_unit_test(server_dies),       cmocka_unit_test(too_many_watches),
        cmocka_unit_test(refused_by_reason), cmocka_unit_test(never_acknowledges),
        cmocka_unit_test(no_room),           cmocka_unit_test(watches_without_memory),
        cmocka_unit_test(missed),            cmocka_unit_test(what_waits_comes),
    };
    if (argc == 4 && strcmp(argv[1], "node") == 0)
        process_main(argv[2], argv[3]);
    self = argv[0];
    if (argc == 2)
        cmocka_set_test_filter(argv[1]);
    if (!cw_has_server())
        return 0;
    cw_server_start(&server);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    cw_kill(server.pid);
    return failed;
}
