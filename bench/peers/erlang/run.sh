#!/bin/bash
# run.sh - the Erlang peer: run.sh FOLDER [--workers N] [--repeats N] [--only W1,W2] [--divide N]
#
# FOLDER has the compiled modules. Schedulers are bound to processors where the system allows it;
# reports of crashes are not printed; all else is the default.
set -eu
folder=$1
shift
workers=$(nproc)
for ((i = 1; i < $#; i++)); do
    [ "${!i}" = --workers ] && next=$((i + 1)) && workers=${!next}
done
export ERL_CRASH_DUMP_SECONDS=0
exec erl +S "$workers:$workers" +stbt db +P 2000000 -noshell -noinput -kernel logger_level none \
    -pa "$folder" /usr/lib/elixir/lib/*/ebin -s bench main -extra "$@"
