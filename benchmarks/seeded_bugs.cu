// SPDX-License-Identifier: Apache-2.0
// Which mistakes of kernels does `assay::verify` find, and which does a test of one size with
// random values and a relative tolerance find? 67 kernels, each once right and once with one bug.
// Predicts: at most 3 bugs are missed, of which one shows beyond 2^31 bytes alone; no right kernel
// is accused; each verification takes at most 1 s; by habit fewer than half of the bugs are found.
//
// Ends with 1 where more bugs are missed or right kernels accused. `--list` prints the kernels,
// `--run-bug N` calls the N-th one with its bug once, as habit does. What a sanitizer finds of it:
//   for i in $(seq 0 66); do for tool in memcheck racecheck initcheck; do
//     compute-sanitizer --tool $tool --error-exitcode 9 seeded_bugs --run-bug $i >/dev/null 2>&1
//     [ $? = 9 ] && echo "$i $tool"; done; done

#include "support/result.hpp"
#include "support/seeded_bugs.hpp"
#include "support/seeded_kernels.cuh"
#include "support/seeded_state_kernels.cuh"

#include <assay/arrays/device_arrays.cuh>
#include <assay/core/error.hpp>
#include <assay/core/stream.hpp>
#include <assay/memory/cuda_malloc.hpp>
#include <assay/verify.cuh>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <vector>

namespace assay::benchmark {
namespace {

using namespace seeded;
using bugs = seeded_bugs<void(cudaStream_t)>;
using work = std::function<void(cudaStream_t)>;
using values = array_view<float>;

/// Memory as `cudaMalloc` gives it, of just the bytes of an array: no poison, no red zones.
class fresh_store final : public arrays::array_store {
 public:
  fresh_store() : array_store(0) {}
  void fill_random(void* to, size_t count, arrays::any_range const& range,
                   std::uint64_t seed) override {
    auto const bytes =
        count * arrays::with_type(range.type, [](auto value) { return sizeof value; });
    arrays::host_array_store on_host{0};
    auto* const made = on_host.allocate(bytes);
    on_host.fill_random(made, count, range, seed);
    copy_in(to, made, bytes);
  }
  void fill(void* to, unsigned char value, size_t bytes) override {
    if (value == 0) { check(cudaMemset(to, value, bytes)); }
  }
  void copy(void* to, void const* from, size_t bytes) override {
    check(cudaMemcpy(to, from, bytes, cudaMemcpyDefault));
  }
  void copy_in(void* to, void const* host, size_t bytes) override { copy(to, host, bytes); }
  void copy_out(void* host, void const* from, size_t bytes) override { copy(host, from, bytes); }
  void finish() override { check(cudaDeviceSynchronize()); }

 private:
  struct freed {
    void operator()(void* block) const noexcept { (void)cudaFree(block); }
  };
  std::byte* allocate_block(size_t bytes) override {
    void* block = nullptr;
    check(cudaMalloc(&block, std::max<size_t>(bytes, 1)));
    blocks_.emplace_back(block);
    return static_cast<std::byte*>(block);
  }
  bool begins_blocks() const noexcept override { return true; }
  std::vector<std::unique_ptr<void, freed>> blocks_;
};

unsigned blocks(size_t threads) { return static_cast<unsigned>((threads + 255) / 256); }
size_t parts(size_t n) { return blocks(n); }

/// Launches enough blocks of 256 threads for n threads, or n / per where one does more.
template <class T, class U>
auto over(void (*kernel)(size_t, T const*, U*), size_t per = 1) {
  return [=](cudaStream_t s, size_t n, T const* x, U* y) {
    auto const grid = blocks((n + per - 1) / per);
    if (grid > 0) { kernel<<<grid, 256, 0, s>>>(n, x, y); }
  };
}
/// Launches one block of 256 threads.
template <class T, class U>
auto in_one_block(void (*kernel)(size_t, T const*, U*)) {
  return [=](cudaStream_t s, size_t n, T const* x, U* y) { kernel<<<1, 256, 0, s>>>(n, x, y); };
}
/// The same after zeros were written to the `results` elements of y.
template <class T, class U>
auto over_zeros(void (*kernel)(size_t, T const*, U*), size_t results, bool with_zeros = true) {
  return [=, launch = over(kernel)](cudaStream_t s, size_t n, T const* x, U* y) {
    if (with_zeros) { check(cudaMemsetAsync(y, 0, results * sizeof(U), s)); }
    launch(s, n, x, y);
  };
}
using rows_kernel = void (*)(size_t, size_t, float const*, float*);
/// `threads(rows, columns)` threads in blocks of 256.
auto over_rows(rows_kernel kernel, size_t (*threads)(size_t, size_t)) {
  return [=](cudaStream_t s, size_t rows, size_t columns, float const* x, float* y) {
    auto const grid = blocks(threads(rows, columns));
    if (grid > 0) { kernel<<<grid, 256, 0, s>>>(rows, columns, x, y); }
  };
}
size_t warp_for_row(size_t rows, size_t) { return rows * 32; }
size_t block_for_row(size_t rows, size_t) { return rows * 256; }

auto transposing(transpose_bug bug) {
  using enum transpose_bug;
  auto const kernel = bug == tail      ? transpose<tail>
                      : bug == barrier ? transpose<barrier>
                      : bug == stride  ? transpose<stride>
                      : bug == past    ? transpose<past>
                                       : transpose<none>;
  return from_rows(
      [=](cudaStream_t s, size_t rows, size_t columns, float const* x, float* y) {
        dim3 const grid{static_cast<unsigned>((columns + 31) / 32),
                        static_cast<unsigned>((rows + 31) / 32)};
        if (rows * columns > 0) { kernel<<<grid, dim3{32, 8}, 0, s>>>(rows, columns, x, y); }
      },
      all_of, right_transpose);
}
auto softmax_of_rows(softmax_bug bug) {
  using enum softmax_bug;
  auto const kernel = bug == tail    ? softmax<tail>
                      : bug == start ? softmax<start>
                      : bug == input ? softmax<input>
                                     : softmax<none>;
  return from_rows(over_rows(kernel, warp_for_row), all_of, right_softmax, {-200, 200},
                   {1e-5, 1e-12});
}
auto multiplying(gemm_bug bug) {
  using enum gemm_bug;
  auto const kernel = bug == tail      ? gemm<tail>
                      : bug == barrier ? gemm<barrier>
                      : bug == stride  ? gemm<stride>
                      : bug == half    ? gemm<half>
                                       : gemm<none>;
  return [=](setup& make, size_t m, size_t n, size_t k) -> work {
    make.finite();
    auto const a = make.random<float>(m * k), b = make.random<float>(k * n);
    auto const c = make.output<float>(m * n);
    make.expect(
        c,
        [=](size_t at) {
          double sum = 0;
          for (size_t i = 0; i < k; ++i) {
            sum += double{a.seeded(at / n * k + i)} * b.seeded(i * n + at % n);
          }
          return sum;
        },
        allowed(tolerance_for<float>(dot_of(k))));
    return [=](cudaStream_t s) {
      dim3 const grid{static_cast<unsigned>((n + 15) / 16), static_cast<unsigned>((m + 15) / 16)};
      if (m * n > 0) {
        kernel<<<grid, dim3{16, 16}, 0, s>>>(m, n, k, a.data(), b.data(), c.data());
      }
    };
  };
}

/// The sum of x by `kernel(n, x, parts, done, y)`, with memory beside it.
auto summing_by_last(bool bug) {
  return [kernel = bug ? sum_by_last<true> : sum_by_last<false>](setup& make, size_t n) -> work {
    auto const x = make.random<int>(n, {-99, 99});
    auto const sums = make.scratch<int>(std::max<size_t>(blocks(n), 1) * 8);
    auto const done = make.zeros<unsigned>(1);
    auto const y = make.output<int>(1);
    detail::expect_all(make, y, {}, [=](auto wanted) { right_sum(x, wanted); });
    return [=](cudaStream_t s) {
      auto const grid = std::max(blocks(n), 1U);
      kernel<<<grid, 256, 0, s>>>(n, x.data(), sums.data(), done.data(), y.data());
    };
  };
}
/// The sum of x in two kernels, of which the second reads 1024 parts.
auto summing_parts(bool bug) {
  return [=](setup& make, size_t n) -> work {
    auto const x = make.random<int>(n, {-99, 99});
    auto const sums = make.scratch<int>(std::max<size_t>(blocks(n), 1024));
    auto const y = make.output<int>(1);
    detail::expect_all(make, y, {}, [=](auto wanted) { right_sum(x, wanted); });
    return [=](cudaStream_t s) {
      over(block_sums<false>)(s, n, x.data(), sums.data());
      total<<<1, 256, 0, s>>>(bug ? sums.size() : blocks(n), sums.data(), y.data());
    };
  };
}
/// Counts of positive elements of each 256 through memory of the device that calls share, or not.
auto counting_through_memory(bool bug) {
  return [=](setup& make, size_t n) -> work {
    auto const x = make.random<int>(n, {-99, 99});
    auto const kept = make.scratch<int>(blocks(n));
    auto const y = make.output<int>(blocks(n));
    detail::expect_all(make, y, {}, [=](auto wanted) {
      for (size_t i = 0; i < n; ++i) { wanted[i / 256] += x.seeded(i) > 0; }
    });
    return [=, grid = blocks(n)](cudaStream_t s) {
      if (grid == 0) { return; }
      auto* const between = bug ? nullptr : kept.data();
      keep_sums<<<grid, 256, 0, s>>>(n, x.data(), between);
      bring_sums<<<blocks(grid), 256, 0, s>>>(grid, y.data(), between);
    };
  };
}
/// x minus its sum, which the bug keeps as long as the address stays.
auto subtracting_total(bool bug) {
  return [=](setup& make, size_t n) -> work {
    auto const x = make.random<int>(n, {-99, 99});
    auto const sum = make.scratch<int>(1);
    auto const sums = make.scratch<int>(blocks(n));
    auto const y = make.output<int>(n);
    detail::expect_all(make, y, {}, [=](auto wanted) {
      int all = 0;
      for (size_t i = 0; i < n; ++i) { all += x.seeded(i); }
      for (size_t i = 0; i < n; ++i) { wanted[i] = x.seeded(i) - all; }
    });
    return [=](cudaStream_t s) {
      static int const* last = nullptr;
      if (n == 0) { return; }
      if (!bug || last != x.data()) {
        over(block_sums<false>)(s, n, x.data(), sums.data());
        total<<<1, 256, 0, s>>>(blocks(n), sums.data(), sum.data());
        if (bug) { keep_total<<<1, 1, 0, s>>>(sum.data()); }
        last = x.data();
      }
      subtract_total<<<blocks(n), 256, 0, s>>>(n, x.data(), bug ? nullptr : sum.data(), y.data());
    };
  };
}

/// A stream of the program's own, which waits for nothing.
cudaStream_t own_stream() {
  static stream const one{[] {
    on::device place;
    check(cudaGetDevice(&place.id));
    return place;
  }()};
  return one.get();
}
/// 4 x in two kernels; the bug is in the stream of the first one.
template <class First>
auto scaling_twice(First first) {
  return [=](setup& make, size_t n) -> work {
    auto const x = make.random<float>(n);
    auto const between = make.scratch<float>(n);
    auto const y = make.output<float>(n);
    make.expect(y, [x](size_t i) { return 4.0 * x.seeded(i); }, allowed());
    return [=](cudaStream_t s) {
      over(scale<false>)(first(s), n, x.data(), between.data());
      over(scale<false>)(s, n, between.data(), y.data());
    };
  };
}

void keep_positive_ones(seeded_bugs<void(cudaStream_t)>& list, size_t habit) {
  list.add(
      "race of atomics", "compaction in any order",
      [](bool bug) {
        return [kernel = bug ? keep_positive<true> : keep_positive<false>](setup& make,
                                                                           size_t n) -> work {
          make.unordered();
          auto const x = make.random<int>(n, {-99, 99});
          auto const kept = make.output<int>(n);
          auto const count = make.output<unsigned>(1);
          std::array<size_t, 100> wanted{};  // how often each positive number is there
          for (size_t i = 0; i < n; ++i) {
            if (x.seeded(i) > 0) { ++wanted[static_cast<size_t>(x.seeded(i))]; }
          }
          size_t const all = std::accumulate(wanted.begin(), wanted.end(), size_t{0});
          make.expect_that(kept, [wanted, all](std::span<int const> got) {
            auto left = wanted;
            for (int const each : got.first(all)) {
              if (each <= 0 || each > 99 || left[static_cast<size_t>(each)]-- == 0) {
                return std::optional<std::string>{"other elements"};
              }
            }
            return std::optional<std::string>{};
          });
          make.expect(count, [all](size_t) { return all; });
          return [=](cudaStream_t s) {
            check(cudaMemsetAsync(count.data(), 0, sizeof(unsigned), s));
            if (n > 0) { kernel<<<blocks(n), 256, 0, s>>>(n, x.data(), kept.data(), count.data()); }
          };
        };
      },
      {}, habit);
}

bugs all() {
  bugs list;
  constexpr size_t n = 1024, edge = 1024, cube = 128;
  auto const add = [&](char const* kind, char const* name, auto const& variant) {
    list.add(kind, name, variant, {}, n);
  };
  auto const add_rows = [&](char const* kind, char const* name, auto const& variant) {
    list.add(kind, name, variant, {}, edge, edge);
  };
  auto const add_gemm = [&](char const* kind, gemm_bug with) {
    list.add(
        kind, "product of matrices",
        [with](bool bug) { return multiplying(bug ? with : gemm_bug::none); }, {}, cube, cube,
        cube);
  };
  auto const add_transpose = [&](char const* kind, transpose_bug with) {
    add_rows(kind, "transpose",
             [with](bool bug) { return transposing(bug ? with : transpose_bug::none); });
  };
  auto const add_softmax = [&](char const* kind, softmax_bug with) {
    add_rows(kind, "softmax",
             [with](bool bug) { return softmax_of_rows(bug ? with : softmax_bug::none); });
  };
  /// Sums of each 256 elements.
  constexpr auto sums_of_256 = [](auto x, auto wanted) {
    for (size_t i = 0; i < x.size(); ++i) { wanted[i / 256] += x.seeded(i); }
  };

  add("tail", "scaling by 4 elements", [](bool bug) {
    return map(over(bug ? scale_in_fours<true> : scale_in_fours<false>, 4), right_twice);
  });
  add("tail", "sums by a warp", [=](bool bug) {
    return from_all<int>(over(bug ? sums_by_warp<true> : sums_by_warp<false>, 8), parts,
                         sums_of_256, {-99, 99});
  });
  add_transpose("tail", transpose_bug::tail);
  add_softmax("tail", softmax_bug::tail);
  add_gemm("tail", gemm_bug::tail);

  add("off by one", "stencil of 3 points", [](bool bug) {
    return from_all(
        over(bug ? smooth<true> : smooth<false>), nullptr,
        [](values x, auto wanted) {
          for (size_t i = 0; i < x.size(); ++i) {
            bool const inside = i > 0 && i + 1 < x.size();
            double const here = x.seeded(i);
            wanted[i] = inside ? (x.seeded(i - 1) + 2 * here + x.seeded(i + 1)) / 4 : here;
          }
        },
        {}, tolerance_for<float>(sum_of(3)));
  });
  add("off by one", "sums of 5 elements", [](bool bug) {
    return from_all<int>(over(bug ? moving_sum<true> : moving_sum<false>), nullptr,
                         right_moving_sum, {-99, 99});
  });
  add("off by one", "search among edges", [](bool bug) {
    return map<int>(over(bug ? digitize<true> : digitize<false>), right_digitize, {0, 160});
  });
  add("off by one", "sums of pairs", [](bool bug) {
    return from_all<int>(
        over(bug ? pair_sums<true> : pair_sums<false>, 2), [](size_t all) { return (all + 1) / 2; },
        [](auto x, auto wanted) {
          for (size_t i = 0; i < x.size(); ++i) { wanted[i / 2] += x.seeded(i); }
        },
        {1, 99});
  });

  add("missing barrier", "sums of blocks", [=](bool bug) {
    return from_all<int>(over(bug ? block_sums<true> : block_sums<false>), parts, sums_of_256,
                         {-99, 99});
  });
  add_transpose("missing barrier", transpose_bug::barrier);
  add("missing barrier", "reversed blocks", [](bool bug) {
    return from_all<int>(over(bug ? reverse_blocks<true> : reverse_blocks<false>), nullptr,
                         [](auto x, auto wanted) {
                           for (size_t i = 0; i < x.size(); ++i) {
                             auto const begin = i / 256 * 256;
                             auto const end = std::min(begin + 256, x.size());
                             wanted[i] = x.seeded(end - 1 - (i - begin));
                           }
                         });
  });
  add("missing barrier", "scans of blocks", [](bool bug) {
    return from_all<int>(over(bug ? scan_blocks<true> : scan_blocks<false>), nullptr,
                         [](auto x, auto wanted) {
                           for (size_t i = 0; i < x.size(); ++i) {
                             wanted[i] = x.seeded(i) + (i % 256 == 0 ? 0 : wanted[i - 1]);
                           }
                         },
                         {-99, 99});
  });
  add_gemm("missing barrier", gemm_bug::barrier);
  add_rows("missing barrier", "rows without their mean", [](bool bug) {
    return from_rows(over_rows(bug ? centre_rows<true> : centre_rows<false>, block_for_row), all_of,
                     [](values x, size_t, size_t columns, auto wanted) {
                       for (size_t row = 0; row < x.size(); row += columns) {
                         double sum = 0;
                         for (auto i = row; i < row + columns; ++i) { sum += x.seeded(i); }
                         for (auto i = row; i < row + columns; ++i) {
                           wanted[i] = x.seeded(i) - sum / static_cast<double>(columns);
                         }
                       }
                     },
                     {}, {1e-6, 1e-6});
  });

  add_transpose("wrong stride", transpose_bug::stride);
  add_rows("wrong stride", "sums of rows", [](bool bug) {
    return from_rows(over_rows(bug ? row_sums<true> : row_sums<false>, each_row), each_row,
                     right_row_sums);
  });
  add_rows("wrong stride", "sums of columns", [](bool bug) {
    return from_rows(over_rows(bug ? column_sums<true> : column_sums<false>, each_column),
                     each_column, right_column_sums);
  });
  add_gemm("wrong stride", gemm_bug::stride);

  add("overflow of int", "begins of rows of a triangle", [](bool bug) {
    return map<int, long long>(over(bug ? triangle<true> : triangle<false>), right_triangle,
                               {0, 1});
  });
  add("overflow of int", "gather from a ring", [](bool bug) {
    return from_all(over(bug ? gather_ring<true> : gather_ring<false>), nullptr,
                    [](values x, auto wanted) {
                      for (size_t i = 0; i < x.size(); ++i) {
                        wanted[i] = x.seeded(i * 4099 % x.size());
                      }
                    });
  });
  add("overflow of int", "offset in bytes", [](bool bug) {
    return map(over(bug ? scale_at_bytes<true> : scale_at_bytes<false>), right_twice);
  });

  add("misaligned vectors", "scaling", [](bool bug) {
    return map(over(bug ? scale_vectors<true> : scale_vectors<false>, 4), right_twice);
  });
  add_rows("misaligned vectors", "sums of rows", [](bool bug) {
    return from_rows(
        over_rows(bug ? row_sums_by_vectors<true> : row_sums_by_vectors<false>, each_row), each_row,
        right_row_sums, {}, tolerance_for<float>(sum_of(1)));
  });
  add("misaligned vectors", "inverted bytes", [](bool bug) {
    return map<unsigned char>(over(bug ? invert_bytes<true> : invert_bytes<false>, 4),
                              [](int x, size_t, size_t) { return 255 - x; });
  });

  add("uninitialised memory", "sum by atomics", [](bool bug) {
    return from_all<int, long long>(over_zeros(add_up<false>, 1, !bug), always<1>, right_sum);
  });
  add("uninitialised memory", "histograms of blocks", [](bool bug) {
    return from_all<unsigned char, int>(
        over(bug ? histograms<true> : histograms<false>),
        [](size_t all) { return parts(all) * 256; },
        [](auto x, auto wanted) {
          for (size_t i = 0; i < x.size(); ++i) { ++wanted[i / 256 * 256 + x.seeded(i)]; }
        });
  });
  add("uninitialised memory", "sum of parts", summing_parts);
  add("uninitialised memory", "largest", [](bool bug) {
    return from_all<int>(in_one_block(bug ? largest<true> : largest<false>), always<1>,
                         [](auto x, auto wanted) {
                           wanted[0] = -1000;
                           for (size_t i = 0; i < x.size(); ++i) {
                             wanted[0] = std::max(wanted[0], x.seeded(i));
                           }
                         },
                         {-1000, 1000});
  });
  add_softmax("wrong start value", softmax_bug::start);

  add("stale state", "sum by the last block", summing_by_last);
  add("stale state", "factor of the first call", [](bool bug) {
    return map(
        [=](cudaStream_t s, size_t count, float const* x, float* y) {
          static float kept = 0;
          if (!bug || kept == 0) { kept = static_cast<float>(count); }
          if (count > 0) { scale_by<<<blocks(count), 256, 0, s>>>(count, x, kept, y); }
        },
        [](double x, size_t, size_t count) { return x * static_cast<double>(count); });
  });
  add("stale state", "sum kept for an address", subtracting_total);
  add("stale state", "counts through shared memory of calls", counting_through_memory);

  add("write past the end", "scaling",
      [](bool bug) { return map(over(bug ? scale<true> : scale<false>), right_twice); });
  add_transpose("write past the end", transpose_bug::past);
  add("write past the end", "histogram", [](bool bug) {
    return from_all<int>(over_zeros(bug ? histogram<true> : histogram<false>, 256), always<256>,
                         [](auto x, auto wanted) {
                           for (size_t i = 0; i < x.size(); ++i) {
                             ++wanted[static_cast<size_t>(std::min(x.seeded(i), 255))];
                           }
                         },
                         {0, 256});
  });
  add("write past the end", "differences", [](bool bug) {
    return from_all<int>(over(bug ? differences<true> : differences<false>), nullptr,
                         right_differences, {-99, 99});
  });

  add_softmax("input modified", softmax_bug::input);
  add("input modified", "sorted blocks", [](bool bug) {
    return from_all<int>(over(bug ? sort_blocks<true> : sort_blocks<false>), nullptr,
                         [](auto x, auto wanted) {
                           for (size_t i = 0; i < x.size(); ++i) { wanted[i] = x.seeded(i); }
                           for (size_t i = 0; i < x.size(); i += 256) {
                             auto const first = wanted.begin() + static_cast<std::ptrdiff_t>(i);
                             auto const left = std::min<std::ptrdiff_t>(256, wanted.end() - first);
                             std::sort(first, first + left);
                           }
                         });
  });
  add("input modified", "roots", [](bool bug) {
    return map(over(bug ? root_of_absolute<true> : root_of_absolute<false>),
               [](double x, size_t, size_t) { return std::sqrt(std::fabs(x)); });
  });

  add("type or rounding", "sum of squares", [](bool bug) {
    return from_all<int, long long>(in_one_block(bug ? square_sum<true> : square_sum<false>),
                                    always<1>, right_square_sum, {0, 1000});
  });
  add("type or rounding", "variance around 1000", [](bool bug) {
    return from_all(in_one_block(bug ? variance<true> : variance<false>), always<1>, right_variance,
                    {1000, 1001}, {1e-6, 1e-9});
  });
  add_gemm("type or rounding", gemm_bug::half);
  add("type or rounding", "exponential", [](bool bug) {
    return map(over(bug ? exponential<true> : exponential<false>),
               [](double x, size_t, size_t) { return std::exp(x); }, {-80, 80});
  });
  add("type or rounding", "to the nearest integer", [](bool bug) {
    return [to = map<float, int>(over(bug ? to_nearest<true> : to_nearest<false>), right_nearest,
                                 {-1000, 1000})](setup& make, size_t count) -> work {
      return to(make.finite(), count);
    };
  });
  add("type or rounding", "logarithm of one more", [](bool bug) {
    return map(over(bug ? log_of_one_more<true> : log_of_one_more<false>),
               [](double x, size_t, size_t) { return std::log1p(x); }, {-0.5F, 1});
  });

  add("NaN swallowed", "clamp",
      [](bool bug) { return map(over(bug ? clamp<true> : clamp<false>), right_clamp); });
  add("NaN swallowed", "rectifier",
      [](bool bug) { return map(over(bug ? rectify<true> : rectify<false>), right_rectify); });
  add("NaN swallowed", "largest of blocks", [](bool bug) {
    return [call = over(bug ? block_largest<true> : block_largest<false>)](setup& make,
                                                                           size_t count) -> work {
      auto const x = make.random<float>(count);
      auto const y = make.output<float>(blocks(count));
      detail::expect_all(make, y, default_tolerance<float>, [x](auto wanted) {
        for (size_t i = 0; i < x.size(); ++i) {
          double const now = x.seeded(i), before = i % 256 == 0 ? now : wanted[i / 256];
          wanted[i / 256] = std::isnan(before) || before > now ? before : now;
        }
      });
      return [=](cudaStream_t s) { call(s, count, x.data(), y.data()); };
    };
  });
  add("NaN swallowed", "sign", [](bool bug) {
    return map(over(bug ? sign<true> : sign<false>), [](double x, size_t, size_t) {
      return std::isnan(x) ? x : static_cast<double>((x > 0) - (x < 0));
    });
  });

  add("grid too small", "whole blocks alone", [](bool bug) {
    return map(
        [=](cudaStream_t s, size_t count, float const* x, float* y) {
          auto const grid = bug ? static_cast<unsigned>(count / 256) : blocks(count);
          if (grid > 0) { scale<false><<<grid, 256, 0, s>>>(count, x, y); }
        },
        right_twice);
  });
  add("grid too small", "1024 blocks at most", [](bool bug) {
    return map(
        [kernel = bug ? scale_in_strides<true> : scale_in_strides<false>](
            cudaStream_t s, size_t count, float const* x, float* y) {
          auto const grid = std::min(blocks(count), 1024U);
          if (grid > 0) { kernel<<<grid, 256, 0, s>>>(count, x, y); }
        },
        right_twice);
  });
  add("grid too small", "items in y", [](bool bug) {
    return [=](setup& make, size_t items) -> work {
      auto const x = make.random<int>(4 * items, {-99, 99});
      auto const y = make.output<int>(items);
      make.expect(y, [x](size_t i) {
        return x.seeded(4 * i) + x.seeded(4 * i + 1) + x.seeded(4 * i + 2) + x.seeded(4 * i + 3);
      });
      return [=](cudaStream_t s) {
        if (items == 0) { return; }
        auto const count = static_cast<unsigned>(items);
        auto* const kernel = bug ? item_sums<true> : item_sums<false>;
        kernel<<<bug ? dim3{1, count} : dim3{count}, 4, 0, s>>>(items, x.data(), y.data());
        check(cudaGetLastError());
      };
    };
  });
  add("grid too small", "one block of at most 1024", [](bool bug) {
    return map(
        [=](cudaStream_t s, size_t count, float const* x, float* y) {
          if (count == 0) { return; }
          auto const threads = static_cast<unsigned>(std::min<size_t>(count, 1024));
          auto const grid = bug ? 1U : static_cast<unsigned>((count + threads - 1) / threads);
          scale<false><<<grid, threads, 0, s>>>(count, x, y);
        },
        right_twice);
  });

  add("wrong stream", "first kernel on the default stream", [](bool bug) {
    return scaling_twice([bug](cudaStream_t s) { return bug ? cudaStream_t{} : s; });
  });
  add("wrong stream", "first kernel on a stream of its own", [](bool bug) {
    return scaling_twice([bug](cudaStream_t s) { return bug ? own_stream() : s; });
  });
  add("wrong stream", "zeros by cudaMemset", [](bool bug) {
    return from_all<int, long long>(
        [bug, launch = over(add_up<false>)](cudaStream_t s, size_t count, int const* x,
                                            long long* y) {
          check(bug ? cudaMemset(y, 0, sizeof *y) : cudaMemsetAsync(y, 0, sizeof *y, s));
          launch(s, count, x, y);
        },
        always<1>, right_sum);
  });
  add("wrong stream", "copy without a stream", [](bool bug) {
    return map(
        [=](cudaStream_t s, size_t count, float const* x, float* y) {
          if (count == 0) { return; }
          scale_by<<<blocks(count), 256, 0, s>>>(count, x, 2, y);
          auto const bytes = std::min<size_t>(count, 2) * sizeof(float);
          check(cudaMemcpyAsync(y, x, bytes, cudaMemcpyDeviceToDevice, bug ? nullptr : s));
        },
        [](double x, size_t i, size_t) { return i < 2 ? x : 2 * x; });
  });

  add("race of atomics", "histogram", [](bool bug) {
    return from_all<unsigned char, int>(
        over_zeros(bug ? count_digits<true> : count_digits<false>, 16), always<16>, right_counts);
  });
  add("race of atomics", "sum of blocks", [](bool bug) {
    return from_all<int>(over_zeros(bug ? sum_of_blocks<true> : sum_of_blocks<false>, 1), always<1>,
                         right_sum, {-99, 99});
  });
  add("race of atomics", "largest", [](bool bug) {
    return from_all<int>(over_zeros(bug ? largest_of_all<true> : largest_of_all<false>, 1),
                         always<1>, [](auto x, auto wanted) {
                           for (size_t i = 0; i < x.size(); ++i) {
                             wanted[0] = std::max(wanted[0], x.seeded(i));
                           }
                         });
  });
  keep_positive_ones(list, n);

  add("size 0 or 1", "grid of 0 blocks", [](bool bug) {
    return map(
        [=](cudaStream_t s, size_t count, float const* x, float* y) {
          if (count == 0 && !bug) { return; }
          scale<false><<<blocks(count), 256, 0, s>>>(count, x, y);
          check(cudaGetLastError());
        },
        right_twice);
  });
  add("size 0 or 1", "mean", [](bool bug) {
    return from_all<int, double>(in_one_block(bug ? mean_or_zero<true> : mean_or_zero<false>),
                                 always<1>, right_mean);
  });
  add("size 0 or 1", "last element", [](bool bug) {
    return from_all<int>([kernel = bug ? last_or_zero<true> : last_or_zero<false>](
                             cudaStream_t s, size_t count, int const* x,
                             int* y) { kernel<<<1, 1, 0, s>>>(count, x, y); },
                         always<1>,
                         [](auto x, auto wanted) {
                           if (x.size() > 0) { wanted[0] = x.seeded(x.size() - 1); }
                         });
  });
  add("size 0 or 1", "places from 0 to 1", [](bool bug) {
    return map<float, double>(over(bug ? places<true> : places<false>),
                              [](double x, size_t i, size_t count) {
                                auto const steps = static_cast<double>(count) - (count > 1);
                                return x + static_cast<double>(i) / steps;
                              });
  });
  return list;
}

}  // namespace
}  // namespace assay::benchmark

int main(int argc, char** argv) {
  using namespace assay;
  using namespace assay::benchmark;
  auto const list = all();
  habit_place<void(cudaStream_t)> const here{[] { return std::make_shared<fresh_store>(); },
                                             [](work const& call) {
                                               call(nullptr);
                                               check(cudaGetLastError());
                                               check(cudaDeviceSynchronize());
                                             }};
  if (auto const code = run_one(argc, argv, list, here)) { return *code; }
  bool holds = false;
  int const code = run(argc, argv, "seeded_bugs", [&](options const&, report::document& figures) {
    holds = examine_all(list, here, 3, figures);
  });
  return code != 0 ? code : holds ? 0 : 1;
}
