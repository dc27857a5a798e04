/* uring.c - the server of epoll.c on io_uring, one thread: reads, writes and accepts are submitted,
 * and one call submits all that is new and waits for what is done. What the runtime's poller would
 * gain.
 *
 *   uring      prints "listening at 127.0.0.1:PORT"; SIGTERM ends it
 *
 * After each answer a connection's write and its next read are submitted together, linked. */
#include <liburing.h>

#include "served.h"

#define ENTRIES 4096

static struct io_uring ring;

/* What a completion is of: a connection, with this bit a write. */
#define WRITE UINT64_C(1)

static struct io_uring_sqe *entry(void)
{
    struct io_uring_sqe *it = io_uring_get_sqe(&ring);
    if (it == NULL) {
        (void)io_uring_submit(&ring);
        it = io_uring_get_sqe(&ring);
    }
    if (it == NULL)
        die("io_uring_get_sqe");
    return it;
}

static void read_on(connection *it)
{
    struct io_uring_sqe *sqe = entry();
    it->input = grow(it->input, &it->in_room, it->in + INPUT);
    io_uring_prep_recv(sqe, it->fd, it->input + it->in, INPUT, 0);
    io_uring_sqe_set_data64(sqe, (uint64_t)(uintptr_t)it);
}

static void write_out(connection *it)
{
    struct io_uring_sqe *sqe = entry();
    io_uring_prep_send(sqe, it->fd, it->output, it->out, MSG_NOSIGNAL | MSG_WAITALL);
    io_uring_sqe_set_data64(sqe, (uint64_t)(uintptr_t)it | WRITE);
    sqe->flags |= IOSQE_IO_LINK;
}

/* The linked read follows a write that went whole; else it is cancelled, and comes as an error. */
static void served(connection *it, int got)
{
    if (got <= 0) {
        end(it);
        return;
    }
    it->in += (size_t)got;
    if (!understand(it)) {
        end(it);
        return;
    }
    if (it->out > 0)
        write_out(it);
    read_on(it);
}

static void welcome(int listener, const struct io_uring_cqe *cqe)
{
    if (cqe->res >= 0)
        read_on(begin(cqe->res));
    if ((cqe->flags & IORING_CQE_F_MORE) == 0) {
        struct io_uring_sqe *sqe = entry();
        io_uring_prep_multishot_accept(sqe, listener, NULL, NULL, SOCK_CLOEXEC);
        io_uring_sqe_set_data64(sqe, 0);
    }
}

static void completed(int listener, const struct io_uring_cqe *cqe)
{
    uint64_t what = cqe->user_data;
    if (what == 0) {
        welcome(listener, cqe);
    } else if ((what & WRITE) != 0) {
        connection *it = (connection *)(uintptr_t)(what & ~WRITE);
        it->out = 0; /* the buffer is free: whole, or the connection is broken */
        if (cqe->res < 0)
            (void)shutdown(it->fd, SHUT_RDWR);
    } else {
        served((connection *)(uintptr_t)what, cqe->res);
    }
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
