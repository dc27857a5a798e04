/* io.c - descriptors that actors watch: see io.h.
 *
 * All functions but found, feed and send run on the cell's runner. The mutex guards which record
 * has which descriptor, with the calls of the set that must agree with it: a watch and an unwatch
 * take it, a readiness does not.
 */
#include "sched/io.h"

#include <string.h>

#include <axo/io.h>

#include "sched/poller.h"
#include "sched/ready.h"

AXO_STATIC_ASSERT((int)AXO_IO_IN == AXO__POLL_IN && (int)AXO_IO_OUT == AXO__POLL_OUT &&
                      (int)AXO_IO_HUP == AXO__POLL_HUP && (int)AXO_IO_ERR == AXO__POLL_ERR &&
                      (int)AXO_IO_URGENT == AXO__POLL_URGENT,
                  "the bits are the port's");

/* The word: 32 bits of the generation, which is odd while the watch lives, and these. */
#define IO_READY        UINT64_C(31) /* AXO__POLL_ bits */
#define IO_WANTED_SHIFT 5
#define IO_ALWAYS       UINT64_C(28) /* HUP, ERR and URGENT are wanted always */
#define IO_QUEUED       (UINT64_C(1) << 10)
#define IO_STARVED      (UINT64_C(1) << 11)
#define IO_LOST         (UINT64_C(1) << 12)

#define IO_TABLE_MIN 64

/* What a message has for the runtime, behind its payload. */
typedef struct io_payload {
    axo_io_ready ready; /* first: what the receiver sees */
    uint64_t cookie;
} io_payload;

/* ---- records ---- */

static uint32_t io_generation(uint64_t word)
{
    return (uint32_t)(word >> 32);
}

static uint64_t io_cookie(const axo__io_record *record, uint64_t word)
{
    return (word & ~(uint64_t)UINT32_MAX) | record->slot;
}

static bool io_is_of(uint64_t word, uint64_t cookie)
{
    return io_generation(word) == (uint32_t)(cookie >> 32);
}

/* What is ready and wanted. */
static uint64_t io_due(uint64_t word)
{
    if (axo__unlikely((word & IO_LOST) != 0))
        return 0;
    return word & (word >> IO_WANTED_SHIFT | IO_ALWAYS) & IO_READY;
}

/* The chunk of a slot, and its place there: chunk n begins with slot (2^n - 1) * CHUNK_MIN. */
static uint32_t io_chunk(uint32_t slot, uint32_t *at)
{
    uint32_t chunk = 31 - (uint32_t)__builtin_clz(slot / AXO__IO_CHUNK_MIN + 1);
    *at = slot - ((UINT32_C(1) << chunk) - 1) * AXO__IO_CHUNK_MIN;
    return chunk;
}

static size_t io_chunk_size(uint32_t chunk)
{
    return sizeof(axo__io_record) * ((size_t)AXO__IO_CHUNK_MIN << chunk);
}

/* A record that was made once. */
static axo__io_record *io_at(const axo__io *io, uint32_t slot)
{
    uint32_t at;
    uint32_t chunk = io_chunk(slot, &at);
    axo__io_record *records = axo__aptr_load_acquire(&io->chunks[chunk]); /* [I2] */
    AXO_DEBUG_ASSERT(records != NULL);
    return &records[at];
}

/* Under the mutex: a free record; NULL: no memory. */
static axo__io_record *io_take_record(axo__io *io)
{
    if (io->free != 0) {
        axo__io_record *record = io_at(io, io->free - 1);
        io->free = record->free_next;
        return record;
    }
    uint32_t at;
    uint32_t chunk = io_chunk(io->made, &at);
    if (chunk >= AXO__IO_CHUNKS)
        return NULL;
    if (at == 0) {
        void *records =
            axo__heap_alloc(&io->core->heap, io_chunk_size(chunk), AXO__CACHE_LINE, AXO__SITE_IO);
        if (records == NULL)
            return NULL;
        memset(records, 0, io_chunk_size(chunk));
        axo__aptr_store_release(&io->chunks[chunk], records); /* [I2] */
    }
    axo__io_record *record = io_at(io, io->made);
    record->slot = io->made++;
    return record;
}

static void io_give_record(axo__io *io, axo__io_record *record)
{
    record->free_next = io->free;
    io->free = record->slot + 1;
}

/* Under the mutex: room for a descriptor in the table; false: no memory. */
static bool io_take_place(axo__io *io, uint32_t fd)
{
    if (fd < io->table_room)
        return true;
    uint32_t room = io->table_room != 0 ? io->table_room : IO_TABLE_MIN;
    while (room <= fd)
        room *= 2;
    uint32_t *table =
        axo__heap_alloc(&io->core->heap, sizeof *table * room, AXO__CACHE_LINE, AXO__SITE_IO);
    if (table == NULL)
        return false;
    memset(table, 0, sizeof *table * room);
    if (io->table != NULL) {
        memcpy(table, io->table, sizeof *table * io->table_room);
        axo__heap_free(&io->core->heap, io->table, sizeof *table * io->table_room,
                       AXO__CACHE_LINE, AXO__SITE_IO);
    }
    io->table = table;
    io->table_room = room;
    return true;
}

/* Under the mutex: the record that has a descriptor; NULL: none has. */
static axo__io_record *io_of_fd(const axo__io *io, int fd)
{
    if (fd < 0 || (uint32_t)fd >= io->table_room || io->table[fd] == 0)
        return NULL;
    return io_at(io, io->table[fd] - 1);
}

static bool io_is_owner(const axo__io_record *record, const axo__cell *cell)
{
    return axo__a64_load_relaxed(&record->owner) == axo__cell_ref(cell).bits;
}

/* ---- all of it ---- */

static axo__io *io_make(axo__core *core, axo_status *status)
{
    axo__sched *sched = axo__core_sched(core);
    axo__io *io = axo__heap_alloc(&core->heap, sizeof *io, AXO__CACHE_LINE, AXO__SITE_IO);
    *status = AXO_ENOMEM;
    if (io == NULL)
        return NULL;
    memset((void *)io, 0, sizeof *io);
    io->core = core;
    *status = AXO_ETHREAD;
    if (!axo__os_mutex_init(&io->mutex))
        goto fail;
    bool own = sched->kind->manned || sched->kind->lent; /* an event of its own wakes the poller */
    if (!axo__os_poll_init(&io->poll, own ? NULL : &sched->bell.event))
        goto fail_mutex;
    *status = AXO_OK;
    return io;
fail_mutex:
    axo__os_mutex_fini(&io->mutex);
fail:
    axo__heap_free(&core->heap, io, sizeof *io, AXO__CACHE_LINE, AXO__SITE_IO);
    return NULL;
}

axo__io *axo__io_take(axo__core *core, axo_status *status)
{
    axo__sched *sched = axo__core_sched(core);
    axo__io *io = axo__io_of(sched);
    *status = AXO_OK;
    if (io != NULL)
        return io;
    axo__os_mutex_lock(&sched->mutex);
    io = axo__io_of(sched);
    if (io == NULL) {
        io = io_make(core, status);
        axo__aptr_store_release(&sched->io, io); /* [I3] */
    }
    axo__os_mutex_unlock(&sched->mutex);
    return io;
}

void axo__io_free(axo__sched *sched)
{
    axo__io *io = axo__io_of(sched);
    if (io == NULL)
        return;
    axo__heap *heap = &io->core->heap;
    AXO_DEBUG_ASSERT(axo__a32_peek_owner(&io->watched) == 0);
    AXO_DEBUG_ASSERT(axo__a32_peek_owner(&io->starved) == 0);
    for (uint32_t chunk = 0; chunk < AXO__IO_CHUNKS; chunk++) {
        void *records = axo__aptr_load_relaxed(&io->chunks[chunk]);
        if (records != NULL)
            axo__heap_free(heap, records, io_chunk_size(chunk), AXO__CACHE_LINE, AXO__SITE_IO);
    }
    if (io->table != NULL)
        axo__heap_free(heap, io->table, sizeof *io->table * io->table_room, AXO__CACHE_LINE,
                       AXO__SITE_IO);
    axo__os_poll_fini(&io->poll);
    axo__os_mutex_fini(&io->mutex);
    axo__heap_free(heap, io, sizeof *io, AXO__CACHE_LINE, AXO__SITE_IO);
    axo__aptr_store_relaxed(&sched->io, NULL);
}

/* ---- the message ---- */

static io_payload *io_payload_of(axo__message *message)
{
    AXO_DEBUG_ASSERT(message->block >= sizeof *message + sizeof(io_payload));
    return (io_payload *)(void *)(message + 1);
}

/* Puts the message into the owner's mailbox. The owner was read after the watch's word, and may be
 * another watch's by now: then the cookie is stale, and the message is freed when it comes up. */
static void io_post(axo__worker *worker, axo_ref owner, axo__message *message)
{
    axo__cell *cell = axo__table_find(&worker->local.core->table, owner);
    if (cell == NULL) {
        axo__message_free(&worker->local.cache, message);
        return;
    }
    axo__sched_accept(worker, cell, message);
}

static axo__message *io_message(axo__worker *worker, uint64_t cookie)
{
    axo__message *message =
        axo__message_make(&worker->local.cache, AXO_IO_READY, axo_ref_none(), sizeof(io_payload));
    if (message == NULL)
        return NULL;
    message->flags = AXO__MESSAGE_SIGNAL | AXO__MESSAGE_TICK;
    message->pub.size = sizeof(axo_io_ready);
    *io_payload_of(message) = (io_payload){.cookie = cookie};
    return message;
}

/* There is no memory for the message of a watch that has QUEUED: it is tried again soon (I2). The
 * count goes up first, so a starved watch is never without it. */
static void io_starve(axo__worker *worker, axo__io *io, axo__io_record *record, uint64_t cookie)
{
    uint64_t word = axo__a64_load_acquire(&record->word); /* [I1] */
    (void)axo__a32_add_seq_cst(&io->starved, 1);          /* [I6] */
    do {
        if (!io_is_of(word, cookie)) {
            (void)axo__a32_add_seq_cst(&io->starved, UINT32_MAX); /* [I6] */
            return;
        }
        AXO_DEBUG_ASSERT((word & (IO_QUEUED | IO_STARVED)) == IO_QUEUED);
    } while (!axo__a64_cas_acq_rel(&record->word, &word, word | IO_STARVED)); /* [I1] */
    axo__poller_tell(worker);
}

/* By who has set QUEUED. */
static void io_send(axo__worker *worker, axo__io *io, axo__io_record *record, uint64_t cookie)
{
    axo_ref owner = {axo__a64_load_relaxed(&record->owner)};
    axo__message *message = io_message(worker, cookie);
    if (axo__likely(message != NULL))
        io_post(worker, owner, message);
    else
        io_starve(worker, io, record, cookie);
}

/* Adds `ready` to the word of a watch, with `wanted` in the place of what was wanted (IO_KEEP: as
 * it is), and sends its message if one is due. */
#define IO_KEEP UINT64_MAX

static void io_change(axo__worker *worker, axo__io *io, uint64_t cookie, uint64_t ready,
                      uint64_t wanted)
{
    axo__io_record *record = io_at(io, (uint32_t)cookie);
    uint64_t word = axo__a64_load_acquire(&record->word); /* [I1] */
    uint64_t next;
    do {
        if (!io_is_of(word, cookie))
            return;
        next = word | ready;
        if (wanted != IO_KEEP)
            next = (next & ~(IO_READY << IO_WANTED_SHIFT)) | wanted << IO_WANTED_SHIFT;
        if (io_due(next) != 0)
            next |= IO_QUEUED;
    } while (!axo__a64_cas_acq_rel(&record->word, &word, next)); /* [I1] */
    if (((word ^ next) & IO_QUEUED) != 0)
        io_send(worker, io, record, cookie);
}

void axo__io_found(axo__worker *worker, axo__io *io)
{
    for (uint32_t i = 0; i < io->poll.count; i++)
        io_change(worker, io, io->poll.found[i].cookie, io->poll.found[i].events & IO_READY,
                  IO_KEEP);
    io->poll.count = 0;
}

/* The message is made before STARVED is cleared: without memory the watch stays starved. Memory is
 * missing seldom, so all records are looked at. */
void axo__io_feed(axo__worker *worker, axo__io *io)
{
    axo__os_mutex_lock(&io->mutex);
    uint32_t made = io->made;
    axo__os_mutex_unlock(&io->mutex);
    for (uint32_t slot = 0; slot < made && axo__a32_load_relaxed(&io->starved) != 0; slot++) {
        axo__io_record *record = io_at(io, slot);
        uint64_t word = axo__a64_load_acquire(&record->word); /* [I1] */
        if (axo__likely((word & IO_STARVED) == 0))
            continue;
        axo_ref owner = {axo__a64_load_relaxed(&record->owner)};
        axo__message *message = io_message(worker, io_cookie(record, word));
        if (message == NULL)
            return;
        uint64_t cookie = io_cookie(record, word);
        while ((word & IO_STARVED) != 0 && io_is_of(word, cookie)) {
            if (!axo__a64_cas_acq_rel(&record->word, &word, word & ~IO_STARVED)) /* [I1] */
                continue;
            (void)axo__a32_add_seq_cst(&io->starved, UINT32_MAX); /* [I6] */
            io_post(worker, owner, message);
            message = NULL;
            break;
        }
        if (message != NULL)
            axo__message_free(&worker->local.cache, message);
    }
}

bool axo__io_come(axo__worker *worker, axo__cell *cell, axo__message *message)
{
    axo__io *io = axo__io_of(axo__core_sched(worker->local.core));
    io_payload *payload = io_payload_of(message);
    axo__io_record *record = io_at(io, (uint32_t)payload->cookie);
    uint64_t word = axo__a64_load_acquire(&record->word); /* [I1] */
    uint64_t events = 0;
    uint64_t next;
    (void)cell;
    do {
        if (!io_is_of(word, payload->cookie))
            goto stale;
        /* A message that was stashed has been up before, with events. What is not wanted now stays
         * ready for a later axo_io_want. */
        next = word | (uint64_t)payload->ready.events;
        events = io_due(next);
        next &= ~events;
        if (events == 0)
            next &= ~IO_QUEUED;
    } while (!axo__a64_cas_acq_rel(&record->word, &word, next)); /* [I1] */
    if (events == 0)
        goto stale;
    AXO_DEBUG_ASSERT(io_is_owner(record, cell) && (word & (IO_QUEUED | IO_STARVED)) == IO_QUEUED);
    payload->ready = (axo_io_ready){.fd = record->fd, .events = (uint32_t)events};
    record->given = (uint32_t)events & (AXO__POLL_IN | AXO__POLL_OUT);
    return true;
stale:
    axo__message_free(&worker->local.cache, message);
    return false;
}

/* What the handler was given is not ready in the word since axo__io_come, so an edge that comes
 * between that and the look is added by the one or the other. What the handler was given, has not
 * called blocked and does not want any more may be ready still: a later axo_io_want tells it. */
bool axo__io_handled(axo__worker *worker, axo__cell *cell, axo__message *message, bool keep)
{
    axo__io *io = axo__io_of(axo__core_sched(worker->local.core));
    uint64_t cookie = io_payload_of(message)->cookie;
    axo__io_record *record = io_at(io, (uint32_t)cookie);
    uint64_t word = axo__a64_load_acquire(&record->word); /* [I1] */
    uint64_t next;
    if (!io_is_of(word, cookie))
        return false;
    uint64_t rest = record->given & word >> IO_WANTED_SHIFT;
    uint64_t ready = record->given & ~rest;
    record->given = 0;
    if (rest != 0 && (word & IO_LOST) == 0)
        ready |= axo__os_poll_look(record->fd, (uint32_t)rest) & rest;
    do {
        next = word | ready;
        if (io_due(next) == 0)
            next &= ~IO_QUEUED;
    } while (!axo__a64_cas_acq_rel(&record->word, &word, next)); /* [I1] */
    if ((next & IO_QUEUED) == 0)
        return false;
    if (keep) { /* failing takes no memory (D10): the next look sends it */
        io_starve(worker, io, record, cookie);
        return false;
    }
    io_payload_of(message)->ready = (axo_io_ready){.events = 0};
    axo__sched_accept(worker, cell, message);
    return true;
}

/* ---- watch, unwatch ---- */

static void io_link(axo__extra *extra, axo__io_record *record)
{
    record->before = NULL;
    record->next = extra->io;
    if (record->next != NULL)
        record->next->before = record;
    extra->io = record;
}

static void io_unlink(axo__extra *extra, axo__io_record *record)
{
    if (record->next != NULL)
        record->next->before = record->before;
    if (record->before != NULL)
        record->before->next = record->next;
    else
        extra->io = record->next;
}

/* Under the mutex: the watch ends. From the exchange on no message of it is seen (I3). */
static void io_end_word(axo__io *io, axo__io_record *record)
{
    uint64_t word = axo__a64_load_relaxed(&record->word);
    uint64_t ended = (uint64_t)(io_generation(word) + 1) << 32;
    word = axo__a64_xchg_acq_rel(&record->word, ended); /* [I1] */
    if ((word & IO_STARVED) != 0)
        (void)axo__a32_add_seq_cst(&io->starved, UINT32_MAX); /* [I6] */
    axo__a64_store_relaxed(&record->owner, 0);
    record->given = 0;
    io_give_record(io, record);
}

/* The watch ends, and leaves the instance's list. *there: the descriptor is the one that was
 * watched, as far as the operating system knows. */
static void io_end(axo__io *io, axo__extra *extra, axo__io_record *record, bool *there)
{
    int fd = record->fd;
    io_unlink(extra, record);
    axo__os_mutex_lock(&io->mutex);
    *there = false;
    if (io->table[fd] == record->slot + 1) {
        *there = axo__os_poll_remove(&io->poll, fd);
        io->table[fd] = 0;
    }
    io_end_word(io, record);
    (void)axo__a32_add_seq_cst(&io->watched, UINT32_MAX); /* [I4] */
    axo__os_mutex_unlock(&io->mutex);
}

/* Under the mutex: the number has been closed without unwatch, and is another descriptor now. */
static void io_lose(axo__io_record *record)
{
    uint64_t word = axo__a64_load_relaxed(&record->word);
    bool done = false;
    while (!done)
        done = axo__a64_cas_acq_rel(&record->word, &word, word | IO_LOST); /* [I1] */
}

static axo_status io_status(axo__os_poll_answer answer)
{
    static const axo_status statuses[] = {
        [AXO__POLL_OK] = AXO_OK,           [AXO__POLL_CLOSED] = AXO_EDESCRIPTOR,
        [AXO__POLL_REFUSED] = AXO_ENOPOLL, [AXO__POLL_TWICE] = AXO_EBUSY,
        [AXO__POLL_FULL] = AXO_EFULL,      [AXO__POLL_NO_MEMORY] = AXO_ENOMEM,
        [AXO__POLL_INVALID] = AXO_EINVAL,
    };
    return statuses[answer];
}

/* Under the mutex. The word begins before the descriptor is in the set, since it may be found at
 * once; what has been sent until a failure is stale. A descriptor is known to be open only when it
 * is in the set, so the table grows last. */
static axo_status io_begin(axo__io *io, axo__cell *cell, axo__io_record *record, uint32_t events)
{
    int fd = record->fd;
    uint32_t generation = io_generation(axo__a64_load_relaxed(&record->word)) + 1;
    AXO_DEBUG_ASSERT(generation % 2 == 1);
    axo__a64_store_relaxed(&record->owner, axo__cell_ref(cell).bits);
    uint64_t word = (uint64_t)generation << 32 | (uint64_t)events << IO_WANTED_SHIFT;
    axo__a64_store_release(&record->word, word); /* [I1] */
    axo__os_poll_answer answer =
        axo__os_poll_add(&io->poll, fd, io_cookie(record, word), (events & AXO__POLL_OUT) != 0);
    if (answer != AXO__POLL_OK) {
        axo__io_record *there = answer == AXO__POLL_TWICE ? io_of_fd(io, fd) : NULL;
        bool own = there != NULL && io_is_owner(there, cell);
        return own ? AXO_EEXIST : io_status(answer);
    }
    if (!io_take_place(io, (uint32_t)fd)) {
        (void)axo__os_poll_remove(&io->poll, fd);
        return AXO_ENOMEM;
    }
    axo__io_record *older = io_of_fd(io, fd);
    if (older != NULL)
        io_lose(older);
    io->table[fd] = record->slot + 1;
    return AXO_OK;
}

axo_status axo__io_watch(axo__worker *worker, axo__cell *cell, int fd, uint32_t events,
                         uint32_t flags)
{
    axo_status status;
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, cell));
    axo__io *io = axo__io_take(worker->local.core, &status);
    if (io == NULL)
        return status;
    axo__extra *extra = axo__extra_take(&worker->local, cell);
    if (extra == NULL)
        return AXO_ENOMEM;
    axo__os_mutex_lock(&io->mutex);
    axo__io_record *record = io_take_record(io);
    status = AXO_ENOMEM;
    if (record != NULL) {
        record->fd = fd;
        record->flags = flags;
        record->out = (events & AXO__POLL_OUT) != 0;
        record->given = 0;
        status = io_begin(io, cell, record, events);
        if (status != AXO_OK)
            io_end_word(io, record);
    }
    axo__os_mutex_unlock(&io->mutex);
    if (status != AXO_OK)
        return status;
    io_link(extra, record);
    if (axo__a32_add_seq_cst(&io->watched, 1) == 0) /* [I4] */
        axo__poller_tell(worker);                   /* from the second on somebody polls or looks */
    return AXO_OK;
}

/* The instance's watch of a descriptor; NULL: there is none. In the handler of its own readiness it
 * is known without the mutex. */
static axo__io_record *io_find(axo__worker *worker, axo__cell *cell, int fd)
{
    axo__io *io = axo__io_of(axo__core_sched(worker->local.core));
    const axo__extra *extra = axo__cell_extra(cell);
    if (io == NULL || extra == NULL || extra->io == NULL)
        return NULL;
    axo__message *message = worker->message;
    if (message != NULL && message->pub.tag == AXO_IO_READY &&
        (message->flags & AXO__MESSAGE_SIGNAL) != 0 && worker->current == cell) {
        uint64_t cookie = io_payload_of(message)->cookie;
        axo__io_record *record = io_at(io, (uint32_t)cookie);
        uint64_t word = axo__a64_load_relaxed(&record->word);
        if (io_is_of(word, cookie) && (word & IO_LOST) == 0 && record->fd == fd)
            return record;
    }
    axo__os_mutex_lock(&io->mutex);
    axo__io_record *record = io_of_fd(io, fd);
    if (record != NULL && !io_is_owner(record, cell))
        record = NULL;
    axo__os_mutex_unlock(&io->mutex);
    return record;
}

axo_status axo__io_unwatch(axo__worker *worker, axo__cell *cell, int fd)
{
    bool there;
    axo__io_record *record = io_find(worker, cell, fd);
    if (record == NULL)
        return AXO_ENOENT;
    io_end(axo__io_of(axo__core_sched(worker->local.core)), axo__cell_extra(cell), record, &there);
    return AXO_OK;
}

/* The first time that room to write is wanted: after io_change, so what is found has the mask. */
static void io_add_out(axo__io *io, axo__io_record *record, uint64_t cookie)
{
    record->out = true;
    axo__os_mutex_lock(&io->mutex);
    if (io->table[record->fd] == record->slot + 1)
        axo__os_poll_add_out(&io->poll, record->fd, cookie);
    axo__os_mutex_unlock(&io->mutex);
}

axo_status axo__io_want(axo__worker *worker, axo__cell *cell, int fd, uint32_t events)
{
    axo__io *io = axo__io_of(axo__core_sched(worker->local.core));
    axo__io_record *record = io_find(worker, cell, fd);
    if (record == NULL)
        return AXO_ENOENT;
    uint64_t cookie = io_cookie(record, axo__a64_load_relaxed(&record->word));
    io_change(worker, io, cookie, 0, events);
    if ((events & AXO_IO_OUT) != 0 && !record->out)
        io_add_out(io, record, cookie);
    return AXO_OK;
}

axo_status axo__io_blocked(axo__worker *worker, axo__cell *cell, int fd, uint32_t events)
{
    axo__io_record *record = io_find(worker, cell, fd);
    if (record == NULL)
        return AXO_ENOENT;
    record->given &= ~events;
    return AXO_OK;
}

/* At once, not in portions: the next instance may open again what this one has held, such as a
 * port. */
void axo__io_end_all(axo__worker *worker, axo__cell *cell)
{
    axo__extra *extra = axo__cell_extra(cell);
    while (extra->io != NULL) {
        axo__io_record *record = extra->io;
        int fd = record->fd;
        bool owned = (record->flags & AXO_IO_OWN) != 0;
        bool there;
        io_end(axo__io_of(axo__core_sched(worker->local.core)), extra, record, &there);
        if (owned && there)
            axo__os_close(fd);
    }
}
