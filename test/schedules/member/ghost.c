/* ghost.c - what is known of each incarnation, and whether what a member tells is true. */
#include "members.h"

static const char *const why_names[] = {"", "left", "suspected", "expired", "replaced", "evicted",
                                        "lost", "minority", "outnumbered"};
/* Clocks differ by 1 %, and a step of the world is a second at most. */
#define LEASE_LEAST (LEASE_NS / 100 * 97)

void ghost_born(world *w, process *p)
{
    w->of[p->life] = (ghost){.name = name_of(p->place), .place = p->place};
}

void ghost_heard(process *p, uint32_t life, uint64_t number)
{
    world *w = p->w;
    view *v = &w->views[p->life][life];
    w->met[PROBE_beat_of_old] += v->down;
    if (number <= v->number) {
        w->met[PROBE_beat_overtaken]++;
        return;
    }
    v->number = number;
    v->heard_at = w->now;
    v->heard_halted = p->halted;
    v->heard_stops = p->stops;
}

void ghost_up(process *p, const axo_node *node)
{
    world *w = p->w;
    uint32_t life = (uint32_t)node->incarnation;
    view *v = &w->views[p->life][life];
    SAY(w, "life %u: up %u", p->life, life);
    w->changed = w->now;
    w->met[PROBE_up]++;
    HOLDS(w, 8, !p->told_over, "life %u is over and tells", p->life);
    HOLDS(w, 1, !v->up, "life %u: %u is up twice", p->life, life);
    HOLDS(w, 2, !v->down, "life %u: %u is up again", p->life, life);
    HOLDS(w, 3, name_number(node) != name_of(p->place), "life %u: its own name is up", p->life);
    HOLDS(w, 4, p->store == CLUSTER_STORE_IS_THERE, "life %u: %u is up without a store", p->life,
          life);
    HOLDS(w, 4, w->of[p->life].was_up, "life %u: %u is up before itself", p->life, life);
    HOLDS(w, 10, w->of[life].was_up, "life %u: %u never put that it is up", p->life, life);
    HOLDS(w, 10, v->number > 0, "life %u: %u was not heard", p->life, life);
    for (uint32_t i = 1; i < w->lives; i++) {
        const view *other = &w->views[p->life][i];
        if (i == life || w->of[i].name != w->of[life].name)
            continue;
        HOLDS(w, 3, !other->up || other->down, "life %u: %u is up beside %u", p->life, life, i);
        w->met[PROBE_up_again] += other->down;
    }
    v->up = true;
}

/* The silence that the process could have heard; of a short stop it knows nothing. */
static bool ghost_was_silent(const process *p, const view *v)
{
    int64_t silence = p->w->now - v->heard_at - (p->halted - v->heard_halted);
    int64_t unknown = (int64_t)(p->stops - v->heard_stops) * 2 * BEAT_NS;
    return silence + unknown >= PAUSE_NS / 100 * 97;
}

static bool ghost_lapsed(const world *w, uint32_t life)
{
    return w->of[life].lapsed || w->now - w->of[life].written >= LEASE_LEAST;
}

/* One that was away when its name was taken, and that entry removed, sees the second alone. */
void ghost_down(process *p, const axo_node *node, cluster_why why)
{
    static const probe met[] = {
        [CLUSTER_LEFT] = PROBE_left, [CLUSTER_SUSPECTED] = PROBE_suspected,
        [CLUSTER_EXPIRED] = PROBE_expired, [CLUSTER_REPLACED] = PROBE_replaced,
        [CLUSTER_EVICTED] = PROBE_evicted, [CLUSTER_LOST] = PROBE_lost};
    world *w = p->w;
    uint32_t number = (uint32_t)node->incarnation;
    view *v = &w->views[p->life][number];
    const ghost *other = &w->of[number];
    bool right = (why == CLUSTER_LEFT && other->asked_to_leave) ||
                 (why == CLUSTER_SUSPECTED && ghost_was_silent(p, v)) ||
                 (why == CLUSTER_EXPIRED && ghost_lapsed(w, number)) ||
                 (why == CLUSTER_REPLACED && other->followed) ||
                 (why == CLUSTER_EVICTED && (other->removed || other->followed)) ||
                 (why == CLUSTER_LOST && v->lost);
    SAY(w, "life %u: down %u, %s", p->life, number, why_names[why]);
    w->changed = w->now;
    HOLDS(w, 8, !p->told_over, "life %u is over and tells", p->life);
    HOLDS(w, 1, v->up && !v->down, "life %u: %u is down and was not up", p->life, number);
    HOLDS(w, 10, right, "life %u: %u is down, %s", p->life, number, why_names[why]);
    if (right)
        w->met[met[why]]++;
    w->met[PROBE_dispute] += w->views[number][p->life].down;
    w->met[PROBE_kept_up_without_store] += why == CLUSTER_SUSPECTED && ghost_lapsed(w, number);
    v->down = true;
    v->down_at = w->now;
}

/* Whether one that it holds down has put its entry since. */
static bool ghost_outnumbered(const process *p)
{
    for (uint32_t i = 1; i < p->w->lives; i++) {
        const view *v = &p->w->views[p->life][i];
        if ((v->down || v->lost) && p->w->of[i].written > v->down_at)
            return true;
    }
    return false;
}

void ghost_over(process *p, cluster_why why)
{
    static const probe met[] = {
        [CLUSTER_LEFT] = PROBE_over_left, [CLUSTER_REPLACED] = PROBE_over_replaced,
        [CLUSTER_EVICTED] = PROBE_over_evicted, [CLUSTER_MINORITY] = PROBE_over_minority,
        [CLUSTER_OUTNUMBERED] = PROBE_over_outnumbered};
    world *w = p->w;
    const ghost *own = &w->of[p->life];
    bool right = (why == CLUSTER_LEFT && own->asked_to_leave) ||
                 (why == CLUSTER_REPLACED && own->followed) ||
                 (why == CLUSTER_EVICTED && (own->removed || own->followed)) ||
                 (why == CLUSTER_MINORITY && w->settings.on_minority == CLUSTER_STOP &&
                  w->settings.seeds_count > 0) ||
                 (why == CLUSTER_OUTNUMBERED && ghost_outnumbered(p));
    SAY(w, "life %u is over, %s", p->life, why_names[why]);
    w->changed = w->now;
    HOLDS(w, 8, !p->told_over, "life %u is over twice", p->life);
    HOLDS(w, 10, right, "life %u is over, %s", p->life, why_names[why]);
    if (right)
        w->met[met[why]]++;
}

void ghost_put(world *w, uint32_t number, const cluster_entry *entry, uint32_t before)
{
    ghost *own = &w->of[number];
    HOLDS(w, 11, entry->node.incarnation == number, "life %u puts the entry of %u", number,
          (uint32_t)entry->node.incarnation);
    if (before != 0 && before != number) {
        HOLDS(w, 11, w->now - w->of[before].written >= LEASE_LEAST,
              "life %u has the name of %u, which put its entry %.3f s before", number, before,
              (double)(w->now - w->of[before].written) / 1e9);
        w->met[PROBE_name_taken_over]++;
    }
    for (uint32_t i = 1; i < w->lives; i++) {
        if (i != number && w->of[i].name == own->name && w->of[i].written != 0)
            w->of[i].followed = true;
        w->views[i][number].evicted = false; /* which the store had forgotten */
    }
    own->lapsed |= own->written != 0 && w->now - own->written >= LEASE_LEAST;
    own->was_up |= entry->phase == CLUSTER_UP;
    own->written = w->now;
    own->revision = entry->revision;
}

/* I7 */
void ghost_removed(world *w, uint32_t by, const cluster_entry *entry)
{
    uint32_t number = (uint32_t)entry->node.incarnation;
    w->of[number].removed = true;
    if (by == number)
        return;
    w->views[by][number].evicted = true;
    if (w->forgot) /* revisions of two stores are not in one order */
        return;
    HOLDS(w, 7, w->of[by].revision > entry->revision, "life %u at %llu evicts %u at %llu", by,
          (unsigned long long)w->of[by].revision, number, (unsigned long long)entry->revision);
    HOLDS(w, 7, !w->views[number][by].evicted, "lives %u and %u evict each other", by, number);
}

/* ---- the calm */

static bool calm_is_up(const process *p)
{
    return p->alive && p->member.phase == CLUSTER_UP;
}

static void calm_sees(world *w, process *p)
{
    for (uint32_t i = 1; i < w->lives; i++) {
        const view *v = &w->views[p->life][i];
        const process *other = &w->processes[w->of[i].place];
        bool is = i != p->life && calm_is_up(other) && other->life == i;
        axo_node node = {.incarnation = i};
        (void)snprintf(node.name, sizeof node.name, "n%u", w->of[i].name);
        HOLDS(w, 12, (v->up && !v->down) == is, "life %u: %u is %s", p->life, i,
              is ? "not up" : "up");
        HOLDS(w, 1, cluster_member_is_up(&p->member, &node) == (v->up && !v->down),
              "life %u: %u is told otherwise", p->life, i);
    }
}

void ghost_calm(world *w)
{
    for (uint32_t name = 0; name < w->names; name++) {
        uint32_t lives = 0;
        uint32_t up = 0;
        for (uint32_t i = 0; i < PLACES; i++) {
            if (name_of(i) != name || !w->processes[i].alive)
                continue;
            lives++;
            up += calm_is_up(&w->processes[i]);
        }
        HOLDS(w, 12, up == (lives > 0), "n%u: %u of %u are up", name, up, lives);
    }
    for (uint32_t i = 0; i < PLACES; i++) {
        if (calm_is_up(&w->processes[i]))
            calm_sees(w, &w->processes[i]);
    }
    HOLDS(w, 12, w->changed - w->calm_at <= CALM_NS, "something changes %.3f s behind the calm",
          (double)(w->changed - w->calm_at) / 1e9);
}
