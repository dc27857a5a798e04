# weak.mk - the checker of weak memory: litmus tests, scenarios, weakening mutants.
#
#   make weak                           all of it; what redundant.txt lists is tried for a while
#   make weak-full                      the same, and all executions of what is listed
#   make weak-replay SCENARIO=name CHOICES=0120 [MUTANT='function operation -acq']
#                                       prints one execution
#
# The product's own files are compiled, with port/ before runtime/ on the include path: its
# base/atomic.h hands every operation to the checker, its ck_pr.h those of CK.
.PHONY: weak weak-full weak-replay
WEAK := $(BUILD)/weak
WEAK_PRODUCT := $(addprefix runtime/,queue/runq.c queue/inject.c cell/lives.c cell/table.c cell/cause.c \
  cell/extra.c system/registry.c system/stream.c base/random.c $(patsubst %,sched/%.c,pool wake claim \
  newborn ready timer wheel steal find park worker spare sched fixed elastic pinned host))
WEAK_OBJECTS := $(patsubst %.c,$(WEAK)/%.o,$(wildcard test/weak/*.c) $(WEAK_PRODUCT))
WEAK_FLAGS = -std=c11 -D_GNU_SOURCE $(WARN) -O2 -g -DAXO_DEBUG=1 -DAXO_HARD=1 -Itest/weak/port \
  -Itest -Iinclude -Iruntime $(PACKAGES_CFLAGS)
$(WEAK)/%.o: %.c Makefile test/weak/weak.mk
	$Qmkdir -p $(@D) && $(CC) $(WEAK_FLAGS) -MMD -MP -c -o $@ $<
$(WEAK)/weak: $(WEAK_OBJECTS)
	$Q$(CC) -o $@ $^
-include $(WEAK_OBJECTS:.o=.d)
weak weak-full: $(WEAK)/weak
	$Qpython3 test/weak/rc11.py test/weak/litmus_table.c
	$Q$< test/weak/redundant.txt $(if $(filter weak-full,$@),full)
weak-replay: $(WEAK)/weak
	$Q$< --replay $(SCENARIO) '$(CHOICES)' $(MUTANT:%='%')
