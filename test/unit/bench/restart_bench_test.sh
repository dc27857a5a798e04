#!/bin/bash
# restart_bench_test.sh - axo-restart-bench as its users see it: restart_bench_test.py says what.
set -eu
cd "$(dirname "$0")/../../.."
exec python3 test/unit/bench/restart_bench_test.py "${BUILD:-build}/debug/bench/axo-restart-bench"
