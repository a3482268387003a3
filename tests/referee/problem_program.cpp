// SPDX-License-Identifier: Apache-2.0
/// @file
/// The problem that `tests/referee/referee.cpp` has candidates for: y = a x + 1, and the sum of x.
/// Under names that begin with `problem-` the problem has a fault.
#include <assay/referee.hpp>
#include <assay/referee/candidate_place.hpp>

#include <chrono>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "candidate_work.hpp"

namespace {

/// A host on which a rate of FLOPs cannot be exceeded.
struct limited_place final : assay::referee_detail::host_candidate_place {
  std::optional<assay::machine::ceiling> flops_ceiling() override {
    return assay::machine::ceiling{"tensor cores", 1e12, assay::machine::ceiling::unit::flops};
  }
};

/// The same in rows: the sum of all is not in question.
std::vector<double> in_rows(assay::setup& make, double a, std::size_t n) {
  assay::matrix const rows{(n + row_columns - 1) / row_columns, row_columns};
  auto const x = make.random<float>(rows);
  auto const y = make.output<float>(rows);
  auto const sum = make.output<double>(1);
  make.expect(
      y, [x, a](std::size_t row, std::size_t i) { return a * x.seeded(row, i) + 1; },
      assay::sampled{256});
  auto const bound = static_cast<double>(n * n) * std::numeric_limits<double>::epsilon();
  make.expect(sum,
              [x](std::span<double> wanted) {
                wanted[0] = 0;
                for (std::size_t i = 0; i < x.rows() * row_columns; ++i) {
                  wanted[0] += x.seeded(i / row_columns, i % row_columns);
                }
              },
              {0, bound});
  return {a, static_cast<double>(x.leading_dimension()),
          static_cast<double>(y.leading_dimension())};
}

}  // namespace

int main(int, char** argv) {
  std::string const name = std::filesystem::path{argv[0]}.filename();
  assay::problem of;
  of.sizes = {30'000, 8};
  of.held_back = {1, 4'097, 33'333};
  of.vary_leading_dimensions = name == "problem-rows";
  of.declare = [name](assay::setup& make, std::size_t n) {
    auto const a = make.scalar("a", {2.0, 1.0, -0.5});  // of which products are exact
    if (name == "problem-rows") { return in_rows(make, a, n); }
    auto const x = make.random<float>(n);
    auto const y = make.output<float>(n);
    auto const sum = make.output<double>(1);
    if (name == "problem-near-its-input") {
      make.expect(y, [x](std::size_t i) { return x.seeded(i) + 1e-7; }, {0, 1e-6});
    } else if (name != "problem-unchecked") {
      make.expect(y, [x, a](std::size_t i) { return a * x.seeded(i) + 1; });
    }
    // Any order of summation: (n - 1) roundings of half an ulp of at most n.
    auto const bound = name == "problem-loose-sum"
                           ? 1e3 * static_cast<double>(n)
                           : static_cast<double>(n) * static_cast<double>(n) *
                                 std::numeric_limits<double>::epsilon();
    make.expect(sum,
                [x, n](std::span<double> wanted) {
                  wanted[0] = 0;
                  for (std::size_t i = 0; i < n; ++i) { wanted[0] += x.seeded(i); }
                },
                {0, bound});
    // So much that the reference moves and does it in its pause alone.
    make.moves((name == "problem-boasts" ? 300 : 1) * 8.0 * static_cast<double>(n));
    make.does(name.ends_with("-flops") ? 4e9 : 2.0 * static_cast<double>(n));
    return std::vector{a};
  };
  of.reference = [name](void* const* buffers, std::size_t const* sizes, int, double const* scalars,
                        int, void*) {
    if (name.starts_with("problem-boasts")) {
      std::this_thread::sleep_for(std::chrono::milliseconds{8});
    }
    if (name == "problem-rows") {
      return rows_work(buffers, sizes, scalars, row_columns, static_cast<std::size_t>(scalars[2]));
    }
    auto const code = candidate_work(buffers, sizes, scalars);
    if (name == "problem-skips-nan") {
      auto* const y = static_cast<float*>(buffers[1]);
      for (std::size_t i = 0; i < sizes[0]; ++i) { y[i] = std::isnan(y[i]) ? 0 : y[i]; }
    }
    if (name == "problem-near-its-input") {
      auto const* const x = static_cast<float const*>(buffers[0]);
      auto* const y = static_cast<float*>(buffers[1]);
      for (std::size_t i = 0; i < sizes[0]; ++i) { y[i] = x[i] + 1e-7f; }
    }
    return code;
  };
  if (name != "problem-boasts-flops") { return assay::serve_problem(of); }
  return assay::referee_detail::serve_on(of, [] { return std::make_unique<limited_place>(); });
}
