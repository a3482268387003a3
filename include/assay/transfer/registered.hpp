// SPDX-License-Identifier: Apache-2.0
/// @file
/// `transfer::registered`: pageable memory, page-locked for the time of one job.
#pragma once

#include <assay/transfer/cuda_link.hpp>
#include <assay/transfer/engine.hpp>
#include <assay/transfer/page_registry.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace assay::transfer {

/// The pageable arrays of a job, page-locked until this goes; shared with other jobs of the process
/// that use them meanwhile. Throws `std::runtime_error` that names the remedy where the system
/// refuses.
template <class Link>
class registration {
 public:
  registration(Link const& link, std::vector<host_array> const& arrays, std::int64_t elements)
      : link_(link) {
    try {
      held_ = page_registry::of_process().acquire(link, arrays, elements);
    } catch (std::exception const& cause) {
      std::size_t bytes = 0;
      for (auto const& each : arrays) {
        bytes += static_cast<std::size_t>(elements) * each.element_bytes;
      }
      std::throw_with_nested(std::runtime_error(
          "transfer::registered: the host memory of a job of " + std::to_string(bytes) +
          " bytes cannot be page-locked (use transfer::staged): " + cause.what()));
    }
  }
  registration(registration const&) = delete;
  registration& operator=(registration const&) = delete;
  ~registration() {
    if (!held_.empty()) { page_registry::of_process().release(link_, held_); }
  }
  bool empty() const noexcept { return held_.empty(); }

 private:
  Link const& link_;
  std::vector<page_registry::pages> held_;
};

/// As `transfer::pinned`, with pageable arrays page-locked by `cudaHostRegister` before and
/// released after: the job pays for both, and blocks until it is done. Jobs that run at once share
/// what they lock; arrays that the device reaches already are left alone. Until it is done, no
/// other transfer should take its arrays for page-locked ones.
struct registered {
  static constexpr std::string_view name = "transfer::registered";
  static constexpr auto wants = host_memory::pageable;
  static constexpr bool blocks_host = true;
  static constexpr bool capturable = false;

  template <class Memory>
  engine<registered, cuda_link, Memory> open(on::device place, Memory memory) const {
    return {*this, cuda_link{place}, std::move(memory)};
  }

  template <class Courier, class Compute>
  void carry(Courier& carrier, typename Courier::stream_type stream, job<Compute> const& what,
             std::vector<host_array> const& arrays) const {
    if (any_pageable(arrays)) { refuse_capture(name, carrier.link(), stream); }
    // What another job has locked just now looks page-locked: the registry knows.
    registration const held{carrier.link(), arrays, what.elements};
    carrier.run(stream, what, arrays, false, cutting::whole(what.elements));
    if (!held.empty()) { carrier.link().synchronize(stream); }
  }
  bool operator==(registered const&) const = default;
};
static_assert(transfer_policy<registered>);

}  // namespace assay::transfer
