#!/usr/bin/env python3
# lint_test.py - the tools are tested too: each planted violation must be refused.
#
# A small clean tree is made, which every check must pass; then, for each kind of violation, one is
# planted and the check must fail and say the right thing.
import json
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TOOLS = os.path.join(ROOT, "tools")
sys.path.insert(0, TOOLS)
import check_enums  # noqa: E402

LAYERS = "base os mem queue mailbox cell sched super system pattern".split()

MAP = ("| D10 | failure handling takes no memory |\n## Glossary\n\n### Five words to use it\n\n"
       "| word | means |\n| --- | --- |\n" +
       "".join(f"| {word} | five |\n" for word in ("word", "order, blocks", "state", "orders", "hook")) +
       "\n### Fifteen to read a turn\n\n| word | means |\n| --- | --- |\n" +
       "".join(f"| {word} | fifteen |\n" for word in
               "user told tell border next ring ask asks late read table program string shares comment".split()) +
       "\n### The rest, by folder\n\n| word or `struct` | means |\n| --- | --- |\n"
       "| **base/** | |\n| acquire | an order |\n| `a32` | a word |\n")

CLEAN = {
    "runtime/LAYERS": "".join(f"{layer}  what it owns\n" for layer in LAYERS),
    "include/axo/axo.h": "/* axo.h - everything. */\n#ifndef AXO_H\n#define AXO_H\n"
                         "#include <stdint.h>\nint axo_one(void);\n#endif\n",
    "include/axo/thing.h": "/* thing.h - a struct with a size. */\n#ifndef T\n#define T\n"
                           "#include <stddef.h>\ntypedef struct axo_thing {\n    size_t size;\n"
                           "    int (*f)(int a, int b); /* a; b */\n    char c[3];\n} axo_thing;\n"
                           "#define AXO_THING(...) {sizeof(axo_thing), __VA_ARGS__}\n"
                           "static inline void axo_thing_init(axo_thing *out)\n{\n"
                           "    out->size = sizeof *out;\n}\n#endif\n",
    "runtime/base/atomic.h": "/* atomic.h - orders. */\n#ifndef A\n#define A\n"
                             "#include <stdatomic.h>\n#include <stdint.h>\n"
                             "typedef struct axo__a32 {\n    _Atomic uint32_t v;\n} axo__a32;\n"
                             "static inline uint32_t axo__a32_load_acquire(axo__a32 *a)\n{\n"
                             "    return atomic_load_explicit(&a->v, memory_order_acquire);\n}\n"
                             "#endif\n",
    "runtime/cell/state.h": "/* state.h - the word.\n *\n * Orders\n *   [S1] load acquire   why\n"
                            " */\n#ifndef S\n#define S\n#include \"base/atomic.h\"\n"
                            "uint32_t axo__state_read(axo__a32 *a);\n#endif\n",
    "runtime/cell/state.c": "/* state.c - the word. */\n#include \"cell/state.h\"\n\n"
                            "uint32_t axo__state_read(axo__a32 *a)\n{\n"
                            "    return axo__a32_load_acquire(a); /* [S1] */\n}\n",
    "runtime/cell/tell.c": "/* tell.c - the program is told, as sem_wait() is: read of state.h, LATE,"
                           "\n * axo_thing.size, axo__a32_*, state_read, a32_load_acquire, axo_,\n"
                           " * test/unit/cell, RS-07 (D10), [D11]. */\n\nvoid axo__tell(hook *h)\n{\n"
                           "    AXO_BORDER();\n    h->told(h->user);\n}\n",
    "runtime/cell/next.c": "/* next.c - shares the table of state.h. */\n"
                           "#include \"cell/state.h\"\n\nint axo__next(axo__a32 *a);\n"
                           "int axo__next(axo__a32 *a)\n{\n"
                           "    /* [S1] */\n    return (int)axo__a32_load_acquire(a);\n}\n",
    "runtime/queue/ring.c": "/* ring.c - CK's ring. */\n#include <ck_ring.h>\n"
                            "#include <urcu/wfcqueue.h>\n\n#include \"mem/pool.h\"\n",
    "runtime/mem/pool.h": "/* pool.h - blocks. */\n#ifndef P\n#define P\n#endif\n",
    "runtime/mem/pool.c": "/* pool.c - blocks. */\n#include \"mem/pool.h\"\n#include <stdlib.h>\n\n"
                          "void *axo__pool_get(void)\n{\n    return malloc(8);\n}\n",
    "runtime/pattern/ask.c": "/* ask.c - asks; malloc(3) in a comment is no call. */\n"
                             "#include <axo/axo.h>\n#include <string.h>\n",
    "runtime/ARCHITECTURE.md": MAP,
    "test/conformance/entries.txt": "RS-07 C one\n",
    "test/unit/cell/state_test.c": "/* state_test.c - the word. */\nint main(void)\n{\n}\n",
}
STATE = CLEAN["runtime/cell/state.c"]
LONG_FUNCTION = STATE + "\nvoid axo__long(void)\n{\n" + "    ;\n" * 70 + "}\n"


def line(path, text):
    """A change that appends a line to a file of the clean tree."""
    return {path: CLEAN.get(path, "") + text + "\n"}


# A value that is said, one of a list, one that the library is only asked for; zero needs no use.
SAID = ("/* said.h - values. */\n#ifndef SAID_H\n#define SAID_H\n#define AXO_SAID_LIST(X) "
        "X(AXO_LISTED)\ntypedef enum axo_said {\n    AXO_NOTHING = 0,\n    AXO_LATE = 2\n} "
        "axo_said;\n" + "".join(f"typedef enum {name} {{ AXO_ZERO_{name} = 0"
                                f"{', AXO_ALL = 1' if name == 'axo_scope' else ''} }} {name};\n"
                                for name in sorted(check_enums.ASKED)) + "#endif\n")
MAKER = ("/* said.c - values. */\nint axo__said(int late, int axo_scope_is);\n"
         "int axo__said(int late, int axo_scope_is)\n{\n    if (axo_scope_is == AXO_ALL)\n"
         "        return 1;\n    return late ? AXO_LATE : AXO_LISTED;\n}\n")


# (check, what is planted, a part of what the check must say)
PLANTED = [
    ("layers", line("runtime/base/atomic.h", '#include "cell/state.h"'), "higher layer"),
    ("border", line("runtime/cell/tell.c", "int f(hook *h) { return h->asked(7); }"), "asked"),
    ("border", {"runtime/cell/tell.c": "/* tell.c - nothing. */\n"}, "no call"),
    ("layers", line("runtime/cell/state.h", '#include "atomic.h"'), "layer/file.h"),
    ("layers", line("runtime/cell/state.h", '#include "../base/atomic.h"'), "layer/file.h"),
    ("layers", line("runtime/cell/state.h", '#include "base/none.h"'), "does not exist"),
    ("layers", line("runtime/cell/state.h", "#include SOMETHING"), "cannot tell"),
    ("layers", line("runtime/sched/run.c", "#include <urcu/urcu-qsbr.h>"), "liburcu"),
    ("layers", line("runtime/base/atomic.h", "#include <urcu-qsbr.h>"), "liburcu"),
    ("layers", line("runtime/mailbox/bounded.h", "#include <ck_ring.h>"), "CK's"),
    ("layers", line("runtime/pattern/ask.c", '#include "base/atomic.h"'), "pattern/"),
    ("layers", line("runtime/pattern/ask.c", "#include <sys/epoll.h>"), "pattern/"),
    ("layers", line("runtime/extra/new.c", ""), "not in runtime/LAYERS"),
    ("layers", line("runtime/loose.c", ""), "outside the layers"),
    ("layers", line("include/axo/axo.h", "#include <urcu.h>"), "public header"),
    ("layers", line("include/axo/axo.h", "#include <memory>"), "public header"),
    ("layers", line("include/axo/axo.hpp", "#include <iostream>"), "public header"),
    ("layers", line("runtime/cell/state.h", "void axo__pool_fill(void);") |
     line("runtime/super/fill.c", "void axo__pool_fill(void)\n{\n}"), "above its declaration"),
    ("layers", line("runtime/cell/state.h", "void axo__pool_fill(void);") |
     line("runtime/cell/fill.c", "void axo__pool_fill(void)\n{\n}"), "another name"),
    ("layers", {f"runtime/cell/round{i}.{end}": text for i in range(3) for end, text in (
        ("h", f"void axo__round{i}_go(void);\n"),
        ("c", f'#include "cell/round{i}.h"\n#include "cell/round{(i + 1) % 3}.h"\n\n'
              f"void axo__round{i}_go(void)\n{{\n    axo__round{(i + 1) % 3}_go();\n}}\n"))},
     "a circle of 3 files"),
    ("layers", {"runtime/cell/state.c": STATE.replace(
        '#include "cell', '#include "base/atomic.h"\n#include "cell')}, "own header"),
    ("headers", line("include/axo/axo.h", "size_t axo_two(void);"), "axo.h: does not compile"),
    ("headers", line("include/axo/axo.h", "void axo_three(int class);"), "axo.h: does not compile"),
    ("headers", line("include/axo/axo.h", "struct axo_four { int x; };"),
     "axo.h: does not compile"),
    ("headers", line("runtime/mem/pool.h", "size_t axo__size(void);"), "pool.h: does not compile"),
    ("symbols", {"lib.c": "int axo_one(void) { return 1; }\nint axo_two(void) { return 2; }\n"},
     "axo_two is exported and not in"),
    ("symbols", {"lib.c": "int axo_other;\n"}, "not a function"),
    ("symbols", {"lib.c": "int axo_one(void) { return 1; }\nint one(void) { return 1; }\n"},
     "does not begin with axo_"),
    ("symbols", {"lib.c": "int axo_one(void) { return 1; }\nint axo__i(void) { return 1; }\n"},
     "does not begin with axo_"),
    ("structs", {"include/axo/thing.h": CLEAN["include/axo/thing.h"].replace("THING(", "THINGS(")},
     "axo_thing begins with its size and has no macro AXO_THING"),
    ("structs", {"include/axo/thing.h": CLEAN["include/axo/thing.h"].replace(
        "#define AXO_THING(...) {sizeof(axo_thing)", "#define AXO_THING(...) {sizeof(axo_other)")},
     "axo_thing begins with its size and has no macro AXO_THING"),
    ("structs", {"include/axo/thing.h": CLEAN["include/axo/thing.h"].replace("_init(", "_make(")},
     "axo_thing begins with its size and has no axo_thing_init"),
    ("structs", {"include/axo/thing.h": CLEAN["include/axo/thing.h"].replace("size;", "bytes;")},
     "no struct begins with its size"),
    ("called", {"test/api/symbols.txt": "axo_one\naxo_two\n"}, "axo_two is exported and no test"),
    ("called", {"test/api/one_test.c": "/* axo_one() */\nconst char *one_test = \"axo_one()\";\n"},
     "axo_one is exported and no test"),
    ("called", {"test/api/symbols.txt": ""}, "no name"),
    ("symbols", {"lib.c": "int axo_none(void) { return 1; }\n"}, "and not exported"),
    ("symbols", {"lib.map": "AXO_2 { global: axo_one; local: *; };\n"}, "no version AXO_1"),
    ("symbols", {"lib.map": "AXO_1 { local: *; };\n"}, "axo_one@@AXO_1 is not in"),
    ("symbols", {"lib.map": "AXO_0 { global: axo_one; }; AXO_1 { global: axo_two; local: *; };\n"},
     "axo_one@@AXO_0 is in"),
    ("symbols", {"lib.map": "{ global: axo_one; local: *; };\n"}, "no version AXO_1"),
    ("symbols", {"lib.c": "int axo_one(void) { return 1; }\nint loose(void) { return 1; }\n",
                 "lib.map": "AXO_1 { global: axo_one; loose; local: *; };\n"},
     "loose is exported and does not"),
    ("enums", {"include/axo/said.h": SAID.replace("LATE = 2", "LATE = 2,\n    AXO_NONE = 3")},
     "said.h: AXO_NONE is a value"),
    ("enums", {"include/axo/said.h": SAID.replace("X(AXO_LISTED)", "X(AXO_LISTED) X(AXO_OTHER)")},
     "said.h: AXO_OTHER is a value"),
    ("enums", {"runtime/system/said.c": MAKER.replace("AXO_LISTED", "0")}, "AXO_LISTED is"),
    ("enums", {"runtime/system/said.c": MAKER.replace("late ? AXO_LATE : AXO_LISTED", (
        "late == AXO_LATE || AXO_LATE < late ? AXO_LISTED : 0"))}, "AXO_LATE is"),
    ("enums", {"runtime/system/said.c": MAKER.replace("return late ? AXO_LATE", (
        "switch (late) {\n    case AXO_LATE:\n        break;\n    }\n    return late ? 0"))},
     "AXO_LATE is"),
    ("enums", {"runtime/system/said.c": MAKER.replace("AXO_LATE", '0 /* AXO_LATE */') +
               'const char *axo__text = "AXO_LATE";\n'}, "AXO_LATE is"),
    ("enums", {"runtime/system/said.c": MAKER.replace("axo_scope_is == AXO_ALL", "false")},
     "AXO_ALL is"),
    ("enums", {"include/axo/said.h": SAID.replace("enum axo_scope", "enum axo_scopes")},
     "axo_scope is in ASKED"),
    ("enums", {"include/axo/said.h": "/* said.h - nothing. */\n"}, "has no enum"),
    ("words", line("runtime/cell/state.c", "/* parent_cause */"), "parent_cause names nothing"),
    ("words", line("runtime/cell/state.c", "/* axo__state_write() */"), "axo__state_write names"),
    ("words", line("runtime/cell/state.c", "/* uint32_t() */"), "uint32_t is no function"),
    ("words", line("runtime/cell/state.c", "/* axo_thing.sizes */"), "axo_thing has no field sizes"),
    ("words", line("runtime/cell/state.c", "/* axo_things.size */"), "axo_things is no struct"),
    ("words", line("runtime/cell/state.c", "/* a.reader_id */"), "reader_id names nothing"),
    ("words", line("runtime/cell/state.c", "/* axo__a64_* */"), "nothing begins with axo__a64_"),
    ("words", line("runtime/cell/state.c", "/* read_any */"), "read_any names nothing"),
    ("words", line("runtime/cell/state.c", "/* AXO_LATER, NO_LATE */"), "NO_LATE names nothing"),
    ("words", line("runtime/cell/state.c", "/* cell/word.h */"), "there is no file cell/word.h"),
    ("words", line("runtime/cell/state.c", "/* test/schedules/model/word */"), "there is no test/schedules/model/word"),
    ("words", line("include/axo/axo.h", "/* D11 */"), "D11 is in no table"),
    ("words", line("include/axo/axo.h", "/* RS-08 */"), "RS-08 is in no table"),
    ("words", {"runtime/cell/tell.c": "/* tell.c - nothing. */\n"}, "no comment needs sem_wait"),
    ("glossary", {"runtime/ARCHITECTURE.md": MAP.replace("| word | five", "| wordy | five")},
     "wordy is in the"),
    ("glossary", {"runtime/ARCHITECTURE.md": MAP.replace("blocks |", "word |")}, "word is in the glossary twice"),
    ("glossary", {"runtime/ARCHITECTURE.md": MAP.replace("| late |", "| word |")},
     "word is in the glossary twice, in Five words and in Fifteen"),
    ("glossary", {"runtime/ARCHITECTURE.md": MAP.replace("| acquire |", "| late |")},
     "late is in the glossary twice, in Fifteen and in The rest"),
    ("glossary", {"runtime/ARCHITECTURE.md": MAP.replace("| late |", "| a32 |")},
     "a32 is in the glossary twice, in Fifteen and in The rest"),
    ("glossary", {"runtime/ARCHITECTURE.md": MAP.replace("| late | fifteen |\n", "")}, "Fifteen has 14 rows"),
    ("glossary", {"runtime/ARCHITECTURE.md": MAP.replace("| late |", "| late | fifteen |\n| malloc |")},
     "Fifteen has 16 rows"),
    ("glossary", {"runtime/ARCHITECTURE.md": MAP.replace("| acquire |", "| malloc |")},
     "malloc is in the glossary, and nothing in base/ says it"),
    ("glossary", {"runtime/ARCHITECTURE.md": MAP.replace("| **base/** | |\n", "")}, "stands under no folder"),
    ("glossary", {"runtime/ARCHITECTURE.md": MAP.replace("| `a32`", "| `a64`")},
     "a64 is a record that runtime/ does not have"),
    ("glossary", {"runtime/ARCHITECTURE.md": MAP.replace("| `a32`", "| `a64`")},
     "axo__a32 is no record in the map"),
    ("glossary", {"runtime/ARCHITECTURE.md": MAP + "| `a32` | again |\n"}, "a32 is in the glossary twice"),
    ("glossary", {"runtime/ARCHITECTURE.md": MAP.replace("base/", "cell/")}, "a record of base/"),
    ("glossary", {"runtime/ARCHITECTURE.md": MAP.replace("| a word |", "| |")}, "a32 has no meaning"),
    ("glossary", line("runtime/mem/pool.h", "typedef struct axo__pool {\n    int x;\n} axo__pool;"),
     "axo__pool is no record in the map"),
    ("glossary", {"runtime/ARCHITECTURE.md": MAP + "\n## The life of a failure\n"
                  "| C | ` axo__state_read` | `cell/next.c` | reads |\n"}, "is not defined in cell/next.c"),
    ("glossary", {"runtime/ARCHITECTURE.md": "## Glossary\n"}, "no word"),
    ("tidy", {"runtime/cell/state.c": STATE.replace("/* state.c -", "/* other.c -")}, "first line"),
    ("tidy", {"tools/some_tool/main.c": "int x;\n"}, "first line"),
    ("tidy", {"runtime/cell/state.c": STATE[STATE.index("\n") + 1:]}, "first line"),
    ("tidy", {"runtime/cell/state.c": STATE + "\n" * 700}, "fewer than 700"),
    ("tidy", {"runtime/cell/state.c": LONG_FUNCTION}, "fewer than 70"),
    ("tidy", line("include/axo/axo.h", "/* " + "x" * 100 + " */"), "at most 100"),
    ("tidy", line("runtime/cell/state.c", "\tint x;"), "a tab"),
    ("tidy", line("test/unit/cell/state_test.c", "int x; "), "trailing blanks"),
    ("tidy", line("runtime/cell/state.c", "/* TO" "DO: later */"), "unfinished"),
    ("tidy", line("runtime/cell/state.c", "/* FIX" "ME */"), "unfinished"),
    ("tidy", line("runtime/cell/state.c", "int f(void) { return atomic_load(&x); }"), "atomic.h"),
    ("tidy", line("runtime/cell/state.c", "_Atomic int x;"), "atomic.h"),
    ("tidy", line("runtime/cell/state.c", "#include <stdatomic.h>"), "atomic.h"),
    ("tidy", line("runtime/cell/state.c", "static volatile int x;"), "atomic.h"),
    ("tidy", line("runtime/cell/state.c", "int f(void) { __atomic_load_n(&x, 0); }"), "atomic.h"),
    ("tidy", line("runtime/cell/state.c", "int f(void) { return !malloc(8); }"), "mem/"),
    ("tidy", line("runtime/sched/run.c", "int f(void) { free(x); }"), "mem/"),
    ("tidy", line("runtime/pattern/ask.c", "int f(void) { return asprintf(&x, y); }"), "mem/"),
    ("tidy", line("runtime/queue/ring.c", "void *f(void) { return mmap(0, 1, 0, 0, 0, 0); }"),
     "mem/"),
    ("tidy", line("runtime/mem/pool.c", "void f(void) { urcu_qsbr_call_rcu(x, y); }"), "liburcu"),
    ("tidy", line("runtime/queue/ring.c", "void f(void) { cds_lfht_new(1, 1, 1, 0, 0); }"),
     "liburcu"),
    ("tidy", {"runtime/cell/state.c": STATE.replace(" /* [S1] */", "")}, "without its [tag]"),
    ("tidy", {"runtime/cell/state.c": STATE.replace("[S1]", "[S2]")}, "[S2] is not in an Orders"),
    ("tidy", {"runtime/cell/state.h": CLEAN["runtime/cell/state.h"].replace("Orders", "Notes")},
     "[S1] is not in an Orders"),
    ("tidy", {"runtime/cell/other.c": STATE.replace("/* state.c", "/* other.c").replace(
        '#include "cell/state.h"', '#include "base/atomic.h"')}, "[S1] is not in an Orders"),
]

CMOCKA = "[==========] Running {n} test(s).\n{body}"
OK = "[ RUN      ] {0}\n[       OK ] {0}\n"
BAD = "[ RUN      ] {0}\n[  FAILED  ] {0}\n"
SKIP = "[ RUN      ] {0}\n[  SKIPPED ] {0}\n"
ENTRIES = "FS-01 C one\nFS-02 C two\nFS-03 X three\n"


def write(folder, files):
    for name, text in files.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        if name.endswith("_test"):
            os.chmod(path, 0o755)


def run(*command, **environment):
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            universal_newlines=True, env=dict(os.environ, **environment))
    return result.returncode, result.stdout


def check(name, folder):
    if name == "symbols":
        library = os.path.join(folder, "lib.so")
        code, output = run("sh", "-ec", "cd \"$0\"; cc -c -fPIC lib.c; ar rc libaxo.a lib.o; cc -shared "
                           "-Wl,-soname,libaxo.so.1 -Wl,--version-script=lib.map -o lib.so lib.o", folder)
        if code:
            return code, output
        return run(sys.executable, os.path.join(TOOLS, "check_symbols.py"), "--golden",
                   os.path.join(folder, "symbols.txt"), library)
    if name == "called":
        return run(sys.executable, os.path.join(TOOLS, "check_called.py"), "--root", folder)
    if name == "enums":
        return run(sys.executable, os.path.join(TOOLS, "check_enums.py"), "--root", folder)
    if name == "words":
        return run(sys.executable, os.path.join(TOOLS, "check_words.py"), "--root", folder,
                   "--foreign", "sem_wait")
    if name == "headers":
        return run(os.path.join(TOOLS, "check_headers.sh"), folder)
    script = {"layers": "check_layers.py", "glossary": "check_glossary.py", "structs": "check_structs.py",
              "border": "check_border.py"}.get(name, "tidy.py")
    return run(sys.executable, os.path.join(TOOLS, script), "--root", folder)


def planted_tests(scratch, expect):
    """Each check passes the clean tree and refuses each planted violation."""
    clean = dict(CLEAN, **{"include/axo/said.h": SAID, "runtime/system/said.c": MAKER,
                           "lib.c": "int axo_one(void) { return 1; }\n",
                           "symbols.txt": "axo_one\n", "test/api/symbols.txt": "axo_one\n",
                           "lib.map": "AXO_1 { global: axo_one; local: *; };\n",
                           "test/api/one_test.c": "/* one_test.c - one. */\nint one_test(void)\n"
                                                  "{\n    return axo_one();\n}\n"})
    for number, (name, files, said) in enumerate(
            [(name, {}, None) for name in
             ("layers", "headers", "symbols", "called", "enums", "structs", "border", "words",
              "glossary", "tidy")] +
            PLANTED):
        folder = os.path.join(scratch, str(number))
        write(folder, dict(clean, **files))
        code, output = check(name, folder)
        what = f"{name}: " + (said or "a clean tree")
        expect(what, code == 0 if said is None else code != 0 and said in output, output)
        shutil.rmtree(folder)


def program(body, count, end="exit 0"):
    return "#!/bin/bash\ncat <<'END'\n" + CMOCKA.format(n=count, body=body) + "END\n" + end + "\n"


def runner_tests(scratch, expect):
    """run_tests.py counts what passed, and what failed, died, hung or never ran."""
    write(scratch, {
        "good_test": program(OK.format("one") + OK.format("two"), 2),
        "bad_test": program(OK.format("one") + BAD.format("two"), 2, "exit 1"),
        "dead_test": program(OK.format("one") + "[ RUN      ] two\n", 3, "kill -SEGV $$"),
        "slow_test": program("[ RUN      ] one\n", 1, "sleep 30"),
        "empty_test": program("", 0),
        "leak_test": program(OK.format("one"), 1, "exit 23"),
        "skip_test": program(SKIP.format("one") + OK.format("two"), 2),
        "all_skipped_test": program(SKIP.format("one"), 1),
        "script_test": "#!/bin/bash\nexit 0\n",
        "script_bad_test": "#!/bin/bash\nexit 3\n",
    })

    def last(*names, **environment):
        code, output = run(sys.executable, os.path.join(ROOT, "test", "run_tests.py"),
                           *[name if name.startswith("--") or name.isdigit() else
                             os.path.join(scratch, name) for name in names], **environment)
        return code, output.splitlines()[-1], output

    for names, code, line_wanted in (
            (["good_test"], 0, "2 passed, 0 failed"),
            (["bad_test"], 1, "1 passed, 1 failed"),
            (["dead_test"], 1, "1 passed, 2 failed"),
            (["empty_test"], 1, "0 passed, 1 failed"),
            (["leak_test"], 1, "1 passed, 1 failed"),
            (["skip_test"], 0, "1 passed, 0 failed"),
            (["all_skipped_test", "good_test"], 0, "2 passed, 0 failed"),
            (["all_skipped_test"], 1, "0 passed, 0 failed"),
            (["script_test"], 0, "1 passed, 0 failed"),
            (["script_bad_test"], 1, "0 passed, 1 failed"),
            (["no_such_test"], 1, "0 passed, 1 failed"),
            (["good_test", "--repeat", "3"], 0, "6 passed, 0 failed"),
            (["good_test", "--filter=nothing"], 1, "0 passed, 0 failed"),
            ([], 1, "0 passed, 0 failed")):
        got = last(*names)
        expect(f"run_tests: {' '.join(names) or 'nothing'}", got[:2] == (code, line_wanted), got[2])
    got = last("skip_test", "all_skipped_test")
    expect("run_tests: what is skipped", "\n2 skipped" in got[2], got[2])
    names = os.path.join(scratch, "names.txt")
    for said, code, line_wanted in (
            ("# all\n", 1, "2 passed, 1 failed"),
            ("test/bad_test  it is bad\n", 0, "2 passed, 0 failed"),
            ("test/bad_test\n", 1, "names.txt:1: wants a program, two blanks or more, and the reason"),
            ("test/bad_test   # why\n", 1, "names.txt:1: wants a program"),
            ("\ntest/odd_test  why\n", 1, "names.txt:2: there is no program test/odd_test"),
            ("test/fault/crash_test  it has a source\n", 1, "2 passed, 1 failed")):
        write(scratch, {"names.txt": said, "test/good_test": program(OK.format("one") +
                                                                      OK.format("two"), 2),
                        "test/bad_test": program(BAD.format("two"), 1, "exit 1")})
        got = last("--but=" + names, "test/good_test", "test/bad_test")
        expect(f"run_tests: but {said!r}", got[0] == code and line_wanted in got[1], got[2])
    write(scratch, {"test/part_test": "#!/bin/bash\necho 'left out: a browser'\n"})
    got = last("--logs=" + os.path.join(scratch, "logs"), "test/part_test")
    with open(os.path.join(scratch, "logs", "part_test.log"), encoding="utf-8") as file:
        kept = file.read()
    expect("run_tests: what is left out", got[:2] == (0, "1 passed, 0 failed") and
           "| left out: a browser" in got[2] and "1 parts were left out" in got[2] and
           kept == "left out: a browser\n", got[2])
    got = last("slow_test", AXO_TEST_SCALE="0.01")
    expect("run_tests: slow_test", got[:2] == (1, "0 passed, 1 failed"), got[2])


def conformance_tests(scratch, expect):
    """conformance.py wants a test or a reason for each C entry, and an entry for each test."""
    good = OK.format("FS-01 [1 worker]") + OK.format("FS_02_words")
    for what, body, reasons, code, said in (
            ("all there", good, "", 0, "later 1"),
            ("a reason", OK.format("FS-01"), "FS-02: why\n", 0, "excused 1"),
            ("missing", OK.format("FS-01"), "", 1, "MISSING"),
            ("failed", OK.format("FS-01") + BAD.format("FS-02"), "", 1, "FAILED 1 of 1"),
            ("unknown test", good + OK.format("FS-99"), "", 1, "no entry for the test"),
            ("unknown reason", good, "FS-98: why\n", 1, "no entry for the reason"),
            ("reason and test", good, "FS-01: why\n", 1, "drop the reason")):
        write(scratch, {"fs_test": program(body, body.count("RUN")), "entries.txt": ENTRIES,
                        "reasons.txt": reasons})
        got, output = run(sys.executable, os.path.join(TOOLS, "conformance.py"), "--folder",
                          scratch, os.path.join(scratch, "fs_test"))
        expect(f"conformance: {what}", got == code and said in output, output)


def figures_of(peer, **changes):
    return dict({"workload": "W1", "title": "ping-pong", "peer": peer, "unit": "messages/s",
                 "median": 17e6 if peer == "axo" else 4e6, "min": 4e6, "max": 18e6, "repeats": 5,
                 "workers": 2, "disturbed": 0, "peak_bytes": 1, "note": ""}, **changes)


def figures_tests(scratch, expect):
    """figures.py writes what was measured, and refuses other results and other text."""
    tool = os.path.join(TOOLS, "figures.py")
    sys.path.insert(0, TOOLS)
    marks = __import__("figures")
    machine = {"cpu": "some CPU", "cpus": 2, "kernel": "6", "load": 0.1, "workers": 2, "rounds": 5,
               "quick": False, "date": "2000-01-01", "versions": {"axo": "0.1", "go": "1.19"}}
    ratio = {"workload": "W1", "row": "W1", "ratio_to": "go", "median": 4.25, "min": 4, "max": 5}
    os.makedirs(os.path.join(scratch, "bench"), exist_ok=True)
    readme, results = os.path.join(scratch, "README.md"), os.path.join(scratch, "baseline.json")
    whole = os.path.join(scratch, "bench", "RESULTS.md")

    def tried(*todo, where=None, text=None, lines=None, new=False, reasons=None):
        lines = lines or [figures_of("axo"), figures_of("go"), ratio]
        if text is not None:
            write(scratch, {os.path.join("bench", "RESULTS.md"): text})
        all_lines = [json.dumps({"machine": where or machine})] + list(map(json.dumps, lines))
        write(scratch, {"peers.json" if new else "baseline.json": "\n".join(all_lines) + "\n",
                        "growth.json": bench_line("W18", "messages/s", 1e6, disturbed=0) + "\n"})
        told = []
        if reasons is not None:
            write(scratch, {"goals.json": json.dumps({"goals": [], "less": [], "quoted": [],
                                                      "slower": reasons})})
            told = ["--goals", os.path.join(scratch, "goals.json")]
        return run(sys.executable, tool, *todo, "--root", scratch, "--from", results, *told)

    def expect_tried(what, good, said, *arguments, **named):
        code, output = tried(*arguments, **named)
        expect(f"figures: {what}", (code == 0) == good and said in output, output)

    fresh = f"# x\n\n{marks.BEGIN}\n{marks.END}\n\ntext\n"
    aims = os.path.join("bench", "README.md")
    write(scratch, {"README.md": fresh, aims: fresh})
    expect_tried("stale", False, "are not those", "--check", text=fresh)
    expect_tried("written", True, "", "--write")
    with open(readme, encoding="utf-8") as file:
        short = file.read()
    expect("figures: README", "| ping-pong | 17 M/s | – | – | 4 M/s · 4.25 × |" in short, short)
    with open(whole, encoding="utf-8") as file:
        text = file.read()
    wanted = ["some CPU", "| W1: ping-pong | 17 M/s (4 M/s to 18 M/s) | – | – | 4 M/s · 4.25 × |"]
    expect("figures: text", all(part in text for part in wanted) and
           text.startswith("# x\n") and text.endswith("\n\ntext\n"), text)
    with open(os.path.join(scratch, aims), encoding="utf-8") as file:
        aimed = file.read()
    expect("figures: goals", "| W1 | >= 3 ×, <= 2 × the floor of a message, <= 170 instructions | 17 M/s, " in aimed and
           "| 4.25 × Go |" in aimed and "missed" in aimed, aimed)
    expect_tried("fresh", True, "", "--check")
    write(scratch, {aims: aimed.replace("| missed", "| met")})
    expect_tried("goals by hand", False, "bench/README.md: the figures are not", "--check")
    write(scratch, {aims: aimed})
    expect_tried("twice", True, "", "--write")
    expect_tried("still fresh", True, "", "--check")
    expect_tried("by hand", False, "+| W1: ping-pong", "--check",
                 text=text.replace("17 M", "19 M"))
    write(scratch, {"README.md": short.replace("17 M", "19 M")})
    expect_tried("README by hand", False, "+| ping-pong", "--check", text=text)
    write(scratch, {"README.md": short})
    expect_tried("other machine", False, "other CPU", "--check", text=text,
                 where=dict(machine, cpu="other CPU"))
    expect_tried("disturbed is said", False, "disturbed by other processes: W1 axo",
                 "--check", text=text, lines=[figures_of("axo", disturbed=1)])
    expect_tried("a workload's own note", False, "+- W8a, Go: why", "--check", text=text, lines=[
        figures_of("axo", workload="W8a"), figures_of("go", workload="W8a", note="why")])
    expect_tried("quick", False, "a quick run", "--accept", scratch, new=True,
                 where=dict(machine, quick=True))
    expect_tried("disturbed", False, "disturbed by other", "--accept", scratch, new=True,
                 lines=[figures_of("axo", disturbed=1)])
    expect_tried("a part", False, "without W1, W2", "--accept", scratch, new=True)
    two = {"workload": "W1", "row": "W1 on 2 / 1", "own": "axo", "median": 0.9, "min": 0.9, "max": 0.9}
    slow = [figures_of("axo"), figures_of("go"), ratio, two]
    expect_tried("slower, and no reason", False, "no note in goals.json: W1", "--accept", scratch, new=True,
                 lines=slow, reasons={})
    code, output = tried("--accept", scratch, new=True, lines=slow, reasons={"W1": "why"})
    expect("figures: slower, and a reason", code != 0 and "no note" not in output, output)
    expect_tried("written with a reason", True, "", "--write", lines=slow, reasons={"W1": "why"})
    expect_tried("a reason", True, "", "--check", lines=slow, reasons={"W1": "why"})
    with open(os.path.join(scratch, aims), encoding="utf-8") as file:
        aimed = file.read()
    expect("figures: slower rows", "- W1, 0.9 × (0.9 to 0.9): why\n" in aimed, aimed)
    fast = [dict(line, median=1) if line is two else line for line in slow]
    expect_tried("written with one left over", True, "", "--write", lines=fast, reasons={"W1": "why"})
    expect_tried("a reason left over", False, 'stale: W1 of "slower"', "--check", lines=fast,
                 reasons={"W1": "why"})
    expect_tried("nothing accepted", True, "", "--write", text=fresh)
    expect_tried("no results", False, "no results", "--check", text=text, lines=[ratio])
    expect_tried("no marks", False, "two marks", "--write", text="# x\n")
    expect_tried("marks twice", False, "two marks", "--write", text=fresh + fresh)
    expect_tried("marks turned", False, "two marks", "--write",
                 text=f"{marks.END}\n{marks.BEGIN}\n")
    code, output = run(sys.executable, tool, "--check", "--readme", readme, "--from", "/none")
    expect("figures: no file", code != 0, output)


def bench_line(name, unit, median, **rest):
    return json.dumps(dict({"bench": name, "unit": unit, "median": median, "workers": 2,
                            "peak_rss_bytes": 1048576}, **rest))


def peer_line(name, unit, median, **rest):
    return json.dumps(dict({"workload": name, "peer": "go", "unit": unit, "median": median,
                            "workers": 2, "peak_bytes": 2097152, "note": "a note"}, **rest))


def peers_tests(scratch, expect):
    """run.py pairs axo's lines with a peer's, turns ratios so that more is better, and fails."""
    def tried(only, mine, theirs):
        programs = {f"release/bench/{name}": mine for name in ("w1_a", "w4_a", "w5_a", "w8_r")}
        programs["bench/peers/go"] = theirs
        for name, body in programs.items():
            write(scratch, {name: f"#!/bin/bash\n{body}\n"})
            os.chmod(os.path.join(scratch, name), 0o755)
        code, output = run(sys.executable, os.path.join(ROOT, "bench/peers/run.py"), "--build",
                           scratch, "--peers", "axo,go", "--quick", "--rounds", "2", "--only", only)
        lines = {}
        if os.path.exists(os.path.join(scratch, "bench", "peers.json")):
            with open(os.path.join(scratch, "bench", "peers.json"), encoding="utf-8") as file:
                for got in map(json.loads, file):
                    if "ratio_to" in got:
                        lines[got["row"]] = got["median"]
        return code, output, lines

    def says(*lines):
        return "cat <<'END'\n" + "\n".join(lines) + "\nEND"

    tails = {"values": {"p50_ns": {"median": 200}, "p99_ns": {"median": 300},
                        "p99.9_ns": {"median": 400}}}
    for what, only, mine, theirs, code, said, ratios in (
            ("rates", "W1", says(bench_line("W1", "messages/s", 8e6)),
             says(peer_line("W1", "messages/s", 2e6)), 0, "axo 4 x", {"W1": 4}),
            ("times", "W5", says(bench_line("W5", "ms", 2)), says(peer_line("W5", "ns", 6e6)), 0,
             "axo 3 x", {"W5": 3, "W5 peak": 2}),
            ("percentiles", "W8a", says(bench_line("W8a", "restarts/s", 10, **tails),
                                        bench_line("W8b", "ns", 1)),
             says(peer_line("W8a", "restarts/s", 5, p50_ns=400, p99_ns=900, p999_ns=1600)), 0,
             "W8a p99.9", {"W8a": 2, "W8a p50": 2, "W8a p99": 3, "W8a p99.9": 4}),
            ("a note", "W1", says(bench_line("W1", "messages/s", 1)),
             says(peer_line("W1", "messages/s", 1)), 0, "go: 2 unknown; a note", {"W1": 1}),
            ("a peer fails", "W1", says(bench_line("W1", "messages/s", 8e6)),
             "echo why >&2; exit 3", 1, "FAILED go W1: ended with 3: why", {}),
            ("axo fails", "W1", "exit 1", says(peer_line("W1", "messages/s", 2e6)), 1,
             "FAILED axo W1", {}),
            ("no such workload", "W99", "true", "true", 2, "unknown: W99", None)):
        got_code, output, got = tried(only, mine, theirs)
        expect(f"peers: {what}", got_code == code and said in output and ratios in (None, got),
               f"{got_code} {got}\n{output}")


def summed_tests(expect):
    """summed.py adds up what commands count, and does not take silence for success."""
    tool = os.path.join(ROOT, "test", "static", "summed.py")
    for what, commands, good, last in (
            ("both", ["echo 3 passed, 0 failed", "echo 4 passed, 0 failed"], True, "7 passed, 0 failed"),
            ("skipped", ["echo 0 passed, 0 failed, 8 skipped", "echo 4 passed, 0 failed"], True,
             "4 passed, 0 failed, 8 skipped"),
            ("the first fails", ["echo 2 passed, 1 failed; exit 1", "echo 4 passed, 0 failed"], False,
             "6 passed, 1 failed"),
            ("bad end", ["echo 2 passed, 0 failed; exit 1", "true; echo 4 passed, 0 failed"], False,
             "6 passed, 1 failed"),
            ("silence", ["true", "echo 4 passed, 0 failed"], False, "4 passed, 1 failed")):
        code, output = run(sys.executable, tool, *commands)
        expect(f"summed: {what}", (code == 0) == good and output.rstrip().endswith(last), output)


def deps_tests(expect):
    """deps.sh says the line to run when it may not install."""
    deps = os.path.join(TOOLS, "deps.sh")
    code, output = run(deps, "lint", AXO_DEPS_NO_ROOT="1", AXO_DEPS_MISSING="libnone-dev")
    expect("deps: without root", code != 0 and "libnone-dev" in output and
           "apt-get update && apt-get install -y" in output, output)
    code, output = run(deps, "test", AXO_DEPS_NO_ROOT="1")
    expect("deps: nothing missing", code == 0 and not output, output)


def main():
    counts = [0, 0]

    def expect(what, good, output):
        counts[0 if good else 1] += 1
        if not good:
            print(f"FAILED {what}\n{output}")

    with tempfile.TemporaryDirectory() as scratch:
        planted_tests(os.path.join(scratch, "planted"), expect)
        runner_tests(os.path.join(scratch, "runner"), expect)
        conformance_tests(os.path.join(scratch, "conformance"), expect)
        peers_tests(os.path.join(scratch, "peers"), expect)
        figures_tests(os.path.join(scratch, "figures"), expect)
    summed_tests(expect)
    deps_tests(expect)
    print(f"{counts[0]} passed, {counts[1]} failed")
    return 1 if counts[1] else 0


if __name__ == "__main__":
    sys.exit(main())
