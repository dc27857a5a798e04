#!/bin/bash
# underload.sh - the quick suite again and again on a machine that is busy with other things.
#
#   test/mutant/underload.sh VARIANT REPEAT program...
#
# Beside four busy loops, with four times as many tests at once as there are processors.
set -u
variant=$1 repeat=$2
shift 2
cpus=$(nproc)
busy=()
trap 'kill "${busy[@]}" 2>/dev/null' EXIT
for _ in 1 2 3 4; do
    (while :; do :; done) &
    busy+=($!)
done
failed=0
for ((round = 1; round <= repeat; round++)); do
    if output=$(AXO_TEST_SCALE=4 python3 test/run_tests.py --variant "$variant" \
        --jobs $((4 * cpus)) "$@" 2>&1); then
        echo "round $round of $repeat: $(tail -1 <<<"$output")"
    else
        failed=$((failed + 1))
        echo "round $round of $repeat:"
        grep -v '^  ok ' <<<"$output" | tail -40
    fi
done
echo "bar 28 is $repeat / $failed: rounds of the quick suite under load, those with a failure"
[ "$failed" -eq 0 ]
