#!/usr/bin/env python3
# check_words.py - a name in a comment names something.
#
#   tools/check_words.py [--root folder]
#
# In the comments of runtime/ and include/: a word with a _ inside it, a word in front of (), a name
# axo__type.field, a file and a path. Each is looked for in the code of these two folders, comments left
# out: a word anywhere, a function where something is called or declared, a field in that struct, a
# file where the folders are. A name may be written without its axo_, axo__ or file_ where that leaves
# no doubt: give_back in state.h is axo__state_give_back, DEATH_PACT is AXO_FAILURE_DEATH_PACT. One
# that ends in _ or in _* stands for all that begin with it. FOREIGN has the names that comments
# speak of and the code does not use; one that no comment needs is an error. A number such as D10 is
# in the table of runtime/ARCHITECTURE.md, one such as RS-07 in test/conformance/entries.txt.
import argparse
import os
import re
import sys

from tidy import split

SUFFIXES = (".c", ".h")
# Names of others' libraries and tools, and names in the samples of code that headers show.
FOREIGN = set("pthread_cancel pthread_exit pthread_mutexattr_setrobust fork GCOV_EXCL_START GCOV_EXCL_STOP "
              "open_receive closed_receive open_entry worker_class thing_fire BALANCE_IS "
              "ck_pr_fence_store_atomic ck_pr_cas_uint_value ck_pr_faa_64 within_ms sd_notify NOTIFY_SOCKET WATCHDOG_USEC".split())
NUMBER = re.compile(r"(?<![\w\[])(?:[A-Z]{2,3}-\d\d+|D\d+)\b")
FILE = re.compile(r"(?<![\w<./-])((?:[\w.-]+/)*[\w-]+\.(?:c|h|py|pml|txt|md|sh|mk|map))(?![\w(])")
FOLDER = re.compile(r"(?<![\w<./-])((?:test|bench|tools|runtime|include)/[\w./-]*\w/?)")
WORD = re.compile(r"(?<![\w.$%-])([A-Za-z_]\w*(?:\.[a-z]\w*)?\*?)(\(\))?")
STRUCT = re.compile(r"\b(?:struct|union)\s+(\w+)\s*\{")


def fields_of(code):
    """{struct: names of its fields}, those of structs and unions inside it too."""
    found = {}
    for match in STRUCT.finditer(code):
        depth, at = 1, match.end()
        while depth and at < len(code):
            depth += (code[at] == "{") - (code[at] == "}")
            at += 1
        body = code[match.end():at - 1]
        fields = found.setdefault(match.group(1), set())
        fields |= set(re.findall(r"(\w+)\s*(?:\[[^]]*\]\s*)*(?=[;,:)])", body))
    return found


class Tree:
    """What the code of a tree has: words, functions, fields and files."""

    def __init__(self, root):
        self.root, self.words, self.fields = root, set(), {}
        self.functions, self.files, self.comments = set(), set(), []
        for folder, folders, names in os.walk(root):
            folders[:] = [name for name in folders if name not in ("build", ".git")]
            for name in names:
                path = os.path.relpath(os.path.join(folder, name), root)
                self.files.add(path)
                if path.startswith(("runtime/", "include/")) and name.endswith(SUFFIXES):
                    self.read(path)
        self.numbers = self.found("runtime/ARCHITECTURE.md", r"^\| (D\d+) \|") | \
            self.found("test/conformance/entries.txt", r"^([A-Z]+-\d+) ")
        self.tails = {}
        for name in self.words:
            if name.startswith("AXO_"):
                for match in re.finditer("_", name):
                    self.tails.setdefault(name[match.end():], []).append(name)
        self.names = {os.path.basename(path) for path in self.files}

    def read(self, path):
        with open(os.path.join(self.root, path), encoding="utf-8") as file:
            text = file.read()
        code, comments = split(text)
        self.comments.append((path, comments))
        # Names stand in strings too: those of counters, of trace events, of sections.
        self.words |= set(re.findall(r"\w+", code))
        self.words |= set(re.findall(r"\w+", " ".join(re.findall(r'"(?:\\.|[^"\\\n])*"', text))))
        self.functions |= set(re.findall(r"\b(\w+)\(", code)) | \
            set(re.findall(r"\(\*(\w+)\)\(", code))
        for name, fields in fields_of(code).items():
            self.fields.setdefault(name, set()).update(fields)

    def found(self, path, pattern):
        if path not in self.files:
            return set()
        with open(os.path.join(self.root, path), encoding="utf-8") as file:
            return set(re.findall(pattern, file.read(), re.M))

    def has_file(self, name, path):
        """Named from the root, from runtime/, include/ or test/, from its folder, or by its name."""
        for base in ("", "runtime/", "include/", "include/axo/", "test/", os.path.dirname(path) + "/"):
            if base + name in self.files:
                return True
        return "/" not in name and name in self.names

    def long_names(self, word, path):
        """What a short name in this file may stand for."""
        stem = os.path.basename(path).partition(".")[0]
        for role in ("", "_any", "_owner", "_locked"):
            yield from (word + role, f"axo_{word}{role}", f"axo__{word}{role}",
                        f"{stem}_{word}{role}", f"axo__{stem}_{word}{role}")
        yield f"memory_order_{word}"
        if word.isupper():
            yield from self.tails.get(word, ())

    def wrong(self, word, call, path):
        """What is wrong with a name, or None."""
        base, _, field = word.partition(".")
        if field:
            if base not in self.fields:
                return f"{base} is no struct"
            found = any(name == field or field[-1] in "*_" and name.startswith(field.rstrip("*"))
                        for name in self.fields[base])
            return None if found else f"{base} has no field {field}"
        part = word.rstrip("*")
        if part.endswith("_"):
            found = any(name.startswith(part) and name != part for name in self.words)
            return None if found else f"nothing begins with {part}"
        names = [name for name in self.long_names(part, path) if name in self.words]
        if not names:
            return f"{part} names nothing"
        if call and not self.functions & set(names):
            return f"{part} is no function"
        return None


def words_of(line):
    """Each name with its () or without; what is said of a variable, one.reader_id, as two names."""
    for word, call in WORD.findall(line):
        if "." in word and not word.startswith("axo_"):
            base, _, word = word.partition(".")
            yield base, ""
        yield word, call


def check(tree, path, comments, foreign, used, errors):
    for number, line in enumerate(comments.split("\n"), 1):
        for match in NUMBER.finditer(line):
            if match.group(0) not in tree.numbers:
                errors.append(f"{path}:{number}: {match.group(0)} is in no table")
        for match in FILE.finditer(line):
            if not tree.has_file(match.group(1), path):
                errors.append(f"{path}:{number}: there is no file {match.group(1)}")
        line = FILE.sub(lambda match: " " * len(match.group(0)), line)
        for match in FOLDER.finditer(line):
            if not os.path.exists(os.path.join(tree.root, match.group(1))):
                errors.append(f"{path}:{number}: there is no {match.group(1)}")
        line = FOLDER.sub(lambda match: " " * len(match.group(0)), line)
        line = re.sub(r"<[\w/.-]+>", " ", line)
        for word, call in words_of(line):
            if "_" not in word and not call:
                continue
            if word in foreign:
                used.add(word)
                continue
            wrong = tree.wrong(word, call, path)
            if wrong:
                errors.append(f"{path}:{number}: {wrong}")


def main():
    parser = argparse.ArgumentParser(description="Names in comments that name nothing.")
    parser.add_argument("--root",
                        default=os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    parser.add_argument("--foreign", default=" ".join(FOREIGN), help="in place of FOREIGN")
    options = parser.parse_args()
    tree, foreign = Tree(options.root), set(options.foreign.split())
    errors, used = [], set()
    for path, comments in sorted(tree.comments):
        check(tree, path, comments, foreign, used, errors)
    errors += [f"FOREIGN: no comment needs {word}" for word in sorted(foreign - used)]
    print("\n".join(errors), end="\n" if errors else "")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
