// expect-error: submit::graph cannot run with this lane's transfer
// SPDX-License-Identifier: Apache-2.0
// A transfer during which the host copies, as transfer::staged.
#include <assay/memory/async.hpp>
#include <assay/submit/graph.hpp>
#include <assay/transfer/pinned.hpp>
#include <assay/transfer/staged.hpp>

#include <vector>

using namespace assay;
using memory = resource_of<mr::async, on::device>;
template <class Transfer>
using lane_with = lane<on::device, cuda::stream_ref, memory,
                       decltype(Transfer{}.open(on::device{}, std::declval<memory>()))>;
static_assert(submits_to<submit::graph, lane_with<transfer::pinned>>);
static_assert(!submits_to<submit::graph, lane_with<transfer::staged>>);

int main() { submit::graph{}.open(std::vector<lane_with<transfer::staged>>{}); }
