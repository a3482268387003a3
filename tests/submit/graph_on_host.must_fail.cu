// expect-error: submit::graph cannot run on a host lane
// SPDX-License-Identifier: Apache-2.0
#include "host_lanes.hpp"

#include <assay/submit/graph.hpp>

using namespace assay;
static_assert(!submits_to<submit::graph, test::host_test_lane>);

int main() { submit::graph{}.open(test::host_lanes(4)); }
