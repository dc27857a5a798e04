/* assets.hpp - sprites from files, while the frames go on. The loader is on the blocking
 * dispatcher: a disk that takes its time holds up one of its threads, and no frame. The atlas is on
 * the host dispatcher: it runs on the main thread, which alone may make textures. A kind of
 * entities is plain squares until its sprite has come. */
#ifndef ENGINE_ASSETS_HPP
#define ENGINE_ASSETS_HPP

#include <array>
#include <cerrno>
#include <fstream>
#include <system_error>

#include <axo/axo.hpp>

#include "entity.hpp"
#include "screen.hpp"

namespace engine {

inline constexpr std::size_t sprite_max = 16; /* pixels, each way */

/* To the loader. */
struct load {
    static constexpr std::uint32_t tag = 6;
    using answer = sprite;
    std::uint32_t kind;
};
/* The atlas to itself: it is time for the sprite of this kind. */
struct want {
    static constexpr std::uint32_t tag = 7;
    std::uint32_t kind;
};

/* The main thread's. */
struct asset_count {
    std::uint32_t wanted = 0;
    std::uint32_t loaded = 0;
    std::uint32_t missing = 0; /* the loader has failed under it */
};

inline sprite sprite_of(const char *folder, std::uint32_t kind)
{
    static constexpr const char *names[kinds] = {"hawk", "fish", "moth", "crab"};
    sprite made{kind, {}};
    std::ifstream file(std::string(folder) + "/" + names[kind] + ".sprite");
    if (!file)
        throw std::system_error(errno, std::generic_category(), names[kind]);
    for (std::string row; std::getline(file, row);)
        made.rows.push_back(row);
    bool good = !made.rows.empty() && made.rows.size() <= sprite_max;
    for (const std::string &row : made.rows)
        good = good && !row.empty() && row.size() <= sprite_max &&
               row.size() == made.rows.front().size();
    if (!good)
        throw std::runtime_error(std::string(names[kind]) + ": not a sprite");
    return made;
}

class loader {
  public:
    using messages = axo::messages<load>;
    static constexpr const char *class_name = "loader";

    explicit loader(const char *folder) : folder_(folder) {}

    sprite on(axo::context ctx, const load &order)
    {
        sprite made{};
        must(ctx.block([&] { made = sprite_of(folder_, order.kind); }), "block");
        return made; /* moved to who has asked */
    }

  private:
    const char *folder_;
};

class atlas {
  public:
    using messages = axo::messages<want, sprite, axo_request_failed>;
    /* A loader that fails is restarted, and the atlas is told of the failed request. */
    static constexpr axo::rules supervision = axo::one_for_one().answer_failed();
    static constexpr const char *class_name = "atlas";

    atlas(axo::context ctx, screen *to, const char *folder, asset_count *count)
        : to_(to), count_(count)
    {
        axo_props props;
        axo_props_init(&props);
        props.name = "loader";
        props.dispatcher = AXO_DISPATCH_BLOCKING;
        loader_ = ctx.spawn<loader>(props, folder);
        for (std::uint32_t kind = 0; kind < kinds; kind++) /* by the game's clock */
            must(ctx.send_after(kind * std::chrono::milliseconds(100), ctx.self(this), want{kind}),
                 "a timer");
    }
    void on(axo::context ctx, const want &it)
    {
        count_->wanted++;
        must(ctx.send(loader_, load{it.kind}), "load");
    }
    void on(const sprite &look)
    {
        to_->take(look);
        count_->loaded++;
    }
    void on(const axo_request_failed &) { count_->missing++; } /* it stays plain */

  private:
    screen *to_;
    asset_count *count_;
    axo::ref<loader> loader_;
};

} // namespace engine

#endif
