#!/usr/bin/env python3
# faces.py - what each operation of base/atomic.h is compiled to on aarch64, against what the checker
# of weak memory takes it for.
#
#   test/static/faces.py [--show]
#
# The checker's own base/atomic.h (test/schedules/weak/port) gives each operation an order; the
# instructions of the product's must have at least that one, in each form that a compiler chooses:
# exclusives, calls of libgcc's, single instructions (LSE), loads that acquire less (RCpc). A seq_cst
# load is `ldar`: sched/wake.h counts on it behind a read-modify-write that releases, and check.h has
# that as a rule of aarch64; gcc 12 has `ldar` for every load that acquires, newer ones may take `ldapr`
# there. An operation that one of the two headers has alone is an error.
import argparse
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PORT = os.path.join(ROOT, "test/schedules/weak/port/base/atomic.h")
FORMS = {"exclusives": ["-march=armv8-a", "-mno-outline-atomics"],
         "libgcc": ["-march=armv8-a", "-moutline-atomics"],
         "single": ["-march=armv8.1-a"],
         "rcpc": ["-march=armv8.4-a"]}
FACE = re.compile(r"axo__(?:a64|a32|aptr)_(\w+)")
SITE = re.compile(r"#define (axo__\w+)\([^)]*\)\s*(?:\\\s*)?axo__\w+\([^\"]*"
                  r"WEAK_SITE\(\"(\w+)\", ([\w |]+)\)")
ORDERS = {"0": "", "WEAK_ACQUIRE": "a", "WEAK_RELEASE": "r", "WEAK_BOTH": "ar", "WEAK_ALL": "ars",
          "WEAK_ACQUIRE | WEAK_SEQ_CST": "as"}
# No order and no point of the checker: a look for an assertion.
PEEK = "peek_owner"
BESIDE = {"axo__plain_load_acquire": "a"}


def assumed():
    """Operation -> the letters of its order: acquires, releases, seq_cst."""
    with open(PORT, encoding="utf-8") as file:
        text = file.read()
    return {name: ORDERS[order] for name, _, order in SITE.findall(text)} | BESIDE


def emitted(flags):
    """Operation -> its instructions that touch memory, barriers and calls."""
    compiler = os.environ.get("AARCH64_CC", "aarch64-linux-gnu-gcc")
    command = [compiler, "-std=c11", "-O2", "-fkeep-inline-functions", "-Iruntime", *flags, "-x", "c",
               "-S", "-o", "-", "-"]
    text = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True,
                          input='#include "base/atomic.h"\n').stdout
    found, current = {}, None
    for line in text.splitlines():
        head = re.match(r"^(\w+):$", line)
        if head:
            current = head.group(1)
        elif current and re.match(r"^\s+(ld|st|cas|swp|dmb|dsb|bl\s)", line):
            found.setdefault(current, []).append(re.sub(r"\s+", " ", line.strip()))
    return found


def order_of(lines):
    """The letters that these instructions have."""
    has = set()
    for line in lines:
        word, _, rest = line.partition(" ")
        called = re.match(r"__aarch64_\w+?\d+_(\w+)$", rest) if word == "bl" else None
        if word in ("ldar", "ldaxr"):
            has |= set("as")
        elif word == "ldapr" or (word == "dmb" and rest == "ishld"):
            has.add("a")
        elif word in ("stlr", "stlxr"):
            has |= set("rs")
        elif called:
            has |= set({"acq": "a", "rel": "r", "acq_rel": "ars", "sync": "ars"}.get(called.group(1), ""))
        elif word == "dmb" and rest == "ish":
            has |= set("ar")
        elif re.match(r"(cas|swp|ld(add|set|clr))", word):
            suffix = re.sub(r"^(cas|swp|ldadd|ldset|ldclr)", "", word)
            has |= set({"a": "a", "l": "r", "al": "ars"}.get(suffix, ""))
    return has


def main():
    parser = argparse.ArgumentParser(description="Compares the operations of atomic.h on aarch64.")
    parser.add_argument("--show", action="store_true", help="what each is compiled to")
    options = parser.parse_args()
    wanted = assumed()
    wrong, compared = [], 0
    for form, flags in FORMS.items():
        found = emitted(flags)
        faces = {name for name in found if FACE.match(name) and not name.endswith(PEEK)} | set(BESIDE)
        wrong += [f"{name}: only the product has it" for name in sorted(faces - set(wanted))]
        wrong += [f"{name}: only the checker has it" for name in sorted(set(wanted) - faces)]
        for name in sorted(faces & set(wanted)):
            lines = found.get(name, [])
            has = order_of(lines)
            compared += 1
            if options.show:
                print(f"  {form:10} {name:28} {'; '.join(lines)}")
            if not set(wanted[name]) <= has:
                wrong.append(f"{name}, {form}: {'; '.join(lines) or 'nothing'}: is '{''.join(sorted(has))}' of "
                             f"'{wanted[name]}' (a: acquires, r: releases, s: seq_cst)")
    print("\n".join(f"  {line}" for line in wrong) or
          f"  aarch64: {len(wanted)} operations in {len(FORMS)} forms have the orders that the checker assumes")
    return 1 if wrong or compared < len(FORMS) * len(BESIDE) + 1 else 0


if __name__ == "__main__":
    sys.exit(main())
