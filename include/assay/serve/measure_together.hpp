// SPDX-License-Identifier: Apache-2.0
/// @file
/// `measure_together`: a comparison of variants by all ranks of a world, with one result.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/measure/compare_variants.hpp>
#include <assay/measure/comparison.hpp>
#include <assay/measure/options.hpp>
#include <assay/measure/subject.hpp>
#include <assay/serve/follow.hpp>
#include <assay/serve/protocol.hpp>
#include <assay/serve/ranks_subject.hpp>
#include <assay/serve/word_codec.hpp>
#include <assay/world/program_hash.hpp>
#include <assay/world/world.hpp>

#include <cstddef>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace assay::measure {
namespace served {

/// What all ranks learn of a comparison: verdicts and effects.
void parts(auto& visit, estimate& of) { visit(of.ratio, of.low, of.high, of.confidence); }
void parts(auto& visit, finding& of) {
  visit(of.contrast_name, of.what, of.on, of.primary, of.outcome, of.exceeds_margin, of.is_bound,
        of.reason, of.effect, of.noise, of.epochs_needed, of.weights);
}
void parts(auto& visit, comparison& of) {
  visit(of.title, of.failure, of.failed_variant, of.seed, of.epochs, of.seconds, of.margin,
        of.alpha, of.primary, of.findings);
}

/// What has to be equal on all ranks: names and words. A cell is timed by the options of its rank.
inline words agreed(std::vector<variant> const& variants, options const& chosen) {
  // A new option does not compile here until it is known whether the ranks have to agree on it.
  // They need not agree on seed, title, place and the functions.
  auto const& [margin, alpha, seed, max_epochs, max_seconds, clock, place, cold_cache, same_buffers,
               require_checks, title, barrier, ranks_share_gpus, progress, run_until_sign,
               run_until_margin, hidden_control, verify, cell_seconds, most_launches,
               warm_up_seconds, tick_seconds, profiled_batches, changed, cancelled, at_epoch_begin,
               at_epoch_end, throttle_bits] = chosen;
  std::string names;
  for (auto const& each : variants) { names += (names.empty() ? "" : ", ") + each.label; }
  words all{"names", names, "program", program_hash()};
  auto const add = [&](char const* name, auto const&... values) {
    word_writer text;
    text(values...);
    all.insert(all.end(), {name, encode(text.all)});
    all.back().pop_back();  // the line break
  };
  add("margin", margin);
  add("alpha", alpha);
  add("max_epochs", max_epochs);
  add("max_seconds", max_seconds);
  add("clock", clock ? std::string{to_string(*clock)} : "default");
  add("cold_cache", cold_cache);
  add("same_buffers", same_buffers);
  add("require_checks", require_checks);
  add("barrier", barrier.name.empty() ? "none" : barrier.name);
  add("ranks_share_gpus", ranks_share_gpus);
  add("run_until_sign", run_until_sign);
  add("run_until_margin", run_until_margin);
  add("hidden_control", hidden_control);
  add("verify", verify);
  add("cell_seconds", cell_seconds);
  add("most_launches", most_launches.value_or(0));
  add("warm_up_seconds", warm_up_seconds);
  add("tick_seconds", tick_seconds[0], tick_seconds[1], tick_seconds[2]);
  add("profiled_batches", profiled_batches);
  add("changed", changed);
  return all;
}

/// Throws on all ranks where one of them differs from rank 0.
inline void require_agreement(world const& all, std::vector<variant> const& variants,
                              options const& chosen) {
  auto const own = agreed(variants, chosen);
  auto const told = all.gather(encode(own));
  std::string why;
  for (std::size_t rank = 1; rank < told.size() && why.empty(); ++rank) {
    auto const here = decode({told[rank].data(), told[rank].size() - 1});
    for (std::size_t i = 1; i < own.size() && why.empty(); i += 2) {
      if (at(here, i) == own[i]) { continue; }
      why = concat({"rank ", std::to_string(rank), " has ", own[i - 1], " = ", here[i],
                    ", and rank 0 has ", own[i],
                    own[i - 1] == "program" ? ": start the same file on all ranks"
                                            : ": all ranks call the same comparison"});
    }
  }
  if (!why.empty()) { all.abandon(why); }
  all.barrier();
}

}  // namespace served

/// Rank 0 calls `measure` with variants and options that stand for those of all ranks, and the
/// others do what rank 0 asks for. All return the parts of the result that `parts` names, and rank
/// 0 all of it. `measure` takes variants, options and the `served::leader`.
template <class Result, class Measure>
Result together(world const& all, std::vector<variant> const& variants, options const& chosen,
                Measure&& measure) {
  served::require_agreement(all, variants, chosen);
  if (all.rank() != 0) {
    auto const told = follow(all, variants, chosen);
    Result made;
    served::word_reader{told, 1}(made);
    return made;
  }
  try {
    auto const by = std::make_shared<served::leader>(all, variants, chosen);
    auto found = measure(led(by, variants), led(by, chosen), *by);
    served::word_writer end{{"end"}};
    end(found);
    (void)all.broadcast(served::encode(end.all));
    return found;
  } catch (world_error const&) { throw; } catch (std::exception const& cause) {
    all.abandon(cause.what());
    throw;
  }
}

/// How times of several ranks are to be read.
inline std::string together_note(world const& all, options const& chosen) {
  return concat({"a time is that of the slowest of ", std::to_string(all.ranks()),
                 " ranks, on each clock by itself; before each cell ",
                 chosen.barrier.name.empty()
                     ? "a barrier between the hosts aligns the ranks"
                     : "a barrier of " + chosen.barrier.name + " on the streams aligns the ranks"});
}

/// Compares on all ranks. All return the verdicts of rank 0.
inline comparison measure_together(world const& all, std::vector<variant> const& variants,
                                   std::vector<contrast> const& contrasts, options const& chosen) {
  auto found = together<comparison>(
      all, variants, chosen,
      [&](std::vector<variant> const& ranked, options const& hooked, served::leader& by) {
        auto made = compare_variants(ranked, contrasts, hooked);
        made.notes.push_back(together_note(all, chosen));
        for (auto& each : by.times().notes()) { made.notes.push_back(std::move(each)); }
        made.answers.push_back(by.times().waiting());
        return made;
      });
  if (all.rank() != 0) {
    for (auto const& each : variants) {
      found.variants.emplace_back();
      found.variants.back().label = each.label;
      found.variants.back().axes = each.axes;
    }
  }
  return found;
}

}  // namespace assay::measure
