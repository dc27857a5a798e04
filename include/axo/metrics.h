/* metrics.h - the figures of a system: what each class of actors does and how long it takes, and
 * all that a system counts as text for Prometheus and what reads the same. A whole program is
 * test/example/metrics.c. */
#ifndef AXO_METRICS_H
#define AXO_METRICS_H

#include <axo/actor.h>
#include <axo/init.h>

/* axo_options.figures. Measured with two actors that answer each other, on a machine where a
 * message takes 35 ns without figures and a reading of the clock 18. */
typedef enum axo_figures {
    AXO_FIGURES_NONE = 0,
    AXO_FIGURES_COUNTS = 1, /* messages, failures and restarts of each class: 13 ns more a
                               message */
    AXO_FIGURES_TIMES = 2   /* also how long handlers take and messages wait: 106 ns more, half
                               of them three readings of the clock */
} axo_figures;

/* Classes that are told apart, by their names (axo_class.name, "actor" without one), from the first
 * message, failure or restart of one on, or when a message of one waits and somebody looks. Those
 * that come later are one class, "other", which has its place from the start. No count is lost for
 * want of memory, but times are. */
#define AXO_METRICS_CLASSES_MAX 128
/* Bytes of a class's name that are kept, the zero among them. */
#define AXO_METRICS_NAME 64

/* How often something took how long: buckets, four in each octave from 128 ns to 137 s. A bucket
 * has the times above the bound of the one before, up to its own (axo_metrics_bound). */
#define AXO_METRICS_BUCKETS 122
typedef struct axo_metrics_times {
    uint64_t count;                       /* the sum of the buckets */
    uint64_t sum_ns;
    uint64_t buckets[AXO_METRICS_BUCKETS];
} axo_metrics_times;

/* What is known of a class, of all workers together, since axo_system_start. At rest the classes'
 * sums are those of axo_stats. The library makes it; a later one may have more behind this. */
typedef struct axo_metrics_class {
    const char *name;           /* lives during the call */
    uint64_t handled;           /* messages, as axo_stats.handled */
    uint64_t failures;          /* as axo_stats.failures */
    uint64_t restarts;          /* as axo_stats.restarts */
    axo_metrics_times handler;  /* each call of receive, also for what is not counted as handled */
    axo_metrics_times mailbox;  /* from the send of a message to its first receive, the wait for
                                   room included. Messages whose payload was handed over, that are
                                   bound to an instance, PoisonPill, Kill, and the runtime's own are
                                   not timed: their envelopes have no room for it */
    uint64_t longest;           /* messages in the longest mailbox of its actors now, the running
                                   one and stashed ones not among them; see axo_metrics_classes */
    axo_ref longest_actor;      /* whose it is; none if `longest` is 0 */
} axo_metrics_class;

/* How axo_metrics_write writes. */
typedef enum axo_metrics_format {
    AXO_METRICS_OPENMETRICS = 0, /* application/openmetrics-text; version=1.0.0; charset=utf-8 */
    AXO_METRICS_PROMETHEUS = 1   /* text/plain; version=0.0.4: what promtool checks */
} axo_metrics_format;

AXO_BEGIN_DECLS

/* Called for a class. A status other than AXO_OK ends the visit. */
typedef axo_status (*axo_metrics_class_fn)(void *user, const axo_metrics_class *figures);

/* Has `fn` called for each class, in the order in which they came. Counters are read one by one
 * while actors run; none of them goes back. `longest` is what a look at all actors finds, which
 * takes a step for each actor, and for each message up to AXO_INSPECT_MAX an actor. One that has a
 * worker inside cannot be looked into, unless its mailbox is bounded: it counts its messages itself
 * at the end of that turn, if it leaves some turn after turn, and the next look has the number.
 *   thread    any; `fn` runs on the caller's, with no lock held
 *   blocks    while another thread looks; takes no memory
 *   returns   AXO_OK; what `fn` returned; AXO_EINVAL (NULL), AXO_ENOENT (axo_options.figures is 0),
 *             AXO_EFORKED */
AXO_API axo_status axo_metrics_classes(axo_system *system, axo_metrics_class_fn fn, void *user);

/* The longest time in ns that a bucket has, INT64_MAX for the last one; 0 for a number that is no
 * bucket's. Any thread. */
AXO_API int64_t axo_metrics_bound(uint32_t bucket);

/* Takes a piece of text, without a closing zero. A status other than AXO_OK ends the writing. */
typedef axo_status (*axo_metrics_write_fn)(void *user, const char *text, size_t size);

/* Writes all figures of the system as text in pieces of up to 1.5 KiB: AXO_STATS_LIST, dead letters
 * by reason, watched descriptors, threads of the blocking dispatcher, for how long each worker of
 * the default one has been awake and asleep, the longest mailbox (as `longest` above) and the path
 * of who has it, cut to 127 bytes; and if axo_options.figures says so, of each class what
 * axo_metrics_class has, and with times how late timers fired. Each sample has the system's name as
 * its label "system", those of classes the class's as "class", of workers the number as "worker",
 * of the longest mailbox the path as "actor". Times are in seconds; of their buckets every fourth
 * is written, an octave each.
 *   format    an axo_metrics_format
 *   thread    any, actors too; `write` runs on the caller's, with no lock held
 *   blocks    as axo_system_stats, and while another thread looks; takes no memory
 *   returns   AXO_OK; what `write` returned; AXO_EINVAL (NULL, no such format), AXO_EFORKED */
AXO_API axo_status axo_metrics_write(axo_system *system, uint32_t format,
                                     axo_metrics_write_fn write, void *user);

AXO_END_DECLS

#endif
