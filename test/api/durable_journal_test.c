/* durable_journal_test.c - actors whose state is a journal: events, snapshots, recovery. */
#include "api/durable_world.h"

/* The answer with this number; store it in *sum. w->mutex is held. */
static bool has_said(const world *w, int64_t number, int64_t *sum)
{
    for (uint32_t i = 0; i < w->count; i++) {
        if (w->seen[i].tag == W_SUM && w->seen[i].value == number) {
            *sum = w->seen[i].sum;
            return true;
        }
    }
    return false;
}

/* What the actor makes of its events: asks it, behind all that it has to do. */
static int64_t sum_of(world *w, axo_ref ref)
{
    static int64_t number = 1000000;
    int64_t sum = 0;
    w_tell(w, ref, W_SUM, ++number);
    W_UNTIL(w, has_said(w, number, &sum));
    return sum;
}

static void recovers(void **unused)
{
    world w;
    w_init(&w);
    w_open(&w);
    axo_ref ref = w_spawn_journal(&w, "j");
    W_UNTIL(&w, w.recovered == 1);
    for (int64_t i = 1; i <= 100; i++)
        w_tell(&w, ref, W_PUT, i);
    W_UNTIL(&w, w.applied == 100 && w.count == 100);
    assert_int_equal(sum_of(&w, ref), 5050);
    assert_int_equal(w_figures(&w).events, 100);
    w_close(&w);
    w_forget(&w);
    w_open(&w);
    ref = w_spawn_journal(&w, "j");
    assert_int_equal(sum_of(&w, ref), 5050); /* before the first message */
    assert_int_equal(w.applied, 100);
    assert_int_equal(w.recovered, 1);
    assert_int_equal(w.restored, 0);
    w_close(&w);
    w_fini(&w);
}

/* A handler that persists holds back what comes behind it, in order. */
static void waits_for_the_disk(void **unused)
{
    world w;
    w_init(&w);
    w_open(&w);
    axo_ref ref = w_spawn_journal(&w, "j");
    for (int64_t i = 1; i <= 50; i++) {
        w_tell(&w, ref, W_PUT, i);
        w_tell(&w, ref, W_SUM, i);
    }
    w_await(&w, 100);
    int64_t sum = 0;
    for (uint32_t i = 0; i < 100; i += 2) {
        assert_int_equal(w.seen[i].tag, W_PUT);
        assert_int_equal(w.seen[i].value, i / 2 + 1);
        sum += w.seen[i].value;
        assert_int_equal(w.seen[i + 1].tag, W_SUM);
        assert_int_equal(w.seen[i + 1].sum, sum);
    }
    w_close(&w);
    w_fini(&w);
}

static void snapshots(void **unused)
{
    world w;
    w_init(&w);
    w.snapshot_every = 30;
    w_open(&w);
    axo_ref ref = w_spawn_journal(&w, "j");
    for (int64_t i = 1; i <= 100; i++)
        w_tell(&w, ref, W_PUT, i);
    W_UNTIL(&w, w.applied == 100);
    w_close(&w);
    w_forget(&w);
    w.snapshot_every = 0;
    w_open(&w);
    ref = w_spawn_journal(&w, "j");
    assert_int_equal(sum_of(&w, ref), 5050);
    assert_int_equal(w.restored, 1);
    assert_int_equal(w.applied, 10);
    w_tell(&w, ref, W_SNAPSHOT, 0); /* in receive, too */
    w_tell(&w, ref, W_PUT, 1000);
    assert_int_equal(sum_of(&w, ref), 6050);
    w_close(&w);
    w_forget(&w);
    w_open(&w);
    ref = w_spawn_journal(&w, "j");
    assert_int_equal(sum_of(&w, ref), 6050);
    assert_int_equal(w.restored, 1);
    assert_int_equal(w.applied, 1);
    w_close(&w);
    w_fini(&w);
}

/* More than is in memory at a time. */
static void long_journal(void **unused)
{
    world w;
    w_init(&w);
    w.settings.loaded_max = 8;
    w_open(&w);
    axo_ref ref = w_spawn_journal(&w, "j");
    for (int64_t i = 1; i <= 500; i++)
        w_tell(&w, ref, W_PUT, i);
    W_UNTIL(&w, w.applied == 500);
    w_close(&w);
    w_forget(&w);
    w_open(&w);
    ref = w_spawn_journal(&w, "j");
    assert_int_equal(sum_of(&w, ref), 125250);
    assert_int_equal(w.applied, 500);
    w_close(&w);
    w_fini(&w);
}

/* A handler that fails has persisted nothing; the next instance recovers. */
static void failures_as(axo_directive answer)
{
    world w;
    w_init(&w);
    w.answer = answer;
    w_open(&w);
    axo_ref ref = w_spawn_journal(&w, "j");
    w_tell(&w, ref, W_PUT, 1);
    w_tell(&w, ref, W_PUT_FAIL, 10);
    w_tell(&w, ref, W_PUT, 100);
    w_await(&w, 3);
    assert_int_equal(sum_of(&w, ref), 101);
    W_UNTIL(&w, w.applied >= 2);
    assert_int_equal(w_figures(&w).events, 2);
    assert_int_equal(w.recovered, answer == AXO_RESTART ? 2 : 1);
    w_close(&w);
    w_fini(&w);
}

static void failures(void **unused)
{
    failures_as(AXO_RESTART);
    failures_as(AXO_RESUME);
}

static void apply_fails(void **unused)
{
    world w;
    w_init(&w);
    w_open(&w);
    axo_ref ref = w_spawn_journal(&w, "j");
    W_UNTIL(&w, w.recovered == 1);
    w.answer = AXO_STOP;
    (void)pthread_mutex_lock(&w.mutex);
    w.apply_fails = true;
    (void)pthread_mutex_unlock(&w.mutex);
    assert_int_equal(axo_system_send(w.system, w.other, 1000, &ref, sizeof ref), AXO_OK);
    w_tell(&w, ref, W_PUT, 5);
    W_UNTIL(&w, w.terminated == 1);
    w.apply_fails = false;
    ref = w_spawn_journal(&w, "j"); /* the event is on disk all the same */
    assert_int_equal(sum_of(&w, ref), 5);
    w_close(&w);
    w_fini(&w);
}

/* Durable messages to an actor with a journal: each is one event, whatever happens. */
static void durable_events(void **unused)
{
    world w;
    w_init(&w);
    w_open(&w);
    axo_ref ref = w_spawn_journal(&w, "j");
    for (int64_t i = 1; i <= 50; i++)
        (void)w_put(&w, "j", i % 10 == 0 ? W_FAIL_ONCE : W_PUT, i);
    (void)w_put(&w, "j", W_PUT_FAIL, 1000);
    W_UNTIL_STORE(&w, acknowledged, 50);
    W_UNTIL_STORE(&w, dead, 1);
    assert_int_equal(sum_of(&w, ref), 1275 - 150);
    assert_int_equal(w_figures(&w).events, 45);
    assert_int_equal(w_figures(&w).failed, 8);
    w_close(&w);
    w_fini(&w);
}

/* Stopped in the midst, again and again: what was acknowledged is in the journal. */
static void stopped_in_the_midst(void **unused)
{
    world w;
    w_init(&w);
    int64_t sent = 0;
    for (int round = 0; round < 20; round++) {
        w_open(&w);
        (void)w_spawn_journal(&w, "j");
        for (int64_t i = 0; i < 30; i++) {
            sent++;
            (void)w_put(&w, "j", W_PUT, sent);
        }
        w_close(&w);
    }
    w_forget(&w);
    w_open(&w);
    axo_ref ref = w_spawn_journal(&w, "j");
    (void)w_put(&w, "j", W_PUT, 0);
    int64_t sum = 0;
    for (uint32_t i = 0; sum != sent * (sent + 1) / 2 && i < 10000; i++)
        sum = sum_of(&w, ref);
    assert_int_equal(sum, sent * (sent + 1) / 2);
    w_close(&w);
    w_fini(&w);
}

static axo_status only_restores(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)ctx;
    (void)state;
    (void)message;
    return AXO_OK;
}

/* persist is for receive, and for who has a journal. */
static axo_status misuse_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    axo_status *said = *AXO_PAYLOAD(message, axo_status *);
    (void)state;
    said[0] = axo_journal_persist(ctx, 1, NULL, 0);
    said[1] = axo_journal_snapshot(ctx, NULL, 0);
    said[2] = axo_journal_number(ctx) == 0 ? AXO_OK : AXO_EINVAL;
    said[3] = axo_durable_become(ctx, NULL);
    said[4] = axo_durable_become(ctx, only_restores);
    said[5] = axo_durable_unbecome(ctx);
    return axo_reply(ctx, message, 2, NULL, 0);
}

static void misuse(void **unused)
{
    static const axo_class cls = AXO_CLASS(.receive = misuse_receive);
    world w;
    axo_ref ref;
    axo_asked asked;
    axo_status said[6];
    axo_status *to = said;
    w_init(&w);
    w_open(&w);
    axo_props props = AXO_PROPS(.cls = &cls);
    assert_int_equal(axo_system_spawn(w.system, &props, &ref), AXO_OK);
    assert_int_equal(axo_system_ask(w.system, ref, 1, &to, sizeof to, W_LONG, &asked), AXO_OK);
    axo_asked_free(w.system, &asked);
    const axo_status ordinary[] = {AXO_EINVAL, AXO_EINVAL, AXO_OK,
                                   AXO_EINVAL, AXO_EINVAL, AXO_EINVAL};
    assert_memory_equal(said, ordinary, sizeof said);
    axo_durable recipe = AXO_DURABLE(.store = w.store, .name = "a");
    assert_int_equal(axo_system_durable_spawn(w.system, &recipe, &props, &ref), AXO_OK);
    assert_int_equal(axo_system_ask(w.system, ref, 1, &to, sizeof to, W_LONG, &asked), AXO_OK);
    axo_asked_free(w.system, &asked);
    const axo_status durable[] = {AXO_EINVAL, AXO_EINVAL, AXO_OK, AXO_EINVAL, AXO_OK, AXO_OK};
    assert_memory_equal(said, durable, sizeof said);
    axo_journal none = AXO_JOURNAL(.restore = w_restore);
    recipe = (axo_durable)AXO_DURABLE(.store = w.store, .name = "b", .journal = &none);
    assert_int_equal(axo_system_durable_spawn(w.system, &recipe, &props, &ref), AXO_EINVAL);
    w_close(&w);
    w_fini(&w);
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(recovers),       cmocka_unit_test(waits_for_the_disk),
        cmocka_unit_test(snapshots),      cmocka_unit_test(long_journal),
        cmocka_unit_test(failures),       cmocka_unit_test(apply_fails),
        cmocka_unit_test(durable_events), cmocka_unit_test(stopped_in_the_midst),
        cmocka_unit_test(misuse),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return W_RUN(tests);
}
