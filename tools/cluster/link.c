/* link.c - what one node promises another. */
#include "link.h"

#include <assert.h>
#include <string.h>

struct cluster_kept {
    cluster_kept *next;
    uint64_t number;
    uint64_t behind;
    uint32_t size;
    _Alignas(max_align_t) unsigned char body[];
};

void cluster_link_init(cluster_link *link, const cluster_link_settings *settings,
                       const cluster_link_ops *ops, void *user, uint64_t mine, uint64_t theirs)
{
    assert(settings->resend_ns > 0 && settings->resend_ns_max >= settings->resend_ns);
    assert(settings->kept_max > 0 && settings->burst_max > 0);
    *link = (cluster_link){.ops = ops, .user = user, .settings = *settings, .mine = mine,
                           .theirs = theirs};
}

static void link_drop_first(cluster_link *link)
{
    cluster_kept *kept = link->first;
    link->first = kept->next;
    link->kept--;
    link->ops->free(link->user, kept, sizeof *kept + kept->size);
}

void cluster_link_fini(cluster_link *link)
{
    while (link->first != NULL)
        link_drop_first(link);
}

/* ---- out ---- */

/* Each frame acknowledges, so none is owed behind it. */
static void link_put(cluster_link *link, cluster_frame *frame)
{
    frame->from = link->mine;
    frame->to = link->theirs;
    frame->ack = link->taken;
    link->owes_ack = false;
    link->ops->put(link->user, frame);
}

static void link_put_kept(cluster_link *link, const cluster_kept *kept)
{
    cluster_frame frame = {.kind = CLUSTER_SYSTEM, .size = kept->size, .number = kept->number,
                           .behind = kept->behind, .body = kept->body};
    link_put(link, &frame);
}

static void link_put_word(cluster_link *link, cluster_frame_kind kind)
{
    cluster_frame frame = {.kind = kind};
    link_put(link, &frame);
}

/* I2: nothing is kept, and whoever has the link is told once. */
static void link_lose(cluster_link *link)
{
    if (link->quarantined)
        return;
    link->quarantined = true;
    cluster_link_fini(link);
    link->ops->lost(link->user);
}

void cluster_link_quarantine(cluster_link *link)
{
    if (link->quarantined)
        return;
    link_put_word(link, CLUSTER_QUARANTINE);
    link_lose(link);
}

bool cluster_link_send(cluster_link *link, const void *body, uint32_t size)
{
    if (link->quarantined)
        return false;
    cluster_frame frame = {.kind = CLUSTER_USER, .size = size, .number = ++link->users_sent,
                           .body = body};
    link_put(link, &frame);
    return true;
}

bool cluster_link_send_system(cluster_link *link, int64_t now, const void *body, uint32_t size)
{
    if (link->quarantined)
        return false;
    cluster_kept *kept = NULL;
    if (link->kept < link->settings.kept_max)
        kept = link->ops->alloc(link->user, sizeof *kept + size);
    if (kept == NULL) {
        cluster_link_quarantine(link);
        return false;
    }
    *kept = (cluster_kept){.number = ++link->sent, .behind = link->users_sent, .size = size};
    if (size > 0)
        memcpy(kept->body, body, size);
    if (link->first == NULL) {
        link->first = kept;
        link->oldest_since = now;
        link->wait_ns = link->settings.resend_ns;
        link->resend_at = now + link->wait_ns;
    } else {
        link->last->next = kept;
    }
    link->last = kept;
    link->kept++;
    link_put_kept(link, kept);
    return true;
}

void cluster_link_beat(cluster_link *link)
{
    if (!link->quarantined)
        link_put_word(link, CLUSTER_ACK);
}

/* ---- in ---- */

/* I1. What acknowledges more than was sent is no frame of this protocol. */
static void link_acked(cluster_link *link, int64_t now, uint64_t ack)
{
    if (ack <= link->acked || ack > link->sent)
        return;
    while (link->first != NULL && link->first->number <= ack)
        link_drop_first(link);
    link->acked = ack;
    link->oldest_since = now;
    link->wait_ns = link->settings.resend_ns;
    link->resend_at = now + link->wait_ns;
}

/* The next one is taken; one that was taken before has lost its acknowledgement; one that is too
 * early comes again. */
static void link_take_system(cluster_link *link, const cluster_frame *frame)
{
    link->owes_ack = true;
    if (frame->number != link->taken + 1)
        return;
    if (!link->ops->take(link->user, frame) || link->quarantined)
        return;
    link->taken = frame->number;
    if (frame->behind > link->users_taken)
        link->users_taken = frame->behind;
}

/* The number is taken before the message is, so that it is not twice whatever becomes of it. */
static void link_take_user(cluster_link *link, const cluster_frame *frame)
{
    if (frame->number <= link->users_taken)
        return;
    link->users_taken = frame->number;
    (void)link->ops->take(link->user, frame);
}

void cluster_link_receive(cluster_link *link, int64_t now, const cluster_frame *frame)
{
    if (frame->from != link->theirs || frame->to != link->mine) { /* I3 */
        link->strangers++;
        return;
    }
    if (link->quarantined) { /* the other side may not know yet */
        if (frame->kind != CLUSTER_QUARANTINE)
            link_put_word(link, CLUSTER_QUARANTINE);
        return;
    }
    if (frame->kind == CLUSTER_QUARANTINE) {
        link_lose(link);
        return;
    }
    link_acked(link, now, frame->ack);
    if (frame->kind == CLUSTER_SYSTEM)
        link_take_system(link, frame);
    else if (frame->kind == CLUSTER_USER)
        link_take_user(link, frame);
}

/* ---- time ---- */

static void link_resend(cluster_link *link, int64_t now)
{
    uint32_t left = link->settings.burst_max;
    for (const cluster_kept *kept = link->first; kept != NULL && left > 0; kept = kept->next) {
        link_put_kept(link, kept);
        left--;
        link->resent++;
    }
    link->wait_ns *= 2;
    if (link->wait_ns > link->settings.resend_ns_max)
        link->wait_ns = link->settings.resend_ns_max;
    link->resend_at = now + link->wait_ns;
}

void cluster_link_step(cluster_link *link, int64_t now)
{
    if (link->quarantined)
        return;
    if (link->kept > 0 && now - link->oldest_since >= link->settings.give_up_ns) {
        cluster_link_quarantine(link);
        return;
    }
    if (link->kept > 0 && now >= link->resend_at)
        link_resend(link, now);
    if (link->owes_ack)
        link_put_word(link, CLUSTER_ACK);
}

int64_t cluster_link_due(const cluster_link *link)
{
    if (link->quarantined)
        return INT64_MAX;
    if (link->owes_ack)
        return INT64_MIN;
    if (link->kept == 0)
        return INT64_MAX;
    int64_t give_up = link->oldest_since + link->settings.give_up_ns;
    return give_up < link->resend_at ? give_up : link->resend_at;
}
