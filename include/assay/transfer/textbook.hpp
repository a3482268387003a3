// SPDX-License-Identifier: Apache-2.0
/// @file
/// `transfer::textbook`: a few streams and as many equal chunks, the well-known pattern.
#pragma once

#include <assay/transfer/cuda_link.hpp>
#include <assay/transfer/engine.hpp>
#include <assay/transfer/overlap_cuts.hpp>

namespace assay::transfer {

/// The peer that `transfer::overlapped` is held against: one equal chunk for each stream, issued
/// breadth-first (all copies in, all kernels, all copies out), whole arrays on the device. Refuses
/// arrays that are not page-locked, which would not overlap.
struct textbook {
  int streams = 4;

  static constexpr std::string_view name = "transfer::textbook";
  static constexpr auto wants = host_memory::page_locked;
  static constexpr bool blocks_host = false;
  static constexpr bool capturable = true;

  std::string describe() const {
    return std::string{name} + "{streams=" + std::to_string(streams) + '}';
  }

  /// Throws `std::invalid_argument` unless there is a stream.
  template <class Memory>
  engine<textbook, cuda_link, Memory> open(on::device place, Memory memory) const {
    validate();
    return {*this, cuda_link{place}, std::move(memory)};
  }
  void validate() const {
    if (streams >= 1) { return; }
    throw std::invalid_argument(std::string{name} + ": streams is " + std::to_string(streams) +
                                ", but must be at least 1");
  }

  template <class Courier>
  void expect(Courier& carrier) const {
    carrier.expect(deal::by_chunk, streams);
  }
  template <class Courier, class Compute>
  void carry(Courier& carrier, typename Courier::stream_type stream, job<Compute> const& what,
             std::vector<host_array> const& arrays) const {
    require_page_locked(name, arrays);
    cutting cut{equal_chunks(what.elements, what.granularity, streams), 1, deal::by_chunk};
    cut.slots = static_cast<int>(cut.chunks.size());
    carrier.run(stream, what, arrays, false, cut);
  }
  bool operator==(textbook const&) const = default;
};
static_assert(transfer_policy<textbook>);

}  // namespace assay::transfer
