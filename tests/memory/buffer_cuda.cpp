// SPDX-License-Identifier: Apache-2.0
// The streams that a buffer can be made with; no device is needed.
#include "catch.hpp"

#include <assay/core/stream.hpp>
#include <assay/memory/buffer.hpp>

#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

using namespace assay;

namespace {

/// Host memory in the order of CUDA streams, whose handles it notes.
struct noting_heap {
  std::vector<cudaStream_t>* seen = nullptr;
  void* allocate(::cuda::stream_ref stream, std::size_t bytes, std::size_t) {
    seen->push_back(stream.get());
    return ::operator new(bytes);
  }
  void deallocate(::cuda::stream_ref stream, void* block, std::size_t, std::size_t) noexcept {
    seen->push_back(stream.get());
    ::operator delete(block);
  }
  bool operator==(noting_heap const&) const = default;
};

using expected = buffer<float, noting_heap, ::cuda::stream_ref>;
template <class Stream>
using made_with = decltype(make_buffer<float>(1, std::declval<Stream>(), noting_heap{}));
static_assert(std::is_same_v<made_with<stream const&>, expected>);
static_assert(std::is_same_v<made_with<stream&>, expected>);
static_assert(std::is_same_v<made_with<::cuda::stream_ref>, expected>);
static_assert(std::is_same_v<made_with<cudaStream_t>, expected>);

}  // namespace

TEST_CASE("a buffer is made with the stream of the runtime or of CCCL") {
  std::vector<cudaStream_t> seen;
  auto* const raw = cudaStreamPerThread;
  {
    auto const first = make_buffer<float>(8, raw, noting_heap{&seen});
    auto const second = make_buffer<float>(8, ::cuda::stream_ref{raw}, noting_heap{&seen});
    CHECK(first.stream() == second.stream());
    CHECK(first.size() == 8);
  }
  CHECK(seen == std::vector<cudaStream_t>(4, raw));
}
