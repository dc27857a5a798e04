/* game_loop.c - actors inside a program that has a loop of its own: first all of them on its thread
 * and by its clock, frame by frame; then workers for what takes long, and one actor on the loop's
 * thread, which waits with poll. game_loop.expected is what it prints. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include <axo/axo.h>

enum { JUMP = 1, LAND, FIND_PATH, PATH };
#define MS INT64_C(1000000)

static void must(axo_status status)
{
    if (status == AXO_OK)
        return;
    fprintf(stderr, "%s\n", axo_status_text(status));
    exit(1);
}

/* ---- a manual system: no thread is started ---- */

static int64_t game_clock(void *user)
{
    return *(const int64_t *)user;
}

static axo_status hero_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    int *in_air = state;
    *in_air = message->tag == JUMP;
    printf("  hero %s at %d ms\n", *in_air ? "jumps" : "lands", (int)(axo_now(ctx) / MS));
    return *in_air ? axo_send_after(ctx, 30 * MS, axo_self(ctx), LAND, NULL, 0) : AXO_OK;
}

static void frames(void)
{
    static const axo_class hero_class =
        AXO_CLASS(.name = "hero", .state_size = sizeof(int), .receive = hero_receive);
    int64_t now = 0; /* game time: it stands still when the game does */
    axo_options options = AXO_OPTIONS(.manual = 1, .clock = game_clock, .clock_user = &now);
    axo_system *system;
    axo_ref hero;
    must(axo_system_start(&options, &system));
    must(axo_system_spawn(system, &(axo_props)AXO_PROPS(.cls = &hero_class), &hero));
    for (int frame = 0; frame < 5; frame++, now += 16 * MS) {
        printf("frame %d\n", frame);
        if (frame == 1)
            must(axo_system_send(system, hero, JUMP, NULL, 0)); /* a key was pressed */
        /* All that there is; with 2 * MS about 2 ms of it, and the rest in the next frame. */
        must(axo_run_host(system, -1, NULL));
        int64_t deadline = axo_host_deadline(system);
        if (deadline != INT64_MAX && deadline != 0)
            printf("  the next timer is due in frame %d\n", (int)(deadline / (16 * MS)) + 1);
    }
    must(axo_system_stop(system, -1, NULL, 0, NULL)); /* runs what is left on this thread */
    must(axo_system_destroy(system));
}

/* ---- workers, and one actor on the loop's thread ---- */

static axo_status finder_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    const int *size = message->payload;
    int steps = 0;
    (void)state;
    for (int i = 1; i < *size; i++)
        steps += i % 3 == 0;
    return axo_reply(ctx, message, PATH, &steps, sizeof steps);
}

/* It may touch what only the loop's thread may touch: it runs nowhere else. */
static axo_status screen_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    bool **done = state;
    (void)ctx;
    printf("screen: a path of %d steps\n", *AXO_PAYLOAD(message, int));
    **done = true;
    return AXO_OK;
}

static axo_status screen_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    *(bool **)state = *(bool *const *)args;
    return AXO_OK;
}

static void wait_for_a_path(void)
{
    static const axo_class finder_class = AXO_CLASS(.name = "finder", .receive = finder_receive);
    static const axo_class screen_class =
        AXO_CLASS(.name = "screen", .state_size = sizeof(bool *), .construct = screen_construct,
                  .receive = screen_receive);
    bool done = false, *out = &done;
    int size = 1000;
    axo_system *system;
    axo_ref finder, screen;
    axo_props props = AXO_PROPS(.cls = &screen_class, .args = &out, .args_size = sizeof out,
                                .dispatcher = AXO_DISPATCH_HOST);
    must(axo_system_start(NULL, &system));
    must(axo_system_spawn(system, &props, &screen));
    must(axo_system_spawn(system, &(axo_props)AXO_PROPS(.cls = &finder_class), &finder));
    must(axo_system_send_from(system, screen, finder, FIND_PATH, &size, sizeof size));
    struct pollfd fds = {.fd = axo_host_fd(system), .events = POLLIN};
    while (!done) { /* beside it in poll: the window's and the network's descriptors */
        if (poll(&fds, 1, 20000) != 1)
            exit(1);
        must(axo_run_host(system, 2 * MS, NULL));
    }
    must(axo_system_stop(system, -1, NULL, 0, NULL));
    must(axo_system_destroy(system));
}

int main(void)
{
    frames();
    wait_for_a_path();
    return 0;
}
