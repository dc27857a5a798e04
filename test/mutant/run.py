#!/usr/bin/env python3
# run.py - builds axo with one planted bug at a time and sees which test notices.
#
#   test/mutant/run.py [--only 07,12] [--sample 6 [--rotate n]] [--jobs 2] [--all-kills]
#   test/mutant/run.py --fit      builds nothing: whether each still has its place
#
# A mutant is a file NAME.mutant:
#
#   # m07_uid_not_checked - what is wrong
#   from: where such a bug was
#   breaks: 15 53                          numbers of invariants
#   kill: sim test/schedules/sim/tree_sim --seeds 300      build, program of the Makefile, arguments
#   kill: debug test/conformance/uid_test        the next one, if the first passes
#   @@ runtime/cell/table.h
#   the old text, which is there exactly once
#   ==
#   the new one
#   @@
#
# The kills must pass without the bug; then a copy of the tree with it is built from the objects
# that are there, so that only what the change touches is compiled anew, and the kills are run in
# turn, each with a limit of processor time, until one fails. The invariants that it names by
# "(invariant N)" are counted. Of a sample, those that are not chosen are compiled all the same.
import argparse
import concurrent.futures
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HERE = os.path.join(ROOT, "test", "mutant")
LIMIT_S = 60
WALL_S = 240      # without a bug; with one, many times what it took without
WALL_MIN_S = 20
WALL_TIMES = 20
INVARIANTS = 77
COPIED = ("runtime", "include", "tools")  # where bugs are planted: all else of a copy is the tree's own
INCLUDED = ("runtime", "include", "tools")
NAMED = re.compile(r"invariant (\d+): ")
VARIANTS = ("release", "debug", "hard", "asan", "tsan", "sim")
FAILED = re.compile(rb"^  again: |^\[  FAILED  \] \S", re.MULTILINE)


class Bad(Exception):
    """A mutant that says nothing: stale, or not well formed."""


class Mutant:
    """One file: its header, and what it changes."""

    def __init__(self, path):
        self.file = os.path.basename(path)
        self.name = self.file[: -len(".mutant")]
        self.number = self.name[1:].split("_")[0]
        self.title = ""
        self.breaks = []
        self.kills = []
        self.edits = []
        with open(path, encoding="utf-8") as file:
            self.parse(file.read().splitlines())
        if not self.title or not self.kills or not self.edits:
            raise Bad(f"{self.file}: a title, a kill and a change are needed")

    def parse(self, lines):
        at = 0
        while at < len(lines):
            line = lines[at]
            at += 1
            if line.startswith("@@ "):
                at = self.parse_edit(line[3:].strip(), lines, at)
            elif line.startswith("# "):
                self.title = self.title or line.split(" - ", 1)[-1]
            elif line.startswith("breaks:"):
                self.breaks = [int(word) for word in line[7:].split()]
            elif line.startswith("kill:"):
                words = line[5:].split()
                self.kills.append((words[0], words[1], tuple(words[2:])))
            elif line and not line.startswith("from:"):
                raise Bad(f"{self.file}:{at}: {line}")
        if not all(0 < number <= INVARIANTS for number in self.breaks):
            raise Bad(f"{self.file}: there is no such invariant")

    def parse_edit(self, file, lines, at):
        parts = [[], []]
        side = 0
        while at < len(lines) and lines[at] != "@@":
            if lines[at] == "==":
                side = 1
            else:
                parts[side].append(lines[at])
            at += 1
        if at == len(lines) or not parts[0] or parts[0] == parts[1]:
            raise Bad(f"{self.file}: a change of {file} that is none")
        old, new = ("".join(line + "\n" for line in part) for part in parts)
        self.edits.append((file, old, new))
        return at + 1

    def apply(self, root):
        """Changes the files below `root`; whether they are as they were when it was written."""
        for file, old, new in self.edits:
            path = os.path.join(root, file)
            with open(path, encoding="utf-8") as source:
                text = source.read()
            count = ("\n" + text).count("\n" + old)
            if count != 1:
                raise Bad(f"{self.file}: stale: its text is {count} times in {file}")
            if root != ROOT:
                with open(path, "w", encoding="utf-8") as source:
                    source.write(("\n" + text).replace("\n" + old, "\n" + new)[1:])


class Result:
    """What a command did."""

    def __init__(self, code, usage, wall, output, why):
        self.code = code
        self.seconds = usage.ru_utime + usage.ru_stime
        self.wall = wall
        self.output = output
        self.why = why


def limit():
    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT_S, LIMIT_S + 5))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run(command, cwd, wall):
    """Runs it in a group of its own until it ends, or says that it fails, or has had its time."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, cwd=cwd, stdout=output, stderr=subprocess.STDOUT,
                                   stdin=subprocess.DEVNULL, start_new_session=True,
                                   preexec_fn=limit)
        begun = time.monotonic()
        why = ""
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid != 0:
                break
            if not why and (time.monotonic() - begun > wall or spent(process.pid) > LIMIT_S):
                why = "does not end"
                os.killpg(process.pid, signal.SIGKILL)
            elif FAILED.search(os.pread(output.fileno(), 1 << 20, 0)):
                os.killpg(process.pid, signal.SIGKILL)
            time.sleep(0.02)
        process.returncode = os.waitstatus_to_exitcode(status)
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        output.seek(0)
        text = output.read().decode("utf-8", "replace")
    return Result(process.returncode, usage, time.monotonic() - begun, text, why)


def spent(pid):
    """Processor seconds of a process and of the children that it has waited for."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            words = file.read().rsplit(")", 1)[1].split()
    except OSError:
        return 0
    return sum(int(word) for word in words[11:15]) / os.sysconf("SC_CLK_TCK")


def kill_command(build, kill):
    variant, program, arguments = kill
    return [os.path.join(build, variant, program), *arguments]


def kill_text(kill):
    return " ".join((kill[0], kill[1], *kill[2]))


def make(cwd, build, kills, jobs):
    """Builds the programs of the kills; its output if that fails."""
    environment = {**os.environ, "AXO_DEPS_DONE": "1"}
    environment.pop("MAKEFLAGS", None)
    for variant in sorted({kill[0] for kill in kills}):
        targets = sorted({os.path.join(build, variant, kill[1]) for kill in kills
                          if kill[0] == variant})
        words = [f"VARIANT={variant}"] if variant in VARIANTS else []
        done = subprocess.run(["make", f"-j{jobs}", *words, f"BUILD={build}", *targets], cwd=cwd, env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0:
            return done.stdout
    return ""


def copy_objects(source, target):
    """All that programs are linked of, but no program."""
    for folder, _, names in os.walk(source):
        to = os.path.join(target, os.path.relpath(folder, source))
        os.makedirs(to, exist_ok=True)
        for name in names:
            if name.endswith((".o", ".d", ".a", ".c")):
                shutil.copy2(os.path.join(folder, name), os.path.join(to, name))


def copy_tree(mutant, build):
    """A tree with the bug, its objects those of the real one, older than what was changed."""
    tree = os.path.join(ROOT, build, "mutant", mutant.name)
    shutil.rmtree(tree, ignore_errors=True)
    os.makedirs(tree)
    for entry in os.listdir(ROOT):
        if entry in COPIED:
            shutil.copytree(os.path.join(ROOT, entry), os.path.join(tree, entry))
        elif not entry.startswith(".") and entry != build:
            os.symlink(os.path.join(ROOT, entry), os.path.join(tree, entry))
    mutant.apply(tree)
    for variant in {kill[0] for kill in mutant.kills}:
        copy_objects(os.path.join(ROOT, build, variant), os.path.join(tree, build, variant))
    return tree


class Runner:
    """All mutants of a run."""

    def __init__(self, options):
        self.options = options
        self.build = options.build
        self.base = {}
        self.lock = threading.Lock()
        self.named = {}

    def say(self, text):
        with self.lock:
            print(text, flush=True)

    def check_base(self, mutants):
        """Every kill passes without a bug: then a kill means something."""
        kills = sorted({kill for mutant in mutants for kill in mutant.kills})
        output = make(ROOT, self.build, kills, self.options.jobs)
        if output:
            print(output)
            raise Bad("the tree does not build")
        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            for kill, result in zip(kills, pool.map(self.run_base, kills)):
                if result.code != 0:
                    print(result.output[-3000:])
                    raise Bad(f"{kill_text(kill)} fails without a bug{': ' * bool(result.why)}"
                              f"{result.why}")
                self.base[kill] = result.wall

    def run_base(self, kill):
        return run(kill_command(self.build, kill), ROOT, WALL_S)

    def try_mutant(self, mutant):
        """Whether it is killed."""
        tree = copy_tree(mutant, self.build)
        try:
            return self.run_kills(mutant, tree)
        finally:
            if not self.options.keep:
                shutil.rmtree(tree, ignore_errors=True)

    def run_kills(self, mutant, tree):
        killed = False
        for kill in mutant.kills:
            output = make(tree, self.build, [kill], 1)
            if output:
                raise Bad(f"{mutant.file} does not build:\n{output[-2000:]}")
            wall = max(WALL_MIN_S, WALL_TIMES * self.base[kill])
            result = run(kill_command(self.build, kill), tree, min(wall, WALL_S))
            numbers = sorted({int(number) for number in NAMED.findall(result.output)})
            if result.code == 0:
                if self.options.all_kills:
                    self.say(f"{mutant.name}: passed {kill_text(kill)}, {result.seconds:.1f} s")
                continue
            killed = True
            for number in numbers:
                self.named.setdefault(number, []).append(mutant.name)
            names = f", invariant {' '.join(map(str, numbers))}" if numbers else ""
            self.say(f"{mutant.name}: killed by {kill_text(kill)}, {result.seconds:.1f} s{names}"
                     f"{' (' + result.why + ')' if result.why else ''}")
            if self.options.keep:
                print(result.output[-self.options.keep:])
            if not self.options.all_kills:
                break
        if not killed:
            self.say(f"{mutant.name}: SURVIVED: {mutant.title}")
        return killed

    def run(self, mutants):
        self.check_base(mutants)
        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            return sum(pool.map(self.try_mutant, mutants))


def commits():
    """A number that grows with the repository; without one, with the days."""
    done = subprocess.run(["git", "rev-list", "--count", "HEAD"], cwd=ROOT, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return int(done.stdout) if done.returncode == 0 else int(time.time() // 86400)


def choose(mutants, options):
    if options.only:
        wanted = options.only.split(",")
        return [mutant for mutant in mutants if mutant.number in wanted]
    if not options.sample:
        return mutants
    turn = options.rotate if options.rotate is not None else commits()
    first = turn * options.sample % len(mutants)
    print(f"sample {turn}: {options.sample} of {len(mutants)} mutants, from the {first + 1}th")
    return (mutants + mutants)[first : first + options.sample]


def fit(mutants):
    """Whether the old text of each is there once; every one that is stale is said."""
    good = True
    for mutant in mutants:
        try:
            mutant.apply(ROOT)
        except Bad as bad:
            print(f"error: {bad}")
            good = False
    return good


def compiler(variant):
    """The command that checks a file of the library in a variant, without the file."""
    done = subprocess.run(["make", "-s", "mutant-flags", f"VARIANT={variant}"], cwd=ROOT, check=True,
                          env={**os.environ, "AXO_DEPS_DONE": "1"}, stdout=subprocess.PIPE, text=True)
    cc, flags = done.stdout.splitlines()[-4:-2]
    return cc.split() + flags.split() + ["-g0", "-U_FORTIFY_SOURCE", "-O0", "-S", "-o", os.devnull, "-x", "c"]


def complaint(mutant, commands):
    """What the compiler says of the changed files, "" if it takes them. They stand alone in a
    folder that is looked through before the tree's own."""
    with tempfile.TemporaryDirectory() as tree:
        for file, _, _ in mutant.edits:
            os.makedirs(os.path.join(tree, os.path.dirname(file)), exist_ok=True)
            shutil.copy2(os.path.join(ROOT, file), os.path.join(tree, file))
        mutant.apply(tree)
        variants = {kill[0] if kill[0] in commands else "debug" for kill in mutant.kills}
        files = {file for file, _, _ in mutant.edits if file.endswith((".c", ".h"))}
        for variant, file in sorted((variant, file) for variant in variants for file in files):
            done = subprocess.run([*commands[variant], *(f"-I{tree}/{folder}" for folder in INCLUDED),
                                   "-Itools", "-iquote", os.path.dirname(file), os.path.join(tree, file)], cwd=ROOT, check=False, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            if done.returncode != 0:
                return done.stdout
    return ""


def compile_all(mutants, jobs):
    """Whether each compiles where it is planted: one that does not says nothing of the tests."""
    variants = {kill[0] for mutant in mutants for kill in mutant.kills} & set(VARIANTS) | {"debug"}
    commands = {variant: compiler(variant) for variant in sorted(variants)}
    good = True
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        said = pool.map(lambda mutant: complaint(mutant, commands), mutants)
        for mutant, text in zip(mutants, said):
            if text:
                print(f"error: {mutant.file} does not compile:\n{text[:2000]}")
                good = False
    return good


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", help="numbers, by commas")
    parser.add_argument("--sample", type=int, help="so many of them")
    parser.add_argument("--rotate", type=int, help="which sample; else by the number of commits")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--build", default=os.environ.get("BUILD", "build"))
    parser.add_argument("--all-kills", action="store_true", help="do not stop at the first")
    parser.add_argument("--fit", action="store_true", help="whether each has its place, no more")
    parser.add_argument("--keep", type=int, default=0, metavar="BYTES",
                        help="keep the trees, show the end of what killed")
    options = parser.parse_args()
    try:
        mutants = [Mutant(os.path.join(HERE, name)) for name in sorted(os.listdir(HERE))
                   if name.endswith(".mutant")]
        if not fit(mutants):
            return 1
        if options.fit:
            print(f"{len(mutants)} mutants, each has its place")
            return 0
        if options.sample and not compile_all(mutants, options.jobs):
            return 1
        chosen = choose(mutants, options)
        runner = Runner(options)
        killed = runner.run(chosen)
    except Bad as bad:
        print(f"error: {bad}")
        return 1
    good = killed == len(chosen)
    print(f"bar 8 is {len(chosen)} / {len(chosen) - killed}: planted bugs; not killed, each within "
          f"{LIMIT_S} s of processor time")
    if len(chosen) == len(mutants):
        print(f"bar 2 is {len(runner.named)}: of {INVARIANTS} invariants are named by what kills a "
              "planted bug")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
