#!/bin/bash
# s1_kv.sh - S1 to S6: test/example/kv_server.c beside a plain epoll program, redis-server and
# Erlang (peers/kv), driven by redis-benchmark.
#
#   bench/s1_kv.sh [build/release/test/example/kv_server]      QUICK=1: a look, 20 seconds
#
# Fifteen minutes at most. Without Erlang that column is left out. The clients are on the same machine: only columns of one run compare.
set -eu
cd "$(dirname "$0")/.."
program=${1:-${BUILD:-build}/release/test/example/kv_server}
for tool in redis-benchmark redis-cli redis-server; do
    command -v $tool >/dev/null || { echo "s1_kv: no $tool; Debian's redis-tools, redis-server" >&2; exit 1; }
done
[ -x "$program" ] || make --no-print-directory VARIANT=release "$program"
peers=${BUILD:-build}/bench/peers/kv
mkdir -p "$peers"
${CC:-cc} -std=c11 -D_GNU_SOURCE -O2 -Wall -Wextra -Wshadow -pthread -o "$peers/epoll" bench/peers/kv/epoll.c
if command -v erlc >/dev/null; then
    erlc -Werror -o "$peers" bench/peers/kv/kv.erl
else
    rm -f "$peers/kv.beam"
fi
ulimit -n "$(ulimit -Hn)"
exec timeout 900 python3 bench/s1_kv.py "$program" "$peers" ${QUICK:+--quick}
