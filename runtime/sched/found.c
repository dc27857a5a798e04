/* found.c - what walls and an instance's heap have found. */
#include "sched/found.h"

#include <inttypes.h>

#include "base/record.h"
#include "cell/log.h"

static const char *found_flaw(axo__flaw flaw)
{
    static const char *const texts[] = {
        [AXO__FLAW_NONE] = "?",
        [AXO__FLAW_STRANGE] = "no living block of the instance",
        [AXO__FLAW_FREED] = "freed before",
        [AXO__FLAW_PAST] = "written past its end",
        [AXO__FLAW_AFTER] = "written after it was freed",
        [AXO__FLAW_BEFORE] = "written before its begin, past another's end",
    };
    return texts[flaw];
}

/* The flaw, the block, the class and the end of the path, as far as there is room. */
static void found_text(char *out, axo__core *core, const axo__cell *cell,
                       const axo__finding *finding, const char *what)
{
    char path[64];
    axo__text_out text = axo__text_begin(out, AXO_FAILURE_TEXT_MAX);
    (void)axo__core_path(core, cell, path, sizeof path);
    axo__text_add(&text, "%s: %s %#" PRIxPTR, found_flaw(finding->flaw), what,
                  (uintptr_t)finding->block);
    if (finding->size > 0)
        axo__text_add(&text, " of %zu bytes", finding->size);
    axo__text_add(&text, ", class %.24s, %s", axo__log_class_name(axo__cell_class(cell)), path);
    (void)axo__text_end(&text);
}

/* Nothing can fail any more. The line says where the actor has failed, or in which step of its end
 * it is. */
void axo__found_line(axo__worker *worker, const axo__cell *cell, const axo__finding *finding,
                     const char *what)
{
    axo__texts *texts = &worker->local.core->texts;
    axo__cause cause = {.code = AXO_EINVAL,
                        .kind = AXO_FAILURE_MEMORY,
                        .root_kind = AXO_FAILURE_MEMORY,
                        .status = 1,
                        .actor = axo__cell_ref(cell)};
    if (cell->reported) {
        axo__cause failure = axo__cell_failure(cell);
        cause.site = failure.site;
        cause.tag = failure.tag;
    } else if (worker->site == AXO_SITE_NONE) {
        bool ends = cell->phase >= AXO__PHASE_TERMINATING;
        cause.site = ends ? AXO__SITE_POST_STOP : AXO__SITE_PRE_RESTART;
    }
    cause.text = axo__texts_take(texts) & AXO__TEXT_MASK;
    if (cause.text != 0)
        found_text(axo__texts_at(texts, cause.text), worker->local.core, cell, finding, what);
    axo__log_pending(&worker->local, AXO_LOG_ERROR, AXO_LOG_FAILURE_AGAIN, cell, &cause);
    axo__cause_drop(texts, &cause);
}

void axo__found(axo__worker *worker, axo__cell *cell, const axo__finding *finding, const char *what)
{
    char text[AXO_FAILURE_TEXT_MAX];
    bool crashed = axo__kind_breaks(worker->pending.kind); /* that says more */
    if (crashed || !axo__blame_is_open(worker) || worker->current != cell) {
        axo__found_line(worker, cell, finding, what);
        return;
    }
    found_text(text, worker->local.core, cell, finding, what);
    axo__blame_memory(worker, AXO_EINVAL, "%s", text);
}

void axo__found_payload(axo__worker *worker, axo__cell *cell, const axo__message *message)
{
    const axo__finding finding = {
        .flaw = AXO__FLAW_PAST, .block = message->pub.payload, .size = message->pub.size};
    axo__found(worker, cell, &finding, "payload");
}

axo_status axo__found_look(axo__worker *worker, axo__cell *cell, axo__message *message,
                           axo_status status)
{
    if (axo__message_is_walled(message) && !axo__walled_mend(message))
        axo__found_payload(worker, cell, message);
    return axo__blame_status(worker, status);
}
