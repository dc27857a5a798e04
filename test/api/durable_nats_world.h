/* durable_nats_world.h - durable_world.h on JetStream: one nats-server of the test's own, a stream
 * for each world. */
#ifndef TEST_DURABLE_NATS_WORLD_H
#define TEST_DURABLE_NATS_WORLD_H

#include <axo/durable_nats.h>

#include "api/cluster_world.h"

#define W_SERVER_URL "AXO_TEST_SERVER" /* for processes that a test starts */

struct world;
static inline axo_status w_open_stream(struct world *w, axo_store_problem *problem);

#define W_OPEN_STORE(w, problem) w_open_stream(w, problem)
#define W_RUN(tests)                                                                               \
    (cw_has_server() ? cmocka_run_group_tests(tests, w_server_begin, w_server_end) : 0)

static cw_server w_server;
static uint32_t w_wait_ms; /* axo_store_stream.wait_ms */

static inline int w_server_begin(void **unused)
{
    static char folder[] = "/tmp/durable.nats.XXXXXX";
    (void)unused;
    w_server.store = mkdtemp(folder);
    assert_non_null(w_server.store);
    cw_server_start(&w_server);
    return setenv(W_SERVER_URL, w_server.url, 1);
}

static inline int w_server_end(void **unused)
{
    char command[64];
    (void)unused;
    cw_kill(w_server.pid);
    (void)snprintf(command, sizeof command, "rm -rf '%s'", w_server.store);
    return system(command);
}

#include "api/durable_world.h"

/* The stream has the name of the world's folder. */
static inline axo_store_stream w_stream(const struct world *w)
{
    const char *end = strrchr(w->path, '.');
    const char *name = end != NULL ? end + 1 : w->path;
    return (axo_store_stream)AXO_STORE_STREAM(.url = getenv(W_SERVER_URL), .stream = name,
                                              .folder = w->path, .bytes = w->settings.map_bytes,
                                              .wait_ms = w_wait_ms,
                                              .loaded_max = w->settings.loaded_max);
}

/* One that waits for less than a busy machine takes is tried again. */
static inline axo_status w_open_stream(struct world *w, axo_store_problem *problem)
{
    const axo_store_stream with = w_stream(w);
    axo_store_problem own;
    axo_store_problem *said = problem != NULL ? problem : &own;
    axo_status status = axo_store_open_stream(w->system, &with, said, &w->store);
    for (int i = 0; i < 100 && w_wait_ms != 0 && status != AXO_OK && said->error != 0 &&
                    said->error != EBUSY;
         i++)
        status = axo_store_open_stream(w->system, &with, said, &w->store);
    return status;
}

#endif
