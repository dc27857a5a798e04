/* sim_choice.c - every choice of a run: drawn by a strategy, or read from a log; always logged.
 *
 * A choice is a number of a kind, and 0 is the ordinary course. Because each kind draws from its
 * own stream and only choices other than 0 are logged, a failing run's log can be thinned out: an
 * entry that is removed becomes 0, and the other kinds do not move. */
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/random.h"
#include "os/sim_inside.h"

/* With `sticky`, a fiber goes on in all but one of this many choices. */
#define CHOICE_STICKY 10
/* A starved fiber is not run for 10 to 10000 choices, log-uniform. */
#define CHOICE_STARVE_MIN 10U
#define CHOICE_STARVE_OCTAVES 10
/* Choices between two victims, at most; and between two stops or releases. */
#define CHOICE_STARVE_GAP 64
#define CHOICE_SWIZZLE_GAP 24
#define CHOICE_STOPPED_MAX 16
#define CHOICE_DROPS_MAX 9
/* The length of a run that drops of priority are spread over, if nothing else is said. */
#define CHOICE_PCT_LENGTH 250
#define CHOICE_DIGITS 10

typedef enum choice_strategy {
    CHOICE_RANDOM = 0,
    CHOICE_STICKY_WALK,
    CHOICE_PCT,
    CHOICE_STARVE,
    CHOICE_SWIZZLE,
    CHOICE_BOUND,
    CHOICE_DELAY,
    CHOICE_DEFAULT
} choice_strategy;

/* A choice of the exhaustive walk. Values from `paid` on cost one of the bound. */
typedef struct choice_step {
    uint32_t value;
    uint32_t count;
    uint32_t paid;
} choice_step;

/* The entries of a log that are of one kind, in order. */
typedef struct choice_given {
    axo__sim_choice *all;
    size_t count;
    size_t next;
} choice_given;

typedef struct choice_world {
    choice_strategy strategy;
    uint32_t parameter;
    uint64_t length;                 /* pct */
    uint64_t seed;
    axo__random streams[AXO__SIM_KINDS];
    axo__random mind;                /* the strategy's own */
    uint64_t counts[AXO__SIM_KINDS]; /* choices made */
    bool replay;
    choice_given given[AXO__SIM_KINDS];
    axo__sim_choice *log;
    size_t log_count;
    size_t log_room;
    /* pct: the places of drops, ascending; the ids that have dropped, the lowest last */
    uint64_t drops[CHOICE_DROPS_MAX];
    uint32_t drop_count;
    uint32_t drop_next;
    uint32_t dropped[CHOICE_STOPPED_MAX];
    uint32_t dropped_count;
    /* starve, swizzle */
    uint32_t stopped[CHOICE_STOPPED_MAX];
    uint32_t stopped_count;
    bool releasing;
    uint64_t until;
    /* bound */
    choice_step *steps;
    size_t step_count;
    size_t step_room;
    size_t step_next;
    uint32_t spent;
} choice_world;

/* The choices of the one run. */
static choice_world choice;

static const char *const choice_names[AXO__SIM_KINDS] = {
    "who", "early", "starve", "whom", "long", "test", "operation", "fault", "actor"};

const char *axo__sim_kind_name(uint32_t kind)
{
    return kind < AXO__SIM_KINDS ? choice_names[kind] : "?";
}

uint32_t axo__sim_kind_named(const char *name)
{
    uint32_t kind = 0;
    while (kind < AXO__SIM_KINDS && strcmp(choice_names[kind], name) != 0)
        kind++;
    return kind;
}

static void *choice_grow(void *array, size_t *room, size_t size)
{
    *room = *room == 0 ? 1024 : *room * 2;
    void *more = realloc(array, *room * size);
    AXO_ASSERT(more != NULL);
    return more;
}

/* ---- which strategy ---- */

bool axo__sim_strategy(const char *text)
{
    static const struct {
        const char *name;
        choice_strategy strategy;
        uint32_t least; /* of its parameter; 0: it has none */
        uint32_t most;
    } all[] = {{"random", CHOICE_RANDOM, 0, 0},   {"sticky", CHOICE_STICKY_WALK, 0, 0},
               {"pct", CHOICE_PCT, 1, 9},         {"starve", CHOICE_STARVE, 0, 0},
               {"swizzle", CHOICE_SWIZZLE, 0, 0}, {"bound", CHOICE_BOUND, 0, 9},
               {"delay", CHOICE_DELAY, 0, 9},     {"default", CHOICE_DEFAULT, 0, 0}};
    size_t length = strcspn(text, ":");
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (strncmp(all[i].name, text, length) != 0 || all[i].name[length] != 0)
            continue;
        char *end = NULL;
        unsigned long number = text[length] == ':' ? strtoul(text + length + 1, &end, CHOICE_DIGITS)
                                                   : 0;
        unsigned long run = CHOICE_PCT_LENGTH;
        if (end != NULL && *end == ':' && all[i].strategy == CHOICE_PCT)
            run = strtoul(end + 1, &end, CHOICE_DIGITS);
        if ((end == NULL) != (all[i].most == 0) || (end != NULL && *end != 0) ||
            number < all[i].least || number > all[i].most || run == 0)
            return false;
        choice.strategy = all[i].strategy;
        choice.parameter = (uint32_t)number;
        choice.length = run;
        choice.step_count = 0;
        return true;
    }
    return false;
}

static int choice_compare(const void *left, const void *right)
{
    const uint64_t *a = left;
    const uint64_t *b = right;
    return *a < *b ? -1 : *a > *b;
}

void axo__sim_choice_reset(uint64_t seed)
{
    static const uint64_t names = UINT64_C(0x63686f69636500);
    choice.seed = seed;
    for (uint32_t i = 0; i < AXO__SIM_KINDS; i++) {
        axo__random_init(&choice.streams[i], seed, names + i);
        choice.counts[i] = 0;
        choice.given[i].next = choice.given[i].count = 0;
    }
    axo__random_init(&choice.mind, seed, names + AXO__SIM_KINDS);
    choice.replay = false;
    choice.log_count = 0;
    choice.drop_next = choice.drop_count = choice.dropped_count = choice.stopped_count = 0;
    choice.releasing = false;
    choice.until = axo__random_below(&choice.mind, CHOICE_STARVE_GAP);
    choice.step_next = 0;
    choice.spent = 0;
    if (choice.strategy != CHOICE_PCT)
        return;
    choice.drop_count = choice.parameter - 1;
    for (uint32_t i = 0; i < choice.drop_count; i++)
        choice.drops[i] = axo__random_next(&choice.mind) % choice.length;
    qsort(choice.drops, choice.drop_count, sizeof choice.drops[0], choice_compare);
}

/* ---- logs ---- */

const axo__sim_choice *axo__sim_log(size_t *count)
{
    *count = choice.log_count;
    return choice.log;
}

uint64_t axo__sim_choices(axo__sim_kind kind)
{
    return choice.counts[kind];
}

void axo__sim_replay(const axo__sim_choice *log, size_t count)
{
    choice.replay = true;
    for (uint32_t kind = 0; kind < AXO__SIM_KINDS; kind++) {
        choice_given *given = &choice.given[kind];
        given->count = given->next = 0;
        given->all = realloc(given->all, (count + 1) * sizeof *given->all);
        AXO_ASSERT(given->all != NULL);
    }
    for (size_t i = 0; i < count; i++) {
        AXO_ASSERT(log[i].kind < AXO__SIM_KINDS);
        choice_given *given = &choice.given[log[i].kind];
        given->all[given->count++] = log[i];
    }
}

/* The value that the log names for this choice; 0: the log does not name it. */
static uint32_t choice_from_log(uint32_t kind, uint32_t count, uint64_t index)
{
    choice_given *given = &choice.given[kind];
    while (given->next < given->count && given->all[given->next].index < index)
        given->next++;
    if (given->next == given->count || given->all[given->next].index != index)
        return 0;
    return given->all[given->next].value % count;
}

/* ---- bound ---- */

static bool choice_walks(void)
{
    return choice.strategy == CHOICE_BOUND || choice.strategy == CHOICE_DELAY;
}

/* A choice of the exhaustive walk: the first steps are those of the last run, with the last of them
 * moved on; the steps behind are 0. */
static uint32_t choice_walk(uint32_t count, uint32_t paid)
{
    if (choice.step_next == choice.step_count) {
        if (choice.step_count == choice.step_room)
            choice.steps = choice_grow(choice.steps, &choice.step_room, sizeof *choice.steps);
        choice.steps[choice.step_count++] = (choice_step){.count = count, .paid = paid};
    }
    const choice_step *step = &choice.steps[choice.step_next++];
    /* otherwise two runs of the same choices differ, and the walk is no walk */
    AXO_ASSERT(step->count == count && step->paid == paid);
    choice.spent += step->value >= paid;
    return step->value;
}

bool axo__sim_more(void)
{
    if (!choice_walks())
        return true;
    choice.step_count = choice.step_next;
    while (choice.step_count > 0) {
        choice_step *step = &choice.steps[choice.step_count - 1];
        choice.spent -= step->value >= step->paid;
        uint32_t next = step->value + 1;
        bool affords = next < step->paid || choice.spent < choice.parameter;
        if (next < step->count && affords) {
            step->value = next;
            return true;
        }
        choice.step_count--;
    }
    return false;
}

/* ---- choosing ---- */

static uint32_t choice_logged(uint32_t kind, uint64_t index, uint32_t value)
{
    if (value == 0)
        return 0;
    if (choice.log_count == choice.log_room)
        choice.log = choice_grow(choice.log, &choice.log_room, sizeof *choice.log);
    choice.log[choice.log_count++] =
        (axo__sim_choice){.kind = kind, .value = value, .index = index};
    return value;
}

/* The kinds that an exhaustive walk branches at; the others stay 0, or no walk would end. */
static bool choice_branches(uint32_t kind)
{
    return kind == AXO__SIM_WHO || kind == AXO__SIM_EARLY || kind >= AXO__SIM_TEST;
}

uint32_t axo__sim_choose(axo__sim_kind kind, uint32_t count)
{
    uint32_t value = 0;
    AXO_ASSERT(count > 0 && kind < AXO__SIM_KINDS);
    if (count == 1)
        return 0;
    uint64_t index = choice.counts[kind]++;
    if (choice.replay)
        value = choice_from_log(kind, count, index);
    else if (choice_walks())
        value = choice_branches(kind) ? choice_walk(count, count) : 0;
    else if (choice.strategy != CHOICE_DEFAULT)
        value = axo__random_below(&choice.streams[kind], count);
    return choice_logged(kind, index, value);
}

bool axo__sim_chance(axo__sim_kind kind, uint32_t one_in)
{
    uint32_t value = 0;
    AXO_ASSERT(kind < AXO__SIM_KINDS);
    if (one_in == 0)
        return false;
    uint64_t index = choice.counts[kind]++;
    if (choice.replay)
        value = choice_from_log(kind, 2, index);
    else if (choice_walks())
        value = choice_branches(kind) ? choice_walk(2, 1) : 0;
    else if (choice.strategy != CHOICE_DEFAULT)
        value = axo__random_below(&choice.streams[kind], one_in) == 0;
    return choice_logged(kind, index, value) != 0;
}

/* ---- the next thread ---- */

static bool choice_is_in(const uint32_t *all, uint32_t count, uint32_t id)
{
    for (uint32_t i = 0; i < count; i++) {
        if (all[i] == id)
            return true;
    }
    return false;
}

/* The first fiber that is not stopped, at or after a place; the place itself, if all are
 * stopped. */
static uint32_t choice_unstopped(const uint32_t *ids, uint32_t count, uint32_t from)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = (from + i) % count;
        if (!choice_is_in(choice.stopped, choice.stopped_count, ids[at]))
            return at;
    }
    return from;
}

static uint32_t choice_random(uint32_t count)
{
    return axo__random_below(&choice.streams[AXO__SIM_WHO], count);
}

/* Between two periods of starvation lies a random number of free choices. */
static uint32_t choice_starve(const uint32_t *ids, uint32_t count)
{
    if (choice.counts[AXO__SIM_WHO] >= choice.until && choice.stopped_count == 0) {
        uint32_t span = CHOICE_STARVE_MIN << axo__random_below(&choice.mind, CHOICE_STARVE_OCTAVES);
        span += axo__random_below(&choice.mind, span);
        choice.stopped[choice.stopped_count++] = ids[axo__random_below(&choice.mind, count)];
        choice.until = choice.counts[AXO__SIM_WHO] + span;
    } else if (choice.counts[AXO__SIM_WHO] >= choice.until) {
        choice.stopped_count = 0;
        choice.until = choice.counts[AXO__SIM_WHO] +
                       axo__random_below(&choice.mind, CHOICE_STARVE_GAP);
    }
    return choice_unstopped(ids, count, choice_random(count));
}

/* Stops one fiber after the other, then releases them in another order: long overlaps of half-done
 * calls. */
static uint32_t choice_swizzle(const uint32_t *ids, uint32_t count)
{
    if (choice.counts[AXO__SIM_WHO] >= choice.until) {
        choice.until = choice.counts[AXO__SIM_WHO] + 1 +
                       axo__random_below(&choice.mind, CHOICE_SWIZZLE_GAP);
        uint32_t at = choice_unstopped(ids, count, axo__random_below(&choice.mind, count));
        bool all = choice_is_in(choice.stopped, choice.stopped_count, ids[at]);
        if (choice.stopped_count == 0)
            choice.releasing = false;
        else if (all || choice.stopped_count == CHOICE_STOPPED_MAX)
            choice.releasing = true;
        if (choice.releasing) {
            uint32_t freed = axo__random_below(&choice.mind, choice.stopped_count);
            choice.stopped[freed] = choice.stopped[--choice.stopped_count];
        } else if (!all) {
            choice.stopped[choice.stopped_count++] = ids[at];
        }
    }
    return choice_unstopped(ids, count, choice_random(count));
}

void axo__sim_behind(uint32_t id)
{
    uint32_t count = choice.dropped_count;
    if (choice.strategy != CHOICE_PCT)
        return;
    for (uint32_t i = 0; i < choice.dropped_count; i++) {
        if (choice.dropped[i] != id)
            continue;
        memmove(&choice.dropped[i], &choice.dropped[i + 1], (count - i - 1) * sizeof(uint32_t));
        choice.dropped_count--;
        break;
    }
    if (choice.dropped_count < CHOICE_STOPPED_MAX)
        choice.dropped[choice.dropped_count++] = id;
}

/* The priority of an id; the highest goes first. An id that has dropped is below all others, the
 * later the lower. */
static uint64_t choice_priority(uint32_t id)
{
    for (uint32_t i = 0; i < choice.dropped_count; i++) {
        if (choice.dropped[i] == id)
            return CHOICE_STOPPED_MAX - i;
    }
    axo__random own;
    axo__random_init(&own, choice.seed, UINT64_C(0x7072696f0000) + id);
    return axo__random_next(&own) | UINT64_C(1) << 63;
}

static uint32_t choice_highest(const uint32_t *ids, uint32_t count)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < count; i++) {
        if (choice_priority(ids[i]) > choice_priority(ids[best]))
            best = i;
    }
    return best;
}

static uint32_t choice_pct(const uint32_t *ids, uint32_t count)
{
    while (choice.drop_next < choice.drop_count &&
           choice.counts[AXO__SIM_WHO] > choice.drops[choice.drop_next]) {
        choice.drop_next++;
        axo__sim_behind(ids[choice_highest(ids, count)]);
    }
    return choice_highest(ids, count);
}

uint32_t axo__sim_who(const uint32_t *ids, uint32_t count, bool stays)
{
    uint32_t value = 0;
    if (count == 1)
        return 0;
    uint64_t index = choice.counts[AXO__SIM_WHO]++;
    if (choice.replay)
        return choice_logged(AXO__SIM_WHO, index, choice_from_log(AXO__SIM_WHO, count, index));
    switch (choice.strategy) {
    case CHOICE_RANDOM:
        value = choice_random(count);
        break;
    case CHOICE_STICKY_WALK:
        if (!stays || choice_random(CHOICE_STICKY) == 0)
            value = choice_random(count);
        break;
    case CHOICE_PCT:
        value = choice_pct(ids, count);
        break;
    case CHOICE_STARVE:
        value = choice_starve(ids, count);
        break;
    case CHOICE_SWIZZLE:
        value = choice_swizzle(ids, count);
        break;
    case CHOICE_BOUND:
        value = choice_walk(count, stays ? 1 : count);
        break;
    case CHOICE_DELAY:
        value = choice_walk(count, 1);
        break;
    case CHOICE_DEFAULT:
        break;
    }
    return choice_logged(AXO__SIM_WHO, index, value);
}
