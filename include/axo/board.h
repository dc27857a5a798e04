/* board.h - what a system shows of itself in a file, while it runs, hangs, and when it is dead:
 * axo_options.board. axo-top reads it; so may any program, by this page.
 *
 * The file is an array of 64-bit words of the machine's own order, mapped and shared. Everything
 * in it is numbers and text, never an address. A board is of one system, and is made under another
 * name and renamed: a reader that has one open keeps it whole. Its mode is 0600: the user of the
 * process, and root, read it. A system that is destroyed takes its file away; one that has died
 * leaves it, and the words of PROCESS say whether that process is still there. A system that starts
 * at that path renames a board that was not ended (ENDED is 0) to the path with ".old" behind it,
 * in the place of an older one, so the board of one that died is there still when it was started
 * again; whatever else is at the path is replaced. What is not a regular file at the ".old" stays,
 * and then nothing is kept. A process that starts while the one before it ends has the path, and
 * the other one its ".old", which it takes away as its system is destroyed. Names of actors and
 * classes, tags and codes are in it, no payload and no text of a failure. Whoever cuts the file
 * shorter, with the rights of that user, ends the process: its next write is a SIGBUS.
 *
 * Words are written one by one, without locks; each is read whole. A record that has a sequence
 * (its first word) is read so: load it, and again if it is odd; load the words that are wanted, in
 * order; load it again: if it has changed, start again, and after some tries take the record for
 * one whose writer died within it. Words that are marked * change without their sequence.
 *
 * A number that a reader does not know is no error: records are found by the sizes and places in
 * the header, and later versions put new words behind these. */
#ifndef AXO_BOARD_H
#define AXO_BOARD_H

/* The first word: "axoboard", read as eight bytes. */
#define AXO_BOARD_MAGIC "axoboard"
#define AXO_BOARD_VERSION 1

/* Texts in words: eight bytes each, ended by a zero if there is room. */
#define AXO_BOARD_NAME_WORDS 8
#define AXO_BOARD_CLASS_WORDS 4

/* The file's first words. Times are ns of CLOCK_MONOTONIC, if not said otherwise. */
typedef enum axo_board_head {
    AXO_BOARD_HEAD_MAGIC = 0,
    AXO_BOARD_HEAD_VERSION = 1,
    AXO_BOARD_HEAD_BYTES = 2,        /* of the file */
    AXO_BOARD_HEAD_PROCESS = 3,      /* its pid, in its own namespace */
    AXO_BOARD_HEAD_PROCESS_START = 4, /* field 22 of /proc/PID/stat; 0: unknown */
    AXO_BOARD_HEAD_BOOT = 5,         /* hash (FNV-1a) of /proc/sys/kernel/random/boot_id; or 0 */
    AXO_BOARD_HEAD_STARTED = 6,
    AXO_BOARD_HEAD_ENDED = 7,        /* * when the system was destroyed; 0: it was not */
    AXO_BOARD_HEAD_WORKERS_AT = 8,   /* index of the first word of the first worker's record */
    AXO_BOARD_HEAD_WORKERS = 9,      /* how many records there are */
    AXO_BOARD_HEAD_WORKER_WORDS = 10, /* words of a record */
    AXO_BOARD_HEAD_ACTORS_AT = 11,
    AXO_BOARD_HEAD_ACTORS = 12,
    AXO_BOARD_HEAD_ACTOR_WORDS = 13,
    AXO_BOARD_HEAD_EVENTS_AT = 14,
    AXO_BOARD_HEAD_EVENTS = 15,
    AXO_BOARD_HEAD_EVENT_WORDS = 16,
    AXO_BOARD_HEAD_EVENTS_TOTAL = 17, /* * events so far: the last one has this number less 1 */
    AXO_BOARD_HEAD_EVENTS_LOST = 18, /* * their place was being written for 4096 events long */
    AXO_BOARD_HEAD_UNLISTED = 19,    /* * actors born that have no record: the table is too small */
    AXO_BOARD_HEAD_NAME = 20,        /* of the system: AXO_BOARD_NAME_WORDS */
    AXO_BOARD_HEAD_PROCESS_SPACE = 28, /* inode of /proc/PID/ns/pid, where its pid means it */
    AXO_BOARD_HEAD_WORKERS_UNLISTED = 29, /* * workers that have a thread now and no record: there
                                        are too few */
    AXO_BOARD_HEAD_OUTSIDE = 32,     /* * counters of calls from outside, as a worker's; what is
                                        counted later than a worker's last look is not in them */
    AXO_BOARD_HEAD_GONE = 48,        /* * the same of workers that are no more; the system's are
                                        these, those of OUTSIDE, those of all records, and those
                                        of unlisted workers, which are nowhere until they are no
                                        more */
    AXO_BOARD_HEAD_WORDS = 64
} axo_board_head;

/* A worker. What it does has a sequence; its counters are those of axo_stats, in the order of
 * AXO_BOARD_COUNTER_LIST, at most some 100 us old while it works.
 *
 * DOING knows construct, pre_start, receive, pre_restart, post_restart and post_stop. A worker that
 * is in settle, a decider, a clean-up (axo_defer) or a payload's destructor looks as one that has
 * nothing to do, and ACTOR is who was in a callback before. axo_health, axo_inspect and gdb's
 * `axo where` name the actor in these too. */
typedef enum axo_board_worker {
    AXO_BOARD_WORKER_SEQUENCE = 0,
    AXO_BOARD_WORKER_INDEX = 1,  /* * 1 + (number of its pool << 16 | its index); 0: no worker */
    AXO_BOARD_WORKER_THREAD = 2, /* * its thread's id; 0: it has none now */
    AXO_BOARD_WORKER_ACTOR = 3,  /* reference of the actor */
    AXO_BOARD_WORKER_DOING = 4,  /* * 1 << 32 | tag: in receive; 2 << 32 | an axo_event_kind: in
                                    that hook; 0: in neither, see above */
    AXO_BOARD_WORKER_SENDER = 5, /* of the message; 0: nobody, or no message */
    AXO_BOARD_WORKER_SINCE = 6,  /* when it began: the last reading of the clock before it */
    AXO_BOARD_WORKER_COUNTED = 7, /* * when the counters were written */
    AXO_BOARD_WORKER_COUNTERS = 8,
    AXO_BOARD_WORKER_NAME = 24,  /* * of its thread, two words; empty: the program's own */
    AXO_BOARD_WORKER_WORDS = 32
} axo_board_worker;

#define AXO_BOARD_COUNTER_LIST(X)                                                                  \
    X(handled) X(dead) X(sent) X(turns) X(spawned) X(terminated) X(failures) X(restarts)           \
    X(steals) X(parks) X(wakes)

/* An actor, in the place of axo_ref_index(reference); one whose index is ACTORS or more has none.
 * It stays when the actor has ended, until another takes the place. */
typedef enum axo_board_actor {
    AXO_BOARD_ACTOR_SEQUENCE = 0,
    AXO_BOARD_ACTOR_REF = 1,      /* 0: there was none yet */
    AXO_BOARD_ACTOR_PARENT = 2,   /* reference; 0: none */
    AXO_BOARD_ACTOR_BORN = 3,
    AXO_BOARD_ACTOR_CLASS = 4,    /* AXO_BOARD_CLASS_WORDS */
    AXO_BOARD_ACTOR_NAME = 8,     /* AXO_BOARD_NAME_WORDS; empty: it has none */
    AXO_BOARD_ACTOR_STATE = 16,   /* * an axo_board_state */
    AXO_BOARD_ACTOR_INSTANCE = 17, /* * from 1 */
    AXO_BOARD_ACTOR_HANDLED = 18, /* * messages */
    AXO_BOARD_ACTOR_FAILURES = 19, /* * */
    AXO_BOARD_ACTOR_FAILED = 20,  /* * of the last failure: kind << 32 | code */
    AXO_BOARD_ACTOR_WORDS = 24
} axo_board_actor;

typedef enum axo_board_state {
    AXO_BOARD_BORN = 1,       /* its first instance has not started */
    AXO_BOARD_ALIVE = 2,
    AXO_BOARD_FAILED = 3,     /* it has failed, and its parent has not answered or is at it */
    AXO_BOARD_STOPPING = 4,
    AXO_BOARD_TERMINATED = 5
} axo_board_state;

/* A life-cycle event; number n is in the place n % EVENTS. */
typedef enum axo_board_event {
    AXO_BOARD_EVENT_SEQUENCE = 0, /* 2 * (n + 1) when it is whole */
    AXO_BOARD_EVENT_TIME = 1,
    AXO_BOARD_EVENT_ACTOR = 2,    /* reference */
    AXO_BOARD_EVENT_KIND = 3,     /* worker << 32 | an axo_event_kind */
    AXO_BOARD_EVENT_ARG = 4,      /* as in AXO_EVENT_LIST */
    AXO_BOARD_EVENT_INSTANCE = 5,
    AXO_BOARD_EVENT_WORDS = 8
} axo_board_event;

#endif
