// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to array_workload.hpp: the definitions of its functions.
#pragma once

#include <assay/arrays/array_store.hpp>
#include <assay/arrays/setup.hpp>
#include <assay/core/concat.hpp>
#include <assay/core/nvtx_range.hpp>
#include <assay/workload/array_workload.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace assay::workloads {

ASSAY_INLINE void detail::require_lane(int lanes) {
  if (lanes >= 1) { return; }
  throw std::invalid_argument(
      concat({"lanes = ", std::to_string(lanes), " is not possible: at least 1 is"}));
}

ASSAY_INLINE declared_lanes::declared_lanes(std::shared_ptr<arrays::array_store> store,
                                            std::string_view name, std::uint64_t seed, int lanes)
    : store_(std::move(store)), name_(name), seed_(seed) {
  lanes_.reserve(static_cast<std::size_t>(lanes));
}

ASSAY_INLINE void declared_lanes::add(detail::declare_arrays declare) {
  auto make = lanes_.empty() ? std::move(setup{store_, seed_}.allow_empty())
                             : lanes_.front().for_another_lane();
  declare(make);
  if (!make.has_expectations()) {
    throw std::logic_error(std::string{name_} +
                           ": arrays(setup&) expects nothing of an output, so a wrong result "
                           "would go unseen: call setup.expect");
  }
  lanes_.push_back(std::move(make));
}

ASSAY_INLINE void declared_lanes::finish() { store_->finish(); }

ASSAY_INLINE void declared_lanes::poison() {
  nvtx_range const here{"poison", category::gpu};
  for (auto& each : lanes_) { each.poison(); }
  store_->finish();
}

ASSAY_INLINE void declared_lanes::restore() {
  nvtx_range const here{"restore", category::gpu};
  for (auto& each : lanes_) { each.restore(); }
  store_->finish();
}

ASSAY_INLINE bool declared_lanes::checks_all() const {
  return std::ranges::all_of(lanes_.front().declared(),
                             [](auto const& each) { return !each.is_result() || each.expected; });
}

ASSAY_INLINE mismatch declared_lanes::verify() {
  nvtx_range const here{"verify outputs", category::transfer};
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    if (auto const wrong = lanes_[i].verify()) {
      return concat({"lane ", std::to_string(i), ": ", *wrong});
    }
  }
  return {};
}

}  // namespace assay::workloads
