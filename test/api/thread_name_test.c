/* thread_name_test.c - the names of the library's threads, as /proc has them. */
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <axo/axo.h>

#include "support/cmocka.h"

#define NAME_LIMIT_S 20
#define NAMES_MAX 64
#define NAME_SIZE 32

typedef struct names {
    uint32_t count;
    char name[NAMES_MAX][NAME_SIZE];
} names;

static int names_compare(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* The names of this process's threads that begin as the library's do, in order. */
static void names_read(names *out)
{
    DIR *tasks = opendir("/proc/self/task");
    const struct dirent *task;
    assert_non_null(tasks);
    out->count = 0;
    while ((task = readdir(tasks)) != NULL) {
        char path[300];
        char *name = out->name[out->count];
        (void)snprintf(path, sizeof path, "/proc/self/task/%s/comm", task->d_name);
        FILE *file = fopen(path, "re");
        if (file == NULL)
            continue; /* "." and "..", and a thread that has ended meanwhile */
        if (fgets(name, NAME_SIZE, file) != NULL && strncmp(name, "axo/", 4) == 0) {
            name[strcspn(name, "\n")] = '\0';
            assert_true(++out->count < NAMES_MAX);
        }
        (void)fclose(file);
    }
    (void)closedir(tasks);
    qsort(out->name, out->count, NAME_SIZE, names_compare);
}

static time_t names_now(void)
{
    struct timespec now;
    assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &now), 0);
    return now.tv_sec;
}

/* Waits until the library's threads are just these: a thread names itself when it begins, and some
 * end by themselves. */
static void names_await(const char *expected)
{
    names now;
    char text[NAMES_MAX * NAME_SIZE];
    time_t limit = names_now() + NAME_LIMIT_S;
    do {
        (void)sched_yield();
        names_read(&now);
        text[0] = '\0';
        for (uint32_t i = 0; i < now.count; i++) {
            strcat(text, i > 0 ? " " : "");
            strcat(text, now.name[i]);
        }
    } while (strcmp(text, expected) != 0 && names_now() < limit);
    assert_string_equal(text, expected);
}

/* What the actor's thread is called while it handles a message. */
typedef struct asked {
    sem_t done;
    char name[NAME_SIZE];
} asked;

static axo_status name_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    asked *a = *(asked *const *)message->payload;
    assert_int_equal(pthread_getname_np(pthread_self(), a->name, sizeof a->name), 0);
    (void)sem_post(&a->done);
    return AXO_OK;
}

static const axo_class name_class = AXO_CLASS(.name = "named", .receive = name_receive);

static axo_ref name_spawn(axo_system *system, uint32_t dispatcher)
{
    axo_ref actor;
    axo_props props = AXO_PROPS(.cls = &name_class, .dispatcher = dispatcher);
    assert_int_equal(axo_system_spawn(system, &props, &actor), AXO_OK);
    return actor;
}

static const char *name_ask(axo_system *system, axo_ref actor, asked *a)
{
    asked *self = a;
    assert_int_equal(sem_init(&a->done, 0, 0), 0);
    assert_int_equal(axo_system_send(system, actor, 1, &self, sizeof self), AXO_OK);
    while (sem_wait(&a->done) != 0)
        continue;
    (void)sem_destroy(&a->done);
    return a->name;
}

static axo_system *name_start(uint32_t manual)
{
    axo_system *system;
    axo_options options = AXO_OPTIONS(.workers = 2, .manual = manual, .blocking_idle_ms = 1);
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    return system;
}

static void name_end(axo_system *system)
{
    assert_int_equal(axo_system_stop(system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
}

#define NAMES_TWO "axo/reclaim axo/spare1 axo/spare2 axo/w0 axo/w1"

static void workers_and_their_helpers(void **state)
{
    names_await("");
    axo_system *system = name_start(0);
    names_await(NAMES_TWO);
    name_end(system);
    names_await("");
}

static void pinned_by_its_pool(void **state)
{
    asked a;
    axo_system *system = name_start(0);
    axo_ref actor = name_spawn(system, AXO_DISPATCH_PINNED);
    char name[NAME_SIZE];
    (void)snprintf(name, sizeof name, "%s", name_ask(system, actor, &a));
    assert_memory_equal(name, "axo/pin", 7);
    assert_in_range(strtoul(name + 7, NULL, 10), 1, 65535);
    char all[200];
    (void)snprintf(all, sizeof all, "%s %s", name, NAMES_TWO);
    names_await(all);
    assert_int_equal(axo_system_stop_actor(system, actor), AXO_OK);
    names_await(NAMES_TWO); /* the thread goes with its actor */
    name_end(system);
}

static void blocking_by_its_number(void **state)
{
    asked a;
    axo_system *system = name_start(0);
    axo_ref actor = name_spawn(system, AXO_DISPATCH_BLOCKING);
    assert_string_equal(name_ask(system, actor, &a), "axo/blk0");
    name_end(system);
}

/* A default worker's thread, and the program's own, which keeps its name. */
static void who_runs_what(void **state)
{
    asked a;
    char mine[NAME_SIZE];
    axo_system *system = name_start(0);
    name_ask(system, name_spawn(system, AXO_DISPATCH_DEFAULT), &a);
    assert_memory_equal(a.name, "axo/w", 5);
    name_end(system);
    assert_int_equal(pthread_getname_np(pthread_self(), mine, sizeof mine), 0);
    system = name_start(1);
    names_await("");
    axo_ref actor = name_spawn(system, AXO_DISPATCH_DEFAULT);
    asked *self = &a;
    assert_int_equal(sem_init(&a.done, 0, 0), 0);
    assert_int_equal(axo_system_send(system, actor, 1, &self, sizeof self), AXO_OK);
    assert_int_equal(axo_run_host(system, -1, NULL), AXO_OK);
    assert_string_equal(a.name, mine);
    name_end(system);
}

static void two_systems_have_the_same_names(void **state)
{
    axo_system *one = name_start(0);
    axo_system *two = name_start(0);
    names_await("axo/reclaim axo/reclaim axo/spare1 axo/spare1 axo/spare2 axo/spare2 axo/w0 axo/w0 "
                "axo/w1 axo/w1");
    name_end(one);
    names_await(NAMES_TWO);
    name_end(two);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(workers_and_their_helpers),
    cmocka_unit_test(pinned_by_its_pool),
    cmocka_unit_test(blocking_by_its_number),
    cmocka_unit_test(who_runs_what),
    cmocka_unit_test(two_systems_have_the_same_names),
};
TEST_MAIN(tests)
