/* group_many_world.h - a thousand actors of a group, and one that sends to them. */
#ifndef TEST_API_GROUP_MANY_WORLD_H
#define TEST_API_GROUP_MANY_WORLD_H

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <axo/axo.h>

#include "support/cmocka.h"

enum { NOTE = 1, BLOCK, SEND_MANY, FIRST, MIDDLE, LAST, HOLD, BACK };
#define MANY 1000u
#define LONG INT64_C(20000000000)

typedef struct many_world {
    axo_system *system;
    axo_group *group;
    axo_ref refs[MANY];
    _Atomic uint32_t notes;
    _Atomic uint32_t wrong;    /* payloads that are not what was sent */
    _Atomic uint32_t disorder; /* MIDDLE before FIRST, or LAST before MIDDLE */
    _Atomic uint32_t done;
    _Atomic uint32_t asked;
    _Atomic uint32_t elsewhere; /* dead letters on another thread than `caller` */
    _Atomic uint32_t here;
    pthread_t caller;
    sem_t inside;
    sem_t go_on;
    uint32_t accepted; /* of SEND_MANY */
    axo_status status;
    bool frees;        /* who is told that the group is empty frees it */
    _Atomic int64_t blocks_left; /* allocations until one is refused, if `refuses` */
    _Atomic bool refuses;
} many_world;

static const char words[] = "a payload that no envelope of one line has room for";

/* ---- actors ---- */

typedef struct many_state {
    many_world *world;
    uint32_t last; /* FIRST .. LAST */
} many_state;

static inline axo_status many_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    memcpy(state, args, sizeof(many_world *));
    return AXO_OK;
}

static inline void many_word(many_world *world, const axo_message *message)
{
    if (message->size > 0 &&
        (message->size != sizeof words || memcmp(message->payload, words, sizeof words) != 0))
        world->wrong++;
    world->notes++;
}

static inline axo_status many_send_inside(axo_ctx *ctx, many_world *world)
{
    world->status = axo_group_send_many(world->group, world->refs, MANY, NOTE, words, sizeof words,
                                        &world->accepted);
    return axo_group_tell(ctx, world->group, 1);
}

static inline axo_status many_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    many_state *self = state;
    many_world *world = self->world;
    switch (message->tag) {
    case BLOCK:
        (void)sem_post(&world->inside);
        while (sem_wait(&world->go_on) != 0)
            continue;
        return AXO_OK;
    case SEND_MANY:
        return many_send_inside(ctx, world);
    case FIRST:
    case MIDDLE:
    case LAST:
        world->disorder += message->tag < self->last;
        self->last = message->tag == LAST ? 0 : message->tag;
        world->notes++;
        return AXO_OK;
    case HOLD:
        return axo_stash(ctx);
    case BACK:
        return axo_unstash_all(ctx);
    case AXO_GROUP_DONE:
        if (world->frees)
            world->status = axo_group_free(world->group);
        world->done++;
        return AXO_OK;
    default:
        many_word(world, message);
        return AXO_OK;
    }
}

static const axo_class many_class =
    AXO_CLASS(.name = "many", .state_size = sizeof(many_state), .construct = many_construct,
              .receive = many_receive);

static inline axo_ref many_spawn(many_world *world, const axo_mailbox *mailbox,
                                 axo_dispatcher dispatch)
{
    axo_ref ref;
    axo_props props = AXO_PROPS(.cls = &many_class, .args = &world, .args_size = sizeof world,
                                .mailbox = mailbox, .dispatcher = dispatch);
    assert_int_equal(axo_system_spawn(world->system, &props, &ref), AXO_OK);
    return ref;
}

/* ---- worlds ---- */

static inline void many_dead(void *user, const axo_dead_letter *letter)
{
    many_world *world = user;
    (void)letter;
    if (pthread_equal(pthread_self(), world->caller))
        world->here++;
    else
        world->elsewhere++;
}

static inline void many_asked(void *user, uint32_t how_many)
{
    ((many_world *)user)->asked += how_many;
}

static inline void *many_alloc(void *user, size_t size, size_t align)
{
    many_world *world = user;
    if (world->refuses && world->blocks_left-- <= 0)
        return NULL;
    return aligned_alloc(align, (size + align - 1) / align * align);
}

static inline void many_free(void *user, void *block, size_t size, size_t align)
{
    (void)user;
    (void)size;
    (void)align;
    free(block);
}

static inline void many_begin(many_world *world, axo_options *options)
{
    memset(world, 0, sizeof *world);
    world->caller = pthread_self();
    assert_int_equal(sem_init(&world->inside, 0, 0), 0);
    assert_int_equal(sem_init(&world->go_on, 0, 0), 0);
    options->seed = 11;
    options->on_dead_letter = many_dead;
    options->dead_letter_user = world;
    options->no_dead_letter_log = 1;
    if (options->threads == AXO_THREADS_LENT) {
        options->on_work = many_asked;
        options->work_user = world;
    }
    assert_int_equal(axo_system_start(options, &world->system), AXO_OK);
    assert_int_equal(axo_group_make(world->system, &world->group), AXO_OK);
}

static inline void many_people(many_world *world)
{
    for (uint32_t i = 0; i < MANY; i++)
        world->refs[i] = many_spawn(world, NULL, AXO_DISPATCH_DEFAULT);
}

static inline void many_manual(many_world *world)
{
    axo_options options = AXO_OPTIONS(.manual = 1);
    many_begin(world, &options);
    many_people(world);
    assert_int_equal(axo_run_host(world->system, -1, NULL), AXO_OK);
}

static inline void many_workers(many_world *world, uint32_t workers)
{
    axo_options options = AXO_OPTIONS(.workers = workers);
    many_begin(world, &options);
    many_people(world);
}

static inline void many_end(many_world *world)
{
    axo_stats stats = AXO_STATS();
    assert_int_equal(axo_system_stop(world->system, -1, NULL, 0, NULL), AXO_OK);
    if (!world->frees) {
        assert_int_equal(axo_group_count(world->group), 0);
        assert_int_equal(axo_group_free(world->group), AXO_OK);
    }
    assert_int_equal(axo_system_stats(world->system, &stats), AXO_OK);
    assert_int_equal(stats.sent, stats.handled + stats.dead + stats.dropped);
    assert_int_equal(axo_system_destroy(world->system), AXO_OK);
    assert_int_equal(world->wrong, 0);
    assert_int_equal(world->disorder, 0);
    (void)sem_destroy(&world->inside);
    (void)sem_destroy(&world->go_on);
}

static inline axo_status many_to(many_world *world, const axo_ref *to, uint32_t count)
{
    world->accepted = UINT32_MAX;
    return axo_group_send_many(world->group, to, count, NOTE, words, sizeof words,
                               &world->accepted);
}

static inline void many_wait(many_world *world, axo_group_how how)
{
    assert_int_equal(axo_group_wait(world->group, LONG, how), AXO_OK);
    assert_int_equal(axo_group_count(world->group), 0);
}

static inline void many_inside(many_world *world)
{
    while (sem_wait(&world->inside) != 0)
        continue;
}

#endif
