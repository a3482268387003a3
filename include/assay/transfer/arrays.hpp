// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to transfer. The arrays of a job: checks, kinds of memory, and buffers on the device.
#pragma once

#include <assay/core/memory_type.hpp>
#include <assay/memory/concepts.hpp>
#include <assay/stats/number_text.hpp>
#include <assay/transfer/concepts.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace assay::transfer {

/// An input or an output of a job, with its kind of memory.
struct host_array {
  std::byte* data = nullptr;
  std::size_t element_bytes = 0;
  bool is_input = true;
  int number = 0;  ///< place among the inputs, or the outputs
  memory_type kind = memory_type::pageable;

  std::string in_words() const {
    return std::string{is_input ? "input " : "output "} + std::to_string(number);
  }
};

/// Throws `std::invalid_argument` that names both arrays if an output overlaps another array,
/// unless this is an input of the same elements. One chunk would write what a later chunk reads.
inline void require_apart(std::vector<host_array> const& all, std::size_t elements) {
  for (auto const& to : all) {
    if (to.is_input) { continue; }
    for (auto const& each : all) {
      bool const is_same = each.data == to.data && each.element_bytes == to.element_bytes;
      bool const may_overlap = &each == &to || (each.is_input && is_same);
      if (may_overlap || each.data >= to.data + elements * to.element_bytes ||
          to.data >= each.data + elements * each.element_bytes) {
        continue;
      }
      throw std::invalid_argument(to.in_words() + " overlaps " + each.in_words() +
                                  ": an output may be the same array as an input of equal element "
                                  "size; otherwise arrays must not overlap");
    }
  }
}

/// The arrays of a job, inputs first. Throws `std::invalid_argument` that names the array or the
/// field that makes no sense.
template <class Link, class Compute>
std::vector<host_array> arrays_of(Link const& link, job<Compute> const& what) {
  if (what.elements < 0 || what.granularity < 1) {
    throw std::invalid_argument("a job of " + std::to_string(what.elements) +
                                " elements in blocks of " + std::to_string(what.granularity) +
                                " is not possible: 0 elements or more in blocks of at least 1 are");
  }
  if (!(what.compute_seconds >= 0 && std::isfinite(what.compute_seconds))) {
    throw std::invalid_argument("compute_seconds is " + stats::number_text(what.compute_seconds) +
                                ": give 0 (not known), or the finite time of compute");
  }
  std::vector<host_array> all;
  int number = 0;
  for (auto const& each : what.inputs) {
    all.push_back({static_cast<std::byte*>(const_cast<void*>(each.data)), each.element_bytes, true,
                   number++});
  }
  number = 0;
  for (auto const& each : what.outputs) {
    all.push_back({static_cast<std::byte*>(each.data), each.element_bytes, false, number++});
  }
  if (what.elements == 0) { return all; }
  auto const elements = static_cast<std::size_t>(what.elements);
  for (auto& each : all) {
    if (each.data == nullptr || each.element_bytes == 0 ||
        each.element_bytes > std::numeric_limits<std::size_t>::max() / 2 / elements) {
      throw std::invalid_argument(each.in_words() + " of " + std::to_string(what.elements) +
                                  " elements of " + std::to_string(each.element_bytes) + " bytes" +
                                  (each.data == nullptr ? " has no address" : "") +
                                  ": give host memory, and elements of at least 1 byte");
    }
    each.kind = link.kind_of(each.data, elements * each.element_bytes);
    if (each.kind == memory_type::device) {
      throw std::invalid_argument(each.in_words() +
                                  " is in device memory: a job's arrays are on the host");
    }
  }
  require_apart(all, elements);
  return all;
}

/// True if an array is in pageable memory, which needs staging.
inline bool any_pageable(std::vector<host_array> const& all) {
  return std::any_of(all.begin(), all.end(),
                     [](auto const& each) { return each.kind == memory_type::pageable; });
}

/// Throws `std::invalid_argument`, naming the array and the remedy, if an array is not page-locked.
inline void require_page_locked(std::string_view who, std::vector<host_array> const& all) {
  for (auto const& each : all) {
    if (each.kind == memory_type::page_locked) { continue; }
    throw std::invalid_argument(std::string{who} + ": " + each.in_words() + " is in " +
                                assay::in_words(each.kind) +
                                " memory, but must be page-locked: allocate it by cudaHostAlloc or "
                                "mr::pinned, or use transfer::staged");
  }
}

/// Throws `std::invalid_argument` if `stream` is being captured; for transfers that block.
template <class Link>
void refuse_capture(std::string_view who, Link const& link, typename Link::stream_type stream) {
  if (!link.capturing(stream)) { return; }
  throw std::invalid_argument(std::string{who} +
                              " over this data blocks the host, so it cannot be captured into a "
                              "graph: use page-locked memory with transfer::pinned, "
                              "transfer::mapped or transfer::overlapped");
}

/// Device buffers for `slots` chunks of each array of a job, in one block. It is allocated and
/// freed in the order of the caller's stream.
template <class Memory, class Stream>
class chunk_buffers {
 public:
  chunk_buffers(Stream stream, Memory& memory, std::vector<host_array> const& arrays,
                std::int64_t chunk_elements, int slots)
      : stream_(stream), memory_(memory) {
    for (auto const& each : arrays) {
      auto const bytes = static_cast<std::size_t>(chunk_elements) * each.element_bytes;
      auto const stride =
          (bytes + mr::default_alignment - 1) / mr::default_alignment * mr::default_alignment;
      places_.push_back({bytes_, stride});
      bytes_ += stride * static_cast<std::size_t>(slots);
    }
    first_ = static_cast<std::byte*>(memory_.allocate(stream_, bytes_, mr::default_alignment));
  }
  chunk_buffers(chunk_buffers const&) = delete;
  chunk_buffers& operator=(chunk_buffers const&) = delete;
  ~chunk_buffers() {
    memory_.deallocate(stream_, static_cast<void*>(first_), bytes_, mr::default_alignment);
  }

  void* at(std::size_t array, int slot) const noexcept {
    return first_ + places_[array].begin + places_[array].stride * static_cast<std::size_t>(slot);
  }

 private:
  struct place {
    std::size_t begin, stride;
  };

  Stream stream_;
  Memory& memory_;
  std::vector<place> places_;
  std::size_t bytes_ = 0;
  std::byte* first_;
};

}  // namespace assay::transfer
