# mutant.mk - planted bugs: does a test notice?
#
#   make mutants                    all; ONLY=07,12; SAMPLE=6 ROTATE=n: so many, others each time
#   make branch-mutants            SAMPLES=20 SEED=1: random jumps of the compiled runtime
#   make underload REPEAT=10       the quick suite on a busy machine; VARIANT=tsan
.PHONY: mutants mutant-flags branch-mutants underload run-underload
mutants:
	+$Qpython3 test/mutant/run.py --jobs $(or $(JOBS),2) $(ONLY:%=--only %) \
	  $(SAMPLE:%=--sample %) $(ROTATE:%=--rotate %)

# How this build compiles and links, for branch.py.
mutant-flags: runtime/base/status.c
	@printf '%s\n' '$(CC)' '$(filter-out -MMD -MP,$(ALL_CFLAGS))' '$(ALL_LDFLAGS)' '$(PACKAGES_LIBS)'
branch-mutants:
	$Qpython3 test/mutant/branch.py --jobs $(or $(JOBS),2) --samples $(or $(SAMPLES),20) \
	  --seed $(or $(SEED),1) $(ONLY:%=--only %)
underload:
	+$Q$(in_tests) run-underload
run-underload: $(TESTS) $(EXAMPLES)
	$Qtest/mutant/underload.sh $v $(or $(REPEAT),10) $(TESTS) $(QUOTED)
