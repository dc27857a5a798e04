/* sim_stack.c - a fiber's stack, and the switch: by hand on x86-64, elsewhere the C library's.
 *
 * The switch by hand saves six registers and no signal mask: a run makes millions of switches, and
 * swapcontext makes a system call for each. */
#include "os/sim_stack.h"

#include <sys/mman.h>

#include "base/assert.h"

#ifdef __SANITIZE_ADDRESS__
#include <pthread.h>
#include <sanitizer/common_interface_defs.h>
#define STACK_SIZE ((size_t)1024 * 1024)
#define STACK_LEAVE(from, to, ends)                                                                \
    __sanitizer_start_switch_fiber((ends) ? NULL : &(from)->fake, (to)->low, (to)->size)
#define STACK_ARRIVE(stack) __sanitizer_finish_switch_fiber((stack)->fake, NULL, NULL)
#else
#define STACK_SIZE ((size_t)128 * 1024)
#define STACK_LEAVE(from, to, ends) ((void)(from), (void)(to), (void)(ends))
#define STACK_ARRIVE(stack) ((void)(stack))
#endif
#define STACK_GUARD ((size_t)4096)

#ifdef __x86_64__
/* Saves the registers that a call keeps, changes stacks, and returns into the other fiber. */
void axo__sim_stack_swap(void **save, void *load);
__asm__(".text\n.p2align 4\n.hidden axo__sim_stack_swap\n.globl axo__sim_stack_swap\n"
        ".type axo__sim_stack_swap,@function\naxo__sim_stack_swap:\n"
        "push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
        "mov %rsp,(%rdi)\nmov %rsi,%rsp\n"
        "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n"
        ".size axo__sim_stack_swap,.-axo__sim_stack_swap\n");
#define STACK_SAVED 6

static void stack_prepare(axo__sim_stack *stack, void (*begin)(void))
{
    void **top = (void **)(void *)((char *)stack->low + stack->size);
    *--top = NULL; /* no caller to return to; and aligned as after a call */
    *--top = (void *)(size_t)begin;
    for (int i = 0; i < STACK_SAVED; i++)
        *--top = NULL;
    stack->place = top;
}
#else
#include <ucontext.h>

static void axo__sim_stack_swap(void **save, void *load)
{
    (void)swapcontext(*save, load);
}

/* The context lies at the low end, where the stack ends last. */
static void stack_prepare(axo__sim_stack *stack, void (*begin)(void))
{
    ucontext_t *context = stack->low;
    (void)getcontext(context);
    context->uc_stack.ss_sp = context + 1;
    context->uc_stack.ss_size = stack->size - sizeof *context;
    context->uc_link = NULL;
    makecontext(context, begin, 0);
    stack->place = context;
}
#endif

bool axo__sim_stack_make(axo__sim_stack *stack, void (*begin)(void))
{
    if (stack->memory == NULL) {
        void *memory = mmap(NULL, STACK_GUARD + STACK_SIZE, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED)
            return false;
        int error = mprotect(memory, STACK_GUARD, PROT_NONE);
        AXO_ASSERT(error == 0);
        stack->memory = memory;
        stack->low = (char *)memory + STACK_GUARD;
        stack->size = STACK_SIZE;
    }
    AXO_UNPOISON(stack->low, stack->size); /* frames of the fiber that had this stack before */
    stack->fake = NULL;
    stack_prepare(stack, begin);
    return true;
}

void axo__sim_stack_first(axo__sim_stack *stack)
{
#ifdef __SANITIZE_ADDRESS__
    pthread_attr_t attr;
    if (pthread_getattr_np(pthread_self(), &attr) == 0) {
        (void)pthread_attr_getstack(&attr, &stack->low, &stack->size);
        (void)pthread_attr_destroy(&attr);
    }
#endif
#ifndef __x86_64__
    static ucontext_t first;
    stack->place = &first;
#endif
    stack->fake = NULL;
}

void axo__sim_stack_switch(axo__sim_stack *from, axo__sim_stack *to, bool ends)
{
    STACK_LEAVE(from, to, ends);
    axo__sim_stack_swap(&from->place, to->place);
    STACK_ARRIVE(from);
}

void axo__sim_stack_begun(axo__sim_stack *stack)
{
    STACK_ARRIVE(stack);
}
