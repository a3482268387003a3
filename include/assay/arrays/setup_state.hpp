// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to setup_definitions.hpp: what a setup has declared.
#pragma once

#include <assay/arrays/array_store.hpp>
#include <assay/arrays/declaration_checks.hpp>
#include <assay/arrays/expectation.hpp>
#include <assay/arrays/matrix.hpp>
#include <assay/arrays/right_values_memo.hpp>
#include <assay/arrays/special_values.hpp>
#include <assay/arrays/tolerance.hpp>
#include <assay/core/random.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace assay::arrays {

/// What a setup has declared.
struct setup_state {
  struct entry {
    void* data = nullptr;
    std::size_t bytes = 0, elements = 0;
    detail::poison_byte poison{};
    bool is_input = false;
    void* start = nullptr;  // null but for `inout`
    std::unique_ptr<detail::expectation> expected{};
    std::span<std::byte const> callers{};  // the caller's elements of `from`, `inout`, `output_in`
    bool writes = false;                   // those elements, or copies of them
    bool must_stay_zeros = false;
    matrix rows{};
    std::string name{};  // "y", or "array 1"
  };

  /// The name of the array that is declared next.
  std::string next_name() const {
    return name.empty() ? "array " + std::to_string(arrays.size()) : name;
  }

  /// The entry of an array that calls write.
  entry& written(void* data) {
    for (auto& each : arrays) {
      if (each.data == data && (each.poison || each.start != nullptr)) { return each; }
    }
    throw std::invalid_argument(
        "setup.expect needs an array that output or inout of the same setup returned");
  }

  /// Elements of the caller that a call reads must not be written as another array: the two would
  /// be one array in some stores, and two copies in others.
  void require_apart(char const* call, std::span<std::byte const> of, bool writes) const {
    for (auto const& each : arrays) {
      if (!(writes || each.writes)) { continue; }
      assay::detail::require_apart(call, of, each.name, each.callers);
    }
  }

  /// An array at `at`, or in new memory of the store where that is null.
  entry& add(char const* call, std::size_t n, std::size_t element_bytes, void* at = nullptr) {
    auto const most =
        static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max()) / element_bytes;
    if ((n == 0 && !told.may_be_empty) || n > most) {
      throw std::invalid_argument(std::string{"setup."} + call + ": an array of " +
                                  std::to_string(n) + " elements; 1 to " + std::to_string(most) +
                                  " are allowed");
    }
    auto const size = n * element_bytes;
    auto const step = element_bytes % told.alignment == 0 ? element_bytes : told.alignment;
    auto given = next_name();
    name.clear();
    arrays.push_back({at != nullptr ? at : store->allocate(size, step), size, n});
    arrays.back().rows = std::exchange(rows, {});
    arrays.back().name = std::move(given);
    return arrays.back();
  }

  /// An array that no call writes, shared with the first lane; `fresh` says whether it is new. The
  /// caller's memory serves as it is where the store takes such memory.
  entry& add_input(char const* call, std::size_t n, std::size_t element_bytes,
                   void const* callers) {
    auto const index = arrays.size();
    auto* at = index < shared.size() ? shared[index] : nullptr;
    if (at == nullptr && store->takes_callers_memory()) { at = const_cast<void*>(callers); }
    fresh = at == nullptr;
    auto& made = add(call, n, element_bytes, at);
    made.is_input = true;
    return made;
  }

  void note(std::string const& words) { scalars += (scalars.empty() ? "" : ", ") + words; }

  void keep_start() {
    auto& last = arrays.back();
    last.start = store->allocate(last.bytes);
    store->copy(last.start, last.data, last.bytes);
  }

  /// A hash of all that right values may depend on: the seed, scalars and inputs.
  std::uint64_t inputs() const {
    auto hash = random_bits(seed, declared);
    for (auto const& each : arrays) {
      if (!each.poison) { hash = detail::hash_of(each.callers, hash); }
    }
    return hash;
  }

  std::shared_ptr<array_store> store;
  std::uint64_t seed = 0;
  std::vector<entry> arrays{};
  std::vector<void*> shared{};  // arrays of the first lane; null where an array is not shared
  /// Rules of special values, elements of rows, and temporary containers of the caller.
  std::vector<std::shared_ptr<void const>> kept{};
  std::uint64_t choice = 0;    // of scalars; each declaration takes a digit of it
  std::uint64_t choices = 1;   // combinations of the scalars so far
  std::string scalars{};       // in words
  matrix rows{};               // of the array that is declared next
  std::string name{};          // of that array; empty without one
  std::size_t laid_out = 0;    // matrices whose leading dimension was chosen
  std::uint64_t declared = 0;  // a hash of scalars and random inputs
  detail::shared_place shared_values{};
  std::size_t sample = 0;  // elements of the next expectation; 0 for all
  struct {
    special_values special = special_values::none;
    std::optional<std::size_t> special_array{};  // which alone has them; nothing: all
    std::size_t alignment = 1, layout = 0;
    bool may_be_empty = false;
    bool has_nan = false;  // an array has NaN or infinities on purpose
    bool finite = false, unordered = false;
  } told{};  // what other lanes know too
  bool fresh = true;
  worst_error worst{};
  double bytes = 0;
  double flops = 0;
};

}  // namespace assay::arrays
