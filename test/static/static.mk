# static.mk - what is proved without running it: analysers, hardening, listings, ABI.
.PHONY: analyse suppressions hardening handlers listings listings-accept abi abi-accept \
  instructions instructions-accept run-instructions
analyse:
	$Qtest/static/analyse.sh $(BUILD)/static
suppressions:
	$Qtest/static/suppressed.sh
	$Qtest/static/asserts.py
hardening:
	+$Q$(call in,release) all
	$Qtest/static/hardening.sh $(BUILD)/release
handlers:
	+$Q$(call in,release) all
	$Qtest/static/handlers.py $(BUILD)/release
listings listings-accept:
	+$Q$(call in,release) all
	$Qtest/static/listings.py $(if $(filter %-accept,$@),--accept) $(BUILD)/release
	$Qtest/static/faces.py
LINES = python3 bench/lines/lines.py $(BUILD)
COUNTED := $(addprefix $B/bench/,w1_pingpong w3_ring w5_skynet w6_spawn w9_children w12_foreign)
instructions:
	+$Q$(call in,release) run-instructions
instructions-accept:
	+$Q$(call in,release) run-instructions ACCEPT=1
run-instructions: $(COUNTED) $B/test/schedules/soak/soak $(SHARED)
	$Q$(if $(ACCEPT),test/static/instructions.py --accept $B && $(LINES) --accept test/static/lines.txt && \
	  tools/figures.py --write,test/static/summed.py "test/static/instructions.py $B" "$(LINES) --check test/static/lines.txt")
abi abi-accept:
	+$Q$(call in,release) all
	$Qtest/static/abi.sh $(if $(filter %-accept,$@),--accept) $(BUILD)/release

# The quick suite without what is drawn by chance: coverage speaks of intent.
COVERED := $(filter $(foreach f,unit conformance api fault,$B/test/$f/%),$(TESTS))
.PHONY: coverage run-coverage
coverage:
	+$Q$(call in,coverage) run-coverage
run-coverage: $(COVERED) $(EXAMPLES)
	$Qfind $B -name '*.gcda' -delete
	$Q$(RUN_TESTS) $(COVERED) $(QUOTED) >$B/tests.log; tail -n 1 $B/tests.log
	$Qtest/static/coverage.py $B

# The quick suite under memcheck, but for those that have a reason not to be.
.PHONY: valgrind run-valgrind
valgrind:
	+$Q$(call in,debug) run-valgrind
run-valgrind: $(COVERED)
	$Q$(RUN_TESTS) --valgrind --but test/valgrind.txt $(COVERED) && echo "bar 14 is 0 / 0: errors," \
	  "blocks lost in $(words $(COVERED)) test programs under memcheck, but for test/valgrind.txt"
