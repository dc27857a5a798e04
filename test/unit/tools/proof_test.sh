#!/bin/bash
# proof_test.sh - the runner of the proof plan and its table: proof_test.py says what.
set -eu
cd "$(dirname "$0")/../../.."
exec python3 test/unit/tools/proof_test.py
