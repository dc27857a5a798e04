# package.mk - what is installed and packaged, built and used from outside the tree.
#
#   make package-test
.PHONY: package-test
package-test:
	+$Q$(call in,release) all
	$Qtest/package/package.sh $(BUILD)
