/* drain_test.c - axo_drain: who is told, when it is over, who is named as late, and that exactly
 * one message comes of it, whatever ends it and whatever memory there is. */
#include <axo/axo.h>
#include <axo/testkit.h>

#include "unit/unit.h"

#define MS INT64_C(1000000)

enum { LAST = 40, SPAWN, DRAIN, FAIL, QUIT, FORGE };

/* ---- actors of a tree: "fast" end when they are told, "slow" when it suits them ---- */

static struct {
    uint32_t fast, slow; /* told */
    axo_ref sender;      /* of what they were told */
    axo_drained drained; /* the last, and how many */
    uint32_t results;
    axo_status status; /* of axo_drain */
} seen;

static axo_status fast_receive(axo_ctx *ctx, void *state, const axo_message *message);
static axo_status slow_receive(axo_ctx *ctx, void *state, const axo_message *message);
static const axo_class fast_class = AXO_CLASS(.name = "fast", .receive = fast_receive);
static const axo_class slow_class = AXO_CLASS(.name = "slow", .receive = slow_receive);

/* What an actor spawns below it: a letter for each child, and "(...)" its children; f and s. */
typedef struct plan {
    char text[64];
} plan;

static axo_status node_spawn(axo_ctx *ctx, const char *text)
{
    while (*text != 0) {
        axo_ref child;
        plan below = {{0}};
        axo_props props = AXO_PROPS(.cls = *text++ == 'f' ? &fast_class : &slow_class);
        axo_status status = axo_spawn(ctx, &props, &child);
        if (status != AXO_OK)
            return status;
        if (*text != '(')
            continue;
        int depth = 0;
        const char *from = ++text;
        for (; *text != ')' || depth > 0; text++)
            depth += (*text == '(') - (*text == ')');
        memcpy(below.text, from, (size_t)(text++ - from));
        (void)axo_send(ctx, child, SPAWN, &below, sizeof below);
    }
    return AXO_OK;
}

static axo_status fast_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)state;
    if (message->tag == SPAWN)
        return node_spawn(ctx, AXO_PAYLOAD(message, plan)->text);
    if (message->tag == FAIL)
        return axo_fail(ctx, 7, "as it was told");
    if (message->tag != LAST)
        return AXO_UNHANDLED;
    seen.fast++;
    seen.sender = message->sender;
    return axo_stop_self(ctx);
}

static axo_status slow_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    if (message->tag == QUIT)
        return axo_stop_self(ctx);
    if (message->tag != LAST)
        return fast_receive(ctx, state, message);
    seen.slow++;
    return AXO_OK;
}

/* ---- who drains ---- */

typedef struct order {
    axo_ref root; /* none: oneself */
    const axo_class *cls;
    int64_t timeout_ns;
    axo_ref fills; /* this one's mailbox, behind the call */
} order;

static axo_status boss_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)state;
    if (message->tag == AXO_DRAINED) {
        seen.drained = *AXO_PAYLOAD(message, axo_drained);
        seen.results++;
        return AXO_OK;
    }
    if (message->tag == LAST)
        return axo_fail(ctx, 1, "the caller was told");
    if (message->tag != DRAIN)
        return slow_receive(ctx, state, message);
    const order *it = AXO_PAYLOAD(message, order);
    axo_ref root = axo_ref_is_none(it->root) ? axo_self(ctx) : it->root;
    seen.status = axo_drain(ctx, root, it->cls, LAST, it->timeout_ns, 77);
    if (!axo_ref_is_none(it->fills))
        (void)axo_send(ctx, it->fills, FORGE, NULL, 0);
    return AXO_OK;
}

static const axo_class boss_class = AXO_CLASS(.name = "boss", .receive = boss_receive);

static axo_testkit *kit;
static axo_ref boss;

static void begin_with(const char *tree, const axo_strategy *strategy)
{
    plan below = {{0}};
    axo_props props = AXO_PROPS(.cls = &boss_class, .name = "boss", .strategy = strategy);
    memset(&seen, 0, sizeof seen);
    memcpy(below.text, tree, strlen(tree));
    assert_int_equal(axo_testkit_start(NULL, &kit), AXO_OK);
    axo_system *system = axo_testkit_system(kit);
    assert_int_equal(axo_system_spawn(system, &props, &boss), AXO_OK);
    assert_int_equal(axo_system_send(system, boss, SPAWN, &below, sizeof below), AXO_OK);
    (void)axo_testkit_run(kit);
}

static void begin(const char *tree)
{
    begin_with(tree, NULL);
}

static void end(void)
{
    axo_status status = axo_testkit_stop(kit);
    if (status != AXO_OK)
        fail_msg("%s: %s", axo_status_text(status), axo_testkit_why(kit));
}

static void drain_later(axo_ref root, const axo_class *cls, int64_t timeout_ns)
{
    order it = {.root = root, .cls = cls, .timeout_ns = timeout_ns};
    assert_int_equal(axo_system_send(axo_testkit_system(kit), boss, DRAIN, &it, sizeof it),
                     AXO_OK);
}

static void drain(axo_ref root, const axo_class *cls, int64_t timeout_ns)
{
    drain_later(root, cls, timeout_ns);
    (void)axo_testkit_run(kit);
}

static void tell(axo_ref ref, uint32_t tag)
{
    (void)axo_system_send(axo_testkit_system(kit), ref, tag, NULL, 0);
    (void)axo_testkit_run(kit);
}

/* One actor of a path or a pattern. */
static axo_ref find(const char *pattern)
{
    axo_ref found = axo_ref_none();
    uint32_t count;
    assert_int_equal(
        axo_system_find_all(axo_testkit_system(kit), pattern, &found, 1, &count), AXO_OK);
    assert_true(count >= 1);
    return found;
}

static void expect(axo_status status, uint32_t told, uint32_t late)
{
    assert_int_equal(seen.status, AXO_OK);
    assert_int_equal(seen.results, 1);
    assert_int_equal(seen.drained.id, 77);
    assert_int_equal(seen.drained.status, status);
    assert_int_equal(seen.drained.told, told);
    assert_int_equal(seen.drained.late, late);
}

/* ---- tests ---- */

/* All levels are told by the caller, and it is over when the last has ended. */
static void all(void **state)
{
    (void)state;
    begin("ffs(f(f(f(s))))f");
    drain(axo_ref_none(), NULL, 100 * MS);
    assert_true(seen.fast >= 4); /* those below a fast one end with it, whatever waits for them */
    assert_true(seen.slow >= 1);
    assert_true(axo_ref_equal(seen.sender, boss));
    assert_int_equal(seen.results, 0);
    (void)axo_testkit_advance(kit, 30 * MS);
    tell(find("/user/boss/*"), QUIT);
    expect(AXO_OK, 8, 0);
    assert_int_equal(seen.drained.waited_ns, 30 * MS);
    assert_int_equal(seen.drained.named, 0);
    (void)axo_testkit_advance(kit, 1000 * MS);
    assert_int_equal(seen.results, 1);
    end();
}

/* Of a class: the others are neither told nor waited for. */
static void class_only(void **state)
{
    (void)state;
    begin("s(fsf)f");
    drain(axo_ref_none(), &fast_class, 100 * MS);
    expect(AXO_OK, 3, 0);
    assert_int_equal(seen.slow, 0);
    seen.results = 0;
    drain(axo_ref_none(), &fast_class, 100 * MS); /* nobody is left */
    expect(AXO_OK, 0, 0);
    end();
}

/* Late ones are counted and named; they may end later, and nothing more comes. */
static void late(void **state)
{
    (void)state;
    begin("fsssssf");
    drain(axo_ref_none(), NULL, 50 * MS);
    tell(find("/user/boss/*"), QUIT);
    (void)axo_testkit_advance(kit, 49 * MS);
    assert_int_equal(seen.results, 0);
    (void)axo_testkit_advance(kit, 3 * MS);
    expect(AXO_ETIMEDOUT, 7, 4);
    assert_int_equal(seen.drained.named, AXO_DRAIN_NAMES);
    assert_true(seen.drained.waited_ns >= 50 * MS);
    for (uint32_t i = 0; i < AXO_DRAIN_NAMES; i++) {
        axo_ref found;
        const axo_drain_late *it = &seen.drained.first[i];
        assert_int_equal(it->doing, AXO_DOING_IDLE);
        assert_int_equal(axo_system_find(axo_testkit_system(kit), it->path, &found), AXO_OK);
        assert_true(axo_ref_equal(found, it->actor));
        tell(found, QUIT);
    }
    assert_int_equal(seen.results, 1);
    end();
}

/* A root above the caller: it is not told, nor is who waits. A root below: only what is under. */
static void roots(void **state)
{
    (void)state;
    begin("s(ff)f");
    drain(find("/user"), &boss_class, 100 * MS);
    expect(AXO_OK, 0, 0);
    seen.results = 0;
    axo_ref all_below[3];
    uint32_t count;
    axo_ref middle = axo_ref_none();
    (void)axo_system_find_all(axo_testkit_system(kit), "/user/boss/*", all_below, 3, &count);
    for (uint32_t i = 0; i < count; i++) {
        axo_actor_info info = AXO_ACTOR_INFO();
        (void)axo_system_inspect(axo_testkit_system(kit), all_below[i], axo_ref_none(), &info);
        if (strcmp(info.class_name, "slow") == 0)
            middle = all_below[i];
    }
    drain(middle, NULL, 100 * MS);
    expect(AXO_OK, 2, 0);
    seen.results = 0;
    tell(middle, QUIT);
    drain(middle, NULL, 100 * MS); /* it has ended */
    expect(AXO_OK, 0, 0);
    seen.results = 0;
    drain(find("/"), &fast_class, 100 * MS);
    expect(AXO_OK, 1, 0);
    end();
}

/* Two at a time: the waits are not told by each other. */
static void twice(void **state)
{
    (void)state;
    begin("fs");
    drain_later(axo_ref_none(), NULL, 50 * MS);
    drain(axo_ref_none(), NULL, 80 * MS);
    assert_int_equal(seen.slow, 2);
    (void)axo_testkit_advance(kit, 53 * MS);
    expect(AXO_ETIMEDOUT, 2, 1);
    seen.results = 0;
    (void)axo_testkit_advance(kit, 50 * MS);
    expect(AXO_ETIMEDOUT, 2, 1);
    end();
}

/* A child that is spawned while others are waited for is neither told nor waited for. One that is
 * restarted meanwhile has not ended. */
static void meanwhile(void **state)
{
    (void)state;
    plan more = {"f"};
    begin("s");
    axo_ref slow = find("/user/boss/*");
    drain(axo_ref_none(), &slow_class, 100 * MS);
    (void)axo_system_send(axo_testkit_system(kit), boss, SPAWN, &more, sizeof more);
    tell(slow, FAIL);
    assert_int_equal(seen.results, 0);
    tell(slow, QUIT);
    expect(AXO_OK, 1, 0);
    assert_int_equal(seen.fast, 0);
    end();
}

/* The caller ends while it waits: nobody is told, and nothing is left. */
static void caller_ends(void **state)
{
    (void)state;
    begin("s");
    drain(axo_ref_none(), NULL, 100 * MS);
    tell(boss, QUIT);
    (void)axo_testkit_advance(kit, 200 * MS);
    assert_int_equal(seen.results, 0);
    end();
    begin("s");
    drain(axo_ref_none(), NULL, 100 * MS);
    end(); /* the system does */
    begin("s");
    drain(axo_ref_none(), NULL, 100 * MS);
    tell(boss, FAIL); /* its next instance has not asked */
    (void)axo_testkit_advance(kit, 200 * MS);
    assert_int_equal(seen.results, 0);
    end();
}

/* The wait itself is stopped: the caller is told. What a stranger sends to it changes nothing. */
static void stopped(void **state)
{
    (void)state;
    begin("");
    axo_ref other;
    axo_props props = AXO_PROPS(.cls = &slow_class, .name = "other");
    axo_system *system = axo_testkit_system(kit);
    plan below = {"s"};
    assert_int_equal(axo_system_spawn(system, &props, &other), AXO_OK);
    (void)axo_system_send(system, other, SPAWN, &below, sizeof below);
    drain(other, NULL, 100 * MS);
    axo_ref wait = find("/user/boss/*");
    tell(wait, AXO_TAG_SERVICES + 0x14);
    (void)axo_system_send_from(system, wait, wait, AXO_TAG_SERVICES + 0x14, NULL, 0);
    tell(wait, LAST);
    assert_int_equal(seen.results, 0);
    assert_int_equal(axo_system_stop_actor(system, wait), AXO_OK);
    (void)axo_testkit_run(kit);
    expect(AXO_ESTOPPING, 1, 1);
    assert_int_equal(seen.drained.named, 1);
    end();
}

/* A strategy that is all for one restarts the wait with the child that fails: it goes on, and tells
 * nobody twice. */
static void restarted(void **state)
{
    (void)state;
    static const axo_strategy all_for_one = AXO_STRATEGY(.scope = AXO_ALL_FOR_ONE);
    begin_with("ss", &all_for_one);
    axo_ref both[3];
    uint32_t count;
    drain(axo_ref_none(), NULL, 100 * MS);
    (void)axo_system_find_all(axo_testkit_system(kit), "/user/boss/*", both, 3, &count);
    assert_int_equal(count, 3);
    for (uint32_t i = 0; i < count; i++)
        tell(both[i], FAIL);
    assert_int_equal(seen.slow, 2);
    for (uint32_t i = 0; i < count; i++)
        tell(both[i], QUIT);
    expect(AXO_OK, 2, 0);
    end();
}

/* A path longer than the first guess. */
static void deep(void **state)
{
    (void)state;
    char path[4096] = "/user/boss";
    begin("s");
    axo_ref at = find("/user/boss/*");
    uint32_t depth = 1;
    for (; depth < 100; depth++) {
        plan below = {"s"};
        (void)axo_system_send(axo_testkit_system(kit), at, SPAWN, &below, sizeof below);
        (void)axo_testkit_run(kit);
        assert_int_equal(axo_system_path(axo_testkit_system(kit), at, path, sizeof path - 3),
                         AXO_OK);
        memcpy(path + strlen(path), "/*", 3);
        if (depth == 80)
            drain(at, NULL, 5 * MS);
        at = find(path);
    }
    drain(axo_ref_none(), &slow_class, 100 * MS);
    assert_int_equal(seen.slow, 100 + 1);
    seen.results = 0;
    tell(find("/user/boss/*"), QUIT);
    (void)axo_testkit_advance(kit, 100 * MS);
    end();
}

/* A mailbox that is full refuses, or would park: that one is not waited for. */
static void full(void **state)
{
    (void)state;
    static const axo_overflow kinds[] = {AXO_OVERFLOW_REFUSE, AXO_OVERFLOW_PARK};
    for (size_t i = 0; i < 2; i++) {
        axo_mailbox mailbox = AXO_MAILBOX(.messages_max = 1, .overflow = kinds[i]);
        axo_props props = AXO_PROPS(.cls = &slow_class, .name = "slow", .mailbox = &mailbox);
        order it = {.timeout_ns = 50 * MS};
        begin("f");
        axo_system *system = axo_testkit_system(kit);
        assert_int_equal(axo_system_spawn(system, &props, &it.fills), AXO_OK);
        (void)axo_testkit_run(kit);
        it.root = find("/user");
        assert_int_equal(axo_system_send(system, boss, DRAIN, &it, sizeof it), AXO_OK);
        (void)axo_testkit_run(kit);
        expect(AXO_EFULL, 1, 0);
        assert_int_equal(seen.drained.refused, 1);
        assert_int_equal(seen.slow, 0);
        end();
    }
}

/* ---- bad input, want of memory ---- */

static axo_status bad_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    axo_ref self = axo_self(ctx);
    axo_class newer = {.size = 4};
    (void)state;
    (void)message;
    assert_int_equal(axo_drain(NULL, self, NULL, LAST, MS, 1), AXO_ECONTEXT);
    assert_int_equal(axo_drain(ctx, axo_ref_none(), NULL, LAST, MS, 1), AXO_EINVAL);
    assert_int_equal(axo_drain(ctx, self, NULL, AXO_TAG_RESERVED, MS, 1), AXO_EINVAL);
    assert_int_equal(axo_drain(ctx, self, NULL, LAST, 0, 1), AXO_EINVAL);
    assert_int_equal(axo_drain(ctx, self, NULL, LAST, -1, 1), AXO_EINVAL);
    assert_int_equal(axo_drain(ctx, self, NULL, LAST, AXO_DELAY_MAX + 1, 1), AXO_EINVAL);
    assert_int_equal(axo_drain(ctx, self, &newer, LAST, MS, 1), AXO_EINVAL);
    assert_int_equal(axo_child_count(ctx), 0);
    seen.results++;
    return AXO_OK;
}

static void bad(void **state)
{
    (void)state;
    static const axo_class cls = AXO_CLASS(.receive = bad_receive);
    axo_props props = AXO_PROPS(.cls = &cls, .name = "bad");
    axo_ref ref;
    begin("");
    assert_int_equal(axo_system_spawn(axo_testkit_system(kit), &props, &ref), AXO_OK);
    tell(ref, LAST);
    assert_int_equal(seen.results, 1);
    end();
}

/* Whatever allocation is refused: axo_drain says so and nothing comes, or one result comes. */
static void scarce(void **state)
{
    (void)state;
    bool refused = true;
    for (uint64_t skip = 0; refused; skip++) {
        for (uint32_t many = 0; many < 2; many++) {
            begin("ffs(f)");
            drain_later(axo_ref_none(), NULL, 50 * MS);
            axo_testkit_fail_memory(kit, skip, many ? 1000 : 1);
            (void)axo_testkit_run(kit);
            (void)axo_testkit_advance(kit, 53 * MS);
            axo_testkit_fail_memory(kit, 0, 0);
            (void)axo_testkit_run(kit);
            assert_int_equal(seen.results, seen.status == AXO_OK);
            assert_true(seen.status == AXO_OK || seen.status == AXO_ENOMEM);
            if (seen.results == 1 && seen.drained.status == AXO_ENOMEM && seen.drained.refused == 0)
                assert_int_equal(seen.drained.told + seen.fast + seen.slow, 0);
            if (seen.drained.status == AXO_ETIMEDOUT)
                assert_int_equal(seen.drained.late, 1); /* the slow one: each end was heard of */
            if (seen.results == 1)
                assert_true(seen.drained.told >= seen.fast + seen.slow);
            refused = seen.status != AXO_OK || seen.drained.status != AXO_ETIMEDOUT;
            end();
        }
        assert_true(skip < 200);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all),     cmocka_unit_test(class_only),  cmocka_unit_test(late),
        cmocka_unit_test(roots),   cmocka_unit_test(twice),       cmocka_unit_test(meanwhile),
        cmocka_unit_test(stopped), cmocka_unit_test(caller_ends), cmocka_unit_test(restarted),
        cmocka_unit_test(deep),    cmocka_unit_test(full),        cmocka_unit_test(bad),
        cmocka_unit_test(scarce),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
