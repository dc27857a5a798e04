/* parking.pml - a fixed pool: who is told of work, who sleeps, who watches, who steals.
 *
 * Cells are tokens that have to be run once, whoever takes them; one that runs may push another,
 * leave itself at the end of its turn (a quiet push), or never return. As long as one worker is not
 * stuck every token must be run. A watcher's sleep may end at any time, at most EARLY times; when
 * nothing else moves it ends for certain, and QUIET such ends must be enough for the next token.
 *
 * Time is left out: a cell that waits "for long" does if the thief has slept through a watch and
 * the owner has not begun a turn since. Newborns, urgent and overrun cells lie in queues with the same
 * rules as the ready ones, and are left out. The store of a push to the owner's queue stays in its
 * buffer (BUFFER) until a read-modify-write or until the machine empties it; others are seen at once. The
 * spares are left out (spare.pml), so are timers (timer.pml) and the end (shutdown.pml).
 *
 * Where two workers are left to it, a sleeper need not wait for a watch: a queue that is stolen from
 * at once is empty enough, and so is the injector, before any watch ends for want of anything else.
 * FOLLOW: one that runs may leave itself to another worker (sched/follow.h), whom it wakes.
 *
 * ALONE: who is the only one awake, and has short callbacks (it may or may not), wakes nobody for what it
 * comes to itself; if nothing else moves the spare wakes one for it (sched/spare.c).
 *
 * KEEP: cells are kept for the worker that has them (sched/keep.h): at any look they are, or they are
 * not; so a second worker may never come to help one that moves.
 *
 * ASLEEP: who sleeps at first, all from that number on. INJECTED: tokens in the injector at first.
 *
 * form small two       -DW=2 -DPUSHES=3 -DOUTSIDE=0 -DBUFFER
 * form small injected  -DW=2 -DPUSHES=2 -DOUTSIDE=0 -DINJECTED=1 -DEARLY=0
 * form small asleep    -DW=2 -DPUSHES=1 -DOUTSIDE=2 -DASLEEP=0 -DEARLY=0
 * form small three     -DW=3 -DPUSHES=1 -DOUTSIDE=0 -DEARLY=0
 * form small follow    -DW=2 -DPUSHES=2 -DOUTSIDE=0 -DEARLY=0 -DFOLLOW
 * form small alone     -DW=2 -DPUSHES=3 -DOUTSIDE=0 -DEARLY=0 -DASLEEP=1 -DALONE
 * form large alone     -DW=3 -DPUSHES=2 -DOUTSIDE=0 -DEARLY=0 -DASLEEP=1 -DALONE
 * form small keep      -DW=2 -DPUSHES=3 -DOUTSIDE=0 -DEARLY=0 -DASLEEP=1 -DKEEP
 * form large keep      -DW=3 -DPUSHES=2 -DOUTSIDE=0 -DEARLY=0 -DASLEEP=1 -DKEEP
 * form large two       -DW=2 -DPUSHES=2 -DOUTSIDE=1 -DBUFFER
 * form large three     -DW=3 -DPUSHES=2 -DOUTSIDE=0 -DEARLY=0
 * form large follow    -DW=3 -DPUSHES=1 -DOUTSIDE=0 -DEARLY=0 -DFOLLOW
 * form large asleep    -DW=3 -DPUSHES=2 -DOUTSIDE=0 -DEARLY=0 -DASLEEP=2
 * mutant two M_NO_FENCE            no read-modify-write between a push and the look at who is parked
 * mutant two M_NO_RECHECK          a sleeper does not look again after it has said that it parks
 * mutant two M_PARK_AFTER          it looks a last time before it says so
 * mutant two M_TICKET_LATE         the ticket is taken after the last look
 * mutant asleep M_UNGUARDED        the next slot is used though one is parked and nobody watches
 * mutant injected M_QUIET_LOST     what was pushed between two turns is never offered
 * mutant two M_WATCH_ALONE         a watcher does not steal the next slot of one that is stuck
 * mutant follow M_FOLLOW_ALONE     nobody takes the followers of a worker that is stuck
 * mutant alone M_NO_CALL           the spare wakes nobody for one that is alone
 * mutant alone M_ALONE_CROWD       who is alone keeps any number to itself
 * mutant keep M_KEEP_STUCK         kept cells are left to one that does not move, too
 * mutant keep M_KEEP_SILENT        kept cells wake nobody, even if nobody watches
 * mutant asleep M_SILENT           who pushes from outside wakes nobody
 * mutant three:large M_NO_HAND_ON  a watcher that finds work tells nobody
 * mutant asleep:large M_UNWATCHED  a searcher that finds work does not look whether anybody watches
 */
/* stamps: run.py --stamp writes them
 * stamp os/linux.c:axo__os_parker_ticket c80ff4d7b240
 * stamp os/linux.c:axo__os_parker_wait f5284b81b4eb
 * stamp os/linux.c:axo__os_parker_wake c4bd7c9ad87c
 * stamp queue/inject.c:axo__inject_pop_any 4aa5a7962031
 * stamp queue/inject.c:axo__inject_push_any 3bc10f552b02
 * stamp queue/runq.c:axo__runq_push_owner fc1d135e279d
 * stamp sched/claim.c:axo__sched_push_ready_any cf67dc4b9ffe
 * stamp sched/find.c:axo__worker_find b37244d656ae
 * stamp sched/find.c:find_from_inject a9a6845dad3d
 * stamp sched/find.c:find_from_inject_slow 671aebb59078
 * stamp sched/find.c:find_from_next 9038f1459e9b
 * stamp sched/find.c:find_from_queue 2bf36c370d4b
 * stamp sched/find.c:find_ready cdb4a482fb8b
 * stamp sched/follow.c:axo__follow_push ed4e630423eb
 * stamp sched/follow.c:axo__follow_steal 328be550ccf6
 * stamp sched/follow.c:axo__follow_take 38b8e23feb68
 * stamp sched/idle.h:axo__idle_park 3cdf2a5bed39
 * stamp sched/idle.h:axo__idle_search 40a90784d2e5
 * stamp sched/idle.h:axo__idle_up b1987ff66cf1
 * stamp sched/keep.h:axo__keep_count ae48e36aa546
 * stamp sched/keep.h:axo__keep_holds a282dffc2e81
 * stamp sched/park.c:axo__worker_park 572faf79806a
 * stamp sched/park.c:axo__worker_unpark_owner f4dbac8397a8
 * stamp sched/park.c:park_count 6c209b9630e1
 * stamp sched/park.c:park_get_up f1356562b78c
 * stamp sched/park.c:park_look c4c99e614a4d
 * stamp sched/park.c:park_was_taken 2d5d7264b319
 * stamp sched/pool.h:axo__worker_is_alone 25ec206b56e1
 * stamp sched/ready.c:axo__worker_offer_quiet c2d7bbfc3ce9
 * stamp sched/ready.c:axo__worker_push_back 8688c2222c25
 * stamp sched/ready.c:axo__worker_push_ready 7f2f38a02811
 * stamp sched/run.c:run_enter cc0673a82c0f
 * stamp sched/run.c:run_turn 545f86e0a360
 * stamp sched/spare.c:spare_call f373a34e0a71
 * stamp sched/steal.c:axo__worker_steal df9fe1f9f9eb
 * stamp sched/steal.c:steal_from d07741c3f946
 * stamp sched/steal.c:steal_half 75c54be82039
 * stamp sched/steal.c:steal_is_late dd553f6085b4
 * stamp sched/steal.c:steal_kept 81a9c767a4ce
 * stamp sched/steal.c:steal_wants fb2196823ae6
 * stamp sched/wake.c:axo__sched_wake_one 220eeb36979f
 * stamp sched/wake.c:axo__sched_wake_worker ec5d21abdcc1
 * stamp sched/wake.c:axo__wake_offer 2c95ef1b4888
 * stamp sched/wake.c:axo__wake_tell 4c06a5d51711
 * stamp sched/wake.c:wake_up 14ec437b004e
 * stamp sched/worker.c:axo__worker_step dc685b15f13f
 * stamp sched/worker.c:axo__worker_wake 9bddfe45110c
 * stamp sched/worker.c:worker_hand_on 6ac65cfdd2b7
 * stamp sched/worker.c:worker_idle 7d067d978a47
 * stamp sched/worker.c:worker_run a22db0f5d0a2
 * stamp sched/worker.c:worker_unwatched 2d71c1a40e45
 */
#ifndef W
#define W 2
#endif
#ifndef PUSHES
#define PUSHES 2
#endif
#ifndef OUTSIDE
#define OUTSIDE 1
#endif
#ifndef EARLY
#define EARLY 1
#endif
#ifndef QUIET
#define QUIET 3
#endif
#ifndef INJECTED
#define INJECTED 0
#endif
#ifndef ASLEEP
#define ASLEEP W
#endif
#if ASLEEP == 0
#define OWN 0
#else
#define OWN 1                /* of the first worker, at first */
#endif
#define STEAL_MIN 2
/* axo__idle_search sched/idle.h; axo__idle_park sched/idle.h: a worker's role, in that order */
#define WORKS 0
#define WOKEN 1
#define SEARCHED 2
#define WATCHED 3
#define WATCHING 4

/* ---- the pool ---- */
byte parked, searching, inject = INJECTED;
bool watcher, watch_due;
/* ---- the workers: what others see ---- */
byte ready[W];
byte follow[W];             /* followers: any worker pushes, others take them as they take the next slot */
bool next[W], is_parked[W], buffered[W];
bool ringing[W];            /* its parker was woken after the ticket that it holds was taken */
bool still[W * W];          /* still[me * W + v]: v has begun no turn since the last look of me */
/* ---- ghosts ---- */
byte work = OUTSIDE + OWN + INJECTED, pushes = PUSHES, stuck = W - 1, early = EARLY, quiets = QUIET;
bool timed[W], expired[W];

/* A read-modify-write of this worker: its buffer is empty. */
inline flush()
{
    if :: me < W && buffered[me] -> ready[me]++; buffered[me] = false :: else fi
}

/* wake_up sched/wake.c; axo__os_parker_wake os/linux.c */
inline wake_worker(i)
{
    if
    :: !took ->
        atomic { if :: is_parked[i] -> is_parked[i] = false; flush(); took = true :: else fi };
        if :: took -> atomic { parked--; ringing[i] = true } :: else fi
    :: else
    fi
}
/* axo__sched_wake_one sched/wake.c */
inline wake_one()
{
    if
    :: parked == 0
    :: else ->
        wake_worker(0);
        wake_worker(1);
#if W > 2
        wake_worker(2);
#endif
        took = false
    fi
}
/* axo__wake_tell sched/wake.c */
inline tell(queued)
{
    if
    :: queued < STEAL_MIN && watcher
    :: else ->
#ifndef M_NO_FENCE
        atomic { flush() };
#endif
        if
        :: parked == 0
        :: else ->
            if
            :: searching != 0 || (queued < STEAL_MIN && watcher)
#ifdef ALONE
#ifdef M_ALONE_CROWD
            :: parked == W - 1
#else
            :: queued < STEAL_MIN && parked == W - 1
#endif
            :: parked == W - 1 -> wake_one()
#endif
            :: else -> wake_one()
            fi
        fi
    fi
}

/* axo__keep_count sched/keep.h */
inline keep_count()
{
#ifdef KEEP
    if :: queued > 1 -> queued = 1 :: true fi
#else
    skip
#endif
}
/* axo__worker_push_back sched/ready.c; axo__wake_offer sched/wake.c; axo__runq_push_owner queue/runq.c */
inline push_back(in_turn)
{
#ifdef BUFFER
    atomic { flush(); buffered[me] = true; queued = ready[me] + 1 };
#else
    atomic { ready[me]++; queued = ready[me] };
#endif
    if
#ifdef M_KEEP_SILENT
    :: in_turn
#endif
    :: in_turn -> keep_count(); tell(queued)
    :: else -> quiet = true
    fi;
    queued = 0
}
/* axo__worker_is_alone sched/pool.h; its callbacks have been short, or not */
inline alone()
{
#ifdef ALONE
    if :: !guarded && parked == W - 1 -> if :: guarded = true :: skip fi :: else fi
#else
    skip
#endif
}
/* axo__worker_push_ready sched/ready.c: from a turn */
inline push_ready()
{
    guarded = (parked == 0);
    if :: !guarded -> guarded = watcher :: else fi;
    alone();
#ifdef M_UNGUARDED
    guarded = true;
#endif
    if
    :: !guarded -> push_back(true)
    :: guarded && !next[me] -> next[me] = true
    :: guarded && next[me] -> push_back(true)
    fi;
    guarded = false
}
#ifdef FOLLOW
/* axo__follow_push sched/follow.c; axo__sched_wake_worker sched/wake.c: between two turns, guarded as
 * the next slot is */
inline push_follow(leader)
{
    guarded = (parked == 0);
    if :: !guarded -> guarded = watcher :: else fi;
    alone();
    if
    :: !guarded -> guarded = false; push_back(false)
    :: else ->
        guarded = false;
        atomic { flush(); follow[leader]++ };
        if
        :: leader != me -> atomic { flush() }; wake_worker(leader); took = false
        :: else
        fi
    fi
}
#endif
/* axo__worker_offer_quiet sched/ready.c */
inline offer_quiet()
{
    quiet = false;
#ifndef M_QUIET_LOST
    queued = ready[me] + buffered[me];
    keep_count();
    if
    :: queued > 0 || next[me] -> tell(queued)
    :: else
    fi;
    queued = 0
#endif
}

/* axo__worker_find sched/find.c; find_ready sched/find.c; find_from_next
 * sched/find.c; find_from_queue sched/find.c; find_from_inject sched/find.c;
 * find_from_inject_slow sched/find.c; axo__inject_pop_any queue/inject.c */
inline find()
{
    atomic {                        /* only thieves touch what is its own, and they only take */
        found = true;
        if
        :: next[me] -> next[me] = false
        :: !next[me] && buffered[me] -> buffered[me] = false
        :: !next[me] && !buffered[me] && ready[me] > 0 -> ready[me]--
        :: inject > 0 -> inject--; last = true          /* its turn comes now and then */
#ifdef FOLLOW
        :: follow[me] > 0 -> follow[me]--; flush()
#endif
        :: else -> found = false
        fi
    };
    if
    :: last ->
        last = false;
        if :: inject > 0 && searching == 0 -> wake_one() :: else fi
    :: else
    fi
}

/* axo__worker_steal sched/steal.c; steal_from sched/steal.c; steal_half sched/steal.c; steal_wants
 * sched/steal.c; steal_kept sched/steal.c; steal_is_late sched/steal.c; axo__keep_holds sched/keep.h; axo__follow_steal sched/follow.c; axo__follow_take sched/follow.c */
inline steal_from(v)
{
    if
    :: !found && v != me ->
        atomic {
            if
#ifdef KEEP
            :: ready[v] >= STEAL_MIN && !(slept && still[me * W + v])
#endif
#ifdef M_KEEP_STUCK
            :: ready[v] >= STEAL_MIN
#endif
            :: ready[v] >= STEAL_MIN || (ready[v] > 0 && slept && still[me * W + v]) ->
                ready[v]--; found = true; flush();
                if                                  /* up to half */
                :: ready[v] > 1 -> ready[v]--; ready[me]++
                :: else
                fi
#if defined(FOLLOW) && !defined(M_FOLLOW_ALONE)
            :: follow[v] > 0 && (is_parked[v] || (slept && still[me * W + v])) ->
                follow[v]--; found = true; flush()
#endif
#ifndef M_WATCH_ALONE
            :: ready[v] == 0 && slept && still[me * W + v] && next[v] ->
                next[v] = false; found = true; flush()
#endif
            :: else
            fi
        }
    :: else
    fi
}
inline steal()
{
    found = false;
    if
    :: searching * 2 >= W
    :: else ->
        role = (role < SEARCHED -> SEARCHED : role);
        atomic { searching++; flush() };
        steal_from(0);
        steal_from(1);
#if W > 2
        steal_from(2);
#endif
        atomic {
            searching--; flush();
            last = (found && searching == 0 && ready[me] >= STEAL_MIN)
        };
        if :: last -> last = false; wake_one() :: else fi
    fi
}

/* worker_run sched/worker.c; worker_hand_on sched/worker.c; worker_unwatched sched/worker.c */
inline hand_on()
{
    due = (role == WATCHED);
#ifndef M_UNWATCHED
    if
    :: !due && role == SEARCHED && !watcher -> due = (parked > 0)
    :: else
    fi;
#endif
    atomic { due = due || watch_due; role = WORKS };
#ifndef M_NO_HAND_ON
    if
    :: due -> due = false; watch_due = true; wake_one()
#ifdef ALONE
    :: due && parked == W - 1
#endif
    :: else
    fi;
#endif
    due = false
}

/* run_turn sched/run.c; run_enter sched/run.c: what a turn may do */
inline turns()
{
    if :: quiet -> offer_quiet() :: else fi;
    if :: role != WORKS -> hand_on() :: else fi;
    atomic {
        still[me] = false; still[W + me] = false;
#if W > 2
        still[W + W + me] = false;
#endif
        found = false; slept = false; work--; quiets = QUIET
    };
    do
    :: atomic { pushes > 0 -> pushes--; work++ }; push_ready()
    :: atomic { pushes > 0 -> pushes--; work++ }; push_back(false); break
#ifdef FOLLOW
    :: atomic { pushes > 0 -> pushes--; work++ }; push_follow(0); break
    :: atomic { pushes > 0 -> pushes--; work++ }; push_follow(1); break
#endif
    :: atomic { stuck > 0 -> stuck-- }; goto end_stuck
    :: break
    od
}

/* axo__idle_up sched/idle.h */
inline up()
{
    role = (role == WATCHING -> WATCHED : (role == WORKS -> WOKEN : role))
}
/* axo__worker_unpark_owner sched/park.c; park_get_up sched/park.c; park_was_taken sched/park.c */
inline unpark()
{
    atomic {
        flush();
        watching = (role == WATCHING);
        if
        :: is_parked[me] -> is_parked[me] = false; took = true
        :: else -> up(); took = false
        fi
    };
    if :: took -> atomic { parked-- }; took = false :: else fi;
    if
    :: watching -> atomic { watching = false; up(); watcher = false }
    :: else
    fi
}
/* park_look sched/park.c; park_count sched/park.c */
inline look_at(o)
{
    if
    :: !more ->
        atomic {
            if
#ifdef KEEP
            :: ready[o] >= STEAL_MIN && o != me && !is_parked[o] ->    /* park_count */
                busy = true; still[me * W + o] = true
#endif
            :: ready[o] >= STEAL_MIN || (o == me && (ready[o] > 0 || buffered[o])) -> more = true
            :: else ->
                if
                :: o != me && !is_parked[o] -> busy = true
                :: o != me && is_parked[o] && ready[o] > 0 -> more = true
                :: (o == me || is_parked[o]) && follow[o] > 0 -> more = true
                :: else
                fi;
                still[me * W + o] = true
            fi
        }
    :: else
    fi
}
inline look()
{
    atomic { more = (inject > 0 || next[me]); busy = false };   /* only thieves touch its next */
    look_at(0);
    look_at(1);
#if W > 2
    look_at(2);
#endif
}
/* axo__worker_park sched/park.c; axo__os_parker_ticket os/linux.c; axo__os_parker_wait os/linux.c;
 * axo__worker_wake sched/worker.c */
inline park()
{
#ifdef M_PARK_AFTER
    ringing[me] = false;
    look();
#endif
    atomic {
        is_parked[me] = true;
#ifndef M_PARK_AFTER
        ringing[me] = false             /* the ticket: a wake before it is not waited for */
#endif
    };
    atomic { parked++; flush() };
#ifdef M_NO_RECHECK
    more = false; busy = true;
#else
#ifndef M_PARK_AFTER
    look();
#endif
#endif
#ifdef M_TICKET_LATE
    ringing[me] = false;
#endif
    if
    :: more -> unpark()
    :: else ->
        atomic { role = (role == WATCHED && busy -> WATCHED : WORKS); slept = false };
        if
        :: busy ->
            atomic { flush(); if :: !watcher -> watcher = true; role = WATCHING :: else fi };
            if
            :: role == WATCHING -> atomic { watch_due = false; timed[me] = true }
            :: else
            fi
        :: else
        fi;
asleep:
end_w:  atomic {
            (ringing[me] || expired[me]);
            slept = slept || expired[me];
            timed[me] = false; expired[me] = false; ringing[me] = false
        };
        unpark();
        up()
    fi;
    atomic { more = false; busy = false }
}

/* axo__worker_step sched/worker.c; worker_idle sched/worker.c */
proctype Worker(byte me)
{
    byte queued;
    byte role;
    bool found, took, guarded, quiet, watching, slept, last, due;
    bool more, busy;
    if :: me >= ASLEEP -> goto asleep :: else fi;
    do
    :: find();
       if
       :: found -> turns()
       :: else ->
           steal();
           if
           :: found -> turns()
           :: else -> park()
           fi
       fi
    od;
end_stuck:
    false
}

/* axo__sched_push_ready_any sched/claim.c; axo__inject_push_any queue/inject.c */
proctype Outside()
{
    byte k, me = W;
    bool took;
    do
    :: k < OUTSIDE ->
        k++;
        inject++;
#ifndef M_SILENT
        wake_one()
#endif
    :: else -> break
    od
}

/* The machine empties a store buffer whenever it likes. */
proctype Drain()
{
    byte i;
end_d:
    do
    :: atomic { buffered[0] -> ready[0]++; buffered[0] = false }
    :: atomic { buffered[1] -> ready[1]++; buffered[1] = false }
#if W > 2
    :: atomic { buffered[2] -> ready[2]++; buffered[2] = false }
#endif
    od
}

/* spare_call sched/spare.c */
proctype Clock()
{
    byte me = W;
    bool took;
    do
    :: atomic { early > 0 && timed[0] && !expired[0] -> early--; expired[0] = true }
    :: atomic { early > 0 && timed[1] && !expired[1] -> early--; expired[1] = true }
    :: timeout ->
        assert(parked == 1 + stuck);       /* the others do not come back */
#if W == 2 && defined(KEEP)
        assert(inject == 0);
#elif W == 2
        assert(inject == 0 && (!is_parked[0] || ready[1] < STEAL_MIN) &&
               (!is_parked[1] || ready[0] < STEAL_MIN));
#endif
        if
#if defined(ALONE) && !defined(M_NO_CALL)
        :: work > 0 && quiets > 0 && !watcher && parked > 0 -> quiets--; wake_one()
#endif
        :: work > 0 && quiets > 0 && (timed[0] || timed[1] || timed[W - 1]) ->
            atomic {
                quiets--;
                if
                :: timed[0] -> expired[0] = true
                :: timed[1] -> expired[1] = true
#if W > 2
                :: timed[2] -> expired[2] = true
#endif
                fi
            }
        :: else -> break
        fi
    od;
    assert(work == 0)
}

init {
    atomic {
        ready[0] = OWN;
        parked = W - ASLEEP;
        is_parked[0] = (0 >= ASLEEP);
        is_parked[1] = (1 >= ASLEEP);
#if W > 2
        is_parked[2] = (2 >= ASLEEP);
#endif
        run Worker(0);
        run Worker(1);
#if W > 2
        run Worker(2);
#endif
        run Outside();
#ifdef BUFFER
        run Drain();
#endif
        run Clock()
    }
}
