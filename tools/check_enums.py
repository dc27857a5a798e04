#!/usr/bin/env python3
# check_enums.py - every value of a public enum is one that the library produces or understands.
#
#   tools/check_enums.py [--root folder]
#
# The values are the enumerators of include/axo/*.h, those of lists of X(...) too. A use is the name
# in the code of runtime/, or of a library of its own (BESIDE), comments, strings and static asserts
# left out. What the library is asked for (ASKED) it may look for; what it says it must make: there a
# case label and a comparison are no use, for a value that nobody makes has them too. A value of 0
# needs none: it is what is zeroed.
import argparse
import os
import re
import sys

TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
ENUM = re.compile(r"\benum\b\s*(\w*)\s*\{(.*?)\}", re.S)
WORD = re.compile(r"\bAXO_\w+")
LISTED = re.compile(r"\bX\(\s*(AXO_\w+)")
LOOK = re.compile(r"\bcase\s+AXO_\w+\s*:|[=!<>]=\s*AXO_\w+|[^<]<\s*AXO_\w+|[^>-]>\s*AXO_\w+"
                  r"|\bAXO_\w+\s*(?:[=!<>]=|[<>](?![<>]))")
ASSERT = re.compile(r"\b(?:AXO_STATIC_ASSERT|_Static_assert)\s*\([^;]*;")

ASKED = {"axo_scope", "axo_lifetime", "axo_window", "axo_dispatcher", "axo_overflow",
         "axo_mailbox_kind", "axo_backoff_kind", "axo_backoff_when", "axo_backoff_absent",
         "axo_router_logic", "axo_guardian", "axo_farewell_kind", "axo_task_kind",
         "axo_timer_kind", "axo_log_format", "axo_listener_beyond", "axo_figures",
         "axo_metrics_format", "axo_group_how", "axo_manual", "axo_threads",
         "axo_on_crash", "axo_store_sync", "axo_store_then",
         "axo_cluster_membership", "axo_cluster_minority"}
# Libraries beside libaxo, whose headers are in include/axo too.
BESIDE = ("durable", "durable-nats", "record", "cluster") # the others have no enum that they make


def code_of(path):
    with open(path, encoding="utf-8") as file:
        return TOKEN.sub(" ", file.read())


def files_of(folder, suffixes):
    for where, _, names in os.walk(folder):
        for name in sorted(names):
            if name.endswith(suffixes):
                yield os.path.join(where, name)


def values_of(code):
    """The enumerators of a header that need a use, each with its enum; "": one of a list."""
    found = {}
    for enum, body in ENUM.findall(code):
        body = re.sub(r"^\s*#.*$", "", body, flags=re.M)
        for part in body.split(","):
            match = re.match(r"\s*(AXO_\w+)\s*(?:=\s*(\S+))?\s*$", part)
            if match and match.group(2) != "0":
                found[match.group(1)] = enum
    found.update((value, "") for value in LISTED.findall(code))
    return found


def main():
    parser = argparse.ArgumentParser(description="Values of public enums that nothing produces.")
    parser.add_argument("--root",
                        default=os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    root = parser.parse_args().root
    values = {}
    enums = set()
    for path in files_of(os.path.join(root, "include", "axo"), (".h",)):
        code = code_of(path)
        enums |= {enum for enum, _ in ENUM.findall(code)}
        for value, enum in values_of(code).items():
            values[value] = (enum, os.path.basename(path))
    made = set()
    looked = set()
    folders = [os.path.join(root, "runtime")]
    folders += [os.path.join(root, "tools", library) for library in BESIDE]
    for path in (path for folder in folders for path in files_of(folder, (".c", ".h"))):
        code = ASSERT.sub(" ", code_of(path))
        looked |= set(WORD.findall(code))
        made |= set(WORD.findall(LOOK.sub(" ", code)))
    missing = 0 if values else 1
    if not values:
        print("include/axo has no enum")
    for enum in sorted(ASKED - enums) if values else []:
        missing += 1
        print(f"{enum} is in ASKED, and no enum of include/axo")
    for value, (enum, header) in sorted(values.items()):
        if value in (looked if enum in ASKED else made):
            continue
        missing += 1
        print(f"{header}: {value} is a value that nothing makes")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
