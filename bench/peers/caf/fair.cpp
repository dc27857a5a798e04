/* fair.cpp - W11 on CAF: pings beside actors that compute; W12: messages from a foreign thread. */
#include <algorithm>
#include <thread>

#include "peer.h"

using namespace caf;

static std::atomic<uint64_t> burned; /* keeps the loop */

void burn(uint64_t loops)
{
    uint64_t x = loops;
    for (uint64_t i = 0; i < loops; i++)
        x = x * 6364136223846793005u + 1;
    if (x == 1)
        burned.fetch_add(x);
}

uint64_t burn_loops(int64_t ns)
{
    const uint64_t trial = 200000;
    int64_t best = INT64_MAX;
    for (int i = 0; i < 30; i++) {
        int64_t begin = now_ns();
        burn(trial);
        best = std::min(best, now_ns() - begin);
    }
    return static_cast<uint64_t>(ns) * trial / static_cast<uint64_t>(best) + 1;
}

void pause_ns(int64_t ns)
{
    timespec pause = {0, ns};
    (void)nanosleep(&pause, nullptr); /* a shorter pause is as good */
}

/* ---- W11 ----------------------------------------------------------------------------------- */

struct fair_shared {
    std::atomic<bool> quit{false};
    std::atomic<uint64_t> burns{0};
    uint64_t loops;
    int64_t end;
    std::vector<int64_t> samples; /* the pinger's */
};

static behavior burner(event_based_actor *self, fair_shared *shared)
{
    return {[=](go_atom) {
        burn(shared->loops);
        shared->burns.fetch_add(1, std::memory_order_relaxed);
        if (shared->quit.load(std::memory_order_relaxed))
            self->quit();
        else
            self->send(self, go_atom::value);
    }};
}

static behavior light(event_based_actor *self)
{
    return {[=](const actor &from, int64_t sent) { self->send(from, sent); }};
}

struct pinger_state {
    uint64_t pings = 0;
};

/* Pings at a rate, whether the pings before have been answered or not. */
static behavior pinger(stateful_actor<pinger_state> *self, fair_shared *shared,
                       const std::vector<actor> &lights, const actor &judge)
{
    auto end = [=] {
        if (now_ns() < shared->end || shared->samples.size() < self->state.pings)
            return;
        self->send(judge, done_atom::value);
        self->quit();
    };
    return {[=](go_atom) {
                if (now_ns() >= shared->end)
                    return end();
                self->delayed_send(self, std::chrono::microseconds(500), go_atom::value);
                const actor &one = lights[self->state.pings++ % lights.size()];
                self->send(one, actor_cast<actor>(self), now_ns());
            },
            [=](int64_t sent) {
                shared->samples.push_back(now_ns() - sent);
                end();
            }};
}

outcome fairness(uint64_t burners, uint64_t lights, int64_t ns)
{
    config options{1};
    fair_shared shared;
    outcome found;
    shared.loops = burn_loops(50000);
    {
        actor_system system{options};
        scoped_actor self{system};
        std::vector<actor> all;
        for (uint64_t i = 0; i < lights; i++)
            all.push_back(system.spawn(light));
        for (uint64_t i = 0; i < burners; i++)
            anon_send(system.spawn(burner, &shared), go_atom::value);
        actor source = system.spawn(pinger, &shared, all, actor_cast<actor>(self));
        pause_ns(100000000);
        int64_t begin = now_ns();
        uint64_t before = shared.burns.load();
        shared.end = begin + ns;
        anon_send(source, go_atom::value);
        self->receive([](done_atom) {});
        found = rate(shared.burns.load() - before, begin);
        shared.quit.store(true);
    }
    found.samples = percentiles(std::move(shared.samples)).samples;
    return found;
}

/* ---- W12 ----------------------------------------------------------------------------------- */

struct inbox {
    uint64_t sum = 0;
    std::vector<int64_t> samples;
    std::atomic<uint64_t> handled{0};
    std::atomic<bool> over{false};
};

static behavior sink(event_based_actor *self, inbox *shared)
{
    return {[=](uint64_t number) {
                shared->sum += number;
                shared->handled.fetch_add(1, std::memory_order_release);
            },
            [=](int64_t sent) {
                shared->samples.push_back(now_ns() - sent);
                shared->handled.fetch_add(1, std::memory_order_release);
            },
            [=](done_atom) { self->quit(); }};
}

/* Keeps a worker from parking. */
static behavior spinner(event_based_actor *self, inbox *shared)
{
    return {[=](go_atom) {
        if (shared->over.load(std::memory_order_relaxed))
            self->quit();
        else
            self->send(self, go_atom::value);
    }};
}

static void await(const inbox &shared, uint64_t sent)
{
    while (shared.handled.load(std::memory_order_acquire) < sent)
        std::this_thread::yield(); /* ends: all that was sent is handled */
}

static void spin(actor_system &system, inbox *shared)
{
    for (unsigned i = 0; i < peer_workers; i++)
        anon_send(system.spawn(spinner, shared), go_atom::value);
}

outcome send_cost(uint64_t count)
{
    const uint64_t burst = 1000;
    config options{1};
    inbox shared;
    int64_t took = 0;
    {
        actor_system system{options};
        actor to = system.spawn(sink, &shared);
        spin(system, &shared);
        for (uint64_t sent = 0; sent < count; await(shared, sent)) {
            int64_t begin = now_ns();
            for (uint64_t i = 0; i < burst && sent < count; i++)
                anon_send(to, sent++);
            took += now_ns() - begin;
        }
        shared.over.store(true);
        anon_send(to, done_atom::value);
    }
    check(shared.sum, count * (count - 1) / 2);
    return {static_cast<double>(took) / static_cast<double>(count), {}};
}

static outcome send_timed(uint64_t count, int64_t sleep, int64_t gap)
{
    config options{sleep > 0 ? uint64_t{0} : 1};
    inbox shared;
    {
        actor_system system{options};
        actor to = system.spawn(sink, &shared);
        if (sleep == 0)
            spin(system, &shared);
        for (uint64_t i = 0; i < count; i++) {
            int64_t due = now_ns() + gap;
            if (sleep > 0)
                pause_ns(sleep);
            while (now_ns() < due)
                continue; /* ends: the clock runs */
            anon_send(to, now_ns());
            await(shared, i + 1);
        }
        shared.over.store(true);
        anon_send(to, done_atom::value);
    }
    check(shared.samples.size(), count);
    return percentiles(std::move(shared.samples));
}

outcome send_running(uint64_t count) { return send_timed(count, 0, 5000); }

outcome send_parked(uint64_t count) { return send_timed(count, 1000000, 0); }
