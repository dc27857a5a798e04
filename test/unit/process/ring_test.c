/* ring_test.c - the ring between a process and its host, with an other side that lies. */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "support/cmocka.h"

#include "share.h"

#include <unistd.h>

/* Lies that are told. */
#define RING_LIES 200000

/* Takes what is read, so that it is. */
static volatile unsigned char ring_sink;

typedef struct ring_world {
    process_map map;
    process_ring writer;
    process_ring reader;
    uint64_t chance;
} ring_world;

static uint64_t ring_chance(ring_world *w)
{
    w->chance ^= w->chance << 13;
    w->chance ^= w->chance >> 7;
    w->chance ^= w->chance << 17;
    return w->chance;
}

static void ring_open(ring_world *w, size_t bytes)
{
    *w = (ring_world){.chance = 88172645463325252};
    int fd = process_share_make(bytes, 100, &w->map);
    assert_true(fd >= 0);
    assert_int_equal(close(fd), 0);
    process_indices *indices = &w->map.share->to_host;
    process_ring_init(&w->writer, indices, w->map.to_host, w->map.ring_bytes);
    process_ring_init(&w->reader, indices, w->map.to_host, w->map.ring_bytes);
}

static void ring_close(ring_world *w)
{
    process_share_unmap(&w->map);
}

static bool ring_put(ring_world *w, uint64_t number, const void *bytes, size_t size)
{
    const process_record record = {.size = (uint32_t)size, .kind = 1, .number = number};
    process_ring_answer answer = process_ring_write(&w->writer, &record, bytes);
    assert_int_not_equal(answer, PROCESS_RING_SPOILT);
    return answer == PROCESS_RING_OK;
}

static void ring_keeps_order(void **unused)
{
    ring_world w;
    unsigned char bytes[2000];
    uint64_t put = 0;
    uint64_t got = 0;
    ring_open(&w, 4096);
    while (got < 100000) {
        for (uint64_t i = ring_chance(&w) % 8; i > 0; i--) {
            size_t size = (size_t)(put * 37 % process_ring_max(w.map.ring_bytes));
            size = size > sizeof bytes ? sizeof bytes : size;
            memset(bytes, (int)(put & 255), sizeof bytes);
            if (ring_put(&w, put, bytes, size))
                put++;
        }
        for (uint64_t i = ring_chance(&w) % 8; i > 0; i--) {
            process_record record;
            const void *there;
            if (process_ring_read(&w.reader, &record, &there) != PROCESS_RING_OK)
                break;
            assert_int_equal(record.number, got);
            memset(bytes, (int)(got & 255), sizeof bytes);
            assert_memory_equal(there, bytes, record.size);
            assert_int_equal((uintptr_t)there % PROCESS_RECORD_ALIGN, 0);
            process_ring_done(&w.reader);
            got++;
        }
    }
    ring_close(&w);
}

static void ring_is_full(void **unused)
{
    ring_world w;
    unsigned char bytes[4096] = {0};
    process_record record;
    const void *there;
    ring_open(&w, 4096);
    size_t most = process_ring_max(w.map.ring_bytes);
    most = most > sizeof bytes ? sizeof bytes : most;
    assert_int_equal(process_ring_read(&w.reader, &record, &there), PROCESS_RING_NONE);
    assert_false(process_ring_waits(&w.reader));
    if (w.map.ring_bytes == 4096) {
        assert_true(ring_put(&w, 1, bytes, most)); /* two of the largest fit, and no more */
        assert_true(ring_put(&w, 2, bytes, most));
        assert_false(ring_put(&w, 3, bytes, 0));
        assert_int_equal(process_ring_read(&w.reader, &record, &there), PROCESS_RING_OK);
        assert_false(ring_put(&w, 3, bytes, 0)); /* not before it is given back */
        process_ring_done(&w.reader);
        assert_true(ring_put(&w, 3, bytes, 0));
    }
    ring_close(&w);
}

/* A record whose end is not published is not there. */
static void ring_drops_half_a_record(void **unused)
{
    ring_world w;
    process_record record;
    const void *there;
    ring_open(&w, 4096);
    assert_true(ring_put(&w, 1, "one", 4));
    process_ring half = w.writer;
    process_indices elsewhere;
    memset(&elsewhere, 0, sizeof elsewhere);
    half.shared = &elsewhere;
    const process_record torn = {.size = 4, .kind = 1, .number = 2};
    assert_int_equal(process_ring_write(&half, &torn, "two"), PROCESS_RING_OK);
    assert_int_equal(process_ring_read(&w.reader, &record, &there), PROCESS_RING_OK);
    process_ring_done(&w.reader);
    assert_int_equal(process_ring_read(&w.reader, &record, &there), PROCESS_RING_NONE);
    ring_close(&w);
}

/* Whatever stands in the memory: an answer, and no access beyond the pages that guard it. What is
 * read lies within the ring. */
static void ring_reads_lies(void **unused)
{
    ring_world w;
    uint64_t spoilt = 0;
    uint64_t read = 0;
    ring_open(&w, 4096);
    unsigned char *memory = w.map.to_host;
    const uint64_t size = w.map.ring_bytes;
    unsigned char sum = 0;
    for (uint32_t i = 0; i < RING_LIES; i++) {
        uint64_t lie = ring_chance(&w);
        for (uint64_t at = 0; at < size; at += 64) /* headers, some of them nearly right */
            memcpy(memory + at, &lie, sizeof lie);
        uint32_t length = (uint32_t)(i % 3 == 0 ? lie : lie % (2 * size));
        memcpy(memory + (w.reader.here & (size - 1)), &length, sizeof length);
        uint64_t index = i % 2 == 0 ? lie : w.reader.here + (lie >> 8) % (2 * size) / 16 * 16;
        atomic_store(&w.map.share->to_host.written, index);
        process_record record;
        const void *there;
        process_ring_answer answer = process_ring_read(&w.reader, &record, &there);
        spoilt += answer == PROCESS_RING_SPOILT;
        if (answer == PROCESS_RING_OK) {
            const unsigned char *first = there;
            assert_true(first >= memory && record.size <= size / 2);
            assert_true(first + record.size <= memory + 2 * size);
            assert_true(index - w.reader.next <= size); /* it ends where something is written */
            for (uint32_t k = 0; k < record.size; k++)
                sum = (unsigned char)(sum + first[k]);
            process_ring_done(&w.reader);
            read++;
        }
        if (i % 16 == 0) { /* an honest start, wherever it is */
            w.reader.here = lie & ~UINT64_C(15);
            w.reader.there = w.reader.here;
        }
    }
    assert_true(spoilt > RING_LIES / 4 && read > 100);
    ring_sink = sum;
    ring_close(&w);
}

/* A reader that lies does not have its writer write where something unread is, or elsewhere. */
static void ring_writes_for_a_liar(void **unused)
{
    ring_world w;
    uint64_t written = 0;
    uint64_t spoilt = 0;
    unsigned char bytes[512] = {1};
    ring_open(&w, 4096);
    for (uint32_t i = 0; i < RING_LIES; i++) {
        uint64_t lie = ring_chance(&w);
        uint64_t before = w.writer.there;
        uint64_t here = w.writer.here;
        uint64_t index = i % 2 == 0 ? lie : here - (lie >> 8) % (2 * w.map.ring_bytes);
        atomic_store(&w.map.share->to_host.read, index);
        const process_record record = {.size = (uint32_t)(lie % sizeof bytes), .kind = 1};
        process_ring_answer answer = process_ring_write(&w.writer, &record, bytes);
        if (answer == PROCESS_RING_SPOILT) {
            spoilt++;
            assert_int_equal(w.writer.here, here);
            continue;
        }
        assert_true(index - before <= here - before); /* it has gone forward, not beyond */
        written += answer == PROCESS_RING_OK;
        assert_true(w.writer.here - index <= w.map.ring_bytes);
    }
    assert_true(spoilt > RING_LIES / 4 && written > 100);
    ring_close(&w);
}

static void *ring_produce(void *argument)
{
    ring_world *w = argument;
    for (uint64_t number = 0; number < 200000;) {
        if (ring_put(w, number, &number, sizeof number))
            number++;
        else
            (void)sched_yield();
    }
    return NULL;
}

static void ring_of_two_threads(void **unused)
{
    ring_world w;
    pthread_t producer;
    ring_open(&w, 4096);
    assert_int_equal(pthread_create(&producer, NULL, ring_produce, &w), 0);
    for (uint64_t number = 0; number < 200000;) {
        process_record record;
        const void *there;
        uint64_t said;
        process_ring_answer answer = process_ring_read(&w.reader, &record, &there);
        assert_int_not_equal(answer, PROCESS_RING_SPOILT);
        if (answer == PROCESS_RING_NONE) {
            (void)sched_yield();
            continue;
        }
        memcpy(&said, there, sizeof said);
        assert_int_equal(said, number);
        assert_int_equal(record.number, number);
        process_ring_done(&w.reader);
        number++;
    }
    assert_int_equal(pthread_join(producer, NULL), 0);
    ring_close(&w);
}

/* The memory cannot be cut off under who has mapped it. */
static void share_is_sealed(void **unused)
{
    process_map map;
    process_map other;
    int fd = process_share_make(5000, 5000, &map);
    assert_true(fd >= 0);
    assert_int_equal(map.ring_bytes, process_share_ring(5000));
    assert_int_equal(ftruncate(fd, 0), -1);
    assert_int_equal(ftruncate(fd, 1 << 30), -1);
    assert_true(process_share_map(fd, &other));
    memset(map.args, 7, 5000);
    assert_int_equal(other.args[4999], 7);
    map.to_host[0] = 9;
    assert_int_equal(other.to_host[other.ring_bytes], 9);
    assert_int_equal(map.to_process[0], 0);
    map.share->version = PROCESS_VERSION + 1;
    process_share_unmap(&other);
    assert_false(process_share_map(fd, &other));
    process_share_unmap(&map);
    (void)close(fd);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(ring_keeps_order),        cmocka_unit_test(ring_is_full),
        cmocka_unit_test(ring_drops_half_a_record), cmocka_unit_test(ring_reads_lies),
        cmocka_unit_test(ring_writes_for_a_liar),  cmocka_unit_test(ring_of_two_threads),
        cmocka_unit_test(share_is_sealed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
