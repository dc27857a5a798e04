/* durable_nats_kill_test.c - durable_kill_test.c on JetStream. */
#include "api/durable_nats_world.h"

#include "api/durable_kill_test.c"
