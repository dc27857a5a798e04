/* cluster_thrift_test.c - what the library asks of NATS's while nothing has to be asked: its calls
 * are counted on their way, over a real nats-server. */
#include <nats/nats.h>

#include "api/cluster_store.h"
#include "carrier.h"

static _Atomic(natsConnection *) counted; /* whose calls are */
static atomic_uint statistics;
static atomic_uint looks; /* for what a watch has brought */

natsStatus __real_natsConnection_GetStats(natsConnection *connection, natsStatistics *out);
natsStatus __wrap_natsConnection_GetStats(natsConnection *connection, natsStatistics *out);

natsStatus __wrap_natsConnection_GetStats(natsConnection *connection, natsStatistics *out)
{
    statistics += connection == counted;
    return __real_natsConnection_GetStats(connection, out);
}

natsStatus __real_kvWatcher_Next(kvEntry **entry, kvWatcher *watcher, int64_t timeout);
natsStatus __wrap_kvWatcher_Next(kvEntry **entry, kvWatcher *watcher, int64_t timeout);

natsStatus __wrap_kvWatcher_Next(kvEntry **entry, kvWatcher *watcher, int64_t timeout)
{
    looks++;
    return __real_kvWatcher_Next(entry, watcher, timeout);
}

/* Its turns, while much comes and little goes, are more than its packets. */
static void asks_when_it_sends(void **unused)
{
    cw_node a, b;
    cw_note one, two;
    cw_node_start(&a, &server, "a");
    cw_node_start(&b, &server, "b");
    cw_actor(&a, &one, "one");
    cw_actor(&b, &two, "two");
    axo_ref far = cw_find(&a, "b", "two");
    counted = b.cluster->connection;
    axo_cluster_figures before = cw_figures(&b);
    for (uint32_t i = 1; i <= 500; i++) {
        assert_int_equal(axo_system_send(a.system, far, CW_NUMBER, &i, sizeof i), AXO_OK);
        cw_sleep(CW_MS);
    }
    CW_UNTIL(two.numbers == 500);
    counted = NULL;
    cw_sleep(CW_MS);
    axo_cluster_figures behind = cw_figures(&b);
    uint64_t out = behind.packets_out - before.packets_out;
    uint64_t in = behind.packets_in - before.packets_in;
    print_message("%u asked, %u packets out, %u in\n", statistics, (unsigned)out, (unsigned)in);
    assert_true(in > 2 * out);
    assert_true(statistics <= out + 2);
    cw_node_end(&a);
    cw_node_end(&b);
}

/* While nobody puts an entry nobody looks for one; and who wants to is not kept waiting. */
static void sleeps_while_nothing_comes(void **unused)
{
    cw_node a, b;
    cw_note one, two;
    axo_cluster_options with = store_options("a");
    with.cluster = "slow";
    with.lease_ms = 600000;
    node_with(&a, &one, &with);
    with.node = "b";
    node_with(&b, &two, &with);
    CW_UNTIL(one.ups == 1 && two.ups == 1);
    cw_sleep(500 * CW_MS);
    unsigned before = looks;
    cw_sleep(1000 * CW_MS);
    print_message("%u looks\n", looks - before);
    assert_true(looks - before <= 2);
    int64_t since = cw_now();
    cw_node_end(&b);
    CW_UNTIL(one.downs == 1);
    assert_int_equal(one.why, AXO_CLUSTER_LEFT);
    assert_true(cw_now() - since < 10000 * CW_MS);
    since = cw_now();
    cw_node_end(&a);
    assert_true(cw_now() - since < 10000 * CW_MS);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {cmocka_unit_test(asks_when_it_sends),
                                              cmocka_unit_test(sleeps_while_nothing_comes)};
    if (!cw_has_server())
        return 0;
    store_begin();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    store_end();
    return failed;
}
