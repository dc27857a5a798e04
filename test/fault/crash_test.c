/* crash_test.c - which crashes are failures of their actor and which end the process, each in a
 * process of its own; and what becomes of the actor, its children, clean-ups, messages and memory.
 */
#include <assert.h>
#include <errno.h>
#include <math.h>
#include <sys/auxv.h>
#include <sys/syscall.h>

#include "fault/crash.h"

/* Not known to the compiler. */
static char *volatile crash_null;
static volatile int crash_zero;
static volatile uint64_t crash_sink;

/* ---- crashes of the actor's own code -------------------------------------------------------- */

static __attribute__((noinline)) void crash_deep(uint32_t depth)
{
    if (depth > 0)
        crash_deep(depth - 1);
    else
        crash_sink += (uint64_t)*crash_null;
    crash_sink++;
}

static void crash_read(axo_ctx *ctx)
{
    crash_deep(20);
}

static void crash_write(axo_ctx *ctx)
{
    crash_null[16] = 1;
}

static void crash_far(axo_ctx *ctx)
{
    *(volatile char *)((uintptr_t)crash_null + UINT64_C(0x8000000000000000)) = 1;
}

/* An interrupt that a program may not ask for: the error code looks like that of a call. */
static void crash_interrupt(axo_ctx *ctx)
{
#if defined(__x86_64__)
    if (crash_zero == 0)
        __asm__ volatile("int $2");
#endif
}

static void crash_constant(axo_ctx *ctx)
{
    static const char text[] = "constant";
    *(volatile char *)(uintptr_t)(text + crash_zero) = 1;
}

static __attribute__((noinline)) void crash_call(uintptr_t to)
{
    void (*volatile fn)(void);
    memcpy((void *)(uintptr_t)&fn, &to, sizeof fn);
    fn();
    crash_sink++;
}

static void crash_call_null(axo_ctx *ctx)
{
    crash_call((uintptr_t)crash_null);
}

static void crash_call_nothing(axo_ctx *ctx)
{
    crash_call((uintptr_t)crash_null + 0x123456);
}

static void crash_call_data(axo_ctx *ctx)
{
    crash_call((uintptr_t)&cw);
}

static void crash_divide(axo_ctx *ctx)
{
    crash_sink += (uint64_t)(7 / crash_zero);
}

static void crash_illegal(axo_ctx *ctx)
{
    if (crash_zero == 0)
        __asm__ volatile("ud2");
}

static void crash_bus(axo_ctx *ctx)
{
    FILE *file = tmpfile();
    char *map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fileno(file), 0);
    (void)fclose(file);
    crash_sink += (uint64_t)((volatile char *)map)[100];
}

static __attribute__((noinline)) uint64_t crash_recurse(uint64_t depth)
{
    volatile char room[2000];
    room[depth % 2000] = (char)depth;
    if (depth == (uint64_t)crash_zero + UINT64_MAX)
        return depth; /* never */
    return crash_recurse(depth + 1) + (uint64_t)room[0];
}

static void crash_overflow(axo_ctx *ctx)
{
    crash_sink += crash_recurse(0);
}

static void crash_abort(axo_ctx *ctx)
{
    abort();
}

static void crash_assert(axo_ctx *ctx)
{
    __assert_fail("one == two", "it.c", 12, "crash_assert");
}

static void crash_raise(axo_ctx *ctx)
{
    (void)raise(SIGSEGV);
}

static void crash_raise_abort(axo_ctx *ctx)
{
    (void)raise(SIGABRT);
}

static void crash_strlen(axo_ctx *ctx)
{
    size_t (*volatile fn)(const char *) = strlen;
    crash_sink += fn(crash_null);
}

static void crash_memcpy(axo_ctx *ctx)
{
    void *(*volatile fn)(void *, const void *, size_t) = memcpy;
    (void)fn(crash_null, &cw, 4000);
}

static int crash_compare(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b + *crash_null;
}

static void crash_sort(axo_ctx *ctx)
{
    int numbers[] = {3, 1, 2};
    qsort(numbers, 3, sizeof numbers[0], crash_compare);
}

void *__memcpy_chk(void *to, const void *from, size_t size, size_t room);

static void crash_fortified(axo_ctx *ctx)
{
    char room[8];
    (void)__memcpy_chk(room, &cw, 100 + (size_t)crash_zero, sizeof room);
}

/* ---- crashes of others ---------------------------------------------------------------------- */

static void crash_free_garbage(axo_ctx *ctx)
{
    void (*volatile fn)(void *) = free;
    fn((char *)(uintptr_t)0x1230 + crash_zero);
}

static void crash_free_twice(axo_ctx *ctx)
{
    void (*volatile fn)(void *) = free;
    void *block = malloc(100);
    fn(block);
    fn(block);
}

static void crash_number(axo_ctx *ctx)
{
    long (*volatile fn)(const char *, char **, int) = strtol;
    crash_sink += (uint64_t)fn(crash_null, NULL, 10);
}

static void crash_print(axo_ctx *ctx)
{
    int (*volatile fn)(char *, size_t, const char *, ...) = snprintf;
    char room[16];
    (void)fn(room, sizeof room, "%s", crash_null + 8);
}

void __stack_chk_fail(void);

static void crash_smashed(axo_ctx *ctx)
{
    void (*volatile fn)(void) = __stack_chk_fail;
    fn();
}

static void crash_send(axo_ctx *ctx, size_t size)
{
    (void)axo_send(ctx, axo_self(ctx), CRASH_PING, crash_null + 8, size + (size_t)crash_zero);
}

static void crash_payload_8(axo_ctx *ctx)
{
    crash_send(ctx, 8);
}

static void crash_payload_16(axo_ctx *ctx)
{
    crash_send(ctx, 16);
}

static void crash_payload(axo_ctx *ctx)
{
    crash_send(ctx, 24);
}

/* As the others, with a trace context. */
static void crash_payload_traced(axo_ctx *ctx)
{
    (void)axo_trace_context_new(ctx, 0);
    crash_send(ctx, 24);
}

/* It begins in memory that is there and ends in none. */
static void crash_payload_end(axo_ctx *ctx)
{
    char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    (void)munmap(pages + 4096, 4096);
    (void)axo_send_from(ctx, axo_self(ctx), axo_self(ctx), CRASH_PING, pages, 8192);
}

static void crash_payload_reply(axo_ctx *ctx)
{
    axo_message message = {.sender = axo_self(ctx)};
    (void)axo_reply(ctx, &message, CRASH_PING, crash_null + 8, 40);
}

static void crash_reply_nothing(axo_ctx *ctx)
{
    const axo_message *volatile nothing = (const axo_message *)(const void *)(crash_null + 8);
    (void)axo_reply(ctx, nothing, CRASH_PING, NULL, 0);
}

static void crash_payload_later(axo_ctx *ctx)
{
    (void)axo_send_after(ctx, 1, axo_self(ctx), CRASH_PING, crash_null + 8, 40);
}

static void crash_payload_outside(axo_ctx *ctx)
{
    (void)axo_system_send(cw.system, axo_self(ctx), CRASH_PING, crash_null + 8, 40);
}

static void crash_format(axo_ctx *ctx)
{
    (void)axo_fail(ctx, 1, "%s", crash_null + 8);
}

static void crash_guarded(axo_ctx *ctx)
{
    axo_guard_begin(ctx);
    axo_guard_begin(ctx);
    axo_guard_end(ctx);
    crash_null[0] = 1;
}

static void crash_in_block(void *arg)
{
    crash_null[0] = 1;
}

static void crash_block(axo_ctx *ctx)
{
    (void)axo_block(ctx, crash_in_block, NULL);
}

static void *crash_other(void *arg)
{
    crash_null[0] = 1;
    return NULL;
}

static void crash_thread(axo_ctx *ctx)
{
    pthread_t thread;
    CRASH_CHECK(pthread_create(&thread, NULL, crash_other, NULL) == 0);
    (void)pthread_join(thread, NULL);
}

static void crash_killed(axo_ctx *ctx)
{
    (void)kill(getpid(), SIGFPE);
    while (crash_zero == 0)
        crash_sink++;
}

static pid_t crash_worker;
static atomic_bool crash_looping; /* it has left pthread_create */

static void *crash_shoot(void *arg)
{
    while (!atomic_load(&crash_looping))
        (void)sched_yield();
    (void)syscall(SYS_tgkill, getpid(), crash_worker, SIGSEGV);
    return NULL;
}

/* Another thread sends, to this one, while it is in its own code. */
static void crash_shot(axo_ctx *ctx)
{
    pthread_t thread;
    crash_worker = (pid_t)syscall(SYS_gettid);
    CRASH_CHECK(pthread_create(&thread, NULL, crash_shoot, NULL) == 0);
    atomic_store(&crash_looping, true);
    while (crash_zero == 0)
        crash_sink++;
}

/* Code without tables. */
void crash_bare(void);
#if defined(__x86_64__)
#define CRASH_BARE "\tmovq $0, %rax\n\tmovq %rax, (%rax)\n"
#else
#define CRASH_BARE "\tmov x0, #0\n\tstr x0, [x0]\n"
#endif
__asm__(".text\n.globl crash_bare\n.type crash_bare,%function\ncrash_bare:\n" CRASH_BARE
        "\tret\n.size crash_bare, .-crash_bare\n");

static void crash_without_tables(axo_ctx *ctx)
{
    crash_bare();
}

static void crash_foreign(axo_ctx *ctx)
{
    void (*volatile fn)(double, double *, double *) = sincos;
    fn(1.0, (double *)(void *)crash_null, (double *)(void *)crash_null);
}

static void crash_trusted(axo_ctx *ctx)
{
    void (*fn)(double, double *, double *) = sincos;
    const void *address;
    memcpy(&address, &fn, sizeof address);
    CRASH_CHECK(axo_trust(address) == AXO_OK);
    crash_foreign(ctx);
}

static void crash_destroy(void *payload, void *user)
{
    crash_null[0] = 1;
}

/* The destructor runs when the message is handled: no callback does. */
static void crash_destructor(axo_ctx *ctx)
{
    (void)axo_send_owned(ctx, axo_self(ctx), CRASH_PING, &cw, 8, crash_destroy, NULL);
}

/* It runs within the callback: aside. */
static void crash_discard(axo_ctx *ctx)
{
    axo_owned owned = {.payload = &cw, .size = 8, .destroy = crash_destroy};
    axo_draft *draft;
    CRASH_CHECK(axo_message_owning(ctx, CRASH_PING, &owned, &draft) == AXO_OK);
    axo_message_discard(ctx, draft);
}

#if !CRASH_REPORTED
/* The program's own in the place of libc's: the library calls it as it would libc's. */
static volatile bool crash_aligning;
static volatile bool crash_constant_memory;

__attribute__((visibility("default"))) int posix_memalign(void **out, size_t align, size_t size)
{
    if (crash_aligning)
        crash_null[0] = 1;
    *out = aligned_alloc(crash_constant_memory ? 4096 : align, size);
    if (crash_constant_memory && *out != NULL)
        (void)mprotect((char *)*out + 4096, (size - 4096) / 4096 * 4096, PROT_READ);
    return *out != NULL ? 0 : ENOMEM;
}

/* The payload can be read, and what the library has to write it to is at fault. */
static void crash_copy_out(axo_ctx *ctx)
{
    static const char large[1000000];
    crash_constant_memory = true;
    (void)axo_send(ctx, axo_self(ctx), CRASH_PING, large, sizeof large);
}

static volatile bool crash_telling;

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *out)
{
    if (crash_telling) {
        crash_telling = false; /* what became of it is not to crash as well */
        crash_null[0] = 1;
    }
    return (int)syscall(SYS_clock_gettime, clock, out);
}

/* The program's code is called, and it is no callback: the library is in the midst of its work. */
static void crash_clock(axo_ctx *ctx)
{
    crash_telling = true;
    (void)axo_now(ctx);
}

static void crash_allocator(axo_ctx *ctx)
{
    static const char large[1000000];
    crash_aligning = true;
    (void)axo_send(ctx, axo_self(ctx), CRASH_PING, large, sizeof large);
}
#endif

/* ---- the matrix ----------------------------------------------------------------------------- */

typedef struct crash_row {
    const char *name;
    crash_fn fn;
    int number;      /* the signal; 0: any */
    const char *why; /* NULL: it is contained */
    uint32_t access; /* of one that is contained */
} crash_row;

#define WORKER_WHY "not on a worker"
#define LIBC_WHY   "in a function of libc"

static const crash_row crash_rows[] = {
    {"read of null, 20 frames deep", crash_read, SIGSEGV, NULL, AXO_CRASH_READ},
    {"write to null", crash_write, SIGSEGV, NULL, AXO_CRASH_WRITE},
    {"an address that can be none", crash_far, SIGSEGV, NULL, AXO_CRASH_AT},
    {"an interrupt", crash_interrupt, SIGSEGV, NULL, AXO_CRASH_AT},
    {"write to a constant", crash_constant, SIGSEGV, NULL, AXO_CRASH_WRITE},
    {"call of null", crash_call_null, SIGSEGV, NULL, AXO_CRASH_FETCH},
    {"call of an address without code", crash_call_nothing, SIGSEGV, NULL, AXO_CRASH_FETCH},
    {"call of data", crash_call_data, SIGSEGV, NULL, AXO_CRASH_FETCH},
    {"division by zero", crash_divide, SIGFPE, NULL, AXO_CRASH_AT},
    {"illegal instruction", crash_illegal, SIGILL, NULL, AXO_CRASH_AT},
    {"behind the end of a file", crash_bus, SIGBUS, NULL, AXO_CRASH_READ},
    {"stack overflow", crash_overflow, SIGSEGV, NULL, AXO_CRASH_WRITE},
    {"abort", crash_abort, SIGABRT, NULL, AXO_CRASH_AT},
    {"assert", crash_assert, SIGABRT, NULL, AXO_CRASH_AT},
    {"raise", crash_raise, SIGSEGV, NULL, AXO_CRASH_AT},
    {"raise of SIGABRT", crash_raise_abort, SIGABRT, NULL, AXO_CRASH_AT},
    {"strlen of null", crash_strlen, SIGSEGV, NULL, AXO_CRASH_READ},
    {"memcpy to null", crash_memcpy, SIGSEGV, NULL, AXO_CRASH_WRITE},
    {"in a comparison of qsort", crash_sort, SIGSEGV, NULL, AXO_CRASH_READ},
    {"a fortified copy", crash_fortified, SIGABRT, NULL, AXO_CRASH_AT},
    {"in a module that is trusted", crash_trusted, SIGSEGV, NULL, AXO_CRASH_WRITE},
    {"free of garbage", crash_free_garbage, 0, LIBC_WHY, 0},
    {"free of a block twice", crash_free_twice, SIGABRT, LIBC_WHY, 0},
    {"a text that is none", crash_print, SIGSEGV, LIBC_WHY, 0},
    {"a number of a text that is none", crash_number, SIGSEGV, LIBC_WHY, 0},
    {"a smashed stack", crash_smashed, SIGABRT, LIBC_WHY, 0},
    {"a payload of 8 bytes that is none", crash_payload_8, SIGSEGV, NULL, AXO_CRASH_READ},
    {"a payload of 16 bytes that is none", crash_payload_16, SIGSEGV, NULL, AXO_CRASH_READ},
    {"a payload that is none", crash_payload, SIGSEGV, NULL, AXO_CRASH_READ},
    {"a payload that is none, with a trace", crash_payload_traced, SIGSEGV, NULL, AXO_CRASH_READ},
    {"a payload that ends in nothing", crash_payload_end, SIGSEGV, NULL, AXO_CRASH_READ},
    {"an answer's payload that is none", crash_payload_reply, SIGSEGV, NULL, AXO_CRASH_READ},
    {"an answer to no message", crash_reply_nothing, SIGSEGV, "in a function of axo", 0},
    {"a timer's payload that is none", crash_payload_later, SIGSEGV, "in a function of axo", 0},
    {"a system's payload that is none", crash_payload_outside, SIGSEGV, "in a function of axo", 0},
    {"a failure's text that is none", crash_format, SIGSEGV, "in a function of axo", 0},
    {"in a guard", crash_guarded, SIGSEGV, "within a guard", 0},
    {"in axo_block", crash_block, SIGSEGV, WORKER_WHY, 0},
    {"on a thread of its own", crash_thread, SIGSEGV, WORKER_WHY, 0},
    {"kill", crash_killed, SIGFPE, "is not contained: ", 0},
    {"a signal of another thread", crash_shot, SIGSEGV, "sent from outside", 0},
    {"code without tables", crash_without_tables, SIGSEGV, "cannot be walked", 0},
    {"in another module", crash_foreign, SIGSEGV, "in a module that is neither", 0},
#if !CRASH_REPORTED
    {"malloc of the program", crash_allocator, SIGSEGV, "in a function of libc", 0},
    {"a clock of the program", crash_clock, SIGSEGV, "in a function of axo", 0},
    {"malloc's memory, not to be written", crash_copy_out, SIGSEGV, "in a function of axo", 0},
#endif
    {"a destructor between callbacks", crash_destructor, SIGSEGV, "no callback", 0},
    {"a destructor within a callback", crash_discard, SIGSEGV,
     "within a guard, or a destructor", 0},
};

/* The next message is the next instance's, and all is as behind a throw. */
static void crash_contained(const void *arg)
{
    const crash_row *row = arg;
    axo_crash kept[2];
    crash_start((axo_options){.workers = 1});
    crash_ping();
    crash_do(row->fn);
    crash_ping();
    CRASH_CHECK(atomic_load(&cw.instance) == 2);
    CRASH_CHECK(atomic_load(&cw.decided) == 1 && cw.failure.kind == AXO_FAILURE_CRASH);
    CRASH_CHECK(cw.failure.code == row->number && cw.failure.site == AXO_SITE_RECEIVE);
    CRASH_CHECK(cw.failure.has_message == 1 && cw.failure.tag == CRASH_DO);
    CRASH_CHECK(strncmp(cw.text, "SIG", 3) == 0);
    CRASH_CHECK(cw.crashed && cw.crash.signal == row->number && cw.crash.instance == 1);
    CRASH_CHECK(axo_ref_equal(cw.crash.actor, cw.actor));
    CRASH_CHECK(cw.crash.access == row->access);
    CRASH_CHECK(cw.crash.pc != 0 || cw.crash.access == AXO_CRASH_FETCH);
    CRASH_CHECK(cw.crash.frame_count > 0 && cw.crash.depth >= cw.crash.frame_count);
    CRASH_CHECK(axo_system_crashes(cw.system, kept, 2) == 1);
    CRASH_CHECK(memcmp(&kept[0], &cw.crash, sizeof kept[0]) == 0);
    crash_do(row->fn); /* and once more */
    crash_ping();
    CRASH_CHECK(atomic_load(&cw.instance) == 3);
    CRASH_CHECK(atomic_load(&cw.calls[CRASH_PRE_RESTART]) == 0);
    CRASH_CHECK(atomic_load(&cw.calls[CRASH_POST_STOP]) == 0);
    crash_finish();
    CRASH_CHECK(atomic_load(&cw.calls[CRASH_POST_STOP]) == 1); /* of the one that did not crash */
}

static void crash_refused(const void *arg)
{
    const crash_row *row = arg;
    crash_plain_heap = strncmp(row->name, "malloc", 6) == 0;
    crash_start((axo_options){.workers = 1});
    crash_do(row->fn);
    crash_wait(&cw.pings, UINT32_MAX);
}

static void each_crash(void **state)
{
    if (CRASH_REPORTED)
        return;
    for (size_t i = 0; i < sizeof crash_rows / sizeof crash_rows[0]; i++) {
        const crash_row *row = &crash_rows[i];
        crash_end end = crash_run(row->why == NULL ? crash_contained : crash_refused, row);
        if (row->why == NULL)
            crash_is_well(&end, row->name);
        else
            crash_is_dead(&end, row->name, row->number, row->why);
        bool on_worker = row->why != NULL && strstr(end.text, WORKER_WHY) == NULL;
        if (row->fn == crash_killed)
            on_worker = false; /* any thread has it, one between two turns, too */
        if (on_worker && strstr(end.text, "; actor it (#") == NULL)
            fail_msg("%s: \"%s\" does not name the actor", row->name, end.text);
    }
}

/* ---- who has not asked for it --------------------------------------------------------------- */

static void crash_other_class(const void *arg)
{
    static axo_class cls;
    cls = crash_class;
    cls.on_crash = AXO_CRASH_ENDS;
    cls.name = "ender";
    crash_start((axo_options){.workers = 1});
    axo_props props = AXO_PROPS(.cls = &cls, .name = "that");
    CRASH_CHECK(axo_system_spawn(cw.system, &props, &cw.actor) == AXO_OK);
    crash_do(crash_write);
    crash_wait(&cw.pings, UINT32_MAX);
}

static void crash_other_system(const void *arg)
{
    axo_options options = AXO_OPTIONS(.workers = 1);
    struct sigaction now;
    CRASH_CHECK(axo_system_start(&options, &cw.system) == AXO_OK);
    CRASH_CHECK(sigaction(SIGSEGV, NULL, &now) == 0 && now.sa_handler == SIG_DFL);
    CRASH_CHECK(axo_system_crashes(cw.system, NULL, 0) == 0);
    crash_spawn(&crash_class, &cw.actor);
    crash_do(crash_write);
    crash_wait(&cw.pings, UINT32_MAX);
}

static void who_has_not_asked_for_it(void **state)
{
    if (CRASH_REPORTED)
        return;
    crash_end end = crash_run(crash_other_class, NULL);
    crash_is_dead(&end, "a class", SIGSEGV, "class does not ask for it (on_crash); actor that (#");
    if (strstr(end.text, ", class ender, message 1\n") == NULL)
        fail_msg("\"%s\"", end.text);
    end = crash_run(crash_other_system, NULL);
    crash_is_dead(&end, "a system", SIGSEGV, "");
    assert_null(strstr(end.text, "is not contained")); /* nothing was installed */
}

static void classes_are_checked(void **state)
{
    axo_class cls = AXO_CLASS(.receive = crash_receive, .on_crash = 2);
    axo_options options = AXO_OPTIONS(.manual = 1);
    axo_props plain = AXO_PROPS(.cls = &cls);
    axo_props named = AXO_PROPS(.cls = &cls, .name = "it");
    axo_system *system;
    axo_ref ref;
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    assert_int_equal(axo_system_spawn(system, &plain, &ref), AXO_EINVAL);
    assert_int_equal(axo_system_spawn(system, &named, &ref), AXO_EINVAL);
    cls.on_crash = AXO_CRASH_FAILS;
    cls.watchdog_ms = 1;
    assert_int_equal(axo_system_spawn(system, &plain, &ref), AXO_OK);
    cls.on_crash = AXO_CRASH_ENDS; /* then it would do nothing */
    assert_int_equal(axo_system_spawn(system, &plain, &ref), AXO_EINVAL);
    assert_int_equal(axo_system_spawn(system, &named, &ref), AXO_EINVAL);
    cls.watchdog_ms = 0;
    assert_int_equal(axo_system_spawn(system, &plain, &ref), AXO_OK);
    assert_int_equal(axo_system_stop(system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
}

/* ---- what may be trusted -------------------------------------------------------------------- */

static void what_may_be_trusted(void **state)
{
    if (CRASH_REPORTED)
        return;
    void (*fn)(double, double *, double *) = sincos;
    axo_status (*own)(const void *) = axo_trust;
    const void *address;
    assert_int_equal(axo_trust(NULL), AXO_EINVAL);
    assert_int_equal(axo_trust(stdout), AXO_EINVAL); /* libc's data */
    assert_int_equal(axo_trust((const void *)getauxval(AT_BASE)), AXO_EINVAL); /* the loader */
    memcpy(&address, &own, sizeof address);
    assert_int_equal(axo_trust(address), AXO_EINVAL);
    memcpy(&address, &fn, sizeof address);
    assert_int_equal(axo_trust(address), AXO_OK);
    assert_int_equal(axo_trust(address), AXO_OK);
    assert_int_equal(axo_system_crashes(NULL, NULL, 0), 0);
    assert_null(axo_failure_crash(NULL));
    axo_guard_begin(NULL);
    axo_guard_end(NULL);
}

/* Only its own reports can be had of a program that is built for races; walks are of x86-64. */
static void what_it_needs(void **state)
{
    axo_options options = AXO_OPTIONS(.manual = 1, .contain = 1);
    axo_system *system;
    axo_status status = axo_system_start(&options, &system);
#if defined(AXO_TSAN) || !defined(__x86_64__)
    assert_int_equal(status, AXO_ENOTSUP);
    assert_null(system);
#else
    assert_int_equal(status, AXO_OK);
    assert_int_equal(axo_system_stop(system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
#endif
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(each_crash),
    cmocka_unit_test(who_has_not_asked_for_it),
    cmocka_unit_test(what_may_be_trusted),
    cmocka_unit_test(what_it_needs),
    cmocka_unit_test(classes_are_checked),
};

TEST_MAIN(tests)
