/* lent.pml - lent threads: slots that are asked for, entered, left, and taken over.
 *
 * Outside threads push; a turn may push to its own queue, or never return. The program's threads come when
 * they are asked for, one for each ask, to any slot, or all to the same one; who is refused tries the next
 * slot if somebody is stuck. A visit may be cut short. At rest no ask is unanswered, all work is run,
 * in every slot that nobody is stuck in, and the count of those that may be asked for is right.
 *
 * Left out: the watch, by which the program comes for what a stuck visitor keeps to itself (parking.pml
 * has it), timers, searchers (a pusher that sees one wakes nobody), grace periods, the end.
 *
 * form small two    -DW=2 -DT=2 -DOUTSIDE=2 -DPUSHES=1 -DCUTS=1
 * form small one    -DW=1 -DT=2 -DOUTSIDE=2 -DPUSHES=1 -DCUTS=1
 * form small same   -DW=2 -DT=2 -DOUTSIDE=2 -DPUSHES=1 -DCUTS=1 -DSAME
 * form small stuck  -DW=2 -DT=2 -DOUTSIDE=3 -DPUSHES=0 -DCUTS=0 -DSTUCK=1
 * form large two    -DW=2 -DT=3 -DOUTSIDE=3 -DPUSHES=1 -DCUTS=1
 * form large stuck  -DW=3 -DT=3 -DOUTSIDE=2 -DPUSHES=0 -DCUTS=1 -DSTUCK=1
 * mutant one M_NO_KNOCK       who is refused goes without a trace
 * mutant one M_DEAF           who leaves does not hear that somebody was refused
 * mutant two M_STAY_ABSENT    a visitor whose last look finds work is not AWAKE if it was asked for
 * mutant two M_SILENT_CUT     a visit that is cut short asks for no other
 * mutant two M_NO_RECHECK     a visitor does not look again after it has said that it parks
 * mutant two M_NO_TAKE_OVER   what a slot that is away has is left to its next visitor
 * mutant stuck M_NO_ANSWER    a visitor of another slot leaves the one that was asked for as it is
 * mutant one M_CUT_FORGETS    a visit that is cut short does not ask for one who was refused
 */
/* stamps: run.py --stamp writes them
 * stamp cell/core.c:axo__core_ask 201af601e07c
 * stamp sched/claim.c:axo__sched_push_ready_any cf67dc4b9ffe
 * stamp sched/find.c:find_from_inject_slow 671aebb59078
 * stamp sched/lent.c:axo__lent_open e4444fed5714
 * stamp sched/lent.c:axo__lent_run d354f01db864
 * stamp sched/lent.c:lent_answer 31c71b04a37e
 * stamp sched/lent.c:lent_break_off a790d6d36034
 * stamp sched/lent.c:lent_chores 8d41e0a180d4
 * stamp sched/lent.c:lent_enter 0b60f3cdcf95
 * stamp sched/lent.c:lent_get_up 1f8818aea9ad
 * stamp sched/lent.c:lent_let a77ea6b7a819
 * stamp sched/lent.c:lent_make 949c690eebfa
 * stamp sched/lent.c:lent_run a3f1e6c2f482
 * stamp sched/lent.c:lent_take_over 01b17f06b3b4
 * stamp sched/lent.c:lent_turns b20274c8774f
 * stamp sched/lent.c:lent_visit 1d48288b9cb4
 * stamp sched/lent.c:lent_wake e9c4a3420add
 * stamp sched/park.c:axo__worker_park 572faf79806a
 * stamp sched/park.c:axo__worker_unpark_owner f4dbac8397a8
 * stamp sched/park.c:park_get_up f1356562b78c
 * stamp sched/park.c:park_look c4c99e614a4d
 * stamp sched/wake.c:axo__sched_wake_one 220eeb36979f
 * stamp sched/wake.c:wake_up 14ec437b004e
 */
#ifndef STUCK
#define STUCK 0
#endif
#define AWAKE 0
#define PARKED 1
#define ABSENT 2
#define FREE 0
#define TAKEN 1
#define KNOCKED 2

byte state[W], visited[W], own[W];
byte parked, work, asked, pushes = PUSHES, cuts = CUTS, stucks = STUCK;
bool is_stuck[W];
byte inside;                /* ghosts: threads in a slot; pushers that are not done */
byte pushing = OUTSIDE;

/* axo__core_ask cell/core.c: the program's queue of jobs */
inline ask()
{
    atomic { asked++ }
}
/* wake_up sched/wake.c; lent_wake sched/lent.c */
inline wake(i)
{
    if
    :: !took ->
        atomic { if :: state[i] == PARKED -> state[i] = ABSENT; took = true :: else fi };
        if :: took -> atomic { parked-- }; ask() :: else fi
    :: else
    fi
}
/* axo__sched_wake_one sched/wake.c */
inline wake_one()
{
    if
    :: parked == 0
    :: else ->
        wake(0);
#if W > 1
        wake(1);
#endif
#if W > 2
        wake(2);
#endif
        took = false
    fi
}

/* lent_enter sched/lent.c */
inline enter()
{
    atomic {
        if
        :: visited[me] == FREE -> visited[me] = TAKEN; in = true
#ifndef M_NO_KNOCK
        :: visited[me] == TAKEN -> visited[me] = KNOCKED
#endif
        :: else
        fi
    }
}
/* lent_answer sched/lent.c */
inline answer(i)
{
    if
    :: !took && i != me ->
        atomic { if :: state[i] == ABSENT -> state[i] = PARKED; took = true :: else fi };
        if :: took -> atomic { parked++ } :: else fi
    :: else
    fi
}
/* lent_get_up sched/lent.c */
inline get_up()
{
    atomic { was = state[me]; state[me] = AWAKE };
    if
    :: was == PARKED ->
        atomic { parked-- };
#ifndef M_NO_ANSWER
        answer(0);
#if W > 1
        answer(1);
#endif
#if W > 2
        answer(2);
#endif
#endif
        took = false
    :: else
    fi
}
/* axo__worker_unpark_owner sched/park.c; park_get_up sched/park.c */
inline unpark()
{
    atomic {
        was = state[me];
#ifdef M_STAY_ABSENT
        if :: was == PARKED -> state[me] = AWAKE :: else fi
#else
        state[me] = AWAKE
#endif
    };
    if :: was == PARKED -> atomic { parked-- } :: else fi
}

/* lent_chores sched/lent.c; lent_take_over sched/lent.c */
inline take_over(o)
{
#ifndef M_NO_TAKE_OVER
    atomic { if :: o != me && state[o] != AWAKE -> own[me] = own[me] + own[o]; own[o] = 0 :: else fi }
#else
    skip
#endif
}
/* park_look sched/park.c */
inline look_at(o)
{
    atomic {
        if
#ifdef M_NO_TAKE_OVER
        :: own[o] > 0 && o == me -> more = true
#else
        :: own[o] > 0 && (o == me || state[o] != AWAKE) -> more = true
#endif
        :: else
        fi
    }
}
inline look()
{
    more = (work > 0);
    look_at(0);
#if W > 1
    look_at(1);
#endif
#if W > 2
    look_at(2);
#endif
}
/* axo__worker_park sched/park.c */
inline park()
{
    state[me] = PARKED;
    atomic { parked++ };
#ifndef M_NO_RECHECK
    look();
#endif
    if
    :: more -> more = false; unpark()
    :: else -> dry = true
    fi
}
/* lent_break_off sched/lent.c */
inline break_off()
{
    state[me] = PARKED;
    atomic { parked++ };
#ifndef M_SILENT_CUT
    wake_one()
#endif
}

/* A turn. */
inline turn()
{
    if
    :: atomic { pushes > 0 -> pushes--; own[me]++ };
       wake_one()
    :: atomic { stucks > 0 -> stucks--; is_stuck[me] = true };
       goto end_stuck
    :: skip
    fi
}

/* lent_turns sched/lent.c; find_from_inject_slow sched/find.c, which wakes one more: until nothing is found, or the visit is cut short */
inline turns()
{
    dry = false; cut = false;
    do
    :: dry || cut -> break
    :: else ->
        assert(state[me] == AWAKE);
        atomic {
            if
            :: work > 0 -> work--; found = true; more = (work > 0)
            :: own[me] > 0 -> own[me]--; found = true
            :: else
            fi
        };
        if
        :: found ->
            found = false;
            if :: more -> more = false; wake_one() :: else fi;
            turn();
            if :: atomic { cuts > 0 -> cuts--; cut = true } :: skip fi
        :: else ->
            take_over(0);
#if W > 1
            take_over(1);
#endif
#if W > 2
            take_over(2);
#endif
            if :: own[me] == 0 -> park() :: else fi
        fi
    od
}
/* lent_let sched/lent.c */
inline let()
{
    atomic {
#ifdef M_DEAF
        visited[me] = FREE; in = false
#else
        if
        :: visited[me] == TAKEN -> visited[me] = FREE; in = false
        :: else -> visited[me] = TAKEN
        fi
#endif
    }
}
/* lent_visit sched/lent.c */
inline visit()
{
    do
    :: !in -> break
    :: else ->
        get_up();
        turns();
        if :: dry :: else -> break_off() fi;
        let();
        if
        :: dry || !in
        :: else ->
            do
            :: !in -> break
            :: else ->
#ifndef M_CUT_FORGETS
                ask();
#endif
                let()
            od
        fi
    od
}

/* axo__lent_run sched/lent.c; lent_run sched/lent.c, by a thread of the program's. */
proctype Thread()
{
    byte me, was, tries;
    bool in, took, more, dry, cut, found;
end_t:
    do
    :: atomic { asked > 0 -> asked--; inside++ };
#ifndef SAME
       if
       :: me = 0
#if W > 1
       :: me = 1
#endif
#if W > 2
       :: me = 2
#endif
       fi;
#endif
       tries = W;
       do
       :: in || tries == 0 -> break
       :: else ->
            enter();
#if STUCK
            if :: in :: else -> me = (me + 1) % W fi;
            tries--
#else
            tries = 0
#endif
       od;
       visit();
       atomic { inside--; me = 0 }
    od;
end_stuck:
    false
}

/* axo__sched_push_ready_any sched/claim.c */
proctype Outside()
{
    bool took;
    do
    :: pushing > 0 -> atomic { work++ }; wake_one(); pushing--
    :: else -> break
    od
}

proctype Rest()
{
    byte i, count;
    timeout;
    assert(asked == 0 && work == 0);
    do
    :: i < W ->
        assert(own[i] == 0 || is_stuck[i]);
        assert(visited[i] == FREE || is_stuck[i]);
        assert((state[i] == AWAKE) == is_stuck[i]);
        if :: state[i] == PARKED -> count++ :: else fi;
        i++
    :: else -> break
    od;
    assert(parked == count)
}

/* axo__lent_open sched/lent.c; lent_make sched/lent.c */
init {
    byte i;
    atomic {
        do :: i < W -> state[i] = PARKED; parked++; i++ :: else -> break od;
        i = 0;
        do :: i < T -> run Thread(); i++ :: else -> break od;
        run Outside();
        run Rest()
    }
}
