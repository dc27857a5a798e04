/* r2_durable.c - what a durable message costs (durable.h), beside LMDB itself, and how long a store
 * with many messages takes until the first is handled, and until all are.
 *
 * R2a  accepted and handled: a sender keeps a window of messages on the way; by policy of sync
 * R2b  LMDB alone: a transaction for each such window, put and deleted again; by policy
 * R2r  recovery: `--messages` of 64 bytes lie in a mailbox; the actor is spawned and handles them */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <lmdb.h>

#include <axo/axo.h>
#include <axo/durable.h>

#include "bench.h"
