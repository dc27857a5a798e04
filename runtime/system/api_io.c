/* api_io.c - the door of io.h: for the running callback only. */
#include <axo/axo.h>

#include "sched/io.h"
#include "system/system.h"

#define IO_EVENTS (AXO_IO_IN | AXO_IO_OUT)

axo_status axo_io_watch(axo_ctx *ctx, int fd, uint32_t events, uint32_t flags)
{
    axo__cell *cell = axo__caller(ctx);
    if (cell == NULL)
        return axo__no_caller();
    if ((events & ~IO_EVENTS) != 0 || (flags & ~AXO_IO_OWN) != 0)
        return AXO_EINVAL;
    if (fd < 0)
        return AXO_EDESCRIPTOR;
    return axo__io_watch(axo__self, cell, fd, events, flags);
}

axo_status axo_io_unwatch(axo_ctx *ctx, int fd)
{
    axo__cell *cell = axo__caller(ctx);
    return cell != NULL ? axo__io_unwatch(axo__self, cell, fd) : axo__no_caller();
}

axo_status axo_io_want(axo_ctx *ctx, int fd, uint32_t events)
{
    axo__cell *cell = axo__caller(ctx);
    if (cell == NULL)
        return axo__no_caller();
    if ((events & ~IO_EVENTS) != 0)
        return AXO_EINVAL;
    return axo__io_want(axo__self, cell, fd, events);
}

axo_status axo_io_blocked(axo_ctx *ctx, int fd, uint32_t events)
{
    axo__cell *cell = axo__caller(ctx);
    if (cell == NULL)
        return axo__no_caller();
    if ((events & ~IO_EVENTS) != 0)
        return AXO_EINVAL;
    return axo__io_blocked(axo__self, cell, fd, events);
}
