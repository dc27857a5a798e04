/* look_inside.c - what a system shows of itself: what one actor is doing, the life of a failure as
 * the trace tells it, and the counters. look_inside.expected is what it prints. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <axo/axo.h>

enum { PRINT = 1, JAM };

static void must(axo_status status)
{
    if (status == AXO_OK)
        return;
    fprintf(stderr, "%s\n", axo_status_text(status));
    exit(1);
}

static axo_status printer_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)state;
    return message->tag == JAM ? axo_fail(ctx, 3, "paper jam") : AXO_OK;
}

static const char *printer_tag_name(uint32_t tag)
{
    return tag == PRINT ? "PRINT" : tag == JAM ? "JAM" : NULL;
}

/* Called for each event where it happens: a recorder would only copy it. */
static void on_event(void *user, const axo_event *event)
{
    const bool *tracing = user;
    if (!*tracing)
        return;
    switch (event->kind) {
    case AXO_EV_FAIL:
    case AXO_EV_SUSPEND:
    case AXO_EV_REPORT:
    case AXO_EV_DECIDE:
    case AXO_EV_PRE_RESTART:
    case AXO_EV_RESUME:
    case AXO_EV_DESTROY:
    case AXO_EV_STARTED:
        printf("trace: %s, instance %" PRIu32 "\n", axo_event_name(event->kind), event->instance);
        return;
    default:
        return;
    }
}

static void look(axo_system *system, axo_ref printer)
{
    axo_actor_info info = AXO_ACTOR_INFO();
    must(axo_system_inspect(system, printer, axo_ref_none(), &info));
    printf("main: %s, a %s, is %s with %" PRIu32 " messages\n", info.path, info.class_name,
           axo_doing_name(info.doing), info.queued);
}

int main(void)
{
    static const axo_class printer_class =
        AXO_CLASS(.name = "printer", .receive = printer_receive, .tag_name = printer_tag_name);
    bool tracing = false;
    axo_options options = AXO_OPTIONS(.trace = on_event, .trace_user = &tracing);
    axo_props props = AXO_PROPS(.cls = &printer_class, .name = "printer");
    axo_stats stats = AXO_STATS();
    char name[32];
    axo_testkit *kit;
    axo_ref printer;
    must(axo_testkit_start(&options, &kit));
    axo_system *system = axo_testkit_system(kit);
    must(axo_system_spawn(system, &props, &printer));
    axo_testkit_run(kit);
    must(axo_system_send(system, printer, PRINT, NULL, 0));
    must(axo_system_send(system, printer, JAM, NULL, 0));
    must(axo_system_send(system, printer, PRINT, NULL, 0));
    look(system, printer);
    must(axo_system_tag_name(system, printer, JAM, name, sizeof name));
    printf("main: it calls message %d %s\n", JAM, name);
    tracing = true;
    axo_testkit_run(kit);
    tracing = false;
    look(system, printer);
    must(axo_system_stats(system, &stats));
    printf("main: sent %" PRIu64 ", handled %" PRIu64 ", dead %" PRIu64 ", failures %" PRIu64
           ", restarts %" PRIu64 "\n",
           stats.sent, stats.handled, stats.dead, stats.failures, stats.restarts);
    must(axo_system_stop_actor(system, printer));
    axo_testkit_run(kit);
    axo_actor_info gone = AXO_ACTOR_INFO();
    axo_status status = axo_system_inspect(system, printer, axo_ref_none(), &gone);
    printf("main: %s, %s\n", axo_status_name(status), axo_doing_name(gone.doing));
    must(axo_testkit_stop(kit));
    return 0;
}
