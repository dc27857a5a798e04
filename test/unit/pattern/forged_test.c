/* forged_test.c - messages to services with tags of their own that they have not sent: every inner
 * tag, with payloads of every form, from everybody, and forwarded. None is taken for the service's
 * own, none crashes, and the service then does what it was there for, at its time. */
#include <stdio.h>

#include "api/service.h"
#include "pattern/router.h"
#include "pattern/wait.h"

enum { FORMS = 7, SENDERS = 5 };

/* The inner tags of all services, and of each public one of theirs the first and last. */
static const uint32_t f_tags[] = {
    AXO__TAG_WAIT_OVER,     AXO__TAG_CALL_OPEN,      AXO_TAG_SERVICES + 0x11, /* phases run */
    AXO_TAG_SERVICES + 0x12, /* phases call */       AXO_TAG_SERVICES + 0x25, /* keeper start */
    AXO_TAG_SERVICES + 0x26, /* keeper reset */      AXO_TAG_SERVICES + 0x27, /* keeper window */
    AXO__TAG_ROUTER_LOOK,   AXO__TAG_GATHER_OVER,    AXO_STATE_TIMEOUT,
    AXO_TAG_SERVICES + 0x60, /* testkit watch */
};
enum { F_TAGS = sizeof f_tags / sizeof f_tags[0] };

typedef struct f_world {
    sv_host host;     /* who uses the service */
    axo_ref target;   /* who never answers */
    axo_ref asked_by; /* the sender that it has seen last */
    axo_ref stale;
    axo_ref relay;    /* a router before the service */
    uint32_t handed;
    uint32_t freed;
    uint32_t sent;
    uint32_t seen;    /* by the target */
    bool answers;
} f_world;

static f_world f;

/* ---- the world ---- */

static axo_status f_target_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    f.seen++;
    f.asked_by = message->sender;
    if (message->tag == SV_FAIL)
        return axo_fail(ctx, 3, "as told");
    if (message->tag == SV_QUIT)
        return axo_stop_self(ctx);
    if (f.answers)
        (void)axo_reply(ctx, message, SV_NOTE, "yes", 4);
    return AXO_OK;
}

static const axo_class f_target_class = AXO_CLASS(.name = "target", .receive = f_target_receive);
static const axo_props f_target_props = AXO_PROPS(.cls = &f_target_class);

static void f_start(void)
{
    axo_ref gone;
    memset(&f, 0, sizeof f);
    sv_start(&f.host, NULL);
    assert_int_equal(axo_system_spawn(f.host.system, &f_target_props, &f.target), AXO_OK);
    assert_int_equal(axo_system_spawn(f.host.system, &f_target_props, &gone), AXO_OK);
    (void)axo_testkit_run(f.host.kit);
    assert_int_equal(axo_system_stop_actor(f.host.system, gone), AXO_OK);
    (void)axo_testkit_run(f.host.kit);
    f.stale = gone;
}

static void f_end(void)
{
    assert_int_equal(f.freed, f.handed);
    sv_end(&f.host);
    assert_int_equal(f.freed, f.handed);
}

/* ---- forgeries ---- */

static void f_free(void *payload, void *user)
{
    assert_ptr_equal(user, &f);
    memset(payload, 0xdd, 64);
    free(payload);
    f.freed++;
}

static void f_free_nothing(void *payload, void *user)
{
    assert_ptr_equal(user, &f);
    assert_ptr_equal(payload, (void *)(uintptr_t)24);
    f.freed++;
}

static void f_hand_over(axo_ref to, uint32_t tag, size_t size)
{
    void *block = malloc(64);
    assert_non_null(block);
    memset(block, 0xee, 64);
    axo_status status = axo_system_send_owned(f.host.system, to, tag, block, size, f_free, &f);
    f.handed++;
    assert_true(status == AXO_OK || status == AXO_EGONE);
}

static axo_ref f_sender(axo_ref service, uint32_t which)
{
    const axo_ref senders[SENDERS] = {axo_ref_none(), service, f.stale, f.target,
                                      {.bits = service.bits | UINT64_C(1) << 63}};
    return senders[which];
}

/* One of each form; a payload that is handed over has no sender. */
static void f_forge(axo_ref to, axo_ref service, uint32_t tag, uint32_t form, uint32_t sender)
{
    static const uint8_t bytes[256] = {0xee, 0xee, 0xee, 0xee};
    static const size_t sizes[] = {0, 1, 4, 8, 256};
    f.sent++;
    if (form == 5) {
        f_hand_over(to, tag, 64);
    } else if (form == 6) { /* a handle, not to be looked at */
        axo_status status = axo_system_send_owned(f.host.system, to, tag, (void *)(uintptr_t)24, 0,
                                                  f_free_nothing, &f);
        f.handed++;
        assert_true(status == AXO_OK || status == AXO_EGONE);
    } else {
        axo_status status = axo_system_send_from(f.host.system, f_sender(service, sender), to, tag,
                                                 bytes, sizes[form]);
        assert_true(status == AXO_OK || status == AXO_EGONE);
    }
}

/* Every form from everybody, straight and by way of a router. */
static void f_forge_tag(axo_ref service, uint32_t tag)
{
    for (uint32_t form = 0; form < FORMS; form++) {
        for (uint32_t sender = 0; sender < SENDERS; sender++) {
            f_forge(service, service, tag, form, sender);
            if (!axo_ref_is_none(f.relay) && tag != AXO__TAG_ROUTER_LOOK)
                f_forge(f.relay, service, tag, form, sender);
            (void)axo_testkit_run(f.host.kit);
        }
    }
}

static void f_forge_all(axo_ref service)
{
    for (uint32_t i = 0; i < F_TAGS; i++)
        f_forge_tag(service, f_tags[i]);
}

static void f_relay_to(const axo_ref *service)
{
    axo_router settings = AXO_ROUTER(.routees = service, .routees_count = 1);
    axo_props props;
    assert_int_equal(axo_router_props(&settings, "relay", &props), AXO_OK);
    assert_int_equal(axo_system_spawn(f.host.system, &props, &f.relay), AXO_OK);
    (void)axo_testkit_run(f.host.kit);
}

static uint64_t f_unhandled(void)
{
    axo_stats stats = AXO_STATS(.sent = 0);
    assert_int_equal(axo_system_stats(f.host.system, &stats), AXO_OK);
    return stats.unhandled;
}

/* ---- waiting children ---- */

static void f_ask(axo_ctx *ctx, sv_host *host, void *arg)
{
    assert_int_equal(axo_ask(ctx, f.target, SV_ASKED, NULL, 0, SV_S, *(const uint64_t *)arg),
                     AXO_OK);
}

/* Its own tick, a request that takes it back, an event: nothing ends it but an answer. */
static void an_ask_goes_on(void **state)
{
    uint64_t id = 5;
    f_start();
    int64_t since = axo_testkit_now(f.host.kit);
    sv_do(&f.host, f_ask, &id);
    axo_ref child = f.asked_by;
    f_relay_to(&child);
    uint64_t unhandled = f_unhandled();
    f_forge_tag(child, AXO__TAG_WAIT_OVER);
    assert_int_equal(axo_system_subscribe(f.host.system, child, AXO_KIND_USER), AXO_OK);
    assert_int_equal(axo_system_publish(f.host.system, AXO_KIND_USER, "event", 6), AXO_OK);
    (void)axo_testkit_advance(f.host.kit, SV_S / 2);
    f_forge_tag(child, AXO__TAG_WAIT_OVER);
    assert_int_equal(f.host.count, 0);
    assert_int_equal(f_unhandled() - unhandled, f.sent);
    (void)axo_testkit_advance(f.host.kit, SV_S);
    const sv_row *row = sv_only(&f.host, 0);
    assert_int_equal(row->tag, AXO_ASK_FAILED);
    assert_int_equal(row->status, AXO_ETIMEDOUT);
    assert_in_range(row->at - since, SV_S, SV_S + AXO_TICK_NS);
    f_end();
}

/* A stranger who takes an ask for one that was refused does not silence it. */
static void an_ask_is_not_taken_back(void **state)
{
    uint64_t id = 6;
    f_start();
    sv_do(&f.host, f_ask, &id);
    axo_ref child = f.asked_by;
    axo_ref voided = {.bits = child.bits | UINT64_C(1) << 63};
    assert_int_equal(axo_system_send_from(f.host.system, voided, child, SV_ASKED, NULL, 0), AXO_OK);
    (void)axo_testkit_run(f.host.kit);
    const sv_row *row = sv_only(&f.host, 0); /* an answer, as any other */
    assert_int_equal(row->tag, AXO_ASK_ANSWER);
    assert_int_equal(row->id, 6);
    f_end();
}

static void f_stop(axo_ctx *ctx, sv_host *host, void *arg)
{
    axo_farewell farewell = AXO_FAREWELL(.kind = AXO_FAREWELL_MESSAGE, .tag = SV_ASKED);
    assert_int_equal(axo_graceful_stop(ctx, f.target, &farewell, SV_S, 8), AXO_OK);
    assert_int_equal(axo_children(ctx, &host->sender, 1), 1);
}

static void a_graceful_stop_goes_on(void **state)
{
    f_start();
    int64_t since = axo_testkit_now(f.host.kit);
    sv_do(&f.host, f_stop, NULL);
    axo_ref child = f.host.sender;
    f_relay_to(&child);
    uint64_t unhandled = f_unhandled();
    f_forge_all(child);
    assert_int_equal(f_unhandled() - unhandled, f.sent);
    assert_int_equal(f.host.count, 0);
    (void)axo_testkit_advance(f.host.kit, 2 * SV_S);
    const sv_row *row = sv_only(&f.host, 0);
    assert_int_equal(row->tag, AXO_STOP_ENDED);
    assert_int_equal(row->status, AXO_ETIMEDOUT);
    assert_in_range(row->at - since, SV_S, SV_S + AXO_TICK_NS);
    f_end();
}

/* ---- back-off supervisors ---- */

static const axo_backoff f_delays = AXO_BACKOFF(.min_ns = SV_S, .max_ns = 8 * SV_S);

static axo_ref f_keeper(axo_backoff_when when, int64_t within_ns)
{
    axo_backoff_supervisor settings = AXO_BACKOFF_SUPERVISOR(
        .child = &f_target_props, .backoff = &f_delays, .when = when, .within_ns = within_ns);
    axo_props props;
    axo_ref keeper;
    assert_int_equal(axo_backoff_supervisor_props(&settings, "keeper", &props), AXO_OK);
    assert_int_equal(axo_system_spawn(f.host.system, &props, &keeper), AXO_OK);
    (void)axo_testkit_run(f.host.kit);
    f_relay_to(&keeper);
    return keeper;
}

/* What the keeper answers: its child, none, or its count. */
static uint64_t f_keeper_says(axo_ref keeper, uint32_t question)
{
    static uint32_t names;
    char name[16];
    uint64_t said = 0;
    (void)snprintf(name, sizeof name, "p%u", (unsigned)names++);
    axo_probe *probe = axo_probe_new(f.host.kit, name);
    assert_int_equal(axo_probe_send(probe, keeper, question, NULL, 0), AXO_OK);
    const axo_message *answer = axo_probe_receive(probe, 0);
    assert_non_null(answer);
    memcpy(&said, answer->payload, answer->size);
    return said;
}

/* In a delay nobody starts the child before its time, and nobody twice. */
static void a_delay_lasts(void **state)
{
    f_start();
    axo_ref keeper = f_keeper(AXO_ON_STOP, 0);
    assert_int_equal(axo_system_send(f.host.system, keeper, SV_QUIT, NULL, 0), AXO_OK);
    (void)axo_testkit_run(f.host.kit);
    f_forge_all(keeper);
    assert_int_equal(f_keeper_says(keeper, AXO_BACKOFF_GET_CHILD), 0);
    assert_int_equal(f_keeper_says(keeper, AXO_BACKOFF_GET_COUNT), 1);
    (void)axo_testkit_advance(f.host.kit, SV_S - SV_MS);
    f_forge_all(keeper);
    assert_int_equal(f_keeper_says(keeper, AXO_BACKOFF_GET_CHILD), 0);
    (void)axo_testkit_advance(f.host.kit, 2 * SV_MS);
    uint64_t child = f_keeper_says(keeper, AXO_BACKOFF_GET_CHILD);
    assert_int_not_equal(child, 0);
    uint32_t seen = f.seen;
    uint32_t sent = f.sent;
    f_forge_all(keeper); /* to the child: it is as any message */
    assert_int_equal(f.seen - seen, f.sent - sent);
    assert_true(f_keeper_says(keeper, AXO_BACKOFF_GET_CHILD) == child);
    assert_int_equal(f_keeper_says(keeper, AXO_BACKOFF_GET_COUNT), 1); /* no reset */
    (void)axo_testkit_advance(f.host.kit, SV_S);
    assert_int_equal(f_keeper_says(keeper, AXO_BACKOFF_GET_COUNT), 0); /* BO-14, at its time */
    f_end();
}

/* A window is not closed by anybody, and opens anew when it was. */
static void a_window_lasts(void **state)
{
    f_start();
    axo_ref keeper = f_keeper(AXO_ON_FAILURE, 3 * SV_S);
    assert_int_equal(axo_system_send(f.host.system, keeper, SV_FAIL, NULL, 0), AXO_OK);
    (void)axo_testkit_run(f.host.kit);
    f_forge_all(keeper);
    assert_int_equal(f_keeper_says(keeper, AXO_BACKOFF_GET_COUNT), 1);
    (void)axo_testkit_advance(f.host.kit, SV_S + SV_MS);
    assert_int_equal(axo_system_send(f.host.system, keeper, SV_FAIL, NULL, 0), AXO_OK);
    (void)axo_testkit_run(f.host.kit);
    assert_int_equal(f_keeper_says(keeper, AXO_BACKOFF_GET_COUNT), 2);
    f_forge_tag(keeper, AXO_TAG_SERVICES + 0x27);
    (void)axo_testkit_advance(f.host.kit, SV_S + SV_S / 2);
    assert_int_equal(f_keeper_says(keeper, AXO_BACKOFF_GET_COUNT), 2);
    (void)axo_testkit_advance(f.host.kit, SV_S);
    assert_int_equal(f_keeper_says(keeper, AXO_BACKOFF_GET_COUNT), 0);
    f_end();
}

/* Who subscribes a supervisor does not have it answer for its child that is absent. */
static void f_publish(axo_ctx *ctx, sv_host *host, void *arg)
{
    assert_int_equal(axo_publish(ctx, AXO_KIND_USER, "event", 6), AXO_OK);
}

static void an_event_is_not_passed_on(void **state)
{
    axo_backoff_supervisor settings = AXO_BACKOFF_SUPERVISOR(
        .child = &f_target_props, .backoff = &f_delays, .when = AXO_ON_STOP,
        .absent = AXO_ABSENT_REPLY, .absent_tag = SV_NOTE);
    axo_props props;
    axo_ref keeper;
    f_start();
    assert_int_equal(axo_backoff_supervisor_props(&settings, "keeper", &props), AXO_OK);
    assert_int_equal(axo_system_spawn(f.host.system, &props, &keeper), AXO_OK);
    assert_int_equal(axo_system_subscribe(f.host.system, keeper, AXO_KIND_USER), AXO_OK);
    (void)axo_testkit_run(f.host.kit);
    uint32_t seen = f.seen;
    sv_do(&f.host, f_publish, NULL);
    assert_int_equal(f.seen, seen);
    assert_int_equal(axo_system_send(f.host.system, keeper, SV_QUIT, NULL, 0), AXO_OK);
    (void)axo_testkit_run(f.host.kit);
    sv_do(&f.host, f_publish, NULL);
    assert_int_equal(f.host.count, 0); /* nobody has asked anything */
    assert_int_equal(axo_system_send_from(f.host.system, f.host.ref, keeper, SV_ASKED, NULL, 0),
                     AXO_OK);
    (void)axo_testkit_run(f.host.kit);
    assert_int_equal(sv_only(&f.host, 0)->tag, SV_NOTE);
    f_end();
}

/* Two without a child, each with a tag of its own for what it says then. */
static void f_absent_pair(uint32_t second_tag, axo_ref keepers[2])
{
    axo_backoff_supervisor settings = AXO_BACKOFF_SUPERVISOR(
        .child = &f_target_props, .backoff = &f_delays, .when = AXO_ON_STOP,
        .absent = AXO_ABSENT_REPLY, .absent_tag = SV_NOTE);
    f_start();
    for (uint32_t i = 0; i < 2; i++) {
        axo_props props;
        assert_int_equal(axo_backoff_supervisor_props(&settings, NULL, &props), AXO_OK);
        assert_int_equal(axo_system_spawn(f.host.system, &props, &keepers[i]), AXO_OK);
        assert_int_equal(axo_system_send(f.host.system, keepers[i], SV_QUIT, NULL, 0), AXO_OK);
        (void)axo_testkit_run(f.host.kit);
        settings.absent_tag = second_tag;
    }
}

/* What is sent in its own name, or by another one that has no child either, is not answered and
 * answered without end, whatever their answers are called. */
static void absent_ones_do_not_talk(void **state)
{
    static const uint32_t second_tags[] = {SV_NOTE, SV_ASKED + 1};
    for (uint32_t i = 0; i < 2; i++) {
        axo_ref keepers[2];
        f_absent_pair(second_tags[i], keepers);
        for (uint32_t from = 0; from < 2; from++) {
            for (uint32_t to = 0; to < 2; to++) {
                assert_int_equal(axo_system_send_from(f.host.system, keepers[from], keepers[to],
                                                      SV_ASKED, NULL, 0),
                                 AXO_OK);
                assert_in_range(axo_testkit_step(f.host.kit, 1000), 1, 20);
            }
        }
        f_end();
    }
}

/* An answer that nobody has thought of has nobody as its sender; one to a question has. */
static void an_absent_one_answers_as_nobody(void **state)
{
    axo_ref keepers[2];
    f_absent_pair(SV_NOTE, keepers);
    axo_probe *probe = axo_probe_new(f.host.kit, "asks");
    assert_int_equal(axo_probe_send(probe, keepers[0], SV_ASKED, NULL, 0), AXO_OK);
    const axo_message *answer = axo_probe_expect(probe, SV_NOTE, 0);
    assert_non_null(answer);
    assert_int_equal(answer->size, 0);
    assert_true(axo_ref_is_none(answer->sender));
    assert_int_equal(axo_probe_send(probe, keepers[0], AXO_BACKOFF_GET_COUNT, NULL, 0), AXO_OK);
    answer = axo_probe_expect(probe, AXO_BACKOFF_COUNT, 0);
    assert_non_null(answer);
    assert_true(axo_ref_equal(answer->sender, keepers[0]));
    f_end();
}

/* ---- routers ---- */

static uint32_t f_pool_size(axo_ref router)
{
    static uint32_t names;
    char name[16];
    (void)snprintf(name, sizeof name, "q%u", (unsigned)names++);
    axo_probe *probe = axo_probe_new(f.host.kit, name);
    assert_int_equal(axo_probe_send(probe, router, AXO_ROUTER_GET_ROUTEES, NULL, 0), AXO_OK);
    const axo_message *answer = axo_probe_receive(probe, 0);
    assert_non_null(answer);
    return answer->size / (uint32_t)sizeof(axo_ref);
}

/* The resizer looks at its times. */
static void a_pool_keeps_its_size(void **state)
{
    static const axo_resizer resizer =
        AXO_RESIZER(.routees_min = 1, .routees_max = 8, .interval_ns = SV_S, .messages = 100000);
    axo_router settings = AXO_ROUTER(.pool = 8, .child = &f_target_props, .resizer = &resizer,
                                     .removal_delay_ns = -1);
    axo_props props;
    axo_ref pool;
    f_start();
    assert_int_equal(axo_router_props(&settings, "pool", &props), AXO_OK);
    assert_int_equal(axo_system_spawn(f.host.system, &props, &pool), AXO_OK);
    (void)axo_testkit_run(f.host.kit);
    f_forge_tag(pool, AXO__TAG_ROUTER_LOOK);
    assert_int_equal(f_pool_size(pool), 8);
    for (uint32_t i = 1; i <= 3; i++) {
        (void)axo_testkit_advance(f.host.kit, SV_S - SV_MS);
        f_forge_all(pool);
        assert_int_equal(f_pool_size(pool), 9 - i);
        (void)axo_testkit_advance(f.host.kit, SV_MS + AXO_TICK_NS);
        assert_int_equal(f_pool_size(pool), 8 - i);
        f_forge_tag(pool, AXO__TAG_ROUTER_LOOK);
        assert_int_equal(f_pool_size(pool), 8 - i);
    }
    f_end();
}

static axo_ref f_gather_named(const char *name, int64_t within_ns)
{
    axo_router settings = AXO_ROUTER(.logic = AXO_ROUTE_GATHER_FIRST, .pool = 2,
                                     .child = &f_target_props, .within_ns = within_ns);
    axo_props props;
    axo_ref router;
    assert_int_equal(axo_router_props(&settings, name, &props), AXO_OK);
    assert_int_equal(axo_system_spawn(f.host.system, &props, &router), AXO_OK);
    (void)axo_testkit_run(f.host.kit);
    return router;
}

static axo_ref f_gather(int64_t within_ns)
{
    return f_gather_named("gather", within_ns);
}

/* Nobody says before the time that no answer has come. */
static void a_gatherer_waits(void **state)
{
    f_start();
    axo_ref router = f_gather(SV_S);
    int64_t since = axo_testkit_now(f.host.kit);
    assert_int_equal(axo_system_send_from(f.host.system, f.host.ref, router, SV_ASKED, NULL, 0),
                     AXO_OK);
    (void)axo_testkit_run(f.host.kit);
    assert_int_equal(f.seen, 2);
    f_forge_tag(f.asked_by, AXO__TAG_GATHER_OVER);
    (void)axo_testkit_advance(f.host.kit, SV_S - SV_MS);
    f_forge_tag(f.asked_by, AXO__TAG_GATHER_OVER);
    assert_int_equal(f.host.count, 0);
    (void)axo_testkit_advance(f.host.kit, SV_S);
    assert_int_equal(sv_only(&f.host, 0)->tag, AXO_ROUTER_NO_ANSWER);
    assert_in_range(f.host.rows[0].at - since, SV_S, SV_S + AXO_TICK_NS);
    f_end();
}

/* That no answer has come is no question: two who gather, each the sender of what the other got,
 * pass it on and do not wait for an answer to it; nor does one who asks itself. */
static void gatherers_do_not_talk(void **state)
{
    for (uint32_t other = 0; other < 2; other++) {
        f_start();
        axo_ref router = f_gather(SV_MS);
        axo_ref asker = other == 1 ? f_gather_named("other", SV_MS) : router;
        assert_int_equal(axo_system_send_from(f.host.system, asker, router, SV_ASKED, NULL, 0),
                         AXO_OK);
        (void)axo_testkit_advance(f.host.kit, SV_S);
        assert_int_equal(f.seen, 4); /* the request, and that nobody has answered it */
        assert_true(axo_ref_equal(f.asked_by, router));
        f_end();
    }
}

/* A routee knows who gathers, and may have it fail: the asker is told once all the same. */
static void a_gatherer_is_made_to_fail(void **state)
{
    static const axo_failure_kind kinds[] = {AXO_FAILURE_ORDINARY, AXO_FAILURE_KILLED};
    for (uint32_t i = 0; i < 2; i++) {
        f_start();
        axo_ref router = f_gather(SV_S);
        assert_int_equal(axo_system_send_from(f.host.system, f.host.ref, router, SV_ASKED, NULL,
                                              0),
                         AXO_OK);
        (void)axo_testkit_run(f.host.kit);
        axo_status status = kinds[i] == AXO_FAILURE_KILLED
                                ? axo_system_kill(f.host.system, f.asked_by)
                                : axo_system_fail(f.host.system, f.asked_by, kinds[i], 4);
        assert_int_equal(status, AXO_OK);
        (void)axo_testkit_advance(f.host.kit, 2 * SV_S);
        assert_int_equal(sv_only(&f.host, 0)->tag, AXO_ROUTER_NO_ANSWER);
        f_end();
    }
}

/* ---- machines ---- */

static axo_machine f_machine;
static uint32_t f_timeouts;

static axo_status f_state_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    f_timeouts += message->tag == AXO_STATE_TIMEOUT;
    if (message->tag == AXO_STATE_TIMEOUT)
        return axo_machine_goto(ctx, &f_machine, 1);
    return message->tag == SV_QUIT ? axo_machine_goto(ctx, &f_machine, 0) : AXO_OK;
}

static const axo_machine_state f_states[] = {
    {.name = "timed", .receive = f_state_receive, .timeout_ns = SV_S},
    {.name = "calm", .receive = f_state_receive},
};
static const axo_machine_table f_table = AXO_MACHINE_TABLE(f_states, 0);

static axo_status f_machine_start(axo_ctx *ctx, void *state)
{
    f_machine = (axo_machine){.table = NULL};
    return axo_machine_start(ctx, &f_machine, &f_table, state);
}

static axo_status f_machine_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    return axo_machine_receive(ctx, &f_machine, state, message);
}

/* A state lasts as long as it says, and one without a timeout gets none. */
static void a_state_lasts(void **state)
{
    static const axo_class cls =
        AXO_CLASS(.name = "machine", .pre_start = f_machine_start, .receive = f_machine_receive);
    axo_props props = AXO_PROPS(.cls = &cls);
    axo_ref ref;
    f_start();
    f_timeouts = 0;
    assert_int_equal(axo_system_spawn(f.host.system, &props, &ref), AXO_OK);
    (void)axo_testkit_run(f.host.kit);
    f_relay_to(&ref);
    uint64_t unhandled = f_unhandled();
    f_forge_tag(ref, AXO_STATE_TIMEOUT);
    assert_int_equal(f_unhandled() - unhandled, f.sent);
    assert_int_equal(axo_machine_current(&f_machine), 0);
    (void)axo_testkit_advance(f.host.kit, SV_S + AXO_TICK_NS);
    assert_int_equal(f_timeouts, 1);
    assert_int_equal(axo_machine_current(&f_machine), 1);
    f_forge_all(ref);
    assert_int_equal(f_timeouts, 1);
    assert_int_equal(axo_system_send(f.host.system, ref, SV_QUIT, NULL, 0), AXO_OK);
    (void)axo_testkit_run(f.host.kit);
    assert_int_equal(axo_machine_current(&f_machine), 0);
    (void)axo_testkit_advance(f.host.kit, SV_S + AXO_TICK_NS);
    assert_int_equal(f_timeouts, 2);
    f_end();
}

/* ---- probes ---- */

/* Whatever a probe is sent it keeps; it watches only whom its test has it watch. */
static void a_probe_keeps_everything(void **state)
{
    f_start();
    axo_probe *probe = axo_probe_new(f.host.kit, "probe");
    axo_ref self = axo_probe_ref(probe);
    f_relay_to(&self);
    f_forge_all(self);
    assert_int_equal(axo_system_send(f.host.system, self, AXO_TAG_SERVICES + 0x60, &f.target,
                                     sizeof f.target),
                     AXO_OK);
    (void)axo_testkit_run(f.host.kit);
    assert_int_equal(axo_probe_waiting(probe), f.sent + 1);
    for (uint32_t i = 0; i < f.sent + 1; i++)
        assert_non_null(axo_probe_receive(probe, 0));
    assert_int_equal(axo_probe_watch(probe, axo_ref_none()), AXO_EINVAL);
    assert_int_equal(axo_system_send(f.host.system, f.target, SV_QUIT, NULL, 0), AXO_OK);
    assert_true(axo_probe_expect_none(probe, SV_S)); /* nobody was watched */
    assert_int_equal(axo_probe_watch(probe, f.host.ref), AXO_OK);
    sv_tell(&f.host, SV_QUIT);
    assert_true(axo_probe_expect_terminated(probe, f.host.ref, SV_S));
    f_end();
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(an_ask_goes_on),
    cmocka_unit_test(an_ask_is_not_taken_back),
    cmocka_unit_test(a_graceful_stop_goes_on),
    cmocka_unit_test(a_delay_lasts),
    cmocka_unit_test(a_window_lasts),
    cmocka_unit_test(an_event_is_not_passed_on),
    cmocka_unit_test(absent_ones_do_not_talk),
    cmocka_unit_test(an_absent_one_answers_as_nobody),
    cmocka_unit_test(a_pool_keeps_its_size),
    cmocka_unit_test(a_gatherer_waits),
    cmocka_unit_test(gatherers_do_not_talk),
    cmocka_unit_test(a_gatherer_is_made_to_fail),
    cmocka_unit_test(a_state_lasts),
    cmocka_unit_test(a_probe_keeps_everything),
};
TEST_MAIN(tests)
