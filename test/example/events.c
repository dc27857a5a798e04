/* events.c - an observer subscribes to failures and dead letters; and the ring of the last dead
 * letters, for when nobody has subscribed. events.expected is what it prints. */
#include <stdio.h>
#include <stdlib.h>

#include <axo/axo.h>

enum { WORK = 1, BREAK, LATE };

static void must(axo_status status)
{
    if (status == AXO_OK)
        return;
    fprintf(stderr, "%s\n", axo_status_text(status));
    exit(1);
}

static axo_status worker_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)state;
    return message->tag == BREAK ? axo_fail(ctx, 7, "it broke") : AXO_OK;
}

/* Kinds form a tree: AXO_KIND_SUPERVISION contains restarts, stops and resumptions. */
static axo_status observer_start(axo_ctx *ctx, void *state)
{
    (void)state;
    axo_status status = axo_subscribe(ctx, axo_self(ctx), AXO_KIND_SUPERVISION);
    return status == AXO_OK ? axo_subscribe(ctx, axo_self(ctx), AXO_KIND_DEAD_LETTER) : status;
}

static axo_status observer_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)ctx, (void)state;
    if (message->tag != AXO_EVENT)
        return AXO_UNHANDLED;
    const axo_event_message *event = AXO_PAYLOAD(message, axo_event_message);
    if (event->kind == AXO_KIND_SUPERVISION_RESTART) {
        const axo_event_supervision *data = AXO_EVENT_DATA(event, axo_event_supervision);
        printf("observer: %s is restarted: %d, \"%s\"\n", data->path, (int)data->code, data->text);
    } else if (event->kind == AXO_KIND_DEAD_LETTER_ORDINARY) {
        const axo_dead_record *data = AXO_EVENT_DATA(event, axo_dead_record);
        printf("observer: dead letter, tag %d: %s\n", (int)data->tag,
               data->reason == AXO_DEAD_STOPPED ? "queued when the actor ended" : "sent to nobody");
    } else if (event->kind == AXO_KIND_DEAD_LETTER_SUPPRESSED) {
        printf("observer: a pill for one that is gone: no harm done\n");
    }
    return AXO_OK;
}

int main(void)
{
    static const axo_class worker_class = AXO_CLASS(.name = "worker", .receive = worker_receive);
    static const axo_class observer_class =
        AXO_CLASS(.name = "observer", .pre_start = observer_start, .receive = observer_receive);
    axo_dead_record last[2];
    axo_testkit *kit;
    axo_ref observer, worker;
    uint64_t total;
    must(axo_testkit_start(NULL, &kit));
    axo_system *system = axo_testkit_system(kit);
    must(axo_system_spawn(system, &(axo_props)AXO_PROPS(.cls = &observer_class), &observer));
    axo_testkit_run(kit); /* it has subscribed */
    must(axo_system_spawn(system, &(axo_props)AXO_PROPS(.cls = &worker_class, .name = "worker"),
                          &worker));
    must(axo_system_send(system, worker, BREAK, NULL, 0));
    must(axo_system_poison(system, worker));
    must(axo_system_send(system, worker, LATE, "too late", sizeof "too late"));
    axo_testkit_run(kit);
    /* Accepted, and dead-lettered at once; no error of the sender's. */
    printf("main: %s\n", axo_status_name(axo_system_send(system, worker, WORK, NULL, 0)));
    printf("main: %s\n", axo_status_name(axo_system_poison(system, worker)));
    axo_testkit_run(kit);

    must(axo_system_stop_actor(system, observer));
    axo_testkit_run(kit);
    uint32_t count = axo_system_dead_letters(system, last, 2, &total);
    printf("main: %d dead letters, the latest %d:\n", (int)total, (int)count);
    for (uint32_t i = 0; i < count; i++)
        printf("main:   %s\n", last[i].suppressed ? "a harmless one" : "one to worry about");
    must(axo_testkit_stop(kit));
    return 0;
}
