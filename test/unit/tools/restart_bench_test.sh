#!/bin/bash
# restart_bench_test.sh - axo-restart-bench as its users see it: restart_bench_test.py says what.
set -eu
cd "$(dirname "$0")/../../.."
exec python3 test/unit/tools/restart_bench_test.py "${BUILD:-build}/debug/tools/axo-restart-bench"
