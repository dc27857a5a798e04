/* text.h - text that grows in memory of the system, up to a bound, and JSON in it. */
#ifndef CONSOLE_TEXT_H
#define CONSOLE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <axo/system.h>

/* Begun as {.system = ..., .max = ...}. What does not fit, or finds no memory, is left out: then
 * all that follows is, too, and `failed` says why. */
typedef struct console_text {
    axo_system *system;
    char *data; /* NULL: nothing yet; not ended by a zero */
    size_t size;
    size_t room;
    size_t max;
    axo_status failed; /* AXO_OK, AXO_ENOMEM, AXO_ETOOBIG */
} console_text;

void console_text_free(console_text *text);

void console_put(console_text *text, const char *data, size_t size);
void console_printf(console_text *text, const char *format, ...) AXO_PRINTF(2, 3);

/* A JSON string with its quotes. What is no UTF-8 becomes U+FFFD. */
void console_quote(console_text *text, const char *string);

#endif
