/* who_failed.c - a log that says who failed, in what and why, as text and as JSON.
 * who_failed.expected is what it prints. */
#include <stdio.h>

#include <axo/axo.h>

enum { GET = 1, PUT = 2, FORGET = 3 };

static const char *store_tag(uint32_t tag)
{
    static const char *const names[] = {"?", "GET", "PUT", "FORGET"};
    return tag <= FORGET ? names[tag] : NULL;
}

static axo_status store_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)state;
    switch (message->tag) {
    case GET:
        return AXO_OK;
    case PUT:
        return axo_fail(ctx, 13, "no room for \"%s\"", (const char *)message->payload);
    default:
        return AXO_EINVAL;
    }
}

static const axo_class store =
    AXO_CLASS(.name = "store", .receive = store_receive, .tag_name = store_tag);

/* A sink of one's own. A program has axo_log_write here, and an axo_log_sink as `user`. */
static void say(void *user, const axo_log_record *record)
{
    char json[AXO_LOG_LINE_MAX];
    axo_log_record same = *record; /* but for what another run has otherwise */
    (void)user;
    printf("%s\n", record->line);
    same.time_ns = same.unix_ns = 0;
    same.actor = same.sender = axo_ref_none();
    if (record->code == 13 && axo_log_json(&same, json, sizeof json) == AXO_OK)
        printf("%s\n", json);
}

int main(void)
{
    const axo_options options =
        AXO_OPTIONS(.manual = 1, .log_record = say, .failure_log = 3);
    const axo_props props = AXO_PROPS(.cls = &store, .name = "shard2");
    axo_system *system;
    axo_ref shard;
    if (axo_system_start(&options, &system) != AXO_OK ||
        axo_system_spawn(system, &props, &shard) != AXO_OK)
        return 1;
    axo_system_send(system, shard, PUT, "a", sizeof "a");
    for (int i = 0; i < 1000; i++) /* a storm is three lines, and the end's count */
        axo_system_send(system, shard, FORGET, NULL, 0);
    axo_system_kill(system, shard);
    if (axo_run_host(system, -1, NULL) != AXO_OK ||
        axo_system_stop(system, -1, NULL, 0, NULL) != AXO_OK)
        return 1;
    return axo_system_destroy(system) == AXO_OK ? 0 : 1;
}
