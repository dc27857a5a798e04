/* cluster_thrift_test.c - what the library asks of NATS's while nothing has to be asked: its calls
 * are counted on their way, over a real nats-server. */
#include <nats/nats.h>

#include "api/cluster_world.h"
#include "carrier.h"

static cw_server server;
static _Atomic(natsConnection *) counted; /* whose calls are */
static atomic_uint statistics;

natsStatus __real_natsConnection_GetStats(natsConnection *connection, natsStatistics *out);
natsStatus __wrap_natsConnection_GetStats(natsConnection *connection, natsStatistics *out);

natsStatus __wrap_natsConnection_GetStats(natsConnection *connection, natsStatistics *out)
{
    statistics += connection == counted;
    return __real_natsConnection_GetStats(connection, out);
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

int main(void)
{
    static const struct CMUnitTest tests[] = {cmocka_unit_test(asks_when_it_sends)};
    if (!cw_has_server())
        return 0;
    cw_server_start(&server);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    cw_kill(server.pid);
    return failed;
}
