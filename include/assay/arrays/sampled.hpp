// SPDX-License-Identifier: Apache-2.0
/// @file
/// `sampled`: checks some elements of an array whose right values take long to compute.
#pragma once

#include <assay/arrays/matrix.hpp>
#include <assay/core/random.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace assay {

/// Asks `expect` for a sample of so many elements, drawn from the seed; of all elements where there
/// are no more. See docs/unit-tests.md for the chance that a bug is missed.
struct sampled {
  std::size_t elements = 4096;
};

namespace arrays::detail {

/// The indices of a sample in rising order. The first and the last element are in it. Ends of the
/// rows of a matrix take up to half of it. Equal parts of the array have one element each. `rows`
/// has no rows for an array without them. The array has more elements than the sample.
inline std::vector<std::size_t> draw_sample(std::size_t size, matrix const& rows,
                                            std::size_t elements, std::uint64_t seed) {
  auto const columns = rows.rows == 0 ? size : rows.columns;
  auto const count = rows.rows == 0 ? size : rows.rows * rows.columns;
  auto const ends = 2 * (count / columns);
  std::vector<std::size_t> made{0, count - 1};
  std::uint64_t drawn = 0;
  // One of each part i of n of so many: the parts differ by one at most.
  auto const one_of = [&](std::size_t i, std::size_t n, std::size_t all) {
    auto const part = all / n, rest = all % n;
    auto const length = part + (i < rest ? 1 : 0);
    return i * part + std::min(i, rest) + random_bits(seed, drawn++) % length;
  };
  auto const at_ends = rows.rows == 0 ? 0 : std::min(ends, elements / 2);
  for (std::size_t i = 0; i < at_ends; ++i) {
    auto const end = one_of(i, at_ends, ends);
    made.push_back(end / 2 * columns + (end % 2 == 0 ? 0 : columns - 1));
  }
  auto const inner = elements > made.size() ? elements - made.size() : 1;
  for (std::size_t i = 0; i < inner; ++i) { made.push_back(one_of(i, inner, count)); }
  for (auto& each : made) {
    if (rows.rows > 0) { each = each / columns * rows.leading_dimension + each % columns; }
  }
  std::sort(made.begin(), made.end());
  made.erase(std::unique(made.begin(), made.end()), made.end());
  return made;
}

}  // namespace arrays::detail
}  // namespace assay
