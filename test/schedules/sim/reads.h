/* reads.h - the checker of watched descriptors: those of the simulator, which actors open, watch,
 * unwatch, close and leave behind, and which get ready at any time. */
#ifndef TEST_SIM_READS_H
#define TEST_SIM_READS_H

#include <axo/axo.h>

/* A life begins: no descriptor is open. */
void reads_begin(void);

/* The running actor does something to a descriptor. */
void reads_act(axo_ctx *ctx);

/* An AXO_IO_READY: of a watch of this very instance, of what it wants. Now and then some of it is
 * left unread. */
void reads_ready(axo_ctx *ctx, const axo_message *message);

/* Something comes from outside, or what an instance has left behind is closed by its program. */
void reads_outside(void);

/* At rest everybody has been told of what is ready. */
void reads_check_rest(void);

/* After the end no descriptor is open that an instance owned. */
void reads_check_end(void);

#endif
