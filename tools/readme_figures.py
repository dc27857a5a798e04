#!/usr/bin/env python3
# readme_figures.py - the figures of README.md, written from what `make bench-peers` measured.
#
#   tools/readme_figures.py --check [--readme README.md] [--from build/bench/peers.json]
#   tools/readme_figures.py --write [...]
#
# What stands between the two marks below is made here and nowhere else. --write puts it there;
# --check says whether it is what the results give. Results of a quick run, and results that other
# processes disturbed, are refused. A ratio says how many times better axo is.
import argparse
import difflib
import json
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BEGIN = "<!-- figures: made by tools/readme_figures.py, not by hand -->"
END = "<!-- figures: end -->"
NAMES = {"axo": "axo", "erlang": "Erlang/OTP", "erlang-bare": "Erlang, no supervisor",
         "caf": "CAF", "go": "Go", "floor": "bare C"}
STEPS = {"ns": [(1e9, "s"), (1e6, "ms"), (1e3, "us"), (1, "ns")],
         "bytes/actor": [(1, "B")],
         "/s": [(1e6, "M/s"), (1e3, "k/s"), (1, "/s")]}


class Refused(Exception):
    """The results or the README are not fit."""


def words(value, unit):
    """A figure with three digits and its unit."""
    steps = STEPS.get(unit, STEPS["/s"])
    least, word = next(((least, word) for least, word in steps if value >= least), steps[-1])
    value /= least
    return f"{value:.0f} {word}" if value >= 99.95 else f"{value:.3g} {word}"


def times(ratio):
    """How many times better axo is, least and most."""
    median, least, most = (f"{ratio[key]:.0f}" if ratio[key] >= 99.95 else f"{ratio[key]:.3g}"
                           for key in ("median", "min", "max"))
    return f"{median} x ({least} to {most})"


def read(path):
    """The machine, the results and the ratios of a file of JSON lines."""
    try:
        with open(path, encoding="utf-8") as file:
            lines = [json.loads(line) for line in file if line.strip()]
    except (OSError, ValueError) as error:
        raise Refused(f"{path}: {error}") from error
    if not lines or "machine" not in lines[0]:
        raise Refused(f"{path}: the first line is not the machine")
    results = [line for line in lines[1:] if "peer" in line]
    ratios = {(line["row"], line["ratio_to"]): line for line in lines[1:] if "ratio_to" in line}
    if not results:
        raise Refused(f"{path}: no results")
    if lines[0]["machine"].get("quick"):
        raise Refused(f"{path}: a quick run")
    loud = sorted({f"{line['workload']} {line['peer']}" for line in results if line["disturbed"]})
    if loud:
        raise Refused(f"{path}: disturbed by other processes: {', '.join(loud)}")
    return lines[0]["machine"], results, ratios


def cell(line, ratio):
    """Median, least and most; below them, how many times better axo is."""
    if line is None:
        return "-"
    unit = line["unit"]
    text = words(line["median"], unit)
    if line["peer"] == "axo":
        text += f" ({words(line['min'], unit)} to {words(line['max'], unit)})"
    if ratio is not None:
        text += f", {times(ratio)}"
    return text


def figures(machine, results, ratios):
    """The lines between the marks."""
    by_key = {(line["workload"], line["peer"]): line for line in results}
    titles = {line["workload"]: line["title"] for line in results}
    mine = [name for name in titles if (name, "axo") in by_key]
    peers = [peer for peer in NAMES if any((name, peer) in by_key for name in mine)]
    versions = ", ".join(f"{NAMES.get(name, name)} {version}"
                         for name, version in machine["versions"].items())
    lines = ["", f"On {machine['cpu']}, {machine['cpus']} processors, Linux {machine['kernel']}, "
             f"load {machine['load']}, {machine['date']}; {machine['workers']} workers; "
             f"{versions}. Medians of {machine['rounds']} rounds, in turns (`make bench-peers`); "
             "in brackets least and most. `n x`: so many times better is axo, of pairs from one "
             "round.", "",
             "| | " + " | ".join(NAMES[peer] for peer in peers) + " |",
             "| --- |" + " --- |" * len(peers)]
    for name in mine:
        lines.append(f"| {titles[name]} | " + " | ".join(
            cell(by_key.get((name, peer)), ratios.get((name, peer))) for peer in peers) + " |")
    notes = [f"- {titles[line['workload']]}, {NAMES[line['peer']]}: {line['note']}"
             for line in results if line["note"] and line["workload"] in mine and
             line["peer"] in peers]
    return lines + [""] + notes + [""] * bool(notes)


def split(path):
    """The README's lines before, between and after the marks."""
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


def main():
    parser = argparse.ArgumentParser(description="the figures of README.md")
    todo = parser.add_mutually_exclusive_group(required=True)
    todo.add_argument("--check", action="store_true")
    todo.add_argument("--write", action="store_true")
    parser.add_argument("--readme", default=os.path.join(ROOT, "README.md"))
    parser.add_argument("--from", dest="results", metavar="FILE",
                        default=os.path.join(ROOT, "build", "bench", "peers.json"))
    settings = parser.parse_args()
    try:
        before, between, after = split(settings.readme)
        wanted = figures(*read(settings.results))
    except Refused as reason:
        print(f"readme_figures: {reason}")
        return 1
    if settings.check:
        for line in difflib.unified_diff(between, wanted, "README", "results", lineterm="", n=0):
            print(line)
        if between != wanted:
            print(f"readme_figures: {settings.readme}: the figures are not those of the results")
        return int(between != wanted)
    with open(settings.readme, "w", encoding="utf-8") as file:
        file.write("\n".join(before + wanted + after))
    return 0


if __name__ == "__main__":
    sys.exit(main())
