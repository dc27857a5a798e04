/* draft_test.c - what services are made of: drafts with a sender, an instance or an owned payload,
 * memory and time of the system. */
#include <stdatomic.h>

#include "conformance/parts.h"
#include "system/system.h"

typedef struct draft_shop {
    axo_ref to;
    axo_ref from;
    uint32_t instance;
    uint32_t freed;
} draft_shop;

static void draft_freed(void *payload, void *user)
{
    ((draft_shop *)user)->freed++;
}

static axo_status draft_mark_instance(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    kit_mark(self, "instance", axo_instance(ctx));
    return AXO_OK;
}

/* Sends a note that is bound to shop->instance, in the name of shop->from. */
static axo_status draft_send(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    const draft_shop *shop = arg;
    axo_draft *draft;
    void *room;
    KIT_REQUIRE(self->k,
                axo_message_new(ctx, KIT_PING, sizeof(kit_payload), &draft, &room) == AXO_OK);
    *(kit_payload *)room = (kit_payload){.value = shop->instance};
    KIT_REQUIRE(self->k, axo_draft_from(ctx, draft, shop->from) == AXO_OK);
    KIT_REQUIRE(self->k, axo_draft_bind(ctx, draft, shop->instance) == AXO_OK);
    KIT_REQUIRE(self->k, axo_send_message(ctx, shop->to, draft) == AXO_OK);
    return AXO_OK;
}

static void a_bound_draft_is_for_one_instance(kit *k)
{
    kit_family f = kit_tree(k, "a, b");
    draft_shop first = {.to = kit_ref(f.a), .from = kit_ref(f.a), .instance = 1};
    draft_shop second = {.to = kit_ref(f.a), .from = kit_ref(f.a), .instance = 2};
    draft_shop far = {.to = kit_ref(f.a), .from = kit_ref(f.a), .instance = 1 + (1U << 23)};
    kit_run(k, f.a, draft_mark_instance, NULL);
    kit_run(k, f.b, draft_send, &first);
    kit_await(k, "a.pong(1)"); /* the sender is whom the draft named */
    kit_tell(k, f.a, KIT_FAIL, 7);
    kit_run(k, f.a, draft_mark_instance, NULL);
    kit_await(k, "a#2.instance");
    kit_run(k, f.b, draft_send, &first);
    kit_run(k, f.b, draft_send, &far);
    kit_run(k, f.b, draft_send, &second);
    kit_await(k, "a.pong(2)");
    assert_int_equal(kit_find(k, "a#1.instance").arg, 1);
    assert_int_equal(kit_find(k, "a#2.instance").arg, 2);
    kit_expect(k, "a.ping=2", "a.dl(PING)=2");
    kit_finish(k);
}

/* ---- all 32 bits of an instance's number ---- */

typedef struct bound_world {
    axo_system *system;
    axo_ref to;
    uint32_t bound;    /* for the next draft */
    uint32_t got;
    uint32_t dead;
    uint32_t freed;
    axo_draft *kept;
    uint32_t instance; /* of the last that got something */
} bound_world;

enum { BOUND_MAKE = 1, BOUND_SEND = 2, BOUND_GOT = 3, BOUND_FAIL = 4 };

static bound_world bound;

static void bound_free(void *payload, void *user)
{
    assert_ptr_equal(payload, user);
    bound.freed++;
}

/* The message is the kind of the draft: 0 empty, 1 with a payload, 2 one that owns its payload. */
static axo_status bound_make(axo_ctx *ctx, uint32_t kind)
{
    axo_owned owned = {.payload = &bound, .size = 8, .destroy = bound_free, .user = &bound};
    axo_status status;
    void *room;
    if (kind == 2)
        status = axo_message_owning(ctx, BOUND_GOT, &owned, &bound.kept);
    else
        status = axo_message_new(ctx, BOUND_GOT, kind * 40, &bound.kept, &room);
    if (status == AXO_OK && kind == 1)
        memset(room, 0xff, 40);
    assert_int_equal(axo_draft_bind(ctx, bound.kept, bound.bound / 2 + 1), AXO_OK);
    assert_int_equal(axo_draft_bind(ctx, bound.kept, bound.bound), AXO_OK); /* the last counts */
    return status;
}

static axo_status bound_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    axo_owned owned;
    switch (message->tag) {
    case BOUND_MAKE:
        return bound_make(ctx, *AXO_PAYLOAD(message, uint32_t));
    case BOUND_SEND:
        return axo_send_message(ctx, bound.to, bound.kept);
    case BOUND_FAIL:
        return axo_fail(ctx, 1, "again");
    default:
        break;
    }
    bound.got++;
    bound.instance = axo_instance(ctx);
    if (bound.got % 2 == 1) { /* put aside without its payload: it is bound as before */
        if (axo_message_take(ctx, message, &owned) == AXO_OK)
            owned.destroy(owned.payload, owned.user);
        assert_int_equal(axo_stash(ctx), AXO_OK);
        assert_int_equal(axo_unstash(ctx, UINT32_MAX), AXO_OK);
    }
    return AXO_OK;
}

static void bound_letter(void *user, const axo_dead_letter *letter)
{
    assert_int_equal(letter->suppressed, 1);
    bound.dead++;
}

static void bound_send(uint32_t tag, uint32_t kind)
{
    uint64_t turns = 1;
    assert_int_equal(axo_system_send(bound.system, bound.to, tag, &kind, sizeof kind), AXO_OK);
    while (turns > 0)
        assert_int_equal(axo_step_host(bound.system, 100, &turns), AXO_OK);
}

/* One that is bound to an instance reaches that one and no other of all the 2^32 - 1. */
static void a_bound_draft_is_for_one_of_them_all(void **state)
{
    static const uint32_t numbers[] = {1, 2, 1 << 23, 1 << 24, (1 << 24) + 1, UINT32_MAX - 1,
                                       UINT32_MAX, UINT32_C(1) << 31};
    static const axo_class cls = AXO_CLASS(.receive = bound_receive);
    axo_options options = AXO_OPTIONS(.manual = 1, .on_dead_letter = bound_letter);
    axo_props props = AXO_PROPS(.cls = &cls);
    uint64_t turns = 1;
    memset(&bound, 0, sizeof bound);
    assert_int_equal(axo_system_start(&options, &bound.system), AXO_OK);
    assert_int_equal(axo_system_spawn(bound.system, &props, &bound.to), AXO_OK);
    while (turns > 0)
        assert_int_equal(axo_step_host(bound.system, 100, &turns), AXO_OK);
    axo__cell *cell = axo__table_find(&bound.system->core.table, bound.to);
    uint32_t sent = 0;
    for (uint32_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        for (uint32_t bit = 0; bit <= 32; bit++) {
            uint32_t other = bit < 32 ? numbers[i] ^ UINT32_C(1) << bit : numbers[i];
            for (uint32_t kind = 0; kind < 3 && other != 0; kind++) {
                uint32_t got = bound.got;
                uint32_t dead = bound.dead;
                axo__a32_store_relaxed(&cell->instance, numbers[i]);
                bound.bound = numbers[i];
                bound_send(BOUND_MAKE, kind);
                axo__a32_store_relaxed(&cell->instance, other);
                bound_send(BOUND_SEND, 0);
                assert_int_equal(bound.got - got, other == numbers[i] ? 2 : 0);
                assert_int_equal(bound.dead - dead, other == numbers[i] ? 0 : 1);
                sent += kind == 2;
                assert_int_equal(bound.freed, sent);
            }
        }
    }
    /* after the last comes the first: 0 is nobody's */
    axo__a32_store_relaxed(&cell->instance, UINT32_MAX);
    bound_send(BOUND_FAIL, 0);
    bound.bound = 1;
    bound_send(BOUND_MAKE, 0);
    bound_send(BOUND_SEND, 0);
    assert_int_equal(bound.instance, 1);
    assert_int_equal(axo_system_stop(bound.system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(bound.system), AXO_OK);
}

static axo_status draft_own(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    kit *k = self->k;
    draft_shop *shop = arg;
    kit_payload note = {.value = 5};
    axo_owned owned = {.payload = &note, .size = sizeof note, .destroy = draft_freed, .user = shop};
    axo_draft *draft;
    KIT_REQUIRE(k, axo_message_owning(ctx, KIT_NOTE, &owned, &draft) == AXO_OK);
    axo_message_discard(ctx, draft);
    KIT_REQUIRE(k, shop->freed == 1);
    KIT_REQUIRE(k, axo_message_owning(ctx, KIT_NOTE, &owned, &draft) == AXO_OK);
    KIT_REQUIRE(k, axo_send_message(ctx, (axo_ref){12345}, draft) == AXO_EGONE);
    KIT_REQUIRE(k, shop->freed == 2);
    kit_mark(self, "owned", 0);
    return AXO_OK;
}

static axo_status draft_misuse(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    kit *k = self->k;
    axo_owned owned = {.payload = arg, .size = (size_t)UINT32_MAX + 1};
    axo_draft *draft = (axo_draft *)arg;
    void *room;
    KIT_REQUIRE(k, axo_instance(NULL) == 0 && axo_now(NULL) == 0);
    KIT_REQUIRE(k, axo_message_owning(ctx, 1, &owned, &draft) == AXO_ETOOBIG && draft == NULL);
    owned.size = 1;
    KIT_REQUIRE(k, axo_message_owning(NULL, 1, &owned, &draft) == AXO_ECONTEXT);
    KIT_REQUIRE(k, axo_message_owning(ctx, AXO_TAG_RESERVED, &owned, &draft) == AXO_EINVAL);
    KIT_REQUIRE(k, axo_message_owning(ctx, 1, NULL, &draft) == AXO_EINVAL);
    KIT_REQUIRE(k, axo_message_owning(ctx, 1, &owned, NULL) == AXO_EINVAL);
    owned.payload = NULL;
    KIT_REQUIRE(k, axo_message_owning(ctx, 1, &owned, &draft) == AXO_EINVAL);
    KIT_REQUIRE(k, axo_message_new(ctx, 1, 8, &draft, &room) == AXO_OK);
    KIT_REQUIRE(k, axo_draft_from(NULL, draft, axo_ref_none()) == AXO_ECONTEXT);
    KIT_REQUIRE(k, axo_draft_from(ctx, NULL, axo_ref_none()) == AXO_EINVAL);
    KIT_REQUIRE(k, axo_draft_bind(NULL, draft, 1) == AXO_ECONTEXT);
    KIT_REQUIRE(k, axo_draft_bind(ctx, NULL, 1) == AXO_EINVAL);
    KIT_REQUIRE(k, axo_draft_bind(ctx, draft, 0) == AXO_EINVAL);
    axo_message_discard(ctx, draft);
    kit_mark(self, "misused", 0);
    return AXO_OK;
}

static void drafts_own_and_refuse(kit *k)
{
    kit_script *a = part_start(k, "a");
    draft_shop shop = {.freed = 0};
    kit_run(k, a, draft_own, &shop);
    kit_await(k, "a.owned");
    kit_run(k, a, draft_misuse, &shop);
    kit_await(k, "a.misused");
    kit_finish(k);
}

static axo_status draft_now(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    int64_t before = *(int64_t *)arg;
    int64_t now = axo_now(ctx);
    KIT_REQUIRE(self->k, now >= before);
    KIT_REQUIRE(self->k, axo_system_now(axo_system_of(ctx)) >= now);
    kit_mark(self, "now", 0);
    return AXO_OK;
}

static void memory_and_time_of_the_system(kit *k)
{
    kit_script *a = part_start(k, "a");
    axo_system *system = kit_system(k);
    int64_t now = axo_system_now(system);
    kit_run(k, a, draft_now, &now);
    kit_await(k, "a.now");
    kit_settle(k);
    assert_int_equal(axo_system_now(NULL), 0);
    axo_stats before = kit_stats(k);
    max_align_t *block = axo_system_alloc(system, 1000);
    assert_non_null(block);
    assert_int_equal((uintptr_t)block % _Alignof(max_align_t), 0);
    assert_int_equal(kit_stats(k).memory_bytes, before.memory_bytes + 1000);
    axo_system_free(system, block, 1000);
    assert_int_equal(kit_stats(k).memory_bytes, before.memory_bytes);
    assert_null(axo_system_alloc(system, 0));
    assert_null(axo_system_alloc(NULL, 1));
    axo_system_free(system, NULL, 1);
    kit_no_memory(k, true);
    assert_null(axo_system_alloc(system, 16));
    kit_no_memory(k, false);
    kit_finish(k);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_bound_draft_is_for_one_of_them_all),
    KIT_TEST("bound drafts", a_bound_draft_is_for_one_instance),
    KIT_TEST("drafts own and refuse", drafts_own_and_refuse),
    KIT_TEST("memory and time", memory_and_time_of_the_system),
};

TEST_MAIN(tests)
