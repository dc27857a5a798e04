#!/usr/bin/env python3
# proof.py - runs the steps of test/proof.plan and prints the table of bars with their figures.
#
#   tools/proof.py ci|proof|soak [--only WORD] [--list | --goals] [--root folder]
#
# A step passes if its command does, within its seconds; its last "N passed, N failed" counts, else it
# counts as one. Its output is in build/proof/NAME.log; the end of a failed one is printed, and its
# last lines again behind the table. Steps print figures, `bar N is 12 / 0.5: words`; what they must
# be stands in test/bars.txt. A bar is short if one of its figures is, and an error if it has none
# where the plan must fill it. The last line is "N passed, N failed".
import argparse
import os
import re
import signal
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BAR = re.compile(r"^\s*bar (\d+) is ([-\d. /]+): (.+?)\s*$")
NEED = re.compile(r"(>=|<=|==|<|>) ?(\d+(?:\.\d+)?)$")
HOLDS = {">=": float.__ge__, "<=": float.__le__, "==": float.__eq__, "<": float.__lt__,
         ">": float.__gt__}
GOAL = re.compile(r"[a-z][\w-]*$")
COUNTS = re.compile(r"^(\d+) passed, (\d+) failed(?:, \d+ skipped)?$")
TAIL_LINES = 60
AGAIN_LINES = 12        # the end of a failed step, said again behind the table
PLANS = {"ci": ("ci", "short"), "proof": ("ci", "proof"), "soak": ("soak",)}
FILLS = {"ci": ("ci",), "proof": ("ci", "proof"), "soak": ("soak",)}
WALL_BAR = 34


class Wrong(Exception):
    """The plan or the table of bars says something that cannot be."""


class Step:
    def __init__(self, name, plan, seconds, command):
        self.name, self.plan, self.seconds, self.command = name, plan, seconds, command
        self.passed = self.failed = 0
        self.took = 0.0
        self.bars = []
        self.end = []


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


class Bar:
    """A row of the table: what its figures must be, in CI and for a release."""

    def __init__(self, number, plan, needed, release, command, what):
        self.number, self.plan, self.command, self.what = number, plan, command, what
        self.needed = needed
        self.release = needed if release == "same" else release

    def soaks(self):
        """Whether make soak fills the release's column."""
        return self.command.startswith("make soak")

    def met(self, figures, release=False):
        """Whether each figure of one line is as the column wants it."""
        needs = [word.strip() for word in (self.release if release else self.needed).split("/")]
        return all(need == "-" or (index < len(figures) and holds(need, figures[index]))
                   for index, need in enumerate(needs))


def holds(need, figure):
    operator, number = NEED.match(need).groups()
    return HOLDS[operator](figure, float(number))


def column(text):
    return all(word.strip() == "-" or NEED.match(word.strip()) for word in text.split("/"))


def read_bars(path):
    bars, reasons = {}, {}
    for number, line in lines_of(path):
        reason = re.fullmatch(r"(\d+) short: (.+)", line)
        if reason:
            reasons[int(reason.group(1))] = reason.group(2)
            continue
        words = [word.strip() for word in line.split("|")]
        if len(words) != 6 or not words[0].isdigit() or int(words[0]) in bars:
            raise Wrong(f"{path}:{number}: not `number | plan | CI | release | command | what`, or "
                        "there twice")
        if words[1] not in FILLS or not column(words[2]) or \
                not (words[3] == "same" or column(words[3])):
            raise Wrong(f"{path}:{number}: a plan or a condition that is none")
        bars[int(words[0])] = Bar(int(words[0]), *words[1:])
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
        step.end = output[-AGAIN_LINES:] + [f"{said}; {os.path.relpath(path, root)}"]
        print(f"    failed: {step.end[-1]}")


def figures_of(text):
    """The figures of a line; none, if one of them is no number."""
    try:
        return [float(word) for word in text.split("/")]
    except ValueError:
        return []


def judge(step, code, output):
    for line in output:
        bar = BAR.match(line)
        if bar:
            step.bars.append((int(bar.group(1)), figures_of(bar.group(2)), bar.group(3)))
    counts = [COUNTS.match(line.strip()) for line in output]
    counts = [found for found in counts if found]
    if counts:
        step.passed, step.failed = int(counts[-1].group(1)), int(counts[-1].group(2))
    if code != 0 and step.failed == 0:
        step.failed = 1
    if code == 0 and step.passed + step.failed == 0:
        step.passed = 1


def shown(figures):
    return " / ".join(f"{figure:g}" if figure < 1e6 else f"{figure:.0f}" for figure in figures)


def row(bar, said, plan, whole):
    """A row of the table and whether it is met: True, False, or None where it is not judged."""
    judged = bar.soaks() if plan == "soak" else bar.plan in FILLS[plan]
    if not said:
        return ("NO FIGURE", False) if judged and whole else ("no figure in this plan", None)
    words = "; ".join(f"{shown(figures)} ({text})" for figures, text in said)
    if not judged:
        return f"{words}; judged by {bar.command if plan == 'soak' else 'make ' + bar.plan}", None
    met = all(bar.met(figures, plan == "soak") for figures, _ in said)
    return ("met: " if met else "SHORT: ") + words, met


def release(bar, said, plan):
    """What is known of the release's column."""
    if plan == "soak" or bar.release == bar.needed or bar.release == "-":
        return ""
    if bar.command:
        return f"release {bar.release}: not run: {bar.command}"
    if not said:
        return ""
    met = all(bar.met(figures, True) for figures, _ in said)
    return f"release {bar.release}: {'met' if met else 'short'}"


def table(bars, reasons, figures, plan, whole):
    """Prints a row a bar; the number of rows that contradict the reasons in bars.txt."""
    wrong = 0
    counts = {True: 0, False: 0, None: 0}
    print(f"{'bar':>3}  {'what':70}  {'needed':28}  figure")
    for number, bar in sorted(bars.items()):
        said = figures.get(number, [])
        needed = bar.release if plan == "soak" else bar.needed
        text, met = row(bar, said, plan, whole)
        counts[met] += 1
        print(f"{number:3}  {bar.what[:70]:70}  {needed:28}  {text}")
        later = release(bar, said, plan)
        if later:
            print(f"{'':107}{later}")
        if met is False and (not said or number not in reasons or plan == "soak"):
            why = "there must be one" if not said else "no reason is given in test/bars.txt"
            print(f"{'':107}error: {why}")
            wrong += 1
        elif met is False:
            print(f"{'':107}because: {reasons[number]}")
        elif met and number in reasons and plan != "soak":
            print(f"{'':107}error: it is met; drop its reason from test/bars.txt")
            wrong += 1
    return wrong, counts


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
    return close(steps, bars, reasons, time.monotonic() - start, options)


def close(steps, bars, reasons, seconds, options):
    figures = {}
    for step in steps:
        for number, values, text in step.bars:
            figures.setdefault(number, []).append((values, text))
    minutes = seconds / 60
    figures[WALL_BAR] = [([round(minutes, 1)], "minutes")]
    strays = [number for number in figures if number not in bars]
    wrong, counts = table(bars, reasons, figures, options.plan, not options.only)
    wrong += len(strays)
    for number in strays:
        print(f"error: a step has a figure for bar {number}, which is not in test/bars.txt")
    print(f"bars: {counts[True]} met, {counts[False]} short, {counts[None]} not judged in this plan; "
          f"{minutes:.1f} min")
    for step in steps:
        for line in step.end:
            print(f"failed: {step.name}: {line}")
    passed = sum(step.passed for step in steps)
    failed = sum(step.failed for step in steps) + wrong
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
