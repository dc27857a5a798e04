/* class_replace_test.c - what an actor is after its class was replaced: its state, its behaviour
 * and what it has; one that is suspended, broken, or has not begun; a migrate that fails. */
#include "class_replace.h"

/* ---- an actor goes on ---- */

static void state_is_carried_over(void **state)
{
    world w;
    world_begin(&w, (axo_options)AXO_OPTIONS());
    axo_ref actor = world_spawn(&w);
    world_send(&w, actor, ADD, 20);
    world_send(&w, actor, BECOME, 0);
    world_send(&w, actor, ADD, 1);
    world_run(&w);
    assert_true(world_is(&w, actor, "old"));
    world_send(&w, actor, ADD, 1); /* waits, and is handled by the old one or the new one */
    world_replaced(&w);
    assert_true(world_is(&w, actor, "new"));
    assert_int_equal(w.migrated, 1);
    assert_int_equal(w.begun[2], 0); /* nothing is constructed */
    world_run(&w);
    uint32_t sum = w.order[w.order_count - 1];
    assert_true(sum == 1027 || sum == 2027);
    world_has(&w, actor, 2, sum);
    world_end(&w);
    assert_int_equal(w.cleaned, 0);
}

static void state_stays_where_it_is(void **state)
{
    world w;
    world_begin(&w, (axo_options)AXO_OPTIONS());
    axo_ref actor = world_spawn(&w);
    world_send(&w, actor, BECOME, 0);
    world_send(&w, actor, ADD, 20);
    world_run(&w);
    assert_int_equal(world_replace(&w, &like_class, -1), AXO_OK);
    assert_true(world_is(&w, actor, "like"));
    world_has(&w, actor, 2, 1025); /* receive of the class, and no behaviour */
    world_end(&w);
}

static void what_it_has_goes_on(void **state)
{
    world w;
    world_begin(&w, (axo_options)AXO_OPTIONS());
    axo_ref actor = world_spawn(&w);
    world_send(&w, actor, OWN, 0);
    world_send(&w, actor, STASH, 0);
    world_send(&w, actor, TICK, 0);
    world_run(&w);
    world_replaced(&w);
    world_run(&w);
    assert_int_equal(w.cleaned, 0);
    w.now += 31 * MS; /* its timer: 5 more */
    world_run(&w);
    assert_int_equal(w.handled[2], 1);
    assert_int_equal(w.order[w.order_count - 1], 10);
    uint32_t before = w.handled[2];
    world_send(&w, actor, BACK, 0);
    world_run(&w);
    assert_int_equal(w.handled[2], before + 2); /* and stashes it again */
    world_end(&w);
    assert_int_equal(w.cleaned, 1); /* with the instance, and not before */
}

static void settle_that_was_asked_for(void **state)
{
    world w;
    world_begin(&w, (axo_options)AXO_OPTIONS());
    axo_ref actor = world_spawn(&w);
    world_send(&w, actor, SETTLE, 0);
    world_run(&w);
    assert_int_equal(w.settled[1], 1);
    world_replaced(&w); /* the new one has none */
    world_has(&w, actor, 2, 5);
    assert_int_equal(w.settled[1], 1);
    world_end(&w);
}

/* ---- failures ---- */

/* The restart waits for its time; what then ends is the new class's, and what begins. */
static void suspended_one_is_replaced(void **state)
{
    world w;
    world_begin(&w, (axo_options)AXO_OPTIONS());
    axo_ref actor = world_below(&w, &world_late);
    world_send(&w, actor, ADD, 20);
    world_send(&w, actor, FALL, 0);
    world_send(&w, actor, ADD, 1);
    world_run(&w);
    world_replaced(&w);
    assert_true(world_is(&w, actor, "new"));
    assert_int_equal(w.migrated, 1);
    assert_int_equal(w.restarted[1] + w.restarted[2] + w.begun[2], 0);
    w.now += 11 * SECOND;
    world_run(&w);
    assert_int_equal(w.restarted[2], 1);
    assert_int_equal(w.begun[2], 1);
    assert_int_equal(w.handled[2], 1); /* what waited behind the failure */
    world_has(&w, actor, 2, 6); /* args were copied */
    assert_int_equal(w.restarted[1], 0);
    world_end(&w);
}

/* A broken instance ends with its clean-ups; the restart comes at its time. */
static void broken_one_is_ended(void **state)
{
    world w;
    world_begin(&w, (axo_options)AXO_OPTIONS());
    axo_ref actor = world_below(&w, &world_late);
    world_send(&w, actor, OWN, 0);
    world_send(&w, actor, BREAK, 0);
    world_run(&w);
    assert_int_equal(w.cleaned, 0);
    world_replaced(&w);
    assert_int_equal(w.cleaned, 1);
    assert_int_equal(w.migrated, 0);
    assert_true(world_is(&w, actor, "new"));
    w.now += 11 * SECOND;
    world_run(&w);
    assert_int_equal(w.begun[1], 1);
    assert_int_equal(w.begun[2], 1);
    assert_int_equal(w.restarted[1] + w.restarted[2], 0); /* no hook of it */
    world_has(&w, actor, 2, 5);
    world_end(&w);
    assert_int_equal(w.cleaned, 1);
}

static void one_that_does_not_begin(void **state)
{
    world w;
    world_begin(&w, (axo_options)AXO_OPTIONS());
    w.begin_fails = UINT32_MAX;
    axo_ref actor = world_below(&w, &world_late);
    w.now += 11 * SECOND;
    world_run(&w);
    assert_int_equal(w.begun[1], 2);
    world_replaced(&w);
    w.now += 11 * SECOND;
    world_run(&w);
    assert_int_equal(w.begun[1], 2);
    assert_int_equal(w.begun[2], 1);
    world_has(&w, actor, 2, 5);
    world_end(&w);
}

/* Children of a broken instance may look at its memory until they have gone. */
static void broken_one_with_children(void **state)
{
    world w;
    world_begin(&w, (axo_options)AXO_OPTIONS());
    axo_ref actor = world_below(&w, &world_late);
    world_send(&w, actor, OWN, 0);
    world_send(&w, actor, MAKE, 0);
    world_send(&w, actor, BREAK, 0);
    world_run(&w);
    assert_int_equal(world_replace(&w, &new_class, 0), AXO_ETIMEDOUT);
    world_run(&w);
    assert_int_equal(world_replace(&w, &new_class, 20 * MS), AXO_ETIMEDOUT);
    assert_int_equal(w.cleaned, 0);
    assert_true(world_is(&w, actor, "old") && world_is(&w, w.born, "new"));
    w.now += 11 * SECOND;
    world_replaced(&w);
    assert_int_equal(w.cleaned, 1);
    world_run(&w);
    assert_int_equal(w.migrated, 1); /* the child */
    assert_int_equal(w.begun[1], 2); /* both, at first */
    world_has(&w, actor, 2, 5);
    world_end(&w);
}

static void migrate_fails(bool crashes)
{
    world w;
    world_begin(&w, (axo_options)AXO_OPTIONS());
    axo_ref good = world_spawn(&w);
    axo_ref bad = world_below(&w, &world_strategy);
    world_send(&w, bad, ADD, 20);
    world_send(&w, good, ADD, 20);
    world_run(&w);
    w.migrate_fails = 1;
    w.migrate_crashes = crashes;
    world_send(&w, bad, OWN, 0);
    world_send(&w, good, OWN, 0);
    world_run(&w);
    world_replaced(&w);
    world_run(&w);
    /* the older one fails, below /user or below the parent: one of them has begun anew */
    assert_int_equal(w.cleaned, 1);
    assert_int_equal(w.begun[2], 1);
    assert_true(world_is(&w, bad, "new") && world_is(&w, good, "new"));
    uint32_t before = w.order_count;
    world_send(&w, bad, ADD, 1);
    world_send(&w, good, ADD, 1);
    world_run(&w);
    assert_int_equal(w.order[before] + w.order[before + 1], 6 + 26);
    world_end(&w);
    assert_int_equal(w.cleaned, 2);
}

static void migrate_that_fails(void **state)
{
    migrate_fails(false);
}

static void migrate_that_throws(void **state)
{
    migrate_fails(true);
}

static void migrate_that_fails_has_a_site(void **state)
{
    world w;
    world_begin(&w, (axo_options)AXO_OPTIONS());
    axo_ref actor = world_below(&w, &world_late);
    w.migrate_fails = 1;
    world_replaced(&w); /* without the restart */
    assert_int_equal(w.site, AXO_SITE_MIGRATE);
    assert_true(world_is(&w, actor, "new"));
    assert_int_equal(w.begun[2], 0);
    w.now += 11 * SECOND;
    world_run(&w);
    assert_int_equal(w.begun[2], 1);
    world_has(&w, actor, 2, 5);
    world_end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(state_is_carried_over),
        cmocka_unit_test(state_stays_where_it_is),
        cmocka_unit_test(what_it_has_goes_on),
        cmocka_unit_test(settle_that_was_asked_for),
        cmocka_unit_test(suspended_one_is_replaced),
        cmocka_unit_test(broken_one_is_ended),
        cmocka_unit_test(one_that_does_not_begin),
        cmocka_unit_test(broken_one_with_children),
        cmocka_unit_test(migrate_that_fails),
        cmocka_unit_test(migrate_that_throws),
        cmocka_unit_test(migrate_that_fails_has_a_site),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
