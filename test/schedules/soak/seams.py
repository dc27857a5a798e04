#!/usr/bin/env python3
# seams.py - what the seams cost a message: instructions, counted by valgrind, which repeat.
#
#   test/schedules/soak/seams.py BUILD
#
# The same two actors answer each other in the library as it is and in one whose trace points are
# empty; then with the life of actors recorded, and with everything recorded. Differences of two
# lengths leave out the start and the end.
import os
import shutil
import subprocess
import sys

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))
sys.path.insert(0, os.path.join(ROOT, "test", "static"))
from instructions import counted  # noqa: E402
SHORT, LONG = 20000, 120000
HOOK = "    if (axo__unlikely(axo__local_wants(local, kind)))\n        axo__local_trace("


def build(folder, hooks):
    """Makes `seams` from a copy of the sources; without hooks, nothing is ever traced."""
    tree = os.path.join(folder, "with" if hooks else "without")
    shutil.rmtree(tree, ignore_errors=True)
    for part in ("runtime", "include", "tools", "test/schedules", "Makefile"):
        where = os.path.join(tree, part)
        os.makedirs(os.path.dirname(where), exist_ok=True)
        source = os.path.join(ROOT, part)
        shutil.copytree(source, where) if os.path.isdir(source) else shutil.copy(source, where)
    if not hooks:
        path = os.path.join(tree, "runtime", "cell", "core.h")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        if text.count(HOOK) != 1:
            sys.exit(f"error: {path} has no trace point of the known form")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace(HOOK, "    if (0)\n        axo__local_trace("))
    subprocess.run(["make", "-s", "-C", tree, "VARIANT=release", "BUILD=build",
                    "build/release/test/schedules/soak/seams"], check=True, stdout=subprocess.DEVNULL)
    return os.path.join(tree, "build", "release", "test", "schedules", "soak", "seams")


def a_message(program, record):
    more = counted([program, record, str(LONG)]) - counted([program, record, str(SHORT)])
    return more / (LONG - SHORT)


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: seams.py BUILD")
    folder = os.path.join(os.path.abspath(sys.argv[1]), "seams")
    bare = a_message(build(folder, False), "none")
    program = build(folder, True)
    off, life, everything = (a_message(program, word) for word in ("none", "life", "all"))
    cost_off, cost_on = off / bare - 1, life / bare - 1
    print(f"instructions a message: {bare:.1f} without trace points, {off:.1f} with them, "
          f"{life:.1f} recording lives, {everything:.1f} recording every message")
    print(f"bar 33 is {100 * cost_off:.1f} / {100 * cost_on:.1f}: % of the instructions of a message, "
          f"recording off, on ({100 * (everything / bare - 1):.0f} % with each message recorded)")


if __name__ == "__main__":
    main()
