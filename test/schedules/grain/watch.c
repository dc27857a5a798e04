/* watch.c - what must hold of lives and messages: told by the world, not by the machine. */
#include "grains.h"

/* G1, G2. */
void watch_begin(node *n, uint32_t key, uint64_t fence)
{
    world *w = n->w;
    w->met[PROBE_life]++;
    HOLDS(w, 2, fence > w->top[key], "a life of key %u has number %llu behind %llu", key,
          (unsigned long long)fence, (unsigned long long)w->top[key]);
    w->top[key] = fence;
    for (uint32_t i = 0; i < w->nodes_count; i++) {
        const node *other = &w->nodes[i];
        const life *it = &other->lives[key];
        HOLDS(w, 1, !it->there || (i != n->index && (other->stopped_until != 0 || it->late)),
              "a life of key %u begins at node %u while one is at node %u", key, n->index, i);
    }
}

/* G3, G4. */
void watch_take(node *n, uint32_t key, const cluster_parcel *parcel, uint32_t number)
{
    world *w = n->w;
    const life *it = &n->lives[key];
    message *m = &w->messages[number];
    w->met[PROBE_handled]++;
    HOLDS(w, 3, it->fence == w->top[key], "node %u takes for key %u by number %llu behind %llu",
          n->index, key, (unsigned long long)it->fence, (unsigned long long)w->top[key]);
    HOLDS(w, 4, m->is == AT_NODE && m->node == n->index, "message %u is taken, and is not there",
          number);
    HOLDS(w, 4, m->key == key && parcel->size == sizeof number, "message %u is of another key",
          number);
    m->is = HANDLED;
}

/* G3, G8. */
void watch_finish(node *n, uint32_t key)
{
    world *w = n->w;
    const life *it = &n->lives[key];
    if (it->torn)
        return;
    HOLDS(w, 3, it->fence == w->top[key], "node %u finishes for key %u by number %llu behind %llu",
          n->index, key, (unsigned long long)it->fence, (unsigned long long)w->top[key]);
    HOLDS(w, 8, node_clock(n) <= it->lease_until, "node %u finishes for key %u behind its lease",
          n->index, key);
}

/* G5. */
void watch_dead(node *n, uint32_t number, axo_status why)
{
    world *w = n->w;
    message *m = &w->messages[number];
    if (w->ends)
        return;
    w->met[PROBE_dead_timeout] += why == AXO_ETIMEDOUT;
    w->met[PROBE_dead_gone] += why == AXO_EGONE;
    w->met[PROBE_dead_limit] += why == AXO_ELIMIT || why == AXO_EFULL || why == AXO_ENOMEM;
    HOLDS(w, 5, m->is == AT_NODE && m->node == n->index, "message %u is told as dead, and is not",
          number);
    m->is = DEAD;
}

/* What a node has goes with it. */
void watch_gone(node *n)
{
    world *w = n->w;
    for (uint32_t i = 1; i <= w->messages_count; i++) {
        if (w->messages[i].is == AT_NODE && w->messages[i].node == n->index)
            w->messages[i].is = LOST;
    }
    memset(n->lives, 0, sizeof n->lives);
}

/* G5, G7. */
void watch_end(world *w)
{
    for (uint32_t i = 1; i <= w->messages_count; i++)
        HOLDS(w, 5, w->messages[i].is > FLIES, "message %u is left over", i);
    for (uint32_t i = 0; i < KEYS; i++)
        HOLDS(w, 7, w->claims[i].revision == 0, "the claim of key %u is left over", i);
    for (uint32_t i = 0; i < w->nodes_count; i++) {
        const node *n = &w->nodes[i];
        HOLDS(w, 7, n->grains.count == 0 && n->grains.lives == 0 && n->grains.waiting == 0,
              "node %u has %u records left over", i, n->grains.count);
        for (uint32_t key = 0; key < KEYS; key++)
            HOLDS(w, 7, !n->lives[key].there, "node %u has a life of key %u left over", i, key);
    }
}
