/* group_test.c - groups of messages: what counts and for how long, who is told, what is refused.
 * Manual worlds, but for the last test. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <axo/axo.h>

#include "support/cmocka.h"

enum { NOTE = 1, CRASH, FORWARD, ASIDE, BACK, TAKE, GIVE, DROP, FAN, SEND, TELL, KILL };

typedef struct group_world {
    axo_system *system;
    axo_group *group;
    axo_ref one;
    axo_ref two;
    uint32_t notes;
    uint32_t done;
    uint64_t ids[8];
    uint64_t count_at_done;
    axo_status status;
    axo_status freed; /* by who was told */
    bool frees;
    axo_owned taken;
    const void *fans[4]; /* payloads, the last ones */
} group_world;

static axo_status member_fan(axo_ctx *ctx, group_world *world, const axo_message *message)
{
    uint32_t left = *AXO_PAYLOAD(message, uint32_t);
    world->fans[world->notes++ % 4] = message->payload;
    for (uint32_t i = 0; left > 0 && i < 2; i++) {
        uint32_t less = left - 1;
        assert_int_equal(axo_group_send_as(ctx, world->group, i == 0 ? world->one : world->two, FAN,
                                           &less, sizeof less),
                         AXO_OK);
    }
    return AXO_OK;
}

static axo_status member_done(group_world *world, const axo_message *message)
{
    const axo_group_done *done = message->payload;
    assert_int_equal(message->size, sizeof *done);
    assert_ptr_equal(done->group, world->group);
    assert_in_range(world->done, 0, 7);
    world->ids[world->done++] = done->id;
    world->count_at_done = axo_group_count(world->group);
    if (world->frees)
        world->freed = axo_group_free(world->group);
    return AXO_OK;
}

/* Kills its only child, which waits for it. */
static axo_status member_kill(axo_ctx *ctx)
{
    axo_ref child;
    assert_int_equal(axo_children(ctx, &child, 1), 1);
    return axo_kill(ctx, child);
}

static axo_status member_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    group_world *world = *(group_world **)state;
    switch (message->tag) {
    case NOTE:
        world->notes++;
        return AXO_OK;
    case CRASH:
        return axo_fail(ctx, 1, "under a message of a group");
    case FORWARD:
        if (axo_ref_equal(axo_self(ctx), world->two))
            return AXO_OK;
        return axo_forward(ctx, message, world->two);
    case ASIDE:
        return axo_stash(ctx);
    case BACK:
        return axo_unstash_all(ctx);
    case TAKE:
        return axo_message_take(ctx, message, &world->taken);
    case GIVE:
        world->taken.destroy(world->taken.payload, world->taken.user);
        return AXO_OK;
    case DROP:
        return axo_drop(ctx, message, world->two, "nobody wants it");
    case FAN:
        return member_fan(ctx, world, message);
    case SEND:
        world->status = axo_group_send_as(ctx, world->group, world->two, NOTE, NULL, 0);
        return AXO_OK;
    case TELL:
        world->status = axo_group_tell(ctx, world->group, *AXO_PAYLOAD(message, uint64_t));
        return AXO_OK;
    case KILL:
        return member_kill(ctx);
    case AXO_GROUP_DONE:
        return member_done(world, message);
    default:
        return AXO_UNHANDLED;
    }
}

static axo_status member_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    memcpy(state, args, sizeof(group_world *));
    return AXO_OK;
}

static const axo_class member_class =
    AXO_CLASS(.name = "member", .state_size = sizeof(group_world *), .construct = member_construct,
              .receive = member_receive);

static axo_ref group_spawn(group_world *world, const axo_mailbox *mailbox)
{
    axo_ref ref;
    axo_props props = AXO_PROPS(.cls = &member_class, .args = &world, .args_size = sizeof world,
                                .mailbox = mailbox);
    assert_int_equal(axo_system_spawn(world->system, &props, &ref), AXO_OK);
    return ref;
}

static void group_run(const group_world *world)
{
    assert_int_equal(axo_run_host(world->system, -1, NULL), AXO_OK);
}

static void group_open(group_world *world)
{
    axo_options options = AXO_OPTIONS(.manual = 1, .seed = 11);
    memset(world, 0, sizeof *world);
    assert_int_equal(axo_system_start(&options, &world->system), AXO_OK);
    assert_int_equal(axo_group_make(world->system, &world->group), AXO_OK);
    world->one = group_spawn(world, NULL);
    world->two = group_spawn(world, NULL);
    group_run(world);
}

static void group_close(group_world *world)
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
}

static void group_say(group_world *world, axo_ref to, uint32_t tag)
{
    assert_int_equal(axo_group_send(world->group, to, tag, "text", 5), AXO_OK);
}

static void group_order(const group_world *world, axo_ref to, uint32_t tag)
{
    assert_int_equal(axo_system_send(world->system, to, tag, NULL, 0), AXO_OK);
    group_run(world);
}

/* ---- what counts, and for how long ---- */

static void until_it_is_handled(void **state)
{
    group_world w;
    (void)state;
    group_open(&w);
    for (uint32_t i = 1; i <= 5; i++) {
        group_say(&w, w.one, NOTE);
        assert_int_equal(axo_group_count(w.group), i);
    }
    group_run(&w);
    assert_int_equal(w.notes, 5);
    assert_int_equal(axo_group_count(w.group), 0);
    group_close(&w);
}

static void also_by_one_that_fails_passes_on_or_drops_it(void **state)
{
    static const uint32_t tags[] = {CRASH, DROP, SEND + 100};
    group_world w;
    (void)state;
    group_open(&w);
    for (uint32_t i = 0; i < 3; i++) {
        group_say(&w, w.one, tags[i]);
        group_run(&w);
        assert_int_equal(axo_group_count(w.group), 0);
    }
    group_say(&w, w.one, FORWARD);
    assert_int_equal(axo_step_host(w.system, 1, NULL), AXO_OK);
    assert_int_equal(axo_group_count(w.group), 1); /* it waits at the other one */
    group_run(&w);
    assert_int_equal(axo_group_count(w.group), 0);
    group_close(&w);
}

static void as_long_as_it_is_stashed_or_taken(void **state)
{
    group_world w;
    (void)state;
    group_open(&w);
    group_say(&w, w.one, ASIDE);
    group_run(&w);
    assert_int_equal(axo_group_count(w.group), 1);
    assert_int_equal(axo_system_stop_actor(w.system, w.one), AXO_OK);
    group_run(&w);
    assert_int_equal(axo_group_count(w.group), 0);
    group_say(&w, w.two, TAKE);
    group_run(&w);
    assert_int_equal(axo_group_count(w.group), 1);
    group_order(&w, w.two, GIVE);
    assert_int_equal(axo_group_count(w.group), 0);
    group_close(&w);
}

/* Its memory is its own system's, and goes back there. */
static void until_another_system_has_ended_it(void **state)
{
    group_world w;
    group_world other;
    const uint32_t left = 1;
    (void)state;
    group_open(&w);
    group_open(&other);
    group_say(&w, w.one, TAKE);
    group_run(&w);
    other.taken = w.taken;
    group_order(&other, other.one, GIVE);
    assert_int_equal(axo_group_count(w.group), 0);
    assert_int_equal(axo_group_send(other.group, other.one, FAN, &left, sizeof left), AXO_OK);
    group_run(&other);
    assert_int_equal(other.notes, 3);
    for (uint32_t i = 0; i < 3; i++)
        assert_ptr_not_equal(other.fans[i], w.taken.payload);
    group_close(&w);
    group_close(&other);
}

static void dead_letters_and_refusals(void **state)
{
    static const axo_mailbox narrow =
        AXO_MAILBOX(.overflow = AXO_OVERFLOW_REFUSE, .messages_max = 1);
    group_world w;
    (void)state;
    group_open(&w);
    axo_ref full = group_spawn(&w, &narrow);
    group_run(&w);
    group_say(&w, full, NOTE);
    assert_int_equal(axo_group_send(w.group, full, NOTE, NULL, 0), AXO_EFULL);
    assert_int_equal(axo_group_count(w.group), 1);
    group_say(&w, w.one, NOTE);
    assert_int_equal(axo_system_stop_actor(w.system, w.one), AXO_OK);
    group_run(&w);
    assert_int_equal(axo_group_count(w.group), 0);
    assert_int_equal(axo_group_send(w.group, w.one, NOTE, NULL, 0), AXO_EGONE);
    assert_int_equal(axo_group_count(w.group), 0);
    group_close(&w);
}

static void a_shutdown_leaves_none(void **state)
{
    group_world w;
    (void)state;
    group_open(&w);
    for (uint32_t i = 0; i < 10; i++)
        group_say(&w, i % 2 == 0 ? w.one : w.two, ASIDE);
    group_close(&w);
}

/* ---- threads that wait ---- */

static void helping_runs_all_that_comes_of_it(void **state)
{
    group_world w;
    const uint32_t depth = 7;
    (void)state;
    group_open(&w);
    assert_int_equal(axo_group_send(w.group, w.one, FAN, &depth, sizeof depth), AXO_OK);
    assert_int_equal(axo_group_wait(w.group, AXO_GROUP_FOREVER, AXO_GROUP_HELP), AXO_OK);
    assert_int_equal(w.notes, (1u << (depth + 1)) - 1);
    assert_int_equal(axo_group_count(w.group), 0);
    group_close(&w);
}

static void a_wait_ends_by_its_time(void **state)
{
    group_world w;
    (void)state;
    group_open(&w);
    assert_int_equal(axo_group_wait(w.group, 0, AXO_GROUP_SLEEP), AXO_OK);
    group_say(&w, w.one, NOTE);
    assert_int_equal(axo_group_wait(w.group, 0, AXO_GROUP_SLEEP), AXO_ETIMEDOUT);
    assert_int_equal(axo_group_wait(w.group, 1000000, AXO_GROUP_SLEEP), AXO_ETIMEDOUT);
    group_say(&w, w.one, ASIDE);
    assert_int_equal(axo_group_wait(w.group, 1000000, AXO_GROUP_HELP), AXO_ETIMEDOUT);
    assert_int_equal(w.notes, 1);
    assert_int_equal(axo_group_free(w.group), AXO_EBUSY);
    group_close(&w);
}

/* ---- actors that wait ---- */

static void group_ask(const group_world *world, axo_ref who, uint64_t id)
{
    assert_int_equal(axo_system_send(world->system, who, TELL, &id, sizeof id), AXO_OK);
    group_run(world);
    assert_int_equal(world->status, AXO_OK);
}

/* `two` keeps the group from being empty, and `one` waits for that. */
static void group_ask_taken(group_world *world, uint64_t id)
{
    group_say(world, world->two, TAKE);
    group_run(world);
    group_ask(world, world->one, id);
}

static void told_at_once_or_when_it_is_so(void **state)
{
    group_world w;
    (void)state;
    group_open(&w);
    group_ask(&w, w.one, 1);
    assert_int_equal(w.done, 1);
    group_ask_taken(&w, 2);
    group_ask(&w, w.two, 3);
    assert_int_equal(w.done, 1);
    assert_int_equal(axo_group_free(w.group), AXO_EBUSY);
    group_order(&w, w.two, GIVE);
    assert_int_equal(w.done, 3);
    assert_int_equal(w.ids[1] + w.ids[2], 5);
    assert_int_equal(w.count_at_done, 0);
    group_order(&w, w.one, SEND);
    assert_int_equal(w.done, 3); /* once */
    group_close(&w);
}

static void who_is_told_may_free_it(void **state)
{
    group_world w;
    (void)state;
    group_open(&w);
    w.frees = true;
    w.freed = AXO_EBUSY;
    group_ask_taken(&w, 1);
    group_order(&w, w.two, GIVE);
    assert_int_equal(w.done, 1);
    assert_int_equal(w.freed, AXO_OK);
    group_close(&w);
}

/* The children of an instance are stopped with it: nobody is told, and nothing is left. */
static void an_instance_that_is_gone_is_not_told(void **state)
{
    group_world w;
    (void)state;
    group_open(&w);
    group_ask_taken(&w, 1);
    group_order(&w, w.one, CRASH);
    group_order(&w, w.two, GIVE);
    assert_int_equal(w.done, 0);
    group_ask_taken(&w, 2);
    assert_int_equal(axo_system_stop_actor(w.system, w.one), AXO_OK);
    group_run(&w);
    group_order(&w, w.two, GIVE);
    assert_int_equal(w.done, 0);
    group_close(&w);
}

static void a_wait_that_is_killed_is_told_to_nobody(void **state)
{
    group_world w;
    (void)state;
    group_open(&w);
    group_ask_taken(&w, 1);
    group_order(&w, w.one, KILL);
    group_order(&w, w.two, GIVE);
    assert_int_equal(w.done, 0);
    group_close(&w);
}

/* ---- bad input ---- */

static void bad_input_changes_nothing(void **state)
{
    group_world w;
    axo_group *none = NULL;
    (void)state;
    group_open(&w);
    assert_int_equal(axo_group_make(NULL, &none), AXO_EINVAL);
    assert_null(none);
    assert_int_equal(axo_group_make(w.system, NULL), AXO_EINVAL);
    assert_int_equal(axo_group_free(NULL), AXO_OK);
    assert_int_equal(axo_group_count(NULL), 0);
    assert_int_equal(axo_group_send(NULL, w.one, NOTE, NULL, 0), AXO_EINVAL);
    assert_int_equal(axo_group_send(w.group, axo_ref_none(), NOTE, NULL, 0), AXO_EINVAL);
    assert_int_equal(axo_group_send(w.group, w.one, AXO_TAG_RESERVED, NULL, 0), AXO_EINVAL);
    assert_int_equal(axo_group_send(w.group, w.one, NOTE, NULL, 1), AXO_EINVAL);
    assert_int_equal(axo_group_send(w.group, w.one, NOTE, "", AXO_PAYLOAD_MAX + 1), AXO_ETOOBIG);
    assert_int_equal(axo_group_send_as(NULL, w.group, w.one, NOTE, NULL, 0), AXO_ECONTEXT);
    assert_int_equal(axo_group_tell(NULL, w.group, 1), AXO_ECONTEXT);
    assert_int_equal(axo_group_wait(NULL, 0, AXO_GROUP_SLEEP), AXO_EINVAL);
    assert_int_equal(axo_group_wait(w.group, -2, AXO_GROUP_SLEEP), AXO_EINVAL);
    assert_int_equal(axo_group_wait(w.group, 0, (axo_group_how)3), AXO_EINVAL);
    assert_int_equal(axo_group_count(w.group), 0);
    group_close(&w);
}

/* ---- threads ---- */

#define FRAMES 300
#define PER_FRAME 64

typedef struct group_frame {
    axo_group *group;
    axo_ref refs[16];
    _Atomic uint64_t handled;
} group_frame;

static axo_status frame_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    group_frame *frame;
    (void)state;
    memcpy(&frame, message->payload, sizeof frame);
    frame->handled++;
    if (message->tag == FAN) {
        for (uint32_t i = 0; i < 3; i++)
            (void)axo_group_send_as(ctx, frame->group, frame->refs[(i * 5 + 3) % 16], NOTE, &frame,
                                    sizeof frame);
    }
    return message->tag == CRASH ? axo_fail(ctx, 1, "in a frame") : AXO_OK;
}

static const axo_class frame_class = AXO_CLASS(.name = "frame", .receive = frame_receive);

/* Each frame has a group of its own, which is freed as soon as the frame is over. */
static void frames_on_four_workers(void **state)
{
    group_frame frame = {.handled = 0};
    group_frame *self = &frame;
    axo_system *system;
    axo_options options = AXO_OPTIONS(.workers = 4);
    (void)state;
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    for (uint32_t i = 0; i < 16; i++) {
        axo_props props = AXO_PROPS(.cls = &frame_class);
        assert_int_equal(axo_system_spawn(system, &props, &frame.refs[i]), AXO_OK);
    }
    for (uint32_t n = 1; n <= FRAMES; n++) {
        assert_int_equal(axo_group_make(system, &frame.group), AXO_OK);
        for (uint32_t i = 0; i < PER_FRAME; i++)
            assert_int_equal(axo_group_send(frame.group, frame.refs[i % 16],
                                            i % 8 == 7 ? CRASH : FAN, &self, sizeof self),
                             AXO_OK);
        assert_int_equal(axo_group_wait(frame.group, AXO_GROUP_FOREVER,
                                        n % 2 == 0 ? AXO_GROUP_SLEEP : AXO_GROUP_HELP),
                         AXO_OK);
        assert_int_equal(frame.handled, n * (PER_FRAME + 3 * (PER_FRAME - PER_FRAME / 8)));
        assert_int_equal(axo_group_count(frame.group), 0);
        assert_int_equal(axo_group_free(frame.group), AXO_OK);
    }
    assert_int_equal(axo_system_stop(system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
}

/* ---- memory ---- */

/* A cache keeps 256 blocks of a class before it gives some back (mem/slab.h). */
enum { MEMORY_WARM = 40, MEMORY_FRAMES = 100, MEMORY_SENDS = 64, MEMORY_CALLS = 16 };

static void *memory_alloc(void *user, size_t size, size_t align)
{
    uint64_t *calls = user;
    void *block = NULL;
    (*calls)++;
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

static void memory_frame(const group_world *w, const axo_ref *refs)
{
    static const char text[1000];
    for (uint32_t i = 0; i < MEMORY_SENDS; i++)
        assert_int_equal(axo_group_send(w->group, refs[i % 2], NOTE, text, 8 + i * 3), AXO_OK);
    for (uint32_t i = 0; i < MEMORY_CALLS; i++) {
        assert_int_equal(axo_group_send_many(w->group, refs, 2, NOTE, text, sizeof text, NULL),
                         AXO_OK);
        assert_int_equal(axo_system_send_many(w->system, refs, 2, NOTE, text, sizeof text, NULL),
                         AXO_OK);
    }
    assert_int_equal(axo_group_wait(w->group, AXO_GROUP_FOREVER, AXO_GROUP_HELP), AXO_OK);
    group_run(w);
}

/* A frame like the one before asks the program's allocator for nothing; where the thread comes to
 * another processor, that one's door takes its first blocks. */
static void frames_ask_for_no_memory(void **state)
{
    uint64_t calls = 0;
    axo_options options = AXO_OPTIONS(.manual = AXO_MANUAL_ALL, .seed = 11,
                                      .allocator = {memory_alloc, memory_free, &calls});
    group_world w;
    (void)state;
    memset(&w, 0, sizeof w);
    assert_int_equal(axo_system_start(&options, &w.system), AXO_OK);
    assert_int_equal(axo_group_make(w.system, &w.group), AXO_OK);
    const axo_ref refs[2] = {group_spawn(&w, NULL), group_spawn(&w, NULL)};
    for (uint32_t n = 0; n < MEMORY_WARM; n++)
        memory_frame(&w, refs);
    const uint64_t before = calls;
    for (uint32_t n = 0; n < MEMORY_FRAMES; n++)
        memory_frame(&w, refs);
    assert_in_range(calls - before, 0, MEMORY_FRAMES / 10);
    assert_int_equal(w.notes, (MEMORY_FRAMES + MEMORY_WARM) * (MEMORY_SENDS + 4 * MEMORY_CALLS));
    group_close(&w);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(until_it_is_handled),
    cmocka_unit_test(also_by_one_that_fails_passes_on_or_drops_it),
    cmocka_unit_test(as_long_as_it_is_stashed_or_taken),
    cmocka_unit_test(until_another_system_has_ended_it),
    cmocka_unit_test(dead_letters_and_refusals),
    cmocka_unit_test(a_shutdown_leaves_none),
    cmocka_unit_test(helping_runs_all_that_comes_of_it),
    cmocka_unit_test(a_wait_ends_by_its_time),
    cmocka_unit_test(told_at_once_or_when_it_is_so),
    cmocka_unit_test(who_is_told_may_free_it),
    cmocka_unit_test(an_instance_that_is_gone_is_not_told),
    cmocka_unit_test(a_wait_that_is_killed_is_told_to_nobody),
    cmocka_unit_test(bad_input_changes_nothing),
    cmocka_unit_test(frames_on_four_workers),
    cmocka_unit_test(frames_ask_for_no_memory),
};

TEST_MAIN(tests)
