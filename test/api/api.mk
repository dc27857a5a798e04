# api.mk - plugins that class_unload_test loads and unloads: linked with nothing but the C library.
MINDS := $(foreach n,1 2,$B/test/api/plugin/mind$n.so)
$(MINDS): $B/test/api/plugin/mind%.so: test/api/plugin/mind.c test/api/plugin/mind.h Makefile test/api/api.mk
	$(call say,CC   )
	$Qmkdir -p $(@D) && $(CC) $(filter-out -MMD -MP,$(ALL_CFLAGS)) -DMIND_VERSION=$* $(ALL_LDFLAGS) -shared -o $@ $<
$B/test/api/class_unload_test: $(MINDS)
