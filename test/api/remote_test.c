/* remote_test.c - the seam between systems: references, nodes, messages, misuse: <axo/remote.h>. */
#include "api/remote_world.h"

/* ---- references ---- */

static void ref_travels(void **unused)
{
    r_world w;
    axo_node node;
    uint64_t bits;
    r_start(&w);
    r_actor *a = &w.actor[0][0];
    axo_ref far = r_far(&w, 0, 1, 0);
    assert_int_equal(axo_ref_node(a->ref), 0);
    assert_int_equal(axo_ref_node(far), w.node[0].peer[1]);
    /* home again it is the same, by way of a third node too */
    assert_true(axo_ref_equal(r_carry_ref(&w.node[0], &w.node[1], far), w.actor[1][0].ref));
    r_join(&w, 0, 2);
    r_join(&w, 1, 2);
    axo_ref third = r_carry_ref(&w.node[0], &w.node[2], far);
    assert_int_equal(axo_ref_node(third), w.node[2].peer[1]);
    assert_true(axo_ref_equal(r_carry_ref(&w.node[2], &w.node[0], third), far));
    /* what names nobody */
    assert_int_equal(axo_remote_leave(w.node[0].system, axo_ref_none(), &node, &bits), AXO_EINVAL);
    assert_true(axo_ref_is_none(axo_remote_enter(w.node[0].system, &w.node[1].is, 0)));
    axo_node other = {.name = "nobody", .incarnation = 3};
    axo_ref nobody = axo_remote_enter(w.node[0].system, &other, 77);
    assert_int_equal(axo_ref_node(nobody), AXO_NODE_NOBODY);
    assert_int_equal(axo_remote_leave(w.node[0].system, nobody, &node, &bits), AXO_EGONE);
    other = w.node[0].is;
    other.incarnation++; /* this very system, in another life */
    nobody = axo_remote_enter(w.node[0].system, &other, a->ref.bits);
    assert_int_equal(axo_ref_node(nobody), AXO_NODE_NOBODY);
    nobody = axo_remote_enter(w.node[0].system, &w.node[0].is, a->ref.bits | UINT64_C(1) << 56);
    assert_int_equal(axo_ref_node(nobody), AXO_NODE_NOBODY); /* forged bits */
    assert_int_equal(r_tell(&w, a, R_SEND, nobody), AXO_EGONE);
    assert_int_equal(w.node[0].letters, 1);
    assert_int_equal(w.node[0].asked, 0);
    r_end(&w);
}

static void nodes_are_known(void **unused)
{
    r_world w;
    axo_node node, odd = {.name = "odd"};
    uint32_t number = 9;
    r_start(&w);
    axo_system *s = w.node[0].system;
    assert_int_equal(axo_remote_add(s, &odd, &number), AXO_EINVAL);
    assert_int_equal(number, 0);
    odd.incarnation = 1;
    memset(odd.name, 'x', sizeof odd.name);
    assert_int_equal(axo_remote_add(s, &odd, &number), AXO_ENAME);
    odd.name[0] = 0;
    assert_int_equal(axo_remote_add(s, &odd, &number), AXO_ENAME);
    assert_int_equal(axo_remote_add(s, &w.node[0].is, &number), AXO_EEXIST);
    assert_int_equal(axo_remote_add(s, &w.node[1].is, &number), AXO_OK); /* again */
    assert_int_equal(number, w.node[0].peer[1]);
    odd = w.node[1].is;
    odd.incarnation = 77;
    assert_int_equal(axo_remote_add(s, &odd, &number), AXO_EEXIST);
    assert_int_equal(axo_remote_node(s, w.node[0].peer[1], &node), AXO_OK);
    assert_string_equal(node.name, "node-1");
    assert_int_equal(axo_remote_node(s, 0, &node), AXO_EINVAL);
    assert_int_equal(axo_remote_node(s, 99, &node), AXO_EINVAL);
    assert_int_equal(axo_remote_lose(s, 99), AXO_EINVAL);
    assert_int_equal(axo_remote_lose(s, w.node[0].peer[1]), AXO_OK);
    assert_int_equal(axo_remote_lose(s, w.node[0].peer[1]), AXO_EGONE);
    assert_int_equal(axo_remote_node(s, w.node[0].peer[1], &node), AXO_EGONE);
    assert_int_equal(node.incarnation, 2);
    assert_int_equal(axo_remote_add(s, &w.node[1].is, &number), AXO_EGONE);
    assert_int_equal(axo_remote_add(s, &odd, &number), AXO_OK);
    assert_int_not_equal(number, w.node[0].peer[1]);
    r_run(&w);
    assert_int_equal(w.node[0].lost, 0); /* who has lost it needs no telling */
    r_end(&w);
    assert_int_equal(w.node[0].lost, 1); /* the end of the system loses the other */
}

/* All numbers are given, then those of nodes that were lost, the first one first. */
static void numbers_come_again(void **unused)
{
    r_world w;
    uint32_t number = 0, last;
    r_start(&w);
    axo_system *s = w.node[0].system;
    axo_ref old = r_far(&w, 0, 1, 0);
    for (uint32_t i = 1; i < AXO_NODES_MAX; i++) {
        axo_node node = {.incarnation = 1};
        (void)snprintf(node.name, sizeof node.name, "n%u", i);
        assert_int_equal(axo_remote_add(s, &node, &number), AXO_OK);
    }
    last = number;
    axo_node more = {.name = "more", .incarnation = 1};
    axo_node most = {.name = "most", .incarnation = 1};
    assert_int_equal(axo_remote_add(s, &more, &number), AXO_ELIMIT);
    r_run(&w);
    assert_int_equal(axo_remote_lose(s, w.node[0].peer[1]), AXO_OK);
    assert_int_equal(axo_remote_lose(s, last), AXO_OK);
    assert_int_equal(axo_remote_add(s, &more, &number), AXO_ELIMIT); /* it has not ended yet */
    r_run(&w);
    assert_int_equal(axo_remote_add(s, &more, &number), AXO_OK);
    assert_int_equal(number, w.node[0].peer[1]);
    assert_int_equal(axo_ref_node(old), number); /* and yet it is a stranger to it */
    assert_int_equal(axo_remote_add(s, &most, &number), AXO_OK);
    assert_int_equal(number, last);
    r_end(&w);
}

/* ---- messages ---- */

static void messages_are_carried(void **unused)
{
    r_world w;
    r_start(&w);
    r_actor *a = &w.actor[0][0], *b = &w.actor[1][0];
    axo_ref far = r_far(&w, 0, 1, 0);
    assert_int_equal(r_tell(&w, a, R_SEND, far), AXO_OK);
    assert_int_equal(b->got, 1);
    assert_string_equal(b->payload, "hello");
    assert_int_equal(axo_ref_node(b->from), w.node[1].peer[0]);
    assert_int_equal(r_tell(&w, b, R_SEND, b->from), AXO_OK); /* an answer */
    assert_int_equal(a->got, 1);
    assert_true(axo_ref_equal(a->from, far));
    assert_int_equal(r_tell(&w, a, R_OWNED, far), AXO_OK);
    assert_int_equal(a->freed, 1);
    assert_int_equal(b->got, 2);
    /* from outside, of each kind */
    assert_int_equal(axo_system_send(w.node[0].system, far, R_TAG, "x", 2), AXO_OK);
    assert_int_equal(axo_system_send(w.node[0].system, far, R_TAG, NULL, 0), AXO_OK);
    assert_int_equal(axo_system_send_from(w.node[0].system, a->ref, far, R_TAG, "12345678", 8),
                     AXO_OK);
    assert_int_equal(axo_system_send_owned(w.node[0].system, far, R_TAG, a, 8, r_free, a), AXO_OK);
    assert_int_equal(a->freed, 2);
    r_run(&w);
    assert_int_equal(b->got, 6);
    assert_int_equal(w.node[0].letters + w.node[1].letters, 0);
    r_end(&w);
}

/* What the carrier says is what the sender hears, and nothing is lost or freed by it. */
static void carrier_refuses(void **unused)
{
    static const axo_status says[] = {AXO_EFULL, AXO_ENOMEM, AXO_ETOOBIG};
    r_world w;
    r_start(&w);
    r_actor *a = &w.actor[0][0];
    axo_system *s = w.node[0].system;
    axo_ref far = r_far(&w, 0, 1, 0);
    for (uint32_t i = 0; i < 3; i++) {
        w.node[0].refuses = says[i];
        assert_int_equal(r_tell(&w, a, R_SEND, far), says[i]);
        assert_int_equal(r_tell(&w, a, R_OWNED, far), says[i]);
        assert_int_equal(axo_system_send(s, far, R_TAG, "x", 2), says[i]);
        assert_int_equal(axo_system_send_owned(s, far, R_TAG, a, 8, r_free, a), says[i]);
    }
    assert_int_equal(a->freed, 0);
    assert_int_equal(w.node[0].letters, 0);
    w.node[0].refuses = AXO_EINVAL; /* any other: nobody is reached */
    assert_int_equal(r_tell(&w, a, R_SEND, far), AXO_EGONE);
    assert_int_equal(axo_system_send_owned(s, far, R_TAG, a, 8, r_free, a), AXO_EGONE);
    assert_int_equal(a->freed, 1);
    assert_int_equal(w.node[0].letters, 2);
    assert_int_equal(w.actor[1][0].got, 0);
    r_end(&w);
}

/* What nobody has the reference of is offered, if there is a function for it, and nothing else. */
static void strays_are_offered(void **unused)
{
    r_world w;
    r_start(&w);
    r_node *me = &w.node[0];
    r_halt(me);
    axo_remote remote = AXO_REMOTE(.stray = r_stray);
    axo_options options = AXO_OPTIONS(.manual = AXO_MANUAL_ALL, .remote = &remote,
                                      .remote_user = me, .on_dead_letter = r_letter,
                                      .dead_letter_user = me);
    assert_int_equal(axo_system_start(&options, &me->system), AXO_OK);
    r_actor *a = &w.actor[0][0];
    axo_props props = AXO_PROPS(.cls = &r_class, .args = a);
    assert_int_equal(axo_system_spawn(me->system, &props, &a->ref), AXO_OK);
    uint32_t number;
    assert_int_equal(axo_remote_add(me->system, &w.node[1].is, &number), AXO_EINVAL);
    axo_ref strange = w.actor[1][0].ref; /* as it is, of another system */
    axo_ref far = {.bits = strange.bits | UINT64_C(3) << 56};
    me->letters = 0;
    me->strays_taken = true;
    assert_int_equal(r_tell(&w, a, R_SEND, strange), AXO_OK);
    assert_int_equal(r_tell(&w, a, R_SEND, far), AXO_OK);
    assert_int_equal(r_tell(&w, a, R_OWNED, strange), AXO_OK);
    assert_int_equal(axo_system_send(me->system, strange, R_TAG, "x", 2), AXO_OK);
    assert_int_equal(axo_system_send_owned(me->system, strange, R_TAG, a, 8, r_free, a), AXO_OK);
    assert_int_equal(axo_system_send_owned(me->system, far, R_TAG, a, 8, r_free, a), AXO_OK);
    assert_int_equal(a->freed, 3);
    assert_int_equal(me->strays, 6);
    assert_int_equal(r_tell(&w, a, R_POISON, strange), AXO_EGONE); /* the library's own */
    assert_int_equal(me->strays, 6);
    assert_int_equal(me->letters, 1);
    me->strays_taken = false;
    assert_int_equal(r_tell(&w, a, R_SEND, strange), AXO_EGONE);
    assert_int_equal(axo_system_send(me->system, strange, R_TAG, "x", 2), AXO_EGONE);
    assert_int_equal(me->letters, 3);
    assert_int_equal(r_tell(&w, a, R_SEND, a->ref), AXO_OK);
    assert_int_equal(me->strays, 8);
    r_end(&w);
}

static void periodic_messages_go_on(void **unused)
{
    r_world w;
    r_start(&w);
    r_actor *b = &w.actor[1][0];
    assert_int_equal(r_tell(&w, &w.actor[0][0], R_EVERY, r_far(&w, 0, 1, 0)), AXO_OK);
    for (uint32_t i = 0; i < 1000000 && b->got < 3; i++)
        r_run(&w);
    assert_true(b->got >= 3);
    w.node[0].refuses = AXO_EFULL; /* a timer's message has no sender to tell */
    for (uint32_t i = 0; i < 1000000 && w.node[0].overflows < 2; i++)
        r_run(&w);
    assert_true(w.node[0].overflows >= 2);
    r_end(&w);
}

static void ends_are_carried(void **unused)
{
    static const uint32_t how[] = {R_STOP, R_POISON, R_KILL};
    r_world w;
    r_start(&w);
    for (uint32_t i = 0; i < 3; i++) {
        r_actor *a = &w.actor[0][i];
        axo_ref far = r_far(&w, 0, 1, i);
        assert_int_equal(r_tell(&w, a, R_WATCH, far), AXO_OK);
        assert_int_equal(r_tell(&w, a, how[i], far), AXO_OK);
        assert_int_equal(a->ends, 1);
        assert_int_equal(a->lost, 0);
        assert_int_equal(a->known, 1);
        assert_true(axo_ref_equal(a->ended, far));
    }
    assert_int_equal(axo_system_stop_actor(w.node[0].system, r_far(&w, 0, 1, 3)), AXO_OK);
    assert_int_equal(axo_system_fail(w.node[0].system, r_far(&w, 0, 1, 3), AXO_FAILURE_ORDINARY, 1),
                     AXO_EGONE); /* a failure is injected at home */
    r_end(&w);
}

/* What another node must not do. */
static void misuse(void **unused)
{
    r_world w;
    r_start(&w);
    axo_system *s = w.node[0].system;
    uint32_t number = w.node[0].peer[1];
    axo_ref here = w.actor[0][0].ref, far = r_far(&w, 0, 1, 0);
    axo_remote_message m = AXO_REMOTE_MESSAGE(.to = here, .tag = AXO_TAG_SERVICES);
    assert_int_equal(axo_remote_deliver(s, number, &m), AXO_EINVAL);
    m.tag = AXO_TERMINATED;
    assert_int_equal(axo_remote_deliver(s, number, &m), AXO_EINVAL);
    m.tag = R_TAG;
    m.payload_size = 1;
    assert_int_equal(axo_remote_deliver(s, number, &m), AXO_EINVAL);
    m.payload = "x";
    m.payload_size = AXO_PAYLOAD_MAX + 1;
    assert_int_equal(axo_remote_deliver(s, number, &m), AXO_ETOOBIG);
    m.payload_size = 1;
    m.to = far; /* no way through this node to another */
    assert_int_equal(axo_remote_deliver(s, number, &m), AXO_EINVAL);
    m.to = axo_ref_none();
    assert_int_equal(axo_remote_deliver(s, number, &m), AXO_EINVAL);
    m.size = 0;
    assert_int_equal(axo_remote_deliver(s, number, &m), AXO_EINVAL);
    m = (axo_remote_message)AXO_REMOTE_MESSAGE(.to = here, .tag = R_TAG);
    assert_int_equal(axo_remote_deliver(s, 99, &m), AXO_EINVAL);
    assert_int_equal(axo_remote_watch(s, number, far), AXO_EINVAL);
    assert_int_equal(axo_remote_stop(s, number, far), AXO_EINVAL);
    axo_terminated end = {.actor = here};
    assert_int_equal(axo_remote_terminated(s, number, &end), AXO_EINVAL);
    assert_int_equal(axo_remote_terminated(s, number, NULL), AXO_EINVAL);
    assert_int_equal(axo_system_stop_actor(s, here), AXO_OK);
    r_run(&w);
    assert_int_equal(axo_remote_deliver(s, number, &m), AXO_OK); /* it has gone: a dead letter */
    assert_int_equal(w.node[0].letters, 1);
    r_end(&w);
}

static axo_status r_boots(const axo_remote *remote, void *user)
{
    axo_options options = AXO_OPTIONS(.manual = AXO_MANUAL_ALL, .remote = remote,
                                      .remote_user = user);
    axo_system *system;
    return axo_system_start(&options, &system);
}

static void options_are_checked(void **unused)
{
    r_world w;
    uint32_t number;
    r_start(&w);
    assert_int_equal(r_boots(NULL, &w), AXO_EINVAL);
    axo_remote remote = r_table(&w.node[0]);
    remote.send = NULL;
    assert_int_equal(r_boots(&remote, &w), AXO_EINVAL);
    remote = r_table(&w.node[0]);
    remote.here.incarnation = 0;
    assert_int_equal(r_boots(&remote, &w), AXO_EINVAL);
    remote = r_table(&w.node[0]);
    remote.here.name[0] = 0;
    assert_int_equal(r_boots(&remote, &w), AXO_ENAME);
    remote = r_table(&w.node[0]);
    remote.size = 0;
    assert_int_equal(r_boots(&remote, &w), AXO_EINVAL);
    r_end(&w);
    axo_options options = AXO_OPTIONS(.manual = AXO_MANUAL_ALL); /* alone */
    axo_system *alone;
    assert_int_equal(axo_system_start(&options, &alone), AXO_OK);
    assert_int_equal(axo_remote_add(alone, &w.node[1].is, &number), AXO_EINVAL);
    assert_true(axo_ref_is_none(axo_remote_enter(alone, &w.node[1].is, 5)));
    axo_ref far = {.bits = UINT64_C(1) << 56 | 5};
    assert_int_equal(axo_system_send(alone, far, R_TAG, NULL, 0), AXO_EGONE);
    assert_int_equal(axo_system_stop_actor(alone, far), AXO_EGONE);
    assert_int_equal(axo_system_stop(alone, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(alone), AXO_OK);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(ref_travels),
        cmocka_unit_test(nodes_are_known),
        cmocka_unit_test(numbers_come_again),
        cmocka_unit_test(messages_are_carried),
        cmocka_unit_test(carrier_refuses),
        cmocka_unit_test(strays_are_offered),
        cmocka_unit_test(periodic_messages_go_on),
        cmocka_unit_test(ends_are_carried),
        cmocka_unit_test(misuse),
        cmocka_unit_test(options_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
