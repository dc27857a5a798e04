/* cluster_store_test.c - AXO_CLUSTER_STORE: who is there by a bucket of JetStream, with nodes that
 * are killed and stopped, and two of a name: <axo/cluster.h>. */
#include "api/cluster_store.h"

static char *self;

/* ---- nodes of other processes ---- */

/* The status with which a process ends that is over, and why. */
enum { OVER = 100 };

/* Of another process, which ends when it is over. */
static AXO_NORETURN void process_main(const char *url, const char *name)
{
    static cw_node node;
    static cw_note note;
    (void)snprintf(server.url, sizeof server.url, "%s", url);
    node_start(&node, &note, name);
    CW_UNTIL(note.overs == 1);
    CW_UNTIL(cw_figures(&node).nodes == 0);
    cw_node_end(&node);
    _exit(OVER + (int)note.why_over);
}

static pid_t process_start(char *name)
{
    char *argv[] = {self, "node", server.url, name, NULL};
    return cw_spawn(argv);
}

static uint64_t incarnation_of(const cw_node *node, const char *name)
{
    axo_node nodes[AXO_NODES_MAX];
    uint32_t count = axo_cluster_nodes(node->cluster, nodes, AXO_NODES_MAX);
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(nodes[i].name, name) == 0)
            return nodes[i].incarnation;
    }
    return 0;
}

/* ---- who comes and goes ---- */

static void come_and_go(void **unused)
{
    trio t;
    trio_start(&t);
    assert_int_equal(cw_tell(&t.a, &t.one, CW_WATCH, cw_find(&t.a, "c", "actor"), 0), AXO_OK);
    trio_goes_on(&t);
}

static void two_of_a_name(void **unused)
{
    cw_node a, b, other;
    cw_note one, two, three;
    node_start(&a, &one, "a");
    node_start(&b, &two, "b");
    CW_UNTIL(one.ups == 1 && two.ups == 1);
    uint64_t first = incarnation_of(&a, "b");
    assert_int_not_equal(first, 0);
    node_start(&other, &three, "b");
    CW_UNTIL(three.refusals == 1);
    cw_sleep(2 * LEASE_MS * CW_MS); /* it is renewed, and waited for */
    assert_int_equal(three.refusals, 1);
    assert_int_equal(three.ups, 0);
    assert_int_equal(one.ups, 1);
    assert_true(incarnation_of(&a, "b") == first);
    assert_int_equal(two.overs, 0);
    cw_node_end(&b);
    CW_UNTIL(one.downs == 1 && one.ups == 2 && three.ups == 1);
    assert_true(incarnation_of(&a, "b") > first);
    cw_node_end(&other);
    cw_node_end(&a);
}

/* No lease has to run out for a name that was left: here it would take an hour. */
static void a_name_that_was_left(void **unused)
{
    cw_node a, b;
    cw_note one, two;
    axo_cluster_options with = store_options("a");
    with.cluster = "long";
    with.lease_ms = 3600000;
    node_with(&a, &one, &with);
    with.node = "b";
    for (uint32_t life = 1; life <= 3; life++) {
        node_with(&b, &two, &with);
        CW_UNTIL(one.ups == life && two.ups == 1);
        cw_node_end(&b);
        CW_UNTIL(one.downs == life);
        assert_int_equal(one.why, AXO_CLUSTER_LEFT);
    }
    cw_node_end(&a);
}

/* ---- killed and stopped nodes ---- */

static void killed_and_back(void **unused)
{
    cw_node a, c;
    cw_note one, two;
    pid_t pid = process_start("b");
    node_start(&a, &one, "a");
    node_start(&c, &two, "c");
    CW_UNTIL(one.ups == 2 && two.ups == 2);
    uint64_t before = incarnation_of(&a, "b");
    assert_int_equal(cw_tell(&a, &one, CW_WATCH, cw_find(&a, "b", "actor"), 0), AXO_OK);
    cw_kill(pid);
    CW_UNTIL(one.lost == 1 && one.downs == 1 && two.downs == 1);
    assert_int_equal(one.why, AXO_CLUSTER_SILENT);
    pid = process_start("b");
    CW_UNTIL(one.ups == 3 && two.ups == 3);
    assert_true(incarnation_of(&a, "b") > before);
    assert_int_equal(one.overs + two.overs, 0);
    cw_kill(pid);
    cw_node_end(&a);
    cw_node_end(&c);
}

/* It wants its name back at once: the old entry is there for a lease, or until it is held lost. */
static void back_at_once(void **unused)
{
    cw_node a;
    cw_note one;
    pid_t pid = process_start("b");
    node_start(&a, &one, "a");
    CW_UNTIL(one.ups == 1);
    cw_kill(pid);
    pid = process_start("b");
    CW_UNTIL(one.downs == 1 && one.ups == 2);
    cw_kill(pid);
    cw_node_end(&a);
}

/* Held lost by both, it learns so when it goes on. */
static void stopped_node(void **unused)
{
    cw_node a, b;
    cw_note one, two;
    int status;
    pid_t pid = process_start("c");
    node_start(&a, &one, "a");
    node_start(&b, &two, "b");
    CW_UNTIL(one.ups == 2 && two.ups == 2);
    assert_int_equal(kill(pid, SIGSTOP), 0);
    CW_UNTIL(one.downs == 1 && two.downs == 1);
    cw_sleep((LEASE_MS - CW_DOWN_MS + 500) * CW_MS); /* and its lease has run out */
    assert_int_equal(kill(pid, SIGCONT), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    int why = WEXITSTATUS(status) - OVER; /* by the store, or by the links, whichever comes first */
    assert_true(why == AXO_CLUSTER_EVICTED || why == AXO_CLUSTER_OUTNUMBERED);
    assert_int_equal(one.downs + two.downs, 2);
    assert_int_equal(one.overs + two.overs, 0);
    assert_int_equal(cw_figures(&a).nodes, 1);
    cw_node_end(&a);
    cw_node_end(&b);
}

/* Two that hold each other lost, by a limit: one of them is over, and a third sees the other. */
static void lost_by_a_link(void **unused)
{
    trio t;
    cw_note four;
    axo_cluster_options with = store_options("c");
    with.watches_max = 1;
    node_start(&t.a, &t.one, "a");
    node_start(&t.b, &t.two, "b");
    node_with(&t.c, &t.three, &with);
    CW_UNTIL(trio_is(&t));
    cw_actor(&t.c, &four, "four");
    assert_int_equal(cw_tell(&t.a, &t.one, CW_WATCH, cw_find(&t.a, "c", "actor"), 0), AXO_OK);
    assert_int_equal(cw_tell(&t.a, &t.one, CW_WATCH, cw_find(&t.a, "c", "four"), 0), AXO_OK);
    CW_UNTIL(t.one.overs + t.three.overs == 1);
    CW_UNTIL(t.two.downs == 1);
    /* By the store, or by the link, whichever was sooner. */
    assert_true(t.two.why == AXO_CLUSTER_EVICTED || t.two.why == AXO_CLUSTER_LOST);
    bool is_a = t.one.overs == 1;
    uint32_t why = (is_a ? &t.one : &t.three)->why_over;
    assert_true(why == AXO_CLUSTER_EVICTED || why == AXO_CLUSTER_OUTNUMBERED);
    CW_UNTIL(cw_figures(is_a ? &t.a : &t.c).nodes == 0);
    assert_int_equal(cw_figures(is_a ? &t.c : &t.a).nodes, 1);
    assert_int_equal(t.two.overs, 0);
    trio_end(&t);
}

/* ---- seeds ---- */

static const char *const seeds[] = {"a", "b", "c"};

static void minority_goes_on(void **unused)
{
    cw_node a;
    cw_note one;
    axo_cluster_options with = store_options("a");
    with.seeds = seeds;
    with.seeds_count = 3;
    pid_t b = process_start("b");
    pid_t c = process_start("c");
    node_with(&a, &one, &with);
    CW_UNTIL(one.ups == 2);
    cw_kill(c);
    CW_UNTIL(one.downs == 1);
    assert_int_equal(one.minorities, 0);
    cw_kill(b);
    CW_UNTIL(one.minorities == 1);
    b = process_start("b");
    CW_UNTIL(one.majorities == 1);
    assert_int_equal(one.overs, 0);
    cw_kill(b);
    cw_node_end(&a);
}

static void minority_stops(void **unused)
{
    cw_node a, d;
    cw_note one, four;
    axo_cluster_options with = store_options("a");
    with.seeds = seeds;
    with.seeds_count = 3;
    with.on_minority = AXO_CLUSTER_STOP;
    pid_t b = process_start("b");
    pid_t c = process_start("c");
    node_with(&a, &one, &with);
    node_start(&d, &four, "d");
    CW_UNTIL(one.ups == 3);
    assert_int_equal(cw_tell(&a, &one, CW_WATCH, cw_find(&a, "d", "actor"), 0), AXO_OK);
    cw_kill(b);
    cw_kill(c);
    CW_UNTIL(one.overs == 1 && one.lost == 1);
    assert_int_equal(one.why_over, AXO_CLUSTER_MINORITY);
    assert_int_equal(cw_figures(&a).nodes, 0);
    CW_UNTIL(cw_figures(&d).nodes == 0);
    cw_node_end(&a);
    cw_node_end(&d);
}

/* ---- refused ---- */

static void refused(const axo_cluster_options *with, axo_status status, const char *text)
{
    axo_cluster *cluster = NULL;
    axo_cluster_problem problem;
    assert_int_equal(axo_cluster_open(with, &problem, &cluster), status);
    assert_null(cluster);
    if (strstr(problem.text, text) == NULL)
        fail_msg("'%s' is not in '%s'", text, problem.text);
}

static void refused_options(void **unused)
{
    static const char *const odd[] = {"a", "b.c"};
    static const char *const none[] = {"a", NULL};
    axo_cluster_options with = store_options("a");
    with.membership = 2;
    refused(&with, AXO_EINVAL, "");
    with = store_options("a");
    with.lease_ms = 999;
    refused(&with, AXO_EINVAL, "");
    with.lease_ms = 3600001;
    refused(&with, AXO_EINVAL, "");
    with.lease_ms = 3000;
    with.beat_ms = 1001;
    with.down_ms = 10000;
    refused(&with, AXO_EINVAL, "");
    with = store_options("a");
    with.on_minority = 2;
    refused(&with, AXO_EINVAL, "");
    with = store_options("a");
    with.seeds_count = 1;
    refused(&with, AXO_EINVAL, "");
    with.seeds_count = 2;
    with.seeds = odd;
    refused(&with, AXO_ENAME, "");
    with.seeds = none;
    refused(&with, AXO_EINVAL, "");
    with.seeds = seeds;
    with.seeds_count = AXO_NODES_MAX + 1;
    refused(&with, AXO_EINVAL, "");
}

static void refused_store(void **unused)
{
    cw_server without = {.pid = 0};
    cw_node a;
    cw_note one;
    axo_cluster_options with = store_options("b");
    node_start(&a, &one, "a");
    with.lease_ms = LEASE_MS + 1;
    refused(&with, AXO_ESYSTEM, "lease");
    cw_node_end(&a);
    cw_server_start(&without);
    with.url = without.url;
    refused(&with, AXO_ESYSTEM, "no JetStream");
    with.membership = AXO_CLUSTER_BEATS;
    cw_node_open(&a, &with);
    axo_cluster_close(a.cluster);
    cw_kill(without.pid);
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(come_and_go),          cmocka_unit_test(two_of_a_name),
        cmocka_unit_test(a_name_that_was_left), cmocka_unit_test(killed_and_back),
        cmocka_unit_test(back_at_once),         cmocka_unit_test(stopped_node),
        cmocka_unit_test(lost_by_a_link),       cmocka_unit_test(minority_goes_on),
        cmocka_unit_test(minority_stops),       cmocka_unit_test(refused_options),
        cmocka_unit_test(refused_store),
    };
    if (argc == 4 && strcmp(argv[1], "node") == 0)
        process_main(argv[2], argv[3]);
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
