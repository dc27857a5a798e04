/* seams.c - two actors of a manual system answer each other; what is recorded meanwhile is a word.
 *
 *   seams none|life|all ANSWERS */
#include <axo/axo.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BALL = 1 };

static uint64_t answers_left;
static uint64_t recorded;

static axo_status player_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    if (answers_left == 0)
        return AXO_OK;
    answers_left--;
    return axo_reply(ctx, message, BALL, NULL, 0);
}

static const axo_class player_class = AXO_CLASS(.name = "player", .receive = player_receive);

static void record(void *user, const axo_event *event)
{
    recorded++;
}

static void check(axo_status status, const char *what)
{
    if (status == AXO_OK)
        return;
    fprintf(stderr, "%s: %s\n", what, axo_status_name(status));
    exit(1);
}

int main(int count, char **words)
{
    axo_options options = AXO_OPTIONS(.manual = 1);
    axo_props props = AXO_PROPS(.cls = &player_class);
    axo_system *system = NULL;
    axo_ref one;
    axo_ref two;
    uint64_t all = AXO_EVENT_BIT(AXO_EVENT_KINDS) - 1;
    uint64_t messages = AXO_EVENT_BIT(AXO_EV_RECEIVE) | AXO_EVENT_BIT(AXO_EV_RECEIVED);
    if (count != 3) {
        fprintf(stderr, "usage: seams none|life|all ANSWERS\n");
        return 2;
    }
    if (strcmp(words[1], "none") != 0) {
        options.trace = record;
        options.trace_kinds = strcmp(words[1], "all") == 0 ? all : all & ~messages;
    }
    answers_left = strtoull(words[2], NULL, 0);
    check(axo_system_start(&options, &system), "start");
    check(axo_system_spawn(system, &props, &one), "spawn");
    check(axo_system_spawn(system, &props, &two), "spawn");
    check(axo_system_send_from(system, one, two, BALL, NULL, 0), "send");
    while (answers_left > 0)
        check(axo_run_host(system, INT64_MAX, NULL), "run");
    check(axo_system_stop(system, -1, NULL, 0, NULL), "stop");
    check(axo_system_destroy(system), "destroy");
    return (recorded > 0) == (options.trace != NULL) ? 0 : 1;
}
