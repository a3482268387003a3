// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to setup_definitions.hpp: right values that are kept, and those that setups share.
#pragma once

#include <assay/arrays/element.hpp>
#include <assay/arrays/right_values.hpp>
#include <assay/arrays/wide_number.hpp>
#include <assay/core/random.hpp>
#include <assay/host/parallel_for.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace assay::arrays::detail {

/// A right value that is none.
struct no_right_value : std::invalid_argument {
  using invalid_argument::invalid_argument;
};

/// A hash of random elements.
inline std::uint64_t hash_of(any_range const& range, std::size_t n, std::uint64_t seed,
                             std::uint64_t hash) {
  auto const& [any, up_to, surely, one, other] = range.special;
  for (auto const word : {std::uint64_t{n}, seed, range.low, range.high, range.unit,
                          static_cast<std::uint64_t>(range.type), std::uint64_t{any}, up_to, surely,
                          one.bits, one.steps, other.bits, other.steps}) {
    hash = random_bits(hash, word);
  }
  return hash;
}
/// A hash of elements.
inline std::uint64_t hash_of(std::span<std::byte const> elements, std::uint64_t hash) {
  constexpr std::size_t step = sizeof hash;
  for (std::size_t at = 0; at < elements.size(); at += step) {
    std::uint64_t word = 0;
    std::memcpy(&word, elements.data() + at, std::min(step, elements.size() - at));
    hash = random_bits(hash, word);
  }
  return random_bits(hash, elements.size());
}

/// The values of the last setup that computed them, for each of its expectations.
class right_values_memo {
 public:
  using values = std::shared_ptr<std::vector<std::byte> const>;

  /// What values depend on, apart from the function.
  struct key {
    std::uint64_t inputs = 0;  ///< a hash of the seed, scalars and inputs of the setup
    std::size_t size = 0;
    element type{}, wanted{};
    right_values::form of{};
    bool operator==(key const&) const = default;
  };

  /// The values of an expectation, and true if `compute` has just made them.
  template <class Compute>
  std::pair<values, bool> get(std::size_t expectation, key const& of, Compute const& compute) {
    std::lock_guard const lock{computing_};
    if (slots_.size() <= expectation) { slots_.resize(expectation + 1); }
    auto& slot = slots_[expectation];
    if (slot.second && slot.first == of) { return {slot.second, false}; }
    slot = {};  // before new ones need memory
    slot = {of, compute()};
    return {slot.second, true};
  }

 private:
  std::mutex computing_;
  std::vector<std::pair<key, values>> slots_;
};

/// Where an expectation shares its values; without a memo it does not.
struct shared_place {
  std::shared_ptr<right_values_memo> memo{};
  std::size_t expectation = 0;
  std::uint64_t inputs = 0;
};

/// Throws unless a function gives the bits of shared values: in 64 elements that are drawn, in the
/// first one and in the last one.
inline void require_same(right_values const& right, right_values_memo::values const& shared,
                         std::size_t size, std::uint64_t seed, std::string const& name) {
  constexpr std::size_t drawn = 64;
  auto const bytes = with_type(right.wanted, [](auto value) { return sizeof value; });
  for (std::size_t k = 0; size > 0 && k < drawn + 2; ++k) {
    auto const at = k < drawn ? random_bits(seed, k) % size : (k - drawn) * (size - 1);
    alignas(wide_number) std::array<std::byte, sizeof(wide_number)> own;
    right.write(at, 1, own.data(), nullptr);
    auto const* const others = shared->data() + at * bytes;
    if (std::memcmp(own.data(), others, bytes) == 0) { continue; }
    std::array<wide_number, 2> both;
    widen(right.wanted, own.data(), 1, &both[0]);
    widen(right.wanted, others, 1, &both[1]);
    throw no_right_value("setup.share: element " + std::to_string(at) + " of " + name +
                         " should be " + in_text(right.wanted, both[0]) +
                         " by this function of expect, and " + in_text(right.wanted, both[1]) +
                         " by that of the setup that computed the shared values: share only among "
                         "setups that compute the same");
  }
}

/// All right values of an array, which may be shared; null where they are computed when needed.
inline right_values_memo::values kept_values(right_values const& right, std::size_t size,
                                             shared_place const& shared, std::string const& name) {
  using form = right_values::form;
  if (right.of == form::part || (right.of == form::element && !shared.memo)) { return {}; }
  auto const compute = [&]() -> right_values_memo::values {
    auto const bytes = with_type(right.wanted, [](auto value) { return sizeof value; });
    auto made = std::make_shared<std::vector<std::byte>>(size * bytes);
    auto const count = static_cast<std::int64_t>(size);
    auto const grain = right.of == form::whole ? count + 1 : std::int64_t{4096};  // whole: one part
    host::parallel_for(host::all_threads(), count, grain, [&](std::int64_t from, std::int64_t to) {
      auto const first = static_cast<std::size_t>(from);
      right.write(first, static_cast<std::size_t>(to) - first, made->data() + first * bytes,
                  nullptr);
    });
    return made;
  };
  if (!shared.memo) { return compute(); }
  auto [values, is_new] = shared.memo->get(
      shared.expectation, {shared.inputs, size, right.type, right.wanted, right.of}, compute);
  if (!is_new && right.of == form::element) {
    require_same(right, values, size, shared.inputs, name);
  }
  return values;
}

}  // namespace assay::arrays::detail
