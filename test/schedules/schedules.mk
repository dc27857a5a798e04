# schedules.mk - the levels of schedules: threads (stress, soak), steps (sim), fibers (fiber), the orders of
# memory (weak); and the protocols' models (model). test/README.md says what each of them finds.

# ---- sim: the simulator's trees: what the linker puts between the parts of the runtime.
#
#   make sim SEEDS=200            the corpus, then so many seeds
#   make sim-replay SEED=x        one of them again; or FILE=bundle
#   make sim-hard SEEDS=3000      with tiny limits, so that full queues and ends in portions are common
.PHONY: sim sim-replay sim-hard
sim sim-replay:
	+$Q$(call in,sim) $(BUILD)/sim/test/schedules/sim/tree_sim
	$Q$(if $(filter sim,$@),$(BUILD)/sim/test/schedules/sim/tree_sim --corpus test/schedules/sim/corpus)
	$Q$(BUILD)/sim/test/schedules/sim/tree_sim $(if $(filter sim,$@),--seeds $(or $(SEEDS),200),\
	  $(if $(FILE),--replay $(FILE),--seed $(or $(SEED),$(error sim-replay needs SEED=number or FILE=bundle))))
sim-hard:
	+$Q$(MAKE) --no-print-directory BUILD=$(BUILD)/sim-hard SEEDS=$(or $(SEEDS),1500) \
	  CFLAGS='$(CFLAGS) -DAXO_HARD=1' sim
SIM_WRAPPED := axo__os_mutex_lock axo__os_mutex_unlock axo__runq_init axo__runq_push_owner \
  axo__runq_take_any axo__inject_init axo__inject_push_any axo__inject_pop_any axo__wheel_add \
  axo__wheel_remove axo__wheel_pop axo__timers_fire axo__timers_fire_late axo__io_found axo__io_feed axo__scheduled_close axo__texts_take \
  axo__cause_hold_texts axo__cause_unhold_texts axo__cause_drop_texts axo__grace_wait axo__grace_poll axo__grace_online \
  axo__local_retire axo__local_give_cell axo__bounded_accept_any axo__bounded_let_in_any axo__pool_alloc_slow \
  axo__os_close read sendmsg shutdown close fcntl getsockopt setsockopt socket bind listen accept4 getsockname getpeername
$B/test/schedules/sim/simsupport.a: $(patsubst %.c,$B/obj/%.o,$(filter-out %/tree_sim.c,$(wildcard test/schedules/sim/*.c)))
$B/test/schedules/sim/tree_sim: $B/test/schedules/sim/simsupport.a
$B/test/schedules/sim/tree_sim: LDFLAGS += $(SIM_WRAPPED:%=-Wl,--wrap=%)

# ---- nodes, each in one program on one thread, by seed:
#   remote   systems that know each other as nodes, and what carries messages between them
#   member   who is there: members, their clocks, a store, a network
#   grain    grains of several nodes, the store that they claim names in, clocks that do not agree
#
#   make remote-sim SEEDS=20000      so many seeds, from SEED on
#   make member-sim SEEDS=1 SEED=7   one of them again; with MEMBER_SIM_SAY=1 it says what happens
.PHONY: remote-sim member-sim grain-sim
remote-sim member-sim grain-sim: %-sim:
	+$Q$(in_tests) $(BUILD)/$(or $(VARIANT),debug)/test/schedules/$*/$*_sim
	$Q$(BUILD)/$(or $(VARIANT),debug)/test/schedules/$*/$*_sim --seeds $(or $(SEEDS),2000) $(or $(SEED),1)

# ---- nodes as processes, beside a nats-server: nodes and the server are killed and stopped, a stranger
# publishes what is to be refused; RUNS from SEED on, of SECONDS each, by turns with each membership.
.PHONY: soak-cluster
NODE := $B/test/schedules/nodes/node
$(NODE): LDFLAGS += -Wl,--wrap=clock_gettime
$(NODE): $B/obj/test/schedules/nodes/node.o $B/libaxo-cluster.a $B/libaxo.a
	$(call say,LINK )
	$Qmkdir -p $(@D) && $(CC) $(ALL_LDFLAGS) -o $@ $^ $(PACKAGES_LIBS) $(CLUSTER_LIBS)
soak-cluster: $(if $(CLUSTER),$(NODE))
	$Q$(if $(CLUSTER),python3 test/schedules/nodes/soak.py $< --seconds $(or $(SECONDS),60) --runs $(or $(RUNS),2) \
	  --seed $(or $(SEED),1) $(if $(sanitize_$v),--sanitized),echo "left out: libnats is not there; Debian's libnats-dev")

# ---- fiber: level 2 of the simulator: scenes whose threads are fibers, in many schedules.
#
#   make fiber SCHEDULES=100000      all scenes, all strategies; SCENARIO=name STRATEGY=pct:3 SEED=n
#                                    ONLY=whole: walks through all schedules; ONLY=chance: no walks
#   make fiber-replay SCENARIO=name STRATEGY=pct:3 SEED=n      one, twice, with its chart
#   make fiber-replay BUNDLE=file    one that failed: build/fiber/*.txt
#   make fiber-asan                  by chance, under the address sanitizer
#   make fiber-hard                  by chance, with tiny limits, so that rare paths are common
.PHONY: fiber fiber-replay fiber-asan fiber-hard fiber-program
FIBER := $(BUILD)/sim/test/schedules/fiber/fiber
FIBER_OBJECTS := $(patsubst %.c,$B/obj/%.o,$(wildcard test/schedules/fiber/*.c))
FIBER_ARGS = $(SCENARIO:%=--scenario %) $(STRATEGY:%=--strategy %) $(ONLY:%=--%) \
  --seed $(or $(SEED),1)

$B/test/schedules/fiber/fiber: $(FIBER_OBJECTS) $B/libsupport.a $B/libaxo.a
	$(call say,LINK )
	$Qmkdir -p $(@D) && $(CC) $(ALL_LDFLAGS) -o $@ $^ $(PACKAGES_LIBS) -lm
fiber-program: $B/test/schedules/fiber/fiber
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

# ---- weak: the checker of weak memory: litmus tests, scenarios, weakening mutants.
#
#   make weak                           all of it; what redundant.txt lists is tried for a while
#   make weak-full                      the same, and all executions of what is listed
#   make weak RULES=aarch64             the code of aarch64, by what that promises beyond C11
#   make weak-replay SCENARIO=name CHOICES=0120 [MUTANT='function operation -acq']
#                                       prints one execution
#
# The product's own files are compiled, with port/ before runtime/ on the include path: its
# base/atomic.h hands every operation to the checker, its ck_pr.h those of CK.
.PHONY: weak weak-full weak-replay
WEAK := $(BUILD)/weak$(RULES:%=-%)
WEAK_PRODUCT := $(addprefix runtime/,queue/runq.c queue/inject.c cell/lives.c cell/table.c cell/cause.c \
  cell/extra.c os/file.c os/out.c system/registry.c system/stream.c base/aside.c base/random.c $(patsubst %,sched/%.c,pool wake claim \
  newborn ready board figures follow timer wheel keep expire steal find park crew worker spare sched fixed elastic pinned host lent \
  quiesce) mem/grace.c)
WEAK_OBJECTS := $(patsubst %.c,$(WEAK)/%.o,$(wildcard test/schedules/weak/*.c) $(WEAK_PRODUCT))
WEAK_FLAGS = -std=c11 -D_GNU_SOURCE $(WARN) -O2 -g -DAXO_DEBUG=1 -DAXO_HARD=1 -Itest/schedules/weak/port \
  -Itest -Iinclude -Iruntime $(PACKAGES_CFLAGS) $(if $(RULES:aarch64=),$(error RULES=$(RULES): aarch64)) \
  $(if $(RULES),-DAXO__CK_RIGHT=0)
$(WEAK)/%.o: %.c Makefile test/schedules/schedules.mk
	$Qmkdir -p $(@D) && $(CC) $(WEAK_FLAGS) -MMD -MP -c -o $@ $<
$(WEAK)/weak: $(WEAK_OBJECTS)
	$Q$(CC) -o $@ $^
-include $(WEAK_OBJECTS:.o=.d)
weak weak-full: $(WEAK)/weak
	$Qpython3 test/schedules/weak/rc11.py test/schedules/weak/litmus_table.c
	$Q$< test/schedules/weak/redundant.txt $(if $(filter weak-full,$@),full)
weak-replay: $(WEAK)/weak
	$Q$< --replay $(SCENARIO) '$(CHOICES)' $(MUTANT:%='%')

# ---- model: the Spin models of the protocols.
#
#   make models          small forms and every mutant; MODEL=mailbox: that one
#   make models-large    large forms too
#   make models-check    only whether what the models name is as it was when they were reviewed
#   make models-stamp    renews that, after a review; MODEL=mailbox
.PHONY: models models-large models-check models-stamp
MODELS_RUN := python3 test/schedules/model/run.py
models:
	$Q$(MODELS_RUN) --self-test
	$Q$(MODELS_RUN) --jobs $(or $(JOBS),2) $(MODEL)
models-large:
	$Q$(MODELS_RUN) --large $(MODEL)
models-check:
	$Q$(MODELS_RUN) --check $(MODEL)
models-stamp:
	$Q$(MODELS_RUN) --stamp $(MODEL)

# ---- stress: the whole hierarchy on threads
#
#   make stress SEEDS=20     SEED=x ITEMS=n WORKERS=n MIXED=1 VARIANT=tsan
.PHONY: stress run-stress
stress:
	+$Q$(in_tests) run-stress
run-stress: $B/test/schedules/stress/hierarchy_test
	$Q$< --seeds $(or $(SEEDS),20) --seed $(or $(SEED),1) --items $(or $(ITEMS),500000) \
	  --workers $(or $(WORKERS),0) --mixed $(or $(MIXED),0)

# ---- soak: load that goes on for long: make soak-waves SECONDS=60, soak-parks, soak-starts,
# soak-restarts, soak-transfer BYTES=1073741824, soak-crashes, soak-crash-steps,
# soak-processes, soak-durable.
.PHONY: soak-waves soak-parks soak-starts soak-restarts soak-transfer
SOAK := $B/test/schedules/soak/soak
$(SOAK): $(patsubst %,$B/obj/test/schedules/soak/%.o,soak waves restarts) $B/libaxo.a
	$(call say,LINK )
	$Qmkdir -p $(@D) && $(CC) $(ALL_LDFLAGS) -o $@ $^ $(PACKAGES_LIBS)
soak-waves: $(SOAK)
	$Q$< waves $(or $(SECONDS),60)
soak-parks: $(SOAK)
	$Q$< parks $(or $(COUNT),1000000)
soak-starts: $(SOAK)
	$Q$< starts $(or $(COUNT),200)
soak-restarts: $(SOAK)
	$Q$< restarts $(or $(COUNT),16777216)
soak-transfer: $(SOAK)
	$Q$< transfer $(or $(BYTES),1073741824)

# Crashes at any instruction, in the release library: what is inlined counts.
.PHONY: soak-crashes
soak-crashes: $B/test/fault/crash_random_test
	$QAXO_CRASHES=$(or $(COUNT),1000000) $<

# Actors in processes, and whatever may happen to them, or they may say; COUNT worlds from SEED on.
.PHONY: soak-processes
soak-processes: $B/test/api/process_random_test $B/test/unit/process/liar_test
	$Qfor test in $^; do \
	  AXO_PROCESS_WORLDS=$(or $(COUNT),1000) AXO_SEED=$(or $(SEED),1) $$test || exit 1; \
	done

# A process with a store, killed at COUNT moments; then files torn at as many places.
.PHONY: soak-durable
soak-durable: $B/test/api/durable_kill_test $B/test/api/durable_disk_test $(if $(DURABLE_NATS),$B/test/api/durable_nats_kill_test)
	$Q$< $(or $(COUNT),2000) $(or $(SEED),$(shell date +%s))
	$Q$B/test/api/durable_disk_test tear $(or $(COUNT),2000) $(or $(SEED),$(shell date +%s))
	$Q$(if $(DURABLE_NATS),$B/test/api/durable_nats_kill_test $(or $(COUNT),2000) $(or $(SEED),$(shell date +%s)),:)

# A crash at each instruction of a callback, or at every so-manieth.
.PHONY: soak-crash-steps
soak-crash-steps: $B/test/fault/crash_step_test
	$QAXO_STRIDE=$(or $(STRIDE),1) $<

# What the trace points cost a message.
.PHONY: seams
$B/test/schedules/soak/seams: $B/obj/test/schedules/soak/seams.o $B/libaxo.a
	$(call say,LINK )
	$Qmkdir -p $(@D) && $(CC) $(ALL_LDFLAGS) -o $@ $^ $(PACKAGES_LIBS)
seams:
	$Qpython3 test/schedules/soak/seams.py $(BUILD)
