#!/usr/bin/env python3
# points.py - runs the tests of real parts and counts how often each fault was made.
#
#   test/fault/points.py points.txt [without=NAME] command [--] command ...
#
# Commands are separated by "--". A line "fault point NAME: COUNT" of their output counts; each name
# of the list must come, and none that is not in it. Lines of bars are passed on.
import re
import subprocess
import sys

MADE = re.compile(r"fault point (.+): (\d+)$")


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        made = {line.strip(): 0 for line in file if line.strip()}
    commands, bad = [[]], False
    for word in sys.argv[2:]:
        if word.startswith("without="):
            del made[word[len("without="):]]
        elif word == "--":
            commands.append([])
        else:
            commands[-1].append(word)
    for command in commands:
        try:
            run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                 timeout=240, check=False)
            output, code = run.stdout.decode("utf-8", "replace"), run.returncode
        except subprocess.TimeoutExpired as late:
            output, code = (late.stdout or b"").decode("utf-8", "replace"), "no end in 240 s"
        print(f"  {command[0].rsplit('/', 1)[-1]}: {code}", flush=True)
        for line in output.splitlines():
            found = MADE.search(line)
            if found and found.group(1) in made:
                made[found.group(1)] += int(found.group(2))
            elif found:
                print(f"a fault point that the list does not have: {found.group(1)}")
                bad = True
            if line.startswith(("bar ", "stuck:")):
                print(line)
        if code != 0:
            print(output)
            bad = True
    for name, count in made.items():
        print(f"  {count:8}  {name}")
    hit = sum(count > 0 for count in made.values())
    print(f"bar 16 is {100 * hit / len(made):.0f} / {min(made.values())}: % of {len(made)} fault points "
          f"made, the rarest so often; {sum(made.values())} times in all")
    return 1 if bad or hit < len(made) else 0


if __name__ == "__main__":
    sys.exit(main())
