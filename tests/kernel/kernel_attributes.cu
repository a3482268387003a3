// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include <assay/core/stream.hpp>
#include <assay/kernel/launch.cuh>

#include <cstddef>
#include <thread>

namespace assay::kernel {

/// Has `OwnBytes` of shared memory of its own, and writes to the last of all that it has.
template <int OwnBytes>
__global__ void touch_shared(int dynamic_bytes, int* seen) {
  __shared__ char own[OwnBytes];
  auto* const more = dynamic_shared();
  own[OwnBytes - 1 - static_cast<int>(threadIdx.x)] = 1;
  more[dynamic_bytes - 1 - static_cast<int>(threadIdx.x)] = std::byte{2};
  __syncthreads();
  if (threadIdx.x == 0) { *seen = own[OwnBytes - 1] + static_cast<int>(more[dynamic_bytes - 1]); }
}

}  // namespace assay::kernel

using namespace assay;
using test::contains;

namespace {
constexpr on::device place{0};
constexpr std::size_t kib = 1024;
constexpr int own_bytes = 512;
}  // namespace

TEST_CASE("what was compiled of a kernel is no newer than the device", "[kernel]") {
  auto const& found = kernel::kernel_attributes(kernel::touch_shared<own_bytes>, place);
  CHECK(found.capability >= 75);
  CHECK(found.capability <= place_traits<on::device>::capability(place));
  CHECK(found.static_shared_bytes == own_bytes);
  CHECK(found.most_threads >= 32);
  CHECK(&found == &kernel::kernel_attributes(kernel::touch_shared<own_bytes>, place));
}

TEST_CASE("shared memory is allowed with what a kernel has of its own", "[kernel]") {
  auto const run = kernel::touch_shared<own_bytes>;
  stream const on{place};
  int* seen = nullptr;
  check(cudaMallocHost(&seen, sizeof *seen));
  auto const limit =
      static_cast<std::size_t>(attribute(place, cudaDevAttrMaxSharedMemoryPerBlockOptin));
  // Within 48 KiB; there but for its own, as three stages of 16 KiB have it; and all that there is.
  for (auto const bytes : {8 * kib, 48 * kib, limit - own_bytes}) {
    INFO(bytes << " bytes");
    *seen = 0;
    CHECK(kernel::resident_blocks(run, place, 32, bytes) > 0);
    kernel::launch(run, 1, 32, bytes, on, static_cast<int>(bytes), seen);
    on.synchronize();
    CHECK(*seen == 3);
  }
  auto const text = test::message_of(
      [&] { kernel::set_max_dynamic_shared_memory(run, place, limit - own_bytes + 16); });
  CHECK_THAT(text, contains("needs " + std::to_string(limit + 16) + " bytes") &&
                       contains("has " + std::to_string(limit)));
  check(cudaFreeHost(seen));
}

TEST_CASE("a shape that no SM can hold has no blocks, and still a grid", "[kernel]") {
  auto const run = kernel::touch_shared<own_bytes>;
  CHECK(kernel::resident_blocks(run, place, 4096) == 0);
  CHECK(kernel::resident_shape(run, place, 4096).blocks ==
        static_cast<unsigned>(attribute(place, cudaDevAttrMultiProcessorCount)));
}

TEST_CASE("a thread that needs less shared memory takes none from the others", "[kernel]") {
  auto const run = kernel::touch_shared<own_bytes + 128>;
  stream const on{place};
  int* seen = nullptr;
  check(cudaMallocHost(&seen, sizeof *seen));
  auto const most =
      static_cast<std::size_t>(attribute(place, cudaDevAttrMaxSharedMemoryPerBlockOptin)) - 1024;
  kernel::set_max_dynamic_shared_memory(run, place, most);
  std::thread{[&] { kernel::set_max_dynamic_shared_memory(run, place, 50 * kib); }}.join();
  kernel::set_max_dynamic_shared_memory(run, place, most);
  kernel::launch(run, 1, 32, most, on, static_cast<int>(most), seen);
  on.synchronize();
  CHECK(*seen == 3);
  check(cudaFreeHost(seen));
}
