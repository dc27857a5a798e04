#!/bin/bash
# cluster_run_test.sh - what `make run-cluster` shows: test/example/cluster.sh, which looks for each
# line that the nodes have to say.
set -eu
cd "$(dirname "$0")/../.."
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
if [ ! -e /usr/include/nats/nats.h ]; then
    echo "left out: libnats is not there; Debian's libnats-dev"
    exit 0
fi
program=${BUILD:-build}/debug/test/example/cluster
make --no-print-directory VARIANT=debug BUILD="${BUILD:-build}" "$program" >"$stage/log" 2>&1 ||
    { cat "$stage/log"; exit 1; }
timeout 120 test/example/cluster.sh "$program"
