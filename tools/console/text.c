/* text.c - text that grows in memory of the system, and JSON in it. */
#include "text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define TEXT_FIRST 4096
/* Bytes of one console_printf. */
#define TEXT_PIECE 512

void console_text_free(console_text *text)
{
    if (text->data != NULL)
        axo_system_free(text->system, text->data, text->room);
    text->data = NULL;
    text->size = 0;
    text->room = 0;
}

static bool text_grow(console_text *text, size_t wanted)
{
    size_t room = text->room > 0 ? text->room : TEXT_FIRST;
    while (room < wanted)
        room *= 2;
    char *data = axo_system_alloc(text->system, room);
    if (data == NULL) {
        text->failed = AXO_ENOMEM;
        return false;
    }
    if (text->data != NULL) {
        memcpy(data, text->data, text->size);
        axo_system_free(text->system, text->data, text->room);
    }
    text->data = data;
    text->room = room;
    return true;
}

void console_put(console_text *text, const char *data, size_t size)
{
    if (text->failed != AXO_OK || size == 0)
        return;
    if (size > text->max - text->size) {
        text->failed = AXO_ETOOBIG;
        return;
    }
    if (text->size + size > text->room && !text_grow(text, text->size + size))
        return;
    memcpy(text->data + text->size, data, size);
    text->size += size;
}

void console_printf(console_text *text, const char *format, ...)
{
    char piece[TEXT_PIECE];
    va_list args;
    va_start(args, format);
    int size = vsnprintf(piece, sizeof piece, format, args);
    va_end(args);
    if (size < 0 || (size_t)size >= sizeof piece)
        text->failed = text->failed == AXO_OK ? AXO_ETOOBIG : text->failed;
    else
        console_put(text, piece, (size_t)size);
}

/* Bytes of the character that begins here; 0: no UTF-8, or a surrogate, or too long a form. */
static size_t text_utf8(const unsigned char *at)
{
    static const struct {
        unsigned char low, high, second_low, second_high, size;
    } forms[] = {{0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
                 {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3},
                 {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
                 {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4}};
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        if (at[0] < forms[i].low || at[0] > forms[i].high)
            continue;
        if (at[1] < forms[i].second_low || at[1] > forms[i].second_high)
            return 0;
        for (size_t j = 2; j < forms[i].size; j++) {
            if ((at[j] & 0xc0) != 0x80)
                return 0;
        }
        return forms[i].size;
    }
    return 0;
}

void console_quote(console_text *text, const char *string)
{
    const unsigned char *at = (const unsigned char *)string;
    console_put(text, "\"", 1);
    while (*at != 0) {
        size_t size = 1;
        if (*at == '"' || *at == '\\') {
            console_printf(text, "\\%c", *at);
        } else if (*at < 0x20 || *at == 0x7f || *at == '<') {
            console_printf(text, "\\u%04x", *at);
        } else if (*at < 0x80) {
            console_put(text, (const char *)at, 1);
        } else if ((size = text_utf8(at)) > 0) {
            console_put(text, (const char *)at, size);
        } else {
            console_put(text, "\\ufffd", 6);
            size = 1;
        }
        at += size;
    }
    console_put(text, "\"", 1);
}
