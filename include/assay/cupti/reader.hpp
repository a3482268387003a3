// SPDX-License-Identifier: Apache-2.0
/// @file
/// `cupti_reader`: turns CUPTI's activity records into a `model`. Internal to recorder.hpp.
#pragma once

#include <assay/cupti/records.hpp>
#include <assay/trace/labels.hpp>
#include <assay/trace/model.hpp>

#include <cupti.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace assay::trace {

/// Turns records into rows, one by one and in any order. Not safe for use from several threads.
///
/// Names are kept by their text; each kernel name is demangled once. `call_name` tells what a
/// callback id is called (null: unknown). Rows beyond `most_rows` are dropped and counted.
class cupti_reader {
 public:
  using call_name = std::function<char const*(CUpti_CallbackDomain, CUpti_CallbackId)>;

  /// `epoch_ns` as in the model. On Linux, stamps of CUPTI are of the system's clock.
  cupti_reader(std::int64_t epoch_ns, call_name name_of_call, std::size_t most_rows)
      : name_of_call_(std::move(name_of_call)), rows_left_(most_rows) {
    made_.epoch_ns = epoch_ns;
  }

  /// Reads one record and frees the memory that the record owns.
  void read(CUpti_Activity const& record) {
    add(record);
    cupti::release(record);
  }

  /// Counts a record without reading, and frees the memory that the record owns.
  void drop(CUpti_Activity const& record) {
    ++made_.lost.dropped;
    cupti::release(record);
  }
  void drop(std::uint64_t count) { made_.lost.dropped += count; }

  /// The trace of all records that were read. `window` is the time of the recording; an operation
  /// that was launched inside may end until `latest`, and the window is then extended.
  ///
  /// Rows outside are left out and counted, but for the tracer's own work after the window.
  /// `calls_complete`: all API calls were recorded, so operations without a call are counted.
  model finish(span window, std::int64_t latest, bool calls_complete) {
    // Stamps of devices are interpolated, and may miss by some microseconds.
    constexpr std::int64_t slack = 100'000;
    auto const outside = [&](auto const& row) {
      return row.when.end < window.begin - slack || row.when.begin > latest + slack;
    };
    auto const counted = [&](bool is_outside) {
      made_.lost.out_of_window += is_outside ? 1 : 0;
      return is_outside;
    };
    auto const host_work = [&, stopped = window.end](auto const& row) {
      return !counted(outside(row)) && row.when.begin <= stopped;
    };
    keep_rows(made_.calls, host_work);
    keep_rows(made_.synchronizations, host_work);
    keep_rows(made_.overheads, [&, stopped = window.end](overhead const& row) {
      return !outside(row) && row.when.begin <= stopped;
    });
    each_device_table(made_, [&](auto& rows) {
      keep_rows(rows, [&](auto const& row) {
        if (counted(outside(row))) { return false; }
        window.end = std::max(window.end, row.when.end);
        return true;
      });
    });
    keep_rows(made_.memory, [&](memory_event const& event) {
      return !counted(event.at < window.begin - slack || event.at > latest + slack);
    });
    made_.window = window;

    auto const settle_all = [this](auto& rows) {
      for (auto& each : rows) { settle(each.where); }
    };
    each_device_table(made_, settle_all);
    settle_all(made_.synchronizations);
    settle_all(made_.memory);
    std::unordered_map<std::uint32_t, thread_key> threads;
    threads.reserve(made_.calls.size());
    for (auto const& call : made_.calls) { threads.emplace(call.correlation, call.thread); }
    for (auto& event : made_.memory) {
      if (auto const call = threads.find(event.where.correlation); call != threads.end()) {
        event.thread = call->second;
      }
    }
    if (calls_complete) {
      each_device_table(made_, [&](auto const& rows) {
        for (auto const& row : rows) {
          made_.lost.unmatched += threads.contains(row.where.correlation) ? 0U : 1U;
        }
      });
    }
    return std::exchange(made_, {});
  }

 private:
  template <class Record>
  static Record const& as(CUpti_Activity const& record) noexcept {
    return reinterpret_cast<Record const&>(record);
  }

  void add(CUpti_Activity const& record) {
    switch (record.kind) {
      case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      case CUPTI_ACTIVITY_KIND_KERNEL:
        return add(as<cupti::kernel>(record));
      case CUPTI_ACTIVITY_KIND_MEMCPY:
        return (void)filled(made_.copies, as<cupti::copy>(record));
      case CUPTI_ACTIVITY_KIND_MEMCPY2:
        return (void)filled(made_.copies, as<cupti::peer_copy>(record));
      case CUPTI_ACTIVITY_KIND_MEMSET:
        return (void)filled(made_.memsets, as<cupti::memset>(record));
      case CUPTI_ACTIVITY_KIND_RUNTIME:
        return add(as<cupti::call>(record), api::runtime);
      case CUPTI_ACTIVITY_KIND_DRIVER:
        return add(as<cupti::call>(record), api::driver);
      case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
        return (void)filled(made_.synchronizations, as<cupti::sync>(record));
      case CUPTI_ACTIVITY_KIND_OVERHEAD:
        return add(as<cupti::overhead>(record));
      case CUPTI_ACTIVITY_KIND_MEMORY2:
        return add(as<cupti::memory>(record));
      case CUPTI_ACTIVITY_KIND_DEVICE:
        return add(as<cupti::device>(record));
      case CUPTI_ACTIVITY_KIND_CONTEXT:
        return add(as<cupti::context>(record));
      default:
        return;
    }
  }

  std::int64_t time(std::uint64_t stamp) const noexcept {
    return static_cast<std::int64_t>(stamp) - made_.epoch_ns;
  }
  /// A new row with these stamps; null without a time (an unfinished record has no end) or room.
  template <class Row>
  Row* row(std::vector<Row>& rows, std::uint64_t begin, std::uint64_t end) {
    if (begin == 0 || end < begin) {
      ++made_.lost.zero_stamped;
      return nullptr;
    }
    auto* const made = row(rows);
    if (made != nullptr) { made->when = {time(begin), time(end)}; }
    return made;
  }
  template <class Row>
  Row* row(std::vector<Row>& rows) {
    if (rows_left_ == 0) {
      ++made_.lost.dropped;
      return nullptr;
    }
    --rows_left_;
    return &rows.emplace_back();
  }

  /// The row of a record that has both times.
  template <class Row, class Record>
  Row* filled(std::vector<Row>& rows, Record const& from) {
    auto* const made = row(rows, from.start, from.end);
    if (made != nullptr) { cupti::fill(*made, from, process_); }
    return made;
  }

  // Names are looked up by their address and checked by their text, since a module that is loaded
  // later may put another name at the same address.
  struct kernel_names {
    std::string mangled;
    string_id whole = 0;
    string_id brief = 0;
    string_id raw = 0;
  };
  kernel_names const& names_of(char const* mangled) {
    auto& known = names_[mangled];
    if (known.whole == 0 || known.mangled != mangled) {
      known.mangled = mangled;
      auto const text = demangled(mangled);
      known.whole = made_.strings.intern(text);
      known.brief = made_.strings.intern(short_kernel_name(text));
      known.raw = made_.strings.intern(mangled);
    }
    return known;
  }

  void add(cupti::kernel const& from) {
    auto* const to = filled(made_.kernels, from);
    if (to == nullptr) { return; }
    if (from.name == nullptr || *from.name == 0) {
      ++made_.lost.unnamed;
      return;
    }
    auto const& names = names_of(from.name);
    to->name = names.whole;
    to->short_name = names.brief;
    to->mangled_name = names.raw;
  }

  void add(cupti::call const& from, api layer) {
    auto* const to = row(made_.calls, from.start, from.end);
    if (to == nullptr) { return; }
    to->thread = {from.processId, from.threadId};
    to->layer = layer;
    to->correlation = from.correlationId;
    to->result = static_cast<std::int32_t>(from.returnValue);
    auto const domain =
        layer == api::driver ? CUPTI_CB_DOMAIN_DRIVER_API : CUPTI_CB_DOMAIN_RUNTIME_API;
    auto const [known, fresh] = calls_.try_emplace({domain, from.cbid}, 0);
    if (fresh) {
      auto const* const name = name_of_call_(domain, from.cbid);
      known->second = name == nullptr ? 0 : made_.strings.intern(name);
    }
    to->name = known->second;
    if (to->name == 0) { ++made_.lost.unnamed; }
  }

  void add(cupti::overhead const& from) {
    if (auto* const to = row(made_.overheads, from.start, from.end)) {
      if (from.objectKind == CUPTI_ACTIVITY_OBJECT_THREAD) {
        to->thread = {from.objectId.pt.processId, from.objectId.pt.threadId};
      }
      to->name = made_.strings.intern(overhead_name(from.overheadKind));
      to->correlation = from.correlationId;
    }
  }

  void add(cupti::memory const& from) {
    if (from.timestamp == 0) {
      ++made_.lost.zero_stamped;
      return;
    }
    if (auto* const to = row(made_.memory)) {
      cupti::fill(*to, from, process_);
      to->at = time(from.timestamp);
    }
  }

  void add(cupti::device const& from) {
    if (!devices_.insert(from.id).second) { return; }
    auto& to = made_.devices.emplace_back(cupti::describe(from));
    if (from.name != nullptr) { to.name = from.name; }
  }

  void add(cupti::context const& from) {
    contexts_[from.contextId] = {static_cast<std::int32_t>(from.deviceId), from.parentContextId,
                                 from.isGreenContext != 0};
  }

  // The record of a context may come after the records of its operations.
  void settle(device_place& where) const {
    auto const known = contexts_.find(where.context);
    if (known == contexts_.end()) {
      if (where.device == cupti::unknown_device) { where.device = 0; }
      return;
    }
    if (where.device == cupti::unknown_device) { where.device = known->second.device; }
    if (known->second.green) {
      where.green_context = where.context;
      where.context = known->second.parent;
    }
  }

  struct context_facts {
    std::int32_t device = 0;
    std::uint32_t parent = 0;
    bool green = false;
  };
  call_name name_of_call_;
  std::size_t rows_left_;
  std::uint32_t process_ = static_cast<std::uint32_t>(::getpid());
  model made_;
  std::unordered_map<char const*, kernel_names> names_;
  std::map<std::pair<CUpti_CallbackDomain, CUpti_CallbackId>, string_id> calls_;
  std::unordered_map<std::uint32_t, context_facts> contexts_;
  std::unordered_set<std::uint32_t> devices_;
};

}  // namespace assay::trace
