/* record.h - what comes into a system from outside, written to a file and played again: the same
 * events in the same order, on another machine and in another build; after a crash, up to it. A
 * library of its own, libaxo-record (pkg-config: axo-record); libaxo has nothing of it, and who
 * does not use it pays nothing. <axo/axo.h> does not include it. A whole program is
 * test/example/flight_recorder.c.
 *
 *     const axo_recording game = AXO_RECORDING(.path = "flight.axorec", .begin = make);
 *     status = axo_record_start(&game, &recorder, NULL);
 *     ...                                                    in each frame:
 *     axo_record_send(recorder, hero, JUMP, NULL, 0);        instead of axo_system_send
 *     axo_record_run(recorder, 2 * MS, NULL);                instead of axo_run_host
 *
 *     status = axo_replay_start(&game, &replay, &report);    later, elsewhere
 *     status = axo_replay_run(replay, &report);              report.state, report.text
 *
 * What is promised. A recorded system has no threads (AXO_MANUAL_ALL), one seed, turns that end by
 * their messages (no_quantum_us), and a clock that stands still but between two steps. It does
 * what these make it do, and what comes from outside; both are in the file. So whoever plays the
 * file with the same version of axo and the same program gets the same events: lives, messages by
 * tag, failures, decisions, restarts, timers, dead letters, at the same times, of the same actors
 * by axo_ref_index. That is what axo_record_hash is of, and what is compared behind each step; with
 * `digest` also what the program says of its state. Addresses, bits of references, compilers, their
 * options and the processor have no part in it; sizes of pointers and the order of bytes must be
 * the same, as payloads are the program's own bytes.
 *
 * What is not promised, and is found by the comparison as far as events and the digest show it:
 *
 *   - Handlers that look at what is not theirs: the operating system's time, chance, files and
 *     sockets, addresses, bits of references as an order, other threads. axo_now and axo_seed are
 *     the recording's; axo_ref_index is a number to sort by.
 *   - Memory that has run out, in one run and not in the other.
 *   - Other threads that call anything on the system while a step runs, if only to look: what has
 *     ended may be given back later then, and who is born next has another index. Between two steps
 *     they may look. The functions below wait for the step.
 *   - Floating point that compilers round differently: the program's affair.
 *   - axo_io_watch, signals, axo_block that waits for the world: descriptors that become ready are
 *     no input that is recorded. The first of them breaks the recording, AXO_ENOTSUP.
 *   - Another version of axo, a library that was built with other limits, other options.
 *
 * What the program does from outside it does through the recorder: what has no function here in
 * axo_recording.call, which may call anything that takes an axo_system but what runs or waits for
 * actors (axo_system_ask, axo_system_stop, axo_system_quiesce, axo_group_wait; axo_system_pause is
 * called with no timeout, and again behind a step). Messages, spawns and turns that go past the
 * recorder break the recording when the next step sees them. Payloads are bytes. Each aligned word
 * of them that is the reference of an actor, the last one of its axo_ref_index, is played as the
 * reference of the same actor, and is not in the file itself; of words that are none one in 2^32
 * could be taken for one. What has pointers in it, a payload that is handed over too, is made by
 * `call`, in both runs, from bytes.
 *
 * What is in the file when. No turn is run before all that it depends on has been given to the
 * operating system: one write for each step, and one for each call. So a process that is killed or
 * crashes leaves all up to the step in which it died, and the file is played up to there: it
 * crashes again. A machine that loses power may lose more; nothing here waits for the disk. If the
 * disk is full the step says so and has not run; what was accepted stays in the recorder and is
 * written with the next step that finds room. Whole is what can be read: the last record of a file
 * may be cut off and is left out then; anything else that is not as it was written is refused.
 *
 * Snapshots. A recording begins with its world: `begin` makes it, in both runs, from the bytes of
 * `snapshot`, as a saved game is (axo_system_visit, world.h). So a file need not reach back to the
 * start of the program: at the end of a level, or each few minutes, the program ends its recording
 * and begins another one from what it has saved. It goes on with the system that it has made from
 * the snapshot, not with the one that it took it from. A look at a world whose actors have messages
 * may change whose turn is next: then it is an input, and is taken by a call.
 *
 * A file is believed no further than any other input of the program: what it says is checked, but
 * its payloads come to handlers as they are. */
#ifndef AXO_RECORD_H
#define AXO_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include <axo/system.h>

/* The version of the file's format. */
#define AXO_RECORD_FORMAT 1

/* A hash of events in their order; zeroed memory is that of none. Of an event it takes all fields
 * but the bits of references, in whose place their axo_ref_index stands, worker, trace and the
 * class's address, in whose place its name stands. */
typedef struct axo_record_hash {
    uint64_t value;
    uint64_t events; /* how many */
} axo_record_hash;

typedef enum axo_record_state {
    AXO_RECORD_GOES_ON = 0,  /* a recording: it is written; a replay: there is more */
    AXO_RECORD_END = 1,      /* the file has been played, and all was the same; a recording: it is
                                closed */
    AXO_RECORD_DIVERGED = 2, /* something was not the same: record, event, text */
    AXO_RECORD_BROKEN = 3    /* a recording: it cannot be gone on with: text */
} axo_record_state;

/* How far a recording or a replay has come. */
typedef struct axo_record_report {
    size_t size;          /* sizeof(axo_record_report), set by the macro below */
    uint32_t state;       /* an axo_record_state */
    int32_t error;        /* the operating system's number, behind AXO_ESYSTEM; else 0 */
    uint64_t records;     /* whole records: written, or waiting to be; played; of axo_record_check:
                             in the file */
    uint64_t steps;       /* of them steps */
    uint64_t bytes;       /* from the begin of the file to the end of the last of them */
    axo_record_hash hash; /* of all events until now; of axo_record_check: as the last record says
                             that has one */
    uint64_t record;      /* DIVERGED: the record's number, from 0, the head of the file */
    uint64_t event;       /* DIVERGED: the event's number in that record, from 1; 0: only the
                             record is known (axo_recording.each_event) */
    uint32_t closed;      /* of a file: 1: the recording was ended; 0: its process died, or is at
                             it still */
    uint32_t torn;        /* of a file: bytes behind the last whole record */
    char text[512];       /* what is wrong, or empty */
} axo_record_report;
#define AXO_RECORD_REPORT(...) AXO_INIT(axo_record_report, __VA_ARGS__)
/* As the macro, for C++ before C++20 (init.h). */
static inline void axo_record_report_init(axo_record_report *out)
{
    const axo_record_report fresh = AXO_RECORD_REPORT();
    *out = fresh;
}

/* Makes the world in a system that has just started, in a recording and in each replay: the same
 * from the same snapshot. What it does is not recorded; it calls what it likes but what runs or
 * waits for actors. Another result than AXO_OK is that of the start. */
typedef axo_status (*axo_record_begin_fn)(void *user, axo_system *system, const void *snapshot,
                                          size_t size);

/* An input of the program's own, axo_record_call: in the recording and in each replay it is called
 * with the same number and bytes, aligned for any object; references in them are those of the same
 * actors. Its result is compared. */
typedef axo_status (*axo_record_call_fn)(void *user, axo_system *system, uint32_t number,
                                         const void *bytes, size_t size);

/* A number for the state of the program's world, behind each step and call: it becomes a part of
 * what is compared. It must be made of what is the same in both runs: of no address and no
 * reference. */
typedef uint64_t (*axo_record_digest_fn)(void *user, axo_system *system);

/* What a recording and its replays share. */
typedef struct axo_recording {
    size_t size;                /* sizeof(axo_recording), set by the macro below */
    const char *path;           /* of the file; copied. A recording makes it, mode 0600: one that is
                                   there already is kept, AXO_ESYSTEM with EEXIST */
    const axo_options *options; /* of the system; copied; NULL: the defaults. manual is
                                   AXO_MANUAL_ALL and no_quantum_us 1, whatever they say; clock is
                                   read once for each step, in the recording alone; trace is told
                                   of its kinds as ever. A replay has the file's seed, and must
                                   have the other numbers that a run depends on; without `contain`
                                   it crashes where the recording went on: for a debugger.
                                   AXO_ENOTSUP: manual is AXO_MANUAL_DEFAULT, threads is
                                   AXO_THREADS_LENT, or remote is set */
    axo_record_begin_fn begin;  /* NULL: the world begins empty */
    axo_record_call_fn call;    /* NULL: axo_record_call is AXO_EINVAL */
    axo_record_digest_fn digest; /* NULL: none */
    void *user;                 /* theirs */
    const void *snapshot;       /* for `begin`; written to the file. A replay takes the file's */
    size_t snapshot_size;       /* at most AXO_PAYLOAD_MAX; NULL with 0 */
    uint32_t each_event;        /* 1: each event is written, 16 bytes, so that a replay that is not
                                   the same says at which event; 0: at which step */
    uint32_t any_version;       /* 1: a replay plays files of other versions of axo too, which may
                                   not do the same; 0: AXO_EVERSION */
} axo_recording;
#define AXO_RECORDING(...) AXO_INIT(axo_recording, __VA_ARGS__)
/* As the macro, for C++ before C++20 (init.h). */
static inline void axo_recording_init(axo_recording *out)
{
    const axo_recording fresh = AXO_RECORDING();
    *out = fresh;
}

typedef struct axo_recorder axo_recorder; /* a system that is recorded */
typedef struct axo_replay axo_replay;     /* one that is played */

AXO_BEGIN_DECLS

/* Adds an event: for a trace of the program's own (axo_options.trace).
 *   thread    any; one at a time for one hash */
AXO_API void axo_record_hash_add(axo_record_hash *hash, const axo_event *event);

/* ---- recording ------------------------------------------------------------------------------
 * Thread of these functions: any, also while another thread is in one of them; then it waits, for
 * a step as long as that runs, and it cannot be cancelled meanwhile. So a handler must not wait for
 * a thread that records. In a callback of the system they are AXO_ECONTEXT, in a child of fork
 * AXO_EFORKED. */

/* Makes the file, starts the system, and calls `begin`.
 *   owns      copies the recording; what its functions and options lead to must stay valid until
 *             axo_record_end
 *   report    may be NULL; filled on failure too
 *   returns   AXO_OK; AXO_EINVAL, AXO_EVERSION, AXO_ENOTSUP (see axo_recording); AXO_ESYSTEM: the
 *             file cannot be made or written; AXO_ENOMEM; as axo_system_start; as `begin`
 *   after     on failure *out is NULL and nothing is left */
AXO_API AXO_NODISCARD axo_status axo_record_start(const axo_recording *recording,
                                                  axo_recorder **out, axo_record_report *report);

/* The system: to look at, and for what `call` is to do. NULL for NULL. */
AXO_API axo_system *axo_record_system(axo_recorder *recorder);

/* axo_record_send and axo_record_send_from: as axo_system_send and axo_system_send_from, recorded.
 * What is not accepted is not in the file.
 *   returns   as they do; AXO_ECONTEXT: in a callback of the system; AXO_ESYSTEM: the file cannot
 *             be written; AXO_ENOMEM; AXO_ENOTSUP: the recording is broken: nothing was sent */
AXO_API axo_status axo_record_send(axo_recorder *recorder, axo_ref to, uint32_t tag,
                                   const void *payload, size_t size);
AXO_API axo_status axo_record_send_from(axo_recorder *recorder, axo_ref from, axo_ref to,
                                        uint32_t tag, const void *payload, size_t size);

/* axo_record_stop_actor, axo_record_poison and axo_record_kill: as axo_system_stop_actor,
 * axo_system_poison and axo_system_kill, recorded.
 *   returns   as they do, and as axo_record_send */
AXO_API axo_status axo_record_stop_actor(axo_recorder *recorder, axo_ref ref);
AXO_API axo_status axo_record_poison(axo_recorder *recorder, axo_ref ref);
AXO_API axo_status axo_record_kill(axo_recorder *recorder, axo_ref ref);

/* Has axo_recording.call called, here and in each replay, when this number and these bytes are in
 * the file. It may do anything from outside but run or wait for actors: spawn, schedule, register,
 * make a payload with pointers and hand it over, shut down.
 *   size      at most AXO_PAYLOAD_MAX
 *   returns   what it returns; and as axo_record_send: it was not called; AXO_EINVAL: there is
 *             none, or NULL with a size; AXO_ETOOBIG */
AXO_API axo_status axo_record_call(axo_recorder *recorder, uint32_t number, const void *bytes,
                                   size_t size);

/* Reads the clock, writes what has been accepted, and runs at most `turns_max` turns, as
 * axo_step_host.
 *   returns   AXO_OK and in *turns (may be NULL) how many turns were run; AXO_ESYSTEM: the file
 *             cannot be written (axo_record_report_of says why), no turn was run, all that was
 *             accepted still waits to be written, and the time is as before; AXO_ENOTSUP: the
 *             recording is broken; AXO_ECONTEXT; AXO_EINVAL */
AXO_API axo_status axo_record_step(axo_recorder *recorder, uint64_t turns_max, uint64_t *turns);

/* The same until there is nothing to do or `budget_ns` of the operating system's clock have passed
 * (negative: no limit), as axo_run_host; but a turn is run to its end: axo_options.quantum says how
 * many messages that are. */
AXO_API axo_status axo_record_run(axo_recorder *recorder, int64_t budget_ns, uint64_t *turns);

/* Writes what has been accepted and what the last step came to; no step is needed for it.
 *   returns   AXO_OK, AXO_ESYSTEM, AXO_ECONTEXT, AXO_ENOTSUP, AXO_EINVAL */
AXO_API axo_status axo_record_flush(axo_recorder *recorder);

/* How far it is.
 *   returns   AXO_OK, AXO_ECONTEXT, AXO_EINVAL, AXO_EVERSION (report->size) */
AXO_API axo_status axo_record_report_of(axo_recorder *recorder, axo_record_report *report);

/* Ends the recording and closes the file. The system goes on: the functions above do what they did,
 * and record nothing. So a program goes on whose disk is full, or whose recording is broken.
 *   returns   AXO_OK, also if it is closed already; AXO_ESYSTEM: the file lacks what has not been
 *             written; it is closed all the same; AXO_ECONTEXT; AXO_EINVAL */
AXO_API axo_status axo_record_close(axo_recorder *recorder);

/* Closes it, stops the system, as axo_system_stop without a limit of time, which no recording has
 * part in, and destroys it and the recorder. No other thread may be in a call on them or make one
 * after.
 *   returns   as axo_record_close; AXO_ECONTEXT, AXO_EINVAL: nothing has changed */
AXO_API axo_status axo_record_end(axo_recorder *recorder);

/* ---- reading and playing -------------------------------------------------------------------- */

/* Reads a file from one end to the other, and plays nothing.
 *   blocks    as long as reading takes
 *   returns   AXO_OK and *report: it can be played; AXO_EINVAL: it is no recording, or not as it
 *             was written: the text says where; AXO_EVERSION: of another format, or of another
 *             version of axo, or *report is; AXO_ENOTSUP: of a machine with another order of bytes
 *             or other pointers; AXO_ESYSTEM: it cannot be read; AXO_ENOMEM */
AXO_API AXO_NODISCARD axo_status axo_record_check(const char *path, axo_record_report *report);

/* Reads the file as axo_record_check, starts a system, and calls `begin` with the file's snapshot.
 *   owns      as axo_record_start, until axo_replay_end
 *   report    may be NULL; filled on failure too
 *   returns   AXO_OK; as axo_record_check; AXO_EINVAL: its options are others: the text says which;
 *             AXO_ENOTSUP (see axo_recording); as axo_system_start. What `begin` says is compared
 *   after     on failure *out is NULL and nothing is left. The world was made otherwise than in the
 *             recording: AXO_OK, and report->state is AXO_RECORD_DIVERGED */
AXO_API AXO_NODISCARD axo_status axo_replay_start(const axo_recording *recording, axo_replay **out,
                                                  axo_record_report *report);

/* The system that is played: to look at between two records. Nothing may be sent to it before the
 * end of the file; then it goes on as any other manual system, by the clock of its options. */
AXO_API axo_system *axo_replay_system(axo_replay *replay);

/* Plays the next input or step, and compares.
 *   thread    one at a time, outside of callbacks
 *   blocks    as long as its handlers run
 *   returns   AXO_OK and *report (may be NULL), whose state says whether there is more. Behind the
 *             end, and behind a divergence, nothing is played; AXO_EINVAL, AXO_EVERSION (report),
 *             AXO_ECONTEXT, AXO_EFORKED; AXO_ESYSTEM: the file cannot be read any more; AXO_ENOMEM:
 *             nothing was played, and it may be called again */
AXO_API axo_status axo_replay_next(axo_replay *replay, axo_record_report *report);

/* The same, until the end of the file or the first divergence. */
AXO_API axo_status axo_replay_run(axo_replay *replay, axo_record_report *report);

/* Stops the system, as axo_record_end, and destroys it and the replay.
 *   returns   AXO_OK; AXO_ECONTEXT, AXO_EINVAL: nothing has changed */
AXO_API axo_status axo_replay_end(axo_replay *replay);

AXO_END_DECLS

#endif
