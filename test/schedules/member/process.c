/* process.c - a process: a member, its clock, its connection to the store. */
#include "members.h"

#define PUT_NS     (2000 * MS) /* until it is not known what became of a put */
#define CONNECT_NS (500 * MS)

static axo_node process_node(const world *w, uint32_t life)
{
    axo_node node = {.incarnation = life};
    (void)snprintf(node.name, sizeof node.name, "n%u", w->of[life].name);
    return node;
}

int64_t process_clock(process *p)
{
    return p->offset + p->w->now + p->w->now / 1000000 * p->rate;
}

bool process_runs(const process *p)
{
    return p->alive && p->w->now >= p->stopped_until;
}

/* ---- what its member asks */

static flying process_flying(const process *p, flying_kind kind, uint32_t to)
{
    return (flying){.kind = kind, .from = p->place, .to = to, .from_life = p->life};
}

static void op_put(void *user, const cluster_entry *entry)
{
    process *p = user;
    flying it = process_flying(p, FLY_PUT, PLACES);
    HOLDS(p->w, 8, !p->told_over, "life %u puts its entry and is over", p->life);
    HOLDS(p->w, 9, p->put == 0, "life %u puts its entry twice", p->life);
    HOLDS(p->w, 9, p->store == CLUSTER_STORE_IS_THERE, "life %u puts nowhere", p->life);
    it.entry = *entry;
    it.number = p->put = ++p->w->puts;
    p->put_until = p->w->now + PUT_NS;
    air_put(p->w, &it, 0);
}

static void op_remove(void *user, const cluster_entry *entry)
{
    process *p = user;
    flying it = process_flying(p, FLY_REMOVE, PLACES);
    uint32_t life = (uint32_t)entry->node.incarnation;
    const view *v = &p->w->views[p->life][life];
    HOLDS(p->w, 8, !p->told_over, "life %u removes an entry and is over", p->life);
    HOLDS(p->w, 7, life == p->life || !v->up || v->down, "life %u removes %u, which is up",
          p->life, life);
    it.entry = *entry;
    air_put(p->w, &it, 0);
}

static void op_beat(void *user, uint64_t number)
{
    process *p = user;
    HOLDS(p->w, 8, !p->told_over, "life %u beats and is over", p->life);
    p->w->of[p->life].beats++;
    for (uint32_t i = 0; i < PLACES; i++) {
        flying it = process_flying(p, FLY_BEAT, i);
        it.number = number;
        if (i != p->place && p->w->processes[i].alive)
            air_put(p->w, &it, 0);
    }
}

static void op_up(void *user, const axo_node *node)
{
    ghost_up(user, node);
}

/* A link is quarantined with the node, and says so to the other side. */
static void process_quarantine(process *p, uint32_t life)
{
    flying it = process_flying(p, FLY_LOST, p->w->of[life].place);
    it.to_life = life;
    if (p->w->quarantines)
        air_put(p->w, &it, 0);
}

static void op_down(void *user, const axo_node *node, cluster_why why)
{
    process *p = user;
    ghost_down(p, node, why);
    process_quarantine(p, (uint32_t)node->incarnation);
    cluster_member_lost(&p->member, process_clock(p), node); /* as its link says at once */
}

static void op_minority(void *user)
{
    process *p = user;
    p->w->met[PROBE_minority]++;
    HOLDS(p->w, 8, !p->told_over, "life %u is over and in a minority", p->life);
    HOLDS(p->w, 10, p->w->settings.on_minority == CLUSTER_GO_ON, "told of a minority");
}

static void op_majority(void *user)
{
    process *p = user;
    p->w->met[PROBE_majority]++;
    HOLDS(p->w, 8, !p->told_over, "life %u is over and in a majority", p->life);
}

static void op_refused(void *user, const axo_node *holder)
{
    process *p = user;
    p->w->met[PROBE_refused]++;
    HOLDS(p->w, 10, name_number(holder) == name_of(p->place) && holder->incarnation != p->life,
          "life %u is refused by %u", p->life, (uint32_t)holder->incarnation);
}

static void op_no_room(void *user, const axo_node *node)
{
    process *p = user;
    HOLDS(p->w, 10, false, "life %u has no room for %s", p->life, node->name);
}

static void op_over(void *user, cluster_why why)
{
    process *p = user;
    ghost_over(p, why);
    p->told_over = true;
    p->over = why;
    p->over_at = p->w->now;
}

static const cluster_member_ops process_ops = {
    .put = op_put, .remove = op_remove, .beat = op_beat, .up = op_up, .down = op_down,
    .minority = op_minority, .majority = op_majority, .refused = op_refused,
    .no_room = op_no_room, .over = op_over};

/* ---- its life */

void process_boot(world *w, uint32_t place)
{
    process *p = &w->processes[place];
    if (w->lives == LIVES)
        return;
    uint64_t watch = p->watch;
    int64_t hour = 3600000;
    p->w = w;
    p->place = place;
    p->alive = true;
    p->life = w->lives++;
    p->offset = ((int64_t)chance_below(w, 7200000) - hour) * MS;
    p->rate = (int64_t)chance_below(w, 20001) - 10000;
    p->stopped_until = p->halted = 0;
    p->stops = 0;
    p->told_over = false;
    p->store = CLUSTER_STORE_AWAY;
    p->watch = watch + 1;
    p->watch_broken = false;
    p->notice_at = INT64_MAX;
    p->connect_at = w->now + (int64_t)chance_below(w, 500) * MS;
    p->watched_until = 0;
    p->put = 0;
    ghost_born(w, p);
    axo_node self = process_node(w, p->life);
    SAY(w, "life %u of %s at place %u", p->life, self.name, place);
    cluster_member_init(&p->member, &w->settings, &process_ops, p, &self, process_clock(p));
}

void process_die(process *p)
{
    SAY(p->w, "life %u dies", p->life);
    p->alive = false;
    p->w->met[PROBE_died]++;
}

void process_stop(process *p, int64_t for_ns)
{
    int64_t from = p->stopped_until > p->w->now ? p->stopped_until : p->w->now;
    SAY(p->w, "life %u stops for %.3f s", p->life, (double)for_ns / 1e9);
    p->stopped_until = from + for_ns;
    p->halted += for_ns;
    p->stops++;
    p->w->met[PROBE_stopped]++;
    p->w->met[PROBE_stopped_for_a_lease] += for_ns > LEASE_NS;
}

void process_leave(process *p)
{
    SAY(p->w, "life %u leaves", p->life);
    p->w->of[p->life].asked_to_leave = true;
    p->w->met[PROBE_left_without_store] += p->store == CLUSTER_STORE_AWAY;
    cluster_member_leave(&p->member, process_clock(p));
}

void process_break(process *p, bool broken)
{
    if (!p->alive || p->store == CLUSTER_STORE_AWAY)
        return;
    p->watch_broken |= broken;
    if (p->notice_at == INT64_MAX)
        p->notice_at = p->w->now + (int64_t)chance_below(p->w, 6000) * MS;
}

/* ---- what comes in */

static void process_answer(process *p, const flying *it)
{
    world *w = p->w;
    if (it->number != p->put)
        return;
    p->put = 0;
    w->met[PROBE_entry_put_again] += it->answer == CLUSTER_MISSING && p->member.joined;
    w->met[PROBE_put_taken_unknown] += it->answer == CLUSTER_REFUSED &&
                                       it->entry.node.incarnation == p->life;
    cluster_member_answer(&p->member, process_clock(p), it->answer, it->none ? NULL : &it->entry);
}

static void process_heard(process *p, const flying *it)
{
    axo_node node = process_node(p->w, it->from_life);
    ghost_heard(p, it->from_life, it->number);
    if (p->w->views[p->life][it->from_life].down)
        process_quarantine(p, it->from_life);
    cluster_member_heard(&p->member, process_clock(p), &node, it->number);
}

static void process_store(process *p, cluster_store_state state)
{
    p->store = state;
    cluster_member_store(&p->member, process_clock(p), state);
}

void process_receive(process *p, const flying *it)
{
    int64_t now = process_clock(p);
    axo_node node;
    switch (it->kind) {
    case FLY_BEAT:
        process_heard(p, it);
        break;
    case FLY_LOST:
        node = process_node(p->w, it->from_life);
        p->w->views[p->life][it->from_life].lost = true;
        cluster_member_lost(&p->member, now, &node);
        break;
    case FLY_ANSWER:
        process_answer(p, it);
        break;
    case FLY_ENTRY:
        if (it->number == p->watch)
            cluster_member_entry(&p->member, now, &it->entry);
        break;
    case FLY_GONE:
        if (it->number == p->watch)
            cluster_member_gone(&p->member, now, it->entry.node.name, it->entry.revision, it->how);
        break;
    case FLY_LISTED:
        if (it->number == p->watch)
            process_store(p, CLUSTER_STORE_IS_THERE);
        break;
    case FLY_PUT:
    case FLY_REMOVE:
        abort();
    }
}

/* ---- its connection */

static void process_give_up_put(process *p)
{
    if (p->put == 0)
        return;
    p->put = 0;
    p->w->met[PROBE_put_unknown]++;
    cluster_member_answer(&p->member, process_clock(p), CLUSTER_UNKNOWN, NULL);
}

static void process_notice(process *p)
{
    SAY(p->w, "life %u: the store is away", p->life);
    p->w->met[PROBE_store_away]++;
    p->watch++; /* nothing of the one before comes */
    p->watch_broken = false;
    p->notice_at = INT64_MAX;
    p->connect_at = p->w->now + CONNECT_NS;
    process_give_up_put(p);
    process_store(p, CLUSTER_STORE_AWAY);
}

static void process_connect(process *p)
{
    world *w = p->w;
    p->connect_at = w->now + CONNECT_NS;
    if (w->store_down || w->cut[p->place][PLACES])
        return;
    p->watch++;
    process_store(p, CLUSTER_STORE_LISTS);
    store_list(w, p);
}

static void process_connection(process *p)
{
    if (p->put != 0 && p->w->now >= p->put_until)
        process_give_up_put(p);
    if (p->store == CLUSTER_STORE_AWAY) {
        if (p->w->now >= p->connect_at)
            process_connect(p);
        return;
    }
    if (p->w->now < p->notice_at)
        return;
    if (p->watch_broken || p->w->cut[p->place][PLACES])
        process_notice(p);
    else
        p->notice_at = INT64_MAX;
}

void process_run(process *p)
{
    process_connection(p);
    if (process_clock(p) >= cluster_member_due(&p->member))
        cluster_member_step(&p->member, process_clock(p));
    HOLDS(p->w, 8, p->told_over == (p->member.phase == CLUSTER_OVER), "life %u is over, untold",
          p->life);
}
