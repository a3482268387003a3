// SPDX-License-Identifier: Apache-2.0
/// @file
/// What an export says of itself: who made it, when, on which devices, with which names.
#pragma once

#include <assay/nsys/sqlite_rows.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace assay::trace {

/// Reads what is not a table of events.
class about_reader {
 public:
  explicit about_reader(export_rows& in) : in_(in) {}

  /// Before any event: names, and how times are to be read.
  void read() {
    require_export();
    read_origin();
    read_strings();
    read_devices();
  }

  /// After all events: the window that they lie in, and what is missing.
  void finish() {
    read_window();
    if (!in_.ours) { count_unmatched(); }
  }

 private:
  // What any export has, however little was traced.
  void require_export() {
    if (in_.tables.empty()) { throw database_error("it has no tables"); }
    for (auto const* table : {"StringIds", "META_DATA_EXPORT", "CUPTI_ACTIVITY_KIND_KERNEL",
                              "CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS", "OSRT_API"}) {
      if (in_.tables.has(table)) { return; }
    }
    throw database_error("it is no export of nsys: no StringIds, no META_DATA_EXPORT, no events");
  }

  void read_origin() {
    std::string product = "an export of nsys";
    std::string version;
    std::string schema;
    auto absolute = false;
    if (auto row = in_.tables.select("META_DATA_EXPORT", {"name", "value"})) {
      while (row->step()) {
        std::string const name{row->text()};
        auto const value = repaired_utf8(row->text());
        if (name == "EXPORT_PRODUCT_NAME") { product = value; }
        if (name == "EXPORT_PRODUCT_VERSION") { version = value; }
        if (name == "EXPORT_SCHEMA_VERSION") { schema = value; }
        if (name == "EXPORT_PARAM_TIME_NORMALIZE") { absolute = value == "true"; }
      }
    }
    in_.ours = product == "assay" && in_.tables.has("ASSAY_TRACE");
    in_.into.source = product + (version.empty() ? "" : " " + version) +
                      (schema.empty() ? "" : ", schema " + schema);
    if (auto row = in_.tables.select("TARGET_INFO_SESSION_START_TIME", {"utcEpochNs"});
        row && row->step()) {
      in_.into.epoch_ns = row->integer();
    }
    // Asked to, nsys tells times since 1970 instead of since the session's start.
    if (absolute) { in_.shift = in_.into.epoch_ns; }
    if (auto row = in_.tables.select("ASSAY_NOTES", {"name", "value"})) {
      while (row->step()) {
        auto name = repaired_utf8(row->text());
        in_.into.notes.emplace_back(std::move(name), repaired_utf8(row->text()));
      }
    }
  }

  void read_strings() {
    auto row = in_.tables.select("StringIds", {"id", "value"});
    while (row && row->step()) {
      auto const id = row->integer();
      in_.names.add(id, row->text());
    }
  }

  // Kernels name CUDA's number of a device, which may be another than that of its description.
  void read_devices() {
    std::vector<std::pair<std::int32_t, std::int64_t>> cuda_devices;
    if (auto row = in_.tables.select("TARGET_INFO_CUDA_DEVICE", {"cudaId", "gpuId"});
        row && !in_.ours) {
      while (row->step()) {
        auto const id = row->number<std::int32_t>();
        cuda_devices.emplace_back(id, row->integer());
      }
    }
    auto row = in_.tables.select(
        "TARGET_INFO_GPU",
        {"id", "cuDevice", "name", "totalMemory", "l2CacheSize", "memoryBandwidth", "clockRate",
         "smCount", "computeMajor", "computeMinor", "maxThreadsPerBlock", "maxRegistersPerSm",
         "maxShmemPerSm", "threadsPerWarp", "maxWarpsPerSm", "assayMaxThreadsPerSm"});
    while (row && row->step()) {
      device_description gpu;
      auto const id = row->integer();
      auto const unnumbered = row->null();
      auto const cuda_id = row->number<std::int32_t>();
      gpu.id = unnumbered ? static_cast<std::int32_t>(id) : cuda_id;
      gpu.name = repaired_utf8(row->text());
      gpu.memory_bytes = row->number<std::uint64_t>();
      gpu.l2_bytes = row->number<std::uint64_t>();
      gpu.memory_bytes_per_second = row->number<std::uint64_t>();
      gpu.clock_hertz = row->number<std::uint32_t>();
      gpu.sm_count = row->number<std::uint32_t>();
      gpu.compute_major = row->number<std::uint32_t>();
      gpu.compute_minor = row->number<std::uint32_t>();
      gpu.max_threads_per_block = row->number<std::uint32_t>();
      gpu.registers_per_sm = row->number<std::uint32_t>();
      gpu.shared_bytes_per_sm = row->number<std::uint32_t>();
      auto const no_warp = row->null();
      auto const warp = row->number<std::uint32_t>();
      if (!no_warp) { gpu.warp_size = warp; }
      gpu.max_threads_per_sm = gpu.warp_size * row->number<std::uint32_t>();
      if (!row->null()) { gpu.max_threads_per_sm = row->number<std::uint32_t>(); }
      if (in_.ours) {
        in_.into.devices.push_back(gpu);
        continue;
      }
      if (gpu.sm_count == 0) { continue; }  // a display adapter of another maker
      auto const before = in_.into.devices.size();
      for (auto const& [number, described] : cuda_devices) {
        if (described != id) { continue; }
        gpu.id = number;
        add_device(gpu);
      }
      if (cuda_devices.empty() && in_.into.devices.size() == before) {
        if (is_described(gpu.id)) { gpu.id = static_cast<std::int32_t>(id); }
        add_device(gpu);
      }
    }
  }

  bool is_described(std::int32_t id) const {
    return std::any_of(in_.into.devices.begin(), in_.into.devices.end(),
                       [&](auto const& each) { return each.id == id; });
  }

  void add_device(device_description const& gpu) {
    if (!is_described(gpu.id)) { in_.into.devices.push_back(gpu); }
  }

  void read_window() {
    if (auto row = in_.tables.select("ASSAY_TRACE", {"name", "value"}); row && in_.ours) {
      while (row->step()) {
        std::string const name{row->text()};
        if (name == "source") {
          in_.into.source = repaired_utf8(row->text());
          continue;
        }
        auto const value = row->integer();
        if (name == "window_begin") { in_.into.window.begin = value; }
        if (name == "window_end") { in_.into.window.end = value; }
        auto const count = static_cast<std::uint64_t>(value);
        if (name == "dropped") { in_.into.lost.dropped = count; }
        if (name == "zero_stamped") { in_.into.lost.zero_stamped = count; }
        if (name == "out_of_window") { in_.into.lost.out_of_window = count; }
        if (name == "unmatched") { in_.into.lost.unmatched = count; }
        if (name == "unnamed") { in_.into.lost.unnamed = count; }
      }
      return;
    }
    span all{std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()};
    if (auto row = in_.tables.select("ANALYSIS_DETAILS", {"duration"}); row && row->step()) {
      all = {0, std::clamp<std::int64_t>(row->integer(), 0, export_rows::longest)};
    }
    auto const widen = [&](auto const& rows) {
      for (auto const& each : rows) {
        all.begin = std::min(all.begin, each.when.begin);
        all.end = std::max(all.end, each.when.end);
      }
    };
    widen(in_.into.kernels);
    widen(in_.into.copies);
    widen(in_.into.sets);
    widen(in_.into.graph_launches);
    widen(in_.into.synchronizations);
    widen(in_.into.calls);
    widen(in_.into.ranges);
    in_.into.window = all.begin <= all.end ? all : span{};
  }

  // Calls and work have most often the same few processes and rising correlations.
  void count_unmatched() {
    std::vector<std::uint64_t> known;
    known.reserve(in_.into.calls.size());
    auto const key = [](std::uint32_t process, std::uint32_t correlation) {
      return (std::uint64_t{process} << 32U) | correlation;
    };
    for (auto const& call : in_.into.calls) {
      if (call.layer != api::os) { known.push_back(key(call.thread.process, call.correlation)); }
    }
    if (!std::is_sorted(known.begin(), known.end())) { std::sort(known.begin(), known.end()); }
    auto const count = [&](auto const& rows) {
      for (auto const& each : rows) {
        auto const wanted = key(each.where.process, each.where.correlation);
        if (!std::binary_search(known.begin(), known.end(), wanted)) { ++in_.into.lost.unmatched; }
      }
    };
    count(in_.into.kernels);
    count(in_.into.copies);
    count(in_.into.sets);
    count(in_.into.graph_launches);
  }

  export_rows& in_;
};

}  // namespace assay::trace
