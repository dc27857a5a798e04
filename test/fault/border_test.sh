#!/bin/bash
# border_test.sh - functions of a program in C++ that throw, or end their thread, wherever the library
# calls one: the process ends before anything is unwound, with a line that says which actor, class and
# message; what catches above the library never sees it, what catches below it always. g++ and clang++,
# the static and the shared library.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${BUILD:-build}
out=$build/fault/border
release=$build/release
mkdir -p "$out"
ulimit -c 0
read -ra libs <<<"$(pkg-config --libs liburcu-qsbr liburcu-cds ck)"
actors="construct pre_start receive settle post_stop pre_restart post_restart decider block default"
others="destroy defer dead_letter unhandled log log_record alloc free trace priority"
outsiders="outside_destroy outside_letter outside_alloc outside_log outside_log_record outside_trace tag_name clock asked"
passed=0
failed=0

verdict() { # what, output, code, and words that are in it; -word: that is not
    local what=$1 output=$2 code=$3 want=$4 word wrong=
    shift 4
    [ "$code" -eq "$want" ] || wrong="ended with $code, not $want"
    for word in "$@"; do
        case $word in
        -*) grep -qF -e "${word#-}" <<<"$output" && wrong="$wrong; says: ${word#-}" ;;
        *) grep -qF -e "$word" <<<"$output" || wrong="$wrong; does not say: $word" ;;
        esac
    done
    if [ -z "$wrong" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf '%s: %s\n%s\n' "$what" "$wrong" "$output"
    fi
}

try() { # program, where, how, dispatcher, exit, words
    local program=$1 where=$2 how=$3 dispatcher=$4 want=$5 output code
    shift 5
    output=$({ "$program" "$where" "$how" "$dispatcher"; } 2>&1)
    code=$?
    verdict "$program $where $how $dispatcher" "$output" "$code" "$want" -crossed "$@"
}

place() { # the callback's name in the line
    case $1 in decider) echo "the decider" ;; block) echo receive ;; default) echo pre_restart ;; *) echo "$1" ;; esac
}

message() {
    case $1 in receive | block | pre_restart | default) echo "message 7" ;; *) echo "no message" ;; esac
}

whole() { # program: every function, every dispatcher
    local program=$1 where dispatcher line
    for where in $actors; do
        for dispatcher in default pinned blocking host; do
            line="$(place "$where") of /user/it (class thrower, $(message "$where")): the process ends"
            try "$program" "$where" throw $dispatcher 134 "axo: an exception has left $line" \
                "terminate called after throwing" "what was thrown" -unwound
            try "$program" "$where" exit $dispatcher 134 "axo: a thread was ended in $line"
        done
        try "$program" "$where" catch default 0 "caught what was thrown" "unwound" -axo:
    done
    for where in $others; do
        try "$program" "$where" throw default 134 "axo: an exception has left" "what was thrown"
        try "$program" "$where" exit default 134 "axo: a thread was ended in"
        try "$program" "$where" catch default 0 "caught what was thrown" -axo:
    done
    for where in $outsiders; do
        try "$program" "$where" throw default 134 "outside of any actor: the process ends"
        try "$program" "$where" exit default 134 "axo: a thread was ended in a function that the library called"
    done
    try "$program" destroy throw default 134 "of /user/it (class thrower"
    try "$program" task throw default 134 "receive of /system/" "class task"
    try "$program" termination throw default 134 "a function of axo_system_on_termination"
}

sample() { # program: one of each sort
    try "$1" receive throw default 134 "receive of /user/it (class thrower, message 7)"
    try "$1" receive throw host 134 "receive of /user/it (class thrower, message 7)"
    try "$1" receive exit blocking 134 "a thread was ended in receive of /user/it"
    try "$1" outside_destroy throw default 134 "outside of any actor"
    try "$1" receive catch default 0 "caught what was thrown" -axo:
}

for cxx in g++ clang++; do
    flags=(-std=c++17 -Wall -Wextra -Werror -O1 -Iinclude -pthread)
    "$cxx" "${flags[@]}" -o "$out/static-$cxx" test/fault/program/border.cpp "$release/libaxo.a" \
        "${libs[@]}" || exit 1
    "$cxx" "${flags[@]}" -o "$out/shared-$cxx" test/fault/program/border.cpp -L"$release" -laxo \
        -Wl,-rpath,"$PWD/$release" || exit 1
    "$cxx" "${flags[@]}" -o "$out/debug-$cxx" test/fault/program/border.cpp "$build/debug/libaxo.a" \
        "${libs[@]}" || exit 1
done
for cc in gcc clang; do
    flags=(-std=gnu11 -Wall -Wextra -Werror -O1 -Iinclude -pthread -fno-asynchronous-unwind-tables -fno-unwind-tables)
    "$cc" "${flags[@]}" -o "$out/tableless-$cc" test/fault/program/tableless.c "$release/libaxo.a" "${libs[@]}" || exit 1
    for dispatcher in 0 1 2 3; do
        for block in "" block; do
            output=$({ "$out/tableless-$cc" $dispatcher $block; } 2>&1)
            verdict "$out/tableless-$cc $dispatcher $block" "$output" $? 134 \
                "axo: a thread was ended in receive of /user/it (class ender, message 7): the process ends"
        done
    done
done
whole "$out/static-g++"
whole "$out/shared-clang++"
sample "$out/shared-g++"
sample "$out/static-clang++"
sample "$out/debug-g++"
sample "$out/debug-clang++"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
