# example.mk - kv_server.c for long, and measured; crashy_server.c and the engine for long.
#
#   make soak-crashy SECONDS=600  crashes beside clients that are answered
#   make soak-engine MINUTES=60   of its own time, twice: plugins, saved games; SEED=n
#   make soak-kv SECONDS=1800     with poison, storms, slow readers, resets, sockets that spoil one
#                                 call of 100; VARIANT=asan, tsan; SEED=n
#   make soak-kv-cluster SECONDS=600  three nodes, one after the other killed under load; VARIANT=asan; SEED=n
#   make soak-log-cluster KILLS=50  the log pipeline on three nodes, killed and started again; LINES=n, SEED=n
#   make bench-s1                 beside redis-server; QUICK=1: a look at it; PAIRS=n: only
#                                 io_uring beside epoll, n pairs in turns
#   make bench-crash              a crash under a server, beside other servers; QUICK=1, ROUNDS=5, CRASHES=200
.PHONY: soak-kv soak-kv-cluster soak-log-cluster soak-crashy soak-engine bench-s1 bench-crash
# No sanitizer is in it: it lies between the program and the sanitizer's own functions.
PRELOAD := $B/test/fault/preload/sockets.so
SLOW_DISK := $B/test/fault/preload/slow_disk.so
$(PRELOAD) $(SLOW_DISK): $B/%.so: %.c Makefile test/example/example.mk
	$(call say,CC   )
	$Qmkdir -p $(@D) && $(CC) -std=c11 -D_GNU_SOURCE $(WARN) -O2 -g -fPIC -pthread \
	  -fvisibility=hidden -U_FORTIFY_SOURCE $(CFLAGS) -shared -o $@ $< -ldl
soak-kv: $B/test/example/kv_server $(PRELOAD)
	$Qtest/example/kv_soak.sh $< $(or $(SECONDS),60) $(PRELOAD) $(SEED)
soak-kv-cluster: $(if $(CLUSTER),$(if $(DURABLE),$B/test/example/kv_cluster)) $(SLOW_DISK)
	$Qtest/example/kv_cluster.sh $B/test/example/kv_cluster $(or $(SECONDS),60) $(SLOW_DISK) $(SEED)
soak-log-cluster: $(if $(CLUSTER),$(if $(DURABLE),$B/test/example/log_cluster)) $B/test/example/make_access_log
	$Qtest/example/log_cluster.sh $B/test/example/log_cluster $B/test/example/make_access_log $(or $(LINES),1000000) \
	  $(or $(KILLS),50) $(SEED)
soak-crashy: $B/test/example/crashy_server
	$Qtest/example/crashy_soak.sh $< $(or $(SECONDS),60)
soak-engine: $(if $(SDL),$B/test/example/engine/engine)
	$Q$(if $(SDL),test/example/engine_soak.sh $< $(or $(MINUTES),10) $(SEED),echo "left out: no SDL2/SDL.h")
bench-s1: $B/test/example/kv_server
	$QQUICK='$(QUICK)' PAIRS='$(PAIRS)' bench/s1_kv.sh $<
bench-crash: $B/test/example/crashy_server
	$QQUICK='$(QUICK)' bench/crash.sh $<
# The two versions of plugin.c's plugin: linked with nothing but the C library.
BRAINS := $(foreach n,1 2,$B/test/example/brain/brain$n.so)
$(BRAINS): $B/test/example/brain/brain%.so: test/example/brain/brain.c test/example/brain/brain.h Makefile test/example/example.mk
	$(call say,CC   )
	$Qmkdir -p $(@D) && $(CC) $(filter-out -MMD -MP,$(ALL_CFLAGS)) -DBRAIN_VERSION=$* $(ALL_LDFLAGS) -shared -o $@ $<
$B/test/example/plugin: $(BRAINS)
# The engine's: of the axo that the engine has.
AIS := $(foreach n,1 2,$B/test/example/engine/ai$n.so)
$(AIS): $B/test/example/engine/ai%.so: test/example/engine/ai.cpp $(wildcard test/example/engine/*.hpp include/axo/*) Makefile test/example/example.mk
	$(call say,CXX  )
	$Qmkdir -p $(@D) && $(CXX) $(filter-out -MMD -MP,$(ALL_CXXFLAGS)) -fvisibility=hidden -DAI_VERSION=$* $(ALL_LDFLAGS) -shared -o $@ $<
$B/test/example/engine/engine: $(AIS)
