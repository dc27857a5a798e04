/* node.c - a node: its system, its links, and the carrier between them. */
#include "remote.h"

/* The body of a frame. References travel with their node. */
typedef struct far {
    axo_node node;
    uint64_t bits;
} far;

typedef enum asked { SEND, POISON, KILL, WATCH, UNWATCH, ENDED, STOP } asked;

typedef struct body {
    uint32_t what;
    uint32_t tag;
    uint32_t known;
    uint32_t size;
    uint64_t order; /* of system messages */
    uint64_t to;    /* of the receiving node */
    far from;
    unsigned char payload[16];
} body;

_Static_assert(sizeof(body) <= BODY_MAX, "a body fits a frame");

peer *node_peer(node *n, uint32_t number)
{
    for (uint32_t i = 0; i < NODES; i++) {
        if (n->peers[i].linked && n->peers[i].number == number)
            return &n->peers[i];
    }
    return NULL;
}

/* ---- the carrier: what the system asks ---- */

static body node_body(node *n, asked what, axo_ref to, axo_ref from)
{
    axo_node there;
    body b;
    memset(&b, 0, sizeof b);
    b.what = what;
    HOLDS(n->w, 2, axo_remote_leave(n->system, to, &there, &b.to) == AXO_OK, "a receiver unknown");
    if (!axo_ref_is_none(from) &&
        axo_remote_leave(n->system, from, &b.from.node, &b.from.bits) != AXO_OK)
        b.from.bits = 0;
    return b;
}

static axo_status node_user(node *n, axo_ref to, const body *b)
{
    peer *p = node_peer(n, axo_ref_node(to));
    if (p == NULL || !cluster_link_send(&p->link, b, sizeof *b))
        return AXO_EGONE;
    return AXO_OK;
}

static bool node_system(node *n, peer *p, body *b)
{
    if (p == NULL)
        return false;
    b->order = ++p->ordered;
    return cluster_link_send_system(&p->link, n->w->now, b, sizeof *b);
}

static axo_status carry_send(void *user, axo_ref to, const axo_message *message)
{
    node *n = user;
    body b = node_body(n, SEND, to, message->sender);
    if (message->size > sizeof b.payload)
        abort();
    b.tag = message->tag;
    b.size = message->size;
    memcpy(b.payload, message->payload, message->size);
    return node_user(n, to, &b);
}

static axo_status carry_poison(void *user, axo_ref to, axo_ref from)
{
    body b = node_body(user, POISON, to, from);
    return node_user(user, to, &b);
}

static axo_status carry_kill(void *user, axo_ref to, axo_ref from)
{
    body b = node_body(user, KILL, to, from);
    return node_user(user, to, &b);
}

static axo_status carry_stop(void *user, axo_ref to)
{
    node *n = user;
    body b = node_body(n, STOP, to, axo_ref_none());
    return node_system(n, node_peer(n, axo_ref_node(to)), &b) ? AXO_OK : AXO_EGONE;
}

static void carry_watch(void *user, axo_ref target)
{
    node *n = user;
    body b = node_body(n, WATCH, target, axo_ref_none());
    (void)node_system(n, node_peer(n, axo_ref_node(target)), &b);
}

static void carry_unwatch(void *user, axo_ref target)
{
    node *n = user;
    body b = node_body(n, UNWATCH, target, axo_ref_none());
    (void)node_system(n, node_peer(n, axo_ref_node(target)), &b);
}

static void carry_ended(void *user, uint32_t number, const axo_terminated *end)
{
    node *n = user;
    body b = node_body(n, ENDED, end->actor, axo_ref_none());
    b.known = end->existence_known;
    (void)node_system(n, node_peer(n, number), &b);
}

static void carry_lost(void *user, uint32_t number)
{
    peer *p = node_peer(user, number);
    if (p != NULL)
        cluster_link_quarantine(&p->link);
}

/* ---- the carrier: what the links ask ---- */

static void link_out(void *user, const cluster_frame *frame)
{
    peer *p = user;
    net_put(p->home->w, p->home->index, p->other, frame);
}

static axo_status link_hand(peer *p, const body *b)
{
    node *n = p->home;
    axo_ref to = {.bits = b->to};
    axo_ref from = b->from.bits != 0 ? axo_remote_enter(n->system, &b->from.node, b->from.bits)
                                     : axo_ref_none();
    axo_remote_message m = AXO_REMOTE_MESSAGE(.to = to, .from = from, .tag = b->tag,
                                              .payload = b->payload, .payload_size = b->size);
    axo_terminated end = {.actor = axo_remote_enter(n->system, &p->is, b->to),
                          .existence_known = b->known};
    switch ((asked)b->what) {
    case SEND:
        return axo_remote_deliver(n->system, p->number, &m);
    case POISON:
        return axo_remote_poison(n->system, p->number, to, from);
    case KILL:
        return axo_remote_kill(n->system, p->number, to, from);
    case WATCH:
        return axo_remote_watch(n->system, p->number, to);
    case UNWATCH:
        return axo_remote_unwatch(n->system, p->number, to);
    case ENDED:
        return axo_remote_terminated(n->system, p->number, &end);
    case STOP:
        return axo_remote_stop(n->system, p->number, to);
    }
    return AXO_EINVAL;
}

static bool link_take(void *user, const cluster_frame *frame)
{
    peer *p = user;
    world *w = p->home->w;
    body b;
    HOLDS(w, 9, frame->size == sizeof b, "a body of %u bytes", frame->size);
    HOLDS(w, 4, !p->link.quarantined, "taken behind the quarantine");
    memcpy(&b, frame->body, sizeof b);
    if (frame->kind == CLUSTER_SYSTEM) {
        if (chance_of(w, w->refuse)) {
            w->met[PROBE_system_refused]++;
            return false;
        }
        p->came++;
        HOLDS(w, 9, b.order == p->came, "system message %llu came as the %llu.",
              (unsigned long long)b.order, (unsigned long long)p->came);
    }
    axo_status status = link_hand(p, &b);
    HOLDS(w, 4, status == AXO_OK || status == AXO_EGONE, "handed over: %s",
          axo_status_text(status));
    return true;
}

/* R4: from here on the core takes nothing of it, whoever tries. */
static void link_lost(void *user)
{
    peer *p = user;
    node *n = p->home;
    n->w->met[PROBE_quarantined]++;
    (void)axo_remote_lose(n->system, p->number);
    axo_remote_message m = AXO_REMOTE_MESSAGE(.to = {.bits = 1}, .tag = 1);
    HOLDS(n->w, 4, axo_remote_deliver(n->system, p->number, &m) == AXO_EGONE,
          "delivered by a node that is lost");
}

static void *link_alloc(void *user, size_t size)
{
    ((peer *)user)->home->blocks++;
    return malloc(size);
}

static void link_free(void *user, void *block, size_t size)
{
    (void)size;
    ((peer *)user)->home->blocks--;
    free(block);
}

static const cluster_link_ops link_ops = {link_out, link_take, link_lost, link_alloc, link_free};
static const cluster_link_settings link_settings = {
    .resend_ns = 50 * REMOTE_MS, .resend_ns_max = 400 * REMOTE_MS, .give_up_ns = 4000 * REMOTE_MS,
    .kept_max = 64, .burst_max = 8};

/* ---- the node ---- */

static int64_t node_clock(void *user)
{
    return ((world *)user)->now;
}

void node_boot(world *w, uint32_t index)
{
    node *n = &w->nodes[index];
    *n = (node){.w = w, .index = index, .alive = true,
                .is = {.incarnation = ++w->incarnations}};
    (void)snprintf(n->is.name, sizeof n->is.name, "n%u", index);
    axo_remote remote = AXO_REMOTE(.here = n->is, .send = carry_send, .poison = carry_poison,
                                   .kill = carry_kill, .stop = carry_stop, .watch = carry_watch,
                                   .unwatch = carry_unwatch, .terminated = carry_ended,
                                   .lost = carry_lost);
    axo_options options = AXO_OPTIONS(.manual = AXO_MANUAL_ALL, .seed = w->seed + 1,
                                      .actors_max = 1024, .clock = node_clock, .clock_user = w,
                                      .remote = &remote, .remote_user = n, .no_quantum_us = 1,
                                      .stuck_ns = -1);
    if (axo_system_start(&options, &n->system) != AXO_OK)
        abort();
    for (uint32_t i = 0; i < ACTORS; i++)
        actors_spawn(n, i);
}

static void node_unlink(peer *p)
{
    if (!p->linked)
        return;
    cluster_link_quarantine(&p->link);
    cluster_link_fini(&p->link);
    p->linked = false;
}

/* The node dies: nobody hears of it. */
void node_halt(node *n)
{
    axo_stats stats = AXO_STATS();
    n->alive = false;
    actors_of_dead(n);
    if (axo_system_stop(n->system, -1, NULL, 0, NULL) != AXO_OK)
        abort();
    for (uint32_t i = 0; i < NODES; i++)
        node_unlink(&n->peers[i]);
    (void)axo_system_stats(n->system, &stats);
    HOLDS(n->w, 10, stats.sent == stats.handled + stats.dead + stats.dropped,
          "%llu sent, %llu handled, %llu dead", (unsigned long long)stats.sent,
          (unsigned long long)stats.handled, (unsigned long long)stats.dead);
    HOLDS(n->w, 10, n->blocks == 0, "%llu blocks of links are left",
          (unsigned long long)n->blocks);
    if (axo_system_destroy(n->system) != AXO_OK)
        abort();
    n->system = NULL;
}

void node_looks(node *n, uint32_t other)
{
    const node *there = &n->w->nodes[other];
    peer *p = &n->peers[other];
    if (!n->alive || other == n->index)
        return;
    if (p->linked && there->alive && p->is.incarnation == there->is.incarnation)
        return;
    node_unlink(p);
    if (!there->alive)
        return;
    *p = (peer){.home = n, .other = other, .is = there->is};
    if (axo_remote_add(n->system, &p->is, &p->number) != AXO_OK)
        return; /* it was lost before */
    cluster_link_init(&p->link, &link_settings, &link_ops, p, n->is.incarnation,
                      p->is.incarnation);
    p->linked = true;
}

void node_receive(node *n, uint32_t from, const cluster_frame *frame)
{
    peer *p = &n->peers[from];
    if (frame->to != n->is.incarnation || !p->linked || frame->from != p->is.incarnation)
        n->w->met[PROBE_frame_of_old]++;
    else if (frame->kind == CLUSTER_SYSTEM && frame->number <= p->link.taken)
        n->w->met[PROBE_system_again]++;
    if (p->linked)
        cluster_link_receive(&p->link, n->w->now, frame);
}

void node_run(node *n)
{
    for (uint32_t i = 0; i < 3 && n->alive; i++) {
        if (axo_run_host(n->system, -1, NULL) != AXO_OK)
            abort();
    }
}

void node_step(node *n)
{
    for (uint32_t i = 0; i < NODES && n->alive; i++) {
        peer *p = &n->peers[i];
        if (!p->linked || p->link.quarantined)
            continue;
        n->w->met[PROBE_resent] += p->link.kept > 0 && n->w->now >= p->link.resend_at;
        cluster_link_step(&p->link, n->w->now);
        n->w->met[PROBE_gave_up] += p->link.quarantined;
    }
}

void node_beat(node *n)
{
    for (uint32_t i = 0; i < NODES && n->alive; i++) {
        if (n->peers[i].linked)
            cluster_link_beat(&n->peers[i].link);
    }
}

int64_t node_due(const node *n)
{
    int64_t due = INT64_MAX;
    for (uint32_t i = 0; i < NODES && n->alive; i++) {
        const peer *p = &n->peers[i];
        int64_t at = p->linked ? cluster_link_due(&p->link) : INT64_MAX;
        due = at < due ? at : due;
    }
    return due;
}
