/* plugin.hpp - a plugin with the entities' code (ai.cpp), which lies beside this program. */
#ifndef ENGINE_PLUGIN_HPP
#define ENGINE_PLUGIN_HPP

#include <stdexcept>
#include <string>
#include <utility>

#include <dlfcn.h>

#include "entity.hpp"
#include "sdl.hpp"

namespace engine {

struct free_text {
    void operator()(char *text) const { SDL_free(text); }
};

class plugin {
  public:
    plugin() = default; /* none: the code is the engine's own */
    explicit plugin(std::uint32_t version) : plugin()
    {
        const std::unique_ptr<char, free_text> folder(SDL_GetBasePath());
        sdl_must(folder != nullptr, "SDL_GetBasePath");
        path_ = folder.get() + ("ai" + std::to_string(version) + ".so");
        library_ = dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (library_ == nullptr)
            throw std::runtime_error(dlerror());
        code_ = static_cast<const ai *>(dlsym(library_, "ai_here"));
        if (code_ == nullptr)
            throw std::runtime_error(path_ + ": no plugin of this engine");
    }
    plugin(plugin &&other) noexcept { *this = std::move(other); }
    plugin &operator=(plugin &&other) noexcept
    {
        std::swap(path_, other.path_);
        std::swap(library_, other.library_);
        std::swap(code_, other.code_);
        return *this;
    }
    ~plugin()
    {
        if (library_ != nullptr)
            dlclose(library_);
    }
    const ai &code() const { return *code_; }

    /* No actor has its code any more. The library must be gone, not only closed: a name of it that
     * is not hidden, or a thread that still has something of it, would keep it. */
    void unload()
    {
        if (library_ == nullptr)
            return;
        if (dlclose(std::exchange(library_, nullptr)) != 0)
            throw std::runtime_error(dlerror());
        if (dlopen(path_.c_str(), RTLD_NOW | RTLD_NOLOAD) != nullptr)
            throw std::runtime_error(path_ + ": it is still there");
    }

  private:
    std::string path_;
    void *library_ = nullptr;
    const ai *code_ = &entity_ai;
};

} // namespace engine

#endif
