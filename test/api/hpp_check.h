/* hpp_check.h - what the tests of axo.hpp share: checks, objects whose lives are counted, a system
 * that a test steps, with a clock, a log and an allocator of the test's own. */
#ifndef HPP_CHECK_H
#define HPP_CHECK_H

#include <axo/axo.hpp>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace check {

inline std::atomic<unsigned> wrong;
inline std::atomic<unsigned> done;

inline bool that(bool holds, const char *what, const char *file, int line)
{
    done++;
    if (!holds) {
        wrong++;
        std::printf("%s:%d: not so: %s\n", file, line, what);
    }
    return holds;
}
#define CHECK(...) check::that((__VA_ARGS__), #__VA_ARGS__, __FILE__, __LINE__)

/* The end of a test program. */
inline int result(const char *name)
{
    std::printf("%s: %u checks, %u wrong\n", name, done.load(), wrong.load());
    return wrong == 0 && done > 0 ? 0 : 1;
}

/* An object whose lives are counted; one that ends twice, or that nobody has begun, is noticed. */
class counted {
  public:
    counted() noexcept { begin(); }
    counted(const counted &) noexcept { begin(); }
    counted(counted &&) noexcept { begin(); }
    counted &operator=(const counted &) noexcept = default;
    counted &operator=(counted &&) noexcept = default;
    ~counted()
    {
        CHECK(alive_ == mark);
        alive_ = 0;
        ended++;
    }
    static inline std::atomic<int> made;
    static inline std::atomic<int> ended;
    static bool balanced() { return made == ended; }
    static void reset() { made = ended = 0; }

  private:
    static constexpr unsigned mark = 0x5eed;
    void begin() noexcept
    {
        alive_ = mark;
        made++;
    }
    unsigned alive_;
};

/* The system of a test: without threads, so that it does what the test lets it do and in one order,
 * and everything on the test's own thread. */
class world {
  public:
    explicit world(const axo_strategy *strategy = nullptr, bool own_memory = false)
    {
        axo_options options;
        axo_options_init(&options);
        options.manual = 1;
        options.no_quantum_us = 1;
        options.seed = 1;
        options.user_strategy = strategy;
        options.clock = &clock;
        options.clock_user = this;
        options.log = &log;
        options.log_user = this;
        options.failure_log = UINT32_MAX;
        options.on_dead_letter = &dead_letter;
        options.dead_letter_user = this;
        if (own_memory) {
            options.allocator.alloc = &alloc;
            options.allocator.free = &release;
            options.allocator.user = this;
        }
        started = axo::system::start(&options, &system);
    }
    ~world()
    {
        system = axo::system(nullptr);
        CHECK(held == 0);
    }
    world(const world &) = delete;
    world &operator=(const world &) = delete;

    /* Lets the actors run until they have nothing to do. */
    void run()
    {
        while (system.run_host() > 0) {
        }
    }
    void pass(std::chrono::nanoseconds time)
    {
        now += time.count();
        static_cast<void>(axo_clock_changed(system.raw()));
        run();
    }
    bool said(const char *text) const { return said_.find(text) != said_.npos; }

    axo::system system{nullptr};
    axo_status started = AXO_EINVAL;
    std::int64_t now = 1;
    unsigned dead = 0;
    long held = 0;      /* blocks of the allocator that are not given back */
    long allowed = -1;  /* allocations until one fails; negative: none does */
    bool refused = false;

  private:
    static std::int64_t clock(void *user) { return static_cast<world *>(user)->now; }
    static void log(void *user, axo_log_level, axo_ref, const char *text)
    {
        static_cast<world *>(user)->said_.append(text).append("\n");
    }
    static void dead_letter(void *user, const axo_dead_letter *)
    {
        static_cast<world *>(user)->dead++;
    }
    static void *alloc(void *user, std::size_t size, std::size_t align)
    {
        world *it = static_cast<world *>(user);
        if (it->allowed == 0) {
            it->refused = true;
            it->allowed = -1;
            return nullptr;
        }
        it->allowed -= it->allowed > 0;
        void *block = nullptr;
        if (posix_memalign(&block, align < sizeof(void *) ? sizeof(void *) : align, size) != 0)
            return nullptr;
        it->held++;
        return block;
    }
    static void release(void *user, void *block, std::size_t, std::size_t)
    {
        static_cast<world *>(user)->held--;
        std::free(block);
    }

    std::string said_;
};

} // namespace check

#endif
