/* durable_nats.h - a store of durable.h on JetStream in the place of LMDB: for a program whose
 * machine may not come back, and that goes on on another one. A library of its own,
 * libaxo-durable-nats (pkg-config: axo-durable-nats), on libaxo-durable and cnats. <axo/axo.h> does
 * not include it.
 *
 *     axo_store_stream stream = AXO_STORE_STREAM(.url = "nats://a,nats://b", .stream = "orders");
 *     status = axo_store_open_stream(system, &stream, &problem, &store);
 *
 * The store is then one as any other: all of durable.h holds of it, where "on disk" reads "in the
 * stream, acknowledged by its server". The stream is the log of the store's transactions: what
 * comes while one is published goes into the next one, together, so one acknowledgement of the
 * server is for all of them. What the server does with what it has acknowledged is its own: with
 * one replica it is in files, which it syncs now and then, so the end of its process loses nothing
 * and the end of its machine may.
 *
 * How it differs from a store on LMDB:
 *
 *   - All of it is in this process's memory, too: `bytes` bounds it there. It is read once, at the
 *     open. The stream is at most about four times as large, and is made shorter now and then.
 *   - Who opens it last has it. The process that had it before is refused by the server from then
 *     on, for good (AXO_ESYSTEM, EBUSY). What that one has not acknowledged is handled by the new
 *     one as well, though the former may be at it.
 *   - Without a folder the death of the process under a message is no failure of the message.
 *   - There is no axo_store_sync: the server has its own.
 *
 * When no server answers, what is sent waits for wait_ms, and is then refused: AXO_ESYSTEM with
 * ENOTCONN, and it is nowhere. What had been published by then says AXO_ETIMEDOUT: the next thing
 * that is written takes it back, and only if this process ends before that may it be handled.
 * Handlers go on with what the store has; their acknowledgements, failures and events wait. A
 * store that is full says -30792, as LMDB's does; a server that has no room ENOSPC, one that
 * refuses for another reason EIO, and a stream that has lost what it had acknowledged ESTALE, for
 * good. In each of these nothing has changed. */
#ifndef AXO_DURABLE_NATS_H
#define AXO_DURABLE_NATS_H

#include <axo/durable.h>

/* What a store may hold, if nothing is said: the bytes of keys and records, and 64 for each. */
#define AXO_STORE_STREAM_BYTES (AXO_CAST(uint64_t, 256) << 20)
/* For an answer of a server, if nothing is said. */
#define AXO_STORE_STREAM_WAIT_MS 5000
/* Bytes of a stream's name. */
#define AXO_STORE_STREAM_NAME_MAX 64

typedef struct axo_store_stream {
    size_t size;        /* sizeof(axo_store_stream), set by AXO_STORE_STREAM */
    const char *url;    /* of nats-servers, at most 16, with commas between them; NULL:
                                nats://127.0.0.1:4222 */
    const char *stream; /* 1..AXO_STORE_STREAM_NAME_MAX of letters, digits, '-', '_'; made, with
                                the subject axo.store.<stream>, if there is none */
    const char *credentials; /* a file of NATS's (.creds); NULL: none */
    const char *ca;          /* a file of certificates (PEM): TLS, by which the server is verified;
                                NULL: TLS if the url says so (tls://) */
    const char *folder;  /* of this machine, made (0700) if there is none, for the file that says
                                under which messages the process has died; NULL: none */
    uint64_t bytes;      /* at least AXO_STORE_MAP_MIN; 0: AXO_STORE_STREAM_BYTES. An eighth more
                                is the reserve. Of a stream that has a bound, at most a sixth */
    uint32_t wait_ms;    /* 100..600000; 0: AXO_STORE_STREAM_WAIT_MS */
    uint32_t loaded_max; /* as axo_store_settings.loaded_max */
    uint32_t replicas;   /* of a stream that is made: 1..5; 0: 1 */
    uint32_t reserved;   /* 0 */
} axo_store_stream;
#define AXO_STORE_STREAM(...) AXO_INIT(axo_store_stream, __VA_ARGS__)
/* As the macro, for C++ before C++20 (init.h). */
static inline void axo_store_stream_init(axo_store_stream *out)
{
    const axo_store_stream fresh = AXO_STORE_STREAM();
    *out = fresh;
}

AXO_BEGIN_DECLS

/* As axo_store_open, on a stream.
 *   problem   may be NULL; `error` is an errno; a text of cnats's is in `text`
 *   blocks    while the stream is read; while a server that does not answer is waited for, wait_ms
 *             at a time
 *   returns   AXO_OK; AXO_EINVAL; AXO_EVERSION: the settings, or another version's or no store's
 *             stream, or one that may lose messages by itself; AXO_EBUSY: another process has
 *             written meanwhile; AXO_ESYSTEM: no server, or it refuses, or the stream is not whole;
 *             AXO_ENOMEM, and as axo_system_spawn
 *   after     on failure *out is NULL; no message of the stream has gone */
AXO_API AXO_NODISCARD axo_status axo_store_open_stream(axo_system *system,
                                                       const axo_store_stream *settings,
                                                       axo_store_problem *problem, axo_store **out);

AXO_END_DECLS

#endif
