/* member_dispute_test.c - one member among others that say otherwise: two of a name, who holds whom
 * down, minorities, a store that forgets; tools/cluster/member.h. */
#include "seat.h"

static void the_second_of_a_name_waits(void **unused)
{
    cluster_member_settings settings = seat_settings();
    seat *s = seat_open(&settings);
    seat_store(s, CLUSTER_STORE_LISTS);
    seat_entry(s, 'm', 3, CLUSTER_UP);
    seat_store(s, CLUSTER_STORE_IS_THERE);
    seat_goes_on(s, LEASE / 2, "");
    seat_entry(s, 'm', 3, CLUSTER_UP);
    seat_goes_on(s, LEASE - BEAT, "");
    told(s, "refused:m3");
    assert_int_equal(s->puts + s->beats, 0);
    seat_goes_on(s, BEAT, "");
    assert_int_equal(s->puts, 1);
    assert_int_equal(s->put.revision, s->revision); /* where the entry is still that one */
    cluster_entry there = {.node = node_of('m', 3), .phase = CLUSTER_UP,
                           .revision = ++s->revision};
    cluster_member_answer(&s->member, s->now, CLUSTER_REFUSED, &there);
    seat_goes_on(s, LEASE / 2, "");
    assert_int_equal(s->puts, 1);
    seat_gone(s, 'm', CLUSTER_GONE_REMOVED);
    seat_step(s);
    assert_int_equal(s->puts, 2);
    assert_int_equal(s->put.revision, 0);
    seat_taken(s);
    assert_int_equal(s->member.phase, CLUSTER_JOINING);
    seat_close(s);
}

/* Of two that put at once one is refused, and waits. */
static void refused_by_one_as_new(void **unused)
{
    cluster_member_settings settings = seat_settings();
    seat *s = seat_open(&settings);
    seat_lists(s);
    seat_step(s);
    cluster_entry there = {.node = node_of('m', 3), .phase = CLUSTER_JOINING,
                           .revision = ++s->revision};
    cluster_member_answer(&s->member, s->now, CLUSTER_REFUSED, &there);
    seat_goes_on(s, BEAT, "");
    seat_entry_at(s, 'm', 3, CLUSTER_JOINING, s->revision); /* no news */
    seat_goes_on(s, LEASE - 2 * BEAT, "");
    assert_int_equal(s->puts, 1);
    told(s, "refused:m3");
    seat_goes_on(s, BEAT, "");
    assert_int_equal(s->puts, 2);
    seat_answer(s, CLUSTER_MISSING);
    seat_step(s);
    assert_int_equal(s->puts, 3);
    assert_int_equal(s->put.revision, 0);
    seat_answer(s, CLUSTER_MISSING); /* of none where none is to be: not again at once */
    seat_step(s);
    assert_int_equal(s->puts, 3);
    seat_goes_on(s, BEAT, "");
    assert_int_equal(s->puts, 4);
    seat_close(s);
}

static void takes_over_and_goes_on(void **unused)
{
    cluster_member_settings settings = seat_settings();
    seat *s = seat_open(&settings);
    seat_store(s, CLUSTER_STORE_LISTS);
    seat_entry(s, 'm', 3, CLUSTER_UP);
    seat_store(s, CLUSTER_STORE_IS_THERE);
    seat_goes_on(s, LEASE, "");
    seat_taken(s);
    seat_step(s);
    assert_int_equal(s->puts, 2);
    assert_int_equal(s->put.phase, CLUSTER_UP);
    told(s, "refused:m3");
    seat_close(s);
}

/* A removal that comes before the answer of the put before it. */
static void removed_before_it_knows(void **unused)
{
    cluster_member_settings settings = seat_settings();
    seat *s = seat_open(&settings);
    seat_lists(s);
    seat_step(s);
    seat_gone(s, 'm', CLUSTER_GONE_REMOVED); /* of a life before */
    told(s, "");
    cluster_entry mine = s->put;
    mine.revision = ++s->revision;
    seat_gone(s, 'm', CLUSTER_GONE_REMOVED);
    told(s, "");
    cluster_member_answer(&s->member, s->now, CLUSTER_TAKEN, &mine);
    told(s, "over:evicted");
    seat_close(s);
}

static void ends_of_its_own(void **unused)
{
    cluster_member_settings settings = seat_settings();
    seat *s = seat_join(&settings);
    seat_entry_at(s, 'm', 6, CLUSTER_UP, 1);
    told(s, ""); /* a life before this one */
    seat_entry(s, 'm', 8, CLUSTER_JOINING);
    told(s, "over:replaced");
    seat_goes_on(s, LEASE, "");
    seat_meets(s, 'a', 1);
    assert_int_equal(s->puts, 2); /* nothing more */
    assert_int_equal(s->removals, 0);
    assert_true(cluster_member_due(&s->member) == INT64_MAX);
    seat_close(s);
    s = seat_join(&settings);
    cluster_member_gone(&s->member, s->now, "m", s->revision, CLUSTER_GONE_REMOVED);
    told(s, ""); /* of before its entry */
    seat_gone(s, 'm', CLUSTER_GONE_REMOVED);
    told(s, "over:evicted");
    seat_close(s);
    s = seat_join(&settings);
    s->now += LEASE / 3;
    seat_step(s);
    seat_answer(s, CLUSTER_REMOVED);
    told(s, "over:evicted");
    seat_close(s);
}

static void put_again_where_it_is_lost(void **unused)
{
    cluster_member_settings settings = seat_settings();
    seat *s = seat_join(&settings);
    seat_meets(s, 'z', 1);
    s->now += LEASE / 3;
    seat_step(s);
    seat_answer(s, CLUSTER_MISSING);
    seat_meets(s, 'y', 1);
    told(s, "+z1"); /* nobody more, without an entry */
    seat_step(s);
    assert_int_equal(s->puts, 4);
    assert_int_equal(s->put.revision, 0);
    assert_int_equal(s->put.phase, CLUSTER_UP);
    seat_taken(s);
    assert_int_equal(s->member.phase, CLUSTER_UP);
    axo_node z = node_of('z', 1);
    cluster_member_lost(&s->member, s->now, &z);
    told(s, "-z1:lost");
    for (int64_t end = s->now + LEASE - LEASE / 3; s->now < end;) {
        seat_renews(s);
        seat_entry(s, 'z', 1, CLUSTER_UP);
    }
    assert_int_equal(s->removals, 0); /* others may hold it down, and know better */
    for (int64_t end = s->now + LEASE; s->now < end;)
        seat_renews(s);
    assert_true(s->removals > 0);
    told(s, "");
    seat_close(s);
}

/* What is removed is what was seen, and only behind an own put. */
static void evicts_who_is_down(void **unused)
{
    cluster_member_settings settings = seat_settings();
    seat *s = seat_join(&settings);
    axo_node a = node_of('a', 1);
    seat_meets(s, 'a', 1);
    seat_meets(s, 'b', 1);
    cluster_member_lost(&s->member, s->now, &a);
    assert_int_equal(s->removals, 0);
    seat_step(s);
    assert_int_equal(s->puts, 3); /* at once */
    seat_entry(s, 'a', 1, CLUSTER_UP); /* it lives; that has come before the answer */
    s->put.revision = 0;
    cluster_entry mine = s->put;
    mine.revision = s->revision - 1;
    s->now += 10 * MS;
    cluster_member_answer(&s->member, s->now, CLUSTER_TAKEN, &mine);
    assert_int_equal(s->removals, 0); /* it may have removed this node's */
    int64_t before = s->now;
    seat_renews(s);
    assert_true(s->now - before <= BEAT);
    assert_int_equal(s->removals, 1);
    assert_string_equal(s->removed.node.name, "a");
    assert_int_equal(s->removed.revision, s->revision - 1);
    seat_entry(s, 'a', 1, CLUSTER_UP); /* which came too late: again soon */
    before = s->now;
    seat_renews(s);
    assert_true(s->now - before <= BEAT);
    assert_int_equal(s->removals, 2);
    seat_gone(s, 'a', CLUSTER_GONE_REMOVED);
    seat_renews(s);
    assert_int_equal(s->removals, 2);
    told(s, "+a1 +b1 -a1:lost");
    seat_close(s);
}

/* Without seeds: a and b live, and this node holds them down. */
static void outnumbered_gives_way(void **unused)
{
    cluster_member_settings settings = seat_settings();
    seat *s = seat_join(&settings);
    axo_node x = node_of('x', 1);
    axo_node y = node_of('y', 1);
    seat_meets(s, 'x', 1);
    seat_meets(s, 'y', 1);
    cluster_member_lost(&s->member, s->now, &x);
    assert_false(cluster_member_is_outnumbered(&s->member));
    cluster_member_lost(&s->member, s->now, &y);
    assert_true(cluster_member_is_outnumbered(&s->member));
    seat_entry(s, 'x', 1, CLUSTER_UP); /* which may be of before */
    told(s, "+x1 +y1 -x1:lost -y1:lost");
    seat_renews(s);
    assert_int_equal(s->removals, 0);
    seat_entry(s, 'y', 1, CLUSTER_UP);
    told(s, "over:outnumbered");
    assert_int_equal(s->removals, 1);
    assert_string_equal(s->removed.node.name, "m"); /* its own */
    seat_close(s);
}

/* Of two the one with the lower name goes on. */
static void of_two_the_lower_name(void **unused)
{
    cluster_member_settings settings = seat_settings();
    for (uint32_t i = 0; i < 2; i++) {
        char name = "ax"[i];
        seat *s = seat_join(&settings);
        axo_node other = node_of(name, 1);
        seat_meets(s, name, 1);
        cluster_member_lost(&s->member, s->now, &other);
        s->text[0] = 0;
        assert_int_equal(cluster_member_is_outnumbered(&s->member), name < 'm');
        seat_renews(s);
        assert_int_equal(s->removals, name > 'm');
        seat_close(s);
    }
}

static void minority_of_the_seeds(void **unused)
{
    static const char *const seeds[] = {"a", "b", "m", "n"};
    cluster_member_settings settings = seat_settings();
    settings.seeds = seeds;
    settings.seeds_count = 4;
    seat *s = seat_join(&settings);
    seat_meets(s, 'b', 1);
    seat_meets(s, 'z', 1); /* is no seed */
    told(s, "+b1 +z1");
    seat_meets(s, 'a', 1); /* the majority: three of four */
    axo_node a = node_of('a', 1);
    axo_node b = node_of('b', 1);
    cluster_member_lost(&s->member, s->now, &b); /* half, with the lowest name */
    told(s, "+a1 -b1:lost");
    cluster_member_lost(&s->member, s->now, &a);
    told(s, "-a1:lost minority");
    assert_true(cluster_member_is_outnumbered(&s->member));
    seat_meets(s, 'a', 2);
    told(s, "+a2 majority");
    seat_meets(s, 'n', 1);
    seat_entry(s, 'a', 2, CLUSTER_LEAVING); /* m and n of b, m, n */
    told(s, "+n1 -a2:left");
    seat_close(s);
}

static void minority_is_told_to_stop(void **unused)
{
    static const char *const seeds[] = {"a", "b", "m"};
    cluster_member_settings settings = seat_settings();
    settings.seeds = seeds;
    settings.seeds_count = 3;
    settings.on_minority = CLUSTER_STOP;
    seat *s = seat_join(&settings);
    told(s, ""); /* it never had one */
    seat_meets(s, 'a', 1);
    seat_meets(s, 'b', 1);
    seat_goes_on(s, 9 * BEAT, "");
    told(s, "+a1 +b1 -a1:suspected -b1:suspected over:minority");
    seat_close(s);
}

/* A new store has other revisions; who is up stays so, and puts its entry within a lease. */
static void store_that_forgets(void **unused)
{
    cluster_member_settings settings = seat_settings();
    seat *s = seat_join(&settings);
    seat_meets(s, 'a', 1);
    seat_meets(s, 'b', 1);
    seat_store(s, CLUSTER_STORE_AWAY);
    seat_goes_on(s, 2 * LEASE, "ab");
    s->revision = 0;
    seat_lists(s);
    seat_step(s);
    assert_int_equal(s->put.revision, 0);
    assert_int_equal(s->put.phase, CLUSTER_UP);
    seat_taken(s);
    seat_entry_at(s, 'm', SELF, CLUSTER_UP, 1);
    seat_entry(s, 'a', 1, CLUSTER_UP);
    told(s, "+a1 +b1");
    for (uint64_t i = 0; i < 4; i++) {
        seat_renews(s);
        seat_entry(s, 'a', 1, CLUSTER_UP);
        seat_heard(s, 'a', 1, 90000000 + i);
        seat_heard(s, 'b', 1, 90000000 + i);
    }
    told(s, "-b1:expired");
    seat_close(s);
}

/* Of an entry with the revision that it had in the old store. */
static void same_revision_in_a_new_store(void **unused)
{
    cluster_member_settings settings = seat_settings();
    seat *s = seat_join(&settings);
    seat_meets(s, 'a', 1);
    seat_store(s, CLUSTER_STORE_AWAY);
    seat_goes_on(s, 2 * LEASE, "a");
    seat_store(s, CLUSTER_STORE_LISTS);
    seat_entry_at(s, 'a', 1, CLUSTER_UP, s->revision);
    seat_store(s, CLUSTER_STORE_IS_THERE);
    seat_renews(s);
    told(s, "+a1");
    seat_close(s);
}

/* What the old store had brought behind an own put is no measure for the new one. */
static void gives_way_in_a_new_store(void **unused)
{
    cluster_member_settings settings = seat_settings();
    seat *s = seat_join(&settings);
    axo_node a = node_of('a', 1);
    seat_meets(s, 'a', 1);
    cluster_member_lost(&s->member, s->now, &a);
    s->revision += 100;
    seat_renews(s);
    seat_store(s, CLUSTER_STORE_AWAY);
    s->revision = 0;
    seat_store(s, CLUSTER_STORE_LISTS);
    seat_entry(s, 'a', 1, CLUSTER_UP);
    seat_store(s, CLUSTER_STORE_IS_THERE);
    seat_renews(s);
    told(s, "+a1 -a1:lost");
    seat_entry(s, 'a', 1, CLUSTER_UP);
    told(s, "over:outnumbered");
    seat_close(s);
}

static void list_with_another_of_its_name(void **unused)
{
    cluster_member_settings settings = seat_settings();
    seat *s = seat_join(&settings);
    seat_store(s, CLUSTER_STORE_AWAY);
    seat_store(s, CLUSTER_STORE_LISTS);
    seat_entry_at(s, 'm', 8, CLUSTER_UP, 1); /* of a store that has forgotten */
    told(s, "over:replaced");
    seat_close(s);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_second_of_a_name_waits),
        cmocka_unit_test(refused_by_one_as_new),
        cmocka_unit_test(takes_over_and_goes_on),
        cmocka_unit_test(removed_before_it_knows),
        cmocka_unit_test(ends_of_its_own),
        cmocka_unit_test(put_again_where_it_is_lost),
        cmocka_unit_test(evicts_who_is_down),
        cmocka_unit_test(outnumbered_gives_way),
        cmocka_unit_test(of_two_the_lower_name),
        cmocka_unit_test(minority_of_the_seeds),
        cmocka_unit_test(minority_is_told_to_stop),
        cmocka_unit_test(store_that_forgets),
        cmocka_unit_test(same_revision_in_a_new_store),
        cmocka_unit_test(gives_way_in_a_new_store),
        cmocka_unit_test(list_with_another_of_its_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
