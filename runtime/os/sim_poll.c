/* sim_poll.c - descriptors that exist in the simulator only, and the set that waits for them.
 *
 * A descriptor has a level, what it is ready for, which the test sets; each setting is an edge, as
 * the kernel's are, also if nothing has changed. A number that is closed leaves the set by itself,
 * and may be opened again. Now and then a wait finds a descriptor that is not ready, or comes
 * early.
 */
#include <string.h>

#include "base/assert.h"
#include "os/poll.h"
#include "os/sim_inside.h"

#define SIM_FDS 64
/* One of so many waits finds a descriptor for nothing. */
#define SIM_SPURIOUS_ONE_IN 64

typedef struct sim_fd {
    bool open;
    bool refused;       /* of a kind that cannot be waited for */
    uint32_t level;     /* what it is ready for now */
    uint32_t edge;      /* what is to be found */
    uint32_t unseen;    /* bits that are never found: OUT or none */
    axo__os_poll *poll; /* the set that has it; NULL: none */
    uint64_t cookie;
} sim_fd;

/* The descriptors of the one real thread. */
static sim_fd sim_fds[SIM_FDS];
static uint32_t sim_watches_left = UINT32_MAX;
static bool sim_poll_refused;

void axo__sim_poll_reset(void)
{
    memset(sim_fds, 0, sizeof sim_fds);
    sim_watches_left = UINT32_MAX;
    sim_poll_refused = false;
}

void axo__sim_refuse_polls(bool refused)
{
    sim_poll_refused = refused;
}

void axo__sim_refuse_watches(uint32_t after)
{
    sim_watches_left = after;
}

int axo__sim_fd_open(bool refused)
{
    for (int fd = 0; fd < SIM_FDS; fd++) {
        if (sim_fds[fd].open)
            continue;
        sim_fds[fd] = (sim_fd){.open = true, .refused = refused};
        return fd;
    }
    return -1;
}

static sim_fd *sim_fd_at(int fd)
{
    return fd >= 0 && fd < SIM_FDS && sim_fds[fd].open ? &sim_fds[fd] : NULL;
}

bool axo__sim_fd_is_open(int fd)
{
    return sim_fd_at(fd) != NULL;
}

/* An end or an error is IN and OUT too, as the contract says. */
void axo__sim_fd_set(int fd, uint32_t level)
{
    sim_fd *it = sim_fd_at(fd);
    AXO_ASSERT(it != NULL);
    if ((level & (AXO__POLL_HUP | AXO__POLL_ERR)) != 0)
        level |= AXO__POLL_IN | AXO__POLL_OUT;
    it->level = level;
    AXO__YIELD_POINT();
    if (it->poll == NULL || level == 0)
        return;
    it->edge |= level & ~it->unseen;
    if (axo__sim_now.fibers)
        axo__sim_tell(it->poll);
}

void axo__sim_fd_fall(int fd, uint32_t level)
{
    sim_fd *it = sim_fd_at(fd);
    AXO_ASSERT(it != NULL);
    it->level = level;
    it->edge &= level;
}

uint32_t axo__sim_fd_level(int fd)
{
    const sim_fd *it = sim_fd_at(fd);
    return it != NULL ? it->level : 0;
}

void axo__os_close(int fd)
{
    sim_fd *it = sim_fd_at(fd);
    AXO_ASSERT(it != NULL); /* who closes twice may close another's */
    AXO__YIELD_POINT();
    *it = (sim_fd){.open = false};
}

/* ---- the set ---- */

bool axo__os_poll_init(axo__os_poll *poll, const axo__os_event *event)
{
    (void)event;
    poll->fd = -1;
    poll->wake = 0; /* 1: a waker has come */
    return !sim_poll_refused;
}

void axo__os_poll_fini(axo__os_poll *poll)
{
    for (int fd = 0; fd < SIM_FDS; fd++)
        AXO_ASSERT(sim_fds[fd].poll != poll);
    poll->fd = -2;
}

axo__os_poll_answer axo__os_poll_add(axo__os_poll *poll, int fd, uint64_t cookie, bool out)
{
    sim_fd *it = sim_fd_at(fd);
    AXO__YIELD_POINT();
    if (it == NULL)
        return AXO__POLL_CLOSED;
    if (it->refused)
        return AXO__POLL_REFUSED;
    if (it->poll == poll)
        return AXO__POLL_TWICE;
    if (sim_watches_left == 0)
        return AXO__POLL_FULL;
    if (sim_watches_left != UINT32_MAX)
        sim_watches_left--;
    it->poll = poll;
    it->cookie = cookie;
    it->unseen = out ? 0 : AXO__POLL_OUT;
    it->edge = it->level & ~it->unseen;
    if (it->edge != 0 && axo__sim_now.fibers)
        axo__sim_tell(poll);
    return AXO__POLL_OK;
}

void axo__os_poll_add_out(axo__os_poll *poll, int fd, uint64_t cookie)
{
    sim_fd *it = sim_fd_at(fd);
    AXO__YIELD_POINT();
    if (it == NULL || it->poll != poll)
        return;
    it->unseen = 0;
    it->cookie = cookie;
    it->edge |= it->level;
    if (it->edge != 0 && axo__sim_now.fibers)
        axo__sim_tell(poll);
}

bool axo__os_poll_remove(axo__os_poll *poll, int fd)
{
    sim_fd *it = sim_fd_at(fd);
    AXO__YIELD_POINT();
    if (it == NULL || it->poll != poll)
        return false;
    it->poll = NULL;
    it->edge = 0;
    return true;
}

/* Moves what is to be found into `found`. */
static void sim_collect(axo__os_poll *poll)
{
    poll->count = 0;
    for (int fd = 0; fd < SIM_FDS && poll->count < AXO__POLL_FOUND_MAX; fd++) {
        sim_fd *it = &sim_fds[fd];
        if (it->poll != poll)
            continue;
        uint32_t edge = it->edge;
        if (edge == 0 && axo__sim_chance(AXO__SIM_EARLY, SIM_SPURIOUS_ONE_IN))
            edge = AXO__POLL_IN;
        it->edge = 0;
        if (edge != 0)
            poll->found[poll->count++] = (axo__os_found){.cookie = it->cookie, .events = edge};
    }
}

bool axo__sim_poll_is_ready(const axo__os_poll *poll)
{
    bool ready = poll->wake != 0;
    for (int fd = 0; fd < SIM_FDS && !ready; fd++)
        ready = sim_fds[fd].poll == poll && sim_fds[fd].edge != 0;
    return ready;
}

/* At level 1 a thread never waits here: its step is over, and axo__sim_step lets it go on when the
 * set is ready. */
void axo__os_poll_wait(axo__os_poll *poll, int64_t deadline)
{
    AXO__YIELD_POINT();
    if (axo__sim_now.fibers && deadline != 0 && !axo__sim_poll_is_ready(poll))
        (void)axo__sim_wait("descriptors", poll, deadline, true);
    poll->wake = 0;
    sim_collect(poll);
}

void axo__os_poll_wake(axo__os_poll *poll)
{
    AXO__YIELD_POINT();
    poll->wake = 1;
    if (axo__sim_now.fibers)
        axo__sim_tell(poll);
}

uint32_t axo__os_poll_look(int fd, uint32_t events)
{
    AXO__YIELD_POINT();
    return axo__sim_fd_level(fd) & (events | AXO__POLL_HUP | AXO__POLL_ERR);
}
