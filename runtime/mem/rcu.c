/* rcu.c - a worker's side of grace periods, and their wait: urcu-qsbr. */
#define _LGPL_SOURCE
#define URCU_INLINE_SMALL_FUNCTIONS
#include "mem/grace.h"

/* liburcu's own word: the model of our thread-locals would claim room for it where there is little,
 * and no program could load us at run time (dlopen). clang wants it said before, gcc after. */
#define RCU_WORD                                                                                   \
    extern __thread struct urcu_qsbr_reader urcu_qsbr_reader                                       \
        __attribute__((tls_model("global-dynamic")))
struct urcu_qsbr_reader;
RCU_WORD;
#include <urcu/urcu-qsbr.h>
RCU_WORD;

#include "base/assert.h"

/* How often this thread entered: the simulator runs many workers on one. */
static _Thread_local uint32_t rcu_depth;

void axo__grace_enter(void)
{
    if (rcu_depth++ == 0)
        urcu_qsbr_register_thread();
}

void axo__grace_leave(void)
{
    AXO_ASSERT(rcu_depth > 0);
    if (--rcu_depth == 0)
        urcu_qsbr_unregister_thread();
}

void axo__grace_quiet(void)
{
    AXO_DEBUG_ASSERT(rcu_depth > 0);
    AXO_TSAN_RELEASE(&urcu_qsbr_gp);
    urcu_qsbr_quiescent_state();
}

void axo__grace_offline(void)
{
    AXO_DEBUG_ASSERT(rcu_depth > 0);
    AXO_TSAN_RELEASE(&urcu_qsbr_gp);
    urcu_qsbr_thread_offline();
}

void axo__grace_online(void)
{
    AXO_DEBUG_ASSERT(rcu_depth > 0);
    urcu_qsbr_thread_online();
}

void axo__grace_wait(void)
{
    urcu_qsbr_synchronize_rcu();
    AXO_TSAN_ACQUIRE(&urcu_qsbr_gp);
}
