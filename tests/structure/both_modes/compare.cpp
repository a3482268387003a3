// SPDX-License-Identifier: Apache-2.0
// One comparison and one race, compiled once in each mode under two names.
#include <assay/compare.hpp>
#include <assay/race.hpp>

#include <numeric>
#include <sstream>
#include <string>

namespace {

auto sum_of(std::size_t n) {
  return [n](assay::setup& make) {
    auto const x = make.random<float>(n, {0, 1});
    auto const sum = make.output<double>(1);
    make.expect(sum, [x, n](std::size_t) {
      double all = 0;
      for (std::size_t i = 0; i < n; ++i) { all += static_cast<double>(x.seeded(i)); }
      return all;
    });
    return [=] { *sum.data() = std::accumulate(x.data(), x.data() + n, 0.0); };
  };
}

}  // namespace

std::string MODE() {
  assay::options chosen;
  chosen.require_checks = true;
  chosen.seed = 7;
  auto const found = assay::compare("short", sum_of(1000), "long", sum_of(10000), chosen);
  assay::require(found, {assay::verdict::slower});
  std::ostringstream text;
  text << found;
  auto const raced = assay::race("short", sum_of(1000), "long", sum_of(10000), chosen);
  return std::string{to_string(found.outcome("short", "long"))} + " " + raced.winner() + " " +
         (text.str().find("results: checked") != std::string::npos ? "checked" : "unchecked");
}
