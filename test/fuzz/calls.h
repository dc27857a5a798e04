/* calls.h - the calls of fuzz_api that are a callback's, each with any arguments and with what it
 * may say. Outside of callbacks their context is wrong. */
#ifndef TEST_FUZZ_CALLS_H
#define TEST_FUZZ_CALLS_H

#include "fuzz/puppet.h"

/* What a call is given: drawn in one order, whatever the call makes of it. */
typedef struct arguments {
    axo_ctx *ctx;
    axo_ref a;
    axo_ref b;
    int64_t far;
    int64_t period;
    uint8_t x;
    uint8_t y;
    const char *text; /* these three from y */
    const char *key;
    uint32_t kind;
} arguments;

/* Some calls, as the input says; fuzz_api.c. */
void calls_some(void);

arguments arguments_draw(void);
void call_send(void);
void call_forward(void);
void call_take(void);
void call_send_owned(void);
void call_draft(void);
void call_draft_owning(void);
void call_stash(void);
void call_spawn(void);
void call_end(void);
void call_watch(void);
void call_family(void);
void call_path(void);
void call_own(void);
void call_become(void);
void call_hook(void);

#define CALL_TIMER                                                                                 \
    (API_OK | API_EINVAL | API_BIT(AXO_ETOOBIG) | API_BIT(AXO_ENOMEM) | API_BIT(AXO_ELIMIT) |      \
     API_BIT(AXO_ESTOPPING))

/* A period that cannot flood the clock's jumps. */
void call_schedule(void);

void call_timer(void);
void call_keyed(void);
void call_find(void);

#define CALL_KEY                                                                                   \
    (API_OK | API_EINVAL | API_BIT(AXO_EEXIST) | API_BIT(AXO_EGONE) | API_BIT(AXO_ENAME) |         \
     API_BIT(AXO_ELIMIT) | API_BIT(AXO_ENOMEM))

void call_register(void);

#define CALL_SUBSCRIBE                                                                             \
    (API_OK | API_EINVAL | API_BIT(AXO_EEXIST) | API_BIT(AXO_EGONE) | API_BIT(AXO_ELIMIT) |        \
     API_BIT(AXO_ENOMEM))

#define CALL_UNSUBSCRIBE (API_OK | API_EINVAL | API_BIT(AXO_ENOENT) | API_BIT(AXO_ELIMIT))

void call_event(void);
void call_drop(void);
void call_inspect(void);
void call_ask(void);
void call_graceful(void);
void call_service(void);
void call_broadcast(void);
void call_machine(void);

#endif
