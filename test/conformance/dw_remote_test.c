/* dw_remote_test.c - watches of actors of another node, and that node's loss (DW-21, PH-04). The
 * other node is the test: it is told of watches, and says what becomes of them. */
#include "conformance/parts.h"

typedef struct far_node {
    _Atomic uint32_t watches, unwatches;
} far_node;

static axo_status far_send(void *user, axo_ref to, const axo_message *message)
{
    return AXO_OK;
}

static void far_watch(void *user, axo_ref target)
{
    ((far_node *)user)->watches++;
}

static void far_unwatch(void *user, axo_ref target)
{
    ((far_node *)user)->unwatches++;
}

static void far_ended(void *user, uint32_t number, const axo_terminated *end)
{
}

typedef struct far_kit {
    kit *k;
    far_node node;
    axo_node is;
    uint32_t number;
} far_kit;

static void far_start(void **state, far_kit *f)
{
    static const axo_remote remote =
        AXO_REMOTE(.here = {.name = "here", .incarnation = 1}, .send = far_send,
                   .watch = far_watch, .unwatch = far_unwatch, .terminated = far_ended);
    *f = (far_kit){.is = {.name = "there", .incarnation = 7}};
    axo_options options = AXO_OPTIONS(.remote = &remote, .remote_user = &f->node);
    f->k = kit_start(state, &options);
    assert_int_equal(axo_remote_add(kit_system(f->k), &f->is, &f->number), AXO_OK);
}

static axo_ref far_ref(const far_kit *f, uint64_t bits)
{
    return axo_remote_enter(kit_system(f->k), &f->is, bits);
}

static void far_await_watches(far_kit *f, uint32_t watches)
{
    while (f->node.watches < watches)
        kit_settle(f->k);
}

/* The notice says whether the actor has ended, or its node was lost; each watch gets one. */
static void DW_21(void **state)
{
    far_kit f;
    far_start(state, &f);
    kit_family t = kit_tree(f.k, "v, w, x");
    axo_ref ends = far_ref(&f, 0x1000001), lives = far_ref(&f, 0x1000002);
    kit_tell_ref(f.k, t.v, KIT_WATCH, ends);
    kit_tell_ref(f.k, t.w, KIT_WATCH, ends);
    kit_tell_ref(f.k, t.w, KIT_WATCH, lives);
    far_await_watches(&f, 2);
    kit_settle(f.k);
    axo_terminated end = {.actor = ends, .existence_known = 1};
    assert_int_equal(axo_remote_terminated(kit_system(f.k), f.number, &end), AXO_OK);
    kit_await_all(f.k, "v.known(1)", "w.known(1)");
    kit_never(f.k, "*.lost");
    assert_int_equal(axo_remote_terminated(kit_system(f.k), f.number, &end), AXO_OK); /* again */
    assert_int_equal(axo_remote_lose(kit_system(f.k), f.number), AXO_OK);
    kit_await(f.k, "w.lost");
    kit_settle(f.k);
    kit_expect(f.k, "v.term=1", "v.lost=0", "w.term=2", "w.lost=1", "w.known(0)=1", "x.term=0");
    kit_tell_ref(f.k, t.x, KIT_WATCH, lives); /* lost before it was watched */
    kit_await(f.k, "x.lost");
    kit_expect(f.k, "x.term=1");
    assert_int_equal(f.node.unwatches, 0);
    kit_finish(f.k);
}

/* Its three reasons: stopped, address terminated, not found, and a watcher tells them apart. */
static void PH_04_address(void **state)
{
    far_kit f;
    far_start(state, &f);
    kit_family t = kit_tree(f.k, "w, t");
    axo_ref lives = far_ref(&f, 0x1000001), never = far_ref(&f, 0x1000002);
    axo_node unknown = {.name = "nobody", .incarnation = 9};
    axo_ref nobody = axo_remote_enter(kit_system(f.k), &unknown, 0x1000003);
    part_watched_by(f.k, t.t, t.w);
    kit_tell_ref(f.k, t.w, KIT_WATCH, lives);
    kit_tell_ref(f.k, t.w, KIT_WATCH, never);
    kit_tell(f.k, t.t, KIT_STOP_SELF, 0);
    kit_await(f.k, "w.term(t)");
    far_await_watches(&f, 2);
    axo_terminated end = {.actor = never};
    assert_int_equal(axo_remote_terminated(kit_system(f.k), f.number, &end), AXO_OK);
    kit_await(f.k, "w.known(0)"); /* not found */
    kit_expect(f.k, "w.term=2", "w.lost=0", "w.known(1)=1");
    assert_int_equal(axo_remote_lose(kit_system(f.k), f.number), AXO_OK);
    kit_await(f.k, "w.lost");
    kit_tell_ref(f.k, t.w, KIT_WATCH, nobody); /* of a node that was never here */
    kit_await_count(f.k, "w.lost", 2);
    kit_expect(f.k, "w.term=4");
    kit_finish(f.k);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(DW_21),
    cmocka_unit_test(PH_04_address),
};

TEST_MAIN(tests)
