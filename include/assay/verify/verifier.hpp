// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to verify_definitions.hpp: the cases of a verification, and the search for a small one
/// that fails.
#pragma once

#include <assay/arrays/guarded_store.hpp>
#include <assay/memory/concepts.hpp>
#include <assay/stats/number_text.hpp>
#include <assay/verify/call_place.hpp>
#include <assay/verify/guarded_call.hpp>
#include <assay/verify/hang_watch.hpp>
#include <assay/verify/options.hpp>
#include <assay/verify/sizes_definitions.hpp>
#include <assay/verify/value_kind.hpp>
#include <assay/verify/verification.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace assay::verify_detail {

/// The size of `verify_options::huge`, the last one: an array of `float` has more than 2^31 bytes.
/// Sizes from it on have one draw of random values alone, and no smaller one is searched for, since
/// a call takes seconds.
inline constexpr std::size_t huge_size = (std::size_t{1} << 29U) + 1;

/// Runs all cases of one factory.
class verifier {
 public:
  verifier(factory const& of, call_place& where, verify_options const& chosen)
      : factory_(of), place_(where), options_(chosen), watch_(chosen.max_call_seconds) {
    require_time("max_seconds", chosen.max_seconds, chosen.max_seconds >= 0);
    require_time("max_call_seconds", chosen.max_call_seconds, chosen.max_call_seconds > 0);
  }

  verification run() {
    auto const shapes = shapes_to_try(options_.only, factory_.rank,
                                      [&](shape const& each) { return allows(each); });
    bool const with_huge = options_.huge && factory_.rank == 1;
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
        leave_out(huge, "not one of " + options_.only.rules());
      }
    }
    return finished();
  }

 private:
  /// Tries one size of all. True where it is right.
  bool try_size(shape const& of, std::size_t number, std::size_t all) {
    if (options_.progress) {
      watch_.set_case("size " + to_string(of));
      watch_.during("the function progress", [&] {
        options_.progress("size " + to_string(of) + ", " + std::to_string(number) + " of " +
                          std::to_string(all));
      });
    }
    if (seconds() <= options_.max_seconds) { return run_all(of); }
    leave_out(of, out_of_time());
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
    watch_.set_case("size " + to_string(of));
    return watch_.during("a function of sizes::where", [&] { return options_.only.allows(of); });
  }

  std::string out_of_time() const {
    return "the limit of " + stats::number_text(options_.max_seconds) + " s was over";
  }
  bool is_alive() {
    return watch_.during("work behind a call", [&] { return place_.is_alive(); });
  }
  static bool is_huge(shape const& of) { return of.rank == 1 && of[0] >= huge_size; }
  void leave_out(shape const& of, std::string const& why) {
    found_.left_out.push_back("size " + to_string(of) + ": " + why);
  }
  void leave_out_full(shape const& of, std::exception const& memory) {
    std::string const why = memory.what();
    leave_out(of, why == std::bad_alloc{}.what() ? "no host memory" : why);
  }

  /// The sizes that were right, in their order; none where these are the usual ones.
  std::vector<shape> all_tried() const {
    bool const usual = options_.only.listed().empty() && options_.only.rules().empty();
    return usual ? std::vector<shape>{} : right_;
  }

  /// The call that repeats a failure at some sizes.
  std::string repeat(std::vector<shape> const& at) const {
    std::string text;
    for (auto const& each : at) {
      if (each.rank > 0) { text += (text.empty() ? "" : ", ") + to_string(each); }
    }
    return "; repeat with assay::verify(..., {.seed = " + std::to_string(options_.seed) +
           (text.empty() ? "" : ", .only = {" + text + "}") +
           (options_.concurrent ? "" : ", .concurrent = false") +
           (options_.place
                ? ", .place = assay::on::device{" + std::to_string(options_.place->id) + "}"
                : "") +
           "})";
  }

  /// Arrays of one size: one set for each layout of rows.
  using layouts = std::array<std::optional<guarded_call>, arrays::row_layouts>;

  /// The layout for values number i: all of them take turns where an array has rows.
  static std::size_t layout_of(layouts const& of, std::size_t i) {
    return of[0] && of[0]->has_rows() ? i % of.size() : 0;
  }

  /// All calls of one size in the same memory, so that addresses stay and values change. True where
  /// all are right; else the first failure is searched for a smaller size.
  bool run_all(shape const& of) {
    layouts all;
    for (std::size_t i = 0; i < all_values.size(); ++i) {
      auto const& each = all_values[i];
      if (is_huge(of) && (each.special != special_values::none || each.draw > 0)) { continue; }
      auto const layout = layout_of(all, i);
      auto& in = all[layout];
      auto wrong = examine(in, of, each, {.layout = layout});
      if (left_out_) { return false; }
      if (wrong) {
        if (is_huge(of)) {
          report(of, *wrong, {of});
        } else {
          fail(of, std::move(*wrong));
        }
        return false;
      }
      if (found_.cases == 0) { found_.notes = in->unchecked(); }
      if (!in->was_called()) { continue; }
      ++found_.cases;
      if (in->worst().share > found_.worst.share) {
        found_.worst = in->worst();
        found_.worst_at = in->worst_place() + ", " + words(of, each, in->scalars());
      }
    }
    if (of.rank == 1) { largest_right_ = std::max(largest_right_, of[0]); }
    return true;
  }

  /// The error of one case, in words.
  struct mistake {
    value_kind values;
    placement where;
    std::string scalars, text;
  };

  /// Runs one case. `in` is made where it is empty.
  std::optional<mistake> examine(std::optional<guarded_call>& in, shape const& of,
                                 value_kind const& values, placement const& where = {}) {
    left_out_ = false;
    try {
      if (!in) { in.emplace(place_, watch_, where); }
      auto const wrong = in->examine(declared(of, values));
      if (!wrong) { return {}; }
      return mistake{values, where, in->scalars(), *wrong};
    } catch (std::exception const& cause) {
      if (!mr::is_out_of_memory(cause)) { throw; }
      leave_out_full(of, cause);
    }
    in.reset();
    left_out_ = true;
    return {};
  }

  /// The values of a size take the scalars in turn, and each size begins with others.
  declaration declared(shape const& of, value_kind const& values) const {
    auto const at = std::find(all_values.begin(), all_values.end(), values);
    auto number = static_cast<std::uint64_t>(at - all_values.begin());
    for (std::size_t i = 0; i < of.rank; ++i) { number += random_bits(i, of[i]); }
    return {words(of, values, {}),
            factory_,
            of,
            values.special,
            random_bits(options_.seed, values.draw),
            number};
  }

  /// Reports the smallest size that was found to fail, with the simplest values. Of a list, that
  /// is the first size that fails: the caller's work may not be made for others.
  void fail(shape of, mistake wrong) {
    auto const fails = [&](std::size_t i, std::size_t extent) {
      auto smaller = of;
      smaller.extents[i] = extent;
      if (!is_alive() || !allows(smaller)) { return false; }
      if (seconds() > options_.max_seconds) { return false; }
      std::optional<guarded_call> in;
      auto found = examine(in, smaller, wrong.values, wrong.where);
      if (!found) { return false; }
      of = smaller;
      wrong = std::move(*found);
      return true;
    };
    bool const is_listed = !options_.only.listed().empty();
    for (std::size_t i = 0; i < of.rank && !is_listed; ++i) {
      // Small extents first, since larger ones may be right in between.
      auto const right = of.rank == 1 ? largest_right_ : 0;
      auto low = right;
      for (std::size_t few = 1; few <= 3 && right + few < of[i] && !fails(i, right + few); ++few) {
        low = right + few;
      }
      while (low + 1 < of[i]) {
        auto const between = low + (of[i] - low) / 2;
        if (!fails(i, between)) { low = between; }
      }
    }
    if (auto simplest = first_failure(of)) {
      wrong = std::move(*simplest);
    } else if (is_alive() && !left_out_) {
      wrong.text += "; right when that size was tried once more by itself";
      right_.push_back(of);
      return report(of, wrong, all_tried());
    }
    report(of, wrong, {of});
  }

  /// The simplest values that fail.
  std::optional<mistake> first_failure(shape const& of) {
    if (!is_alive()) { return {}; }
    layouts all;
    for (std::size_t i = 0; i < all_values.size(); ++i) {
      auto const layout = layout_of(all, i);
      auto wrong = examine(all[layout], of, all_values[i], {.layout = layout});
      if (wrong) { return wrong; }
      if (left_out_) { return {}; }
    }
    return {};
  }

  /// `tried` are the sizes that show it again, none for all usual ones.
  void report(shape const& of, mistake const& wrong, std::vector<shape> const& tried) {
    found_.failure = words(of, wrong.values, wrong.scalars) + ": " + wrong.text + repeat(tried);
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
    auto const wrong = examine(in, of, {special_values::none, 2});
    if (!wrong) { return; }
    found_.failure = words(of, wrong->values, wrong->scalars) +
                     ", right before calls of larger sizes and wrong after them: " + wrong->text +
                     repeat(all_tried());
  }

  /// A call over arrays at the least aligned places that their elements may have.
  void run_shifted(shape const& of) {
    std::optional<guarded_call> in;
    auto wrong =
        examine(in, of, {special_values::none, 3}, {arrays::guarded_store::begin::shifted});
    if (!wrong) { return; }
    wrong->text =
        "with arrays that begin one element beyond a multiple of 256 bytes: " + wrong->text +
        "; where callers align arrays, call make.align(16)";
    report(of, *wrong, {of});
  }

  void run_further_ways(shape const& of) {
    value_kind const first{};
    value_kind const second{special_values::none, 1};
    try {
      guarded_call one{place_, watch_};
      guarded_call two{place_, watch_};
      auto wrong = one.examine_recorded(declared(of, first));
      if (!wrong && options_.concurrent) {
        wrong = guarded_call::examine_both(one, declared(of, first), two, declared(of, second));
      }
      if (wrong) { report(of, {first, {}, one.scalars(), *wrong}, {of}); }
    } catch (std::exception const& cause) {
      if (!mr::is_out_of_memory(cause)) { throw; }
      leave_out_full(of, cause);
    }
  }

  factory const& factory_;
  call_place& place_;
  verify_options const& options_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  verification found_;
  std::vector<shape> right_;       ///< sizes that were right, in the order of their calls
  bool left_out_ = false;          ///< true if the last case found no memory
  std::size_t largest_right_ = 0;  ///< the largest right size of a factory of one extent
  hang_watch watch_;
};

}  // namespace assay::verify_detail
