/* liar_test.c - processes that say in well-formed records what is not so: kinds, numbers, targets,
 * sizes and states by chance, before they have started too, and then fail, end, crash, hang. What
 * stands in the ring itself is not spoilt: for that see ring_test.c and process_hostile_test.c.
 * Whatever they say, the host goes on, every message is accounted for, it stops, and nothing is
 * left.
 *
 * AXO_PROCESS_WORLDS: so many worlds, else 8. AXO_SEED: of the first, else 1. */
#include "api/process_worlds.h"

#include "share.h"

#if defined(__SANITIZE_THREAD__)
#define LIAR_THREADED 1 /* so it cannot be confined */
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define LIAR_THREADED 1
#endif
#endif
#ifndef LIAR_THREADED
#define LIAR_THREADED 0
#endif

enum { LIAR_ACTORS = 4, LIAR_STEPS = 600, LIAR_LIES = 40, LIAR_RING = 64 * 1024 };

/* What it is told. */
enum {
    LIAR_LIE = 1, /* lies, by the chance of the value */
    LIAR_KIND,    /* says that it has failed, with the value as the kind, and hangs */
    LIAR_NOTHING
};

/* Modes. */
enum {
    LIAR_EARLY = 1,  /* construct lies now and then */
    LIAR_ENDLESS = 2 /* construct says that it has not started, and goes on talking */
};

typedef struct liar_args {
    uint64_t seed;
    uint32_t mode;
    uint32_t reserved;
} liar_args;

/* ---- in the process ---- */

typedef struct liar {
    process_share *share;
    process_ring ring;
    uint64_t chance;
} liar;

static uint64_t liar_chance(liar *me)
{
    me->chance ^= me->chance << 13;
    me->chance ^= me->chance >> 7;
    me->chance ^= me->chance << 17;
    return me->chance * UINT64_C(0x9e3779b97f4a7c15) >> 11;
}

static uint32_t liar_below(liar *me, uint32_t bound)
{
    return (uint32_t)(liar_chance(me) % bound);
}

/* The shared memory is mapped from its first byte, the ring to the host from its last offset, twice
 * in a row. */
static void liar_find(liar *me)
{
    char line[512];
    unsigned char *ring = NULL;
    unsigned long last = 0;
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        unsigned long from, offset;
        if (strstr(line, "axo process") == NULL ||
            sscanf(line, "%lx-%*x %*s %lx", &from, &offset) != 2)
            continue;
        if (offset == 0)
            me->share = (process_share *)from;
        if (offset > last) {
            last = offset;
            ring = (unsigned char *)from;
        }
    }
    if (maps != NULL)
        (void)fclose(maps);
    assert_true(me->share != NULL && ring != NULL);
    process_ring_init(&me->ring, &me->share->to_host, ring, me->share->ring_bytes);
}

/* Behind what the library here has written, which knows nothing of it. */
static void liar_say(liar *me, const process_record *record, const void *bytes)
{
    me->ring.here = atomic_load(&me->share->to_host.written);
    me->ring.there = atomic_load(&me->share->to_host.read);
    for (uint32_t i = 0; i < 10; i++) {
        if (process_ring_write(&me->ring, record, bytes) != PROCESS_RING_NONE)
            return;
        (void)poll(NULL, 0, 1);
    }
}

static void liar_fail(liar *me, uint32_t kind, uint64_t number)
{
    const axo_failure failure = {.kind = kind, .code = 42, .text = "so it says"};
    process_failure said;
    process_failure_pack(&said, &failure);
    if (liar_below(me, 4) == 0)
        memset(said.text, '%', sizeof said.text);
    const process_record record = {.kind = PROCESS_FAIL, .size = sizeof said, .number = number};
    liar_say(me, &record, &said);
}

static void liar_lie(liar *me)
{
    uint64_t bytes[50];
    uint64_t near = atomic_load(&me->share->running) + liar_below(me, 7) - 3;
    uint64_t number = liar_below(me, 4) == 0 ? liar_chance(me) : near;
    for (uint32_t i = 0; i < 50; i++)
        bytes[i] = liar_chance(me);
    process_record record = {.kind = 1 + liar_below(me, 5), .number = number,
                             .size = liar_below(me, sizeof bytes)};
    record.to = liar_below(me, 2) == 0 ? me->share->self : liar_chance(me);
    record.from = liar_below(me, 2) == 0 ? 0 : liar_chance(me);
    record.tag = liar_below(me, 3) != 0 ? liar_below(me, 20) : liar_below(me, AXO_TAG_SERVICES);
    record.flags = liar_below(me, 20) == 0 ? liar_below(me, 3) : liar_below(me, 2);
    if (liar_below(me, 40) == 0)
        record.kind = liar_below(me, 9);
    if (liar_below(me, 200) == 0) /* the library's own */
        record.tag = AXO_TAG_SERVICES + liar_below(me, 0x20000);
    if (record.kind == PROCESS_ENDED && liar_below(me, 3) != 0)
        record.kind = PROCESS_HANDLED;
    if (record.kind == PROCESS_LINE) {
        record.tag = 1 + liar_below(me, 3);
        record.size = liar_below(me, AXO_FAILURE_TEXT_MAX);
    }
    if (record.kind == PROCESS_FAIL)
        liar_fail(me, liar_below(me, 13), number);
    else
        liar_say(me, &record, bytes);
}

/* Words beside the rings. */
static void liar_meddle(liar *me)
{
    process_share *share = me->share;
    uint64_t near = atomic_load(&share->running) + liar_below(me, 5) - 2;
    if (liar_below(me, 5) == 0)
        atomic_store(&share->running, liar_below(me, 3) != 0 ? liar_chance(me) : near);
    if (liar_below(me, 9) == 0)
        atomic_store(&share->state, liar_below(me, 5));
    if (liar_below(me, 9) == 0)
        atomic_store(&share->busy, liar_below(me, 3));
    if (liar_below(me, 9) == 0)
        atomic_store(&share->process_wants_room, liar_below(me, 3));
    atomic_store(&share->host_sleeps, liar_below(me, 8) != 0);
}

static axo_status liar_ends(axo_ctx *ctx, liar *me)
{
    switch (liar_below(me, 16)) {
    case 0:
    case 1:
    case 2:
        (void)raise(SIGKILL);
        return AXO_OK;
    case 3:
    case 4:
        return axo_fail(ctx, 3, "lied enough");
    case 5:
        return axo_stash(ctx);
    case 6:
        return axo_stop_self(ctx);
    case 7:
        _exit((int)liar_below(me, 3));
    default:
        return AXO_OK;
    }
}

static void liar_lies(liar *me)
{
    uint32_t lies = 1 + liar_below(me, LIAR_LIES);
    for (uint32_t i = 0; i < lies; i++) {
        liar_lie(me);
        liar_meddle(me);
        if (liar_below(me, 16) == 0)
            (void)usleep(liar_below(me, 3000));
    }
}

/* Lines that fill the ring without a gap, again as soon as one is read. */
static _Noreturn void liar_never_ends(liar *me)
{
    const process_record line = {.kind = PROCESS_LINE, .tag = AXO_LOG_INFO, .size = 16};
    for (uint64_t at = 0; at < LIAR_RING; at += PROCESS_RECORD_HEAD + line.size)
        liar_say(me, &line, "sixteen letters");
    atomic_store(&me->share->state, PROCESS_NOT_STARTED);
    for (;;)
        atomic_store(&me->share->to_host.written,
                     atomic_load(&me->share->to_host.read) + LIAR_RING);
}

static axo_status liar_construct(axo_ctx *ctx, void *state, const void *args)
{
    liar *me = state;
    liar_args given;
    memcpy(&given, args, sizeof given);
    me->chance = (given.seed ^ (uint64_t)getpid()) * UINT64_C(0x9e3779b97f4a7c15) | 1;
    liar_find(me);
    if ((given.mode & LIAR_ENDLESS) != 0)
        liar_never_ends(me);
    if ((given.mode & LIAR_EARLY) != 0 && liar_below(me, 8) == 0)
        liar_lies(me);
    (void)ctx;
    return AXO_OK;
}

static axo_status liar_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    liar *me = state;
    uint64_t value;
    if (message->size != sizeof value)
        return AXO_OK; /* of a liar */
    memcpy(&value, message->payload, sizeof value);
    if (message->tag == LIAR_KIND) {
        liar_fail(me, (uint32_t)value, atomic_load(&me->share->running));
        w_for_ever();
    }
    if (message->tag != LIAR_LIE)
        return AXO_OK;
    me->chance = value | 1;
    liar_lies(me);
    return liar_ends(ctx, me);
}

static const axo_class liar_class =
    AXO_CLASS(.name = "liar", .state_size = sizeof(liar), .construct = liar_construct,
              .receive = liar_receive);

static const axo_class *const liar_classes[] = {&liar_class};

/* ---- the host ---- */

/* false: this kernel cannot confine it. */
static bool liar_spawn(world *w, uint32_t mode, uint32_t confine, uint64_t seed, axo_ref *out)
{
    const liar_args args = {.seed = seed, .mode = mode};
    axo_process recipe = AXO_PROCESS(.zygote = w->zygote, .ring_bytes = LIAR_RING,
                                     .confine = confine, .start_ns = W_LONG,
                                     .stop_ns = W_SECOND / 10, .watchdog_ns = W_SECOND / 2);
    axo_props props = AXO_PROPS(.cls = &liar_class, .args = &args, .args_size = sizeof args,
                                .lifetime = AXO_PERMANENT);
    axo_status status = axo_system_process_spawn(w->system, &recipe, &props, out);
    if (status == AXO_ENOTSUP && confine != 0)
        return false;
    assert_int_equal(status, AXO_OK);
    return true;
}

static void liar_answer(world *w, axo_directive answer)
{
    (void)pthread_mutex_lock(&w->mutex);
    w->answer = answer;
    (void)pthread_mutex_unlock(&w->mutex);
}

static uint32_t liar_failures(world *w)
{
    (void)pthread_mutex_lock(&w->mutex);
    uint32_t failures = w->failures;
    (void)pthread_mutex_unlock(&w->mutex);
    return failures;
}

/* A process says that it has failed so; its host reads that with the next message. false: as
 * liar_spawn. */
static bool liar_says(world *w, uint32_t confine, uint32_t kind)
{
    axo_ref ref;
    uint32_t before = liar_failures(w);
    if (!liar_spawn(w, 0, confine, 1, &ref))
        return false;
    w_tell(w, ref, LIAR_KIND, kind);
    for (uint32_t i = 0; liar_failures(w) == before; i++) {
        if (i == 10000)
            fail_msg("it never failed as %u", kind);
        (void)axo_system_send(w->system, ref, LIAR_NOTHING, NULL, 0);
        w_pause();
    }
    return true;
}

static void kinds(void **unused)
{
    static const uint32_t wrong[] = {0, 4, 12, 13, 255, 1u << 31, UINT32_MAX};
    world w;
    w_start(&w, 2);
    w.answer = AXO_STOP;
    w.rough = true;
    for (uint32_t kind = AXO_FAILURE_ORDINARY; kind <= AXO_FAILURE_MEMORY; kind++) {
        if (kind == 4)
            continue;
        assert_true(liar_says(&w, 0, kind));
        assert_int_equal(w.last.kind, kind);
        assert_int_equal(w.last.code, 42);
    }
    for (uint32_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_true(liar_says(&w, 0, wrong[i]));
        assert_int_equal(w.last.kind, AXO_FAILURE_CRASH);
        assert_string_equal(w.text, "spoilt ring");
    }
    w_end(&w);
}

static void kinds_confined(void **unused)
{
    world w;
    w_start(&w, 2);
    w.answer = AXO_STOP;
    w.rough = true;
    if (LIAR_THREADED || !liar_says(&w, AXO_CONFINE_FILES, AXO_FAILURE_FATAL)) {
        w_end(&w);
        skip();
    }
    assert_int_equal(w.last.kind, AXO_FAILURE_CRASH);
    assert_int_equal(w.last.code, 42);
    assert_true(liar_says(&w, AXO_CONFINE_FILES, AXO_FAILURE_ORDINARY));
    assert_int_equal(w.last.kind, AXO_FAILURE_ORDINARY);
    w_end(&w);
}

/* What a process says that says it has not started is read, but not for as long as it talks: it
 * fills the ring again while its host is at a line. */
static void endless(void **unused)
{
    world w;
    axo_ref ref;
    w_start(&w, 2);
    w.answer = AXO_STOP;
    w.rough = true;
    w.line_us = 50;
    assert_true(liar_spawn(&w, LIAR_ENDLESS, 0, 1, &ref));
    W_UNTIL(&w, w.failures == 1);
    assert_int_equal(w.last.kind, AXO_FAILURE_INIT);
    assert_true(w.lines_then >= LIAR_RING / (PROCESS_RECORD_HEAD + 16));
    assert_true(w.lines_then <= LIAR_RING / PROCESS_RECORD_HEAD);
    w_end(&w);
}

static void liar_step(world *w, liar *me, const axo_ref *refs)
{
    axo_ref ref = refs[liar_below(me, LIAR_ACTORS)];
    uint64_t value = liar_chance(me);
    w_tell(w, ref, liar_below(me, 2) == 0 ? LIAR_LIE : LIAR_NOTHING, (int64_t)value);
    if (liar_below(me, 16) == 0)
        liar_answer(w, liar_below(me, 3) == 0 ? AXO_RESUME : AXO_RESTART);
    (void)usleep(liar_below(me, 700));
}

/* What deciders may be shown: no number that is no kind, and nothing fatal of who is confined. */
static void liar_check(world *w, bool confined)
{
    uint32_t known = ((UINT32_C(2) << AXO_FAILURE_MEMORY) - 1) & ~(UINT32_C(1) << 4) & ~UINT32_C(1);
    if (confined)
        known &= ~(UINT32_C(1) << AXO_FAILURE_FATAL);
    (void)pthread_mutex_lock(&w->mutex);
    uint32_t seen = w->kinds;
    (void)pthread_mutex_unlock(&w->mutex);
    assert_int_equal(seen & ~known, 0);
    assert_true((seen & (UINT32_C(1) << AXO_FAILURE_CRASH)) != 0);
    assert_true((seen & (UINT32_C(1) << AXO_FAILURE_ORDINARY)) != 0);
}

/* Those of worlds with an even seed are confined, if that can be. */
static void liar_world(uint64_t seed)
{
    liar me = {.chance = seed * UINT64_C(0x9e3779b97f4a7c15) | 1};
    bool confined = seed % 2 == 0 && !LIAR_THREADED;
    axo_ref refs[LIAR_ACTORS];
    world w;
    w_start(&w, liar_below(&me, 5));
    w.rough = true;
    for (uint32_t i = 0; i < LIAR_ACTORS; i++) {
        confined = confined && liar_spawn(&w, LIAR_EARLY, AXO_CONFINE_FILES, seed, &refs[i]);
        if (!confined)
            assert_true(liar_spawn(&w, LIAR_EARLY, 0, seed, &refs[i]));
    }
    for (uint32_t i = 0; i < LIAR_STEPS; i++)
        liar_step(&w, &me, refs);
    liar_answer(&w, AXO_RESTART);
    liar_check(&w, confined);
    w_end(&w);
}

static void whatever_they_say(void **unused)
{
    w_worlds(8, liar_world);
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds),
        cmocka_unit_test(kinds_confined),
        cmocka_unit_test(endless),
        cmocka_unit_test(whatever_they_say),
    };
    axo_process_main(argc, argv, liar_classes, sizeof liar_classes / sizeof liar_classes[0]);
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
