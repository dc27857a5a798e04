/* name_test.c - names of children: which are allowed, unique among siblings, free again, races. */
#include "unit/unit.h"

#include <stdio.h>

#include "cell/name.h"

typedef struct name_world {
    axo__heap heap;
    unit_memory memory;
    axo__names names;
} name_world;

static const axo__moment never = {NULL, 0};

static axo_status check(const char *text)
{
    size_t at;
    return axo__name_check(text, &at);
}

static axo_ref find(axo__names *names, axo_ref parent, const char *text)
{
    return axo__names_find(names, parent, text, strlen(text));
}

static void give(axo__names *names, axo__name *name)
{
    axo__names_unlink(names, name);
    axo__names_free(names, name);
}

static const axo_ref p1 = {.bits = 0x1000001};
static const axo_ref p2 = {.bits = 0x1000002};

static void world_open(name_world *world)
{
    memset(world, 0, sizeof *world);
    unit_heap(&world->heap, &world->memory, UINT64_MAX);
    assert_true(axo__names_init(&world->names, &world->heap, 1));
}

static void world_close(name_world *world)
{
    axo__names_fini(&world->names);
    unit_heap_empty(&world->heap);
}

static void which_names_are_allowed(void **state)
{
    static const char *const good[] = {"a", "Z9", "a_b.c~d+e=f@g:h-i", "...", ".a", "-"};
    static const char *const bad[] = {"",  ".",  "..", "a/b",  "/",       " ",
                                      "$", "$a", "a b", "a\n", "\xc3\xa4", "a%b"};
    char text[AXO_NAME_MAX + 2];
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        assert_int_equal(check(good[i]), AXO_OK);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(check(bad[i]), AXO_ENAME);
    memset(text, 'x', sizeof text);
    text[AXO_NAME_MAX + 1] = 0;
    assert_int_equal(check(text), AXO_ENAME);
    text[AXO_NAME_MAX] = 0;
    assert_int_equal(check(text), AXO_OK);
}

/* Every single byte: the header's list, and nothing else. */
static void every_byte(void **state)
{
    static const char others[] = "_.~+=@:-";
    for (int c = 1; c < 256; c++) {
        char text[3] = {'a', (char)c, 0};
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        bool good = letter || strchr(others, c) != NULL;
        assert_int_equal(check(text), good ? AXO_OK : AXO_ENAME);
    }
}

static void unique_among_siblings_only(void **state)
{
    name_world world;
    axo__name *one, *other, *second;
    world_open(&world);
    axo__names *names = &world.names;
    assert_true(axo_ref_is_none(find(names, p1, "a")));
    assert_int_equal(axo__names_take(names, p1, "a", never, &one), AXO_OK);
    assert_int_equal(axo__names_take(names, p1, "a", never, &second), AXO_EEXIST);
    assert_null(second);
    assert_int_equal(axo__names_take(names, p2, "a", never, &other), AXO_OK);
    assert_true(axo_ref_is_none(find(names, p1, "a")));
    axo__names_bind(names, one, (axo_ref){.bits = 77});
    assert_true(find(names, p1, "a").bits == 77);
    assert_true(axo_ref_is_none(find(names, p2, "a")));
    axo__names_unlink(names, one);
    assert_true(axo_ref_is_none(find(names, p1, "a")));
    assert_int_equal(axo__names_take(names, p1, "a", never, &second), AXO_OK); /* ST-17 */
    assert_string_equal(one->text, "a"); /* for those who look at it still */
    axo__names_free(names, one);
    assert_int_equal(axo__names_take(names, p1, "a", never, &one), AXO_EEXIST);
    give(names, second);
    give(names, other);
    world_close(&world);
}

/* NM-05 */
static void the_first_wrong_byte(void **state)
{
    static const struct {
        const char *text;
        size_t at;
    } bad[] = {{"", 0}, {".", 0}, {"..", 0}, {"$a", 0}, {"a$", 1}, {"ab/c", 2}, {"a%20", 1},
               {"a b c", 1}, {"abc\xc3\xa4", 3}};
    char text[AXO_NAME_MAX + 3];
    size_t at;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        at = 99;
        assert_int_equal(axo__name_check(bad[i].text, &at), AXO_ENAME);
        assert_int_equal(at, bad[i].at);
    }
    memset(text, 'x', sizeof text);
    text[AXO_NAME_MAX + 2] = 0;
    assert_int_equal(axo__name_check(text, &at), AXO_ENAME);
    assert_int_equal(at, AXO_NAME_MAX);
    text[3] = ' ';
    assert_int_equal(axo__name_check(text, &at), AXO_ENAME);
    assert_int_equal(at, 3);
}

/* ST-17: free as soon as the child has ended, but not to the callback that told it to. */
static void an_ended_name_is_free(void **state)
{
    name_world world;
    axo__name *one, *second, *third;
    axo__moment now = {.who = &world, .when = 1};
    axo__moment later = {.who = &world, .when = 2};
    axo__moment elsewhere = {.who = &one, .when = 1};
    world_open(&world);
    axo__names *names = &world.names;
    assert_int_equal(axo__names_take(names, p1, "a", now, &one), AXO_OK);
    axo__names_bind(names, one, (axo_ref){.bits = 1});
    assert_int_equal(axo__names_take(names, p1, "a", later, &second), AXO_EEXIST);
    one->seen = now;
    axo__names_end(names, one);
    assert_true(axo_ref_is_none(find(names, p1, "a")));
    assert_int_equal(axo__names_take(names, p1, "a", now, &second), AXO_EEXIST);
    assert_int_equal(axo__names_take(names, p1, "a", later, &second), AXO_OK);
    assert_true(axo_ref_is_none(find(names, p1, "a")));
    axo__names_bind(names, second, (axo_ref){.bits = 2});
    give(names, one); /* the parent comes late: the new one stays */
    assert_true(find(names, p1, "a").bits == 2);
    assert_int_equal(axo__names_take(names, p1, "a", now, &third), AXO_EEXIST);
    second->seen = now;
    axo__names_end(names, second);
    assert_int_equal(axo__names_take(names, p1, "a", elsewhere, &third), AXO_OK);
    give(names, second);
    axo__names_end(names, third);
    assert_int_equal(axo__names_take(names, p1, "a", never, &one), AXO_OK);
    give(names, one); /* replaced and unlinked in any order */
    give(names, third);
    world_close(&world);
}

static void many_names_are_all_found(void **state)
{
    enum { MANY = 20000 };
    static axo__name *taken[MANY];
    name_world world;
    char text[32];
    world_open(&world);
    for (uint64_t i = 0; i < MANY; i++) {
        (void)snprintf(text, sizeof text, "n%u", (unsigned)i);
        assert_int_equal(axo__names_take(&world.names, p1, text, never, &taken[i]), AXO_OK);
        axo__names_bind(&world.names, taken[i], (axo_ref){.bits = i + 1});
    }
    for (uint64_t i = 0; i < MANY; i += 2) {
        give(&world.names, taken[i]);
    }
    for (uint64_t i = 0; i < MANY; i++) {
        (void)snprintf(text, sizeof text, "n%u", (unsigned)i);
        uint64_t expected = i % 2 == 0 ? 0 : i + 1;
        assert_true(find(&world.names, p1, text).bits == expected);
    }
    for (uint64_t i = 1; i < MANY; i += 2) {
        give(&world.names, taken[i]);
    }
    world_close(&world);
}

/* Whatever is missing, the name is not taken; once there are buckets, growing them may fail. */
static void no_memory_changes_nothing(void **state)
{
    name_world world;
    axo__name *name;
    world_open(&world);
    for (uint64_t budget = 0; budget < 2; budget++) {
        axo__a64_store_relaxed(&world.memory.budget, budget);
        assert_int_equal(axo__names_take(&world.names, p1, "a", never, &name), AXO_ENOMEM);
        assert_null(name);
        unit_heap_empty(&world.heap);
    }
    axo__a64_store_relaxed(&world.memory.budget, 2);
    assert_int_equal(axo__names_take(&world.names, p1, "a", never, &name), AXO_OK);
    give(&world.names, name);
    world_close(&world);
}

enum { RACERS = 4, RACES = 5000 };

typedef struct race {
    axo__names *names;
    axo__a32 won[RACES];
    axo__a32 wrong;
} race;

static void race_thread(void *arg, uint32_t index)
{
    race *shared = arg;
    char text[32];
    for (uint32_t i = 0; i < RACES; i++) {
        axo__name *name;
        (void)snprintf(text, sizeof text, "r%u", i % 7);
        axo_status status = axo__names_take(shared->names, p1, text, never, &name);
        if (status == AXO_EEXIST)
            continue;
        if (status != AXO_OK || axo__a32_xchg_acq_rel(&shared->won[i % 7], 1) != 0) {
            (void)axo__a32_add_relaxed(&shared->wrong, 1);
            continue;
        }
        axo__names_bind(shared->names, name, (axo_ref){.bits = index + 1});
        if (find(shared->names, p1, text).bits != index + 1)
            (void)axo__a32_add_relaxed(&shared->wrong, 1);
        (void)axo__a32_xchg_acq_rel(&shared->won[i % 7], 0);
        give(shared->names, name);
    }
}

static void one_of_many_gets_a_name(void **state)
{
    static race shared;
    name_world world;
    world_open(&world);
    shared.names = &world.names;
    unit_run_threads(RACERS, race_thread, &shared);
    assert_int_equal(axo__a32_load_relaxed(&shared.wrong), 0);
    world_close(&world);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(which_names_are_allowed),
    cmocka_unit_test(every_byte),
    cmocka_unit_test(unique_among_siblings_only),
    cmocka_unit_test(the_first_wrong_byte),
    cmocka_unit_test(an_ended_name_is_free),
    cmocka_unit_test(many_names_are_all_found),
    cmocka_unit_test(no_memory_changes_nothing),
    cmocka_unit_test(one_of_many_gets_a_name),
};
TEST_MAIN(tests)
