// SPDX-License-Identifier: Apache-2.0
// assay-uses: rmm
// RMM's resources here, and ours there. Needs RMM >= 26.06 (its headers, with the CCCL it brings,
// and its library); where they are not in reach the program says so and counts as skipped.
#include "catch.hpp"
#include "memory/limited.hpp"

#if __has_include(<rmm/mr/pool_memory_resource.hpp>)

#include <assay/memory/cccl.hpp>

#include <assay/core/units.hpp>
#include <assay/memory/buffer.hpp>
#include <assay/memory/checked.hpp>
#include <assay/memory/counted.hpp>
#include <assay/memory/rmm_errors.hpp>
#include <assay/pool/pool_definitions.hpp>

#include <rmm/device_buffer.hpp>
#include <rmm/device_uvector.hpp>
#include <rmm/mr/aligned_resource_adaptor.hpp>
#include <rmm/mr/arena_memory_resource.hpp>
#include <rmm/mr/binning_memory_resource.hpp>
#include <rmm/mr/cuda_async_memory_resource.hpp>
#include <rmm/mr/cuda_memory_resource.hpp>
#include <rmm/mr/failure_callback_resource_adaptor.hpp>
#include <rmm/mr/limiting_resource_adaptor.hpp>
#include <rmm/mr/logging_resource_adaptor.hpp>
#include <rmm/mr/per_device_resource.hpp>
#include <rmm/mr/pool_memory_resource.hpp>
#include <rmm/mr/prefetch_resource_adaptor.hpp>
#include <rmm/mr/statistics_resource_adaptor.hpp>
#include <rmm/mr/thread_safe_resource_adaptor.hpp>
#include <rmm/mr/tracking_resource_adaptor.hpp>

#include <sstream>

using namespace assay;
using namespace assay::literals;

template <class R>
concept theirs_is_ours =
    memory_resource<R, ::cuda::stream_ref> && memory_policy<mr::borrowed<R>, on::device>;

static_assert(theirs_is_ours<rmm::mr::cuda_memory_resource>);
static_assert(theirs_is_ours<rmm::mr::cuda_async_memory_resource>);
static_assert(theirs_is_ours<rmm::mr::pool_memory_resource>);
static_assert(theirs_is_ours<rmm::mr::arena_memory_resource>);
static_assert(theirs_is_ours<rmm::mr::binning_memory_resource>);
static_assert(theirs_is_ours<rmm::mr::statistics_resource_adaptor>);

template <class R>
concept ours_is_theirs = ::cuda::mr::resource_with<R, ::cuda::mr::device_accessible>;

static_assert(ours_is_theirs<mr::pool_resource>);
static_assert(ours_is_theirs<mr::counted_resource<mr::pool_resource>>);
static_assert(ours_is_theirs<test::limited_resource<rmm::mr::cuda_memory_resource>> ==
              mr::is_device_accessible<rmm::mr::cuda_memory_resource>);

TEST_CASE("RMM's pool is a policy here, and our adaptors count it") {
  on::device const place{0};
  stream const lane{place};
  rmm::mr::pool_memory_resource const pool{rmm::mr::cuda_memory_resource{}, 64_MiB};
  auto counted = mr::counted{mr::borrowed<rmm::mr::pool_memory_resource>{pool}}.open(place);
  {
    auto const numbers = make_buffer<int>(1'000'000, ::cuda::stream_ref{lane}, counted);
    check(cudaMemsetAsync(const_cast<int*>(numbers.data()), 0, numbers.bytes(), lane.get()));
    CHECK(counted.stats().live_bytes == 4'000'000);
  }
  CHECK(counted.stats().live_bytes == 0);
  CHECK(counted.stats().peak_bytes == 4'000'000);
  lane.synchronize();
}

TEST_CASE("our pool serves RMM's buffers and feeds RMM's adaptors") {
  on::device const place{0};
  stream const lane{place};
  auto counted = mr::counted{mr::pool{64_MiB}}.open(place);
  {
    rmm::device_buffer const buffer{1'000'000, ::cuda::stream_ref{lane}, counted};
    CHECK(buffer.data() != nullptr);
    CHECK(counted.stats().live_bytes == 1'000'000);
  }
  CHECK(counted.stats().live_bytes == 0);
  rmm::mr::statistics_resource_adaptor watched{counted};
  void* const block = watched.allocate(lane, 4096, 256);
  CHECK(counted.stats().live_bytes == 4096);
  CHECK(watched.get_bytes_counter().value == 4096);
  watched.deallocate(lane, block, 4096, 256);
  lane.synchronize();
}

TEST_CASE("our pool is the current resource of a program of RMM's") {
  stream const lane{on::device{0}};
  // docs: current
  auto const former =
      rmm::mr::set_current_device_resource(assay::mr::pool_resource{assay::on::device{0}, 1_GiB});
  // docs: end
  {
    rmm::device_uvector<int> const numbers{1'000, ::cuda::stream_ref{lane}};
    CHECK(numbers.data() != nullptr);
  }
  rmm::mr::set_current_device_resource(former);
  lane.synchronize();
}

TEST_CASE("our pool works under every adaptor of RMM, and theirs under ours") {
  on::device const place{0};
  stream const lane{place};
  ::cuda::stream_ref const where{lane};
  auto pool = mr::checked{mr::pool{64_MiB}}.open(place);
  auto const try_it = [&](auto&& resource) {
    for (std::size_t const bytes : {std::size_t{1}, std::size_t{1'000}, 3_MiB}) {
      void* const block = resource.allocate(where, bytes, 256);
      CHECK(block != nullptr);
      check(cudaMemsetAsync(block, 1, bytes, where.get()));
      resource.deallocate(where, block, bytes, 256);
    }
    where.sync();
    CHECK(pool.stats().live_bytes == 0);
    pool.verify();
  };
  std::ostringstream log;
  try_it(rmm::mr::aligned_resource_adaptor{pool, 4096});
  try_it(rmm::mr::limiting_resource_adaptor{pool, 16_MiB});
  try_it(rmm::mr::logging_resource_adaptor{pool, log});
  try_it(rmm::mr::prefetch_resource_adaptor{pool});
  try_it(rmm::mr::statistics_resource_adaptor{pool});
  try_it(rmm::mr::thread_safe_resource_adaptor{pool});
  try_it(rmm::mr::tracking_resource_adaptor{pool});
  try_it(rmm::mr::failure_callback_resource_adaptor<>{
      mr::rmm_errors{pool}, [](std::size_t, void*) { return false; }, nullptr});
  {
    rmm::mr::binning_memory_resource bins{pool, 18, 20};  // keeps the memory of its bins
    void* const block = bins.allocate(where, 300'000, 256);
    bins.deallocate(where, block, 300'000, 256);
  }
  CHECK(pool.stats().live_bytes == 0);
  try_it(rmm::mr::limiting_resource_adaptor{mr::pool{}.open(place, rmm::mr::cuda_memory_resource{}),
                                            16_MiB});
}

TEST_CASE("a program that spills upon RMM's exception spills with our pool") {
  on::device const place{0};
  stream const lane{place};
  ::cuda::stream_ref const where{lane};
  struct spilling {
    mr::pool_resource pool;
    ::cuda::stream_ref where;
    void* spare;
    int calls = 0;
  };
  auto const pool = mr::pool{.initial_bytes = 64_MiB, .max_bytes = 64_MiB}.open(place);
  spilling state{pool, where, nullptr};
  state.spare = state.pool.allocate(where, 48_MiB);
  auto const spill = [](std::size_t, void* of) {
    auto& now = *static_cast<spilling*>(of);
    if (++now.calls > 1) { return false; }
    now.pool.deallocate(now.where, now.spare, 48_MiB);
    return true;
  };
  // docs: spill
  rmm::mr::failure_callback_resource_adaptor<> spills{assay::mr::rmm_errors{pool}, spill, &state};
  // docs: end
  void* const block = spills.allocate(where, 32_MiB, 256);
  CHECK(block != nullptr);
  CHECK(state.calls == 1);
  CHECK_THROWS_AS(spills.allocate(where, 63_MiB, 256), rmm::out_of_memory);
  CHECK(state.calls == 2);
  spills.deallocate(where, block, 32_MiB, 256);
}

#else

#include <cstdio>
#include <cstdlib>

namespace {
[[maybe_unused]] int const skipped = [] {
  std::puts("skipped: RMM is not in reach");
  std::exit(77);
  return 0;
}();
}  // namespace

#endif
