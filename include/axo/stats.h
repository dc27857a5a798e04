/* stats.h - what a system counts. A whole program is test/example/look_inside.c. */
#ifndef AXO_STATS_H
#define AXO_STATS_H

#include <stddef.h>
#include <stdint.h>

#include <axo/export.h>
#include <axo/init.h>

/* Counters since axo_system_start. At rest, sent = handled + dead + dropped + queued,
 * exactly; while actors run they are read one by one and may be off by what moves meanwhile.
 *
 * Messages of users count, PoisonPill and Kill among them; notices, receive timeouts, events and
 * system messages do not. A timer's message is sent when it fires; a tick of a keyed timer that is
 * not wanted any more when it comes up is dropped; a timer that waits at the end of the system is
 * sent and dropped then. */
typedef struct axo_stats {
    size_t size;               /* sizeof(axo_stats), set by AXO_STATS */
    uint64_t sent;             /* user messages accepted */
    uint64_t handled;          /* taken by a receive (or by the runtime: pill, kill) */
    uint64_t dead;             /* dead-lettered */
    uint64_t dropped;          /* freed unhandled: timers and their ticks, see above */
    uint64_t unhandled;        /* of the handled: receive returned AXO_UNHANDLED */
    uint64_t spawned;          /* actors made, guardians included */
    uint64_t terminated;       /* actors gone */
    uint64_t failures;         /* failures reported to a parent */
    uint64_t restarts;         /* instances made by a restart that ran */
    uint64_t notices;          /* AXO_TERMINATED queued */
    uint64_t texts_lost;       /* failures whose text found no room */
    uint64_t turns;            /* batches run */
    uint64_t steals;           /* actors taken from another worker */
    uint64_t parks;            /* times a worker went to sleep */
    uint64_t wakes;            /* times one was woken */
    uint64_t actors;           /* alive now */
    uint64_t memory_bytes;     /* held from the allocator now */
    uint64_t memory_blocks;    /* blocks held from the allocator now */
    uint64_t events;           /* events put into mailboxes; they are no users' messages */
    uint64_t events_lost;      /* events that a subscriber missed: no memory, or its mailbox
                                  was full */
    uint64_t restarts_merged;  /* restarts as a survivor or sibling that were asked for before the
                                  actor had begun the last one: one was done for both */
} axo_stats;
#define AXO_STATS(...) AXO_INIT(axo_stats, __VA_ARGS__)
static inline void axo_stats_init(axo_stats *out)
{
    const axo_stats fresh = AXO_STATS();
    *out = fresh;
}

#endif
