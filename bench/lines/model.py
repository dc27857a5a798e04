#!/usr/bin/env python3
# model.py - what the counted lines foretell for more processors, beside what was measured.
#
#   bench/lines/model.py [--line NS] [--counts FILE] [RESULTS...]
#                        L if not F-line; bench/lines/counts.json; bench/baseline.json
#
# own   ns of one on one worker, measured
# T(P)  lines fetched for one with P workers; counted for 2, 4, 8. Beyond, what meets another worker
#       by chance grows as 1 - 1/P: T(P) = T(8) (1 - 1/P) / (1 - 1/8). Upgrades are not in it: a
#       store waits in its buffer and not in its worker
# L     ns of a line's way from one processor to another, F-line of bench/peers/floor
# e     how much of L a worker waits for a line: 1 if it needs each before it can ask for the next;
#       less where it asks for several at once or ahead of time. From the rate X of two workers:
#       e = (2 / X - own) / (T(2) L). More than 1: two workers lose by something else than lines,
#       or meet more often at full speed than when they were counted
# h     how often the hottest line moves, the most that was counted
# X(P) = min(P / (own + e T(P) L), 1 / (h L)) of them a second. The first is what P processors do
# that wait for lines; the second what one line can serve, which only one has at a time. Neither
# knows of caches that are too small, of memory's bandwidth, of a second socket, where L is some
# three times as long. Of several runs the best counts: what disturbs a run only slows it.
import argparse
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
# A case of lines.py, and its result by workers.
MEASURED = (("message, 1000 pairs", "W2k"), ("message, ring of 1000, 100 tokens", "W3b"),
            ("message, 64 all to all", "W10"), ("message, 4 to 1, credits", "W4c"),
            ("spawn, message, stop", "W6"))
FORETOLD = (8, 32, 64)


def lines_of(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def at(counted, processors, value):
    """A count for so many processors."""
    most = max(counted)
    if processors in counted:
        return value(counted[processors])
    return value(counted[most]) * (1 - 1 / processors) / (1 - 1 / most)


def fetched(count):
    return max(0.0, count["fetched"])


def hottest(counted):
    return max(1e-9, *[count["hottest"] for count in counted.values()])


def rate(own, waits_ns, counted, line_ns, processors):
    """(million a second, whether the hottest line is what bounds it)."""
    shared = processors / (own + at(counted, processors, fetched) * waits_ns)
    alone = 1 / (hottest(counted) * line_ns)
    return min(shared, alone) * 1e3, alone < shared


def row_of(name, counted, best, line_ns):
    own, two = 1e9 / best[1], 2e9 / best[2]
    lines_ns = fetched(counted[2]) * line_ns
    overlap = max(0.0, (two - own) / lines_ns) if lines_ns else 0.0
    row = [name, f"{own:.0f}"] + [f"{at(counted, count, fetched):.3f}" for count in (2, 8)] + \
        [f"{hottest(counted):.3f}", f"{overlap:.2f}", f"{best[1] / 1e6:.1f}",
         f"{best[2] / 1e6:.1f}"]
    for processors in FORETOLD:
        foretold, bounded = rate(own, overlap * line_ns, counted, line_ns, processors)
        row.append(f"{foretold:.{0 if foretold >= 10 else 1}f}{' *' if bounded else ''}")
    return row


def main():
    parser = argparse.ArgumentParser(description="what the counted lines foretell")
    parser.add_argument("--line", type=float)
    parser.add_argument("--counts", default=os.path.join(HERE, "counts.json"))
    parser.add_argument("results", nargs="*",
                        default=[os.path.join(os.path.dirname(HERE), "baseline.json")])
    settings = parser.parse_args()
    counts = lines_of(settings.counts)
    accepted = [line for path in settings.results for line in lines_of(path)]
    line_ns = settings.line or next(line["median"] for line in accepted if line.get("workload") ==
                                    "F-line" and line.get("peer") == "floor")
    print(f"L = {line_ns:.0f} ns; million a second; * bounded by the hottest line\n")
    print("| of one | own, ns | T(2) | T(8) | h | e | 1 worker, measured | 2 measured | " +
          " | ".join(f"{processors} foretold" for processors in FORETOLD) + " |")
    print("| --- " * (8 + len(FORETOLD)) + "|")
    for name, bench in MEASURED:
        counted = {line["workers"]: line for line in counts if line["name"] == name}
        best = {}
        for line in accepted:
            if line.get("bench") == bench:
                best[line["workers"]] = max(line["max"], best.get(line["workers"], 0))
        if {1, 2} <= set(best) and {2, 8} <= set(counted):
            print("| " + " | ".join(row_of(name, counted, best, line_ns)) + " |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
