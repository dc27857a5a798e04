/* uring.c - the server of epoll.c on io_uring, one thread: reads, writes and accepts are submitted,
 * and one call submits all that is new and waits for what is done. What the runtime's poller would
 * gain.
 *
 *   uring      prints "listening at 127.0.0.1:PORT"; SIGTERM ends it
 *
 * After each answer a connection's write and its next read are submitted together, linked: so at
 * most one of them is at work, and the buffer of the other is free. The read waits until something
 * has come before it is tried. */
#include <liburing.h>

#include "served.h"

#define ENTRIES 4096

static struct io_uring ring;

/* What a completion is of: a connection, with this bit a write. */
#define WRITE UINT64_C(1)

/* Room for so many that are submitted together: a link does not go beyond a submission. */
static void room(unsigned count)
{
    while (io_uring_sq_space_left(&ring) < count) {
        int went = io_uring_submit(&ring);
        if (went < 0 && went != -EINTR && went != -EBUSY)
            die("io_uring_submit");
    }
}

static void read_on(connection *it)
{
    struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);
    it->input = grow(it->input, &it->in_room, it->in + INPUT);
    io_uring_prep_recv(sqe, it->fd, it->input + it->in, INPUT, 0);
    io_uring_sqe_set_data64(sqe, (uint64_t)(uintptr_t)it);
    sqe->ioprio |= IORING_RECVSEND_POLL_FIRST;
}

static void write_out(connection *it, bool linked)
{
    struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);
    io_uring_prep_send(sqe, it->fd, it->output, it->out, MSG_NOSIGNAL | MSG_WAITALL);
    io_uring_sqe_set_data64(sqe, (uint64_t)(uintptr_t)it | WRITE);
    if (linked)
        sqe->flags |= IOSQE_IO_LINK;
}

/* Answers what is whole. While the answers are many they are written before more is understood;
 * else the next read follows the write. */
static void serve(connection *it)
{
    if (!understand(it)) {
        end(it);
        return;
    }
    bool many = it->out >= OUTPUT;
    room(2);
    if (it->out > 0)
        write_out(it, !many);
    if (!many)
        read_on(it);
}

/* The read that is linked to a write that has not gone whole is cancelled: it comes as an error. */
static void was_read(connection *it, int got)
{
    if (got == -EINTR || got == -EAGAIN) {
        room(1);
        read_on(it);
    } else if (got <= 0) {
        end(it);
    } else {
        it->in += (size_t)got;
        serve(it);
    }
}

static void was_written(connection *it, int went)
{
    bool many = it->out >= OUTPUT;
    bool whole = went == (int)it->out;
    it->out = 0;
    if (many && whole)
        serve(it);
    else if (many)
        end(it); /* else the cancelled read does */
}

static void welcome(int listener, const struct io_uring_cqe *cqe)
{
    room(2);
    if (cqe->res >= 0)
        read_on(begin(cqe->res));
    if ((cqe->flags & IORING_CQE_F_MORE) == 0) {
        struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);
        io_uring_prep_multishot_accept(sqe, listener, NULL, NULL, SOCK_CLOEXEC);
        io_uring_sqe_set_data64(sqe, 0);
    }
}

static void completed(int listener, const struct io_uring_cqe *cqe)
{
    uint64_t what = cqe->user_data;
    if (what == 0)
        welcome(listener, cqe);
    else if ((what & WRITE) != 0)
        was_written((connection *)(uintptr_t)(what & ~WRITE), cqe->res);
    else
        was_read((connection *)(uintptr_t)what, cqe->res);
}

int main(void)
{
    uint16_t port = 0;
    keys_begin();
    int listener = listen_at(&port);
    struct io_uring_params params = {.flags = IORING_SETUP_SINGLE_ISSUER |
                                              IORING_SETUP_COOP_TASKRUN |
                                              IORING_SETUP_DEFER_TASKRUN};
    int error = io_uring_queue_init_params(ENTRIES, &ring, &params);
    if (error != 0) {
        (void)fprintf(stderr, "io_uring: %s\n", strerror(-error));
        return 1;
    }
    (void)printf("listening at 127.0.0.1:%u\n", port);
    (void)fflush(stdout);
    welcome(listener, &(struct io_uring_cqe){.res = -1});
    for (;;) {
        struct io_uring_cqe *cqe;
        unsigned head;
        unsigned count = 0;
        (void)io_uring_submit_and_wait(&ring, 1);
        io_uring_for_each_cqe(&ring, head, cqe) {
            completed(listener, cqe);
            count++;
        }
        io_uring_cq_advance(&ring, count);
    }
}
