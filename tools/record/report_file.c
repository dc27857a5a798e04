/* report_file.c - a ring's messages, and how they stand in a file. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report.h"

static const char report_magic[8] = {'A', 'X', 'O', 'R', 'E', 'P', 'O', '\n'};

/* ---- the ring ---- */

static uint8_t *ring_bytes(const report_ring *ring)
{
    return (uint8_t *)(uintptr_t)(ring + 1);
}

static void ring_write(report_ring *ring, const void *from, size_t size)
{
    const size_t room = ring->of->room;
    const size_t at = (size_t)(ring->to % room);
    const size_t first = size < room - at ? size : room - at;
    if (size == 0)
        return;
    memcpy(ring_bytes(ring) + at, from, first);
    if (size > first)
        memcpy(ring_bytes(ring), (const uint8_t *)from + first, size - first);
    ring->to += (size + 7) / 8 * 8;
}

static void ring_read(const report_ring *ring, uint64_t from, void *to, size_t size)
{
    const size_t room = ring->of->room;
    const size_t at = (size_t)(from % room);
    const size_t first = size < room - at ? size : room - at;
    if (size == 0)
        return;
    memcpy(to, ring_bytes(ring) + at, first);
    if (size > first)
        memcpy((uint8_t *)to + first, ring_bytes(ring), size - first);
}

/* What an entry takes. */
static uint64_t ring_span(uint32_t size)
{
    return sizeof(report_entry) + ((uint64_t)size + 7) / 8 * 8;
}

static void ring_drop(report_ring *ring)
{
    report_entry first;
    ring_read(ring, ring->from, &first, sizeof first);
    ring->from += ring_span(first.size);
    ring->count--;
    ring->lost++;
}

void report_ring_keep(report_ring *ring, int64_t now, const axo_message *message)
{
    const bool handed = message->size == 0 && message->payload != NULL;
    const report_entry entry = {.time = now, .sender = message->sender, .tag = message->tag,
                                .size = message->size, .flags = handed ? REPORT_HANDED : 0};
    const uint64_t need = ring_span(message->size);
    while (ring->count > 0 && ring->to - ring->from + need > ring->of->room)
        ring_drop(ring);
    if (need > ring->of->room) {
        ring->lost++;
        return;
    }
    ring_write(ring, &entry, sizeof entry);
    ring_write(ring, message->payload, message->size);
    ring->count++;
}

/* ---- writing ---- */

/* An actor that was spawned without args has none. */
static size_t report_args_size(const report_ring *ring)
{
    return ring->args != NULL ? ring->of->args_size : 0;
}

static void report_put_head(record_put *put, const report_ring *ring, uint32_t kind, int32_t code)
{
    const uint16_t order = 1;
    const char *const name = ring->of->cls->name;
    record_put_u8(put, *(const uint8_t *)&order);
    record_put_u8(put, sizeof(void *));
    record_put_u16(put, 0);
    record_put_u32(put, ring->instance);
    record_put_u32(put, kind);
    record_put_u32(put, (uint32_t)code);
    record_put_u64(put, ring->seed);
    record_put_u64(put, (uint64_t)ring->begun);
    record_put_u64(put, ring->self.bits);
    record_put_u64(put, ring->parent.bits);
    record_put_u64(put, ring->lost);
    record_put_u32(put, (uint32_t)strlen(name));
    record_put_u32(put, (uint32_t)report_args_size(ring));
    record_put_u64(put, ring->count);
    record_put_bytes(put, name, strlen(name));
    record_put_bytes(put, ring->args, report_args_size(ring));
}

static void report_put_messages(record_put *put, const report_ring *ring)
{
    uint64_t from = ring->from;
    for (uint64_t i = 0; i < ring->count; i++) {
        report_entry entry;
        ring_read(ring, from, &entry, sizeof entry);
        record_put_u64(put, (uint64_t)entry.time);
        record_put_u64(put, entry.sender.bits);
        record_put_u32(put, entry.tag);
        record_put_u32(put, entry.flags);
        record_put_u32(put, entry.size);
        ring_read(ring, from + sizeof entry, put->at, entry.size);
        put->at += entry.size;
        from += ring_span(entry.size);
    }
}

uint8_t *report_made(const report_ring *ring, uint32_t kind, int32_t code, size_t *size)
{
    /* An entry of the ring is larger than its message in the file. */
    const size_t most = REPORT_START + REPORT_HEAD + strlen(ring->of->cls->name) +
                        report_args_size(ring) + (size_t)(ring->to - ring->from);
    uint8_t *const bytes = malloc(most);
    if (bytes == NULL)
        return NULL;
    record_put put = {.at = bytes + REPORT_START};
    report_put_head(&put, ring, kind, code);
    report_put_messages(&put, ring);
    *size = (size_t)(put.at - bytes);
    const size_t body = *size - REPORT_START;
    put.at = bytes;
    record_put_bytes(&put, report_magic, sizeof report_magic);
    record_put_u32(&put, AXO_REPORT_FORMAT);
    record_put_u32(&put, (uint32_t)body);
    record_put_u32(&put, record_crc(bytes + REPORT_START, body));
    record_put_u32(&put, record_crc(bytes, REPORT_START - 4));
    return bytes;
}

/* ---- reading ---- */

bool report_next(record_get *messages, report_entry *out, const void **payload)
{
    out->time = (int64_t)record_get_u64(messages);
    out->sender.bits = record_get_u64(messages);
    out->tag = record_get_u32(messages);
    out->flags = record_get_u32(messages);
    out->size = record_get_u32(messages);
    *payload = record_get_bytes(messages, out->size);
    return !messages->short_of;
}

/* All messages can be read, and nothing is behind them. */
static bool report_is_whole(const report *it)
{
    record_get get = it->messages;
    report_entry entry;
    const void *payload;
    for (uint64_t i = 0; i < it->count; i++) {
        if (!report_next(&get, &entry, &payload) || entry.size > AXO_PAYLOAD_MAX)
            return false;
    }
    return get.left == 0;
}

static axo_status report_parse(report *it, record_get get)
{
    const uint16_t order = 1;
    const uint8_t little = record_get_u8(&get), pointer = record_get_u8(&get);
    if (little != *(const uint8_t *)&order || pointer != sizeof(void *))
        return AXO_EVERSION;
    (void)record_get_u16(&get);
    it->instance = record_get_u32(&get);
    it->kind = record_get_u32(&get);
    it->code = (int32_t)record_get_u32(&get);
    it->seed = record_get_u64(&get);
    it->begun = (int64_t)record_get_u64(&get);
    it->self.bits = record_get_u64(&get);
    it->parent.bits = record_get_u64(&get);
    it->lost = record_get_u64(&get);
    it->name_size = record_get_u32(&get);
    it->args_size = record_get_u32(&get);
    it->count = record_get_u64(&get);
    it->name = (const char *)record_get_bytes(&get, it->name_size);
    it->args = record_get_bytes(&get, it->args_size);
    it->messages = get;
    return !get.short_of && it->args_size <= AXO_ARGS_MAX && report_is_whole(it) ? AXO_OK
                                                                                 : AXO_EINVAL;
}

static axo_status report_check(report *it, size_t size)
{
    record_get get = {.at = it->bytes + sizeof report_magic, .left = REPORT_START - 8};
    if (size < REPORT_START || memcmp(it->bytes, report_magic, sizeof report_magic) != 0)
        return AXO_EINVAL;
    const uint32_t format = record_get_u32(&get);
    const uint32_t body = record_get_u32(&get);
    const uint32_t crc = record_get_u32(&get);
    if (record_get_u32(&get) != record_crc(it->bytes, REPORT_START - 4))
        return AXO_EINVAL;
    if (format != AXO_REPORT_FORMAT)
        return AXO_EVERSION;
    if (body != size - REPORT_START || crc != record_crc(it->bytes + REPORT_START, body))
        return AXO_EINVAL;
    return report_parse(it, (record_get){.at = it->bytes + REPORT_START, .left = body});
}

/* All bytes of the file into it->bytes. */
static axo_status report_load(int fd, report *it, size_t *size, int *error)
{
    struct stat st;
    *error = EIO; /* it has become shorter */
    if (fstat(fd, &st) != 0) {
        *error = errno;
        return AXO_ESYSTEM;
    }
    if (!S_ISREG(st.st_mode) || st.st_size < REPORT_START || st.st_size > UINT32_MAX)
        return AXO_EINVAL;
    *size = (size_t)st.st_size;
    it->bytes = malloc(*size);
    if (it->bytes == NULL)
        return AXO_ENOMEM;
    for (size_t had = 0; had < *size;) {
        const ssize_t got = pread(fd, it->bytes + had, *size - had, (off_t)had);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            *error = got < 0 ? errno : EIO;
            return AXO_ESYSTEM;
        }
        had += (size_t)got;
    }
    return AXO_OK;
}

axo_status report_read(const char *path, report *out, int *error)
{
    size_t size = 0;
    *out = (report){.bytes = NULL};
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        *error = errno;
        return AXO_ESYSTEM;
    }
    axo_status status = report_load(fd, out, &size, error);
    (void)close(fd);
    if (status == AXO_OK)
        status = report_check(out, size);
    if (status != AXO_OK)
        report_free(out);
    return status;
}

void report_free(report *it)
{
    free(it->bytes);
    it->bytes = NULL;
}
