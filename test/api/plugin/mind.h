/* mind.h - what class_unload_test.c and its two plugins have in common. */
#ifndef TEST_API_PLUGIN_MIND_H
#define TEST_API_PLUGIN_MIND_H

#include <axo/axo.h>
#include <axo/world.h>

enum { MIND_COUNT = 1, MIND_FALL, MIND_BREAK, MIND_STOP };

/* What a plugin calls: it is linked with nothing. */
typedef struct mind_host {
    axo_status (*fail)(axo_ctx *ctx, int32_t code, const char *format, ...);
    axo_status (*fail_as)(axo_ctx *ctx, axo_failure_kind kind, int32_t code, const char *format,
                          ...);
    axo_status (*become)(axo_ctx *ctx, axo_receive_fn receive);
    axo_status (*stop_self)(axo_ctx *ctx);
    void (*counted)(uint32_t id, uint32_t count);
    void (*wrong)(const char *what);
} mind_host;

/* What a plugin has: its class, and how another plugin's state becomes one of it. */
typedef struct mind {
    const axo_class *cls;
    axo_migrate_fn migrate;
} mind;

/* "mind_open" */
typedef const mind *(*mind_open_fn)(const mind_host *host);

/* The beginning of both states. */
typedef struct mind_common {
    uint32_t id;
    uint32_t version;
    uint32_t count;
} mind_common;

#endif
