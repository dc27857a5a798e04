/* member_test.c - one member, call by call: who is up and who is down; tools/cluster/member.h. */
#include "seat.h"

static void joins_and_renews(void **unused)
{
    cluster_member_settings settings = seat_settings();
    seat *s = seat_open(&settings);
    seat_step(s);
    seat_store(s, CLUSTER_STORE_LISTS);
    seat_step(s);
    assert_int_equal(s->puts + s->beats, 0); /* not before it has seen who is there */
    seat_store(s, CLUSTER_STORE_IS_THERE);
    seat_step(s);
    assert_int_equal(s->puts, 1);
    assert_int_equal(s->put.phase, CLUSTER_JOINING);
    assert_int_equal(s->put.revision, 0);
    assert_int_equal(s->put.node.incarnation, SELF);
    s->now += 100 * MS;
    seat_step(s);
    assert_int_equal(s->puts, 1); /* one at a time */
    seat_taken(s);
    seat_step(s);
    assert_int_equal(s->puts, 2);
    assert_int_equal(s->put.phase, CLUSTER_UP);
    assert_int_equal(s->put.revision, 1);
    assert_int_equal(s->beats, 1);
    seat_taken(s);
    assert_int_equal(s->member.phase, CLUSTER_UP);
    int64_t put_at = s->now;
    seat_renews(s);
    assert_int_equal(s->now - put_at, LEASE / 3);
    assert_int_equal(s->put.revision, 2);
    assert_int_equal(s->beats, 4);
    seat_close(s);
}

static void up_by_entry_and_heartbeat(void **unused)
{
    cluster_member_settings settings = seat_settings();
    seat *s = seat_open(&settings);
    axo_node a = node_of('a', 1);
    seat_store(s, CLUSTER_STORE_LISTS);
    seat_entry(s, 'a', 1, CLUSTER_UP);
    seat_heard(s, 'a', 1, 1);
    seat_store(s, CLUSTER_STORE_IS_THERE);
    seat_heard(s, 'a', 1, 2);
    told(s, ""); /* this node is not UP */
    seat_renews(s);
    seat_heard(s, 'a', 1, 3);
    seat_renews(s);
    told(s, "");
    seat_heard(s, 'a', 1, 3);
    told(s, ""); /* repeated */
    seat_heard(s, 'a', 1, 4);
    told(s, "+a1");
    assert_true(cluster_member_is_up(&s->member, &a));
    seat_heard(s, 'b', 1, 1); /* nobody knows it */
    seat_entry(s, 'b', 1, CLUSTER_JOINING);
    seat_heard(s, 'b', 1, 2);
    told(s, "");
    seat_entry(s, 'b', 1, CLUSTER_UP);
    told(s, "");
    seat_heard(s, 'b', 2, 9); /* another */
    told(s, "");
    seat_heard(s, 'b', 1, 3);
    told(s, "+b1");
    seat_close(s);
}

static void nobody_comes_up_without_a_store(void **unused)
{
    cluster_member_settings settings = seat_settings();
    seat *s = seat_join(&settings);
    seat_meets(s, 'a', 1);
    told(s, "+a1");
    seat_entry(s, 'b', 1, CLUSTER_UP);
    seat_store(s, CLUSTER_STORE_AWAY);
    seat_goes_on(s, 5 * LEASE, "ab");
    told(s, ""); /* a stays up, b does not come up */
    seat_goes_on(s, 3 * BEAT, "");
    told(s, "");
    seat_goes_on(s, 5 * BEAT, "");
    told(s, "-a1:suspected");
    seat_close(s);
}

static void suspected_and_never_again(void **unused)
{
    cluster_member_settings settings = seat_settings();
    seat *s = seat_join(&settings);
    axo_node a = node_of('a', 1);
    seat_meets(s, 'a', 1);
    seat_goes_on(s, 3 * BEAT, "a");
    told(s, "+a1");
    seat_goes_on(s, 3 * BEAT, "");
    told(s, "");
    seat_goes_on(s, 4 * BEAT, "");
    told(s, "-a1:suspected");
    seat_entry(s, 'a', 1, CLUSTER_UP);
    seat_goes_on(s, 3 * BEAT, "a");
    told(s, "");
    assert_false(cluster_member_is_up(&s->member, &a));
    seat_meets(s, 'a', 2); /* its next life */
    told(s, "+a2");
    seat_close(s);
}

/* A late heartbeat with a number that was before is no sign of life. */
static void old_numbers_say_nothing(void **unused)
{
    cluster_member_settings settings = seat_settings();
    seat *s = seat_join(&settings);
    seat_meets(s, 'a', 1);
    seat_heard(s, 'a', 1, 50);
    for (uint64_t i = 2; i < 10; i++) {
        s->now += BEAT;
        seat_heard(s, 'a', 1, 50 - i);
        seat_step(s);
    }
    told(s, "+a1 -a1:suspected");
    seat_close(s);
}

static void a_stop_counts_against_nobody(void **unused)
{
    cluster_member_settings settings = seat_settings();
    seat *s = seat_join(&settings);
    seat_meets(s, 'a', 1);
    seat_goes_on(s, 2 * BEAT, "a");
    seat_meets(s, 'b', 1);
    s->now += 10 * LEASE; /* of this process */
    seat_step(s);
    seat_step(s);
    seat_goes_on(s, 3 * BEAT, "a");
    told(s, "+a1 +b1");
    seat_goes_on(s, 4 * BEAT, "a"); /* and b's silence is one, from then on */
    told(s, "-b1:suspected");
    seat_close(s);
}

/* One that is slow at each step finds the dead all the same. */
static void slow_steps_suspect_too(void **unused)
{
    cluster_member_settings settings = seat_settings();
    seat *s = seat_join(&settings);
    seat_meets(s, 'a', 1);
    for (uint32_t i = 0; i < 10; i++) {
        s->now += 3 * BEAT;
        seat_step(s);
    }
    told(s, "+a1 -a1:suspected");
    seat_close(s);
}

static void leases_by_own_revisions(void **unused)
{
    cluster_member_settings settings = seat_settings();
    seat *s = seat_join(&settings);
    seat_meets(s, 'a', 1);
    seat_goes_on(s, 3 * BEAT, "a");
    seat_taken(s); /* the watch is late */
    seat_goes_on(s, 2 * LEASE, "a");
    told(s, "+a1");
    seat_entry_at(s, 'm', SELF, CLUSTER_UP, s->revision);
    seat_taken(s);
    seat_entry_at(s, 'm', SELF, CLUSTER_UP, s->revision); /* put before the lease was over */
    told(s, "");
    seat_renews(s);
    told(s, "-a1:expired");
    seat_close(s);
}

static void leases_are_renewed_by_revisions(void **unused)
{
    cluster_member_settings settings = seat_settings();
    seat *s = seat_join(&settings);
    seat_meets(s, 'a', 1);
    for (uint32_t i = 0; i < 12; i++) {
        seat_renews(s);
        seat_heard(s, 'a', 1, 10 + i);
        if (i < 6)
            seat_entry(s, 'a', 1, CLUSTER_UP);
        if (i == 7)
            told(s, "+a1");
    }
    told(s, "-a1:expired");
    seat_close(s);
}

static void reasons_to_go_down(void **unused)
{
    cluster_member_settings settings = seat_settings();
    seat *s = seat_join(&settings);
    axo_node d = node_of('d', 1);
    for (char name = 'a'; name < 'e'; name++)
        seat_meets(s, name, 1);
    told(s, "+a1 +b1 +c1 +d1");
    seat_entry(s, 'a', 1, CLUSTER_LEAVING);
    seat_renews(s);
    assert_int_equal(s->removals, 0); /* it goes by itself */
    seat_gone(s, 'a', CLUSTER_GONE_REMOVED);
    told(s, "-a1:left");
    seat_entry(s, 'b', 2, CLUSTER_UP);
    told(s, "-b1:replaced");
    seat_heard(s, 'b', 1, 9);
    seat_heard(s, 'b', 2, 1);
    told(s, "+b2");
    seat_entry_at(s, 'b', 1, CLUSTER_UP, s->revision - 2); /* late */
    told(s, "");
    seat_gone(s, 'c', CLUSTER_GONE_EXPIRED);
    told(s, ""); /* which is found by its lease */
    axo_node c = node_of('c', 1);
    cluster_member_gone(&s->member, s->now, c.name, 1, CLUSTER_GONE_REMOVED);
    told(s, ""); /* of before its entry */
    seat_gone(s, 'c', CLUSTER_GONE_REMOVED);
    told(s, "-c1:evicted");
    cluster_member_lost(&s->member, s->now, &d);
    cluster_member_lost(&s->member, s->now, &d);
    told(s, "-d1:lost");
    seat_entry(s, 'e', 1, CLUSTER_LEAVING);
    seat_meets(s, 'e', 1);
    told(s, ""); /* one that leaves does not come up */
    seat_entry(s, 'f', 1, CLUSTER_UP);
    seat_gone(s, 'f', CLUSTER_GONE_REMOVED);
    seat_heard(s, 'f', 1, 1);
    told(s, ""); /* nor one whose entry is gone */
    seat_close(s);
}

static void what_became_of_a_put(void **unused)
{
    cluster_member_settings settings = seat_settings();
    seat *s = seat_join(&settings);
    s->now += LEASE / 3;
    seat_step(s);
    seat_meets(s, 'a', 1);
    s->revision--; /* which is no revision of the own entry */
    seat_answer(s, CLUSTER_UNKNOWN);
    seat_step(s);
    assert_int_equal(s->puts, 3); /* not at once */
    s->now += BEAT;
    seat_step(s);
    assert_int_equal(s->puts, 4);
    assert_int_equal(s->put.revision, 2);
    seat_answer(s, CLUSTER_UNKNOWN);
    seat_entry(s, 'm', SELF, CLUSTER_UP); /* it was taken */
    assert_int_equal(s->member.revision, 3);
    s->now += LEASE / 3;
    seat_step(s);
    assert_int_equal(s->put.revision, 3);
    cluster_entry there = s->put;
    there.revision = s->revision = 4;
    cluster_member_answer(&s->member, s->now, CLUSTER_REFUSED, &there);
    assert_int_equal(s->member.revision, 4);
    seat_entry(s, 'm', SELF, CLUSTER_UP);
    assert_int_equal(s->member.revision, 5);
    told(s, "+a1");
    seat_close(s);
}

/* An entry that came of one of many puts may be of the first. */
static void a_lease_by_the_first_of_many_puts(void **unused)
{
    cluster_member_settings settings = seat_settings();
    seat *s = seat_join(&settings);
    seat_meets(s, 'a', 1);
    for (int64_t end = s->now + 2 * LEASE; s->now < end;) {
        seat_goes_on(s, BEAT, "a");
        if (s->member.under_way)
            seat_answer(s, CLUSTER_UNKNOWN);
    }
    assert_true(s->puts > 10);
    seat_entry(s, 'm', SELF, CLUSTER_UP);
    told(s, "+a1");
    seat_renews(s);
    told(s, "-a1:expired");
    seat_close(s);
}

/* The list is of one moment; what stands behind the own entry is not older. */
static void no_lease_runs_out_in_a_list(void **unused)
{
    cluster_member_settings settings = seat_settings();
    seat *s = seat_join(&settings);
    seat_meets(s, 'a', 1);
    seat_goes_on(s, 3 * BEAT, "a");
    seat_taken(s);
    seat_goes_on(s, 2 * LEASE, "a");
    seat_taken(s);
    seat_goes_on(s, BEAT, "a");
    seat_taken(s); /* the watch was silent all the time */
    seat_store(s, CLUSTER_STORE_AWAY);
    seat_store(s, CLUSTER_STORE_LISTS);
    seat_entry_at(s, 'm', SELF, CLUSTER_UP, s->revision);
    seat_entry(s, 'a', 1, CLUSTER_UP);
    seat_store(s, CLUSTER_STORE_IS_THERE);
    seat_renews(s);
    told(s, "+a1");
    seat_close(s);
}

static void leaves(void **unused)
{
    cluster_member_settings settings = seat_settings();
    seat *s = seat_join(&settings);
    cluster_member_leave(&s->member, s->now);
    seat_step(s);
    assert_int_equal(s->put.phase, CLUSTER_LEAVING);
    told(s, "");
    seat_taken(s);
    told(s, "over:left");
    assert_int_equal(s->removals, 1);
    assert_int_equal(s->removed.revision, s->revision);
    seat_close(s);
    s = seat_join(&settings);
    seat_store(s, CLUSTER_STORE_AWAY);
    cluster_member_leave(&s->member, s->now);
    seat_goes_on(s, LEASE - BEAT, "");
    told(s, "");
    seat_goes_on(s, BEAT, "");
    told(s, "over:left");
    seat_close(s);
    s = seat_open(&settings);
    cluster_member_leave(&s->member, s->now);
    told(s, "over:left");
    seat_close(s);
}

static void full_table(void **unused)
{
    cluster_member_settings settings = seat_settings();
    seat *s = seat_join(&settings);
    axo_node first = {.name = "n1", .incarnation = 1};
    axo_node second = {.name = "n2", .incarnation = 2};
    for (uint32_t i = 1; i <= AXO_NODES_MAX + 1; i++) {
        cluster_entry entry = {.phase = CLUSTER_UP, .revision = ++s->revision};
        (void)snprintf(entry.node.name, sizeof entry.node.name, "n%u", i);
        entry.node.incarnation = i;
        cluster_member_entry(&s->member, s->now, &entry);
        cluster_member_heard(&s->member, s->now, &entry.node, 1);
        assert_int_equal(cluster_member_is_up(&s->member, &entry.node), i <= AXO_NODES_MAX);
        s->text[0] = 0;
    }
    assert_int_equal(s->no_rooms, 1);
    cluster_member_lost(&s->member, s->now, &first);
    cluster_member_lost(&s->member, s->now, &second);
    s->text[0] = 0;
    seat_entry(s, 'q', 1, CLUSTER_UP);
    assert_int_equal(s->no_rooms, 2); /* that has its entry yet, and is remembered */
    cluster_member_gone(&s->member, s->now, first.name, ++s->revision, CLUSTER_GONE_REMOVED);
    cluster_member_gone(&s->member, s->now, second.name, ++s->revision, CLUSTER_GONE_REMOVED);
    seat_meets(s, 'q', 1);
    assert_int_equal(s->no_rooms, 2);
    told(s, "+q1");
    cluster_entry entry = {.node = second, .phase = CLUSTER_UP, .revision = ++s->revision};
    cluster_member_entry(&s->member, s->now, &entry);
    cluster_member_heard(&s->member, s->now, &second, 9);
    told(s, ""); /* which went down behind the one that was forgotten */
    seat_close(s);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(joins_and_renews),
        cmocka_unit_test(up_by_entry_and_heartbeat),
        cmocka_unit_test(nobody_comes_up_without_a_store),
        cmocka_unit_test(suspected_and_never_again),
        cmocka_unit_test(old_numbers_say_nothing),
        cmocka_unit_test(a_stop_counts_against_nobody),
        cmocka_unit_test(slow_steps_suspect_too),
        cmocka_unit_test(leases_by_own_revisions),
        cmocka_unit_test(leases_are_renewed_by_revisions),
        cmocka_unit_test(reasons_to_go_down),
        cmocka_unit_test(what_became_of_a_put),
        cmocka_unit_test(a_lease_by_the_first_of_many_puts),
        cmocka_unit_test(no_lease_runs_out_in_a_list),
        cmocka_unit_test(leaves),
        cmocka_unit_test(full_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
