/* crash_wall_test.c - walls with the trap: a write that a wall of pages stops is a failure of the
 * actor that has written and of no other; what a crash is after a misuse of memory; and a state
 * that is written past its end by each length: without a wall, with a canary, with a guard.
 */
#include "fault/crash.h"

#define WALL_STATE 64

enum { WALL_DO = 1, WALL_PING, WALL_GIVEN };

typedef void (*wall_fn)(axo_ctx *ctx, unsigned char *state, const axo_message *message);

static unsigned char *volatile wall_at; /* where the next write is, or a read */
static axo_ref wall_other;
static atomic_uint wall_given;    /* messages WALL_GIVEN, as they were sent */
static atomic_uint wall_instance; /* of who was pinged last */
static atomic_uint wall_lines;    /* of the log, about memory */
static char wall_line[512];

static void wall_write(unsigned char *at)
{
    wall_at = at;
    *(volatile unsigned char *)at = 1;
}

static axo_status wall_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    wall_fn fn;
    if (message->tag == WALL_PING) {
        for (size_t i = 0; i < WALL_STATE; i++)
            CRASH_CHECK(((unsigned char *)state)[i] == 0);
        atomic_store(&wall_instance, axo_instance(ctx));
        atomic_fetch_add(&cw.pings, 1);
        return AXO_OK;
    }
    if (message->tag == WALL_GIVEN) {
        for (uint32_t i = 0; i < message->size; i++)
            CRASH_CHECK(((const unsigned char *)message->payload)[i] == 7);
        atomic_fetch_add(&wall_given, 1);
        return AXO_OK;
    }
    memcpy(&fn, message->payload, sizeof fn);
    fn(ctx, state, message);
    return AXO_OK;
}

static const axo_class wall_class = AXO_CLASS(.name = "walled", .state_size = WALL_STATE,
                                              .receive = wall_receive, .on_crash = AXO_CRASH_FAILS);

static void wall_log(void *user, const axo_log_record *record)
{
    if (record->event != AXO_LOG_FAILURE_AGAIN)
        return;
    (void)snprintf(wall_line, sizeof wall_line, "%s", record->line);
    atomic_fetch_add(&wall_lines, 1);
}

static axo_ref wall_spawn(const char *name)
{
    axo_ref ref;
    axo_props props = AXO_PROPS(.cls = &wall_class, .name = name);
    CRASH_CHECK(axo_system_spawn(cw.system, &props, &ref) == AXO_OK);
    return ref;
}

static void wall_start(uint32_t walls, uint32_t manual)
{
    static const axo_strategy strategy = AXO_STRATEGY(.decider = crash_decide);
    axo_options options =
        AXO_OPTIONS(.contain = 1, .workers = manual ? 0 : 2, .manual = manual, .walls = walls,
                    .user_strategy = &strategy, .log_record = wall_log, .failure_log = UINT32_MAX);
    options.allocator = (axo_allocator){.alloc = parts_alloc, .free = parts_free, .user = &cw.heap};
    CRASH_CHECK(axo_system_start(&options, &cw.system) == AXO_OK);
}

static void wall_do(axo_ref to, wall_fn fn)
{
    CRASH_CHECK(axo_system_send(cw.system, to, WALL_DO, &fn, sizeof fn) == AXO_OK);
}

static uint32_t wall_ping(axo_ref to)
{
    uint32_t before = atomic_load(&cw.pings);
    CRASH_CHECK(axo_system_send(cw.system, to, WALL_PING, NULL, 0) == AXO_OK);
    crash_wait(&cw.pings, before + 1);
    return atomic_load(&wall_instance);
}

/* No page is there, which the compiler is not to know. */
static unsigned char *volatile wall_nowhere = (unsigned char *)16;

/* ---- at the instruction --------------------------------------------------------------------- */

static void wall_past_state(axo_ctx *ctx, unsigned char *state, const axo_message *message)
{
    wall_write(state + WALL_STATE);
}

static void wall_past_block(axo_ctx *ctx, unsigned char *state, const axo_message *message)
{
    unsigned char *block = axo_must_alloc(ctx, 160);
    wall_write(block + 160);
}

static void wall_reads_past_block(axo_ctx *ctx, unsigned char *state, const axo_message *message)
{
    wall_at = (unsigned char *)axo_must_alloc(ctx, 160) + 160;
    (void)*(volatile unsigned char *)wall_at;
}

static void wall_freed_block(axo_ctx *ctx, unsigned char *state, const axo_message *message)
{
    unsigned char *block = axo_must_alloc(ctx, 160);
    axo_free(ctx, block);
    wall_write(block + 16);
}

static void wall_past_draft(axo_ctx *ctx, unsigned char *state, const axo_message *message)
{
    axo_draft *draft;
    void *room;
    CRASH_CHECK(axo_message_new(ctx, WALL_GIVEN, 32, &draft, &room) == AXO_OK);
    wall_write((unsigned char *)room + 32);
}

/* The program's payload is a function's address: 8 bytes, and 8 more to the page's end. */
static void wall_past_payload(axo_ctx *ctx, unsigned char *state, const axo_message *message)
{
    wall_write((unsigned char *)(uintptr_t)message->payload + 16);
}

static void wall_frozen_payload(axo_ctx *ctx, unsigned char *state, const axo_message *message)
{
    wall_write((unsigned char *)(uintptr_t)message->payload);
}

/* What is to be copied into a payload with walls is not there. */
static void wall_no_payload(axo_ctx *ctx, unsigned char *state, const axo_message *message)
{
    wall_at = wall_nowhere;
    (void)axo_send(ctx, axo_self(ctx), WALL_GIVEN, wall_at, 32);
}

static void wall_kept_draft(axo_ctx *ctx, unsigned char *state, const axo_message *message)
{
    axo_draft *draft;
    void *room;
    CRASH_CHECK(axo_message_new(ctx, WALL_GIVEN, 32, &draft, &room) == AXO_OK);
    memset(room, 7, 32);
    CRASH_CHECK(axo_send_message(ctx, axo_self(ctx), draft) == AXO_OK);
    wall_write(room);
}

typedef struct wall_row {
    const char *name;
    wall_fn fn;
    uint32_t walls;
    uint32_t access;
    uint32_t given; /* messages that come as they were sent */
} wall_row;

static void wall_contained(const void *arg)
{
    const wall_row *row = arg;
    wall_start(row->walls, 0);
    axo_ref who = wall_spawn("who");
    wall_other = wall_spawn("other");
    CRASH_CHECK(wall_ping(who) == 1 && wall_ping(wall_other) == 1);
    wall_do(who, row->fn);
    crash_wait(&cw.decided, 1);
    CRASH_CHECK(wall_ping(who) == 2 && wall_ping(wall_other) == 1);
    CRASH_CHECK(cw.failure.kind == AXO_FAILURE_CRASH && cw.failure.code == SIGSEGV && cw.crashed);
    CRASH_CHECK(cw.crash.actor.bits == who.bits && cw.crash.instance == 1);
    CRASH_CHECK(cw.crash.address == (uintptr_t)wall_at && cw.crash.access == row->access);
    CRASH_CHECK(atomic_load(&cw.decided) == 1 && axo_system_crashes(cw.system, NULL, 0) == 1);
    CRASH_CHECK(atomic_load(&wall_given) == row->given);
    crash_finish();
}

static void a_wall_is_a_failure_of_who_has_written(void **state)
{
    static const wall_row rows[] = {
        {"past a state", wall_past_state, AXO_WALL_GUARD, AXO_CRASH_WRITE, 0},
        {"past a block", wall_past_block, AXO_WALL_GUARD, AXO_CRASH_WRITE, 0},
        {"reads past a block", wall_reads_past_block, AXO_WALL_GUARD, AXO_CRASH_READ, 0},
        {"a freed block", wall_freed_block, AXO_WALL_GUARD, AXO_CRASH_WRITE, 0},
        {"past a draft", wall_past_draft, AXO_WALL_GUARD, AXO_CRASH_WRITE, 0},
        {"past a payload", wall_past_payload, AXO_WALL_GUARD, AXO_CRASH_WRITE, 0},
        {"no payload to copy", wall_no_payload, AXO_WALL_CANARY, AXO_CRASH_READ, 0},
        {"no payload to copy to pages", wall_no_payload, AXO_WALL_GUARD | AXO_WALL_FREEZE,
         AXO_CRASH_READ, 0},
        {"a frozen payload", wall_frozen_payload, AXO_WALL_FREEZE, AXO_CRASH_WRITE, 0},
        {"a draft that was sent", wall_kept_draft, AXO_WALL_FREEZE, AXO_CRASH_WRITE, 1},
        {"all walls", wall_past_block,
         AXO_WALL_CANARY | AXO_WALL_FREED | AXO_WALL_GUARD | AXO_WALL_FREEZE, AXO_CRASH_WRITE, 0},
    };
    if (CRASH_REPORTED)
        skip();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        crash_end end = crash_run(wall_contained, &rows[i]);
        crash_is_well(&end, rows[i].name);
    }
}

/* ---- a misuse, and then a crash ------------------------------------------------------------- */

static void wall_misuse(axo_ctx *ctx, unsigned char *state, const axo_message *message)
{
    axo_free(ctx, state);
    *wall_nowhere = 1;
}

/* Past the end of the payload, into the canary; that is looked at when the callback is over. */
static void wall_canary(axo_ctx *ctx, unsigned char *state, const axo_message *message)
{
    unsigned char *payload = (unsigned char *)(uintptr_t)message->payload;
    payload[message->size] ^= 1;
    *wall_nowhere = 1;
}

/* The crash says more, and breaks the instance: it is not resumed. */
static void wall_crash_after(const void *arg)
{
    wall_fn fn;
    memcpy(&fn, arg, sizeof fn);
    cw.answer = AXO_RESUME;
    wall_start(AXO_WALL_CANARY, 0);
    axo_ref who = wall_spawn("who");
    wall_do(who, fn);
    crash_wait(&cw.decided, 1);
    CRASH_CHECK(wall_ping(who) == 2);
    CRASH_CHECK(cw.failure.kind == AXO_FAILURE_CRASH && cw.crashed);
    CRASH_CHECK(atomic_load(&wall_lines) == (fn == wall_canary));
    CRASH_CHECK(fn != wall_canary || strstr(wall_line, "past its end: payload") != NULL);
    crash_finish();
}

static void a_crash_says_more(void **state)
{
    static const wall_fn ways[] = {wall_misuse, wall_canary};
    if (CRASH_REPORTED)
        skip();
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        crash_end end = crash_run(wall_crash_after, &ways[i]);
        crash_is_well(&end, i == 0 ? "axo_free" : "a payload's canary");
    }
}

/* ---- a state that is written past its end --------------------------------------------------- */

enum { WALL_ACTORS = 16, WALL_FIRST = 8, WALL_LAST = 256, WALL_STEP = 8 };

/* What became of the lengths WALL_FIRST to WALL_LAST. */
typedef struct wall_counts {
    uint32_t writes;
    uint32_t contained; /* a failure of the writer, at the first byte */
    uint32_t named;     /* a line that names the writer, at its end at the latest */
    uint32_t wrong;     /* another actor's state has changed */
} wall_counts;

static unsigned char *wall_states[WALL_ACTORS];
static uint32_t wall_born;
static size_t wall_length;
static bool wall_named;

static void wall_tells_state(axo_ctx *ctx, unsigned char *state, const axo_message *message)
{
    wall_states[wall_born++] = state;
}

static void wall_overruns(axo_ctx *ctx, unsigned char *state, const axo_message *message)
{
    volatile unsigned char *at = state;
    for (size_t i = 0; i < wall_length; i++)
        at[WALL_STATE + i] = 0xee;
}

static void wall_note(void *user, const axo_log_record *record)
{
    const axo_ref *writer = user;
    if (record->event == AXO_LOG_FAILURE_AGAIN && record->actor.bits == writer->bits &&
        strstr(record->line, "written past its end: state") != NULL)
        wall_named = true;
}

static void wall_run(void)
{
    CRASH_CHECK(axo_run_host(cw.system, -1, NULL) == AXO_OK);
}

/* The state behind which most others lie within reach: what is overrun is another one's. */
static uint32_t wall_writer(void)
{
    uint32_t best = 0;
    uint32_t most = 0;
    for (uint32_t i = 0; i < WALL_ACTORS; i++) {
        uint32_t behind = 0;
        for (uint32_t k = 0; k < WALL_ACTORS; k++)
            behind += (uintptr_t)wall_states[k] > (uintptr_t)wall_states[i] &&
                      (uintptr_t)wall_states[k] - (uintptr_t)wall_states[i] < 512;
        if (behind > most) {
            most = behind;
            best = i;
        }
    }
    return best;
}

static void wall_length_of(uint32_t walls, size_t length, wall_counts *counts)
{
    static const axo_strategy strategy = AXO_STRATEGY(.decider = crash_decide);
    axo_ref writer;
    axo_ref refs[WALL_ACTORS];
    axo_options options =
        AXO_OPTIONS(.contain = 1, .manual = 1, .walls = walls, .user_strategy = &strategy,
                    .log_record = wall_note, .log_record_user = &writer, .failure_log = UINT32_MAX);
    memset(&writer, 0, sizeof writer);
    memset(&cw, 0, sizeof cw);
    wall_born = 0;
    wall_named = false;
    wall_length = length;
    CRASH_CHECK(axo_system_start(&options, &cw.system) == AXO_OK);
    for (uint32_t i = 0; i < WALL_ACTORS; i++) {
        refs[i] = wall_spawn(NULL);
        wall_do(refs[i], wall_tells_state);
        wall_run();
    }
    uint32_t which = wall_writer();
    writer = refs[which];
    wall_do(writer, wall_overruns);
    wall_run();
    counts->writes++;
    counts->contained += cw.failure.kind == AXO_FAILURE_CRASH && cw.crashed &&
                         cw.crash.actor.bits == writer.bits &&
                         cw.crash.address == (uintptr_t)(wall_states[which] + WALL_STATE);
    bool wrong = false;
    for (uint32_t i = 0; i < WALL_ACTORS && walls != AXO_WALL_GUARD; i++) {
        for (size_t k = 0; k < WALL_STATE; k++)
            wrong = wrong || wall_states[i][k] != 0;
    }
    counts->wrong += wrong;
    CRASH_CHECK(axo_system_stop(cw.system, -1, NULL, 0, NULL) == AXO_OK);
    CRASH_CHECK(axo_system_destroy(cw.system) == AXO_OK);
    counts->named += wall_named;
}

/* Without a wall nobody notices, whatever it was that was overwritten; with a canary the writer is
 * named for each length; with a guard it fails at the first byte, and no other actor's is touched.
 */
static void wall_past_the_end(const void *arg)
{
    const uint32_t walls = *(const uint32_t *)arg;
    const uint32_t all = (WALL_LAST - WALL_FIRST) / WALL_STEP + 1;
    wall_counts counts = {.writes = 0};
    for (size_t length = WALL_FIRST; length <= WALL_LAST; length += WALL_STEP)
        wall_length_of(walls, length, &counts);
    (void)dprintf(STDOUT_FILENO, "walls %u: %u writes, %u contained, %u named, %u wrong\n", walls,
                  counts.writes, counts.contained, counts.named, counts.wrong);
    CRASH_CHECK(counts.writes == all);
    CRASH_CHECK(counts.contained == (walls == AXO_WALL_GUARD ? all : 0));
    CRASH_CHECK(counts.named == (walls == AXO_WALL_CANARY ? all : 0));
    CRASH_CHECK((counts.wrong > 0) == (walls != AXO_WALL_GUARD));
}

static void past_the_end_of_a_state(void **state)
{
    static const uint32_t kinds[] = {0, AXO_WALL_CANARY, AXO_WALL_GUARD};
    if (CRASH_REPORTED)
        skip();
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        crash_end end = crash_run(wall_past_the_end, &kinds[i]);
        crash_is_well(&end, "past the end of a state");
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_wall_is_a_failure_of_who_has_written),
    cmocka_unit_test(a_crash_says_more),
    cmocka_unit_test(past_the_end_of_a_state),
};

TEST_MAIN(tests)
