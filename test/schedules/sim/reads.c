/* reads.c - watched descriptors and their checker: see reads.h. */
#include "reads.h"

#include <string.h>

#include "os/poll.h"
#include "os/sim.h"
#include "probes.h"
#include "world.h"

#define READS_FDS 64

/* A descriptor's last watch. */
typedef struct reads_watch {
    uint64_t bits; /* of the actor; 0: nobody has watched it */
    uint32_t instance;
    uint32_t wanted;
    uint32_t left; /* what its actor was told and did not read */
    bool own;
    bool open; /* the descriptor of this watch */
    bool shut; /* it was closed behind the library's back */
} reads_watch;

static reads_watch reads[READS_FDS];
static bool reads_made; /* the system has its set */

void reads_begin(void)
{
    memset(reads, 0, sizeof reads);
    reads_made = false;
}

/* Whether the watch lives: its instance does, and neither unwatched nor closed it. An actor whose
 * restart waits for its time has none. */
static bool reads_lives(const reads_watch *it)
{
    const ghost *owner = it->bits != 0 ? ghost_find(it->bits) : NULL;
    if (owner == NULL || !it->open || owner->terminated || owner->instance != it->instance)
        return false;
    return owner->live || owner->constructing;
}

static bool reads_is_mine(const reads_watch *it, axo_ctx *ctx)
{
    return reads_lives(it) && it->bits == axo_self(ctx).bits;
}

/* One of the open ones; -1: none is found. */
static int reads_some(void)
{
    uint32_t from = world_below(READS_FDS);
    for (uint32_t i = 0; i < READS_FDS; i++) {
        int fd = (int)((from + i) % READS_FDS);
        if (reads[fd].open && axo__sim_fd_is_open(fd))
            return fd;
    }
    return -1;
}

static void reads_close(int fd)
{
    axo__os_close(fd);
    reads[fd].open = false;
}

/* The operating system has no more: no set when the first one watches, no watch. *due: the status
 * that it gives. */
static axo_status reads_watch_poorly(axo_ctx *ctx, int fd, bool refused, axo_status *due)
{
    bool set = !reads_made && world_below(2) == 0;
    axo__sim_refuse_polls(set);
    axo__sim_refuse_watches(0);
    axo_status status = axo_io_watch(ctx, fd, AXO_IO_IN, AXO_IO_OWN);
    axo__sim_refuse_polls(false);
    axo__sim_refuse_watches(UINT32_MAX);
    *due = set ? AXO_ETHREAD : refused ? AXO_ENOPOLL : AXO_EFULL;
    return status;
}

static void reads_watch_one(axo_ctx *ctx, int fd, bool refused)
{
    const ghost *me = ghost_find(axo_self(ctx).bits);
    bool own = world_below(3) != 0;
    uint32_t wanted = world_below(4) == 0 ? AXO_IO_IN | AXO_IO_OUT : AXO_IO_IN;
    axo_status due = refused ? AXO_ENOPOLL : AXO_OK;
    axo_status status = world_below(16) == 0 ? reads_watch_poorly(ctx, fd, refused, &due)
                                             : axo_io_watch(ctx, fd, wanted, own ? AXO_IO_OWN : 0);
    bool poor = w.dry && status == AXO_ENOMEM;
    HOLDS(60, me, poor || status == due, "a watch was refused, or was not");
    reads_made = reads_made || (status != AXO_ETHREAD && status != AXO_ENOMEM);
    if (status != AXO_OK) {
        axo__os_close(fd);
        reads[fd].open = false;
        return;
    }
    if (reads[fd].bits != 0 && reads[fd].bits != me->bits)
        probe_hit(PROBE_NUMBER_AGAIN);
    reads[fd] = (reads_watch){
        .bits = me->bits, .instance = me->instance, .wanted = wanted, .own = own, .open = true};
    axo__sim_fd_set(fd, world_below(8));
}

/* Watched already: by this actor, or by another. */
static void reads_watch_twice(axo_ctx *ctx)
{
    int fd = reads_some();
    if (fd < 0 || !reads_lives(&reads[fd]))
        return;
    axo_status status = axo_io_watch(ctx, fd, AXO_IO_IN, 0);
    const ghost *me = ghost_find(axo_self(ctx).bits);
    axo_status due = reads_is_mine(&reads[fd], ctx) ? AXO_EEXIST : AXO_EBUSY;
    HOLDS(60, me, status == due || (w.dry && status == AXO_ENOMEM), "watched twice");
}

static void reads_unwatch(axo_ctx *ctx, bool closes)
{
    int fd = reads_some();
    if (fd < 0)
        return;
    const ghost *me = ghost_find(axo_self(ctx).bits);
    bool mine = reads_is_mine(&reads[fd], ctx);
    if (mine && closes) { /* what no program should do */
        reads_close(fd);
        reads[fd].shut = true;
        return;
    }
    axo_status status = axo_io_unwatch(ctx, fd);
    HOLDS(60, me, status == (mine ? AXO_OK : AXO_ENOENT), "an unwatch is wrong about who watches");
    if (mine)
        reads_close(fd);
}

static void reads_want_of(axo_ctx *ctx, int fd, uint32_t wanted)
{
    const ghost *me = ghost_find(axo_self(ctx).bits);
    bool mine = reads_is_mine(&reads[fd], ctx);
    axo_status status = axo_io_want(ctx, fd, wanted);
    HOLDS(60, me, status == (mine ? AXO_OK : AXO_ENOENT), "a want is wrong about who watches");
    if (mine)
        reads[fd].wanted = wanted;
}

/* One's own more often than another's: a pause ends. */
static void reads_want(axo_ctx *ctx)
{
    int fd = reads_some();
    for (uint32_t i = 0; i < 4 && fd >= 0 && !reads_is_mine(&reads[fd], ctx); i++)
        fd = reads_some();
    if (fd >= 0)
        reads_want_of(ctx, fd, world_below(4));
}

void reads_act(axo_ctx *ctx)
{
    switch (world_below(8)) {
    case 0:
    case 1:
    case 2: {
        bool refused = world_below(8) == 0;
        int fd = axo__sim_fd_open(refused);
        if (fd >= 0)
            reads_watch_one(ctx, fd, refused);
        return;
    }
    case 3:
        reads_watch_twice(ctx);
        return;
    case 4:
        reads_unwatch(ctx, world_below(4) == 0);
        return;
    case 5:
        reads_want(ctx);
        return;
    default:
        reads_outside();
        return;
    }
}

/* The peer: more to read, room to write, its end. */
void reads_outside(void)
{
    int fd = reads_some();
    if (fd < 0)
        return;
    if (!reads_lives(&reads[fd])) {
        if (!reads[fd].own)
            reads_close(fd);
        return;
    }
    axo__sim_fd_set(fd, world_below(8));
}

void reads_ready(axo_ctx *ctx, const axo_message *message)
{
    const axo_io_ready *ready = AXO_PAYLOAD(message, axo_io_ready);
    const ghost *me = ghost_find(axo_self(ctx).bits);
    HOLDS(60, me, ready->fd >= 0 && ready->fd < READS_FDS && message->size == sizeof *ready,
          "a readiness of no descriptor");
    reads_watch *it = &reads[ready->fd];
    if (it->shut && it->bits == me->bits && it->instance == me->instance)
        return; /* it was on its way when the number was closed */
    HOLDS(60, me, reads_is_mine(it, ctx), "a readiness of a watch that is over");
    uint32_t told = it->wanted | AXO_IO_HUP | AXO_IO_ERR;
    HOLDS(60, me, ready->events != 0 && (ready->events & ~told) == 0,
          "a readiness that nobody wants");
    if (it->left != 0)
        probe_hit(PROBE_READ_AGAIN);
    it->left = w.calm || world_below(4) != 0 ? 0 : axo__sim_fd_level(ready->fd) & it->wanted;
    if (it->left != 0) {
        if (world_below(2) == 0) /* a pause, which a later want may end */
            reads_want_of(ctx, ready->fd, world_below(2) * AXO_IO_OUT);
        return;
    }
    axo__sim_fd_set(ready->fd, 0);
    if (world_below(2) == 0)
        (void)axo_io_blocked(ctx, ready->fd, ready->events & (AXO_IO_IN | AXO_IO_OUT));
}

void reads_check_rest(void)
{
    for (int fd = 0; fd < READS_FDS; fd++) {
        const reads_watch *it = &reads[fd];
        if (!reads_lives(it))
            continue;
        HOLDS_ALL(61, (axo__sim_fd_level(fd) & it->wanted) == 0,
                  "descriptor %d is ready, and actor %014" PRIx64 " was not told", fd, it->bits);
    }
}

void reads_check_end(void)
{
    for (int fd = 0; fd < READS_FDS; fd++) {
        const reads_watch *it = &reads[fd];
        if (it->bits == 0 || !it->open)
            continue;
        HOLDS_ALL(56, axo__sim_fd_is_open(fd) != it->own, "descriptor %d is %s", fd,
                  it->own ? "owned and open" : "closed");
    }
}
