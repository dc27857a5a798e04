/* options_test.c - options, props and strategies from older, newer and careless callers. */
#include "unit/unit.h"

#include "system/options.h"
#include "system/system.h"

static axo_status receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    return AXO_OK;
}

static const axo_class plain = AXO_CLASS(.receive = receive);

static void defaults_are_filled_in(void **state)
{
    axo_options given = AXO_OPTIONS(.workers = 0);
    const axo_options *both[] = {NULL, &given};
    for (int i = 0; i < 2; i++) {
        axo_options out;
        memset(&out, 0xee, sizeof out);
        assert_int_equal(axo__options_read(both[i], &out), AXO_OK);
        assert_in_range(out.workers, 1, AXO_WORKERS_MAX);
        assert_int_equal(out.quantum, 0);
        assert_int_equal(out.quantum_us, 100);
        assert_int_equal(out.actors_max, 1 << 22);
        assert_int_equal(out.failure_texts, 1024);
        assert_int_equal(out.timers_max, 1 << 20);
        assert_int_equal(out.blocking_max, 64);
        assert_int_equal(out.blocking_idle_ms, 10000);
        assert_int_equal(out.stuck_ns, 1000000000);
        assert_true(out.seed != 0);
        assert_null(out.user_strategy);
        assert_null(out.log);
        assert_null(out.trace);
        for (unsigned kind = 0; kind < 64; kind++)
            assert_int_equal((out.trace_kinds >> kind & 1) != 0, kind < AXO_EVENT_KINDS);
        assert_string_equal(out.name, "axo");
        assert_int_equal(out.dead_letter_log, 5);
        assert_int_equal(out.dead_letter_window_ns, INT64_C(300000000000));
        assert_int_equal(out.dead_letters_kept, 64);
        assert_int_equal(out.no_dead_letter_log, 0);
        assert_int_equal(out.failure_log, 5);
        assert_int_equal(out.failure_window_ns, INT64_C(300000000000));
        assert_null(out.log_record);
    }
}

static void what_is_given_is_kept(void **state)
{
    axo_options given = AXO_OPTIONS(.workers = 3, .quantum = 1, .quantum_us = 1000000,
                                    .actors_max = 3, .failure_texts = 1, .timers_max = 9,
                                    .seed = 17, .name = "a-b_9", .dead_letter_log = 1,
                                    .dead_letter_window_ns = 1, .dead_letters_kept = 65536,
                                    .blocking_max = 2, .blocking_idle_ms = 3,
                                    .stuck_ns = -1, .registry_max = 1 << 20,
                                    .failure_log = UINT32_MAX, .failure_window_ns = 1,
                                    .trace_kinds = AXO_EVENT_BIT(AXO_EV_FAIL),
                                    .figures = 2, .contain = 1, .crashes_max = 65536,
                                    .crash_window_ns = 1);
    axo_options out;
    assert_int_equal(axo__options_read(&given, &out), AXO_OK);
    assert_memory_equal(&given, &out, sizeof out);
}

static int64_t options_clock(void *user)
{
    return 1;
}

static void limits(void **state)
{
    static const axo_options good[] = {
        AXO_OPTIONS(.workers = AXO_WORKERS_MAX), AXO_OPTIONS(.quantum = 65536),
        AXO_OPTIONS(.quantum_us = 1000000),      AXO_OPTIONS(.actors_max = 16646144),
        AXO_OPTIONS(.actors_max = 1),            AXO_OPTIONS(.failure_texts = 1 << 20),
        AXO_OPTIONS(.blocking_max = 1024),       AXO_OPTIONS(.manual = 1, .clock = options_clock),
        AXO_OPTIONS(.trace_kinds = AXO_EVENT_BIT(AXO_EVENT_KINDS - 1)),
        AXO_OPTIONS(.clock = options_clock),     AXO_OPTIONS(.no_quantum_us = 1),
    };
    static const axo_options bad[] = {
        AXO_OPTIONS(.workers = AXO_WORKERS_MAX + 1), AXO_OPTIONS(.quantum = 65537),
        AXO_OPTIONS(.quantum_us = 1000001),          AXO_OPTIONS(.actors_max = 16646145),
        AXO_OPTIONS(.actors_max = 1 << 24),          AXO_OPTIONS(.failure_texts = (1 << 20) + 1),
        AXO_OPTIONS(.blocking_max = 1025),           AXO_OPTIONS(.manual = 3),
        AXO_OPTIONS(.no_quantum_us = 1, .quantum_us = 1),
        AXO_OPTIONS(.allocator = {.alloc = unit_alloc}),
        AXO_OPTIONS(.allocator = {.free = unit_free}),
        AXO_OPTIONS(.no_dead_letter_log = 2),        AXO_OPTIONS(.dead_letter_window_ns = -1),
        AXO_OPTIONS(.dead_letter_log_at_stop = 2),   AXO_OPTIONS(.dead_letters_kept = 65537),
        AXO_OPTIONS(.no_dead_letters_kept = 2),      AXO_OPTIONS(.threads = 2),
        AXO_OPTIONS(.no_quantum_us = 2),             AXO_OPTIONS(.registry_max = (1 << 20) + 1),
        AXO_OPTIONS(.trace_kinds = AXO_EVENT_BIT(AXO_EVENT_KINDS)),
        AXO_OPTIONS(.trace_kinds = AXO_EVENT_BIT(AXO_EV_FAIL) | AXO_EVENT_BIT(63)),
        AXO_OPTIONS(.contain = 2),                   AXO_OPTIONS(.crashes_max = 1),
        AXO_OPTIONS(.crash_window_ns = 1),
        AXO_OPTIONS(.contain = 1, .crashes_max = 65537),
        AXO_OPTIONS(.contain = 1, .crash_window_ns = -1),
    };
    axo_options out;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        assert_int_equal(axo__options_read(&good[i], &out), AXO_OK);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(axo__options_read(&bad[i], &out), AXO_EINVAL);
}

/* SH-10 */
static void names_of_systems(void **state)
{
    static const char *const good[] = {"a", "Z", "0", "a-", "a_b-c", "9lives"};
    static const char *const bad[] = {"", "-a", "_a", "a b", "a/b", "a.b", "\xc3\xa4", "a\n"};
    char longest[AXO_NAME_MAX + 2];
    axo_options out;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        axo_options given = AXO_OPTIONS(.name = good[i]);
        assert_int_equal(axo__options_read(&given, &out), AXO_OK);
        assert_string_equal(out.name, good[i]);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        axo_options given = AXO_OPTIONS(.name = bad[i]);
        assert_int_equal(axo__options_read(&given, &out), AXO_ENAME);
    }
    memset(longest, 'x', sizeof longest);
    longest[AXO_NAME_MAX + 1] = 0;
    axo_options given = AXO_OPTIONS(.name = longest);
    assert_int_equal(axo__options_read(&given, &out), AXO_ENAME);
    longest[AXO_NAME_MAX] = 0;
    assert_int_equal(axo__options_read(&given, &out), AXO_OK);
}

/* A caller whose header ended after the workers: what comes after them is not read. */
static void a_shorter_struct_has_defaults_behind(void **state)
{
    axo_options given;
    axo_options out;
    memset(&given, 0xee, sizeof given);
    given.size = offsetof(axo_options, quantum);
    given.workers = 2;
    assert_int_equal(axo__options_read(&given, &out), AXO_OK);
    assert_int_equal(out.size, sizeof out);
    assert_int_equal(out.workers, 2);
    assert_int_equal(out.quantum, 0);
    assert_null(out.allocator.alloc);
}

static void a_size_that_cannot_be(void **state)
{
    axo_options given = AXO_OPTIONS(.workers = 1);
    axo_options out;
    for (size_t size = 0; size < sizeof(size_t); size++) {
        given.size = size;
        assert_int_equal(axo__options_read(&given, &out), AXO_EINVAL);
    }
}

/* A newer caller: fine as long as it uses nothing that we do not know. */
static void a_longer_struct(void **state)
{
    struct {
        axo_options known;
        unsigned char more[24];
    } given;
    axo_options out;
    memset(&given, 0, sizeof given);
    given.known.size = sizeof given;
    given.known.workers = 2;
    assert_int_equal(axo__options_read(&given.known, &out), AXO_OK);
    assert_int_equal(out.size, sizeof out);
    assert_int_equal(out.workers, 2);
    for (size_t i = 0; i < sizeof given.more; i++) {
        given.more[i] = 1;
        assert_int_equal(axo__options_read(&given.known, &out), AXO_EVERSION);
        given.more[i] = 0;
    }
}

static axo_status read_strategy(axo_strategy strategy)
{
    axo_options given = AXO_OPTIONS(.user_strategy = &strategy);
    axo_options out;
    return axo__options_read(&given, &out);
}

static void strategies(void **state)
{
    static const axo_backoff backoff = AXO_BACKOFF(.min_ns = 1, .max_ns = 2);
    static const axo_backoff backwards = AXO_BACKOFF(.min_ns = 2, .max_ns = 1);
    static const axo_strategy good[] = {
        AXO_STRATEGY(.scope = AXO_ALL_FOR_ONE),
        AXO_STRATEGY(.scope = AXO_REST_FOR_ONE),
        AXO_STRATEGY(.backoff = &backoff),
        AXO_STRATEGY(.limited = 1, .retries_max = -1, .within_ns = -1),
        AXO_STRATEGY(.window = AXO_WINDOW_SLIDING, .limited = 1, .retries_max = 0),
        AXO_STRATEGY(.window = AXO_WINDOW_SLIDING, .limited = 1,
                     .retries_max = AXO_SLIDING_MAX - 1, .within_ns = INT64_MAX),
        AXO_STRATEGY(.window = AXO_WINDOW_SLIDING, .limited = 1, .within_ns = -1),
    };
    static const axo_strategy bad[] = {
        AXO_STRATEGY(.scope = (axo_scope)3),
        AXO_STRATEGY(.backoff = &backwards),
        AXO_STRATEGY(.window = (axo_window)2),
        AXO_STRATEGY(.window = AXO_WINDOW_SLIDING, .limited = 1, .retries_max = -1),
        AXO_STRATEGY(.window = AXO_WINDOW_SLIDING, .limited = 1, .retries_max = AXO_SLIDING_MAX),
        AXO_STRATEGY(.window = AXO_WINDOW_SLIDING, .retries_max = 1),
        {.size = 0},
    };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        assert_int_equal(read_strategy(good[i]), AXO_OK);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(read_strategy(bad[i]), AXO_EINVAL);
}

static void good_props(void **state)
{
    static char args[8];
    static const axo_props good[] = {
        AXO_PROPS(.cls = &plain),
        AXO_PROPS(.cls = &plain, .args = args, .args_size = AXO_ARGS_MAX),
        AXO_PROPS(.cls = &plain, .args = args),
        AXO_PROPS(.cls = &plain, .name = "a-b", .system_actor = 1),
        AXO_PROPS(.cls = &plain, .lifetime = AXO_PERMANENT),
        AXO_PROPS(.cls = &plain, .lifetime = AXO_TEMPORARY),
    };
    axo_props out;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_int_equal(axo__props_read(&good[i], &out), AXO_OK);
        assert_memory_equal(&good[i], &out, sizeof out);
    }
}

static void bad_props(void **state)
{
    static char args[8];
    static const axo_class deaf = AXO_CLASS(.name = "deaf");
    static const axo_class huge = AXO_CLASS(.receive = receive,
                                            .state_size = AXO_PAYLOAD_MAX + 1);
    static const axo_class zeroed = {.receive = receive};
    static const axo_props bad[] = {
        {.cls = &plain},
        AXO_PROPS(.cls = NULL),
        AXO_PROPS(.cls = &deaf),
        AXO_PROPS(.cls = &huge),
        AXO_PROPS(.cls = &zeroed),
        AXO_PROPS(.cls = &plain, .dispatcher = 4),
        AXO_PROPS(.cls = &plain, .system_actor = 2),
        AXO_PROPS(.cls = &plain, .lifetime = (axo_lifetime)3),
        AXO_PROPS(.cls = &plain, .args_size = 1),
        AXO_PROPS(.cls = &plain, .args = args, .args_size = AXO_ARGS_MAX + 1),
    };
    axo_props out;
    axo_props named = AXO_PROPS(.cls = &plain, .name = "a/b");
    assert_int_equal(axo__props_read(NULL, &out), AXO_EINVAL);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(axo__props_read(&bad[i], &out), AXO_EINVAL);
    assert_int_equal(axo__props_read(&named, &out), AXO_ENAME);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(defaults_are_filled_in),
    cmocka_unit_test(what_is_given_is_kept),
    cmocka_unit_test(limits),
    cmocka_unit_test(names_of_systems),
    cmocka_unit_test(a_shorter_struct_has_defaults_behind),
    cmocka_unit_test(a_size_that_cannot_be),
    cmocka_unit_test(a_longer_struct),
    cmocka_unit_test(strategies),
    cmocka_unit_test(good_props),
    cmocka_unit_test(bad_props),
};
TEST_MAIN(tests)
