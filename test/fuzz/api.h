/* api.h - the world of fuzz_api: a manual system, its memory and clock, handles right and wrong,
 * and what every call may say.
 *
 * Everything is drawn from the input, inside callbacks too: an input's end is the end of all doing.
 */
#ifndef TEST_FUZZ_API_H
#define TEST_FUZZ_API_H

#include <axo/axo.h>

#include "fuzz/fuzz.h"

enum { REFS = 8, TIMERS = 4, KEPT = 96, TAGS = 16, CALLS_MAX = 1200, API_REGISTRY = 4,
       STRANGERS = 40 };

typedef struct api_world {
    axo_system *system;
    fuzz_in in;
    int64_t now;
    axo_ref refs[REFS];
    axo_timer timers[TIMERS];
    axo_phases *phases;
    axo_ctx *ctx;        /* of the callback that runs; NULL: outside */
    axo_ctx *stale;      /* of one that has returned */
    axo_ctx *said;       /* what the call was given */
    bool good;           /* and whether it was the right one */
    const axo_message *message; /* that is being handled */
    bool blocked;        /* inside axo_block */
    bool calm;           /* the end: nobody does anything any more */
    uint32_t calls;
    uint32_t next_ref;
    uint64_t serial;     /* of payloads handed over */
    uint64_t owned;
    uint64_t freed;
    uint64_t deferred;
    uint64_t undone;
    uint64_t endings;    /* termination functions that will run */
    uint64_t ended;
    uint64_t letters;    /* dead letters told to the observer */
    uint64_t spawned;    /* by the trace */
    uint64_t terminated;
    uint64_t blocks;     /* of memory, held by the system */
    uint64_t bytes;
    uint64_t fail_after; /* allocations until some fail */
    uint64_t fail_count; /* and how many do */
    uint64_t refusals;
    axo_ref strangers[STRANGERS]; /* actors of another system */
} api_world;

extern api_world g;

uint8_t api_u8(void);
uint32_t api_below(uint32_t bound);
int64_t api_far(void);
void *api_alloc(void *user, size_t size, size_t align);
void api_release(void *user, void *block, size_t size, size_t align);
int64_t api_clock(void *user);

/* Mostly one that was given, living or not; also none, guardians, oneself, strangers, garbage. */
axo_ref api_ref(void);

void api_keep(axo_ref ref);

/* A context: the right one; or, outside and now and then, NULL, one that was, or a stranger. */
axo_ctx *api_ctx(void);

#define API_BIT(status) (UINT32_C(1) << -(status))
#define API_OK API_BIT(AXO_OK)
#define API_EINVAL API_BIT(AXO_EINVAL)

#define API_SEND                                                                                   \
    (API_OK | API_EINVAL | API_BIT(AXO_EGONE) | API_BIT(AXO_ETOOBIG) | API_BIT(AXO_ENOMEM) |       \
     API_BIT(AXO_EFULL))

#define API_SPAWN                                                                                  \
    (API_OK | API_EINVAL | API_BIT(AXO_EVERSION) | API_BIT(AXO_ENAME) | API_BIT(AXO_EEXIST) |      \
     API_BIT(AXO_ENOMEM) | API_BIT(AXO_ELIMIT) | API_BIT(AXO_ESTOPPING))

/* Any thread's functions: one of these statuses; no memory only if some was refused. */
axo_status api_any(axo_status status, uint32_t allowed, const char *call);

/* Functions of a callback: AXO_ECONTEXT exactly for a wrong context. */
axo_status api_in(axo_status status, uint32_t allowed, const char *call);

#define SYS(call, allowed) api_any(call, allowed, #call)
#define CTX(call, allowed) api_in(call, allowed, #call)

/* Good until the next call; NULL with a size is an error that some input asks for. */
const void *api_payload(uint32_t tag, size_t size);

size_t api_size(void);

/* Tags below 16 say what their payload is; services' and reserved ones now and then. */
uint32_t api_tag(void);

void api_check_payload(const axo_message *message);
void api_free_payload(void *payload, void *user);

/* Memory to be handed over, with what its tag says in it. */
axo_owned api_owned(uint32_t tag);

/* After an attempt to hand it over. */
void api_handed(axo_status status, const axo_owned *owned);

#endif
