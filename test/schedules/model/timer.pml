/* timer.pml - one record of a wheel: set, cancelled from elsewhere, fired by two workers, dropped by
 * the end of the system.
 *
 * What happens under the wheel's mutex is one step. Time is left out: what waits is due. The record
 * is taken again by the next one, so an old handle may name it. PERIODIC: it fires again and
 * again, at most FIRES times.
 *
 * form small once     -DALARMS=2
 * form small periodic -DALARMS=2 -DPERIODIC
 * form large once     -DALARMS=3 -DCANCELLERS=2
 * form large periodic -DALARMS=3 -DPERIODIC -DFIRES=3 -DCANCELLERS=2
 * mutant once M_CANCEL_FIRES      a cancel is true while it fires
 * mutant once M_NUMBER            a cancel does not look at the number of the record
 * mutant once M_APART             who fires looks, and takes out in a second step
 * mutant periodic M_REARM         a message that was cancelled while it fired waits again
 * mutant periodic M_RELEASE       a cancel gives a record back that is being fired
 * mutant once M_END_FIRES         the end does not wait for who fires
 * mutant once M_END_NOT_TOLD      who has fired does not look whether the end waits for it
 * mutant once M_TWO_FIRE          a wheel is fired by two at once
 * mutant once M_CLOSED            one is scheduled after the end
 */
/* stamps: run.py --stamp writes them
 * stamp sched/scheduled.c:axo__scheduled_cancel 70ee19b0f1fc
 * stamp sched/scheduled.c:axo__scheduled_end 24778fc58632
 * stamp sched/scheduled.c:axo__scheduled_set ac5d5437402a
 * stamp sched/scheduled.c:scheduled_end 545846dbf772
 * stamp sched/scheduled.c:scheduled_find 7b0c633e3403
 * stamp sched/scheduled.c:scheduled_finish 875f44a01693
 * stamp sched/scheduled.c:scheduled_fire ca1be286b8b9
 * stamp sched/scheduled.c:scheduled_release dc203e246987
 * stamp sched/scheduled.c:scheduled_take 4070096b24f3
 * stamp sched/scheduled.c:scheduled_waits ebb5dec0f652
 * stamp sched/timer.c:axo__timers_fire 73aefda40a6e
 * stamp sched/timer.c:axo__timers_take 632979574c8c
 * stamp sched/timer.c:timer_collect 80a3584b59bd
 * stamp system/shutdown.c:shutdown_check_end f29cfe9b5aed
 */
#ifndef SCHEDULED
#define SCHEDULED 2
#endif
#ifndef FIRES
#define FIRES 2
#endif
#ifndef CANCELLERS
#define CANCELLERS 1
#endif
#define NONE 255

/* ---- under the mutex ---- */
byte number, used;              /* of the record, 0: free; how many were given */
bool waits, firing, closed, cancelled;
byte message = NONE;            /* what the record holds; NONE: nothing */
/* ---- ghosts ---- */
byte handle[SCHEDULED + 1], fates[SCHEDULED + 1], sent[SCHEDULED + 1];
bool over[SCHEDULED + 1];          /* somebody was told that it does not fire, or not again */
bool gone, ended, setting = true, last;

#ifdef PERIODIC
#define AGAIN true
#else
#define AGAIN false
#endif

inline release()
{
    number = 0; message = NONE; waits = false
}

/* axo__scheduled_set sched/scheduled.c; scheduled_take sched/scheduled.c */
active proctype Setter()
{
    byte k = 1;
    do
    :: k <= SCHEDULED ->
        atomic {                            /* the record is free, or there is another one */
            if
#ifdef M_CLOSED
            :: number == 0 ->
#else
            :: number == 0 && !closed ->
#endif
                used++; number = used; handle[k] = used; message = k; waits = true;
                cancelled = false
            :: closed -> fates[k]++
            :: number != 0 && !closed -> fates[k]++
            fi
        };
        k++
    :: else -> break
    od;
    setting = false
}

/* axo__scheduled_cancel sched/scheduled.c; scheduled_find sched/scheduled.c; scheduled_waits sched/scheduled.c;
 * scheduled_release sched/scheduled.c; axo__timers_take sched/timer.c */
active [CANCELLERS] proctype Canceller()
{
    byte k = 1;
    do
    :: k <= SCHEDULED && handle[k] != 0 ->
        atomic {
            if
#ifdef M_NUMBER
            :: number != 0 && waits ->
#else
            :: number == handle[k] && waits ->
#endif
                over[k] = true; assert(message == k); fates[k]++; release()
            :: number == handle[k] && !waits && AGAIN && !cancelled ->
                over[k] = true; last = true;
#ifdef M_RELEASE
                fates[k]++; release()
#else
                cancelled = true
#endif
#ifdef M_CANCEL_FIRES
            :: number == handle[k] && !waits && !AGAIN && message == k -> over[k] = true
#endif
            :: else
            fi
        };
        k++
    :: k <= SCHEDULED -> k++
    :: else -> break
    od
}

/* axo__scheduled_end sched/scheduled.c; scheduled_end sched/scheduled.c; shutdown_check_end system/shutdown.c:
 * every actor has gone, so nothing is set any more but by who is late */
inline check_end()
{
    if
    :: gone && !ended ->
        atomic {
            if
#ifdef M_END_FIRES
            :: true ->
#else
            :: !firing ->
#endif
                closed = true;
                if :: waits -> fates[message]++; release() :: else fi;
                ended = true
            :: else
            fi
        }
    :: else
    fi
}

/* axo__timers_fire sched/timer.c; timer_collect sched/timer.c; scheduled_fire sched/scheduled.c;
 * scheduled_finish sched/scheduled.c */
proctype Worker(byte fires)
{
    byte one = NONE, with;
    bool mine;
    do
    :: fires > 0 ->
        fires--;
        atomic {
            if
#ifdef M_TWO_FIRE
            :: !closed ->
#else
            :: !firing && !closed ->
#endif
                firing = true; mine = true;
#ifdef M_APART
                if :: waits -> one = number; with = message :: else fi
#else
                if :: waits -> one = number; with = message; waits = false :: else fi
#endif
            :: else -> mine = false
            fi
        };
        if
        :: mine ->
#ifdef M_APART
            if :: one != NONE -> waits = false :: else fi;
#endif
            if
            :: one != NONE ->
                atomic {
                    assert(message == with);          /* nobody else has it */
                    assert(!ended);
                    assert(!over[with] || (AGAIN && last));
                    sent[with]++;
                    if :: !AGAIN -> message = NONE; fates[with]++ :: else fi
                };
                atomic {
                    assert(number == one);
                    if
#ifdef M_REARM
                    :: AGAIN && !closed ->
#else
                    :: AGAIN && !cancelled && !closed ->
#endif
                        waits = true; last = false
                    :: else ->
                        if :: AGAIN -> fates[with]++ :: else fi;
                        release()
                    fi;
                    firing = false; one = NONE; with = 0
                }
            :: else -> firing = false
            fi;
#ifndef M_END_NOT_TOLD
            check_end()
#endif
        :: else
        fi
    :: else -> break
    od
}

/* A worker that has nothing to do, once: it parks then, and nobody wakes it. */
proctype Idle()
{
    gone = true;
    check_end()
}

init {
    byte k;
    atomic { run Worker(FIRES); run Worker(FIRES); run Idle() };
    timeout ->
    assert(ended && closed && !firing);
    atomic {
        assert(number == 0 && !waits && message == NONE);
        k = 1;
        do
        :: k <= SCHEDULED ->
            assert(handle[k] == 0 || fates[k] == 1);      /* once sent, cancelled or dropped */
            assert(AGAIN || sent[k] <= 1);
            k++
        :: else -> break
        od
    }
}
