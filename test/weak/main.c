/* main.c - weak: litmus tests, scenarios, weakening mutants, replay. */
#include <stdio.h>

#include "weak/litmus.h"

int main(void)
{
    uint64_t executions = 0;
    uint32_t right = litmus_run(&executions);
    printf("litmus: %u of %u, %lu executions\n", right, litmus_count, (unsigned long)executions);
    return right == litmus_count ? 0 : 1;
}
