#!/usr/bin/env python3
# compare.py - what moved between two files of results, beyond the noise.
#
#   bench/compare.py BEFORE.json AFTER.json [--limit 0.05] [--all]
#
# The files hold what `make bench`, `make bench-growth` or `make bench-peers` wrote, or both, as
# bench/baseline.json does. Of the peers' results axo's own are compared, and the ratios: how many
# times better than each peer it is. Results are compared that have the same workload, options and
# number of workers; of several such lines in a file the medians' median, the least min and the
# greatest max count. Each result has a figure and further values (peak, percentiles), each with
# median, min and max over its runs.
#
#   The rule: a value has moved if its ranges do not overlap: the least of one file is above the
#   greatest of the other. Then it is better or worse by the ratio of the medians. It is a regression
#   if it is worse by more than --limit (0.05: a twentieth).
#
# Only like is compared with like: a result whose runs were made with the processors near each other and
# one with them far, or at another speed, or mixed, are not judged, as their lines say (bench/place.h);
# ratios of peers are, as their pairs are alike.
#
# A result of fewer than MIN_RUNS runs has no range to speak of and is not judged. Exit code: 0 no
# regression, 1 regressions, 2 the files cannot be read or have nothing in common.
import argparse
import json
import statistics
import sys

MIN_RUNS = 3
SAME_SPEED = 1.1  # as in bench/place.h


class Unusable(Exception):
    """A file that holds no results."""


class Result:
    """A workload with its options: the runs, and name -> (better, unit, median, min, max)."""

    def __init__(self, lines):
        first = lines[0]
        self.runs = sum(line["repeats"] for line in lines)
        self.disturbed = any(line["disturbed"] for line in lines)
        self.machine = (first.get("machine", {}).get("cpu"), first.get("machine", {}).get("cpus"))
        self.places = {line["place"] for line in lines if line.get("place")}
        self.links = [line["link_ns"] for line in lines if line.get("link_ns")]
        self.build = tuple(sorted(first.get("build", {}).items()))
        figures = [dict(line.get("values", {}), figure=line) for line in lines]
        self.values = {}
        for name in figures[0]:
            seen = [figure[name] for figure in figures if name in figure]
            unit = first["unit"] if name == "figure" else ""
            self.values[name] = (seen[0].get("better", "more"), unit,
                                 statistics.median(one["median"] for one in seen),
                                 min(one["min"] for one in seen), max(one["max"] for one in seen))


def unlike(before, after):
    """Why two results are not to be compared; "" if they are, or if it is not known."""
    if not before.links or not after.links:
        return ""
    links = statistics.median(before.links), statistics.median(after.links)
    if max(links) > SAME_SPEED * min(links):
        return f"the processors' speed was {links[0] / links[1]:.2g} times as high after"
    if before.places != after.places or before.places & {"mixed"} or len(before.places) != 1:
        said = [" and ".join(sorted(one.places)) or "unknown" for one in (before, after)]
        return f"{said[0]} before, {said[1]} after"
    return ""


def lines_of(text, machine):
    """The results of a line, as the harness writes them; none of a line about something else."""
    line = json.loads(text)
    if "bench" in line:
        return [line]
    known = {"disturbed": 0, "workers": 0, "options": {}, "machine": machine, "build": {}}
    if "ratio_to" in line:
        name = f"{line['row']} / {line['ratio_to']}" + on_words(line)
        return [dict(known, **line, bench=name, unit="x")]
    if "own" in line:
        name = f"{line['row']}, {line['own']}" + on_words(line)
        return [dict(known, **line, bench=name, unit="x")]
    if "peer" not in line:
        machine.update(line["machine"])
        return []
    if line["peer"] != "axo":
        return []
    values = {name: dict(spread, better="less") for name, spread in line["values"].items()}
    better = "more" if line["unit"].endswith("/s") else "less"
    places = [word for word, count in line.get("places", {}).items() if count]
    return [dict(known, **dict(line, values=values), better=better,
                 bench=f"{line['workload']} beside peers" + on_words(line),
                 place=places[0] if len(places) == 1 else "mixed" if places else None)]


def on_words(line):
    return " on 1" if line.get("on") == 1 else ""


def read(path):
    """The results of a file: (workload, options, workers) -> Result, in the file's order."""
    lines, machine = {}, {}
    try:
        with open(path, encoding="utf-8") as file:
            for number, text in enumerate(file, 1):
                if not text.strip():
                    continue
                try:
                    for line in lines_of(text, machine):
                        lines.setdefault(key_of(line), []).append(line)
                except (ValueError, KeyError, TypeError) as error:
                    raise Unusable(f"{path}:{number}: no result: {error!r}") from error
    except OSError as error:
        raise Unusable(str(error)) from error
    if not lines:
        raise Unusable(f"{path}: no results")
    return {key: Result(found) for key, found in lines.items()}


def key_of(line):
    """What makes two results comparable. The cost of the clock is measured anew by each program and
    is no option."""
    for field in ("unit", "repeats", "disturbed", "median", "min", "max"):
        line[field]
    options = {name: value for name, value in line["options"].items()
               if not name.startswith("clock")}
    return line["bench"], json.dumps(options, sort_keys=True), line["workers"]


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
        why = unlike(before, after)
        if why:
            say(f"{key[0]:18} not judged: {why}")
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
