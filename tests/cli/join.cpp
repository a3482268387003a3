// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include <assay/cli/join.hpp>

#include <cstddef>
#include <string>
#include <vector>

using namespace assay;

namespace {

measure::comparison part(double ratio, std::string const& failure = {}) {
  measure::comparison made;
  made.variants.resize(2);
  made.variants[0].label = "control";
  made.variants[1].label = "variant";
  measure::finding found;
  found.contrast_name = "variant against control";
  found.weights = {-1, 1};
  found.effect.ratio = ratio;
  found.effect.confidence = 0.99;
  made.findings = {found};
  made.reasons = {{"Why?", {"traced"}}};
  made.traced.emplace_back().variant.variant = 1;
  made.notes = {"a note"};
  made.cells.resize(3);
  made.epochs = 8;
  made.seconds = 2;
  made.failure = failure;
  return made;
}

}  // namespace

TEST_CASE("joined comparisons keep their contrasts apart") {
  auto const all = cli::join({{"4 SMs", part(0.5)}, {"8 SMs", part(1.25)}}, 0.1);
  REQUIRE(all.variants.size() == 4);
  CHECK(all.variants[3].label == "8 SMs: variant");
  REQUIRE(all.findings.size() == 2);
  CHECK(all.findings[0].weights == std::vector<double>{-1, 1, 0, 0});
  CHECK(all.findings[1].weights == std::vector<double>{0, 0, -1, 1});
  CHECK(all.findings[1].contrast_name == "8 SMs: variant against control");
  CHECK(all.findings[1].effect.ratio == 1.25);
  CHECK(all.effect("8 SMs: control", "8 SMs: variant").ratio == 1.25);
  CHECK(all.reasons[1].question == "8 SMs: Why?");
  CHECK(all.reasons.size() == 2);
  REQUIRE(all.traced.size() == 2);
  CHECK(all.traced[0].variant.variant == 1);
  CHECK(all.variants[static_cast<std::size_t>(all.traced[1].control.variant)].label.starts_with(
      "8 SMs: "));
}

TEST_CASE("joined comparisons hold at the rate of false verdicts that they share") {
  auto const all = cli::join({{"a", part(1)}, {"b", part(1)}}, 0.1);
  CHECK(all.alpha == 0.1);
  for (auto const& each : all.findings) { CHECK(each.effect.confidence == Approx(0.9)); }
  CHECK(all.notes == std::vector<std::string>{"a note"});
  CHECK(all.seconds == 4);
  CHECK(all.epochs == 8);
  CHECK(all.cells.empty());
  CHECK(all.failure.empty());
}

TEST_CASE("a part that failed fails the whole, with its name") {
  CHECK(cli::join({{"a", part(1)}, {"b", part(1, "why")}}, 0.1).failure == "b: why");
  CHECK(cli::join({}, 0.1).variants.empty());
}
