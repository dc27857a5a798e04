/* metrics_test.c - figures by class: exactly what was handled, has failed and was restarted, on
 * workers and by hand; times of every call; text in pieces; what is refused. What the text is worth
 * to those that read it: metrics_test.sh. */
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <axo/axo.h>

#include "support/cmocka.h"

enum {
    TAG_NOTE = 1, TAG_FAIL, TAG_STASH, TAG_UNSTASH, TAG_PASS, TAG_WAIT, TAG_THROW, TAG_UNKNOWN,
    TAG_ASK
};

#define MS INT64_C(1000000)

static int64_t wait_ns; /* of TAG_WAIT, by the operating system's clock */
static axo_status asked;

static axo_status count_no_more(void *user, const axo_metrics_class *of)
{
    (void)of;
    return ++*(int *)user == 1 ? AXO_EFULL : AXO_OK;
}

static axo_status on_message(axo_ctx *ctx, void *state, const axo_message *message)
{
    struct timespec now;
    (void)state;
    switch (message->tag) {
    case TAG_FAIL:
        return axo_fail(ctx, 1, NULL);
    case TAG_THROW:
        axo_throw(ctx, 1, NULL);
    case TAG_STASH:
        return axo_stash(ctx);
    case TAG_UNSTASH:
        (void)axo_unstash_all(ctx);
        return AXO_OK;
    case TAG_PASS: {
        axo_ref to;
        memcpy(&to, message->payload, sizeof to);
        return axo_send(ctx, to, TAG_NOTE, NULL, 0);
    }
    case TAG_WAIT:
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        for (struct timespec then = now;
             (now.tv_sec - then.tv_sec) * 1000 * MS + now.tv_nsec - then.tv_nsec < wait_ns;)
            (void)clock_gettime(CLOCK_MONOTONIC, &now);
        return AXO_OK;
    case TAG_ASK: {
        int calls = 0;
        asked = axo_metrics_classes(axo_system_of(ctx), count_no_more, &calls);
        return AXO_OK;
    }
    case TAG_UNKNOWN:
        return AXO_UNHANDLED;
    default:
        return AXO_OK;
    }
}

static const axo_class red = AXO_CLASS(.name = "red", .receive = on_message);
static const axo_class blue = AXO_CLASS(.name = "blue", .receive = on_message);
static const axo_class nameless = AXO_CLASS(.receive = on_message);

static axo_system *start(axo_options options)
{
    axo_system *system;
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    return system;
}

static void end(axo_system *system)
{
    assert_int_equal(axo_system_stop(system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
}

static axo_ref spawn_with(axo_system *system, axo_props props)
{
    axo_ref ref;
    assert_int_equal(axo_system_spawn(system, &props, &ref), AXO_OK);
    return ref;
}

static axo_ref spawn(axo_system *system, const axo_class *cls)
{
    return spawn_with(system, (axo_props)AXO_PROPS(.cls = cls));
}

static void tell(axo_system *system, axo_ref to, uint32_t tag, uint64_t times)
{
    for (uint64_t i = 0; i < times; i++)
        assert_int_equal(axo_system_send(system, to, tag, NULL, 0), AXO_OK);
}

static void run(axo_system *system)
{
    assert_int_equal(axo_run_host(system, -1, NULL), AXO_OK);
}

/* ---- what is found ---- */

typedef struct found {
    const char *name;
    uint32_t times;
    uint32_t classes;
    axo_metrics_class of;
    uint64_t handled; /* of all classes, as the next two */
    uint64_t failures;
    uint64_t restarts;
} found;

static axo_status find_class(void *user, const axo_metrics_class *of)
{
    found *it = user;
    uint64_t sum = 0;
    it->classes++;
    it->handled += of->handled;
    it->failures += of->failures;
    it->restarts += of->restarts;
    for (uint32_t i = 0; i < AXO_METRICS_BUCKETS; i++)
        sum += of->handler.buckets[i];
    assert_int_equal(sum, of->handler.count);
    if (strcmp(of->name, it->name) == 0) {
        it->of = *of;
        it->times++;
    }
    return AXO_OK;
}

static found find(axo_system *system, const char *name)
{
    found it = {.name = name};
    assert_int_equal(axo_metrics_classes(system, find_class, &it), AXO_OK);
    assert_true(it.times <= 1);
    return it;
}

/* The classes' sums are the system's. */
static void sums_are_right(axo_system *system)
{
    axo_stats stats = AXO_STATS();
    found it = find(system, "");
    assert_int_equal(axo_system_stats(system, &stats), AXO_OK);
    assert_int_equal(it.handled, stats.handled);
    assert_int_equal(it.failures, stats.failures);
    assert_int_equal(it.restarts, stats.restarts);
}

static void counts_are(axo_system *system, const char *name, uint64_t handled, uint64_t failures,
                       uint64_t restarts)
{
    found it = find(system, name);
    assert_int_equal(it.times, 1);
    assert_int_equal(it.of.handled, handled);
    assert_int_equal(it.of.failures, failures);
    assert_int_equal(it.of.restarts, restarts);
}

/* ---- text ---- */

typedef struct text {
    char *bytes;
    size_t size;
    uint32_t pieces;
    uint32_t last; /* the piece after which no more is wanted; 0: all are */
} text;

static axo_status text_take(void *user, const char *bytes, size_t size)
{
    text *it = user;
    assert_true(size > 0 && size <= 1536);
    it->bytes = realloc(it->bytes, it->size + size + 1);
    assert_non_null(it->bytes);
    memcpy(it->bytes + it->size, bytes, size);
    it->size += size;
    it->bytes[it->size] = 0;
    return ++it->pieces == it->last ? AXO_EFULL : AXO_OK;
}

static text write_text(axo_system *system, uint32_t format)
{
    text it = {.bytes = NULL};
    assert_int_equal(axo_metrics_write(system, format, text_take, &it), AXO_OK);
    assert_int_equal(strlen(it.bytes), it.size);
    return it;
}

/* The number behind a sample's name and labels; it is there once. */
static double sample(const text *it, const char *name)
{
    char line[256];
    (void)snprintf(line, sizeof line, "\n%s ", name);
    const char *at = strstr(it->bytes, line);
    assert_non_null(at);
    assert_null(strstr(at + 1, line));
    return strtod(at + strlen(line), NULL);
}

/* ---- tests ---- */

static void each_way_of_a_message(void **state)
{
    for (uint32_t figures = AXO_FIGURES_COUNTS; figures <= AXO_FIGURES_TIMES; figures++) {
        axo_system *system = start((axo_options)AXO_OPTIONS(.manual = 1, .figures = figures));
        axo_ref ref = spawn(system, &red);
        axo_ref other = spawn(system, &nameless);
        tell(system, ref, TAG_NOTE, 5);
        tell(system, ref, TAG_UNKNOWN, 2);
        run(system);
        counts_are(system, "red", 7, 0, 0);
        tell(system, ref, TAG_STASH, 3);
        run(system);
        counts_are(system, "red", 7, 0, 0); /* received, and not handled yet */
        tell(system, ref, TAG_FAIL, 1);
        run(system); /* the stash comes back in front, and is stashed again */
        counts_are(system, "red", 8, 1, 1);
        tell(system, ref, TAG_THROW, 2);
        assert_int_equal(axo_system_send(system, ref, TAG_PASS, &other, sizeof other), AXO_OK);
        assert_int_equal(axo_system_kill(system, ref), AXO_OK);
        run(system);
        counts_are(system, "red", 12, 4, 3); /* who is killed is stopped */
        counts_are(system, "actor", 1, 0, 0);
        assert_int_equal(axo_system_poison(system, other), AXO_OK);
        run(system);
        counts_are(system, "actor", 2, 0, 0);
        found it = find(system, "red");
        if (figures == AXO_FIGURES_COUNTS)
            assert_int_equal(it.of.handler.count + it.of.mailbox.count, 0);
        sums_are_right(system);
        end(system);
    }
}

static void drop(void *payload, void *user)
{
    (void)user;
    free(payload);
}

/* Each receive is timed; each message from its send to its first receive. */
static void each_time_is_there(void **state)
{
    axo_mailbox fifo = AXO_MAILBOX(.messages_max = 100);
    axo_system *system =
        start((axo_options)AXO_OPTIONS(.manual = 1, .figures = AXO_FIGURES_TIMES));
    axo_ref ref = spawn(system, &red);
    axo_ref bound = spawn_with(system, (axo_props)AXO_PROPS(.cls = &blue, .mailbox = &fifo));
    wait_ns = 3 * MS;
    tell(system, ref, TAG_NOTE, 10);
    tell(system, ref, TAG_STASH, 2);
    tell(system, ref, TAG_UNSTASH, 1);
    assert_int_equal(axo_system_send(system, ref, TAG_PASS, &bound, sizeof bound), AXO_OK);
    tell(system, bound, TAG_WAIT, 2);
    tell(system, bound, TAG_NOTE, 3);
    assert_int_equal(
        axo_system_send_owned(system, bound, TAG_NOTE, malloc(1), 1, drop, NULL), AXO_OK);
    tell(system, bound, TAG_STASH, 1);
    run(system);
    /* stashed ones are received again, as is the one that the second receive has stashed */
    found it = find(system, "red");
    assert_int_equal(it.of.handler.count, 10 + 2 + 1 + 1 + 2);
    assert_int_equal(it.of.mailbox.count, 14);
    it = find(system, "blue");
    assert_int_equal(it.of.handler.count, 2 + 3 + 1 + 1 + 1);
    assert_int_equal(it.of.mailbox.count, 2 + 3 + 1 + 1); /* not the owned one */
    assert_true(it.of.handler.sum_ns >= (uint64_t)(2 * wait_ns));
    assert_true(it.of.mailbox.sum_ns >= (uint64_t)(2 * wait_ns));
    uint64_t slow = 0;
    for (uint32_t i = 0; i < AXO_METRICS_BUCKETS; i++) {
        if (axo_metrics_bound(i) >= wait_ns)
            slow += it.of.handler.buckets[i];
    }
    assert_true(slow >= 2);
    end(system);
}

static void buckets(void **state)
{
    assert_int_equal(axo_metrics_bound(0), 128);
    assert_int_equal(axo_metrics_bound(4), 256);
    assert_int_equal(axo_metrics_bound(AXO_METRICS_BUCKETS - 2), INT64_C(1) << 37);
    assert_int_equal(axo_metrics_bound(AXO_METRICS_BUCKETS - 1), INT64_MAX);
    assert_int_equal(axo_metrics_bound(AXO_METRICS_BUCKETS), 0);
    for (uint32_t i = 1; i < AXO_METRICS_BUCKETS; i++)
        assert_true(axo_metrics_bound(i) > axo_metrics_bound(i - 1));
}

/* Many senders, several workers, pinned and blocking ones; nothing is lost when threads end. */
static void on_workers(void **state)
{
    enum { ACTORS = 24, EACH = 500 };
    static const axo_dispatcher where[] = {AXO_DISPATCH_DEFAULT, AXO_DISPATCH_PINNED,
                                           AXO_DISPATCH_BLOCKING};
    axo_system *system = start((axo_options)AXO_OPTIONS(.workers = 3, .figures = AXO_FIGURES_TIMES,
                                                        .blocking_idle_ms = 1));
    for (uint32_t round = 0; round < 2; round++) {
        axo_ref refs[ACTORS];
        for (uint32_t i = 0; i < ACTORS; i++)
            refs[i] = spawn_with(system, (axo_props)AXO_PROPS(.cls = i % 2 != 0 ? &red : &blue,
                                                              .dispatcher = where[i % 3]));
        for (uint32_t k = 0; k < EACH; k++) {
            for (uint32_t i = 0; i < ACTORS; i++) {
                if (k % 100 == 50)
                    tell(system, refs[i], TAG_FAIL, 1);
                else
                    assert_int_equal(axo_system_send(system, refs[i], TAG_PASS,
                                                     &refs[(i + 2) % ACTORS], sizeof *refs),
                                     AXO_OK);
            }
        }
        axo_stats stats = AXO_STATS();
        uint64_t all = (uint64_t)(round + 1) * ACTORS * (EACH + EACH - EACH / 100);
        do {
            (void)sched_yield();
            assert_int_equal(axo_system_stats(system, &stats), AXO_OK);
        } while (stats.handled < all || stats.restarts < (round + 1) * ACTORS * (EACH / 100));
        uint64_t half = (uint64_t)(round + 1) * ACTORS / 2;
        uint64_t fails = EACH / 100;
        counts_are(system, "red", half * (EACH + EACH - fails), half * fails, half * fails);
        counts_are(system, "blue", half * (EACH + EACH - fails), half * fails, half * fails);
        for (uint32_t i = 0; i < ACTORS; i++)
            assert_int_equal(axo_system_stop_actor(system, refs[i]), AXO_OK);
        do {
            (void)sched_yield();
            assert_int_equal(axo_system_stats(system, &stats), AXO_OK);
        } while (stats.terminated < (round + 1) * ACTORS);
        sums_are_right(system);
        found it = find(system, "red");
        assert_int_equal(it.of.handler.count, it.of.handled);
        assert_int_equal(it.of.mailbox.count, it.of.handled);
    }
    end(system);
}

/* A class is its name: two of one name are one, one whose memory is another's by now is another. */
static void a_class_is_its_name(void **state)
{
    axo_class again = AXO_CLASS(.name = "red", .receive = on_message);
    char name[2 * AXO_METRICS_NAME] = "first";
    axo_class *made = malloc(sizeof *made);
    assert_non_null(made);
    *made = (axo_class)AXO_CLASS(.name = name, .receive = on_message);
    axo_system *system =
        start((axo_options)AXO_OPTIONS(.manual = 1, .figures = AXO_FIGURES_COUNTS));
    axo_ref refs[] = {spawn(system, &red), spawn(system, &again), spawn(system, made)};
    for (uint32_t i = 0; i < 3; i++)
        tell(system, refs[i], TAG_NOTE, 1);
    run(system);
    counts_are(system, "red", 2, 0, 0);
    counts_are(system, "first", 1, 0, 0);
    assert_int_equal(axo_system_stop_actor(system, refs[2]), AXO_OK);
    run(system);
    memset(name, 'n', sizeof name - 1); /* another class, in the same memory */
    tell(system, spawn(system, made), TAG_NOTE, 4);
    run(system);
    counts_are(system, "first", 1, 0, 0);
    name[AXO_METRICS_NAME - 1] = 0; /* as much as is kept */
    counts_are(system, name, 4, 0, 0);
    sums_are_right(system);
    end(system);
    free(made);
}

static void more_classes_than_there_are_places(void **state)
{
    enum { MANY = AXO_METRICS_CLASSES_MAX + 40 };
    static char names[MANY][16];
    static axo_class classes[MANY];
    axo_system *system =
        start((axo_options)AXO_OPTIONS(.manual = 1, .figures = AXO_FIGURES_TIMES));
    for (uint32_t i = 0; i < MANY; i++) {
        (void)snprintf(names[i], sizeof names[i], "c%u", i);
        classes[i] = (axo_class)AXO_CLASS(.name = names[i], .receive = on_message);
        axo_ref ref = spawn(system, &classes[i]);
        tell(system, ref, TAG_NOTE, i + 1);
        tell(system, ref, TAG_FAIL, 1);
    }
    run(system);
    found it = find(system, "other");
    assert_int_equal(it.classes, AXO_METRICS_CLASSES_MAX);
    assert_int_equal(it.times, 1);
    sums_are_right(system);
    uint64_t named = 0;
    uint64_t all = 0;
    for (uint32_t i = 0; i < MANY; i++) {
        found one = find(system, names[i]);
        all += i + 2;
        if (one.times == 0)
            continue;
        named++;
        assert_int_equal(one.of.handled, i + 2);
        assert_int_equal(one.of.failures, 1);
        all -= i + 2;
    }
    assert_int_equal(it.of.handled, all);
    assert_int_equal(it.of.handler.count, all);
    assert_int_equal(it.of.failures, MANY - named);
    assert_int_equal(named, AXO_METRICS_CLASSES_MAX - 1);
    end(system);
}

static void the_text_says_the_same(void **state)
{
    axo_system *system = start((axo_options)AXO_OPTIONS(.manual = 1, .name = "shop",
                                                        .figures = AXO_FIGURES_TIMES));
    axo_class odd = AXO_CLASS(.name = "a\\b\"c\nd\xff", .receive = on_message);
    axo_ref ref = spawn(system, &red);
    tell(system, spawn(system, &odd), TAG_NOTE, 3);
    tell(system, ref, TAG_NOTE, 6);
    tell(system, ref, TAG_FAIL, 1);
    run(system);
    assert_int_equal(axo_system_stop_actor(system, ref), AXO_OK);
    run(system);
    assert_int_equal(axo_system_send(system, ref, TAG_NOTE, NULL, 0), AXO_EGONE);
    text open = write_text(system, AXO_METRICS_OPENMETRICS);
    text old = write_text(system, AXO_METRICS_PROMETHEUS);
    axo_stats stats = AXO_STATS();
    assert_int_equal(axo_system_stats(system, &stats), AXO_OK);
#define SAYS(name, kind, help)                                                                     \
    assert_non_null(strstr(open.bytes, "# TYPE axo_" #name " " #kind "\n"));                       \
    assert_true(sample(&open, strcmp(#kind, "gauge") == 0                                          \
                                  ? "axo_" #name "{system=\"shop\"}"                               \
                                  : "axo_" #name "_total{system=\"shop\"}") == (double)stats.name);
    AXO_STATS_LIST(SAYS)
#undef SAYS
    assert_non_null(strstr(old.bytes, "# TYPE axo_sent_total counter\n"));
    assert_non_null(strstr(open.bytes, "# UNIT axo_memory_bytes bytes\n"));
    assert_null(strstr(old.bytes, "# UNIT"));
    assert_null(strstr(old.bytes, "# EOF"));
    assert_string_equal(open.bytes + open.size - strlen("\n# EOF\n"), "\n# EOF\n");
    assert_true(open.pieces > 1);
    const text *both[] = {&open, &old};
    for (uint32_t i = 0; i < 2; i++) {
        const text *it = both[i];
        assert_true(sample(it, "axo_dead_letters_total{system=\"shop\",reason=\"gone\"}") == 1);
        assert_true(sample(it, "axo_dead_letters_total{system=\"shop\",reason=\"dropped\"}") == 0);
        assert_true(sample(it, "axo_workers{system=\"shop\"}") == 1);
        assert_true(sample(it, "axo_class_handled_total{system=\"shop\",class=\"red\"}") == 7);
        assert_true(sample(it, "axo_class_failures_total{system=\"shop\",class=\"red\"}") == 1);
        assert_true(sample(it, "axo_class_handled_total{system=\"shop\","
                               "class=\"a\\\\b\\\"c\\nd\xef\xbf\xbd\"}") == 3);
        assert_true(sample(it, "axo_class_handler_seconds_bucket{system=\"shop\",class=\"red\","
                               "le=\"+Inf\"}") == 7);
        assert_true(sample(it, "axo_class_mailbox_seconds_count{system=\"shop\","
                               "class=\"red\"}") == 7);
        found red_class = find(system, "red");
        assert_true(sample(it, "axo_class_handler_seconds_sum{system=\"shop\",class=\"red\"}") ==
                    (double)red_class.of.handler.sum_ns / 1e9);
        uint64_t below = 0;
        for (uint32_t k = 0; k <= 12; k++)
            below += red_class.of.handler.buckets[k];
        assert_true(sample(it, "axo_class_handler_seconds_bucket{system=\"shop\",class=\"red\","
                               "le=\"0.000001024\"}") == (double)below);
        free(it->bytes);
    }
    end(system);
}

static axo_status never(void *user, const char *bytes, size_t size)
{
    (void)user, (void)bytes, (void)size;
    abort();
}

static void what_is_refused(void **state)
{
    axo_system *system = start((axo_options)AXO_OPTIONS(.manual = 1));
    axo_ref ref = spawn(system, &red);
    int calls = 0;
    assert_int_equal(axo_metrics_classes(NULL, count_no_more, &calls), AXO_EINVAL);
    assert_int_equal(axo_metrics_classes(system, NULL, NULL), AXO_EINVAL);
    assert_int_equal(axo_metrics_classes(system, count_no_more, &calls), AXO_ENOENT);
    assert_int_equal(calls, 0);
    assert_int_equal(axo_metrics_write(NULL, 0, never, NULL), AXO_EINVAL);
    assert_int_equal(axo_metrics_write(system, 2, never, NULL), AXO_EINVAL);
    assert_int_equal(axo_metrics_write(system, 0, NULL, NULL), AXO_EINVAL);
    text it = write_text(system, AXO_METRICS_OPENMETRICS); /* what is counted without figures */
    assert_true(sample(&it, "axo_actors{system=\"axo\"}") == 4);
    assert_null(strstr(it.bytes, "class"));
    it.last = it.pieces + 2;
    assert_int_equal(axo_metrics_write(system, 0, text_take, &it), AXO_EFULL);
    assert_int_equal(it.pieces, it.last);
    free(it.bytes);
    tell(system, ref, TAG_ASK, 1);
    run(system);
    assert_int_equal(asked, AXO_ENOENT);
    end(system);
    axo_options options = AXO_OPTIONS(.figures = AXO_FIGURES_TIMES + 1);
    assert_int_equal(axo_system_start(&options, &system), AXO_EINVAL);
    assert_null(system);
    options = (axo_options)AXO_OPTIONS(.figures_reserved = 1);
    assert_int_equal(axo_system_start(&options, &system), AXO_EINVAL);
    system = start((axo_options)AXO_OPTIONS(.manual = 1, .figures = AXO_FIGURES_COUNTS));
    tell(system, spawn(system, &red), TAG_ASK, 1);
    run(system);
    assert_int_equal(asked, AXO_EFULL); /* what the function said, in an actor, too */
    end(system);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_way_of_a_message),
        cmocka_unit_test(each_time_is_there),
        cmocka_unit_test(buckets),
        cmocka_unit_test(on_workers),
        cmocka_unit_test(a_class_is_its_name),
        cmocka_unit_test(more_classes_than_there_are_places),
        cmocka_unit_test(the_text_says_the_same),
        cmocka_unit_test(what_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
