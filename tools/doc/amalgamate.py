#!/usr/bin/env python3
# amalgamate.py - the library as two files, axo.c and axo.h.
#
#   tools/doc/amalgamate.py [--root folder] build/amalgamation
#
# axo.h is every public header, each after those that it includes; axo.c is every source of the
# runtime in the order of runtime/LAYERS, with each private header where it is first included. The
# #includes that are left are those of the C library, POSIX, Linux, liburcu and CK. Nothing else is
# changed: the headers keep their guards, and the statics of two files have no name in common (each
# begins with its file's).
import argparse
import os
import re
import sys

sys.dont_write_bytecode = True
import headers
from headers import ROOT

INCLUDE = re.compile(r'[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]')
CONDITION = re.compile(r"[ \t]*#[ \t]*(if|ifdef|ifndef|endif)\b")
OUTSIDE = set("assert ctype dlfcn errno fcntl inttypes limits link math poll pthread sched setjmp signal "
              "stdarg stdatomic stdbool stddef stdint stdio stdlib string time ucontext "
              "unistd unwind arpa/inet netinet/in netinet/tcp".split())
FOLDERS = ("sys/", "linux/", "urcu/", "ck_", "sanitizer/")

# Headers of libraries of their own.
ELSEWHERE = ("console.h", "process.h", "record.h", "report.h", "durable.h", "durable_nats.h", "cluster.h", "grain.h")
HEAD_C = """/* axo.c - the axo actor runtime, version {version}, in one file; axo.h beside it is its face.
 *
 * Made by `make amalgamation` from runtime/ of the source; change it there. It needs liburcu and
 * Concurrency Kit, and the compiler's options of any program with threads:
 *
 *     cc -c -O2 -pthread $(pkg-config --cflags liburcu-qsbr ck) axo.c
 *     cc app.c axo.o -pthread $(pkg-config --libs liburcu-qsbr liburcu-cds ck)
 *
 * It is a translation unit of its own: not to be included behind other code, since it asks for the
 * GNU names of the C library before the first header, and its static names may be that code's. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
/* What a header of the library offers and this configuration does not use. */
#ifdef __clang__
#pragma clang diagnostic ignored "-Wunused-function"
#pragma clang diagnostic ignored "-Wunneeded-internal-declaration"
#endif
#include "axo.h"
"""


class Wrong(Exception):
    pass


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


def banner(path):
    return f"\n/* ==== {path} " + "=" * max(4, 88 - len(path)) + " */\n"


def public_header(root, version, licence):
    folder = os.path.join(root, "include", "axo")
    texts = {name[:-2]: read(root, f"include/axo/{name}") for name in sorted(os.listdir(folder))
             if name.endswith(".h") and name not in ELSEWHERE}
    order = [name for name in headers.dependence(texts) if name != "axo"]
    head = texts["axo"][:texts["axo"].index("*/")]
    head = re.sub(r"^/\* axo\.h - everything\. ", f"/* axo.h - the interface of axo, version {version}, in "
                  "one file.\n *\n * ", head)
    parts = [head + "*/\n", licence]
    for name in order:
        text = re.sub(r"^#include <axo/\w+\.h>\n", "", texts[name], flags=re.M)
        parts += [banner(f"axo/{name}.h"), text]
    parts += [banner("axo/axo.h"), "#ifndef AXO_AXO_H\n#define AXO_AXO_H\n#endif\n"]
    return "".join(parts)


def sources(root):
    """As the Makefile has them: what the simulator replaces is not there."""
    for line in read(root, "runtime/LAYERS").splitlines():
        layer = line.split()[0]
        for name in sorted(os.listdir(os.path.join(root, "runtime", layer))):
            if name.endswith(".c") and not name.endswith("_sim.c") and \
                    not (layer == "os" and name.startswith("sim")):
                yield f"{layer}/{name}"


class Runtime:
    def __init__(self, root):
        self.root, self.out, self.seen, self.outside = root, [], set(), set()

    def take(self, path, where):
        if path in self.seen:
            return
        self.seen.add(path)
        full = "runtime/" + path
        if not os.path.exists(os.path.join(self.root, full)):
            raise Wrong(f"{where}: includes {path}, which is not there")
        self.out.append(banner(full))
        # A header's guard is open around its includes; another condition may not be.
        depth, guard = 0, 1 if path.endswith(".h") else 0
        for number, line in enumerate(read(self.root, full).splitlines(keepends=True), 1):
            condition, include = CONDITION.match(line), INCLUDE.match(line)
            if condition:
                depth += -1 if condition.group(1) == "endif" else 1
            if not include:
                self.out.append(line)
                continue
            kind, name = include.groups()
            place = f"{full}:{number}"
            if kind == '"':
                if depth != guard:
                    raise Wrong(f"{place}: a private header is included under a condition")
                self.take(name, place)
            elif name.startswith("axo/"):
                if not os.path.exists(os.path.join(self.root, "include", name)):
                    raise Wrong(f"{place}: includes <{name}>, which is not there")
            elif name[:-2] in OUTSIDE or name.startswith(FOLDERS):
                if name not in self.outside or depth != guard:
                    self.out.append(line)
                if depth == guard:
                    self.outside.add(name)
            else:
                raise Wrong(f"{place}: <{name}> is neither the C library's, POSIX's, liburcu's nor CK's")


def main():
    parser = argparse.ArgumentParser(description="Writes axo.c and axo.h.")
    parser.add_argument("--root", default=ROOT)
    parser.add_argument("folder")
    options = parser.parse_args()
    version = ".".join(re.findall(r"#define AXO_VERSION_\w+ (\d+)",
                                  read(options.root, "include/axo/version.h")))
    licence = "/*\n" + "".join(f" * {line}".rstrip() + "\n" for line in
                               read(options.root, "LICENSE").strip().splitlines()) + " */\n"
    runtime = Runtime(options.root)
    try:
        for path in sources(options.root):
            runtime.take(path, "runtime/LAYERS")
    except Wrong as error:
        sys.exit(f"amalgamate.py: {error}")
    os.makedirs(options.folder, exist_ok=True)
    for name, text in (("axo.h", public_header(options.root, version, licence)),
                       ("axo.c", HEAD_C.format(version=version) + licence + "".join(runtime.out))):
        with open(os.path.join(options.folder, name), "w", encoding="utf-8") as file:
            file.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
