/* memory.c - the memory model: stores in modification order, clocks, the order of seq_cst. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "schedules/weak/inside.h"

#define LOCS_MAX 256
#define STORES_MAX 96
#define HASH_MAX 1024
#define SC_MAX 128
#define CELLS_MAX 128
#define BORN_MAX 16
#define NAME_SIZE 32
#define NONE 255

typedef struct store {
    uint64_t value;
    weak_clock release; /* what who acquires it knows then */
    const weak_site *site;
    uint8_t fiber;
    uint8_t from;  /* a read-modify-write: the store that it read; else NONE */
    uint8_t taken; /* a read-modify-write has read it */
} store;

/* A fiber has stored or read that. */
typedef struct access {
    uint16_t clock;
    uint8_t store;
} access;

typedef struct location {
    const void *at;
    uint32_t size;
    uint32_t count;
    uint8_t order[STORES_MAX]; /* the modification order */
    uint8_t place[STORES_MAX]; /* of a store in it */
    store stores[STORES_MAX];
    uint8_t accesses[WEAK_ALL_FIBERS];
    access access[WEAK_ALL_FIBERS][STORES_MAX];
    uint8_t born_fiber;
    uint16_t born_clock;
} location;

/* Some of the seq_cst operations, a bit each. */
__extension__ typedef unsigned __int128 sc_set;

/* A seq_cst operation. */
typedef struct sc_event {
    const location *loc;
    sc_set reach;    /* those that come after it */
    uint16_t clock;
    uint16_t beyond; /* clock of its fiber's next event elsewhere; 0: none yet */
    uint8_t fiber;
    uint8_t read;    /* store, or NONE */
    uint8_t wrote;
} sc_event;

/* Plain memory. */
typedef struct cell {
    const void *at;
    uint8_t writer;
    uint16_t written;
    uint16_t read[WEAK_ALL_FIBERS];
} cell;

typedef struct born {
    const char *at;
    size_t size;
    uint8_t fiber;
    uint16_t clock;
} born;

typedef struct fiber_past {
    weak_clock fence;       /* a release fence's */
    weak_clock pending;     /* what an acquire fence would bring */
    weak_clock half;        /* at the latest seq_cst read-modify-write */
    weak_clock latest;      /* after the latest event */
    weak_clock elsewhere;   /* after the latest one on another location than that */
    const location *where;
} fiber_past;

static location locs[LOCS_MAX];
static uint32_t loc_count;
static struct {
    uint32_t stamp;
    uint32_t index;
} hash[HASH_MAX];
static uint32_t stamp;
static sc_event scs[SC_MAX];
static uint32_t sc_count;
static cell cells[CELLS_MAX];
static uint32_t cell_count;
static born borns[BORN_MAX];
static uint32_t born_count;
static fiber_past pasts[WEAK_ALL_FIBERS];
static weak_clock strong_past;

void weak_memory_reset(void)
{
    loc_count = 0;
    sc_count = 0;
    cell_count = 0;
    born_count = 0;
    weak_names_reset();
    stamp++;
    memset(pasts, 0, sizeof pasts);
    memset(weak_it.now, 0, sizeof weak_it.now);
    memset(&strong_past, 0, sizeof strong_past);
}

void weak_memory_fork(void)
{
    for (uint32_t i = 1; i < WEAK_ALL_FIBERS; i++)
        weak_it.now[i] = weak_it.now[0];
}

void weak_memory_join(void)
{
    for (uint32_t i = 1; i < WEAK_ALL_FIBERS; i++)
        weak_it.now[0] = weak_join(weak_it.now[0], weak_it.now[i]);
}

/* ---- names, for traces ---- */

static const char *name_of(const void *at)
{
    static char text[NAME_SIZE] = "plain memory";
    const char *given = weak_name_of(at);
    if (given != NULL)
        return given;
    for (uint32_t i = 0; i < loc_count; i++) {
        if (locs[i].at == at)
            (void)snprintf(text, sizeof text, "word%u", i);
    }
    return text;
}

static void trace(const weak_site *site, const location *loc, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void trace(const weak_site *site, const location *loc, const char *format, ...)
{
    if (!weak_it.tracing)
        return;
    char text[128];
    va_list list;
    va_start(list, format);
    (void)vsnprintf(text, sizeof text, format, list);
    va_end(list);
    const char *file = strrchr(site->file, '/');
    printf("%4u  f%u  %-14s %-16s %-44s %s, %s:%d%s\n", weak_it.steps, weak_it.self, site->op,
           name_of(loc->at), text, site->func, file != NULL ? file + 1 : site->file, site->line,
           site->now != site->order ? "  (weakened)" : "");
}

/* ---- locations ---- */

static uint64_t memory_get(const void *at, uint32_t size)
{
    uint64_t wide = 0;
    uint32_t narrow = 0;
    if (size == sizeof wide) {
        memcpy(&wide, at, sizeof wide);
        return wide;
    }
    memcpy(&narrow, at, sizeof narrow);
    return narrow;
}

static void memory_set(const location *loc, uint64_t value)
{
    void *at = (void *)(uintptr_t)loc->at;
    uint32_t narrow = (uint32_t)value;
    if (loc->size == sizeof value)
        memcpy(at, &value, sizeof value);
    else
        memcpy(at, &narrow, sizeof narrow);
}

static location *loc_add(const void *at, uint32_t size)
{
    if ((uintptr_t)at < 4096)
        weak_fail("an access behind a null pointer");
    if (loc_count == LOCS_MAX)
        weak_fail("more than %d locations", LOCS_MAX);
    location *loc = &locs[loc_count++];
    loc->at = at;
    loc->size = size;
    loc->count = 1;
    loc->order[0] = 0;
    loc->place[0] = 0;
    loc->stores[0] = (store){.value = memory_get(at, size), .from = NONE};
    memset(loc->accesses, 0, sizeof loc->accesses);
    loc->born_fiber = 0;
    loc->born_clock = 0;
    for (uint32_t i = 0; i < born_count; i++) {
        if ((const char *)at < borns[i].at || (const char *)at >= borns[i].at + borns[i].size)
            continue;
        loc->born_fiber = borns[i].fiber;
        loc->born_clock = borns[i].clock;
    }
    return loc;
}

static location *loc_of(const void *at, uint32_t size)
{
    uint64_t mixed = ((uintptr_t)at >> 2) * UINT64_C(0x9e3779b97f4a7c15);
    uint32_t slot = (uint32_t)(mixed >> 40) % HASH_MAX;
    while (hash[slot].stamp == stamp) {
        location *loc = &locs[hash[slot].index];
        if (loc->at == at) {
            if (loc->size != size)
                weak_fail("a location of two sizes");
            return loc;
        }
        slot = (slot + 1) % HASH_MAX;
    }
    hash[slot].stamp = stamp;
    hash[slot].index = loc_count;
    return loc_add(at, size);
}

void weak_born(const void *at, size_t size)
{
    if (born_count == BORN_MAX)
        weak_fail("more than %d regions are born", BORN_MAX);
    uint32_t self = weak_it.self;
    weak_it.now[self][self]++;
    borns[born_count++] = (born){.at = at, .size = size, .fiber = (uint8_t)self,
                                 .clock = weak_it.now[self][self]};
}

static store *loc_at(location *loc, uint32_t place)
{
    return &loc->stores[loc->order[place]];
}

/* The first place whose store this fiber may still read: it knows of none after it. */
static uint32_t loc_floor(const location *loc)
{
    if (weak_it.spins[weak_it.self])
        return loc->count - 1u;
    weak_clock now = weak_it.now[weak_it.self];
    uint32_t floor = 0;
    for (uint32_t t = 0; t < WEAK_ALL_FIBERS; t++) {
        uint32_t i = loc->accesses[t];
        while (i > 0 && loc->access[t][i - 1].clock > now[t])
            i--;
        if (i > 0 && loc->place[loc->access[t][i - 1].store] > floor)
            floor = loc->place[loc->access[t][i - 1].store];
    }
    return floor;
}

static void loc_accessed(location *loc, uint32_t which)
{
    uint32_t self = weak_it.self;
    uint32_t count = loc->accesses[self];
    if (count > 0 && loc->access[self][count - 1].store == which)
        return;
    if (count == STORES_MAX)
        weak_fail("too many accesses of one word");
    loc->access[self][count] =
        (access){.clock = weak_it.now[self][self], .store = (uint8_t)which};
    loc->accesses[self]++;
}

static uint32_t loc_insert(location *loc, uint32_t place, const store *what)
{
    uint32_t which = loc->count;
    if (which == STORES_MAX)
        weak_fail("more than %d stores to one word", STORES_MAX);
    for (uint32_t i = which; i > place; i--) {
        loc->order[i] = loc->order[i - 1];
        loc->place[loc->order[i]] = (uint8_t)i;
    }
    loc->order[place] = (uint8_t)which;
    loc->place[which] = (uint8_t)place;
    loc->stores[which] = *what;
    loc->count++;
    if (place == which)
        memory_set(loc, what->value);
    return which;
}

/* ---- the order of seq_cst operations ---- */

/* What an operation would be: reads a store (or NONE), writes at a place (or NONE). */
typedef struct attempt {
    const location *loc;
    uint32_t read;
    uint32_t place;
    uint8_t order;
} attempt;

static weak_clock sc_elsewhere(const location *loc)
{
    const fiber_past *past = &pasts[weak_it.self];
    return past->where != loc ? past->latest : past->elsewhere;
}

/* What it would know. */
static weak_clock sc_now(const attempt *e)
{
    weak_clock now = weak_it.now[weak_it.self];
    if (e->read != NONE && (e->order & WEAK_ACQUIRE) != 0)
        now = weak_join(now, e->loc->stores[e->read].release);
    return now;
}

static bool sc_is_before(const sc_event *a, const attempt *e, weak_clock now, weak_clock elsewhere)
{
    if (a->fiber == weak_it.self)
        return true;
    if (a->loc != e->loc)
        return a->beyond != 0 && a->beyond <= elsewhere[a->fiber];
    if (a->clock <= now[a->fiber])
        return true;
    if (e->place == NONE)
        return false;
    return (a->wrote != NONE && e->loc->place[a->wrote] < e->place) ||
           (a->read != NONE && e->loc->place[a->read] < e->place);
}

static bool sc_is_after(const sc_event *a, const attempt *e)
{
    if (a->loc != e->loc || a->wrote == NONE)
        return false;
    uint32_t place = e->loc->place[a->wrote];
    return (e->place != NONE && place >= e->place) ||
           (e->read != NONE && place > e->loc->place[e->read]);
}

/* false: it would close a circle. */
static bool sc_look(const attempt *e, sc_set *before, sc_set *after)
{
    weak_clock now = sc_now(e);
    weak_clock elsewhere = sc_elsewhere(e->loc);
    *before = 0;
    *after = 0;
    for (uint32_t i = 0; i < sc_count; i++) {
        if (sc_is_before(&scs[i], e, now, elsewhere))
            *before |= (sc_set)1 << i;
        if (sc_is_after(&scs[i], e))
            *after |= (sc_set)1 << i | scs[i].reach;
    }
    return (*before & *after) == 0;
}

static bool sc_allows(const weak_site *site, const location *loc, uint32_t read, uint32_t place)
{
    sc_set before;
    sc_set after;
    attempt e = {.loc = loc, .read = read, .place = place, .order = site->now};
    return (site->now & WEAK_SEQ_CST) == 0 || sc_look(&e, &before, &after);
}

/* Notes it, before it is put in its place. */
static sc_event *sc_add(const attempt *e)
{
    sc_set before;
    sc_set after;
    if (sc_count == SC_MAX)
        weak_fail("more than %d seq_cst operations", SC_MAX);
    (void)sc_look(e, &before, &after);
    sc_set self = (sc_set)1 << sc_count;
    for (uint32_t i = 0; i < sc_count; i++) {
        if ((before >> i & 1) != 0 || (scs[i].reach & before) != 0)
            scs[i].reach |= self | after;
    }
    sc_event *event = &scs[sc_count++];
    *event = (sc_event){.loc = e->loc, .reach = after, .fiber = (uint8_t)weak_it.self,
                        .read = (uint8_t)e->read, .wrote = NONE};
    return event;
}

/* ---- events ---- */

/* One begins; its clock runs. loc NULL: a fence, or plain memory. */
static void event_begin(const location *loc)
{
    uint32_t self = weak_it.self;
    weak_it.now[self][self]++;
    for (uint32_t i = 0; i < sc_count; i++) {
        if (scs[i].fiber == self && scs[i].beyond == 0 && scs[i].loc != loc)
            scs[i].beyond = weak_it.now[self][self];
    }
}

static void event_end(const location *loc)
{
    fiber_past *past = &pasts[weak_it.self];
    if (past->where != loc) {
        past->elsewhere = past->latest;
        past->where = loc;
    }
    past->latest = weak_it.now[weak_it.self];
}

static uint8_t event_order(const weak_site *site)
{
    bool strong = weak_it.scenario->rules == WEAK_X86;
    return strong ? site->now | WEAK_ACQUIRE | WEAK_RELEASE : site->now;
}

/* A barrier of what is in `given`, and what comes now: on x86-64 a read-modify-write is one of all
 * that was before it. */
static void event_barrier(weak_clock given)
{
    weak_clock *now = &weak_it.now[weak_it.self];
    *now = weak_join(*now, strong_past);
    strong_past = weak_join(strong_past, given);
}

/* The first half of a barrier of aarch64 is a seq_cst read-modify-write, its second half the next
 * seq_cst operation that reads, which what it reads comes after. */
static void event_first_half(const weak_site *site)
{
    uint32_t self = weak_it.self;
    if (weak_it.scenario->rules == WEAK_ARM && (site->now & WEAK_SEQ_CST) != 0)
        pasts[self].half = weak_it.now[self];
}

static void event_second_half(const weak_site *site)
{
    uint32_t self = weak_it.self;
    if (weak_it.scenario->rules == WEAK_ARM && (site->now & WEAK_SEQ_CST) != 0 &&
        pasts[self].half[self] != 0)
        event_barrier(pasts[self].half);
}

static void event_acquire(const store *from, uint8_t order)
{
    uint32_t self = weak_it.self;
    if ((order & WEAK_ACQUIRE) != 0)
        weak_it.now[self] = weak_join(weak_it.now[self], from->release);
    else
        pasts[self].pending = weak_join(pasts[self].pending, from->release);
}

static location *event_at(const void *at, uint32_t size, weak_site *site)
{
    weak_known(site);
    weak_point();
    location *loc = loc_of(at, size);
    if (weak_it.now[weak_it.self][loc->born_fiber] < loc->born_clock)
        weak_fail("%s of a word whose initialisation is not ordered before it, in %s:%d", site->op,
                  site->file, site->line);
    return loc;
}

/* The read part. */
static void event_read(location *loc, uint32_t which, weak_site *site, bool sc)
{
    event_begin(loc);
    attempt e = {.loc = loc, .read = which, .place = NONE, .order = site->now};
    if (sc)
        sc_add(&e)->clock = weak_it.now[weak_it.self][weak_it.self];
    event_acquire(&loc->stores[which], event_order(site));
    loc_accessed(loc, which);
}

/* The write part. read: the store that it has read, or NONE. */
static uint32_t event_write(location *loc, uint32_t place, uint64_t value, uint32_t read,
                            weak_site *site)
{
    uint32_t self = weak_it.self;
    uint8_t order = event_order(site);
    attempt e = {.loc = loc, .read = read, .place = place, .order = site->now};
    event_begin(loc);
    sc_event *event = (site->now & WEAK_SEQ_CST) != 0 ? sc_add(&e) : NULL;
    if (read != NONE) {
        event_acquire(&loc->stores[read], order);
        if (weak_it.scenario->rules == WEAK_X86)
            event_barrier(weak_it.now[self]);
        event_first_half(site);
    }
    store what = {.value = value, .site = site, .fiber = (uint8_t)self, .from = (uint8_t)read,
                  .release = pasts[self].fence};
    if ((order & WEAK_RELEASE) != 0)
        what.release = weak_it.now[self];
    if (read != NONE) {
        what.release = weak_join(what.release, loc->stores[read].release);
        loc->stores[read].taken = 1;
    }
    uint32_t which = loc_insert(loc, place, &what);
    loc_accessed(loc, which);
    if (event != NULL) {
        event->clock = weak_it.now[self][self];
        event->wrote = (uint8_t)which;
    }
    return which;
}

/* ---- operations ---- */

static uint32_t pick(const uint8_t *of, uint32_t count)
{
    return of[weak_choose(count)];
}

uint64_t weak_load(const void *at, uint32_t size, weak_site *site)
{
    location *loc = event_at(at, size, site);
    event_second_half(site);
    uint32_t floor = loc_floor(loc);
    uint8_t may[STORES_MAX];
    uint32_t count = 0;
    for (uint32_t place = loc->count; place-- > floor;) {
        if (sc_allows(site, loc, loc->order[place], NONE))
            may[count++] = loc->order[place];
    }
    uint32_t which = pick(may, count);
    const store *from = &loc->stores[which];
    event_read(loc, which, site, (site->now & WEAK_SEQ_CST) != 0);
    event_end(loc);
    trace(site, loc, "%#lx  by f%u, %u of %u", (unsigned long)from->value, from->fiber,
          loc->place[which] + 1u, loc->count);
    return from->value;
}

void weak_store(void *at, uint32_t size, uint64_t value, weak_site *site)
{
    location *loc = event_at(at, size, site);
    uint32_t place = loc->count;
    uint8_t may[STORES_MAX];
    uint32_t count = 0;
    uint32_t floor = weak_it.scenario->places ? loc_floor(loc) + 1 : loc->count;
    for (uint32_t i = loc->count + 1; i-- > floor;) {
        bool parts = i < loc->count && loc_at(loc, i)->from == loc->order[i - 1];
        if (!parts && sc_allows(site, loc, NONE, i))
            may[count++] = (uint8_t)i;
    }
    place = pick(may, count);
    (void)event_write(loc, place, value, NONE, site);
    event_end(loc);
    trace(site, loc, "<- %#lx  as %u of %u", (unsigned long)value, place + 1u, loc->count);
}

static uint64_t change(weak_rmw how, uint64_t old, uint64_t operand)
{
    switch (how) {
    case WEAK_ADD:
        return old + operand;
    case WEAK_OR:
        return old | operand;
    case WEAK_AND:
        return old & operand;
    case WEAK_XCHG:
        break;
    }
    return operand;
}

/* A read-modify-write may read it. */
static bool may_take(const location *loc, uint32_t place, const weak_site *site)
{
    uint32_t which = loc->order[place];
    if (loc->stores[which].taken != 0)
        return false;
    if (!weak_it.scenario->places && place + 1 != loc->count)
        return false;
    return sc_allows(site, loc, which, place + 1);
}

uint64_t weak_change(void *at, uint32_t size, weak_rmw how, uint64_t operand, weak_site *site)
{
    location *loc = event_at(at, size, site);
    event_second_half(site);
    uint32_t floor = loc_floor(loc);
    uint8_t may[STORES_MAX];
    uint32_t count = 0;
    for (uint32_t place = loc->count; place-- > floor;) {
        if (may_take(loc, place, site))
            may[count++] = loc->order[place];
    }
    uint32_t which = pick(may, count);
    uint64_t old = loc->stores[which].value;
    uint64_t value = change(how, old, operand);
    if (size == sizeof(uint32_t))
        value = (uint32_t)value;
    (void)event_write(loc, loc->place[which] + 1u, value, which, site);
    event_end(loc);
    trace(site, loc, "%#lx -> %#lx", (unsigned long)old, (unsigned long)value);
    return old;
}

bool weak_cas(void *at, uint32_t size, uint64_t *expected, uint64_t desired, weak_site *site)
{
    location *loc = event_at(at, size, site);
    event_second_half(site);
    uint32_t floor = loc_floor(loc);
    uint8_t may[STORES_MAX];
    uint32_t count = 0;
    for (uint32_t place = loc->count; place-- > floor;) {
        bool same = loc_at(loc, place)->value == *expected;
        if (same ? may_take(loc, place, site) : sc_allows(site, loc, loc->order[place], NONE))
            may[count++] = loc->order[place];
    }
    uint32_t which = pick(may, count);
    uint64_t old = loc->stores[which].value;
    bool done = old == *expected;
    if (done)
        (void)event_write(loc, loc->place[which] + 1u, desired, which, site);
    else
        event_read(loc, which, site, (site->now & WEAK_SEQ_CST) != 0);
    event_end(loc);
    trace(site, loc, "%#lx, wants %#lx: %s %#lx", (unsigned long)old, (unsigned long)*expected,
          done ? "->" : "stays, not", (unsigned long)desired);
    *expected = old;
    return done;
}

void weak_fence(uint8_t order)
{
    uint32_t self = weak_it.self;
    event_begin(NULL);
    if ((order & WEAK_ACQUIRE) != 0)
        weak_it.now[self] = weak_join(weak_it.now[self], pasts[self].pending);
    if ((order & WEAK_RELEASE) != 0)
        pasts[self].fence = weak_it.now[self];
    event_end(NULL);
}

/* ---- plain memory ---- */

static cell *cell_of(const void *at)
{
    for (uint32_t i = 0; i < cell_count; i++) {
        if (cells[i].at == at)
            return &cells[i];
    }
    if (cell_count == CELLS_MAX)
        weak_fail("more than %d plain words", CELLS_MAX);
    cells[cell_count] = (cell){.at = at};
    return &cells[cell_count++];
}

static void cell_trace(const void *at, const char *what)
{
    if (weak_it.tracing)
        printf("%4u  f%u  %-14s %s\n", weak_it.steps, weak_it.self, what, name_of(at));
}

void weak_wrote(const void *at)
{
    cell *it = cell_of(at);
    uint32_t self = weak_it.self;
    event_begin(NULL);
    cell_trace(at, "writes");
    weak_clock now = weak_it.now[self];
    if (it->written > now[it->writer])
        weak_fail("a race: f%u writes %s, which f%u wrote", self, name_of(at), it->writer);
    for (uint32_t t = 0; t < WEAK_ALL_FIBERS; t++) {
        if (it->read[t] > now[t])
            weak_fail("a race: f%u writes %s, which f%u reads", self, name_of(at), t);
    }
    it->writer = (uint8_t)self;
    it->written = now[self];
    event_end(NULL);
}

void weak_reads(const void *at)
{
    cell *it = cell_of(at);
    uint32_t self = weak_it.self;
    event_begin(NULL);
    cell_trace(at, "reads");
    if (it->written > weak_it.now[self][it->writer])
        weak_fail("a race: f%u reads %s, which f%u wrote", self, name_of(at), it->writer);
    it->read[self] = weak_it.now[self][self];
    event_end(NULL);
}

void weak_give(weak_knot *knot)
{
    weak_clock all;
    event_begin(NULL);
    memcpy(&all, knot->clock, sizeof all);
    all = weak_join(all, weak_it.now[weak_it.self]);
    memcpy(knot->clock, &all, sizeof all);
    event_end(NULL);
}

void weak_get(const weak_knot *knot)
{
    weak_clock all;
    event_begin(NULL);
    memcpy(&all, knot->clock, sizeof all);
    weak_it.now[weak_it.self] = weak_join(weak_it.now[weak_it.self], all);
    event_end(NULL);
}
