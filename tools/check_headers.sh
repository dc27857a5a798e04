#!/bin/bash
# check_headers.sh - every header compiles alone, and twice.
#
#   tools/check_headers.sh [root]
#
# Public headers as C11 and C++11 with gcc and clang, those of C++ as C++17 and C++20, also without
# exceptions, private ones as C11 with gcc.
set -u
cd "${1:-$(dirname "$0")/..}" || exit 1
read -ra packages < <(pkg-config --cflags liburcu-qsbr liburcu-cds ck | sed 's/-I/-isystem /g')
export PACKAGES="${packages[*]}"
warnings="-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wundef -Werror"
export C_FLAGS="-std=c11 $warnings -Wstrict-prototypes"
export CXX_FLAGS="-std=c++11 $warnings -Wold-style-cast -Wzero-as-null-pointer-constant"

# compiler, language, header
check_one() {
    local flags=$CXX_FLAGS
    case $2 in
    c) flags=$C_FLAGS ;;
    c++17 | c++20) flags="${flags/c++11/$2} -Wcast-qual -Wcast-align ${*:4}" ;;
    esac
    local paths="-Iinclude"
    case $3 in runtime/*) paths="-Iinclude -Iruntime -D_GNU_SOURCE -DAXO_DEBUG=1 $PACKAGES" ;; esac
    # A unit that has nothing but includes is empty, which pedantic C refuses.
    # shellcheck disable=SC2086
    printf '#include "%s"\n#include "%s"\nextern int header_is_read;\n' "$PWD/$3" "$PWD/$3" |
        $1 -fsyntax-only $flags $paths -x "${2%%[0-9]*}" - || {
        echo "$3: does not compile alone with $1"
        return 1
    }
}
export -f check_one

{
    for header in include/axo/*.h; do
        printf '%s\n' "gcc c $header" "g++ c++ $header"
        if command -v clang >/dev/null; then
            printf '%s\n' "clang c $header" "clang++ c++ $header"
        fi
    done
    for header in include/axo/*.hpp; do
        [ -e "$header" ] || continue
        printf '%s\n' "g++ c++17 $header"
        if command -v clang++ >/dev/null; then
            printf '%s\n' "clang++ c++20 $header" "clang++ c++17 $header -fno-exceptions -fno-rtti"
        fi
    done
    for header in runtime/*/*.h; do
        [ -e "$header" ] && printf '%s\n' "gcc c $header"
    done
} | xargs -P2 -L1 bash -c 'check_one "$@"' check || exit 1
