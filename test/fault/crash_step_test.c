/* crash_step_test.c - a crash at every so-manieth instruction of a callback, its calls of the
 * library and of libc included: the processor stops behind each instruction, and at the chosen
 * one the library's handler is called as if that had crashed. Either the crash is contained, or
 * the handler before ours is called: never anything else. Then all is accounted for.
 *
 * AXO_STRIDE: so many instructions from one to the next; 1: every one, which takes minutes.
 */
#include <ucontext.h>

#include "fault/crash.h"

#if defined(__x86_64__)

enum { STEP_WORK = 1, STEP_NOTE = 2, STEP_TRAP = 0x100 };

static volatile uint64_t step_left; /* instructions up to the crash; 0: it has been */
static volatile uint64_t step_refused;
static volatile uint64_t step_over; /* callbacks that came to their end */
static volatile uint64_t step_freed;
static axo_ref step_other;

static void step_before(int number, siginfo_t *info, void *context)
{
    step_refused++;
}

static void step_trap(int number, siginfo_t *info, void *context)
{
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    struct sigaction ours;
    siginfo_t crash;
    if (--step_left > 0)
        return;
    registers[REG_EFL] &= ~(greg_t)STEP_TRAP;
    registers[REG_ERR] = 4;
    memset(&crash, 0, sizeof crash);
    crash.si_signo = SIGSEGV;
    crash.si_code = SEGV_MAPERR;
    if (sigaction(SIGSEGV, NULL, &ours) == 0)
        ours.sa_sigaction(SIGSEGV, &crash, context);
}

static inline __attribute__((always_inline)) void step_begin(uint64_t count)
{
    step_left = count;
    __asm__ volatile("leaq -128(%%rsp), %%rsp\n\tpushfq\n\torq $0x100, (%%rsp)\n\tpopfq\n\t"
                     "leaq 128(%%rsp), %%rsp" ::: "memory", "cc");
}

static inline __attribute__((always_inline)) void step_end(void)
{
    __asm__ volatile("leaq -128(%%rsp), %%rsp\n\tpushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq\n\t"
                     "leaq 128(%%rsp), %%rsp" ::: "memory", "cc");
}

static void step_free(void *payload, void *user)
{
    step_freed++;
}

static void step_clean(void *arg)
{
}

static axo_status step_other_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    return message->tag == 9 ? axo_stop_self(ctx) : AXO_OK;
}

static const axo_class step_other_class =
    AXO_CLASS(.name = "other", .receive = step_other_receive, .on_crash = AXO_CRASH_FAILS);

static axo_status step_receive(axo_ctx *ctx, void *state, const axo_message *message);

static __attribute__((noinline)) void step_compute(void)
{
    static volatile uint64_t sink;
    for (int i = 0; i < 25; i++)
        sink += sink * 3 + 1;
}

/* One of each that a callback may do, and something of its own between. */
static void step_work(axo_ctx *ctx, char *state)
{
    axo_props props = AXO_PROPS(.cls = &step_other_class);
    axo_ref child;
    axo_draft *draft;
    void *room;
    char text[64];
    void *block = malloc(40);
    memset(state, 7, 64);
    (void)snprintf(text, sizeof text, "%d and %s", 12, "text");
    free(block);
    step_compute();
    memcpy(state, text, sizeof text);
    (void)!axo_alloc(ctx, 100);
    (void)!axo_defer(ctx, step_clean, NULL);
    step_compute();
    (void)axo_send(ctx, step_other, STEP_NOTE, text, 8);
    (void)axo_send(ctx, step_other, STEP_NOTE, text, sizeof text);
    if (axo_message_new(ctx, STEP_NOTE, 40, &draft, &room) == AXO_OK) {
        step_compute();
        memset(room, 0, 40);
        if (axo_send_message(ctx, step_other, draft) != AXO_OK)
            axo_message_discard(ctx, draft);
    }
    if (axo_message_new(ctx, STEP_NOTE, 400, &draft, &room) == AXO_OK)
        axo_message_discard(ctx, draft);
    (void)axo_send_owned(ctx, step_other, STEP_NOTE, text, 8, step_free, NULL);
    if (axo_spawn(ctx, &props, &child) == AXO_OK) {
        (void)!axo_watch(ctx, child);
        (void)axo_send(ctx, child, 9, NULL, 0);
        step_compute();
        (void)axo_unwatch(ctx, child);
    }
    (void)axo_timer_start(ctx, 1, AXO_TIMER_ONCE, PARTS_S, 0, STEP_NOTE, NULL, 0);
    (void)axo_timer_stop(ctx, 1);
    (void)!axo_become(ctx, step_receive);
    (void)axo_unbecome(ctx);
}

static axo_status step_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    if (message->tag != STEP_WORK)
        return AXO_OK;
    step_begin(*AXO_PAYLOAD(message, uint64_t));
    step_work(ctx, state);
    step_end();
    step_over++;
    return AXO_OK;
}

static const axo_class step_class = AXO_CLASS(.name = "worker", .state_size = 64,
                                              .receive = step_receive,
                                              .on_crash = AXO_CRASH_FAILS);

static void step_settle(void)
{
    uint64_t turns = 1;
    while (turns > 0)
        CRASH_CHECK(axo_step_host(cw.system, 1000, &turns) == AXO_OK);
}

static void step_run(const void *arg)
{
    const uint64_t stride = *(const uint64_t *)arg;
    axo_options options = AXO_OPTIONS(
        .manual = 1, .contain = 1, .crashes_max = 65536, .crash_window_ns = 1,
        .allocator = {.alloc = parts_alloc, .free = parts_free, .user = &cw.heap});
    axo_props props = AXO_PROPS(.cls = &step_class);
    axo_props other = AXO_PROPS(.cls = &step_other_class);
    uint64_t tries = 0;
    (void)alarm(0);
    crash_fd = dup(STDERR_FILENO); /* each that is refused is a line */
    CRASH_CHECK(freopen("/dev/null", "w", stderr) != NULL);
    crash_install(SIGSEGV, step_before);
    crash_install(SIGTRAP, step_trap);
    CRASH_CHECK(axo_system_start(&options, &cw.system) == AXO_OK);
    CRASH_CHECK(axo_system_spawn(cw.system, &props, &cw.actor) == AXO_OK);
    CRASH_CHECK(axo_system_spawn(cw.system, &other, &step_other) == AXO_OK);
    for (uint64_t at = 1; step_over == step_refused; at += stride, tries++) {
        uint64_t before = axo_system_crashes(cw.system, NULL, 0) + step_refused;
        CRASH_CHECK(axo_system_send(cw.system, cw.actor, STEP_WORK, &at, sizeof at) == AXO_OK);
        step_settle();
        uint64_t after = axo_system_crashes(cw.system, NULL, 0) + step_refused;
        CRASH_CHECK(after == before + 1 || step_left > 0);
    }
    uint64_t contained = axo_system_crashes(cw.system, NULL, 0);
    CRASH_CHECK(contained > 0 && step_refused > 0);
    CRASH_CHECK(contained + step_refused + 1 == tries);
    crash_finish();
    (void)dprintf(crash_fd, "%llu contained, %llu refused\n", (unsigned long long)contained,
                  (unsigned long long)step_refused);
}

static void at_many_instructions(void **state)
{
    const char *asked = getenv("AXO_STRIDE");
    uint64_t stride = asked != NULL ? strtoull(asked, NULL, 10) : 101;
    if (CRASH_REPORTED)
        return;
    crash_end end = crash_run(step_run, &stride);
    crash_is_well(&end, "at many instructions");
    (void)printf("%s", end.text);
}
#else
static void at_many_instructions(void **state)
{
}
#endif

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(at_many_instructions),
};

TEST_MAIN(tests)
