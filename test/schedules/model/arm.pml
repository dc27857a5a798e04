/* arm.pml - a timer that is set on another worker's wheel while that one goes to sleep.
 *
 * The owner of the wheel parks until the time that it reads in `next`; another worker parks beside
 * it; outside threads push work, which wakes one of them, and set a timer. Stores wait in a buffer
 * until their thread's next read-modify-write, or until the machine empties it. The timer must fire.
 *
 * form small one -DPUSHERS=1
 * form small two -DPUSHERS=2
 * form large three -DPUSHERS=3
 * mutant one M_NO_FENCE     who sets a timer looks at the owner's state without (6)
 * mutant one M_NEXT_EARLY   a sleeper reads `next`, and then says that it parks
 * mutant one M_TICKET_LATE  a sleeper takes its ticket after it has read `next`
 * mutant one M_QUIET        who sets a timer tells nobody
 * mutant one M_COUNT        who sets a timer trusts the count of those who sleep
 */
/* stamps: run.py --stamp writes them
 * stamp os/linux.c:axo__os_parker_wait f5284b81b4eb
 * stamp sched/claim.c:axo__sched_push_ready_any cf67dc4b9ffe
 * stamp sched/park.c:axo__worker_park 572faf79806a
 * stamp sched/park.c:axo__worker_unpark_owner f4dbac8397a8
 * stamp sched/park.c:park_look c4c99e614a4d
 * stamp sched/timer.c:axo__timer_arm 977baddeb069
 * stamp sched/timer.c:axo__timers_fire 73aefda40a6e
 * stamp sched/timer.c:axo__timers_put 4b61faf12c0f
 * stamp sched/timer.c:axo__timers_told a1b628962176
 * stamp sched/timer.c:timer_refresh 322766d1c6b8
 * stamp sched/timer.h:axo__timers_next 8cc6c61a6a27
 * stamp sched/wake.c:axo__sched_wake_one 220eeb36979f
 * stamp sched/wake.c:axo__sched_wake_worker ec5d21abdcc1
 * stamp sched/wake.c:wake_up 14ec437b004e
 */
#ifndef PUSHERS
#define PUSHERS 1
#endif
#define W 2

byte parked, work;
bool is_parked[W], ringing[W], armed, buffered, fired, sleeps[W], timed;

/* wake_up sched/wake.c */
inline wake(i)
{
    atomic { if :: is_parked[i] -> is_parked[i] = false; took = true :: else fi };
    if :: took -> atomic { parked--; ringing[i] = true } :: else fi
}
/* axo__sched_push_ready_any sched/claim.c; axo__sched_wake_one sched/wake.c */
proctype Pusher()
{
    bool took;
    atomic { work++ };
    if
    :: parked == 0
    :: else ->
        wake(0);
        if :: !took -> wake(1) :: else fi
    fi
}
/* axo__timer_arm sched/timer.c; axo__timers_put sched/timer.c; timer_refresh sched/timer.c;
 * axo__timers_told sched/timer.c; axo__sched_wake_worker sched/wake.c */
active proctype Armer()
{
    bool took, tell = true;
    buffered = true;
#ifndef M_NO_FENCE
    atomic { if :: buffered -> armed = true; buffered = false :: else fi };
#endif
#ifdef M_COUNT
    tell = (parked > 0);
#endif
#ifdef M_QUIET
    tell = false;
#endif
    if :: tell -> wake(0) :: else fi
}
active proctype Drain()
{
end_d:
    do :: atomic { buffered -> armed = true; buffered = false } od
}

/* axo__worker_park sched/park.c; park_look sched/park.c; axo__worker_unpark_owner sched/park.c;
 * axo__timers_next sched/timer.h; axo__timers_fire sched/timer.c; axo__os_parker_wait os/linux.c */
proctype Worker(byte me)
{
    bool more, took, soon;
    do
    :: atomic { work > 0 -> work-- }
    :: armed && me == 0 -> armed = false; fired = true
    :: else ->                         /* nothing is there: park */
#ifdef M_NEXT_EARLY
        soon = (me == 0 && armed);
#endif
#ifndef M_TICKET_LATE
        ringing[me] = false;
#endif
        is_parked[me] = true;
        atomic { parked++ };
        more = (work > 0);
        if
        :: more
        :: else ->
#ifndef M_NEXT_EARLY
            soon = (me == 0 && armed);
#endif
#ifdef M_TICKET_LATE
            ringing[me] = false;
#endif
end_w:      (ringing[me] || soon)
        fi;
        atomic { if :: is_parked[me] -> is_parked[me] = false; took = true :: else fi };
        if :: took -> atomic { parked-- } :: else fi;
        more = false; took = false; soon = false
    od
}

init {
    byte k;
    atomic {
        run Worker(0);
        run Worker(1);
        do
        :: k < PUSHERS -> k++; run Pusher()
        :: else -> break
        od
    };
    timeout ->
    assert(fired && work == 0 && parked == W)
}
