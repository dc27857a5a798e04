#!/usr/bin/env python3
# doc_test.py - the self test of what reads the headers and writes the pages.
#
#   tools/doc/doc_test.py
#
# Each case changes one thing of the project in a copy of what the scripts read; the script named
# must then fail and say the words given. Without a change all succeed.
import os
import shutil
import subprocess
import sys
import tempfile

TOOLS = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(TOOLS))
READ = ("LICENSE", "include", "README.md", "bench/RESTART.md", "test/conformance", "test/example",
        "bench/restart/options.c", "runtime")

HEADERS, MAN, AMALGAMATE, PROMISES = "headers.py", "man.py", "amalgamate.py", "promises.py"

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
    (HEADERS, "include/axo/stash.h", "(axo_props.stash_max)", "(axo_props.stash_max, SS-05)", "SS-05 says nothing"),
    (HEADERS, "include/axo/stash.h", "/* How many", "/* (D10) How many", "D10 says nothing"),
    (HEADERS, "include/axo/stash.h", "/* How many", "/* (conformance RO) How many",
     "conformance RO says nothing"),
    (HEADERS, "include/axo/stash.h", "stash_become.c", "stash_become2.c", "there is no test/example"),
    (HEADERS, "include/axo/graceful.h", "`timeout_ns` has passed. For", "`timeout_ns` has passed (askme.h). For", "no header askme.h"),
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
    (MAN, "bench/restart/options.c", '    {"seed", req', '    {"salt", no_argument, NULL, 7},\n    {"seed", req',
     "--salt is in no line of --help"),
    (MAN, "bench/restart/options.c", '"  --seed N           of', '"  --seeds N          of',
     "--seed"),
    (MAN, "bench/restart/options.c", '"  --list             only prints the cases\' names\\n"',
     '"  --list\\n"', "says nothing of --list"),
    (AMALGAMATE, "runtime/cell/name.c", '#include "cell/name.h"', '#include "cell/nome.h"',
     "cell/nome.h"),
    (PROMISES, "test/conformance/entries.txt", "| axo_ref_equal\n", "| axo_ref_equals\n",
     "UID-03 names axo_ref_equals, which no"),
    (PROMISES, "test/conformance/entries.txt", "| axo_ref_equal\n", "| axo_ref.bytes\n",
     "UID-03 names axo_ref.bytes, which no"),
    (PROMISES, "test/conformance/entries.txt", " | axo_ref_equal\n", "\n", "headers.md is not what"),
    (PROMISES, "test/conformance/entries.txt", " | axo_ref_equal\n", " | \n", "malformed"),
    (PROMISES, "test/conformance/uid_test.c", '"UID-03"', '"UID-04"', "headers.md is not what"),
    (AMALGAMATE, "runtime/cell/name.c", "#include <string.h>", "#include <glib.h>", "<glib.h>"),
]


def copy(folder):
    for path in READ:
        source, target = os.path.join(ROOT, path), os.path.join(folder, path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        (shutil.copytree if os.path.isdir(source) else shutil.copy)(source, target)


def run(script, folder, words=None):
    if words is None:
        words = ["--root", folder] + {HEADERS: [], PROMISES: ["--check"]}.get(
            script, [os.path.join(folder, "out")])
    command = [sys.executable, os.path.join(TOOLS, script)] + words
    found = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                           universal_newlines=True, check=False)
    return found.returncode, found.stdout


# What is put into page.html of two sound pages, and what links.py must say of it; None: nothing.
LINKS = [
    ('<a href="index.html#here">x</a> <img src="a.svg"> <a href="https://liburcu.org">x</a>', None),
    ('<a href="other.html">x</a>', "leads nowhere: other.html"),
    ('<a href="index.html#there">x</a>', "index.html has no #there"),
    ('<a href="#there">x</a>', "page.html has no #there"),
    ('<a href="a.svg#there">x</a>', "a.svg has no #there"),
    ('<a href="../out.html">x</a>', "leads nowhere: ../out.html"),
    ('<a href="/index.html">x</a>', "leads nowhere: /index.html"),
    ('<a href="">x</a>', "leads nowhere"),
    ('<img src="b.svg">', "leads nowhere: b.svg"),
    ('<a href="file:///etc/passwd">x</a>', "a strange link"),
    ('<a href="javascript:x()">x</a>', "a strange link"),
    ('<p id="one"><p id="one">', "is there twice"),
    ("<h1>more</h1>", "2 first headings"),
]


def links():
    errors = []
    for body, words in LINKS:
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("index.html", '<p id="here"><a href="page.html">x</a>'),
                               ("page.html", body), ("a.svg", None)):
                with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                    file.write(f"<title>t</title><h1>t</h1>{text}" if text else "<svg/>")
            status, said = run("links.py", folder, [folder])
            if (status == 0) != (words is None) or (words or "") not in said:
                errors.append(f"links.py, {body}: {said}")
    with tempfile.TemporaryDirectory() as folder:
        if run("links.py", folder, [folder])[0] == 0:
            errors.append("links.py: an empty folder is in order")
        for name in ("index.html", "lonely.html"):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write("<title>t</title><h1>t</h1>")
        if "lonely.html: no link leads to it" not in run("links.py", folder, [folder])[1]:
            errors.append("links.py: a page that nothing leads to is in order")
    return errors


def main():
    errors = links()
    with tempfile.TemporaryDirectory() as folder:
        copy(folder)
        for script in (HEADERS, MAN, AMALGAMATE, PROMISES):
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
    print("\n".join(errors) or f"{len(CASES) + len(LINKS)} cases, each as it must be")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
