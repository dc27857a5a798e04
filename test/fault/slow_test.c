/* slow_test.c - handlers that take long, and one that never returns: the others go on, somebody
 * says so in time, and what the handler stands on is not taken away. */
#include <pthread.h>

#include "fault/parts.h"

enum { SLOW_HOLD = 1, SLOW_BUSY, SLOW_PATTERN = 0x5c, SLOW_BYTES = 3000 };
#define SLOW_PERIOD_NS (50 * PARTS_MS)

typedef struct slow_room {
    pthread_mutex_t gate;
    atomic_uint inside;
    atomic_uint out;
    atomic_uint broken;
    atomic_llong began;
    atomic_llong told; /* how long after `began` */
    atomic_uint reports;
} slow_room;

static axo_status slow_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    slow_room *room = *AXO_PAYLOAD(message, slow_room *);
    char *own = axo_alloc(ctx, SLOW_BYTES);
    if (own == NULL)
        return AXO_ENOMEM;
    memset(own, SLOW_PATTERN, SLOW_BYTES);
    memset(state, SLOW_PATTERN, 64);
    atomic_store(&room->began, parts_now());
    atomic_fetch_add(&room->inside, 1);
    if (message->tag == SLOW_BUSY) {
        while (parts_now() < atomic_load(&room->began) + 30 * PARTS_MS)
            ;
    } else {
        (void)pthread_mutex_lock(&room->gate);
        (void)pthread_mutex_unlock(&room->gate);
    }
    for (uint32_t i = 0; i < SLOW_BYTES; i++)
        atomic_fetch_add(&room->broken, own[i] != SLOW_PATTERN);
    for (uint32_t i = 0; i < 64; i++)
        atomic_fetch_add(&room->broken, ((char *)state)[i] != SLOW_PATTERN);
    atomic_fetch_add(&room->broken, *AXO_PAYLOAD(message, slow_room *) != room);
    atomic_fetch_add(&room->out, 1);
    return AXO_OK;
}

static const axo_class slow_class =
    AXO_CLASS(.name = "slow", .state_size = 64, .receive = slow_receive);

static void slow_log(void *user, axo_log_level level, axo_ref actor, const char *text)
{
    slow_room *room = user;
    if (strstr(text, "/user/slow") == NULL)
        return;
    long long none = 0;
    long long after = parts_now() - atomic_load(&room->began);
    (void)atomic_compare_exchange_strong(&room->told, &none, after);
    atomic_fetch_add(&room->reports, 1);
}

static void slow_open(slow_room *room)
{
    memset((void *)room, 0, sizeof *room);
    (void)pthread_mutex_init(&room->gate, NULL);
}

static axo_system *slow_start(parts_heap *heap, uint32_t workers, slow_room *room)
{
    axo_options options = AXO_OPTIONS(.workers = workers, .seed = 3, .stuck_ns = SLOW_PERIOD_NS,
                                      .log = slow_log, .log_user = room,
                                      .allocator = {parts_alloc, parts_free, heap});
    axo_system *system = NULL;
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    return system;
}

static axo_ref slow_spawn(axo_system *system, const char *name, slow_room **room, uint32_t tag)
{
    axo_props props = AXO_PROPS(.cls = &slow_class, .name = name);
    axo_ref ref;
    assert_int_equal(axo_system_spawn(system, &props, &ref), AXO_OK);
    assert_int_equal(axo_system_send(system, ref, tag, (void *)room, sizeof *room), AXO_OK);
    return ref;
}

/* It is named in time; a stop with a deadline says who is late, frees nothing that it uses, and a
 * later one ends. */
static void a_handler_that_does_not_return(void **state)
{
    uint32_t workers = (uint32_t)(uintptr_t)*state;
    parts_heap heap = {0};
    parts_load load = {0};
    slow_room room;
    slow_room *where = &room;
    axo_late late[4];
    uint32_t count = 0;
    slow_open(&room);
    (void)pthread_mutex_lock(&room.gate);
    axo_system *system = slow_start(&heap, workers, &room);
    long long asked = parts_now();
    axo_ref ref = slow_spawn(system, "slow", &where, SLOW_HOLD);
    parts_await(&room.inside, 1);
    parts_load_start(&load, system, 3, 300); /* others steal what is behind it, or a spare runs */
    parts_load_end(&load);
    parts_await(&room.reports, 1);
    /* the handler has run for longer than it knows; the runtime's reading may be a little old */
    assert_true(atomic_load(&room.began) + atomic_load(&room.told) - asked >= SLOW_PERIOD_NS / 2);
    (void)printf("\nstuck: told after %lld ms of a period of %lld ms, %u workers\n",
                 (long long)atomic_load(&room.told) / PARTS_MS,
                 (long long)SLOW_PERIOD_NS / PARTS_MS, (unsigned)workers);
    assert_true(atomic_load(&room.told) < 2 * SLOW_PERIOD_NS + 2 * PARTS_S); /* on any machine */
    assert_int_equal(axo_system_stop(system, 20 * PARTS_MS, late, 4, &count), AXO_ETIMEDOUT);
    assert_true(count >= 1);
    bool named = false;
    for (uint32_t i = 0; i < count && i < 4; i++)
        named = named || (axo_ref_equal(late[i].actor, ref) &&
                          strcmp(late[i].path, "/user/slow") == 0 &&
                          strcmp(late[i].doing, "running") == 0 && late[i].has_tag == 1 &&
                          late[i].tag == SLOW_HOLD && late[i].since_ns > 0);
    assert_true(named);
    assert_int_equal(axo_system_destroy(system), AXO_ESTOPPING);
    assert_int_equal(axo_system_wait(system, 0, NULL), AXO_ETIMEDOUT);
    (void)pthread_mutex_unlock(&room.gate);
    parts_finish(system, &heap);
    assert_int_equal(atomic_load(&room.out), 1);
    assert_int_equal(atomic_load(&room.broken), 0);
    (void)pthread_mutex_destroy(&room.gate);
    parts_made("handler that does not return", 1);
}

/* All workers are held for a while, again and again: the rest is done all the same. */
static void handlers_that_take_long(void **state)
{
    uint32_t workers = (uint32_t)(uintptr_t)*state;
    parts_heap heap = {0};
    parts_load load = {0};
    slow_room room;
    slow_room *where = &room;
    slow_open(&room);
    axo_system *system = slow_start(&heap, workers, &room);
    for (uint32_t i = 0; i < 2 * workers; i++)
        (void)slow_spawn(system, NULL, &where, SLOW_BUSY);
    parts_load_start(&load, system, 3, 300);
    parts_load_end(&load);
    parts_await(&room.out, 2 * workers);
    parts_finish(system, &heap);
    assert_int_equal(atomic_load(&room.broken), 0);
    (void)pthread_mutex_destroy(&room.gate);
    parts_made("handler that takes long", (uint64_t)2 * workers);
}

#define SLOW_TEST(function, n)                                                                     \
    {                                                                                              \
#function " [" #n "]", function, NULL, NULL, (void *)(uintptr_t)(n)                        \
    }

static const struct CMUnitTest tests[] = {
    SLOW_TEST(a_handler_that_does_not_return, 1),
    SLOW_TEST(a_handler_that_does_not_return, 4),
    SLOW_TEST(handlers_that_take_long, 1),
    SLOW_TEST(handlers_that_take_long, 4),
};
TEST_MAIN(tests)
