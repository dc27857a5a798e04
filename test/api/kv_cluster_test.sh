#!/bin/bash
# kv_cluster_test.sh - test/example/kv_cluster.c's nodes killed under load: test/example/kv_cluster.sh,
# for some seconds. KV_VARIANT=asan: of another build.
set -eu
cd "$(dirname "$0")/../.."
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
if [ ! -e /usr/include/nats/nats.h ] || [ ! -e /usr/include/lmdb.h ]; then
    echo "left out: libnats or LMDB is not there; Debian's libnats-dev, liblmdb-dev"
    exit 0
fi
variant=${KV_VARIANT:-debug}
built=${BUILD:-build}/$variant/test
make --no-print-directory VARIANT="$variant" BUILD="${BUILD:-build}" "$built/example/kv_cluster" \
    "$built/fault/preload/slow_disk.so" >"$stage/log" 2>&1 ||
    { cat "$stage/log"; exit 1; }
timeout 120 test/example/kv_cluster.sh "$built/example/kv_cluster" 8 "$built/fault/preload/slow_disk.so"
