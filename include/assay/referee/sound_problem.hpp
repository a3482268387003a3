// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to serve_problem.hpp: problems that accept what is not right.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/referee/call_arrays.hpp>
#include <assay/referee/candidate_place.hpp>
#include <assay/referee/problem.hpp>
#include <assay/stats/random_source.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace assay::referee_detail {

using bytes = std::vector<std::byte>;

/// So many bytes that repeat those from `from` on.
inline bytes repeated(bytes const& of, std::size_t from, std::size_t period) {
  bytes made(of.size());
  for (std::size_t i = 0; i < made.size(); ++i) { made[i] = of[from + i % period]; }
  return made;
}

/// Names the first expectation that accepts zeros, a constant, the results of other inputs or the
/// inputs themselves, over random inputs of one size.
///
/// Each array is replaced alone, while the others hold results of the reference. Where the
/// replacement is what the reference writes, it is right, and no looseness follows.
inline std::optional<std::string> loose_expectation(candidate_place& where, problem const& of,
                                                    std::size_t n) {
  call_arrays one{where, of, of.reference, n, stats::draw_seed()};
  call_arrays other{where, of, of.reference, n, stats::draw_seed()};
  auto const content = [](call_arrays& in, declared_array const& of_array) {
    bytes got(of_array.bytes);
    in.store().copy_out(got.data(), of_array.data, got.size());
    return got;
  };
  auto const all = one.arrays().declared();
  std::vector<bytes> before;
  for (auto const& each : all) { before.push_back(content(one, each)); }
  one.call();
  other.call();
  if (one.verify()) { return {}; }  // the reference is wrong, which the referee tells
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i].is_result()) { continue; }
    auto const right = content(one, all[i]);
    auto const element = right.size() / std::max<std::size_t>(all[i].elements, 1);
    auto const middle = all[i].elements / 2 * element;
    std::vector<std::pair<char const*, bytes>> wrong{
        {"zeros", bytes(right.size())},
        {"a constant", repeated(right, 0, element)},
        {"a constant", repeated(right, middle, element)},
        {"the results of other inputs", content(other, other.arrays().declared()[i])}};
    for (std::size_t k = 0; k < all.size(); ++k) {
      using enum declared_array::role;
      bool const is_read = all[k].what == input || (k == i && all[k].what == inout);
      if (!is_read || before[k].size() < right.size()) { continue; }
      auto const end = before[k].begin() + static_cast<std::ptrdiff_t>(right.size());
      wrong.emplace_back("its own inputs", bytes(before[k].begin(), end));
    }
    auto const put = [&](bytes const& what) {
      one.store().copy_in(all[i].data, what.data(), what.size());
      one.store().finish();
    };
    for (auto const& [name, forged] : wrong) {
      if (forged == right) { continue; }
      put(forged);
      if (one.verify()) { continue; }
      return concat(
          {"the problem accepts ", name, " as array ", std::to_string(i),
           " of those declared, at size ", std::to_string(n), ", and the reference writes others: ",
           all[i].expected ? "its `expect` is too loose; give it a tolerance far below the "
                             "right values"
                           : "it has no `expect`; declare temporary memory by `scratch`"});
    }
    put(right);
  }
  return {};
}

/// The same over all sizes.
inline std::optional<std::string> loose_expectation(candidate_place& where, problem const& of) {
  for (auto const* sizes : {&of.sizes, &of.held_back}) {
    for (auto const n : *sizes) {
      if (auto loose = loose_expectation(where, of, n)) { return loose; }
    }
  }
  return {};
}

}  // namespace assay::referee_detail
