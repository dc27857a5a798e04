/* draft_test.c - what services are made of: drafts with a sender, an instance or an owned payload,
 * memory and time of the system. */
#include <stdatomic.h>

#include "conformance/parts.h"

typedef struct draft_shop {
    axo_ref to;
    axo_ref from;
    uint32_t instance;
    uint32_t freed;
} draft_shop;

static void draft_freed(void *payload, void *user)
{
    (void)payload;
    ((draft_shop *)user)->freed++;
}

static axo_status draft_mark_instance(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    (void)arg;
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

static void a_bound_draft_is_for_one_instance(void **state)
{
    kit *k = kit_start(state, NULL);
    kit_script *a = part_start(k, "a");
    kit_script *b = part_start(k, "b");
    draft_shop first = {.to = kit_ref(a), .from = kit_ref(a), .instance = 1};
    draft_shop second = {.to = kit_ref(a), .from = kit_ref(a), .instance = 2};
    draft_shop far = {.to = kit_ref(a), .from = kit_ref(a), .instance = 1 + (1U << 23)};
    kit_run(k, a, draft_mark_instance, NULL);
    kit_run(k, b, draft_send, &first);
    kit_await(k, "a.pong(1)"); /* the sender is whom the draft named */
    kit_tell(k, a, KIT_FAIL, 7);
    kit_run(k, a, draft_mark_instance, NULL);
    kit_await(k, "a#2.instance");
    kit_run(k, b, draft_send, &first);
    kit_run(k, b, draft_send, &far);
    kit_run(k, b, draft_send, &second);
    kit_await(k, "a.pong(2)");
    assert_int_equal(kit_find(k, "a#1.instance").arg, 1);
    assert_int_equal(kit_find(k, "a#2.instance").arg, 2);
    kit_expect_count(k, "a.ping", 2);
    kit_expect_count(k, "a.dl(1)", 2);
    kit_finish(k);
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

static void drafts_own_and_refuse(void **state)
{
    kit *k = kit_start(state, NULL);
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

static void memory_and_time_of_the_system(void **state)
{
    kit *k = kit_start(state, NULL);
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
    KIT_TEST("bound drafts", a_bound_draft_is_for_one_instance),
    KIT_TEST("drafts own and refuse", drafts_own_and_refuse),
    KIT_TEST("memory and time", memory_and_time_of_the_system),
};

KIT_MAIN(tests)
