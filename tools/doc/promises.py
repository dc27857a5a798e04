#!/usr/bin/env python3
# promises.py - which promise of the public headers is which entry, and which tests hold it.
#
#   tools/doc/promises.py [--check] [--root folder]    writes test/conformance/headers.md, or compares
#
# An entry of entries.txt names, behind a |, the functions, fields, constants or the header in whose
# comment its promise stands. Headers themselves bear no entry's id: their readers have no such list.
import argparse
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tools"))
import headers  # noqa: E402
from conformance import ENTRY, lines_of  # noqa: E402

TABLE = os.path.join("test", "conformance", "headers.md")
HEAD = """# The headers' promises and the entries that test them

Made by `tools/doc/promises.py` from the public headers, [entries.txt](entries.txt) and the tests; `make lint`
compares.

| name | promise | entry | tests in |
| --- | --- | --- | --- |
"""


def tests_of(folder):
    """{entry: files that have a test of it}"""
    found = {}
    for name in sorted(os.listdir(folder)):
        if name.endswith("_test.c"):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                text = file.read()
            # As they are registered: a string, or a function that is the name too.
            ids = re.findall(r'"([A-Z]{2,3})-(\d{2,})[" ]', text) + \
                re.findall(r"\bcmocka_unit_test\w*\(([A-Z]{2,3})_(\d{2,})_", text)
            for family, number in ids:
                found.setdefault(f"{family}-{number}", {})[name] = True
    return found


def place(library, name):
    """Where a name stands: (number of its header, line), or None."""
    base, _, field = name.partition(".")
    for number, header in enumerate(library.headers):
        if name == header.name + ".h":
            return number, 0
        if base in library.home and library.home[base][0] is header and \
                (not field or field in library.fields[base]):
            return number, library.home[base][1].line
    return None


def table(root, library):
    """The text of headers.md, and what is wrong."""
    folder = os.path.join(root, "test", "conformance")
    tests, rows, errors = tests_of(folder), [], []
    for line in lines_of(os.path.join(folder, "entries.txt")):
        match = ENTRY.match(line)
        if not match:
            errors.append(f"entries.txt: malformed: {line}")
            continue
        entry, _, title, names = match.groups()
        for name in (names or "").split():
            where = place(library, name)
            if where is None:
                errors.append(f"entries.txt: {entry} names {name}, which no public header has")
                continue
            files = ", ".join(file[:-len(".c")] for file in tests.get(entry, {})) or "reasons.txt"
            rows.append((where, len(rows), f"| `{name}` | {title} | {entry} | {files} |\n"))
    return HEAD + "".join(row for _, _, row in sorted(rows)), errors


def main():
    parser = argparse.ArgumentParser(description="The table of the headers' promises.")
    parser.add_argument("--check", action="store_true", help="only compare")
    parser.add_argument("--root", default=ROOT)
    options = parser.parse_args()
    text, errors = table(options.root, headers.read_or_die(options.root))
    path = os.path.join(options.root, TABLE)
    if errors:
        sys.exit("\n".join(errors))
    if options.check:
        with open(path, encoding="utf-8") as file:
            if file.read() != text:
                sys.exit(f"{TABLE} is not what the headers and entries.txt give; write it: "
                         "tools/doc/promises.py")
        return 0
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
