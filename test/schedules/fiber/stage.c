/* stage.c - what a scene is played on. */
#include "stage.h"

#include <stdarg.h>
#include <stdlib.h>

#include "base/assert.h"
#include "sched/pool.h"

#define STAGE_POINTS_MAX 200000
#define STAGE_TICK_NS 20
#define STAGE_FILL 0xdb
#define STAGE_FREED_MAX 4096

stage at;

void (*stage_told)(const char *why);

void stage_fail(const char *format, ...)
{
    char why[256];
    va_list list;
    va_start(list, format);
    (void)vsnprintf(why, sizeof why, format, list);
    va_end(list);
    fflush(stdout);
    fprintf(stderr, "%s: %s\n", at.scene->name, why);
    if (stage_told != NULL)
        stage_told(why);
    abort();
}

/* ---- memory: what is freed is filled, and nobody may write to it before the run is over ---- */

typedef struct stage_block {
    unsigned char *memory;
    size_t size;
} stage_block;

static stage_block stage_freed[STAGE_FREED_MAX];
static uint32_t stage_freed_count;

static void *stage_alloc(void *user, size_t size, size_t align)
{
    void *block = axo__os_alloc(NULL, size, align);
    if (block != NULL) {
        at.blocks++;
        at.bytes += size;
    }
    return block;
}

static void stage_free(void *user, void *block, size_t size, size_t align)
{
    at.blocks--;
    at.bytes -= size;
#ifdef __SANITIZE_ADDRESS__
    free(block);
#else
    memset(block, STAGE_FILL, size);
    if (stage_freed_count == STAGE_FREED_MAX)
        free(block);
    else
        stage_freed[stage_freed_count++] = (stage_block){.memory = block, .size = size};
#endif
}

static void stage_check_freed(void)
{
    static unsigned char fill[4096];
    if (fill[0] == 0)
        memset(fill, STAGE_FILL, sizeof fill);
    for (uint32_t i = 0; i < stage_freed_count; i++) {
        const stage_block *it = &stage_freed[i];
        for (size_t from = 0; from < it->size; from += sizeof fill) {
            size_t left = it->size - from < sizeof fill ? it->size - from : sizeof fill;
            if (memcmp(it->memory + from, fill, left) != 0)
                stage_fail("freed memory of %zu bytes was written to", it->size);
        }
        free(it->memory);
    }
    stage_freed_count = 0;
}

/* ---- what happens ---- */

static void stage_dead_letter(void *user, const axo_dead_letter *letter)
{
    at.dead++;
}

void (*stage_look)(const axo_event *e);

static void stage_event(void *user, const axo_event *e)
{
    at.events[e->kind % 64]++;
    if (stage_look != NULL)
        stage_look(e);
    axo__sim_mark((uint64_t)e->kind << 32 ^ e->actor.bits);
    if (at.loud && at.going)
        axo__sim_note("%s %" PRIx64, axo_event_name(e->kind), e->actor.bits);
}

static axo_status stage_count(axo_ctx *ctx, void *state, const axo_message *message)
{
    at.handled++;
    return AXO_OK;
}

const axo_class stage_counter = AXO_CLASS(.name = "counter", .receive = stage_count);

/* ---- a system ---- */

void stage_boot_with(axo_options options)
{
    options.seed = 1;
    if (options.actors_max == 0)
        options.actors_max = 64;
    options.failure_texts = 8;
    options.dead_letters_kept = 4;
    options.timers_max = 64;
    options.registry_max = 16;
    options.allocator = (axo_allocator){.alloc = stage_alloc, .free = stage_free};
    options.on_dead_letter = stage_dead_letter;
    options.trace = stage_event;
    if (axo_system_start(&options, &at.system) != AXO_OK)
        stage_fail("axo_system_start");
    at.hosting = options.manual != 0;
    for (uint32_t i = 1; i < AXO__SIM_FIBERS_MAX; i++)
        axo__sim_name(i, "-");
    for (uint32_t i = 1; i <= 1 + options.workers + AXO__SPARES && !at.hosting; i++)
        axo__sim_name(i, i == 1 ? "reclaimer" : i <= 1 + options.workers ? "worker" : "spare");
    if (at.hosting)
        (void)axo_run_host(at.system, -1, NULL);
    axo__sim_settle(-1);
}

void stage_boot(uint32_t workers)
{
    axo_options options = AXO_OPTIONS(.workers = workers, .manual = workers == 0);
    stage_boot_with(options);
}

axo_ref stage_spawn(const axo_class *cls, const void *args)
{
    axo_ref ref;
    axo_props props = AXO_PROPS(.cls = cls, .args = args);
    if (axo_system_spawn(at.system, &props, &ref) != AXO_OK)
        stage_fail("axo_system_spawn");
    if (at.hosting)
        (void)axo_run_host(at.system, -1, NULL);
    axo__sim_settle(-1);
    return ref;
}

void stage_thread(const char *name, void (*run)(void *arg), void *arg)
{
    axo__sim_start(name, run, arg);
}

/* The last one to end, of the test's threads. */
static void stage_host(void *arg)
{
    for (;;) {
        uint64_t turns = 0;
        bool last = axo__sim_started() == 1;
        axo_status status = axo_step_host(at.system, 8, &turns);
        if (status != AXO_OK)
            stage_fail("axo_step_host: %s", axo_status_name(status));
        if (turns > 0)
            continue;
        if (last)
            return;
        axo__sim_relax();
    }
}

void stage_go_within(int64_t within_ns)
{
    uint64_t before = axo__sim_steps();
    if (at.hosting)
        axo__sim_start("host", stage_host, NULL);
    at.going = true;
    axo__sim_explore(true);
    axo__sim_settle(within_ns);
    axo__sim_explore(false);
    at.going = false;
    at.points = axo__sim_steps() - before;
}

void stage_go(void)
{
    stage_go_within(0);
    if (axo__sim_started() > 0) {
        fprintf(stderr, "a thread of the test's waits for ever:\n");
        axo__sim_report_waits(stderr);
        stage_fail("deadlock");
    }
}

axo_status stage_send(axo_ref to, uint32_t tag)
{
    axo_status status = axo_system_send(at.system, to, tag, NULL, 0);
    if (status == AXO_OK || status == AXO_EGONE)
        at.sent++;
    return status;
}

void stage_account(void)
{
    axo_stats stats = AXO_STATS(0);
    (void)axo_system_stats(at.system, &stats);
    CHECK_SAME(stats.sent, stats.handled + stats.dead + stats.dropped);
    CHECK_SAME(stats.dead, at.dead);
}

void stage_end(void)
{
    if (axo_system_stop(at.system, -1, NULL, 0, NULL) != AXO_OK)
        stage_fail("axo_system_stop");
    axo__sim_settle(-1);
    stage_account();
    axo_stats stats = AXO_STATS(0);
    (void)axo_system_stats(at.system, &stats);
    CHECK_SAME(stats.actors, 0);
    CHECK_SAME(stats.memory_blocks, at.blocks);
    CHECK_SAME(stats.memory_bytes, at.bytes);
    if (axo_system_destroy(at.system) != AXO_OK)
        stage_fail("axo_system_destroy");
    CHECK_SAME(at.blocks, 0);
    CHECK_SAME(at.bytes, 0);
    CHECK_SAME(axo__sim_started(), 0);
}

uint64_t stage_play(const stage_scene *scene, uint64_t seed)
{
    bool loud = at.loud;
    memset(&at, 0, sizeof at);
    stage_look = NULL;
    at.scene = scene;
    at.loud = loud;
    axo__self = NULL;
    at.seed = seed;
    axo__sim_fibers();
    axo__sim_waits(scene->early_one_in, STAGE_TICK_NS);
    axo__sim_points_max(scene->points_max != 0 ? scene->points_max : STAGE_POINTS_MAX);
    scene->play();
    stage_check_freed();
    return axo__sim_digest();
}
