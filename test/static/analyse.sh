#!/bin/bash
# analyse.sh - clang-tidy, cppcheck and gcc's analyser over what is delivered; no finding may be left.
#
#   test/static/analyse.sh FOLDER
#
# What stays is in `suppressions`, with its reason; one that suppresses nothing is an error too, and
# so is an analyser that does not find its defect in planted.c.
set -u
cd "$(dirname "$0")/../.." || exit 1
out=$1
mkdir -p "$out"
gcc=${GCC:-gcc}
# What only the simulator is made of belongs to the tests.
mapfile -t files < <(printf '%s\n' runtime/*/*.c | grep -vE '/sim[._]|_sim\.c')
planted=test/static/planted.c
read -ra packages < <(pkg-config --cflags liburcu-qsbr liburcu-cds ck | sed 's/-I/-isystem /g')
flags=(-std=c11 -D_GNU_SOURCE -DAXO_DEBUG=1 -pthread -Iinclude -Iruntime "${packages[@]}")
jobs=$(nproc)

# Each prints lines "file:line: text [check]".
run_tidy() {
    printf '%s\n' "${files[@]}" $planted |
        xargs -P"$jobs" -I{} sh -c 'clang-tidy --quiet "$@" -- '"${flags[*]}"' 2>/dev/null' tidy {} |
        sed -nE 's|^'"$PWD"'/||; s/^([^ :]+:[0-9]+):[0-9]+: (warning|error): (.*)$/\1: \3/p' |
        sed 's/,-warnings-as-errors\]$/]/' | sort -u
}
run_cppcheck() {
    printf '%s\n' "${files[@]}" $planted |
        cppcheck -j"$jobs" --quiet --std=c11 --enable=warning,portability,performance,style \
            --library=gnu,posix -D__x86_64__ -D__GNUC__=12 \
            -D__SIZEOF_POINTER__=8 -D_GNU_SOURCE -DAXO_DEBUG=1 -Iinclude -Iruntime \
            --template='{file}:{line}: {message} [{id}]' --file-list=- 2>&1 | sort -u
}
run_gcc() {
    printf '%s\n' "${files[@]}" $planted |
        xargs -P"$jobs" -I{} "$gcc" "${flags[@]}" -O1 -fPIC -fanalyzer -c -o /dev/null {} 2>&1 |
        sed -nE 's/^([^ :]+:[0-9]+):[0-9]+: (warning|fatal error|error): (.*)$/\1: \3/p' | sort -u
}

# Takes the suppressed lines out of the findings of a tool; names a suppression without a finding.
left() {
    local tool=$1 from=$2 who what where why
    grep -v "^$planted" "$from" >"$from.left"
    grep -q "^$planted" "$from" || echo "$planted: its defect was not found" >>"$from.left"
    while IFS='|' read -r who what where why; do
        who=${who// /} what=${what// /} where=${where// /}
        [ "$who" = "$tool" ] || continue
        if ! grep -qE "^$where:.*\[([^]]*,)?$what(,[^]]*)?\]$" "$from"; then
            echo "suppressions: nothing to suppress: $who $what $where" >>"$from.left"
            continue
        fi
        [ -n "${why// /}" ] || echo "suppressions: no reason: $who $what $where" >>"$from.left"
        grep -vE "^$where:.*\[([^]]*,)?$what(,[^]]*)?\]$" "$from.left" >"$from.rest"
        mv "$from.rest" "$from.left"
    done < <(grep -v '^#' test/static/suppressions)
    cat "$from.left"
}

failed=0
total=0
for tool in gcc cppcheck clang-tidy; do
    start=$SECONDS
    case $tool in
    gcc) run_gcc >"$out/$tool" ;;
    cppcheck) run_cppcheck >"$out/$tool" ;;
    clang-tidy) run_tidy >"$out/$tool" ;;
    esac
    found=$(left "$tool" "$out/$tool")
    count=$(grep -c . <<<"$found")
    total=$((total + count))
    echo "  $tool: ${#files[@]} files, $count findings, $((SECONDS - start)) s"
    [ "$count" -eq 0 ] || { failed=1; sed 's/^/        | /' <<<"$found"; }
done
suppressed=$(grep -vc '^#' test/static/suppressions)
echo "bar 29 is $total / $suppressed: findings of clang-tidy, cppcheck, gcc -fanalyzer; suppressions" \
    "with reasons; compiler warnings are errors"
exit $failed
