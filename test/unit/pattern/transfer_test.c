/* transfer_test.c - whole transfers through listeners and streams on threads, with clients that are
 * fast, slow, many, or gone in the middle (support/transfer.h). */
#include "support/transfer.h"

#include "support/census.h"
#include "support/slower.h"
#include "unit/unit.h"

#define KIB (UINT64_C(1) << 10)
#define MIB (UINT64_C(1) << 20)

static transfer_server server;

/* The client has heard the end before the connection's actor has. */
static void server_is_done(uint64_t closed)
{
    for (uint32_t i = 0; i < CENSUS_WAIT_MS && atomic_load(&server.closed) < closed; i++)
        census_pause();
    assert_int_equal(atomic_load(&server.closed), closed);
}

static void runs(transfer *it)
{
    uint64_t closed = atomic_load(&server.closed);
    uint64_t whole = atomic_load(&server.whole);
    uint64_t sums = atomic_load(&server.sums);
    const char *wrong = transfer_run(&server, it);
    if (wrong != NULL)
        fail_msg("%s: %llu sent, %llu back", wrong, (unsigned long long)it->sent,
                 (unsigned long long)it->got);
    server_is_done(closed + 1);
    assert_int_equal(atomic_load(&server.whole), whole + 1);
    assert_true(atomic_load(&server.sums) - sums == it->sum_sent);
    assert_true(atomic_load(&server.output_most) < TRANSFER_HIGH + TRANSFER_INPUT);
}

static int begins(void **state)
{
    (void)state;
    return transfer_begin(&server) ? 0 : -1;
}

static int ends(void **state)
{
    (void)state;
    return transfer_end(&server) ? 0 : -1;
}

static void small_and_large(void **state)
{
    const uint64_t sizes[] = {1, 64 * KIB, MIB, slower() > 1 ? 4 * MIB : 64 * MIB};
    for (uint32_t i = 0; i < 4; i++) {
        transfer it = {.size = sizes[i]};
        runs(&it);
    }
}

static void byte_by_byte(void **state)
{
    transfer there = {.size = slower_share(64 * KIB, 2000), .piece = 1};
    transfer back = {.size = slower_share(64 * KIB, 2000), .sip = 1};
    transfer both = {.size = slower_share(64 * KIB, 2000), .piece = 1, .sip = 1, .lags = true};
    runs(&there);
    runs(&back);
    runs(&both);
}

/* It reads when it can write no more, a little at a time: what waits for it is bounded. */
static void a_slow_reader(void **state)
{
    transfer it = {.size = slower_share(16 * MIB, MIB), .sip = 1000, .lags = true};
    runs(&it);
}

static void a_slow_writer(void **state)
{
    transfer it = {.size = slower_share(MIB, 20000), .piece = 97};
    runs(&it);
}

/* ---- several ---- */

enum { CLIENTS = 6 };

static transfer several[CLIENTS];
static const char *several_wrong[CLIENTS];

static void several_run(void *arg, uint32_t index)
{
    (void)arg;
    several_wrong[index] = transfer_run(&server, &several[index]);
}

static void several_at_once(void **state)
{
    uint64_t sums = atomic_load(&server.sums);
    uint64_t whole = atomic_load(&server.whole);
    uint64_t closed = atomic_load(&server.closed);
    uint64_t expected = 0;
    for (uint32_t i = 0; i < CLIENTS; i++)
        several[i] = (transfer){.size = slower_share(2 * MIB, 50000) + 1000 * i,
                                .piece = i % 2 == 0 ? 0 : 1000,
                                .lags = i % 3 == 0};
    unit_run_threads(CLIENTS, several_run, NULL);
    for (uint32_t i = 0; i < CLIENTS; i++) {
        assert_null(several_wrong[i]);
        expected += several[i].sum_sent;
    }
    server_is_done(closed + CLIENTS);
    assert_int_equal(atomic_load(&server.whole), whole + CLIENTS);
    assert_true(atomic_load(&server.sums) - sums == expected);
}

/* ---- resets ---- */

/* Wherever it is, in the middle of what comes and goes, or behind the half-close: the others go on,
 * and nothing is left of it. */
static void resets_in_the_middle(void **state)
{
    static const uint64_t places[] = {1, 1000, 60000, 65536, 200000, 299999, 300000};
    transfer first = {.size = 1};
    runs(&first);
    uint32_t before = census_descriptors();
    uint64_t closed = atomic_load(&server.closed);
    for (uint32_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        transfer it = {.size = 300000, .reset_after = places[i], .lags = i % 2 == 0, .sip = 900};
        assert_null(transfer_run(&server, &it));
    }
    server_is_done(closed + sizeof places / sizeof places[0]);
    transfer whole = {.size = MIB};
    runs(&whole);
    for (uint32_t i = 0; i < CENSUS_WAIT_MS && census_descriptors() != before; i++)
        census_pause();
    assert_int_equal(census_descriptors(), before);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(small_and_large), cmocka_unit_test(byte_by_byte),
    cmocka_unit_test(a_slow_reader),   cmocka_unit_test(a_slow_writer),
    cmocka_unit_test(several_at_once), cmocka_unit_test(resets_in_the_middle),
};

int main(int argc, char **argv)
{
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, begins, ends);
}
