// SPDX-License-Identifier: Apache-2.0
/// @file
/// A comparison as three CSV tables: findings, variants, and every cell. Quoting as in RFC 4180,
/// with plain line ends; a number that is not finite is an empty field.
#pragma once

#include <assay/measure/comparison.hpp>
#include <assay/report/words.hpp>

#include <array>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>

namespace assay::report::csv {

/// A text field, with quotes and doubled quotes only where RFC 4180 needs them.
inline std::string field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) { return std::string{text}; }
  std::string quoted = "\"";
  for (char const each : text) { quoted.append(each == '"' ? 2 : 1, each); }
  return quoted + '"';
}

/// The shortest digits that read back as the same number, whatever the locale.
inline std::string field(double value) {
  if (!std::isfinite(value)) { return {}; }
  std::array<char, 32> text{};
  auto const end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}

template <std::integral T>
requires(!std::same_as<T, bool>)
std::string field(T value) {
  return std::to_string(value);
}

inline std::string field(bool value) { return value ? "true" : "false"; }

template <class T>
std::string field(std::optional<T> const& value) {
  return value ? field(*value) : std::string{};
}

/// Writes fields with commas between them.
template <class... Fields>
void fields(std::ostream& out, Fields const&... all) {
  auto separator = "";
  ((out << separator << field(all), separator = ","), ...);
}

/// Writes one record.
template <class... Fields>
void record(std::ostream& out, Fields const&... all) {
  fields(out, all...);
  out << '\n';
}

/// One record per finding; ratios, not percentages.
inline void findings(std::ostream& out, measure::comparison const& all) {
  out << "contrast,clock,primary,verdict,exceeds_margin,ratio,low,high,confidence,noise,"
         "epochs_needed,reason,sentence,typical_ratio\n";
  for (auto const& each : all.findings) {
    record(out, std::string_view{each.contrast_name}, to_string(each.on), each.primary,
           to_string(each.outcome), each.exceeds_margin, each.effect.ratio, each.effect.low,
           each.effect.high, each.effect.confidence, each.noise, each.epochs_needed,
           std::string_view{each.reason}, std::string_view{sentence(each, all)},
           each.typical_ratio);
  }
}

/// One record per variant and clock, with its profiles repeated; seconds per launch, nanoseconds
/// per item, bytes.
inline void variants(std::ostream& out, measure::comparison const& all) {
  out << "variant,clock,median,q1,q3,min,max,count,sm_hertz,bytes,flops";
  for (auto const part : {"total", "allocation", "lock_wait", "launching"}) {
    for (auto const quantile : {"p50", "p99", "max", "mean"}) {
      out << ',' << part << '_' << quantile << "_ns";
    }
  }
  out << ",allocations,deallocations,allocated_bytes,peak_bytes,reserved_bytes,reused_blocks,"
         "upstream_calls,slow_share,slow_seconds,results\n";
  constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  constexpr measure::latency none{unknown, unknown, unknown, unknown};
  for (auto const& each : all.variants) {
    auto const submission =
        each.submission.value_or(measure::submission_profile{none, none, none, none});
    auto const memory = [&](auto member) {
      return each.memory ? field((*each.memory).*member) : std::string{};
    };
    using profile = measure::memory_profile;
    for (auto const which : measure::all_clocks) {
      auto const& seconds = each.on(which);
      fields(out, std::string_view{each.label}, to_string(which), seconds.median, seconds.q1,
             seconds.q3, seconds.min, seconds.max, seconds.count, each.sm_hertz, each.bytes,
             each.flops);
      for (auto const& part :
           {submission.total, submission.allocation, submission.lock_wait, submission.launching}) {
        out << ',';
        fields(out, part.p50, part.p99, part.max, part.mean);
      }
      for (auto const& text :
           {memory(&profile::allocations), memory(&profile::deallocations), memory(&profile::bytes),
            memory(&profile::peak_bytes), memory(&profile::reserved_bytes),
            memory(&profile::reused_blocks), memory(&profile::upstream_calls)}) {
        out << ',' << text;
      }
      out << ',';
      fields(out, each.slow_share, each.slow_seconds,
             each.results ? to_string(*each.results) : std::string_view{});
      out << '\n';
    }
  }
}

/// One record per cell, for statistics of one's own.
inline void cells(std::ostream& out, measure::comparison const& all) {
  out << "variant,clock,cell,seconds\n";
  for (auto const& each : all.variants) {
    for (auto const which : measure::all_clocks) {
      auto const& values = each.cells[static_cast<std::size_t>(which)];
      for (std::size_t i = 0; i < values.size(); ++i) {
        record(out, std::string_view{each.label}, to_string(which), i, values[i]);
      }
    }
  }
}

}  // namespace assay::report::csv
