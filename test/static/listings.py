#!/usr/bin/env python3
# listings.py - the ordered operations of hot functions in the emitted code, against what was reviewed.
#
#   test/static/listings.py [--accept] build/release
#
# x86_64: locked operations, exchanges and fences of the release library. aarch64: of the same
# unit by a cross compiler, loads that acquire, stores that release, exclusives and barriers; there is
# no such machine here, and this is the only look at the weak orders that are emitted. A listing holds
# for one version of its compiler; another one is told apart and not compared.
import argparse
import difflib
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
X86 = re.compile(r"^(lock \w+|xchg\w*|[mls]fence|pause)\b ?(.*)$")
ARM = re.compile(r"^(ldap?rh?b?|ldaxrh?b?|ldarh?b?|stlrh?b?|stlxrh?b?|ldxr|stxr|dmb|dsb|isb|"
                 r"(?:cas|swp|ldadd|ldset|ldclr|ldeor)\w*)\s+(.*)$")


def run(*command):
    return subprocess.run(command, check=True, cwd=ROOT, capture_output=True, text=True).stdout


def plain(name):
    """A function's name without what the compiler adds to a part or a copy of it."""
    return re.sub(r"(\.(constprop|isra|part|cold|lto_priv)(\.\d+)?)+$", "", name)


def x86_line(text):
    found = X86.match(text)
    if not found:
        return None
    word, rest = found.groups()
    if word.startswith("xchg") and "(" not in rest:
        return None
    return word


def x86(build):
    library = os.path.join(build, "libaxo.so")
    version = re.search(r"GCC: .*|clang version .*", run("readelf", "-p", ".comment", library))
    listings, current = {}, None
    for line in run("objdump", "-d", "--no-show-raw-insn", library).splitlines():
        head = re.match(r"^[0-9a-f]+ <([^>]+)>:$", line)
        if head:
            # a cold part is no hot function
            current = None if ".cold" in head.group(1) else plain(head.group(1))
            listings.setdefault(current, [])
        elif current and "\t" in line:
            what = x86_line(line.split("\t", 1)[1].strip())
            if what:
                listings[current].append(what)
    return version.group(0).strip() if version else "unknown", listings


def arm(build):
    compiler = os.environ.get("AARCH64_CC", "aarch64-linux-gnu-gcc")
    version = run(compiler, "--version").splitlines()[0]
    flags = ["-std=c11", "-D_GNU_SOURCE", "-O2", "-DAXO_RELEASE=1", "-fPIC",
             "-march=armv8-a", "-mno-outline-atomics", "-ftls-model=initial-exec", "-w",
             "-Itest/static", "-Iinclude", "-Iruntime", "-idirafter",
             "/usr/include/x86_64-linux-gnu", "-idirafter", "/usr/include"]
    text = run(compiler, *flags, "-S", "-o", "-", os.path.join(build, "axo_unity.c"))
    listings, current = {}, None
    for line in text.splitlines():
        head = re.match(r"^([\w.]+):$", line)
        if head and not head.group(1).startswith(".L"):
            current = None if ".cold" in head.group(1) else plain(head.group(1))
            listings.setdefault(current, [])
        found = current and ARM.match(line.strip())
        if found:
            word, rest = found.groups()
            listings[current].append(word + (" " + rest if word == "dmb" else ""))
    return version, listings


def text_of(version, listings, functions):
    out = [f"# {version}"]
    for name in functions:
        out.append(f"{name}:")
        out += [f"    {what}" for what in listings.get(name) or ["none, or inlined"]]
    return "\n".join(out) + "\n"


def compare(machine, version, listings, functions, accept):
    """Whether all is as reviewed; how many operations were compared."""
    path = os.path.join(HERE, "listings", machine + ".txt")
    now = text_of(version, listings, functions)
    count = sum(len(listings.get(name, [])) for name in functions)
    if accept:
        with open(path, "w", encoding="utf-8") as file:
            file.write(now)
        print(f"  {machine}: {len(functions)} functions, {count} operations written")
        return True, count
    with open(path, encoding="utf-8") as file:
        old = file.read()
    if old.splitlines()[0] != now.splitlines()[0]:
        print(f"  {machine}: not compared: made by {now.splitlines()[0][2:]}, reviewed with "
              f"{old.splitlines()[0][2:]}")
        return True, 0
    diff = list(difflib.unified_diff(old.splitlines(), now.splitlines(), "reviewed", "now", n=4,
                                     lineterm=""))
    print("\n".join(diff) or f"  {machine}: {len(functions)} functions, {count} operations as reviewed")
    return not diff, count


def main():
    parser = argparse.ArgumentParser(description="Lists the ordered operations of hot functions.")
    parser.add_argument("--accept", action="store_true")
    parser.add_argument("build")
    options = parser.parse_args()
    build = os.path.abspath(options.build)
    with open(os.path.join(HERE, "listings", "functions"), encoding="utf-8") as file:
        functions = [line.strip() for line in file if line.strip() and line[0] != "#"]
    good, counts, lost = True, [], set(functions)
    for machine, make in (("x86_64", x86), ("aarch64", arm)):
        version, listings = make(build)
        lost -= {name for name in functions if listings.get(name)}
        same, count = compare(machine, version, listings, functions, options.accept)
        good = good and same
        counts.append(f"{machine} {count}")
    if lost:
        print(f"  nothing is listed of: {' '.join(sorted(lost))}")
        good = False
    elif not good:
        print("after a review: make listings-accept")
    print(f"bar 30 is {0 if good else 1}: barrier listings of {len(functions)} functions that changed, "
          f"operations: {', '.join(counts)}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
