/* api_signal.c - the door of signal.h: a listener of the port, watched as a descriptor, closed by a
 * clean-up of the instance, which runs behind the end of its watches.
 *
 * A restart does not close it: between two instances the signal would do what the program does by
 * itself, and what has come and was not taken would be lost. The clean-up leaves it, and is put on
 * again in the heap of the next instance (mem/region.c: what a clean-up allocates lies there). It
 * is closed when an instance that has started ends, and has not watched the signal again. */
#include <axo/axo.h>

#include "os/signal.h"
#include "sched/io.h"
#include "super/memory.h"
#include "system/system.h"

static void signal_clean_up(void *arg);

static axo_status signal_defer(axo__cell *cell, uint32_t id)
{
    bool done = axo__memory_defer(axo__self, cell, signal_clean_up, (void *)(uintptr_t)id);
    return done ? AXO_OK : AXO_ENOMEM;
}

/* `life` and `phase` are still those of the instance that ends; in a restart's phase the next one
 * is made in this turn. */
static void signal_clean_up(void *arg)
{
    uint32_t id = (uint32_t)(uintptr_t)arg;
    axo__cell *cell = axo__os_signal_owner(id);
    if (cell == NULL)
        return; /* unwatched */
    bool restarts = cell->phase == AXO__PHASE_NORMAL;
    bool started = cell->life == AXO__INSTANCE_STARTED || cell->life == AXO__INSTANCE_STOPPED;
    if (!restarts || !axo__os_signal_leave(id, !started) || signal_defer(cell, id) != AXO_OK)
        axo__os_signal_close(id);
}

static axo_status signal_status(axo__os_signal_answer answer)
{
    static const axo_status statuses[] = {
        [AXO__SIGNAL_OK] = AXO_OK,          [AXO__SIGNAL_INVALID] = AXO_EINVAL,
        [AXO__SIGNAL_FULL] = AXO_EFULL,     [AXO__SIGNAL_REFUSED] = AXO_ETHREAD,
        [AXO__SIGNAL_FORKED] = AXO_EFORKED,
    };
    return statuses[answer];
}

/* One that an earlier instance has left has its clean-up already. */
static axo_status signal_begin(axo__cell *cell, int fd, uint32_t id, bool again)
{
    axo_status status = axo__io_watch(axo__self, cell, fd, AXO_IO_IN, 0);
    if (status == AXO_OK && !again) {
        status = signal_defer(cell, id);
        if (status != AXO_OK)
            (void)axo__io_unwatch(axo__self, cell, fd);
    }
    if (status != AXO_OK && again)
        (void)axo__os_signal_leave(id, false);
    else if (status != AXO_OK)
        axo__os_signal_close(id);
    return status;
}

axo_status axo_signal_watch(axo_ctx *ctx, int number, int *fd)
{
    axo__cell *cell = axo__caller(ctx);
    uint32_t id;
    int opened;
    if (fd != NULL)
        *fd = -1;
    if (cell == NULL)
        return axo__no_caller();
    if (fd == NULL)
        return AXO_EINVAL;
    bool again = axo__os_signal_again(number, cell, &opened, &id);
    axo_status status = AXO_OK;
    if (!again)
        status = signal_status(axo__os_signal_open(number, cell, &opened, &id));
    if (status == AXO_OK)
        status = signal_begin(cell, opened, id, again);
    if (status == AXO_OK)
        *fd = opened;
    return status;
}

uint64_t axo_signal_take(axo_ctx *ctx, int fd)
{
    axo__cell *cell = axo__caller(ctx);
    bool own = cell != NULL && axo__os_signal_find(fd) != 0 &&
               axo__io_blocked(axo__self, cell, fd, 0) == AXO_OK;
    return own ? axo__os_signal_take(fd) : 0;
}

axo_status axo_signal_unwatch(axo_ctx *ctx, int fd)
{
    axo__cell *cell = axo__caller(ctx);
    if (cell == NULL)
        return axo__no_caller();
    uint32_t id = axo__os_signal_find(fd);
    axo_status status = id != 0 ? axo__io_unwatch(axo__self, cell, fd) : AXO_ENOENT;
    if (status == AXO_OK)
        axo__os_signal_close(id);
    return status;
}
