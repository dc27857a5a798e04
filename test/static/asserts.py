#!/usr/bin/env python3
# asserts.py - checks a function, on average, in runtime/: AXO_ASSERT, AXO_DEBUG_ASSERT, static ones.
#
#   test/static/asserts.py [--by file]
#
# What only the simulator has (os/sim*, mem/*_sim*) is counted apart and not part of the figure.
import argparse
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tools"))
import tidy  # noqa: E402

CHECK = re.compile(r"\b(AXO_ASSERT|AXO_DEBUG_ASSERT|AXO_STATIC_ASSERT|_Static_assert)\(")


def count(path):
    """Functions and checks of a file; a check that is defined is none."""
    with open(path, encoding="utf-8") as file:
        code, _ = tidy.split(file.read())
    lines = code.splitlines()
    functions = sum("(" in " ".join(lines[first:last]) and
                    not re.match(r"\s*(typedef\s+)?(struct|union|enum)\b[^(]*$",
                                 " ".join(lines[first:last]).split("{")[0]) and
                    "=" not in " ".join(lines[first:last]).split("{")[0]
                    for first, last in tidy.functions(lines))
    checks = sum(len(CHECK.findall(line)) for line in lines if not line.startswith("#"))
    return functions, checks


def main():
    words = argparse.ArgumentParser()
    words.add_argument("--by", choices=["file"])
    options = words.parse_args()
    folders, apart = {}, [0, 0]
    for folder, _, names in sorted(os.walk(os.path.join(ROOT, "runtime"))):
        for name in sorted(names):
            if not name.endswith((".c", ".h")):
                continue
            functions, checks = count(os.path.join(folder, name))
            to = apart
            if "sim" not in re.split(r"[_.]", name):
                to = folders.setdefault(os.path.basename(folder), [0, 0])
                if options.by and functions:
                    print(f"{checks / functions:6.2f} {checks:4} {functions:4} "
                          f"{os.path.basename(folder)}/{name}")
            to[0] += functions
            to[1] += checks
    for name, (functions, checks) in sorted(folders.items()):
        print(f"  {name:10} {checks:5} checks in {functions:5} functions: {checks / functions:.2f}")
    print(f"  simulator  {apart[1]:5} checks in {apart[0]:5} functions")
    functions = sum(one[0] for one in folders.values())
    checks = sum(one[1] for one in folders.values())
    figure = checks / functions
    print(f"bar 19 is {figure:.2f}: asserts a function: {checks} in {functions}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
