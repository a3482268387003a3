// SPDX-License-Identifier: Apache-2.0
/// @file
/// Checks of a request, byte counts as text, and the functions that all adaptors pass on.
#pragma once

#include <assay/memory/concepts.hpp>

#include <array>
#include <bit>
#include <charconv>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace assay::mr {

/// Throws `std::invalid_argument` unless `alignment` is a power of two of at most `most`.
inline void require_alignment(std::size_t alignment, std::size_t most = default_alignment) {
  if (std::has_single_bit(alignment) && alignment <= most) [[likely]] { return; }
  throw std::invalid_argument("alignment " + std::to_string(alignment) +
                              " is not allowed: it must be a power of two of at most " +
                              std::to_string(most));
}

/// A byte count for people: `10 GiB`, `1.5 MiB`, `4095 bytes`.
inline std::string describe_bytes(std::size_t bytes) {
  constexpr char const* units[] = {" bytes", " KiB", " MiB", " GiB", " TiB"};
  auto scaled = static_cast<double>(bytes);
  int unit = 0;
  while (scaled >= 1024 && unit < 4) {
    scaled /= 1024;
    ++unit;
  }
  if (unit == 0 || bytes % 1024 != 0) { return std::to_string(bytes) + units[0]; }
  std::array<char, 32> digits{};  // not std::to_string, which follows the locale of the program
  auto const end = std::to_chars(digits.data(), digits.data() + digits.size(), scaled,
                                 std::chars_format::fixed, 6);
  std::string text(digits.data(), end.ptr);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') { text.pop_back(); }
  return text + units[unit];
}

/// True if work on a device, or on the host, may access the memory of a resource.
template <class R>
inline constexpr bool is_device_accessible = requires { requires R::device_accessible; };
template <class R>
inline constexpr bool is_host_accessible = requires { requires R::host_accessible; };

/// Gives a resource that has a `sync_stream()` the calls of CCCL >= 3.1 that take no stream. Both
/// wait for that stream; `deallocate_sync` requires that no work still uses the block.
template <class Derived>
struct synchronous_calls {
  void* allocate_sync(std::size_t bytes, std::size_t alignment = default_alignment) {
    auto const stream = Derived::sync_stream();
    void* const block = static_cast<Derived&>(*this).allocate(stream, bytes, alignment);
    stream_traits<std::remove_cv_t<decltype(stream)>>::synchronize(stream);
    return block;
  }
  void deallocate_sync(void* block, std::size_t bytes,
                       std::size_t alignment = default_alignment) noexcept {
    static_cast<Derived&>(*this).deallocate(Derived::sync_stream(), block, bytes, alignment);
  }
  bool operator==(synchronous_calls const&) const = default;
};

/// The base of an adaptor. It passes on the accessibility of the memory, the calls without a
/// stream, graph capture and `release`, each if the upstream has it.
template <class Derived, class R>
struct adaptor_calls : synchronous_calls<Derived> {
  static constexpr bool device_accessible = is_device_accessible<R>;
  static constexpr bool host_accessible = is_host_accessible<R>;

  static auto sync_stream()
  requires requires { R::sync_stream(); }
  {
    return R::sync_stream();
  }

  template <class Stream, class Self = Derived>
  requires capturable_memory<R, Stream>
  auto capture(Stream stream) {
    return static_cast<Self&>(*this).upstream().capture(stream);
  }

  /// Tells the upstream that a stream is about to be destroyed.
  template <class Stream, class Self = Derived>
  requires requires(R& resource, Stream stream) { resource.release(stream); }
  void release(Stream stream) {
    static_cast<Self&>(*this).upstream().release(stream);
  }
  bool operator==(adaptor_calls const&) const = default;
};

}  // namespace assay::mr
