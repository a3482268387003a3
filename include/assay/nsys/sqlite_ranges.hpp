// SPDX-License-Identifier: Apache-2.0
/// @file
/// The ranges of an nsys export: whole ones, and those whose begin and end are rows of their own.
#pragma once

#include <assay/nsys/schema.hpp>
#include <assay/nsys/sqlite_rows.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace assay::trace {

/// Reads NVTX_EVENTS. Ranges without an end get it from `close`, when the trace's end is known.
class range_reader {
 public:
  explicit range_reader(export_rows& in) : in_(in) {}

  void read() {
    learn_types();
    learn_domains();
    auto found = in_.tables.select(
        "NVTX_EVENTS", {"start", "end", "eventType", "globalTid", "endGlobalTid", "domainId",
                        "textId", "text", "category", "color", "rangeId", "uint64Value",
                        "int64Value", "uint32Value", "int32Value", "doubleValue", "floatValue"});
    if (!found) { return; }
    auto& row = *found;
    in_.tables.reserve("NVTX_EVENTS", in_.into.ranges);
    while (row.step()) {
      range_record range;
      range.when.begin = row.integer();
      range.ended = !row.null();
      range.when.end = row.integer();
      auto const type = types_.find(row.integer());
      auto const what = type == types_.end() ? nsys::event::other : type->second;
      if (what == nsys::event::other || what == nsys::event::domain) { continue; }
      range.thread = nsys::unpack(row.integer());
      auto const same_thread = row.null();
      auto const ender = nsys::unpack(row.integer());
      range.end_thread = same_thread ? range.thread : ender;
      auto const domain = row.integer();
      range.domain = domain_name(range.thread.process, domain);
      range.name = next_text(row);
      if (what == nsys::event::thread) {
        in_.into.threads.push_back({range.thread, range.name});
        continue;
      }
      range.category = row.number<std::uint32_t>();
      range.argb = row.number<std::uint32_t>();
      auto const id = row.integer();
      range.payload = next_payload(row);
      auto const whole = what == nsys::event::push_pop || what == nsys::event::start_end;
      if (!whole || !range.ended) { range.when.end = range.when.begin; }
      if (!in_.place(range.when)) { continue; }
      range.style = what == nsys::event::mark ? range_style::mark
                    : what == nsys::event::push_pop || what == nsys::event::push
                        ? range_style::push_pop
                        : range_style::start_end;
      if (whole || what == nsys::event::mark) {
        range.ended = range.ended || what == nsys::event::mark;
        in_.into.ranges.push_back(range);
      } else {
        parts_.push_back({what, id, domain, range});
      }
    }
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
    if (!found) { return; }
    std::map<std::int64_t, nsys::event> told;
    while (found->step()) {
      auto const id = found->integer();
      auto const name = found->text();
      for (auto const& type : nsys::event_types) {
        if (type.name == name) { told.emplace(id, type.what); }
      }
    }
    if (!told.empty()) { types_ = std::move(told); }
  }

  void learn_domains() {
    auto found =
        in_.tables.select("NVTX_EVENTS", {"eventType", "globalTid", "domainId", "textId", "text"});
    while (found && found->step()) {
      auto const type = types_.find(found->integer());
      if (type == types_.end() || type->second != nsys::event::domain) { continue; }
      auto const process = nsys::unpack(found->integer()).process;
      auto const id = found->integer();
      auto const name = next_text(*found);
      domains_[{process, id}] = name;
      domains_.emplace(std::pair{std::uint32_t{0}, id}, name);
    }
  }

  /// Processes that share a domain by a fork have one row for it, so that any process' will do.
  string_id domain_name(std::uint32_t process, std::int64_t id) {
    if (id == 0) { return 0; }
    if (auto const own = domains_.find({process, id}); own != domains_.end()) {
      return own->second;
    }
    if (auto const any = domains_.find({0, id}); any != domains_.end()) { return any->second; }
    ++in_.into.lost.unnamed;
    return domains_[{process, id}] = in_.names.intern("domain " + std::to_string(id));
  }

  string_id next_text(statement& row) {
    auto const registered = !row.null();
    auto const number = in_.names.next(row);
    if (registered || row.null()) {
      row.skip();
      return number;
    }
    return in_.names.intern(row.text());
  }

  static std::uint64_t next_payload(statement& row) {
    for (int i = 0; i < 4; ++i) {
      if (!row.null()) { return row.number<std::uint64_t>(); }
      row.skip();
    }
    for (int i = 0; i < 2; ++i) {
      auto const value = row.real();
      if (value >= 1 && value < 0x1p63) { return static_cast<std::uint64_t>(std::llround(value)); }
    }
    return 0;
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

  export_rows& in_;
  std::map<std::int64_t, nsys::event> types_;
  std::map<std::pair<std::uint32_t, std::int64_t>, string_id> domains_;
  std::vector<part> parts_;
};

}  // namespace assay::trace
