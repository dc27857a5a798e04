/* actors.c - the actors of the nodes, what they are told to do, and what each must and must not
 * get. */
#include "remote.h"

enum { TAG_SAY = 1, TAG_GUEST, TAG_ACT = 16 };

typedef enum act { SAY, GUEST, WATCH, UNWATCH, STOP, KILL, POISON, END, ACTS } act;

typedef struct said {
    uint32_t from; /* uids */
    uint32_t to;
    uint32_t number;
    uint32_t guest; /* GUEST: who is named as the sender */
} said;

typedef struct order {
    uint32_t whom;
    uint32_t guest;
} order;

typedef struct actor {
    node *home;
    uint32_t uid;
} actor;

axo_ref actors_ref(const node *n, uint32_t uid)
{
    const ghost *g = &n->w->ghosts[uid];
    axo_node there = {.incarnation = g->incarnation};
    (void)snprintf(there.name, sizeof there.name, "n%u", g->home->index);
    return axo_remote_enter(n->system, &there, g->ref.bits);
}

/* ---- what an actor does ---- */

static axo_status actors_say(axo_ctx *ctx, const actor *me, const order *what, bool guest)
{
    world *w = me->home->w;
    said it = {.from = me->uid, .to = what->whom, .guest = what->guest};
    if (!guest)
        it.number = ++w->pairs[me->uid][what->whom].sent;
    axo_ref to = actors_ref(me->home, what->whom);
    axo_status status =
        guest ? axo_send_from(ctx, actors_ref(me->home, what->guest), to, TAG_GUEST, &it, sizeof it)
              : axo_send(ctx, to, TAG_SAY, &it, sizeof it);
    const ghost *g = &w->ghosts[what->whom];
    w->met[PROBE_message_to_old] += status == AXO_EGONE &&
                                    g->incarnation != g->home->is.incarnation;
    HOLDS(w, 2, status == AXO_OK || status == AXO_EGONE, "a send is %s", axo_status_text(status));
    return AXO_OK;
}

static axo_status actors_watch(axo_ctx *ctx, const actor *me, uint32_t whom)
{
    world *w = me->home->w;
    pair *p = &w->pairs[me->uid][whom];
    axo_ref ref = actors_ref(me->home, whom);
    if (whom == me->uid || (!axo_ref_is_none(p->watched) && !axo_ref_equal(p->watched, ref)))
        return AXO_OK; /* it is watched by a reference that is of nobody now */
    HOLDS(w, 5, axo_watch(ctx, ref) == AXO_OK, "a watch is refused");
    p->watched = ref;
    w->met[PROBE_watch_far] += axo_ref_node(ref) != 0;
    return AXO_OK;
}

static axo_status actors_stop(axo_ctx *ctx, const actor *me, uint32_t whom)
{
    world *w = me->home->w;
    ghost *g = &w->ghosts[whom];
    axo_ref ref = actors_ref(me->home, whom);
    if (axo_stop(ctx, ref) == AXO_OK && axo_ref_node(ref) != 0) {
        w->met[PROBE_stop_taken]++;
        g->stopped_by = me->home->index;
        g->stopped_incarnation = me->home->is.incarnation;
    }
    return AXO_OK;
}

static axo_status actors_do(axo_ctx *ctx, const actor *me, act what, const order *how)
{
    world *w = me->home->w;
    pair *p = &w->pairs[me->uid][how->whom];
    switch (what) {
    case SAY:
    case GUEST:
        return actors_say(ctx, me, how, what == GUEST);
    case WATCH:
        return actors_watch(ctx, me, how->whom);
    case UNWATCH:
        if (!axo_ref_is_none(p->watched)) {
            (void)axo_unwatch(ctx, p->watched);
            p->watched = axo_ref_none();
            w->met[PROBE_unwatched]++;
        }
        return AXO_OK;
    case STOP:
        return actors_stop(ctx, me, how->whom);
    case KILL:
        w->met[PROBE_killed] += axo_kill(ctx, actors_ref(me->home, how->whom)) == AXO_OK;
        return AXO_OK;
    case POISON:
        w->met[PROBE_poisoned] += axo_poison(ctx, actors_ref(me->home, how->whom)) == AXO_OK;
        return AXO_OK;
    case END:
        return axo_stop_self(ctx);
    case ACTS:
        break;
    }
    return AXO_OK;
}

/* ---- what an actor gets ---- */

static void actors_heard(const actor *me, const axo_message *message)
{
    world *w = me->home->w;
    const said *it = message->payload;
    pair *p = &w->pairs[me->uid][it->from];
    w->met[PROBE_message]++;
    HOLDS(w, 2, it->to == me->uid, "%u got a message for %u", me->uid, it->to);
    axo_ref from = actors_ref(me->home, message->tag == TAG_SAY ? it->from : it->guest);
    bool named = axo_ref_equal(message->sender, from);
    if (message->tag == TAG_GUEST) { /* a node that is known by now may not have been then */
        uint32_t number = axo_ref_node(message->sender);
        HOLDS(w, 3, named || number == AXO_NODE_NOBODY || axo_ref_node(from) == AXO_NODE_NOBODY ||
                        axo_ref_is_none(message->sender),
              "%u got a guest's message of a stranger", me->uid);
        w->met[PROBE_third_node] += named && number != 0 &&
                                    w->ghosts[it->guest].home != w->ghosts[it->from].home;
        return;
    }
    HOLDS(w, 3, named, "%u got a message of %u that names %llx", me->uid, it->from,
          (unsigned long long)message->sender.bits);
    HOLDS(w, 4, !p->told, "%u got a message of %u, whose end it was told", me->uid, it->from);
    HOLDS(w, 1, it->number > p->got, "%u got message %u of %u behind %u", me->uid, it->number,
          it->from, p->got);
    w->met[PROBE_delivered_late] += it->number > p->got + 1;
    p->got = it->number;
}

static void actors_told(const actor *me, const axo_terminated *end)
{
    world *w = me->home->w;
    uint32_t whom = 1;
    axo_node is;
    if (!me->home->alive) /* it dies, and what is in its mailboxes is looked at once more */
        return;
    while (whom < w->uids && !axo_ref_equal(w->pairs[me->uid][whom].watched, end->actor))
        whom++;
    HOLDS(w, 5, whom < w->uids, "%u was told of an end that it does not watch", me->uid);
    if (whom == w->uids)
        return;
    pair *p = &w->pairs[me->uid][whom];
    uint32_t number = axo_ref_node(end->actor);
    p->watched = axo_ref_none();
    p->told |= number != AXO_NODE_NOBODY;
    if (end->address_terminated != 0) {
        w->met[PROBE_notice_lost]++;
        HOLDS(w, 6, number != 0 && axo_remote_node(me->home->system, number, &is) != AXO_OK,
              "%u was told that the node of %u is lost", me->uid, whom);
        return;
    }
    w->met[PROBE_notice_ended] += number != 0;
    HOLDS(w, 6, w->ghosts[whom].ended, "%u was told that %u has ended", me->uid, whom);
    HOLDS(w, 6, end->existence_known == 1, "%u was told that %u never was", me->uid, whom);
}

static axo_status actors_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    const actor *me = state;
    if (message->tag == AXO_TERMINATED)
        actors_told(me, message->payload);
    else if (message->tag >= TAG_ACT)
        return actors_do(ctx, me, (act)(message->tag - TAG_ACT), message->payload);
    else
        actors_heard(me, message);
    return AXO_OK;
}

static axo_status actors_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    *(actor *)state = *(const actor *)args;
    return AXO_OK;
}

/* It ends: what it watched is nobody's. */
static void actors_end(world *w, uint32_t uid)
{
    w->ghosts[uid].ended = true;
    for (uint32_t i = 0; i < UIDS; i++)
        w->pairs[uid][i].watched = axo_ref_none();
}

static axo_status actors_stopped(axo_ctx *ctx, void *state)
{
    const actor *me = state;
    (void)ctx;
    actors_end(me->home->w, me->uid);
    for (uint32_t i = 0; i < ACTORS; i++) {
        if (me->home->actors[i] == me->uid)
            me->home->actors[i] = 0;
    }
    return AXO_OK;
}

static const axo_class actors_class =
    AXO_CLASS(.name = "actor", .state_size = sizeof(actor), .construct = actors_construct,
              .receive = actors_receive, .post_stop = actors_stopped);

void actors_spawn(node *n, uint32_t place)
{
    world *w = n->w;
    if (w->uids == UIDS)
        return;
    actor args = {.home = n, .uid = w->uids++};
    ghost *g = &w->ghosts[args.uid];
    axo_props props = AXO_PROPS(.cls = &actors_class, .args = &args, .args_size = sizeof args);
    *g = (ghost){.home = n, .incarnation = n->is.incarnation};
    if (axo_system_spawn(n->system, &props, &g->ref) != AXO_OK)
        abort();
    n->actors[place] = args.uid;
}

void actors_of_dead(node *n)
{
    world *w = n->w;
    for (uint32_t i = 1; i < w->uids; i++) {
        if (w->ghosts[i].home == n && w->ghosts[i].incarnation == n->is.incarnation)
            actors_end(w, i);
    }
}

/* ---- the world's hand ---- */

/* One actor is told to do something with another, who may live anywhere, or have. */
void actors_act(world *w)
{
    static const act acts[] = {SAY,   SAY,   SAY,   SAY,   SAY,   SAY,     SAY,     SAY,
                               SAY,   SAY,   SAY,   SAY,   GUEST, GUEST,   GUEST,   WATCH,
                               WATCH, WATCH, WATCH, WATCH, WATCH, UNWATCH, UNWATCH, UNWATCH,
                               STOP,  KILL,  POISON, END};
    node *n = &w->nodes[chance_below(w, NODES)];
    uint32_t place = chance_below(w, ACTORS);
    order how = {.whom = 1 + chance_below(w, w->uids - 1)};
    how.guest = 1 + chance_below(w, w->uids - 1);
    if (chance_below(w, 6) != 0) { /* mostly one that lives */
        const node *other = &w->nodes[chance_below(w, NODES)];
        uint32_t uid = other->actors[chance_below(w, ACTORS)];
        how.whom = uid != 0 ? uid : how.whom;
    }
    act what = acts[chance_below(w, sizeof acts / sizeof acts[0])];
    if (!n->alive)
        return;
    if (n->actors[place] == 0) {
        actors_spawn(n, place);
        return;
    }
    (void)axo_system_send(n->system, w->ghosts[n->actors[place]].ref, TAG_ACT + (uint32_t)what,
                          &how, sizeof how);
}

static bool actors_lives(const world *w, uint32_t uid)
{
    const ghost *g = &w->ghosts[uid];
    return !g->ended && g->home->alive && g->home->is.incarnation == g->incarnation;
}

/* Whether the link from a node to an actor's is whole, as that node sees it. */
static bool actors_linked(const node *from, uint64_t incarnation, const ghost *to)
{
    const peer *p = &from->peers[to->home->index];
    return from->alive && from->is.incarnation == incarnation && p->linked &&
           !p->link.quarantined && p->is.incarnation == to->incarnation;
}

void actors_check(world *w, bool all)
{
    for (uint32_t i = 1; i < w->uids; i++) {
        const ghost *g = &w->ghosts[i];
        if (g->stopped_incarnation != 0 &&
            actors_linked(&w->nodes[g->stopped_by], g->stopped_incarnation, g))
            HOLDS(w, 8, g->ended, "%u was stopped and lives", i);
        for (uint32_t j = 1; j < w->uids && actors_lives(w, i); j++) {
            axo_ref ref = w->pairs[i][j].watched;
            if (axo_ref_is_none(ref))
                continue;
            HOLDS(w, 7, !w->ghosts[j].ended, "%u was not told of the end of %u", i, j);
            HOLDS(w, 7, axo_ref_node(ref) == 0 ||
                            (!all && actors_linked(g->home, g->incarnation, &w->ghosts[j])),
                  "%u was not told that the node of %u is lost", i, j);
        }
    }
}
