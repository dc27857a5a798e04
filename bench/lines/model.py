#!/usr/bin/env python3
# model.py - what the counted lines foretell for more processors, beside what was measured.
#
#   bench/lines/model.py [COUNTS [BASELINE]]     bench/lines/counts.json, bench/baseline.json
#
# own   ns of one on one worker, measured
# T(P)  lines that one moves with P workers, fetched and upgraded; counted for 2, 4, 8. Beyond, what
#       meets another worker by chance grows as 1 - 1/P: T(P) = T(8) (1 - 1/P) / (1 - 1/8)
# h(P)  how often the hottest line moves, likewise
# L     ns of a line's way from one processor to another, F-line of bench/peers/floor
# X(P) = min(P / (own + T(P) L), 1 / (h(P) L)) of them a second. The first is what P processors do
# that wait for each line they do not have; the second what one line can serve, which only one has
# at a time. Neither knows of caches that are too small, of memory's bandwidth, of a second socket.
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
# A case of lines.py, and its result by workers.
MEASURED = (("message, 1000 pairs", "W2k"), ("message, ring of 1000, 100 tokens", "W3b"),
            ("message, 64 all to all", "W10"), ("message, 4 to 1, credits", "W4c"),
            ("spawn, message, stop", "W6"))
FORETOLD = (2, 8, 32, 64)


def lines_of(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def at(counted, processors, value):
    """A count for so many processors."""
    most = max(counted)
    if processors in counted:
        return value(counted[processors])
    return value(counted[most]) * (1 - 1 / processors) / (1 - 1 / most)


def moves(count):
    return max(0.0, count["fetched"] + count["upgraded"])


def rate(own, counted, line_ns, processors):
    """(million a second, whether the hottest line is what bounds it)."""
    moved = at(counted, processors, moves)
    hottest = at(counted, processors, lambda count: count["hottest"])
    shared = processors / (own + moved * line_ns)
    alone = 1 / (max(hottest, 1e-9) * line_ns)
    return min(shared, alone) * 1e3, alone < shared


def main():
    counts = lines_of(sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "counts.json"))
    accepted = lines_of(sys.argv[2] if len(sys.argv) > 2 else
                        os.path.join(os.path.dirname(HERE), "baseline.json"))
    line_ns = next(line["median"] for line in accepted
                   if line.get("workload") == "F-line" and line.get("peer") == "floor")
    print(f"L = {line_ns:.0f} ns; million a second; * bounded by the hottest line\n")
    print("| | own, ns | T(2) | T(8) | h(8) | 2 measured | " +
          " | ".join(f"{processors} foretold" for processors in FORETOLD) + " |")
    print("| --- " * (6 + len(FORETOLD)) + "|")
    for name, bench in MEASURED:
        counted = {line["workers"]: line for line in counts if line["name"] == name}
        found = {line["workers"]: line["median"] for line in accepted
                 if line.get("bench") == bench}
        if 1 not in found or 2 not in found or not counted:
            continue
        own = 1e9 / found[1]
        row = [name, f"{own:.0f}"] + \
            [f"{at(counted, count, moves):.2f}" for count in (2, 8)] + \
            [f"{counted[8]['hottest']:.3f}", f"{found[2] / 1e6:.1f}"]
        for processors in FORETOLD:
            foretold, bounded = rate(own, counted, line_ns, processors)
            row.append(f"{foretold:.0f}{' *' if bounded else ''}")
        print("| " + " | ".join(row) + " |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
