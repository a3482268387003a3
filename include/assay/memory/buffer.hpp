// SPDX-License-Identifier: Apache-2.0
/// @file
/// `buffer`: an owned array of trivial elements in stream-ordered memory.
#pragma once

#include <assay/memory/concepts.hpp>

#include <cstddef>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

namespace assay {

/// `size` uninitialised elements of `T` from resource `R`. Move-only. The stream must outlive the
/// buffer.
///
/// The destructor frees the memory in the order of the buffer's stream. Work on other streams must
/// be ordered before that.
template <class T, class R, class Stream>
requires std::is_trivially_copyable_v<T> && memory_resource<R, Stream>
class buffer {
 public:
  using value_type = T;

  /// Empty, with nothing to give back.
  buffer(Stream stream, R resource) : resource_(std::move(resource)), stream_(stream) {}

  /// Throws what the resource throws, and `std::length_error` past the address space.
  buffer(std::size_t size, Stream stream, R resource)
      : resource_(std::move(resource)), stream_(stream) {
    if (size > std::numeric_limits<std::size_t>::max() / 2 / sizeof(T)) {
      throw std::length_error("a buffer of " + std::to_string(size) + " elements of " +
                              std::to_string(sizeof(T)) + " bytes exceeds the address space");
    }
    data_ = static_cast<T*>(resource_.allocate(stream_, size * sizeof(T), mr::default_alignment));
    size_ = size;
  }
  buffer(buffer&& other) noexcept
      : resource_(other.resource_),
        stream_(other.stream_),
        data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)) {}
  buffer& operator=(buffer&& other) noexcept {
    std::swap(resource_, other.resource_);
    std::swap(stream_, other.stream_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~buffer() {
    if (data_ != nullptr) {
      resource_.deallocate(stream_, static_cast<void*>(data_), bytes(), mr::default_alignment);
    }
  }

  T* data() noexcept { return data_; }
  T const* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  std::size_t bytes() const noexcept { return size_ * sizeof(T); }
  bool empty() const noexcept { return size_ == 0; }
  std::span<T> span() noexcept { return {data_, size_}; }
  std::span<T const> span() const noexcept { return {data_, size_}; }
  Stream stream() const noexcept { return stream_; }

 private:
  R resource_;
  Stream stream_;
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

/// A buffer of `size` elements from `resource`, in the order of `stream`: a `host_stream`, a
/// `cuda::stream_ref`, a `cudaStream_t` or an `assay::stream`. The buffer keeps the stream's
/// handle.
template <class T, class R, class Stream>
auto make_buffer(std::size_t size, Stream const& stream, R resource) {
  using handle = typename stream_handle<Stream>::type;
  return buffer<T, R, handle>{size, handle{stream}, std::move(resource)};
}

}  // namespace assay
