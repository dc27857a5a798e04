#!/bin/bash
# s1_kv.sh - S1 to S6: test/example/kv_server.c beside plain programs of epoll and io_uring,
# redis-server and Erlang (peers/kv), driven by redis-benchmark.
#
#   bench/s1_kv.sh [build/release/test/example/kv_server]      QUICK=1: a look, 20 seconds
#                  PAIRS=n: only io_uring beside epoll, n pairs in turns
#
# Fifteen minutes at most. Without Erlang that column is left out, so without liburing io_uring's. The clients are on the same machine: only columns of one run compare.
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
if pkg-config --exists liburing 2>/dev/null; then
    # shellcheck disable=SC2046 # flags
    ${CC:-cc} -std=c11 -D_GNU_SOURCE -O2 -Wall -Wextra -Wshadow -pthread -o "$peers/uring" \
        bench/peers/kv/uring.c $(pkg-config --cflags --libs liburing)
else
    echo "s1_kv: io_uring is left out: no liburing; Debian's liburing-dev" >&2
    rm -f "$peers/uring"
fi
if command -v erlc >/dev/null; then
    erlc -Werror -o "$peers" bench/peers/kv/kv.erl
else
    echo "s1_kv: Erlang is left out: no erlc; Debian's erlang-base" >&2
    rm -f "$peers/kv.beam"
fi
ulimit -n "$(ulimit -Hn)"
exec timeout 900 python3 bench/s1_kv.py "$program" "$peers" ${QUICK:+--quick} ${PAIRS:+--pairs "$PAIRS"}
