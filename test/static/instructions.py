#!/usr/bin/env python3
# instructions.py - how many instructions a message, an actor's life, a restart take, against what was
# accepted: valgrind counts them, so what else the machine does cannot move them.
#
#   test/static/instructions.py [--accept] build/release
#
# Differences of two lengths leave out the start and the end. Of RUNS of each length the median counts:
# when the clock is read, and when cells come back, moves single runs. Counts hold for one compiler;
# with another one nothing is compared.
import argparse
import os
import re
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ACCEPTED = os.path.join(HERE, "instructions.txt")
RUNS = 5
BENCH = ["--workers", "1", "--repeats", "1", "--cold"]

# name, what one of is counted, program and arguments with N for the length, two lengths, how many of
# them a step of the length is, percent that a count may move: the clock cuts W3b's turns, and when cells
# come back in W6 and W9 is the reclaimer's thread to say
ROWS = (
    ("W1", "a message between two that answer each other",
     ["bench/w1_pingpong", *BENCH, "--pairs", "1", "--messages", "N"], 50000, 150000, 1, 2),
    ("W3b", "a hop in a ring of 1000 with 100 tokens",
     ["bench/w3_ring", *BENCH, "--actors", "1000", "--tokens", "100", "--hops", "N"], 50000, 150000, 1, 4),
    ("W5", "an actor of a tree, spawned, summed up, ended",
     ["bench/w5_skynet", *BENCH, "--leaves", "N"], 1000, 10000, 10 / 9, 2),
    ("W6", "a life: spawn, one message, stop",
     ["bench/w6_spawn", *BENCH, "--actors", "N"], 10000, 30000, 1, 6),
    ("W8", "a restart by status, and a message to itself",
     ["test/schedules/soak/soak", "restarts", "N"], 10000, 40000, 1, 2),
    ("W9", "a restart of a parent with ten children that are kept",
     ["bench/w9_children", *BENCH, "--children", "10", "--rounds", "N"], 200, 700, 1, 8),
    ("W12s", "a send from outside, the sender's part of it",
     ["bench/w12_foreign", *BENCH, "--sends", "N", "--stamps", "1", "--wakes", "1"], 3000, 13000, 1, 2),
)
# rows of which only what a function does is counted, with all that it calls
ONLY = {"W12s": "axo_system_send"}
# valgrind runs one thread at a time: without turns how busy the machine is says which one, and whether
# a life finds a cell that the reclaimer gave back or makes a new one
TURNS = "--fair-sched=try"
WHOLE = ["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", TURNS]
PART = ["--tool=callgrind", "--callgrind-out-file=/dev/null", TURNS]


def counted(words, only):
    """Instructions of a whole run, or those of one function in it."""
    tool = WHOLE if only is None else [*PART, f"--toggle-collect={only}"]
    done = subprocess.run(["valgrind", *tool, *words], capture_output=True, text=True, check=False)
    found = re.search(r"(?:I\s+refs|Collected\s*):\s+([\d,]+)", done.stderr)
    if done.returncode != 0 or not found:
        sys.exit(f"error: {' '.join(words)}: {done.stderr}")
    return int(found.group(1).replace(",", ""))


def count(folder, command, length, only):
    return counted([os.path.join(folder, command[0])] + [str(length) if word == "N" else word
                                                         for word in command[1:]], only)


def measure(folder, row):
    name, _, command, short, long, units, _ = row
    middle = [statistics.median(count(folder, command, length, ONLY.get(name)) for _ in range(RUNS))
              for length in (short, long)]
    return (middle[1] - middle[0]) / ((long - short) * units)


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
    for name, what, *_, percent in ROWS:
        now, then = counts[name], float(before.get(name, "nan"))
        change = 100 * (now / then - 1)
        fine = abs(change) <= percent
        wrong += not fine
        print(f"  {'ok  ' if fine else 'FAIL'}  {name:<4} {now:9.1f}  {change:+6.2f} %  {what}")
    return wrong


def main():
    parser = argparse.ArgumentParser(description="Instructions of a message, a life, a restart.")
    parser.add_argument("--accept", action="store_true", help="take the counts of now for right")
    parser.add_argument("build")
    options = parser.parse_args()
    made = compiler(options.build)
    before = {} if options.accept else accepted()
    if not options.accept and before.get("made by") != made:
        print(f"not compared: counted for {before.get('made by')}, made by {made}")
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
