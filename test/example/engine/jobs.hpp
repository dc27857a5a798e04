/* jobs.hpp - the program's job system, as short as it can be: threads of SDL, which lend themselves
 * to the actors when axo asks for it. */
#ifndef ENGINE_JOBS_HPP
#define ENGINE_JOBS_HPP

#include <algorithm>
#include <vector>

#include <axo/axo.hpp>

#include "sdl.hpp"

namespace engine {

/* The queue: axo calls it until the system has ended. */
class job_queue {
  public:
    static constexpr std::int64_t visit_ns = 2000000;

    job_queue()
        : mutex_(own<SDL_mutex, SDL_DestroyMutex>(SDL_CreateMutex(), "SDL_CreateMutex")),
          more_(own<SDL_cond, SDL_DestroyCond>(SDL_CreateCond(), "SDL_CreateCond"))
    {
    }

    /* axo_options.on_work: in the midst of sends and turns, so it only adds jobs. */
    static void asked(void *user, std::uint32_t how_many)
    {
        job_queue &jobs = *static_cast<job_queue *>(user);
        jobs.lock();
        jobs.visits_ += how_many;
        SDL_CondBroadcast(jobs.more_.get());
        jobs.unlock();
    }

    /* A thread's life. AXO_OK: it was told to quit. The library is called without the mutex, which
     * `asked` waits for. */
    axo_status run(axo_system *system, std::uint32_t slots)
    {
        axo_status status = AXO_OK;
        while (status == AXO_OK && take(axo_worker_due(system)))
            status = visit(system, slots);
        return status;
    }

    void quit()
    {
        lock();
        quit_ = true;
        SDL_CondBroadcast(more_.get());
        unlock();
    }

  private:
    void lock() { SDL_LockMutex(mutex_.get()); }
    void unlock() { SDL_UnlockMutex(mutex_.get()); }

    /* Waits for a job, or until a visit is due that nobody asks for: a timer. false: to quit. */
    bool take(std::int64_t due_ns)
    {
        const std::int64_t ms = std::min<std::int64_t>(due_ns / 1000000 + 1, 1000);
        lock();
        while (visits_ == 0 && !quit_)
            if (SDL_CondWaitTimeout(more_.get(), mutex_.get(), static_cast<std::uint32_t>(ms)) != 0)
                break;
        visits_ -= visits_ > 0;
        const bool goes_on = !quit_;
        unlock();
        return goes_on;
    }

    /* A visit of whichever slot is free; what is left then has asked for another one. */
    static axo_status visit(axo_system *system, std::uint32_t slots)
    {
        axo_status status = AXO_EBUSY;
        for (std::uint32_t slot = 0; slot < slots && status == AXO_EBUSY; slot++)
            status = axo_worker_run(system, slot, visit_ns, nullptr);
        return status == AXO_EBUSY || status == AXO_ESTOPPING ? AXO_OK : status;
    }

    owned<SDL_mutex, SDL_DestroyMutex> mutex_;
    owned<SDL_cond, SDL_DestroyCond> more_;
    std::uint32_t visits_ = 0;
    bool quit_ = false;
};

/* The threads: they are gone when it is, so it ends before the system does. */
class job_threads {
  public:
    job_threads(job_queue &jobs, axo_system *system, std::uint32_t count)
        : jobs_(jobs), system_(system), slots_(count)
    {
        threads_.reserve(count);
        try {
            while (threads_.size() < count) {
                threads_.push_back(SDL_CreateThread(&job_threads::main, "job", this));
                sdl_must(threads_.back() != nullptr, "SDL_CreateThread");
            }
        } catch (...) {
            static_cast<void>(finish());
            throw;
        }
    }
    job_threads(const job_threads &) = delete;
    job_threads &operator=(const job_threads &) = delete;
    ~job_threads() { static_cast<void>(finish()); }

    /* Ends them; what one has failed with. */
    axo_status finish()
    {
        axo_status status = AXO_OK;
        jobs_.quit();
        for (SDL_Thread *thread : threads_) {
            int said = AXO_OK;
            SDL_WaitThread(thread, &said); /* NULL is allowed */
            if (said != AXO_OK)
                status = static_cast<axo_status>(said);
        }
        threads_.clear();
        return status;
    }

  private:
    static int main(void *user)
    {
        const job_threads &own = *static_cast<job_threads *>(user);
        return own.jobs_.run(own.system_, own.slots_);
    }

    job_queue &jobs_;
    axo_system *system_;
    std::uint32_t slots_;
    std::vector<SDL_Thread *> threads_;
};

} // namespace engine

#endif
