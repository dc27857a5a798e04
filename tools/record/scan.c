/* scan.c - a file is read through before anything of it is played. */
#include "scan.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool record_is_input(record_kind kind)
{
    return kind >= RECORD_BEGIN && kind <= RECORD_STEP;
}

static bool scan_send(record_get *get, record_input *out)
{
    out->to = record_get_ref(get);
    out->from = record_get_ref(get);
    out->number = record_get_u32(get);
    return record_get_names(get, &out->bytes) && out->bytes.size <= AXO_PAYLOAD_MAX;
}

static bool scan_act(record_get *get, record_input *out)
{
    out->number = record_get_u32(get);
    out->to = record_get_ref(get);
    return out->number >= RECORD_STOP && out->number <= RECORD_KILL && get->left == 0;
}

static bool scan_call(record_get *get, record_input *out)
{
    out->number = record_get_u32(get);
    return record_get_names(get, &out->bytes) && out->bytes.size <= AXO_PAYLOAD_MAX;
}

static bool scan_step(record_get *get, record_input *out)
{
    out->time = (int64_t)record_get_u64(get);
    out->turns_max = record_get_u64(get);
    const uint8_t slices = record_get_u8(get);
    out->slices = slices != 0;
    return slices <= 1 && get->left == 0;
}

bool record_get_input(const record *from, record_input *out)
{
    record_get get = from->body;
    bool good = false;
    memset(out, 0, sizeof *out);
    out->kind = from->kind;
    if (from->kind == RECORD_BEGIN) {
        out->bytes.size = get.left;
        out->bytes.bytes = record_get_bytes(&get, get.left);
        good = out->bytes.size <= AXO_PAYLOAD_MAX;
    } else if (from->kind == RECORD_SEND) {
        good = scan_send(&get, out);
    } else if (from->kind == RECORD_ACT) {
        good = scan_act(&get, out);
    } else if (from->kind == RECORD_CALL) {
        good = scan_call(&get, out);
    } else if (from->kind == RECORD_STEP) {
        good = scan_step(&get, out);
    }
    return good && !get.short_of;
}

/* ---- a file ---- */

typedef struct scan {
    record_in *in;
    record_head *head;
    axo_record_report *report;
    record_kind before; /* the kind of the last record; 0: there was none */
    bool any_version;
} scan;

static axo_status scan_says(const scan *it, axo_status status, const char *format, ...)
    AXO_PRINTF(3, 4);
static axo_status scan_says(const scan *it, axo_status status, const char *format, ...)
{
    va_list words;
    va_start(words, format);
    (void)vsnprintf(it->report->text, sizeof it->report->text, format, words);
    va_end(words);
    return status;
}

static axo_status scan_spoilt(const scan *it)
{
    return scan_says(it, AXO_EINVAL,
                     "record %" PRIu64 ", at byte %" PRIu64 ", is not as it was written",
                     it->in->records, it->in->at);
}

static axo_status scan_head(const scan *it, const record *found)
{
    const uint16_t order = 1;
    record_get get = found->body;
    const record_head *head = it->head;
    if (!record_get_head(&get, it->head))
        return scan_spoilt(it);
    if (head->little != *(const uint8_t *)&order || head->pointer != sizeof(void *))
        return scan_says(it, AXO_ENOTSUP,
                         "the recording is of a machine with another order of bytes or other "
                         "pointers");
    const bool same = head->version[0] == AXO_VERSION_MAJOR &&
                      head->version[1] == AXO_VERSION_MINOR &&
                      head->version[2] == AXO_VERSION_PATCH;
    if (!same && !it->any_version)
        return scan_says(it, AXO_EVERSION,
                         "the recording is of axo %" PRIu32 ".%" PRIu32 ".%" PRIu32
                         ", and this is %d.%d.%d",
                         head->version[0], head->version[1], head->version[2], AXO_VERSION_MAJOR,
                         AXO_VERSION_MINOR, AXO_VERSION_PATCH);
    return AXO_OK;
}

/* Whether a record of this kind may stand behind the one before. */
static bool scan_follows(record_kind before, record_kind kind)
{
    if (before == 0 || before == RECORD_HEAD_KIND)
        return kind == (before == 0 ? RECORD_HEAD_KIND : RECORD_BEGIN);
    if (kind == RECORD_EVENTS || kind == RECORD_DONE)
        return record_is_input(before) || before == RECORD_EVENTS;
    return kind != RECORD_HEAD_KIND && kind != RECORD_BEGIN && before != RECORD_END;
}

static bool scan_results(const scan *it, const record *found)
{
    record_get get = found->body;
    record_done done;
    if (found->kind == RECORD_EVENTS)
        return found->size > 0 && found->size % RECORD_EVENT == 0;
    if (found->kind == RECORD_DONE) {
        if (!record_get_done(&get, &done))
            return false;
        it->report->hash = done.hash;
        return true;
    }
    it->report->hash.events = record_get_u64(&get);
    it->report->hash.value = record_get_u64(&get);
    it->report->closed = 1;
    return !get.short_of && get.left == 0;
}

static axo_status scan_record(scan *it, const record *found)
{
    record_input input;
    if (!scan_follows(it->before, found->kind))
        return scan_spoilt(it);
    axo_status status = AXO_OK;
    if (found->kind == RECORD_HEAD_KIND)
        status = scan_head(it, found);
    else if (record_is_input(found->kind) ? !record_get_input(found, &input)
                                          : !scan_results(it, found))
        status = scan_spoilt(it);
    if (status != AXO_OK)
        return status;
    it->before = found->kind;
    it->report->steps += found->kind == RECORD_STEP ? 1 : 0;
    record_in_pass(it->in, found);
    it->report->records = it->in->records;
    it->report->bytes = it->in->at;
    return AXO_OK;
}

static axo_status scan_system(const scan *it, const char *path)
{
    it->report->error = it->in->error;
    return scan_says(it, AXO_ESYSTEM, "%s: %s", path, strerror(it->in->error));
}

static axo_status scan_open(const scan *it, const char *path)
{
    axo_status status = record_in_open(it->in, path);
    if (status == AXO_ESYSTEM)
        return scan_system(it, path);
    if (status == AXO_EVERSION)
        return scan_says(it, status, "%s is of another format than %d", path, AXO_RECORD_FORMAT);
    if (status == AXO_EINVAL)
        return scan_says(it, status, "%s is no recording", path);
    return status;
}

/* To the end, or to what is wrong. */
static axo_status scan_all(scan *it, const char *path)
{
    for (;;) {
        record found;
        const record_look look = record_in_look(it->in, &found);
        axo_status status = AXO_OK;
        if (look == RECORD_NO_MEMORY)
            return AXO_ENOMEM;
        if (look == RECORD_NO_READ)
            return scan_system(it, path);
        if (look == RECORD_SPOILT)
            return scan_spoilt(it);
        if (look == RECORD_WHOLE)
            status = scan_record(it, &found);
        else
            break;
        if (status != AXO_OK)
            return status;
    }
    it->report->torn = (uint32_t)(it->in->size - it->in->at);
    if (it->before == 0 || it->before == RECORD_HEAD_KIND)
        return scan_says(it, AXO_EINVAL, "%s ends before its world begins", path);
    if (it->report->torn > 0 && it->before == RECORD_END)
        return scan_spoilt(it);
    return AXO_OK;
}

axo_status record_scan(const char *path, bool any_version, record_in *in, record_head *head,
                       axo_record_report *report)
{
    scan it = {.in = in, .head = head, .report = report, .any_version = any_version};
    *report = (axo_record_report)AXO_RECORD_REPORT();
    axo_status status = scan_open(&it, path);
    if (status != AXO_OK)
        return status;
    status = scan_all(&it, path);
    if (status != AXO_OK)
        record_in_close(in);
    in->at = RECORD_START;
    in->records = 0;
    return status;
}

axo_status axo_record_check(const char *path, axo_record_report *report)
{
    axo_record_report mine;
    record_in in;
    record_head head;
    if (path == NULL || report == NULL)
        return AXO_EINVAL;
    axo_status status = record_report_check(report);
    if (status != AXO_OK)
        return status;
    status = record_scan(path, false, &in, &head, &mine);
    record_report_give(&mine, report);
    if (status == AXO_OK)
        record_in_close(&in);
    return status;
}
