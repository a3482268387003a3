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

}  // namespace

int main(int, char** argv) {
  std::string const name = std::filesystem::path{argv[0]}.filename();
  assay::problem of;
  of.sizes = {30'000, 8};
  of.held_back = {1, 4'097, 33'333};
  of.declare = [name](assay::setup& make, std::size_t n) {
    auto const a = make.scalar("a", {2.0, 1.0, -0.5});  // of which products are exact
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
    auto const code = candidate_work(buffers, sizes, scalars);
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
