/* step.h - a piece of the runtime on one thread, stopped at each of its steps, and what others do
 * there. A test includes it before the file of the runtime that it takes apart.
 *
 *     step_begin(at, change);             or step_begin_two: before that step of what comes now
 *     axo__directives_take(...);          ... others make a change, which has no steps of its own
 *     uint32_t steps = step_end();        how many it had
 *     step_rest();                        makes the changes whose step never came
 */
#ifndef UNIT_STEP_H
#define UNIT_STEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

static void step(void);
#define AXO__YIELD_POINT() step()

#define STEP_NEVER UINT32_MAX

/* Before step `at[i]`, change i is made; the first is not later than the second. */
static struct {
    uint32_t at[2];
    void (*change[2])(void);
    uint32_t now;
    uint32_t made;
    bool on;
} step_plan;

static void step(void)
{
    if (!step_plan.on)
        return;
    step_plan.on = false;
    while (step_plan.made < 2 && step_plan.at[step_plan.made] == step_plan.now)
        step_plan.change[step_plan.made++]();
    step_plan.now++;
    step_plan.on = true;
}

static inline void step_begin_two(uint32_t one, void (*first)(void), uint32_t two,
                                  void (*second)(void))
{
    if (one > two || step_plan.on)
        abort();
    step_plan.at[0] = one;
    step_plan.at[1] = two;
    step_plan.change[0] = first;
    step_plan.change[1] = second;
    step_plan.now = 0;
    step_plan.made = 0;
    step_plan.on = true;
}

static inline void step_begin(uint32_t at, void (*change)(void))
{
    step_begin_two(at, change, STEP_NEVER, NULL);
}

static inline uint32_t step_end(void)
{
    step_plan.on = false;
    return step_plan.now;
}

static inline void step_rest(void)
{
    for (; step_plan.made < 2 && step_plan.change[step_plan.made] != NULL; step_plan.made++)
        step_plan.change[step_plan.made]();
}

/* `run` says how many steps there were with the change before step `at`: each of them in turn. How
 * many at last; above `most`: it was given up. */
static inline uint32_t step_each(uint32_t (*run)(uint32_t at), uint32_t most)
{
    uint32_t steps = 1;
    for (uint32_t at = 0; at < steps && steps <= most; at++)
        steps = run(at);
    return steps;
}

/* Any two of them; the most that there were. */
static inline uint32_t step_each_two(uint32_t (*run)(uint32_t one, uint32_t two), uint32_t most)
{
    uint32_t steps = 1;
    for (uint32_t one = 0; one < steps && steps <= most; one++) {
        for (uint32_t two = one; two < steps && steps <= most; two++) {
            uint32_t taken = run(one, two);
            steps = taken > steps ? taken : steps;
        }
    }
    return steps;
}

#endif
