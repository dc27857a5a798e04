/* timing.h - what the simulated actors do with time: keyed timers, raw handles, receive timeouts,
 * and shots that come once.
 */
#ifndef TEST_SIM_TIMING_H
#define TEST_SIM_TIMING_H

#include <axo/axo.h>

void timing_act(axo_ctx *ctx);
void timing_later(axo_ctx *ctx, uint32_t left);

/* The calm comes: what ticks for ever is stopped. */
axo_status timing_quiet(axo_ctx *ctx);

#endif
