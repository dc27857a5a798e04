#!/bin/bash
# engine_soak.sh - test/example/engine for so many minutes of its own time, twice: its entities fail, a
# plugin takes them over each minute and the one before it is unloaded, every ten minutes the world is
# saved and goes on in a new system. Both runs have the same events in the same order, and the same
# world at the end as a plain loop without actors.
#
#   engine_soak.sh PROGRAM MINUTES [SEED]
set -eu
cd "$(dirname "$0")/../.."
program=$1
minutes=$2
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
failed() {
    echo "soak-engine: $*"
    tail -n 5 "$stage"/* 2>/dev/null
    exit 1
}
hour="--headless --entities 450 --frames $((minutes * 3600)) --replace 3600 --save 36000 --seed ${3:-1}"
play() { # a mode, a file for what it prints, but for how long it takes
    # shellcheck disable=SC2086 # words
    "$program" $hour --mode "$1" >"$stage/out" 2>"$stage/err" || failed "$1: exit code $?"
    sed '/^frame ms/d' "$stage/out" >"$stage/$2"
}
figure() { # what stands behind this word in the first run
    sed -n "s/.*\b$1 \([0-9]*\).*/\1/p" "$stage/first"
}

play main first
play main second
play plain plain
cmp -s "$stage/first" "$stage/second" || failed "two runs differ"
[ "$(grep '^hash' "$stage/first")" = "$(grep '^hash' "$stage/plain")" ] || failed "not the world of a plain loop"
[ "$(figure replaced) $(figure saved)" = "$minutes $((minutes / 10))" ] || failed "it was not replaced and saved"
[ "$(figure failures)" -gt $((minutes * 400)) ] || failed "it fails too seldom"
echo "soak-engine: $minutes minutes: $(figure failures) failures, $(figure replaced) plugins taken up, $(figure saved) saved games," \
    "$(figure events) events, the same in both runs"
