/* bounded_test.c - a bounded mailbox: orders against a model, bounds, line, memory. */
#include "unit/unit.h"

#include "base/random.h"
#include "mailbox/bounded.h"

#define MODEL_MAX 4096

typedef struct fixture {
    unit_memory memory;
    axo__heap heap;
    axo__pool pool;
    axo__cache cache;
    uint64_t freed; /* owned payloads */
} fixture;

static void fixture_open(fixture *f)
{
    memset((void *)f, 0, sizeof *f);
    unit_heap(&f->heap, &f->memory, 1u << 20);
    assert_true(axo__pool_init(&f->pool, &f->heap));
    axo__cache_init(&f->cache, &f->pool);
}

static void fixture_close(fixture *f)
{
    axo__pool_fini(&f->pool);
    unit_heap_empty(&f->heap);
}

/* The tag is what a test tells messages by, its lowest byte the priority. */
static uint32_t priority_of(const axo_message *message, void *user)
{
    if (user != NULL)
        ++*(uint64_t *)user;
    return message->tag & 0xff;
}

static axo__message *letter(fixture *f, uint32_t tag, size_t size)
{
    axo__message *message =
        axo__message_make(&f->cache, tag, (axo_ref){.bits = tag >> 8}, size);
    assert_non_null(message);
    return message;
}

static axo__message *special_new(fixture *f, uint32_t tag, uint32_t flags)
{
    axo__message *message = letter(f, tag, 0);
    message->flags = flags;
    return message;
}

static axo__bounded_mailbox *make(fixture *f, axo_mailbox how)
{
    axo__bounded_mailbox *bounded = axo__bounded_make(&f->cache, &how);
    assert_non_null(bounded);
    return bounded;
}

static axo__put put(axo__bounded_mailbox *bounded, axo__message *message)
{
    axo__chain lost = {NULL, NULL};
    axo__put result = axo__bounded_put_any(bounded, message, NULL, &lost);
    assert_null(lost.first);
    return result;
}

/* Takes one; its tag. UINT32_MAX: none. */
static uint32_t take(fixture *f, axo__bounded_mailbox *bounded)
{
    axo__waiter *done = NULL;
    axo__message *message = axo__bounded_take_owner(bounded, &done);
    assert_null(done);
    if (message == NULL)
        return UINT32_MAX;
    uint32_t tag = message->pub.tag;
    assert_true(message->flags < AXO__MESSAGE_FLAGS_END); /* nothing is carried any more */
    message->flags &= ~(uint32_t)AXO__MESSAGE_NOTICE; /* its block is its own here */
    axo__message_free(&f->cache, message);
    return tag;
}

static void finish(fixture *f, axo__bounded_mailbox *bounded)
{
    axo__bounded_free(&f->cache, bounded);
    fixture_close(f);
}

/* ---- orders ---------------------------------------------------------------------------------- */

typedef struct model {
    uint32_t tags[MODEL_MAX];
    uint32_t count;
} model;

/* Takes out of the model what a stable priority queue of that kind would give. */
static uint32_t model_take(model *m, axo_mailbox_kind kind)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < m->count; i++) {
        uint32_t one = m->tags[i] & 0xff;
        uint32_t other = m->tags[best] & 0xff;
        if (kind == AXO_MAILBOX_CONTROL ? (one == 0 && other != 0)
                                        : kind == AXO_MAILBOX_PRIORITY && one < other)
            best = i;
    }
    uint32_t tag = m->tags[best];
    memmove(&m->tags[best], &m->tags[best + 1], sizeof(uint32_t) * (--m->count - best));
    return tag;
}

static void against_model(axo_mailbox_kind kind, uint32_t levels, uint64_t seed)
{
    fixture f;
    model m = {.count = 0};
    axo__random random;
    fixture_open(&f);
    axo__random_init(&random, seed, 1);
    axo__bounded_mailbox *bounded = make(
        &f, (axo_mailbox)AXO_MAILBOX(.kind = kind,
                                     .priority = kind == AXO_MAILBOX_FIFO ? NULL : priority_of));
    for (uint32_t i = 1; i <= 6000; i++) {
        bool grow = (i / 500) % 2 == 0; /* long and short in turn */
        if (m.count < MODEL_MAX && axo__random_next(&random) % 8 < (grow ? 6 : 3)) {
            uint32_t tag = i << 8 | (uint32_t)(axo__random_next(&random) % levels);
            assert_int_equal(put(bounded, letter(&f, tag, 0)), AXO__PUT_IN);
            m.tags[m.count++] = tag;
        } else if (m.count == 0) {
            assert_int_equal(take(&f, bounded), UINT32_MAX);
        } else {
            assert_int_equal(take(&f, bounded), model_take(&m, kind));
        }
        assert_int_equal(axo__bounded_count(bounded), m.count);
    }
    while (m.count > 0)
        assert_int_equal(take(&f, bounded), model_take(&m, kind));
    assert_int_equal(take(&f, bounded), UINT32_MAX);
    finish(&f, bounded);
}

static void orders(void **state)
{
    for (uint64_t seed = 1; seed <= 4; seed++) {
        against_model(AXO_MAILBOX_FIFO, 1, seed);
        against_model(AXO_MAILBOX_CONTROL, 3, seed);
        against_model(AXO_MAILBOX_PRIORITY, 1, seed);
        against_model(AXO_MAILBOX_PRIORITY, 3, seed);
        against_model(AXO_MAILBOX_PRIORITY, 200, seed);
    }
}

/* A pill comes when nothing else waits; a notice has the priority it is given. */
static void specials_have_their_place(void **state)
{
    fixture f;
    uint64_t asked = 0;
    fixture_open(&f);
    axo__bounded_mailbox *bounded =
        make(&f, (axo_mailbox)AXO_MAILBOX(.kind = AXO_MAILBOX_PRIORITY, .priority = priority_of,
                                          .user = &asked));
    assert_int_equal(put(bounded, special_new(&f, 0x100, AXO__MESSAGE_PILL)), AXO__PUT_IN);
    assert_int_equal(put(bounded, special_new(&f, 0x200, AXO__MESSAGE_KILL)), AXO__PUT_IN);
    assert_int_equal(put(bounded, letter(&f, 0x3ff, 0)), AXO__PUT_IN);
    assert_int_equal(put(bounded, special_new(&f, 0x402, AXO__MESSAGE_NOTICE)), AXO__PUT_IN);
    assert_int_equal(put(bounded, letter(&f, 0x503, 0)), AXO__PUT_IN);
    assert_int_equal(asked, 3);
    static const uint32_t wanted[] = {0x402, 0x503, 0x3ff, 0x100, 0x200};
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(take(&f, bounded), wanted[i]);
    finish(&f, bounded);
}

static void places(void **state)
{
    static const axo_mailbox_kind kinds[] = {AXO_MAILBOX_FIFO, AXO_MAILBOX_PRIORITY,
                                             AXO_MAILBOX_CONTROL};
    static const uint64_t wanted[3][3] = {{1, 2, 3}, {4, 2, 1}, {2, 3, 1}};
    for (uint32_t kind = 0; kind < 3; kind++) {
        fixture f;
        fixture_open(&f);
        axo__bounded_mailbox *bounded =
            make(&f, (axo_mailbox)AXO_MAILBOX(.kind = kinds[kind],
                                              .priority = kind == 0 ? NULL : priority_of));
        static const uint32_t tags[] = {0x109, 0x205, 0x300, 0x207};
        for (uint32_t i = 0; i < 4; i++)
            assert_int_equal(put(bounded, letter(&f, tags[i], 0)), AXO__PUT_IN);
        for (uint64_t sender = 1; sender <= 3; sender++)
            assert_int_equal(axo__bounded_place_any(bounded, (axo_ref){.bits = sender}),
                             wanted[kind][sender - 1]);
        assert_int_equal(axo__bounded_place_any(bounded, (axo_ref){.bits = 4}), 0);
        for (uint32_t i = 0; i < 4; i++)
            assert_int_not_equal(take(&f, bounded), UINT32_MAX);
        finish(&f, bounded);
    }
}

/* ---- bounds ---------------------------------------------------------------------------------- */

static void refuse_by_messages(void **state)
{
    fixture f;
    fixture_open(&f);
    axo__bounded_mailbox *bounded = make(&f, (axo_mailbox)AXO_MAILBOX(.messages_max = 3));
    for (uint32_t i = 1; i <= 3; i++)
        assert_int_equal(put(bounded, letter(&f, i, 0)), AXO__PUT_IN);
    axo__message *late = letter(&f, 4, 0);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(put(bounded, late), AXO__PUT_FULL);
    assert_int_equal(axo__bounded_count(bounded), 3);
    assert_int_equal(put(bounded, special_new(&f, 5, AXO__MESSAGE_NOTICE)), AXO__PUT_IN);
    assert_int_equal(put(bounded, special_new(&f, 6, AXO__MESSAGE_SIGNAL)), AXO__PUT_IN);
    assert_int_equal(put(bounded, special_new(&f, 7, AXO__MESSAGE_PILL)), AXO__PUT_IN);
    assert_int_equal(take(&f, bounded), 1);
    assert_int_equal(put(bounded, late), AXO__PUT_IN);
    static const uint32_t wanted[] = {2, 3, 5, 6, 7, 4, UINT32_MAX};
    for (uint32_t i = 0; i < 7; i++)
        assert_int_equal(take(&f, bounded), wanted[i]);
    finish(&f, bounded);
}

static void count_free(void *payload, void *user)
{
    ++*(uint64_t *)user;
}

static axo__message *owned_new(fixture *f, uint32_t tag, size_t size)
{
    static char payload[1];
    axo__message *message = letter(f, tag, sizeof(void *));
    axo__message_own(message, payload, size, count_free, &f->freed);
    return message;
}

static void refuse_by_bytes(void **state)
{
    fixture f;
    fixture_open(&f);
    axo__bounded_mailbox *bounded = make(&f, (axo_mailbox)AXO_MAILBOX(.bytes_max = 1000));
    assert_int_equal(put(bounded, owned_new(&f, 1, 5000)), AXO__PUT_IN); /* alone it may be large */
    axo__message *small = letter(&f, 2, 8);
    assert_int_equal(put(bounded, small), AXO__PUT_FULL);
    assert_int_equal(take(&f, bounded), 1);
    assert_int_equal(put(bounded, small), AXO__PUT_IN);
    size_t left = 1000 - (sizeof(axo__message) + 8);
    axo__message *large = letter(&f, 3, left - sizeof(axo__message) + 1);
    assert_int_equal(put(bounded, large), AXO__PUT_FULL);
    axo__message *owned = owned_new(&f, 4, left - sizeof(axo__message) - sizeof(void *));
    assert_int_equal(put(bounded, owned), AXO__PUT_IN); /* to the byte */
    axo__message *one = letter(&f, 5, 0);
    assert_int_equal(put(bounded, one), AXO__PUT_FULL);
    assert_int_equal(take(&f, bounded), 2);
    assert_int_equal(put(bounded, one), AXO__PUT_IN);
    assert_int_equal(take(&f, bounded), 4);
    assert_int_equal(take(&f, bounded), 5);
    assert_int_equal(put(bounded, large), AXO__PUT_IN);
    assert_int_equal(take(&f, bounded), 3);
    assert_int_equal(f.freed, 2);
    finish(&f, bounded);
}

/* The tags of a chain, which is freed. */
static void expect_chain(fixture *f, axo__chain *chain, const uint32_t *tags, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        axo__message *message = axo__chain_pop(chain);
        assert_int_equal(message->pub.tag, tags[i]);
        assert_true(message->flags < AXO__MESSAGE_FLAGS_END);
        axo__message_free(&f->cache, message);
    }
    assert_null(axo__chain_pop(chain));
}

static void drop_new(void **state)
{
    fixture f;
    axo__chain lost = {NULL, NULL};
    fixture_open(&f);
    axo__bounded_mailbox *bounded =
        make(&f, (axo_mailbox)AXO_MAILBOX(.kind = AXO_MAILBOX_PRIORITY,
                                          .overflow = AXO_OVERFLOW_DROP_NEW, .messages_max = 1,
                                          .priority = priority_of));
    assert_int_equal(put(bounded, letter(&f, 9, 0)), AXO__PUT_IN);
    assert_int_equal(axo__bounded_put_any(bounded, letter(&f, 1, 0), NULL, &lost),
                     AXO__PUT_DROPPED);
    expect_chain(&f, &lost, (const uint32_t[]){1}, 1);
    assert_int_equal(take(&f, bounded), 9);
    finish(&f, bounded);
}

static void drop_old(void **state)
{
    fixture f;
    axo__chain lost = {NULL, NULL};
    fixture_open(&f);
    axo__bounded_mailbox *bounded = make(
        &f, (axo_mailbox)AXO_MAILBOX(.kind = AXO_MAILBOX_CONTROL, .overflow = AXO_OVERFLOW_DROP_OLD,
                                     .messages_max = 3, .priority = priority_of));
    /* A notice and a pill are older than all, and never dropped (PH-27). */
    assert_int_equal(put(bounded, special_new(&f, 0x101, AXO__MESSAGE_NOTICE)), AXO__PUT_IN);
    assert_int_equal(put(bounded, letter(&f, 0x200, 0)), AXO__PUT_IN);
    assert_int_equal(put(bounded, letter(&f, 0x301, 0)), AXO__PUT_IN);
    assert_int_equal(put(bounded, special_new(&f, 0x401, AXO__MESSAGE_PILL)), AXO__PUT_IN);
    assert_int_equal(put(bounded, letter(&f, 0x501, 0)), AXO__PUT_IN);
    static const uint32_t victims[] = {0x301, 0x501, 0x200, 0x600};
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t tag = 0x600 + (i << 8); /* control */
        assert_int_equal(axo__bounded_put_any(bounded, letter(&f, tag, 0), NULL, &lost),
                         AXO__PUT_IN);
        expect_chain(&f, &lost, &victims[i], 1);
        assert_int_equal(axo__bounded_count(bounded), 5);
    }
    static const uint32_t wanted[] = {0x700, 0x800, 0x900, 0x101, 0x401, UINT32_MAX};
    for (uint32_t i = 0; i < 6; i++)
        assert_int_equal(take(&f, bounded), wanted[i]);
    finish(&f, bounded);
}

/* The last one is dropped too, and the chain goes on behind it. */
static void drop_old_by_bytes(void **state)
{
    fixture f;
    axo__chain lost = {NULL, NULL};
    fixture_open(&f);
    axo__bounded_mailbox *bounded =
        make(&f, (axo_mailbox)AXO_MAILBOX(.overflow = AXO_OVERFLOW_DROP_OLD, .bytes_max = 600));
    for (uint32_t i = 1; i <= 3; i++)
        assert_int_equal(put(bounded, letter(&f, i, 100)), AXO__PUT_IN);
    assert_int_equal(axo__bounded_put_any(bounded, letter(&f, 4, 4000), NULL, &lost), AXO__PUT_IN);
    expect_chain(&f, &lost, (const uint32_t[]){1, 2, 3}, 3);
    assert_int_equal(axo__bounded_put_any(bounded, letter(&f, 5, 0), NULL, &lost), AXO__PUT_IN);
    expect_chain(&f, &lost, (const uint32_t[]){4}, 1);
    assert_int_equal(put(bounded, letter(&f, 6, 0)), AXO__PUT_IN);
    assert_int_equal(take(&f, bounded), 5);
    assert_int_equal(take(&f, bounded), 6);
    finish(&f, bounded);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void no_memory_is_no_mailbox(void **state)
{
    fixture f;
    axo_mailbox how = AXO_MAILBOX(.kind = AXO_MAILBOX_FIFO);
    fixture_open(&f);
    axo__a64_store_relaxed(&f.memory.budget, 0);
    assert_null(axo__bounded_make(&f.cache, &how));
    axo__a64_store_relaxed(&f.memory.budget, 100);
    fixture_close(&f);
}

/* Without memory for its entry a message is refused; one that must not be waits its turn. */
static void heap_without_memory(void **state)
{
    fixture f;
    fixture_open(&f);
    axo__message *more[4];
    axo__bounded_mailbox *bounded =
        make(&f, (axo_mailbox)AXO_MAILBOX(.kind = AXO_MAILBOX_PRIORITY, .priority = priority_of));
    for (uint32_t i = 0; i < 4; i++)
        more[i] = i < 3 ? special_new(&f, 0x101 + i, AXO__MESSAGE_NOTICE) : letter(&f, 7, 0);
    axo__a64_store_relaxed(&f.memory.budget, 0);
    assert_int_equal(put(bounded, more[3]), AXO__PUT_NO_MEMORY);
    assert_int_equal(axo__bounded_count(bounded), 0);
    axo__bounded_accept_any(bounded, more[0]); /* no heap at all yet */
    assert_int_equal(take(&f, bounded), 0x101);
    axo__a64_store_relaxed(&f.memory.budget, 1u << 20);
    uint32_t count = 0;
    for (; count == 0 || count < bounded->entry_room; count++)
        assert_int_equal(put(bounded, letter(&f, 0x1004, 0)), AXO__PUT_IN);
    axo__a64_store_relaxed(&f.memory.budget, 0);
    assert_int_equal(put(bounded, more[3]), AXO__PUT_NO_MEMORY);
    axo__bounded_accept_any(bounded, more[2]);
    axo__bounded_accept_any(bounded, more[1]);
    assert_int_equal(axo__bounded_count(bounded), count + 2);
    assert_int_equal(take(&f, bounded), 0x1004); /* an entry is free for the first that waited */
    assert_int_equal(take(&f, bounded), 0x103);
    assert_int_equal(take(&f, bounded), 0x102);
    for (uint32_t i = 1; i < count; i++)
        assert_int_equal(take(&f, bounded), 0x1004);
    assert_int_equal(take(&f, bounded), UINT32_MAX);
    axo__message_free(&f.cache, more[3]);
    axo__a64_store_relaxed(&f.memory.budget, 100);
    finish(&f, bounded);
}

/* ---- the line -------------------------------------------------------------------------------- */

static axo__bounded_mailbox *make_line(fixture *f, axo_mailbox_kind kind)
{
    fixture_open(f);
    return make(
        f, (axo_mailbox)AXO_MAILBOX(.kind = kind, .overflow = AXO_OVERFLOW_PARK, .messages_max = 1,
                                    .priority = kind == AXO_MAILBOX_FIFO ? NULL : priority_of));
}

static axo__put put_as(fixture *f, axo__bounded_mailbox *bounded, axo__waiter *waiter, uint32_t tag)
{
    axo__chain lost = {NULL, NULL};
    axo__message *message = letter(f, tag, 0);
    axo__put result = axo__bounded_put_any(bounded, message, waiter, &lost);
    assert_null(lost.first);
    if (result == AXO__PUT_FULL)
        axo__message_free(&f->cache, message);
    return result;
}

static void expect_take(fixture *f, axo__bounded_mailbox *bounded, uint32_t tag,
                        const axo__waiter *wanted)
{
    axo__waiter *done = NULL;
    axo__message *message = axo__bounded_take_owner(bounded, &done);
    assert_non_null(message);
    assert_int_equal(message->pub.tag, tag);
    assert_int_equal(message->flags, 0);
    axo__message_free(&f->cache, message);
    assert_ptr_equal(done, wanted);
    if (done != NULL) {
        assert_int_equal(done->state, AXO__WAITER_DONE);
        assert_null(done->next);
        assert_null(done->held.first);
    }
}

/* One of each in turn; nobody passes, not even when there is room between two. */
static void line_is_fair(void **state)
{
    fixture f;
    axo__waiter one = {.next = NULL};
    axo__waiter two = {.next = NULL};
    axo__bounded_mailbox *bounded = make_line(&f, AXO_MAILBOX_FIFO);
    assert_int_equal(put_as(&f, bounded, NULL, 1), AXO__PUT_IN);
    assert_int_equal(put_as(&f, bounded, NULL, 2), AXO__PUT_FULL);
    assert_int_equal(put_as(&f, bounded, &one, 10), AXO__PUT_HELD);
    assert_int_equal(put_as(&f, bounded, &one, 11), AXO__PUT_HELD);
    assert_int_equal(put_as(&f, bounded, &one, 12), AXO__PUT_HELD);
    assert_int_equal(put_as(&f, bounded, &two, 20), AXO__PUT_HELD);
    assert_int_equal(axo__bounded_count(bounded), 1);
    expect_take(&f, bounded, 1, NULL);
    assert_int_equal(put_as(&f, bounded, NULL, 3), AXO__PUT_FULL);
    assert_int_equal(put_as(&f, bounded, &two, 21), AXO__PUT_HELD);
    expect_take(&f, bounded, 10, NULL);
    expect_take(&f, bounded, 20, NULL);
    expect_take(&f, bounded, 11, &two);
    assert_int_equal(put_as(&f, bounded, &two, 22), AXO__PUT_FULL); /* a new one must be made */
    expect_take(&f, bounded, 21, &one);
    assert_int_equal(put_as(&f, bounded, &one, 13), AXO__PUT_FULL);
    expect_take(&f, bounded, 12, NULL);
    assert_int_equal(put_as(&f, bounded, &one, 13), AXO__PUT_IN);
    expect_take(&f, bounded, 13, NULL);
    finish(&f, bounded);
}

/* There is room for a small one, but a large one was here before. */
static void line_is_not_passed(void **state)
{
    fixture f;
    axo__waiter one = {.next = NULL};
    axo__chain lost = {NULL, NULL};
    fixture_open(&f);
    axo__bounded_mailbox *bounded =
        make(&f, (axo_mailbox)AXO_MAILBOX(.overflow = AXO_OVERFLOW_PARK, .bytes_max = 1000));
    assert_int_equal(put(bounded, letter(&f, 1, 100)), AXO__PUT_IN);
    assert_int_equal(axo__bounded_put_any(bounded, letter(&f, 2, 900), &one, &lost), AXO__PUT_HELD);
    assert_int_equal(put_as(&f, bounded, NULL, 3), AXO__PUT_FULL);
    assert_int_equal(put(bounded, special_new(&f, 4, AXO__MESSAGE_NOTICE)), AXO__PUT_IN);
    expect_take(&f, bounded, 1, &one);
    assert_int_equal(put_as(&f, bounded, NULL, 5), AXO__PUT_IN);
    static const uint32_t wanted[] = {4, 2, 5};
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(take(&f, bounded), wanted[i]);
    finish(&f, bounded);
}

/* A pill of one who waits stays behind his messages; another's passes. */
static void line_keeps_a_senders_order(void **state)
{
    fixture f;
    axo__waiter one = {.next = NULL};
    axo__chain lost = {NULL, NULL};
    axo__bounded_mailbox *bounded = make_line(&f, AXO_MAILBOX_FIFO);
    assert_int_equal(put_as(&f, bounded, &one, 1), AXO__PUT_IN);
    assert_int_equal(put_as(&f, bounded, &one, 2), AXO__PUT_HELD);
    axo__message *pill = special_new(&f, 3, AXO__MESSAGE_PILL);
    assert_int_equal(axo__bounded_put_any(bounded, pill, &one, &lost), AXO__PUT_HELD);
    assert_int_equal(put(bounded, special_new(&f, 4, AXO__MESSAGE_NOTICE)), AXO__PUT_IN);
    expect_take(&f, bounded, 1, &one); /* 2, then the pill, for which there is always room */
    assert_int_equal(axo__bounded_count(bounded), 3);
    static const uint32_t wanted[] = {4, 2, 3};
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(take(&f, bounded), wanted[i]);
    finish(&f, bounded);
}

/* Held messages come by their priority, but only among those that are in. */
static void line_carries_priorities(void **state)
{
    fixture f;
    axo__waiter one = {.next = NULL};
    axo__bounded_mailbox *bounded = make_line(&f, AXO_MAILBOX_PRIORITY);
    assert_int_equal(put_as(&f, bounded, &one, 0x105), AXO__PUT_IN);
    assert_int_equal(put_as(&f, bounded, &one, 0x2ff), AXO__PUT_HELD);
    assert_int_equal(put_as(&f, bounded, &one, 0x300), AXO__PUT_HELD);
    assert_true(axo__bounded_let_in_any(bounded, &one));
    assert_int_equal(one.state, AXO__WAITER_DONE);
    assert_false(axo__bounded_let_in_any(bounded, &one));
    assert_int_equal(axo__bounded_count(bounded), 3);
    static const uint32_t wanted[] = {0x300, 0x105, 0x2ff};
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(take(&f, bounded), wanted[i]);
    finish(&f, bounded);
}

/* Let in out of the middle of the line. */
static void let_in(void **state)
{
    fixture f;
    axo__waiter all[3] = {{.next = NULL}, {.next = NULL}, {.next = NULL}};
    axo__bounded_mailbox *bounded = make_line(&f, AXO_MAILBOX_FIFO);
    assert_int_equal(put_as(&f, bounded, NULL, 1), AXO__PUT_IN);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(put_as(&f, bounded, &all[i], 10 + i), AXO__PUT_HELD);
    assert_int_equal(put_as(&f, bounded, &all[1], 21), AXO__PUT_HELD);
    assert_true(axo__bounded_let_in_any(bounded, &all[1]));
    expect_take(&f, bounded, 1, NULL); /* past the bound: nobody comes in until it holds again */
    expect_take(&f, bounded, 11, NULL);
    expect_take(&f, bounded, 21, &all[0]);
    expect_take(&f, bounded, 10, &all[2]);
    expect_take(&f, bounded, 12, NULL);
    assert_int_equal(take(&f, bounded), UINT32_MAX);
    finish(&f, bounded);
}

/* One gives up out of the middle of the line, then the one at its head, behind whom a smaller
 * message finds the room that there is. */
static void line_gives_up(void **state)
{
    fixture f;
    axo__waiter all[3] = {{.next = NULL}, {.next = NULL}, {.next = NULL}};
    axo__chain held = {NULL, NULL};
    axo__chain lost = {NULL, NULL};
    axo__waiter *done = NULL;
    fixture_open(&f);
    axo__bounded_mailbox *bounded =
        make(&f, (axo_mailbox)AXO_MAILBOX(.kind = AXO_MAILBOX_PRIORITY, .priority = priority_of,
                                          .overflow = AXO_OVERFLOW_PARK, .bytes_max = 1000));
    assert_int_equal(put(bounded, letter(&f, 1, 100)), AXO__PUT_IN);
    assert_int_equal(axo__bounded_put_any(bounded, letter(&f, 2, 900), &all[0], &lost),
                     AXO__PUT_HELD);
    assert_int_equal(put_as(&f, bounded, &all[1], 0x3ff), AXO__PUT_HELD);
    assert_int_equal(put_as(&f, bounded, &all[1], 4), AXO__PUT_HELD);
    assert_int_equal(put_as(&f, bounded, &all[2], 5), AXO__PUT_HELD);
    assert_true(axo__bounded_expire_any(bounded, &all[1], &held, &done));
    expect_chain(&f, &held, (const uint32_t[]){0x3ff, 4}, 2);
    assert_ptr_equal(done, &all[1]);
    assert_null(done->next);
    assert_int_equal(done->state, AXO__WAITER_DONE);
    done = NULL;
    assert_false(axo__bounded_expire_any(bounded, &all[1], &held, &done));
    assert_null(done);
    assert_true(axo__bounded_expire_any(bounded, &all[0], &held, &done));
    expect_chain(&f, &held, (const uint32_t[]){2}, 1);
    assert_ptr_equal(done, &all[0]);
    assert_ptr_equal(done->next, &all[2]);
    assert_int_equal(axo__bounded_count(bounded), 2);
    assert_int_equal(take(&f, bounded), 1);
    assert_int_equal(take(&f, bounded), 5);
    finish(&f, bounded);
}

/* A sealed one holds no more, but for what has no bound. */
static void line_is_sealed(void **state)
{
    fixture f;
    axo__waiter one = {.next = NULL};
    axo__chain lost = {NULL, NULL};
    axo__bounded_mailbox *bounded = make_line(&f, AXO_MAILBOX_FIFO);
    assert_int_equal(put_as(&f, bounded, NULL, 1), AXO__PUT_IN);
    assert_int_equal(put_as(&f, bounded, &one, 2), AXO__PUT_HELD);
    one.sealed = true;
    axo__message *more = letter(&f, 3, 0);
    assert_int_equal(axo__bounded_put_any(bounded, more, &one, &lost), AXO__PUT_SEALED);
    axo__message_free(&f.cache, more);
    axo__message *pill = special_new(&f, 4, AXO__MESSAGE_PILL);
    assert_int_equal(axo__bounded_put_any(bounded, pill, &one, &lost), AXO__PUT_HELD);
    expect_take(&f, bounded, 1, &one);
    assert_int_equal(take(&f, bounded), 2);
    assert_int_equal(take(&f, bounded), 4);
    assert_int_equal(put_as(&f, bounded, &one, 5), AXO__PUT_IN); /* there is room */
    assert_int_equal(take(&f, bounded), 5);
    finish(&f, bounded);
}

static void close_gives_everything(void **state)
{
    fixture f;
    axo__waiter one = {.next = NULL};
    axo__waiter two = {.next = NULL};
    axo__chain left = {NULL, NULL};
    axo__waiter *done = NULL;
    axo__bounded_mailbox *bounded = make_line(&f, AXO_MAILBOX_PRIORITY);
    assert_int_equal(put_as(&f, bounded, NULL, 5), AXO__PUT_IN);
    assert_int_equal(put_as(&f, bounded, &one, 3), AXO__PUT_HELD);
    assert_int_equal(put_as(&f, bounded, &one, 2), AXO__PUT_HELD);
    assert_int_equal(put_as(&f, bounded, &two, 1), AXO__PUT_HELD);
    axo__bounded_close_owner(bounded, &left, &done);
    expect_chain(&f, &left, (const uint32_t[]){5, 3, 2, 1}, 4);
    assert_ptr_equal(done, &two);
    assert_ptr_equal(done->next, &one);
    assert_null(one.next);
    assert_int_equal(axo__bounded_count(bounded), 0);
    for (uint32_t i = 1; i <= 3; i++) /* who is late finds it open, and it is taken out again */
        assert_int_equal(put_as(&f, bounded, &one, i), AXO__PUT_IN);
    done = NULL;
    axo__bounded_close_owner(bounded, &left, &done);
    expect_chain(&f, &left, (const uint32_t[]){1, 2, 3}, 3);
    assert_null(done);
    finish(&f, bounded);
}

/* ---- threads --------------------------------------------------------------------------------- */

#define SENDERS 4
#define EACH 5000

typedef struct crowd {
    axo__bounded_mailbox *bounded;
    axo__message *messages; /* of each sender EACH */
    uint32_t seen[SENDERS];
    axo__a32 wrong;
} crowd;

static void crowd_run(void *arg, uint32_t index)
{
    crowd *it = arg;
    axo__waiter *done = NULL;
    if (index < SENDERS) {
        for (uint32_t i = 1; i <= EACH; i++) {
            axo__message *message = &it->messages[index * EACH + i - 1];
            message->pub.tag = i;
            message->pub.sender.bits = index;
            message->block = sizeof *message;
            while (put(it->bounded, message) == AXO__PUT_FULL)
                sched_yield();
        }
        return;
    }
    for (uint32_t count = 0; count < SENDERS * EACH;) {
        axo__message *message = axo__bounded_take_owner(it->bounded, &done);
        if (message == NULL) {
            sched_yield();
            continue;
        }
        uint64_t sender = message->pub.sender.bits;
        if (message->pub.tag != ++it->seen[sender] || axo__bounded_count(it->bounded) > 16)
            (void)axo__a32_add_relaxed(&it->wrong, 1);
        count++;
    }
}

static void many_senders(void **state)
{
    fixture f;
    crowd it = {.bounded = NULL};
    fixture_open(&f);
    it.messages = calloc(SENDERS * EACH, sizeof *it.messages);
    assert_non_null(it.messages);
    it.bounded = make(&f, (axo_mailbox)AXO_MAILBOX(.messages_max = 16));
    unit_run_threads(SENDERS + 1, crowd_run, &it);
    assert_int_equal(axo__a32_load_relaxed(&it.wrong), 0);
    for (uint32_t i = 0; i < SENDERS; i++)
        assert_int_equal(it.seen[i], EACH);
    finish(&f, it.bounded);
    free(it.messages);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(orders),
    cmocka_unit_test(specials_have_their_place),
    cmocka_unit_test(places),
    cmocka_unit_test(refuse_by_messages),
    cmocka_unit_test(refuse_by_bytes),
    cmocka_unit_test(drop_new),
    cmocka_unit_test(drop_old),
    cmocka_unit_test(drop_old_by_bytes),
    cmocka_unit_test(no_memory_is_no_mailbox),
    cmocka_unit_test(heap_without_memory),
    cmocka_unit_test(line_is_fair),
    cmocka_unit_test(line_is_not_passed),
    cmocka_unit_test(line_keeps_a_senders_order),
    cmocka_unit_test(line_carries_priorities),
    cmocka_unit_test(let_in),
    cmocka_unit_test(line_gives_up),
    cmocka_unit_test(line_is_sealed),
    cmocka_unit_test(close_gives_everything),
    cmocka_unit_test(many_senders),
};
TEST_MAIN(tests)
