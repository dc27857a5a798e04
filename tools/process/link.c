/* link.c - one process, as its host sees it. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <signal.h>
#include <unistd.h>

#include "base/failure_kind.h"
#include "host.h"

static void link_close_fd(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
}

/* What the process is told before it begins. */
static void link_fill(const process_life *life, process_link *link, bool restarted)
{
    process_share *share = link->map.share;
    share->confine = life->recipe.confine;
    share->memory_max = life->recipe.memory_max;
    share->self = life->self.bits;
    share->restarted = restarted ? 1 : 0;
    share->failure = life->restart;
    memcpy(share->name, life->name, sizeof share->name);
    (void)strncpy(share->cls, life->proxy->name, sizeof share->cls - 1);
    if (life->args_size > 0)
        memcpy(link->map.args, life->args, life->args_size);
    process_ring_init(&link->in, &share->to_process, link->map.to_process, link->map.ring_bytes);
    process_ring_init(&link->out, &share->to_host, link->map.to_host, link->map.ring_bytes);
    atomic_store(&share->host_sleeps, 1);
}

/* Asks for the process with the other ends of two pairs of sockets. */
static int link_ask(process_life *life, process_link *link, int share)
{
    int wake[2];
    int told[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, wake) != 0)
        return errno;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, told) != 0) {
        int error = errno;
        (void)close(wake[0]);
        (void)close(wake[1]);
        return error;
    }
    link->wake_fd = wake[0];
    link->life_fd = told[0];
    const int fds[PROCESS_FDS] = {share, wake[1], told[1]};
    int error = process_zygote_ask(life->zygote, fds);
    (void)close(wake[1]);
    (void)close(told[1]);
    return error;
}

static void link_free(process_link *link)
{
    link_close_fd(&link->wake_fd);
    link_close_fd(&link->life_fd);
    link_close_fd(&link->pid_fd);
    process_share_unmap(&link->map);
    free(link);
}

int process_link_open(process_life *life, bool restarted)
{
    process_link *link = malloc(sizeof *link);
    if (link == NULL)
        return ENOMEM;
    *link = (process_link){.wake_fd = -1, .life_fd = -1, .pid_fd = -1};
    int share = process_share_make(life->recipe.ring_bytes, life->args_size, &link->map);
    int error = share >= 0 ? 0 : errno;
    if (error == 0) {
        link_fill(life, link, restarted);
        error = link_ask(life, link, share);
        (void)close(share);
    }
    if (error != 0) {
        link_free(link);
        return error;
    }
    (void)pthread_mutex_lock(&life->mutex);
    life->link = link;
    (void)pthread_mutex_unlock(&life->mutex);
    return 0;
}

void process_link_close(process_life *life)
{
    process_link *link = life->link;
    life->link = NULL;
    if (link != NULL)
        link_free(link);
}

static bool link_pid_ended(const process_link *link)
{
    struct pollfd fd = {.fd = link->pid_fd, .events = POLLIN};
    return link->pid_fd >= 0 && poll(&fd, 1, 0) > 0;
}

/* The zygote's end closes when it has nothing more to say, or has gone. */
void process_link_hear(process_link *link)
{
    process_news news;
    int fd = -1;
    while (!link->known && link->life_fd >= 0) {
        size_t count = 1;
        ssize_t got =
            process_wire_receive(link->life_fd, &news, sizeof news, &fd, &count, MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN))
            break;
        if (got != (ssize_t)sizeof news) {
            link->dead = true; /* or about to be: it dies with the zygote */
            process_link_kill(link);
            return;
        }
        if (news.what == PROCESS_IS_THERE) {
            link_close_fd(&link->pid_fd); /* of one that has died before it has begun */
            link->pid_fd = count > 0 ? fd : -1;
            link->told = true;
            continue;
        }
        link->status = news.status;
        link->known = true;
        link->dead = true;
    }
}

bool process_link_withdraw(process_link *link)
{
    uint32_t state = PROCESS_STARTING;
    (void)atomic_compare_exchange_strong(&link->map.share->state, &state, PROCESS_WITHDRAWN);
    return state != PROCESS_LIVE;
}

void process_link_kill(const process_link *link)
{
    if (link->pid_fd >= 0 && !link_pid_ended(link))
        (void)syscall(SYS_pidfd_send_signal, link->pid_fd, SIGKILL, NULL, 0U);
}

void process_link_wake(process_link *link)
{
    if (atomic_exchange(&link->map.share->process_sleeps, 0) != 0) /* [S] */
        process_wake(link->wake_fd);
}

void process_link_order(process_link *link, uint32_t what, const process_failure *failure)
{
    process_share *share = link->map.share;
    process_order *order = &share->orders[link->ordered % PROCESS_ORDERS];
    order->what = what;
    if (failure != NULL)
        order->failure = *failure;
    atomic_store(&share->ordered, ++link->ordered);
    process_wake(link->wake_fd);
}

bool process_link_waits(const process_link *link)
{
    return !link->spoilt && !link->failed && !link->ended && process_ring_waits(&link->out);
}

/* ---- what the process says ---- */

static void link_handled(process_life *life, uint64_t number)
{
    process_kept *kept = process_queue_at(&life->window, number);
    if (kept != NULL && number < life->next_number)
        kept->handled = true;
}

/* false: there is no memory for it now, so it stays. */
static bool link_send(axo_ctx *ctx, const process_life *life, process_link *link,
                      const process_record *record, const void *bytes)
{
    axo_ref to = {.bits = record->to};
    axo_ref from = record->from != 0 ? (axo_ref){.bits = record->from} : life->self;
    if (record->flags == 1)
        from = axo_ref_none();
    if (axo_ref_is_none(to) || record->tag >= AXO_TAG_SERVICES || record->flags > 1) {
        link->spoilt = true;
        return true;
    }
    return axo_send_from(ctx, from, to, record->tag, bytes, record->size) != AXO_ENOMEM;
}

/* What is looked at is the copy: the process may write over the record meanwhile. */
static void link_fail(process_link *link, const process_record *record, const void *bytes)
{
    if (record->size != sizeof link->failure) {
        link->spoilt = true;
        return;
    }
    memcpy(&link->failure, bytes, sizeof link->failure);
    if (!axo__is_failure_kind(link->failure.failure.kind)) {
        link->spoilt = true;
        return;
    }
    link->failure.text[AXO_FAILURE_TEXT_MAX - 1] = 0;
    link->failed_under = record->number;
    link->failed = true;
}

static void link_line(axo_ctx *ctx, process_link *link, const process_record *record,
                      const void *bytes)
{
    if (record->size >= AXO_FAILURE_TEXT_MAX || record->tag < AXO_LOG_ERROR ||
        record->tag > AXO_LOG_INFO) {
        link->spoilt = true;
        return;
    }
    (void)axo_log(ctx, (axo_log_level)record->tag, "in its process: %.*s", (int)record->size,
                  (const char *)bytes);
}

static bool link_take(axo_ctx *ctx, process_life *life, process_link *link,
                      const process_record *record, const void *bytes)
{
    switch (record->kind) {
    case PROCESS_SEND:
        return link_send(ctx, life, link, record, bytes);
    case PROCESS_HANDLED:
        link_handled(life, record->number);
        return true;
    case PROCESS_FAIL:
        link_fail(link, record, bytes);
        return true;
    case PROCESS_ENDED:
        link->ended = true;
        return true;
    case PROCESS_LINE:
        link_line(ctx, link, record, bytes);
        return true;
    default:
        link->spoilt = true;
        return true;
    }
}

void process_link_drain_all(axo_ctx *ctx, process_life *life)
{
    const uint64_t most = life->link->map.ring_bytes / PROCESS_RECORD_HEAD;
    process_link_drain(ctx, life, (uint32_t)most);
}

void process_link_drain(axo_ctx *ctx, process_life *life, uint32_t max)
{
    process_link *link = life->link;
    process_record record;
    const void *bytes;
    for (uint32_t i = 0; i < max && process_link_waits(link); i++) {
        process_ring_answer answer = process_ring_read(&link->out, &record, &bytes);
        if (answer == PROCESS_RING_SPOILT)
            link->spoilt = true;
        if (answer != PROCESS_RING_OK || !link_take(ctx, life, link, &record, bytes))
            break;
        process_ring_done(&link->out);
    }
    if (atomic_exchange(&link->map.share->process_wants_room, 0) != 0) /* [S] */
        process_wake(link->wake_fd);
}
