# fuzz.mk - the fuzz targets: libFuzzer, address and undefined sanitizers; their corpora as tests.
#
#   make fuzz TARGET=fuzz_ring SECONDS=60   one target, or all of them in turn; JOBS=2 side by side
#   make fuzz-replay                        every corpus under the sanitizers, without the fuzzer
#   make fuzz-merge                         what was found joins the corpora, as small as can be
#
# `make test` replays the corpora in every variant, but for that of fuzz_sched, which is of the
# simulator's. A target is test/fuzz/fuzz_NAME.c; what it finds is left in build/fuzz.
.PHONY: fuzz fuzz-replay fuzz-merge fuzz-programs fuzz-run
FUZZ_ALL := $(patsubst test/fuzz/%.c,%,$(wildcard test/fuzz/fuzz_*.c))
FUZZ_SIMULATED := fuzz_sched
FUZZ_HERE := $(if $(filter sim,$v),$(FUZZ_SIMULATED),$(filter-out $(FUZZ_SIMULATED),$(FUZZ_ALL)))
FUZZ_PROGRAMS := $(FUZZ_HERE:%=$B/test/fuzz/%)
FUZZ_MAIN := $(if $(FUZZING),,$B/obj/test/fuzz/replay.o) $B/obj/test/fuzz/chance.o
FUZZ_SCENES := $(patsubst %.c,$B/obj/%.o,test/schedules/fiber/stage.c $(wildcard test/schedules/fiber/scenes*.c))
FUZZ_WANTED := $(or $(TARGET),$(FUZZ_ALL))
ifneq ($v,sim)
TESTS += $(FUZZ_PROGRAMS)
run-tests: $(FUZZ_PROGRAMS)
endif
$B/test/fuzz/fuzz_api: $(patsubst %,$B/obj/test/fuzz/%.o,api calls puppet system_calls)
$B/test/fuzz/fuzz_wheel: $B/obj/test/fuzz/timers.o
$B/test/fuzz/fuzz_wire: $B/obj/tools/cluster/wire.o
$B/test/fuzz/fuzz_sched: $B/obj/test/fuzz/tree.o $(FUZZ_SCENES) $B/libsupport.a
# What references are made of is the same for each input, or none could be repeated (chance.c).
$(FUZZ_PROGRAMS): LDFLAGS += -Wl,--wrap=getrandom
$(FUZZ_PROGRAMS): $B/test/fuzz/%: $B/obj/test/fuzz/%.o $(FUZZ_MAIN) $B/libaxo.a
	$(call say,LINK )
	$Qmkdir -p $(@D) && $(CC) $(ALL_LDFLAGS) -o $@ $(filter %.o %support.a %record.a,$^) $B/libaxo.a \
	  $(PACKAGES_LIBS) -lm
fuzz-programs: $(FUZZ_PROGRAMS)
fuzz-run: $(FUZZ_PROGRAMS)
	$Qfor p in $^; do $$p || exit 1; done

# Clang's builds have a folder of their own, and tiny limits. In the simulator's the fibers tell
# the sanitizer of their stacks.
FUZZ_CLANG := FUZZING=1 CC=clang BUILD=$(BUILD)/fuzz
FUZZ_CFLAGS := -DAXO_HARD=1 -fsanitize=fuzzer-no-link
FUZZ_SANITIZE := -fsanitize=address,undefined
FUZZ_SIM_CFLAGS := $(FUZZ_SANITIZE) -fno-sanitize-recover=all -DAXO_ASAN=1 -D__SANITIZE_ADDRESS__=1
fuzz fuzz-merge:
	+$Q$(if $(filter-out $(FUZZ_SIMULATED),$(FUZZ_WANTED)),CFLAGS="$(FUZZ_CFLAGS)" \
	  LDFLAGS=-fsanitize=fuzzer $(call in,asan) $(FUZZ_CLANG) fuzz-programs)
	+$Q$(if $(filter $(FUZZ_SIMULATED),$(FUZZ_WANTED)),CFLAGS="$(FUZZ_CFLAGS) $(FUZZ_SIM_CFLAGS)" \
	  LDFLAGS="-fsanitize=fuzzer $(FUZZ_SANITIZE)" $(call in,sim) $(FUZZ_CLANG) fuzz-programs)
	$QBUILD=$(BUILD) test/fuzz/run.sh $(@:fuzz-%=%) "$(FUZZ_WANTED)" $(or $(SECONDS),60) $(or $(JOBS),1)
fuzz-replay:
	+$Q$(call in,asan) run-tests FILTER=fuzz/
	+$Q$(call in,sim) fuzz-run
