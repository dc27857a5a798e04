/* stage.hpp - who goes through a frame's phases: actors, on whichever threads, or a plain loop.
 *
 * A phase is one message to each entity, through a group, and a wait until the group counts none:
 * all have handled theirs, and what they have sent one another meanwhile; one that has failed has
 * been restarted before it moves. So the phases are barriers, and the world is the same after each
 * frame whoever runs the actors: own workers, lent threads, the main thread, the plain loop. */
#ifndef ENGINE_STAGE_HPP
#define ENGINE_STAGE_HPP

#include <atomic>
#include <cstdio>
#include <optional>
#include <vector>

#include <axo/axo.hpp>
#include <axo/group.h>
#include <axo/record.h>
#include <axo/world.h>

#include "assets.hpp"
#include "entity.hpp"
#include "jobs.hpp"
#include "settings.hpp"

namespace engine {

class stage {
  public:
    struct totals {
        std::uint64_t failures = 0;
        std::uint64_t restarts = 0;
        asset_count assets{};
    };
    stage() = default;
    stage(const stage &) = delete;
    stage &operator=(const stage &) = delete;
    virtual ~stage() = default;
    virtual void think(const thought &what) = 0;
    virtual void move() = 0;
    virtual void rest(std::int64_t now_ns) = 0; /* between two frames, by the game's clock */
    virtual void replace(const ai &next) = 0;   /* the code before it may be unloaded then */
    virtual std::vector<note> notes() = 0;      /* of all entities, to be saved with the world */
    virtual void go_on(const std::vector<note> &from) = 0; /* the world was loaded */
    virtual totals end() = 0;
};

/* ---- without actors ------------------------------------------------------------------------- */

class plain_stage : public stage {
  public:
    plain_stage(world &what, const ai &code) : what_(what), code_(&code), plans_(what.size())
    {
        for (std::uint32_t id = 0; id < what_.size(); id++)
            what_.born(id);
    }
    void think(const thought &what) override
    {
        for (std::uint32_t id = 0; id < what_.size(); id++) {
            try {
                const std::uint32_t met =
                    what_.think(id, plans_[id], what, code_->fails_once_in);
                if (met != nobody)
                    what_.bumped(met);
            } catch (const lost &) {
                plans_[id] = plan{};
                what_.born(id);
            }
        }
    }
    void move() override
    {
        for (std::uint32_t id = 0; id < what_.size(); id++)
            what_.move(id);
    }
    void rest(std::int64_t) override {}
    void replace(const ai &next) override { code_ = &next; }
    std::vector<note> notes() override
    {
        std::vector<note> out(what_.size());
        for (std::uint32_t id = 0; id < what_.size(); id++)
            out[id] = {id, plans_[id]};
        return out;
    }
    void go_on(const std::vector<note> &from) override
    {
        for (const note &it : from)
            plans_[it.id] = it.now;
        failed_before_ = what_.failed();
    }
    totals end() override
    {
        const std::uint64_t failed = what_.failed() - failed_before_;
        return {failed, failed, {}};
    }

  private:
    world &what_;
    const ai *code_;
    std::uint64_t failed_before_ = 0;
    std::vector<plan> plans_;
};

/* ---- actors --------------------------------------------------------------------------------- */

/* The group of the phases. It is freed before its system is destroyed, and when nothing counts, as
 * nothing does once the system has stopped. */
class phase_group {
  public:
    explicit phase_group(axo_system *system) : system_(system)
    {
        must(axo_group_make(system, &raw_), "the group");
    }
    phase_group(const phase_group &) = delete;
    phase_group &operator=(const phase_group &) = delete;
    ~phase_group()
    {
        static_cast<void>(axo_system_stop(system_, -1, nullptr, 0, nullptr));
        static_cast<void>(axo_group_free(raw_));
    }
    axo_group *raw() const { return raw_; }

  private:
    axo_system *system_;
    axo_group *raw_ = nullptr;
};

class actor_stage : public stage {
  public:
    /* With mode::main `events` is a hash of all that happens. */
    actor_stage(const settings &given, world &what, screen &to, const ai &code,
                std::int64_t now_ns, axo_record_hash &events)
        : how_(given.how), now_ns_(now_ns), system_(options(events)), group_(system_.raw()),
          scene_{what, group_.raw(), &code, std::vector<axo_ref>(what.size())}
    {
        if (how_ == mode::lent)
            threads_.emplace(jobs_, system_.raw(), axo_system_workers(system_.raw()));
        axo_props host;
        axo_props_init(&host);
        host.name = "atlas";
        host.dispatcher = AXO_DISPATCH_HOST;
        system_.spawn<atlas>(host, &to, given.assets, &assets_);
        std::vector<axo_ref> flocks;
        for (std::uint32_t first = 0; first < what.size(); first += flock)
            flocks.push_back(system_.spawn<flock_actor>(nullptr, &scene_, first).raw());
        phase(flocks, muster::tag, nullptr, 0);
        std::vector<note> fresh;
        for (std::uint32_t id = 0; id < what.size(); id++)
            fresh.push_back({id, {}});
        go_on(fresh); /* who has read it is born */
    }

    void think(const thought &what) override
    {
        phase(scene_.cast, thought::tag, &what, sizeof what);
    }
    void move() override { phase(scene_.cast, motion::tag, nullptr, 0); }

    /* Timers that are due by the game's clock, and the actors of the main thread. */
    void rest(std::int64_t now_ns) override
    {
        now_ns_ = now_ns;
        must(axo_clock_changed(system_.raw()), "axo_clock_changed");
        must(axo_run_host(system_.raw(), how_ == mode::main ? -1 : 1000000, nullptr),
             "axo_run_host");
    }

    /* Between two frames each entity has its mailbox empty, and changes at once. */
    void replace(const ai &next) override
    {
        axo_replacement what;
        axo_replacement_init(&what);
        what.from = scene_.code->cls;
        what.to = next.cls;
        what.migrate = next.migrate;
        must(axo_class_replace(system_.raw(), &what, -1), "axo_class_replace");
        scene_.code = &next;
    }

    std::vector<note> notes() override
    {
        must(axo_system_quiesce(system_.raw(), -1), "axo_system_quiesce");
        visitor seen{*scene_.code, std::vector<note>(scene_.what.size()), 0, 0, false};
        must(axo_system_visit(system_.raw(), &visitor::look, &seen), "axo_system_visit");
        if (seen.found != seen.notes.size() || seen.left_over != 0)
            throw std::runtime_error("there is more in the world than is saved");
        return std::move(seen.notes);
    }

    void go_on(const std::vector<note> &from) final
    {
        for (const note &it : from)
            must(axo_group_send(group_.raw(), scene_.cast[it.id], note::tag, &it, sizeof it),
                 "a note");
        wait();
        failed_before_ = scene_.what.failed();
        instances_before_ = scene_.what.instances();
    }

    /* Waits for sprites that are on their way. Everything is counted twice, and must agree. */
    totals end() override
    {
        if (assets_.loaded + assets_.missing < assets_.wanted) {
            std::puts("waiting for sprites");
            std::fflush(stdout);
        }
        must(axo_system_quiesce(system_.raw(), -1), "axo_system_quiesce");
        const axo_stats counted = system_.stats();
        const world &what = scene_.what;
        if (assets_.loaded + assets_.missing != assets_.wanted ||
            counted.failures != what.failed() - failed_before_ + assets_.missing ||
            counted.restarts != what.instances() - instances_before_ + assets_.missing)
            throw std::runtime_error("what axo has counted is not what has happened");
        must(system_.stop(), "axo_system_stop");
        if (threads_)
            must(threads_->finish(), "axo_worker_run");
        return {counted.failures, counted.restarts, assets_};
    }

  private:
    /* Takes notes. What is an entity's own is shown behind it. */
    struct visitor {
        const ai &code;
        std::vector<note> notes;
        std::uint32_t found;
        std::uint32_t left_over; /* messages and timers of entities: a frame leaves none */
        bool entity;

        static void look(void *user, const axo_visited *it)
        {
            visitor &own = *static_cast<visitor *>(user);
            if (it->kind == AXO_VISITED_ACTOR) {
                own.entity = it->cls == own.code.cls && it->state != nullptr;
                if (!own.entity)
                    return;
                const note &is = static_cast<const soul *>(it->state)->own;
                own.notes[is.id] = is;
                own.found++;
            } else if (it->kind != AXO_VISITED_SCHEDULED) {
                own.left_over += own.entity;
            }
        }
    };

    axo_options options(axo_record_hash &events)
    {
        axo_options out;
        axo_options_init(&out);
        out.name = "engine";
        out.clock = [](void *user) { return static_cast<actor_stage *>(user)->now_ns_.load(); };
        out.clock_user = this;
        out.log = [](void *, axo_log_level, axo_ref, const char *text) {
            static_cast<void>(std::fprintf(stderr, "%s\n", text));
        };
        if (how_ == mode::lent) {
            out.threads = AXO_THREADS_LENT;
            out.workers = static_cast<std::uint32_t>(std::clamp(SDL_GetCPUCount(), 2, 64));
            out.on_work = &job_queue::asked;
            out.work_user = &jobs_;
        } else if (how_ == mode::main) {
            out.manual = AXO_MANUAL_ALL;
            out.no_quantum_us = 1; /* turns end by their messages, not by the machine's speed */
            out.seed = 1;
            out.trace = [](void *user, const axo_event *event) {
                axo_record_hash_add(static_cast<axo_record_hash *>(user), event);
            };
            out.trace_user = &events;
        }
        return out;
    }

    /* The barrier. The main thread helps with what is its own, with --mode main all, and visits no
     * slot of lent threads: it might come to be the one that waits for the loader's disk. */
    void phase(const std::vector<axo_ref> &to, std::uint32_t tag, const void *what,
               std::size_t size)
    {
        must(axo_group_send_many(group_.raw(), to.data(), static_cast<std::uint32_t>(to.size()),
                                 tag, what, size, nullptr),
             "axo_group_send_many");
        wait();
    }

    void wait()
    {
        must(axo_group_wait(group_.raw(), AXO_GROUP_FOREVER, AXO_GROUP_HOST), "axo_group_wait");
    }

    mode how_;
    std::uint64_t failed_before_ = 0;
    std::uint64_t instances_before_ = 0;
    std::atomic<std::int64_t> now_ns_;
    asset_count assets_;
    job_queue jobs_; /* in this order, and ended in the opposite one */
    axo::system system_;
    phase_group group_;
    scene scene_;
    std::optional<job_threads> threads_;
};

} // namespace engine

#endif
