# sim.mk - the simulator's trees: what the linker puts between the parts of the runtime.
#
#   make sim-hard SEEDS=3000      with tiny limits, so that full queues and ends in portions are common
.PHONY: sim-hard
sim-hard:
	+$Q$(MAKE) --no-print-directory BUILD=$(BUILD)/sim-hard SEEDS=$(or $(SEEDS),1500) \
	  CFLAGS='$(CFLAGS) -DAXO_HARD=1' sim
SIM_WRAPPED := axo__os_mutex_lock axo__os_mutex_unlock axo__runq_init axo__runq_push_owner \
  axo__runq_take_any axo__inject_init axo__inject_push_any axo__inject_pop_any axo__wheel_add \
  axo__wheel_remove axo__wheel_pop axo__timers_fire axo__timers_fire_late axo__scheduled_close axo__texts_take \
  axo__cause_hold_texts axo__cause_unhold_texts axo__cause_drop_texts axo__grace_wait axo__grace_online \
  axo__local_retire axo__local_give_cell axo__bounded_accept_any axo__bounded_let_in_any axo__pool_alloc_slow
$B/test/sim/simsupport.a: $(patsubst %.c,$B/obj/%.o,$(filter-out %/tree_sim.c,$(wildcard test/sim/*.c)))
$B/test/sim/tree_sim: $B/test/sim/simsupport.a
$B/test/sim/tree_sim: LDFLAGS += $(SIM_WRAPPED:%=-Wl,--wrap=%)
