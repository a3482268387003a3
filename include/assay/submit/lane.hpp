// SPDX-License-Identifier: Apache-2.0
/// @file
/// `lane`: what one item may use.
#pragma once

#include <assay/core/place.hpp>
#include <assay/memory/concepts.hpp>

#include <concepts>
#include <string_view>

namespace assay {

/// Stands where a transfer and its engine stand in pipelines whose items stay on one side of the
/// link.
struct no_transfer {
  static constexpr std::string_view name = "no_transfer";
  static constexpr bool capturable = true;
  bool operator==(no_transfer const&) const = default;
};

/// Stands where a copy strategy stands in pipelines whose workload takes none.
struct no_copy {
  static constexpr std::string_view name = "no_copy";
  bool operator==(no_copy const&) const = default;
};

/// What one item may use: where it runs, what orders it there, where its temporaries come from, how
/// its data crosses between host and device, and how its kernels bring in their tiles.
///
/// A rig makes the lanes, a submission mode gives each item one of them. Items on one lane follow
/// each other in stream order; items on different lanes may run at once. `Memory` is a resource
/// handle: copies share its state; so is `Transfer`, of which each lane has one of its own. Items
/// may be enqueued on a lane by one thread at a time.
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
  int index = 0;  ///< 0 .. lanes - 1; workloads keep one output for each
  Transfer transfer{};
  Copy copy{};

  /// Blocks until everything submitted to the lane is done; throws what it failed with.
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

/// A lane whose items run on the CPU, on the calling thread and `place.threads - 1` others.
template <class L>
concept host_lane = any_lane<L> && std::same_as<typename L::place_type, on::host>;

/// A lane whose items are enqueued on a CUDA stream.
template <class L>
concept device_lane = any_lane<L> && std::same_as<typename L::place_type, on::device>;

}  // namespace assay
