/* puppet.h - the actors of fuzz_api: every callback does what the input says, and checks what must
 * be so whenever it is called. */
#ifndef TEST_FUZZ_PUPPET_H
#define TEST_FUZZ_PUPPET_H

#include "fuzz/api.h"

typedef struct puppet_frame {
    axo_ctx *ctx;
    const axo_message *message;
} puppet_frame;

axo_status puppet_receive(axo_ctx *ctx, void *state, const axo_message *message);

axo_directive puppet_decide(axo_ctx *ctx, void *state, const axo_failure *failure,
                                   void *user);

extern const axo_class puppet_classes[];
extern const axo_backoff puppet_backoffs[];
extern const axo_strategy puppet_strategies[];

#define PUPPET_COUNT(array) ((uint32_t)(sizeof(array) / sizeof(array)[0]))

/* A recipe and what a newer header may have behind it. */
typedef struct recipe {
    axo_props props; /* first */
    uint8_t tail[16];
    char name[24];
    bool newer; /* something is set there */
} recipe;

/* NULL now and then. */
const axo_props *recipe_draw(recipe *it);

#endif
