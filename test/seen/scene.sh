# scene.sh - for the scripts beside it: the scene program, started and ended, and gdb on it.
#
# A script sources it from the root of the tree, after `set -eu`. `needs gdb readelf` ends it well,
# with a line, where one of these is not installed.
build=${BUILD:-build}/release
scene=$(realpath -m "$build")/test/seen/scene
scratch=$(mktemp -d)
still=
trap 'echo "line $LINENO: failed"' ERR
finish() {
    [ -z "$still" ] || { kill -9 "$still" && wait "$still"; } 2>/dev/null || :
    rm -rf "$scratch"
}
trap finish EXIT
fail() {
    echo "$*"
    exit 1
}
needs() {
    local tool
    for tool; do
        command -v "$tool" >/dev/null || { echo "left out: $tool is not installed"; exit 0; }
    done
}
[ -x "$scene" ] || fail "no $scene: make test builds it"

# A scene that waits, in $still, until scene_end.
scene_begin() { # what [more arguments]
    rm -f "$scratch/in"
    mkfifo "$scratch/in"
    "$scene" "$@" <"$scratch/in" >"$scratch/out" &
    still=$!
    exec 5>"$scratch/in"
    local tries=0
    until grep -q ready "$scratch/out"; do
        kill -0 "$still" || fail "the scene has ended: $(cat "$scratch/out")"
        [ $((tries += 1)) -lt 600 ] || fail "the scene is not ready after 30 s"
        sleep 0.05
    done
}
scene_end() {
    exec 5>&-
    wait "$still" || fail "the scene ended with $?"
    still=
}

# gdb with the commands of its standard input; what it says is printed, and kept in $scratch/log.
ask() { # arguments of gdb
    cat >"$scratch/commands"
    timeout 50 gdb -q -nx -batch -iex "set debuginfod enabled off" -iex "set auto-load safe-path /" \
        -x "$scratch/commands" "$@" </dev/null >"$scratch/log" 2>&1 || :
    cat "$scratch/log"
    ! grep -q "^Traceback\|Python Exception" "$scratch/log" || fail "a trace of Python"
}
# The last answer has a line that matches all of this, blanks taken for any number of blanks.
says() {
    grep -qE "^$(sed 's/ \+/ +/g' <<<"$1") *\$" "$scratch/log" || fail "it does not say: $1"
}
