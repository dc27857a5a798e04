/* heap_world.h - a manual system, actors whose receive calls a piece of the test, its log, and an
 * allocator that knows what is held. */
#ifndef AXO_TEST_HEAP_WORLD_H
#define AXO_TEST_HEAP_WORLD_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <axo/axo.h>

#include "support/cmocka.h"

enum { HEAP_DO = 1, HEAP_NOTE = 2 };

typedef axo_status (*heap_fn)(axo_ctx *ctx, void *state, const axo_message *message);

typedef struct heap_state {
    uint64_t constructed; /* the number of the instance */
    char room[40];
} heap_state;

typedef struct heap_world {
    axo_system *system;
    axo_ref ref;
    uint64_t held;     /* by the allocator */
    uint64_t blocks;
    int64_t left;      /* allocations until memory is refused; negative: never */
    uint32_t lines;
    char log[16][700];
    heap_fn construct; /* what construct, and the next message HEAP_NOTE, call */
    heap_fn note;
    heap_fn post_stop;
    heap_fn pre_restart;
    axo_failure failure; /* the last one that the decider was asked about */
    char text[AXO_FAILURE_TEXT_MAX];
    uint32_t failures;
    axo_directive directive;
} heap_world;

static heap_world heap;

static inline void *heap_take(void *user, size_t size, size_t align)
{
    (void)user;
    if (heap.left == 0)
        return NULL;
    if (heap.left > 0)
        heap.left--;
    void *block = NULL;
    if (posix_memalign(&block, align < sizeof(void *) ? sizeof(void *) : align, size) != 0)
        return NULL;
    heap.held += size;
    heap.blocks++;
    return block;
}

static inline void heap_give(void *user, void *block, size_t size, size_t align)
{
    (void)user, (void)align;
    heap.held -= size;
    heap.blocks--;
    free(block);
}

static inline void heap_log(void *user, axo_log_level level, axo_ref actor, const char *text)
{
    (void)user, (void)level, (void)actor;
    if (heap.lines < 16)
        (void)snprintf(heap.log[heap.lines], sizeof heap.log[0], "%s", text);
    heap.lines++;
}

static inline axo_directive heap_decide(axo_ctx *ctx, void *state, const axo_failure *failure,
                                        void *user)
{
    (void)ctx, (void)state, (void)user;
    heap.failures++;
    heap.failure = *failure;
    (void)snprintf(heap.text, sizeof heap.text, "%s", failure->text);
    return heap.directive != 0 ? heap.directive : axo_decide_default(NULL, NULL, failure, NULL);
}

static inline axo_status heap_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)args;
    ((heap_state *)state)->constructed = axo_instance(ctx);
    return heap.construct != NULL ? heap.construct(ctx, state, NULL) : AXO_OK;
}

static inline axo_status heap_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    if (message->tag == HEAP_DO) {
        heap_fn fn;
        memcpy(&fn, message->payload, sizeof fn);
        return fn(ctx, state, message);
    }
    return heap.note != NULL ? heap.note(ctx, state, message) : AXO_OK;
}

static inline axo_status heap_post_stop(axo_ctx *ctx, void *state)
{
    return heap.post_stop != NULL ? heap.post_stop(ctx, state, NULL) : AXO_OK;
}

static const axo_class heap_class =
    AXO_CLASS(.name = "heapy", .state_size = sizeof(heap_state), .construct = heap_construct,
              .receive = heap_receive, .post_stop = heap_post_stop);

static inline void heap_run(void)
{
    assert_int_equal(axo_run_host(heap.system, -1, NULL), AXO_OK);
}

static inline void heap_start(uint32_t walls, const char *walls_class)
{
    static const axo_strategy strategy = AXO_STRATEGY(.decider = heap_decide);
    memset(&heap, 0, sizeof heap);
    heap.left = -1;
    axo_options options = AXO_OPTIONS(.manual = 1, .user_strategy = &strategy, .log = heap_log,
                                      .failure_log = UINT32_MAX, .walls = walls,
                                      .walls_class = walls_class);
    options.allocator = (axo_allocator){.alloc = heap_take, .free = heap_give};
    assert_int_equal(axo_system_start(&options, &heap.system), AXO_OK);
}

static inline axo_status heap_try(const axo_props *props, axo_ref *ref)
{
    axo_status status = axo_system_spawn(heap.system, props, ref);
    heap_run();
    return status;
}

static inline axo_ref heap_spawn(axo_props props)
{
    axo_ref ref;
    if (props.cls == NULL)
        props.cls = &heap_class;
    assert_int_equal(heap_try(&props, &ref), AXO_OK);
    return ref;
}

/* Has an actor call fn in its receive. */
static inline void heap_do(axo_ref ref, heap_fn fn)
{
    assert_int_equal(axo_system_send(heap.system, ref, HEAP_DO, &fn, sizeof fn), AXO_OK);
    heap_run();
}

/* Every byte goes with the system. */
static inline void heap_end(void)
{
    heap.left = -1;
    assert_int_equal(axo_system_stop(heap.system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(heap.system), AXO_OK);
    assert_int_equal(heap.blocks, 0);
    assert_int_equal(heap.held, 0);
}

/* The last decision was about memory, with this code and these words in its text. */
static inline void heap_expect(uint32_t failures, axo_status code, const char *one,
                               const char *other)
{
    assert_int_equal(heap.failures, failures);
    assert_int_equal(heap.failure.kind, AXO_FAILURE_MEMORY);
    assert_int_equal(heap.failure.code, code);
    assert_int_equal(heap.failure.has_status, 1);
    if (strstr(heap.text, one) == NULL || strstr(heap.text, other) == NULL)
        fail_msg("\"%s\" has no \"%s\", \"%s\"", heap.text, one, other);
}

#endif
