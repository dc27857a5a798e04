#!/bin/bash
# deps_test.sh - who may install packages, what the others say, and that a lock is waited for. An
# apt-get of this test stands in PATH; the last case is the real one, in a tree of its own.
set -u
cd "$(dirname "$0")/../.." || exit 1
unset MAKEFLAGS MFLAGS MAKELEVEL AXO_DEPS_DONE AXO_DEPS_NO_ROOT AXO_DEPS_ROUND
stage=$(mktemp -d)
trap 'kill "${holder:-}" 2>/dev/null; rm -rf "$stage"' EXIT
failed=0
count=0
is() { # what, and a command that must hold
    local what=$1
    shift
    count=$((count + 1))
    "$@" && return
    failed=$((failed + 1))
    echo "FAILED: $what"
    sed 's/^/    | /' "$stage/said" "$stage/calls"
}

# It notes its words, and fails with $stage/NAME.fails so often as that file has lines.
mkdir "$stage/bin" "$stage/nobody" "$stage/without"
cat >"$stage/bin/apt-get" <<END
#!/bin/bash
for word; do case \$word in update | install) goal=\$word ;; esac; done
echo "\$goal: \$*" >>"$stage/calls"
fails=$stage/\$goal.fails
[ -s "\$fails" ] || exit 0
head -n 1 "\$fails" >&2
sed -i 1d "\$fails"
exit 100
END
printf '#!/bin/sh\necho 0\n' >"$stage/bin/id"
printf '#!/bin/sh\necho 1000\n' >"$stage/nobody/id"
chmod +x "$stage"/*/*
ln -s /usr/bin/* "$stage/without"
rm -f "$stage/without/apt-get"
locked="E: Could not get lock /var/lib/apt/lists/lock. It is held by process 7 (apt-get)"
export PATH=$stage/bin:$PATH AXO_DEPS_MISSING=libnone-dev

# update's failures, install's failures, command; what it said is in $stage/said, its end in $code.
try() {
    printf '%s' "$1" >"$stage/update.fails"
    printf '%s' "$2" >"$stage/install.fails"
    shift 2
    : >"$stage/calls"
    begin=$SECONDS
    "$@" >"$stage/said" 2>&1 </dev/null
    code=$?
    took=$((SECONDS - begin))
}
says() { grep -qF -- "$1" "$stage/said"; }
lines() { [ "$(wc -l <"$stage/$1")" -eq "$2" ]; }
calls() { [ "$(cut -d: -f1 "$stage/calls" | paste -sd' ')" = "$1" ]; }
line="error: missing packages; as root: apt-get update && apt-get install -y \
--no-install-recommends libnone-dev"

try '' '' tools/deps.sh all
is "deps.sh alone installs nothing" calls ''
is "deps.sh alone fails" [ "$code" -eq 1 ]
is "deps.sh says one line" lines said 1
is "deps.sh says which line" says "$line"

try '' '' env PATH="$stage/nobody:$PATH" tools/deps.sh --install all
is "without root nothing is installed" calls ''
is "without root the line is said" says "$line"
try '' '' env PATH="$stage/without" tools/deps.sh --install all
is "without apt-get the packages are named" says "by Debian's names: libnone-dev"
is "without apt-get it fails" [ "$code" -eq 1 ]

try '' '' tools/deps.sh --install all
is "what is missing is installed" calls 'update install'
is "and then there" [ "$code" -eq 0 ]
is "it is the package" grep -qF -- '--no-install-recommends libnone-dev' "$stage/calls"

try "$locked"$'\n'"$locked"$'\n' "E: Unable to lock directory /var/cache/apt/archives/"$'\n' \
    tools/deps.sh --install all
is "locks are waited for" calls 'update update update install install'
is "and then it goes on" [ "$code" -eq 0 ]
is "the wait is said" grep -qE "waiting for it, (29|30)[0-9] s at most" "$stage/said"
try "$(yes "$locked" | head -n 9)"$'\n' "$(yes "$locked" | head -n 9)"$'\n' \
    env AXO_DEPS_WAIT_S=3 tools/deps.sh --install all
is "the wait has an end" [ "$code" -eq 1 ]
is "its end is said" says "still held after 3 s"
is "it is not longer than it should be" [ "$took" -lt 40 ]

try $'E: The repository has no Release file\n' '' tools/deps.sh --install all
is "a source that fails is not the end" calls 'update install'
is "a source that fails is no error" [ "$code" -eq 0 ]
try '' $'E: Unable to locate package\n' tools/deps.sh --install all
is "what cannot be installed is tried once" calls 'update install'
is "what cannot be installed is an error" says "could not install: libnone-dev"
try '' '' env CC=no-such-compiler tools/deps.sh --install all
is "an installation that brings nothing ends" [ "$code" -eq 1 ]

refused=$'E: Unable to locate package\n'
for goal in lint models all install "test lint" "-n test" "-n deps" "-q test" "-t test" "-kq deps" proof; do
    # shellcheck disable=SC2086 # words
    try '' "$refused" make $goal
    is "make $goal installs nothing" calls ''
    is "make $goal fails" [ "$code" -ne 0 ]
    is "make $goal says the line" grep -q 'as root: apt-get update && apt-get install.*libnone-dev' \
        "$stage/said"
done
for goal in test run "test run" deps "deps FOR=models"; do
    # shellcheck disable=SC2086 # words
    try '' "$refused" make $goal
    is "make $goal installs" calls 'update install'
    is "make $goal fails where that fails" [ "$code" -ne 0 ]
done
try '' '' make deps FOR=all
is "make deps succeeds" [ "$code" -eq 0 ]
try '' "$refused" .ci/run
is "CI installs" calls 'update install'
is "CI counts what it could not install" says "0 passed, 1 failed"

# What a plan's steps need is in the plan's own line; what is left out without it is not.
mkdir "$stage/blind"
ln -s /usr/bin/* "$stage/blind"
rm -f "$stage"/blind/{gdb,tmux,spin,chromedriver,apt-get}
[ -e "$stage/blind/python3" ] || ln -s "$(command -v python3)" "$stage/blind/python3"
try '' '' env PATH="$stage/bin:$stage/blind" tools/deps.sh proof
for package in gdb tmux spin; do
    is "make proof asks for $package" grep -qE "apt-get install .* $package( |\$)" "$stage/said"
done
is "make proof does without a browser" eval '! says chromium'
try '' '' env PATH="$stage/bin:$stage/blind" tools/deps.sh seen
is "make seen asks for gdb" says " gdb "
is "make seen needs no spin" eval '! says " spin"'

# The real one: its lock of the lists, held by another process until it is waited for.
rm "$stage/bin/apt-get"
if command -v apt-get >/dev/null; then
    mkdir -p "$stage"/tree/{lists/partial,cache/archives/partial,etc/apt.conf.d,etc/preferences.d}
    : >"$stage/tree/status"
    : >"$stage/tree/etc/sources.list"
    cat >"$stage/apt.conf" <<END
Dir::State "$stage/tree";
Dir::State::lists "$stage/tree/lists";
Dir::State::status "$stage/tree/status";
Dir::Cache "$stage/tree/cache";
Dir::Etc "$stage/tree/etc";
Dir::Log "$stage/tree";
Debug::NoLocking "false";
END
    : >"$stage/said"
    python3 -c '
import fcntl, sys, time
held = open(sys.argv[1], "w")
fcntl.lockf(held, fcntl.LOCK_EX)
print("held", flush=True)
while "another program holds" not in open(sys.argv[2]).read():
    time.sleep(0.05)' "$stage/tree/lists/lock" "$stage/said" >"$stage/held" &
    holder=$!
    while [ ! -s "$stage/held" ]; do sleep 0.05; done
    try '' '' env APT_CONFIG="$stage/apt.conf" AXO_DEPS_WAIT_S=40 tools/deps.sh --install all
    is "apt-get's lock is recognised" says "another program holds"
    is "apt-get's lock is waited for" eval '! says "apt-get update failed"'
    is "apt-get goes on" says "Reading package lists"
    is "apt-get has no such package" says "could not install: libnone-dev"
fi
echo "$count cases, $failed failed"
[ "$failed" -eq 0 ]
