/* crash_step_test.c - a crash at every so-manieth instruction of a callback, its calls of the
 * library and of libc included: the processor stops behind each instruction, and at the chosen
 * one the library's handler is called as if that had crashed. Either the crash is contained, or
 * the handler before ours is called: never anything else. Then all is accounted for.
 *
 * AXO_STRIDE: so many instructions from one to the next; 1: every one, which takes minutes.
 */
#include "fault/crash.h"

#if defined(__x86_64__)
#include "fault/step.h"

static uint32_t step_called; /* where it has stopped */

static void step_before(int number, siginfo_t *info, void *context)
{
    step_refused++;
}

static void step_trap(int number, siginfo_t *info, void *context)
{
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    if (--step_left > 0)
        return;
    step_called = step_calls;
    registers[REG_EFL] &= ~(greg_t)STEP_TRAP;
    crash_as_read(context);
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

/* Whatever holds a lock is not left, nor what the library is at but for a copy. The last frame is
 * the call of the callback. */
static void step_is_allowed(const axo_crash *crash)
{
    for (uint32_t i = 0; i < crash->frame_count && i + 1 < crash->depth; i++) {
        CRASH_CHECK(step_called == STEP_SENDS || !step_in_axo(crash->frames[i]));
        CRASH_CHECK(step_called != STEP_ALLOCATES || !step_in_libc(crash->frames[i]));
    }
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
    uint64_t contained = 0;
    (void)alarm(0);
    crash_fd = dup(STDERR_FILENO); /* each that is refused is a line */
    CRASH_CHECK(freopen("/dev/null", "w", stderr) != NULL);
    crash_handler(SIGSEGV, step_before);
    crash_handler(SIGTRAP, step_trap);
    CRASH_CHECK(axo_system_start(&options, &cw.system) == AXO_OK);
    CRASH_CHECK(axo_system_spawn(cw.system, &props, &cw.actor) == AXO_OK);
    CRASH_CHECK(axo_system_spawn(cw.system, &other, &step_other) == AXO_OK);
    for (uint64_t at = 1; step_over == step_refused; at += stride, tries++) {
        uint64_t before = axo_system_crashes(cw.system, NULL, 0) + step_refused;
        CRASH_CHECK(axo_system_send(cw.system, cw.actor, STEP_WORK, &at, sizeof at) == AXO_OK);
        crash_work_off();
        uint64_t after = axo_system_crashes(cw.system, NULL, 0) + step_refused;
        CRASH_CHECK(after == before + 1 || step_left > 0);
        axo_crash crash;
        if (axo_system_crashes(cw.system, &crash, 1) > contained)
            step_is_allowed(&crash);
        contained = axo_system_crashes(cw.system, NULL, 0);
    }
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
