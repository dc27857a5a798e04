/* spare.pml - the first spare worker: how closely it looks after the others, and that it does while
 * one of them is in a handler.
 *
 * Any number of the W workers may get stuck in a handler for good; work that is left then is the
 * spare's. It sleeps without a limit (DEEP) only while all workers are parked. A timed sleep of it
 * may end at any time, at most EARLY times; when nothing else moves it ends for certain, and QUIET
 * such ends must be enough for the next piece of work. Left out: the second spare, what the first
 * reports, watchers and thieves (parking.pml): all work lies in the injector.
 *
 * form small two    -DW=2 -DPUSHES=1 -DEARLY=0
 * form small single -DW=1 -DPUSHES=2
 * form large single -DW=1 -DPUSHES=3 -DEARLY=2
 * form large two    -DW=2 -DPUSHES=2
 * mutant single M_NO_NOTICE      a worker that is woken does not call the spare
 * mutant single M_NO_LAST_LOOK   the spare does not look again after it has said that it sleeps
 * mutant single M_COUNT          it trusts the count of those who sleep
 * mutant single M_SAYS_AFTER     it looks, and then says so
 * mutant single M_TICKET_LATE    it takes its ticket after it has decided how long to sleep
 * mutant single M_BACK_QUIET     a worker that does not sleep after all does not call it
 * mutant single M_LEAVES         it does not take what stuck workers have left
 */
/* stamps: run.py --stamp writes them
 * stamp sched/claim.c:axo__sched_push_ready_any cf67dc4b9ffe
 * stamp sched/find.c:find_from_inject_slow 671aebb59078
 * stamp sched/park.c:axo__worker_park 572faf79806a
 * stamp sched/park.c:axo__worker_unpark_owner f4dbac8397a8
 * stamp sched/spare.c:axo__spare_step fb334f3a0895
 * stamp sched/spare.c:spare_all_parked bd3b9099f924
 * stamp sched/spare.c:spare_deadline 305b07a9a2ee
 * stamp sched/spare.c:spare_look f08d596275f2
 * stamp sched/spare.c:spare_mode 0818885c74a7
 * stamp sched/spare.c:spare_rest 2b68421e4394
 * stamp sched/spare.c:spare_saw_turns 04c3e234e993
 * stamp sched/spare.c:spare_take 955f423cb8f8
 * stamp sched/spare.c:spare_wake c356e9f10edb
 * stamp sched/wake.c:axo__sched_wake_one 220eeb36979f
 * stamp sched/wake.c:axo__spare_alarm f2f4f6e3fa40
 * stamp sched/wake.c:axo__spare_notice 031fb0a3d193
 * stamp sched/wake.c:wake_spare 95f9d36770a7
 * stamp sched/wake.c:wake_up 14ec437b004e
 * stamp sched/worker.c:axo__worker_wake 9bddfe45110c
 */
#ifndef W
#define W 2
#endif
#ifndef PUSHES
#define PUSHES 2
#endif
#ifndef EARLY
#define EARLY 1
#endif
#define QUIET 3
#define WATCH 0
#define DOZE 1
#define DEEP 2

byte mode = DEEP, parked, work, inside, pushed;
bool is_parked[W], ringing[W], moved;
bool called, timed, expired;                /* the spare's sleep */
byte early = EARLY, quiets = QUIET;

/* wake_spare sched/wake.c; axo__spare_notice sched/wake.c; axo__spare_alarm sched/wake.c */
inline call(least)
{
    do
    :: seen = mode;
       if
       :: seen <= least -> break
       :: else ->
           atomic { if :: mode == seen -> mode = least; took = true :: else fi };
           if :: took -> took = false; called = true; break :: else fi
       fi
    od;
    seen = 0
}
/* wake_up sched/wake.c; axo__sched_wake_one sched/wake.c */
inline wake(i)
{
    if
    :: !woke ->
        atomic { if :: is_parked[i] -> is_parked[i] = false; woke = true :: else fi };
        if :: woke -> atomic { parked--; ringing[i] = true } :: else fi
    :: else
    fi
}
inline wake_one()
{
    if
    :: parked == 0 -> call(WATCH)
    :: else ->
        wake(0);
#if W > 1
        wake(1);
#endif
#if W > 2
        wake(2);
#endif
        if :: !woke -> call(WATCH) :: else fi;
        woke = false
    fi
}
/* spare_all_parked sched/spare.c: one that is taken out is AWAKE before it is off the count */
inline all_parked()
{
    all = (parked == W);
#ifndef M_COUNT
    if :: !is_parked[0] -> all = false :: else fi;
#if W > 1
    if :: !is_parked[1] -> all = false :: else fi;
#endif
#if W > 2
    if :: !is_parked[2] -> all = false :: else fi;
#endif
#endif
}
/* axo__sched_push_ready_any sched/claim.c */
active proctype Outside()
{
    byte seen;
    bool took, woke;
    do
    :: pushed < PUSHES -> atomic { pushed++; work++ }; wake_one()
    :: else -> break
    od
}

/* axo__worker_park sched/park.c; axo__worker_unpark_owner sched/park.c; axo__worker_wake
 * sched/worker.c; find_from_inject_slow sched/find.c */
proctype Worker(byte me)
{
    byte seen;
    bool took, woke, more;
    do
    :: atomic { work > 0 -> work--; quiets = QUIET; inside++; moved = true };
       if :: work > 0 -> wake_one() :: else fi;
       if
       :: atomic { true -> inside-- }
       :: true -> break                           /* for good */
       fi
    :: else ->
        atomic { ringing[me] = false; is_parked[me] = true };
        atomic { parked++ };
        more = (work > 0);
        if
        :: more
        :: else ->
end_w:      ringing[me]
        fi;
        atomic { if :: is_parked[me] -> is_parked[me] = false; took = true :: else fi };
        if :: took -> took = false; atomic { parked-- } :: else fi;
#ifdef M_NO_NOTICE
        if :: more -> call(DOZE) :: else fi;
#else
#ifdef M_BACK_QUIET
        if :: !more -> call(DOZE) :: else fi;
#else
        call(DOZE);
#endif
#endif
        more = false
    od;
end_stuck:
    false
}

/* axo__spare_step sched/spare.c; spare_look sched/spare.c; spare_take sched/spare.c; spare_rest
 * sched/spare.c; spare_mode sched/spare.c; spare_saw_turns
 * sched/spare.c; spare_deadline sched/spare.c; spare_wake sched/spare.c */
active proctype Spare()
{
    byte seen, next;
    bool took, saw, was, all, quiet = true;
    do
    ::
#ifndef M_LEAVES
       atomic {                                     /* in a turn, and so at the last look */
           if
           :: inside == W && was && work > 0 -> work--; quiets = QUIET; saw = true
           :: else
           fi;
           was = (inside == W)
       };
#endif
       if
       :: saw -> saw = false
       :: else ->
#ifndef M_TICKET_LATE
           called = false;
#endif
           next = mode;
           if
           :: parked == 0
           :: else ->
               atomic { saw = moved; moved = false };
               next = DOZE;
               if
               :: !saw && quiet ->
                   all_parked();
                   if :: all -> next = DEEP :: else fi
               :: else
               fi;
               quiet = !saw;
               saw = false; all = false
           fi;
#ifdef M_SAYS_AFTER
           all_parked();
           if :: next == DEEP && !all -> next = DOZE :: else fi;
#endif
           seen = mode;
           if
           :: next > seen ->
               atomic { if :: mode == seen -> mode = next; took = true :: else fi };
#ifndef M_NO_LAST_LOOK
#ifndef M_SAYS_AFTER
               if
               :: took && next == DEEP ->
                   took = false;
                   all_parked();
                   if :: !all -> call(DOZE) :: else fi
               :: else
               fi;
#endif
#endif
               took = false
           :: else
           fi;
           timed = (mode != DEEP);
#ifdef M_TICKET_LATE
           called = false;
#endif
           next = 0; seen = 0; all = false;
end_s:     atomic { (called || expired) -> expired = false; timed = false }
       fi
    od
}

active proctype Clock()
{
    do
    :: atomic { early > 0 && timed && !expired -> early--; expired = true }
    :: timeout ->
        assert(timed || parked == W);              /* somebody looks after who is in a handler */
        if
        :: timed && quiets > 0 -> atomic { quiets--; expired = true }
        :: else -> break
        fi
    od;
    assert(work == 0)
}

init {
    atomic {
        run Worker(0);
#if W > 1
        run Worker(1);
#endif
#if W > 2
        run Worker(2)
#endif
    }
}
