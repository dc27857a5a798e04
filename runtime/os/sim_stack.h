/* sim_stack.h - a fiber's stack, with a guard page below it, and the switch between two. */
#ifndef AXO__OS_SIM_STACK_H
#define AXO__OS_SIM_STACK_H

#include <stdbool.h>
#include <stddef.h>

typedef struct axo__sim_stack {
    void *place;    /* where it goes on */
    void *memory;   /* NULL: none yet, or the thread's own */
    void *low;      /* what a sanitizer is told */
    size_t size;
    void *fake;     /* a sanitizer's */
} axo__sim_stack;

/* Fresh: `begin` runs when it is switched to, and calls axo__sim_stack_begun first; it never
 * returns. Memory is taken once and kept. false: there is none. */
bool axo__sim_stack_make(axo__sim_stack *stack, void (*begin)(void));

/* The stack that is running already. */
void axo__sim_stack_first(axo__sim_stack *stack);

/* From the running one to another. `ends`: the running one never goes on. */
void axo__sim_stack_switch(axo__sim_stack *from, axo__sim_stack *to, bool ends);
void axo__sim_stack_begun(axo__sim_stack *stack);

#endif
