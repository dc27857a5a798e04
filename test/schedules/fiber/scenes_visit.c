/* scenes_visit.c - who looks at all that there is, while actors work, end and are made anew. */
#include "scenes.h"

enum { WORK = 1, BEAR, STOP, FALL };

typedef struct seen {
    bool shown; /* the program looks at it */
} seen;

static axo_ref parent;
static axo_ref child;
static uint32_t shown;
static uint32_t lived;

static const axo_class visit_class;

static axo_status visit_construct(axo_ctx *ctx, void *state, const void *args)
{
    lived++;
    return AXO_OK;
}

static axo_status visit_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    const seen *me = state;
    axo_props props = AXO_PROPS(.cls = &visit_class);
    CHECK(!me->shown);
    at.handled++;
    switch (message->tag) {
    case BEAR:
        return axo_spawn(ctx, &props, &child);
    case STOP:
        return axo_stop_self(ctx);
    case FALL:
        return axo_fail(ctx, 1, "it falls");
    default:
        return AXO_OK;
    }
}

static const axo_class visit_class =
    AXO_CLASS(.name = "seen", .state_size = sizeof(seen), .construct = visit_construct,
              .receive = visit_receive);

/* Sends to whom it is shown. Nobody else is in there meanwhile. */
static void visit_show(void *user, const axo_visited *it)
{
    seen *state = it->state;
    if (it->kind != AXO_VISITED_ACTOR)
        return;
    shown++;
    CHECK(state != NULL && !state->shown);
    state->shown = true;
    CHECK(stage_send(it->actor, WORK) == AXO_OK);
    state->shown = false;
}

static void visit_look(void *arg)
{
    for (uint32_t i = 0; i < 2; i++) {
        shown = 0;
        axo_status status = axo_system_visit(at.system, visit_show, NULL);
        CHECK(status == AXO_OK || status == AXO_EBUSY);
        CHECK(shown <= 3);
    }
}

static void visit_send(void *arg)
{
    axo_ref to = arg != NULL ? child : parent;
    axo_status status = stage_send(to, arg != NULL ? STOP : WORK);
    CHECK(status == AXO_OK || status == AXO_EGONE);
}

static void visit_fell(void *arg)
{
    CHECK(stage_send(parent, FALL) == AXO_OK);
}

/* A parent with two children, the younger of which is known. */
static void visit_begin(void)
{
    lived = 0;
    stage_boot(2);
    parent = stage_spawn(&visit_class, NULL);
    for (uint32_t i = 0; i < 2; i++) {
        CHECK(stage_send(parent, BEAR) == AXO_OK);
        axo__sim_settle(-1);
    }
    CHECK_SAME(lived, 3);
}

/* At rest all is shown, and what was sent meanwhile has been handled. */
static void visit_end(uint32_t actors)
{
    shown = 0;
    CHECK(axo_system_visit(at.system, visit_show, NULL) == AXO_OK);
    CHECK_SAME(shown, actors);
    axo__sim_settle(-1);
    CHECK_SAME(at.handled + at.dead, at.sent);
    stage_account();
    stage_end();
}

static void play_visit(void)
{
    visit_begin();
    stage_thread("looker", visit_look, NULL);
    stage_thread("stopper", visit_send, &child);
    stage_thread("sender", visit_send, NULL);
    stage_go();
    visit_end(2);
}

const stage_scene scene_visit = {.name = "visit",
                                 .what = "a look at all, messages, and an end below",
                                 .play = play_visit, .delay = 1};

static void play_visit_fall(void)
{
    visit_begin();
    stage_thread("looker", visit_look, NULL);
    stage_thread("failer", visit_fell, NULL);
    stage_go();
    CHECK_SAME(lived, 4);
    visit_end(1);
}

const stage_scene scene_visit_fall = {.name = "visit-fall",
                                      .what = "a look at all, and a restart of the parent",
                                      .play = play_visit_fall, .delay = 1};
