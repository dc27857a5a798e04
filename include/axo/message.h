/* message.h - what actors send one another. With payloads that are handed over:
 * test/example/log_pipeline.c. */
#ifndef AXO_MESSAGE_H
#define AXO_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

#include <axo/export.h>
#include <axo/ref.h>
#include <axo/status.h>

/* Tags from AXO_TAG_RESERVED up are the runtime's; sending one is AXO_EINVAL. An actor gets those
 * below, AXO_RECEIVE_TIMEOUT (time.h), AXO_EVENT (event.h) and AXO_REQUEST_FAILED. */
#define AXO_TAG_RESERVED UINT32_C(0xffff0000)

/* Tags from here up to AXO_TAG_RESERVED are those of the services that come with the library, sent
 * through its public functions; an application's own tags are below.
 *
 * Whoever sends chooses tag, payload and sender (axo_send_from). A service takes what it sends to
 * itself only from itself, reads no payload but one of the size that its header says, and leaves
 * what is malformed or forged unhandled: no message harms it. But its commands (AXO_ROUTER_ADD,
 * AXO_BACKOFF_RESET) obey anybody, and its answers are believed by who gets them: an AXO_ASK_ANSWER
 * that a stranger has made may hold any pointer. So a relay that sends tags it was given, from a
 * network or a file, refuses every tag from AXO_TAG_SERVICES up; and so does a receiver that cannot
 * trust who has its reference, for the services that it does not use. */
#define AXO_TAG_SERVICES UINT32_C(0xfffe0000)

/* A watched actor has terminated; the payload is an axo_terminated. Returning AXO_UNHANDLED for it
 * fails the watcher with AXO_FAILURE_DEATH_PACT. */
#define AXO_TERMINATED UINT32_C(0xffff0001)

/* /user has terminated and this actor has registered a termination hook; it answers with
 * axo_termination_hook_done. */
#define AXO_TERMINATION_HOOK UINT32_C(0xffff0002)

/* The actor that got a message from this one has failed under it, and its supervisor's strategy
 * says that senders are told (axo_strategy.answer_failed); axo_request_failed_of reads it, and the
 * sender is the one that failed. It is not counted in sent, handled and dead, no bound of a mailbox
 * refuses it, and it is neither passed on (axo_forward) nor taken (axo_message_take). */
#define AXO_REQUEST_FAILED UINT32_C(0xffff0020)

/* A PoisonPill, a Kill (axo_kill, AXO_TIMER_KILL) and a failure from outside (axo_system_fail), as
 * dead letters show them, and the last two as pre_restart does. They never come to `receive`, have
 * no payload to read, and are passed on by nobody: axo_forward is AXO_EINVAL. */
#define AXO_POISON_PILL UINT32_C(0xffff0010)
#define AXO_KILL UINT32_C(0xffff0011)
#define AXO_INJECTED UINT32_C(0xffff0012)

/* One message, as its receiver sees it.
 * It and its payload are the runtime's and live until the callback that got it returns; the
 * message under which an instance failed lives until pre_restart (or the stop) is over. */
typedef struct axo_message {
    uint32_t tag;        /* the sender's, for a switch */
    uint32_t size;       /* bytes of payload; 0: none, or an owned pointer of unknown size */
    axo_ref sender;      /* who sent it; axo_ref_none() from outside */
    const void *payload; /* aligned for any object; NULL when size is 0 and nothing is owned */
} axo_message;

/* Payload of AXO_TERMINATED. */
typedef struct axo_terminated {
    axo_ref actor;              /* the incarnation that was watched */
    uint32_t existence_known;   /* 1: it has lived; 0: no such actor was ever seen */
    uint32_t address_terminated; /* 1: its node was lost (remote.h), and it may live on there, for
                                    nobody here; 0: it has ended */
} axo_terminated;

/* The payload as a pointer to `type`. */
#ifdef __cplusplus
#define AXO_PAYLOAD(message, type) (static_cast<type const *>((message)->payload))
#else
#define AXO_PAYLOAD(message, type) ((type const *)(message)->payload)
#endif

/* What frees an owned payload. Runs exactly once, on whatever thread the payload's life ends:
 * after it was handled, or when it is dead-lettered or dropped. It must not block and has no
 * context. */
typedef void (*axo_payload_free)(void *payload, void *user);

/* A payload that has been taken over, with all that its new owner needs. */
typedef struct axo_owned {
    void *payload;
    size_t size;              /* as it was sent */
    axo_payload_free destroy; /* may be NULL */
    void *user;
} axo_owned;

#endif
