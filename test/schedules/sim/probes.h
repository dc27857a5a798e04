/* probes.h - rare states that a campaign must reach: one that it never hits fails it. */
#ifndef TEST_SIM_PROBES_H
#define TEST_SIM_PROBES_H

#include "invariants.h"

#define PROBE_LIST(X)                                                                              \
    X(PROBE_RESUME_WAITING, "resume told to one that waits for children in its restart")           \
    X(PROBE_RESTART_TERMINATING, "restart arrived while terminating")                              \
    X(PROBE_STALE_REFERENCE, "a message to a slot that another actor lives in by now")             \
    X(PROBE_REPORT_OF_STOPPING, "report of a child that was told to stop")                         \
    X(PROBE_REPORT_HELD, "report held back")                                                       \
    X(PROBE_NOTICE_UNWATCHED, "unwatch of one whose notice was queued already")                    \
    X(PROBE_STALE_ENTRY, "an entry taken of a cell that has closed")                               \
    X(PROBE_EARLY_WAKE, "a worker woke with no work for it")                                       \
    X(PROBE_BUDGET_LAST, "the last restart that the budget allows")                                \
    X(PROBE_BUDGET_SPENT, "a restart that the budget refused")                                     \
    X(PROBE_SPAWN_IN_PRE_RESTART, "child spawned in pre_restart")                                  \
    X(PROBE_SPAWN_IN_PRE_START, "failed after spawning children in pre_start")                     \
    X(PROBE_STOP_BETWEEN_HALVES, "stop between the two halves of a restart")                       \
    X(PROBE_NO_MEMORY_IN_FAILURE, "failure while the allocator has nothing")                       \
    X(PROBE_RESTART_AGAIN, "re-creation failed, and was made again")                               \
    X(PROBE_RESTARTS_MERGED, "a restart from above merged with one that waited")                   \
    X(PROBE_ESCALATED, "escalation over three levels or more")                                     \
    X(PROBE_DECIDER_FAILED, "the decider failed")                                                  \
    X(PROBE_PACT_IN_CHAIN, "death pact")                                                           \
    X(PROBE_DELAY_OUTLIVED, "child stopped while its restart was delayed")                         \
    X(PROBE_SUSPENDED_DEEP, "suspend count of three or more")                                      \
    X(PROBE_BORN_SUSPENDED, "child born suspended")                                                \
    X(PROBE_PARKED_TIMEOUT, "a parked sender's limit has passed")                                  \
    X(PROBE_REQUEST_FAILED, "a failed request is answered")                                        \
    X(PROBE_STASH_FULL, "stash full")                                                              \
    X(PROBE_ASK_LATE, "an ask timed out")                                                          \
    X(PROBE_ASK_ANSWERED, "an ask answered")                                                       \
    X(PROBE_TIMER_CANCELLED, "a timer cancelled before it fired")                                  \
    X(PROBE_STOLEN, "an entry taken by another worker than the one that pushed it")                \
    X(PROBE_STOP_WHILE_RESTARTING, "system stop in the middle of a restart")                       \
    X(PROBE_THREAD_REFUSED, "a thread refused")                                                    \
    X(PROBE_SPAWN_NO_MEMORY, "spawn refused for want of memory")                                   \
    X(PROBE_NAME_TAKEN, "spawn refused: the name is taken")                                        \
    X(PROBE_PERMANENT_ENDED, "a permanent actor ended, and failed for it")                         \
    X(PROBE_FOLLOWED, "an entry taken from another worker's followers")                            \
    X(PROBE_END_IN_PORTIONS, "an end in portions")                                                 \
    X(PROBE_LANE_IN_PORTIONS, "a system lane in portions")                                         \
    X(PROBE_NUMBER_AGAIN, "a number watched by another actor than before")                         \
    X(PROBE_READ_AGAIN, "told again of what was left unread")                                      \
    X(PROBE_SETTLE_AGAIN, "settle asked for itself")                                               \
    X(PROBE_SETTLE_FAILED, "settle failed")                                                        \
    X(PROBE_STORM, "a restart waits for its turn")                                                 \
    X(PROBE_LENT, "a system of lent threads")                                                      \
    X(PROBE_VISIT, "a visit that was due")                                                         \
    X(PROBE_STREAM_WHOLE, "a stream closed in order")                                              \
    X(PROBE_STREAM_RESET, "a stream over by a reset")                                              \
    X(PROBE_STREAM_LATE, "a stream over by a deadline")                                            \
    X(PROBE_STREAM_OWNED, "a block handed over to a stream and sent")                              \
    X(PROBE_STREAM_UNSENT, "a block handed over that nobody takes any more")                       \
    X(PROBE_STREAM_CREDIT, "a stream whose credit is spent")                                       \
    X(PROBE_STREAM_ROOM, "a stream told of room")                                                  \
    X(PROBE_STREAM_SPENT, "a request that a stream has no bytes for")                              \
    X(PROBE_STREAM_ASKS, "a stream told of room for a request")                                    \
    X(PROBE_STREAM_LONG, "an answer that alone is longer than its stream's bound")                 \
    X(PROBE_CRASH_CONSTRUCT, "a crash in construct")                                               \
    X(PROBE_CRASH_PRE_START, "a crash in pre_start")                                               \
    X(PROBE_CRASH_RECEIVE, "a crash in receive")                                                   \
    X(PROBE_CRASH_PRE_RESTART, "a crash in pre_restart")                                           \
    X(PROBE_CRASH_POST_RESTART, "a crash in post_restart")                                         \
    X(PROBE_CRASH_POST_STOP, "a crash in post_stop")                                               \
    X(PROBE_CRASH_SETTLE, "a crash in settle")                                                     \
    X(PROBE_CRASH_DECIDER, "a crash in a decider")                                                 \
    X(PROBE_CRASH_CLEANUP, "a crash in a clean-up")                                                \
    X(PROBE_CRASH_AGAIN, "a crash in the restart for a crash")                                     \
    X(PROBE_CRASH_RESUMED, "a crashed instance that was to be resumed")                            \
    X(PROBE_CRASH_STOPPED, "a crashed temporary actor that was to be resumed")                     \
    X(PROBE_CRASH_LATE_CHILD, "a crash behind a child that was made in its instance's end")        \
    X(PROBE_CRASH_GUARDED, "a crash within a guard")                                               \
    X(PROBE_CRASH_ASIDE, "a crash in a destructor or an observer within a callback")               \
    X(PROBE_CRASH_BETWEEN, "a crash in a destructor or an observer between two callbacks")         \
    X(PROBE_CRASH_OUTSIDE, "a crash of no worker of a system that contains crashes")               \
    X(PROBE_CRASH_CLASS, "a crash of a class that does not ask for it")                            \
    X(PROBE_CRASH_LIMIT, "a crash beyond the budget")                                              \
    X(PROBE_DRAFT_LEFT, "a draft that its callback has left open")                                 \
    X(PROBE_POISON, "a message that is poison")                                                    \
    X(PROBE_PAUSED, "a subtree all of which is paused")

typedef enum probe {
#define PROBE_WORD(word, text) word,
    PROBE_LIST(PROBE_WORD)
#undef PROBE_WORD
        PROBES
} probe;

_Static_assert(PROBES <= sizeof(((tally *)0)->probes) / sizeof(uint64_t), "a probe has its count");

static inline void probe_hit(probe what)
{
    tallied->probes[what]++;
}

/* How many were never hit. */
uint32_t probes_missed(bool say);

uint64_t probes_rarest(void);
void probes_print(void);

#endif
