/* remote_watch_test.c - watches of actors of other nodes, their ends, and the loss of a node:
 * <axo/remote.h>. */
#include "api/remote_world.h"

/* The other node is told of the first watch of an actor and of the last unwatch. */
static void watch_is_one_for_all(void **unused)
{
    r_world w;
    r_start(&w);
    axo_ref far = r_far(&w, 0, 1, 0);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(r_tell(&w, &w.actor[0][i], i == 3 ? R_OWN : R_WATCH, far), AXO_OK);
    assert_int_equal(w.node[0].watches, 1);
    for (uint32_t i = 0; i < 3; i++) { /* the one in the tree among them */
        assert_int_equal(r_tell(&w, &w.actor[0][i], R_UNWATCH, far), AXO_OK);
        assert_int_equal(w.node[0].unwatches, 0);
    }
    assert_int_equal(r_tell(&w, &w.actor[0][3], R_UNWATCH, far), AXO_OK);
    assert_int_equal(w.node[0].unwatches, 1);
    assert_int_equal(r_tell(&w, &w.actor[0][1], R_WATCH, far), AXO_OK);
    assert_int_equal(w.node[0].watches, 2);
    assert_int_equal(r_tell(&w, &w.actor[0][3], R_OWN, far), AXO_OK);
    assert_int_equal(axo_system_stop_actor(w.node[1].system, w.actor[1][0].ref), AXO_OK);
    r_run(&w);
    assert_int_equal(w.actor[0][0].ends, 0);
    assert_int_equal(w.actor[0][1].ends, 1);
    assert_int_equal(w.actor[0][3].got, 1); /* a message of its own */
    assert_string_equal(w.actor[0][3].payload, "mine");
    assert_int_equal(w.node[1].ended, 1);
    assert_int_equal(w.node[0].unwatches, 1); /* its end needs none */
    /* it has ended, and is watched again: it was not known from here that it has */
    assert_int_equal(r_tell(&w, &w.actor[0][0], R_WATCH, far), AXO_OK);
    assert_int_equal(w.actor[0][0].ends, 1);
    assert_int_equal(w.actor[0][0].known, 1);
    r_end(&w);
}

/* Many watchers of many actors: each is told once, of its own. */
static void many_watches(void **unused)
{
    r_world w;
    r_start(&w);
    for (uint32_t i = 0; i < 4; i++) {
        for (uint32_t j = 0; j < 4; j++)
            assert_int_equal(r_tell(&w, &w.actor[0][i], R_WATCH, r_far(&w, 0, 1, j)), AXO_OK);
    }
    for (uint32_t j = 0; j < 3; j++) {
        assert_int_equal(axo_system_stop_actor(w.node[1].system, w.actor[1][j].ref), AXO_OK);
        r_run(&w);
        for (uint32_t i = 0; i < 4; i++) {
            assert_int_equal(w.actor[0][i].ends, j + 1);
            assert_true(axo_ref_equal(w.actor[0][i].ended, r_far(&w, 0, 1, j)));
        }
    }
    assert_int_equal(axo_remote_lose(w.node[0].system, w.node[0].peer[1]), AXO_OK);
    r_run(&w);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(w.actor[0][i].ends, 4);
        assert_int_equal(w.actor[0][i].lost, 1);
    }
    r_end(&w);
}

/* The node is lost: each watch is answered so, once; what comes of it afterwards is refused. */
static void node_is_lost(void **unused)
{
    r_world w;
    r_start(&w);
    r_actor *a = &w.actor[0][0], *late = &w.actor[0][1];
    axo_system *s = w.node[0].system;
    axo_ref far = r_far(&w, 0, 1, 0);
    uint32_t number = w.node[0].peer[1];
    assert_int_equal(r_tell(&w, a, R_WATCH, far), AXO_OK);
    axo_remote_message m = AXO_REMOTE_MESSAGE(.to = a->ref, .from = far, .tag = R_TAG);
    assert_int_equal(axo_remote_deliver(s, number, &m), AXO_OK);
    assert_int_equal(axo_remote_lose(s, number), AXO_OK);
    assert_int_equal(axo_remote_deliver(s, number, &m), AXO_EGONE);
    axo_terminated end = {.actor = far, .existence_known = 1};
    assert_int_equal(axo_remote_terminated(s, number, &end), AXO_EGONE);
    assert_int_equal(axo_remote_stop(s, number, a->ref), AXO_EGONE);
    assert_int_equal(axo_remote_kill(s, number, a->ref, far), AXO_EGONE);
    assert_int_equal(axo_remote_watch(s, number, a->ref), AXO_EGONE);
    r_run(&w);
    assert_int_equal(a->got, 1);
    assert_true(a->last_is_an_end);
    assert_int_equal(a->ends, 1);
    assert_int_equal(a->lost, 1);
    assert_int_equal(a->known, 0);
    assert_true(axo_ref_equal(a->ended, far));
    assert_int_equal(r_tell(&w, late, R_WATCH, far), AXO_OK); /* too late: at once */
    assert_int_equal(late->ends, 1);
    assert_int_equal(late->lost, 1);
    assert_int_equal(r_tell(&w, a, R_SEND, far), AXO_EGONE);
    assert_int_equal(r_tell(&w, a, R_STOP, far), AXO_EGONE);
    assert_int_equal(w.node[0].letters, 1);
    /* back under its old name: another node, and the old reference reaches nobody there */
    r_halt(&w.node[1]);
    w.node[1].is.incarnation = 100;
    r_boot(&w.node[1]);
    w.node[1].peer[0] = w.node[1].peer[2] = 0;
    r_join(&w, 0, 1);
    r_run(&w);
    assert_int_not_equal(w.node[0].peer[1], number);
    uint32_t asked = w.node[0].asked;
    assert_int_equal(r_tell(&w, a, R_SEND, far), AXO_EGONE);
    assert_int_equal(w.node[0].asked, asked);
    assert_int_equal(r_tell(&w, a, R_SEND, r_far(&w, 0, 1, 0)), AXO_OK);
    assert_int_equal(w.actor[1][0].got, 1);
    r_end(&w);
}

/* A watch of which the lane of the node's stand-in has not heard yet, and one that was given up,
 * when the node is lost. */
static void loss_meets_watch(void **unused)
{
    r_world w;
    r_start(&w);
    r_actor *a = &w.actor[0][0], *b = &w.actor[0][1];
    axo_ref far = r_far(&w, 0, 1, 0);
    for (uint32_t turns = 0; turns < 12; turns++) {
        a->ends = a->lost = b->ends = 0;
        a->to = b->to = far;
        assert_int_equal(r_tell(&w, b, R_WATCH, far), AXO_OK);
        assert_int_equal(axo_system_send(w.node[0].system, a->ref, R_WATCH, NULL, 0), AXO_OK);
        assert_int_equal(axo_system_send(w.node[0].system, b->ref, R_UNWATCH, NULL, 0), AXO_OK);
        for (uint32_t i = 0; i < turns; i++)
            assert_int_equal(axo_step_host(w.node[0].system, 1, NULL), AXO_OK);
        assert_int_equal(axo_remote_lose(w.node[0].system, w.node[0].peer[1]), AXO_OK);
        r_run(&w);
        assert_int_equal(a->ends, 1);
        assert_int_equal(a->lost, 1);
        assert_true(b->ends <= 1); /* its unwatch may have come behind the loss */
        w.node[1].is.incarnation++;
        r_halt(&w.node[1]);
        r_boot(&w.node[1]);
        r_join(&w, 0, 1);
        r_run(&w);
        far = r_far(&w, 0, 1, 0);
    }
    r_end(&w);
}

/* A watcher that ends gives its watches up; the other node's system ends, and loses this one. */
static void watchers_end(void **unused)
{
    r_world w;
    r_start(&w);
    axo_ref far = r_far(&w, 0, 1, 0);
    assert_int_equal(r_tell(&w, &w.actor[0][0], R_WATCH, far), AXO_OK);
    assert_int_equal(axo_system_stop_actor(w.node[0].system, w.actor[0][0].ref), AXO_OK);
    r_run(&w);
    assert_int_equal(w.node[0].unwatches, 1);
    assert_int_equal(axo_system_stop_actor(w.node[1].system, w.actor[1][0].ref), AXO_OK);
    r_run(&w);
    assert_int_equal(w.node[1].ended, 0);
    r_halt(&w.node[1]);
    assert_int_equal(w.node[1].lost, 1);
    r_end(&w);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(watch_is_one_for_all),
        cmocka_unit_test(many_watches),
        cmocka_unit_test(node_is_lost),
        cmocka_unit_test(loss_meets_watch),
        cmocka_unit_test(watchers_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
