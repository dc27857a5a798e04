/* pass.c - one turn of the writer: all that has come since the last one is written by one
 * transaction. When that fails each life has one of its own, with the reserve of the map, and is
 * tried again later; each request one without, and is refused. */
#include <errno.h>
#include <string.h>

#include "store.h"

/* So many refusals in a row, and the rest of a pass is refused without being tried. */
enum { PASS_REFUSALS = 16 };

/* ---- take ---- */

void durable_pass_join(durable_pass *pass, durable_life *life)
{
    if (life->passing)
        return;
    life->passing = true;
    life->next_pass = pass->lives;
    pass->lives = life;
}

/* I3: all of a handler's at once. A generation of events that nobody waits for is written, too. */
static void pass_take_life(durable_life *life)
{
    (void)pthread_mutex_lock(&life->mutex);
    durable_list_append(&life->taken_done, &life->done);
    durable_list_append(&life->taken_dead, &life->dead);
    durable_list_append(&life->taken_events, &life->events);
    life->taken_generation = life->generation;
    if (life->snapshot != NULL) {
        durable_block_drop(life->taken_snapshot);
        life->taken_snapshot = life->snapshot;
        life->snapshot = NULL;
    }
    if (life->noted != 0) {
        life->taken_note = life->noted;
        life->taken_fails = life->noted_fails;
        life->noted = 0;
    }
    if (life->recover) {
        life->recover = false;
        life->reading = true;
        life->read_to = 0;
        life->read_generation = life->generation;
    }
    (void)pthread_mutex_unlock(&life->mutex);
}

void durable_pass_take(durable_pass *pass, axo_store *store)
{
    *pass = (durable_pass){.store = store};
    (void)pthread_mutex_lock(&store->mutex);
    store->woken = false;
    pass->requests = store->requests;
    store->requests = NULL;
    store->requests_end = &store->requests;
    durable_life *work = store->work;
    store->work = NULL;
    store->work_end = &store->work;
    for (durable_life *it = work; it != NULL; it = it->next_work)
        it->working = false;
    for (durable_life *it = work; it != NULL;) {
        durable_life *next = it->next_work;
        durable_pass_join(pass, it);
        it = next;
    }
    (void)pthread_mutex_unlock(&store->mutex);
    for (durable_life *it = pass->lives; it != NULL; it = it->next_pass)
        pass_take_life(it);
}

/* ---- write ---- */

static bool pass_has(const durable_life *life)
{
    return life->taken_done.first != NULL || life->taken_dead.first != NULL ||
           life->taken_events.first != NULL || life->taken_snapshot != NULL ||
           life->taken_note != 0;
}

static int pass_write_life(axo_store *store, durable_txn *txn, durable_life *life)
{
    durable_queue *queue = life->queue;
    int error = durable_disk_know(store, txn, queue);
    for (durable_block *it = life->taken_done.first; it != NULL && error == 0; it = it->next)
        error = durable_disk_acknowledge(store, txn, queue, it->number);
    for (durable_block *it = life->taken_dead.first; it != NULL && error == 0; it = it->next)
        error = durable_disk_bury(store, txn, queue, it);
    for (durable_block *it = life->taken_events.first; it != NULL && error == 0; it = it->next)
        error = durable_disk_event(store, txn, queue, it);
    if (error == 0 && life->taken_snapshot != NULL)
        error = durable_disk_snapshot(store, txn, queue, life->taken_snapshot);
    if (error == 0 && life->taken_note != 0)
        error = durable_disk_note(store, txn, queue, life->taken_note, life->taken_fails);
    return error;
}

/* I4: it is on disk. */
static void pass_wrote_life(durable_life *life)
{
    axo_store *store = life->store;
    (void)atomic_fetch_add(&store->acknowledged, life->taken_done.count);
    (void)atomic_fetch_add(&store->died, life->taken_dead.count);
    (void)atomic_fetch_add(&store->persisted, life->taken_events.count);
    durable_list_clear(&life->taken_done);
    durable_list_clear(&life->taken_dead);
    durable_block_drop(life->taken_snapshot);
    life->taken_snapshot = NULL;
    life->taken_note = 0;
    (void)pthread_mutex_lock(&life->mutex);
    if (life->taken_generation == life->generation)
        durable_list_append(&life->back, &life->taken_events);
    (void)pthread_mutex_unlock(&life->mutex);
    durable_list_clear(
        &life->taken_events); /* of an instance that has ended: the next reads them */
}

static int pass_write_request(axo_store *store, durable_txn *txn, durable_request *request)
{
    if (request->block != NULL)
        return durable_disk_accept(store, txn, request->queue, request->block);
    int error = durable_disk_know(store, txn, request->queue);
    if (error == 0)
        error = durable_disk_letter(store, txn, request->queue, request, &request->block);
    return error;
}

/* Undoes what a transaction that is not committed has done to a request. */
static void pass_unwrite_request(durable_request *request)
{
    if (request->letter == 0)
        return;
    durable_block_drop(request->block);
    request->block = NULL;
}

bool durable_pass_is_away(int error)
{
    return error == ENOTCONN || error == ETIMEDOUT || error == EBUSY || error == ESTALE;
}

static void pass_answer(axo_store *store, durable_request *request, axo_status status, int error)
{
    request->answer.status = error == ETIMEDOUT ? AXO_ETIMEDOUT
                             : error == ENOMEM  ? AXO_ENOMEM
                                                : status;
    request->answer.error = error;
    request->answer.number = status == AXO_OK && request->block ? request->block->number : 0;
    if (request->letter == 0)
        (void)atomic_fetch_add(status == AXO_OK ? &store->accepted : &store->refused, 1);
}

/* Gives an accepted message to who handles it, if it is the next one that he has not in memory. */
static void pass_hand_on(durable_pass *pass, durable_request *request)
{
    axo_store *store = pass->store;
    durable_block *block = request->block;
    request->block = NULL;
    if (block == NULL)
        return;
    (void)pthread_mutex_lock(&store->mutex);
    durable_life *life = request->queue->lives;
    (void)pthread_mutex_unlock(&store->mutex);
    bool taken = false;
    if (life != NULL && life->active) {
        (void)pthread_mutex_lock(&life->mutex);
        taken = !life->more && life->pending.count < store->loaded_max;
        life->more = !taken;
        if (taken)
            durable_list_push(&life->pending, block);
        life->id = request->queue->id;
        (void)pthread_mutex_unlock(&life->mutex);
        if (taken)
            life->loaded_to = block->number;
        durable_pass_join(pass, life);
    }
    if (!taken)
        durable_block_drop(block);
}

/* All at once. */
static int pass_write_all(durable_pass *pass)
{
    axo_store *store = pass->store;
    durable_txn *txn;
    bool any = pass->requests != NULL;
    for (durable_life *it = pass->lives; it != NULL; it = it->next_pass)
        any = any || pass_has(it);
    if (!any)
        return 0;
    int error = durable_disk_begin(store, &txn);
    if (error != 0)
        return error;
    for (durable_life *it = pass->lives; it != NULL && error == 0; it = it->next_pass)
        error = pass_has(it) ? pass_write_life(store, txn, it) : 0;
    for (durable_request *it = pass->requests; it != NULL && error == 0; it = it->next)
        error = pass_write_request(store, txn, it);
    if (error == 0)
        error = durable_disk_commit(store, txn);
    else
        durable_disk_abort(store, txn);
    if (error != 0) {
        for (durable_request *it = pass->requests; it != NULL; it = it->next)
            pass_unwrite_request(it);
        return error;
    }
    for (durable_life *it = pass->lives; it != NULL; it = it->next_pass) {
        if (pass_has(it))
            pass_wrote_life(it);
    }
    for (durable_request *it = pass->requests; it != NULL; it = it->next)
        pass_answer(store, it, AXO_OK, 0);
    return 0;
}

static int pass_write_one_life(axo_store *store, durable_life *life)
{
    durable_txn *txn;
    int error = durable_disk_begin(store, &txn);
    if (error != 0)
        return error;
    error = pass_write_life(store, txn, life);
    if (error == 0)
        error = durable_disk_commit(store, txn);
    else
        durable_disk_abort(store, txn);
    if (error == 0)
        pass_wrote_life(life);
    return error;
}

static int pass_write_one_request(axo_store *store, durable_request *request)
{
    durable_txn *txn;
    int error = durable_disk_begin(store, &txn);
    if (error != 0)
        return error;
    error = pass_write_request(store, txn, request);
    if (error == 0)
        error = durable_disk_commit(store, txn);
    else
        durable_disk_abort(store, txn);
    if (error != 0)
        pass_unwrite_request(request);
    return error;
}

/* Each life, until the base is away; 0, or that it is. */
static int pass_write_lives(durable_pass *pass)
{
    axo_store *store = pass->store;
    int away = 0;
    durable_disk_reserve(store, true);
    for (durable_life *it = pass->lives; it != NULL && away == 0; it = it->next_pass) {
        int error = pass_has(it) ? pass_write_one_life(store, it) : 0;
        if (error != 0)
            pass->unfinished = error;
        away = durable_pass_is_away(error) ? ENOTCONN : 0;
    }
    durable_disk_reserve(store, false);
    return away;
}

/* All at once has failed with `error`. */
static void pass_write_each(durable_pass *pass, int error)
{
    axo_store *store = pass->store;
    bool tries = !durable_pass_is_away(error);
    uint32_t refused = 0;
    if (!tries)
        pass->unfinished = error;
    else if ((error = pass_write_lives(pass)) != 0)
        tries = false;
    for (durable_request *it = pass->requests; it != NULL; it = it->next) {
        if (tries)
            error = pass_write_one_request(store, it);
        refused = error == 0 ? 0 : refused + 1;
        pass_answer(store, it, error == 0 ? AXO_OK : AXO_ESYSTEM, error);
        if (tries && durable_pass_is_away(error))
            error = ENOTCONN; /* the others were not tried */
        tries = tries && refused < PASS_REFUSALS && !durable_pass_is_away(error);
    }
}

/* ---- read ---- */

/* A damaged message is buried by the next pass, and so is one under which the process has died, or
 * handlers have failed, too often. */
static void pass_sort(durable_life *life, durable_list *loaded)
{
    durable_block *block;
    while ((block = durable_list_pop(loaded)) != NULL) {
        life->loaded_to = block->number;
        if (block->damaged) {
            block->cause =
                (durable_cause){.reason = AXO_STORE_DAMAGED, .text = "the record is damaged"};
            durable_list_push(&life->dead, block);
        } else if (block->fails >= life->fails_max) {
            block->cause = (durable_cause){.reason = AXO_STORE_FAILED,
                                           .text = "the process has ended under it"};
            durable_list_push(&life->dead, block);
        } else {
            durable_list_push(&life->pending, block);
        }
    }
}

static int pass_load(durable_pass *pass, durable_life *life)
{
    axo_store *store = pass->store;
    durable_list loaded;
    bool more;
    (void)pthread_mutex_lock(&life->mutex);
    uint64_t has = life->pending.count;
    (void)pthread_mutex_unlock(&life->mutex);
    if (has > store->loaded_max / 2)
        return 0;
    int error = durable_disk_load(store, life->queue, life->loaded_to, store->loaded_max - has,
                                  &loaded, &more);
    if (error != 0) {
        durable_list_clear(&loaded);
        return error;
    }
    (void)pthread_mutex_lock(&life->mutex);
    pass_sort(life, &loaded);
    bool damaged = life->dead.first != NULL;
    life->more = more;
    life->id = life->queue->id;
    (void)pthread_mutex_unlock(&life->mutex);
    if (!more && life->queue->number > life->loaded_to)
        life->loaded_to = life->queue->number;
    if (damaged) {
        (void)pthread_mutex_lock(&store->mutex);
        durable_writer_enlist(store, life);
        (void)pthread_mutex_unlock(&store->mutex);
    }
    return 0;
}

static int pass_recover(durable_pass *pass, durable_life *life)
{
    axo_store *store = pass->store;
    durable_list events;
    bool more;
    bool harmed = false;
    (void)pthread_mutex_lock(&life->mutex);
    uint64_t has = life->back.count;
    bool stale = life->generation != life->read_generation;
    (void)pthread_mutex_unlock(&life->mutex);
    if (stale || has > store->loaded_max / 2)
        return 0;
    int error = durable_disk_recover(store, life->queue, life->read_to, store->loaded_max, &events,
                                     &more, &harmed);
    if (error != 0) {
        durable_list_clear(&events);
        return error;
    }
    if (events.last != NULL)
        life->read_to = events.last->number;
    (void)pthread_mutex_lock(&life->mutex);
    life->reading = more;
    if (life->generation == life->read_generation) {
        durable_list_append(&life->back, &events);
        life->read = !more;
        life->harmed = harmed;
    }
    (void)pthread_mutex_unlock(&life->mutex);
    durable_list_clear(&events);
    return 0;
}

/* The first life of a queue is served from its first pass on, until its actor ends. */
static int pass_begin(durable_pass *pass, durable_life *life, bool *serves)
{
    axo_store *store = pass->store;
    (void)pthread_mutex_lock(&store->mutex);
    *serves = life->queue->lives == life && !life->ended;
    (void)pthread_mutex_unlock(&store->mutex);
    if (life->active || !*serves)
        return 0;
    if (!life->queue->known) {
        int error = durable_disk_meet(store, life->queue);
        if (error != 0)
            return error;
    }
    (void)pthread_mutex_lock(&life->mutex);
    life->active = true;
    life->more = true;
    life->slot = durable_hands_take(store);
    (void)pthread_mutex_unlock(&life->mutex);
    return 0;
}

static void pass_read(durable_pass *pass, durable_life *life)
{
    bool serves;
    int error = pass_begin(pass, life, &serves);
    if (error == 0 && serves && life->more)
        error = pass_load(pass, life);
    if (error == 0 && serves && life->reading)
        error = pass_recover(pass, life);
    if (error != 0)
        pass->unfinished = error;
}

void durable_pass_run(durable_pass *pass)
{
    axo_store *store = pass->store;
    int error = pass_write_all(pass);
    if (error != 0)
        pass_write_each(pass, error);
    for (durable_request *it = pass->requests; it != NULL; it = it->next) {
        if (it->answer.status == AXO_OK)
            pass_hand_on(pass, it);
    }
    for (durable_life *it = pass->lives; it != NULL; it = it->next_pass)
        pass_read(pass, it);
    store->failing = pass->unfinished != 0 ? store->failing + 1 : 0;
}
