// SPDX-License-Identifier: Apache-2.0
/// @file
/// The numbers in an engine's workspaces, to begin where they come round.
#pragma once

#include "comm/world.cuh"

#include <cstddef>
#include <vector>

namespace assay::test {

/// What an engine's workspaces hold, to be read and set while no operation runs.
class numbers {
 public:
  explicit numbers(comm::all_reduce const& engine) : engine_(engine), at_(engine.layout()) {}

  /// As after so many items: what ranks have counted, and told each other. What reducers noted, and
  /// flags in place, are `long_ago`.
  void set_items(unsigned items, unsigned long_ago) const {
    for (int rank = 0; rank < engine_.ranks(); ++rank) {
      set(rank, counted_items(), items);
      set(rank, {at_.ring_told_at, comm::line_bytes, comm::max_ranks}, items);
      set(rank, notes(), long_ago);
      set(rank, flags(), long_ago);
    }
  }
  unsigned items(int rank) const { return get(rank, counted_items()).front(); }
  /// What reducers noted, and flags in place.
  std::vector<unsigned> stand(int rank) const {
    auto all = get(rank, notes());
    auto const more = get(rank, flags());
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  /// As after so many operations by `ll_push`, of which all packets are as of `packets_of`.
  void set_ll(unsigned epoch, unsigned packets_of) const {
    auto const bytes = at_.lamport_at - at_.ll_at;
    std::vector<unsigned> const packets(bytes / sizeof(unsigned), packets_of);
    for (int rank = 0; rank < engine_.ranks(); ++rank) {
      check(cudaMemcpy(engine_.workspace_of(rank) + at_.ll_at, packets.data(), bytes,
                       cudaMemcpyHostToDevice));
      set(rank, ll_epochs(), epoch);
    }
  }
  /// Of a rank's first block, which has part in each operation.
  unsigned ll_epoch(int rank) const { return get(rank, ll_epochs()).front(); }

 private:
  /// Numbers in a workspace, `apart` bytes from each other.
  struct place {
    std::size_t offset, apart, count;
  };
  place counted_items() const {
    return {at_.ring_state_at + offsetof(comm::ring_state, items), comm::line_bytes, 1};
  }
  place notes() const { return {at_.ring_cleared_at, sizeof(unsigned), at_.ring_blocks}; }
  place flags() const { return {at_.ring_loaded_at, comm::sector_bytes, at_.ring_slots}; }
  place ll_epochs() const {
    return {at_.states_at + offsetof(comm::block_state, ll_epoch), comm::line_bytes, at_.blocks};
  }

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
