// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to serve_problem.hpp: the examination of a candidate before it is timed.
#pragma once

#include <assay/referee/call_arrays.hpp>
#include <assay/referee/candidate_place.hpp>
#include <assay/referee/charge.hpp>
#include <assay/referee/problem.hpp>
#include <assay/referee/process_state.hpp>
#include <assay/stats/number_text.hpp>
#include <assay/stats/random_source.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
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
        return answer();
      case 1:
        return again();
      case 2:
        return other_sizes();
      case 3:
        return special();
      case 4:
        return repeats();
      case 5:
        return found_each_time([this] { return growth(); });
      default:
        throw std::invalid_argument("no step '" + std::string{step} + "'");
    }
  }

  /// Frees all arrays.
  void clear() {
    one_.reset();
    other_.reset();
  }

 private:
  using kind = charge::kind;

  /// How an examined call is made, and what a wrong answer without a better name is called.
  struct asked {
    kind otherwise;
    std::string when;
    special_values values = special_values::none;
    bool keep_outputs = false;
  };

  call_arrays make(std::size_t n) { return {place_, problem_, call_, n, random_.next()}; }
  /// Two benches of the size that is timed, for several steps.
  call_arrays& kept(std::optional<call_arrays>& in) {
    if (!in) { in.emplace(make(problem_.sizes.front())); }
    return *in;
  }
  call_arrays& one() { return kept(one_); }
  call_arrays& other() { return kept(other_); }

  /// Calls once over fresh inputs. `other` stands by, and serves for a next call.
  std::optional<charge> look(call_arrays& of, call_arrays& other, asked const& how) {
    auto const old = of.outputs();
    of.refresh({random_.next(), how.values, how.keep_outputs});
    bool const was_called = how.keep_outputs || of.outputs() != old;  // else old is poison too
    auto const inputs = of.inputs();
    auto const untouched = other.outputs();
    of.enqueue(place_.stream());
    auto const early = of.sampled_checksum();
    place_.drain();
    place_.settle(2e-3);
    if (of.sampled_checksum() != early) {
      return charge{kind::escaped_work,
                    how.when + ": its outputs still changed after the call was done"};
    }
    if (other.outputs() != untouched) {
      return charge{kind::kept_buffer, how.when + ": it wrote to buffers of another call"};
    }
    if (auto const which = of.damaged()) {
      return charge{kind::out_of_bounds, how.when + ": it wrote before or behind " + *which};
    }
    if (of.inputs() != inputs) {
      return charge{kind::modified_input, how.when + ": an input was changed"};
    }
    if (!of.float_change().empty()) {
      return charge{kind::changed_environment,
                    how.when + ": it changed the floating-point mode, " + of.float_change()};
    }
    auto const wrong = of.verify();
    if (!wrong) { return {}; }
    return name(of, other, how, *wrong, was_called && of.outputs() == old);
  }

  /// Finds the name of a wrong answer.
  charge name(call_arrays& of, call_arrays& other, asked const& how, std::string const& wrong,
              bool is_old) {
    auto const text = how.when + ": " + wrong;
    place_.settle(0.1);
    if (!of.verify()) { return {kind::escaped_work, text + "; 0.1 s later it was right"}; }
    if (is_old) {
      return {kind::kept_results, text + "; the outputs are those of the call before"};
    }
    other.refresh({random_.next()});
    other.call();
    place_.settle(2e-3);
    if (!of.verify()) { return {kind::lazy_work, text + "; after the next call it was right"}; }
    constexpr double slack = 16384;  // from the bound of float numbers to some 8 bits
    if (how.values == special_values::none && !of.verify(slack)) {
      return {kind::low_precision, text + "; within " + stats::number_text(slack) +
                                       " times the "
                                       "tolerance it is right"};
    }
    bool const unwritten = wrong.find("never written") != wrong.npos;
    if (unwritten && how.otherwise == kind::wrong_answer) { return {kind::unwritten_output, text}; }
    return {how.otherwise, text};
  }

  /// A first call, one in other buffers, and on a device one in a held stream.
  std::optional<charge> answer() {
    if (auto found = look(one(), other(), {kind::wrong_answer, "a first call"})) { return found; }
    one().refresh({random_.next()});
    if (auto found = look(other(), one(), {kind::kept_results, "a call with other buffers"})) {
      return found;
    }
    one().refresh({random_.next()});
    auto const early = place_.works_while_held([this](void* on) { one().enqueue(on); },
                                               [this] { return one().outputs(); });
    if (!early.value_or(false)) { return {}; }
    return charge{kind::escaped_work, "its outputs changed while its stream was held"};
  }

  /// Fresh inputs at the same addresses, also over outputs that hold the results of another call.
  std::optional<charge> again() {
    one().call();
    for (bool const keep : {true, false, true}) {
      auto found =
          look(one(), other(), {kind::kept_results, "new inputs at the same addresses", {}, keep});
      if (found) { return found; }
    }
    return {};
  }

  std::optional<charge> other_sizes() {
    auto all = problem_.held_back;
    all.insert(all.end(), problem_.sizes.begin() + 1, problem_.sizes.end());
    for (auto const n : all) {
      auto of = make(n);
      if (auto found = look(of, other(), {kind::wrong_size, "size " + std::to_string(n)})) {
        return found;
      }
    }
    return {};
  }

  /// Special values at the last of the known sizes, which may be a small one.
  std::optional<charge> special() {
    auto of = make(problem_.sizes.back());
    auto next = make(problem_.sizes.back());
    for (auto const each : problem_.values) {
      auto const when = "inputs of " + std::string{to_string(each)};
      if (auto found = look(of, next, {kind::wrong_values, when, each})) { return found; }
    }
    return {};
  }

  /// Times pairs of calls, the second over the inputs of the first, or over new ones in half of the
  /// pairs, in random order. Before each call lie the same writes of inputs, and work that makes a
  /// branch predictor forget.
  ///
  /// If the inputs make no difference, all orders are equally likely. Then 10 repeats and at most
  /// one of 10 others take less than half of their first call with a chance below 1e-4.
  std::optional<charge> repeats() {
    std::vector<int> repeated(20);
    std::fill_n(repeated.begin(), 10, 1);
    random_.shuffle(repeated);
    int others = 0;
    double seconds = 0;
    double first_seconds = 0;
    one().call();
    auto const timed = [this](std::uint64_t seed) {
      one().refresh({seed, special_values::none, true});
      forget();
      return one().seconds();
    };
    for (bool const same : repeated) {
      auto const seed = random_.next();
      double const first = timed(seed);
      double const second = timed(same ? seed : random_.next());
      bool const is_short = second < first / 2;
      others += !same && is_short ? 1 : 0;
      if ((same && !is_short) || others > 1) { return {}; }
      seconds += same ? second : 0;
      first_seconds += same ? first : 0;
    }
    return charge{kind::kept_results, "calls over the inputs of the call before took " +
                                          stats::number_text(seconds / first_seconds) +
                                          " of the time of those over new inputs"};
  }

  void forget() {
    std::vector<std::uint64_t> numbers(4096);
    for (auto& each : numbers) { each = random_.next(); }
    std::sort(numbers.begin(), numbers.end());
  }

  /// Holds amounts after equal numbers of calls against each other.
  std::optional<charge> growth() {
    one().call();
    double const each = std::max(one().seconds(), 1e-9);
    int const calls = static_cast<int>(std::clamp(0.01 / each, 8.0, 128.0));
    auto const after_calls = [&] {
      for (int i = 0; i < calls; ++i) { one().enqueue(place_.stream()); }
      place_.drain();
      return holdings_now(place_.device_bytes());
    };
    (void)after_calls();
    auto const grown = least_growth(4, after_calls);
    for (std::size_t i = 0; i < grown.size(); ++i) {
      double const per_call = grown[i] / calls;
      if (per_call < holdings::least[i]) { continue; }
      return charge{kind::growing_memory,
                    std::string{holdings::names[i]} + " grew by " + stats::number_text(per_call) +
                        " or more per call in each of 4 x " + std::to_string(calls) + " calls"};
    }
    return {};
  }

  candidate_place& place_;
  problem const& problem_;
  candidate_function call_;
  stats::random_source random_;
  std::optional<call_arrays> one_, other_;
};

}  // namespace assay::referee_detail
