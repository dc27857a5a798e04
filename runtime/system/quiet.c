/* quiet.c - a thread of the program waits, and helps.
 *
 * Who waits looks again by the clock, ever less often: so nobody has to tell him, and what there is
 * for long is seen at once by the first look. */
#include "system/quiet.h"

#include "sched/host.h"
#include "sched/lent.h"
#include "system/pools.h"
#include "system/system.h"

/* Between two looks; twice as long each time, up to the second. */
#define QUIET_LOOK_NS INT64_C(20000)
#define QUIET_LOOK_MAX_NS INT64_C(1000000)

/* What the caller runs between two looks: turns of the host's, or a visit of a slot. */
#define QUIET_TURNS UINT64_C(256)
#define QUIET_VISIT_NS INT64_C(1000000)

/* Runs a portion of what would not be run otherwise. true: there was something. */
static bool quiet_help(axo_system *system)
{
    axo__sched *host = axo__pools_host_if_any(system);
    uint64_t turns = 0;
    if (host != NULL)
        (void)axo__host_run(host, -1, QUIET_TURNS, &turns);
    if (turns > 0)
        return true;
    if (system->core.lent && axo__a32_load_acquire(&system->ended) == 0) /* [Y2] */
        (void)axo__lent_help_until(&system->sched, axo__os_now() + QUIET_VISIT_NS, NULL, &turns);
    return turns > 0;
}

static axo_status quiet_wait(axo_system *system, axo__quiet_look look, const void *what,
                             axo__os_latch *never, int64_t deadline)
{
    int64_t pause = QUIET_LOOK_NS;
    for (;;) {
        bool helped = quiet_help(system);
        axo_status status = look(system, what);
        if (status != AXO_ETIMEDOUT)
            return status;
        int64_t now = axo__os_now();
        if (now >= deadline)
            return AXO_ETIMEDOUT;
        if (helped) {
            pause = QUIET_LOOK_NS;
            continue;
        }
        int64_t until = axo__clock_add(now, pause);
        (void)axo__os_latch_wait(never, until < deadline ? until : deadline);
        pause = pause < QUIET_LOOK_MAX_NS / 2 ? pause * 2 : QUIET_LOOK_MAX_NS;
    }
}

axo_status axo__quiet_until(axo_system *system, axo__quiet_look look, const void *what,
                            int64_t timeout_ns)
{
    axo__os_latch never;
    axo_status status = look(system, what);
    if (status != AXO_ETIMEDOUT || timeout_ns == 0)
        return status;
    int64_t deadline = timeout_ns < 0 ? AXO__NEVER : axo__clock_add(axo__os_now(), timeout_ns);
    if (!axo__os_latch_init(&never))
        return AXO_ETHREAD;
    status = quiet_wait(system, look, what, &never, deadline);
    axo__os_latch_fini(&never);
    return status;
}
