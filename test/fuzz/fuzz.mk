# fuzz.mk - the fuzz targets: libFuzzer with address and undefined sanitizers; their corpora as tests.
#
#   make fuzz TARGET=fuzz_ring SECONDS=60   one target, or all of them in turn; JOBS=2 side by side
#   make fuzz-replay                        every corpus under the sanitizers, without the fuzzer
#   make fuzz-merge                         what was found joins the corpora, as small as can be
#
# `make test` replays the corpora in every variant. A target is test/fuzz/fuzz_NAME.c; what it finds
# is left in build/fuzz.
.PHONY: fuzz fuzz-replay fuzz-merge fuzz-programs
FUZZ_TARGETS := $(patsubst test/fuzz/%.c,%,$(wildcard test/fuzz/fuzz_*.c))
FUZZ_PROGRAMS := $(FUZZ_TARGETS:%=$B/test/fuzz/%)
FUZZ_MAIN := $(if $(FUZZING),,$B/obj/test/fuzz/replay.o)
fuzz_run = BUILD=$(BUILD) test/fuzz/run.sh $(1) "$(or $(TARGET),$(FUZZ_TARGETS))"
TESTS += $(FUZZ_PROGRAMS)
run-tests: $(FUZZ_PROGRAMS)
$(FUZZ_PROGRAMS): $B/test/fuzz/%: $B/obj/test/fuzz/%.o $(FUZZ_MAIN) $B/libaxo.a
	$(call say,LINK )
	$Qmkdir -p $(@D) && $(CC) $(ALL_LDFLAGS) -o $@ $(filter %.o,$^) $B/libaxo.a $(PACKAGES_LIBS) -lm
fuzz-programs: $(FUZZ_PROGRAMS)

# Clang's build of them has a folder of its own, and tiny limits.
fuzz fuzz-merge:
	+$QFUZZING=1 CC=clang CFLAGS="-DAXO_HARD=1 -fsanitize=fuzzer-no-link" LDFLAGS=-fsanitize=fuzzer \
	  $(MAKE) --no-print-directory VARIANT=asan BUILD=$(BUILD)/fuzz fuzz-programs
	$Q$(call fuzz_run,$(@:fuzz-%=%)) $(or $(SECONDS),60) $(or $(JOBS),1)
fuzz-replay:
	+$Q$(call in,asan) run-tests FILTER=fuzz/
