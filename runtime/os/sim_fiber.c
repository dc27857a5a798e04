/* sim_fiber.c - level 2: each thread a fiber on one thread, and the choice of the fiber that goes
 * on at a yield point.
 *
 * A fiber is ready, or waits on an address, perhaps with a deadline. The clock stands but for a
 * tick at each yield point; when no fiber is ready it goes to the first deadline. Fibers that can
 * run are offered to the choice from the one that ran onwards, so that 0 is "the same fiber goes
 * on".
 *
 * A thread that looks again and again for what another thread has to do is made to give way after
 * FIBER_AGAIN steps, which is no choice; so is a fiber that passes FIBER_SPIN yield points without
 * a wait or the end of a step: FIBER_UNFAIR times of that in a row is an unfair wait. A fiber that
 * can run is not forgotten for more than FIBER_FORGOTTEN yield points, and a few more.
 *
 * Orders
 *   [P1] as in posix.c: ended
 */
#include <errno.h>
#include <link.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "os/poll.h"
#include "os/sim_inside.h"
#include "os/sim_stack.h"

#define FIBER_LOCALS 256
#define FIBER_NAME 24
#define FIBER_AGAIN 3
#define FIBER_SPIN 400
#define FIBER_UNFAIR 250
#define FIBER_LOOK 1024
#define FIBER_FORGOTTEN 20000
#define FIBER_NOTES 4096
#define FIBER_NOBODY UINT32_MAX

typedef enum fiber_state {
    FIBER_FREE = 0,
    FIBER_READY,
    FIBER_WAITING,
    FIBER_RELAXED, /* rests until another fiber has moved */
    FIBER_SETTLING /* rests until all other fibers wait */
} fiber_state;

typedef struct fiber {
    axo__sim_stack stack;
    fiber_state state;
    const char *wait;     /* what it waits for, for reports */
    const void *address;
    int64_t deadline;     /* or, of a settling fiber, how far the clock may go meanwhile */
    void (*run)(void *arg);
    void *arg;
    axo__os_thread *thread; /* the runtime's thread; NULL: the fiber is the test's */
    _Alignas(max_align_t) unsigned char locals[FIBER_LOCALS];
    int error;
    uint32_t again;       /* steps since another fiber moved */
    uint64_t looked;      /* number of switches when it last relaxed */
    uint64_t since;       /* the yield point at which another fiber moved last */
    uint64_t left;        /* the yield point at which it gave way, or could run again */
    uint32_t spins;       /* times in a row that it was made to give way within a step */
    const void *place;    /* of its last yield point */
    char name[FIBER_NAME];
} fiber;

typedef struct fiber_world {
    fiber all[AXO__SIM_FIBERS_MAX];
    uint64_t ready;       /* a bit for each ready fiber */
    uint64_t relaxed;
    uint32_t me;
    uint32_t settling;    /* FIBER_NOBODY: no fiber settles */
    uint32_t early_one_in;
    int64_t tick;
    int64_t first;        /* the first deadline, or a time before it */
    uint64_t jumps;
    uint64_t switches;
    uint64_t digest;
    uint64_t pause_until; /* yield points */
    uint64_t points_max;
    uint64_t note_count;
    void (*told)(const char *why);
} fiber_world;

/* The fibers of the one real thread. */
static fiber_world fibers;
static axo__sim_noted fiber_notes[FIBER_NOTES];

/* The program's thread-locals: their place, and their values in a new thread. */
static unsigned char *fiber_locals;
static size_t fiber_locals_size;
static unsigned char fiber_locals_new[FIBER_LOCALS];

bool axo__sim_yields;

static fiber *fiber_me(void)
{
    return &fibers.all[fibers.me];
}

static uint64_t fiber_bit(uint32_t index)
{
    return UINT64_C(1) << index;
}

/* ---- reports ---- */

/* Adds a word to the digest: two runs with one digest made the same switches. */
static void fiber_mix(uint64_t word)
{
    fibers.digest = (fibers.digest ^ word) * UINT64_C(0x100000001b3);
    fibers.digest ^= fibers.digest >> 29;
}

static axo__sim_noted *fiber_note_next(void)
{
    axo__sim_noted *note = &fiber_notes[fibers.note_count++ % FIBER_NOTES];
    note->point = axo__sim_now.points;
    note->fiber = fibers.me;
    note->next = FIBER_NOBODY;
    note->place = fiber_me()->place;
    return note;
}

void axo__sim_note(const char *format, ...)
{
    va_list list;
    axo__sim_noted *note = fiber_note_next();
    va_start(list, format);
    (void)vsnprintf(note->text, sizeof note->text, format, list);
    va_end(list);
}

void axo__sim_mark(uint64_t word)
{
    fiber_mix(word);
}

uint64_t axo__sim_digest(void)
{
    return fibers.digest;
}

void axo__sim_report_waits(FILE *out)
{
    for (uint32_t i = 0; i < AXO__SIM_FIBERS_MAX; i++) {
        const fiber *it = &fibers.all[i];
        if (it->state == FIBER_FREE)
            continue;
        if (it->state == FIBER_WAITING)
            fprintf(out, "  %-12s waits for %s %p", it->name, it->wait, it->address);
        else
            fprintf(out, "  %-12s %s", it->name,
                    i == fibers.me ? "runs" : it->state == FIBER_READY ? "can run" : "rests");
        if (it->state == FIBER_WAITING && it->deadline != AXO__NEVER)
            fprintf(out, ", at most %lld ns", (long long)(it->deadline - axo__sim_now.now));
        fputc('\n', out);
    }
}

const axo__sim_noted *axo__sim_noted_at(uint64_t number)
{
    uint64_t count = fibers.note_count < FIBER_NOTES ? fibers.note_count : FIBER_NOTES;
    if (number >= count)
        return NULL;
    return &fiber_notes[(fibers.note_count - count + number) % FIBER_NOTES];
}

const char *axo__sim_fiber_name(uint32_t number)
{
    return fibers.all[number].name;
}

void axo__sim_on_stuck(void (*told)(const char *why))
{
    fibers.told = told;
}

static void fiber_stuck(const char *why)
{
    axo__sim_yields = false;
    if (fibers.told != NULL)
        fibers.told(why);
    fprintf(stderr, "%s\n", why);
    axo__sim_report_waits(stderr);
    axo__panic(why, __FILE__, __LINE__);
}

/* ---- switching ---- */

/* Switches to another fiber, with the program's thread-locals and errno: code under test must not
 * see that its thread is shared. */
static void fiber_switch(uint32_t next)
{
    fiber *from = fiber_me();
    fiber *to = &fibers.all[next];
    if (next == fibers.me)
        return;
    fibers.switches++;
    fiber_note_next()->next = next;
    fiber_mix(axo__sim_now.points << 8 | next);
    memcpy(from->locals, fiber_locals, fiber_locals_size);
    memcpy(fiber_locals, to->locals, fiber_locals_size);
    from->error = errno;
    from->left = axo__sim_now.points;
    from->again = 0;
    if (from->state != FIBER_READY)
        from->spins = 0;
    to->since = axo__sim_now.points;
    to->again = 0;
    fibers.me = next;
    axo__sim_stack_switch(&from->stack, &to->stack, from->state == FIBER_FREE);
    errno = fiber_me()->error;
}

/* The fibers of a mask, from a place onwards, so that index 0 is the next in turn. */
static uint32_t fiber_gather(uint64_t mask, uint32_t from, uint32_t *ids)
{
    uint32_t count = 0;
    uint64_t after = mask & ~(fiber_bit(from) - 1);
    for (uint64_t left = after; left != 0; left &= left - 1)
        ids[count++] = (uint32_t)__builtin_ctzll(left);
    for (uint64_t left = mask & ~after; left != 0; left &= left - 1)
        ids[count++] = (uint32_t)__builtin_ctzll(left);
    return count;
}

static void fiber_make_ready(uint32_t index)
{
    fibers.all[index].state = FIBER_READY;
    fibers.all[index].left = axo__sim_now.points;
    fibers.ready |= fiber_bit(index);
    fibers.relaxed &= ~fiber_bit(index);
}

/* Makes fibers ready whose deadline has passed, and finds the first deadline of the others. */
static void fiber_expire(void)
{
    fibers.first = AXO__NEVER;
    for (uint32_t i = 0; i < AXO__SIM_FIBERS_MAX; i++) {
        const fiber *it = &fibers.all[i];
        if (it->state != FIBER_WAITING)
            continue;
        if (it->deadline <= axo__sim_now.now)
            fiber_make_ready(i);
        else if (it->deadline < fibers.first)
            fibers.first = it->deadline;
    }
}

/* Another fiber has moved: every relaxed fiber may look again. */
static void fiber_moved(void)
{
    for (uint64_t left = fibers.relaxed & ~fiber_bit(fibers.me); left != 0; left &= left - 1)
        fiber_make_ready((uint32_t)__builtin_ctzll(left));
}

/* No fiber is ready: makes one ready, by a move, by the clock, or by the end of a settling. If none
 * of these helps, the run is a deadlock, or one fiber looks for ever. */
static void fiber_rouse(void)
{
    const fiber *settler = fibers.settling == FIBER_NOBODY ? NULL : &fibers.all[fibers.settling];
    fiber_expire();
    fiber_moved();
    if (fibers.ready != 0)
        return;
    int64_t last = settler != NULL ? settler->deadline : AXO__NEVER - 1;
    if (fibers.first <= last) {
        if (fibers.first > axo__sim_now.now)
            axo__sim_now.now = fibers.first;
        fibers.jumps++;
        fiber_expire();
    } else if (settler != NULL) {
        fiber_make_ready(fibers.settling);
        fibers.settling = FIBER_NOBODY;
    } else if (fibers.relaxed != 0) {
        fiber_stuck("unfair wait: who looks again is the only one that runs");
    } else {
        fiber_stuck("deadlock");
    }
}

/* Gives way: the calling fiber does not go on now, and another is chosen. */
static void fiber_yield_to_others(void)
{
    uint32_t ids[AXO__SIM_FIBERS_MAX];
    uint64_t others = fibers.ready & ~fiber_bit(fibers.me);
    while (others == 0) {
        if ((fibers.ready & fiber_bit(fibers.me)) != 0)
            return;
        fiber_rouse();
        others = fibers.ready;
    }
    uint32_t from = (fibers.me + 1) % AXO__SIM_FIBERS_MAX;
    uint32_t count = fiber_gather(others, from, ids);
    fiber_switch(ids[axo__sim_yields ? axo__sim_who(ids, count, false) : 0]);
}

/* Makes the calling fiber give way to the next in turn. No strategy is asked: otherwise a strategy
 * could let a loop of looks run for ever. */
static void fiber_give_way(void)
{
    uint32_t ids[AXO__SIM_FIBERS_MAX];
    uint64_t others = fibers.ready & ~fiber_bit(fibers.me);
    fiber_me()->again = 0;
    fiber_me()->since = axo__sim_now.points;
    axo__sim_behind(fibers.me);
    if (others == 0)
        return;
    (void)fiber_gather(others, (fibers.me + 1) % AXO__SIM_FIBERS_MAX, ids);
    fiber_switch(ids[0]);
}

/* A fiber that could run and on which no choice has fallen for long; else the one that runs. */
static uint32_t fiber_forgotten(void)
{
    for (uint64_t left = fibers.ready & ~fiber_bit(fibers.me); left != 0; left &= left - 1) {
        uint32_t index = (uint32_t)__builtin_ctzll(left);
        if (axo__sim_now.points - fibers.all[index].left > FIBER_FORGOTTEN)
            return index;
    }
    return fibers.me;
}

void axo__sim_yield(void)
{
    uint32_t ids[AXO__SIM_FIBERS_MAX];
    fiber *me = fiber_me();
    axo__sim_now.points++;
    axo__sim_now.now += fibers.tick;
    me->place = __builtin_return_address(0);
    if (axo__unlikely(fibers.relaxed != 0))
        fiber_moved();
    if (axo__unlikely(axo__sim_now.now >= fibers.first))
        fiber_expire();
    if (axo__unlikely(axo__sim_now.points >= fibers.points_max)) {
        fibers.points_max = UINT64_MAX;
        fiber_stuck("it does not come to rest");
    }
    if (axo__unlikely(axo__sim_now.points >= fibers.pause_until)) {
        fibers.pause_until = UINT64_MAX;
        fiber_make_ready(0);
    }
    if ((fibers.ready & (fibers.ready - 1)) == 0)
        return; /* no other fiber is ready */
    if (axo__unlikely(axo__sim_now.points - me->since > FIBER_SPIN)) {
        if (++me->spins > FIBER_UNFAIR)
            fiber_stuck("unfair wait: it never lets others go on");
        fiber_give_way();
        return;
    }
    if (axo__unlikely(axo__sim_now.points % FIBER_LOOK == 0) && fiber_forgotten() != fibers.me) {
        axo__sim_behind(fibers.me);
        fiber_switch(fiber_forgotten());
        return;
    }
    uint32_t count = fiber_gather(fibers.ready, fibers.me, ids);
    fiber_switch(ids[axo__sim_who(ids, count, true)]);
}

/* ---- waits ---- */

bool axo__sim_wait(const char *what, const void *address, int64_t deadline, bool early)
{
    fiber *me = fiber_me();
    if (deadline <= axo__sim_now.now)
        return false;
    if (axo__sim_yields && early && axo__sim_chance(AXO__SIM_EARLY, fibers.early_one_in))
        return true;
    me->state = FIBER_WAITING;
    me->wait = what;
    me->address = address;
    me->deadline = deadline;
    fibers.ready &= ~fiber_bit(fibers.me);
    if (deadline < fibers.first)
        fibers.first = deadline;
    fiber_yield_to_others();
    return axo__sim_now.now < deadline || me->address == NULL;
}

void axo__sim_tell(const void *address)
{
    for (uint32_t i = 0; i < AXO__SIM_FIBERS_MAX; i++) {
        fiber *it = &fibers.all[i];
        if (it->state != FIBER_WAITING || it->address != address)
            continue;
        it->address = NULL;
        fiber_make_ready(i);
    }
}

void axo__sim_settle(int64_t within_ns)
{
    fiber *me = fiber_me();
    AXO_ASSERT(fibers.settling == FIBER_NOBODY);
    me->state = FIBER_SETTLING;
    me->deadline = within_ns < 0 || within_ns >= AXO__NEVER - axo__sim_now.now
                       ? AXO__NEVER - 1
                       : axo__sim_now.now + within_ns;
    fibers.settling = fibers.me;
    fibers.ready &= ~fiber_bit(fibers.me);
    fiber_yield_to_others();
}

bool axo__sim_fiber_pause(uint64_t points)
{
    AXO_ASSERT(fibers.me == 0 && fibers.settling == FIBER_NOBODY);
    fiber *me = fiber_me();
    uint64_t before = axo__sim_now.points;
    fibers.pause_until = before + points;
    me->state = FIBER_SETTLING;
    me->deadline = AXO__NEVER - 1;
    fibers.settling = 0;
    fibers.ready &= ~fiber_bit(0);
    fiber_yield_to_others();
    fibers.settling = FIBER_NOBODY;
    fibers.pause_until = UINT64_MAX;
    return axo__sim_now.points != before;
}

void axo__sim_relax(void)
{
    fiber *me = fiber_me();
    if (me->looked == fibers.switches) { /* no fiber has moved since this one began to look */
        axo__sim_behind(fibers.me);
        me->state = FIBER_RELAXED;
        fibers.ready &= ~fiber_bit(fibers.me);
        fibers.relaxed |= fiber_bit(fibers.me);
        fiber_yield_to_others();
    }
    me->looked = fibers.switches;
}

/* ---- threads ---- */

static void fiber_end(void)
{
    fiber *me = fiber_me();
    me->state = FIBER_FREE;
    fibers.ready &= ~fiber_bit(fibers.me);
    fiber_moved();
    fiber_yield_to_others();
    axo__panic("an ended fiber went on", __FILE__, __LINE__);
}

/* The loop of posix.c's threads, with the calls in the same order. */
static void fiber_body(fiber *me)
{
    axo__os_thread *thread = me->thread;
    const axo__os_body *body = thread->body;
    axo__os_thread_tell(thread, true);
    body->begin(thread->arg);
    for (;;) {
        axo__step step = body->step(thread->arg);
        if (step == AXO__STEP_EXIT)
            break;
        if (step == AXO__STEP_PARK) {
            body->sleep(thread->arg);
            axo__os_thread_wait(thread);
            body->wake(thread->arg);
        } else if (++me->again >= FIBER_AGAIN) {
            fiber_give_way();
        }
    }
    body->end(thread->arg);
    axo__os_thread_tell(thread, false);
    /* Pairs with the load acquire in axo__sim_fiber_join, as in posix.c. */
    axo__a32_store_release(&thread->ended, 1); /* [P1] */
    axo__sim_tell(thread);
}

static void fiber_main(void)
{
    fiber *me = fiber_me();
    axo__sim_stack_begun(&me->stack);
    if (me->thread != NULL)
        fiber_body(me);
    else
        me->run(me->arg);
    fiber_end();
}

static fiber *fiber_new(const char *name)
{
    for (uint32_t i = 1; i < AXO__SIM_FIBERS_MAX; i++) {
        fiber *it = &fibers.all[i];
        if (it->state != FIBER_FREE || i == fibers.me ||
            !axo__sim_stack_make(&it->stack, fiber_main))
            continue;
        it->thread = NULL;
        memcpy(it->locals, fiber_locals_new, fiber_locals_size);
        it->error = 0;
        it->since = axo__sim_now.points;
        it->looked = 0;
        it->again = it->spins = 0;
        it->place = NULL;
        (void)snprintf(it->name, sizeof it->name, "%s", name);
        fiber_make_ready(i);
        return it;
    }
    return NULL;
}

bool axo__sim_fiber_start(axo__os_thread *thread)
{
    axo__a32_store_relaxed(&thread->ended, 0);
    fiber *it = fiber_new("thread"); /* the new fiber can run: no yield point from here on */
    if (it != NULL)
        it->thread = thread;
    return it != NULL;
}

void axo__sim_fiber_join(axo__os_thread *thread)
{
    while (axo__a32_load_acquire(&thread->ended) == 0) /* [P1] */
        (void)axo__sim_wait("the end of thread", thread, AXO__NEVER, false);
}

bool axo__sim_fiber_try_join(axo__os_thread *thread)
{
    return axo__a32_load_acquire(&thread->ended) != 0; /* [P1] */
}

void axo__sim_start(const char *name, void (*run)(void *arg), void *arg)
{
    AXO_ASSERT(axo__sim_now.fibers);
    fiber *it = fiber_new(name);
    AXO_ASSERT(it != NULL);
    it->run = run;
    it->arg = arg;
}

void axo__sim_name(uint32_t number, const char *name)
{
    (void)snprintf(fibers.all[number].name, FIBER_NAME, "%s", name);
}

uint32_t axo__sim_started(void)
{
    uint32_t count = 0;
    for (uint32_t i = 1; i < AXO__SIM_FIBERS_MAX; i++)
        count += fibers.all[i].state != FIBER_FREE && fibers.all[i].thread == NULL;
    return count;
}

/* ---- a run ---- */

void axo__sim_fiber_reset(void)
{
    axo__sim_yields = false;
    if (!axo__sim_now.fibers)
        return;
    AXO_ASSERT(fibers.me == 0);
    for (uint32_t i = 1; i < AXO__SIM_FIBERS_MAX; i++)
        AXO_ASSERT(fibers.all[i].state == FIBER_FREE);
}

/* Finds the program's thread-locals, which come first; libraries keep theirs, since only the code
 * under test is shared among fibers. */
static int fiber_find_locals(struct dl_phdr_info *info, size_t size, void *user)
{
    (void)size;
    (void)user;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type != PT_TLS)
            continue;
        AXO_ASSERT(part->p_memsz <= FIBER_LOCALS && info->dlpi_tls_data != NULL);
        fiber_locals = info->dlpi_tls_data;
        fiber_locals_size = part->p_memsz;
        memcpy(fiber_locals_new, (const void *)(info->dlpi_addr + part->p_vaddr), part->p_filesz);
    }
    return 1;
}

void axo__sim_fibers(void)
{
    AXO_ASSERT(!axo__sim_now.fibers);
    if (fiber_locals == NULL)
        (void)dl_iterate_phdr(fiber_find_locals, NULL);
    AXO_ASSERT(fiber_locals != NULL);
    axo__sim_now.fibers = true;
    fibers.ready = fiber_bit(0);
    fibers.relaxed = 0;
    fibers.me = 0;
    fibers.settling = FIBER_NOBODY;
    fibers.early_one_in = 0;
    fibers.tick = 10;
    fibers.first = AXO__NEVER;
    fibers.jumps = fibers.switches = 0;
    fibers.digest = UINT64_C(0xcbf29ce484222325);
    fibers.pause_until = fibers.points_max = UINT64_MAX;
    fibers.note_count = 0;
    fibers.all[0].state = FIBER_READY;
    fibers.all[0].since = 0;
    (void)snprintf(fibers.all[0].name, FIBER_NAME, "main");
    axo__sim_stack_first(&fibers.all[0].stack);
}

void axo__sim_explore(bool on)
{
    fiber_me()->since = axo__sim_now.points;
    axo__sim_yields = on;
}

void axo__sim_waits(uint32_t early_one_in, int64_t tick_ns)
{
    fibers.early_one_in = early_one_in;
    fibers.tick = tick_ns;
}

void axo__sim_points_max(uint64_t points)
{
    fibers.points_max = points;
}

bool axo__sim_is_alive(uint32_t number)
{
    return fibers.all[number].state != FIBER_FREE;
}

int64_t axo__sim_deadline(uint32_t number)
{
    const fiber *it = &fibers.all[number];
    return it->state == FIBER_WAITING ? it->deadline : AXO__NEVER;
}

uint64_t axo__sim_jumps(void)
{
    return fibers.jumps;
}

uint32_t axo__sim_me(void)
{
    return axo__sim_now.fibers ? fibers.me : 0;
}

bool axo__sim_is_fiber(void)
{
    return axo__sim_now.fibers;
}
