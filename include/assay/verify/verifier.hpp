// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to verify_definitions.hpp: the cases of a verification, and the search for a small one
/// that fails.
#pragma once

#include <assay/arrays/guarded_store.hpp>
#include <assay/memory/concepts.hpp>
#include <assay/stats/number_text.hpp>
#include <assay/verify/call_place.hpp>
#include <assay/verify/case_runner.hpp>
#include <assay/verify/guarded_call.hpp>
#include <assay/verify/options.hpp>
#include <assay/verify/sizes_definitions.hpp>
#include <assay/verify/value_kind.hpp>
#include <assay/verify/verification.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace assay::verify_detail {

/// Runs all cases of one factory.
class verifier {
 public:
  verifier(factory const& of, call_place& where, verify_options const& chosen)
      : options_(chosen), rank_(of.rank), cases_(of, where, chosen, found_.left_out) {
    require_time("max_seconds", chosen.max_seconds, chosen.max_seconds >= 0);
    require_time("max_call_seconds", chosen.max_call_seconds, chosen.max_call_seconds > 0);
  }

  verification run() {
    auto const shapes =
        shapes_to_try(options_.only, rank_, [&](shape const& each) { return allows(each); });
    bool const with_huge = options_.huge && rank_ == 1;
    auto const all = shapes.size() + (with_huge ? 1 : 0);
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      if (try_size(shapes[i], i + 1, all)) { right_.push_back(shapes[i]); }
      if (!found_.failure.empty()) { return finished(); }
    }
    if (right_.empty()) { return finished(); }
    if (seconds() > options_.max_seconds) {
      found_.left_out.push_back(
          "calls in graphs, at once, after larger sizes and over shifted arrays: " + out_of_time());
    } else {
      auto const& middle = right_[right_.size() / 2];
      run_after_larger(middle);
      for (auto const& each : {middle, right_.back()}) {
        if (found_.failure.empty()) { run_further_ways(each); }
      }
      // Behind these calls, since a misaligned load ends all work of the process on a device.
      for (auto const& each : right_) {
        if (found_.failure.empty()) { run_shifted(each); }
      }
    }
    if (with_huge && found_.failure.empty()) {
      auto const huge = options_.only.rounded(huge_size);
      if (allows(huge)) {
        try_size(huge, all, all);
      } else {
        cases_.leave_out(huge, "not one of " + options_.only.rules());
      }
    }
    return finished();
  }

 private:
  /// Tries one size of all. True where it is right.
  bool try_size(shape const& of, std::size_t number, std::size_t all) {
    if (options_.progress) {
      cases_.watch().set_case("size " + to_string(of));
      cases_.watch().during("the function progress", [&] {
        options_.progress("size " + to_string(of) + ", " + std::to_string(number) + " of " +
                          std::to_string(all));
      });
    }
    if (seconds() <= options_.max_seconds) { return run_all(of); }
    cases_.leave_out(of, out_of_time());
    return false;
  }

  static void require_time(char const* name, double value, bool holds) {
    if (holds && std::isfinite(value)) { return; }
    throw std::invalid_argument("verify: " + std::string{name} + " is " +
                                stats::number_text(value) + ": a number of seconds is needed");
  }

  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

  verification finished() {
    found_.seconds = seconds();
    return std::move(found_);
  }

  /// Asks the rules of sizes, with functions of the caller among them.
  bool allows(shape const& of) {
    cases_.watch().set_case("size " + to_string(of));
    return cases_.watch().during("a function of sizes::where",
                                 [&] { return options_.only.allows(of); });
  }

  std::string out_of_time() const {
    return "the limit of " + stats::number_text(options_.max_seconds) + " s was over";
  }
  bool is_alive() {
    return cases_.watch().during("work behind a call", [&] { return cases_.place().is_alive(); });
  }

  /// The sizes that were right, in their order; none where these are the usual ones.
  std::vector<shape> all_tried() const {
    bool const usual = options_.only.listed().empty() && options_.only.rules().empty();
    return usual ? std::vector<shape>{} : right_;
  }

  /// All calls of one size. True where all are right; else the first failure is searched for a
  /// smaller size.
  bool run_all(shape const& of) {
    // No other call brings the other scalars at the sizes of a list, and where there are no sizes.
    bool const all_scalars = of.rank == 0 || !options_.only.listed().empty();
    auto wrong =
        cases_.first_wrong(of, all_scalars, [&](value_kind const& values, guarded_call const& in) {
          if (found_.cases == 0) { found_.notes = in.unchecked(); }
          if (!in.was_called()) { return; }
          ++found_.cases;
          if (!(in.worst().share > found_.worst.share)) { return; }
          found_.worst = in.worst();
          found_.worst_at = in.worst_place() + ", " + words(of, values, in.scalars());
        });
    if (wrong && is_huge(of)) {
      report(of, *wrong, {of});
    } else if (wrong) {
      fail(of, std::move(*wrong));
    }
    if (wrong || !cases_.was_possible()) { return false; }
    if (of.rank == 1) { largest_right_ = std::max(largest_right_, of[0]); }
    return true;
  }

  /// Reports the smallest size that was found to fail, with the simplest values. Of a list, that
  /// is the first size that fails: the caller's work may not be made for others.
  void fail(shape of, mistake wrong) {
    auto const tried = of;
    auto const fails = [&](std::size_t i, std::size_t extent) {
      auto smaller = of;
      smaller.extents[i] = extent;
      if (!is_alive() || !allows(smaller)) { return false; }
      if (seconds() > options_.max_seconds) { return false; }
      auto found = cases_.examine_scalars(smaller, wrong.values, wrong.where);
      if (!found) { return false; }
      of = smaller;
      wrong = std::move(*found);
      return true;
    };
    bool const is_listed = !options_.only.listed().empty();
    for (std::size_t i = 0; i < of.rank && !is_listed; ++i) {
      // Small extents first, since larger ones may be right in between. Sizes that were right have
      // not met each kind of values with each of several scalars.
      auto const right = of.rank == 1 && wrong.scalar_choices == 1 ? largest_right_ : 0;
      auto low = right;
      for (std::size_t few = 1; few <= 3 && right + few < of[i] && !fails(i, right + few); ++few) {
        low = right + few;
      }
      while (low + 1 < of[i]) {
        auto const between = low + (of[i] - low) / 2;
        if (!fails(i, between)) { low = between; }
      }
    }
    auto simplest = is_alive() ? cases_.explained_wrong(of) : std::nullopt;
    bool const is_alone = is_alive() && !simplest && cases_.was_possible();
    bool const was_right = simplest && of == tried && simplest->scalar_choices == 1 &&
                           is_before(simplest->values, wrong.values);
    if (is_alone || was_right) {
      wrong.text += is_alone
                        ? "; right when that size was tried once more by itself"
                        : "; calls keep state or race: with " + words({}, simplest->values, {}) +
                              " they were right before this one and are wrong after it";
      right_.push_back(of);
      return report(of, wrong, all_tried());
    }
    if (simplest) { wrong = std::move(*simplest); }
    report(of, wrong, {of});
  }

  /// `tried` are the sizes that show it again, none for all usual ones.
  void report(shape const& of, mistake const& wrong, std::vector<shape> const& tried) {
    found_.failure =
        words(of, wrong.values, wrong.scalars) + ": " + wrong.text + cases_.repeat(tried);
    for (std::size_t i = 0; i < of.rank; ++i) {
      if (of[i] != 0) { continue; }
      found_.failure += "; where 0 is no size, pass .only = assay::sizes{}.at_least(1)";
      break;
    }
    if (!is_alive()) {
      found_.failure += "; the device takes no more work of this process: later cases did not run";
    }
  }

  /// A call of a size that was right before larger ones, which may have left something behind.
  void run_after_larger(shape const& of) {
    std::optional<guarded_call> in;
    cases_.repeat_after(all_tried());
    auto const wrong = cases_.examine(in, of, {special_values::none, 2});
    cases_.repeat_after({});
    if (!wrong) { return; }
    found_.failure = words(of, wrong->values, wrong->scalars) +
                     ", right before calls of larger sizes and wrong after them: " + wrong->text +
                     cases_.repeat(all_tried());
  }

  /// A call over arrays at the least aligned places that their elements may have.
  void run_shifted(shape const& of) {
    std::optional<guarded_call> in;
    auto wrong =
        cases_.examine(in, of, {special_values::none, 3}, {arrays::guarded_store::begin::shifted});
    if (!wrong) { return; }
    case_runner::explain(*in, *wrong);
    wrong->text =
        "with arrays that begin one element beyond a multiple of 256 bytes: " + wrong->text +
        "; where callers align arrays, call make.align(16)";
    report(of, *wrong, {of});
  }

  void run_further_ways(shape const& of) {
    value_kind const first{};
    value_kind const second{special_values::none, 1};
    try {
      guarded_call one{cases_.place(), cases_.watch()};
      guarded_call two{cases_.place(), cases_.watch()};
      auto const how = cases_.declared(of, first);
      auto wrong = one.examine_recorded(how);
      if (!wrong && options_.concurrent) {
        wrong = guarded_call::examine_both(one, how, two, cases_.declared(of, second));
      }
      if (wrong) { report(of, {first, {}, one.scalars(), *wrong}, {of}); }
    } catch (std::exception const& cause) {
      if (!mr::is_out_of_memory(cause)) { throw; }
      cases_.leave_out_full(of, cause);
    }
  }

  verify_options const& options_;
  std::size_t rank_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  verification found_;
  case_runner cases_;
  std::vector<shape> right_;       ///< sizes that were right, in the order of their calls
  std::size_t largest_right_ = 0;  ///< the largest right size of a factory of one extent
};

}  // namespace assay::verify_detail
