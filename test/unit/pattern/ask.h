/* ask.h - actors that the tests of ask share: a server that answers in several ways, a client that
 * marks what comes. */
#ifndef UNIT_PATTERN_ASK_H
#define UNIT_PATTERN_ASK_H

#include <stdatomic.h>
#include <string.h>

#include "conformance/parts.h"

enum { ASK_BIG = KIT_OTHER + 1, ASK_OWNED, ASK_SILENT };
#define ASK_FOREVER (INT64_C(1000000000) * KIT_GATE_DEADLINE_S)
#define ASK_MS      INT64_C(1000000)

/* ---- actors ---------------------------------------------------------------------------------- */

/* What the answers of `ask_server` are made of. */
typedef struct ask_shop {
    kit *k;
    _Atomic uint32_t freed;
    axo_ref last; /* who asked last, written before the mark "asked" */
} ask_shop;

static inline void ask_freed(void *payload, void *user)
{
    ask_shop *shop = user;
    atomic_fetch_add(&shop->freed, 1);
    free(payload);
}

static inline const char *ask_tag_name(uint32_t tag)
{
    return tag == ASK_SILENT ? "SILENT" : tag == KIT_WAIT ? "WAIT" : NULL;
}

/* PING: as a puppet. BIG: as many bytes as asked for. OWNED: a payload that is handed over.
 * SILENT: no answer; marks silent. */
static inline axo_status ask_server(axo_ctx *ctx, void *state, const axo_message *message)
{
    kit_puppet *self = state;
    ask_shop *shop = self->script->user;
    switch (message->tag) {
    case ASK_BIG: {
        axo_draft *draft;
        void *bytes;
        size_t size = *AXO_PAYLOAD(message, size_t);
        KIT_REQUIRE(self->k, axo_message_new(ctx, ASK_BIG, size, &draft, &bytes) == AXO_OK);
        memset(bytes, 7, size);
        (void)axo_send_message(ctx, message->sender, draft);
        return AXO_OK;
    }
    case ASK_OWNED: {
        char *text = malloc(8);
        memcpy(text, "handed!", 8);
        (void)axo_send_owned(ctx, message->sender, ASK_OWNED, text, 8, ask_freed, shop);
        return AXO_OK;
    }
    case ASK_SILENT:
        shop->last = message->sender;
        kit_mark(self, "silent", 0);
        return AXO_OK;
    default:
        return kit_receive(ctx, state, message);
    }
}

static inline kit_script *ask_server_start(kit *k, ask_shop **shop)
{
    kit_script *server = part_start(k, "s");
    ask_shop *made = kit_alloc(k, sizeof *made);
    made->k = k;
    server->user = made;
    part_tell_become(k, server, ask_server);
    kit_settle(k);
    if (shop != NULL)
        *shop = made;
    return server;
}

/* Marks got(id) with tag(tag), or failed(id) with why(status). */
static inline axo_status ask_client(axo_ctx *ctx, void *state, const axo_message *message)
{
    kit_puppet *self = state;
    if (message->tag == AXO_ASK_ANSWER) {
        axo_message answer = axo_answer_of(message);
        if (answer.tag == ASK_OWNED)
            KIT_REQUIRE(self->k, strcmp(answer.payload, "handed!") == 0);
        kit_mark(self, "tag", answer.tag);
        kit_mark(self, "got", (int64_t)AXO_PAYLOAD(message, axo_answer)->id);
        return AXO_OK;
    }
    if (message->tag == AXO_ASK_FAILED) {
        kit_mark(self, "why", AXO_PAYLOAD(message, axo_verdict)->status);
        kit_mark(self, "failed", (int64_t)AXO_PAYLOAD(message, axo_verdict)->id);
        return AXO_OK;
    }
    return kit_receive(ctx, state, message);
}

static inline axo_status ask_become(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    KIT_REQUIRE(self->k, axo_become(ctx, ask_client) == AXO_OK);
    return AXO_OK;
}

static inline kit_script *ask_client_new(kit *k, const char *label)
{
    kit_script *client = kit_actor(k, label);
    client->pre_start.run = ask_become;
    return client;
}

#endif
