/* fuzz_wheel.c - timers with arbitrary delays against plain lists of them.
 *
 * Length 1024. By the first byte: the wheel alone (sched/wheel.c), with small budgets and a clock
 * that may step back; the timers of a worker that embed it (sched/timer.c); or raw timers of a
 * system through the public functions (sched/alarm.c). Never early, at most a tick late, in order;
 * a cancelled one never fires, and a cancel succeeds exactly once.
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
    bool over;     /* one came out before `now` had reached its time */
} w;

static uint64_t tick_of(int64_t time)
{
    return time > 0 ? (uint64_t)time >> AXO__TICK_SHIFT : 0;
}

/* The one that is to come out next; NULL: none is in. */
static item *wheel_earliest(void)
{
    item *best = NULL;
    for (uint32_t i = 0; i < ITEMS; i++) {
        item *it = &w.items[i];
        if (it->in && (best == NULL || it->node.tick < best->node.tick ||
                       (it->node.tick == best->node.tick && it->number < best->number)))
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
    for (uint32_t level = 0; level < AXO__WHEEL_LEVELS; level++) {
        fuzz_require((w.wheel.levels >> level & 1) == (w.wheel.slots[level] != 0));
        for (uint64_t bits = w.wheel.slots[level]; bits != 0; bits &= bits - 1) {
            uint32_t place = level * AXO__WHEEL_SLOTS + (uint32_t)__builtin_ctzll(bits);
            const axo__wheel_node *node = w.wheel.lists[place].first;
            fuzz_require(node != NULL && node->before == NULL);
            for (; node != NULL; node = node->next, found++) {
                uint64_t differ = node->tick ^ w.wheel.cursor;
                bool right = differ >> (6 * level) < 64 &&
                             (node->tick >> (6 * level) & 63) == place % AXO__WHEEL_SLOTS;
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
    const item *first = wheel_earliest();
    int64_t next = axo__wheel_next(&w.wheel);
    if (first == NULL) {
        fuzz_require(next == AXO__NEVER);
        w.removed = false;
        return;
    }
    int64_t at = first->node.tick > (uint64_t)INT64_MAX >> AXO__TICK_SHIFT
                     ? AXO__NEVER - 1
                     : (int64_t)(first->node.tick << AXO__TICK_SHIFT);
    fuzz_require(next <= at);
    if (!w.removed && w.wheel.spreading == AXO__WHEEL_NONE)
        fuzz_require(next == at);
}

static void wheel_add(fuzz_in *in, item *it)
{
    uint8_t kind = fuzz_u8(in);
    int64_t delay = fuzz_far(in);
    if (it->in)
        return;
    it->due = (kind & 1) != 0 && delay <= INT64_MAX - w.now ? w.now + delay : delay;
    if (kind >= 0xf0)
        it->due = (int64_t)fuzz_u64(in);
    it->number = ++w.number;
    axo__wheel_add(&w.wheel, &it->node, it->due, w.now);
    it->in = true;
    uint64_t tick = it->due > 0 ? tick_of(it->due - 1) + 1 : 0; /* the first that is not early */
    uint64_t want = tick > w.wheel.cursor ? tick : w.wheel.cursor;
    fuzz_require(it->node.tick == want);
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
    const item *want = wheel_earliest();
    uint32_t given = budget;
    item *it = (item *)(void *)axo__wheel_pop(&w.wheel, w.now, &budget);
    fuzz_require(budget <= given);
    if (it == NULL) {
        fuzz_require(budget == 0 || want == NULL || want->node.tick > tick_of(w.now));
        return;
    }
    fuzz_require(it->in && it == want && budget < given);
    fuzz_require(it->due <= w.now || it->node.tick <= w.wheel.cursor);
    if (!w.over)
        fuzz_require(it->due <= w.now);
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
        if (ahead <= INT64_MAX - w.now && w.now + ahead >= 0)
            w.now += ahead;
        break;
    case 5:
        if (wheel_earliest() != NULL && axo__wheel_next(&w.wheel) > w.now)
            w.now = axo__wheel_next(&w.wheel);
        break;
    case 6:
        wheel_pop(UINT32_MAX);
        break;
    default: /* the clock of another worker may be behind */
        if ((op & 0x80) != 0 && w.now > AXO_TICK_NS) {
            w.now -= AXO_TICK_NS;
            w.over = true;
        }
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
    w.now = w.over ? w.now : INT64_MAX - 1;
    while (wheel_earliest() != NULL && wheel_earliest()->node.tick <= tick_of(w.now)) {
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
        alarms_run(&in);
        break;
    }
    return 0;
}
