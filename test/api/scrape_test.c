/* scrape_test.c - what is measured of a whole system: the longest mailbox and whose it is, also of
 * an actor that has a worker inside; how long workers are awake and asleep; timers and how late
 * they are; polls. */
#include <fcntl.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <axo/axo.h>

#include "support/cmocka.h"

#define MS INT64_C(1000000)

enum { TAG_NOTE = 1, TAG_WAIT, TAG_STASH, TAG_LOOK, TAG_HANG, TAG_WATCH, TAG_UNWATCH, TAG_OTHER };

/* ---- text ---- */

typedef struct text {
    char *bytes;
    size_t size;
} text;

static axo_status text_take(void *user, const char *bytes, size_t size)
{
    text *it = user;
    it->bytes = realloc(it->bytes, it->size + size + 1);
    assert_non_null(it->bytes);
    memcpy(it->bytes + it->size, bytes, size);
    it->size += size;
    it->bytes[it->size] = 0;
    return AXO_OK;
}

static text write_text(axo_system *system)
{
    text it = {.bytes = NULL};
    assert_int_equal(axo_metrics_write(system, AXO_METRICS_OPENMETRICS, text_take, &it), AXO_OK);
    return it;
}

/* The number behind a sample's name and labels; it is there once. */
static double sample_of(const text *it, const char *name)
{
    char line[256];
    (void)snprintf(line, sizeof line, "\n%s ", name);
    const char *at = strstr(it->bytes, line);
    assert_non_null(at);
    assert_null(strstr(at + 1, line));
    return strtod(at + strlen(line), NULL);
}

static double sample(axo_system *system, const char *name)
{
    text it = write_text(system);
    double number = sample_of(&it, name);
    free(it.bytes);
    return number;
}

static bool says(axo_system *system, const char *what)
{
    text it = write_text(system);
    bool found = strstr(it.bytes, what) != NULL;
    free(it.bytes);
    return found;
}

/* Whether a line of the text is so; the path "" is nobody's. */
static bool longest_is(axo_system *system, const char *path, uint32_t count)
{
    char line[256];
    (void)snprintf(line, sizeof line, "\naxo_longest_mailbox{system=\"shop\",actor=\"%s\"} %u\n",
                   path, count);
    return says(system, line);
}

/* ---- actors ---- */

static text looked;    /* what the actor itself has written */
static int64_t wait_ns;
static sem_t inside;
static sem_t go;
static int ends[2];    /* of a pipe */
static atomic_uint reads;
static axo_system *other;

static void wait_by_the_clock(void)
{
    struct timespec then;
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &then);
    do
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - then.tv_sec) * 1000 * MS + now.tv_nsec - then.tv_nsec < wait_ns);
}

static axo_status on_message(axo_ctx *ctx, void *state, const axo_message *message)
{
    char byte;
    (void)state;
    switch (message->tag) {
    case TAG_WAIT:
        wait_by_the_clock();
        return AXO_OK;
    case TAG_STASH:
        return axo_stash(ctx);
    case TAG_LOOK:
        (void)axo_unstash_all(ctx);
        looked = write_text(axo_system_of(ctx));
        return AXO_OK;
    case TAG_HANG:
        assert_int_equal(sem_post(&inside), 0);
        while (sem_wait(&go) != 0) {
        }
        return AXO_OK;
    case TAG_WATCH:
        return axo_io_watch(ctx, ends[0], AXO_IO_IN, 0);
    case TAG_UNWATCH:
        return axo_io_unwatch(ctx, ends[0]);
    case AXO_IO_READY:
        reads += read(ends[0], &byte, 1) == 1;
        return AXO_OK;
    case TAG_OTHER:
        looked = write_text(other);
        assert_int_equal(sem_post(&inside), 0);
        return AXO_OK;
    default:
        return AXO_OK;
    }
}

static const axo_class red = AXO_CLASS(.name = "red", .receive = on_message);
static const axo_class blue = AXO_CLASS(.name = "blue", .receive = on_message);
static const axo_mailbox hundred = AXO_MAILBOX(.messages_max = 100);

static axo_system *start(axo_options options)
{
    axo_system *system;
    options.name = "shop";
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    return system;
}

static void end(axo_system *system)
{
    assert_int_equal(axo_system_stop(system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
}

static axo_ref spawn(axo_system *system, axo_props props)
{
    axo_ref ref;
    assert_int_equal(axo_system_spawn(system, &props, &ref), AXO_OK);
    return ref;
}

static void tell(axo_system *system, axo_ref to, uint32_t tag, uint32_t times)
{
    for (uint32_t i = 0; i < times; i++)
        assert_int_equal(axo_system_send(system, to, tag, NULL, 0), AXO_OK);
}

static void run(axo_system *system)
{
    assert_int_equal(axo_run_host(system, -1, NULL), AXO_OK);
}

static axo_stats stats_of(axo_system *system)
{
    axo_stats stats = AXO_STATS();
    assert_int_equal(axo_system_stats(system, &stats), AXO_OK);
    return stats;
}

static void wait_inside(void)
{
    while (sem_wait(&inside) != 0) {
    }
}

/* ---- the longest mailbox ---- */

typedef struct found {
    const char *name;
    axo_metrics_class of;
} found;

static axo_status find_class(void *user, const axo_metrics_class *of)
{
    found *it = user;
    if (strcmp(of->name, it->name) == 0)
        it->of = *of;
    return AXO_OK;
}

static void class_is(axo_system *system, const char *name, uint64_t longest, axo_ref whose)
{
    found it = {.name = name};
    char line[128];
    assert_int_equal(axo_metrics_classes(system, find_class, &it), AXO_OK);
    assert_int_equal(it.of.longest, longest);
    assert_true(axo_ref_equal(it.of.longest_actor, whose));
    (void)snprintf(line, sizeof line, "axo_class_longest_mailbox{system=\"shop\",class=\"%s\"}",
                   name);
    assert_true(sample(system, line) == (double)longest);
}

static void whose_is_the_longest(void **state)
{
    axo_system *system = start((axo_options)AXO_OPTIONS(.manual = 1, .quantum = 2,
                                                        .figures = AXO_FIGURES_COUNTS));
    axo_ref few = spawn(system, (axo_props)AXO_PROPS(.cls = &red, .name = "few"));
    axo_ref more = spawn(system, (axo_props)AXO_PROPS(.cls = &red, .name = "more"));
    axo_ref most =
        spawn(system, (axo_props)AXO_PROPS(.cls = &blue, .name = "most", .mailbox = &hundred));
    run(system);
    assert_true(longest_is(system, "", 0));
    tell(system, few, TAG_NOTE, 3);
    tell(system, more, TAG_NOTE, 5);
    tell(system, most, TAG_NOTE, 9);
    assert_true(longest_is(system, "/user/most", 9));
    class_is(system, "red", 5, more);
    class_is(system, "blue", 9, most);
    assert_int_equal(axo_system_stop_actor(system, most), AXO_OK);
    run(system); /* every message is handled, though they were looked at */
    assert_int_equal(stats_of(system).handled, 3 + 5);
    assert_int_equal(stats_of(system).dead, 9);
    class_is(system, "red", 0, axo_ref_none());
    class_is(system, "blue", 0, axo_ref_none());
    assert_true(longest_is(system, "", 0));
    end(system);
}

/* What a runner has taken, what has come since, what was put aside and is back. */
static void wherever_messages_lie(void **state)
{
    axo_system *system = start((axo_options)AXO_OPTIONS(.manual = 1, .quantum = 2));
    axo_ref one = spawn(system, (axo_props)AXO_PROPS(.cls = &red, .name = "one"));
    uint64_t turns;
    run(system);
    tell(system, one, TAG_NOTE, 10);
    assert_int_equal(axo_step_host(system, 1, &turns), AXO_OK);
    uint32_t left = 10 - (uint32_t)stats_of(system).handled;
    assert_in_range(left, 8, 10);
    assert_true(longest_is(system, "/user/one", left));
    tell(system, one, TAG_NOTE, 4);
    assert_true(longest_is(system, "/user/one", left + 4));
    run(system);
    tell(system, one, TAG_STASH, 3);
    run(system);
    assert_true(longest_is(system, "", 0)); /* what is put aside is in no mailbox */
    assert_false(says(system, "class"));
    tell(system, one, TAG_LOOK, 1);
    tell(system, one, TAG_NOTE, 6);
    run(system);
    assert_true(sample_of(&looked, "axo_longest_mailbox{system=\"shop\",actor=\"/user/one\"}") ==
                3 + 6);
    free(looked.bytes);
    end(system);
}

/* An actor that has a worker inside says at the end of its turn what it has left. Those that are
 * over leave nothing behind: there are more of them than are asked at a time. */
static void one_that_runs_is_asked(void **state)
{
    axo_system *system = start((axo_options)AXO_OPTIONS(.workers = 2, .quantum = 1,
                                                        .figures = AXO_FIGURES_COUNTS));
    for (uint32_t i = 0; i < 70; i++) {
        axo_ref one = spawn(system, (axo_props)AXO_PROPS(.cls = &red, .name = "one"));
        uint64_t terminated = stats_of(system).terminated;
        tell(system, one, TAG_HANG, 5);
        wait_inside();
        assert_true(longest_is(system, "", 0)); /* it is asked */
        assert_int_equal(sem_post(&go), 0);
        wait_inside();
        assert_true(longest_is(system, "/user/one", 4));
        assert_true(longest_is(system, "", 0)); /* it is asked anew, and has not answered */
        assert_int_equal(sem_post(&go), 0);
        wait_inside();
        found it = {.name = "red"};
        assert_int_equal(axo_metrics_classes(system, find_class, &it), AXO_OK);
        assert_true(it.of.longest == 3 && axo_ref_equal(it.of.longest_actor, one));
        for (uint32_t k = 0; k < 3; k++)
            assert_int_equal(sem_post(&go), 0);
        for (uint32_t k = 0; k < 2; k++)
            wait_inside();
        assert_int_equal(axo_system_poison(system, one), AXO_OK);
        while (stats_of(system).terminated == terminated)
            (void)sched_yield();
    }
    end(system);
}

static void a_bounded_mailbox_counts(void **state)
{
    axo_system *system = start((axo_options)AXO_OPTIONS(.workers = 1));
    axo_ref one = spawn(system, (axo_props)AXO_PROPS(.cls = &blue, .name = "one",
                                                     .mailbox = &hundred));
    tell(system, one, TAG_HANG, 4);
    wait_inside();
    assert_true(longest_is(system, "/user/one", 3));
    for (uint32_t k = 0; k < 4; k++)
        assert_int_equal(sem_post(&go), 0);
    for (uint32_t k = 0; k < 3; k++)
        wait_inside();
    end(system);
}

/* Who looks is an actor of another system: what it has looked at stays where it runs. */
static void from_another_system(void **state)
{
    axo_system *system = start((axo_options)AXO_OPTIONS(.workers = 1));
    other = start((axo_options)AXO_OPTIONS(.manual = 1));
    axo_ref one = spawn(other, (axo_props)AXO_PROPS(.cls = &red, .name = "one"));
    axo_ref looker = spawn(system, (axo_props)AXO_PROPS(.cls = &red, .name = "looker"));
    run(other);
    tell(other, one, TAG_NOTE, 5);
    tell(system, looker, TAG_OTHER, 1);
    wait_inside();
    assert_true(sample_of(&looked, "axo_longest_mailbox{system=\"shop\",actor=\"/user/one\"}") ==
                5);
    free(looked.bytes);
    end(system); /* it has run all that it had */
    assert_int_equal(stats_of(other).handled, 0);
    run(other);
    assert_int_equal(stats_of(other).handled, 5);
    end(other);
}

/* ---- workers ---- */

#define BUSY(worker) "axo_worker_busy_seconds_total{system=\"shop\",worker=\"" worker "\"}"
#define PARKED(worker) "axo_worker_parked_seconds_total{system=\"shop\",worker=\"" worker "\"}"

static void sleep_for(int64_t ns)
{
    struct timespec span = {.tv_nsec = (long)ns};
    assert_int_equal(nanosleep(&span, NULL), 0);
}

/* By hand: awake during axo_run_host, asleep between two calls. */
static void awake_by_hand(void **state)
{
    axo_system *system = start((axo_options)AXO_OPTIONS(.manual = 1));
    axo_ref one = spawn(system, (axo_props)AXO_PROPS(.cls = &red));
    wait_ns = 3 * MS;
    run(system);
    double busy = sample(system, BUSY("0"));
    tell(system, one, TAG_WAIT, 2);
    run(system);
    double more = sample(system, BUSY("0"));
    assert_true(more - busy > 0.00599);
    double parked = sample(system, PARKED("0"));
    sleep_for(5 * MS);
    assert_true(sample(system, PARKED("0")) - parked > 0.00499);
    run(system);
    double later = sample(system, PARKED("0"));
    assert_true(later - parked > 0.00499); /* it has been awake since, for a moment */
    sleep_for(5 * MS);
    assert_true(sample(system, PARKED("0")) - later > 0.00499);
    parked = sample(system, PARKED("0"));
    busy = sample(system, BUSY("0"));
    assert_true(sample(system, BUSY("0")) == busy);
    assert_true(sample(system, PARKED("0")) > parked);
    assert_false(says(system, "worker=\"1\""));
    end(system);
}

/* Threads: each sleeps in the end, and then only its sleep gets longer; no time goes back. */
static void awake_on_threads(void **state)
{
    static const char *const busy_names[] = {BUSY("0"), BUSY("1")};
    static const char *const parked_names[] = {PARKED("0"), PARKED("1")};
    axo_system *system = start((axo_options)AXO_OPTIONS(.workers = 2));
    axo_ref refs[4];
    double busy[2] = {0, 0};
    double parked[2] = {0, 0};
    wait_ns = MS / 10;
    for (uint32_t i = 0; i < 4; i++)
        refs[i] = spawn(system, (axo_props)AXO_PROPS(.cls = &red));
    for (uint32_t i = 0; i < 300; i++) {
        tell(system, refs[i % 4], i % 8 < 4 ? TAG_WAIT : TAG_NOTE, 1);
        text it = write_text(system);
        for (uint32_t k = 0; k < 2; k++) {
            double now_busy = sample_of(&it, busy_names[k]);
            double now_parked = sample_of(&it, parked_names[k]);
            assert_true(now_busy >= busy[k] && now_parked >= parked[k]);
            busy[k] = now_busy;
            parked[k] = now_parked;
        }
        free(it.bytes);
    }
    for (uint32_t k = 0; k < 2; k++) {
        bool sleeps = false;
        for (uint32_t i = 0; i < 20000 && !sleeps; i++) {
            text first = write_text(system);
            sleep_for(MS);
            text second = write_text(system);
            sleeps = sample_of(&first, busy_names[k]) == sample_of(&second, busy_names[k]) &&
                     sample_of(&second, parked_names[k]) - sample_of(&first, parked_names[k]) >
                         0.0009;
            free(first.bytes);
            free(second.bytes);
        }
        assert_true(sleeps);
    }
    assert_true(sample(system, BUSY("0")) + sample(system, BUSY("1")) > 0.01); /* 150 waits */
    end(system);
}

/* ---- timers ---- */

static int64_t time_now(void *user)
{
    return *(int64_t *)user;
}

static void timers_are_counted(void **state)
{
    for (uint32_t figures = AXO_FIGURES_NONE; figures <= AXO_FIGURES_TIMES; figures++) {
        int64_t now = 1000 * MS;
        axo_system *system = start((axo_options)AXO_OPTIONS(
            .manual = 1, .clock = time_now, .clock_user = &now, .figures = figures));
        axo_ref one = spawn(system, (axo_props)AXO_PROPS(.cls = &red));
        axo_timer timers[3];
        run(system);
        assert_int_equal(stats_of(system).timers, 0);
        for (uint32_t i = 0; i < 3; i++)
            assert_int_equal(axo_system_schedule_once(system, 10 * MS, one, TAG_NOTE, NULL, 0,
                                                      &timers[i]),
                             AXO_OK);
        assert_int_equal(stats_of(system).timers, 3);
        assert_true(axo_system_timer_cancel(system, timers[1]));
        assert_int_equal(stats_of(system).timers, 2);
        assert_int_equal(stats_of(system).timers_fired, 0);
        now += 15 * MS;
        assert_int_equal(axo_clock_changed(system), AXO_OK);
        run(system);
        assert_int_equal(stats_of(system).timers, 0);
        assert_int_equal(stats_of(system).timers_fired, 2);
        assert_int_equal(stats_of(system).handled, 2);
        assert_int_equal(axo_system_schedule_fixed_rate(system, 10 * MS, 10 * MS, one, TAG_NOTE,
                                                        NULL, 0, &timers[0]),
                         AXO_OK);
        for (uint32_t i = 0; i < 3; i++) {
            now += 11 * MS;
            run(system);
            assert_int_equal(stats_of(system).timers, 1);
            assert_int_equal(stats_of(system).timers_fired, 3 + i);
        }
        text it = write_text(system);
        assert_true(sample_of(&it, "axo_timers{system=\"shop\"}") == 1);
        assert_true(sample_of(&it, "axo_timers_fired_total{system=\"shop\"}") == 5);
        if (figures < AXO_FIGURES_TIMES) {
            assert_null(strstr(it.bytes, "timer_late"));
        } else {
            /* two were 5 ms late, less a tick of 65.536 us; the others 1, 2 and 3 */
            double sum = sample_of(&it, "axo_timer_late_seconds_sum{system=\"shop\"}");
            assert_true(sum <= 0.016 && sum > 0.016 - 5 * 0.000065536);
            assert_true(sample_of(&it, "axo_timer_late_seconds_count{system=\"shop\"}") == 5);
            assert_true(sample_of(&it, "axo_timer_late_seconds_bucket{system=\"shop\","
                                       "le=\"0.004194304\"}") == 3);
            assert_true(sample_of(&it, "axo_timer_late_seconds_bucket{system=\"shop\","
                                       "le=\"0.008388608\"}") == 5);
        }
        free(it.bytes);
        end(system);
    }
}

/* ---- polls ---- */

static void polls_are_counted(void **state)
{
    axo_system *system = start((axo_options)AXO_OPTIONS(.manual = 1));
    axo_ref one = spawn(system, (axo_props)AXO_PROPS(.cls = &red));
    assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
    run(system);
    assert_int_equal(stats_of(system).polls, 0); /* nothing is watched */
    tell(system, one, TAG_WATCH, 1);
    run(system);
    for (uint64_t i = 0; i < 3; i++) {
        uint64_t polls = stats_of(system).polls;
        assert_int_equal(stats_of(system).poll_events, i);
        assert_int_equal(write(ends[1], "x", 1), 1);
        run(system);
        assert_int_equal(stats_of(system).poll_events, i + 1);
        assert_true(stats_of(system).polls > polls);
    }
    text it = write_text(system);
    assert_true(sample_of(&it, "axo_poll_events_total{system=\"shop\"}") == 3);
    assert_true(sample_of(&it, "axo_polls_total{system=\"shop\"}") ==
                (double)stats_of(system).polls);
    assert_true(sample_of(&it, "axo_watched_descriptors{system=\"shop\"}") == 1);
    free(it.bytes);
    tell(system, one, TAG_UNWATCH, 1);
    run(system);
    uint64_t polls = stats_of(system).polls;
    run(system);
    assert_int_equal(stats_of(system).polls, polls); /* no more */
    end(system);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

/* A worker that sleeps in the poll is woken by what it finds. The actor has done with a byte before
 * the next one is written: else it may find that by itself, and no poll does. */
static void polls_on_threads(void **state)
{
    axo_system *system = start((axo_options)AXO_OPTIONS(.workers = 2));
    axo_ref one = spawn(system, (axo_props)AXO_PROPS(.cls = &red));
    assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
    tell(system, one, TAG_WATCH, 1);
    reads = 0;
    for (uint32_t i = 0; i < 20; i++) {
        while (stats_of(system).handled < i + 1)
            (void)sched_yield();
        uint64_t before = stats_of(system).poll_events;
        assert_int_equal(write(ends[1], "x", 1), 1);
        for (uint32_t k = 0; k < 30000 && stats_of(system).poll_events == before; k++)
            sleep_for(MS / 10);
        assert_true(stats_of(system).poll_events > before); /* found behind the write */
        while (reads < i + 1)
            (void)sched_yield();
        tell(system, one, TAG_NOTE, 1);
    }
    assert_true(stats_of(system).polls > 0);
    end(system);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whose_is_the_longest),
        cmocka_unit_test(wherever_messages_lie),
        cmocka_unit_test(one_that_runs_is_asked),
        cmocka_unit_test(a_bounded_mailbox_counts),
        cmocka_unit_test(from_another_system),
        cmocka_unit_test(awake_by_hand),
        cmocka_unit_test(awake_on_threads),
        cmocka_unit_test(timers_are_counted),
        cmocka_unit_test(polls_are_counted),
        cmocka_unit_test(polls_on_threads),
    };
    assert_int_equal(sem_init(&inside, 0, 0), 0);
    assert_int_equal(sem_init(&go, 0, 0), 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
