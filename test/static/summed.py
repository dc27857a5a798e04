#!/usr/bin/env python3
# summed.py - runs commands and says in one line, the last, what they have counted together.
#
#   test/static/summed.py "command" "command"...
#
# All of them run, also when one fails. A command counts by its last line "N passed, M failed" or
# "N passed, M failed, K skipped"; one that counts nothing, or ends badly and says of no failure, has
# failed once. It fails if one of them has.
import re
import subprocess
import sys

COUNTS = re.compile(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$")


def counted(command):
    """What a command has passed, failed and skipped; what it prints is printed as it comes."""
    counts = None
    with subprocess.Popen(command, shell=True, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            print(line, end="", flush=True)
            found = COUNTS.match(line.strip())
            if found:
                counts = [int(count or 0) for count in found.groups()]
    if counts is None or (process.returncode != 0 and counts[1] == 0):
        print(f"  FAIL  exit code {process.returncode}, and no count of a failure: {command}")
        counts = [(counts or [0])[0], 1, 0]
    return counts


def main():
    passed, failed, skipped = map(sum, zip(*[counted(command) for command in sys.argv[1:]]))
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
