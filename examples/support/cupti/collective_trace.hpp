// SPDX-License-Identifier: Apache-2.0
/// @file
/// Traces of what several devices do together, where the build has CUPTI.
#pragma once

#include "../strategy_rows.hpp"

#include <assay/report/file.hpp>
#include <assay/trace/chrome.hpp>
#include <assay/trace/recorder.hpp>

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>

namespace assay::examples {

/// Refuses a prefix at which no file can be written, before the run.
inline void require_traceable(std::string const& prefix) {
  if (prefix.empty()) { return; }
  try {
    report::require_writable(prefix + ".json");
  } catch (report::file_error const& error) {
    throw std::invalid_argument(std::string{error.what()} + "; choose another --trace");
  }
}

/// The trace of `work`, which runs `operations` all-reduces over all ranks and blocks; written to
/// PREFIX.VARIANT.json and summed up. Run twice: the first loads what the tracer needs.
template <class Work>
launch_row trace_launches(std::string const& prefix, std::string variant, std::size_t operations,
                          Work const& work) {
  (void)trace::record({}, work);
  auto const made = trace::record({}, work);
  auto file = variant;
  std::replace_if(
      file.begin(), file.end(), [](char each) { return each == ' ' || each == ',' || each == '/'; },
      '-');
  trace::write_chrome(made, prefix + "." + file + ".json");
  return launches_of(made, std::move(variant), operations);
}

}  // namespace assay::examples
