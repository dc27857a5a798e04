#!/usr/bin/env python3
# check_called.py - every exported function is called by a test.
#
#   tools/check_called.py [--root folder]
#
# The names are those of test/api/symbols.txt. A call is the name in the code of a .c, .h or .cpp
# file in test/, comments, strings and macros left out; a name that is handed on as a pointer (a
# decider) is one too.
import argparse
import os
import re
import sys

SUFFIXES = (".c", ".h", ".cpp")
TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
USE = re.compile(r"\baxo_\w+")


def main():
    parser = argparse.ArgumentParser(description="Exported functions that no test calls.")
    parser.add_argument("--root",
                        default=os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    root = parser.parse_args().root
    with open(os.path.join(root, "test", "api", "symbols.txt"), encoding="utf-8") as file:
        exported = set(file.read().split())
    used = set()
    for folder, _, names in os.walk(os.path.join(root, "test")):
        for name in names:
            if not name.endswith(SUFFIXES):
                continue
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                code = TOKEN.sub(" ", file.read())
            code = re.sub(r"^\s*#\s*define[^\n]*", "", code, flags=re.M)
            used |= set(USE.findall(code))
    missing = sorted(exported - used)
    if not exported:
        print("test/api/symbols.txt has no name")
    for name in missing:
        print(f"{name} is exported and no test calls it")
    return 1 if missing or not exported else 0


if __name__ == "__main__":
    sys.exit(main())
