/* api.h - the world of fuzz_api: a manual system, its memory and clock, handles right and wrong,
 * and what every call may say.
 *
 * Everything is drawn from the input, inside callbacks too: an input's end is the end of all doing.
 */
#ifndef TEST_FUZZ_API_H
#define TEST_FUZZ_API_H

#include "fuzz/fuzz.h"

#include <axo/axo.h>

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

static api_world g;

static uint8_t api_u8(void)
{
    return g.calm ? 0 : fuzz_u8(&g.in);
}

static uint32_t api_below(uint32_t bound)
{
    return api_u8() % bound;
}

static int64_t api_far(void)
{
    return g.calm ? 1 : fuzz_far(&g.in);
}

/* ---- memory and time ---- */

static void *api_alloc(void *user, size_t size, size_t align)
{
    fuzz_require(user == &g && size > 0 && align > 0 && (align & (align - 1)) == 0);
    if (g.fail_after > 0) {
        g.fail_after--;
    } else if (g.fail_count > 0) {
        g.fail_count--;
        g.refusals++;
        return NULL;
    }
    void *block = NULL;
    if (posix_memalign(&block, align < sizeof(void *) ? sizeof(void *) : align, size) != 0)
        return NULL;
    memset(block, 0xd5, size < 256 ? size : 256);
    g.blocks++;
    g.bytes += size;
    return block;
}

static void api_release(void *user, void *block, size_t size, size_t align)
{
    fuzz_require(user == &g && block != NULL && align > 0);
    fuzz_require(g.blocks > 0 && g.bytes >= size);
    g.blocks--;
    g.bytes -= size;
    free(block);
}

static int64_t api_clock(void *user)
{
    fuzz_require(user == &g);
    return g.now;
}

/* ---- handles ---- */

/* Mostly one that was given, living or not; also none, guardians, oneself, strangers, garbage. */
static axo_ref api_ref(void)
{
    uint8_t which = api_u8() % 24;
    axo_ref ref = axo_ref_none();
    if (which < REFS)
        return g.refs[which];
    switch (which) {
    case 8:
    case 9:
    case 10:
        return axo_system_guardian(g.system, (axo_guardian)(which - 8));
    case 11:
        return g.strangers[g.calls % STRANGERS];
    case 12:
        ref.bits = fuzz_u64(&g.in);
        return ref;
    case 13:
        return ref;
    case 14:
    case 15:
        ref = g.refs[which % REFS];
        ref.bits ^= UINT64_C(1) << (api_u8() % 64);
        return ref;
    case 16:
        return axo_parent(g.ctx);
    case 17:
        return g.message != NULL ? g.message->sender : ref;
    default:
        return g.ctx != NULL ? axo_self(g.ctx) : g.refs[which % REFS];
    }
}

static void api_keep(axo_ref ref)
{
    if (!axo_ref_is_none(ref))
        g.refs[g.next_ref++ % REFS] = ref;
}

/* A context: the right one; or, outside and now and then, NULL, one that was, or a stranger. */
static axo_ctx *api_ctx(void)
{
    static char nowhere[64];
    uint8_t which = api_u8();
    g.said = g.ctx;
    if (which == 251)
        g.said = NULL;
    else if (which == 252)
        g.said = g.stale;
    else if (which == 253)
        g.said = (axo_ctx *)(void *)nowhere;
    g.good = g.said != NULL && g.said == g.ctx;
    return g.said;
}

/* ---- what calls say ---- */

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
static axo_status api_any(axo_status status, uint32_t allowed, const char *call)
{
    bool known = status <= 0 && status >= AXO_ECYCLE && (allowed >> -status & 1) != 0;
    if (!known || (status == AXO_ENOMEM && g.refusals == 0))
        fuzz_fail("%s says %s", call, axo_status_name(status));
    return status;
}

/* Functions of a callback: AXO_ECONTEXT exactly for a wrong context. */
static axo_status api_in(axo_status status, uint32_t allowed, const char *call)
{
    if (g.good)
        return api_any(status, allowed, call);
    if (status != AXO_ECONTEXT)
        fuzz_fail("%s in a wrong context says %s", call, axo_status_name(status));
    return status;
}

#define SYS(call, allowed) api_any(call, allowed, #call)
#define CTX(call, allowed) api_in(call, allowed, #call)

/* ---- payloads ---- */

static uint8_t api_byte(uint32_t tag, size_t size, size_t at)
{
    return (uint8_t)(tag * 31 + size * 7 + at);
}

/* Good until the next call; NULL with a size is an error that some input asks for. */
static const void *api_payload(uint32_t tag, size_t size)
{
    static uint8_t bytes[8192];
    if (size > sizeof bytes)
        return bytes; /* too large: nobody reads it */
    for (size_t i = 0; i < size; i++)
        bytes[i] = api_byte(tag, size, i);
    return bytes;
}

static size_t api_size(void)
{
    static const size_t sizes[] = {0, 1, 8, 24, 100, 4000, 8192, SIZE_MAX, AXO_PAYLOAD_MAX + 1};
    return sizes[api_below(sizeof sizes / sizeof sizes[0])];
}

/* Tags below 16 say what their payload is; services' and reserved ones now and then. */
static uint32_t api_tag(void)
{
    uint8_t which = api_u8();
    if (which < 200)
        return which % TAGS + ((which & 0x10) != 0 ? AXO_TAG_QUIET : 0);
    if (which < 250)
        return AXO_TAG_SERVICES + 0x10 * (which % 8) + api_below(16);
    return AXO_TAG_RESERVED + which % 8;
}

static void api_check_payload(const axo_message *message)
{
    const uint8_t *bytes = message->payload;
    uint32_t tag = message->tag & ~AXO_TAG_QUIET;
    if (tag >= TAGS || tag == 0 || bytes == NULL) /* 0: the runtime's, of a failure from outside */
        return;
    for (size_t i = 0; i < message->size; i++)
        fuzz_require(bytes[i] == api_byte(message->tag, message->size, i));
}

static void api_free_payload(void *payload, void *user)
{
    fuzz_require(user == &g);
    g.freed++;
    free(payload);
}

/* Memory to be handed over, with what its tag says in it. */
static axo_owned api_owned(uint32_t tag)
{
    size_t size = 1 + api_below(64);
    uint8_t *bytes = malloc(size);
    fuzz_require(bytes != NULL);
    memcpy(bytes, api_payload(tag, size), size);
    return (axo_owned){.payload = bytes, .size = size, .destroy = api_free_payload, .user = &g};
}

/* After an attempt to hand it over. */
static void api_handed(axo_status status, const axo_owned *owned)
{
    if (status == AXO_OK || status == AXO_EGONE)
        g.owned++;
    else
        free(owned->payload);
}

#endif
