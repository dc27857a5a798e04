/* hash.c - events as another run has them too.
 *
 * What of an event is the same everywhere: its kind, its time, the actor's index, its instance, how
 * often it is suspended, the name of its class, and what the kind says of arg, with indices in the
 * place of references. Numbers are mixed, not bytes, so the order of bytes has no part in it. */
#include <string.h>

#include "world.h"

/* The kinds whose arg is a reference (trace.h). A slot's number, as DECIDE has it, is an index. */
#define HASH_REFS                                                                                  \
    (AXO_EVENT_BIT(AXO_EV_SPAWN) | AXO_EVENT_BIT(AXO_EV_REPORT) | AXO_EVENT_BIT(AXO_EV_HOLD) |     \
     AXO_EVENT_BIT(AXO_EV_CHILD_GONE) | AXO_EVENT_BIT(AXO_EV_WATCH) |                              \
     AXO_EVENT_BIT(AXO_EV_UNWATCH) | AXO_EVENT_BIT(AXO_EV_NOTICE) | AXO_EVENT_BIT(AXO_EV_PARK) |   \
     AXO_EVENT_BIT(AXO_EV_MERGE) | AXO_EVENT_BIT(AXO_EV_DECIDER_BEGIN))

static uint64_t hash_mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

static uint64_t hash_text(const char *text)
{
    uint64_t hash = 0;
    for (; text != NULL && *text != 0; text++)
        hash = hash_mix(hash, (uint8_t)*text);
    return hash;
}

static uint64_t hash_arg(const axo_event *event)
{
    const axo_ref ref = {.bits = event->arg};
    if (event->kind < 64 && (HASH_REFS & AXO_EVENT_BIT(event->kind)) != 0)
        return axo_ref_index(ref);
    return event->arg;
}

uint64_t record_event_words(const axo_event *event, uint8_t bytes[RECORD_EVENT])
{
    const uint32_t index = axo_ref_index(event->actor);
    const uint64_t arg = hash_arg(event);
    record_put put = {.at = bytes};
    uint64_t hash = hash_mix(0, (uint64_t)event->time_ns);
    hash = hash_mix(hash, (uint64_t)event->kind << 32 | index);
    hash = hash_mix(hash, arg);
    hash = hash_mix(hash, (uint64_t)event->instance << 32 | event->suspends);
    hash = hash_mix(hash, hash_text(event->cls != NULL ? event->cls->name : NULL));
    record_put_u8(&put, (uint8_t)event->kind);
    record_put_u8(&put, 0);
    record_put_u16(&put, (uint16_t)(event->suspends < UINT16_MAX ? event->suspends : UINT16_MAX));
    record_put_u32(&put, index);
    record_put_u32(&put, (uint32_t)arg);
    record_put_u32(&put, (uint32_t)(hash >> 32));
    return hash;
}

void axo_record_hash_add(axo_record_hash *hash, const axo_event *event)
{
    uint8_t bytes[RECORD_EVENT];
    if (hash == NULL || event == NULL)
        return;
    hash->value = hash_mix(hash->value, record_event_words(event, bytes));
    hash->events++;
}
