#!/usr/bin/env python3
# check_layers.py - refuses an include that the order of the layers does not allow.
#
#   tools/check_layers.py [--root folder]
#
# The order is runtime/LAYERS, low to high. A file includes its own layer and those below it, always
# as "layer/file.h"; its own header comes first. liburcu is included in mem/ and queue/ only, CK in
# base/, os/, mem/ and queue/ only; pattern/ sees <axo/...>, the C library, POSIX threads and
# "base/border.h", a note for the unwinder; public headers see <axo/...> and the C library.
import argparse
import os
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s*(.*)$')
C_LIBRARY = {f"{name}.h" for name in (
    "assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal "
    "stdalign stdarg stdatomic stdbool stddef stdint stdio stdlib stdnoreturn string tgmath "
    "threads time uchar wchar wctype").split()}
PATTERN_POSIX = {"pthread.h"}
PATTERN_NOTE = "base/border.h"
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
    if layer == "pattern" and parts[0] != "pattern" and target != PATTERN_NOTE:
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
        if not text.startswith("<") or (target not in C_LIBRARY and not target.startswith("axo/")):
            errors.append(f"include/axo/{name}:{number}: a public header includes {text}; it may "
                          "only see <axo/...> and the C library")


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
    print("\n".join(errors), end="\n" if errors else "")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
