#!/bin/bash
# gdb_test.sh - axo tree, axo where, axo mailbox (tools/axo_gdb.py) against a release build: on a live
# process, on a core dump of a crash under load, on a process that was damaged on purpose.
set -eu
cd "$(dirname "$0")/../.."
. test/seen/scene.sh
needs gdb
script=$PWD/tools/axo_gdb.py

# ---- the script's numbers are the library's
check() { # constant in the script, header, what stands there
    local mine theirs
    mine=$(sed -n "s/^$1 = //p" "$script")
    theirs=$(sed -n "s/^#define AXO__$1 (UINT64_C(1) << \([0-9]*\))$/1 << \1/p" "$2")
    [ -n "$mine" ] && [ "$mine" = "$theirs" ] || fail "$1: '$mine' in axo_gdb.py, '$theirs' in $2"
}
for word in RUNNING READY URGENT CLOSED TERMINATING WAITING HELD; do check $word runtime/cell/state.h; done
for flag in OWNED PILL KILL NOTICE SIGNAL TRACED TICK BOUND; do
    theirs=$(sed -n "s/^ *AXO__MESSAGE_$flag = \([0-9]*\),.*/\1/p" runtime/mailbox/message.h)
    grep -q "\"$flag\": $theirs[,}]" "$script" || fail "AXO__MESSAGE_$flag is $theirs"
done
[ "$(sed -n 's/^SLOT_BITS = //p' "$script")" = "$(sed -n 's/^#define AXO__SLOT_BITS //p' runtime/cell/cell.h)" ]
grep -q "AXO__ADDRESS_BITS 48" runtime/base/config.h || fail "the lane is not of 48 bits"

# ---- a live process; the script comes with the library by itself
scene_begin still
ask -p "$still" <<'END'
axo tree
echo \nwhere\n
axo where
axo mailbox /user/hung
axo mailbox /user/tight
END
says "PATH CLASS STATE WAIT RESTARTS"
says "/user/shop shop idle 0 0"
says "/user/shop/till1 till idle 0 2"
says "/user/shop/till3 till idle 0 0"
says "/user/hung sleeper running 3 0"
says "/user/tight sleeper running 2 0"
says "axo/w[01] [0-9]+ /user/hung sleeper 77 /user/shop/till1 [0-9.]+ (us|ms|s)"
says "axo/w[01] [0-9]+ /user/tight sleeper 77 - [0-9.]+ (us|ms|s)"
says "axo/spare1 [0-9]+ .*"
says "now axo/w[01] 77 /user/shop/till1 4 - 0x[0-9a-f]+"
says " +1 lane 11 /user/shop/till1 4 - 0x[0-9a-f]+"
says " +2 lane 12 - 8 - 0x[0-9a-f]+"
says " +3 lane 13 - 0 - 0x[0-9a-f]+"
says " +1 mailbox 14 - 1 - 0x[0-9a-f]+"
says " +2 mailbox 15 - 2 - 0x[0-9a-f]+"

# ---- parts of the tree, bounds, what nobody has
ask -p "$still" <<'END'
python
import gdb
def tried(line):
    try:
        gdb.execute(line)
    except gdb.error as error:
        print("said:", error)
for line in ("axo tree /user/shop -n 2", "axo mailbox /user/nobody", "axo mailbox", "axo tree -n 0",
             "axo tree -q", "axo mailbox 12345", "axo use (axo_system *)16", "axo mailbox /user/hung -n 2"):
    print("#", line)
    tried(line)
end
END
says "/user/shop shop idle 0 0"
says "... more than 2: axo tree -n 20"
says "said: axo: no actor has the path /user/nobody"
says "said: axo: which actor\? .*"
says "said: axo: -n wants a number"
says "said: axo: what is -q\?"
says "said: axo: no actor has the reference 12345"
says "said: axo: (no axo_system|the process is damaged): .*"
says " +... more than 2: -n 20"

# ---- a damaged process: rings, wild pointers, numbers that cannot be. Every command still ends, and
# says the rest. The process is killed behind it.
cat >"$scratch/damage.py" <<'END'
import gdb
import __main__ as axo  # where gdb runs scripts
system = axo.SYSTEMS.all()[0]
hung = axo.look_up("/user/hung")[1]
tight = axo.look_up("/user/tight")[1]
till1 = axo.look_up("/user/shop/till1")[1]
till2 = axo.look_up("/user/shop/till2")[1]
till3 = axo.look_up("/user/shop/till3")[1]
def put(address, value, size=8):
    gdb.selected_inferior().write_memory(address, value.to_bytes(size, "little"))
def show():
    for line in ("axo tree", "axo where", "axo mailbox /user/hung", "axo mailbox /user/tight"):
        try:
            gdb.execute(line)
        except gdb.error as error:
            print("said:", error)
newest = axo.number(hung["state"]["word"]) & axo.LANE
print("## a ring of messages")
put(newest, newest)                             # node.next
print("## a wild message")
first = int(tight["extra"]["v"].cast(gdb.lookup_type("axo__extra").pointer())["bounded"]["rest"]["first"])
put(first, 0x18)
print("## a class that is not there")
put(int(system.cold(till2)["cls"].address), 0x20)
print("## siblings in a ring")
link = int(till3["slot"]) + 1
gdb.execute(f"set var ((axo__cold *){int(system.cold(till1).address)})->next = {link}")
print("## an extra record that is not there")
put(int(till3["extra"].address), 0x30)
show()
print("## no slots, no table")
put(int(system.core["table"]["slots"].address), 0, 4)
show()
put(int(system.core["table"]["chunks"].address), 0x40)
show()
print("## the end")
END
ask -p "$still" <<END
source $scratch/damage.py
kill
END
wait "$still" 2>/dev/null || :
still=
says "## the end"
says "/user/hung sleeper running 1\? 0"
says "/user/tight sleeper running 2\? 0"
says "/user/shop/till1 till idle 0 2"
says "/user/shop/till2 <Cannot access memory at address 0x.*> [?] .*"
says "/user/shop/<slot [0-9]+: Cannot access memory at address 0x30> .*"
says "/user/shop/<a ring at 0x.*>"
says " +lane: <a ring at 0x.*>"
says " +mailbox: <Cannot access memory at address 0x18>"
says "/<there is no slot 1>"
says "said: axo: the process is damaged: there is no slot 1"
says "said: axo: the process is damaged: Cannot access memory at address 0x40"
says "axo/w1 .*"

# ---- a core dump of a crash under load: the kernel's, or where it gives none, gdb's
pattern=$(cat /proc/sys/kernel/core_pattern)
if [[ $pattern != "|"* && $pattern != */* && $(ulimit -H -c) != 0 ]]; then
    (cd "$scratch" && ulimit -c unlimited && exec "$scene" crash) 2>/dev/null || :
    mv "$scratch"/core* "$scratch/dump"
else
    ask "$scene" <<END
run crash
generate-core-file $scratch/dump
END
fi
ask "$scene" "$scratch/dump" <<'END'
axo where
axo tree
axo mailbox /user/crasher
bt 1
END
says "axo/(w|spare)[01] [0-9]+ /user/crasher crasher 99 /user/.* [0-9.]+ .*"
says "/user/crasher crasher running 0 0"
says "/user/shop/till1 till idle 0 2"
says "now axo/(w|spare)[01] 99 /user/.* 0 - 0x[0-9a-f]+"
grep -q "#0 .* crash_receive" "$scratch/log" || fail "the crash is not in the crasher"
[ "$(grep -c "  pair  " "$scratch/log")" -ge 16 ] || fail "not all actors of the load"
# under load: messages wait, and failures have happened
awk '$2 == "pair" { wait += $4; again += $5 } END { exit !(wait > 0 && again > 0) }' "$scratch/log" ||
    fail "no load was seen"

# ---- installed: gdb finds the script by the library's path, in a folder that it trusts
version=$(sed -n 's/^#define AXO_VERSION_[MP][A-Z]* //p' include/axo/version.h | paste -sd.)
env DESTDIR= PREFIX="$scratch/usr" LIBDIR="$scratch/usr/lib" INCDIR="$scratch/usr/include" \
    BINDIR="$scratch/usr/bin" DATADIR="$scratch/usr/share" DOCDIR="$scratch/usr/doc" \
    MANDIR="$scratch/usr/man" VERSION="$version" ABI="${version%.*}" \
    tools/install/install.sh library "$build" >"$scratch/log" 2>&1 ||
    fail "install.sh: $(cat "$scratch/log")"
places=$scratch/usr/share/gdb/auto-load
ask -iex "set auto-load safe-path $places" -iex "add-auto-load-scripts-directory $places" "$scene" <<END
set environment LD_LIBRARY_PATH $scratch/usr/lib
break main
run still
info auto-load python-scripts libaxo
help axo tree
END
says "Yes $places$scratch/usr/lib/libaxo.so.*-gdb.py"
grep -q "^axo tree \[PATH\]" "$scratch/log" || fail "no command axo tree"

# ---- a manual system has no threads: it is named
scene_begin manual
ask -p "$still" <<END
python
try:
    gdb.execute("axo tree")
except gdb.error as error:
    print("said:", error)
end
axo use $(sed -n 's/^ready //p' "$scratch/out")
axo tree
axo where
END
says "said: axo: no thread here is a worker; .*"
says "/user/shop/till1 till idle 0 2"
scene_end
