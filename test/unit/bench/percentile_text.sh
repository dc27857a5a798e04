#!/bin/bash
# percentile_text.sh - checks our percentile text against npm's hdr-histogram-js.
#
#   test/unit/bench/percentile_text.sh PROGRAM FOLDER
#
# The package is installed into FOLDER. If npm's registry does not answer, the check is skipped: it
# is counted neither as passed nor as failed.
set -euo pipefail
program=$(realpath "$1")
folder=$2
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
if [ ! -d "$folder/node_modules/hdr-histogram-js" ]; then
    if ! npm install --prefix "$folder" --no-audit --no-fund --ignore-scripts \
        --fetch-retries 1 --fetch-timeout 20000 hdr-histogram-js@3.0.1 >"$folder/npm.log" 2>&1; then
        echo "SKIPPED  percentile text: npm's registry gave no hdr-histogram-js, see $folder/npm.log"
        echo "0 passed, 0 failed, 1 skipped"
        exit 0
    fi
fi
exec node "$here/percentile_text.mjs" "$program" "$folder"
