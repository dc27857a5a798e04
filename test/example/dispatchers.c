/* dispatchers.c - which threads run an actor: three that block beside one worker that must not, and
 * one with a thread of its own. dispatchers.expected is what it prints. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <axo/axo.h>

enum { READ = 1, HELLO };
#define S INT64_C(1000000000)

static void must(axo_status status)
{
    if (status == AXO_OK)
        return;
    fprintf(stderr, "%s\n", axo_status_text(status));
    exit(1);
}

/* On AXO_DISPATCH_BLOCKING: a read that blocks keeps a thread of that pool, and no worker. */
static axo_status reader_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    int *got = state;
    char byte;
    if (message->tag == HELLO)
        return axo_reply(ctx, message, HELLO, got, sizeof *got);
    if (read(*AXO_PAYLOAD(message, int), &byte, 1) != 1)
        return axo_fail(ctx, 1, "read");
    ++*got;
    return AXO_OK;
}

/* On AXO_DISPATCH_PINNED: always the same thread, for a library that asks for that. */
typedef struct pinned {
    pthread_t thread;
    int messages;
    int elsewhere;
} pinned;

static axo_status pinned_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    pinned *me = state;
    if (me->messages++ == 0)
        me->thread = pthread_self();
    me->elsewhere += !pthread_equal(me->thread, pthread_self());
    return axo_reply(ctx, message, HELLO, &me->elsewhere, sizeof me->elsewhere);
}

static axo_status clerk_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    static const int rooms = 12;
    (void)state;
    return axo_reply(ctx, message, HELLO, &rooms, sizeof rooms);
}

static const axo_class reader_class =
    AXO_CLASS(.name = "reader", .state_size = sizeof(int), .receive = reader_receive);
static const axo_class pinned_class =
    AXO_CLASS(.name = "pinned", .state_size = sizeof(pinned), .receive = pinned_receive);
static const axo_class clerk_class = AXO_CLASS(.name = "clerk", .receive = clerk_receive);

static axo_ref spawn(axo_system *system, const axo_class *cls, axo_dispatcher dispatcher)
{
    axo_props props = AXO_PROPS(.cls = cls, .dispatcher = (uint32_t)dispatcher);
    axo_ref ref;
    must(axo_system_spawn(system, &props, &ref));
    return ref;
}

static int hello(axo_system *system, axo_ref ref)
{
    axo_asked asked;
    must(axo_system_ask(system, ref, HELLO, NULL, 0, 20 * S, &asked));
    int answer = *AXO_PAYLOAD(&asked.message, int);
    axo_asked_free(system, &asked);
    return answer;
}

int main(void)
{
    axo_options options = AXO_OPTIONS(.workers = 1); /* one that blocked would stop everybody */
    axo_system *system;
    axo_ref readers[3];
    int ends[2], got = 0;
    if (pipe(ends) != 0)
        return 1;
    must(axo_system_start(&options, &system));
    for (int i = 0; i < 3; i++) {
        readers[i] = spawn(system, &reader_class, AXO_DISPATCH_BLOCKING);
        must(axo_system_send(system, readers[i], READ, &ends[0], sizeof ends[0]));
    }
    axo_ref clerk = spawn(system, &clerk_class, AXO_DISPATCH_DEFAULT);
    printf("main: three read an empty pipe; the clerk says: %d rooms\n", hello(system, clerk));
    if (write(ends[1], "abc", 3) != 3)
        return 1;
    for (int i = 0; i < 3; i++)
        got += hello(system, readers[i]);
    printf("main: the three have read %d bytes\n", got);
    axo_ref alone = spawn(system, &pinned_class, AXO_DISPATCH_PINNED);
    for (int i = 0; i < 9; i++)
        (void)hello(system, alone);
    printf("main: messages on another thread: %d\n", hello(system, alone));
    must(axo_system_stop(system, 20 * S, NULL, 0, NULL));
    must(axo_system_destroy(system));
    return close(ends[0]) == 0 && close(ends[1]) == 0 ? 0 : 1;
}
