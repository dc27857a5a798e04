#!/usr/bin/env python3
# check_border.py - each call of a function of the program stands behind a border.
#
#   tools/check_border.py [--root folder]
#
# In runtime/, but for the simulator and pattern/, a call through a member of a struct is one of the
# library's own, in OWN, or AXO_BORDER(), AXO_CALLBACK_BORDER() is the line before it (base/border.h). In pattern/ functions of
# the program run in callbacks, behind the border of sched/run.c; CALLED names those that do not.
import argparse
import os
import re
import sys

CALL = re.compile(r"(?:->|\.)(\w+)\(")
# Tables of functions between layers, threads' bodies, and timers.
OWN = set("begin step sleep wake end idle stuck dispatch undispatch publish record board_tell figures_tell span system thrown fail "
          "notice notice_keep notice_free expire give_block drain pass reap naps heard try_pass living root_failed root_gone "
          "failed guardian_stops forked fire finish work make unmake enter leave nobody_parked deadline ends is_idle tell announce "
          "done sa_sigaction sa_handler".split())  # a handler before ours leaves as it likes
CALLED = {"runtime/pattern/call.c": "owned->destroy(", "runtime/pattern/wire_output.c": "block->destroy("}


def check(root, path, errors):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        lines = file.read().split("\n")
    pattern = path.startswith("runtime/pattern/")
    found = 0
    for number, line in enumerate(lines):
        code = re.sub(r"/\*.*?(\*/|$)|\"(?:\\.|[^\"\\])*\"", "", line)
        if line.lstrip().startswith(("*", "/*")):
            continue
        for name in CALL.findall(code):
            if name in OWN or (pattern and CALLED.get(path, "\0") not in line):
                continue
            found += 1
            before = " ".join(lines[max(0, number - 2):number])
            if not re.search(r"AXO_(CALLBACK_)?BORDER\(\);", before):
                errors.append(f"{path}:{number + 1}: {name} is called without AXO_BORDER() before it")
    return found


def main():
    parser = argparse.ArgumentParser(description="Calls of the program's functions.")
    parser.add_argument("--root",
                        default=os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    root = parser.parse_args().root
    errors, found = [], 0
    for folder, _, names in os.walk(os.path.join(root, "runtime")):
        for name in sorted(names):
            path = os.path.relpath(os.path.join(folder, name), root)
            if name.endswith((".c", ".h")) and not re.search(r"/sim[._]|_sim\.", path):
                found += check(root, path, errors)
    if not found:
        errors.append("no call of a function of the program was found")
    print("\n".join(errors), end="\n" if errors else "")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
