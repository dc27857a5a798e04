/* es_test.c - the event stream: who gets which events (ES, PH-06, GU-12). */
#include <stdio.h>

#include "conformance/ear.h"
#include "conformance/parts.h"

#define ES_A UINT32_C(0x80000000)
#define ES_A_B UINT32_C(0x80010000)
#define ES_A_C UINT32_C(0x80020000)
#define ES_A_B_D UINT32_C(0x80010100)

static void es_publish(kit *k, uint32_t kind, int value)
{
    assert_int_equal(axo_system_publish(kit_system(k), kind, &value, sizeof value), AXO_OK);
}

static int es_value(ear *e, uint32_t n)
{
    int value;
    ear_event event = ear_get(e, AXO_KIND_ALL, n);
    assert_int_equal(event.head.size, sizeof value);
    memcpy(&value, event.data.bytes, sizeof value);
    return value;
}

static void ES_01(kit *k)
{
    axo_system *system = kit_system(k);
    ear *e = ear_new(k, "e");
    es_publish(k, ES_A, 1); /* nobody has asked */
    assert_int_equal(axo_system_subscribe(system, e->ref, ES_A_B), AXO_OK);
    assert_int_equal(axo_system_subscribe(system, e->ref, ES_A_B), AXO_EEXIST);
    assert_int_equal(axo_system_subscribe(system, e->ref, ES_A_B_D), AXO_EEXIST);
    assert_int_equal(axo_system_subscribe(system, axo_ref_none(), ES_A_B), AXO_EINVAL);
    es_publish(k, ES_A, 2);     /* wider than what it asked for */
    es_publish(k, ES_A_C, 3);   /* beside it */
    es_publish(k, ES_A_B, 4);
    es_publish(k, ES_A_B_D, 5); /* under it */
    ear_expect(e, AXO_KIND_ALL, 2);
    assert_int_equal(es_value(e, 0), 4);
    assert_int_equal(es_value(e, 1), 5);
    assert_int_equal(ear_get(e, AXO_KIND_ALL, 1).head.kind, ES_A_B_D);
    assert_int_equal(axo_system_unsubscribe(system, e->ref, ES_A_B), AXO_OK);
    assert_int_equal(axo_system_unsubscribe(system, e->ref, ES_A_B), AXO_ENOENT);
    es_publish(k, ES_A_B, 6);
    ear_expect(e, AXO_KIND_ALL, 2);
}

/* A wider and a narrower subscription of one actor: each event comes once. */
static void ES_01_once(kit *k)
{
    axo_system *system = kit_system(k);
    ear *e = ear_on(k, "e", ES_A_B);
    assert_int_equal(axo_system_subscribe(system, e->ref, ES_A), AXO_OK);
    es_publish(k, ES_A_B, 1);
    es_publish(k, ES_A_C, 2);
    ear_expect(e, AXO_KIND_ALL, 2);
    /* The wider one was all there is: it takes the narrower with it. */
    assert_int_equal(axo_system_unsubscribe(system, e->ref, ES_A), AXO_OK);
    es_publish(k, ES_A_B, 3);
    ear_expect(e, AXO_KIND_ALL, 2);
    assert_int_equal(axo_system_subscribe(system, e->ref, AXO_KIND_ALL), AXO_OK);
    es_publish(k, 0x90000000, 4);
    ear_await(e, 0x90000000, 1);
}

static axo_status es_all_in_context(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    ear *e = arg;
    int value = 7;
    axo_ctx *other = (axo_ctx *)(void *)&value;
    KIT_REQUIRE(self->k, axo_subscribe(ctx, e->ref, ES_A) == AXO_OK);
    KIT_REQUIRE(self->k, axo_subscribe(ctx, e->ref, ES_A) == AXO_EEXIST);
    KIT_REQUIRE(self->k, axo_subscribe(ctx, axo_ref_none(), ES_A) == AXO_EINVAL);
    KIT_REQUIRE(self->k, axo_subscribe(other, e->ref, ES_A) == AXO_ECONTEXT);
    KIT_REQUIRE(self->k, axo_publish(ctx, ES_A, &value, sizeof value) == AXO_OK);
    KIT_REQUIRE(self->k, axo_publish(other, ES_A, &value, sizeof value) == AXO_ECONTEXT);
    KIT_REQUIRE(self->k, axo_publish(ctx, AXO_KIND_LOG, NULL, 0) == AXO_EINVAL);
    KIT_REQUIRE(self->k, axo_publish(ctx, AXO_KIND_ALL, NULL, 0) == AXO_EINVAL);
    KIT_REQUIRE(self->k, axo_publish(ctx, ES_A, NULL, 1) == AXO_EINVAL);
    KIT_REQUIRE(self->k, axo_publish(ctx, ES_A, &value, AXO_PAYLOAD_MAX) == AXO_ETOOBIG);
    KIT_REQUIRE(self->k, axo_unsubscribe(other, e->ref, ES_A) == AXO_ECONTEXT);
    KIT_REQUIRE(self->k, axo_unsubscribe(ctx, axo_ref_none(), ES_A) == AXO_EINVAL);
    KIT_REQUIRE(self->k, axo_publish(ctx, AXO_KIND_SERVICES, NULL, 0) == AXO_OK);
    KIT_REQUIRE(self->k, axo_unsubscribe(ctx, e->ref, ES_A) == AXO_OK);
    KIT_REQUIRE(self->k, axo_unsubscribe(ctx, e->ref, ES_A) == AXO_ENOENT);
    kit_mark(self, "done", 0);
    return AXO_OK;
}

/* From inside an actor: the source is the publisher. */
static void ES_01_actor(kit *k)
{
    kit_script *a = part_start(k, "a");
    ear *e = ear_new(k, "e");
    kit_run(k, a, es_all_in_context, e);
    kit_await(k, "a.done");
    ear_expect(e, AXO_KIND_ALL, 1);
    ear_event event = ear_get(e, ES_A, 0);
    assert_true(axo_ref_equal(event.head.source, kit_ref(a)));
    assert_true(axo_ref_equal(event.sender, kit_ref(a)));
    assert_int_equal(axo_system_publish(NULL, ES_A, NULL, 0), AXO_EINVAL);
    assert_int_equal(axo_system_publish(kit_system(k), AXO_KIND_LOG, NULL, 0), AXO_EINVAL);
    assert_int_equal(axo_system_publish(kit_system(k), ES_A, NULL, 1), AXO_EINVAL);
    assert_int_equal(axo_system_publish(kit_system(k), ES_A, e, AXO_PAYLOAD_MAX), AXO_ETOOBIG);
    assert_int_equal(axo_system_subscribe(NULL, e->ref, ES_A), AXO_EINVAL);
    assert_int_equal(axo_system_unsubscribe(NULL, e->ref, ES_A), AXO_EINVAL);
    assert_int_equal(axo_system_unsubscribe(kit_system(k), axo_ref_none(), ES_A), AXO_EINVAL);
}

static void ES_02(kit *k)
{
    axo_system *system = kit_system(k);
    ear *e = ear_on(k, "e", ES_A);
    ear *f = ear_on(k, "f", ES_A);
    axo_stats before;
    assert_int_equal(axo_system_stop_actor(system, e->ref), AXO_OK);
    kit_await(k, "user.child_gone");
    before = kit_stats(k);
    es_publish(k, ES_A, 1);
    ear_expect(f, ES_A, 1);
    assert_int_equal(kit_stats(k).events, before.events + 1);
    assert_int_equal(kit_stats(k).dead, before.dead); /* DL-06 */
    assert_int_equal(axo_system_subscribe(system, e->ref, ES_A), AXO_EGONE);
    assert_int_equal(axo_system_unsubscribe(system, e->ref, ES_A), AXO_ENOENT);
}

/* A restart keeps the subscription. */
static void ES_02_restart(kit *k)
{
    ear *e = ear_on(k, "e", ES_A);
    e->answer = AXO_EFAILED;
    es_publish(k, ES_A, 1);
    es_publish(k, ES_A, 2);
    ear_await(e, ES_A, 2);
    e->answer = AXO_OK;
    es_publish(k, ES_A, 3);
    ear_expect(e, ES_A, 3);
    assert_int_equal(kit_stats(k).restarts, 2);
}

static void ES_03(kit *k)
{
    axo_system *system = kit_system(k);
    ear *e = ear_on(k, "e", ES_A);
    ear *f = ear_on(k, "f", ES_A);
    assert_int_equal(axo_system_unsubscribe(system, e->ref, ES_A_B), AXO_OK);
    assert_int_equal(axo_system_unsubscribe(system, e->ref, ES_A_B), AXO_ENOENT);
    es_publish(k, ES_A_B, 1);
    es_publish(k, ES_A_B_D, 2);
    es_publish(k, ES_A_C, 3);
    es_publish(k, ES_A, 4);
    ear_expect(e, AXO_KIND_ALL, 2); /* for the other kinds */
    assert_int_equal(es_value(e, 0), 3);
    assert_int_equal(es_value(e, 1), 4);
    ear_expect(f, AXO_KIND_ALL, 4); /* for the other subscriber */
    assert_int_equal(axo_system_subscribe(system, e->ref, ES_A_B_D), AXO_OK);
    es_publish(k, ES_A_B, 5);
    es_publish(k, ES_A_B_D, 6);
    ear_expect(e, AXO_KIND_ALL, 3);
    assert_int_equal(es_value(e, 2), 6);
    assert_int_equal(axo_system_subscribe(system, e->ref, ES_A), AXO_OK); /* fills the gap */
    assert_int_equal(axo_system_subscribe(system, e->ref, ES_A), AXO_EEXIST);
    es_publish(k, ES_A_B, 7);
    ear_expect(e, AXO_KIND_ALL, 4);
}

/* The limit of kinds, and that the refusal changes nothing. */
static void ES_03_limit(kit *k)
{
    axo_system *system = kit_system(k);
    ear *e = ear_new(k, "e");
    for (uint32_t i = 0; i < AXO_KINDS_MAX; i++)
        assert_int_equal(axo_system_subscribe(system, e->ref, ES_A + (i + 1) * 0x10000), AXO_OK);
    assert_int_equal(axo_system_subscribe(system, e->ref, 0x90000000), AXO_ELIMIT);
    assert_int_equal(axo_system_unsubscribe(system, e->ref, ES_A_B_D), AXO_ELIMIT);
    es_publish(k, 0x90000000, 1);
    es_publish(k, ES_A_B_D, 2);
    ear_expect(e, AXO_KIND_ALL, 1);
    assert_int_equal(axo_system_subscribe(system, e->ref, ES_A), AXO_OK); /* one instead of many */
    assert_int_equal(axo_system_subscribe(system, e->ref, 0x90000000), AXO_OK);
    for (uint32_t i = 0; i < 2 * AXO_KINDS_MAX; i++) { /* what is included again takes no place */
        const uint32_t kind = ES_A + (i + 1) * 0x10000;
        assert_int_equal(axo_system_unsubscribe(system, e->ref, kind), AXO_OK);
        assert_int_equal(axo_system_subscribe(system, e->ref, kind), AXO_OK);
    }
}

/* Without memory events are lost and counted, and supervision goes on. */
static void ES_04(kit *k)
{
    kit_script *a = part_start(k, "a");
    ear *e = ear_on(k, "e", AXO_KIND_SUPERVISION);
    static char much[2 * 1024 * 1024]; /* more than any cache of the pool has */
    kit_tell(k, a, KIT_FAIL, 7);
    ear_await(e, AXO_KIND_SUPERVISION, 1);
    assert_int_equal(axo_system_subscribe(kit_system(k), e->ref, ES_A), AXO_OK);
    kit_no_memory(k, true);
    assert_int_equal(axo_system_publish(kit_system(k), ES_A, much, sizeof much), AXO_OK);
    kit_no_memory(k, false);
    assert_int_equal(kit_stats(k).events_lost, 1);
    ear_expect(e, ES_A, 0);
    for (int i = 0; i < 20; i++)
        kit_tell(k, a, KIT_FAIL, 7);
    kit_tell(k, a, KIT_NOTE, 1);
    kit_no_memory(k, true);
    kit_await(k, "a#22.note(1)");
    kit_no_memory(k, false);
}

/* A subscriber with a bound that is full misses events; they are counted, and no dead letters. */
static void ES_04_full(kit *k)
{
    axo_mailbox box = AXO_MAILBOX(.messages_max = 2);
    ear *e = ear_new(k, "e");
    axo_props props = AXO_PROPS(.cls = &ear_class, .name = "full", .mailbox = &box, .args = &e,
                                .args_size = sizeof e);
    axo_ref ref;
    assert_int_equal(axo_system_spawn(kit_system(k), &props, &ref), AXO_OK);
    assert_int_equal(axo_system_subscribe(kit_system(k), ref, ES_A), AXO_OK);
    (void)pthread_mutex_lock(&e->lock); /* its handler waits there */
    for (int i = 0; i < 20; i++)
        es_publish(k, ES_A, i);
    axo_stats stats = kit_stats(k);
    (void)pthread_mutex_unlock(&e->lock);
    assert_int_equal(stats.events + stats.events_lost, 20);
    assert_in_range(stats.events, 2, 3); /* two that wait, and perhaps the one it is at */
    ear_await(e, ES_A, (uint32_t)stats.events);
    assert_int_equal(es_value(e, 0), 0);
    assert_int_equal(kit_stats(k).dead, 0);
    kit_finish(k);
}

/* A subscriber that fails for each event, or does not know them, harms only itself. */
static void ES_04_bad_subscriber(kit *k)
{
    kit_script *a = part_start(k, "a");
    ear *e = ear_on(k, "e", ES_A);
    ear *f = ear_on(k, "f", ES_A);
    ear *all = ear_on(k, "all", AXO_KIND_UNHANDLED);
    assert_int_equal(axo_system_subscribe(kit_system(k), f->ref, AXO_KIND_UNHANDLED), AXO_OK);
    e->answer = AXO_EFAILED;
    f->answer = AXO_UNHANDLED;
    axo_stats before = kit_stats(k);
    es_publish(k, ES_A, 1);
    ear_await(e, ES_A, 1);
    ear_await(f, ES_A, 1);
    kit_tell(k, a, KIT_NOTE, 1);
    kit_await(k, "a.note(1)");
    ear_expect(all, AXO_KIND_ALL, 0); /* an event is nobody's unhandled message */
    assert_int_equal(kit_stats(k).unhandled, before.unhandled);
}

/* Life-cycle events and log lines go through the stream. */
static void ES_04_life(kit *k)
{
    ear *e = ear_on(k, "e", AXO_KIND_LIFECYCLE);
    assert_int_equal(axo_system_subscribe(kit_system(k), e->ref, AXO_KIND_LOG), AXO_OK);
    kit_script *a = part_start(k, "a");
    kit_tell(k, a, KIT_FAIL, 7);
    kit_await(k, "a#2.preStart");
    axo_system_stop_actor(kit_system(k), kit_ref(a));
    ear_await(e, AXO_KIND_TERMINATED, 1);
    ear_expect(e, AXO_KIND_RESTARTED, 1);
    ear_expect(e, AXO_KIND_TERMINATED, 1);
    uint32_t started = 0; /* the first may be that of a guardian, or its own */
    while (!axo_ref_equal(ear_get(e, AXO_KIND_STARTED, started).head.source, kit_ref(a)))
        started++;
    ear_event life = ear_get(e, AXO_KIND_RESTARTED, 0);
    assert_true(axo_ref_equal(life.head.source, kit_ref(a)));
    assert_true(axo_ref_equal(life.data.life.actor, kit_ref(a)));
    assert_true(axo_ref_equal(life.data.life.parent,
                              axo_system_guardian(kit_system(k), AXO_GUARDIAN_USER)));
    assert_int_equal(life.data.life.instance, 2);
    assert_string_equal(life.data.life.path, "/user/a");
    assert_string_equal(ear_get(e, AXO_KIND_TERMINATED, 0).data.life.path, "/user/a");
    ear_expect(e, AXO_KIND_LOG, 1);
    ear_event line = ear_get(e, AXO_KIND_LOG_ERROR, 0);
    assert_true(axo_ref_equal(line.head.source, kit_ref(a)));
    assert_int_equal(line.data.log.level, AXO_LOG_ERROR);
    assert_string_equal(line.data.log.text,
                        "restart: /user/a (puppet) failed in receive of tag 6: code 7 "
                        "\"failed 7\" (ordinary)");
}

static axo_event_supervision es_decision(ear *e, uint32_t kind)
{
    ear_await(e, kind, 1);
    ear_event event = ear_get(e, kind, 0);
    assert_int_equal(event.head.size, sizeof event.data.supervision);
    assert_true(axo_ref_equal(event.head.source, event.data.supervision.child));
    return event.data.supervision;
}

/* Each decision but Escalate is a supervision event; a Restart beyond the budget is a Stop. */
static void PH_06_events(kit *k)
{
    kit_script *p = kit_actor(k, "p");
    kit_script *c = kit_actor(k, "c");
    p->pre_start.spawn[0] = c;
    p->strategy = (axo_strategy)AXO_STRATEGY(.limited = 1, .retries_max = 1, .within_ns = -1);
    ear *e = ear_on(k, "e", AXO_KIND_SUPERVISION);
    assert_int_equal(axo_system_subscribe(kit_system(k), e->ref, AXO_KIND_ESCALATION), AXO_OK);
    kit_spawn(k, p);
    kit_await(k, "c.preStart");
    kit_tell(k, c, KIT_FAIL, KIT_DO_RESUME);
    axo_event_supervision told = es_decision(e, AXO_KIND_SUPERVISION_RESUME);
    assert_true(axo_ref_equal(told.child, kit_ref(c)));
    assert_true(axo_ref_equal(told.parent, kit_ref(p)));
    assert_true(axo_ref_equal(told.actor, kit_ref(c)));
    assert_int_equal(told.directive, AXO_RESUME);
    assert_int_equal(told.code, KIT_DO_RESUME);
    assert_int_equal(told.kind, AXO_FAILURE_ORDINARY);
    assert_int_equal(told.site, AXO_SITE_RECEIVE);
    assert_string_equal(told.path, "/user/p/c");
    kit_tell(k, c, KIT_FAIL, KIT_DO_RESTART);
    told = es_decision(e, AXO_KIND_SUPERVISION_RESTART);
    assert_int_equal(told.directive, AXO_RESTART);
    assert_int_equal(told.decided, AXO_RESTART);
    kit_tell(k, c, KIT_FAIL, KIT_DO_RESTART); /* the budget is spent */
    told = es_decision(e, AXO_KIND_SUPERVISION_STOP);
    assert_int_equal(told.directive, AXO_STOP);
    assert_int_equal(told.decided, AXO_RESTART);
    kit_await(k, "p.child_gone(c)");
    ear_expect(e, AXO_KIND_SUPERVISION, 3);
    ear_expect(e, AXO_KIND_ESCALATION, 0);
}

/* An escalation is told of, but not as a decision; the parent's own one carries the first cause. */
static void PH_06_escalate(kit *k)
{
    kit_script *p = kit_actor(k, "p");
    kit_script *c = kit_actor(k, "c");
    p->pre_start.spawn[0] = c;
    ear *e = ear_on(k, "e", AXO_KIND_SUPERVISION);
    assert_int_equal(axo_system_subscribe(kit_system(k), e->ref, AXO_KIND_ESCALATION), AXO_OK);
    kit_spawn(k, p);
    kit_await(k, "c.preStart");
    axo_ref first = kit_ref(c);
    kit_tell(k, c, KIT_FAIL, KIT_DO_ESCALATE);
    axo_event_supervision told = es_decision(e, AXO_KIND_SUPERVISION_RESTART);
    assert_true(axo_ref_equal(told.child, kit_ref(p)));
    assert_true(axo_ref_equal(told.actor, first));
    kit_await(k, "p#2.preStart");
    ear_expect(e, AXO_KIND_SUPERVISION, 1);
    ear_expect(e, AXO_KIND_ESCALATION, 1);
    told = ear_get(e, AXO_KIND_ESCALATION, 0).data.supervision;
    assert_int_equal(told.directive, AXO_ESCALATE);
    assert_true(axo_ref_equal(told.child, first));
}

/* What the guardians do not know is told as unhandled. */
static void GU_12_events(kit *k)
{
    static const char *const paths[] = {"/", "/user", "/system"};
    ear *e = ear_on(k, "e", AXO_KIND_UNHANDLED);
    for (uint32_t i = 0; i < 3; i++) {
        axo_ref guardian = axo_system_guardian(kit_system(k), (axo_guardian)i);
        assert_int_equal(axo_system_send(kit_system(k), guardian, 1001, "word", 5), AXO_OK);
        ear_await(e, AXO_KIND_UNHANDLED, i + 1);
        axo_event_unhandled told = ear_get(e, AXO_KIND_UNHANDLED, i).data.unhandled;
        assert_true(axo_ref_equal(told.recipient, guardian));
        assert_true(axo_ref_is_none(told.sender));
        assert_int_equal(told.tag, 1001);
        assert_int_equal(told.size, 5);
        assert_int_equal(told.head_size, 5);
        assert_string_equal((const char *)told.head, "word");
        assert_string_equal(told.path, paths[i]);
    }
    assert_int_equal(kit_stats(k).dead, 0);
    assert_int_equal(kit_stats(k).unhandled, 3);
}

static const struct CMUnitTest tests[] = {
    KIT_TEST("ES-01", ES_01),
    KIT_TEST("ES-01 once", ES_01_once),
    KIT_TEST("ES-01 actor", ES_01_actor),
    KIT_TEST("ES-02", ES_02),
    KIT_TEST("ES-02 restart", ES_02_restart),
    KIT_TEST("ES-03", ES_03),
    KIT_TEST("ES-03 limit", ES_03_limit),
    KIT_TEST("ES-04", ES_04),
    KIT_TEST("ES-04 full", ES_04_full),
    KIT_TEST("ES-04 subscriber", ES_04_bad_subscriber),
    KIT_TEST("ES-04 life", ES_04_life),
    KIT_TEST("PH-06 events", PH_06_events),
    KIT_TEST("PH-06 escalate", PH_06_escalate),
    KIT_TEST("GU-12 events", GU_12_events),
};
TEST_MAIN(tests)
