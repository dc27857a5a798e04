/* tree.c - a scene for fuzz_sched: a small tree of actors. */
#include "fuzz/tree.h"

enum { TREE_ACTORS = 14, TREE_WISHES = 5, TREE_THREADS = 2, TREE_WATCHES = 32 };
enum { TREE_PING = 1, TREE_FAIL = 2, TREE_WATCH = 3, TREE_SPAWN = 4, TREE_END = 5 };

typedef struct tree_wish {
    uint8_t whom;
    uint8_t what;
    uint8_t how;
} tree_wish;

typedef struct tree_thread {
    tree_wish wishes[TREE_WISHES];
} tree_thread;

static struct {
    tree_thread threads[TREE_THREADS];
    axo_ref refs[TREE_ACTORS];
    bool inside[TREE_ACTORS];
    uint32_t count;
    uint32_t spawned;
    uint32_t instances;
    uint32_t over;
    uint32_t pongs;
    struct {
        uint32_t who;
        axo_ref whom;
        bool told;
    } watches[TREE_WATCHES];
    uint32_t watch_count;
} tree;

typedef struct tree_state {
    uint32_t me;
    uint32_t depth;
} tree_state;

static void tree_enter(const tree_state *it)
{
    CHECK(!tree.inside[it->me]);
    tree.inside[it->me] = true;
}

static void tree_leave(const tree_state *it)
{
    CHECK(tree.inside[it->me]);
    tree.inside[it->me] = false;
}

static void tree_over(void *arg)
{
    tree.over++;
}

static axo_status tree_construct(axo_ctx *ctx, void *state, const void *args)
{
    tree_state *it = state;
    axo_ref self = axo_self(ctx);
    while (it->me < tree.count && !axo_ref_equal(tree.refs[it->me], self))
        it->me++;
    it->depth = *(const uint32_t *)args;
    if (it->me == tree.count) {
        CHECK(axo_instance(ctx) == 1);
        tree.refs[tree.count++] = self;
    }
    tree_enter(it);
    tree.instances++;
    CHECK(axo_defer(ctx, tree_over, NULL) == AXO_OK);
    tree_leave(it);
    return AXO_OK;
}

static void tree_spawn(axo_ctx *ctx, const tree_state *it);

static axo_status tree_pre_start(axo_ctx *ctx, void *state)
{
    tree_enter(state);
    tree_spawn(ctx, state);
    tree_leave(state);
    return AXO_OK;
}

static void tree_watch(axo_ctx *ctx, const tree_state *it, uint32_t whom)
{
    axo_ref ref = tree.refs[whom % tree.count];
    if (tree.watch_count == TREE_WATCHES || whom % tree.count == it->me)
        return;
    for (uint32_t i = 0; i < tree.watch_count; i++) {
        if (tree.watches[i].who == it->me && axo_ref_equal(tree.watches[i].whom, ref))
            return;
    }
    tree.watches[tree.watch_count].who = it->me;
    tree.watches[tree.watch_count++].whom = ref;
    CHECK(axo_watch(ctx, ref) == AXO_OK);
}

static void tree_told(const tree_state *it, axo_ref whom)
{
    for (uint32_t i = 0; i < tree.watch_count; i++) {
        if (tree.watches[i].who == it->me && axo_ref_equal(tree.watches[i].whom, whom)) {
            CHECK(!tree.watches[i].told);
            tree.watches[i].told = true;
            return;
        }
    }
    stage_fail("a notice of one that was not watched");
}

static axo_status tree_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    const tree_state *it = state;
    axo_status status = AXO_OK;
    axo_ref child;
    uint8_t how = message->tag < TREE_END + 1 ? *AXO_PAYLOAD(message, uint8_t) : 0;
    tree_enter(it);
    switch (message->tag) {
    case TREE_PING:
        tree.pongs++;
        break;
    case TREE_FAIL:
        status = axo_fail(ctx, how, "wished");
        break;
    case TREE_WATCH:
        tree_watch(ctx, it, how);
        break;
    case TREE_SPAWN:
        tree_spawn(ctx, it);
        break;
    case TREE_END:
        if (axo_children(ctx, &child, 1) > 0)
            (void)axo_stop(ctx, child);
        break;
    default:
        CHECK(message->tag == AXO_TERMINATED);
        tree_told(it, AXO_PAYLOAD(message, axo_terminated)->actor);
        break;
    }
    tree_leave(it);
    return status;
}

static axo_status tree_post_stop(axo_ctx *ctx, void *state)
{
    tree_enter(state);
    tree_leave(state);
    return AXO_OK;
}

/* The default unwatches the children that it stops. */
static axo_status tree_pre_restart(axo_ctx *ctx, void *state, const axo_failure *failure,
                                   const axo_message *message)
{
    const tree_state *it = state;
    axo_ref children[TREE_ACTORS];
    uint32_t count = axo_children(ctx, children, TREE_ACTORS);
    for (uint32_t i = 0; i < tree.watch_count; i++) {
        for (uint32_t j = 0; j < count; j++) {
            if (tree.watches[i].who == it->me && axo_ref_equal(tree.watches[i].whom, children[j]))
                tree.watches[i].who = TREE_ACTORS;
        }
    }
    return axo_default_pre_restart(ctx, state, failure, message);
}

static axo_directive tree_decide(axo_ctx *ctx, void *state, const axo_failure *failure, void *user)
{
    tree_enter(state);
    tree_leave(state);
    return (axo_directive)(1 + failure->code % 4);
}

static void tree_spawn(axo_ctx *ctx, const tree_state *it)
{
    static const axo_class cls =
        AXO_CLASS(.name = "node", .state_size = sizeof(tree_state), .construct = tree_construct,
                  .pre_start = tree_pre_start, .receive = tree_receive, .post_stop = tree_post_stop,
                  .pre_restart = tree_pre_restart);
    static const axo_strategy strategies[] = {
        AXO_STRATEGY(.decider = tree_decide),
        AXO_STRATEGY(.scope = AXO_ALL_FOR_ONE, .decider = tree_decide)};
    uint32_t depth = it != NULL ? it->depth + 1 : 0;
    axo_props props = AXO_PROPS(.cls = &cls, .args = &depth, .args_size = sizeof depth,
                                .strategy = &strategies[depth % 2]);
    axo_ref out;
    if (tree.spawned == TREE_ACTORS || depth > 2)
        return;
    tree.spawned++;
    axo_status status =
        ctx != NULL ? axo_spawn(ctx, &props, &out) : axo_system_spawn(at.system, &props, &out);
    CHECK(status == AXO_OK || status == AXO_ESTOPPING);
}

static void tree_thread_run(void *arg)
{
    const tree_thread *it = arg;
    for (uint32_t i = 0; i < TREE_WISHES; i++) {
        const tree_wish *wish = &it->wishes[i];
        axo_ref whom = tree.refs[wish->whom % tree.count];
        axo_status status = AXO_OK;
        if (wish->what >= 0xf0)
            status = axo_system_stop_actor(at.system, whom);
        else if (wish->what >= 0xe0)
            status = axo_system_kill(at.system, whom);
        else if (wish->what > 0)
            status = axo_system_send(at.system, whom, 1 + wish->what % TREE_END, &wish->how, 1);
        CHECK(status == AXO_OK || status == AXO_EGONE);
    }
}

/* Nobody is left suspended, with work, or without an answer; who watches the gone was told. */
static void tree_rest(void)
{
    static const uint8_t zero = 0;
    uint32_t living = 0;
    bool lives[TREE_ACTORS] = {false};
    tree.pongs = 0;
    for (uint32_t i = 0; i < tree.count; i++) {
        axo_actor_info info = AXO_ACTOR_INFO(.queued = 0);
        if (axo_system_inspect(at.system, tree.refs[i], axo_ref_none(), &info) == AXO_EGONE)
            continue;
        CHECK(info.suspends == 0 && info.queued == 0 && info.doing == AXO_DOING_IDLE);
        CHECK(axo_system_send(at.system, tree.refs[i], TREE_PING, &zero, 1) == AXO_OK);
        lives[i] = true;
        living++;
    }
    axo__sim_settle(-1);
    CHECK_SAME(tree.pongs, living);
    for (uint32_t i = 0; i < tree.watch_count; i++) {
        uint32_t whom = 0;
        while (!axo_ref_equal(tree.refs[whom], tree.watches[i].whom))
            whom++;
        if (tree.watches[i].who < TREE_ACTORS && lives[tree.watches[i].who])
            CHECK(tree.watches[i].told == !lives[whom]);
    }
}

static void tree_play(void)
{
    stage_boot(2);
    tree_spawn(NULL, NULL);
    tree_spawn(NULL, NULL);
    axo__sim_settle(-1);
    for (uint32_t i = 0; i < TREE_THREADS; i++)
        stage_thread(i == 0 ? "one" : "other", tree_thread_run, &tree.threads[i]);
    stage_go();
    tree_rest();
    stage_end();
    CHECK_SAME(tree.instances, tree.over);
}

const stage_scene tree_scene = {
    .name = "wishes", .what = "a tree that fails on request", .play = tree_play};

void tree_program(fuzz_in *in)
{
    memset(&tree, 0, sizeof tree);
    for (uint32_t i = 0; i < TREE_THREADS * TREE_WISHES; i++) {
        tree_wish *wish = &tree.threads[i / TREE_WISHES].wishes[i % TREE_WISHES];
        wish->whom = fuzz_u8(in);
        wish->what = fuzz_u8(in);
        wish->how = fuzz_u8(in);
    }
}
