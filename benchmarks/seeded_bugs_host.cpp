// SPDX-License-Identifier: Apache-2.0
// Which mistakes of host functions does `assay::verify` find, and which does a test of one size
// with random values and a relative tolerance find? 36 functions, each once right and once with one
// bug. Predicts: at most 1 bug is missed, no right function is accused, and each verification takes
// at most 1 s; by habit fewer than half of the bugs are found.
//
// Ends with 1 where bugs are missed or right functions accused. `--list` prints the functions,
// `--run-bug N` calls the N-th one with its bug once, as habit does, for sanitizers.
// assay-test-flags: -O1

#include "support/host_result.hpp"
#include "support/seeded_bugs.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <thread>
#include <vector>

namespace assay::benchmark {
namespace {

using std::size_t;
using bugs = seeded_bugs<void()>;
using work = std::function<void()>;
using values = array_view<float>;

/// Memory as `calloc` gives it: a process begins with pages of zeros. No poison, no red zones.
class fresh_store final : public arrays::host_array_store {
 public:
  fresh_store() : host_array_store(0) {}
  void fill(void* to, unsigned char value, size_t bytes) override {
    if (value == 0 && bytes > 0) { std::memset(to, value, bytes); }
  }

 private:
  struct freed {
    void operator()(void* block) const noexcept { std::free(block); }
  };
  std::byte* allocate_block(size_t bytes) override {
    blocks_.emplace_back(std::calloc(bytes + 1, 1));
    return static_cast<std::byte*>(blocks_.back().get());
  }
  bool begins_blocks() const noexcept override { return true; }
  std::vector<std::unique_ptr<void, freed>> blocks_;
};

// Tails.

template <bool Bug>
void scale_in_fours(size_t n, float const* x, float* y) {
  size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    y[i] = 2 * x[i];
    y[i + 1] = 2 * x[i + 1];
    y[i + 2] = 2 * x[i + 2];
    y[i + 3] = 2 * x[i + 3];
  }
  for (; !Bug && i < n; ++i) { y[i] = 2 * x[i]; }
}
template <bool Bug>
void absolute_in_blocks(size_t n, float const* x, float* y) {
  constexpr size_t block = 64;
  auto const blocks = Bug ? n / block : (n + block - 1) / block;
  for (size_t b = 0; b < blocks; ++b) {
    for (size_t i = b * block; i < std::min(n, (b + 1) * block); ++i) { y[i] = std::fabs(x[i]); }
  }
}
template <bool Bug>
void dot_by_lanes(size_t n, float const* x, float* y) {
  std::array<double, 8> lanes{};
  auto const whole = n - n % 8;
  for (size_t i = 0; i < whole; ++i) { lanes[i % 8] += double{x[i]} * x[i]; }
  double sum = std::accumulate(lanes.begin(), lanes.end(), 0.0);
  for (size_t i = whole; !Bug && i < n; ++i) { sum += double{x[i]} * x[i]; }
  *y = static_cast<float>(sum);
}
// Off by one.

template <bool Bug>
void smooth(size_t n, float const* x, float* y) {
  if (n > 0) {
    y[0] = x[0];
    y[n - 1] = x[n - 1];
  }
  for (size_t i = 1; i + 1 < n - (Bug && n > 2); ++i) {
    y[i] = (x[i - 1] + x[i] + x[i + 1]) * (1 / 3.0F);
  }
}
/// The number of 16 edges at or below x.
template <bool Bug>
void digitize(size_t n, int const* x, int* y) {
  for (size_t i = 0; i < n; ++i) {
    int low = 0, high = Bug ? 15 : 16;
    while (low < high) {
      int const between = (low + high) / 2;
      if (x[i] >= 10 * between) {
        low = between + 1;
      } else {
        high = between;
      }
    }
    y[i] = low;
  }
}
template <bool Bug>
void moving_sum(size_t n, int const* x, long long* y) {
  long long sum = 0;
  for (size_t i = 0; i < n; ++i) {
    sum += x[i];
    if (i >= 5 + Bug) { sum -= x[i - 5 - Bug]; }
    y[i] = sum;
  }
}

// Shapes.

template <bool Bug>
void transpose(size_t rows, size_t columns, float const* x, float* y) {
  for (size_t i = 0; i < rows; ++i) {
    for (size_t j = 0; j < columns; ++j) { y[j * rows + i] = x[i * (Bug ? rows : columns) + j]; }
  }
}
template <bool Bug>
void row_sums(size_t rows, size_t columns, float const* x, float* y) {
  for (size_t i = 0; i < rows; ++i) {
    double sum = 0;
    for (size_t j = 0; j < columns; ++j) { sum += x[i * (Bug ? rows : columns) + j]; }
    y[i] = static_cast<float>(sum);
  }
}
template <bool Bug>
void column_sums(size_t rows, size_t columns, float const* x, float* y) {
  std::vector<double> sums(columns);
  for (size_t i = 0; i < rows * columns; ++i) {
    sums[i % (Bug ? rows : columns) % columns] += x[i];
  }
  for (size_t j = 0; j < columns; ++j) { y[j] = static_cast<float>(sums[j]); }
}
template <bool Bug>
void softmax(size_t rows, size_t columns, float const* x, float* y) {
  for (size_t i = 0; i < rows; ++i) {
    auto const* from = x + i * columns;
    double most = Bug ? std::numeric_limits<float>::min() : std::numeric_limits<float>::lowest();
    for (size_t j = 0; j < columns; ++j) { most = std::max<double>(most, from[j]); }
    double sum = 0;
    for (size_t j = 0; j < columns; ++j) { sum += std::exp(static_cast<float>(from[j] - most)); }
    for (size_t j = 0; j < columns; ++j) {
      y[i * columns + j] = static_cast<float>(std::exp(static_cast<float>(from[j] - most)) / sum);
    }
  }
}

// Memory that nobody has written.

template <bool Bug>
void sum_into(size_t n, int const* x, long long* y) {
  if (!Bug) { *y = 0; }
  for (size_t i = 0; i < n; ++i) { *y += x[i]; }
}
template <bool Bug>
void count_bytes(size_t n, unsigned char const* x, unsigned* y) {
  if (!Bug) { std::fill_n(y, 256, 0U); }
  for (size_t i = 0; i < n; ++i) { ++y[x[i]]; }
}
template <bool Bug>
void largest(size_t n, float const* x, float* y) {
  if (!Bug) { *y = std::numeric_limits<float>::lowest(); }
  for (size_t i = 0; i < n; ++i) { *y = x[i] > *y ? x[i] : *y; }
}
/// Positions of positive elements first, through scratch memory.
template <bool Bug>
auto ranks(setup& make, size_t n) -> work {
  auto const x = make.random<int>(n, {-50, 49});
  auto const before = make.scratch<int>(n + 1);
  auto const y = make.output<int>(n);
  make.expect(y, [x](std::span<int> wanted) {
    int seen = 0;
    for (size_t i = 0; i < wanted.size(); ++i) {
      wanted[i] = seen;
      seen += x.seeded(i) > 0;
    }
  });
  return [=] {
    if (!Bug) { before.data()[0] = 0; }
    for (size_t i = 0; i < n; ++i) { before.data()[i + 1] = before.data()[i] + (x.data()[i] > 0); }
    std::copy_n(before.data(), n, y.data());
  };
}

// State of earlier calls.

/// A triangular window whose weights are kept for the next call of the same size.
template <bool Bug>
void window(size_t n, float const* x, float* y) {
  static std::vector<float> weights;
  if (Bug ? weights.size() < n : weights.size() != n) {
    weights.resize(n);
    for (size_t i = 0; i < n; ++i) {
      weights[i] = static_cast<float>(static_cast<double>(i) / static_cast<double>(n));
    }
  }
  for (size_t i = 0; i < n; ++i) { y[i] = x[i] * weights[i]; }
}
template <bool Bug>
void checksum(size_t n, int const* x, long long* y) {
  static long long kept;
  if (!Bug) { kept = 0; }
  for (size_t i = 0; i < n; ++i) { kept += x[i]; }
  *y = kept;
}
/// Keeps the sum of the array that it saw last.
template <bool Bug>
void share_of_sum(size_t n, int const* x, double* y) {
  static int const* last;
  static long long sum;
  if (!Bug || x != last) { sum = std::accumulate(x, x + n, 0LL); }
  last = x;
  for (size_t i = 0; i < n; ++i) { y[i] = x[i] / (static_cast<double>(sum) + 1); }
}

// Writes behind the end.

template <bool Bug>
void scale_rounded_up(size_t n, float const* x, float* y) {
  for (size_t i = 0; i < (Bug ? (n + 7) / 8 * 8 : n); ++i) { y[i] = i < n ? 2 * x[i] : 0; }
}
template <bool Bug>
void keep_positive(size_t n, int const* x, int* y) {
  size_t count = 0;
  for (size_t i = 0; i < n; ++i) {
    if (x[i] > 0) { y[count++] = x[i]; }
  }
  for (auto i = count; i < n; ++i) { y[i] = 0; }
  if (Bug) { y[count] = 0; }  // an end mark
}
template <bool Bug>
void differences(size_t n, int const* x, long long* y) {
  if (n > 0) { y[0] = x[0]; }
  for (size_t i = 0; i + 1 < n + Bug; ++i) { y[i + 1] = (i + 1 < n ? 1LL * x[i + 1] : 0) - x[i]; }
}

// Inputs that change.

template <bool Bug>
void median(size_t n, int const* x, int* y) {
  std::vector<int> copy(x, x + n);
  auto* const begin = Bug ? const_cast<int*>(x) : copy.data();
  std::nth_element(begin, begin + n / 2, begin + n);
  *y = n == 0 ? 0 : begin[n / 2];
}
template <bool Bug>
void distance_from_largest(size_t n, float const* x, float* y) {
  if (n == 0) { return; }
  auto const most = *std::max_element(x, x + n);
  for (size_t i = 0; i < n; ++i) {
    if (Bug) { const_cast<float*>(x)[i] -= most; }
    y[i] = Bug ? x[i] : x[i] - most;
  }
}

// Types that are too small.

template <bool Bug>
void mean(size_t n, float const* x, float* y) {
  std::conditional_t<Bug, float, double> sum = 0;
  for (size_t i = 0; i < n; ++i) { sum += x[i]; }
  *y = n == 0 ? 0 : static_cast<float>(sum / static_cast<decltype(sum)>(n));
}
template <bool Bug>
void square_sum(size_t n, int const* x, long long* y) {
  std::conditional_t<Bug, unsigned, long long> sum = 0;
  for (size_t i = 0; i < n; ++i) { sum += static_cast<decltype(sum)>(x[i] * x[i]); }
  *y = sum;
}
/// The sum of squared distances from the mean, of values around 1000.
template <bool Bug>
void variance(size_t n, float const* x, float* y) {
  double sum = 0, squares = 0;
  for (size_t i = 0; i < n; ++i) { sum += x[i]; }
  double const middle = n == 0 ? 0 : sum / static_cast<double>(n);
  for (size_t i = 0; i < n; ++i) {
    squares += Bug ? double{x[i] * x[i]} : (x[i] - middle) * (x[i] - middle);
  }
  *y = static_cast<float>(Bug ? squares - sum * middle : squares);
}
/// The rounding that most write first: wrong for negative numbers.
template <bool Bug>
void to_nearest(size_t n, float const* x, int* y) {
  for (size_t i = 0; i < n; ++i) {
    y[i] = static_cast<int>(Bug ? x[i] + 0.5F : std::floor(double{x[i]} + 0.5));
  }
}
/// Where row i of a packed triangle begins.
template <bool Bug>
void triangle(size_t n, int const* x, long long* y) {
  for (size_t i = 0; i < n; ++i) {
    auto const row = static_cast<unsigned>(i);
    y[i] = x[i] +
           (Bug ? static_cast<int>(row * (row + 1) / 2) : static_cast<long long>(i * (i + 1) / 2));
  }
}

// NaN.

template <bool Bug>
void clamp(size_t n, float const* x, float* y) {
  for (size_t i = 0; i < n; ++i) {
    auto const low = x[i] < -0.5F ? -0.5F : x[i];
    y[i] = Bug ? std::min(std::max(-0.5F, x[i]), 0.5F) : low > 0.5F ? 0.5F : low;
  }
}
template <bool Bug>
void rectify(size_t n, float const* x, float* y) {
  for (size_t i = 0; i < n; ++i) { y[i] = Bug ? (x[i] > 0 ? x[i] : 0) : (x[i] <= 0 ? 0 : x[i]); }
}
/// The largest element so far; NaN from the first NaN on.
template <bool Bug>
void running_largest(size_t n, float const* x, float* y) {
  for (size_t i = 0; i < n; ++i) {
    y[i] = i == 0                 ? x[i]
           : Bug                  ? std::fmax(y[i - 1], x[i])
           : std::isnan(y[i - 1]) ? y[i - 1]
           : x[i] <= y[i - 1]     ? y[i - 1]
                                  : x[i];
  }
}

// Size 0.

template <bool Bug>
void mean_or_zero(size_t n, int const* x, double* y) {
  *y = static_cast<double>(std::accumulate(x, x + n, 0LL));
  if (Bug || n > 0) { *y /= static_cast<double>(n); }
}
template <bool Bug>
void first_largest(size_t n, int const* x, int* y) {
  size_t best = 0;
  for (size_t i = 1; i < n; ++i) { best = x[i] > x[best] ? i : best; }
  *y = n == 0 && !Bug ? -1 : static_cast<int>(best);
}
template <bool Bug>
void backwards(size_t n, int const* x, int* y) {
  if (!Bug && n == 0) { return; }
  size_t i = n;
  do {
    --i;
    y[n - 1 - i] = x[i];
  } while (i > 0);
}

// Threads.

/// Calls `each(first, last)` for two halves, on two threads at once.
template <class Each>
void in_halves(size_t n, Each const& each) {
  std::thread half{[&] { each(size_t{0}, n / 2); }};
  each(n / 2, n);
  half.join();
}
template <bool Bug>
void count_digits(size_t n, unsigned char const* x, unsigned* y) {
  std::fill_n(y, 16, 0U);
  in_halves(n, [&](size_t first, size_t last) {
    for (auto i = first; i < last; ++i) {
      std::atomic_ref<unsigned> count{y[x[i] % 16]};
      if (Bug) {
        count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      } else {
        count.fetch_add(1, std::memory_order_relaxed);
      }
    }
  });
}
/// A scan of two halves, of which the second needs the sum of the first.
template <bool Bug>
void scan_in_halves(size_t n, int const* x, int* y) {
  std::thread first{[&] { std::partial_sum(x, x + n / 2, y); }};
  if (!Bug) { first.join(); }
  std::partial_sum(x + n / 2, x + n, y + n / 2);
  auto const offset = n < 2 ? 0 : std::atomic_ref<int>{y[n / 2 - 1]}.load();
  for (auto i = n / 2; i < n; ++i) { y[i] += offset; }
  if (Bug) { first.join(); }
}
template <bool Bug>
void sum_of_halves(size_t n, int const* x, long long* y) {
  std::atomic<long long> sum{0};
  in_halves(n, [&](size_t first, size_t last) {
    for (auto i = first; i < last; ++i) {
      if (Bug) {
        sum = sum + x[i];
      } else {
        sum += x[i];
      }
    }
  });
  *y = sum;
}

bugs all() {
  bugs list;
  constexpr size_t n = 1024, edge = 128;
  auto const add = [&](char const* kind, char const* name, auto const& variant) {
    list.add(kind, name, variant, {}, n);
  };
  auto const add_shape = [&](char const* kind, char const* name, auto const& variant) {
    list.add(kind, name, variant, {}, edge, edge);
  };

  add("tail", "scaling, unrolled by 4", [](bool bug) {
    return map(bug ? scale_in_fours<true> : scale_in_fours<false>, right_twice);
  });
  add("tail", "absolute values in blocks", [](bool bug) {
    return map(bug ? absolute_in_blocks<true> : absolute_in_blocks<false>,
               [](double x, size_t, size_t) { return std::fabs(x); });
  });
  add("tail", "dot product by 8 lanes", [](bool bug) {
    return from_all(bug ? dot_by_lanes<true> : dot_by_lanes<false>, always<1>, right_square_sum);
  });

  add("off by one", "stencil of 3 points", [](bool bug) {
    return [call = bug ? smooth<true> : smooth<false>](setup& make, size_t count) -> work {
      auto const x = make.random<float>(count);
      auto const y = make.output<float>(count);
      make.expect(
          y,
          [x](size_t i) {
            if (i == 0 || i + 1 == x.size()) { return double{x.seeded(i)}; }
            return (double{x.seeded(i - 1)} + x.seeded(i) + x.seeded(i + 1)) / 3;
          },
          allowed({1e-6, 1e-6}));
      return [=] { call(count, x.data(), y.data()); };
    };
  });
  add("off by one", "search among edges", [](bool bug) {
    return map<int>(bug ? digitize<true> : digitize<false>, right_digitize, {0, 160});
  });
  add("off by one", "sums of 5 elements", [](bool bug) {
    return from_all<int, long long>(bug ? moving_sum<true> : moving_sum<false>, nullptr,
                                    right_moving_sum);
  });

  add_shape("wrong stride", "transpose", [](bool bug) {
    return from_rows(bug ? transpose<true> : transpose<false>, all_of, right_transpose);
  });
  add_shape("wrong stride", "sums of rows", [](bool bug) {
    return from_rows(bug ? row_sums<true> : row_sums<false>, each_row, right_row_sums);
  });
  add_shape("wrong stride", "sums of columns", [](bool bug) {
    return from_rows(bug ? column_sums<true> : column_sums<false>, each_column, right_column_sums);
  });

  add_shape("wrong start value", "softmax", [](bool bug) {
    return from_rows(bug ? softmax<true> : softmax<false>, all_of, right_softmax, {-200, 200},
                     {1e-5, 1e-12});
  });
  add("wrong start value", "largest element", [](bool bug) {
    return from_all(bug ? largest<true> : largest<false>, always<1>, [](values x, auto wanted) {
      wanted[0] = std::numeric_limits<float>::lowest();
      for (size_t i = 0; i < x.size(); ++i) {
        wanted[0] = std::max<double>(wanted[0], x.seeded(i));
      }
    });
  });

  add("uninitialised memory", "sum into an element", [](bool bug) {
    return from_all<int, long long>(bug ? sum_into<true> : sum_into<false>, always<1>, right_sum);
  });
  add("uninitialised memory", "histogram of bytes", [](bool bug) {
    return from_all<unsigned char, unsigned>(bug ? count_bytes<true> : count_bytes<false>,
                                             always<256>, right_counts);
  });
  add("uninitialised memory", "ranks by scratch memory",
      [](bool bug) { return bug ? ranks<true> : ranks<false>; });

  add("stale state", "window whose weights are kept", [](bool bug) {
    return map(bug ? window<true> : window<false>, [](double x, size_t i, size_t count) {
      return x * static_cast<float>(static_cast<double>(i) / static_cast<double>(count));
    });
  });
  add("stale state", "sum that goes on", [](bool bug) {
    return from_all<int, long long>(bug ? checksum<true> : checksum<false>, always<1>, right_sum);
  });
  add("stale state", "sum kept for an address", [](bool bug) {
    return from_all<int, double>(bug ? share_of_sum<true> : share_of_sum<false>, nullptr,
                                 [](auto x, auto wanted) {
                                   long long all = 0;
                                   for (size_t i = 0; i < x.size(); ++i) { all += x.seeded(i); }
                                   for (size_t i = 0; i < x.size(); ++i) {
                                     wanted[i] = x.seeded(i) / (static_cast<double>(all) + 1);
                                   }
                                 },
                                 {1, 100});
  });

  add("write past the end", "scaling, rounded up to 8", [](bool bug) {
    return map(bug ? scale_rounded_up<true> : scale_rounded_up<false>, right_twice);
  });
  add("write past the end", "compaction with an end mark", [](bool bug) {
    return from_all<int>(bug ? keep_positive<true> : keep_positive<false>, nullptr,
                         [](auto x, auto wanted) {
                           for (size_t i = 0, count = 0; i < x.size(); ++i) {
                             if (x.seeded(i) > 0) { wanted[count++] = x.seeded(i); }
                           }
                         },
                         {-9, 99});
  });
  add("write past the end", "differences", [](bool bug) {
    return from_all<int, long long>(bug ? differences<true> : differences<false>, nullptr,
                                    right_differences);
  });

  add("input modified", "median", [](bool bug) {
    return from_all<int>(bug ? median<true> : median<false>, always<1>, [](auto x, auto wanted) {
      std::vector<int> copy;
      for (size_t i = 0; i < x.size(); ++i) { copy.push_back(x.seeded(i)); }
      std::sort(copy.begin(), copy.end());
      wanted[0] = copy.empty() ? 0 : copy[copy.size() / 2];
    });
  });
  add("input modified", "distance from the largest", [](bool bug) {
    return from_all(bug ? distance_from_largest<true> : distance_from_largest<false>, nullptr,
                    [](values x, auto wanted) {
                      double most = -1;
                      for (size_t i = 0; i < x.size(); ++i) {
                        most = std::max<double>(most, x.seeded(i));
                      }
                      for (size_t i = 0; i < x.size(); ++i) { wanted[i] = x.seeded(i) - most; }
                    });
  });

  add("type of sums", "mean", [](bool bug) {
    return from_all(bug ? mean<true> : mean<false>, always<1>, right_mean, {0, 1});
  });
  add("type of sums", "sum of squares", [](bool bug) {
    return from_all<int, long long>(bug ? square_sum<true> : square_sum<false>, always<1>,
                                    right_square_sum, {0, 1000});
  });
  add("type of sums", "variance around 1000", [](bool bug) {
    return from_all(bug ? variance<true> : variance<false>, always<1>, right_variance, {1000, 1001},
                    {1e-6, 1e-9});
  });
  add("rounding", "to the nearest integer", [](bool bug) {
    return [to = map<float, int>(bug ? to_nearest<true> : to_nearest<false>, right_nearest,
                                 {-1000, 1000})](setup& make, size_t count) -> work {
      return to(make.finite(), count);
    };
  });
  add("overflow of int", "begins of rows of a triangle", [](bool bug) {
    return map<int, long long>(bug ? triangle<true> : triangle<false>, right_triangle, {0, 1});
  });

  add("NaN swallowed", "clamp",
      [](bool bug) { return map(bug ? clamp<true> : clamp<false>, right_clamp); });
  add("NaN swallowed", "rectifier",
      [](bool bug) { return map(bug ? rectify<true> : rectify<false>, right_rectify); });
  add("NaN swallowed", "running maximum", [](bool bug) {
    return [call = bug ? running_largest<true> : running_largest<false>](setup& make,
                                                                         size_t count) -> work {
      auto const x = make.random<float>(count);
      auto const y = make.output<float>(count);
      make.expect(
          y,
          [x](std::span<double> wanted) {
            for (size_t i = 0; i < wanted.size(); ++i) {
              double const now = x.seeded(i);
              double const before = i == 0 ? now : wanted[i - 1];
              wanted[i] = std::isnan(before) || now <= before ? before : now;
            }
          },
          allowed());
      return [=] { call(count, x.data(), y.data()); };
    };
  });

  add("size 0", "mean", [](bool bug) {
    return from_all<int, double>(bug ? mean_or_zero<true> : mean_or_zero<false>, always<1>,
                                 right_mean);
  });
  add("size 0", "place of the largest", [](bool bug) {
    return from_all<int>(bug ? first_largest<true> : first_largest<false>, always<1>,
                         [](auto x, auto wanted) {
                           size_t best = 0;
                           for (size_t i = 1; i < x.size(); ++i) {
                             best = x.seeded(i) > x.seeded(best) ? i : best;
                           }
                           wanted[0] = x.size() == 0 ? -1 : static_cast<int>(best);
                         },
                         {0, 99});
  });
  add("size 0", "reversal", [](bool bug) {
    return from_all<int>(bug ? backwards<true> : backwards<false>, nullptr,
                         [](auto x, auto wanted) {
                           for (size_t i = 0; i < x.size(); ++i) {
                             wanted[i] = x.seeded(x.size() - 1 - i);
                           }
                         });
  });

  add("race of threads", "histogram", [](bool bug) {
    return from_all<unsigned char, unsigned>(bug ? count_digits<true> : count_digits<false>,
                                             always<16>, right_counts);
  });
  add("race of threads", "scan in halves", [](bool bug) {
    return from_all<int>(bug ? scan_in_halves<true> : scan_in_halves<false>, nullptr,
                         [](auto x, auto wanted) {
                           for (size_t i = 0; i < x.size(); ++i) {
                             wanted[i] = x.seeded(i) + (i == 0 ? 0 : wanted[i - 1]);
                           }
                         },
                         {-99, 99});
  });
  add("race of threads", "sum of halves", [](bool bug) {
    return from_all<int, long long>(bug ? sum_of_halves<true> : sum_of_halves<false>, always<1>,
                                    right_sum);
  });
  return list;
}

}  // namespace
}  // namespace assay::benchmark

int main(int argc, char** argv) {
  using namespace assay;
  using namespace assay::benchmark;
  auto const list = all();
  habit_place<void()> const here{[] { return std::make_shared<fresh_store>(); },
                                 [](work const& call) { call(); }};
  if (auto const code = run_one(argc, argv, list, here)) { return *code; }
  bool holds = false;
  int const code = run_on_host(argc, argv, "seeded_bugs_host",
                               [&](host_options const&, report::document& figures) {
                                 holds = examine_all(list, here, 1, figures);
                               });
  return code != 0 ? code : holds ? 0 : 1;
}
