#!/bin/bash
# sandbox.sh - runs a command, as root, that may write to /usr, /etc and /var: what it writes is seen by
# nobody else, and gone afterwards.
#
#   test/package/sandbox.sh command...
set -eu
if [ "${1:-}" != --inside ]; then
    layers=$(mktemp -d)
    trap 'rmdir "$layers"' EXIT
    unshare --mount --propagation private "$0" --inside "$layers" "$@"
    exit
fi
layers=$2
shift 2
# The upper layers may not lie on another overlay, which / is in a container.
mount -t tmpfs axo-sandbox "$layers"
for folder in usr etc var; do
    mkdir -p "$layers/$folder/upper" "$layers/$folder/work"
    mount -t overlay "axo-$folder" "/$folder" -o \
        "lowerdir=/$folder,upperdir=$layers/$folder/upper,workdir=$layers/$folder/work"
done
# A file system that is mounted below one of these is not seen any more.
[ -e "$PWD/test/package/sandbox.sh" ] || { echo "$PWD is a mount below /usr, /etc or /var"; exit 1; } >&2
exec "$@"
