/* trap_land.c - where a crash may be contained, and what becomes of one that is. */
#include "sched/trap_land.h"

#include <stdarg.h>
#include <string.h>

#include "base/aside.h"
#include "sched/blame.h"
#include "sched/contain.h"
#include "sched/land.h"
#include "sched/walk.h"

#if AXO__WALKS
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#endif

/* ---- may it be contained? ---- */

bool axo__trap_is_user(const axo__worker *worker)
{
    return worker->current != NULL && worker->site != AXO_SITE_NONE && worker->unwind != NULL;
}

bool axo__trap_is_guarded(const axo__worker *worker)
{
    return axo__aside > 0 || axo__open_guarded(worker);
}

void axo__trap_own(const axo__worker *worker, const axo_class *cls, const void **own)
{
    const axo__replacing *what = NULL;
    if (worker->site == AXO_SITE_MIGRATE)
        what = axo__aptr_load_acquire(&worker->local.core->replacing); /* [C2] */
    if (what != NULL)
        memcpy(own, &what->migrate, sizeof *own);
    else
        memcpy(own, &cls->receive, sizeof *own);
}

const char *axo__trap_name(int number)
{
    switch (number) {
    case SIGSEGV:
        return "SIGSEGV";
    case SIGBUS:
        return "SIGBUS";
    case SIGFPE:
        return "SIGFPE";
    case SIGILL:
        return "SIGILL";
    default:
        return "SIGABRT";
    }
}

/* ---- what it was ---- */

/* Those children go, too, that a pre_restart has made behind post_stop. */
void axo__trap_break(axo__cell *cell)
{
    axo__family *family = axo__cell_family(cell);
    if (cell->life != AXO__INSTANCE_STARTED && cell->life != AXO__INSTANCE_STOPPED)
        return;
    cell->life = AXO__INSTANCE_BROKEN;
    if (family != NULL)
        family->earlier = NULL;
}

static void trap_blame(axo__worker *worker, int32_t code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void trap_blame(axo__worker *worker, int32_t code, const char *format, ...)
{
    const bool stuck = worker->trap->crash.signal == SIGURG;
    va_list list;
    va_start(list, format);
    axo__blame_record(worker, stuck ? AXO_FAILURE_STUCK : AXO_FAILURE_CRASH, code, format, list);
    va_end(list);
}

/* The module that an address is in, and how far; "": none is known. Unlike dladdr this takes no
 * lock of the loader's, which a dlopen of another thread may hold for long. */
static const char *trap_module(uint64_t at, uint64_t *offset)
{
    *offset = at;
#if AXO__WALKS
    struct dl_find_object found;
    if (_dl_find_object((void *)(uintptr_t)at, &found) == 0) {
        const char *name = found.dlfo_link_map->l_name;
        const char *base = strrchr(name, '/');
        *offset = at - (uintptr_t)found.dlfo_map_start;
        if (name[0] == 0) /* the program itself */
            return program_invocation_short_name;
        return base != NULL ? base + 1 : name;
    }
#endif
    return "";
}

/* Where it was: the first frame that is the program's, by module and offset, as addr2line wants
 * it. */
static void trap_describe(axo__worker *worker, const axo_crash *crash)
{
    static const char *const how[] = {"at", "reading", "writing", "calling"};
    uint64_t at = crash->pc;
    if (crash->access == AXO_CRASH_FETCH && crash->frame_count > 1)
        at = crash->frames[1];
    const char *module = trap_module(at, &at);
    if (module[0] == 0)
        trap_blame(worker, crash->signal, "%s %s 0x%llx, pc 0x%llx",
                   axo__trap_name(crash->signal), how[crash->access],
                   (unsigned long long)crash->address, (unsigned long long)at);
    else
        trap_blame(worker, crash->signal, "%s %s 0x%llx in %.48s+0x%llx",
                   axo__trap_name(crash->signal), how[crash->access],
                   (unsigned long long)crash->address, module, (unsigned long long)at);
}

static void trap_describe_stuck(axo__worker *worker, const axo_crash *crash)
{
    const uint32_t limit = axo__cell_class(worker->current)->watchdog_ms;
    const int64_t ran = worker->trap->endless.ran / 1000000;
    const int32_t code = limit < INT32_MAX ? (int32_t)limit : INT32_MAX;
    uint64_t at;
    const char *module = trap_module(crash->pc, &at);
    trap_blame(worker, code, "stuck for %lld ms, in %.48s+0x%llx", (long long)ran,
               module[0] != 0 ? module : "?", (unsigned long long)at);
}

static bool trap_is_public(uint32_t site)
{
    return site != AXO__SITE_PRE_RESTART && site != AXO__SITE_POST_STOP &&
           site != AXO__SITE_CLEANUP;
}

void axo__trap_land(axo__worker *worker)
{
    axo__trap *trap = worker->trap;
    axo__cell *cell = worker->current;
    if (trap == NULL || !trap->fresh)
        return;
    axo_crash *crash = &trap->crash;
    trap->fresh = false;
    crash->actor = axo__cell_ref(cell);
    crash->instance = axo__cell_instance(cell);
    crash->site = trap_is_public(worker->site) ? worker->site : AXO_SITE_NONE;
    crash->has_tag = worker->message != NULL;
    crash->tag = worker->message != NULL ? worker->message->pub.tag : 0;
    crash->when_ns = axo__os_now();
    axo__trap_break(cell);
    if (crash->signal == SIGURG)
        trap_describe_stuck(worker, crash);
    else
        trap_describe(worker, crash);
    axo__texts_set_crash(&worker->local.core->texts, worker->pending.text, crash);
    axo__contain_note(worker->local.core->contain, crash);
    axo__trap_busy(trap, false);
}
