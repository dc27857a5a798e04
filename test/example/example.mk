# example.mk - kv_server.c for long, and measured.
#
#   make soak-kv SECONDS=1800     with poison, storms, slow readers, resets; VARIANT=asan, tsan
#   make bench-s1                 beside redis-server; QUICK=1: a look at it
.PHONY: soak-kv bench-s1
soak-kv: $B/test/example/kv_server
	$Qtest/example/kv_soak.sh $< $(or $(SECONDS),60)
bench-s1: $B/test/example/kv_server
	$QQUICK='$(QUICK)' bench/s1_kv.sh $<
