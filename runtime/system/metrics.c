/* metrics.c - the figures of a system as text.
 *
 * All samples of a family stand together, as both formats want it, so the classes are gone through
 * once for each family; what is summed is on the stack, and so is the text until it is given to the
 * program's function. The formats differ in three things: the name by which a counter's family is
 * known, units, and the mark at the end. */
#include "system/metrics.h"

#include <inttypes.h>
#include <string.h>

#include "base/aside.h"
#include "base/border.h"
#include "base/record.h"
#include "os/os.h"
#include "sched/figures.h"
#include "sched/io.h"
#include "sched/kinds.h"
#include "sched/longest.h"
#include "system/pools.h"

/* Text is handed on when less than a line's room is left: a line is a name, the system's, which
 * is ASCII, a class's, whose bytes are up to three each (U+FFFD), and a number. */
#define METRICS_TEXT 1536
#define METRICS_LINE 768
AXO_STATIC_ASSERT(3 * AXO_METRICS_NAME + AXO_NAME_MAX + 256 < METRICS_LINE, "a line's room");
AXO_STATIC_ASSERT(3 * AXO__LONGEST_PATH + AXO_NAME_MAX + 96 < METRICS_LINE, "a path's, too");

#define METRICS_SECOND UINT64_C(1000000000)

typedef struct metrics {
    axo_system *system;
    axo_metrics_format format;
    axo_metrics_write_fn write;
    void *user;
    axo_status status; /* not OK: nothing is written any more */
    axo__text_out out;
    char text[METRICS_TEXT];
} metrics;

/* ---- text ---- */

static void metrics_flush(metrics *it)
{
    size_t size = (size_t)(it->out.at - it->text);
    AXO_DEBUG_ASSERT(!it->out.cut);
    if (size > 0 && it->status == AXO_OK) {
        int before = axo__os_cancel_hold();
        axo__aside++;
        AXO_BORDER();
        it->status = it->write(it->user, it->text, size);
        axo__aside--;
        axo__core_back(&it->system->core);
        axo__os_cancel_let(before);
    }
    it->out = axo__text_begin(it->text, sizeof it->text);
}

/* Makes room for a line. */
static axo__text_out *metrics_line(metrics *it)
{
    if (it->out.end - it->out.at < METRICS_LINE)
        metrics_flush(it);
    return &it->out;
}

/* A label's value: backslashes, quotes and line feeds are written as escapes, what is no UTF-8 as
 * U+FFFD. */
static void metrics_label(axo__text_out *out, const char *name, const char *value)
{
    const unsigned char *at = (const unsigned char *)value;
    axo__text_add(out, "%s=\"", name);
    while (*at != 0) {
        bool whole;
        uint32_t taken = axo__text_utf8(at, &whole);
        if (!whole)
            axo__text_bytes(out, "\xef\xbf\xbd", 3);
        else if (*at == '\n')
            axo__text_bytes(out, "\\n", 2);
        else if (*at == '\\' || *at == '"')
            axo__text_add(out, "\\%c", *at);
        else
            axo__text_bytes(out, at, taken);
        at += taken;
    }
    axo__text_bytes(out, "\"", 1);
}

/* A family's head. A counter's samples end with _total, and in the older format its family does. */
static void metrics_head(metrics *it, const char *name, const char *kind, const char *unit,
                         const char *help)
{
    bool open = it->format == AXO_METRICS_OPENMETRICS;
    const char *total = !open && strcmp(kind, "counter") == 0 ? "_total" : "";
    axo__text_add(metrics_line(it), "# TYPE axo_%s%s %s\n", name, total, kind);
    if (open && unit[0] != 0)
        axo__text_add(metrics_line(it), "# UNIT axo_%s %s\n", name, unit);
    axo__text_add(metrics_line(it), "# HELP axo_%s%s %s.\n", name, total, help);
}

/* The beginning of a sample, up to its labels, which stay open. */
static axo__text_out *metrics_sample(metrics *it, const char *name, const char *suffix)
{
    axo__text_out *out = metrics_line(it);
    axo__text_add(out, "axo_%s%s{", name, suffix);
    metrics_label(out, "system", it->system->name);
    return out;
}

static void metrics_more(axo__text_out *out, const char *name, const char *value)
{
    axo__text_bytes(out, ",", 1);
    metrics_label(out, name, value);
}

static void metrics_number(axo__text_out *out, uint64_t number)
{
    axo__text_add(out, "} %" PRIu64 "\n", number);
}

/* ---- the system ---- */

static void metrics_one(metrics *it, const char *name, const char *kind, const char *unit,
                        const char *help, uint64_t number)
{
    metrics_head(it, name, kind, unit, help);
    metrics_number(metrics_sample(it, name, strcmp(kind, "counter") == 0 ? "_total" : ""), number);
}

/* The list has every field of the struct, in its order. */
typedef struct metrics_listed {
    size_t size;
#define METRICS_FIELD(name, kind, help) uint64_t name;
    AXO_STATS_LIST(METRICS_FIELD)
#undef METRICS_FIELD
} metrics_listed;
#define METRICS_SAME(name, kind, help)                                                             \
    AXO_STATIC_ASSERT(offsetof(metrics_listed, name) == offsetof(axo_stats, name), "in its order");
AXO_STATS_LIST(METRICS_SAME)
#undef METRICS_SAME
AXO_STATIC_ASSERT(sizeof(metrics_listed) == sizeof(axo_stats), "every field is listed");

static void metrics_stats(metrics *it)
{
    axo_stats stats;
    memset(&stats, 0, sizeof stats);
    axo__pools_stats(it->system, &stats);
#define METRICS_STAT(name, kind, help)                                                             \
    metrics_one(it, #name, #kind, strcmp(#name, "memory_bytes") == 0 ? "bytes" : "", help,         \
                stats.name);
    AXO_STATS_LIST(METRICS_STAT)
#undef METRICS_STAT
}

static void metrics_dead_letters(metrics *it)
{
    static const struct {
        uint32_t reason;
        const char *name;
    } reasons[] = {{AXO_DEAD_GONE, "gone"},
                   {AXO_DEAD_STOPPED, "stopped"},
                   {AXO_DEAD_OVERFLOW, "overflow"},
                   {AXO_DEAD_DROPPED, "dropped"},
                   {AXO_DEAD_POISON, "poison"}};
    metrics_head(it, "dead_letters", "counter", "", "Messages that became dead letters, by reason");
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++) {
        axo__text_out *out = metrics_sample(it, "dead_letters", "_total");
        metrics_more(out, "reason", reasons[i].name);
        metrics_number(out, axo__book_count(&it->system->book, reasons[i].reason));
    }
}

static void metrics_threads(metrics *it)
{
    axo_system *system = it->system;
    const axo__io *io = axo__io_of(&system->sched);
    uint64_t watched = io != NULL ? axo__a32_load_relaxed(&io->watched) : 0;
    metrics_one(it, "workers", "gauge", "", "Workers of the default dispatcher",
                system->sched.worker_count);
    metrics_one(it, "blocking_threads", "gauge", "", "Threads of the blocking dispatcher",
                axo__pools_live(system));
    metrics_one(it, "watched_descriptors", "gauge", "", "Descriptors that actors watch", watched);
}

/* Nanoseconds as seconds, exactly. */
static void metrics_seconds(axo__text_out *out, uint64_t ns)
{
    axo__text_add(out, "%" PRIu64 ".%09" PRIu64, ns / METRICS_SECOND, ns % METRICS_SECOND);
}

/* What each worker of the default dispatcher has spent awake, or asleep. */
static void metrics_rest(metrics *it, const char *name, const char *help, bool asleep)
{
    axo_system *system = it->system;
    metrics_head(it, name, "counter", "seconds", help);
    for (uint32_t i = 0; i < system->sched.worker_count && it->status == AXO_OK; i++) {
        uint64_t awake_ns;
        uint64_t slept_ns;
        axo__pools_rest(system, i, &awake_ns, &slept_ns);
        axo__text_out *out = metrics_sample(it, name, "_total");
        axo__text_add(out, ",worker=\"%" PRIu32 "\"} ", i);
        metrics_seconds(out, asleep ? slept_ns : awake_ns);
        axo__text_add(out, "\n");
    }
}

static void metrics_workers(metrics *it)
{
    metrics_rest(it, "worker_busy_seconds",
                 "Time that workers of the default dispatcher were awake: in turns, or looking "
                 "for work",
                 false);
    metrics_rest(it, "worker_parked_seconds", "Time that these workers slept", true);
}

/* ---- classes ---- */

/* A count of each class, by its offset in `of`, into which each is read. */
static void metrics_count(metrics *it, axo_metrics_class *of, const char *name, const char *help,
                          size_t offset)
{
    uint32_t classes = axo__figures_classes(it->system->core.figures);
    metrics_head(it, name, "counter", "", help);
    for (uint32_t i = 0; i < classes && it->status == AXO_OK; i++) {
        uint64_t number;
        axo__figures_read(it->system->core.figures, i, of);
        memcpy(&number, (const char *)of + offset, sizeof number);
        axo__text_out *out = metrics_sample(it, name, "_total");
        metrics_more(out, "class", of->name);
        metrics_number(out, number);
    }
}

/* A sample of a histogram, its labels still open. `cls`: NULL: it is of no class. */
static axo__text_out *metrics_time(metrics *it, const char *name, const char *suffix,
                                   const char *cls)
{
    axo__text_out *out = metrics_sample(it, name, suffix);
    if (cls != NULL)
        metrics_more(out, "class", cls);
    return out;
}

/* Every fourth bucket, an octave's end, and the last one, which has no bound. */
static void metrics_buckets(metrics *it, const char *name, const char *cls,
                            const axo_metrics_times *times)
{
    uint64_t sum = 0;
    axo__text_out *out;
    for (uint32_t i = 0; i < AXO_METRICS_BUCKETS - 1; i++) {
        sum += times->buckets[i];
        if (i % 4 != 0)
            continue;
        out = metrics_time(it, name, "_bucket", cls);
        axo__text_add(out, ",le=\"");
        metrics_seconds(out, (uint64_t)axo__figures_bound(i));
        axo__text_add(out, "\"} %" PRIu64 "\n", sum);
    }
    out = metrics_time(it, name, "_bucket", cls);
    axo__text_add(out, ",le=\"+Inf\"} %" PRIu64 "\n", times->count);
    metrics_number(metrics_time(it, name, "_count", cls), times->count);
    out = metrics_time(it, name, "_sum", cls);
    axo__text_add(out, "} ");
    metrics_seconds(out, times->sum_ns);
    axo__text_add(out, "\n");
}

static void metrics_times(metrics *it, axo_metrics_class *of, const char *name, const char *help,
                          const axo_metrics_times *times)
{
    uint32_t classes = axo__figures_classes(it->system->core.figures);
    metrics_head(it, name, "histogram", "seconds", help);
    for (uint32_t i = 0; i < classes && it->status == AXO_OK; i++) {
        axo__figures_read(it->system->core.figures, i, of);
        metrics_buckets(it, name, of->name, times);
    }
}

/* ---- mailboxes ---- */

static void metrics_class_longest(metrics *it, const axo__longest *longest)
{
    uint32_t classes = axo__figures_classes(it->system->core.figures);
    metrics_head(it, "class_longest_mailbox", "gauge", "",
                 "Messages in the longest mailbox of an actor of the class");
    for (uint32_t i = 0; i < classes && it->status == AXO_OK; i++) {
        axo__text_out *out = metrics_sample(it, "class_longest_mailbox", "");
        metrics_more(out, "class", it->system->core.figures->classes[i].name);
        metrics_number(out, longest->classes[i].count);
    }
}

static __attribute__((noinline)) void metrics_longest(metrics *it)
{
    axo__longest longest;
    axo__longest_look(&it->system->core, &longest);
    metrics_head(it, "longest_mailbox", "gauge", "",
                 "Messages in the longest mailbox, and whose it is");
    axo__text_out *out = metrics_sample(it, "longest_mailbox", "");
    metrics_more(out, "actor", longest.path);
    metrics_number(out, longest.count);
    if (it->system->core.figures != NULL)
        metrics_class_longest(it, &longest);
}

/* ---- all ---- */

static __attribute__((noinline)) void metrics_classes(metrics *it)
{
    const axo__figures *figures = it->system->core.figures;
    axo_metrics_class of;
    metrics_count(it, &of, "class_handled", "Messages handled by actors of the class",
                  offsetof(axo_metrics_class, handled));
    metrics_count(it, &of, "class_failures", "Failures of actors of the class",
                  offsetof(axo_metrics_class, failures));
    metrics_count(it, &of, "class_restarts", "Restarts of actors of the class",
                  offsetof(axo_metrics_class, restarts));
    if (!figures->times)
        return;
    metrics_times(it, &of, "class_handler_seconds", "How long calls of receive took",
                  &of.handler);
    metrics_times(it, &of, "class_mailbox_seconds", "How long messages waited for their receive",
                  &of.mailbox);
    axo__figures_read_late(figures, &of.handler);
    metrics_head(it, "timer_late_seconds", "histogram", "seconds",
                 "How late timers fired");
    metrics_buckets(it, "timer_late_seconds", NULL, &of.handler);
}

axo_status axo__metrics_write(axo_system *system, axo_metrics_format format,
                              axo_metrics_write_fn write, void *user)
{
    metrics it;
    it.system = system;
    it.format = format;
    it.write = write;
    it.user = user;
    it.status = AXO_OK;
    it.out = axo__text_begin(it.text, sizeof it.text);
    metrics_stats(&it);
    metrics_dead_letters(&it);
    metrics_threads(&it);
    metrics_workers(&it);
    metrics_longest(&it);
    if (system->core.figures != NULL)
        metrics_classes(&it);
    if (format == AXO_METRICS_OPENMETRICS)
        axo__text_add(metrics_line(&it), "# EOF\n");
    metrics_flush(&it);
    return it.status;
}

/* What a class has lies on the stack while the program is told of it, apart from what was looked
 * for before. */
static __attribute__((noinline)) axo_status
metrics_tell(axo_system *system, uint32_t number, const struct axo__longest_class *longest,
             axo_metrics_class_fn fn, void *user)
{
    axo_metrics_class of;
    axo__figures_read(system->core.figures, number, &of);
    of.longest = longest->count;
    of.longest_actor = longest->actor;
    int before = axo__os_cancel_hold();
    axo__aside++;
    AXO_BORDER();
    axo_status status = fn(user, &of);
    axo__aside--;
    axo__core_back(&system->core);
    axo__os_cancel_let(before);
    return status;
}

axo_status axo__metrics_classes(axo_system *system, axo_metrics_class_fn fn, void *user)
{
    axo__longest longest;
    axo_status status = AXO_OK;
    axo__longest_look(&system->core, &longest);
    uint32_t classes = axo__figures_classes(system->core.figures);
    for (uint32_t i = 0; i < classes && status == AXO_OK; i++)
        status = metrics_tell(system, i, &longest.classes[i], fn, user);
    return status;
}
