/* record_engine_test.cpp - a thousand seeds of the engine example's world (test/example/engine):
 * recorded frame by frame, played from the file, and gone through by its plain loop: each time the
 * same place for every entity, and the same events twice. */
#include "hpp_check.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>

#include <axo/group.h>
#include <axo/record.h>

#include <unistd.h>

#include "../example/engine/entity.hpp"

namespace {

constexpr std::uint32_t entities = 230; /* three flocks */
constexpr std::uint32_t frames = 12;
constexpr std::int64_t frame_ns = 16666667;
enum { call_think = 1, call_move };
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr bool sanitized = true; /* some forty times slower */
#else
constexpr bool sanitized = false;
#endif

/* What the frame is told: a pointer that is down in some of them. */
engine::thought thought_of(std::uint32_t frame)
{
    const auto place = static_cast<std::int32_t>(frame * 37 % 400);
    return {frame, {place, place / 2, frame % 5 == 4 ? 1U : 0U}};
}

/* A run: what `begin`, `call` and `digest` work on. */
class run {
  public:
    run(std::uint64_t seed, const char *path) : world_(entities, seed)
    {
        axo_options_init(&options_);
        options_.seed = seed;
        options_.clock = [](void *user) { return static_cast<run *>(user)->now_; };
        options_.clock_user = this;
        axo_recording_init(&recording_);
        recording_.path = path;
        recording_.options = &options_;
        recording_.begin = begin;
        recording_.call = call;
        recording_.digest = digest;
        recording_.user = this;
        recording_.each_event = seed % 8 == 0 ? 1 : 0;
    }
    run(const run &) = delete;
    run &operator=(const run &) = delete;

    /* The main loop. */
    void record()
    {
        CHECK(axo_record_start(&recording_, &recorder_, nullptr) == AXO_OK);
        step();
        for (std::uint32_t frame = 0; frame < frames; frame++, now_ += frame_ns) {
            const engine::thought what = thought_of(frame);
            CHECK(axo_record_call(recorder_, call_think, &what, sizeof what) == AXO_OK);
            step();
            CHECK(axo_record_call(recorder_, call_move, nullptr, 0) == AXO_OK);
            step();
        }
        report();
    }
    void end_recording()
    {
        stop(axo_record_system(recorder_));
        CHECK(axo_record_end(recorder_) == AXO_OK);
    }

    axo_record_report replay()
    {
        axo_replay *replay = nullptr;
        axo_record_report found;
        axo_record_report_init(&found);
        if (!CHECK(axo_replay_start(&recording_, &replay, &found) == AXO_OK))
            std::abort();
        CHECK(axo_replay_run(replay, &found) == AXO_OK);
        if (!CHECK(found.state == AXO_RECORD_END))
            std::printf("record %u, event %u: %s\n", static_cast<unsigned>(found.record),
                        static_cast<unsigned>(found.event), found.text);
        stop(axo_replay_system(replay));
        CHECK(axo_replay_end(replay) == AXO_OK);
        return found;
    }

    const engine::world &world() const { return world_; }
    const axo_record_report &said() const { return said_; }

  private:
    static axo_status begin(void *user, axo_system *system, const void *, std::size_t)
    {
        run *me = static_cast<run *>(user);
        axo_status status = axo_group_make(system, &me->group_);
        me->scene_ = std::make_unique<engine::scene>(engine::scene{
            me->world_, me->group_, &engine::entity_ai, std::vector<axo_ref>(entities)});
        for (std::uint32_t first = 0; first < entities; first += engine::flock) {
            axo_ref ref{};
            if (status != AXO_OK)
                break;
            status = axo::detail::spawn_as<engine::flock_actor>(
                [&](const axo_props &props) { return axo_system_spawn(system, &props, &ref); },
                nullptr, me->scene_.get(), first);
            if (status == AXO_OK)
                status = axo_system_send(system, ref, engine::muster::tag, nullptr, 0);
        }
        return status;
    }

    /* A phase of the frame. The step behind it is the barrier: it ends when nothing is left. */
    static axo_status call(void *user, axo_system *, std::uint32_t number, const void *bytes,
                           std::size_t size)
    {
        run *me = static_cast<run *>(user);
        const std::vector<axo_ref> &cast = me->scene_->cast;
        const bool moves = number == call_move;
        if (number == call_think && me->thought_++ > 0)
            me->world_.flip();
        return axo_group_send_many(me->group_, cast.data(), entities,
                                   moves ? engine::motion::tag : engine::thought::tag, bytes,
                                   static_cast<std::uint32_t>(size), nullptr);
    }

    static std::uint64_t digest(void *user, axo_system *)
    {
        return static_cast<run *>(user)->world_.hash();
    }

    void step()
    {
        CHECK(axo_record_run(recorder_, -1, nullptr) == AXO_OK);
        CHECK(axo_group_wait(group_, 0, AXO_GROUP_SLEEP) == AXO_OK); /* none is counted */
    }
    void report()
    {
        axo_record_report_init(&said_);
        CHECK(axo_record_report_of(recorder_, &said_) == AXO_OK);
    }
    void stop(axo_system *system)
    {
        world_.flip();
        CHECK(axo_system_stop(system, -1, nullptr, 0, nullptr) == AXO_OK);
        CHECK(axo_group_free(group_) == AXO_OK);
    }

    engine::world world_;
    std::int64_t now_ = 0;
    std::uint32_t thought_ = 0;
    axo_options options_{};
    axo_recording recording_{};
    axo_recorder *recorder_ = nullptr;
    axo_group *group_ = nullptr;
    std::unique_ptr<engine::scene> scene_;
    axo_record_report said_{};
};

/* The plain loop of stage.hpp. */
std::uint64_t plain(std::uint64_t seed)
{
    engine::world what(entities, seed);
    std::vector<engine::plan> plans(entities);
    for (std::uint32_t id = 0; id < entities; id++)
        what.born(id);
    for (std::uint32_t frame = 0; frame < frames; frame++) {
        for (std::uint32_t id = 0; id < entities; id++) {
            try {
                const std::uint32_t met =
                    what.think(id, plans[id], thought_of(frame), engine::entity::fails_once_in);
                if (met != engine::nobody)
                    what.bumped(met);
            } catch (const engine::lost &) {
                plans[id] = engine::plan{};
                what.born(id);
            }
        }
        for (std::uint32_t id = 0; id < entities; id++)
            what.move(id);
        what.flip();
    }
    return what.hash();
}

void a_seed(std::uint64_t seed, const char *path, std::uint64_t *failures)
{
    std::uint64_t hash = 0;
    axo_record_hash events{};
    {
        run first(seed, path);
        first.record();
        events = first.said().hash;
        first.end_recording();
        hash = first.world().hash();
        *failures += first.world().failed();
    }
    {
        run again(seed, path);
        const axo_record_report played = again.replay();
        CHECK(played.hash.value == events.value && played.hash.events == events.events);
        CHECK(again.world().hash() == hash);
    }
    CHECK(plain(seed) == hash);
    CHECK(unlink(path) == 0);
}

} // namespace

int main()
{
    const char *slower = std::getenv("AXO_TEST_SLOWER");
    const bool few = slower != nullptr && std::strtol(slower, nullptr, 10) > 1;
    const std::uint64_t seeds = few ? 20 : sanitized ? 100 : 1000;
    const std::string path = "/tmp/axo-record-engine-" + std::to_string(getpid());
    std::uint64_t failures = 0;
    unlink(path.c_str());
    for (std::uint64_t seed = 1; seed <= seeds && check::wrong == 0; seed++)
        a_seed(seed, path.c_str(), &failures);
    CHECK(failures > seeds / 50); /* and entities have been restarted */
    return check::result("record_engine_test");
}
