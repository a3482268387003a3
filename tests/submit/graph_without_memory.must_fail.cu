// expect-error: submit::graph cannot run with this lane's memory
// SPDX-License-Identifier: Apache-2.0
// Memory that cannot keep a graph's blocks, as mr::cuda_malloc's.
#include <assay/memory/cuda_malloc.hpp>
#include <assay/submit/graph.hpp>

#include <vector>

using namespace assay;
using lane_type = lane<on::device, cuda::stream_ref, resource_of<mr::cuda_malloc, on::device>>;
static_assert(!submits_to<submit::graph, lane_type>);

int main() { submit::graph{}.open(std::vector<lane_type>{}); }
