#!/usr/bin/env python3
# check_symbols.py - the names that the shared library exports are those of the golden list.
#
#   tools/check_symbols.py [--update] [--golden test/api/symbols.txt] build/release/libaxo.so
#
# Every name begins with axo_ and not with axo__, and is a function: data is never exported, since
# a program's copy of it freezes its size.
import argparse
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def main():
    parser = argparse.ArgumentParser(description="Compares exported names with a golden list.")
    parser.add_argument("library")
    parser.add_argument("--golden", default=os.path.join(ROOT, "test", "api", "symbols.txt"))
    parser.add_argument("--update", action="store_true", help="write the golden list anew")
    options = parser.parse_args()
    listing = subprocess.run(["nm", "-D", "--defined-only", options.library], check=True,
                             stdout=subprocess.PIPE, universal_newlines=True).stdout
    exported = {}
    for line in listing.splitlines():
        _, kind, name = line.split()[-3:]
        exported[name.split("@")[0]] = kind
    errors = []
    for name, kind in sorted(exported.items()):
        if not name.startswith("axo_") or name.startswith("axo__"):
            errors.append(f"{name} is exported and does not begin with axo_")
        elif kind not in "Ti":
            errors.append(f"{name} is exported and is not a function")
    if options.update and not errors:
        with open(options.golden, "w", encoding="utf-8") as file:
            file.writelines(f"{name}\n" for name in sorted(exported))
        print(f"{len(exported)} names written to {options.golden}")
    elif not errors:
        with open(options.golden, encoding="utf-8") as file:
            golden = set(file.read().split())
        errors += [f"{name} is exported and not in {options.golden}"
                   for name in sorted(set(exported) - golden)]
        errors += [f"{name} is in {options.golden} and not exported"
                   for name in sorted(golden - set(exported))]
        if errors:
            errors.append("if that is meant: tools/check_symbols.py --update " + options.library)
    print("\n".join(errors), end="\n" if errors else "")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
