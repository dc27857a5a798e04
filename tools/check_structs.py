#!/usr/bin/env python3
# check_structs.py - a public struct that begins with its size has a macro and a function that make
# it: AXO_THING and axo_thing_init.
#
#   tools/check_structs.py [--root folder]
#   tools/check_structs.py --forms     writes C and C++ for test/api/forms.h: every field of every
#                                      struct, every pair of macro and function, every constant
import argparse
import os
import re
import sys

STRUCT = re.compile(r"^typedef struct (axo_\w+) \{\n(.*?)^\} \1;", re.S | re.M)
COMMENT = re.compile(r"/\*.*?\*/", re.S)
FIELD = re.compile(r"\(\*(\w+)\)\s*\(|(\w+)\s*(?:\[[^\]]*\])?\s*$")
CONSTANT = re.compile(r"^#define (AXO_\w+)[ \t]+([^\s\\].*)$", re.M)
NO_VALUE = {"AXO_API", "AXO_NODISCARD", "AXO_NORETURN", "AXO_BEGIN_DECLS", "AXO_END_DECLS"}


def read_headers(root):
    folder = os.path.join(root, "include", "axo")
    for name in sorted(os.listdir(folder)):
        if not name.endswith(".h"): # the layer of C++ has no struct that a program fills
            continue
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            yield name, COMMENT.sub("", file.read())


def fields_of(body):
    """The names of a struct's fields; a declaration that is not understood is an error."""
    for declaration in body.split(";")[:-1]:
        found = FIELD.search(declaration.strip())
        if not found or "," in re.sub(r"\(.*\)", "", declaration):
            raise ValueError(declaration.strip())
        yield found.group(1) or found.group(2)


def sized(body):
    return re.match(r"\s*size_t size;", body) is not None


def check(root):
    errors, seen = [], 0
    for header, text in read_headers(root):
        for name, body in STRUCT.findall(text):
            if not sized(body):
                continue
            seen += 1
            macro = name.upper()
            if not re.search(rf"^#define {macro}\([^)]*\)(.*\\\n)*.*\b{name}\b", text, re.M):
                errors.append(f"{header}: {name} begins with its size and has no macro {macro}")
            if not re.search(rf"^static inline void {name}_init\({name} \*", text, re.M):
                errors.append(f"{header}: {name} begins with its size and has no {name}_init")
    if not seen:
        errors.append("no struct begins with its size")
    return errors


def forms(root):
    lines = []
    for _, text in read_headers(root):
        for name, body in STRUCT.findall(text):
            lines.append(f"FORMS_STRUCT({name})")
            lines += [f"FORMS_FIELD({name}, {field})" for field in fields_of(body)]
            if sized(body) and f"#define {name.upper()}(...)" in text:
                lines.append(f"FORMS_PAIR({name}, {name.upper()})")
        for name, value in CONSTANT.findall(text):
            if name not in NO_VALUE and not value.startswith("__attribute__"):
                lines.append(f"FORMS_CONSTANT({name})")
    return lines


def main():
    parser = argparse.ArgumentParser(description="Structs with a size: macros and functions.")
    parser.add_argument("--root",
                        default=os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    parser.add_argument("--forms", action="store_true")
    options = parser.parse_args()
    if options.forms:
        print("\n".join(forms(options.root)))
        return 0
    errors = check(options.root)
    print("\n".join(errors), end="\n" if errors else "")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
