// SPDX-License-Identifier: Apache-2.0
/// @file
/// `lane`: the place, stream, memory and transfer of one item.
#pragma once

#include <assay/core/place.hpp>
#include <assay/memory/concepts.hpp>

#include <concepts>
#include <string_view>

namespace assay {

/// No transfer: the data of the items stays on one side of the link.
struct no_transfer {
  static constexpr std::string_view name = "no_transfer";
  static constexpr bool capturable = true;
  bool operator==(no_transfer const&) const = default;
};

/// No copy strategy: the workload takes none.
struct no_copy {
  static constexpr std::string_view name = "no_copy";
  bool operator==(no_copy const&) const = default;
};

/// The place, stream, memory resource, transfer and copy strategy of an item.
///
/// A rig makes the lanes, and a submission mode gives each item a lane. Items on one lane run in
/// stream order. Items on different lanes may run at the same time. `Memory` and `Transfer` are
/// handles: copies share their state. Each lane has a transfer of its own. One thread at a time may
/// enqueue items on a lane.
template <class Place, class Stream, class Memory, class Transfer = no_transfer,
          class Copy = no_copy>
struct lane {
  using place_type = Place;
  using stream_type = Stream;
  using memory_type = Memory;
  using transfer_type = Transfer;
  using copy_type = Copy;

  Place place;
  Stream stream;
  Memory memory;
  int index = 0;  ///< 0 .. lanes - 1; workloads have an output for each lane
  Transfer transfer{};
  Copy copy{};

  /// Blocks until all work submitted to the lane is done. Throws the error of that work.
  void synchronize() const { stream_traits<Stream>::synchronize(stream); }
};

/// A lane of any place.
template <class L>
concept any_lane =
    memory_resource<typename L::memory_type, typename L::stream_type> && requires(L const& l) {
      l.place;
      l.stream;
      { l.index } -> std::convertible_to<int>;
      l.synchronize();
    };

/// A lane of the CPU. Items run on the calling thread and `place.threads - 1` others.
template <class L>
concept host_lane = any_lane<L> && std::same_as<typename L::place_type, on::host>;

/// A lane of a device: items are enqueued on a CUDA stream.
template <class L>
concept device_lane = any_lane<L> && std::same_as<typename L::place_type, on::device>;

}  // namespace assay
