/* boot.c - a system begins, in layer order; and is taken apart, in the opposite order.
 *
 * Every part is made before a part that uses it: core (allocator, pool, table, names, texts,
 * registry), events, the default pool and its doors, the guardians' cells, the reclaimer, and last
 * the workers. Threads come last because nothing before them needs a lock, and because a failure up
 * to there is undone without joining anything.
 */
#include "system/boot.h"

#include <stdio.h>
#include <string.h>

#include "base/border.h"
#include "cell/peers.h"
#include "sched/claim.h"
#include "sched/contain.h"
#include "sched/endless.h"
#include "sched/figures.h"
#include "sched/kinds.h"
#include "sched/lent.h"
#include "sched/sched.h"
#include "sched/send.h"
#include "sched/span.h"
#include "sched/trap.h"
#include "sched/wake.h"
#include "system/border.h"
#include "mem/wall.h"
#include "system/guardian.h"
#include "system/options.h"
#include "system/pools.h"
#include "system/shutdown.h"
#include "system/system.h"

/* The second half of a grace period. An outside thread that was in a door when the items were
 * retired has left it when this thread gets the mutex; later visitors cannot find the items. */
static void boot_pass_doors(void *user)
{
    axo__doors_pass(&((axo_system *)user)->sched);
}

/* Leaves expired cells to the worker whose home it is: freeing them runs the final drain, which
 * needs a worker's local. */
static void boot_expire(void *user, uint32_t home, axo__grace_item *items, axo__grace_item *last)
{
    axo_system *system = user;
    axo__core *core = &system->core;
    axo__os_mutex_lock(&core->expired_mutex);
    last->next = core->expired[home];
    core->expired[home] = items;
    axo__a32_store_relaxed(&core->expired_any,
                           axo__a32_load_relaxed(&core->expired_any) | 1u << home);
    axo__os_mutex_unlock(&core->expired_mutex);
    if (core->lent && axo__self_in(core) != NULL)
        return; /* a visitor's poll: it looks at `expired_any` before it goes */
    /* Step (6) of sched/wake.h: pairs with the seq_cst step (2) of a worker that parks. Either that
     * worker's last look sees `expired_any`, or axo__sched_wake_worker sees it parked. */
    (void)axo__a32_add_seq_cst(&core->expired_any, 0); /* [W1] (6) */
    (void)axo__sched_wake_worker(&system->sched.workers[home]);
}

/* Rooms of ready queues are the only blocks that are given up (sched/ready.c). */
static void boot_give_block(void *user, axo__grace_block *block)
{
    axo_system *system = user;
    axo__heap_free(&system->core.heap, block, block->size, AXO__CACHE_LINE, AXO__SITE_WORKERS);
}

/* Lent threads: the readers are the slots and the host's worker. */
static bool boot_heard(void *user, uint64_t period)
{
    axo_system *system = user;
    for (uint32_t i = 0; i < system->sched.worker_count; i++) {
        if (!axo__grace_is_heard(&system->sched.workers[i].reader, period))
            return false;
    }
    const axo__sched *host = axo__pools_host_if_any(system);
    return host == NULL || axo__grace_is_heard(&host->workers[0].reader, period);
}

static bool boot_try_pass(void *user, uint32_t *door)
{
    axo_system *system = user;
    for (; *door < system->sched.door_count; ++*door) {
        if (!axo__os_gate_try(&system->sched.doors[*door].gate))
            return false;
        axo__os_gate_leave(&system->sched.doors[*door].gate);
    }
    return true;
}

static bool boot_naps(void *user)
{
    axo_system *system = user;
    return axo__a32_load_relaxed(&system->core.closing) == 0;
}

static const axo__grace_ops boot_grace_ops = {
    .pass = boot_pass_doors,
    .expire = boot_expire,
    .give_block = boot_give_block,
    .reap = axo__pools_reap,
    .naps = boot_naps,
    .heard = boot_heard,
    .try_pass = boot_try_pass,
};

/* A local that is neither a worker's nor a door's has no cache and no counters, so the publisher
 * enters a door first. */
static void boot_publish(axo__local *local, const axo__event *event)
{
    axo_system *system = local->core->system;
    if (!axo__local_is_outside(local)) {
        axo__stream_publish(&system->stream, local, event);
        return;
    }
    axo__door *door = axo__door_enter(&system->sched);
    axo__stream_publish(&system->stream, &door->local, event);
    axo__door_leave(door);
}

static void boot_record(axo__local *local, const axo_dead_record *record)
{
    axo__book_record(&local->core->system->book, local, record);
}

static void boot_failed(axo__local *local, axo_log_record *record, const axo_class *cls)
{
    axo__failures_take(&local->core->system->failures, local, record, cls);
}

/* Makes the stream, the books and the list of the end: after the core they stand on. */
static axo_status boot_events(axo_system *system)
{
    axo__core *core = &system->core;
    if (!axo__ending_init(&system->ending))
        return AXO_ETHREAD;
    axo_status status = AXO_ETHREAD;
    if (!axo__stream_init(&system->stream, core))
        goto fail_ending;
    status = axo__book_init(&system->book, &core->heap, &system->options);
    if (status != AXO_OK)
        goto fail_stream;
    status = AXO_ETHREAD;
    if (!axo__failures_init(&system->failures, &system->options))
        goto fail_book;
    if (!axo__health_init(&system->health))
        goto fail_failures;
    core->publish = boot_publish;
    core->record = boot_record;
    core->failed = boot_failed;
    return AXO_OK;
fail_failures:
    axo__failures_fini(&system->failures);
fail_book:
    axo__book_fini(&system->book, &core->heap);
fail_stream:
    axo__stream_fini(&system->stream);
fail_ending:
    axo__ending_fini(&system->ending);
    return status;
}

static void boot_undo_events(axo_system *system)
{
    axo__health_fini(&system->health, &system->core.heap);
    axo__failures_fini(&system->failures);
    axo__book_fini(&system->book, &system->core.heap);
    axo__stream_fini(&system->stream);
    axo__ending_fini(&system->ending);
}

/* The number of doors, a power of two: one where all is manual, so that the cells and blocks that a
 * call takes do not depend on its processor and a seed repeats the run. */
static uint32_t boot_door_count(const axo_options *options)
{
    uint32_t cpus = options->manual == AXO_MANUAL_ALL ? 1 : axo__os_cpus();
    uint32_t doors = 1;
    while (doors < cpus && doors < AXO__DOORS_MAX)
        doors *= 2;
    return doors;
}

/* The number of living actors. Ends are summed before births: an actor whose end is counted has its
 * birth counted, too, so the difference is never negative and never too low. */
static uint64_t boot_living(void *user)
{
    axo_system *system = user;
    uint64_t ends = axo__pools_sum(system, offsetof(axo__counters, terminated));
    return axo__pools_sum(system, offsetof(axo__counters, spawned)) - ends;
}

/* Sizes the table: slots for the guardians, for what locals keep (each a batch of free cells and
 * one of freed cells), and for cells that have ended and wait for their grace period. Without the
 * last two, a system with `actors_max` living actors could refuse a spawn although an actor has
 * ended. */
static bool boot_table(axo_system *system, const uint64_t secret[2])
{
    axo__core *core = &system->core;
    const axo_options *options = &system->options;
    uint32_t actors = options->actors_max;
    uint32_t locals = options->workers + AXO__SPARES + boot_door_count(options);
    /* in a small table locals keep fewer cells, so that no spawn fails for them */
    uint32_t batch = actors / (4 * locals);
    batch = batch < 1 ? 1 : batch > 64 ? 64 : batch;
    uint32_t hoards = 2 * batch * locals;
    uint32_t graves = actors / 8 > AXO__GRAVES_MIN ? actors / 8 : AXO__GRAVES_MIN;
    uint64_t slots = (uint64_t)actors + 3 + hoards + graves +
                     (uint64_t)AXO__RETIRE_MIN * locals;
    if (slots > AXO__SLOT_MASK)
        slots = AXO__SLOT_MASK;
    AXO_DEBUG_ASSERT(slots >= (uint64_t)actors + 3 + hoards + AXO__GRAVES_MIN);
    if (!axo__table_init(&core->table, &core->heap, (uint32_t)slots, secret))
        return false;
    core->table.batch = batch;
    core->table.home = core->sched;
    if (axo__limit_init(&core->limit, actors + 3, hoards, boot_living, system))
        return true;
    axo__table_fini(&core->table);
    return false;
}

/* The program may do what it likes but leave: see base/border.h. */
static void boot_thread_told(void *user, const axo__os_thread *thread, bool begins)
{
    const axo_options *options = &((const axo_system *)user)->options;
    axo_thread_fn fn = begins ? options->thread_start : options->thread_stop;
    char name[32];
    if (fn == NULL)
        return;
    axo_thread told = {.kind = thread->body->kind, .name = thread->body->name};
    if (thread->number != AXO__OS_ONLY) {
        (void)snprintf(name, sizeof name, "%s%u", thread->body->name, thread->number);
        told.name = name;
        told.index = thread->number;
    }
    AXO_BORDER();
    fn(options->thread_user, &told);
}

static axo_status boot_pool(axo__core *core, const axo_options *options)
{
    if (!axo__pool_init(&core->pool, &core->heap))
        return AXO_ETHREAD;
    if (options->walls == 0)
        return AXO_OK;
    core->pool.walls = axo__walls_make(&core->heap, options->walls, options->walls_class);
    if (core->pool.walls != NULL)
        return AXO_OK;
    axo__pool_fini(&core->pool);
    return AXO_ENOMEM;
}

static void boot_undo_pool(axo__core *core)
{
    axo__walls_free(core->pool.walls);
    axo__pool_fini(&core->pool);
}

/* The table may be of another size than the library's; axo__options_read has read it before. */
static bool boot_peers(axo_system *system)
{
    const axo_options *options = &system->options;
    axo_remote remote;
    if (options->remote == NULL)
        return true;
    if (axo__struct_read(options->remote, &remote, sizeof remote) != AXO_OK)
        return false;
    system->core.peers = axo__peers_make(&system->core.heap, &remote, options->remote_user);
    return system->core.peers != NULL;
}

/* The program's functions that are told of things. */
static void boot_hooks(axo__core *core, const axo_options *options)
{
    core->trace = options->trace;
    core->trace_user = options->trace_user;
    axo__a64_store_relaxed(&core->told_kinds, options->trace != NULL ? options->trace_kinds : 0);
    core->on_unhandled = options->on_unhandled;
    core->unhandled_user = options->unhandled_user;
    core->on_dead_letter = options->on_dead_letter;
    core->dead_letter_user = options->dead_letter_user;
    core->log = options->log;
    core->log_user = options->log_user;
    core->log_record = options->log_record;
    core->log_record_user = options->log_record_user;
}

/* Fills the core and makes what hangs from it. The function pointers are the upward needs of the
 * layers below: they call through them and include nothing of system/. */
static axo_status boot_core(axo_system *system)
{
    axo__core *core = &system->core;
    const axo_options *options = &system->options;
    core->system = system;
    core->sched = &system->sched;
    core->homes = 1; /* until there are workers */
    boot_hooks(core, options);
    core->seed = options->seed;
    core->manual = options->manual == AXO_MANUAL_ALL;
    core->lent = options->threads == AXO_THREADS_LENT;
    core->on_work = options->on_work;
    core->work_user = options->work_user;
    core->clock = options->clock;
    core->clock_user = options->clock_user;
    axo__storm_init(&core->storm, options->storm_max, options->storm_window_ns);
    core->stuck = axo__pools_stuck;
    core->span = axo__span_of;
    core->root = &axo__shutdown_root_ops;
    core->forked = axo__border_forked;
    core->dispatch = axo__pools_dispatch;
    core->undispatch = axo__pools_undispatch;
    core->threads = (axo__os_common){
        .stack = options->thread_stack,
        .guard = options->contain != 0 ? AXO__STACK_GUARD : 0,
        .announce = boot_thread_told,
        .user = system};
    core->outside = (axo__local){.core = core, .index = AXO__NO_WORKER};
    axo_status status = boot_pool(core, options);
    if (status != AXO_OK)
        return status;
    system->plain_tags = axo__span_plain_tags(core);
    /* D18: from the operating system, not from the seed, so a repeated run has other references */
    const uint64_t secret[2] = {axo__os_entropy(), axo__os_entropy()};
    if (!boot_table(system, secret))
        goto fail_pool;
    if (!axo__names_init(&core->names, &core->heap, options->seed))
        goto fail_table;
    if (!axo__texts_init(&core->texts, &core->heap, options->failure_texts))
        goto fail_names;
    if (!axo__registry_init(&system->registry, &core->heap, &core->table, options->registry_max,
                            options->seed))
        goto fail_texts;
    if (!boot_peers(system))
        goto fail_registry;
    if (axo__os_mutex_init(&core->expired_mutex)) {
        if (axo__os_mutex_init(&core->paused.mutex))
            return AXO_OK;
        axo__os_mutex_fini(&core->expired_mutex);
    }
    axo__peers_free(&core->heap, core->peers);
fail_registry:
    axo__registry_fini(&system->registry);
fail_texts:
    axo__texts_fini(&core->texts);
fail_names:
    axo__names_fini(&core->names);
fail_table:
    axo__limit_fini(&core->limit);
    axo__table_fini(&core->table);
fail_pool:
    boot_undo_pool(core);
    return AXO_ENOMEM;
}

static void boot_undo_core(axo_system *system)
{
    axo__core *core = &system->core;
    axo__os_mutex_fini(&core->paused.mutex);
    axo__os_mutex_fini(&core->expired_mutex);
    axo__peers_free(&core->heap, core->peers);
    axo__registry_fini(&system->registry);
    axo__texts_fini(&core->texts);
    axo__names_fini(&core->names);
    axo__limit_fini(&core->limit);
    axo__table_fini(&core->table);
    boot_undo_pool(core);
}

/* A zeroed array of structs; zero is a valid state for each of them. */
static void *boot_array(axo_system *system, size_t size, uint32_t count)
{
    void *array = axo__heap_alloc(&system->core.heap, size * count, AXO__CACHE_LINE,
                                  AXO__SITE_WORKERS);
    if (array != NULL)
        memset(array, 0, size * count);
    return array;
}

/* Undoes boot_sched, before any worker has run or after all have been joined. */
static void boot_undo_sched(axo_system *system)
{
    axo__sched *sched = &system->sched;
    axo__heap *heap = &system->core.heap;
    for (uint32_t i = 0; i < sched->door_count; i++)
        axo__os_gate_fini(&sched->doors[i].gate);
    axo__heap_free(heap, sched->doors, sizeof(axo__door) * sched->door_count, AXO__CACHE_LINE,
                   AXO__SITE_WORKERS);
    axo__sched_fini(sched);
}

/* Makes the doors, each with a gate, which is free when it is zero, and a local of its own. */
static bool boot_doors(axo_system *system)
{
    axo__sched *sched = &system->sched;
    uint32_t doors = boot_door_count(&system->options);
    sched->doors = boot_array(system, sizeof(axo__door), doors);
    if (sched->doors == NULL)
        return false;
    for (uint32_t i = 0; i < doors; i++)
        axo__local_init(&sched->doors[i].local, &system->core, AXO__NO_WORKER,
                        system->core.table.batch);
    sched->door_count = doors;
    return true;
}

/* Of the default pool. */
static const axo__sched_kind *boot_kind(const axo_options *options)
{
    if (options->threads == AXO_THREADS_LENT)
        return &axo__lent_kind;
    return options->manual ? &axo__host_kind : &axo__fixed_kind;
}

static axo_status boot_sched(axo_system *system)
{
    axo__sched *sched = &system->sched;
    const axo_options *options = &system->options;
    sched->idle = axo__shutdown_idle;
    axo__pools_settings(system, sched, boot_kind(options));
    sched->spare_count = sched->kind->manned ? AXO__SPARES : 0;
    axo_status status = axo__sched_init(sched, options->workers);
    if (status != AXO_OK)
        return status;
    if (boot_doors(system))
        return AXO_OK;
    axo__sched_fini(sched);
    return AXO_ENOMEM;
}

/* Starts the workers, then lets the guardians' cells go: until axo__state_birth a cell counts as
 * running, and no worker can claim it. If a thread is refused, no guardian has run. */
static axo_status boot_threads(axo_system *system)
{
    axo__sched *sched = &system->sched;
    axo_status status = axo__sched_start(sched);
    for (uint32_t i = 0; i < 3 && status == AXO_OK; i++) {
        axo__state_birth(&system->cells[i]->state);
        axo__sched_push_ready_any(sched, system->cells[i]);
    }
    return status;
}

/* Systems of this process, while they start too. A child of fork has their memory and none of their
 * threads: a grace period of a system of its own would wait for the parent's workers for ever. */
static axo__a32 boot_systems;
static bool boot_orphan;

static void boot_forked(void)
{
    boot_orphan = boot_orphan || axo__a32_load_relaxed(&boot_systems) > 0;
}

/* Once for each copy of the library that is loaded. */
static __attribute__((constructor)) void boot_at_fork(void)
{
    axo__os_at_fork(boot_forked);
}

/* The worker records of a board: of those that there are from the start, of each thread of the
 * blocking dispatcher, of some pinned ones and the host's. */
static uint32_t boot_board_workers(const axo_options *options)
{
    return options->workers + AXO__SPARES + options->blocking_max + 64;
}

/* Before anything is traced: the guardians' births are the first events. */
static axo_status boot_board(axo_system *system)
{
    const axo_options *options = &system->options;
    axo__core *core = &system->core;
    if (options->board == NULL)
        return AXO_OK;
    if (!axo__board_make(&system->board, options->board, system->name,
                         boot_board_workers(options), options->board_actors))
        return AXO_ETHREAD;
    core->board = &system->board;
    core->board_tell = axo__board_tell;
    core->kept_kinds |= axo__board_kinds;
    return AXO_OK;
}

/* Before the table makes its first cells, and before the workers. */
static axo_status boot_figures(axo_system *system)
{
    axo__core *core = &system->core;
    axo_status status = AXO_OK;
    if (system->options.figures < AXO_FIGURES_COUNTS)
        return AXO_OK;
    bool times = system->options.figures == AXO_FIGURES_TIMES;
    core->figures = axo__figures_make(&core->heap, times, &status);
    core->figures_tell = axo__figures_tell;
    core->table.timed = times;
    core->kept_kinds |= AXO__FIGURES_KINDS;
    return status;
}

/* Before the workers, each of which has a stack for its handler. */
static axo_status boot_contain(axo_system *system)
{
    const axo_options *options = &system->options;
    axo__core *core = &system->core;
    if (options->contain == 0)
        return AXO_OK;
    if (!axo__trap_enter())
        return AXO_ENOTSUP;
    core->contain =
        axo__contain_make(&core->heap, options->crashes_max, options->crash_window_ns);
    if (core->contain == NULL) {
        axo__trap_leave();
        return AXO_ENOMEM;
    }
    axo__endless_enter();
    return axo__texts_keep_crashes(&core->texts) ? AXO_OK : AXO_ENOMEM;
}

/* Each part that was not made is zeroed. */
static void boot_undo_aids(axo_system *system)
{
    axo__core *core = &system->core;
    axo__grace_block *replacing = axo__aptr_load_relaxed(&core->replacing);
    axo__board_end(&system->board);
    axo__figures_free(core->figures);
    if (replacing != NULL)
        boot_give_block(system, replacing);
    if (core->contain == NULL)
        return;
    axo__contain_free(&core->heap, core->contain);
    axo__endless_leave();
    axo__trap_leave();
}

/* What an option asks for beside the actors themselves. */
static axo_status boot_aids(axo_system *system)
{
    axo_status status = boot_contain(system);
    if (status == AXO_OK)
        status = boot_figures(system);
    if (status == AXO_OK)
        status = boot_board(system);
    if (status != AXO_OK)
        boot_undo_aids(system);
    return status;
}

/* A system's own memory, zeroed, with the options; NULL: no memory. */
static axo_system *boot_make(const axo_options *options)
{
    axo__heap heap;
    axo__heap_init(&heap, &options->allocator, &options->kind_allocator);
    axo_system *system = axo__heap_alloc(&heap, sizeof *system, AXO__CACHE_LINE, AXO__SITE_SYSTEM);
    if (system == NULL)
        return NULL;
    (void)axo__a32_add_relaxed(&boot_systems, 1);
    memset((void *)system, 0, sizeof *system);
    system->core.heap = heap;
    /* Options are copied whole; the name is copied by its text, because the program may reuse its
     * buffer. */
    system->options = *options;
    (void)snprintf(system->name, sizeof system->name, "%s", options->name);
    system->options.name = system->name;
    system->core.name = system->name;
    return system;
}

/* The heap lies in the block that it frees: it is copied first. */
static void boot_free(axo_system *system)
{
    axo__heap heap = system->core.heap;
    axo__heap_free(&heap, system, sizeof *system, AXO__CACHE_LINE, AXO__SITE_SYSTEM);
    (void)axo__a32_add_relaxed(&boot_systems, UINT32_MAX);
}

/* Frees guardians that have never run: no turn has ended them, so their names and extras are taken
 * back here. */
static void boot_free_guardians(axo_system *system)
{
    axo__core *core = &system->core;
    for (uint32_t i = 0; i < 3 && system->cells[i] != NULL; i++) {
        axo__name *name = axo__cell_name(system->cells[i]);
        if (name != NULL) {
            axo__names_unlink(&core->names, name);
            axo__names_free(&core->names, name);
        }
        axo__extra_free(&system->sched.workers[0].local, system->cells[i]);
    }
}

/* The reclaimer and the workers. */
static axo_status boot_run(axo_system *system)
{
    axo__core *core = &system->core;
    axo__grace_how how = core->manual ? AXO__GRACE_ALONE
                         : core->lent ? AXO__GRACE_POLLED
                                      : AXO__GRACE_THREAD;
    if (!axo__grace_start(&core->grace, &boot_grace_ops, how, system, &core->threads))
        return AXO_ETHREAD;
    axo_status status = boot_threads(system);
    if (status != AXO_OK)
        axo__grace_stop(&core->grace);
    return status;
}

/* Before the threads, so nobody has subscribed to events yet. */
static void boot_say_behind(axo_system *system)
{
    axo_log_record record = AXO_LOG_RECORD(.level = AXO_LOG_WARNING);
    if (system->core.contain == NULL || axo__trap_is_first())
        return;
    record.text = "contain: another handler of crashes is called first; what it does not pass on "
                  "is not contained";
    axo__log(&system->core.outside, &record);
}

axo_status axo__boot_start(const axo_options *options, axo_system **out)
{
    if (boot_orphan)
        return AXO_EFORKED;
    axo_system *system = boot_make(options);
    if (system == NULL)
        return AXO_ENOMEM;
    axo_status status = AXO_ETHREAD;
    /* The word of the home comes first: every door tests it before anything else. */
    if (!axo__os_home_init(&system->home))
        goto fail_system;
    system->core.home = &system->home;
    if (!axo__os_latch_init(&system->terminated))
        goto fail_home;
    if (!axo__os_mutex_init(&system->outcome_mutex))
        goto fail_latch;
    if (!axo__os_mutex_init(&system->pools_mutex))
        goto fail_mutex;
    status = boot_core(system);
    if (status != AXO_OK)
        goto fail_pools;
    status = boot_aids(system);
    if (status != AXO_OK)
        goto fail_core;
    status = boot_events(system);
    if (status != AXO_OK)
        goto fail_aids;
    status = boot_sched(system);
    if (status != AXO_OK)
        goto fail_events;
    status = axo__guardians_make(system);
    if (status != AXO_OK)
        goto fail_sched;
    boot_say_behind(system);
    status = boot_run(system);
    if (status == AXO_OK) {
        *out = system;
        if (system->core.lent)
            axo__lent_open(&system->sched);
        return AXO_OK;
    }
fail_sched:
    boot_free_guardians(system);
    boot_undo_sched(system);
fail_events:
    boot_undo_events(system);
fail_aids:
    boot_undo_aids(system);
fail_core:
    boot_undo_core(system);
fail_pools:
    axo__os_mutex_fini(&system->pools_mutex);
fail_mutex:
    axo__os_mutex_fini(&system->outcome_mutex);
fail_latch:
    axo__os_latch_fini(&system->terminated);
fail_home:
    axo__os_home_fini(&system->home);
fail_system:
    boot_free(system);
    return status;
}

/* Step (8) of the shutdown. Workers are joined before the reclaimer, because they retire cells; the
 * reclaimer before the pools, because it reaps pinned threads; memory last. */
void axo__boot_destroy(axo_system *system)
{
    axo__book_say_left(&system->book, &system->core.outside); /* letters that came later */
    axo__sched_quit(&system->sched);
    axo__sched_join(&system->sched);
    if (system->core.lent)
        axo__lent_close(&system->sched);
    /* every slot is back: no worker retires a cell any more */
    axo__grace_stop(&system->core.grace);
    axo__pools_end(system);
    axo__pools_fini(system);
    boot_undo_sched(system);
    boot_undo_events(system);
    boot_undo_aids(system);
    boot_undo_core(system);
    axo__os_mutex_fini(&system->pools_mutex);
    axo__os_mutex_fini(&system->outcome_mutex);
    axo__os_latch_fini(&system->terminated);
    axo__os_home_fini(&system->home);
    boot_free(system);
}
