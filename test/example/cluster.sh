#!/usr/bin/env bash
# cluster.sh - three nodes of test/example/cluster.c beside a nats-server of their own: they greet
# each other, and have a child on another node; one is killed, those that watched it are told, it
# comes back and is greeted again, and the child that was there is made anew.
#
#   cluster.sh [PROGRAM]
set -euo pipefail
cd "$(dirname "$0")/../.."
program=${1:-build/release/test/example/cluster}
PATH=$PATH:/usr/sbin
if [ ! -x "$program" ] || ! command -v nats-server >/dev/null; then
    echo "left out: nats-server or libnats is not there; Debian's nats-server and libnats-dev"
    exit 0
fi
stage=$(mktemp -d)
begin=$(date +%s)
started=()
finish() {
    local id
    for id in "${started[@]}"; do kill -9 "$id" 2>/dev/null || true; done
    rm -rf "$stage"
}
trap finish EXIT
say() { printf '== %3d s  %s\n' "$(($(date +%s) - begin))" "$*"; }
failed() {
    echo "cluster: $*"
    exit 1
}
port=
serve() { # at a port that nobody has
    local _ server
    for _ in $(seq 50); do
        port=$((20000 + RANDOM % 12000))
        nats-server -a 127.0.0.1 -p "$port" -l "$stage/server" &
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
}
node() { # name
    "$program" "$1" "nats://127.0.0.1:$port" > >(tee -a "$stage/$1") 2>&1 &
    last=$!
    disown "$last"
    started+=("$last")
}
wants() { # node, line, how often
    local _
    for _ in $(seq 300); do
        [ "$(grep -cFx "$1: $2" "$stage/$1" || true)" -lt "$3" ] || return 0
        sleep 0.1
    done
    failed "$1 has not said: $2"
}

serve
say "a nats-server at 127.0.0.1:$port, and three nodes"
node ann
node bob
bob=$last
wants ann "a waiter is ready" 1 # at bob's
node eve
for who in ann bob eve; do
    for other in ann bob eve; do
        [ "$who" = "$other" ] || wants "$who" "$other says welcome" 1
    done
done
for who in ann bob eve; do wants "$who" "a waiter is ready" 1; done
say "bob is killed"
kill -9 "$bob"
for who in ann eve; do
    wants "$who" "bob is down" 1
    wants "$who" "a host was lost" 1
done
say "bob comes back: the same name, another incarnation"
node bob
for who in ann eve; do
    wants "$who" "bob says welcome" 2
done
wants ann "a waiter is ready" 2
say "eve ends, and says so"
kill -TERM "${started[3]}"
wants ann "eve is down" 1
wants bob "eve is down" 1
say "done"
