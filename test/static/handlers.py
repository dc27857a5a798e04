#!/usr/bin/env python3
# handlers.py - what the handlers of crashes and of loops may call, against what was accepted.
#
#   test/static/handlers.py build/release
#
# A handler runs at any instruction of the program, so it takes no lock, no memory, and calls nothing
# that does. The listing of the shared library is followed from the handlers on: each function that is
# called, jumped to, or whose address is taken. What is not in the library, and each call through a
# pointer, has a line in handlers.txt: `name  why it may`; a function of the library with a line there
# is not followed. A line that nothing needs is an error.
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
# What a disposition holds, and what it jumps to; the last is called outside of a handler.
ENTRY, JUMPS = "axo__twin_entry", {"axo__trap_handle", "axo__trap_rest"}
ROOTS = ("axo__trap_handle", "endless_handle")
# Looked for among what is reached, so that a listing that is read wrongly is noticed.
KNOWN = ("axo__walk", "walk_frame", "trap_say", "endless_look", "axo__contain_spend")
HEAD = re.compile(r"^[0-9a-f]+ <([^>]+)>:$")
BRANCH = re.compile(r"^(?:bnd |notrack )?(call|jmp|j\w+)\s+(\S+)(?:\s+<([^>+]+)(\+0x[0-9a-f]+)?>)?")
ADDRESS = re.compile(r"^lea\s+.*# [0-9a-f]+ <([^>+@]+)>$")


def plain(name):
    return re.sub(r"(\.(constprop|isra|part|cold|lto_priv)(\.\d+)?)+$", "", name)


class Function:
    """What a function goes to. Its parts, which the compiler has laid aside, are its own."""

    def __init__(self):
        self.calls, self.jumps, self.addresses, self.pointer = set(), set(), set(), False

    def take(self, code):
        branch, address = BRANCH.match(code), ADDRESS.match(code)
        if branch and branch.group(2).startswith("*"):
            got = re.search(r"# [0-9a-f]+ <([^>@]+)@[^>]+>$", code)
            if got:
                self.calls.add(got.group(1))
            else:
                self.pointer = True
        elif branch and branch.group(3):
            self.calls.add(plain(branch.group(3)))
            if branch.group(1) == "jmp" and not branch.group(4):
                self.jumps.add(plain(branch.group(3)))
        elif address:
            self.addresses.add(plain(address.group(1)))


def read(library):
    out = subprocess.run(["objdump", "-d", "--no-show-raw-insn", library], check=True,
                         capture_output=True, text=True).stdout
    functions, current = {}, None
    for line in out.splitlines():
        head = HEAD.match(line)
        if head:
            current = functions.setdefault(plain(head.group(1)), Function())
        elif current and "\t" in line:
            current.take(line.split("\t", 1)[1].strip())
    return functions


def accepted(path):
    """{name: whether it was needed}"""
    lines = {}
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if not line.strip() or line.startswith("#"):
                continue
            words = re.split(r"\s{2,}", line.strip(), maxsplit=1)
            if len(words) != 2 or words[0].lstrip("?") in lines:
                sys.exit(f"{path}:{number}: not `name  why`, or twice")
            lines[words[0].lstrip("?")] = words[0].startswith("?")
    return lines


def follow(functions, lines, errors):
    reached, left = set(), [(root, "") for root in ROOTS]
    while left:
        name, by = left.pop()
        outside = name.split("@")[0]
        if name in reached:
            continue
        if outside in lines:
            lines[outside] = True
            continue
        if name not in functions or outside != name:
            errors.append(f"{by} calls {outside}, which handlers.txt does not have")
            continue
        reached.add(name)
        it = functions[name]
        if it.pointer and f"*{name}" in lines:
            lines[f"*{name}"] = True
        elif it.pointer:
            errors.append(f"{name} goes through a pointer, and handlers.txt has no *{name}")
        there = {other for other in it.addresses if other in functions}
        left += [(target, name) for target in sorted(it.calls | there)]
    return reached


def main():
    library = os.path.join(os.path.abspath(sys.argv[1]), "libaxo.so")
    functions = read(library)
    lines = accepted(os.path.join(HERE, "handlers.txt"))
    errors = []
    for name in (ENTRY, *ROOTS):
        if name not in functions:
            sys.exit(f"{library} has no {name}")
    if functions[ENTRY].jumps != JUMPS:
        errors.append(f"{ENTRY} goes to {', '.join(sorted(functions[ENTRY].jumps))}")
    reached = follow(functions, lines, errors)
    # the compiler may have put one into another, but not all of them
    if len([name for name in KNOWN if name in reached]) < 2:
        errors.append(f"none of {', '.join(KNOWN)} was reached: the listing was not read")
    errors += [f"handlers.txt: {name} is not needed" for name, used in lines.items() if not used]
    print("\n".join(errors), end="\n" if errors else "")
    print(f"  {len(reached)} functions of the library are reached by handlers, and what "
          f"{len(lines)} lines of handlers.txt name")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
