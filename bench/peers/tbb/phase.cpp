/* phase.cpp - G2, G3 on oneTBB, parallel_for as its user writes it, and as a plain loop: 10 000
 * entities, each a call through its own pointer to a function. */
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>

static const size_t entities_count = 10000;
static const uint64_t phases = 100;

struct entity {
    void (*run)(entity *self, uint64_t links);
    uint64_t handled;
    char rest[48]; /* a line of its own, as an actor has */
};

struct work {
    const char *name;
    uint64_t links;
};

static const work works[] = {{"G2", 1000}, {"G3", 0}};

static int64_t now_ns()
{
    timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail with this clock */
    return static_cast<int64_t>(now.tv_sec) * 1000000000 + now.tv_nsec;
}

/* As bench_chain of bench.h. */
static void entity_run(entity *self, uint64_t links)
{
    uint64_t value = links;
    for (; links > 0; links--)
        value = value * 6364136223846793005u + 1442695040888963407u;
    __asm__ volatile("" : : "r"(value)); /* it is not left out */
    self->handled++;
}

static void phase_tbb(std::vector<entity> &all, uint64_t links)
{
    tbb::parallel_for(tbb::blocked_range<size_t>(0, all.size()),
                      [&all, links](const tbb::blocked_range<size_t> &range) {
                          for (size_t i = range.begin(); i != range.end(); i++)
                              all[i].run(&all[i], links);
                      });
}

static void phase_loop(std::vector<entity> &all, uint64_t links)
{
    for (entity &one : all)
        one.run(&one, links);
}

static double run(void (*phase)(std::vector<entity> &, uint64_t), uint64_t links, uint64_t count)
{
    std::vector<entity> all(entities_count, entity{entity_run, 0, {}});
    uint64_t warm = count / 10 + 1;
    for (uint64_t i = 0; i < warm; i++)
        phase(all, links);
    int64_t begin = now_ns();
    for (uint64_t i = 0; i < count; i++)
        phase(all, links);
    int64_t ns = now_ns() - begin;
    for (const entity &one : all) {
        if (one.handled == warm + count)
            continue;
        (void)fprintf(stderr, "peer tbb: %llu calls of an entity\n",
                      static_cast<unsigned long long>(one.handled));
        exit(1);
    }
    return static_cast<double>(ns) / static_cast<double>(count * entities_count);
}

struct way {
    const char *peer;
    const char *note;
    void (*phase)(std::vector<entity> &all, uint64_t links);
};

static const way ways[] = {
    {"tbb", "parallel_for over an array: one call, no messages", phase_tbb},
    {"loop", "one after the other, on one thread", phase_loop}};

static void measure(const work &what, const way &how, size_t repeats, uint64_t count,
                    unsigned workers)
{
    std::vector<double> figures;
    for (size_t i = 0; i < repeats; i++)
        figures.push_back(run(how.phase, what.links, count));
    std::sort(figures.begin(), figures.end());
    (void)printf("{\"workload\":\"%s\",\"peer\":\"%s\",\"unit\":\"ns\",\"median\":%.3f,"
                 "\"min\":%.3f,\"max\":%.3f,\"repeats\":%zu,\"workers\":%u,\"note\":\"%s\"}\n",
                 what.name, how.peer, (figures[repeats / 2] + figures[(repeats - 1) / 2]) / 2,
                 figures.front(), figures.back(), repeats, workers, how.note);
}

static uint64_t number(const char *text)
{
    return strtoull(text, nullptr, 10);
}

int main(int argc, char **argv)
{
    std::string only;
    size_t repeats = 5;
    uint64_t divide = 1;
    unsigned workers = 1;
    for (int i = 1; i + 1 < argc; i += 2) {
        std::string name = argv[i];
        if (name == "--only")
            only = std::string(",") + argv[i + 1] + ",";
        else if (name == "--workers" && number(argv[i + 1]) > 0)
            workers = static_cast<unsigned>(number(argv[i + 1]));
        else if (name == "--repeats" && number(argv[i + 1]) > 0)
            repeats = number(argv[i + 1]);
        else if (name == "--divide" && number(argv[i + 1]) > 0)
            divide = number(argv[i + 1]);
        else
            return 2;
    }
    tbb::global_control threads(tbb::global_control::max_allowed_parallelism, workers);
    uint64_t count = std::max<uint64_t>(1, phases / divide);
    for (const work &what : works) {
        if (!only.empty() && only.find(std::string(",") + what.name + ",") == std::string::npos)
            continue;
        for (const way &how : ways)
            measure(what, how, repeats, count, workers);
    }
    return 0;
}
