// SPDX-License-Identifier: Apache-2.0
/// @file
/// `facts`: the sizes and places of a call, known before it runs.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/core/memory_type.hpp>
#include <assay/stats/number_text.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace assay::dispatch {

/// The amount of work of one call. Predictions use `size` alone, and 0 counts as 1.
struct work {
  std::size_t size = 0;
  double bytes = 0;
  double flops = 0;
};

/// The use that a call makes of an array.
enum class direction { in, out, inout };

/// One array of a call.
struct array_fact {
  static constexpr int on_host = -1;
  double bytes = 0;
  direction way = direction::in;
  memory_type memory = memory_type::pageable;
  int newest = on_host;  ///< the device with the newest copy, or `on_host`

  bool is_read() const noexcept { return way != direction::out; }
  bool is_written() const noexcept { return way != direction::in; }
};

/// The work and the arrays of one call; no call of CUDA and no allocation makes them.
struct facts {
  static constexpr std::size_t max_arrays = 8;
  work amount;
  std::array<array_fact, max_arrays> arrays{};
  std::size_t count = 0;
};

/// The arrays of a call that are in the memory of each path itself.
enum class resident_arrays { none, written, all };

/// The facts of a call that needs no copies.
inline facts facts_of_size(std::size_t size) noexcept {
  facts known;
  known.amount.size = size;
  return known;
}

/// The facts of a call with all arrays in one type of host memory. Throws `std::invalid_argument`
/// for more arrays than `facts` has.
inline facts facts_in(memory_type memory, work amount, std::initializer_list<array_fact> arrays) {
  facts known{.amount = amount};
  if (arrays.size() > facts::max_arrays) {
    throw std::invalid_argument(
        concat({std::to_string(arrays.size()), " arrays: a call has at most ",
                std::to_string(facts::max_arrays)}));
  }
  for (auto each : arrays) {
    each.memory = memory;
    known.arrays[known.count++] = each;
  }
  return known;
}

/// Leaves out the arrays that are in the memory of a device, as a call needs no copies of them.
inline void forget_resident_arrays(facts& known) noexcept {
  auto const count = std::exchange(known.count, 0);
  for (std::size_t i = 0; i < count; ++i) {
    if (known.arrays[i].memory == memory_type::device) { continue; }
    known.arrays[known.count++] = known.arrays[i];
  }
}

/// Throws `std::invalid_argument` for counts that no call can have.
inline void require_work(std::string_view task, work const& amount) {
  auto const refuse = [&](std::string const& what) {
    throw std::invalid_argument(
        concat({task, ": work() at size ", std::to_string(amount.size), " says ", what}));
  };
  for (auto const& [field, value] :
       {std::pair{"bytes", amount.bytes}, std::pair{"flops", amount.flops}}) {
    if (std::isfinite(value) && value >= 0) { continue; }
    refuse(concat(
        {field, " = ", stats::number_text(value), ": a finite number of at least 0 is needed"}));
  }
  if (amount.size > 0 && amount.bytes + amount.flops == 0) {
    refuse("0 bytes and 0 flops: a call with elements needs one of them");
  }
}

}  // namespace assay::dispatch
