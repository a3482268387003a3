// SPDX-License-Identifier: Apache-2.0
// assay-uses: rmm
// RMM's resources here, and ours there. Needs RMM >= 26.06 (its headers, with the CCCL it brings,
// and its library); where they are not in reach the program says so and counts as skipped.
#include "catch.hpp"

#if __has_include(<rmm/mr/pool_memory_resource.hpp>)

#include <assay/memory/cccl.hpp>

#include <assay/core/units.hpp>
#include <assay/memory/buffer.hpp>
#include <assay/memory/counted.hpp>
#include <assay/memory/limited.hpp>
#include <assay/memory/pool.hpp>

#include <rmm/device_buffer.hpp>
#include <rmm/mr/arena_memory_resource.hpp>
#include <rmm/mr/binning_memory_resource.hpp>
#include <rmm/mr/cuda_async_memory_resource.hpp>
#include <rmm/mr/cuda_memory_resource.hpp>
#include <rmm/mr/pool_memory_resource.hpp>
#include <rmm/mr/statistics_resource_adaptor.hpp>

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
static_assert(ours_is_theirs<mr::limited_resource<rmm::mr::cuda_memory_resource>> ==
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
