/* bounded.pml - senders that wait for room in a bounded mailbox: their records, the line they stand
 * in, and who takes a record out of it.
 *
 * The mailbox takes one message. A sender sends BURST in a callback, MSGS in all; the record of what
 * finds no room is in the line, on its way home (ROOM), or freed. What happens under the bounded mailbox's mutex
 * is one step, so is a timer's disarming. LIMIT: records have a timer. SUSPEND: a parent suspends and
 * resumes the senders. STOP: the first sender is stopped; CLOSE: the receiver is.
 *
 * form small room    -DSENDERS=1 -DSUSPEND -DMSGS=4 -DBURST=3
 * form small line    -DSENDERS=2 -DSUSPEND -DMSGS=3
 * form small limit   -DSENDERS=1 -DLIMIT -DSUSPEND -DMSGS=3
 * form small stop    -DSENDERS=2 -DSTOP
 * form small ends    -DSENDERS=1 -DSTOP -DCLOSE -DLIMIT
 * form large all     -DSENDERS=1 -DSTOP -DCLOSE -DLIMIT -DSUSPEND -DMSGS=3
 * form large two     -DSENDERS=2 -DSTOP -DLIMIT
 * mutant room M_RESUME_CLEARS    a resume of a suspended sender ends its parking
 * mutant room M_NO_RETURN        who has found room is not told
 * mutant room M_TWO_HOME         the first record that comes home ends the parking
 * mutant limit M_NOT_WAITING     a limit does not look whether its record still waits
 * mutant limit M_NO_USER         a timer that was taken out to fire is no user of its record
 * mutant limit M_DISARM          a timer that was disarmed is counted as a user
 * mutant stop M_END_FREES        a sender's end frees its record and leaves it in the line
 * mutant ends M_ROOM_LOST        a record that comes home to a sender that is gone is not freed
 * mutant ends M_CLOSE_KEEPS      a receiver's end leaves the line as it is
 */
/* stamps: run.py --stamp writes them
 * stamp cell/state.h:axo__state_unwait c393dde86b5e
 * stamp cell/state.h:axo__state_wait d9fa2e5e6cce
 * stamp mailbox/bounded.c:axo__bounded_close_owner 779cc6283486
 * stamp mailbox/bounded.c:axo__bounded_expire_any 4c421cf539de
 * stamp mailbox/bounded.c:axo__bounded_let_in_any bb639b916ddc
 * stamp mailbox/bounded.c:axo__bounded_put_any 1e68e3088f47
 * stamp mailbox/bounded.c:axo__bounded_take_owner 39777e12a259
 * stamp mailbox/bounded.c:bounded_done b4e516627363
 * stamp mailbox/bounded.c:bounded_hold 8a52eb52e339
 * stamp mailbox/bounded.c:bounded_line_remove ac308f9d4a4b
 * stamp mailbox/bounded.c:bounded_move_line c60d90249b3e
 * stamp mailbox/bounded.c:bounded_overflow 576b03ec757c
 * stamp mailbox/bounded.c:bounded_put 48233082aee2
 * stamp mailbox/bounded.c:bounded_unhold 833e68e9de75
 * stamp mailbox/bounded.c:bounded_unqueue 8b17d95b4f73
 * stamp sched/parked.c:axo__parked_closed 1152ab5c5477
 * stamp sched/parked.c:axo__parked_end 957c22207261
 * stamp sched/parked.c:axo__parked_find c9527ae56a4b
 * stamp sched/parked.c:axo__parked_free cf0d157cd3d6
 * stamp sched/parked.c:axo__parked_held 479de5b89706
 * stamp sched/parked.c:axo__parked_home be9ab6919671
 * stamp sched/parked.c:axo__parked_limit 55d67d71f6f9
 * stamp sched/parked.c:axo__parked_make f339833b5d97
 * stamp sched/parked.c:axo__parked_return 862c39eaec91
 * stamp sched/parked.c:axo__parked_undo a2eed43ee7b2
 * stamp sched/parked.c:parked_drop d3a4b427ca78
 * stamp sched/parked.c:parked_fire b1e2be5abc8d
 * stamp sched/parked.c:parked_go_on 90a48d8bd902
 * stamp sched/run.c:run_take_attended c3252b00bb97
 * stamp sched/send.c:send_bounded 31c86539ea81
 * stamp sched/send.c:send_park 447d689cdec1
 * stamp sched/timer.c:axo__timer_disarm e7bb27a7f1ba
 * stamp sched/timer.c:timer_collect 80a3584b59bd
 * stamp super/gone.c:axo__gone_drain_users bebdee6377c1
 * stamp super/gone.c:axo__gone_expire 4e05817f01f9
 */
#ifndef SENDERS
#define SENDERS 2
#endif
#ifndef MSGS
#define MSGS 2
#endif
#ifndef BURST
#define BURST 2
#endif
#define RECORDS (2 * SENDERS)
mtype = { FREED, FRESH, WAITS, DONE };

/* ---- the bounded mailbox, under its mutex ---- */
chan queued = [SENDERS * MSGS] of { byte, byte };
chan line = [RECORDS] of { byte };
bool box_closed, receiver_findable = true, receiver_gone;
/* ---- records ---- */
mtype state[RECORDS] = FREED;
byte held[RECORDS], first[RECORDS], users[RECORDS];
bool armed[RECORDS], stops[RECORDS];
/* ---- senders ---- */
bool waiting[SENDERS], findable[SENDERS] = true, gone[SENDERS];
byte suspends[SENDERS];
chan room[SENDERS] = [2] of { byte };
short shift[SENDERS];
bool stop[SENDERS], close;
/* ---- ghosts ---- */
byte next[SENDERS], fates[SENDERS], frees[RECORDS], makes[RECORDS];

#define OWNER(r) ((r) / 2)
#define ALIVE(r) assert(state[r] != FREED)
#define FITS (len(queued) == 0)

/* parked_drop sched/parked.c */
inline drop(r)
{
    ALIVE(r);
    users[r]--;
    if :: users[r] == 0 -> state[r] = FREED; frees[r]++ :: else fi
}
/* axo__parked_free sched/parked.c; axo__timer_disarm sched/timer.c */
inline free(r)
{
    atomic {
        ALIVE(r);
#ifdef M_DISARM
        armed[r] = false;
#else
        if :: armed[r] -> armed[r] = false; users[r] = 1 :: else fi;
#endif
        drop(r)
    }
}
inline bury(r)
{
    fates[OWNER(r)] = fates[OWNER(r)] + held[r]; held[r] = 0
}
/* axo__parked_return sched/parked.c */
inline return_home(r)
{
#ifdef M_NO_RETURN
    skip
#else
    if
    :: findable[OWNER(r)] -> room[OWNER(r)]!r
    :: else -> free(r)
    fi
#endif
}
/* bounded_move_line mailbox/bounded.c; bounded_done mailbox/bounded.c: at most one finds room */
inline move_line()
{
    if
    :: len(line) > 0 && FITS ->
        line?r; ALIVE(r);
        queued!OWNER(r), first[r]; first[r]++; held[r]--;
        if
        :: held[r] > 0 -> line!r
        :: else -> state[r] = DONE; is_done = true; done = r
        fi;
        r = 0
    :: else
    fi
}
inline tell_done()
{
    if :: is_done -> is_done = false; return_home(done) :: else fi;
    done = 0
}

/* ---- the sender ---- */

/* axo__bounded_put_any mailbox/bounded.c; bounded_put mailbox/bounded.c; bounded_overflow mailbox/bounded.c; bounded_hold
 * mailbox/bounded.c; send_bounded sched/send.c; send_park sched/send.c; axo__parked_find sched/parked.c;
 * axo__parked_make sched/parked.c; axo__parked_held sched/parked.c; axo__parked_limit
 * sched/parked.c */
inline send()
{
    atomic {
        r = 2 * me;
        if :: state[r] != WAITS && state[r + 1] == WAITS -> r++ :: else fi;   /* its latest */
        if
        :: !receiver_findable -> fates[me]++
        :: receiver_findable && box_closed -> fates[me]++            /* the expiry's */
        :: receiver_findable && !box_closed && state[r] == WAITS -> held[r]++
        :: receiver_findable && !box_closed && state[r] != WAITS && len(line) == 0 && FITS ->
            queued!me, sent
        :: else ->
            r = 2 * me;
            if :: state[r] != FREED -> r++ :: else fi;
            assert(state[r] == FREED);
            state[r] = WAITS; makes[r]++; users[r] = 1; held[r] = 1; first[r] = sent;
            line!r;
            is_new = true
        fi;
        sent++
    };
    if
    :: is_new ->                            /* nobody else frees a record that has not come home */
        atomic {
            stops[r] = true; waiting[me] = true; is_new = false;
#ifdef LIMIT
            users[r] = 2; armed[r] = true
#endif
        }
    :: else
    fi;
    r = 0
}
/* axo__parked_home sched/parked.c; parked_go_on sched/parked.c; axo__state_wait cell/state.h;
 * axo__state_unwait cell/state.h */
inline home()
{
    atomic {
        room[me]?r;
        ALIVE(r); assert(state[r] == DONE);
        stops[r] = false
    };
    free(r);
#ifdef M_TWO_HOME
    waiting[me] = false;
#else
    if :: !stops[2 * me] && !stops[2 * me + 1] -> waiting[me] = false :: else fi;
#endif
    r = 0
}
/* axo__parked_undo sched/parked.c; axo__parked_end sched/parked.c; axo__bounded_let_in_any
 * mailbox/bounded.c; bounded_line_remove mailbox/bounded.c */
inline end_record()
{
    if
    :: stops[r] ->
        stops[r] = false;
        was = false;
        atomic {
            if
            :: receiver_findable && state[r] == WAITS ->
#ifndef M_END_FREES
                line??eval(r);
                if
                :: box_closed -> bury(r)
                :: else ->
                    do
                    :: held[r] > 0 -> queued!me, first[r]; first[r]++; held[r]--
                    :: else -> break
                    od
                fi;
#endif
                state[r] = DONE; was = true
            :: else
            fi
        };
        if :: was -> free(r) :: else fi
    :: else
    fi
}
proctype Sender(byte me)
{
    byte r, sent, left;
    bool is_new, was;
end_idle:
    do
    :: len(room[me]) > 0 -> home()
    :: atomic { shift[me] != 0 ->
        suspends[me] = suspends[me] + shift[me];
#ifdef M_RESUME_CLEARS
        if :: shift[me] < 0 -> waiting[me] = false :: else fi;
#endif
        shift[me] = 0 }
    :: atomic { !waiting[me] && suspends[me] == 0 && sent < MSGS ->
        assert(!stops[2 * me] && !stops[2 * me + 1]);       /* parked: it takes no messages */
        left = BURST };
       do
       :: left > 0 && sent < MSGS -> left--; send()
       :: else -> left = 0; break
       od
    :: stop[me] ->
        stop[me] = false; waiting[me] = false;
        r = 2 * me; end_record();
        r = 2 * me + 1; end_record();
        findable[me] = false;
        break
    od;
    gone[me] = true
}

/* ---- the receiver ---- */

/* axo__bounded_take_owner mailbox/bounded.c; bounded_unqueue mailbox/bounded.c; run_take_attended sched/run.c;
 * axo__bounded_close_owner mailbox/bounded.c; bounded_unhold mailbox/bounded.c; axo__gone_drain_users
 * super/gone.c */
active proctype Receiver()
{
    byte r, done, who, what;
    bool is_done;
end_idle:
    do
    :: atomic { len(queued) > 0 ->
        queued?who, what;
        assert(next[who] <= what); next[who] = what + 1; fates[who]++;
        who = 0; what = 0;
        move_line() };
       tell_done()
    :: close -> close = false; break
    od;
    receiver_findable = false;
    atomic {
        box_closed = true;
        do :: len(queued) > 0 -> queued?who, what; fates[who]++ :: else -> break od;
        who = 0; what = 0
    };
#ifndef M_CLOSE_KEEPS
    do
    :: atomic { len(line) > 0 -> line?r; ALIVE(r); bury(r); state[r] = DONE };
       return_home(r)
    :: atomic { len(line) == 0 -> break }
    od;
#endif
    receiver_gone = true
}

/* ---- others ---- */

/* parked_fire sched/parked.c; axo__bounded_expire_any mailbox/bounded.c; timer_collect sched/timer.c */
#ifdef LIMIT
active proctype Timer()
{
    byte r, record, done, fires = 2;
    bool is_done, was;
    do
    :: fires > 0 ->
        fires--;
end_t:  if
        :: atomic { armed[0] -> armed[0] = false; record = 0 }
        :: atomic { armed[1] -> armed[1] = false; record = 1 }
#if RECORDS > 2
        :: atomic { armed[2] -> armed[2] = false; record = 2 }
        :: atomic { armed[3] -> armed[3] = false; record = 3 }
#endif
        fi;
#ifdef M_NO_USER
        users[record]--;
#endif
        if
        :: receiver_findable ->
            atomic {
                ALIVE(record);
                if
#ifdef M_NOT_WAITING
                :: true ->
                    if :: line??[eval(record)] -> line??eval(record)
                       :: !(line??[eval(record)]) fi;
#else
                :: state[record] == WAITS ->
                    line??eval(record);
#endif
                    bury(record); was = true; state[record] = DONE; move_line()
                :: else
                fi
            };
            if :: was -> was = false; return_home(record) :: else fi;
            tell_done()
        :: else
        fi;
#ifndef M_NO_USER
        atomic { drop(record) };
#endif
        record = 0
    :: else -> break
    od
}
#endif
#ifdef SUSPEND
active proctype Parent()
{
    atomic { shift[0]++ };
    atomic { shift[0]-- }
}
#endif
#ifdef STOP
active proctype Stopper() { stop[0] = true }
#endif
#ifdef CLOSE
active proctype Closer() { close = true }
#endif

/* Grace is over for those who have ended: axo__gone_expire super/gone.c; axo__parked_closed
 * sched/parked.c */
init {
    byte i, r;
    atomic {
        i = 0;
        do
        :: i < SENDERS -> run Sender(i); i++
        :: else -> break
        od;
        i = 0
    };
    timeout ->
    atomic {
        do
        :: i < SENDERS ->
            if
            :: gone[i] ->
                do
                :: len(room[i]) > 0 ->
                    room[i]?r;
#ifndef M_ROOM_LOST
                    free(r)
#endif
                :: else -> break
                od
            :: else ->
                assert(!waiting[i] && suspends[i] == 0 && len(room[i]) == 0);
                assert(fates[i] == MSGS)                /* all of it taken or dead */
            fi;
            i++
        :: else -> break
        od;
        i = 0;
        do
        :: i < RECORDS -> assert(state[i] == FREED && frees[i] == makes[i]); i++
        :: else -> break
        od;
        assert(len(line) == 0 && len(queued) == 0)
    }
}
