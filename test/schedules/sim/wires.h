/* wires.h - the checker of streams and listeners: a system of its own, behind each seed's trees.
 *
 * A listener, connections that it accepts, and actors with a stream of their own, over sockets
 * that exist in the simulator only (sockets.h). What the actors do to their streams, what the peers
 * do, when memory or descriptors are short, who fails, stops, is restarted, is drawn from the seed.
 * The model of a connection knows each byte by its number: what goes in on one side comes out on
 * the other, once and in order, up to its end or the first reset; ends are told once and behind it.
 */
#ifndef TEST_SIM_WIRES_H
#define TEST_SIM_WIRES_H

#include "sockets.h"
#include "world.h"

#define WIRES_ACTORS 64
#define WIRES_TAKEN  4 /* the longest delimiter, and a byte */

enum { TAG_WIRE_GO = 40, TAG_WIRE_CLOSE = 41, TAG_WIRE_ANSWER = 42 };

/* A connection; its socket has the same number. */
typedef struct wire {
    sockets_one *socket;
    uint64_t owner;     /* the actor that has opened it as a stream; 0: nobody has */
    uint32_t instance;  /* of the owner */
    uint32_t key;       /* of its bytes; both ways differ */
    /* ---- how its actor uses it ---- */
    size_t input_max;
    size_t high;
    size_t low;
    int64_t patience;   /* the shortest of its deadlines; 0: it has none */
    uint32_t way;       /* in which it takes */
    uint32_t count;     /* bytes of a piece, of a delimiter */
    bool echoes;        /* writes as many bytes as it takes */
    /* ---- what its peer does ---- */
    uint32_t budget;    /* bytes that it will put */
    bool deaf;          /* it never reads */
    bool mute;          /* it never ends its direction */
    /* ---- what has been ---- */
    bool open;          /* as a stream */
    bool ended;         /* the end of the input was told */
    bool ending;        /* axo_stream_end or axo_stream_close was called */
    bool closing;       /* axo_stream_close with a time was */
    bool paused;
    uint64_t credit;    /* bytes that may be read still */
    bool owed;          /* room is to be told */
    bool looked;        /* it has found that room, or nearly: it may be told all the same */
    bool whole;         /* AXO_STREAM_CLOSED came, and it was in order */
    int64_t opened;     /* when it was */
    int64_t since;      /* when axo_stream_close was called, and with which time */
    int64_t drain;
    uint64_t put;       /* bytes by the peer */
    uint64_t taken;     /* by the actor */
    uint64_t executed;  /* bytes that the actor has tried to answer: accepted, ... */
    uint64_t wrote;
    uint64_t refused;   /* ... or refused */
    uint64_t got;       /* by the peer */
    uint64_t received;  /* as the stream said last */
    size_t most;        /* the longest write that was accepted */
    axo_stream_info info;
    /* ---- answers that it owes ---- */
    bool asks;          /* it has bounds of them */
    size_t bound;       /* of bytes that are outstanding; 0: none */
    uint32_t few;       /* of answers; 0: none */
    size_t longest;     /* of an answer, as its actor has said; 0: it has not */
    size_t counts;      /* bytes that an answer counts */
    uint32_t answers;   /* that are owed */
    uint32_t wanted;    /* the most that were refused together, since some were not */
    size_t allowed;     /* bytes that may be outstanding, where the longest is known */
} wire;

typedef struct wires {
    uint32_t count;     /* actors that there have been */
    uint32_t spawned;   /* by the program */
    uint32_t max;       /* connections of the listener; 0: no bound */
    bool refuses;       /* those beyond it */
    bool closing;       /* the listener was told to */
    axo_ref listener;
    axo_ref actors[WIRES_ACTORS];
    wire all[SOCKETS_MAX];
} wires;

extern wires wi;

/* ---- wires.c: the model ---- */

/* A connection is made; its buffers are drawn here. UINT32_MAX: it cannot be. */
uint32_t wires_make(uint32_t (*make)(uint32_t in, uint32_t out));

/* Byte `at` of a direction, as its key says. */
char wires_byte(uint32_t key, uint64_t at);
void wires_fill(char *to, uint32_t key, uint64_t at, size_t size);

/* The bytes are those that come next. */
void wires_check_bytes(const wire *it, uint32_t key, uint64_t at, const char *data, size_t size);

/* What is outstanding, by what the stream says that it holds. */
uint64_t wires_outstanding(const wire *it, const axo_stream_info *info);

/* Whether so many answers more fit. */
bool wires_fits(const wire *it, const axo_stream_info *info, uint32_t answers);

/* Whether it must say that they do: half of the bound is free, and what was refused fits. */
bool wires_is_free(const wire *it, const axo_stream_info *info, uint32_t answers);

/* What axo_stream_receive has told. */
void wires_told(axo_ctx *ctx, const axo_stream *its, wire *it, uint32_t told);

/* How the stream is, beside how it should be: at the end of each callback, and within it. */
void wires_see(axo_ctx *ctx, const axo_stream *its, wire *it);

/* ---- wires_act.c: the actors ---- */

/* `settles`: its class has settle. */
const axo_props *wires_props(bool settles);

/* The life is over. */
void wires_forget_blocks(void);

/* ---- wires_peers.c: the rest of the world ---- */

void wires_begin(void);
void wires_start(axo_system *system);

/* A call from outside or a peer's move; false: it does nothing. */
void wires_outside(axo_system *system);

/* Calls fail no more; peers do what is left to do. */
void wires_calm(void);

/* Each peer moves; false: there is nothing left for any. */
bool wires_peers(void);

/* Everybody is told to come to an end in order. */
void wires_close(axo_system *system);

/* Whether an actor is the listener: it stops children, and the model does not hear of it. */
bool wires_may_stop(uint64_t parent);

/* Nothing can run, no peer has anything to do; `closed`: and everybody was told to end. */
void wires_check_rest(bool closed);

/* The system has ended. */
void wires_check_end(void);

#endif
