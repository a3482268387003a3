// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to csv.hpp: the definitions of its functions.
#pragma once

#include <assay/core/csv.hpp>
#include <assay/measure/comparison.hpp>
#include <assay/report/csv.hpp>
#include <assay/report/words.hpp>

#include <cstddef>
#include <limits>
#include <ostream>
#include <string>
#include <string_view>

namespace assay::report::csv {

ASSAY_INLINE void findings(std::ostream& out, measure::comparison const& all) {
  out << "contrast,clock,primary,verdict,exceeds_margin,ratio,low,high,confidence,noise,"
         "epochs_needed,reason,sentence,typical_ratio\n";
  for (auto const& each : all.findings) {
    assay::csv::record(out, std::string_view{each.contrast_name}, to_string(each.on), each.primary,
                       to_string(each.outcome), each.exceeds_margin, each.effect.ratio,
                       each.effect.low, each.effect.high, each.effect.confidence, each.noise,
                       each.epochs_needed, std::string_view{each.reason},
                       std::string_view{sentence(each, all)}, each.typical_ratio);
  }
}

ASSAY_INLINE void variants(std::ostream& out, measure::comparison const& all) {
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
      return each.memory ? assay::csv::field((*each.memory).*member) : std::string{};
    };
    using profile = measure::memory_profile;
    for (auto const which : measure::all_clocks) {
      auto const& seconds = each.on(which);
      assay::csv::fields(out, std::string_view{each.label}, to_string(which), seconds.median,
                         seconds.q1, seconds.q3, seconds.min, seconds.max, seconds.count,
                         each.sm_hertz, each.bytes, each.flops);
      for (auto const& part :
           {submission.total, submission.allocation, submission.lock_wait, submission.launching}) {
        out << ',';
        assay::csv::fields(out, part.p50, part.p99, part.max, part.mean);
      }
      for (auto const& text :
           {memory(&profile::allocations), memory(&profile::deallocations), memory(&profile::bytes),
            memory(&profile::peak_bytes), memory(&profile::reserved_bytes),
            memory(&profile::reused_blocks), memory(&profile::upstream_calls)}) {
        out << ',' << text;
      }
      out << ',';
      assay::csv::fields(out, each.slow_share, each.slow_seconds,
                         each.results ? to_string(*each.results) : std::string_view{});
      out << '\n';
    }
  }
}

ASSAY_INLINE void cells(std::ostream& out, measure::comparison const& all) {
  out << "variant,clock,cell,seconds\n";
  for (auto const& each : all.variants) {
    for (auto const which : measure::all_clocks) {
      auto const& values = each.cells[static_cast<std::size_t>(which)];
      for (std::size_t i = 0; i < values.size(); ++i) {
        assay::csv::record(out, std::string_view{each.label}, to_string(which), i, values[i]);
      }
    }
  }
}

}  // namespace assay::report::csv
