#!/bin/bash
# lint.sh - every check of the house, and the self test of the checks.
#
#   tools/lint.sh build/release/libaxo.so
#
# All checks run, also when one fails. The last line is "N passed, N failed".
set -u
cd "$(dirname "$0")/.." || exit 1
passed=0
failed=0
check() {
    local name=$1 output start=$SECONDS
    shift
    if output=$("$@" 2>&1); then
        passed=$((passed + 1))
        echo "  ok    $name ($((SECONDS - start)) s)"
    else
        failed=$((failed + 1))
        echo "  FAIL  $name"
        sed 's/^/        | /' <<<"$output"
    fi
}
check layers python3 tools/check_layers.py
check headers tools/check_headers.sh
check symbols python3 tools/check_symbols.py "$1"
check called python3 tools/check_called.py
check structs python3 tools/check_structs.py
check border python3 tools/check_border.py
check enums python3 tools/check_enums.py
check tidy python3 tools/tidy.py
check words python3 tools/check_words.py
check glossary python3 tools/check_glossary.py
check contracts python3 tools/doc/headers.py
check promises python3 tools/doc/promises.py --check
check mutants python3 test/mutant/run.py --fit
check figures python3 tools/figures.py --check
check "self test" python3 tools/lint_test.py
check "doc tools" python3 tools/doc/doc_test.py
check "bench tools" python3 test/unit/bench/compare_test.py
check "bench peers" python3 test/unit/bench/peers_test.py
check "bench lines" python3 test/unit/bench/lines_test.py
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
