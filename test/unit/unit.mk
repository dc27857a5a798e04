# unit.mk - tests that own the operating system's clock: what the linker puts in its place.
OWN_CLOCK := sched/share sched/idle_step sched/alone sched/keep sched/expire sched/effort sched/follow sched/follow_step
$B/test/unit/system/refs_test: LDFLAGS += -Wl,--wrap=axo__os_cpus,--wrap=axo__os_cpu_index
$(OWN_CLOCK:%=$B/test/unit/%_test): LDFLAGS += -Wl,--wrap=axo__os_now
