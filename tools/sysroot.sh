#!/bin/bash
# sysroot.sh - Debian's packages of another architecture, unpacked into a folder: nothing is installed.
#
#   tools/sysroot.sh arm64 folder package...
#
# They come from this machine's own sources, by apt-get with lists of its own, so neither root nor a
# foreign architecture is needed. What has been unpacked once stays.
set -eu
architecture=$1
folder=$2
shift 2
[ -e "$folder/unpacked" ] && [ "$(cat "$folder/unpacked")" = "$*" ] && exit 0

rm -rf "$folder"
mkdir -p "$folder/apt/lists/partial" "$folder/apt/cache/archives/partial" "$folder/packages"
folder=$(cd "$folder" && pwd)
apt() {
    LC_ALL=C apt-get -q -o APT::Architecture="$architecture" -o APT::Architectures="$architecture" \
        -o Dir::State="$folder/apt" -o Dir::State::status=/dev/null \
        -o Dir::Cache="$folder/apt/cache" -o APT::Sandbox::User="$(id -un)" \
        -o Debug::NoLocking=1 "$@" >>"$folder/log" 2>&1
}
if ! { apt update && (cd "$folder/packages" && apt download "$@"); }; then
    tail -n 5 "$folder/log" >&2
    echo "error: could not fetch, of $architecture: $*" >&2
    exit 1
fi
for package in "$folder"/packages/*.deb; do
    dpkg -x "$package" "$folder"
done
rm -rf "$folder/apt" "$folder/packages"
echo "$*" >"$folder/unpacked"
