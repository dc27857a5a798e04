#!/bin/bash
# suppressed.sh - what the sanitizers and valgrind are told not to see: nothing.
#
# Looks for suppression files, options that name one, functions and files that are left out. Files
# that call liburcu and CK are compiled without the thread sanitizer and carry annotations instead:
# they are listed, and must be few.
set -u
cd "$(dirname "$0")/../.." || exit 1
found=$({
    git ls-files | grep -E '\.supp$|suppressions?\.txt$'
    git grep -nE 'suppressions=|--suppressions|__tsan_default_suppressions|__lsan_default_suppressions' \
        -- . ':!test/static/suppressed.sh'
    git grep -nE 'no_sanitize|__lsan_ignore|__lsan_disable|AnnotateIgnore|ignorelist=' -- runtime include
    git grep -nE 'fno-sanitize=' -- Makefile 'test/*/*.mk'
    git grep -nE 'detect_leaks=0|report_bugs=0|halt_on_error=0' -- Makefile test tools .ci \
        ':!test/static/suppressed.sh'
} 2>/dev/null)
count=$(grep -c . <<<"$found")
[ "$count" -eq 0 ] || sed 's/^/        | /' <<<"$found"
# shellcheck disable=SC2046
left_out=$(ls $(sed -n 's/^unsanitized_tsan := //p' Makefile | sed 's/%/*/g') 2>/dev/null | grep -v _sim)
silent=0
for file in $left_out; do
    grep -q AXO_TSAN_ "$file" || { echo "        | $file: without TSan and without annotations"; silent=1; }
done
files=$(grep -c . <<<"$left_out")
echo "  without the thread sanitizer, annotated: $(tr '\n' ' ' <<<"$left_out")"
echo "bar 13 is $count / $files: suppressions; files that call liburcu or CK and are annotated instead"
[ "$count" -eq 0 ] && [ "$silent" -eq 0 ]
