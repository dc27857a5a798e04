# seen.mk - a running or a crashed process looked at from outside: probes, gdb, the board.
#
#   make seen    the scripts of test/seen and the console's page in a browser, which make test runs too;
#                what is not installed is left out
.PHONY: seen scene
$B/test/seen/scene: $B/obj/test/seen/scene.o $(SHARED)
	$(call say,LINK )
	$Qmkdir -p $(@D) && $(CC) $(ALL_LDFLAGS) -o $@ $< -L$B -laxo -Wl,-rpath,'$$ORIGIN/../..'
scene: $B/test/seen/scene
seen:
	+$Q$(call in,release) all scene
	$Q$(RUN_TESTS) $(wildcard test/seen/*_test.sh) test/api/console_page_test.sh
