// SPDX-License-Identifier: Apache-2.0
/// @file
/// The generic half of a workload: its declared arrays are allocated, filled, poisoned and verified
/// for each lane. This header serves the host; `workload/array_workload.cuh` adds devices.
#pragma once

#include <assay/arrays/array_store.hpp>
#include <assay/arrays/setup.hpp>
#include <assay/core/concat.hpp>
#include <assay/core/nvtx_range.hpp>
#include <assay/core/place.hpp>
#include <assay/submit/lane.hpp>
#include <assay/transfer/concepts.hpp>
#include <assay/workload/concepts.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
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

/// Throws unless there is a lane.
void require_lane(int lanes);

/// The number of lanes, if the fields of a workload are possible with it.
template <class Work>
int valid_lanes(Work const& work, int lanes) {
  require_lane(lanes);
  if constexpr (requires { work.data->output; }) {
    if (lanes > 1 && work.data && work.data->output != nullptr) {
      throw std::invalid_argument(
          concat({"lanes = ", std::to_string(lanes), ": the caller's one output serves one lane"}));
    }
  }
  if constexpr (requires { work.validate(); }) { work.validate(); }
  return lanes;
}

/// A function that declares the arrays of a lane, for the length of a call.
class declare_arrays {
 public:
  template <class Declare>
  declare_arrays(Declare const& how)
      : how_(&how),
        call_([](void const* it, setup& make) { (*static_cast<Declare const*>(it))(make); }) {}
  void operator()(setup& make) const { call_(how_, make); }

 private:
  void const* how_;
  void (*call_)(void const*, setup&);
};

template <class Work>
std::uint64_t items_of(Work const& work) {
  if constexpr (requires { work.count(); }) { return static_cast<std::uint64_t>(work.count()); }
  return 0;
}

}  // namespace detail

/// The arrays of all lanes of a state, without what the workload makes of them.
class declared_lanes {
 public:
  /// `name` is the workload's.
  declared_lanes(std::shared_ptr<arrays::array_store> store, std::string_view name,
                 std::uint64_t seed, int lanes);

  /// Calls `declare(setup)` for the next lane. The setups of all lanes stay where they are.
  void add(detail::declare_arrays declare);
  /// Waits until the arrays have their content.
  void finish();

  void poison();
  bool has_state() const noexcept { return lanes_.front().has_state(); }
  void restore();
  /// True if all arrays that hold results have an expectation; one of them has.
  bool checks_all() const;
  mismatch verify();

 private:
  std::shared_ptr<arrays::array_store> store_;
  std::string_view name_;
  std::uint64_t seed_;
  std::vector<setup> lanes_;
};

/// The state of a workload that declares its arrays: inputs that all lanes share, and all other
/// arrays for each lane.
///
/// Such a workload is a value with public fields, among them `seed`; a `name`; `item_traffic()`;
/// `validate()` if not all values of its fields are possible; and `arrays(setup&)`, which declares
/// the arrays of one lane, and returns them. `run_on(lane, work, arrays)`, a function of the
/// workload's namespace, submits one item: for a `host_lane`, a `device_lane` or both.
template <class Place, class Work>
class prepared : public declared_lanes {
 public:
  [[gnu::cold]] prepared(Place place, Work const& work, int lanes,
                         std::shared_ptr<arrays::array_store> store)
      : declared_lanes(std::move(store), Work::name, work.seed, detail::valid_lanes(work, lanes)) {
    nvtx_range const here{"prepare", category::transfer};
    arrays_.reserve(static_cast<std::size_t>(lanes));
    for (int i = 0; i < lanes; ++i) {
      add([&](setup& make) { arrays_.push_back(work.arrays(make)); });
      if constexpr (keeps_handles<Work, Place>) {
        handles_.push_back(make_handle(place, work, arrays_.back()));
      }
    }
    finish();
  }

  /// The arrays of a lane. Throws `std::out_of_range` where there is no such lane.
  arrays_of<Work> const& arrays(int lane) const {
    return arrays_.at(static_cast<std::size_t>(lane));
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

 private:
  struct nothing {};
  static auto handle_type() {
    if constexpr (keeps_handles<Work, Place>) {
      return std::type_identity<decltype(make_handle(std::declval<Place const&>(),
                                                     std::declval<Work const&>(),
                                                     std::declval<arrays_of<Work> const&>()))>{};
    } else {
      return std::type_identity<nothing>{};
    }
  }

  std::vector<arrays_of<Work>> arrays_;
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

#ifndef ASSAY_DECLARED
#include <assay/workload/array_workload_definitions.hpp>
#endif
