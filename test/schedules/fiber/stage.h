/* stage.h - what a scene is played on: a system that is booted and ended with yields off, fibers
 * between, and a ledger of what must add up. */
#ifndef FIBER_STAGE_H
#define FIBER_STAGE_H

#include <axo/axo.h>

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "os/sim.h"

/* A scene. `play` may be called any number of times; it must do the same with the same choices. */
typedef struct stage_scene {
    const char *name;
    const char *what;      /* in a line */
    void (*play)(void);
    uint32_t bound;        /* the pre-emption bound it is walked to whole in a campaign; 0: none */
    uint32_t delay;        /* the same for the bound of delays */
    uint32_t early_one_in; /* waits that end early, in walks by chance */
    bool fails;            /* a planted bug: every campaign must find it */
    uint64_t expect;       /* not 0: how many schedules the walk must find */
    uint32_t heavy;        /* not 0: of the schedules by chance one in so many */
    uint64_t points_max;   /* 0: as most; a schedule with more does not come to rest */
} stage_scene;

extern const stage_scene *const scenes[];

typedef struct stage {
    const stage_scene *scene;
    uint64_t seed;
    bool loud;
    axo_system *system;
    uint64_t blocks;       /* of the system's memory */
    uint64_t bytes;
    uint64_t handled;      /* messages, by the scene's actors */
    uint64_t sent;         /* accepted */
    uint64_t dead;         /* shown to on_dead_letter */
    uint64_t events[64];   /* of each kind */
    uint64_t points;       /* yield points of the critical part */
    bool hosting;
    bool going;            /* the critical part is on */
} stage;

extern stage at;

/* Who wants to know why a schedule fails. */
extern void (*stage_told)(const char *why);

void stage_fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
#define CHECK(c) ((c) ? (void)0 : stage_fail("%s:%d: %s", __FILE__, __LINE__, #c))
#define CHECK_SAME(a, b)                                                                           \
    ((uint64_t)(a) == (uint64_t)(b)                                                                \
         ? (void)0                                                                                 \
         : stage_fail("%s:%d: %s is %" PRIu64 ", %s is %" PRIu64, __FILE__, __LINE__, #a,          \
                      (uint64_t)(a), #b, (uint64_t)(b)))

/* A scene's own look at each event; NULL after each scene. */
extern void (*stage_look)(const axo_event *e);

/* A system with so many workers, at rest; 0: manual, whose actors run on a fiber "host". */
void stage_boot(uint32_t workers);
/* The same, of these options. */
void stage_boot_with(axo_options options);

/* An actor that stands in for many: counts what it handles. */
axo_ref stage_spawn(const axo_class *cls, const void *args);
extern const axo_class stage_counter;

/* A thread of the test's for the critical part. */
void stage_thread(const char *name, void (*run)(void *arg), void *arg);

/* The critical part: all that was started, until everybody waits (not for a deadline). The clock
 * then goes on until nothing is left to do. */
void stage_go(void);
/* The first half alone, and the clock up to `within_ns` on. */
void stage_go_within(int64_t within_ns);

/* Sends a counted message from outside. */
axo_status stage_send(axo_ref to, uint32_t tag);

/* Sums of the system against what the stage has seen; the end of the system; nothing is left. */
void stage_account(void);
void stage_end(void);

/* Plays a scene once with what is set in the simulator, and gives the digest of the run. */
uint64_t stage_play(const stage_scene *scene, uint64_t seed);

#endif
