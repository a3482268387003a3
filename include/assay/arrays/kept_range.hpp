// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to setup.hpp: elements of the caller that a setup may keep.
#pragma once

#include <assay/core/requirements.hpp>

#include <ranges>
#include <span>
#include <type_traits>
#include <utility>

namespace assay::detail {

template <class R>
concept spannable = requires(R& data) { std::span{data}; };

/// Contiguous elements that outlive the full expression: no temporary container has them.
template <class R>
concept kept_range = spannable<R> && (std::is_lvalue_reference_v<R> ||
                                      std::ranges::enable_borrowed_range<std::remove_cvref_t<R>>);

template <class R>
using element_of = typename decltype(std::span{std::declval<R&>()})::value_type;

}  // namespace assay::detail
