// SPDX-License-Identifier: Apache-2.0
/// @file
/// Where work runs, and what orders it there.
#pragma once

#include <string>
#include <string_view>

namespace assay {

namespace on {

/// The GPU with this CUDA ordinal.
struct device {
  int id = 0;
  static constexpr std::string_view name = "on::device";
  std::string describe() const { return "on::device{" + std::to_string(id) + "}"; }
  bool operator==(device const&) const = default;
};

/// The CPU; each item may use this many threads.
struct host {
  int threads = 1;
  static constexpr std::string_view name = "on::host";
  std::string describe() const { return "on::host{" + std::to_string(threads) + "}"; }
  bool operator==(host const&) const = default;
};

}  // namespace on

/// Stands where a CUDA stream stands on the device: host work runs in program order on its thread.
struct host_stream {
  bool operator==(host_stream const&) const = default;
};

/// How the library treats a stream type: `synchronize(stream)` returns when all work before it is
/// done, `bind_thread(place)` makes the calling thread ready to submit to that place.
template <class Stream>
struct stream_traits;

template <>
struct stream_traits<host_stream> {
  static void synchronize(host_stream) noexcept {}
  static void bind_thread(on::host) noexcept {}
};

}  // namespace assay
