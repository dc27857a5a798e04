/* mailboxes.c - what a full mailbox does with a fourth message, policy by policy; and a mailbox
 * with an order of its own. mailboxes.expected is what it prints. */
#include <stdio.h>
#include <stdlib.h>

#include <axo/axo.h>

enum { GO = 1, GO_ON, ITEM };

static void must(axo_status status)
{
    if (status == AXO_OK)
        return;
    fprintf(stderr, "%s\n", axo_status_text(status));
    exit(1);
}

static axo_status sink_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)ctx, (void)state;
    printf("  sink gets item %d\n", *AXO_PAYLOAD(message, int));
    return AXO_OK;
}

/* Sends four items at once; GO_ON comes behind, and waits if the source is parked. */
static axo_status source_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    const axo_ref *sink = state;
    if (message->tag == GO_ON) {
        printf("  source goes on\n");
        return AXO_OK;
    }
    for (int item = 1; item <= 4; item++) {
        axo_status status = axo_send(ctx, *sink, ITEM, &item, sizeof item);
        if (status != AXO_OK)
            printf("  item %d: %s\n", item, axo_status_name(status));
    }
    return AXO_OK;
}

static axo_status source_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    *(axo_ref *)state = *(const axo_ref *)args;
    return AXO_OK;
}

static const axo_class sink_class = AXO_CLASS(.name = "sink", .receive = sink_receive);
static const axo_class source_class =
    AXO_CLASS(.name = "source", .state_size = sizeof(axo_ref), .construct = source_construct,
              .receive = source_receive);

static void on_dead_letter(void *user, const axo_dead_letter *letter)
{
    (void)user;
    if (letter->reason == AXO_DEAD_OVERFLOW)
        printf("  item %d is a dead letter\n", *AXO_PAYLOAD(letter->message, int));
}

static void try_mailbox(const char *title, const axo_mailbox *mailbox)
{
    axo_options options = AXO_OPTIONS(.on_dead_letter = on_dead_letter, .quantum = 8);
    axo_testkit *kit;
    axo_ref sink, source;
    printf("%s:\n", title);
    must(axo_testkit_start(&options, &kit)); /* one thread: the order is always the same */
    axo_system *system = axo_testkit_system(kit);
    must(axo_system_spawn(system, &(axo_props)AXO_PROPS(.cls = &sink_class, .mailbox = mailbox),
                          &sink));
    must(axo_system_spawn(system, &(axo_props)AXO_PROPS(.cls = &source_class, .args = &sink,
                                                        .args_size = sizeof sink), &source));
    must(axo_system_send(system, source, GO, NULL, 0));
    must(axo_system_send(system, source, GO_ON, NULL, 0));
    axo_testkit_run(kit);
    must(axo_testkit_stop(kit));
}

/* Smaller is sooner: even items before odd ones. On the sending thread; looks at nothing else. */
static uint32_t even_first(const axo_message *message, void *user)
{
    (void)user;
    return message->tag == ITEM ? (uint32_t)(*AXO_PAYLOAD(message, int) % 2) : 0;
}

int main(void)
{
    axo_mailbox refuse = AXO_MAILBOX(.messages_max = 3);
    axo_mailbox drop_new = AXO_MAILBOX(.messages_max = 3, .overflow = AXO_OVERFLOW_DROP_NEW);
    axo_mailbox drop_old = AXO_MAILBOX(.messages_max = 3, .overflow = AXO_OVERFLOW_DROP_OLD);
    axo_mailbox park = AXO_MAILBOX(.messages_max = 3, .overflow = AXO_OVERFLOW_PARK);
    axo_mailbox priority = AXO_MAILBOX(.kind = AXO_MAILBOX_PRIORITY, .priority = even_first);
    try_mailbox("REFUSE: the sender is told", &refuse);
    try_mailbox("DROP_NEW: the newest is dropped", &drop_new);
    try_mailbox("DROP_OLD: the oldest is dropped", &drop_old);
    try_mailbox("PARK: the sender waits, and no thread does", &park);
    try_mailbox("PRIORITY, no bound: even items first", &priority);
    return 0;
}
