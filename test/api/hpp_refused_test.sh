#!/bin/bash
# hpp_refused_test.sh - what axo.hpp must not compile does not compile, and the compiler says why, in the
# words behind each CASE of hpp_refused.cpp. CASE 0 compiles.
set -u
cd "$(dirname "$0")/../.." || exit 1
source=test/api/hpp_refused.cpp
STAGE=$(mktemp -d)
export STAGE
trap 'rm -rf "$STAGE"' EXIT
export FLAGS="-Wall -Wextra -Wpedantic -Iinclude"

try() { # compiler, standard, case, words
    local said code=0
    # shellcheck disable=SC2086 # words
    said=$("$1" -std="$2" -fsyntax-only $FLAGS -Werror -DCASE="$3" -include "$STAGE/$1-$2.h" \
        test/api/hpp_refused.cpp 2>&1) || code=$?
    if [ "$3" -eq 0 ]; then
        [ "$code" -eq 0 ] && return
    elif [ "$code" -eq 1 ] && grep -qF -- "$4" <<<"$said"; then
        return
    fi
    echo "$1 $2: case $3 ends with $code, and does not say: $4"
    head -n 20 <<<"$said"
    return 1
}
export -f try

compilers="g++"
if command -v clang++ >/dev/null; then
    compilers+=" clang++"
fi
cases=$(sed -nE 's/^#(el)?if CASE == ([0-9]+) \/\/ (.*)$/\2 \3/p' "$source")
count=$(wc -l <<<"$cases")
[ "$count" -gt 20 ] && [ "$count" -eq "$(grep -c 'CASE ==' "$source")" ] ||
    { echo "$source: $count cases were read"; exit 1; }
# The headers are read once, and not for each case.
ready() { # compiler, standard
    grep '^#include' "$source" >"$STAGE/$1-$2.h"
    # shellcheck disable=SC2086 # words
    "$1" -std="$2" $FLAGS -x c++-header "$STAGE/$1-$2.h" -o "$STAGE/$1-$2.h.$3"
}
ready g++ c++17 gch || exit 1
: >"$STAGE/g++-c++20.h"
[[ $compilers != *clang* ]] || ready clang++ c++20 pch || exit 1

# With two compilers each takes every other case: a case has one of them, and both have half.
while read -r number words; do
    case $number,$compilers in
    0,*) printf '%s\0' g++ c++20 0 "$words" g++ c++17 0 "$words" ;;
    *[13579],*clang*) printf '%s\0' clang++ c++20 "$number" "$words" ;;
    *) printf '%s\0' g++ c++17 "$number" "$words" ;;
    esac
done <<<"$cases" | xargs -0 -P2 -n4 bash -c 'try "$@"' try || exit 1
echo "$count cases, $compilers"
