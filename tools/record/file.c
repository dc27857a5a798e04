/* file.c - records in a file: bytes, checksums, what is written when, what is read of it. */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <axo/record.h>

static const char file_magic[8] = {'A', 'X', 'O', 'R', 'E', 'C', 'S', '\n'};

/* ---- bytes ---- */

/* Four bits at a time: a table of 64 bytes, and no start-up. */
uint32_t record_crc(const void *bytes, size_t size)
{
    static const uint32_t table[16] = {
        0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
        0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
        0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
    const uint8_t *at = bytes;
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < size; i++) {
        crc ^= at[i];
        crc = crc >> 4 ^ table[crc & 15];
        crc = crc >> 4 ^ table[crc & 15];
    }
    return ~crc;
}

void record_put_bytes(record_put *put, const void *bytes, size_t size)
{
    if (size == 0)
        return;
    memcpy(put->at, bytes, size);
    put->at += size;
}

static void file_put(record_put *put, uint64_t value, uint32_t bytes)
{
    for (uint32_t i = 0; i < bytes; i++)
        *put->at++ = (uint8_t)(value >> 8 * i);
}

void record_put_u8(record_put *put, uint8_t value)
{
    file_put(put, value, 1);
}

void record_put_u16(record_put *put, uint16_t value)
{
    file_put(put, value, 2);
}

void record_put_u32(record_put *put, uint32_t value)
{
    file_put(put, value, 4);
}

void record_put_u64(record_put *put, uint64_t value)
{
    file_put(put, value, 8);
}

const uint8_t *record_get_bytes(record_get *get, size_t size)
{
    const uint8_t *at = get->at;
    if (size > get->left) {
        get->left = 0;
        get->short_of = true;
        return NULL;
    }
    get->at += size;
    get->left -= size;
    return at;
}

static uint64_t file_get(record_get *get, uint32_t bytes)
{
    const uint8_t *at = record_get_bytes(get, bytes);
    uint64_t value = 0;
    for (uint32_t i = 0; at != NULL && i < bytes; i++)
        value |= (uint64_t)at[i] << 8 * i;
    return value;
}

uint8_t record_get_u8(record_get *get)
{
    return (uint8_t)file_get(get, 1);
}

uint16_t record_get_u16(record_get *get)
{
    return (uint16_t)file_get(get, 2);
}

uint32_t record_get_u32(record_get *get)
{
    return (uint32_t)file_get(get, 4);
}

uint64_t record_get_u64(record_get *get)
{
    return file_get(get, 8);
}

/* ---- writing ---- */

/* A flight recorder is kept until somebody has read it: a file that is there is not written over.
 * What is no file, as /dev/full, can be written all the same. */
static int file_make(const char *path, bool *made)
{
    struct stat st;
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    *made = fd >= 0;
    if (fd >= 0 || errno != EEXIST)
        return fd;
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    errno = EEXIST;
    return -1;
}

axo_status record_out_open(record_out *out, const char *path)
{
    memset(out, 0, sizeof *out);
    out->fd = -1;
    out->bytes = malloc(RECORD_BUFFER);
    if (out->bytes == NULL)
        return AXO_ENOMEM;
    out->room = RECORD_BUFFER;
    out->fd = file_make(path, &out->made);
    if (out->fd < 0) {
        out->error = errno;
        record_out_close(out);
        return AXO_ESYSTEM;
    }
    record_put put = {.at = out->bytes};
    record_put_bytes(&put, file_magic, sizeof file_magic);
    record_put_u32(&put, AXO_RECORD_FORMAT);
    record_put_u32(&put, record_crc(out->bytes, 12));
    out->length = RECORD_START;
    return AXO_OK;
}

void record_out_close(record_out *out)
{
    if (out->fd >= 0)
        (void)close(out->fd);
    free(out->bytes);
    out->fd = -1;
    out->bytes = NULL;
    out->length = out->room = 0;
}

/* Writes it all, or as much as goes; how much. A file that may not grow (RLIMIT_FSIZE) is an error
 * like any other: the signal that would end the process is taken from this thread. */
static size_t file_write(record_out *out)
{
    const struct timespec none = {0};
    sigset_t grown, before;
    size_t done = 0;
    out->error = 0;
    (void)sigemptyset(&grown);
    (void)sigaddset(&grown, SIGXFSZ);
    (void)pthread_sigmask(SIG_BLOCK, &grown, &before);
    while (done < out->length) {
        ssize_t wrote = pwrite(out->fd, out->bytes + done, out->length - done,
                               (off_t)(out->at + done));
        if (wrote > 0) {
            done += (size_t)wrote;
        } else if (wrote == 0 || errno != EINTR) {
            out->error = wrote == 0 ? ENOSPC : errno;
            break;
        }
    }
    if (out->error == EFBIG && !sigismember(&before, SIGXFSZ))
        (void)sigtimedwait(&grown, NULL, &none);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return done;
}

/* Room for so many bytes, and for RECORD_BUFFER at least; nothing is in it. */
static bool file_resize(record_out *out, size_t need)
{
    const size_t room = need > RECORD_BUFFER ? need : RECORD_BUFFER;
    uint8_t *bytes = room != out->room ? realloc(out->bytes, room) : out->bytes;
    if (bytes == NULL)
        return need <= out->room;
    out->bytes = bytes;
    out->room = room;
    return true;
}

axo_status record_out_flush(record_out *out)
{
    if (out->length == 0)
        return AXO_OK;
    if (out->spoilt)
        return AXO_ESYSTEM;
    size_t done = file_write(out);
    if (out->error != 0) {
        /* A later and shorter write would leave the rest of this one behind it. */
        out->spoilt = done > 0 && ftruncate(out->fd, (off_t)out->at) != 0;
        return AXO_ESYSTEM;
    }
    out->at += out->length;
    out->length = 0;
    (void)file_resize(out, 0); /* what a large message took is not kept */
    return AXO_OK;
}

axo_status record_out_room(record_out *out, size_t size)
{
    const size_t need = RECORD_HEAD + size + RECORD_TAIL;
    if (out->length + need <= out->room)
        return AXO_OK;
    axo_status status = record_out_flush(out);
    if (status != AXO_OK)
        return status;
    return file_resize(out, need) ? AXO_OK : AXO_ENOMEM;
}

record_put record_out_begin(record_out *out)
{
    return (record_put){.at = out->bytes + out->length + RECORD_HEAD};
}

void record_out_end(record_out *out, record_kind kind, const record_put *put)
{
    uint8_t *const head = out->bytes + out->length;
    const size_t size = (size_t)(put->at - head) - RECORD_HEAD;
    record_put to = {.at = head};
    record_put_u32(&to, (uint32_t)size);
    record_put_u32(&to, kind);
    record_put_u64(&to, out->records++);
    record_put_u32(&to, record_crc(head + RECORD_HEAD, size));
    record_put_u32(&to, record_crc(head, RECORD_HEAD - 4));
    out->length += RECORD_HEAD + size;
}

record_mark record_out_mark(const record_out *out)
{
    return (record_mark){.length = out->length, .at = out->at, .records = out->records};
}

bool record_out_back(record_out *out, const record_mark *mark)
{
    if (out->at != mark->at)
        return false;
    out->length = mark->length;
    out->records = mark->records;
    return true;
}

/* ---- reading ---- */

/* `size` bytes of the file from `at` on, which it has; NULL: *look says why. */
static const uint8_t *file_need(record_in *in, uint64_t at, size_t size, record_look *look)
{
    if (at >= in->begin && at - in->begin <= in->length && size <= in->length - (at - in->begin))
        return in->bytes + (at - in->begin);
    size_t room = size > RECORD_BUFFER ? size : RECORD_BUFFER;
    if (room > in->room) {
        uint8_t *bytes = realloc(in->bytes, room);
        if (bytes == NULL) {
            *look = RECORD_NO_MEMORY;
            return NULL;
        }
        in->bytes = bytes;
        in->room = room;
    }
    in->begin = at;
    in->length = 0;
    while (in->length < size) {
        ssize_t got = pread(in->fd, in->bytes + in->length, in->room - in->length,
                            (off_t)(at + in->length));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            in->error = got < 0 ? errno : EIO; /* it was longer when it was opened */
            *look = RECORD_NO_READ;
            return NULL;
        }
        in->length += (size_t)got;
    }
    return in->bytes;
}

/* The numbers of the start; *look as record_in_look says. */
static axo_status file_read_start(record_in *in, record_look *look)
{
    *look = RECORD_SPOILT;
    if (in->size < RECORD_START)
        return AXO_EINVAL;
    const uint8_t *bytes = file_need(in, 0, RECORD_START, look);
    if (bytes == NULL)
        return *look == RECORD_NO_MEMORY ? AXO_ENOMEM : AXO_ESYSTEM;
    record_get get = {.at = bytes + sizeof file_magic, .left = 8};
    const uint32_t format = record_get_u32(&get);
    if (memcmp(bytes, file_magic, sizeof file_magic) != 0 ||
        record_get_u32(&get) != record_crc(bytes, 12))
        return AXO_EINVAL;
    return format == AXO_RECORD_FORMAT ? AXO_OK : AXO_EVERSION;
}

axo_status record_in_open(record_in *in, const char *path)
{
    struct stat st;
    record_look look;
    axo_status status = AXO_ESYSTEM;
    memset(in, 0, sizeof *in);
    in->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (in->fd < 0 || fstat(in->fd, &st) != 0) {
        in->error = errno;
    } else if (!S_ISREG(st.st_mode)) {
        status = AXO_EINVAL;
    } else {
        in->size = (uint64_t)st.st_size;
        status = file_read_start(in, &look);
    }
    in->at = RECORD_START;
    if (status != AXO_OK)
        record_in_close(in);
    return status;
}

void record_in_close(record_in *in)
{
    if (in->fd >= 0)
        (void)close(in->fd);
    free(in->bytes);
    in->fd = -1;
    in->bytes = NULL;
    in->length = in->room = 0;
}

/* A head that is not as it was written may say any length, so it is checked before the length is
 * believed: only a file that ends too early is torn. */
record_look record_in_look(record_in *in, record *out)
{
    const uint64_t left = in->size - in->at;
    record_look look = RECORD_SPOILT;
    if (left == 0)
        return RECORD_OVER;
    if (left < RECORD_HEAD)
        return RECORD_TORN;
    const uint8_t *head = file_need(in, in->at, RECORD_HEAD, &look);
    if (head == NULL)
        return look;
    record_get get = {.at = head, .left = RECORD_HEAD};
    const uint32_t size = record_get_u32(&get);
    const uint32_t kind = record_get_u32(&get);
    const uint64_t number = record_get_u64(&get);
    const uint32_t crc = record_get_u32(&get);
    if (record_get_u32(&get) != record_crc(head, RECORD_HEAD - 4) || number != in->records ||
        kind < RECORD_HEAD_KIND || kind > RECORD_END)
        return RECORD_SPOILT;
    if (size > left - RECORD_HEAD)
        return RECORD_TORN;
    const uint8_t *whole = file_need(in, in->at, RECORD_HEAD + (size_t)size, &look);
    if (whole == NULL)
        return look;
    if (record_crc(whole + RECORD_HEAD, size) != crc)
        return RECORD_SPOILT;
    *out = (record){.kind = (record_kind)kind, .number = number, .size = size,
                    .body = {.at = whole + RECORD_HEAD, .left = size},
                    .next = in->at + RECORD_HEAD + size};
    return RECORD_WHOLE;
}

void record_in_pass(record_in *in, const record *it)
{
    in->at = it->next;
    in->records = it->number + 1;
}
