#!/usr/bin/env python3
# figures.py - the figures of README.md and bench/RESULTS.md, written from the accepted results.
#
#   tools/figures.py --check        do the tables of both pages say what the results are?
#   tools/figures.py --write        makes them say it
#   tools/figures.py --accept build/bench --plots build/plots [--anyway]
#                                   accepts new results: writes them, the pages, and the pictures
#   [--root FOLDER] [--from bench/baseline.json] [--goals bench/goals.json] [--counts test/static]
#
# The accepted results are what `make bench-peers` (peers.json) and `make bench-growth`
# (growth.json) wrote, one after the other. What stands between the two marks of a page is made here
# and nowhere else: ten rows in README.md, the goals in bench/README.md, everything in
# bench/RESULTS.md. Results of a quick run, and results that other processes disturbed, are not
# accepted, but with --anyway; then the text says so. A ratio says how many times better axo is.
#
# A goal (bench/goals.json) is met only against the best peer: of those that were measured with axo, on
# all workers or on one, and of those that are quoted from runs on other machines because they cannot
# be run here. Of a quoted run only ratios count: the quoted peer's to one that is in both runs. What
# was counted is read from what is accepted in test/static. What a note says in braces is filled in:
#
#   {instructions W1}  {locked message, 1 pair}  {lines restart}     of instructions.txt and lines.txt
#   {fetched actor of skynet}  {upgraded ...}  {steals ...}          of counts.json, on two workers,
#   {fetched_1 restart, paced}  {locked_2 ...}                       or on so many
#   {floor F-line}  {two W10}  {others W10}      of the results: bare C, axo's two workers to one, peers'
#
# A row that a second worker slows has a note in "slower": without one new results are refused, and one
# that is left over is an error of the check.
import argparse
import difflib
import json
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
GOALS = os.path.join(ROOT, "bench", "goals.json")
COUNTS = os.path.join(ROOT, "test", "static")
BEGIN = "<!-- figures: made by tools/figures.py, not by hand -->"
END = "<!-- figures: end -->"
NAMES = {"axo": "axo", "erlang": "Erlang/OTP", "erlang-bare": "Erlang without a supervisor",
         "erlang-normal": "Erlang at normal priority", "elixir": "Elixir",
         "caf": "CAF", "go": "Go", "go-supervised": "Go with a supervisor",
         "go-panic": "Go by panic", "tokio": "tokio", "tokio-panic": "tokio by panic",
         "tbb": "oneTBB", "loop": "a plain loop", "floor": "bare C"}
COLUMNS = ("axo", "erlang", "caf", "go")
# A column only where it was measured.
OPTIONAL = ("tokio",)
STEPS = {"ns": [(1e9, "s"), (1e6, "ms"), (1e3, "us"), (1, "ns")],
         "bytes": [(2**20, "MiB"), (2**10, "KiB"), (1, "B")],
         "bytes/actor": [(1, "B")],
         "/s": [(1e6, "M/s"), (1e3, "k/s"), (1, "/s")]}
# Rows below a workload's figure: value, what it is called, unit.
PEAK = [("peak_bytes", "peak", "bytes")]
P50, P99, P999, MAX = [(f"{key}_ns", word, "ns") for key, word in (
    ("p50", "p50"), ("p99", "p99"), ("p999", "p99.9"), ("max", "max"))]
MORE = {"W4": PEAK, "W4c": PEAK, "W5": PEAK, "W8a": [P50, P99, P999], "W8w": [P50, P99, P999],
        "W8b": [P99], "W8c": [P99, P999, MAX],
        "W9c": [P99, P999, MAX, ("last_p50_ns", "last child p50", "ns"),
                ("last_p99_ns", "last child p99", "ns"), ("last_max_ns", "last child max", "ns")],
        "W11": [P50, P99], "W12p": [P99]}
# Whose notes a reader of the table needs: where a peer has no such thing, what stands for it.
NOTED = ("W4", "W4c", "W8a", "W8w", "W8b", "W8c", "W9a", "W9b", "W9c", "W11", "W12s")
# README's ten rows, the lost ones among them: a workload, or a value below it.
SHORT = ("W1", "W3b", "W4", "W5", "W6", "W7", "W8a p99", "W8c p99", "W9a", "W12s")
# What a whole set of results has.
WORKLOADS = ("W1 W2 W2k W3a W3b W4 W5 W6 W7 W8a W8b W8c W9a W9b W10 W11 W12s W12r W12p "
             "W18k W18m").split()
# Those of which not every peer has a like.
SOME = ("W4c", "W8w", "W9c", "W22")
FEW = 3  # runs that a row has at least
# The least that a message takes: it is pushed, claimed and finished by three locked operations, and
# goes through a call and a pool.
FLOOR_RMW, FLOOR_REST_NS = 3, 2.5
NOISE = 0.98  # a ratio that is no less is as good as 1
GROWN = ("W1", "W2k", "W3b", "W10", "W4c", "W6", "W18", "W19d", "W19w", "W20")


class Refused(Exception):
    """The results or a page are not fit."""


# ---- words

def digits(value):
    return f"{value:.0f}" if value >= 99.95 else f"{value:.3g}"


def words(value, unit):
    """A figure with three digits and its unit."""
    steps = STEPS.get(unit, STEPS["/s"])
    least, word = next(((least, word) for least, word in steps if value >= least), steps[-1])
    return f"{digits(value / least)} {word}"


def spread_words(spread, unit):
    return (f"{words(spread['median'], unit)} ({words(spread['min'], unit)} to "
            f"{words(spread['max'], unit)})")


def table(head, rows):
    return ["| " + " | ".join(head) + " |", "| --- " * len(head) + "|"] + \
        ["| " + " | ".join(row) + " |" for row in rows]


# ---- reading

def lines_of(path):
    try:
        with open(path, encoding="utf-8") as file:
            return [json.loads(line) for line in file if line.strip()]
    except (OSError, ValueError) as error:
        raise Refused(f"{path}: {error}") from error


class Results:
    """The lines of a file, by what they are."""

    def __init__(self, path):
        lines = lines_of(path)
        if not lines or "machine" not in lines[0] or "peer" in lines[0]:
            raise Refused(f"{path}: the first line is not the machine")
        self.machine = lines[0]["machine"]
        most = self.machine.get("workers")
        whole = [line for line in lines if line.get("on", most) == most]
        self.peers = {(line["workload"], line["peer"]): line for line in whole if "peer" in line}
        self.ratios = {(line["row"], line["ratio_to"]): line for line in whole
                       if "ratio_to" in line}
        self.own = {(line["row"], line["own"]): line for line in whole if "own" in line}
        self.alone = {(line["workload"], line["peer"]): line for line in lines
                      if "peer" in line and line.get("on", most) != most}
        self.bench = [line for line in lines if "bench" in line]
        self.titles = {line["workload"]: line["title"] for line in lines if "peer" in line}
        if not self.peers:
            raise Refused(f"{path}: no results")

    def faults(self):
        """Why these results should not be accepted."""
        if self.machine.get("quick"):
            yield "a quick run"
        missing = self.missing()
        if missing:
            yield f"without {', '.join(missing)}"
        yield from self.disturbed()

    def missing(self):
        """What a whole set of results would have."""
        missing = [work for work in WORKLOADS if any((work, peer) not in self.peers
                                                     for peer in COLUMNS)]
        missing += [work for work in SOME if (work, "axo") not in self.peers]
        return missing + [name for name in GROWN if not self.of_bench(name)]

    def disturbed(self):
        """Why these results should not be quoted, but for what is missing."""
        if self.machine.get("quick"):
            return
        few = sorted(f"{work} {peer}" for (work, peer), line in self.peers.items()
                     if line["repeats"] < FEW)
        if few:
            yield f"fewer than {FEW} quiet runs: {', '.join(few)}"
        loud = {f"{work} {peer}" for (work, peer), line in self.peers.items() if line["disturbed"]}
        loud |= {line["bench"] for line in self.bench if line["disturbed"]}
        if loud:
            yield f"disturbed by other processes: {', '.join(sorted(loud))}"

    def columns(self):
        return COLUMNS + tuple(peer for peer in OPTIONAL
                               if any(peer == there for _, there in self.peers))

    def of_bench(self, name):
        return [line for line in self.bench if line["bench"] == name]


# ---- beside others

def peers_cell(line, spread, unit, ratio):
    """Of axo median, least and most; of a peer the median, and how many times better axo is."""
    if spread is None:
        return "–"
    mark = "~" if line["disturbed"] else ""
    if line["peer"] == "axo":
        return mark + spread_words(spread, unit)
    text = mark + words(spread["median"], unit)
    return text + (f" · {digits(ratio['median'])} ×" if ratio else "")


def peers_row(results, work, key, name, unit, columns):
    """A row of the table; the columns that have nothing to say have a dash."""
    row = []
    for peer in columns:
        line = results.peers.get((work, peer))
        spread = None
        if line is not None:
            spread = line if key is None else line.get("values", {}).get(key)
        row.append(peers_cell(line, spread, unit or (line or {}).get("unit"),
                              results.ratios.get((name, peer))))
    return row


def peers_rows(results):
    """For each row its name, its title below the workload's own, and its cells."""
    for work, title in results.titles.items():
        if (work, "axo") not in results.peers:
            continue
        columns = results.columns()
        yield work, f"{work}: {title}", peers_row(results, work, None, work, None, columns)
        for key, word, unit in MORE.get(work, []):
            cells = peers_row(results, work, key, f"{work} {word}", unit, columns)
            if any(cell != "–" for cell in cells):
                yield f"{work} {word}", word, cells


def peers_table(results):
    return table([""] + [NAMES[peer] for peer in results.columns()],
                 [[title] + cells for _, title, cells in peers_rows(results)])


def own_cell(results, row, peer="axo"):
    line = results.own.get((row, peer))
    return "–" if line is None else \
        f"{digits(line['median'])} × ({digits(line['min'])} to {digits(line['max'])})"


def alone_table(results):
    """Each workload on one worker, and what the others add to it."""
    most = results.machine["workers"]
    columns = results.columns()
    rows = []
    for work, title in results.titles.items():
        if (work, "axo") not in results.alone:
            continue
        cells = []
        for peer in columns:
            line = results.alone.get((work, peer))
            cells.append("–" if line is None else words(line["median"], line["unit"]))
        rows.append([f"{work}: {title}"] + cells + [own_cell(results, f"{work} on {most} / 1")])
    return table([""] + [NAMES[peer] for peer in columns] + [f"axo, {most} workers to 1"], rows)


def alone(results):
    if not results.alone:
        return []
    text = ["", "### On one worker", "",
            "The same on one worker; the last column says how many times more axo gets done on "
            f"{results.machine['workers']}, of pairs.", ""] + alone_table(results)
    fallen = own_cell(results, "W18k / W18m")
    return text + ["", f"Messages of 1000 actors to those of a million: axo {fallen}."] + [""]


def short_table(results):
    rows = []
    for name, title, cells in peers_rows(results):
        if name not in SHORT:
            continue
        work = name.split(" ")[0]
        whole = title if name == work else f"{work}: {results.titles[work]}, {title}"
        rows.append([whole.split(": ", 1)[1], cells[0].split(" (")[0]] + cells[1:])
    return table([""] + [NAMES[peer] for peer in results.columns()], rows)


def others(results):
    """What is measured of few workloads only."""
    lines = []
    for (work, peer), line in results.peers.items():
        if peer in results.columns() or (work, "axo") not in results.peers:
            continue
        cell = peers_row(results, work, None, work, None, [peer])[0]
        lines.append(f"- {work}, {NAMES[peer]} ({line['note']}): {cell}")
    return lines


def notes(results):
    """What stands for a workload where a peer has no such thing; equal ones together."""
    said = {}
    for (work, peer), line in results.peers.items():
        if work in NOTED and peer in results.columns() and line["note"]:
            said.setdefault((peer, line["note"]), []).append(work)
    return [f"- {', '.join(works)}, {NAMES[peer]}: {note}" for (peer, note), works in said.items()]


def unfit(results):
    faults = ["a quick run"] if results.machine.get("quick") else list(results.disturbed())
    return f" ~ **Not to be quoted: {'; '.join(faults)}.**" if faults else ""


def where(results):
    """How near the processors were, and what was dropped."""
    lines = [line for line in [*results.peers.values(), *results.alone.values()] if "places" in line]
    if not lines:
        return ""
    counts = {}
    for line in lines:
        for word, count in line["places"].items():
            counts[word] = counts.get(word, 0) + count
    said = ", ".join(f"{count} {word}" for word, count in sorted(counts.items()))
    dropped = sum(line["dropped"] for line in lines)
    return (f" Runs by how far the processors were from each other: {said}; only runs that were alike make "
            f"a pair. Dropped, as other processes used the processors: {dropped}.")


def lacking(results):
    missing = results.missing()
    return f" Not measured: {', '.join(missing)}." if missing else ""


def short(results):
    machine = results.machine
    text = (f"On {machine['cpu']}, {machine['cpus']} processors, {machine['workers']} workers, "
            f"{machine['date']}: medians of {machine['rounds']} rounds in turns. `n ×`: axo is so "
            "many times better.")
    return ["", text + unfit(results), ""] + short_table(results) + [""]


def beside(results):
    machine = results.machine
    versions = ", ".join(f"{NAMES.get(name, name)} {version}"
                         for name, version in machine["versions"].items())
    text = (f"On {machine['cpu']}, {machine['cpus']} processors, Linux {machine['kernel']}, "
            f"{machine['date']}; {machine['workers']} workers; {versions}. Medians of "
            f"{machine['rounds']} rounds, in turns (`make bench-peers`); of axo also the least and "
            "the most. `n ×`: axo is so many times better, the median of pairs of runs.")
    return [text + where(results) + unfit(results) + lacking(results), ""] + peers_table(results) + ["", "Measured of one workload only:", ""] + \
        others(results) + ["", "Where a peer has no such thing, the closest that its user can "
                           "write; and other ways in which the programs differ:", ""] + \
        notes(results) + alone(results) + ["", "![how many times better axo is](plots/peers.svg)", ""]


# ---- growth

def thousands(number):
    return f"{number:,}".replace(",", " ")


def growth_row(name, line, values):
    return [name, words(line["median"], line["unit"])] + \
        [words(line["values"][value]["median"], "ns") for value in values]


def growth_actors(results):
    return table(["actors", "messages, all in pairs at once", "one more: spawn, message, stop",
                  "restart of one", "making them all, an actor"],
                 [growth_row(thousands(line["options"]["actors"]), line,
                             ["churn_ns", "restart_ns", "spawn_ns"])
                  for line in results.of_bench("W18")])


def growth_trees(results):
    """The least and the greatest of each shape; the picture has them all."""
    rows = []
    for name, words_of in (("W19d", "chain of {}"), ("W19w", "one parent of {}")):
        found = results.of_bench(name)
        for line in (found[0], found[-1]):
            rows.append(growth_row(words_of.format(thousands(line["options"]["size"])), line,
                                   ["spawn_ns", "stop_ns", "restart_ns", "escalate_ns",
                                    "remake_ns"]))
    return table(["tree", "actors made and stopped", "spawn, an actor", "stop, an actor",
                  "restart of the last leaf", "escalation to the top and resume, an actor",
                  "restart of the whole tree, an actor"], rows)


def growth_workers(results):
    names = (("W1", "1 pair"), ("W2k", "1000 pairs"), ("W3b", "ring of 1000, 100 tokens"),
             ("W10", "64 actors, all to all"), ("W4c", "4 to 1, 256 credits each"),
             ("W6", "spawn, message, stop"))
    counts = sorted({line["workers"] for line in results.of_bench("W10")})
    rows = []
    for name, title in names:
        found = {line["workers"]: line for line in results.of_bench(name)}
        rows.append([title] + [words(found[count]["median"], "/s") if count in found else "–"
                               for count in counts])
    return table(["workers"] + [str(count) for count in counts], rows)


def growth_memory(results):
    found = results.of_bench("W20")
    most = max(line["options"]["messages"] for line in found)
    found = [line for line in found if line["options"]["messages"] == most]
    return table(["bytes of payload"] + [str(line["options"]["payload"]) for line in found],
                 [["bytes a message"] + [digits(line["median"]) for line in found]])


def growth(results):
    if not all(results.of_bench(name) for name in GROWN):
        return []
    cpus = results.bench[0]["machine"]["cpus"]
    return ["### How it grows", "",
            "By the number of living actors, all children of one parent (`make bench-growth`):",
            ""] + growth_actors(results) + \
        ["", "![cost by number of actors](plots/actors.svg)", "",
         "By the depth and the width of a tree:", ""] + growth_trees(results) + \
        ["", "![cost by depth and width of a tree](plots/trees.svg)", "",
         f"Messages, and actors that come and go, by workers, on {cpus} processors:",
         ""] + growth_workers(results) + \
        ["", "![throughput by workers](plots/workers.svg)", "",
         "Memory of a message in flight:", ""] + growth_memory(results) + \
        ["", "![memory of a message](plots/memory.svg)", ""]


def figures(results):
    """All there is: what stands between the marks of bench/RESULTS.md."""
    return [""] + beside(results) + growth(results)


# ---- goals

def counts_of(folder):
    """What is accepted of what is counted: {(kind, row): its count}."""
    found = {}
    for line in lines_of(os.path.join(ROOT, "bench", "lines", "counts.json")):
        for kind in ("fetched", "upgraded", "steals", "locked"):
            found[f"{kind}_{line['workers']}", line["name"]] = line[kind]
            if line["workers"] == 2 and kind != "locked":
                found[kind, line["name"]] = line[kind]
    for name, kinds in (("instructions", ("instructions",)), ("lines", ("locked", "lines"))):
        try:
            with open(os.path.join(folder, f"{name}.txt"), encoding="utf-8") as file:
                rows = [line.rstrip("\n").split(" | ") for line in file
                        if not line.startswith(("#", "made by"))]
        except OSError as error:
            raise Refused(str(error)) from error
        for row, *counts in rows:
            found.update({(kind, row): float(count) for kind, count in zip(kinds, counts)})
    return found


class Goals:
    """bench/goals.json beside the results."""

    def __init__(self, results, path=GOALS, counts=COUNTS):
        try:
            with open(path, encoding="utf-8") as file:
                said = json.load(file)
        except (OSError, ValueError) as error:
            raise Refused(f"{path}: {error}") from error
        self.results, self.goals, self.counts = results, said["goals"], counts_of(counts)
        self.quoted, self.less = said["quoted"], set(said["less"])
        self.reasons = {work: self.note(text) for work, text in said["slower"].items()}

    def count(self, kind, row):
        """What stands for {kind row} in a note."""
        if kind == "floor":
            line = self.results.peers.get((row, "floor"))
            return "–" if line is None else words(line["median"], line["unit"])
        if kind in ("two", "others"):
            ratios = [line["median"] for (_, peer), line in self.results.own.items()
                      if line["workload"] == row and " / 1" in line["row"] and
                      (peer == "axo") == (kind == "two")]
            ends = [f"{digits(end)} ×" for end in sorted({min(ratios), max(ratios)})] if ratios else ["–"]
            return " to ".join(ends)
        if (kind, row) not in self.counts:
            raise Refused(f"goals: nothing is accepted of {{{kind} {row}}}")
        count = self.counts[kind, row]
        return f"{count:.0f}" if kind == "instructions" else \
            f"{count:.2f}" if kind in ("locked", "lines") else f"{count:.3g}"

    def note(self, text):
        """A note with what stands in braces filled in."""
        return re.sub(r"\{(\w+) ([^}]+)\}", lambda match: self.count(*match.groups()), text)

    def floors(self, row):
        """How many floors of a message one takes; None: not measured."""
        value, unit = self.value(row)
        line = self.results.peers.get(("F-rmw", "floor"))
        if value is None or line is None:
            return None
        each = 1e9 / value if unit.endswith("/s") else value
        return each / (FLOOR_RMW * line["median"] + FLOOR_REST_NS)

    def grown(self, name):
        """How many times as much the fewest get done as the most do; None: not measured."""
        lines = self.results.of_bench(name)
        return lines[0]["median"] / lines[-1]["median"] if len(lines) > 1 else None

    def value(self, row):
        """axo's figure of a row and its unit; None: not measured."""
        work, _, word = row.partition(" ")
        line = self.results.peers.get((work, "axo"), {"median": None, "unit": "ns", "values": {}})
        if not word:
            return line["median"], line["unit"]
        key, unit = next((key, unit) for key, name, unit in MORE[work] if name == word)
        return line["values"].get(key, {"median": None})["median"], unit

    def measured(self, row, of=None):
        """(ratio, peer) for each peer that was measured; `of`: another row of theirs."""
        if of is None:
            return [(line["median"], peer) for (name, peer), line in self.results.ratios.items()
                    if name == row and peer.split(" ")[0] not in ("floor", "axo")]
        mine, _ = self.value(row)
        return [] if mine is None else \
            [(mine / line["median"], peer) for (work, peer), line in self.results.peers.items()
             if work == of and peer not in ("axo", "floor")]

    def estimated(self, row, of=None):
        """(ratio, peer) for each peer that is only quoted: axo to the one that is here and there, times
        that one to the quoted one; the least, if there are several."""
        here = {peer.split(" ")[0] for _, peer in self.measured(row, of)}
        ratios = {peer: ratio for ratio, peer in self.measured(row, of)}
        found = []
        for source in self.quoted:
            anchors = source["anchors"].get(of or row, {})
            for peer, figures in source["figures"].items():
                there = figures.get(of or row)
                if there is None or peer in here:
                    continue
                known = [ratios[anchor] * (there / own if (of or row) in self.less else own / there)
                         for anchor, own in anchors.items() if anchor in ratios]
                if known:
                    found.append((min(known), peer))
        return found

    def times_most(self, goal):
        """A goal that is a ratio of axo's own, in the words of part()."""
        if "own" in goal:
            line = self.results.own.get((goal["own"], "axo"))
            ratio = None if line is None else line["median"]
        else:
            ratio = self.grown(goal["growth"])
        return f"<= {goal['most']:g} ×", "–" if ratio is None else f"{digits(ratio)} ×", "", "", \
            None if ratio is None else ratio <= goal["most"]

    def counted(self, goal):
        """(asked, here, met) for each goal of a row that is no figure of its own."""
        if "message_floors" in goal:
            floors = self.floors(goal["row"])
            yield (f"<= {goal['message_floors']:g} × the floor of a message",
                   "" if floors is None else f"{digits(floors)} × the floor",
                   None if floors is None else floors <= goal["message_floors"])
        if "instructions" in goal:
            count = self.counts.get(("instructions", goal["row"]))
            yield (f"<= {goal['instructions']} instructions",
                   "" if count is None else f"{count:.0f} instructions",
                   None if count is None else count <= goal["instructions"])

    def part(self, goal):
        """(goal, here, against the best, against the best quoted, met; None: not known) of one row."""
        row = goal.get("row")
        if row is None:
            return self.times_most(goal)
        value, unit = self.value(row)
        here = ["–" if value is None else words(value, unit)]
        asked, met = [], [None] if value is None else []
        if "most" in goal:
            asked.append(f"<= {words(goal['most'], goal.get('unit', unit))}")
            met.append(None if value is None else value <= goal["most"])
        if "floor" in goal:
            line = self.results.ratios.get((row, "floor"))
            asked.append(f"<= {goal['floor']:g} × bare C")
            met.append(None if line is None else line["median"] * goal["floor"] >= 1)
        if "lines" in goal:
            line = self.results.peers.get(("F-line", "floor"))
            asked.append(f"<= {goal['lines'] / 2:g} × two ways of a cache line")
            met.append(None if line is None or value is None else
                       value <= goal["lines"] * line["median"])
        best, quoted = [], []
        if "times" in goal:
            of = goal.get("times_of")
            asked.append(f">= {goal['times']:g} ×" + (f" the best of {of}" if of else ""))
            best = sorted(self.measured(row, of))[:1]
            quoted = sorted(self.estimated(row, of))[:1]
            met.append(best[0][0] >= goal["times"] if best else None)
            met += [ratio >= goal["times"] for ratio, _ in quoted]
        for wanted, count, good in self.counted(goal):
            asked.append(wanted)
            here += [count] if count else []
            met.append(good)
        state = False if False in met else None if None in met else True
        return ", ".join(asked), ", ".join(here), ratio_words(best), ratio_words(quoted), state

    def rows(self):
        for goal in self.goals:
            for part in [goal] + goal.get("more", []):
                asked, here, best, quoted, met = self.part(part)
                yield [part.get("row") or part.get("own") or part["title"], asked, here, best, quoted,
                       {True: "met", False: "missed", None: "not measured"}[met] +
                       (f": {self.note(goal['note'])}" if met is False and "note" in goal else "")]

    def slower(self):
        """{row: its ratio in words} of those that a second worker slows; None: not measured."""
        most = self.results.machine["workers"]
        lines = [line for (row, peer), line in self.results.own.items()
                 if peer == "axo" and row.endswith(f" on {most} / 1")]
        return {line["workload"]: own_cell(self.results, line["row"]) for line in lines
                if line["median"] < NOISE} if lines else None

    def unexplained(self):
        """Rows that a second worker slows, and nothing says why."""
        return sorted(set(self.slower() or ()) - set(self.reasons))

    def stale(self):
        """Rows that a note calls slower and that are not; those that were not measured may be."""
        slower = self.slower()
        return [] if slower is None else sorted(set(self.reasons) - set(slower))


def ratio_words(best):
    if not best:
        return "–"
    ratio, peer = best[0]
    name, _, alone_ = peer.partition(" ")
    return f"{digits(ratio)} × {NAMES.get(name, name)}{' on one worker' if alone_ else ''}"


def slower(said):
    """Why two are slower than one, where they are."""
    machine, rows = said.results.machine, said.slower()
    text = (f"No row is to be slower on {machine['workers']} workers than on one, by more than pairs tell "
            f"({digits(NOISE)} ×): ")
    if not rows:
        return [text + ("not measured." if rows is None else "met.")]
    lost = [f"- {row}, {ratio}: {said.reasons.get(row, '**why is not known.**')}"
            for row, ratio in rows.items()]
    return [text + f"missed by {len(rows)}.", ""] + lost


def goals(results, settings):
    """What stands between the marks of bench/README.md."""
    said = Goals(results, settings.goals, settings.counts)
    machine = results.machine
    text = ["", f"Of the run of {machine['date']} that RESULTS.md describes; instructions are what is accepted "
            "in `test/static/instructions.txt`. The floor of a message are three locked additions of the same "
            f"run and {FLOOR_REST_NS} ns." + unfit(results), ""]
    text += table(["", "goal", "here", "to the best that was measured", "to the best that is quoted", ""],
                  list(said.rows()))
    text += [""] + slower(said) + [""]
    text += ["Quoted, as they cannot be run here; ratios only, through a peer that is in both runs, the "
             "less favourable:", ""]
    return text + [f"- {', '.join(source['figures'])}: {source['from']}." for source in said.quoted] + [""]


# ---- pages

PAGES = {"README.md": lambda results, _: short(results),
         os.path.join("bench", "RESULTS.md"): lambda results, _: figures(results),
         os.path.join("bench", "README.md"): goals}


def split(path):
    """A page's lines before, between and after the marks."""
    try:
        with open(path, encoding="utf-8") as file:
            lines = file.read().split("\n")
    except OSError as error:
        raise Refused(str(error)) from error
    if lines.count(BEGIN) != 1 or lines.count(END) != 1 or lines.index(BEGIN) > lines.index(END):
        raise Refused(f"{path}: does not have the two marks, once each and in order:\n"
                      f"  {BEGIN}\n  {END}")
    begin, end = lines.index(BEGIN), lines.index(END)
    return lines[:begin + 1], lines[begin + 1:end], lines[end:]


def pages(settings):
    """For each page its path, its lines in three parts, and what should stand in the middle."""
    results = Results(settings.results)
    for name, made in PAGES.items():
        path = os.path.join(settings.root, name)
        yield path, split(path), made(results, settings)


def check(settings):
    wrong = []
    for path, (_, between, _), wanted in pages(settings):
        for line in difflib.unified_diff(between, wanted, path, "results", lineterm="", n=0):
            print(line)
        if between != wanted:
            wrong.append(path)
    if wrong:
        raise Refused(f"{', '.join(wrong)}: the figures are not those of the results")
    stale = Goals(Results(settings.results), settings.goals, settings.counts).stale()
    if stale:
        raise Refused(f"{settings.goals}: stale: {', '.join(stale)} of \"slower\", which no second worker "
                      "slows")


def write(settings):
    for path, (before, _, after), wanted in list(pages(settings)):
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(before + wanted + after))


def accept(settings):
    """Puts the new results together, and if they are fit, in the place of the old ones."""
    text, new = "", settings.results + ".new"
    for name in ("peers.json", "growth.json"):
        path = os.path.join(settings.accept, name)
        if not lines_of(path):
            raise Refused(f"{path}: empty")
        with open(path, encoding="utf-8") as file:
            text += file.read()
    with open(new, "w", encoding="utf-8") as file:
        file.write(text)
    try:
        results = Results(new)
        said = Goals(results, settings.goals, settings.counts)
        faults = list(results.faults())
        if said.unexplained():
            faults.append(f"slower on more workers, and no note in goals.json: "
                          f"{', '.join(said.unexplained())}")
        if faults and not settings.anyway:
            raise Refused(f"{'; '.join(faults)} (--anyway accepts them and says so)")
    except Refused:
        os.remove(new)
        raise
    os.replace(new, settings.results)
    write(settings)
    if said.stale():
        print(f"note: stale in {settings.goals}, \"slower\": {', '.join(said.stale())}")
    if settings.plots:
        subprocess.run([sys.executable, os.path.join(ROOT, "bench", "plot_accepted.py"),
                        settings.results, settings.plots,
                        os.path.join(settings.root, "bench", "plots")],
                       check=True)


def main():
    parser = argparse.ArgumentParser(description="the figures of README.md and bench/RESULTS.md")
    todo = parser.add_mutually_exclusive_group(required=True)
    todo.add_argument("--check", action="store_true")
    todo.add_argument("--write", action="store_true")
    todo.add_argument("--accept", metavar="FOLDER", help="with peers.json and growth.json")
    parser.add_argument("--plots", metavar="FOLDER", help="draws too, with its files there")
    parser.add_argument("--anyway", action="store_true")
    parser.add_argument("--root", default=ROOT, help="where the pages are")
    parser.add_argument("--from", dest="results", metavar="FILE",
                        default=os.path.join(ROOT, "bench", "baseline.json"))
    parser.add_argument("--goals", metavar="FILE", default=GOALS)
    parser.add_argument("--counts", metavar="FOLDER", default=COUNTS,
                        help="with instructions.txt and lines.txt")
    settings = parser.parse_args()
    try:
        (check if settings.check else write if settings.write else accept)(settings)
    except Refused as reason:
        print(f"figures: {reason}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
