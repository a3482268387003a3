// SPDX-License-Identifier: Apache-2.0
/// @file
/// `measure_together`: a comparison of variants by all ranks of a world, with one result.
#pragma once

#include <assay/measure/compare_variants.hpp>
#include <assay/measure/comparison.hpp>
#include <assay/measure/options.hpp>
#include <assay/measure/subject.hpp>
#include <assay/serve/follow.hpp>
#include <assay/serve/protocol.hpp>
#include <assay/stats/verdict.hpp>
#include <assay/world/world.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace assay::measure {
namespace served {

/// What all ranks learn of a result: verdicts, effects and labels.
inline words result_words(comparison const& of) {
  words all{"end",
            of.title,
            of.failure,
            std::to_string(of.failed_variant),
            std::to_string(of.seed),
            std::to_string(of.epochs),
            from_double(of.seconds),
            from_double(of.margin),
            from_double(of.alpha),
            std::string{to_string(of.primary)},
            std::to_string(of.findings.size())};
  for (auto const& each : of.findings) {
    all.insert(all.end(),
               {each.contrast_name, std::to_string(static_cast<int>(each.what)),
                std::string{to_string(each.on)}, std::to_string(each.primary),
                std::to_string(static_cast<int>(each.outcome)), std::to_string(each.exceeds_margin),
                std::to_string(each.is_bound), each.reason, from_double(each.effect.ratio),
                from_double(each.effect.low), from_double(each.effect.high),
                from_double(each.effect.confidence), from_double(each.noise),
                std::to_string(each.epochs_needed)});
    for (double const weight : each.weights) { all.push_back(from_double(weight)); }
  }
  return all;
}

/// The result that these words are, for these variants.
inline comparison result_from(words const& all, std::vector<variant> const& variants) {
  std::size_t next = 1;
  auto const text = [&] { return at(all, next++); };
  auto const real = [&] { return to_number<double>(text()); };
  auto const whole = [&] { return to_number<int>(text()); };
  comparison made;
  made.title = text();
  made.failure = text();
  made.failed_variant = whole();
  made.seed = to_number<std::uint64_t>(text());
  made.epochs = whole();
  made.seconds = real();
  made.margin = real();
  made.alpha = real();
  made.primary = to_clock(text());
  for (auto const& each : variants) {
    made.variants.emplace_back();
    made.variants.back().label = each.label;
    made.variants.back().axes = each.axes;
  }
  for (int left = whole(); left > 0; --left) {
    finding one;
    one.contrast_name = text();
    one.what = static_cast<contrast::kind>(whole());
    one.on = to_clock(text());
    one.primary = whole() != 0;
    one.outcome = static_cast<verdict>(whole());
    one.exceeds_margin = whole() != 0;
    one.is_bound = whole() != 0;
    one.reason = text();
    one.effect.ratio = real();
    one.effect.low = real();
    one.effect.high = real();
    one.effect.confidence = real();
    one.noise = real();
    one.epochs_needed = whole();
    for (std::size_t i = 0; i < variants.size(); ++i) { one.weights.push_back(real()); }
    made.findings.push_back(std::move(one));
  }
  return made;
}

/// Throws on all ranks where one of them compares other things than rank 0.
inline void require_agreement(world const& all, std::vector<variant> const& variants) {
  words labels;
  for (auto const& each : variants) { labels.push_back(each.label); }
  auto const told = all.gather(encode(labels));
  for (std::size_t rank = 1; rank < told.size(); ++rank) {
    if (told[rank] == told[0]) { continue; }
    auto const why = "rank " + std::to_string(rank) + " compares " + told[rank] + "and this rank " +
                     told[0] + "all ranks call the same comparison";
    all.abandon(why);
    all.barrier();
  }
}

}  // namespace served

/// Rank 0 measures, and the others do what it asks for. All return its verdicts.
inline comparison measure_together(world const& all, std::vector<variant> const& variants,
                                   std::vector<contrast> const& contrasts, options const& chosen) {
  served::require_agreement(all, variants);
  if (all.rank() != 0) { return served::result_from(follow(all, variants), variants); }
  try {
    auto found = compare_variants(led(all, variants), contrasts, chosen);
    found.notes.push_back("a time is that of the slowest of " + std::to_string(all.ranks()) +
                          " ranks, on each clock by itself");
    (void)all.broadcast(served::encode(served::result_words(found)));
    return found;
  } catch (world_error const&) { throw; } catch (std::exception const& cause) {
    all.abandon(cause.what());
    throw;
  }
}

}  // namespace assay::measure
