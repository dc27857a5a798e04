/* board_test.c - axo_options.board: the file as another process reads it. */
#include <dirent.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <axo/axo.h>

#include "api/board_view.h"
#include "support/cmocka.h"
#include "support/slower.h"

static char folder[64];
static char path[96];

/* ---- a system ---- */

enum { TAG_NOTE = 1, TAG_FAIL = 2, TAG_HOLD = 3, TAG_SPAWN = 4, TAG_STOP = 5, TAG_FORK = 6 };

static sem_t held;
static sem_t release;
static pid_t forked;
static int forked_status;

static axo_status on_message(axo_ctx *ctx, void *state, const axo_message *message)
{
    static const axo_class child = AXO_CLASS(.name = "child", .receive = on_message);
    axo_ref ref;
    (void)state;
    switch (message->tag) {
    case TAG_FAIL:
        return axo_fail(ctx, 42, NULL);
    case TAG_HOLD:
        (void)sem_post(&held);
        while (sem_wait(&release) != 0)
            continue;
        return AXO_OK;
    case TAG_SPAWN: {
        axo_props props = AXO_PROPS(.cls = &child);
        if (axo_spawn(ctx, &props, &ref) != AXO_OK)
            return AXO_OK;
        return axo_send(ctx, ref, TAG_STOP, NULL, 0);
    }
    case TAG_FORK: /* the child goes on as if nothing had happened, and is ended */
        forked = fork();
        if (forked == 0) {
            (void)axo_send(ctx, axo_self(ctx), TAG_NOTE, NULL, 0);
            return AXO_OK;
        }
        (void)waitpid(forked, &forked_status, 0);
        (void)sem_post(&held);
        while (sem_wait(&release) != 0)
            continue;
        return AXO_OK;
    case TAG_STOP:
        return axo_stop(ctx, axo_self(ctx));
    default:
        return AXO_OK;
    }
}

static axo_status on_post_stop_hold(axo_ctx *ctx, void *state)
{
    (void)ctx;
    (void)state;
    (void)sem_post(&held);
    while (sem_wait(&release) != 0)
        continue;
    return AXO_OK;
}

static const axo_class noter =
    AXO_CLASS(.name = "a class of more than 32 bytes, which is cut", .receive = on_message);
static const axo_class holder =
    AXO_CLASS(.name = "holder", .receive = on_message, .post_stop = (axo_stop_fn)on_post_stop_hold);

static axo_ref spawn(axo_system *system, const axo_class *cls, const char *name)
{
    axo_ref ref;
    axo_props props = AXO_PROPS(.cls = cls, .name = name);
    assert_int_equal(axo_system_spawn(system, &props, &ref), AXO_OK);
    return ref;
}

static void tell(axo_system *system, axo_ref to, uint32_t tag)
{
    assert_int_equal(axo_system_send(system, to, tag, NULL, 0), AXO_OK);
}

/* ---- tests ---- */

static int set_up(void **state)
{
    (void)snprintf(folder, sizeof folder, "/tmp/axo-board-XXXXXX");
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/board", folder);
    assert_int_equal(sem_init(&held, 0, 0), 0);
    return sem_init(&release, 0, 0);
}

/* The folder is empty again: no test leaves a file, nor one under another name. */
static int tear_down(void **state)
{
    (void)unlink(path);
    return rmdir(folder);
}

static void an_actor_and_its_life(void **state)
{
    axo_system *system = board_start(path, 0);
    view v = view_open(path);
    text_is(&v, AXO_BOARD_HEAD_NAME, AXO_BOARD_NAME_WORDS, "shown");
    axo_ref ref = spawn(system, &noter, "anna");
    uint64_t record = actor_at(&v, ref);
    assert_int_equal(word(&v, record + AXO_BOARD_ACTOR_REF), ref.bits);
    assert_int_equal(word(&v, record + AXO_BOARD_ACTOR_PARENT),
                     axo_system_guardian(system, AXO_GUARDIAN_USER).bits);
    text_is(&v, record + AXO_BOARD_ACTOR_NAME, AXO_BOARD_NAME_WORDS, "anna");
    text_is(&v, record + AXO_BOARD_ACTOR_CLASS, AXO_BOARD_CLASS_WORDS,
            "a class of more than 32 bytes, w");
    await(&v, record + AXO_BOARD_ACTOR_STATE, AXO_BOARD_ALIVE);
    for (int i = 0; i < 10; i++)
        tell(system, ref, TAG_NOTE);
    await(&v, record + AXO_BOARD_ACTOR_HANDLED, 10);
    tell(system, ref, TAG_FAIL);
    await(&v, record + AXO_BOARD_ACTOR_INSTANCE, 2);
    await(&v, record + AXO_BOARD_ACTOR_STATE, AXO_BOARD_ALIVE);
    assert_int_equal(word(&v, record + AXO_BOARD_ACTOR_FAILURES), 1);
    assert_int_equal(word(&v, record + AXO_BOARD_ACTOR_FAILED),
                     (uint64_t)AXO_FAILURE_ORDINARY << 32 | 42);
    assert_int_equal(word(&v, record + AXO_BOARD_ACTOR_HANDLED), 11);
    assert_int_equal(axo_system_stop_actor(system, ref), AXO_OK);
    await(&v, record + AXO_BOARD_ACTOR_STATE, AXO_BOARD_TERMINATED);
    assert_int_equal(word(&v, record) % 2, 0);
    board_end(system, path);
    assert_true(word(&v, AXO_BOARD_HEAD_ENDED) != 0); /* for who has it open still */
    view_close(&v);
}

static void what_a_worker_is_at(void **state)
{
    axo_system *system = board_start(path, 0);
    view v = view_open(path);
    axo_ref sender = spawn(system, &noter, "sender");
    axo_ref ref = spawn(system, &holder, "holder");
    assert_int_equal(axo_system_send_from(system, sender, ref, TAG_HOLD, NULL, 0), AXO_OK);
    while (sem_wait(&held) != 0)
        continue;
    uint64_t record = worker_at(&v, ref);
    assert_int_not_equal(record, 0);
    assert_int_equal(word(&v, record + AXO_BOARD_WORKER_DOING), UINT64_C(1) << 32 | TAG_HOLD);
    assert_int_equal(word(&v, record + AXO_BOARD_WORKER_SENDER), sender.bits);
    assert_true(word(&v, record + AXO_BOARD_WORKER_SINCE) >= word(&v, AXO_BOARD_HEAD_STARTED));
    assert_int_equal(word(&v, record) % 2, 0);
    uint64_t name = word(&v, record + AXO_BOARD_WORKER_NAME);
    assert_memory_equal(&name, "axo/w", 5);
    (void)sem_post(&release);
    await(&v, record + AXO_BOARD_WORKER_DOING, 0);
    /* a hook, too */
    assert_int_equal(axo_system_stop_actor(system, ref), AXO_OK);
    while (sem_wait(&held) != 0)
        continue;
    record = worker_at(&v, ref);
    assert_int_not_equal(record, 0);
    assert_int_equal(word(&v, record + AXO_BOARD_WORKER_DOING),
                     UINT64_C(2) << 32 | AXO_EV_POST_STOP);
    assert_int_equal(word(&v, record + AXO_BOARD_WORKER_SENDER), 0);
    (void)sem_post(&release);
    board_end(system, path);
    for (uint64_t i = 0; i < word(&v, AXO_BOARD_HEAD_WORKERS); i++) /* all threads have ended */
        assert_int_equal(word(&v, at(&v, AXO_BOARD_HEAD_WORKERS_AT, i) + AXO_BOARD_WORKER_THREAD),
                         0);
    view_close(&v);
}

/* More than the ring holds: what is left are the last ones, each whole and in its place. */
static void the_last_events(void **state)
{
    uint64_t lives = 3000;
    axo_system *system = board_start(path, 64);
    view v = view_open(path);
    axo_stats stats = AXO_STATS();
    axo_ref nest = spawn(system, &noter, NULL);
    for (uint64_t i = 0; i < lives; i++)
        tell(system, nest, TAG_SPAWN);
    do {
        (void)sched_yield();
        assert_int_equal(axo_system_stats(system, &stats), AXO_OK);
    } while (stats.terminated < lives);
    uint64_t total = word(&v, AXO_BOARD_HEAD_EVENTS_TOTAL);
    uint64_t places = word(&v, AXO_BOARD_HEAD_EVENTS);
    assert_int_equal(places, 4096);
    assert_true(total >= 3 * lives && total > places);
    uint64_t whole = 0;
    for (uint64_t n = total - places; n < total; n++) {
        uint64_t record = at(&v, AXO_BOARD_HEAD_EVENTS_AT, n % places);
        time_t limit = time(NULL) + 10;
        while (word(&v, record) == 2 * n + 1 && time(NULL) < limit)
            (void)sched_yield(); /* the last ones are being written */
        whole += word(&v, record) == 2 * (n + 1);
        uint32_t kind = (uint32_t)word(&v, record + AXO_BOARD_EVENT_KIND);
        assert_true(kind < AXO_EVENT_KINDS);
        assert_true(kind != AXO_EV_RECEIVE && kind != AXO_EV_RECEIVED);
    }
    /* what was lost before the ring began anew is not missing in it */
    assert_true(whole <= places && whole + word(&v, AXO_BOARD_HEAD_EVENTS_LOST) >= places);
    assert_true(word(&v, AXO_BOARD_HEAD_UNLISTED) > 0); /* 64 places for more actors at a time */
    board_end(system, path);
    view_close(&v);
}

/* At rest the board's counters are those of axo_stats. */
static void counters_are(const view *v, axo_system *system, uint64_t handled, uint64_t restarts)
{
    axo_stats stats = AXO_STATS();
    uint64_t sums[8];
    time_t limit = time(NULL) + WAIT_S;
    bool equal = false;
    while (!equal && time(NULL) < limit) {
        uint32_t n = 0;
        (void)sched_yield();
        assert_int_equal(axo_system_stats(system, &stats), AXO_OK);
        const uint64_t expected[] = {
            stats.handled, stats.dead,       stats.sent,     0,
            stats.spawned, stats.terminated, stats.failures, stats.restarts};
        equal = stats.restarts == restarts && stats.handled == handled;
        for (n = 0; n < 8; n++) {
            sums[n] = counted(v, n);
            equal = equal && (n == 3 || sums[n] == expected[n]);
        }
    }
    assert_int_equal(stats.handled, handled);
    assert_int_equal(sums[0], handled);
    assert_int_equal(sums[2], stats.sent);
    assert_int_equal(sums[7], restarts);
    assert_true(equal);
}

static void counters(void **state)
{
    axo_system *system = board_start(path, 0);
    view v = view_open(path);
    axo_ref ref = spawn(system, &noter, NULL);
    for (int i = 0; i < 1000; i++)
        tell(system, ref, TAG_NOTE);
    for (int i = 0; i < 3; i++)
        tell(system, ref, TAG_FAIL);
    counters_are(&v, system, 1003, 3);
    board_end(system, path);
    view_close(&v);
}

/* More pinned actors, one after the other, than there are records of workers, and threads of the
 * blocking dispatcher that end and begin: nothing is counted twice, nothing is forgotten. */
static void counters_of_threads_that_come_and_go(void **state)
{
    axo_system *system;
    uint32_t lives = 150;
    axo_options options =
        AXO_OPTIONS(.workers = 2, .blocking_max = 2, .blocking_idle_ms = 1, .board = path);
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    view v = view_open(path);
    assert_true(word(&v, AXO_BOARD_HEAD_WORKERS) < lives);
    axo_props props = AXO_PROPS(.cls = &noter, .dispatcher = AXO_DISPATCH_BLOCKING);
    axo_ref blocks[2];
    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(axo_system_spawn(system, &props, &blocks[i]), AXO_OK);
    uint64_t handled = 0;
    props.dispatcher = AXO_DISPATCH_PINNED;
    for (uint32_t i = 0; i < lives; i++) {
        axo_ref pinned;
        assert_int_equal(axo_system_spawn(system, &props, &pinned), AXO_OK);
        tell(system, pinned, TAG_NOTE);
        tell(system, blocks[i % 2], TAG_NOTE);
        handled += 2;
        await(&v, actor_at(&v, pinned) + AXO_BOARD_ACTOR_HANDLED, 1);
        assert_int_equal(axo_system_stop_actor(system, pinned), AXO_OK);
        await(&v, actor_at(&v, pinned) + AXO_BOARD_ACTOR_STATE, AXO_BOARD_TERMINATED);
        if (i % 50 == 0) /* the blocking pool's threads end meanwhile */
            counters_are(&v, system, handled, 0);
    }
    counters_are(&v, system, handled, 0);
    /* the last pinned actor has a record, as the first one had */
    props.cls = &holder;
    props.name = "last";
    axo_ref last;
    assert_int_equal(axo_system_spawn(system, &props, &last), AXO_OK);
    tell(system, last, TAG_HOLD);
    while (sem_wait(&held) != 0)
        continue;
    uint64_t record = worker_at(&v, last);
    assert_int_not_equal(record, 0);
    uint64_t name = word(&v, record + AXO_BOARD_WORKER_NAME);
    assert_memory_equal(&name, "axo/pin", 7);
    (void)sem_post(&release); /* receive */
    (void)sem_post(&release); /* post_stop */
    board_end(system, path);
    view_close(&v);
}

/* How many of the first events are this actor's. */
static uint64_t events_of(const view *v, axo_ref ref)
{
    uint64_t found = 0;
    uint64_t total = word(v, AXO_BOARD_HEAD_EVENTS_TOTAL);
    for (uint64_t n = 0; n < total && n < word(v, AXO_BOARD_HEAD_EVENTS); n++) {
        uint64_t record = at(v, AXO_BOARD_HEAD_EVENTS_AT, n);
        found += word(v, record + AXO_BOARD_EVENT_ACTOR) == ref.bits;
    }
    return found;
}

/* The child of a callback that forks writes nothing: the board shows the parent, which is in that
 * callback still. */
static void a_fork_in_a_callback(void **state)
{
    axo_system *system = board_start(path, 0);
    view v = view_open(path);
    axo_ref ref = spawn(system, &noter, "forker");
    tell(system, ref, TAG_NOTE); /* handled: the events of its start are told */
    await(&v, actor_at(&v, ref) + AXO_BOARD_ACTOR_HANDLED, 1);
    uint64_t events = events_of(&v, ref);
    tell(system, ref, TAG_FORK);
    while (sem_wait(&held) != 0)
        continue;
    assert_true(!WIFEXITED(forked_status) || WEXITSTATUS(forked_status) != 0);
    uint64_t record = worker_at(&v, ref);
    assert_int_not_equal(record, 0);
    assert_int_equal(word(&v, record + AXO_BOARD_WORKER_DOING), UINT64_C(1) << 32 | TAG_FORK);
    assert_int_equal(word(&v, actor_at(&v, ref) + AXO_BOARD_ACTOR_HANDLED), 1);
    assert_int_equal(events_of(&v, ref), events);
    assert_int_equal(word(&v, AXO_BOARD_HEAD_ENDED), 0);
    assert_int_equal(access(path, F_OK), 0);
    (void)sem_post(&release);
    await(&v, actor_at(&v, ref) + AXO_BOARD_ACTOR_HANDLED, 2);
    /* a child of the program's own thread can end nothing either */
    pid_t child = fork();
    if (child == 0)
        _exit(axo_system_destroy(system) == AXO_EFORKED ? 0 : 1);
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(access(path, F_OK), 0);
    board_end(system, path);
    view_close(&v);
}

/* Two systems of one process: each has its own; with one name the later one has it, and the end of
 * the earlier one does not take it away. */
static void two_systems(void **state)
{
    axo_system *first = board_start(path, 0);
    view v = view_open(path);
    axo_system *second = board_start(path, 0);
    view w = view_open(path);
    axo_ref ref = spawn(first, &noter, "first");
    axo_ref other = spawn(second, &noter, "second");
    text_is(&v, actor_at(&v, ref) + AXO_BOARD_ACTOR_NAME, AXO_BOARD_NAME_WORDS, "first");
    text_is(&w, actor_at(&w, other) + AXO_BOARD_ACTOR_NAME, AXO_BOARD_NAME_WORDS, "second");
    assert_int_equal(axo_system_stop(first, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(first), AXO_OK);
    assert_int_not_equal(word(&v, AXO_BOARD_HEAD_ENDED), 0);
    assert_int_equal(word(&w, AXO_BOARD_HEAD_ENDED), 0);
    view_close(&w);
    w = view_open(path); /* the file is there */
    text_is(&w, actor_at(&w, other) + AXO_BOARD_ACTOR_NAME, AXO_BOARD_NAME_WORDS, "second");
    board_end(second, path);
    view_close(&v);
    view_close(&w);
}

/* ---- a failure that waits, while the parent fails and goes on ---- */

static axo_directive resume(axo_ctx *ctx, void *state, const axo_failure *failure, void *user)
{
    return AXO_RESUME;
}

static axo_ref patient; /* the child that waits for its restart */

static axo_status on_nest(axo_ctx *ctx, void *state, const axo_message *message)
{
    axo_props props = AXO_PROPS(.cls = &noter, .name = "patient");
    if (message->tag == TAG_FAIL)
        return axo_fail(ctx, 1, NULL);
    axo_status status = axo_spawn(ctx, &props, &patient);
    (void)sem_post(&held);
    return status;
}

/* Whether there is an event of that kind, of this actor or (none) of any, among the first ones. */
static bool has_event(const view *v, axo_ref of, uint32_t kind)
{
    uint64_t total = word(v, AXO_BOARD_HEAD_EVENTS_TOTAL);
    for (uint64_t n = 0; n < total && n < word(v, AXO_BOARD_HEAD_EVENTS); n++) {
        uint64_t record = at(v, AXO_BOARD_HEAD_EVENTS_AT, n);
        if (word(v, record) == 2 * (n + 1) &&
            (axo_ref_is_none(of) || word(v, record + AXO_BOARD_EVENT_ACTOR) == of.bits) &&
            (uint32_t)word(v, record + AXO_BOARD_EVENT_KIND) == kind)
            return true;
    }
    return false;
}

/* Meanwhile the child, which is suspended, has its turn. */
static axo_directive resume_late(axo_ctx *ctx, void *self, const axo_failure *failure, void *user)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    (void)nanosleep(&pause, NULL);
    return resume(ctx, self, failure, user);
}

static void a_parent_that_goes_on(void **state)
{
    static const axo_class nest = AXO_CLASS(.name = "nest", .receive = on_nest);
    axo_backoff slowly =
        AXO_BACKOFF(.min_ns = INT64_C(3600000000000), .max_ns = INT64_C(3600000000000));
    axo_strategy later = AXO_STRATEGY(.backoff = &slowly);
    axo_strategy resumes = AXO_STRATEGY(.decider = resume_late);
    axo_options options = AXO_OPTIONS(.workers = 2, .board = path, .user_strategy = &resumes);
    axo_system *system;
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    view v = view_open(path);
    axo_props props = AXO_PROPS(.cls = &nest, .name = "nest", .strategy = &later);
    axo_ref ref;
    assert_int_equal(axo_system_spawn(system, &props, &ref), AXO_OK);
    tell(system, ref, TAG_SPAWN);
    while (sem_wait(&held) != 0)
        continue;
    tell(system, patient, TAG_FAIL);
    await(&v, actor_at(&v, patient) + AXO_BOARD_ACTOR_STATE, AXO_BOARD_FAILED);
    time_t limit = time(NULL) + WAIT_S;
    while (!has_event(&v, axo_ref_none(), AXO_EV_DELAY) && time(NULL) < limit)
        (void)sched_yield(); /* the parent has the failure, and waits */
    /* A child that is suspended and let go before it has a turn has no event of it. */
    for (uint64_t i = 1; !has_event(&v, patient, AXO_EV_RESUME) && i <= 200; i++) {
        tell(system, ref, TAG_FAIL);
        await(&v, actor_at(&v, ref) + AXO_BOARD_ACTOR_FAILURES, i);
        await(&v, actor_at(&v, ref) + AXO_BOARD_ACTOR_STATE, AXO_BOARD_ALIVE);
    }
    assert_true(has_event(&v, patient, AXO_EV_RESUME));
    assert_int_equal(word(&v, actor_at(&v, patient) + AXO_BOARD_ACTOR_STATE), AXO_BOARD_FAILED);
    board_end(system, path);
    view_close(&v);
}

/* Reads actors while their places change hands: what has one sequence is of one actor. */
typedef struct race {
    const view *v;
    _Atomic bool over;
    uint64_t read;
    uint64_t mixed;
} race;

static void *race_read(void *arg)
{
    race *r = arg;
    uint64_t actors = word(r->v, AXO_BOARD_HEAD_ACTORS);
    while (!atomic_load(&r->over)) {
        for (uint64_t i = 0; i < actors; i++) {
            uint64_t record = at(r->v, AXO_BOARD_HEAD_ACTORS_AT, i);
            uint64_t before = word(r->v, record);
            uint64_t ref = word(r->v, record + AXO_BOARD_ACTOR_REF);
            uint64_t parent = word(r->v, record + AXO_BOARD_ACTOR_PARENT);
            uint64_t cls = word(r->v, record + AXO_BOARD_ACTOR_CLASS);
            if (ref == 0 || before % 2 != 0 || word(r->v, record) != before)
                continue;
            r->read++;
            /* Children are of class "child" and have another parent than /user's. */
            bool child = memcmp(&cls, "child", 6) == 0;
            const axo_ref of = {.bits = ref};
            if (axo_ref_index(of) != i || (child && parent == 0) || (cls == 0))
                r->mixed++;
        }
    }
    return NULL;
}

static void a_reader_beside_births_and_ends(void **state)
{
    pthread_t reader;
    axo_system *system = board_start(path, 64);
    view v = view_open(path);
    race r = {.v = &v};
    axo_stats stats = AXO_STATS();
    axo_ref nest = spawn(system, &noter, NULL);
    assert_int_equal(pthread_create(&reader, NULL, race_read, &r), 0);
    uint64_t lives = 20000 / (uint64_t)slower();
    for (uint64_t i = 0; i < lives; i++)
        tell(system, nest, TAG_SPAWN);
    do {
        (void)sched_yield();
        assert_int_equal(axo_system_stats(system, &stats), AXO_OK);
    } while (stats.terminated < lives);
    atomic_store(&r.over, true);
    assert_int_equal(pthread_join(reader, NULL), 0);
    assert_true(r.read > 0);
    assert_int_equal(r.mixed, 0);
    board_end(system, path);
    view_close(&v);
}

static void what_is_refused(void **state)
{
    axo_system *system = (axo_system *)&held;
    char long_path[400];
    memset(long_path, 'x', sizeof long_path - 1);
    long_path[sizeof long_path - 1] = 0;
    const struct {
        axo_options options;
        axo_status status;
    } cases[] = {
        {AXO_OPTIONS(.board = ""), AXO_EINVAL},
        {AXO_OPTIONS(.board = long_path), AXO_EINVAL},
        {AXO_OPTIONS(.board_actors = 5), AXO_EINVAL},
        {AXO_OPTIONS(.board = path, .board_actors = (1u << 24) + 1), AXO_EINVAL},
        {AXO_OPTIONS(.board = path, .board_reserved = 1), AXO_EINVAL},
        {AXO_OPTIONS(.board = "/nowhere/at/all/board"), AXO_ETHREAD},
        {AXO_OPTIONS(.board = folder), AXO_ETHREAD}, /* rename over a folder */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(axo_system_start(&cases[i].options, &system), cases[i].status);
        assert_null(system);
    }
    /* nothing is left beside the folder either */
    DIR *tmp = opendir("/tmp");
    const struct dirent *entry;
    const char *base = strrchr(folder, '/') + 1;
    assert_non_null(tmp);
    while ((entry = readdir(tmp)) != NULL) {
        if (strncmp(entry->d_name, base, strlen(base)) == 0)
            assert_string_equal(entry->d_name, base);
    }
    (void)closedir(tmp);
}

/* An older file goes, with whatever it was; a link is replaced and never followed; a file that has
 * taken the name stays at the end. */
static void files_in_the_way(void **state)
{
    char other[120];
    char text[16] = "";
    (void)snprintf(other, sizeof other, "%s/other", folder);
    FILE *file = fopen(other, "w");
    assert_non_null(file);
    (void)fputs("precious", file);
    (void)fclose(file);
    assert_int_equal(symlink(other, path), 0);
    axo_system *system = board_start(path, 0);
    struct stat about;
    assert_int_equal(lstat(path, &about), 0);
    assert_true(S_ISREG(about.st_mode));
    board_end(system, path);
    file = fopen(other, "r");
    assert_non_null(file);
    assert_non_null(fgets(text, sizeof text, file));
    (void)fclose(file);
    assert_string_equal(text, "precious");
    system = board_start(path, 0);
    assert_int_equal(rename(other, path), 0);
    assert_int_equal(axo_system_stop(system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
    assert_int_equal(access(path, F_OK), 0);
}

/* A trace beside a board is told what it has asked for, and nothing that only the board wants. */
static _Atomic uint32_t traced;
static _Atomic uint32_t strangers;

static void on_trace(void *user, const axo_event *event)
{
    (void)user;
    atomic_fetch_add(event->kind == AXO_EV_FAIL ? &traced : &strangers, 1);
}

static void beside_a_trace(void **state)
{
    axo_system *system;
    axo_options options = AXO_OPTIONS(.workers = 1, .board = path, .trace = on_trace,
                                      .trace_kinds = AXO_EVENT_BIT(AXO_EV_FAIL));
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    view v = view_open(path);
    axo_ref ref = spawn(system, &noter, NULL);
    axo_ref dead = spawn(system, &noter, NULL);
    tell(system, ref, TAG_FAIL);
    await(&v, actor_at(&v, ref) + AXO_BOARD_ACTOR_INSTANCE, 2);
    assert_int_equal(axo_system_stop_actor(system, dead), AXO_OK);
    await(&v, actor_at(&v, dead) + AXO_BOARD_ACTOR_STATE, AXO_BOARD_TERMINATED);
    (void)axo_system_send(system, dead, TAG_NOTE, NULL, 0); /* a dead letter */
    board_end(system, path);
    view_close(&v);
    assert_int_equal(atomic_load(&traced), 1);
    assert_int_equal(atomic_load(&strangers), 0);
}

static void manual_system(void **state)
{
    axo_system *system;
    axo_options options = AXO_OPTIONS(.manual = 1, .board = path);
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    view v = view_open(path);
    axo_ref ref = spawn(system, &noter, "one");
    tell(system, ref, TAG_NOTE);
    assert_int_equal(axo_run_host(system, -1, NULL), AXO_OK);
    assert_int_equal(word(&v, actor_at(&v, ref) + AXO_BOARD_ACTOR_HANDLED), 1);
    board_end(system, path);
    view_close(&v);
}

#define BOARD_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
static const struct CMUnitTest tests[] = {
    BOARD_TEST(an_actor_and_its_life),
    BOARD_TEST(what_a_worker_is_at),
    BOARD_TEST(the_last_events),
    BOARD_TEST(counters),
    BOARD_TEST(counters_of_threads_that_come_and_go),
    BOARD_TEST(a_fork_in_a_callback),
    BOARD_TEST(two_systems),
    BOARD_TEST(a_parent_that_goes_on),
    BOARD_TEST(a_reader_beside_births_and_ends),
    BOARD_TEST(what_is_refused),
    BOARD_TEST(files_in_the_way),
    BOARD_TEST(beside_a_trace),
    BOARD_TEST(manual_system),
};
TEST_MAIN(tests)
