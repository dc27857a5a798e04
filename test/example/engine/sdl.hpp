/* sdl.hpp - what of SDL must not fail, and who owns it. */
#ifndef ENGINE_SDL_HPP
#define ENGINE_SDL_HPP

#define SDL_MAIN_HANDLED
#include <SDL.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace engine {

inline void sdl_must(bool good, const char *what)
{
    if (!good)
        throw std::runtime_error(std::string(what) + ": " + SDL_GetError());
}

template <auto Close> struct closes {
    template <class T> void operator()(T *it) const { Close(it); }
};
template <class T, auto Close> using owned = std::unique_ptr<T, closes<Close>>;

/* What SDL has made. */
template <class T, auto Close> owned<T, Close> own(T *made, const char *what)
{
    sdl_must(made != nullptr, what);
    return owned<T, Close>(made);
}

inline void fill(SDL_Renderer *to, const SDL_Color &colour, const std::vector<SDL_Rect> &where)
{
    sdl_must(SDL_SetRenderDrawColor(to, colour.r, colour.g, colour.b, colour.a) == 0, "colour");
    if (!where.empty())
        sdl_must(SDL_RenderFillRects(to, where.data(), static_cast<int>(where.size())) == 0,
                 "rectangles");
}

} // namespace engine

#endif
