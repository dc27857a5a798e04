/* longest.c - who has the most messages: see longest.h.
 *
 * Orders
 *   [T2] [T4]   as in cell/table.h
 */
#include "sched/longest.h"

#include <string.h>

#include <axo/inspect.h>

#include "cell/log.h"
#include "sched/ready.h"
#include "sched/send.h"

/* Slots that are looked at inside one door, and messages that are counted there before it is left:
 * the reclaimer waits for it. */
#define LONGEST_STEPS 256
#define LONGEST_COUNTED 65536
/* A worker that has few messages is soon out of its cell. */
#define LONGEST_TRIES 16

typedef struct longest_walk {
    axo__core *core;
    axo__figures *figures; /* NULL: there are none */
    axo__worker *self;     /* the worker of this system that looks; NULL: another thread does */
    axo__longest *out;
} longest_walk;

/* ---- counting ---- */

static uint64_t longest_list(const axo__message *message)
{
    uint64_t count = 0;
    for (; message != NULL && count < AXO_INSPECT_MAX; message = axo__message_next(message))
        count++;
    return count;
}

/* By the cell's runner or borrower. Senders may put more on top of the lane, which this walk from
 * an older top does not see. */
static uint64_t longest_count(const axo__cell *cell)
{
    const axo__extra *extra = axo__cell_extra(cell);
    uint64_t count = extra != NULL ? longest_list(extra->front.first) : 0;
    if (cell->bounded)
        return count + axo__bounded_count(axo__cell_bounded(cell));
    const axo__mpsc_node *lane = axo__state_lane(axo__state_look(&cell->state));
    count += longest_list(cell->inbox.rest) + longest_list(cell->inbox.first);
    return count + longest_list((const axo__message *)(const void *)lane);
}

/* ---- questions ---- */

/* The place of a question to this actor; NULL: there is none. */
static struct axo__figures_asked *longest_place(axo__figures_asking *asking, axo_ref actor)
{
    for (uint32_t i = 0; i < AXO__FIGURES_ASKED; i++) {
        if (axo_ref_equal(asking->all[i].actor, actor))
            return &asking->all[i];
    }
    return NULL;
}

/* Under the mutex: one question more that has no answer, or one less. */
static void longest_open(axo__figures_asking *asking, uint32_t more)
{
    axo__a32_store_relaxed(&asking->open, axo__a32_load_relaxed(&asking->open) + more);
}

/* What the actor has answered since the last look; it is asked anew. */
static uint64_t longest_ask(axo__figures_asking *asking, axo_ref actor)
{
    uint64_t count = 0;
    axo__os_mutex_lock(&asking->mutex);
    struct axo__figures_asked *place = longest_place(asking, actor);
    if (place == NULL) {
        place = longest_place(asking, axo_ref_none());
        if (place != NULL) {
            *place = (struct axo__figures_asked){.actor = actor};
            longest_open(asking, 1);
        }
    } else if (place->answered) {
        count = place->count;
        place->answered = false;
        longest_open(asking, 1);
    }
    if (place != NULL)
        place->look = asking->look;
    axo__os_mutex_unlock(&asking->mutex);
    return count;
}

/* The places of those that this look has not met with a worker inside are free. */
static void longest_forget(axo__figures_asking *asking)
{
    axo__os_mutex_lock(&asking->mutex);
    for (uint32_t i = 0; i < AXO__FIGURES_ASKED; i++) {
        struct axo__figures_asked *place = &asking->all[i];
        if (axo_ref_is_none(place->actor) || place->look == asking->look)
            continue;
        if (!place->answered)
            longest_open(asking, UINT32_MAX);
        place->actor = axo_ref_none();
    }
    axo__os_mutex_unlock(&asking->mutex);
}

/* The mutex is not held while the messages are counted; the question may have been taken back
 * meanwhile. */
void axo__longest_tell(axo__figures *figures, const axo__cell *cell)
{
    axo__figures_asking *asking = &figures->asking;
    axo_ref actor = axo__cell_ref(cell);
    AXO_DEBUG_ASSERT(axo__state_is_running(&cell->state));
    for (uint32_t i = 0; i < 2; i++) {
        uint64_t count = i > 0 ? longest_count(cell) : 0;
        axo__os_mutex_lock(&asking->mutex);
        struct axo__figures_asked *place = longest_place(asking, actor);
        bool asked = place != NULL && !place->answered;
        if (asked && i > 0) {
            place->count = count;
            place->answered = true;
            longest_open(asking, UINT32_MAX);
        }
        axo__os_mutex_unlock(&asking->mutex);
        if (!asked)
            return;
    }
}

/* ---- the walk: inside a door ---- */

static void longest_keep(const longest_walk *walk, const axo__cell *cell, uint64_t count)
{
    axo__longest *out = walk->out;
    axo_ref actor = axo__cell_ref(cell);
    if (count == 0)
        return;
    if (walk->figures != NULL) {
        const char *name = axo__log_class_name(axo__cell_class(cell));
        uint32_t number = axo__figures_number(walk->figures, name);
        if (count > out->classes[number].count)
            out->classes[number] = (struct axo__longest_class){.count = count, .actor = actor};
    }
    if (count <= out->count)
        return;
    out->count = count;
    out->actor = actor;
    (void)axo__core_path(walk->core, cell, out->path, sizeof out->path);
}

/* How many messages were counted, about. */
static uint64_t longest_cell(const longest_walk *walk, axo__cell *cell)
{
    uint64_t count = 0;
    if (!axo__cell_has_life(cell)) /* [T4] */
        return 0;
    uint64_t word = axo__state_look(&cell->state);
    if ((word & AXO__RUNNING) == 0 && !axo__state_has(word))
        return 0;
    for (uint32_t i = 0; i < LONGEST_TRIES; i++) {
        if (!axo__state_borrow(&cell->state))
            continue;
        count = longest_count(cell);
        longest_keep(walk, cell, count);
        axo__sched_hand_back(walk->self, cell);
        return count;
    }
    word = axo__state_look(&cell->state);
    if ((word & AXO__CLOSED) != 0)
        return 0;
    if (walk->self != NULL && walk->self->current == cell)
        count = longest_count(cell);
    else if (cell->bounded)
        count = axo__bounded_count(axo__cell_bounded(cell));
    else if (walk->figures != NULL)
        count = longest_ask(&walk->figures->asking, axo__cell_ref(cell));
    longest_keep(walk, cell, count);
    return count;
}

/* A portion, from *slot on; false: it was the last one. */
static bool longest_portion(const longest_walk *walk, uint32_t *slot)
{
    axo__table *table = &walk->core->table;
    uint64_t counted = 0;
    axo__door *door = axo__door_enter(axo__core_sched(walk->core));
    /* Every slot below `all` has its cell: as in axo__find_scan. */
    uint32_t all = axo__a32_load_acquire(&table->slots); /* [T2] */
    for (uint32_t i = 0; i < LONGEST_STEPS && counted < LONGEST_COUNTED && *slot < all; i++)
        counted += longest_cell(walk, axo__table_in(table, (*slot)++));
    bool more = *slot < all;
    axo__door_leave(door);
    return more;
}

void axo__longest_look(axo__core *core, axo__longest *out)
{
    axo__figures_asking *asking = core->figures != NULL ? &core->figures->asking : NULL;
    longest_walk walk = {
        .core = core, .figures = core->figures, .self = axo__self_in(core), .out = out};
    uint32_t slot = 0;
    memset(out, 0, sizeof *out);
    if (asking != NULL) {
        axo__os_mutex_lock(&asking->looking);
        asking->look++;
    }
    while (longest_portion(&walk, &slot)) {
    }
    if (asking != NULL) {
        longest_forget(asking);
        axo__os_mutex_unlock(&asking->looking);
    }
}
