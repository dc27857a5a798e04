#!/usr/bin/env python3
# instructions.py - how many instructions a message, an actor's life, a restart take, against what was
# accepted: valgrind counts them, so what else the machine does cannot move them.
#
#   test/static/instructions.py [--accept] build/release
#   test/static/instructions.py --spread 5 [--only W6] build/release      so often, and how far it moves
#
# Differences of two lengths leave out the start and the end. What is counted is the worker's steps and
# all that they call: the spare, the reclaimer and the program's first thread look around by the clock,
# which is slow here, and the more so the busier the machine is. No turn is cut by its time (--steady).
# Of RUNS of each length the median counts: when cells come back moves single runs. Three counts of one
# run each, on two processors with ten others to run, were from each other by 0.8 and 2.2 % of W3b,
# 0.7 % of W6, 0.04 % of W9 (with all threads and turns cut, 12, 1.3, 0.6 %). Counts hold for one compiler;
# with another one nothing is compared, and all rows count as skipped.
import argparse
import os
import re
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ACCEPTED = os.path.join(HERE, "instructions.txt")
RUNS = 3
BENCH = ["--workers", "1", "--repeats", "1", "--cold", "--steady"]

# name, what one of is counted, program and arguments with N for the length, two lengths, how many of
# them a step of the length is
ROWS = (
    ("W1", "a message between two that answer each other",
     ["bench/w1_pingpong", *BENCH, "--pairs", "1", "--messages", "N"], 50000, 150000, 1),
    ("W3a", "a hop in a ring of 100 with one token",
     ["bench/w3_ring", *BENCH, "--actors", "100", "--tokens", "1", "--hops", "N"], 50000, 150000, 1),
    ("W3b", "a hop in a ring of 1000 with 100 tokens",
     ["bench/w3_ring", *BENCH, "--actors", "1000", "--tokens", "100", "--hops", "N"], 50000, 250000, 1),
    ("W5", "an actor of a tree, spawned, summed up, ended",
     ["bench/w5_skynet", *BENCH, "--leaves", "N"], 1000, 10000, 10 / 9),
    ("W6", "a life: spawn, one message, stop",
     ["bench/w6_spawn", *BENCH, "--actors", "N"], 10000, 40000, 1),
    ("W8", "a restart by status, and a message to itself",
     ["test/schedules/soak/soak", "restarts", "N", "steady"], 10000, 40000, 1),
    ("W8t", "the same where crashes are contained",
     ["test/schedules/soak/soak", "restarts", "N", "contained"], 10000, 40000, 1),
    ("W9", "a restart of a parent with ten children that are kept",
     ["bench/w9_children", *BENCH, "--part", "1", "--children", "10", "--rounds", "N"], 200, 1200, 1),
    ("W12s", "a send from outside, the sender's part of it",
     ["bench/w12_foreign", *BENCH, "--part", "1", "--sends", "N"], 3000, 13000, 1),
)
PERCENT = 2  # that a count may move
# How many of a ring's tokens lie together is chance: 181.8 to 188.9 a hop in eight counts of one build,
# and 182.7 to 187.9 of runs that are four times as long. A message and a restart are
# the same in each count; a life is not: 1181 to 1206 in four of them, beside ten others to run.
PERCENTS = {"W1": 1, "W3b": 3, "W8": 1, "W8t": 1}
# What does not pay is within its percents of the row without it, whatever was accepted.
SAME = {"W8t": "W8"}
# Of what a function does, with all that it calls; the worker's step if not said.
STEP, ONLY = "axo__worker_step", {"W12s": "axo_system_send"}
# valgrind runs one thread at a time: without turns how busy the machine is says which one, and whether
# a life finds a cell that the reclaimer gave back or makes a new one
TURNS = "--fair-sched=try"
COUNT = ["--tool=callgrind", "--callgrind-out-file=/dev/null", TURNS]


def counted(words, only):
    """Instructions of one function in a run."""
    done = subprocess.run(["valgrind", *COUNT, f"--toggle-collect={only}", *words], capture_output=True,
                          text=True, check=False)
    found = re.search(r"Collected\s*:\s+([\d,]+)", done.stderr)
    if done.returncode != 0 or not found:
        sys.exit(f"error: {' '.join(words)}: {done.stderr}")
    total = int(found.group(1).replace(",", ""))
    if total == 0:
        sys.exit(f"error: {' '.join(words)}: {only} was not met")
    return total


def count(folder, command, length, only):
    return counted([os.path.join(folder, command[0])] + [str(length) if word == "N" else word
                                                         for word in command[1:]], only)


def measure(folder, row):
    name, _, command, short, long, units = row
    middle = [statistics.median(count(folder, command, length, ONLY.get(name, STEP)) for _ in range(RUNS))
              for length in (short, long)]
    return (middle[1] - middle[0]) / ((long - short) * units)


def spread(folder, rows, times):
    """Prints how far the counts of one build are from each other."""
    for row in rows:
        counts = [measure(folder, row) for _ in range(times)]
        least, most = min(counts), max(counts)
        print(f"  {row[0]:<4} {statistics.median(counts):9.1f}  {least:9.1f} to {most:9.1f}  "
              f"{100 * (most / least - 1):5.2f} %", flush=True)


def compiler(folder):
    """What has made the library, and for which processor."""
    library = os.path.join(folder, "libaxo.so")
    text = subprocess.run(["readelf", "-h", "-p", ".comment", library], check=True,
                          capture_output=True, text=True).stdout
    maker = re.search(r"GCC: .*|clang version .*", text)
    machine = re.search(r"Machine:\s*(.*)", text)
    return f"{maker.group(0).strip() if maker else 'unknown'}, {machine.group(1).strip()}"


def accepted():
    with open(ACCEPTED, encoding="utf-8") as file:
        lines = [line.split(" | ") for line in file.read().splitlines()
                 if line and not line.startswith("#")]
    return {line[0]: line[1] for line in lines}


def write(made, counts):
    with open(ACCEPTED, "w", encoding="utf-8") as file:
        file.write("# instructions.txt - accepted counts, written by `make instructions-accept`\n"
                   f"made by | {made}\n")
        for name, what, *_ in ROWS:
            file.write(f"{name} | {counts[name]:.1f} | {what}\n")


def judge(counts, before):
    """How many counts are not what was accepted."""
    wrong = 0
    for name, what, *_ in ROWS:
        now, then = counts[name], float(before.get(name, "nan"))
        change = 100 * (now / then - 1)
        most = PERCENTS.get(name, PERCENT)
        beside = 100 * (now / counts[SAME.get(name, name)] - 1)
        fine = abs(change) <= most and abs(beside) <= most
        wrong += not fine
        print(f"  {'ok  ' if fine else 'FAIL'}  {name:<4} {now:9.1f}  {change:+6.2f} %  {what}")
        if name in SAME:
            print(f"        beside {SAME[name]}  {beside:+6.2f} %")
    return wrong


def main():
    parser = argparse.ArgumentParser(description="Instructions of a message, a life, a restart.")
    parser.add_argument("--accept", action="store_true", help="take the counts of now for right")
    parser.add_argument("--spread", type=int, metavar="TIMES")
    parser.add_argument("--only", help="with --spread: this row")
    parser.add_argument("build")
    options = parser.parse_args()
    if options.spread:
        spread(options.build, [row for row in ROWS if options.only in (None, row[0])], options.spread)
        return 0
    made = compiler(options.build)
    before = {} if options.accept else accepted()
    if not options.accept and before.get("made by") != made:
        print(f"  NOT COMPARED: no instruction was counted. What is accepted was made by\n"
              f"    {before.get('made by')}\n  and this by\n    {made}")
        print(f"0 passed, 0 failed, {len(ROWS)} skipped")
        return 0
    counts = {row[0]: measure(options.build, row) for row in ROWS}
    if options.accept:
        write(made, counts)
        return 0
    wrong = judge(counts, before)
    print(f"{len(ROWS) - wrong} passed, {wrong} failed")
    if wrong:
        print("a count has moved; after a review: make instructions-accept")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
