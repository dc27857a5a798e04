/* mail.h - the checker of messages: each has a number, and comes to an end once; two actors' come
 * in order; mailboxes keep their bounds, their order and their line; what is stashed comes back in
 * front. The boxes are looked into between the steps, when no worker is inside one.
 */
#ifndef TEST_SIM_MAIL_H
#define TEST_SIM_MAIL_H

#include "look.h"
#include "sched/parked.h"

#define MAIL_NUMBERS (1u << 19)
#define MAIL_PAIRS (1u << 15)
#define MAIL_ASIDE 12  /* stash_max of every actor */
#define MAIL_BOXES 4096
#define MAIL_PRIORITIES 4
#define MAIL_ASKS 4096
#define MAIL_SHOTS 65536

enum {
    TAG_WORK = 1,
    TAG_PING = 2,
    TAG_TICK = 3,
    TAG_KEYED = AXO_TAG_QUIET | 4,
    TAG_LOST = 5,
    TAG_ASK = 6,
    TAG_REPLY = 7,
    TAG_STORM = 8,
    TAG_DRAFT = 9
};

typedef struct work {
    uint32_t left;     /* further sends it may lead to */
    uint32_t number;   /* 0: nobody looks after it */
    uint32_t priority;
    uint32_t after;    /* its sender has heard that this number was sent to the same one */
    uint32_t said;     /* what its sender sent before it, and to whom */
    uint32_t shot;     /* of a timer; 0: it is none's */
    uint64_t said_to;
    uint64_t to;
} work;

enum { MAIL_NONE, MAIL_SENT, MAIL_HANDLED, MAIL_ASIDE_NOW, MAIL_DEAD };

typedef struct mail_pair {
    uint64_t from;
    uint64_t to;
    uint32_t priority;
    uint32_t life;  /* in which it was used */
    uint32_t last;  /* that came */
    uint32_t sent;  /* the last that was accepted */
    uint32_t pill;  /* numbers from this on come after a pill; 0: none */
    uint32_t kill;  /* after a kill */
    uint32_t kills; /* that many had been sent to the receiver then */
    uint32_t owed;  /* `from` has failed under so many of `to`'s requests, and `to` has not heard */
} mail_pair;

typedef struct mail_asked {
    uint64_t by;
    uint32_t instance;
    bool open;
} mail_asked;

/* What an actor has said last, and heard of. */
typedef struct mail_mind {
    uint64_t said_to;
    uint64_t heard_to;
    uint32_t said;
    uint32_t heard;
    uint32_t kills;      /* sent to it */
    uint32_t kill_fails; /* that it has failed for */
    uint64_t request;    /* who sent the message in hand, if that is a request; 0: it is none */
    bool refuses;        /* its receive has failed */
    bool counts;         /* so many failures under one such message make it poison */
    uint64_t print;      /* of the message that it has failed under */
    const axo_message *hand; /* the message in hand; NULL: none that the world has seen */
} mail_mind;

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
    uint32_t sending; /* this number, just now; 0: none */
    uint32_t asks;
    uint32_t shots;
    uint32_t life;
    uint64_t ends;   /* of actors, at the last look */
    uint64_t held;   /* how often something was: figures */
    uint64_t expired;
    bool dry;        /* an allocation has failed */
    uint8_t state[MAIL_NUMBERS];
    uint8_t passed_on[MAIL_NUMBERS];
    mail_pair pair[MAIL_PAIRS];
    mail_box box[MAIL_BOXES];
    mail_asked asked[MAIL_ASKS];
    int64_t shot[MAIL_SHOTS]; /* when it is due; 0: it has come */
    mail_mind mind[GHOSTS_MAX];
    mail_aside aside[GHOSTS_MAX];
} mail;

extern mail m;

void mail_reset(void);
mail_mind *mail_mind_of(uint64_t bits);

/* From outside: `from` is 0. */
work mail_new(uint64_t from, axo_ref to, uint32_t left, uint32_t priority);

/* Before it is sent: it may have come to its end before the send returns. */
void mail_sent(uint32_t number);

void mail_refused(uint32_t number);
void mail_dead(const axo_dead_letter *letter);

/* After a send that was accepted. */
void mail_accepted(uint64_t from, const work *what, axo_status status);

/* A pill, a kill: what the same sender sends later comes after it. */
void mail_special(uint64_t from, uint64_t to, bool kill);

/* Whom it has heard another has sent something to; 0: nobody. */
uint64_t mail_heard(uint64_t bits);

/* DW-11: what the one that ended has sent has come before its notice. */
void mail_noticed(uint64_t target, uint64_t watcher);

void mail_received(axo_ctx *ctx, const axo_message *message);
uint64_t mail_ask(uint64_t by);
void mail_unasked(uint64_t id);
void mail_answered(uint64_t by, uint64_t id);

/* Before mail_received: a request comes, or an AXO_REQUEST_FAILED, which is owed then. */
void mail_request(uint64_t by, const axo_message *message);
void mail_request_failed(uint64_t by, const axo_message *message);

uint64_t mail_print(const axo_message *message);

/* At rest everybody has heard of the failed requests. */
void mail_check_requests(void);

/* At rest every ask of an instance that is still there has been answered, whatever memory there was
 * and whatever room in its mailbox. */
void mail_check_asks(void);

uint32_t mail_shot(int64_t due);
bool mail_stash(axo_ctx *ctx, const axo_message *message);
void mail_unstash(axo_ctx *ctx, uint32_t count);

/* SS-03 */
void mail_event(const axo_event *e);

uint64_t mail_stashed(void);
void mail_check(axo_system *system);
void mail_know(ghost *it, const axo__bounded_mailbox *bounded);

/* Nothing can run: nobody is parked, nothing is queued but what is stashed. */
void mail_check_rest(axo_system *system);

/* Every message that was accepted has come to its end; `left`: or is stashed. */
void mail_check_all(bool left);

#endif
