/* cluster_grain_test.c - grains: one life of a name, wherever, with nodes that come, go and are
 * killed, and a server that stops: <axo/grain.h>. */
#include <nats/nats.h>

#include "api/cluster_grain.h"
#include "wire.h"

static char *self;

/* ---- nodes of other processes ---- */

static AXO_NORETURN void process_main(const char *url, const char *name, const char *path)
{
    static cw_node node;
    (void)snprintf(server.url, sizeof server.url, "%s", url);
    table_map(path);
    grain_node(&node, name, IDLE_MS);
    for (;;)
        (void)pause();
}

static pid_t process_start(char *name)
{
    char *argv[] = {self, "node", server.url, name, table_path, NULL};
    return cw_spawn(argv);
}

/* ---- one life ---- */

static void nodes_three(cw_node *a, cw_node *b, cw_node *c)
{
    table_clear();
    grain_node(a, "a", IDLE_MS);
    grain_node(b, "b", IDLE_MS);
    grain_node(c, "c", IDLE_MS);
    CW_UNTIL(cw_figures(a).nodes == 2 && cw_figures(b).nodes == 2 && cw_figures(c).nodes == 2);
}

/* Each name has one life, for whoever sends; the nodes have a share each. */
static void one_life(void **unused)
{
    cw_node a, b, c;
    nodes_three(&a, &b, &c);
    axo_ref ref = grain_ref(&a, 0);
    assert_true(axo_ref_equal(grain_ref(&a, 0), ref));
    cw_sleep(100 * CW_MS);
    assert_int_equal(table[0].begun, 0); /* nobody has sent it anything */
    for (uint32_t i = 0; i < 60; i++) {
        grain_send(&a, i, HIT, 0);
        grain_send(&b, i, HIT, 0);
        grain_send(&c, i, HIT, 0);
    }
    for (uint32_t i = 0; i < 60; i++) {
        CW_UNTIL(table[i].handled == 3);
        assert_int_equal(table[i].begun, 1);
        assert_int_equal(table[i].ended, 0);
    }
    assert_int_equal(grains_former(), 0);
    assert_true(grains_at(60, 'a') > 5 && grains_at(60, 'b') > 5 && grains_at(60, 'c') > 5);
    assert_int_equal(grain_figures(&a).lives, grains_at(60, 'a'));
    assert_int_equal(grain_figures(&b).lives, grains_at(60, 'b'));
    cw_node_end(&a);
    cw_node_end(&b);
    cw_node_end(&c);
    for (uint32_t i = 0; i < 60; i++)
        assert_int_equal(table[i].begun, table[i].ended);
    assert_int_equal(a.letters + b.letters + c.letters, 0);
}

/* In order, with its sender, and as it was sent. */
static void as_any_actor(void **unused)
{
    cw_node a, b, c;
    cw_note note;
    nodes_three(&a, &b, &c);
    cw_actor(&a, &note, "note");
    for (uint32_t i = 0; i < 6; i++) {
        assert_int_equal(cw_tell(&a, &note, CW_ASK, grain_ref(&a, i), 70 + i), AXO_OK);
        CW_UNTIL(note.answers == i + 1);
        assert_int_equal(note.answer, 70 + i);
        for (uint32_t n = 1; n <= 500; n++)
            grain_send(&a, i, HIT, n);
        CW_UNTIL(table[i].handled == 500);
        assert_int_equal(table[i].disorder, 0);
    }
    cw_node_end(&a);
    cw_node_end(&b);
    cw_node_end(&c);
}

/* ---- lives that end ---- */

static void idle_and_anew(void **unused)
{
    cw_node a;
    table_clear();
    grain_node(&a, "a", 300);
    for (uint32_t life = 1; life <= 3; life++) {
        uint64_t before = table[7].top;
        for (uint32_t i = 0; i < 5; i++) { /* it is not idle meanwhile */
            grain_send(&a, 7, HIT, 0);
            CW_UNTIL(table[7].handled == 5 * (life - 1) + i + 1);
            cw_sleep(100 * CW_MS);
        }
        CW_UNTIL(table[7].ended >= life);
        assert_true(table[7].top > before);
        CW_UNTIL(grain_figures(&a).lives == 0);
    }
    grain_send(&a, 7, HIT, 0);
    grain_send(&a, 7, QUIT, 0);
    grain_send(&a, 7, HIT, 0);
    CW_UNTIL(table[7].handled == 17);
    assert_true(table[7].begun >= 5);
    assert_int_equal(table[7].former, 0);
    cw_node_end(&a);
    assert_int_equal(table[7].begun, table[7].ended);
}

/* A failure is decided as by a parent; what waits is handled by the next instance. One that cannot
 * be constructed takes a message with it, not the node's time. */
static void failures(void **unused)
{
    cw_node a;
    axo_ref bad;
    table_clear();
    grain_node(&a, "a", IDLE_MS);
    grain_send(&a, 3, HIT, 0);
    grain_send(&a, 3, FAIL, 0);
    grain_send(&a, 3, HIT, 0);
    grain_send(&a, 3, FAIL, 0);
    grain_send(&a, 3, HIT, 0);
    CW_UNTIL(table[3].handled == 3);
    assert_int_equal(table[3].begun, 1);
    assert_int_equal(table[3].restarted, 2);
    assert_int_equal(axo_grain(a.cluster, "thing", "bad", &bad), AXO_OK);
    assert_int_equal(a.letters, 0);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(axo_system_send(a.system, bad, HIT, NULL, 0), AXO_OK);
    CW_UNTIL(a.letters == 3);
    CW_UNTIL(grain_figures(&a).lives == 1 && grain_figures(&a).waiting == 0);
    cw_node_end(&a);
}

/* A node with a kind of one strategy, whose grain fails between two messages. */
static void fails_with(axo_decider decider, uint32_t begun, uint32_t restarted)
{
    const axo_strategy strategy = AXO_STRATEGY(.decider = decider);
    const axo_props props = AXO_PROPS(.cls = &grain_class, .args = "a", .args_size = 2);
    const axo_grain_kind kind = AXO_GRAIN_KIND(.name = "thing", .props = &props,
                                               .strategy = &strategy);
    const axo_cluster_options with = store_options("a");
    cw_node a;
    table_clear();
    cw_node_open(&a, &with);
    assert_int_equal(axo_cluster_add_grain_kind(a.cluster, &kind), AXO_OK);
    cw_node_begin(&a);
    grain_send(&a, 2, HIT, 0);
    grain_send(&a, 5, HIT, 0);
    CW_UNTIL(table[2].handled == 1 && table[5].handled == 1);
    grain_send(&a, 2, FAIL, 0);
    grain_send(&a, 2, HIT, 0);
    CW_UNTIL(table[2].handled == 2);
    grain_send(&a, 5, HIT, 0);
    CW_UNTIL(table[5].handled == 2);
    assert_int_equal(table[2].begun, begun);
    assert_int_equal(table[2].restarted, restarted);
    assert_int_equal(table[5].begun, 1);
    cw_node_end(&a);
}

static void strategies(void **unused)
{
    fails_with(axo_decide_restart, 1, 1);
    fails_with(axo_decide_stop, 2, 0);
    fails_with(axo_decide_escalate, 1, 1); /* what /user decides is for all of the kind */
}

static size_t text_encode(void *user, const void *from, size_t size, void *out, size_t room)
{
    size_t long_as = strlen(from);
    (void)user;
    (void)size;
    for (size_t i = 0; i < long_as && long_as <= room; i++)
        ((char *)out)[i] = (char)(((const char *)from)[i] + 1);
    return long_as;
}

static size_t text_decode(void *user, const void *from, size_t size, void *out, size_t room)
{
    (void)user;
    for (size_t i = 0; i < size && size <= room; i++)
        ((char *)out)[i] = (char)(((const char *)from)[i] - 1);
    return size;
}

/* Also to a grain of the same node: a payload is of nobody's memory, and one without a codec goes
 * nowhere. */
static void coded(void **unused)
{
    const axo_cluster_codec codec = AXO_CLUSTER_CODEC(.tag = TEXT, .encode = text_encode,
                                                      .decode = text_decode);
    cw_node a, b;
    table_clear();
    grain_node_open(&a, "a", IDLE_MS);
    grain_node_open(&b, "b", IDLE_MS);
    assert_int_equal(axo_cluster_add_codec(a.cluster, &codec), AXO_OK);
    assert_int_equal(axo_cluster_add_codec(b.cluster, &codec), AXO_OK);
    cw_node_begin(&a);
    cw_node_begin(&b);
    CW_UNTIL(cw_figures(&a).nodes == 1 && cw_figures(&b).nodes == 1);
    for (uint32_t i = 0; i < 20; i++)
        assert_int_equal(axo_system_send_owned(a.system, grain_ref(&a, i), TEXT, strdup("a list"),
                                               0, cw_free, NULL),
                         AXO_OK);
    for (uint32_t i = 0; i < 20; i++)
        CW_UNTIL(table[i].handled == 1);
    assert_true(grain_figures(&a).lives > 0 && grain_figures(&b).lives > 0);
    assert_int_equal(a.letters, 0);
    assert_int_equal(axo_system_send_owned(a.system, grain_ref(&a, 1), HIT, strdup("a list"), 0,
                                           cw_free, NULL),
                     AXO_OK);
    CW_UNTIL(a.letters == 1);
    assert_int_equal(cw_figures(&a).no_codec, 1);
    cw_node_end(&a);
    cw_node_end(&b);
}

/* The reference's actor may be stopped; the grain does not know. */
static void reference_stopped(void **unused)
{
    cw_node a;
    table_clear();
    grain_node(&a, "a", IDLE_MS);
    axo_ref ref = grain_ref(&a, 4);
    grain_send(&a, 4, HIT, 0);
    CW_UNTIL(table[4].handled == 1);
    assert_int_equal(axo_system_stop_actor(a.system, ref), AXO_OK);
    CW_UNTIL(!axo_ref_equal(grain_ref(&a, 4), ref));
    assert_int_equal(axo_system_send(a.system, ref, HIT, NULL, 0), AXO_EGONE);
    grain_send(&a, 4, HIT, 0);
    CW_UNTIL(table[4].handled == 2);
    assert_int_equal(table[4].begun, 1);
    ref = grain_ref(&a, 4);
    assert_int_equal(axo_cluster_leave(a.cluster), AXO_OK);
    assert_int_equal(table[4].ended, 1);
    uint32_t before = a.letters;
    assert_int_equal(axo_system_send(a.system, ref, HIT, NULL, 0), AXO_OK);
    CW_UNTIL(a.letters == before + 1);
    assert_int_equal(axo_grain(a.cluster, "thing", "4", &ref), AXO_ESTOPPING);
    assert_int_equal(grain_figures(&a).lives, 0);
    cw_node_end(&a);
}

/* ---- bounds ---- */

static void too_much(void **unused)
{
    static const char big[AXO_GRAIN_PAYLOAD_MAX + 1];
    cw_node a;
    table_clear();
    grain_node(&a, "a", IDLE_MS);
    grain_send(&a, 1, SLOW, 0);
    CW_UNTIL(grain_figures(&a).lives == 1 && grain_figures(&a).handled == 1);
    for (uint32_t i = 0; i < AXO_GRAIN_WAITING + 9; i++)
        grain_send(&a, 1, HIT, 0);
    CW_UNTIL(table[1].handled + a.letters == AXO_GRAIN_WAITING + 10);
    assert_true(a.letters > 0 && a.letters <= 9);
    assert_int_equal(grain_figures(&a).refused, a.letters);
    uint32_t before = a.letters;
    assert_int_equal(axo_system_send(a.system, grain_ref(&a, 1), HIT, big, sizeof big), AXO_OK);
    CW_UNTIL(a.letters == before + 1);
    cw_node_end(&a);
}

/* ---- nodes that come and go ---- */

static void joins_and_leaves(void **unused)
{
    cw_node a, b;
    table_clear();
    grain_node(&a, "a", IDLE_MS);
    grains_answer(&a, 60);
    assert_int_equal(grains_at(60, 'a'), 60);
    grain_node(&b, "b", IDLE_MS);
    CW_UNTIL(grain_figures(&a).lives < 50);
    CW_UNTIL(cw_figures(&a).nodes == 1 && cw_figures(&b).nodes == 1);
    grains_answer(&a, 60);
    grains_answer(&b, 60);
    uint32_t there = grains_at(60, 'b');
    assert_true(there > 10 && there < 50);
    for (uint32_t i = 0; i < 60; i++) /* no other than its share has moved */
        assert_int_equal(table[i].begun, table[i].node == 'b' ? 2 : 1);
    cw_node_end(&b);
    int64_t before = cw_now();
    grains_answer(&a, 60); /* what it has left is nobody's at once, not when its lease is over */
    assert_true(cw_now() - before < LEASE_MS * CW_MS);
    assert_int_equal(grains_at(60, 'a'), 60);
    assert_int_equal(grains_former(), 0);
    cw_node_end(&a);
}

/* Lives end with the system, before the node leaves; their names are nobody's then. */
static void system_stops_first(void **unused)
{
    cw_node a, b;
    table_clear();
    grain_node(&a, "a", IDLE_MS);
    grain_node(&b, "b", IDLE_MS);
    CW_UNTIL(cw_figures(&a).nodes == 1 && cw_figures(&b).nodes == 1);
    CW_UNTIL(grains_answer_at(&a, 60, 'b') > 10);
    assert_int_equal(axo_system_stop(b.system, -1, NULL, 0, NULL), AXO_OK);
    CW_UNTIL(grain_figures(&b).lives == 0);
    int64_t before = cw_now();
    cw_node_end(&b);
    grains_answer(&a, 60);
    assert_true(cw_now() - before < LEASE_MS * CW_MS);
    assert_int_equal(grains_at(60, 'a'), 60);
    assert_int_equal(grains_former(), 0);
    cw_node_end(&a);
}

static void killed(void **unused)
{
    cw_node a, b;
    table_clear();
    pid_t pid = process_start("c");
    grain_node(&a, "a", IDLE_MS);
    grain_node(&b, "b", IDLE_MS);
    CW_UNTIL(cw_figures(&a).nodes == 2 && cw_figures(&b).nodes == 2);
    CW_UNTIL(grains_answer_at(&a, 60, 'c') > 5); /* it may come up a moment later */
    int64_t before = cw_now();
    cw_kill(pid);
    grains_answer(&b, 60);
    assert_true(cw_now() - before > LEASE_MS * CW_MS / 2);
    assert_int_equal(grains_at(60, 'c'), 0);
    assert_int_equal(grains_former(), 0);
    cw_node_end(&a);
    cw_node_end(&b);
}

/* A process that is stopped for longer than its lease handles nothing as a former life when it goes
 * on: no messages, and no timers. */
static void stopped_node(void **unused)
{
    cw_node a, b;
    table_clear();
    pid_t pid = process_start("c");
    grain_node(&a, "a", IDLE_MS);
    grain_node(&b, "b", IDLE_MS);
    CW_UNTIL(cw_figures(&a).nodes == 2 && cw_figures(&b).nodes == 2);
    CW_UNTIL(grains_answer_at(&a, 60, 'c') > 5);
    for (uint32_t i = 0; i < 60; i++) {
        if (table[i].node == 'c')
            grain_send(&a, i, TICKS, 0);
    }
    grains_answer(&a, 60);
    assert_int_equal(kill(pid, SIGSTOP), 0);
    assert_int_equal(waitpid(pid, NULL, WUNTRACED), pid); /* all its threads are */
    for (uint32_t i = 0; i < 60; i++) /* on their way when it goes on */
        grain_send(&a, i, HIT, 0);
    grains_answer(&b, 60);
    assert_int_equal(grains_at(60, 'c'), 0);
    assert_int_equal(kill(pid, SIGCONT), 0);
    cw_sleep(1000 * CW_MS);
    assert_true(grains_former() <= 1); /* it may have been stopped at a handler's door (lease.h) */
    cw_kill(pid);
    cw_node_end(&a);
    cw_node_end(&b);
}

/* ---- the server ---- */

/* Beyond the lease all lives end, and none begins; behind it names have lives again, one each. */
static void server_stops(void **unused)
{
    cw_node a, b;
    table_clear();
    grain_node(&a, "a", IDLE_MS);
    grain_node(&b, "b", IDLE_MS);
    CW_UNTIL(cw_figures(&a).nodes == 1 && cw_figures(&b).nodes == 1);
    grains_answer(&a, 40);
    uint64_t begun = grain_figures(&a).begun + grain_figures(&b).begun;
    int64_t before = cw_now();
    assert_int_equal(kill(server.pid, SIGSTOP), 0);
    CW_UNTIL(grain_figures(&a).lives == 0 && grain_figures(&b).lives == 0);
    assert_true(cw_now() - before < LEASE_MS * CW_MS + 2000 * CW_MS);
    for (uint32_t i = 0; i < 40; i++) {
        assert_int_equal(table[i].begun, table[i].ended);
        grain_send(&a, i, HIT, 0);
    }
    cw_sleep(LEASE_MS / 2 * CW_MS);
    assert_true(grain_figures(&a).begun + grain_figures(&b).begun == begun);
    assert_int_equal(kill(server.pid, SIGCONT), 0);
    grains_answer(&a, 40);
    grains_answer(&b, 40);
    assert_int_equal(grains_former(), 0);
    for (uint32_t i = 0; i < 40; i++)
        assert_int_equal(table[i].begun, table[i].ended + 1);
    assert_int_equal(grain_figures(&a).dead + grain_figures(&b).dead, 0); /* they have waited */
    cw_node_end(&a);
    cw_node_end(&b);
}

/* ---- refused ---- */

/* A stream in which a record would go by itself is not taken. */
static void refused_stream(void **unused)
{
    char name[64];
    char subjects[80];
    const char *all = subjects;
    cluster_key key;
    natsConnection *connection = NULL;
    jsCtx *js = NULL;
    jsStreamConfig config;
    axo_cluster_options with = store_options("a");
    const axo_props props = AXO_PROPS(.cls = &grain_class, .args = "a", .args_size = 2);
    const axo_grain_kind kind = AXO_GRAIN_KIND(.name = "thing", .props = &props);
    cw_node a;
    with.cluster = "aged";
    cluster_key_of(&key, with.cluster, with.token);
    (void)snprintf(name, sizeof name, "axo_aged_%08x_grains", (unsigned)key.token);
    (void)snprintf(subjects, sizeof subjects, "%s.>", name);
    assert_int_equal(natsConnection_ConnectTo(&connection, server.url), NATS_OK);
    assert_int_equal(natsConnection_JetStream(&js, connection, NULL), NATS_OK);
    assert_int_equal(jsStreamConfig_Init(&config), NATS_OK);
    config.Name = name;
    config.Subjects = &all;
    config.SubjectsLen = 1;
    config.MaxMsgsPerSubject = 1;
    config.MaxAge = INT64_C(3600000000000);
    assert_int_equal(js_AddStream(NULL, js, &config, NULL, NULL), NATS_OK);
    cw_node_open(&a, &with);
    assert_int_equal(axo_cluster_add_grain_kind(a.cluster, &kind), AXO_OK);
    axo_options options = AXO_OPTIONS(.workers = 1, .remote = axo_cluster_remote(a.cluster),
                                      .remote_user = a.cluster);
    assert_int_equal(axo_system_start(&options, &a.system), AXO_OK);
    assert_int_equal(axo_cluster_start(a.cluster, a.system), AXO_ESYSTEM);
    assert_int_equal(js_DeleteStream(js, name, NULL, NULL), NATS_OK);
    assert_int_equal(axo_cluster_start(a.cluster, a.system), AXO_OK);
    cw_node_end(&a);
    jsCtx_Destroy(js);
    natsConnection_Destroy(connection);
}

static void refused_kinds(void **unused)
{
    const axo_mailbox bounded = AXO_MAILBOX(.messages_max = 5);
    axo_props props = AXO_PROPS(.cls = &grain_class, .args = "a", .args_size = 2);
    axo_grain_kind kind = AXO_GRAIN_KIND(.name = "thing", .props = &props);
    axo_cluster_options with = store_options("a");
    cw_node a;
    axo_ref ref = {.bits = 1};
    char longest[AXO_GRAIN_KEY_MAX + 2];
    grain_node_open(&a, "a", IDLE_MS);
    assert_int_equal(axo_cluster_add_grain_kind(a.cluster, &kind), AXO_EEXIST);
    assert_int_equal(axo_cluster_add_grain_kind(NULL, &kind), AXO_EINVAL);
    assert_int_equal(axo_cluster_add_grain_kind(a.cluster, NULL), AXO_EINVAL);
    kind.name = "no name";
    assert_int_equal(axo_cluster_add_grain_kind(a.cluster, &kind), AXO_ENAME);
    kind.name = NULL;
    assert_int_equal(axo_cluster_add_grain_kind(a.cluster, &kind), AXO_EINVAL);
    kind.name = "other";
    kind.reserved = 1;
    assert_int_equal(axo_cluster_add_grain_kind(a.cluster, &kind), AXO_EINVAL);
    kind.reserved = 0;
    kind.props = NULL;
    assert_int_equal(axo_cluster_add_grain_kind(a.cluster, &kind), AXO_EINVAL);
    kind.props = &props;
    props.name = "named";
    assert_int_equal(axo_cluster_add_grain_kind(a.cluster, &kind), AXO_EINVAL);
    props.name = NULL;
    props.mailbox = &bounded;
    assert_int_equal(axo_cluster_add_grain_kind(a.cluster, &kind), AXO_EINVAL);
    props.mailbox = NULL;
    props.cls = NULL;
    assert_int_equal(axo_cluster_add_grain_kind(a.cluster, &kind), AXO_EINVAL);
    props.cls = &grain_class;
    assert_int_equal(axo_grain(a.cluster, "thing", "1", &ref), AXO_ESTOPPING);
    assert_true(axo_ref_is_none(ref));
    cw_node_begin(&a);
    assert_int_equal(axo_cluster_add_grain_kind(a.cluster, &kind), AXO_EBUSY);
    memset(longest, 'k', sizeof longest);
    longest[AXO_GRAIN_KEY_MAX + 1] = 0;
    assert_int_equal(axo_grain(a.cluster, "thing", longest, &ref), AXO_ENAME);
    longest[AXO_GRAIN_KEY_MAX] = 0;
    assert_int_equal(axo_grain(a.cluster, "thing", longest, &ref), AXO_OK);
    assert_int_equal(axo_grain(a.cluster, "thing", "", &ref), AXO_ENAME);
    assert_true(axo_ref_is_none(ref));
    assert_int_equal(axo_grain(a.cluster, "other", "1", &ref), AXO_ENOENT);
    assert_int_equal(axo_grain(a.cluster, "no name", "1", &ref), AXO_ENOENT);
    assert_int_equal(axo_grain(a.cluster, "thing", NULL, &ref), AXO_EINVAL);
    assert_int_equal(axo_grain(a.cluster, NULL, "1", &ref), AXO_EINVAL);
    assert_int_equal(axo_grain(NULL, "thing", "1", &ref), AXO_EINVAL);
    assert_int_equal(axo_grain(a.cluster, "thing", "1", NULL), AXO_EINVAL);
    assert_int_equal(axo_grain_count(a.cluster, NULL), AXO_EINVAL);
    cw_node_end(&a);
    with.membership = AXO_CLUSTER_BEATS;
    cw_node_open(&a, &with);
    assert_int_equal(axo_cluster_add_grain_kind(a.cluster, &kind), AXO_EINVAL);
    cw_node_begin(&a);
    assert_int_equal(axo_grain(a.cluster, "thing", "1", &ref), AXO_ENOENT);
    assert_int_equal(grain_figures(&a).lives, 0);
    cw_node_end(&a);
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_life),         cmocka_unit_test(as_any_actor),
        cmocka_unit_test(idle_and_anew),    cmocka_unit_test(failures),
        cmocka_unit_test(too_much),         cmocka_unit_test(joins_and_leaves),
        cmocka_unit_test(killed),           cmocka_unit_test(stopped_node),
        cmocka_unit_test(server_stops),     cmocka_unit_test(refused_kinds),
        cmocka_unit_test(reference_stopped), cmocka_unit_test(system_stops_first),
        cmocka_unit_test(refused_stream),   cmocka_unit_test(strategies),
        cmocka_unit_test(coded),
    };
    if (argc == 5 && strcmp(argv[1], "node") == 0)
        process_main(argv[2], argv[3], argv[4]);
    self = argv[0];
    if (argc == 2)
        cmocka_set_test_filter(argv[1]);
    if (!cw_has_server())
        return 0;
    store_begin();
    table_make();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    store_end();
    (void)unlink(table_path);
    return failed;
}
