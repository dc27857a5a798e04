/* health.h - whether a system goes on: for a watchdog, a probe of an orchestrator, a test. */
#ifndef AXO_HEALTH_H
#define AXO_HEALTH_H

#include <axo/actor.h>
#include <axo/init.h>

/* Why somebody is late. */
typedef enum axo_health_why {
    AXO_HEALTH_GOOD = 0,
    AXO_HEALTH_CALLBACK = 1, /* a callback does not come back */
    AXO_HEALTH_WAITING = 2   /* a named actor has messages, and has taken none of them */
} axo_health_why;

/* Who is late. */
typedef struct axo_health_report {
    size_t size;      /* sizeof(axo_health_report), set by AXO_HEALTH_REPORT */
    uint32_t count;   /* how many are; what follows is of the one that has been so for longest */
    uint32_t why;     /* an axo_health_why */
    axo_ref actor;    /* none: it has ended meanwhile */
    int64_t for_ns;   /* for how long, about */
    uint32_t has_tag; /* 1: in receive, of a message with ... */
    uint32_t tag;     /* ... this tag */
    char path[256];   /* the actor's; its end behind AXO_PATH_CUT if longer */
} axo_health_report;
#define AXO_HEALTH_REPORT(...) AXO_INIT(axo_health_report, __VA_ARGS__)
/* As the macro, for C++ before C++20 (init.h). */
static inline void axo_health_report_init(axo_health_report *out)
{
    const axo_health_report fresh = AXO_HEALTH_REPORT();
    *out = fresh;
}

AXO_BEGIN_DECLS

/* Whether every worker and every named actor has made progress within the last `within_ns`.
 *
 * A worker has, unless a callback of an actor that it is in lasts so long. The first call finds one
 * that has begun behind a reading of the worker's clock, which is as often as its messages take:
 * behind each that is long, behind some hundred that are short. Of another one it is known only how
 * long calls have found it, so it is late as a named actor is, from the second call on. The worker
 * that calls has. Threads of the blocking dispatcher may wait as long as they like, and are not
 * looked at.
 *
 * A named actor has, on any dispatcher, if it has taken a message since the last call that found it
 * waiting, or has none, or may take none: it has failed, is suspended, starts, restarts, stops, or
 * waits for room in a mailbox. When a message came is written nowhere, so an actor is late from the
 * second call on: a call finds its messages, one that comes `within_ns` later or more finds that it
 * has taken none since. A program that asks each third of `within_ns` is told after four
 * thirds at the latest.
 *
 * It sends nothing and needs no actor to answer, so a system that hangs is told of, too. It takes
 * about ten ns for each slot of an actor, and 16 bytes for each named actor that waits.
 *   late      filled in whatever is found; NULL: only the status is wanted
 *   thread    any; calls wait for each other
 *   returns   AXO_OK: nobody is late; AXO_ETIMEDOUT: somebody is; AXO_EINVAL (none, `within_ns`
 *             less than 1), AXO_EVERSION, AXO_EFORKED, AXO_ENOMEM: nothing is written */
AXO_API axo_status axo_health(axo_system *system, int64_t within_ns, axo_health_report *late);

AXO_END_DECLS

#endif
