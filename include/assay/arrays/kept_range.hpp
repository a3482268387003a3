// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to setup.hpp: elements of the caller that a setup may keep.
#pragma once

#include <assay/core/requirements.hpp>

#include <memory>
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

/// Elements that stay where they are, and what owns them where a temporary container had them.
template <class T>
struct kept_elements {
  std::span<T const> elements;
  std::shared_ptr<void const> owner{};
};

template <spannable R>
kept_elements<element_of<R>> keep(R&& data) {
  if constexpr (kept_range<R>) {
    return {std::span{data}};
  } else {
    auto owner = std::make_shared<std::remove_cvref_t<R>>(std::forward<R>(data));
    std::span const elements{*owner};
    return {elements, std::move(owner)};
  }
}

}  // namespace assay::detail
