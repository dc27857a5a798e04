/* report.c - classes whose messages are kept, and the reports of their failures.
 *
 * A handler is not told its class, so each class that is made has two functions of its own, which
 * know it: one for construct, one for receive. All other callbacks are the program's, and find the
 * state where they always do: the ring lies behind it.
 *
 * A failure is learnt of by its trace event, which comes on the thread of the handler, when that
 * has been left and before the failure is told to anybody. The thread remembers in whose handler it
 * is. What it remembers may be of the past, when a handler was left by axo_throw and nobody traces:
 * it is believed only if the event is of that very instance, whose block is there then. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <axo/crash.h>

#include "report.h"

/* ---- classes ---- */

static report_class classes[AXO_REPORT_CLASSES_MAX];
static uint32_t class_count;
static pthread_mutex_t class_mutex = PTHREAD_MUTEX_INITIALIZER;

/* The message that this thread's handler has; no ring: none. */
static _Thread_local struct {
    report_ring *ring;
    axo_ref actor;
    uint32_t instance;
    int64_t time;
} in_hand;

static report_ring *report_ring_of(const report_class *of, void *state)
{
    return (report_ring *)(void *)((uint8_t *)state + of->at);
}

static axo_status report_construct(const report_class *of, axo_ctx *ctx, void *state,
                                   const void *args)
{
    report_ring *ring = report_ring_of(of, state);
    *ring = (report_ring){.of = of, .args = args, .seed = axo_seed(ctx), .begun = axo_now(ctx),
                          .self = axo_self(ctx), .parent = axo_parent(ctx),
                          .instance = axo_instance(ctx)};
    return of->cls->construct != NULL ? of->cls->construct(ctx, state, args) : AXO_OK;
}

/* A message that nobody knows is no failure, but for the end of a watched one. */
static axo_status report_receive(const report_class *of, axo_ctx *ctx, void *state,
                                 const axo_message *message)
{
    report_ring *ring = report_ring_of(of, state);
    const bool pact = message->tag == AXO_TERMINATED;
    if (ring->of == NULL) /* of an instance that began as another class */
        return of->cls->receive(ctx, state, message);
    const axo_receive_fn receive = report_top(&ring->stack, of->cls);
    in_hand.time = axo_now(ctx);
    report_ring_keep(ring, in_hand.time, message);
    in_hand.ring = ring;
    in_hand.actor = ring->self;
    in_hand.instance = ring->instance;
    axo_status status = receive(ctx, state, message);
    if (status == AXO_OK || (status == AXO_UNHANDLED && !pact))
        in_hand.ring = NULL;
    return status;
}

#define REPORT_CLASSES(X)                                                                          \
    X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)  \
    X(12) X(13) X(14) X(15) X(16) X(17) X(18) X(19) X(20) X(21) X(22)  \
    X(23) X(24) X(25) X(26) X(27) X(28) X(29) X(30) X(31)
#define REPORT_FUNCTIONS(n)                                                                        \
    static axo_status report_construct_##n(axo_ctx *ctx, void *state, const void *args)            \
    {                                                                                              \
        return report_construct(&classes[n], ctx, state, args);                                    \
    }                                                                                              \
    static axo_status report_receive_##n(axo_ctx *ctx, void *state, const axo_message *message)    \
    {                                                                                              \
        return report_receive(&classes[n], ctx, state, message);                                   \
    }
REPORT_CLASSES(REPORT_FUNCTIONS)
#define REPORT_CONSTRUCT(n) report_construct_##n,
static const axo_construct_fn constructs[] = {REPORT_CLASSES(REPORT_CONSTRUCT)};
#define REPORT_RECEIVE(n) report_receive_##n,
static const axo_receive_fn receives[] = {REPORT_CLASSES(REPORT_RECEIVE)};
_Static_assert(sizeof receives / sizeof receives[0] == AXO_REPORT_CLASSES_MAX, "one for each");

/* The size of a state says how it is aligned: the ring's is a multiple of a cache line. */
static void report_class_fill(report_class *it, const axo_report_ring *ring, uint32_t number)
{
    const size_t line = AXO_STATE_ALIGN;
    const size_t own = (ring->cls->state_size + 15) / 16 * 16;
    const size_t whole = (sizeof(report_ring) + ring->record_bytes + line - 1) / line * line;
    it->cls = ring->cls;
    it->at = own;
    it->room = (whole - sizeof(report_ring)) / 8 * 8;
    it->args_size = ring->args_size;
    it->made = *ring->cls;
    it->made.state_size = own + whole;
    it->made.construct = constructs[number];
    it->made.receive = receives[number];
}

const report_class *report_class_of(const char *name, size_t size)
{
    const report_class *found = NULL;
    (void)pthread_mutex_lock(&class_mutex);
    for (uint32_t i = 0; i < class_count && found == NULL; i++) {
        const char *own = classes[i].cls->name;
        if (strlen(own) == size && memcmp(own, name, size) == 0)
            found = &classes[i];
    }
    (void)pthread_mutex_unlock(&class_mutex);
    return found;
}

static axo_status report_class_add(const axo_report_ring *ring, const axo_class **out)
{
    (void)pthread_mutex_lock(&class_mutex);
    axo_status status = class_count < AXO_REPORT_CLASSES_MAX ? AXO_OK : AXO_ELIMIT;
    if (status == AXO_OK) {
        report_class_fill(&classes[class_count], ring, class_count);
        *out = &classes[class_count++].made;
    }
    (void)pthread_mutex_unlock(&class_mutex);
    return status;
}

/* Between a handler and the library stands code of this library's, which holds nothing meanwhile,
 * so a crash there is as good as without it. Without `contain`, and where it is linked into the
 * program, there is nothing to trust. */
axo_status axo_report_class(const axo_report_ring *ring, const axo_class **out)
{
    if (out == NULL)
        return AXO_EINVAL;
    *out = NULL;
    if (ring == NULL || ring->size == 0 || ring->cls == NULL)
        return AXO_EINVAL;
    const axo_class *cls = ring->cls;
    if (ring->size != sizeof *ring || cls->size != sizeof *cls)
        return AXO_EVERSION;
    if (cls->name == NULL || cls->receive == NULL || ring->args_size > AXO_ARGS_MAX ||
        ring->record_bytes < AXO_REPORT_BYTES_MIN || ring->record_bytes > AXO_REPORT_BYTES_MAX ||
        cls->state_size > AXO_REPORT_BYTES_MAX)
        return AXO_EINVAL;
    if (report_class_of(cls->name, strlen(cls->name)) != NULL)
        return AXO_EEXIST;
    (void)axo_trust((const void *)(uintptr_t)report_construct_0);
    return report_class_add(ring, out);
}

uint64_t axo_report_seed(axo_ctx *ctx)
{
    const uint64_t *seed = report_play_seed();
    return seed != NULL ? *seed : axo_seed(ctx);
}

/* Whether the callback is the receive of an actor whose messages are kept. */
static bool report_is_in(axo_ctx *ctx)
{
    return in_hand.ring != NULL && axo_ref_equal(in_hand.actor, axo_self(ctx)) &&
           in_hand.instance == axo_instance(ctx);
}

int64_t axo_report_now(axo_ctx *ctx)
{
    return report_is_in(ctx) ? in_hand.time : axo_now(ctx);
}

static report_stack *report_stack_of(axo_ctx *ctx)
{
    return report_is_in(ctx) ? &in_hand.ring->stack : report_play_stack(ctx);
}

axo_status axo_report_become(axo_ctx *ctx, axo_receive_fn receive)
{
    report_stack *stack = report_stack_of(ctx);
    if (stack == NULL)
        return AXO_ECONTEXT;
    if (receive == NULL)
        return AXO_EINVAL;
    if (stack->depth == AXO_REPORT_BECOME_MAX)
        return AXO_ELIMIT;
    stack->tops[stack->depth++] = receive;
    return AXO_OK;
}

axo_status axo_report_unbecome(axo_ctx *ctx)
{
    report_stack *stack = report_stack_of(ctx);
    if (stack == NULL)
        return AXO_ECONTEXT;
    if (stack->depth > 0)
        stack->depth--;
    return AXO_OK;
}

/* ---- reports ---- */

struct axo_reports {
    char *directory;
    uint64_t most;
    axo_trace_fn trace; /* the program's */
    void *trace_user;
    uint64_t trace_kinds;
    _Atomic uint64_t begun; /* numbers that were given */
    _Atomic uint64_t written;
    _Atomic uint64_t missed;
    _Atomic int32_t error;
};

/* A file of a name that was not there, from this number on; -1: errno. */
static int reports_make(const axo_reports *reports, uint64_t number, char *path, size_t size)
{
    int fd = -1;
    for (uint64_t i = number; i < number + 1000000; i++) {
        (void)snprintf(path, size, "%s/report-%ld-%" PRIu64 ".axorep", reports->directory,
                       (long)getpid(), i);
        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd >= 0 || errno != EEXIST)
            break;
    }
    return fd;
}

/* The operating system's number; 0: it is written. */
static int reports_write(const axo_reports *reports, uint64_t number, uint8_t *bytes, size_t size)
{
    const size_t room = strlen(reports->directory) + 64;
    char *path = malloc(room);
    record_out out = {.bytes = bytes, .length = size, .room = size};
    out.fd = path != NULL ? reports_make(reports, number, path, room) : -1;
    if (out.fd < 0) {
        out.error = path != NULL ? errno : ENOMEM;
    } else if (record_out_flush(&out) != AXO_OK) {
        (void)unlink(path);
    }
    record_out_close(&out); /* frees the bytes, which may lie elsewhere now */
    free(path);
    return out.error;
}

static void reports_fail(axo_reports *reports, const report_ring *ring, uint32_t kind,
                         int32_t code)
{
    size_t size = 0;
    int error = 0;
    uint8_t *bytes = NULL;
    const uint64_t number = atomic_fetch_add(&reports->begun, 1);
    if (number < reports->most) {
        bytes = report_made(ring, kind, code, &size);
        error = bytes != NULL ? reports_write(reports, number + 1, bytes, size) : ENOMEM;
    }
    if (error != 0)
        atomic_store(&reports->error, error);
    atomic_fetch_add(bytes != NULL && error == 0 ? &reports->written : &reports->missed, 1);
}

/* Whether a failure of this kind can be one of receive. */
static bool reports_takes(uint32_t kind)
{
    return kind == AXO_FAILURE_ORDINARY || kind == AXO_FAILURE_FATAL ||
           kind == AXO_FAILURE_DEATH_PACT || kind == AXO_FAILURE_CRASH ||
           kind == AXO_FAILURE_STUCK || kind == AXO_FAILURE_MEMORY;
}

static void reports_trace(void *user, const axo_event *event)
{
    axo_reports *reports = user;
    const uint32_t kind = (uint32_t)(event->arg >> 32);
    if (event->kind == AXO_EV_FAIL && in_hand.ring != NULL && reports_takes(kind) &&
        axo_ref_equal(event->actor, in_hand.actor) && event->instance == in_hand.instance) {
        reports_fail(reports, in_hand.ring, kind, (int32_t)(uint32_t)event->arg);
        in_hand.ring = NULL;
    }
    if (reports->trace != NULL && (AXO_EVENT_BIT(event->kind) & reports->trace_kinds) != 0)
        reports->trace(reports->trace_user, event);
}

axo_status axo_report_begin(const char *directory, uint32_t reports_max, axo_options *options,
                            axo_reports **out)
{
    if (out == NULL)
        return AXO_EINVAL;
    *out = NULL;
    if (directory == NULL || options == NULL || options->size == 0)
        return AXO_EINVAL;
    if (options->size != sizeof *options)
        return AXO_EVERSION;
    axo_reports *reports = calloc(1, sizeof *reports);
    char *copy = strdup(directory);
    if (reports == NULL || copy == NULL) {
        free(reports);
        free(copy);
        return AXO_ENOMEM;
    }
    reports->directory = copy;
    reports->most = reports_max != 0 ? reports_max : 100;
    reports->trace = options->trace;
    reports->trace_user = options->trace_user;
    reports->trace_kinds = options->trace_kinds != 0 ? options->trace_kinds : UINT64_MAX;
    if (reports->trace == NULL)
        options->trace_kinds = AXO_EVENT_BIT(AXO_EV_FAIL);
    else if (options->trace_kinds != 0) /* 0: all */
        options->trace_kinds |= AXO_EVENT_BIT(AXO_EV_FAIL);
    options->trace = reports_trace;
    options->trace_user = reports;
    *out = reports;
    return AXO_OK;
}

uint64_t axo_report_written(const axo_reports *reports)
{
    return reports != NULL ? atomic_load(&reports->written) : 0;
}

uint64_t axo_report_missed(const axo_reports *reports, int32_t *error)
{
    if (error != NULL)
        *error = reports != NULL ? atomic_load(&reports->error) : 0;
    return reports != NULL ? atomic_load(&reports->missed) : 0;
}

void axo_report_end(axo_reports *reports)
{
    if (reports == NULL)
        return;
    free(reports->directory);
    free(reports);
}
