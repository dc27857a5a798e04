/* restart.cpp - W8 and W9 on CAF: an actor ends with an error, and the next message.
 *
 * CAF has no restart. A keeper monitors the victim; its down-handler spawns a new one and sends it
 * the next message and, back to back, the next order to fail. */
#include <thread>

#include "peer.h"

using namespace caf;

struct probe {
    uint64_t count;
    bool hot;
    std::atomic<int64_t> failed{0};
    std::vector<int64_t> samples; /* of the one victim that lives */
    std::atomic<uint64_t> handled{0};
};

static behavior victim(event_based_actor *self, probe *shared, const actor &judge)
{
    return {[=](fail_atom) {
                shared->failed.store(now_ns());
                self->quit(sec::runtime_error);
            },
            [=](next_atom) {
                int64_t now = now_ns();
                shared->samples.push_back(now - shared->failed.load());
                if (shared->handled.fetch_add(1) + 1 == shared->count)
                    self->send(judge, done_atom::value);
            }};
}

struct keeper_state {
    actor victim;
    uint64_t left;
};

static behavior keeper(stateful_actor<keeper_state> *self, probe *shared, const actor &judge)
{
    self->state.left = shared->hot ? shared->count : 1;
    self->state.victim = self->spawn<monitored>(victim, shared, judge);
    self->set_down_handler([=](down_msg &) {
        keeper_state &me = self->state;
        me.victim = self->spawn<monitored>(victim, shared, judge);
        self->send(me.victim, next_atom::value);
        if (shared->hot && --me.left > 0)
            self->send(me.victim, fail_atom::value);
    });
    return {[=](go_atom) { self->send(self->state.victim, fail_atom::value); },
            [=](done_atom) {
                self->set_down_handler([=](down_msg &) { self->quit(); });
                self->send_exit(self->state.victim, exit_reason::user_shutdown);
            }};
}

outcome hot(uint64_t count)
{
    config options;
    outcome found;
    probe shared;
    shared.count = count;
    shared.hot = true;
    shared.samples.reserve(count);
    {
        actor_system system{options};
        scoped_actor self{system};
        actor boss = system.spawn(keeper, &shared, actor_cast<actor>(self));
        int64_t begin = now_ns();
        anon_send(boss, go_atom::value);
        self->receive([](done_atom) {});
        found = rate(count, begin);
        anon_send(boss, done_atom::value);
    }
    check(shared.samples.size(), count);
    found.samples = percentiles(std::move(shared.samples)).samples;
    return found;
}

/* Tells the victim once a millisecond to fail, and only when its last restart is over; until the
 * end, and a few times at least. */
static void pace(probe &shared, const actor &boss, uint64_t count, int64_t end)
{
    for (uint64_t told = 0; told < count && (now_ns() < end || told < 5);) {
        pause_ns(1000000);
        if (shared.handled.load() != told)
            continue;
        anon_send(boss, go_atom::value);
        told++;
    }
}

outcome paced(uint64_t count)
{
    config options;
    probe shared;
    shared.count = count;
    shared.hot = false;
    shared.samples.reserve(count);
    {
        actor_system system{options};
        scoped_actor self{system};
        actor boss = system.spawn(keeper, &shared, actor_cast<actor>(self));
        pace(shared, boss, count, INT64_MAX);
        self->receive([](done_atom) {});
        anon_send(boss, done_atom::value);
    }
    check(shared.samples.size(), count);
    return percentiles(std::move(shared.samples));
}

static behavior burner(event_based_actor *self, std::atomic<bool> *quit, uint64_t loops)
{
    return {[=](go_atom) {
        burn(loops);
        if (quit->load(std::memory_order_relaxed))
            self->quit();
        else
            self->send(self, go_atom::value);
    }};
}

outcome loaded(uint64_t count, uint64_t burners, int64_t ns)
{
    config options{1};
    probe shared;
    std::atomic<bool> quit{false};
    uint64_t loops = burn_loops(1000);
    shared.count = count;
    shared.hot = false;
    shared.samples.reserve(count + 1);
    {
        actor_system system{options};
        scoped_actor self{system};
        for (uint64_t i = 0; i < burners; i++)
            anon_send(system.spawn(burner, &quit, loops), go_atom::value);
        actor boss = system.spawn(keeper, &shared, actor_cast<actor>(self));
        pace(shared, boss, count, now_ns() + ns);
        quit.store(true);
        anon_send(boss, done_atom::value);
    }
    return percentiles(std::move(shared.samples));
}

/* ---- W9 ------------------------------------------------------------------------------------ */

struct family {
    uint64_t size;
    bool survive;
    std::atomic<int64_t> failed{0};
    std::atomic<uint64_t> ready{0};
    std::vector<actor> children; /* that survive their parent */
};

static void family_ready(event_based_actor *self, family *shared, const actor &judge)
{
    if ((shared->ready.fetch_add(1) + 1) % shared->size == 0)
        self->send(judge, done_atom::value, now_ns() - shared->failed.load());
}

static behavior child(stateful_actor<uint64_t> *self, family *shared, const actor &judge)
{
    self->state = 0;
    family_ready(self, shared, judge);
    return {[=](next_atom) {
        self->state = 0; /* begins anew */
        family_ready(self, shared, judge);
    }};
}

/* Holds its children: an actor that nobody refers to ends. */
struct parent_state {
    std::vector<actor> children;
};

static behavior parent(stateful_actor<parent_state> *self, family *shared, const actor &judge)
{
    if (shared->survive && !shared->children.empty()) {
        for (const actor &one : shared->children)
            self->send(one, next_atom::value);
    } else {
        std::vector<actor> &all = shared->survive ? shared->children : self->state.children;
        all.reserve(shared->size);
        for (uint64_t i = 0; i < shared->size; i++)
            all.push_back(shared->survive ? self->spawn(child, shared, judge)
                                          : self->spawn<linked>(child, shared, judge));
    }
    return {[=](fail_atom) {
        shared->failed.store(now_ns());
        self->quit(sec::runtime_error);
    }};
}

struct elder_state {
    actor parent;
};

static behavior elder(stateful_actor<elder_state> *self, family *shared, const actor &judge)
{
    self->state.parent = self->spawn<monitored>(parent, shared, judge);
    self->set_down_handler([=](down_msg &) {
        self->state.parent = self->spawn<monitored>(parent, shared, judge);
    });
    return {[=](fail_atom) { self->send(self->state.parent, fail_atom::value); },
            [=](done_atom) {
                self->set_down_handler([=](down_msg &) { self->quit(); });
                self->send(self->state.parent, fail_atom::value);
            }};
}

static outcome generations(uint64_t children, uint64_t rounds, bool survive)
{
    config options;
    family shared;
    shared.size = children;
    shared.survive = survive;
    std::vector<int64_t> samples;
    {
        actor_system system{options};
        scoped_actor self{system};
        actor top = system.spawn(elder, &shared, actor_cast<actor>(self));
        self->receive([](done_atom, int64_t) {});
        for (uint64_t i = 0; i < rounds; i++) {
            anon_send(top, fail_atom::value);
            self->receive([&](done_atom, int64_t ns) { samples.push_back(ns); });
        }
        anon_send(top, done_atom::value);
        for (const actor &one : shared.children)
            anon_send_exit(one, exit_reason::kill);
        shared.children.clear();
    }
    check(shared.ready, children * (rounds + 1));
    return percentiles(std::move(samples));
}

outcome parent_keeps(uint64_t children, uint64_t rounds)
{
    return generations(children, rounds, true);
}

outcome parent_remakes(uint64_t children, uint64_t rounds)
{
    return generations(children, rounds, false);
}
