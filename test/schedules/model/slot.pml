/* slot.pml - a slot that is used again: who has found its cell in time, and what a grace period waits
 * for.
 *
 * The cell lives LIVES times. Workers are readers of urcu-qsbr, asleep they are none; an outside
 * thread works under a door's mutex. Whoever found the cell may still push to its lane or inject an
 * entry; the expiry buries what has come. An end in portions is one step; that it is closed only
 * when it is over makes no push more: it is held until then. Of the rounds for which it is retired
 * again, while an injector has its node, those that begin before the node is popped are left out. A
 * message is one bit for each sender and life.
 *
 * form small worker  -DWORKERS=2 -DLIVES=2
 * form small outside -DWORKERS=1 -DLIVES=2 -DOUTSIDE
 * form large both    -DWORKERS=2 -DLIVES=2 -DOUTSIDE
 * form large lives   -DWORKERS=2 -DLIVES=3
 * mutant worker M_NO_GRACE      a slot is given back without a grace period
 * mutant outside M_NO_DOORS     a grace period does not pass through the doors
 * mutant worker M_GENERATION    the generation of a reference is not looked at
 * mutant worker M_SAME          the next life has the generation of the last one
 * mutant worker M_END_LATE      it can be found until after it was retired
 * mutant worker M_NO_DRAIN      what has come to the lane since the end is not looked for
 * mutant outside M_NODE         a slot is given back while an injector has its node
 * mutant worker M_STALE         a stale entry that is moved to an injector uses the node of a closed cell
 * mutant worker M_ONLINE        a worker that gets up goes on with the cell that it had found
 */
/* stamps: run.py --stamp writes them
 * stamp cell/core.c:axo__local_give_cell fce56937893a
 * stamp cell/core.c:axo__local_retire 7e9b2ff6cb42
 * stamp cell/core.c:axo__local_take_cell de5b693c36fb
 * stamp cell/state.h:axo__state_claim 37995a4ece08
 * stamp cell/state.h:axo__state_close 2d00e8c97e88
 * stamp cell/state.h:axo__state_init ac6791271e7a
 * stamp cell/state.h:axo__state_inject f06891c3048a
 * stamp cell/state.h:axo__state_injected 680e6d4d8484
 * stamp cell/state.h:axo__state_push f1f55bdfd5c7
 * stamp cell/table.c:axo__table_begin 41f5d91da239
 * stamp cell/table.c:axo__table_end 234a71244066
 * stamp cell/table.h:axo__table_find 5142c26785b3
 * stamp mem/grace.c:axo__grace_retire afb0ddfebabc
 * stamp mem/grace.c:grace_step 676fb89e75cb
 * stamp mem/grace.c:grace_take abe1af09ef45
 * stamp mem/rcu.c:axo__grace_offline ee1b0131c7dd
 * stamp mem/rcu.c:axo__grace_online fe4e9694903e
 * stamp mem/rcu.c:axo__grace_quiet 390fc8ad6da0
 * stamp mem/rcu.c:axo__grace_wait 63cf4d900400
 * stamp sched/claim.c:axo__claim_inject b78efa20a49a
 * stamp sched/expire.c:expire_from 78566a3e1f23
 * stamp sched/find.c:find_from_inject_slow 671aebb59078
 * stamp sched/find.c:find_from_next 9038f1459e9b
 * stamp sched/ready.c:axo__worker_push_ready 7f2f38a02811
 * stamp sched/send.c:axo__door_enter cc1170cff457
 * stamp sched/send.c:axo__door_leave e485cd044816
 * stamp sched/send.c:axo__send_keep ffc7fe878807
 * stamp sched/steal.c:steal_keep 8ab4255b4a90
 * stamp sched/worker.c:axo__worker_step dc685b15f13f
 * stamp super/gone.c:axo__gone_drain_users bebdee6377c1
 * stamp super/gone.c:axo__gone_expire 4e05817f01f9
 * stamp super/leaf.c:leaf_close d374c24acb8a
 * stamp super/spawn.c:axo__spawn_make 9d71320e7f0d
 * stamp super/stop.c:axo__stop_finish de70b6a26d98
 * stamp system/boot.c:boot_expire 483b6af7e528
 * stamp system/boot.c:boot_pass_doors ffe7d70ed459
 */
#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef LIVES
#define LIVES 2
#endif
#define SENDERS (WORKERS + 1)           /* the last is the outside thread */

/* ---- the slot ---- */
byte generation = 1, latest = 1;        /* 0: nobody lives in it */
byte lane[SENDERS];                     /* the life that was meant; 0: nothing */
bool closed, injected, in_injector;
byte entries;
/* ---- grace ---- */
byte period = 1, seen[SENDERS];         /* 0: offline */
byte door;                              /* 0: nobody is in it */
bool retired, expired, again;            /* again: an injector had its node */
/* ---- ghosts ---- */
byte life = 1, sent, fates, done;

/* axo__state_claim cell/state.h: the runner; axo__gone_drain_users super/gone.c */
inline take(i, dead)
{
    if
    :: lane[i] != 0 ->
        assert(lane[i] == life);             /* nobody gets what was meant for another life */
        lane[i] = 0; fates++
    :: else
    fi
}
inline take_all(dead)
{
    take(0, dead);
    take(1, dead);
#if SENDERS > 2
    take(2, dead)
#endif
}

/* axo__claim_inject sched/claim.c; axo__state_inject cell/state.h */
inline inject()
{
#ifdef M_STALE
    atomic { push = !injected; injected = true };
#else
    atomic { push = !injected && !closed; injected = injected || push };
#endif
    if :: push -> atomic { assert(!in_injector); in_injector = true } :: else fi
}

/* axo__send_keep sched/send.c; axo__table_find cell/table.h; axo__state_push cell/state.h */
inline send(outside)
{
    to = life;                               /* a reference that was given at some time */
    if :: to > 1 -> to-- :: skip fi;
#ifdef M_GENERATION
    found = (generation != 0);
#else
    found = (generation != 0 && generation == to);
#endif
    if
    :: found ->
#ifdef M_ONLINE
        if
        :: !outside -> seen[me] = 0; seen[me] = period
        :: skip
        fi;
#endif
        atomic { push = (!closed); lane[me] = to; sent++ };
        if
        :: push && outside -> inject()
        :: push && !outside -> entries++
        :: else
        fi
    :: else
    fi;
    found = false; push = false; to = 0
}

/* axo__stop_finish super/stop.c; leaf_close super/leaf.c; axo__state_close cell/state.h;
 * axo__table_end cell/table.c; axo__local_retire cell/core.c; axo__grace_retire mem/grace.c */
inline end()
{
    closed = true;
#ifndef M_END_LATE
    generation = 0;
#endif
    atomic { take_all(true) };
    retired = true;                          /* by its parent, whose turn may be over first */
    atomic { take_all(true) };
#ifdef M_END_LATE
    generation = 0
#endif
}

/* axo__gone_expire super/gone.c; expire_from sched/expire.c; axo__local_give_cell cell/core.c;
 * axo__local_take_cell cell/core.c; axo__spawn_make super/spawn.c; axo__state_init cell/state.h;
 * axo__table_begin cell/table.c */
inline expire()
{
    atomic { if :: expired -> expired = false; mine = true :: else -> mine = false fi };
    if
    :: mine ->
#ifndef M_NO_DRAIN
        atomic { take_all(true) };
#endif
        if
#ifndef M_NODE
        :: injected -> again = true; retired = true
        :: !injected ->
#else
        :: true ->
#endif
            atomic {
                if
                :: life < LIVES ->
                    assert(!injected && !in_injector);
                    life++;
#ifndef M_SAME
                    latest++;
#endif
                    closed = false; generation = latest
                :: else -> done = 1
                fi
            }
        fi
    :: else
    fi;
    mine = false
}

/* axo__worker_step sched/worker.c; axo__grace_quiet mem/rcu.c; axo__grace_offline mem/rcu.c;
 * axo__grace_online mem/rcu.c; find_from_inject_slow sched/find.c; axo__state_injected
 * cell/state.h; who moves an entry without a look at the cell: axo__worker_push_ready sched/ready.c,
 * steal_keep sched/steal.c, find_from_next sched/find.c */
proctype Worker(byte me)
{
    byte to, sends = 1;
    bool found, push, mine, stop = (me == 0);
end_idle:
    do
    :: atomic { entries > 0 -> entries-- }; seen[me] = period;
       atomic { if :: !closed -> take_all(false) :: else fi }
    :: atomic { entries > 0 -> entries-- }; seen[me] = period; inject(); push = false
    :: atomic { in_injector -> in_injector = false }; seen[me] = period; injected = false;
       atomic { if :: !closed -> take_all(false) :: else fi }
    :: atomic { sends > 0 -> sends-- }; seen[me] = period; send(false)
    :: stop && !closed -> seen[me] = period; end(); seen[me] = period
    :: expired -> seen[me] = period; expire()
    :: seen[me] != 0 -> seen[me] = 0             /* asleep */
    od
}

/* axo__door_enter sched/send.c; axo__door_leave sched/send.c */
#ifdef OUTSIDE
active proctype Outside()
{
    byte me = SENDERS - 1, to, sends = 1;
    bool found, push;
    do
    :: sends > 0 -> sends--;
       atomic { door == 0 -> door = 1 };
       send(true);
       door = 0
    :: else -> break
    od
}
#endif

/* grace_step mem/grace.c; axo__grace_wait mem/rcu.c; grace_take mem/grace.c; boot_pass_doors
 * system/boot.c; boot_expire system/boot.c */
active proctype Reclaimer()
{
end_idle:
    do
    :: atomic { retired && !(again && injected) -> retired = false; again = false };
#ifndef M_NO_GRACE
       period++;
       (seen[0] == 0 || seen[0] == period);
#if WORKERS > 1
       (seen[1] == 0 || seen[1] == period);
#endif
#ifndef M_NO_DOORS
       atomic { door == 0 -> door = 0 };
#endif
#endif
       atomic { assert(!expired); expired = true }
    od
}

init {
    atomic {
        seen[0] = 1; run Worker(0);
#if WORKERS > 1
        seen[1] = 1; run Worker(1)
#endif
    };
    timeout ->
    assert(done && !retired && !expired && !in_injector && entries == 0);
    assert(sent == fates)                                    /* none is lost */
}
