/* many_test.c - axo_send_many: who gets it, how often its payload is copied, that the copy goes
 * with the last message whatever becomes of the messages. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <axo/axo.h>

#include "support/cmocka.h"

enum { DATA = 1, GO, FORWARD, TAKE, STASH, FAIL };
#define RECEIVERS 5
#define LARGE 10000
/* Bytes of a copy, which no other block has: too many for the pool to keep. */
#define COPY (LARGE + 16)

typedef struct many_world {
    axo_system *system;
    axo_ref refs[RECEIVERS];
    axo_ref sender;
    axo_ref to[16];
    uint32_t count;
    uint32_t how;      /* what a receiver does with it */
    size_t size;
    axo_status status; /* of the actor's send */
    uint32_t accepted;
    uint32_t got[RECEIVERS];
    const void *seen[RECEIVERS];
    uint32_t blocks;   /* allocated, of LARGE bytes and more */
    uint32_t left;
    bool dry;
} many_world;

typedef struct receiver {
    many_world *world;
    uint32_t who;
} receiver;

static void *many_alloc(void *user, size_t size, size_t align)
{
    many_world *world = user;
    void *block = NULL;
    if (size == COPY) {
        if (world->dry)
            return NULL;
        world->blocks++;
        world->left++;
    }
    return posix_memalign(&block, align < sizeof(void *) ? sizeof(void *) : align, size) == 0
               ? block
               : NULL;
}

static void many_release(void *user, void *block, size_t size, size_t align)
{
    many_world *world = user;
    (void)align;
    if (size == COPY)
        world->left--;
    memset(block, 0xdb, size); /* who reads it on sees that */
    __asm__ volatile("" ::"r"(block) : "memory"); /* the compiler leaves it out else */
    free(block);
}

static axo_status receiver_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    memcpy(state, args, sizeof(receiver));
    return AXO_OK;
}

static void receiver_look(receiver *self, const axo_message *message)
{
    const unsigned char *bytes = message->payload;
    self->world->got[self->who]++;
    self->world->seen[self->who] = bytes;
    assert_int_equal(message->size, self->world->size);
    for (size_t i = 0; i < message->size; i++)
        assert_int_equal(bytes[i], (unsigned char)(i * 7));
}

static axo_status receiver_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    receiver *self = state;
    many_world *world = self->world;
    axo_owned owned;
    switch (message->tag) {
    case DATA:
        receiver_look(self, message);
        break;
    case GO:
        return AXO_OK;
    default:
        return AXO_UNHANDLED;
    }
    if (world->how == FORWARD && self->who == 0)
        return axo_forward(ctx, message, world->refs[1]);
    if (world->how == FAIL)
        return axo_fail(ctx, 3, "fails under it");
    if (world->how == TAKE && world->size > 16) {
        assert_int_equal(axo_message_take(ctx, message, &owned), AXO_OK);
        owned.destroy(owned.payload, owned.user);
    }
    return AXO_OK;
}

static axo_status sender_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    many_world *world = ((receiver *)state)->world;
    unsigned char bytes[LARGE];
    (void)message;
    for (size_t i = 0; i < LARGE; i++)
        bytes[i] = (unsigned char)(i * 7);
    world->status = axo_send_many(ctx, world->to, world->count, DATA, bytes, world->size,
                                  &world->accepted);
    return AXO_OK;
}

static const axo_class receiver_class =
    AXO_CLASS(.name = "receiver", .state_size = sizeof(receiver), .construct = receiver_construct,
              .receive = receiver_receive);
static const axo_class sender_class =
    AXO_CLASS(.name = "sender", .state_size = sizeof(receiver), .construct = receiver_construct,
              .receive = sender_receive);

static void many_run(const many_world *world)
{
    assert_int_equal(axo_run_host(world->system, -1, NULL), AXO_OK);
}

static axo_ref many_spawn(many_world *world, const axo_class *cls, uint32_t who,
                          const axo_mailbox *mailbox)
{
    axo_ref ref;
    const receiver args = {.world = world, .who = who};
    axo_props props =
        AXO_PROPS(.cls = cls, .args = &args, .args_size = sizeof args, .mailbox = mailbox);
    assert_int_equal(axo_system_spawn(world->system, &props, &ref), AXO_OK);
    return ref;
}

static void many_open(many_world *world, size_t size)
{
    static const axo_mailbox narrow =
        AXO_MAILBOX(.overflow = AXO_OVERFLOW_REFUSE, .messages_max = 1);
    memset(world, 0, sizeof *world);
    axo_options options =
        AXO_OPTIONS(.manual = 1, .seed = 7,
                    .allocator = {.alloc = many_alloc, .free = many_release, .user = world});
    assert_int_equal(axo_system_start(&options, &world->system), AXO_OK);
    for (uint32_t i = 0; i < RECEIVERS; i++) {
        world->refs[i] = many_spawn(world, &receiver_class, i, i == 4 ? &narrow : NULL);
        world->to[i] = world->refs[i];
    }
    world->sender = many_spawn(world, &sender_class, 0, NULL);
    world->size = size;
    world->count = RECEIVERS;
    many_run(world);
}

static void many_close(many_world *world)
{
    axo_stats stats = AXO_STATS();
    assert_int_equal(axo_system_stop(world->system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_stats(world->system, &stats), AXO_OK);
    assert_int_equal(stats.sent, stats.handled + stats.dead + stats.dropped);
    assert_int_equal(axo_system_destroy(world->system), AXO_OK);
    assert_int_equal(world->left, 0);
}

static void many_go(many_world *world)
{
    assert_int_equal(axo_system_send(world->system, world->sender, GO, NULL, 0), AXO_OK);
    many_run(world);
}

/* ---- who gets it ---- */

static void all_see_one_copy(void **state)
{
    many_world w;
    (void)state;
    many_open(&w, LARGE);
    assert_int_equal(w.blocks, 0);
    many_go(&w);
    assert_int_equal(w.status, AXO_OK);
    assert_int_equal(w.accepted, RECEIVERS);
    assert_int_equal(w.blocks, 1);
    assert_int_equal(w.left, 0);
    for (uint32_t i = 0; i < RECEIVERS; i++) {
        assert_int_equal(w.got[i], 1);
        assert_ptr_equal(w.seen[i], w.seen[0]);
        assert_int_equal((uintptr_t)w.seen[i] % _Alignof(max_align_t), 0);
    }
    many_close(&w);
}

static void small_ones_and_empty_ones(void **state)
{
    static const size_t sizes[] = {0, 1, 16, 17, 100};
    (void)state;
    for (uint32_t i = 0; i < 5; i++) {
        many_world w;
        many_open(&w, sizes[i]);
        w.to[5] = w.refs[2]; /* twice */
        w.count = 6;
        many_go(&w);
        assert_int_equal(w.status, AXO_OK);
        assert_int_equal(w.accepted, 6);
        assert_int_equal(w.got[2], 2);
        many_close(&w);
    }
}

static void nobody_is_nothing(void **state)
{
    many_world w;
    (void)state;
    many_open(&w, LARGE);
    w.count = 0;
    many_go(&w);
    assert_int_equal(w.status, AXO_OK);
    assert_int_equal(w.accepted, 0);
    assert_int_equal(w.blocks, 0);
    many_close(&w);
}

static void from_a_thread_that_is_no_worker(void **state)
{
    many_world w;
    unsigned char bytes[LARGE];
    uint32_t accepted;
    (void)state;
    for (size_t i = 0; i < LARGE; i++)
        bytes[i] = (unsigned char)(i * 7);
    many_open(&w, LARGE);
    assert_int_equal(axo_system_send_many(w.system, w.to, 4, DATA, bytes, LARGE, &accepted),
                     AXO_OK);
    assert_int_equal(accepted, 4);
    assert_int_equal(w.left, 1);
    many_run(&w);
    assert_int_equal(w.left, 0);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(w.got[i], 1);
    assert_int_equal(axo_system_send_many(w.system, w.to, 4, DATA, bytes, LARGE, NULL), AXO_OK);
    many_close(&w); /* they wait in mailboxes */
}

/* ---- refusals ---- */

static void who_has_gone_and_who_is_full_hold_up_nobody(void **state)
{
    many_world w;
    (void)state;
    many_open(&w, LARGE);
    assert_int_equal(axo_system_stop_actor(w.system, w.refs[0]), AXO_OK);
    many_run(&w);
    w.to[5] = w.refs[4]; /* whose mailbox has room for one */
    w.to[6] = w.refs[1];
    w.count = 7;
    many_go(&w);
    assert_int_equal(w.status, AXO_EGONE);
    assert_int_equal(w.accepted, 5);
    assert_int_equal(w.got[4], 1);
    assert_int_equal(w.got[1], 2);
    w.to[0] = w.refs[1];
    many_go(&w);
    assert_int_equal(w.status, AXO_EFULL);
    assert_int_equal(w.accepted, 6);
    many_close(&w);
}

static void bad_input_sends_nothing(void **state)
{
    many_world w;
    uint32_t accepted = 9;
    const char byte = 0;
    (void)state;
    many_open(&w, LARGE);
    w.to[3] = axo_ref_none();
    many_go(&w);
    assert_int_equal(w.status, AXO_EINVAL);
    assert_int_equal(w.accepted, 0);
    w.to[3] = w.refs[3];
    assert_int_equal(axo_system_send_many(w.system, NULL, 1, DATA, &byte, 1, &accepted),
                     AXO_EINVAL);
    assert_int_equal(accepted, 0);
    assert_int_equal(axo_system_send_many(w.system, w.to, 2, AXO_TAG_RESERVED, &byte, 1, NULL),
                     AXO_EINVAL);
    assert_int_equal(axo_system_send_many(w.system, w.to, 2, DATA, NULL, 1, NULL), AXO_EINVAL);
    assert_int_equal(axo_system_send_many(w.system, w.to, 2, DATA, &byte, AXO_PAYLOAD_MAX + 1,
                                          NULL),
                     AXO_ETOOBIG);
    assert_int_equal(axo_system_send_many(NULL, w.to, 2, DATA, &byte, 1, NULL), AXO_EINVAL);
    assert_int_equal(axo_send_many(NULL, w.to, 2, DATA, &byte, 1, NULL), AXO_ECONTEXT);
    many_run(&w);
    for (uint32_t i = 0; i < RECEIVERS; i++)
        assert_int_equal(w.got[i], 0);
    many_close(&w);
}

static void no_memory_sends_nothing(void **state)
{
    many_world w;
    (void)state;
    many_open(&w, LARGE);
    w.dry = true;
    many_go(&w);
    assert_int_equal(w.status, AXO_ENOMEM);
    assert_int_equal(w.accepted, 0);
    many_run(&w);
    assert_int_equal(w.got[0], 0);
    many_close(&w);
}

/* ---- whatever becomes of the messages ---- */

static void forwarded_taken_failed(void **state)
{
    static const uint32_t hows[] = {FORWARD, TAKE, FAIL};
    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        many_world w;
        many_open(&w, LARGE);
        w.how = hows[i];
        many_go(&w);
        assert_int_equal(w.accepted, RECEIVERS);
        assert_int_equal(w.blocks, 1);
        assert_int_equal(w.left, 0);
        assert_int_equal(w.got[1], hows[i] == FORWARD ? 2 : 1);
        many_close(&w);
    }
}

/* ---- threads ---- */

typedef struct many_crowd {
    _Atomic uint64_t handled;
    uint32_t rounds;
    axo_ref refs[64];
} many_crowd;

static axo_status crowd_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)ctx;
    (void)state;
    many_crowd *crowd;
    memcpy(&crowd, message->payload, sizeof crowd);
    crowd->handled++;
    return AXO_OK;
}

static const axo_class crowd_class = AXO_CLASS(.name = "crowd", .receive = crowd_receive);

static void on_four_workers_nothing_is_left(void **state)
{
    many_crowd crowd = {.rounds = 400};
    char payload[100] = {0};
    many_crowd *self = &crowd;
    axo_system *system;
    axo_options options = AXO_OPTIONS(.workers = 4);
    axo_stats stats = AXO_STATS();
    (void)state;
    memcpy(payload, &self, sizeof self);
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    for (uint32_t i = 0; i < 64; i++) {
        axo_props props = AXO_PROPS(.cls = &crowd_class);
        assert_int_equal(axo_system_spawn(system, &props, &crowd.refs[i]), AXO_OK);
    }
    for (uint32_t i = 0; i < crowd.rounds; i++)
        assert_int_equal(axo_system_send_many(system, crowd.refs, 64, DATA, payload,
                                              sizeof payload, NULL),
                         AXO_OK);
    while (crowd.handled < 64 * (uint64_t)crowd.rounds)
        (void)axo_system_stats(system, &stats);
    assert_int_equal(axo_system_stop(system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(all_see_one_copy),
    cmocka_unit_test(small_ones_and_empty_ones),
    cmocka_unit_test(nobody_is_nothing),
    cmocka_unit_test(from_a_thread_that_is_no_worker),
    cmocka_unit_test(who_has_gone_and_who_is_full_hold_up_nobody),
    cmocka_unit_test(bad_input_sends_nothing),
    cmocka_unit_test(no_memory_sends_nothing),
    cmocka_unit_test(forwarded_taken_failed),
    cmocka_unit_test(on_four_workers_nothing_is_left),
};

TEST_MAIN(tests)
