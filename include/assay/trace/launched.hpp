// SPDX-License-Identifier: Apache-2.0
/// @file
/// Which device work was launched inside which range.
#pragma once

#include <assay/trace/model.hpp>
#include <assay/trace/work.hpp>

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <vector>

namespace assay::trace {

/// Whether a range is a span of one thread, so that calls can be inside it: no mark, and none that
/// another thread ended.
inline bool on_one_thread(range_record const& range) noexcept {
  return range.style != range_style::mark &&
         (range.end_thread == thread_key{} || range.end_thread == range.thread);
}

/// The device work of a trace in the order of the calls that asked for it, thread by thread. Work
/// whose call is not in the trace is in no range.
class launched_work {
 public:
  launched_work(model const& of, std::vector<work> const& all) {
    call_index const calls{of};
    entries_.reserve(all.size());
    for (auto const& each : all) {
      auto const call = calls.find(place_of(of, each));
      if (call == no_row) { continue; }
      entries_.push_back({of.calls[call].thread, of.calls[call].when, each});
    }
    auto const before = [](entry const& a, entry const& b) {
      return std::tuple{a.thread, a.call.begin, a.what.when.begin} <
             std::tuple{b.thread, b.call.begin, b.what.when.begin};
    };
    if (!std::is_sorted(entries_.begin(), entries_.end(), before)) {
      std::sort(entries_.begin(), entries_.end(), before);
    }
  }

  /// Calls `visit(work)` for all that was launched by calls of the range's thread that lie wholly
  /// inside the range. O(log n) and the number of these.
  template <class Visit>
  void inside(range_record const& range, Visit&& visit) const {
    if (!on_one_thread(range)) { return; }
    auto at = std::lower_bound(entries_.begin(), entries_.end(), range,
                               [](entry const& each, range_record const& wanted) {
                                 return std::tuple{each.thread, each.call.begin} <
                                        std::tuple{wanted.thread, wanted.when.begin};
                               });
    for (; at != entries_.end() && at->thread == range.thread && at->call.begin <= range.when.end;
         ++at) {
      if (at->call.end <= range.when.end) { visit(at->what); }
    }
  }

 private:
  struct entry {
    thread_key thread;
    span call;
    work what;
  };
  std::vector<entry> entries_;
};

}  // namespace assay::trace
