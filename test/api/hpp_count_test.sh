#!/bin/bash
# hpp_count_test.sh - a message costs in C++ what it costs in C: the instructions of hpp_count.cpp's two
# loops, counted by valgrind as the difference of two lengths, are within 2 % of one another.
set -eu
cd "$(dirname "$0")/../.."
build=${BUILD:-build}
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
unset MAKEFLAGS MFLAGS MAKELEVEL
if ! command -v valgrind >/dev/null; then
    echo "left out: no valgrind"
    exit 0
fi
make --no-print-directory VARIANT=release BUILD="$build" CC="${CC:-cc}" "$build/release/libaxo.a" \
    >"$stage/log" 2>&1 || { cat "$stage/log"; exit 1; }
read -ra libs < <(pkg-config --libs liburcu-qsbr liburcu-cds ck)

count() { # program, loop, messages
    local said
    said=$(valgrind --tool=cachegrind --cache-sim=no --cachegrind-out-file=/dev/null \
        --fair-sched=try "$1" "$2" "$3" 2>&1 >/dev/null)
    sed -n 's/.*I *refs: *//p' <<<"$said" | tr -d ,
}
measure() { # program: whether its two loops cost the same
    for loop in c cpp; do
        short=$(count "$1" $loop 20000)
        long=$(count "$1" $loop 80000)
        printf -v "$loop" %s $((long - short))
    done
    [ "$c" -gt 1000000 ] && [ "$cpp" -gt 1000000 ] || { echo "$1: $c and $cpp"; exit 1; }
    awk -v c="$c" -v p="$cpp" -v who="${1##*/}" 'BEGIN {
        printf "%s: %.1f instructions a message in C, %.1f in C++, %+.2f %%\n", who, c / 60000,
               p / 60000, 100 * (p / c - 1)
        exit p > c * 1.02 }'
}
failed=0
ran=0
for compiler in g++ clang++; do
    command -v "$compiler" >/dev/null || continue
    "$compiler" -std=c++17 -O2 -Wall -Wextra -Werror -Iinclude test/api/hpp_count.cpp \
        "$build/release/libaxo.a" "${libs[@]}" -pthread -o "$stage/$compiler"
    # When a worker looks at the clock moves single runs by some tenths of a percent.
    measure "$stage/$compiler" || measure "$stage/$compiler" || measure "$stage/$compiler" || failed=1
    ran=$((ran + 1))
done
[ "$failed" -eq 0 ] && [ "$ran" -gt 0 ]
