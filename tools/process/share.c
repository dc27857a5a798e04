/* share.c - the memory that a process shares with its host. */
#include "share.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static uint64_t share_page(void)
{
    return (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t share_pages(uint64_t bytes)
{
    return (bytes + share_page() - 1) & ~(share_page() - 1);
}

/* Where args lie behind the struct: aligned for any object. */
static uint64_t share_args_at(void)
{
    return (sizeof(process_share) + 63) & ~UINT64_C(63);
}

uint64_t process_share_ring(size_t wanted)
{
    uint64_t size = share_page();
    while (size < wanted)
        size *= 2;
    return size;
}

/* Maps `bytes` at `offset` twice, between two pages that are not there. */
static unsigned char *share_map_ring(int fd, uint64_t offset, uint64_t bytes)
{
    uint64_t page = share_page();
    unsigned char *room = mmap(NULL, 2 * bytes + 2 * page, PROT_NONE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED)
        return NULL;
    for (uint64_t i = 0; i < 2; i++) {
        void *at = mmap(room + page + i * bytes, bytes, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_FIXED, fd, (off_t)offset);
        if (at == MAP_FAILED) {
            int error = errno;
            (void)munmap(room, 2 * bytes + 2 * page);
            errno = error;
            return NULL;
        }
    }
    return room + page;
}

static void share_unmap_ring(unsigned char *ring, uint64_t bytes)
{
    if (ring != NULL)
        (void)munmap(ring - share_page(), 2 * bytes + 2 * share_page());
}

static bool share_map_all(int fd, process_map *map)
{
    void *head = mmap(NULL, map->head_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (head == MAP_FAILED)
        return false;
    map->share = head;
    map->args = (unsigned char *)head + share_args_at();
    map->to_process = share_map_ring(fd, map->head_bytes, map->ring_bytes);
    if (map->to_process != NULL)
        map->to_host = share_map_ring(fd, map->head_bytes + map->ring_bytes, map->ring_bytes);
    if (map->to_host != NULL)
        return true;
    int error = errno;
    process_share_unmap(map);
    errno = error;
    return false;
}

int process_share_make(size_t ring_bytes, size_t args_size, process_map *map)
{
    *map = (process_map){.head_bytes = share_pages(share_args_at() + args_size),
                         .ring_bytes = process_share_ring(ring_bytes)};
    int fd = memfd_create("axo process", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return -1;
    off_t size = (off_t)(map->head_bytes + 2 * map->ring_bytes);
    if (ftruncate(fd, size) == 0 &&
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0 &&
        share_map_all(fd, map)) {
        map->share->version = PROCESS_VERSION;
        map->share->ring_bytes = map->ring_bytes;
        map->share->args_size = args_size;
        return fd;
    }
    int error = errno;
    (void)close(fd);
    errno = error;
    return -1;
}

bool process_share_map(int fd, process_map *map)
{
    process_share *head = mmap(NULL, share_pages(sizeof *head), PROT_READ, MAP_SHARED, fd, 0);
    if (head == MAP_FAILED)
        return false;
    bool good = head->version == PROCESS_VERSION;
    *map = (process_map){.head_bytes = share_pages(share_args_at() + head->args_size),
                         .ring_bytes = head->ring_bytes};
    (void)munmap(head, share_pages(sizeof *head));
    errno = EPROTO;
    return good && share_map_all(fd, map);
}

void process_share_unmap(process_map *map)
{
    share_unmap_ring(map->to_process, map->ring_bytes);
    share_unmap_ring(map->to_host, map->ring_bytes);
    if (map->share != NULL)
        (void)munmap(map->share, map->head_bytes);
    *map = (process_map){.share = NULL};
}

static void share_text(char *out, const char *text)
{
    size_t length = text != NULL ? strnlen(text, AXO_FAILURE_TEXT_MAX - 1) : 0;
    memset(out, 0, AXO_FAILURE_TEXT_MAX);
    if (length > 0)
        memcpy(out, text, length);
}

void process_failure_pack(process_failure *out, const axo_failure *failure)
{
    memset(out, 0, sizeof *out);
    out->failure = *failure;
    out->failure.text = NULL;
    out->failure.original_text = NULL;
    share_text(out->text, failure->text);
    share_text(out->original_text, failure->original_text);
}

void process_failure_unpack(process_failure *in, axo_failure *out)
{
    in->text[AXO_FAILURE_TEXT_MAX - 1] = 0;
    in->original_text[AXO_FAILURE_TEXT_MAX - 1] = 0;
    *out = in->failure;
    out->text = in->text;
    out->original_text = in->original_text;
}
