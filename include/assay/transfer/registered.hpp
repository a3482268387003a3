// SPDX-License-Identifier: Apache-2.0
/// @file
/// `transfer::registered`: pageable memory, page-locked for the time of one job.
#pragma once

#include <assay/transfer/cuda_link.hpp>
#include <assay/transfer/engine.hpp>

#include <algorithm>
#include <cstdint>

namespace assay::transfer {

/// Host memory that a link page-locked, until this goes.
template <class Link>
class registration {
 public:
  registration(Link const& link, std::byte* data, std::size_t bytes) : link_(&link), data_(data) {
    link.pin(data, bytes);
  }
  registration(registration&& other) noexcept
      : link_(other.link_), data_(std::exchange(other.data_, nullptr)) {}
  registration& operator=(registration&& other) noexcept {
    std::swap(link_, other.link_);
    std::swap(data_, other.data_);
    return *this;
  }
  ~registration() {
    if (data_ != nullptr) { link_->unpin(data_); }
  }

 private:
  Link const* link_;
  std::byte* data_;
};

/// Page-locks the pageable arrays; those that share a page as one range, since pages are locked
/// once. Throws `std::runtime_error` that names the remedy where the system refuses.
template <class Link>
std::vector<registration<Link>> register_pageable(Link const& link,
                                                  std::vector<host_array> const& arrays,
                                                  std::int64_t elements) {
  struct span {
    std::byte* begin;
    std::byte* end;
  };
  constexpr std::uintptr_t page = 4096;
  std::vector<span> spans;
  for (auto const& each : arrays) {
    if (each.kind != host_kind::pageable) { continue; }
    spans.push_back(
        {each.data, each.data + static_cast<std::size_t>(elements) * each.element_bytes});
  }
  std::sort(spans.begin(), spans.end(),
            [](span const& a, span const& b) { return a.begin < b.begin; });
  std::vector<span> merged;
  for (auto const& each : spans) {
    auto const page_of = [](std::byte* at) { return reinterpret_cast<std::uintptr_t>(at) / page; };
    if (!merged.empty() && page_of(each.begin) <= page_of(merged.back().end - 1)) {
      merged.back().end = std::max(merged.back().end, each.end);
    } else {
      merged.push_back(each);
    }
  }
  std::vector<registration<Link>> held;
  for (auto const& each : merged) {
    try {
      held.emplace_back(link, each.begin, static_cast<std::size_t>(each.end - each.begin));
    } catch (std::exception const& cause) {
      std::throw_with_nested(std::runtime_error(
          "transfer::registered: " + std::to_string(each.end - each.begin) +
          " bytes of host memory cannot be page-locked (use transfer::staged): " + cause.what()));
    }
  }
  return held;
}

/// As `transfer::pinned`, with pageable arrays page-locked by `cudaHostRegister` before and
/// released after: the job pays for both, and blocks until it is done. Arrays that the device
/// reaches already are left alone.
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
    auto const held = register_pageable(carrier.link(), arrays, what.elements);
    carrier.run(stream, what, arrays, false, cutting::whole(what.elements));
    if (!held.empty()) { carrier.link().synchronize(stream); }
  }
  bool operator==(registered const&) const = default;
};
static_assert(transfer_policy<registered>);

}  // namespace assay::transfer
