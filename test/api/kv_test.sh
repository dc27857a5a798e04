#!/bin/bash
# kv_test.sh - test/example/kv_server.c with real clients: redis-cli, redis-benchmark, and those of
# kv_clients.py, whose bytes come one by one, who reset, do not read, and poison. What it counts adds
# up, to the unit of what clients have received, and nothing is left. KV_VARIANT=asan: of another build.
set -eu
cd "$(dirname "$0")/../.."
if ! command -v redis-cli >/dev/null || ! command -v redis-benchmark >/dev/null; then
    echo "left out: redis-cli and redis-benchmark are not there; Debian's redis-tools"
    exit 0
fi
variant=${KV_VARIANT:-debug}
program=${BUILD:-build}/$variant/test/example/kv_server
stage=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill -9 $server 2>/dev/null; rm -rf "$stage"' EXIT
make --no-print-directory VARIANT="$variant" BUILD="${BUILD:-build}" "$program" >"$stage/log" 2>&1 ||
    { cat "$stage/log"; exit 1; }
failed() {
    echo "$*"
    cat "$stage/out" "$stage/err" 2>/dev/null
    exit 1
}

begin() { # options
    : >"$stage/out"
    "$program" --port 0 --workers 2 "$@" >"$stage/out" 2>"$stage/err" &
    server=$!
    for _ in $(seq 2000); do
        port=$(sed -n 's/^listening at 127.0.0.1://p' "$stage/out")
        [ -z "$port" ] || return 0
        kill -0 $server 2>/dev/null || break
        sleep 0.01
    done
    failed "it does not listen"
}
end() { # sets $totals
    local code=0
    kill -TERM $server
    wait $server || code=$?
    server=
    totals=$(sed -n '$p' "$stage/out")
    [ "$code" = 0 ] || failed "exit code $code"
}
total() { sed -n "s/.*\b$1 \([0-9]*\).*/\1/p" <<<"$totals"; }
clients() { timeout 100 python3 test/example/kv_clients.py "$port" "$@" || failed "clients: $*"; }

# ---- what redis-cli says, and gets
begin --board "$stage/board"
talk="PING|SET a 1|GET a|INCR a|MSET x 1 y 2|MGET x none y|DEL x y z|EXISTS a x|DBSIZE|DEBUG POISON a|GET a|ECHO hi|COMMAND|NO"
IFS='|' read -ra lines <<<"$talk"
for line in "${lines[@]}"; do
    # shellcheck disable=SC2086 # words
    timeout 60 redis-cli -p "$port" $line || failed "redis-cli $line"
done >"$stage/talk"
printf '%s\n' PONG OK 1 2 OK 1 "" 2 2 1 1 "ERR failed: poison" "" 2 hi "" "ERR unknown command" "" |
    diff -u - "$stage/talk" || failed "redis-cli got something else"
grep -q 'failed in receive of DO: code 13 "poison"' "$stage/err" || failed "the log does not tell"
timeout 60 redis-cli -p "$port" DEBUG PANIC >"$stage/log" 2>&1 || true
grep -q "closed the connection" "$stage/log" || failed "$(cat "$stage/log")"
for _ in $(seq 2000); do # the connection is closed before the line is written
    ! grep -q 'failed in receive of AXO_IO_READY: code 14 "panic"' "$stage/err" || break
    sleep 0.01
done
grep -q 'failed in receive of AXO_IO_READY: code 14 "panic"' "$stage/err" || failed "the log does not tell"
# ---- keys that end: by number, and by the time, also one that nobody asks for
talk="SET k 7|EXPIRE k 100|INCR k|EXPIRE none 5|TTL none|SET k 8|TTL k|EXPIRE k x|EXPIRE k 1000000001|EXPIRE k 0|EXISTS k|DBSIZE"
IFS='|' read -ra lines <<<"$talk"
for line in "${lines[@]}"; do
    # shellcheck disable=SC2086 # words
    timeout 60 redis-cli -p "$port" $line || failed "redis-cli $line"
done >"$stage/talk"
printf '%s\n' OK 1 8 0 -2 OK -1 "ERR value is not an integer or out of range" "" \
    "ERR value is not an integer or out of range" "" 1 0 1 | diff -u - "$stage/talk" || failed "keys that end"
for line in "SET k 1" "SET unseen 1" "EXPIRE k 1" "EXPIRE unseen 1" "EXPIRE a 90"; do
    # shellcheck disable=SC2086 # words
    timeout 60 redis-cli -p "$port" $line >>"$stage/talk" || failed "redis-cli $line"
done
ends() { # command, what it says in the end
    for _ in $(seq 2000); do
        # shellcheck disable=SC2086 # words
        [ "$(timeout 60 redis-cli -p "$port" $1)" != "$2" ] || return 0
        sleep 0.01
    done
    failed "$1 is never $2"
}
ends "EXISTS k" 0
ends DBSIZE 1 # unseen was swept
timeout 60 redis-cli -p "$port" INCR a >/dev/null || failed "redis-cli INCR a"
left=$(timeout 60 redis-cli -p "$port" TTL a)
[ "$left" -ge 1 ] && [ "$left" -le 90 ] || failed "TTL after INCR: $left"

# ---- who is there
timeout 60 redis-cli -p "$port" TREE | tr -d '\r' >"$stage/tree"
for line in '/ root idle .*' '/user/server server idle queued 0 restarts 0' '/user/server/shard0 shard .*' \
    '/user/server/listener listener .*' '/user/server/listener/\$[^ ]* connection running .*'; do
    grep -qx "$line" "$stage/tree" || failed "TREE without $line: $(cat "$stage/tree")"
done
grep -q '/shard[0-9]* shard idle queued 0 restarts 1$' "$stage/tree" || failed "TREE knows of no restart"
if "$program" --port "$port" >"$stage/second" 2>&1; then failed "two servers at a port"; fi
grep -q "cannot listen at 127.0.0.1:$port" "$stage/second" || failed "$(cat "$stage/second")"

# ---- redis-benchmark
for form in "-P 16 -c 50" "-c 50" "-P 100 -c 3 -d 10000"; do
    # shellcheck disable=SC2086 # words
    timeout 100 redis-benchmark -p "$port" $form -n 4000 -r 1000 -q \
        -t ping_inline,ping_mbulk,set,get,incr,mset >"$stage/log" 2>&1 || failed "redis-benchmark"
    if grep -qi "err" "$stage/log"; then failed "$(cat "$stage/log")"; fi
done

# ---- clients of every kind
clients bytewise typed malformed half many model poison slow resets storm shaken shaken model
end
[ "$(total restarts)" -ge 20 ] && [ "$(total gone)" -ge 1 ] || failed "$totals"

# ---- SHUTDOWN is what SIGTERM is
begin
timeout 60 redis-cli -p "$port" SET a 1 >/dev/null
timeout 60 redis-cli -p "$port" SHUTDOWN >"$stage/talk" 2>&1 || true
wait "$server" || failed "SHUTDOWN: exit code $?"
server=
grep -q ' executed \([0-9]*\) answered \1 ' "$stage/out" || failed "SHUTDOWN: $(cat "$stage/out")"

# ---- bounds
begin --idle-ms 50
clients idle
end
begin --connections 2
clients bound
end
begin --bytes --answer-max 100020
clients readers
end
begin --bytes
clients strangers
end

# ---- TERM under load: what clients have received is what was answered is what was executed
begin --shards 3
timeout 100 python3 test/example/kv_clients.py "$port" counted >"$stage/counted" 2>&1 &
counting=$!
for _ in $(seq 2000); do
    executed=$(timeout 60 redis-cli -p "$port" INFO | tr -d '\r' | sed -n 's/^executed://p')
    [ "${executed:-0}" -lt 2000 ] || break
    sleep 0.01
done
asked=$(timeout 60 redis-cli -p "$port" INFO | tr -d '\r' | sed -n 's/^executed://p')
end
wait $counting || failed "$(cat "$stage/counted")"
received=$(sed -n 's/^received //p' "$stage/counted")
[ "$(total executed)" -gt "$asked" ] && [ "$(total executed)" = "$(total answered)" ] &&
    [ "$(total done)" = "$received" ] || failed "received $received: $totals"
echo "1 passed, 0 failed"
