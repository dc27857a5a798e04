/* kit.c - the conformance kit: memory, start, settling, and the balances at the end. */
#include "kit_inside.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define KIT_LATE_MAX 16
#define KIT_TEST_LIMIT_S 60
#define KIT_HEAD 64

/* ---- memory --------------------------------------------------------------------------------- */

void *kit_alloc(kit *k, size_t size)
{
    kit_block *block = calloc(1, KIT_HEAD + size);
    assert_non_null(block);
    pthread_mutex_lock(&k->lock);
    block->next = k->blocks;
    k->blocks = block;
    pthread_mutex_unlock(&k->lock);
    return (char *)block + KIT_HEAD;
}

void kit_no_memory(kit *k, bool on)
{
    if (on && pthread_equal(pthread_self(), k->thread)) /* births under way need some yet */
        kit_await_count(k, "*.started", kit_count(k, "*.spawn"));
    atomic_store(&k->no_memory, on);
}

/* A block begins with its size and alignment, so that free can check what it is told. */
static size_t kit_lead(size_t align)
{
    return align < KIT_HEAD ? KIT_HEAD : align;
}

static void *kit_hook_alloc(void *user, size_t size, size_t align)
{
    kit *k = user;
    size_t lead = kit_lead(align);
    char *base;
    size_t *head;
    if (atomic_load(&k->no_memory))
        return NULL;
    base = aligned_alloc(lead, (lead + size + lead - 1) / lead * lead);
    if (base == NULL)
        return NULL;
    head = (size_t *)(void *)(base + lead) - 2;
    head[0] = size;
    head[1] = align;
    atomic_fetch_add(&k->memory_bytes, (int64_t)size);
    atomic_fetch_add(&k->memory_blocks, 1);
    return base + lead;
}

static void kit_hook_free(void *user, void *block, size_t size, size_t align)
{
    kit *k = user;
    const size_t *head = (const size_t *)block - 2;
    if (head[0] != size || head[1] != align)
        kit_problem(k, "free of %zu/%zu, but %zu/%zu were allocated", size, align, head[0],
                    head[1]);
    atomic_fetch_sub(&k->memory_bytes, (int64_t)head[0]);
    atomic_fetch_sub(&k->memory_blocks, 1);
    free((char *)block - kit_lead(head[1]));
}
/* ---- start, settle, finish ------------------------------------------------------------------ */

kit *kit_start(void **state, const axo_options *options)
{
    static const char *const guardians[] = {"root", "user", "system"};
    axo_options own = AXO_OPTIONS(.workers = 0);
    kit *k = calloc(1, sizeof *k);
    axo_status status;
    assert_non_null(k);
    (void)alarm(KIT_TEST_LIMIT_S);
    if (options != NULL)
        own = *options;
    if (own.workers == 0)
        own.workers = (uint32_t)(uintptr_t)*state;
    if (own.quantum == 0 && getenv("AXO_TEST_QUANTUM") != NULL)
        own.quantum = (uint32_t)strtoul(getenv("AXO_TEST_QUANTUM"), NULL, 10);
    if (own.seed == 0)
        own.seed = 1;
    if (own.dead_letter_log == 0)
        own.no_dead_letter_log = 1;
    own.allocator = (axo_allocator){kit_hook_alloc, kit_hook_free, k};
    own.on_dead_letter = kit_hook_dead;
    own.dead_letter_user = k;
    own.log = kit_hook_log;
    own.log_user = k;
    own.trace = kit_hook_trace;
    own.trace_user = k;
    k->state = state;
    k->thread = pthread_self();
    k->workers = own.workers;
    k->actors = calloc(KIT_ACTORS_MAX, sizeof *k->actors);
    assert_non_null(k->actors);
    (void)pthread_mutex_init(&k->lock, NULL);
    kit_cond_init(&k->change);
    *state = k;
    status = axo_system_start(&own, &k->system);
    if (status != AXO_OK)
        kit_fail(k, "axo_system_start: %s", axo_status_name(status));
    pthread_mutex_lock(&k->lock);
    for (int i = 0; i < 3; i++)
        (void)kit_register_locked(k, axo_system_guardian(k->system, (axo_guardian)i), NULL,
                                  guardians[i]);
    pthread_mutex_unlock(&k->lock);
    if (!own.manual)
        kit_await(k, "system.started"); /* its start takes memory that a test may deny */
    return k;
}

axo_system *kit_system(kit *k)
{
    return k->system;
}

uint32_t kit_workers(kit *k)
{
    return k->workers;
}

axo_stats kit_stats(kit *k)
{
    axo_stats stats = AXO_STATS(.sent = 0);
    assert_int_equal(axo_system_stats(k->system, &stats), AXO_OK);
    return stats;
}

/* Whether the actor has terminated, or has handled or lost the barrier. */
static bool kit_settled_locked(kit *k, axo_ref ref, uint32_t barrier)
{
    for (size_t i = k->records_count; i-- > 0;) {
        const kit_record *r = &k->records[i];
        if (!axo_ref_equal(r->actor, ref))
            continue;
        if (strcmp(r->word, "terminated") == 0)
            return true;
        if (r->mark && strcmp(r->word, "barrier") == 0 && r->arg >= barrier)
            return true;
    }
    return false;
}

static void kit_settle_round(kit *k)
{
    struct timespec deadline = kit_deadline(KIT_DEADLINE_S);
    uint32_t barrier;
    uint32_t count;
    uint32_t late = UINT32_MAX;
    int rc = 0;
    pthread_mutex_lock(&k->lock);
    barrier = ++k->barriers;
    count = k->actors_count;
    pthread_mutex_unlock(&k->lock);
    for (uint32_t i = 0; i < count; i++) {
        kit_payload order = {.value = barrier};
        if (k->actors[i].script != NULL)
            (void)axo_system_send(k->system, k->actors[i].ref, KIT_BARRIER, &order, sizeof order);
    }
    pthread_mutex_lock(&k->lock);
    for (uint32_t i = 0; i < count && rc != ETIMEDOUT; i++) {
        if (k->actors[i].script == NULL)
            continue;
        while (!kit_settled_locked(k, k->actors[i].ref, barrier) && rc != ETIMEDOUT)
            rc = pthread_cond_timedwait(&k->change, &k->lock, &deadline);
        late = i;
    }
    pthread_mutex_unlock(&k->lock);
    if (rc == ETIMEDOUT)
        kit_fail(k, "%s does not answer: is it still suspended?", k->actors[late].label);
}

/* Twice: what an actor caused on its way to the first barrier has been done at the second. */
void kit_settle(kit *k)
{
    kit_settle_round(k);
    kit_settle_round(k);
}

/* The last event of each live puppet must have a suspend count of zero. */
static void kit_check_suspends(kit *k)
{
    for (uint32_t i = 0; i < k->actors_count; i++) {
        uint32_t suspends = 0;
        bool gone = false;
        pthread_mutex_lock(&k->lock);
        for (size_t j = 0; j < k->records_count; j++) {
            const kit_record *r = &k->records[j];
            if (r->mark || !axo_ref_equal(r->actor, k->actors[i].ref))
                continue;
            suspends = r->suspends;
            gone = gone || strcmp(r->word, "terminated") == 0 || strcmp(r->word, "stopping") == 0;
        }
        pthread_mutex_unlock(&k->lock);
        if (!gone && suspends != 0)
            kit_fail(k, "%s is left with suspend count %u", k->actors[i].label, suspends);
    }
}

static void kit_check_instances(kit *k)
{
    for (uint32_t i = 0; i < k->actors_count; i++) {
        const kit_actor_entry *entry = &k->actors[i];
        uint32_t constructs = 0;
        uint32_t destroys = 0;
        uint32_t terminated = 0;
        pthread_mutex_lock(&k->lock);
        for (size_t j = 0; j < k->records_count; j++) {
            const kit_record *r = &k->records[j];
            if (r->mark || !axo_ref_equal(r->actor, entry->ref))
                continue;
            constructs += strcmp(r->word, "constructed") == 0 && r->arg == AXO_OK;
            destroys += strcmp(r->word, "destroy") == 0;
            terminated += strcmp(r->word, "terminated") == 0;
        }
        pthread_mutex_unlock(&k->lock);
        if (terminated != 1)
            kit_fail(k, "%s terminated %u times", entry->label, terminated);
        if (entry->script == NULL)
            continue;
        if (entry->instances != entry->freed)
            kit_fail(k, "%s had %u instances, %u were freed", entry->label, entry->instances,
                     entry->freed);
        if (constructs != destroys)
            kit_fail(k, "%s: %u constructed, %u destroyed", entry->label, constructs, destroys);
    }
}

static bool kit_halt(kit *k)
{
    axo_late late[KIT_LATE_MAX];
    uint32_t count = 0;
    axo_status status = axo_system_stop(k->system, (int64_t)KIT_DEADLINE_S * 1000000000, late,
                                        KIT_LATE_MAX, &count);
    if (status == AXO_OK)
        return true;
    print_error("axo_system_stop: %s, %u late\n", axo_status_name(status), count);
    for (uint32_t i = 0; i < count && i < KIT_LATE_MAX; i++)
        print_error("    late: %s is %s\n", late[i].path, late[i].doing);
    return false;
}

static void kit_free(kit *k)
{
    kit_block *block = k->blocks;
    (void)alarm(0);
    *k->state = NULL;
    while (block != NULL) {
        kit_block *next = block->next;
        free(block);
        block = next;
    }
    (void)pthread_mutex_destroy(&k->lock);
    (void)pthread_cond_destroy(&k->change);
    free(k->records);
    free(k->actors);
    free(k);
}

void kit_finish_now(kit *k)
{
    axo_stats stats;
    if (!kit_halt(k))
        kit_fail(k, "the system does not stop");
    stats = kit_stats(k);
    if (stats.sent != stats.handled + stats.dead + stats.dropped)
        kit_fail(k, "sent %" PRIu64 ", handled %" PRIu64 ", dead %" PRIu64 ", dropped %" PRIu64,
                 stats.sent, stats.handled, stats.dead, stats.dropped);
    if (stats.actors != 0 || stats.spawned != stats.terminated)
        kit_fail(k, "%" PRIu64 " actors left, %" PRIu64 " spawned, %" PRIu64 " terminated",
                 stats.actors, stats.spawned, stats.terminated);
    kit_check_instances(k);
    assert_int_equal(axo_system_destroy(k->system), AXO_OK);
    k->system = NULL;
    if (atomic_load(&k->memory_bytes) != 0 || atomic_load(&k->memory_blocks) != 0)
        kit_fail(k, "%" PRId64 " bytes in %" PRId64 " blocks left", atomic_load(&k->memory_bytes),
                 atomic_load(&k->memory_blocks));
    if (k->problems != 0)
        kit_fail(k, "%s", k->problem);
    kit_free(k);
}

void kit_finish(kit *k)
{
    kit_settle(k);
    kit_check_suspends(k);
    kit_finish_now(k);
}

void kit_case_run(void **state)
{
    const kit_case *it = *state;
    *state = (void *)(uintptr_t)it->workers;
    if (it->plain == NULL) {
        it->own(state);
        return;
    }
    kit *k = kit_start(state, NULL);
    it->plain(k);
    if (*state != NULL) /* a test whose actors use its locals has ended the kit itself */
        kit_finish(k);
}

int kit_teardown(void **state)
{
    kit *k = *state;
    if ((uintptr_t)k <= AXO_WORKERS_MAX)
        return 0;
    kit_gate_open_all(k);
    /* What will not stop may still use the kit: then it is left behind. */
    if (k->system != NULL && (!kit_halt(k) || axo_system_destroy(k->system) != AXO_OK)) {
        *state = NULL;
        return -1;
    }
    kit_free(k);
    return 0;
}
