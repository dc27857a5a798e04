# aarch64.mk - the library for aarch64, by Debian's cross compiler; its tests under qemu-user.
#
#   make aarch64                 all but qemu.txt, and the table of conformance; FILTER=word, VARIANT=
#   make aarch64-build           only builds
#
# qemu-user on x86-64 keeps the orders of x86-64, so that a forgotten barrier does not show here. What
# proves the orders: `make weak` runs by the rules of aarch64, `make listings` compares what is emitted.
#
# The packages of arm64 are unpacked into build/aarch64/root. Libraries and tools that stand on others
# are left out, and so are scripts: they start programs by their names, which only qemu can.
.PHONY: aarch64 aarch64-build
ARM := $(BUILD)/aarch64
ARM_ROOT = $(abspath $(ARM))/root
ARM_LIB = $(ARM_ROOT)/usr/lib/aarch64-linux-gnu
ARM_RUNNER = qemu-aarch64 -L /usr/aarch64-linux-gnu -E LD_LIBRARY_PATH=$(ARM_LIB)
ARM_MAKE = PKG_CONFIG_LIBDIR=$(ARM_LIB)/pkgconfig PKG_CONFIG_SYSROOT_DIR=$(ARM_ROOT) \
  $(MAKE) --no-print-directory BUILD=$(ARM) CC=aarch64-linux-gnu-gcc CXX=aarch64-linux-gnu-g++ \
  AR=aarch64-linux-gnu-ar OBJCOPY=aarch64-linux-gnu-objcopy NO_PARSER=1 NO_CONSOLE=1 NO_PROCESS=1 \
  NO_CURSES=1 NO_REMOTE=1 NO_DURABLE=1 NO_CLUSTER=1 NO_SDL=1 RUNNER='$(ARM_RUNNER)' BUT=test/aarch64/qemu.txt
ARM_PACKAGES := libck-dev libck0 liburcu-dev liburcu8 libcmocka-dev libcmocka0
aarch64-build:
	$Qtools/sysroot.sh arm64 $(ARM_ROOT) $(ARM_PACKAGES)
	+$Q$(ARM_MAKE) VARIANT=release all
aarch64: aarch64-build
	+$QAXO_TEST_SCALE=$(or $(AXO_TEST_SCALE),8) $(ARM_MAKE) VARIANT=$(or $(VARIANT),debug) run-tests run-conformance
