# fiber.mk - level 2 of the simulator: scenes whose threads are fibers, in many schedules.
#
#   make fiber SCHEDULES=100000      all scenes, all strategies; SCENARIO=name STRATEGY=pct:3 SEED=n
#                                    ONLY=whole: walks through all schedules; ONLY=chance: no walks
#   make fiber-replay SCENARIO=name STRATEGY=pct:3 SEED=n      one, twice, with its chart
#   make fiber-replay BUNDLE=file    one that failed: build/fiber/*.txt
#   make fiber-asan                  by chance, under the address sanitizer
#   make fiber-hard                  by chance, with tiny limits, so that rare paths are common
.PHONY: fiber fiber-replay fiber-asan fiber-hard fiber-program
FIBER := $(BUILD)/sim/test/fiber/fiber
FIBER_OBJECTS := $(patsubst %.c,$B/obj/%.o,$(wildcard test/fiber/*.c))
FIBER_ARGS = $(SCENARIO:%=--scenario %) $(STRATEGY:%=--strategy %) $(ONLY:%=--%) \
  --seed $(or $(SEED),1)

$B/test/fiber/fiber: $(FIBER_OBJECTS) $B/libsupport.a $B/libaxo.a
	$(call say,LINK )
	$Qmkdir -p $(@D) && $(CC) $(ALL_LDFLAGS) -o $@ $^ $(PACKAGES_LIBS) -lm
fiber-program: $B/test/fiber/fiber
fiber:
	+$Q$(call in,sim) fiber-program
	$Q$(FIBER) --schedules $(or $(SCHEDULES),100000) --out $(BUILD)/fiber $(FIBER_ARGS)
fiber-replay:
	+$Q$(call in,sim) fiber-program
	$Q$(FIBER) $(if $(BUNDLE),--bundle $(BUNDLE),--replay $(FIBER_ARGS))
fiber-asan:
	+$Q$(MAKE) --no-print-directory BUILD=$(BUILD)/fiber-asan SCHEDULES=$(or $(SCHEDULES),6000) \
	  ONLY=chance CFLAGS='$(CFLAGS) -fsanitize=address -DAXO_ASAN=1' \
	  LDFLAGS='$(LDFLAGS) -fsanitize=address' fiber
fiber-hard:
	+$Q$(MAKE) --no-print-directory BUILD=$(BUILD)/fiber-hard SCHEDULES=$(or $(SCHEDULES),50000) \
	  ONLY=chance CFLAGS='$(CFLAGS) -DAXO_HARD=1' fiber
