// SPDX-License-Identifier: Apache-2.0
/// @file
/// `guarded_store`: arrays between red zones, which can be declared again in place.
#pragma once

#include <assay/arrays/array_store.hpp>
#include <assay/stats/random_source.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

namespace assay::arrays {

/// Puts a red zone before and behind each array of another store. `shifted` arrays begin off the
/// multiples of 256 bytes by as little as they may: one element, or what `setup::align` asks for.
/// The zones hold random bytes, so code that looks there cannot tell them from other memory. Those
/// of a store that `may_change` hold random bytes that are large as numbers of any type.
class guarded_store final : public array_store {
 public:
  static constexpr std::size_t zone = 16 * 1024;

  enum class begin { even, shifted };

  /// With `may_change`, an array of another size than before a rewind gets other memory.
  explicit guarded_store(std::unique_ptr<array_store> in, begin where = begin::even,
                         std::uint64_t seed = stats::draw_seed(), bool may_change = false)
      : array_store(0), store_(std::move(in)), where_(where), may_change_(may_change) {
    // As floating numbers of 2, 4 and 8 bytes: 128 to 511, 5.6e14 to 2.3e15, and above 1e115. A
    // small number would reach a result without a trace.
    constexpr std::uint64_t random = 0x87FE'87FE'87FE'87FE, large = 0x5801'5801'5801'5801;
    for (std::size_t i = 0; i < marks_.size(); ++i) {
      auto const bits = random_bits(seed, i);
      marks_[i] = may_change ? (bits & random) | large : bits;
      other_marks_[i] = may_change ? marks_[i] ^ random : ~bits;
    }
  }

  /// The next arrays lie where the first ones do. `keep` leaves outputs as they are: poisoning does
  /// nothing until the next rewind.
  void rewind(bool keep) noexcept {
    next_ = 0;
    keeps_ = keep;
  }

  /// Changed bytes of red zones, as offsets from the begin of their array: the first and the last.
  struct damage {
    void const* array = nullptr;
    struct bytes {
      std::ptrdiff_t first = 0, last = -1;  ///< none by default
    } before{}, behind{};
  };

  /// The red zones of one array hold other bytes from now on, and those of all others the usual
  /// ones.
  void mark_otherwise(void const* array) {
    for (auto const& each : blocks_) {
      if (each.data != array && each.data != otherwise_) { continue; }
      mark(each.data, each.bytes, marks_of(each, each.data == array));
    }
    otherwise_ = array;
  }

  /// The damage of the first array with changed red zones.
  std::optional<damage> damaged() {
    auto got = marks_;
    auto const changes = [&](block const& of, std::ptrdiff_t from) {
      store_->copy_out(got.data(), of.data + from, zone);
      damage::bytes found;
      auto const& marks = marks_of(of, of.data == otherwise_);
      if (got == marks) { return found; }
      auto const now = std::as_bytes(std::span{got}), wanted = std::as_bytes(std::span{marks});
      std::size_t first = 0, last = zone - 1;
      while (now[first] == wanted[first]) { ++first; }
      while (now[last] == wanted[last]) { --last; }
      found.first = from + static_cast<std::ptrdiff_t>(first);
      found.last = from + static_cast<std::ptrdiff_t>(last);
      return found;
    };
    for (auto const& each : blocks_) {
      damage const found{each.data, changes(each, -static_cast<std::ptrdiff_t>(zone)),
                         changes(each, static_cast<std::ptrdiff_t>(each.bytes))};
      if (found.before.first <= found.before.last || found.behind.first <= found.behind.last) {
        return found;
      }
    }
    return std::nullopt;
  }

  void fill_random(void* to, std::size_t count, any_range const& range,
                   std::uint64_t seed) override {
    store_->fill_random(to, count, range, seed);
  }
  void fill(void* to, unsigned char value, std::size_t bytes) override {
    if (!keeps_) { store_->fill(to, value, bytes); }
  }
  void copy(void* to, void const* from, std::size_t bytes) override {
    store_->copy(to, from, bytes);
  }
  void copy_in(void* to, void const* host, std::size_t bytes) override {
    store_->copy_in(to, host, bytes);
  }
  void copy_out(void* host, void const* from, std::size_t bytes) override {
    store_->copy_out(host, from, bytes);
  }
  void copy_out_pieces(void* host, void const* from, std::size_t bytes,
                       std::span<std::size_t const> offsets) override {
    store_->copy_out_pieces(host, from, bytes, offsets);
  }
  void finish() override { store_->finish(); }
  void* stream() const noexcept override { return store_->stream(); }

 private:
  struct block {
    std::byte* data = nullptr;
    std::size_t bytes = 0;
  };

  std::byte* allocate_array(std::size_t bytes, std::size_t step) override {
    if (next_ == blocks_.size() || (may_change_ && blocks_[next_].bytes != bytes)) {
      auto* const room = store_->allocate(bytes + 2 * zone + 2 * step) + zone;
      auto* const data = aligned(room, 0, step) + (where_ == begin::shifted ? step : 0);
      blocks_.resize(std::max(blocks_.size(), next_ + 1));
      blocks_[next_] = {data, bytes};
      mark(data, bytes, marks_of(blocks_[next_], false));
    }
    auto const& made = blocks_[next_++];
    if (made.bytes == bytes) { return made.data; }
    throw std::logic_error(
        "the problem declares other arrays than before: `declare` must make the "
        "same ones for the same size");
  }
  using zone_marks = std::array<std::uint64_t, zone / sizeof(std::uint64_t)>;
  /// Each is the other one for half of all sizes: large numbers of either sign, so that neither a
  /// least nor a greatest element hides them.
  zone_marks const& marks_of(block const& of, bool otherwise) const noexcept {
    bool const swapped = may_change_ && std::popcount(of.bytes) % 2 == 1;
    return swapped != otherwise ? other_marks_ : marks_;
  }
  void mark(std::byte* data, std::size_t bytes, zone_marks const& by) {
    store_->copy_in(data - zone, by.data(), zone);
    store_->copy_in(data + bytes, by.data(), zone);
  }

  std::unique_ptr<array_store> store_;
  begin where_;
  bool may_change_;
  zone_marks marks_{}, other_marks_{};
  void const* otherwise_ = nullptr;  ///< the array whose zones hold the others
  std::vector<block> blocks_;
  std::size_t next_ = 0;
  bool keeps_ = false;
};

}  // namespace assay::arrays
