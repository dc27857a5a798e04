#!/usr/bin/env python3
# proof.py - runs the steps of test/proof.plan and prints the table of bars with their figures.
#
#   tools/proof.py ci|proof|soak [--only WORD] [--list | --goals] [--root folder]
#
# A step passes if its command does, within its seconds; its last "N passed, N failed" counts, else it
# counts as one. Its output is in build/proof/NAME.log, and the end of a failed one is printed. A bar
# has the figures that the steps print; it is short if one of them is. The last line is
# "N passed, N failed".
import argparse
import os
import re
import signal
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BAR = re.compile(r"^\s*bar (\d+) (met|short): (.+?)\s*$")
GOAL = re.compile(r"[a-z][\w-]*$")
COUNTS = re.compile(r"^(\d+) passed, (\d+) failed(?:, \d+ skipped)?$")
TAIL_LINES = 60
PLANS = {"ci": ("ci", "short"), "proof": ("ci", "proof"), "soak": ("soak",)}
WALL_BAR = 34
WALL_MINUTES = 60


class Wrong(Exception):
    """The plan or the table of bars says something that cannot be."""


class Step:
    def __init__(self, name, plan, seconds, command):
        self.name, self.plan, self.seconds, self.command = name, plan, seconds, command
        self.passed = self.failed = 0
        self.took = 0.0
        self.bars = []


def lines_of(path):
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if line.strip() and not line.startswith("#"):
                yield number, line.strip()


def read_plan(path):
    steps = []
    for number, line in lines_of(path):
        words = [word.strip() for word in line.split("|", 3)]
        if len(words) != 4 or not words[2].isdigit():
            raise Wrong(f"{path}:{number}: not `name | plan | seconds | command`")
        if words[1] not in ("ci", "short", "proof", "soak"):
            raise Wrong(f"{path}:{number}: plan {words[1]} is none of ci, short, proof, soak")
        if not re.fullmatch(r"[\w-]+", words[0]) or any(step.name == words[0] for step in steps):
            raise Wrong(f"{path}:{number}: the name {words[0]} is malformed or there twice")
        steps.append(Step(words[0], words[1], int(words[2]), words[3]))
    return steps


def read_bars(path):
    bars, reasons = {}, {}
    for number, line in lines_of(path):
        reason = re.fullmatch(r"(\d+) short: (.+)", line)
        if reason:
            reasons[int(reason.group(1))] = reason.group(2)
            continue
        words = [word.strip() for word in line.split("|")]
        if len(words) != 4 or not words[0].isdigit() or int(words[0]) in bars:
            raise Wrong(f"{path}:{number}: not `number | CI | release | what`, or there twice")
        bars[int(words[0])] = (words[1], words[3])
    for number in reasons:
        if number not in bars:
            raise Wrong(f"{path}: a reason for bar {number}, which is not in the table")
    return bars, reasons


def run(step, root, folder, environment):
    """Runs one step; its whole process group ends with it."""
    path = os.path.join(folder, step.name + ".log")
    start = time.monotonic()
    with open(path, "wb") as log:
        process = subprocess.Popen(["bash", "-c", step.command], cwd=root, stdout=log,
                                   stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                   start_new_session=True, env=environment)
        try:
            code = process.wait(timeout=step.seconds)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
    step.took = time.monotonic() - start
    with open(path, encoding="utf-8", errors="replace") as log:
        output = log.read().splitlines()
    judge(step, code, output)
    if step.failed:
        for line in output[-TAIL_LINES:]:
            print(f"    | {line}")
        said = f"exit code {code}" if code is not None else f"not over after {step.seconds} s"
        print(f"    failed: {said}; {os.path.relpath(path, root)}")


def judge(step, code, output):
    for line in output:
        bar = BAR.match(line)
        if bar:
            step.bars.append((int(bar.group(1)), bar.group(2) == "met", bar.group(3)))
    counts = [COUNTS.match(line.strip()) for line in output]
    counts = [found for found in counts if found]
    if counts:
        step.passed, step.failed = int(counts[-1].group(1)), int(counts[-1].group(2))
    if code != 0 and step.failed == 0:
        step.failed = 1
    if code == 0 and step.passed + step.failed == 0:
        step.passed = 1


def table(bars, reasons, figures):
    """Prints a row a bar; the number of rows that contradict the reasons in bars.txt."""
    wrong = 0
    print(f"{'bar':>3}  {'what':70}  {'needed':16}  figure")
    for number, (needed, what) in sorted(bars.items()):
        said = figures.get(number, [])
        met = all(good for good, _ in said)
        word = "no figure in this plan" if not said else "; ".join(text for _, text in said)
        print(f"{number:3}  {what[:70]:70}  {needed:16}  "
              f"{'' if not said else 'met: ' if met else 'SHORT: '}{word}")
        if said and not met:
            print(f"{'':95}because: {reasons.get(number, 'no reason is given in test/bars.txt')}")
            wrong += number not in reasons
        elif said and number in reasons:
            print(f"{'':95}error: it is met; drop its reason from test/bars.txt")
            wrong += 1
    return wrong


def main():
    words = argparse.ArgumentParser()
    words.add_argument("plan", choices=sorted(PLANS))
    words.add_argument("--only", default="")
    words.add_argument("--list", action="store_true")
    words.add_argument("--goals", action="store_true", help="the goals of make that it needs")
    words.add_argument("--root", default=ROOT)
    options = words.parse_args()
    try:
        steps = read_plan(os.path.join(options.root, "test", "proof.plan"))
        bars, reasons = read_bars(os.path.join(options.root, "test", "bars.txt"))
    except Wrong as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    steps = [s for s in steps if s.plan in PLANS[options.plan] and options.only in s.name]
    if options.goals:
        print(" ".join(sorted({word for step in steps for command in step.command.split("&&")
                               for word in command.split() if GOAL.match(word)} - {"make"})))
        return 0
    if options.list:
        for step in steps:
            print(f"{step.name:20} {step.plan:6} {step.seconds:5} s  {step.command}")
        print(f"at most {sum(step.seconds for step in steps) / 60:.0f} min")
        return 0
    folder = os.path.join(options.root, os.environ.get("BUILD", "build"), "proof")
    os.makedirs(folder, exist_ok=True)
    environment = {key: value for key, value in os.environ.items()
                   if key not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "BUILD", "CC", "CXX")}
    environment["JOBS"] = str(os.cpu_count())
    start = time.monotonic()
    for step in steps:
        print(f"==> {step.name}: {step.command}", flush=True)
        run(step, options.root, folder, environment)
        print(f"    {step.passed} passed, {step.failed} failed in {step.took:.0f} s "
              f"of {step.seconds}", flush=True)
    return close(steps, bars, reasons, time.monotonic() - start)


def close(steps, bars, reasons, seconds):
    figures = {}
    for step in steps:
        for number, met, text in step.bars:
            figures.setdefault(number, []).append((met, text))
    minutes = seconds / 60
    figures[WALL_BAR] = [(minutes <= WALL_MINUTES, f"{minutes:.1f} min")]
    strays = [number for number in figures if number not in bars]
    wrong = table(bars, reasons, figures) + len(strays)
    for number in strays:
        print(f"error: a step has a figure for bar {number}, which is not in test/bars.txt")
    short = [number for number, said in figures.items() if not all(met for met, _ in said)]
    print(f"bars: {len(figures) - len(short)} met, {len(short)} short, "
          f"{len(bars) - len(figures)} without a figure in this plan; {minutes:.1f} min")
    passed = sum(step.passed for step in steps)
    failed = sum(step.failed for step in steps) + wrong
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
