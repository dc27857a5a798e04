#!/bin/bash
# crash.sh - a crash under a server: the time to the first answer, and which connections still answer;
# test/example/crashy_server.c beside a restarted process, forked workers, and a program behind an
# Erlang port (peers/crash).
#
#   bench/crash.sh [build/release/test/example/crashy_server]      ROUNDS=5 CRASHES=200; QUICK=1: one of 20
#
# A line of JSON for each run, in turns. Without Erlang its lines are left out.
set -eu
cd "$(dirname "$0")/.."
program=$(realpath "${1:-${BUILD:-build}/release/test/example/crashy_server}")
rounds=${ROUNDS:-5}
crashes=${CRASHES:-200}
[ -z "${QUICK:-}" ] || { rounds=1 crashes=20; }
peers=${BUILD:-build}/bench/peers/crash
mkdir -p "$peers"
${CC:-cc} -std=c11 -D_GNU_SOURCE -O2 -Wall -Wextra -Wshadow -o "$peers/crash" bench/peers/crash/crash.c
if command -v erlc >/dev/null; then
    erlc -Werror -o "$peers" bench/peers/crash/port.erl
else
    echo "crash: Erlang is left out: no erlc; Debian's erlang-base" >&2
fi
for _ in $(seq "$rounds"); do
    for server in "axo:$program" restart prefork; do
        "$peers/crash" --server "$server" --rounds "$crashes"
    done
    command -v erlc >/dev/null || continue
    erl -noshell -pa "$peers" -run port main "$(realpath "$peers/crash")" "$crashes"
done
