/* wire.c - what nodes say to each other, as bytes. */
#include "wire.h"

#include <string.h>

#include <axo/registry.h>

#include "base/failure_kind.h"

/* ---- numbers ---- */

static void wire_put(unsigned char *out, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        out[i] = (unsigned char)(value >> 8 * i);
}

static uint64_t wire_get(const unsigned char *at, size_t bytes)
{
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; i++)
        value |= (uint64_t)at[i] << 8 * i;
    return value;
}

static uint32_t wire_get_u32(const unsigned char *at)
{
    return (uint32_t)wire_get(at, 4);
}

static uint64_t wire_get_u64(const unsigned char *at)
{
    return wire_get(at, 8);
}

/* ---- the seal ---- */

static uint64_t wire_left(uint64_t value, uint32_t by)
{
    return value << by | value >> (64 - by);
}

static void wire_mix(uint64_t v[4], uint32_t rounds)
{
    for (; rounds > 0; rounds--) {
        v[0] += v[1];
        v[1] = wire_left(v[1], 13) ^ v[0];
        v[0] = wire_left(v[0], 32);
        v[2] += v[3];
        v[3] = wire_left(v[3], 16) ^ v[2];
        v[0] += v[3];
        v[3] = wire_left(v[3], 21) ^ v[0];
        v[2] += v[1];
        v[1] = wire_left(v[1], 17) ^ v[2];
        v[2] = wire_left(v[2], 32);
    }
}

/* SipHash-2-4 (Aumasson and Bernstein). */
static uint64_t wire_hash(const uint64_t key[2], const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    uint64_t v[4] = {key[0] ^ UINT64_C(0x736f6d6570736575), key[1] ^ UINT64_C(0x646f72616e646f6d),
                     key[0] ^ UINT64_C(0x6c7967656e657261), key[1] ^ UINT64_C(0x7465646279746573)};
    size_t left = size;
    for (; left >= 8; left -= 8, at += 8) {
        uint64_t word = wire_get_u64(at);
        v[3] ^= word;
        wire_mix(v, 2);
        v[0] ^= word;
    }
    uint64_t last = wire_get(at, left) | (uint64_t)size << 56;
    v[3] ^= last;
    wire_mix(v, 2);
    v[0] ^= last;
    v[2] ^= 0xff;
    wire_mix(v, 4);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

void cluster_key_of(cluster_key *out, const char *cluster, const char *token)
{
    const char *text = token != NULL ? token : "";
    uint64_t key[2] = {CLUSTER_MAGIC, 1};
    memset(out, 0, sizeof *out);
    out->cluster = wire_hash(key, cluster, strlen(cluster));
    for (uint32_t i = 0; i < 2; i++) {
        key[0] = out->cluster;
        key[1] = 2 + i;
        out->seal[i] = wire_hash(key, text, strlen(text));
    }
    key[1] = 4;
    out->token = (uint32_t)wire_hash(key, text, strlen(text));
}

/* ---- writing ---- */

size_t cluster_wire_begin(unsigned char *out, const cluster_key *key, cluster_packet_kind kind,
                          const axo_node *from, uint64_t to)
{
    size_t name = strlen(from->name);
    wire_put(out, CLUSTER_MAGIC, 4);
    wire_put(out + 4, CLUSTER_VERSION, 2);
    wire_put(out + 6, kind, 2);
    wire_put(out + 8, 0, 4);
    wire_put(out + 12, key->token, 4);
    wire_put(out + 16, key->cluster, 8);
    wire_put(out + 24, from->incarnation, 8);
    wire_put(out + 32, to, 8);
    wire_put(out + 40, 0, 4);
    wire_put(out + 44, name, 1);
    memcpy(out + CLUSTER_HEAD_SIZE, from->name, name);
    return CLUSTER_HEAD_SIZE + name;
}

size_t cluster_wire_end(unsigned char *out, size_t size, uint32_t count, const cluster_key *key)
{
    wire_put(out + 8, size + CLUSTER_SEAL_SIZE, 4);
    wire_put(out + 40, count, 4);
    wire_put(out + size, wire_hash(key->seal, out, size), CLUSTER_SEAL_SIZE);
    return size + CLUSTER_SEAL_SIZE;
}

size_t cluster_wire_put_frame(unsigned char *out, const cluster_frame *frame)
{
    wire_put(out, frame->kind, 4);
    wire_put(out + 4, frame->size, 4);
    wire_put(out + 8, frame->number, 8);
    wire_put(out + 16, frame->behind, 8);
    wire_put(out + 24, frame->ack, 8);
    if (frame->size > 0) /* it may be there already */
        memmove(out + CLUSTER_FRAME_SIZE, frame->body, frame->size);
    return CLUSTER_FRAME_SIZE + frame->size;
}

size_t cluster_wire_put_body(unsigned char *out, const cluster_body *body)
{
    size_t size = CLUSTER_BODY_SIZE;
    size_t name = body->from_node.incarnation != 0 ? strlen(body->from_node.name) : 0;
    wire_put(out, body->what, 1);
    wire_put(out + 1, body->known != 0, 1);
    wire_put(out + 2, name, 1);
    wire_put(out + 3, 0, 1);
    wire_put(out + 4, body->tag, 4);
    wire_put(out + 8, body->to, 8);
    wire_put(out + 16, body->from, 8);
    if (name > 0) {
        wire_put(out + size, body->from_node.incarnation, 8);
        memcpy(out + size + 8, body->from_node.name, name);
        size += 8 + name;
    }
    if (body->payload_size > 0)
        memcpy(out + size, body->payload, body->payload_size);
    return size + body->payload_size;
}

size_t cluster_wire_put_slip(unsigned char *out, const cluster_slip *slip)
{
    wire_put(out, slip->origin, 8);
    for (size_t i = 0; i < 3; i++)
        wire_put(out + 8 + 8 * i, slip->holder[i], 8);
    wire_put(out + 32, slip->hops, 4);
    wire_put(out + 36, slip->tries, 4);
    wire_put(out + 40, slip->key_size, 1);
    memcpy(out + CLUSTER_SLIP_SIZE, slip->key, slip->key_size);
    if (slip->payload_size > 0)
        memcpy(out + CLUSTER_SLIP_SIZE + slip->key_size, slip->payload, slip->payload_size);
    return CLUSTER_SLIP_SIZE + slip->key_size + slip->payload_size;
}

size_t cluster_wire_put_word(unsigned char *out, const cluster_word *word)
{
    wire_put(out, word->bits, 8);
    wire_put(out + 8, word->order, 4);
    wire_put(out + 12, word->what, 4);
    wire_put(out + 16, (uint32_t)word->code, 4);
    if (word->size > 0)
        memcpy(out + CLUSTER_WORD_SIZE, word->bytes, word->size);
    return CLUSTER_WORD_SIZE + word->size;
}

/* One number and nothing else. */
static bool wire_is_number(uint32_t kind)
{
    return kind == CLUSTER_BEAT || kind == CLUSTER_ENTRY || kind == CLUSTER_CLAIM;
}

size_t cluster_wire_put_find(unsigned char *out, cluster_packet_kind kind, const cluster_find *find)
{
    wire_put(out, find->id, 8);
    if (kind == CLUSTER_FOUND) {
        wire_put(out + 8, find->bits, 8);
        return 16;
    }
    if (wire_is_number(kind))
        return 8;
    memcpy(out + 8, find->key, find->key_size);
    return 8 + find->key_size;
}

/* ---- reading ---- */

/* A name has no 0 in it. */
static bool wire_read_name(const unsigned char *at, size_t size, char out[AXO_NODE_NAME_MAX + 1])
{
    if (size == 0 || size > AXO_NODE_NAME_MAX || memchr(at, 0, size) != NULL)
        return false;
    memset(out, 0, AXO_NODE_NAME_MAX + 1);
    memcpy(out, at, size);
    return true;
}

bool cluster_wire_read_slip(const cluster_body *body, cluster_slip *out)
{
    const unsigned char *at = body->payload;
    size_t size = body->payload_size;
    memset(out, 0, sizeof *out);
    if (size < CLUSTER_SLIP_SIZE || at[40] == 0 || at[40] > CLUSTER_PARCEL_KEY_MAX ||
        body->to > UINT32_MAX || body->tag >= AXO_TAG_SERVICES)
        return false;
    out->key_size = at[40];
    if (size < CLUSTER_SLIP_SIZE + out->key_size)
        return false;
    out->origin = wire_get_u64(at);
    for (size_t i = 0; i < 3; i++)
        out->holder[i] = wire_get_u64(at + 8 + 8 * i);
    out->hops = wire_get_u32(at + 32);
    out->tries = wire_get_u32(at + 36);
    out->key = at + CLUSTER_SLIP_SIZE;
    out->payload_size = size - CLUSTER_SLIP_SIZE - out->key_size;
    out->payload = out->payload_size > 0 ? out->key + out->key_size : NULL;
    return out->origin != 0;
}

static bool wire_is_spawn(const cluster_word *word)
{
    return word->what > 0 && word->what <= CLUSTER_CLASS_MAX && word->what <= word->size &&
           word->size - word->what <= CLUSTER_ARGS_MAX && word->bits != 0 &&
           word->bits < CLUSTER_BITS_END && memchr(word->bytes, 0, word->what) == NULL;
}

static bool wire_is_word(const cluster_word *word)
{
    switch ((cluster_word_kind)word->kind) {
    case CLUSTER_WORD_SPAWN:
        return wire_is_spawn(word);
    case CLUSTER_WORD_UP:
        return word->bits != 0 && word->bits < CLUSTER_BITS_END && word->size == 0;
    case CLUSTER_WORD_DOWN:
        return word->size < AXO_FAILURE_TEXT_MAX;
    case CLUSTER_WORD_FAIL:
        return word->size < AXO_FAILURE_TEXT_MAX && axo__is_failure_kind(word->what);
    case CLUSTER_WORD_ORDER:
        return word->what >= AXO_RESUME && word->what <= AXO_STOP && word->size == 0;
    }
    return false;
}

bool cluster_wire_read_word(uint32_t kind, const void *bytes, size_t size, cluster_word *out)
{
    const unsigned char *at = bytes;
    memset(out, 0, sizeof *out);
    if (size < CLUSTER_WORD_SIZE)
        return false;
    *out = (cluster_word){.kind = kind, .bits = wire_get_u64(at), .order = wire_get_u32(at + 8),
                          .what = wire_get_u32(at + 12), .code = (int32_t)wire_get_u32(at + 16),
                          .bytes = at + CLUSTER_WORD_SIZE, .size = size - CLUSTER_WORD_SIZE};
    return wire_is_word(out);
}

/* Who has a payload: a message, any; a parcel, a slip that is good; a word of a child, one that is
 * good, of the node itself. */
static bool wire_has_payload(const cluster_body *body)
{
    cluster_word word;
    cluster_slip slip;
    if (body->what == CLUSTER_WHAT_PARCEL)
        return cluster_wire_read_slip(body, &slip);
    if (body->what != CLUSTER_WHAT_CHILD)
        return body->what == CLUSTER_WHAT_SEND || body->payload_size == 0;
    return body->from != 0 && body->from_node.incarnation == 0 &&
           cluster_wire_read_word(body->tag, body->payload, body->payload_size, &word) &&
           (word.kind != CLUSTER_WORD_SPAWN || body->to == 1);
}

bool cluster_wire_read_body(const void *bytes, size_t size, cluster_body *out)
{
    const unsigned char *at = bytes;
    memset(out, 0, sizeof *out);
    if (size < CLUSTER_BODY_SIZE || at[3] != 0 || at[1] > 1)
        return false;
    size_t name = at[2];
    size_t head = CLUSTER_BODY_SIZE + (name > 0 ? 8 + name : 0);
    out->what = at[0];
    out->known = at[1];
    out->tag = wire_get_u32(at + 4);
    out->to = wire_get_u64(at + 8);
    out->from = wire_get_u64(at + 16);
    if (out->what < CLUSTER_WHAT_SEND || out->what > CLUSTER_WHAT_CHILD || size < head ||
        out->to == 0 || out->to >= CLUSTER_BITS_END || out->from >= CLUSTER_BITS_END)
        return false;
    if (name > 0) {
        out->from_node.incarnation = wire_get_u64(at + CLUSTER_BODY_SIZE);
        if (out->from_node.incarnation == 0 || out->from == 0 ||
            !wire_read_name(at + CLUSTER_BODY_SIZE + 8, name, out->from_node.name))
            return false;
    }
    out->payload_size = (uint32_t)(size - head);
    out->payload = size > head ? at + head : NULL;
    return wire_has_payload(out);
}

bool cluster_wire_next(const cluster_packet *packet, size_t *at, cluster_frame *out)
{
    const unsigned char *part = packet->parts + *at;
    memset(out, 0, sizeof *out);
    if (packet->size - *at < CLUSTER_FRAME_SIZE)
        return false;
    *out = (cluster_frame){.kind = wire_get_u32(part), .size = wire_get_u32(part + 4),
                           .from = packet->from.incarnation, .to = packet->to,
                           .number = wire_get_u64(part + 8), .behind = wire_get_u64(part + 16),
                           .ack = wire_get_u64(part + 24), .body = part + CLUSTER_FRAME_SIZE};
    if (out->size > packet->size - *at - CLUSTER_FRAME_SIZE)
        return false;
    *at += CLUSTER_FRAME_SIZE + out->size;
    return true;
}

/* A message is on the lane that its promise asks for. */
static bool wire_is_frame(const cluster_frame *frame)
{
    cluster_body body;
    if (frame->kind == CLUSTER_ACK || frame->kind == CLUSTER_QUARANTINE)
        return frame->size == 0;
    if (frame->kind != CLUSTER_USER && frame->kind != CLUSTER_SYSTEM)
        return false;
    return frame->number > 0 && cluster_wire_read_body(frame->body, frame->size, &body) &&
           (frame->kind == CLUSTER_USER) ==
               (body.what <= CLUSTER_WHAT_KILL || body.what == CLUSTER_WHAT_PARCEL);
}

static bool wire_are_frames(const cluster_packet *packet)
{
    cluster_frame frame;
    size_t at = 0;
    for (uint32_t i = 0; i < packet->count; i++) {
        if (!cluster_wire_next(packet, &at, &frame) || !wire_is_frame(&frame))
            return false;
    }
    return packet->to != 0 && at == packet->size;
}

void cluster_wire_read_find(const cluster_packet *packet, cluster_find *out)
{
    memset(out, 0, sizeof *out);
    out->id = wire_get_u64(packet->parts);
    if (packet->kind == CLUSTER_FOUND) {
        out->bits = wire_get_u64(packet->parts + 8);
        return;
    }
    if (wire_is_number(packet->kind))
        return;
    out->key = (const char *)packet->parts + 8;
    out->key_size = packet->size - 8;
}

static bool wire_is_packet(const cluster_packet *packet)
{
    switch (packet->kind) {
    case CLUSTER_LINK:
        return wire_are_frames(packet);
    case CLUSTER_BEAT:
    case CLUSTER_ENTRY:
    case CLUSTER_CLAIM:
        return packet->count == 1 && packet->size == 8;
    case CLUSTER_LEAVE:
        return packet->count == 0 && packet->size == 0;
    case CLUSTER_FIND:
        return packet->count == 1 && packet->to != 0 && packet->size > 8 &&
               packet->size <= 8 + AXO_KEY_MAX &&
               memchr(packet->parts + 8, 0, packet->size - 8) == NULL;
    case CLUSTER_FOUND:
        return packet->count == 1 && packet->to != 0 && packet->size == 16 &&
               wire_get_u64(packet->parts + 8) < CLUSTER_BITS_END;
    default:
        return false;
    }
}

static cluster_refusal wire_refuse(const cluster_key *key, const unsigned char *at, size_t size)
{
    if (size < CLUSTER_HEAD_SIZE + CLUSTER_SEAL_SIZE || wire_get_u32(at) != CLUSTER_MAGIC)
        return CLUSTER_NOT_OURS;
    if (wire_get(at + 4, 2) != CLUSTER_VERSION)
        return CLUSTER_OF_VERSION;
    if (wire_get_u32(at + 8) != size)
        return CLUSTER_OF_LENGTH;
    if (wire_get_u64(at + 16) != key->cluster)
        return CLUSTER_OF_CLUSTER;
    if (wire_get_u32(at + 12) != key->token)
        return CLUSTER_OF_TOKEN;
    size_t sealed = size - CLUSTER_SEAL_SIZE;
    if (wire_get_u64(at + sealed) != wire_hash(key->seal, at, sealed))
        return CLUSTER_OF_SEAL;
    return CLUSTER_GOOD;
}

cluster_refusal cluster_wire_read(const cluster_key *key, const void *bytes, size_t size,
                                  cluster_packet *out)
{
    const unsigned char *at = bytes;
    memset(out, 0, sizeof *out);
    cluster_refusal refusal = wire_refuse(key, at, size);
    if (refusal != CLUSTER_GOOD)
        return refusal;
    size_t name = at[44];
    size_t room = size - CLUSTER_HEAD_SIZE - CLUSTER_SEAL_SIZE;
    out->kind = (uint32_t)wire_get(at + 6, 2);
    out->from.incarnation = wire_get_u64(at + 24);
    out->to = wire_get_u64(at + 32);
    out->count = wire_get_u32(at + 40);
    if (name > room || !wire_read_name(at + CLUSTER_HEAD_SIZE, name, out->from.name) ||
        out->from.incarnation == 0)
        return CLUSTER_OF_FORM;
    out->parts = at + CLUSTER_HEAD_SIZE + name;
    out->size = room - name;
    return wire_is_packet(out) ? CLUSTER_GOOD : CLUSTER_OF_FORM;
}
