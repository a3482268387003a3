// SPDX-License-Identifier: Apache-2.0
/// @file
/// The cost of a launch and that of a cell, from cells of fewer launches behind those of the
/// verdict.
#include <assay/measure/procedure.hpp>

#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "catch.hpp"
#include "measure/virtual_clock.hpp"

using namespace assay;
using assay::test::virtual_clock;
using measure::clock;

namespace {

measure::contrast const b_against_a{"b against a", measure::contrast::kind::difference, {-1, 1}};

/// A cell of n launches takes `per_cell + n * per_launch`, with noise that is a share of it.
struct costs {
  double per_launch, per_cell = 0, jitter = 0;
  std::string disturbs{};  ///< said of the first cell of fewer launches than 200 after the warm-up
};

/// All timed cells of a comparison: launches, variant, buffer set, instance.
struct timed {
  int launches, variant, buffer_set, instance;
};

class line_subject final : public measure::subject {
 public:
  line_subject(costs const& of, int variant, int instance, std::vector<timed>& log,
               stats::random_source& noise)
      : of_(of), variant_(variant), instance_(instance), log_(log), noise_(noise) {}
  void warm(int, int) override {}
  measure::cell time(int buffer_set, int launches) override {
    log_.push_back({launches, variant_, buffer_set, instance_});
    double const uniform = static_cast<double>(noise_.next() >> 11U) * 0x1p-53;
    double const whole =
        (of_.per_cell + launches * of_.per_launch) * (1 + of_.jitter * (uniform - 0.5));
    virtual_clock::seconds += whole;
    measure::cell made;
    made[clock::wall] = whole / launches;
    if (launches > 5 && launches < 200) { made.disturbance = of_.disturbs; }
    return made;
  }
  std::optional<std::string> verify(int) override { return {}; }

 private:
  costs of_;
  int variant_, instance_;
  std::vector<timed>& log_;
  stats::random_source& noise_;
};

struct run_of {
  measure::comparison result;
  std::vector<timed> log;
};

run_of run(std::vector<costs> const& each, std::uint64_t seed) {
  run_of made;
  stats::random_source noise{seed};
  std::vector<measure::variant> variants;
  for (int v = 0; v < 2; ++v) {
    variants.push_back({v == 0 ? "a" : "b", {}, [&, v](measure::epoch const& now) {
                          return std::make_unique<line_subject>(each[static_cast<std::size_t>(v)],
                                                                v, now.instance, made.log, noise);
                        }});
  }
  measure::options chosen;
  chosen.seed = seed;
  chosen.most_launches = 200;
  made.result = measure::run<virtual_clock>(variants, {b_against_a}, chosen);
  return made;
}

bool holds(measure::interval const& of, double truth) { return !of.excludes(truth); }

}  // namespace

TEST_CASE("the costs of a launch and of a cell are found, and their intervals hold them") {
  int held = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    auto const [result, log] = run({{4e-6, 3e-6, 1e-3}, {5e-6, 8e-6, 1e-3}}, seed);
    REQUIRE(result.launches == 200);
    auto const& a = result.variants.at(0).costs.value();
    auto const& b = result.variants.at(1).costs.value();
    CHECK(a.confidence == 0.95);
    CHECK(static_cast<int>(a.cells.size()) == result.epochs);
    CHECK(a.per_launch.estimate == Approx(4e-6).epsilon(1e-3));
    CHECK(b.per_launch.estimate == Approx(5e-6).epsilon(1e-3));
    CHECK(std::abs(a.per_cell.estimate - 3e-6) < 0.3e-6);
    CHECK(std::abs(b.per_cell.estimate - 8e-6) < 0.3e-6);
    CHECK(a.per_cell.excludes(0));
    held += holds(a.per_launch, 4e-6) && holds(a.per_cell, 3e-6) ? 1 : 0;
    held += holds(b.per_launch, 5e-6) && holds(b.per_cell, 8e-6) ? 1 : 0;
  }
  CHECK(held >= 90);  // of 100 at 95 %; the seeds are fixed, so it is always the same number
}

TEST_CASE("cells without a cost of their own have none that is proven") {
  auto const& found = run({{4e-6, 0, 1e-3}, {4e-6, 0, 1e-3}}, 3).result.variants[0].costs.value();
  CHECK_FALSE(found.per_cell.excludes(0));
}

TEST_CASE("short cells come behind those of the verdict, equally for all variants") {
  auto const [result, log] = run({{4e-6, 3e-6}, {5e-6, 3e-6}}, test::fresh_seed() | 1U);
  std::vector<timed> shorter;
  for (auto const& each : log) {
    if (each.launches == 25 || each.launches == 50) { shorter.push_back(each); }
  }
  REQUIRE(static_cast<int>(shorter.size()) == 2 * result.epochs);
  for (std::size_t i = 0; i < shorter.size(); i += 2) {
    auto const &one = shorter[i], &next = shorter[i + 1];
    CHECK(one.launches == next.launches);
    CHECK(one.buffer_set == next.buffer_set);
    CHECK(one.variant != next.variant);
    CHECK(one.instance + next.instance == 0);
  }
  // The last epoch: four cells of each of three instances in a block, then the short ones.
  for (std::size_t back = 3; back <= 14; ++back) { CHECK(log[log.size() - back].launches == 200); }
  CHECK(log.back().launches < 200);
}

TEST_CASE("short cells change no other random choice of a comparison") {
  auto const seed = test::fresh_seed() | 1U;
  INFO("seed " << seed);
  // All times scaled by one factor: only the first comparison has short cells.
  auto const with = run({{4e-6}, {5e-6}}, seed), without = run({{40e-6}, {50e-6}}, seed);
  CHECK(with.result.variants[0].costs.has_value());
  CHECK_FALSE(without.result.variants[0].costs.has_value());
  REQUIRE(with.result.cells.size() == without.result.cells.size());
  for (std::size_t i = 0; i < with.result.cells.size(); ++i) {
    CHECK(with.result.cells[i].variant == without.result.cells[i].variant);
    CHECK(with.result.cells[i].buffer_set == without.result.cells[i].buffer_set);
  }
}

TEST_CASE("launches of 20 us and more, and cells of few launches, have no short cells") {
  for (double const slow : {19e-6, 21e-6}) {
    auto const [result, log] = run({{5e-6}, {slow}}, 1);
    CHECK(result.variants[0].costs.has_value() == (slow < 20e-6));
    CHECK(result.variants[1].costs.has_value() == (slow < 20e-6));
  }
}

TEST_CASE("a disturbed short cell is left out, and disturbs no epoch") {
  auto const [result, log] = run({{4e-6, 0, 0, "other work"}, {5e-6}}, 1);
  CHECK(result.epochs == 8);
  CHECK_FALSE(result.variants[0].costs.has_value());
  CHECK(result.variants[1].costs.has_value());
  for (auto const& each : result.epoch_records) { CHECK(each.dropped.empty()); }
}
