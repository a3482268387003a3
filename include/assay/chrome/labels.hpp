// SPDX-License-Identifier: Apache-2.0
/// @file
/// The names that Kineto's dialect of Chrome's JSON has for what a model holds.
#pragma once

#include <assay/trace/labels.hpp>
#include <assay/trace/model.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace assay::trace::chrome {

constexpr std::string_view category(api layer) noexcept {
  constexpr auto layers =
      std::to_array<std::string_view>({"cuda_runtime", "cuda_driver", "os_runtime"});
  return layers[static_cast<std::size_t>(layer)];
}

constexpr std::string_view name_of(sync_kind kind) noexcept {
  constexpr auto names = std::to_array<std::string_view>(
      {"Sync", "Event Sync", "Stream Wait Event", "Stream Sync", "Context Sync"});
  return names[static_cast<std::size_t>(kind)];
}

/// `Memcpy HtoD (Pinned -> Device)`
inline std::string name_of(memory_copy const& copy) {
  constexpr auto ways =
      std::to_array<std::string_view>({"Unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD",
                                       "DtoA", "DtoD", "HtoH", "PtoP", "HtoD", "DtoH", "DtoD"});
  auto const way = ways[static_cast<std::size_t>(copy.kind)];
  auto const unified = copy.kind >= copy_kind::unified_host_to_device;
  return (unified ? "Memcpy Unified " : "Memcpy ") + std::string{way} + " (" +
         std::string{to_string(copy.from)} + " -> " + std::string{to_string(copy.to)} + ")";
}

/// `Graph 7`: the number of the graph, or of its executable where only that was recorded.
inline std::string name_of(graph_launch const& launch) {
  return "Graph " + std::to_string(launch.graph != 0 ? launch.graph : launch.executable);
}

/// The number of a stream; -1 for none, as viewers expect.
constexpr std::int64_t shown_stream(std::uint32_t stream) noexcept {
  return stream == 0xffff'ffff ? -1 : std::int64_t{stream};
}

/// The time that is taken off all times of a trace. It is zero for traces near their epoch.
/// Thirteen days from the epoch, microseconds as doubles would lose nanoseconds.
constexpr std::int64_t base_of(model const& trace) noexcept {
  constexpr std::int64_t far = std::int64_t{1} << 50U;
  auto const begin = trace.window.begin;
  return begin > -far && begin < far ? 0 : begin;
}

}  // namespace assay::trace::chrome
