/* service_memory_test.c - services of an actor when memory ends at each of their allocations: the
 * status is AXO_ENOMEM, nothing has changed, and nothing is left. A million timers, of which most
 * are cancelled: what fires, and what their records take. */
#include "api/service.h"

enum { MM_HELD_MAX = 20000, MM_SIZES = 12, MM_MANY = 1000000 };

/* Payload sizes that reach every class of the pool that a message can be of. */
static const size_t mm_sizes[MM_SIZES] = {1, 30, 60, 100, 150, 250, 400, 600, 900, 1400, 1900,
                                          3900};

typedef axo_status (*mm_fn)(axo_ctx *ctx, sv_host *host, sv_host *other);

typedef struct mm_try {
    mm_fn fn;
    sv_host *other;
    uint32_t blocks; /* of each class that are left, and how often the allocator still gives */
    axo_status status;
    uint32_t children_before;
    uint32_t children_after;
} mm_try;

static axo_draft *mm_held[MM_SIZES][MM_HELD_MAX];
static char mm_big[100000];

/* Takes every block there is, but for some. */
static void mm_drain(axo_ctx *ctx, sv_host *host, uint32_t *counts, uint32_t left)
{
    void *payload;
    axo_testkit_fail_memory(host->kit, 0, UINT64_MAX);
    for (uint32_t i = 0; i < MM_SIZES; i++) {
        for (counts[i] = 0; counts[i] < MM_HELD_MAX; counts[i]++) {
            if (axo_message_new(ctx, SV_NOTE, mm_sizes[i], &mm_held[i][counts[i]], &payload) !=
                AXO_OK)
                break;
        }
        for (uint32_t k = 0; k < left && counts[i] > 0; k++)
            axo_message_discard(ctx, mm_held[i][--counts[i]]);
    }
}

static void mm_run(axo_ctx *ctx, sv_host *host, void *arg)
{
    mm_try *try = arg;
    uint32_t counts[MM_SIZES];
    try->children_before = axo_child_count(ctx);
    mm_drain(ctx, host, counts, try->blocks);
    axo_testkit_fail_memory(host->kit, try->blocks, UINT64_MAX);
    try->status = try->fn(ctx, host, try->other);
    try->children_after = axo_child_count(ctx);
    axo_testkit_fail_memory(host->kit, 0, 0);
    for (uint32_t i = 0; i < MM_SIZES; i++) {
        while (counts[i] > 0)
            axo_message_discard(ctx, mm_held[i][--counts[i]]);
    }
}

static axo_stats mm_stats(const sv_host *host)
{
    axo_stats stats = AXO_STATS(.sent = 0);
    assert_int_equal(axo_system_stats(host->system, &stats), AXO_OK);
    return stats;
}

/* With no block, one of each class, two, ... until it succeeds. */
static void mm_each(mm_fn fn)
{
    axo_status status = AXO_ENOMEM;
    uint32_t blocks = 0;
    for (; status != AXO_OK; blocks++) {
        sv_host host;
        sv_host other;
        sv_start(&host, NULL);
        sv_spawn(&other, host.kit, "other", NULL);
        mm_try try = {.fn = fn, .other = &other, .blocks = blocks};
        axo_stats before = mm_stats(&host);
        sv_do(&host, mm_run, &try);
        axo_stats after = mm_stats(&host);
        status = try.status;
        if (status != AXO_OK) {
            assert_int_equal(status, AXO_ENOMEM);
            assert_int_equal(after.sent, before.sent + 1); /* the call */
            assert_int_equal(after.spawned, before.spawned);
            assert_int_equal(try.children_after, try.children_before);
            (void)axo_testkit_advance(host.kit, AXO_TESTKIT_FOREVER);
            assert_int_equal(host.count, 0); /* nothing comes */
            assert_int_equal(other.count, 0);
        }
        sv_end(&host);
        assert_true(blocks < 20);
    }
    assert_true(blocks > 1); /* at least once there was not enough */
}

static axo_status mm_ask(axo_ctx *ctx, sv_host *host, sv_host *other)
{
    return axo_ask(ctx, other->ref, SV_ASKED, "x", 2, SV_S, 1);
}

static axo_status mm_promise(axo_ctx *ctx, sv_host *host, sv_host *other)
{
    axo_ref ref = {.bits = 1};
    axo_status status = axo_promise(ctx, SV_S, 1, &ref);
    assert_true(axo_ref_is_none(ref) == (status != AXO_OK));
    return status;
}

static axo_status mm_graceful(axo_ctx *ctx, sv_host *host, sv_host *other)
{
    axo_farewell how = AXO_FAREWELL(.kind = AXO_FAREWELL_MESSAGE, .tag = SV_NOTE);
    return axo_graceful_stop(ctx, other->ref, &how, SV_S, 1);
}

static axo_status mm_select(axo_ctx *ctx, sv_host *host, sv_host *other)
{
    uint32_t count = 9;
    axo_status status = axo_select(ctx, "/user/*", SV_NOTE, "abc", 4, &count);
    assert_int_equal(count, status == AXO_OK ? 2 : 0);
    return status;
}

static axo_status mm_keyed(axo_ctx *ctx, sv_host *host, sv_host *other)
{
    axo_status status = axo_timer_start(ctx, 1, AXO_TIMER_ONCE, SV_S, 0, SV_NOTE, "x", 2);
    assert_true(axo_timer_active(ctx, 1) == (status == AXO_OK));
    return status;
}

static axo_status mm_timer(axo_ctx *ctx, sv_host *host, sv_host *other)
{
    axo_timer timer = {1, 1};
    axo_status status = axo_schedule_fixed_rate(ctx, SV_S, SV_S, other->ref, SV_NOTE, "x", 2,
                                                &timer);
    assert_true(axo_timer_cancel(ctx, timer) == (status == AXO_OK));
    return status;
}

static axo_status mm_receive_timeout(axo_ctx *ctx, sv_host *host, sv_host *other)
{
    axo_status status = axo_receive_timeout(ctx, SV_S);
    assert_int_equal(axo_receive_timeout(ctx, 0), AXO_OK);
    return status;
}

static axo_status mm_watch(axo_ctx *ctx, sv_host *host, sv_host *other)
{
    return axo_watch_with(ctx, other->ref, SV_NOTE, "x", 2);
}

static axo_status mm_spawn_or_get(axo_ctx *ctx, sv_host *host, sv_host *other)
{
    static sv_host unused;
    static sv_host *arg = &unused;
    axo_props props = AXO_PROPS(.cls = &sv_class, .args = &arg, .args_size = sizeof arg,
                                .name = "child");
    axo_ref ref = {.bits = 1};
    bool created = true;
    axo_status status = axo_spawn_or_get(ctx, &props, &ref, &created);
    assert_true(created == (status == AXO_OK));
    assert_true(axo_ref_is_none(ref) == (status != AXO_OK));
    return status;
}

static axo_status mm_owned(axo_ctx *ctx, sv_host *host, sv_host *other)
{
    axo_owned owned = {.payload = mm_big, .size = sizeof mm_big};
    axo_draft *draft = NULL;
    axo_status status = axo_message_owning(ctx, SV_NOTE, &owned, &draft);
    return status == AXO_OK ? axo_send_message(ctx, other->ref, draft) : status;
}

static axo_status mm_copied(axo_ctx *ctx, sv_host *host, sv_host *other)
{
    axo_testkit_fail_memory(host->kit, 0, 1);
    axo_status status = axo_send(ctx, other->ref, SV_NOTE, mm_big, sizeof mm_big);
    assert_int_equal(status, AXO_ENOMEM);
    return axo_send(ctx, other->ref, SV_NOTE, "x", 2);
}

static void each_allocation_of_an_actors_services(void **state)
{
    static const mm_fn all[] = {mm_ask,   mm_promise,         mm_graceful, mm_select,
                                mm_keyed, mm_timer,           mm_watch,    mm_spawn_or_get,
                                mm_owned, mm_receive_timeout};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        mm_each(all[i]);
}

static void mm_copy_run(axo_ctx *ctx, sv_host *host, void *arg)
{
    assert_int_equal(mm_copied(ctx, host, arg), AXO_OK);
}

static void a_payload_too_large_for_the_pool(void **state)
{
    sv_host host;
    sv_host other;
    sv_start(&host, NULL);
    sv_spawn(&other, host.kit, "other", NULL);
    sv_do(&host, mm_copy_run, &other);
    assert_int_equal(other.count, 1);
    assert_int_equal(other.rows[0].size, 2);
    sv_end(&host);
}

static uint64_t mm_skip;

static void mm_ask_poor(axo_ctx *ctx, sv_host *host, void *arg)
{
    assert_int_equal(mm_ask(ctx, host, arg), AXO_OK);
    axo_testkit_fail_memory(host->kit, mm_skip, 1); /* from here on */
}

/* One of the waiter's allocations fails: the asker is told so, or of the deadline, and once. */
static void the_waiter_finds_no_memory(void **state)
{
    uint32_t poor = 0;
    for (mm_skip = 0; mm_skip < 8; mm_skip++) {
        sv_host host;
        sv_host other;
        sv_start(&host, NULL);
        sv_spawn(&other, host.kit, "other", NULL);
        sv_do(&host, mm_ask_poor, &other);
        (void)axo_testkit_advance(host.kit, AXO_TESTKIT_FOREVER);
        assert_int_equal(sv_only(&host, 0)->tag, AXO_ASK_FAILED);
        poor += host.rows[0].status == AXO_ENOMEM;
        assert_true(host.rows[0].status == AXO_ENOMEM || host.rows[0].status == AXO_ETIMEDOUT);
        sv_end(&host);
    }
    assert_true(poor > 0 && poor < 8);
}

/* ---- never any memory ------------------------------------------------------------------------ */

typedef struct mm_dry {
    mm_fn fn;
    sv_host *other;
    uint32_t counts[MM_SIZES];
    axo_status status;
    uint32_t blocks;
} mm_dry;

/* From here on there is none. */
static void mm_drain_run(axo_ctx *ctx, sv_host *host, void *arg)
{
    mm_drain(ctx, host, ((mm_dry *)arg)->counts, 0);
}

static void mm_do_and_drain(axo_ctx *ctx, sv_host *host, void *arg)
{
    mm_dry *dry = arg;
    assert_int_equal(dry->fn(ctx, host, dry->other), AXO_OK);
    mm_drain_run(ctx, host, arg);
}

static void mm_flood(axo_ctx *ctx, sv_host *host, void *arg)
{
    mm_dry *dry = arg;
    for (uint32_t i = 0; i < MM_SIZES; i++) {
        while (dry->counts[i] > 0)
            axo_message_discard(ctx, mm_held[i][--dry->counts[i]]);
    }
}

static void mm_end_dry(sv_host *host, mm_dry *dry)
{
    axo_testkit_fail_memory(host->kit, 0, 0);
    sv_do(host, mm_flood, dry);
    sv_end(host);
}

static axo_status mm_pill(axo_ctx *ctx, sv_host *host, sv_host *other)
{
    return axo_graceful_stop(ctx, other->ref, NULL, SV_S, 1);
}

/* The waiter's first turn finds nothing, and nobody ever will: the asker is told. */
static void a_waiter_never_finds_memory(void **state)
{
    static const mm_fn all[] = {mm_ask, mm_promise, mm_graceful, mm_pill};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        sv_host host;
        sv_host other;
        sv_start(&host, NULL);
        sv_spawn(&other, host.kit, "other", NULL);
        mm_dry dry = {.fn = all[i], .other = &other};
        sv_do(&host, mm_do_and_drain, &dry);
        (void)axo_testkit_advance(host.kit, 2 * SV_S);
        assert_int_equal(sv_only(&host, 0)->status, AXO_ENOMEM);
        mm_end_dry(&host, &dry);
        (void)sv_only(&host, 0);
    }
}

static void mm_do(axo_ctx *ctx, sv_host *host, void *arg)
{
    mm_dry *dry = arg;
    assert_int_equal(dry->fn(ctx, host, dry->other), AXO_OK);
}

/* The deadline finds nothing: it is told in time. */
static void a_deadline_needs_no_memory(void **state)
{
    static const mm_fn all[] = {mm_ask, mm_promise, mm_graceful};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        sv_host host;
        sv_host other;
        sv_start(&host, NULL);
        sv_spawn(&other, host.kit, "other", NULL);
        mm_dry dry = {.fn = all[i], .other = &other};
        int64_t begun = axo_testkit_now(host.kit);
        sv_do(&host, mm_do, &dry);
        sv_do(&host, mm_drain_run, &dry);
        (void)axo_testkit_advance(host.kit, 2 * SV_S);
        assert_int_equal(sv_only(&host, 0)->status, AXO_ETIMEDOUT);
        assert_true(host.rows[0].at <= begun + SV_S + AXO_TICK_NS);
        mm_end_dry(&host, &dry);
        (void)sv_only(&host, 0);
    }
}

static void mm_answer_run(axo_ctx *ctx, sv_host *host, void *arg)
{
    mm_dry *dry = arg;
    assert_int_equal(axo_send(ctx, dry->other->sender, 77, "x", 2), AXO_OK);
    mm_drain_run(ctx, host, arg);
}

/* There is an answer and no memory to hand it on. */
static void an_answer_finds_no_memory(void **state)
{
    sv_host host;
    sv_host other;
    sv_start(&host, NULL);
    sv_spawn(&other, host.kit, "other", NULL);
    mm_dry dry = {.fn = mm_ask, .other = &other};
    sv_do(&host, mm_do, &dry);
    int64_t now = axo_testkit_now(host.kit);
    sv_do(&host, mm_answer_run, &dry);
    assert_int_equal(sv_only(&host, 0)->tag, AXO_ASK_FAILED);
    assert_int_equal(host.rows[0].status, AXO_ENOMEM);
    assert_int_equal(host.rows[0].at, now);
    mm_end_dry(&host, &dry);
}

static void mm_refused_run(axo_ctx *ctx, sv_host *host, void *arg)
{
    mm_dry *dry = arg;
    assert_int_equal(axo_send(ctx, dry->other->ref, SV_NOTE, NULL, 0), AXO_OK); /* it is full */
    mm_drain(ctx, host, dry->counts, dry->blocks);
    axo_testkit_fail_memory(host->kit, dry->blocks, UINT64_MAX);
    dry->status = dry->fn(ctx, host, dry->other);
    axo_testkit_fail_memory(host->kit, 0, 0);
    mm_flood(ctx, host, dry);
}

/* A request that the mailbox refuses is taken back also without memory: nothing comes. */
static void a_refusal_needs_no_memory(void **state)
{
    static const axo_mailbox one = AXO_MAILBOX(.messages_max = 1);
    static const mm_fn all[] = {mm_ask, mm_graceful};
    for (uint32_t i = 0; i < 2 * 20; i++) {
        sv_host host;
        sv_host full;
        sv_start(&host, NULL);
        sv_spawn(&full, host.kit, "full", &one);
        mm_dry dry = {.fn = all[i % 2], .other = &full, .blocks = i / 2};
        sv_do(&host, mm_refused_run, &dry);
        assert_true(dry.status == AXO_ENOMEM || dry.status == AXO_EFULL);
        assert_true(i < 2 * 19 || dry.status == AXO_EFULL);
        (void)axo_testkit_advance(host.kit, AXO_TESTKIT_FOREVER);
        assert_int_equal(host.count, 0);
        assert_int_equal(full.count, 1);
        sv_end(&host);
    }
}

/* ---- a back-off supervisor whose decider finds no memory ------------------------------------- */

typedef struct mm_kept {
    sv_host *host;
    mm_dry dry;
    uint32_t started;
} mm_kept;

static axo_directive mm_decide(axo_ctx *ctx, void *state, const axo_failure *failure, void *user)
{
    mm_kept *kept = user;
    if (kept->started == 1)
        mm_drain_run(ctx, kept->host, &kept->dry);
    return AXO_RESTART;
}

static axo_status mm_kept_construct(axo_ctx *ctx, void *state, const void *args)
{
    memcpy(state, args, sizeof(mm_kept *));
    (*(mm_kept **)state)->started++;
    return AXO_OK;
}

static axo_status mm_kept_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    return axo_fail(ctx, 1, "as told");
}

/* There is memory again before the supervisor hears of its end. */
static axo_status mm_kept_stop(axo_ctx *ctx, void *state)
{
    mm_kept *kept = *(mm_kept **)state;
    axo_testkit_fail_memory(kept->host->kit, 0, 0);
    mm_flood(ctx, kept->host, &kept->dry);
    return AXO_OK;
}

/* The window of the first failure opens all the same, and closes: the count begins anew. */
static void a_window_finds_no_memory(void **state)
{
    static const axo_class cls =
        AXO_CLASS(.state_size = sizeof(mm_kept *), .construct = mm_kept_construct,
                  .receive = mm_kept_receive, .post_stop = mm_kept_stop);
    sv_host host;
    mm_kept kept = {.host = &host};
    mm_kept *where = &kept;
    axo_props child = AXO_PROPS(.cls = &cls, .args = &where, .args_size = sizeof where);
    axo_backoff delays = AXO_BACKOFF(.min_ns = SV_MS, .max_ns = SV_MS, .reset_after_ns = -1);
    axo_backoff_supervisor settings = AXO_BACKOFF_SUPERVISOR(
        .child = &child, .backoff = &delays, .decider = mm_decide, .user = &kept, .limited = 1,
        .retries_max = 1, .within_ns = SV_S);
    axo_props props;
    axo_ref keeper;
    sv_start(&host, NULL);
    assert_int_equal(axo_backoff_supervisor_props(&settings, "keeper", &props), AXO_OK);
    assert_int_equal(axo_system_spawn(host.system, &props, &keeper), AXO_OK);
    for (uint32_t i = 1; i <= 3; i++) {
        (void)axo_testkit_advance(host.kit, 2 * SV_S);
        assert_int_equal(kept.started, i);
        assert_int_equal(axo_system_send(host.system, keeper, SV_NOTE, NULL, 0), AXO_OK);
        (void)axo_testkit_run(host.kit);
    }
    sv_end(&host);
}

/* ---- a million timers ------------------------------------------------------------------------ */

typedef struct mm_meter {
    uint64_t bytes;
    uint64_t peak;
} mm_meter;

static void *mm_alloc(void *user, size_t size, size_t align)
{
    mm_meter *meter = user;
    void *block = NULL;
    if (posix_memalign(&block, align < sizeof(void *) ? sizeof(void *) : align, size) != 0)
        return NULL;
    meter->bytes += size;
    meter->peak = meter->bytes > meter->peak ? meter->bytes : meter->peak;
    return block;
}

static void mm_free(void *user, void *block, size_t size, size_t align)
{
    ((mm_meter *)user)->bytes -= size;
    free(block);
}

static uint32_t mm_ticks;
static uint32_t mm_wrong; /* ticks that came early, late, or were cancelled */
static axo_testkit *mm_kit;

static int64_t mm_due(uint32_t i)
{
    return SV_S + (int64_t)(i * UINT64_C(2654435761) % 1000003) * 100000; /* within 100 s */
}

static axo_status mm_tick(axo_ctx *ctx, void *state, const axo_message *message)
{
    int64_t due;
    memcpy(&due, message->payload, sizeof due);
    int64_t now = axo_testkit_now(mm_kit);
    mm_wrong += message->tag != SV_NOTE || now < due || now > due + AXO_TICK_NS;
    mm_ticks++;
    return AXO_OK;
}

/* Every tenth stays; the rest are cancelled, and set and cancelled once more. */
static void a_million_timers_most_of_them_cancelled(void **state)
{
    static const axo_class cls = AXO_CLASS(.receive = mm_tick);
    static axo_timer timers[MM_MANY];
    mm_meter meter = {.bytes = 0};
    axo_options options = AXO_OPTIONS(
        .allocator = {.alloc = mm_alloc, .free = mm_free, .user = &meter});
    axo_ref ref;
    mm_ticks = mm_wrong = 0;
    assert_int_equal(axo_testkit_start(&options, &mm_kit), AXO_OK);
    axo_system *system = axo_testkit_system(mm_kit);
    assert_int_equal(axo_system_spawn(system, &(axo_props)AXO_PROPS(.cls = &cls), &ref), AXO_OK);
    int64_t now = axo_testkit_now(mm_kit);
    uint64_t before = meter.bytes;
    for (uint32_t round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < MM_MANY; i++) {
            int64_t due = now + mm_due(i);
            uint32_t tag = i % 10 == 0 ? SV_NOTE : SV_QUIT;
            if (round == 1 && i % 10 == 0)
                continue;
            assert_int_equal(axo_system_schedule_once(system, mm_due(i), ref, tag, &due,
                                                      sizeof due, &timers[i]), AXO_OK);
        }
        for (uint32_t i = 0; i < MM_MANY; i++)
            assert_true(i % 10 == 0 || axo_system_timer_cancel(system, timers[i]));
        if (round == 0)
            meter.peak = meter.bytes > meter.peak ? meter.bytes : meter.peak;
        /* The second round lives on what the first has given back. */
        assert_true(meter.peak - before < (uint64_t)MM_MANY * 256);
    }
    for (uint32_t i = 1; i < MM_MANY; i += 997)
        assert_true(i % 10 == 0 || !axo_system_timer_cancel(system, timers[i]));
    (void)axo_testkit_advance(mm_kit, 200 * SV_S);
    assert_int_equal(mm_ticks, MM_MANY / 10);
    assert_int_equal(mm_wrong, 0);
    assert_int_equal(axo_testkit_stop(mm_kit), AXO_OK);
    assert_int_equal(meter.bytes, 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(each_allocation_of_an_actors_services),
    cmocka_unit_test(a_payload_too_large_for_the_pool),
    cmocka_unit_test(the_waiter_finds_no_memory),
    cmocka_unit_test(a_waiter_never_finds_memory),
    cmocka_unit_test(a_deadline_needs_no_memory),
    cmocka_unit_test(an_answer_finds_no_memory),
    cmocka_unit_test(a_refusal_needs_no_memory),
    cmocka_unit_test(a_window_finds_no_memory),
    cmocka_unit_test(a_million_timers_most_of_them_cancelled),
};
TEST_MAIN(tests)
