// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to text.hpp: the definitions of its functions.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/core/distinct.hpp>
#include <assay/measure/comparison.hpp>
#include <assay/report/format.hpp>
#include <assay/report/headline.hpp>
#include <assay/report/short_text.hpp>
#include <assay/report/table.hpp>
#include <assay/report/table_of_cells.hpp>
#include <assay/report/text.hpp>
#include <assay/report/words.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <ostream>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::report {

ASSAY_INLINE std::string repeat_line(measure::comparison const& all) {
  auto const& command = all.where.command_line;
  if (command.empty() || command.find("--seed") != std::string::npos) { return command; }
  return concat({command, " --seed ", std::to_string(all.seed)});
}

namespace detail {

inline void heading(std::ostream& out, std::string_view text) { out << '\n' << text << '\n'; }

inline void changed_line(std::ostream& out, measure::comparison const& all) {
  if (all.changed.empty()) { return; }
  std::string text = "What changed: " + all.changed;
  if (all.changed.find("confounded") != std::string::npos) {
    text += " - several axes differ at once, so no difference can be put down to one of them";
  }
  out << wrapped(text, "", "  ");
}

inline void head(std::ostream& out, measure::comparison const& all) {
  auto const& title = all.title.empty() ? std::string{"comparison"} : all.title;
  out << title << '\n' << std::string(std::min<std::size_t>(title.size(), 100), '=') << '\n';
  changed_line(out, all);
  auto const noise = largest_noise(all);
  out << wrapped(
      concat({"Margin ", setting_percent(all.margin), ", confidence ",
              setting_percent(1 - all.alpha), ", decided on the ", to_string(all.primary),
              " clock, ", std::to_string(all.epochs), " epochs in ", duration(all.seconds),
              noise > 0 ? ", noise " + percent(noise) : ""}),
      "", "  ");
  if (auto const first = headline_of(all);
      first.of == nullptr && all.failure.empty() && !all.findings.empty()) {
    out << wrapped(first.sentence, "", "  ");
  }
  if (!all.failure.empty()) { out << wrapped("Ended early: " + all.failure, "", "  "); }
  for (auto const& caveat : all.caveats) { out << wrapped(caveat, "  - ", "    "); }
}

inline void answers(std::ostream& out, std::string_view title,
                    std::vector<measure::answer> const& all) {
  if (all.empty()) { return; }
  heading(out, title);
  int number = 0;
  for (auto const& each : all) {
    out << wrapped(concat({std::to_string(++number), ". ", each.question}), "  ", "     ");
    for (auto const& line : each.lines) { out << wrapped(line, "     - ", "       "); }
  }
}

inline void verdicts(std::ostream& out, measure::comparison const& all) {
  if (auto const cells = table_of_cells(all)) {
    heading(out, "Verdicts (time against the control's; all intervals hold together)");
    cells->print(out);
    std::vector<std::string> reasons{""};
    for (auto const& each : all.findings) {
      if (!each.primary || !add_distinct(reasons, each.reason)) { continue; }
      out << wrapped(concat({each.contrast_name, ": ", each.reason}), "  ", "    ");
    }
    for (auto const& line : typical_lines(all)) { out << wrapped(line, "  ", "    "); }
    return;
  }
  heading(out, "Verdicts");
  if (all.findings.empty()) { out << "  none: nothing was compared\n"; }
  out << verdict_lines(all, "  ");
}

/// True if a secondary finding has the verdict of the primary one, and an interval that contains
/// the primary estimate.
inline bool agrees(measure::finding const& other, measure::finding const& primary) {
  return verdict_text(other) == verdict_text(primary) && other.effect.low <= primary.effect.ratio &&
         primary.effect.ratio <= other.effect.high;
}

/// One line for a secondary clock on which several findings are all INCONCLUSIVE; else empty.
inline std::string open_clock(measure::comparison const& all, measure::clock on) {
  double low = 1, high = 1;
  int count = 0;
  for (auto const& each : all.findings) {
    if (each.on != on) { continue; }
    if (each.primary || each.outcome != measure::verdict::inconclusive) { return {}; }
    ++count;
    low = std::min(low, each.effect.low);
    high = std::max(high, each.effect.high);
  }
  if (count < 2) { return {}; }
  auto const form = form_of({1, low, high});
  return concat({to_string(on), " clock: all ", std::to_string(count), " INCONCLUSIVE, within ",
                 form.text(low), " to ", form.text(high), " (--csv has each)"});
}

/// The findings on other clocks that differ from those on the primary clock.
inline void other_clocks(std::ostream& out, measure::comparison const& all) {
  table rows{{"contrast", "clock", "effect", "interval", "noise", "verdict"}, {1, 5}};
  std::string lines;
  std::vector<std::string> names, reasons{""};
  for (auto const& each : all.findings) {
    if (each.primary) { add_distinct(reasons, each.reason); }
  }
  for (auto const& first : all.findings) {
    if (!add_distinct(names, first.contrast_name)) { continue; }
    auto label = first.contrast_name;
    for (auto const& each : all.findings) {
      if (each.primary || each.contrast_name != first.contrast_name) { continue; }
      if (first.primary && agrees(each, first)) { continue; }
      if (!open_clock(all, each.on).empty()) { continue; }
      auto const timed =
          each.outcome != measure::verdict::wrong_answer && has_interval(each.effect);
      rows.add({std::exchange(label, {}), std::string{to_string(each.on)},
                timed ? effect_text(each.effect) : "", timed ? interval_text(each.effect) : "",
                timed && each.noise > 0 ? percent(each.noise) : "", verdict_text(each)});
      if (!add_distinct(reasons, each.reason)) { continue; }
      lines += wrapped(concat({each.contrast_name, " (", to_string(each.on), "): ", each.reason}),
                       "  ", "    ");
    }
  }
  for (auto const on : measure::all_clocks) {
    if (auto const line = open_clock(all, on); !line.empty()) {
      lines += wrapped(line, "  ", "    ");
    }
  }
  if (rows.empty() && lines.empty()) { return; }
  heading(out, "Other clocks, where they differ (time against the control's)");
  if (!rows.empty()) { rows.print(out); }
  out << lines;
}

inline std::string share_text(double per_second, machine::ceiling const* limit) {
  return limit != nullptr ? percent(per_second / limit->per_second, 1) : "";
}

/// The SM clocks while timing, from the slowest to the fastest variant.
inline void clocks(std::ostream& out, measure::comparison const& all) {
  auto low = std::numeric_limits<double>::infinity();
  double high = 0;
  for (auto const& each : all.variants) {
    if (!std::isfinite(each.sm_hertz)) { continue; }
    low = std::min(low, each.sm_hertz);
    high = std::max(high, each.sm_hertz);
  }
  if (low > high) { return; }
  auto const same = frequency(low) == frequency(high);
  out << "  SM clock: " << frequency(low) << (same ? "" : " to " + frequency(high)) << '\n';
}

inline void variants(std::ostream& out, measure::comparison const& all) {
  using unit = machine::ceiling::unit;
  auto const byte_limit = limit(all, unit::bytes);
  auto const flop_limit = limit(all, unit::flops);
  table rows{
      {"variant", "clock", "median", "quartiles", "bytes/s", "of limit", "FLOP/s", "of limit"},
      {1}};
  auto beyond = false;
  for (auto const& each : all.variants) {
    auto label = each.label;
    for (auto const which : measure::all_clocks) {
      auto const& seconds = each.on(which);
      if (seconds.count == 0 && std::isnan(seconds.median)) { continue; }
      auto const quartiles = concat({duration(seconds.q1), " - ", duration(seconds.q3)});
      // The submit clock does not contain the work, so a rate over it would mean nothing.
      auto const has_rate = which != measure::clock::submit && seconds.median > 0;
      auto const bytes = has_rate && each.bytes > 0 ? each.bytes / seconds.median : 0;
      auto const flops = has_rate && each.flops > 0 ? each.flops / seconds.median : 0;
      beyond = beyond || (byte_limit != nullptr && bytes > byte_limit->per_second) ||
               (flop_limit != nullptr && flops > flop_limit->per_second);
      rows.add({std::exchange(label, {}), std::string{to_string(which)}, duration(seconds.median),
                quartiles, bytes > 0 ? rate(bytes, "B") : "",
                bytes > 0 ? share_text(bytes, byte_limit) : "",
                flops > 0 ? rate(flops, "FLOP") : "",
                flops > 0 ? share_text(flops, flop_limit) : ""});
    }
    if (!label.empty()) { rows.add({label, "-", "not timed"}); }
  }
  if (rows.empty()) { return; }
  heading(out, "Variants (time per launch; submit: host time per item)");
  rows.drop_empty_columns();
  rows.print(out);
  if (beyond) {
    out << "  more than 100 % of a limit: part of the declared bytes or FLOPs never reached it, "
           "as in a cache\n";
  }
  if (byte_limit != nullptr) {
    out << "  limit: " << byte_limit->name << ", " << rate(byte_limit->per_second, "B") << '\n';
  }
  if (flop_limit != nullptr) {
    out << "  limit: " << flop_limit->name << ", " << rate(flop_limit->per_second, "FLOP") << '\n';
  }
  clocks(out, all);
  if (auto const line = results_line(all); !line.empty()) { out << wrapped(line, "  ", "    "); }
}

/// A row for each variant: quantiles of the host time of an item, and the means of its parts.
inline void submission(std::ostream& out, measure::comparison const& all) {
  table rows{{"variant", "p50", "p99", "max", "mean", "allocation", "lock", "launching"}};
  for (auto const& each : all.variants) {
    if (!each.submission) { continue; }
    auto const& profile = *each.submission;
    std::vector<std::string> row{each.label};
    for (auto const nanoseconds :
         {profile.total.p50, profile.total.p99, profile.total.max, profile.total.mean,
          profile.allocation.mean, profile.lock_wait.mean, profile.launching.mean}) {
      row.push_back(duration(nanoseconds * 1e-9));
    }
    rows.add(std::move(row));
  }
  if (rows.empty()) { return; }
  heading(out, "Submission (host time per item, of untimed batches; parts: means)");
  rows.print(out);
}

inline void memory(std::ostream& out, measure::comparison const& all) {
  table rows{
      {"variant", "allocations", "frees", "bytes", "peak", "reserved", "reused", "upstream"}};
  auto const told = [](std::optional<std::uint64_t> const& value, auto const& format) {
    return value ? format(*value) : std::string{"-"};
  };
  auto const size = [](std::uint64_t bytes) { return byte_size(static_cast<double>(bytes)); };
  for (auto const& each : all.variants) {
    if (!each.memory) { continue; }
    auto const& profile = *each.memory;
    rows.add({each.label, count(profile.allocations), count(profile.deallocations),
              size(profile.bytes), size(profile.peak_bytes), told(profile.reserved_bytes, size),
              told(profile.reused_blocks, count), told(profile.upstream_calls, count)});
  }
  if (rows.empty()) { return; }
  heading(out, "Memory (temporaries of one batch; upstream: calls that went to the driver)");
  rows.print(out);
}

inline void notes(std::ostream& out, measure::comparison const& all) {
  if (all.notes.empty()) { return; }
  heading(out, "Notes");
  for (auto const& note : all.notes) { out << wrapped(note, "  - ", "    "); }
}

/// The machine, the program and the seed of a comparison, each under its name; unknown values are
/// left out.
inline std::vector<std::pair<std::string, std::string>> environment_lines(
    measure::comparison const& all) {
  auto const& where = all.where;
  auto const join = [](std::string const& left, std::string const& right) {
    return left.empty() || right.empty() ? left + right : concat({left, ", ", right});
  };
  auto const unit = [](double value, char const* name) {
    return std::isfinite(value) ? fixed(value, 0) + name : std::string{};
  };
  auto state =
      join(join(unit(where.sm_clock_mhz, " MHz SM"), unit(where.memory_clock_mhz, " MHz memory")),
           join(unit(where.power_watts, " W"), unit(where.temperature_celsius, " C")));
  std::string reasons;
  for (auto const& reason : where.throttle_reasons) { reasons = join(reasons, reason); }
  auto const software = join(join(where.driver.empty() ? "" : "driver " + where.driver,
                                  where.toolkit.empty() ? "" : "toolkit " + where.toolkit),
                             where.compiler);
  auto const threads =
      where.host_threads > 0 ? std::to_string(where.host_threads) + " threads" : "";
  std::vector<std::pair<std::string, std::string>> lines{{"device", where.device},
                                                         {"state", state},
                                                         {"throttled", reasons},
                                                         {"software", software},
                                                         {"host", join(where.host_cpu, threads)},
                                                         {"commit", where.commit},
                                                         {"started", where.started_at},
                                                         {"seed", std::to_string(all.seed)},
                                                         {"repeat", repeat_line(all)}};
  std::erase_if(lines, [](auto const& each) { return each.second.empty(); });
  return lines;
}

inline void environment(std::ostream& out, measure::comparison const& all) {
  heading(out, "Environment");
  for (auto const& [name, value] : environment_lines(all)) {
    auto const title = concat({"  ", name, std::string(12 - name.size(), ' ')});
    out << wrapped(value, title, std::string(14, ' '));
  }
}

}  // namespace detail

ASSAY_INLINE void text(std::ostream& out, measure::comparison const& all) {
  detail::head(out, all);
  detail::answers(out, "Answers", all.answers);
  detail::verdicts(out, all);
  detail::other_clocks(out, all);
  detail::variants(out, all);
  detail::submission(out, all);
  detail::memory(out, all);
  detail::notes(out, all);
  detail::environment(out, all);
  detail::answers(out, "Why", all.reasons);
}

ASSAY_INLINE void text(std::ostream& out, measure::comparison const& all, std::size_t most_lines) {
  std::ostringstream whole;
  text(whole, all);
  out << excerpt(whole.str(), most_lines, "--full",
                 {"Verdicts", "Answers", "Why", "Other clocks", "Variants", "Environment"});
}

}  // namespace assay::report

namespace assay {

ASSAY_INLINE full_report full(comparison const& found) { return {found}; }

ASSAY_INLINE std::ostream& operator<<(std::ostream& out, full_report const& all) {
  report::text(out, all.of);
  return out;
}

}  // namespace assay
