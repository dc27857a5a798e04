#!/bin/bash
# sandbox.sh - runs a command, as root, that may write to /usr, /etc and /var: what it writes is seen by
# nobody else, and gone afterwards.
#
#   test/package/sandbox.sh command...
set -eu
if [ "${1:-}" != --inside ]; then
    exec unshare --mount --propagation private "$0" --inside "$@"
fi
shift
# The upper layers may not lie on another overlay, which / is in a container.
mount -t tmpfs axo-sandbox /mnt
for folder in usr etc var; do
    mkdir -p "/mnt/$folder/upper" "/mnt/$folder/work"
    mount -t overlay -o "lowerdir=/$folder,upperdir=/mnt/$folder/upper,workdir=/mnt/$folder/work" \
        "axo-$folder" "/$folder"
done
exec "$@"
