#!/bin/bash
# deps.sh - finds what a target needs and is not there, and installs it on Debian as root.
#
#   tools/deps.sh [target...]     the targets of the Makefile; none: what `all` needs
#
# AXO_DEPS_NO_ROOT=1     behave as without root: print the line to run and fail
# AXO_DEPS_MISSING="a b" take these packages for missing too (for tests)
set -u

missing=()
need_tool() { command -v "$1" >/dev/null 2>&1 || missing+=("$2"); }
need_file() {
    local file
    for file in /usr/include/$1 /usr/include/*-linux-gnu*/$1 /usr/local/include/$1; do
        [ -e "$file" ] && return
    done
    missing+=("$2")
}

compiler() {
    need_tool "${CC:-cc}" build-essential
    need_tool pkg-config pkg-config
    need_file urcu.h liburcu-dev
    need_file ck_ring.h libck-dev
}
testing() {
    need_tool python3 python3
    need_tool c++ build-essential
    need_file cmocka.h libcmocka-dev
}
compiler
for goal in "$@"; do
    case $goal in
    fuzz | fuzz-merge)
        compiler
        need_tool clang clang
        [ -n "$(find /usr/lib/llvm-*/lib/clang -name 'libclang_rt.fuzzer-*' 2>/dev/null)" ] ||
            missing+=("libclang-rt-$(clang -dumpversion 2>/dev/null | sed 's/\..*//;s/^$/14/')-dev")
        ;;
    run) need_tool gnuplot gnuplot-nox ;;
    bench-lines) need_tool python3 python3 ;;
    bench-plot | bench-accept)
        need_tool python3 python3
        need_tool gnuplot gnuplot-nox
        ;;
    bench-test)
        need_tool node nodejs
        need_tool npm npm
        ;;
    lint)
        testing
        need_tool clang clang
        need_tool clang-format clang-format
        need_tool clang-tidy clang-tidy
        ;;
    bench-peers | bench-figures)
        need_tool python3 python3
        need_tool "${CXX:-c++}" build-essential
        need_tool erlc erlang-base
        [ -n "$(find /usr/lib/erlang -name erl_nif.h 2>/dev/null)" ] || missing+=(erlang-dev)
        need_file caf/all.hpp libcaf-dev
        need_tool elixir elixir
        need_tool go golang-go
        ;;
    models | models-large | models-check | models-stamp)
        need_tool python3 python3
        need_tool spin spin
        need_tool tcc tcc
        ;;
    analyse)
        need_tool clang-tidy clang-tidy
        need_tool cppcheck cppcheck
        ;;
    hardening | suppressions) need_tool python3 python3 ;;
    listings | listings-accept)
        need_tool python3 python3
        need_tool aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu
        [ -e /usr/aarch64-linux-gnu/include/stdio.h ] || missing+=(libc6-dev-arm64-cross)
        ;;
    abi | abi-accept) need_tool abidw abigail-tools ;;
    coverage) testing; need_tool gcovr gcovr ;;
    valgrind | seams) testing; need_tool valgrind valgrind ;;
    all | install | bench | bench-growth | bench-restart | amalgamation) ;;
    *) testing ;;
    esac
done
# shellcheck disable=SC2206
missing+=(${AXO_DEPS_MISSING:-})
[ ${#missing[@]} -eq 0 ] && exit 0

mapfile -t missing < <(printf '%s\n' "${missing[@]}" | sort -u)
install="apt-get install -y --no-install-recommends ${missing[*]}"
if [ -n "${AXO_DEPS_NO_ROOT:-}" ] || [ "$(id -u)" != 0 ]; then
    echo "error: missing packages: ${missing[*]}" >&2
    echo "run this as root, then try again:" >&2
    echo "  apt-get update && $install" >&2
    exit 1
fi
if ! command -v apt-get >/dev/null 2>&1; then
    echo "error: missing packages (Debian's names): ${missing[*]}" >&2
    echo "this system has no apt-get; install them its own way, then try again" >&2
    exit 1
fi
echo "installing: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
if ! { apt-get update -q && $install -q; } then
    echo "error: could not install: ${missing[*]}" >&2
    exit 1
fi
