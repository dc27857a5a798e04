/* ending.c - the functions that are called when every actor has terminated.
 *
 * The list is closed and taken in one critical section, which makes the promise of
 * include/axo/system.h exact: AXO_OK from axo_system_on_termination means that the function
 * runs. */
#include "system/ending.h"

#include "base/aside.h"
#include "base/assert.h"
#include "base/border.h"

bool axo__ending_init(axo__ending *ending)
{
    ending->calls = NULL;
    ending->over = false;
    return axo__os_mutex_init(&ending->mutex);
}

void axo__ending_fini(axo__ending *ending)
{
    axo__os_mutex_fini(&ending->mutex);
}

axo_status axo__ending_add(axo__ending *ending, axo__heap *heap, axo_termination_fn fn, void *user)
{
    /* The record is allocated before the mutex is taken, because the allocator is the program's. */
    axo__last_call *call =
        axo__heap_alloc(heap, sizeof *call, _Alignof(axo__last_call), AXO__SITE_SYSTEM);
    if (call == NULL)
        return AXO_ENOMEM;
    *call = (axo__last_call){.fn = fn, .user = user};
    axo__os_mutex_lock(&ending->mutex);
    bool over = ending->over;
    if (!over) {
        call->next = ending->calls;
        ending->calls = call;
    }
    axo__os_mutex_unlock(&ending->mutex);
    if (!over)
        return AXO_OK;
    axo__heap_free(heap, call, sizeof *call, _Alignof(axo__last_call), AXO__SITE_SYSTEM);
    return AXO_ESTOPPING;
}

void axo__ending_run(axo__ending *ending, axo__heap *heap, axo_system *system)
{
    axo__os_mutex_lock(&ending->mutex);
    axo__last_call *call = ending->calls;
    AXO_DEBUG_ASSERT(!ending->over);
    ending->calls = NULL;
    ending->over = true;
    axo__os_mutex_unlock(&ending->mutex);
    /* The record is freed after its function: the function may still ask for its `user`. */
    while (call != NULL) {
        axo__last_call *next = call->next;
        axo__aside++;
        AXO_BORDER();
        call->fn(system, call->user);
        axo__aside--;
        axo__heap_free(heap, call, sizeof *call, _Alignof(axo__last_call), AXO__SITE_SYSTEM);
        call = next;
    }
}
