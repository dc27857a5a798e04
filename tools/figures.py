#!/usr/bin/env python3
# figures.py - the figures of README.md and bench/RESULTS.md, written from the accepted results.
#
#   tools/figures.py --check        do the tables of both pages say what the results are?
#   tools/figures.py --write        makes them say it
#   tools/figures.py --accept build/bench --plots build/plots [--anyway]
#                                   accepts new results: writes them, the pages, and the pictures
#   [--root FOLDER] [--from bench/baseline.json]
#
# The accepted results are what `make bench-peers` (peers.json) and `make bench-growth`
# (growth.json) wrote, one after the other. What stands between the two marks of a page is made here
# and nowhere else: ten rows in README.md, everything in bench/RESULTS.md. Results of a quick run,
# and results that other processes disturbed, are not accepted, but with --anyway; then the text
# says so. A ratio says how many times better axo is.
import argparse
import difflib
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BEGIN = "<!-- figures: made by tools/figures.py, not by hand -->"
END = "<!-- figures: end -->"
NAMES = {"axo": "axo", "erlang": "Erlang/OTP", "erlang-bare": "Erlang without a supervisor",
         "erlang-normal": "Erlang at normal priority", "elixir": "Elixir",
         "caf": "CAF", "go": "Go", "go-supervised": "Go with a supervisor",
         "floor": "bare C"}
COLUMNS = ("axo", "erlang", "caf", "go")
STEPS = {"ns": [(1e9, "s"), (1e6, "ms"), (1e3, "us"), (1, "ns")],
         "bytes": [(2**20, "MiB"), (2**10, "KiB"), (1, "B")],
         "bytes/actor": [(1, "B")],
         "/s": [(1e6, "M/s"), (1e3, "k/s"), (1, "/s")]}
# Rows below a workload's figure: value, what it is called, unit.
MORE = {"W4": [("peak_bytes", "peak", "bytes")], "W5": [("peak_bytes", "peak", "bytes")],
        "W8a": [("p50_ns", "p50", "ns"), ("p99_ns", "p99", "ns"), ("p999_ns", "p99.9", "ns")],
        "W8b": [("p99_ns", "p99", "ns")], "W8c": [("p99_ns", "p99", "ns")],
        "W11": [("p50_ns", "p50", "ns"), ("p99_ns", "p99", "ns")],
        "W12p": [("p99_ns", "p99", "ns")]}
# Whose notes a reader of the table needs: where a peer has no such thing, what stands for it.
NOTED = ("W8a", "W8b", "W8c", "W9a", "W9b", "W11", "W12s")
# README's ten rows, the lost ones among them: a workload, or a value below it.
SHORT = ("W1", "W3b", "W4", "W5", "W6", "W7", "W8a p99", "W8c p99", "W9a", "W12s")
# What a whole set of results has.
WORKLOADS = ("W1 W2 W2k W3a W3b W4 W5 W6 W7 W8a W8b W8c W9a W9b W10 W11 W12s W12r W12p").split()
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
        self.peers = {(line["workload"], line["peer"]): line for line in lines if "peer" in line}
        self.ratios = {(line["row"], line["ratio_to"]): line for line in lines
                       if "ratio_to" in line}
        self.bench = [line for line in lines if "bench" in line]
        self.titles = {line["workload"]: line["title"] for line in lines if "peer" in line}
        if not self.peers:
            raise Refused(f"{path}: no results")

    def faults(self):
        """Why these results should not be accepted."""
        if self.machine.get("quick"):
            yield "a quick run"
        missing = [work for work in WORKLOADS if any((work, peer) not in self.peers
                                                     for peer in COLUMNS)]
        missing += [name for name in GROWN if not self.of_bench(name)]
        if missing:
            yield f"without {', '.join(missing)}"
        loud = {f"{work} {peer}" for (work, peer), line in self.peers.items() if line["disturbed"]}
        loud |= {line["bench"] for line in self.bench if line["disturbed"]}
        if loud:
            yield f"disturbed by other processes: {', '.join(sorted(loud))}"

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
        yield work, f"{work}: {title}", peers_row(results, work, None, work, None, COLUMNS)
        for key, word, unit in MORE.get(work, []):
            yield f"{work} {word}", word, peers_row(results, work, key, f"{work} {word}", unit,
                                                    COLUMNS)


def peers_table(results):
    return table([""] + [NAMES[peer] for peer in COLUMNS],
                 [[title] + cells for _, title, cells in peers_rows(results)])


def short_table(results):
    rows = []
    for name, title, cells in peers_rows(results):
        if name not in SHORT:
            continue
        work = name.split(" ")[0]
        whole = title if name == work else f"{work}: {results.titles[work]}, {title}"
        rows.append([whole.split(": ", 1)[1], cells[0].split(" (")[0]] + cells[1:])
    return table([""] + [NAMES[peer] for peer in COLUMNS], rows)


def others(results):
    """What is measured of few workloads only."""
    lines = []
    for (work, peer), line in results.peers.items():
        if peer in COLUMNS or (work, "axo") not in results.peers:
            continue
        cell = peers_row(results, work, None, work, None, [peer])[0]
        lines.append(f"- {work}, {NAMES[peer]} ({line['note']}): {cell}")
    return lines


def notes(results):
    """What stands for a workload where a peer has no such thing; equal ones together."""
    said = {}
    for (work, peer), line in results.peers.items():
        if work in NOTED and peer in COLUMNS and line["note"]:
            said.setdefault((peer, line["note"]), []).append(work)
    return [f"- {', '.join(works)}, {NAMES[peer]}: {note}" for (peer, note), works in said.items()]


def unfit(results):
    faults = list(results.faults())
    return f" ~ **Not to be quoted: {'; '.join(faults)}.**" if faults else ""


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
            "the most. `n ×`: axo is so many times better, the median of pairs from one round.")
    return [text + unfit(results), ""] + peers_table(results) + ["", "Measured of one workload only:", ""] + \
        others(results) + ["", "Where a peer has no such thing, the closest that its user can "
                           "write; and other ways in which the programs differ:", ""] + \
        notes(results) + ["", "![how many times better axo is](plots/peers.svg)", ""]


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


# ---- pages

PAGES = {"README.md": short, os.path.join("bench", "RESULTS.md"): figures}

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
        yield path, split(path), made(results)


def check(settings):
    wrong = []
    for path, (_, between, _), wanted in pages(settings):
        for line in difflib.unified_diff(between, wanted, path, "results", lineterm="", n=0):
            print(line)
        if between != wanted:
            wrong.append(path)
    if wrong:
        raise Refused(f"{', '.join(wrong)}: the figures are not those of the results")


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
        faults = list(Results(new).faults())
        if faults and not settings.anyway:
            raise Refused(f"{'; '.join(faults)} (--anyway accepts them and says so)")
    except Refused:
        os.remove(new)
        raise
    os.replace(new, settings.results)
    write(settings)
    if settings.plots:
        subprocess.run([sys.executable, os.path.join(ROOT, "bench", "plot_accepted.py"),
                        settings.results, settings.plots, os.path.join(ROOT, "bench", "plots")],
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
    settings = parser.parse_args()
    try:
        (check if settings.check else write if settings.write else accept)(settings)
    except Refused as reason:
        print(f"figures: {reason}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
