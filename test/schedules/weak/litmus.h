/* litmus.h - small programs whose outcomes are known: the checker against the memory model. */
#ifndef AXO_TEST_WEAK_LITMUS_H
#define AXO_TEST_WEAK_LITMUS_H

#include <stdint.h>

/* A row of the table.
 *
 * Threads are parted by |, statements by ; - W x 1 rel stores, R x acq loads, A x 1 acq_rel adds,
 * X x 1 rlx exchanges, C x 0 1 acq_rel compares and exchanges, F acq is a fence. An outcome is what
 * the loads and read-modify-writes returned, in the order of the text, a digit each, and then what
 * the words named by `final` hold at the end.
 *
 * `allowed` are all the outcomes that are to be seen; "=47" says only how many they are.
 * `forbidden` are never seen; ? is any digit. `unexplored` are allowed by the standard, and are not
 * seen. */
typedef struct litmus {
    const char *name;
    const char *text;
    const char *final;
    const char *allowed;
    const char *forbidden;
    const char *unexplored;
} litmus;

extern const litmus litmus_table[];
extern const uint32_t litmus_count;

/* How many rows are as they should be; says which are not. */
uint32_t litmus_run(uint64_t *executions);

#endif
