/* crash_twin_test.c - two copies of the library in one process: this program has the static one,
 * and loads the shared one. A crash is contained by the copy whose worker it is, whichever has come
 * first, and the others say nothing of it; of one that is not contained there is one line; and when
 * both have left, in whichever order, and one of them has been unloaded, all is as it was before.
 */
#include <dlfcn.h>

#include "fault/crash.h"

enum { TWIN_PING = 1, TWIN_CRASH, TWIN_GUARDED };

static char *volatile twin_null;

/* ---- a copy, and its system ----------------------------------------------------------------- */

typedef struct twin_calls {
    axo_status (*start)(const axo_options *options, axo_system **out);
    axo_status (*spawn)(axo_system *system, const axo_props *props, axo_ref *out);
    axo_status (*send)(axo_system *system, axo_ref to, uint32_t tag, const void *payload,
                       size_t size);
    axo_status (*stop)(axo_system *system, int64_t timeout_ns, axo_late *late, uint32_t late_max,
                       uint32_t *late_count);
    axo_status (*destroy)(axo_system *system);
    void (*guard)(axo_ctx *ctx);
} twin_calls;

typedef struct twin_copy {
    twin_calls axo;
    void *library; /* NULL: the program's own */
    axo_system *system;
    axo_ref actor;
    parts_heap heap;
    atomic_uint made;
    atomic_uint pings;
} twin_copy;

static twin_copy twin_static = {.axo = {axo_system_start, axo_system_spawn, axo_system_send,
                                        axo_system_stop, axo_system_destroy, axo_guard_begin}};
static twin_copy twin_shared;

static void twin_find(const char *name, void *call)
{
    void *found = dlsym(twin_shared.library, name);
    CRASH_CHECK(found != NULL);
    memcpy(call, &found, sizeof found);
}

/* It lies in the folder of the build, as this program does, two folders below. */
static void twin_load(void)
{
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 64);
    CRASH_CHECK(length > 0);
    path[length] = 0;
    for (int i = 0; i < 3; i++)
        *strrchr(path, '/') = 0;
    strcat(path, "/libaxo.so");
    twin_shared.library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    CRASH_CHECK(twin_shared.library != NULL);
    twin_find("axo_system_start", (void *)&twin_shared.axo.start);
    twin_find("axo_system_spawn", (void *)&twin_shared.axo.spawn);
    twin_find("axo_system_send", (void *)&twin_shared.axo.send);
    twin_find("axo_system_stop", (void *)&twin_shared.axo.stop);
    twin_find("axo_system_destroy", (void *)&twin_shared.axo.destroy);
    twin_find("axo_guard_begin", (void *)&twin_shared.axo.guard);
    CRASH_CHECK(twin_shared.axo.start != axo_system_start);
}

static axo_status twin_construct(axo_ctx *ctx, void *state, const void *args)
{
    twin_copy *copy;
    memcpy(&copy, args, sizeof copy);
    atomic_fetch_add(&copy->made, 1);
    return AXO_OK;
}

static axo_status twin_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    twin_copy *copy;
    memcpy(&copy, message->payload, sizeof copy);
    if (message->tag == TWIN_PING)
        atomic_fetch_add(&copy->pings, 1);
    if (message->tag == TWIN_GUARDED)
        copy->axo.guard(ctx);
    if (message->tag != TWIN_PING)
        twin_null[16] = 1;
    return AXO_OK;
}

static const axo_class twin_class = AXO_CLASS(.name = "twin", .construct = twin_construct,
                                              .receive = twin_receive,
                                              .on_crash = AXO_CRASH_FAILS);

static void twin_send(twin_copy *copy, uint32_t tag)
{
    CRASH_CHECK(copy->axo.send(copy->system, copy->actor, tag, &copy, sizeof copy) == AXO_OK);
}

static void twin_start(twin_copy *copy)
{
    axo_options options = AXO_OPTIONS(
        .workers = 1, .contain = 1,
        .allocator = {.alloc = parts_alloc, .free = parts_free, .user = &copy->heap});
    axo_props props =
        AXO_PROPS(.cls = &twin_class, .name = "it", .args = &copy, .args_size = sizeof copy);
    CRASH_CHECK(copy->axo.start(&options, &copy->system) == AXO_OK);
    CRASH_CHECK(copy->axo.spawn(copy->system, &props, &copy->actor) == AXO_OK);
    const uint32_t pings = atomic_load(&copy->pings);
    twin_send(copy, TWIN_PING);
    crash_wait(&copy->pings, pings + 1);
}

/* A crash of its actor, and the next instance lives. */
static void twin_crash(twin_copy *copy)
{
    uint32_t made = atomic_load(&copy->made);
    uint32_t pings = atomic_load(&copy->pings);
    twin_send(copy, TWIN_CRASH);
    twin_send(copy, TWIN_PING);
    crash_wait(&copy->pings, pings + 1);
    CRASH_CHECK(atomic_load(&copy->made) == made + 1);
}

static void twin_end(twin_copy *copy)
{
    CRASH_CHECK(copy->axo.stop(copy->system, PARTS_DEADLINE_NS, NULL, 0, NULL) == AXO_OK);
    CRASH_CHECK(copy->axo.destroy(copy->system) == AXO_OK);
    CRASH_CHECK(atomic_load(&copy->heap.blocks) == 0);
}

/* ---- what was there before ------------------------------------------------------------------ */

static const int twin_numbers[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGURG};

static void twin_before(int number, siginfo_t *info, void *context)
{
    static const char text[] = "the handler before\n";
    (void)!write(STDERR_FILENO, text, sizeof text - 1);
    _exit(number == SIGSEGV && info->si_addr == (void *)16 && context != NULL ? 7 : 8);
}

static void twin_install(void)
{
    for (size_t i = 0; i < sizeof twin_numbers / sizeof twin_numbers[0]; i++)
        crash_handler(twin_numbers[i], twin_before);
}

static bool twin_is_before(void)
{
    struct sigaction now;
    uint32_t same = 0;
    for (size_t i = 0; i < sizeof twin_numbers / sizeof twin_numbers[0]; i++) {
        CRASH_CHECK(sigaction(twin_numbers[i], NULL, &now) == 0);
        same += now.sa_sigaction == twin_before;
    }
    CRASH_CHECK(same == 0 || same == sizeof twin_numbers / sizeof twin_numbers[0]);
    return same > 0;
}

/* ---- the tests ------------------------------------------------------------------------------ */

typedef struct twin_row {
    const char *name;
    bool shared_first; /* below the other */
} twin_row;

static const twin_row twin_rows[] = {{"the program's first", false}, {"the module's first", true}};
static const twin_row *twin_one;

static twin_copy *twin_below(void)
{
    return twin_one->shared_first ? &twin_shared : &twin_static;
}

static twin_copy *twin_above(void)
{
    return twin_one->shared_first ? &twin_static : &twin_shared;
}

static void twin_both(const void *arg)
{
    twin_one = arg;
    twin_load();
    twin_install();
    twin_start(twin_below());
    twin_start(twin_above());
}

/* Without a line, on either's workers. */
static void twin_contain(const void *arg)
{
    twin_both(arg);
    for (int i = 0; i < 3; i++) {
        twin_crash(twin_below());
        twin_crash(twin_above());
    }
    twin_end(twin_above());
    CRASH_CHECK(!twin_is_before());
    twin_crash(twin_below());
    twin_end(twin_below());
    CRASH_CHECK(twin_is_before());
}

/* The one below leaves first, and its handlers stay below the other's until that leaves. */
static void twin_leave(const void *arg)
{
    for (int i = 0; i < 3; i++) {
        if (i == 0)
            twin_both(arg);
        else
            twin_start(twin_above());
        twin_end(twin_below());
        twin_crash(twin_above());
        if (i == 1) { /* it comes again, and is called through the other */
            twin_start(twin_below());
            twin_crash(twin_below());
            twin_end(twin_above());
            CRASH_CHECK(!twin_is_before());
            twin_crash(twin_below());
            twin_start(twin_above());
            twin_end(twin_below());
        }
        twin_end(twin_above());
        CRASH_CHECK(twin_is_before());
        if (i < 2)
            twin_start(twin_below());
    }
}

/* It has left, and its module has been given up: its handlers are called all the same. */
static void twin_unload(const void *arg)
{
    twin_both(arg);
    twin_end(&twin_shared);
    CRASH_CHECK(dlclose(twin_shared.library) == 0);
    twin_crash(&twin_static);
    if (strcmp(twin_one->name, twin_rows[0].name) == 0) {
        twin_end(&twin_static);
        CRASH_CHECK(twin_is_before());
        return;
    }
    twin_send(&twin_static, TWIN_GUARDED);
    crash_wait(&twin_static.pings, UINT32_MAX);
}

static void twin_guarded_below(const void *arg)
{
    twin_both(arg);
    twin_send(twin_below(), TWIN_GUARDED);
    crash_wait(&twin_static.pings, UINT32_MAX);
}

static void twin_guarded_above(const void *arg)
{
    twin_both(arg);
    twin_send(twin_above(), TWIN_GUARDED);
    crash_wait(&twin_static.pings, UINT32_MAX);
}

/* On no worker of either. */
static void twin_nobodys(const void *arg)
{
    twin_both(arg);
    twin_null[16] = 1;
}

/* The one below has no system any more, and the one above speaks for the process. */
static void twin_left_alone(const void *arg)
{
    twin_both(arg);
    twin_end(twin_below());
    twin_null[16] = 1;
}

/* Behind a handler that has come later and stays, neither has a system. */
static void twin_none(const void *arg)
{
    twin_both(arg);
    struct sigaction ours;
    CRASH_CHECK(sigaction(SIGSEGV, NULL, &ours) == 0);
    crash_handler(SIGSEGV, twin_before);
    twin_end(twin_above());
    twin_end(twin_below());
    CRASH_CHECK(sigaction(SIGSEGV, &ours, NULL) == 0);
    twin_null[16] = 1;
}

typedef struct twin_case {
    void (*run)(const void *arg);
    const char *name;
    const char *text; /* all that is on stderr; NULL: a line of a guard, with the actor */
    bool dies;        /* at the handler before */
} twin_case;

#define TWIN_NOBODY                                                                                \
    "axo: SIGSEGV at 0x10 is not contained: not on a worker of a system with "                     \
    "axo_options.contain\nthe handler before\n"
#define TWIN_GUARD "axo: SIGSEGV at 0x10 is not contained: within a guard"

static const twin_case twin_cases[] = {
    {twin_contain, "contained", "", false},
    {twin_leave, "the one below leaves", "", false},
    {twin_guarded_below, "not contained below", NULL, true},
    {twin_guarded_above, "not contained above", NULL, true},
    {twin_nobodys, "nobody's", TWIN_NOBODY, true},
    {twin_left_alone, "the one below has left", TWIN_NOBODY, true},
    {twin_none, "both have left", "the handler before\n", true},
};

static bool twin_says(const twin_case *it, const char *text)
{
    static const char last[] = "\nthe handler before\n";
    if (it->text != NULL)
        return strcmp(text, it->text) == 0;
    const char *end = strchr(text, '\n');
    return strncmp(text, TWIN_GUARD, sizeof TWIN_GUARD - 1) == 0 && end != NULL &&
           strcmp(end, last) == 0 && strstr(text, "; actor it (#") != NULL;
}

static void two_copies(void **state)
{
    if (CRASH_REPORTED)
        return;
    for (size_t i = 0; i < sizeof twin_cases / sizeof twin_cases[0]; i++) {
        for (size_t k = 0; k < sizeof twin_rows / sizeof twin_rows[0]; k++) {
            const twin_case *it = &twin_cases[i];
            crash_end end = crash_run(it->run, &twin_rows[k]);
            bool ended = WIFEXITED(end.status) && WEXITSTATUS(end.status) == (it->dies ? 7 : 0);
            if (!ended || !twin_says(it, end.text))
                fail_msg("%s, %s: status %x, \"%s\"", it->name, twin_rows[k].name,
                         (unsigned)end.status, end.text);
        }
    }
}

static void one_that_is_unloaded(void **state)
{
    if (CRASH_REPORTED)
        return;
    static const twin_case guarded = {.text = NULL};
    crash_end end = crash_run(twin_unload, &twin_rows[0]);
    crash_is_well(&end, "unloaded above");
    assert_string_equal(end.text, "");
    end = crash_run(twin_unload, &twin_rows[1]);
    if (!WIFEXITED(end.status) || WEXITSTATUS(end.status) != 7 || !twin_says(&guarded, end.text))
        fail_msg("unloaded below: status %x, \"%s\"", (unsigned)end.status, end.text);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(two_copies),
    cmocka_unit_test(one_that_is_unloaded),
};

TEST_MAIN(tests)
