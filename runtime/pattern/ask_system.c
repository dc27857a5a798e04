/* ask_system.c - ask, from a thread that is no worker.
 *
 * The thread opens a call (call.h), sends the request in the name of the call's actor, and waits on
 * a condition variable. A worker must not come here: it would wait for its own turn. */
#include <string.h>

#include "pattern/call.h"

/* Checks before anything is made, axo__call_allowed last: AXO_ECONTEXT on a worker. */
static axo_status ask_check(axo_system *system, axo_ref to, uint32_t tag, const void *payload,
                            size_t size, int64_t timeout_ns)
{
    if (system == NULL || axo_ref_is_none(to) || tag >= AXO_TAG_RESERVED || timeout_ns <= 0 ||
        timeout_ns > AXO_DELAY_MAX || (payload == NULL && size > 0))
        return AXO_EINVAL;
    return size > AXO_PAYLOAD_MAX ? AXO_ETOOBIG : axo__call_allowed(system);
}

/* Opens a call, sends the request in its actor's name, and waits. A refused request gives the call
 * up at once, so the wait below returns its status. */
static axo_status ask_call(axo_system *system, const axo__wait *wait, const void *payload,
                           size_t size, axo_asked *out)
{
    axo__call *call;
    axo_ref actor;
    axo_status status = axo__call_open(system, wait, &call, &actor);
    if (status != AXO_OK)
        return status;
    status = axo_system_send_from(system, actor, wait->target, wait->tag, payload, size);
    if (status != AXO_OK)
        (void)axo__call_give_up(call, actor, status);
    status = axo__call_wait(call, actor);
    /* the call is closed: no other thread looks at the answer */
    if (status == AXO_OK)
        axo__call_take_answer(call, out);
    else
        axo__wait_judge(system, wait, actor, status, &out->verdict);
    if (status == AXO_EFAILED)
        axo__call_take_failure(call, &out->verdict);
    axo__call_drop(call);
    return status;
}

axo_status axo_system_ask(axo_system *system, axo_ref to, uint32_t tag, const void *payload,
                          size_t size, int64_t timeout_ns, axo_asked *out)
{
    if (out == NULL)
        return AXO_EINVAL;
    memset(out, 0, sizeof *out);
    axo_status status = ask_check(system, to, tag, payload, size, timeout_ns);
    if (status != AXO_OK) {
        out->verdict.status = status;
        return status;
    }
    axo__wait wait = {.kind = AXO__WAIT_ASK, .tag = tag, .target = to, .timeout_ns = timeout_ns,
                      .since_ns = axo__wait_thread_now()};
    /* The path is read now, for the verdict: after the target's end no thread could read it. */
    (void)axo_system_path(system, to, wait.path, sizeof wait.path);
    /* Without a path the target has ended, a dead letter (AS-02); or it is of another node. */
    if (wait.path[0] != 0 || axo_ref_node(to) != 0)
        status = ask_call(system, &wait, payload, size, out);
    else
        status = axo_system_send(system, to, tag, payload, size);
    out->waited_ns = axo__wait_passed(axo__wait_thread_now(), wait.since_ns);
    /* A call that was never opened has no verdict yet. */
    if (status != AXO_OK && out->verdict.status == AXO_OK)
        axo__wait_judge(system, &wait, axo_ref_none(), status, &out->verdict);
    return status;
}

void axo_asked_free(axo_system *system, axo_asked *asked)
{
    if (system == NULL || asked == NULL || !axo__context_at_home(system))
        return;
    int before = axo__context_hold(); /* the payload's destructor is the program's */
    axo__call_free_answer(system, &asked->message, &asked->owned);
    axo__context_let(before);
}
