/* main.cpp - the workloads on CAF: options, repeats, one JSON line a result. */
#include <algorithm>
#include <cstring>
#include <malloc.h>
#include <string>
#include <thread>

#include "peer.h"

unsigned peer_workers;

config::config(uint64_t throughput)
{
    set("scheduler.max-threads", static_cast<size_t>(peer_workers));
    if (throughput != 0)
        set("scheduler.max-throughput", static_cast<size_t>(throughput));
}

struct work {
    const char *name;
    const char *unit;
    const char *note;
    outcome (*run)(uint64_t divide);
};

static const char turns[] = "max-throughput 1: the default starves the others";
static const char remade[] = "quit, down-handler of a monitor spawns anew and sends the next "
                             "message: the mailbox does not survive";

static const work works[] = {
    {"W1", "messages/s", "", [](uint64_t d) { return pingpong(1, 3000000 / d); }},
    {"W2", "messages/s", "", [](uint64_t d) { return pingpong(8, 3000000 / d); }},
    {"W2k", "messages/s", "", [](uint64_t d) { return pingpong(1000, 3000000 / d); }},
    {"W3a", "hops/s", "", [](uint64_t d) { return ring(100, 1, 3000000 / d); }},
    {"W3b", "hops/s", "", [](uint64_t d) { return ring(1000, 100, 3000000 / d); }},
    {"W4", "messages/s", "", [](uint64_t d) { return fanin(4, 1000000 / d); }},
    {"W5", "ns", "", [](uint64_t d) { return skynet(1000000 / d); }},
    {"W6", "actors/s", "four batches of 256 under way",
     [](uint64_t d) { return churn(1000000 / d); }},
    {"W7", "bytes/actor", "", [](uint64_t d) { return idle(1000000 / d); }},
    {"W8a", "restarts/s", remade, [](uint64_t d) { return hot(200000 / d); }},
    {"W8b", "ns", remade, [](uint64_t d) { return paced(1000 / d); }},
    {"W8c", "ns", "as W8b, max-throughput 1: the default starves the others",
     [](uint64_t d) { return loaded(1000 / d, 10000, int64_t{2000000000} / int64_t(d)); }},
    {"W9a", "ns", "the new parent, made by a down-handler, tells each child to begin anew",
     [](uint64_t d) { return parent_keeps(1000, 200 / d + 3); }},
    {"W9b", "ns", "children are linked to their parent; a down-handler makes it anew",
     [](uint64_t d) { return parent_remakes(1000, 200 / d + 3); }},
    {"W10", "messages/s", "", [](uint64_t d) { return big(64, 24000 / d); }},
    {"W11", "burns/s", turns,
     [](uint64_t d) { return fairness(64, 1000, 2000000000 / std::min<int64_t>(int64_t(d), 3)); }},
    {"W12s", "ns", turns, [](uint64_t d) { return send_cost(300000 / d); }},
    {"W12r", "ns", turns, [](uint64_t d) { return send_running(10000 / d); }},
    {"W12p", "ns", "", [](uint64_t d) { return send_parked(1000 / d); }},
    {"W18k", "messages/s", "", [](uint64_t d) { return pingpong(500, 4000000 / d); }},
    {"W18m", "messages/s", "", [](uint64_t d) { return pingpong(500000 / d, 4000000 / d); }}};

int64_t status_bytes(const char *key)
{
    char line[256];
    long long kib = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file != nullptr && fgets(line, sizeof line, file) != nullptr) {
        if (strncmp(line, key, strlen(key)) == 0 && sscanf(line, "%*s %lld", &kib) == 1)
            break;
    }
    if (file != nullptr)
        (void)fclose(file); /* only read */
    return kib * 1024;
}

static int64_t share_of(const std::vector<int64_t> &sorted, double share)
{
    double exact = share * static_cast<double>(sorted.size());
    size_t rank = static_cast<size_t>(exact);
    if (rank > 0 && static_cast<double>(rank) == exact)
        rank--;
    return sorted[std::min(rank, sorted.size() - 1)];
}

outcome percentiles(std::vector<int64_t> &&samples)
{
    if (samples.empty()) {
        (void)fprintf(stderr, "peer caf: no samples\n");
        exit(1);
    }
    std::sort(samples.begin(), samples.end());
    double half = static_cast<double>(share_of(samples, 0.5));
    return {half, std::move(samples)};
}

static outcome once(const work &what, uint64_t divide)
{
    (void)malloc_trim(0); /* gives back what it can */
    FILE *file = fopen("/proc/self/clear_refs", "w");
    if (file != nullptr) {
        (void)fputs("5", file); /* without it the peak is the program's, not the run's */
        (void)fclose(file);
    }
    return what.run(divide);
}

static void print_tail(const std::vector<outcome> &results, const char *name, double share)
{
    std::vector<int64_t> values;
    for (const outcome &one : results)
        if (!one.samples.empty())
            values.push_back(share_of(one.samples, share));
    if (values.empty())
        return;
    std::sort(values.begin(), values.end());
    (void)printf("\"%s\":%lld,", name, static_cast<long long>(values[values.size() / 2]));
}

static void measure(const work &what, size_t repeats, uint64_t divide)
{
    std::vector<outcome> results;
    std::vector<double> figures;
    int64_t peak = 0;
    if (strcmp(what.name, "W7") == 0)
        repeats = 1; /* malloc keeps what it once had */
    else
        (void)once(what, divide); /* to warm up */
    for (size_t i = 0; i < repeats; i++) {
        results.push_back(once(what, divide));
        figures.push_back(results.back().figure);
        peak = std::max(peak, status_bytes("VmHWM:"));
    }
    std::sort(figures.begin(), figures.end());
    (void)printf("{\"workload\":\"%s\",\"peer\":\"caf\",\"unit\":\"%s\",\"median\":%.3f,"
                 "\"min\":%.3f,\"max\":%.3f,\"repeats\":%zu,\"workers\":%u,\"peak_bytes\":%lld,",
                 what.name, what.unit, (figures[repeats / 2] + figures[(repeats - 1) / 2]) / 2,
                 figures.front(), figures.back(), repeats, peer_workers,
                 static_cast<long long>(peak));
    print_tail(results, "p50_ns", 0.5);
    print_tail(results, "p99_ns", 0.99);
    print_tail(results, "p999_ns", 0.999);
    print_tail(results, "max_ns", 1.0);
    (void)printf("\"note\":\"%s\"}\n", what.note);
    (void)fflush(stdout);
}

int main(int argc, char **argv)
{
    std::string only;
    uint64_t repeats = 5;
    uint64_t divide = 1;
    peer_workers = std::thread::hardware_concurrency();
    for (int i = 1; i + 1 < argc; i += 2) {
        std::string name = argv[i];
        uint64_t number = strtoull(argv[i + 1], nullptr, 10);
        if (name == "--only")
            only = std::string(",") + argv[i + 1] + ",";
        else if (name == "--workers" && number > 0)
            peer_workers = static_cast<unsigned>(number);
        else if (name == "--repeats" && number > 0)
            repeats = number;
        else if (name == "--divide" && number > 0)
            divide = number;
        else
            return 2;
    }
    for (const work &what : works)
        if (only.empty() || only.find(std::string(",") + what.name + ",") != std::string::npos)
            measure(what, repeats, divide);
    return 0;
}
