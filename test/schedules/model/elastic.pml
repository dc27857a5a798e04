/* elastic.pml - the pool for handlers that block: threads that come when work is pushed, and go.
 *
 * W workers may have a thread. Work lies in the injector; a handler may block for ever, on W - 1
 * workers at most, so all work must be run. A thread that has nothing to do for long ends, but the
 * last one stays while there is an actor: with FAIL no second thread can be had, with GONE none
 * after the first has gone. A timed sleep may end at any time, and does when nothing else moves.
 * What the pool's mutex guards are single steps, since others look at live and starting without it.
 *
 * form small two   -DW=2 -DPUSHES=2 -DSTUCK=1
 * form small fail  -DW=2 -DPUSHES=2 -DSTUCK=0 -DFAIL
 * form large three -DW=3 -DPUSHES=2 -DSTUCK=2
 * form large two   -DW=2 -DPUSHES=3 -DSTUCK=1 -DEARLY=2
 * mutant two M_LEAVE_LATE     a thread that goes looks for work, and then says that it goes
 * mutant two M_BEGIN_LATE     a thread says that it is there when it is about to sleep
 * mutant two M_NO_MORE        who takes work and leaves some calls nobody
 * mutant fail M_LAST_GOES     the last thread goes though there are actors
 * mutant two M_LEAVE_QUIET    the last actor wakes nobody
 * mutant two M_COUNT          the last actor trusts the count of those who sleep
 * mutant two M_STAY_EARLY     a sleeper looks whether it stays, and then says that it parks
 * mutant two M_NO_JOIN        a worker is used again before its thread has ended
 * mutant two M_NO_RECHECK     a sleeper does not look again
 */
/* stamps: run.py --stamp writes them
 * stamp queue/inject.c:axo__inject_pop_any 4aa5a7962031
 * stamp sched/claim.c:axo__claim_inject b78efa20a49a
 * stamp sched/claim.c:axo__sched_push_ready_any cf67dc4b9ffe
 * stamp sched/elastic.c:elastic_absent 361509dd75d4
 * stamp sched/elastic.c:elastic_begin 0dd4fe276597
 * stamp sched/elastic.c:elastic_deadline 637aefac1947
 * stamp sched/elastic.c:elastic_ends ef49434a0cf6
 * stamp sched/elastic.c:elastic_enter d503c5954b9f
 * stamp sched/elastic.c:elastic_grow 268f08d218b2
 * stamp sched/elastic.c:elastic_grow_locked e208debbf242
 * stamp sched/elastic.c:elastic_leave a05da65eee0b
 * stamp sched/find.c:find_from_inject_slow 671aebb59078
 * stamp sched/park.c:axo__worker_park 572faf79806a
 * stamp sched/park.c:axo__worker_unpark_owner f4dbac8397a8
 * stamp sched/park.c:park_look c4c99e614a4d
 * stamp sched/wake.c:axo__sched_wake_all 4db1818eedc2
 * stamp sched/wake.c:axo__sched_wake_one 220eeb36979f
 * stamp sched/wake.c:wake_up 14ec437b004e
 * stamp sched/worker.c:axo__worker_end f958a1f7f7c3
 * stamp sched/worker.c:axo__worker_step dc685b15f13f
 * stamp sched/worker.c:worker_idle 7d067d978a47
 */
#ifndef W
#define W 2
#endif
#ifndef PUSHES
#define PUSHES 2
#endif
#ifndef STUCK
#define STUCK 1
#endif
#ifndef EARLY
#define EARLY 1
#endif
mtype = { ABSENT, AWAKE, PARKED };

mtype state[W] = ABSENT;
byte inject, parked, live, actors, threads;
bool starting, mutex, ringing[W], has_thread[W], ended[W], timed[W], expired[W];
/* ---- ghosts ---- */
byte work, stuck = STUCK, early = EARLY, inside[W];
bool done;

inline lock() { atomic { !mutex -> mutex = true } }
inline unlock() { mutex = false }

/* elastic_grow_locked sched/elastic.c; elastic_absent sched/elastic.c */
inline grow_locked(failed)
{
    atomic {
        v = 0;
        do
        :: v < W && state[v] == ABSENT && (!has_thread[v] || ended[v]) -> break
        :: v < W && !(state[v] == ABSENT && (!has_thread[v] || ended[v])) -> v++
        :: v == W -> break
        od;
        if
        :: v == W ->                        /* one that is about to end? */
            v = 0;
            do
            :: v < W && state[v] == ABSENT -> break
            :: v < W && state[v] != ABSENT -> v++
            :: v == W -> break
            od
        :: else
        fi
    };
    if
    :: v < W ->
#ifndef M_NO_JOIN
        (!has_thread[v] || ended[v]);
#endif
        atomic { ended[v] = false; state[v] = AWAKE };
        starting = true;
        live++;
        if
#ifdef FAIL
        :: threads > 0 -> live--; starting = false; state[v] = ABSENT; failed = true
        :: threads == 0 ->
#else
        :: true ->
#endif
            atomic { has_thread[v] = true; threads++; run Thread(v) }
        fi
    :: else -> failed = true
    fi;
    v = 0
}
/* elastic_grow sched/elastic.c */
inline grow()
{
    if
    :: starting || live >= W
    :: else ->
        lock();
        if :: !starting -> grow_locked(failed) :: else fi;
        unlock();
        failed = false
    fi
}
/* wake_up sched/wake.c */
inline wake(i)
{
    if
    :: !took ->
        atomic { if :: state[i] == PARKED -> state[i] = AWAKE; took = true :: else fi };
        if :: took -> atomic { parked--; ringing[i] = true } :: else fi
    :: else
    fi
}
/* axo__sched_wake_one sched/wake.c */
inline wake_one()
{
    if
    :: parked == 0 -> grow()
    :: else ->
        took = false;
        wake(0);
        wake(1);
#if W > 2
        wake(2);
#endif
        if :: !took -> grow() :: else -> took = false fi
    fi
}
/* axo__sched_wake_all sched/wake.c */
inline wake_all()
{
#ifdef M_COUNT
    if :: parked == 0 -> skip :: else ->
#endif
    took = false; wake(0);
    took = false; wake(1);
#if W > 2
    took = false; wake(2);
#endif
    took = false
#ifdef M_COUNT
    fi
#endif
}

/* axo__worker_unpark_owner sched/park.c */
inline unpark()
{
    atomic { if :: state[me] == PARKED -> state[me] = AWAKE; took = true :: else fi };
    if :: took -> took = false; parked-- :: else fi
}
/* elastic_deadline sched/elastic.c */
inline deadline()
{
    stays = (live == 1);
    if :: stays -> stays = (actors > 0) :: else fi
}
/* axo__worker_park sched/park.c; park_look sched/park.c */
inline park()
{
#ifdef M_STAY_EARLY
    deadline();
#endif
    atomic { ringing[me] = false; state[me] = PARKED };
    parked++;
#ifdef M_NO_RECHECK
    more = false;
#else
    more = (inject > 0);
#endif
    if
    :: more -> more = false
    :: else ->
#ifdef M_BEGIN_LATE
        starting = false;
#endif
#ifndef M_STAY_EARLY
        deadline();
#endif
        timed[me] = !stays;
        atomic {
            (ringing[me] || expired[me]);
            bored = expired[me]; expired[me] = false; timed[me] = false; stays = false
        }
    fi;
    unpark()
}
/* elastic_ends sched/elastic.c */
inline shrink()
{
    lock();
#ifdef M_LAST_GOES
    if
    :: true ->
#else
    if
    :: live > 1 || actors == 0 ->
#endif
#ifdef M_LEAVE_LATE
        end = (inject == 0);
        if :: end -> live--; state[me] = ABSENT :: else fi
#else
        live--;
        end = (inject == 0);
        if :: end -> state[me] = ABSENT :: else -> live++ fi
#endif
    :: else
    fi;
    bored = false;
    unlock()
}
/* elastic_begin sched/elastic.c; axo__worker_step sched/worker.c; worker_idle sched/worker.c;
 * find_from_inject_slow sched/find.c; axo__inject_pop_any queue/inject.c; axo__worker_end
 * sched/worker.c */
proctype Thread(byte me)
{
    byte v;
    bool more, took, stays, bored, end, failed;
    atomic { inside[me]++; assert(inside[me] == 1) };
#ifndef M_BEGIN_LATE
    starting = false;
#endif
    do
    :: end -> break
    :: !end ->
        atomic { if :: inject > 0 -> inject--; took = true :: else fi };
        if
        :: took ->
            took = false; bored = false;
#ifndef M_NO_MORE
            if :: inject > 0 -> wake_one() :: else fi;
#endif
            atomic {
                work--;
                if
                :: stuck > 0 -> stuck--; goto end_blocked
                :: true
                fi
            }
        :: else ->
            if :: bored -> shrink() :: else fi;
            if :: !end -> park() :: else fi
        fi
    od;
    inside[me]--;
    atomic { ended[me] = true; goto out };
end_blocked:
    false;
out:
    skip
}

/* elastic_enter sched/elastic.c; elastic_leave sched/elastic.c;
 * axo__sched_push_ready_any sched/claim.c; axo__claim_inject sched/claim.c */
active proctype Outside()
{
    byte k, v;
    bool took, failed, last;
    lock();
    if :: live == 0 -> grow_locked(failed) :: else fi;
    assert(!failed);
    actors++;
    unlock();
    do
    :: k < PUSHES ->
        k++;
        atomic { work++; inject++ };
        wake_one()
    :: else -> break
    od;
end_work:
    (work == 0);
    lock();
    atomic { actors--; last = (actors == 0) };
    unlock();
#ifndef M_LEAVE_QUIET
    if :: last -> wake_all() :: else fi;
#endif
    done = true
}

proctype Clock()
{
    byte i;
    do
    :: atomic { early > 0 && timed[0] && !expired[0] -> early--; expired[0] = true }
    :: atomic { early > 0 && timed[1] && !expired[1] -> early--; expired[1] = true }
    :: timeout ->
        assert(work == 0 && inject == 0);
        assert(!starting && !mutex);
        if
        :: timed[0] -> expired[0] = true
        :: !timed[0] && timed[1] -> expired[1] = true
#if W > 2
        :: !timed[0] && !timed[1] && timed[2] -> expired[2] = true
#endif
        :: else -> break
        fi
    od;
    assert(done && live == STUCK - stuck)       /* all threads go that can */
}

init { run Clock() }
