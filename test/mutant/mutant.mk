# mutant.mk - planted bugs: does a test notice?
#
#   make mutants                    all; ONLY=07,12; SAMPLE=6 ROTATE=n: so many, others each time
.PHONY: mutants
mutants:
	+$Qpython3 test/mutant/run.py --jobs $(or $(JOBS),2) $(ONLY:%=--only %) \
	  $(SAMPLE:%=--sample %) $(ROTATE:%=--rotate %)
