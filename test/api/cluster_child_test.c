/* cluster_child_test.c - remote children on a node of this process, over a real nats-server: what
 * their parents decide is done there: <axo/cluster.h>. */
#define CW_DOWN_MS 5000
#include "api/cluster_child_world.h"
#include "wire.h"

static cw_server server;

static const axo_strategy decides = AXO_STRATEGY(.decider = cc_decide);

typedef struct family {
    cw_node a, b;
    cc_parent parent; /* on a */
} family;

static void family_nodes(family *f)
{
    memset(f, 0, sizeof *f);
    cc_node_start(&f->a, &server, "a");
    cc_node_start(&f->b, &server, "b");
    CW_UNTIL(cw_figures(&f->a).nodes == 1 && cw_figures(&f->b).nodes == 1);
    f->parent.recipe = (axo_cluster_child)AXO_CLUSTER_CHILD(.node = "b", .cls = "worker",
                                                            .name = "child");
}

static void family_begin(family *f, const axo_strategy *strategy)
{
    cc_parent_start_on(&f->a, &f->parent, strategy);
    assert_int_equal(cc_spawn_by(&f->a, &f->parent), AXO_OK);
}

static void family_start(family *f)
{
    family_nodes(f);
    family_begin(f, &decides);
    cc_has_said(&f->parent, "cs");
}

static void family_end(family *f)
{
    cw_node_end(&f->a);
    cw_node_end(&f->b);
}

static void family_fail(family *f, uint32_t code, axo_directive answer)
{
    uint32_t before = f->parent.decided;
    f->parent.answer = answer;
    cc_send(&f->a, f->parent.child, CC_FAIL, code);
    CW_UNTIL(f->parent.decided == before + 1);
    assert_int_equal(f->parent.kind, AXO_FAILURE_ORDINARY);
    assert_int_equal(f->parent.code, code);
}

/* What was sent before it is there comes when it is, in order. */
static void passes_on(void **unused)
{
    family f;
    cw_note note;
    family_nodes(&f);
    f.parent.args.number = 4711;
    cw_actor(&f.a, &note, "note");
    f.parent.early = 1000;
    family_begin(&f, &decides);
    for (uint32_t i = 0; i < 1000; i++)
        cc_send(&f.a, f.parent.child, CW_NUMBER, i);
    cc_send(&f.a, f.parent.child, CC_COUNT, 0);
    cc_has_said(&f.parent, "csn");
    assert_int_equal(f.parent.numbers[0], 4711);
    assert_int_equal(f.parent.numbers[2], 2000);
    assert_int_equal(axo_ref_node(f.parent.child), 0);
    assert_int_not_equal(axo_ref_node(f.parent.real), 0);
    /* its own sender is answered, and the child may be used directly */
    assert_int_equal(cw_tell(&f.a, &note, CW_ASK, f.parent.child, 5), AXO_OK);
    assert_int_equal(cw_tell(&f.a, &note, CW_ASK, f.parent.real, 5), AXO_OK);
    CW_UNTIL(note.answers == 2);
    /* an owned payload of no known size is dropped */
    assert_int_equal(cw_tell(&f.a, &note, CW_OWNED, f.parent.child, 0), AXO_OK);
    CW_UNTIL(f.a.letters == 1);
    family_end(&f);
}

static void resumed(void **unused)
{
    family f;
    family_start(&f);
    cc_send(&f.a, f.parent.child, CW_NUMBER, 1);
    family_fail(&f, 7, AXO_RESUME);
    assert_string_equal(f.parent.text, "told to, 7");
    cc_send(&f.a, f.parent.child, CW_NUMBER, 2);
    cc_send(&f.a, f.parent.child, CC_COUNT, 0);
    cc_has_said(&f.parent, "csn");
    assert_int_equal(f.parent.numbers[2], 2); /* the same instance */
    assert_int_equal(f.parent.instances[2], 1);
    family_fail(&f, 8, AXO_RESUME);
    cc_send(&f.a, f.parent.child, CC_COUNT, 0);
    cc_has_said(&f.parent, "csnn");
    family_end(&f);
}

static void restarted(void **unused)
{
    family f;
    family_start(&f);
    axo_ref child = f.parent.child, real = f.parent.real;
    for (uint32_t i = 1; i <= 5; i++) {
        cc_send(&f.a, child, CW_NUMBER, i);
        family_fail(&f, i, AXO_RESTART);
        cc_send(&f.a, child, CW_NUMBER, i);
        cc_send(&f.a, child, CC_COUNT, 0);
    }
    cc_has_said(&f.parent, "cs" "rpcRn" "rpcRn" "rpcRn" "rpcRn" "rpcRn");
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(f.parent.numbers[2 + 5 * i], CC_FAIL); /* it is shown the message */
        assert_int_equal(f.parent.numbers[5 + 5 * i], i + 1);   /* and the failure */
        assert_int_equal(f.parent.numbers[6 + 5 * i], 1);
        assert_int_equal(f.parent.instances[6 + 5 * i], i + 2);
    }
    assert_true(axo_ref_equal(f.parent.child, child) && axo_ref_equal(f.parent.real, real));
    family_end(&f);
}

static void stopped(void **unused)
{
    family f;
    family_start(&f);
    family_fail(&f, 7, AXO_STOP);
    CW_UNTIL(f.parent.ends == 1);
    cc_has_said(&f.parent, "csp");
    assert_int_equal(axo_system_send(f.a.system, f.parent.child, CW_NUMBER, NULL, 0), AXO_EGONE);
    CW_UNTIL(axo_system_send(f.a.system, f.parent.real, CW_NUMBER, "1234", 4) != AXO_OK ||
             f.b.letters > 0);
    family_end(&f);
}

/* The parent fails with it, and is restarted: it stops the child first, and spawns another. */
static void escalated(void **unused)
{
    family f;
    family_nodes(&f);
    f.parent.spawns = true;
    cc_parent_start_on(&f.a, &f.parent, &decides);
    cc_has_said(&f.parent, "cs");
    axo_ref before = f.parent.real;
    family_fail(&f, 7, AXO_ESCALATE);
    CW_UNTIL(f.parent.started == 2);
    cc_has_said(&f.parent, "cspcs");
    assert_false(axo_ref_equal(f.parent.real, before));
    family_end(&f);
}

static void stopped_by_its_parent(void **unused)
{
    family f;
    family_start(&f);
    cc_send(&f.a, f.parent.child, CC_BE_SLOW, 300);
    cw_sleep(100 * CW_MS);
    int64_t before = cw_now();
    cc_send(&f.a, f.parent.self, CC_STOP_ONE, 0);
    CW_UNTIL(f.parent.ends == 1);
    assert_true(cw_now() - before > 100 * CW_MS); /* it was waited for */
    assert_int_equal(f.parent.said_count, 3); /* post_stop is said before the end is told */
    cc_has_said(&f.parent, "csp");
    assert_int_equal(cc_spawn_by(&f.a, &f.parent), AXO_OK); /* under the same name */
    cc_has_said(&f.parent, "cspcs");
    assert_int_equal(axo_system_stop_actor(f.a.system, f.parent.self), AXO_OK);
    CW_UNTIL(axo_system_send(f.a.system, f.parent.self, CC_SPAWN, NULL, 0) == AXO_EGONE);
    family_end(&f);
}

static void restarted_with_its_parent(void **unused)
{
    family f;
    family_nodes(&f);
    f.parent.spawns = true;
    cc_parent_start_on(&f.a, &f.parent, &decides);
    cc_has_said(&f.parent, "cs");
    for (uint32_t i = 2; i <= 4; i++) {
        cc_send(&f.a, f.parent.self, CC_FAIL_SELF, 0);
        CW_UNTIL(f.parent.started == i);
    }
    cc_has_said(&f.parent, "cs" "pcs" "pcs" "pcs"); /* never two at a time */
    family_end(&f);
}

/* A limit of restarts counts as for a child of here. */
static void counted(void **unused)
{
    static const axo_strategy limited = AXO_STRATEGY(.decider = cc_decide, .limited = 1,
                                                     .retries_max = 2, .within_ns = -1);
    family f;
    family_nodes(&f);
    family_begin(&f, &limited);
    for (uint32_t i = 1; i <= 3; i++)
        family_fail(&f, i, AXO_RESTART);
    CW_UNTIL(f.parent.ends == 1);
    cc_has_said(&f.parent, "cs" "rpcR" "rpcR" "p");
    family_end(&f);
}

/* It stays suspended for as long as its parent's back-off says, with what is sent to it. */
static void delayed(void **unused)
{
    static const axo_backoff backoff = AXO_BACKOFF(.min_ns = 300 * CW_MS, .max_ns = 300 * CW_MS);
    static const axo_strategy strategy = AXO_STRATEGY(.decider = cc_decide, .backoff = &backoff);
    family f;
    family_nodes(&f);
    family_begin(&f, &strategy);
    cc_has_said(&f.parent, "cs");
    int64_t before = cw_now();
    family_fail(&f, 1, AXO_RESTART);
    assert_int_equal(axo_system_send(f.a.system, f.parent.real, CC_COUNT, NULL, 0), AXO_OK);
    cc_has_said(&f.parent, "cs" "rpcR" "n");
    assert_true(cw_now() - before >= 300 * CW_MS);
    family_end(&f);
}

/* Siblings are restarted with it, and are told to fail where they are. */
static void all_for_one(void **unused)
{
    static const axo_strategy all = AXO_STRATEGY(.decider = cc_decide, .scope = AXO_ALL_FOR_ONE);
    family f;
    family_nodes(&f);
    family_begin(&f, &all);
    cc_has_said(&f.parent, "cs");
    axo_ref first = f.parent.child;
    f.parent.recipe.name = "other";
    assert_int_equal(cc_spawn_by(&f.a, &f.parent), AXO_OK);
    cc_has_said(&f.parent, "cscs");
    f.parent.child = first;
    family_fail(&f, 7, AXO_RESTART);
    CW_UNTIL(f.parent.said_count == 12);
    cw_sleep(50 * CW_MS);
    assert_int_equal(f.parent.said_count, 12);
    assert_int_equal(f.parent.decided, 1);
    uint32_t shown = 0;
    for (uint32_t i = 4; i < 12; i++)
        shown |= f.parent.said[i] == CC_PRE_RESTART ? f.parent.numbers[i] == CC_FAIL ? 1 : 2 : 0;
    assert_int_equal(shown, 3);
    cc_send(&f.a, first, CC_COUNT, 0);
    CW_UNTIL(f.parent.said_count == 13);
    family_end(&f);
}

static void killed(void **unused)
{
    family f;
    cw_note note;
    family_start(&f);
    cw_actor(&f.a, &note, "note");
    f.parent.answer = AXO_RESTART;
    assert_int_equal(cw_tell(&f.a, &note, CW_KILL, f.parent.real, 0), AXO_OK);
    CW_UNTIL(f.parent.decided == 1);
    assert_int_equal(f.parent.kind, AXO_FAILURE_KILLED);
    cc_has_said(&f.parent, "csrpcR");
    assert_int_equal(cw_tell(&f.a, &note, CW_KILL, f.parent.child, 0), AXO_OK);
    CW_UNTIL(f.parent.decided == 2);
    cc_has_said(&f.parent, "csrpcRrpcR");
    assert_int_equal(f.parent.numbers[6], AXO_INJECTED);
    f.parent.answer = AXO_STOP;
    assert_int_equal(cw_tell(&f.a, &note, CW_KILL, f.parent.real, 0), AXO_OK);
    CW_UNTIL(f.parent.ends == 1);
    family_end(&f);
}

/* A stop and a watch, by anybody, of either reference. */
static void ended_by_others(void **unused)
{
    family f;
    cw_note note;
    family_start(&f);
    cw_actor(&f.a, &note, "note");
    assert_int_equal(cw_tell(&f.a, &note, CW_WATCH, f.parent.real, 0), AXO_OK);
    assert_int_equal(cw_tell(&f.a, &note, CW_WATCH, f.parent.child, 0), AXO_OK);
    assert_int_equal(cw_tell(&f.a, &note, CW_STOP, f.parent.real, 0), AXO_OK);
    CW_UNTIL(f.parent.ends == 1 && note.ends == 2);
    assert_int_equal(note.lost, 0);
    assert_int_equal(cc_spawn_by(&f.a, &f.parent), AXO_OK);
    cc_has_said(&f.parent, "cspcs");
    cc_send(&f.a, f.parent.child, CC_END, 0); /* by itself */
    CW_UNTIL(f.parent.ends == 2);
    assert_int_equal(cc_spawn_by(&f.a, &f.parent), AXO_OK);
    cc_has_said(&f.parent, "cspcspcs");
    assert_int_equal(cw_tell(&f.a, &note, CW_POISON, f.parent.child, 0), AXO_OK);
    CW_UNTIL(f.parent.ends == 3);
    cc_has_said(&f.parent, "cspcspcsp");
    assert_int_equal(f.parent.decided, 0);
    family_end(&f);
}

/* One that is permanent and ends by itself is made again behind the same reference. */
static void permanent(void **unused)
{
    family f;
    family_nodes(&f);
    f.parent.recipe.lifetime = AXO_PERMANENT;
    family_begin(&f, &decides);
    cc_has_said(&f.parent, "cs");
    axo_ref before = f.parent.real;
    cc_send(&f.a, f.parent.child, CC_END, 0);
    CW_UNTIL(f.parent.decided == 1);
    assert_int_equal(f.parent.kind, AXO_FAILURE_ENDED);
    assert_int_equal(f.parent.code, 0);
    cc_send(&f.a, f.parent.child, CC_COUNT, 0);
    cc_has_said(&f.parent, "cspcsn");
    assert_false(axo_ref_equal(f.parent.real, before));
    f.parent.answer = AXO_RESUME; /* there is nobody who could go on */
    cc_send(&f.a, f.parent.child, CC_END, 0);
    CW_UNTIL(f.parent.decided == 3);
    assert_int_equal(f.parent.kind, AXO_FAILURE_CRASH);
    cc_has_said(&f.parent, "cspcsnpcs");
    family_end(&f);
}

static void crashed(void **unused)
{
    family f;
    if (!cc_contains())
        return;
    family_start(&f);
    cc_send(&f.a, f.parent.child, CC_CRASH, 0);
    CW_UNTIL(f.parent.decided == 1);
    assert_int_equal(f.parent.kind, AXO_FAILURE_CRASH);
    assert_int_equal(f.parent.code, SIGSEGV);
    cc_send(&f.a, f.parent.child, CC_COUNT, 0);
    cc_has_said(&f.parent, "cscRn"); /* no hook of a crashed one */
    f.parent.answer = AXO_RESUME;    /* is Restart */
    cc_send(&f.a, f.parent.child, CC_CRASH, 0);
    cc_has_said(&f.parent, "cscRncR");
    f.parent.answer = AXO_STOP;
    cc_send(&f.a, f.parent.child, CC_CRASH, 0);
    CW_UNTIL(f.parent.ends == 1);
    family_end(&f);
}

/* ---- what cannot be ---- */

static void not_made(void **unused)
{
    family f;
    family_nodes(&f);
    f.parent.args.fails = 1;
    family_begin(&f, &decides);
    CW_UNTIL(f.parent.ends == 1);
    assert_int_equal(f.parent.kind, AXO_FAILURE_INIT);
    assert_int_equal(f.parent.code, 31);
    assert_string_equal(f.parent.text, "it cannot be made");
    f.parent.args.fails = 2;
    assert_int_equal(cc_spawn_by(&f.a, &f.parent), AXO_OK);
    f.parent.answer = AXO_RESTART;
    cc_has_said(&f.parent, "ccs");
    cc_send(&f.a, f.parent.child, CC_FAIL, 1);
    CW_UNTIL(f.parent.decided >= 4);
    assert_int_equal(f.parent.kind, AXO_FAILURE_POST_RESTART);
    f.parent.answer = AXO_STOP;
    CW_UNTIL(f.parent.ends == 2);
    f.parent.answer = 0;
    f.parent.recipe.cls = "nobody";
    assert_int_equal(cc_spawn_by(&f.a, &f.parent), AXO_OK);
    CW_UNTIL(f.parent.ends == 3);
    assert_int_equal(f.parent.kind, AXO_FAILURE_INIT);
    assert_int_equal(f.parent.code, AXO_ENOENT);
    family_end(&f);
}

static axo_status refused_by(family *f, const char *node, const char *spare, const char *cls,
                             uint32_t lifetime)
{
    f->parent.recipe = (axo_cluster_child)AXO_CLUSTER_CHILD(.node = node, .spare = spare,
                                                            .cls = cls, .lifetime = lifetime);
    return cc_spawn_by(&f->a, &f->parent);
}

static void refused(void **unused)
{
    static char longer[AXO_CLUSTER_CLASS_NAME_MAX + 2];
    static const axo_props good = AXO_PROPS(.cls = &cc_class);
    static const axo_props named = AXO_PROPS(.cls = &cc_class, .name = "x");
    static const axo_props permanent_one = AXO_PROPS(.cls = &cc_class, .lifetime = AXO_PERMANENT);
    static const axo_props none = AXO_PROPS(.cls = NULL);
    family f;
    axo_ref ref = {.bits = 1};
    family_nodes(&f);
    cc_parent_start_on(&f.a, &f.parent, &decides);
    memset(longer, 'x', sizeof longer - 1);
    assert_int_equal(refused_by(&f, NULL, NULL, "worker", 0), AXO_EINVAL);
    assert_int_equal(refused_by(&f, "b", NULL, NULL, 0), AXO_EINVAL);
    assert_int_equal(refused_by(&f, "a", NULL, "worker", 0), AXO_EINVAL);
    assert_int_equal(refused_by(&f, "b", "a", "worker", 0), AXO_EINVAL);
    assert_int_equal(refused_by(&f, "b", NULL, "worker", 3), AXO_EINVAL);
    assert_int_equal(refused_by(&f, "b.", NULL, "worker", 0), AXO_ENAME);
    assert_int_equal(refused_by(&f, "b", "", "worker", 0), AXO_ENAME);
    assert_int_equal(refused_by(&f, "b", NULL, "", 0), AXO_ENAME);
    assert_int_equal(refused_by(&f, "b", NULL, longer, 0), AXO_ENAME);
    assert_int_equal(refused_by(&f, "c", NULL, "worker", 0), AXO_EGONE);
    assert_int_equal(refused_by(&f, "c", "d", "worker", 0), AXO_EGONE);
    assert_true(axo_ref_is_none(f.parent.child));
    assert_int_equal(refused_by(&f, "c", "b", "worker", 0), AXO_OK); /* the spare one */
    cc_has_said(&f.parent, "cs");
    const axo_cluster_child child = AXO_CLUSTER_CHILD(.node = "b", .cls = "worker");
    assert_int_equal(axo_cluster_spawn(NULL, f.a.cluster, &child, &ref), AXO_ECONTEXT);
    assert_true(axo_ref_is_none(ref));
    assert_int_equal(axo_cluster_spawn(NULL, NULL, &child, &ref), AXO_EINVAL);
    assert_int_equal(axo_cluster_spawn(NULL, f.a.cluster, NULL, &ref), AXO_EINVAL);
    assert_int_equal(axo_cluster_spawn(NULL, f.a.cluster, &child, NULL), AXO_EINVAL);
    assert_int_equal(axo_cluster_add_class(f.a.cluster, "late", &good), AXO_EBUSY);
    assert_int_equal(axo_cluster_add_class(f.a.cluster, longer, &good), AXO_ENAME);
    assert_int_equal(axo_cluster_add_class(f.a.cluster, "", &good), AXO_ENAME);
    assert_int_equal(axo_cluster_add_class(f.a.cluster, NULL, &good), AXO_EINVAL);
    assert_int_equal(axo_cluster_add_class(NULL, "x", &good), AXO_EINVAL);
    assert_int_equal(axo_cluster_add_class(f.a.cluster, "x", NULL), AXO_EINVAL);
    assert_int_equal(axo_cluster_add_class(f.a.cluster, "x", &none), AXO_EINVAL);
    assert_int_equal(axo_cluster_add_class(f.a.cluster, "x", &named), AXO_EINVAL);
    assert_int_equal(axo_cluster_add_class(f.a.cluster, "x", &permanent_one), AXO_EINVAL);
    family_end(&f);
}

/* What a node that has left says to its actors, and classes beyond the bound. */
static void bounds(void **unused)
{
    static const axo_props good = AXO_PROPS(.cls = &cc_class);
    static unsigned char big[AXO_CLUSTER_ARGS_MAX + 1];
    family f;
    cw_node c;
    char name[16];
    const axo_cluster_options with = cw_options(&server, "c");
    cw_node_open(&c, &with);
    for (uint32_t i = 0; i < AXO_CLUSTER_CLASSES_MAX; i++) {
        (void)snprintf(name, sizeof name, "class%u", i);
        assert_int_equal(axo_cluster_add_class(c.cluster, name, &good), AXO_OK);
    }
    assert_int_equal(axo_cluster_add_class(c.cluster, "class7", &good), AXO_EEXIST);
    assert_int_equal(axo_cluster_add_class(c.cluster, "more", &good), AXO_ELIMIT);
    axo_cluster_close(c.cluster);
    family_start(&f);
    f.parent.big = big;
    f.parent.big_size = sizeof big;
    assert_int_equal(cc_spawn_by(&f.a, &f.parent), AXO_ETOOBIG);
    f.parent.big_size--;
    f.parent.recipe.name = NULL;
    assert_int_equal(cc_spawn_by(&f.a, &f.parent), AXO_OK);
    cc_has_said(&f.parent, "cscs");
    assert_int_equal(axo_system_stop_actor(f.a.system, f.parent.child), AXO_OK);
    CW_UNTIL(f.parent.ends == 1);
    assert_int_equal(axo_cluster_leave(f.a.cluster), AXO_OK);
    CW_UNTIL(f.parent.ends == 2); /* it has lost all nodes */
    assert_int_equal(cc_spawn_by(&f.a, &f.parent), AXO_ESTOPPING);
    family_end(&f);
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(passes_on),
        cmocka_unit_test(resumed),
        cmocka_unit_test(restarted),
        cmocka_unit_test(stopped),
        cmocka_unit_test(escalated),
        cmocka_unit_test(stopped_by_its_parent),
        cmocka_unit_test(restarted_with_its_parent),
        cmocka_unit_test(counted),
        cmocka_unit_test(delayed),
        cmocka_unit_test(all_for_one),
        cmocka_unit_test(killed),
        cmocka_unit_test(ended_by_others),
        cmocka_unit_test(permanent),
        cmocka_unit_test(crashed),
        cmocka_unit_test(not_made),
        cmocka_unit_test(refused),
        cmocka_unit_test(bounds),
    };
    if (argc == 2)
        cmocka_set_test_filter(argv[1]);
    if (!cw_has_server())
        return 0;
    cw_server_start(&server);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    cw_kill(server.pid);
    return failed;
}
