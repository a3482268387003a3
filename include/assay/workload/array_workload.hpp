// SPDX-License-Identifier: Apache-2.0
/// @file
/// The generic half of a workload: its declared arrays are allocated, filled, poisoned and verified
/// for each lane. This header serves the host; `workload/array_workload.cuh` adds devices.
#pragma once

#include <assay/arrays/array_store.hpp>
#include <assay/arrays/setup.hpp>
#include <assay/core/nvtx_range.hpp>
#include <assay/core/place.hpp>
#include <assay/submit/lane.hpp>
#include <assay/transfer/concepts.hpp>
#include <assay/workload/concepts.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace assay::workloads {

namespace detail {

/// A new seed for each store, so that what the placement of arrays does to a kernel's time averages
/// out over states instead of sticking to a variant.
inline std::uint64_t next_placement_seed() {
  static std::atomic<std::uint64_t> made{0};
  return random_bits(0, made++);
}

template <class Work>
void require_lanes(Work const& work, int lanes) {
  if (lanes < 1) {
    throw std::invalid_argument("lanes = " + std::to_string(lanes) +
                                " is not possible: at least 1 is");
  }
  if constexpr (requires { work.data->output; }) {
    if (lanes == 1 || !work.data || work.data->output == nullptr) { return; }
    throw std::invalid_argument("lanes = " + std::to_string(lanes) +
                                ": the caller's one output serves one lane");
  }
}

template <class Work>
std::uint64_t items_of(Work const& work) {
  if constexpr (requires { work.count(); }) { return static_cast<std::uint64_t>(work.count()); }
  return 0;
}

}  // namespace detail

/// The state of a workload that declares its arrays: inputs that all lanes share, and all other
/// arrays for each lane.
///
/// Such a workload is a value with public fields, among them `seed`; a `name`; `item_traffic()`;
/// `validate()` if not all values of its fields are possible; and `arrays(setup&)`, which declares
/// the arrays of one lane, and returns them. `run_on(lane, work, arrays)`, a function of the
/// workload's namespace, submits one item: for a `host_lane`, a `device_lane` or both.
template <class Place, class Work>
class prepared {
 public:
  prepared(Place place, Work const& work, int lanes, std::shared_ptr<arrays::array_store> store)
      : store_(std::move(store)) {
    detail::require_lanes(work, lanes);
    if constexpr (requires { work.validate(); }) { work.validate(); }
    nvtx_range const here{"prepare", category::transfer};
    lanes_.reserve(static_cast<std::size_t>(lanes));
    for (int i = 0; i < lanes; ++i) {
      auto make = i == 0 ? std::move(setup{store_, work.seed}.allow_empty())
                         : lanes_.front().declared.for_another_lane();
      auto all = work.arrays(make);
      if (!make.has_expectations()) {
        throw std::logic_error(std::string{Work::name} +
                               ": arrays(setup&) expects nothing of an output, so a wrong result "
                               "would go unseen: call setup.expect");
      }
      lanes_.push_back({std::move(make), std::move(all)});
      if constexpr (keeps_handles<Work, Place>) {
        handles_.push_back(make_handle(place, work, lanes_.back().arrays));
      }
    }
    store_->finish();
  }

  /// The arrays of a lane. Throws `std::out_of_range` where there is no such lane.
  arrays_of<Work> const& arrays(int lane) const {
    return lanes_.at(static_cast<std::size_t>(lane)).arrays;
  }

  /// The handle of a lane, of workloads that keep handles.
  auto const& handle(int lane) const { return handles_.at(static_cast<std::size_t>(lane)); }

  template <class Lane>
  void run(Lane& where, Work const& work) {
    constexpr auto kind = host_lane<Lane>   ? category::cpu
                          : link_lane<Lane> ? category::transfer
                                            : category::gpu;
    nvtx_range const here{Work::name.data(), kind, detail::items_of(work)};
    if constexpr (keeps_handles<Work, Place>) {
      run_on(where, work, arrays(where.index), handle(where.index));
    } else {
      run_on(where, work, arrays(where.index));
    }
  }
  void poison() {
    nvtx_range const here{"poison", category::gpu};
    for (auto& each : lanes_) { each.declared.poison(); }
    store_->finish();
  }
  bool has_state() const noexcept { return lanes_.front().declared.has_state(); }
  void restore() {
    nvtx_range const here{"restore", category::gpu};
    for (auto& each : lanes_) { each.declared.restore(); }
    store_->finish();
  }
  /// True if all arrays that hold results have an expectation; one of them has.
  bool checks_all() const {
    return std::ranges::all_of(lanes_.front().declared.declared(),
                               [](auto const& each) { return !each.is_result() || each.expected; });
  }
  mismatch verify() {
    nvtx_range const here{"verify outputs", category::transfer};
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      if (auto const wrong = lanes_[i].declared.verify()) {
        return "lane " + std::to_string(i) + ": " + *wrong;
      }
    }
    return {};
  }

 private:
  struct nothing {};
  struct of_lane {
    setup declared;
    arrays_of<Work> arrays;
  };
  static auto handle_type() {
    if constexpr (keeps_handles<Work, Place>) {
      return std::type_identity<decltype(make_handle(std::declval<Place const&>(),
                                                     std::declval<Work const&>(),
                                                     std::declval<arrays_of<Work> const&>()))>{};
    } else {
      return std::type_identity<nothing>{};
    }
  }

  std::shared_ptr<arrays::array_store> store_;
  std::vector<of_lane> lanes_;
  std::vector<typename decltype(handle_type())::type> handles_;
};

template <host_lane Lane, class Work>
auto prepare_on(by_arrays, Lane& where, Work const& work, int lanes) {
  return prepared<on::host, Work>{
      where.place, work, lanes,
      std::make_shared<arrays::host_array_store>(detail::next_placement_seed())};
}

/// The seed of a workload that names none.
inline constexpr std::uint64_t default_seed = 0x5EED;

/// Room for `count` elements, as the functions of `setup` take it.
constexpr std::size_t size_of(std::int64_t count) noexcept {
  return static_cast<std::size_t>(count);
}

}  // namespace assay::workloads
