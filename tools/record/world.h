/* world.h - a system as a recording and a replay have it: its options, its clock, its events.
 *
 * Threads. Who works with the world has a lock and is its owner meanwhile; what happens in it
 * happens on that thread. An event on any other thread has come past the recorder: it is counted
 * and has no part in the hash.
 */
#ifndef RECORD_WORLD_H
#define RECORD_WORLD_H

#include <stdatomic.h>

#include <axo/record.h>
#include <axo/version.h>

#include "file.h"
#include "names.h"

enum { RECORD_OPTIONS = 13 };

/* What the head of a file says of the system. */
typedef struct record_head {
    uint32_t version[3];
    uint8_t little;
    uint8_t pointer;
    uint8_t each_event;
    uint64_t seed;
    int64_t time;
    uint64_t options[RECORD_OPTIONS];
} record_head;

typedef struct record_world record_world;

/* Told of each event, as it stands in EVENTS. */
typedef void (*record_event_fn)(record_world *world, const axo_event *event,
                                const uint8_t bytes[RECORD_EVENT]);

struct record_world {
    axo_recording recording;
    axo_options options; /* as the system has them */
    char *path;          /* a copy */
    axo_system *system;  /* NULL: it has not started */
    axo_trace_fn trace;  /* the program's */
    void *trace_user;
    uint64_t trace_kinds;
    axo_clock_fn clock; /* the program's */
    void *clock_user;
    _Atomic(axo_clock_fn) goes; /* behind the end: the time; NULL: it stands still */
    void *goes_user;
    _Atomic int64_t now;
    _Atomic(const void *) owner; /* see record_world_take */
    _Atomic uint64_t strays;     /* events on other threads */
    int cancel;                  /* the owner's state of cancellation before it was that */
    bool deaf;                   /* the recording is over: events are the program's alone */
    record_event_fn event;
    void *event_user;
    record_names names;
    axo_record_hash hash;
};

/* Reads the recording and its options. AXO_OK; AXO_EINVAL, AXO_EVERSION, AXO_ENOTSUP, AXO_ETOOBIG,
 * AXO_ENOMEM; record_world_fini then, too. */
axo_status record_world_init(record_world *world, const axo_recording *recording);
void record_world_fini(record_world *world);

/* This thread works with the world, or does not any more. Meanwhile it cannot be cancelled. */
void record_world_take(record_world *world);
void record_world_give(record_world *world);

/* The time, read from the program's clock or the operating system's. */
int64_t record_world_time(const record_world *world);
int64_t record_world_effort(void *user); /* the operating system's */

/* Starts the system; the seed and the time have been set. */
axo_status record_world_start(record_world *world);

/* Stops and destroys the system. */
void record_world_stop(record_world *world);

/* Runs turns in one call, or in calls for a turn each, at most `calls_max`, until there is nothing
 * to do or `budget_ns` of effort have passed. What was done is in *done. */
typedef struct record_turns {
    uint64_t turns;
    uint64_t calls;
} record_turns;
axo_status record_world_run(record_world *world, uint64_t turns_max, record_turns *done);
axo_status record_world_slices(record_world *world, uint64_t calls_max, int64_t budget_ns,
                               record_turns *done);

/* What is done to an actor from outside. */
typedef enum record_act {
    RECORD_STOP = 1,
    RECORD_POISON = 2,
    RECORD_KILL = 3
} record_act;
axo_status record_world_act(const record_world *world, record_act act, axo_ref ref);

/* What the program says of its state; 0: nothing. */
uint64_t record_world_digest(record_world *world);

void record_head_of(const record_world *world, record_head *out);
void record_put_head(record_put *put, const record_head *head);
bool record_get_head(record_get *get, record_head *out);
enum { RECORD_HEAD_BODY = 12 + 4 + 16 + 4 + 8 * RECORD_OPTIONS };

/* The name of an option of the list. */
const char *record_option_name(uint32_t which);

/* An event in words of its own: how it stands in EVENTS, and its hash. */
uint64_t record_event_words(const axo_event *event, uint8_t bytes[RECORD_EVENT]);

/* What DONE and END have in their bodies. */
typedef struct record_done {
    axo_status status;
    uint64_t turns;
    uint64_t calls;
    axo_record_hash hash;
    uint64_t digest;
    uint64_t kept;
} record_done;
enum { RECORD_DONE_BODY = 4 + 8 * 6 };
_Static_assert(RECORD_DONE_BODY <= 64, "fits into RECORD_TAIL");

void record_put_done(record_put *put, const record_done *done);
bool record_get_done(record_get *get, record_done *out);

/* Whether the program's report can be filled, and fills it. AXO_OK, also for NULL; AXO_EINVAL: it
 * has no size; AXO_EVERSION: it is of a newer header. */
axo_status record_report_check(const axo_record_report *to);
void record_report_give(const axo_record_report *from, axo_record_report *to);

#endif
