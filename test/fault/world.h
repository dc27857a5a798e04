/* world.h - a system in which the n-th request for memory is refused: what a scene is made of.
 *
 * A scene runs again and again, with n = 1, 2, ... until it asks for less than n. Its world is a
 * manual system with a clock of the scene's: one thread, so that n means the same request each
 * time. It has two actors that were there before: a driver, in whose turns pieces of the scene run,
 * and a pinger. Each call is made through TRY: refused memory must be AXO_ENOMEM with all counters
 * as before, and AXO_ENOMEM must come of refused memory. */
#ifndef TEST_FAULT_WORLD_H
#define TEST_FAULT_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <axo/axo.h>

#include "fault/site.h"

#define WORLD_MS INT64_C(1000000)
#define WORLD_S INT64_C(1000000000)

enum { WORLD_DO = 1, WORLD_PING, WORLD_PONG, WORLD_NOTE, WORLD_FAIL, WORLD_QUIT, WORLD_TAGS = 64 };

typedef struct world world;
typedef struct scene scene;
typedef void (*world_fn)(axo_ctx *ctx, world *w);

struct scene {
    const char *name;
    void (*run)(world *w);
    uint32_t bare;    /* 1: the scene starts and ends its system itself */
    uint32_t workers; /* not 0: a system with threads; n means about the same */
    const axo_options *options; /* workers, manual, clock, allocator and seed are the world's */
};

struct world {
    const scene *scene;
    refuse_mode mode;
    uint64_t n;
    axo_system *system;
    int64_t now;
    axo_ref driver;
    axo_ref pinger;
    axo_ref ref; /* the scene's */
    axo_ref other;
    void *user;
    uint64_t denials_at_first;
    uint64_t denials; /* before the running call */
    axo_stats before;
    uint32_t got[WORLD_TAGS]; /* messages to the driver, by tag; 0: of services */
    uint32_t asked; /* accepted: asks, promises, graceful stops */
    uint32_t answers;
    uint32_t failed; /* AXO_ASK_FAILED, AXO_STOP_ENDED with a status, AXO_DRAINED that is late */
    uint32_t pongs;
    uint32_t freed;  /* payloads handed over whose end has come */
    uint32_t given;
    axo_ref sender;
};

extern const scene *const world_scenes[];

/* What a call came to; the scene goes on by it. */
axo_status world_tried(world *w, const char *where, int line, const char *call, axo_status status);
axo_status world_may(world *w, const char *where, int line, const char *call, axo_status status);
void world_mark(world *w);
#define TRY(w, call)                                                                               \
    (world_mark(w), world_tried(w, __FILE__, __LINE__, #call, (call)))

/* The same for a call that also does what may come to nothing, such as telling subscribers: it may
 * succeed though memory was refused. */
#define MAY(w, call)                                                                               \
    (world_mark(w), world_may(w, __FILE__, __LINE__, #call, (call)))

/* What must hold whatever is refused. */
#define MUST(w, condition)                                                                         \
    do {                                                                                           \
        if (!(condition))                                                                          \
            world_breach(w, __FILE__, __LINE__, #condition);                                       \
    } while (0)
void world_breach(world *w, const char *where, int line, const char *what);

/* Whether nothing has been refused yet in this run: then all must be as it should. */
bool world_rich(const world *w);

/* When a wait for threads has to end, in ns of the operating system's clock; and whether that is
 * still to come. Only a lost wake-up reaches it. */
int64_t world_deadline(void);
bool world_goes_on(int64_t deadline);

/* Runs until nothing can run at this time; and until `ns` later. */
void world_run(world *w);
void world_advance(world *w, int64_t ns);

/* `fn` in a turn of the driver; how it gets there is not the scene's. */
void world_do(world *w, world_fn fn);

/* The same without running it: to be found in the mailbox. */
void world_post(world *w, axo_ref to, uint32_t tag);

/* A system's options as a world has them: the allocator checks itself. */
axo_options world_options(world *w, const axo_options *wanted);

/* An actor that answers pings, keeps notes, fails and quits as told. */
extern const axo_class world_class;
axo_props world_props(world *const *w);

#endif
