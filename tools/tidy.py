#!/usr/bin/env python3
# tidy.py - what a C file of axo looks like, as far as a program can tell.
#
#   tools/tidy.py [--root folder]
#
# Everywhere: a first line that says what the file owns; length of files, functions and lines; no
# tabs, no trailing blanks, no TODO. In runtime/ also: atomics only by the names of base/atomic.h;
# each ordered one with its [tag]; each such tag in an Orders table of the file, of the .h or .c of
# the same name, or of a header of the same layer that the file includes; the C allocator only in
# mem/ and os/; nothing of liburcu that takes memory; no volatile but of an asm, no
# stand-alone fence.
import argparse
import os
import re
import sys

FILE_LINES = 700
FUNCTION_LINES = 70
COLUMNS = 100
FOLDERS = ("runtime", "include", "test", "bench", "tools")
SUFFIXES = (".c", ".h", ".cpp", ".hpp")

# A comment, a string or a character; what is left is code.
TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
TAG = re.compile(r"\[([A-Z]{1,3}\d+[a-z]?)\]")
ORDERED = re.compile(r"\baxo__\w+_(?:acquire|release|acq_rel|seq_cst|consume)\s*\(")
BARE_ATOMIC = re.compile(r"\b(?:_Atomic|atomic_\w+|ATOMIC_\w+|memory_order\w*|__atomic_\w+|"
                         r"__sync_\w+|(?<!__asm__ )volatile)\b|<stdatomic\.h>")
C_ALLOCATOR = re.compile(r"(?<![.>\w])(?:malloc|calloc|realloc|free|aligned_alloc|posix_memalign|"
                         r"strdup|strndup|reallocarray|memalign|valloc|pvalloc|asprintf|vasprintf|"
                         r"open_memstream|getline|getdelim|alloca|mmap|sbrk)\s*\(")
# These abort where there is no memory or no thread.
ABORTS = re.compile(r"\b(?:\w*call_rcu\w*|\w*defer_rcu|\w*rcu_barrier|cds_lfht_\w*)\s*\(")
UNFINISHED = re.compile(r"\b(?:TODO|FIXME|XXX)\b")


def split(text):
    """The code alone and the comments alone, with every line where it was."""
    def blank(piece):
        return re.sub(r"[^\n]", " ", piece)

    code, comments, at = [], [], 0
    for match in TOKEN.finditer(text):
        before, token = text[at:match.start()], match.group(0)
        is_comment = token.startswith(("/*", "//"))
        code += [before, blank(token) if is_comment or "\n" in token else
                 token[0] + " " * (len(token) - 2) + token[-1]]
        comments += [blank(before), token if is_comment else blank(token)]
        at = match.end()
    return "".join(code) + text[at:], "".join(comments) + blank(text[at:])


def order_tags(text):
    """Tags that stand at the head of a line below an "Orders" head in a comment."""
    tags = set()
    for comment in re.findall(r"/\*.*?\*/", text, re.S):
        listing = False
        for line in comment.splitlines():
            body = line.strip().lstrip("/*").strip()
            if re.match(r"Orders\b", body):
                listing = True
                body = body[len("Orders"):].strip(" :")
            head = re.match(r"(?:\[[A-Z]{1,3}\d+[a-z]?\][, ]*)+", body)
            if listing and head:
                tags |= set(TAG.findall(head.group(0)))
    return tags


def functions(code_lines):
    """(first line, last line) of each function: a { and a } at the left margin."""
    opened = None
    for number, line in enumerate(code_lines):
        if line.startswith("{"):
            first = number
            while first > 0 and re.search(r"[^\s;}]\s*$", code_lines[first - 1]) and \
                    not code_lines[first - 1].startswith("#"):
                first -= 1
            opened = first
        elif line.startswith("}") and opened is not None:
            yield opened, number
            opened = None


def check_text(name, lines, say):
    first = lines[0] if lines else ""
    if not re.match(r"/\* " + re.escape(os.path.basename(name)) + r" - \S", first):
        say(1, f"the first line is not /* {os.path.basename(name)} - what it owns. */")
    if len(lines) >= FILE_LINES:
        say(len(lines), f"{len(lines)} lines; a file has fewer than {FILE_LINES}")
    for number, line in enumerate(lines, 1):
        if len(line) > COLUMNS:
            say(number, f"{len(line)} columns; a line has at most {COLUMNS}")
        if "\t" in line:
            say(number, "a tab")
        if line != line.rstrip():
            say(number, "trailing blanks")
        if UNFINISHED.search(line):
            say(number, "unfinished: " + line.strip())


def check_orders(path, code_lines, comment_lines, text, say):
    twin = path[:-1] + ("h" if path.endswith(".c") else "c")
    known = order_tags(text)
    layer = os.path.basename(os.path.dirname(path))
    included = re.findall(r'^\s*#\s*include\s*"(' + layer + r'/\w+\.h)"', text, re.M)
    runtime = os.path.dirname(os.path.dirname(path))
    for other in {twin, *(os.path.join(runtime, name) for name in included)}:
        if os.path.exists(other):
            with open(other, encoding="utf-8") as file:
                known |= order_tags(file.read())
    for number, line in enumerate(code_lines):
        for _ in ORDERED.finditer(line):
            end = number
            while end + 1 < len(code_lines) and not re.search(r"[;{]", code_lines[end]):
                end += 1
            near = comment_lines[max(0, number - 1):end + 1]
            tags = TAG.findall(" ".join(near))
            if not tags:
                say(number + 1, "an ordered atomic without its [tag]")
            for tag in sorted(set(tags) - known):
                say(number + 1, f"[{tag}] is not in an Orders table of this file, its "
                    "twin or a header of its layer that it includes")


def check_file(root, name, errors):
    path = os.path.join(root, name)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    lines = text.splitlines()
    code, comments = split(text)
    code_lines, comment_lines = code.splitlines(), comments.splitlines()

    def say(number, what):
        errors.append(f"{name}:{number}: {what}")

    check_text(name, lines, say)
    for first, last in functions(code_lines):
        if last - first + 1 >= FUNCTION_LINES:
            say(first + 1, f"{last - first + 1} lines; a function has fewer than {FUNCTION_LINES}")
    if not name.startswith("runtime/") or name == "runtime/base/atomic.h":
        return
    for number, line in enumerate(code_lines, 1):
        found = BARE_ATOMIC.search(line)
        if found:
            say(number, f"{found.group(0)}: only base/atomic.h has atomics; use its names")
        found = ABORTS.search(line)
        if found:
            say(number, f"{found.group(0)}...): liburcu takes memory there, or aborts")
        # the test kit outlives its system, and makes the system's memory fail
        if not name.startswith(("runtime/mem/", "runtime/os/", "runtime/pattern/testkit.c")):
            found = C_ALLOCATOR.search(line)
            if found:
                say(number, f"{found.group(0)}...): memory comes from mem/ only")
    check_orders(path, code_lines, comment_lines, text, say)


def main():
    parser = argparse.ArgumentParser(description="Checks the look of C files.")
    parser.add_argument("--root", default=os.path.dirname(os.path.dirname(
        os.path.abspath(__file__))))
    root = parser.parse_args().root
    errors = []
    for top in FOLDERS:
        for folder, _, names in sorted(os.walk(os.path.join(root, top))):
            for name in sorted(names):
                if name.endswith(SUFFIXES):
                    check_file(root, os.path.relpath(os.path.join(folder, name), root), errors)
    print("\n".join(errors), end="\n" if errors else "")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
