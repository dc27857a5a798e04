/* fuzz_wheel.c - timers with arbitrary delays against plain lists of them.
 *
 * Length 1024. By the first byte: the wheel alone (sched/wheel.c), with small budgets and a clock
 * that may go back, and may say anything; the timers of a worker that embed it (sched/timer.c); or
 * raw timers of a system through the public functions (sched/scheduled.c). Never early, at most a
 * tick late, in order; a cancelled one never fires, and a cancel succeeds exactly once.
 */
#include "fuzz/fuzz.h"
#include "fuzz/timers.h"

#include "os/os.h"
#include "sched/wheel.h"

enum { ITEMS = 48, OPERATIONS_MAX = 400 };

typedef struct item {
    axo__wheel_node node; /* first */
    int64_t due;
    uint64_t number;      /* of the adding */
    bool in;
} item;

static struct {
    axo__wheel wheel;
    item items[ITEMS];
    int64_t now;
    uint64_t number;
    bool removed;  /* since the wheel was last empty: `least` may be too low */
} w;

__extension__ typedef __int128 wide;

/* The first tick that is not early, counted with more bits than a time has. */
static uint64_t tick_of(int64_t due)
{
    wide since = (wide)due - INT64_MIN;
    return (uint64_t)((since + AXO_TICK_NS - 1) / AXO_TICK_NS);
}

static uint64_t tick_reached(int64_t now)
{
    wide since = (wide)now - INT64_MIN;
    return now == INT64_MAX ? AXO__TICK_END : (uint64_t)(since / AXO_TICK_NS);
}

/* What is late counts as what the wheel has come to. */
static uint64_t tick_counts(const item *it, uint64_t cursor)
{
    return it->node.tick > cursor ? it->node.tick : cursor;
}

/* The one that is to come out next; NULL: none is in. */
static item *wheel_earliest(uint64_t cursor)
{
    item *best = NULL;
    for (uint32_t i = 0; i < ITEMS; i++) {
        item *it = &w.items[i];
        if (!it->in)
            continue;
        uint64_t mine = tick_counts(it, cursor);
        uint64_t least = best != NULL ? tick_counts(best, cursor) : AXO__TICK_NEVER + 1;
        if (mine < least || (mine == least && it->number < best->number))
            best = it;
    }
    return best;
}

/* I1, I2 and I4 of wheel.h; every node is where its place says. */
static void wheel_check(void)
{
    uint32_t found = 0;
    uint32_t in = 0;
    for (uint32_t i = 0; i < ITEMS; i++)
        in += w.items[i].in ? 1 : 0;
    for (uint32_t level = 0; level <= AXO__WHEEL_LEVELS; level++) {
        fuzz_require((w.wheel.levels >> level & 1) == (w.wheel.slots[level] != 0));
        for (uint64_t bits = w.wheel.slots[level]; bits != 0; bits &= bits - 1) {
            uint32_t place = level * AXO__WHEEL_SLOTS + (uint32_t)__builtin_ctzll(bits);
            const axo__wheel_node *node = w.wheel.lists[place].first;
            fuzz_require(node != NULL && node->before == NULL);
            for (; node != NULL; node = node->next, found++) {
                uint64_t counts = tick_counts((const item *)(const void *)node, w.wheel.cursor);
                uint64_t differ = counts ^ w.wheel.cursor;
                bool right = differ >> (6 * level) < 64 &&
                             (counts >> (6 * level) & 63) == place % AXO__WHEEL_SLOTS;
                fuzz_require(right && node->place == place && node->tick >= w.wheel.least[place]);
                fuzz_require(node->next == NULL || node->next->before == node);
                fuzz_require(w.wheel.spreading == place || level == 0 || differ >> (6 * level) > 0);
            }
        }
    }
    fuzz_require(found == in);
}

static void wheel_check_next(void)
{
    const item *first = wheel_earliest(w.wheel.cursor);
    uint64_t next = axo__wheel_next(&w.wheel);
    uint64_t least = AXO__TICK_NEVER;
    for (uint32_t i = 0; i < ITEMS; i++) {
        if (w.items[i].in && w.items[i].node.tick < least)
            least = w.items[i].node.tick;
    }
    fuzz_require(next <= least);
    if (first == NULL)
        w.removed = false;
    if (!w.removed)
        fuzz_require(next == least);
}

static void wheel_add(fuzz_in *in, item *it)
{
    uint8_t kind = fuzz_u8(in);
    int64_t delay = fuzz_far(in);
    if (it->in)
        return;
    it->due = (kind & 1) != 0 ? axo__clock_add(w.now, delay > 0 ? delay : 0) : delay;
    if (kind >= 0xe0)
        it->due = (int64_t)fuzz_u64(in);
    it->number = ++w.number;
    uint64_t tick = kind == 0xdf ? AXO__TICK_NEVER : axo__tick_at(it->due);
    fuzz_require(kind == 0xdf || tick == tick_of(it->due));
    axo__wheel_add(&w.wheel, &it->node, tick, w.now);
    it->in = true;
}

static void wheel_remove(item *it)
{
    if (!it->in)
        return;
    axo__wheel_remove(&w.wheel, &it->node);
    it->in = false;
    w.removed = true;
    fuzz_require(it->node.place == AXO__WHEEL_NONE);
}

static void wheel_pop(uint32_t budget)
{
    uint64_t reached = tick_reached(w.now);
    const item *want = wheel_earliest(reached < w.wheel.cursor ? reached : w.wheel.cursor);
    uint32_t given = budget;
    item *it = (item *)(void *)axo__wheel_pop(&w.wheel, w.now, &budget);
    fuzz_require(budget <= given);
    if (it == NULL) {
        for (uint32_t i = 0; i < ITEMS && budget > 0; i++)
            fuzz_require(!w.items[i].in || w.items[i].node.tick > reached);
        return;
    }
    fuzz_require(it->in && budget < given);
    fuzz_require(it->due <= w.now && it->node.tick < AXO__TICK_NEVER);
    fuzz_require(it == want);
    if (it->node.tick < w.wheel.cursor)
        w.removed = true; /* it was late: others of its slot are less so */
    it->in = false;
}

static void wheel_step(fuzz_in *in)
{
    uint8_t op = fuzz_u8(in);
    item *it = &w.items[(op >> 3) % ITEMS];
    int64_t ahead;
    switch (op & 7) {
    case 0:
    case 1:
    case 2:
        wheel_add(in, it);
        break;
    case 3:
        wheel_remove(it);
        break;
    case 4:
        ahead = fuzz_far(in);
        w.now = axo__clock_add(w.now, ahead > 0 ? ahead : 0);
        break;
    case 5:
        if ((op & 0xc0) == 0xc0)
            w.now = (int64_t)fuzz_u64(in);
        else if ((op & 0xc0) == 0x80)
            w.now = (op & 8) != 0 ? INT64_MAX : INT64_MIN;
        else if (axo__tick_time(axo__wheel_next(&w.wheel)) > w.now)
            w.now = axo__tick_time(axo__wheel_next(&w.wheel));
        break;
    case 6:
        wheel_pop(UINT32_MAX);
        break;
    default: /* the clock of another worker may be behind */
        if ((op & 0x80) != 0 && w.now > INT64_MIN + AXO_TICK_NS)
            w.now -= AXO_TICK_NS;
        wheel_pop(1 + (op >> 3) % 4);
        break;
    }
}

static void wheel_run(fuzz_in *in)
{
    memset(&w, 0, sizeof w);
    axo__wheel_init(&w.wheel);
    for (uint32_t i = 0; i < OPERATIONS_MAX && in->left > 0; i++) {
        wheel_step(in);
        wheel_check();
        wheel_check_next();
    }
    w.now = INT64_MAX;
    const item *next;
    while ((next = wheel_earliest(w.wheel.cursor)) != NULL && next->node.tick <= AXO__TICK_END) {
        wheel_pop(64);
        wheel_check();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_in in = {.at = data, .left = size};
    switch (fuzz_u8(&in) % 3) {
    case 0:
        wheel_run(&in);
        break;
    case 1:
        timers_run(&in);
        break;
    default:
        scheduled_run(&in);
        break;
    }
    return 0;
}
