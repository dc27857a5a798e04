#!/bin/bash
# hung_test.sh - README's three commands for a server that answers nobody, as they stand there, on one
# that hangs: each names the actor and its message.
set -eu
cd "$(dirname "$0")/../.."
. test/seen/scene.sh
needs gdb
top=$(realpath "$build")/tools/axo-top
[ -x "$top" ] || fail "no $top: make test builds it"

# A command of README's table, with this test's files for the shop's.
command_of() { # what it is from
    local line
    line=$(sed -n "s/^| $1.* | \`\(.*\)\` |\$/\1/p" README.md)
    [ -n "$line" ] || fail "README has no command from $1"
    line=${line//axo-top/$top}
    line=${line//\/run\/shop.board/$scratch/board}
    line=${line//shop core/$scene $scratch/core}
    line=${line//shop.log/$scratch/log-of-it}
    line=${line//\/usr\/local\/share\/axo/tools}
    # With nothing but what the command gives it: what gdb trusts differs from machine to machine.
    echo "${line/gdb /gdb -q -nx -iex \"set debuginfod enabled off\" -iex \"set auto-load off\" }"
}
run() { # what it is from
    local line
    line=$(command_of "$1")
    echo "\$ $line"
    timeout 60 bash -c "$line" </dev/null >"$scratch/log" 2>&1 || :
    cat "$scratch/log"
}

scene_begin still "$scratch/board" "$scratch/log-of-it"
tries=0
until grep -q "stuck: /user/hung" "$scratch/log-of-it"; do
    [ $((tries += 1)) -lt 400 ] || fail "the log says nothing"
    sleep 0.05
done
run "its board"
says "axo/w[01] [0-9]+ HUNG /user/hung sleeper 77 .* /user/shop/till1"
run "its log"
says ".* warning: stuck: /user/hung \\(sleeper\\) has held its worker for [0-9]+ ms, in receive of .*77"
# What gcore does, by the gdb that is here.
ask -p "$still" <<END
generate-core-file $scratch/core
END
[ -s "$scratch/core" ] || fail "no core"
run "a core dump"
says "axo/w[01] [0-9]+ /user/hung sleeper 77 /user/shop/till1 .*"
scene_end
