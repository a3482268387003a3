// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include "golden.hpp"

#include <assay/trace/model.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

using namespace assay::trace;

namespace {

/// When each row of a trace begins.
std::vector<std::int64_t> begins(model const& of) {
  std::vector<std::int64_t> all;
  auto const spans = [&](auto const& rows) {
    for (auto const& row : rows) { all.push_back(row.when.begin); }
  };
  auto const moments = [&](auto const& rows) {
    for (auto const& row : rows) { all.push_back(row.at); }
  };
  spans(of.kernels);
  spans(of.copies);
  spans(of.memsets);
  spans(of.graph_launches);
  spans(of.calls);
  spans(of.synchronizations);
  spans(of.ranges);
  spans(of.overheads);
  moments(of.memory);
  moments(of.host_faults);
  moments(of.device_faults);
  std::sort(all.begin(), all.end());
  return all;
}

}  // namespace

TEST_CASE("a cut leaves all rows that begin there or later, of every kind", "[trace]") {
  auto const whole = assay::test::golden::everything();
  auto const all = begins(whole);
  REQUIRE(all.front() < all.back());
  for (auto const at : {all.front(), all[all.size() / 2], all.back(), all.back() + 1}) {
    auto part = whole;
    trim_before(part, at);
    CHECK(begins(part) ==
          std::vector<std::int64_t>(std::lower_bound(all.begin(), all.end(), at), all.end()));
    CHECK(part.window.begin == at);
    CHECK(part.window.end == whole.window.end);
    CHECK(part.devices == whole.devices);
    CHECK(part.lost == whole.lost);
  }
}
