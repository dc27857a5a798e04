#!/usr/bin/env python3
# doc_test.py - the self test of what reads the headers and writes the pages.
#
#   tools/doc/doc_test.py
#
# Each case changes one thing of the project in a copy of what the scripts read; the script named must
# then fail and say the words given. Without a change all succeed.
import os
import shutil
import subprocess
import sys
import tempfile

TOOLS = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(TOOLS))
READ = ("LICENSE", "include", "README.md", "bench/RESTART.md", "test/conformance/entries.txt", "test/example",
        "tools/restart_bench/options.c", "runtime")

HEADERS, MAN, AMALGAMATE = "headers.py", "man.py", "amalgamate.py"

# Script, file, old, new, what it must say.
CASES = [
    (HEADERS, "include/axo/stash.h", "/* How many messages are stashed; 0 for a bad context. */\n", "",
     "axo_stash_count has no comment"),
    (HEADERS, "include/axo/stash.h",
     "oldest. */\nAXO_API axo_status axo_unstash(axo_ctx *ctx, uint32_t count);\n\n"
     "/* How many messages are stashed; 0 for a bad context. */\n",
     "oldest. */\nAXO_API axo_status axo_unstash(axo_ctx *ctx, uint32_t count);\n",
     "axo_stash_count shares a comment that does not name it"),
    (HEADERS, "include/axo/stash.h", "/* How many", "/* @brief How many", "@brief is no markup"),
    (HEADERS, "include/axo/stash.h", "/* How many", "/* **How** many", "** is no markup"),
    (HEADERS, "include/axo/stash.h", "/* How many", "/* How <b>many</b>", "<b> is no markup"),
    (HEADERS, "include/axo/stash.h", "/* How many", "/* How\tmany", "a tab"),
    (HEADERS, "include/axo/stash.h", "/* How many", "/* How \u201cmany", "not ASCII"),
    (HEADERS, "include/axo/stash.h", "/* How many", "/* How `many", "without its other one"),
    (HEADERS, "include/axo/stash.h", " *   blocks    no;", " *   bloks     no;",
     '"bloks" is neither'),
    (HEADERS, "include/axo/stash.h", " *   blocks    no;", " *   thread    no;",
     '"thread" is said twice'),
    (HEADERS, "include/axo/stash.h", " *             stashed already", " *           stashed already",
     "neither a paragraph nor"),
    (HEADERS, "include/axo/stash.h", "axo_props.stash_max", "axo_props.stash_most",
     "axo_props has no field stash_most"),
    (HEADERS, "include/axo/stash.h", "/* As axo_unstash_all", "/* As axo_unstash_both",
     "axo_unstash_both is declared nowhere"),
    (HEADERS, "include/axo/stash.h", "stash_max, SS-05", "stash_max, SS-95", "SS-95 is not in"),
    (HEADERS, "include/axo/stash.h", "stash_become.c", "stash_become2.c", "there is no test/example"),
    (HEADERS, "include/axo/graceful.h", "(PK-07). For", "(PK-07, askme.h). For", "no header askme.h"),
    (HEADERS, "include/axo/stash.h", "/* stash.h - putting", "/* Putting", "a header begins with"),
    (HEADERS, "include/axo/stash.h", "#include <axo/actor.h>", "#include <axo/axo.h>",
     "which includes it"),
    (HEADERS, "include/axo/stash.h", "AXO_API uint32_t axo_stash_count", "uint32_t axo_stash_count",
     "cannot read the declaration"),
    (HEADERS, "include/axo/export.h", "#if defined(__GNUC__)", "#if __has_attribute(hot)",
     "cannot tell whether this holds"),
    (MAN, "README.md", "It stands on two", "It <b>stands</b> on two", "Markdown that is not understood"),
    (MAN, "README.md", "## Supported, and limits", "## Limits", "there is no section"),
    (MAN, "bench/RESTART.md", "## 9. Traps", "## 9. Snares", "there is no section \"Traps\""),
    (MAN, "tools/restart_bench/options.c", '    {"seed", req', '    {"salt", no_argument, NULL, 7},\n    {"seed", req',
     "--salt is in no line of --help"),
    (MAN, "tools/restart_bench/options.c", '"  --seed N           of', '"  --seeds N          of',
     "--seed"),
    (MAN, "tools/restart_bench/options.c", '"  --list             only prints the cases\' names\\n"',
     '"  --list\\n"', "says nothing of --list"),
    (AMALGAMATE, "runtime/cell/name.c", '#include "cell/name.h"', '#include "cell/nome.h"',
     "cell/nome.h"),
    (AMALGAMATE, "runtime/cell/name.c", "#include <string.h>", "#include <glib.h>", "<glib.h>"),
]


def copy(folder):
    for path in READ:
        source, target = os.path.join(ROOT, path), os.path.join(folder, path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        (shutil.copytree if os.path.isdir(source) else shutil.copy)(source, target)


def run(script, folder):
    command = [sys.executable, os.path.join(TOOLS, script), "--root", folder]
    if script != HEADERS:
        command.append(os.path.join(folder, "out"))
    found = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                           universal_newlines=True, check=False)
    return found.returncode, found.stdout


def main():
    errors = []
    with tempfile.TemporaryDirectory() as folder:
        copy(folder)
        for script in (HEADERS, MAN, AMALGAMATE):
            status, said = run(script, folder)
            if status != 0:
                errors.append(f"{script} as it is: {said}")
        for script, path, old, new, words in CASES:
            path = os.path.join(folder, path)
            with open(path, encoding="utf-8") as file:
                text = file.read()
            if text.count(old) != 1:
                errors.append(f"{path}: \"{old}\" is there {text.count(old)} times: the case is stale")
                continue
            with open(path, "w", encoding="utf-8") as file:
                file.write(text.replace(old, new))
            status, said = run(script, folder)
            if status == 0 or words not in said or "Traceback" in said:
                errors.append(f"{script}, {new!r}: does not fail with \"{words}\": {said}")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
    print("\n".join(errors) or f"{len(CASES)} cases, each refused")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
