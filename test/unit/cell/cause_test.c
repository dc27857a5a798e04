/* cause_test.c - failures by value: the reserve of texts, copies, what users see. */
#include "unit/unit.h"

#include <stdio.h>

#include "cell/cause.h"

enum { TEXTS = 5 };

typedef struct cause_world {
    axo__heap heap;
    unit_memory memory;
    axo__texts texts;
} cause_world;

static void world_open(cause_world *world)
{
    memset(world, 0, sizeof *world);
    unit_heap(&world->heap, &world->memory, UINT64_MAX);
    assert_true(axo__texts_init(&world->texts, &world->heap, TEXTS));
    axo__a64_store_relaxed(&world->memory.budget, 0); /* from here on failing takes none */
}

static void world_close(cause_world *world)
{
    axo__texts_fini(&world->texts);
    unit_heap_empty(&world->heap);
}

static uint64_t lost(const cause_world *world)
{
    return axo__a64_load_relaxed(&world->texts.lost);
}

/* Takes all that are free and gives them back. */
static uint32_t count_free(cause_world *world)
{
    axo__cause causes[TEXTS + 1];
    uint32_t count = 0;
    uint32_t index;
    while ((index = axo__texts_take(&world->texts)) != 0) {
        assert_true(count < TEXTS);
        memset(&causes[count], 0, sizeof causes[count]);
        causes[count++].text = index & AXO__TEXT_MASK;
    }
    for (uint32_t i = 0; i < count; i++)
        axo__cause_drop(&world->texts, &causes[i]);
    return count;
}

static void a_spent_reserve_is_counted(void **state)
{
    cause_world world;
    axo__cause causes[TEXTS];
    world_open(&world);
    for (uint32_t i = 0; i < TEXTS; i++) {
        memset(&causes[i], 0, sizeof causes[i]);
        causes[i].text = axo__texts_take(&world.texts) & AXO__TEXT_MASK;
        assert_in_range(causes[i].text, 1, TEXTS);
        for (uint32_t k = 0; k < i; k++)
            assert_int_not_equal(causes[i].text, causes[k].text);
        memset(axo__texts_at(&world.texts, causes[i].text), 'a' + (int)i, AXO_FAILURE_TEXT_MAX);
    }
    assert_int_equal(lost(&world), 0);
    assert_int_equal(axo__texts_take(&world.texts), 0);
    assert_int_equal(axo__texts_take(&world.texts), 0);
    assert_int_equal(lost(&world), 2);
    for (uint32_t i = 0; i < TEXTS; i++) {
        const char *text = axo__texts_at(&world.texts, causes[i].text);
        for (int k = 0; k < AXO_FAILURE_TEXT_MAX; k++)
            assert_int_equal(text[k], 'a' + (int)i);
        axo__cause_drop(&world.texts, &causes[i]);
    }
    assert_int_equal(count_free(&world), TEXTS);
    world_close(&world);
}

static void a_copy_holds_its_texts(void **state)
{
    cause_world world;
    axo__cause cause = {.kind = AXO_FAILURE_POST_RESTART, .code = 3};
    world_open(&world);
    cause.text = axo__texts_take(&world.texts) & AXO__TEXT_MASK;
    cause.original_text = axo__texts_take(&world.texts) & AXO__TEXT_MASK;
    (void)snprintf(axo__texts_at(&world.texts, cause.text), AXO_FAILURE_TEXT_MAX, "new");
    (void)snprintf(axo__texts_at(&world.texts, cause.original_text), AXO_FAILURE_TEXT_MAX, "old");
    axo__cause copy = axo__cause_copy(&world.texts, &cause);
    axo__cause third = axo__cause_copy(&world.texts, &copy);
    axo__cause_drop(&world.texts, &cause);
    assert_int_equal(cause.kind, AXO_FAILURE_NONE);
    assert_int_equal(cause.text, 0);
    assert_int_equal(cause.original_text, 0);
    assert_int_equal(count_free(&world), TEXTS - 2);
    axo__cause_drop(&world.texts, &third);
    assert_int_equal(count_free(&world), TEXTS - 2);
    axo_failure failure = axo__cause_show(&world.texts, &copy);
    assert_string_equal(failure.text, "new");
    assert_string_equal(failure.original_text, "old");
    axo__cause_drop(&world.texts, &copy);
    axo__cause_drop(&world.texts, &copy);
    assert_int_equal(count_free(&world), TEXTS);
    world_close(&world);
}

static void users_see_every_field(void **state)
{
    cause_world world;
    world_open(&world);
    axo__cause cause = {
        .kind = AXO_FAILURE_DEATH_PACT,
        .site = AXO_SITE_RECEIVE,
        .status = 1,
        .root_kind = AXO_FAILURE_ORDINARY,
        .code = -7,
        .tag = AXO_TERMINATED,
        .actor = {.bits = 11},
        .about = {.bits = 12},
    };
    axo__cause_sent_by(&world.texts, &cause, (axo_ref){.bits = 13});
    axo_failure failure = axo__cause_show(&world.texts, &cause);
    assert_int_equal(failure.kind, AXO_FAILURE_DEATH_PACT);
    assert_int_equal(failure.site, AXO_SITE_RECEIVE);
    assert_int_equal(failure.root_kind, AXO_FAILURE_ORDINARY);
    assert_int_equal(failure.original_kind, AXO_FAILURE_NONE);
    assert_int_equal(failure.code, -7);
    assert_int_equal(failure.root_code, -7);
    assert_int_equal(failure.original_code, 0);
    assert_int_equal(failure.has_message, 1);
    assert_int_equal(failure.tag, AXO_TERMINATED);
    assert_int_equal(failure.has_status, 1);
    assert_true(failure.actor.bits == 11);
    assert_true(failure.about.bits == 12);
    assert_true(failure.sender.bits == 13);
    assert_true(axo_ref_is_none(failure.reporter));
    assert_string_equal(failure.text, "");
    assert_string_equal(failure.original_text, "");
    cause.site = AXO_SITE_POST_RESTART;
    cause.original_kind = AXO_FAILURE_KILLED;
    cause.original_code = INT32_MAX;
    failure = axo__cause_show(&world.texts, &cause);
    assert_int_equal(failure.original_kind, AXO_FAILURE_KILLED);
    assert_int_equal(failure.original_code, INT32_MAX);
    assert_int_equal(failure.has_message, 0);
    axo__cause_drop(&world.texts, &cause);
    world_close(&world);
}

/* Under a message, and not: what another callback left in its fields is not shown. */
static void a_message_is_shown_where_there_was_one(void **state)
{
    static const uint32_t tags[] = {0, 1, INT32_MAX, UINT32_C(0x80000000), AXO_TERMINATED,
                                    UINT32_MAX};
    cause_world world;
    world_open(&world);
    for (uint32_t i = 0; i < sizeof tags / sizeof tags[0]; i++) {
        axo__cause cause = {
            .kind = AXO_FAILURE_KILLED,
            .site = AXO_SITE_RECEIVE,
            .code = INT32_MIN,
            .tag = tags[i],
            .actor = {.bits = 11},
        };
        axo__cause_sent_by(&world.texts, &cause, (axo_ref){.bits = 12});
        axo__cause_short shortened = axo__cause_shorten(&cause);
        axo__cause again = axo__cause_of_short(&shortened, cause.actor);
        assert_memory_equal(&again, &cause, sizeof cause);
        axo_failure failure = axo__cause_show(&world.texts, &again);
        assert_int_equal(failure.has_message, 1);
        assert_int_equal(failure.tag, tags[i]);
        assert_true(failure.sender.bits == 12);
        assert_true(axo_ref_is_none(failure.about));
        assert_int_equal(failure.original_code, 0);
        assert_int_equal(failure.original_kind, AXO_FAILURE_NONE);
        cause.site = AXO_SITE_POST_RESTART;
        cause.original_kind = AXO_FAILURE_ORDINARY;
        cause.original_code = (int32_t)(0 - i);
        shortened = axo__cause_shorten(&cause);
        again = axo__cause_of_short(&shortened, cause.actor);
        assert_int_equal(again.original_code, (int32_t)(0 - i));
        assert_int_equal(again.original_kind, AXO_FAILURE_ORDINARY);
        failure = axo__cause_show(&world.texts, &cause);
        assert_int_equal(failure.has_message, 0);
        assert_int_equal(failure.tag, 0);
        assert_true(axo_ref_is_none(failure.sender));
        axo__cause_drop(&world.texts, &cause);
    }
    assert_int_equal(count_free(&world), TEXTS);
    world_close(&world);
}

/* The sender lies in the reserve: beside a text, in an empty one, or nowhere when that is spent. */
static void a_sender_takes_an_empty_text(void **state)
{
    cause_world world;
    world_open(&world);
    axo_ref sender = {.bits = 12};
    axo__cause cause = {.kind = AXO_FAILURE_KILLED, .site = AXO_SITE_RECEIVE};
    axo__cause_sent_by(&world.texts, &cause, axo_ref_none());
    assert_int_equal(cause.text, 0);
    axo__cause_sent_by(&world.texts, &cause, sender);
    assert_int_equal(count_free(&world), TEXTS - 1);
    strcpy(axo__texts_at(&world.texts, cause.text), "left");
    axo__cause_sent_by(&world.texts, &cause, sender); /* there is a text: no second one */
    assert_int_equal(count_free(&world), TEXTS - 1);
    axo__cause_drop(&world.texts, &cause);
    axo__cause all[TEXTS + 1];
    uint64_t before = lost(&world); /* count_free spends it, too */
    for (uint32_t i = 0; i <= TEXTS; i++) {
        all[i] = (axo__cause){.kind = AXO_FAILURE_KILLED, .site = AXO_SITE_RECEIVE};
        axo__cause_sent_by(&world.texts, &all[i], sender);
        axo_failure failure = axo__cause_show(&world.texts, &all[i]);
        assert_string_equal(failure.text, "");
        assert_true(failure.sender.bits == (i < TEXTS ? 12 : 0));
    }
    assert_int_equal(lost(&world) - before, 1);
    for (uint32_t i = 0; i <= TEXTS; i++)
        axo__cause_drop(&world.texts, &all[i]);
    assert_int_equal(count_free(&world), TEXTS);
    world_close(&world);
}

enum { HOLDERS = 4, TURNS = 20000 };

static void holder(void *arg, uint32_t index)
{
    axo__texts *texts = arg;
    for (int i = 0; i < TURNS; i++) {
        axo__cause cause = {.kind = AXO_FAILURE_ORDINARY,
                            .text = axo__texts_take(texts) & AXO__TEXT_MASK};
        if (cause.text != 0)
            memset(axo__texts_at(texts, cause.text), (int)index, AXO_FAILURE_TEXT_MAX);
        axo__cause copy = axo__cause_copy(texts, &cause);
        axo__cause_drop(texts, &cause);
        axo__cause_drop(texts, &copy);
    }
}

static void threads_share_the_reserve(void **state)
{
    cause_world world;
    world_open(&world);
    unit_run_threads(HOLDERS, holder, &world.texts);
    assert_int_equal(lost(&world), 0); /* never more than one each */
    assert_int_equal(count_free(&world), TEXTS);
    world_close(&world);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_spent_reserve_is_counted),
    cmocka_unit_test(a_copy_holds_its_texts),
    cmocka_unit_test(users_see_every_field),
    cmocka_unit_test(a_message_is_shown_where_there_was_one),
    cmocka_unit_test(a_sender_takes_an_empty_text),
    cmocka_unit_test(threads_share_the_reserve),
};
TEST_MAIN(tests)
