/* hierarchy.c - one run of the hierarchy stress: the plan, the wait, the checks after the end. */
#include "hierarchy_inside.h"

#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- the plan ---- */

/* One in 64 has a thread of its own, one in 16 is the host's, one in 16 may block. */
static axo_dispatcher plan_dispatcher(const hierarchy *h, axo__random *chance)
{
    uint32_t draw = axo__random_below(chance, 64);
    if (!h->mixed || draw > 8)
        return AXO_DISPATCH_DEFAULT;
    return draw == 0 ? AXO_DISPATCH_PINNED : draw < 5 ? AXO_DISPATCH_HOST : AXO_DISPATCH_BLOCKING;
}

/* A node and those below it, `size` in all. */
static uint32_t plan_node(hierarchy *h, axo__random *chance, uint32_t parent, uint32_t size,
                          uint32_t *used)
{
    uint32_t index = (*used)++;
    hierarchy_node *node = &h->nodes[index];
    uint32_t below = size - 1;
    node->h = h;
    node->index = index;
    node->parent = parent;
    node->dispatcher = plan_dispatcher(h, chance);
    node->level = parent == HIERARCHY_NOBODY ? 1 : h->nodes[parent].level + 1;
    (void)snprintf(node->name, sizeof node->name, "n%" PRIu32, index);
    h->digest = (h->digest ^ size) * UINT64_C(0x100000001b3);
    if (below == 0)
        return index;
    uint32_t most = below < HIERARCHY_BREADTH ? below : HIERARCHY_BREADTH;
    uint32_t kids = axo__random_below(chance, most) + 1;
    for (uint32_t i = 0; i < kids; i++) {
        uint32_t share = below / kids + (i < below % kids ? 1 : 0);
        node->kid[node->kids++] = plan_node(h, chance, index, share, used);
    }
    return index;
}

/* How the run is made: never drawn from the stream of the items. */
static void plan_sizes(hierarchy *h, axo__random *chance)
{
    static const uint32_t quanta[] = {0, 0, 1, 3};
    static const uint32_t windows[] = {64, 1024, 8192};
    h->actors = h->options.actors != 0 ? h->options.actors : HIERARCHY_ACTORS;
    h->items = h->options.items != 0 ? h->options.items : HIERARCHY_ITEMS;
    uint32_t workers = 1 + axo__random_below(chance, 4);
    h->workers = h->options.workers != 0 ? h->options.workers : workers;
    h->quantum = quanta[axo__random_below(chance, 4)];
    h->window = windows[axo__random_below(chance, 3)];
    h->recorded = axo__random_below(chance, 4) != 0;
    h->mixed = h->options.dispatch == HIERARCHY_MIXED;
    if (h->options.record != HIERARCHY_DRAWN)
        h->recorded = h->options.record == HIERARCHY_RECORDS;
}

static hierarchy *plan_new(const hierarchy_options *options)
{
    axo__random chance;
    uint32_t used = 0;
    hierarchy *h = calloc(1, sizeof *h);
    if (h == NULL)
        abort();
    h->options = *options;
    axo__random_init(&chance, options->seed, 1);
    axo__random_init(&h->chance, options->seed, 2);
    plan_sizes(h, &chance);
    h->digest = UINT64_C(0xcbf29ce484222325);
    h->nodes = calloc((size_t)h->actors + 1, sizeof *h->nodes);
    h->item = calloc((size_t)h->items + h->actors, sizeof *h->item);
    h->known = calloc(h->actors, sizeof *h->known);
    h->places = calloc(HIERARCHY_SLOTS, sizeof *h->places);
    if (h->nodes == NULL || h->item == NULL || h->known == NULL || h->places == NULL)
        abort();
    (void)plan_node(h, &chance, HIERARCHY_NOBODY, h->actors, &used);
    for (uint32_t i = 0; i < h->actors; i++) { /* the first start may fail too */
        hierarchy_item *item = &h->item[h->items + i];
        uint32_t target;
        hierarchy_draw_item(h, item, &target);
        if (item->directive == 0)
            item->directive = target % 2 == 0 ? AXO_RESTART : AXO_RESUME;
        h->nodes[i].failing = h->items + i + 1;
    }
    h->node_strategy = (axo_strategy)AXO_STRATEGY(.decider = hierarchy_node_decide, .user = h);
    h->warden_strategy = (axo_strategy)AXO_STRATEGY(.decider = hierarchy_warden_decide, .user = h);
    return h;
}

static void plan_free(hierarchy *h)
{
    (void)pthread_mutex_destroy(&h->mutex);
    (void)pthread_cond_destroy(&h->change);
    free(h->nodes);
    free(h->item);
    free(h->known);
    free(h->places);
    free(h->refs);
    free(h);
}

/* ---- hooks of the system ---- */

static axo_directive run_user_decides(axo_ctx *ctx, void *state, const axo_failure *failure,
                                      void *user)
{
    hierarchy_breach(user, HIERARCHY_NOBODY, 10, "the warden has failed: kind %" PRIu32
                     " code %" PRId32 " %s", failure->kind, failure->code, failure->text);
    return AXO_STOP;
}

static void run_dead_letter(void *user, const axo_dead_letter *letter)
{
    hierarchy *h = user;
    HIERARCHY_COUNT(h, dead);
    if (letter->message->tag == TAG_ITEM)
        HIERARCHY_COUNT(h, settled);
}

static void *run_alloc(void *user, size_t size, size_t align)
{
    hierarchy *h = user;
    size_t least = align < sizeof(void *) ? sizeof(void *) : align;
    HIERARCHY_COUNT(h, blocks);
    return aligned_alloc(least, (size + least - 1) / least * least);
}

static void run_free(void *user, void *block, size_t size, size_t align)
{
    hierarchy *h = user;
    (void)atomic_fetch_sub_explicit(&h->blocks, 1, memory_order_relaxed);
    memset(block, 0xdb, size);
    free(block);
}

/* ---- the wait ---- */

/* A moment: the host's actors run in it, or it is waited for `done`. */
static bool run_moment(hierarchy *h)
{
    struct pollfd wake = {.fd = h->mixed ? axo_host_fd(h->system) : -1, .events = POLLIN};
    struct timespec at;
    uint64_t turns = 0;
    if (h->mixed)
        (void)axo_run_host(h->system, 5000000, &turns);
    if (h->mixed && turns == 0)
        (void)poll(&wake, 1, 5);
    pthread_mutex_lock(&h->mutex);
    if (!h->mixed && !h->done) {
        (void)clock_gettime(CLOCK_MONOTONIC, &at);
        at.tv_sec += 1;
        (void)pthread_cond_timedwait(&h->change, &h->mutex, &at);
    }
    bool done = h->done;
    pthread_mutex_unlock(&h->mutex);
    return done;
}

/* Waits as long as the tree moves; false: somebody is frozen. */
static bool run_wait(hierarchy *h)
{
    uint64_t moves = UINT64_MAX;
    int64_t moved_at = axo__os_now();
    while (!run_moment(h)) {
        uint64_t now = HIERARCHY_GET(h, moves);
        if (now != moves)
            moved_at = axo__os_now();
        else if (axo__os_now() - moved_at > INT64_C(1000000000) * HIERARCHY_STALL_S)
            return false;
        moves = now;
    }
    return true;
}

static void run_name_late(hierarchy *h, const axo_late *late, uint32_t count)
{
    FILE *out = h->options.out != NULL ? h->options.out : stdout;
    for (uint32_t i = 0; i < count; i++)
        fprintf(out, "  late: %s is %s\n", late[i].path, late[i].doing);
}

/* ---- the checks ---- */

static int run_compare(const void *one, const void *other)
{
    uint64_t a = ((const axo_ref *)one)->bits;
    uint64_t b = ((const axo_ref *)other)->bits;
    return a < b ? -1 : a > b;
}

/* SX-08, SX-09 */
static void run_check_refs(hierarchy *h)
{
    char path[64];
    qsort(h->refs, h->refs_count, sizeof *h->refs, run_compare);
    for (uint32_t i = 0; i < h->refs_count; i++) {
        if (i > 0 && h->refs[i].bits == h->refs[i - 1].bits)
            hierarchy_breach(h, HIERARCHY_NOBODY, 9, "%016" PRIx64 " is announced twice",
                             h->refs[i].bits);
        if (axo_system_path(h->system, h->refs[i], path, sizeof path) != AXO_EGONE)
            hierarchy_breach(h, HIERARCHY_NOBODY, 8, "%016" PRIx64 " is undead: %s",
                             h->refs[i].bits, path);
    }
    if (h->stop_took > INT64_C(1000000000) * HIERARCHY_STOP_S)
        hierarchy_breach(h, HIERARCHY_NOBODY, 8, "the tree's end took %" PRId64 " ns",
                         h->stop_took);
}

static void run_check_stats(hierarchy *h, const axo_stats *stats)
{
    if (stats->sent != stats->handled + stats->dead + stats->dropped)
        hierarchy_breach(h, HIERARCHY_NOBODY, 0, "%" PRIu64 " sent, %" PRIu64 " handled, %" PRIu64
                         " dead, %" PRIu64 " dropped", stats->sent, stats->handled, stats->dead,
                         stats->dropped);
    if (stats->dead != HIERARCHY_GET(h, dead))
        hierarchy_breach(h, HIERARCHY_NOBODY, 0, "%" PRIu64 " dead, %" PRIu64 " were shown",
                         stats->dead, HIERARCHY_GET(h, dead));
    if (stats->actors != 0 || stats->spawned != stats->terminated)
        hierarchy_breach(h, HIERARCHY_NOBODY, 8, "%" PRIu64 " spawned, %" PRIu64 " terminated",
                         stats->spawned, stats->terminated);
    if (stats->spawned != (uint64_t)h->refs_count + 4) /* the guardians and the warden */
        hierarchy_breach(h, HIERARCHY_NOBODY, 9, "%" PRIu64 " spawned, %" PRIu32 " announced",
                         stats->spawned, h->refs_count);
}

static void run_check_end(hierarchy *h)
{
    for (uint32_t i = 0; i < h->actors; i++) {
        if (h->nodes[i].live != 0)
            hierarchy_breach(h, i, 0, "%" PRIu32 " instances' regions have not ended",
                             h->nodes[i].live);
    }
    if (HIERARCHY_GET(h, constructs) != HIERARCHY_GET(h, undone))
        hierarchy_breach(h, HIERARCHY_NOBODY, 0, "%" PRIu64 " constructs, %" PRIu64
                         " regions ended", HIERARCHY_GET(h, constructs),
                         HIERARCHY_GET(h, undone));
    if (HIERARCHY_GET(h, blocks) != 0)
        hierarchy_breach(h, HIERARCHY_NOBODY, 0, "%" PRIu64 " blocks are left",
                         HIERARCHY_GET(h, blocks));
}

static void run_report(const hierarchy *h, hierarchy_result *result)
{
    hierarchy_counts *counts = &result->counts;
#define RUN_COPY(field) counts->field = HIERARCHY_GET(h, field)
    RUN_COPY(pings);
    RUN_COPY(constructs);
    RUN_COPY(undone);
    RUN_COPY(pre_restarts);
    RUN_COPY(post_restarts);
    RUN_COPY(post_stops);
    RUN_COPY(decisions);
    RUN_COPY(escalations);
    RUN_COPY(stops);
    RUN_COPY(warden_decisions);
    RUN_COPY(pre_failed);
    RUN_COPY(post_failed);
    RUN_COPY(construct_failed);
    RUN_COPY(start_failed);
    RUN_COPY(kids_stopped);
    RUN_COPY(recreated_here);
    RUN_COPY(recreated_later);
    RUN_COPY(dead);
#undef RUN_COPY
    result->breaches = HIERARCHY_GET(h, broken);
    memcpy(result->entry, h->breaches, sizeof result->entry);
    memcpy(result->first, h->first, sizeof result->first);
    result->digest = h->digest;
    result->workers = h->workers;
    result->recorded = h->recorded;
    result->mixed = h->mixed;
    result->refs = h->refs_count;
    result->rounds = h->round;
    result->wardens = h->wardens;
    result->stop_seconds = (double)h->stop_took / 1e9;
}

/* ---- the run ---- */

static bool run_start(hierarchy *h)
{
    axo_options options = AXO_OPTIONS(
        .workers = h->workers, .quantum = h->quantum, .seed = h->options.seed + 1,
        .actors_max = HIERARCHY_SLOTS - 1, .user_strategy = &h->user_strategy,
        .on_dead_letter = run_dead_letter, .dead_letter_user = h,
        .trace = h->recorded ? hierarchy_trace : NULL, .trace_user = h,
        .allocator = {.alloc = run_alloc, .free = run_free, .user = h});
    axo_props warden = AXO_PROPS(.cls = &hierarchy_warden_class, .args = h, .name = "warden",
                                 .strategy = &h->warden_strategy);
    axo_ref ref;
    pthread_condattr_t attr;
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&h->change, &attr);
    (void)pthread_condattr_destroy(&attr);
    (void)pthread_mutex_init(&h->mutex, NULL);
    h->user_strategy = (axo_strategy)AXO_STRATEGY(.decider = run_user_decides, .user = h);
    hierarchy_outside();
    return axo_system_start(&options, &h->system) == AXO_OK &&
           axo_system_spawn(h->system, &warden, &ref) == AXO_OK;
}

/* false: the system cannot be ended; its memory stays. */
static bool run_finish(hierarchy *h, bool done, axo_stats *stats)
{
    axo_late late[16];
    uint32_t count = 0;
    if (done && HIERARCHY_GET(h, broken) == 0)
        run_check_refs(h);
    axo_status status = axo_system_stop(h->system, INT64_C(1000000000) * HIERARCHY_STALL_S, late,
                                        16, &count);
    if (status != AXO_OK) {
        hierarchy_breach(h, HIERARCHY_NOBODY, 8, "%" PRIu32 " actors do not end", count);
        run_name_late(h, late, count < 16 ? count : 16);
        return false;
    }
    (void)axo_system_stats(h->system, stats);
    if (HIERARCHY_GET(h, broken) == 0)
        run_check_stats(h, stats);
    if (axo_system_destroy(h->system) != AXO_OK)
        hierarchy_breach(h, HIERARCHY_NOBODY, 8, "axo_system_destroy failed");
    else
        run_check_end(h);
    return true;
}

bool hierarchy_run(const hierarchy_options *options, hierarchy_result *result)
{
    hierarchy *h = plan_new(options);
    int64_t began = axo__os_now();
    memset(result, 0, sizeof *result);
    result->stats = (axo_stats)AXO_STATS(.sent = 0);
    if (!run_start(h))
        abort();
    bool done = run_wait(h);
    if (!done)
        hierarchy_breach(h, HIERARCHY_NOBODY, 7, "nothing moves any more, phase %d, round %" PRIu32
                         ", %" PRIu32 " have not answered", (int)h->phase, h->round,
                         h->round_left);
    bool ended = run_finish(h, done, &result->stats);
    result->seconds = (double)(axo__os_now() - began) / 1e9;
    run_report(h, result);
    if (ended)
        plan_free(h);
    return result->breaches == 0;
}
