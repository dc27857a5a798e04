# peers.mk - builds the peers: make -f bench/peers/peers.mk BUILD=build
BUILD ?= build
CC ?= cc
CXX ?= c++
HERE := $(dir $(lastword $(MAKEFILE_LIST)))
OUT := $(BUILD)/bench/peers
WARN := -Wall -Wextra -Wshadow
CAF := $(patsubst $(HERE)caf/%.cpp,$(OUT)/caf.o/%.o,$(wildcard $(HERE)caf/*.cpp))
ERTS = $(shell erl -noshell -eval \
  'io:format("~s/erts-~s/include", [code:root_dir(), erlang:system_info(version)]), halt().')

# Debian's cargo, though another may come first, and Debian's sources: nothing is downloaded.
REGISTRY := /usr/share/cargo/registry
CARGO ?= $(firstword $(wildcard /usr/bin/cargo) $(shell command -v cargo))
TOKIO := $(if $(and $(CARGO),$(wildcard $(REGISTRY)/tokio-1.*)),$(OUT)/tokio)

# oneTBB where its headers are.
TBB := $(if $(wildcard /usr/include/tbb/parallel_for.h),$(OUT)/tbb)

all: $(OUT)/floor $(OUT)/place $(OUT)/go $(OUT)/caf $(OUT)/erlang/done $(TOKIO) $(TBB)
	@$(if $(TOKIO),:,rm -f $(OUT)/tokio; \
	  echo "bench-peers: tokio is left out, without cargo and librust-tokio-dev (make deps FOR=bench-peers)")
	@$(if $(TBB),:,rm -f $(OUT)/tbb; \
	  echo "bench-peers: oneTBB is left out, without libtbb-dev (make deps FOR=bench-peers)")
$(OUT)/floor: $(HERE)floor/floor.c
	@mkdir -p $(@D) && $(CC) -std=c11 -D_GNU_SOURCE -O2 $(WARN) -pthread -o $@ $<
$(OUT)/place: $(HERE)place/place.c $(HERE)../place.h $(HERE)../clock.h
	@mkdir -p $(@D) && $(CC) -std=c11 -D_GNU_SOURCE -O2 $(WARN) -pthread -o $@ $<
$(OUT)/go: $(wildcard $(HERE)go/*)
	@mkdir -p $(@D) && cd $(HERE)go && GOFLAGS=-mod=mod GO111MODULE=on go build -o $(abspath $@) .
$(OUT)/caf.o/%.o: $(HERE)caf/%.cpp $(HERE)caf/peer.h
	@mkdir -p $(@D) && $(CXX) -std=c++17 -O2 -DNDEBUG $(WARN) -pthread -c -o $@ $<
$(OUT)/tbb: $(HERE)tbb/phase.cpp
	@mkdir -p $(@D) && $(CXX) -std=c++17 -O2 -DNDEBUG $(WARN) -pthread -o $@ $< -ltbb
$(OUT)/caf: $(CAF)
	@$(CXX) -pthread -o $@ $^ -lcaf_core
$(OUT)/erlang/done: $(wildcard $(HERE)erlang/*)
	@mkdir -p $(@D) && cp $(HERE)erlang/run.sh $(@D) && erlc -Werror -o $(@D) $(HERE)erlang/*.erl
	@$(CC) -std=c11 -D_GNU_SOURCE -O2 $(WARN) -fPIC -shared -I$(ERTS) -o $(@D)/foreign.so \
	  $(HERE)erlang/foreign.c
	@touch $@
$(OUT)/tokio: $(HERE)tokio/Cargo.toml $(wildcard $(HERE)tokio/src/*)
	@rm -rf $@.src && mkdir -p $@.src && cp -r $(HERE)tokio/* $@.src
	@printf '[source.crates-io]\nreplace-with = "debian"\n[source.debian]\ndirectory = "%s"\n' \
	  $(REGISTRY) >$@.src/config.toml
	@cd $@.src && PATH=$(dir $(CARGO)):$$PATH CARGO_HOME=$(abspath $@.src) RUSTFLAGS=-Dwarnings \
	  $(CARGO) build --release --offline --quiet --target-dir $(abspath $@.target)
	@cp $@.target/release/tokio-peer $@
.PHONY: all
