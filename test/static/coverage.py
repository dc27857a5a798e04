#!/usr/bin/env python3
# coverage.py - what the quick suite reaches of runtime/: lines and branches, by folder.
#
#   test/static/coverage.py [--missed word] build/coverage
#
# --missed lists what was not reached in files whose path has the word. A line that is left out is
# marked in the source, GCOV_EXCL_LINE or GCOV_EXCL_BR_LINE and why; there may be few of them. What a
# unit test includes of a header counts too.
import argparse
import collections
import json
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HEART = ("cell", "mailbox", "sched", "super")
BARS = ((17, "scheduler, mailbox, supervision, watch, timers", HEART),
        (18, "the whole library", None))
EXCLUDED_MAX = 40


def collect(build):
    out = os.path.join(build, "coverage.json")
    subprocess.run(["gcovr", "--root", ROOT, "--object-directory", os.path.join(build, "obj"),
                    "--filter", os.path.join(ROOT, "runtime") + "/", "-j", "2", "--json", out,
                    "--exclude-branches-by-pattern", r".*\bAXO_(DEBUG_)?ASSERT\(.*",
                    "--gcov-ignore-parse-errors", os.path.join(build, "obj")],
                   check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
    with open(out, encoding="utf-8") as file:
        return json.load(file)["files"]


def marks():
    """Places left out, and those that do not say why."""
    count, silent = 0, []
    for folder, _, names in sorted(os.walk(os.path.join(ROOT, "runtime"))):
        for name in sorted(names):
            path = os.path.relpath(os.path.join(folder, name), ROOT)
            with open(os.path.join(ROOT, path), encoding="utf-8") as file:
                for number, line in enumerate(file, 1):
                    found = re.search(r"GCOV_EXCL_(?:BR_)?(?:LINE|START|STOP)(.*)", line)
                    if found:
                        count += 1
                        if "STOP" not in found.group(0) and not re.search(r"\w{3}", found.group(1)):
                            silent.append(f"{path}:{number}: left out of the coverage without a reason")
    return count, silent


class Sum:
    def __init__(self):
        self.lines = self.lines_hit = self.branches = self.branches_hit = 0

    def add(self, line):
        if line.get("gcovr/noncode"):
            return
        self.lines += 1
        self.lines_hit += line["count"] > 0
        for branch in line["branches"]:
            if not branch.get("gcovr/noncode"):
                self.branches += 1
                self.branches_hit += branch["count"] > 0

    def share(self):
        return (100 * self.lines_hit / max(1, self.lines),
                100 * self.branches_hit / max(1, self.branches))

    def row(self, name):
        line, branch = self.share()
        return (f"  {name:10} {self.lines_hit:6} of {self.lines:6} lines {line:6.2f} %   "
                f"{self.branches_hit:6} of {self.branches:6} branches {branch:6.2f} %")


def missed(files, word):
    for one in files:
        if word not in one["file"]:
            continue
        with open(os.path.join(ROOT, one["file"]), encoding="utf-8") as file:
            source = file.read().splitlines()
        for line in one["lines"]:
            branches = [b for b in line["branches"] if not b.get("gcovr/noncode")]
            gone = sum(b["count"] == 0 for b in branches)
            if line.get("gcovr/noncode") or (line["count"] > 0 and gone == 0):
                continue
            what = "LINE" if line["count"] == 0 else f"{gone}/{len(branches)}"
            number = line["line_number"]
            print(f"{one['file']}:{number}: {what:5} {source[number - 1].strip()}")


def main():
    words = argparse.ArgumentParser()
    words.add_argument("--missed", metavar="WORD")
    words.add_argument("build")
    options = words.parse_args()
    files = collect(os.path.abspath(options.build))
    if options.missed is not None:
        missed(files, options.missed)
    folders = collections.defaultdict(Sum)
    for one in files:
        for line in one["lines"]:
            folders[one["file"].split("/")[1]].add(line)
    for name in sorted(folders):
        print(folders[name].row(name))
    count, silent = marks()
    print("\n".join(silent), end="\n" if silent else "")
    for bar, what, names in BARS:
        total = Sum()
        for name, one in folders.items():
            if names is None or name in names:
                for field, value in vars(one).items():
                    setattr(total, field, getattr(total, field) + value)
        line, branch = total.share()
        print(f"bar {bar} is {line:.2f} / {branch:.2f}: % of lines, of branches of {what}; {count} "
              "places left out with reasons")
    return 1 if silent or not folders or count > EXCLUDED_MAX else 0


if __name__ == "__main__":
    sys.exit(main())
