#!/bin/bash
# hpp_test.sh - the tests of axo.hpp compile without a warning and pass: g++ and clang++, C++17 and C++20,
# with sanitizers, without RTTI, without exceptions; where an exception cannot be a failure the process
# ends with a line. ALL=1: each program in each way, which takes a minute.
set -u
cd "$(dirname "$0")/../.." || exit 1
export BUILD=${BUILD:-build}
STAGE=$(mktemp -d)
export STAGE
trap 'rm -rf "$STAGE"' EXIT
unset MAKEFLAGS MFLAGS MAKELEVEL
ulimit -c 0
make --no-print-directory VARIANT=release CC="${CC:-cc}" "$BUILD/release/libaxo.a" \
    >"$STAGE/log" 2>&1 || { cat "$STAGE/log"; exit 1; }
WARN="-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wold-style-cast -Wundef"
WARN+=" -Wcast-qual -Wcast-align -Wzero-as-null-pointer-constant -Wnon-virtual-dtor -Werror"
export WARN
LIBS=$(pkg-config --libs liburcu-qsbr liburcu-cds ck)
export LIBS

# compiler, source, name, flags: compiles it, and runs it unless it is the one that ends
try() {
    local compiler=$1 source=$2 name=$STAGE/$1-$2-$3 code=0
    shift 3
    # shellcheck disable=SC2086 # words
    "$compiler" $WARN "$@" -g -Iinclude "test/api/$source.cpp" "$BUILD/release/libaxo.a" $LIBS \
        -pthread -o "$name" || { echo "$compiler $* $source: does not compile"; return 1; }
    [ "$source" != hpp_end ] || return 0
    ASAN_OPTIONS=detect_leaks=1 timeout 60 "$name" >"$name.log" 2>&1 || code=$?
    [ "$code" -eq 0 ] && return
    echo "$compiler $* $source: ends with $code"
    tail -n 30 "$name.log"
    return 1
}
export -f try

sanitize="-fsanitize=address,undefined -fno-sanitize-recover=all"
compilers="g++"
if command -v clang++ >/dev/null; then
    compilers+=" clang++"
else
    echo "no clang++ here: g++ only"
fi
# What is left out here `make test` has done: it builds both as C++17 with g++.
ways() {
    local compiler source
    if [ -z "${ALL:-}" ] && [[ $compilers == *clang* ]]; then
        echo "clang++ hpp_life_test asan -std=c++17 -O1 $sanitize"
        echo "clang++ hpp_message_test 20 -std=c++20 -O1"
        echo "clang++ hpp_crash_test 20 -std=c++20 -O2"
        echo "g++ hpp_message_test none -std=c++20 -O1 -fno-rtti -fno-exceptions"
    else
        for compiler in $compilers; do
            for source in hpp_life_test hpp_message_test; do
                echo "$compiler $source 17 -std=c++17 -O1"
                echo "$compiler $source 20 -std=c++20 -O2"
                echo "$compiler $source asan -std=c++17 -O1 $sanitize"
                echo "$compiler $source asan20 -std=c++20 -O1 $sanitize"
            done
            echo "$compiler hpp_crash_test 17 -std=c++17 -O0"
            echo "$compiler hpp_crash_test 20 -std=c++20 -O2"
            echo "$compiler hpp_crash_test none -std=c++17 -O1 -fno-rtti -fno-exceptions"
            echo "$compiler hpp_life_test rtti -std=c++17 -O0 -fno-rtti"
            echo "$compiler hpp_message_test none -std=c++17 -O1 -fno-rtti -fno-exceptions"
            echo "$compiler hpp_message_test none20 -std=c++20 -O1 -fno-rtti -fno-exceptions"
        done
    fi
    for compiler in $compilers; do
        echo "$compiler hpp_end end -std=c++17 -O0"
    done
}
ways | xargs -P2 -L1 bash -c 'try "$@"' try || exit 1

failed=0
ends() { # program, where, words of its line
    local said code=0 words
    said=$("$1" "$2" 2>&1) || code=$?
    for words in "${@:3}"; do
        grep -qF -- "$words" <<<"$said" && [ "$code" -eq 134 ] && ! grep -q crossed <<<"$said" ||
            { echo "$1 $2: ends with $code: $said"; failed=1; }
    done
}
for compiler in $compilers; do
    program=$STAGE/$compiler-hpp_end-end
    for where in defer payload destructor; do
        ends "$program" $where "axo: an exception has left" "of /user/it (class thrower, " \
            "what was thrown" "the process ends"
    done
    ends "$program" exit "axo: a thread was ended in receive of /user/it (class thrower, message 7)"
    ends "$program" own "axo: a system is destroyed where it cannot end: " "the process ends"
done
[ "$failed" -eq 0 ] && echo "$compilers: all"
