/* timers.c - the timers of a worker, and raw timers of a system. */
#include "fuzz/timers.h"

/* ---- timers that are embedded: a worker that is nothing but its timers */

enum { TIMERS = 24, TIMERS_OPERATIONS_MAX = 300 };

typedef struct embedded {
    axo__timer timer; /* first */
    int64_t due;
    bool never;     /* `due` has no number */
    bool armed;     /* it is to fire */
    bool doomed;    /* a disarm came too late */
    bool again;     /* it has fired in this batch, and will be armed when that is over */
    uint8_t script; /* what it does when it fires */
} embedded;

/* The clock goes on, or back, or says anything. */
static int64_t fuzz_clock(fuzz_in *in, uint8_t how, int64_t now)
{
    int64_t far = fuzz_far(in);
    switch (how & 7) {
    case 0:
        return (int64_t)fuzz_u64(in);
    case 1:
        return (how & 8) != 0 ? INT64_MAX : INT64_MIN;
    case 2:
        return far > 0 && now >= INT64_MIN + far ? now - far : now;
    default:
        return far > 0 && now <= INT64_MAX - far ? now + far : now;
    }
}

/* Whether a moment is a tick or more over. */
static bool fuzz_is_late(int64_t due, int64_t now)
{
    return now >= INT64_MIN + AXO_TICK_NS && due <= now - AXO_TICK_NS;
}

static struct {
    axo__core core;
    axo__sched sched;
    axo__worker worker;
    embedded items[TIMERS];
    int64_t now;
    bool firing;
} t;

static int64_t timers_clock(void *user)
{
    return t.now;
}

static void timers_idle(axo__core *core)
{
    fuzz_require(core == &t.core);
}

static void timers_disarm(embedded *it)
{
    bool armed = axo__timer_disarm(&it->timer);
    if (!it->armed || it->doomed)
        fuzz_require(!armed);
    else if (armed)
        it->armed = false;
    else if (t.firing)
        it->doomed = !it->again; /* it is of the batch that is being fired */
    else
        fuzz_fail("an armed timer could not be disarmed");
}

static int64_t timers_fired(axo__worker *worker, axo__timer *timer, uint64_t number)
{
    embedded *it = (void *)timer;
    fuzz_require(worker == &t.worker && t.firing);
    fuzz_require(it->armed && it->timer.number == number);
    fuzz_require(it->due <= t.now && !it->never);
    it->armed = it->doomed = false;
    if ((it->script & 3) == 1) {
        int64_t again = 1 + ((int64_t)it->script << 9);
        it->armed = it->again = true;
        it->never = t.now > INT64_MAX - again;
        it->due = it->never ? INT64_MAX : t.now + again;
        return again;
    }
    if ((it->script & 3) == 2)
        timers_disarm(&t.items[(it->script >> 2) % TIMERS]);
    return 0;
}

static const axo__timer_ops timers_ops = {.fire = timers_fired, .finish = axo__timer_again};

static void timers_arm(fuzz_in *in, embedded *it)
{
    int64_t delay = fuzz_far(in);
    if (it->armed || delay < 0 || delay > AXO_DELAY_MAX)
        return;
    it->script = fuzz_u8(in);
    it->never = t.now > INT64_MAX - delay;
    it->due = it->never ? INT64_MAX : t.now + delay;
    it->timer.ops = &timers_ops;
    fuzz_require(axo__timer_arm(&t.worker, &it->timer, axo__timer_due(t.now, delay)));
    it->armed = true;
}

/* Fires until nothing is due; then nothing that is armed may be a tick over its time. */
static void timers_fire(void)
{
    for (uint32_t i = 0; axo__timers_due(t.worker.timers, t.now); i++) {
        fuzz_require(i < 1000);
        t.firing = true;
        (void)axo__timers_fire(&t.worker, t.worker.timers);
        t.firing = false;
        for (uint32_t j = 0; j < TIMERS; j++)
            t.items[j].again = false;
    }
    for (uint32_t i = 0; i < TIMERS; i++) {
        const embedded *it = &t.items[i];
        fuzz_require(!it->doomed);
        if (it->armed && !it->never)
            fuzz_require(!fuzz_is_late(it->due, t.now));
    }
    t.firing = true;
    fuzz_require(!axo__timers_fire(&t.worker, t.worker.timers));
    t.firing = false;
}

static void timers_open(void)
{
    axo_allocator none = {.alloc = NULL};
    memset((void *)&t, 0, sizeof t);
    axo__heap_init(&t.core.heap, &none, NULL);
    t.core.clock = timers_clock;
    t.core.sched = &t.sched;
    t.sched.idle = timers_idle;
    t.sched.workers = &t.worker;
    t.sched.worker_count = 1;
    t.worker.local.core = &t.core;
    t.worker.sched = t.worker.own = &t.sched;
    t.worker.timers = axo__timers_make(&t.worker);
    fuzz_require(t.worker.timers != NULL);
}

void timers_run(fuzz_in *in)
{
    timers_open();
    for (uint32_t i = 0; i < TIMERS_OPERATIONS_MAX && in->left > 0; i++) {
        uint8_t op = fuzz_u8(in);
        embedded *it = &t.items[(op >> 2) % TIMERS];
        switch (op & 3) {
        case 0:
        case 1:
            timers_arm(in, it);
            break;
        case 2:
            timers_disarm(it);
            break;
        default:
            t.now = fuzz_clock(in, op >> 2, t.now);
            timers_fire();
            break;
        }
    }
    for (uint32_t i = 0; i < TIMERS; i++)
        timers_disarm(&t.items[i]);
    fuzz_require(axo__timers_next(t.worker.timers) == AXO__NEVER);
    axo__timers_free(t.worker.timers);
    fuzz_require(axo__a64_load_relaxed(&t.core.heap.blocks) == 0);
}

/* ---- raw timers, through the public functions ----------------------------------------------- */

enum { SCHEDULED = 40, SCHEDULED_MAX = 32, SCHEDULED_OPERATIONS_MAX = 200, SCHEDULED_TAG = 7 };

typedef struct scheduled_item {
    axo_timer timer;
    axo_timer_kind kind;
    int64_t due; /* next */
    int64_t period;
    uint32_t life; /* of this record: a message of an earlier one is wrong */
    bool never;    /* `due` has no number */
    bool waits;
} scheduled_item;

static struct {
    axo_system *system;
    axo_ref receiver;
    scheduled_item items[SCHEDULED];
    axo_timer stale; /* one that was cancelled or has fired */
    int64_t now;
    uint64_t fired;
} a;

typedef struct scheduled_word {
    uint32_t index;
    uint32_t life;
} scheduled_word;

static int64_t scheduled_clock(void *user)
{
    return a.now;
}

static axo_status scheduled_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    const scheduled_word *word = AXO_PAYLOAD(message, scheduled_word);
    fuzz_require(message->tag == SCHEDULED_TAG && message->size == sizeof *word);
    scheduled_item *it = &a.items[word->index];
    fuzz_require(it->life == word->life && it->waits && it->due <= a.now && !it->never);
    a.fired++;
    if (it->kind == AXO_TIMER_ONCE) {
        it->waits = false;
        a.stale = it->timer;
    } else {
        int64_t from = it->kind == AXO_TIMER_FIXED_RATE ? it->due : a.now;
        it->waits = from <= INT64_MAX - it->period;
        it->due = it->waits ? from + it->period : 0;
    }
    return AXO_OK;
}

static const axo_class scheduled_class = AXO_CLASS(.receive = scheduled_receive);

static uint32_t scheduled_waiting(void)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < SCHEDULED; i++)
        count += a.items[i].waits ? 1 : 0;
    return count;
}

static void scheduled_set(fuzz_in *in, uint32_t index)
{
    scheduled_item *it = &a.items[index];
    axo_timer_kind kind = (axo_timer_kind)(fuzz_u8(in) % 3);
    int64_t first = fuzz_far(in);
    int64_t period = kind == AXO_TIMER_ONCE ? 1 : fuzz_far(in);
    scheduled_word word = {.index = index, .life = it->life + 1};
    axo_status status;
    axo_timer timer;
    if (it->waits)
        return;
    if (kind == AXO_TIMER_ONCE)
        status = axo_system_schedule_once(a.system, first, a.receiver, SCHEDULED_TAG, &word,
                                          sizeof word, &timer);
    else if (kind == AXO_TIMER_FIXED_DELAY)
        status = axo_system_schedule_fixed_delay(a.system, first, period, a.receiver, SCHEDULED_TAG,
                                                 &word, sizeof word, &timer);
    else
        status = axo_system_schedule_fixed_rate(a.system, first, period, a.receiver, SCHEDULED_TAG,
                                                &word, sizeof word, &timer);
    bool wrong = first < 0 || first > AXO_DELAY_MAX || period < 1 || period > AXO_DELAY_MAX;
    if (wrong || scheduled_waiting() >= SCHEDULED_MAX) {
        fuzz_require(status == (wrong ? AXO_EINVAL : AXO_ELIMIT));
        fuzz_require(timer.bits == 0 && timer.bits2 == 0);
        return;
    }
    fuzz_require(status == AXO_OK);
    bool never = a.now > INT64_MAX - first;
    *it = (scheduled_item){.timer = timer,
                           .kind = kind,
                           .due = never ? INT64_MAX : a.now + first,
                           .period = period,
                           .life = word.life,
                           .never = never,
                           .waits = true};
}

static void scheduled_cancel(scheduled_item *it)
{
    bool done = axo_system_timer_cancel(a.system, it->timer);
    fuzz_require(done == it->waits);
    it->waits = false;
    a.stale = it->timer;
}

/* A handle that is no timer's, or is no more. */
static void scheduled_wrong(fuzz_in *in)
{
    axo_timer timer = a.stale;
    uint8_t which = fuzz_u8(in);
    if ((which & 1) != 0)
        timer.bits2 ^= UINT64_C(1) << which % 64;
    if ((which & 2) != 0)
        timer = (axo_timer){.bits = fuzz_u64(in), .bits2 = fuzz_u64(in)};
    for (uint32_t i = 0; i < SCHEDULED; i++) {
        if (a.items[i].timer.bits == timer.bits)
            return;
    }
    fuzz_require(!axo_system_timer_at_close(a.system, timer));
    fuzz_require(!axo_system_timer_cancel(a.system, timer));
}

static void scheduled_advance(int64_t to)
{
    uint64_t turns = 1;
    for (uint32_t i = 0; i < SCHEDULED; i++) { /* what is late is caught up on, one by one */
        const scheduled_item *it = &a.items[i];
        if (it->waits && it->kind == AXO_TIMER_FIXED_RATE && !it->never &&
            axo__clock_since(to, it->due) / 64 > it->period)
            to = it->due + 64 * it->period;
    }
    a.now = to;
    while (turns > 0)
        fuzz_require(axo_step_host(a.system, 1000, &turns) == AXO_OK);
    for (uint32_t i = 0; i < SCHEDULED; i++) {
        if (a.items[i].waits && !a.items[i].never)
            fuzz_require(!fuzz_is_late(a.items[i].due, a.now));
    }
}

static void scheduled_open(void)
{
    axo_options options =
        AXO_OPTIONS(FUZZ_SMALL, .timers_max = SCHEDULED_MAX, .clock = scheduled_clock);
    axo_props props = AXO_PROPS(.cls = &scheduled_class);
    memset(&a, 0, sizeof a);
    fuzz_require(axo_system_start(&options, &a.system) == AXO_OK);
    fuzz_require(axo_system_spawn(a.system, &props, &a.receiver) == AXO_OK);
    scheduled_advance(1);
}

static void scheduled_close(void)
{
    axo_stats stats = AXO_STATS(.sent = 0);
    uint64_t waiting = scheduled_waiting();
    uint64_t periodic = 0; /* of them: one that comes up when its receiver is gone was never sent */
    for (uint32_t i = 0; i < SCHEDULED; i++)
        periodic += a.items[i].waits && a.items[i].kind != AXO_TIMER_ONCE ? 1 : 0;
    for (uint32_t i = 0; i < SCHEDULED; i++)
        a.items[i].life += a.items[i].waits ? 0 : 1; /* nothing more of these */
    fuzz_require(axo_system_stop(a.system, -1, NULL, 0, NULL) == AXO_OK);
    fuzz_require(axo_system_stats(a.system, &stats) == AXO_OK);
    fuzz_require(stats.handled == a.fired && stats.sent <= a.fired + waiting);
    fuzz_require(stats.sent >= a.fired + waiting - periodic);
    fuzz_require(stats.dead + stats.dropped == stats.sent - stats.handled);
    fuzz_require(axo_system_destroy(a.system) == AXO_OK);
}

void scheduled_run(fuzz_in *in)
{
    scheduled_open();
    for (uint32_t i = 0; i < SCHEDULED_OPERATIONS_MAX && in->left > 0; i++) {
        uint8_t op = fuzz_u8(in);
        uint32_t index = (op >> 2) % SCHEDULED;
        switch (op & 3) {
        case 0:
            scheduled_set(in, index);
            break;
        case 1:
            if ((op & 0x80) != 0)
                fuzz_require(axo_system_timer_at_close(a.system, a.items[index].timer) ==
                             a.items[index].waits);
            else
                scheduled_cancel(&a.items[index]);
            break;
        case 2:
            scheduled_wrong(in);
            break;
        default:
            scheduled_advance(fuzz_clock(in, op >> 2, a.now));
            break;
        }
    }
    scheduled_close();
}
