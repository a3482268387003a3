// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to chrome.hpp: the definitions of its functions.
#pragma once

#include <assay/chrome/chrome.hpp>
#include <assay/chrome/json_text.hpp>
#include <assay/chrome/tracks.hpp>
#include <assay/core/atomic_file.hpp>
#include <assay/core/concat.hpp>
#include <assay/trace/model.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace assay::trace {

/// Writes one model, event by event.
class chrome_writer {
 public:
  chrome_writer(atomic_file& to, model const& from)
      : out_(to),
        from_(from),
        base_(chrome::base_of(from)),
        projections_(project(from)),
        tracks_(from, projections_) {}

  void write() {
    out_.open('{').line().member("schemaVersion", 1).line().key("deviceProperties").open('[');
    for (auto const& each : from_.devices) {
      out_.line().open('{').member("id", each.id).member("name", each.name);
      out_.member("totalGlobalMem", each.memory_bytes).member("computeMajor", each.compute_major);
      out_.member("computeMinor", each.compute_minor);
      out_.member("maxThreadsPerBlock", each.max_threads_per_block);
      out_.member("maxThreadsPerMultiprocessor", each.max_threads_per_sm);
      out_.member("regsPerMultiprocessor", each.registers_per_sm);
      out_.member("sharedMemPerMultiprocessor", each.shared_bytes_per_sm);
      out_.member("warpSize", each.warp_size).member("numSms", each.sm_count);
      out_.member("l2CacheSize", each.l2_bytes);
      out_.member("memoryBytesPerSecond", each.memory_bytes_per_second);
      out_.member("clockHertz", each.clock_hertz).close('}');
    }
    out_.close(']').line().member("displayTimeUnit", "ns").line();
    out_.member("baseTimeNanoseconds", from_.epoch_ns + base_).line();
    out_.key("traceEvents").open('[');
    write_names();
    write_calls();
    write_ranges();
    write_kernels();
    write_copies();
    write_whole_graphs();
    write_synchronizations();
    write_projections();
    write_arrows();
    write_memory();
    out_.close(']').close('}').flush();
  }

 private:
  std::string_view text(string_id number) const { return from_.strings[number]; }

  void metadata(std::string_view what, chrome_track on, std::string_view key, auto const& value) {
    out_.line().open('{').member("ph", "M").member("name", what).member("pid", on.pid);
    out_.member("tid", on.tid).key("args").open('{').member(key, value).close('}').close('}');
  }
  /// Begins an event; members follow, then `}`.
  void event(std::string_view phase, std::string_view category, std::string_view name,
             chrome_track on, std::int64_t at) {
    out_.line().open('{').member("ph", phase).member("cat", category).member("name", name);
    out_.member("pid", on.pid).member("tid", on.tid).key("ts").microseconds(at - base_);
  }
  /// Begins a span with its arguments; they follow, then `end`.
  void span_of(std::string_view category, std::string_view name, chrome_track on, span when) {
    event("X", category, name, on, when.begin);
    out_.key("dur").microseconds(when.length()).key("args").open('{');
  }
  /// Begins a moment with its arguments; they follow, then `end`.
  void moment(std::string_view category, std::string_view name, chrome_track on, std::int64_t at) {
    event("i", category, name, on, at);
    out_.member("s", "t").key("args").open('{');
  }
  void end() { out_.close('}').close('}'); }

  template <class T>
  void unless_zero(std::string_view name, T value) {
    if (value != T{}) { out_.member(name, value); }
  }
  void place(device_place const& at, std::string_view stream = "stream") {
    out_.member("device", at.device).member("context", at.context);
    out_.member(stream, chrome::shown_stream(at.stream)).member("correlation", at.correlation);
    unless_zero("process", at.process);
    unless_zero("green context", at.green_context);
    unless_zero("graph node id", at.graph_node);
  }
  // The first track of a thread has its number; on further lanes the number is an argument.
  void thread(thread_key const& key, chrome_track on) {
    if (on.tid != key.thread) { out_.member("thread", key.thread); }
  }
  void bytes(std::uint64_t count, span when) {
    out_.member("bytes", count);
    if (when.length() <= 0) { return; }
    out_.member("memory bandwidth (GB/s)",
                static_cast<double>(count) / static_cast<double>(when.length()));
  }

  void write_names() {
    constexpr std::size_t after_processes = 5'000'000;
    for (auto const device : tracks_.devices()) {
      chrome_track const on{tracks_.device_pid(device), 0};
      metadata("process_name", on, "name", "GPU " + std::to_string(device));
      metadata("process_labels", on, "labels", "GPU " + std::to_string(device));
      metadata("process_sort_index", on, "sort_index",
               after_processes + static_cast<std::size_t>(std::max(0, device)));
    }
    for (auto const& [process, number] : tracks_.processes()) {
      metadata("process_name", {process, 0}, "name", "process " + std::to_string(process));
      metadata("process_labels", {process, 0}, "labels", "CPU");
      metadata("process_sort_index", {process, 0}, "sort_index", number);
    }
    for (auto const& each : from_.threads) {
      metadata("thread_name", {each.thread.process, each.thread.thread}, "name", text(each.name));
    }
    if (!from_.overheads.empty()) { metadata("process_name", {-1, 0}, "name", "overhead"); }
    tracks_.each_name([&](chrome_track on, std::string const& name, std::size_t position) {
      metadata("thread_name", on, "name", name);
      metadata("thread_sort_index", on, "sort_index", position);
    });
  }

  void write_calls() {
    for (std::size_t row = 0; row < from_.calls.size(); ++row) {
      auto const& call = from_.calls[row];
      auto const on = tracks_.of(chrome_tracks::calls, row);
      // Viewers look for `cudaLaunchKernel`. A version of less than four digits is part of the
      // name, as in `cuGetProcAddress_v2`.
      auto const name = without_version(text(call.name), 4, std::string_view::npos);
      span_of(chrome::category(call.layer), name, on, call.when);
      out_.member("correlation", call.correlation);
      if (name.size() != text(call.name).size()) { out_.member("function", text(call.name)); }
      unless_zero("result", call.result);
      thread(call.thread, on);
      end();
    }
    for (std::size_t row = 0; row < from_.overheads.size(); ++row) {
      auto const& cost = from_.overheads[row];
      span_of("overhead", text(cost.name), tracks_.of(chrome_tracks::overheads, row), cost.when);
      out_.member("correlation", cost.correlation).member("process", cost.thread.process);
      out_.member("thread", cost.thread.thread);
      end();
    }
  }

  void write_ranges() {
    for (std::size_t row = 0; row < from_.ranges.size(); ++row) {
      auto const& range = from_.ranges[row];
      auto const on = tracks_.of(chrome_tracks::ranges, row);
      if (range.style == range_style::mark) {
        moment("user_annotation", text(range.name), on, range.when.begin);
      } else {
        span_of("user_annotation", text(range.name), on, range.when);
      }
      out_.member("domain", text(range.domain));
      if (range.style == range_style::start_end) { out_.member("style", "start_end"); }
      if (!range.ended) { out_.member("ended", false); }
      unless_zero("category", range.category);
      unless_zero("argb", range.argb);
      unless_zero("payload", range.payload);
      if (range.end_thread != range.thread) {
        out_.key("end thread").array(range.end_thread.process, range.end_thread.thread);
      }
      thread(range.thread, on);
      end();
    }
  }

  void write_kernels() {
    auto const triple = [&](std::string_view name, dimensions const& of) {
      out_.key(name).array(of[0], of[1], of[2]);
    };
    for (std::size_t row = 0; row < from_.kernels.size(); ++row) {
      auto const& run = from_.kernels[row];
      span_of("kernel", text(run.name), tracks_.of(chrome_tracks::kernels, row), run.when);
      place(run.where);
      out_.member("registers per thread", run.registers_per_thread);
      out_.member("shared memory",
                  std::uint64_t{run.static_shared_bytes} + run.dynamic_shared_bytes);
      unless_zero("dynamic shared memory", run.dynamic_shared_bytes);
      unless_zero("local memory per thread", run.local_bytes_per_thread);
      triple("grid", run.grid);
      triple("block", run.block);
      if (run.cluster != dimensions{}) { triple("cluster", run.cluster); }
      unless_zero("graph id", run.graph);
      end();
    }
  }

  void write_copies() {
    for (std::size_t row = 0; row < from_.copies.size(); ++row) {
      auto const& each = from_.copies[row];
      span_of("gpu_memcpy", chrome::name_of(each), tracks_.of(chrome_tracks::copies, row),
              each.when);
      place(each.where);
      bytes(each.bytes, each.when);
      if (each.from_device != -1) { out_.member("from device", each.from_device); }
      if (each.to_device != -1) { out_.member("to device", each.to_device); }
      end();
    }
    for (std::size_t row = 0; row < from_.memsets.size(); ++row) {
      auto const& each = from_.memsets[row];
      span_of("gpu_memset", concat({"Memset (", to_string(each.kind), ")"}),
              tracks_.of(chrome_tracks::memsets, row), each.when);
      place(each.where);
      bytes(each.bytes, each.when);
      out_.member("value", each.value);
      end();
    }
  }

  void write_whole_graphs() {
    for (std::size_t row = 0; row < from_.graph_launches.size(); ++row) {
      auto const& each = from_.graph_launches[row];
      span_of("gpu_graph", chrome::name_of(each), tracks_.of(chrome_tracks::graphs, row),
              each.when);
      place(each.where);
      out_.member("graph id", each.graph).member("graph exec id", each.executable);
      end();
    }
  }

  void write_synchronizations() {
    for (std::size_t row = 0; row < from_.synchronizations.size(); ++row) {
      auto const& each = from_.synchronizations[row];
      span_of("cuda_sync", chrome::name_of(each.kind),
              tracks_.of(chrome_tracks::synchronizations, row), each.when);
      // Holistic Trace Analysis takes a row with a `stream` for device work, unless it knows the
      // name; it does not know the name of a stream's wait.
      place(each.where, each.kind == sync_kind::stream_wait ? "waiting stream" : "stream");
      unless_zero("event", each.event);
      end();
    }
  }

  void write_projections() {
    for (std::size_t row = 0; row < projections_.size(); ++row) {
      auto const& each = projections_[row];
      span_of("gpu_user_annotation", text(from_.ranges[each.range].name),
              tracks_.of(chrome_tracks::projections, row), each.when);
      out_.member("device", each.where.device);  // a `stream` would make it device work
      end();
    }
  }

  // Arrows lead from each call to all that it launched.
  void write_arrows() {
    call_index const calls{from_};
    std::vector<bool> begun(from_.calls.size());
    auto const arrow = [&](device_place const& where, chrome_track on, std::int64_t at) {
      auto const row = calls.find(where);
      if (row == no_row) { return; }
      auto const& call = from_.calls[row];
      // Each process counts its own correlations. The number of the first process is 0, so that
      // the arrows of a single process have the correlations as their numbers, as readers expect.
      auto const id = tracks_.process_number(call.thread.process) << 32U | call.correlation;
      if (!begun[row]) {
        begun[row] = true;
        event("s", "ac2g", "ac2g", tracks_.of(chrome_tracks::calls, row), call.when.begin);
        out_.member("id", id).close('}');
      }
      event("f", "ac2g", "ac2g", on, at);
      out_.member("id", id).member("bp", "e").close('}');
    };
    auto const all = [&](chrome_tracks::table which, auto const& rows) {
      for (std::size_t row = 0; row < rows.size(); ++row) {
        arrow(rows[row].where, tracks_.of(which, row), rows[row].when.begin);
      }
    };
    all(chrome_tracks::kernels, from_.kernels);
    all(chrome_tracks::copies, from_.copies);
    all(chrome_tracks::memsets, from_.memsets);
    all(chrome_tracks::graphs, from_.graph_launches);
  }

  void write_memory() {
    for (auto const& each : from_.memory) {
      moment("cpu_instant_event", "[memory]", {each.thread.process, each.thread.thread}, each.at);
      place(each.where);
      auto const released = each.operation == memory_operation::release;
      constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
      auto const bytes = static_cast<std::int64_t>(std::min(each.bytes, most));
      out_.member("Bytes", released ? -bytes : bytes).member("Addr", each.address);
      out_.member("Device Id", each.where.device).member("bytes", each.bytes);
      out_.member("released", released).member("kind", static_cast<int>(each.kind));
      unless_zero("pool", each.pool);
      unless_zero("pool used bytes", each.pool_used_bytes);
      unless_zero("pool reserved bytes", each.pool_reserved_bytes);
      end();
    }
  }

  json_stream out_;
  model const& from_;
  std::int64_t base_;
  std::vector<projection> projections_;
  chrome_tracks tracks_;
};

ASSAY_INLINE void write_chrome(model const& trace, std::filesystem::path const& path) {
  atomic_file file{path};
  chrome_writer{file, trace}.write();
  file.commit();
}

}  // namespace assay::trace
