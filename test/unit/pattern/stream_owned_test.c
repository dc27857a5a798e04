/* stream_owned_test.c - blocks that are handed over to a stream, and when they are given back. */
#include "unit/pattern/stream_world.h"

/* ---- blocks ---- */

typedef struct owned_block {
    char *bytes;
    size_t size;
    uint32_t given_back;
} owned_block;

static owned_block owned_blocks[4];

/* The bytes are spoilt: who still needs them sends others. */
static void owned_give_back(void *payload, void *user)
{
    owned_block *it = user;
    assert_ptr_equal(payload, it->bytes);
    memset(it->bytes, '#', it->size);
    it->given_back++;
}

static axo_owned owned_make(uint32_t which, size_t size, char letter)
{
    owned_block *it = &owned_blocks[which];
    free(it->bytes);
    *it = (owned_block){.bytes = malloc(size), .size = size};
    assert_non_null(it->bytes);
    memset(it->bytes, letter, size);
    return (axo_owned){.payload = it->bytes, .size = size, .destroy = owned_give_back, .user = it};
}

static uint32_t owned_given_back(uint32_t which)
{
    return owned_blocks[which].given_back;
}

static int owned_free(void **state)
{
    for (uint32_t i = 0; i < 4; i++) {
        free(owned_blocks[i].bytes);
        owned_blocks[i] = (owned_block){.bytes = NULL};
    }
    return 0;
}

static axo_status owned_write(stream_world *world, axo_ctx *ctx, const axo_owned *block)
{
    return axo_stream_write_owned(ctx, world->stream, block);
}

/* ---- sent ---- */

static void owned_among_others(stream_world *world, axo_ctx *ctx)
{
    axo_owned one = owned_make(0, 256, 'a');
    axo_owned two = owned_make(1, 255, 'b');
    axo_owned unfreed = {.payload = owned_blocks[0].bytes, .size = 256};
    assert_int_equal(axo_stream_write(ctx, world->stream, "<", 1), AXO_OK);
    assert_int_equal(owned_write(world, ctx, &one), AXO_OK);
    assert_int_equal(axo_stream_write(ctx, world->stream, "|", 1), AXO_OK);
    assert_int_equal(owned_write(world, ctx, &two), AXO_OK);
    assert_int_equal(owned_write(world, ctx, &unfreed), AXO_OK);
    assert_int_equal(axo_stream_write(ctx, world->stream, ">", 1), AXO_OK);
    assert_int_equal(owned_given_back(0), 0);
    assert_int_equal(owned_given_back(1), 1); /* it is short */
    owned_blocks[0].bytes[0] = 'A'; /* nobody should; it shows that nothing was copied */
}

/* So many of a letter. */
static const char *owned_skip(const char *text, char letter, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(*text++, letter);
    return text;
}

static void what_is_handed_over_is_sent_in_its_place(void **state)
{
    stream_world world = {.act = NULL};
    stream_pair(&world, SOCK_STREAM);
    stream_begin(&world);
    stream_do(&world, owned_among_others);
    const char *text = owned_skip(stream_get(&world), '<', 1);
    text = owned_skip(owned_skip(text, 'A', 1), 'a', 255);
    text = owned_skip(owned_skip(text, '|', 1), 'b', 255);
    text = owned_skip(owned_skip(text, 'A', 1), 'a', 255);
    assert_string_equal(text, ">");
    assert_int_equal(owned_given_back(0), 1);
    assert_int_equal(world.info.sent, 3 * 256 + 2);
    stream_end(&world);
    assert_int_equal(owned_given_back(0) + owned_given_back(1), 2);
}

static void owned_large(stream_world *world, axo_ctx *ctx)
{
    axo_owned large = owned_make(0, 30000000, 'x');
    axo_owned next = owned_make(1, 1000, 'y');
    assert_int_equal(owned_write(world, ctx, &large), AXO_OK);
    world->status = owned_write(world, ctx, &next);
}

/* As long as a byte of it waits the block stays. */
static void a_large_block_goes_in_pieces(void **state)
{
    stream_world world = {.settings = {.output_high = 40000000}};
    stream_pair(&world, SOCK_STREAM);
    stream_begin(&world);
    stream_do(&world, owned_large);
    assert_int_equal(world.status, AXO_OK);
    assert_int_equal(owned_given_back(0) + owned_given_back(1), 0);
    uint64_t got = 0;
    for (const char *text = stream_get(&world); *text != 0; text = stream_get(&world)) {
        for (; *text != 0; text++, got++)
            assert_int_equal(*text, got < 30000000 ? 'x' : 'y');
        bool waits = world.info.sent < 30000000;
        assert_int_equal(owned_given_back(0), !waits);
    }
    assert_int_equal(got, 30001000);
    assert_int_equal(owned_given_back(0) + owned_given_back(1), 2);
    stream_end(&world);
}

/* More than one call can take, with bytes that are copied between them. */
enum { OWNED_MANY = 1500, OWNED_SIZE = 300 };

static char owned_many[OWNED_MANY][OWNED_SIZE];
static uint32_t owned_many_back;

static void owned_back_in_order(void *payload, void *user)
{
    assert_ptr_equal(user, owned_many[owned_many_back]);
    assert_ptr_equal(payload, user);
    memset(payload, '#', OWNED_SIZE);
    owned_many_back++;
}

static void owned_write_many(stream_world *world, axo_ctx *ctx)
{
    for (uint32_t i = 0; i < OWNED_MANY; i++) {
        axo_owned block = {.payload = owned_many[i], .size = OWNED_SIZE,
                           .destroy = owned_back_in_order, .user = owned_many[i]};
        memset(owned_many[i], 'a' + (int)(i % 26), OWNED_SIZE);
        assert_int_equal(owned_write(world, ctx, &block), AXO_OK);
        if (i % 3 == 0)
            assert_int_equal(axo_stream_write(ctx, world->stream, "\r\n", 2), AXO_OK);
    }
    assert_int_equal(owned_many_back, 0);
}

static char owned_many_byte(uint32_t at)
{
    enum { THREE = 3 * OWNED_SIZE + 2 };
    uint32_t block = at / THREE * 3;
    uint32_t within = at % THREE;
    if (within >= OWNED_SIZE && within < OWNED_SIZE + 2)
        return "\r\n"[within - OWNED_SIZE];
    within -= within >= OWNED_SIZE ? 2 : 0;
    return (char)('a' + (block + within / OWNED_SIZE) % 26);
}

static void many_blocks_in_one_turn(void **state)
{
    stream_world world = {.settings = {.output_high = 1000000}};
    uint32_t at = 0;
    owned_many_back = 0;
    stream_pair(&world, SOCK_STREAM);
    stream_begin(&world);
    stream_do(&world, owned_write_many);
    assert_in_range(owned_many_back, 65, OWNED_MANY - 1); /* the socket has no room for all */
    for (const char *text = stream_get(&world); *text != 0; text = stream_get(&world))
        for (; *text != 0; text++, at++)
            assert_int_equal(*text, owned_many_byte(at));
    assert_int_equal(at, OWNED_MANY * OWNED_SIZE + OWNED_MANY / 3 * 2);
    assert_int_equal(owned_many_back, OWNED_MANY);
    stream_end(&world);
}

/* ---- what it takes of memory ---- */

/* Two bytes behind each block take no block of their own size: what waits is bounded in memory,
 * too. */
static void owned_fill(stream_world *world, axo_ctx *ctx)
{
    axo_status status = AXO_OK;
    while (status == AXO_OK && axo_stream_has_room(ctx, world->stream)) {
        axo_owned block = {.payload = owned_many[0], .size = OWNED_SIZE};
        status = owned_write(world, ctx, &block);
        if (status == AXO_OK)
            status = axo_stream_write(ctx, world->stream, "\r\n", 2);
        axo_owned shorter = {.payload = owned_many[0], .size = 10};
        if (status == AXO_OK)
            status = owned_write(world, ctx, &shorter);
    }
}

static uint64_t owned_memory(const stream_world *world)
{
    axo_stats stats = AXO_STATS();
    assert_int_equal(axo_system_stats(world->system, &stats), AXO_OK);
    return stats.memory_bytes;
}

static void small_writes_between_blocks(void **state)
{
    stream_world world = {.settings = {.output_high = 100000}};
    stream_pair(&world, SOCK_STREAM);
    stream_begin(&world);
    uint64_t before = owned_memory(&world);
    for (uint32_t i = 0; i < 100; i++)
        stream_do(&world, owned_fill);
    assert_in_range(world.info.output, 100000, 100000 + OWNED_SIZE);
    assert_in_range(owned_memory(&world) - before, 1, 200000);
    stream_end(&world);
}

/* ---- refused ---- */

static void owned_refused(stream_world *world, axo_ctx *ctx)
{
    axo_owned block = owned_make(0, 1000, 'a');
    axo_owned none = {.payload = NULL, .size = 1};
    axo_owned huge = block;
    huge.size = AXO_STREAM_MAX + 1;
    assert_int_equal(owned_write(world, ctx, NULL), AXO_EINVAL);
    assert_int_equal(owned_write(world, ctx, &none), AXO_EINVAL);
    assert_int_equal(owned_write(world, ctx, &huge), AXO_ETOOBIG);
    assert_int_equal(axo_stream_write_owned(NULL, world->stream, &block), AXO_ECONTEXT);
    assert_int_equal(axo_stream_write_owned(ctx, NULL, &block), AXO_EINVAL);
    stream_fill(world, ctx);
    axo_owned nothing = {.payload = block.payload, .destroy = block.destroy, .user = block.user};
    assert_int_equal(owned_write(world, ctx, &block), AXO_EFULL);
    assert_int_equal(owned_write(world, ctx, &nothing), AXO_EFULL);
    assert_int_equal(axo_stream_end(ctx, world->stream), AXO_OK);
    assert_int_equal(owned_write(world, ctx, &block), AXO_ESTOPPING);
    assert_int_equal(axo_stream_close(ctx, world->stream, SECOND), AXO_OK);
    assert_int_equal(owned_write(world, ctx, &block), AXO_ESTOPPING);
    assert_int_equal(axo_stream_close(ctx, world->stream, 0), AXO_OK);
    assert_int_equal(owned_write(world, ctx, &block), AXO_EGONE);
    world->status = AXO_EFAILED;
}

static void what_is_refused_stays_the_callers(void **state)
{
    stream_world world = {.settings = {.output_high = 1000}};
    stream_pair(&world, SOCK_STREAM);
    stream_begin(&world);
    stream_do(&world, owned_refused);
    assert_int_equal(world.status, AXO_EFAILED);
    stream_end(&world);
    assert_int_equal(owned_given_back(0), 0);
}

/* ---- answers ---- */

static axo_status owned_answer(stream_world *world, axo_ctx *ctx, const axo_owned *block)
{
    return axo_stream_answer_owned(ctx, world->stream, block);
}

/* As answers that are copied (stream_answer_test.c). */
static void owned_owe(stream_world *world, axo_ctx *ctx)
{
    world->taken = 0;
    while (axo_stream_has_room(ctx, world->stream)) {
        assert_int_equal(axo_stream_owe(ctx, world->stream, 1), AXO_OK);
        world->taken++;
    }
}

static void owned_answer_short(stream_world *world, axo_ctx *ctx)
{
    axo_owned block = owned_make(0, 10, 'a');
    assert_int_equal(owned_answer(world, ctx, &block), AXO_OK);
    assert_int_equal(owned_given_back(0), 1);
}

static void owned_answer_long(stream_world *world, axo_ctx *ctx)
{
    axo_owned block = owned_make(1, 700, 'b');
    assert_int_equal(owned_answer(world, ctx, &block), AXO_OK);
    stream_see(world, ctx);
    assert_int_equal(world->info.output, 700);
    assert_int_equal(world->info.outstanding, 700 + world->info.owed * 700);
    assert_int_equal(owned_given_back(1), 0);
}

static void an_answer_that_is_handed_over_counts(void **state)
{
    stream_world world = {.settings = {.outstanding_bytes = 1000}};
    stream_pair(&world, SOCK_STREAM);
    stream_begin(&world);
    stream_do(&world, owned_owe);
    assert_int_equal(world.info.owed, 4);
    stream_do(&world, owned_answer_short);
    assert_int_equal(world.info.owed, 3);
    assert_int_equal(world.info.outstanding, 3 * 219);
    stream_do(&world, owned_answer_long);
    assert_int_equal(world.info.owed, 2);
    assert_int_equal(world.info.outstanding, 2 * 700);
    assert_int_equal(owned_given_back(1), 1);
    stream_do(&world, owned_owe);
    assert_int_equal(world.taken, 0);
    stream_do(&world, owned_answer_long);
    stream_do(&world, owned_answer_long);
    stream_do(&world, owned_owe);
    assert_int_equal(world.taken, 1);
    assert_int_equal(stream_drink(&world), 10 + 3 * 700);
    stream_end(&world);
}

/* What waits of a block is outstanding: as long as it is, nothing is read, and no request taken. */
static void owned_answer_large(stream_world *world, axo_ctx *ctx)
{
    axo_owned block = owned_make(2, 3000000, 'c');
    assert_int_equal(axo_stream_owe(ctx, world->stream, 1), AXO_OK);
    assert_int_equal(owned_answer(world, ctx, &block), AXO_OK);
    assert_false(axo_stream_has_room(ctx, world->stream));
}

static void what_waits_of_a_block_is_outstanding(void **state)
{
    stream_world world = {.settings = {.outstanding_bytes = 1000}};
    stream_pair(&world, SOCK_STREAM);
    stream_begin(&world);
    stream_do(&world, owned_answer_large);
    assert_in_range(world.info.outstanding, 1000000, 2999999);
    assert_int_equal(world.info.outstanding, world.info.output);
    stream_put(&world, "more");
    assert_int_equal(world.info.received, 0);
    assert_int_equal(world.rooms, 0);
    assert_int_equal(stream_drink(&world), 3000000);
    assert_int_equal(owned_given_back(2), 1);
    assert_int_equal(world.rooms, 1);
    assert_int_equal(world.info.outstanding, 0);
    assert_int_equal(world.info.received, 4);
    stream_end(&world);
}

static void owned_answer_refused(stream_world *world, axo_ctx *ctx)
{
    axo_owned block = owned_make(0, 1000, 'a');
    axo_owned none = {.payload = NULL, .size = 1};
    axo_owned huge = block;
    huge.size = AXO_STREAM_MAX + 1;
    assert_int_equal(owned_answer(world, ctx, &block), AXO_EINVAL); /* none is owed */
    assert_int_equal(axo_stream_owe(ctx, world->stream, 2), AXO_OK);
    assert_int_equal(owned_answer(world, ctx, NULL), AXO_EINVAL);
    assert_int_equal(owned_answer(world, ctx, &none), AXO_EINVAL);
    assert_int_equal(owned_answer(world, ctx, &huge), AXO_ETOOBIG);
    assert_int_equal(axo_stream_answer_owned(NULL, world->stream, &block), AXO_ECONTEXT);
    assert_int_equal(axo_stream_answer_owned(ctx, NULL, &block), AXO_EINVAL);
    assert_int_equal(axo_stream_end(ctx, world->stream), AXO_OK);
    assert_int_equal(owned_answer(world, ctx, &block), AXO_ESTOPPING);
    stream_see(world, ctx);
    assert_int_equal(world->info.owed, 2);
    assert_int_equal(axo_stream_close(ctx, world->stream, 0), AXO_OK);
    assert_int_equal(owned_answer(world, ctx, &block), AXO_EGONE);
    world->status = AXO_EFAILED;
}

static void an_answer_that_is_refused_stays_the_callers(void **state)
{
    stream_world world = {.status = AXO_OK};
    stream_pair(&world, SOCK_STREAM);
    stream_begin(&world);
    stream_do(&world, owned_answer_refused);
    assert_int_equal(world.status, AXO_EFAILED);
    stream_end(&world);
    assert_int_equal(owned_given_back(0), 0);
}

/* ---- in a destroy ---- */

static struct {
    stream_world *world;
    axo_ctx *ctx;
    uint32_t calls;
} owned_inside;

/* Nothing of the stream's, and no failure: it may be called from the middle of a write. */
static void owned_use_inside(void *payload, void *user)
{
    axo_ctx *ctx = owned_inside.ctx;
    axo_stream *it = owned_inside.world->stream;
    axo_stream_bytes piece;
    axo_stream_info info = AXO_STREAM_INFO();
    const axo_message due = {.tag = AXO_STREAM_DUE};
    assert_int_equal(axo_stream_write(ctx, it, "!", 1), AXO_ECONTEXT);
    assert_int_equal(axo_stream_next(ctx, it, 0, &piece), AXO_ECONTEXT);
    assert_int_equal(axo_stream_credit(ctx, it, 1), AXO_ECONTEXT);
    assert_int_equal(axo_stream_owe(ctx, it, 1), AXO_ECONTEXT);
    assert_int_equal(axo_stream_settle(ctx, it), AXO_ECONTEXT);
    assert_int_equal(axo_stream_close(ctx, it, 0), AXO_ECONTEXT);
    assert_int_equal(axo_stream_look(ctx, it, &info), AXO_ECONTEXT);
    assert_int_equal(axo_stream_reopen(ctx, it, 0, NULL), AXO_ECONTEXT);
    assert_int_equal(axo_stream_receive(ctx, it, &due), 0);
    assert_false(axo_stream_has_room(ctx, it));
    assert_int_equal(axo_fail(ctx, 1, "from a destroy"), AXO_ECONTEXT);
    owned_inside.calls++;
    free(user); /* the axo_owned itself */
}

static axo_owned *owned_make_inside(size_t size)
{
    axo_owned *block = malloc(sizeof *block + size);
    assert_non_null(block);
    *block = (axo_owned){
        .payload = block + 1, .size = size, .destroy = owned_use_inside, .user = block};
    memset(block + 1, 'i', size);
    return block;
}

static void owned_write_inside(stream_world *world, axo_ctx *ctx)
{
    owned_inside.world = world;
    owned_inside.ctx = ctx;
    owned_inside.calls = 0;
    assert_int_equal(owned_write(world, ctx, owned_make_inside(10)), AXO_OK);
    assert_int_equal(owned_inside.calls, 1);
    assert_int_equal(owned_write(world, ctx, owned_make_inside(0)), AXO_OK);
    assert_int_equal(owned_inside.calls, 2);
    assert_int_equal(axo_stream_owe(ctx, world->stream, 2), AXO_OK);
    assert_int_equal(owned_answer(world, ctx, owned_make_inside(20)), AXO_OK);
    assert_int_equal(owned_answer(world, ctx, owned_make_inside(500)), AXO_OK);
    assert_int_equal(owned_write(world, ctx, owned_make_inside(1000)), AXO_OK);
    assert_int_equal(owned_inside.calls, 3);
    assert_int_equal(axo_stream_settle(ctx, world->stream), AXO_OK);
    assert_int_equal(owned_inside.calls, 5);
    assert_int_equal(owned_write(world, ctx, owned_make_inside(2000)), AXO_OK);
    assert_int_equal(axo_stream_close(ctx, world->stream, 0), AXO_OK);
    assert_int_equal(owned_inside.calls, 6);
}

static void a_destroy_finds_no_stream(void **state)
{
    stream_world world = {.act = NULL};
    stream_pair(&world, SOCK_STREAM);
    stream_begin(&world);
    stream_do(&world, owned_write_inside);
    assert_int_equal(world.instances, 1); /* it has not failed */
    assert_int_equal(stream_drink(&world), 1530);
    stream_end(&world);
}

/* ---- ends ---- */

static void owned_nothing(stream_world *world, axo_ctx *ctx)
{
    axo_owned block = owned_make(2, 1, 'n');
    block.size = 0;
    assert_int_equal(owned_write(world, ctx, &block), AXO_OK);
    assert_int_equal(owned_given_back(2), 1);
}

static void owned_close_now(stream_world *world, axo_ctx *ctx)
{
    assert_int_equal(axo_stream_close(ctx, world->stream, 0), AXO_OK);
    assert_int_equal(owned_given_back(0) + owned_given_back(1), 2);
}

static void owned_to_nobody(stream_world *world, axo_ctx *ctx)
{
    axo_owned block = owned_make(3, 10, 'z');
    if ((world->told & AXO_STREAM_CLOSED) != 0)
        return;
    world->status = owned_write(world, ctx, &block);
}

/* A reset, a close, one that is late, the instance's restart, its end, the system's: each gives
 * back what waits. */
static void what_waits_is_given_back_at_every_end(void **state)
{
    enum { RESET, TCP_RESET, CLOSE, DRAIN, LATE, FAILS, STOPS, SYSTEM, ENDS };
    for (uint32_t how = RESET; how < ENDS; how++) {
        stream_world world = {.settings = {.output_high = 40000000, .write_ns = SECOND},
                              .now = SECOND};
        if (how == TCP_RESET)
            stream_tcp(&world);
        else
            stream_pair(&world, SOCK_STREAM);
        stream_begin(&world);
        stream_do(&world, owned_nothing);
        stream_do(&world, owned_large);
        assert_int_equal(owned_given_back(0) + owned_given_back(1), 0);
        if (how == RESET || how == TCP_RESET)
            stream_reset(&world);
        for (uint32_t i = 0; i < 10000 && how == TCP_RESET && world.closes == 0; i++) {
            (void)poll(NULL, 0, 1);
            stream_run(&world);
        }
        if (how == CLOSE)
            stream_do(&world, owned_close_now);
        if (how == DRAIN)
            stream_do(&world, stream_drain_long);
        if (how == DRAIN || how == LATE)
            world.now += 200 * SECOND;
        if (how == FAILS || how == STOPS)
            stream_tell(&world, how == FAILS ? FAIL : STOP);
        stream_run(&world);
        if (how == SYSTEM)
            stream_end(&world);
        assert_int_equal(owned_given_back(0), 1);
        assert_int_equal(owned_given_back(1), 1);
        if (how != SYSTEM)
            stream_end(&world);
        assert_int_equal(owned_given_back(0) + owned_given_back(1), 2);
    }
}

/* The other side is gone, and that was not told yet. */
static void a_block_for_nobody(void **state)
{
    stream_world world = {.act = owned_to_nobody};
    stream_pair(&world, SOCK_STREAM);
    stream_begin(&world);
    assert_int_equal(close(world.peer), 0);
    world.peer = -1;
    stream_tell(&world, DO);
    stream_run(&world);
    assert_int_equal(world.status, AXO_OK);
    assert_int_equal(owned_given_back(3), 1);
    stream_end(&world);
}

/* ---- a message's payload ---- */

static void owned_free_text(void *payload, void *user)
{
    *(uint32_t *)user += 1;
    free(payload);
}

typedef struct owned_relay {
    stream_world *world;
} owned_relay;

static axo_status owned_relay_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    stream_world *world = *(stream_world **)state;
    axo_owned payload;
    if (message->tag != DO)
        return stream_receive(ctx, state, message);
    assert_int_equal(axo_message_take(ctx, message, &payload), AXO_OK);
    return axo_stream_write_owned(ctx, world->stream, &payload);
}

static void a_messages_payload_is_sent_from_where_it_lies(void **state)
{
    static const axo_class cls =
        AXO_CLASS(.name = "relay", .state_size = sizeof(owned_relay),
                  .construct = stream_construct, .receive = owned_relay_receive,
                  .settle = stream_settle);
    uint32_t freed = 0;
    stream_world world = {.act = NULL};
    stream_pair(&world, SOCK_STREAM);
    stream_begin_as(&world, &cls);
    assert_int_equal(axo_system_send_owned(world.system, world.actor, DO, strdup("payload"), 7,
                                           owned_free_text, &freed),
                     AXO_OK);
    assert_string_equal(stream_get(&world), "payload");
    assert_int_equal(freed, 1);
    stream_end(&world);
    assert_int_equal(freed, 1);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_teardown(what_is_handed_over_is_sent_in_its_place, owned_free),
    cmocka_unit_test_teardown(a_large_block_goes_in_pieces, owned_free),
    cmocka_unit_test(many_blocks_in_one_turn),
    cmocka_unit_test(small_writes_between_blocks),
    cmocka_unit_test_teardown(what_is_refused_stays_the_callers, owned_free),
    cmocka_unit_test_teardown(an_answer_that_is_handed_over_counts, owned_free),
    cmocka_unit_test_teardown(what_waits_of_a_block_is_outstanding, owned_free),
    cmocka_unit_test_teardown(an_answer_that_is_refused_stays_the_callers, owned_free),
    cmocka_unit_test(a_destroy_finds_no_stream),
    cmocka_unit_test_teardown(what_waits_is_given_back_at_every_end, owned_free),
    cmocka_unit_test_teardown(a_block_for_nobody, owned_free),
    cmocka_unit_test(a_messages_payload_is_sent_from_where_it_lies),
};
TEST_MAIN(tests)
