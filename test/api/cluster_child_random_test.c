/* cluster_child_random_test.c - remote children of one parent, on a node of this process: they
 * fail, are killed, stopped and restarted with their parent, by chance, while the nats-server comes
 * and goes. Both sides of each child are seen here:
 *
 *   - no two instances of a place live at a time, also when another child has it by then
 *   - from its failure on a child handles nothing until its parent has decided, or it is new
 *   - what is sent to a child comes at most once, in order, over all its instances
 *   - in the end each is there and answers: nobody was forgotten
 *
 *   cluster_child_random_test [SEED [STEPS]] */
#define CW_DOWN_MS 30000
#include "api/cluster_world.h"
#include "base/random.h"

enum { PLACES = 4 };
enum { R_NUMBER = 40, R_FAIL, R_LOOK, R_SEEN, R_FALL };

static struct {
    cw_server server;
    cw_node a, b;
    axo_ref parent;
    _Atomic uint64_t stand_in[PLACES]; /* bits; 0: there is none */
    atomic_int lives[PLACES];
    atomic_uint last[PLACES];   /* number that has come */
    atomic_bool failed[PLACES];
    atomic_uint seen[PLACES];   /* R_LOOKs that were answered */
    atomic_uint made, failures, decided, ended, twice, disorder, handled_failed;
    atomic_bool calm;
} r;

/* ---- children: on b ---- */

typedef struct r_child {
    uint32_t place;
} r_child;

static void r_instance_ends(void *arg)
{
    const r_child *me = arg;
    atomic_fetch_sub(&r.lives[me->place], 1);
}

static axo_status r_construct(axo_ctx *ctx, void *state, const void *args)
{
    r_child *me = state;
    memcpy(&me->place, args, sizeof me->place);
    r.twice += atomic_fetch_add(&r.lives[me->place], 1) != 0;
    r.failed[me->place] = false;
    atomic_fetch_add(&r.made, 1);
    return axo_defer(ctx, r_instance_ends, me);
}

static axo_status r_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    r_child *me = state;
    uint32_t number = 0;
    if (message->size == sizeof number)
        memcpy(&number, message->payload, sizeof number);
    r.handled_failed += r.failed[me->place];
    switch (message->tag) {
    case R_NUMBER:
        r.disorder += number <= r.last[me->place];
        r.last[me->place] = number;
        return AXO_OK;
    case R_FAIL:
        r.failed[me->place] = true;
        atomic_fetch_add(&r.failures, 1);
        return axo_fail(ctx, (int32_t)number, "by chance");
    case R_LOOK:
        return axo_send(ctx, axo_parent(ctx), R_SEEN, &me->place, sizeof me->place);
    default:
        return AXO_UNHANDLED;
    }
}

/* Who does not wait for an end finds it not yet there. */
static axo_status r_post_stop(axo_ctx *ctx, void *state)
{
    (void)ctx;
    (void)state;
    cw_sleep(2 * CW_MS);
    return AXO_OK;
}

static const axo_class r_child_class = AXO_CLASS(.name = "child", .state_size = sizeof(r_child),
                                                 .construct = r_construct, .receive = r_receive,
                                                 .post_stop = r_post_stop);

/* ---- their parent: on a ---- */

/* The code of a failure says what is decided; a kill has none. */
static axo_directive r_decide(axo_ctx *ctx, void *state, const axo_failure *failure, void *user)
{
    static const axo_directive all[] = {AXO_RESUME, AXO_RESTART, AXO_RESUME, AXO_RESTART,
                                        AXO_RESTART, AXO_STOP, AXO_RESTART, AXO_ESCALATE};
    axo_directive answer = r.calm ? AXO_RESTART : all[(uint32_t)failure->code % 8];
    (void)ctx;
    (void)state;
    (void)user;
    if (failure->kind != AXO_FAILURE_ORDINARY)
        answer = AXO_RESTART;
    for (uint32_t i = 0; i < PLACES && answer == AXO_RESUME; i++) {
        if (r.stand_in[i] == failure->reporter.bits)
            r.failed[i] = false;
    }
    atomic_fetch_add(&r.decided, 1);
    return answer;
}

static axo_status r_spawn(axo_ctx *ctx, uint32_t place)
{
    axo_ref ref;
    char name[16];
    (void)snprintf(name, sizeof name, "child%u", place);
    const axo_cluster_child child = AXO_CLUSTER_CHILD(.node = "b", .cls = "child", .args = &place,
                                                      .args_size = sizeof place, .name = name,
                                                      .lifetime = place % 3);
    axo_status status = axo_cluster_spawn(ctx, r.a.cluster, &child, &ref);
    r.stand_in[place] = ref.bits;
    return status == AXO_OK ? axo_watch(ctx, ref) : status;
}

static axo_status r_parent_start(axo_ctx *ctx, void *state)
{
    axo_status status = AXO_OK;
    (void)state;
    for (uint32_t i = 0; i < PLACES && status == AXO_OK; i++)
        status = r_spawn(ctx, i);
    return status;
}

static axo_status r_parent_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)state;
    if (message->tag == R_FALL)
        return axo_fail(ctx, 0, "the parent");
    if (message->tag == R_SEEN) {
        atomic_fetch_add(&r.seen[*AXO_PAYLOAD(message, uint32_t)], 1);
        return AXO_OK;
    }
    if (message->tag != AXO_TERMINATED)
        return AXO_UNHANDLED;
    const uint64_t bits = AXO_PAYLOAD(message, axo_terminated)->actor.bits;
    atomic_fetch_add(&r.ended, 1);
    for (uint32_t i = 0; i < PLACES; i++) {
        if (r.stand_in[i] == bits)
            return r_spawn(ctx, i);
    }
    return AXO_OK; /* of the instance before */
}

static const axo_class r_parent_class = AXO_CLASS(.name = "parent", .pre_start = r_parent_start,
                                                  .receive = r_parent_receive);

/* ---- a run ---- */

static void r_start(axo_scope scope)
{
    static axo_strategy strategies[3];
    const axo_props child = AXO_PROPS(.cls = &r_child_class);
    const axo_cluster_options with = cw_options(&r.server, "b");
    strategies[scope] = (axo_strategy)AXO_STRATEGY(.decider = r_decide, .scope = scope);
    for (uint32_t i = 0; i < PLACES; i++) {
        r.stand_in[i] = 0;
        r.lives[i] = 0;
        r.last[i] = 0;
        r.seen[i] = 0;
        r.failed[i] = false;
    }
    r.calm = false;
    cw_node_start(&r.a, &r.server, "a");
    cw_node_open(&r.b, &with);
    assert_int_equal(axo_cluster_add_class(r.b.cluster, "child", &child), AXO_OK);
    cw_node_begin(&r.b);
    CW_UNTIL(cw_figures(&r.a).nodes == 1);
    axo_props props = AXO_PROPS(.cls = &r_parent_class, .strategy = &strategies[scope]);
    assert_int_equal(axo_system_spawn(r.a.system, &props, &r.parent), AXO_OK);
    CW_UNTIL(r.stand_in[PLACES - 1] != 0);
}

/* What is done to a child, or its parent, of 100. */
static void r_step(axo__random *chance, uint32_t number)
{
    const uint32_t place = axo__random_below(chance, PLACES);
    const uint32_t what = axo__random_below(chance, 100);
    const uint32_t code = axo__random_below(chance, 8);
    const axo_ref to = {.bits = r.stand_in[place]};
    if (axo_ref_is_none(to))
        return;
    if (what < 60)
        (void)axo_system_send(r.a.system, to, R_NUMBER, &number, sizeof number);
    else if (what < 85)
        (void)axo_system_send(r.a.system, to, R_FAIL, &code, sizeof code);
    else if (what < 91)
        (void)axo_system_kill(r.a.system, to);
    else if (what < 97)
        (void)axo_system_stop_actor(r.a.system, to);
    else
        (void)axo_system_send(r.a.system, r.parent, R_FALL, NULL, 0);
    if (axo__random_below(chance, 4) == 0)
        cw_sleep(axo__random_below(chance, 1000) * 1000);
}

/* On a slow machine too, most of what is done finds somebody; not all. */
static void r_breathe(void)
{
    uint32_t there = 0;
    for (uint32_t i = 0; i < 200 && there < PLACES; i++) {
        there = 0;
        for (uint32_t place = 0; place < PLACES; place++)
            there += r.lives[place] == 1 && !r.failed[place];
        if (there < PLACES)
            cw_sleep(CW_MS);
    }
}

static void r_outage(axo__random *chance)
{
    cw_kill(r.server.pid);
    cw_sleep(axo__random_below(chance, 100) * CW_MS);
    cw_server_run(&r.server);
}

/* Each answers: a child that ends before it can is asked again. */
static void r_all_answer(void)
{
    r.calm = true;
    for (uint32_t i = 0; i < PLACES; i++) {
        int64_t end = cw_now() + CW_LONG;
        while (r.seen[i] == 0 && cw_now() < end) {
            (void)axo_system_send(r.a.system, (axo_ref){.bits = r.stand_in[i]}, R_LOOK, NULL, 0);
            for (uint32_t j = 0; j < 100 && r.seen[i] == 0; j++)
                cw_sleep(CW_MS);
        }
        assert_true(r.seen[i] > 0);
    }
}

static void r_run(uint64_t seed, uint32_t steps)
{
    axo__random chance;
    axo__random_init(&chance, seed, 1);
    r_start((axo_scope)(seed % 3));
    for (uint32_t i = 1; i <= steps; i++) {
        r_step(&chance, i);
        if (i % 10 == 0)
            r_breathe();
        if (i % 500 == 0)
            r_outage(&chance);
    }
    r_all_answer();
    cw_node_end(&r.a);
    CW_UNTIL(r.lives[0] + r.lives[1] + r.lives[2] + r.lives[3] == 0);
    cw_node_end(&r.b);
    if (r.twice + r.handled_failed + r.disorder > 0)
        fail_msg("seed %llu: two lives %u times, %u messages to a failed one, %u out of order",
                 (unsigned long long)seed, (unsigned)r.twice, (unsigned)r.handled_failed,
                 (unsigned)r.disorder);
}

static uint64_t first_seed = 1;
static uint32_t run_steps = 1000;

static void by_chance(void **unused)
{
    for (uint64_t seed = first_seed; seed < first_seed + 3; seed++)
        r_run(seed, run_steps);
    (void)printf("%u instances, %u failures, %u decisions, %u ends\n", (unsigned)r.made,
                 (unsigned)r.failures, (unsigned)r.decided, (unsigned)r.ended);
    assert_true(r.made > 50 && r.failures > 20 && r.decided > 20 && r.ended > 10);
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {cmocka_unit_test(by_chance)};
    if (argc > 1)
        first_seed = strtoull(argv[1], NULL, 10);
    if (argc > 2)
        run_steps = (uint32_t)strtoul(argv[2], NULL, 10);
    if (!cw_has_server())
        return 0;
    cw_server_start(&r.server);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    cw_kill(r.server.pid);
    return failed;
}
