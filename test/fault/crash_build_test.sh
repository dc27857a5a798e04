#!/bin/bash
# crash_build_test.sh - crashes in programs that are built in other ways than the tests: with the shared
# library all is as with the static one; with a static libc, with the library in one file, with a sanitizer
# in the program alone a system that is to contain them does not start, and others do.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${BUILD:-build}
out=$build/fault/crash
release=$build/release
mkdir -p "$out"
ulimit -c 0
read -ra libs <<<"$(pkg-config --libs liburcu-qsbr liburcu-cds ck)"
read -ra static_libs <<<"$(pkg-config --static --libs liburcu-qsbr liburcu-cds ck)"
program=test/fault/program/contain.c
flags=(-std=gnu11 -Wall -Wextra -Werror -O1 -g -Iinclude -pthread)
passed=0
failed=0

verdict() { # what, output, code, the code that is wanted, its lines
    local what=$1 output=$2 code=$3 want=$4 text
    shift 4
    text=$(printf '%s\n' "$@")
    if [ "$code" -eq "$want" ] && [ "$output" = "$text" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf '%s: ended with %s, not %s, and says\n%s\nnot\n%s\n' "$what" "$code" "$want" "$output" "$text"
    fi
}
say() { # name: what it says without arguments
    local output
    output=$({ "$out/$1"; } 2>&1)
    verdict "$1" "$output" $? 0 "contain: $2" "AXO_OK, instance 1"
}
says() { # the same, but for its end and what a sanitizer reports that does not see what the library's code does
    verdict "$1" "$("$out/$1" 2>/dev/null)" 0 0 "contain: $2" "AXO_OK, instance 1"
}
crash() { # name
    local output
    output=$({ "$out/$1" crash; } 2>&1)
    verdict "$1 crash" "$output" $? 0 "AXO_OK, instance 2"
}
make_it() { # name, compiler and arguments
    local name=$1
    shift
    "$@" "${flags[@]}" -o "$out/$name" || { echo "$name is not built"; failed=$((failed + 1)); return 1; }
}

# ---- the tests of the static library, on the shared one: that of a release
for test in crash_test crash_life_test crash_context_test crash_limit_test crash_robust_test crash_step_test \
    crash_lockcount_test; do
    more=()
    [ $test != crash_lockcount_test ] || more=("$release/axo-lockcount.o")
    gcc -o "$out/$test" "$build/debug/obj/test/fault/$test.o" "${more[@]}" "$build/debug/libsupport.a" \
        -L"$release" -laxo -Wl,-rpath,"$PWD/$release" "${libs[@]}" -pthread -lm -lcmocka || exit 1
    readelf -dW "$out/$test" | grep -q 'NEEDED.*libaxo\.so' || exit 1
    output=$("$out/$test" 2>&1)
    code=$?
    if [ $code -eq 0 ] && grep -q '^\[  PASSED  \] [1-9]' <<<"$output"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf '%s ends with %s:\n%s\n' "$test" $code "$output"
    fi
done

# ---- programs: as usual, and optimized by clang
make_it shared gcc "$program" -L"$release" -laxo -Wl,-rpath,"$PWD/$release" && say shared AXO_OK && crash shared
make_it plugin.so gcc -shared -fPIC "$program" -L"$release" -laxo -Wl,-rpath,"$PWD/$release" &&
    make_it plugins gcc -DCONTAIN_PLUGINS "$program" -L"$release" -laxo -Wl,-rpath,"$PWD/$release" &&
    verdict plugin "$("$out/plugins" plugin "$out/plugin.so" 2>&1)" 0 0 "AXO_OK, instance 2"
make_it plain gcc "$program" "$release/libaxo.a" "${libs[@]}" && say plain AXO_OK && crash plain
make_it optimized clang "$program" -O3 -flto "$release/libaxo.a" "${libs[@]}" && say optimized AXO_OK && crash optimized
make_it undefined gcc -fsanitize=undefined "$program" "$release/libaxo.a" "${libs[@]}" && say undefined AXO_OK &&
    crash undefined

# ---- a libc that cannot be told from the program
make_it static gcc -static "$program" "$release/libaxo.a" "${static_libs[@]}" && say static AXO_ENOTSUP
make_it static-pie gcc -static-pie -fPIE "$program" "$release/libaxo.a" "${static_libs[@]}" && say static-pie AXO_ENOTSUP

# ---- a sanitizer that wants to report, in the program only
make_it address gcc -fsanitize=address "$program" "$release/libaxo.a" "${libs[@]}" && say address AXO_ENOTSUP
make_it address-shared gcc -fsanitize=address "$program" -L"$release" -laxo -Wl,-rpath,"$PWD/$release" &&
    say address-shared AXO_ENOTSUP
make_it address-clang clang -fsanitize=address "$program" "$release/libaxo.a" "${libs[@]}" && say address-clang AXO_ENOTSUP
make_it thread gcc -fsanitize=thread "$program" "$release/libaxo.a" "${libs[@]}" && says thread AXO_ENOTSUP

# ---- one file, whose code no linker tells from the program's
python3 tools/doc/amalgamate.py "$out/one" &&
    gcc -c -O0 -pthread $(pkg-config --cflags liburcu-qsbr ck) "$out/one/axo.c" -o "$out/one/axo.o" || exit 1
make_it one-file gcc "$program" "$out/one/axo.o" "${libs[@]}" && say one-file AXO_ENOTSUP

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
