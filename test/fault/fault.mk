# fault.mk - memory that is refused at each of its sites, and real parts that fail.
#
#   make fault             all of it; VARIANT=asan: in another build
#   make fault FAULT=name  only the scenes of memory whose name has it
.PHONY: fault run-fault
F := $B/fault
FAULT_SEAM := -iquote test/fault/seam
FAULT_OBJECTS := $(SOURCES:%.c=$F/%.o)
FAULT_PARTS := $(patsubst %.c,$F/%.o,$(wildcard test/fault/*.c))
# The hierarchy test, whose actors try again when they are refused.
FAULT_TREE := $(patsubst %.c,$F/%.o,$(wildcard test/support/hierarchy*.c))
FAULT_LOOP := $(filter-out %_test.o %_cut.o,$(FAULT_PARTS)) $(FAULT_TREE)
# The two that are asked stay as they are.
$F/runtime/mem/alloc.o $(FAULT_PARTS) $(FAULT_TREE): FAULT_SEAM :=
$(FAULT_TREE): FAULT_SEAM += -include test/fault/seam/again.h
$F/runtime/pattern/%.o: FAULT_SEAM += -Itest -include test/fault/seam/pattern.h
$F/%.o: %.c Makefile test/fault/fault.mk
	$(call say,CC   )
	$Qmkdir -p $(@D) && $(CC) $(FAULT_SEAM) $(ALL_CFLAGS) -Itest -c -o $@ $<$(if $(filter runtime/%,$<), && $(call mark,$@))
$F/memory_loop: $(FAULT_LOOP) $(FAULT_OBJECTS) $B/libsupport.a
	$(call say,LINK )
	$Q$(CC) $(ALL_LDFLAGS) -o $@ $^ $(PACKAGES_LIBS) -lm -lcmocka
# Real parts: the tests of this folder, and programs that are no tests of a minute.
FAULT_TESTS := $(patsubst %,$B/test/fault/%_test,thread futex signal process slow callback fork \
  forked cancel late)
FAULT_PROGRAMS := $B/test/fault/program/oversubscribed
FAULT_UNLOAD := $(if $(sanitize_$v),,$F/unload)
$(FAULT_PROGRAMS): $B/%: $B/obj/%.o $B/libaxo.a
	$(call say,LINK )
	$Qmkdir -p $(@D) && $(CC) $(ALL_LDFLAGS) -o $@ $< $B/libaxo.a $(PACKAGES_LIBS) -lm
$F/unload: $B/obj/test/fault/program/unload.o $(SHARED)
	$(call say,LINK )
	$Qmkdir -p $(@D) && $(CC) $(ALL_LDFLAGS) -o $@ $< -ldl
fault:
	+$Q$(in_tests) run-fault
run-fault: $F/memory_loop $(FAULT_TESTS) $(FAULT_PROGRAMS) $(FAULT_UNLOAD)
	$Q$F/memory_loop $(FAULT)
	$(if $(FAULT),,$Qpython3 test/fault/points.py test/fault/points.txt \
	  $(if $(FAULT_UNLOAD),,without=unload) \
	  $(foreach t,$(FAULT_TESTS) $(FAULT_PROGRAMS),$t --) \
	  $(if $(FAULT_UNLOAD),$(FAULT_UNLOAD) $(SHARED) 50 --) true)
# It loads the shared library beside its own static one.
$B/test/fault/crash_twin_test: $(if $(filter asan tsan,$v),,$(SHARED))
