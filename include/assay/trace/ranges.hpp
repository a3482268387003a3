// SPDX-License-Identifier: Apache-2.0
/// @file
/// From what `range_log` noted to the ranges of a `model`; traces of ranges alone, without CUDA.
#pragma once

#include <assay/core/range_log.hpp>
#include <assay/trace/model.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace assay::trace {

/// Adds a recording's ranges and thread names to a trace whose `epoch_ns` and `window` are set.
/// Ranges that were open at its end end with the window; the ends of those that were open at its
/// beginning, and drops, are counted in the notes and losses.
inline void add_ranges(model& into, range_recording const& recording) {
  auto const process = static_cast<std::uint32_t>(::getpid());
  std::vector<string_id> domains;
  for (auto const& name : recording.domains) { domains.push_back(into.strings.intern(name)); }
  auto const first = into.ranges.size();
  std::unordered_map<std::uint64_t, std::size_t> started;  // rows by the id of `start`
  std::vector<std::pair<range_event, thread_key>> ends;    // on any thread, so matched last
  auto began_before = recording.began_before;

  for (auto const& thread : recording.threads) {
    thread_key const who{process, thread.thread};
    std::map<std::uint32_t, std::vector<std::size_t>> open;  // rows by domain
    thread.each([&](range_event const& event) {
      auto const at = event.at - into.epoch_ns;
      if (event.what == range_event::kind::pop) {
        auto& stack = open[event.domain];
        if (stack.empty()) {
          ++began_before;
          return;
        }
        auto& row = into.ranges[stack.back()];
        row.when.end = at;
        row.ended = true;
        stack.pop_back();
        return;
      }
      if (event.what == range_event::kind::end) {
        ends.emplace_back(event, who);
        return;
      }
      range_record row;
      row.when = {at, at};
      row.thread = row.end_thread = who;
      row.domain = domains.at(event.domain);
      row.name = into.strings.intern(event.name);
      row.category = event.category;
      row.argb = event.argb;
      row.payload = event.payload;
      row.ended = false;
      if (event.what == range_event::kind::push) {
        row.style = range_style::push_pop;
        open[event.domain].push_back(into.ranges.size());
      } else if (event.what == range_event::kind::start) {
        row.style = range_style::start_end;
        started.emplace(event.id, into.ranges.size());
      } else {
        row.style = range_style::mark;
        row.ended = true;
      }
      into.ranges.push_back(row);
    });
  }
  for (auto const& [event, who] : ends) {
    auto const start = started.find(event.id);
    if (start == started.end()) {
      ++began_before;
      continue;
    }
    auto& row = into.ranges[start->second];
    row.when.end = event.at - into.epoch_ns;
    row.end_thread = who;
    row.ended = true;
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

/// A trace of the ranges alone, while `work()` ran: of assay's own, and of other code in the
/// program where `trace/nvtx_hook.hpp` is included. Throws what `work` throws, and
/// `std::logic_error` when ranges are being recorded already.
template <class Work>
model record_ranges(Work&& work, std::size_t most_bytes = std::size_t{256} << 20U) {
  model made;
  made.source = "assay ranges";
  range_log::start(most_bytes);
  made.epoch_ns = realtime_ns();
  try {
    std::forward<Work>(work)();
  } catch (...) {
    range_log::stop();
    throw;
  }
  made.window.end = realtime_ns() - made.epoch_ns;
  add_ranges(made, range_log::stop());
  return made;
}

}  // namespace assay::trace
