/* entity.hpp - entities as actors, and the flocks that supervise them.
 *
 * An entity's plan is a member of its actor. Where it is and what it has counted is the world's, so
 * that goes on when the actor fails under a thought: its flock restarts it, which is the default,
 * and the new instance begins with another plan. What waits in its mailbox, a bump or the next
 * phase, waits for the new instance. */
#ifndef ENGINE_ENTITY_HPP
#define ENGINE_ENTITY_HPP

#include <algorithm>
#include <vector>

#include <axo/axo.hpp>
#include <axo/group.h>

#include "world.hpp"

namespace engine {

/* The second phase of a frame. */
struct motion {
    static constexpr std::uint32_t tag = 2;
};
/* From one entity to another in the first phase. */
struct bump {
    static constexpr std::uint32_t tag = 3;
};
/* To a flock: its entities are born. */
struct muster {
    static constexpr std::uint32_t tag = 4;
};

/* What actors and the main thread share. */
struct scene {
    world &what;
    axo_group *phase;
    std::vector<axo_ref> cast; /* entities by number; each flock writes its own, once */
};

inline void must(axo_status status, const char *what)
{
    if (status != AXO_OK)
        throw axo::error(status, what);
}

class entity {
  public:
    using messages = axo::messages<thought, bump, motion>;
    static constexpr const char *class_name = "entity";

    entity(scene *in, std::uint32_t id) : in_(in), id_(id) { in->what.born(id); }

    /* A bump is sent through the phase's group: it belongs to the phase, which waits for it too. */
    void on(axo::context ctx, const thought &what)
    {
        const std::uint32_t met = in_->what.think(id_, plan_, what);
        if (met != nobody)
            must(axo_group_send_as(ctx.raw(), in_->phase, in_->cast[met], bump::tag, nullptr, 0),
                 "a bump");
    }
    void on(const bump &) { in_->what.bumped(id_); }
    void on(const motion &) { in_->what.move(id_); }

  private:
    scene *in_;
    std::uint32_t id_;
    plan plan_{};
};

class flock_actor {
  public:
    using messages = axo::messages<muster>;
    static constexpr const char *class_name = "flock";

    flock_actor(scene *in, std::uint32_t first) : in_(in), first_(first) {}

    void on(axo::context ctx, const muster &)
    {
        const std::uint32_t end = std::min(first_ + flock, in_->what.size());
        for (std::uint32_t id = first_; id < end; id++)
            in_->cast[id] = ctx.spawn<entity>(nullptr, in_, id).raw();
    }

  private:
    scene *in_;
    std::uint32_t first_;
};

} // namespace engine

#endif
