#!/usr/bin/env python3
# defects.py - every defect of test/defects.txt has a test that shows it; the open ones are counted.
#
#   tools/defects.py
#
# A line is `what was wrong | file | word`: the file is there and has the word, the name of a test, a
# scenario or a seed. `open` in the file's place: a failure that nobody has repeated or explained.
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def main():
    path = os.path.join(ROOT, "test", "defects.txt")
    shown = still_open = wrong = 0
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if not line.strip() or line.startswith("#"):
                continue
            words = [word.strip() for word in line.split("|")]
            if len(words) == 2 and words[1] == "open":
                still_open += 1
                continue
            place = os.path.join(ROOT, words[1]) if len(words) == 3 else ""
            if not os.path.isfile(place):
                print(f"{path}:{number}: not `what | file | word`, or there is no such file")
                wrong += 1
                continue
            with open(place, encoding="utf-8", errors="replace") as test:
                found = words[2] in test.read()
            if not found:
                print(f"{path}:{number}: {words[1]} has no {words[2]}")
            shown += found
            wrong += not found
    total = shown + wrong
    print(f"bar 27 is {still_open}: open")
    print(f"bar 32 is {wrong} / {total}: without a test or a seed, of all defects")
    print(f"{shown} passed, {wrong} failed")
    return 1 if wrong or not shown else 0


if __name__ == "__main__":
    sys.exit(main())
