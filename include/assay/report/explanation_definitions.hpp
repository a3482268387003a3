// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to explanation.hpp: the definitions of its functions.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/measure/comparison.hpp>
#include <assay/report/explanation.hpp>
#include <assay/report/format.hpp>
#include <assay/report/table.hpp>
#include <assay/report/trace_words.hpp>
#include <assay/trace/bound.hpp>
#include <assay/trace/explanation.hpp>
#include <assay/trace/labels.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace assay::report {

namespace detail {

inline std::string quantity_text(trace::quantity of, double value) {
  return of == trace::quantity::time_per_launch_cost ? fixed(value, 1) : percent(value, 1);
}

/// `DRAM throughput 85.0 %, at least 80.0 %`: a number that meets its condition.
inline std::string met_text(trace::condition const& asked, double value) {
  return concat({to_string(asked.of), " ", quantity_text(asked.of, value),
                 asked.at_least ? ", at least " : ", at most ",
                 quantity_text(asked.of, asked.threshold)});
}

}  // namespace detail

ASSAY_INLINE std::string bound_sentence(trace::work_bound const& of) {
  auto const unclear = of.limit == trace::bound::unclear;
  auto text = unclear ? "no clear bound" : std::string{to_string(of.limit)} + " bound";
  text += ": " + of.reason;
  std::string numbers;
  for (auto const& each : of.because) {
    numbers += (numbers.empty() ? "" : "; ") + detail::met_text(each.asked, each.value);
  }
  return numbers.empty() ? text : concat({text, " (", numbers, ")"});
}

namespace detail {

/// The difference to account for, in a sentence; empty if the difference is unknown.
inline std::string difference_text(trace::explanation const& of) {
  auto const& time = of.time;
  if (std::isnan(time.ns)) { return {}; }
  auto text =
      concat({"A batch takes ", nanoseconds(std::abs(time.ns)), time.ns < 0 ? " less" : " more",
              " with ", of.variant.label, " than with ", of.control.label});
  if (!std::isnan(time.low_ns) && !std::isnan(time.high_ns)) {
    text += concat({" [", signed_time(time.low_ns), ", ", signed_time(time.high_ns), "]"});
  }
  if (!time.from.empty()) { text += ", by " + time.from; }
  return text + ".";
}

/// How long batches take with a tracer and without, in a sentence; empty where that is unknown.
inline std::string tracing_text(trace::explanation const& of) {
  std::string text, distorted;
  for (auto const* side : {&of.control, &of.variant}) {
    auto const cost = trace::tracing_cost_of(*side);
    if (std::isnan(cost.share())) { return {}; }
    text += concat({text.empty() ? "A batch takes " : ", ", nanoseconds(cost.traced_ns),
                    " traced and ", nanoseconds(cost.untraced_ns), " untraced with ", side->label});
    if (cost.distorts()) { distorted += (distorted.empty() ? "" : " and ") + side->label; }
  }
  if (distorted.empty()) { return text + "."; }
  return concat({text, "; tracing adds more than 20 % to ", distorted,
                 ", so shares are those of traced runs, and no bound is read from them."});
}

/// A sentence on sides whose batches take another time than in the comparison, untraced ones or
/// traced ones alone; empty where there is none.
inline std::string other_time_text(trace::explanation const& of, bool untraced) {
  std::string text;
  for (auto const* side : {&of.control, &of.variant}) {
    auto const cost = trace::tracing_cost_of(*side);
    auto const traced_alone = cost.traced_differ() && !cost.untraced_differ() && !cost.distorts();
    if (!(untraced ? cost.untraced_differ() : traced_alone)) { continue; }
    auto const ratio = (untraced ? cost.untraced_ns : cost.traced_ns) / cost.compared_ns;
    text += concat(
        {text.empty() ? "" : ", and ", fixed(ratio, 2), " times as long with ", side->label});
  }
  if (text.empty()) { return text; }
  return concat(
      {untraced ? "Between traced batches, untraced ones take " : "Traced batches take ", text,
       " as in the comparison: the reasons are those of such batches, and no bound is read "
       "from their shares."});
}

/// The host time of an item and its parts, in a sentence; empty if there is no profile.
inline std::string host_split_text(trace::explanation const& of) {
  if (!of.control.submission || !of.variant.submission) { return {}; }
  using measure::submission_profile;
  auto const mean = [&](measure::latency submission_profile::*part) {
    return std::pair{((*of.control.submission).*part).mean, ((*of.variant.submission).*part).mean};
  };
  auto const total = mean(&submission_profile::total);
  auto const delta = total.second - total.first;
  auto text = concat({"An item costs the host ", nanoseconds(total.first), " -> ",
                      nanoseconds(total.second), " (", signed_time(delta), "): "});
  using part = std::pair<char const*, measure::latency submission_profile::*>;
  bool first = true;
  for (auto const& [name, member] : {part{"allocation", &submission_profile::allocation},
                                     part{"lock waiting", &submission_profile::lock_wait},
                                     part{"launching", &submission_profile::launching}}) {
    auto const [before, after] = mean(member);
    text += concat({std::string{first ? "" : ", "}, name, " ", nanoseconds(before), " -> ",
                    nanoseconds(after), " (", signed_time(after - before)});
    auto const share = delta == 0 ? trace::ceilings::unknown : (after - before) / delta;
    text +=
        (std::abs(share) <= 1 ? ", " + percent(share, 0) : "") + ")";  // not one above the whole
    first = false;
  }
  return text + ".";
}

/// The bound of a variant with the number that decides it, or why there is none.
inline std::string counters_text(trace::variant_evidence const& of) {
  if (of.limits) {
    auto const& found = *of.limits;
    if (found.because.empty()) {
      auto const* const has = found.limit == trace::bound::unclear ? " has " : " is ";
      return concat({of.label, has, bound_sentence(found), "."});
    }
    auto const& first = found.because.front();
    return concat({of.label, " is ", to_string(found.limit),
                   " bound: ", met_text(first.asked, first.value), "."});
  }
  if (of.counters && !of.counters->status) {
    return concat({"No hardware counters of ", of.label, ": ", of.counters->status.line(), "."});
  }
  return {};
}

inline std::string figure_text(trace::metric_pair const& of, double value) {
  using enum trace::metric_pair::unit;
  if (std::isnan(value)) { return "-"; }
  switch (of.of) {
    case seconds:
      return duration(value);
    case count:
      return report::count(static_cast<std::uint64_t>(value));
    case number:
      return fixed(value, 2);
    case bytes:
      return byte_size(value);
    case bytes_per_second:
      return rate(value, "B");
    case share:
      return percent(value, 1);
  }
  return "-";
}

inline std::string change_of(trace::metric_pair const& of) {
  if (std::isnan(of.control) || std::isnan(of.variant)) { return "-"; }
  if (of.control == of.variant) { return ""; }
  if (of.of == trace::metric_pair::unit::share) {
    return signed_percent(of.variant - of.control, 1) + " points";
  }
  if (of.control == 0) { return "new"; }
  return report::change_text(of.variant / of.control, 1);
}

}  // namespace detail

ASSAY_INLINE std::vector<std::string> sentences(trace::explanation const& of, std::size_t most) {
  std::vector<std::string> lines;
  auto const add = [&](std::string text) {
    if (!text.empty()) { lines.push_back(std::move(text)); }
  };
  add(detail::difference_text(of));
  if (!std::isnan(of.time.low_ns) && !of.time.resolved()) {
    add("That may be none at all: the interval includes zero.");
  }
  if (!of.untraced.empty()) {
    add(concat({"No trace tells why: ", of.untraced, "."}));
    add(detail::host_split_text(of));
  } else {
    for (auto& each : sentences(of.changes, "batches of each in turn", most, of.kernels)) {
      add(std::move(each));
    }
    add(detail::tracing_text(of));
    add(detail::other_time_text(of, true));
    add(detail::other_time_text(of, false));
  }
  auto const control = detail::counters_text(of.control);
  auto const variant = detail::counters_text(of.variant);
  auto const same_obstacle = of.control.counters && of.variant.counters &&
                             !of.control.counters->status &&
                             of.control.counters->status == of.variant.counters->status;
  if (same_obstacle) {
    add(concat({"No hardware counters: ", of.control.counters->status.line(), "."}));
  } else {
    add(control);
    add(variant);
  }
  for (auto const& note : of.notes) { add(concat({"Lacking: ", note, "."})); }
  return lines;
}

ASSAY_INLINE measure::answer reason(trace::explanation const& of, std::size_t most) {
  return {concat({"Why does ", of.variant.label, " differ from ", of.control.label, "?"}),
          sentences(of, most)};
}

ASSAY_INLINE void text(std::ostream& out, trace::explanation const& of) {
  auto const why = reason(of);
  out << '\n' << wrapped(why.question, "", "  ");
  for (auto const& line : why.lines) { out << wrapped(line, "  - ", "    "); }
  table rows{{"figure of a batch", "control", "variant", "change"}};
  for (auto const& each : of.metrics) {
    rows.add({std::string{each.name}, detail::figure_text(each, each.control),
              detail::figure_text(each, each.variant), detail::change_of(each)});
  }
  if (!rows.empty()) { rows.print(out); }
}

}  // namespace assay::report

namespace assay::trace {

ASSAY_INLINE std::ostream& operator<<(std::ostream& out, explanation const& of) {
  assay::report::text(out, of);  // `trace::report` is a type
  return out;
}

}  // namespace assay::trace
