/* process.pml - an actor here and its process, each of which sleeps until the other has said
 * something, or has made room for it.
 *
 * N messages come to the actor one by one, which writes them into a ring with room for IN. The
 * process puts the first one aside and says nothing of it; of the others it says that they are
 * handled, in a ring with room for OUT. When nobody can do anything, all has been said and read: no
 * time-out is needed, of those that there are beside. What is stored to an index waits in a buffer
 * until its thread's next exchange, or until the machine empties it, one before or after the other.
 * Left out: orders, failures, the end of a process, records of several sizes.
 *
 * form small narrow -DN=3 -DIN=1 -DOUT=1
 * form small wide -DN=3 -DIN=2 -DOUT=1
 * form large four -DN=4 -DIN=2 -DOUT=2
 * mutant narrow M_WANTS_LOADED  the host looks whether room is wanted without an exchange
 * mutant narrow M_NO_ROOM_LOOK  before it sleeps it does not look whether there is room
 * mutant wide M_NO_LOOK       nor whether there is something to read
 * mutant narrow M_SLEEPS_LATE   it says that it sleeps when it has looked
 * mutant narrow M_IDLES_FIRST   the process says that it sleeps when it has looked
 * mutant narrow M_FULL_ONCE     it wants room, and does not look again
 * mutant narrow M_FULL_SILENT   it waits for room, and does not wake the host
 * mutant narrow M_SLEEPS_SILENT it sleeps, and does not wake the host
 */
/* stamps: run.py --stamp writes them
 * stamp process/child.c:child_give db54945d3d3c
 * stamp process/child.c:child_let_go be7cf3250207
 * stamp process/child.c:child_sleep cc725f4e253a
 * stamp process/child.c:child_wait_for_room 629e47c20ce3
 * stamp process/child.c:child_wake_host 3fda50fa84b6
 * stamp process/child.c:child_write 44acbdfe4ef1
 * stamp process/link.c:process_link_drain 60c1f7d4fb02
 * stamp process/link.c:process_link_waits a970832855b1
 * stamp process/link.c:process_link_wake 8856c87db343
 * stamp process/proxy.c:proxy_rest b9dedd50de8f
 * stamp process/proxy.c:proxy_waits 3015cb54106e
 * stamp process/proxy.c:proxy_write 3ba17f27f984
 * stamp process/ring.c:process_ring_done 9ba7db8e5126
 * stamp process/ring.c:process_ring_has_room d6132ce0dc97
 * stamp process/ring.c:process_ring_read be5f20eb68b0
 * stamp process/ring.c:process_ring_write 438a24ad27aa
 * stamp process/ring.c:ring_reader 7e45020e61c9
 */
#ifndef N
#define N 3
#endif
#ifndef IN
#define IN 1
#endif
#ifndef OUT
#define OUT 1
#endif
#define RECORDS 1                                 /* PROXY_RECORDS: that are read in one callback */

byte come, given, heard;                          /* by the host itself */
byte taken, said;                                 /* by the process itself */
byte in_written, in_read, out_written, out_read;  /* as the other one sees them */
bool host_sleeps, process_sleeps, wants_room;
bool host_byte, process_byte;                     /* there is one in the socket */
bool look, fresh;                                 /* a PROCESS_LOOK, a message */

#define HOST_EXCHANGE    in_written = given; out_read = heard
#define PROCESS_EXCHANGE in_read = taken; out_written = said

active proctype machine()
{
end:
    do
    :: atomic { in_written != given -> in_written = given }
    :: atomic { out_read != heard -> out_read = heard }
    :: atomic { in_read != taken -> in_read = taken }
    :: atomic { out_written != said -> out_written = said }
    od
}

active proctype user()
{
    do
    :: come < N -> atomic { come++; fresh = true }
    :: else -> break
    od
}

#define TO_READ (out_written != heard)
#define ROOM    (given < come && given - in_read < IN)

active proctype host()
{
    byte records;
    bool wrote, waits;
end:
    do
    :: atomic { host_byte || look || fresh -> host_byte = false; look = false; fresh = false };
       /* process_link_drain process/link.c; process_ring_read process/ring.c */
       records = 0;
       do
       :: records < RECORDS && TO_READ -> heard++; records++ /* process_ring_done process/ring.c */
       :: else -> break
       od;
#ifdef M_WANTS_LOADED
       if :: wants_room -> atomic { HOST_EXCHANGE; wants_room = false; process_byte = true } :: else fi;
#else
       atomic {
           HOST_EXCHANGE;
           if :: wants_room -> wants_room = false; process_byte = true :: else fi
       };
#endif
       /* proxy_write process/proxy.c; process_ring_write process/ring.c; ring_reader process/ring.c */
       wrote = false;
       do
       :: ROOM -> given++; wrote = true
       :: else -> break
       od;
       if
       :: wrote -> atomic {                       /* process_link_wake process/link.c */
              HOST_EXCHANGE;
              if :: process_sleeps -> process_sleeps = false; process_byte = true :: else fi
          }
       :: else
       fi;
       /* proxy_rest process/proxy.c; proxy_waits process/proxy.c; process_link_waits process/link.c;
        * process_ring_has_room process/ring.c */
#ifndef M_SLEEPS_LATE
       atomic { HOST_EXCHANGE; host_sleeps = true };
#endif
       waits = false;
#ifndef M_NO_LOOK
       waits = TO_READ;
#endif
#ifndef M_NO_ROOM_LOOK
       waits = waits || ROOM;
#endif
#ifdef M_SLEEPS_LATE
       atomic { HOST_EXCHANGE; host_sleeps = true };
#endif
       if :: waits -> look = true :: else fi
    od
}

/* child_wake_host process/child.c */
inline wake_host()
{
    atomic {
        PROCESS_EXCHANGE;
        if :: host_sleeps -> host_sleeps = false; host_byte = true :: else fi
    }
}

active proctype process()
{
    bool idle;
    do
    :: in_written != taken ->
       taken++;                                   /* child_give process/child.c */
       if
       :: taken == 1                              /* put aside: child_let_go process/child.c */
       :: else ->
          /* child_write process/child.c; child_wait_for_room process/child.c */
          do
          :: said - out_read < OUT -> said++; break
          :: else ->
             atomic { PROCESS_EXCHANGE; wants_room = true };
#ifndef M_FULL_ONCE
             if :: said - out_read < OUT -> said++; break :: else fi;
#endif
#ifndef M_FULL_SILENT
             wake_host();
#endif
end_full:    atomic { process_byte -> process_byte = false }
          od
       fi
    :: else ->                                    /* child_sleep process/child.c */
#ifndef M_SLEEPS_SILENT
       wake_host();
#endif
#ifdef M_IDLES_FIRST
       idle = in_written == taken;
       atomic { PROCESS_EXCHANGE; process_sleeps = true };
#else
       atomic { PROCESS_EXCHANGE; process_sleeps = true };
       idle = in_written == taken;
#endif
       if
       :: idle ->
end_idle: atomic { process_byte -> process_byte = false }
       :: else
       fi;
       process_sleeps = false
    od
}

active proctype judge()
{
    timeout -> assert(come == N && given == N && taken == N && said == N - 1 && heard == N - 1)
}
