# Builds GoogleTest's libraries and samples, for Showdown's workload "build". build.py runs it in the directory of the
# objects, in which `source` is a link to the source. Compiler and flags are in the environment as SHOWDOWN_CXX and
# SHOWDOWN_CXXFLAGS, which only the shell reads, between quotes: no value of a knob is a make variable, which make would
# evaluate.

tests := source/googletest
mocks := source/googlemock
headers := -I$(tests)/include -I$(tests) -I$(mocks)/include -I$(mocks)
compile := "$$SHOWDOWN_CXX"

library_sources := $(filter-out %-all.cc,$(wildcard $(tests)/src/*.cc))
other_sources := $(filter-out %-all.cc %_main.cc,$(wildcard $(mocks)/src/*.cc)) $(wildcard $(tests)/samples/*.cc)
objects = $(patsubst source/%.cc,objects/%.o,$(1))

library: libgtest.a
all: samples
main: objects/googletest/src/gtest_main.o

libgtest.a: $(call objects,$(library_sources))
	$(AR) rcs $@ $^

# sample9 and sample10 have a main function of their own.
samples: $(filter-out %sample9_unittest.o %sample10_unittest.o,$(call objects,$(other_sources))) \
         libgtest.a | $(filter %sample9_unittest.o %sample10_unittest.o,$(call objects,$(other_sources)))
	$(compile) -o $@ $^ -pthread

objects/%.o: source/%.cc
	@mkdir -p $(@D)
	$(compile) -std=c++14 "$$SHOWDOWN_CXXFLAGS" $(headers) -pthread -c -o $@ $<
