// SPDX-License-Identifier: Apache-2.0
/// @file
/// The inputs of a product of matrices, and a check of the result without computing it again.
#pragma once

#include <assay/copy/matrix_view.hpp>
#include <assay/core/bfloat16.hpp>
#include <assay/core/random.hpp>
#include <assay/host/parallel_for.hpp>
#include <assay/workload/concepts.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace assay::workloads {

/// The recipe of the inputs of a product; equal recipes give equal inputs.
struct matmul_recipe {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::uint64_t seed = 0;
  bool exact = false;
  bool operator==(matmul_recipe const&) const = default;
};

/// One row of C = A x B in float64: expected[j] is the sum of a[p] b[p, j] over p in [0, k), and
/// magnitude[j] the sum of the absolute values. B is row-major, k x n, with `pitch` elements from
/// row to row.
template <class T>
void matmul_row(std::int64_t n, std::int64_t k, T const* a, T const* b, std::int64_t pitch,
                double* expected, double* magnitude) {
  for (std::int64_t j = 0; j < n; ++j) { expected[j] = magnitude[j] = 0; }
  for (std::int64_t p = 0; p < k; ++p) {
    auto const left = static_cast<double>(a[p]);
    for (std::int64_t j = 0; j < n; ++j) {
      auto const product = left * static_cast<double>(b[p * pitch + j]);
      expected[j] += product;
      magnitude[j] += std::abs(product);
    }
  }
}

/// The largest error of a sum of `k` products of `float`, as a share of the sum of their absolute
/// values. Each product passes at most k roundings of 2^-24, in any order of the sum. Second-order
/// terms are below 1 % for all k here; the reference adds k roundings of 2^-53.
inline double rounded_sum_share(std::int64_t k) {
  return 1.01 * static_cast<double>(k) * (0x1p-24 + std::numeric_limits<double>::epsilon());
}

/// The same on tensor cores. Their products of `bfloat16` are exact in float32. One instruction
/// adds 16 products to a sum: all 17 numbers are cut off at 2^-23 of the largest, and so is the
/// sum.
inline double truncated_sum_share(std::int64_t k) {
  auto const products = static_cast<double>(k);
  auto const instructions = std::ceil(products / 16);
  return 1.01 * (instructions * 18 * 0x1p-23 + products * std::numeric_limits<double>::epsilon());
}

/// The largest error of a stored sum. The sum errs by at most `summed` before it is rounded to an
/// element, with a relative error of `unit`. `least` is the smallest element.
inline double stored_allowed(double expected, double summed, double unit, double least) {
  return summed + unit * (std::abs(expected) + summed) + least;
}

/// All bytes of poisoned outputs, and of the gaps between rows: 0x7F7F7F7F and 0x7F7F are 3.4e38,
/// which no sum of these products is. A kernel that reads a gap computes nonsense.
inline constexpr unsigned char matmul_poison = 0x7F;

namespace detail {

/// The rounding of sums to elements, and the error of sums before that.
template <class T>
struct matmul_rounding {
  static double share(std::int64_t k) { return rounded_sum_share(k); }
  static double stored(double value) { return static_cast<double>(static_cast<float>(value)); }
  static constexpr double unit = 0;  ///< it is what the sum is taken in
  static constexpr double least = 0x1p-126;
};
template <>
struct matmul_rounding<bfloat16> {
  static double share(std::int64_t k) { return truncated_sum_share(k); }
  static double stored(double value) { return static_cast<double>(to_bfloat16(value)); }
  static constexpr double unit = bfloat16_unit;
  static constexpr double least = 0x1p-126;
};

}  // namespace detail

/// Element `index` of generated matrix `which`: in [-1, 1) with random mantissas. An `exact`
/// element is a multiple of 1/8: all sums of up to 2^18 products are then float32 numbers, in any
/// order.
template <class T>
T matmul_element(std::uint64_t seed, int which, std::uint64_t index, bool exact) noexcept {
  auto const random = static_cast<std::int64_t>(
      random_bits(seed + 0x9E3779B9U * static_cast<std::uint64_t>(which), index));
  auto const value =
      exact ? static_cast<double>(random >> 60) * 0x1p-3 : static_cast<double>(random) * 0x1p-63;
  return static_cast<T>(static_cast<float>(value));
}

/// A and B in host memory, and what C must be.
///
/// A result is checked in two ways. Small ones (`all_products`) wholly against the reference; of
/// larger ones a random row of each 64, the first and the last, so that no tile escapes. The second
/// check is by Freivalds (1977): with x random of -1 and 1, C x must be A (B x) for every row. This
/// check finds every error beyond the bound of a whole row, such as an element that was never
/// written. The bounds come from the reference; `exact` inputs leave none but the rounding of
/// elements.
template <class T>
class matmul_problem {
  using rounding = detail::matmul_rounding<T>;

 public:
  /// Up to so many products all of C is compared: half a second of one thread.
  static constexpr std::int64_t all_products = std::int64_t{1} << 28;
  static constexpr std::int64_t rows_per_sample = 64;

  explicit matmul_problem(matmul_recipe const& recipe)
      : recipe_(recipe),
        a_pitch_(copy::chunked_pitch<T>(recipe.k)),
        b_pitch_(copy::chunked_pitch<T>(recipe.n)),
        a_(generated(recipe.m, recipe.k, 0)),
        b_(generated(recipe.k, recipe.n, 1)) {}

  std::vector<T> const& a() const noexcept { return a_; }
  std::vector<T> const& b() const noexcept { return b_; }
  matmul_recipe const& recipe() const noexcept { return recipe_; }

  /// Describes the first error in C, which has the pitch of B.
  mismatch check(T const* c) {
    if (recipe_.m == 0 || recipe_.n == 0) { return {}; }
    std::call_once(prepared_, [this] { prepare(); });
    auto const wrong_row_at = [&](std::int64_t at) {
      auto const row = samples_[static_cast<std::size_t>(at)];
      return first_wrong_of(row, c, expected_.data() + at * recipe_.n,
                            allowed_.data() + at * recipe_.n) < recipe_.n;
    };
    auto const count = static_cast<std::int64_t>(samples_.size());
    auto const sample = lowest(count, wrong_row_at);
    if (sample < count) { return describe(samples_[static_cast<std::size_t>(sample)], c); }
    auto const row = lowest(recipe_.m, [&](std::int64_t i) { return fails_product(i, c); });
    if (row < recipe_.m) { return describe(row, c); }
    return {};
  }

 private:
  static std::size_t size(std::int64_t rows, std::int64_t cols) {
    return static_cast<std::size_t>(rows * cols);
  }
  std::vector<T> generated(std::int64_t rows, std::int64_t cols, int which) const {
    auto const pitch = copy::chunked_pitch<T>(cols);
    std::vector<T> all(size(rows, pitch));
    host::parallel_for(host::all_threads(), rows, 16, [&](auto begin, auto end) {
      std::memset(static_cast<void*>(all.data() + begin * pitch), matmul_poison,
                  size(end - begin, pitch) * sizeof(T));
      for (auto i = begin * cols; i < end * cols; ++i) {
        all[size(i / cols, pitch) + size(1, i % cols)] =
            matmul_element<T>(recipe_.seed, which, static_cast<std::uint64_t>(i), recipe_.exact);
      }
    });
    return all;
  }

  /// The lowest index of [0, count) that `wrong`, or count; by all threads.
  template <class Wrong>
  static std::int64_t lowest(std::int64_t count, Wrong const& wrong) {
    std::vector<char> found(static_cast<std::size_t>(count));
    host::parallel_for(host::all_threads(), count, 1, [&](auto begin, auto end) {
      for (auto i = begin; i < end; ++i) { found[static_cast<std::size_t>(i)] = wrong(i) ? 1 : 0; }
    });
    return std::find(found.begin(), found.end(), 1) - found.begin();
  }

  void expect_row(std::int64_t row, double* expected, double* allowed) const {
    matmul_row(recipe_.n, recipe_.k, a_.data() + row * a_pitch_, b_.data(), b_pitch_, expected,
               allowed);
    for (std::int64_t j = 0; j < recipe_.n; ++j) {
      if (recipe_.exact) {
        expected[j] = rounding::stored(expected[j]);
        allowed[j] = 0;
      } else {
        allowed[j] = stored_allowed(expected[j], rounding::share(recipe_.k) * allowed[j],
                                    rounding::unit, rounding::least);
      }
    }
  }
  std::int64_t first_wrong_of(std::int64_t row, T const* c, double const* expected,
                              double const* allowed) const {
    std::int64_t j = 0;
    while (j < recipe_.n &&
           std::abs(static_cast<double>(c[row * b_pitch_ + j]) - expected[j]) <= allowed[j]) {
      ++j;
    }
    return j;
  }

  double sign(std::int64_t j) const {
    return (random_bits(recipe_.seed + 2, static_cast<std::uint64_t>(j)) & 1U) != 0 ? 1.0 : -1.0;
  }

  void prepare() {
    auto const [m, n, k, seed, exact] = recipe_;
    auto const step = m * n <= all_products / std::max<std::int64_t>(k, 1) ? 1 : rows_per_sample;
    for (std::int64_t band = 0; band < m; band += step) {
      auto const height = std::min(step, m - band);
      auto const picked = random_bits(seed + 3, static_cast<std::uint64_t>(band)) %
                          static_cast<std::uint64_t>(height);
      samples_.push_back(band + static_cast<std::int64_t>(picked));
    }
    if (samples_.front() != 0) { samples_.insert(samples_.begin(), 0); }
    if (samples_.back() != m - 1) { samples_.push_back(m - 1); }
    auto const count = static_cast<std::int64_t>(samples_.size());
    expected_.resize(size(count, n));
    allowed_.resize(size(count, n));
    host::parallel_for(host::all_threads(), count, 1, [&](auto begin, auto end) {
      for (auto i = begin; i < end; ++i) {
        expect_row(samples_[static_cast<std::size_t>(i)], expected_.data() + i * n,
                   allowed_.data() + i * n);
      }
    });
    std::vector<double> right(size(k, 1)), magnitude(size(k, 1));
    multiply(
        b_.data(), b_pitch_, k, n, [this](std::int64_t j) { return sign(j); },
        [](auto) { return 1.0; }, right, magnitude);
    product_.resize(size(m, 1));
    product_magnitude_.resize(size(m, 1));
    multiply(
        a_.data(), a_pitch_, m, k, [&](auto p) { return right[static_cast<std::size_t>(p)]; },
        [&](auto p) { return magnitude[static_cast<std::size_t>(p)]; }, product_,
        product_magnitude_);
  }

  /// to[i] = sum of matrix[i, j] x(j), and the same of absolute values with `bound` for x.
  template <class X, class Bound>
  static void multiply(T const* matrix, std::int64_t pitch, std::int64_t rows, std::int64_t cols,
                       X const& x, Bound const& bound, std::vector<double>& to,
                       std::vector<double>& bounds) {
    host::parallel_for(host::all_threads(), rows, 16, [&](auto begin, auto end) {
      for (auto i = begin; i < end; ++i) {
        double sum = 0, most = 0;
        for (std::int64_t j = 0; j < cols; ++j) {
          auto const each = static_cast<double>(matrix[i * pitch + j]);
          sum += each * x(j);
          most += std::abs(each) * bound(j);
        }
        to[static_cast<std::size_t>(i)] = sum;
        bounds[static_cast<std::size_t>(i)] = most;
      }
    });
  }

  bool fails_product(std::int64_t row, T const* c) const {
    double sum = 0, stored = 0;
    for (std::int64_t j = 0; j < recipe_.n; ++j) {
      auto const each = static_cast<double>(c[row * b_pitch_ + j]);
      sum += each * sign(j);
      stored += std::abs(each);
    }
    auto const at = static_cast<std::size_t>(row);
    auto const stored_badly = 1.01 * rounding::unit * stored;
    auto const summed_badly = recipe_.exact ? 0.0
                                            : rounding::share(recipe_.k) * product_magnitude_[at] +
                                                  static_cast<double>(recipe_.n) * rounding::least;
    return !(std::abs(sum - product_[at]) <= summed_badly + stored_badly);
  }

  mismatch describe(std::int64_t row, T const* c) const {
    std::vector<double> expected(size(1, recipe_.n)), allowed(size(1, recipe_.n));
    expect_row(row, expected.data(), allowed.data());
    auto const j = first_wrong_of(row, c, expected.data(), allowed.data());
    if (j == recipe_.n) {
      return "row " + std::to_string(row) +
             ": no element is outside its own bound, but their sum is";
    }
    auto const at = static_cast<std::size_t>(j);
    std::array<char, 120> text{};
    std::snprintf(text.data(), text.size(),
                  "row %lld, column %lld: got %.9g, expected %.9g within %.3g",
                  static_cast<long long>(row), static_cast<long long>(j),
                  static_cast<double>(c[row * b_pitch_ + j]), expected[at], allowed[at]);
    return text.data();
  }

  matmul_recipe recipe_;
  std::int64_t a_pitch_;
  std::int64_t b_pitch_;
  std::vector<T> a_;
  std::vector<T> b_;
  std::once_flag prepared_;
  std::vector<std::int64_t> samples_;  ///< rows that are compared element by element
  std::vector<double> expected_;
  std::vector<double> allowed_;
  std::vector<double> product_;  ///< A (B x)
  std::vector<double> product_magnitude_;
};

/// The problem of a recipe, from a cache of the process that keeps the last two of a type, since
/// every epoch of a comparison asks for the same ones.
template <class T>
std::shared_ptr<matmul_problem<T>> generated_matmul(matmul_recipe const& recipe) {
  static std::mutex guard;
  static std::array<std::shared_ptr<matmul_problem<T>>, 2> recent;
  std::lock_guard const lock{guard};
  if (recent[1] && recent[1]->recipe() == recipe) { std::swap(recent[0], recent[1]); }
  if (!recent[0] || !(recent[0]->recipe() == recipe)) {
    recent[1] = std::move(recent[0]);
    recent[0] = std::make_shared<matmul_problem<T>>(recipe);
  }
  return recent[0];
}

}  // namespace assay::workloads
