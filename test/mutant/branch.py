#!/usr/bin/env python3
# branch.py - random branch mutants: one conditional jump of the compiled runtime is always or never
# taken; does the quick suite notice?
#
#   test/mutant/branch.py [--samples 20] [--seed 1] [--only runtime/super]
#
# A sample is a jump of a file's assembly, with its line. The simulator is built with it and runs
# some seeds; if these pass, so is each program of the debug build in turn, those of the same folder
# first, until one fails. What fails so must pass without the change. A jump that belongs to an
# assertion is not a sample. branches.txt says of lines that nobody can notice why: those are
# explained.
import argparse
import concurrent.futures
import glob
import os
import random
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from run import ROOT, run  # noqa: E402

JUMP = re.compile(r"^\t(j(?!mp)[a-z]+)\t(\.L\w+)")
FILE = re.compile(r'^\t\.file (\d+) "([^"]*)"(?: "([^"]*)")?')
LOC = re.compile(r"^\t\.loc (\d+) (\d+)")
LIMIT_WALL_S = 60
EXPLAINED = os.path.join(ROOT, "test", "mutant", "branches.txt")
SIMS = (("test/schedules/sim/tree_sim", ("--seeds", "60")),)
FOLDERS = ("unit", "conformance", "fault", "api")


class Build:
    """One variant: how it compiles and links."""

    def __init__(self, variant, build):
        self.variant = variant
        self.folder = os.path.join(build, variant)
        done = subprocess.run(["make", "--no-print-directory", f"VARIANT={variant}",
                               "mutant-flags"], cwd=ROOT, env=environment(), check=True,
                              stdout=subprocess.PIPE, text=True)
        lines = done.stdout.splitlines()[-4:]
        self.cc, self.cflags, self.ldflags, self.libs = (line.split() for line in lines)

    def compile(self, source, output, *more):
        subprocess.run([*self.cc, *self.cflags, *more, "-o", output, source], cwd=ROOT, check=True)

    def link(self, program, objects, output):
        """False: the program has the file in itself, or does not link."""
        test = os.path.join(self.folder, "obj", program + ".o")
        support = os.path.join(self.folder, "libsupport.a")
        libraries = [support] if program.startswith("test/") else []
        done = subprocess.run([*self.cc, *self.ldflags, "-o", output, test, *objects, *libraries,
                               os.path.join(self.folder, "libaxo.a"), *self.libs, "-lm",
                               "-lcmocka"], cwd=ROOT, check=False, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)
        return done.returncode == 0


def environment():
    result = {**os.environ, "AXO_DEPS_DONE": "1"}
    result.pop("MAKEFLAGS", None)
    return result


def source_line(path, number):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        lines = file.read().splitlines()
    return lines[number - 1].strip() if number <= len(lines) else ""


class Jump:
    """A conditional jump: where it is in the assembly, and of which line."""

    def __init__(self, source, index, path, line, nth):
        self.source = source
        self.index = index
        self.path = path
        self.line = line
        self.nth = nth
        self.text = source_line(path, line)

    def key(self):
        return (self.path, self.line, self.nth)


def jumps_of(source, assembly):
    """Those of the runtime's own lines, its headers' included, but for assertions."""
    with open(assembly, encoding="utf-8") as file:
        lines = file.read().splitlines()
    files = {}
    found = []
    count = {}
    path, line = "", 0
    for index, text in enumerate(lines):
        name = FILE.match(text)
        place = LOC.match(text)
        if name:
            files[name.group(1)] = os.path.normpath(os.path.join(*filter(None, name.groups()[1:])))
        elif place:
            path, line = files.get(place.group(1), ""), int(place.group(2))
        elif JUMP.match(text) and path.startswith("runtime/"):
            nth = count[(path, line)] = count.get((path, line), 0) + 1
            jump = Jump(source, index, path, line, nth)
            if "ASSERT" not in jump.text:
                found.append(jump)
    return found


def changed(assembly, jump, always, output):
    """The assembly with the jump always or never taken."""
    with open(assembly, encoding="utf-8") as file:
        lines = file.read().split("\n")
    label = JUMP.match(lines[jump.index]).group(2)
    lines[jump.index] = f"\tjmp\t{label}" if always else "\tnop"
    with open(output, "w", encoding="utf-8") as file:
        file.write("\n".join(lines))


def explanations():
    """File and text of a line, and why nobody notices."""
    result = {}
    if not os.path.exists(EXPLAINED):
        return result
    with open(EXPLAINED, encoding="utf-8") as file:
        for line in file:
            if line.startswith("#") or line.count(" | ") < 2:
                continue
            path, text, why = line.rstrip("\n").split(" | ", 2)
            result[(path, text)] = why
    return result


class Campaign:
    """All samples of a run."""

    def __init__(self, options):
        self.options = options
        self.folder = os.path.join(options.build, "branch")
        os.makedirs(os.path.join(ROOT, self.folder), exist_ok=True)
        programs = [program for program, _ in SIMS]
        self.programs = [path[:-2] for folder in FOLDERS
                         for path in sorted(glob.glob(f"test/{folder}/**/*_test.c", root_dir=ROOT,
                                                      recursive=True))]
        for variant, targets in (("sim", programs), ("debug", self.programs)):
            targets = [os.path.join(options.build, variant, target) for target in targets]
            subprocess.run(["make", f"-j{options.jobs}", "--no-print-directory",
                            f"VARIANT={variant}", *targets], cwd=ROOT, env=environment(),
                           check=True, stdout=subprocess.DEVNULL)
        self.sim = Build("sim", options.build)
        self.debug = Build("debug", options.build)
        self.simulated = set(self.sources(self.sim))
        self.base = {}

    def assembly(self, build, source):
        """The file's assembly, made anew if the file or a header has changed."""
        output = os.path.join(self.folder, build.variant, source[:-2] + ".s")
        os.makedirs(os.path.join(ROOT, os.path.dirname(output)), exist_ok=True)
        made = os.path.join(build.folder, "obj", source[:-2] + ".o")
        full = os.path.join(ROOT, output)
        if not os.path.exists(full) or os.path.getmtime(full) < os.path.getmtime(
                os.path.join(ROOT, made)):
            build.compile(source, output, "-S")
        return full

    @staticmethod
    def sources(build):
        """What the library of a build is made of."""
        done = subprocess.run(["ar", "t", os.path.join(build.folder, "libaxo.a")], cwd=ROOT,
                              check=True, stdout=subprocess.PIPE, text=True)
        names = set(done.stdout.split())
        return [path for path in sorted(glob.glob("runtime/*/*.c", root_dir=ROOT))
                if os.path.basename(path)[:-2] + ".o" in names]

    def draw(self):
        sources = [source for source in self.sources(self.debug)
                   if source.startswith(self.options.only)]
        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            found = pool.map(lambda source: jumps_of(source, self.assembly(self.debug, source)),
                             sources)
            jumps = [jump for one in found for jump in one]
        chance = random.Random(self.options.seed)
        drawn = chance.sample(jumps, min(self.options.samples, len(jumps)))
        print(f"{len(jumps)} jumps in {len(sources)} files, {len(drawn)} samples", flush=True)
        return [(jump, chance.random() < 0.5) for jump in drawn]

    def passes(self, build, program, arguments):
        """Without the change."""
        key = (build.variant, program)
        if key not in self.base:
            command = [os.path.join(build.folder, program), *arguments]
            self.base[key] = run(command, ROOT, 4 * LIMIT_WALL_S).code == 0
        return self.base[key]

    def fails(self, build, program, arguments, objects, number):
        output = os.path.join(self.folder, f"{number}-{os.path.basename(program)}")
        if not build.link(program, objects, output):
            return False
        try:
            result = run([output, *arguments], ROOT, LIMIT_WALL_S)
        finally:
            os.unlink(os.path.join(ROOT, output))
        return result.code != 0 and self.passes(build, program, arguments)

    def make_object(self, build, jump, always, number):
        """The object of the file with the change; None: this build has no such jump."""
        assembly = self.assembly(build, jump.source)
        same = [one for one in jumps_of(jump.source, assembly) if one.key() == jump.key()]
        if not same:
            return None
        text = os.path.join(self.folder, f"{number}-{build.variant}.s")
        changed(assembly, same[0], always, os.path.join(ROOT, text))
        subprocess.run([*build.cc, "-c", "-o", text[:-2] + ".o", text], cwd=ROOT, check=True)
        return text[:-2] + ".o"

    def order(self, source):
        """The nearest programs first."""
        layer = f"test/unit/{source.split('/')[1]}/"
        return sorted(self.programs, key=lambda program: not program.startswith(layer))

    def noticed_by(self, jump, always, number):
        if jump.source in self.simulated:
            sim = self.make_object(self.sim, jump, always, number)
            for program, arguments in SIMS:
                if sim is not None and self.fails(self.sim, program, arguments, [sim], number):
                    return f"sim {program}"
        debug = self.make_object(self.debug, jump, always, number)
        if debug is None:
            raise RuntimeError(f"{jump.source} has been changed meanwhile")
        for program in self.order(jump.source):
            if self.fails(self.debug, program, (), [debug], number):
                return f"debug {program}"
        return None

    def sample(self, number, jump, always):
        """Whether it is noticed, and whether it is explained."""
        by = self.noticed_by(jump, always, number)
        place = f"{jump.path}:{jump.line} {'always' if always else 'never'}"
        why = self.explained.get((jump.path, jump.text))
        if by is not None:
            print(f"{place}: noticed by {by}", flush=True)
        else:
            print(f"{place}: UNNOTICED: {jump.text}{f' ({why})' if why else ''}", flush=True)
        return by is not None, by is None and why is not None

    def run(self):
        self.explained = explanations()
        samples = self.draw()
        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            results = list(pool.map(lambda one: self.sample(one[0], *one[1]), enumerate(samples)))
        noticed = sum(one[0] for one in results)
        explained = sum(one[1] for one in results)
        share = 100 * noticed / max(1, len(results))
        known = 100 * (noticed + explained) / max(1, len(results))
        print(f"bar 9 is {known:.0f} / {len(results)}: % noticed ({share:.0f}) or explained; branch "
              "mutants")
        return 0 if results else 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--samples", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="runtime/")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--build", default=os.environ.get("BUILD", "build"))
    return Campaign(parser.parse_args()).run()


if __name__ == "__main__":
    sys.exit(main())
