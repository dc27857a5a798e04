/* wire.h - what nodes say to each other, as bytes. Version 1; all numbers little-endian, nothing
 * is aligned. One message of the transport is one packet:
 *
 *    0  u32  magic, "axoN"
 *    4  u16  version
 *    6  u16  kind, a cluster_packet_kind
 *    8  u32  length of the packet
 *   12  u32  which token, a hash of it: the token itself is nowhere
 *   16  u64  which cluster, a hash of its name
 *   24  u64  incarnation of the node that speaks
 *   32  u64  incarnation of the node that is meant; 0: every node
 *   40  u32  how many parts
 *   44  u8   bytes of the name of the node that speaks, 1 to AXO_NODE_NAME_MAX
 *   45       that name, then the parts
 *   -8  u64  seal: SipHash-2-4 of all before it, its key made of the token and the cluster's name
 *
 * The parts of CLUSTER_LINK are frames of link.h, each:
 *    0  u32 kind   4  u32 bytes of the body   8  u64 number   16  u64 behind   24  u64 ack
 *   32  the body; of CLUSTER_ACK and CLUSTER_QUARANTINE none, of the others one cluster_body:
 *         0  u8 what   1  u8 known   2  u8 bytes of the name   3  u8 zero   4  u32 tag
 *         8  u64 to    16  u64 from, 0: nobody's
 *        24  with a name: u64 incarnation and the name of the node that `from` is of; without one
 *            it is of the node that speaks
 *            the payload, to the end; only of CLUSTER_WHAT_SEND, _PARCEL and _CHILD
 *       `to` and `from` are a reference's bits, as axo_remote_leave gives them. `to` is of the node
 *       that is meant; of CLUSTER_WHAT_TERMINATED it is who has ended, and of the one that speaks.
 *       The payload of CLUSTER_WHAT_PARCEL, a message to a grain, whose kind is `to`, and `known`
 *       of which says that it goes back, is
 *         0  u64 node where it was sent   8  u64 node, 16  u64 incarnation, 24  u64 term of the
 *        32  u32 hops  36  u32 tries      claim that was seen, or zeroes
 *        40  u8 bytes of the key, 1 to CLUSTER_PARCEL_KEY_MAX
 *        41  the key, then the payload of the message, to the end
 *       CLUSTER_WHAT_CHILD is said between a child's stand-in and its keeper (child.c), `from` is
 *       of the node that speaks, `tag` a cluster_word_kind, and the payload a word:
 *         0  u64 bits   8  u32 order   12  u32 what   16  u32 code   20  its bytes, to the end
 *           SPAWN  bits: the parent; what: bytes of the class's name, which is followed by the
 *                  arguments. `to` is 1: whoever keeps children there
 *           UP     bits: the child
 *           DOWN   code, and a text: there is none
 *           FAIL   what: an axo_failure_kind; code, and a text
 *           ORDER  what: an axo_directive, Resume, Restart or Stop
 * CLUSTER_BEAT has one part, u64 number; CLUSTER_ENTRY one, u64 phase, CLUSTER_CLAIM u64 term;
 * CLUSTER_LEAVE has none. CLUSTER_FIND has one: u64 id, then the key, to the end. CLUSTER_FOUND has
 * one: u64 id, u64 bits, 0: nobody has the key.
 *
 * A reader looks at magic, version, length, cluster, token and seal in this order, before anything
 * else, and at the form of every part before it takes the first one: a packet is taken as a whole
 * or refused as a whole, and counted by the reason. The seal keeps out whoever has not the token,
 * and damage; it hides nothing (TLS does), and whoever has the token may say anything. */
#ifndef CLUSTER_WIRE_H
#define CLUSTER_WIRE_H

#include <axo/remote.h>

#include "link.h"

#define CLUSTER_MAGIC   UINT32_C(0x4e6f7861)
#define CLUSTER_VERSION 1

#define CLUSTER_HEAD_SIZE  45 /* of a packet, without the name */
#define CLUSTER_SEAL_SIZE  8
#define CLUSTER_FRAME_SIZE 32 /* without the body */
#define CLUSTER_BODY_SIZE  24 /* without name and payload */
#define CLUSTER_SLIP_SIZE  41 /* without key and payload */
#define CLUSTER_PARCEL_KEY_MAX 64
/* Of a body without payload, at most. */
#define CLUSTER_BODY_MAX (CLUSTER_BODY_SIZE + 8 + AXO_NODE_NAME_MAX)
/* Of what stands around the frames of a packet, at most. */
#define CLUSTER_AROUND_MAX (CLUSTER_HEAD_SIZE + AXO_NODE_NAME_MAX + CLUSTER_SEAL_SIZE)
/* Of a reference's bits on the wire. */
#define CLUSTER_BITS_END (UINT64_C(1) << 56)
#define CLUSTER_WORD_SIZE 20 /* without its bytes */
/* Of a class's name, and of arguments. */
#define CLUSTER_CLASS_MAX 127
#define CLUSTER_ARGS_MAX  32768

typedef enum cluster_packet_kind {
    CLUSTER_LINK = 1,  /* frames of a link */
    CLUSTER_BEAT = 2,  /* the node is there */
    CLUSTER_LEAVE = 3, /* the node goes */
    CLUSTER_FIND = 4,  /* who has a key of the registry there? */
    CLUSTER_FOUND = 5, /* the answer */
    CLUSTER_ENTRY = 6, /* none of a transport: the value of an entry in a bucket */
    CLUSTER_CLAIM = 7  /* nor this: that of a lease, or of a claim to a grain, in a stream */
} cluster_packet_kind;

typedef enum cluster_what {
    CLUSTER_WHAT_SEND = 1, /* these three as users' messages, the others as system messages */
    CLUSTER_WHAT_POISON = 2,
    CLUSTER_WHAT_KILL = 3,
    CLUSTER_WHAT_STOP = 4,
    CLUSTER_WHAT_WATCH = 5,
    CLUSTER_WHAT_UNWATCH = 6,
    CLUSTER_WHAT_TERMINATED = 7,
    CLUSTER_WHAT_PARCEL = 8, /* as a user's message */
    CLUSTER_WHAT_CHILD = 9
} cluster_what;

typedef enum cluster_word_kind {
    CLUSTER_WORD_SPAWN = 1, /* of a stand-in */
    CLUSTER_WORD_UP = 2,    /* these three of a keeper */
    CLUSTER_WORD_DOWN = 3,
    CLUSTER_WORD_FAIL = 4,
    CLUSTER_WORD_ORDER = 5 /* of a stand-in */
} cluster_word_kind;

typedef enum cluster_refusal {
    CLUSTER_GOOD = 0,
    CLUSTER_NOT_OURS = 1, /* no packet at all: too short for one, or another magic */
    CLUSTER_OF_VERSION = 2,
    CLUSTER_OF_LENGTH = 3, /* it says another one than it has */
    CLUSTER_OF_CLUSTER = 4,
    CLUSTER_OF_TOKEN = 5,
    CLUSTER_OF_SEAL = 6,
    CLUSTER_OF_FORM = 7 /* sealed, and yet not as this page says */
} cluster_refusal;
#define CLUSTER_REFUSALS 8

/* What the cluster's nodes have in common. */
typedef struct cluster_key {
    uint64_t seal[2];
    uint64_t cluster;
    uint32_t token;
} cluster_key;

typedef struct cluster_body {
    uint32_t what;
    uint32_t known;
    uint32_t tag;
    uint32_t payload_size;
    uint64_t to;
    uint64_t from;
    axo_node from_node; /* incarnation 0: the one that speaks */
    const void *payload;
} cluster_body;

/* The payload of a CLUSTER_WHAT_PARCEL. */
typedef struct cluster_slip {
    uint64_t origin;
    uint64_t holder[3];
    uint32_t hops;
    uint32_t tries;
    const unsigned char *key;
    size_t key_size;
    const void *payload; /* NULL: none */
    size_t payload_size;
} cluster_slip;

typedef struct cluster_word {
    uint32_t kind;     /* the body's tag */
    uint32_t order;
    uint32_t what;
    int32_t code;
    uint64_t bits;
    const void *bytes; /* SPAWN: the name, then the arguments; DOWN, FAIL: the text, without a 0 */
    size_t size;
} cluster_word;

typedef struct cluster_packet {
    uint32_t kind;
    uint32_t count;     /* of parts */
    axo_node from;
    uint64_t to;
    const unsigned char *parts; /* of the bytes that were read */
    size_t size;                /* of the parts */
} cluster_packet;

/* A FIND, or a FOUND; a BEAT, whose number is the id; an ENTRY, whose phase is; a CLAIM, whose term
 * is. */
typedef struct cluster_find {
    uint64_t id;
    uint64_t bits;   /* FOUND */
    const char *key; /* FIND; not ended by 0 */
    size_t key_size; /* 1 to AXO_KEY_MAX */
} cluster_find;

void cluster_key_of(cluster_key *out, const char *cluster, const char *token);

/* ---- writing: the caller has the room */

/* The head; count and length are filled in at the end.
 *   returns   its size, CLUSTER_AROUND_MAX at most */
size_t cluster_wire_begin(unsigned char *out, const cluster_key *key, cluster_packet_kind kind,
                          const axo_node *from, uint64_t to);
/* Behind `size` bytes of a packet with so many parts: the seal.
 *   returns   the size of the packet */
size_t cluster_wire_end(unsigned char *out, size_t size, uint32_t count, const cluster_key *key);
/* CLUSTER_FRAME_SIZE and frame->size bytes. */
size_t cluster_wire_put_frame(unsigned char *out, const cluster_frame *frame);
/* At most CLUSTER_BODY_MAX bytes and the payload. */
size_t cluster_wire_put_body(unsigned char *out, const cluster_body *body);
/* CLUSTER_SLIP_SIZE bytes, the key and the payload. */
size_t cluster_wire_put_slip(unsigned char *out, const cluster_slip *slip);
/* CLUSTER_WORD_SIZE and word->size bytes: the payload of a CLUSTER_WHAT_CHILD. */
size_t cluster_wire_put_word(unsigned char *out, const cluster_word *word);
/* Of a FIND 8 bytes and the key, of a FOUND 16, of a BEAT, an ENTRY and a CLAIM 8. */
size_t cluster_wire_put_find(unsigned char *out, cluster_packet_kind kind,
                             const cluster_find *find);

/* ---- reading */

cluster_refusal cluster_wire_read(const cluster_key *key, const void *bytes, size_t size,
                                  cluster_packet *out);
/* The next frame of a packet that was read; *at is 0 before the first one. false: there is none. */
bool cluster_wire_next(const cluster_packet *packet, size_t *at, cluster_frame *out);
/* false: it is none. Those of frames of a packet that was read are good. */
bool cluster_wire_read_body(const void *bytes, size_t size, cluster_body *out);
/* The payload of a CLUSTER_WHAT_PARCEL. false: it is none. Those of bodies that were read are
 * good. */
bool cluster_wire_read_slip(const cluster_body *body, cluster_slip *out);
/* The payload of a CLUSTER_WHAT_CHILD; false: it is none. Those of bodies that were read are good.
 */
bool cluster_wire_read_word(uint32_t kind, const void *bytes, size_t size, cluster_word *out);
/* The part of a FIND, a FOUND, a BEAT, an ENTRY or a CLAIM that was read. */
void cluster_wire_read_find(const cluster_packet *packet, cluster_find *out);

#endif
