/* durable_memory_test.c - a system that is refused memory again and again: what was accepted is
 * handled, in order, and what was refused changed nothing. */
#include "api/durable_world.h"

/* One request of the system in so many is refused; 0: none. */
static atomic_uint refuse_every;
static atomic_uint requests;
static atomic_uint refusals;

static uint64_t memory_chance(void)
{
    uint64_t chance = atomic_fetch_add(&requests, 1) * UINT64_C(0x9e3779b97f4a7c15);
    chance = (chance ^ chance >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    chance = (chance ^ chance >> 27) * UINT64_C(0x94d049bb133111eb);
    return chance ^ chance >> 31;
}

static void *memory_alloc(void *user, size_t size, size_t align)
{
    unsigned every = atomic_load(&refuse_every);
    void *block = NULL;
    (void)user;
    if (every != 0 && memory_chance() % every == 0) {
        (void)atomic_fetch_add(&refusals, 1);
        return NULL;
    }
    return posix_memalign(&block, align < sizeof(void *) ? sizeof(void *) : align, size) == 0
               ? block
               : NULL;
}

static void memory_free(void *user, void *block, size_t size, size_t align)
{
    (void)user;
    (void)size;
    (void)align;
    free(block);
}

/* Payloads larger than a block of the pool, so that each message asks the allocator. */
static void messages_without_memory(void **unused)
{
    enum { SIZE = 6000, COUNT = 300 };
    static char bytes[SIZE];
    world w;
    axo_durable_answer answer;
    w_init(&w);
    w.allocator = (axo_allocator){.alloc = memory_alloc, .free = memory_free};
    for (unsigned every = 2; every <= 5; every++) {
        uint32_t accepted = 1;
        w_open(&w);
        (void)w_spawn(&w, "a");
        (void)w_put(&w, "a", W_ADD, 1); /* all are there */
        w_await(&w, 1);
        atomic_store(&refuse_every, every);
        for (int64_t i = 0; i < COUNT; i++) {
            int64_t value = accepted + 1;
            memcpy(bytes, &value, sizeof value);
            axo_status status =
                axo_system_durable_send(w.store, "a", i % 7 == 0 ? W_FAIL_ONCE : W_ADD, bytes,
                                        sizeof bytes, W_LONG, &answer);
            if (status != AXO_OK && status != AXO_ENOMEM)
                fail_msg("%s: %d", axo_status_name(status), answer.error);
            accepted += status == AXO_OK;
        }
        atomic_store(&refuse_every, 0);
        assert_true(accepted > 1);
        W_UNTIL_STORE(&w, acknowledged, accepted);
        int64_t last = 0;
        for (uint32_t i = 0; i < w.count; i++) {
            assert_true(w.seen[i].value == last || w.seen[i].value == last + 1);
            last = w.seen[i].value;
        }
        assert_int_equal(last, accepted);
        w_close(&w);
        w_forget(&w);
    }
    printf("%u refusals\n", atomic_load(&refusals));
    assert_true(atomic_load(&refusals) > 0);
    w_fini(&w);
}

static axo_status asks_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    static const char bytes[6000];
    w_state *me = state;
    if (message->tag == AXO_DURABLE_ANSWER) {
        W_COUNT_UP(me->w, answers);
        return AXO_OK;
    }
    for (int i = 0; i < 100; i++) {
        axo_status status = axo_durable_send(ctx, me->w->store, "a", W_ADD, bytes, sizeof bytes, 1);
        assert_true(status == AXO_OK || status == AXO_ENOMEM);
        if (status == AXO_OK)
            W_COUNT_UP(me->w, refusals); /* that an answer is owed for */
    }
    W_COUNT_UP(me->w, terminated);
    return AXO_OK;
}

/* Each send that was accepted is answered once. */
static void answers_without_memory(void **unused)
{
    static const axo_class cls =
        AXO_CLASS(.state_size = sizeof(w_state), .construct = w_construct, .receive = asks_receive);
    world w;
    axo_ref ref;
    world *self = &w;
    w_init(&w);
    w.allocator = (axo_allocator){.alloc = memory_alloc, .free = memory_free};
    w_open(&w);
    axo_props props = AXO_PROPS(.cls = &cls, .args = &self, .args_size = sizeof self);
    assert_int_equal(axo_system_spawn(w.system, &props, &ref), AXO_OK);
    for (unsigned every = 2; every <= 6; every++) {
        assert_int_equal(axo_system_send(w.system, ref, 1, NULL, 0), AXO_OK);
        atomic_store(&refuse_every, every);
        W_UNTIL(&w, w.terminated == every - 1);
        atomic_store(&refuse_every, 0);
    }
    W_UNTIL(&w, w.answers == w.refusals);
    assert_true(w.answers > 0);
    axo_store_figures figures = w_figures(&w);
    assert_true(figures.accepted > 0);
    assert_int_equal(figures.accepted + figures.refused, w.answers);
    w_close(&w);
    w_fini(&w);
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_without_memory),
        cmocka_unit_test(answers_without_memory),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return W_RUN(tests);
}
