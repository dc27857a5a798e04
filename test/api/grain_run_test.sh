#!/bin/bash
# grain_run_test.sh - what test/example/grain.c says, on two nodes beside a nats-server with
# JetStream: each name has one node at a time, also when one leaves.
set -eu
cd "$(dirname "$0")/../.."
PATH=$PATH:/usr/sbin
stage=$(mktemp -d)
started=()
finish() {
    local id
    for id in "${started[@]}"; do kill -9 "$id" 2>/dev/null || true; done
    rm -rf "$stage"
}
trap finish EXIT
failed() {
    echo "grain: $*"
    cat "$stage"/ann "$stage"/bob
    exit 1
}
if [ ! -e /usr/include/nats/nats.h ] || ! command -v nats-server >/dev/null; then
    echo "left out: nats-server or libnats is not there; Debian's nats-server and libnats-dev"
    exit 0
fi
program=${BUILD:-build}/debug/test/example/grain
make --no-print-directory VARIANT=debug BUILD="${BUILD:-build}" "$program" >"$stage/log" 2>&1 ||
    { cat "$stage/log"; exit 1; }

port=
for _ in $(seq 50); do # one that nobody has
    port=$((20000 + RANDOM % 12000))
    nats-server -a 127.0.0.1 -p "$port" -js -sd "$stage/store" -l "$stage/server" &
    server=$!
    for _ in $(seq 100); do
        ! grep -q 'Server is ready' "$stage/server" 2>/dev/null || break
        kill -0 "$server" 2>/dev/null || break
        sleep 0.05
    done
    ! kill -0 "$server" 2>/dev/null || break
    : >"$stage/server"
done
disown "$server"
started+=("$server")
node() { # name, seconds
    "$program" "$1" "nats://127.0.0.1:$port" "$2" >>"$stage/$1" 2>&1 &
    started+=("$!")
}
: >"$stage/ann"
: >"$stage/bob"
lines() { cat "$stage/ann" "$stage/bob"; }
wants() { # of all lines
    local _
    for _ in $(seq 300); do
        ! lines | grep -qE "$1" || return 0
        sleep 0.1
    done
    failed "nobody has said: $1"
}

node ann 60
ann=${started[1]}
for key in apples pears plums; do wants "^$key lives on ann: hello from ann"; done
node bob 6
bob=${started[2]}
wants 'lives on bob: hello from ann'
wants 'lives on ann: hello from bob'
wait "$bob" || failed "bob ends with $?"
: >"$stage/ann" # behind which ann has all of them
for key in apples pears plums; do wants "^$key lives on ann: hello from ann"; done
kill "$ann"
! lines | grep -vE '^(apples|pears|plums) lives on (ann|bob): hello from (ann|bob), the [0-9]+\. of this life$' ||
    failed "something else was said"
