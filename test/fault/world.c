/* world.c - scenes again and again with the n-th request for memory refused, and what must hold
 * after each. */
#include "fault/world.h"

#include "fault/storm.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum {
    WORLD_BREACHES = 10,
    WORLD_N_MAX = 20000,
    WORLD_GUARDED = 64,
    WORLD_ROUNDS = 5,
    WORLD_SEEDS = 6
};
#define WORLD_STOP_NS (30 * WORLD_S)

static uint32_t world_breaches;
static char world_breach_first[512]; /* printed again at the end, below the long table */
static world *world_running;

/* ---- memory: filled with a pattern, one block in 64 between two guard pages ------------------ */

typedef struct world_head {
    size_t mapped; /* 0: of malloc */
    void *base;
    uint64_t kind;
} world_head;

static uint64_t world_blocks;

static size_t world_up(size_t size, size_t to)
{
    return (size + to - 1) / to * to;
}

static void *world_alloc(void *user, size_t size, size_t align, uint32_t kind)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t head = world_up(sizeof(world_head), align);
    if (__atomic_add_fetch(&world_blocks, 1, __ATOMIC_RELAXED) % WORLD_GUARDED != 0 ||
        align > page) {
        char *base = NULL;
        if (posix_memalign((void **)&base, align < 16 ? 16 : align, head + size) != 0)
            return NULL;
        ((world_head *)(void *)(base + head))[-1] = (world_head){.base = base, .kind = kind};
        memset(base + head, 0xa5, size);
        return base + head;
    }
    /* guard, head page, block that ends at the second guard, as far as its alignment allows */
    size_t body = world_up(size, align);
    size_t mapped = 3 * page + world_up(body, page);
    char *base = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED)
        return NULL;
    (void)mprotect(base, page, PROT_NONE);
    (void)mprotect(base + mapped - page, page, PROT_NONE);
    char *block = base + mapped - page - body;
    ((world_head *)(void *)block)[-1] =
        (world_head){.mapped = mapped, .base = base, .kind = kind};
    memset(block, 0xa5, size);
    return block;
}

static void world_free(void *user, void *block, size_t size, size_t align, uint32_t kind)
{
    world_head head = ((world_head *)block)[-1];
    if (head.kind != kind)
        abort(); /* the block goes back as another kind than it came */
    if (head.mapped != 0) {
        (void)munmap(head.base, head.mapped);
        return;
    }
    memset(block, 0x5a, size);
    free(head.base);
}

/* ---- what must hold ------------------------------------------------------------------------- */

static const char *world_mode(refuse_mode mode)
{
    return mode == REFUSE_ONCE ? "once" : mode == REFUSE_STICKY ? "sticky" : "random";
}

void world_breach(world *w, const char *where, int line, const char *what)
{
    char text[sizeof world_breach_first];
    (void)snprintf(text, sizeof text, "%s, %s, n = %llu: %s:%d: %s\n", w->scene->name,
                   world_mode(w->mode), (unsigned long long)w->n, where, line, what);
    (void)fputs(text, stdout);
    if (world_breaches == 0)
        memcpy(world_breach_first, text, sizeof text);
    if (++world_breaches >= WORLD_BREACHES) {
        (void)printf("too much is wrong\n");
        exit(1);
    }
}

void world_mark(world *w)
{
    w->denials = refuse_denials();
    w->before = (axo_stats)AXO_STATS(.sent = 0);
    if (w->system != NULL)
        (void)axo_system_stats(w->system, &w->before);
}

axo_status world_tried(world *w, const char *where, int line, const char *call, axo_status status)
{
    char text[200];
    axo_stats now = AXO_STATS(.sent = 0);
    bool denied = refuse_denials() != w->denials;
    if (w->scene->workers > 0) /* a refusal may be another thread's */
        denied = denied && status == AXO_ENOMEM;
    if (denied != (status == AXO_ENOMEM)) {
        (void)snprintf(text, sizeof text, "%s is %s with memory %s", call, axo_status_name(status),
                       denied ? "refused" : "granted");
        world_breach(w, where, line, text);
    }
    if (status == AXO_ENOMEM && w->system != NULL && w->scene->workers == 0) {
        (void)axo_system_stats(w->system, &now);
        if (now.sent != w->before.sent || now.spawned != w->before.spawned ||
            now.dead != w->before.dead || now.dropped != w->before.dropped ||
            now.notices != w->before.notices || now.terminated != w->before.terminated ||
            now.failures != w->before.failures) {
            (void)snprintf(text, sizeof text, "%s was refused and something was counted", call);
            world_breach(w, where, line, text);
        }
    }
    return status;
}

axo_status world_may(world *w, const char *where, int line, const char *call, axo_status status)
{
    if (status == AXO_ENOMEM)
        return world_tried(w, where, line, call, status);
    return status;
}

bool world_rich(const world *w)
{
    return refuse_denials() == w->denials_at_first;
}

int64_t world_deadline(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * WORLD_S + now.tv_nsec + WORLD_STOP_NS;
}

bool world_goes_on(int64_t deadline)
{
    return world_deadline() - WORLD_STOP_NS < deadline;
}

/* ---- running -------------------------------------------------------------------------------- */

static int64_t world_clock(void *user)
{
    return ((world *)user)->now;
}

axo_options world_options(world *w, const axo_options *wanted)
{
    axo_options options = AXO_OPTIONS(.seed = 7);
    if (wanted != NULL)
        options = *wanted;
    options.seed = 7;
    options.kind_allocator = (axo_kind_allocator){world_alloc, world_free, NULL};
    options.workers = w->scene->workers;
    if (w->scene->workers == 0) {
        options.manual = 1;
        options.clock = world_clock;
        options.clock_user = w;
        options.no_quantum_us = options.quantum_us == 0;
    }
    return options;
}

/* Threads have time to do what they can: some thousand looks without a change. */
static void world_rest(world *w)
{
    axo_stats stats = AXO_STATS(.sent = 0);
    uint64_t last = UINT64_MAX;
    for (uint32_t same = 0; same < 200; sched_yield()) {
        (void)axo_system_stats(w->system, &stats);
        uint64_t sum = stats.turns + stats.handled + stats.spawned + stats.terminated;
        same = sum == last ? same + 1 : 0;
        last = sum;
    }
}

void world_run(world *w)
{
    if (w->scene->workers > 0) {
        world_rest(w);
        return;
    }
    uint64_t turns = 1;
    while (turns > 0) {
        axo_status status = axo_run_host(w->system, -1, &turns);
        MUST(w, status == AXO_OK);
        if (status != AXO_OK)
            return;
    }
}

void world_advance(world *w, int64_t ns)
{
    int64_t end = w->now + ns;
    world_run(w);
    for (;;) {
        int64_t due = axo_host_deadline(w->system);
        if (due > end)
            break;
        w->now = due > w->now ? due : w->now;
        uint64_t turns = 0;
        (void)axo_run_host(w->system, -1, &turns);
        if (turns == 0 && axo_host_deadline(w->system) <= w->now)
            w->now += AXO_TICK_NS;
    }
    w->now = end > w->now ? end : w->now;
    world_run(w);
}

/* ---- actors --------------------------------------------------------------------------------- */

typedef struct world_state {
    world *w;
    uint32_t notes;
} world_state;

static axo_status world_construct(axo_ctx *ctx, void *state, const void *args)
{
    memcpy(&((world_state *)state)->w, args, sizeof(world *));
    return AXO_OK;
}

static void world_count(world *w, const axo_message *message)
{
    if (message->tag < WORLD_TAGS)
        w->got[message->tag]++;
    else
        w->got[0]++;
    if (message->tag == AXO_ASK_ANSWER)
        w->answers++;
    if (message->tag == AXO_ASK_FAILED ||
        (message->tag == AXO_STOP_ENDED && AXO_PAYLOAD(message, axo_verdict)->status != AXO_OK) ||
        (message->tag == AXO_DRAINED &&
         AXO_PAYLOAD(message, axo_drained)->status == AXO_ETIMEDOUT))
        w->failed++;
    w->sender = message->sender;
}

static axo_status world_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    world *w = ((world_state *)state)->w;
    bool driver = axo_ref_equal(axo_self(ctx), w->driver);
    switch (message->tag) {
    case WORLD_DO: {
        world_fn fn;
        memcpy((void *)&fn, message->payload, sizeof fn);
        fn(ctx, w);
        return AXO_OK;
    }
    case WORLD_PING:
        if (axo_ref_is_none(message->sender))
            (void)__atomic_add_fetch(&w->pongs, 1, __ATOMIC_RELEASE);
        else
            (void)axo_reply(ctx, message, WORLD_PONG, NULL, 0); /* refused: nobody hears */
        return AXO_OK;
    case WORLD_FAIL:
        return axo_fail(ctx, 7, "failed as told, and says so in so many words");
    case WORLD_QUIT:
        return axo_stop_self(ctx);
    default:
        if (driver)
            world_count(w, message);
        return AXO_OK;
    }
}

const axo_class world_class = AXO_CLASS(.name = "worldling", .state_size = sizeof(world_state),
                                        .construct = world_construct, .receive = world_receive);

axo_props world_props(world *const *w)
{
    return (axo_props)AXO_PROPS(.cls = &world_class, .args = w, .args_size = sizeof *w);
}

void world_do(world *w, world_fn fn)
{
    refuse_pause();
    MUST(w, axo_system_send(w->system, w->driver, WORLD_DO, (void *)&fn, sizeof fn) == AXO_OK);
    refuse_resume();
    world_run(w);
}

void world_post(world *w, axo_ref to, uint32_t tag)
{
    refuse_pause();
    (void)axo_system_send(w->system, to, tag, NULL, 0);
    refuse_resume();
}

/* ---- one run of a scene --------------------------------------------------------------------- */

static void world_open(world *w)
{
    axo_options options = world_options(w, w->scene->options);
    axo_props props = world_props(&w);
    axo_status status = axo_system_start(&options, &w->system);
    MUST(w, status == AXO_OK);
    if (status != AXO_OK)
        exit(1);
    if (w->scene->workers > 0)
        fault_await_guardians(w->system);
    props.name = "driver";
    MUST(w, axo_system_spawn(w->system, &props, &w->driver) == AXO_OK);
    props.name = "pinger";
    MUST(w, axo_system_spawn(w->system, &props, &w->pinger) == AXO_OK);
    world_run(w);
}

/* There is memory again: old and new actors answer, and nothing is left at the end. */
static void world_close(world *w)
{
    axo_stats stats = AXO_STATS(.sent = 0);
    axo_props props = world_props(&w);
    axo_ref fresh;
    uint32_t before = w->pongs;
    world_run(w);
    MUST(w, axo_system_send(w->system, w->pinger, WORLD_PING, NULL, 0) == AXO_OK);
    MUST(w, axo_system_send(w->system, w->driver, WORLD_PING, NULL, 0) == AXO_OK);
    MUST(w, axo_system_spawn(w->system, &props, &fresh) == AXO_OK);
    MUST(w, axo_system_send(w->system, fresh, WORLD_PING, NULL, 0) == AXO_OK);
    if (w->scene->workers > 0) {
        for (int64_t end = world_deadline();
             world_goes_on(end) && __atomic_load_n(&w->pongs, __ATOMIC_ACQUIRE) < before + 3;)
            world_rest(w);
    } else {
        world_run(w);
    }
    MUST(w, w->pongs == before + 3);
    MUST(w, axo_system_stop(w->system, WORLD_STOP_NS, NULL, 0, NULL) == AXO_OK);
    MUST(w, axo_system_stats(w->system, &stats) == AXO_OK);
    MUST(w, stats.actors == 0);
    MUST(w, stats.sent == stats.handled + stats.dead + stats.dropped);
    MUST(w, axo_system_destroy(w->system) == AXO_OK);
    w->system = NULL;
}

static void world_check_leaks(world *w)
{
    const refuse_site *leak = refuse_leak();
    if (leak != NULL) {
        char text[200];
        (void)snprintf(text, sizeof text, "%lld blocks of this site are left: %s",
                       (long long)leak->live, leak->function);
        world_breach(w, leak->file, (int)leak->line, text);
        exit(1);
    }
    MUST(w, w->freed == w->given);
}

/* The requests of the run. */
static uint64_t world_once(const scene *s, refuse_mode mode, uint64_t n)
{
    world w = {.scene = s, .mode = mode, .n = n, .now = WORLD_S};
    world_running = &w;
    refuse_disarm();
    refuse_separate(n % 2 == 0);
    if (!s->bare)
        world_open(&w);
    w.denials_at_first = refuse_denials();
    refuse_arm(mode, n);
    s->run(&w);
    uint64_t asked = refuse_asked();
    refuse_disarm();
    if (!s->bare)
        world_close(&w);
    world_check_leaks(&w);
    return asked;
}

static uint64_t world_loop(const scene *s, refuse_mode mode)
{
    uint64_t n = 1;
    while (world_once(s, mode, n) >= n) {
        if (++n > WORLD_N_MAX) {
            (void)printf("%s never runs to its end\n", s->name);
            exit(1);
        }
    }
    return n - 1;
}

/* Several refusals in one run: while a failure is handled, while somebody stops, and so on. */
static void world_compound(const scene *s)
{
    static const uint64_t one_in[] = {2, 5, 20, 50};
    for (uint32_t i = 0; i < 4 * WORLD_ROUNDS; i++)
        (void)world_once(s, REFUSE_RANDOM, one_in[i % 4]);
}

static void world_died(int number)
{
    char text[200];
    int size = snprintf(text, sizeof text, "%s, %s, n = %llu: died of signal %d\n",
                        world_running->scene->name, world_mode(world_running->mode),
                        (unsigned long long)world_running->n, number);
    (void)!write(STDOUT_FILENO, text, (size_t)size);
    _exit(1);
}

int main(int argc, char **argv)
{
    const char *only = argc > 1 ? argv[1] : "";
    uint32_t scenes = 0;
    uint32_t sites = 0;
    uint64_t injections = 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
#if !defined(AXO_ASAN) && !defined(AXO_TSAN)
    (void)signal(SIGSEGV, world_died);
    (void)signal(SIGBUS, world_died);
#endif
    (void)signal(SIGABRT, world_died);
    for (const scene *const *list = world_scenes; *list != NULL; list++) {
        for (const scene *s = *list; s->name != NULL; s++) {
            if (strstr(s->name, only) == NULL)
                continue;
            uint64_t once = world_loop(s, REFUSE_ONCE);
            uint64_t sticky = world_loop(s, REFUSE_STICKY);
            world_compound(s);
            (void)printf("  %-40s %5llu requests once, %5llu sticky\n", s->name,
                         (unsigned long long)once, (unsigned long long)sticky);
            scenes++;
        }
    }
    if (strstr("hierarchy", only) != NULL) {
        world_breaches += !fault_hierarchy(WORLD_SEEDS);
        scenes++;
    }
    uint32_t missing = refuse_report(stdout, &sites, &injections);
    if (*only == '\0')
        (void)printf("bar 15 is %u / %llu: sites of %u that have not failed once and for good, in "
                     "%u scenes; refusals\n",
                     missing, (unsigned long long)injections, sites, scenes);
    (void)fputs(world_breach_first, stdout);
    (void)printf("%u breaches\n", world_breaches);
    return world_breaches > 0 || (missing > 0 && *only == '\0') || scenes == 0;
}
