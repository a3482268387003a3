// SPDX-License-Identifier: Apache-2.0
/// @file
/// Writing a trace for Perfetto and other viewers: Chrome's JSON in the dialect of Kineto.
#pragma once

#include <assay/chrome/events.hpp>
#include <assay/chrome/json_text.hpp>
#include <assay/chrome/labels.hpp>
#include <assay/chrome/tracks.hpp>
#include <assay/core/file.hpp>
#include <assay/trace/model.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace assay::trace {

/// Writes one model, event by event.
class chrome_writer : chrome_events {
 public:
  chrome_writer(new_file& to, model const& from)
      : chrome_events(to, from), projections_(project(from)), tracks_(from, projections_) {}

  void write() {
    out_.raw("{\n").member("schemaVersion", 1).raw(",\n\"deviceProperties\": [");
    write_devices();
    out_.raw("],\n").member("displayTimeUnit", "ns").raw(",\n");
    out_.member("baseTimeNanoseconds", from_.epoch_ns + base_).raw(",\n\"assay\": {");
    write_rest();
    out_.raw("},\n\"traceEvents\": [");
    write_names();
    write_host();
    write_kernels();
    write_other_work();
    write_projections();
    write_arrows();
    write_samples();
    out_.raw("\n]}\n").flush();
  }

 private:
  void write_devices() {
    auto separator = "\n";
    for (auto const& each : from_.devices) {
      out_.raw(separator).raw("{").member("id", each.id).raw(",").member("name", each.name);
      chrome::each_property(
          each, [&](char const* name, auto value) { out_.raw(",").member(name, value); });
      out_.raw("}");
      separator = ",\n";
    }
  }

  // What the dialect has no place for.
  void write_rest() {
    out_.member("format", chrome::format).raw(",").member("source", from_.source).raw(",");
    out_.member("epoch_ns", from_.epoch_ns).raw(",").member("base_ns", base_).raw(",");
    out_.raw("\"window\":[").value(from_.window.begin).raw(",").value(from_.window.end).raw("],");
    auto const& lost = from_.lost;
    out_.raw("\"lost\":[").value(lost.dropped).raw(",").value(lost.zero_stamped).raw(",");
    out_.value(lost.out_of_window).raw(",").value(lost.unmatched).raw(",").value(lost.unnamed);
    out_.raw("],\n\"notes\":[");
    auto separator = "";
    for (auto const& [name, note] : from_.notes) {
      out_.raw(separator).raw("[").value(name).raw(",").value(note).raw("]");
      separator = ",";
    }
    out_.raw("],\n\"threads\":[");
    separator = "";
    for (auto const& each : from_.threads) {
      out_.raw(separator).raw("[").value(each.thread.process).raw(",").value(each.thread.thread);
      out_.raw(",").value(each.name).raw("]");
      separator = ",";
    }
    out_.raw("],\n\"strings\":[");
    for (std::size_t i = 0; i < from_.strings.size(); ++i) {
      out_.raw(i == 0 ? "\n" : ",\n").value(text(static_cast<string_id>(i)));
    }
    out_.raw("]");
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

  void write_host() {
    for (std::size_t row = 0; row < from_.calls.size(); ++row) {
      auto const& call = from_.calls[row];
      auto const on = tracks_.of(chrome_tracks::calls, row);
      auto const name = chrome::without_version(text(call.name));
      span_of(chrome::category(call.layer), name, on, call.when);
      out_.member("correlation", call.correlation);
      if (name.size() != text(call.name).size()) {
        out_.raw(",").member("function", text(call.name));
      }
      unless_zero("result", call.result);
      thread(call.thread, on);
      end();
    }
    for (std::size_t row = 0; row < from_.ranges.size(); ++row) {
      auto const& range = from_.ranges[row];
      auto const on = tracks_.of(chrome_tracks::ranges, row);
      if (range.style == range_style::mark) {
        event("i", "user_annotation", text(range.name), on, range.when.begin);
        out_.raw(",\"s\":\"t\",\"args\":{");
      } else {
        span_of("user_annotation", text(range.name), on, range.when);
      }
      out_.member("domain", text(range.domain));
      if (range.style == range_style::start_end) { out_.raw(",").member("style", "start_end"); }
      if (!range.ended) { out_.raw(",").member("ended", false); }
      unless_zero("category", range.category);
      unless_zero("argb", range.argb);
      unless_zero("payload", range.payload);
      if (range.end_thread != range.thread) {
        out_.raw(",\"end thread\":[").value(range.end_thread.process).raw(",");
        out_.value(range.end_thread.thread).raw("]");
      }
      thread(range.thread, on);
      end();
    }
    for (std::size_t row = 0; row < from_.overheads.size(); ++row) {
      auto const& cost = from_.overheads[row];
      span_of("overhead", text(cost.name), tracks_.of(chrome_tracks::costs, row), cost.when);
      out_.member("correlation", cost.correlation).raw(",").member("process", cost.thread.process);
      out_.raw(",").member("thread", cost.thread.thread);
      end();
    }
  }

  void write_kernels() {
    for (std::size_t row = 0; row < from_.kernels.size(); ++row) {
      auto const& run = from_.kernels[row];
      span_of("kernel", text(run.name), tracks_.of(chrome_tracks::kernels, row), run.when);
      place(run.where);
      out_.raw(",").member("registers per thread", run.registers_per_thread);
      out_.raw(",").member("shared memory",
                           std::uint64_t{run.static_shared_bytes} + run.dynamic_shared_bytes);
      unless_zero("dynamic shared memory", run.dynamic_shared_bytes);
      unless_zero("local memory per thread", run.local_bytes_per_thread);
      triple("grid", run.grid);
      triple("block", run.block);
      if (run.cluster != dimensions{}) { triple("cluster", run.cluster); }
      unless_zero("graph id", run.graph);
      if (run.short_name != 0 || run.mangled_name != 0) {
        out_.raw(",\"names\":[").value(run.short_name).raw(",").value(run.mangled_name).raw("]");
      }
      end();
    }
  }

  void write_other_work() {
    for (std::size_t row = 0; row < from_.copies.size(); ++row) {
      auto const& each = from_.copies[row];
      span_of("gpu_memcpy", chrome::name_of(each), tracks_.of(chrome_tracks::copies, row),
              each.when);
      place(each.where);
      bytes(each.bytes, each.when);
      out_.raw(",\"kinds\":[").value(static_cast<int>(each.kind)).raw(",");
      out_.value(static_cast<int>(each.from)).raw(",").value(static_cast<int>(each.to)).raw("]");
      if (each.from_device != -1) { out_.raw(",").member("from device", each.from_device); }
      if (each.to_device != -1) { out_.raw(",").member("to device", each.to_device); }
      end();
    }
    for (std::size_t row = 0; row < from_.sets.size(); ++row) {
      auto const& each = from_.sets[row];
      auto const name = "Memset (" + std::string{label(each.kind)} + ")";
      span_of("gpu_memset", name, tracks_.of(chrome_tracks::sets, row), each.when);
      place(each.where);
      bytes(each.bytes, each.when);
      out_.raw(",")
          .member("value", each.value)
          .raw(",")
          .member("kind", static_cast<int>(each.kind));
      end();
    }
    for (std::size_t row = 0; row < from_.graph_launches.size(); ++row) {
      auto const& each = from_.graph_launches[row];
      span_of("gpu_graph", "Graph " + std::to_string(each.graph),
              tracks_.of(chrome_tracks::graphs, row), each.when);
      place(each.where);
      out_.raw(",")
          .member("graph id", each.graph)
          .raw(",")
          .member("graph exec id", each.executable);
      end();
    }
    for (std::size_t row = 0; row < from_.synchronizations.size(); ++row) {
      auto const& each = from_.synchronizations[row];
      span_of("cuda_sync", chrome::name_of(each.kind), tracks_.of(chrome_tracks::waits, row),
              each.when);
      // Nor has a wait of a stream one, whose name Holistic Trace Analysis does not know.
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
      // Without its stream: Holistic Trace Analysis takes whatever has one for a kernel.
      out_.member("device", each.where.device);
      end();
    }
  }

  // From each call to all that it launched.
  void write_arrows() {
    call_index const calls{from_};
    std::vector<bool> begun(from_.calls.size());
    auto const arrow = [&](device_place const& where, chrome_track on, std::int64_t at) {
      auto const row = calls.find(where);
      if (row == no_row) { return; }
      auto const& call = from_.calls[row];
      // Correlations count by process; readers take the number as it is, so that of one process
      // alone has to stay the correlation.
      auto const id = tracks_.process_number(call.thread.process) << 32U | call.correlation;
      if (!begun[row]) {
        begun[row] = true;
        event("s", "ac2g", "ac2g", tracks_.of(chrome_tracks::calls, row), call.when.begin);
        out_.raw(",").member("id", id).raw("}");
      }
      event("f", "ac2g", "ac2g", on, at)
          .raw(",")
          .member("id", id)
          .raw(",")
          .member("bp", "e")
          .raw("}");
    };
    auto const all = [&](chrome_tracks::table which, auto const& rows) {
      for (std::size_t row = 0; row < rows.size(); ++row) {
        arrow(rows[row].where, tracks_.of(which, row), rows[row].when.begin);
      }
    };
    all(chrome_tracks::kernels, from_.kernels);
    all(chrome_tracks::copies, from_.copies);
    all(chrome_tracks::sets, from_.sets);
    all(chrome_tracks::graphs, from_.graph_launches);
  }

  void write_samples() {
    for (auto const& each : from_.counters) {
      event("C", "counter", text(each.name), {tracks_.device_pid(each.device), 0}, each.at);
      out_.raw(",\"args\":{")
          .member("value", each.value)
          .raw("},\"device\":")
          .value(each.device)
          .raw("}");
    }
    for (auto const& each : from_.memory) {
      event("i", "cpu_instant_event", "[memory]", {each.thread.process, each.thread.thread},
            each.at);
      out_.raw(",\"s\":\"t\",\"args\":{");
      place(each.where);
      auto const released = each.operation == memory_operation::release;
      out_.raw(",\"Bytes\":").raw(released ? "-" : "").value(each.bytes);
      out_.raw(",").member("Addr", each.address).raw(",").member("Device Id", each.where.device);
      out_.raw(",").member("bytes", each.bytes).raw(",").member("released", released);
      out_.raw(",").member("kind", static_cast<int>(each.kind));
      unless_zero("pool", each.pool);
      unless_zero("pool used bytes", each.pool_used_bytes);
      unless_zero("pool reserved bytes", each.pool_reserved_bytes);
      end();
    }
  }

  std::vector<projection> projections_;
  chrome_tracks tracks_;
};

/// Writes a trace as JSON that Perfetto, Holistic Trace Analysis and other readers of Kineto's
/// traces take, whole or not at all. Bytes in names that are not UTF-8 become U+FFFD. Throws
/// `file_error`.
inline void write_chrome(model const& trace, std::filesystem::path const& path) {
  new_file file{path};
  chrome_writer{file, trace}.write();
  file.commit();
}

}  // namespace assay::trace
