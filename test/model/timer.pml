/* timer.pml - one record of a wheel: set, cancelled from elsewhere, fired by two workers, dropped by
 * the end of the system.
 *
 * What happens under the wheel's mutex is one step. Time is left out: what waits is due. The record
 * is taken again by the next alarm, so an old handle may name it. PERIODIC: it fires again and
 * again, at most FIRES times.
 *
 * form small once     -DALARMS=2
 * form small periodic -DALARMS=2 -DPERIODIC
 * form large once     -DALARMS=3 -DCANCELLERS=2
 * form large periodic -DALARMS=3 -DPERIODIC -DFIRES=3 -DCANCELLERS=2
 * mutant once M_CANCEL_FIRES      a cancel is true while its alarm fires
 * mutant once M_NUMBER            a cancel does not look at the number of the record
 * mutant once M_APART             who fires looks, and takes out in a second step
 * mutant periodic M_REARM         an alarm that was cancelled while it fired waits again
 * mutant periodic M_RELEASE       a cancel gives a record back that is being fired
 * mutant once M_END_FIRES         the end does not wait for who fires
 * mutant once M_END_NOT_TOLD      who has fired does not look whether the end waits for it
 * mutant once M_TWO_FIRE          a wheel is fired by two at once
 * mutant once M_CLOSED            an alarm is set after the end
 */
/* stamps: run.py --stamp writes them
 * stamp sched/alarm.c:alarm_end f8eab6145644
 * stamp sched/alarm.c:alarm_find 3ec74d1232e3
 * stamp sched/alarm.c:alarm_finish 2647f34a70d5
 * stamp sched/alarm.c:alarm_fire 57135c4b6650
 * stamp sched/alarm.c:alarm_release f212b0b45f4c
 * stamp sched/alarm.c:alarm_take 3d967c410511
 * stamp sched/alarm.c:alarm_waits dd2c0599ac1f
 * stamp sched/alarm.c:axo__alarm_cancel e94c92ca32ac
 * stamp sched/alarm.c:axo__alarm_set 81e8e97f9d9f
 * stamp sched/alarm.c:axo__alarms_end 42ce1e58e785
 * stamp sched/timer.c:axo__timers_fire 73aefda40a6e
 * stamp sched/timer.c:axo__timers_take c2cb7d1c2216
 * stamp sched/timer.c:timer_collect fbb34cf31fa9
 * stamp system/shutdown.c:shutdown_check_end 21fe799a5576
 */
#ifndef ALARMS
#define ALARMS 2
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
byte handle[ALARMS + 1], fates[ALARMS + 1], sent[ALARMS + 1];
bool over[ALARMS + 1];          /* somebody was told that it does not fire, or not again */
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

/* axo__alarm_set sched/alarm.c; alarm_take sched/alarm.c */
active proctype Setter()
{
    byte k = 1;
    do
    :: k <= ALARMS ->
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

/* axo__alarm_cancel sched/alarm.c; alarm_find sched/alarm.c; alarm_waits sched/alarm.c;
 * alarm_release sched/alarm.c; axo__timers_take sched/timer.c */
active [CANCELLERS] proctype Canceller()
{
    byte k = 1;
    do
    :: k <= ALARMS && handle[k] != 0 ->
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
    :: k <= ALARMS -> k++
    :: else -> break
    od
}

/* axo__alarms_end sched/alarm.c; alarm_end sched/alarm.c; shutdown_check_end system/shutdown.c:
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

/* axo__timers_fire sched/timer.c; timer_collect sched/timer.c; alarm_fire sched/alarm.c;
 * alarm_finish sched/alarm.c */
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
        :: k <= ALARMS ->
            assert(handle[k] == 0 || fates[k] == 1);      /* once sent, cancelled or dropped */
            assert(AGAIN || sent[k] <= 1);
            k++
        :: else -> break
        od
    }
}
