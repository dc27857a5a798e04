# model.mk - the Spin models of the protocols.
#
#   make models          small forms and every mutant; MODEL=mailbox: that one
#   make models-large    large forms too
#   make models-check    only whether what the models name is as it was when they were reviewed
#   make models-stamp    renews that, after a review; MODEL=mailbox
.PHONY: models models-large models-check models-stamp
MODELS_RUN := python3 test/model/run.py
models:
	$Q$(MODELS_RUN) --self-test
	$Q$(MODELS_RUN) --jobs $(or $(JOBS),2) $(MODEL)
models-large:
	$Q$(MODELS_RUN) --large $(MODEL)
models-check:
	$Q$(MODELS_RUN) --check $(MODEL)
models-stamp:
	$Q$(MODELS_RUN) --stamp $(MODEL)
