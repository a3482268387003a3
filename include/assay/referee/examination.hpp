// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to serve_problem.hpp: the examination of a candidate before it is timed.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/referee/call_arrays.hpp>
#include <assay/referee/candidate_place.hpp>
#include <assay/referee/charge.hpp>
#include <assay/referee/problem.hpp>
#include <assay/referee/process_state.hpp>
#include <assay/referee/rotation.hpp>
#include <assay/stats/number_text.hpp>
#include <assay/stats/random_source.hpp>

#include <sys/resource.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::referee_detail {

/// Examines one candidate in `examination_steps`. A step stops at its first charge.
class examination {
 public:
  examination(candidate_place& where, problem const& of, candidate_function what,
              std::uint64_t seed)
      : place_(where), problem_(of), call_(std::move(what)), random_{seed} {}

  std::optional<charge> run(std::string_view step) {
    auto const found = std::find(examination_steps.begin(), examination_steps.end(), step);
    switch (found - examination_steps.begin()) {
      case 0:
        return look(kept(),
                    {.otherwise = kind::wrong_answer, .when = "a first call", .whole = true});
      case 1:
        return answer();
      case 2:
        return again();
      case 3:
        return sizes();
      case 4:
        return repeats();
      case 5:
        return found_each_time([this] { return growth(); });
      default:
        throw std::invalid_argument(concat({"no step '", step, "'"}));
    }
  }

  /// The least seconds of an examined call of the size that is timed, and those of one beside which
  /// no thread of the process lost its processor. The mean counts of several calls.
  double seconds() const noexcept { return seconds_; }
  double undisturbed_seconds() const noexcept { return undisturbed_seconds_; }

  /// The buffer sets of that size.
  std::size_t sets() { return kept().sets(); }

  /// Frees all arrays.
  void clear() { kept_.reset(); }

 private:
  using kind = charge::kind;

  /// The rotation of the size that is timed, for several steps.
  rotation& kept() {
    if (!kept_) { kept_.emplace(place_, problem_, call_, problem_.sizes.front(), random_.next()); }
    return *kept_;
  }

  /// Calls once, and judges the call.
  std::optional<charge> look(rotation& with, asked const& how) {
    with.prepare(1, how);
    try {
      if (&with == &*kept_ && how.values == special_values::none) {
        watch([&] { return with.run(); });
      } else {
        (void)with.run();
      }
    } catch (escaped const& work) {
      return charge{kind::escaped_work, concat({how.when, ": ", work.what()})};
    }
    return with.judge(how);
  }

  template <class Run>
  void watch(Run const& run) {
    auto const switches = [] {
      ::rusage now{};
      ::getrusage(RUSAGE_SELF, &now);
      return now.ru_nivcsw;
    };
    auto const before = switches();
    double const taken = run()[place_.decides()];
    seconds_ = std::min(seconds_, taken);
    if (switches() == before) { undisturbed_seconds_ = std::min(undisturbed_seconds_, taken); }
  }

  /// A call in other buffers, and on a device one in a held stream.
  std::optional<charge> answer() {
    if (auto found = look(kept(), {kind::kept_results, "a call with other buffers"})) {
      return found;
    }
    kept().prepare(1, {kind::wrong_answer, {}});
    auto& one = kept().set(0);
    auto const early =
        place_.works_while_held([&](void* on) { one.enqueue(on); }, [&] { return one.outputs(); });
    if (!early.value_or(false)) { return {}; }
    return charge{kind::escaped_work, "its outputs changed while its stream was held"};
  }

  /// Fresh inputs at the same addresses, also over outputs that hold the results of another call.
  std::optional<charge> again() {
    using enum poisoned;
    for (auto const outputs : {none, all, none}) {
      auto found = look(kept(), {kind::kept_results, "new inputs at the same addresses",
                                 special_values::none, outputs, true});
      if (found) { return found; }
    }
    return {};
  }

  /// Every size, over random numbers and over special values.
  std::optional<charge> sizes() {
    auto all = problem_.held_back;
    all.insert(all.end(), problem_.sizes.rbegin(), problem_.sizes.rend());
    for (auto const n : all) {
      bool const is_timed = n == problem_.sizes.front();
      std::optional<rotation> own;
      auto& with = is_timed ? kept() : own.emplace(place_, problem_, call_, n, random_.next(), 2);
      auto const size = "size " + std::to_string(n);
      if (auto found = look(with, {kind::wrong_size, size})) { return found; }
      for (auto const each : problem_.values) {
        auto const when = concat({size, ", inputs of ", to_string(each)});
        if (auto found = look(with, {kind::wrong_values, when, each, poisoned::some})) {
          return found;
        }
        for (auto const i : with.asked_alone(each)) {
          auto const how = with.in_array({kind::wrong_values, when, each, poisoned::some}, i);
          if (auto found = look(with, how)) { return found; }
        }
      }
    }
    return {};
  }

  /// Times rows of calls. In half of the rows all calls have the same inputs; in the others the
  /// last one has new inputs. Before each call lie the same writes of inputs, and work that makes
  /// a branch predictor forget.
  ///
  /// If the inputs make no difference, all orders are equally likely. Then the last calls of 10
  /// equal rows and at most of one of 10 others take less than half of their first call with a
  /// chance below 1e-4. An honest candidate is seldom asked for more than one row.
  std::optional<charge> repeats() {
    std::vector<int> repeated(20);
    std::fill_n(repeated.begin(), 10, 1);
    random_.shuffle(repeated);
    std::iter_swap(repeated.begin(), std::find(repeated.begin(), repeated.end(), 1));
    int others = 0;
    double seconds = 0;
    double first_seconds = 0;
    auto& one = kept().set(0);
    one.call();
    auto const timed = [&](std::uint64_t seed) {
      one.refresh({seed, special_values::none, true});
      forget();
      return place_.run({[&](void* stream) { one.enqueue(stream); }})[place_.decides()];
    };
    for (bool const same : repeated) {
      auto const seed = random_.next();
      double const first = timed(seed);
      auto const between = static_cast<int>(std::clamp(20e-3 / first, 2.0, 62.0));
      for (int i = 0; i < between; ++i) { timed(seed); }
      double const last = timed(same ? seed : random_.next());
      bool const is_short = last < first / 2;
      others += !same && is_short ? 1 : 0;
      if ((same && !is_short) || others > 1) { return {}; }
      seconds += same ? last : 0;
      first_seconds += same ? first : 0;
    }
    return charge{kind::kept_results, concat({"calls over the inputs of the calls before took ",
                                              stats::number_text(seconds / first_seconds),
                                              " of the time of those over new inputs"})};
  }

  void forget() {
    std::vector<std::uint64_t> numbers(4096);
    for (auto& each : numbers) { each = random_.next(); }
    std::sort(numbers.begin(), numbers.end());
  }

  /// Holds amounts after equal numbers of calls against each other.
  std::optional<charge> growth() {
    auto& one = kept().set(0);
    int const calls = static_cast<int>(std::clamp(0.01 / std::max(seconds_, 1e-9), 2.0, 128.0));
    std::vector<stream_call> const batch(static_cast<std::size_t>(calls),
                                         [&](void* stream) { one.enqueue(stream); });
    auto const after_calls = [&] {
      watch([&] { return place_.run(batch); });
      return holdings_now(place_.device_bytes());
    };
    (void)after_calls();
    auto const grown = least_growth(4, after_calls);
    for (std::size_t i = 0; i < grown.size(); ++i) {
      double const per_call = grown[i] / calls;
      if (per_call < holdings::least[i]) { continue; }
      return charge{kind::growing_memory,
                    concat({holdings::names[i], " grew by ", stats::number_text(per_call),
                            " or more per call in each of 4 x ", std::to_string(calls), " calls"})};
    }
    return {};
  }

  candidate_place& place_;
  problem const& problem_;
  candidate_function call_;
  stats::random_source random_;
  std::optional<rotation> kept_;
  double seconds_ = std::numeric_limits<double>::infinity();
  double undisturbed_seconds_ = std::numeric_limits<double>::infinity();
};

}  // namespace assay::referee_detail
