#!/bin/bash
# log_cluster.sh - three nodes of log_cluster.c that count, and one that reads, beside a nats-server of
# their own, while they are killed (kill -9) in the middle of the log and started again, the reader too:
# in the end the table is awk's, byte by byte.
#
#   log_cluster.sh PROGRAM MAKE_ACCESS_LOG LINES KILLS [SEED]
set -eu
cd "$(dirname "$0")/../.."
program=$1
maker=$2
lines=$3
kills=$4
RANDOM=${5:-$RANDOM}
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
trap 'echo "log_cluster: line $LINENO has failed, seed $seed"' ERR
failed() {
    echo "log_cluster: $*, seed $seed"
    tail -n 5 "$stage"/*.out 2>/dev/null
    exit 1
}

export LOG_TOKEN=$seed
nats-server -a 127.0.0.1 -p -1 -l "$stage/server" &
started+=($!)
disown $!
"$maker" "$stage/log" --lines "$lines" --seed "$seed" --bad 200 >/dev/null
for _ in $(seq 600); do
    url=$(sed -n 's/.*Listening for client connections on \(.*\)$/\1/p' "$stage/server" 2>/dev/null)
    [ -z "$url" ] || break
    sleep 0.05
done
[ -n "$url" ] || failed "nats-server does not listen"
declare -A process=()
node() { # name
    if [ "$1" = reader ]; then
        "$program" read ann,bob,eve "$stage/log" "$stage/table" "nats://$url" 2048 >>"$stage/reader.out" 2>&1 &
    else
        "$program" count "$1" "$stage/$1" "nats://$url" >>"$stage/$1.out" 2>&1 &
    fi
    process[$1]=$!
    started+=($!)
    disown $!
}
at() { # how many batches the reader knows to be counted
    sed -n 's/^batches: counted \([0-9]*\) .*/\1/p' "$stage/reader.out" | sort -n | tail -n 1
}
end() { # process: its store is free when it is gone
    kill -9 "$1"
    while kill -0 "$1" 2>/dev/null; do sleep 0.01; done
}
for name in ann bob eve reader; do node "$name"; done

# Each time when another part of the log is counted: no kill comes before the work or behind it.
batches=$((($(stat -c %s "$stage/log") + 2047) / 2048))
names=(ann reader bob eve reader bob)
done=0
while [ "$done" -lt "$kills" ]; do
    for _ in $(seq 1200); do
        now=$(at)
        [ "${now:-0}" -lt $((batches * (done + 1) / (kills + 1))) ] || break
        kill -0 "${process[reader]}" 2>/dev/null || break
        sleep 0.05
    done
    kill -0 "${process[reader]}" 2>/dev/null || break # it was faster
    name=${names[done % 6]}
    end "${process[$name]}"
    # The first time eve sleeps, too: answers come too late, and their batches again.
    [ "$done" -gt 0 ] || kill -STOP "${process[eve]}"
    sleep "$(((done + 1) % 2 * 2)).$((3 + RANDOM % 7))" # longer than a feeder waits, or not
    [ "$done" -gt 0 ] || kill -CONT "${process[eve]}"
    done=$((done + 1))
    node "$name"
done
for _ in $(seq 1200); do
    kill -0 "${process[reader]}" 2>/dev/null || break
    sleep 0.05
done
kill -0 "${process[reader]}" 2>/dev/null && failed "the reader has not ended"
[ "$done" -ge 2 ] || failed "the log is too short: $done kills"
[ -s "$stage/table" ] || failed "there is no table"

for name in ann bob eve; do kill -TERM "${process[$name]}"; done
for name in ann bob eve; do while kill -0 "${process[$name]}" 2>/dev/null; do sleep 0.01; done; done
! grep -h "Sanitizer" "$stage"/*.out || failed "a sanitizer's report"

LC_ALL=C awk -v bad="$stage/bad" -f test/example/access_check.awk "$stage/log" | sort -n >"$stage/wanted"
cmp "$stage/table" "$stage/wanted" || failed "the table is not awk's"
malformed=$(sed -n 's/^lines: parsed [0-9]* malformed //p' "$stage/reader.out" | tail -n 1)
[ "$malformed" = "$(wc -l <"$stage/bad")" ] || failed "$malformed lines are malformed, for awk $(wc -l <"$stage/bad")"
again=$(sed -n 's/.*asked again //p' "$stage/reader.out" | sort -n | tail -n 1)
[ "$again" -gt 0 ] || failed "nothing was asked again: no counter was killed under load"
echo "log_cluster: $batches batches, $done kills, $again questions again, $malformed malformed lines; the table is awk's"
