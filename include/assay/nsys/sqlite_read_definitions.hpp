// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to sqlite_read.hpp: the definition of its function.
#pragma once

#include <assay/nsys/columns.hpp>
#include <assay/nsys/schema.hpp>
#include <assay/nsys/sqlite_metadata.hpp>
#include <assay/nsys/sqlite_read.hpp>
#include <assay/nsys/sqlite_rows.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace assay::trace {

/// Reads NVTX_EVENTS. Ranges without an end get one from `close`, when the trace's end is known.
class range_reader {
 public:
  explicit range_reader(open_export& in) : in_(in) {}

  void read() {
    learn_types();
    std::vector<nsys::nvtx_event> events;
    read_table(in_, "NVTX_EVENTS", events, [&](nsys::nvtx_event const& row, row_reader const&) {
      auto const what = type_of(row);
      if (what == nsys::event::domain) {
        domains_[{row.thread.process, row.domain}] = row.name;
        domains_.emplace(std::pair{std::uint32_t{0}, row.domain}, row.name);
      }
      if (what == nsys::event::thread) { in_.into.threads.push_back({row.thread, row.name}); }
      return what != nsys::event::other && what != nsys::event::domain &&
             what != nsys::event::thread;
    });
    in_.into.ranges.reserve(events.size());
    for (auto const& each : events) { add(each); }
    match_parts();
  }

  /// Gives ranges that were never ended the trace's end.
  void close() {
    for (auto& range : in_.into.ranges) {
      if (!range.ended) { range.when.end = std::max(range.when.begin, in_.into.window.end); }
    }
  }

 private:
  struct part {
    nsys::event what;
    std::int64_t id;
    std::int64_t domain;
    range_record range;
  };

  void learn_types() {
    for (auto const& type : nsys::event_types) { types_.emplace(type.id, type.what); }
    auto found = in_.tables.select("ENUM_NSYS_EVENT_TYPE", {"id", "name"});
    std::map<std::int64_t, nsys::event> told;
    while (found && found->step()) {
      auto const id = found->integer();
      auto const name = found->text();
      for (auto const& type : nsys::event_types) {
        if (type.name == name) { told.emplace(id, type.what); }
      }
    }
    if (!told.empty()) { types_ = std::move(told); }
  }

  nsys::event type_of(nsys::nvtx_event const& row) const {
    auto const type = types_.find(row.type);
    return type == types_.end() ? nsys::event::other : type->second;
  }

  void add(nsys::nvtx_event const& row) {
    auto const what = type_of(row);
    auto const mark = what == nsys::event::mark;
    auto const whole = what == nsys::event::push_pop || what == nsys::event::start_end;
    auto const pushed = what == nsys::event::push_pop || what == nsys::event::push;
    range_record range{.when = {row.begin, whole && row.end ? *row.end : row.begin},
                       .thread = row.thread,
                       .end_thread = row.end_thread ? nsys::unpack(*row.end_thread) : row.thread,
                       .domain = domain_name(row.thread.process, row.domain),
                       .name = row.name,
                       .style = mark     ? range_style::mark
                                : pushed ? range_style::push_pop
                                         : range_style::start_end,
                       .ended = mark || row.end,
                       .category = row.category,
                       .argb = row.argb,
                       .payload = row.payload};
    if (!in_.place(range.when)) { return; }
    if (whole || mark) {
      in_.into.ranges.push_back(range);
    } else {
      parts_.push_back({what, row.range_id, row.domain, range});
    }
  }

  /// The name of a domain. Processes that share a domain by a fork have one row for it, under the
  /// number of one process.
  string_id domain_name(std::uint32_t process, std::int64_t id) {
    if (id == 0) { return 0; }
    for (auto const owner : {process, std::uint32_t{0}}) {
      auto const known = domains_.find({owner, id});
      if (known != domains_.end()) { return known->second; }
    }
    ++in_.into.lost.unnamed;
    return domains_[{process, id}] = in_.intern("domain " + std::to_string(id));
  }

  void match_parts() {
    std::stable_sort(parts_.begin(), parts_.end(), [](part const& a, part const& b) {
      return a.range.when.begin < b.range.when.begin;
    });
    std::map<std::tuple<thread_key, std::int64_t>, std::vector<std::size_t>> pushed;
    std::map<std::tuple<std::uint32_t, std::int64_t>, std::size_t> started;
    std::uint64_t ends_alone = 0;
    for (auto& [what, id, domain, range] : parts_) {
      auto& open = pushed[{range.thread, domain}];
      auto const by_id = std::tuple{range.thread.process, id};
      if (what == nsys::event::push || what == nsys::event::start) {
        range.ended = false;
        if (what == nsys::event::push) { open.push_back(in_.into.ranges.size()); }
        if (what == nsys::event::start) { started[by_id] = in_.into.ranges.size(); }
        in_.into.ranges.push_back(range);
        continue;
      }
      auto const start = started.find(by_id);
      if (what == nsys::event::pop ? open.empty() : start == started.end()) {
        ++ends_alone;
        continue;
      }
      auto& ended = in_.into.ranges[what == nsys::event::pop ? open.back() : start->second];
      ended.when.end = range.when.begin;
      ended.ended = true;
      if (what == nsys::event::pop) {
        open.pop_back();
      } else {
        ended.end_thread = range.thread;
        started.erase(start);
      }
    }
    if (ends_alone > 0) {
      in_.into.notes.emplace_back("range ends without a begin", std::to_string(ends_alone));
    }
  }

  open_export& in_;
  std::map<std::int64_t, nsys::event> types_;
  std::map<std::pair<std::uint32_t, std::int64_t>, string_id> domains_;
  std::vector<part> parts_;
};

namespace detail {

/// Reads the calls of one table.
inline void read_calls(open_export& in, std::string const& table) {
  auto const of_system = table == "OSRT_API";
  read_table(in, table, in.into.calls, [&](api_call& call, row_reader const& reader) {
    auto const told = reader.call_class();
    // OSRT_API also says when the recording began, in rows of another class.
    if (of_system && told && *told != nsys::os_class) { return false; }
    auto const sure = told == nsys::runtime_class || told == nsys::driver_class;
    auto const runtime =
        sure ? told == nsys::runtime_class : in.into.strings[call.name].starts_with("cuda");
    call.layer = of_system ? api::os : runtime ? api::runtime : api::driver;
    return true;
  });
}

}  // namespace detail

ASSAY_INLINE model read_nsys(std::filesystem::path const& path) {
  try {
    open_export in{path};
    metadata_reader metadata{in};
    metadata.read();
    nsys::each_table(in.into, [&]<class Row>(std::string const& table, std::vector<Row>& rows) {
      read_table(in, table, rows);
    });
    read_table(in, "PROFILER_OVERHEAD", in.into.overheads);
    for (auto& run : in.into.kernels) {
      if (in.ours || run.name != 0) { continue; }
      run.name = run.short_name != 0 ? run.short_name : run.mangled_name;
    }
    for (auto& event : in.into.memory) {
      if (event.where.process == 0) { event.where.process = event.thread.process; }
    }
    detail::read_calls(in, "CUPTI_ACTIVITY_KIND_RUNTIME");
    detail::read_calls(in, "OSRT_API");
    range_reader ranges{in};
    ranges.read();
    metadata.finish();
    ranges.close();
    return std::move(in.into);
  } catch (database_error const& error) { throw read_error(path, error.what()); }
}

}  // namespace assay::trace
