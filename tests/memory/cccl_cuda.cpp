// assay-test-flags: -DLIBCUDACXX_ENABLE_EXPERIMENTAL_MEMORY_RESOURCE
// SPDX-License-Identifier: Apache-2.0
// assay-grouped: no, for its flags
// Our resources as the CCCL at hand spells them: 3.0 in one way, 3.1 and later in another. Compiled
// once with the toolkit's CCCL, and once more with that of ASSAY_NEWER_CCCL_DIR if it is set.
#include <assay/memory/cccl.hpp>

#include <assay/memory/async.hpp>
#include <assay/memory/cccl_3_0.hpp>
#include <assay/memory/counted.hpp>
#include <assay/memory/managed.hpp>
#include <assay/memory/pinned.hpp>
#include <assay/pool/pool.hpp>

#include "catch.hpp"
#include "memory/limited.hpp"

namespace mr = assay::mr;
using cuda::mr::device_accessible;
using cuda::mr::host_accessible;

#if CCCL_VERSION >= 3001000

template <class R, class... Properties>
concept accepted = cuda::mr::resource_with<R, Properties...>;
template <class R>
using spelled = R;
template <class... Properties>
using reference = cuda::mr::resource_ref<Properties...>;

// And the other way round.
using theirs = cuda::mr::resource_ref<device_accessible>;
static_assert(assay::memory_resource<theirs, cuda::stream_ref>);
static_assert(assay::memory_policy<mr::borrowed<theirs>, assay::on::device>);

#else

template <class R, class... Properties>
concept accepted = cuda::mr::async_resource_with<R, Properties...>;
template <class R>
using spelled = mr::cccl_3_0<R>;
template <class... Properties>
using reference = cuda::mr::async_resource_ref<Properties...>;

#endif

static_assert(accepted<spelled<mr::cuda_malloc_resource>, device_accessible>);
static_assert(accepted<spelled<mr::async_resource>, device_accessible>);
static_assert(accepted<spelled<mr::pool_resource>, device_accessible>);
static_assert(accepted<spelled<mr::pinned_resource>, device_accessible, host_accessible>);
static_assert(accepted<spelled<mr::managed_resource>, device_accessible, host_accessible>);
static_assert(accepted<spelled<mr::counted_resource<mr::pool_resource>>, device_accessible>);
static_assert(
    accepted<spelled<assay::test::limited_resource<mr::pinned_resource>>, host_accessible>);
static_assert(!accepted<spelled<mr::pool_resource>, host_accessible>);
static_assert(!accepted<spelled<mr::counted_resource<mr::cuda_malloc_resource>>, host_accessible>);

TEST_CASE("a reference of CCCL binds to our resources and compares them") {
  spelled<mr::cuda_malloc_resource> first{mr::cuda_malloc_resource{assay::on::device{0}}};
  spelled<mr::cuda_malloc_resource> same{mr::cuda_malloc_resource{assay::on::device{0}}};
  spelled<mr::cuda_malloc_resource> other{mr::cuda_malloc_resource{assay::on::device{1}}};
  CHECK(reference<device_accessible>{first} == reference<device_accessible>{same});
  CHECK(reference<device_accessible>{first} != reference<device_accessible>{other});
}
