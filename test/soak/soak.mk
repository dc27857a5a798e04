# soak.mk - load that goes on for long: make soak-waves SECONDS=60, soak-parks, soak-starts,
# soak-restarts.
.PHONY: soak-waves soak-parks soak-starts soak-restarts
SOAK := $B/test/soak/soak
$(SOAK): $(patsubst %,$B/obj/test/soak/%.o,soak waves restarts) $B/libaxo.a
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

# What the trace points cost a message.
.PHONY: seams
$B/test/soak/seams: $B/obj/test/soak/seams.o $B/libaxo.a
	$(call say,LINK )
	$Qmkdir -p $(@D) && $(CC) $(ALL_LDFLAGS) -o $@ $^ $(PACKAGES_LIBS)
seams:
	$Qpython3 test/soak/seams.py $(BUILD)
