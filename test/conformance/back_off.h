/* back_off.h - a back-off supervisor, its child and who asks, for the tests of BO. */
#ifndef AXO_TEST_BACK_OFF_H
#define AXO_TEST_BACK_OFF_H

#include <stdio.h>
#include <string.h>

#include "conformance/parts.h"

#define MS INT64_C(1000000)

/* What one test has beside the kit. */
typedef struct bo {
    kit *k;
    kit_script *c;   /* the child */
    kit_script *q;   /* who asks */
    axo_props child;
    axo_backoff delays;
    axo_backoff_supervisor settings;
    axo_ref s;       /* the supervisor */
} bo;

static axo_directive bo_directive; /* of bo_decide */

static axo_directive bo_decide(axo_ctx *ctx, void *state, const axo_failure *failure, void *user)
{
    bo *b = user;
    if (state != NULL || failure->code == 0)
        kit_problem(b->k, "the decider is handed the supervisor's state, or no failure");
    kit_mark_ref(b->k, failure->actor, "decides", (uint64_t)failure->code);
    return failure->code >= KIT_DO_RESUME && failure->code <= KIT_DO_ESCALATE
               ? (axo_directive)(failure->code - KIT_DO_RESUME + AXO_RESUME)
               : bo_directive;
}

static bo *bo_new(void **state, axo_backoff_when when)
{
    kit *k = kit_start(state, NULL);
    bo *b = kit_alloc(k, sizeof *b);
    b->k = k;
    b->q = part_start(k, "q");
    b->c = kit_actor(k, "c");
    b->child = kit_props(b->c);
    b->delays = (axo_backoff)AXO_BACKOFF(.min_ns = 2 * MS, .max_ns = 40 * MS,
                                         .reset_after_ns = -1);
    b->settings = (axo_backoff_supervisor)AXO_BACKOFF_SUPERVISOR(
        .child = &b->child, .backoff = &b->delays, .when = when, .decider = bo_decide, .user = b);
    bo_directive = when == AXO_ON_STOP ? AXO_STOP : AXO_RESTART;
    return b;
}

static inline axo_status bo_spawn_in(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    bo *b = arg;
    axo_props props;
    axo_status status = axo_backoff_supervisor_props(&b->settings, "s", &props);
    return status == AXO_OK ? axo_spawn(ctx, &props, &b->s) : status;
}

/* A child of /user. */
static void bo_start(bo *b)
{
    axo_props props;
    assert_int_equal(axo_backoff_supervisor_props(&b->settings, "s", &props), AXO_OK);
    assert_int_equal(axo_system_spawn(kit_system(b->k), &props, &b->s), AXO_OK);
    kit_await(b->k, "c.preStart");
}

static void bo_tell(bo *b, uint32_t tag, int64_t value)
{
    kit_payload payload = {.value = value};
    axo_status status = axo_system_send_from(kit_system(b->k), kit_ref(b->q), b->s, tag, &payload,
                                             sizeof payload);
    assert_true(status == AXO_OK || status == AXO_EGONE);
}

/* The n-th child, from 1, has started. */
static void bo_await_child(bo *b, int n)
{
    char pattern[32];
    (void)snprintf(pattern, sizeof pattern, "c.preStart@%d", n);
    kit_await(b->k, pattern);
}

static inline void bo_await_end(bo *b)
{
    axo_actor_info info = AXO_ACTOR_INFO(.doing = 0);
    kit_await_count(b->k, "user.child_gone", 1);
    assert_int_equal(axo_system_inspect(kit_system(b->k), b->s, axo_ref_none(), &info), AXO_EGONE);
}

/* Between the n-th end of a child and the next start nothing was early. */
static inline void bo_not_early(bo *b, int n, int64_t delay)
{
    char gone[32];
    char made[32];
    (void)snprintf(gone, sizeof gone, "c.terminated@%d", n);
    (void)snprintf(made, sizeof made, "c.construct@%d", n + 1);
    assert_true(kit_find(b->k, made).time_ns - kit_find(b->k, gone).time_ns >= delay);
}

/* Asks as a thread: the answer's payload, of `size` bytes. */
static inline void bo_ask(bo *b, uint32_t tag, uint32_t answer, void *out, size_t size)
{
    axo_asked asked;
    assert_int_equal(axo_system_ask(kit_system(b->k), b->s, tag, NULL, 0,
                                    KIT_DEADLINE_S * INT64_C(1000000000), &asked), AXO_OK);
    assert_int_equal(asked.message.tag, answer);
    memcpy(out, asked.message.payload, size);
    axo_asked_free(kit_system(b->k), &asked);
}

static inline uint32_t bo_count(bo *b)
{
    uint32_t count;
    bo_ask(b, AXO_BACKOFF_GET_COUNT, AXO_BACKOFF_COUNT, &count, sizeof count);
    return count;
}

static inline axo_ref bo_child(bo *b)
{
    axo_ref child;
    bo_ask(b, AXO_BACKOFF_GET_CHILD, AXO_BACKOFF_CHILD, &child, sizeof child);
    return child;
}

/* Fails until the n-th child is there; `first` is the next one. */
static inline void bo_fail_until(bo *b, int first, int last)
{
    for (int i = first; i <= last; i++) {
        bo_tell(b, KIT_FAIL, 1);
        bo_await_child(b, i);
    }
}

#endif
