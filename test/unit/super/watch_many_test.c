/* watch_many_test.c - an actor that watches thousands: each is found among them, to be watched once
 * only, to be watched no more, to be told of, whatever the order. */
#include <string.h>

#include <axo/axo.h>

#include "support/cmocka.h"

enum { MANY = 3000, TAG_WATCH = 1, TAG_UNWATCH, TAG_LEAVE, TAG_OWN };

static axo_ref refs[MANY];
static uint32_t told[MANY];

/* Each number below `MANY` once, in an order without any. */
static uint32_t mixed(uint32_t i, uint32_t round)
{
    return (i * 1237 + round * 811) % MANY;
}

static bool unwatched(uint32_t i)
{
    return i % 3 == 0;
}

static bool watched_again(uint32_t i)
{
    return i % 15 == 0;
}

static void watch_all(axo_ctx *ctx)
{
    for (uint32_t i = 0; i < MANY; i++)
        assert_int_equal(axo_watch(ctx, refs[mixed(i, 0)]), AXO_OK);
    for (uint32_t i = 0; i < MANY; i++) { /* once is all there is */
        assert_int_equal(axo_watch(ctx, refs[mixed(i, 1)]), AXO_OK);
        assert_int_equal(axo_watch_with(ctx, refs[mixed(i, 1)], TAG_OWN, NULL, 0), AXO_EINVAL);
    }
}

static void unwatch_some(axo_ctx *ctx)
{
    for (uint32_t i = 0; i < MANY; i++) {
        if (unwatched(mixed(i, 2)))
            assert_int_equal(axo_unwatch(ctx, refs[mixed(i, 2)]), AXO_OK);
    }
    for (uint32_t i = 0; i < MANY; i++) {
        if (watched_again(mixed(i, 3)))
            assert_int_equal(axo_watch(ctx, refs[mixed(i, 3)]), AXO_OK);
    }
}

static void tell(const axo_terminated *who)
{
    uint32_t i = 0;
    while (i < MANY && !axo_ref_equal(refs[i], who->actor))
        i++;
    assert_true(i < MANY);
    told[i]++;
}

static axo_status watcher_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    switch (message->tag) {
    case TAG_WATCH:
        watch_all(ctx);
        return AXO_OK;
    case TAG_UNWATCH:
        unwatch_some(ctx);
        return AXO_OK;
    case TAG_LEAVE:
        return axo_stop_self(ctx);
    case AXO_TERMINATED:
        tell(AXO_PAYLOAD(message, axo_terminated));
        return AXO_OK;
    default:
        return AXO_UNHANDLED;
    }
}

static axo_status target_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    return message->tag == TAG_LEAVE ? axo_stop_self(ctx) : AXO_OK;
}

static axo_ref spawn(axo_system *system, axo_receive_fn receive)
{
    static axo_class classes[2] = {AXO_CLASS(.name = "watcher", .receive = watcher_receive),
                                   AXO_CLASS(.name = "target", .receive = target_receive)};
    axo_props props = AXO_PROPS(.cls = &classes[receive == target_receive]);
    axo_ref ref;
    assert_int_equal(axo_system_spawn(system, &props, &ref), AXO_OK);
    return ref;
}

static void run(axo_system *system, axo_ref to, uint32_t tag)
{
    assert_int_equal(axo_system_send(system, to, tag, NULL, 0), AXO_OK);
    assert_int_equal(axo_run_host(system, -1, NULL), AXO_OK);
}

static axo_system *begin(axo_ref *watcher)
{
    axo_options options = AXO_OPTIONS(.manual = 1);
    axo_system *system;
    memset(told, 0, sizeof told);
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    *watcher = spawn(system, watcher_receive);
    for (uint32_t i = 0; i < MANY; i++)
        refs[i] = spawn(system, target_receive);
    run(system, *watcher, TAG_WATCH);
    run(system, *watcher, TAG_UNWATCH);
    return system;
}

static void end(axo_system *system)
{
    assert_int_equal(axo_system_stop(system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
}

static void each_is_told_once(void **state)
{
    axo_ref watcher;
    axo_system *system = begin(&watcher);
    for (uint32_t i = 0; i < MANY; i++)
        run(system, refs[mixed(i, 4)], TAG_LEAVE);
    for (uint32_t i = 0; i < MANY; i++)
        assert_int_equal(told[i], !unwatched(i) || watched_again(i));
    run(system, watcher, TAG_WATCH); /* none lives: each is told of at once */
    for (uint32_t i = 0; i < MANY; i++)
        assert_int_equal(told[i], 1 + (!unwatched(i) || watched_again(i)));
    end(system);
}

/* The watcher ends first, with all that it watches, and nothing is left. */
static void it_ends_before_them(void **state)
{
    axo_ref watcher;
    axo_system *system = begin(&watcher);
    run(system, watcher, TAG_LEAVE);
    for (uint32_t i = 0; i < MANY; i++)
        run(system, refs[mixed(i, 5)], TAG_LEAVE);
    for (uint32_t i = 0; i < MANY; i++)
        assert_int_equal(told[i], 0);
    end(system);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_told_once),
        cmocka_unit_test(it_ends_before_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
