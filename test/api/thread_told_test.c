/* thread_told_test.c - what the program is told of the library's threads, and how large their
 * stacks are (axo_options.thread_start, thread_stop, thread_stack). */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <axo/axo.h>

#include "support/cmocka.h"

#define KINDS (AXO_THREAD_RECLAIMER + 1)
#define STACK (256 * 1024)

typedef struct told {
    _Atomic uint32_t started[KINDS];
    _Atomic uint32_t stopped[KINDS];
    _Atomic uint32_t named;   /* what they were told is the thread's own name */
    _Atomic uint32_t stacked; /* the stack is as large as was asked for */
    sem_t ran;
} told;

/* What the thread has been told of itself. */
static _Thread_local uint32_t told_kind;

static size_t told_stack(void)
{
    pthread_attr_t attr;
    void *begin;
    size_t size = 0;
    assert_int_equal(pthread_getattr_np(pthread_self(), &attr), 0);
    assert_int_equal(pthread_attr_getstack(&attr, &begin, &size), 0);
    (void)pthread_attr_destroy(&attr);
    return size;
}

static void told_start(void *user, const axo_thread *thread)
{
    told *it = user;
    char name[16];
    char number[12] = "";
    assert_in_range(thread->kind, AXO_THREAD_WORKER, AXO_THREAD_RECLAIMER);
    assert_int_equal(told_kind, 0);
    told_kind = thread->kind;
    it->started[thread->kind]++;
    assert_int_equal(pthread_getname_np(pthread_self(), name, sizeof name), 0);
    it->named += strcmp(name, thread->name) == 0;
    if (thread->kind != AXO_THREAD_RECLAIMER)
        (void)snprintf(number, sizeof number, "%u", thread->index);
    size_t tail = strlen(thread->name) - strlen(number);
    assert_string_equal(thread->name + tail, number);
#if defined(AXO_ASAN) || defined(AXO_TSAN)
    it->stacked += told_stack() >= STACK; /* a sanitizer adds what it needs */
#else
    it->stacked += told_stack() >= STACK && told_stack() < 2 * STACK;
#endif
}

static void told_stop(void *user, const axo_thread *thread)
{
    told *it = user;
    assert_int_equal(told_kind, thread->kind); /* on that very thread */
    told_kind = 0;
    it->stopped[thread->kind]++;
}

static axo_status told_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)ctx;
    (void)state;
    told *it = *(told *const *)message->payload;
    assert_int_not_equal(told_kind, 0); /* the thread had begun */
    (void)sem_post(&it->ran);
    return AXO_OK;
}

static const axo_class told_class = AXO_CLASS(.name = "told", .receive = told_receive);

static void told_run(axo_system *system, told *it, uint32_t dispatcher)
{
    axo_ref actor;
    axo_props props = AXO_PROPS(.cls = &told_class, .dispatcher = dispatcher);
    assert_int_equal(axo_system_spawn(system, &props, &actor), AXO_OK);
    assert_int_equal(axo_system_send(system, actor, 1, &it, sizeof it), AXO_OK);
    while (sem_wait(&it->ran) != 0)
        continue;
}

static axo_options told_options(told *it, uint32_t manual)
{
    memset((void *)it, 0, sizeof *it);
    assert_int_equal(sem_init(&it->ran, 0, 0), 0);
    return (axo_options)AXO_OPTIONS(.workers = 3, .manual = manual, .thread_start = told_start,
                                    .thread_stop = told_stop, .thread_user = it,
                                    .thread_stack = STACK);
}

static void told_end(axo_system *system, told *it)
{
    assert_int_equal(axo_system_stop(system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
    (void)sem_destroy(&it->ran);
}

static void each_thread_tells_of_itself(void **state)
{
    told it;
    axo_system *system;
    axo_options options = told_options(&it, 0);
    uint32_t all = 0;
    (void)state;
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    told_run(system, &it, AXO_DISPATCH_DEFAULT);
    told_run(system, &it, AXO_DISPATCH_PINNED);
    told_run(system, &it, AXO_DISPATCH_BLOCKING);
    told_end(system, &it);
    for (uint32_t kind = 1; kind < KINDS; kind++) {
        assert_true(it.started[kind] > 0);
        assert_int_equal(it.started[kind], it.stopped[kind]);
        all += it.started[kind];
    }
    assert_int_equal(it.started[AXO_THREAD_WORKER], 3);
    assert_int_equal(it.started[AXO_THREAD_PINNED], 1);
    assert_int_equal(it.started[AXO_THREAD_RECLAIMER], 1);
    assert_int_equal(it.named, all);
    assert_int_equal(it.stacked, all);
}

static void a_manual_system_has_none(void **state)
{
    told it;
    axo_system *system;
    axo_options options = told_options(&it, 1);
    (void)state;
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    assert_int_equal(axo_run_host(system, -1, NULL), AXO_OK);
    told_end(system, &it);
    for (uint32_t kind = 0; kind < KINDS; kind++)
        assert_int_equal(it.started[kind] + it.stopped[kind], 0);
}

static void bad_options_are_refused(void **state)
{
    told it;
    axo_system *system;
    (void)state;
    const size_t stacks[] = {1, AXO_THREAD_STACK_MIN - 1, ((size_t)1 << 40) + 1};
    for (uint32_t i = 0; i < 3; i++) {
        axo_options options = told_options(&it, 0);
        options.thread_stack = stacks[i];
        assert_int_equal(axo_system_start(&options, &system), AXO_EINVAL);
    }
    axo_options options = told_options(&it, 0);
    options.thread_start = options.thread_stop = NULL;
    assert_int_equal(axo_system_start(&options, &system), AXO_EINVAL);
    assert_int_equal(it.started[AXO_THREAD_WORKER], 0);
}

/* A stack that no address space has room for: no thread starts, and none is told of. */
static void a_thread_that_does_not_start_is_told_of_to_nobody(void **state)
{
    told it;
    axo_system *system;
    axo_options options = told_options(&it, 0);
    (void)state;
    options.thread_stack = (size_t)1 << 40;
    options.workers = 256;
    axo_status status = axo_system_start(&options, &system);
    if (status == AXO_OK)
        told_end(system, &it); /* an address space of 57 bits */
    else
        assert_int_equal(status, AXO_ETHREAD);
    for (uint32_t kind = 1; kind < KINDS; kind++)
        assert_int_equal(it.started[kind], it.stopped[kind]);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(each_thread_tells_of_itself),
    cmocka_unit_test(a_manual_system_has_none),
    cmocka_unit_test(bad_options_are_refused),
    cmocka_unit_test(a_thread_that_does_not_start_is_told_of_to_nobody),
};

TEST_MAIN(tests)
