/* messages.cpp - W1 to W4 and W10 on CAF: actors that exist already and only talk. */
#include "peer.h"

using namespace caf;

/* Waits for `count` numbers and adds them up. */
static uint64_t collect(scoped_actor &self, uint64_t count)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; i++)
        self->receive([&](done_atom, uint64_t number) { sum += number; });
    return sum;
}

static void end_all(const std::vector<actor> &all)
{
    for (const actor &one : all)
        anon_send_exit(one, exit_reason::kill);
}

/* ---- W1, W2, W2k --------------------------------------------------------------------------- */

static behavior pong(event_based_actor *self)
{
    return {[=](const actor &ping) {
        self->become([=](uint64_t ball) { self->send(ping, ball); });
    }};
}

struct ping_state {
    uint64_t left;
    uint64_t got = 0;
};

static behavior ping(stateful_actor<ping_state> *self, const actor &other, const actor &judge,
                     uint64_t rounds)
{
    self->state.left = rounds;
    return {[=](go_atom) { self->send(other, self->state.left); },
            [=](uint64_t ball) {
                ping_state &me = self->state;
                me.got += ball == me.left;
                if (--me.left == 0)
                    self->send(judge, done_atom::value, me.got);
                else
                    self->send(other, me.left);
            }};
}

outcome pingpong(uint64_t pairs, uint64_t messages)
{
    config options;
    actor_system system{options};
    scoped_actor self{system};
    std::vector<actor> all;
    uint64_t rounds = messages / pairs / 2;
    for (uint64_t i = 0; i < pairs; i++) {
        all.push_back(system.spawn(pong));
        all.push_back(system.spawn(ping, all.back(), actor_cast<actor>(self), rounds));
        anon_send(all[2 * i], all[2 * i + 1]);
    }
    int64_t begin = now_ns();
    for (uint64_t i = 0; i < pairs; i++)
        anon_send(all[2 * i + 1], go_atom::value);
    uint64_t balls = collect(self, pairs);
    outcome found = rate(2 * balls, begin);
    check(balls, rounds * pairs);
    end_all(all);
    return found;
}

/* ---- W3 ------------------------------------------------------------------------------------ */

static behavior node(stateful_actor<uint64_t> *self, const actor &judge)
{
    self->state = 0;
    return {[=](const actor &next) {
        self->become([=](uint64_t left) {
                         self->state++;
                         if (left == 1)
                             self->send(judge, done_atom::value, left);
                         else
                             self->send(next, left - 1);
                     },
                     [=](go_atom) { self->send(judge, done_atom::value, self->state); });
    }};
}

outcome ring(uint64_t actors, uint64_t tokens, uint64_t hops)
{
    config options;
    actor_system system{options};
    scoped_actor self{system};
    std::vector<actor> all;
    uint64_t each = hops / tokens;
    for (uint64_t i = 0; i < actors; i++)
        all.push_back(system.spawn(node, actor_cast<actor>(self)));
    for (uint64_t i = 0; i < actors; i++)
        anon_send(all[i], all[(i + 1) % actors]);
    int64_t begin = now_ns();
    for (uint64_t i = 0; i < tokens; i++)
        anon_send(all[i * actors / tokens], each);
    check(collect(self, tokens), tokens);
    outcome found = rate(each * tokens, begin);
    for (const actor &one : all)
        anon_send(one, go_atom::value);
    check(collect(self, actors), each * tokens);
    end_all(all);
    return found;
}

/* ---- W4 ------------------------------------------------------------------------------------ */

struct consumer_state {
    uint64_t left;
    uint64_t sum = 0;
};

static behavior consumer(stateful_actor<consumer_state> *self, const actor &judge, uint64_t total)
{
    self->state.left = total;
    return {[=](uint64_t item) {
        self->state.sum += item;
        if (--self->state.left == 0)
            self->send(judge, done_atom::value, self->state.sum);
    }};
}

static behavior producer(event_based_actor *self, const actor &to, uint64_t item, uint64_t count)
{
    return {[=](go_atom) {
        for (uint64_t i = 0; i < count; i++)
            self->send(to, item);
    }};
}

outcome fanin(uint64_t producers, uint64_t messages)
{
    config options;
    actor_system system{options};
    scoped_actor self{system};
    std::vector<actor> all;
    all.push_back(system.spawn(consumer, actor_cast<actor>(self), producers * messages));
    for (uint64_t i = 1; i <= producers; i++)
        all.push_back(system.spawn(producer, all[0], i, messages));
    int64_t begin = now_ns();
    for (uint64_t i = 1; i <= producers; i++)
        anon_send(all[i], go_atom::value);
    uint64_t sum = collect(self, 1);
    outcome found = rate(producers * messages, begin);
    check(sum, messages * producers * (producers + 1) / 2);
    end_all(all);
    return found;
}

/* ---- W10 ----------------------------------------------------------------------------------- */

struct big_state {
    uint64_t left;
    uint64_t served = 0;
    uint32_t seed;
};

static behavior big_actor(stateful_actor<big_state> *self, const std::vector<actor> *all,
                          const actor &judge, uint64_t index, uint64_t pings)
{
    self->state.left = pings;
    self->state.seed = static_cast<uint32_t>(index + 1) * 7919;
    return {[=](ping_atom, uint64_t from) {
                self->state.served++;
                self->send((*all)[from], pong_atom::value);
            },
            [=](pong_atom) {
                big_state &me = self->state;
                if (me.left-- == 0)
                    return self->send(judge, done_atom::value, uint64_t{0});
                me.seed = me.seed * 1103515245 + 12345;
                uint64_t other = (index + 1 + (me.seed >> 8) % (all->size() - 1)) % all->size();
                self->send((*all)[other], ping_atom::value, index);
            },
            [=](go_atom) { self->send(judge, done_atom::value, self->state.served); }};
}

outcome big(uint64_t actors, uint64_t pings)
{
    config options;
    std::vector<actor> all; /* outlives the system: actors read it */
    actor_system system{options};
    scoped_actor self{system};
    all.reserve(actors);
    for (uint64_t i = 0; i < actors; i++)
        all.push_back(system.spawn(big_actor, &all, actor_cast<actor>(self), i, pings));
    int64_t begin = now_ns();
    for (const actor &one : all)
        anon_send(one, pong_atom::value);
    (void)collect(self, actors);
    outcome found = rate(2 * actors * pings, begin);
    for (const actor &one : all)
        anon_send(one, go_atom::value);
    check(collect(self, actors), actors * pings);
    end_all(all);
    all.clear();
    return found;
}
