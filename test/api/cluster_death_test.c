/* cluster_death_test.c - nodes that are killed, a nats-server that stops, dies and comes back, and
 * packets that no node sends: <axo/cluster.h>. */
#define CW_DOWN_MS 2500
#include "api/cluster_stranger.h"

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

/* ---- what no node sends ---- */

static void refused_by_reason(void **unused)
{
    cw_node a;
    stranger s;
    size_t size;
    cw_node_start(&a, &server, "a");
    stranger_open(&s, &server, &a);
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
    stranger_open(&s, &server, &a);
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

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(killed_and_back),   cmocka_unit_test(back_at_once),
        cmocka_unit_test(stopped_node),      cmocka_unit_test(server_stops),
        cmocka_unit_test(server_dies),       cmocka_unit_test(too_many_watches),
        cmocka_unit_test(refused_by_reason), cmocka_unit_test(never_acknowledges),
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
