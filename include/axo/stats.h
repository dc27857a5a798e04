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
    uint64_t restarts_governed; /* restarts that had to wait for their turn
                                   (axo_options.storm_max) */
    uint64_t timers;           /* armed now: of actors, of the program, of the runtime's own */
    uint64_t timers_fired;     /* times that one's time had come; of a periodic one each time */
    uint64_t polls;            /* times a worker asked for descriptors that are ready, and waited
                                  for them or did not */
    uint64_t poll_events;      /* descriptors that were found ready by these */
} axo_stats;
#define AXO_STATS(...) AXO_INIT(axo_stats, __VA_ARGS__)
static inline void axo_stats_init(axo_stats *out)
{
    const axo_stats fresh = AXO_STATS();
    *out = fresh;
}

/* The counters again, in the order of the struct: the field, whether it only grows (a counter) or
 * says how much there is now (a gauge), and what it is to who reads axo_metrics_write
 * (metrics.h). */
#define AXO_STATS_LIST(X)                                                                          \
    X(sent, counter, "Messages of users that were accepted")                                       \
    X(handled, counter, "Messages taken by a receive, or by the runtime: pill, kill")              \
    X(dead, counter, "Messages that became dead letters")                                          \
    X(dropped, counter, "Messages freed unhandled: timers and their ticks")                        \
    X(unhandled, counter, "Messages handled for which receive returned AXO_UNHANDLED")             \
    X(spawned, counter, "Actors made, guardians included")                                         \
    X(terminated, counter, "Actors gone")                                                          \
    X(failures, counter, "Failures reported to a parent")                                          \
    X(restarts, counter, "Instances made by a restart that ran")                                   \
    X(notices, counter, "AXO_TERMINATED queued")                                                   \
    X(texts_lost, counter, "Failures whose text found no room")                                    \
    X(turns, counter, "Batches run")                                                               \
    X(steals, counter, "Actors taken from another worker")                                         \
    X(parks, counter, "Times a worker went to sleep")                                              \
    X(wakes, counter, "Times a worker was woken")                                                  \
    X(actors, gauge, "Actors alive")                                                               \
    X(memory_bytes, gauge, "Memory held from the allocator")                                       \
    X(memory_blocks, gauge, "Blocks held from the allocator")                                      \
    X(events, counter, "Events put into mailboxes; they are no messages of users")                 \
    X(events_lost, counter, "Events a subscriber missed: no memory, or its mailbox was full")      \
    X(restarts_merged, counter,                                                                    \
      "Restarts as a survivor or sibling asked for before the actor had begun the last one")       \
    X(restarts_governed, counter, "Restarts that had to wait for their turn")                      \
    X(timers, gauge, "Timers that are armed")                                                      \
    X(timers_fired, counter, "Times a timer's time had come")                                      \
    X(polls, counter, "Times a worker asked for descriptors that are ready")                       \
    X(poll_events, counter, "Descriptors that were found ready by a poll")

#endif
