/* rcu.c - a worker's side of grace periods, and their wait: urcu-qsbr.
 *
 * Quiescent-state readers pay nothing for a read: no store, no fence, no counter in the path of a
 * message. A worker pays once a turn instead, when it is quiescent. The orders are liburcu's: a
 * reader's accesses before axo__grace_quiet happen before axo__grace_wait returns. TSan does not
 * see that, so RELEASE and ACQUIRE of urcu_qsbr_gp state it by hand.
 */
#define _LGPL_SOURCE
#define URCU_INLINE_SMALL_FUNCTIONS
#include "mem/grace.h"

/* liburcu's thread-local reader record. With the model that liburcu declares, the dynamic linker
 * would need static room for it, of which little is left at run time: no program could load the
 * library with dlopen. clang wants the model declared before the header, gcc after. */
#define RCU_WORD                                                                                   \
    extern __thread struct urcu_qsbr_reader urcu_qsbr_reader                                       \
        __attribute__((tls_model("global-dynamic")))
struct urcu_qsbr_reader;
RCU_WORD;
#include <urcu/urcu-qsbr.h>
RCU_WORD;

#include "base/assert.h"

/* How often this thread has entered: a thread may host the workers of several systems, one inside
 * the other, and registers with liburcu once. */
static _Thread_local uint32_t rcu_depth;

bool axo__grace_enter(void)
{
    if (rcu_depth++ == 0) {
        urcu_qsbr_register_thread();
        return false;
    }
    bool offline = urcu_qsbr_read_ongoing() == 0;
    if (offline)
        axo__grace_online();
    return offline;
}

void axo__grace_leave(bool offline)
{
    AXO_ASSERT(rcu_depth > 0);
    if (offline)
        axo__grace_offline();
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
    /* From here to axo__grace_online the worker must not read a cell, a chunk of the table, or a
     * name. */
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
    /* Pairs with the RELEASE of every reader that was quiescent or went offline meanwhile: memory
     * that the caller frees now was read before by all of them. */
    AXO_TSAN_ACQUIRE(&urcu_qsbr_gp);
}
