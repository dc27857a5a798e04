#!/usr/bin/env bash
# hello_supervisor_test.sh - the program that README quotes prints what README says.
set -euo pipefail
cd "$(dirname "$0")/../.."
"${BUILD:-build/debug}/test/example/hello_supervisor" |
    diff test/example/hello_supervisor.expected -
