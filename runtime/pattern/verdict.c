/* verdict.c - how a wait for another actor ended, as a line of text.
 *
 * The line is built piece by piece and never longer than the caller's room; its whole length is
 * counted, so a caller may ask for it first, as with snprintf. */
#include <axo/verdict.h>

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

/* A text that is cut where the room ends, and that counts its whole length. */
typedef struct verdict_line {
    char *out;
    size_t size;
    size_t length;
} verdict_line;

/* Appends to the line. Once the room is full, pieces only add to the length. */
static void verdict_add(verdict_line *line, const char *format, ...) AXO_PRINTF(2, 3);

static void verdict_add(verdict_line *line, const char *format, ...)
{
    size_t used = line->length < line->size ? line->length : line->size;
    va_list list;
    va_start(list, format);
    int added = vsnprintf(line->size > used ? line->out + used : NULL, line->size - used, format,
                          list);
    va_end(list);
    line->length += added > 0 ? (size_t)added : 0;
}

/* A time in the largest unit that keeps at least two digits. */
static void verdict_time(verdict_line *line, int64_t ns)
{
    if (ns < 10000)
        verdict_add(line, "%" PRId64 " ns", ns);
    else if (ns < INT64_C(10000000))
        verdict_add(line, "%" PRId64 " us", ns / 1000);
    else if (ns < INT64_C(10000000000))
        verdict_add(line, "%" PRId64 " ms", ns / 1000000);
    else
        verdict_add(line, "%" PRId64 " s", ns / 1000000000);
}

static void verdict_tag(verdict_line *line, uint32_t tag, const char *name)
{
    if (name[0] != 0)
        verdict_add(line, "%s (tag %" PRIu32 ")", name, tag);
    else
        verdict_add(line, "tag %" PRIu32, tag);
}

/* Which actor was asked, and with what; a promise has no actor, only a number. */
static void verdict_subject(verdict_line *line, const axo_verdict *verdict)
{
    if (axo_ref_is_none(verdict->target))
        verdict_add(line, "promise %" PRIu64, verdict->id);
    else
        verdict_add(line, "%s (%#" PRIx64 ")", verdict->path[0] != 0 ? verdict->path : "an actor",
                    verdict->target.bits);
    if (verdict->tag != 0) {
        verdict_add(line, ", asked with ");
        verdict_tag(line, verdict->tag, verdict->tag_name);
    }
    verdict_add(line, ": ");
}

/* The target's doing when the wait ended, as axo_inspect reported it. */
static void verdict_doing(verdict_line *line, const axo_verdict *verdict)
{
    verdict_add(line, "; it is %s", axo_doing_name(verdict->doing));
    if (verdict->doing == AXO_DOING_RUNNING) {
        if (verdict->running_has_tag != 0) {
            verdict_add(line, " ");
            verdict_tag(line, verdict->running_tag, verdict->running_name);
        }
        verdict_add(line, " since ");
        verdict_time(line, verdict->running_ns);
    }
    if (verdict->place > 0)
        verdict_add(line, ", the request is at place %" PRIu32 " of %" PRIu32, verdict->place,
                    verdict->queued);
    else if (verdict->queued > 0)
        verdict_add(line, ", %" PRIu32 " messages wait", verdict->queued);
}

/* The status; of a target that has failed, with what. */
static void verdict_why(verdict_line *line, const axo_verdict *verdict)
{
    if (verdict->status != AXO_EFAILED) {
        verdict_add(line, "%s", axo_status_text(verdict->status));
        return;
    }
    verdict_add(line, "it has failed under the request: ");
    if (verdict->has_status != 0)
        verdict_add(line, "%s", axo_status_text((axo_status)verdict->code));
    else
        verdict_add(line, "code %" PRId32, verdict->code);
    if (verdict->text[0] != 0)
        verdict_add(line, " \"%s\"", verdict->text);
}

size_t axo_verdict_text(const axo_verdict *verdict, char *out, size_t size)
{
    verdict_line line = {.out = out, .size = out != NULL ? size : 0};
    /* The text ends in a zero whatever happens below. */
    if (line.size > 0)
        out[0] = 0;
    if (verdict == NULL)
        return 0;
    verdict_subject(&line, verdict);
    verdict_why(&line, verdict);
    verdict_add(&line, " after ");
    verdict_time(&line, verdict->waited_ns);
    if (verdict->timeout_ns > 0) {
        verdict_add(&line, " of ");
        verdict_time(&line, verdict->timeout_ns);
    }
    /* A wait that ended well needs no look at its target. */
    if (!axo_ref_is_none(verdict->target) && verdict->status != AXO_OK)
        verdict_doing(&line, verdict);
    return line.length;
}
