/* api.c - the world of fuzz_api: what is drawn, and what a call may say. */
#include "fuzz/api.h"

api_world g;

uint8_t api_u8(void)
{
    return g.calm ? 0 : fuzz_u8(&g.in);
}

uint32_t api_below(uint32_t bound)
{
    return api_u8() % bound;
}

int64_t api_far(void)
{
    return g.calm ? 1 : fuzz_far(&g.in);
}

/* ---- memory and time ---- */

void *api_alloc(void *user, size_t size, size_t align)
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

void api_release(void *user, void *block, size_t size, size_t align)
{
    fuzz_require(user == &g && block != NULL && align > 0);
    fuzz_require(g.blocks > 0 && g.bytes >= size);
    g.blocks--;
    g.bytes -= size;
    free(block);
}

int64_t api_clock(void *user)
{
    fuzz_require(user == &g);
    return g.now;
}

/* ---- handles ---- */

axo_ref api_ref(void)
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

void api_keep(axo_ref ref)
{
    if (!axo_ref_is_none(ref))
        g.refs[g.next_ref++ % REFS] = ref;
}

axo_ctx *api_ctx(void)
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

axo_status api_any(axo_status status, uint32_t allowed, const char *call)
{
    bool known = status <= 0 && status >= AXO_ECYCLE && (allowed >> -status & 1) != 0;
    if (!known || (status == AXO_ENOMEM && g.refusals == 0))
        fuzz_fail("%s says %s", call, axo_status_name(status));
    return status;
}

axo_status api_in(axo_status status, uint32_t allowed, const char *call)
{
    if (g.good)
        return api_any(status, allowed, call);
    if (status != AXO_ECONTEXT)
        fuzz_fail("%s in a wrong context says %s", call, axo_status_name(status));
    return status;
}

/* ---- payloads ---- */

static uint8_t api_byte(uint32_t tag, size_t size, size_t at)
{
    return (uint8_t)(tag * 31 + size * 7 + at);
}

const void *api_payload(uint32_t tag, size_t size)
{
    static uint8_t bytes[8192];
    if (size > sizeof bytes)
        return bytes; /* too large: nobody reads it */
    for (size_t i = 0; i < size; i++)
        bytes[i] = api_byte(tag, size, i);
    return bytes;
}

size_t api_size(void)
{
    static const size_t sizes[] = {0, 1, 8, 24, 100, 4000, 8192, SIZE_MAX, AXO_PAYLOAD_MAX + 1};
    return sizes[api_below(sizeof sizes / sizeof sizes[0])];
}

uint32_t api_tag(void)
{
    uint8_t which = api_u8();
    if (which < 200)
        return which % TAGS + ((which & 0x10) != 0 ? AXO_TAG_QUIET : 0);
    if (which < 250)
        return AXO_TAG_SERVICES + 0x10 * (which % 8) + api_below(16);
    return AXO_TAG_RESERVED + which % 8;
}

void api_check_payload(const axo_message *message)
{
    const uint8_t *bytes = message->payload;
    uint32_t tag = message->tag & ~AXO_TAG_QUIET;
    if (tag >= TAGS || tag == 0 || bytes == NULL) /* 0: the runtime's, of a failure from outside */
        return;
    for (size_t i = 0; i < message->size; i++)
        fuzz_require(bytes[i] == api_byte(message->tag, message->size, i));
}

void api_free_payload(void *payload, void *user)
{
    fuzz_require(user == &g);
    g.freed++;
    free(payload);
}

axo_owned api_owned(uint32_t tag)
{
    size_t size = 1 + api_below(64);
    uint8_t *bytes = malloc(size);
    fuzz_require(bytes != NULL);
    memcpy(bytes, api_payload(tag, size), size);
    return (axo_owned){.payload = bytes, .size = size, .destroy = api_free_payload, .user = &g};
}

void api_handed(axo_status status, const axo_owned *owned)
{
    if (status == AXO_OK || status == AXO_EGONE)
        g.owned++;
    else
        free(owned->payload);
}
