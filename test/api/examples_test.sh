#!/bin/bash
# examples_test.sh - each program of test/example that has an .expected is compiled against an
# installed axo, with what pkg-config says and nothing else, and prints what it should. Every public
# header serves C++17.
set -eu
cd "$(dirname "$0")/../.."
root=$PWD
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
unset MAKEFLAGS MFLAGS MAKELEVEL

make --no-print-directory VARIANT=release BUILD="${BUILD:-build}" CC="${CC:-cc}" \
    DESTDIR="$stage" PREFIX=/usr install >"$stage/log" 2>&1 || { cat "$stage/log"; exit 1; }
export PKG_CONFIG_PATH=$stage/usr/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$stage
read -ra cflags <<<"$(pkg-config --cflags axo)"
read -ra libs <<<"$(pkg-config --libs axo)"
strict="-Wall -Wextra -Werror"

ran=0
failed=0
for expected in test/example/*.expected; do
    name=$(basename "$expected" .expected)
    compiler="${CC:-cc} -std=c11"
    source=$root/test/example/$name.c
    if [ ! -e "$source" ]; then
        compiler="${CXX:-c++} -std=c++17"
        source=$root/test/example/$name.cpp
    fi
    beside=()
    if [ "$name" = process ]; then # of a library of its own, which may not be built
        [ -e "$stage/usr/include/axo/process.h" ] || continue
        beside=(-laxo-process)
    fi
    [[ $name != @(flight_recorder|failure_report) ]] || beside=(-laxo-record)
    if [ "$name" = durable ]; then
        [ -e "$stage/usr/include/axo/durable.h" ] || continue
        beside=(-laxo-durable)
    fi
    if [ "$name" = plugin ]; then
        mkdir -p "$stage/brain"
        for version in 1 2; do
            # shellcheck disable=SC2086 # words
            $compiler $strict "${cflags[@]}" -fPIC -shared -DBRAIN_VERSION=$version "$root/test/example/brain/brain.c" \
                -o "$stage/brain/brain$version.so" || failed=$((failed + 1))
        done
    fi
    # shellcheck disable=SC2086 # words
    if ! $compiler $strict "${cflags[@]}" "$source" -o "$stage/$name" "${beside[@]}" "${libs[@]}" \
        >"$stage/log" 2>&1; then
        echo "$name: does not compile"
        cat "$stage/log"
        failed=$((failed + 1))
        continue
    fi
    status=0
    LD_LIBRARY_PATH=$stage/usr/lib timeout 30 "$stage/$name" >"$stage/log" 2>&1 || status=$?
    if [ "$status" -ne 0 ] || ! diff -u "$expected" "$stage/log"; then
        echo "$name: exit code $status"
        failed=$((failed + 1))
    fi
    ran=$((ran + 1))
done
# Servers, which use POSIX, end when they are told to, and other tests drive them.
for name in echo_server kv_server chat metrics crashy_server; do
    # shellcheck disable=SC2086 # words
    ${CC:-cc} -std=gnu11 $strict "${cflags[@]}" "test/example/$name.c" -o "$stage/$name" "${libs[@]}" ||
        { echo "$name: does not compile"; failed=$((failed + 1)); }
done
for name in kv_cluster log_cluster; do # of two libraries of their own, which may not be built
    [ -e "$stage/usr/include/axo/durable.h" ] && [ -e "$stage/usr/include/axo/cluster.h" ] || continue
    # shellcheck disable=SC2086 # words
    ${CC:-cc} -std=gnu11 $strict "${cflags[@]}" "test/example/$name.c" -o "$stage/$name" \
        -laxo-cluster -laxo-durable "${libs[@]}" ||
        { echo "$name: does not compile"; failed=$((failed + 1)); }
done
[ "$failed" -eq 0 ] && [ "$ran" -gt 0 ] || exit 1

# What headers and README name is there, and every example is named in both.
named=$(grep -rhoE 'test/example/[a-z_]+\.c(pp)?' include README.md | sort -u)
for program in $named; do
    [ -e "$program" ] || { echo "named and not there: $program"; exit 1; }
done
for expected in test/example/*.expected; do
    program=${expected%.expected}.c
    [ -e "$program" ] || program+=pp
    for where in include README.md; do
        grep -rqF "$program" $where || { echo "$where does not name $program"; exit 1; }
    done
done

# A header that nobody names would be found by nobody.
for header in include/axo/cpp_*.hpp; do
    grep -q "^#include <axo/$(basename "$header")>$" include/axo/axo.hpp ||
        { echo "axo.hpp does not include $header"; exit 1; }
done
for header in include/axo/*.h include/axo/*.hpp; do
    name=$(basename "$header")
    # That of a library of its own, which may not be built.
    case $name in console.h | process.h | durable.h | durable_nats.h | cluster.h | grain.h) [ -e "$stage/usr/include/axo/$name" ] || continue ;; esac
    echo "#include <axo/$name>"
    case $name in axo.h | console.h | process.h | record.h | report.h | durable.h | durable_nats.h | cluster.h | grain.h | *.hpp) continue ;; esac
    grep -q "^#include <axo/$name>$" include/axo/axo.h ||
        { echo "axo.h does not include $name" >&2; exit 1; }
done >"$stage/all.cpp"
# shellcheck disable=SC2086
"${CXX:-c++}" -std=c++17 $strict "${cflags[@]}" -c "$stage/all.cpp" -o "$stage/all.o"
echo "$ran examples"
