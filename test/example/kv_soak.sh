#!/bin/bash
# kv_soak.sh - kv_server.c for long: redis-benchmark, clients that are slow, reset, poison and come in
# storms, more connections than it may have descriptors, while its own calls of sockets are spoilt
# (test/fault/preload/sockets.c); then SIGTERM under load. All it has taken is answered, and nothing
# is left: no descriptor, no byte, no actor.
#
#   kv_soak.sh PROGRAM SECONDS SOCKETS_SO [SEED]
set -eu
cd "$(dirname "$0")/../.."
program=$1
time=$2
preload=$(realpath "$3")
seed=${4:-$RANDOM}
stage=$(mktemp -d)
started=()
finish() {
    local id
    for id in "${started[@]}"; do kill -9 "$id" 2>/dev/null || true; done
    rm -rf "$stage"
}
trap finish EXIT
trap 'echo "soak-kv: line $LINENO has failed"' ERR
failed() {
    echo "soak-kv: $*"
    tail -n 5 "$stage"/out "$stage"/err "$stage"/clients* 2>/dev/null
    exit 1
}

: >"$stage/out" # it is read before the server may have begun
# shellcheck disable=SC2016 # of the inner shell
bash -c 'ulimit -n 250; exec env LD_PRELOAD="$1" AXO_SOCKETS="$2 100" \
    ASAN_OPTIONS="verify_asan_link_order=0:${ASAN_OPTIONS:-}" \
    "$0" --port 0 --workers 2 --write-ms 60000 --bytes' "$program" "$preload" "$seed" \
    >"$stage/out" 2>"$stage/err" &
server=$!
started+=("$server")
for _ in $(seq 2000); do
    port=$(sed -n 's/^listening at 127.0.0.1://p' "$stage/out")
    [ -z "$port" ] || break
    sleep 0.01
done
[ -n "$port" ] || failed "it does not listen"

benchmark() { # until the server ends
    while :; do
        redis-benchmark -p "$port" "$@" -q >"$stage/benchmark" 2>&1 || {
            [ -e "$stage/ends" ] || touch "$stage/unserved"
            exit 0
        }
        sleep 0.1
    done
}
benchmark -n 200000 -c 20 -P 16 -r 10000 -t set,get,incr,mset,ping &
started+=($!)
benchmark -n 20000 -c 20 -r 10000 -d 1000 -t set,get,ping &
started+=($!)
scenes="bytewise typed malformed half resets slow poison many storm model model shaken shaken shaken"
scenes="$scenes broken broken urgent"
clients=()
for i in 1 2 3; do
    # shellcheck disable=SC2086 # words
    python3 test/example/kv_clients.py "$port" $scenes --seconds "$time" >"$stage/clients$i" 2>&1 &
    clients+=($!)
    started+=($!)
done

resident() { awk '/^VmRSS/ { print int($2 / 1024) }' "/proc/$server/status"; }
begin=$SECONDS
next=$((time / 3))
settled=
while [ $((SECONDS - begin)) -lt "$time" ]; do
    sleep 1
    kill -0 "$server" 2>/dev/null || failed "the server has ended"
    [ ! -e "$stage/unserved" ] || failed "redis-benchmark has failed: $(tail -n 1 "$stage/benchmark")"
    [ $((SECONDS - begin)) -lt "$next" ] && continue
    [ "$(timeout 60 redis-cli -p "$port" PING)" = PONG ] || failed "no answer to PING"
    now=$(resident)
    settled=${settled:-$now}
    echo "  $((SECONDS - begin)) s: $(redis-cli -p "$port" INFO | tr '\r\n' '  ') $now MiB"
    next=$((next + (time < 120 ? 10 : 60)))
done
for id in "${clients[@]}"; do wait "$id" || failed "a client's complaint"; done
last=$(resident)
touch "$stage/ends"
kill -TERM "$server"
code=0
wait "$server" || code=$?
totals=$(sed -n '$p' "$stage/out")
echo "  $totals"
total() { sed -n "s/.*\b$1 \([0-9]*\).*/\1/p" <<<"$totals"; }
faults=$(sed -n 's/^sockets: //p' "$stage/err")
echo "  $faults"
[ "$code" = 0 ] || failed "exit code $code: executed is not answered + refused, or something is left"
[ "$(total restarts)" -gt 0 ] && [ "$(total gone)" -gt 0 ] || failed "no failure has happened"
[ -n "$faults" ] && ! grep -q ' 0\(,\|$\)' <<<"$faults" ||
    failed "the sockets were not spoilt, or not in each way"
[ -z "$settled" ] || [ "$last" -le $((settled * 3 / 2 + 64)) ] ||
    failed "it grows: $settled MiB, then $last"
echo "soak-kv: $(cat "$stage"/clients* | awk '{ n += $1 } END { print n }') scenes, good"
