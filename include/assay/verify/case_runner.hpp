// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to verifier.hpp: runs cases, which are sizes with values, scalars and places in memory.
#pragma once

#include <assay/arrays/row_layout.hpp>
#include <assay/memory/concepts.hpp>
#include <assay/verify/call_place.hpp>
#include <assay/verify/guarded_call.hpp>
#include <assay/verify/hang_watch.hpp>
#include <assay/verify/options.hpp>
#include <assay/verify/value_kind.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace assay::verify_detail {

/// The size of `verify_options::huge`, the last one: an array of `float` has more than 2^31 bytes.
/// Sizes from it on have one draw of random values alone, and no smaller one is searched for, since
/// a call takes seconds.
inline constexpr std::size_t huge_size = (std::size_t{1} << 29U) + 1;
inline bool is_huge(shape const& of) { return of.rank == 1 && of[0] >= huge_size; }

/// The error of one case, in words.
struct mistake {
  value_kind values;
  placement where;
  std::string scalars, text;
  std::uint64_t scalar_choices = 1;
};

/// Runs the cases of one factory.
class case_runner {
 public:
  /// Names sizes for which there is no memory in `left_out`.
  case_runner(factory const& of, call_place& where, verify_options const& chosen,
              std::vector<std::string>& left_out)
      : factory_(of),
        place_(where),
        options_(chosen),
        left_out_(left_out),
        watch_(chosen.max_call_seconds) {}

  call_place& place() noexcept { return place_; }
  hang_watch& watch() noexcept { return watch_; }
  /// False where the last case found no memory.
  bool was_possible() const noexcept { return was_possible_; }
  /// From now on, a case needs calls of other sizes before it; none is of all the usual ones.
  void repeat_after(std::optional<std::vector<shape>> tried) { tried_ = std::move(tried); }

  void leave_out(shape const& of, std::string const& why) {
    left_out_.push_back("size " + to_string(of) + ": " + why);
  }
  void leave_out_full(shape const& of, std::exception const& memory) {
    std::string const why = memory.what();
    leave_out(of, why == std::bad_alloc{}.what() ? "no host memory" : why);
  }

  /// The call that repeats a failure at some sizes, none for all the usual ones.
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

  /// The values of a size take the scalars in turn, and each size begins with others.
  declaration declared(shape const& of, value_kind const& values, std::uint64_t nth = 0) const {
    auto const at = std::find(all_values.begin(), all_values.end(), values);
    auto number = static_cast<std::uint64_t>(at - all_values.begin()) + nth;
    for (std::size_t i = 0; i < of.rank; ++i) { number += random_bits(i, of[i]); }
    return {words(of, values, {}), repeat(tried_.value_or(std::vector{of})), factory_, of,
            values.special,        random_bits(options_.seed, values.draw),  number};
  }

  /// Runs one case. `in` is made where it is empty.
  std::optional<mistake> examine(std::optional<guarded_call>& in, shape const& of,
                                 value_kind const& values, placement const& where = {},
                                 std::uint64_t nth_scalars = 0) {
    was_possible_ = true;
    try {
      if (!in) { in.emplace(place_, watch_, where); }
      auto const wrong = in->examine(declared(of, values, nth_scalars));
      if (!wrong) { return {}; }
      return mistake{values, where, in->scalars(), *wrong, in->scalar_choices()};
    } catch (std::exception const& cause) {
      if (!mr::is_out_of_memory(cause)) { throw; }
      leave_out_full(of, cause);
    }
    in.reset();
    was_possible_ = false;
    return {};
  }
  /// The same with all scalars, each of which may have another number at another size.
  std::optional<mistake> examine_scalars(shape const& of, value_kind const& values,
                                         placement const& where) {
    std::optional<guarded_call> in;
    std::uint64_t nth = 0;
    do {
      if (auto wrong = examine(in, of, values, where, nth)) { return wrong; }
    } while (in && ++nth < choices(*in));
    return {};
  }

  using reason = guarded_call::explanation::cause;
  /// Adds to the words of a mistake what more calls tell of it.
  static reason explain(guarded_call& in, mistake& wrong) {
    try {
      auto told = in.explained(wrong.text);
      wrong.text = std::move(told.words);
      return told.of;
    } catch (std::exception const& cause) {
      if (!mr::is_out_of_memory(cause)) { throw; }
    }
    return reason::unknown;
  }

  /// Runs all cases of one size in the same memory, so that addresses stay and values change, until
  /// one is wrong or left out. `right(values, call)` sees the others. Each kind of values meets the
  /// next combination of scalars.
  template <class Right>
  std::optional<mistake> first_wrong(shape const& of, bool all_scalars, Right const& right) {
    std::optional<mistake> wrong;
    run_cases(of, all_scalars, [&](value_kind const& values, guarded_call& in, auto const& found) {
      wrong = found;
      if (!found) { right(values, in); }
      return !found;
    });
    return wrong;
  }

  /// The same with all scalars, explained. A sum of zeros leaves what it adds to as it was, so an
  /// element that is unchanged is looked at with other values too.
  std::optional<mistake> explained_wrong(shape const& of) {
    std::optional<mistake> wrong;
    run_cases(of, true, [&](value_kind const& values, guarded_call& in, auto const& found) {
      if (!found) { return !wrong || values == value_kind{special_values::ones}; }
      auto told = *found;
      auto const why = explain(in, told);
      if (!wrong || why == reason::read) { wrong = std::move(told); }
      return why == reason::unchanged && values != value_kind{};
    });
    return wrong;
  }

 private:
  /// Calls `see(values, call, mistake)` behind each case, until that is false.
  template <class See>
  void run_cases(shape const& of, bool all_scalars, See const& see) {
    // Arrays of one size: one set for each layout of rows. All take turns where an array has rows.
    std::array<std::optional<guarded_call>, arrays::row_layouts> all;
    for (std::size_t i = 0; i < all_values.size(); ++i) {
      auto const& values = all_values[i];
      if (is_huge(of) && (values.special != special_values::none || values.draw > 0)) { continue; }
      auto const layout = all[0] && all[0]->has_rows() ? i % all.size() : 0;
      auto& in = all[layout];
      std::uint64_t nth = 0;
      do {
        auto const wrong = examine(in, of, values, {.layout = layout}, nth);
        if (!was_possible_ || !see(values, *in, wrong)) { return; }
      } while (all_scalars && ++nth < choices(*in));
    }
  }

  /// The combinations of scalars that are tried, where all are.
  static std::uint64_t choices(guarded_call const& of) {
    constexpr std::uint64_t most = 16;
    return std::min(most, of.scalar_choices());
  }

  factory const& factory_;
  call_place& place_;
  verify_options const& options_;
  std::vector<std::string>& left_out_;
  bool was_possible_ = true;
  std::optional<std::vector<shape>> tried_{};  ///< sizes that a case needs before it
  hang_watch watch_;
};

}  // namespace assay::verify_detail
