/* scenes_io.c - watched descriptors in a whole system: the poller against those that wake it, that
 * make descriptors ready, that unwatch, and the end. */
#include "scenes.h"

#include "os/poll.h"

static axo_ref reader;
static int io_fd;
static bool io_unwatched;

/* Takes what the descriptor has, and says so. Any other message: unwatches. */
static axo_status reader_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    if (message->tag != AXO_IO_READY) {
        at.handled++;
        io_unwatched = true;
        return axo_io_unwatch(ctx, io_fd);
    }
    const axo_io_ready *ready = AXO_PAYLOAD(message, axo_io_ready);
    CHECK(!io_unwatched && ready->fd == io_fd && ready->events == AXO_IO_IN);
    axo__sim_fd_set(io_fd, 0);
    return axo_io_blocked(ctx, io_fd, AXO_IO_IN);
}

static axo_status reader_construct(axo_ctx *ctx, void *state, const void *args)
{
    io_fd = axo__sim_fd_open(false);
    io_unwatched = false;
    return axo_io_watch(ctx, io_fd, AXO_IO_IN, AXO_IO_OWN);
}

static const axo_class reader_class =
    AXO_CLASS(.name = "reader", .construct = reader_construct, .receive = reader_receive);

/* What is written stays until it was read. */
static void io_put(void *arg)
{
    axo__sim_fd_set(io_fd, AXO__POLL_IN);
}

static void io_send_other(void *arg)
{
    CHECK(stage_send(*(axo_ref *)arg, 1) == AXO_OK);
}

static void io_close(void)
{
    if (io_unwatched)
        axo__os_close(io_fd);
    stage_end();
    CHECK(!axo__sim_fd_is_open(io_fd));
}

/* ---- a poller that parks, a descriptor that gets ready, a sender that wakes the poller ---- */

static void play_poll(void)
{
    static axo_ref other;
    stage_boot(1);
    reader = stage_spawn(&reader_class, NULL);
    other = stage_spawn(&stage_counter, NULL);
    stage_thread("kernel", io_put, NULL);
    stage_thread("sender", io_send_other, &other);
    stage_go();
    CHECK_SAME(at.handled, 1);
    CHECK_SAME(axo__sim_fd_level(io_fd), 0); /* the reader was told, before any deadline */
    io_close();
}

const stage_scene scene_poll = {.name = "poll",
                                .what = "a poller, a descriptor and a sender",
                                .play = play_poll,
                                .bound = 2,
                                .early_one_in = 8};

/* ---- two workers, of which one polls ---- */

static void play_poll_two(void)
{
    static axo_ref others[2];
    stage_boot(2);
    reader = stage_spawn(&reader_class, NULL);
    stage_thread("kernel", io_put, NULL);
    for (uint32_t i = 0; i < 2; i++) {
        others[i] = stage_spawn(&stage_counter, NULL);
        stage_thread(i == 0 ? "one" : "two", io_send_other, &others[i]);
    }
    stage_go();
    CHECK_SAME(at.handled, 2);
    CHECK_SAME(axo__sim_fd_level(io_fd), 0);
    io_close();
}

const stage_scene scene_poll_two = {.name = "poll_two",
                                    .what = "two workers that poll in turns",
                                    .play = play_poll_two,
                                    .bound = 1,
                                    .delay = 1,
                                    .early_one_in = 16};

/* ---- an unwatch against a readiness ---- */

static void play_unready(void)
{
    stage_boot(2);
    reader = stage_spawn(&reader_class, NULL);
    stage_thread("kernel", io_put, NULL);
    stage_thread("sender", io_send_other, &reader);
    stage_go();
    CHECK(io_unwatched);
    CHECK_SAME(at.handled, 1);
    io_close();
}

const stage_scene scene_unready = {.name = "unready",
                                   .what = "an unwatch against a readiness",
                                   .play = play_unready,
                                   .bound = 1,
                                   .delay = 1,
                                   .early_one_in = 16};

/* ---- the first watch by an actor whose thread is not the pool's, while its workers sleep ---- */

static axo_status first_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    if (message->tag == AXO_IO_READY)
        return reader_receive(ctx, state, message);
    at.handled++;
    return reader_construct(ctx, state, NULL);
}

static const axo_class first_class = AXO_CLASS(.name = "first", .receive = first_receive);

static void play_poll_first(void)
{
    axo_props props = AXO_PROPS(.cls = &first_class, .dispatcher = AXO_DISPATCH_PINNED);
    stage_boot(1);
    io_fd = -1;
    CHECK(axo_system_spawn(at.system, &props, &reader) == AXO_OK);
    stage_thread("sender", io_send_other, &reader);
    stage_go();
    CHECK_SAME(at.handled, 1);
    axo__sim_fd_set(io_fd, AXO__POLL_IN);
    stage_go();
    CHECK_SAME(axo__sim_fd_level(io_fd), 0);
    io_close();
}

const stage_scene scene_poll_first = {.name = "poll_first",
                                      .what = "a first watch from another pool",
                                      .play = play_poll_first,
                                      .bound = 1,
                                      .early_one_in = 16};

/* ---- the end of the system against a poller ---- */

static void io_put_if_open(void *arg)
{
    if (axo__sim_fd_is_open(io_fd))
        axo__sim_fd_set(io_fd, AXO__POLL_IN);
}

static void io_stop_system(void *arg)
{
    CHECK(axo_system_stop(at.system, INT64_C(1000000000), NULL, 0, NULL) == AXO_OK);
}

static void play_poll_end(void)
{
    stage_boot(1);
    reader = stage_spawn(&reader_class, NULL);
    stage_thread("stopper", io_stop_system, NULL);
    stage_thread("kernel", io_put_if_open, NULL);
    stage_go_within(1000000000);
    CHECK(!axo__sim_fd_is_open(io_fd));
    CHECK_SAME(axo__sim_started(), 0);
    stage_end();
}

const stage_scene scene_poll_end = {.name = "poll_end",
                                    .what = "the end against a poller",
                                    .play = play_poll_end,
                                    .bound = 1,
                                    .early_one_in = 16};
