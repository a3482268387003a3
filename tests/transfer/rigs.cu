// SPDX-License-Identifier: Apache-2.0
/// @file
/// Every transfer in a rig is right under the submission modes that can run it.

#include "catch.hpp"

#include <assay/measure/instruments.cuh>
#include <assay/memory/async.hpp>
#include <assay/pool/pool.hpp>
#include <assay/rig.hpp>
#include <assay/submit/graph.hpp>
#include <assay/submit/threaded.hpp>
#include <assay/transfer/mapped.hpp>
#include <assay/transfer/overlapped.hpp>
#include <assay/transfer/pageable.hpp>
#include <assay/transfer/pinned.hpp>
#include <assay/transfer/staged.hpp>
#include <assay/workload/vector_add.cuh>

namespace {

using namespace assay;

template <class Pipeline>
void require_right(Pipeline const& what) {
  INFO(describe(what.transfer) << ", " << describe(what.submit));
  rig real{what};
  for (int buffer_set : {0, 1, 0}) {
    auto const wrong = real.verify(buffer_set);
    INFO(wrong.value_or("right"));
    REQUIRE_FALSE(wrong.has_value());
  }
}

template <class Pipeline>
void require_right_under_modes(Pipeline const& control) {
  require_right(control);
  int const threads = test::small() ? 2 : 3;
  int const items = test::small() ? 1 : 2;
  require_right(control.with(submit::concurrent{.threads = threads, .items = items}));
  require_right(control.with(submit::serialized{.threads = 2, .items = items}));
}

}  // namespace

TEST_CASE("a workload is right with every transfer", "[rig]") {
  workloads::vector_add<float> const work{.elements = test::small() ? 1'007 : 300'007};
  pipeline const control{work, on::device{0}, mr::async{}};
  require_right_under_modes(control);
  require_right_under_modes(control.with(transfer::pageable{}));
  require_right_under_modes(control.with(transfer::pinned{}));
  require_right_under_modes(control.with(transfer::mapped{}));
  require_right_under_modes(control.with(transfer::staged{}));
  require_right_under_modes(control.with(transfer::overlapped{}));
  require_right_under_modes(control.with(transfer::overlapped{9, 2}));
}

TEST_CASE("what does not block the host is recorded as a graph", "[rig]") {
  workloads::vector_add<float> const work{.elements = test::small() ? 1'007 : 300'007};
  pipeline const control{work, on::device{0}, mr::pool{.mapped = !test::small()},
                         submit::graph{.threads = 2, .items = test::small() ? 1 : 3}};
  require_right(control.with(transfer::pinned{}));
  require_right(control.with(transfer::mapped{}));
  require_right(control.with(transfer::overlapped{}));
  require_right(control.with(transfer::overlapped{9, 2}));
  require_right(control.with(transfer::overlapped{9, 2}).with(mr::async{}));
}
