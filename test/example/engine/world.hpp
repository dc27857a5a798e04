/* world.hpp - the world and its rules: what an entity thinks, and how it moves. Functions without
 * actors, which `--mode plain` calls one by one, and entities in their turns.
 *
 * All is in integers, so a run is the same on every machine. In a phase an entity writes what is
 * its own, and reads of others what nobody writes in that phase: so it does not matter who is
 * first, as long as a phase is over before the next one begins.
 *
 *   thinking    reads where others are, writes its own mind; bumps are counted, and used when all
 *               have thought
 *   moving      reads where others are, writes where it is next; flip makes that the present */
#ifndef ENGINE_WORLD_HPP
#define ENGINE_WORLD_HPP

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <vector>

namespace engine {

inline constexpr std::int32_t width = 640; /* of the world, in pixels */
inline constexpr std::int32_t height = 480;
inline constexpr std::int32_t pixel = 256;  /* of the units of places and speeds */
inline constexpr std::uint32_t flock = 100; /* entities, the first of which leads the others */
inline constexpr std::uint32_t kinds = 4;
inline constexpr std::uint32_t nobody = UINT32_MAX;

struct body {
    std::int32_t x;
    std::int32_t y;
    std::int32_t vx;
    std::int32_t vy;
};

/* What an entity keeps when its instance is gone. */
struct mind {
    std::int32_t ax; /* where it wants to go */
    std::int32_t ay;
    std::uint32_t bumps; /* since it has moved */
    std::uint32_t failed;
    std::uint32_t instances;
};

/* What goes with the instance: a new one begins without. */
struct plan {
    std::uint32_t target;
    std::uint32_t left; /* thoughts until it is another one; 0: there is none */
};

struct pointer {
    std::int32_t x;
    std::int32_t y;
    std::uint32_t down;
};

/* What all are told in the first phase of a frame. */
struct thought {
    static constexpr std::uint32_t tag = 1;
    std::uint32_t frame;
    pointer seen;
};

/* Why a thought fails. */
struct lost : std::runtime_error {
    lost() : std::runtime_error("lost its way") {}
};

/* The only source of chance: the same for the same three numbers. */
inline std::uint64_t chance(std::uint64_t seed, std::uint32_t id, std::uint32_t frame)
{
    std::uint64_t bits = seed + (std::uint64_t{id} << 32 | frame) * 0x9e3779b97f4a7c15U;
    bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9U;
    bits = (bits ^ bits >> 27) * 0x94d049bb133111ebU;
    return bits ^ bits >> 31;
}

inline std::int32_t towards(std::int32_t from, std::int32_t to)
{
    return (to > from) - (to < from);
}

inline bool close(const body &one, std::int32_t x, std::int32_t y, std::int32_t pixels)
{
    return std::abs(one.x - x) + std::abs(one.y - y) < pixels * pixel;
}

class world {
  public:
    world(std::uint32_t count, std::uint64_t seed) : seed_(seed), now_(count), minds_(count)
    {
        for (std::uint32_t id = 0; id < count; id++)
            now_[id] = start(id);
        after_ = now_;
    }
    std::uint32_t size() const { return static_cast<std::uint32_t>(now_.size()); }
    const body &at(std::uint32_t id) const { return now_[id]; }
    static std::uint32_t kind(std::uint32_t id) { return id / flock % kinds; }

    /* ---- of one entity: in its turn ---- */

    void born(std::uint32_t id) { minds_[id].instances++; }
    void bumped(std::uint32_t id) { minds_[id].bumps++; }

    /* Says whom it bumps into, or `nobody`. Throws `lost` where it fails, once in so many thoughts:
     * its plan may be another one by then, and what it keeps is as it was, but for the count. */
    std::uint32_t think(std::uint32_t id, plan &plan, const thought &what,
                        std::uint64_t fails_once_in)
    {
        const std::uint64_t luck = chance(seed_, id, what.frame);
        mind &own = minds_[id];
        if (plan.left == 0)
            plan = {target(id, luck), 30 + static_cast<std::uint32_t>(luck >> 8) % 64};
        plan.left--;
        if ((luck >> 16) % fails_once_in == 0) {
            own.failed++;
            throw lost();
        }
        const body &here = now_[id];
        const bool leads = id % flock == 0;
        const body there = leads ? start(plan.target) : now_[plan.target];
        const bool called = what.seen.down != 0;
        const std::int32_t x = called ? what.seen.x * pixel : there.x;
        const std::int32_t y = called ? what.seen.y * pixel : there.y;
        own.ax = towards(here.x, x) * pixel / 8;
        own.ay = towards(here.y, y) * pixel / 8;
        const bool meets = !leads && plan.target != id && close(here, there.x, there.y, 4);
        return meets ? plan.target : nobody;
    }

    void move(std::uint32_t id)
    {
        const body &here = now_[id];
        const body &mate = now_[(id ^ 1) < size() ? id ^ 1 : id];
        mind &own = minds_[id];
        body next = here;
        if (own.bumps % 2 != 0) { /* one bump turns it round, and another one back */
            next.vx = -next.vx;
            next.vy = -next.vy;
        }
        if (close(here, mate.x, mate.y, 12)) {
            next.vx -= towards(here.x, mate.x) * pixel / 4;
            next.vy -= towards(here.y, mate.y) * pixel / 4;
        }
        step(next.x, next.vx, own.ax, width * pixel);
        step(next.y, next.vy, own.ay, height * pixel);
        own.bumps = 0;
        after_[id] = next;
    }

    /* ---- of all: between two phases ---- */

    void flip() { now_.swap(after_); }
    /* What a file has of the world; where nobody is next is made anew in each frame. */
    template <class File> void save(File &to) const
    {
        to.put(now_);
        to.put(minds_);
    }
    template <class File> void load(File &from)
    {
        from.take(now_);
        from.take(minds_);
    }
    std::uint64_t failed() const { return sum(&mind::failed); }
    std::uint64_t instances() const { return sum(&mind::instances); }

    /* FNV-1a, over words: the same if everybody is at the same place and has failed as often. */
    std::uint64_t hash() const
    {
        std::uint64_t found = 0xcbf29ce484222325U;
        const auto add = [&](auto value) {
            found = (found ^ static_cast<std::uint32_t>(value)) * 0x100000001b3U;
        };
        for (std::uint32_t id = 0; id < size(); id++) {
            const body &is = now_[id];
            for (const std::int32_t part : {is.x, is.y, is.vx, is.vy})
                add(part);
            add(minds_[id].failed);
            add(minds_[id].instances);
        }
        return found;
    }

  private:
    body start(std::uint32_t id) const
    {
        const std::uint64_t luck = chance(seed_, id, UINT32_MAX);
        return {static_cast<std::int32_t>(luck % (width * pixel)),
                static_cast<std::int32_t>((luck >> 32) % (height * pixel)), 0, 0};
    }

    /* Its leader, or one of its flock; a leader goes to where anybody has begun. */
    std::uint32_t target(std::uint32_t id, std::uint64_t luck) const
    {
        const std::uint32_t first = id - id % flock;
        const std::uint64_t others = std::min(flock, size() - first);
        if (id == first)
            return static_cast<std::uint32_t>(luck % size());
        return first + (luck >> 63 != 0 ? 0 : static_cast<std::uint32_t>(luck % others));
    }

    static void step(std::int32_t &place, std::int32_t &speed, std::int32_t wish, std::int32_t end)
    {
        speed = std::clamp(speed - speed / 16 + wish, -4 * pixel, 4 * pixel);
        place += speed;
        if (place < 0 || place >= end) { /* a wall */
            place = std::clamp(place, 0, end - 1);
            speed = -speed;
        }
    }

    std::uint64_t sum(std::uint32_t mind::*count) const
    {
        std::uint64_t all = 0;
        for (const mind &one : minds_)
            all += one.*count;
        return all;
    }

    std::uint64_t seed_;
    std::vector<body> now_;
    std::vector<body> after_;
    std::vector<mind> minds_;
};

} // namespace engine

#endif
