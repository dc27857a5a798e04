/* leave_test.c - a process that is to leave, for a sibling's failure, when the actor there has been
 * given a message that it has not begun: the next instance handles it. The sibling fails when the
 * process asks for the memory for that message, which is given when the order to leave has come,
 * and so late that the system there looks around before the actor's turn. */
#include "api/process_world.h"

#include "share.h"

enum { LEAVE_FIRST = 300, LEAVE_SECOND, LEAVE_THIRD };

/* Bytes of the second message, of which nothing else there is; and what stands before them. */
enum { LEAVE_BYTES = 777, LEAVE_HEAD_MAX = 64 };

/* How long the system of a process runs at a time, and more: tools/process/child.c. */
enum { LEAVE_TURN_MS = 2 };

typedef struct leave_args {
    axo_ref collector;
    pid_t host;
    int pipe; /* of the host's, to write to */
} leave_args;

/* ---- in the process ---- */

static process_share *leave_share; /* once the first message has come */
static int leave_pipe = -1;

int __wrap_posix_memalign(void **out, size_t align, size_t size);
int __real_posix_memalign(void **out, size_t align, size_t size);

int __wrap_posix_memalign(void **out, size_t align, size_t size)
{
    if (leave_share != NULL && size >= LEAVE_BYTES && size < LEAVE_BYTES + LEAVE_HEAD_MAX) {
        assert_int_equal(write(leave_pipe, "", 1), 1);
        while (atomic_load(&leave_share->ordered) == 0)
            (void)poll(NULL, 0, 1);
        (void)poll(NULL, 0, LEAVE_TURN_MS);
    }
    return __real_posix_memalign(out, align, size);
}

static process_share *leave_find(void)
{
    char line[512];
    unsigned long found = 0;
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps != NULL && found == 0 && fgets(line, sizeof line, maps) != NULL) {
        unsigned long from, offset;
        if (strstr(line, "axo process") != NULL &&
            sscanf(line, "%lx-%*x %*s %lx", &from, &offset) == 2 && offset == 0)
            found = from;
    }
    if (maps != NULL)
        (void)fclose(maps);
    assert_true(found != 0);
    return (process_share *)found;
}

static int leave_open(const leave_args *args)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)args->host, args->pipe);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

static axo_status leave_construct(axo_ctx *ctx, void *state, const void *args)
{
    memcpy(state, args, sizeof(leave_args));
    return AXO_OK;
}

/* Says what it is told. */
static axo_status leave_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    const leave_args *me = state;
    if (message->tag == LEAVE_FIRST) {
        leave_pipe = leave_open(me);
        leave_share = leave_find();
    }
    return axo_send(ctx, me->collector, message->tag, NULL, 0);
}

/* As a class may have it: no post_stop tells there that the actor has ended. */
static axo_status leave_pre_restart(axo_ctx *ctx, void *state, const axo_failure *failure,
                                    const axo_message *message)
{
    return AXO_OK;
}

static const axo_class leave_class =
    AXO_CLASS(.name = "leave", .state_size = sizeof(leave_args), .construct = leave_construct,
              .receive = leave_receive, .pre_restart = leave_pre_restart);

static const axo_class *const leave_classes[] = {&leave_class, &w_class};

/* ---- the host ---- */

static void not_begun(void **unused)
{
    static const char bytes[LEAVE_BYTES];
    world w;
    axo_ref ref;
    int ends[2];
    char byte;
    w_start(&w, 2);
    w.strategy.scope = AXO_ALL_FOR_ONE;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    const leave_args args = {.collector = w.collector, .host = getpid(), .pipe = ends[1]};
    const axo_process recipe = w_recipe(&w);
    const axo_props props = AXO_PROPS(.cls = &leave_class, .args = &args, .args_size = sizeof args,
                                      .lifetime = AXO_TRANSIENT);
    axo_ref sibling = w_spawn(&w, 0);
    assert_int_equal(axo_system_process_spawn(w.system, &recipe, &props, &ref), AXO_OK);
    assert_int_equal(axo_system_send(w.system, ref, LEAVE_FIRST, NULL, 0), AXO_OK);
    w_await(&w, LEAVE_FIRST, 1);
    assert_int_equal(axo_system_send(w.system, ref, LEAVE_SECOND, bytes, sizeof bytes), AXO_OK);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    w_tell(&w, sibling, W_CRASH, SIGSEGV);
    assert_int_equal(axo_system_send(w.system, ref, LEAVE_THIRD, NULL, 0), AXO_OK);
    w_await(&w, LEAVE_THIRD, 1);
    assert_int_equal(w_count(&w, LEAVE_SECOND), 1);
    assert_int_equal(w.failures, 1);
    (void)close(ends[0]);
    (void)close(ends[1]);
    w_end(&w);
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {cmocka_unit_test(not_begun)};
    axo_process_main(argc, argv, leave_classes, sizeof leave_classes / sizeof leave_classes[0]);
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
