# doc.mk - the manual pages, the HTML reference and guide, the amalgamation.
#
# What others may depend on, and what is then there:
#   $(MAN_LIST)      build/man/list: names of all pages below build/man, a line each; needs python3 only
#   $(DOC_LIST)      build/doc/list: names of all files below build/doc; needs python3 and pandoc
#   $(AMALGAMATION)  build/amalgamation/axo.c and axo.h; needs python3 only
.PHONY: man
DOC_SOURCES := $(wildcard include/axo/*.h tools/doc/headers.py) README.md bench/RESTART.md \
  test/conformance/entries.txt test/example/hello_supervisor.c
MAN_LIST := $(BUILD)/man/list
$(MAN_LIST): $(DOC_SOURCES) tools/doc/man.py bench/restart/options.c
	$(call say,MAN  )
	$Qmkdir -p $(@D) && python3 tools/doc/man.py $(@D)
man: $(MAN_LIST)
	$Qtools/doc/check_man.sh $(BUILD)/man

# ---- the amalgamation
.PHONY: amalgamation amalgamation-test
AMALGAMATION := $(BUILD)/amalgamation/axo.c $(BUILD)/amalgamation/axo.h
$(AMALGAMATION) &: $(wildcard include/axo/*.h runtime/*/*.[ch]) runtime/LAYERS LICENSE \
  tools/doc/headers.py tools/doc/amalgamate.py
	$(call say,ONE  )
	$Qpython3 tools/doc/amalgamate.py $(BUILD)/amalgamation
amalgamation: $(AMALGAMATION)
API_TESTS := $(filter-out $(CPP_ALL) $(PROCESS_USERS) $(RECORD_USERS) $(DURABLE_USERS) $(DURABLE_NATS_USERS) $(CLUSTER_USERS) %/class_unload_test,$(filter $B/test/api/%,$(TESTS)))
amalgamation-test: $(AMALGAMATION) $(API_TESTS) $(SHARED)
	$QWARN='$(filter-out $(WARN_gcc) $(WARN_clang),$(WARN))' WARN_gcc='$(WARN_gcc)' \
	  WARN_clang='$(WARN_clang)' LIBS='$(PACKAGES_LIBS)' test/api/amalgamation.sh \
	  $(BUILD)/amalgamation $B $(API_TESTS)

# ---- HTML
.PHONY: doc
DOC_LIST := $(BUILD)/doc/list
$(DOC_LIST): $(MAN_LIST) $(DOC_SOURCES) tools/doc/guide.py tools/doc/axo.css LICENSE \
  $(shell find README.md runtime bench test -name '*.md') $(wildcard test/example/* bench/plots/*.svg)
	$(call say,DOC  )
	$Qpython3 tools/doc/guide.py --man $(BUILD)/man $(@D)
doc: $(DOC_LIST)
	$Qpython3 tools/doc/links.py $(BUILD)/doc && echo "open $(BUILD)/doc/index.html"
