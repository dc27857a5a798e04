/* engine.cpp - the main loop of a game: thousands of entities are actors whose AI fails now and
 * then, their phases are barriers, sprites come from a disk that takes its time, and SDL draws it
 * all, with a picture of how long the frames take. Click: all come to the mouse; space: a pause.
 * Their code can be replaced while they live, and their world be saved and loaded. An hour of that:
 *
 *     engine --headless --frames 216000 --replace 3600 --save 36000 --mode main
 *
 *     c++ -std=c++17 -O2 engine.cpp $(pkg-config --cflags --libs axo-record sdl2) -o engine
 *
 *   world.hpp     the rules: plain functions
 *   entity.hpp    entities as actors, and who supervises them
 *   ai.cpp        their code as a plugin; plugin.hpp: which is loaded and unloaded
 *   stage.hpp     a frame's phases, on whose threads you like: --mode
 *   jobs.hpp      a job system, whose threads are lent to the actors
 *   assets.hpp    sprites from files, while the frames go on
 *   screen.hpp    the window; picture.hpp: the frame times; sdl.hpp: what SDL has made
 *   save_file.hpp what a saved game is written to
 *   settings.hpp  the command line
 *
 * The last line but one has a hash of what has become of all entities: the same for the same seed,
 * in every mode, saved and loaded or not. With --mode main a line before it has one of all events
 * of all actors, in their order: the same in each run. Exit status: 0; 1: something has failed, and
 * a line says what; 2: wrong usage. */
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <memory>

#include "picture.hpp"
#include "plugin.hpp"
#include "save_file.hpp"
#include "screen.hpp"
#include "settings.hpp"
#include "stage.hpp"

namespace engine {

static std::int64_t effort_ns()
{
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

class game {
  public:
    explicit game(const settings &given)
        : given_(given), screen_(given.headless), world_(given.entities, given.seed)
    {
        raise();
    }

    void run()
    {
        input in;
        while (!in.quit && (given_.frames == 0 || frames_ < given_.frames)) {
            const std::int64_t begin = effort_ns();
            if (frames_ == given_.click_frame)
                screen::press(given_.click);
            screen_.listen(in);
            if (in.paused)
                show();
            else
                frame(in.seen, begin);
            pace(begin);
        }
    }

    void report()
    {
        strike();
        const stage::totals &all = totals_;
        if (given_.picture != nullptr) {
            screen_.draw(world_, times_);
            screen_.save(given_.picture);
            std::printf("picture %d x %d, bars %zu\n", width, screen::rows, times_.shown());
        }
        std::printf("frame ms p50 %.3f p99 %.3f max %.3f of %.3f\n", times_.percentile(50),
                    times_.percentile(99), times_.percentile(100), budget_ns / 1e6);
        if (given_.replace != 0 || given_.save != 0)
            std::printf("replaced %u saved %u\n", replaced_, saved_);
        if (given_.how == mode::main)
            std::printf("events %" PRIu64 " %016" PRIx64 "\n", events_.events, events_.value);
        std::printf("hash %016" PRIx64 "\n", world_.hash());
        std::printf("frames %u failures %" PRIu64 " restarts %" PRIu64 " assets %u missing %u\n",
                    frames_, all.failures, all.restarts, all.assets.loaded, all.assets.missing);
        if (std::fflush(stdout) != 0)
            throw std::runtime_error("standard output cannot be written");
    }

  private:
    void frame(const pointer &seen, std::int64_t begin)
    {
        stage_->think({frames_, seen});
        const std::int64_t thought_at = effort_ns();
        stage_->move();
        world_.flip();
        const std::int64_t moved_at = effort_ns();
        frames_++;
        stage_->rest(frames_ * budget_ns); /* the game's time */
        if (given_.replace != 0 && frames_ % given_.replace == 0)
            replace();
        if (given_.save != 0 && frames_ % given_.save == 0)
            load(*save());
        show();
        times_.add({thought_at - begin, moved_at - thought_at, effort_ns() - moved_at});
    }

    void raise()
    {
        if (given_.how == mode::plain)
            stage_ = std::make_unique<plain_stage>(world_, plugin_.code());
        else
            stage_ = std::make_unique<actor_stage>(given_, world_, screen_, plugin_.code(),
                                                   frames_ * budget_ns, events_);
    }

    /* All actors end, and are counted. */
    void strike()
    {
        const stage::totals some = stage_->end();
        totals_.failures += some.failures;
        totals_.restarts += some.restarts;
        totals_.assets.loaded += some.assets.loaded;
        totals_.assets.missing += some.assets.missing;
        stage_.reset();
    }

    /* The other version takes the entities over, and the one that they had goes. */
    void replace()
    {
        plugin next(replaced_++ % 2 == 0 ? 2 : 1);
        stage_->replace(next.code());
        std::swap(plugin_, next);
        next.unload();
    }

    std::unique_ptr<save_file> save()
    {
        auto file = std::make_unique<save_file>();
        world_.save(*file);
        file->put(stage_->notes());
        saved_++;
        return file;
    }

    /* Nothing is left but the file: the world is a new one, and so is the system. */
    void load(save_file &file)
    {
        strike();
        world_ = world(given_.entities, given_.seed);
        raise();
        std::vector<note> notes(world_.size());
        file.rewind();
        world_.load(file);
        file.take(notes);
        stage_->go_on(notes);
    }

    void show() const
    {
        screen_.draw(world_, times_);
        screen_.show();
    }

    /* Without a window nobody waits for the next frame. */
    void pace(std::int64_t begin) const
    {
        const std::int64_t left = begin + budget_ns - effort_ns();
        if (!given_.headless && left > 0)
            SDL_Delay(static_cast<std::uint32_t>(left / 1000000));
    }

    settings given_;
    screen screen_;
    world world_;
    frame_times times_;
    std::uint32_t frames_ = 0;
    std::uint32_t replaced_ = 0;
    std::uint32_t saved_ = 0;
    stage::totals totals_;
    axo_record_hash events_{};
    plugin plugin_;
    std::unique_ptr<stage> stage_; /* ends before the screen and the code that its actors have */
};

} // namespace engine

int main(int argc, char **argv)
{
    try {
        engine::game game(engine::settings_of(argc, argv));
        game.run();
        game.report();
        return 0;
    } catch (const engine::wrong_usage &wrong) {
        static_cast<void>(std::fprintf(stderr, "engine: %s\n%s", wrong.what(), engine::usage));
        return 2;
    } catch (const std::exception &why) {
        static_cast<void>(std::fprintf(stderr, "engine: %s\n", why.what()));
        return 1;
    }
}
