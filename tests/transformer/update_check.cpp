// SPDX-License-Identifier: Apache-2.0
/// @file
/// A check of AdamW sees each way to be wrong, and accepts what float32 does.
#include "catch.hpp"

#include <assay/core/random.hpp>
#include <assay/transformer/update_check.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

using namespace assay;
using test::contains;

namespace {

using sample = nn::update_sample;

constexpr nn::adamw settings{.learning_rate = 1e-3, .weight_decay = 0.1};

/// Weights before a step, with its gradient: the sizes differ by a factor of 2^40.
sample some_weights(std::uint64_t seed) {
  sample made;
  for (std::size_t i = 0; i < 300; ++i) {
    auto const drawn = [&](std::uint64_t part) {
      auto const value = random_value(uniform<float>{-1, 1}, random_bits(seed, part), i);
      return std::ldexp(value, -static_cast<int>(i % 40));
    };
    made.gradient.push_back(drawn(0));
    made.weights.push_back(drawn(1));
    made.first.push_back(drawn(2));
    made.second.push_back(std::abs(drawn(3)));
  }
  made.gradient[0] = made.first[0] = made.second[0] = made.weights[0] = 0;
  made.gradient[1] = made.first[1] = made.second[1] = made.weights[1] = 0.5F;
  return made;
}

/// The same weights behind a step in float32.
sample after_step(sample of, nn::adamw const& how, int step) {
  nn::adamw_update{how, of.gradient.size(), step}(of.gradient, std::span{of.weights},
                                                  std::span{of.first}, std::span{of.second});
  return of;
}

std::string found(sample const& before, sample const& after) {
  return nn::wrong_update({settings, 1, 2}, before, after).value_or("right");
}

}  // namespace

TEST_CASE("a right step of AdamW is accepted", "[nn]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  auto const before = some_weights(seed);
  CHECK(found(before, after_step(before, settings, 2)) == "right");
}

TEST_CASE("a wrong factor, a forgotten term or a lost number of AdamW is seen", "[nn]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  auto const before = some_weights(seed);
  auto const with = [&](auto change, int step = 2) {
    auto how = settings;
    change(how);
    return found(before, after_step(before, how, step));
  };
  CHECK_THAT(with([](auto& s) { s.beta1 = 0.8; }), contains("first moment"));
  CHECK_THAT(with([](auto& s) { s.beta2 = 0.99; }), contains("second moment"));
  CHECK_THAT(with([](auto& s) { s.weight_decay = 0; }), contains("weight"));
  CHECK_THAT(with([](auto& s) { s.learning_rate = 0.9e-3; }), contains("weight"));
  CHECK_THAT(with([](auto& s) { s.learning_rate = 0; }), contains("weight"));
  CHECK_THAT(with([](auto& s) { s.epsilon = 1e-3; }), contains("weight"));
  CHECK_THAT(with([](auto&) {}, 3), contains("weight"));  // the corrections of another step
  auto const right = after_step(before, settings, 2);
  auto forgotten = before;  // no step at all
  CHECK_THAT(found(before, forgotten), contains("first moment"));
  auto twice = after_step(right, settings, 2);
  CHECK_THAT(found(before, twice), contains("first moment"));
  auto lost = right;
  lost.weights[299] = std::numeric_limits<float>::quiet_NaN();
  CHECK_THAT(found(before, lost), contains("weight 299 is nan"));
  // Sixteen roundings in one element are too many.
  auto const off = [&](std::vector<float> sample::*which) {
    auto changed = right;
    (changed.*which)[1] *= 1 + 0x1p-20F;
    return found(before, changed);
  };
  CHECK_THAT(off(&sample::first), contains("first moment 1"));
  CHECK_THAT(off(&sample::second), contains("second moment 1"));
  CHECK_THAT(off(&sample::weights), contains("weight 1"));
  // So are they in a quotient, but not in one that may be less exact.
  auto zero = before;
  zero.weights[1] = 0;
  auto quotient = after_step(zero, settings, 2);
  quotient.weights[1] *= 1 + 0x1p-20F;
  CHECK_THAT(found(zero, quotient), contains("weight 1"));
  CHECK(!nn::wrong_update({settings, 1, 2}, zero, quotient, 4));
}
