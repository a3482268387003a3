// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to serve_problem.hpp: the one way in which a candidate is called.
#pragma once

#include <assay/arrays/matrix.hpp>
#include <assay/core/concat.hpp>
#include <assay/measure/subject.hpp>
#include <assay/referee/call_arrays.hpp>
#include <assay/referee/candidate_place.hpp>
#include <assay/referee/charge.hpp>
#include <assay/referee/problem.hpp>
#include <assay/stats/number_text.hpp>
#include <assay/stats/random_source.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace assay::referee_detail {

/// Which outputs hold poison before a call; the others hold results of an earlier problem.
enum class poisoned { all, none, some };

/// How a wrong answer is called that has no better name, and where it was seen.
struct asked {
  charge::kind otherwise;
  std::string when;
  special_values values = special_values::none;
  poisoned outputs = poisoned::all;
  bool same_set = false;  ///< the first set is that of the first call before, and not the next one
  bool whole = false;     ///< looks at all of a large output, and not at parts drawn after the call
  double settle = 2e-3;   ///< seconds behind the calls in which further work would show
  std::optional<std::size_t> special_array{};  ///< the only one with special values; else all are
};

/// Several buffer sets of one size, through which calls go in turn, each over inputs that are drawn
/// for it: no call is like one before. Examined, untimed and timed calls are made in this way.
class rotation {
 public:
  rotation(candidate_place& where, problem const& of, candidate_function const& what, std::size_t n,
           std::uint64_t seed, std::size_t most_sets = 64)
      : place_(where), random_{seed} {
    std::size_t bytes = 0;
    do {
      auto const layout = (sets_.size() + 1) % arrays::row_layouts;
      sets_.push_back(std::make_unique<call_arrays>(where, of, what, n, random_.next(), layout));
      order_.push_back(sets_.size() - 1);
      bytes = 0;
      for (auto const& each : sets_[0]->arrays().declared()) { bytes += each.bytes; }
    } while (sets_.size() < 2 ||
             (sets_.size() < most_sets && (sets_.size() + 1) * bytes <= place_.most_bytes()));
    varies_ = sets_[0]->content() != sets_[1]->content();
  }

  std::size_t sets() const noexcept { return sets_.size(); }
  setup const& arrays() const noexcept { return sets_[0]->arrays(); }
  /// The arrays in each of which special values are asked for alone, by their numbers; none where
  /// no value of one array hides those of another.
  std::vector<std::size_t> asked_alone(special_values which) const {
    using enum declared_array::role;
    bool const hides = which == special_values::nan || which == special_values::infinities;
    std::vector<std::size_t> found;
    auto const all = arrays().declared();
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i].what == input || all[i].what == inout) { found.push_back(i); }
    }
    return hides && found.size() > 1 ? found : std::vector<std::size_t>{};
  }
  asked in_array(asked how, std::size_t number) const {
    how.when += concat({" in ", arrays().declared()[number].name, " alone"});
    how.special_array = number;
    return how;
  }
  /// The same over special values. Numbers from 0 on go through all of them, in all arrays and then
  /// in each alone.
  asked special(asked how, std::vector<special_values> const& all, std::size_t number) const {
    how.values = all[number % all.size()];
    how.when += concat({", inputs of ", to_string(how.values)});
    auto const alone = asked_alone(how.values);
    auto const turn = number / all.size() % (alone.size() + 1);
    return turn == 0 ? how : in_array(std::move(how), alone[turn - 1]);
  }
  /// The set of call number `i`, and behind the calls those that stand by.
  call_arrays& set(std::size_t i) { return *sets_[order_.at(i)]; }

  /// Takes the next sets, as many as there are for so many calls, draws the inputs of each, and
  /// which of the calls is judged.
  void prepare(std::size_t calls, asked const& how) {
    auto const used = how.same_set ? 0 : static_cast<std::ptrdiff_t>(calls_.size());
    std::rotate(order_.begin(), order_.begin() + used, order_.end());
    calls_.clear();
    for (std::size_t i = 0; i < std::min(calls, sets()); ++i) {
      // Without inputs that vary, kept results would be those of this call.
      bool const keeps = varies_ && (how.outputs == poisoned::none ||
                                     (how.outputs == poisoned::some && random_.next() % 2 == 0));
      set(i).begin_to_refresh({random_.next(), how.values, keeps, how.special_array});
      calls_.emplace_back([&of = set(i)](void* stream) { of.enqueue(stream); });
    }
    set(0).store().finish();  // all sets are on one stream
    judged_ = random_.below(calls_.size());
    places_ = random_.next();
    inputs_ = judged().inputs();
    before_ = checksum({judged_});
    idle_ = idle();
  }

  /// Makes the calls that were prepared.
  measure::cell run() {
    is_early_ = checksum({judged_}) != before_;
    auto const taken = place_.run(calls_);
    behind_ = outputs();
    done_ = std::chrono::steady_clock::now();
    return taken;
  }

  /// Looks at what the drawn call left, while all lies as it did behind the last call: first at its
  /// answer, and after `settle` seconds at what still changed. Another call is made only after a
  /// wrong answer, to find its name.
  std::optional<charge> judge(asked const& how) {
    using kind = charge::kind;
    auto& of = judged();
    auto const wrong = how.whole ? of.verify() : of.verify(1, std::optional{random_.next()});
    std::chrono::duration<double> const since = std::chrono::steady_clock::now() - done_;
    place_.settle(std::max(0.0, how.settle - since.count()));
    if (is_early_) {
      return charge{kind::escaped_work, how.when + ": its outputs changed before the call began"};
    }
    if (outputs() != behind_) {
      return charge{kind::escaped_work,
                    how.when + ": its outputs still changed after the call was done"};
    }
    if (idle() != idle_) {
      return charge{kind::kept_buffer, how.when + ": it wrote to buffers of another call"};
    }
    if (judged().inputs() != inputs_) {
      return charge{kind::modified_input, how.when + ": an input was changed"};
    }
    if (auto const which = of.damaged()) {
      return charge{kind::out_of_bounds,
                    concat({how.when, ": it wrote before or behind ", *which})};
    }
    if (auto const which = of.changed_padding()) {
      return charge{kind::out_of_bounds, how.when + ": it wrote into " + *which};
    }
    if (!of.float_change().empty()) {
      return charge{
          kind::changed_environment,
          concat({how.when, ": it changed the floating-point mode, ", of.float_change()})};
    }
    if (!wrong) { return {}; }
    return name(of, how, *wrong);
  }

 private:
  call_arrays& judged() { return set(judged_); }
  /// A number that follows from the outputs of the last call and of the one that is judged.
  std::uint64_t outputs() { return checksum({calls_.size() - 1, judged_}); }
  /// A number that follows from the outputs of the sets that stand by.
  std::uint64_t idle() {
    std::vector<std::size_t> all(sets() - calls_.size());
    std::iota(all.begin(), all.end(), calls_.size());
    return checksum(all);
  }
  std::uint64_t checksum(std::vector<std::size_t> const& of) {
    std::vector<array_memory> all;
    for (auto const i : of) {
      for (auto const& each : set(i).results()) { all.push_back(each); }
    }
    return place_.sampled_checksum(all, places_);
  }

  /// Finds the name of a wrong answer.
  charge name(call_arrays& of, asked const& how, std::string const& wrong) {
    using kind = charge::kind;
    auto const text = concat({how.when, ": ", wrong});
    place_.settle(0.1);
    if (!of.verify()) { return {kind::escaped_work, text + "; 0.1 s later it was right"}; }
    if (calls_.size() < sets()) {
      auto& other = set(calls_.size());
      other.refresh({random_.next()});
      other.call();
      place_.settle(2e-3);
      if (!of.verify()) { return {kind::lazy_work, text + "; after the next call it was right"}; }
    }
    constexpr double slack = 16384;  // from the bound of float numbers to some 8 bits
    if (how.values == special_values::none && !of.verify(slack)) {
      return {kind::low_precision, concat({text, "; within ", stats::number_text(slack),
                                           " times the tolerance it is right"})};
    }
    bool const unwritten =
        how.outputs == poisoned::all && wrong.find("never written") != wrong.npos;
    if (unwritten && how.otherwise == kind::wrong_answer) { return {kind::unwritten_output, text}; }
    if (unwritten && how.otherwise == kind::kept_results && !how.same_set) {
      return {kind::kept_buffer, text};
    }
    return {how.otherwise, text};
  }

  candidate_place& place_;
  stats::random_source random_;
  std::vector<std::unique_ptr<call_arrays>> sets_;
  std::vector<std::size_t> order_;
  bool varies_ = false;  ///< the inputs, from seed to seed
  std::vector<stream_call> calls_;
  std::size_t judged_ = 0;    ///< of these calls
  std::uint64_t places_ = 0;  ///< where outputs are looked at
  /// Numbers that follow from inputs and outputs of that call, before and behind the calls.
  std::uint64_t inputs_ = 0, before_ = 0, behind_ = 0, idle_ = 0;
  bool is_early_ = false;
  std::chrono::steady_clock::time_point done_;  ///< the calls
};

}  // namespace assay::referee_detail
