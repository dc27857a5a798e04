/* durable_nats_mailbox_test.c - durable_mailbox_test.c on JetStream. */
#include "api/durable_nats_world.h"

#include "api/durable_mailbox_test.c"
