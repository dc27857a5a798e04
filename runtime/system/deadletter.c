/* deadletter.c - the book of dead letters: the last ones for inspection, and their log lines.
 *
 * The mutex covers the ring and the throttles and nothing else: log lines are formatted and given
 * to the program's logger after the unlock, so a logger may send, and so make the next dead
 * letter. */
#include "system/deadletter.h"

#include <string.h>

#include "cell/log.h"

axo_status axo__book_init(axo__book *book, axo__heap *heap, const axo_options *options)
{
    memset(book, 0, sizeof *book);
    book->logging = options->no_dead_letter_log == 0;
    book->at_stop = options->dead_letter_log_at_stop != 0;
    /* Each reason has a window of its own: a flood of one reason does not hide another. */
    for (uint32_t i = 0; i < AXO__DEAD_REASONS; i++) {
        book->throttles[i].max = options->dead_letter_log;
        book->throttles[i].window_ns = options->dead_letter_window_ns;
    }
    if (!axo__os_mutex_init(&book->mutex))
        return AXO_ETHREAD;
    if (options->no_dead_letters_kept != 0)
        return AXO_OK;
    book->kept = options->dead_letters_kept;
    book->ring = axo__heap_alloc(heap, book->kept * sizeof(axo_dead_record), AXO__CACHE_LINE,
                                 AXO__SITE_STREAM);
    if (book->ring != NULL)
        return AXO_OK;
    axo__os_mutex_fini(&book->mutex);
    return AXO_ENOMEM;
}

void axo__book_fini(axo__book *book, axo__heap *heap)
{
    axo__heap_free(heap, book->ring, book->kept * sizeof(axo_dead_record), AXO__CACHE_LINE,
                   AXO__SITE_STREAM);
    axo__os_mutex_fini(&book->mutex);
}

static const char *book_reason(uint32_t reason)
{
    static const char *const texts[] = {"?", "no living actor has this reference",
                                        "it waited in the mailbox when the actor terminated",
                                        "the mailbox was full", "it was dropped",
                                        "instances failed under it, one after the other"};
    return reason < sizeof texts / sizeof texts[0] ? texts[reason] : "?";
}

/* Writes the log line of one dead letter; `last`: no more for a while. axo_drop gives a text of its
 * own, which goes before the reason's. */
static void book_say(axo__local *local, const axo_dead_record *record, bool last)
{
    const char *text = record->text[0] != 0 ? record->text : book_reason(record->reason);
    axo_log_record line = {.level = AXO_LOG_INFO,
                           .event = AXO_LOG_DEAD_LETTER,
                           .actor = record->recipient,
                           .path = record->path,
                           .has_tag = 1,
                           .tag = record->tag,
                           .sender = record->sender,
                           .text = text,
                           .bytes = record->size,
                           .last = last};
    axo__log(local, &line);
}

/* Letters of one reason have texts of many sorts: the line of their count has the reason's. */
static void book_say_count(axo__local *local, uint32_t reason, uint64_t skipped)
{
    if (skipped == 0)
        return;
    axo_log_record line = {.level = AXO_LOG_INFO, .event = AXO_LOG_DEAD_LETTERS,
                           .text = book_reason(reason), .count = skipped};
    axo__log(local, &line);
}

void axo__book_record(axo__book *book, axo__local *local, const axo_dead_record *record)
{
    axo__core *core = local->core;
    axo__throttle_answer answer = AXO__THROTTLE_CLOSED;
    uint64_t skipped = 0;
    /* All that decides whether to log is read before the mutex is taken; only the throttle needs
     * it. A `closing` that is raised meanwhile lets one late line through, which DL-12 allows. */
    bool logging = book->logging && record->suppressed == 0 && /* DL-03 */
                   axo__log_is_read(core, AXO_LOG_INFO) &&
                   (book->at_stop || axo__a32_load_relaxed(&core->closing) == 0); /* DL-12 */
    uint32_t reason = record->reason < AXO__DEAD_REASONS ? record->reason : AXO__DEAD_REASONS - 1;
    axo__os_mutex_lock(&book->mutex);
    /* The oldest record makes room; `total` never goes back, so it numbers the records. */
    if (book->ring != NULL)
        book->ring[book->total % book->kept] = *record;
    book->total++;
    book->reasons[reason]++;
    if (logging)
        answer = axo__throttle_take(&book->throttles[reason], record->time_ns, &skipped);
    axo__os_mutex_unlock(&book->mutex);
    book_say_count(local, reason, skipped);
    if (answer != AXO__THROTTLE_CLOSED)
        book_say(local, record, answer == AXO__THROTTLE_CLOSING);
}

void axo__book_say_left(axo__book *book, axo__local *local)
{
    for (uint32_t reason = 0; reason < AXO__DEAD_REASONS; reason++) {
        axo__os_mutex_lock(&book->mutex);
        uint64_t skipped = book->throttles[reason].skipped;
        book->throttles[reason].skipped = 0;
        axo__os_mutex_unlock(&book->mutex);
        book_say_count(local, reason, skipped);
    }
}

uint64_t axo__book_count(axo__book *book, uint32_t reason)
{
    AXO_DEBUG_ASSERT(reason < AXO__DEAD_REASONS);
    axo__os_mutex_lock(&book->mutex);
    uint64_t count = book->reasons[reason];
    axo__os_mutex_unlock(&book->mutex);
    return count;
}

uint32_t axo__book_read(axo__book *book, axo_dead_record *out, uint32_t max, uint64_t *total)
{
    uint32_t count = 0;
    axo__os_mutex_lock(&book->mutex);
    AXO_DEBUG_ASSERT(book->kept == 0 || book->ring != NULL);
    /* A book without a ring has kept == 0, so the loop below copies nothing. */
    uint64_t there = book->total < book->kept ? book->total : book->kept;
    while (count < max && count < there) {
        out[count] = book->ring[(book->total - 1 - count) % book->kept];
        count++;
    }
    *total = book->total;
    axo__os_mutex_unlock(&book->mutex);
    return count;
}
