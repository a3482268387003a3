// SPDX-License-Identifier: Apache-2.0
/// @file
/// `add_ranges`: the recorded NVTX ranges as rows of a `model`.
#pragma once

#include <assay/core/range_log.hpp>
#include <assay/trace/model.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace assay::trace {

/// Adds a recording's ranges and thread names to a trace. `epoch_ns` and `window` of the trace must
/// be set. A range that is open at the end of the recording ends with the window. Notes and losses
/// count dropped ranges, and ends of ranges that began before the recording.
inline void add_ranges(model& into, range_recording const& recording) {
  auto const process = static_cast<std::uint32_t>(::getpid());
  std::vector<string_id> domains;
  for (auto const& name : recording.domains) { domains.push_back(into.strings.intern(name)); }
  auto const first = into.ranges.size();
  std::unordered_map<std::uint64_t, std::size_t> started;  // rows by the id of a `start_end`
  std::uint64_t began_before = 0;
  auto const since_epoch = [&](std::int64_t at) { return at - into.epoch_ns; };

  for (auto const& thread : recording.threads) {
    thread_key const who{process, thread.thread};
    began_before += thread.began_before;
    for (auto const& range : thread.ranges) {
      range_record row;
      row.when = {since_epoch(range.begin), since_epoch(range.ended() ? range.end : range.begin)};
      row.thread = row.end_thread = who;
      row.domain = domains.at(range.domain);
      row.name = into.strings.intern(range.name);
      row.category = range.category;
      row.argb = range.argb;
      row.payload = range.payload;
      row.ended = range.ended();
      row.style = range.what;
      if (row.style == range_style::start_end) { started.emplace(range.id, into.ranges.size()); }
      into.ranges.push_back(row);
    }
  }
  for (auto const& thread : recording.threads) {
    for (auto const& [id, at] : thread.ended_ids) {
      auto const start = started.find(id);
      if (start == started.end()) {
        ++began_before;
        continue;
      }
      auto& row = into.ranges[start->second];
      row.when.end = since_epoch(at);
      row.end_thread = {process, thread.thread};
      row.ended = true;
    }
  }

  std::uint64_t open_at_end = 0;
  for (auto row = first; row < into.ranges.size(); ++row) {
    auto& each = into.ranges[row];
    if (each.ended) { continue; }
    each.when.end = std::max(each.when.begin, into.window.end);
    ++open_at_end;
  }
  for (auto const& [thread, name] : recording.thread_names) {
    into.threads.push_back({{process, thread}, into.strings.intern(name)});
  }
  into.lost.dropped += recording.dropped;
  auto const note = [&](char const* what, std::uint64_t count) {
    if (count != 0) { into.notes.emplace_back(what, std::to_string(count)); }
  };
  note("ranges open when the recording began, left out", began_before);
  note("ranges open when the recording ended", open_at_end);
  note("ranges dropped, since their memory was full", recording.dropped);
}

}  // namespace assay::trace
