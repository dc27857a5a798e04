#!/bin/bash
# kv_cluster.sh - three nodes of kv_cluster.c beside a nats-server of their own, under load, while one
# after the other is killed (kill -9) and started again: what was acknowledged is there, and nothing else
# is (kv_cluster_clients.py). The disk of one of them is slow (test/fault/preload/slow_disk.c): a kill
# mostly comes while something is being written.
#
#   kv_cluster.sh PROGRAM SECONDS SLOW_DISK_SO [SEED]
set -eu
cd "$(dirname "$0")/../.."
program=$1
time=$2
preload=$(realpath "$3")
RANDOM=${4:-$RANDOM}
seed=$RANDOM
PATH=$PATH:/usr/sbin
if [ ! -x "$program" ] || ! command -v nats-server >/dev/null; then
    echo "left out: nats-server, libnats or LMDB is not there; Debian's nats-server, libnats-dev, liblmdb-dev"
    exit 0
fi
stage=$(mktemp -d)
started=()
finish() {
    local id
    for id in "${started[@]}"; do kill -9 "$id" 2>/dev/null || true; done
    rm -rf "$stage"
}
trap finish EXIT
trap 'echo "kv_cluster: line $LINENO has failed, seed $seed"' ERR
failed() {
    echo "kv_cluster: $*, seed $seed"
    tail -n 5 "$stage"/*.out "$stage"/clients 2>/dev/null
    exit 1
}
wants() { # file, pattern: sets $found to what the pattern's group is
    local _
    for _ in $(seq 600); do
        found=$(sed -n "s/$2/\1/p" "$1" 2>/dev/null | tail -n 1)
        [ -z "$found" ] || return 0
        sleep 0.05
    done
    failed "$(basename "$1") does not say $2"
}

export KV_TOKEN=$seed
nats-server -a 127.0.0.1 -p -1 -l "$stage/server" &
started+=($!)
disown $!
wants "$stage/server" '.*Listening for client connections on \(.*\)$'
url=nats://$found
declare -A process=()
node() { # name
    local slow=()
    if [ -e "$stage/$1.out" ]; then # of its last life, which had another port
        cat "$stage/$1.out" >>"$stage/before.out"
        rm "$stage/$1.out"
    fi
    [ "$1" != bob ] || slow=(env "LD_PRELOAD=$preload" AXO_SLOW_DISK=10
        "ASAN_OPTIONS=verify_asan_link_order=0:${ASAN_OPTIONS:-}")
    "${slow[@]}" "$program" "$1" ann,bob,eve "$stage/$1" "$url" 0 >"$stage/$1.out" 2>&1 &
    process[$1]=$!
    started+=($!)
    disown $!
    wants "$stage/$1.out" '^listening at 127.0.0.1:\(.*\)$'
    echo "$found" >"$stage/new.$1"
    mv "$stage/new.$1" "$stage/$1.port"
}
end() { # process: its store is free when it is gone
    kill -9 "$1"
    while kill -0 "$1" 2>/dev/null; do sleep 0.01; done
}
names=(ann bob eve)
for name in "${names[@]}"; do node "$name"; done
python3 test/example/kv_cluster_clients.py "$stage" --threads 4 --seed "$seed" >"$stage/clients" 2>&1 &
clients=$!
started+=("$clients")

begin=$SECONDS
victims=(bob ann bob eve)
kills=0
while [ $((SECONDS - begin)) -lt "$time" ] || [ "$kills" -lt 4 ]; do
    sleep "$((RANDOM % 2)).$((RANDOM % 10))"
    kill -0 "$clients" 2>/dev/null || failed "a client's complaint"
    name=${victims[kills % 4]}
    end "${process[$name]}"
    kills=$((kills + 1))
    sleep "$((kills % 2 * 3)).$((RANDOM % 10))" # it is held down, or is back before
    node "$name"
done
sleep 0.5
touch "$stage/quiet"
wait "$clients" || failed "a client's complaint"
for name in "${names[@]}"; do kill -TERM "${process[$name]}"; done
for name in "${names[@]}"; do wants "$stage/$name.out" '^executed \(.*\)$'; done
# What a life that was not killed has taken is answered, or its client had gone.
for name in "${names[@]}"; do
    read -r _ executed _ answered _ refused _ gone < <(tail -n 1 "$stage/$name.out")
    [ "$executed" = $((answered + refused + gone)) ] || failed "$name: the totals do not add up"
done
for name in "${names[@]}"; do while kill -0 "${process[$name]}" 2>/dev/null; do sleep 0.01; done; done
! grep -h "Sanitizer" "$stage"/*.out || failed "a sanitizer's report"
echo "kv_cluster: $kills kills; $(cat "$stage/clients")"
