// SPDX-License-Identifier: Apache-2.0
/// @file
/// `largest_first`: rows by falling size.
#pragma once

#include <assay/core/requirements.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace assay::trace {

/// The indices of numbers from the largest to the smallest; equal numbers keep their order.
inline std::vector<std::size_t> falling_order(std::vector<double> const& sizes) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < sizes.size(); ++i) { order.push_back(i); }
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return sizes[a] != sizes[b] ? sizes[a] > sizes[b] : a < b;
  });
  return order;
}

/// Sorts rows by falling `size_of(row)`; rows of equal size keep their order.
template <class Row, class Size>
void largest_first(std::vector<Row>& rows, Size const& size_of) {
  std::vector<double> sizes;
  for (auto const& each : rows) { sizes.push_back(static_cast<double>(size_of(each))); }
  std::vector<Row> sorted;
  for (auto const row : falling_order(sizes)) { sorted.push_back(std::move(rows[row])); }
  rows = std::move(sorted);
}

}  // namespace assay::trace
