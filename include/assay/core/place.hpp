// SPDX-License-Identifier: Apache-2.0
/// @file
/// Places, on which work runs, and the streams that order the work.
#pragma once

#include <assay/core/requirements.hpp>

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <concepts>
#include <stdexcept>
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

/// Hardware threads of the main thread's mask: fewer than all under `taskset`, Slurm, and launchers
/// that bind ranks. Where more than 1024 leave the mask no room, it is all of them.
inline int usable_cores() noexcept {
  ::cpu_set_t mask;
  if (::sched_getaffinity(::getpid(), sizeof mask, &mask) == 0) { return CPU_COUNT(&mask); }
  return static_cast<int>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
}

/// The stream of host work, which runs in program order on its thread.
struct host_stream {
  bool operator==(host_stream const&) const = default;
};

/// The functions of a stream type. `synchronize(stream)` returns when all work submitted to the
/// stream is done. `bind_thread(place)` prepares the calling thread to submit to that place.
template <class Stream>
struct stream_traits;

template <>
struct stream_traits<host_stream> {
  static void synchronize(host_stream) noexcept {}
  static void bind_thread(on::host) noexcept {}
};

/// The type that a buffer keeps of a stream: the stream itself, or the handle of a stream that owns
/// one and cannot be copied.
template <class Stream>
struct stream_handle {
  using type = Stream;
};

/// The types and functions of a place. A `stream_type` orders work there; `make_stream(place)`
/// makes an `owned_stream`. `require(place)` throws `std::invalid_argument` unless this process can
/// use the place.
template <class Place>
struct place_traits;

template <>
struct place_traits<on::host> {
  using stream_type = host_stream;
  using owned_stream = host_stream;
  static host_stream make_stream(on::host) noexcept { return {}; }
  static void require(on::host place) {
    if (place.threads < 1) {
      throw std::invalid_argument("on::host{" + std::to_string(place.threads) +
                                  "}: an item needs at least 1 thread");
    }
  }
};

/// A place where work can run.
template <class P>
concept any_place = std::same_as<P, on::device> || std::same_as<P, on::host>;

}  // namespace assay
