// SPDX-License-Identifier: Apache-2.0
/// @file
/// Gates on profiles: `kernel gemm > +2 %` fails where a step's time of these kernels grows beyond.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/profile/step_words.hpp>
#include <assay/stats/five_numbers.hpp>
#include <assay/stats/rank_sum.hpp>
#include <assay/stats/serial_dependence.hpp>
#include <assay/trace/glob.hpp>
#include <assay/trace/gpu_operation.hpp>
#include <assay/trace/labels.hpp>
#include <assay/trace/overlap.hpp>
#include <assay/trace/step_difference.hpp>
#include <assay/trace/strings.hpp>
#include <assay/trace/view.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace assay::profile {

/// A condition on the time that steps spend on something.
struct step_gate {
  std::string text;                      ///< as it was written
  std::string kind, names;               ///< "kernel", "copy" or "range", and a glob
  double margin = 0;                     ///< it fails where the time grows by more than this share
  std::vector<double> control, variant;  ///< ns of each step
};

namespace detail {

inline std::string_view trimmed(std::string_view text) {
  auto const first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) { return {}; }
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

}  // namespace detail

/// Reads `KIND GLOB > +X %`. The last `>` counts, since names of kernels may have some. Throws
/// `std::invalid_argument`.
inline step_gate parse_step_gate(std::string const& text) {
  auto const refuse = [&](std::string const& why) -> std::invalid_argument {
    return std::invalid_argument(
        concat({"--fail-if '", text, "': ", why,
                "; write 'kernel GLOB > +X %', 'copy GLOB > +X %' or 'range GLOB "
                "> +X %', as in 'kernel gemm > +2 %', or inconclusive"}));
  };
  auto const sign = text.rfind('>');
  if (sign == std::string::npos) { throw refuse("it has no '>'"); }
  auto const what = detail::trimmed(std::string_view{text}.substr(0, sign));
  auto limit = detail::trimmed(std::string_view{text}.substr(sign + 1));
  if (!limit.ends_with('%')) { throw refuse("its limit is not in per cent"); }
  limit.remove_suffix(1);
  limit = detail::trimmed(limit);
  if (limit.starts_with('+')) { limit.remove_prefix(1); }
  step_gate made;
  made.text = text;
  auto const [end, error] = std::from_chars(limit.data(), limit.data() + limit.size(), made.margin);
  if (error != std::errc{} || end != limit.data() + limit.size() || !(made.margin >= 0) ||
      !std::isfinite(made.margin)) {
    throw refuse("its limit is not a number of 0 or more");
  }
  made.margin /= 100;
  auto const blank = what.find(' ');
  made.kind = what.substr(0, blank);
  if (blank != std::string_view::npos) { made.names = detail::trimmed(what.substr(blank)); }
  if (made.kind != "kernel" && made.kind != "copy" && made.kind != "range") {
    throw refuse(concat({"'", made.kind, "' is neither kernel, copy nor range"}));
  }
  if (made.names.empty() && made.kind != "copy") { throw refuse("it names nothing"); }
  return made;
}

/// The time of a step's kernels, or copies, whose names a gate matches, summed. Adds all names that
/// there are to `known`, and to `matched` those that match.
inline double time_of_work(step_gate const& of, trace::view const& step,
                           std::set<std::string>& known, std::set<std::string>& matched) {
  trace::glob const wanted{of.names};
  auto const& rows = step.of();
  auto const is_wanted = [&](std::string_view name, std::string const& shown) {
    known.insert(shown);
    if (!wanted.matches(name)) { return false; }
    matched.insert(shown);
    return true;
  };
  std::int64_t sum = 0;
  if (of.kind == "kernel") {
    auto named = trace::once_per_name(rows.strings.size(), [&](trace::string_id name) {
      return is_wanted(rows.strings[name], trace::short_kernel_name(rows.strings[name]));
    });
    for (auto const& each : rows.kernels) { sum += named(each.name) ? each.when.length() : 0; }
    for (auto const& each : step.operations()) {
      if (each.kind != trace::operation_kind::graph) { continue; }
      std::string const name{trace::whole_graph_label};
      sum += is_wanted(name, name) ? each.when.length() : 0;
    }
  } else {
    for (auto const& each : rows.copies) {
      auto const name = to_string(trace::direction_of(each.kind));
      sum += is_wanted(name, std::string{name}) ? each.when.length() : 0;
    }
  }
  return static_cast<double>(sum);
}

/// The answer to a gate.
enum class gate_outcome { passes, fails, inconclusive, unproven };

/// A gate with its answer.
struct judged_gate {
  step_gate const& of;
  stats::interval factor;  ///< the variant's time over the control's
  gate_outcome outcome = gate_outcome::unproven;
  double widening = 1;  ///< of the interval, since steps depend on those before them
};

/// A gate fails where the whole interval of the factor lies beyond the margin, and beyond what runs
/// of one program differ by. It passes where the whole interval lies below the margin. Of `gates`
/// gates, one or more fail by chance with a probability of at most alpha / 2. Without an interval
/// the answer is `unproven`.
inline judged_gate judge(step_gate const& gate, std::size_t gates, double alpha = 0.05) {
  auto const critical = stats::rank_sum_critical_value(
      static_cast<std::int64_t>(gate.control.size()),
      static_cast<std::int64_t>(gate.variant.size()), alpha / static_cast<double>(gates));
  auto const widening = stats::interval_widening(gate.control, gate.variant);
  judged_gate made{
      gate,
      stats::widened_factor(stats::rank_sum_ratio(gate.control, gate.variant, critical), widening),
      gate_outcome::unproven, widening};
  if (critical < 0) { return made; }
  auto const limit = 1 + gate.margin;
  auto const surely = std::max(limit, 1 + trace::between_runs);
  made.outcome = made.factor.low > surely    ? gate_outcome::fails
                 : made.factor.high <= limit ? gate_outcome::passes
                                             : gate_outcome::inconclusive;
  return made;
}

/// `kernel gemm > +2 %: FAILS: +3.0 % [+2.9, +3.1].`
inline std::string gate_text(judged_gate const& of, std::int64_t needed) {
  auto const& gate = of.of;
  auto const none = [](std::vector<double> const& steps) {
    return 2 * std::ranges::count(steps, 0.0) > std::ssize(steps);
  };
  auto const size = none(gate.control) && none(gate.variant)
                        ? std::string{"no time in most steps of both"}
                        : detail::factor_text(of.factor);
  auto const found =
      (size.empty() ? std::string{"from no time to some"} : size) +
      (of.widening >= detail::told_widening ? ", widened " + report::fixed(of.widening, 1) +
                                                  " times, as steps depend on those before them"
                                            : "");
  switch (of.outcome) {
    case gate_outcome::passes:
      return concat({gate.text, ": passes: ", found, "."});
    case gate_outcome::fails:
      return concat({gate.text, ": FAILS: ", found, "."});
    case gate_outcome::inconclusive:
      return concat({gate.text, ": INCONCLUSIVE: ", found,
                     of.factor.low > 1 + gate.margin
                         ? ", not more than runs of one program differ by; record several runs."
                         : "; record more steps."});
    default:
      return concat({gate.text, ": UNPROVEN: no interval: ", std::to_string(gate.control.size()),
                     " and ", std::to_string(gate.variant.size()), " steps are too few, ",
                     std::to_string(needed), " of each needed."});
  }
}

}  // namespace assay::profile
