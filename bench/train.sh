#!/bin/bash
# train.sh - what a library built with PGO=1 is trained by: bench/train.sh FOLDER of the programs
#
# The workloads of README.md in small, on one worker, so that one training is like the next.
set -eu
cd "$1"
one="--workers 1 --repeats 1 --cold"
for run in \
    "w1_pingpong --pairs 1 --messages 300000" "w1_pingpong --pairs 1000 --messages 300000" \
    "w3_ring --actors 100 --tokens 1 --hops 300000" "w3_ring --actors 1000 --tokens 100 --hops 300000" \
    "w4_fanin --credits 0 --messages 50000" "w4_fanin --credits 256 --messages 50000" \
    "w5_skynet --leaves 10000" "w6_spawn --actors 50000" "w8_whole --restarts 30000" \
    "w18_actors --actors 100 --messages 50000 --churn 1000 --restarts 30000" \
    "w9_children --rounds 20" "w10_big --messages 300000" "w12_foreign --sends 30000 --stamps 1000 --wakes 50" \
    "w13_timers --timers 30000" "w14_bounded --messages 10000" \
    "w15_ask --actor-asks 10000 --thread-asks 1000" "w16_router --messages 30000"; do
    echo "$run" >&2
    # shellcheck disable=SC2086
    ./${run%% *} ${run#* } $one >/dev/null
done
