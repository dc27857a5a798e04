/* mail.h - the checker of messages: each has a number, and comes to an end once; two actors' come
 * in order; mailboxes keep their bounds, their order and their line; what is stashed comes back in
 * front. The boxes are looked into between the steps, when no worker is inside one.
 */
#ifndef TEST_SIM_MAIL_H
#define TEST_SIM_MAIL_H

#include "ghost.h"
#include "sched/worker.h"
#include "system/system.h"

#define MAIL_NUMBERS (1u << 19)
#define MAIL_PAIRS (1u << 17)
#define MAIL_ASIDE 32  /* stash_max of every actor */
#define MAIL_BOXES 64
#define MAIL_HELD_MAX 64
#define MAIL_PRIORITIES 4

enum { TAG_WORK = 1, TAG_PING = 2, TAG_TICK = 3, TAG_KEYED = AXO_TAG_QUIET | 4, TAG_LOST = 5 };

typedef struct work {
    uint32_t left;     /* further sends it may lead to */
    uint32_t number;   /* 0: nobody looks after it */
    uint32_t priority;
    uint64_t to;
} work;

enum { MAIL_NONE, MAIL_SENT, MAIL_HANDLED, MAIL_ASIDE_NOW, MAIL_DEAD };

typedef struct mail_pair {
    uint64_t from;
    uint64_t to;
    uint32_t priority;
    uint32_t last;
} mail_pair;

/* What an actor has put aside: [0, front) comes next, [front, count) is stashed. */
typedef struct mail_aside {
    const axo_message *messages[MAIL_ASIDE * 2];
    uint32_t front;
    uint32_t count;
} mail_aside;

typedef struct mail_box {
    axo_ref ref;
    uint64_t messages; /* at the last look */
    uint64_t seen;     /* priority: the next number of arrival, when its last message came */
} mail_box;

typedef struct mail {
    uint32_t next;   /* number */
    uint32_t pairs;
    uint32_t boxes;
    uint64_t ends;   /* of actors, at the last look */
    uint64_t held;   /* how often something was: figures */
    uint64_t expired;
    bool dry;        /* an allocation has failed */
    uint8_t state[MAIL_NUMBERS];
    uint8_t passed_on[MAIL_NUMBERS];
    mail_pair pair[MAIL_PAIRS];
    mail_box box[MAIL_BOXES];
    mail_aside aside[GHOSTS_MAX];
} mail;

static mail m;

static void mail_reset(void)
{
    memset(m.state, 0, m.next);
    memset(m.passed_on, 0, m.next);
    if (m.pairs > 0)
        memset(m.pair, 0, sizeof m.pair);
    memset(m.aside, 0, sizeof m.aside[0] * g.count);
    m.next = 1;
    m.pairs = m.boxes = 0;
    m.ends = m.held = m.expired = 0;
    m.dry = false;
}

static mail_aside *mail_aside_of(uint64_t bits)
{
    return &m.aside[ghost_find(bits) - g.all];
}

/* ---- numbers ---- */

static work mail_new(axo_ref to, uint32_t left, uint32_t priority)
{
    work made = {.left = left, .priority = priority, .to = to.bits};
    if (m.next < MAIL_NUMBERS)
        made.number = m.next++;
    return made;
}

/* Before it is sent: it may have come to its end before the send returns. */
static void mail_sent(uint32_t number)
{
    m.state[number] = MAIL_SENT;
}

static void mail_refused(uint32_t number)
{
    if (number != 0 && m.state[number] != MAIL_SENT)
        ghost_fail("message %" PRIu32 " was refused, and has come to an end", number);
    m.state[number] = MAIL_NONE;
}

static void mail_dead(const axo_dead_letter *letter)
{
    const work *it = letter->message->payload;
    const ghost *to = ghost_find(letter->recipient.bits);
    if (letter->reason == AXO_DEAD_OVERFLOW && (to == NULL || !to->boxed))
        ghost_fail("no room in a mailbox without a bound");
    if (letter->message->tag != TAG_WORK || it == NULL || it->number == 0)
        return;
    if (m.state[it->number] != MAIL_SENT && m.state[it->number] != MAIL_ASIDE_NOW)
        ghost_fail("message %" PRIu32 " is dead, and was %u", it->number, m.state[it->number]);
    m.state[it->number] = MAIL_DEAD;
}

/* ---- order ---- */

static mail_pair *mail_pair_of(uint64_t from, uint64_t to, uint32_t priority)
{
    uint64_t mixed = (from * UINT64_C(0x9e3779b97f4a7c15) ^ to) * UINT64_C(0xff51afd7ed558ccd);
    uint32_t at = (uint32_t)(mixed >> 40) + priority;
    for (;; at++) {
        mail_pair *pair = &m.pair[at % MAIL_PAIRS];
        if (pair->to == 0) {
            if (++m.pairs > MAIL_PAIRS / 2)
                ghost_fail("more pairs than the checker has room for");
            *pair = (mail_pair){.from = from, .to = to, .priority = priority};
        }
        if (pair->from == from && pair->to == to && pair->priority == priority)
            return pair;
    }
}

/* Nothing that was there before this one was taken would have been the better one. */
static void mail_best(const ghost *it, const axo__box *box, uint32_t priority)
{
    mail_box *seen = NULL;
    for (uint32_t i = 0; i < m.boxes; i++) {
        if (m.box[i].ref.bits == it->bits)
            seen = &m.box[i];
    }
    if (seen == NULL)
        return;
    for (uint32_t i = 0; i < box->entry_count && box->how.kind == AXO_MAILBOX_PRIORITY; i++) {
        const axo__box_entry *entry = &box->entries[i];
        if (entry->number < seen->seen)
            GHOST_CHECK(entry->priority >= priority, it, "a message of lower priority came first");
    }
    if (box->how.kind == AXO_MAILBOX_CONTROL && box->how.overflow != AXO_OVERFLOW_PARK)
        GHOST_CHECK(priority == 0 || box->control.first == NULL, it, "a control message waits");
    seen->seen = box->number;
}

/* The first time that it comes. */
static void mail_in_order(const ghost *it, const axo__box *box, const axo_message *message,
                          const work *what)
{
    axo_mailbox_kind kind = box != NULL ? box->how.kind : AXO_MAILBOX_FIFO;
    uint32_t class = kind == AXO_MAILBOX_FIFO       ? 0
                     : kind == AXO_MAILBOX_PRIORITY ? what->priority
                                                    : what->priority == 0;
    GHOST_CHECK(what->to == it->bits, it, "a message for another");
    if (kind == AXO_MAILBOX_PRIORITY && m.dry)
        return;
    mail_pair *pair = mail_pair_of(message->sender.bits, it->bits, class);
    if (what->number <= pair->last)
        ghost_fail("message %" PRIu32 " comes after %" PRIu32 " of the same sender", what->number,
                   pair->last);
    pair->last = what->number;
}

static void mail_received(axo_ctx *ctx, const axo_message *message)
{
    const ghost *it = ghost_find(axo_self(ctx).bits);
    const axo__box *box = axo__cell_box((const axo__cell *)(const void *)ctx);
    mail_aside *aside = mail_aside_of(it->bits);
    const work *what = message->tag == TAG_WORK ? message->payload : NULL;
    bool again = aside->front > 0;
    if (axo_stash_count(ctx) != aside->count - aside->front)
        ghost_fail("the stash has %" PRIu32 ", it should have %" PRIu32, axo_stash_count(ctx),
                   aside->count - aside->front);
    if (again) {
        GHOST_CHECK(aside->messages[0] == message, it, "another message than the one in front");
        aside->front--;
        aside->count--;
        memmove(aside->messages, aside->messages + 1, sizeof aside->messages[0] * aside->count);
    } else if (box != NULL && what != NULL) {
        mail_best(it, box, what->priority);
    }
    if (what == NULL || what->number == 0)
        return;
    if (m.state[what->number] != (again ? MAIL_ASIDE_NOW : MAIL_SENT))
        ghost_fail("message %" PRIu32 " comes, and was %u", what->number, m.state[what->number]);
    m.state[what->number] = MAIL_HANDLED;
    if (!again && !m.passed_on[what->number])
        mail_in_order(it, box, message, what);
}

/* ---- stash ---- */

static bool mail_stash(axo_ctx *ctx, const axo_message *message)
{
    mail_aside *aside = mail_aside_of(axo_self(ctx).bits);
    const work *what = message->payload;
    axo_status status = axo_stash(ctx);
    bool room = aside->count - aside->front < MAIL_ASIDE;
    if (status != (room ? AXO_OK : AXO_EFULL))
        ghost_fail("axo_stash: %s", axo_status_name(status));
    if (!room)
        return false;
    if (aside->count == MAIL_ASIDE * 2)
        ghost_fail("more is put aside than the checker has room for");
    aside->messages[aside->count++] = message;
    ghost_find(axo_self(ctx).bits)->put_aside = true;
    if (what->number != 0)
        m.state[what->number] = MAIL_ASIDE_NOW;
    return true;
}

/* The oldest `count` of the stash come in front of what is there. */
static void mail_to_front(mail_aside *aside, uint32_t count)
{
    const axo_message *before[MAIL_ASIDE * 2];
    uint32_t stashed = aside->count - aside->front;
    if (count > stashed)
        count = stashed;
    memcpy(before, aside->messages, sizeof before);
    memcpy(aside->messages, before + aside->front, sizeof before[0] * count);
    memcpy(aside->messages + count, before, sizeof before[0] * aside->front);
    aside->front += count;
}

static void mail_unstash(axo_ctx *ctx, uint32_t count)
{
    if ((count == UINT32_MAX ? axo_unstash_all(ctx) : axo_unstash(ctx, count)) != AXO_OK)
        ghost_fail("axo_unstash failed");
    mail_to_front(mail_aside_of(axo_self(ctx).bits), count);
}

/* SS-03 */
static void mail_event(const axo_event *e)
{
    if (e->kind == AXO_EV_CONSTRUCT)
        mail_to_front(mail_aside_of(e->actor.bits), UINT32_MAX);
    if (e->kind == AXO_EV_PARK)
        m.held++;
}

static uint64_t mail_stashed(void)
{
    uint64_t stashed = 0;
    for (uint32_t i = 0; i < g.count; i++)
        stashed += g.all[i].terminated ? 0 : m.aside[i].count;
    return stashed;
}

/* ---- boxes, between two steps ---- */

static uint64_t mail_chain(const axo__chain *chain)
{
    uint64_t count = 0;
    for (const axo__message *it = chain->first; it != NULL; it = axo__message_next(it))
        count++;
    return count;
}

static uint64_t mail_bytes(const axo__message *it)
{
    return it->block + ((it->flags & AXO__MESSAGE_OWNED) != 0 ? it->pub.size : 0);
}

static void mail_check_line(const ghost *it, const axo__box *box)
{
    const axo__waiter *first = box->line.first;
    if (first == NULL)
        return;
    const axo_mailbox *how = &box->how;
    GHOST_CHECK(how->overflow == AXO_OVERFLOW_PARK, it, "a line where nobody is parked");
    GHOST_CHECK(box->messages > 0, it, "a line before an empty mailbox");
    bool room = box->messages < how->messages_max &&
                box->bytes + mail_bytes(first->held.first) <= how->bytes_max;
    GHOST_CHECK(!room, it, "somebody is parked though there is room");
    for (const axo__waiter *waiter = first; waiter != NULL; waiter = waiter->next) {
        const axo__parked *parked = (const axo__parked *)(const void *)waiter;
        uint64_t held = mail_chain(&waiter->held);
        GHOST_CHECK(waiter->state == AXO__WAITER_WAITS && held > 0, it, "one waits for nothing");
        GHOST_CHECK(held <= MAIL_HELD_MAX || parked->sender.bits == it->bits, it,
                    "more is held of one than a turn sends");
    }
}

/* An actor's end lets in what is held of it, past the bound. */
static void mail_check_box(const ghost *it, const axo__box *box, mail_box *seen, bool ended)
{
    uint64_t queued = mail_chain(&box->control) + mail_chain(&box->rest) +
                      mail_chain(&box->late) + box->entry_count;
    GHOST_CHECK(queued == axo__box_count(box), it, "the mailbox miscounts");
    GHOST_CHECK(box->messages <= queued, it, "more are counted than wait");
    bool more = box->messages > seen->messages && !ended;
    GHOST_CHECK(!more || box->messages <= box->how.messages_max, it, "over the bound of messages");
    GHOST_CHECK(!more || box->messages == 1 || box->bytes <= box->how.bytes_max, it,
                "over the bound of bytes");
    seen->messages = box->messages;
    mail_check_line(it, box);
}

static void mail_check(axo_system *system)
{
    bool ended = g.kinds[AXO_EV_TERMINATED] != m.ends;
    m.ends = g.kinds[AXO_EV_TERMINATED];
    for (uint32_t i = 0; i < m.boxes; i++) {
        const axo__cell *cell = axo__table_find(&system->core.table, m.box[i].ref);
        if (cell != NULL)
            mail_check_box(ghost_find(m.box[i].ref.bits), axo__cell_box(cell), &m.box[i], ended);
        else
            m.box[i--] = m.box[--m.boxes];
    }
}

static void mail_know(axo_ref ref, const axo_mailbox *mailbox)
{
    if (mailbox == NULL)
        return;
    ghost *it = ghost_find(ref.bits);
    it->boxed = true;
    it->narrow = mailbox->overflow == AXO_OVERFLOW_PARK && mailbox->park_ns == 0;
    if (m.boxes == MAIL_BOXES)
        ghost_fail("more mailboxes than the checker has room for");
    m.box[m.boxes++] = (mail_box){.ref = ref};
}

/* Nothing can run: nobody is parked, nothing is queued but what is stashed. */
static void mail_check_rest(axo_system *system)
{
    for (uint32_t i = 0; i < g.count; i++) {
        const ghost *it = &g.all[i];
        const axo__cell *cell =
            axo__table_find(&system->core.table, (axo_ref){.bits = it->bits});
        if (it->terminated || cell == NULL)
            continue;
        const axo__more *more = axo__cell_more(cell);
        GHOST_CHECK(!it->parked && (more == NULL || more->parked == NULL), it,
                    "at rest, and parked");
        GHOST_CHECK(m.aside[i].front == 0, it, "at rest, and messages in front");
        GHOST_CHECK(!cell->boxed || axo__box_count(axo__cell_box(cell)) == 0, it,
                    "at rest, and messages in the mailbox");
    }
}

/* Every message that was accepted has come to its end; `left`: or is stashed. */
static void mail_check_all(bool left)
{
    for (uint32_t i = 1; i < m.next; i++) {
        if (m.state[i] == MAIL_SENT || (m.state[i] == MAIL_ASIDE_NOW && !left))
            ghost_fail("message %" PRIu32 " is lost", i);
    }
}

#endif
