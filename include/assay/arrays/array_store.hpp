// SPDX-License-Identifier: Apache-2.0
/// @file
/// `array_store`: the memory in which the arrays of a setup live.
#pragma once

#include <assay/arrays/element.hpp>
#include <assay/core/random.hpp>
#include <assay/host/parallel_for.hpp>
#include <assay/memory/request.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace assay::arrays {

/// Memory for arrays, and what fills and copies it. A store frees all its memory when it ends.
///
/// All functions run in the order of the store's stream; only `copy_out` waits for that stream.
class array_store {
 public:
  /// Stores with other seeds place the same arrays at other offsets.
  explicit array_store(std::uint64_t placement_seed) noexcept : placement_seed_(placement_seed) {}
  array_store(array_store const&) = delete;
  array_store& operator=(array_store const&) = delete;
  virtual ~array_store() = default;

  static constexpr std::size_t alignment = 256;     // as cudaMalloc guarantees
  static constexpr std::size_t spread = 64 * 1024;  // random offsets are below it

  /// Memory for an array that may begin at multiples of `step` bytes: the size of its elements, or
  /// a larger power of two. Throws what the memory of the store throws.
  std::byte* allocate(std::size_t bytes, std::size_t step = alignment) {
    try {
      return allocate_array(bytes, step);
    } catch (mr::out_of_memory const& failed) {
      throw mr::out_of_memory(std::string{failed.what()} +
                              "; use smaller arrays: each variant of a comparison has two buffer "
                              "sets");
    }
  }

  /// Random bits that decide a place in memory. Stores with other seeds draw others.
  std::uint64_t draw_place() noexcept { return random_bits(placement_seed_, allocated_++); }

  /// Writes `random_value(range, seed, i)` to element i, or a special element of the range.
  virtual void fill_random(void* to, std::size_t count, any_range const& range,
                           std::uint64_t seed) = 0;
  virtual void fill(void* to, unsigned char value, std::size_t bytes) = 0;
  virtual void copy(void* to, void const* from, std::size_t bytes) = 0;
  /// Copies host memory into the store; that memory must stay until the stream has passed.
  virtual void copy_in(void* to, void const* host, std::size_t bytes) = 0;
  virtual void copy_out(void* host, void const* from, std::size_t bytes) = 0;
  /// Copies pieces of so many bytes, which begin so many bytes behind `from`, one after another.
  virtual void copy_out_pieces(void* host, void const* from, std::size_t bytes,
                               std::span<std::size_t const> offsets) {
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      copy_out(static_cast<std::byte*>(host) + i * bytes,
               static_cast<std::byte const*>(from) + offsets[i], bytes);
    }
  }
  /// Waits until all work on the store's stream is complete.
  virtual void finish() {}
  /// The stream in whose order all functions run; null on a host.
  virtual void* stream() const noexcept { return nullptr; }
  /// True for stores that use a caller's host memory itself instead of a copy.
  virtual bool takes_callers_memory() const noexcept { return false; }

 protected:
  /// The multiple of the alignment that is needed, and of the powers of two in `step`, at or before
  /// a place of [begin, begin + spread).
  static std::byte* aligned(std::byte* begin, std::size_t place, std::size_t step) {
    auto const each = std::clamp(step & (~step + 1), alignment, spread);
    auto const first = (each - std::bit_cast<std::uintptr_t>(begin) % each) % each;
    return begin + first + (place > first ? (place - first) / each * each : 0);
  }

 private:
  /// The place in a block is random, because addresses decide which arrays share cache sets and
  /// memory channels.
  virtual std::byte* allocate_array(std::size_t bytes, std::size_t step) {
    auto const place = draw_place() % (spread / alignment) * alignment;
    auto* const block = allocate_block(bytes);
    return begins_blocks() ? block : aligned(block, place, step);
  }
  /// A block of bytes + spread bytes, at a multiple of the alignment. Stores that place arrays
  /// without blocks need none.
  virtual std::byte* allocate_block(std::size_t) { return nullptr; }
  /// True for stores that begin each array at the begin of its block, such as at a page.
  virtual bool begins_blocks() const noexcept { return false; }

  std::uint64_t placement_seed_;
  std::uint64_t allocated_ = 0;
};

/// Arrays in host memory. All threads share the work; each function is complete when it returns.
class host_array_store : public array_store {
 public:
  using array_store::array_store;

  void fill_random(void* to, std::size_t count, any_range const& range,
                   std::uint64_t seed) override {
    with_range(range, [&](auto values) {
      write_random(static_cast<std::byte*>(to), count, values, range.special, seed);
    });
  }
  void fill(void* to, unsigned char value, std::size_t bytes) override {
    in_parts(bytes, [&](std::size_t begin, std::size_t size) {
      std::memset(static_cast<std::byte*>(to) + begin, value, size);
    });
  }
  void copy(void* to, void const* from, std::size_t bytes) override {
    in_parts(bytes, [&](std::size_t begin, std::size_t size) {
      std::memcpy(static_cast<std::byte*>(to) + begin, static_cast<std::byte const*>(from) + begin,
                  size);
    });
  }
  void copy_in(void* to, void const* host, std::size_t bytes) override { copy(to, host, bytes); }
  void copy_out(void* host, void const* from, std::size_t bytes) override {
    copy(host, from, bytes);
  }

 protected:
  std::byte* allocate_block(std::size_t bytes) override {
    void* const block = ::operator new(bytes + spread, std::align_val_t{alignment}, std::nothrow);
    if (block == nullptr) {
      throw mr::out_of_memory("host memory: no room for " + mr::describe_bytes(bytes));
    }
    std::unique_ptr<std::byte, aligned_delete> owned{static_cast<std::byte*>(block)};
    blocks_.push_back(std::move(owned));
    return blocks_.back().get();
  }

 private:
  struct aligned_delete {
    void operator()(std::byte* block) const noexcept {
      ::operator delete(block, std::align_val_t{alignment});
    }
  };

  template <class Part>
  static void in_parts(std::size_t bytes, Part const& part) {
    constexpr std::int64_t grain = std::int64_t{1} << 19;  // 50 us of work for each thread
    host::parallel_for(host::all_threads(), static_cast<std::int64_t>(bytes), grain,
                       [&](std::int64_t begin, std::int64_t end) {
                         part(static_cast<std::size_t>(begin),
                              static_cast<std::size_t>(end - begin));
                       });
  }

  template <class Range>
  static void write_random(std::byte* to, std::size_t count, Range range,
                           special_rule const& special, std::uint64_t seed) {
    constexpr std::int64_t grain = std::int64_t{1} << 14;  // 50 us of work for each thread
    auto const write = [&](std::int64_t begin, std::int64_t end) {
      for (auto i = begin; i < end; ++i) {
        auto const value = random_value(range, seed, static_cast<std::uint64_t>(i));
        std::memcpy(to + i * std::int64_t{sizeof value}, &value, sizeof value);
        if (!special.any) { continue; }
        auto const at = static_cast<std::uint64_t>(i);
        special_draw const instead{special, random_bits(seed, at), at};
        if (!instead.is_special) { continue; }
        std::memcpy(to + i * std::int64_t{sizeof value}, &instead.bits, sizeof value);
      }
    };
    host::parallel_for(host::all_threads(), static_cast<std::int64_t>(count), grain, write);
  }

  std::vector<std::unique_ptr<std::byte, aligned_delete>> blocks_;
};

}  // namespace assay::arrays
