/* step.h - a callback that is stepped through, and what it does: one of each that a callback may
 * do. For tests that stop at every so-manieth of its instructions, those of the library and of libc
 * included. */
#ifndef TEST_FAULT_STEP_H
#define TEST_FAULT_STEP_H

#include <dlfcn.h>
#include <ucontext.h>

#include "fault/crash.h"

enum { STEP_WORK = 1, STEP_NOTE = 2, STEP_TRAP = 0x100 };

static volatile uint64_t step_left; /* instructions up to the one where it stops; 0: it has */
static volatile uint64_t step_refused;
static volatile uint64_t step_over; /* callbacks that came to their end */
static volatile uint64_t step_freed;
static volatile uint32_t step_calls; /* what is called just now, beside its own code */
static axo_ref step_other;

enum {
    STEP_ALLOCATES = 1, /* functions of libc that hold a lock, or may */
    STEP_SENDS = 2      /* functions of the library that copy what they are given */
};

extern const char __start_axo_text[] __attribute__((weak));
extern const char __stop_axo_text[] __attribute__((weak));

static inline bool step_in_axo(uint64_t pc)
{
    return pc >= (uintptr_t)__start_axo_text && pc < (uintptr_t)__stop_axo_text;
}

static inline bool step_in_libc(uint64_t pc)
{
    Dl_info where;
    Dl_info libc;
    void *(*fn)(size_t) = malloc;
    const void *address;
    memcpy(&address, &fn, sizeof address);
    CRASH_CHECK(dladdr(address, &libc) != 0);
    return dladdr((const void *)(uintptr_t)pc, &where) != 0 && where.dli_fbase == libc.dli_fbase;
}

static inline __attribute__((always_inline)) void step_begin(uint64_t count)
{
    step_left = count;
    __asm__ volatile("leaq -128(%%rsp), %%rsp\n\tpushfq\n\torq $0x100, (%%rsp)\n\tpopfq\n\t"
                     "leaq 128(%%rsp), %%rsp" ::
                         : "memory", "cc");
}

static inline __attribute__((always_inline)) void step_end(void)
{
    __asm__ volatile("leaq -128(%%rsp), %%rsp\n\tpushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq\n\t"
                     "leaq 128(%%rsp), %%rsp" ::
                         : "memory", "cc");
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
    step_calls = STEP_ALLOCATES;
    void *block = malloc(40);
    (void)snprintf(text, sizeof text, "%d and %s", 12, "text");
    free(block);
    step_calls = 0;
    memset(state, 7, 64);
    step_compute();
    memcpy(state, text, sizeof text);
    (void)!axo_alloc(ctx, 100);
    (void)!axo_defer(ctx, step_clean, NULL);
    step_compute();
    step_calls = STEP_SENDS;
    (void)axo_send(ctx, step_other, STEP_NOTE, text, 8);
    (void)axo_send(ctx, step_other, STEP_NOTE, text, sizeof text);
    step_calls = 0;
    if (axo_message_new(ctx, STEP_NOTE, 40, &draft, &room) == AXO_OK) {
        step_compute();
        memset(room, 0, 40);
        axo_status sent = axo_send_message(ctx, step_other, draft);
        if (sent != AXO_OK && sent != AXO_EGONE)
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

#endif
