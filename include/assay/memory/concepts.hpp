// SPDX-License-Identifier: Apache-2.0
/// @file
/// The concepts of a memory resource and a memory policy; what resources throw and count.
#pragma once

#include <assay/core/place.hpp>
#include <assay/core/policy.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace assay {

/// Stream-ordered memory, spelled as `cuda::mr::resource` of CCCL >= 3.1: resources of CCCL and RMM
/// are resources here, and ours there.
///
/// `allocate(stream, bytes, alignment)` returns memory usable by work submitted to `stream` after
/// the call; it throws when it cannot, and leaves the resource as it was. Zero bytes give a null or
/// a unique pointer. `deallocate(stream, pointer, bytes, alignment)` gives back what `allocate`
/// returned, with the same bytes and alignment; work submitted to `stream` before the call may
/// still use it. Neither synchronises with the device unless the resource says so. Both may be
/// called from several threads. Resources that compare equal can free each other's blocks.
template <class R, class Stream>
concept memory_resource = requires(R& resource, R const& other, Stream stream, void* pointer,
                                   std::size_t bytes, std::size_t alignment) {
  { other == other } -> std::same_as<bool>;
  { resource.allocate(stream, bytes, alignment) } -> std::same_as<void*>;
  resource.deallocate(stream, pointer, bytes, alignment);
};

/// A choice on the memory axis: a policy that opens a resource on a place.
///
/// Each `open` makes a new resource with state of its own; the resource is a cheap copyable handle
/// to that state, which lives until the last copy goes.
template <class P, class Place>
concept memory_policy = policy<P> && requires(P const& choice, Place place) {
  { choice.open(place) } -> regular_value;
};

/// The resource that a memory policy opens on a place.
template <class P, class Place>
using resource_of = decltype(std::declval<P const&>().open(std::declval<Place>()));

/// A resource that can serve a stream under graph capture.
///
/// `capture(stream)` is called right before the capture of `stream` begins. Until the returned
/// object's `end()`, blocks allocated on `stream` are used by the graph alone; they stay reserved
/// until that object is destroyed, which must outlive the last replay.
template <class R, class Stream>
concept capturable_memory = memory_resource<R, Stream> && requires(R& resource, Stream stream) {
  { resource.capture(stream) } -> std::movable;
  resource.capture(stream).end();
};

namespace mr {

/// The alignment of every device allocation of CUDA, and the default of this library.
inline constexpr std::size_t default_alignment = 256;

/// A request that failed. `what()` has its size and the state of the resource.
class out_of_memory : public std::bad_alloc {
 public:
  explicit out_of_memory(std::string what) : what_(std::move(what)) {}
  char const* what() const noexcept override { return what_.c_str(); }

 private:
  std::string what_;
};

/// True if an exception, or the cause nested in it, tells of too little memory. Exceptions of this
/// library, of RMM, of CCCL and of Thrust have no common base, but the text has CUDA's code: its
/// name, in CCCL 3.0 its number, and in later ones its words and number.
inline bool is_out_of_memory(std::exception const& cause) {
  std::string_view const text{cause.what()};
  if (dynamic_cast<std::bad_alloc const*>(&cause) != nullptr ||
      text.find("cudaErrorMemoryAllocation") != std::string_view::npos ||
      text.starts_with("cudaError 2:") ||
      text.find("out of memory(2)") != std::string_view::npos) {
    return true;
  }
  try {
    std::rethrow_if_nested(cause);
  } catch (std::exception const& nested) { return is_out_of_memory(nested); } catch (...) {
  }
  return false;
}

/// Counts since a resource was opened or was last reset. Only some resources know the optional
/// members.
struct statistics {
  std::uint64_t allocations = 0;
  std::uint64_t deallocations = 0;
  std::uint64_t failures = 0;    ///< requests that threw
  std::uint64_t bytes = 0;       ///< total asked for
  std::uint64_t live_bytes = 0;  ///< asked for and not yet given back
  std::uint64_t peak_bytes = 0;  ///< most live bytes at one time; each `stats()` states its bound
  std::optional<std::uint64_t> reserved_bytes;  ///< held from upstream now
  std::optional<std::uint64_t> reused_blocks;   ///< requests met without going upstream
  std::optional<std::uint64_t> upstream_calls;  ///< allocations and frees that went upstream
  /// frees whose order is not known: their blocks wait for the device
  std::optional<std::uint64_t> late_frees;
  std::optional<std::uint64_t> waits;           ///< times a stream waited on the device for another
  bool operator==(statistics const&) const = default;
};

/// A caller's own live resource as a policy: every `open` is a copy of the same handle, so its
/// state is carried from epoch to epoch.
template <class R>
struct borrowed {
  R resource;
  static constexpr std::string_view name = "mr::borrowed";
  template <class Place>
  R open(Place) const {
    return resource;
  }
  bool operator==(borrowed const&) const = default;
};

}  // namespace mr
}  // namespace assay
