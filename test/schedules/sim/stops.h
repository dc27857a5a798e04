/* stops.h - stops, pills and kills that the simulated actors ask for, and what the checker notes of
 * them.
 */
#ifndef TEST_SIM_STOPS_H
#define TEST_SIM_STOPS_H

#include <stdbool.h>

#include <axo/axo.h>

void stops_one(axo_ctx *ctx, axo_ref whom);
void stops_child(axo_ctx *ctx);

/* Its parent, or one of its parent's children: another than itself, if there is one. */
void stops_kin(axo_ctx *ctx);

void stops_self(axo_ctx *ctx);

/* A pill, or a kill, that goes where messages go. */
void stops_queued(axo_ctx *ctx, bool kill);

#endif
