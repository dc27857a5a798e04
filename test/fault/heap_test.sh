#!/bin/bash
# heap_test.sh - all memory of a system comes from the program's allocator, but for what system.h names:
# a program with an arena of its own, with an installed axo, below which each block that is taken from
# the C library's heap is written down (preload/heap.c). And frames that have warmed up ask neither.
set -eu
cd "$(dirname "$0")/../.."
build=${BUILD:-build}
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
unset MAKEFLAGS MFLAGS MAKELEVEL
make --no-print-directory VARIANT=release BUILD="$build" CC="${CC:-cc}" DESTDIR="$stage" PREFIX=/usr \
    install >"$stage/log" 2>&1 || { cat "$stage/log"; exit 1; }
export PKG_CONFIG_PATH=$stage/usr/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$stage
flags="-std=c11 -D_GNU_SOURCE -Wall -Wextra -Wshadow -Wconversion -Werror -O2 -g -pthread"
# shellcheck disable=SC2086 # words
"${CC:-cc}" $flags -fPIC -fvisibility=hidden -U_FORTIFY_SOURCE -shared test/fault/preload/heap.c \
    -o "$stage/heap.so" -ldl
# shellcheck disable=SC2046,SC2086
"${CC:-cc}" $flags test/fault/preload/heap_world.c $(pkg-config --cflags --libs axo) \
    -o "$stage/heap_world"

world() { # mode
    LD_LIBRARY_PATH=$stage/usr/lib LD_PRELOAD=$stage/heap.so timeout 200 "$stage/heap_world" "$1" \
        >"$stage/out" 2>"$stage/err" || { echo "$1: exit code $?"; cat "$stage/out" "$stage/err"; exit 1; }
}
said() { # what: the line's two numbers
    sed -n "s/^$1: \([0-9]*\) blocks of the arena, \([0-9]*\) of the heap\$/\1 \2/p" "$stage/out"
}
failed=0
expect() { # mode, what, is, most
    if [ "$3" -gt "$4" ]; then
        echo "$1: $2: $3, and $4 at most"
        cat "$stage/err"
        failed=1
    fi
}

# ---- what is taken from the heap is what the C library keeps of a thread that is started
for mode in own manual lent; do
    world $mode
    read -r arena heap <<<"$(said life)"
    [ "$arena" -gt 100 ] || { echo "$mode: the arena was asked $arena times"; exit 1; }
    others=$(grep -vc ' _dl_allocate_tls .* pthread_create ' "$stage/err" || true)
    expect $mode "blocks of the heap that no thread's begin has taken" "$others" 0
    [ "$heap" = "$(grep -c '^heap: ' "$stage/err" || true)" ] || { echo "$mode: $heap lines"; exit 1; }
    if [ $mode = own ]; then
        [ "$heap" -gt 0 ] || { echo "own: no block of a thread is seen"; exit 1; }
    else
        expect $mode "blocks of the heap, without threads" "$heap" 0
    fi
# ---- frames: but for what a thread's pool needs that comes to another processor, or lags behind
    read -r arena heap <<<"$(said '1000 frames')"
    expect $mode "blocks of the heap in 1000 frames" "$heap" 0
    [ $mode = manual ] && most=20 || most=150
    expect $mode "blocks of the arena in 1000 frames" "$arena" $most
    echo "$mode: $arena blocks in 1000 frames"
done
exit $failed
