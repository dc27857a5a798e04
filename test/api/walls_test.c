/* walls_test.c - walls as a program asks for them: what each finds, in whose name, and when; the
 * class and the environment; that a program sees nothing of them but what they find. */
#include "api/heap_world.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define CANARY AXO_WALL_CANARY
#define FREED  AXO_WALL_FREED
#define GUARD  AXO_WALL_GUARD
#define FREEZE AXO_WALL_FREEZE
#define ALL    (CANARY | FREED | GUARD | FREEZE)

#ifdef __SANITIZE_ADDRESS__
#define REPORTED 1
#else
#define REPORTED 0
#endif

/* Of the log's lines since then, one has all three. */
static void expect_line(uint32_t since, const char *one, const char *two, const char *three)
{
    for (uint32_t i = since; i < heap.lines && i < 16; i++) {
        const char *line = heap.log[i];
        if (strstr(line, one) != NULL && strstr(line, two) != NULL && strstr(line, three) != NULL)
            return;
    }
    fail_msg("no line has \"%s\", \"%s\", \"%s\": %s", one, two, three, heap.log[since]);
}

/* ---- canaries ---- */

static unsigned char *block;

static axo_status takes(axo_ctx *ctx, void *state, const axo_message *message)
{
    block = axo_must_alloc(ctx, 100);
    return AXO_OK;
}

static axo_status frees(axo_ctx *ctx, void *state, const axo_message *message)
{
    axo_free(ctx, block);
    return AXO_OK;
}

static axo_status fails(axo_ctx *ctx, void *state, const axo_message *message)
{
    return axo_fail(ctx, 5, "as told");
}

static axo_status stops(axo_ctx *ctx, void *state, const axo_message *message)
{
    return axo_stop_self(ctx);
}

static axo_status overruns_state(axo_ctx *ctx, void *state, const axo_message *message)
{
    ((unsigned char *)state)[sizeof(heap_state) + 7] ^= 1;
    return AXO_OK;
}

/* At axo_free it is the callback's failure; after a failure, and at the end, a line; each says
 * which block of which class and actor. */
static void past_a_block(void **state)
{
    heap_start(CANARY, NULL);
    axo_ref ref = heap_spawn((axo_props)AXO_PROPS(.name = "who"));
    heap_do(ref, takes);
    block[100] ^= 1;
    heap_do(ref, frees);
    heap_expect(1, AXO_EINVAL, "written past its end: block 0x",
                "of 100 bytes, class heapy, "
                "/user/who");
    uint32_t before = heap.lines;
    heap_do(ref, takes);
    block[107] ^= 1;
    heap.directive = AXO_RESUME; /* so it is not found at the instance's end */
    heap_do(ref, fails);
    heap.directive = 0;
    assert_int_equal(heap.failures, 2);
    assert_int_equal(heap.failure.kind, AXO_FAILURE_ORDINARY); /* its own failure stays */
    assert_int_equal(heap.failure.code, 5);
    expect_line(before, "written past its end: block", "class heapy", "/user/who");
    before = heap.lines;
    heap_do(ref, takes);
    block[103] ^= 1;
    heap_do(ref, stops);
    expect_line(before, "written past its end: block", "of 100 bytes", "/user/who");
    assert_int_equal(heap.lines, before + 1);
    heap_end();
}

static void past_a_state(void **state)
{
    heap_start(CANARY, NULL);
    axo_ref ref = heap_spawn((axo_props)AXO_PROPS(.name = "who"));
    axo_ref other = heap_spawn((axo_props)AXO_PROPS(.name = "other"));
    heap_do(ref, overruns_state);
    assert_int_equal(heap.lines, 0);
    heap_do(other, fails);
    assert_int_equal(heap.lines, 1); /* the decision alone: it was not that one */
    heap_do(ref, fails);
    assert_int_equal(heap.lines, 3);
    expect_line(1, "written past its end: state 0x", "of 48 bytes, class heapy", "/user/who");
    heap_do(ref, overruns_state);
    heap_do(ref, stops);
    assert_int_equal(heap.lines, 4);
    expect_line(3, "written past its end: state", "class heapy", "/user/who");
    heap_end();
}

/* Arguments lie behind the state and are the same for each instance. */
static axo_status looks_at_args(axo_ctx *ctx, void *state, const axo_message *message)
{
    assert_int_equal(((heap_state *)state)->constructed, axo_instance(ctx));
    return AXO_OK;
}

static uint64_t given[5];

static axo_status args_construct(axo_ctx *ctx, void *state, const void *args)
{
    assert_memory_equal(args, given, sizeof given);
    assert_int_equal((uintptr_t)args % 16, 0);
    assert_int_equal((uintptr_t)state % 16, 0);
    for (size_t i = 0; i < sizeof(heap_state); i++)
        assert_int_equal(((unsigned char *)state)[i], 0);
    return heap_construct(ctx, state, args);
}

static const axo_class args_class = AXO_CLASS(.name = "args", .state_size = sizeof(heap_state),
                                              .construct = args_construct, .receive = heap_receive);
static const axo_class bare_class = AXO_CLASS(.name = "bare", .receive = heap_receive);

static void states_and_args(void **state)
{
    static const uint32_t walls[] = {0, CANARY, GUARD, ALL};
    for (uint32_t i = 0; i < 5; i++)
        given[i] = i + 1;
    for (uint32_t i = 0; i < 4; i++) {
        heap_start(walls[i], NULL);
        axo_ref ref = heap_spawn(
            (axo_props)AXO_PROPS(.cls = &args_class, .args = given, .args_size = sizeof given));
        axo_ref bare = heap_spawn(
            (axo_props)AXO_PROPS(.cls = &bare_class, .args = given, .args_size = sizeof given));
        for (int round = 0; round < 3; round++) {
            heap_do(ref, looks_at_args);
            heap_do(ref, fails);
            heap_do(bare, fails);
        }
        assert_int_equal(heap.failures, 6);
        assert_int_equal(heap.lines, 6);
        heap_end();
    }
}

/* ---- payloads ---- */

static axo_ref to;
static uint32_t noted;
static axo_status sent;

static axo_status notes(axo_ctx *ctx, void *state, const axo_message *message)
{
    axo_owned owned;
    assert_int_equal(axo_message_take(ctx, message, &owned), AXO_EINVAL); /* it was copied */
    assert_int_equal((uintptr_t)message->payload % 16, 0);
    for (uint32_t i = 0; i < message->size; i++)
        assert_int_equal(((const unsigned char *)message->payload)[i], 0x21);
    noted += message->size;
    return AXO_OK;
}

static axo_status overruns_payload(axo_ctx *ctx, void *state, const axo_message *message)
{
    ((unsigned char *)(uintptr_t)message->payload)[message->size] ^= 1;
    return AXO_OK;
}

static axo_status sends(axo_ctx *ctx, void *state, const axo_message *message)
{
    static const uint32_t sizes[] = {1, 8, 16, 17, 100, 5000};
    unsigned char bytes[5000];
    memset(bytes, 0x21, sizeof bytes);
    for (uint32_t i = 0; i < 6; i++) {
        axo_draft *draft;
        void *room;
        assert_int_equal(axo_send(ctx, to, HEAP_NOTE, bytes, sizes[i]), AXO_OK);
        assert_int_equal(axo_message_new(ctx, HEAP_NOTE, sizes[i], &draft, &room), AXO_OK);
        memset(room, 0x21, sizes[i]);
        assert_int_equal(axo_draft_from(ctx, draft, axo_ref_none()), AXO_OK);
        if (i % 2 == 0)
            assert_int_equal(axo_draft_bind(ctx, draft, 1), AXO_OK);
        assert_int_equal(axo_send_message(ctx, to, draft), AXO_OK);
        assert_int_equal(axo_message_new(ctx, HEAP_NOTE, sizes[i], &draft, &room), AXO_OK);
        axo_message_discard(ctx, draft);
    }
    assert_int_equal(axo_send(ctx, to, HEAP_NOTE, NULL, 0), AXO_OK);
    return AXO_OK;
}

static axo_status forwards(axo_ctx *ctx, void *state, const axo_message *message)
{
    assert_int_equal(axo_forward(ctx, message, to), AXO_OK);
    return AXO_OK;
}

static axo_status stashes(axo_ctx *ctx, void *state, const axo_message *message)
{
    return axo_stash(ctx);
}

static axo_status unstashes(axo_ctx *ctx, void *state, const axo_message *message)
{
    heap.note = notes;
    return axo_unstash_all(ctx);
}

/* The same messages, whatever the walls, come by every way; nothing is left. */
static void payloads_come_as_always(void **state)
{
    static const uint32_t walls[] = {0, CANARY, GUARD, FREEZE, GUARD | FREEZE, ALL};
    const uint32_t sum = 2 * (1 + 8 + 16 + 17 + 100 + 5000);
    axo_mailbox bounded = AXO_MAILBOX(.messages_max = 100);
    unsigned char byte = 0x21;
    for (uint32_t i = 0; i < 6; i++) {
        heap_start(walls[i], NULL);
        axo_ref ref = heap_spawn((axo_props)AXO_PROPS());
        axo_ref last = heap_spawn((axo_props)AXO_PROPS());
        to = heap_spawn((axo_props)AXO_PROPS(.mailbox = &bounded));
        heap.note = notes;
        noted = 0;
        heap_do(ref, sends);
        assert_int_equal(noted, sum);
        to = last;
        heap_do(ref, sends);
        assert_int_equal(noted, 2 * sum);
        heap.note = stashes;
        heap_do(ref, sends);
        heap_do(last, unstashes);
        assert_int_equal(noted, 3 * sum);
        assert_int_equal(axo_system_send(heap.system, last, HEAP_NOTE, &byte, 1), AXO_OK);
        heap_run();
        assert_int_equal(noted, 3 * sum + 1);
        heap.note = forwards;
        assert_int_equal(axo_system_send(heap.system, ref, HEAP_NOTE, &byte, 1), AXO_OK);
        assert_int_equal(axo_step_host(heap.system, 1, NULL), AXO_OK);
        heap.note = notes;
        heap_run();
        assert_int_equal(noted, 3 * sum + 2);
        heap_do(last, stops);
        assert_int_equal(axo_system_send(heap.system, ref, HEAP_NOTE, &byte, 1), AXO_OK);
        assert_int_equal(axo_system_send(heap.system, last, HEAP_NOTE, &byte, 1), AXO_EGONE);
        heap_run();
        assert_int_equal(heap.failures, 0);
        heap_end();
    }
}

/* The receiver has written past it: found when it is handled, though the callback was content. */
static void past_a_payload(void **state)
{
    static const uint32_t walls[] = {CANARY, GUARD};
    for (uint32_t i = 0; i < 2; i++) {
        unsigned char bytes[100];
        memset(bytes, 0, sizeof bytes);
        heap_start(walls[i], NULL);
        axo_ref ref = heap_spawn((axo_props)AXO_PROPS(.name = "who"));
        heap.note = overruns_payload;
        assert_int_equal(axo_system_send(heap.system, ref, HEAP_NOTE, bytes, 100), AXO_OK);
        heap_run();
        heap_expect(1, AXO_EINVAL, "written past its end: payload 0x", "class heapy, /user/who");
        assert_int_equal(heap.failure.tag, HEAP_NOTE);
        heap_end();
    }
}

static axo_draft *refused;

static axo_status overruns_draft(axo_ctx *ctx, void *state, const axo_message *message)
{
    void *room;
    assert_int_equal(axo_message_new(ctx, HEAP_NOTE, 5, &refused, &room), AXO_OK);
    memset(room, 0x21, 5 + 1);
    sent = axo_send_message(ctx, to, refused);
    assert_int_equal(sent, AXO_EINVAL);
    memset(room, 0x21, 5); /* it is the caller's still */
    assert_int_equal(axo_send_message(ctx, to, refused), AXO_OK);
    return AXO_OK;
}

static void past_a_draft(void **state)
{
    static const uint32_t walls[] = {CANARY, GUARD, GUARD | FREEZE};
    for (uint32_t i = 0; i < 3; i++) {
        heap_start(walls[i], NULL);
        axo_ref ref = heap_spawn((axo_props)AXO_PROPS(.name = "who"));
        to = heap_spawn((axo_props)AXO_PROPS(.name = "other"));
        heap.note = notes;
        noted = 0;
        heap_do(ref, overruns_draft);
        heap_expect(1, AXO_EINVAL, "written past its end: payload", "class heapy, /user/who");
        assert_int_equal(noted, 5);
        heap_end();
    }
}

/* A refused draft may be written to again; a refused copy takes nothing along. */
static axo_status finds_it_full(axo_ctx *ctx, void *state, const axo_message *message)
{
    unsigned char bytes[8];
    void *room;
    memset(bytes, 0x21, sizeof bytes);
    assert_int_equal(axo_send(ctx, to, HEAP_NOTE, bytes, 8), AXO_OK);
    assert_int_equal(axo_send(ctx, to, HEAP_NOTE, bytes, 8), AXO_EFULL);
    assert_int_equal(axo_message_new(ctx, HEAP_NOTE, 8, &refused, &room), AXO_OK);
    memset(room, 0x20, 8);
    assert_int_equal(axo_send_message(ctx, to, refused), AXO_EFULL);
    memset(room, 0x21, 8);
    axo_message_discard(ctx, refused);
    return AXO_OK;
}

static void refused_messages(void **state)
{
    static const uint32_t walls[] = {CANARY, GUARD, FREEZE};
    axo_mailbox bounded = AXO_MAILBOX(.messages_max = 1);
    for (uint32_t i = 0; i < 3; i++) {
        heap_start(walls[i], NULL);
        axo_ref ref = heap_spawn((axo_props)AXO_PROPS());
        to = heap_spawn((axo_props)AXO_PROPS(.mailbox = &bounded));
        heap.note = notes;
        noted = 0;
        heap_do(ref, finds_it_full);
        assert_int_equal(noted, 8);
        heap_end();
    }
}

/* ---- freed blocks ---- */

static axo_status writes_after_free(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)axo_must_alloc(ctx, 10);
    unsigned char *freed = axo_must_alloc(ctx, 100);
    axo_free(ctx, freed);
    *(volatile unsigned char *)(freed + 50) = 1;
    return message->tag == HEAP_DO ? AXO_OK : AXO_EINVAL;
}

static void after_a_free(void **state)
{
    if (REPORTED)
        skip(); /* it is caught at once */
    heap_start(FREED, NULL);
    axo_ref ref = heap_spawn((axo_props)AXO_PROPS(.name = "who"));
    heap_do(ref, writes_after_free);
    assert_int_equal(heap.lines, 0);
    heap_do(ref, fails);
    expect_line(0, "written after it was freed: block", "of 100 bytes, class heapy", "/user/who");
    heap_do(ref, writes_after_free);
    uint32_t before = heap.lines;
    heap_do(ref, stops);
    expect_line(before, "written after it was freed: block", "class heapy", "/user/who");
    heap_end();
}

/* ---- faults: a child does it, and dies of SIGSEGV at that address ---- */

static unsigned char *volatile fault_at;

/* By a signal: memcheck puts an exit code of its own in the place of another. */
static void on_fault(int number, siginfo_t *info, void *context)
{
    if (number == SIGSEGV && fault_at != NULL && info->si_addr == (void *)fault_at)
        (void)kill(getpid(), SIGKILL);
    _exit(8);
}

static void write_at(unsigned char *at)
{
    fault_at = at;
    *(volatile unsigned char *)at = 1;
    fault_at = NULL;
}

static axo_status past_block(axo_ctx *ctx, void *state, const axo_message *message)
{
    unsigned char *mine = axo_must_alloc(ctx, 64);
    write_at(mine + 64);
    return AXO_OK;
}

static axo_status past_state(axo_ctx *ctx, void *state, const axo_message *message)
{
    write_at((unsigned char *)state + sizeof(heap_state));
    return AXO_OK;
}

static axo_status freed_block(axo_ctx *ctx, void *state, const axo_message *message)
{
    unsigned char *mine = axo_must_alloc(ctx, 64);
    axo_free(ctx, mine);
    write_at(mine + 8);
    return AXO_OK;
}

static axo_status resized_block(axo_ctx *ctx, void *state, const axo_message *message)
{
    unsigned char *mine = axo_must_alloc(ctx, 64);
    unsigned char *moved = axo_realloc(ctx, mine, 128);
    moved[127] = 1;
    write_at(mine);
    return AXO_OK;
}

static axo_status frozen_payload(axo_ctx *ctx, void *state, const axo_message *message)
{
    write_at((unsigned char *)(uintptr_t)message->payload);
    return AXO_OK;
}

static axo_status kept_draft(axo_ctx *ctx, void *state, const axo_message *message)
{
    axo_draft *draft;
    void *room;
    assert_int_equal(axo_message_new(ctx, HEAP_NOTE, 16, &draft, &room), AXO_OK);
    memset(room, 1, 16);
    assert_int_equal(axo_send_message(ctx, axo_self(ctx), draft), AXO_OK);
    write_at(room);
    return AXO_OK;
}

static axo_status past_draft(axo_ctx *ctx, void *state, const axo_message *message)
{
    axo_draft *draft;
    void *room;
    assert_int_equal(axo_message_new(ctx, HEAP_NOTE, 16, &draft, &room), AXO_OK);
    write_at((unsigned char *)room + 16);
    axo_message_discard(ctx, draft);
    return AXO_OK;
}

static const unsigned char *handled;

static axo_status keeps_payload(axo_ctx *ctx, void *state, const axo_message *message)
{
    handled = message->payload;
    return AXO_OK;
}

static axo_status handled_payload(axo_ctx *ctx, void *state, const axo_message *message)
{
    write_at((unsigned char *)(uintptr_t)handled);
    return AXO_OK;
}

static axo_status nothing(axo_ctx *ctx, void *state, const axo_message *message)
{
    return AXO_OK;
}

typedef enum wall_end { NOTHING, AT_THE_ADDRESS, BADLY } wall_end;

/* How a child ends that runs this with these walls. */
static wall_end run_child(uint32_t walls, const char *cls, heap_fn fn, heap_fn note)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
        (void)sigaction(SIGSEGV, &action, NULL);
        heap_start(walls, cls);
        axo_ref ref = heap_spawn((axo_props)AXO_PROPS());
        heap.note = note;
        unsigned char bytes[16] = {0};
        (void)axo_system_send(heap.system, ref, HEAP_NOTE, bytes, sizeof bytes);
        heap_run();
        heap_do(ref, fn);
        heap_end();
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status))
        return WTERMSIG(status) == SIGKILL ? AT_THE_ADDRESS : BADLY;
    return WEXITSTATUS(status) == 0 ? NOTHING : BADLY;
}

static void faults_at_the_instruction(void **state)
{
    if (REPORTED)
        skip(); /* its own report comes first */
    static const struct {
        uint32_t walls;
        heap_fn fn;
        heap_fn note;
    } rows[] = {
        {GUARD, past_block, nothing},      {GUARD, past_state, nothing},
        {GUARD, freed_block, nothing},     {GUARD, resized_block, nothing},
        {GUARD, past_draft, nothing},      {GUARD, handled_payload, keeps_payload},
        {FREEZE, frozen_payload, nothing}, {FREEZE, nothing, frozen_payload},
        {FREEZE, kept_draft, nothing},     {FREEZE, handled_payload, keeps_payload},
        {ALL, past_block, nothing},        {ALL, kept_draft, nothing},
    };
    for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (run_child(rows[i].walls, NULL, rows[i].fn, rows[i].note) != AT_THE_ADDRESS)
            fail_msg("row %u", i);
    }
    assert_int_equal(run_child(ALL, NULL, nothing, nothing), NOTHING);
}

/* ---- which class, and who says so ---- */

/* A child with this environment; `start`: whether its system starts. */
static wall_end run_environment(const char *walls, const char *cls, uint32_t options, heap_fn fn)
{
    wall_end result;
    if (walls != NULL)
        assert_int_equal(setenv("AXO_WALLS", walls, 1), 0);
    if (cls != NULL)
        assert_int_equal(setenv("AXO_WALLS_CLASS", cls, 1), 0);
    result = run_child(options, NULL, fn, nothing);
    (void)unsetenv("AXO_WALLS");
    (void)unsetenv("AXO_WALLS_CLASS");
    return result;
}

static void one_class_alone(void **state)
{
    if (!REPORTED) {
        assert_int_equal(run_child(GUARD, "heapy", past_block, nothing), AT_THE_ADDRESS);
        assert_int_equal(run_child(FREEZE, "heapy", kept_draft, nothing), AT_THE_ADDRESS);
        assert_int_equal(run_environment("guard", "heapy", 0, past_block), AT_THE_ADDRESS);
        assert_int_equal(run_environment("canary,guard", NULL, 0, past_block), AT_THE_ADDRESS);
        assert_int_equal(run_environment("freeze", NULL, GUARD, past_block), AT_THE_ADDRESS);
        assert_int_equal(run_environment("", "", GUARD, past_block), AT_THE_ADDRESS);
    }
    heap_start(CANARY, "somebody");
    axo_ref ref = heap_spawn((axo_props)AXO_PROPS());
    heap_do(ref, takes);
    if (!REPORTED)
        heap_do(ref, overruns_state); /* into what the pool rounds up */
    heap_do(ref, fails);
    assert_int_equal(heap.lines, 1); /* the decision */
    heap_end();
}

static void walls_that_cannot_be(void **state)
{
    static const char *const lists[] = {"guards",        "guard,", ",",     "guard;freeze",
                                        "guard,,freeze", "GUARD",  " guard"};
    axo_system *system;
    axo_options options = AXO_OPTIONS(.manual = 1, .walls = 16);
    assert_int_equal(axo_system_start(&options, &system), AXO_EINVAL);
    options = (axo_options)AXO_OPTIONS(.manual = 1, .walls = 1, .walls_reserved = 1);
    assert_int_equal(axo_system_start(&options, &system), AXO_EINVAL);
    options = (axo_options)AXO_OPTIONS(.manual = 1, .walls = 1, .walls_class = "");
    assert_int_equal(axo_system_start(&options, &system), AXO_EINVAL);
    char name[129];
    memset(name, 'a', 128);
    name[128] = 0;
    options.walls_class = name;
    assert_int_equal(axo_system_start(&options, &system), AXO_EINVAL);
    name[127] = 0;
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    assert_int_equal(axo_system_stop(system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
    options = (axo_options)AXO_OPTIONS(.manual = 1);
    for (uint32_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        assert_int_equal(setenv("AXO_WALLS", lists[i], 1), 0);
        assert_int_equal(axo_system_start(&options, &system), AXO_EINVAL);
    }
    assert_int_equal(unsetenv("AXO_WALLS"), 0);
}

/* Bounds hold as without: a program that fits does not find itself refused. */
static uint64_t fitted;

static axo_status fits(axo_ctx *ctx, void *state, const axo_message *message)
{
    fitted = 0;
    while (axo_alloc(ctx, 500) != NULL)
        fitted++;
    assert_true(axo_memory_of(ctx).held <= 50000);
    return AXO_OK;
}

static void bounds_with_walls(void **state)
{
    static const uint32_t walls[] = {0, CANARY, GUARD, ALL};
    for (uint32_t i = 0; i < 4; i++) {
        heap_start(walls[i], NULL);
        axo_ref ref = heap_spawn((axo_props)AXO_PROPS(.memory_max = 50000));
        for (int round = 0; round < 3; round++) {
            heap_do(ref, fits);
            assert_true(fitted >= 70 && fitted <= 100);
            heap_do(ref, fails);
        }
        heap_end();
    }
}

/* A mailbox's bound of bytes counts a payload once. */
static uint32_t bytes_accepted(uint32_t walls)
{
    const axo_mailbox mailbox = AXO_MAILBOX(.bytes_max = 2000);
    const unsigned char bytes[800] = {0};
    uint32_t accepted = 0;
    heap_start(walls, NULL);
    axo_ref ref = heap_spawn((axo_props)AXO_PROPS(.mailbox = &mailbox));
    while (axo_system_send(heap.system, ref, HEAP_NOTE, bytes, sizeof bytes) == AXO_OK)
        accepted++;
    heap_run();
    heap_end();
    return accepted;
}

static void a_bound_of_bytes(void **state)
{
    assert_int_equal(bytes_accepted(0), 2);
    assert_int_equal(bytes_accepted(CANARY), 2);
}

/* ---- with workers ---- */

enum { PINGS = 2000 };

static axo_status bounces(axo_ctx *ctx, void *state, const axo_message *message)
{
    unsigned char bytes[40];
    if (message->size == 0)
        return AXO_OK;
    memcpy(bytes, message->payload, sizeof bytes);
    uint32_t left;
    memcpy(&left, bytes, sizeof left);
    for (size_t i = sizeof left; i < sizeof bytes; i++) {
        if (bytes[i] != 0x33)
            return AXO_EINVAL;
    }
    axo_free(ctx, axo_must_alloc(ctx, left % 100 + 1));
    if (left == 0)
        return axo_system_shutdown(axo_system_of(ctx));
    left--;
    memcpy(bytes, &left, sizeof left);
    axo_ref next = left % 2 == 0 ? to : axo_self(ctx);
    return axo_send(ctx, next, HEAP_NOTE, bytes, sizeof bytes);
}

static const axo_class bouncer = AXO_CLASS(.name = "bouncer", .receive = bounces);

static void between_workers(void **state)
{
    static const uint32_t walls[] = {CANARY, ALL};
    for (uint32_t i = 0; i < 2; i++) {
        axo_system *system;
        axo_ref ref;
        unsigned char bytes[40];
        uint32_t left = PINGS;
        const axo_options options = AXO_OPTIONS(.workers = 2, .walls = walls[i]);
        axo_props props = AXO_PROPS(.cls = &bouncer);
        memset(bytes, 0x33, sizeof bytes);
        memcpy(bytes, &left, sizeof left);
        assert_int_equal(axo_system_start(&options, &system), AXO_OK);
        assert_int_equal(axo_system_spawn(system, &props, &to), AXO_OK);
        assert_int_equal(axo_system_spawn(system, &props, &ref), AXO_OK);
        assert_int_equal(axo_system_send(system, ref, HEAP_NOTE, bytes, sizeof bytes), AXO_OK);
        axo_outcome outcome;
        assert_int_equal(axo_system_wait(system, -1, &outcome), AXO_OK);
        assert_int_equal(outcome.failed, 0);
        axo_stats stats = AXO_STATS(.sent = 0);
        assert_int_equal(axo_system_stats(system, &stats), AXO_OK);
        assert_int_equal(stats.failures, 0);
        assert_int_equal(stats.handled, PINGS + 1);
        assert_int_equal(axo_system_destroy(system), AXO_OK);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(past_a_block),
    cmocka_unit_test(past_a_state),
    cmocka_unit_test(states_and_args),
    cmocka_unit_test(payloads_come_as_always),
    cmocka_unit_test(past_a_payload),
    cmocka_unit_test(past_a_draft),
    cmocka_unit_test(refused_messages),
    cmocka_unit_test(after_a_free),
    cmocka_unit_test(faults_at_the_instruction),
    cmocka_unit_test(one_class_alone),
    cmocka_unit_test(walls_that_cannot_be),
    cmocka_unit_test(bounds_with_walls),
    cmocka_unit_test(a_bound_of_bytes),
    cmocka_unit_test(between_workers),
};
TEST_MAIN(tests)
