/* zygote.h - the zygote: what the program is when it has been started to fork. */
#ifndef PROCESS_ZYGOTE_H
#define PROCESS_ZYGOTE_H

#include <axo/actor.h>

/* What the argument of a zygote says. */
typedef struct process_zygote_order {
    long parent;     /* the process that has started it */
    uint32_t spares;
} process_zygote_order;

/* Forks processes until its host has gone; never returns. */
_Noreturn void process_zygote_run(const process_zygote_order *order,
                                  const axo_class *const *classes, uint32_t count);

#endif
