/* failure_report.c - an actor whose messages are kept: it fails because of what it was sent long
 * before, and its report is played again. failure_report.expected is what it prints.
 *
 *   failure_report               fails, and plays the report itself
 *   failure_report DIRECTORY     leaves the report there, for
 *   axo-replay report --gdb DIRECTORY/report-...axorep failure_report */
#define _GNU_SOURCE 1 /* mkdtemp */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <axo/axo.h>
#include <axo/report.h>

enum { PUT = 1, TAKE };

/* A store of goods. A message that says "take -3" puts something there that nobody has counted, and
 * it is found out when all is taken. */
typedef struct store {
    int64_t goods;
    int64_t counted;
} store;

static axo_status store_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    store *me = state;
    if (message->tag != PUT && message->tag != TAKE)
        return AXO_UNHANDLED;
    const int32_t many = *AXO_PAYLOAD(message, int32_t);
    me->goods += message->tag == PUT ? many : -many;
    if (message->tag == PUT)
        me->counted += many;
    if (me->goods > me->counted + 2)
        axo_throw(ctx, 7, "%" PRId64 " there and %" PRId64 " counted", me->goods, me->counted);
    return AXO_OK;
}

static const axo_class store_class = AXO_CLASS(.name = "store", .state_size = sizeof(store),
                                               .receive = store_receive);

static void must(axo_status status)
{
    if (status == AXO_OK)
        return;
    fprintf(stderr, "%s\n", axo_status_name(status));
    exit(1);
}

static void run(const axo_class *kept, const char *directory)
{
    static const struct {
        uint32_t tag;
        int32_t many;
    } orders[] = {{PUT, 10}, {TAKE, 4}, {TAKE, -3}, {PUT, 5}, {TAKE, 1}, {TAKE, -9}};
    axo_options options = AXO_OPTIONS(.workers = 2);
    axo_system *system;
    axo_reports *reports;
    axo_ref ref;
    int32_t error;
    const axo_props props = AXO_PROPS(.cls = kept, .name = "store");
    must(axo_report_begin(directory, 0, &options, &reports));
    must(axo_system_start(&options, &system));
    must(axo_system_spawn(system, &props, &ref));
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++)
        must(axo_system_send(system, ref, orders[i].tag, &orders[i].many, sizeof(int32_t)));
    must(axo_system_quiesce(system, -1));
    must(axo_system_stop(system, -1, NULL, 0, NULL));
    must(axo_system_destroy(system));
    printf("%" PRIu64 " report was written\n", axo_report_written(reports));
    if (axo_report_missed(reports, &error) > 0)
        fprintf(stderr, "a report was not written: error %" PRId32 "\n", error);
    axo_report_end(reports);
}

static void play(const char *directory)
{
    axo_report_outcome out = AXO_REPORT_OUTCOME();
    char path[256];
    (void)snprintf(path, sizeof path, "%s/report-%ld-1.axorep", directory, (long)getpid());
    must(axo_report_play(path, &out));
    printf("class %s, instance %" PRIu32 ", %" PRIu64 " messages: %s\n", out.name, out.instance,
           out.messages, out.same ? "it fails in the same way" : out.text);
    printf("%s %" PRId32 " under message %" PRIu64 ": %s\n", axo_failure_kind_name(out.kind),
           out.code, out.failed_at, out.failure);
    (void)unlink(path);
    (void)rmdir(directory);
}

int main(int argc, char **argv)
{
    char directory[] = "/tmp/failure-report-XXXXXX";
    const axo_class *kept;
    const axo_report_ring ring = AXO_REPORT_RING(.cls = &store_class, .record_bytes = 4096);
    must(axo_report_class(&ring, &kept));
    axo_report_main(); /* under axo-replay it ends here */
    if (argc > 1) {
        run(kept, argv[1]);
        return 0;
    }
    if (mkdtemp(directory) == NULL)
        return 1;
    run(kept, directory);
    play(directory);
    return 0;
}
