/* check.c - the driver: choices, fibers, executions one after the other. */
#include "schedules/weak/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/assert.h"
#include "schedules/weak/inside.h"

#define CHOICES_MAX 1000
#define STEPS_MAX 1000
#define STACK_SIZE 65536

weak_world weak_it;

/* ---- choices ---- */

static struct {
    uint8_t value[CHOICES_MAX];
    uint8_t count[CHOICES_MAX];
    uint32_t depth; /* how many are laid down */
    uint32_t at;
} choices;

static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

uint32_t weak_choose(uint32_t count)
{
    if (count == 0)
        weak_fail("nothing to choose from");
    if (count == 1)
        return 0;
    if (choices.at == CHOICES_MAX || count >= sizeof digits)
        weak_fail("too many choices");
    if (choices.at == choices.depth) {
        choices.value[choices.depth] = 0;
        choices.count[choices.depth++] = (uint8_t)count;
    } else if (choices.count[choices.at] == 0) { /* replayed */
        choices.count[choices.at] = (uint8_t)count;
    }
    if (choices.count[choices.at] != count || choices.value[choices.at] >= count)
        weak_fail("choice %u is among %u now, it was among %u", choices.at, count,
                  choices.count[choices.at]);
    return choices.value[choices.at++];
}

/* The next list; false: that was the last. */
static bool choices_next(void)
{
    while (choices.depth > 0) {
        uint32_t last = choices.depth - 1;
        if (++choices.value[last] < choices.count[last])
            return true;
        choices.depth--;
    }
    return false;
}

static void choices_say(char *out, size_t size)
{
    uint32_t length = choices.at;
    while (length > 0 && choices.value[length - 1] == 0)
        length--;
    if (length >= size)
        length = (uint32_t)size - 1;
    for (uint32_t i = 0; i < length; i++)
        out[i] = digits[choices.value[i]];
    out[length] = '\0';
}

/* ---- fibers ---- */

typedef struct fiber {
    void *top; /* its stack, while it does not run */
    bool (*ready)(void *user);
    void *user;
    bool timed;
    bool over;
    _Alignas(64) char stack[STACK_SIZE];
} fiber;

static fiber fibers[WEAK_ALL_FIBERS];
static void *driver_top;
static uint32_t preemptions;
static bool failed;
static char why[256];

void weak_switch(void **from, void *to);
__asm__(".text\n"
        ".globl weak_switch\n"
        ".type weak_switch, @function\n"
        "weak_switch:\n"
        "  push %rbp\n  push %rbx\n  push %r12\n  push %r13\n  push %r14\n  push %r15\n"
        "  mov %rsp, (%rdi)\n"
        "  mov %rsi, %rsp\n"
        "  pop %r15\n  pop %r14\n  pop %r13\n  pop %r12\n  pop %rbx\n  pop %rbp\n"
        "  ret\n"
        ".size weak_switch, .-weak_switch\n");

static void fiber_go(uint32_t to)
{
    uint32_t self = weak_it.self;
    weak_it.self = to;
    if (self != to)
        weak_switch(&fibers[self].top, fibers[to].top);
}

static void fiber_leave(void)
{
    weak_switch(&fibers[weak_it.self].top, driver_top);
}

void weak_fail(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    (void)vsnprintf(why, sizeof why, format, list);
    va_end(list);
    failed = true;
    for (;;)
        fiber_leave();
}

void axo__panic(const char *what, const char *file, int line)
{
    weak_fail("%s:%d: %s", file, line, what);
}

/* Those that could run; this one first, if it could. */
static uint32_t fiber_list(uint8_t *out, bool timed)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < WEAK_ALL_FIBERS; i++) {
        uint32_t which = (weak_it.self + i) % WEAK_ALL_FIBERS;
        fiber *it = &fibers[which];
        if (which == 0 || it->over)
            continue;
        if (it->ready == NULL || it->ready(it->user) || (timed && it->timed))
            out[count++] = (uint8_t)which;
    }
    return count;
}

/* This one cannot go on. */
static void fiber_yield(void)
{
    uint8_t can[WEAK_ALL_FIBERS];
    uint32_t count = fiber_list(can, false);
    if (count == 0)
        count = fiber_list(can, true);
    if (count > 0) {
        fiber_go(can[weak_choose(count)]);
        return;
    }
    for (uint32_t i = 1; i < WEAK_ALL_FIBERS; i++) {
        if (!fibers[i].over)
            weak_fail("f%u waits for ever", i);
    }
    fiber_leave();
}

void weak_point(void)
{
    weak_it.operations++;
    if (++weak_it.steps > STEPS_MAX)
        weak_fail("more than %d operations: it spins", STEPS_MAX);
    if (weak_it.self == 0 || preemptions == 0)
        return;
    uint8_t can[WEAK_ALL_FIBERS];
    uint32_t count = fiber_list(can, false);
    uint32_t to = can[weak_choose(count)];
    if (to == weak_it.self)
        return;
    preemptions--;
    fiber_go(to);
}

void weak_wait(bool (*ready)(void *user), void *user)
{
    fiber *it = &fibers[weak_it.self];
    if (ready(user))
        return;
    if (weak_it.self == 0)
        weak_fail("a wait outside of the fibers");
    it->ready = ready;
    it->user = user;
    fiber_yield();
    it->ready = NULL;
}

bool weak_wait_timed(bool (*ready)(void *user), void *user)
{
    fibers[weak_it.self].timed = true;
    weak_wait(ready, user);
    fibers[weak_it.self].timed = false;
    return ready(user);
}

static bool fiber_saw_step(void *user)
{
    return weak_it.steps != *(const uint32_t *)user;
}

void weak_spin(void)
{
    uint32_t steps = weak_it.steps;
    weak_it.spins[weak_it.self] = true;
    (void)weak_wait_timed(fiber_saw_step, &steps);
}

void weak_unspin(void)
{
    weak_it.spins[weak_it.self] = false;
}

uint32_t weak_self(void)
{
    return weak_it.self;
}

bool weak_on_stack(const void *at)
{
    const char *byte = at;
    const char *first = (const char *)fibers;
    return byte >= first && byte < first + sizeof fibers;
}

static void fiber_body(void)
{
    const weak_scenario *scenario = weak_it.scenario;
    uint32_t self = weak_it.self;
    if (self > 0) {
        scenario->fibers[self - 1]();
        fibers[self].over = true;
        fiber_yield();
        weak_fail("a fiber that is over goes on");
    }
    scenario->setup();
    fiber_leave();
    if (scenario->check != NULL)
        scenario->check();
    for (;;)
        fiber_leave();
}

static void fiber_make(uint32_t which)
{
    fiber *it = &fibers[which];
    void **top = (void **)(void *)(it->stack + STACK_SIZE);
    *--top = NULL; /* where it would return to: it does not */
    *--top = (void *)(uintptr_t)fiber_body;
    top -= 6;
    memset(top, 0, 6 * sizeof *top);
    it->top = top;
    it->ready = NULL;
    it->timed = false;
    it->over = which > 0 && weak_it.scenario->fibers[which - 1] == NULL;
}

/* ---- executions ---- */

static void enter(uint32_t which)
{
    weak_it.self = which;
    weak_switch(&driver_top, fibers[which].top);
}

static void run_once(void)
{
    choices.at = 0;
    failed = false;
    weak_it.steps = 0;
    memset(weak_it.spins, 0, sizeof weak_it.spins);
    preemptions = weak_it.scenario->bound;
    weak_memory_reset();
    for (uint32_t i = 0; i < WEAK_ALL_FIBERS; i++)
        fiber_make(i);
    enter(0);
    if (failed)
        return;
    weak_memory_fork();
    uint8_t can[WEAK_ALL_FIBERS];
    weak_it.self = 0;
    uint32_t count = fiber_list(can, false);
    enter(can[weak_choose(count)]);
    if (failed)
        return;
    weak_memory_join();
    enter(0);
}

static double seconds_now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

weak_result weak_explore(const weak_scenario *scenario, uint64_t limit)
{
    weak_result result = {.executions = 0};
    double begin = seconds_now();
    memset(&choices, 0, sizeof choices);
    weak_it = (weak_world){.scenario = scenario};
    bool more = true;
    while (more && result.executions < limit) {
        run_once();
        result.executions++;
        if (failed)
            break;
        more = choices_next();
    }
    result.failed = failed;
    result.complete = !more;
    result.operations = weak_it.operations;
    result.seconds = seconds_now() - begin;
    if (failed) {
        (void)snprintf(result.why, sizeof result.why, "%s", why);
        choices_say(result.choices, sizeof result.choices);
    }
    return result;
}

static void run_given(const weak_scenario *scenario, const char *given, bool tracing)
{
    memset(&choices, 0, sizeof choices);
    for (; *given != '\0' && choices.depth < CHOICES_MAX; given++) {
        const char *digit = strchr(digits, *given);
        choices.value[choices.depth++] = (uint8_t)(digit != NULL ? digit - digits : 0);
    }
    weak_it = (weak_world){.scenario = scenario, .tracing = tracing};
    run_once();
}

bool weak_repeats(const weak_scenario *scenario, const weak_result *result)
{
    run_given(scenario, result->choices, false);
    return failed && strcmp(why, result->why) == 0;
}

bool weak_replay(const weak_scenario *scenario, const char *given)
{
    run_given(scenario, given, true);
    printf("%s: %s\n", scenario->name, failed ? why : "all is well");
    return !failed;
}

/* ---- sites ---- */

static weak_site *sites;

void weak_known(weak_site *site)
{
    site->hits++;
    if (site->known)
        return;
    site->known = true;
    site->product = strncmp(site->file, "runtime/", 8) == 0;
    site->next = sites;
    sites = site;
}

weak_site *weak_sites(void)
{
    return sites;
}
