/* durable_nats_memory_test.c - durable_memory_test.c on JetStream. */
#include "api/durable_nats_world.h"

#include "api/durable_memory_test.c"
