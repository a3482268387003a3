// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to sizes.hpp: the rules of sizes, and the sizes that a verification tries by itself.
#pragma once

#include <assay/verify/sizes.hpp>

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace assay {

ASSAY_INLINE shape::shape(std::initializer_list<std::size_t> all) : rank(all.size()) {
  if (all.size() > most) {
    throw std::invalid_argument("a shape of " + std::to_string(all.size()) +
                                " extents: at most 4 are allowed");
  }
  std::copy(all.begin(), all.end(), extents.begin());
}

ASSAY_INLINE std::string to_string(shape const& of) {
  if (of.rank == 1) { return std::to_string(of[0]); }
  std::string text = "{";
  for (std::size_t i = 0; i < of.rank; ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(of[i]);
  }
  return text + "}";
}

namespace verify_detail {

/// The extent of a rule: one number holds for all extents.
inline std::size_t extent(shape const& rule, std::size_t i) noexcept {
  return rule[rule.rank == 1 ? 0 : i];
}

inline void require_rank(shape const& rule, shape const& of) {
  if (rule.rank == 1 || rule.rank == of.rank) { return; }
  throw std::invalid_argument("sizes: the rule " + to_string(rule) + " has " +
                              std::to_string(rule.rank) + " extents, and the factory takes " +
                              std::to_string(of.rank));
}

/// Sizes around the widths of warps, vectors, blocks and tiles, primes, and one of a million.
/// Larger shapes have few elements, since the reference of a product costs all its extents.
inline std::vector<shape> usual_shapes(std::size_t rank) {
  switch (rank) {
    case 0:
      return {shape{}};
    case 1:
      return {0,   1,   2,    3,    4,    5,    7,    8,    15,   17,     31,       32,
              33,  63,  64,   65,   127,  128,  129,  255,  256,  257,    511,      512,
              513, 769, 1009, 1023, 1024, 1025, 2047, 2049, 4097, 65'537, 1'000'003};
    case 2:
      return {{0, 0},    {0, 5},    {5, 0},    {1, 1},    {1, 2},      {2, 1},
              {3, 5},    {1, 33},   {33, 1},   {31, 33},  {32, 32},    {33, 31},
              {64, 64},  {65, 63},  {17, 257}, {257, 17}, {128, 128},  {127, 129},
              {1000, 3}, {3, 1009}, {1, 4099}, {4099, 1}, {1023, 1025}};
    case 3:
      return {{0, 0, 0},    {0, 3, 5},     {3, 0, 5},     {3, 5, 0},     {1, 1, 1},
              {1, 1, 33},   {1, 33, 1},    {33, 1, 1},    {2, 3, 5},     {16, 16, 16},
              {17, 31, 33}, {33, 17, 31},  {31, 33, 17},  {32, 32, 32},  {64, 64, 64},
              {65, 63, 66}, {5, 129, 130}, {129, 130, 5}, {130, 5, 129}, {127, 128, 129}};
    default:
      return {{0, 3, 2, 5},   {3, 2, 5, 0},   {1, 1, 1, 1},  {1, 1, 1, 33},
              {33, 1, 1, 1},  {2, 3, 5, 7},   {7, 5, 3, 2},  {3, 4, 17, 33},
              {2, 8, 32, 32}, {1, 3, 65, 63}, {5, 7, 33, 31}};
  }
}

/// The shapes that a verification tries, in order. `allows(shape)` asks the rules. Throws
/// `std::invalid_argument` where no rule admits any.
template <class Allows>
std::vector<shape> shapes_to_try(sizes const& of, std::size_t rank, Allows const& allows) {
  auto all = of.listed();
  if (all.empty()) {
    all = usual_shapes(rank);
    for (auto& each : all) { each = of.rounded(each); }
  }
  std::vector<shape> tried;
  for (auto const& each : all) {
    if (each.rank != rank) {
      throw std::invalid_argument(
          "verify: size " + to_string(each) + " has " + std::to_string(each.rank) +
          (each.rank == 1 ? " extent" : " extents") + ", and the factory takes " +
          (rank == 0 ? "none: drop `only`, or take extents, as (assay::setup&, std::size_t n)"
                     : std::to_string(rank)));
    }
    bool const is_new = std::find(tried.begin(), tried.end(), each) == tried.end();
    if (is_new && allows(each)) { tried.push_back(each); }
  }
  if (tried.empty()) {
    throw std::invalid_argument("verify: of " + std::to_string(all.size()) +
                                (all.size() == 1 ? " size" : " sizes") + " none is allowed by " +
                                of.rules() + ": " +
                                (of.listed().empty() ? "name some in `only`, as assay::sizes{100}"
                                                     : "the list and the rules contradict"));
  }
  return tried;
}

}  // namespace verify_detail

ASSAY_INLINE sizes::sizes(std::vector<shape> only) : only_(std::move(only)) {
  if (only_.empty()) {
    throw std::invalid_argument("sizes: a list without a size; sizes{} are all usual sizes");
  }
}
ASSAY_INLINE sizes& sizes::multiple_of(shape step) {
  for (std::size_t i = 0; i < step.rank; ++i) {
    if (step[i] == 0) { throw std::invalid_argument("sizes: no size is a multiple of 0 but 0"); }
  }
  step_ = step;
  return *this;
}
ASSAY_INLINE sizes& sizes::at_least(shape low) {
  low_ = low;
  return *this;
}
ASSAY_INLINE sizes& sizes::at_most(shape high) {
  high_ = high;
  return *this;
}

ASSAY_INLINE bool sizes::allows(shape const& of) const {
  for (auto const* rule : {&step_, &low_, &high_}) { verify_detail::require_rank(*rule, of); }
  for (std::size_t i = 0; i < of.rank; ++i) {
    using verify_detail::extent;
    if (of[i] % extent(step_, i) != 0 || of[i] < extent(low_, i) || of[i] > extent(high_, i)) {
      return false;
    }
  }
  return std::all_of(allowed_.begin(), allowed_.end(), [&](auto const& may) { return may(of); });
}

ASSAY_INLINE std::string sizes::rules() const {
  std::string text;
  auto const add = [&](std::string const& rule) { text += (text.empty() ? "" : ", ") + rule; };
  if (!(step_ == shape{1})) { add("multiples of " + to_string(step_)); }
  if (!(low_ == shape{0})) { add("at least " + to_string(low_)); }
  if (!(high_ == shape{static_cast<std::size_t>(-1)})) { add("at most " + to_string(high_)); }
  if (!allowed_.empty()) { add("`where`"); }
  return text;
}

ASSAY_INLINE shape sizes::rounded(shape of) const {
  verify_detail::require_rank(step_, of);
  for (std::size_t i = 0; i < of.rank; ++i) {
    auto const step = verify_detail::extent(step_, i);
    of.extents[i] = (of[i] + step - 1) / step * step;
  }
  return of;
}

}  // namespace assay
