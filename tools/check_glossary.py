#!/usr/bin/env python3
# check_glossary.py - the words of the map against the code.
#
#   tools/check_glossary.py [--root folder]
#
# In runtime/ARCHITECTURE.md, below "## Glossary", three sections: "### Five words ..." has five rows,
# "### Fifteen ..." fifteen, "### The rest, by folder" the others under **folder/** rows. No word stands
# twice, in one section or in two, but once with each (of something). A word is said in the names or in
# the comments of runtime/; one of the rest is said in its folder. Each struct of runtime/ is a word of
# the first two sections or, in `backticks`, a row of the rest under the folder that defines it; a
# row in backticks is a struct. Below "## The life of a failure": each function is defined in the file
# beside it.
import argparse
import os
import re
import sys

MAP = os.path.join("runtime", "ARCHITECTURE.md")
STEP = re.compile(r"^\| [\w ]+ \| ` *(\w+)` \| `([\w/.]+)` \|", re.M)
STRUCT = re.compile(r"^(?:typedef )?(?:struct|union) (axo__\w+) \{", re.M)
SECTIONS = (("Five words", 5), ("Fifteen", 15), ("The rest", None))


def section(text, head, level=2):
    """The lines below a head, up to the next one of its level or a higher one."""
    match = re.search(rf"^{'#' * level} {head}[^\n]*\n(.*?)(?=^#{{2,{level}}} |\Z)", text, re.M | re.S)
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


def rows_of(text):
    """Each row of the tables: its folder, the words of its first cell, as they are written."""
    folder = None
    for cell in re.findall(r"^\| (?!word \| means|word or|---)([^|]*?) \|", text, re.M):
        head = re.fullmatch(r"\*\*(\w+)/\*\*", cell)
        if head:
            folder = head.group(1)
        else:
            yield folder, [word.strip() for word in cell.split(",")]


def read(root):
    """{folder: what is written in its C files, in lower case with _ as a blank}, {struct: folders}."""
    said, structs = {}, {}
    for folder, _, names in os.walk(os.path.join(root, "runtime")):
        for name in sorted(names):
            if name.endswith((".c", ".h")):
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    text = file.read()
                base = os.path.basename(folder)
                said[base] = said.get(base, "") + " " + re.sub(r"[\s*_/-]+", " ", text.lower())
                for struct in STRUCT.findall(text):
                    structs.setdefault(struct, set()).add(base)
    return said, structs


class Glossary:
    """The words that were met, the structs among them, and what is wrong."""

    def __init__(self, said, structs):
        self.said, self.structs = said, structs
        self.seen, self.listed, self.errors = {}, set(), []

    def word(self, title, folder, written):
        word = written.strip("`")
        key = word.replace("_", " ")
        if key in self.seen:
            where = "" if self.seen[key] == title else f", in {self.seen[key]} and in {title}"
            self.errors.append(f"{MAP}: {word} is in the glossary twice{where}")
        self.seen[key] = title
        struct = "axo__" + word.replace(" ", "_")
        if written != word:
            self.listed.add(struct)
            if struct not in self.structs:
                self.errors.append(f"{MAP}: {word} is a record that runtime/ does not have")
            elif folder not in self.structs[struct]:
                self.errors.append(f"{MAP}: {word} is a record of {', '.join(self.structs[struct])}/")
            return
        if struct in self.structs:
            self.listed.add(struct)
        plain = re.sub(r" *\(.*", "", word).lower()
        text = self.said.get(folder, "") if folder else " ".join(self.said.values())
        if not re.search(rf"\b{re.escape(plain)}", text):
            self.errors.append(f"{MAP}: {word} is in the glossary, and nothing in "
                               f"{folder or 'runtime'}/ says it")


def main():
    parser = argparse.ArgumentParser(description="The map's words against the code.")
    parser.add_argument("--root",
                        default=os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    root = parser.parse_args().root
    with open(os.path.join(root, MAP), encoding="utf-8") as file:
        text = file.read()
    said, structs = read(root)
    glossary = Glossary(said, structs)
    errors = glossary.errors
    for title, count in SECTIONS:
        rows = list(rows_of(section(section(text, "Glossary"), title, 3)))
        if count is not None and len(rows) != count:
            errors.append(f"{MAP}: {title} has {len(rows)} rows, not {count}")
        for folder, words in rows:
            if count is None and folder is None:
                errors.append(f"{MAP}: {words[0]} stands under no folder")
            for word in words:
                glossary.word(title, folder, word)
    check_steps(root, section(text, "The life of a failure"), errors)
    for row in re.findall(r"^\| `(\w+)` \| +\|", section(text, "Glossary"), re.M):
        errors.append(f"{MAP}: {row} has no meaning")
    errors += [f"{MAP}: {struct} is no record in the map"
               for struct in sorted(set(structs) - glossary.listed)]
    if not glossary.seen or not structs:
        errors.append(f"{MAP}: no word, or no struct")
    print("\n".join(errors), end="\n" if errors else "")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
