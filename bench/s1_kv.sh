#!/bin/bash
# s1_kv.sh - S1 to S6: test/example/kv_server.c beside redis-server, driven by redis-benchmark.
#
#   bench/s1_kv.sh [build/release/test/example/kv_server]      QUICK=1: a look, 20 seconds
#
# Five minutes at most. The clients are on the same machine: only columns of one run compare.
set -eu
cd "$(dirname "$0")/.."
program=${1:-${BUILD:-build}/release/test/example/kv_server}
for tool in redis-benchmark redis-cli redis-server; do
    command -v $tool >/dev/null || { echo "s1_kv: no $tool; Debian's redis-tools, redis-server" >&2; exit 1; }
done
[ -x "$program" ] || make --no-print-directory VARIANT=release "$program"
ulimit -n "$(ulimit -Hn)"
exec timeout 300 python3 bench/s1_kv.py "$program" ${QUICK:+--quick}
