/* lease_test.c - one node's lease, call by call, and what it makes of another's:
 * tools/cluster/lease.h. */
#include <string.h>

#include "support/cmocka.h"

#include "lease.h"

#define MS INT64_C(1000000)

typedef enum called { NOTHING, GET, PUT, REMOVE } called;

typedef struct shop {
    cluster_lease lease;
    called what;      /* the last call */
    uint64_t ask;
    uint64_t revision;
    cluster_lease_holder holder;
    uint32_t calls;
} shop;

static void shop_get(void *user, uint64_t ask, cluster_store_key key)
{
    shop *s = user;
    assert_int_equal(key.incarnation, 77);
    s->what = GET;
    s->ask = ask;
    s->calls++;
}

static void shop_put(void *user, uint64_t ask, cluster_store_key key, uint64_t revision,
                     const cluster_lease_holder *holder)
{
    shop *s = user;
    assert_int_equal(key.incarnation, 77);
    s->what = PUT;
    s->ask = ask;
    s->revision = revision;
    s->holder = *holder;
    s->calls++;
}

static void shop_remove(void *user, uint64_t ask, cluster_store_key key, uint64_t revision)
{
    (void)user;
    (void)ask;
    (void)key;
    (void)revision;
    fail_msg("a lease removes nothing");
}

static const cluster_store shop_store = {shop_get, shop_put, shop_remove};
static const cluster_lease_settings shop_settings = {
    .lease_ns = 1000 * MS, .renew_ns = 300 * MS, .guard_ns = 100 * MS, .answer_ns = 200 * MS,
    .pause_ns = 50 * MS, .drift_ppm = 10000};

static shop shop_opens(void)
{
    shop s = {0};
    cluster_lease_init(&s.lease, &shop_settings, &shop_store, &s, 5, 77);
    return s;
}

static void shop_step(shop *s, int64_t now)
{
    s->lease.user = s;
    s->what = NOTHING;
    cluster_lease_step(&s->lease, now);
}

static bool shop_says(shop *s, int64_t now, cluster_store_answer answer, uint64_t revision,
                      uint64_t term)
{
    cluster_store_record record = {revision, {5, 77, term}};
    s->what = NOTHING;
    return cluster_lease_answer(&s->lease, now, s->ask, answer, &record);
}

/* Held from 0 on. */
static shop shop_held(void)
{
    shop s = shop_opens();
    shop_step(&s, 0);
    assert_int_equal(s.what, PUT);
    assert_int_equal(s.revision, 0);
    assert_true(shop_says(&s, 30 * MS, CLUSTER_STORE_DONE, 8, 1));
    return s;
}

/* It counts from the call, and ends a guard before its time. */
static void held_from_the_call(void **unused)
{
    shop s = shop_opens();
    assert_true(cluster_lease_due(&s.lease) <= 0);
    shop_step(&s, 0);
    assert_false(cluster_lease_covers(&s.lease, 0));
    assert_true(shop_says(&s, 30 * MS, CLUSTER_STORE_DONE, 8, 1));
    assert_true(cluster_lease_covers(&s.lease, 900 * MS - 1));
    assert_false(cluster_lease_covers(&s.lease, 900 * MS));
    assert_int_equal(cluster_lease_due(&s.lease), 300 * MS);
    shop_step(&s, 300 * MS);
    assert_int_equal(s.what, PUT);
    assert_int_equal(s.revision, 8);
    assert_int_equal(s.holder.term, 1);
    assert_true(shop_says(&s, 350 * MS, CLUSTER_STORE_DONE, 9, 1));
    assert_true(cluster_lease_covers(&s.lease, 1200 * MS - 1));
    assert_false(cluster_lease_covers(&s.lease, 1200 * MS));
}

/* A call without an answer is made again; the answer of the first is none of its any more. */
static void asked_again(void **unused)
{
    shop s = shop_opens();
    shop_step(&s, 0);
    uint64_t first = s.ask;
    shop_step(&s, 199 * MS);
    assert_int_equal(s.what, NOTHING);
    shop_step(&s, 200 * MS);
    assert_int_equal(s.what, PUT);
    cluster_store_record record = {8, {5, 77, 1}};
    assert_false(cluster_lease_answer(&s.lease, 210 * MS, first, CLUSTER_STORE_DONE, &record));
    assert_false(s.lease.held);
    assert_true(shop_says(&s, 220 * MS, CLUSTER_STORE_CONFLICT, 0, 0)); /* by the first */
    assert_int_equal(s.what, GET);
    assert_true(shop_says(&s, 230 * MS, CLUSTER_STORE_DONE, 8, 1));
    assert_int_equal(s.what, PUT);
    assert_int_equal(s.revision, 8);
    assert_true(shop_says(&s, 240 * MS, CLUSTER_STORE_DONE, 9, 1));
    assert_int_equal(s.lease.until, 1230 * MS);
    assert_false(shop_says(&s, 240 * MS, CLUSTER_STORE_DONE, 9, 1)); /* twice */
    assert_int_equal(s.lease.lost, 0);
}

/* What failed is tried again a little later, and has not made the lease longer. */
static void failed_is_tried_again(void **unused)
{
    shop s = shop_held();
    shop_step(&s, 300 * MS);
    assert_true(shop_says(&s, 310 * MS, CLUSTER_STORE_FAILED, 0, 0));
    assert_int_equal(cluster_lease_due(&s.lease), 360 * MS);
    assert_int_equal(s.lease.until, 1000 * MS);
    shop_step(&s, 360 * MS);
    assert_int_equal(s.what, PUT);
}

/* The next term is not written before the time of this one is over. */
static void lost_by_time(void **unused)
{
    shop s = shop_held();
    shop_step(&s, 300 * MS); /* which is not answered */
    shop_step(&s, 899 * MS);
    assert_true(s.lease.held);
    uint64_t late = s.ask;
    shop_step(&s, 900 * MS);
    assert_false(s.lease.held);
    assert_int_equal(s.lease.lost, 1);
    assert_int_equal(s.what, NOTHING);
    assert_int_equal(cluster_lease_due(&s.lease), 1000 * MS);
    cluster_store_record record = {9, {5, 77, 1}};
    assert_false(cluster_lease_answer(&s.lease, 950 * MS, late, CLUSTER_STORE_DONE, &record));
    shop_step(&s, 1000 * MS);
    assert_int_equal(s.what, PUT);
    assert_int_equal(s.holder.term, 2);
    assert_true(shop_says(&s, 1010 * MS, CLUSTER_STORE_CONFLICT, 0, 0));
    assert_true(shop_says(&s, 1020 * MS, CLUSTER_STORE_DONE, 9, 1));
    assert_int_equal(s.revision, 9);
    assert_true(shop_says(&s, 1030 * MS, CLUSTER_STORE_DONE, 10, 2));
    assert_true(s.lease.held);
}

/* A process goes on, and the first that it sees is the answer that would have been in time. */
static void too_late_an_answer(void **unused)
{
    shop s = shop_held();
    shop_step(&s, 300 * MS);
    assert_true(shop_says(&s, 900 * MS, CLUSTER_STORE_DONE, 9, 1));
    assert_false(s.lease.held);
    assert_int_equal(s.lease.me.term, 2);
    s = shop_opens();
    shop_step(&s, 0);
    assert_true(shop_says(&s, 900 * MS, CLUSTER_STORE_DONE, 9, 1)); /* it was not held before */
    assert_false(s.lease.held);
    assert_int_equal(s.lease.me.term, 1);
}

/* Somebody has removed it, so the term is over whatever the clock says. */
static void lost_by_removal(void **unused)
{
    shop s = shop_held();
    shop_step(&s, 300 * MS);
    assert_true(shop_says(&s, 310 * MS, CLUSTER_STORE_CONFLICT, 0, 0));
    assert_true(shop_says(&s, 320 * MS, CLUSTER_STORE_DONE, 0, 0));
    assert_false(s.lease.held);
    assert_int_equal(s.what, NOTHING);
    assert_int_equal(cluster_lease_due(&s.lease), 1000 * MS);
    shop_step(&s, 1000 * MS);
    assert_int_equal(s.revision, 0);
    assert_int_equal(s.holder.term, 2);
}

static cluster_verdict shop_judges(shop *s, int64_t now, uint64_t incarnation, uint64_t revision,
                                   uint64_t term)
{
    cluster_lease_holder whose = {6, incarnation, 3};
    cluster_store_record record = {revision, {6, incarnation, term}};
    return cluster_lease_judge(&s->lease, now, &whose, &record);
}

static void judged(void **unused)
{
    shop s = shop_opens();
    int64_t silent = 1000 * MS * 1010000 / 990000;
    assert_int_equal(shop_judges(&s, 0, 90, 4, 3), CLUSTER_LEASE_THERE);
    assert_int_equal(shop_judges(&s, silent, 90, 4, 3), CLUSTER_LEASE_THERE);
    assert_int_equal(shop_judges(&s, silent + 1, 90, 4, 3), CLUSTER_LEASE_SILENT);
    assert_int_equal(shop_judges(&s, silent + 1, 90, 5, 3), CLUSTER_LEASE_THERE); /* renewed */
    assert_int_equal(shop_judges(&s, 2 * silent + 1, 90, 5, 3), CLUSTER_LEASE_THERE);
    assert_int_equal(shop_judges(&s, 2 * silent + 2, 90, 5, 3), CLUSTER_LEASE_SILENT);
    assert_int_equal(shop_judges(&s, 2 * silent + 2, 90, 0, 0), CLUSTER_LEASE_GONE);
    assert_int_equal(shop_judges(&s, 0, 91, 9, 4), CLUSTER_LEASE_GONE); /* its term is over */
    assert_int_equal(shop_judges(&s, 0, 91, 9, 2), CLUSTER_LEASE_THERE); /* a put that came late */
}

/* What is forgotten for lack of room is watched from the beginning. */
static void more_than_can_be_watched(void **unused)
{
    shop s = shop_opens();
    for (uint64_t i = 0; i <= CLUSTER_LEASE_WATCHED_MAX; i++)
        assert_int_equal(shop_judges(&s, (int64_t)i, 100 + i, 4, 3), CLUSTER_LEASE_THERE);
    assert_int_equal(shop_judges(&s, 5000 * MS, 101, 4, 3), CLUSTER_LEASE_SILENT);
    assert_int_equal(shop_judges(&s, 5000 * MS, 100, 4, 3), CLUSTER_LEASE_THERE);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(held_from_the_call),
        cmocka_unit_test(asked_again),
        cmocka_unit_test(failed_is_tried_again),
        cmocka_unit_test(lost_by_time),
        cmocka_unit_test(too_late_an_answer),
        cmocka_unit_test(lost_by_removal),
        cmocka_unit_test(judged),
        cmocka_unit_test(more_than_can_be_watched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
