/* plugin.c - an hour of a game in which the code of its creatures is a plugin: every minute another
 * version is loaded, each creature goes on with it, and the old one is unloaded. One version fails
 * at every seventh thought; then a creature is restarted, or just goes on, and none is lost.
 * plugin.expected is what it prints. */
#define _GNU_SOURCE 1 /* readlink */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "brain/brain.h"

enum { CREATURES = 100, FRAMES = 60 };
#define SECOND INT64_C(1000000000)

typedef struct plugin {
    void *library;
    const brain_plugin *brain;
    char path[4096];
} plugin;

typedef struct game {
    axo_system *system;
    int64_t now;
    plugin plugin;
    axo_ref creatures[CREATURES];
    unsigned failures;
    unsigned alive;
    unsigned long long thoughts; /* that they remember */
} game;

static void must(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "%s\n", what);
    exit(1);
}

static void must_be_ok(axo_status status)
{
    must(status == AXO_OK, axo_status_text(status));
}

static int64_t game_clock(void *user)
{
    return ((game *)user)->now;
}

/* ---- plugins ---- */

/* They lie in a folder beside this program. */
static plugin load(int version)
{
    plugin out;
    memset(&out, 0, sizeof out);
    ssize_t length = readlink("/proc/self/exe", out.path, sizeof out.path - 64);
    must(length > 0, "where this program is");
    out.path[length] = 0;
    char *folder = strrchr(out.path, '/') + 1;
    (void)snprintf(folder, 64, "brain/brain%d.so", version);
    out.library = dlopen(out.path, RTLD_NOW | RTLD_LOCAL);
    must(out.library != NULL, "no such plugin");
    out.brain = dlsym(out.library, "brain_plugin_here");
    must(out.brain != NULL, "no plugin of this game");
    return out;
}

/* Until it is done the game goes on: a frame, and another look. */
static void replace(game *g, int version, void (*frame)(game *g))
{
    plugin next = load(version);
    const axo_replacement what = AXO_REPLACEMENT(.from = g->plugin.brain->cls,
                                                 .to = next.brain->cls,
                                                 .migrate = next.brain->migrate);
    axo_status status;
    while ((status = axo_class_replace(g->system, &what, 0)) == AXO_ETIMEDOUT)
        frame(g);
    must_be_ok(status);
    must(dlclose(g->plugin.library) == 0, "the old plugin cannot be unloaded");
    must(dlopen(g->plugin.path, RTLD_NOW | RTLD_NOLOAD) == NULL, "the old plugin is still there");
    g->plugin = next;
}

/* ---- the game ---- */

/* The one who owns the creatures: it outlives all plugins, and so does its strategy. */
static axo_directive owner_decide(axo_ctx *ctx, void *state, const axo_failure *failure,
                                  void *user)
{
    game *g = user;
    (void)ctx;
    (void)state;
    (void)failure;
    return g->failures++ % 2 == 0 ? AXO_RESUME : AXO_RESTART;
}

static axo_status owner_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    game *g = *AXO_PAYLOAD(message, game *);
    (void)state;
    for (int i = 0; i < CREATURES; i++) {
        axo_props props =
            AXO_PROPS(.cls = g->plugin.brain->cls, .args = &i, .args_size = sizeof i);
        axo_status status = axo_spawn(ctx, &props, &g->creatures[i]);
        if (status != AXO_OK)
            return status;
    }
    return AXO_OK;
}

static const axo_class owner_class = AXO_CLASS(.name = "owner", .receive = owner_receive);

static void frame(game *g)
{
    for (int i = 0; i < CREATURES; i++)
        (void)axo_system_send(g->system, g->creatures[i], THINK, NULL, 0);
    must_be_ok(axo_run_host(g->system, -1, NULL));
    g->now += SECOND;
}

static void look(void *user, const axo_visited *it)
{
    game *g = user;
    const brain_core *core = it->state;
    if (it->kind != AXO_VISITED_ACTOR || it->cls != g->plugin.brain->cls)
        return;
    g->alive++;
    g->thoughts += (unsigned)core->thoughts;
}

int main(void)
{
    game g;
    game *it = &g;
    axo_ref owner;
    axo_options options =
        AXO_OPTIONS(.manual = AXO_MANUAL_ALL, .clock = game_clock, .clock_user = &g);
    memset(&g, 0, sizeof g);
    g.plugin = load(1);
    must_be_ok(axo_system_start(&options, &g.system));
    const axo_strategy strategy = AXO_STRATEGY(.decider = owner_decide, .user = &g);
    const axo_props props = AXO_PROPS(.cls = &owner_class, .strategy = &strategy);
    must_be_ok(axo_system_spawn(g.system, &props, &owner));
    must_be_ok(axo_system_send(g.system, owner, THINK, &it, sizeof it));
    must_be_ok(axo_run_host(g.system, -1, NULL));
    for (int minute = 1; minute <= 60; minute++) {
        for (int i = 0; i < FRAMES; i++)
            frame(&g);
        replace(&g, 1 + minute % 2, frame);
        if (minute % 15 != 0)
            continue;
        g.alive = 0;
        g.thoughts = 0;
        must_be_ok(axo_system_visit(g.system, look, &g));
        printf("%d minutes, %d plugins unloaded: %u creatures, %u failures\n", minute, minute,
               g.alive, g.failures);
    }
    must(g.thoughts > 0 && g.failures > 0, "nobody has thought");
    must_be_ok(axo_system_stop(g.system, -1, NULL, 0, NULL));
    must_be_ok(axo_system_destroy(g.system));
    must(dlclose(g.plugin.library) == 0, "the last plugin cannot be unloaded");
    return 0;
}
