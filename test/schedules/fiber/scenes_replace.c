/* scenes_replace.c - a class is replaced while its actors work, are born, fail and end. As soon as
 * the call has returned the old class is overwritten: who still looks at it is caught. */
#include "scenes.h"

#include <axo/world.h>

#include "base/config.h"

enum { WORK = 1, BEAR, FALL, BREAK };

typedef struct replaced {
    uint32_t version;
    uint32_t more[8]; /* of the new one: not 0 */
} replaced;

static char old_name[4];
static axo_class old_class;
static const axo_class *wanted; /* that a parent spawns: the new one before the call begins */
static bool gone;
static axo_ref parent;
static axo_ref child;
static axo_ref born;

static const axo_class new_class;

static axo_status replaced_receive(axo_ctx *ctx, uint32_t version, const replaced *me,
                                   const axo_message *message)
{
    axo_props props = AXO_PROPS(.cls = wanted);
    CHECK(me->version == version && (version == 2 || !gone));
    at.handled++;
    switch (message->tag) {
    case BEAR:
        return axo_spawn(ctx, &props, &born);
    case FALL:
        return axo_fail(ctx, 1, "it falls");
    case BREAK:
        return axo_fail_as(ctx, AXO_FAILURE_CRASH, 1, "it breaks");
    default:
        return AXO_OK;
    }
}

static axo_status old_construct(axo_ctx *ctx, void *state, const void *args)
{
    replaced *me = state;
    CHECK(!gone);
    me->version = 1;
    return AXO_OK;
}

static axo_status old_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    return replaced_receive(ctx, 1, state, message);
}

static axo_status old_stop(axo_ctx *ctx, void *state)
{
    CHECK(!gone && ((const replaced *)state)->version == 1);
    return AXO_OK;
}

static axo_status new_construct(axo_ctx *ctx, void *state, const void *args)
{
    replaced *me = state;
    me->version = 2;
    me->more[7] = 2;
    return AXO_OK;
}

static axo_status new_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    CHECK(((const replaced *)state)->more[7] == 2);
    return replaced_receive(ctx, 2, state, message);
}

static axo_status new_stop(axo_ctx *ctx, void *state)
{
    CHECK(((const replaced *)state)->version == 2);
    return AXO_OK;
}

static const axo_class new_class =
    AXO_CLASS(.name = "new", .state_size = sizeof(replaced), .construct = new_construct,
              .receive = new_receive, .post_stop = new_stop);

static axo_status new_migrate(axo_ctx *ctx, void *state, void *old, void *user)
{
    CHECK(!gone && ((const replaced *)old)->version == 1);
    return new_construct(ctx, state, NULL);
}

static void replaced_call(void *arg)
{
    const axo_replacement what =
        AXO_REPLACEMENT(.from = &old_class, .to = &new_class, .migrate = new_migrate);
    axo_status status;
    wanted = &new_class;
    while ((status = axo_class_replace(at.system, &what, 0)) == AXO_ETIMEDOUT)
        axo__sim_relax();
    CHECK(status == AXO_OK);
    gone = true;
    memset(&old_class, 0xa5, sizeof old_class);
    memset(old_name, 'x', 3);
}

static void replaced_send(void *arg)
{
    const uint32_t tag = *(const uint32_t *)arg;
    axo_status status = stage_send(tag == BEAR || tag == WORK ? parent : child, tag);
    CHECK(status == AXO_OK || status == AXO_EGONE);
}

/* Its parent may hear of the failure when it has ended; and it may have more messages to bury than
 * a turn does. */
static void replaced_fall_and_end(void *arg)
{
    axo_status status = stage_send(child, FALL);
    for (uint32_t i = 0; i < AXO__PORTION + 1 && status == AXO_OK; i++)
        status = stage_send(child, WORK);
    CHECK(status == AXO_OK || status == AXO_EGONE);
    status = axo_system_stop_actor(at.system, child);
    CHECK(status == AXO_OK || status == AXO_EGONE);
}

static void replaced_parent(void *arg)
{
    CHECK(stage_send(parent, *(const uint32_t *)arg) == AXO_OK);
}

/* A line of the log names the class of one that has failed; a dead letter's names none. It takes
 * its time: the class stays until then. */
static void replaced_log(void *user, const axo_log_record *record)
{
    const char *name = record->class_name;
    for (uint32_t i = 0; i < 8 && at.going && name == old_name; i++)
        axo__sim_relax();
    CHECK(name[0] == 0 || strcmp(name, "old") == 0 || strcmp(name, "new") == 0);
    CHECK(!gone || name != old_name);
}

static void replaced_look(const axo_event *e)
{
    CHECK(!gone || e->cls != &old_class);
}

/* A decider of the program's is asked in the parent's turn. */
static axo_directive replaced_decide(axo_ctx *ctx, void *state, const axo_failure *failure,
                                     void *user)
{
    return AXO_RESTART;
}

static const axo_strategy replaced_strategy = AXO_STRATEGY(.decider = replaced_decide);

/* A parent and a child of the old class. */
static void replaced_begin(void)
{
    const axo_class fresh = AXO_CLASS(.name = old_name, .state_size = offsetof(replaced, more[1]),
                                      .construct = old_construct, .receive = old_receive,
                                      .post_stop = old_stop);
    old_class = fresh;
    wanted = &old_class;
    gone = false;
    memcpy(old_name, "old", 4);
    stage_look = replaced_look;
    stage_boot_with((axo_options)AXO_OPTIONS(.workers = 2, .log_record = replaced_log));
    const axo_props props = AXO_PROPS(.cls = &old_class, .strategy = &replaced_strategy);
    CHECK(axo_system_spawn(at.system, &props, &parent) == AXO_OK);
    axo__sim_settle(-1);
    CHECK(stage_send(parent, BEAR) == AXO_OK);
    axo__sim_settle(-1);
    child = born;
}

/* Whoever lives is of the new class. */
static void replaced_end(void)
{
    CHECK(gone && stage_send(parent, WORK) == AXO_OK);
    axo__sim_settle(-1);
    CHECK_SAME(at.handled + at.dead, at.sent);
    stage_account();
    stage_end();
}

static void play_class_replace(void)
{
    static const uint32_t fall = FALL, bear = BEAR;
    replaced_begin();
    stage_thread("replacer", replaced_call, NULL);
    stage_thread("failer", replaced_send, (void *)(uintptr_t)&fall);
    stage_thread("sender", replaced_send, (void *)(uintptr_t)&bear);
    stage_go();
    replaced_end();
}

const stage_scene scene_class_replace = {.name = "class-replace",
                                         .what = "a class is replaced, a failure and a birth",
                                         .play = play_class_replace, .delay = 1};

static void play_class_replace_end(void)
{
    static const uint32_t break_it = BREAK;
    replaced_begin();
    stage_thread("replacer", replaced_call, NULL);
    stage_thread("stopper", replaced_fall_and_end, NULL);
    stage_thread("breaker", replaced_parent, (void *)(uintptr_t)&break_it);
    stage_go();
    replaced_end();
}

const stage_scene scene_class_replace_end = {.name = "class-replace-end",
                                             .what = "a class is replaced, an end and a crash",
                                             .play = play_class_replace_end, .delay = 1};
