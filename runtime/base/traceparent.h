/* traceparent.h - a trace context as text: hexadecimal numbers, W3C's `traceparent`. */
#ifndef AXO__BASE_TRACEPARENT_H
#define AXO__BASE_TRACEPARENT_H

#include <stdbool.h>

#include <axo/trace_context.h>

/* Whether neither number is all 0. */
bool axo__trace_is_valid(const axo_trace_context *trace);

/* Writes `count` bytes as small hexadecimal digits with a closing zero: 2 * count + 1 bytes. */
void axo__hex_write(char *out, const uint8_t *bytes, size_t count);

/* As axo_traceparent_parse; false: malformed, and *out is not whole. */
bool axo__traceparent_read(const char *text, size_t size, axo_trace_context *out);

/* Writes AXO_TRACEPARENT_SIZE bytes. */
void axo__traceparent_write(char *out, const axo_trace_context *trace);

#endif
