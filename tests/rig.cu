// SPDX-License-Identifier: Apache-2.0
/// @file
/// Rigs on a device: null_cast is right with every allocator under every mode, and stays so.

#include "catch.hpp"
#include "memory/limited.hpp"
#include "memory/poisoned_cuda.hpp"

#include <assay/core/place.hpp>
#include <assay/core/units.hpp>
#include <assay/measure/instruments.cuh>
#include <assay/memory/async.hpp>
#include <assay/memory/cuda_malloc.hpp>
#include <assay/pipeline.hpp>
#include <assay/pool/pool.hpp>
#include <assay/rig.hpp>
#include <assay/submit/graph.hpp>
#include <assay/submit/threaded.hpp>
#include <assay/workload/null_cast.cuh>

namespace {

using namespace assay;
using namespace assay::literals;

/// Not mapped under a sanitizer: initcheck of CUDA 13.0 forgets what kernels wrote to memory that
/// was mapped by the driver's calls. tests/pool/device.cu has the mapped one.
mr::pool pool(std::size_t initial_bytes) {
  return {.initial_bytes = initial_bytes, .mapped = !test::small()};
}

/// Under a sanitizer a few blocks a launch, and a few launches: racecheck loses track of more.
std::int64_t rows() { return test::small() ? 1'003 : 100'003; }
int items(int many) { return test::small() ? 2 : many; }
int threads(int many) { return test::small() ? 2 : many; }

template <class Pipeline>
void require_right(Pipeline const& what) {
  INFO(describe(what.memory) << ", " << describe(what.submit));
  rig real{what};
  for (int buffer_set : {0, 1, 0}) {
    auto const wrong = real.verify(buffer_set);
    INFO(wrong.value_or("right"));
    REQUIRE_FALSE(wrong.has_value());
  }
  auto const times = real.run(1);
  CHECK(times.wall > 0);
}

template <class Pipeline>
void require_right_under_every_mode(Pipeline const& control) {
  require_right(control.with(submit::sequential{.items = items(3)}));
  require_right(control.with(submit::concurrent{.threads = threads(4), .items = items(5)}));
  require_right(control.with(submit::serialized{.threads = threads(4), .items = items(5)}));
  require_right(
      control.with(submit::concurrent{.threads = 2, .items = items(3), .sync_per_item = true}));
}

}  // namespace

TEST_CASE("null_cast is right with every allocator under every mode", "[rig]") {
  workloads::null_cast<std::int32_t> const work{.rows = rows()};
  pipeline const control{work, on::device{0}};
  require_right_under_every_mode(control.with(mr::cuda_malloc{}));
  require_right_under_every_mode(control.with(mr::async{}));
  require_right_under_every_mode(control.with(pool(64_MiB)));
  require_right_under_every_mode(control.with(test::poisoned{pool(0)}));
  require_right(
      control.with(mr::async{}).with(submit::graph{.threads = threads(3), .items = items(4)}));
  require_right(
      control.with(pool(64_MiB)).with(submit::graph{.threads = threads(3), .items = items(4)}));
  require_right(
      control.with(pool(0)).with(submit::graph{.threads = threads(3), .items = items(4)}));
  require_right(pipeline{workloads::null_cast_fused<std::int64_t>{.rows = rows()},
                         submit::concurrent{.threads = threads(4), .items = items(5)}});
}

TEST_CASE("a live pool serves one rig after another", "[rig]") {
  auto const live = pool(64_MiB).open(on::device{0});
  pipeline const what{workloads::null_cast<float>{.rows = rows()}, live,
                      submit::concurrent{.threads = threads(4), .items = items(5)}};
  for (int i = 0; i < items(5); ++i) { require_right(what); }
}

TEST_CASE("memory that runs out fails the batch by item and cause, and nothing hangs", "[rig]") {
  workloads::null_cast<std::int32_t> const work{.rows = rows()};
  rig real{pipeline{work, test::limited{mr::async{}, test::small() ? 1_KiB : 64_KiB},
                    submit::concurrent{.threads = threads(4), .items = items(5)}}};
  CHECK_THROWS_AS(real.run(), submit::item_error);
  CHECK_THROWS_AS(real.run(), submit::item_error);
}

TEST_CASE("a device that is not there is refused by its number", "[rig]") {
  pipeline const what{workloads::null_cast<std::int32_t>{}, on::device{99}};
  CHECK_THROWS_WITH(rig{what}, assay::test::contains("device 99 does not exist"));
}
