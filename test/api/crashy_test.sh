#!/bin/bash
# crashy_test.sh - test/example/crashy_server.c for ten seconds: test/example/crashy_soak.sh says how.
set -eu
cd "$(dirname "$0")/../.."
program=${BUILD:-build}/debug/test/example/crashy_server
make --no-print-directory VARIANT=debug BUILD="${BUILD:-build}" "$program" >/dev/null
test/example/crashy_soak.sh "$program" 10
echo "1 passed, 0 failed"
