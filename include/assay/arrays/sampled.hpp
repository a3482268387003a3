// SPDX-License-Identifier: Apache-2.0
/// @file
/// `sampled`: checks some elements of an array whose right values take long to compute.
#pragma once

#include <assay/arrays/matrix.hpp>
#include <assay/core/random.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace assay {

/// Asks `expect` for a sample of so many elements, drawn from the seed; of all elements where there
/// are no more. See docs/unit-tests.md for the chance that a bug is missed.
struct sampled {
  std::size_t elements = 4096;
};

namespace arrays::detail {

/// How a sample is drawn from an array of more elements. `rows` has no rows for an array without
/// them.
struct sample_plan {
  std::size_t columns, count;  ///< of elements that are no padding
  std::size_t ends;            ///< of rows, and how many of them are drawn
  std::size_t at_ends = 0;
  std::size_t parts = 1;  ///< of the array, each of which has one element of the sample

  sample_plan(std::size_t size, matrix const& rows, std::size_t elements)
      : columns(rows.rows == 0 ? size : rows.columns),
        count(rows.rows == 0 ? size : rows.rows * rows.columns),
        ends(2 * rows.rows),
        at_ends(std::min(ends, elements / 2)) {
    auto const fixed = 2 + at_ends;  // with the first and the last element
    if (elements > fixed) { parts = elements - fixed; }
  }

  /// The least number of elements, wherever they are, that a check misses with a chance of at most
  /// 1 % if they are wrong: exp(-number / elements of the largest part).
  std::size_t seldom_missed() const {
    auto const largest = static_cast<double>((count + parts - 1) / parts);
    return std::min(count, static_cast<std::size_t>(std::ceil(largest * std::log(100.0))));
  }
};

/// The indices of a sample in rising order. The first and the last element are in it. Ends of the
/// rows of a matrix take up to half of it. Equal parts of the array have one element each.
inline std::vector<std::size_t> draw_sample(std::size_t size, matrix const& rows,
                                            std::size_t elements, std::uint64_t seed) {
  sample_plan const plan{size, rows, elements};
  std::vector<std::size_t> made{0, plan.count - 1};
  std::uint64_t drawn = 0;
  // One of each part i of n of so many: the parts differ by one at most.
  auto const one_of = [&](std::size_t i, std::size_t n, std::size_t all) {
    auto const part = all / n, rest = all % n;
    auto const length = part + (i < rest ? 1 : 0);
    return i * part + std::min(i, rest) + random_bits(seed, drawn++) % length;
  };
  for (std::size_t i = 0; i < plan.at_ends; ++i) {
    auto const end = one_of(i, plan.at_ends, plan.ends);
    made.push_back(end / 2 * plan.columns + (end % 2 == 0 ? 0 : plan.columns - 1));
  }
  for (std::size_t i = 0; i < plan.parts; ++i) {
    made.push_back(one_of(i, plan.parts, plan.count));
  }
  for (auto& each : made) {
    if (rows.rows > 0) {
      each = each / plan.columns * rows.leading_dimension + each % plan.columns;
    }
  }
  std::sort(made.begin(), made.end());
  made.erase(std::unique(made.begin(), made.end()), made.end());
  return made;
}

/// The parts of an array in which it is looked at: from each of `begins` on so many elements, as
/// far as there are any.
struct array_pieces {
  std::size_t length;
  std::vector<std::size_t> begins;
  bool drawn = false;  ///< few of a large array, each whole
};

/// All of an array, in pieces of at most `most` elements. With `some`, of an array of more than
/// 2^18 elements 64 runs of 1,024 alone, one of each 64th of the array, the first and the last of
/// them at its ends. A 32nd of the array, all in one place, always has such a run in it. Of
/// elements that are spread over the array, those that are 1 in 14,000 are missed in 1 of 100
/// looks.
inline array_pieces pieces(std::size_t size, std::size_t most,
                           std::optional<std::uint64_t> some = {}) {
  constexpr std::size_t few = std::size_t{1} << 18U, runs = 64, run = 1024;
  array_pieces made{std::min(size, most), {}, false};
  if (!some || size <= few) {
    for (std::size_t begin = 0; begin < size; begin += made.length) {
      made.begins.push_back(begin);
    }
    return made;
  }
  made.length = run;
  made.drawn = true;
  for (std::size_t i = 0; i < runs; ++i) {
    auto const first = size / runs * i;
    auto const room = (i + 1 < runs ? size / runs : size - first) - run;
    made.begins.push_back(i == 0          ? 0
                          : i + 1 == runs ? size - run
                                          : first + random_bits(*some, i) % (room + 1));
  }
  return made;
}

}  // namespace arrays::detail
}  // namespace assay
