#!/bin/bash
# log_cluster_test.sh - test/example/log_cluster.c's nodes killed in the middle of a log:
# test/example/log_cluster.sh. LOG_VARIANT=asan: of another build.
set -eu
cd "$(dirname "$0")/../.."
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
if [ ! -e /usr/include/nats/nats.h ] || [ ! -e /usr/include/lmdb.h ]; then
    echo "left out: libnats or LMDB is not there; Debian's libnats-dev, liblmdb-dev"
    exit 0
fi
variant=${LOG_VARIANT:-debug}
programs=${BUILD:-build}/$variant/test/example
make --no-print-directory VARIANT="$variant" BUILD="${BUILD:-build}" "$programs/log_cluster" \
    "$programs/make_access_log" >"$stage/log" 2>&1 ||
    { cat "$stage/log"; exit 1; }
timeout 120 test/example/log_cluster.sh "$programs/log_cluster" "$programs/make_access_log" 150000 4
