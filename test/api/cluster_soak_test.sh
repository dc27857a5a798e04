#!/bin/bash
# cluster_soak_test.sh - the checker of `make soak-cluster` refuses each planted breach; then a quarter of a
# minute of it: test/schedules/nodes.
set -eu
cd "$(dirname "$0")/../.."
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
python3 test/schedules/nodes/check.py --self-test
if [ ! -e /usr/include/nats/nats.h ]; then
    echo "left out: libnats is not there; Debian's libnats-dev"
    exit 0
fi
node=${BUILD:-build}/debug/test/schedules/nodes/node
make --no-print-directory VARIANT=debug BUILD="${BUILD:-build}" "$node" >"$stage/log" 2>&1 || { cat "$stage/log"; exit 1; }
exec timeout 170 python3 test/schedules/nodes/soak.py "$node" --seconds 15 --runs 1 --seed 1
