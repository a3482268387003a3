// SPDX-License-Identifier: Apache-2.0
/// @file
/// The events of a Chrome trace, one after the other into a file.
#pragma once

#include <assay/chrome/json_text.hpp>
#include <assay/chrome/labels.hpp>
#include <assay/chrome/tracks.hpp>
#include <assay/core/file.hpp>
#include <assay/trace/model.hpp>

#include <cstdint>
#include <string_view>

namespace assay::trace {

/// What events of all kinds are made of.
class chrome_events {
 public:
  chrome_events(new_file& to, model const& from)
      : out_(to), from_(from), base_(chrome::base_of(from)) {}

 protected:
  std::string_view text(string_id number) const { return from_.strings[number]; }

  /// Begins an event; members follow, then `end`.
  json_stream& event(std::string_view phase, std::string_view category, std::string_view name,
                     chrome_track on, std::int64_t at) {
    out_.raw(any_ ? ",\n{" : "\n{").member("ph", phase).raw(",").member("cat", category);
    any_ = true;
    out_.raw(",")
        .member("name", name)
        .raw(",")
        .member("pid", on.pid)
        .raw(",")
        .member("tid", on.tid);
    return out_.raw(",\"ts\":").microseconds(at - base_);
  }
  /// Begins a span with its arguments; they follow, each after a comma, then `end`.
  json_stream& span_of(std::string_view category, std::string_view name, chrome_track on,
                       span when) {
    event("X", category, name, on, when.begin).raw(",\"dur\":").microseconds(when.length());
    return out_.raw(",\"args\":{");
  }
  void end() { out_.raw("}}"); }

  template <class T>
  void unless_zero(std::string_view name, T value) {
    if (value != T{}) { out_.raw(",").member(name, value); }
  }
  void triple(std::string_view name, dimensions const& of) {
    out_.raw(",\"").raw(name).raw("\":[").value(of[0]).raw(",").value(of[1]).raw(",");
    out_.value(of[2]).raw("]");
  }
  // A stream that is none is -1, as viewers expect.
  void place(device_place const& at, std::string_view stream = "stream") {
    out_.member("device", at.device).raw(",").member("context", at.context);
    out_.raw(",").member(stream, chrome::shown_stream(at.stream));
    out_.raw(",").member("correlation", at.correlation);
    unless_zero("process", at.process);
    unless_zero("green context", at.green_context);
    unless_zero("graph node id", at.graph_node);
  }

  void metadata(std::string_view what, chrome_track on, std::string_view key, auto const& value) {
    out_.raw(any_ ? ",\n{" : "\n{").member("ph", "M").raw(",").member("name", what);
    any_ = true;
    out_.raw(",").member("pid", on.pid).raw(",").member("tid", on.tid).raw(",\"args\":{");
    out_.member(key, value);
    end();
  }
  // Threads' own tracks say whose they are; on further lanes it is an argument.
  void thread(thread_key const& key, chrome_track on) {
    if (on.tid != key.thread) { out_.raw(",").member("thread", key.thread); }
  }

  void bytes(std::uint64_t count, span when) {
    out_.raw(",").member("bytes", count);
    if (when.length() > 0) {
      auto const rate = static_cast<double>(count) / static_cast<double>(when.length());
      out_.raw(",").member("memory bandwidth (GB/s)", rate);
    }
  }

  json_stream out_;
  model const& from_;
  std::int64_t base_;

 private:
  bool any_ = false;
};

}  // namespace assay::trace
