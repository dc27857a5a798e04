/* mailbox.pml - the scheduling word of one cell: its lane, its system lane, who claims it, who
 * pushes the entries that lead to it.
 *
 * A compare-and-swap that is repeated until it succeeds is one step; so is each load. Queues of
 * entries are counters (an entry is a hint); the injectors have one node of the cell each. Left
 * out: bounded mailboxes and WAITING (bounded.pml), what a failure does (restart.pml), who wakes whom
 * (parking.pml), memory order weaker than sequential (test/schedules/weak), and portions of an end and of the
 * system lane: an unfinished turn ends with URGENT set and an entry, as if told once more.
 *
 * SENDERS send MSGS each, the first from outside. A parent suspends twice and resumes twice, STOP
 * asks to stop at the end. WATCH: another tells it something in the system lane. LOOK: an inspector
 * borrows the cell. STRANGER: a worker of another pool claims it through a stale entry and gives it
 * back.
 *
 * form small word       -DMSGS=1 -DWORKERS=2 -DSENDERS=1
 * form small two        -DMSGS=1 -DWORKERS=2 -DPAIRS=1
 * form small stop       -DMSGS=2 -DWORKERS=2 -DSENDERS=1 -DPAIRS=0 -DSTOP -DWATCH
 * form large stop       -DMSGS=1 -DWORKERS=2 -DPAIRS=1 -DSTOP
 * form small look       -DMSGS=2 -DWORKERS=2 -DSENDERS=1 -DPAIRS=0 -DLOOK -DSTRANGER
 * form small order      -DSENDERS=1 -DMSGS=3 -DWORKERS=2 -DPAIRS=1
 * form large word       -DMSGS=1 -DWORKERS=2
 * form large two        -DMSGS=2 -DWORKERS=2
 * form large all        -DMSGS=1 -DWORKERS=2 -DPAIRS=0 -DSTOP -DLOOK -DSTRANGER
 * mutant word M_FLAG            a suspension is a flag
 * mutant word M_NO_LOOK_AFTER   finish does not look at the word when it clears RUNNING
 * mutant word M_LOOK_FIRST      it looks first and clears after, in two steps
 * mutant word M_ANNOUNCE_FIRST  the system lane is announced before it is pushed to
 * mutant word M_URGENT_LATE     URGENT is cleared after the system lane was looked at
 * mutant order M_TAKE_OVER      a claim takes the lane though READY says that older ones are left
 * mutant order M_NOT_READY      finish does not keep in mind that messages are left
 * mutant order M_INJECTED_LATE  the injector's node is given back after the claim
 * mutant look M_GIVE_BACK       what came up during a look is left to whoever announced it
 * mutant look M_UNCLAIM         what was taken with a claim is not announced when it is undone
 * mutant stop M_CLAIM_CLOSED    a closed cell is claimed
 */
/* stamps: run.py --stamp writes them
 * stamp cell/directive.h:axo__directives_delta_add d0abecd927e8
 * stamp cell/directive.h:axo__directives_stop 317e17d70109
 * stamp cell/directive.h:axo__directives_take 3305adccd20b
 * stamp cell/state.h:axo__state_announce_system ee9af73ddd26
 * stamp cell/state.h:axo__state_borrow 4d8e316764de
 * stamp cell/state.h:axo__state_borrow_idle 5c745aedf97a
 * stamp cell/state.h:axo__state_claim 37995a4ece08
 * stamp cell/state.h:axo__state_claim_born edab26149344
 * stamp cell/state.h:axo__state_close 2d00e8c97e88
 * stamp cell/state.h:axo__state_close_plain 11aefad12b25
 * stamp cell/state.h:axo__state_finish 71cbe40a64c0
 * stamp cell/state.h:axo__state_give_back 3e6bdebd5a27
 * stamp cell/state.h:axo__state_give_back_held 85fb62522533
 * stamp cell/state.h:axo__state_inject f06891c3048a
 * stamp cell/state.h:axo__state_injected 680e6d4d8484
 * stamp cell/state.h:axo__state_look ad107a2581eb
 * stamp cell/state.h:axo__state_push f1f55bdfd5c7
 * stamp cell/state.h:axo__state_resume 3f00cdd8d482
 * stamp cell/state.h:axo__state_settle 23c6f0fee1bb
 * stamp cell/state.h:axo__state_suspend 0c772cacd88f
 * stamp cell/state.h:axo__state_take 7d9878c0adcd
 * stamp cell/state.h:axo__state_take_urgent d4fcab97580d
 * stamp cell/state.h:axo__state_terminate 06084c34c916
 * stamp cell/state.h:axo__state_unclaim 33fcd112b450
 * stamp cell/state.h:axo__state_woken 3acb4cff8d92
 * stamp cell/table.c:axo__table_end 234a71244066
 * stamp mailbox/inbox.h:axo__inbox_put 06cf0eb9b562
 * stamp mailbox/inbox.h:axo__inbox_take 35bb1f186ec5
 * stamp mailbox/inbox.h:axo__inbox_turn af85aeb4d1a0
 * stamp sched/claim.c:axo__claim_inject b78efa20a49a
 * stamp sched/claim.c:axo__sched_push_urgent_any 2f2b5bf248ec
 * stamp sched/claim.c:axo__sched_unclaim b1db173005ab
 * stamp sched/claim.h:axo__worker_claim a88bfa9bbee3
 * stamp sched/find.c:find_from_inject_slow 671aebb59078
 * stamp sched/ready.c:axo__sched_announce_system 18cedc9490e7
 * stamp sched/ready.c:axo__sched_hand_back f210c20abcb4
 * stamp sched/ready.c:axo__sched_hand_back_held a68c3a78a00e
 * stamp sched/ready.c:axo__sched_push_ready 0366d7c6c081
 * stamp sched/ready.c:axo__sched_stop c1a0679a46c4
 * stamp sched/ready.c:axo__worker_push_back 8688c2222c25
 * stamp sched/ready.c:ready_push_urgent 51ae57e4d1b4
 * stamp sched/run.c:run_fill 7a03f2bc5831
 * stamp sched/run.c:run_messages 94067bb380ae
 * stamp sched/run.c:run_take d60a26224a93
 * stamp sched/run.c:run_turn 545f86e0a360
 * stamp sched/send.c:axo__send_keep ffc7fe878807
 * stamp super/children.c:axo__child_suspend b5d71b59557e
 * stamp super/children.c:children_suspend_here 53667a3f5ee8
 * stamp super/gone.c:axo__gone_drain_users bebdee6377c1
 * stamp super/gone.c:gone_is_drained 87dd7abe04a5
 * stamp super/lane.c:lane_directives e0e0b1387a7f
 * stamp super/lane.c:lane_system 354f4fc9cd37
 * stamp super/leaf.c:leaf_close d374c24acb8a
 * stamp super/restart.c:axo__restart_shift 4c9471a01df2
 * stamp super/stop.c:axo__stop_begin cc953e2cef6f
 * stamp super/stop.c:axo__stop_finish de70b6a26d98
 */
#ifndef SENDERS
#define SENDERS 2
#endif
#ifndef MSGS
#define MSGS 1
#endif
#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef PAIRS
#define PAIRS 2
#endif
#define ALL (SENDERS * MSGS)
#define QUANTUM 1

/* ---- the word ---- */
bool running, ready, urgent, injected, urgent_injected, closed, held;
chan lane = [ALL] of { byte };
/* ---- the runner's ---- */
byte suspends;
chan inbox = [ALL] of { byte };
byte unturned;              /* of the inbox: not in order yet */
/* ---- others' ---- */
byte system_lane;           /* nodes */
short delta;                /* the directives */
bool stop, findable = true;
byte entries, urgent_entries;
bool in_injector, in_urgent_injector;
/* ---- ghosts ---- */
byte inside, depth, handled, buried, seen_system, done, last[SENDERS];

#define FREE (!held)
#define HAS (ready || len(lane) > 0)
#define WOKEN (len(lane) == 0 && !ready && !running && !urgent && !closed && !held)

/* axo__sched_push_ready sched/ready.c; axo__claim_inject sched/claim.c; axo__state_inject cell/state.h */
inline push_ready(outside)
{
    if
    :: outside ->
        atomic { was = injected || closed; injected = injected || !was };
        if :: !was -> in_injector = true :: else fi
    :: else -> entries++
    fi
}
/* ready_push_urgent sched/ready.c; axo__sched_push_urgent_any sched/claim.c */
inline push_urgent(outside)
{
    if
    :: outside ->
        atomic { was = urgent_injected || closed; urgent_injected = urgent_injected || !was };
        if :: !was -> in_urgent_injector = true :: else fi
    :: else -> urgent_entries++
    fi
}
/* axo__sched_announce_system sched/ready.c; axo__state_announce_system cell/state.h */
inline announce_system(outside)
{
    atomic { push = !urgent && !running && !closed; urgent = true };
    if :: push -> push_urgent(outside) :: else fi
}

/* ---- who sends ---- */

/* axo__send_keep sched/send.c; axo__state_push cell/state.h; axo__state_woken cell/state.h */
proctype Sender(byte me; bool outside)
{
    byte k;
    bool push, was;
    do
    :: k < MSGS ->
        k++;
        if
        :: findable ->
            atomic { push = WOKEN; lane!(me * MSGS + k) };
            if :: push -> push_ready(outside) :: else fi
        :: else -> buried++
        fi
    :: else -> break
    od;
    done++
}

/* axo__child_suspend super/children.c; axo__directives_delta_add cell/directive.h */
inline directive(by)
{
#ifdef M_ANNOUNCE_FIRST
    announce_system(false);
    atomic { system_lane++; delta = delta + by }
#else
    atomic { system_lane++; delta = delta + by };
    announce_system(false)
#endif
}
/* children_suspend_here super/children.c; axo__state_borrow_idle cell/state.h;
 * axo__state_give_back_held cell/state.h; axo__sched_hand_back_held sched/ready.c */
inline suspend_child()
{
    atomic {
        if
        :: !running && !ready && !urgent && !closed && !held && len(lane) == 0 ->
            running = true; was = true; inside++; assert(inside == 1)
        :: else -> was = false
        fi
    };
    if
    :: was ->
        atomic { suspends++; depth++ };
        atomic { inside--; push = urgent; running = false; held = true };
        if :: push -> push_urgent(false) :: else fi
    :: else -> directive(1)
    fi
}
proctype Parent()
{
    byte k;
    bool push, was;
#if PAIRS
    for (k : 1 .. PAIRS) { suspend_child() }
    for (k : 1 .. PAIRS) { directive(-1) }
#endif
#ifdef STOP
    /* axo__sched_stop sched/ready.c; axo__directives_stop cell/directive.h */
    stop = true;
    announce_system(true);
#endif
    done++
}

proctype Watcher()
{
    bool push, was;
    if :: findable -> system_lane++; announce_system(true) :: else fi;
    done++
}

/* axo__state_borrow cell/state.h; axo__state_give_back
 * cell/state.h; axo__sched_hand_back sched/ready.c */
proctype Looker()
{
    bool push, was, push_user;
    atomic {
        if
        :: !running && !closed -> running = true; was = true; inside++; assert(inside == 1)
        :: else -> was = false
        fi
    };
    if
    :: was ->
        atomic {
            inside--;
            push = urgent;
            push_user = HAS && FREE;
            running = false
        };
#ifndef M_GIVE_BACK
        if
        :: push -> push_urgent(true)
        :: !push && push_user -> push_ready(true)
        :: else
        fi
#endif
    :: else
    fi;
    done++
}

/* ---- the runner ---- */

/* axo__state_claim cell/state.h; axo__state_claim_born cell/state.h; axo__worker_claim
 * sched/claim.h; axo__inbox_put mailbox/inbox.h */
inline take_lane()
{
    atomic {
        assert(len(inbox) == 0);          /* those that are left are older */
        n = len(lane);
        unturned = (n > 1 -> n : 0);
        do :: lane?m; inbox!m :: empty(lane) -> break od;
        m = 0
    }
}
#ifdef M_TAKE_OVER
#define LEFT false
#else
#define LEFT ready
#endif
#ifdef M_CLAIM_CLOSED
#define OPEN true
#else
#define OPEN (!closed)
#endif
inline claim()
{
    atomic {
        if
        :: running || !OPEN || !(urgent || (FREE && HAS)) -> mine = false
        :: else ->
            mine = true; inside++; assert(inside == 1 && !closed);
            attention = urgent; urgent = false; running = true;
            if
            :: FREE && LEFT -> ready = false
            :: FREE && !LEFT -> take_lane()
            :: else
            fi
        fi
    }
}

/* axo__state_settle cell/state.h */
inline settle()
{
    held = (suspends > 0)
}

/* axo__stop_begin super/stop.c; axo__state_terminate cell/state.h;
 * axo__stop_finish super/stop.c; axo__state_close cell/state.h; leaf_close super/leaf.c;
 * axo__state_close_plain cell/state.h; axo__table_end cell/table.c; axo__gone_drain_users super/gone.c; gone_is_drained super/gone.c */
inline terminate()
{
    atomic { suspends++; depth++ };
    atomic { closed = true; held = true };
    findable = false;
    if
    :: !ready && len(lane) == 0 && len(inbox) == 0 -> skip
    :: else ->
        do
        :: atomic {
            do :: inbox?m; buried++ :: empty(inbox) -> break od;
            unturned = 0; m = 0
           };
           n = len(lane);
           if :: n == 0 -> break :: else -> take_lane() fi
        od
    fi;
    n = 0
}

/* lane_system super/lane.c; lane_directives super/lane.c; axo__restart_shift super/restart.c;
 * axo__directives_take cell/directive.h; axo__state_take_urgent cell/state.h;
 * axo__state_suspend cell/state.h; axo__state_resume cell/state.h */
inline system()
{
#ifndef M_URGENT_LATE
    urgent = false;
#endif
    atomic { seen_system = seen_system + system_lane; system_lane = 0 };
    do
    :: stop && !closed -> stop = false; terminate(); break
    :: delta != 0 && !stop && !closed ->
        atomic {
            by = delta; delta = 0;
            depth = depth + by;
#ifdef M_FLAG
            suspends = (by > 0 -> 1 : 0)
#else
            assert(suspends + by >= 0);
            suspends = suspends + by
#endif
        };
        by = 0
    :: else -> break
    od;
#ifdef M_URGENT_LATE
    urgent = false;
#endif
    settle()
}

/* run_messages sched/run.c; run_take sched/run.c; run_fill sched/run.c;
 * axo__state_look cell/state.h; axo__state_take cell/state.h; axo__inbox_turn mailbox/inbox.h;
 * axo__inbox_take mailbox/inbox.h */
inline messages()
{
    do
    :: atomic {                            /* one look, and what is the runner's own */
        if
        :: closed -> more = false; act = 0
        :: !closed && (urgent || attention) -> attention = false; act = 1
        :: !closed && !urgent && !attention && !FREE -> more = true; act = 0
        :: !closed && !urgent && !attention && FREE && left == 0 -> more = true; act = 0
        :: !closed && !urgent && !attention && FREE && left > 0 ->
            if
            :: len(inbox) == 0 && len(lane) > 0 -> act = 2
            :: len(inbox) == 0 && len(lane) == 0 -> more = false; act = 0
            :: len(inbox) > 0 -> act = 3
            fi
        fi
       };
       if
       :: act == 0 -> break
       :: act == 1 -> system()
       :: act >= 2 ->
        atomic {
            if :: act == 2 -> take_lane() :: else fi;
            left--;
            if :: unturned > 0 -> unturned-- :: else fi; /* a step of putting them in order */
            if
            :: unturned == 0 ->
                inbox?m;
                assert(inside == 1 && depth == 0 && !closed);
                n = (m - 1) / MSGS;
                assert((m - 1) % MSGS == last[n]);       /* in order, none twice */
                last[n]++; handled++; m = 0; n = 0;
                if :: len(inbox) == 0 -> more = false; act = 0 :: else fi
            :: else
            fi
        };
        if :: act == 0 -> break :: else fi
       fi
    od
}

/* axo__state_finish cell/state.h */
inline finish()
{
#ifdef M_LOOK_FIRST
    more = more || (!closed && (urgent || (FREE && HAS)));
    if
    :: more ->
        atomic { ready = true; running = false; inside--; result = 2 }
    :: else -> atomic { running = false; inside--; result = 0 }
    fi
#else
    atomic {
        if
        :: closed -> running = false; inside--; result = 0
#ifndef M_NO_LOOK_AFTER
        :: !closed && urgent -> result = 1
#endif
#ifdef M_NO_LOOK_AFTER
        :: !closed && !FREE ->
#else
        :: !closed && !urgent && !FREE ->
#endif
            ready = true; running = false; inside--; result = 0
#ifdef M_NO_LOOK_AFTER
        :: !closed && FREE && more ->
#else
        :: !closed && !urgent && FREE && more ->
#endif
#ifndef M_NOT_READY
            ready = true;
#endif
            running = false; inside--; result = 2
#ifndef M_NO_LOOK_AFTER
        :: !closed && !urgent && FREE && !more && ready -> ready = false; result = 1
        :: !closed && !urgent && FREE && !more && !ready && len(lane) > 0 -> result = 1
        :: !closed && !urgent && FREE && !more && !ready && len(lane) == 0 ->
#else
        :: !closed && FREE && !more ->
#endif
            running = false; inside--; result = 0
        fi
    }
#endif
}

/* find_from_inject_slow sched/find.c; axo__state_injected cell/state.h */
inline find()
{
    if
    :: atomic { urgent_entries > 0 -> urgent_entries-- }
    :: atomic { entries > 0 -> entries-- }
#ifdef M_INJECTED_LATE
    :: atomic { in_urgent_injector -> in_urgent_injector = false }; node = 1
    :: atomic { in_injector -> in_injector = false }; node = 2
#else
    :: atomic { in_urgent_injector -> in_urgent_injector = false }; urgent_injected = false
    :: atomic { in_injector -> in_injector = false }; injected = false
#endif
    fi
}
inline give_node()
{
    if
    :: node == 1 -> urgent_injected = false
    :: node == 2 -> injected = false
    :: else
    fi;
    node = 0
}

/* run_turn sched/run.c; axo__worker_push_back sched/ready.c */
proctype Worker()
{
    byte left, m, n, act, result, node;
    short by;
    bool more, attention, mine, push, was;
end_idle:
    do
    :: find();
       claim();
       if
       :: mine ->
           left = QUANTUM;
           do
           :: messages();
              finish();
              if :: result == 1 -> skip :: else -> break fi
           od;
           if :: result == 2 -> push_ready(false) :: else fi
       :: else
       fi;
       give_node();
       d_step {
        left = 0; result = 0; act = 0; n = 0; more = false; mine = false; attention = false;
        push = false; was = false
       }
    od
}

/* axo__sched_unclaim sched/claim.c; axo__state_unclaim cell/state.h */
proctype Stranger()
{
    byte m, n;
    bool attention, mine, push, was, push_user;
    claim();
    if
    :: mine ->
        atomic {
            inside--;
            urgent = urgent || attention;
            push = urgent;
#ifdef M_UNCLAIM
            push_user = FREE && HAS;
#else
            ready = true;
            push_user = FREE;
#endif
            running = false
        };
        if
        :: push -> push_urgent(true)
        :: !push && push_user -> push_ready(true)
        :: else
        fi
    :: else
    fi;
    done++
}

byte parts;
active proctype Monitor()
{
    timeout ->
    assert(done == parts);
    assert(entries == 0 && urgent_entries == 0 && !in_injector && !in_urgent_injector);
    assert(!running && inside == 0);
    if
    :: closed ->                           /* the rest is the expiry's */
        assert(len(inbox) == 0 && handled + buried + len(lane) == ALL)
    :: else ->
        assert(handled == ALL && suspends == 0 && depth == 0);
        assert(!urgent && !ready && !held && delta == 0 && system_lane == 0 && !stop)
    fi
}

init {
    byte i;
    atomic {
        parts = SENDERS + 1;
        for (i : 1 .. SENDERS) { run Sender(i - 1, i == 1) }
        run Parent();
#ifdef WATCH
        parts++; run Watcher();
#endif
#ifdef LOOK
        parts++; run Looker();
#endif
#ifdef STRANGER
        parts++; run Stranger();
#endif
        for (i : 1 .. WORKERS) { run Worker() }
    }
}
