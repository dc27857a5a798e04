#!/usr/bin/env python3
# check_symbols.py - the names that the library exports are those of the golden list.
#
#   tools/check_symbols.py [--update] [--golden test/api/symbols.txt] build/release/libaxo.so
#
# The linker's map is made from the golden list, so the shared library alone cannot tell of a new
# function: the names are those that are visible in libaxo.a, beside it. Every name begins with axo_
# and not with axo__, and is a function: data is never exported, since a program's copy of it freezes
# its size. In the shared library each carries the version of its soname: AXO_0.1 in libaxo.so.0.1.
import argparse
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SYMBOL = re.compile(r"^\s*\d+: [0-9a-f]+ +\w+ +(\w+) +(GLOBAL|WEAK|UNIQUE) +(\w+) +(?:\[.*\] +)?"
                    r"(\w+) +(\S+)$", re.M)


def readelf(*words):
    return subprocess.run(["readelf", "-W", *words], check=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, universal_newlines=True).stdout


def visible(text):
    """Name and type of what is defined there for everybody."""
    return {name: kind for kind, _, visibility, section, name in SYMBOL.findall(text)
            if section != "UND" and visibility in ("DEFAULT", "PROTECTED")}


def main():
    parser = argparse.ArgumentParser(description="Compares exported names with a golden list.")
    parser.add_argument("library")
    parser.add_argument("--golden", default=os.path.join(ROOT, "test", "api", "symbols.txt"))
    parser.add_argument("--update", action="store_true", help="write the golden list anew")
    options = parser.parse_args()
    archive = os.path.join(os.path.dirname(options.library), "libaxo.a")
    errors = []
    exported = visible(readelf("--syms", archive))
    for name, kind in sorted(exported.items()):
        if not name.startswith("axo_") or name.startswith("axo__"):
            errors.append(f"{name} is exported and does not begin with axo_")
        elif kind not in ("FUNC", "IFUNC"):
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
        errors += versions(options.library, golden)
    print("\n".join(errors), end="\n" if errors else "")
    return 1 if errors else 0


def versions(library, golden):
    """What is wrong with the names and versions of the shared library itself."""
    soname = re.search(r"SONAME.*\[libaxo\.so\.([\d.]+)\]", readelf("-d", library))
    if not soname:
        return [f"{library} has no soname libaxo.so.NUMBER"]
    node = "AXO_" + soname.group(1)
    if not re.search(rf"Name: {re.escape(node)}$", readelf("-V", library), re.M):
        return [f"{library} defines no version {node}"]
    names = visible(readelf("--dyn-syms", library))
    wanted = {f"{name}@@{node}" for name in golden}
    found = {name for name in names if name.split("@")[0] != node}
    return ([f"{name} is not in {library}, of that version" for name in sorted(wanted - found)] +
            [f"{name} is in {library}, and is no name and version of the list"
             for name in sorted(found - wanted)])


if __name__ == "__main__":
    sys.exit(main())
