#!/bin/bash
# forms_test.sh - a program's use of every public macro and inline function compiles without a
# warning, in each standard, with gcc and clang, and does what it does in C; every struct is laid
# out as in C. What is promised is in include/axo/init.h.
set -eu
cd "$(dirname "$0")/../.."
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
unset MAKEFLAGS MFLAGS MAKELEVEL

tools/check_structs.py --forms >"$stage/forms.inc"
# What is a macro with arguments or an inline function is in the forms; AXO_*_ENUM and the lists make
# the headers' own enums.
names=$(sed -nE 's/^#define (AXO_[A-Z_]+)\(.*/\1/p; s/^static inline .*\b(axo_[a-z_]+)\(.*/\1/p' \
    include/axo/*.h | grep -vE '_ENUM$|_LIST$|^AXO_(PRINTF|INIT|VALUE)$' | sort -u)
[ -n "$names" ]
for name in $names; do
    pair=$(tr '[:lower:]' '[:upper:]' <<<"${name%_init}")
    grep -qw "$name" test/api/forms*.c* test/api/forms*.h || grep -q "\b$pair)" "$stage/forms.inc" ||
        { echo "no form of $name"; exit 1; }
done

make --no-print-directory VARIANT=release BUILD="${BUILD:-build}" CC="${CC:-cc}" \
    "${BUILD:-build}/release/libaxo.a" >"$stage/log" 2>&1 || { cat "$stage/log"; exit 1; }

warnings="-Wall -Wextra -Wpedantic -Werror -Wconversion -Wsign-conversion -Wshadow -Wundef"
warnings+=" -Wcast-qual -Wcast-align"
export C="$warnings -Wstrict-prototypes -Wmissing-prototypes"
export CXX="$warnings -Wold-style-cast -Wzero-as-null-pointer-constant -Wmissing-declarations"
export COMMON="-O1 -Iinclude -Itest/api -I$stage" STAGE=$stage
read -ra libs < <(pkg-config --libs liburcu-qsbr liburcu-cds ck)

# compiler, standard
compile() {
    # shellcheck disable=SC2086 # words
    case $1$2 in
    *c++*) $1 -std="$2" $CXX ${3:-} $COMMON -c test/api/forms.cpp -o "$STAGE/$1-$2.o" ;;
    *) $1 -std="$2" $C $COMMON -c test/api/forms.c -o "$STAGE/$1-$2.o" ;;
    esac || { echo "$1 $2: not without a warning"; return 1; }
}
export -f compile
compilers="gcc g++"
if command -v clang++ >/dev/null; then
    compilers+=" clang clang++"
else
    echo "no clang++ here: gcc only"
fi
# clang warns of fields that are not named from 18 on.
newest=$(compgen -c clang++- | grep -xE 'clang\+\+-[0-9]+' | sort -uV | tail -n 1 || true)
if [ "${newest#clang++-}" -gt 17 ] 2>/dev/null; then
    compilers+=" clang-${newest#clang++-} $newest"
fi
for compiler in $compilers; do
    case $compiler in
    g++) printf "$compiler c++%s -Wuseless-cast\n" 11 14 17 20 ;;
    *++*) printf "$compiler c++%s\n" 11 14 17 20 ;;
    *) printf "$compiler c%s\n" 11 17 ;;
    esac
done | xargs -P2 -L1 bash -c 'compile "$@"' compile

ran=0
for object in "$stage"/*-c++*.o; do
    name=$(basename "$object" .o)
    compiler=${name%-c++*}
    c=${compiler/clang++/clang}
    c=${c/#g++/gcc}
    case $name in *11 | *14) c+="-c11.o" ;; *) c+="-c17.o" ;; esac
    "$compiler" "$object" "$stage/$c" "${BUILD:-build}/release/libaxo.a" "${libs[@]}" -pthread \
        -o "$stage/program"
    "$stage/program" >"$stage/log" 2>&1 || { echo "$name:"; cat "$stage/log"; exit 1; }
    ran=$((ran + 1))
done
echo "$ran programs"
[ "$ran" -ge 4 ]
