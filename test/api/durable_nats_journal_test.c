/* durable_nats_journal_test.c - durable_journal_test.c on JetStream. */
#include "api/durable_nats_world.h"

#include "api/durable_journal_test.c"
