/* config.h - compile-time limits, each with its reason; the limits of one record stand beside it.
 *
 * AXO_HARD shrinks them, so that full queues, long sweeps and overflows happen in every test. */
#ifndef AXO__BASE_CONFIG_H
#define AXO__BASE_CONFIG_H

#define AXO__CACHE_LINE 64
/* Bits of an address: the scheduling word holds an address and flags above it. A block beyond these
 * bits is treated as no memory (mem/alloc.c). */
#define AXO__ADDRESS_BITS 48

#ifdef AXO_HARD /* tiny limits make rare paths common */
#define AXO__RUNQ_SIZE 4
#define AXO__RUNQ_MAX 16
#define AXO__MAGAZINE 2
#define AXO__RETIRE_MIN 2
#define AXO__NEWBORNS 4
#define AXO__TABLE_CHUNK_SHIFT 2
#define AXO__TURN_STEP 2
#define AXO__PORTION 2
#define AXO__SWEEP_STEP 3
#else
/* A worker's local queue, and how far it may grow: more ready actors overflow to the injector. */
#define AXO__RUNQ_SIZE 1024
#define AXO__RUNQ_MAX (1 << 24)
/* Blocks that move between a worker's cache and the depot in one trade: one lock for 64 blocks. */
#define AXO__MAGAZINE 64
/* Newborns a worker keeps, a power of two; more go to its queue. A tree that is spawned depth first
 * needs its fan-out times its depth. */
#define AXO__NEWBORNS 1024
/* Retired cells that are worth a grace period, which wakes a thread and asks every worker. */
#define AXO__RETIRE_MIN 1024
/* Cells a table chunk holds: 256. */
#define AXO__TABLE_CHUNK_SHIFT 8
/* Messages that a runner puts in order before it looks at its system lane again. */
#define AXO__TURN_STEP 256
/* Things that one step does beside handling messages (dead letters of an end, watchers, notes of
 * the system lane, expired cells) before other cells have a turn: 10 us. */
#ifdef AXO_SIM /* the simulator's mailboxes are short */
#define AXO__PORTION 4
#else
#define AXO__PORTION 64
#endif
/* Children that one step tells of one decision before other cells have a turn: 10 to 20 us. */
#define AXO__SWEEP_STEP 256
#endif

/* The urgent lane of a worker; more overflow to the urgent injector. */
#define AXO__URGENT_SIZE 2048
/* Times in a row that the next slot may be served before the queue is: two actors that answer
 * each other must not starve it. */
#define AXO__NEXT_RUNS_MAX 64
/* Newborns in a row before other work gets a turn; and every how many of them it is the oldest in
 * the place of the youngest. */
#define AXO__NEWBORN_RUNS_MAX 64
#define AXO__NEWBORN_OLDEST 16384
/* Overrun cells wait while ready cells run for at most this many times the length of a turn:
 * overrun cells have a fifth of a worker at least. */
#define AXO__OVERRUN_QUANTA 4
/* Urgent turns in a row before other work gets one: a storm of failures must not starve it. */
#define AXO__URGENT_RUNS_MAX 16
/* Every how many of them the urgent injector is looked at even when the worker's lane has some. */
#define AXO__URGENT_TURNS 4
/* Every how many turns the injector is looked at even when there is local work. */
#define AXO__INJECT_TURNS 4
/* With at most this many entries in the injector, outside threads wait for each of them: a turn is
 * cut short. More entries are a backlog. */
#define AXO__INJECT_FEW 64
/* Messages between two such cuts, so that a stream from outside is taken in batches. */
#define AXO__INJECT_MESSAGES 128
/* Every this many turns a worker takes expired cells, and hands retired cells over if they are
 * enough for a grace period; after AXO__HOUSEKEEPING_ROUNDS of these rounds it hands over any. */
#define AXO__HOUSEKEEPING_TURNS 256
#define AXO__HOUSEKEEPING_ROUNDS 16
/* At most so many turns between two moments at which a worker tells the reclaimer that it holds
 * nothing. */
#define AXO__QUIET_TURNS 16
/* Messages of a turn, if the program does not say; and how often that is doubled for a cell that
 * has left messages turn after turn: a consumer of many producers keeps up, and the time of a turn
 * bounds it as ever. */
#define AXO__QUANTUM 64
#define AXO__BACKLOG_TURNS_MAX 5
/* A queue shorter than this is left to its owner, unless its last cell would wait for
 * AXO__WATCH_MIN_NS at its owner's pace. */
#define AXO__STEAL_MIN 4
/* Entries that a thief takes at most from one queue. */
#define AXO__STEAL_MAX 64
/* What a stolen cell has to be worth, of a worker from which a line takes `line` ns: it is carried,
 * and its end goes back; a ready one stays, and what it sends in each turn goes back. Then how long
 * a line is taken to be before any was timed, and at most. And for how long at most cells that are
 * worth less are left to their worker (sched/keep.h). */
#define AXO__CARRY_NS(line) (455 + (line)*9 / 2)
#define AXO__CARRY_READY_NS 140
#define AXO__CARRY_TURN_NS(line) (95 + (line)*3 / 2)
#define AXO__LINE_NS 100
#define AXO__LINE_MAX_NS 250
#define AXO__KEEP_MAX_NS (INT64_C(16) * AXO__WATCH_MAX_NS)
/* Bounds of the watcher's wait between two looks at the busy workers. */
#define AXO__WATCH_MIN_NS 50000
#define AXO__WATCH_MAX_NS 2000000
/* Who follows whom, for how long, and after which time at the latest: sched/follow.h. */
#if defined(AXO_HARD) || defined(AXO_SIM)
#define AXO__FOLLOW_TURNS 1
#define AXO__FOLLOW_SENDS 2
#define AXO__FOLLOW_SLOW_MAX 2
#define AXO__FOLLOW_NEAR_NS 2000
#define AXO__FOLLOW_FAR_NS 20000
#else
#define AXO__FOLLOW_TURNS 2
#define AXO__FOLLOW_SENDS 64
#define AXO__FOLLOW_SLOW_MAX 16
#define AXO__FOLLOW_NEAR_NS 48
#define AXO__FOLLOW_FAR_NS 256
#endif
#define AXO__FOLLOW_NS 10000000
#define AXO__FOLLOW_REST_NS 100000000
#define AXO__FOLLOW_LATE_NS 1000000
/* While no worker waits for descriptors one looks so often; a readiness for which there was no
 * memory is tried again after so long. */
#define AXO__IO_LOOK_NS 50000
#define AXO__IO_RETRY_NS 1000000
/* Timers that have been due for this long are fired by any worker that has nothing to do. */
#define AXO__TIMER_LATE_NS 500000
/* Longer than any turn, and a few of them together still have a number: 36 years. */
#define AXO__QUANTUM_NEVER (INT64_MAX / 8)
/* How long the reclaimer sleeps behind a batch, however much is retired meanwhile (mem/grace.h). */
#if defined(AXO_HARD) || defined(AXO_SIM)
#define AXO__GRACE_NAP_NS 2000
#else
#define AXO__GRACE_NAP_NS 100000
#endif
/* How long every worker must be stuck before a spare one takes over what they left. */
#define AXO__SPARE_NS INT64_C(3000000)
/* How often the first spare looks while some worker is busy and others are parked. */
#define AXO__SPARE_DOZE_NS INT64_C(20000000)
/* A callback that its watchdog could not interrupt is tried again after so long, AXO__ENDLESS_TRIES
 * times; then after twice that, as often, and so on: AXO__ENDLESS_DOUBLES times. */
#define AXO__ENDLESS_NS INT64_C(1000000)
#define AXO__ENDLESS_TRIES 256
#define AXO__ENDLESS_DOUBLES 10
/* Spare workers of the default pool: the last one is for failures only. */
#define AXO__SPARES 2

/* A visitor of a slot looks after the others as often, while it has work of its own. */
#define AXO__LENT_CHORES_NS INT64_C(500000)
/* A call that has left its job to the workers does it itself when none has taken a portion for so
 * long: some times what it takes to wake one. */
#define AXO__CREW_LOOK_NS INT64_C(200000)
/* The end looks again for a visitor that is on its way out. */
#define AXO__LENT_LOOK_NS INT64_C(100000)
/* Actors that may be allowed to live: of 2^24 slots some are for what workers keep. */
#define AXO__ACTORS_MAX ((UINT32_C(1) << 24) - (UINT32_C(1) << 17))
/* Slots, at least, for those that have ended and wait for their grace period, beside what workers
 * gather before they ask for one. The reclaimer of a busy machine is late by tenths of a second. */
#define AXO__GRAVES_MIN (UINT32_C(1) << 16)
/* Outside threads are spread over at most this many doors. */
#define AXO__DOORS_MAX 16
/* Blocks up to this size are pooled. */
#define AXO__POOL_MAX 4096
/* Bytes that a pool asks the allocator for at once. */
#define AXO__POOL_CHUNK 32768
/* First and largest chunk of an instance's region. */
#define AXO__REGION_CHUNK 512
#define AXO__REGION_CHUNK_MAX 65536
/* Messages between two readings of the clock, at most. */
#define AXO__CLOCK_STRIDE_MAX 64
/* Readings of the clock for which a worker that had a long callback wakes another one for each cell
 * that it makes ready. */
#define AXO__LONG_AGO 32

/* What of Concurrency Kit is used: all on x86-64, which is strong enough for it. Elsewhere C11 is
 * in the place of what is wrong there, as queue/spmc.h and os/linux.c say. The simulator's own ring
 * (queue/runq_sim.c) has CK's layout. */
#if defined(__x86_64__) && !defined(AXO__CK_RIGHT)
#define AXO__CK_RIGHT 1
#elif !defined(AXO__CK_RIGHT)
#define AXO__CK_RIGHT 0
#endif
#if AXO__CK_RIGHT || defined(AXO_SIM)
#define AXO__CK_RING 1
#else
#define AXO__CK_RING 0
#endif

/* Sleepers and wakers rest on more than C11 says of a seq_cst operation (sched/wake.h): a processor
 * is one whose rules the checker of weak memory has. */
#if !defined(__x86_64__) && !defined(__aarch64__)
#error "axo is for x86-64 and aarch64"
#endif
#if defined(__aarch64__)
#include <ck_md.h>
#if defined(CK_MD_TSO)
#error "ck_md.h is another processor's, and the barriers of its Concurrency Kit are empty here"
#endif
#endif

#endif
