# Makefile - builds, tests and installs axo.
#
#   make                   the library: build/release/libaxo.a and libaxo.so
#   make test              every test, debug build          (VARIANT=asan: another build)
#   make conformance       the table: catalogue entry, test, result
#   make run               the main job, test/example/main_job.sh
#   make sim SEEDS=200     whole systems in the simulator; sim-replay SEED=x repeats one
#   make asan | tsan       the tests under address+undefined+leak, under thread sanitizer
#   make hard              the tests with tiny limits, which make rare paths common
#   make valgrind          the tests of test/valgrind.txt
#   make lint              layers, headers, symbols, style, and the self test of these checks
#   make bench             builds and runs bench/*.c
#   make install           PREFIX=/usr/local DESTDIR= LIBDIR= INCDIR=; also uninstall
#   make clean | help
#
# VARIANT is release, debug, hard, asan, tsan or sim; each has its own folder in build/. V=1 shows the
# commands, FILTER=word runs only the tests whose name has it, REPEAT=n runs them n times.
# CC, CFLAGS and LDFLAGS are yours.

MAKEFLAGS += --no-builtin-rules
SHELL := /bin/bash
.DEFAULT_GOAL := all
.SECONDARY:
.DELETE_ON_ERROR:
Q := $(if $(V),,@)
say = $(if $(V),,@echo "  $(1)$(2:$(BUILD)/%=%)")

# ---- what is asked for -----------------------------------------------------------------------
BUILD ?= build
SEEDS ?= 200
JOBS ?= 2
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
INCDIR ?= $(PREFIX)/include
VARIANTS := release debug hard asan tsan sim
GOALS := $(or $(MAKECMDGOALS),all)
ifneq ($(VARIANT),)
ifeq ($(filter $(VARIANT),$(VARIANTS)),)
$(error VARIANT=$(VARIANT) is unknown; it is one of: $(VARIANTS))
endif
endif
v := $(or $(VARIANT),release)
B := $(BUILD)/$v
in = $(MAKE) --no-print-directory VARIANT=$(1)
tv := $(or $(VARIANT),debug)

ifneq ($(filter-out clean help uninstall,$(GOALS)),)
ifeq ($(AXO_DEPS_DONE),)
ifneq ($(shell tools/deps.sh $(GOALS) >&2; echo $$?),0)
$(error something that the build needs is missing, see above)
endif
export AXO_DEPS_DONE := 1
endif
endif
export BUILD CC

# ---- flags -----------------------------------------------------------------------------------
PACKAGES := liburcu-qsbr liburcu-cds ck
PACKAGES_CFLAGS := $(patsubst -I%,-isystem %,$(shell pkg-config --cflags $(PACKAGES) 2>/dev/null))
PACKAGES_LIBS := $(shell pkg-config --libs $(PACKAGES) 2>/dev/null)
WARN := -Wall -Wextra -Wpedantic -Werror -Wshadow -Wconversion -Wsign-conversion -Wcast-qual \
  -Wvla -Wundef -Wformat=2 -Wstrict-prototypes -Wmissing-prototypes -Wdouble-promotion \
  -Wimplicit-fallthrough
flags_release := -O2 -g -DAXO_RELEASE=1 -D_FORTIFY_SOURCE=2 -fstack-protector-strong
flags_debug := -O1 -g -DAXO_DEBUG=1 -fno-omit-frame-pointer
flags_hard := $(flags_debug) -DAXO_HARD=1
flags_asan := $(flags_debug) -DAXO_ASAN=1 -fno-sanitize-recover=all
flags_tsan := $(flags_debug) -DAXO_TSAN=1
flags_sim := $(flags_debug) -DAXO_SIM=1
sanitize_asan := -fsanitize=address,undefined
sanitize_tsan := -fsanitize=thread
ALL_CFLAGS = -std=c11 -D_GNU_SOURCE $(WARN) -pthread -fPIC -fvisibility=hidden \
  -ftls-model=initial-exec $(flags_$v) $(PACKAGES_CFLAGS) -Iinclude -Iruntime
ALL_LDFLAGS = -pthread -Wl,-z,relro,-z,now $(sanitize_$v) $(LDFLAGS)
# These call liburcu and CK, which the thread sanitizer cannot follow; they carry annotations.
UNSANITIZED_tsan := runtime/queue/%.c runtime/mem/grace.c runtime/os/linux.c
sanitize = $(if $(filter $(UNSANITIZED_$v),$(1)),,$(sanitize_$v))

# ---- files -----------------------------------------------------------------------------------
version = $(shell sed -n 's/^.define AXO_VERSION_$(1) //p' include/axo/version.h)
ABI := $(call version,MAJOR).$(call version,MINOR)
VERSION := $(ABI).$(call version,PATCH)
LAYERS := $(shell cut -d' ' -f1 runtime/LAYERS)
NOT_HERE := $(if $(filter sim,$v),runtime/os/posix.c runtime/os/linux.c,runtime/os/sim.c)
SOURCES := $(filter-out $(NOT_HERE),$(foreach l,$(LAYERS),$(sort $(wildcard runtime/$l/*.c))))
SUPPORT := $(patsubst %.c,$B/obj/%.o,$(wildcard test/support/*.c))
program = $(patsubst %.c,$B/%,$(wildcard $(1)))
TESTS := $(call program,test/unit/*/*_test.c test/conformance/*_test.c test/api/*_test.c \
  test/fault/*_test.c test/stress/*_test.c)
SIMS := $(call program,test/sim/*.c)
EXAMPLES := $(call program,test/example/*.c)
BENCHES := $(call program,bench/*.c)
SCRIPTS := $(wildcard test/*/*_test.sh)
ifeq ($v,release)
OBJECTS := $B/axo_unity.o
else
OBJECTS := $(SOURCES:%.c=$B/obj/%.o)
endif
SHARED := $B/libaxo.so.$(VERSION)
RUN_TESTS = python3 test/run_tests.py --jobs $(JOBS) --variant $v $(if $(FILTER),--filter '$(FILTER)') \
  $(if $(REPEAT),--repeat $(REPEAT))

# ---- the library -----------------------------------------------------------------------------
.PHONY: all tests run-tests test conformance run sim sim-replay asan tsan hard valgrind lint bench \
  install uninstall clean help programs run-conformance run-valgrind
all: $B/libaxo.a $(if $(sanitize_$v),,$(SHARED))

$B/obj/%.o: %.c Makefile
	$(call say,CC   ,$@)
	$Qmkdir -p $(@D)
	$Q$(CC) $(ALL_CFLAGS) $(if $(filter runtime/%,$<),,-Itest -Wno-unused-parameter) \
	  $(call sanitize,$<) $(CFLAGS) -MMD -MP -c -o $@ $<
$B/axo_unity.c: $(SOURCES) runtime/LAYERS Makefile
	$Qmkdir -p $(@D)
	$Qprintf '#include "%s"\n' $(SOURCES:runtime/%=%) >$@
$B/axo_unity.o: $B/axo_unity.c
	$(call say,CC   ,$@)
	$Q$(CC) $(ALL_CFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<
$B/libaxo.a: $(OBJECTS)
$B/libsupport.a: $(SUPPORT)
%.a:
	$(call say,AR   ,$@)
	$Qmkdir -p $(@D) && rm -f $@ && $(AR) rcs $@ $^
$(SHARED): $(OBJECTS)
	$(call say,LINK ,$@)
	$Q$(CC) -shared -Wl,-soname,libaxo.so.$(ABI) -Wl,-z,defs $(ALL_LDFLAGS) -o $@ $^ $(PACKAGES_LIBS)
	$Qln -sf $(@F) $B/libaxo.so.$(ABI) && ln -sf libaxo.so.$(ABI) $B/libaxo.so

# ---- programs --------------------------------------------------------------------------------
programs: $(TESTS) $(EXAMPLES)
$(EXAMPLES) $(BENCHES): $B/%: $B/obj/%.o $B/libaxo.a
	$(call say,LINK ,$@)
	$Qmkdir -p $(@D) && $(CC) $(ALL_LDFLAGS) -o $@ $^ $(PACKAGES_LIBS) -lm
$(TESTS) $(SIMS): $B/%: $B/obj/%.o $B/libsupport.a $B/libaxo.a
	$(call say,LINK ,$@)
	$Qmkdir -p $(@D) && $(CC) $(ALL_LDFLAGS) -o $@ $^ $(PACKAGES_LIBS) -lcmocka -lm
-include $(shell find $B -name '*.d' 2>/dev/null)

# ---- tests -----------------------------------------------------------------------------------
test:
	$Q$(call in,release) all
	$Q$(call in,$(tv)) run-tests
run-tests: $(TESTS) $(EXAMPLES)
	$Q$(RUN_TESTS) $(TESTS) $(if $(sanitize_$v),,$(SCRIPTS))
asan tsan hard:
	$Q$(call in,$@) run-tests
conformance:
	$Q$(call in,$(tv)) run-conformance
run-conformance: $(filter $B/test/conformance/%,$(TESTS))
	$Qpython3 tools/conformance.py --jobs $(JOBS) --variant $v $^
run: $B/libaxo.a $(EXAMPLES)
	$QBUILD=$B test/example/main_job.sh
sim:
	$Q$(call in,sim) $(BUILD)/sim/test/sim/tree_sim
	$Q$(BUILD)/sim/test/sim/tree_sim --seeds $(SEEDS)
sim-replay:
	$Q$(call in,sim) $(BUILD)/sim/test/sim/tree_sim
	$Q$(BUILD)/sim/test/sim/tree_sim --seed $(or $(SEED),$(error sim-replay needs SEED=number))
valgrind:
	$Q$(call in,debug) run-valgrind
run-valgrind: $(addprefix $B/,$(shell sed 's/\#.*//' test/valgrind.txt 2>/dev/null))
	$Q$(RUN_TESTS) --valgrind $^
bench: $(BENCHES)
	$Qset -e; for b in $^; do $$b; done
lint: $(SHARED)
	$Qtools/lint.sh $(SHARED)

# ---- install ---------------------------------------------------------------------------------
install: all
	install -d $(DESTDIR)$(INCDIR)/axo $(DESTDIR)$(LIBDIR)/pkgconfig
	install -m 644 include/axo/*.h $(DESTDIR)$(INCDIR)/axo
	install -m 644 $B/libaxo.a $(DESTDIR)$(LIBDIR)
	install -m 755 $(SHARED) $(DESTDIR)$(LIBDIR)
	ln -sf libaxo.so.$(VERSION) $(DESTDIR)$(LIBDIR)/libaxo.so.$(ABI)
	ln -sf libaxo.so.$(ABI) $(DESTDIR)$(LIBDIR)/libaxo.so
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR:$(PREFIX)/%=$${prefix}/%)|' \
	  -e 's|@INCDIR@|$(INCDIR:$(PREFIX)/%=$${prefix}/%)|' \
	  -e 's|@VERSION@|$(VERSION)|' -e 's|@LIBS@|$(PACKAGES_LIBS)|' tools/axo.pc.in \
	  >$(DESTDIR)$(LIBDIR)/pkgconfig/axo.pc
uninstall:
	rm -rf $(DESTDIR)$(INCDIR)/axo
	rm -f $(DESTDIR)$(LIBDIR)/libaxo.{a,so,so.$(ABI),so.$(VERSION)} \
	  $(DESTDIR)$(LIBDIR)/pkgconfig/axo.pc
clean:
	rm -rf $(BUILD)
help:
	@sed -n '/^#/!q; s/^# \{0,1\}//p' Makefile
