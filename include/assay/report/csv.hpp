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
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>

namespace assay::report::csv {

/// A field: quoted, with its quotes doubled, only where it has to be.
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

/// Writes one record.
template <class... Fields>
void record(std::ostream& out, Fields const&... fields) {
  auto separator = "";
  ((out << separator << field(fields), separator = ","), ...);
  out << '\n';
}

/// One record per finding; ratios, not percentages.
template <class Traits>
void findings(std::basic_ostream<char, Traits>& out, measure::comparison const& all) {
  out << "contrast,clock,primary,verdict,exceeds_margin,ratio,low,high,confidence,noise,"
         "epochs_needed,reason,sentence\n";
  for (auto const& each : all.findings) {
    record(out, std::string_view{each.contrast_name}, to_string(each.on), each.primary,
           to_string(each.outcome), each.exceeds_margin, each.effect.ratio, each.effect.low,
           each.effect.high, each.effect.confidence, each.noise, each.epochs_needed,
           std::string_view{each.reason}, std::string_view{sentence(each, all)});
  }
}

/// One record per variant and clock, with its profiles repeated; seconds per launch, nanoseconds
/// per item, bytes.
template <class Traits>
void variants(std::basic_ostream<char, Traits>& out, measure::comparison const& all) {
  out << "variant,clock,median,q1,q3,min,max,count,sm_hertz,bytes,flops";
  for (auto const part : {"total", "allocation", "lock_wait", "launching"}) {
    for (auto const quantile : {"p50", "p99", "max", "mean"}) {
      out << ',' << part << '_' << quantile << "_ns";
    }
  }
  out << ",allocations,deallocations,allocated_bytes,peak_bytes,reserved_bytes,reused_blocks,"
         "upstream_calls\n";
  for (auto const& each : all.variants) {
    for (auto const which : measure::all_clocks) {
      auto const& seconds = each.on(which);
      out << field(std::string_view{each.label}) << ',' << to_string(which) << ',';
      for (auto const value : {seconds.median, seconds.q1, seconds.q3, seconds.min, seconds.max}) {
        out << field(value) << ',';
      }
      out << field(seconds.count) << ',' << field(each.sm_hertz) << ',' << field(each.bytes) << ','
          << field(each.flops);
      auto const& submission = each.submission;
      for (auto const part :
           {&measure::submission_profile::total, &measure::submission_profile::allocation,
            &measure::submission_profile::lock_wait, &measure::submission_profile::launching}) {
        for (auto const quantile : {&measure::latency::p50, &measure::latency::p99,
                                    &measure::latency::max, &measure::latency::mean}) {
          out << ',' << (submission ? field((*submission).*part.*quantile) : "");
        }
      }
      auto const& memory = each.memory;
      for (auto const value :
           {&measure::memory_profile::allocations, &measure::memory_profile::deallocations,
            &measure::memory_profile::bytes, &measure::memory_profile::peak_bytes}) {
        out << ',' << (memory ? field((*memory).*value) : "");
      }
      for (auto const value :
           {&measure::memory_profile::reserved_bytes, &measure::memory_profile::reused_blocks,
            &measure::memory_profile::upstream_calls}) {
        out << ',' << (memory ? field((*memory).*value) : "");
      }
      out << '\n';
    }
  }
}

/// One record per cell: what was measured, for one's own statistics.
template <class Traits>
void cells(std::basic_ostream<char, Traits>& out, measure::comparison const& all) {
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
