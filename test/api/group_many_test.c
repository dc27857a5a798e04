/* group_many_test.c - one message to each of many actors through a group: what counts, and what is
 * refused. */
#include "group_many_world.h"

/* ---- what counts ---- */

static void each_counts_until_it_is_handled(void **state)
{
    many_world w;
    axo_options options = AXO_OPTIONS(.manual = 1, .quantum = 1, .no_quantum_us = 1);
    uint64_t turns;
    (void)state;
    many_begin(&w, &options);
    many_people(&w);
    assert_int_equal(axo_run_host(w.system, -1, NULL), AXO_OK);
    assert_int_equal(axo_group_send(w.group, w.refs[0], NOTE, NULL, 0), AXO_OK);
    assert_int_equal(many_to(&w, w.refs, MANY), AXO_OK);
    assert_int_equal(w.accepted, MANY);
    assert_int_equal(w.notes, 0); /* the call runs nobody */
    while (w.notes < MANY + 1) {
        assert_int_equal(axo_group_count(w.group), MANY + 1 - w.notes);
        assert_int_equal(axo_group_free(w.group), AXO_EBUSY);
        assert_int_equal(axo_step_host(w.system, 1, &turns), AXO_OK);
        assert_int_equal(turns, 1);
    }
    assert_int_equal(axo_group_count(w.group), 0);
    many_end(&w);
}

static void any_number_of_them(void **state)
{
    many_world w;
    uint32_t sum = 0;
    (void)state;
    many_manual(&w);
    assert_int_equal(many_to(&w, NULL, 0), AXO_OK);
    assert_int_equal(w.accepted, 0);
    assert_int_equal(many_to(&w, w.refs, 0), AXO_OK);
    assert_int_equal(axo_group_count(w.group), 0);
    for (uint32_t n = 1; n < 200; n++) {
        assert_int_equal(axo_group_send_many(w.group, w.refs, n, NOTE, n % 2 ? words : NULL,
                                             n % 2 ? sizeof words : 0, NULL),
                         AXO_OK);
        sum += n;
        assert_int_equal(axo_group_count(w.group), n);
        many_wait(&w, AXO_GROUP_HELP);
        assert_int_equal(w.notes, sum);
    }
    many_end(&w);
}

static void the_dead_are_told_and_count_no_more(void **state)
{
    many_world w;
    (void)state;
    many_manual(&w);
    for (uint32_t i = 0; i < MANY; i += 3)
        assert_int_equal(axo_system_stop_actor(w.system, w.refs[i]), AXO_OK);
    assert_int_equal(axo_run_host(w.system, -1, NULL), AXO_OK);
    assert_int_equal(many_to(&w, w.refs, MANY), AXO_EGONE);
    assert_int_equal(w.accepted, MANY - (MANY + 2) / 3);
    assert_int_equal(w.here, (MANY + 2) / 3);
    assert_int_equal(axo_group_count(w.group), w.accepted);
    many_wait(&w, AXO_GROUP_HELP);
    assert_int_equal(w.notes, w.accepted);
    many_end(&w);
}

static void who_refuses_holds_up_nobody(void **state)
{
    static const axo_mailbox narrow =
        AXO_MAILBOX(.overflow = AXO_OVERFLOW_REFUSE, .messages_max = 1);
    many_world w;
    (void)state;
    many_manual(&w);
    axo_ref full = many_spawn(&w, &narrow, AXO_DISPATCH_DEFAULT);
    w.refs[10] = w.refs[500] = w.refs[MANY - 1] = full;
    assert_int_equal(many_to(&w, w.refs, MANY), AXO_EFULL);
    assert_int_equal(w.accepted, MANY - 2);
    assert_int_equal(axo_group_count(w.group), MANY - 2);
    many_wait(&w, AXO_GROUP_HELP);
    assert_int_equal(w.notes, MANY - 2);
    assert_int_equal(axo_system_stop_actor(w.system, w.refs[600]), AXO_OK);
    assert_int_equal(axo_run_host(w.system, -1, NULL), AXO_OK);
    assert_int_equal(many_to(&w, w.refs + 500, MANY - 500), AXO_EGONE); /* the first of the two */
    assert_int_equal(w.accepted, MANY - 502);
    many_wait(&w, AXO_GROUP_HELP);
    many_end(&w);
}

/* A mailbox that parks its senders refuses them, as they are no actors; in a callback too. */
static void nobody_is_parked_by_it(void **state)
{
    static const axo_mailbox parks = AXO_MAILBOX(.overflow = AXO_OVERFLOW_PARK, .messages_max = 1);
    many_world w;
    (void)state;
    many_manual(&w);
    axo_ref full = many_spawn(&w, &parks, AXO_DISPATCH_DEFAULT);
    for (uint32_t i = 1; i < MANY; i += 100)
        w.refs[i] = full;
    assert_int_equal(many_to(&w, w.refs, MANY), AXO_EFULL);
    assert_int_equal(w.accepted, MANY - 9);
    many_wait(&w, AXO_GROUP_HELP);
    assert_int_equal(axo_system_send(w.system, w.refs[0], SEND_MANY, NULL, 0), AXO_OK);
    assert_int_equal(axo_run_host(w.system, -1, NULL), AXO_OK);
    assert_int_equal(w.status, AXO_EFULL);
    assert_int_equal(w.accepted, MANY - 9);
    assert_int_equal(w.done, 1);
    many_end(&w);
}

static void as_long_as_it_is_stashed_and_no_longer(void **state)
{
    many_world w;
    (void)state;
    many_manual(&w);
    assert_int_equal(axo_group_send_many(w.group, w.refs, MANY, HOLD, words, sizeof words, NULL),
                     AXO_OK);
    assert_int_equal(axo_run_host(w.system, -1, NULL), AXO_OK);
    assert_int_equal(axo_group_count(w.group), MANY);
    for (uint32_t i = 0; i < MANY - 1; i++) {
        assert_int_equal(axo_system_stop_actor(w.system, w.refs[i]), AXO_OK);
        assert_int_equal(axo_run_host(w.system, -1, NULL), AXO_OK);
        assert_int_equal(axo_group_count(w.group), MANY - 1 - i);
    }
    many_end(&w); /* one is left for the shutdown */
}

/* ---- memory ---- */

/* Whichever block is refused: those that are told as accepted are handled, and no others. */
static void what_memory_refuses_is_told(void **state)
{
    many_world w;
    uint32_t failed = 0;
    (void)state;
    axo_options options = AXO_OPTIONS(.manual = 1, .allocator = {.alloc = many_alloc,
                                                                 .free = many_free,
                                                                 .user = &w});
    many_begin(&w, &options);
    many_people(&w);
    assert_int_equal(axo_run_host(w.system, -1, NULL), AXO_OK);
    for (int64_t n = 0; failed < n + 1; n++) {
        uint32_t before = w.notes;
        w.blocks_left = n;
        w.refuses = true;
        axo_status status = many_to(&w, w.refs, MANY);
        w.refuses = false;
        failed += status != AXO_OK;
        assert_int_equal(status, w.accepted == MANY ? AXO_OK : AXO_ENOMEM);
        assert_int_equal(axo_group_count(w.group), w.accepted);
        if (n == 0)
            assert_int_equal(w.accepted, 0);
        many_wait(&w, AXO_GROUP_HELP);
        assert_int_equal(w.notes, before + w.accepted);
        if (status == AXO_OK)
            break;
    }
    assert_in_range(failed, 2, 1000);
    many_end(&w);
}

/* ---- bad input ---- */

static void bad_input_changes_nothing(void **state)
{
    many_world w;
    uint32_t accepted = 7;
    (void)state;
    many_manual(&w);
    assert_int_equal(axo_group_send_many(NULL, w.refs, 1, NOTE, NULL, 0, &accepted), AXO_EINVAL);
    assert_int_equal(accepted, 0);
    assert_int_equal(axo_group_send_many(NULL, NULL, 0, NOTE, NULL, 0, NULL), AXO_EINVAL);
    assert_int_equal(axo_group_send_many(w.group, NULL, 1, NOTE, NULL, 0, NULL), AXO_EINVAL);
    assert_int_equal(many_to(&w, NULL, 3), AXO_EINVAL);
    assert_int_equal(w.accepted, 0);
    assert_int_equal(axo_group_send_many(w.group, w.refs, 0, AXO_TAG_RESERVED, NULL, 0, NULL),
                     AXO_EINVAL);
    assert_int_equal(axo_group_send_many(w.group, w.refs, 2, AXO_TAG_RESERVED, NULL, 0, NULL),
                     AXO_EINVAL);
    assert_int_equal(axo_group_send_many(w.group, w.refs, 2, NOTE, NULL, 1, NULL), AXO_EINVAL);
    assert_int_equal(axo_group_send_many(w.group, w.refs, 2, NOTE, "", AXO_PAYLOAD_MAX + 1, NULL),
                     AXO_ETOOBIG);
    w.refs[MANY - 1] = axo_ref_none();
    assert_int_equal(many_to(&w, w.refs, MANY), AXO_EINVAL);
    assert_int_equal(w.accepted, 0);
    assert_int_equal(axo_group_count(w.group), 0);
    assert_int_equal(axo_run_host(w.system, -1, NULL), AXO_OK);
    assert_int_equal(w.notes, 0);
    many_end(&w);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(each_counts_until_it_is_handled),
    cmocka_unit_test(any_number_of_them),
    cmocka_unit_test(the_dead_are_told_and_count_no_more),
    cmocka_unit_test(who_refuses_holds_up_nobody),
    cmocka_unit_test(nobody_is_parked_by_it),
    cmocka_unit_test(as_long_as_it_is_stashed_and_no_longer),
    cmocka_unit_test(what_memory_refuses_is_told),
    cmocka_unit_test(bad_input_changes_nothing),
};

TEST_MAIN(tests)
