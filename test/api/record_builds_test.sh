#!/bin/bash
# record_builds_test.sh - what one build has recorded another one plays, event by event: debug and
# release of this compiler, and the library as one file by clang and by gcc without optimisation.
set -eu
cd "$(dirname "$0")/../.."
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
unset MAKEFLAGS MFLAGS MAKELEVEL
build=${BUILD:-build}
make --no-print-directory VARIANT=release BUILD="$build" CC="${CC:-cc}" \
    "$build/release/test/api/record_seeds_test" "$build/amalgamation/axo.c" >"$stage/log" 2>&1 ||
    { cat "$stage/log"; exit 1; }
players=("$build/debug/test/api/record_seeds_test" "$build/release/test/api/record_seeds_test")
read -ra packages < <(pkg-config --cflags --libs liburcu-qsbr liburcu-cds ck)
one_file() { # name, compiler and its words
    local name=$1
    shift
    "$@" -std=gnu11 -w -pthread -Iinclude -Iruntime -Itest "$build/amalgamation/axo.c" tools/record/*.c \
        test/api/record_seeds_test.c -o "$stage/$name" "${packages[@]}" -lcmocka -lm
    players+=("$stage/$name")
}
one_file plain "${CC:-cc}" -O0
if command -v clang >/dev/null; then one_file clang clang -O2; fi
played=0
for recorder in "${!players[@]}"; do
    for seed in 1 2 3 4 5 6; do
        "${players[$recorder]}" record "$stage/$recorder.$seed" $seed >"$stage/hash"
        for player in "${players[@]}"; do
            "$player" replay "$stage/$recorder.$seed" $seed | diff "$stage/hash" - ||
                { echo "seed $seed: ${players[$recorder]} and $player differ"; exit 1; }
            played=$((played + 1))
        done
    done
    # Without budgets, which are of each machine's own, what is written is the same byte by byte.
    for seed in 3 6; do cmp "$stage/0.$seed" "$stage/$recorder.$seed"; done
done
echo "${#players[@]} builds, $played files played"
