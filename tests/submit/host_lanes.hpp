// SPDX-License-Identifier: Apache-2.0
/// @file
/// Host lanes for tests of submission modes, and a probe that writes down what it is told.
#pragma once

#include <assay/submit/concepts.hpp>

#include <cstddef>
#include <new>
#include <thread>
#include <vector>

namespace assay::test {

/// The least that is a memory resource.
struct plain_heap {
  void* allocate(host_stream, std::size_t bytes, std::size_t alignment) {
    return ::operator new(bytes, std::align_val_t{alignment});
  }
  void deallocate(host_stream, void* pointer, std::size_t, std::size_t alignment) noexcept {
    ::operator delete(pointer, std::align_val_t{alignment});
  }
  bool operator==(plain_heap const&) const = default;
};

using host_test_lane = lane<on::host, host_stream, plain_heap>;

inline std::vector<host_test_lane> host_lanes(int count) {
  std::vector<host_test_lane> lanes;
  for (int i = 0; i < count; ++i) { lanes.push_back({on::host{}, {}, {}, i}); }
  return lanes;
}

/// What a probe was told of one lane.
struct lane_notes {
  std::vector<int> items;
  std::vector<submit::item_times> times;
  std::vector<std::thread::id> begins;
  std::vector<std::thread::id> ends;
  std::vector<std::thread::id> asked;
};

/// Writes down everything; each lane has a place of its own, so that a lane that is served by two
/// threads at once is a data race for the thread sanitizer to find.
struct noting_probe {
  static constexpr bool per_item = true;
  explicit noting_probe(int lanes) : notes(static_cast<std::size_t>(lanes)) {}

  template <class Lane>
  void lane_begin(Lane& lane) {
    of(lane).begins.push_back(std::this_thread::get_id());
  }
  template <class Lane>
  void lane_end(Lane& lane) {
    of(lane).ends.push_back(std::this_thread::get_id());
  }
  template <class Lane>
  void item(Lane& lane, int number, submit::item_times times) {
    of(lane).items.push_back(number);
    of(lane).times.push_back(times);
    of(lane).asked.push_back(std::this_thread::get_id());
  }
  template <class Lane>
  lane_notes& of(Lane const& lane) {
    return notes[static_cast<std::size_t>(lane.index)];
  }

  std::vector<lane_notes> notes;
};

}  // namespace assay::test
