/* timers.c - a lamp in a corridor: whoever walks by switches it on, ten seconds later it goes out.
 * Timers by key, a repeated one, a raw one from outside, and the receive timeout. The time is the
 * test kit's, so nobody waits for it. timers.expected is what it prints. */
#include <stdio.h>
#include <stdlib.h>

#include <axo/axo.h>

#define S INT64_C(1000000000)

enum { MOTION = 1, DARK = 2, BLINK = 3 | AXO_TAG_QUIET }; /* a quiet one keeps nobody awake */
enum { KEY_DARK = 1, KEY_BLINK = 2 };                     /* keys are the actor's own numbers */

static void must(axo_status status)
{
    if (status == AXO_OK)
        return;
    fprintf(stderr, "%s\n", axo_status_text(status));
    exit(1);
}

typedef struct lamp {
    int blinks;
} lamp;

static void lamp_says(axo_ctx *ctx, const char *what)
{
    printf("%3d s  lamp: %s\n", (int)(axo_now(ctx) / S) - 1, what); /* the kit begins at 1 s */
}

static axo_status lamp_start(axo_ctx *ctx, void *state)
{
    (void)state;
    axo_status status = axo_timer_start(ctx, KEY_BLINK, AXO_TIMER_FIXED_RATE, 8 * S, 8 * S, BLINK,
                                        NULL, 0);
    return status == AXO_OK ? axo_receive_timeout(ctx, 30 * S) : status;
}

static axo_status lamp_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    lamp *me = state;
    switch (message->tag) {
    case MOTION:
        lamp_says(ctx, axo_timer_active(ctx, KEY_DARK) ? "still on" : "on");
        /* The timer that this key has had is stopped: the ten seconds begin anew. */
        return axo_timer_start(ctx, KEY_DARK, AXO_TIMER_ONCE, 10 * S, 0, DARK, NULL, 0);
    case DARK:
        lamp_says(ctx, "off");
        return AXO_OK;
    case BLINK:
        lamp_says(ctx, "blinks");
        return ++me->blinks == 4 ? axo_timer_stop(ctx, KEY_BLINK) : AXO_OK;
    case AXO_RECEIVE_TIMEOUT:
        lamp_says(ctx, "nothing for 30 s, good night");
        return axo_stop_self(ctx);
    default:
        return AXO_UNHANDLED;
    }
}

int main(void)
{
    static const axo_class lamp_class =
        AXO_CLASS(.name = "lamp", .state_size = sizeof(lamp), .pre_start = lamp_start,
                  .receive = lamp_receive);
    axo_testkit *kit;
    axo_timer never;
    axo_ref ref;
    must(axo_testkit_start(NULL, &kit));
    axo_system *system = axo_testkit_system(kit);
    must(axo_system_spawn(system, &(axo_props)AXO_PROPS(.cls = &lamp_class), &ref));

    /* Raw timers belong to nobody. They come from any thread, and are named by a value. */
    must(axo_system_schedule_once(system, 2 * S, ref, MOTION, NULL, 0, NULL));
    must(axo_system_schedule_once(system, 7 * S, ref, MOTION, NULL, 0, NULL));
    must(axo_system_schedule_once(system, 9 * S, ref, MOTION, NULL, 0, &never));
    printf("main: cancelled: %s\n", axo_system_timer_cancel(system, never) ? "yes" : "no");
    printf("main: once more: %s\n", axo_system_timer_cancel(system, never) ? "yes" : "no");
    axo_testkit_advance(kit, 60 * S);
    must(axo_testkit_stop(kit));
    return 0;
}
