/* scene_cell.c - slots and their generations, directives, the reserve of texts, what counts before
 * somebody is told. */
#include <string.h>

#include "cell/core.h"
#include "schedules/weak/scenes.h"

/* How often a child looks at its directives. */
#define CHILD_LOOKS 3

static struct {
    axo__heap heap;
    axo__table table;
    axo__aptr chunks[2];
    axo__cell *cell;
    axo_ref old;
    axo__a64 box;     /* a reference on its way */
    weak_knot grace;  /* what readers did before they were quiet */
    uint32_t readers; /* that are not quiet yet */
    uint64_t found;
    bool sent;
    /* directives */
    axo__directives directives;
    uint32_t cause; /* of a restart from above */
    int32_t added;
    int32_t settled;
    uint32_t stops;
    bool over;
    /* texts */
    axo__texts texts;
    axo__text text[3];
    axo__cause shared;
    /* counters */
    axo__counters count;
    axo__stack lane;
    axo__stack_node told;
} it;

static axo__shelf shelf;

void *axo__heap_alloc(axo__heap *heap, size_t size, size_t align, axo__alloc_site site)
{
    (void)heap;
    (void)align;
    if (site == AXO__SITE_FIGURES)
        return weak_figures_alloc(size);
    weak_expect(size <= sizeof shelf);
    memset((void *)&shelf, 0xaa, sizeof shelf);
    weak_born(&shelf, sizeof shelf);
    return &shelf;
}

void axo__heap_free(axo__heap *heap, void *block, size_t size, size_t align,
                    axo__alloc_site site)
{
    (void)site;
    (void)heap;
    (void)block;
    (void)size;
    (void)align;
}

/* ---- slots ---- */

static void setup_table(void)
{
    memset(&it, 0, sizeof it);
    it.table = (axo__table){.heap = &it.heap, .chunks = it.chunks, .chunks_max = 2,
                            .slots_max = 2 * AXO__TABLE_CHUNK, .batch = 1};
    axo__lives_init(&it.table.lives, (const uint64_t[2]){7, 9});
    weak_name(&it.table.slots, "slots");
    weak_name(&it.chunks[0], "chunk");
    weak_name(&it.box, "box");
    weak_name(&shelf.cells[0].self, "self");
    weak_name(&shelf.cells[0].state.word, "word");
    weak_name(&shelf.cold[0].cls, "class");
}

/* A life that another instance of the same slot's cell must not be taken for. */
static void live(axo__cell *cell)
{
    weak_wrote(&axo__cell_cold(cell)->cls);
    axo__state_init(&cell->state, 0);
    axo__table_begin(&it.table, cell);
}

static void setup_slot(void)
{
    setup_table();
    axo_status status;
    memset((void *)&shelf, 0, sizeof shelf);
    shelf.table = &it.table;
    axo__a64_store_relaxed(&shelf.cells[0].self, AXO__SELF_ENDED);
    axo__a64_store_relaxed(&shelf.cells[0].state.word, AXO__CLOSED);
    axo__aptr_store_relaxed(&it.chunks[0], &shelf);
    axo__a32_store_relaxed(&it.table.slots, AXO__TABLE_CHUNK);
    it.table.free[0] = &shelf.cells[0];
    it.cell = axo__table_take(&it.table, 0, &status);
    live(it.cell);
    it.old = axo__cell_ref(it.cell);
    it.readers = 2;
}

static bool grace_is_over(void *user)
{
    (void)user;
    return it.readers == 0;
}

static void quiet(void)
{
    weak_give(&it.grace);
    it.readers--;
}

/* Ends one life; begins another after a grace period, and gives its reference away: by a bounded
 * mailbox that orders (release), or by one that does not. */
static void recycle(void)
{
    axo__state_close(&it.cell->state);
    axo__table_end(it.cell);
    weak_wait(grace_is_over, NULL);
    weak_get(&it.grace);
    live(it.cell);
    axo__state_birth(&it.cell->state);
}

static void recycler(void)
{
    recycle();
    axo__a64_store_relaxed(&it.box, axo__cell_ref(it.cell).bits);
}

static void releaser(void)
{
    recycle();
    axo__a64_store_release(&it.box, axo__cell_ref(it.cell).bits);
}

/* Finds an old reference's cell: only while it lives, and while it is held nobody changes it. */
static void old_reader(void)
{
    axo__cell *cell = axo__table_find(&it.table, it.old);
    if (cell != NULL) {
        weak_reads(&axo__cell_cold(cell)->cls);
        weak_expect((axo__cell_ref(cell)).bits == it.old.bits);
    }
    quiet();
    weak_expect(axo__table_knows(&it.table, it.old));
}

static void new_reader(bool ordered)
{
    quiet();
    axo_ref ref = {.bits = ordered ? axo__a64_load_acquire(&it.box) :
                                     axo__a64_load_relaxed(&it.box)};
    if (ref.bits == 0)
        return;
    axo__cell *cell = axo__table_find(&it.table, ref);
    weak_expect(cell != NULL || !ordered);
    if (cell == NULL)
        return;
    weak_reads(&axo__cell_cold(cell)->cls);
    weak_expect((axo__cell_ref(cell)).bits == ref.bits);
    weak_expect((axo__state_look(&cell->state) & AXO__CLOSED) == 0);
}

static void reader_of_told(void)
{
    new_reader(true);
}

static void reader_of_guessed(void)
{
    new_reader(false);
}

/* ---- births, and who walks the table ---- */

static void setup_plain(void)
{
    setup_table();
    memset((void *)&shelf, 0, sizeof shelf);
    shelf.table = &it.table;
    it.cell = &shelf.cells[0];
    axo__a64_store_relaxed(&it.cell->self, AXO__SELF_ENDED);
    axo__a64_store_relaxed(&it.cell->state.word, AXO__CLOSED);
    axo__aptr_store_relaxed(&it.chunks[0], &shelf);
    axo__a32_store_relaxed(&it.table.slots, AXO__TABLE_CHUNK);
}

static void plain_birth(void)
{
    weak_wrote(&axo__cell_cold(it.cell)->cls);
    axo__state_counts(&it.cell->state, 0);
    axo__table_begin(&it.table, it.cell);
    axo__state_born(&it.cell->state);
}

static void other_birth(void)
{
    live(it.cell);
    axo__state_birth(&it.cell->state);
}

/* Who is found is sent a message at once; READY stands for it. */
static void walker(void)
{
    if (!axo__cell_lives(it.cell))
        return;
    weak_reads(&axo__cell_cold(it.cell)->cls);
    weak_expect(axo__cell_ref(it.cell).bits == axo__a64_load_relaxed(&it.cell->self));
    (void)axo__a64_or_acq_rel(&it.cell->state.word, AXO__READY);
    it.sent = true;
}

/* Who has the cell from elsewhere, and looks whether it has an actor before it tells of it. */
static void teller(void)
{
    if (axo__cell_has_life(it.cell))
        weak_reads(&axo__cell_cold(it.cell)->cls);
}

static void check_plain(void)
{
    uint64_t word = axo__a64_load_relaxed(&it.cell->state.word);
    weak_expect((word & AXO__CLOSED) == 0);
    weak_expect(((word & AXO__READY) != 0) == it.sent);
}

/* ---- growing ---- */

static void setup_grow(void)
{
    setup_table();
}

static void grower(void)
{
    axo_status status;
    (void)axo__table_take(&it.table, 0, &status);
    axo__cell *cell = axo__table_take(&it.table, 0, &status);
    weak_expect(cell != NULL && cell->slot == 1);
    live(cell);
    axo__a64_store_relaxed(&it.box, axo__cell_ref(cell).bits);
}

/* References come from nowhere in particular: forged, or told without order. */
static void guesser(void)
{
    axo_ref ref = {.bits = axo__a64_load_relaxed(&it.box)};
    axo__cell *cell = axo__table_find(&it.table, ref);
    if (cell == NULL)
        return;
    weak_reads(&axo__cell_cold(cell)->cls);
    (void)axo__state_look(&cell->state);
    it.found++;
}

/* ---- directives ---- */

static void setup_directives(void)
{
    memset(&it, 0, sizeof it);
    weak_name(&it.directives, "directives");
    weak_name(&it.cause, "cause");
}

/* As super/children.c has it: suspends a child and restarts it, for a cause. */
static void parent_restarts(uint32_t cause)
{
    bool written = false;
    bool merge;
    axo__directives_delta_add(&it.directives, 1);
    it.added++;
    uint64_t old = axo__directives_look(&it.directives);
    do {
        merge = (old & AXO__RESTART_PARENT) != 0 && !written;
        if (!merge && !written) {
            weak_wrote(&it.cause);
            weak_expect(it.cause == 0);
            it.cause = cause;
            written = true;
        }
    } while (!axo__directives_restart_parent(&it.directives, &old, false, merge));
    if (merge)
        it.added--;
}

static void parent_of_restarts(void)
{
    parent_restarts(1);
    parent_restarts(2);
    it.over = true;
}

static void parent_of_own(void)
{
    axo__directives_restart_own(&it.directives);
    parent_restarts(1);
    axo__directives_stop_parent(&it.directives);
    it.over = true;
}

static void stopper(void)
{
    axo__directives_stop(&it.directives);
}

static bool child_may_go(void *user)
{
    (void)user;
    return it.over || it.directives.v != 0;
}

/* As super/restart.c has it. */
static void child_takes(uint64_t word)
{
    int32_t delta = axo__directives_delta(word);
    if ((word & AXO__STOPS) != 0) {
        (void)axo__directives_take(&it.directives, AXO__STOPS, 0);
        it.stops++;
    } else if (delta != 0) {
        (void)axo__directives_take(&it.directives, 0, delta);
        it.settled += delta;
    } else if ((word & AXO__RESTART_PARENT) != 0) {
        weak_reads(&it.cause);
        weak_expect(it.cause != 0);
        weak_wrote(&it.cause);
        it.cause = 0;
        (void)axo__directives_take(&it.directives, AXO__RESTART_PARENT | AXO__PARENT_FIRST, 0);
        it.settled--;
    } else {
        (void)axo__directives_take(&it.directives, AXO__RESTART_OWN, 0);
    }
}

static void child(void)
{
    for (uint32_t i = 0; i < CHILD_LOOKS; i++) {
        weak_wait(child_may_go, NULL);
        uint64_t word = axo__directives_look(&it.directives);
        if (word != 0)
            child_takes(word);
    }
}

static void check_directives(void)
{
    uint64_t word;
    while ((word = axo__directives_look(&it.directives)) != 0)
        child_takes(word);
    weak_expect(it.settled == 0 && it.cause == 0);
}

/* ---- texts ---- */

static void setup_texts(void)
{
    memset(&it, 0, sizeof it);
    it.texts = (axo__texts){.all = it.text, .count = 3};
    axo__a32_store_relaxed(&it.text[1].next, 2);
    axo__a64_store_relaxed(&it.texts.free, 1);
    weak_name(&it.texts.free, "free");
    weak_name(&it.text[1].users, "users1");
    weak_name(&it.text[2].users, "users2");
    weak_name(&it.text[1].failed.text, "text1");
    weak_name(&it.text[2].failed.text, "text2");
}

static void texts_write(uint32_t index)
{
    if (index != 0)
        weak_wrote(axo__texts_at(&it.texts, index));
}

static void texts_twice(void)
{
    for (uint32_t i = 0; i < 2; i++) {
        axo__cause cause = {.text = axo__texts_take(&it.texts) & AXO__TEXT_MASK};
        texts_write(cause.text);
        axo__cause_drop_texts(&it.texts, &cause);
    }
}

/* Two hold one text; each reads it, and drops it. */
static void setup_shared(void)
{
    setup_texts();
    it.shared.text = axo__texts_take(&it.texts) & AXO__TEXT_MASK;
    texts_write(it.shared.text);
    axo__cause_hold_texts(&it.texts, &it.shared, 1);
}

static void text_user(void)
{
    axo__cause cause = it.shared;
    weak_reads(axo__texts_at(&it.texts, cause.text));
    axo__cause_drop_texts(&it.texts, &cause);
}

static void check_texts(void)
{
    uint32_t first = axo__texts_take(&it.texts);
    uint32_t second = axo__texts_take(&it.texts);
    weak_expect(first + second == 3 && first != second);
    weak_expect(axo__texts_take(&it.texts) == 0);
}

/* ---- counted before anybody is told ---- */

static void setup_count(void)
{
    memset(&it, 0, sizeof it);
    weak_name(&it.count.dead, "dead");
    weak_name(&it.lane.top, "lane");
}

static void count_and_tell(void)
{
    axo__a64_bump_owner(&it.count.dead);
    axo__stack_push_any(&it.lane, &it.told, 0);
}

static void count_reader(void)
{
    if (axo__stack_take_any(&it.lane) != 0)
        weak_expect((axo__a64_load_relaxed(&it.count.dead)) == 1);
}

static void count_looker(void)
{
    if (axo__stack_has_any(&it.lane))
        weak_expect((axo__a64_load_relaxed(&it.count.dead)) == 1);
}

const weak_scenario weak_cell_scenes[] = {
    {.name = "slot_reuse", .what = "a slot's next life, told without order, and an old reference",
     .setup = setup_slot, .fibers = {recycler, old_reader, reader_of_guessed}, .bound = 2},
    {.name = "plain_birth", .what = "who walks the table beside a plain birth",
     .setup = setup_plain, .fibers = {plain_birth, walker}, .check = check_plain, .bound = 2},
    {.name = "told_birth", .what = "who looks at a cell beside its birth",
     .setup = setup_plain, .fibers = {other_birth, teller}, .check = check_plain, .bound = 2},
    {.name = "other_birth", .what = "who walks the table beside any other birth",
     .setup = setup_plain, .fibers = {other_birth, walker}, .check = check_plain, .bound = 2},
    {.name = "slot_told", .what = "who is told of a newborn finds it",
     .setup = setup_slot, .fibers = {releaser, old_reader, reader_of_told}, .bound = 2},
    {.name = "table_grow", .what = "a shelf is made while references are looked up",
     .setup = setup_grow, .fibers = {grower, guesser, guesser}, .bound = 2},
    {.name = "directives", .what = "two restarts with causes, a stop; taken meanwhile",
     .setup = setup_directives, .fibers = {parent_of_restarts, stopper, child},
     .check = check_directives, .bound = 2},
    {.name = "directives_two", .what = "two restarts with causes, taken meanwhile",
     .setup = setup_directives, .fibers = {parent_of_restarts, child},
     .check = check_directives, .bound = 2},
    {.name = "directives_own", .what = "its own restart and the parent's, the parent's stop",
     .setup = setup_directives, .fibers = {parent_of_own, stopper, child},
     .check = check_directives, .bound = 2},
    {.name = "texts", .what = "texts are taken, written and given back by two",
     .setup = setup_texts, .fibers = {texts_twice, texts_twice}, .check = check_texts,
     .bound = 2},
    {.name = "texts_shared", .what = "a text with two users, beside one that wants it",
     .setup = setup_shared, .fibers = {text_user, text_user, texts_twice}, .check = check_texts,
     .bound = 2},
    {.name = "dead_counter", .what = "who is told of a dead letter finds it counted",
     .setup = setup_count, .fibers = {count_and_tell, count_reader, count_looker}, .bound = 2},
    {.name = NULL},
};
