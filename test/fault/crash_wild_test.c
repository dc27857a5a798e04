/* crash_wild_test.c - what becomes of a program in which one actor makes one bad access and the
 * program works on: a process for each try, the place of the access by a seed. The table that this
 * prints stands in README. Its first row and its last are promises, which are kept here: bad
 * pointers, and whatever walls of pages stop, are contained, 99 times of 100 at least.
 *
 * "Nobody notices" is by what is looked at here for 3000 messages: a pattern in each state, block
 * and payload, the sum of messages, stop and destroy.
 *
 * AXO_WILD: so many tries of each row; else 300 of the first, 100 of the last, whose pages cost
 * time, and 50 of the others.
 */
#include "fault/crash.h"

enum {
    WILD_ACTORS = 8,
    WILD_STEPS = 1500,
    WILD_STEP = 1,
    WILD_ECHO,
    WILD_HARM,
    WILD_BLOCK = 72,
    WILD_FILL = 0x5a,
    WILD_SECONDS = 30
};
enum { WILD_WRONG = 4, WILD_CONTAINED = 5 }; /* how a process has ended */

typedef struct wild_state {
    uint64_t magic;
    unsigned char *block; /* malloc's */
    unsigned char *piece; /* axo_alloc's */
    unsigned char pattern[104];
} wild_state;

typedef void (*wild_fn)(axo_ctx *ctx, wild_state *state, const axo_message *message);

typedef struct wild_case {
    wild_fn harm;
    uint32_t walls;
    uint64_t seed;
} wild_case;

static wild_case wild;
static axo_ref wild_refs[WILD_ACTORS];
static uint64_t wild_random_state;
static volatile uint64_t wild_sink;

static uint64_t wild_random(void)
{
    wild_random_state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t x = wild_random_state;
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static void wild_fill(unsigned char *bytes, size_t size, uint64_t seed)
{
    for (size_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)(seed * 31 + i * 7 + 1);
}

static void wild_look(const unsigned char *bytes, size_t size, uint64_t seed)
{
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] != (unsigned char)(seed * 31 + i * 7 + 1))
            _exit(WILD_WRONG);
    }
}

/* ---- the harm ------------------------------------------------------------------------------- */

/* Not memset: what it writes past is not known to the compiler, nor to a fortified libc. */
static __attribute__((noinline)) void wild_overwrite(unsigned char *volatile at, size_t size)
{
    for (size_t i = 0; i < size; i++)
        ((volatile unsigned char *)at)[i] = WILD_FILL;
}

static size_t wild_beyond(void)
{
    return 8 * (1 + wild_random() % 32); /* 8 to 256 bytes */
}

/* A field of nothing, and what may stand in memory that nobody has filled: any bits, or bits that
 * look like an address. */
static void wild_pointer(axo_ctx *ctx, wild_state *state, const axo_message *message)
{
    uint64_t bits = wild_random();
    uint64_t addresses[] = {bits % 4096, bits, bits >> 17, bits >> 32};
    volatile uint64_t *at = (volatile uint64_t *)(uintptr_t)addresses[wild_random() % 4];
    if (wild_random() % 2 == 0)
        *at = WILD_FILL;
    else
        wild_sink += *at;
}

static void wild_past_state(axo_ctx *ctx, wild_state *state, const axo_message *message)
{
    wild_overwrite((unsigned char *)state + sizeof *state, wild_beyond());
}

static void wild_past_piece(axo_ctx *ctx, wild_state *state, const axo_message *message)
{
    wild_overwrite(state->piece + WILD_BLOCK, wild_beyond());
}

static void wild_past_malloc(axo_ctx *ctx, wild_state *state, const axo_message *message)
{
    wild_overwrite(state->block + WILD_BLOCK, wild_beyond());
}

static void wild_past_payload(axo_ctx *ctx, wild_state *state, const axo_message *message)
{
    wild_overwrite((unsigned char *)(uintptr_t)message->payload + message->size, wild_beyond());
}

static void wild_freed(axo_ctx *ctx, wild_state *state, const axo_message *message)
{
    unsigned char *volatile block = state->block;
    free(state->block);
    wild_overwrite(block, 64);
    state->block = malloc(WILD_BLOCK);
    wild_fill(state->block, WILD_BLOCK, state->magic);
}

/* The part of memory that the kernel names [heap]. */
static void wild_anywhere(axo_ctx *ctx, wild_state *state, const axo_message *message)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    unsigned long long from = 0;
    unsigned long long to = 0;
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        if (strstr(line, "[heap]") != NULL)
            (void)sscanf(line, "%llx-%llx", &from, &to);
    }
    if (maps != NULL)
        (void)fclose(maps);
    CRASH_CHECK(to > from);
    wild_overwrite((unsigned char *)(uintptr_t)(from + wild_random() % ((to - from) / 8) * 8), 8);
}

#if defined(__has_attribute)
#if __has_attribute(no_stack_protector)
#define WILD_UNPROTECTED __attribute__((noinline, no_stack_protector))
#endif
#endif
#ifndef WILD_UNPROTECTED
#define WILD_UNPROTECTED __attribute__((noinline))
#endif

static WILD_UNPROTECTED void wild_past_array(axo_ctx *ctx, wild_state *state,
                                             const axo_message *message)
{
    unsigned char array[32];
    wild_fill(array, sizeof array, state->magic);
    wild_overwrite(array + sizeof array, wild_beyond());
    wild_sink += array[wild_sink % sizeof array];
}

/* A block whose size is no multiple of 16 has a canary between its end and the page: not here. */
static void wild_into_a_wall(axo_ctx *ctx, wild_state *state, const axo_message *message)
{
    size_t size = 16 * (1 + wild_random() % 256);
    unsigned char *block = axo_must_alloc(ctx, size);
    switch (wild_random() % 3) {
    case 0:
        wild_overwrite(block + size, wild_beyond());
        return;
    case 1:
        axo_free(ctx, block);
        wild_overwrite(block + wild_random() % size, 1);
        return;
    default:
        wild_overwrite((unsigned char *)(uintptr_t)message->payload + wild_random() % message->size,
                       1);
    }
}

/* ---- the actors ----------------------------------------------------------------------------- */

static axo_status wild_construct(axo_ctx *ctx, void *memory, const void *args)
{
    wild_state *state = memory;
    state->magic = axo_self(ctx).bits;
    state->block = malloc(WILD_BLOCK);
    state->piece = axo_alloc(ctx, WILD_BLOCK);
    if (state->block == NULL || state->piece == NULL)
        return AXO_ENOMEM;
    wild_fill(state->pattern, sizeof state->pattern, state->magic);
    wild_fill(state->block, WILD_BLOCK, state->magic);
    wild_fill(state->piece, WILD_BLOCK, state->magic);
    return AXO_OK;
}

static axo_status wild_post_stop(axo_ctx *ctx, void *memory)
{
    free(((wild_state *)memory)->block);
    return AXO_OK;
}

static axo_status wild_receive(axo_ctx *ctx, void *memory, const axo_message *message)
{
    wild_state *state = memory;
    unsigned char *blocks[3];
    if (state->magic != axo_self(ctx).bits)
        _exit(WILD_WRONG);
    wild_look(state->pattern, sizeof state->pattern, state->magic);
    wild_look(message->payload, message->size, message->tag);
    wild_look(state->piece, WILD_BLOCK, state->magic);
    wild_look(state->block, WILD_BLOCK, state->magic);
    if (message->tag == WILD_HARM) {
        wild.harm(ctx, state, message);
        return AXO_OK;
    }
    free(state->block);
    for (size_t i = 0; i < 3; i++) /* other actors' and other sizes beside it */
        blocks[i] = malloc(WILD_BLOCK + 40 * i);
    for (size_t i = 1; i < 3; i++)
        free(blocks[i]);
    state->block = blocks[0];
    wild_fill(state->block, WILD_BLOCK, state->magic);
    if (message->tag == WILD_STEP) {
        unsigned char payload[40];
        wild_fill(payload, sizeof payload, WILD_ECHO);
        axo_ref to = wild_refs[(axo_self(ctx).bits + message->size) % WILD_ACTORS];
        return axo_send(ctx, to, WILD_ECHO, payload, message->size);
    }
    return AXO_OK;
}

static const axo_class wild_class =
    AXO_CLASS(.name = "wild", .state_size = sizeof(wild_state), .construct = wild_construct,
              .receive = wild_receive, .post_stop = wild_post_stop, .on_crash = AXO_CRASH_FAILS);

/* ---- a process ------------------------------------------------------------------------------ */

static void wild_send(axo_system *system, axo_ref to, uint32_t tag, size_t size)
{
    unsigned char payload[40];
    wild_fill(payload, sizeof payload, tag);
    if (axo_system_send(system, to, tag, payload, size) != AXO_OK)
        _exit(WILD_WRONG);
}

/* The allocator is malloc, so what the program takes and what the library takes lie together. */
static void wild_run(const void *argument)
{
    axo_system *system;
    wild = *(const wild_case *)argument;
    axo_options options = AXO_OPTIONS(.workers = 2, .contain = 1, .failure_log = UINT32_MAX,
                                      .walls = wild.walls);
    axo_props props = AXO_PROPS(.cls = &wild_class);
    axo_stats stats = AXO_STATS();
    (void)alarm(WILD_SECONDS);
    wild_random_state = wild.seed;
    CRASH_CHECK(axo_system_start(&options, &system) == AXO_OK);
    for (size_t i = 0; i < WILD_ACTORS; i++)
        CRASH_CHECK(axo_system_spawn(system, &props, &wild_refs[i]) == AXO_OK);
    for (size_t i = 0; i < WILD_STEPS; i++) {
        if (i == WILD_STEPS / 10)
            wild_send(system, wild_refs[wild.seed % WILD_ACTORS], WILD_HARM, 24);
        wild_send(system, wild_refs[i % WILD_ACTORS], WILD_STEP, 8 + i % 4 * 8);
    }
    do {
        (void)usleep(500);
        if (axo_system_stats(system, &stats) != AXO_OK)
            _exit(WILD_WRONG);
    } while (stats.sent != stats.handled + stats.dead + stats.dropped);
    if (stats.dead > 0 || /* an actor is gone */
        axo_system_stop(system, 2 * WILD_SECONDS * PARTS_S, NULL, 0, NULL) != AXO_OK ||
        axo_system_stats(system, &stats) != AXO_OK ||
        stats.sent != stats.handled + stats.dead + stats.dropped)
        _exit(WILD_WRONG);
    const bool contained = axo_system_crashes(system, NULL, 0) > 0;
    if (axo_system_destroy(system) != AXO_OK)
        _exit(WILD_WRONG);
    _exit(contained ? WILD_CONTAINED : 0);
}

/* ---- the table ------------------------------------------------------------------------------ */

typedef enum wild_end {
    WILD_IS_CONTAINED,
    WILD_DIES,
    WILD_DIFFERS,
    WILD_HANGS,
    WILD_UNSEEN,
    WILD_ENDS
} wild_end;

static wild_end wild_end_of(const crash_end *end)
{
    if (WIFSIGNALED(end->status))
        return WTERMSIG(end->status) == SIGALRM ? WILD_HANGS : WILD_DIES;
    switch (WEXITSTATUS(end->status)) {
    case 0:
        return WILD_UNSEEN;
    case WILD_CONTAINED:
        return WILD_IS_CONTAINED;
    case WILD_WRONG:
        return WILD_DIFFERS;
    default:
        fail_msg("\"%s\"", end->text);
    }
    return WILD_ENDS;
}

typedef struct wild_row {
    const char *name;
    wild_fn harm;
    uint32_t walls;
    uint32_t tries; /* usually */
    bool promised;  /* that it is contained */
} wild_row;

static const wild_row wild_rows[] = {
    {"null + offset; uninitialised pointer", wild_pointer, 0, 300, true},
    {"8 to 256 bytes past the state block", wild_past_state, 0, 50, false},
    {"past an `axo_alloc` block", wild_past_piece, 0, 50, false},
    {"past a `malloc` block", wild_past_malloc, 0, 50, false},
    {"past a payload", wild_past_payload, 0, 50, false},
    {"64 bytes through a freed `malloc` block", wild_freed, 0, 50, false},
    {"8 bytes anywhere in the main heap", wild_anywhere, 0, 50, false},
    {"past a local array (no stack protector)", wild_past_array, 0, 50, false},
    {"with walls of pages: past an `axo_alloc` block, through a freed one, into a sent payload",
     wild_into_a_wall, AXO_WALL_GUARD | AXO_WALL_FREEZE, 100, true},
};

/* returns how many of a thousand were contained */
static uint32_t wild_measure(const wild_row *row, uint32_t tries, uint64_t seed)
{
    uint32_t ends[WILD_ENDS] = {0};
    for (uint32_t i = 0; i < tries; i++) {
        wild_case one = {.harm = row->harm, .walls = row->walls, .seed = seed + i};
        crash_end end = crash_run(wild_run, &one);
        ends[wild_end_of(&end)]++;
    }
    (void)printf("| %s |", row->name);
    for (size_t i = 0; i < WILD_ENDS; i++)
        (void)printf(" %.1f %% |", 100.0 * ends[i] / tries);
    (void)printf("\n");
    return ends[WILD_IS_CONTAINED] * 1000 / tries;
}

static void bad_pointers_are_contained(void **state)
{
    const char *asked = getenv("AXO_WILD");
    uint32_t tries = asked != NULL ? (uint32_t)strtoul(asked, NULL, 10) : 0;
    if (CRASH_REPORTED)
        skip();
    (void)printf("| sort of bug | contained | process dies | wrong data | hangs | nobody notices "
                 "|\n| --- | --- | --- | --- | --- | --- |\n");
    for (size_t i = 0; i < sizeof wild_rows / sizeof wild_rows[0]; i++) {
        const wild_row *row = &wild_rows[i];
        uint32_t permille = wild_measure(row, tries != 0 ? tries : row->tries, 1000 * i);
        if (row->promised && permille < 990)
            fail_msg("%s: %u of a thousand", row->name, permille);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(bad_pointers_are_contained),
};

TEST_MAIN(tests)
