/* figures.c - counting by class: seats, blocks, times; and adding up. */
#include "sched/figures.h"

#include <stdio.h>
#include <string.h>

#include "cell/log.h"
#include "os/os.h"

#define FIGURES_OTHER "other"
#define FIGURES_FIRST 7 /* times up to 2 to this are one bucket */
#define FIGURES_LAST  (AXO_METRICS_BUCKETS - 1)
#define FIGURES_PARTS 4 /* of an octave */

/* ---- buckets ---- */

/* A bound belongs to its bucket, so what is counted is the time less one. */
uint32_t axo__figures_bucket(int64_t ns)
{
    uint64_t time = ns > 0 ? (uint64_t)ns - 1 : 0;
    if (time >> FIGURES_FIRST == 0)
        return 0;
    uint32_t octave = 63 - (uint32_t)__builtin_clzll(time);
    uint32_t part = (uint32_t)(time >> (octave - 2)) & (FIGURES_PARTS - 1);
    uint32_t bucket = 1 + (octave - FIGURES_FIRST) * FIGURES_PARTS + part;
    return bucket < FIGURES_LAST ? bucket : FIGURES_LAST;
}

int64_t axo__figures_bound(uint32_t bucket)
{
    if (bucket == 0)
        return INT64_C(1) << FIGURES_FIRST;
    if (bucket >= FIGURES_LAST)
        return INT64_MAX;
    uint32_t octave = FIGURES_FIRST + (bucket - 1) / FIGURES_PARTS;
    int64_t part = (bucket - 1) % FIGURES_PARTS + 1;
    return (INT64_C(1) << octave) + part * (INT64_C(1) << (octave - 2));
}

/* ---- blocks ---- */

static size_t figures_block_size(const axo__figures *figures)
{
    size_t times = figures->times ? AXO__FIGURE_TIMES * sizeof(axo__figures_times) : 0;
    return sizeof(axo__figures_block) + times;
}

/* A block of zeros; NULL: no memory. */
static axo__figures_block *figures_block_make(const axo__figures *figures)
{
    size_t size = figures_block_size(figures);
    axo__figures_block *block =
        axo__heap_alloc(figures->heap, size, AXO__CACHE_LINE, AXO__SITE_FIGURES);
    if (block != NULL)
        memset((void *)block, 0, size);
    return block;
}

static void figures_block_free(const axo__figures *figures, axo__figures_block *block)
{
    axo__heap_free(figures->heap, block, figures_block_size(figures), AXO__CACHE_LINE,
                   AXO__SITE_FIGURES);
}

/* The worker's block of a class: its own, one that nobody has, a new one. NULL: no memory. */
static axo__figures_block *figures_block(axo__figures *figures, axo__figures_class *its,
                                         axo__worker *worker)
{
    axo__figures_block *first = axo__aptr_load_acquire(&its->blocks); /* [F2] */
    axo__figures_block *block;
    for (block = first; block != NULL; block = block->next) {
        if (axo__aptr_load_relaxed(&block->owner) == worker)
            return block;
    }
    for (block = first; block != NULL; block = block->next) {
        void *nobody = NULL;
        if (axo__aptr_load_relaxed(&block->owner) == NULL &&
            axo__aptr_cas_acq_rel(&block->owner, &nobody, worker)) /* [F3] */
            return block;
    }
    block = figures_block_make(figures);
    if (block == NULL)
        return NULL;
    axo__aptr_store_relaxed(&block->owner, worker);
    void *before = first;
    do {
        block->next = before;
    } while (!axo__aptr_cas_acq_rel(&its->blocks, &before, block)); /* [F2] */
    return block;
}

/* ---- classes ---- */

static bool figures_is_called(const char *kept, const char *name)
{
    return strncmp(kept, name, AXO_METRICS_NAME - 1) == 0;
}

static void figures_keep(char *kept, const char *name)
{
    (void)snprintf(kept, AXO_METRICS_NAME, "%s", name);
}

/* NULL: none of this name among those from *seen on. */
static axo__figures_class *figures_look(axo__figures *figures, const char *name, uint32_t *seen)
{
    uint32_t count = axo__a32_load_acquire(&figures->class_count); /* [F1] */
    for (; *seen < count; (*seen)++) {
        if (figures_is_called(figures->classes[*seen].name, name))
            return &figures->classes[*seen];
    }
    return NULL;
}

static axo__figures_class *figures_class(axo__figures *figures, const char *name)
{
    uint32_t seen = 0;
    axo__figures_class *its = figures_look(figures, name, &seen);
    if (its != NULL)
        return its;
    if (seen == AXO_METRICS_CLASSES_MAX)
        return &figures->classes[0];
    axo__os_mutex_lock(&figures->mutex);
    its = figures_look(figures, name, &seen);
    if (its == NULL && seen < AXO_METRICS_CLASSES_MAX) {
        its = &figures->classes[seen];
        figures_keep(its->name, name);
        axo__a32_store_release(&figures->class_count, seen + 1); /* [F1] */
    }
    axo__os_mutex_unlock(&figures->mutex);
    return its != NULL ? its : &figures->classes[0];
}

/* ---- seats ---- */

static size_t figures_seat_of(const axo_class *cls)
{
    uint64_t bits = (uint64_t)(uintptr_t)cls * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(bits >> 58) % AXO__FIGURES_SEATS;
}
AXO_STATIC_ASSERT(AXO__FIGURES_SEATS == 1 << (64 - 58), "a seat for each hash");

static void figures_seat_take(axo__figures *figures, axo__worker *worker, const axo_class *cls,
                              axo__figures_block *block)
{
    size_t size = AXO__FIGURES_SEATS * sizeof *worker->figures;
    if (worker->figures == NULL) {
        worker->figures = axo__heap_alloc(figures->heap, size, AXO__CACHE_LINE, AXO__SITE_FIGURES);
        if (worker->figures == NULL)
            return;
        memset(worker->figures, 0, size);
    }
    axo__figures_seat *seat = &worker->figures[figures_seat_of(cls)];
    *seat = (axo__figures_seat){.cls = cls, .block = block};
    figures_keep(seat->name, axo__log_class_name(cls));
}

static __attribute__((noinline)) axo__figures_block *
figures_sit(axo__figures *figures, axo__worker *worker, const axo_class *cls)
{
    axo__figures_class *its = figures_class(figures, axo__log_class_name(cls));
    axo__figures_block *block = figures_block(figures, its, worker);
    if (block != NULL)
        figures_seat_take(figures, worker, cls, block);
    return block;
}

/* The block to count a cell's class in; NULL: no memory. A program may free a class when its actors
 * are gone, and make another one in its place: so the name is compared too. */
static axo__figures_block *figures_of(axo__figures *figures, axo__worker *worker,
                                      const axo__cell *cell)
{
    const axo_class *cls = axo__cell_class(cell);
    const axo__figures_seat *seats = worker->figures;
    if (axo__likely(seats != NULL)) {
        const axo__figures_seat *seat = &seats[figures_seat_of(cls)];
        if (axo__likely(seat->cls == cls &&
                        figures_is_called(seat->name, axo__log_class_name(cls))))
            return seat->block;
    }
    return figures_sit(figures, worker, cls);
}

/* ---- counting ---- */

static void figures_raise(axo__a64 *word, uint64_t more)
{
    axo__a64_store_relaxed(word, axo__a64_load_relaxed(word) + more);
}

static void figures_time(axo__figures_block *block, axo__figure_time which, int64_t ns)
{
    axo__figures_times *times = &block->times[which];
    figures_raise(&times->sum, ns > 0 ? (uint64_t)ns : 0);
    axo__a64_bump_owner(&times->buckets[axo__figures_bucket(ns)]);
}

void axo__figures_add(axo__figures *figures, const axo__cell *cell, axo__figure figure)
{
    axo__figures_class *its =
        figures_class(figures, axo__log_class_name(axo__cell_class(cell)));
    (void)axo__a64_add_relaxed(&its->counts[figure], 1);
}

/* The message is still the worker's. */
static void figures_received(axo__figures *figures, axo__worker *worker, const axo__cell *cell)
{
    const axo__message *message = worker->message;
    axo__figures_block *block = figures_of(figures, worker, cell);
    if (axo__message_counts(message) && (message->flags & AXO__MESSAGE_STASHED) == 0) {
        if (axo__likely(block != NULL))
            axo__a64_bump_owner(&block->handled);
        else
            axo__figures_add(figures, cell, AXO__FIGURE_HANDLED);
    }
    if (figures->times && block != NULL)
        figures_time(block, AXO__FIGURE_HANDLER, axo__os_now() - worker->figures_began);
    worker->figures_began = 0;
}

/* A failure of an actor that has failed already, or is ending, is none that its parent hears of:
 * axo__fail_begin asks the same behind its trace point. */
void axo__figures_tell(const axo__local *local, const axo__cell *cell, uint32_t kind)
{
    axo__figures *figures = local->core->figures;
    axo__worker *worker = axo__self;
    if (kind == AXO_EV_RECEIVED) {
        figures_received(figures, worker, cell);
    } else if (kind == AXO_EV_RECEIVE) {
        if (figures->times && worker->figures_began == 0)
            worker->figures_began = axo__os_now();
    } else if (kind == AXO_EV_FAIL) {
        if (cell->phase != AXO__PHASE_TERMINATING && !cell->reported)
            axo__figures_add(figures, cell, AXO__FIGURE_FAILURES);
    }
}

void axo__figures_waited(axo__worker *worker, const axo__cell *cell, axo__message *message)
{
    axo__figures *figures = worker->local.core->figures;
    AXO_DEBUG_ASSERT(figures != NULL && figures->times);
    message->flags &= ~(uint32_t)AXO__MESSAGE_TIMED;
    worker->figures_began = axo__os_now();
    axo__figures_block *block = figures_of(figures, worker, cell);
    if (axo__likely(block != NULL))
        figures_time(block, AXO__FIGURE_MAILBOX, worker->figures_began - message->sent_at);
}

void axo__figures_stamp(const axo__cell *cell, axo__message *message)
{
    AXO_DEBUG_ASSERT(cell->timed);
    if ((message->flags & ~(uint32_t)(AXO__MESSAGE_TIMED | AXO__MESSAGE_TRACED)) != 0)
        return;
    message->sent_at = axo__os_now();
    message->flags &= ~(uint32_t)AXO__MESSAGE_TIMED;
    if (!cell->bounded)
        message->flags |= AXO__MESSAGE_TIMED;
}

void axo__figures_late(axo__figures *figures, int64_t now, int64_t due)
{
    int64_t late = now > due ? now - due : 0;
    if (!figures->times)
        return;
    (void)axo__a64_add_relaxed(&figures->late.sum, (uint64_t)late);
    (void)axo__a64_add_relaxed(&figures->late.buckets[axo__figures_bucket(late)], 1);
}

/* ---- adding up ---- */

uint32_t axo__figures_number(axo__figures *figures, const char *name)
{
    return (uint32_t)(figures_class(figures, name) - figures->classes);
}

uint32_t axo__figures_classes(const axo__figures *figures)
{
    return axo__a32_load_acquire(&figures->class_count); /* [F1] */
}

static void figures_sum_times(axo_metrics_times *to, const axo__figures_times *from)
{
    to->sum_ns += axo__a64_load_relaxed(&from->sum);
    for (uint32_t i = 0; i < AXO_METRICS_BUCKETS; i++) {
        uint64_t count = axo__a64_load_relaxed(&from->buckets[i]);
        to->buckets[i] += count;
        to->count += count;
    }
}

void axo__figures_read_late(const axo__figures *figures, axo_metrics_times *out)
{
    memset(out, 0, sizeof *out);
    figures_sum_times(out, &figures->late);
}

void axo__figures_read(const axo__figures *figures, uint32_t number, axo_metrics_class *out)
{
    const axo__figures_class *its = &figures->classes[number];
    const axo__figures_block *block = axo__aptr_load_acquire(&its->blocks); /* [F2] */
    memset(out, 0, sizeof *out);
    out->name = its->name;
    out->handled = axo__a64_load_relaxed(&its->counts[AXO__FIGURE_HANDLED]);
    out->failures = axo__a64_load_relaxed(&its->counts[AXO__FIGURE_FAILURES]);
    out->restarts = axo__a64_load_relaxed(&its->counts[AXO__FIGURE_RESTARTS]);
    for (; block != NULL; block = block->next) {
        out->handled += axo__a64_load_relaxed(&block->handled);
        if (!figures->times)
            continue;
        figures_sum_times(&out->handler, &block->times[AXO__FIGURE_HANDLER]);
        figures_sum_times(&out->mailbox, &block->times[AXO__FIGURE_MAILBOX]);
    }
}

/* ---- made and freed ---- */

/* false: the system refused a mutex, and there is none. */
static bool figures_init(axo__figures *figures)
{
    axo__figures_asking *asking = &figures->asking;
    if (!axo__os_mutex_init(&figures->mutex))
        return false;
    if (axo__os_mutex_init(&asking->looking)) {
        if (axo__os_mutex_init(&asking->mutex))
            return true;
        axo__os_mutex_fini(&asking->looking);
    }
    axo__os_mutex_fini(&figures->mutex);
    return false;
}

axo__figures *axo__figures_make(axo__heap *heap, bool times, axo_status *status)
{
    axo__figures *figures =
        axo__heap_alloc(heap, sizeof *figures, AXO__CACHE_LINE, AXO__SITE_FIGURES);
    *status = AXO_ENOMEM;
    if (figures == NULL)
        return NULL;
    memset((void *)figures, 0, sizeof *figures);
    figures->heap = heap;
    figures->times = times;
    if (!figures_init(figures)) {
        axo__heap_free(heap, figures, sizeof *figures, AXO__CACHE_LINE, AXO__SITE_FIGURES);
        *status = AXO_ETHREAD;
        return NULL;
    }
    figures_keep(figures->classes[0].name, FIGURES_OTHER);
    axo__a32_store_relaxed(&figures->class_count, 1);
    *status = AXO_OK;
    return figures;
}

void axo__figures_free(axo__figures *figures)
{
    if (figures == NULL)
        return;
    for (uint32_t i = 0; i < axo__figures_classes(figures); i++) {
        axo__figures_block *block = axo__aptr_load_acquire(&figures->classes[i].blocks); /* [F2] */
        while (block != NULL) {
            axo__figures_block *next = block->next;
            figures_block_free(figures, block);
            block = next;
        }
    }
    axo__os_mutex_fini(&figures->asking.mutex);
    axo__os_mutex_fini(&figures->asking.looking);
    axo__os_mutex_fini(&figures->mutex);
    axo__heap_free(figures->heap, figures, sizeof *figures, AXO__CACHE_LINE, AXO__SITE_FIGURES);
}

void axo__figures_worker_gone(const axo__core *core, axo__worker *worker)
{
    const axo__figures *figures = core->figures;
    if (figures == NULL)
        return;
    if (worker->figures != NULL)
        axo__heap_free(figures->heap, worker->figures, AXO__FIGURES_SEATS * sizeof
                       *worker->figures, AXO__CACHE_LINE, AXO__SITE_FIGURES);
    worker->figures = NULL;
    for (uint32_t i = 0; i < axo__figures_classes(figures); i++) {
        axo__figures_block *block = axo__aptr_load_acquire(&figures->classes[i].blocks); /* [F2] */
        for (; block != NULL; block = block->next) {
            if (axo__aptr_load_relaxed(&block->owner) == worker)
                axo__aptr_store_release(&block->owner, NULL); /* [F3] */
        }
    }
}
