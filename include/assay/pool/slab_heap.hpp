// SPDX-License-Identifier: Apache-2.0
/// @file
/// The pool's free memory: one heap for large blocks, and one for small ones that lives in slabs.
#pragma once

#include <assay/pool/range_heap.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <span>

namespace assay::mr {

/// Two heaps of free ranges: one for large blocks, and one for small blocks. Slabs of the second
/// are cut from the first. A small block that lives long so holds a slab, and not the space between
/// large blocks. Free pieces of slabs go back. Not safe for concurrent use.
class slab_heap {
 public:
  /// Blocks up to this size come from slabs.
  static constexpr std::size_t small_bytes = std::size_t{256} << 10U;
  /// The size of the pieces of a slab that `reclaim` returns.
  static constexpr std::size_t slab_piece_bytes = std::size_t{64} << 10U;
  /// The unit that upstream maps, and the size of a slab. Where no range has a page, a slab is one
  /// block.
  static constexpr std::size_t page_bytes = std::size_t{2} << 20U;

  using heap = range_heap;
  using range = typename heap::range;

  explicit slab_heap(bool join_chunks) noexcept : large_(join_chunks), small_(join_chunks) {}

  heap& large() noexcept { return large_; }
  heap const& large() const noexcept { return large_; }
  std::size_t free_bytes() const noexcept { return large_.free_bytes() + small_.free_bytes(); }
  std::size_t chunk_bytes() const noexcept { return large_.chunk_bytes(); }
  std::size_t largest_range() const noexcept {
    return std::max(large_.largest_range(), small_.largest_range());
  }
  std::size_t lost_bytes() const noexcept { return lost_bytes_; }
  /// Counts memory that nothing can note.
  void lose(std::size_t bytes) noexcept { lost_bytes_ += bytes; }

  /// Cuts a block of a size from a range that `accept(range)` takes, from the smallest up, after
  /// `before(range)`; 0 if there is none among `tries`. Ranges in slabs serve
  /// small blocks first.
  template <class Accept, class Before>
  std::uintptr_t take(std::size_t bytes, int tries, Accept accept, Before before) {
    if (bytes > small_bytes) {
      auto const found = large_.find(bytes, tries, accept);
      if (found == large_.none()) { return 0; }
      before(*found);
      // A block of at most a quarter of its range is cut from the end. If it has a page or more, it
      // begins on a page, so that whole pages stay free. A larger block is cut from the front: the
      // rest then joins the small blocks at the end of the range when these are freed.
      bool const roomy = found->bytes / 4 >= bytes;
      return roomy ? large_.take(found, bytes, alignment(bytes)) : large_.take_front(found, bytes);
    }
    auto const found = small_.find(bytes, tries, accept);
    if (found != small_.none()) {
      before(*found);
      return small_.take(found, bytes);
    }
    for (auto const slab : {page_bytes, bytes}) {
      auto const room = large_.find(slab, tries, accept);
      if (room == large_.none()) { continue; }
      before(*room);
      auto const after = room->after;
      return first_of(large_.take(room, slab, alignment(slab)), slab, bytes, after);
    }
    return 0;
  }

  /// Adds a chunk from upstream, of pieces that may be taken out by themselves, and cuts a block
  /// off its front. 0 where the host has no memory for a slab: the chunk is free then.
  std::uintptr_t add(std::uintptr_t address, std::size_t chunk, std::size_t piece_bytes,
                     std::size_t bytes) {
    auto const taken = bytes > small_bytes ? bytes : page_bytes;
    large_.add(address, chunk, piece_bytes, taken);
    if (bytes > small_bytes) { return address; }
    try {
      return first_of(address, taken, bytes, {});
    } catch (std::bad_alloc const&) {
      return 0;  // the chunk is in the heap
    }
  }

  /// Gives back what `take` gave, or a part of it that is small if that was. A range that the host
  /// has no memory to note is lost until the pool goes.
  void give(std::uintptr_t address, std::size_t bytes, std::optional<order_point> after) noexcept {
    try {
      auto const points =
          after ? std::span<order_point const>{&*after, 1} : std::span<order_point const>{};
      (bytes > small_bytes ? large_ : small_).insert(address, bytes, points);
    } catch (std::bad_alloc const&) { lost_bytes_ += bytes; }
  }

  /// The same for a range of several points that is not of a slab.
  void give_large(std::uintptr_t address, std::size_t bytes,
                  std::span<order_point const> after) noexcept {
    try {
      large_.insert(address, bytes, after);
    } catch (std::bad_alloc const&) { lost_bytes_ += bytes; }
  }

  /// Joins free ranges side by side of which only one is ready; false if there are none.
  bool join() noexcept {
    bool const joined = small_.join();
    return large_.join() || joined;
  }

  /// Returns free pieces of slabs to the large blocks' heap; says how many bytes.
  std::size_t reclaim() {
    std::size_t returned = 0;
    (void)small_.join();
    for (auto const each : small_.chunk_ranges()) {
      auto const whole = small_.free_chunks(each);
      if (whole.bytes == 0) { continue; }
      auto const after = each->after;
      small_.remove(each, whole);
      give_large(whole.address, whole.bytes, after);
      returned += whole.bytes;
    }
    return returned;
  }

 private:
  // A block of a page or more begins on a page.
  static constexpr std::size_t alignment(std::size_t bytes) noexcept {
    return bytes < page_bytes ? 1 : page_bytes;
  }

  // Makes a slab of free memory, and cuts a block off its front.
  std::uintptr_t first_of(std::uintptr_t address, std::size_t slab, std::size_t bytes,
                          std::span<order_point const> after) {
    try {
      small_.add(address, slab, small_.joins_chunks() ? slab_piece_bytes : slab, bytes, after);
    } catch (...) {
      give_large(address, slab, after);
      throw;
    }
    return address;
  }

  heap large_;
  heap small_;
  std::size_t lost_bytes_ = 0;
};

}  // namespace assay::mr
