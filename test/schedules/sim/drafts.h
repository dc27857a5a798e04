/* drafts.h - drafts that callbacks have open: one that is left by a crash or a throw takes those of
 * its own along, but for those that it has kept; all others stay whoever has them, perhaps for a
 * callback of another actor.
 */
#ifndef TEST_SIM_DRAFTS_H
#define TEST_SIM_DRAFTS_H

#include "acts.h"

/* A life begins. */
void drafts_reset(void);

/* Makes some, sends and discards them, and lends one to who comes; with places to crash between. */
void drafts_act(axo_ctx *ctx, uint32_t site);

/* A callback begins, or a step is over: nothing is open. */
void drafts_closed(void);

/* The system has ended: those that nobody has come for go. */
void drafts_end(void);

#endif
