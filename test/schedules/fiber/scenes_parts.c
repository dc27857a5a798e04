/* scenes_parts.c - parts of the runtime by themselves, few yield points: walked to bound 3. */
#include "scenes.h"

#include "cell/state.h"
#include "cell/storm.h"
#include "mem/grace.h"
#include "queue/inject.h"
#include "queue/runq.h"
#include "queue/stack.h"

enum { THINGS = 4, ROOM = 4 };

/* The test's threads that bring work; those that take it go on until none is left and all have
 * ended. */
static uint32_t bringers;
static uint32_t seen[THINGS];

static void parts_begin(uint32_t count)
{
    bringers = count;
    memset(seen, 0, sizeof seen);
}

static void parts_seen(uint32_t number)
{
    CHECK(number < THINGS);
    seen[number]++;
    CHECK_SAME(seen[number], 1);
}

static void parts_all(uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        CHECK_SAME(seen[i], 1);
}

/* ---- the walk itself: two of four pieces each, in 8! / (4! 4!) orders ---- */

static void walk_three(void *arg)
{
    for (uint32_t i = 0; i < 3; i++)
        AXO__YIELD_POINT();
}

static void play_walk(void)
{
    stage_thread("one", walk_three, NULL);
    stage_thread("two", walk_three, NULL);
    stage_go();
}

const stage_scene scene_walk = {.name = "walk", .what = "all orders of two, counted",
                                .play = play_walk, .bound = 9, .expect = 70};

/* ---- stack: pushed by two, taken whole ---- */

typedef struct stack_thing {
    axo__stack_node node; /* first */
    uint32_t number;
} stack_thing;

static axo__stack stack;
static stack_thing stack_things[THINGS];

static void stack_push(void *arg)
{
    stack_thing *it = arg;
    for (uint32_t i = 0; i < 2; i++)
        axo__stack_push_any(&stack, &it[i].node, it[i].number & 7);
    bringers--;
}

static void stack_take_all(void)
{
    uint32_t last[2] = {0, 0}; /* of each pusher, and 1: they come in order */
    axo__stack_link link = axo__stack_reverse(axo__stack_take_any(&stack));
    while (link != 0) {
        const stack_thing *it = (const stack_thing *)(void *)axo__stack_node_of(link);
        link = it->node.next;
        CHECK(it->number + 1 > last[it->number / 2]);
        last[it->number / 2] = it->number + 1;
        parts_seen(it->number);
    }
}

static void stack_taker(void *arg)
{
    bool last = false;
    while (!last) {
        last = bringers == 0;
        stack_take_all();
        if (!last)
            axo__sim_relax();
    }
}

static void play_stack(void)
{
    parts_begin(2);
    axo__stack_init(&stack);
    for (uint32_t i = 0; i < THINGS; i++)
        stack_things[i].number = i;
    stage_thread("one", stack_push, &stack_things[0]);
    stage_thread("two", stack_push, &stack_things[2]);
    stage_thread("taker", stack_taker, NULL);
    stage_go();
    parts_all(THINGS);
}

const stage_scene scene_stack = {.name = "stack", .what = "two that push, one that takes all",
                                 .play = play_stack, .bound = 3};

/* ---- run queue: its owner and two thieves, more entries than places ---- */

static axo__runq runq;
static axo__spmc_slot runq_slots[ROOM];
static axo__runq_ring runq_more;
static axo__spmc_slot runq_more_slots[ROOM];
static uint32_t runq_entries[THINGS];

static void runq_owner(void *arg)
{
    for (uint32_t i = 0; i < THINGS; i++) {
        if (axo__runq_push_owner(&runq, &runq_entries[i]))
            continue;
        const uint32_t *mine = axo__runq_take_any(&runq); /* full */
        if (mine != NULL)
            parts_seen((uint32_t)(mine - runq_entries));
        CHECK(axo__runq_push_owner(&runq, &runq_entries[i]));
    }
    bringers--;
    const uint32_t *mine;
    while ((mine = axo__runq_take_any(&runq)) != NULL)
        parts_seen((uint32_t)(mine - runq_entries));
}

/* Without room it appends a ring, and drops it when it is empty. */
static void runq_extender(void *arg)
{
    for (uint32_t i = 0; i < THINGS; i++) {
        if (axo__runq_push_owner(&runq, &runq_entries[i]))
            continue;
        axo__runq_ring_init(&runq_more, runq_more_slots, ROOM);
        axo__runq_extend_owner(&runq, &runq_more);
        CHECK(axo__runq_push_owner(&runq, &runq_entries[i]));
    }
    bringers--;
    const uint32_t *mine;
    while ((mine = axo__runq_take_any(&runq)) != NULL)
        parts_seen((uint32_t)(mine - runq_entries));
    if (axo__runq_drop_owner(&runq) == NULL)
        return; /* thieves were faster than the pushes */
    axo__runq_extend_owner(&runq, &runq.home);
    CHECK(axo__runq_drop_owner(&runq) == &runq_more);
}

static void runq_thief(void *arg)
{
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t *its = axo__runq_take_any(&runq);
        if (its != NULL)
            parts_seen((uint32_t)(its - runq_entries));
    }
}

static void play_runq(void)
{
    parts_begin(1);
    axo__runq_init(&runq, runq_slots, ROOM);
    stage_thread("owner", runq_owner, NULL);
    stage_thread("thief", runq_thief, NULL);
    stage_thread("thief", runq_thief, NULL);
    stage_go();
    parts_all(THINGS);
    CHECK_SAME(axo__runq_count_any(&runq), 0);
}

static void play_runq_chain(void)
{
    parts_begin(1);
    axo__runq_init(&runq, runq_slots, ROOM);
    stage_thread("owner", runq_extender, NULL);
    stage_thread("thief", runq_thief, NULL);
    stage_thread("thief", runq_thief, NULL);
    stage_go();
    parts_all(THINGS);
    CHECK_SAME(axo__runq_count_any(&runq), 0);
    CHECK(axo__runq_drop_owner(&runq) == NULL);
}

const stage_scene scene_runq_chain = {.name = "runq-chain",
                                      .what = "an owner that appends a ring, two thieves",
                                      .play = play_runq_chain, .bound = 3};

const stage_scene scene_runq = {.name = "runq", .what = "an owner against two thieves",
                                .play = play_runq, .bound = 3};

/* ---- injector: two that push, two that pop; LOST is not EMPTY ---- */

typedef struct inject_thing {
    axo__mpsc_node node; /* first */
    uint32_t number;
} inject_thing;

static axo__inject inject;
static axo__a64 inject_counts;
static inject_thing inject_things[THINGS];

static void inject_push(void *arg)
{
    inject_thing *it = arg;
    axo__inject_push_any(&inject, &it->node);
    bringers--;
}

static void inject_pop(void *arg)
{
    for (;;) {
        axo__mpsc_node *node = NULL;
        bool last = bringers == 0;
        axo__inject_pop pop = axo__inject_pop_any(&inject, &node);
        if (pop == AXO__INJECT_ITEM)
            parts_seen(((inject_thing *)(void *)node)->number);
        else if (pop == AXO__INJECT_EMPTY && last)
            return;
        else
            axo__sim_relax();
    }
}

/* Takes what it can get at once. */
static void inject_try(void *arg)
{
    axo__mpsc_node *node = NULL;
    if (axo__inject_pop_any(&inject, &node) == AXO__INJECT_ITEM)
        parts_seen(((inject_thing *)(void *)node)->number);
}

static void play_inject(void)
{
    parts_begin(2);
    axo__a64_store_relaxed(&inject_counts, 0);
    axo__inject_init(&inject, &inject_counts, 32);
    for (uint32_t i = 0; i < 2; i++)
        inject_things[i].number = i;
    stage_thread("one", inject_push, &inject_things[0]);
    stage_thread("two", inject_push, &inject_things[1]);
    stage_thread("popper", inject_pop, NULL);
    stage_thread("rival", inject_try, NULL);
    stage_go();
    parts_all(2);
    CHECK(!axo__inject_has_any(&inject));
}

const stage_scene scene_inject = {.name = "inject", .what = "two that push, two that pop",
                                  .play = play_inject, .bound = 2};

/* ---- a cell's word: two senders, two runners, the injector between ---- */

typedef struct word_cell {
    axo__state state;
    axo__mpsc_node entry;
    axo__inject ready;
    axo__a64 counts;
    uint32_t inside; /* runners */
} word_cell;

static word_cell cell;
static inject_thing word_messages[THINGS];

static void word_push_entry(void)
{
    if (axo__state_inject(&cell.state, AXO__INJECTED))
        axo__inject_push_any(&cell.ready, &cell.entry);
}

static void word_sender(void *arg)
{
    inject_thing *it = arg;
    uint64_t before = axo__state_push(&cell.state, &it->node);
    if (axo__state_woken(before) == AXO__ANNOUNCE_PUSH)
        word_push_entry();
    bringers--;
}

static void word_handle(axo__mpsc_node *lane)
{
    for (; lane != NULL; lane = lane->next)
        parts_seen(((inject_thing *)(void *)lane)->number);
}

static void word_turn(axo__mpsc_node *lane)
{
    for (;;) {
        CHECK_SAME(++cell.inside, 1);
        word_handle(lane);
        CHECK_SAME(cell.inside, 1);
        cell.inside--;
        axo__finish finish = axo__state_finish(&cell.state, false);
        if (finish == AXO__FINISH_IDLE)
            return;
        CHECK(finish == AXO__FINISH_AGAIN);
        lane = axo__state_take(&cell.state);
    }
}

static void word_run(void)
{
    axo__mpsc_node *lane = NULL;
    axo__state_injected(&cell.state, AXO__INJECTED);
    if (axo__state_claim(&cell.state, &lane) != AXO__CLAIM_STALE)
        word_turn(lane);
}

static void word_runner(void *arg)
{
    for (;;) {
        axo__mpsc_node *node = NULL;
        bool last = bringers == 0;
        axo__inject_pop pop = axo__inject_pop_any(&cell.ready, &node);
        if (pop == AXO__INJECT_ITEM)
            word_run();
        else if (pop == AXO__INJECT_EMPTY && last)
            return;
        else
            axo__sim_relax();
    }
}

/* A runner that has an entry of a life before: it may claim at any time. */
static void word_rival(void *arg)
{
    axo__mpsc_node *lane = NULL;
    if (axo__state_claim(&cell.state, &lane) != AXO__CLAIM_STALE)
        word_turn(lane);
}

static void word_begin(uint32_t senders)
{
    parts_begin(senders);
    memset((void *)&cell, 0, sizeof cell);
    axo__inject_init(&cell.ready, &cell.counts, 0);
    for (uint32_t i = 0; i < senders; i++)
        word_messages[i].number = i;
}

/* Nothing is left, and no message was forgotten. */
static void word_end(uint32_t senders)
{
    parts_all(senders);
    CHECK_SAME(axo__state_look(&cell.state), 0);
    CHECK_SAME(cell.inside, 0);
}

static void play_word(void)
{
    word_begin(2);
    stage_thread("one", word_sender, &word_messages[0]);
    stage_thread("two", word_sender, &word_messages[1]);
    stage_thread("runner", word_runner, NULL);
    stage_go();
    word_end(2);
}

const stage_scene scene_word = {.name = "word", .what = "two senders against a runner",
                                .play = play_word, .bound = 3};

static void play_word_two(void)
{
    word_begin(1);
    stage_thread("sender", word_sender, &word_messages[0]);
    stage_thread("runner", word_runner, NULL);
    stage_thread("rival", word_rival, NULL);
    stage_go();
    word_end(1);
}

const stage_scene scene_word_two = {.name = "word-two", .what = "a sender against two runners",
                                    .play = play_word_two, .bound = 2};

/* ---- a look at a cell against a sender and a runner ---- */

static void look_borrower(void *arg)
{
    if (axo__state_borrow(&cell.state)) {
        CHECK_SAME(++cell.inside, 1);
        AXO__YIELD_POINT();
        CHECK_SAME(cell.inside, 1);
        cell.inside--;
        if (axo__state_give_back(&cell.state) != AXO__UNCLAIM_IDLE)
            word_push_entry();
    }
    bringers--;
}

static void play_look(void)
{
    word_begin(1);
    bringers++;
    stage_thread("sender", word_sender, &word_messages[0]);
    stage_thread("looker", look_borrower, NULL);
    stage_thread("runner", word_runner, NULL);
    stage_go();
    word_end(1);
}

const stage_scene scene_look = {.name = "look", .what = "a look at a cell, a sender, a runner",
                                .play = play_look, .bound = 3};

/* ---- grace periods: what a reader has found is not reused under its hands ---- */

typedef struct grace_thing {
    axo__grace_item item; /* first */
    axo__grace_block block;
    uint32_t dead;
} grace_thing;

static axo__grace grace;
static grace_thing grace_things[2];
static axo__aptr grace_current;

static void grace_pass(void *user)
{
}

static void grace_give(void *user, axo__grace_block *block)
{
    ((grace_thing *)(void *)((char *)block - offsetof(grace_thing, block)))->dead++;
}

static void grace_expire(void *user, uint32_t home, axo__grace_item *items, axo__grace_item *last)
{
    (void)home;
    for (; items != NULL; items = items->next)
        ((grace_thing *)(void *)items)->dead++;
}

static void grace_reader(void *arg)
{
    (void)axo__grace_enter();
    for (uint32_t i = 0; i < 2; i++) {
        const grace_thing *it = axo__aptr_load_acquire(&grace_current);
        AXO__YIELD_POINT();
        CHECK_SAME(it->dead, 0);
        if (i == 0) {
            axo__grace_offline();
            axo__grace_online();
        }
    }
    axo__grace_leave(false);
}

static void grace_writer(void *arg)
{
    grace_thing *old = axo__aptr_xchg_acq_rel(&grace_current, &grace_things[1]);
    axo__grace_retire(&grace, 0, &old->item, &old->item);
    axo__grace_retire_block(&grace, &old->block);
    axo__grace_hurry(&grace); /* no time passes here, which a nap would wait for */
}

static void play_grace(void)
{
    static const axo__grace_ops ops = {.pass = grace_pass, .expire = grace_expire,
                                      .give_block = grace_give};
    memset(grace_things, 0, sizeof grace_things);
    axo__aptr_store_relaxed(&grace_current, &grace_things[0]);
    CHECK(axo__grace_start(&grace, &ops, AXO__GRACE_THREAD, NULL, NULL));
    axo__sim_name(1, "reclaimer");
    axo__sim_settle(-1);
    stage_thread("reader", grace_reader, NULL);
    stage_thread("writer", grace_writer, NULL);
    stage_go();
    CHECK_SAME(grace_things[0].dead, 2); /* at rest it has expired, and its block was freed */
    axo__grace_stop(&grace);
}

const stage_scene scene_grace = {.name = "grace", .what = "a reader, a writer, the reclaimer",
                                 .play = play_grace, .bound = 3};

/* ---- a cell's word: a sender and an announcer against its end ---- */

static void close_runner(void *arg)
{
    axo__mpsc_node *lane = NULL;
    axo__claim claim = axo__state_claim(&cell.state, &lane);
    CHECK(claim == AXO__CLAIM_URGENT);
    word_handle(lane);
    axo__state_close(&cell.state);
    CHECK(axo__state_finish(&cell.state, false) == AXO__FINISH_CLOSED);
}

static void close_announcer(void *arg)
{
    CHECK(axo__state_announce_system(&cell.state) == AXO__ANNOUNCE_DONE);
}

/* Who sends to a closed cell need not push an entry; its message is left to who takes the rest. */
static void close_sender(void *arg)
{
    inject_thing *it = arg;
    (void)axo__state_push(&cell.state, &it->node);
}

static void play_close(void)
{
    word_begin(2);
    (void)axo__state_announce_system(&cell.state);
    stage_thread("runner", close_runner, NULL);
    stage_thread("announcer", close_announcer, NULL);
    stage_thread("one", close_sender, &word_messages[0]);
    stage_thread("two", close_sender, &word_messages[1]);
    stage_go();
    word_handle(axo__state_take(&cell.state));
    parts_all(2);
    axo__mpsc_node *lane = NULL;
    CHECK((axo__state_look(&cell.state) & (AXO__CLOSED | AXO__RUNNING)) == AXO__CLOSED);
    CHECK(axo__state_claim(&cell.state, &lane) == AXO__CLAIM_STALE);
}

const stage_scene scene_close = {.name = "close", .what = "senders against the end of a cell",
                                 .play = play_close, .bound = 3};

/* ---- suspended: messages wait, and are found when it goes on ---- */

static void held_runner(void *arg)
{
    axo__mpsc_node *lane = NULL;
    bool *held = arg;
    CHECK(axo__state_claim(&cell.state, &lane) == AXO__CLAIM_URGENT);
    axo__state_suspend(&cell.state);
    axo__state_settle(&cell.state);
    *held = true;
    word_handle(lane); /* those that were taken with the claim */
    CHECK(axo__state_finish(&cell.state, false) == AXO__FINISH_IDLE);
    CHECK(axo__state_suspends(&cell.state) == 1);
}

static void play_held(void)
{
    bool held = false;
    word_begin(2);
    (void)axo__state_announce_system(&cell.state);
    stage_thread("runner", held_runner, &held);
    stage_thread("one", word_sender, &word_messages[0]);
    stage_thread("two", word_sender, &word_messages[1]);
    stage_go();
    CHECK(held);
    /* goes on: whatever has come meanwhile is found */
    CHECK(axo__state_announce_system(&cell.state) == AXO__ANNOUNCE_PUSH);
    axo__mpsc_node *lane = NULL;
    CHECK(axo__state_claim(&cell.state, &lane) == AXO__CLAIM_URGENT);
    axo__state_resume(&cell.state);
    axo__state_settle(&cell.state);
    word_turn(lane);
    parts_all(2);
}

const stage_scene scene_held = {.name = "held", .what = "senders against a suspension",
                                .play = play_held, .bound = 3};

/* ---- an event count as it is meant: ticket, look, wait ---- */

static axo__os_parker canary_parker;
static axo__a32 canary_work;

static void ticket_sleeper(void *arg)
{
    for (;;) {
        uint64_t ticket = axo__os_parker_ticket(&canary_parker);
        if (axo__a32_load_acquire(&canary_work) == 2)
            return;
        axo__os_parker_wait(&canary_parker, ticket, AXO__NEVER);
    }
}

static void canary_waker(void *arg)
{
    (void)axo__a32_add_acq_rel(&canary_work, 1);
    axo__os_parker_wake(&canary_parker);
}

static void play_ticket(void)
{
    axo__os_parker_init(&canary_parker);
    axo__a32_store_relaxed(&canary_work, 0);
    stage_thread("sleeper", ticket_sleeper, NULL);
    stage_thread("waker", canary_waker, NULL);
    stage_thread("waker", canary_waker, NULL);
    stage_go();
}

const stage_scene scene_ticket = {.name = "ticket", .what = "an event count, two that wake",
                                  .play = play_ticket, .bound = 3, .early_one_in = 4};

/* ---- a planted bug: a ticket that is taken after the look ---- */

static void canary_sleeper(void *arg)
{
    while (axo__a32_load_acquire(&canary_work) == 0) {
        uint64_t ticket = axo__os_parker_ticket(&canary_parker);
        axo__os_parker_wait(&canary_parker, ticket, AXO__NEVER);
    }
}

static void play_canary(void)
{
    axo__os_parker_init(&canary_parker);
    axo__a32_store_relaxed(&canary_work, 0);
    stage_thread("sleeper", canary_sleeper, NULL);
    stage_thread("waker", canary_waker, NULL);
    stage_go();
}

const stage_scene scene_canary = {.name = "canary", .what = "a planted bug: a ticket taken late",
                                  .play = play_canary, .bound = 2, .fails = true};

/* ---- storm: restarts that ask for their turn, wait, and have waited ---- */

static axo__storm storm;
static uint32_t storm_begun[THINGS];
static uint32_t storm_over[THINGS];
static int64_t storm_waits;

static void storm_ask_twice(void *arg)
{
    (void)arg;
    for (uint32_t i = 0; i < 2; i++) {
        int64_t wait = axo__storm_ask(&storm, 100);
        storm_waits += wait;
        if (wait == 0)
            continue;
        uint32_t begun = axo__storm_enter(&storm);
        CHECK(begun < THINGS);
        storm_begun[begun]++;
        uint32_t over = axo__storm_leave(&storm);
        CHECK(over < THINGS);
        storm_over[over]++;
    }
}

/* Places are one behind the other, whoever takes them; each storm begins and ends once. */
static void play_storm(void)
{
    memset(storm_begun, 0, sizeof storm_begun);
    memset(storm_over, 0, sizeof storm_over);
    storm_waits = 0;
    axo__storm_init(&storm, 1, 10);
    stage_thread("one", storm_ask_twice, NULL);
    stage_thread("two", storm_ask_twice, NULL);
    stage_go();
    CHECK_SAME(storm_waits, 10 + 20 + 30);
    for (uint32_t i = 1; i < THINGS; i++) {
        CHECK_SAME(storm_begun[i], storm_over[i]);
        CHECK(storm_begun[i] <= 1);
        CHECK(i == 1 || storm_begun[i] <= storm_begun[i - 1]);
    }
    CHECK_SAME(storm_begun[1], 1);
    CHECK_SAME((uint32_t)axo__a64_load_relaxed(&storm.waiting), 0);
}

const stage_scene scene_storm = {.name = "storm", .what = "two that ask for their turns",
                                 .play = play_storm, .bound = 3};
