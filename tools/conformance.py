#!/usr/bin/env python3
# conformance.py - runs the conformance programs and prints: entry, test, result.
#
#   tools/conformance.py [--variant debug] [--jobs 2] program...
#
# A test belongs to an entry by its name: "FS-01 [2 workers]" or FS_01_short_words is FS-01's.
# Fails when a test failed, when a C entry has neither a test nor a line in reasons.txt, and when a
# test or a reason names an entry that is not in entries.txt.
import argparse
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "test"))
import run_tests  # noqa: E402

ENTRY = re.compile(r"^([A-Z]+-\d+) ([CXN]) ([^|]*[^| ])(?: \| (\S.*))?$")
REASON = re.compile(r"^([A-Z]+-\d+): (\S.*)$")
NAME = re.compile(r"^([A-Z]{2,3})[-_](\d{2,})(?![0-9])")


def lines_of(path):
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        lines = [line.strip() for line in file]
    return [line for line in lines if line and not line.startswith("#")]


def read(path, pattern):
    """The lines of a file as {id: rest}; a malformed or repeated line ends the program."""
    found = {}
    for line in lines_of(path):
        match = pattern.match(line)
        if not match or match.group(1) in found:
            sys.exit(f"error: {path}: malformed or repeated: {line}")
        found[match.group(1)] = match.groups()[1:]
    return found


def bar(tested, core, expected, tests):
    """The line for the table of bars."""
    share = [100 * len(tested) / len(core),
             100 * sum(entry in tests for entry in expected) / max(len(expected), 1)]
    return f"bar 31 is {share[0]:.1f} / {share[1]:.1f}: % of the C entries, of the X entries"


def main():
    parser = argparse.ArgumentParser(description="Prints the table: entry, test, result.")
    parser.add_argument("programs", nargs="*")
    parser.add_argument("--variant", default="debug")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--folder", default=os.path.join(ROOT, "test", "conformance"))
    options = parser.parse_args()
    entries = read(os.path.join(options.folder, "entries.txt"), ENTRY)
    reasons = read(os.path.join(options.folder, "reasons.txt"), REASON)
    runs = run_tests.execute_all(options.programs, options.variant, options.jobs)

    tests = {}   # entry -> {file: [passed, failed]}
    strays = []
    passed = failed = 0
    for run in runs:
        source = os.path.basename(run.program) + ".c"
        for names, column in ((run.passed, 0), (run.failed, 1)):
            for name in names:
                passed += column == 0
                failed += column == 1
                match = NAME.match(name)
                entry = f"{match.group(1)}-{match.group(2)}" if match else None
                if entry in entries:
                    tests.setdefault(entry, {}).setdefault(source, [0, 0])[column] += 1
                elif column == 0 or match:
                    strays.append(f"{source}: {name}")
                else:
                    strays.append(f"{source}: {name} (failed)")

    counts = {"tested": 0, "failed": 0, "excused": 0, "later": 0, "missing": 0}
    for entry, (mark, title, _) in entries.items():
        where = ", ".join(tests.get(entry, {}))
        good = sum(result[0] for result in tests.get(entry, {}).values())
        bad = sum(result[1] for result in tests.get(entry, {}).values())
        if bad:
            key, result = "failed", f"FAILED {bad} of {good + bad}"
        elif good:
            key, result = "tested", f"passed {good}"
        elif entry in reasons:
            key, result = "excused", f"reason: {reasons[entry][0]}"
        elif mark == "C":
            key, result = "missing", "MISSING: neither a test nor a reason"
        else:
            key, result = "later", "later"
        counts[key] += 1
        print(f"{entry:6} {mark}  {title[:68]:68}  {where or '-':22}  {result}")

    for run in runs:
        if run.failed:
            run_tests.report(run)
    bad_reasons = [entry for entry in reasons if entry not in entries]
    stale = [entry for entry in reasons if entry in tests]
    for stray in strays:
        print(f"error: no entry for the test {stray}")
    for entry in bad_reasons:
        print(f"error: no entry for the reason {entry}")
    for entry in stale:
        print(f"error: {entry} has a test and a reason; drop the reason")
    core = [entry for entry, (mark, *_) in entries.items() if mark == "C"]
    print(f"entries: {len(entries)}, of them C: {len(core)}; " +
          ", ".join(f"{key} {count}" for key, count in counts.items()))
    print(f"C entries tested: {sum(entry in tests for entry in core)} of {len(core)}")
    print(bar([entry for entry in core if entry in tests], core,
              [entry for entry, (mark, *_) in entries.items() if mark == "X"], tests))
    wrong = failed + counts["missing"] + len(strays) + len(bad_reasons) + len(stale)
    print(f"{passed} passed, {failed + counts['missing']} failed")
    return 1 if wrong or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
