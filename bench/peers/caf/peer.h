/* peer.h - what the workloads on CAF share: results, the clock, checks, a system for one run. */
#ifndef PEERS_CAF_PEER_H
#define PEERS_CAF_PEER_H

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

#include <caf/all.hpp>

struct outcome {
    double figure = 0;
    std::vector<int64_t> samples; /* latencies in ns */
};

using go_atom = caf::atom_constant<caf::atom("go")>;
using next_atom = caf::atom_constant<caf::atom("next")>;
using fail_atom = caf::atom_constant<caf::atom("fail")>;
using done_atom = caf::atom_constant<caf::atom("done")>;
using ping_atom = caf::atom_constant<caf::atom("ping")>;
using pong_atom = caf::atom_constant<caf::atom("pong")>;

inline int64_t now_ns()
{
    timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail with this clock */
    return static_cast<int64_t>(now.tv_sec) * 1000000000 + now.tv_nsec;
}

inline void check(uint64_t got, uint64_t want)
{
    if (got == want)
        return;
    (void)fprintf(stderr, "peer caf: got %llu, not %llu\n", static_cast<unsigned long long>(got),
                  static_cast<unsigned long long>(want));
    exit(1);
}

inline outcome rate(uint64_t count, int64_t begin)
{
    return {static_cast<double>(count) * 1e9 / static_cast<double>(now_ns() - begin), {}};
}

/* The default configuration but for the number of workers and, where a workload says so, messages
 * a turn: without that bound an actor that sends to itself keeps its worker for ever. */
struct config : caf::actor_system_config {
    explicit config(uint64_t throughput = 0);
};

extern unsigned peer_workers;

outcome percentiles(std::vector<int64_t> &&samples);
int64_t status_bytes(const char *key);
void burn(uint64_t loops);
uint64_t burn_loops(int64_t ns);
void pause_ns(int64_t ns);

outcome pingpong(uint64_t pairs, uint64_t messages);
outcome ring(uint64_t actors, uint64_t tokens, uint64_t hops);
outcome fanin(uint64_t producers, uint64_t messages);
outcome big(uint64_t actors, uint64_t pings);
outcome skynet(uint64_t leaves);
outcome churn(uint64_t actors);
outcome idle(uint64_t actors);
outcome hot(uint64_t count);
outcome paced(uint64_t count);
outcome loaded(uint64_t count, uint64_t burners, int64_t ns);
outcome parent_keeps(uint64_t children, uint64_t rounds);
outcome parent_remakes(uint64_t children, uint64_t rounds);
outcome fairness(uint64_t burners, uint64_t lights, int64_t ns);
outcome send_cost(uint64_t count);
outcome send_running(uint64_t count);
outcome send_parked(uint64_t count);

#endif
