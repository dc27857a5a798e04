/* endless.h - callbacks that do not come to an end: a class's watchdog_ms.
 *
 * A spare looks after the workers anyway (spare.c). Where one has made no progress for as long as
 * the class of its cell allows, it sends SIGURG to the worker's thread. The handler there decides
 * alone, since only its own thread knows which callback runs: it notes the callback when it finds
 * it in its own code for the first time, and leaves it, the way of a crash, when it finds the same
 * one there so much later. A callback that was begun meanwhile is another one, and is noted anew.
 * So no callback fails for the time of another, however late a signal comes; a signal too many, or
 * one that is lost, changes nothing; and who has ended gets none.
 *
 * Which callback it is says its number (axo__worker_count) with its site, as for what it has open
 * (land.h): axo__open_none forgets the note.
 *
 * Central idea: nothing is counted or timed for it while callbacks come to their ends. */
#ifndef AXO__SCHED_ENDLESS_H
#define AXO__SCHED_ENDLESS_H

#include "sched/pool.h"

/* In a signal of a spare's, where others have the number of an error; its value is the trap of the
 * worker that is meant. */
#define AXO__ENDLESS_OURS 0x61786f

/* What a spare has done about a callback that it sees running, since its last progress. */
typedef struct axo__endless_mark {
    int64_t at;     /* when to signal next, if it has ... */
    uint32_t tries; /* ... so often; 0: not yet */
} axo__endless_mark;

/* Puts in the handler of SIGURG for this process, or counts one system more. The last
 * axo__endless_leave takes it out. Only where axo__trap_enter has succeeded, and before its end. */
void axo__endless_enter(void);
void axo__endless_leave(void);

/* As axo__trap_rest. */
void axo__endless_rest(void);

/* The thread becomes the worker, which has a trap, or is it no more: within axo__trap_begin and
 * axo__trap_end. Only the threads of a pool with spares are signalled; the others leave SIGURG as
 * it is. */
void axo__endless_begin(axo__worker *worker);
void axo__endless_end(axo__worker *worker);

/* A spare has looked at a worker, which has not moved since `since`; 0: it is not in a turn.
 * Signals it if its cell's class wants it, and sees to it that the spare looks again in time. */
void axo__endless_look(axo__worker *spare, axo__worker *worker, int64_t since,
                       axo__endless_mark *mark);

/* Why the last signal has not interrupted the worker's callback, for people; NULL: none was sent,
 * or the next one may. */
const char *axo__endless_why(const axo__worker *worker, const axo__endless_mark *mark);

#endif
