/* hands.c - which messages handlers have in hand, in a file that is mapped: so it is known after a
 * process has died under one, and costs a store. Each such death is a failure of the message; else
 * one that kills the process would do so for ever. An actor has a slot of its own, if there is one:
 * of those beyond HANDS_MAX the deaths are not counted. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store.h"

#define HANDS_MAX   4096
#define HANDS_BYTES (HANDS_MAX * sizeof(durable_hand))

/* Counts what the last process had in hand. A slot that has what cannot be is of nobody. */
static int hands_count(axo_store *store)
{
    durable_txn *txn = NULL;
    int error = 0;
    for (size_t i = 0; i < HANDS_MAX && error == 0; i++) {
        uint64_t id = atomic_load(&store->hands[i].id);
        uint64_t number = atomic_load(&store->hands[i].number);
        if (number == 0 || id == 0)
            continue;
        if (txn == NULL)
            error = durable_disk_begin(store, &txn);
        if (error == 0)
            error = durable_disk_died(store, txn, id, number);
    }
    if (txn == NULL)
        return error;
    if (error == 0)
        return durable_disk_commit(store, txn);
    durable_disk_abort(store, txn);
    return error;
}

static int hands_file(const char *path)
{
    int folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return -1;
    int fd = openat(folder, "hands", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    int error = errno;
    (void)close(folder);
    errno = error;
    return fd;
}

int durable_hands_open(axo_store *store, const char *path)
{
    int fd = hands_file(path);
    if (fd < 0)
        return errno;
    /* written, not only made longer: a store into a hole of a full disk would be a signal */
    static const char nothing[HANDS_BYTES];
    struct stat stat;
    int error = fstat(fd, &stat) != 0 ? errno : 0;
    if (error == 0 && stat.st_size != HANDS_BYTES &&
        (ftruncate(fd, 0) != 0 || pwrite(fd, nothing, HANDS_BYTES, 0) != (ssize_t)HANDS_BYTES))
        error = errno != 0 ? errno : ENOSPC;
    void *map = MAP_FAILED;
    if (error == 0)
        map = mmap(NULL, HANDS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (error == 0 && map == MAP_FAILED)
        error = errno;
    (void)close(fd);
    if (error != 0)
        return error;
    store->hands = map;
    error = hands_count(store);
    if (error == 0)
        memset(map, 0, HANDS_BYTES);
    return error;
}

void durable_hands_close(axo_store *store)
{
    if (store->hands != NULL)
        (void)munmap((void *)store->hands, HANDS_BYTES);
    store->hands = NULL;
}

durable_hand *durable_hands_take(axo_store *store)
{
    for (size_t i = 0; store->hands != NULL && i < HANDS_MAX; i++) {
        durable_hand *hand = &store->hands[(store->next_hand + i) % HANDS_MAX];
        if (atomic_load(&hand->used) != 0)
            continue;
        atomic_store(&hand->used, 1);
        store->next_hand = (store->next_hand + i + 1) % HANDS_MAX;
        return hand;
    }
    return NULL;
}

void durable_hands_give(durable_hand *hand)
{
    if (hand == NULL)
        return;
    atomic_store(&hand->number, 0);
    atomic_store(&hand->used, 0);
}
