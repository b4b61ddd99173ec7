# Builds GoogleTest's libraries and samples, for Showdown's workload "build". Set SOURCE, INTO, CXX and CXXFLAGS.

tests := $(SOURCE)/googletest
mocks := $(SOURCE)/googlemock
headers := -I$(tests)/include -I$(tests) -I$(mocks)/include -I$(mocks)

library_sources := $(filter-out %-all.cc,$(wildcard $(tests)/src/*.cc))
other_sources := $(filter-out %-all.cc %_main.cc,$(wildcard $(mocks)/src/*.cc)) $(wildcard $(tests)/samples/*.cc)
objects = $(patsubst $(SOURCE)/%.cc,$(INTO)/%.o,$(1))

library: $(INTO)/libgtest.a
all: $(INTO)/samples
main: $(INTO)/googletest/src/gtest_main.o

$(INTO)/libgtest.a: $(call objects,$(library_sources))
	$(AR) rcs $@ $^

# sample9 and sample10 have a main function of their own.
$(INTO)/samples: $(filter-out %sample9_unittest.o %sample10_unittest.o,$(call objects,$(other_sources))) \
                 $(INTO)/libgtest.a | $(filter %sample9_unittest.o %sample10_unittest.o,$(call objects,$(other_sources)))
	$(CXX) -o $@ $^ -pthread

$(INTO)/%.o: $(SOURCE)/%.cc
	@mkdir -p $(@D)
	$(CXX) -std=c++14 $(CXXFLAGS) $(headers) -pthread -c -o $@ $<
