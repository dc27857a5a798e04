/* names.c - what locations are called in a trace. */
#include <stdarg.h>
#include <stdio.h>

#include "schedules/weak/inside.h"

#define NAMES_MAX 128
#define NAME_SIZE 32

static struct {
    const void *at;
    char text[NAME_SIZE];
} names[NAMES_MAX];
static uint32_t name_count;

void weak_names_reset(void)
{
    name_count = 0;
}

void weak_name(const void *at, const char *format, ...)
{
    if (!weak_it.tracing || name_count == NAMES_MAX)
        return;
    va_list list;
    va_start(list, format);
    names[name_count].at = at;
    (void)vsnprintf(names[name_count++].text, NAME_SIZE, format, list);
    va_end(list);
}

const char *weak_name_of(const void *at)
{
    for (uint32_t i = 0; i < name_count; i++) {
        if (names[i].at == at)
            return names[i].text;
    }
    return NULL;
}
