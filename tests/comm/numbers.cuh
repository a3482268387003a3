// SPDX-License-Identifier: Apache-2.0
/// @file
/// The numbers in an engine's workspaces, so that a test can begin just before they wrap.
#pragma once

#include "comm/world.cuh"

#include <cstddef>
#include <vector>

namespace assay::test {

/// Reads and sets the numbers in an engine's workspaces while no operation runs.
class numbers {
 public:
  explicit numbers(comm::all_reduce const& engine) : engine_(engine), at_(engine.layout()) {}

  /// Sets the state after `items` items: the item and consumed counters of all ranks. The counts of
  /// reducers and the flags in place become `long_ago`.
  void set_items(unsigned items, unsigned long_ago) const {
    for (int rank = 0; rank < engine_.ranks(); ++rank) {
      set(rank, counted_items(), items);
      set(rank, {at_.fifo_consumed_at, comm::line_bytes, comm::max_ranks}, items);
      set(rank, notes(), long_ago);
      set(rank, flags(), long_ago);
    }
  }
  unsigned items(int rank) const { return get(rank, counted_items()).front(); }
  /// The counts of reducers and the flags in place.
  std::vector<unsigned> stand(int rank) const {
    auto all = get(rank, notes());
    auto const more = get(rank, flags());
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

 private:
  /// Numbers in a workspace, `apart` bytes from each other.
  struct place {
    std::size_t offset, apart, count;
  };
  place counted_items() const {
    return {at_.fifo_state_at + offsetof(comm::fifo_state, items), comm::line_bytes, 1};
  }
  place notes() const { return {at_.fifo_block_consumed_at, sizeof(unsigned), at_.fifo_blocks}; }
  place flags() const { return {at_.fifo_loaded_at, comm::sector_bytes, at_.fifo_slots}; }

  /// And waits until all is there: streams of ranks wait for no copy.
  void set(int rank, place const& where, unsigned value) const {
    if (where.count == 0) { return; }  // of rings, in an engine without
    std::vector<unsigned> const values(where.count, value);
    device_guard const guard{engine_.device(rank)};
    check(cudaMemcpy2D(engine_.workspace_of(rank) + where.offset, where.apart, values.data(),
                       sizeof value, sizeof value, where.count, cudaMemcpyHostToDevice));
    check(cudaDeviceSynchronize());
  }
  std::vector<unsigned> get(int rank, place const& where) const {
    std::vector<unsigned> values(where.count);
    if (where.count == 0) { return values; }
    check(cudaMemcpy2D(values.data(), sizeof(unsigned), engine_.workspace_of(rank) + where.offset,
                       where.apart, sizeof(unsigned), where.count, cudaMemcpyDeviceToHost));
    return values;
  }

  comm::all_reduce const& engine_;
  comm::workspace_layout const& at_;
};

}  // namespace assay::test
