/* rendezvous.c - which node a key belongs to. */
#include "rendezvous.h"

#define FNV_BASIS UINT64_C(0xcbf29ce484222325)
#define FNV_PRIME UINT64_C(0x100000001b3)

static uint64_t rendezvous_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static uint64_t rendezvous_more(uint64_t hash, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ at[i]) * FNV_PRIME;
    return hash;
}

uint64_t cluster_rendezvous_hash(const void *bytes, size_t size)
{
    return rendezvous_mix(rendezvous_more(FNV_BASIS, bytes, size));
}

uint64_t cluster_rendezvous_key(uint32_t kind, const void *key, size_t size)
{
    unsigned char low_first[4] = {(unsigned char)kind, (unsigned char)(kind >> 8),
                                  (unsigned char)(kind >> 16), (unsigned char)(kind >> 24)};
    uint64_t hash = rendezvous_more(FNV_BASIS, low_first, sizeof low_first);
    return rendezvous_mix(rendezvous_more(hash, key, size));
}

static uint32_t rendezvous_index(const cluster_rendezvous *all, uint64_t node)
{
    uint32_t i = 0;
    while (i < all->count && all->places[i].node != node)
        i++;
    return i;
}

bool cluster_rendezvous_add(cluster_rendezvous *all, uint64_t node, uint64_t incarnation)
{
    uint32_t at = rendezvous_index(all, node);
    if (node == 0 || at == CLUSTER_RENDEZVOUS_MAX)
        return false;
    all->places[at] = (cluster_rendezvous_place){node, incarnation, rendezvous_mix(node)};
    all->count += at == all->count;
    return true;
}

void cluster_rendezvous_remove(cluster_rendezvous *all, uint64_t node)
{
    uint32_t at = rendezvous_index(all, node);
    if (at < all->count)
        all->places[at] = all->places[--all->count];
}

const cluster_rendezvous_place *cluster_rendezvous_find(const cluster_rendezvous *all,
                                                        uint64_t node)
{
    uint32_t at = rendezvous_index(all, node);
    return at < all->count ? &all->places[at] : NULL;
}

/* Of two that weigh the same the one with the higher number has it, in whatever order they came. */
uint64_t cluster_rendezvous_owner(const cluster_rendezvous *all, uint64_t key)
{
    uint64_t owner = 0;
    uint64_t most = 0;
    for (uint32_t i = 0; i < all->count; i++) {
        const cluster_rendezvous_place *it = &all->places[i];
        uint64_t weight = rendezvous_mix(key ^ it->mixed);
        if (owner == 0 || weight > most || (weight == most && it->node > owner)) {
            owner = it->node;
            most = weight;
        }
    }
    return owner;
}
