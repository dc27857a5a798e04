/* names.c - finding actors: by path, by a pattern, by a key from a thread of the program's own, and
 * spawn_or_get. names.expected is what it prints. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <axo/axo.h>

enum { ENTER = 1, LIGHT, IS_ON };
#define S INT64_C(1000000000)

static void must(axo_status status)
{
    if (status == AXO_OK)
        return;
    fprintf(stderr, "%s\n", axo_status_text(status));
    exit(1);
}

static axo_status room_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    int *lit = state;
    *lit |= message->tag == LIGHT;
    return message->tag == IS_ON ? axo_reply(ctx, message, IS_ON, lit, sizeof *lit) : AXO_OK;
}

static const axo_class room_class =
    AXO_CLASS(.name = "room", .state_size = sizeof(int), .receive = room_receive);

/* ENTER: there is a room of this name from now on, whoever comes first. */
static axo_status house_enter(axo_ctx *ctx, const axo_message *message)
{
    axo_props props = AXO_PROPS(.cls = &room_class, .name = message->payload);
    axo_ref room;
    bool created;
    axo_status status = axo_spawn_or_get(ctx, &props, &room, &created);
    if (status != AXO_OK)
        return status;
    printf("house: %s %s\n", created ? "builds" : "has", props.name);
    return axo_reply(ctx, message, ENTER, &room, sizeof room);
}

static axo_status house_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    uint32_t count;
    (void)state;
    if (message->tag == ENTER)
        return house_enter(ctx, message);
    axo_status status = axo_select(ctx, "bed*", LIGHT, NULL, 0, &count); /* relative: children */
    if (status != AXO_OK)
        return status;
    printf("house: light in %d rooms\n", (int)count);
    return axo_reply(ctx, message, LIGHT, NULL, 0);
}

/* No part of the system, not registered with it, and no lock is taken to look up a key. */
static void *burglar(void *user)
{
    axo_system *system = user;
    axo_ref room;
    axo_asked asked;
    must(axo_system_lookup(system, "where the money is", &room));
    must(axo_system_ask(system, room, IS_ON, NULL, 0, 10 * S, &asked));
    printf("burglar: light is %s\n", *AXO_PAYLOAD(&asked.message, int) ? "on" : "off");
    axo_asked_free(system, &asked);
    return NULL;
}

static axo_ref enter(axo_system *system, axo_ref house, const char *name, size_t size)
{
    axo_asked asked;
    must(axo_system_ask(system, house, ENTER, name, size, 10 * S, &asked));
    axo_ref room = *AXO_PAYLOAD(&asked.message, axo_ref);
    axo_asked_free(system, &asked);
    return room;
}

int main(void)
{
    static const axo_class house_class = AXO_CLASS(.name = "house", .receive = house_receive);
    axo_props props = AXO_PROPS(.cls = &house_class, .name = "house");
    axo_system *system;
    axo_ref house, room, same, found;
    axo_asked asked;
    pthread_t thread;
    char path[64];
    uint32_t count;
    must(axo_system_start(NULL, &system));
    must(axo_system_spawn(system, &props, &house));
    room = enter(system, house, "bedroom", sizeof "bedroom");
    same = enter(system, house, "bedroom", sizeof "bedroom");
    (void)enter(system, house, "bed-closet", sizeof "bed-closet");
    (void)enter(system, house, "kitchen", sizeof "kitchen");

    must(axo_system_find(system, "/user/house/bedroom", &found));
    must(axo_system_path(system, found, path, sizeof path));
    printf("main: %s is %s\n", path,
           axo_ref_equal(room, found) && axo_ref_equal(room, same) ? "one actor" : "several");
    must(axo_system_find_all(system, "/user/*/*", NULL, 0, &count));
    printf("main: %d rooms; in the cellar: %s\n", (int)count,
           axo_status_name(axo_system_find(system, "/user/house/cellar", &found)));

    must(axo_system_ask(system, house, LIGHT, NULL, 0, 10 * S, &asked));
    axo_asked_free(system, &asked);
    must(axo_system_register(system, "where the money is", room));
    if (pthread_create(&thread, NULL, burglar, system) != 0 || pthread_join(thread, NULL) != 0)
        return 1;
    must(axo_system_stop(system, 10 * S, NULL, 0, NULL));
    must(axo_system_destroy(system));
    return 0;
}
