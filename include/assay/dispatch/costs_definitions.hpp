// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to costs.hpp: what is not on the path of a choice.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/dispatch/costs.hpp>

#include <cmath>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::dispatch {
namespace detail {

/// The type of memory of those arrays that are copied.
template <class Copied>
std::string_view copied_memory(facts const& known, Copied const& copied) {
  std::string_view found;
  for (std::size_t i = 0; i < known.count; ++i) {
    auto const& each = known.arrays[i];
    if (each.memory == memory_type::device || !copied(each)) { continue; }
    std::string_view const its = in_words(each.memory);
    found = found.empty() || found == its ? its : "mixed";
  }
  return found;
}

}  // namespace detail

ASSAY_INLINE std::string prediction::describe() const {
  auto text = concat({where.describe(), ": ", in_words(total)});
  for (auto const& each : items) {
    text += (&each == items.data() ? ": " : ", ") + std::string{each.name} + ' ' +
            short_text(each.seconds);
  }
  return extrapolated ? text + " (outside the calibrated sizes)" : text;
}

ASSAY_INLINE costs::costs(measurements of) : all_(std::move(of)) {
  if (all_.paths.empty()) {
    throw std::invalid_argument(all_.task + ": the list of paths is empty: name one at least");
  }
  std::string why;
  for (std::size_t i = 0; i < all_.paths.size(); ++i) {
    auto const& each = all_.paths[i];
    if (index_of(each.where) != i) {
      throw std::invalid_argument(each.where.describe() + " is there twice: list each path once");
    }
    links_.emplace_back(all_.links, each.where);
    curves_.emplace_back();
    if (each.wrong.empty()) { curves_.back().emplace(each.knots); }
    why += concat({": ", each.where.describe(), ": ", each.wrong});
  }
  while (first_right_ < curves_.size() && !curves_[first_right_]) { ++first_right_; }
  if (first_right_ == curves_.size()) {
    throw std::invalid_argument(concat({all_.task, ": no path computes right results", why}));
  }
}

ASSAY_INLINE costs::costs(costs const&) = default;
ASSAY_INLINE costs::costs(costs&&) noexcept = default;
ASSAY_INLINE costs& costs::operator=(costs const&) = default;
ASSAY_INLINE costs& costs::operator=(costs&&) noexcept = default;
ASSAY_INLINE costs::~costs() = default;

ASSAY_INLINE std::optional<on::device> costs::device() const {
  std::vector<path> all;
  for (auto const& each : all_.paths) { all.push_back(each.where); }
  return one_device(all);
}

ASSAY_INLINE std::size_t costs::index_of(path const& wanted) const {
  std::string all;
  for (std::size_t i = 0; i < all_.paths.size(); ++i) {
    if (all_.paths[i].where == wanted) { return i; }
    all += (i == 0 ? "" : ", ") + all_.paths[i].where.describe();
  }
  throw std::invalid_argument(concat(
      {"the costs of ", all_.task, " have no path ", wanted.describe(), ": there are ", all}));
}

ASSAY_INLINE prediction costs::predict(std::size_t number, facts const& known,
                                       load_now const& under) const {
  auto const& where = all_.paths[number].where;
  auto const& calls = curves_[number];
  prediction made{.where = where, .total = impossible, .items = {}};
  if (!calls) { return made; }
  double const at = log_size(known);
  double const work = std::exp2(calls->log_seconds(at));
  double const factor = std::exp2(calls->half_width(at));
  auto const moved = links_[number].of(known);
  auto const [queue, wait, slower] = load_of(where, under);
  made.extrapolated = !calls->covers(at);
  if (!std::isfinite(moved.seconds())) { return made; }
  double const fixed = moved.seconds() + queue + (slower - 1) * work;
  // A wait for others is as likely to be short as to be twice the mean.
  made.total = {fixed + wait + work, fixed + work / factor, fixed + 2 * wait + work * factor};

  auto const add = [&](std::string_view name, double seconds, std::string_view memory = {}) {
    if (seconds > 0) { made.items.push_back({name, seconds, memory}); }
  };
  add("queue", queue);
  add("load", wait + (slower - 1) * work);
  add("copies in", moved.in,
      detail::copied_memory(known, [](auto const& each) { return each.is_read(); }));
  add("work", work);
  add("copies back", moved.back,
      detail::copied_memory(known, [](auto const& each) { return each.is_written(); }));
  return made;
}

}  // namespace assay::dispatch
