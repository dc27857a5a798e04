#!/bin/bash
# engine_test.sh - test/example/engine against an installed axo: what becomes of its world is the same
# in each mode as in a plain loop, also when its code is replaced and when it is saved and loaded,
# failures and restarts are what they must be, frames do not wait for a disk, and its picture is one. What is not installed is left out, and said. ENGINE_VARIANT=tsan: of
# another build.
set -eu
cd "$(dirname "$0")/../.."
if [ ! -e /usr/include/SDL2/SDL.h ]; then
    echo "left out: SDL2/SDL.h is not there; Debian's libsdl2-dev"
    exit 0
fi
stage=$(mktemp -d)
game=
trap '[ -z "$game" ] || kill -9 $game 2>/dev/null; rm -rf "$stage"' EXIT
unset MAKEFLAGS MFLAGS MAKELEVEL DISPLAY WAYLAND_DISPLAY
failed() {
    echo "$*"
    tail -n 30 "$stage/out" "$stage/err" 2>/dev/null
    exit 1
}

# ---- it compiles without a warning, and what runs has sanitizers
build=${BUILD:-build}
make --no-print-directory VARIANT=release BUILD="$build" CC="${CC:-cc}" DESTDIR="$stage" PREFIX=/usr \
    install >"$stage/log" 2>&1 || { cat "$stage/log"; exit 1; }
program=$stage/engine
if [ -n "${ENGINE_VARIANT:-}" ]; then
    program=$build/$ENGINE_VARIANT/test/example/engine/engine
    make --no-print-directory VARIANT="$ENGINE_VARIANT" BUILD="$build" "$program" >"$stage/log" 2>&1 ||
        { cat "$stage/log"; exit 1; }
fi
sdl="$(pkg-config --cflags sdl2 | sed 's/-I/-isystem /g') $(pkg-config --libs sdl2)"
export PKG_CONFIG_PATH=$stage/usr/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$stage
flags="-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wold-style-cast -Wundef"
flags+=" -Wcast-qual -Wcast-align -Wzero-as-null-pointer-constant -Wnon-virtual-dtor -Werror"
flags+=" $(pkg-config --cflags axo)"
source=$stage/usr/share/doc/axo/examples/engine/engine.cpp
if [ -z "${ENGINE_VARIANT:-}" ]; then
    # shellcheck disable=SC2046,SC2086 # words
    "${CXX:-g++}" -std=c++17 $flags -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all \
        "$source" $(pkg-config --libs axo-record) $sdl -o "$program" || failed "it does not compile"
    for version in 1 2; do
        # shellcheck disable=SC2086
        "${CXX:-g++}" -std=c++17 $flags -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all \
            -shared -fPIC -fvisibility=hidden -DAI_VERSION=$version "${source%/*}/ai.cpp" \
            -o "$stage/ai$version.so" || failed "ai$version.so does not compile"
    done
    for way in "clang++ -std=c++17" "clang++ -std=c++20"; do
        command -v clang++ >/dev/null || { echo "left out: clang++"; break; }
        # shellcheck disable=SC2086
        $way $flags -fsyntax-only "$source" ${sdl%% -l*} || failed "$way: it does not compile"
        # shellcheck disable=SC2086
        $way $flags -fsyntax-only -DAI_VERSION=2 "${source%/*}/ai.cpp" || failed "$way: ai.cpp"
    done
fi
export LD_LIBRARY_PATH=$stage/usr/lib

# ---- one run: sets $hash, and what its last line says
run() { # options
    local code=0 line
    timeout 100 "$program" --headless --frames 200 --entities 450 "$@" >"$stage/out" 2>"$stage/err" ||
        code=$?
    [ $code = 0 ] || failed "engine $*: exit code $code"
    hash=$(sed -n 's/^hash \([0-9a-f]\{16\}\)$/\1/p' "$stage/out")
    line=$(sed -n 's/^frames \(.*\) failures \(.*\) restarts \(.*\) assets \(.*\) missing \(.*\)$/\1 \2 \3 \4 \5/p' "$stage/out")
    [ -n "$hash" ] && [ -n "$line" ] || failed "engine $*: no totals"
    read -r frames failures restarts assets missing <<<"$line"
    events=$(sed -n 's/^events \([0-9]* [0-9a-f]\{16\}\)$/\1/p' "$stage/out")
    changes=$(sed -n 's/^replaced \([0-9]*\) saved \([0-9]*\)$/\1 \2/p' "$stage/out")
}
same() { # options: each mode as the plain loop; leaves $hash
    local mode expected fails
    run --mode plain "$@"
    expected=$hash
    fails=$failures
    for mode in main workers lent; do
        run --mode $mode "$@"
        [ "$hash" = "$expected" ] || failed "$mode $*: $hash, and $expected in the plain loop"
        [ "$failures $restarts" = "$fails $fails" ] || failed "$mode $*: not $fails failures"
        [ "$assets $missing" = "${sprites:-4} 0" ] || failed "$mode $*: not ${sprites:-4} sprites"
    done
}

same --seed 1
[ "$frames" = 200 ] && [ "$failures" -gt 20 ] || failed "it fails too seldom"
grep -q '^restart: .*(entity) failed in receive of thought: .*"lost its way"' "$stage/err" ||
    failed "the log does not tell"
first=$hash
run --seed 1 --mode main
once=$(sed '/^frame ms/d' "$stage/out")
run --seed 1 --mode main
[ "$(sed '/^frame ms/d' "$stage/out")" = "$once" ] || failed "main: two runs differ"
same --seed 2
[ "$hash" != "$first" ] || failed "the seed changes nothing"
same --seed 1 --click 100,50,400
[ "$hash" != "$first" ] || failed "a click changes nothing"
same --entities 101 --frames 60 # a flock of one

# ---- its code is replaced, and the old unloaded; the world is saved, and goes on in a new system
same --seed 1 --replace 30
[ "$changes" = "6 0" ] || failed "it was replaced: $changes"
replaced=$hash
[ "$replaced" != "$first" ] || failed "the other version does the same"
sprites=16 same --seed 1 --save 60 # each system loads its own
[ "$changes" = "0 3" ] || failed "it was saved: $changes"
[ "$hash" = "$first" ] || failed "a world that was saved goes on otherwise"
sprites=16 same --seed 1 --save 60 --replace 30
[ "$changes" = "6 3" ] && [ "$hash" = "$replaced" ] || failed "saved with other code: $changes"
run --seed 1 --mode main --save 60 --replace 30
once=$events
run --seed 1 --mode main --save 60 --replace 30
[ -n "$once" ] && [ "$events" = "$once" ] || failed "main: the events of two runs differ"
run --seed 2 --mode main --save 60 --replace 30
[ "$events" != "$once" ] || failed "the events of another seed are the same"

# ---- the picture, as another program reads it
run --mode main --picture "$stage/picture.bmp"
grep -qxF "picture 640 x 600, bars 200" "$stage/out" || failed "no picture"
python3 - "$stage/picture.bmp" "$stage/out" <<'END' || failed "the picture is not what there was"
import re, struct, sys

WIDTH, ROWS, STRIP, LINE, BARS = 640, 600, 120, 60, 200
with open(sys.argv[1], "rb") as file:
    data = file.read()
kind, size, _, first, head, width, height, planes, bits, packed = struct.unpack_from("<2sIIIIiiHHI", data)
assert (kind, size, width, height, planes, bits, packed) == (b"BM", len(data), WIDTH, ROWS, 1, 24, 0)
stride = (3 * width + 3) // 4 * 4
assert len(data) == first + stride * ROWS, (len(data), first, head)


def pixel(x, y): # the file begins with the lowest row, and with blue
    at = first + stride * (ROWS - 1 - y) + 3 * x
    return data[at + 2], data[at + 1], data[at]


black, line = (0, 0, 0), (250, 250, 250)
parts = {(70, 120, 220), (80, 190, 90), (230, 160, 50)}
heights = []
for x in range(WIDTH):
    column = [pixel(x, ROWS - 1 - y) for y in range(STRIP)]
    assert column.pop(LINE - 1) == line, x # it hides a pixel of those that reach it
    high = sum(dot in parts for dot in column)
    assert all(dot in parts for dot in column[:high]) and set(column[high:]) <= {black}, (x, column)
    heights.append(high + (high >= LINE))
# Two pixels a bar; a frame that was not there has none.
assert heights[::2] == heights[1::2] and not any(heights[2 * BARS:]), heights
with open(sys.argv[2], encoding="utf-8") as file:
    said = re.search(r"^frame ms p50 (\S+) p99 (\S+) max (\S+) of 16.667$", file.read(), re.M).groups()
drawn = sorted(heights[:2 * BARS:2])
for rank, ms in zip((BARS * 50 // 100, BARS * 99 // 100, BARS), said):
    expected = min(float(ms) * LINE / 16.666667, STRIP - 1)
    assert abs(drawn[rank - 1] - expected) <= 1.1, (drawn, said)
world = [pixel(x, y) for x in range(WIDTH) for y in range(ROWS - STRIP)]
for kind in (240, 90, 80), (90, 220, 200), (240, 220, 90), (190, 130, 250):
    assert world.count(kind) > 100, (kind, world.count(kind))
END

# ---- sprites that do not come, are none, or come late: the world goes on as before
for mode in main workers lent; do
    run --seed 1 --mode $mode --assets "$stage/nowhere"
    [ "$assets $missing $hash" = "0 4 $first" ] || failed "$mode: without sprites"
    [ "$restarts" = "$failures" ] || failed "$mode: the loader was not restarted"
done
mkdir "$stage/sprites"
cp test/example/engine/*.sprite "$stage/sprites"
printf '#.#\n##\n' >"$stage/sprites/fish.sprite"
rm "$stage/sprites/crab.sprite"
mkfifo "$stage/sprites/crab.sprite"
for mode in workers lent; do
    : >"$stage/out"
    timeout 60 "$program" --headless --frames 200 --entities 450 --mode $mode \
        --assets "$stage/sprites" >"$stage/out" 2>"$stage/err" &
    game=$!
    until grep -qx 'waiting for sprites' "$stage/out"; do
        kill -0 $game 2>/dev/null || failed "$mode: frames wait for the disk"
        sleep 0.02
    done
    # It opens when the loader has.
    timeout 60 sh -c 'printf "##\n##\n" >"$1"' sh "$stage/sprites/crab.sprite"
    wait $game || failed "$mode: a sprite that comes late"
    game=
    grep -q ' assets 3 missing 1$' "$stage/out" && grep -qx "hash $first" "$stage/out" &&
        grep -q 'fish: not a sprite' "$stage/err" || failed "$mode: a sprite that comes late"
done

# ---- what is refused
refused() { # exit status, words of its line, options
    local code=0
    timeout 100 "$program" "${@:3}" >"$stage/out" 2>"$stage/err" || code=$?
    [ $code = "$1" ] && grep -qF -- "engine: $2" "$stage/err" && [ ! -s "$stage/out" ] ||
        failed "engine ${*:3}: ends with $code"
}
refused 2 "--mode threads: no such mode" --mode threads
refused 2 "--frames 0: not a number from 1" --frames 0
refused 2 "--frames 1x: not a number" --frames 1x
refused 2 "--entities -1: not a number" --entities -1
refused 2 "--entities 1000001: not a number from 1 to 1000000" --entities 1000001
refused 2 "--seed 18446744073709551616: not a number" --seed 18446744073709551616
refused 2 "--click 640: not a number from 0 to 639" --click 1,640,0
refused 2 "--click 1,2: not a frame" --click 1,2
refused 2 "--seed: unknown, or without its value" --seed
refused 2 "--what: unknown" --what 1
refused 2 "--replace 0: not a number from 1" --replace 0
refused 2 "--save x: not a number from 1" --save x
refused 2 "--headless needs --frames" --headless
short="--headless --frames 1 --entities 1 --mode plain" # nothing is waited for
# shellcheck disable=SC2086 # words
refused 1 "$stage/nowhere/picture.bmp: " $short --picture "$stage/nowhere/picture.bmp"
# A plugin that is not there, is none, or cannot be unloaded.
mkdir "$stage/beside"
cp "$program" "$stage/beside"
ln -s "$(realpath "${program%/*}")/ai1.so" "$stage/beside"
program=$stage/beside/engine
change="--headless --frames 2 --entities 450 --replace 1"
# shellcheck disable=SC2086
refused 1 "$stage/beside/ai2.so: " $change
plugin() { # what is in it, options
    # shellcheck disable=SC2086
    "${CXX:-g++}" -std=c++17 -shared -fPIC -fvisibility=hidden -DAI_VERSION=2 $(pkg-config --cflags axo) \
        "$1" "${@:2}" -o "$stage/beside/ai2.so" || failed "a plugin does not compile"
}
echo 'int nothing;' >"$stage/none.cpp"
plugin "$stage/none.cpp"
# shellcheck disable=SC2086
refused 1 "$stage/beside/ai2.so: no plugin of this engine" $change
plugin "${source%/*}/ai.cpp" -Wl,-z,nodelete
for mode in plain main workers lent; do
    # shellcheck disable=SC2086
    refused 1 "$stage/beside/ai2.so: it is still there" $change --mode $mode
done
SDL_VIDEODRIVER=nothing refused 1 "SDL_Init: " --frames 1
code=0
# shellcheck disable=SC2086
timeout 100 "$program" $short >/dev/full 2>"$stage/err" || code=$?
[ $code = 1 ] && grep -q 'standard output' "$stage/err" || failed "/dev/full: ends with $code"

# With a window frames are no faster than they should be.
begin=$(date +%s%N)
SDL_VIDEODRIVER=dummy timeout 100 "$program" --frames 30 --entities 10 >"$stage/out" 2>"$stage/err" ||
    failed "with a window"
[ $(($(date +%s%N) - begin)) -gt 400000000 ] || failed "frames are too fast"
echo "1 passed, 0 failed"
