/* restart.pml - failures, suspensions and restarts in a tree of four: 0 -> 1 -> {2, 3}, or with
 * CHAIN 0 -> 1 -> 2 -> 3.
 *
 * What a parent wants of a child is folded into the child's directive word; reports and ends are
 * nodes of its system lane. A runner takes the lane whole (in portions, and directives when all of it
 * is taken), then directives, then held reports; each of these is one step. Cells 1 to 3 fail up to NF times in all, under a message or in a
 * constructor; supervisors decide anything. Left out: budgets, delays (timer.pml), lifetimes,
 * watches, children that an instance makes later, and the turn of an idle parent within that of its
 * child, which is a step of the child here.
 *
 * form small tree   -DNF=2
 * form small all    -DNF=2 -DALL
 * form small chain  -DNF=2 -DCHAIN
 * form small born   -DNF=2 -DCHAIN -DNEW
 * form small sweep  -DNF=2 -DSWEEP
 * form small sweeps -DNF=2 -DSWEEP -DALL
 * form large tree   -DNF=3
 * form large all    -DNF=3 -DALL
 * form large chain  -DNF=3 -DCHAIN
 * mutant tree M_SUSPEND_PERPETRATOR  who escalates suspends the child again whose failure it is
 * mutant tree M_SUSPEND_ONCE         a cell that has failed is not suspended by its parent
 * mutant all M_ALL_NO_SUSPEND        all-for-one restarts siblings without suspending them
 * mutant chain M_NOT_ATOMIC          directives are taken while a restart waits for children
 * mutant chain M_NOT_HELD            a supervisor that is suspended decides
 * mutant all M_MERGE                 a restart that finds its like waiting keeps its suspension
 * mutant chain:large M_NO_SHARE      a restart that fails under an open report keeps its share
 * mutant chain M_NO_RESOLVE          a restart does not answer the failure that was escalated
 * mutant chain M_RESUME_NONE         a resume leaves a cell without an instance as it is
 * mutant tree M_HELD_GONE            a report of a child that has ended stays held
 * mutant sweep M_SWEEP_LOST          a parent that is told something within a sweep forgets the rest
 */
/* stamps: run.py --stamp writes them
 * stamp cell/directive.h:axo__directives_delta_add d0abecd927e8
 * stamp cell/directive.h:axo__directives_restart_own b615934b8b55
 * stamp cell/directive.h:axo__directives_restart_parent 3dbd6d62e790
 * stamp cell/directive.h:axo__directives_resume_own 13f15ce96422
 * stamp cell/directive.h:axo__directives_stop_parent f43cafed2a3f
 * stamp cell/directive.h:axo__directives_take 3305adccd20b
 * stamp cell/extra.h:axo__cell_stopping_count 6245e58133c5
 * stamp cell/state.h:axo__state_resume 3f00cdd8d482
 * stamp cell/state.h:axo__state_settle 23c6f0fee1bb
 * stamp sched/ready.c:axo__sched_announce_system 18cedc9490e7
 * stamp super/children.c:axo__child_restart_own c70191843b57
 * stamp super/children.c:axo__child_restart_parent c97f1f7a8ea4
 * stamp super/children.c:axo__child_resume_own 63fcba7097f7
 * stamp super/children.c:axo__child_stop 368a5c465077
 * stamp super/children.c:axo__child_suspend b5d71b59557e
 * stamp super/children.c:axo__children_forget 01f2abd878d6
 * stamp super/children.c:axo__children_stop 80a676634758
 * stamp super/children.c:children_forget_any 054cad7df6ee
 * stamp super/children.c:children_suspend_here 53667a3f5ee8
 * stamp super/children.c:children_unhold 604515065ffe
 * stamp super/children.c:children_unlink 040a59683c42
 * stamp super/fail.c:axo__fail 89fdc8c2421e
 * stamp super/fail.c:axo__fail_begin dd2b57a60b06
 * stamp super/fail.c:axo__fail_report 8148d0875340
 * stamp super/fail.c:axo__fail_resolve da50cc633b56
 * stamp super/instance.c:axo__instance_construct 199e4097b550
 * stamp super/instance.c:axo__instance_create 09916d9b5210
 * stamp super/lane.c:lane_child_gone c5f7daf4c5e7
 * stamp super/lane.c:lane_directives e0e0b1387a7f
 * stamp super/lane.c:lane_fail ec29b41ec451
 * stamp super/lane.c:lane_go_on da53eeca74fc
 * stamp super/lane.c:lane_system 354f4fc9cd37
 * stamp super/lane.c:lane_take b96407841ec0
 * stamp super/leaf.c:leaf_close d374c24acb8a
 * stamp super/restart.c:axo__restart_default_pre_restart e58921cc45c1
 * stamp super/restart.c:axo__restart_go_on 5053803fc2d3
 * stamp super/restart.c:axo__restart_own 2db079a7d995
 * stamp super/restart.c:axo__restart_resume_own ebc6d0dbbf19
 * stamp super/restart.c:axo__restart_shift 4c9471a01df2
 * stamp super/restart.c:axo__restart_take 2e8e49958cad
 * stamp super/restart.c:restart_begin 6dafc29ef46c
 * stamp super/restart.c:restart_call_pre_restart 3c6c52b7751d
 * stamp super/restart.c:restart_create_again fe7a20b597ae
 * stamp super/restart.c:restart_finish f0f26dd2dc5c
 * stamp super/restart.c:restart_finish_create b09a01ba65ed
 * stamp super/restart.c:restart_survivors c71fab7b94d0
 * stamp super/restart.c:restart_take_perpetrator f4fd62f90598
 * stamp super/stop.c:axo__stop_begin cc953e2cef6f
 * stamp super/stop.c:axo__stop_finish de70b6a26d98
 * stamp super/stop.c:axo__stop_tell_parent 3ecc1876dad9
 * stamp super/strategy.c:axo__strategy_decide_here d83c55dac0ed
 * stamp super/strategy.c:axo__strategy_report 45fc5b5938f1
 * stamp super/strategy.c:axo__strategy_unhold 4b688bce4150
 * stamp super/strategy.c:strategy_answer 7835eb8f92df
 * stamp super/strategy.c:strategy_apply 369677147d57
 * stamp super/strategy.c:strategy_hold d6d51b5221c7
 * stamp super/strategy.c:strategy_may_decide d24d2b56829f
 * stamp super/strategy.c:strategy_restart 0965542f4b8e
 * stamp super/strategy.c:strategy_restart_all 686d542819de
 * stamp super/strategy.c:strategy_tell_restart 9d66e6d9366c
 * stamp super/super.h:axo__super_ends 000ead678bf2
 * stamp super/super.h:axo__super_resume_self 253646df95f8
 * stamp super/sweep.c:axo__sweep_begin 931c7a417b44
 * stamp super/sweep.c:axo__sweep_go_on d4ab6c46fa42
 * stamp super/sweep.c:sweep_step 686802bd708e
 */
#ifndef NF
#define NF 2
#endif
#define N 4
#ifdef CHAIN
#define PARENT(j) ((j) - 1)
#else
#define PARENT(j) ((j) == 1 -> 0 : 1)
#endif
#define KID(i, j) (PARENT(j) == i && kid[j])
#define KIDS(i) (KID(i, 1) || KID(i, 2) || KID(i, 3))
#define WAITED(i, j) (KID(i, j) && waited[j])
#define WAITING(i) (WAITED(i, 1) || WAITED(i, 2) || WAITED(i, 3))
#define DIRECTIVES(i) (delta[i] != 0 || stop[i] || resume[i] || own[i] || by_parent[i])
#define IDLE(i) (!busy[i] && !urgent[i] && susp[i] == 0 && phase[i] == NORMAL)
/* sweep_step super/sweep.c; axo__sweep_begin super/sweep.c; axo__sweep_go_on super/sweep.c: others have
 * steps between two children of a family that are told; the parent has none. A `tell` is the last. */
#ifdef SWEEP
#define BETWEEN(i) if :: i == 1 -> sweeping = true; !sweeping :: else fi
#else
#define BETWEEN(i) skip
#endif
#ifdef M_SWEEP_LOST
#define LAST(i, tell) BETWEEN(i); if :: urgent[i] :: else -> tell fi
#else
#define LAST(i, tell) BETWEEN(i); tell
#endif
#define MAY_DECIDE(i) (phase[i] == NORMAL && delta[i] <= 0 && !stop[i] && !by_parent[i] && \
                       susp[i] == 0)
mtype = { FAILED, ENDED };
mtype:phases = { FRESH, NORMAL, RECREATING, CREATING, TERMINATING, GONE };
mtype:lives = { NONE, STARTED, BROKEN };

mtype:phases phase[N] = NORMAL;
mtype:lives life[N] = STARTED;
byte susp[N], perpetrator[N];
bool reported[N], restart_own[N], busy[N], urgent[N];
bool kid[N], stopping[N], waited[N];        /* the parent's */
short delta[N];                             /* the directive word */
bool stop[N], resume[N], own[N], by_parent[N], parent_first[N], resolve[N];
chan lane[N] = [4] of { mtype, byte };
chan held[N] = [4] of { byte };
byte failures, ends[N];
bool sweeping;

/* ---- telling a child ---- */

/* axo__child_suspend super/children.c; children_suspend_here super/children.c;
 * axo__directives_delta_add cell/directive.h; axo__sched_announce_system sched/ready.c */
inline shift1(si, sj, by)
{
    if
    :: KID(si, sj) && by == 1 && IDLE(sj) && !KIDS(sj) -> susp[sj]++
    :: KID(si, sj) && !(by == 1 && IDLE(sj) && !KIDS(sj)) ->
        delta[sj] = delta[sj] + by; urgent[sj] = true
    :: else
    fi
}
/* axo__child_stop super/children.c; axo__children_stop super/children.c;
 * axo__directives_stop_parent cell/directive.h */
inline stop1(si, sj)
{
    if
    :: KID(si, sj) && !stopping[sj] ->
        stopping[sj] = true; stop[sj] = true; urgent[sj] = true
    :: else
    fi
}
inline stop_children(si)
{
    stop1(si, 1); stop1(si, 2); LAST(si, stop1(si, 3))
}
/* axo__child_resume_own super/children.c; axo__directives_resume_own cell/directive.h */
inline resume_child(sj)
{
    if :: !stopping[sj] -> resume[sj] = true; urgent[sj] = true :: else fi
}
/* axo__child_restart_own super/children.c; axo__directives_restart_own cell/directive.h */
inline restart_child(sj)
{
    if
    :: !stopping[sj] ->
        own[sj] = true; parent_first[sj] = parent_first[sj] || by_parent[sj]; urgent[sj] = true
    :: else
    fi
}
/* axo__child_restart_parent super/children.c; axo__directives_restart_parent cell/directive.h */
inline restart_by_parent(sj, answers)
{
    if
    :: !stopping[sj] ->
#ifndef M_MERGE
        if :: by_parent[sj] -> delta[sj]-- :: else fi;
#endif
        by_parent[sj] = true; resolve[sj] = resolve[sj] || answers; urgent[sj] = true
    :: else
    fi
}

/* ---- failing ---- */

#ifdef M_SUSPEND_PERPETRATOR
#define SPARED(j, who) false
#else
#define SPARED(j, who) (who == j)
#endif
/* axo__fail_begin super/fail.c; axo__fail super/fail.c; axo__fail_report super/fail.c.
 * All children here are older than any instance but the first. */
inline fail(fi1, who, survivors)
{
    if
    :: phase[fi1] == TERMINATING || reported[fi1]
    :: else ->
        reported[fi1] = true;
        if :: !survivors -> perpetrator[fi1] = who :: else fi;
        susp[fi1]++;
        if
        :: !survivors ->
            if :: !SPARED(1, who) -> shift1(fi1, 1, 1) :: else fi;
            if :: !SPARED(2, who) -> shift1(fi1, 2, 1) :: else fi;
            LAST(fi1, if :: !SPARED(3, who) -> shift1(fi1, 3, 1) :: else fi)
        :: else
        fi;
        lane[PARENT(fi1)]!FAILED, fi1;
        urgent[PARENT(fi1)] = true
    fi
}

/* strategy_apply super/strategy.c; strategy_answer super/strategy.c; strategy_restart super/strategy.c;
 * strategy_restart_all super/strategy.c; strategy_tell_restart super/strategy.c. The failed child is told
 * first, which nobody sees here. */
inline all1(ai, aj, who)
{
    if
    :: KID(ai, aj) && !stopping[aj] && aj == who -> restart_child(aj)
    :: KID(ai, aj) && !stopping[aj] && aj != who ->
#ifndef M_ALL_NO_SUSPEND
        shift1(ai, aj, 1);
#endif
        restart_by_parent(aj, false)
    :: else
    fi
}
inline decide(di, dc)
{
    assert(KID(di, dc));
    if
    :: true -> resume_child(dc)
    :: true -> restart_child(dc)
    :: true -> stop1(di, dc)
    :: di > 0 -> fail(di, dc, false)
#ifdef ALL
    :: di == 1 -> all1(di, 2, dc); LAST(di, all1(di, 3, dc))
#endif
    fi
}

/* ---- instances ---- */

/* axo__instance_create super/instance.c; axo__instance_construct super/instance.c */
inline create(ci)
{
    life[ci] = NONE;
    if
    :: failures < NF -> failures++; fail(ci, 0, false)
    :: life[ci] = STARTED
    fi
}
/* axo__super_resume_self super/super.h; axo__state_resume cell/state.h */
inline resume_self(ri)
{
    if :: susp[ri] > 0 -> susp[ri]-- :: else fi
}
/* restart_survivors super/restart.c; restart_take_perpetrator super/restart.c */
inline survivor1(vi, vj)
{
    if
#ifdef M_NO_RESOLVE
    :: KID(vi, vj) -> restart_by_parent(vj, false)
#else
    :: KID(vi, vj) -> restart_by_parent(vj, perpetrator[vi] == vj)
#endif
    :: else
    fi
}
/* restart_finish super/restart.c; axo__fail_resolve super/fail.c */
inline finish_recreate(ri, answered)
{
    phase[ri] = NORMAL;
    if :: answered -> reported[ri] = false :: else fi;
    resume_self(ri);
    life[ri] = NONE;
    if
    :: failures < NF ->
        failures++;
        life[ri] = BROKEN;
#ifndef M_NO_SHARE
        if
        :: reported[ri] -> shift1(ri, 1, -1); shift1(ri, 2, -1); LAST(ri, shift1(ri, 3, -1))
        :: else
        fi;
#endif
        fail(ri, 0, true)
    :: life[ri] = STARTED;
        survivor1(ri, 1); survivor1(ri, 2); LAST(ri, survivor1(ri, 3));
        perpetrator[ri] = 0
    fi
}
/* restart_finish_create super/restart.c */
inline finish_create(ri, answered)
{
    phase[ri] = NORMAL;
    if :: answered -> reported[ri] = false :: else fi;
    resume_self(ri);
    create(ri)
}
/* axo__cell_stopping_count cell/extra.h: here those that are stopping when the wait begins */
inline wait1(wi, wj)
{
    if :: KID(wi, wj) && stopping[wj] -> waited[wj] = true :: else fi
}
/* restart_begin super/restart.c; restart_create_again super/restart.c; restart_call_pre_restart
 * super/restart.c; axo__restart_default_pre_restart super/restart.c: it stops the children; others keep
 * them */
inline recreate(ri, answered)
{
    if
    :: phase[ri] == TERMINATING -> resume_self(ri)
    :: phase[ri] != TERMINATING && life[ri] == NONE ->
        assert(susp[ri] > 0);
        stop_children(ri);
        if
        :: KIDS(ri) -> phase[ri] = CREATING; restart_own[ri] = answered
        :: else -> finish_create(ri, answered)
        fi
    :: else ->
        assert(susp[ri] > 0);
        if
        :: life[ri] != BROKEN -> stop_children(ri)
        :: true
        fi;
        wait1(ri, 1); wait1(ri, 2); wait1(ri, 3);
        if
        :: WAITING(ri) -> phase[ri] = RECREATING; restart_own[ri] = answered
        :: else -> finish_recreate(ri, answered)
        fi
    fi
}

/* ---- the end ---- */

inline unlink(pi, pj)
{
    kid[pj] = false; waited[pj] = false;
#ifndef M_HELD_GONE
    if
    :: held[pi]??[eval(pj)] -> held[pi]??eval(pj)
    :: !(held[pi]??[eval(pj)])
    fi;
#endif
    if :: perpetrator[pi] == pj -> perpetrator[pi] = 0 :: else fi
}
/* axo__stop_finish super/stop.c; axo__stop_tell_parent super/stop.c; leaf_close super/leaf.c */
inline finish_terminate(ti)
{
    assert(!KIDS(ti));
    life[ti] = NONE; ends[ti]++; assert(ends[ti] == 1);
    phase[ti] = GONE;
    if
    :: ti > 0 && IDLE(PARENT(ti)) -> unlink(PARENT(ti), ti)
    :: ti > 0 && !IDLE(PARENT(ti)) ->
        lane[PARENT(ti)]!ENDED, ti;
        urgent[PARENT(ti)] = true
    :: else
    fi
}
/* axo__stop_begin super/stop.c */
inline terminate(ti)
{
    stop_children(ti);
    if :: phase[ti] != TERMINATING -> phase[ti] = TERMINATING; susp[ti]++ :: else fi;
    if :: !KIDS(ti) -> finish_terminate(ti) :: else fi
}
/* axo__children_forget super/children.c; children_forget_any super/children.c; children_unlink
 * super/children.c; children_unhold super/children.c; lane_child_gone super/lane.c; lane_go_on super/lane.c; axo__restart_go_on
 * super/restart.c; axo__super_ends super/super.h */
inline child_gone(gi, gj)
{
    unlink(gi, gj);
    if
    :: phase[gi] == RECREATING && !WAITING(gi) && !stop[gi] -> finish_recreate(gi, restart_own[gi])
    :: phase[gi] == CREATING && !KIDS(gi) && !stop[gi] -> finish_create(gi, restart_own[gi])
    :: phase[gi] == TERMINATING && !KIDS(gi) -> finish_terminate(gi)
    :: else
    fi
}

/* ---- a turn ---- */

/* lane_take super/lane.c; axo__strategy_report super/strategy.c; strategy_may_decide
 * super/strategy.c; strategy_hold super/strategy.c */
inline take_node(hi)
{
    if
    :: t == ENDED -> child_gone(hi, a)
    :: t == FAILED && phase[hi] == TERMINATING
#ifdef M_NOT_HELD
    :: t == FAILED && phase[hi] != TERMINATING -> decide(hi, a)
#else
    :: t == FAILED && phase[hi] != TERMINATING ->
        if
        :: MAY_DECIDE(hi) && len(held[hi]) == 0 -> decide(hi, a)
        :: else -> held[hi]!a
        fi
#endif
    fi;
    a = 0
}
/* axo__restart_resume_own super/restart.c */
inline resume1(wi, wj)
{
    if
    :: KID(wi, wj) && who == wj -> resume_child(wj)
    :: KID(wi, wj) && who != wj -> shift1(wi, wj, -1)
    :: else
    fi
}
inline take_resume(wi)
{
    if
    :: !reported[wi]
#ifndef M_RESUME_NONE
    :: reported[wi] && phase[wi] != TERMINATING && life[wi] != STARTED -> recreate(wi, true)
    :: reported[wi] && (phase[wi] == TERMINATING || life[wi] == STARTED) ->
#else
    :: reported[wi] ->
#endif
        reported[wi] = false;
        who = perpetrator[wi]; perpetrator[wi] = 0;
        resume_self(wi);
        resume1(wi, 1); resume1(wi, 2); LAST(wi, resume1(wi, 3));
        who = 0
    fi
}
/* axo__restart_shift super/restart.c; axo__directives_take cell/directive.h */
inline take_shift(wi)
{
    by = delta[wi]; delta[wi] = 0;
#ifdef M_SUSPEND_ONCE
    if
    :: by > 0 && reported[wi]
    :: else -> susp[wi] = (susp[wi] + by < 0 -> 0 : susp[wi] + by)
    fi;
#else
    susp[wi] = (susp[wi] + by < 0 -> 0 : susp[wi] + by);
#endif
    shift1(wi, 1, by); shift1(wi, 2, by); LAST(wi, shift1(wi, 3, by));
    by = 0
}
/* axo__restart_take super/restart.c; axo__restart_own super/restart.c */
inline take_restart(wi)
{
    if
    :: by_parent[wi] && (!own[wi] || parent_first[wi]) ->
        by_parent[wi] = false; parent_first[wi] = false;
        was = resolve[wi]; resolve[wi] = false;
        was = was && reported[wi];
        recreate(wi, was);
        was = false
    :: else -> own[wi] = false; recreate(wi, true)
    fi
}
#ifdef M_NOT_ATOMIC
#define OPEN(i) true
#else
#define OPEN(i) (phase[i] == NORMAL || phase[i] == TERMINATING)
#endif
/* lane_system super/lane.c; lane_directives super/lane.c; axo__strategy_unhold
 * super/strategy.c; lane_fail super/lane.c; axo__strategy_decide_here super/strategy.c;
 * axo__state_settle cell/state.h */
proctype Cell(byte i)
{
    mtype t;
    byte a, who, n;
    short by;
    bool was;
end_c:
    do
    :: atomic { phase[i] != GONE && urgent[i] ->
        urgent[i] = false; busy[i] = true; n = len(lane[i]);
        if :: phase[i] == FRESH -> phase[i] = NORMAL; create(i) :: else fi };
       do
       :: atomic { n > 0 -> n--; lane[i]?t, a; take_node(i); t = 0 }
       :: atomic { n == 0 && phase[i] != GONE && stop[i] -> stop[i] = false; terminate(i) }
       :: atomic { n == 0 && phase[i] != GONE && !stop[i] && OPEN(i) && DIRECTIVES(i) ->
           if
           :: resume[i] -> resume[i] = false; take_resume(i)
           :: !resume[i] && delta[i] != 0 -> take_shift(i)
           :: !resume[i] && delta[i] == 0 && (own[i] || by_parent[i]) -> take_restart(i)
           fi }
       :: atomic { n == 0 && phase[i] != GONE && !(OPEN(i) && DIRECTIVES(i)) && !stop[i] &&
                   MAY_DECIDE(i) && len(held[i]) > 0 -> held[i]?a; decide(i, a); a = 0 }
       :: atomic { n == 0 && (phase[i] == GONE || (!stop[i] && !(OPEN(i) && DIRECTIVES(i)) &&
                   !(MAY_DECIDE(i) && len(held[i]) > 0))) -> busy[i] = false; break }
       od
    :: atomic { i > 0 && phase[i] == NORMAL && susp[i] == 0 && failures < NF ->
        assert(life[i] == STARTED && !reported[i]);
        failures++; busy[i] = true; fail(i, 0, false); busy[i] = false } /* under a message */
    :: phase[i] == GONE -> break
    od
}

#ifdef SWEEP
active proctype Others()
{
end_others:
    do
    :: sweeping -> sweeping = false
    od
}
#endif

active proctype Monitor()
{
    byte i;
    timeout ->
    for (i : 0 .. N - 1) {
        assert(!busy[i]);
        if
        :: phase[i] == GONE -> assert(ends[i] == 1 && life[i] == NONE && (i == 0 || !kid[i]))
        :: else ->
            assert(phase[i] == NORMAL && susp[i] == 0 && !reported[i] && life[i] == STARTED);
            assert(len(lane[i]) == 0 && len(held[i]) == 0 && !DIRECTIVES(i) && !urgent[i]);
            assert(i == 0 || phase[PARENT(i)] == NORMAL)
        fi
    }
}

init {
    byte i;
    atomic {
        for (i : 0 .. N - 1) {
            kid[i] = (i > 0);
            run Cell(i)
        };
#ifdef NEW
        phase[3] = FRESH; life[3] = NONE; urgent[3] = true
#endif
    }
}
