/* scene.c - a program to be looked at from outside: a tree whose state is known, or one under load.
 *
 *   scene still    the shop below; says "ready ADDRESS" and waits until its input ends
 *   scene crash    the shop, and traffic; then an actor's handler writes through NULL
 *   scene work     a bit of everything, then its end: spawns, stops, failures, restarts, steals
 *   scene manual   the shop without its hung handler, in a manual system
 *
 * A second argument is the path of a board (axo_options.board), a third one that of a log, in which
 * handlers are stuck after 0.2 s.
 *
 * The shop: till1 has been restarted twice; a handler of hung never comes back, and three messages
 * wait behind it; tight hangs too, with two in a bounded mailbox.
 */
#include <fcntl.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <axo/axo.h>

#define TILLS 3
#define PAIRS 8
#define BURST 2000
#define ROUNDS_MAX 2000

enum { TAG_FAIL = 7, TAG_PING = 21, TAG_SPAWN = 31, TAG_END = 32, TAG_HANG = 77, TAG_CRASH = 99 };

typedef struct scene {
    sem_t hung;    /* the handler is in */
    sem_t release; /* and may go */
    _Atomic uint32_t served;
} scene;

static scene the; /* of the program, not of the library */

#define MUST(call)                                                                                 \
    do {                                                                                           \
        if ((call) != AXO_OK) {                                                                    \
            fprintf(stderr, "scene.c:%d: %s\n", __LINE__, #call);                                  \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static void scene_wait(sem_t *sem)
{
    while (sem_wait(sem) != 0)
        continue;
}

/* ---- actors ---- */

static axo_status till_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)state;
    if (message->tag == TAG_FAIL)
        return axo_fail(ctx, 13, "out of paper");
    atomic_fetch_add(&the.served, 1);
    return AXO_OK;
}

static const axo_class till = AXO_CLASS(.name = "till", .receive = till_receive);

static axo_status shop_start(axo_ctx *ctx, void *state)
{
    (void)state;
    for (int i = 1; i <= TILLS; i++) {
        char name[16];
        axo_ref child;
        (void)snprintf(name, sizeof name, "till%d", i);
        axo_props props = AXO_PROPS(.cls = &till, .name = name);
        axo_status status = axo_spawn(ctx, &props, &child);
        if (status != AXO_OK)
            return status;
    }
    return AXO_OK;
}

static axo_status shop_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)ctx;
    (void)state;
    (void)message;
    return AXO_OK;
}

static const axo_class shop =
    AXO_CLASS(.name = "shop", .pre_start = shop_start, .receive = shop_receive);

__attribute__((noinline)) static axo_status hung_receive(axo_ctx *ctx, void *state,
                                                         const axo_message *message)
{
    (void)ctx;
    (void)state;
    if (message->tag == TAG_HANG) {
        (void)sem_post(&the.hung);
        scene_wait(&the.release);
    }
    return AXO_OK;
}

static const axo_class hung = AXO_CLASS(.name = "sleeper", .receive = hung_receive);

static axo_status pair_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)state;
    (void)axo_send(ctx, axo_sender(ctx), message->tag, NULL, 0);
    if (atomic_fetch_add(&the.served, 1) % 5000 == 4999)
        return axo_fail(ctx, 5, NULL);
    return AXO_OK;
}

static const axo_class pair = AXO_CLASS(.name = "pair", .receive = pair_receive);

static axo_status crash_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)ctx;
    volatile int *volatile nowhere = NULL;
    if (message->tag == TAG_CRASH)
        *nowhere = *(int *)state;
    return AXO_OK;
}

static const axo_class crasher =
    AXO_CLASS(.name = "crasher", .state_size = sizeof(int), .receive = crash_receive);

/* Spawns children that end at once, so that idle workers find something to steal. */
static axo_status leaf_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)state;
    (void)message;
    for (volatile int i = 0; i < 2000; i++)
        continue;
    return axo_stop(ctx, axo_self(ctx));
}

static const axo_class leaf = AXO_CLASS(.name = "leaf", .receive = leaf_receive);

static axo_status nest_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)state;
    if (message->tag != TAG_SPAWN)
        return AXO_OK;
    for (int i = 0; i < BURST; i++) {
        axo_ref child;
        axo_props props = AXO_PROPS(.cls = &leaf);
        if (axo_spawn(ctx, &props, &child) == AXO_OK)
            (void)axo_send(ctx, child, TAG_END, NULL, 0);
    }
    return AXO_OK;
}

static const axo_class nest = AXO_CLASS(.name = "nest", .receive = nest_receive);

/* ---- the scenes ---- */

static axo_ref scene_spawn(axo_system *system, const axo_class *cls, const char *name)
{
    axo_ref actor;
    axo_props props = AXO_PROPS(.cls = cls, .name = name);
    MUST(axo_system_spawn(system, &props, &actor));
    return actor;
}

static axo_ref scene_find(axo_system *system, const char *path)
{
    axo_ref found = axo_ref_none();
    for (int i = 0; i < 10000 && axo_ref_is_none(found); i++) {
        (void)axo_run_host(system, 0, NULL);
        if (axo_system_find(system, path, &found) != AXO_OK)
            (void)usleep(1000);
    }
    if (axo_ref_is_none(found)) {
        fprintf(stderr, "scene.c: nobody is at %s\n", path);
        exit(1);
    }
    return found;
}

/* Until so many restarts have been counted. */
static void scene_restarts(axo_system *system, uint64_t restarts)
{
    axo_stats stats = AXO_STATS();
    do {
        (void)axo_run_host(system, 0, NULL);
        (void)usleep(1000);
        MUST(axo_system_stats(system, &stats));
    } while (stats.restarts < restarts);
}

static axo_ref scene_shop(axo_system *system)
{
    (void)scene_spawn(system, &shop, "shop");
    axo_ref till1 = scene_find(system, "/user/shop/till1");
    for (uint64_t i = 1; i <= 2; i++) {
        MUST(axo_system_send(system, till1, TAG_FAIL, NULL, 0));
        scene_restarts(system, i);
    }
    return till1;
}

static void scene_hang(axo_system *system, axo_ref sender)
{
    const char payload[8] = "eight..";
    axo_ref actor = scene_spawn(system, &hung, "hung");
    MUST(axo_system_send_from(system, sender, actor, TAG_HANG, payload, 4));
    scene_wait(&the.hung);
    MUST(axo_system_send_from(system, sender, actor, 11, payload, 4));
    MUST(axo_system_send(system, actor, 12, payload, 8));
    MUST(axo_system_send(system, actor, 13, NULL, 0));
    axo_ref tight;
    const axo_mailbox bound = {.size = sizeof bound, .messages_max = 4};
    axo_props props = AXO_PROPS(.cls = &hung, .name = "tight", .mailbox = &bound);
    MUST(axo_system_spawn(system, &props, &tight));
    MUST(axo_system_send(system, tight, TAG_HANG, NULL, 0));
    scene_wait(&the.hung);
    MUST(axo_system_send(system, tight, 14, payload, 1));
    MUST(axo_system_send(system, tight, 15, payload, 2));
}

static void scene_end(axo_system *system)
{
    for (int i = 0; i < 16; i++)
        (void)sem_post(&the.release);
    MUST(axo_system_stop(system, -1, NULL, 0, NULL));
    MUST(axo_system_destroy(system));
}

static void scene_until_eof(axo_system *system)
{
    char byte;
    printf("ready %p\n", (void *)system);
    (void)fflush(stdout);
    while (read(0, &byte, 1) > 0)
        (void)axo_run_host(system, 0, NULL);
}

static void scene_crash(axo_system *system)
{
    axo_ref ones[PAIRS];
    axo_ref others[PAIRS];
    axo_ref bomb = scene_spawn(system, &crasher, "crasher");
    for (int i = 0; i < PAIRS; i++) {
        ones[i] = scene_spawn(system, &pair, NULL);
        others[i] = scene_spawn(system, &pair, NULL);
        for (int m = 0; m < 50; m++)
            MUST(axo_system_send_from(system, ones[i], others[i], TAG_PING, NULL, 0));
    }
    while (atomic_load(&the.served) < 200000)
        (void)usleep(1000);
    MUST(axo_system_send_from(system, ones[0], bomb, TAG_CRASH, NULL, 0));
    for (;;)
        (void)pause();
}

static void scene_work(axo_system *system)
{
    const axo_trace_context trace = {.trace_id = {9}, .span_id = {8}};
    axo_stats stats = AXO_STATS();
    axo_ref parent = scene_spawn(system, &nest, "nest");
    (void)scene_shop(system);
    for (int i = 0; i < ROUNDS_MAX && (stats.steals == 0 || stats.parks == 0); i++) {
        MUST(axo_system_send_traced(system, parent, TAG_SPAWN, NULL, 0, &trace));
        do {
            (void)usleep(1000);
            MUST(axo_system_stats(system, &stats));
        } while (stats.terminated < stats.spawned - 16);
    }
    printf("steals %d\n", stats.steals > 0);
}

static void scene_log(const char *path, axo_options *options)
{
    static axo_log_sink sink;
    sink = (axo_log_sink)AXO_LOG_SINK(.fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600));
    MUST(axo_log_open(&sink));
    options->log_record = axo_log_write;
    options->log_record_user = &sink;
    options->stuck_ns = 200000000;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    axo_system *system;
    axo_options options =
        AXO_OPTIONS(.workers = 2, .name = "seen", .stuck_ns = -1,
                    .manual = strcmp(what, "manual") == 0, .board = argc > 2 ? argv[2] : NULL);
    if (argc > 3)
        scene_log(argv[3], &options);
    (void)sem_init(&the.hung, 0, 0);
    (void)sem_init(&the.release, 0, 0);
    MUST(axo_system_start(&options, &system));
    if (strcmp(what, "still") == 0) {
        scene_hang(system, scene_shop(system));
        scene_until_eof(system);
    } else if (strcmp(what, "manual") == 0) {
        (void)scene_shop(system);
        scene_until_eof(system);
    } else if (strcmp(what, "crash") == 0) {
        (void)scene_shop(system);
        scene_crash(system);
    } else if (strcmp(what, "work") == 0) {
        scene_work(system);
    } else {
        fprintf(stderr, "usage: scene still|crash|work|manual\n");
        return 2;
    }
    scene_end(system);
    return 0;
}
