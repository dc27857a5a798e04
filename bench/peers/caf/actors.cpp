/* actors.cpp - W5 to W7 on CAF: actors come, go, and do nothing. */
#include <thread>

#include "peer.h"

using namespace caf;

/* ---- W5 ------------------------------------------------------------------------------------ */

struct skynet_state {
    uint64_t sum = 0;
    int left = 10;
};

static behavior skynet_node(stateful_actor<skynet_state> *self, const actor &parent,
                            uint64_t number, uint64_t size)
{
    if (size == 1) {
        self->send(parent, number);
        return {}; /* ends */
    }
    actor mine = actor_cast<actor>(self);
    for (uint64_t i = 0; i < 10; i++)
        self->spawn(skynet_node, mine, number + i * (size / 10), size / 10);
    return {[=](uint64_t part) {
        self->state.sum += part;
        if (--self->state.left > 0)
            return;
        self->send(parent, self->state.sum);
        self->quit();
    }};
}

outcome skynet(uint64_t leaves)
{
    config options;
    actor_system system{options};
    scoped_actor self{system};
    uint64_t size = 1;
    while (size * 10 <= leaves)
        size *= 10;
    int64_t begin = now_ns();
    self->spawn(skynet_node, actor_cast<actor>(self), uint64_t{0}, size);
    uint64_t sum = 0;
    self->receive([&](uint64_t all) { sum = all; });
    double took = static_cast<double>(now_ns() - begin);
    check(sum, size * (size - 1) / 2);
    return {took, {}};
}

/* ---- W6 ------------------------------------------------------------------------------------ */

/* A batch is spawned in one turn; each one that has ended asks for the next. */
static const uint64_t churn_batch = 256;
static const uint64_t churn_batches = 4; /* under way */

struct churn_shared {
    std::atomic<uint64_t> sum{0};
    std::atomic<uint64_t> ended{0};
    std::atomic<uint64_t> told{0}; /* that read nothing of this any more */
    uint64_t actors;
    uint64_t spawned = 0; /* the churner's */
    actor churner;
    actor judge;
};

static behavior mayfly(event_based_actor *self, churn_shared *shared)
{
    return {[=](uint64_t number) {
        shared->sum.fetch_add(number);
        uint64_t ended = shared->ended.fetch_add(1) + 1;
        if (ended == shared->actors)
            self->send(shared->judge, done_atom::value);
        else if (ended % churn_batch == 0)
            self->send(shared->churner, go_atom::value);
        self->quit();
        shared->told.fetch_add(1);
    }};
}

static behavior churner(event_based_actor *self, churn_shared *shared)
{
    return {[=](go_atom) {
        for (uint64_t i = 0; i < churn_batch && shared->spawned < shared->actors; i++)
            self->send(self->spawn<lazy_init>(mayfly, shared), ++shared->spawned);
    }};
}

outcome churn(uint64_t actors)
{
    config options;
    outcome found;
    churn_shared shared;
    shared.actors = actors;
    {
        actor_system system{options};
        scoped_actor self{system};
        shared.judge = actor_cast<actor>(self);
        shared.churner = system.spawn(churner, &shared);
        int64_t begin = now_ns();
        for (uint64_t i = 0; i < churn_batches; i++)
            anon_send(shared.churner, go_atom::value);
        self->receive([](done_atom) {});
        found = rate(actors, begin);
        anon_send_exit(shared.churner, exit_reason::kill);
        while (shared.told.load() != actors)
            std::this_thread::yield();
        shared.churner = nullptr;
        shared.judge = nullptr;
    }
    check(shared.sum, actors * (actors + 1) / 2);
    return found;
}

/* ---- W7 ------------------------------------------------------------------------------------ */

static behavior idler(stateful_actor<uint64_t> *self, std::atomic<uint64_t> *ready, uint64_t number)
{
    self->state = number;
    ready->fetch_add(1);
    return {[=](go_atom, const actor &judge) {
        self->send(judge, self->state);
        self->quit();
    }};
}

outcome idle(uint64_t actors)
{
    config options;
    std::atomic<uint64_t> ready{0};
    actor_system system{options};
    scoped_actor self{system};
    std::vector<actor> all;
    all.reserve(actors);
    int64_t before = status_bytes("VmRSS:");
    for (uint64_t i = 1; i <= actors; i++)
        all.push_back(system.spawn(idler, &ready, i));
    while (ready.load() != actors)
        std::this_thread::yield();
    int64_t bytes = status_bytes("VmRSS:") - before - static_cast<int64_t>(8 * actors);
    uint64_t sum = 0;
    for (const actor &one : all)
        anon_send(one, go_atom::value, actor_cast<actor>(self));
    for (uint64_t i = 0; i < actors; i++)
        self->receive([&](uint64_t number) { sum += number; });
    check(sum, actors * (actors + 1) / 2);
    return {static_cast<double>(bytes) / static_cast<double>(actors), {}};
}
