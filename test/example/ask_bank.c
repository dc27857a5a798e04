/* ask_bank.c - a clerk asks a bank for a balance, and a thread does too; one ask is never answered.
 * ask_bank.expected is what it prints. */
#include <stdio.h>

#include <axo/axo.h>

enum { BALANCE = 1, BALANCE_IS, AUDIT };
#define MS INT64_C(1000000)

static axo_status bank_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    static const int cents = 4250;
    (void)state;
    if (message->tag == BALANCE)
        axo_reply(ctx, message, BALANCE_IS, &cents, sizeof cents); /* as to any sender */
    return AXO_OK;                                                 /* an audit takes for ever */
}

static const char *bank_tag_name(uint32_t tag)
{
    return tag == BALANCE ? "BALANCE" : tag == AUDIT ? "AUDIT" : NULL;
}

static axo_status clerk_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)state;
    if (message->tag == AXO_ASK_ANSWER) {
        axo_message answer = axo_answer_of(message);
        printf("clerk: answer to question %d: %d cents\n",
               (int)AXO_PAYLOAD(message, axo_answer)->id, *AXO_PAYLOAD(&answer, int));
        return axo_ask(ctx, answer.sender, AUDIT, NULL, 0, 100 * MS, 8);
    }
    if (message->tag == AXO_ASK_FAILED) {
        const axo_verdict *why = AXO_PAYLOAD(message, axo_verdict);
        printf("clerk: no answer to question %d: %s, asked with %s: %s; it is %s\n", (int)why->id,
               why->path, why->tag_name, axo_status_text(why->status), axo_doing_name(why->doing));
        return axo_system_shutdown(axo_system_of(ctx));
    }
    return AXO_UNHANDLED;
}

static axo_status clerk_construct(axo_ctx *ctx, void *state, const void *args)
{
    const axo_ref *bank = args;
    (void)state;
    return axo_ask(ctx, *bank, BALANCE, NULL, 0, 1000 * MS, 7);
}

int main(void)
{
    static const axo_class bank_class =
        AXO_CLASS(.name = "bank", .receive = bank_receive, .tag_name = bank_tag_name);
    static const axo_class clerk_class =
        AXO_CLASS(.name = "clerk", .construct = clerk_construct, .receive = clerk_receive);
    axo_system *system;
    axo_ref bank;
    axo_ref clerk;
    axo_asked asked;
    if (axo_system_start(NULL, &system) != AXO_OK)
        return 1;
    if (axo_system_spawn(system, &(axo_props)AXO_PROPS(.cls = &bank_class, .name = "bank"),
                         &bank) != AXO_OK)
        return 1;
    if (axo_system_ask(system, bank, BALANCE, NULL, 0, 1000 * MS, &asked) != AXO_OK)
        return 1;
    printf("main: %d cents\n", *AXO_PAYLOAD(&asked.message, int));
    axo_asked_free(system, &asked);
    axo_props props = AXO_PROPS(.cls = &clerk_class, .args = &bank, .args_size = sizeof bank);
    if (axo_system_spawn(system, &props, &clerk) != AXO_OK)
        return 1;
    if (axo_system_wait(system, -1, NULL) != AXO_OK || axo_system_destroy(system) != AXO_OK)
        return 1;
    return 0;
}
