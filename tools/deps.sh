#!/bin/bash
# deps.sh - finds what a goal of the Makefile needs and is not there: Debian packages.
#
#   tools/deps.sh [--install] [goal...]     none: what `all` needs; proof, soak: what their steps need
#
# Without --install, or without root, it prints the one line to run, and fails. With it, it installs;
# while another program holds a lock of the package manager (a fresh machine updates itself), it
# waits, five minutes at most, and says so.
#
# AXO_DEPS_NO_ROOT=1     behave as without root
# AXO_DEPS_MISSING="a b" take these packages for missing too (for tests)
# AXO_DEPS_WAIT_S=300    wait so long for a lock
set -u
cd "$(dirname "$0")/.." || exit 1

missing=()
useful=() # what needs these is left out without them
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
    command -v redis-benchmark >/dev/null 2>&1 || useful+=(redis-tools)
    [ -e /usr/include/http_parser.h ] || useful+=(libhttp-parser-dev)
    [ -e /usr/include/SDL2/SDL.h ] || useful+=(libsdl2-dev)
    command -v curl >/dev/null 2>&1 || useful+=(curl)
    command -v ab >/dev/null 2>&1 || useful+=(apache2-utils)
    command -v wrk >/dev/null 2>&1 || useful+=(wrk)
    command -v gdb >/dev/null 2>&1 || useful+=(gdb)
    command -v tmux >/dev/null 2>&1 || useful+=(tmux)
    console useful
    process useful
    durable useful
    cluster useful
}
cluster() { # missing, useful: libaxo-cluster and -durable-nats are left out without libnats-dev, their tests without a server
    local -n wanted_by_cluster=$1
    [ -e /usr/include/nats/nats.h ] || wanted_by_cluster+=(libnats-dev)
    [ "$1" = missing ] || [ -x /usr/sbin/nats-server ] || command -v nats-server >/dev/null 2>&1 ||
        wanted_by_cluster+=(nats-server)
}
durable() { # missing, useful: libaxo-durable is left out without it
    local -n wanted_by_durable=$1
    [ -e /usr/include/lmdb.h ] || wanted_by_durable+=(liblmdb-dev)
}
process() { # missing, useful: libaxo-process is left out without it
    local -n wanted_by_process=$1
    [ -e /usr/include/seccomp.h ] || wanted_by_process+=(libseccomp-dev)
}
console() { # missing, useful: libaxo-console is left out, or axo-top asks no console, without them
    local -n found=$1
    [ -e /usr/include/microhttpd.h ] || found+=(libmicrohttpd-dev)
    [ -e /usr/include/systemd/sd-daemon.h ] || found+=(libsystemd-dev)
    [ -e /usr/include/jansson.h ] || found+=(libjansson-dev)
    [ -n "$(compgen -G "/usr/include/*curl/curl.h" || compgen -G "/usr/include/*/curl/curl.h")" ] ||
        found+=(libcurl4-openssl-dev)
}
aarch64() {
    need_tool python3 python3
    need_tool aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu
    [ -e /usr/aarch64-linux-gnu/include/stdio.h ] || missing+=(libc6-dev-arm64-cross)
}
debian() {
    need_tool python3 python3
    need_tool dpkg-buildpackage dpkg-dev
    need_tool dh debhelper
    need_tool xz xz-utils
    need_file sys/sdt.h systemtap-sdt-dev
    need_file curses.h libncurses-dev
    console missing
    process missing
    durable missing
    cluster missing
}
seen() {
    need_tool gdb gdb
    need_tool tmux tmux
    need_file curses.h libncurses-dev
    need_tool readelf binutils
    need_file sys/sdt.h systemtap-sdt-dev
    console useful
    # A browser is large, and its driver brings it along: left out without.
    command -v chromedriver >/dev/null 2>&1 || useful+=(chromium-driver)
}

may_install=
if [ "${1:-}" = --install ]; then
    may_install=1
    shift
fi
# A plan stands for the goals of its steps.
goals=()
for goal in "$@"; do
    case $goal in
    proof | proof-ci | soak)
        # Without python3, which is missing then, the second round finds them.
        read -ra steps < <(python3 tools/proof.py "${goal/proof-/}" --goals 2>/dev/null)
        goals+=("$goal" "${steps[@]}")
        ;;
    *) goals+=("$goal") ;;
    esac
done
compiler
for goal in "${goals[@]}"; do
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
    soak-kv | bench-s1)
        need_tool python3 python3
        need_tool redis-benchmark redis-tools
        need_tool redis-server redis-server
        command -v erlc >/dev/null 2>&1 || useful+=(erlang-base)
        [ -e /usr/include/liburing.h ] || useful+=(liburing-dev)
        ;;
    soak-cluster)
        need_tool python3 python3
        cluster useful
        ;;
    bench-crash) command -v erlc >/dev/null 2>&1 || useful+=(erlang-base) ;;
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
        # Those that are left out without their packages.
        if [ -n "$may_install" ]; then
            need_tool /usr/bin/cargo cargo
            [ -n "$(find /usr/share/cargo/registry -maxdepth 1 -name 'tokio-1.*' 2>/dev/null)" ] ||
                missing+=(librust-tokio-dev)
            need_file tbb/parallel_for.h libtbb-dev
        fi
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
    seen) testing; seen ;;
    hardening | suppressions) need_tool python3 python3 ;;
    listings | listings-accept) aarch64 ;;
    aarch64 | aarch64-build) # its libraries are unpacked by tools/sysroot.sh
        aarch64
        need_tool aarch64-linux-gnu-g++ g++-aarch64-linux-gnu
        need_tool qemu-aarch64 qemu-user
        ;;
    abi | abi-accept) need_tool abidw abigail-tools ;;
    coverage) testing; need_tool gcovr gcovr ;;
    valgrind | seams) testing; need_tool valgrind valgrind ;;
    instructions | instructions-accept)
        need_tool python3 python3
        need_tool valgrind valgrind
        ;;
    man)
        need_tool python3 python3
        need_tool man man-db
        ;;
    doc)
        need_tool python3 python3
        need_tool pandoc pandoc
        ;;
    amalgamation) need_tool python3 python3 ;;
    amalgamation-test)
        testing
        need_tool clang clang
        ;;
    deb) debian ;;
    package-test)
        debian
        need_tool c++ build-essential
        need_tool cmake cmake
        need_tool lintian lintian
        ;;
    test)
        testing
        # Who reads the text of metrics.h.
        command -v prometheus >/dev/null 2>&1 || useful+=(prometheus)
        [ -e /usr/lib/python3/dist-packages/prometheus_client ] || useful+=(python3-prometheus-client)
        ;;
    all | install | install-tools | bench | bench-growth | bench-parts | bench-restart) ;;
    *) testing ;;
    esac
done
# shellcheck disable=SC2206
missing+=(${AXO_DEPS_MISSING:-})
may_apt=
[ -n "$may_install" ] && [ -z "${AXO_DEPS_NO_ROOT:-}" ] && [ "$(id -u)" = 0 ] &&
    command -v apt-get >/dev/null 2>&1 && may_apt=1
only_useful=
if [ ${#missing[@]} -eq 0 ] && [ -n "$may_apt" ]; then
    only_useful=1
    missing=("${useful[@]}")
fi
[ ${#missing[@]} -eq 0 ] && exit 0

mapfile -t missing < <(printf '%s\n' "${missing[@]}" | sort -u)
install="install -y --no-install-recommends ${missing[*]}"
if ! command -v apt-get >/dev/null 2>&1; then
    echo "error: missing packages, by Debian's names: ${missing[*]}" >&2
    exit 1
fi
if [ -z "$may_apt" ]; then
    echo "error: missing packages; as root: apt-get update && apt-get $install" >&2
    exit 1
fi

# apt-get itself waits for one of its locks, but not for that of the lists.
wait_s=${AXO_DEPS_WAIT_S:-300}
until=$((SECONDS + wait_s))
held='Could not get lock|Unable to (lock|acquire the dpkg)|lock was locked by another process'
apt() {
    local log code left told=
    log=$(mktemp) || exit 1
    while :; do
        left=$((until > SECONDS ? until - SECONDS : 0))
        LC_ALL=C DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=$left "$@" 2>&1 |
            tee "$log"
        code=${PIPESTATUS[0]}
        [ "$code" -ne 0 ] && grep -qE "$held" "$log" || break
        if [ "$SECONDS" -ge "$until" ]; then
            echo "error: the package manager's lock is still held after $wait_s s" >&2
            break
        fi
        [ -n "$told" ] || echo "another program holds the package manager's lock:" \
            "waiting for it, $((until - SECONDS)) s at most" >&2
        told=1
        sleep 2
    done
    rm -f "$log"
    return "$code"
}
round=${AXO_DEPS_ROUND:-1}
if [ "$round" -le 2 ]; then
    echo "installing: ${missing[*]}"
    # A source that does not answer need not be the one that has the packages.
    apt update || echo "apt-get update failed; trying with what is known already" >&2
    # shellcheck disable=SC2086
    apt $install && AXO_DEPS_MISSING='' AXO_DEPS_ROUND=$((round + 1)) exec tools/deps.sh --install "$@"
fi
if [ -n "$only_useful" ]; then
    echo "note: could not install ${missing[*]}: what needs them is left out" >&2
    exit 0
fi
echo "error: could not install: ${missing[*]}" >&2
exit 1
