/* picture.hpp - how long frames take: their figures, and the picture of the latest, a bar each,
 * with a line where the time of a frame ends. */
#ifndef ENGINE_PICTURE_HPP
#define ENGINE_PICTURE_HPP

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "sdl.hpp"
#include "world.hpp"

namespace engine {

inline constexpr std::int64_t budget_ns = 16666667; /* 60 frames a second */

/* Where the time of a frame has gone, in ns. */
struct spans {
    std::int64_t thinking;
    std::int64_t moving;
    std::int64_t drawing; /* and all that is left */
    std::int64_t all() const { return thinking + moving + drawing; }
};

class frame_times {
  public:
    static constexpr int bar = 2; /* pixels */
    static constexpr int bars = width / bar;
    static constexpr int strip = 120; /* pixels: the height of the picture */
    static constexpr int budget = 60; /* and of the line in it */

    void add(const spans &frame) { frames_.push_back(frame); }
    std::size_t shown() const { return std::min<std::size_t>(frames_.size(), bars); }

    /* The time that so many of 100 frames do not exceed, in ms. */
    double percentile(std::size_t percent) const
    {
        std::vector<std::int64_t> sorted;
        for (const spans &frame : frames_)
            sorted.push_back(frame.all());
        if (sorted.empty())
            return 0;
        std::sort(sorted.begin(), sorted.end());
        const std::size_t rank = (sorted.size() * percent + 99) / 100;
        return static_cast<double>(sorted[std::max<std::size_t>(rank, 1) - 1]) / 1e6;
    }

    /* The oldest bar is on the left; a frame of more than twice its time is cut off. */
    void draw(SDL_Renderer *to, int top) const
    {
        static constexpr std::array<SDL_Color, 3> colours{
            {{70, 120, 220, 255}, {80, 190, 90, 255}, {230, 160, 50, 255}}};
        std::array<std::vector<SDL_Rect>, 3> parts;
        const std::size_t first = frames_.size() - shown();
        for (std::size_t i = 0; i < shown(); i++) {
            const spans &frame = frames_[first + i];
            const std::array<std::int64_t, 4> ends{0, frame.thinking, frame.thinking + frame.moving,
                                                   frame.all()};
            for (std::size_t part = 0; part < parts.size(); part++) {
                const int low = pixels(ends[part]);
                const int high = pixels(ends[part + 1]);
                parts[part].push_back(
                    {static_cast<int>(i) * bar, top + strip - high, bar, high - low});
            }
        }
        for (std::size_t part = 0; part < parts.size(); part++)
            fill(to, colours[part], parts[part]);
        fill(to, {250, 250, 250, 255}, {{0, top + strip - budget, width, 1}});
    }

  private:
    static int pixels(std::int64_t ns)
    {
        return static_cast<int>(std::min<std::int64_t>(ns * budget / budget_ns, strip - 1));
    }

    std::vector<spans> frames_;
};

} // namespace engine

#endif
