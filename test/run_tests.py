#!/usr/bin/env python3
# run_tests.py - runs test programs, each in a process of its own with a time limit, and counts.
#
#   test/run_tests.py [options] program...
#
# A program is a cmocka program, whose tests are counted one by one, or anything else (a script),
# which is one test and passes when it exits with 0. The last line is "N passed, N failed".
# AXO_TEST_SCALE multiplies the time limits; AXO_TEST_RUNNER, a command, starts each program that is not
# a script. --but FILE: not the programs that it names, a line each, with the reason behind two blanks;
# a line without one is an error, and one of a program that has no source and is not there. --logs DIR:
# what each program printed, in a file of its name. What a program that passed has left out for want of
# a package, in a line "left out: ...", is said here, too. Tests that are skipped have not
# passed: they are counted in a line of their own.
import argparse
import concurrent.futures
import os
import re
import signal
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# A script builds and starts many programs, so it may take so many times longer.
SCRIPT_TIMES = 3
LIMIT_S = {"release": 60, "debug": 60, "hard": 120, "sim": 60, "coverage": 120, "asan": 180, "tsan": 300, "valgrind": 600}
ENVIRONMENT = {
    "ASAN_OPTIONS": "detect_leaks=1:strict_string_checks=1:detect_stack_use_after_return=1",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    "TSAN_OPTIONS": "history_size=7:second_deadlock_stack=1:atexit_sleep_ms=50",
}
VALGRIND = ["valgrind", "-q", "--error-exitcode=99", "--fair-sched=yes", "--leak-check=full",
            "--show-leak-kinds=definite,indirect,possible",
            "--errors-for-leak-kinds=definite,indirect,possible"]
SLOWER = 20         # under memcheck: what test/support/slower.h says
# cmocka writes "[       OK ] name" and "[  FAILED  ] name"; its summary also says FAILED, so a
# name counts once for each run of it. Tests may write to the same stream without a newline.
RESULT = re.compile(r"\[ +(RUN|OK|SKIPPED|FAILED|ERROR) +\] ?(.*)$")
PLAN = re.compile(r"\[=+\] Running (\d+) test")


class Run:
    """One run of one program: what its tests did, and its output."""

    def __init__(self, program):
        self.program = program
        self.passed = []
        self.failed = []
        self.skipped = []
        self.output = ""
        self.seconds = 0.0


def parse(run, exit_code, timed_out):
    """Fills the lists from cmocka's output; what began and did not end has failed."""
    began = None
    is_cmocka = False
    planned = 0
    for line in run.output.splitlines():
        plan = PLAN.search(line)
        if plan:
            is_cmocka = True
            planned += int(plan.group(1))
        found = RESULT.search(line)
        if not found:
            continue
        word, name = found.group(1), found.group(2).strip()
        if word == "RUN":
            if began is not None:
                run.failed.append(began)
            began = name
        elif began is not None and name.startswith(began):
            # "[  FAILED  ] --- ..." and the summary's lines come when no test is open.
            {"OK": run.passed, "SKIPPED": run.skipped}.get(word, run.failed).append(began)
            began = None
    why = "time limit" if timed_out else f"exit code {exit_code}"
    if began is not None:
        run.failed.append(began)
    if not is_cmocka:
        good = exit_code == 0 and not timed_out
        expected = os.path.join(ROOT, "test", short(run.program) + ".expected")
        if good and os.path.exists(expected):
            with open(expected, encoding="utf-8") as file:
                good = file.read() == run.output
            if not good:
                run.output += f"*** is not what {os.path.relpath(expected, ROOT)} says\n"
        (run.passed if good else run.failed).append("whole program")
        return
    lost = planned - len(run.passed) - len(run.failed) - len(run.skipped)
    if lost > 0 and (timed_out or exit_code != 0):
        run.failed.append(f"{lost} tests not run ({why})")
    elif lost > 0:
        run.failed.append(f"{lost} tests without a result")
    if planned == 0:
        run.failed.append("no test in it")
    if (exit_code != 0 or timed_out) and not run.failed:
        run.failed.append(f"whole program ({why})")


def execute(program, variant, valgrind):
    """Runs a program in its own process group, so that nothing of it stays behind."""
    run = Run(program)
    limit = LIMIT_S["valgrind" if valgrind else variant]
    limit *= SCRIPT_TIMES if program.endswith(".sh") else 1
    limit *= float(os.environ.get("AXO_TEST_SCALE") or 1)
    environment = dict(os.environ, CMOCKA_MESSAGE_OUTPUT="STDOUT")
    for name, value in ENVIRONMENT.items():
        environment.setdefault(name, value)
    if valgrind:
        environment.setdefault("AXO_TEST_SLOWER", str(SLOWER))
    path = program if os.path.isabs(program) else os.path.join(".", program)
    runner = VALGRIND if valgrind else os.environ.get("AXO_TEST_RUNNER", "").split()
    command = ([] if program.endswith(".sh") else runner) + [path]
    start = time.monotonic()
    timed_out = False
    exit_code = 0
    try:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, env=environment,
                                 start_new_session=True)
    except OSError as error:
        run.output = f"cannot be started: {error}\n"
        run.failed.append("whole program")
        return run
    try:
        output, _ = child.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        timed_out = True
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        output, _ = child.communicate()
    run.seconds = time.monotonic() - start
    run.output = output.decode("utf-8", "replace")
    exit_code = child.returncode
    if timed_out:
        run.output += f"\n*** killed after {limit:.0f} s\n"
    elif exit_code < 0:
        run.output += f"\n*** died of {signal.Signals(-exit_code).name}\n"
    parse(run, exit_code, timed_out)
    return run


def execute_all(programs, variant="debug", jobs=2, valgrind=False, on_done=None, waiting=()):
    """Runs all programs, `jobs` at a time, and beside them, one at a time, those whose name has a
    word of `waiting`; gives the runs in the programs' order."""
    lane = concurrent.futures.ThreadPoolExecutor
    with lane(max_workers=max(1, jobs)) as pool, lane(max_workers=1) as aside:
        futures = [(aside if any(word in short(program) for word in waiting) else pool)
                   .submit(execute, program, variant, valgrind) for program in programs]
        for future in concurrent.futures.as_completed(futures):
            if on_done:
                on_done(future.result())
        return [future.result() for future in futures]


def short(program):
    """unit/queue/mpsc_test instead of build/debug/test/unit/queue/mpsc_test."""
    at = program.rfind("test/", 0, program.rfind("/") + 1)
    return program[at + 5:] if at >= 0 else program


def without(programs, path):
    """The programs but those of a file, each of which has a reason."""
    named = {}
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            line = line.split("#")[0].rstrip()
            match = re.match(r"test/(\S+) {2,}(\S.*)$", line)
            if line and not match:
                sys.exit(f"{path}:{number}: wants a program, two blanks or more, and the reason")
            if match:
                named[match.group(1)] = number
    there = {short(program) for program in programs}
    for name, number in named.items():
        source = os.path.join(ROOT, "test", name)    # it may be left out for want of a package
        if name not in there and not any(os.path.exists(source + end) for end in (".c", ".cpp")):
            sys.exit(f"{path}:{number}: there is no program test/{name}")
    return [program for program in programs if short(program) not in named]


def telling(output):
    """The output without the tests that passed and said nothing."""
    kept = []
    for line in output.splitlines():
        found = RESULT.search(line)
        if found and found.group(1) == "OK" and kept and RESULT.search(kept[-1]):
            kept.pop()
        else:
            kept.append(line)
    return kept


def report(run):
    word = "FAIL" if run.failed else "ok"
    skipped = f", {len(run.skipped)} skipped" if run.skipped else ""
    print(f"  {word:4}  {short(run.program):44} {len(run.passed):4} passed, "
          f"{len(run.failed)} failed{skipped}  {run.seconds:6.2f} s", flush=True)
    if run.failed:
        for line in telling(run.output):
            print(f"        | {line}")
        for name in run.failed:
            print(f"        failed: {name}", flush=True)
    else:
        for line in left_out(run):
            print(f"        | {line}", flush=True)


def left_out(run):
    return [line for line in run.output.splitlines() if line.startswith("left out:")]


def keep_log(run, folder):
    path = os.path.join(folder, short(run.program) + ".log")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(run.output)


def main():
    parser = argparse.ArgumentParser(description="Runs test programs.")
    parser.add_argument("programs", nargs="*")
    parser.add_argument("--variant", default="debug", choices=sorted(LIMIT_S))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--waiting", action="append", default=[],
                        help="programs whose name has this wait more than they run: beside the jobs")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--filter", default="", help="only programs whose path has this")
    parser.add_argument("--valgrind", action="store_true")
    parser.add_argument("--but", help="a file of programs that are not run, with reasons")
    parser.add_argument("--logs", help="a folder for what each program prints")
    options = parser.parse_args()
    programs = without(options.programs, options.but) if options.but else options.programs
    programs = [p for p in programs if options.filter in p]
    # Long programs first would be better still, but the order must not depend on the machine.
    programs = [p for p in programs for _ in range(options.repeat)]

    def done(run):
        report(run)
        if options.logs:
            keep_log(run, options.logs)
    runs = execute_all(programs, options.variant, options.jobs, options.valgrind, done,
                       options.waiting)
    passed = sum(len(run.passed) for run in runs)
    failed = sum(len(run.failed) for run in runs)
    if failed:
        print("failed:")
        for run in runs:
            for name in run.failed:
                print(f"  {short(run.program)}: {name}")
    if passed + failed == 0:
        print("error: no test was run")
    skipped = sum(len(run.skipped) for run in runs)
    if skipped:
        print(f"{skipped} skipped: not possible in this build, or on this machine")
    parts = sum(len(left_out(run)) for run in runs)
    if parts:
        print(f"{parts} parts were left out for want of a package; above")
    if options.but:
        print(f"{len(programs)} programs, {len(options.programs) - len(programs)} left out")
    print(f"{passed} passed, {failed} failed", flush=True)
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
