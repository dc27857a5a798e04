#!/usr/bin/env python3
# lines.py - how many cache lines a message, a spawn, a restart moves between threads.
#
#   bench/lines/lines.py BUILD [--workers 2,4,8] [--only NAME] [--runs 3] [--places] [--json FILE]
#   bench/lines/lines.py BUILD --check FILE | --accept FILE
#
# --check compares locked operations and lines on one worker, of the cases whose counts do not depend
# on how long threads wait, with those that were accepted.
#
# What a thread outside does (a send to a system that is busy with other things) is counted on that thread
# alone, which is the program's first.
#
# Builds the library and the workloads so that every access to memory is counted (lines.c says how)
# and runs each workload with two sizes: the difference of the counts, divided by the difference of
# what was done, is what one of them moves, without what the program needs to begin and to end.
# Medians of --runs pairs. Fetched: the line was elsewhere. Upgraded: others had it too, and it is
# written. The counting build runs some ten times slower, so threads meet less or more often than
# they do at full speed; steals and turns are printed, to be compared with the JSON line of `make
# bench`. --places says which functions moved the lines.
import argparse
import collections
import glob
import json
import os
import re
import statistics
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PACKAGES = ("liburcu-qsbr", "liburcu-cds", "ck")
FLAGS = ("-std=c11 -D_GNU_SOURCE -O2 -g -pthread -ftls-model=initial-exec -fsanitize=thread "
         "-fno-builtin-memcpy -fno-builtin-memset -DAXO_RELEASE=1 -DCK_USE_CC_BUILTINS=1 "
         "-Iinclude -Iruntime -include bench/lines/seams.h").split()
# Name, program, options, option of the size, sizes, what is counted: one of the system's counters, or how
# many of them a step of the size is.
CASES = (
    ("message, 1 pair", "w1_pingpong", "--pairs 1", "--messages", (200000, 1000000), "handled"),
    ("message, 1000 pairs", "w1_pingpong", "--pairs 1000", "--messages", (200000, 1000000),
     "handled"),
    ("message, ring of 1000, 100 tokens", "w3_ring", "--actors 1000 --tokens 100", "--hops",
     (200000, 1000000), "handled"),
    ("message, 64 all to all", "w10_big", "", "--messages", (200000, 1000000), "handled"),
    ("message, 4 to 1", "w4_fanin", "--credits 0", "--messages", (20000, 100000), "handled"),
    ("message, 4 to 1, credits", "w4_fanin", "--credits 256", "--messages", (20000, 100000),
     "handled"),
    ("spawn, message, stop", "w6_spawn", "", "--actors", (20000, 100000), "spawned"),
    ("actor of skynet", "w5_skynet", "", "--leaves", (10000, 100000), "spawned"),
    ("restart", "w8_restart", "--part 1", "--ms", (200, 1000), "restarts"),
    ("restart, paced", "w8_restart", "--part 2", "--ms", (1000, 5000), "restarts"),
    ("restart, whole", "w8_whole", "", "--restarts", (20000, 100000), "restarts"),
    ("child kept", "w9_children", "--part 1 --children 100", "--rounds", (200, 1000), 100),
    ("child made again", "w9_children", "--part 2 --children 100", "--rounds", (200, 1000), 100),
    ("message of a phase", "g2_phase", "--part 3", "--phases", (5, 25), 10000),
    ("message of a phase, on threads of its own", "g2_phase", "--part 4", "--phases", (5, 25), 10000),
    ("message of a phase, sent by one call", "g2_phase", "--part 7", "--phases", (5, 25), 10000),
    ("send from outside", "w12_foreign", "--part 1", "--sends", (20000, 100000), 1))
# How many lines such a thread moves is for the threads to say that it meets: only its locked operations
# are compared. So it is with four producers: 0.0 to 1.7 lines a message, from run to run.
OUTSIDE = ("send from outside",)
CROWDED = ("message, 4 to 1", "message, 4 to 1, credits")
# How many messages a turn has is chance there: 0.9 to 1.8 locked operations a hop of the ring, 12 to 16 an
# actor of skynet, from run to run on a busy machine; of a phase, which of its threads sleep meanwhile, and
# between two paced restarts the clock is looked at.
NOT_GUARDED = ("message, 1000 pairs", "message, 64 all to all", "message, ring of 1000, 100 tokens",
               "actor of skynet", "restart, paced", "message of a phase",
               "message of a phase, on threads of its own", "message of a phase, sent by one call")
GUARD_RUNS = 5
# What a count may move by, of itself, and at least, as it is written down to 0.01. Lines move when the
# spare and the reclaimer look around, by the clock: ten times as many looks a message as at full speed.
# How many grace periods the lives of a run take is the reclaimer's to say: 6.8 to 7.2 operations a life.
# How many messages the consumer of four producers finds at a time is the machine's: 1.02 to 1.10, and
# with credits 2.04 to 2.09, in seven runs of one day on a busy machine; one operation more is a tenth of
# them at least.
SHARE, LEAST, LINES_LEAST = 0.02, 0.02, 0.1
SHARES = {"spawn, message, stop": 0.04, "message, 4 to 1": 0.09, "message, 4 to 1, credits": 0.04}
# A period fetches lines, too, as its cells were the reclaimer's: some three for an operation of it.
LINES_A_PERIOD = {"spawn, message, stop": 4}
# Frames that say how, not what.
HOW = re.compile(r"/(base/atomic\.h|lines/|ck_|gcc/ck_|urcu/|c11)")


def run(command, **more):
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, universal_newlines=True,
                          check=True, **more)
    return done.stdout


def build(folder):
    """The workloads' programs in `folder`."""
    os.makedirs(folder, exist_ok=True)
    compiler = os.environ.get("CC", "cc")
    flags = FLAGS + run(["pkg-config", "--cflags", *PACKAGES]).split()
    libraries = run(["pkg-config", "--libs", *PACKAGES]).split()
    unity = os.path.join(folder, "unity.c")
    with open(os.path.join(ROOT, "runtime", "LAYERS"), encoding="utf-8") as layers, \
            open(unity, "w", encoding="utf-8") as file:
        for layer in [line.split()[0] for line in layers if line.strip()]:
            for path in sorted(glob.glob(os.path.join(ROOT, "runtime", layer, "*.c"))):
                if not re.search(r"os/sim\w*\.c$|_sim\.c$", path):
                    file.write(f'#include "{path}"\n')
    run([compiler, *flags, "-c", "-o", f"{folder}/axo.o", unity])
    run([compiler, "-std=c11", "-O2", "-c", "-o", f"{folder}/lines.o", "bench/lines/lines.c"])
    for program in sorted({case[1] for case in CASES}):
        run([compiler, *flags, "-c", "-o", f"{folder}/{program}.o", f"bench/{program}.c"])
        run([compiler, "-pthread", "-Wl,--wrap=memcpy,--wrap=memset", "-o", f"{folder}/{program}",
             *[f"{folder}/{name}.o" for name in (program, "axo", "lines")], *libraries, "-lm"])


def count(folder, case, size, workers, *more):
    """Counters of one run: those of the system, fetched, upgraded, ns; and the places."""
    _, program, options, option, _, _ = case
    text = run([f"{folder}/{program}", *options.split(), option, str(size), "--workers",
                str(workers), "--repeats", "1", "--cold", "--json", "-", *more])
    counts, places = {}, []
    for line in text.splitlines():
        if line.startswith('{"lines"'):
            said = json.loads(line)
            counts.update(said["first" if case[0] in OUTSIDE else "lines"])
        elif line.startswith("{"):
            counts.update(json.loads(line)["counters"])
        elif line.startswith("place"):
            _, at, fetched, upgraded = line.split()
            places.append((at, int(fetched) + int(upgraded)))
    return counts, places


def named(folder, program, places):
    """Functions and how much they moved; of what is inlined the innermost that says what."""
    text = run(["addr2line", "-e", f"{folder}/{program}", "-fia", *[at for at, _ in places]])
    found = collections.Counter()
    for block, (_, moved) in zip(re.split(r"^0x[0-9a-f]+\n", text, flags=re.M)[1:], places):
        lines = block.split("\n")
        frames = list(zip(lines[::2], lines[1::2]))
        name, where = next(((name, where) for name, where in frames if not HOW.search(where)),
                           frames[-1])
        found[f"{name} {os.path.relpath(where.split(':')[0], ROOT)}"] += moved
    return found


def done_of(case, size, counts):
    """How many of what is counted a run of the size has done."""
    return size * case[5] if isinstance(case[5], int) else counts[case[5]]


def measure(folder, case, workers, runs, *more):
    """What one of a case moves: fetched, upgraded, and the scheduler's counters."""
    found = collections.defaultdict(list)
    moved = collections.Counter()
    for _ in range(runs):
        few, _ = count(folder, case, case[4][0], workers, *more)
        many, places = count(folder, case, case[4][1], workers, *more)
        whole = done_of(case, case[4][1], many)
        done = whole - done_of(case, case[4][0], few)
        for key in ("fetched", "upgraded", "locked", "hottest", "turns", "steals", "parks", "wakes"):
            found[key].append((many[key] - few[key]) / done)
        for name, share in named(folder, case[1], places).items():
            moved[name] += share / whole / runs
    return {key: statistics.median(values) for key, values in found.items()}, moved


def guard(folder):
    """{case: (locked operations, lines)} on one worker."""
    found = {}
    for case in [case for case in CASES if case[0] not in NOT_GUARDED]:
        got, _ = measure(folder, case, 1, GUARD_RUNS, "--steady")
        found[case[0]] = (got["locked"], got["fetched"] + got["upgraded"])
    return found


def accept(folder, path):
    with open(path, "w", encoding="utf-8") as file:
        file.write("# lines.txt - accepted by `make instructions-accept`: of one | locked operations | lines "
                   "that move, on one worker\n")
        for name, (locked, lines) in guard(folder).items():
            file.write(f"{name} | {locked:.2f} | {max(lines, 0):.2f}\n")
    return 0


def slack(name, count):
    return max(SHARES.get(name, SHARE) * count, LEAST)


def lines_slack(name, lines, more):
    """`more`: locked operations above those accepted."""
    return max(SHARE * lines, LINES_LEAST) + LINES_A_PERIOD.get(name, 0) * max(more, 0)


def check(folder, path):
    passed = failed = 0
    accepted = {}
    with open(path, encoding="utf-8") as file:
        for line in [line for line in file if not line.startswith("#")]:
            name, *counts = line.split(" | ")
            accepted[name] = tuple(map(float, counts))
    found = guard(folder)
    for name in sorted(set(accepted) - set(found)):
        failed += 1
        print(f"  FAIL  is accepted, and was not counted: {name}")
    for name, (locked, lines) in found.items():
        was_locked, was_lines = accepted.get(name, (0, 0))
        good = abs(locked - was_locked) <= slack(name, was_locked) and \
            (name in OUTSIDE + CROWDED or
             lines <= was_lines + lines_slack(name, was_lines, locked - was_locked))
        passed, failed = passed + good, failed + (not good)
        print(f"  {'ok  ' if good else 'FAIL'}  {locked:7.2f} locked ({was_locked:.2f}), {lines:5.2f} lines "
              f"({was_lines:.2f})  {name}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(description="cache lines that move between threads")
    parser.add_argument("build")
    parser.add_argument("--workers", default="2,4,8")
    parser.add_argument("--only", default="", help="a word of a case's name")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--places", action="store_true", help="which functions moved them")
    parser.add_argument("--json", help="file of results")
    parser.add_argument("--check", metavar="FILE")
    parser.add_argument("--accept", metavar="FILE")
    settings = parser.parse_args()
    folder = os.path.join(os.path.abspath(settings.build), "lines")
    build(folder)
    if settings.accept:
        return accept(folder, settings.accept)
    if settings.check:
        return check(folder, settings.check)
    print("| of one | workers | fetched | upgraded | locked | hottest line | turns | steals | parks |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    lines = []
    for case in [case for case in CASES if settings.only in case[0]]:
        for workers in map(int, settings.workers.split(",")):
            got, moved = measure(folder, case, workers, settings.runs)
            lines.append(dict(got, name=case[0], workers=workers))
            print(f"| {case[0]} | {workers} | {got['fetched']:.3f} | {got['upgraded']:.3f} | "
                  f"{got['locked']:.3f} | {got['hottest']:.3f} | {got['turns']:.3f} | {got['steals']:.4f} | "
                  f"{got['parks']:.5f} |", flush=True)
            for name, share in moved.most_common(16) if settings.places else []:
                print(f"    {share:9.4f}  {name}")
    if settings.json:
        with open(settings.json, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
