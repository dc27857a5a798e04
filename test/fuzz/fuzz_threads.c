/* fuzz_threads.c - threads of a program that start, call, are cancelled and joined, around a system
 * with workers of its own.
 *
 * Length 256. Each thread has a script of calls, waiting ones among them; the fuzzer says when it
 * starts, when it is cancelled, when those that are asked answer, and when it is joined. Every call
 * that begins comes back, whatever the thread's cancel does; the thread then ends by it or by
 * itself; the system stops in time, every message is accounted for, all memory is back.
 */
#include "fuzz/fuzz.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include <axo/axo.h>

enum { THREADS = 4, SCRIPT = 8, STEPS_MAX = 40, MS = 1000000 };

typedef struct thread {
    pthread_t id;
    uint8_t script[SCRIPT];
    uint32_t length;
    bool there;
    bool cancelled;
    bool deaf;         /* it has its cancel disabled */
    bool exits;        /* by pthread_exit */
    atomic_uint begun; /* calls */
    atomic_uint back;
} thread;

static struct {
    axo_system *system;
    axo_ref echo;    /* answers */
    axo_ref slow;    /* answers when it may, on a thread that may block */
    axo_ref hosted;
    axo_ref gone;
    thread threads[THREADS];
    atomic_bool open; /* the slow one may answer */
    atomic_llong blocks;
    atomic_uint owned;
    atomic_uint freed;
} g;

/* ---- the program's functions: cancellation points, each of them ----------------------------- */

static void *threads_alloc(void *user, size_t size, size_t align)
{
    void *block = NULL;
    pthread_testcancel();
    if (posix_memalign(&block, align < sizeof block ? sizeof block : align, size) != 0)
        return NULL;
    atomic_fetch_add(&g.blocks, 1);
    return block;
}

static void threads_release(void *user, void *block, size_t size, size_t align)
{
    pthread_testcancel();
    atomic_fetch_sub(&g.blocks, 1);
    free(block);
}

static void threads_letter(void *user, const axo_dead_letter *letter)
{
    pthread_testcancel();
}

static void threads_log(void *user, axo_log_level level, axo_ref actor, const char *text)
{
    pthread_testcancel();
}

static void threads_destroy(void *payload, void *user)
{
    pthread_testcancel();
    atomic_fetch_add(&g.freed, 1);
    free(payload);
}

static void threads_pause(void)
{
    struct timespec pause = {.tv_nsec = 50000};
    (void)nanosleep(&pause, NULL);
}

static axo_status threads_echo(axo_ctx *ctx, void *state, const axo_message *message)
{
    pthread_testcancel();
    if (axo_ref_is_none(message->sender))
        return AXO_OK;
    (void)axo_reply(ctx, message, message->tag, message->payload, message->size);
    return AXO_OK;
}

static axo_status threads_slow(axo_ctx *ctx, void *state, const axo_message *message)
{
    while (!atomic_load(&g.open))
        threads_pause();
    return threads_echo(ctx, state, message);
}

static axo_status threads_task(void *user)
{
    while (!atomic_load(&g.open))
        threads_pause();
    return AXO_OK;
}

static const axo_class threads_echo_class = AXO_CLASS(.name = "echo", .receive = threads_echo);
static const axo_class threads_slow_class = AXO_CLASS(.name = "slow", .receive = threads_slow);

/* ---- calls ---------------------------------------------------------------------------------- */

static void call_ask(axo_ref to, int64_t timeout)
{
    axo_asked asked;
    axo_status status = axo_system_ask(g.system, to, 1, "word", 4, timeout, &asked);
    fuzz_require(status != AXO_EINVAL && status != AXO_ECONTEXT);
    axo_asked_free(g.system, &asked);
}

static void call_owned(axo_ref to)
{
    void *payload = malloc(8);
    fuzz_require(payload != NULL);
    axo_status status =
        axo_system_send_owned(g.system, to, 2, payload, 8, threads_destroy, NULL);
    if (status == AXO_OK || status == AXO_EGONE)
        atomic_fetch_add(&g.owned, 1);
    else
        free(payload);
}

static void call_phases(bool waits)
{
    axo_phases *phases;
    axo_phase first = AXO_PHASE(.name = "first", .timeout_ns = waits ? MS : 5000 * (int64_t)MS);
    axo_task task = AXO_TASK(.name = "it", .phase = "first", .kind = AXO_TASK_ASK,
                             .actor = g.echo, .tag = 3);
    if (waits) {
        task.kind = AXO_TASK_CALL;
        task.call = threads_task;
    }
    if (axo_phases_new(g.system, &phases) != AXO_OK)
        return;
    if (axo_phases_add(phases, &first) == AXO_OK &&
        axo_phases_task(phases, &task, NULL) == AXO_OK)
        (void)axo_phases_run(phases, NULL);
    (void)axo_phases_free(phases);
}

static void call_stop(uint8_t how)
{
    axo_props props = AXO_PROPS(.cls = &threads_echo_class, .dispatcher = how % 3);
    axo_ref ref;
    if (axo_system_spawn(g.system, &props, &ref) == AXO_OK)
        (void)axo_system_graceful_stop(g.system, ref, NULL, 2 * MS, NULL);
}

static void call_spawn(void)
{
    axo_props props = AXO_PROPS(.cls = &threads_echo_class, .name = "one");
    axo_ref ref;
    bool created;
    axo_status status = axo_system_spawn_or_get(g.system, &props, &ref, &created);
    fuzz_require(status != AXO_EINVAL);
}

static void call_small(uint8_t which)
{
    axo_stats stats = AXO_STATS(.sent = 0);
    axo_timer timer;
    axo_ref ref;
    char text[64] = "";
    switch (which % 8) {
    case 0:
        (void)axo_system_path(g.system, g.echo, text, sizeof text);
        break;
    case 1:
        if (axo_system_schedule_once(g.system, MS, g.echo, 4, NULL, 0, &timer) == AXO_OK)
            (void)axo_system_timer_cancel(g.system, timer);
        break;
    case 2:
        if (axo_system_register(g.system, "key", g.echo) == AXO_OK)
            (void)axo_system_unregister(g.system, "key");
        break;
    case 3:
        (void)axo_system_lookup(g.system, "key", &ref);
        break;
    case 4:
        (void)axo_system_publish(g.system, AXO_KIND_USER, text, 0);
        break;
    case 5:
        (void)axo_system_send(g.system, g.hosted, 5, NULL, 0); /* wakes the host */
        break;
    case 6:
        (void)axo_system_kill(g.system, g.gone);
        break;
    default:
        (void)axo_system_stats(g.system, &stats);
        break;
    }
}

static void call_one(uint8_t byte)
{
    switch (byte >> 4) {
    case 0:
    case 1:
        call_ask(g.echo, MS + (byte & 15) * MS);
        break;
    case 2:
        call_ask(g.slow, 1 + (byte & 15) * (MS / 4));
        break;
    case 3:
        call_ask(g.gone, MS);
        break;
    case 4:
        call_owned(g.echo);
        break;
    case 5:
        call_owned(g.gone);
        break;
    case 6:
        call_phases(false);
        break;
    case 7:
        call_phases(true);
        break;
    case 8:
        call_stop(byte);
        break;
    case 9:
        (void)axo_system_wait(g.system, (byte & 15) * (MS / 4), NULL);
        break;
    case 10:
        (void)axo_run_host(g.system, byte & 1 ? -1 : MS / 4, NULL);
        break;
    case 11:
        call_spawn();
        break;
    default:
        call_small(byte);
        break;
    }
}

/* ---- threads -------------------------------------------------------------------------------- */

static void *threads_main(void *arg)
{
    thread *it = arg;
    if (it->deaf)
        (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    for (uint32_t i = 0; i < it->length; i++) {
        int before = -1;
        int after = -2;
        atomic_fetch_add(&it->begun, 1);
        (void)pthread_setcancelstate(it->deaf, &before);
        call_one(it->script[i]);
        (void)pthread_setcancelstate(it->deaf, &after);
        atomic_fetch_add(&it->back, 1);
        fuzz_require(before == after);
        pthread_testcancel();
    }
    if (it->exits)
        pthread_exit(it);
    return it;
}

static void threads_start(fuzz_in *in, thread *it)
{
    uint8_t how = fuzz_u8(in);
    if (it->there)
        return;
    memset(it, 0, sizeof *it);
    it->length = 1 + how % SCRIPT;
    it->deaf = (how & 0x80) != 0 && (how & 0x40) != 0;
    it->exits = (how & 0x20) != 0;
    for (uint32_t i = 0; i < it->length; i++)
        it->script[i] = fuzz_u8(in);
    fuzz_require(pthread_create(&it->id, NULL, threads_main, it) == 0);
    it->there = true;
}

static void threads_cancel(thread *it)
{
    if (!it->there)
        return;
    fuzz_require(pthread_cancel(it->id) == 0);
    it->cancelled = true;
}

/* It has left no call but by coming back. */
static void threads_join(thread *it)
{
    void *result = NULL;
    if (!it->there)
        return;
    fuzz_require(pthread_join(it->id, &result) == 0);
    it->there = false;
    fuzz_require(atomic_load(&it->begun) == atomic_load(&it->back));
    fuzz_require(result == it || (result == PTHREAD_CANCELED && it->cancelled && !it->deaf));
    fuzz_require(result != it || atomic_load(&it->back) == it->length);
}

/* ---- the world ------------------------------------------------------------------------------ */

static axo_ref threads_spawn(const axo_class *cls, uint32_t dispatcher)
{
    axo_props props = AXO_PROPS(.cls = cls, .dispatcher = dispatcher);
    axo_ref ref;
    fuzz_require(axo_system_spawn(g.system, &props, &ref) == AXO_OK);
    return ref;
}

static void threads_open(uint8_t shape)
{
    memset(&g, 0, sizeof g);
    axo_options options = AXO_OPTIONS(
            .workers = 1 + shape % 2, .seed = 1, .actors_max = 256, .failure_texts = 8,
            .dead_letters_kept = 4, .registry_max = 8, .blocking_max = 4, .blocking_idle_ms = 1,
            .allocator = {.alloc = threads_alloc, .free = threads_release},
            .on_dead_letter = threads_letter, .log = threads_log);
    fuzz_require(axo_system_start(&options, &g.system) == AXO_OK);
    g.echo = threads_spawn(&threads_echo_class, AXO_DISPATCH_DEFAULT);
    g.slow = threads_spawn(&threads_slow_class, AXO_DISPATCH_BLOCKING);
    g.hosted = threads_spawn(&threads_echo_class, AXO_DISPATCH_HOST);
    g.gone = threads_spawn(&threads_echo_class, AXO_DISPATCH_DEFAULT);
    fuzz_require(axo_system_graceful_stop(g.system, g.gone, NULL, 5000 * (int64_t)MS, NULL) ==
                 AXO_OK);
}

static void threads_end(void)
{
    axo_stats stats = AXO_STATS(.sent = 0);
    atomic_store(&g.open, true);
    for (uint32_t i = 0; i < THREADS; i++)
        threads_join(&g.threads[i]);
    fuzz_require(axo_system_stop(g.system, 5000 * (int64_t)MS, NULL, 0, NULL) == AXO_OK);
    fuzz_require(axo_system_stats(g.system, &stats) == AXO_OK && stats.actors == 0);
    fuzz_require(stats.sent == stats.handled + stats.dead + stats.dropped);
    fuzz_require(axo_system_destroy(g.system) == AXO_OK);
    fuzz_require(atomic_load(&g.blocks) == 0);
    fuzz_require(atomic_load(&g.owned) == atomic_load(&g.freed));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_in in = {.at = data, .left = size};
    threads_open(fuzz_u8(&in));
    for (uint32_t i = 0; i < STEPS_MAX && in.left > 0; i++) {
        uint8_t op = fuzz_u8(&in);
        thread *it = &g.threads[(op >> 4) % THREADS];
        switch (op % 8) {
        case 0:
        case 1:
            threads_start(&in, it);
            break;
        case 2:
        case 3:
            threads_cancel(it);
            break;
        case 4:
            if (it->there)
                threads_cancel(it);
            threads_join(it);
            break;
        case 5:
            atomic_store(&g.open, (op & 0x80) != 0);
            break;
        case 6:
            (void)axo_run_host(g.system, MS, NULL);
            break;
        default:
            threads_pause();
            break;
        }
    }
    threads_end();
    return 0;
}
