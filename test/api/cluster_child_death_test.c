/* cluster_child_death_test.c - remote children whose node dies, or their parent's; a stop of a node
 * and of the nats-server: <axo/cluster.h>. */
#define CW_DOWN_MS 1500
#include "api/cluster_child_world.h"

static cw_server server;
static char *self;

static const axo_strategy decides = AXO_STRATEGY(.decider = cc_decide);

/* ---- nodes of other processes ---- */

static AXO_NORETURN void process_main(const char *url, const char *name, bool is_parent)
{
    static cw_node node;
    static cc_parent parent;
    cw_server at;
    (void)snprintf(at.url, sizeof at.url, "%s", url);
    cc_node_start(&node, &at, name);
    if (is_parent) {
        parent.recipe = (axo_cluster_child)AXO_CLUSTER_CHILD(.node = "b", .cls = "worker");
        cc_parent_start_on(&node, &parent, &decides);
        CW_UNTIL(cw_figures(&node).nodes == 1);
        (void)cc_spawn_by(&node, &parent);
    }
    for (;;)
        (void)pause();
}

static pid_t process_start(char *what, char *name)
{
    char *argv[] = {self, what, server.url, name, NULL};
    return cw_spawn(argv);
}

/* ---- the child's node dies ---- */

static void here_start(cw_node *a, cc_parent *parent, uint32_t lifetime, const char *spare)
{
    memset(parent, 0, sizeof *parent);
    parent->recipe = (axo_cluster_child)AXO_CLUSTER_CHILD(.node = "b", .cls = "worker",
                                                          .spare = spare, .lifetime = lifetime);
    cc_node_start(a, &server, "a");
    CW_UNTIL(cw_figures(a).nodes == (spare != NULL ? 2 : 1));
    cc_parent_start_on(a, parent, &decides);
    assert_int_equal(cc_spawn_by(a, parent), AXO_OK);
    cc_has_said(parent, "cs");
}

/* Behind the same reference, with what was sent to it meanwhile. */
static void made_again_when_it_is_back(void **unused)
{
    cw_node a;
    cc_parent parent;
    cw_note note;
    pid_t pid = process_start("node", "b");
    here_start(&a, &parent, AXO_PERMANENT, NULL);
    cw_actor(&a, &note, "note");
    for (uint32_t life = 1; life <= 2; life++) {
        assert_int_equal(cw_tell(&a, &note, CW_WATCH, parent.real, 0), AXO_OK);
        cw_kill(pid);
        CW_UNTIL(note.lost == life && parent.decided == life);
        assert_int_equal(parent.kind, AXO_FAILURE_ENDED);
        assert_int_equal(parent.code, AXO_EGONE);
        for (uint32_t i = 0; i < 10; i++)
            cc_send(&a, parent.child, CW_NUMBER, i);
        cc_send(&a, parent.child, CC_COUNT, 0);
        pid = process_start("node", "b");
        cc_has_said(&parent, life == 1 ? "cs" "csn" : "cs" "csn" "csn");
        assert_int_equal(parent.numbers[3 * life + 1], 10);
    }
    assert_int_equal(parent.ends, 0);
    cw_kill(pid);
    CW_UNTIL(parent.decided == 3);
    cw_node_end(&a); /* while it waits */
}

static void ended_with_its_node(void **unused)
{
    cw_node a;
    cc_parent parent;
    pid_t pid = process_start("node", "b");
    here_start(&a, &parent, AXO_TRANSIENT, NULL);
    parent.recipe.lifetime = AXO_TEMPORARY;
    assert_int_equal(cc_spawn_by(&a, &parent), AXO_OK);
    cc_has_said(&parent, "cscs");
    cw_kill(pid);
    CW_UNTIL(parent.ends == 2);
    assert_int_equal(parent.decided, 0);
    assert_int_equal(cc_spawn_by(&a, &parent), AXO_EGONE);
    cw_node_end(&a);
}

static void made_again_elsewhere(void **unused)
{
    cw_node a;
    cc_parent parent;
    pid_t pid = process_start("node", "b"), other = process_start("node", "c");
    here_start(&a, &parent, AXO_PERMANENT, "c");
    uint32_t first = axo_ref_node(parent.real);
    cw_kill(pid);
    CW_UNTIL(parent.decided == 1);
    cc_send(&a, parent.child, CC_COUNT, 0);
    cc_has_said(&parent, "cscsn");
    assert_int_not_equal(axo_ref_node(parent.real), first);
    cw_kill(other);
    CW_UNTIL(parent.decided == 2);
    pid = process_start("node", "b"); /* where it is asked for first */
    cc_send(&a, parent.child, CC_COUNT, 0);
    cc_has_said(&parent, "cscsncsn");
    cw_kill(pid);
    cw_node_end(&a);
}

/* A child that has failed, and about which nobody has decided when its node dies: the answer finds
 * no one, and then its end is told. */
static void dies_undecided(void **unused)
{
    static const axo_backoff backoff = AXO_BACKOFF(.min_ns = 4000 * CW_MS, .max_ns = 4000 * CW_MS);
    static const axo_strategy later = AXO_STRATEGY(.decider = cc_decide, .backoff = &backoff);
    cw_node a;
    static cc_parent parent;
    pid_t pid = process_start("node", "b");
    memset(&parent, 0, sizeof parent);
    parent.recipe = (axo_cluster_child)AXO_CLUSTER_CHILD(.node = "b", .cls = "worker");
    cc_node_start(&a, &server, "a");
    CW_UNTIL(cw_figures(&a).nodes == 1);
    cc_parent_start_on(&a, &parent, &later);
    assert_int_equal(cc_spawn_by(&a, &parent), AXO_OK);
    cc_send(&a, parent.child, CC_FAIL, 3);
    CW_UNTIL(parent.decided == 1);
    cw_kill(pid);
    CW_UNTIL(parent.ends == 1);
    assert_int_equal(parent.decided, 1);
    cw_node_end(&a);
}

/* ---- the parent's node dies ---- */

static atomic_uint orphans_made, orphans_ended;

static axo_status orphan_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    (void)state;
    (void)args;
    atomic_fetch_add(&orphans_made, 1);
    return AXO_OK;
}

static axo_status orphan_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)ctx;
    (void)state;
    (void)message;
    return AXO_UNHANDLED;
}

static axo_status orphan_post_stop(axo_ctx *ctx, void *state)
{
    (void)ctx;
    (void)state;
    atomic_fetch_add(&orphans_ended, 1);
    return AXO_OK;
}

static const axo_class orphan_class =
    AXO_CLASS(.name = "orphan", .construct = orphan_construct, .receive = orphan_receive,
              .post_stop = orphan_post_stop);

static void orphan_node_start(cw_node *b)
{
    const axo_props props = AXO_PROPS(.cls = &orphan_class);
    const axo_cluster_options with = cw_options(&server, "b");
    cw_node_open(b, &with);
    assert_int_equal(axo_cluster_add_class(b->cluster, "worker", &props), AXO_OK);
    cw_node_begin(b);
    orphans_made = 0;
    orphans_ended = 0;
}

static void orphans_end(void **unused)
{
    cw_node b;
    orphan_node_start(&b);
    pid_t pid = process_start("parent", "a");
    CW_UNTIL(orphans_made == 1);
    cw_kill(pid);
    CW_UNTIL(orphans_ended == 1);
    pid = process_start("parent", "a"); /* its next life has a child of its own */
    CW_UNTIL(orphans_made == 2);
    assert_int_equal(orphans_ended, 1);
    cw_node_end(&b);
    assert_int_equal(orphans_ended, 2);
    cw_kill(pid);
}

/* As a cut: for b the parent's node is lost, also when it goes on. */
static void orphans_of_one_that_was_stopped(void **unused)
{
    cw_node b;
    orphan_node_start(&b);
    pid_t pid = process_start("parent", "a");
    CW_UNTIL(orphans_made == 1);
    assert_int_equal(kill(pid, SIGSTOP), 0);
    CW_UNTIL(orphans_ended == 1);
    assert_int_equal(kill(pid, SIGCONT), 0);
    CW_UNTIL(cw_figures(&b).strangers > 5);
    assert_int_equal(orphans_made, 1);
    cw_kill(pid);
    cw_node_end(&b);
}

/* ---- the server dies ---- */

/* What has failed is decided when the server is back, once; nothing is handled meanwhile. */
static void decided_behind_an_outage(void **unused)
{
    cw_node a, b;
    cc_parent parent;
    axo_node node;
    uint64_t bits;
    cc_node_start(&b, &server, "b");
    here_start(&a, &parent, AXO_TRANSIENT, NULL);
    assert_int_equal(axo_remote_leave(a.system, parent.real, &node, &bits), AXO_OK);
    const axo_ref there = {.bits = bits};
    cw_kill(server.pid);
    cc_send(&b, there, CC_FAIL, 9);
    cc_send(&b, there, CC_COUNT, 0);
    cw_sleep(2000 * CW_MS);
    assert_int_equal(parent.decided, 0);
    cw_server_run(&server);
    cc_has_said(&parent, "cs" "rpcR" "n");
    assert_int_equal(parent.decided, 1);
    assert_int_equal(parent.code, 9);
    assert_int_equal(parent.instances[6], 2);
    assert_true(cw_figures(&a).nodes == 1 && cw_figures(&b).nodes == 1);
    cw_node_end(&a);
    cw_node_end(&b);
}

/* A failure on its way here, and an order on its way there: the order is its answer. */
static void crosses_an_order(void **unused)
{
    cw_node a, b;
    cc_parent parent;
    axo_node node;
    uint64_t bits;
    cc_node_start(&b, &server, "b");
    here_start(&a, &parent, AXO_TRANSIENT, NULL);
    assert_int_equal(axo_remote_leave(a.system, parent.real, &node, &bits), AXO_OK);
    const axo_ref there = {.bits = bits};
    parent.answer = AXO_RESTART;
    cw_kill(server.pid);
    cc_send(&b, there, CC_FAIL, 9);
    assert_int_equal(axo_system_kill(a.system, parent.child), AXO_OK);
    CW_UNTIL(parent.decided == 1);
    assert_int_equal(parent.kind, AXO_FAILURE_KILLED);
    cw_sleep(300 * CW_MS);
    cw_server_run(&server);
    cc_has_said(&parent, "cs" "rpcR");
    assert_int_equal(parent.numbers[2], CC_FAIL); /* it is restarted for its own */
    cc_send(&a, parent.child, CC_FAIL, 11);
    cc_has_said(&parent, "cs" "rpcR" "rpcR");
    assert_int_equal(parent.decided, 2);
    assert_int_equal(parent.code, 11);
    cw_node_end(&a);
    cw_node_end(&b);
}

/* What NATS has no room for waits in the stand-in, in order; the sender of a message to the child
 * itself is told. */
static void waits_for_room(void **unused)
{
    static unsigned char page[1000];
    cw_node a, b;
    cc_parent parent;
    axo_status status = AXO_OK;
    axo_cluster_options with = cw_options(&server, "a");
    with.held_max = 65536;
    memset(&parent, 0, sizeof parent);
    parent.recipe = (axo_cluster_child)AXO_CLUSTER_CHILD(.node = "b", .cls = "worker");
    cc_node_start(&b, &server, "b");
    cw_node_open(&a, &with);
    cc_node_begin(&a);
    CW_UNTIL(cw_figures(&a).nodes == 1);
    cc_parent_start_on(&a, &parent, &decides);
    assert_int_equal(cc_spawn_by(&a, &parent), AXO_OK);
    cc_has_said(&parent, "cs");
    cw_kill(server.pid);
    cw_sleep(500 * CW_MS); /* until it is known here: what is sent now waits */
    for (uint32_t i = 0; i < 500; i++)
        assert_int_equal(axo_system_send(a.system, parent.child, CW_NUMBER, page, sizeof page),
                         AXO_OK);
    CW_UNTIL(cw_figures(&a).full > 1);
    CW_UNTIL((status = axo_system_send(a.system, parent.real, CW_NUMBER, page, sizeof page)) !=
             AXO_OK);
    assert_int_equal(status, AXO_EFULL);
    cc_send(&a, parent.child, CC_COUNT, 0);
    cw_server_run(&server);
    cc_has_said(&parent, "csn");
    assert_true(parent.numbers[2] >= 500 && parent.numbers[2] < 505);
    assert_int_equal(parent.decided, 0);
    cw_node_end(&a);
    cw_node_end(&b);
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(made_again_when_it_is_back),
        cmocka_unit_test(ended_with_its_node),
        cmocka_unit_test(made_again_elsewhere),
        cmocka_unit_test(dies_undecided),
        cmocka_unit_test(orphans_end),
        cmocka_unit_test(orphans_of_one_that_was_stopped),
        cmocka_unit_test(decided_behind_an_outage),
        cmocka_unit_test(crosses_an_order),
        cmocka_unit_test(waits_for_room),
    };
    if (argc == 4)
        process_main(argv[2], argv[3], strcmp(argv[1], "parent") == 0);
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
