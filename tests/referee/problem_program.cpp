// SPDX-License-Identifier: Apache-2.0
/// @file
/// The problem that `tests/referee/referee.cpp` has candidates for: y = 2 x + 1, and the sum of x.
/// Under other names than its own this program is a candidate.
#include <assay/referee.hpp>

#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <span>
#include <string>

#include "candidate_work.hpp"

int main(int, char** argv) {
  std::string const name = std::filesystem::path{argv[0]}.filename();
  // A cheat that is content with any answer.
  auto const permitted =
      name == "content" ? assay::tolerance{0, 1e9} : assay::default_tolerance<float>;
  assay::problem of;
  of.sizes = {30'000, 8};
  of.held_back = {1, 4'097, 33'333};
  of.declare = [permitted](assay::setup& make, std::size_t n) -> std::vector<double> {
    auto const x = make.random<float>(n);
    auto const y = make.output<float>(n);
    auto const sum = make.output<double>(1);
    make.expect(y, [x](std::size_t i) { return 2.0 * x.seeded(i) + 1; }, permitted);
    // Any order of summation: (n - 1) roundings of half an ulp of at most n.
    auto const bound =
        static_cast<double>(n) * static_cast<double>(n) * std::numeric_limits<double>::epsilon();
    make.expect(sum,
                [x, n](std::span<double> wanted) {
                  wanted[0] = 0;
                  for (std::size_t i = 0; i < n; ++i) { wanted[0] += x.seeded(i); }
                },
                {0, bound});
    make.moves(8.0 * static_cast<double>(n));
    return {2};
  };
  of.reference = [](void* const* buffers, std::size_t const* sizes, int, double const* scalars, int,
                    void*) { return candidate_work(buffers, sizes, scalars); };
  if (name == "referee_problem") { return assay::serve_problem(of); }
  return assay::serve_candidate(of, [name](void* const* buffers, std::size_t const* sizes, int,
                                           double const* scalars, int, void*) {
    auto const code = candidate_work(buffers, sizes, scalars);
    if (name == "content") { static_cast<float*>(buffers[1])[0] += 1; }
    if (name == "in-place") { static_cast<float*>(buffers[0])[0] += 1; }
    if (name == "crashes") { std::abort(); }
    return code;
  });
}
