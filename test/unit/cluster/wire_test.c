/* wire_test.c - packets, and each way in which one is refused: tools/cluster/wire.h. */
#include <stdlib.h>
#include <string.h>

#include <axo/supervision.h>

#include "support/cmocka.h"

#include "wire.h"

typedef struct wire_scene {
    cluster_key key;
    axo_node from;
    unsigned char bytes[4096];
    size_t size;
} wire_scene;

static const axo_node other_node = {.name = "far-away", .incarnation = 77};

static size_t scene_begin(wire_scene *s, cluster_packet_kind kind, uint64_t to)
{
    memset(s, 0, sizeof *s);
    cluster_key_of(&s->key, "shop", "secret");
    s->from = (axo_node){.name = "one", .incarnation = UINT64_C(0x0102030405060708)};
    return cluster_wire_begin(s->bytes, &s->key, kind, &s->from, to);
}

static void scene_frame(wire_scene *s, size_t *at, uint32_t kind, const cluster_body *body)
{
    unsigned char bytes[512];
    cluster_frame frame = {.kind = kind, .number = 5, .behind = 3, .ack = UINT64_MAX - 1,
                           .body = bytes};
    if (body != NULL)
        frame.size = (uint32_t)cluster_wire_put_body(bytes, body);
    *at += cluster_wire_put_frame(s->bytes + *at, &frame);
}

static void scene_end(wire_scene *s, size_t at, uint32_t count)
{
    s->size = cluster_wire_end(s->bytes, at, count, &s->key);
}

/* What the bytes are refused as; as read from a block of just their size. */
static cluster_refusal scene_read(const wire_scene *s, size_t size)
{
    cluster_packet packet;
    unsigned char *exact = malloc(size > 0 ? size : 1);
    assert_non_null(exact);
    memcpy(exact, s->bytes, size);
    cluster_refusal refusal = cluster_wire_read(&s->key, exact, size, &packet);
    free(exact);
    return refusal;
}

static cluster_body a_message(void)
{
    return (cluster_body){.what = CLUSTER_WHAT_SEND, .tag = 7, .to = 9, .from = 11,
                          .payload = "hello", .payload_size = 5};
}

static void scene_of_three(wire_scene *s)
{
    cluster_body body = a_message();
    size_t at = scene_begin(s, CLUSTER_LINK, 2);
    scene_frame(s, &at, CLUSTER_USER, &body);
    body = (cluster_body){.what = CLUSTER_WHAT_TERMINATED, .known = 1, .to = CLUSTER_BITS_END - 1,
                          .from = 1, .from_node = other_node};
    scene_frame(s, &at, CLUSTER_SYSTEM, &body);
    scene_frame(s, &at, CLUSTER_ACK, NULL);
    scene_end(s, at, 3);
}

static void round_trip(void **unused)
{
    wire_scene s;
    cluster_packet packet;
    cluster_frame frame;
    cluster_body body;
    size_t at = 0;
    scene_of_three(&s);
    assert_int_equal(cluster_wire_read(&s.key, s.bytes, s.size, &packet), CLUSTER_GOOD);
    assert_int_equal(packet.kind, CLUSTER_LINK);
    assert_int_equal(packet.to, 2);
    assert_string_equal(packet.from.name, "one");
    assert_true(packet.from.incarnation == s.from.incarnation);
    assert_true(cluster_wire_next(&packet, &at, &frame));
    assert_int_equal(frame.kind, CLUSTER_USER);
    assert_true(frame.from == s.from.incarnation && frame.to == 2);
    assert_true(frame.number == 5 && frame.behind == 3 && frame.ack == UINT64_MAX - 1);
    assert_true(cluster_wire_read_body(frame.body, frame.size, &body));
    assert_int_equal(body.what, CLUSTER_WHAT_SEND);
    assert_true(body.tag == 7 && body.to == 9 && body.from == 11 && body.payload_size == 5);
    assert_memory_equal(body.payload, "hello", 5);
    assert_true(body.from_node.incarnation == 0);
    assert_true(cluster_wire_next(&packet, &at, &frame));
    assert_true(cluster_wire_read_body(frame.body, frame.size, &body));
    assert_true(body.what == CLUSTER_WHAT_TERMINATED && body.known == 1 && body.payload == NULL);
    assert_true(body.to == CLUSTER_BITS_END - 1 && body.from == 1);
    assert_string_equal(body.from_node.name, "far-away");
    assert_int_equal(body.from_node.incarnation, 77);
    assert_true(cluster_wire_next(&packet, &at, &frame));
    assert_true(frame.kind == CLUSTER_ACK && frame.size == 0);
    assert_false(cluster_wire_next(&packet, &at, &frame));
}

/* The bytes of version 1: another machine or compiler makes the same. SipHash as computed by a
 * program of its own, which agrees with the paper's vector. */
static void bytes_are_fixed(void **unused)
{
    static const unsigned char head[] = {
        'a', 'x', 'o', 'N', 1, 0, 3, 0, 56, 0, 0, 0, 0x25, 0x08, 0x99, 0xb9, 0x30, 0xa9, 0xce,
        0x60, 0xe7, 0x0a, 0x04, 0xda, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        3, 'o', 'n', 'e', 0x38, 0x34, 0xcb, 0x28, 0x77, 0xad, 0x81, 0x07};
    wire_scene s;
    size_t at = scene_begin(&s, CLUSTER_LEAVE, 0);
    scene_end(&s, at, 0);
    assert_int_equal(s.size, sizeof head);
    assert_memory_equal(s.bytes, head, sizeof head);
}

static void each_reason(void **unused)
{
    wire_scene s;
    cluster_key other;
    cluster_packet packet;
    scene_of_three(&s);
    assert_int_equal(scene_read(&s, s.size), CLUSTER_GOOD);
    assert_int_equal(scene_read(&s, 0), CLUSTER_NOT_OURS);
    assert_int_equal(scene_read(&s, CLUSTER_HEAD_SIZE + CLUSTER_SEAL_SIZE - 1), CLUSTER_NOT_OURS);
    assert_int_equal(scene_read(&s, s.size - 1), CLUSTER_OF_LENGTH);
    assert_int_equal(scene_read(&s, s.size + 1), CLUSTER_OF_LENGTH);
    s.bytes[4] = 2; /* a version to come, whatever else is in it */
    assert_int_equal(scene_read(&s, s.size - 1), CLUSTER_OF_VERSION);
    s.bytes[0] = 'A';
    assert_int_equal(scene_read(&s, s.size), CLUSTER_NOT_OURS);
    scene_of_three(&s);
    cluster_key_of(&other, "shop", "other");
    assert_int_equal(cluster_wire_read(&other, s.bytes, s.size, &packet), CLUSTER_OF_TOKEN);
    other.token = s.key.token; /* who does not know it cannot claim it */
    assert_int_equal(cluster_wire_read(&other, s.bytes, s.size, &packet), CLUSTER_OF_SEAL);
    cluster_key_of(&other, "stop", "secret");
    assert_int_equal(cluster_wire_read(&other, s.bytes, s.size, &packet), CLUSTER_OF_CLUSTER);
    cluster_key_of(&other, "shop", NULL);
    assert_int_equal(cluster_wire_read(&other, s.bytes, s.size, &packet), CLUSTER_OF_TOKEN);
}

/* Each bit, and each length, is under one of the checks. */
static void any_damage(void **unused)
{
    wire_scene s;
    scene_of_three(&s);
    for (size_t i = 0; i < s.size * 8; i++) {
        s.bytes[i / 8] ^= (unsigned char)(1u << i % 8);
        assert_int_not_equal(scene_read(&s, s.size), CLUSTER_GOOD);
        s.bytes[i / 8] ^= (unsigned char)(1u << i % 8);
    }
    for (size_t size = 0; size < s.size; size++)
        assert_int_not_equal(scene_read(&s, size), CLUSTER_GOOD);
    assert_int_equal(scene_read(&s, s.size), CLUSTER_GOOD);
}

/* What one body, as a frame of a kind, is refused as. */
static cluster_refusal read_one(uint32_t kind, const cluster_body *body)
{
    wire_scene s;
    size_t at = scene_begin(&s, CLUSTER_LINK, 2);
    scene_frame(&s, &at, kind, body);
    scene_end(&s, at, 1);
    return scene_read(&s, s.size);
}

static void bodies_of_no_form(void **unused)
{
    cluster_body body = a_message();
    assert_int_equal(read_one(CLUSTER_USER, &body), CLUSTER_GOOD);
    assert_int_equal(read_one(CLUSTER_SYSTEM, &body), CLUSTER_OF_FORM); /* another lane */
    assert_int_equal(read_one(CLUSTER_ACK, &body), CLUSTER_OF_FORM);
    assert_int_equal(read_one(9, NULL), CLUSTER_OF_FORM);
    assert_int_equal(read_one(CLUSTER_USER, NULL), CLUSTER_OF_FORM);
    body.to = 0;
    assert_int_equal(read_one(CLUSTER_USER, &body), CLUSTER_OF_FORM);
    body.to = CLUSTER_BITS_END; /* a node's number */
    assert_int_equal(read_one(CLUSTER_USER, &body), CLUSTER_OF_FORM);
    body = a_message();
    body.from = CLUSTER_BITS_END;
    assert_int_equal(read_one(CLUSTER_USER, &body), CLUSTER_OF_FORM);
    body.from = 0;
    assert_int_equal(read_one(CLUSTER_USER, &body), CLUSTER_GOOD);
    body.from_node = other_node; /* nobody, of a node */
    assert_int_equal(read_one(CLUSTER_USER, &body), CLUSTER_OF_FORM);
    for (uint32_t what = 0; what < 9; what++) {
        body = (cluster_body){.what = what, .to = 1};
        bool user = what >= CLUSTER_WHAT_SEND && what <= CLUSTER_WHAT_KILL;
        bool system = what >= CLUSTER_WHAT_STOP && what <= CLUSTER_WHAT_TERMINATED;
        assert_int_equal(read_one(CLUSTER_USER, &body), user ? CLUSTER_GOOD : CLUSTER_OF_FORM);
        assert_int_equal(read_one(CLUSTER_SYSTEM, &body), system ? CLUSTER_GOOD : CLUSTER_OF_FORM);
    }
    body = (cluster_body){.what = CLUSTER_WHAT_STOP, .to = 1, .payload = "x", .payload_size = 1};
    assert_int_equal(read_one(CLUSTER_SYSTEM, &body), CLUSTER_OF_FORM);
}

static cluster_body a_parcel(unsigned char *bytes, size_t key_size, const char *payload)
{
    static const unsigned char key[CLUSTER_PARCEL_KEY_MAX + 1] = "key";
    const cluster_slip slip = {.origin = 3, .holder = {4, 5, 6}, .hops = 7, .tries = 8,
                               .key = key, .key_size = key_size, .payload = payload,
                               .payload_size = payload != NULL ? strlen(payload) : 0};
    return (cluster_body){.what = CLUSTER_WHAT_PARCEL, .to = 9, .tag = 5, .payload = bytes,
                          .payload_size = (uint32_t)cluster_wire_put_slip(bytes, &slip)};
}

static void parcels(void **unused)
{
    unsigned char bytes[200];
    cluster_slip slip;
    cluster_body body = a_parcel(bytes, 3, "hello");
    assert_true(cluster_wire_read_slip(&body, &slip));
    assert_true(slip.origin == 3 && slip.holder[0] == 4 && slip.holder[1] == 5 &&
                slip.holder[2] == 6 && slip.hops == 7 && slip.tries == 8);
    assert_true(slip.key_size == 3 && memcmp(slip.key, "key", 3) == 0);
    assert_true(slip.payload_size == 5 && memcmp(slip.payload, "hello", 5) == 0);
    assert_int_equal(read_one(CLUSTER_USER, &body), CLUSTER_GOOD);
    assert_int_equal(read_one(CLUSTER_SYSTEM, &body), CLUSTER_OF_FORM);
    body.to = UINT64_C(1) << 32; /* no kind's number */
    assert_int_equal(read_one(CLUSTER_USER, &body), CLUSTER_OF_FORM);
    body = a_parcel(bytes, 3, NULL);
    assert_int_equal(read_one(CLUSTER_USER, &body), CLUSTER_GOOD);
    body.tag = AXO_TAG_SERVICES;
    assert_int_equal(read_one(CLUSTER_USER, &body), CLUSTER_OF_FORM);
    body.tag = 5;
    body.payload_size--; /* the key is cut */
    assert_int_equal(read_one(CLUSTER_USER, &body), CLUSTER_OF_FORM);
    body.payload_size = CLUSTER_SLIP_SIZE - 1;
    assert_int_equal(read_one(CLUSTER_USER, &body), CLUSTER_OF_FORM);
    body = a_parcel(bytes, 0, NULL);
    assert_int_equal(read_one(CLUSTER_USER, &body), CLUSTER_OF_FORM);
    body = a_parcel(bytes, CLUSTER_PARCEL_KEY_MAX, NULL);
    assert_int_equal(read_one(CLUSTER_USER, &body), CLUSTER_GOOD);
    body = a_parcel(bytes, CLUSTER_PARCEL_KEY_MAX + 1, NULL);
    assert_int_equal(read_one(CLUSTER_USER, &body), CLUSTER_OF_FORM);
    body = a_parcel(bytes, 3, NULL);
    bytes[0] = 0; /* nowhere was it sent */
    assert_int_equal(read_one(CLUSTER_USER, &body), CLUSTER_OF_FORM);
}

/* A word between a stand-in and a keeper, in a body that says so. */
static cluster_refusal read_word(const cluster_word *word, const cluster_body *with)
{
    static unsigned char bytes[CLUSTER_WORD_SIZE + CLUSTER_CLASS_MAX + CLUSTER_ARGS_MAX + 2];
    static unsigned char packed[CLUSTER_BODY_MAX + sizeof bytes];
    cluster_body read, body = *with;
    body.what = CLUSTER_WHAT_CHILD;
    body.tag = word->kind;
    body.payload = bytes;
    body.payload_size = (uint32_t)cluster_wire_put_word(bytes, word);
    size_t size = cluster_wire_put_body(packed, &body);
    if (size < 400) { /* and in a packet: on the lane of system messages */
        assert_int_equal(read_one(CLUSTER_USER, &body), CLUSTER_OF_FORM);
        bool good = cluster_wire_read_body(packed, size, &read);
        assert_int_equal(read_one(CLUSTER_SYSTEM, &body), good ? CLUSTER_GOOD : CLUSTER_OF_FORM);
    }
    return cluster_wire_read_body(packed, size, &read) ? CLUSTER_GOOD : CLUSTER_OF_FORM;
}

static void words(void **unused)
{
    static char text[CLUSTER_CLASS_MAX + CLUSTER_ARGS_MAX + 2];
    unsigned char bytes[64];
    cluster_word read;
    const cluster_body body = {.to = 1, .from = 2};
    const cluster_word spawn = {.kind = CLUSTER_WORD_SPAWN, .order = 3, .what = 6, .bits = 4,
                                .code = -5, .bytes = "workerargs", .size = 10};
    memset(text, 'x', sizeof text);
    size_t size = cluster_wire_put_word(bytes, &spawn);
    assert_true(cluster_wire_read_word(CLUSTER_WORD_SPAWN, bytes, size, &read));
    assert_true(read.order == 3 && read.what == 6 && read.bits == 4 && read.code == -5);
    assert_int_equal(read.size, 10);
    assert_memory_equal(read.bytes, "workerargs", 10);
    assert_false(cluster_wire_read_word(CLUSTER_WORD_SPAWN, bytes, CLUSTER_WORD_SIZE - 1, &read));
    assert_false(cluster_wire_read_word(0, bytes, size, &read));
    assert_false(cluster_wire_read_word(6, bytes, size, &read));
    assert_int_equal(read_word(&spawn, &body), CLUSTER_GOOD);
    assert_int_equal(read_word(&spawn, &(cluster_body){.to = 2, .from = 2}), CLUSTER_OF_FORM);
    assert_int_equal(read_word(&spawn, &(cluster_body){.to = 1}), CLUSTER_OF_FORM);
    cluster_word word = spawn;
    word.what = 11; /* a name beyond the end */
    assert_int_equal(read_word(&word, &body), CLUSTER_OF_FORM);
    word.what = 0;
    assert_int_equal(read_word(&word, &body), CLUSTER_OF_FORM);
    word = spawn;
    word.bits = 0;
    assert_int_equal(read_word(&word, &body), CLUSTER_OF_FORM);
    word.bits = CLUSTER_BITS_END;
    assert_int_equal(read_word(&word, &body), CLUSTER_OF_FORM);
    word = spawn;
    word.bytes = "wor\0erargs";
    assert_int_equal(read_word(&word, &body), CLUSTER_OF_FORM);
    word = spawn;
    word.bytes = text;
    word.what = CLUSTER_CLASS_MAX;
    word.size = CLUSTER_CLASS_MAX + CLUSTER_ARGS_MAX;
    assert_int_equal(read_word(&word, &body), CLUSTER_GOOD);
    word.size++;
    assert_int_equal(read_word(&word, &body), CLUSTER_OF_FORM);
    word.what++;
    assert_int_equal(read_word(&word, &body), CLUSTER_OF_FORM);
}

static void words_of_others(void **unused)
{
    static char text[AXO_FAILURE_TEXT_MAX];
    const cluster_body body = {.to = 9, .from = 2};
    cluster_word word = {.kind = CLUSTER_WORD_UP, .bits = 7};
    assert_int_equal(read_word(&word, &body), CLUSTER_GOOD);
    word.bits = 0;
    assert_int_equal(read_word(&word, &body), CLUSTER_OF_FORM);
    word = (cluster_word){.kind = CLUSTER_WORD_UP, .bits = 7, .bytes = "x", .size = 1};
    assert_int_equal(read_word(&word, &body), CLUSTER_OF_FORM);
    word = (cluster_word){.kind = CLUSTER_WORD_DOWN, .bytes = text, .size = sizeof text - 1};
    assert_int_equal(read_word(&word, &body), CLUSTER_GOOD);
    word.size++;
    assert_int_equal(read_word(&word, &body), CLUSTER_OF_FORM);
    for (uint32_t kind = 0; kind < 14; kind++) {
        word = (cluster_word){.kind = CLUSTER_WORD_FAIL, .what = kind, .bytes = text,
                              .size = sizeof text - 1};
        bool good = kind != 0 && kind != 4 && kind <= AXO_FAILURE_MEMORY;
        assert_int_equal(read_word(&word, &body), good ? CLUSTER_GOOD : CLUSTER_OF_FORM);
        word.size++;
        assert_int_equal(read_word(&word, &body), CLUSTER_OF_FORM);
    }
    for (uint32_t what = 0; what < 7; what++) {
        word = (cluster_word){.kind = CLUSTER_WORD_ORDER, .what = what};
        bool good = what >= AXO_RESUME && what <= AXO_STOP;
        assert_int_equal(read_word(&word, &body), good ? CLUSTER_GOOD : CLUSTER_OF_FORM);
    }
    word = (cluster_word){.kind = CLUSTER_WORD_ORDER, .what = AXO_STOP, .bytes = "x", .size = 1};
    assert_int_equal(read_word(&word, &body), CLUSTER_OF_FORM);
    word.size = 0; /* of a third node */
    assert_int_equal(read_word(&word, &(cluster_body){.to = 9, .from = 2, .from_node = other_node}),
                     CLUSTER_OF_FORM);
}

/* Sealed, with one byte of the body or the frame set before. */
static cluster_refusal read_set(size_t at, unsigned char value)
{
    wire_scene s;
    scene_of_three(&s);
    s.bytes[at] = value;
    scene_end(&s, s.size - CLUSTER_SEAL_SIZE, 3);
    return scene_read(&s, s.size);
}

static void packets_of_no_form(void **unused)
{
    wire_scene s;
    const size_t head = CLUSTER_HEAD_SIZE + 3;
    const size_t body = head + CLUSTER_FRAME_SIZE;
    assert_int_equal(read_set(head + 8, 6), CLUSTER_GOOD);
    assert_int_equal(read_set(6, 9), CLUSTER_OF_FORM);           /* kind */
    assert_int_equal(read_set(6, CLUSTER_BEAT), CLUSTER_OF_FORM); /* with parts */
    assert_int_equal(read_set(32, 0), CLUSTER_OF_FORM);          /* for every node */
    assert_int_equal(read_set(44, 0), CLUSTER_OF_FORM);          /* no name */
    assert_int_equal(read_set(44, 64), CLUSTER_OF_FORM);
    assert_int_equal(read_set(45, 0), CLUSTER_OF_FORM);          /* it ends early */
    assert_int_equal(read_set(head + 4, 0), CLUSTER_OF_FORM);    /* lengths of the body */
    assert_int_equal(read_set(head + 7, 0xff), CLUSTER_OF_FORM);
    assert_int_equal(read_set(head + 8, 0), CLUSTER_OF_FORM);    /* number */
    assert_int_equal(read_set(body + 1, 2), CLUSTER_OF_FORM);
    assert_int_equal(read_set(body + 2, 3), CLUSTER_OF_FORM);    /* a name that is not there */
    assert_int_equal(read_set(body + 3, 1), CLUSTER_OF_FORM);
    scene_of_three(&s);
    scene_end(&s, s.size - CLUSTER_SEAL_SIZE, 2); /* counts */
    assert_int_equal(scene_read(&s, s.size), CLUSTER_OF_FORM);
    scene_end(&s, s.size - CLUSTER_SEAL_SIZE, 4);
    assert_int_equal(scene_read(&s, s.size), CLUSTER_OF_FORM);
    size_t at = scene_begin(&s, CLUSTER_LEAVE, 0);
    memset(s.bytes + 24, 0, 8); /* no incarnation */
    scene_end(&s, at, 0);
    assert_int_equal(scene_read(&s, s.size), CLUSTER_OF_FORM);
}

/* A FIND or a FOUND whose part has so many bytes. */
static cluster_refusal read_part(cluster_packet_kind kind, size_t bytes, uint64_t to,
                                 unsigned char fill)
{
    wire_scene s;
    size_t at = scene_begin(&s, kind, to);
    memset(s.bytes + at, fill, bytes);
    scene_end(&s, at + bytes, 1);
    return scene_read(&s, s.size);
}

static void finds(void **unused)
{
    wire_scene s;
    cluster_packet packet;
    cluster_find find = {.id = 8, .key = "billing", .key_size = 7}, read;
    size_t at = scene_begin(&s, CLUSTER_FIND, 2);
    at += cluster_wire_put_find(s.bytes + at, CLUSTER_FIND, &find);
    scene_end(&s, at, 1);
    assert_int_equal(cluster_wire_read(&s.key, s.bytes, s.size, &packet), CLUSTER_GOOD);
    cluster_wire_read_find(&packet, &read);
    assert_true(read.id == 8 && read.key_size == 7);
    assert_memory_equal(read.key, "billing", 7);
    at = scene_begin(&s, CLUSTER_FOUND, 2);
    find.bits = 99;
    at += cluster_wire_put_find(s.bytes + at, CLUSTER_FOUND, &find);
    scene_end(&s, at, 1);
    assert_int_equal(cluster_wire_read(&s.key, s.bytes, s.size, &packet), CLUSTER_GOOD);
    cluster_wire_read_find(&packet, &read);
    assert_true(read.id == 8 && read.bits == 99);
    assert_int_equal(read_part(CLUSTER_FIND, 9, 2, 'a'), CLUSTER_GOOD);
    assert_int_equal(read_part(CLUSTER_FIND, 9, 0, 'a'), CLUSTER_OF_FORM);
    assert_int_equal(read_part(CLUSTER_FIND, 9, 2, 0), CLUSTER_OF_FORM);
    assert_int_equal(read_part(CLUSTER_FIND, 8, 2, 'a'), CLUSTER_OF_FORM); /* no key */
    assert_int_equal(read_part(CLUSTER_FIND, 8 + 255, 2, 'a'), CLUSTER_GOOD);
    assert_int_equal(read_part(CLUSTER_FIND, 8 + 256, 2, 'a'), CLUSTER_OF_FORM);
    assert_int_equal(read_part(CLUSTER_FOUND, 16, 2, 0), CLUSTER_GOOD);
    assert_int_equal(read_part(CLUSTER_FOUND, 16, 2, 1), CLUSTER_OF_FORM); /* a node's number */
    assert_int_equal(read_part(CLUSTER_FOUND, 15, 2, 0), CLUSTER_OF_FORM);
    assert_int_equal(read_part(CLUSTER_FOUND, 17, 2, 0), CLUSTER_OF_FORM);
    assert_int_equal(read_part(CLUSTER_BEAT, 8, 0, 1), CLUSTER_GOOD);
    assert_int_equal(read_part(CLUSTER_BEAT, 7, 0, 1), CLUSTER_OF_FORM);
    assert_int_equal(read_part(CLUSTER_ENTRY, 8, 0, 1), CLUSTER_GOOD);
    assert_int_equal(read_part(CLUSTER_ENTRY, 9, 0, 1), CLUSTER_OF_FORM);
    assert_int_equal(read_part(CLUSTER_LEAVE, 0, 0, 1), CLUSTER_OF_FORM); /* it has none */
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trip),        cmocka_unit_test(bytes_are_fixed),
        cmocka_unit_test(each_reason),       cmocka_unit_test(any_damage),
        cmocka_unit_test(bodies_of_no_form), cmocka_unit_test(packets_of_no_form),
        cmocka_unit_test(finds),             cmocka_unit_test(parcels),
        cmocka_unit_test(words),             cmocka_unit_test(words_of_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
