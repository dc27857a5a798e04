/* io_owner_test.c - watched descriptors belong to an instance: restart, end, numbers that are used
 * again, bad input, the host's descriptor, a fork, many of them. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "unit/sched/io_world.h"

/* ---- the instance ---- */

static void io_fail_with_one_waiting(io_world *world, axo_ctx *ctx, const axo_message *message)
{
    world->status = axo_io_want(ctx, world->fds[0], AXO_IO_OUT | AXO_IO_IN); /* one is sent */
    world->events = 0;
    world->fails = true;
}

static void a_restart_gives_the_watch_back(void **state)
{
    io_world world;
    io_start(&world, AXO_IO_IN, 0);
    io_do(&world, io_fail_with_one_waiting);
    io_put(&world, "z");
    io_run(&world);
    assert_int_equal(world.instances, 2);
    assert_int_equal(world.readies, 0);
    assert_true(io_is_open(world.fds[0]));
    io_do(&world, io_unwatch);
    assert_int_equal(world.status, AXO_ENOENT); /* the new instance has not watched it */
    io_end(&world);
}

static void a_restarted_one_watches_anew(void **state)
{
    io_world world;
    io_start(&world, AXO_IO_IN, 0);
    world.ready = io_read_all;
    io_put(&world, "a");
    io_tell(&world, IO_FAIL);
    io_run(&world);
    assert_int_equal(world.instances, 2);
    assert_int_equal(world.status, AXO_OK);
    io_run(&world);
    assert_int_equal(world.got_count, 1);
    io_end(&world);
}

/* A failing handler of a readiness, which is resumed, is told again what it has not read. */
static axo_directive io_decide(axo_ctx *ctx, void *state, const axo_failure *failure, void *user)
{
    return AXO_RESUME;
}

static void io_fail_first(io_world *world, axo_ctx *ctx, const axo_message *message)
{
    if (world->readies == 1)
        world->fails = true;
    else
        io_read_all(world, ctx, message);
}

static axo_status io_parent_construct(axo_ctx *ctx, void *state, const void *args)
{
    memcpy(state, args, sizeof(io_world *));
    io_world *world = *(io_world *const *)state;
    axo_props props = AXO_PROPS(.cls = &io_class, .args = &world, .args_size = sizeof world);
    return axo_spawn(ctx, &props, &world->actor);
}

static axo_status io_parent_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    return AXO_UNHANDLED;
}

static void a_resumed_one_is_told_again(void **state)
{
    static const axo_class cls =
        AXO_CLASS(.name = "parent", .state_size = sizeof(io_world *),
                  .construct = io_parent_construct, .receive = io_parent_receive);
    static const axo_strategy strategy = AXO_STRATEGY(.decider = io_decide);
    io_world world = {.events = AXO_IO_IN};
    io_world *pointer = &world;
    axo_ref parent;
    axo_props props = AXO_PROPS(.cls = &cls, .args = &pointer, .args_size = sizeof pointer,
                                .strategy = &strategy);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, world.fds), 0);
    io_system(&world);
    assert_int_equal(axo_system_spawn(world.system, &props, &parent), AXO_OK);
    io_run(&world);
    world.ready = io_fail_first;
    io_put(&world, "ab");
    for (uint32_t i = 0; i < 3; i++)
        io_run(&world);
    assert_int_equal(world.instances, 1);
    assert_int_equal(world.readies, 2);
    assert_int_equal(world.got_count, 2);
    io_end(&world);
}

static void an_owned_one_is_closed_with_the_instance(void **state)
{
    io_world world;
    for (uint32_t fails = 0; fails < 2; fails++) {
        io_start(&world, AXO_IO_IN, AXO_IO_OWN);
        if (fails != 0) {
            world.events = 0;
            io_tell(&world, IO_FAIL);
        } else {
            io_tell(&world, IO_STOP);
        }
        io_run(&world);
        assert_false(io_is_open(world.fds[0]));
        if (fails == 0) {
            assert_int_equal(world.post_stops, 1);
            assert_true(world.open_in_post_stop);
        }
        io_end(&world);
    }
}

/* Whoever ends it, and if it has never begun. */
static void io_kill(io_world *world)
{
    assert_int_equal(axo_system_kill(world->system, world->actor), AXO_OK);
}

static void io_poison(io_world *world)
{
    assert_int_equal(axo_system_poison(world->system, world->actor), AXO_OK);
}

static void io_nothing(io_world *world)
{
    (void)world;
}

static void an_owned_one_is_closed_however_it_ends(void **state)
{
    static void (*const ends[])(io_world *) = {io_kill, io_poison, io_nothing};
    for (uint32_t i = 0; i < 2 * sizeof ends / sizeof *ends; i++) {
        io_world world = {.events = AXO_IO_IN, .flags = AXO_IO_OWN};
        world.fails_construct = i % 2 != 0;
        world.ready = io_read_all;
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, world.fds), 0);
        io_system(&world);
        world.actor = io_spawn(&world, &world);
        assert_int_equal(world.status, AXO_OK);
        world.events = 0;
        if (!world.fails_construct) {
            io_put(&world, "a readiness is on its way");
            ends[i / 2](&world);
        }
        io_run(&world);
        assert_true(world.instances > 0);
        io_end(&world);
        assert_false(io_is_open(world.fds[0]));
    }
}

static void an_owned_one_that_was_unwatched_is_the_callers(void **state)
{
    io_world world;
    io_start(&world, AXO_IO_IN, AXO_IO_OWN);
    io_do(&world, io_unwatch);
    io_tell(&world, IO_STOP);
    io_run(&world);
    assert_true(io_is_open(world.fds[0]));
    world.flags = 0;
    io_end(&world);
}

/* ---- a number that is used again ---- */

static void io_watch_again(io_world *world, axo_ctx *ctx, const axo_message *message)
{
    world->status = axo_io_watch(ctx, world->fds[0], AXO_IO_IN, world->flags);
}

/* The first actor's descriptor was closed behind its back; its number is the second one's. */
static void a_closed_number_is_another_descriptor(void **state)
{
    io_world first;
    io_world second = {.flags = 0};
    io_start(&first, AXO_IO_IN, AXO_IO_OWN);
    int kept = dup(first.fds[0]); /* so the kernel goes on to tell of it, by the old cookie */
    assert_int_equal(close(first.fds[0]), 0);
    second.system = first.system;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, second.fds), 0);
    assert_int_equal(second.fds[0], first.fds[0]);
    second.actor = io_spawn(&first, &second);
    io_do(&second, io_watch_again);
    assert_int_equal(second.status, AXO_OK);
    second.ready = io_read_all;
    io_put(&first, "old");
    io_run(&first);
    assert_int_equal(first.readies + second.readies, 0);
    io_tell(&first, IO_STOP);
    io_run(&first);
    assert_true(io_is_open(second.fds[0])); /* it is not the first one's to close */
    io_put(&second, "new");
    io_run(&first);
    assert_int_equal(second.readies, 1); /* nor to take out of the set */
    assert_int_equal(second.got_count, 3);
    assert_int_equal(first.readies, 0);
    assert_int_equal(close(kept), 0);
    assert_int_equal(close(second.fds[1]), 0);
    io_end_system(&first);
    assert_int_equal(close(second.fds[0]), 0);
    assert_int_equal(close(first.fds[1]), 0);
}

/* The handler of the old descriptor's readiness closes it; its number is a new one's at once. */
static void io_replace(io_world *world, axo_ctx *ctx, const axo_message *message)
{
    int again[2];
    world->status = AXO_EFAILED;
    if (close(world->fds[0]) != 0 || close(world->fds[1]) != 0 ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, again) != 0 ||
        again[0] != world->fds[0] || again[1] != world->fds[1] ||
        axo_io_watch(ctx, again[0], AXO_IO_IN, 0) != AXO_OK)
        return;
    world->status = axo_io_unwatch(ctx, again[0]);
}

static void an_unwatch_is_of_the_newer_one(void **state)
{
    io_world world;
    io_start(&world, AXO_IO_IN, 0);
    world.ready = io_replace;
    io_put(&world, "old");
    io_run(&world);
    assert_int_equal(world.status, AXO_OK);
    assert_int_equal(world.readies, 1);
    io_put(&world, "new");
    io_run(&world);
    assert_int_equal(world.readies, 1);
    io_end(&world);
}

/* ---- bad input ---- */

static void io_watch_bad(io_world *world, axo_ctx *ctx, const axo_message *message)
{
    static const char *const paths[] = {"/proc/self/exe", "/"};
    int closed = dup(world->fds[0]);
    int own = world->fds[0];
    (void)close(closed);
    world->status = AXO_EFAILED;
    if (axo_io_watch(ctx, -1, AXO_IO_IN, 0) != AXO_EDESCRIPTOR ||
        axo_io_watch(ctx, closed, AXO_IO_IN, 0) != AXO_EDESCRIPTOR ||
        axo_io_watch(ctx, 1 << 30, AXO_IO_IN, 0) != AXO_EDESCRIPTOR ||
        axo_io_watch(ctx, own, AXO_IO_HUP, 0) != AXO_EINVAL ||
        axo_io_watch(ctx, own, AXO_IO_IN, 2) != AXO_EINVAL ||
        axo_io_watch(NULL, own, AXO_IO_IN, 0) != AXO_ECONTEXT ||
        axo_io_watch(ctx, axo_host_fd(world->system), AXO_IO_IN, 0) != AXO_EINVAL ||
        axo_io_watch(ctx, own, AXO_IO_IN, AXO_IO_OWN) != AXO_EEXIST ||
        axo_io_want(ctx, own, AXO_IO_ERR) != AXO_EINVAL ||
        axo_io_blocked(ctx, own, 16) != AXO_EINVAL || axo_io_want(ctx, -1, 0) != AXO_ENOENT ||
        axo_io_blocked(ctx, closed, 0) != AXO_ENOENT || axo_io_unwatch(ctx, -1) != AXO_ENOENT ||
        axo_io_unwatch(NULL, own) != AXO_ECONTEXT || axo_io_unwatch(ctx, 1 << 30) != AXO_ENOENT)
        return;
    for (uint32_t i = 0; i < 2; i++) {
        int file = open(paths[i], O_RDONLY | O_CLOEXEC);
        if (file < 0 || axo_io_watch(ctx, file, AXO_IO_IN, AXO_IO_OWN) != AXO_ENOPOLL ||
            close(file) != 0)
            return;
    }
    world->status = AXO_OK;
}

static void bad_input_changes_nothing(void **state)
{
    io_world world;
    io_world other = {.flags = 0};
    io_start(&world, AXO_IO_IN, 0);
    io_do(&world, io_watch_bad);
    assert_int_equal(world.status, AXO_OK);
    other.system = world.system;
    memcpy(other.fds, world.fds, sizeof other.fds);
    other.actor = io_spawn(&world, &other);
    other.flags = AXO_IO_OWN;
    io_do(&other, io_watch_again);
    assert_int_equal(other.status, AXO_EBUSY);
    io_do(&other, io_unwatch);
    assert_int_equal(other.status, AXO_ENOENT);
    world.ready = io_read_all;
    io_put(&world, "still");
    io_run(&world);
    assert_int_equal(world.readies, 1);
    assert_int_equal(other.readies, 0);
    io_end(&world);
}

/* The set is made at the first watch; without a descriptor for it nothing has changed. */
static void io_watch_without_descriptors(io_world *world, axo_ctx *ctx, const axo_message *message)
{
    struct rlimit before;
    axo_status refused[2];
    int next = dup(0);
    (void)close(next);
    world->status = AXO_EFAILED;
    if (getrlimit(RLIMIT_NOFILE, &before) != 0)
        return;
    for (int room = 0; room < 2; room++) { /* then for the set */
        struct rlimit limit = {.rlim_cur = (rlim_t)(next + room), .rlim_max = before.rlim_max};
        if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
            return;
        refused[room] = axo_io_watch(ctx, world->fds[0], AXO_IO_IN, 0);
    }
    if (setrlimit(RLIMIT_NOFILE, &before) != 0 || refused[0] != AXO_ETHREAD ||
        refused[1] != (AXO_OK) || axo_io_unwatch(ctx, world->fds[0]) != (AXO_OK))
        return;
    world->status = axo_io_watch(ctx, world->fds[0], AXO_IO_IN, world->flags);
}

static void without_descriptors_nothing_changes(void **state)
{
    io_world world;
    io_start(&world, 0, 0);
    world.ready = io_read_all;
    io_do(&world, io_watch_without_descriptors);
    assert_int_equal(world.status, AXO_OK);
    io_put(&world, "abc");
    io_run(&world);
    assert_int_equal(world.got_count, 3);
    io_end(&world);
}

/* From here on the kernel refuses each new watch as it does beyond fs.epoll.max_user_watches, which
 * is all users' and so nothing that a test may set. */
static bool io_kernel_is_full(void)
{
    struct sock_filter lines[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_epoll_ctl, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, EPOLL_CTL_ADD, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSPC),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {.len = sizeof lines / sizeof lines[0], .filter = lines};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

static void io_watch_one_too_many(io_world *world, axo_ctx *ctx, const axo_message *message)
{
    int other = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
    world->status = AXO_EFAILED;
    if (!io_kernel_is_full() || axo_io_watch(ctx, other, AXO_IO_IN, AXO_IO_OWN) != AXO_EFULL ||
        axo_io_want(ctx, other, AXO_IO_IN) != AXO_ENOENT || !io_is_open(other) || close(other) != 0)
        return;
    world->status = AXO_OK;
}

/* In a process of its own: a filter stays. Its exit code is how far it came. */
static int io_full(void)
{
    io_world world;
    io_start(&world, AXO_IO_IN, 0);
    world.ready = io_read_all;
    io_do(&world, io_watch_one_too_many);
    if (world.status != AXO_OK)
        return 1;
    io_put(&world, "abc"); /* what is watched goes on */
    io_run(&world);
    if (world.got_count != 3)
        return 2;
    io_end(&world);
    return 0;
}

static void a_full_kernel_changes_nothing(void **state)
{
    int status = -1;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(io_full());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* ---- a manual system in a program's own loop ---- */

static void the_hosts_descriptor_has_it(void **state)
{
    io_world world;
    io_start(&world, AXO_IO_IN, 0);
    world.ready = io_read_all;
    struct pollfd host = {.fd = axo_host_fd(world.system), .events = POLLIN};
    assert_true(host.fd >= 0);
    io_run(&world);
    assert_int_equal(poll(&host, 1, 0), 0);
    io_put(&world, "abc");
    assert_int_equal(poll(&host, 1, 20000), 1);
    io_run(&world);
    assert_int_equal(world.got_count, 3);
    assert_int_equal(poll(&host, 1, 0), 0);
    io_tell(&world, IO_DO); /* a message, too */
    world.act = io_want_in;
    assert_int_equal(poll(&host, 1, 0), 1);
    io_run(&world);
    assert_int_equal(poll(&host, 1, 0), 0);
    io_end(&world);
}

/* The peer has read, so there is room: nobody wants to know, and nobody is woken. */
static void io_answer(io_world *world, axo_ctx *ctx, const axo_message *message)
{
    (void)ctx, (void)message;
    world->status = write(world->fds[0], "abc", 3) == 3 ? AXO_OK : AXO_EFAILED;
}

static void io_want_both(io_world *world, axo_ctx *ctx, const axo_message *message)
{
    (void)message;
    world->status = axo_io_want(ctx, world->fds[0], AXO_IO_IN | AXO_IO_OUT);
}

static void room_that_nobody_wants_wakes_nobody(void **state)
{
    char text[4];
    io_world world;
    io_start(&world, AXO_IO_IN, 0);
    world.ready = io_want_in;
    struct pollfd host = {.fd = axo_host_fd(world.system), .events = POLLIN};
    io_run(&world);
    assert_int_equal(poll(&host, 1, 0), 0);
    io_do(&world, io_answer);
    assert_int_equal(read(world.fds[1], text, sizeof text), 3);
    assert_int_equal(poll(&host, 1, 0), 0);
    io_do(&world, io_want_both);
    /* A run that takes longer than AXO__IO_LOOK_NS looks, and has found it. */
    assert_int_equal((uint32_t)poll(&host, 1, 0) + world.readies, 1);
    io_run(&world);
    assert_int_equal(world.readies, 1);
    assert_int_equal(world.seen, AXO_IO_OUT);
    io_end(&world);
}

/* A child that the program forks has the descriptors, and says nothing to the parent. */
static void io_in_a_child(io_world *world, axo_ctx *ctx, const axo_message *message)
{
    pid_t child = fork();
    int status = 0;
    if (child == 0)
        _exit(axo_io_watch(ctx, world->fds[0], AXO_IO_IN, 0) == AXO_EFORKED &&
                      axo_io_unwatch(ctx, world->fds[0]) == AXO_EFORKED &&
                      axo_io_want(ctx, world->fds[0], 0) == AXO_EFORKED &&
                      axo_io_blocked(ctx, world->fds[0], 0) == AXO_EFORKED
                  ? 7
                  : 1);
    world->status = AXO_EFAILED;
    if (child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
        WEXITSTATUS(status) == 7)
        world->status = AXO_OK;
}

static void a_forked_child_changes_nothing(void **state)
{
    io_world world;
    io_start(&world, AXO_IO_IN, 0);
    world.ready = io_read_all;
    io_do(&world, io_in_a_child);
    assert_int_equal(world.status, AXO_OK);
    io_put(&world, "abc");
    io_run(&world);
    assert_int_equal(world.got_count, 3);
    io_end(&world);
}

/* More watches than the first chunk of records and the first table have room for. */
static void io_watch_many(io_world *world, axo_ctx *ctx, const axo_message *message)
{
    world->status = AXO_OK;
    for (uint32_t i = 0; i < 500 && world->status == AXO_OK; i++) {
        int fd = eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC);
        world->status = axo_io_watch(ctx, fd, AXO_IO_IN, AXO_IO_OWN);
    }
}

static void io_blocked_all(io_world *world, axo_ctx *ctx, const axo_message *message)
{
    world->status = axo_io_blocked(ctx, AXO_PAYLOAD(message, axo_io_ready)->fd, AXO_IO_IN);
}

static void many_are_watched(void **state)
{
    io_world world;
    for (uint32_t round = 0; round < 2; round++) {
        io_start(&world, AXO_IO_IN, 0);
        int next = dup(0);
        assert_int_equal(close(next), 0);
        world.ready = io_blocked_all;
        io_do(&world, io_watch_many);
        assert_int_equal(world.status, AXO_OK);
        for (uint32_t i = 0; i < 20; i++)
            io_run(&world);
        assert_int_equal(world.readies, 500);
        io_end(&world);
        assert_false(io_is_open(next));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_restart_gives_the_watch_back),
        cmocka_unit_test(a_restarted_one_watches_anew),
        cmocka_unit_test(a_resumed_one_is_told_again),
        cmocka_unit_test(an_owned_one_is_closed_with_the_instance),
        cmocka_unit_test(an_owned_one_is_closed_however_it_ends),
        cmocka_unit_test(an_owned_one_that_was_unwatched_is_the_callers),
        cmocka_unit_test(a_closed_number_is_another_descriptor),
        cmocka_unit_test(an_unwatch_is_of_the_newer_one),
        cmocka_unit_test(bad_input_changes_nothing),
        cmocka_unit_test(without_descriptors_nothing_changes),
        cmocka_unit_test(a_full_kernel_changes_nothing),
        cmocka_unit_test(the_hosts_descriptor_has_it),
        cmocka_unit_test(room_that_nobody_wants_wakes_nobody),
        cmocka_unit_test(a_forked_child_changes_nothing),
        cmocka_unit_test(many_are_watched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
