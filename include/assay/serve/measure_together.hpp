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

/// What all ranks learn of a result, for the writer and for the reader of its words.
void exchange(auto& io, auto& of) {
  io(of.title, of.failure, of.failed_variant, of.seed, of.epochs, of.seconds, of.margin, of.alpha,
     of.primary);
  io.size(of.findings);
  for (auto& each : of.findings) {
    io(each.contrast_name, each.what, each.on, each.primary, each.outcome, each.exceeds_margin,
       each.is_bound, each.reason, each.effect.ratio, each.effect.low, each.effect.high,
       each.effect.confidence, each.noise, each.epochs_needed);
    io.size(each.weights);
    for (auto& weight : each.weights) { io(weight); }
  }
}

/// Writes the values of `exchange` as words.
struct result_writer {
  words all{"end"};
  void size(auto const& list) { (*this)(list.size()); }
  void operator()(auto const&... values) { (add(values), ...); }

 private:
  void add(std::string const& text) { all.push_back(text); }
  void add(double value) { all.push_back(from_double(value)); }
  void add(auto value) { all.push_back(std::to_string(static_cast<std::uint64_t>(value))); }
};

/// Reads them in the same order.
struct result_reader {
  words const& all;
  std::size_t next = 1;
  void size(auto& list) { list.resize(to_number<std::size_t>(at(all, next++))); }
  void operator()(auto&... values) { (read(values), ...); }

 private:
  void read(std::string& text) { text = at(all, next++); }
  void read(double& value) { value = to_number<double>(at(all, next++)); }
  template <class T>
  void read(T& value) {
    value = static_cast<T>(to_number<std::uint64_t>(at(all, next++)));
  }
};

inline words result_words(comparison const& of) {
  result_writer writer;
  exchange(writer, of);
  return std::move(writer.all);
}

/// The result that these words are, for these variants.
inline comparison result_from(words const& all, std::vector<variant> const& variants) {
  comparison made;
  result_reader reader{all};
  exchange(reader, made);
  for (auto const& each : variants) {
    made.variants.emplace_back();
    made.variants.back().label = each.label;
    made.variants.back().axes = each.axes;
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
