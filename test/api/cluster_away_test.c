/* cluster_away_test.c - AXO_CLUSTER_STORE: a nats-server that stops, dies, and forgets:
 * <axo/cluster.h>. */
#include <nats/nats.h>

#include "api/cluster_store.h"
#include "wire.h"

static void server_stops(void **unused)
{
    trio t;
    trio_start(&t);
    assert_int_equal(kill(server.pid, SIGSTOP), 0);
    cw_sleep(2 * LEASE_MS * CW_MS);
    assert_int_equal(kill(server.pid, SIGCONT), 0);
    trio_goes_on(&t);
}

static void server_dies(void **unused)
{
    trio t;
    trio_start(&t);
    cw_kill(server.pid);
    cw_sleep(2 * LEASE_MS * CW_MS);
    cw_server_run(&server);
    trio_goes_on(&t);
}

static void server_dies_shortly(void **unused)
{
    trio t;
    trio_start(&t);
    cw_kill(server.pid);
    cw_server_run(&server);
    trio_goes_on(&t);
}

static void server_forgets(void **unused)
{
    trio t;
    trio_start(&t);
    cw_kill(server.pid);
    forget();
    cw_server_run(&server);
    trio_goes_on(&t);
}

/* While the server runs: another bucket has the place of this one, where their names were removed
 * at higher revisions. */
static void bucket_is_deleted(void **unused)
{
    trio t;
    natsConnection *connection = NULL;
    jsCtx *js = NULL;
    cluster_key key;
    char bucket[64];
    cluster_key_of(&key, "test", "secret");
    (void)snprintf(bucket, sizeof bucket, "axo_test_%08x", (unsigned)key.token);
    trio_start(&t);
    trio_end(&t);
    trio_start(&t);
    assert_int_equal(natsConnection_ConnectTo(&connection, server.url), NATS_OK);
    assert_int_equal(natsConnection_JetStream(&js, connection, NULL), NATS_OK);
    assert_int_equal(js_DeleteKeyValue(js, bucket), NATS_OK);
    jsCtx_Destroy(js);
    natsConnection_Destroy(connection);
    trio_goes_on(&t);
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(server_stops),        cmocka_unit_test(server_dies),
        cmocka_unit_test(server_dies_shortly), cmocka_unit_test(server_forgets),
        cmocka_unit_test(bucket_is_deleted),
    };
    if (argc == 2)
        cmocka_set_test_filter(argv[1]);
    if (!cw_has_server())
        return 0;
    store_begin();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    store_end();
    return failed;
}
