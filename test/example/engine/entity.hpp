/* entity.hpp - entities as actors, and the flocks that supervise them.
 *
 * An entity's plan is a member of its actor. Where it is and what it has counted is the world's, so
 * that goes on when the actor fails under a thought: its flock restarts it, which is the default,
 * and the new instance begins with another plan. What waits in its mailbox, a bump or the next
 * phase, waits for the new instance.
 *
 * The class lies in the engine, and in two plugins beside it (ai.cpp), of which with --replace now
 * this one and now that one takes the entities over while they live. So nothing may lead into the
 * code that goes but the class itself: what spawn is given are bytes, as a recipe of axo.hpp has
 * the address of the constructor, and an entity has no destructor, which the library would call by
 * the address that it had when the instance was made. */
#ifndef ENGINE_ENTITY_HPP
#define ENGINE_ENTITY_HPP

#include <algorithm>
#include <array>
#include <new>
#include <type_traits>
#include <vector>

#include <axo/axo.hpp>
#include <axo/group.h>
#include <axo/world.h>

#include "world.hpp"

#ifndef AI_VERSION
#define AI_VERSION 1 /* of the engine's own, and of ai1.so; 2: of ai2.so */
#endif

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

/* All that is saved of an entity itself; and to it: go on so. */
struct note {
    static constexpr std::uint32_t tag = 8;
    std::uint32_t id;
    plan now;
};

/* The code of entities. */
struct ai {
    const axo_class *cls;
    axo_migrate_fn migrate;      /* from the state of any version */
    std::uint64_t fails_once_in; /* thoughts */
};

/* What actors and the main thread share. */
struct scene {
    world &what;
    axo_group *phase;
    const ai *code;            /* changed between two frames */
    std::vector<axo_ref> cast; /* entities by number; each flock writes its own, once */
};

/* What each version's state begins with. */
struct soul {
    scene *in;
    note own;
};

inline void must(axo_status status, const char *what)
{
    if (status != AXO_OK)
        throw axo::error(status, what);
}

class entity {
  public:
    using messages = axo::messages<thought, bump, motion, note>;
    static constexpr const char *class_name = "entity";
    static constexpr std::uint64_t fails_once_in = AI_VERSION == 1 ? 2000 : 1000;

    explicit entity(const soul &from) : is_(from) {}

    /* A bump is sent through the phase's group: it belongs to the phase, which waits for it too. */
    void on(axo::context ctx, const thought &what)
    {
        const scene &in = *is_.in;
        const std::uint32_t met = in.what.think(is_.own.id, is_.own.now, what, fails_once_in);
        if (met != nobody)
            must(axo_group_send_as(ctx.raw(), in.phase, in.cast[met], bump::tag, nullptr, 0),
                 "a bump");
    }
    void on(const bump &)
    {
        is_.in->what.bumped(is_.own.id);
#if AI_VERSION == 2
        scars_[scarred_++ % scars_.size()] = is_.own.now.target;
#endif
    }
    void on(const motion &) { is_.in->what.move(is_.own.id); }
    void on(const note &before) { is_.own = before; }

  private:
    soul is_;
#if AI_VERSION == 2 /* it has a longer memory, and a state of another size */
    std::array<std::uint32_t, 8> scars_{};
    std::uint32_t scarred_ = 0;
#endif
};
static_assert(std::is_standard_layout_v<entity>, "its soul is where its state begins");
static_assert(std::is_trivially_destructible_v<entity>, "nothing leads back to where it was made");

inline axo_status entity_born(axo_ctx *, void *state, const void *args)
{
    const soul &from = *static_cast<const soul *>(args);
    from.in->what.born(from.own.id);
    ::new (state) entity(from);
    return AXO_OK;
}

inline axo_status entity_goes_on(axo_ctx *, void *state, void *old, void *)
{
    ::new (state) entity(*static_cast<const soul *>(old));
    return AXO_OK;
}

inline const axo_class entity_class = [] {
    axo_class made = *axo::actor<entity>::cls();
    made.construct = &entity_born;
    return made;
}();
inline constexpr ai entity_ai{&entity_class, &entity_goes_on, entity::fails_once_in};

class flock_actor {
  public:
    using messages = axo::messages<muster>;
    static constexpr const char *class_name = "flock";

    flock_actor(scene *in, std::uint32_t first) : in_(in), first_(first) {}

    void on(axo::context ctx, const muster &)
    {
        const std::uint32_t end = std::min(first_ + flock, in_->what.size());
        for (std::uint32_t id = first_; id < end; id++) {
            const soul of{in_, {id, {}}};
            axo_props props;
            axo_props_init(&props);
            props.cls = in_->code->cls;
            props.args = &of;
            props.args_size = sizeof of;
            must(axo_spawn(ctx.raw(), &props, &in_->cast[id]), "an entity");
        }
    }

  private:
    scene *in_;
    std::uint32_t first_;
};

} // namespace engine

#endif
