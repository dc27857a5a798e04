/* fuzz_wire.c - packets between nodes: any bytes, sealed bytes of any form, and frames that are
 * written and read back.
 *
 * Length 600. What is read is inside the bytes that were given; what was taken is written again,
 * and is the same, byte for byte.
 */
#include "fuzz/fuzz.h"

#include <axo/supervision.h>

#include "wire.h"

static struct {
    cluster_key key;
    unsigned char bytes[70000];
    unsigned char again[70000];
    unsigned char body[70000];
} f;

static void wire_inside(const void *at, size_t size, size_t whole)
{
    const unsigned char *from = at;
    fuzz_require(size == 0 || (from >= f.bytes && from + size <= f.bytes + whole));
}

static size_t wire_frames_again(const cluster_packet *packet, size_t size, size_t out)
{
    cluster_frame frame;
    cluster_body body;
    size_t at = 0;
    uint32_t count = 0;
    while (cluster_wire_next(packet, &at, &frame)) {
        wire_inside(frame.body, frame.size, size);
        if (frame.size > 0) {
            fuzz_require(cluster_wire_read_body(frame.body, frame.size, &body));
            wire_inside(body.payload, body.payload_size, size);
            fuzz_require(cluster_wire_put_body(f.body, &body) == frame.size);
            frame.body = f.body;
        }
        out += cluster_wire_put_frame(f.again + out, &frame);
        count++;
    }
    fuzz_require(count == packet->count);
    return out;
}

/* Reads the bytes; those of a good packet are made once more from what was read. */
static cluster_refusal wire_read(size_t size)
{
    cluster_packet packet;
    cluster_find find;
    cluster_refusal refusal = cluster_wire_read(&f.key, f.bytes, size, &packet);
    fuzz_require(refusal < CLUSTER_REFUSALS);
    if (refusal != CLUSTER_GOOD)
        return refusal;
    wire_inside(packet.parts, packet.size, size);
    size_t out = cluster_wire_begin(f.again, &f.key, (cluster_packet_kind)packet.kind,
                                    &packet.from, packet.to);
    if (packet.kind == CLUSTER_LINK) {
        out = wire_frames_again(&packet, size, out);
    } else if (packet.count > 0) {
        cluster_wire_read_find(&packet, &find);
        wire_inside(find.key, find.key_size, size);
        out += cluster_wire_put_find(f.again + out, (cluster_packet_kind)packet.kind, &find);
    }
    out = cluster_wire_end(f.again, out, packet.count, &f.key);
    fuzz_require(out == size && memcmp(f.again, f.bytes, size) == 0);
    return refusal;
}

/* A head that is right, parts as the input says, and the seal. */
static void wire_forge(fuzz_in *in)
{
    axo_node from = {.name = "node", .incarnation = 1};
    uint32_t count = fuzz_u8(in) % 8;
    cluster_packet_kind kind = (cluster_packet_kind)(fuzz_u8(in) % 7);
    size_t size = cluster_wire_begin(f.bytes, &f.key, kind, &from, fuzz_u8(in) % 4);
    size_t left = in->left < 2000 ? in->left : 2000;
    memcpy(f.bytes + size, in->at, left);
    size = cluster_wire_end(f.bytes, size + left, count, &f.key);
    (void)wire_read(size);
}

static void wire_name_of(fuzz_in *in, axo_node *node)
{
    size_t size = 1 + fuzz_u8(in) % AXO_NODE_NAME_MAX;
    memset(node, 0, sizeof *node);
    memset(node->name, 1 + fuzz_u8(in) % 255, size);
    node->incarnation = fuzz_u64(in) | 1;
}

/* The payload of a parcel. */
static void wire_slip_of(fuzz_in *in, cluster_body *body)
{
    static unsigned char bytes[CLUSTER_SLIP_SIZE + CLUSTER_PARCEL_KEY_MAX + 300];
    static const unsigned char zeroes[300];
    cluster_slip slip = {.origin = fuzz_u64(in) | 1, .hops = fuzz_u16(in), .tries = fuzz_u8(in),
                         .holder = {fuzz_u64(in), fuzz_u64(in), fuzz_u64(in)}, .key = zeroes,
                         .payload = zeroes};
    cluster_slip read;
    slip.key_size = 1 + fuzz_u8(in) % CLUSTER_PARCEL_KEY_MAX;
    slip.payload_size = fuzz_u8(in);
    body->to = body->to & UINT32_MAX ? body->to & UINT32_MAX : 1;
    body->payload_size = (uint32_t)cluster_wire_put_slip(bytes, &slip);
    body->payload = bytes;
    fuzz_require(cluster_wire_read_slip(body, &read) && read.origin == slip.origin &&
                 read.holder[2] == slip.holder[2] && read.hops == slip.hops &&
                 read.tries == slip.tries && read.key_size == slip.key_size &&
                 read.payload_size == slip.payload_size);
}

/* A word between a stand-in and a keeper; those of a child's node are as long as a text may be. */
static void wire_word_of(fuzz_in *in, cluster_body *body)
{
    static const uint32_t kinds[] = {1, 2, 3, 5, 6, 7, 8, 9, 10, 11}; /* of failures */
    static unsigned char bytes[CLUSTER_WORD_SIZE + 512];
    static char text[512];
    memset(text, 't', sizeof text);
    cluster_word word = {.kind = CLUSTER_WORD_SPAWN + fuzz_u8(in) % 5, .order = fuzz_u16(in),
                         .code = (int32_t)fuzz_u64(in), .bytes = text,
                         .bits = fuzz_u64(in) % (CLUSTER_BITS_END - 1) + 1};
    const uint32_t more = fuzz_u8(in);
    if (word.kind == CLUSTER_WORD_SPAWN) {
        word.what = 1 + fuzz_u8(in) % CLUSTER_CLASS_MAX;
        word.size = word.what + more;
        body->to = 1;
    } else if (word.kind == CLUSTER_WORD_DOWN || word.kind == CLUSTER_WORD_FAIL) {
        word.what = kinds[fuzz_u8(in) % (sizeof kinds / sizeof kinds[0])];
        word.size = more % AXO_FAILURE_TEXT_MAX;
    } else if (word.kind == CLUSTER_WORD_ORDER) {
        word.what = AXO_RESUME + more % 3;
    }
    body->tag = word.kind;
    body->from |= 1;
    body->from_node.incarnation = 0;
    body->payload_size = (uint32_t)cluster_wire_put_word(bytes, &word);
    body->payload = bytes;
}

static void wire_body_of(fuzz_in *in, cluster_body *body)
{
    static const unsigned char payload[300];
    memset(body, 0, sizeof *body);
    body->what = CLUSTER_WHAT_SEND + fuzz_u8(in) % 8;
    body->known = fuzz_u8(in) & 1;
    body->tag = fuzz_u16(in);
    body->to = fuzz_u64(in) % (CLUSTER_BITS_END - 1) + 1;
    body->from = fuzz_u64(in) % CLUSTER_BITS_END;
    if (body->from != 0 && (fuzz_u8(in) & 1) != 0)
        wire_name_of(in, &body->from_node);
    if (body->what == CLUSTER_WHAT_SEND)
        body->payload_size = fuzz_u8(in);
    body->payload = body->payload_size > 0 ? payload : NULL;
    if (body->what == CLUSTER_WHAT_PARCEL)
        wire_slip_of(in, body);
    if (body->what == CLUSTER_WHAT_CHILD)
        wire_word_of(in, body);
}

/* What is written as the header says is read. */
static void wire_write(fuzz_in *in)
{
    axo_node from;
    cluster_body body;
    uint32_t count = fuzz_u8(in) % 16;
    wire_name_of(in, &from);
    size_t size = cluster_wire_begin(f.bytes, &f.key, CLUSTER_LINK, &from, fuzz_u64(in) | 1);
    for (uint32_t i = 0; i < count; i++) {
        cluster_frame frame = {.kind = CLUSTER_ACK, .number = fuzz_u64(in) | 1,
                               .behind = fuzz_u64(in), .ack = fuzz_u64(in), .body = f.body};
        if ((fuzz_u8(in) & 3) != 0) {
            wire_body_of(in, &body);
            bool user = body.what <= CLUSTER_WHAT_KILL || body.what == CLUSTER_WHAT_PARCEL;
            frame.kind = user ? CLUSTER_USER : CLUSTER_SYSTEM;
            frame.size = (uint32_t)cluster_wire_put_body(f.body, &body);
        }
        size += cluster_wire_put_frame(f.bytes + size, &frame);
    }
    size = cluster_wire_end(f.bytes, size, count, &f.key);
    fuzz_require(wire_read(size) == CLUSTER_GOOD);
    f.bytes[fuzz_u16(in) % size] ^= (unsigned char)(1u << fuzz_u8(in) % 8);
    fuzz_require(wire_read(size) != CLUSTER_GOOD);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_in in = {.at = data, .left = size};
    fuzz_chance = 1;
    cluster_key_of(&f.key, "shop", "secret");
    const uint8_t what = fuzz_u8(&in) % 3;
    if (what == 0 && in.left <= sizeof f.bytes) {
        memcpy(f.bytes, in.at, in.left);
        (void)wire_read(in.left);
    } else if (what == 1) {
        wire_forge(&in);
    } else {
        wire_write(&in);
    }
    return 0;
}
