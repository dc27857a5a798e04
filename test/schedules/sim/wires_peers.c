/* wires_peers.c - what is around the actors with streams: their peers, calls from outside, the
 * listener. */
#include "wires.h"

#include <string.h>

#include "acts.h"
#include "mail.h"

#define WIRES_TAKE 700

static const axo_listener *wires_listening(void)
{
    static axo_listener settings;
    settings = (axo_listener)AXO_LISTENER(.address = "127.0.0.1:7000",
                                          .connection = wires_props(world_below(4) != 0),
                                          .connections_max = world_below(4),
                                          .beyond = (axo_listener_beyond)world_below(2));
    wi.max = settings.connections_max;
    wi.refuses = settings.beyond == AXO_BEYOND_REFUSE;
    return &settings;
}

static void wires_listen(axo_system *system)
{
    axo_props props;
    const ghost *before = ghost_find(wi.listener.bits);
    if (before != NULL && !before->terminated)
        return;
    if (axo_listener_props(wires_listening(), NULL, &props) != AXO_OK)
        ghost_fail("axo_listener_props failed");
    if (axo_system_spawn(system, &props, &wi.listener) != AXO_OK)
        wi.listener = axo_ref_none();
}

void wires_begin(void)
{
    memset(&wi, 0, offsetof(wires, all));
    sockets_begin(world_below(2) == 0);
    w.knobs[KNOB_DRY] *= 6; /* there are few calls */
    w.knobs[KNOB_WIRE] = w.knobs[KNOB_PEER] = w.knobs[KNOB_OUTSIDE] = 1024;
}

static void wires_spawn(axo_system *system)
{
    axo_ref ref;
    if (wi.spawned == 6)
        return;
    wi.spawned++;
    if (axo_system_spawn(system, wires_props(world_below(4) != 0), &ref) == AXO_OK)
        (void)axo_system_send(system, ref, TAG_WIRE_GO, NULL, 0);
}

void wires_start(axo_system *system)
{
    world_begin(world_mix(UINT64_C(0x77666972), g.seed + w.life));
    wires_listen(system);
    for (uint32_t i = 1 + world_below(3); i > 0; i--)
        wires_spawn(system);
}

/* ---- peers ---- */

static uint32_t wires_put(wire *it, uint32_t size)
{
    char bytes[WIRES_TAKE];
    uint64_t left = it->budget - it->put;
    if (size > left)
        size = (uint32_t)left;
    wires_fill(bytes, it->key, it->put, size);
    uint32_t went = size > 0 ? peer_put(it->socket, bytes, size) : 0;
    it->put += went;
    return went;
}

static uint32_t wires_get(wire *it, uint32_t size)
{
    char bytes[WIRES_TAKE];
    uint32_t came = peer_take(it->socket, bytes, size);
    HOLDS_ALL(63, it->got + came <= it->wrote, "more than was written comes out");
    wires_check_bytes(it, it->key + 1, it->got, bytes, came);
    it->got += came;
    if (peer_sees_end(it->socket) && it->socket->finished)
        HOLDS_ALL(67, it->ending && it->got == it->wrote,
                  "an end that nobody has asked for, or before all was written");
    return came;
}

static void wires_move(wire *it)
{
    uint32_t size = 1 + world_below(world_below(3) == 0 ? WIRES_TAKE : 30);
    switch (world_below(12)) {
    case 0:
        if (!it->mute && world_below(3) == 0)
            peer_end(it->socket);
        return;
    case 1:
        if (net.resets && world_below(3) == 0)
            peer_reset(it->socket);
        return;
    case 2:
        if (net.resets && world_below(3) == 0)
            peer_close(it->socket);
        return;
    case 3:
    case 4:
    case 5:
    case 6:
        if (!it->deaf)
            (void)wires_get(it, size);
        return;
    default:
        (void)wires_put(it, size);
        return;
    }
}

bool wires_peers(void)
{
    bool moved = false;
    for (uint32_t i = 0; i < net.count; i++) {
        wire *it = &wi.all[i];
        while (!it->deaf && wires_get(it, WIRES_TAKE) > 0)
            moved = true;
        while (wires_put(it, WIRES_TAKE) > 0)
            moved = true;
        bool ends = !it->mute && (it->put == it->budget || it->socket->broken);
        if (ends && !it->socket->in.ended && !it->socket->reset && !it->socket->closed) {
            peer_end(it->socket);
            moved = true;
        }
    }
    return moved;
}

bool wires_may_stop(uint64_t parent)
{
    return net.on && parent == wi.listener.bits;
}

void wires_calm(void)
{
    w.scarce = false;
    net.faults = false;
}

/* ---- from outside ---- */

static void wires_one_ends(axo_system *system, axo_ref whom)
{
    if (!world_is(KNOB_WIRE_END))
        return;
    switch (world_below(8)) {
    case 0:
        (void)axo_system_send(system, wi.listener, AXO_LISTENER_CLOSE, NULL, 0);
        return;
    case 1:
        (void)axo_system_stop_actor(system, wi.listener);
        return;
    case 2:
        (void)axo_system_kill(system, whom);
        return;
    case 3:
        (void)axo_system_poison(system, whom);
        return;
    default:
        (void)axo_system_stop_actor(system, whom);
        return;
    }
}

void wires_outside(axo_system *system)
{
    world_begin(world_mix(UINT64_C(0x776f7574), world_mix(g.seed + w.life, ++w.outside)));
    queues_callback();
    if (!world_is(KNOB_OUTSIDE))
        return;
    axo_ref whom = wi.count > 0 ? wi.actors[world_below(wi.count)] : axo_ref_none();
    switch (world_below(16)) {
    case 0:
        wires_spawn(system);
        return;
    case 1:
        wires_listen(system);
        return;
    case 2:
        (void)wires_make(peer_connect);
        return;
    case 3:
        wires_one_ends(system, whom);
        return;
    case 4:
    case 5:
    case 6:
    case 7:
        (void)axo_system_send(system, whom, TAG_WIRE_GO, NULL, 0);
        return;
    default:
        if (net.count > 0 && world_is(KNOB_PEER))
            wires_move(&wi.all[world_below(net.count)]);
        return;
    }
}

void wires_close(axo_system *system)
{
    for (uint32_t i = 0; i < wi.count; i++)
        (void)axo_system_send(system, wi.actors[i], TAG_WIRE_CLOSE, NULL, 0);
    (void)axo_system_send(system, wi.listener, AXO_LISTENER_CLOSE, NULL, 0);
}
