/* thread_test.c - the operating system refuses a thread: the k-th of a start, a pinned actor's, one
 * of the blocking pool. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>

#include "fault/parts.h"

/* Threads still granted; negative: all are. */
static atomic_int thread_left = -1;
static atomic_uint thread_refused;

typedef int (*thread_create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

/* A sanitizer's own, if it is a part of the program (clang): threads that it does not know of break
 * it. */
extern int __interceptor_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *),
                                        void *) __attribute__((weak));

static thread_create thread_real(void)
{
    thread_create create = __interceptor_pthread_create;
    if (create == NULL) {
        void *found = dlsym(RTLD_NEXT, "pthread_create");
        memcpy((void *)&create, &found, sizeof create);
    }
    return create;
}

/* In the place of the C library's: this one is found first. */
int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attr,
                   void *(*main)(void *), void *restrict arg)
{
    static _Atomic(thread_create) real;
    if (atomic_load(&thread_left) == 0) {
        atomic_fetch_add(&thread_refused, 1);
        return EAGAIN;
    }
    if (atomic_load(&thread_left) > 0)
        atomic_fetch_sub(&thread_left, 1);
    thread_create create = atomic_load(&real);
    if (create == NULL) {
        create = thread_real();
        atomic_store(&real, create);
    }
    return create(thread, attr, main, arg);
}

static void a_start_that_gets_too_few(void **state)
{
    uint32_t before = census_open();
    uint32_t files = census_descriptors();
    assert_true(before > 0);
    uint32_t tried = 0;
    for (int left = 0;; left++) {
        parts_heap heap = {0};
        axo_options options = AXO_OPTIONS(.workers = 4, .seed = 3,
                                          .allocator = {parts_alloc, parts_free, &heap});
        axo_system *system = (axo_system *)&heap;
        atomic_store(&thread_left, left);
        axo_status status = axo_system_start(&options, &system);
        bool all = atomic_load(&thread_left) != 0 || status == AXO_OK;
        atomic_store(&thread_left, -1);
        if (status == AXO_OK) {
            assert_true(all);
            parts_finish(system, &heap);
            break;
        }
        assert_int_equal(status, AXO_ETHREAD);
        assert_null(system);
        assert_int_equal(atomic_load(&heap.blocks), 0);
        assert_int_equal(atomic_load(&heap.bytes), 0);
        assert_int_equal(census_descriptors(), files);
        assert_true(++tried < 64);
    }
    assert_true(tried >= 5); /* four workers and who reclaims, at least */
    assert_int_equal(census_settled(before), before);
    parts_made("thread of a start", tried);
}

static axo_status thread_count_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    struct timespec pause = {.tv_nsec = 2000000};
    (void)nanosleep(&pause, NULL);
    atomic_fetch_add(*AXO_PAYLOAD(message, atomic_uint *), 1);
    return AXO_OK;
}

static const axo_class thread_class = AXO_CLASS(.receive = thread_count_receive);

static axo_ref thread_spawned(axo_system *system, axo_dispatcher dispatcher, axo_status wanted)
{
    axo_props props = AXO_PROPS(.cls = &thread_class, .dispatcher = dispatcher);
    axo_stats before = AXO_STATS(.sent = 0);
    axo_stats after = AXO_STATS(.sent = 0);
    axo_ref ref = {1};
    assert_int_equal(axo_system_stats(system, &before), AXO_OK);
    assert_int_equal(axo_system_spawn(system, &props, &ref), wanted);
    assert_int_equal(axo_system_stats(system, &after), AXO_OK);
    if (wanted != AXO_OK) {
        assert_true(axo_ref_is_none(ref));
        assert_int_equal(after.spawned, before.spawned);
    }
    return ref;
}

static void a_pinned_actor_gets_none(void **state)
{
    parts_heap heap = {0};
    atomic_uint count = 0;
    atomic_uint *to = &count;
    axo_system *system = parts_start(&heap, 2);
    atomic_store(&thread_left, 0);
    for (uint32_t i = 0; i < 20; i++)
        (void)thread_spawned(system, AXO_DISPATCH_PINNED, AXO_ETHREAD);
    atomic_store(&thread_left, -1);
    axo_ref ref = thread_spawned(system, AXO_DISPATCH_PINNED, AXO_OK);
    assert_int_equal(axo_system_send(system, ref, 1, &to, sizeof to), AXO_OK);
    parts_await(&count, 1);
    parts_finish(system, &heap);
    parts_made("thread of a pinned actor", 20);
}

/* Its first thread is refused: no such actor. A later one is: the threads there do it all. */
static void the_blocking_pool_gets_few(void **state)
{
    enum { ACTORS = 12, MESSAGES = 4 };
    for (int granted = 1; granted <= 3; granted++) {
        parts_heap heap = {0};
        atomic_uint count = 0;
        atomic_uint *to = &count;
        axo_ref all[ACTORS];
        axo_system *system = parts_start(&heap, 2);
        (void)state;
        atomic_store(&thread_left, 0);
        (void)thread_spawned(system, AXO_DISPATCH_BLOCKING, AXO_ETHREAD);
        uint32_t refused = atomic_load(&thread_refused);
        atomic_store(&thread_left, granted);
        for (uint32_t i = 0; i < ACTORS; i++)
            all[i] = thread_spawned(system, AXO_DISPATCH_BLOCKING, AXO_OK);
        for (uint32_t i = 0; i < ACTORS * MESSAGES; i++)
            assert_int_equal(axo_system_send(system, all[i % ACTORS], 1, &to, sizeof to), AXO_OK);
        parts_await(&count, ACTORS * MESSAGES);
        refused = atomic_load(&thread_refused) - refused;
        atomic_store(&thread_left, -1);
        parts_finish(system, &heap);
        parts_made("thread of the blocking pool", 1 + refused);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_start_that_gets_too_few),
    cmocka_unit_test(a_pinned_actor_gets_none),
    cmocka_unit_test(the_blocking_pool_gets_few),
};
TEST_MAIN(tests)
