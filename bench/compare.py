#!/usr/bin/env python3
# compare.py - what moved between two files of results, beyond the noise.
#
#   bench/compare.py BEFORE.json AFTER.json [--limit 0.05] [--all]
#
# Results are compared that have the same workload, options and number of workers; of several such
# lines in a file the medians' median, the least min and the greatest max count. Each result has a
# figure and further values (peak, percentiles), each with median, min and max over its runs.
#
#   The rule: a value has moved if its ranges do not overlap: the least of one file is above the
#   greatest of the other. Then it is better or worse by the ratio of the medians. It is a regression
#   if it is worse by more than --limit (0.05: a twentieth).
#
# A result of fewer than MIN_RUNS runs has no range to speak of and is not judged. Exit code: 0 no
# regression, 1 regressions, 2 the files cannot be read or have nothing in common.
import argparse
import json
import statistics
import sys

MIN_RUNS = 3


class Unusable(Exception):
    """A file that holds no results."""


class Result:
    """A workload with its options: the runs, and name -> (better, unit, median, min, max)."""

    def __init__(self, lines):
        first = lines[0]
        self.runs = sum(line["repeats"] for line in lines)
        self.disturbed = any(line["disturbed"] for line in lines)
        self.machine = (first.get("machine", {}).get("cpu"), first.get("machine", {}).get("cpus"))
        self.build = tuple(sorted(first.get("build", {}).items()))
        figures = [dict(line.get("values", {}), figure=line) for line in lines]
        self.values = {}
        for name in figures[0]:
            seen = [figure[name] for figure in figures if name in figure]
            unit = first["unit"] if name == "figure" else ""
            self.values[name] = (seen[0].get("better", "more"), unit,
                                 statistics.median(one["median"] for one in seen),
                                 min(one["min"] for one in seen), max(one["max"] for one in seen))


def read(path):
    """The results of a file: (workload, options, workers) -> Result, in the file's order."""
    lines = {}
    try:
        with open(path, encoding="utf-8") as file:
            for number, text in enumerate(file, 1):
                if not text.strip():
                    continue
                try:
                    line = json.loads(text)
                    key = (line["bench"], json.dumps(line["options"], sort_keys=True),
                           line["workers"])
                    for field in ("unit", "repeats", "disturbed", "median", "min", "max"):
                        line[field]
                except (ValueError, KeyError, TypeError) as error:
                    raise Unusable(f"{path}:{number}: no result: {error!r}") from error
                lines.setdefault(drop_clock(key), []).append(line)
    except OSError as error:
        raise Unusable(str(error)) from error
    if not lines:
        raise Unusable(f"{path}: no results")
    return {key: Result(found) for key, found in lines.items()}


def drop_clock(key):
    """The cost of the clock is measured anew by each program and is no option."""
    options = {name: value for name, value in json.loads(key[1]).items()
               if not name.startswith("clock")}
    return key[0], json.dumps(options, sort_keys=True), key[2]


def judge(before, after):
    """("same" | "better" | "worse", change): by how much the median changed, +0.1: a tenth up."""
    better, _, old, old_min, old_max = before
    _, _, new, new_min, new_max = after
    change = (new - old) / abs(old) if old else (0.0 if new == old else float("inf"))
    if new_min <= old_max and old_min <= new_max:
        return "same", change
    up = new > old
    return ("better" if up == (better == "more") else "worse"), change


def loss(before, after):
    """How much worse: 0.1 is a tenth fewer of what should be more, or a tenth more of the rest."""
    better, old, new = before[0], before[2], after[2]
    if better == "more":
        return 1.0 - new / old if old else 0.0
    return new / old - 1.0 if old else float("inf")


def number(value):
    for scale, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= scale:
            return f"{value / scale:.3f} {letter}"
    return f"{value:.3f} "


def row(key, name, before, after, verdict, change, mark):
    unit = before[1] or name
    what = f"{key[0]}/{name}" if name != "figure" else key[0]
    return (f"{what:18} {number(before[2]):>11} -> {number(after[2]):>11}{unit:14} "
            f"{change * 100:+8.1f} %  {verdict}{mark}")


def compare(old, new, limit, everything, say):
    """Says what moved; returns the number of regressions."""
    regressions = unjudged = same = moved = 0
    for key in [key for key in old if key in new]:
        before, after = old[key], new[key]
        if before.runs < MIN_RUNS or after.runs < MIN_RUNS:
            say(f"{key[0]:18} not judged: fewer than {MIN_RUNS} runs")
            unjudged += 1
            continue
        for name in [name for name in before.values if name in after.values]:
            verdict, change = judge(before.values[name], after.values[name])
            bad = verdict == "worse" and loss(before.values[name], after.values[name]) > limit
            regressions += bad
            same += verdict == "same"
            moved += verdict != "same"
            mark = "  REGRESSION" if bad else ""
            mark += "  (disturbed)" if before.disturbed or after.disturbed else ""
            if verdict != "same" or everything:
                say(row(key, name, before.values[name], after.values[name], verdict, change, mark))
    for key in [key for key in old if key not in new]:
        say(f"{key[0]:18} only before: {key[1]}, {key[2]} workers")
    for key in [key for key in new if key not in old]:
        say(f"{key[0]:18} only after: {key[1]}, {key[2]} workers")
    say(f"{moved} values moved, {same} did not, {unjudged} results not judged, "
        f"{regressions} regressions beyond {limit * 100:g} %")
    return regressions


def main(arguments, say=print):
    parser = argparse.ArgumentParser(description="What moved between two files of results.")
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--limit", type=float, default=0.05)
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args(arguments)
    try:
        old, new = read(options.before), read(options.after)
        common = [key for key in old if key in new]
        if not common:
            raise Unusable("the files have no result in common")
    except Unusable as error:
        say(f"compare: {error}")
        return 2
    if any(old[key].machine != new[key].machine for key in common):
        say("note: the files are from different machines")
    if any(old[key].build != new[key].build for key in common):
        say("note: the files are from different builds")
    return 1 if compare(old, new, options.limit, options.all, say) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
