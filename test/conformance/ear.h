/* ear.h - an actor that hears events and keeps them for the test. */
#ifndef AXO_TEST_EAR_H
#define AXO_TEST_EAR_H

#include <pthread.h>
#include <string.h>
#include <time.h>

#include "support/kit.h"

enum { EAR_MARK = 900, EAR_MAX = 512, EAR_DATA_MAX = 448 };

typedef struct ear_event {
    axo_event_message head;
    axo_ref sender;
    union {
        uint8_t bytes[EAR_DATA_MAX];
        axo_dead_record dead;
        axo_event_unhandled unhandled;
        axo_event_supervision supervision;
        axo_event_lifecycle life;
        axo_event_log log;
    } data;
} ear_event;

typedef struct ear {
    kit *k;
    axo_ref ref;
    axo_status answer; /* what it returns for an event */
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t change;
    uint32_t count;
    uint32_t marks;
    ear_event events[EAR_MAX];
} ear;

static inline bool ear_contains(uint32_t wide, uint32_t kind)
{
    for (uint32_t shift = 0; shift < 32; shift += 8) {
        if ((wide >> shift & 0xff) != 0)
            return kind >> shift == wide >> shift;
    }
    return true;
}

static inline axo_status ear_construct(axo_ctx *ctx, void *state, const void *args)
{
    memcpy(state, args, sizeof(ear *));
    return AXO_OK;
}

static inline axo_status ear_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    ear *e = *(ear **)state;
    axo_status answer = AXO_OK;
    (void)pthread_mutex_lock(&e->lock);
    if (message->tag == EAR_MARK) {
        e->marks++;
    } else if (message->tag == AXO_EVENT && e->count < EAR_MAX) {
        const axo_event_message *head = message->payload;
        ear_event *event = &e->events[e->count++];
        event->head = *head;
        event->sender = message->sender;
        KIT_REQUIRE(e->k, message->size == sizeof *head + head->size);
        KIT_REQUIRE(e->k, (uintptr_t)axo_event_data(head) % _Alignof(max_align_t) == 0);
        memcpy(&event->data, axo_event_data(head),
               head->size < EAR_DATA_MAX ? head->size : EAR_DATA_MAX);
        answer = e->answer;
    }
    (void)pthread_cond_broadcast(&e->change);
    (void)pthread_mutex_unlock(&e->lock);
    return answer;
}

static const axo_class ear_class = AXO_CLASS(.name = "ear", .state_size = sizeof(ear *),
                                             .construct = ear_construct,
                                             .receive = ear_receive);

/* An ear under /user, or under /system. */
static inline ear *ear_new_at(kit *k, const char *name, uint32_t system_actor)
{
    ear *e = kit_alloc(k, sizeof *e);
    axo_props props = AXO_PROPS(.cls = &ear_class, .args = &e, .args_size = sizeof e,
                                .name = name, .system_actor = system_actor);
    pthread_condattr_t attr;
    e->k = k;
    (void)pthread_mutex_init(&e->lock, NULL);
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&e->change, &attr);
    (void)pthread_condattr_destroy(&attr);
    assert_int_equal(axo_system_spawn(kit_system(k), &props, &e->ref), AXO_OK);
    return e;
}

static inline ear *ear_new(kit *k, const char *name)
{
    return ear_new_at(k, name, 0);
}

/* An ear that has subscribed to one kind. */
static inline ear *ear_on(kit *k, const char *name, uint32_t kind)
{
    ear *e = ear_new(k, name);
    assert_int_equal(axo_system_subscribe(kit_system(k), e->ref, kind), AXO_OK);
    return e;
}

static inline uint32_t ear_count_locked(const ear *e, uint32_t kind)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < e->count; i++)
        count += ear_contains(kind, e->events[i].head.kind);
    return count;
}

/* Waits until `*value_of(e, kind)` is at least n. */
static inline void ear_wait(ear *e, uint32_t kind, bool marks, uint32_t n)
{
    struct timespec deadline;
    uint32_t found;
    int rc = 0;
    (void)clock_gettime(CLOCK_MONOTONIC, &deadline);
    deadline.tv_sec += KIT_DEADLINE_S;
    (void)pthread_mutex_lock(&e->lock);
    while ((found = marks ? e->marks : ear_count_locked(e, kind)) < n && rc == 0)
        rc = pthread_cond_timedwait(&e->change, &e->lock, &deadline);
    (void)pthread_mutex_unlock(&e->lock);
    if (found < n) {
        kit_dump(e->k);
        fail_msg("heard %u of %u events %08x", found, n, kind);
    }
}

static inline void ear_await(ear *e, uint32_t kind, uint32_t n)
{
    ear_wait(e, kind, false, n);
}

/* What was published to it before, by this thread or by one that this thread has heard of since,
 * has been handled. */
static inline void ear_flush(ear *e)
{
    (void)pthread_mutex_lock(&e->lock);
    uint32_t marks = e->marks;
    (void)pthread_mutex_unlock(&e->lock);
    assert_int_equal(axo_system_send(kit_system(e->k), e->ref, EAR_MARK, NULL, 0), AXO_OK);
    ear_wait(e, 0, true, marks + 1);
}

/* Exactly n, after a flush. */
static inline void ear_expect(ear *e, uint32_t kind, uint32_t n)
{
    ear_flush(e);
    (void)pthread_mutex_lock(&e->lock);
    uint32_t found = ear_count_locked(e, kind);
    (void)pthread_mutex_unlock(&e->lock);
    assert_int_equal(found, n);
}

/* The n-th of the kind, from 0; it must be there. */
static inline ear_event ear_get(ear *e, uint32_t kind, uint32_t n)
{
    ear_event event;
    bool found = false;
    memset(&event, 0, sizeof event);
    (void)pthread_mutex_lock(&e->lock);
    for (uint32_t i = 0; i < e->count && !found; i++) {
        if (ear_contains(kind, e->events[i].head.kind) && n-- == 0) {
            event = e->events[i];
            found = true;
        }
    }
    (void)pthread_mutex_unlock(&e->lock);
    assert_true(found);
    return event;
}

#endif
