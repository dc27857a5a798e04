# Makefile - builds, tests and installs axo.
#
#   make                 build/release: libaxo.a, libaxo.so, bench/axo-restart-bench, libaxo-console, -process, -record, -durable, -durable-nats, -cluster, .a and .so
#   make test            every test, debug build; VARIANT=asan: in another build
#   make conformance     the table: entry, test, result
#   make run             the main job, test/example/main_job.sh
#   make run-cluster     three nodes beside a nats-server, one is killed: test/example/cluster.sh
#   make sim SEEDS=200   whole systems in the simulator; sim-replay SEED=x or FILE=bundle repeats one
#   make sim-hard SEEDS=3000    the same with tiny limits
#   make stress SEEDS=20 the whole hierarchy stress on threads; SEED=x ITEMS=n MIXED=1 VARIANT=tsan
#   make asan tsan hard  the tests under sanitizers; with tiny limits, so that rare paths are common
#   make fuzz SECONDS=60 the fuzz targets, each so long; TARGET=fuzz_path: one; also fuzz-merge
#   make valgrind        the quick tests under memcheck; test/valgrind.txt lists those that are not
#   make aarch64         the library for aarch64, its tests under qemu-user but those of test/aarch64/qemu.txt
#   make proof           every check that fits 45 minutes, and the table of bars; proof-ci: CI's part
#   make soak            the long forms; ONLY=word: the steps of test/proof.plan with it in their name
#   make soak-kv SECONDS=1800  a key-value server under poison, storms, resets, slow readers
#   make soak-kv-cluster SECONDS=600  three nodes of one, killed one after the other under load
#   make soak-cluster SECONDS=60 RUNS=2  nodes and their nats-server, killed and stopped, beside a stranger; SEED=n
#   make soak-engine MINUTES=60  a game whose code is replaced each minute, saved each ten, twice: the same
#   make seen            probes, gdb on live and dead processes, axo-top, the console in a browser
#   make analyse         clang-tidy, cppcheck, gcc's analyser; also hardening, handlers, listings, abi, coverage
#   make instructions    of a message, a life, a restart, against those accepted; instructions-accept
#   make lint            layers, headers, symbols, style, and the self test of these checks
#   make bench           builds and runs the workloads, bench/*.c; FILTER=w8 BENCH_ARGS="--repeats 9"
#   make bench-peers     beside Erlang, CAF, Go, tokio, bare C; QUICK=1 ONLY=W1,W8a ROUNDS=5 PEERS=axo,go
#   make bench-growth    how costs grow: actors, trees, workers, messages in flight
#   make bench-lines     cache lines that a message, a spawn, a restart moves between threads
#   make bench-parts     where the time of a wake-up from outside goes
#   make bench-figures   bench-peers and bench-growth; then bench-accept writes README, baseline, plots
#   make bench-restart   axo-restart-bench, reference cases; ACCEPT=1 writes bench/RESTART-results.md
#   make bench-s1        test/example/kv_server.c beside redis-server; QUICK=1
#   make bench-crash     a crash under a server, beside restarted processes, forked workers, Erlang's port; QUICK=1
#   make bench-plot      the results of make bench as SVG and PNG in build/plots
#   make bench-test      the percentile text of the benchmarks against npm's hdr-histogram-js
#   make man doc         manual pages; an HTML reference and guide, build/doc/index.html
#   make amalgamation    build/amalgamation: the library as axo.c and axo.h; amalgamation-test tries it
#   make mutants         planted bugs, does a test notice? ONLY=07,12 SAMPLE=6
#   make underload REPEAT=10  the quick suite on a busy machine
#   make install         PREFIX=/usr/local LIBDIR= INCDIR= BINDIR= DATADIR= DOCDIR= MANDIR= DESTDIR=; the
#                        library; install-tools: axo-restart-bench, axo-top; uninstall: both, no trace is left
#   make deb             Debian packages in build/deb: libaxo0.1, libaxo-dev, libaxo-console0.1 and its -dev,
#                        the same of -process, -durable, -durable-nats and -cluster, axo-tools; CHECK=1 tests them
#   make deps FOR="lint models"  installs what these goals need; only run and test also do so
#   make clean help
#
# PGO=1 trains the release library on the workloads (bench/train.sh; gcc) and builds it in
# build/release-pgo; PGO=FILE takes a profile that was kept (build/release-pgo/obj/*/*/axo_unity.gcda).
# VARIANT is release, debug, hard, asan, tsan, sim or coverage; each has its own folder in build/. V=1 shows
# commands, FILTER=word runs only the tests whose path has it, REPEAT=n runs them n times. CC, CXX,
# CFLAGS and LDFLAGS are yours; BUILD=folder builds elsewhere; WERROR= lets warnings be warnings.
# RUNNER=command is put before each test program, BUT=file names those that are not run.
MAKEFLAGS += --no-builtin-rules
.SECONDARY .DELETE_ON_ERROR:
.PHONY: all test run-tests conformance run-conformance run run-cluster asan tsan hard \
  proof proof-ci soak defects lint bench bench-restart bench-peers bench-growth bench-lines bench-parts run-bench-parts bench-figures bench-accept \
  bench-plot bench-test install install-tools uninstall deb deps clean help
Q := $(if $(V),,@)
say = $(if $(V),,@echo "  $(1)$(@:$(BUILD)/%=%)")
BUILD ?= build
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
INCDIR ?= $(PREFIX)/include
BINDIR ?= $(PREFIX)/bin
DATADIR ?= $(PREFIX)/share
DOCDIR ?= $(DATADIR)/doc/axo
MANDIR ?= $(DATADIR)/man
export BUILD CC
export AXO_TEST_RUNNER := $(RUNNER)
VARIANTS := release debug hard asan tsan sim coverage
ifneq ($(filter-out $(VARIANTS),$(VARIANT)),)
$(error VARIANT=$(VARIANT) is unknown; it is one of: $(VARIANTS))
endif
v := $(or $(VARIANT),release)
ifneq ($(if $(PGO),$(filter-out release,$v)$(findstring clang,$(shell $(CC) --version))),)
$(error PGO=1 is for VARIANT=release and gcc)
endif
ifeq ($(wildcard $(PGO:1=/)),)
$(if $(PGO),$(error PGO=$(PGO): 1, or a profile, and there is no such file))
endif
B := $(BUILD)/$v$(if $(PGO),-pgo)
in = $(MAKE) --no-print-directory VARIANT=$(1)
in_tests = $(call in,$(or $(VARIANT),debug))
# Only these goals install packages, and not with -n, -q, -t; any other says the line that does.
FOR ?= run test
wanted := $(filter-out clean help uninstall,$(or $(MAKECMDGOALS),all))
idle := $(foreach l,n q t,$(findstring $l,$(filter-out -%,$(firstword $(MAKEFLAGS)))))
may_install := $(if $(filter-out run test deps,$(wanted))$(strip $(idle)),,--install)
ifneq ($(if $(AXO_DEPS_DONE),,$(wanted)),)
ifneq ($(shell tools/deps.sh $(may_install) $(patsubst deps,$(FOR),$(wanted)) >&2; echo $$?),0)
$(error something that the build needs is missing, see above)
endif
export AXO_DEPS_DONE := 1
endif

# ---- flags
PACKAGES_CFLAGS := $(patsubst -I%,-isystem %,$(shell pkg-config --cflags liburcu-qsbr liburcu-cds ck))
PACKAGES_LIBS := $(shell pkg-config --libs liburcu-qsbr liburcu-cds ck)
WARN_gcc := -Wcast-align=strict -Wimplicit-fallthrough=5 -Wlogical-op -Wduplicated-cond \
  -Wduplicated-branches
WARN_clang := -Wcast-align -Wimplicit-fallthrough -Wthread-safety -Wcomma -Wunreachable-code
WERROR ?= $(if $(PGO),,-Werror)
WARN := -Wall -Wextra -Wpedantic $(WERROR) -Wshadow -Wconversion -Wsign-conversion -Wcast-qual \
  -Wvla -Wundef -Wformat=2 -Wstrict-prototypes -Wmissing-prototypes -Wdouble-promotion \
  -Wswitch-enum -Walloca \
  $(WARN_$(if $(findstring clang,$(shell $(CC) --version)),clang,gcc))
# A path is 2048 bytes; the rest is the frame around it. Debug asserts say what is not null.
WARN_runtime = $(if $(filter release debug,$v),-Wframe-larger-than=2304) \
  $(if $(filter debug,$v),-Wnull-dereference) $(if $(filter $(WARN_gcc),$(WARN)),-Warith-conversion)
# What costs more than 1 % of the instructions of a message (W1) or of a short life (W6) is left out:
# -fcf-protection=full 1.6 % and 3.2 %, -ftrivial-auto-var-init=zero 0 and 3.2 %, -fno-strict-overflow
# -fno-delete-null-pointer-checks 0 and 2.2 %, -fzero-call-used-regs=used-gpr 4.2 % and 12.7 %.
flags_release := -O2 -g -DAXO_RELEASE=1 -D_FORTIFY_SOURCE=3 -fstack-protector-strong \
  -fstack-clash-protection
ifneq ($(PGO),)
TRAIN := $(BUILD)/train
PROFILE := $B/obj/$B/axo_unity.gcda
$(PROFILE:.gcda=.o): flags_release += -fprofile-use -fprofile-reproducible=multithreaded
endif
flags_debug := -O1 -g -DAXO_DEBUG=1 -fno-omit-frame-pointer
flags_hard := $(flags_debug) -DAXO_HARD=1
flags_asan := $(flags_debug) -DAXO_ASAN=1 -fno-sanitize-recover=all
flags_tsan := $(flags_debug) -DAXO_TSAN=1
flags_sim := $(flags_debug) -O2 -DAXO_SIM=1 -include runtime/os/sim_yield.h
sanitize_asan := -fsanitize=address,undefined
sanitize_tsan := -fsanitize=thread
# asserts are no branches: that folder has another base/assert.h
flags_coverage := -O0 -g -Itest/static/coverage
sanitize_coverage := --coverage -fprofile-update=atomic
# These call liburcu and CK, which the thread sanitizer cannot follow; they carry annotations.
unsanitized_tsan := runtime/queue/mpsc.c runtime/queue/runq.c runtime/mem/rcu.c runtime/os/linux.c
# cmocka hands every test a state that few of them use.
ALL_CFLAGS = -std=c11 -D_GNU_SOURCE $(WARN) $(if $(filter runtime/% $B/%,$<),$(WARN_runtime)) -pthread -fPIC -fvisibility=hidden \
  -fasynchronous-unwind-tables -ffp-contract=off -ftls-model=initial-exec $(flags_$v) $(PACKAGES_CFLAGS) -Iinclude -Iruntime \
  $(if $(filter test/%,$<),-Itest -Wno-unused-parameter) \
  $(if $(filter bench/%,$<),-DBENCH_VARIANT='"$(notdir $B)"' -DBENCH_FLAGS='"$(flags_said)"') \
  $(if $(filter tools/top/%,$<),$(if $(CURSES),-DTOP_SCREEN) $(if $(REMOTE),-DTOP_REMOTE)) \
  $(if $(filter tools/console/%,$<),-I$B/console) $(if $(filter test/unit/process/%,$<),-Itools/process) \
  $(if $(filter test/unit/cluster/% test/schedules/remote/% test/schedules/member/% test/schedules/grain/% \
    test/fuzz/fuzz_wire.c test/api/cluster_%,$<),-Itools/cluster) \
  $(if $(filter test/unit/record/% test/fuzz/fuzz_record.c,$<),-Itools/record) \
  $(if $(filter test/unit/durable/% test/api/durable_%,$<),-Itools/durable) \
  $(if $(filter tools/durable-nats/% test/unit/durable-nats/% test/api/durable_nats_%,$<),-Itools) \
  $(if $(filter bench/restart/%,$<),-Ibench -DBENCH_NAME='"axo-restart-bench"' $(if $(PROCESS),-DBENCH_PROCESS)) \
  $(if $(filter $(unsanitized_$v),$<),,$(sanitize_$v)) $(CFLAGS) -MMD -MP
ALL_CXXFLAGS = -std=c++17 -Wall -Wextra -Wpedantic $(WERROR) -Wshadow -Wconversion -Wold-style-cast \
  -pthread -fPIC -g -O1 -Iinclude $(if $(filter test/example/engine/%,$<),$(SDL_CFLAGS)) $(sanitize_$v) \
  $(CXXFLAGS) -MMD -MP
# A folder of the build is not part of what is built.
flags_said = $(strip $(subst ",,$(subst ',,$(subst \,,$(flags_$v) $(sanitize_$v) \
  $(filter-out -ffile-prefix-map=% -fdebug-prefix-map=%,$(CFLAGS))))))
ALL_LDFLAGS = -pthread -Wl,-z,relro,-z,now,-z,noexecstack,-z,separate-code $(sanitize_$v) $(LDFLAGS)

# Probes need a header and nothing when a program runs; without it they are left out (base/probe.h).
PROBES := $(filter -DAXO_NO_PROBES,$(CFLAGS))$(wildcard /usr/include/sys/sdt.h /usr/include/*/sys/sdt.h)

# ---- files
number = $(shell sed -n 's/^.define AXO_VERSION_$(1) //p' include/axo/version.h)
ABI := $(call number,MAJOR).$(call number,MINOR)
VERSION := $(ABI).$(call number,PATCH)
# What the simulator has in the place of the real: its port, its grace periods, its queues.
simulated := $(wildcard runtime/os/sim*.c runtime/*/*_sim.c)
elsewhere := $(if $(filter sim,$v),runtime/os/posix.c runtime/os/linux.c runtime/os/linux_poll.c $(patsubst \
  %_sim.c,%.c,$(filter %_sim.c,$(simulated))),$(simulated))
SOURCES := $(filter-out $(elsewhere),$(foreach l,$(shell cut -d' ' -f1 runtime/LAYERS),\
  $(sort $(wildcard runtime/$l/*.c))))
OBJECTS := $(if $(filter release,$v),$B/obj/$B/axo_unity.o,$(SOURCES:%.c=$B/obj/%.o))
SUPPORT := $(patsubst %.c,$B/obj/%.o,$(wildcard test/support/*.c))
SHARED := $B/libaxo.so.$(VERSION)
programs = $(patsubst %.c,$B/%,$(wildcard $(1)))
TESTS := $(call programs,$(patsubst %,test/%/*_test.c,unit/* conformance api fault schedules/stress))
# What is in C++ is left out where there is no compiler of it.
CPP_ALL := $(patsubst %.cpp,$B/%,$(filter-out %/ai.cpp,$(wildcard test/example/*.cpp test/example/*/*.cpp test/api/*_test.cpp)))
NO_CPP := $(if $(shell command -v $(CXX)),,$(CPP_ALL))
TESTS += $(filter-out $(NO_CPP),$(filter %_test,$(CPP_ALL)))
SIMS := $(patsubst %,$B/test/schedules/%_sim,sim/tree remote/remote member/member grain/grain)
# http_server needs a parser, which only it links: no program of its own without.
PARSER := $(if $(NO_PARSER),,$(wildcard /usr/include/http_parser.h))
# Nor the engine without what draws it.
SDL := $(if $(NO_SDL),,$(wildcard /usr/include/SDL2/SDL.h))
SDL_CFLAGS := $(if $(SDL),$(patsubst -I%,-isystem %,$(shell pkg-config --cflags sdl2)))
# libaxo-console: a library of its own, where what it stands on is there.
NO_CONSOLE ?= $(if $(filter sim,$v),sim)
CONSOLE := $(if $(NO_CONSOLE),,$(and $(wildcard /usr/include/microhttpd.h),$(wildcard /usr/include/systemd/sd-daemon.h)))
CONSOLE_LIBS := $(if $(CONSOLE),$(shell pkg-config --libs libmicrohttpd libsystemd))
CONSOLE_OBJECTS := $(patsubst %.c,$B/obj/%.o,$(wildcard tools/console/*.c))
CONSOLE_SHARED := $B/libaxo-console.so.$(VERSION)
CONSOLE_BUILT := $(if $(CONSOLE),$B/libaxo-console.a $(if $(sanitize_$v),,$(CONSOLE_SHARED)))
# libaxo-process: another.
NO_PROCESS ?= $(if $(filter sim,$v),sim)
PROCESS := $(if $(NO_PROCESS),,$(wildcard /usr/include/seccomp.h))
PROCESS_LIBS := $(if $(PROCESS),$(shell pkg-config --libs libseccomp))
PROCESS_OBJECTS := $(patsubst %.c,$B/obj/%.o,$(wildcard tools/process/*.c))
PROCESS_SHARED := $B/libaxo-process.so.$(VERSION)
PROCESS_BUILT := $(if $(PROCESS),$B/libaxo-process.a $(if $(sanitize_$v),,$(PROCESS_SHARED)))
PROCESS_TESTS := $(call programs,test/unit/process/*_test.c test/api/process_*_test.c)
$B/test/unit/process/leave_test: LDFLAGS += -Wl,--wrap=posix_memalign
PROCESS_USERS := $B/test/example/process $B/bench/w23_process $(PROCESS_TESTS)
TESTS := $(filter-out $(if $(PROCESS),,$(PROCESS_USERS)),$(TESTS))
# libaxo-cluster: another. What nodes promise each other is linked by its tests without the carrier.
NO_CLUSTER ?= $(if $(filter sim,$v),sim)
CLUSTER := $(if $(NO_CLUSTER),,$(wildcard /usr/include/nats/nats.h))
CLUSTER_LIBS := $(if $(CLUSTER),-lnats -lm)
PROMISES := link wire member phi grain lease records rendezvous
CLUSTER_OBJECTS := $(patsubst %.c,$B/obj/%.o,$(wildcard tools/cluster/*.c))
CLUSTER_SHARED := $B/libaxo-cluster.so.$(VERSION)
CLUSTER_BUILT := $(if $(CLUSTER),$B/libaxo-cluster.a $(if $(sanitize_$v),,$(CLUSTER_SHARED)))
CLUSTER_USERS := $B/test/example/cluster $B/test/example/grain $B/test/example/kv_cluster $B/test/example/log_cluster $B/bench/r1_remote $B/bench/r3_grains $(call programs,test/api/cluster_*_test.c)
TESTS := $(filter-out $(if $(CLUSTER),,$(CLUSTER_USERS)),$(TESTS))
$B/test/api/cluster_thrift_test: LDFLAGS += -Wl,--wrap=natsConnection_GetStats,--wrap=kvWatcher_Next
PROMISE_OBJECTS := $(PROMISES:%=$B/obj/tools/cluster/%.o)
PROMISE_USERS := $(call programs,test/unit/cluster/*_test.c) $(filter-out %/tree_sim,$(SIMS))
# libaxo-record: a third, which stands on nothing but libaxo.
NO_RECORD ?= $(if $(filter sim,$v),sim)
RECORD_OBJECTS := $(patsubst %.c,$B/obj/%.o,$(wildcard tools/record/*.c))
RECORD_SHARED := $B/libaxo-record.so.$(VERSION)
RECORD_BUILT := $(if $(NO_RECORD),,$B/libaxo-record.a $(if $(sanitize_$v),,$(RECORD_SHARED)))
RECORD_USERS := $B/test/example/flight_recorder $B/test/example/failure_report $B/test/example/engine/engine $B/test/fuzz/fuzz_record \
  $(call programs,test/unit/record/*_test.c test/api/record_*_test.c) \
  $(patsubst %.cpp,$B/%,$(wildcard test/api/record_*_test.cpp))
TESTS := $(filter-out $(if $(NO_RECORD),$(RECORD_USERS)),$(TESTS))
$B/test/api/record_limits_test: LDFLAGS += -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=posix_memalign
# libaxo-durable: another.
NO_DURABLE ?= $(if $(filter sim,$v),sim)
DURABLE := $(if $(NO_DURABLE),,$(wildcard /usr/include/lmdb.h))
DURABLE_LIBS := $(if $(DURABLE),-llmdb)
DURABLE_OBJECTS := $(patsubst %.c,$B/obj/%.o,$(wildcard tools/durable/*.c))
DURABLE_SHARED := $B/libaxo-durable.so.$(VERSION)
DURABLE_BUILT := $(if $(DURABLE),$B/libaxo-durable.a $(if $(sanitize_$v),,$(DURABLE_SHARED)))
DURABLE_USERS := $B/test/example/durable $B/test/example/kv_cluster $B/test/example/log_cluster $B/bench/r2_durable $B/bench/r2_durable_nats $(call programs,test/unit/durable/*_test.c test/api/durable_*_test.c)
TESTS := $(filter-out $(if $(DURABLE),,$(DURABLE_USERS)),$(TESTS))
# libaxo-durable-nats: another, on that one.
DURABLE_NATS := $(if $(DURABLE),$(if $(NO_DURABLE_NATS),,$(wildcard /usr/include/nats/nats.h)))
DURABLE_NATS_LIBS := $(if $(DURABLE_NATS),-lnats)
DURABLE_NATS_OBJECTS := $(patsubst %.c,$B/obj/%.o,$(wildcard tools/durable-nats/*.c))
DURABLE_NATS_SHARED := $B/libaxo-durable-nats.so.$(VERSION)
DURABLE_NATS_BUILT := $(if $(DURABLE_NATS),$B/libaxo-durable-nats.a $(if $(sanitize_$v),,$(DURABLE_NATS_SHARED)))
DURABLE_NATS_USERS := $B/bench/r2_durable_nats $(call programs,test/unit/durable-nats/*_test.c test/api/durable_nats_*_test.c)
TESTS := $(filter-out $(if $(DURABLE_NATS),,$(DURABLE_NATS_USERS)),$(TESTS))
BESIDE_BUILT := $(CONSOLE_BUILT) $(PROCESS_BUILT) $(RECORD_BUILT) $(DURABLE_BUILT) $(DURABLE_NATS_BUILT) $(CLUSTER_BUILT)
# axo-lockcount.o: an object that programs may link.
LOCKCOUNT := $B/axo-lockcount.o
CONSOLE_USERS := $B/test/example/console $B/test/support/console/serve $B/test/api/cluster_console_test
TESTS := $(filter-out $(if $(CONSOLE),,$(CONSOLE_USERS)),$(TESTS))
EXAMPLES := $(filter-out $(if $(PARSER),,%/http_server) $(if $(SDL),,%/engine) $(if $(CONSOLE),,$(CONSOLE_USERS)) $(if $(PROCESS),,$(PROCESS_USERS)) $(if $(NO_RECORD),$(RECORD_USERS)) $(if $(DURABLE),,$(DURABLE_USERS)) $(if $(CLUSTER),,$(CLUSTER_USERS)) $(NO_CPP),\
  $(call programs,test/example/*.c) $(filter-out %_test,$(CPP_ALL)))
BENCHES := $(filter-out $(if $(PROCESS),,$(PROCESS_USERS)) $(if $(DURABLE),,$(DURABLE_USERS)) $(if $(DURABLE_NATS),,$(DURABLE_NATS_USERS)) $(if $(CLUSTER),,$(CLUSTER_USERS)),$(call programs,bench/*.c))
TOOL := $B/bench/axo-restart-bench
# axo-top: its screen needs ncurses, what it asks of a console libcurl and jansson, the rest nothing.
TOP := $B/tools/axo-top
CURSES := $(if $(NO_CURSES),,$(wildcard /usr/include/curses.h))
CURSES_LIBS := $(if $(CURSES),$(shell pkg-config --libs ncurses 2>/dev/null || echo -lncurses -ltinfo))
REMOTE := $(if $(NO_REMOTE),,$(and $(wildcard /usr/include/curl/curl.h /usr/include/*-linux-gnu*/curl/curl.h),$(wildcard /usr/include/jansson.h)))
REMOTE_LIBS := $(if $(REMOTE),-lcurl -ljansson)
TOOL_OBJECTS := $(patsubst %.c,$B/obj/%.o,$(wildcard bench/restart/*.c))
QUOTED := $(filter-out $(NO_CPP) $(if $(PROCESS),,$(PROCESS_USERS)) $(if $(NO_RECORD),$(RECORD_USERS)) $(if $(DURABLE),,$(DURABLE_USERS)) $(if $(CLUSTER),,$(CLUSTER_USERS)),$(patsubst %.expected,$B/%,$(wildcard test/example/*.expected)))
SCRIPTS := $(if $(RUNNER),,$(if $(filter debug,$v),$(wildcard test/*/*_test.sh test/unit/*/*_test.sh)))
RUN_TESTS = python3 test/run_tests.py --logs $B/log --jobs $(or $(JOBS),2) --variant $v --repeat $(or $(REPEAT),1) \
  --waiting api/cluster_ --filter '$(FILTER)' $(BUT:%=--but %)

# ---- the library
# All code of the library lies in a section of its own, whose bounds the linker knows: sched/walk.c.
OBJCOPY ?= objcopy
mark = $(OBJCOPY) $(foreach s,.text .text.unlikely .text.unlikely. .text.hot .text.hot. .text.startup .text.exit,\
  --rename-section $s=axo_text) $(1)
all: $B/libaxo.a $(if $(sanitize_$v),,$(SHARED)) $(BESIDE_BUILT) $(LOCKCOUNT) $(TOOL) $(TOP)
	$Q$(if $(CONSOLE),:,echo "  note: no libaxo-console: Debian's libmicrohttpd-dev and libsystemd-dev")
	$Q$(if $(PROCESS),:,echo "  note: no libaxo-process: Debian's libseccomp-dev")
	$Q$(if $(DURABLE),:,echo "  note: no libaxo-durable: Debian's liblmdb-dev")
	$Q$(if $(DURABLE_NATS),:,echo "  note: no libaxo-durable-nats: Debian's libnats-dev, and liblmdb-dev")
	$Q$(if $(CLUSTER),:,echo "  note: no libaxo-cluster: Debian's libnats-dev")
	$Q$(if $(CURSES),:,echo "  note: axo-top has no screen, only --once: no curses.h; Debian's libncurses-dev")
	$Q$(if $(REMOTE),:,echo "  note: axo-top asks no console: Debian's libcurl4-openssl-dev and libjansson-dev")
	$Q$(if $(PROBES),:,echo "  note: the library has no probes (USDT): no sys/sdt.h; Debian's systemtap-sdt-dev")
$B/obj/%.o: %.c Makefile
	$(call say,CC   )
	$Qmkdir -p $(@D) && $(CC) $(ALL_CFLAGS) -c -o $@ $<$(if $(filter runtime/% $B/axo_unity.c,$<), && $(call mark,$@))
$B/axo_unity.c: $(SOURCES) runtime/LAYERS Makefile
	$Qmkdir -p $(@D) && printf '#include "%s"\n' $(SOURCES:runtime/%=%) >$@
# PGO=1: the library as the workloads use it; what they do not reach is compiled as without.
ifneq ($(PGO),)
$(OBJECTS): $(PROFILE)
ifeq ($(PGO),1)
$(PROFILE): $(SOURCES) bench/train.sh Makefile
	$(call say,TRAIN )
	+$Qrm -rf $(TRAIN) && $(MAKE) --no-print-directory PGO= WERROR= BUILD=$(TRAIN) \
	  CFLAGS='$(CFLAGS) -fprofile-generate -fprofile-update=atomic' LDFLAGS='$(LDFLAGS) -fprofile-generate' \
	  $(patsubst %,$(TRAIN)/release/%,$(basename $(wildcard bench/*.c)))
	$Qbench/train.sh $(TRAIN)/release/bench && mkdir -p $(@D) && cp "$$(find $(TRAIN) -name axo_unity.gcda)" $@
else
$(PROFILE): $(PGO)
	$Qmkdir -p $(@D) && cp $< $@
endif
endif
$B/libaxo.a: $(OBJECTS)
$B/libsupport.a: $(SUPPORT)
$(LOCKCOUNT): $B/obj/tools/lockcount/lockcount.o
	$Qcp $< $@
$B/test/fault/crash_lockcount_test: $(LOCKCOUNT)
$B/%.a:
	$(call say,AR   )
	$Qmkdir -p $(@D) && rm -f $@ && $(AR) rcs $@ $^
# Every exported name carries the version of the soname: a program of another one is told at once.
$B/libaxo.map: test/api/symbols.txt include/axo/version.h Makefile
	$Qmkdir -p $(@D) && { echo 'AXO_$(ABI) {'; echo 'global:'; sed 's/$$/;/' $<; echo 'local: *; };'; } >$@
$(SHARED): $(OBJECTS) $B/libaxo.map tools/axo_gdb.py
	$(call say,LINK )
	$Q$(CC) -shared -Wl,-soname,libaxo.so.$(ABI),--version-script=$B/libaxo.map,-z,defs $(ALL_LDFLAGS) \
	  -o $@ $(OBJECTS) $(PACKAGES_LIBS)
	$Qln -sf $(@F) $B/libaxo.so.$(ABI) && ln -sf libaxo.so.$(ABI) $B/libaxo.so
	$Qcp tools/axo_gdb.py $@-gdb.py
# The page is a part of the library.
$B/console/console_page.h: tools/console/page.html Makefile
	$Qmkdir -p $(@D) && { echo 'static const unsigned char console_page[] = {'; \
	  od -An -v -tu1 $< | sed 's/[0-9][0-9]*/&,/g'; echo '};'; } >$@
$(CONSOLE_OBJECTS): $B/console/console_page.h
# Listening, which libaxo does for its own and does not export.
CONSOLE_NET := $B/obj/runtime/os/net.o
# A library of its own, $(1), in capitals $(2), also of the objects $(3).
define beside
$B/libaxo-$(1).a: $($(2)_OBJECTS)
$B/libaxo-$(1).map: tools/$(1)/symbols.txt include/axo/version.h Makefile
	$Qmkdir -p $$(@D) && { echo 'AXO_$(2)_$(ABI) {'; echo 'global:'; sed 's/$$$$/;/' $$<; echo 'local: *; };'; } >$$@
$($(2)_SHARED): $($(2)_OBJECTS) $(3) $B/libaxo-$(1).map $(SHARED)
	$$(call say,LINK )
	$Q$$(CC) -shared -Wl,-soname,libaxo-$(1).so.$(ABI),--version-script=$B/libaxo-$(1).map,-z,defs \
	  $$(ALL_LDFLAGS) -o $$@ $($(2)_OBJECTS) $(3) $(SHARED) $($(2)_LIBS)
	$Qln -sf $$(@F) $B/libaxo-$(1).so.$(ABI) && ln -sf libaxo-$(1).so.$(ABI) $B/libaxo-$(1).so
$($(2)_USERS): $B/libaxo-$(1).a
endef
$(eval $(call beside,console,CONSOLE,$(CONSOLE_NET)))
$(eval $(call beside,process,PROCESS))
$(eval $(call beside,cluster,CLUSTER))
$B/libpromise.a: $(PROMISE_OBJECTS)
$B/libmembers.a: $(patsubst %,$B/obj/test/schedules/member/%.o,store air process ghost)
$B/test/schedules/member/member_sim: $B/libmembers.a
$B/libgrain.a: $(patsubst %,$B/obj/test/schedules/grain/%.o,air node watch)
$B/test/schedules/grain/grain_sim: $B/libgrain.a
$B/libremote.a: $(patsubst %,$B/obj/test/schedules/remote/%.o,net node actors)
$B/test/schedules/remote/remote_sim: $B/libremote.a
$(PROMISE_USERS): $B/libpromise.a
$(eval $(call beside,record,RECORD))
$(eval $(call beside,durable-nats,DURABLE_NATS,$(DURABLE_SHARED)))
$(eval $(call beside,durable,DURABLE))
$B/test/support/console/serve: $B/%: $B/obj/%.o $B/libaxo.a
	$(call say,LINK )
	$Qmkdir -p $(@D) && $(CC) $(ALL_LDFLAGS) -o $@ $< $B/libaxo-console.a $B/libaxo.a $(PACKAGES_LIBS) $(CONSOLE_LIBS)
$(TESTS) $(SIMS): $B/libsupport.a
LIBS_http_server := -lhttp_parser
LIBS_engine := -rdynamic $(if $(SDL),$(shell pkg-config --libs sdl2))
$(TESTS) $(SIMS) $(EXAMPLES) $(BENCHES) $B/test/unit/bench/percentile_text: $B/%: $B/obj/%.o $B/libaxo.a
	$(call say,LINK )
	$Qmkdir -p $(@D) && $(if $(filter $(CPP_ALL),$@),$(CXX),$(CC)) $(ALL_LDFLAGS) -o $@ $< \
	  $(filter %lockcount.o %.a,$(filter-out $B/libaxo.a,$^)) $B/libaxo.a \
	  $(PACKAGES_LIBS) $(if $(filter %console.a,$^),$(CONSOLE_LIBS)) $(if $(filter %process.a,$^),$(PROCESS_LIBS)) $(if $(filter %durable.a,$^),$(DURABLE_LIBS)) $(if $(filter %durable-nats.a,$^),$(DURABLE_NATS_LIBS)) $(if $(filter %cluster.a,$^),$(CLUSTER_LIBS)) -lm $(if $(filter %support.a,$^),-lcmocka) $(LIBS_$(@F))
$B/obj/%.o: %.cpp Makefile
	$(call say,CXX  )
	$Qmkdir -p $(@D) && $(CXX) $(ALL_CXXFLAGS) -c -o $@ $<
$(TOOL): $(TOOL_OBJECTS) $(if $(PROCESS),$B/libaxo-process.a) $B/libaxo.a
	$(call say,LINK )
	$Qmkdir -p $(@D) && $(CC) $(ALL_LDFLAGS) -o $@ $^ $(PACKAGES_LIBS) $(PROCESS_LIBS) -lm
$(TOP): $(patsubst %.c,$B/obj/%.o,$(wildcard tools/top/*.c)) $B/libaxo.a
	$(call say,LINK )
	$Qmkdir -p $(@D) && $(CC) $(ALL_LDFLAGS) -o $@ $^ $(PACKAGES_LIBS) $(CURSES_LIBS) $(REMOTE_LIBS)
-include $(shell find $B -name '*.d' 2>/dev/null)

# ---- tests
# Two tests install at the same time: what that makes is there before.
test:
	+$Q$(call in,release) all scene $(MAN) && $(in_tests) run-tests
asan tsan hard:
	+$Q$(call in,$@) run-tests
	$Qcase $@ in hard) ;; *) echo "bar 12 is 0: reports of $(sanitize_$@), $(notdir $(CC))";; esac
# What two scripts use at once is built before them: a program that is being linked cannot be started.
run-tests: $(TESTS) $(EXAMPLES) $(TOOL) $(TOP) $(if $(CONSOLE),$B/test/support/console/serve)
	$Q$(if $(PARSER),:,echo "  note: http_server is left out: no http_parser.h; Debian's libhttp-parser-dev")
	$Q$(if $(SDL),:,echo "  note: engine is left out: no SDL2/SDL.h; Debian's libsdl2-dev")
	$Q$(RUN_TESTS) $(TESTS) $(QUOTED) $(SCRIPTS)
conformance:
	+$Q$(in_tests) run-conformance
run-conformance: $(filter $B/test/conformance/%,$(TESTS))
	$Qpython3 tools/conformance.py --jobs $(or $(JOBS),2) --variant $v $^
run: all $(EXAMPLES)
	$QAXO_BUILD=$B test/example/main_job.sh
run-cluster: $(if $(CLUSTER),$B/test/example/cluster)
	$Qtest/example/cluster.sh $B/test/example/cluster
proof proof-ci soak:
	+$Qpython3 tools/proof.py $(patsubst proof-ci,ci,$@) $(ONLY:%=--only %)
defects:
	$Qpython3 tools/defects.py
bench: $(BENCHES)
	$Qmkdir -p $(BUILD)/bench && rm -f $(BUILD)/bench/results.json
	$Qset -e; for b in $^; do case $$b in *'$(FILTER)'*) $$b --json $(BUILD)/bench/results.json \
	  --percentiles $(BUILD)/bench $(BENCH_ARGS);; esac; done
bench-peers: $(BENCHES)
	+$Q$(MAKE) --no-print-directory -f bench/peers/peers.mk
	$Qpython3 bench/peers/run.py --build $(BUILD) $(if $(QUICK),--quick) $(ONLY:%=--only %) \
	  $(ROUNDS:%=--rounds %) $(WORKERS:%=--workers %) $(PEERS:%=--peers %) $(MINUTES:%=--minutes %)
bench-restart: $(TOOL)
	$Q$< --suite reference --progress --out $(BUILD)/bench/restart \
	  $(if $(ACCEPT),--markdown bench/RESTART-results.md) $(BENCH_ARGS)
G := --json $(BUILD)/bench/growth.json --repeats $(or $(REPEATS),3)
bench-growth: $(BENCHES)
	$Qmkdir -p $(BUILD)/bench && rm -f $(BUILD)/bench/growth.json
	$Qset -e; cd $(CURDIR); $B/bench/w18_actors $G; $B/bench/w19_trees $G; $B/bench/w20_flight $G; \
	  for w in 1 2 3 4 6 8; do $B/bench/w1_pingpong --pairs 1 --messages 4000000 --workers $$w $G; \
	  $B/bench/w1_pingpong --pairs 1000 --messages 4000000 --workers $$w $G; \
	  $B/bench/w3_ring --actors 1000 --tokens 100 --hops 4000000 --workers $$w $G; \
	  $B/bench/w10_big --messages 4000000 --workers $$w $G; \
	  $B/bench/w4_fanin --messages 250000 --workers $$w $G; \
	  $B/bench/w6_spawn --actors 300000 --workers $$w $G; done
bench-lines: $B/libaxo.a
	$Qpython3 bench/lines/lines.py $(BUILD) $(ONLY:%=--only %) $(WORKERS:%=--workers %) $(BENCH_ARGS)
# W12p in a library that takes stamps (base/stamp.h).
bench-parts:
	+$Q$(MAKE) --no-print-directory BUILD=$(BUILD)/parts VARIANT=release CFLAGS='$(CFLAGS) -DAXO_STAMPS=1' run-bench-parts
run-bench-parts: $B/bench/w12_foreign
	$Q$< --part 4 $(BENCH_ARGS)
bench-figures:
	+$Qr=0; $(MAKE) --no-print-directory bench-peers || r=1; \
	  $(MAKE) --no-print-directory bench-growth && exit $$r
bench-accept:
	$Qpython3 tools/figures.py --accept $(BUILD)/bench --plots $(BUILD)/plots \
	  $(if $(ANYWAY),--anyway)
bench-plot:
	$Qpython3 bench/plot.py $(BUILD)/bench $(BUILD)/plots
bench-test: $B/test/unit/bench/percentile_text
	$Qtest/unit/bench/percentile_text.sh $< $(BUILD)/npm
lint: $(SHARED) $B/libaxo.a
	$Qtools/lint.sh $(SHARED)

# ---- what proves it: each piece has its own targets
include $(wildcard test/*/*.mk)

# ---- manual pages, HTML, the amalgamation
include tools/doc/doc.mk

# ---- install: the library, and apart from it the tool; the manual pages need python3
MAN := $(if $(shell command -v python3),$(MAN_LIST))
places := DESTDIR PREFIX LIBDIR INCDIR BINDIR DATADIR DOCDIR MANDIR VERSION ABI
put = $(foreach p,$(places),$p='$($p)') tools/install/install.sh
install: $B/libaxo.a $(SHARED) $(BESIDE_BUILT) $(LOCKCOUNT) $(MAN)
	$Q$(put) library $B
install-tools: $(TOOL) $(TOP) $(MAN) | $(filter install,$(MAKECMDGOALS))
	$Q$(put) tools $B
uninstall:
	$Q$(put) uninstall
deb:
	$Qtools/deb.sh $(BUILD)/deb
ifneq ($(filter install install-tools,$(MAKECMDGOALS)),)
ifneq ($(sanitize_$v)$(filter sim,$v),)
$(error VARIANT=$v is not to be installed)
endif
endif
deps:
	@echo "nothing is missing for: $(FOR)"
clean: ; rm -rf $(BUILD)
help: ; @sed -n '/^#/!q; s/^# \{0,1\}//p' Makefile
