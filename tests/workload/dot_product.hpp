// SPDX-License-Identifier: Apache-2.0
/// @file
/// A dot product with an axis of its own: the precision in which products are added.
#pragma once
#include <assay/workload/array_workload.hpp>

/// The number of bits in which products are added.
struct precision {
  static constexpr std::string_view axis = "precision";
  static constexpr std::string_view name = "precision";
  int bits = 64;
  std::string describe() const { return "float" + std::to_string(bits); }
  bool operator==(precision const&) const = default;
};

/// out[0] = the sum of all x[i] y[i].
struct dot_product {
  static constexpr std::string_view name = "dot_product";
  std::int64_t elements = 1 << 12;
  precision sum{};
  std::uint64_t seed = assay::workloads::default_seed;
  bool operator==(dot_product const&) const = default;

  std::tuple<precision> axes() const { return {sum}; }
  dot_product with(precision other) const { return {elements, other, seed}; }

  assay::traffic item_traffic() const {
    auto const n = static_cast<double>(elements);
    return {.bytes_read = 8 * n, .bytes_written = 4, .flops = 2 * n};
  }

  auto arrays(assay::setup& make) const {
    auto const n = static_cast<std::size_t>(elements);
    auto const x = make.random<float>(n);
    auto const y = make.random<float>(n);
    auto const out = make.output<float>(1);
    auto const expected = [x, y, n](std::span<double> wanted) {
      wanted[0] = 0;
      for (std::size_t i = 0; i < n; ++i) { wanted[0] += x.seeded(i) * y.seeded(i); }
    };
    // Each of n roundings errs by at most 2^-24 of the sum of all sizes, which is at most n.
    make.expect(out, expected, {.absolute = static_cast<double>(n * n) * 0x1p-24});
    return std::tuple{x, y, out};
  }
};

template <assay::host_lane Lane, class Arrays>
void run_on(Lane&, dot_product const& work, Arrays const& all) {
  auto const& [x, y, out] = all;
  auto const add_up = [&](auto sum) {
    for (std::int64_t i = 0; i < work.elements; ++i) {
      sum += decltype(sum){x.data()[i]} * decltype(sum){y.data()[i]};
    }
    out.data()[0] = static_cast<float>(sum);
  };
  work.sum.bits == 64 ? add_up(0.0) : add_up(0.0F);
}
