/* cause.c - a failure by value; the reserve of texts.
 *
 * The reserve's free texts are a stack of indices. The upper half of `free` is a number that every
 * change increases: a thread whose compare-and-swap finds the old top again, after others have
 * popped and pushed it, finds another number and repeats.
 *
 * Orders
 *   [X1] add acq_rel, load acquire, users   the reads of all other users happen before the last
 *                                           user gives the text back. A user that reads 1 is
 *                                           the only one, and stays so
 *   [X2] cas acq_rel, free                  axo__texts_take's cas or load acquires the cas of
 *                                           cause_release that gave the text back: the new user
 *                                           writes after the last user's reads
 */
#include "cell/cause.h"

#include <stddef.h>

#include <axo/message.h>

#include "base/assert.h"
#include "base/config.h"

AXO_STATIC_ASSERT(sizeof(axo__cause_short) == offsetof(axo__cause, actor), "it begins a cause");
AXO_STATIC_ASSERT(AXO_FAILURE_MEMORY < 1 << 5, "a cause's `kind`");
AXO_STATIC_ASSERT(AXO__SITE_CLEANUP < 1 << 5, "a cause's `site`");

/* Index 0 means "no text", so one more text than asked for is made and all[0] is not used. */
bool axo__texts_init(axo__texts *texts, axo__heap *heap, uint32_t count)
{
    AXO_ASSERT(count < AXO__TEXT_MASK); /* an index fits a cause */
    memset(texts, 0, sizeof *texts);
    texts->heap = heap;
    texts->count = count + 1;
    texts->all = axo__heap_alloc(heap, sizeof(axo__text) * texts->count, AXO__CACHE_LINE,
                                 AXO__SITE_TEXTS);
    if (texts->all == NULL)
        return false;
    memset(texts->all, 0, sizeof(axo__text) * texts->count);
    for (uint32_t i = 1; i < count; i++)
        axo__a32_store_relaxed(&texts->all[i].next, i + 1);
    axo__a64_store_relaxed(&texts->free, count > 0 ? 1 : 0);
    return true;
}

bool axo__texts_keep_crashes(axo__texts *texts)
{
    texts->crashes = axo__heap_alloc(texts->heap, sizeof(axo_crash) * texts->count,
                                     AXO__CACHE_LINE, AXO__SITE_TEXTS);
    if (texts->crashes == NULL)
        return false;
    memset(texts->crashes, 0, sizeof(axo_crash) * texts->count);
    return true;
}

void axo__texts_fini(axo__texts *texts)
{
    axo__heap_free(texts->heap, texts->crashes, sizeof(axo_crash) * texts->count, AXO__CACHE_LINE,
                   AXO__SITE_TEXTS);
    axo__heap_free(texts->heap, texts->all, sizeof(axo__text) * texts->count, AXO__CACHE_LINE,
                   AXO__SITE_TEXTS);
}

/* The index of the first free text, from the lower half. */
static inline uint32_t cause_top(uint64_t word)
{
    return (uint32_t)word;
}

/* A new top with the next number. */
static inline uint64_t cause_word(uint64_t old, uint32_t top)
{
    return ((old >> 32) + 1) << 32 | top;
}

/* Pops a free text. `next` may be read from a text that another thread has popped meanwhile; the
 * cas [X2] then fails by the number, and the value is not used. A spent reserve is counted and is
 * no failure (D10). */
uint32_t axo__texts_take(axo__texts *texts)
{
    uint64_t old = axo__a64_load_acquire(&texts->free); /* [X2] */
    uint32_t index;
    uint32_t next;
    do {
        index = cause_top(old);
        if (index == 0) {
            (void)axo__a64_add_relaxed(&texts->lost, 1);
            return 0;
        }
        AXO_DEBUG_ASSERT(index < texts->count);
        next = axo__a32_load_relaxed(&texts->all[index].next); /* valid if the cas succeeds */
    } while (!axo__a64_cas_acq_rel(&texts->free, &old, cause_word(old, next))); /* [X2] */
    axo__a32_store_relaxed(&texts->all[index].users, 1);
    texts->all[index].failed.text[0] = 0;
    texts->all[index].sender = axo_ref_none();
    texts->all[index].traced = false;
    if (texts->crashes != NULL)
        texts->crashes[index].signal = 0;
    return index;
}

void axo__texts_set_crash(axo__texts *texts, uint32_t index, const axo_crash *crash)
{
    AXO_DEBUG_ASSERT(index < texts->count);
    if (index != 0 && texts->crashes != NULL)
        texts->crashes[index] = *crash;
}

/* A text that is none of the reserve's may be given: it is compared by address. */
const axo_crash *axo__texts_crash(const axo__texts *texts, const char *text)
{
    uintptr_t first = (uintptr_t)texts->all;
    uintptr_t index = ((uintptr_t)text - first) / sizeof(axo__text);
    if (texts->crashes == NULL || (uintptr_t)text < first || index >= texts->count ||
        text != texts->all[index].failed.text || texts->crashes[index].signal == 0)
        return NULL;
    return &texts->crashes[index];
}

char *axo__texts_at(axo__texts *texts, uint32_t index)
{
    AXO_DEBUG_ASSERT(index < texts->count);
    return texts->all[index].failed.text;
}

/* Ends one use. A user that reads 1 [X1] is alone, since only a user can add one, and saves the
 * locked decrement. The last user pushes the text with [X2], which releases its reads to the next
 * axo__texts_take. */
static void cause_release(axo__texts *texts, uint32_t index)
{
    if (index == 0)
        return;
    AXO_DEBUG_ASSERT(index < texts->count);
    axo__text *text = &texts->all[index];
    if (axo__a32_load_acquire(&text->users) != 1) { /* [X1] */
        uint32_t users = axo__a32_add_acq_rel(&text->users, UINT32_MAX); /* [X1] */
        AXO_ASSERT(users > 0);
        if (users > 1)
            return;
    }
    uint64_t old = axo__a64_load_acquire(&texts->free); /* [X2] */
    do {
        axo__a32_store_relaxed(&text->next, cause_top(old));
    } while (!axo__a64_cas_acq_rel(&texts->free, &old, cause_word(old, index))); /* [X2] */
}

/* The caller is a user before and after, so the count cannot reach 0 here and needs no order. */
static void cause_hold(axo__texts *texts, uint32_t index, uint32_t more)
{
    AXO_DEBUG_ASSERT(index < texts->count);
    uint32_t users = axo__a32_add_relaxed(&texts->all[index].users, more);
    AXO_DEBUG_ASSERT((int32_t)users > 0 && (int32_t)(users + more) > 0);
}

void axo__cause_hold_texts(axo__texts *texts, const axo__cause *cause, uint32_t more)
{
    if (cause->text != 0)
        cause_hold(texts, cause->text, more);
    if (cause->original_text != 0)
        cause_hold(texts, cause->original_text, more);
}

void axo__cause_unhold_texts(axo__texts *texts, const axo__cause *cause, uint32_t fewer)
{
    AXO_DEBUG_ASSERT(fewer > 0);
    axo__cause_hold_texts(texts, cause, UINT32_C(0) - fewer);
}

void axo__cause_drop_texts(axo__texts *texts, const axo__cause *cause)
{
    cause_release(texts, cause->text);
    cause_release(texts, cause->original_text);
}

axo__text *axo__cause_tell(axo__texts *texts, const axo__cause *cause)
{
    AXO_DEBUG_ASSERT(axo__site_has_message(cause->site) && cause->original_text == 0);
    if (cause->text == 0)
        return NULL;
    axo__text *text = &texts->all[cause->text];
    text->failed.tag = cause->tag;
    text->failed.code = cause->code;
    text->failed.kind = cause->kind;
    text->failed.has_status = cause->status;
    text->failed.actor = cause->actor;
    cause_hold(texts, cause->text, 1);
    return text;
}

void axo__texts_free(void *payload, void *user)
{
    axo__texts *texts = user;
    const axo__text *text =
        (const axo__text *)(const void *)((const char *)payload - offsetof(axo__text, failed));
    cause_release(texts, (uint32_t)(text - texts->all));
}

axo_failure axo__cause_show(axo__texts *texts, const axo__cause *cause)
{
    AXO_DEBUG_ASSERT(cause->text < texts->count && cause->original_text < texts->count);
    bool message = axo__site_has_message(cause->site);
    axo_failure failure = {
        .kind = cause->kind,
        .site = cause->site,
        .code = cause->code,
        .root_kind = cause->root_kind,
        .root_code = cause->code,
        .has_message = message,
        .actor = cause->actor,
        .about = cause->about,
        .text = cause->text != 0 ? texts->all[cause->text].failed.text : "",
        .original_text = cause->original_text != 0 ? texts->all[cause->original_text].failed.text
                                                   : "",
        .original_code = message ? 0 : cause->original_code,
        .original_kind = cause->original_kind,
        .sender = message && cause->text != 0 ? texts->all[cause->text].sender : axo_ref_none(),
        .tag = message ? cause->tag : 0,
        .has_status = cause->status,
    };
    return failure;
}
