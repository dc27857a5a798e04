/* service.h - a host whose turns are pieces of test, and a log of all that came to it: the services
 * as their users hit them, on the clock of the test kit, on one thread. */
#ifndef AXO_TEST_SERVICE_H
#define AXO_TEST_SERVICE_H

#include <stdlib.h>
#include <string.h>

#include <axo/axo.h>

#include "support/cmocka.h"

#define SV_MS INT64_C(1000000)
#define SV_S INT64_C(1000000000)

enum { SV_DO = 1, SV_NOTE = 2, SV_FAIL = 3, SV_QUIT = 4, SV_ASKED = 5, SV_LOG_MAX = 64 };

/* One message that came. */
typedef struct sv_row {
    int64_t at;
    uint64_t id;       /* of an answer or a verdict */
    axo_status status; /* of a verdict */
    uint32_t tag;      /* of the message; of an answer: its own is `inner` */
    uint32_t inner;
    uint32_t size;
    int64_t waited_ns;
} sv_row;

typedef struct sv_host {
    axo_testkit *kit;
    axo_system *system;
    axo_ref ref;
    axo_ref sender; /* of the latest message */
    uint32_t count;
    sv_row rows[SV_LOG_MAX];
    uint32_t instances;
} sv_host;

typedef void (*sv_fn)(axo_ctx *ctx, sv_host *host, void *arg);

typedef struct sv_call {
    sv_fn fn;
    void *arg;
} sv_call;

static inline axo_status sv_log(sv_host *host, const axo_message *message)
{
    assert_true(host->count < SV_LOG_MAX);
    sv_row *row = &host->rows[host->count++];
    *row = (sv_row){.at = axo_testkit_now(host->kit), .tag = message->tag, .size = message->size};
    host->sender = message->sender;
    if (message->tag == AXO_ASK_ANSWER) {
        const axo_answer *answer = AXO_PAYLOAD(message, axo_answer);
        row->id = answer->id;
        row->inner = answer->tag;
        row->size = answer->size;
        row->waited_ns = answer->waited_ns;
    } else if (message->tag == AXO_ASK_FAILED || message->tag == AXO_STOP_ENDED) {
        const axo_verdict *verdict = AXO_PAYLOAD(message, axo_verdict);
        row->id = verdict->id;
        row->status = verdict->status;
        row->waited_ns = verdict->waited_ns;
    }
    return AXO_OK;
}

static inline axo_status sv_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    sv_host *host = *(sv_host **)state;
    switch (message->tag) {
    case SV_DO: {
        const sv_call *call = AXO_PAYLOAD(message, sv_call);
        call->fn(ctx, host, call->arg);
        return AXO_OK;
    }
    case SV_FAIL:
        return axo_fail(ctx, 7, "as told");
    case SV_QUIT:
        return axo_stop_self(ctx);
    default:
        return sv_log(host, message);
    }
}

static inline axo_status sv_construct(axo_ctx *ctx, void *state, const void *args)
{
    memcpy(state, args, sizeof(sv_host *));
    (*(sv_host **)state)->instances++;
    return AXO_OK;
}

static const axo_class sv_class = AXO_CLASS(.name = "host", .state_size = sizeof(sv_host *),
                                            .construct = sv_construct, .receive = sv_receive);

/* Another host of the same system; `mailbox` may be NULL. */
static inline void sv_spawn(sv_host *host, axo_testkit *kit, const char *name,
                            const axo_mailbox *mailbox)
{
    memset(host, 0, sizeof *host);
    host->kit = kit;
    host->system = axo_testkit_system(kit);
    axo_props props = AXO_PROPS(.cls = &sv_class, .args = &host, .args_size = sizeof host,
                                .name = name, .mailbox = mailbox);
    assert_int_equal(axo_system_spawn(host->system, &props, &host->ref), AXO_OK);
    (void)axo_testkit_run(kit);
}

static inline void sv_start(sv_host *host, const axo_options *options)
{
    axo_testkit *kit = NULL;
    assert_int_equal(axo_testkit_start(options, &kit), AXO_OK);
    sv_spawn(host, kit, "host", NULL);
}

/* In the host's turn. */
static inline void sv_do(sv_host *host, sv_fn fn, void *arg)
{
    sv_call call = {.fn = fn, .arg = arg};
    assert_int_equal(axo_system_send(host->system, host->ref, SV_DO, &call, sizeof call), AXO_OK);
    (void)axo_testkit_run(host->kit);
}

static inline void sv_tell(sv_host *host, uint32_t tag)
{
    assert_int_equal(axo_system_send(host->system, host->ref, tag, NULL, 0), AXO_OK);
    (void)axo_testkit_run(host->kit);
}

/* Nothing was lost and no memory is left. */
static inline void sv_end(sv_host *host)
{
    axo_status status = axo_testkit_stop(host->kit);
    if (status != AXO_OK)
        fail_msg("%s", axo_testkit_why(host->kit));
}

/* The only thing that came since `from`. */
static inline const sv_row *sv_only(const sv_host *host, uint32_t from)
{
    assert_int_equal(host->count, from + 1);
    return &host->rows[from];
}

#endif
