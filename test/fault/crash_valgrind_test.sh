#!/bin/bash
# crash_valgrind_test.sh - a program whose crashes are contained, under valgrind's memcheck: the bad access is
# reported, as it is one, and nothing else, so nobody needs suppressions; the crash is contained all the same,
# and a loop is interrupted.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${BUILD:-build}
out=$build/fault/memcheck
if ! command -v valgrind >/dev/null; then
    echo "left out: no valgrind"
    exit 0
fi
if readelf -p .comment "$build/release/libaxo.a" | grep -q clang; then
    echo "left out: a library of clang's, whose debug information this valgrind may not read"
    exit 0
fi
mkdir -p "$out"
read -ra libs <<<"$(pkg-config --libs liburcu-qsbr liburcu-cds ck)"
passed=0
failed=0

# However far the handler's stack lies from the thread's: with the option each way between two stacks is taken
# for one within a stack, unless memcheck knows both.
look() { # variant, what the program is told, errors that are reported, a line of a report or ""
    local name="$1 $2" output summary
    output=$(valgrind --fair-sched=try --max-stackframe=1000000000 --leak-check=full --log-file="$out/report" "$out/$1" "$2" 2>&1)
    summary=$(sed -n 's/.*ERROR SUMMARY: \([0-9]* errors from [0-9]* contexts\).*/\1/p' "$out/report")
    if [ "$output" = "AXO_OK, instance 2" ] && [ "$summary" = "$3 errors from $3 contexts" ] &&
        grep -q "${4:-Memcheck}" "$out/report" && grep -q 'All heap blocks were freed' "$out/report"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf '%s says "%s", and memcheck\n' "$name" "$output"
        cat "$out/report"
    fi
}

for variant in release debug; do
    gcc -std=gnu11 -Wall -Wextra -Werror -O1 -g -Iinclude -pthread -o "$out/$variant" test/fault/program/contain.c \
        "$build/$variant/libaxo.a" "${libs[@]}" || exit 1
    look $variant crash 1 'Invalid write of size 1'
    look $variant stuck 0 ''
done

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
