/* settings.hpp - what the command line says. */
#ifndef ENGINE_SETTINGS_HPP
#define ENGINE_SETTINGS_HPP

#include <charconv>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "world.hpp"

namespace engine {

enum class mode { workers, lent, main, plain };

inline constexpr char usage[] =
    "usage: engine [options]\n"
    "  --mode workers  whose threads run the actors: axo's own (the default),\n"
    "         lent     those of the program's job system,\n"
    "         main     the main thread alone, by the game's clock: each run is the same,\n"
    "         plain    none: the same world in a plain loop, to compare with\n"
    "  --entities N    1 to 1000000; 10000\n"
    "  --frames N      so many, and no more; else until the window is closed\n"
    "  --seed N        of all chance; 1\n"
    "  --replace N     every N frames the entities' code is replaced, and the old unloaded:\n"
    "                  now by ai2.so, now by ai1.so, which lie beside this program\n"
    "  --save N        every N frames the world is saved, and goes on in a new system\n"
    "  --headless      no window and no waiting for the next frame; needs --frames\n"
    "  --click F,X,Y   in frame F the mouse is pressed there, and held\n"
    "  --assets DIR    where the sprites are; test/example/engine\n"
    "  --picture FILE  what the window shows at the end, as a BMP\n";

struct wrong_usage : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct settings {
    mode how = mode::workers;
    std::uint32_t entities = 10000;
    std::uint32_t frames = 0; /* 0: until the window is closed */
    std::uint64_t seed = 1;
    std::uint32_t replace = 0; /* 0: never; and so is */
    std::uint32_t save = 0;
    bool headless = false;
    std::uint32_t click_frame = nobody;
    pointer click{};
    const char *assets = "test/example/engine";
    const char *picture = nullptr;
};

template <class N> N number(std::string_view option, std::string_view text, N least, N most)
{
    N value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < least || value > most)
        throw wrong_usage(std::string(option) + " " + std::string(text) + ": not a number from " +
                          std::to_string(least) + " to " + std::to_string(most));
    return value;
}

inline mode mode_of(std::string_view text)
{
    constexpr std::string_view names[] = {"workers", "lent", "main", "plain"};
    for (std::size_t i = 0; i < std::size(names); i++)
        if (text == names[i])
            return static_cast<mode>(i);
    throw wrong_usage("--mode " + std::string(text) + ": no such mode");
}

inline void click_of(std::string_view text, settings &out)
{
    const std::size_t first = text.find(',');
    const std::size_t second = first == text.npos ? first : text.find(',', first + 1);
    if (second == text.npos)
        throw wrong_usage("--click " + std::string(text) + ": not a frame, x and y");
    out.click_frame = number("--click", text.substr(0, first), 0U, nobody - 1);
    out.click.x = number("--click", text.substr(first + 1, second - first - 1), 0, width - 1);
    out.click.y = number("--click", text.substr(second + 1), 0, height - 1);
}

inline settings settings_of(int argc, char **argv)
{
    settings out;
    for (int i = 1; i < argc; i++) {
        const std::string_view option = argv[i];
        if (option == "--headless") {
            out.headless = true;
            continue;
        }
        const char *value = i + 1 < argc ? argv[++i] : nullptr;
        if (value == nullptr)
            throw wrong_usage(std::string(option) + ": unknown, or without its value");
        if (option == "--mode")
            out.how = mode_of(value);
        else if (option == "--entities")
            out.entities = number(option, value, 1U, 1000000U);
        else if (option == "--frames")
            out.frames = number(option, value, 1U, 1000000000U);
        else if (option == "--replace")
            out.replace = number(option, value, 1U, 1000000000U);
        else if (option == "--save")
            out.save = number(option, value, 1U, 1000000000U);
        else if (option == "--seed")
            out.seed = number(option, value, std::uint64_t{0}, UINT64_MAX);
        else if (option == "--click")
            click_of(value, out);
        else if (option == "--assets")
            out.assets = value;
        else if (option == "--picture")
            out.picture = value;
        else
            throw wrong_usage(std::string(option) + ": unknown");
    }
    if (out.headless && out.frames == 0)
        throw wrong_usage("--headless needs --frames");
    return out;
}

} // namespace engine

#endif
