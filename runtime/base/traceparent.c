/* traceparent.c - a trace context as text.
 *
 * "00-" 32 digits of the trace "-" 16 of the span "-" 2 of the flags. */
#include "base/traceparent.h"

#include <string.h>

/* Where the parts of the text begin, and its length. */
#define PARENT_TRACE  3
#define PARENT_SPAN   36
#define PARENT_FLAGS  53
#define PARENT_LENGTH 55
_Static_assert(PARENT_LENGTH + 1 == AXO_TRACEPARENT_SIZE, "the closing zero");

#define PARENT_KNOWN_FLAGS (AXO_TRACE_SAMPLED | AXO_TRACE_RANDOM)

static bool parent_is_zero(const uint8_t *bytes, size_t count)
{
    uint8_t any = 0;
    for (size_t i = 0; i < count; i++)
        any |= bytes[i];
    return any == 0;
}

bool axo__trace_is_valid(const axo_trace_context *trace)
{
    return !parent_is_zero(trace->trace_id, sizeof trace->trace_id) &&
           !parent_is_zero(trace->span_id, sizeof trace->span_id);
}

void axo__hex_write(char *out, const uint8_t *bytes, size_t count)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < count; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
    out[2 * count] = 0;
}

/* A digit's value; -1: none. Large letters are none (W3C: lower case). */
static int parent_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool parent_hex(const char *text, uint8_t *out, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int high = parent_digit(text[2 * i]);
        int low = parent_digit(text[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        out[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

bool axo__traceparent_read(const char *text, size_t size, axo_trace_context *out)
{
    uint8_t version;
    if (size < PARENT_LENGTH || !parent_hex(text, &version, 1) || version == 0xff)
        return false;
    if (size > PARENT_LENGTH && (version == 0 || text[PARENT_LENGTH] != '-'))
        return false;
    if (text[PARENT_TRACE - 1] != '-' || text[PARENT_SPAN - 1] != '-' ||
        text[PARENT_FLAGS - 1] != '-')
        return false;
    if (!parent_hex(text + PARENT_TRACE, out->trace_id, sizeof out->trace_id) ||
        !parent_hex(text + PARENT_SPAN, out->span_id, sizeof out->span_id) ||
        !parent_hex(text + PARENT_FLAGS, &out->flags, 1))
        return false;
    out->flags &= PARENT_KNOWN_FLAGS;
    return axo__trace_is_valid(out);
}

void axo__traceparent_write(char *out, const axo_trace_context *trace)
{
    const uint8_t flags = trace->flags & PARENT_KNOWN_FLAGS;
    out[0] = out[1] = '0';
    out[PARENT_TRACE - 1] = '-';
    axo__hex_write(out + PARENT_TRACE, trace->trace_id, sizeof trace->trace_id);
    out[PARENT_SPAN - 1] = '-';
    axo__hex_write(out + PARENT_SPAN, trace->span_id, sizeof trace->span_id);
    out[PARENT_FLAGS - 1] = '-';
    axo__hex_write(out + PARENT_FLAGS, &flags, 1);
}
