/* save_file.hpp - a file without a name, which a saved game is written to and read from. */
#ifndef ENGINE_SAVE_FILE_HPP
#define ENGINE_SAVE_FILE_HPP

#include <cerrno>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <type_traits>
#include <vector>

namespace engine {

class save_file {
  public:
    save_file() : file_(std::tmpfile())
    {
        if (!file_)
            throw std::system_error(errno, std::generic_category(), "a saved game");
    }

    template <class T> void put(const std::vector<T> &what)
    {
        static_assert(std::is_trivially_copyable_v<T>);
        if (std::fwrite(what.data(), sizeof(T), what.size(), file_.get()) != what.size())
            throw std::system_error(errno, std::generic_category(), "a saved game");
    }

    /* From here on it is read, in the order in which it was written. */
    void rewind()
    {
        if (std::fflush(file_.get()) != 0 || std::fseek(file_.get(), 0, SEEK_SET) != 0)
            throw std::system_error(errno, std::generic_category(), "a saved game");
    }

    /* As many as there are. */
    template <class T> void take(std::vector<T> &what)
    {
        if (std::fread(what.data(), sizeof(T), what.size(), file_.get()) != what.size())
            throw std::runtime_error("a saved game is too short");
    }

  private:
    struct closes_file {
        void operator()(std::FILE *it) const { static_cast<void>(std::fclose(it)); }
    };
    std::unique_ptr<std::FILE, closes_file> file_;
};

} // namespace engine

#endif
