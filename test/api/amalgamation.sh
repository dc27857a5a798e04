#!/bin/bash
# amalgamation.sh - axo.c and axo.h alone are the library: make amalgamation-test.
#
#   test/api/amalgamation.sh build/amalgamation build/release test...
#
# They lie in an empty folder, away from include/ and runtime/. axo.c compiles as C11 with every
# warning of the build as an error, by gcc and by clang; axo.h alone as C and as C++. The object
# exports what the golden list says and needs what the shared library needs. Every example prints
# what it should, with "axo.h" in the place of <axo/...>; each test (a program that is linked with
# libaxo.a) gives the same results when it is linked with the object. WARN, WARN_gcc, WARN_clang
# and LIBS come from the Makefile.
set -eu
made=$(realpath "$1")
release=$(realpath "$2")
shift 2
cd "$(dirname "$0")/../.."
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
cp "$made/axo.c" "$made/axo.h" "$here"
read -ra packages < <(pkg-config --cflags liburcu-qsbr liburcu-cds ck | sed 's/-I/-isystem /g')
read -ra libs <<<"$LIBS"
read -ra common <<<"$WARN"
read -ra gcc_only <<<"$WARN_gcc"
read -ra clang_only <<<"$WARN_clang"
failed=0
wrong() {
    echo "$1"
    failed=$((failed + 1))
}
as() {
    local object=$1
    shift
    (cd "$here" && "$@" -std=c11 -O2 -pthread -fPIC "${common[@]}" "${packages[@]}" -c axo.c -o "$object")
}

as clang.o clang "${clang_only[@]}" &
clang=$!
as axo.o gcc "${gcc_only[@]}" || wrong "gcc does not compile axo.c"
wait "$clang" || wrong "clang does not compile axo.c"
for first in '' '#include <axo/axo.h>' '#include <axo/actor.h>'; do
    for compiler in "gcc -std=c11 -x c" "clang -std=c11 -x c" "g++ -std=c++11 -x c++" \
        "clang++ -std=c++20 -x c++"; do
        # shellcheck disable=SC2086 # a compiler with its options
        printf '%s\n#include "axo.h"\n#include "axo.h"\naxo_ref is_read(void);\n' "$first" >"$here/read.h"
        (cd "$here" && ${compiler} -fsyntax-only -Wall -Wextra -Wpedantic -Werror \
            ${first:+-I"$OLDPWD/include"} - <read.h) || wrong "$compiler: axo.h, ${first:-alone}"
    done
done

names() { nm "$@" | sed 's/@.*//' | awk '{print $NF}' | LC_ALL=C sort -u; }
# The probes' header has a hidden symbol of its own.
diff <(names --defined-only -g "$here/axo.o" | grep -v '^axo__\|^_\.stapsdt\.base$') <(LC_ALL=C sort test/api/symbols.txt) ||
    wrong "axo.o exports other names than test/api/symbols.txt"
names -u "$here/axo.o" | sed 's/^__\(.*\)_chk$/\1/' >"$here/needs"
# pthread_atfork lies in the C library's static part; fwrite is what a compiler makes of fprintf; the
# bounds of the library's sections are weak, and the linker's.
names -D -u "$(find "$release" -maxdepth 1 -name 'libaxo.so.*.*.*[0-9]')" | sed 's/^__\(.*\)_chk$/\1/' |
    cat - <(printf '%s\n' _GLOBAL_OFFSET_TABLE_ __tls_get_addr \
        pthread_atfork fwrite __start_axo_text __stop_axo_text \
        __start_axo_reads __stop_axo_reads) | LC_ALL=C sort -u >"$here/known"
LC_ALL=C comm -23 "$here/needs" "$here/known" >"$here/more"
[ ! -s "$here/more" ] || wrong "axo.o needs what the library does not: $(tr '\n' ' ' <"$here/more")"

ran=0
for expected in test/example/*.expected; do
    name=$(basename "$expected" .expected)
    [ -e "test/example/$name.c" ] || continue # in C++, whose headers are no part of it
    ! grep -q '#include <axo/\(console\|process\|record\|report\|durable\|cluster\|grain\)\.h>' "test/example/$name.c" || continue # nor are these
    ! grep -q '#include "' "test/example/$name.c" || continue # of several files
    mkdir -p "$here/$name"
    sed 's|#include <axo/[a-z_]*\.h>|#include "axo.h"|' "test/example/$name.c" >"$here/$name/$name.c"
    (cd "$here/$name" && gcc -std=c11 -Wall -Wextra -Werror -pthread -I"$here" "$name.c" "$here/axo.o" \
        "${libs[@]}" -o "$name.run") || { wrong "$name does not compile"; continue; }
    status=0
    timeout 30 "$here/$name/$name.run" >"$here/said" 2>&1 || status=$?
    diff -u "$expected" "$here/said" && [ "$status" -eq 0 ] || wrong "$name: exit code $status"
    ran=$((ran + 1))
done

results() { sed -n 's/^\[ *\(OK\|FAILED\|SKIPPED\) *\] \([a-z_0-9]*\).*/\2 \1/p' | LC_ALL=C sort; }
tests=0
for test in "$@"; do
    name=$(basename "$test")
    gcc -pthread "$release/obj/test/api/$name.o" "$release/libsupport.a" "$here/axo.o" "${libs[@]}" -lm -lcmocka \
        -o "$here/$name" || { wrong "$name does not link"; continue; }
    timeout 120 "$test" >"$here/said" 2>&1 || wrong "$name fails with libaxo.a already"
    results <"$here/said" >"$here/$name.archive"
    timeout 120 "$here/$name" >"$here/said" 2>&1 || { wrong "$name fails"; tail -5 "$here/said"; }
    results <"$here/said" >"$here/$name.one"
    diff "$here/$name.archive" "$here/$name.one" || wrong "$name: other results"
    tests=$((tests + $(wc -l <"$here/$name.one")))
done
echo "amalgamation: $ran examples, $tests tests of $# programs, $failed wrong"
[ "$failed" -eq 0 ] && [ "$ran" -gt 10 ] && [ "$tests" -gt 20 ]
