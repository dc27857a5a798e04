/* shutdown.pml - the end of a system: who counts that the last slot has come back, while outside
 * threads still spawn, workers park and the reclaimer waits.
 *
 * Slots are bits: the root, /user, and what SPAWNERS from outside add under /user, each behind a
 * door of its own. /user takes them in, or buries them when its grace period is over. A worker's
 * counter of freed slots is a store that stays in its buffer until its next read-modify-write, or
 * until the machine empties it. What a mutex guards is one step. Workers hold no reference from one
 * step to the next (slot.pml); that a grace period is a barrier for each of them is here, with BUFFER.
 * Timers are in timer.pml.
 *
 * form small one   -DSPAWNERS=1 -DW=2
 * form small none  -DSPAWNERS=0 -DW=2 -DBUFFER -DEARLIER
 * form large store -DSPAWNERS=1 -DW=2 -DBUFFER
 * mutant none M_NO_FENCE     counters are summed without a read-modify-write before
 * mutant one M_SUM_ORDER     the spawned are summed before the freed
 * mutant one M_NO_DOORS      a grace period does not pass through the doors
 * mutant none M_ROOT_ONLY    the end of the root is the end
 * mutant one M_NOT_REFUSED   a spawn looks at /user alone, not at what the shutdown has said
 * mutant none M_EXPIRE_OWN   a worker parks though cells of its own have expired
 * mutant none M_EXPIRE_QUIET the reclaimer wakes nobody for what has expired
 * mutant none M_QUIT_QUIET   who ends the pool wakes nobody
 * mutant none M_QUIT_LOOK    a sleeper does not look whether the pool ends
 * mutant none M_TWO_ENDS     two workers may run the last calls
 */
/* stamps: run.py --stamp writes them
 * stamp cell/core.c:axo__local_flush 6304c2a0dedf
 * stamp cell/core.c:axo__local_give_cell fce56937893a
 * stamp cell/state.h:axo__state_announce_system ee9af73ddd26
 * stamp cell/state.h:axo__state_claim 37995a4ece08
 * stamp cell/state.h:axo__state_inject f06891c3048a
 * stamp mem/grace.c:grace_step 676fb89e75cb
 * stamp mem/rcu.c:axo__grace_offline ee1b0131c7dd
 * stamp mem/rcu.c:axo__grace_quiet 390fc8ad6da0
 * stamp sched/claim.c:axo__sched_push_urgent_any 2f2b5bf248ec
 * stamp sched/expire.c:axo__expire_waits 5fdbfe864c0f
 * stamp sched/expire.c:expire_from 78566a3e1f23
 * stamp sched/expire.c:expire_take b0ca7d538817
 * stamp sched/park.c:axo__worker_park 572faf79806a
 * stamp sched/park.c:axo__worker_unpark_owner f4dbac8397a8
 * stamp sched/park.c:park_look c4c99e614a4d
 * stamp sched/ready.c:axo__sched_stop c1a0679a46c4
 * stamp sched/sched.c:axo__sched_join ac4c08a18032
 * stamp sched/sched.c:axo__sched_quit f5213e8ded10
 * stamp sched/send.c:axo__door_enter cc1170cff457
 * stamp sched/wake.c:axo__sched_wake_one 220eeb36979f
 * stamp sched/wake.c:axo__sched_wake_worker ec5d21abdcc1
 * stamp sched/wake.c:wake_up 14ec437b004e
 * stamp sched/worker.c:axo__worker_step dc685b15f13f
 * stamp sched/worker.c:worker_idle 7d067d978a47
 * stamp super/gone.c:axo__gone_expire 4e05817f01f9
 * stamp super/gone.c:gone_abandon 47766442ed94
 * stamp super/lane.c:lane_system 354f4fc9cd37
 * stamp super/spawn.c:axo__spawn_adopt e6b5b33cc3e8
 * stamp super/spawn.c:axo__spawn_make 9d71320e7f0d
 * stamp super/stop.c:axo__stop_begin cc953e2cef6f
 * stamp super/stop.c:axo__stop_finish de70b6a26d98
 * stamp system/boot.c:axo__boot_destroy 515ba2e9f28f
 * stamp system/boot.c:boot_expire 483b6af7e528
 * stamp system/boot.c:boot_pass_doors ffe7d70ed459
 * stamp system/ending.c:axo__ending_run 71da0e453dae
 * stamp system/guardian.c:axo__guardian_spawn 87a42e9f4a60
 * stamp system/pools.c:axo__pools_sum 3385c0136817
 * stamp system/shutdown.c:axo__shutdown_begin 5449c9ccbdd3
 * stamp system/shutdown.c:shutdown_check_end f29cfe9b5aed
 * stamp system/shutdown.c:shutdown_root_gone c23427cdd086
 */
#ifndef W
#define W 2
#endif
#ifndef SPAWNERS
#define SPAWNERS 1
#endif
#define ROOT 1
#define USER 2
#define CHILD(i) (4 << (i))
#ifdef EARLIER
#define BEFORE CHILD(0)             /* one that has ended already */
#else
#define BEFORE 0
#endif

/* ---- /user ---- */
bool findable = true, stop, terminating, ended_user, busy, urgent;
bool injected, in_injector;
byte lane, children;                /* slots */
bool refused;
/* ---- grace ---- */
byte retired[W], expired[W], own[W];         /* by home; own: retired, not handed over */
bool door[3], taking;
#ifdef BUFFER
byte period = 1, seen[W] = 1;       /* 0: asleep */
#endif
/* ---- counters ---- */
byte freed[W], buffered[W], spawned = 2 + (BEFORE != 0), freed_really;
/* ---- the pool ---- */
byte parked, exited;
bool is_parked[W], ringing[W], quit, root_gone, ended, latch;
/* ---- ghosts ---- */
bool shut;
byte last_calls;

#define ONES(m) (((m) & 1) + (((m) >> 1) & 1) + (((m) >> 2) & 1) + (((m) >> 3) & 1))

inline flush()
{
    if :: me < W -> freed[me] = freed[me] + buffered[me]; buffered[me] = 0 :: else fi
}
/* axo__sched_wake_one sched/wake.c; wake_up sched/wake.c */
inline wake_one()
{
    atomic {
        flush();
        if
        :: is_parked[0] -> is_parked[0] = false; parked--; ringing[0] = true
        :: !is_parked[0] && is_parked[1] -> is_parked[1] = false; parked--; ringing[1] = true
        :: else
        fi
    }
}

/* ---- from outside ---- */

/* axo__guardian_spawn system/guardian.c; axo__door_enter sched/send.c; axo__spawn_make
 * super/spawn.c; axo__sched_push_urgent_any sched/claim.c; axo__state_announce_system
 * cell/state.h; axo__state_inject cell/state.h */
proctype Spawner(byte i)
{
    bool allowed, late, push;
    byte me = W;
    late = shut;
    atomic { door[i] = true; allowed = findable };
#ifndef M_NOT_REFUSED
    if :: refused -> allowed = false :: else fi;
#endif
    if :: allowed && (terminating || stop) -> allowed = false :: else fi;
    if
    :: allowed ->
        assert(!late);                      /* a spawn after the shutdown is refused */
        atomic { assert(!ended); spawned++ };
        lane = lane | CHILD(i);
        atomic { push = !urgent && !busy && !ended_user; urgent = true };
        if
        :: push ->
            atomic { push = !injected && !ended_user; injected = injected || push };
            if :: push -> in_injector = true; wake_one() :: else fi
        :: else
        fi
    :: else
    fi;
    door[i] = false
}
/* axo__shutdown_begin system/shutdown.c; axo__sched_stop sched/ready.c */
active proctype Shutdown()
{
    bool push;
    byte me = W;
    atomic { door[2] = true; refused = true };
    atomic { stop = true };
    atomic { push = !urgent && !busy && !ended_user; urgent = true };
    if
    :: push ->
        atomic { push = !injected && !ended_user; injected = injected || push };
        if :: push -> in_injector = true; wake_one() :: else fi
    :: else
    fi;
    atomic { door[2] = false; shut = true }
}

/* ---- workers ---- */

/* lane_system super/lane.c; axo__stop_begin super/stop.c; axo__stop_finish
 * super/stop.c; axo__spawn_adopt super/spawn.c; gone_abandon super/gone.c;
 * shutdown_root_gone system/shutdown.c */
inline turn()
{
    do
    :: urgent ->
        urgent = false;
        atomic { children = children | lane; lane = 0 };
        if
        :: atomic { stop && !ended_user -> stop = false };
            terminating = true;
            atomic { own[me] = own[me] | children; children = 0; ended_user = true };
            findable = false;
            atomic { own[me] = own[me] | lane | USER; lane = 0 };
            atomic { own[me] = own[me] | ROOT; root_gone = true };
            busy = false;
            break
        :: else
        fi
    :: atomic { !urgent -> busy = false; break }
    od
}
/* axo__gone_expire super/gone.c; expire_from sched/expire.c; expire_take sched/expire.c;
 * axo__local_give_cell cell/core.c */
inline expire(home)
{
    atomic { items = expired[home]; expired[home] = 0; flush() };
    if
    :: items & USER ->
        atomic { own[me] = own[me] | lane; lane = 0 };
        if
        :: injected -> items = items - USER; own[me] = own[me] | USER
        :: else
        fi
    :: else
    fi;
    atomic {
        freed_really = freed_really | items;
#ifdef BUFFER
        buffered[me] = buffered[me] + ONES(items);
#else
        freed[me] = freed[me] + ONES(items);
#endif
        items = 0
    }
}
/* shutdown_check_end system/shutdown.c; axo__pools_sum system/pools.c; axo__ending_run
 * system/ending.c */
inline check_end()
{
    if
    :: root_gone ->
#ifndef M_NO_FENCE
        atomic { flush() };
#endif
#ifdef M_ROOT_ONLY
        atomic { if :: !ended -> ended = true; mine = true :: else fi };
#else
#ifdef M_SUM_ORDER
        sum = spawned;
#endif
#ifdef BUFFER
        items = freed[0] + (me == 0 -> buffered[0] : 0);
        items = items + freed[1] + (me == 1 -> buffered[1] : 0);
#else
        items = freed[0] + freed[1];
#endif
#ifndef M_SUM_ORDER
        sum = spawned;
#endif
        if
        :: items == sum ->
#ifdef M_TWO_ENDS
            if :: !ended -> ended = true; mine = true :: else fi
#else
            atomic { if :: !ended -> ended = true; mine = true :: else fi; flush() }
#endif
        :: else
        fi;
#endif
        items = 0; sum = 0;
        if
        :: mine ->
            atomic {
                mine = false;
                assert(ONES(freed_really) == spawned);
                last_calls++; assert(last_calls == 1);
                latch = true
            }
        :: else
        fi
    :: else
    fi
}
/* axo__worker_park sched/park.c; park_look sched/park.c; axo__expire_waits sched/expire.c;
 * axo__worker_unpark_owner sched/park.c */
inline park()
{
    atomic { ringing[me] = false; is_parked[me] = true };
    atomic { parked++; flush() };
#ifdef M_EXPIRE_OWN
    more = in_injector;
#else
    more = (expired[me] != 0 || in_injector);
#endif
    if :: expired[1 - me] != 0 && is_parked[1 - me] -> more = true :: else fi;
#ifndef M_QUIT_LOOK
    if :: quit -> more = true :: else fi;
#endif
    if
    :: more -> more = false
    :: else ->
#ifdef BUFFER
        quiet(0);
#endif
        ringing[me];
#ifdef BUFFER
        quiet(period)
#endif
    fi;
    atomic {
        flush();
        if :: is_parked[me] -> is_parked[me] = false; parked-- :: else fi
    }
}
/* axo__grace_quiet mem/rcu.c; axo__grace_offline mem/rcu.c: a full barrier, if it is noted */
inline quiet(now)
{
    if
    :: seen[me] != now -> atomic { flush(); seen[me] = now }
    :: else
    fi
}
/* axo__worker_step sched/worker.c; worker_idle sched/worker.c; axo__local_flush cell/core.c;
 * axo__state_claim cell/state.h */
proctype Worker(byte me)
{
    byte items, sum;
    bool more, mine, found;
    do
    ::
#ifdef BUFFER
       quiet(period);
#endif
       atomic { if :: in_injector -> in_injector = false; found = true; flush() :: else fi };
       if
       :: found ->
           found = false;
           injected = false;
           atomic {
               if
               :: urgent && !busy && !ended_user -> busy = true; mine = true; flush()
               :: else
               fi
           };
           if :: mine -> mine = false; turn() :: else fi
       :: else ->
           if
           :: quit -> check_end(); break
           :: else ->
               if
               :: own[me] != 0 -> atomic { retired[me] = retired[me] | own[me]; own[me] = 0; flush() }
               :: else
               fi;
               if
               :: expired[me] != 0 -> expire(me)
               :: expired[me] == 0 && expired[1 - me] != 0 && is_parked[1 - me] -> expire(1 - me)
               :: else ->
                   check_end();
                   park()
               fi
           fi
       fi
    od;
    exited++
}

/* boot_expire system/boot.c; axo__sched_wake_worker sched/wake.c */
inline hand_back(home)
{
    if
    :: items[home] != 0 ->
        atomic { expired[home] = expired[home] | items[home]; items[home] = 0; taking = (items[1 - home] != 0) };
#ifndef M_EXPIRE_QUIET
        atomic {
            if
            :: is_parked[home] -> is_parked[home] = false; parked--; ringing[home] = true
            :: else
            fi
        }
#endif
    :: else
    fi
}
/* grace_step mem/grace.c; boot_pass_doors system/boot.c; boot_expire system/boot.c */
active proctype Reclaimer()
{
    byte items[W], me = W;
#ifdef EARLIER
    retired[1] = retired[1] | BEFORE;
#endif
end_idle:
    do
    :: atomic {
           retired[0] != 0 || retired[1] != 0 ->
           items[0] = retired[0]; items[1] = retired[1]; retired[0] = 0; retired[1] = 0; taking = true
       };
#ifdef BUFFER
       period++;
       (seen[0] == 0 || seen[0] == period);
       (seen[1] == 0 || seen[1] == period);
#endif
#ifndef M_NO_DOORS
       !door[0];
       !door[1];
       !door[2];
#endif
       hand_back(0);
       hand_back(1)
    od
}

/* axo__boot_destroy system/boot.c; axo__sched_quit sched/sched.c; axo__sched_join
 * sched/sched.c */
active proctype Destroyer()
{
    latch;
    quit = true;
#ifndef M_QUIT_QUIET
    ringing[0] = true;
    ringing[1] = true;
#endif
    exited == W;
    assert(retired[0] == 0 && retired[1] == 0 && expired[0] == 0 && expired[1] == 0);
    assert(!taking && own[0] == 0 && own[1] == 0);
    assert(lane == 0 && !in_injector && !busy)
}

#ifdef BUFFER
proctype Drain()
{
end_d:
    do
    :: atomic { buffered[0] > 0 -> freed[0] = freed[0] + buffered[0]; buffered[0] = 0 }
    :: atomic { buffered[1] > 0 -> freed[1] = freed[1] + buffered[1]; buffered[1] = 0 }
    od
}
#endif

init {
    atomic {
        run Worker(0);
        run Worker(1);
#if SPAWNERS > 0
        run Spawner(0);
#endif
#if SPAWNERS > 1
        run Spawner(1);
#endif
#ifdef BUFFER
        run Drain()
#endif
    };
    timeout ->
    assert(latch && exited == W)
}
