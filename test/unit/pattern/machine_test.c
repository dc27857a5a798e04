/* machine_test.c - state machines: order, timeouts, restarts, misuse. */
#include <string.h>

#include "conformance/parts.h"

enum { RED, GREEN, BLUE, STATES };
enum { GO = KIT_OTHER + 1, GO_TWICE, GO_AND_FAIL, GO_AND_STAY, GO_NOWHERE, GO_AND_THROW, GO_TWO };
#define MC_MS      INT64_C(1000000)
#define MC_FOREVER (INT64_C(1000000000) * KIT_GATE_DEADLINE_S)

/* The machine of a puppet lies in its script, beside what its states do; zeroed by the restart. */
typedef struct mc_shop {
    axo_machine machine;
    const axo_machine_table *table;
    uint32_t entry_goes[STATES]; /* on_entry of the state says goto this one, if not 0 */
    uint32_t chain;              /* on_entry always says goto the other */
} mc_shop;

static mc_shop *mc_of(kit_puppet *self)
{
    return self->script->user;
}

static axo_status mc_goto(axo_ctx *ctx, kit_puppet *self, uint32_t next)
{
    return axo_machine_goto(ctx, &mc_of(self)->machine, next);
}

static axo_status mc_entry(axo_ctx *ctx, void *state)
{
    kit_puppet *self = state;
    mc_shop *shop = mc_of(self);
    uint32_t now = axo_machine_current(&shop->machine);
    kit_mark(self, "entry", now);
    if (shop->chain != 0)
        KIT_REQUIRE(self->k, mc_goto(ctx, self, now == RED ? GREEN : RED) == AXO_OK);
    else if (shop->entry_goes[now] != 0)
        KIT_REQUIRE(self->k, mc_goto(ctx, self, shop->entry_goes[now]) == AXO_OK);
    return AXO_OK;
}

static axo_status mc_exit(axo_ctx *ctx, void *state)
{
    kit_puppet *self = state;
    kit_mark(self, "exit", axo_machine_current(&mc_of(self)->machine));
    KIT_REQUIRE(self->k, mc_goto(ctx, self, RED) == AXO_EINVAL);
    return AXO_OK;
}

/* GO: to where the value says. */
static axo_status mc_handle(axo_ctx *ctx, void *state, const axo_message *message)
{
    kit_puppet *self = state;
    axo_machine *machine = &mc_of(self)->machine;
    uint32_t value = message->tag > GO_TWO || message->tag < GO
                         ? 0
                         : (uint32_t)AXO_PAYLOAD(message, kit_payload)->value;
    switch (message->tag) {
    case GO:
        kit_mark(self, "go", value);
        return mc_goto(ctx, self, value);
    case GO_TWO:
        KIT_REQUIRE(self->k, mc_goto(ctx, self, RED) == AXO_OK);
        return mc_goto(ctx, self, value); /* the last word counts */
    case GO_AND_STAY:
        KIT_REQUIRE(self->k, mc_goto(ctx, self, value) == AXO_OK);
        return axo_machine_stay(ctx, machine);
    case GO_AND_FAIL:
        KIT_REQUIRE(self->k, mc_goto(ctx, self, value) == AXO_OK);
        return axo_fail(ctx, KIT_DO_RESUME, "on the way");
    case GO_AND_THROW:
        KIT_REQUIRE(self->k, mc_goto(ctx, self, value) == AXO_OK);
        axo_throw(ctx, KIT_DO_RESUME, "on the way");
    case GO_NOWHERE:
        KIT_REQUIRE(self->k, mc_goto(ctx, self, STATES) == AXO_ENOENT);
        return AXO_OK;
    case AXO_STATE_TIMEOUT:
        KIT_REQUIRE(self->k, axo_ref_equal(message->sender, axo_self(ctx)));
        kit_mark(self, "timeout", axo_machine_current(machine));
        return mc_goto(ctx, self, RED);
    default:
        break;
    }
    if (message->tag == KIT_NOTE)
        kit_mark(self, "in", axo_machine_current(machine));
    return kit_receive(ctx, state, message);
}

static const axo_machine_state mc_states[] = {
    [RED] = {.name = "red", .receive = mc_handle, .on_entry = mc_entry, .on_exit = mc_exit},
    [GREEN] = {.name = "green", .receive = mc_handle, .on_entry = mc_entry, .on_exit = mc_exit},
    [BLUE] = {.receive = mc_handle, .on_entry = mc_entry, .on_exit = mc_exit,
              .timeout_ns = MC_MS},
};
static const axo_machine_table mc_table = AXO_MACHINE_TABLE(mc_states, RED);

static axo_status mc_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    axo_status status = axo_machine_receive(ctx, &mc_of(state)->machine, state, message);
    if (status == AXO_ECYCLE) {
        mc_of(state)->chain = 0; /* the next instance starts well */
        kit_mark(state, "cycle", 0);
    }
    return status;
}

static axo_status mc_start(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    mc_shop *shop = arg;
    memset(&shop->machine, 0, sizeof shop->machine);
    KIT_REQUIRE(self->k, axo_machine_current(&shop->machine) == UINT32_MAX);
    KIT_REQUIRE(self->k, strcmp(axo_machine_name(&shop->machine), "") == 0);
    KIT_REQUIRE(self->k, axo_become(ctx, mc_receive) == AXO_OK);
    return axo_machine_start(ctx, &shop->machine, shop->table, self);
}

static mc_shop *mc_new(kit *k, kit_script *script, const axo_machine_table *table)
{
    mc_shop *shop = kit_alloc(k, sizeof *shop);
    shop->table = table;
    script->user = shop;
    script->pre_start.run = mc_start;
    script->pre_start.arg = shop;
    return shop;
}

/* a below p, whose decider resumes and restarts by code. */
static kit_script *mc_family(kit *k, mc_shop **shop)
{
    kit_script *p = kit_actor(k, "p");
    kit_script *a = kit_actor(k, "a");
    *shop = mc_new(k, a, &mc_table);
    p->pre_start.spawn[0] = a;
    kit_spawn(k, p);
    kit_await(k, "a.entry@1");
    return a;
}

static void transitions_leave_then_enter(kit *k)
{
    mc_shop *shop;
    kit_script *a = mc_family(k, &shop);
    kit_tell(k, a, GO, GREEN);
    kit_tell(k, a, KIT_NOTE, 1);
    kit_tell(k, a, GO, GREEN); /* to itself: left and entered */
    kit_tell(k, a, GO_TWO, GREEN);
    kit_tell(k, a, GO_AND_STAY, RED);
    kit_tell(k, a, GO_NOWHERE, 0);
    kit_tell(k, a, KIT_NOTE, 2);
    kit_await(k, "a.note(2)");
    kit_order(k, "a.entry(0)", "a.go(1)@1", "a.exit(0)", "a.entry(1)@1", "a.note(1)", "a.go(1)@2",
              "a.exit(1)@1", "a.entry(1)@2", "a.exit(1)@2", "a.entry(1)@3", "a.note(2)");
    kit_expect(k, "a.entry=4", "a.exit=3", "a.in(1)=2");
    kit_settle(k);
    assert_string_equal(axo_machine_name(&shop->machine), "green");
}

static void a_failure_on_the_way_stays(kit *k)
{
    mc_shop *shop;
    kit_script *a = mc_family(k, &shop);
    kit_tell(k, a, GO, GREEN);
    kit_tell(k, a, GO_AND_FAIL, RED);
    kit_tell(k, a, KIT_NOTE, 1);
    kit_tell(k, a, KIT_FAIL, KIT_DO_RESTART);
    kit_tell(k, a, KIT_NOTE, 2);
    kit_await(k, "a#2.note(2)");
    kit_order(k, "p.decided(RESUME)", "a#1.in(1)", "a#1.note(1)", "p.decided(RESTART)",
              "a#2.entry(0)", "a#2.in(0)");
    kit_expect_count(k, "a#1.exit", 1); /* a restart is no transition */
}

/* A throw passes the machine by: the next message finds it where it was, and leaves it there. */
static void a_throw_on_the_way_stays(kit *k)
{
    mc_shop *shop;
    kit_script *a = mc_family(k, &shop);
    kit_tell(k, a, GO_AND_THROW, GREEN);
    kit_tell(k, a, KIT_NOTE, 1);
    kit_tell(k, a, KIT_NOTE, 2);
    kit_await(k, "a.note(2)");
    kit_expect(k, "p.decided(RESUME)=1", "a.in(0)=2", "a.exit=0");
}

static void entries_may_go_on(kit *k)
{
    mc_shop *shop;
    kit_script *a = mc_family(k, &shop);
    shop->entry_goes[GREEN] = BLUE;
    kit_tell(k, a, GO, GREEN);
    kit_await(k, "a.entry(0)@2");
    kit_order(k, "a.exit(0)", "a.entry(1)", "a.exit(1)", "a.entry(2)", "a.timeout(2)",
              "a.exit(2)", "a.entry(0)@2");
    kit_settle(k);
    shop->chain = 1;
    kit_tell(k, a, GO, GREEN);
    kit_await(k, "a.cycle");
    kit_await(k, "a#2.entry(0)"); /* that was a failure: restarted */
}

/* Held in its handler until the timeout is in the mailbox behind the message that leaves. */
static axo_status mc_outlast(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    int64_t *until = arg;
    *until = *until != 0 ? *until : axo_now(ctx) + 5 * MC_MS;
    if (axo_now(ctx) < *until)
        return kit_run_in(ctx, self->ref, mc_outlast, arg);
    kit_mark(self, "outlasted", 0);
    return AXO_OK;
}

/* Both are queued before the first is handled: it leaves before a timeout can be handled. */
static axo_status mc_there_and_away(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    KIT_REQUIRE(self->k, kit_tell_in(ctx, self->ref, GO, BLUE) == AXO_OK);
    KIT_REQUIRE(self->k, kit_tell_in(ctx, self->ref, GO, GREEN) == AXO_OK);
    return kit_run_in(ctx, self->ref, mc_outlast, arg);
}

static void mc_leave_in_time(void **state, const axo_machine_table *table)
{
    kit *k = kit_start(state, NULL);
    kit_script *a = kit_actor(k, "a");
    int64_t *until = kit_alloc(k, sizeof *until);
    mc_new(k, a, table);
    kit_spawn(k, a);
    kit_run(k, a, mc_there_and_away, until);
    kit_await(k, "a.outlasted");
    kit_never(k, "a.timeout");
    kit_tell(k, a, GO, RED);
    kit_tell(k, a, GO, BLUE);
    kit_await(k, "a.timeout(2)");
    kit_expect_count(k, "a.timeout", 1);
    kit_finish(k);
}

/* The state that it leaves for: one with a longer timeout, one with none. */
static void leaving_takes_the_timeout_back(void **state)
{
    static const axo_machine_state slow[] = {
        [RED] = {.receive = mc_handle},
        [GREEN] = {.receive = mc_handle, .timeout_ns = MC_FOREVER},
        [BLUE] = {.receive = mc_handle, .timeout_ns = MC_MS},
    };
    static const axo_machine_state bare[] = {
        [RED] = {.receive = mc_handle},
        [GREEN] = {.receive = mc_handle},
        [BLUE] = {.receive = mc_handle, .timeout_ns = MC_MS},
    };
    static const axo_machine_table tables[] = {AXO_MACHINE_TABLE(slow, RED),
                                               AXO_MACHINE_TABLE(bare, RED)};
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        mc_leave_in_time(state, &tables[i]);
}

/* ---- misuse, no memory ----------------------------------------------------------------------- */

static axo_status mc_misuse(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    kit *k = self->k;
    axo_machine m = {.table = NULL};
    axo_machine_table table = mc_table;
    axo_machine_state bad[2] = {{.receive = mc_handle}, {.receive = NULL}};
    KIT_REQUIRE(k, axo_machine_start(NULL, &m, &mc_table, self) == AXO_ECONTEXT);
    KIT_REQUIRE(k, axo_machine_start(ctx, NULL, &mc_table, self) == AXO_EINVAL);
    KIT_REQUIRE(k, axo_machine_start(ctx, &m, NULL, self) == AXO_EINVAL);
    table.size = 0;
    KIT_REQUIRE(k, axo_machine_start(ctx, &m, &table, self) == AXO_EINVAL);
    table.size = sizeof table - 1;
    KIT_REQUIRE(k, axo_machine_start(ctx, &m, &table, self) == AXO_EVERSION);
    table = mc_table;
    table.initial = STATES;
    KIT_REQUIRE(k, axo_machine_start(ctx, &m, &table, self) == AXO_EINVAL);
    table = mc_table;
    table.stride = 8;
    KIT_REQUIRE(k, axo_machine_start(ctx, &m, &table, self) == AXO_EINVAL);
    table = (axo_machine_table)AXO_MACHINE_TABLE(bad, 0);
    KIT_REQUIRE(k, axo_machine_start(ctx, &m, &table, self) == AXO_EINVAL);
    bad[1] = (axo_machine_state){.receive = mc_handle, .timeout_ns = -1};
    KIT_REQUIRE(k, axo_machine_start(ctx, &m, &table, self) == AXO_EINVAL);
    KIT_REQUIRE(k, m.table == NULL);
    KIT_REQUIRE(k, axo_machine_receive(ctx, &m, self, self->message) == AXO_ENOENT);
    KIT_REQUIRE(k, axo_machine_receive(ctx, NULL, self, self->message) == AXO_EINVAL);
    KIT_REQUIRE(k, axo_machine_receive(ctx, &m, self, NULL) == AXO_EINVAL);
    KIT_REQUIRE(k, axo_machine_receive(NULL, &m, self, self->message) == AXO_ECONTEXT);
    KIT_REQUIRE(k, axo_machine_goto(ctx, &m, 0) == AXO_EINVAL);
    bad[1].timeout_ns = 0;
    KIT_REQUIRE(k, axo_machine_start(ctx, &m, &table, self) == AXO_OK);
    KIT_REQUIRE(k, axo_machine_start(ctx, &m, &table, self) == AXO_EBUSY);
    KIT_REQUIRE(k, axo_machine_goto(ctx, &m, 1) == AXO_EINVAL);
    KIT_REQUIRE(k, axo_machine_stay(ctx, &m) == AXO_EINVAL);
    KIT_REQUIRE(k, axo_machine_goto(NULL, &m, 1) == AXO_ECONTEXT);
    KIT_REQUIRE(k, axo_machine_stay(NULL, &m) == AXO_ECONTEXT);
    KIT_REQUIRE(k, axo_machine_goto(ctx, NULL, 1) == AXO_EINVAL);
    KIT_REQUIRE(k, axo_machine_current(NULL) == UINT32_MAX);
    KIT_REQUIRE(k, strcmp(axo_machine_name(NULL), "") == 0);
    KIT_REQUIRE(k, strcmp(axo_machine_name(&m), "") == 0);
    kit_mark(self, "misused", 0);
    return AXO_OK;
}

static void misuse_is_refused(kit *k)
{
    kit_script *a = part_start(k, "a");
    kit_run(k, a, mc_misuse, NULL);
    kit_await(k, "a.misused");
}

static const struct CMUnitTest tests[] = {
    KIT_TEST("leave, then enter", transitions_leave_then_enter),
    KIT_TEST("a failure on the way", a_failure_on_the_way_stays),
    KIT_TEST("a throw on the way", a_throw_on_the_way_stays),
    KIT_TEST("entries may go on", entries_may_go_on),
    KIT_TEST("leaving takes the timeout back", leaving_takes_the_timeout_back),
    KIT_TEST("misuse", misuse_is_refused),
};

TEST_MAIN(tests)
