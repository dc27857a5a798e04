/* scene_state.c - the scheduling word, the user lane, the system lane: senders and runners. */
#include <string.h>

#include "cell/state.h"
#include "mailbox/inbox.h"
#include "queue/stack.h"
#include "schedules/weak/scenes.h"

#define ENTRIES_MAX 16

enum { NOTE = 1, SUSPEND = 2, RESUME = 3, STOP = 4 };

typedef struct order {
    axo__stack_node node;
    uint32_t text;
} order;

/* A cell as far as these lanes go. An entry brings what its pusher knew, as every queue does: the
 * claim's first look may be a plain load for that reason. */
static struct {
    axo__state state;
    axo__stack system;
    axo__inbox inbox;
    bool attention;
    bool closed;
    uint32_t instance; /* the runner's */
    uint32_t suspends; /* as the runner counts them */
    axo__message messages[4];
    order orders[4];
    weak_knot entries[ENTRIES_MAX];
    uint32_t pushed;
    uint32_t popped;
    uint32_t senders; /* that are not done */
    uint32_t latest[WEAK_FIBERS + 1];
    uint32_t handled;
    uint32_t taken;
    uint32_t dropped;
    axo__a64 count; /* of a bounded mailbox, whose messages are there before it says so */
    uint32_t boxed[3];
    uint32_t unboxed;
} it;

static void setup(void)
{
    memset(&it, 0, sizeof it);
    axo__stack_init(&it.system);
    axo__a64_store_relaxed(&it.state.word, 0);
    weak_name(&it.state.word, "word");
    weak_name(&it.state.suspends, "suspends");
    weak_name(&it.system.top, "system");
    weak_name(&it.count, "count");
    weak_name(&it.instance, "instance");
    for (uint32_t i = 0; i < 4; i++) {
        weak_name(&it.messages[i], "message%u", i);
        weak_name(&it.orders[i].text, "order%u", i);
    }
}

static void setup_one(void)
{
    setup();
    it.senders = 1;
}

static void setup_two(void)
{
    setup();
    it.senders = 2;
}

/* ---- senders ---- */

static void entry_push(bool push)
{
    if (!push)
        return;
    weak_expect(it.pushed < ENTRIES_MAX);
    weak_give(&it.entries[it.pushed++]);
}

static void send(uint32_t which, uint32_t number)
{
    axo__message *message = &it.messages[which];
    weak_wrote(&message->node);
    message->pub.tag = weak_self();
    message->pub.size = number;
    uint64_t before = axo__state_push(&it.state, &message->node);
    entry_push(axo__state_woken(before) == AXO__ANNOUNCE_PUSH);
}

static void tell(uint32_t which, uint32_t kind)
{
    order *what = &it.orders[which];
    weak_wrote(&what->text);
    what->text = kind;
    axo__stack_push_any(&it.system, &what->node, kind);
    entry_push(axo__state_announce_system(&it.state) == AXO__ANNOUNCE_PUSH);
}

static void sender_of_two(void)
{
    send(0, 1);
    send(1, 2);
    it.senders--;
}

static void sender_of_one(void)
{
    send(2, 1);
    it.senders--;
}

static void teller_of_two(void)
{
    tell(0, NOTE);
    tell(1, NOTE);
    it.senders--;
}

static void suspender(void)
{
    tell(0, SUSPEND);
    tell(1, RESUME);
    it.senders--;
}

static void stopper(void)
{
    tell(0, STOP);
    it.senders--;
}

static void sender_of_both(void)
{
    send(2, 1);
    tell(2, NOTE);
    it.senders--;
}

/* ---- the runner: as sched/run.c and super/stop.c have it ---- */

static void handle(axo__message *message)
{
    weak_reads(&message->node);
    weak_wrote(&it.instance);
    weak_expect(it.suspends == 0);
    weak_expect(message->pub.size == it.latest[message->pub.tag] + 1);
    it.latest[message->pub.tag] = message->pub.size;
    it.handled++;
}

/* All that were taken are read at once: their links are. */
static void keep(axo__mpsc_node *lane)
{
    for (const axo__mpsc_node *node = lane; node != NULL; node = node->next)
        weak_reads(node);
    if (lane != NULL)
        axo__inbox_put(&it.inbox, lane);
}

static void drain(void)
{
    axo__mpsc_node *lane = NULL;
    do {
        while (!axo__inbox_turn(&it.inbox))
            continue;
        while (axo__inbox_take(&it.inbox) != NULL)
            it.dropped++;
        lane = axo__state_take(&it.state);
        keep(lane);
    } while (lane != NULL);
}

static void take_order(order *what, uint32_t kind)
{
    weak_reads(&what->text);
    weak_wrote(&it.instance);
    weak_expect(what->text == kind);
    it.taken++;
    if (kind == SUSPEND) {
        axo__state_suspend(&it.state);
        it.suspends++;
    } else if (kind == RESUME) {
        axo__state_resume(&it.state);
        it.suspends--;
    } else if (kind == STOP) {
        axo__state_terminate(&it.state);
        it.suspends++;
        axo__state_close(&it.state);
        it.closed = true;
        drain();
    }
}

static void take_orders(void)
{
    axo__stack_link link = 0;
    if (axo__stack_has_any(&it.system))
        link = axo__stack_reverse(axo__stack_take_any(&it.system));
    while (link != 0) {
        axo__stack_node *node = axo__stack_node_of(link);
        uint32_t kind = axo__stack_tag_of(link);
        link = node->next;
        take_order((order *)(void *)node, kind);
    }
    if (!it.closed)
        axo__state_settle(&it.state);
}

static bool run_messages(void)
{
    for (;;) {
        uint64_t word = axo__state_look(&it.state);
        if ((word & (AXO__URGENT | AXO__CLOSED)) != 0 || it.attention) {
            if ((word & AXO__CLOSED) != 0)
                return false;
            if ((word & AXO__URGENT) != 0)
                axo__state_take_urgent(&it.state);
            it.attention = false;
            take_orders();
            continue;
        }
        if (!axo__state_free(word))
            return true;
        if (axo__inbox_is_empty(&it.inbox) && (word & AXO__LANE) != 0)
            keep(axo__state_take(&it.state));
        if (!axo__inbox_turn(&it.inbox))
            continue;
        axo__message *message = axo__inbox_take(&it.inbox);
        if (message == NULL)
            return false;
        handle(message);
        if (axo__inbox_is_empty(&it.inbox) && !it.attention)
            return false;
    }
}

static void run(void)
{
    for (;;) {
        bool more = run_messages();
        weak_wrote(&it.instance); /* whether it has left any is noted in the cell */
        switch (axo__state_finish(&it.state, more)) {
        case AXO__FINISH_AGAIN:
            continue;
        case AXO__FINISH_PUSH:
            entry_push(true);
            return;
        case AXO__FINISH_IDLE:
        case AXO__FINISH_CLOSED:
            return;
        }
    }
}

static bool runner_may_go(void *user)
{
    (void)user;
    return it.popped < it.pushed || it.senders == 0;
}

static void runner(void)
{
    for (;;) {
        axo__mpsc_node *lane = NULL;
        weak_wait(runner_may_go, NULL);
        if (it.popped == it.pushed)
            return;
        weak_get(&it.entries[it.popped++]);
        axo__claim claim = axo__state_claim(&it.state, &lane);
        if (claim == AXO__CLAIM_STALE)
            continue;
        weak_wrote(&it.instance);
        it.attention = it.attention || claim == AXO__CLAIM_URGENT;
        keep(lane);
        run();
    }
}

/* A worker whose turns are plain: the short claim, then the short finish; the others where the word
 * has more to say. */
static void plain_runner(void)
{
    for (;;) {
        weak_wait(runner_may_go, NULL);
        if (it.popped == it.pushed)
            return;
        weak_get(&it.entries[it.popped++]);
        axo__mpsc_node *lane = axo__state_claim_plain(&it.state);
        if (lane == NULL && axo__state_claim(&it.state, &lane) == AXO__CLAIM_STALE)
            continue;
        weak_wrote(&it.instance);
        keep(lane);
        while (axo__inbox_turn(&it.inbox) && it.inbox.first != NULL)
            handle(axo__inbox_take(&it.inbox));
        weak_wrote(&it.instance);
        if (!axo__state_finish_plain(&it.state))
            run();
    }
}

/* Takes the cell and gives it back unrun, as one of another pool. */
static void unclaimer(void)
{
    axo__mpsc_node *lane = NULL;
    axo__claim claim = axo__state_claim(&it.state, &lane);
    if (claim != AXO__CLAIM_STALE) {
        weak_wrote(&it.instance);
        it.attention = it.attention || claim == AXO__CLAIM_URGENT;
        keep(lane);
        bool urgent = it.attention;
        it.attention = false;
        entry_push(axo__state_unclaim(&it.state, urgent) != AXO__UNCLAIM_IDLE);
    }
    it.senders--;
}

/* Looks at what is the runner's. */
static void borrower(void)
{
    if (axo__state_borrow(&it.state)) {
        weak_reads(&it.instance);
        entry_push(axo__state_give_back(&it.state) != AXO__UNCLAIM_IDLE);
    }
    it.senders--;
}

/* Suspends a child that has nothing to do, and lets it go on. */
static void idle_suspender(void)
{
    if (axo__state_borrow_idle(&it.state)) {
        weak_wrote(&it.instance);
        axo__state_suspend(&it.state);
        it.suspends++;
        entry_push(axo__state_give_back_held(&it.state) != AXO__UNCLAIM_IDLE);
        tell(0, RESUME);
    }
    it.senders--;
}

/* ---- the runner is inside, or has left something, when it begins ---- */

/* READY is set: the claim leaves the lane, which is taken later. */
static void setup_ready(void)
{
    setup_one();
    send(3, 1);
    (void)axo__state_announce_user(&it.state);
}

/* Claimed, a message in the inbox, and URGENT has come since, for a directive, without an order. */
static void setup_inside(void)
{
    axo__mpsc_node *lane = NULL;
    setup_one();
    send(3, 1);
    (void)axo__state_claim(&it.state, &lane);
    axo__inbox_put(&it.inbox, lane);
    it.popped = it.pushed;
    (void)axo__state_announce_system(&it.state);
}

static void teller_of_one(void)
{
    tell(1, NOTE);
    it.senders--;
}

static void runner_inside(void)
{
    run();
    runner();
}

/* ---- a bounded mailbox in place of the lane: mailbox/bounded.h ---- */

static void box_put(uint32_t number)
{
    weak_wrote(&it.boxed[number]);
    axo__a64_store_release(&it.count, number + 1);
    entry_push(axo__state_announce_user(&it.state) == AXO__ANNOUNCE_PUSH);
}

/* Claimed, what was there is handled, and READY has been set since. */
static void setup_boxed(void)
{
    axo__mpsc_node *lane = NULL;
    setup_one();
    box_put(0);
    (void)axo__state_claim(&it.state, &lane);
    it.popped = it.pushed;
    it.unboxed = 1;
    (void)axo__state_announce_user(&it.state);
}

static void boxer(void)
{
    box_put(1);
    box_put(2);
    it.senders--;
}

static void run_boxed(void)
{
    while (axo__state_finish(&it.state, false) == AXO__FINISH_AGAIN) {
        uint64_t count = axo__a64_load_acquire(&it.count);
        while (it.unboxed < count)
            weak_reads(&it.boxed[it.unboxed++]);
    }
}

static void runner_boxed(void)
{
    run_boxed();
    for (;;) {
        axo__mpsc_node *lane = NULL;
        weak_wait(runner_may_go, NULL);
        if (it.popped == it.pushed)
            return;
        weak_get(&it.entries[it.popped++]);
        if (axo__state_claim(&it.state, &lane) == AXO__CLAIM_STALE)
            continue;
        uint64_t count = axo__a64_load_acquire(&it.count);
        while (it.unboxed < count)
            weak_reads(&it.boxed[it.unboxed++]);
        run_boxed();
    }
}

/* ---- a slot's next life, and an entry of the one before ---- */

static void setup_gone(void)
{
    setup();
    weak_expect(axo__state_borrow(&it.state));
    axo__state_close(&it.state);
    weak_expect(axo__state_finish(&it.state, false) == AXO__FINISH_CLOSED);
}

static void parent(void)
{
    weak_wrote(&it.orders[0].text);
    axo__state_init(&it.state, 0);
    weak_wrote(&it.instance);
    axo__state_birth(&it.state);
}

static void stale_runner(void)
{
    axo__mpsc_node *lane = NULL;
    if (axo__state_claim(&it.state, &lane) == AXO__CLAIM_STALE)
        return;
    weak_reads(&it.orders[0].text);
    weak_wrote(&it.instance);
}

/* A worker that has the newborn's own entry, perhaps. */
static void born_runner(void)
{
    axo__mpsc_node *lane = NULL;
    if (!axo__state_claim_born(&it.state, &lane))
        return;
    weak_reads(&it.orders[0].text);
    weak_wrote(&it.instance);
    keep(lane);
}

/* ---- a leaf that ends ---- */

/* Its runner is inside, with nothing left to do. */
static void setup_leaf(void)
{
    setup_two();
    weak_expect(axo__state_borrow(&it.state));
}

static void leaf(void)
{
    weak_wrote(&it.instance);
    it.closed = true;
    if (!axo__state_close_plain(&it.state)) {
        axo__state_close(&it.state);
        drain();
        weak_expect(axo__state_finish(&it.state, false) == AXO__FINISH_CLOSED);
    }
}

/* Who finds the cell closed looks after what it has pushed (axo__watch_add). */
static void late_teller(void)
{
    tell(0, NOTE);
    if ((axo__state_look(&it.state) & AXO__CLOSED) != 0) {
        weak_reads(&it.instance);
        it.taken++;
    }
    it.senders--;
}

/* ---- checks ---- */

static void check_boxed(void)
{
    weak_expect(it.unboxed == 3);
}

static void check_counts(uint32_t messages, uint32_t orders)
{
    weak_expect(it.handled == messages);
    weak_expect(it.taken == orders);
    weak_expect((axo__a64_load_relaxed(&it.state.word)) == 0);
}

static void check_three(void)
{
    check_counts(3, 0);
}

static void check_two(void)
{
    check_counts(2, 0);
}

static void check_one_two(void)
{
    check_counts(1, 2);
}

static void check_one_one(void)
{
    check_counts(1, 1);
}

static void check_two_none(void)
{
    check_counts(0, 2);
}

static void check_idle(void)
{
    weak_expect(it.handled == 1 && it.suspends == 0);
    weak_expect((axo__a64_load_relaxed(&it.state.word)) == 0);
}

static void check_closed(void)
{
    uint32_t left = 0;
    const axo__mpsc_node *lane = axo__state_take(&it.state);
    for (; lane != NULL; lane = lane->next)
        left++;
    weak_expect(it.closed);
    weak_expect(it.handled + it.dropped + left == 2);
}

static void check_leaf(void)
{
    uint32_t left = 0;
    const axo__mpsc_node *lane = axo__state_take(&it.state);
    for (; lane != NULL; lane = lane->next)
        left++;
    weak_expect(it.dropped + left == 2);
    weak_expect((axo__a64_load_relaxed(&it.state.word) & AXO__CLOSED) != 0);
    weak_expect((axo__a64_load_relaxed(&it.state.word) & AXO__RUNNING) == 0);
    weak_expect(it.pushed == 0);
}

const weak_scenario weak_state_scenes[] = {
    {.name = "user_lane", .what = "two senders, one runner: nothing is lost, payloads are seen",
     .setup = setup_two, .fibers = {sender_of_two, sender_of_one, runner}, .check = check_three,
     .bound = 2},
    {.name = "user_two_runners", .what = "one sender, two runners: what a runner leaves is seen",
     .setup = setup_one, .fibers = {sender_of_two, runner, runner}, .check = check_two,
     .bound = 2},
    {.name = "user_plain", .what = "one sender, two runners whose turns are plain",
     .setup = setup_one, .fibers = {sender_of_two, plain_runner, plain_runner},
     .check = check_two, .bound = 2},
    {.name = "system_lane", .what = "push with a tag, take all, beside a message",
     .setup = setup_two, .fibers = {teller_of_two, sender_of_one, runner},
     .check = check_one_two, .bound = 2},
    {.name = "suspend_resume", .what = "a message waits while the cell is suspended",
     .setup = setup_two, .fibers = {suspender, sender_of_one, runner}, .check = check_one_two,
     .bound = 2},
    {.name = "unclaim", .what = "a claim is undone, another runner takes it up",
     .setup = setup_two, .fibers = {sender_of_both, unclaimer, runner}, .check = check_one_one,
     .bound = 2},
    {.name = "borrow", .what = "a look at what is the runner's",
     .setup = setup_two, .fibers = {sender_of_both, borrower, runner}, .check = check_one_one,
     .bound = 2},
    {.name = "borrow_idle", .what = "an idle child is suspended without a turn",
     .setup = setup_two, .fibers = {idle_suspender, sender_of_both, runner}, .check = check_idle,
     .bound = 2},
    {.name = "suspend_two_runners", .what = "what is left while suspended is seen by the next",
     .setup = setup_one, .fibers = {suspender, runner, runner}, .check = check_two_none,
     .bound = 2},
    {.name = "take_late", .what = "a message that comes between the look and the taking",
     .setup = setup_ready, .fibers = {sender_of_one, runner}, .check = check_two, .bound = 2},
    {.name = "urgent_late", .what = "an order that comes between the look and the clearing",
     .setup = setup_inside, .fibers = {teller_of_one, runner_inside}, .check = check_one_one,
     .bound = 2},
    {.name = "boxed", .what = "messages of a bounded mailbox, announced while the runner finishes",
     .setup = setup_boxed, .fibers = {boxer, runner_boxed}, .check = check_boxed, .bound = 2},
    {.name = "stale_entry", .what = "a newborn is not run before its parent knows it",
     .setup = setup_gone, .fibers = {parent, stale_runner, stale_runner}, .bound = 2},
    {.name = "born", .what = "a newborn's short claim, beside one by a stale entry",
     .setup = setup_gone, .fibers = {parent, born_runner, stale_runner}, .bound = 2},
    {.name = "close_plain", .what = "messages and orders that come while a leaf closes in one step",
     .setup = setup_leaf, .fibers = {leaf, sender_of_two, late_teller}, .check = check_leaf,
     .bound = 2},
    {.name = "close", .what = "messages that come while a cell closes are drained or left",
     .setup = setup_two, .fibers = {stopper, sender_of_two, runner}, .check = check_closed,
     .bound = 2},
    {.name = NULL},
};
