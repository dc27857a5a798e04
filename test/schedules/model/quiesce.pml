/* quiesce.pml - who asks whether all is at rest, while a message goes from pool to pool and a
 * sender from outside has an entry in hand.
 *
 * Each of P pools has one worker and one queue; a message that is handled goes on to another pool,
 * HOPS times. The sender sends one more, to the first pool. All that is queued, run or in hand is
 * counted in `work`, which the asker's answer is judged by: it was 0 at some step of the call.
 * Left out: timers, ends, the queues of a worker, thieves; the orders of memory
 * (weak/scene_quiesce.c).
 *
 * form small two   -DP=2 -DHOPS=2
 * form large three -DP=3 -DHOPS=3
 * mutant two M_NO_DOORS   who asks does not look whether a sender is in a door
 * mutant two M_NO_QUEUES  nor into the queues
 * mutant two M_NO_IDLE    nor whether workers are idle
 * mutant two M_NO_SUM     nor at the sum again
 * mutant two M_DOORS_LATE it looks at the doors behind the queues
 * mutant two M_IDLE_FIRST it looks who is idle before the queues
 * mutant two M_SAYS_LATE  a worker says its number when it has said that it is idle
 */
/* stamps: run.py --stamp writes them
 * stamp sched/park.c:axo__worker_park 572faf79806a
 * stamp sched/park.c:park_look c4c99e614a4d
 * stamp sched/pool.h:axo__worker_idles c40a0891e23b
 * stamp sched/quiesce.c:axo__quiesce_look 5c1dbe7368e3
 * stamp sched/quiesce.c:quiesce_doors_are_free 3139ac10fea2
 * stamp sched/quiesce.c:quiesce_is_empty a56b53d84736
 * stamp sched/quiesce.c:quiesce_is_idle e404bc102140
 * stamp sched/quiesce.c:quiesce_sum 6046f5955bb0
 * stamp sched/wake.c:axo__sched_wake_one 220eeb36979f
 */
#ifndef P
#define P 2
#endif
#ifndef HOPS
#define HOPS 2
#endif

byte queue[P], idled[P], left[P];  /* left: hops that the message in the queue has yet to go */
bool awake[P];
byte work;
bool in_door, asking, rested;         /* rested: no work at some step since the question */

#define CHANGED if :: asking && work == 0 -> rested = true :: else fi

inline wake(to)
{
    awake[to] = true                              /* axo__sched_wake_one sched/wake.c */
}

/* Runs what is queued, hands it on, and goes to sleep; then whoever pushes wakes it. */
proctype worker(byte me)
{
    byte hops;
end:
    do
    :: awake[me] ->
       do
       :: atomic { queue[me] > 0 -> queue[me]--; hops = left[me] }
          if
          :: hops > 0 ->
             atomic { work++; left[(me + 1) % P] = hops - 1; queue[(me + 1) % P]++ };
             wake((me + 1) % P)
          :: else
          fi;
          atomic { work--; CHANGED }
       :: else -> break
       od;
#ifdef M_SAYS_LATE
       awake[me] = false;
       idled[me]++
#else
       idled[me]++;                               /* axo__worker_idles sched/pool.h */
       awake[me] = false                          /* axo__worker_park sched/park.c */
#endif
       if
       :: queue[me] > 0 -> awake[me] = true       /* park_look sched/park.c */
       :: else
       fi
    od
}

/* The first announces and has the entry in hand; a second one finds the word set, and returns. */
proctype sender()
{
    atomic { !in_door -> in_door = true };
    work++;                                       /* the second one's, which has returned */
    atomic { queue[0]++; left[0] = 0 };
    wake(0);
    in_door = false
}

proctype asker()
{
    byte sum, again, i;
    bool quiet = true;
    atomic { asking = true; rested = work == 0 };
    for (i : 0 .. P - 1) { sum = sum + idled[i] } /* quiesce_sum sched/quiesce.c */
#ifdef M_IDLE_FIRST
    for (i : 0 .. P - 1) { quiet = quiet && !awake[i] }
#endif
#if !defined(M_NO_DOORS) && !defined(M_DOORS_LATE)
    quiet = quiet && !in_door;                       /* quiesce_doors_are_free sched/quiesce.c */
#endif
#ifndef M_NO_QUEUES
    for (i : 0 .. P - 1) { quiet = quiet && queue[i] == 0 } /* quiesce_is_empty sched/quiesce.c */
#endif
#ifdef M_DOORS_LATE
    quiet = quiet && !in_door;
#endif
#if !defined(M_NO_IDLE) && !defined(M_IDLE_FIRST)
    for (i : 0 .. P - 1) { quiet = quiet && !awake[i] } /* quiesce_is_idle sched/quiesce.c */
#endif
#ifndef M_NO_SUM
    for (i : 0 .. P - 1) { again = again + idled[i] } /* axo__quiesce_look sched/quiesce.c */
    quiet = quiet && again == sum;
#endif
    assert(!quiet || rested)
}

init
{
    byte k;
    atomic {
        work = 1;
        queue[P - 1] = 1;
        left[P - 1] = HOPS;
        awake[P - 1] = true;
        for (k : 0 .. P - 1) { run worker(k) }
        run sender();
        run asker()
    }
}
