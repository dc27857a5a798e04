/* api_signal.c - the door of signal.h: a listener of the port, watched as a descriptor, closed by a
 * clean-up of the instance, which runs behind the end of its watches. */
#include <axo/axo.h>

#include "os/signal.h"
#include "sched/io.h"
#include "super/memory.h"
#include "system/system.h"

static void signal_clean_up(void *arg)
{
    axo__os_signal_close((uint32_t)(uintptr_t)arg);
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

static axo_status signal_defer(axo__cell *cell, uint32_t id)
{
    bool done = axo__memory_defer(axo__self, cell, signal_clean_up, (void *)(uintptr_t)id);
    return done ? AXO_OK : AXO_ENOMEM;
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
    axo_status status = signal_status(axo__os_signal_open(number, &opened, &id));
    if (status != AXO_OK)
        return status;
    status = axo__io_watch(axo__self, cell, opened, AXO_IO_IN, 0);
    if (status == AXO_OK) {
        status = signal_defer(cell, id);
        if (status != AXO_OK)
            (void)axo__io_unwatch(axo__self, cell, opened);
    }
    if (status != AXO_OK)
        axo__os_signal_close(id);
    else
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
