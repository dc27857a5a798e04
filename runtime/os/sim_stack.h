/* sim_stack.h - a fiber's stack, with a guard page below it, and the switch between two stacks. */
#ifndef AXO__OS_SIM_STACK_H
#define AXO__OS_SIM_STACK_H

#include <stdbool.h>
#include <stddef.h>

typedef struct axo__sim_stack {
    void *place;    /* the stack pointer, or context, where the fiber goes on */
    void *memory;   /* NULL: none yet, or the thread's own */
    void *low;      /* the lowest address, which a sanitizer is told */
    size_t size;
    void *fake;     /* a sanitizer's fake stack */
} axo__sim_stack;

/* Makes a fresh stack: `begin` runs when a fiber switches to it, calls axo__sim_stack_begun first,
 * and never returns. Memory is taken once and kept. false: there is none. */
bool axo__sim_stack_make(axo__sim_stack *stack, void (*begin)(void));

/* Describes the stack that the caller runs on. */
void axo__sim_stack_first(axo__sim_stack *stack);

/* Switches from the running stack to another. `ends`: the running fiber never goes on. */
void axo__sim_stack_switch(axo__sim_stack *from, axo__sim_stack *to, bool ends);
void axo__sim_stack_begun(axo__sim_stack *stack);

#endif
