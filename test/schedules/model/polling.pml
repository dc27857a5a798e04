/* polling.pml - which worker waits for descriptors, and how it is woken.
 *
 * Workers run what is pushed, look at the descriptors while it is time to (`due`), and park; one of
 * those that park waits in the set and not at its parker, whose wake-ups it does not hear there. The
 * kernel makes the descriptor ready, as an edge that stays until a wait or a look finds it; outside threads
 * push; the spare looks, a few times; an actor of another pool may begin the first watch. At rest no
 * edge is left to be found and no work to be run.
 *
 * With END the system ends at last: all that was pushed is done, nothing is watched any more, while a
 * poller sleeps, another worker has left the poll to it, or the spare looks. Every thread ends, the
 * poll is nobody's then, and what they waited at is freed behind the last of them.
 *
 * Time is left out: a worker that has nothing else looks once before it parks or does not, the
 * spare looks whenever it is due, and nothing sleeps until a deadline. Messages are left out (io.h).
 *
 * form small one    -DW=1 -DPUSHERS=1 -DEDGES=2 -DLOOKS=0
 * form small spare  -DW=1 -DPUSHERS=1 -DEDGES=1 -DLOOKS=2
 * form small first  -DW=1 -DPUSHERS=0 -DEDGES=1 -DLOOKS=1 -DFIRST
 * form small two    -DW=2 -DPUSHERS=1 -DEDGES=1 -DLOOKS=0
 * form small end    -DW=1 -DPUSHERS=1 -DEDGES=1 -DLOOKS=1 -DEND
 * form small ends   -DW=2 -DPUSHERS=0 -DEDGES=1 -DLOOKS=0 -DEND
 * form large ends   -DW=2 -DPUSHERS=1 -DEDGES=1 -DLOOKS=1 -DEND
 * form large two    -DW=2 -DPUSHERS=2 -DEDGES=2 -DLOOKS=1
 * mutant one M_NO_TICKET      who waits in the set does not look at its ticket
 * mutant one M_TICKET_FIRST   it looks, and then says that it polls
 * mutant one M_PARKER_ONLY    who wakes a worker does not look whether it polls
 * mutant one M_ROLE_KEPT      a poller that gets up does not give the poll back
 * mutant spare M_MISSED       the spare does not wake the worker that it has kept from polling
 * mutant first M_FIRST_QUIET  the first watch wakes nobody
 * mutant end M_QUIT_PARKER    who ends the pool does not look whether a worker polls
 * mutant end M_QUIT_LOOK      a sleeper does not look whether the pool ends
 * mutant end M_QUIT_SPARE     who ends the pool leaves the spare asleep
 * mutant end M_SPARE_LOOK     the spare rests without a look whether the pool ends
 * mutant end M_QUIT_ROLE      a poller that ends keeps the poll
 * mutant ends M_QUIT_ONE      who ends the pool wakes one worker, as for work
 * mutant end M_FREED_EARLY    the set is freed before the threads have ended
 */
/* stamps: run.py --stamp writes them
 * stamp os/linux_poll.c:axo__os_poll_wake ffa07c88f1ba
 * stamp os/poll.h:axo__os_thread_wait e3d9599543c8
 * stamp os/poll.h:axo__os_thread_wake 31bd843f72e9
 * stamp sched/find.c:axo__worker_clock 0ff860ccaabc
 * stamp sched/io.c:axo__io_free 892706076617
 * stamp sched/io.c:axo__io_watch a41e748c100d
 * stamp sched/park.c:axo__worker_park 572faf79806a
 * stamp sched/park.c:park_look c4c99e614a4d
 * stamp sched/poller.c:axo__poller_look d729c2f00a52
 * stamp sched/poller.c:axo__poller_park cc6e1cfb994d
 * stamp sched/poller.c:axo__poller_tell c7a1082eae04
 * stamp sched/poller.c:axo__poller_wake adae9845d751
 * stamp sched/poller.c:poller_leave 5849d90ee59e
 * stamp sched/poller.c:poller_take b0dd73b1afc1
 * stamp sched/sched.c:axo__sched_join ac4c08a18032
 * stamp sched/sched.c:axo__sched_quit f5213e8ded10
 * stamp sched/spare.c:axo__spare_step fb334f3a0895
 * stamp sched/spare.c:spare_rest 2b68421e4394
 * stamp sched/wake.c:axo__sched_wake_one 220eeb36979f
 * stamp sched/wake.c:wake_up 14ec437b004e
 * stamp sched/worker.c:axo__worker_step dc685b15f13f
 * stamp sched/worker.c:axo__worker_wake 9bddfe45110c
 */
#ifndef W
#define W 1
#endif
#ifndef PUSHERS
#define PUSHERS 1
#endif
#ifndef EDGES
#define EDGES 1
#endif
#ifndef LOOKS
#define LOOKS 1
#endif
#ifdef FIRST
#define WATCHED false
#else
#define WATCHED true
#endif
/* AXO__POLLER_ */
#define NONE 0
#define WORKER 1
#define SPARE 2
#define MISSED 3

byte parked, work, poller, looks = LOOKS, edges = EDGES;
bool is_parked[W], ringing[W], polling[W];
bool watched = WATCHED, due = WATCHED, rung, edge;
/* ---- the end ---- */
bool quit, spare_rung, spare_gone, freed;
byte pushed, exited;

/* wake_up sched/wake.c; axo__os_thread_wake os/poll.h; axo__os_poll_wake os/linux_poll.c */
inline wake(i)
{
    if
    :: !took ->
        atomic { if :: is_parked[i] -> is_parked[i] = false; took = true :: else fi };
        if
        :: took ->
            atomic { parked--; ringing[i] = true };
#ifndef M_PARKER_ONLY
            if :: polling[i] -> rung = true :: else fi
#endif
        :: else
        fi
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
        took = false
    fi
}
/* poller_leave sched/poller.c: whoever has the poll gives it back */
inline leave()
{
    assert(!freed);
    due = false;
    if :: watched -> due = true :: else fi;
#ifdef M_ROLE_KEPT
    skip
#else
    atomic { who = poller; poller = NONE };
#ifndef M_MISSED
    if :: who == MISSED -> wake_one() :: else fi;
#endif
    who = NONE
#endif
}
proctype Pusher()
{
    bool took;
    atomic { work++ };
    wake_one();
    pushed++
}
proctype Kernel()
{
end_k:
    do :: edges > 0 -> atomic { edges--; edge = true } od
}
/* axo__io_watch sched/io.c; axo__poller_tell sched/poller.c: by a worker of another pool */
proctype First()
{
    bool took;
    watched = true;
    due = true;
#ifndef M_FIRST_QUIET
    wake_one()
#endif
}
/* axo__spare_step sched/spare.c; spare_rest sched/spare.c; axo__poller_look sched/poller.c */
proctype Spare()
{
    bool took;
    byte who;
    do
    :: quit -> break
    :: looks > 0 && due ->
        looks--;
        atomic { if :: poller == NONE -> poller = SPARE; who = SPARE :: else fi };
        if
        :: who == SPARE -> atomic { edge = false; rung = false }; leave()
        :: else
        fi;
        who = NONE
    :: else ->
        spare_rung = false;
#ifndef M_SPARE_LOOK
        if :: quit -> break :: else fi;
#endif
end_s:  (spare_rung || (looks > 0 && due))
    od;
    spare_gone = true
}
/* axo__sched_quit sched/sched.c; axo__sched_join sched/sched.c; axo__io_free sched/io.c: by a thread
 * that knows that no actor lives, so nobody is in a door any more */
proctype Ender()
{
    byte i;
    (pushed == PUSHERS && work == 0);
    watched = false;
    quit = true;
    do
    :: i < W ->
        ringing[i] = true;
#ifndef M_QUIT_PARKER
        if :: polling[i] -> rung = true :: else fi;
#endif
#ifdef M_QUIT_ONE
        i = W - 1;
#endif
        i++
    :: else -> break
    od;
#ifndef M_QUIT_SPARE
    spare_rung = true;
#endif
#ifndef M_FREED_EARLY
    (exited == W && spare_gone);
#endif
    freed = true
}
/* axo__worker_step sched/worker.c; axo__worker_park sched/park.c; park_look sched/park.c;
 * poller_take sched/poller.c; axo__poller_park sched/poller.c; axo__os_thread_wait os/poll.h;
 * axo__worker_wake sched/worker.c; axo__poller_wake sched/poller.c */
proctype Worker(byte me)
{
    bool took, more, polls;
    byte who;
    do
    :: atomic { work > 0 -> work-- }
    :: due && poller == NONE ->        /* axo__worker_clock sched/find.c */
        atomic { if :: poller == NONE -> poller = WORKER; who = WORKER :: else fi };
        if :: who == WORKER -> atomic { edge = false; rung = false }; leave() :: else fi;
        who = NONE
    :: work == 0 && quit -> break
    :: work == 0 ->
        ringing[me] = false;
        is_parked[me] = true;
        atomic { parked++ };
#ifdef M_QUIT_LOOK
        more = (work > 0);
#else
        more = (work > 0 || quit);
#endif
        if
        :: more
        :: else ->
            if
            :: watched ->
                atomic {
                    if
                    :: poller == NONE -> poller = WORKER; polls = true
                    :: poller == SPARE -> poller = MISSED
                    :: else
                    fi
                };
                if :: polls -> due = false :: else fi
            :: else
            fi;
            if
            :: polls ->
#ifdef M_TICKET_FIRST
                more = ringing[me];
                polling[me] = true;
#else
                polling[me] = true;
                more = ringing[me];
#endif
#ifdef M_NO_TICKET
                more = false;
#endif
                if
                :: more
                :: else ->
end_p:              (rung || edge)
                fi;
                atomic { rung = false; edge = false; assert(!freed) };
                polling[me] = false
            :: else ->
end_w:          ringing[me]
            fi
        fi;
        atomic { if :: is_parked[me] -> is_parked[me] = false; took = true :: else fi };
        if :: took -> atomic { parked-- } :: else fi;
        took = false; more = false;
#ifdef M_QUIT_ROLE
        if :: quit -> polls = false :: else fi;
#endif
        if :: polls -> polls = false; leave() :: else fi
    od;
    exited++
}

init {
    byte k;
    atomic {
        run Worker(0);
#if W > 1
        run Worker(1);
#endif
        run Spare();
        run Kernel();
#ifdef FIRST
        run First();
#endif
#ifdef END
        run Ender();
#endif
        do
        :: k < PUSHERS -> k++; run Pusher()
        :: else -> break
        od
    };
    timeout ->
#ifdef END
    assert(exited == W && spare_gone && freed && poller == NONE && parked == 0)
#else
    assert(work == 0 && !edge && parked == W)
#endif
}
