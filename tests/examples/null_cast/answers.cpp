// SPDX-License-Identifier: Apache-2.0
/// @file
/// The three answers of the null_cast experiment, from a comparison made up by hand.

#include "null_cast/answers.hpp"
#include "catch.hpp"
#include "report/sample.hpp"

#include <string>

using namespace assay;
using measure::verdict;

namespace {

measure::comparison measured() {
  auto all = test::sample();
  all.findings = {
      test::found("interaction", verdict::equivalent, {1.001, 0.996, 1.004}, {1, -1, -1, 1}),
      test::found("interaction", verdict::faster, {0.3, 0.28, 0.32}, {1, -1, -1, 1}),
      test::found("mutex, pool", verdict::slower, {1.9, 1.8, 1.95}, {-1, 1, 0, 0}),
      test::found("at once", verdict::slower, {1.5, 1.4, 1.6}, {-1, 0, 1, 0})};
  for (std::size_t i = 0; i < all.findings.size(); ++i) {
    all.findings[i].what =
        i < 2 ? measure::contrast::kind::interaction : measure::contrast::kind::difference;
    all.findings[i].on = i == 0 ? measure::clock::wall : measure::clock::submit;
  }
  for (auto& arm : all.variants) {
    arm.memory = measure::memory_profile{1200, 1200, 5368709120, 55050240, {}, {}, {}};
  }
  return all;
}

bool has(measure::answer const& of, std::string const& text) {
  for (auto const& line : of.lines) {
    if (line.find(text) != std::string::npos) { return true; }
  }
  return false;
}

}  // namespace

TEST_CASE("each of the three questions is answered from its own figures", "[examples]") {
  auto all = measured();
  examples::answer_allocator_questions(all);
  REQUIRE(all.answers.size() == 3);
  auto const& [gap, submission, patterns] =
      std::tie(all.answers[0], all.answers[1], all.answers[2]);
  CHECK(has(gap, "Time of a batch: no difference larger than 0.40 %"));
  CHECK(has(gap, "Host time of an item: the gap between concurrent and serialized differs by 70"));
  CHECK(has(gap, "first allocator: pool{10 GiB} + serialized is slower"));
  CHECK(gap.lines.size() == 3);
  CHECK(has(submission, "At once: async + concurrent is slower than pool{10 GiB} + concurrent"));
  CHECK(has(patterns, "As requests they are the same: 1,200 allocations"));
}

TEST_CASE("patterns that differ are called different", "[examples]") {
  auto all = measured();
  all.variants[3].memory->allocations = 1199;
  examples::answer_allocator_questions(all);
  CHECK(has(all.answers[2], "As requests they differ"));
  CHECK_FALSE(has(all.answers[2], "they are the same"));
}

TEST_CASE("nothing is answered by a comparison that failed", "[examples]") {
  auto all = measured();
  all.failure = "the device was lost";
  examples::answer_allocator_questions(all);
  CHECK(all.answers.empty());
}
