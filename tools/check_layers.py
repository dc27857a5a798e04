#!/usr/bin/env python3
# check_layers.py - refuses an include, a call or a declaration that the order of the layers does not
# allow.
#
#   tools/check_layers.py [--root folder]
#
# The order is runtime/LAYERS, low to high. A file includes its own layer and those below it, always
# as "layer/file.h"; its own header comes first. liburcu is included in mem/ and queue/ only, CK in
# base/, os/, mem/ and queue/ only; pattern/ sees <axo/...>, the C library, POSIX threads,
# "base/border.h" and "base/aside.h", notes for the unwinder and for axo_throw, "base/demand.h", sums,
# and "os/net.h", the socket calls; public headers see <axo/...> and the C library.
#
# A function is defined in no higher layer than it is declared in, and in the file whose header
# declares it; what a floor needs of one above goes through a table of functions. Files that include or
# call one another in a circle are two at most. ELSEWHERE and UNWINDER name what is otherwise.
import argparse
import os
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s*(.*)$')
CPP_LIBRARY = set("array chrono cstddef cstdint cstdio cstdlib cstring cxxabi.h exception functional memory "
                  "new string_view system_error type_traits utility".split())
C_LIBRARY = {f"{name}.h" for name in (
    "assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal "
    "stdalign stdarg stdatomic stdbool stddef stdint stdio stdlib stdnoreturn string tgmath "
    "threads time uchar wchar wctype").split()}
PATTERN_POSIX = {"pthread.h"}
PATTERN_NOTE = ("base/aside.h", "base/border.h", "base/demand.h", "os/net.h")
# Declared in one header, defined in files of other names: the port's contract, os.h's, with its
# simulator; CK's and liburcu's faces, with theirs; and the router, which is one thing in five files.
ELSEWHERE = re.compile(r"os/|mem/(grace|rcu)|queue/|pattern/(router|wire)")
# Called by the unwinder, from frames of every layer, by their names in the tables.
UNWINDER = {"axo__border", "axo__border_ended"}
NOT_CODE = re.compile(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)
DEFINED = re.compile(r"^(?!static|typedef)[A-Za-z_][\w *()]*?\b(axo__\w+)\([^;{]*\)\s*\n\{", re.M)
DECLARED = re.compile(r"^(?!static|typedef)[A-Za-z_][\w *]*?\b(axo__\w+)\([^;{]*\)[^;{]*;", re.M)
NAME = re.compile(r"\baxo__\w+\b")
CIRCLE_MAX = 2
URCU_LAYERS = {"mem", "queue"}
CK_LAYERS = {"base", "os", "mem", "queue"}


def includes(path):
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            match = INCLUDE.match(line)
            if match:
                yield number, re.sub(r"/\*.*?(\*/|$)|//.*", "", match.group(1)).strip()


def check_quoted(root, layers, layer, path, target):
    parts = target.split("/")
    if len(parts) != 2 or parts[0] not in layers:
        return f'write a private include as "layer/file.h", not "{target}"'
    if layers.index(parts[0]) > layers.index(layer):
        return f"{layer}/ includes {target}, which is a higher layer"
    if layer == "pattern" and parts[0] != "pattern" and target not in PATTERN_NOTE:
        return f"pattern/ includes {target}; it may only see <axo/...>"
    if not os.path.exists(os.path.join(root, "runtime", target)):
        return f"{target} does not exist"
    return None


def check_angled(layer, target):
    top = target.split("/")[0]
    if (top == "urcu" or target.startswith("urcu")) and layer not in URCU_LAYERS:
        return f"{layer}/ includes liburcu's <{target}>; only mem/ and queue/ may"
    if target.startswith("ck_") and layer not in CK_LAYERS:
        return f"{layer}/ includes CK's <{target}>; only base/, os/, mem/ and queue/ may"
    if layer == "pattern" and top != "axo" and \
            target not in C_LIBRARY | PATTERN_POSIX:
        return f"pattern/ includes <{target}>; it may only see <axo/...> and the C library"
    return None


def check_private(root, layers, layer, name, errors):
    path = os.path.join(root, "runtime", layer, name)
    own = f"{layer}/{name[:-2]}.h"
    has_own = name.endswith(".c") and os.path.exists(os.path.join(root, "runtime", own))
    first = True
    for number, text in includes(path):
        if text.startswith('"') and text.endswith('"'):
            error = check_quoted(root, layers, layer, path, text[1:-1])
        elif text.startswith("<") and text.endswith(">"):
            error = check_angled(layer, text[1:-1])
        else:
            error = f"cannot tell what is included: {text}"
        if not error and first and has_own and text != f'"{own}"':
            error = f'a file includes its own header, "{own}", first'
        first = False
        if error:
            errors.append(f"runtime/{layer}/{name}:{number}: {error}")


def check_public(root, name, errors):
    for number, text in includes(os.path.join(root, "include", "axo", name)):
        target = text[1:-1]
        library = CPP_LIBRARY if name.endswith(".hpp") else C_LIBRARY
        if not text.startswith("<") or (target not in library and not target.startswith("axo/")):
            errors.append(f"include/axo/{name}:{number}: a public header includes {text}; it may "
                          "only see <axo/...> and the C library, or that of C++ in a .hpp")


def read_code(root, layers):
    """The files' texts without comments and strings, by "layer/name.c"; the simulator's apart."""
    code = {}
    for layer in layers:
        folder = os.path.join(root, "runtime", layer)
        for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
            if name.endswith((".c", ".h")) and not re.search(r"^sim|_sim\.", name):
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    code[f"{layer}/{name}"] = NOT_CODE.sub(
                        lambda m: re.sub(r"[^\n]", " ", m.group()), file.read())
    return code


def check_places(layers, code, defined, errors):
    for path, text in code.items():
        for match in DECLARED.finditer(text) if path.endswith(".h") else ():
            name = match.group(1)
            there = defined.get(name)
            if there is None or name in UNWINDER:
                continue
            where = f"runtime/{path}:{text.count(chr(10), 0, match.start()) + 1}: {name} is"
            if layers.index(there.split("/")[0]) > layers.index(path.split("/")[0]):
                errors.append(f"{where} defined above its declaration, in {there}")
            elif there[:-2] != path[:-2] and not ELSEWHERE.match(path):
                errors.append(f"{where} defined in {there}, which has another name")


def arrows(root, code, defined):
    """Who includes or calls whom, by "layer/name"; os/ is one, behind its header."""
    def unit(path):
        return "os/os" if path.startswith("os/") else path[:-2]
    to = {unit(path): set() for path in code}
    for path, text in code.items():
        for name in set(NAME.findall(text)) - UNWINDER:
            if name in defined:
                to[unit(path)].add(unit(defined[name]))
        for _, target in includes(os.path.join(root, "runtime", path)):
            if target.strip('"') in code:
                to[unit(path)].add(unit(target.strip('"')))
    return to


def reach(to, start):
    seen, rest = set(), [start]
    while rest:
        for target in to[rest.pop()] - seen:
            seen.add(target)
            rest.append(target)
    return seen


def check_circles(to, errors):
    reached = {unit: reach(to, unit) for unit in to}
    told = set()
    for unit in sorted(to):
        circle = {other for other in reached[unit] if unit in reached[other]} | {unit}
        if len(circle) > CIRCLE_MAX and unit not in told and \
                not any(ELSEWHERE.match(one) for one in circle):
            errors.append(f"runtime/: a circle of {len(circle)} files: {' '.join(sorted(circle))}")
        told |= circle


def main():
    parser = argparse.ArgumentParser(description="Checks includes against runtime/LAYERS.")
    parser.add_argument("--root", default=os.path.dirname(os.path.dirname(
        os.path.abspath(__file__))))
    root = parser.parse_args().root
    with open(os.path.join(root, "runtime", "LAYERS"), encoding="utf-8") as file:
        layers = [line.split()[0] for line in file if line.strip()]
    errors = []
    runtime = os.path.join(root, "runtime")
    for folder in sorted(os.listdir(runtime)):
        path = os.path.join(runtime, folder)
        if not os.path.isdir(path):
            if folder.endswith((".c", ".h")):
                errors.append(f"runtime/{folder}: a source file outside the layers")
            continue
        sources = sorted(name for name in os.listdir(path) if name.endswith((".c", ".h")))
        if sources and folder not in layers:
            errors.append(f"runtime/{folder}: not in runtime/LAYERS")
            continue
        for name in sources:
            check_private(root, layers, folder, name, errors)
    for name in sorted(os.listdir(os.path.join(root, "include", "axo"))):
        check_public(root, name, errors)
    code = read_code(root, layers)
    defined = {name: path for path, text in code.items() if path.endswith(".c")
               for name in DEFINED.findall(text)}
    check_places(layers, code, defined, errors)
    check_circles(arrows(root, code, defined), errors)
    print("\n".join(errors), end="\n" if errors else "")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
