/* heap_world.c - a world whose memory is all from its own arena: what else is taken from the C
 * library's heap heap.c tells, and heap_test.sh judges. MODE is own, manual or lent.
 *
 *   LD_PRELOAD=heap.so heap_world MODE
 *
 * Its life is told whole: start, actors of three dispatchers, names, failures and restarts, timers,
 * messages of all sizes, births and ends, stop and destroy. Then, of one more system, so many
 * frames; the line that it prints says how often a frame has asked the arena, or the heap. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <axo/axo.h>

enum { ACTORS = 300, WARM = 3000, FRAMES = 1000, TICK = 1, CHILD, LATER };
#define ARENA ((size_t)1 << 32)
#define MS    INT64_C(1000000)

typedef struct arena {
    char *memory;
    atomic_size_t used;
    atomic_ulong calls;
} arena;

static arena all;
static axo_system *world;
static atomic_llong now; /* the world's clock: a frame is a sixtieth of a second */
static atomic_bool over; /* the lent thread */

static void must(axo_status status)
{
    if (status == AXO_OK)
        return;
    fprintf(stderr, "%s\n", axo_status_text(status));
    exit(1);
}

static void *arena_alloc(void *user, size_t size, size_t align)
{
    arena *it = user;
    atomic_fetch_add(&it->calls, 1);
    size_t at = atomic_fetch_add(&it->used, size + align);
    at = (at + align - 1) & ~(align - 1);
    return at + size <= ARENA ? it->memory + at : NULL;
}

static void arena_free(void *user, void *block, size_t size, size_t align)
{
    (void)user;
    (void)block;
    (void)size;
    (void)align;
}

static int64_t world_now(void *user)
{
    (void)user;
    return atomic_load(&now);
}

/* ---- the actors ---- */

static axo_status child_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)state;
    (void)message;
    return axo_stop_self(ctx);
}

static const axo_class child_class = AXO_CLASS(.name = "child", .receive = child_receive);

/* Of those that get the message, each does one thing of what actors do; one in a hundred fails. */
static axo_status entity_tick(axo_ctx *ctx, uint64_t turn)
{
    static const axo_props props = AXO_PROPS(.cls = &child_class);
    char text[64] = "entity";
    axo_ref child;
    switch (turn % 10) {
    case 0:
        must(axo_spawn(ctx, &props, &child));
        must(axo_watch(ctx, child));
        return axo_send(ctx, child, CHILD, text, sizeof text);
    case 1:
        return axo_timer_start(ctx, 1, AXO_TIMER_ONCE, MS, 0, LATER, text, 20);
    case 2:
        return axo_alloc(ctx, 300) != NULL ? AXO_OK : AXO_ENOMEM;
    case 3:
        return axo_send(ctx, axo_self(ctx), LATER, text, sizeof text);
    case 4:
        return turn % 100 == 4 ? axo_fail(ctx, 1, "%s fails", text) : AXO_OK;
    default:
        return AXO_OK;
    }
}

static axo_status entity_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    uint64_t seed;
    (void)state;
    if (message->tag != TICK)
        return AXO_OK;
    memcpy(&seed, message->payload, sizeof seed);
    return entity_tick(ctx, seed);
}

static const axo_class entity_class = AXO_CLASS(.name = "entity", .state_size = sizeof(uint64_t),
                                                .receive = entity_receive);

/* ---- frames ---- */

static void *world_lend(void *arg)
{
    (void)arg;
    while (!atomic_load(&over))
        (void)axo_worker_run(world, 1, MS, NULL);
    return NULL;
}

static void frame_play(axo_group *frame, const axo_ref *refs, uint64_t turn)
{
    char payload[600] = {0};
    atomic_fetch_add(&now, 1000 * MS / 60);
    must(axo_clock_changed(world));
    for (uint64_t i = 0; i < ACTORS; i++) {
        uint64_t seed = turn + i;
        memcpy(payload, &seed, sizeof seed);
        must(axo_group_send(frame, refs[i], TICK, payload, 8 + i * 7 % 590));
    }
    must(axo_group_wait(frame, AXO_GROUP_FOREVER, AXO_GROUP_HELP));
}

static axo_ref world_spawn(const axo_class *cls, axo_dispatcher dispatcher, const char *name)
{
    axo_props props = AXO_PROPS(.cls = cls, .dispatcher = dispatcher, .name = name);
    axo_ref ref;
    must(axo_system_spawn(world, &props, &ref));
    return ref;
}

static void world_start(const char *mode)
{
    axo_options options = AXO_OPTIONS(.workers = 2, .seed = 1, .contain = 1, .clock = world_now,
                                      .allocator = {arena_alloc, arena_free, &all});
    options.manual = strcmp(mode, "manual") == 0 ? AXO_MANUAL_ALL : AXO_MANUAL_NONE;
    options.threads = strcmp(mode, "lent") == 0 ? AXO_THREADS_LENT : AXO_THREADS_OWN;
    must(axo_system_start(&options, &world));
}

static void world_end(void)
{
    must(axo_system_stop(world, -1, NULL, 0, NULL));
    must(axo_system_destroy(world));
}

/* ---- a life, whole ---- */

static void life(const char *mode)
{
    static char large[6000];
    world_start(mode);
    axo_group *group;
    axo_ref refs[ACTORS];
    must(axo_group_make(world, &group));
    for (uint64_t i = 0; i < ACTORS; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "entity-%llu", (unsigned long long)i);
        refs[i] = world_spawn(&entity_class, AXO_DISPATCH_DEFAULT, i % 2 == 0 ? name : NULL);
    }
    refs[1] = world_spawn(&entity_class, AXO_DISPATCH_BLOCKING, NULL);
    refs[2] = world_spawn(&entity_class, AXO_DISPATCH_PINNED, NULL);
    for (uint64_t turn = 0; turn < 50; turn++)
        frame_play(group, refs, turn);
    must(axo_group_send(group, refs[3], LATER, large, sizeof large));
    must(axo_group_wait(group, AXO_GROUP_FOREVER, AXO_GROUP_HELP));
    must(axo_group_free(group));
    must(axo_system_trim(world, 1000 * MS, NULL));
    world_end();
}

/* ---- frames of a world that has warmed up ---- */

static void frames(const char *mode, unsigned long (*watch)(int))
{
    axo_group *group;
    axo_ref refs[ACTORS];
    pthread_t lent;
    const bool lends = strcmp(mode, "lent") == 0;
    unsigned long calls = 0;
    unsigned long blocks = 0;
    world_start(mode);
    if (lends && pthread_create(&lent, NULL, world_lend, NULL) != 0)
        exit(1);
    must(axo_group_make(world, &group));
    for (uint64_t i = 0; i < ACTORS; i++)
        refs[i] = world_spawn(&entity_class, AXO_DISPATCH_DEFAULT, NULL);
    for (uint64_t turn = 0; turn < WARM + FRAMES; turn++) {
        if (turn == WARM) {
            calls = atomic_load(&all.calls);
            blocks = watch(1);
        }
        frame_play(group, refs, turn);
    }
    calls = atomic_load(&all.calls) - calls;
    blocks = watch(0) - blocks;
    printf("%d frames: %lu blocks of the arena, %lu of the heap\n", FRAMES, calls, blocks);
    atomic_store(&over, true);
    if (lends)
        (void)pthread_join(lent, NULL);
    must(axo_group_free(group));
    world_end();
}

int main(int argc, char **argv)
{
    unsigned long (*watch)(int);
    void *found = dlsym(RTLD_DEFAULT, "heap_watch");
    if (argc != 2 || found == NULL) {
        fprintf(stderr, "heap_world MODE, with heap.so before it\n");
        return 2;
    }
    memcpy(&watch, &found, sizeof watch);
    all.memory = mmap(NULL, ARENA, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all.memory == MAP_FAILED)
        return 1;
    setvbuf(stdout, NULL, _IONBF, 0);
    (void)watch(1);
    life(argv[1]);
    printf("life: %lu blocks of the arena, %lu of the heap\n", atomic_load(&all.calls), watch(0));
    frames(argv[1], watch);
    return 0;
}
