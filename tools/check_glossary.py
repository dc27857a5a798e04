#!/usr/bin/env python3
# check_glossary.py - the words of the map against the code.
#
#   tools/check_glossary.py [--root folder]
#
# In runtime/ARCHITECTURE.md, below "## Glossary": each word once, or once with each (of something),
# and each is said in runtime/, in a name or in a comment. Below "## Records": each struct of runtime/
# once, under the folder where it is defined, and nothing else. Below "## The life of a failure": each
# function is defined in the file beside it.
import argparse
import os
import re
import sys

MAP = os.path.join("runtime", "ARCHITECTURE.md")
STEP = re.compile(r"^\| [\w ]+ \| ` *(\w+)` \| `([\w/.]+)` \|", re.M)
STRUCT = re.compile(r"^(?:typedef )?(?:struct|union) (axo__\w+) \{", re.M)


def section(text, head):
    """The lines below a head, up to the next one of its level."""
    match = re.search(rf"^## {head}[^\n]*\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    return match.group(1) if match else ""


def check_steps(root, text, errors):
    for function, path in STEP.findall(text):
        try:
            with open(os.path.join(root, "runtime", path), encoding="utf-8") as file:
                code = file.read()
        except OSError:
            code = ""
        if not re.search(rf"^\w[\w *]*\b{function}\([^;{{]*\)\s*\n\{{", code, re.M):
            errors.append(f"{MAP}: {function} is not defined in {path}")


def words_of(text):
    for cell in re.findall(r"^\| (?!word \| means|---)([^|]*?) \|", text, re.M):
        for word in cell.split(","):
            yield word.strip(" `")


def read(root):
    """All that is written in runtime/'s C files, in lower case with _ as a blank; {struct: folders}."""
    said, structs = [], {}
    for folder, _, names in os.walk(os.path.join(root, "runtime")):
        for name in sorted(names):
            if name.endswith((".c", ".h")):
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    text = file.read()
                said.append(re.sub(r"[\s*_/-]+", " ", text.lower()))
                for struct in STRUCT.findall(text):
                    structs.setdefault(struct, set()).add(os.path.basename(folder))
    return " ".join(said), structs


def main():
    parser = argparse.ArgumentParser(description="The map's words against the code.")
    parser.add_argument("--root",
                        default=os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    root = parser.parse_args().root
    with open(os.path.join(root, MAP), encoding="utf-8") as file:
        text = file.read()
    said, structs = read(root)
    errors, seen, folder = [], set(), None
    for word in words_of(section(text, "Glossary")):
        if word in seen:
            errors.append(f"{MAP}: {word} is in the glossary twice")
        seen.add(word)
        plain = re.sub(r" *\(.*", "", word).lower()
        if not re.search(rf"\b{re.escape(plain)}", said):
            errors.append(f"{MAP}: {word} is in the glossary, and nothing in runtime/ says it")
    check_steps(root, section(text, "The life of a failure"), errors)
    listed = set()
    for line in section(text, "Records").split("\n"):
        head = re.match(r"\| \*\*(\w+)/\*\*", line)
        row = re.match(r"\| `(\w+)` \| [^|\s]", line)
        folder = head.group(1) if head else folder
        if not row:
            continue
        struct = "axo__" + row.group(1)
        if struct in listed:
            errors.append(f"{MAP}: {row.group(1)} is a record twice")
        listed.add(struct)
        if struct not in structs:
            errors.append(f"{MAP}: {row.group(1)} is a record that runtime/ does not have")
        elif folder not in structs[struct]:
            errors.append(f"{MAP}: {row.group(1)} is a record of {', '.join(structs[struct])}/")
    errors += [f"{MAP}: {struct} is no record in the map" for struct in sorted(set(structs) - listed)]
    if not seen or not structs:
        errors.append(f"{MAP}: no word, or no struct")
    print("\n".join(errors), end="\n" if errors else "")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
