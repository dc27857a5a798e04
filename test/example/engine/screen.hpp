/* screen.hpp - the window: what people do in it, the world as it is, and the picture of frame times
 * below. All of it is the main thread's. */
#ifndef ENGINE_SCREEN_HPP
#define ENGINE_SCREEN_HPP

#include <array>
#include <string>
#include <vector>

#include "picture.hpp"
#include "sdl.hpp"
#include "world.hpp"

namespace engine {

/* How the entities of a kind look. */
struct sprite {
    static constexpr std::uint32_t tag = 5;
    std::uint32_t kind;
    std::vector<std::string> rows; /* of the same length; '#': a pixel */
};

struct input {
    pointer seen{};
    bool paused = false;
    bool quit = false;
};

class sdl {
  public:
    explicit sdl(bool headless)
    {
        if (headless)
            SDL_SetHintWithPriority(SDL_HINT_VIDEODRIVER, "dummy", SDL_HINT_OVERRIDE);
        sdl_must(SDL_Init(SDL_INIT_VIDEO) == 0, "SDL_Init");
    }
    sdl(const sdl &) = delete;
    sdl &operator=(const sdl &) = delete;
    ~sdl() { SDL_Quit(); }
};

class screen {
  public:
    static constexpr int rows = height + frame_times::strip;

    explicit screen(bool headless)
        : sdl_(headless), window_(own<SDL_Window, SDL_DestroyWindow>(
                              SDL_CreateWindow("axo: engine", SDL_WINDOWPOS_UNDEFINED,
                                               SDL_WINDOWPOS_UNDEFINED, width, rows, 0),
                              "SDL_CreateWindow")),
          to_(own<SDL_Renderer, SDL_DestroyRenderer>(
              SDL_CreateRenderer(window_.get(), -1,
                                 headless ? std::uint32_t{SDL_RENDERER_SOFTWARE} : 0),
              "SDL_CreateRenderer"))
    {
        sdl_must(SDL_RenderSetLogicalSize(to_.get(), width, rows) == 0, "SDL_RenderSetLogicalSize");
    }

    /* What has happened since the last call. */
    void listen(input &in) const
    {
        SDL_Event event;
        while (SDL_PollEvent(&event) != 0) {
            if (event.type == SDL_QUIT)
                in.quit = true;
            else if (event.type == SDL_KEYDOWN && event.key.keysym.sym == SDLK_ESCAPE)
                in.quit = true;
            else if (event.type == SDL_KEYDOWN && event.key.keysym.sym == SDLK_SPACE)
                in.paused = !in.paused;
            else if (event.type == SDL_MOUSEBUTTONDOWN)
                in.seen = {event.button.x, event.button.y, 1};
            else if (event.type == SDL_MOUSEBUTTONUP)
                in.seen.down = 0;
            else if (event.type == SDL_MOUSEMOTION && in.seen.down != 0)
                in.seen = {event.motion.x, event.motion.y, 1};
        }
    }

    /* As if the mouse had been pressed: the way that a person's click comes. */
    static void press(const pointer &at)
    {
        SDL_Event event{};
        event.button.type = SDL_MOUSEBUTTONDOWN;
        event.button.button = SDL_BUTTON_LEFT;
        event.button.state = SDL_PRESSED;
        event.button.x = at.x;
        event.button.y = at.y;
        sdl_must(SDL_PushEvent(&event) == 1, "SDL_PushEvent");
    }

    /* From now on these entities look so. */
    void take(const sprite &given)
    {
        const int across = static_cast<int>(given.rows.front().size());
        const int down = static_cast<int>(given.rows.size());
        const auto made = own<SDL_Surface, SDL_FreeSurface>(
            SDL_CreateRGBSurfaceWithFormat(0, across, down, 32, SDL_PIXELFORMAT_ARGB8888),
            "SDL_CreateRGBSurfaceWithFormat");
        const SDL_Color &is = colours[given.kind];
        const std::uint32_t colour = SDL_MapRGBA(made->format, is.r, is.g, is.b, is.a);
        for (int y = 0; y < down; y++)
            for (int x = 0; x < across; x++) {
                const SDL_Rect dot{x, y, 1, 1};
                const std::string &row = given.rows[static_cast<std::size_t>(y)];
                if (row[static_cast<std::size_t>(x)] == '#')
                    sdl_must(SDL_FillRect(made.get(), &dot, colour) == 0, "SDL_FillRect");
            }
        looks_[given.kind] = {own<SDL_Texture, SDL_DestroyTexture>(
                                  SDL_CreateTextureFromSurface(to_.get(), made.get()),
                                  "SDL_CreateTextureFromSurface"),
                              across, down};
    }

    void draw(const world &what, const frame_times &times) const
    {
        sdl_must(SDL_SetRenderDrawColor(to_.get(), 16, 16, 24, 255) == 0, "colour");
        sdl_must(SDL_RenderClear(to_.get()) == 0, "SDL_RenderClear");
        std::array<std::vector<SDL_Rect>, kinds> bare; /* without a sprite */
        for (std::uint32_t id = 0; id < what.size(); id++) {
            const look &as = looks_[world::kind(id)];
            const SDL_Rect where{what.at(id).x / pixel - as.across / 2,
                                 what.at(id).y / pixel - as.down / 2, as.across, as.down};
            if (as.texture)
                sdl_must(SDL_RenderCopy(to_.get(), as.texture.get(), nullptr, &where) == 0,
                         "SDL_RenderCopy");
            else
                bare[world::kind(id)].push_back(where);
        }
        for (std::size_t kind = 0; kind < kinds; kind++)
            fill(to_.get(), colours[kind], bare[kind]);
        fill(to_.get(), {0, 0, 0, 255}, {{0, height, width, frame_times::strip}});
        times.draw(to_.get(), height);
    }
    void show() const { SDL_RenderPresent(to_.get()); }

    /* What was drawn last, and is not shown yet. */
    void save(const char *file) const
    {
        const auto made = own<SDL_Surface, SDL_FreeSurface>(
            SDL_CreateRGBSurfaceWithFormat(0, width, rows, 24, SDL_PIXELFORMAT_BGR24),
            "SDL_CreateRGBSurfaceWithFormat");
        sdl_must(SDL_RenderReadPixels(to_.get(), nullptr, made->format->format, made->pixels,
                                      made->pitch) == 0,
                 "SDL_RenderReadPixels");
        sdl_must(SDL_SaveBMP(made.get(), file) == 0, file);
    }

  private:
    struct look {
        owned<SDL_Texture, SDL_DestroyTexture> texture;
        int across = 3;
        int down = 3;
    };
    static constexpr std::array<SDL_Color, kinds> colours{
        {{240, 90, 80, 255}, {90, 220, 200, 255}, {240, 220, 90, 255}, {190, 130, 250, 255}}};

    sdl sdl_; /* ends behind all that was made with it */
    owned<SDL_Window, SDL_DestroyWindow> window_;
    owned<SDL_Renderer, SDL_DestroyRenderer> to_;
    std::array<look, kinds> looks_;
};

} // namespace engine

#endif
