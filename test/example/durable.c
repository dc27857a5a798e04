/* durable.c - an account that outlives its process. Orders are sent to its durable mailbox while
 * nobody is there to handle them; the system of the next day does, fails under one of them and
 * handles it again; the third day's knows the sum from the journal. */
#define _GNU_SOURCE 1 /* mkdtemp */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <axo/axo.h>
#include <axo/durable.h>

enum { DEPOSIT = 1, SHOW, DEPOSITED };

typedef struct account {
    int64_t sum;
} account;

/* The state changes only by events, in apply. */
static axo_status account_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    const account *me = state;
    axo_durable_given given;
    if (message->tag == SHOW) {
        printf("  the account has %lld\n", (long long)me->sum);
        return axo_system_shutdown(axo_system_of(ctx));
    }
    if (message->tag != DEPOSIT)
        return AXO_UNHANDLED;
    axo_status status = axo_durable_now(ctx, &given);
    if (status != AXO_OK)
        return status;
    printf("  order %llu%s\n", (unsigned long long)given.number,
           given.fails > 0 ? ", which has failed before" : "");
    if (given.number == 2 && given.fails == 0)
        return axo_fail(ctx, 1, "a bug");
    return axo_journal_persist(ctx, DEPOSITED, message->payload, message->size);
}

static axo_status account_apply(axo_ctx *ctx, void *state, const axo_journal_event *event)
{
    account *me = state;
    int64_t deposit;
    (void)ctx;
    memcpy(&deposit, event->payload, sizeof deposit);
    me->sum += deposit;
    printf("  event %llu: %lld%s\n", (unsigned long long)event->number, (long long)deposit,
           event->recovering ? ", from the journal" : "");
    return AXO_OK;
}

static const axo_class account_class =
    AXO_CLASS(.name = "account", .state_size = sizeof(account), .receive = account_receive);
static const axo_journal account_journal = AXO_JOURNAL(.apply = account_apply);

/* A life of the process: the store is closed with the system. */
static axo_status day(const char *path, int number)
{
    axo_system *system;
    axo_store *store;
    axo_store_problem problem;
    axo_ref ref;
    printf("day %d\n", number);
    axo_options options = AXO_OPTIONS(.workers = 2);
    if (axo_system_start(&options, &system) != AXO_OK)
        return AXO_EFAILED;
    axo_store_settings settings = AXO_STORE_SETTINGS(.path = path);
    axo_status status = axo_store_open(system, &settings, &problem, &store);
    if (status != AXO_OK)
        printf("%s\n", problem.text);
    for (int64_t i = 1; number == 1 && i <= 3 && status == AXO_OK; i++) {
        int64_t deposit = 100 * i;
        status = axo_system_durable_send(store, "account", DEPOSIT, &deposit, sizeof deposit, -1,
                                         NULL); /* back when it is on disk */
    }
    if (number > 1 && status == AXO_OK) {
        axo_durable recipe =
            AXO_DURABLE(.store = store, .name = "account", .journal = &account_journal);
        axo_props props = AXO_PROPS(.cls = &account_class, .name = "account");
        status = axo_system_durable_spawn(system, &recipe, &props, &ref);
        if (status == AXO_OK) /* behind the orders */
            status = axo_system_durable_send(store, "account", SHOW, NULL, 0, -1, NULL);
    }
    if (number == 1 || status != AXO_OK)
        (void)axo_system_shutdown(system);
    (void)axo_system_wait(system, -1, NULL);
    axo_status end = axo_system_destroy(system);
    return status != AXO_OK ? status : end;
}

int main(void)
{
    char path[] = "/tmp/axo-durable.XXXXXX";
    char command[64];
    axo_status status = mkdtemp(path) != NULL ? AXO_OK : AXO_EFAILED;
    for (int i = 1; i <= 3 && status == AXO_OK; i++)
        status = day(path, i);
    (void)snprintf(command, sizeof command, "rm -r %s", path);
    return system(command) == 0 && status == AXO_OK ? 0 : 1;
}
