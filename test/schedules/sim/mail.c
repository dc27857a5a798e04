/* mail.c - the checker of messages. */
#include "mail.h"

#include "look.h"

#define MAIL_HELD_MAX 64

mail m;

void mail_reset(void)
{
    memset(m.state, 0, m.next);
    memset(m.passed_on, 0, m.next);
    memset(m.aside, 0, sizeof m.aside[0] * g.count);
    memset(m.mind, 0, sizeof m.mind[0] * g.count);
    m.next = 1;
    m.life++;
    m.pairs = m.boxes = m.sending = m.asks = m.shots = 0;
    m.ends = m.held = m.expired = 0;
    m.dry = false;
}

static mail_aside *mail_aside_of(uint64_t bits)
{
    return &m.aside[ghost_find(bits) - g.all];
}

/* ---- numbers ---- */

mail_mind *mail_mind_of(uint64_t bits)
{
    return &m.mind[ghost_find(bits) - g.all];
}

work mail_new(uint64_t from, axo_ref to, uint32_t left, uint32_t priority)
{
    work made = {.left = left, .priority = priority, .to = to.bits};
    if (m.next < MAIL_NUMBERS)
        made.number = m.next++;
    if (from == 0)
        return made;
    const mail_mind *mind = mail_mind_of(from);
    made.said = mind->said;
    made.said_to = mind->said_to;
    if (mind->heard_to == to.bits)
        made.after = mind->heard;
    return made;
}

void mail_sent(uint32_t number)
{
    m.state[number] = MAIL_SENT;
    m.sending = number;
}

void mail_refused(uint32_t number)
{
    HOLDS_ALL(37, number == 0 || m.state[number] == MAIL_SENT,
              "message %" PRIu32 " was refused, and has come to an end", number);
    m.state[number] = MAIL_NONE;
    m.sending = 0;
}

/* Who finds no room: the sender, the new one, the oldest, or whoever waited too long. */
static void mail_overflow(const axo_dead_letter *letter, uint32_t number)
{
    const axo__cell *cell = axo__table_find(&l.system->core.table, letter->recipient);
    const axo__bounded_mailbox *bounded = cell != NULL ? axo__cell_bounded(cell) : NULL;
    HOLDS_ALL(42, bounded != NULL, "no room in a mailbox without a bound");
    axo_overflow how = bounded->how.overflow;
    HOLDS_ALL(42, how != AXO_OVERFLOW_REFUSE || m.sending == 0,
              "a message that should be refused is a dead letter");
    if (how == AXO_OVERFLOW_DROP_NEW && number != 0 && m.sending != 0)
        HOLDS_ALL(42, number == m.sending, "another message than the new one is dropped");
    if (how == AXO_OVERFLOW_DROP_OLD && number != 0 && m.sending != 0 &&
        bounded->how.kind == AXO_MAILBOX_FIFO)
        HOLDS_ALL(42, number != m.sending, "the new message is dropped, and not an old one");
    if (how == AXO_OVERFLOW_PARK)
        probe_hit(PROBE_PARKED_TIMEOUT);
}

void mail_dead(const axo_dead_letter *letter)
{
    const work *it = letter->message->payload;
    if (letter->reason == AXO_DEAD_POISON)
        return; /* it was handled */
    bool numbered = letter->message->tag == TAG_WORK && it != NULL && it->number != 0;
    if (letter->reason == AXO_DEAD_OVERFLOW)
        mail_overflow(letter, numbered ? it->number : 0);
    if (!numbered)
        return;
    HOLDS_ALL(37, m.state[it->number] == MAIL_SENT || m.state[it->number] == MAIL_ASIDE_NOW,
              "message %" PRIu32 " is dead, and was %u", it->number, m.state[it->number]);
    m.state[it->number] = MAIL_DEAD;
}

/* ---- order ---- */

static mail_pair *mail_pair_of(uint64_t from, uint64_t to, uint32_t priority)
{
    uint64_t mixed = (from * UINT64_C(0x9e3779b97f4a7c15) ^ to) * UINT64_C(0xff51afd7ed558ccd);
    uint32_t at = (uint32_t)(mixed >> 40) + priority;
    for (;; at++) {
        mail_pair *pair = &m.pair[at % MAIL_PAIRS];
        if (pair->life != m.life) {
            if (++m.pairs > MAIL_PAIRS / 2)
                ghost_fail("more pairs than the checker has room for");
            *pair = (mail_pair){.from = from, .to = to, .priority = priority, .life = m.life};
        }
        if (pair->from == from && pair->to == to && pair->priority == priority)
            return pair;
    }
}

/* Nothing that was there before this one was taken would have been the better one. */
static void mail_best(const ghost *it, const axo__bounded_mailbox *bounded, uint32_t priority)
{
    mail_box *seen = NULL;
    for (uint32_t i = 0; i < m.boxes; i++) {
        if (m.box[i].ref.bits == it->bits)
            seen = &m.box[i];
    }
    if (seen == NULL)
        return;
    for (uint32_t i = 0; i < bounded->entry_count && bounded->how.kind == AXO_MAILBOX_PRIORITY;
         i++) {
        const axo__bounded_entry *entry = &bounded->entries[i];
        if (entry->number < seen->seen)
            HOLDS(38, it, entry->priority >= priority, "a message of lower priority came first");
    }
    if (bounded->how.kind == AXO_MAILBOX_CONTROL && bounded->how.overflow != AXO_OVERFLOW_PARK)
        HOLDS(38, it, priority == 0 || bounded->control.first == NULL, "a control message waits");
    seen->seen = bounded->number;
}

/* The first time that it comes. */
static void mail_in_order(const ghost *it, const axo__bounded_mailbox *bounded,
                          const axo_message *message, const work *what)
{
    axo_mailbox_kind kind = bounded != NULL ? bounded->how.kind : AXO_MAILBOX_FIFO;
    uint32_t class = kind == AXO_MAILBOX_FIFO       ? 0
                     : kind == AXO_MAILBOX_PRIORITY ? what->priority
                                                    : what->priority == 0;
    HOLDS(53, it, what->to == it->bits, "a message for another");
    if (kind == AXO_MAILBOX_PRIORITY && m.dry)
        return;
    mail_pair *pair = mail_pair_of(message->sender.bits, it->bits, class);
    HOLDS_ALL(38, what->number > pair->last,
              "message %" PRIu32 " comes after %" PRIu32 " of the same sender", what->number,
              pair->last);
    pair->last = what->number;
    if (kind != AXO_MAILBOX_FIFO || bounded != NULL)
        return;
    HOLDS(44, it, pair->pill == 0 || what->number < pair->pill, "a message after a pill");
    HOLDS(44, it,
          pair->kill == 0 || what->number < pair->kill ||
              mail_mind_of(it->bits)->kill_fails >= pair->kills,
          "a message before a kill that was sent earlier");
    HOLDS(38, it, what->after == 0 || m.passed_on[what->after] || m.state[what->after] != MAIL_SENT,
          "what its sender had heard was sent before has not come");
}

void mail_accepted(uint64_t from, const work *what, axo_status status)
{
    const ghost *to = ghost_find(what->to);
    mail_mind *mind = mail_mind_of(from);
    m.sending = 0;
    if (status != AXO_OK || to == NULL || to->boxed || what->number == 0)
        return;
    mail_pair_of(from, what->to, 0)->sent = what->number;
    mind->said = what->number;
    mind->said_to = what->to;
}

void mail_special(uint64_t from, uint64_t to, bool kill)
{
    ghost *it = ghost_find(to);
    if (it == NULL || it->terminated)
        return;
    it->pilled = it->pilled || !kill;
    if (it->boxed)
        return;
    mail_pair *pair = mail_pair_of(from, to, 0);
    if (kill) {
        pair->kill = m.next;
        pair->kills = ++mail_mind_of(to)->kills;
    } else if (it->lifetime != AXO_PERMANENT && pair->pill == 0) {
        pair->pill = m.next;
    }
}

uint64_t mail_heard(uint64_t bits)
{
    return mail_mind_of(bits)->heard_to;
}

void mail_noticed(uint64_t target, uint64_t watcher)
{
    const ghost *it = ghost_find(watcher);
    if (it->boxed || ghost_find(target) == NULL)
        return;
    const mail_pair *pair = mail_pair_of(target, watcher, 0);
    HOLDS(33, it, pair->last >= pair->sent, "a notice before a message of the one that ended");
}

/* From where it comes, a message is the next that may. */
static bool mail_take_aside(const ghost *it, mail_aside *aside, const axo_message *message)
{
    if (aside->front == 0)
        return false;
    HOLDS(45, it, aside->messages[0] == message, "another message than the one in front");
    aside->front--;
    aside->count--;
    memmove(aside->messages, aside->messages + 1, sizeof aside->messages[0] * aside->count);
    return true;
}

static void mail_shot_comes(const ghost *it, const work *what)
{
    if (what->shot == 0)
        return;
    HOLDS(51, it, m.shot[what->shot] != 0, "a timer of one shot comes twice");
    HOLDS(51, it, m.shot[what->shot] <= g.time, "a timer of one shot comes early");
    m.shot[what->shot] = 0;
}

void mail_received(axo_ctx *ctx, const axo_message *message)
{
    const ghost *it = ghost_find(axo_self(ctx).bits);
    const axo__bounded_mailbox *bounded = axo__cell_bounded((const axo__cell *)(const void *)ctx);
    mail_aside *aside = mail_aside_of(it->bits);
    const work *what = message->tag == TAG_WORK ? message->payload : NULL;
    HOLDS(45, it, axo_stash_count(ctx) == aside->count - aside->front,
          "the stash has another count than it should");
    bool again = mail_take_aside(it, aside, message);
    if (!again && bounded != NULL && what != NULL)
        mail_best(it, bounded, what->priority);
    if (what != NULL && !again)
        mail_shot_comes(it, what);
    if (what == NULL || what->number == 0)
        return;
    HOLDS_ALL(39, m.state[what->number] == (again ? MAIL_ASIDE_NOW : MAIL_SENT),
              "message %" PRIu32 " comes, and was %u", what->number, m.state[what->number]);
    m.state[what->number] = MAIL_HANDLED;
    if (!again && !m.passed_on[what->number])
        mail_in_order(it, bounded, message, what);
    mail_mind *mind = mail_mind_of(it->bits);
    mind->heard = what->said;
    mind->heard_to = what->said_to;
}

/* ---- asks, shots ---- */

uint64_t mail_ask(uint64_t by)
{
    uint64_t id = ++m.asks;
    m.asked[id % MAIL_ASKS] =
        (mail_asked){.by = by, .instance = ghost_find(by)->instance, .open = true};
    return id;
}

void mail_unasked(uint64_t id)
{
    m.asked[id % MAIL_ASKS].open = false;
}

void mail_answered(uint64_t by, uint64_t id)
{
    const ghost *it = ghost_find(by);
    mail_asked *asked = &m.asked[id % MAIL_ASKS];
    HOLDS(43, it, asked->by == by && asked->instance == it->instance, "an answer for another");
    HOLDS(43, it, asked->open, "an ask completes twice");
    asked->open = false;
}

void mail_check_asks(void)
{
    for (uint32_t i = 0; i < MAIL_ASKS && i <= m.asks; i++) {
        const mail_asked *asked = &m.asked[i];
        const ghost *it = asked->open && i > 0 ? ghost_find(asked->by) : NULL;
        if (it != NULL && !it->terminated)
            HOLDS(43, it, asked->instance != it->instance, "an ask was never completed");
    }
}

uint32_t mail_shot(int64_t due)
{
    if (m.shots + 1 == MAIL_SHOTS)
        return 0;
    m.shot[++m.shots] = due;
    return m.shots;
}

/* ---- stash ---- */

bool mail_stash(axo_ctx *ctx, const axo_message *message)
{
    mail_aside *aside = mail_aside_of(axo_self(ctx).bits);
    const work *what = message->payload;
    axo_status status = axo_stash(ctx);
    bool room = aside->count - aside->front < MAIL_ASIDE;
    HOLDS_ALL(45, status == (room ? AXO_OK : AXO_EFULL), "axo_stash: %s", axo_status_name(status));
    if (!room) {
        probe_hit(PROBE_STASH_FULL);
        return false;
    }
    if (aside->count == MAIL_ASIDE * 2)
        ghost_fail("more is put aside than the checker has room for");
    aside->messages[aside->count++] = message;
    ghost_find(axo_self(ctx).bits)->put_aside = true;
    mail_mind_of(axo_self(ctx).bits)->request = 0;
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

void mail_unstash(axo_ctx *ctx, uint32_t count)
{
    if ((count == UINT32_MAX ? axo_unstash_all(ctx) : axo_unstash(ctx, count)) != AXO_OK)
        ghost_fail("axo_unstash failed");
    mail_to_front(mail_aside_of(axo_self(ctx).bits), count);
}

/* ---- failed requests ---- */

void mail_request(uint64_t by, const axo_message *message)
{
    bool request = message->tag < AXO_TAG_RESERVED && message->sender.bits != by;
    mail_mind_of(by)->request = request ? message->sender.bits : 0;
    mail_mind_of(by)->hand = message;
}

/* Of its tag and its bytes, as they are now. */
uint64_t mail_print(const axo_message *message)
{
    uint64_t print = ((uint64_t)message->tag << 32 | message->size) * UINT64_C(0x9e3779b97f4a7c15);
    const unsigned char *at = message->payload;
    for (uint32_t i = 0; at != NULL && i < message->size; i++)
        print = (print ^ at[i]) * UINT64_C(0x100000001b3);
    return print;
}

/* What the library sends for others and a message that is put aside are no poison. */
static void mail_fails_under(const ghost *it, mail_mind *mind)
{
    const axo_message *message = mind->hand;
    mind->counts = message != NULL && message->tag < AXO_TAG_RESERVED &&
                   message->tag != TAG_LOST && !it->put_aside;
    if (mind->counts)
        mind->print = mail_print(message);
}

/* The receive that has begun last has ended, and then its failure is told. */
static void mail_refuses(const ghost *it, const axo_event *e)
{
    mail_mind *mind = mail_mind_of(it->bits);
    if (e->kind == AXO_EV_RECEIVE) {
        mind->request = 0;
        mind->refuses = mind->counts = false;
        mind->hand = NULL;
    } else if (e->kind == AXO_EV_RECEIVED) {
        axo_status status = (axo_status)(int32_t)(uint32_t)e->arg;
        mind->refuses = status != AXO_OK && status != AXO_UNHANDLED;
        if (mind->refuses)
            mail_fails_under(it, mind);
    } else if (e->kind == AXO_EV_FAIL && mind->refuses) {
        const ghost *parent = ghost_find(it->parent);
        mind->refuses = false;
        bool told = parent != NULL && parent->strategy != NULL &&
                    parent->strategy->answer_failed != 0;
        if (told && mind->request != 0 && ghost_find(mind->request) != NULL)
            mail_pair_of(it->bits, mind->request, 0)->owed++;
    }
}

void mail_request_failed(uint64_t by, const axo_message *message)
{
    const ghost *it = ghost_find(by);
    axo_request_failed failed = axo_request_failed_of(message);
    HOLDS(43, it, message->size == sizeof failed || message->size == AXO_REQUEST_FAILED_BARE,
          "a failed request of another size");
    HOLDS(43, it, failed.tag < AXO_TAG_RESERVED && failed.kind != AXO_FAILURE_NONE,
          "a failed request without a cause");
    mail_pair *pair = mail_pair_of(message->sender.bits, by, 0);
    HOLDS(43, it, pair->owed > 0, "a request that has not failed, or is answered twice");
    pair->owed--;
    probe_hit(PROBE_REQUEST_FAILED);
}

/* Asks are no actors of the world's: who asked is told by a verdict. */
void mail_check_requests(void)
{
    for (uint32_t i = 0; i < MAIL_PAIRS; i++) {
        const mail_pair *pair = &m.pair[i];
        const ghost *it = pair->life == m.life && pair->owed > 0 ? ghost_find(pair->to) : NULL;
        if (it != NULL && !it->terminated && it->acts > 0)
            HOLDS(43, it, strcmp(it->cls->name, "ask") == 0, "a failed request was not answered");
    }
}

void mail_event(const axo_event *e)
{
    const ghost *about = ghost_find(e->actor.bits);
    if (about != NULL)
        mail_refuses(about, e);
    if (e->kind == AXO_EV_CONSTRUCT)
        mail_to_front(mail_aside_of(e->actor.bits), UINT32_MAX);
    if (e->kind == AXO_EV_PARK)
        m.held++;
    const ghost *it = e->kind == AXO_EV_FAIL ? ghost_find(e->actor.bits) : NULL;
    if (it != NULL && e->arg >> 32 == AXO_FAILURE_KILLED && it->pending.actor == it->bits) {
        mail_mind_of(it->bits)->kill_fails++;
        mail_mind_of(it->bits)->counts = false;
    }
}

uint64_t mail_stashed(void)
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

static void mail_check_line(const ghost *it, const axo__bounded_mailbox *bounded)
{
    const axo__waiter *first = bounded->line.first;
    if (first == NULL)
        return;
    const axo_mailbox *how = &bounded->how;
    HOLDS(42, it, how->overflow == AXO_OVERFLOW_PARK, "a line where nobody is parked");
    HOLDS(42, it, bounded->messages > 0, "a line before an empty mailbox");
    bool room = bounded->messages < how->messages_max &&
                bounded->bytes + mail_bytes(first->held.first) <= how->bytes_max;
    HOLDS(42, it, !room, "somebody is parked though there is room");
    for (const axo__waiter *waiter = first; waiter != NULL; waiter = waiter->next) {
        const axo__parked *parked = (const axo__parked *)(const void *)waiter;
        uint64_t held = mail_chain(&waiter->held);
        HOLDS(42, it, waiter->state == AXO__WAITER_WAITS && held > 0, "one waits for nothing");
        HOLDS(42, it, held <= MAIL_HELD_MAX || parked->sender.bits == it->bits,
              "more is held of one than a turn sends");
    }
}

/* Whether somebody's end goes on: its mailbox is being seen to. */
static bool mail_somebody_ends(void)
{
    for (uint32_t i = 0; i < g.count; i++) {
        axo__phase phase = look_at(&g.all[i])->phase;
        if (!g.all[i].terminated && (phase == AXO__PHASE_LEAVING || phase == AXO__PHASE_BURYING))
            return true;
    }
    return false;
}

/* An actor's end lets in what is held of it, past the bound. */
static void mail_check_box(const ghost *it, const axo__bounded_mailbox *bounded, mail_box *seen,
                           bool ended)
{
    uint64_t queued = mail_chain(&bounded->control) + mail_chain(&bounded->rest) +
                      mail_chain(&bounded->late) + bounded->entry_count;
    HOLDS(42, it, queued == axo__bounded_count(bounded), "the mailbox miscounts");
    HOLDS(42, it, bounded->messages <= queued, "more are counted than wait");
    bool more = bounded->messages > seen->messages && !ended;
    if (more &&
        (bounded->messages > bounded->how.messages_max || bounded->bytes > bounded->how.bytes_max))
        more = !mail_somebody_ends();
    HOLDS(42, it, !more || bounded->messages <= bounded->how.messages_max,
          "over the bound of messages");
    HOLDS(42, it, !more || bounded->messages == 1 || bounded->bytes <= bounded->how.bytes_max,
          "over the bound of bytes");
    seen->messages = bounded->messages;
    mail_check_line(it, bounded);
}

void mail_check(axo_system *system)
{
    bool ended = g.kinds[AXO_EV_TERMINATED] != m.ends;
    m.ends = g.kinds[AXO_EV_TERMINATED];
    for (uint32_t i = 0; i < m.boxes; i++) {
        const axo__cell *cell = axo__table_find(&system->core.table, m.box[i].ref);
        if (cell != NULL)
            mail_check_box(ghost_find(m.box[i].ref.bits), axo__cell_bounded(cell), &m.box[i],
                           ended);
        else
            m.box[i--] = m.box[--m.boxes];
    }
}

/* A single step may see more births and ends than there is room for boxes. */
static void mail_forget_gone(void)
{
    for (uint32_t i = 0; i < m.boxes; i++) {
        if (axo__table_find(&l.system->core.table, m.box[i].ref) == NULL)
            m.box[i--] = m.box[--m.boxes];
    }
}

void mail_know(ghost *it, const axo__bounded_mailbox *bounded)
{
    if (bounded == NULL)
        return;
    it->narrow = bounded->how.overflow == AXO_OVERFLOW_PARK && bounded->how.park_ns == 0;
    if (m.boxes == MAIL_BOXES)
        mail_forget_gone();
    if (m.boxes == MAIL_BOXES)
        ghost_fail("more mailboxes than the checker has room for");
    m.box[m.boxes++] = (mail_box){.ref = {.bits = it->bits}};
}

void mail_check_rest(axo_system *system)
{
    for (uint32_t i = 0; i < g.count; i++) {
        const ghost *it = &g.all[i];
        const axo__cell *cell = axo__table_find(&system->core.table, (axo_ref){.bits = it->bits});
        if (it->terminated || cell == NULL)
            continue;
        const axo__extra *extra = axo__cell_extra(cell);
        HOLDS(46, it, !it->parked && (extra == NULL || extra->parked == NULL),
              "at rest, and parked");
        HOLDS(46, it, m.aside[i].front == 0, "at rest, and messages in front");
        HOLDS(46, it, !cell->bounded || axo__bounded_count(axo__cell_bounded(cell)) == 0,
              "at rest, and messages in the mailbox");
    }
}

void mail_check_all(bool left)
{
    for (uint32_t i = 1; i < m.next; i++) {
        HOLDS_ALL(37, m.state[i] != MAIL_SENT && (left || m.state[i] != MAIL_ASIDE_NOW),
                  "message %" PRIu32 " is lost", i);
    }
}
