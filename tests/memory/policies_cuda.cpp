// SPDX-License-Identifier: Apache-2.0
// What device policies say and refuse before they touch a device.
#include "catch.hpp"

#include <assay/core/units.hpp>
#include <assay/memory/async.hpp>
#include <assay/memory/counted.hpp>
#include <assay/memory/managed.hpp>
#include <assay/memory/pinned.hpp>
#include <assay/pool/pool.hpp>
#include <assay/pool/slab_heap.hpp>

using namespace assay;
using namespace assay::literals;

namespace {

static_assert(memory_policy<mr::counted<mr::pool>, on::device>);
static_assert(!memory_policy<mr::pool, on::host>);
static_assert(capturable_memory<mr::counted_resource<mr::pool_resource>, ::cuda::stream_ref>);
static_assert(capturable_memory<mr::async_resource, ::cuda::stream_ref>);
static_assert(!capturable_memory<mr::cuda_malloc_resource, ::cuda::stream_ref>);

template <class R>
concept releases = requires(R& resource, ::cuda::stream_ref stream) { resource.release(stream); };
static_assert(releases<mr::counted_resource<mr::pool_resource>>);
static_assert(!releases<mr::counted_resource<mr::async_resource>>);
static_assert(
    !capturable_memory<mr::counted_resource<mr::cuda_malloc_resource>, ::cuda::stream_ref>);

}  // namespace

TEST_CASE("a pool that cannot fit names both sizes") {
  on::device const card{3};
  CHECK(test::message_of([&] { mr::pool{10_GiB}.require_fit(8_GiB, card); }) ==
        "mr::pool: initial_bytes 10 GiB is more than device 3 has: 8 GiB");
  CHECK(test::message_of([&] { mr::pool{.max_bytes = 9_GiB}.require_fit(8_GiB, card); }) ==
        "mr::pool: max_bytes 9 GiB is more than device 3 has: 8 GiB");
  CHECK(test::message_of([&] {
          mr::pool{.initial_bytes = 4_GiB, .max_bytes = 2_GiB}.require_fit(8_GiB, card);
        }) == "mr::pool: initial_bytes 4 GiB is more than max_bytes 2 GiB");
  CHECK_NOTHROW(mr::pool{8_GiB}.require_fit(8_GiB, card));
  CHECK(test::message_of([&] { mr::pool{.max_bytes = 10}.require_fit(8_GiB, card); }) ==
        "mr::pool: max_bytes 10 bytes is less than a page of 2 MiB: a pool reserves whole pages");
  CHECK_NOTHROW(mr::pool{.max_bytes = mr::slab_heap::page_bytes}.require_fit(8_GiB, card));
}

TEST_CASE("a device that is not there is named") {
  for (auto const& message : {test::message_of([] { mr::pool{}.open(on::device{-1}); }),
                              test::message_of([] { mr::async{}.open(on::device{-1}); }),
                              test::message_of([] { mr::cuda_malloc{}.open(on::device{-1}); }),
                              test::message_of([] { mr::pinned{}.open(on::device{-1}); }),
                              test::message_of([] { mr::managed{}.open(on::device{-1}); })}) {
    INFO(message);
    CHECK(message.starts_with("device -1 does not exist"));
  }
}
